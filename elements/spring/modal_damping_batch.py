"""Modal damping of all appendages, evaluated together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import frame_indices
from femb.elements.spring.damped_modes import DampedModes
from femb.layout.element import Batch, LowRank
from femb.layout.layout import Layout
from femb.layout.terms import Force, Tangent
from femb.layout.views import OutputStates
from femb.numerics import rotations
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import cross
from femb.numerics.compiler.traced import M3, V3, V6, add_to, put, traced
from femb.numerics.rotations import cross_matrix
from femb.numerics.vector3 import HAS_AXES, IN_V, MovingFrame, crossed, frame_at, still

# Kernels of modal damping of what hangs on a body.
#
# With the body's axes R_h, origin r_h and angular velocity omega_h, the rates of deformation of the frame k are
#
#     u' = R_h^T (r_k' - r_h') - omega_h x R_h^T (r_k - r_h),    theta' = R_h^T R_k omega_k - omega_h
#
# and of an internal coordinate its own rate: all vanish in rigid motions. Modal rates eta'_j = d_j . (u', theta') give
# forces w = sum_j c_j eta'_j d_j on these rates, which the transpose takes to frames and to the body.
# Source: docs/theory/modal_damping.md, equations (2) to (4).
#
# columns (1 + n, 3) int : of the body and the frames (see ``femb.numerics.vector3``). internal (m,) int : of internal
# coordinates in v. d (k, n, 6), e (k, m) : d_j of frames and of internal coordinates. c (k,) : 2 zeta omega.


@traced
def deformation_of(hub: MovingFrame, frame: MovingFrame) -> Any:
    """Axes Q of a frame in those of the body, R_h^T (r_k - r_h), u' and theta'."""
    Q, place = hub.R.T @ frame.R, hub.R.T @ (frame.r - hub.r)
    return Q, place, hub.R.T @ (frame.v - hub.v) - cross(hub.omega, place), Q @ frame.omega - hub.omega


@inlined
def deformation(body, frames, q, v, fixed, Q, places, rates):
    """Sets Q (n, 3, 3), places (n, 3) and rates (n, 6) of the frames; gives the axes of the body."""
    hub = frame_at(body, 0, q, v, fixed)
    for i in range(frames.shape[0]):
        axes, place, rate, spin = deformation_of(hub, frame_at(frames[i], 0, q, v, fixed))
        put(axes, Q[i])
        put(place, places[i])
        put(rate, rates[i])
        put(spin if frames[i, HAS_AXES] else still(), rates[i, 3:])
    return hub.R


@inlined
def modal_rate(d, e, rates, internal, v):
    """eta' of one mode."""
    result = 0.0
    for i in range(rates.shape[0]):
        result += V6(d[i]) @ V6(rates[i])
    for i in range(internal.size):
        result += e[i] * v[internal[i]]
    return result


@kernel
def modal_rates(columns, internal, d, e, c, fixed, q, v, out):
    """Set the modal rates out (s, k) at s states."""
    body, frames = columns[0], columns[1:]
    n = frames.shape[0]
    Q, places, rates = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 6))
    for s in range(q.shape[0]):
        deformation(body, frames, q[s], v[s], fixed, Q, places, rates)
        for j in range(c.size):
            out[s, j] = modal_rate(d[j], e[j], rates, internal, v[s])


@kernel_with_entry
def force(columns, internal, d, e, c, fixed, q, v, out):
    """out (s, n_v) += the forces at s states, with the signs of a residual."""
    body, frames = columns[0], columns[1:]
    n = frames.shape[0]
    Q, places, rates, w = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 6)), np.empty((n, 6))
    for s in range(q.shape[0]):
        R = deformation(body, frames, q[s], v[s], fixed, Q, places, rates)
        w[:] = 0.0
        for j in range(c.size):
            share = c[j] * modal_rate(d[j], e[j], rates, internal, v[s])
            for i in range(n):
                add_to(share * V6(d[j, i]), w[i])
            for i in range(internal.size):
                out[s, internal[i]] += share * e[j, i]
        total, torque = still(), still()
        for i in range(n):
            at, own, spin = frames[i, IN_V], V3(w[i]), V3(w[i, 3:])
            total += R @ own
            torque += crossed(V3(places[i]), own)
            add_to(R @ own, out[s, at:])
            if frames[i, HAS_AXES]:
                torque += spin
                add_to(M3(Q[i]).T @ spin, out[s, at + 3 :])
        if body[IN_V] >= 0:
            add_to(-total, out[s, body[IN_V] :])
            add_to(-torque, out[s, body[IN_V] + 3 :])


# Ratio up to which more iterations cost less than a mode's damping in Newton's matrix.
SLIGHT = 0.05


