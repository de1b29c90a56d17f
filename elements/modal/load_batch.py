"""Loads inside one flexible body, evaluated together.

A load is a force and a torque on the root, in body axes, and forces on the coordinates, all of them constant; those on
the coordinates of interfaces act between these and the root. Source: docs/theory/modal_body.md, section 8.
"""

from copy import copy
from typing import Any, Self

import numpy as np

from femb.base.types import Floats
from femb.elements.modal.batch import ModalBatch
from femb.elements.modal.data import ReducedBody
from femb.elements.modal.kernels import OFF, add_to_frames, by_measured, empty_motion, measured, station_forces
from femb.elements.modal.matrices import add_bends, left_times, measured_rows, right_times, to_frame, turned_forces
from femb.elements.records import load_factors
from femb.layout.element import Batch, Input
from femb.layout.terms import Force, Tangent
from femb.layout.views import OutputStates
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.traced import M3, V3
from femb.numerics.vector3 import add_block, scatter, skewed


@inlined
def load_at(loads, u, load):
    """load (6 + N,) : the sum of the rows (l, 6 + N) times the inputs, from the first one on; loads : both."""
    rows, first_input = loads
    load[:] = 0.0
    for k in range(rows.shape[0]):
        for i in range(load.size):
            load[i] += u[first_input + k] * rows[k, i]


@kernel_with_entry
def load_forces(of, loads, u, q, v, out):
    """out (s, n_v) -= the forces of loads, see ``load_at``; of : the body.

    Returns -1, or the number of an interface whose rotation relative to the root has reached half a turn.
    """
    k, n, size = of.stations.shape[0], of.psi2.shape[1], of.linear.shape[0]
    at, at_stations, load = empty_motion(of, np.empty((3, size))), np.empty((k, 2, 3)), np.empty(6 + size)
    wrench, f = np.empty((2, 3)), np.empty(n)
    for state in range(q.shape[0]):
        # the rates that are measured with the coordinates are not used
        bad = measured(of, q[state], v[state], v[state], at)
        if bad > 0:
            return bad
        load_at(loads, u[state], load)
        for o in range(3):
            wrench[0, o], wrench[1, o] = load[o], load[3 + o]
        by_measured(of.psi2, at.x, load[6:], f)
        station_forces(of, at, wrench, f, at_stations)
        add_to_frames(of, at, at_stations, -1.0, f, out[state])
    return -1


@kernel_with_entry
def load_tangent(of, loads, groups, offset, stride, u, q, v, stiffness):
    """Add d(-forces)/dq H of the loads to block data (s, size); returns as ``load_forces``."""
    k, n, size, (starts, sizes) = of.stations.shape[0], of.psi2.shape[1], of.linear.shape[0], groups
    first, z = 6 * (k - 1), 6 + n
    at, at_stations, load = empty_motion(of, np.empty((3, size))), np.empty((k, 2, 3)), np.empty(6 + size)
    wrench, f, W, inner, between = (
        np.empty((2, 3)),
        np.empty(n),
        np.empty((first, z)),
        np.empty((z, z)),
        np.empty((z, z)),
    )
    M, C, K = np.empty((z, z)), np.empty((z, z)), np.empty((z, z))
    for state in range(q.shape[0]):
        inner[:], between[:], M[:], C[:], K[:] = 0.0, 0.0, 0.0, 0.0, 0.0
        bad = measured(of, q[state], v[state], v[state], at)
        if bad > 0:
            return bad
        measured_rows(of, at, W)
        load_at(loads, u[state], load)
        for o in range(6 + size):
            load[o] = -load[o]
        for o in range(3):
            wrench[0, o], wrench[1, o] = load[o], load[3 + o]
        by_measured(of.psi2, at.x, load[6:], f)
        # the force turns with the root
        add_block(-(M3(at.axes[0]) @ skewed(V3(wrench[0]))), K, 0, 3)
        add_bends(of.psi2, load[6:], of.psi2.shape[0] - (size - n), n, inner)
        right_times(inner, W, first, between)
        left_times(W, between, first, K)
        turned_forces(of, at, W, f, K)
        station_forces(of, at, wrench, f, at_stations)
        for s in range(k):
            if of.stations[s, OFF] != 0.0:
                to_frame(of, at, s, at_stations[s], M, C, K)
        scatter(K, starts, sizes, offset[0], stride[0], stiffness[state])
    return -1


