"""Beam elements of all beams, evaluated together."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam import strain as columns
from femb.elements.beam.ends import (
    QUATERNION,
    BeamElements,
    element_shape,
    end_accelerations,
    end_rows,
    end_velocities,
    ends_motion,
    section_arrays,
)
from femb.elements.beam.force import forces, inner_stiffness, inner_strains, relax
from femb.elements.beam.inertia import (
    HERMITE_MASS,
    HERMITE_MEAN,
    centreline_acceleration,
    centreline_rate,
    offset_energy,
    rotary_rows,
)
from femb.elements.beam.matrices import folded, masses, step_tangents
from femb.elements.beam.shape import reference_strains
from femb.elements.beam.strain import (
    HERMITE,
    HERMITE_VALUES,
    INERTIA,
    LENGTH,
    MASS,
    OFFSET,
    REFERENCE,
    SOURCE,
    STIFFNESS,
    WEIGHTS,
    BeamRows,
    cubics,
    gather_rates,
    gather_states,
    natural_rates,
    section_at,
    strains,
    twist_angles,
)
from femb.elements.beam.tangent import tangent
from femb.elements.private_blocks import FieldOnElements
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.protocols import LoadsBeams
from femb.layout.stacking import Shift
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Ranges, Tangent
from femb.layout.views import ModelView, OutputStates
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.lanes import LANES, every, groups, groups_of, kinds, lanes
from femb.numerics.element_ranges import NO_ROWS
from femb.numerics.newton import LARGEST_ROTATION
from femb.numerics.vector3 import cross, rotate, rotate_back

# Rows of parameters of beam elements, from their sections.


def element_data(section: Any, source: bool) -> Floats:
    """(37,) parameters of the elements of a beam with a straight reference shape, without their lengths."""
    row = np.zeros(columns.REFERENCE + 12)
    row[columns.MASS] = section.line_mass()
    row[columns.INERTIA : columns.INERTIA + 3] = section.inertia()
    row[columns.DAMPING] = section.damping
    row[columns.SOURCE] = float(source)
    row[columns.STIFFNESS : columns.STIFFNESS + 16] = section.stiffness().ravel()
    row[columns.OFFSET : columns.OFFSET + 2] = section.offset()
    return row


# Energy and momentum of beam elements; arguments as in ``strain``. Source: docs/theory/beam.md.


@kernel
def energy_momentum(elements, q, v, out):
    """out (s, 8) += kinetic and potential energy, linear momentum and angular momentum about the inertial origin."""
    index, kind, ends, data, has_mass_offset, fixed, gravity = elements
    states, rates = np.empty((2, 8, LANES)), np.empty((2, 7, LANES))
    R, small, whole = lanes(np.empty((5, 3, 3, LANES))), lanes(np.empty((15, 3, LANES))), np.empty((1, LANES))
    axes, offset_work = lanes(np.empty((3, 3, LANES))), lanes(np.empty((6, 3, LANES)))
    Q, beta, gamma, L, work, w = R[4], small[10], small[11], small[12], small[13], small[14]
    x0, x1 = lanes(np.empty((4, 3, LANES))), lanes(np.empty((4, 3, LANES)))
    X, f11 = lanes(np.empty((8, LANES))), lanes(np.empty((11, LANES)))
    e, E = lanes(np.empty((3, 4, LANES))), lanes(np.empty((3, 4, 8, LANES)))
    psi, psi_X = lanes(np.empty((4, LANES))), lanes(np.empty((4, 8, LANES)))
    c, spin = lanes(np.empty((2, 3, 4, LANES))), lanes(np.empty((3, 11, LANES)))
    sums = np.empty((8, LANES))
    of_elements = lanes(sums)
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            first, row, end_rows = g * LANES, lanes(data[kind[g]]), lanes(ends[kind[g]])
            count, length = min(LANES, index.shape[0] - first), row[LENGTH]
            gather_states(index, first, q[s], fixed, states)
            gather_rates(index, first, v[s], rates)
            element_shape(lanes(states), end_rows, length, R, small, X)
            lanes(whole)[0] = strains(X, length, row[SOURCE] != 0.0, psi, psi_X, e, E)
            if folded(first, whole[0], count) >= 0:
                return folded(first, whole[0], count)
            ends_motion(lanes(rates), end_rows, R, small, f11)
            potential, kinetic = 0.0 * length, 0.0 * length
            of_elements[:] = 0.0
            inner_strains(e, length, c[0])
            for i in range(3):
                for j in range(4):
                    e[i, j] -= row[REFERENCE + 4 * i + j]
            relax(c[0], c[1], inner_stiffness(row, c[0], c[1]), e)
            for i in range(3):
                for j in range(4):
                    for o in range(4):
                        potential += 0.5 * WEIGHTS[i] * length * e[i, j] * row[STIFFNESS + 4 * j + o] * e[i, o]
            # centreline, inertial axes
            for end in range(2):
                stretched = length * (1.0 + lanes(states)[end, 7])
                centreline_rate(lanes(rates)[end, 6], small[4 + end], stretched, length, work)
                rotate(R[1 + 2 * end], work, x1[1 + 2 * end])
                for i in range(3):
                    x0[2 * end, i] = small[end, i]
                    x1[2 * end, i] = small[2 + end, i]
                    x0[1 + 2 * end, i] = R[1 + 2 * end, i, 0] * stretched
            mass = row[MASS] * length
            L[:] = 0.0
            for i in range(4):
                for j in range(4):
                    f = mass * HERMITE_MASS[i, j]
                    cross(x0[i], x1[j], work)
                    for o in range(3):
                        kinetic += 0.5 * f * x1[i, o] * x1[j, o]
                        L[o] += f * work[o]
                for o in range(3):
                    of_elements[2 + o] += mass * HERMITE_MEAN[i] * x1[i, o]
                    potential -= mass * HERMITE_MEAN[i] * x0[i, o] * gravity[o]
            # rotary inertia
            cy, cz = row[OFFSET], row[OFFSET + 1]
            symmetric = every(row[INERTIA + 1] == row[INERTIA + 2]) and every(cy == 0.0) and every(cz == 0.0)
            for i in range(3):
                rotary_rows(X, Q, (beta, gamma), length, i, symmetric, axes, spin)
                weight = WEIGHTS[i] * length
                for j in range(3):
                    w[j] = 0.0
                    for o in range(11):
                        w[j] += spin[j, o] * f11[o]
                    f = weight * row[INERTIA + j] * w[j]
                    kinetic += 0.5 * f * w[j]
                    for o in range(3):
                        for p in range(3):
                            L[p] += R[1, p, o] * f * axes[j, o]
                if has_mass_offset:
                    mass_i = weight * row[MASS]
                    offset_energy(i, (mass_i, cy, cz), axes, R[1], w, (x0, x1), gravity, offset_work, of_elements)
            of_elements[0] += kinetic
            of_elements[1] += potential
            for o in range(3):
                of_elements[5 + o] += L[o]
            for m in range(count):
                for o in range(8):
                    out[s, o] += sums[o, m]
    return -1


# Section force and moment in the middle of beam elements, from the equilibrium of both halves.
#
#     F_m = F_1 + int_0^1/2 p dxi,    M_m = M_1 + (r_1 - r_m) x F_1 + int_0^1/2 (r - r_m) x p dxi
#
# and likewise from the other end, of which the mean is taken: it differs by the rotary inertia of the sections. p is
# the inertia force of the centreline less its weight, and a uniform density of what else loads the element, which its
# end forces tell. Arguments as in ``strain``; vectors have components in the axes of the element's first section.
# Source: docs/theory/loads.md, equations (1) and (2).

# The strain point in the middle of an element.
MIDDLE = 1
# Integrals of the Hermite functions and of their products over the first and the second half of an element.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
_VALUES = [cubics(first + 0.25 * (1.0 + _NODES)) for first in (0.0, 0.5)]
MEANS = np.array([0.25 * _WEIGHTS @ values for values in _VALUES])
PRODUCTS = np.array([(0.25 * _WEIGHTS * values.T) @ values for values in _VALUES])


@inlined
def half_integrals(half, x, x2, middle, mass, rest, work, force, torque):
    """force and torque (3,): integrals over half 0 or 1 of p, and of (r - middle) x p.

    x, x2 (4, 3) : positions and centreline derivatives of the ends, and their accelerations less gravity. rest (3,) :
    the uniform part of p. work (2, 3).
    """
    mean = work[0]
    for i in range(3):
        mean[i] = -0.5 * middle[i]
        force[i] = 0.5 * rest[i]
        for j in range(4):
            mean[i] += MEANS[half, j] * x[j, i]
            force[i] += mass * MEANS[half, j] * x2[j, i]
    cross(mean, rest, torque)
    for j in range(4):
        for i in range(3):
            mean[i] = -MEANS[half, j] * middle[i]
            for m in range(4):
                mean[i] += PRODUCTS[half, m, j] * x[m, i]
        cross(mean, x2[j], work[1])
        for i in range(3):
            torque[i] += mass * work[1, i]


@kernel
def midpoint_loads(elements, q, v, a, section, out):
    """out (s, n, 6): force and moment in the middle of every element at s states, axes of the section there.

    section (s, n, 2, 6) : those at the ends of the elements, with the loads along them. Returns -1, or the number of a
    folded element.
    """
    index, kind, ends, data, _, fixed, gravity = elements
    states, rates = np.empty((2, 8, LANES)), np.empty((2, 2, 7, LANES))
    R, S = lanes(np.empty((5, 3, 3, LANES))), lanes(np.empty((3, 3, LANES)))
    small, whole = lanes(np.empty((12, 3, LANES))), np.empty((1, LANES))
    x, x2 = lanes(np.empty((4, 3, LANES))), lanes(np.empty((4, 3, LANES)))
    halves, work = lanes(np.empty((4, 3, LANES))), lanes(np.empty((2, 3, LANES)))
    X, psi, psi_X = lanes(np.empty((8, LANES))), lanes(np.empty((4, LANES))), lanes(np.empty((4, 8, LANES)))
    middle, rest = lanes(np.empty((3, LANES))), lanes(np.empty((3, LANES)))
    force, moment = lanes(np.empty((3, LANES))), lanes(np.empty((3, LANES)))
    gathered, loads = np.empty((4, 3, LANES)), np.empty((2, 3, LANES))
    end_loads, in_section = lanes(gathered), lanes(loads)
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            first, row, end_rows = g * LANES, lanes(data[kind[g]]), lanes(ends[kind[g]])
            count, length = min(LANES, index.shape[0] - first), row[LENGTH]
            mass = length * row[MASS]
            gather_states(index, first, q[s], fixed, states)
            gather_rates(index, first, v[s], rates[0])
            gather_rates(index, first, a[s], rates[1])
            for m in range(LANES):
                k = min(first + m, index.shape[0] - 1)
                for end in range(2):
                    for i in range(3):
                        gathered[2 * end, i, m] = section[s, k, end, i]
                        gathered[1 + 2 * end, i, m] = section[s, k, end, 3 + i]
            velocities, seconds = lanes(rates[0]), lanes(rates[1])
            element_shape(lanes(states), end_rows, length, R, small, X)
            lanes(whole)[0] = twist_angles(X, psi, psi_X)
            if folded(first, whole[0], count) >= 0:
                return folded(first, whole[0], count)
            section_at(X, HERMITE[MIDDLE, 0], HERMITE[MIDDLE, 1], HERMITE[MIDDLE, 2], psi[MIDDLE], S)
            Q = R[4]
            for i in range(3):
                x[0, i] = 0.0
                x[1, i] = 0.0
                x[2, i], x[3, i] = X[i], X[4 + i]
            x[1, 0] = X[3]
            for end in range(2):
                stretched, end_row = length * (1.0 + lanes(states)[end, 7]), end_rows[end]
                axes, omega, acceleration, alpha = R[2 * end], small[4 + end], small[6 + end], small[8 + end]
                end_velocities(velocities[end], end_row, axes, small[2 + end], omega)
                end_accelerations(velocities[end], seconds[end], end_row, axes, acceleration, alpha)
                for i in range(3):
                    acceleration[i] -= gravity[i]
                rotate_back(R[1], acceleration, x2[2 * end])
                centreline_acceleration(
                    velocities[end, 6], seconds[end, 6], omega, alpha, stretched, length, x2[1 + 2 * end]
                )
            for m in range(2):
                for i in range(3):
                    work[0, i] = end_loads[2 + m, i]
                rotate(Q, work[0], end_loads[2 + m])
            for i in range(3):
                work[0, i] = x2[3, i]
            rotate(Q, work[0], x2[3])
            for i in range(3):
                middle[i] = 0.0
                rest[i] = end_loads[2, i] - end_loads[0, i]
                for j in range(4):
                    middle[i] += HERMITE_VALUES[MIDDLE, j] * x[j, i]
                    rest[i] -= mass * (MEANS[0, j] + MEANS[1, j]) * x2[j, i]
            half_integrals(0, x, x2, middle, mass, rest, work, halves[0], halves[1])
            half_integrals(1, x, x2, middle, mass, rest, work, halves[2], halves[3])
            for i in range(3):
                force[i] = end_loads[0, i] + halves[0, i]
                moment[i] = 0.5 * (end_loads[1, i] + halves[1, i] + end_loads[3, i] - halves[3, i])
            for end in range(2):
                for i in range(3):
                    work[0, i] = x[2 * end, i] - middle[i]
                cross(work[0], end_loads[2 * end], work[1])
                for i in range(3):
                    moment[i] += 0.5 * work[1, i]
            rotate_back(S, force, in_section[0])
            rotate_back(S, moment, in_section[1])
            for m in range(count):
                for i in range(3):
                    out[s, first + m, i] = loads[0, i, m]
                    out[s, first + m, 3 + i] = loads[1, i, m]
    return -1


# Strains that Newton's iteration of statics treats as separate unknowns; arguments as in ``strain``.
#
# Source: docs/theory/statics.md, equation (4).


@kernel
def linearised_strains(elements, q, x, out):
    """out (n, 12): strains minus reference at the strain points, plus their change with displacements x (n_v,).

    Returns -1, or the number of a folded element.
    """
    index, kind, ends, data, _, fixed, _ = elements
    states, rates, whole = np.empty((2, 8, LANES)), np.empty((2, 7, LANES)), np.empty((1, LANES))
    R, small = lanes(np.empty((5, 3, 3, LANES))), lanes(np.empty((12, 3, LANES)))
    X, motion, rate = lanes(np.empty((8, LANES))), lanes(np.empty((11, LANES))), lanes(np.empty((8, LANES)))
    e, E = lanes(np.empty((3, 4, LANES))), lanes(np.empty((3, 4, 8, LANES)))
    psi, psi_X = lanes(np.empty((4, LANES))), lanes(np.empty((4, 8, LANES)))
    found = np.empty((12, LANES))
    values = lanes(found)
    for g in range(kind.shape[0]):
        first, row, end_rows = g * LANES, lanes(data[kind[g]]), lanes(ends[kind[g]])
        count, length = min(LANES, index.shape[0] - first), row[LENGTH]
        gather_states(index, first, q, fixed, states)
        gather_rates(index, first, x, rates)
        element_shape(lanes(states), end_rows, length, R, small, X)
        lanes(whole)[0] = strains(X, length, row[SOURCE] != 0.0, psi, psi_X, e, E)
        if folded(first, whole[0], count) >= 0:
            return folded(first, whole[0], count)
        ends_motion(lanes(rates), end_rows, R, small, motion)
        natural_rates(X, R[4], small[10], small[11], length, motion, rate)
        for i in range(3):
            for j in range(4):
                value = e[i, j] - row[REFERENCE + 4 * i + j]
                for m in range(8):
                    value += E[i, j, m] * rate[m]
                values[4 * i + j] = value
        for m in range(count):
            for i in range(12):
                out[first + m, i] = found[i, m]
    return -1


NO_SECTION = np.empty((0, 0, 0, 0))
ROUNDINGS = 64.0
# Columns of ``index`` with the indices of velocities, and of coordinates: frame and strain of one end, then the other.
VELOCITIES = [2, 6, 3, 7]
COORDINATES = [0, 4, 1, 5]
SIZES = (6, 1, 6, 1)


class BeamBatch(BeamElements):
    """Beam elements as a structure of arrays; see ``femb.elements.beam.strain`` for their columns."""

    largest_rotation, own_force, pretensioned = LARGEST_ROTATION, False, False
    in_q, in_v, sizes, end_groups = COORDINATES, VELOCITIES, SIZES, (0, 2)

    def __init__(self, beams: list[Any], layout: Layout, model: ModelView) -> None:
        index: list[Ints] = []
        ends: list[Floats] = []
        data: list[Floats] = []
        self.labels, self.slices = [], {}
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
        self.set_index(np.concatenate(index))
        self.set_rows(np.concatenate(ends), np.concatenate(data))
        self.has_mass_offset = bool(np.any(self.data[:, columns.OFFSET : columns.OFFSET + 2]))
        self.undamped = not np.all(self.data[:, columns.DAMPING])
        self.damped = bool(np.any(self.data[:, columns.DAMPING]))
        self.fixed = layout.fixed
        self.gravity = np.array(model.gravity)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = super().stacked(batches, shifts, layout)
        result.set_rows(*(np.concatenate(rows) for rows in zip(*((b.ends, b.data) for b in batches), strict=True)))
        result.has_mass_offset = any(batch.has_mass_offset for batch in batches)
        return result

    @property
    def ends(self) -> Floats:
        return self._ends

    def set_rows(self, ends: Floats, data: Floats) -> None:
        """Take the rows (e, 2, 13) and (e, 37) of the elements, also in the groups that ``forces`` reads."""
        self._ends, self.data = ends, data
        self._kinds = kinds(groups(ends), groups(data))

    def row(self, k: int) -> Self:
        other = super().row(k)
        other.set_rows(self.ends[[k]], self.data[[k]])
        return other

    def forces(self) -> list[Force]:
        every = self._elements

        def of_range(part: slice) -> tuple[Any, ...]:
            return every._replace(places=every.places[part], kind=every.kind[groups_of(part)]), NO_SECTION

        ranges = Ranges(of_range, self.index[:, VELOCITIES], SIZES, LANES)
        # elements without damping do no work of their own
        parts = ForcePart.ELASTIC, ForcePart.WORK if self.damped else ForcePart.ELASTIC, ForcePart.INERTIA
        return [Force(forces, (every, NO_SECTION), "qva", parts=parts, check=self.check, ranges=ranges, slow=True)]

    def masses(self) -> list[MassMatrix]:
        return [MassMatrix(masses, (self._elements,), self.starts, SIZES, self.check)]

    def tangents(self) -> list[Tangent]:
        kept = (self._elements,)
        return [
            Tangent(step_tangents, kept, self.starts, "qv", exact=False, check=self.check),
            Tangent(tangent, kept, self.starts, "qva", step=False, check=self.check),
        ]

    def energies(self) -> list[Energy]:
        return [Energy(energy_momentum, (self._elements,), check=self.check)]

    @property
    def _elements(self) -> BeamRows:
        kind, ends, data = self._kinds
        return BeamRows(self.index, kind, ends, data, self.has_mass_offset, self.fixed, self.gravity)

    def inertial(self) -> Self:
        other = self.softened()
        other.gravity = np.zeros(3)
        return other

    def softened(self) -> Self:
        other, data = copy(self), self.data.copy()
        data[:, columns.DAMPING] = 0.0
        data[:, columns.STIFFNESS : columns.STIFFNESS + 16] = 0.0
        other.set_rows(self.ends, data)
        other.damped = False
        return other

    def own_strains(self, u: Floats, q: Floats, x: Floats, own: Floats | None = None) -> Floats:
        """(e, 12) strains less reference at the three strain points."""
        out = np.empty((len(self.index), 12))
        self.check(linearised_strains(self._elements, q, x, out))
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

    def internal_loads(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        forces = self.section_forces(frames.q, frames.v, frames.a)
        for other in batches:
            if isinstance(other, LoadsBeams):
                other.add_section_forces(self, frames.u, frames.q, frames.v, forces)
        middle = np.empty((*forces.shape[:2], 6))
        self.check(midpoint_loads(self._elements, frames.q, frames.v, frames.a, forces, middle))
        for other in batches:
            if not isinstance(other, FieldOnElements):
                continue
            part = other.field_part(self, BeamBatch._sections, frames.u, frames.q)
            if isinstance(part, np.ndarray):
                forces, middle = forces + part[:, :, :2], middle + part[:, :, 2]
        return section_arrays(self.slices, forces, middle)

    def _sections(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, n, 3, 6) force and moment at both ends and in the middle of every element, without loads along it."""
        forces = self.section_forces(q, v, a)
        middle = np.empty((*forces.shape[:2], 6))
        self.check(midpoint_loads(self._elements, q, v, a, forces, middle))
        return np.concatenate([forces, middle[:, :, None]], axis=2)

    def section_forces(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, n, 2, 6) force and moment at both ends of every element, section axes; see ``force.forces``."""
        out = np.empty((len(q), len(self.index), 2, 6))
        self.check(forces(self._elements, out, q, v, a, np.ones(3), np.zeros(v.shape), NO_ROWS))
        return out