@dataclass(frozen=True, eq=False)
class _Group:
    """The modes of one appendage, as arguments of the kernel: see there."""

    path: str
    body: Ints
    frames: Ints
    internal: Ints
    d: Floats
    e: Floats
    c: Floats

    @property
    def arguments(self) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        return np.vstack([self.body, self.frames]), self.internal, self.d, self.e, self.c

    @cached_property
    def starts(self) -> Ints:
        """(n, 1) the first velocities of the rotations of the frames, negative where they have none."""
        return np.where(self.frames[:, [HAS_AXES]] == 1, self.frames[:, [IN_V]] + 3, -1)


class ModalDampingBatch(Batch):
    """Forces of modal damping. Their derivatives couple all frames of an appendage and are ``low_rank_tangent``.

    Newton's matrix contains those of modes with a ratio above ``SLIGHT``; without them an iteration leaves about this
    ratio of the error: docs/theory/modal_damping.md, section 3.
    """

    feeds_back = False

    def __init__(self, layout: Layout, entries: Sequence[tuple[str, int, DampedModes]]) -> None:
        """entries : of every appendage the path of its results, the frame of the held body, and the modes."""
        self.layout, self.fixed = layout, layout.fixed
        self.groups = [_group(layout, *entry) for entry in entries]
        strong = [(path, held, modes.damped_above(SLIGHT)) for path, held, modes in entries]
        self.strong_groups = [_group(layout, *entry) for entry in strong if len(entry[2].ratios)]

    def forces(self) -> list[Force]:
        return [Force(force, (*group.arguments, self.fixed), "qv") for group in self.groups]

    def tangents(self) -> list[Tangent]:
        """The change of the torques in the axes of each frame with its own rotation; ``low_rank_tangent`` has the rest,
        and Newton's iteration goes without."""
        return [Tangent(self._turned, (group,), group.starts, "qv", gives="k", step=False) for group in self.groups]

    def _turned(self, group: _Group, offset: Ints, stride: Ints, q: Floats, v: Floats, stiffness: Floats) -> None:
        rows, moving = np.arange(3), offset[:, 0, 0] >= 0
        entries = offset + stride * rows[:, None] + rows
        for here, speed, out in zip(q, v, stiffness, strict=True):
            state = _State(group, self.layout, here, speed)
            torque = np.einsum("nji,nj->ni", state.Q, state.w[:, 3:])
            np.add.at(out, entries[moving], cross_matrix(torque)[moving])

    def low_rank_tangent(self, u: Floats, q: Floats, v: Floats) -> LowRank:
        parts = [_State(group, self.layout, q, v).low_rank() for group in self.groups]
        return LowRank.joined(parts, len(v))

    def low_rank_matrices(self, u: Floats, q: Floats, v: Floats) -> LowRank | None:
        if not self.strong_groups:
            return None
        parts = [_State(group, self.layout, q, v).damping() for group in self.strong_groups]
        return LowRank.joined(parts, len(v))

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        rates: dict[str, list[Floats]] = {}
        powers: dict[str, Floats] = {}
        for group in self.groups:
            rate = np.empty((len(frames.q), len(group.c)))
            modal_rates(*group.arguments, self.fixed, frames.q, frames.v, rate)
            rates.setdefault(group.path, []).append(rate)
            powers[group.path] = powers.get(group.path, 0.0) + rate**2 @ group.c
        block = {f"{path}/modal_rates": np.hstack(parts) for path, parts in rates.items()}
        return block | {f"{path}/power": power for path, power in powers.items()}


def _group(layout: Layout, path: str, held: int, modes: DampedModes) -> _Group:
    body = np.array(frame_indices(layout, held), dtype=np.int64)
    frames = np.array([frame_indices(layout, int(k)) for k in modes.frames], dtype=np.int64).reshape(-1, 3)
    internal = np.asarray(layout.internal_v[modes.internal], dtype=np.int64)
    c = 4.0 * np.pi * modes.ratios * modes.frequencies
    return _Group(path, body, frames, internal, np.ascontiguousarray(modes.d), np.ascontiguousarray(modes.e), c)


