"""Evaluation of one flexible body: residual, matrices, energies and results."""

from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import frame_indices
from femb.elements.modal import kernels as columns
from femb.elements.modal.data import ReducedBody
from femb.elements.modal.kernels import (
    CJ,
    IN_FRAME,
    MASS,
    OFFSET,
    POINT,
    SJ,
    STIFFNESS,
    WIDTH,
    MassMoments,
    S,
    axial,
    empty_motion,
    forces,
    inertia_of,
    measured,
    moments,
    moments_of,
    product_of,
    station_at,
)
from femb.elements.modal.matrices import add_masses, matrices
from femb.elements.private_blocks import FreeBody
from femb.layout.element import Batch, FoldedError
from femb.layout.evaluation import Evaluation
from femb.layout.layout import Layout, Station, unfixed_frames
from femb.layout.private_blocks import PrivateBlocks
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Tangent
from femb.layout.views import OutputStates
from femb.numerics.compiler.compile import kernel
from femb.numerics.compiler.duals import Number, Vector3, cross
from femb.numerics.compiler.traced import V3, add_to, traced
from femb.numerics.vector3 import IN_Q, IN_V, crossed


@runtime_checkable
class HoldsRecovery(Protocol):
    """A batch of loads under which the rows of recovery of a body are not zero where this does not deform."""

    def held_recovery(self, frames: OutputStates, path: str) -> Floats | float:
        """(s, r) what these rows are then, or 0 where no load is on the body with results at the path."""


# Kernel: energies and momenta of a flexible body; equation (8).


