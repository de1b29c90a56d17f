"""Beam elements of all beams, evaluated together."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam import columns as columns
from femb.elements.beam import tangent as beam_tangent
from femb.elements.beam.element_data import element_data
from femb.elements.beam.end_rows import QUATERNION, end_rows
from femb.elements.beam.energy import energy_momentum
from femb.elements.beam.force import forces
from femb.elements.beam.matrices import matrices
from femb.elements.beam.midpoint import midpoint_loads
from femb.elements.beam.own_strain import linearised_strains
from femb.elements.beam.shape import reference_strains
from femb.elements.element_ranges import NO_ROWS, in_ranges
from femb.elements.private_blocks import PrivateBlocks
from femb.layout.element import Batch, FoldedError
from femb.layout.layout import Layout
from femb.layout.stacking import Shift, shifted
from femb.layout.unfixed import unfixed_frames
from femb.layout.views import BlockPattern, ModelView, OutputStates
from femb.numerics.lane_groups import groups, groups_of, kinds
from femb.numerics.lanes import LANES
from femb.numerics.newton import LARGEST_ROTATION

NO_SECTION = np.empty((0, 0, 0, 0))
# Elastic, damping and inertia forces.
ALL, DAMPING, INERTIAL = (True, True, True), (False, True, False), (False, False, True)
ROUNDINGS = 64.0
# Columns of ``index`` with the indices of velocities, and of coordinates: frame and strain of one end, then the other.
VELOCITIES = [2, 6, 3, 7]
COORDINATES = [0, 4, 1, 5]


class BeamBatch(Batch):
    """Beam elements as a structure of arrays; see ``femb.elements.beam.columns`` for their columns.

    slices[name] : the rows of the elements of a beam, in their order along it.
    """

    slow_to_compile = True
    largest_rotation = LARGEST_ROTATION

    def __init__(self, beams: list[Any], layout: Layout, model: ModelView) -> None:
        index: list[Ints] = []
        ends: list[Floats] = []
        data: list[Floats] = []
        self.labels: list[str] = []
        self.slices: dict[str, slice] = {}
        for beam in beams:
            entry = layout.beams[beam.name]
            start, count, shape = len(self.labels), beam.elements, beam.shape
            self.slices[beam.name] = slice(start, start + count)
            self.labels += [f"beams.{beam.name}, element {k + 1} of {count}" for k in range(count)]
            frames, strains = entry.frames_of_elements, entry.internal["strain"]
            of_frames = (layout.frame_q[frames], layout.frame_v[frames])
            index.append(np.hstack([*of_frames, layout.internal_q[strains], layout.internal_v[strains]]))
            ends.append(end_rows([entry], shape.corners)[..., :QUATERNION])
            rows = np.tile(element_data(model.section_of(beam), beam.strain == "source"), (count, 1))
            rows[:, columns.LENGTH] = shape.lengths
            if not shape.straight:
                for k, row in enumerate(rows):
                    row[columns.REFERENCE :] = reference_strains(row, *shape.element(k))
            data.append(rows)
        self.index: Ints = np.concatenate(index)
        self.set_rows(np.concatenate(ends), np.concatenate(data))
        self.has_mass_offset = bool(np.any(self.data[:, columns.OFFSET : columns.OFFSET + 2]))
        self.undamped = not np.all(self.data[:, columns.DAMPING])
        self.damped = bool(np.any(self.data[:, columns.DAMPING]))
        self.fixed = layout.fixed
        self.gravity = np.array(model.gravity)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = copy(batches[0])
        result.index = shifted([batch.index for batch in batches], shifts, COORDINATES, VELOCITIES)
        result.set_rows(*(np.concatenate(rows) for rows in zip(*((b.ends, b.data) for b in batches), strict=True)))
        result.labels = [label for batch in batches for label in batch.labels]
        result.has_mass_offset = any(batch.has_mass_offset for batch in batches)
        result.undamped = any(batch.undamped for batch in batches)
        result.damped = any(batch.damped for batch in batches)
        result.fixed, result.slices = layout.fixed, {}
        return result

    def set_rows(self, ends: Floats, data: Floats) -> None:
        """Take the rows (e, 2, 13) and (e, 37) of the elements, also in the groups that ``forces`` reads."""
        self.ends, self.data = ends, data
        self._kinds = kinds(groups(ends), groups(data))

    def row(self, k: int) -> Self:
        """Element k alone, without labels of the others."""
        other = copy(self)
        other.index, other.labels, other.slices = self.index[[k]], [self.labels[k]], {}
        other.set_rows(self.ends[[k]], self.data[[k]])
        return other

    def allocate(self, pattern: BlockPattern) -> None:
        self.offset, self.stride = pattern.offsets(self.index[:, VELOCITIES])

    def unfixed(self, n_q: int, n_v: int) -> Self:
        other = copy(self)
        other.index = unfixed_frames(self.index, n_q, n_v, COORDINATES, VELOCITIES)
        return other

    def _check(self, folded: int) -> None:
        if folded >= 0:
            raise FoldedError(
                f"{self.labels[folded]}: turned by 180 degrees between its ends; divide the beam into more elements"
            )

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        state = (q, v, a, self.fixed, self.gravity)
        self._check(forces(*self._groups, *state, *ALL, 1.0, out, NO_SECTION, NO_ROWS))

    def bound_residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> Callable[[], object]:
        return self._bound((q, v, a), ALL, out)

    def bound_inertia(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> Callable[[], object]:
        return self._bound((q, v, a), INERTIAL, out)

    def _bound(
        self, state: tuple[Floats, Floats, Floats], parts: tuple[bool, bool, bool], out: Floats
    ) -> Callable[[], None]:
        """The function that adds elastic, damping and inertia forces, those wanted, at the states (q, v, a)."""
        index, kind, *rest = (*self._groups, *state, self.fixed, self.gravity, *parts, 1.0, out, NO_SECTION)

        def of_range(part: slice, rows: Floats) -> Callable[[], int]:
            return partial(forces, index[part], kind[groups_of(part)], *rest, rows)

        evaluate = in_ranges(of_range, self.index[:, VELOCITIES], (6, 1, 6, 1), out, LANES)
        return lambda: self._check(evaluate())

    @property
    def _elements(self) -> tuple[Any, ...]:
        return self.index, self.ends, self.data, self.has_mass_offset

    @property
    def _groups(self) -> tuple[Any, ...]:
        return self.index, *self._kinds, self.has_mass_offset

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self.matrices_each(u[None], q[None], v[None], mass[None], damping[None], stiffness[None])

    def matrices_each(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self._check(matrices(*self._groups, *self._blocks, q, v, self.fixed, True, mass, damping, stiffness))

    def mass(self, q: Floats, mass: Floats) -> None:
        self.mass_each(q[None], mass[None])

    def mass_each(self, q: Floats, mass: Floats) -> None:
        self._check(matrices(*self._groups, *self._blocks, q, q, self.fixed, False, mass, mass, mass))

    def element_masses(self, q: Floats) -> list[tuple[Ints, Floats]]:
        private = PrivateBlocks(self.index[:, VELOCITIES], (6, 1, 6, 1))
        out = np.zeros(private.count * private.n**2)
        places = (private.offset, private.stride)
        blocks = out[None]
        self._check(matrices(*self._groups, *places, q[None], q[None], self.fixed, False, blocks, blocks, blocks))
        return [(private.indices, private.matrices(out))]

    def mass_changes(self, q: Floats) -> list[tuple[Ints, Floats]]:
        # the exact tangent at rest without stiffness and gravity, where the residual is M a
        data = self.without_stiffness().data
        private = PrivateBlocks(self.index[:, VELOCITIES], (6, 1, 6, 1))
        index = self.index.copy()
        index[:, VELOCITIES] = private.starts
        elements = (index, self.ends, data, self.has_mass_offset, private.offset, private.stride)

        def change(v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
            self._check(beam_tangent.tangent(*elements, q, v, a, self.fixed, np.zeros(3), damping, stiffness))

        return [(private.indices, private.by_columns(change))]

    def without_stiffness(self) -> Self:
        other, data = copy(self), self.data.copy()
        data[:, columns.DAMPING] = 0.0
        data[:, columns.STIFFNESS : columns.STIFFNESS + 16] = 0.0
        other.set_rows(self.ends, data)
        other.damped = False
        return other

    @property
    def _blocks(self) -> tuple[Ints, Ints]:
        return self.offset, self.stride

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        state = (q, v, a, self.fixed, self.gravity)
        self._check(beam_tangent.tangent(*self._elements, *self._blocks, *state, damping, stiffness))

    def own_strains(self, u: Floats, q: Floats, x: Floats, own: Floats | None = None) -> Floats:
        """(e, 12) strains less reference at the three strain points."""
        out = np.empty((len(self.index), 12))
        self._check(linearised_strains(*self._elements[:3], q, x, self.fixed, out))
        return out

    def strained(self, q: Floats, own: Floats) -> Self:
        # the kernels take the strain less the reference: with the reference moved, it is the elements' own
        other = copy(self)
        data = self.data.copy()
        data[:, columns.REFERENCE :] += self.own_strains(q, q, np.zeros(len(q))) - own
        other.set_rows(self.ends, data)
        return other

    def unstrained(self, u: Floats, q: Floats) -> Self | None:
        own, length = self.own_strains(u, q, np.zeros(len(q))), self.data[:, columns.LENGTH, None]
        # of strains and, of lengths, of curvatures
        sizes = np.maximum(1.0, np.tile([0.0, 1.0, 1.0, 1.0], 3) * length) * np.abs(own)
        rounding = ROUNDINGS * np.finfo(float).eps * (1.0 + np.max(np.abs(q)) / length)
        return self.strained(q, np.zeros_like(own)) if np.all(sizes <= rounding) else None

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        self._check(energy_momentum(*self._elements, q, v, self.fixed, self.gravity, out))

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if self.damped:
            state = (q, v, v, self.fixed, self.gravity)
            self._check(forces(*self._groups, *state, *DAMPING, -1.0, out, NO_SECTION, NO_ROWS))

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Section forces and moments of every beam, including the contributions of loads along beams."""
        forces = self.section_forces(frames.q, frames.v, frames.a)
        for other in batches:
            other.add_section_forces(self, frames.u, frames.q, frames.v, forces)
        middle = np.empty((*forces.shape[:2], 6))
        args = (frames.q, frames.v, frames.a, self.fixed, self.gravity, forces, middle)
        self._check(midpoint_loads(self.index, self.ends, self.data, *args))
        for other in batches:
            part = other.field_part(self, BeamBatch._sections, frames.u, frames.q)
            if isinstance(part, np.ndarray):
                forces, middle = forces + part[:, :, :2], middle + part[:, :, 2]
        block: dict[str, Floats] = {}
        for name, rows in self.slices.items():
            block[f"beams/{name}/section_force"] = forces[:, rows, :, :3]
            block[f"beams/{name}/section_moment"] = forces[:, rows, :, 3:]
            block[f"beams/{name}/midpoint_force"] = middle[:, rows, :3]
            block[f"beams/{name}/midpoint_moment"] = middle[:, rows, 3:]
        return block

    def _sections(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, n, 3, 6) force and moment at both ends and in the middle of every element, without loads along it."""
        forces = self.section_forces(q, v, a)
        middle = np.empty((*forces.shape[:2], 6))
        self._check(midpoint_loads(*self._elements[:3], q, v, a, self.fixed, self.gravity, forces, middle))
        return np.concatenate([forces, middle[:, :, None]], axis=2)

    def section_forces(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, n, 2, 6) force and moment at both ends of every element, section axes; see ``force.forces``."""
        out = np.empty((len(q), len(self.index), 2, 6))
        state = (q, v, a, self.fixed, self.gravity)
        self._check(forces(*self._groups, *state, *ALL, 1.0, np.zeros(v.shape), out, NO_ROWS))
        return out