class _State:
    """An appendage at one state: docs/theory/modal_damping.md, section 3, whose symbols are used."""

    def __init__(self, group: _Group, layout: Layout, q: Floats, v: Floats) -> None:
        self.group, self.n_v = group, len(v)
        r_h, self.R, rate_h, self.omega_h = _motion(layout, group.body, q, v)
        motions = [_motion(layout, frame, q, v) for frame in group.frames]
        r, axes, rate, omega = (
            np.reshape([motion[k] for motion in motions], (-1, *shape))
            for k, shape in enumerate(((3,), (3, 3), (3,), (3,)))
        )
        self.place = (r - r_h) @ self.R
        self.speed = (rate - rate_h) @ self.R
        self.Q = self.R.T @ axes
        self.spin = np.einsum("nij,nj->ni", self.Q, omega)
        self.omega = omega
        turning = self.spin - self.omega_h
        self.has_axes = group.frames[:, HAS_AXES] == 1
        turning[~self.has_axes] = 0.0
        rates = np.hstack([self.speed - np.cross(self.omega_h, self.place), turning])
        eta_rates = np.einsum("kni,ni->k", group.d, rates) + group.e @ v[group.internal]
        self.w = np.einsum("k,kni->ni", group.c * eta_rates, group.d)
        self.w[~self.has_axes, 3:] = 0.0

    def damping(self) -> LowRank:
        """The derivative by velocities alone."""
        A, B = self._modal_rows()
        return LowRank((A * self.group.c[:, None]).T, A.T, np.zeros_like(B.T))

    def low_rank(self) -> LowRank:
        """The derivatives without those of ``ModalDampingBatch.tangents``."""
        A, B = self._modal_rows()
        left, damping, stiffness = A * self.group.c[:, None], A, B
        if np.any(self.w) and self.group.body[IN_V] >= 0:
            body = np.arange(3) + self.group.body[IN_V] + 3
            rotation = np.zeros((3, self.n_v))
            rotation[np.arange(3), body] = 1.0
            by_rotation, by_places = self._with_body(), self._torque_on_body()
            left = np.vstack([left, by_rotation.T, rotation])
            damping = np.vstack([damping, np.zeros((6, self.n_v))])
            stiffness = np.vstack([stiffness, rotation, by_places])
        return LowRank(left.T, damping.T, stiffness.T)

    def _modal_rows(self) -> tuple[Floats, Floats]:
        """A, B (k, n_v): derivatives of eta' by v, and along H by q."""
        group, (d, theta) = self.group, (self.group.d[:, :, :3], self.group.d[:, :, 3:])
        A, B = np.zeros((2, len(group.c), self.n_v))
        theta = theta * self.has_axes[:, None]
        A[:, group.internal] = group.e
        lines, turns = self._places()
        # d . (-omega_h x change of place) = (omega_h x d) . change
        swept = np.cross(self.omega_h, d)
        A[:, lines] = d @ self.R.T
        B[:, lines] = swept @ self.R.T
        A[:, turns] = np.einsum("kni,nij->knj", theta, self.Q)[:, self.has_axes]
        # change of Q omega_k by a rotation of the frame k: Q (rotation x omega_k)
        own = np.einsum("kni,nij->knj", theta, self.Q)
        B[:, turns] = np.cross(self.omega, own)[:, self.has_axes]
        at = self.group.body[IN_V]
        if at >= 0:
            line, turn = np.arange(at, at + 3), np.arange(at + 3, at + 6)
            A[:, line] = -np.sum(d, axis=1) @ self.R.T
            B[:, line] = -np.sum(swept, axis=1) @ self.R.T
            # d . (-omega_h x place) = omega_h . (d x place)
            A[:, turn] = np.sum(np.cross(d, self.place) - theta, axis=1)
            # of R_h^T x by a rotation: -rotation x (R_h^T x)
            B[:, turn] = np.sum(
                np.cross(d, self.speed) + np.cross(theta, self.spin) + np.cross(swept, self.place), axis=1
            )
        return A, B

    def _places(self) -> tuple[Ints, Ints]:
        """Indices (n, 3) in v of the velocities, and (n', 3) of the angular velocities, of the frames."""
        lines = self.group.frames[:, IN_V][:, None] + np.arange(3)
        return lines, lines[self.has_axes] + 3

    def _with_body(self) -> Floats:
        """(n_v, 3): change of the forces w with a rotation of the body, in its axes."""
        out = np.zeros((self.n_v, 3))
        lines, turns = self._places()
        force = -self.R @ cross_matrix(self.w[:, :3])
        torque = -np.einsum("nji,njk->nik", self.Q, cross_matrix(self.w[:, 3:]))
        out[lines] = force
        out[turns] = torque[self.has_axes]
        at = self.group.body[IN_V]
        out[at : at + 3] = -np.sum(force, axis=0)
        return out

    def _torque_on_body(self) -> Floats:
        """(3, n_v): change of the torque on the body by the places of the frames in its axes."""
        out = np.zeros((3, self.n_v))
        lines, _ = self._places()
        # the torque is -sum place x w = sum w x place
        arms = cross_matrix(self.w[:, :3])
        out[:, lines] = np.swapaxes(arms @ self.R.T, 0, 1)
        at = self.group.body[IN_V]
        out[:, at : at + 3] = -np.sum(arms @ self.R.T, axis=0)
        out[:, at + 3 : at + 6] = np.sum(arms @ cross_matrix(self.place), axis=0)
        return out


def _motion(layout: Layout, frame: Ints, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Position, axes (3, 3), velocity and angular velocity of a frame given by its columns."""
    at_q, at_v, axes = frame
    pose = q[at_q : at_q + 7] if at_q >= 0 else layout.fixed[-1 - at_q]
    R = rotations.rotation_matrix(rotations.normalise(pose[3:7])) if axes else np.eye(3)
    rate = v[at_v : at_v + 3] if at_v >= 0 else np.zeros(3)
    omega = v[at_v + 3 : at_v + 6] if at_v >= 0 and axes else np.zeros(3)
    return pose[:3], R, rate, omega
