"""The force of a field of acceleration, such as gravity, on everything that has mass.

Within a structure the field varies linearly. In a rotation with the angular velocity e about a point, which is 0 here,
points have the acceleration e x (e x r) = (e e^T - |e|^2) r. The inertia forces of such a motion, which all elements
with mass give, are those of a linear field. A symmetric tensor G without trace is a sum of such, as with its
eigenvectors as axes and its eigenvalues as weights; the axes need not be perpendicular. So the inertia forces of three
rigid rotations, with the field at the frames as their acceleration, are the force of the field on any element, with its
own distribution of mass, and give its tangent. As the weights add up to zero, all other forces of the elements cancel.
Source: docs/theory/gravity_gradient.md, sections 3 to 5.
"""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.elements.private_blocks import CutsFree
from femb.layout.connections import components
from femb.layout.element import B, Batch, Input, LowRank, OfMotion, weighed
from femb.layout.evaluation import Call, Evaluation
from femb.layout.layout import Layout, unfixed_frames
from femb.layout.protocols import HoldsFrames
from femb.layout.stacking import Shift, shifted
from femb.layout.terms import Force, Tangent, inertia
from femb.layout.views import BlockPattern, OutputStates
from femb.numerics.block_kernels import clear
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.duals import Vector3, cross, norm
from femb.numerics.compiler.traced import V3, V4, of_one, put, traced
from femb.numerics.rotations import cross_matrix, normalise, rotate
from femb.numerics.vector3 import HAS_AXES, IN_Q, IN_V, attitude, crossed, still, unturned

# Kernels of a field of acceleration on everything that has mass: see docs/theory/gravity_gradient.md, section 4.

AXES, STRUCTURE = 2, 3
UNITS = np.eye(3)
length = traced(norm)


@kernel_with_entry
def spread(u, q, held, inputs, whole):
    """Set k copies of s states: inputs (k, s, n_u), and whole (k, s, n), q with the poses ``held`` of fixed frames."""
    n = q.shape[1]
    for k in range(whole.shape[0]):
        for state in range(q.shape[0]):
            for i in range(u.shape[1]):
                inputs[k, state, i] = u[state, i]
            for i in range(n):
                whole[k, state, i] = q[state, i]
            for i in range(held.size):
                whole[k, state, n + i] = held[i]


@kernel_with_entry
def middles(index, q, middle):
    """Set middle (s, g, 3) : means of the positions of the frames of each structure, at s states.

    index (F, 4) : of each frame IN_Q, IN_V, AXES (whether it has them) and its STRUCTURE.
    """
    number = np.zeros(middle.shape[1])
    middle[:] = 0.0
    for k in range(index.shape[0]):
        number[index[k, STRUCTURE]] += 1.0
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            g = index[k, STRUCTURE]
            for o in range(3):
                middle[state, g, o] += q[state, index[k, IN_Q] + o] / number[g]


@traced
def across(x: Vector3, e: Vector3) -> Any:
    """Two unit vectors across the unit vector x and each other; e : not along x."""
    y = cross(x, e)
    y = y / norm(y)
    return y, cross(x, y)


@inlined
def triad(x):
    """``across`` a unit vector and the axis that is least along it."""
    a, b, c = of_one(abs(x[0])), of_one(abs(x[1])), of_one(abs(x[2]))
    least = (2 if c < a else 0) if a <= b else (2 if c < b else 1)
    return across(x, V3(UNITS[least]))


@inlined
def set_weights(factor, weights):
    """weights (3,) : factor times those of the gradient along the direction to the body and across it."""
    weights[0], weights[1], weights[2] = 2.0 * factor, -factor, -factor


@inlined
def set_nothing(state, acceleration, weights, axes):
    """No field at a state."""
    acceleration[state] = 0.0
    weights[:, state] = 0.0
    axes[state] = 0.0