def load_rows(body: ReducedBody, numbers: list[int], size: int) -> Floats:
    """(l, 6 + size) force and torque about the root, body axes, and work per coordinate, of loads of a reduced body.

    size : of the coordinates that move the mass, of which the last ones are of second order and see no load.
    """
    parts = [np.asarray(each)[numbers] for each in (body.load_force, body.load_torque, body.load_modal)]
    return np.hstack([*parts, np.zeros((len(numbers), size - body.size))])


class ModalLoadBatch(Batch):
    """The loads inside one flexible body, each with its profile as an input.

    body : the batch of the flexible body, which tells where it is. rows (l, 6 + N) : the loads of size 1.
    """

    def __init__(self, items: list[Any], numbers: list[int], reduced: ReducedBody, body: ModalBatch) -> None:
        self.inputs = tuple(Input.of_profile(item.profile, f"loads.{item.name}") for item in items)
        self.body = body
        sizes = np.array([item.size for item in items])
        self.rows: Floats = sizes[:, None] * load_rows(reduced, numbers, len(body.arrays[3]))
        # the parts of the file's loads, of which the stresses and forces of heat are summed
        self.parts: Floats = sizes[:, None] * np.eye(len(reduced.load_names))[numbers]
        self.records_parts = reduced.load_stress is not None and bool(np.any(reduced.load_stress))
        self.path = body.path
        self.held = None if reduced.load_recovery is None else self.parts @ reduced.load_recovery

    def unfixed(self, n_q: int, n_v: int) -> Self:
        return self._of(self.body.unfixed(n_q, n_v))

    def _of(self, body: ModalBatch) -> Self:
        other = copy(self)
        other.body = body
        return other

    @property
    def _kept(self) -> tuple[Any, ...]:
        return *self.body._kept, (self.rows, self.first_input)

    def forces(self) -> list[Force]:
        return [Force(load_forces, self._kept, check=self.body._check)]

    def tangents(self) -> list[Tangent]:
        body, kept = self.body, (*self._kept, (self.body.starts, self.body.sizes))
        return [Tangent(load_tangent, kept, body.groups, gives="k", check=body._check)]

    def add_interface_forces(self, loaded: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, k, 6) += the loads at the interfaces of the body, if it is the one that is ``loaded``."""
        if isinstance(loaded, ModalBatch) and loaded.label == self.body.label:
            body = loaded.free_body(0)
            force = np.zeros((len(q), body.size))
            (term,) = self._of(body.batch).forces()  # type: ignore[arg-type]
            Bound(term.kernel, *term.kept, u, q, body.own(v), force, check=term.check)()
            out -= force[:, : out.shape[1] * 6].reshape(out.shape)

    def load_on(self, batch: Batch, number: int) -> Self | None:
        """The loads on the body of ``batch``, with the velocities of its free body; None of other batches."""
        if not isinstance(batch, ModalBatch) or batch.label != self.body.label:
            return None
        return self._of(batch.free_body(number).batch)  # type: ignore[arg-type]

    def held_recovery(self, frames: OutputStates, path: str) -> Floats | float:
        """(s, r) what the rows of recovery of its body have where this does not deform; 0 of bodies of other paths."""
        if self.held is None or path != self.path:
            return 0.0
        return np.asarray(frames.u[:, self.first_input : self.first_input + len(self.rows)] @ self.held)

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The factor of every load; of heat also the sizes of the file's loads, for stresses."""
        found = load_factors(self, frames)
        if self.records_parts:
            factors = frames.u[:, self.first_input : self.first_input + len(self.rows)]
            found[f"{self.path}/load_sizes"] = factors @ self.parts
        return found
