"""One load along a beam that depends on the places and velocities of its points: force, tangent and results.

Source: docs/theory/beam_loads.md, section 3.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats, Ints
from femb.base.values import shown
from femb.elements.beam.batch import COORDINATES, BeamBatch
from femb.elements.beam.batch import VELOCITIES as BEAM_VELOCITIES
from femb.elements.beam.strain import LENGTH, POINTS, WEIGHTS, cubics, slopes
from femb.elements.environment.density import density
from femb.elements.exact.batch import ExactBatch
from femb.elements.exact.element_data import REFERENCE
from femb.layout.element import Batch, Input, WithoutDerivatives, breakpoints_of
from femb.layout.evaluation import Call
from femb.layout.layout import Layout
from femb.layout.terms import Force, Tangent
from femb.layout.views import ModelView, OutputStates
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.numerics.compiler.compile import kernel_with_entry
from femb.numerics.vector3 import (
    IN_Q,
    IN_V,
    add_torque_tangent,
    cross,
    dot,
    pose,
    rotate,
    rotate_back,
    scatter,
    times_skew,
)

# Kernels of the drag on points of beams: see ``drag`` and docs/theory/beam_loads.md, section 3.

LAW_WIDTH = 21  # inputs of a law at a point: the force, and its derivatives by position and velocity


@kernel_with_entry
def drag(values, slopes, numbers, against, origin, levels, first, inputs, x, rates, force, by_v, by_slope):
    """Set the force per length at the points (s, e, 3, 3), and its derivatives (s, e, 3, 3, 3) unless they are empty.

    numbers (3,) : density width / 2 times the coefficients across and along the beam, and the viscous one. against (3,)
    m/s : what the velocity of a point in ``rates`` lacks to be relative to the fluid. inputs (s, n_u), from ``first``
    on : a factor; where ``levels`` of ``density`` give a factor of the first two numbers, the wind (3,), and the place
    (3,) to which those of the element and of the origin (3,) add. Returns -1, or a distance outside of the levels.
    """
    y = np.empty((6, 3))
    u, t, across, unit, stream, place = y[0], y[1], y[2], y[3], y[4], y[5]
    viscous = numbers[2]
    for s in range(x.shape[0]):
        factor, air = inputs[s, first], 1.0
        for o in range(3):
            stream[o] = against[o]
            if levels.shape[0] > 0:
                stream[o] -= inputs[s, first + 1 + o]
                place[o] = inputs[s, first + 4 + o] + origin[o]
                # at the middle of its ends, as altitudes along a beam are alike
                for n in range(x.shape[1]):
                    place[o] += 0.5 * (x[s, n, 0, o] + x[s, n, 2, o]) / x.shape[1]
        if levels.shape[0] > 0:
            air = density(levels, place, unit)
            if air < 0.0:
                return int(0.5 - air)
        across_c, along_c = air * numbers[0], air * numbers[1]
        for n in range(x.shape[1]):
            for g in range(3):
                for o in range(3):
                    u[o], t[o] = stream[o], 0.0
                    for a in range(4):
                        u[o] += values[g, a] * rates[s, n, a, o]
                        t[o] += slopes[g, a] * x[s, n, a, o]
                size = np.sqrt(dot(t, t))
                for o in range(3):
                    t[o] /= size
                along = dot(u, t)
                for o in range(3):
                    across[o] = u[o] - along * t[o]
                speed = np.sqrt(dot(across, across))
                c, c_t = across_c * speed, along_c * abs(along)
                for o in range(3):
                    force[s, n, g, o] = factor * (-c * across[o] - c_t * along * t[o] - viscous * u[o])
                    unit[o] = across[o] / speed if speed > 0.0 else 0.0
                if by_v.size == 0:
                    continue
                for i in range(3):
                    for j in range(3):
                        one = 1.0 if i == j else 0.0
                        tt = t[i] * t[j]
                        # of |u_n| u_n by u_n, times |u_n|; the change of u_n with t is -(t u_n^T + along (1 - t t^T))
                        both, turn = one - tt + unit[i] * unit[j], t[i] * across[j]
                        by_v[s, n, g, i, j] = factor * (-c * both - 2.0 * c_t * tt - viscous * one)
                        by_slope[s, n, g, i, j] = (
                            factor / size * (c * (turn + along * both) - c_t * (2.0 * turn + along * (one - tt)))
                        )

    return -1


@kernel_with_entry
def given_force(first, inputs, force, by_x, by_v):
    """Set the force per length at the points (s, e, 3, 3), and its derivatives (s, e, 3, 3, 3) unless they are empty.

    inputs (s, n_u), from ``first`` on : of a law, LAW_WIDTH numbers of each point of each element.
    """
    for s in range(force.shape[0]):
        for n in range(force.shape[1]):
            for g in range(3):
                at = first + LAW_WIDTH * (3 * n + g)
                for i in range(3):
                    force[s, n, g, i] = inputs[s, at + i]
                    if by_x.size > 0:
                        for j in range(3):
                            by_x[s, n, g, i, j] = inputs[s, at + 3 + 3 * i + j]
                            by_v[s, n, g, i, j] = inputs[s, at + 12 + 3 * i + j]


# Kernels over points on the axes of beams: see ``line_points`` and docs/theory/beam_loads.md, section 3.
#
# index (e, 2, 4) int: of both ends of an element the indices in q and v of its frame, negative if it is fixed, and
# those of its strain, IN_STRAIN and STRAIN_RATE, negative if it has none. ends (e, 2, 6): the arm d and the vector e of
# an end in frame axes. values, slopes (3, 4), weights (e, 3): as of ``LinePoints``. The arrays R, omega, k, w,
# arm_rate, x and rates are those of ``line_points.Motion``.

IN_STRAIN, STRAIN_RATE = 2, 3
WIDTH = 7  # velocities of an end: of its frame, and of its strain


@kernel_with_entry
def motions(index, ends, fixed, q, v, R, omega, k, w, arm_rate, x, rates):
    """Set the motion of the ends of all elements at s states."""
    along = np.empty(3)
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            for end in range(2):
                i, j, own = index[n, end, IN_Q], index[n, end, IN_V], index[n, end, IN_STRAIN]
                d, e = ends[n, end, 0:3], ends[n, end, 3:6]
                A, spin, arm, turned = R[s, n, end], omega[s, n, end], arm_rate[s, n, end], w[s, n, end]
                at, speed = x[s, n, 2 * end], rates[s, n, 2 * end]
                pose(i, q[s], fixed, at, A)
                stretch, stretching = 1.0, 0.0
                if own >= 0:
                    stretch, stretching = 1.0 + q[s, own], v[s, index[n, end, STRAIN_RATE]]
                for o in range(3):
                    speed[o] = v[s, j + o] if j >= 0 else 0.0
                    spin[o] = v[s, j + 3 + o] if j >= 0 else 0.0
                    k[s, n, end, o] = stretch * e[o]
                cross(spin, d, arm)
                cross(spin, k[s, n, end], turned)
                for o in range(3):
                    turned[o] += stretching * e[o]
                rotate(A, d, along)
                for o in range(3):
                    at[o] += along[o]
                rotate(A, arm, along)
                for o in range(3):
                    speed[o] += along[o]
                rotate(A, k[s, n, end], x[s, n, 2 * end + 1])
                rotate(A, turned, rates[s, n, 2 * end + 1])


@kernel_with_entry
def end_forces(index, ends, weights, values, R, k, force, F, out):
    """F (s, e, 4, 3), inertial axes, on the four vectors by the forces per length (s, e, 3, 3) at the points.

    out (s, n_v), unless of length 0, -= the generalised forces.
    """
    w = np.empty((4, 3))
    on_place, on_along, first, second = w[0], w[1], w[2], w[3]
    for s in range(force.shape[0]):
        for n in range(index.shape[0]):
            for a in range(4):
                for o in range(3):
                    F[s, n, a, o] = 0.0
                    for g in range(3):
                        F[s, n, a, o] += weights[n, g] * values[g, a] * force[s, n, g, o]
            for end in range(2):
                j, own = index[n, end, IN_V], index[n, end, STRAIN_RATE]
                if out.shape[0] == 0:
                    continue
                rotate_back(R[s, n, end], F[s, n, 2 * end], on_place)
                rotate_back(R[s, n, end], F[s, n, 2 * end + 1], on_along)
                if j >= 0:
                    cross(ends[n, end, 0:3], on_place, first)
                    cross(k[s, n, end], on_along, second)
                    for o in range(3):
                        out[s, j + o] -= F[s, n, 2 * end, o]
                        out[s, j + 3 + o] -= first[o] + second[o]
                if own >= 0:
                    out[s, own] -= dot(ends[n, end, 3:6], on_along)


@kernel_with_entry
def tangent(
    index, ends, weights, values, slopes, R, omega, k, w, arm_rate, F, by_x, by_v, by_slope,
    starts, sizes, offset, stride, damping, stiffness,
):  # fmt: skip
    """Add the derivatives of minus the generalised forces to block data (s, size).

    F : of ``end_forces``. by_x, by_v, by_slope (s, e, 3, 3, 3) : derivatives of the forces at the points by the place,
    the velocity and the slope. starts, sizes : of the groups of an element among its 14 motions.
    """
    places, speeds = np.empty((4, 3, 2 * WIDTH)), np.empty((4, 3, 2 * WIDTH))
    at, change, change_v = np.empty((3, 3, 2 * WIDTH)), np.empty((3, 2 * WIDTH)), np.empty((3, 2 * WIDTH))
    K, C = np.empty((2 * WIDTH, 2 * WIDTH)), np.empty((2 * WIDTH, 2 * WIDTH))
    y = np.empty((3, 3))
    on_place, on_along, turned = y[0], y[1], y[2]
    for s in range(R.shape[0]):
        for n in range(index.shape[0]):
            places[:], speeds[:], K[:], C[:] = 0.0, 0.0, 0.0, 0.0
            for end in range(2):
                A, d, e, m = R[s, n, end], ends[n, end, 0:3], ends[n, end, 3:6], WIDTH * end
                for o in range(3):
                    places[2 * end, o, m + o] = 1.0
                times_skew(-1.0, A, d, places[2 * end, :, m + 3 : m + 6])
                times_skew(-1.0, A, arm_rate[s, n, end], speeds[2 * end, :, m + 3 : m + 6])
                times_skew(-1.0, A, k[s, n, end], places[2 * end + 1, :, m + 3 : m + 6])
                times_skew(-1.0, A, w[s, n, end], speeds[2 * end + 1, :, m + 3 : m + 6])
                rotate(A, e, places[2 * end + 1, :, m + 6])
                cross(omega[s, n, end], e, turned)
                rotate(A, turned, speeds[2 * end + 1, :, m + 6])
                # the torques of constant forces change with the rotation and the strain
                rotate_back(A, F[s, n, 2 * end], on_place)
                rotate_back(A, F[s, n, 2 * end + 1], on_along)
                block = K[m : m + WIDTH, m : m + WIDTH]
                add_torque_tangent(1.0, on_place, d, 3, block)
                add_torque_tangent(1.0, on_along, k[s, n, end], 3, block)
                cross(e, on_along, turned)
                for o in range(3):
                    block[3 + o, 6] += turned[o]
                    block[6, 3 + o] += turned[o]
            for g in range(3):
                for c in range(2 * WIDTH):
                    for o in range(3):
                        for part in range(3):
                            at[part, o, c] = 0.0
                        for a in range(4):
                            at[0, o, c] += values[g, a] * places[a, o, c]
                            at[1, o, c] += values[g, a] * speeds[a, o, c]
                            at[2, o, c] += slopes[g, a] * places[a, o, c]
                for c in range(2 * WIDTH):
                    for o in range(3):
                        change[o, c], change_v[o, c] = 0.0, 0.0
                        for i in range(3):
                            change_v[o, c] += by_v[s, n, g, o, i] * at[0, i, c]
                            change[o, c] += by_x[s, n, g, o, i] * at[0, i, c] + by_v[s, n, g, o, i] * at[1, i, c]
                            change[o, c] += by_slope[s, n, g, o, i] * at[2, i, c]
                for r in range(2 * WIDTH):
                    for c in range(2 * WIDTH):
                        for o in range(3):
                            K[r, c] += weights[n, g] * at[0, o, r] * change[o, c]
                            C[r, c] += weights[n, g] * at[0, o, r] * change_v[o, c]
            for r in range(2 * WIDTH):
                for c in range(2 * WIDTH):
                    K[r, c], C[r, c] = -K[r, c], -C[r, c]
            scatter(K, starts, sizes, offset[n], stride[n], stiffness[s])
            scatter(C, starts, sizes, offset[n], stride[n], damping[s])


# Points on the axis of a beam by its coordinates: places, velocities, directions, and their derivatives.
#
# In an element of either kind, a point is a sum of four vectors x = (r_I, g_I, r_II, g_II) with constant factors: the
# places r of both ends, and vectors g along the beam at these ends. With the attitude R of the frame of an end,
#
#     r = p + R d,    g = R k,    k = L (1 + eps) e of beams with a strain eps at the end, or constant.
#
# Arrays have s states, e elements and three Gauss points each. Source: docs/theory/beam_loads.md, section 3.

BUBBLE = 0.5 * POINTS * (1.0 - POINTS)
QUADRATIC = np.stack([1.0 - POINTS, BUBBLE, POINTS, -BUBBLE], axis=1)
QUADRATIC_SLOPES = np.stack([-1.0 + 0.0 * POINTS, 0.5 - POINTS, 1.0 + 0.0 * POINTS, POINTS - 0.5], axis=1)


@dataclass(frozen=True, eq=False)
class EndVectors:
    """The four vectors x and their rates (s, e, 4, 3) at s states, inertial axes; of both ends, in frame axes: R (s, e,
    2, 3, 3) of the frame, omega, k, w = omega x k + k', and arm_rate = omega x d, (s, e, 2, 3).

    F (s, e, 4, 3) : forces on the four vectors, which ``LinePoints.add_forces`` sets.
    """

    R: Floats
    omega: Floats
    k: Floats
    w: Floats
    arm_rate: Floats
    x: Floats
    rates: Floats
    F: Floats

    @classmethod
    def empty(cls, s: int, e: int) -> Self:
        """Arrays of s states and e elements, to be set."""
        vectors, four = np.empty((4, s, e, 2, 3)), np.empty((3, s, e, 4, 3))
        return cls(np.empty((s, e, 2, 3, 3)), *vectors, *four)


NO_FORCE = np.empty((0, 0))


class LinePoints:
    """The Gauss points on the elements of one beam.

    index, ends : as of ``line_point_kernels``. starts (e, 4 or 2) : first velocities of the groups of an element, for
    its pattern. values, slopes (3, 4) : factors of the four vectors for the place and for the derivative along the
    element. weights (e, 3) : m. s (e, 3) : length from the start of the beam, m. sections (e, 2, 3, 3) : axes of the
    end sections in their frames.
    """

    def __init__(self, batch: BeamBatch | ExactBatch) -> None:
        n = len(batch.index)
        self.fixed, self.strained = batch.fixed, isinstance(batch, BeamBatch)
        self.length: Floats = batch.data[:, LENGTH]
        rotation = batch.ends[:, :, 4:13].reshape(n, 2, 3, 3)
        self.sections: Floats = rotation
        if isinstance(batch, BeamBatch):
            self.starts = np.ascontiguousarray(batch.index[:, BEAM_VELOCITIES])
            pairs = batch.index[:, COORDINATES].reshape(n, 2, 2), self.starts.reshape(n, 2, 2)
            self.index: Ints = np.ascontiguousarray(
                np.stack([pairs[part][:, :, m] for m in (0, 1) for part in (0, 1)], axis=2)
            )
            self.values = cubics(POINTS)
            n2, n3, n4 = slopes(POINTS)[:, :3].T
            self.slopes: Floats = np.stack([-n3, n2, n3, n4], axis=1)
            along: Floats = rotation[..., 0] * self.length[:, None, None]
        else:
            self.starts = np.ascontiguousarray(batch.index[:, 2:4])
            none = np.full((n, 2), -1)
            self.index = np.ascontiguousarray(np.stack([batch.index[:, 0:2], self.starts, none, none], axis=2))
            self.values, self.slopes = QUADRATIC, QUADRATIC_SLOPES
            along = np.einsum("neij,nj->nei", rotation, batch.data[:, REFERENCE : REFERENCE + 3])
        self.ends: Floats = np.concatenate([batch.ends[:, :, 1:4], along], axis=2)
        self.weights: Floats = self.length[:, None] * WEIGHTS
        reached = np.cumsum(self.length)
        self.s: Floats = (reached - self.length)[:, None] + self.length[:, None] * POINTS

    def motion_call(self, q: Floats, v: Floats) -> tuple[EndVectors, Bound]:
        """The motion at states q (s, n_q), v (s, n_v), and the call that sets it."""
        motion = EndVectors.empty(len(q), len(self.length))
        of = motion.R, motion.omega, motion.k, motion.w, motion.arm_rate, motion.x, motion.rates
        return motion, Bound(motions, self.index, self.ends, self.fixed, q, v, *of)

    def motion(self, q: Floats, v: Floats) -> EndVectors:
        """The motion at states q (s, n_q), v (s, n_v)."""
        motion, call = self.motion_call(q, v)
        call()
        return motion

    def at_points(self, factors: Floats, x: Floats) -> Floats:
        """(s, e, 3, 3) sums of the four vectors (s, e, 4, 3) at the Gauss points; factors (3, 4)."""
        result: Floats = np.einsum("ga,seai->segi", factors, x)
        return result

    def force_call(self, motion: EndVectors, force: Floats, out: Floats = NO_FORCE) -> Bound:
        """The call that sets F by forces per length (s, e, 3, 3), inertial axes, and subtracts generalised ones from
        out (s, n_v)."""
        points = self.index, self.ends, self.weights, self.values
        return Bound(end_forces, *points, motion.R, motion.k, force, motion.F, out)


def starts_of(points: LinePoints) -> tuple[Ints, Ints]:
    """First and size of the groups of an element among its 14 motions, for ``scatter``."""
    return (
        (np.array([0, 6, 7, 13]), np.array([6, 1, 6, 1])) if points.strained else (np.array([0, 7]), np.array([6, 6]))
    )


NO_DERIVATIVES = np.empty((0, 0, 0, 0, 0))


class PointForce(Protocol):
    """The description of such a load, ``femb.elements.load.line_load.Drag``."""

    @property
    def name(self) -> str: ...
    @property
    def beam(self) -> str: ...
    @property
    def law(self) -> Any: ...
    @property
    def profile(self) -> Any: ...
    @property
    def numbers(self) -> Floats: ...
    @property
    def wind(self) -> Any: ...
    def atmosphere(self, model: ModelView) -> Any: ...


class DragBatch(Batch):
    """A drag times an input; or a law, whose values and derivatives at the points are inputs."""

    def __init__(self, item: PointForce, layout: Layout, model: ModelView) -> None:
        self.item, self.layout = item, layout
        beam = model.beams[item.beam]
        batch = next(each for each in type(beam).batches([beam], layout, model) if each.gravity is not None)
        if not isinstance(batch, BeamBatch | ExactBatch):
            what = f"is of the kind {beam.kind!r}, which takes no loads along it: load its nodes"
            raise ModelError.at(("beams", item.beam), what)
        self.kind = type(batch)
        self.points = LinePoints(batch)
        self._first_element = 0  # of those of the beam
        before = list(model.beams.values())[: list(model.beams).index(item.beam)]
        self.first_row = sum(other.elements for other in before if type(other) is type(beam))
        label = f"loads.{item.name}"
        self.inputs = (Input.of_profile(item.profile, f"{label}.profile"),)
        self.numbers: Floats = np.asarray(item.numbers, dtype=float)
        self.against: Floats = layout.origin_velocity - np.asarray(item.wind)
        of_model = item.atmosphere(model)
        self.levels, self._check = np.empty((0, 3)), None
        if of_model is not None:
            self.levels, self._check = of_model[0].levels, of_model[0].check_distance
            surroundings = Input(6, of_model[1], label=f"{label}.wind", unit="m/s", surroundings=True)
            self.inputs = (*self.inputs, surroundings)
        if item.law is not None:
            width, breaks = LAW_WIDTH * self.points.s.size, breakpoints_of(item.profile)
            self.inputs = (
                Input(
                    width, self._of_law, of_state=True, breakpoints=breaks, label=f"{label}.law", differentiated=True
                ),
            )

    def _of_law(self, t: float, state: Any) -> Floats | WithoutDerivatives:
        """The force of the law, and its derivatives, at the points: (21 m,) numbers."""
        q, v = state.arrays()
        points, motion = self.points, self.points.motion(q[None], v[None])
        position = points.at_points(points.values, motion.x).reshape(-1, 3)
        velocity = points.at_points(points.values, motion.rates).reshape(-1, 3)
        places = self.layout.to_inertial(np.array([t]), position[None], velocity[None])
        law: Any = self.item.law
        value = law(t, points.s.ravel(), places[0][0], places[1][0])
        parts = list(value) if isinstance(value, tuple) else [value]
        derived = len(parts) == 3
        parts += [] if derived else [np.zeros((len(position), 3, 3))] * 2
        wanted = [(len(position), 3), (len(position), 3, 3), (len(position), 3, 3)]
        if [np.shape(part) for part in parts] != wanted:
            what = f"wanted a force {wanted[0]}, or this and two arrays of derivatives {wanted[1]}"
            raise SolveError(f"loads.{self.item.name}.law: got {shown(value)} at t = {t:.6g} s, {what}")
        packed = np.concatenate([np.reshape(part, (len(position), -1)) for part in parts], axis=1)
        result: Floats = self.item.profile(t) * packed.ravel()
        return result if derived else WithoutDerivatives(result)

    def _per_length(
        self, u: Floats, q: Floats, v: Floats, *derivatives: Floats
    ) -> tuple[EndVectors, Floats, list[Call]]:
        """The motion, the forces per length (s, e, 3, 3), and the calls that set both at s states, and derivatives of
        these forces by the place, the velocity and the slope (s, e, 3, 3, 3)."""
        points, force = self.points, np.empty((len(u), *self.points.s.shape, 3))
        motion, call = points.motion_call(q, v)
        by_x, by_v, by_slope = derivatives or [NO_DERIVATIVES] * 3
        if self.item.law is not None:
            first = self.first_input + LAW_WIDTH * 3 * self._first_element
            return motion, force, [call, Bound(given_force, first, u, force, by_x, by_v)]
        law = (
            points.values,
            points.slopes,
            self.numbers,
            self.against,
            self.layout.origin,
            self.levels,
            self.first_input,
        )
        of_drag = Bound(drag, *law, u, motion.x, motion.rates, force, by_v, by_slope, check=self._check)
        return motion, force, [call, of_drag]

    def forces(self) -> list[Force]:
        return [Force(self._force_calls, (), composed=True)]

    def _force_calls(self, u: Floats, q: Floats, v: Floats, out: Floats) -> list[Call]:
        motion, force, calls = self._per_length(u, q, v)
        return [*calls, self.points.force_call(motion, force, out)]

    def tangents(self) -> list[Tangent]:
        return [Tangent(self._tangent_calls, (), self.points.starts, composed=True)]

    def _tangent_calls(
        self, offset: Ints, stride: Ints, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats
    ) -> list[Call]:
        points, derivatives = self.points, np.zeros((3, len(u), *self.points.s.shape, 3, 3))
        motion, force, calls = self._per_length(u, q, v, *derivatives)
        ends = motion.R, motion.omega, motion.k, motion.w, motion.arm_rate, motion.F
        of_points = points.index, points.ends, points.weights, points.values, points.slopes
        blocks = *starts_of(points), offset, stride
        by = Bound(tangent, *of_points, *ends, *derivatives, *blocks, damping, stiffness)
        return [*calls, points.force_call(motion, force), by]

    def _forces(self, u: Floats, q: Floats, v: Floats) -> tuple[EndVectors, Floats]:
        """The motion and the forces per length (s, e, 3, 3) at s states."""
        motion, force, calls = self._per_length(u, q, v)
        BoundSequence([*calls, self.points.force_call(motion, force)])()
        return motion, force

    def add_section_forces(self, beams: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if type(beams) is not self.kind:
            return
        points, (motion, force) = self.points, self._forces(u, q, v)
        own = np.einsum("senji,senaj->senai", motion.R, motion.F.reshape(*force.shape[:2], 2, 2, 3))
        moment = np.cross(motion.k, own[..., 1, :])
        rows = slice(self.first_row, self.first_row + len(points.length))
        for part, value in ((slice(0, 3), own[..., 0, :]), (slice(3, 6), moment)):
            local = np.einsum("enji,senj->seni", points.sections, value)
            out[:, rows, 0, part] += local[:, :, 0]
            out[:, rows, 1, part] -= local[:, :, 1]

    def load_on(self, batch: Batch, number: int) -> Self | None:
        """The load on one element of ``batch``, with the velocities of its free body; None where there is none."""
        k = number - self.first_row
        if not isinstance(batch, BeamBatch | ExactBatch) or type(batch) is not self.kind:
            return None
        if not 0 <= k < len(self.points.length):
            return None
        body, other = batch.free_body(number), copy(self)
        assert isinstance(body.batch, BeamBatch | ExactBatch)
        other.points, other._first_element = LinePoints(body.batch), k
        return other

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The force of the whole beam, inertial axes."""
        _, force = self._forces(frames.u, frames.q, frames.v)
        return {f"loads/{self.item.name}/force": np.einsum("eg,segi->si", self.points.weights, force)}