@kernel
def energy_momentum(of, q, v, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the inertial origin.

    Returns 0, or the number of an interface whose rotation relative to the root has reached half a turn.
    """
    n, m, pairs, gravity = of.linear.shape[0], of.rigid[0], of.pairs, V3(of.gravity)
    at, body, each = empty_motion(of, np.empty((3, n))), np.empty((8, 6)), np.empty((n, WIDTH))
    for state in range(q.shape[0]):
        # accelerations are not used: rates take their place
        bad = measured(of, q[state], v[state], v[state], at)
        if bad > 0:
            return bad
        moments(of, at.eta, body, each)
        root, eta = station_at(at, 0), at.eta
        velocity = root.axes.T @ root.rate
        p, h = momenta_of(m, moments_of(body), velocity, root.omega)
        kinetic, potential = velocity @ p + root.omega @ h, 0.0
        for i in range(n):
            rate, pull = V3(each[i, SJ:]) @ velocity + V3(each[i, CJ:]) @ root.omega, 0.0
            for j in range(n):
                rate += pairs[MASS, i, j] * eta[1, j]
                pull += pairs[STIFFNESS, i, j] * eta[0, j]
            kinetic += rate * eta[1, i]
            potential += 0.5 * pull * eta[0, i]
        out[state, 0] += 0.5 * kinetic
        out[state, 1] += potential - gravity @ (m * root.r + root.axes @ V3(body[S]))
        momentum = root.axes @ p
        add_to(momentum, out[state, 2:])
        add_to(root.axes @ h + crossed(root.r, momentum), out[state, 5:])
    return 0


@traced
def momenta_of(m: Number, of: MassMoments, velocity: Vector3, omega: Vector3) -> Any:
    """Linear and angular momentum about the origin, body axes."""
    p = m * velocity + cross(omega, of.s) + of.s_rate
    return p, cross(of.s, velocity) + of.J @ omega + of.c_rate


@kernel
def coordinates(of, q, v, a, out):
    """out (s, 3, N) = the coordinates that move the mass, their rates and second rates.

    Returns 0, or the number of an interface whose rotation relative to the root has reached half a turn.
    """
    eta = np.empty((3, out.shape[2]))
    at = empty_motion(of, eta)
    for state in range(q.shape[0]):
        bad = measured(of, q[state], v[state], a[state], at)
        if bad > 0:
            return bad
        for row in range(3):
            for m in range(eta.shape[1]):
                out[state, row, m] = eta[row, m]
    return 0


# Arrays of the coordinates that move the mass of a flexible body, so that its kinetic energy is a sum of squares.
#
# Displacements of second order Psi2_jk are given by their moments S2_jk = int Psi2_jk dm and B2_jk = int X Psi2_jk^T
# dm. Of all fields with these moments that which moves the least mass is a combination of the fields f_r e_b, with the
# functions f_r of 1, x, y, z that are orthonormal in the mass. Its amplitudes are further coordinates zeta, of which
# the field is linear; the mass matrix is then that of linear shapes, and positive definite wherever the body is.
# Source: docs/theory/modal_body.md, section 4, equations (21) to (23).

THIN = 1e-9  # least mass of a function of position, of the largest
SMALL = 1e-8  # least amplitude of a field, of the largest


@dataclass(frozen=True, eq=False)
class MovingArrays:
    """Arrays of N coordinates: n of the body and N - n of second order.

    linear (N, 12), quad (N, N, 12) or (0, N, 12): see ``kernels``; mass (N, N); bent (N - n, n, n): the amplitudes of
    second order are eta bent eta / 2.
    """

    linear: Floats
    quad: Floats
    mass: Floats
    bent: Floats


def moving_arrays(body: ReducedBody, full: bool, free: bool = False) -> MovingArrays:
    """Arrays of a body with coupling "full" or "constant"; free : whether no joint
    holds it, and no body carries it."""
    n = body.size
    if free and not full:
        return _about_mass_centre(body)
    if full and body.B2 is not None and body.S2 is not None:
        return _with_second_order(body, body.S2, body.B2)
    linear, quad = np.zeros((n, 12)), np.zeros((n if full else 0, n, 12))
    linear[:, columns.S1 : columns.C0], linear[:, columns.C0 : columns.J1] = body.S1, body.C0
    if full and body.J1 is not None and body.J2 is not None:
        linear[:, columns.J1 :] = columns.six(body.J1)
        quad[:, :, columns.S2 : columns.Q] = body.S2
        quad[:, :, columns.Q : columns.J2] = body.Q
        quad[:, :, columns.J2 :] = columns.six(body.J2)
    return MovingArrays(linear, quad, np.array(body.M), np.zeros((0, n, n)))


def _about_mass_centre(body: ReducedBody) -> MovingArrays:
    """Arrays with the inertia of second order of the whole mass at the mass centre: equation (24).

    Inertia and momenta about the mass centre are then constant, as in mean axes.
    """
    m, s0, S1, n = body.mass, body.first_moment, body.S1, body.size
    B = np.einsum("ia,jb->ijab", S1, S1) / m
    linear, quad = np.zeros((n, 12)), np.zeros((n, n, 12))
    linear[:, columns.S1 : columns.C0], linear[:, columns.C0 : columns.J1] = S1, body.C0
    linear[:, columns.J1 :] = columns.six(2.0 * inertia_of(np.einsum("a,jb->jab", s0, S1) / m))
    quad[:, :, columns.Q : columns.J2] = axial(B)
    quad[:, :, columns.J2 :] = columns.six(2.0 * inertia_of(B))
    return MovingArrays(linear, quad, np.array(body.M), np.zeros((0, n, n)))


def _with_second_order(body: ReducedBody, S2: Floats, B2: Floats) -> MovingArrays:
    """Equations (21) to (23)."""
    assert body.J1 is not None  # B2 is refused without these
    assert body.J2 is not None
    assert body.Q is not None
    n, s0 = body.size, body.first_moment
    B00 = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
    gram = np.block([[np.array([[body.mass]]), s0[None]], [s0[:, None], B00]])
    masses, axes = np.linalg.eigh(gram)
    kept = masses > THIN * masses[-1]
    f = axes[:, kept] / np.sqrt(masses[kept])  # columns: f_r by 1, x, y, z
    amplitudes = np.einsum("ar,jkab->rbjk", f, np.concatenate([S2[:, :, None], B2], axis=2))
    U, sizes, rows = np.linalg.svd(amplitudes.reshape(-1, n * n), full_matrices=False)
    own = sizes > SMALL * np.max(sizes, initial=0.0)
    bent = (sizes[own, None] * rows[own]).reshape(-1, n, n)
    fields = f @ U[:, own].T.reshape(-1, f.shape[1], 3)  # (e, 4, 3): int (1, X)_a phi_e = gram fields
    moved = gram @ fields
    B0 = product_of(body.J1, body.C0)
    shapes = np.concatenate([body.S1[:, None], B0], axis=1)  # (n, 4, 3): int (1, X)_a Psi_j dm
    across = np.einsum("jab,eac->jebc", shapes, fields)  # int Psi_j phi_e^T dm
    size, e = n + len(fields), slice(n, None)
    B = np.zeros((size, size, 3, 3))
    B[:n, e], B[e, :n] = across, across.transpose(1, 0, 3, 2)
    B[e, e] = np.einsum("dab,eac->debc", fields, moved)
    inertias = 2.0 * inertia_of(B)
    inertias = 0.5 * (inertias + inertias.swapaxes(0, 1))
    twists, mass = axial(B), np.trace(B, axis1=-2, axis2=-1)
    inertias[:n, :n], twists[:n, :n], mass[:n, :n] = body.J2 - 2.0 * inertia_of(B2), body.Q - axial(B2), body.M
    linear, quad = np.zeros((size, 12)), np.zeros((size, size, 12))
    linear[:n, columns.S1 : columns.C0], linear[:n, columns.C0 : columns.J1] = body.S1, body.C0
    linear[:n, columns.J1 :] = columns.six(body.J1)
    linear[e, columns.S1 : columns.C0], linear[e, columns.C0 : columns.J1] = moved[:, 0], axial(moved[:, 1:])
    linear[e, columns.J1 :] = columns.six(2.0 * inertia_of(moved[:, 1:]))
    quad[:, :, columns.Q : columns.J2], quad[:, :, columns.J2 :] = twists, columns.six(inertias)
    return MovingArrays(linear, quad, mass, bent)


class ModalBatch(Batch):
    """One flexible body; see ``femb.elements.modal.kernels`` for the columns of its arrays.

    stations : of its interfaces, the root first. first_mode : the number of its first mode among the internal
    coordinates; -1 without modes. damping : the matrix D. full : whether to use the terms of second order. free :
    whether no joint holds it, and no body carries it.
    """

    records_motion = True

    def __init__(
        self,
        name: str,
        body: ReducedBody,
        stations: list[Station],
        first_mode: int,
        damping: Floats,
        full: bool,
        layout: Layout,
        gravity: Floats,
        free: bool = False,
    ) -> None:
        self.label, self.names = f"bodies.{name}", body.interface_names
        self.interfaces = [(self.label, station.frame) for station in stations]
        n, k = body.size, len(stations)
        modes = (int(layout.internal_q[first_mode]), int(layout.internal_v[first_mode])) if first_mode >= 0 else (0, -1)
        rows = [*(frame_indices(layout, station.frame) for station in stations), [*modes, 0]]
        self.index: Ints = np.array(rows, dtype=np.int64)
        place = np.zeros((k, 7))
        place[:, columns.OFF] = [not station.on_frame for station in stations]
        place[:, columns.OFFSET : columns.POINT] = [station.offset for station in stations]
        place[:, columns.POINT :] = body.interfaces
        rests = np.stack([[station.axes for station in stations], body.interface_axes], axis=1)
        rigid = np.concatenate([[body.mass], body.first_moment, columns.six(body.inertia)])
        moving = moving_arrays(body, full, free)
        pairs = np.zeros((3, *moving.mass.shape))
        pairs[columns.MASS], pairs[columns.STIFFNESS, :n, :n], pairs[columns.DAMPING, :n, :n] = (
            moving.mass, body.K, damping
        )  # fmt: skip
        psi2 = np.zeros((0, n, n)) if body.psi2 is None else np.array(body.psi2).reshape(-1, n, n)
        psi2 = np.concatenate([psi2, -moving.bent])
        self.arrays = place, rests, rigid, moving.linear, pairs, moving.quad, psi2
        self.size = n
        # the first velocity of every interface and of the modes (1, k + 1), negative if fixed; their numbers, and rows
        self.groups: Ints = self.index[None, :, IN_V]
        self.sizes: Ints = np.array([6] * k + [n - 6 * (k - 1)])
        self.starts: Ints = np.cumsum(self.sizes) - self.sizes
        self.fixed = layout.fixed
        self.gravity: Floats = np.array(gravity)
        self.path = f"bodies/{name}"
        self.undamped = not damping.any()
        # (Omega / omega_1)^2 by Omega^2 that spin adds to the square of the first frequency, and is left out
        self.unstiffened = 0.0 if full or not n else _stiffening(body, float(np.linalg.norm(stations[0].offset)))
        self.node_shapes: Floats | None = None  # with which the displacements of nodes are recorded
        self.recovery = body.recovery

    def spin_error(self, v: Floats) -> Floats:
        """(s,) by what part the first frequency is too low in spin at velocities v (s, n_v), since the coupling is
        "constant": about that of a cantilever, equation (25)."""
        first = int(self.index[0, IN_V])
        if not self.unstiffened or first < 0:
            return np.zeros(len(v))
        higher: Floats = np.sqrt(1.0 + self.unstiffened * np.sum(v[:, first + 3 : first + 6] ** 2, axis=1))
        return 1.0 - 1.0 / higher

    def _check(self, bad: int) -> None:
        if bad > 0:
            raise FoldedError(
                f"{self.label}: interface {self.names[bad]!r} is turned by 180 degrees relative to the root: the body "
                "is for small deformation; use beams, or several bodies"
            )

    def unfixed(self, n_q: int, n_v: int) -> Self:
        other = copy(self)
        other.index = unfixed_frames(self.index, n_q, n_v, [IN_Q], [IN_V])
        return other

    @property
    def _kept(self) -> tuple[Any, ...]:
        return (columns.BodyArrays(self.index, *self.arrays, self.fixed, self.gravity),)

    def forces(self) -> list[Force]:
        damping = ForcePart.ELASTIC if self.undamped else ForcePart.WORK
        parts = ForcePart.INERTIA, ForcePart.ELASTIC, damping
        return [Force(forces, self._kept, "qva", parts=parts, check=self._check)]

    def masses(self) -> list[MassMatrix]:
        still = np.zeros((1, int((self.index[:, IN_V] + self.sizes).max())))
        kept = *self._kept, (self.starts, self.sizes), still
        return [MassMatrix(add_masses, kept, self.groups, tuple(self.sizes.tolist()), self._check, definite=False)]

    def tangents(self) -> list[Tangent]:
        kept = *self._kept, (self.starts, self.sizes)
        return [
            Tangent(matrices, (*kept, True, True), self.groups, "qva", "mdk", exact=False, check=self._check),
            Tangent(matrices, (*kept, False, True), self.groups, "qva", "ddk", step=False, check=self._check),
        ]

    def energies(self) -> list[Energy]:
        return [Energy(energy_momentum, self._kept, check=self._check)]

    def _alone(self, groups: Ints) -> tuple[Self, PrivateBlocks]:
        """The body alone, with velocities and block data of its own, where the groups with first velocities (1, k + 1)
        that are not negative move."""
        private, other = PrivateBlocks(groups, tuple(self.sizes.tolist())), copy(self)
        other.index = self.index.copy()
        other.index[:, IN_V] = private.starts[0]
        other.groups = private.starts
        return other, private

    def mass_changes(self, q: Floats) -> list[tuple[Ints, Floats]]:
        # the exact tangent at rest without gravity and elastic forces, where the residual is M a
        other, private = self._alone(self.groups)
        other.gravity = np.zeros(3)
        place, rests, rigid, linear, pairs, quad, psi2 = self.arrays
        inertial = pairs * np.array([1.0, 0.0, 0.0])[:, None, None]
        other.arrays = place, rests, rigid, linear, inertial, quad, psi2
        return [(private.indices, private.by_columns(partial(Evaluation([other], private).tangent, np.zeros(0), q)))]

    def element_number(self, path: str, k: int) -> int:
        """0 of the body "bodies.NAME" itself, which is one element; -1 of another item."""
        return k if path == self.label else -1

    def free_body(self, number: int) -> FreeBody:
        """The body alone; its ends are the interfaces."""
        other = self._alone(np.arange(len(self.sizes))[None])[0]
        place, rests = self.arrays[:2]
        ends = tuple((k, place[k, OFFSET:POINT], rests[k, IN_FRAME]) for k in range(len(self.names)))
        return FreeBody(other, tuple(self.sizes.tolist()), tuple(self.index[:, IN_V].tolist()), ends)

    def interface_forces(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, k, 6) force (N, inertial axes) and torque (N m, axes of the frame, about its origin) on the frames that
        carry the interfaces, fixed ones too, in s states with accelerations."""
        k = len(self.names)
        u = np.zeros((len(q), 0))  # the body has no inputs
        return -self.free_body(0).residual(u, q, v, a)[:, : 6 * k].reshape(-1, k, 6)

    def coordinates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, 3, n) the coordinates that strain the body, their rates and second rates."""
        out = np.empty((len(q), 3, len(self.arrays[3])))
        self._check(coordinates(*self._kept, q, v, a, out))
        return out[:, :, : self.size]

    def records(self, frames: OutputStates, batches: list[Any]) -> dict[str, Floats]:
        found = self.coordinates(frames.q, frames.v, frames.a)
        first = 6 * (len(self.names) - 1)
        return {
            f"{self.path}/deformation": found[:, 0],
            f"{self.path}/deformation_rate": found[:, 1],
            f"{self.path}/modal_coordinates": found[:, 0, first:],
        } | self._nodal(found[:, 0], frames, batches)

    def _nodal(self, eta: Floats, frames: OutputStates, batches: list[Any]) -> dict[str, Floats]:
        """Displacements of nodes, and what the rows of recovery give."""
        found: dict[str, Floats] = {}
        if self.node_shapes is not None:
            found[f"{self.path}/nodal_displacement"] = np.tensordot(eta, self.node_shapes, 1)
        if self.recovery is not None:
            held = [each.held_recovery(frames, self.path) for each in batches if isinstance(each, HoldsRecovery)]
            found[f"{self.path}/recovered"] = eta @ self.recovery.T + sum(held)
        return found


def _stiffening(body: ReducedBody, offset: float) -> float:
    """(s2) What the square of a spin adds to that of the first frequency, of this: that of a cantilever in flapping.

    offset : of the root from the axis of the spin, m. The cantilever has the body's mass and inertia.
    """
    length = np.sqrt(3.0 * np.linalg.eigvalsh(body.inertia)[-1] / body.mass)
    first = 2.0 * np.pi * body.frequencies()[0]
    return float((1.193 + 1.571 * offset / length) / first**2) if first > 0.0 and length > 0.0 else 0.0