@kernel_with_entry
def rotations(index, q, middle, acceleration, weights, axes, v, a, omega):
    """Set v, a (3, s, n) and omega (3, s, F, 3), inertial axes, of three rotations of all structures at s states.

    index, middle : as in ``middles``; the structures rotate about these points. acceleration (s, F, 3), weights (3, s)
    and axes (s, g, 3, 3) : the field, see ``mass_field.Rotations``. Other entries of v and a are not set.
    """
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j, g = index[k, IN_Q], index[k, IN_V], index[k, STRUCTURE]
            for o in range(3):
                a[0, state, j + o] = acceleration[state, k, o] / weights[0, state] if weights[0, state] else 0.0
            r, R = V3(q[state, i:]) - V3(middle[state, g]), attitude(unturned())
            if index[k, AXES]:
                R = attitude(V4(q[state, i + 3 :]))
            for m in range(3):
                e = V3(axes[state, g, m])
                put(e, omega[m, state, k])
                put(crossed(e, r), v[m, state, j:])
                if index[k, AXES]:
                    put(R.T @ e, v[m, state, j + 3 :])


@kernel_with_entry
def subtract_weighted(weights, parts, out):
    """out (s, m) -= the sums of parts (3, s, n), n >= m, times weights (3, s)."""
    for state in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            for m in range(3):
                total += weights[m, state] * parts[m, state, j]
            out[state, j] -= total


@kernel_with_entry
def mass_centres(index, q, forces, masses, centres):
    """Set masses (s,) and mass centres (s, 3) by the inertia forces (2, s, n) of translations along x and y."""
    moments = np.empty((2, 3))
    for state in range(q.shape[0]):
        masses[state] = 0.0
        for m in range(2):
            moment = still()
            for k in range(index.shape[0]):
                i, j = index[k, IN_Q], index[k, IN_V]
                moment += crossed(V3(q[state, i:]), V3(forces[m, state, j:]))
                if index[k, AXES]:
                    moment += attitude(V4(q[state, i + 3 :])) @ V3(forces[m, state, j + 3 :])
                if m == 0:
                    masses[state] += forces[0, state, j]
            put(moment, moments[m])
        # r x m e
        mass = masses[state] if masses[state] != 0.0 else 1.0
        centres[state, 0], centres[state, 1] = moments[1, 2] / mass, -moments[0, 2] / mass
        centres[state, 2] = moments[0, 1] / mass


DIRECTIONS = np.arange(3)


@dataclass(frozen=True, eq=False)
class Rotations:
    """Arrays of a field of acceleration at s states, inertial axes, on F frames that form g structures, and of the
    three rotations at each state whose inertia forces, times weights, are those of the field.

    inputs (3, s, n_u) and whole (3, s, n) : the states, with fixed frames, once for each. middle (s, g, 3) : of the
    frames of each structure. acceleration (s, F, 3) at the frames, m/s2. weights (3, s) and axes (s, g, 3, 3), rows
    e_k, rad/s : the gradient of the field within a structure is sum w_k (e_k e_k^T - |e_k|^2). The weights add up to
    zero; all are zero at a state without a field, and none at others.

    v, a (3, s, n) : velocities and accelerations of the rotations. omega (3, s, F, 3) : angular velocities of all
    frames, inertial axes.
    """

    inputs: Floats
    whole: Floats
    middle: Floats
    acceleration: Floats
    weights: Floats
    axes: Floats
    v: Floats
    a: Floats
    omega: Floats

    @property
    def q(self) -> Floats:
        """(s, n) the states."""
        result: Floats = self.whole[0]
        return result

    def states(self) -> tuple[Floats, Floats, Floats, Floats]:
        """u, q, v, a of the three rotations as 3 s states."""
        return _flat(self.inputs), _flat(self.whole), _flat(self.v), _flat(self.a)


def _flat(array: Floats) -> Floats:
    """(k s, n) of an array (k, s, n), without a copy."""
    return array.reshape(-1, array.shape[2])


