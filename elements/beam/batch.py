"""Beam elements of all beams, evaluated together."""

from copy import copy
from typing import Any, Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam import columns as columns
from femb.elements.beam import tangent as beam_tangent
from femb.elements.beam.energy import energy_momentum
from femb.elements.beam.force import forces
from femb.elements.beam.matrices import matrices
from femb.elements.beam.own_strain import linearised_strains
from femb.elements.beam.shape import NO_TURN, reference_strains
from femb.elements.private_blocks import PrivateBlocks
from femb.layout.element import Batch, FoldedError
from femb.layout.layout import Layout, Station
from femb.numerics.rotations import multiply, rotation_matrix

NO_SECTION = np.empty((0, 0, 0, 0))
# Columns of ``index`` with the places of velocities: frame and strain of one end, then of the other.
VELOCITIES = [2, 6, 3, 7]


class BeamBatch(Batch):
    """Structure-of-arrays of beam elements; the arrays' columns are described in ``beam_columns``.

    slices[name] are the rows of a beam's elements, in their order along it.
    """

    slow_to_compile = True

    def __init__(self, beams: list[Any], layout: Layout, model: Any) -> None:
        index: list[Floats] = []
        ends: list[list[Floats]] = []
        data: list[Floats] = []
        self.labels: list[str] = []
        self.slices: dict[str, slice] = {}
        for beam in beams:
            where = layout.beams[beam.name]
            self.slices[beam.name] = slice(len(index), len(index) + beam.elements)
            shape, section = beam.shape, model.section_of(beam)
            for k in range(beam.elements):
                frames = [where.stations[k].frame, where.stations[k + 1].frame]
                strains = where.internal["strain"][k]
                numbers = (layout.frame_q[frames], layout.frame_v[frames])
                index.append(np.concatenate([*numbers, layout.internal_q[strains], layout.internal_v[strains]]))
                ends.append([_end_row(where.stations[k], shape.corners[k]), _end_row(where.stations[k + 1])])
                data.append(element_data(section, shape.lengths[k], beam.strain == "source"))
                if not shape.straight:
                    data[-1][columns.REFERENCE :] = reference_strains(data[-1], *shape.element(k))
                self.labels.append(f"beams.{beam.name}, element {k + 1} of {beam.elements}")
        self.index: Ints = np.array(index, dtype=np.int64)
        self.ends: Floats = np.array(ends, dtype=float)
        self.data: Floats = np.array(data, dtype=float)
        # whether the mass of some section lies beside its axis; None is a type of its own to numba
        self.beside = True if np.any(self.data[:, columns.OFFSET : columns.OFFSET + 2]) else None
        self.undamped = not np.all(self.data[:, columns.DAMPING])
        self.damped = bool(np.any(self.data[:, columns.DAMPING]))
        self.fixed = layout.fixed
        self.gravity = np.array(model.gravity)

    def allocate(self, pattern: Any) -> None:
        self.offset, self.stride = pattern.offsets(self.index[:, VELOCITIES])

    def _check(self, bad: int) -> None:
        if bad >= 0:
            raise FoldedError(
                f"{self.labels[bad]}: turned by 180 degrees between its ends; divide the beam into more elements"
            )

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        state = (q, v, a, self.fixed, self.gravity)
        self._check(forces(*self._elements, *state, True, True, 1.0, out, NO_SECTION))

    @property
    def _elements(self) -> tuple[Any, ...]:
        return self.index, self.ends, self.data, self.beside

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self._matrices(q, v, True, mass, damping, stiffness)

    def mass(self, q: Floats, mass: Floats) -> None:
        self._matrices(q, q, False, mass, mass, mass)

    def element_masses(self, q: Floats) -> list[tuple[Ints, Floats]]:
        private = PrivateBlocks(self.index[:, VELOCITIES], (6, 1, 6, 1))
        out = np.zeros(private.count * private.n**2)
        places = (private.offset, private.stride)
        self._check(matrices(*self._elements, *places, q, q, self.fixed, False, out, out, out))
        return [(private.places, private.matrices(out))]

    def mass_changes(self, q: Floats) -> list[tuple[Ints, Floats]]:
        # the exact tangent at rest, of elements without stiffness: what is left of the residual there is M a
        data = self.data.copy()
        data[:, columns.DAMPING] = 0.0
        data[:, columns.STIFFNESS : columns.STIFFNESS + 16] = 0.0
        private = PrivateBlocks(self.index[:, VELOCITIES], (6, 1, 6, 1))
        index = self.index.copy()
        index[:, VELOCITIES] = private.starts
        elements = (index, self.ends, data, self.beside, private.offset, private.stride)

        def change(still: Floats, a: Floats, nothing: Floats, out: Floats) -> None:
            self._check(beam_tangent.tangent(*elements, q, still, a, self.fixed, np.zeros(3), nothing, out))

        return [(private.places, private.by_columns(change))]

    def _matrices(
        self, q: Floats, v: Floats, with_stiffness: bool, mass: Floats, damping: Floats, stiffness: Floats
    ) -> None:
        places, out = (self.offset, self.stride), (mass, damping, stiffness)
        self._check(matrices(*self._elements, *places, q, v, self.fixed, with_stiffness, *out))

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        places, state = (self.offset, self.stride), (q, v, a, self.fixed, self.gravity)
        self._check(beam_tangent.tangent(*self._elements, *places, *state, damping, stiffness))

    def own_strains(self, q: Floats, x: Floats) -> Floats:
        """(e, 12) strains less reference at the three strain points."""
        out = np.empty((len(self.index), 12))
        self._check(linearised_strains(*self._elements[:3], q, x, self.fixed, out))
        return out

    def strained(self, q: Floats, own: Floats) -> Self:
        # the kernels take the strain less the reference: with the reference moved, it is the elements' own
        other = copy(self)
        other.data = self.data.copy()
        other.data[:, columns.REFERENCE :] += self.own_strains(q, np.zeros(len(q))) - own
        return other

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        self._check(energy_momentum(*self._elements, q, v, self.fixed, self.gravity, out))

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if self.damped:
            state = (q, v, v, self.fixed, self.gravity)
            self._check(forces(*self._elements, *state, False, False, -1.0, out, NO_SECTION))

    def records(self, frames: Any, batches: list[Batch]) -> dict[str, Floats]:
        """Section forces and moments of every beam, with what loads along beams add."""
        forces = self.section_forces(frames.q, frames.v, frames.a)
        for other in batches:
            other.add_section_forces(frames.u, frames.q, frames.v, forces)
        block: dict[str, Floats] = {}
        for name, rows in self.slices.items():
            block[f"beams/{name}/section_force"] = forces[:, rows, :, :3]
            block[f"beams/{name}/section_moment"] = forces[:, rows, :, 3:]
        return block

    def section_forces(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, n, 2, 6) force and moment at both ends of every element, section axes (see ``beam_force.forces``)."""
        out = np.empty((len(q), len(self.index), 2, 6))
        state = (q, v, a, self.fixed, self.gravity)
        self._check(forces(*self._elements, *state, True, True, 1.0, np.zeros(v.shape), out))
        return out


def element_data(section: Any, length: float, source: bool) -> Floats:
    """(37,) parameters of an element that is straight where it is unstrained."""
    row = np.zeros(columns.REFERENCE + 12)
    row[columns.LENGTH] = length
    row[columns.MASS] = section.line_mass()
    row[columns.INERTIA : columns.INERTIA + 3] = section.inertia()
    row[columns.DAMPING] = section.damping
    row[columns.SOURCE] = float(source)
    row[columns.STIFFNESS : columns.STIFFNESS + 16] = section.stiffness().ravel()
    row[columns.OFFSET : columns.OFFSET + 2] = section.offset()
    return row


def _end_row(station: Station, corner: Floats = NO_TURN) -> Floats:
    """A row of ``ends``; corner (4,) turns from the node's section to the element's."""
    if np.any(corner != NO_TURN):
        station = Station(station.frame, station.offset, multiply(station.rotation, corner))
    attached = 0.0 if station.on_frame else 1.0
    return np.array([attached, *station.offset, *rotation_matrix(station.rotation).ravel()])
