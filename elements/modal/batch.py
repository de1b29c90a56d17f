"""Evaluation of one flexible body: residual, matrices, energies and results."""

from copy import copy
from typing import Any, Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import frame_indices
from femb.elements.modal import columns
from femb.elements.modal.data import ReducedBody
from femb.elements.modal.energy import coordinates, energy_momentum
from femb.elements.modal.force import forces
from femb.elements.modal.matrices import matrices
from femb.elements.modal.moving import moving_arrays
from femb.elements.private_blocks import PrivateBlocks
from femb.layout.element import Batch, FoldedError
from femb.layout.layout import Layout, Station
from femb.layout.unfixed import unfixed_frames
from femb.layout.views import BlockPattern, OutputStates
from femb.numerics.vector3 import IN_Q, IN_V


class ModalBatch(Batch):
    """One flexible body; see ``femb.elements.modal.columns`` for the columns of its arrays.

    stations : of its interfaces, the root first. first_mode : the number of its first mode among the internal
    coordinates; -1 without modes. damping : the matrix D. full : whether to use the terms of second order. free :
    whether no joint holds it, and no body carries it.
    """

    definite = False
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
        "constant": about that of a cantilever, equation (34)."""
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

    @property
    def _groups(self) -> Ints:
        """(1, k + 1) the first velocity of every interface and of the modes, negative if fixed."""
        return self.index[None, :, IN_V]

    def allocate(self, pattern: BlockPattern) -> None:
        offset, stride = pattern.offsets(self._groups)
        self.offset, self.stride = offset[0], stride[0]

    def unfixed(self, n_q: int, n_v: int) -> Self:
        other = copy(self)
        other.index = unfixed_frames(self.index, n_q, n_v, [IN_Q], [IN_V])
        return other

    def _forces(self, q: Floats, v: Floats, a: Floats, factors: tuple[float, float, float, float], out: Floats) -> None:
        self._check(forces(self.index, *self.arrays, q, v, a, self.fixed, self.gravity, *factors, out))

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        self._forces(q, v, a, (1.0, 1.0, 1.0, 1.0), out)

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if not self.undamped:
            self._forces(q, v, v, (0.0, 0.0, 1.0, -1.0), out)

    def _matrices(
        self,
        q: Floats,
        v: Floats,
        a: Floats,
        words: tuple[bool, bool],
        mass: Floats,
        damping: Floats,
        stiffness: Floats,
    ) -> None:
        blocks = self.starts, self.sizes, self.offset, self.stride
        state = q, v, a, self.fixed, self.gravity
        self._check(matrices(self.index, *self.arrays, *state, *blocks, *words, mass, damping, stiffness))

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self._matrices(q, v, np.zeros(v.shape), (True, True), mass, damping, stiffness)

    def mass(self, q: Floats, mass: Floats) -> None:
        still = np.zeros(self._velocities())
        self._matrices(q, still, still, (True, False), mass, mass, mass)

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        self._matrices(q, v, a, (False, True), stiffness, damping, stiffness)

    def _velocities(self) -> int:
        """A length of v that contains all velocities of the body."""
        return int((self._groups[0] + self.sizes).max())

    def _private(self) -> tuple["ModalBatch", PrivateBlocks]:
        """The body alone, with velocities and block data of its own."""
        private = PrivateBlocks(self._groups, tuple(self.sizes.tolist()))
        other = copy(self)
        other.index = self.index.copy()
        other.index[:, IN_V] = private.starts[0]
        other.offset, other.stride = private.offset[0], private.stride[0]
        return other, private

    def element_masses(self, q: Floats) -> list[tuple[Ints, Floats]]:
        other, private = self._private()
        out = np.zeros(private.n**2)
        other.mass(q, out)
        return [(private.indices, private.matrices(out))]

    def mass_changes(self, q: Floats) -> list[tuple[Ints, Floats]]:
        # the exact tangent at rest without gravity and elastic forces, where the residual is M a
        other, private = self._private()
        other.gravity = np.zeros(3)
        place, rests, rigid, linear, pairs, quad, psi2 = self.arrays
        inertial = pairs * np.array([1.0, 0.0, 0.0])[:, None, None]
        other.arrays = place, rests, rigid, linear, inertial, quad, psi2

        def change(v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
            other._matrices(q, v, a, (False, True), stiffness, damping, stiffness)

        return [(private.indices, private.by_columns(change))]

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        self._check(energy_momentum(self.index, *self.arrays, q, v, self.fixed, self.gravity, out))

    def interface_forces(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, k, 6) force (N, inertial axes) and torque (N m, axes of the frame, about its origin) on the frames that
        carry the interfaces, fixed ones too, in s states with accelerations."""
        k = len(self.names)
        index, own = self.index.copy(), np.zeros((2, len(q), int(self.sizes.sum())))
        index[:, IN_V] = self.starts
        for first, size, place in zip(self.starts, self.sizes, self.index[:, IN_V], strict=True):
            if place >= 0:
                for part, whole in zip(own, (v, a), strict=True):
                    part[:, first : first + size] = whole[:, place : place + size]
        out = np.zeros(own[0].shape)
        factors = 1.0, 1.0, 1.0, -1.0
        self._check(forces(index, *self.arrays, q, *own, self.fixed, self.gravity, *factors, out))
        return out[:, : 6 * k].reshape(-1, k, 6)

    def coordinates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, 3, n) the coordinates that strain the body, their rates and second rates."""
        place, rests, *_, psi2 = self.arrays
        out = np.empty((len(q), 3, len(self.arrays[3])))
        self._check(coordinates(self.index, place, rests, psi2, q, v, a, self.fixed, out))
        return out[:, :, : self.size]

    def records(self, frames: OutputStates, batches: list[Any]) -> dict[str, Floats]:
        found = self.coordinates(frames.q, frames.v, frames.a)
        first = 6 * (len(self.names) - 1)
        return {
            f"{self.path}/deformation": found[:, 0],
            f"{self.path}/deformation_rate": found[:, 1],
            f"{self.path}/modal_coordinates": found[:, 0, first:],
        } | self._nodal(found[:, 0])

    def _nodal(self, eta: Floats) -> dict[str, Floats]:
        """Displacements of nodes, and what the rows of recovery give."""
        found: dict[str, Floats] = {}
        if self.node_shapes is not None:
            found[f"{self.path}/nodal_displacement"] = np.tensordot(eta, self.node_shapes, 1)
        if self.recovery is not None:
            found[f"{self.path}/recovered"] = eta @ self.recovery.T
        return found


def _stiffening(body: ReducedBody, offset: float) -> float:
    """(s2) What the square of a spin adds to that of the first frequency, of this: that of a cantilever in flapping.

    offset : of the root from the axis of the spin, m. The cantilever has the body's mass and inertia.
    """
    length = np.sqrt(3.0 * np.linalg.eigvalsh(body.inertia)[-1] / body.mass)
    first = 2.0 * np.pi * body.frequencies()[0]
    return float((1.193 + 1.571 * offset / length) / first**2) if first > 0.0 and length > 0.0 else 0.0