class MassField(Batch):
    """The force of a field; classes give ``field_calls`` and ``slopes``.

    index (F, 4) : of each frame IN_Q, IN_V, HAS_AXES and the number of its structure. count : number of structures.
    Fixed frames take part in the rotations: their coordinates and velocities follow all others, see ``HoldsFrames``.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        structures = components(len(layout.frames), layout.structures)
        numbers, structure = np.unique(structures, return_inverse=True)
        self.count = len(numbers)
        moving: Bools = layout.frame_v >= 0
        self.own = np.flatnonzero(moving)
        self.held: Floats = layout.fixed[: len(moving) - len(self.own)].ravel()
        self.size = layout.n_v + 6 * (len(moving) - len(self.own))
        has_axes = np.array([frame.freedom != 3 for frame in layout.frames], dtype=np.int64)
        index = np.column_stack([layout.frame_q, layout.frame_v, has_axes, structure])
        self.index: Ints = unfixed_frames(index, layout.n_q, layout.n_v, [IN_Q], [IN_V])

    @classmethod
    def _stacked_field(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        """The frames and structures of fields of several models, see ``femb.layout.stacking``, none of which holds a
        frame; frames of models without a field are at rest in the rotations, and thus have no force."""
        result = copy(batches[0])
        result.layout, result.size = layout, layout.n_v
        result.index = shifted([batch.index for batch in batches], shifts, [IN_Q], [IN_V])
        counts = [batch.count for batch in batches]
        result.count = sum(counts)
        before = np.cumsum([0, *counts[:-1]])
        result.index[:, STRUCTURE] += np.repeat(before, [len(batch.index) for batch in batches])
        result.own = np.arange(len(result.index))
        return result

    @abstractmethod
    def field_calls(self, u: Floats, of: Rotations) -> list[Call]:
        """Calls that set acceleration, weights and axes of the field at the states u (s, n_u) and middles ``of``."""

    @abstractmethod
    def slopes(self, u: Floats, q: Floats) -> Floats:
        """(F, 3, 3) or (3, 3) derivatives of the acceleration at the frames by their own positions, at one state."""

    def bind(self, batches: Sequence[Batch]) -> None:
        # what weighs cancels in rotations whose weights add up to zero
        massive = [weighed(batch, np.zeros(3)) for batch in batches if batch.gravity is not None]
        self.fielded = Evaluation([self._whole(batch) for batch in massive], self.pattern)
        self.n_u = max((part.first_input + sum(each.width for each in part.inputs) for part in batches), default=0)

    def _whole(self, batch: B) -> B:
        """The batch with the velocities of fixed frames; the same one if there are none."""
        if len(self.held) and isinstance(batch, HoldsFrames):
            return batch.unfixed(self.layout.n_q, self.layout.n_v)
        return batch

    def allocate(self, pattern: BlockPattern) -> None:
        self.pattern = pattern
        own = self.index[self.own]
        self.turning: Ints = self.own[own[:, HAS_AXES] == 1]
        groups = np.concatenate([own[:, IN_V], self.index[self.turning, IN_V] + 3])
        _, columns = pattern.rows_columns()
        first = np.full(int(columns.max()) + 1, -1)
        first[groups] = np.arange(len(groups))
        # entries in the first of three columns of a frame's translation or rotation, and the number of these columns
        self.entries = np.flatnonzero(first[columns] >= 0)
        self.group = first[columns[self.entries]]

    def _rotation_calls(self, u: Floats, q: Floats) -> tuple[Rotations, list[Call]]:
        """The rotations of s states, and the calls that set them for the states which the arrays have then."""
        s, frames = len(q), len(self.index)
        copies = np.empty((3, *u.shape)), np.empty((3, s, q.shape[1] + len(self.held)))
        field = np.empty((s, frames, 3)), np.empty((3, s)), np.empty((s, self.count, 3, 3))
        v, a = np.zeros((2, 3, s, self.size))
        of = Rotations(*copies, np.empty((s, self.count, 3)), *field, v, a, np.empty((3, s, frames, 3)))
        arrays = self.index, of.q, of.middle, *field, v, a, of.omega
        calls = [Bound(spread, u, q, self.held, *copies), Bound(middles, *arrays[:3])]
        return of, [*calls, *self.field_calls(u, of), Bound(rotations, *arrays)]

    def _rotations(self, u: Floats, q: Floats) -> Rotations | None:
        """At s states; None if none has a field."""
        of, calls = self._rotation_calls(u, q)
        for call in calls:
            call()
        return of if of.weights.any() else None

    def field_part(self, batch: B, of: OfMotion[B], u: Floats, q: Floats) -> Floats | float:
        three = self._rotations(u, q)
        if three is None:
            return 0.0
        parts = of(self._whole(batch), *three.states())
        result: Floats = -np.einsum("ks,ks...->s...", three.weights, parts.reshape(3, len(q), *parts.shape[1:]))
        return result

    def forces(self) -> list[Force]:
        return [Force(self._force_calls, (), "uq", composed=True)]

    def _force_calls(self, u: Floats, q: Floats, out: Floats) -> list[Call]:
        three, calls = self._rotation_calls(u, q)
        parts = np.empty(three.v.shape)
        of_all = _flat(parts)
        evaluations = self.fielded.force_calls(*three.states(), of_all, inertia)
        return [*calls, Bound(clear, of_all), *evaluations, Bound(subtract_weighted, three.weights, parts, out)]

    def tangents(self) -> list[Tangent]:
        # without these derivatives, an iteration of a step h leaves about (n h)^2 / 10 of the error
        return [Tangent(self._add_tangent, (), np.empty((0, 1), dtype=np.int64), "uq", step=False)]

    def _add_tangent(
        self, offset: Ints, stride: Ints, u: Floats, q: Floats, damping: Floats, stiffness: Floats
    ) -> None:
        """Exact but for a change of the gradient within a structure with its place."""
        for s in range(len(q)):
            three = self._rotations(u[s : s + 1], q[s : s + 1])
            if three is not None:
                self._add_tangent_at(u[s : s + 1], three, stiffness[s])

    def _add_tangent_at(self, u: Floats, three: Rotations, stiffness: Floats) -> None:
        angular = self.index[self.turning, IN_V, None] + 3 + DIRECTIONS
        for k, weight in enumerate(three.weights[:, 0]):
            by_v, by_q = self.fielded.tangent(u[0], three.q[0], three.v[k, 0], three.a[k, 0])
            # v of a rotation follows the position, and in the axes of a frame its own rotation
            turns = cross_matrix(three.omega[k, 0, self.own])
            stiffness -= weight * by_q
            self._add(-weight * by_v, np.concatenate([turns, cross_matrix(three.v[k, 0, angular])]), stiffness)
        slopes = np.zeros((len(self.own) + len(self.turning), 3, 3))
        slopes[: len(self.own)] = np.broadcast_to(-self.slopes(u[0], three.q[0]), (len(self.index), 3, 3))[self.own]
        self._add(self.mass_data(three.q, len(stiffness)), slopes, stiffness)

    def field_tangent(self, batch: CutsFree, number: int, u: Floats, q: Floats) -> Floats | float:
        """The derivative (n, n_v) by the pose of the field's residual on the free body of one element, at one state.

        Exact as ``tangent`` is, of which it is the part of one element.
        """
        three = self._rotations(u[None], q[None])
        if three is None:
            return 0.0
        assert isinstance(batch, Batch)
        own_places, whole, body = batch.free_body(number), three.q[0], self._whole(batch).free_body(number)
        own = {place: k for k, place in enumerate(self.index[:, IN_V].tolist())}
        ends = [
            (start, own[place]) for start, place in zip(body.starts.tolist(), body.places, strict=True) if place in own
        ]
        slopes = np.broadcast_to(-self.slopes(u, whole), (len(self.index), 3, 3))
        at_frames = np.zeros((body.size, body.size))
        for start, k in ends:
            at_frames[start : start + 3, start : start + 3] = slopes[k]
        result = body.mass(whole) @ at_frames
        for k, weight in enumerate(three.weights[:, 0]):
            v, a = three.v[k, 0], three.a[k, 0]
            by_v, by_q = body.tangent(u, whole, v, a)
            for start, frame in ends:
                spin = slice(self.index[frame, IN_V] + 3, self.index[frame, IN_V] + 6)
                at_frames[start : start + 3, start : start + 3] = cross_matrix(three.omega[k, 0, frame])
                at_frames[start + 3 : start + 6, start + 3 : start + 6] = cross_matrix(v[spin])
            result -= weight * (by_q + by_v @ at_frames)
        return own_places.spread(np.asarray(result), self.layout.n_v)

    def mass_data(self, whole: Floats, size: int) -> Floats:
        """Block data (size,) of the mass matrix at one state (1, n)."""
        mass = np.zeros((1, size))
        self.fielded.add_masses(whole, mass)
        return np.asarray(mass[0])

    def _add(self, data: Floats, by_group: Floats, out: Floats) -> None:
        """out += the matrix of block data times the matrices (groups, 3, 3) on the diagonal."""
        columns = self.entries[:, None] + DIRECTIONS
        out[columns] += np.einsum("ni,nij->nj", data[columns], by_group[self.group])


# The field of a gravity gradient on all masses, about a fixed point or the mass centre.
#
# Source: docs/theory/gravity_gradient.md.


@kernel_with_entry
def gradient(index, u, first, centre, q, acceleration, weights, axes):
    """The linear field of a gravity gradient G = n^2 (3 o o^T - 1): docs/theory/gravity_gradient.md, equation (1).

    u (s, n_u), from ``first`` on : n^2, n^2 o (3,), and the acceleration b (3,) at the origin of q, which a load factor
    multiplies; the field is G (r - centre) + b. centre (s, 3).
    """
    for state in range(q.shape[0]):
        factor, given = u[state, first], u[state, first + 1 :]
        if factor == 0.0:
            set_nothing(state, acceleration, weights, axes)
            continue
        vertical, b, c = V3(given) / factor, V3(given[3:]), V3(centre[state])
        set_weights(factor, weights[:, state])
        y, z = triad(vertical)
        for g in range(axes.shape[1]):
            put(vertical, axes[state, g, 0])
            put(y, axes[state, g, 1])
            put(z, axes[state, g, 2])
        for k in range(index.shape[0]):
            r = V3(q[state, index[k, IN_Q] :]) - c
            put(b + factor * (3.0 * (vertical @ r) * vertical - r), acceleration[state, k])


class GravityGradientBatch(MassField):
    """The forces of one ``femb.elements.GravityGradient``.

    follows : whether the mass centre is on the orbit, as in a free model without a given origin. origin (3,) m : of the
    field at t = 0, relative to the origin of the layout; zero if it follows the mass centre.
    """

    feeds_back = False

    def __init__(self, item: Any, layout: Layout) -> None:
        super().__init__(layout)
        self.item = item
        self.follows = item.origin is None and not len(self.held)
        self.inputs = (Input(7, self._inputs, label=f"loads.{item.name}", surroundings=True),)

    def bind(self, batches: Sequence[Batch]) -> None:
        super().bind(batches)
        self.origin = np.zeros(3)
        if self.item.origin is not None:
            self.origin = np.asarray(self.item.origin) - self.layout.origin
        elif not self.follows:
            self.origin = self._centres(self.layout.start_coordinates()[None])[1][0]

    def _centre_calls(self, u: Floats, q: Floats, masses: Floats, centres: Floats) -> list[Call]:
        """Calls that set masses (s,) kg and mass centres (s, 3) m, relative to the origin of the layout."""
        copies = np.empty((2, *u.shape)), np.empty((2, len(q), q.shape[1] + len(self.held)))
        v, a, parts = np.zeros((3, 2, len(q), self.size))
        a[0][:, self.index[:, IN_V]] = 1.0
        a[1][:, self.index[:, IN_V] + 1] = 1.0
        states, of_all = (_flat(copies[0]), _flat(copies[1]), _flat(v), _flat(a)), _flat(parts)
        calls: list[Call] = [Bound(spread, u, q, self.held, *copies), Bound(clear, of_all)]
        calls += self.fielded.force_calls(*states, of_all, inertia)
        return [*calls, Bound(mass_centres, self.index, copies[1][0], parts, masses, centres)]

    def _centres(self, q: Floats) -> tuple[float, Floats]:
        """Mass (kg) and mass centres (s, 3) m of s states."""
        masses, centres = np.empty(len(q)), np.empty((len(q), 3))
        for call in self._centre_calls(np.zeros((len(q), self.n_u)), q, masses, centres):
            call()
        return float(masses[0]), centres

    def _inputs(self, t: float) -> Floats:
        """(7,) numbers of the field, as with the kernel ``gradient``; a load factor multiplies them."""
        factor, vertical = self.item.orbital_rate**2, self.item.vertical(t)
        shift = np.zeros(3) if self.follows else self.layout.origin_velocity * t - self.origin
        return np.concatenate([[factor], factor * vertical, factor * (3.0 * (vertical @ shift) * vertical - shift)])

    def field_calls(self, u: Floats, of: Rotations) -> list[Call]:
        masses, centres = np.empty(len(u)), np.zeros((len(u), 3))
        calls = self._centre_calls(u, of.q, masses, centres) if self.follows else []
        field = of.acceleration, of.weights, of.axes
        return [*calls, Bound(gradient, self.index, u, self.first_input, centres, of.q, *field)]

    def slopes(self, u: Floats, q: Floats) -> Floats:
        factor, vertical = u[self.first_input], u[self.first_input + 1 : self.first_input + 4]
        if factor == 0.0:
            return np.zeros((3, 3))
        tensor: Floats = 3.0 / factor * np.outer(vertical, vertical) - factor * np.eye(3)
        return tensor

    def low_rank_tangent(self, u: Floats, q: Floats, v: Floats) -> LowRank | None:
        """Derivatives by the motion of the mass centre that it follows: M P G P^T M / m with the translations P."""
        if not self.follows:
            return None
        pattern, P = self.pattern, np.zeros((self.pattern.n, 3))
        P[self.index[:, IN_V, None] + DIRECTIONS] = np.eye(3)
        left: Floats = (pattern.to_csc(self.mass_data(q[None], pattern.size)) @ P)[: len(v)]
        return LowRank(left, np.zeros_like(left), left @ self.slopes(u, q) / self._centres(q[None])[0])

    def field_tangent(self, batch: CutsFree, number: int, u: Floats, q: Floats) -> Floats | float:
        result, of_centre = super().field_tangent(batch, number, u, q), self.low_rank_tangent(u, q, np.zeros(self.size))
        if of_centre is None:
            return result
        body = batch.free_body(number)
        P = np.zeros((body.size, 3))
        for group, _, _ in body.ends:
            P[int(body.starts[group]) + DIRECTIONS] = np.eye(3)
        return np.asarray(result + body.mass(q) @ P @ of_centre.stiffness.T)

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Force, and torque about the origin of the field, of all moving parts; both in inertial axes."""
        force = np.zeros_like(frames.v)
        for call in self._force_calls(frames.u, frames.q, force):
            call()
        at = self.origin - frames.time[:, None] * self.layout.origin_velocity
        if self.follows:
            at = self._centres(frames.q)[1]
        own, turning = self.index[self.own, :, None] + DIRECTIONS, self.index[self.turning, :, None]
        force = -force
        pull = force[:, own[:, IN_V]]
        torque = np.cross(frames.q[:, own[:, IN_Q]] - at[:, None], pull).sum(axis=1)
        attitudes = normalise(frames.q[:, turning[:, IN_Q] + 3 + np.arange(4)])
        torque += rotate(attitudes, force[:, turning[:, IN_V] + 3 + DIRECTIONS]).sum(axis=1)
        name = f"loads/{self.item.name}"
        return {f"{name}/force": pull.sum(axis=1), f"{name}/torque": torque}
