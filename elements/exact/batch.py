"""The elements of exact beams, evaluated together."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from femb.base.types import Floats
from femb.base.values import shallow_copy
from femb.elements.beam.ends import BeamElements, end_rows, section_arrays
from femb.elements.exact.deformation import compliance_of, factorise, find_stress
from femb.elements.exact.element_data import (
    COLUMNS,
    DAMPING,
    LENGTH,
    MEAN,
    POINTS,
    REFERENCE,
    ElementProperties,
    adjoint,
    damped_by_direction,
    damping_in_the_middle,
    element_rows,
    free_strains,
)
from femb.elements.exact.force import (
    Element,
    ExactRows,
    FramesMotion,
    Placed,
    element_coordinates,
    forces,
    gather_poses,
    gather_rates,
)
from femb.elements.exact.inertia import energy_momentum as energy_of_mass
from femb.elements.exact.inertia import energy_momentum_beside, has_mass_beside, inertia_numbers
from femb.elements.exact.tangent import masses, predicted_stresses, tangents
from femb.elements.private_blocks import FieldOnElements
from femb.elements.records import load_factors
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.protocols import LoadsBeams
from femb.layout.stacking import Shift
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Ranges, Tangent
from femb.layout.views import ModelView, OutputStates
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.lanes import LANES, SharedRows, groups, groups_of, kinds, lanes, ungrouped
from femb.numerics.compiler.traced import M3, V3, V6, add_to
from femb.numerics.element_ranges import NO_ROWS

# Kernel of the energies and momenta of exact beam elements: equations (9) and (21) of docs/theory/exact_beam.md.


@kernel
def energy_momentum(elements, free, q, v, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin, at s states.

    free (s, g, 6, LANES) : free strains times the lengths, empty for cold elements.
    """
    none, sums, index = np.zeros((6, LANES)), np.empty((8, LANES)), elements.places
    poses, rates, p = np.empty((2, 7, LANES)), np.empty((2, 6, LANES)), np.empty((3, 4, LANES))
    at = Placed(
        lanes(p), lanes(np.empty((4, 3, 3, LANES))), lanes(np.empty((2, 3, LANES))), lanes(np.empty((6, LANES))),
        lanes(np.empty((4, 3, LANES))),
    )  # fmt: skip
    C, sigma = lanes(np.empty((6, 6, LANES))), lanes(np.empty((6, LANES)))
    motion = FramesMotion(lanes(poses), lanes(rates), lanes(rates))
    for g in range(elements.kind.shape[0]):
        row = elements.kind[g]
        for s in range(q.shape[0]):
            gather_poses(index, g * LANES, q[s], elements.fixed, poses)
            gather_rates(index, g * LANES, v[s], rates)
            strains = lanes(free[s, g] if free.size else none)
            element = Element(lanes(elements.ends[row]), lanes(elements.data[row]), lanes(elements.own[g]), strains)
            element_energy_momentum(element, motion, elements.gravity, at, C, sigma, lanes(sums))
            for m in range(min(LANES, index.shape[0] - g * LANES)):
                for i in range(8):
                    out[s, i] += sums[i, m]


@inlined
def element_energy_momentum(element, motion, gravity, at, C, sigma, sums):
    """sums (8,) of one element. C (6, 6), sigma (6,) : work arrays."""
    data, poses = element.data, motion.poses
    element_coordinates(poses, element.ends, at)
    factorise(compliance_of(data), at.d, C)
    find_stress(data, C, at.d, element.free, 1.0, sigma)
    sums[:] = 0.0
    for i in range(6):
        sums[1] += 0.5 * sigma[i] * (at.d[i] - data[REFERENCE + i] - element.free[i])
    of, axes, pull = inertia_numbers(data[POINTS:]), (M3(at.R[0]), M3(at.R[2])), V3(gravity)
    places, motions = (V3(poses[0]), V3(poses[1])), (V6(motion.velocities[0]), V6(motion.velocities[1]))
    if has_mass_beside(data):
        add_to(energy_momentum_beside(of, data[LENGTH], axes, places, motions, pull), sums)
    else:
        add_to(energy_of_mass(of, axes, places, motions, pull), sums)


# Rows of the exact elements of several models, one after the other.


def stacked_rows(data: Sequence[Floats]) -> Floats:
    """The rows (e, columns) of parameters, of which some may have further columns, for damping by direction."""
    columns = max(rows.shape[1] for rows in data)
    result = np.zeros((sum(map(len, data)), columns))
    first = 0
    for rows in data:
        result[first : first + len(rows), : rows.shape[1]] = rows
        first += len(rows)
    return result


def stacked_shares(shares: Sequence[Floats]) -> Floats:
    """The free strains (k, e, 6) of all elements by the inputs of all models, from those of each model by its own."""
    inputs, elements = (sum(part.shape[axis] for part in shares) for axis in range(2))
    result = np.zeros((inputs, elements, 6))
    k = e = 0
    for part in shares:
        result[k : k + part.shape[0], e : e + part.shape[1]] = part
        k, e = k + part.shape[0], e + part.shape[1]
    return result


NO_SECTION = COLD = np.zeros((0, 0, 0, 0))
COORDINATES, VELOCITIES = [0, 1], [2, 3]
SIZES = (6, 6)
# Compliance of an element whose elastic force vanishes beside all others.
SOFT = 1e30
ROUNDINGS = 64.0


class ExactBatch(BeamElements):
    """Exact beam elements as a structure of arrays; see ``femb.elements.exact.element_data`` for their columns.

    heating : the thermal loads on the beams, one input each, since their free strains enter the force of the elements.
    """

    in_q, in_v, sizes, end_groups = COORDINATES, VELOCITIES, SIZES, (0, 1)
    largest_rotation, own_force, pretensioned = 0.8, True, False
    prestress_account = "thermal_loads"

    def __init__(self, beams: list[Any], heating: list[Any], layout: Layout, model: ModelView) -> None:
        stops = np.cumsum([beam.elements for beam in beams]).tolist()
        self.slices = {beam.name: slice(stop - beam.elements, stop) for beam, stop in zip(beams, stops, strict=True)}
        self.labels = [f"beams.{x.name}, element {k + 1} of {x.elements}" for x in beams for k in range(x.elements)]
        entries = [layout.beams[beam.name] for beam in beams]
        frames = np.concatenate([entry.frames_of_elements for entry in entries])
        self.set_index(np.hstack([layout.frame_q[frames], layout.frame_v[frames]]))
        properties = ElementProperties.joined([beam.element_properties(model) for beam in beams])
        ends = end_rows(entries, properties.corners)
        data = element_rows(properties, ends)
        self._set_rows(ends, data)
        self._set_own(np.full((len(self.index), 6), np.nan))
        self.undamped, self.damped = not np.all(data[:, DAMPING]), bool(np.any(data[:, DAMPING]))
        self.fixed, self.gravity = layout.fixed, np.array(model.gravity)
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in heating)
        self._set_shares(free_strains(heating, self.slices, model, properties.reference, properties.lengths))

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = super().stacked(batches, shifts, layout)
        ends, data = np.concatenate([batch.ends for batch in batches]), stacked_rows([batch.data for batch in batches])
        result._set_rows(ends, data)
        result._set_shares(stacked_shares([batch._shares for batch in batches]))
        result._set_own(np.concatenate([batch.own for batch in batches]))
        return result

    def row(self, k: int) -> Self:
        other = super().row(k)
        other._set_rows(self.ends[[k]], self.data[[k]])
        other._set_own(self.own[[k]])
        other._set_shares(self._shares[:, [k]])
        return other

    def _set_rows(self, ends: Floats, data: Floats) -> None:
        self._ends, self._data = SharedRows(ends), SharedRows(data)
        self._kinds = kinds(groups(ends), groups(data if data.shape[1] == COLUMNS else damped_by_direction(data)))

    def _set_own(self, own: Floats) -> None:
        """Take the stresses (e, 6) about which the forces are linear, nan where they are those of the strains."""
        self.own, self._own = own, groups(own)

    def _set_shares(self, shares: Floats) -> None:
        """Take the free strains (k, e, 6), times the lengths, by each of k inputs."""
        self._shares, self._heating = shares, groups(shares, 1)

    @property
    def ends(self) -> Floats:
        return self._ends.all()

    @property
    def data(self) -> Floats:
        """The rows (e, 207 or 315) of parameters of all elements, a copy."""
        return self._data.all()

    def free(self, u: Floats) -> Floats:
        """(s, n, 6) free strains times the lengths, of inputs u (s, n_u)."""
        factors = u[:, self.first_input : self.first_input + len(self.inputs)]
        return np.tensordot(factors, self._shares, 1) if self.inputs else np.zeros((len(u), *self.own.shape))

    def forces(self) -> list[Force]:
        every = self._elements

        def of_range(part: slice) -> tuple[Any, ...]:
            chosen = groups_of(part)
            shares = np.ascontiguousarray(every.shares[:, chosen])
            one = every._replace(places=every.places[part], kind=every.kind[chosen], own=every.own[chosen])
            return one._replace(shares=shares), NO_SECTION

        ranges = Ranges(of_range, self.index[:, VELOCITIES], SIZES, LANES)
        # what the heating changes is work of the inputs; cold elements, and those without damping, do none
        damping = ForcePart.WORK if self.damped else ForcePart.ELASTIC
        heating = ForcePart("work", self.prestress_account) if self.inputs else ForcePart.ELASTIC
        parts, kept = (ForcePart.ELASTIC, damping, ForcePart.INERTIA, heating), of_range(slice(0, len(self.index)))
        return [Force(forces, kept, parts=parts, reads="uqva", check=self.check, ranges=ranges, slow=True)]

    def masses(self) -> list[MassMatrix]:
        return [MassMatrix(masses, (self.index, *self._kinds, self.fixed), self.starts, SIZES)]

    def tangents(self) -> list[Tangent]:
        kept = self._elements
        return [
            Tangent(tangents, (kept, exact), self.starts, "uqva", "dk", not exact, exact, self.check)
            for exact in (False, True)
        ]

    def energies(self) -> list[Energy]:
        return [Energy(energy_momentum, (self._elements, COLD))]

    @property
    def _elements(self) -> ExactRows:
        kind, ends, data = self._kinds
        heat, first = self._heating, self.first_input
        return ExactRows(self.index, kind, ends, data, self._own, heat, first, self.fixed, self.gravity)

    def inertial(self) -> Self:
        other = self.softened().strained(np.zeros(0), np.full(self.own.shape, np.nan))
        other.gravity, other.inputs = np.zeros(3), ()
        other._set_shares(self._shares[:0])
        return other

    def _with(self, data: Floats) -> Self:
        """The elements with other parameters."""
        other = shallow_copy(self)
        other._set_rows(self.ends, data)
        return other

    def softened(self) -> Self:
        data = self.data
        data[:, DAMPING] = 0.0
        data[:, MEAN : MEAN + 36] += SOFT * np.eye(6).ravel()
        other = self._with(data)
        other.damped = False
        return other

    def own_strains(self, u: Floats, q: Floats, x: Floats, own: Floats | None = None) -> Floats:
        """(n, 6) stresses, which take the place of strains in Newton's iteration: equation (19)."""
        return (self if own is None else self.strained(q, own)).stresses(u[None], q[None], x[None]).reshape(-1, 6)

    def stresses(self, u: Floats, q: Floats, x: Floats) -> Floats:
        """(s, n, 6) stresses in the middles of the elements after a small motion x (s, n_v), at s states."""
        out = np.empty((len(q), *self._own.shape))
        self.check(predicted_stresses(self._elements, u, q, x, out))
        return ungrouped(out, len(self.index))

    def section_strains(self, u: Floats, q: Floats, x: Floats, xi: float, compliance: Floats) -> Floats:
        """(n, 6) strains less those of the reference shape at the part xi of the elements, changed to first order by
        displacements x (n_v,): F (1 + eta ad_d^T) sigma with eta = xi - 1/2, and the free strain.

        compliance (6, 6) : F there. Source: docs/theory/exact_beam.md, section 4.
        """
        none, free = np.zeros(len(x)), self.free(u[None])[0] / self.data[:, LENGTH, None]
        sigma, change = self.own_strains(u, q, none), self.own_strains(u, q, x)
        change -= sigma
        # with a unit compliance the stresses are (d - d0 - free)/L
        data = self.data
        data[:, DAMPING], data[:, MEAN:POINTS] = 0.0, 0.0
        data[:, MEAN : MEAN + 36] = np.eye(6).ravel()
        unit = self._with(data)
        length, reference = data[:, LENGTH, None], data[:, REFERENCE : REFERENCE + 6]
        d = reference + length * (unit.own_strains(u, q, none) + free)
        d_change = length * (unit.own_strains(u, q, x) + free) + reference - d
        eta = xi - 0.5
        along, turned = (np.swapaxes(adjoint(each), -1, -2) for each in (d, d_change))
        carried = sigma + change + eta * np.einsum("nij,nj->ni", along, sigma + change)
        carried += eta * np.einsum("nij,nj->ni", turned, sigma)
        return np.asarray(carried @ compliance.T + free)

    def strained(self, q: Floats, own: Floats) -> Self:
        other = shallow_copy(self)
        other._set_own(own)
        return other

    def unstrained(self, u: Floats, q: Floats) -> Self | None:
        own, data = self.own_strains(u, q, np.zeros(len(q))), self.data
        length = data[:, LENGTH, None]
        compliance = data[:, MEAN : MEAN + 36].reshape(-1, 6, 6)[:, range(6), range(6)]
        sizes = np.where(np.arange(6) < 3, 1.0, np.maximum(1.0, length)) * compliance * np.abs(own)
        rounding = ROUNDINGS * np.finfo(float).eps * (1.0 + np.max(np.abs(q)) / length)
        return self.strained(q, np.zeros_like(own)) if np.all(sizes <= rounding) else None

    def prestress_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        if self.inputs:
            still = np.zeros((len(q), 6 + int(self.index[:, VELOCITIES].max(initial=-6))))
            warm, cold = np.zeros((2, len(q), 8))
            energy_momentum(self._elements, groups(self.free(u), 1), q, still, warm)
            energy_momentum(self._elements, COLD, q, still, cold)
            out += warm[:, 1] - cold[:, 1]

    def section_forces(self, q: Floats, v: Floats, a: Floats, u: Floats | None = None) -> Floats:
        """(s, n, 2, 6) forces and moments of the elements at their ends, section axes, without those of loads; u :
        inputs, None for cold elements."""
        u = np.zeros((len(q), self.first_input + len(self.inputs))) if u is None else u
        section = np.empty((len(q), len(self.index), 2, 6))
        self.check(forces(self._elements, section, u, q, v, a, np.ones(4), np.zeros(v.shape), NO_ROWS))
        return section

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        return load_factors(self, frames)

    def internal_loads(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        section = self.section_forces(frames.q, frames.v, frames.a, frames.u)
        for other in batches:
            if isinstance(other, LoadsBeams):
                other.add_section_forces(self, frames.u, frames.q, frames.v, section)
        middle = self._middle(frames)
        for other in batches:
            if isinstance(other, FieldOnElements):
                section = section + other.field_part(self, ExactBatch._sections, frames.u, frames.q)
        return section_arrays(self.slices, section, middle)

    def _sections(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        return self.section_forces(q, v, a, u)

    def _middle(self, frames: OutputStates) -> Floats:
        """(k, n, 6) stress in the middles of the elements, with that of the material damping: section 11."""
        out = self.stresses(frames.u, frames.q, np.zeros(frames.v.shape))
        if self.damped:
            share = damping_in_the_middle(self.data)
            out += np.einsum("nij,knj->kni", share, self.stresses(frames.u, frames.q, frames.v) - out)
        return out
