"""The elements of exact beams, evaluated together."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy
from femb.elements.beam.ends import BeamElements, end_rows, section_arrays
from femb.elements.exact import tangent as kernels
from femb.elements.exact.deformation import compliance, solve, strain
from femb.elements.exact.element_data import (
    BESIDE,
    COLUMNS,
    DAMPING,
    LENGTH,
    MASSES,
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
    angular_momenta,
    element_coordinates,
    forces,
    gather_poses,
    gather_rates,
    has_mass_beside,
    point_forces,
    point_jets,
    point_motions,
)
from femb.elements.exact.offset_mass import bubble_force
from femb.elements.records import load_factors
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.stacking import Shift
from femb.layout.views import ModelView, OutputStates
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.lanes import LANES, SharedRows, groups, kinds, lanes, of_range, ungrouped
from femb.numerics.element_ranges import NO_ROWS, in_ranges

# Kernel of the energies and momenta of exact beam elements: equations (9) and (21) of docs/theory/exact_beam.md.


@kernel
def energy_momentum(index, kind, ends, data, free, q, v, fixed, gravity, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin, at s states.

    Groups of elements as in ``femb.elements.exact.force.forces``.
    """
    none, sums = np.zeros((6, LANES)), np.empty((8, LANES))
    poses, rates = np.empty((2, 7, LANES)), np.empty((2, 6, LANES))
    p, R, small = lanes(np.empty((3, 4, LANES))), lanes(np.empty((4, 3, 3, LANES))), lanes(np.empty((6, 3, LANES)))
    r, six = lanes(np.empty((58, 3, LANES))), lanes(np.empty((3, 6, LANES)))
    mats, three = lanes(np.empty((2, 6, 6, LANES))), lanes(np.empty((2, 3, 3, LANES)))
    for g in range(kind.shape[0]):
        for s in range(q.shape[0]):
            gather_poses(index, g * LANES, q[s], fixed, poses)
            gather_rates(index, g * LANES, v[s], rates)
            strains = lanes(free[s, g] if free.size else none)
            element_energy_momentum(
                lanes(poses), lanes(rates), lanes(ends[kind[g]]), lanes(data[kind[g]]), strains, gravity,
                p, R, r, small, six, mats, three, lanes(sums),
            )  # fmt: skip
            for m in range(min(LANES, index.shape[0] - g * LANES)):
                for i in range(8):
                    out[s, i] += sums[i, m]


@inlined
def element_energy_momentum(poses, rates, ends, data, free, gravity, p, R, r, small, six, mats, three, sums):
    """sums (8,) of one element. r (58, 3), six (3, 6), and the arrays of ``element_force`` : work."""
    d, e, e0 = six[0], six[1], six[2]
    element_coordinates(poses, ends, p, R, r, small, d, three[0], three[1])
    compliance(data, d, mats[0], mats[1])
    strain(data, d, free, e)
    for i in range(6):
        e0[i] = e[i]
    solve(mats[1], e)
    sums[:] = 0.0
    for i in range(6):
        sums[1] += 0.5 * e[i] * e0[i] / data[LENGTH]
    omega, h, x, xd, momenta = r[2:4], r[4:6], r[6:14], r[14:22], r[22:29]
    for f in range(2):
        for c in range(3):
            omega[f, c] = rates[f, 3 + c]
    point_motions(data, R[0], R[2], poses, rates, omega, 4, x, xd)
    momenta[:] = 0.0
    point_forces(data, xd, momenta)
    count = 4
    if has_mass_beside(data):
        z, count = r[29:38], 7
        r[38:46] = 0.0
        point_jets(data, R[0], R[2], poses, rates, omega, r[38:46], x, xd, r[46:58], z)
        for m in range(3):
            bubble_force(data, m, xd, z[3 + m], momenta[4 + m])
            for c in range(3):
                x[4 + m, c], xd[4 + m, c] = z[m, c], z[3 + m, c]
                for n in range(4):
                    momenta[n, c] += data[BESIDE + 5 * m + n] * z[3 + m, c]
    for m in range(count):
        p0, p1, p2 = momenta[m, 0], momenta[m, 1], momenta[m, 2]
        sums[0] += 0.5 * (p0 * xd[m, 0] + p1 * xd[m, 1] + p2 * xd[m, 2])
        o = MASSES + 4 * m if m < 4 else BESIDE + 5 * (m - 4)
        share = data[o] + data[o + 2]
        sums[1] -= share * (gravity[0] * x[m, 0] + gravity[1] * x[m, 1] + gravity[2] * x[m, 2])
        if m == 0 or m == 2:
            sums[2] += p0
            sums[3] += p1
            sums[4] += p2
        sums[5] += x[m, 1] * p2 - x[m, 2] * p1
        sums[6] += x[m, 2] * p0 - x[m, 0] * p2
        sums[7] += x[m, 0] * p1 - x[m, 1] * p0
    angular_momenta(data, omega, h)
    for f in range(2):
        Rn = R[2 * f]
        for c in range(3):
            sums[0] += 0.5 * omega[f, c] * h[f, c]
            sums[5 + c] += Rn[c, 0] * h[f, 0] + Rn[c, 1] * h[f, 1] + Rn[c, 2] * h[f, 2]


# Section forces and moments of exact beams in the results.


class SectionRecords(BeamElements):
    """A batch that records the section forces of its n elements."""

    @property
    @abstractmethod
    def data(self) -> Floats:
        """The rows (n, 201 or 309) of parameters of all elements."""

    @abstractmethod
    def free(self, u: Floats) -> Floats:
        """(s, n, 6) free strains times the lengths, of inputs u (s, n_u)."""

    @abstractmethod
    def stresses(self, free: Floats, q: Floats, x: Floats, own: Floats | None = None) -> Floats:
        """(s, n, 6) stresses in the middles of the elements after a small motion x (s, n_v), at s states."""

    @abstractmethod
    def section_forces(self, q: Floats, v: Floats, a: Floats, u: Floats | None = None) -> Floats:
        """(s, n, 2, 6) forces and moments at both ends of the elements, section axes."""

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The factors of thermal loads."""
        return load_factors(self, frames)

    def internal_loads(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Section forces and moments of every beam, with the loads along it."""
        section = self.section_forces(frames.q, frames.v, frames.a, frames.u)
        for other in batches:
            other.add_section_forces(self, frames.u, frames.q, frames.v, section)
        middle = self._middle(frames)
        for other in batches:
            section = section + other.field_part(self, SectionRecords._sections, frames.u, frames.q)
        return section_arrays(self.slices, section, middle)

    def _sections(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        return self.section_forces(q, v, a, u)

    def _middle(self, frames: OutputStates) -> Floats:
        """(k, n, 6) stress in the middles of the elements, with that of the material damping: section 11."""
        free = self.free(frames.u)
        out = self.stresses(free, frames.q, np.zeros(frames.v.shape))
        if self.damped:
            share = damping_in_the_middle(self.data)
            out += np.einsum("nij,knj->kni", share, self.stresses(free, frames.q, frames.v) - out)
        return out


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


NO_SECTION = np.zeros((0, 0, 0, 0))
COORDINATES, VELOCITIES = [0, 1], [2, 3]
SIZES = (6, 6)
# Elastic, damping and inertia forces.
ALL, ELASTIC, INERTIAL = (True, True, True), (True, False, False), (False, False, True)
# Compliance of an element whose elastic force vanishes beside all others.
SOFT = 1e30
ROUNDINGS = 64.0


class ExactBatch(SectionRecords):
    """Exact beam elements as a structure of arrays; see ``femb.elements.exact.element_data`` for their columns.

    heating : the thermal loads on the beams, one input each, since their free strains enter the force of the elements.
    """

    in_q, in_v, sizes, end_groups = COORDINATES, VELOCITIES, SIZES, (0, 1)
    largest_rotation = 0.8
    own_force = True
    prestress_account = "thermal_loads"

    def __init__(self, beams: list[Any], heating: list[Any], layout: Layout, model: ModelView) -> None:
        stops = np.cumsum([beam.elements for beam in beams]).tolist()
        self.slices = {beam.name: slice(stop - beam.elements, stop) for beam, stop in zip(beams, stops, strict=True)}
        self.labels = [f"beams.{x.name}, element {k + 1} of {x.elements}" for x in beams for k in range(x.elements)]
        entries = [layout.beams[beam.name] for beam in beams]
        frames = np.concatenate([entry.frames_of_elements for entry in entries])
        self.index = np.hstack([layout.frame_q[frames], layout.frame_v[frames]])
        properties = ElementProperties.joined([beam.element_properties(model) for beam in beams])
        ends = end_rows(entries, properties.corners)
        data = element_rows(properties, ends)
        self._set_rows(ends, data)
        self.own: Floats = np.full((len(self.index), 6), np.nan)
        self._own = groups(self.own)
        self.undamped, self.damped = not np.all(data[:, DAMPING]), bool(np.any(data[:, DAMPING]))
        self.fixed, self.gravity = layout.fixed, np.array(model.gravity)
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in heating)
        self._shares = free_strains(heating, self.slices, model, properties.reference, properties.lengths)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = super().stacked(batches, shifts, layout)
        ends, data = np.concatenate([batch.ends for batch in batches]), stacked_rows([batch.data for batch in batches])
        result._set_rows(ends, data)
        result._shares = stacked_shares([batch._shares for batch in batches])
        result.own = np.concatenate([batch.own for batch in batches])
        result._own = groups(result.own)
        return result

    def row(self, k: int) -> Self:
        other = super().row(k)
        other._set_rows(self.ends[[k]], self.data[[k]])
        other.own, other._shares = self.own[[k]], self._shares[:, [k]]
        other._own = groups(other.own)
        return other

    def _set_rows(self, ends: Floats, data: Floats) -> None:
        self._ends, self._data = SharedRows(ends), SharedRows(data)
        self._kinds = kinds(groups(ends), groups(data if data.shape[1] == COLUMNS else damped_by_direction(data)))

    @property
    def ends(self) -> Floats:
        """The rows (e, 2, 17) of the ends of all elements, a copy."""
        return self._ends.all()

    @property
    def data(self) -> Floats:
        """The rows (e, 201 or 309) of parameters of all elements, a copy."""
        return self._data.all()

    def free(self, u: Floats) -> Floats:
        """(s, n, 6) free strains times the lengths, of inputs u (s, n_u)."""
        factors = u[:, self.first_input : self.first_input + len(self.inputs)]
        return np.tensordot(factors, self._shares, 1) if self.inputs else np.zeros((len(u), *self.own.shape))

    def _forces(self, free: Floats, state: tuple[Any, ...], parts: tuple[bool, bool, bool], *out: Any) -> None:
        """Add the forces of the states (q, v, a): elastic, damping and inertia forces; out : sign, array and section
        forces.
        """
        self.check(forces(*self.elements(free), *state, self.fixed, self.gravity, *parts, *out, NO_ROWS))

    def elements(self, free: Floats, own: Floats | None = None) -> tuple[Any, ...]:
        """The arguments of kernels: the elements in groups, with free strains (s, n, 6)."""
        free = groups(free, 1) if self.inputs else np.zeros((0, 0, 0, LANES))
        return self.index, *self._kinds, free, self._own if own is None else groups(own)

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        self._forces(self.free(u), (q, v, a), ALL, 1.0, out, NO_SECTION)

    def bound_residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> Callable[[], object]:
        if self.inputs:
            return super().bound_residual(u, q, v, a, out)
        return self._bound(self.free(u), (q, v, a), ALL, out)

    def bound_inertia(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> Callable[[], object]:
        return self._bound(self.free(np.zeros(u.shape)), (q, v, a), INERTIAL, out)

    def _bound(self, free: Floats, state: Any, parts: tuple[bool, bool, bool], out: Floats) -> Callable[[], object]:
        """``_forces`` at states whose entries change between calls, as a function without arguments."""
        elements, rest = self.elements(free), (*state, self.fixed, self.gravity, *parts, 1.0, out, NO_SECTION)
        return in_ranges(
            lambda part, rows: Bound(forces, *of_range(part, *elements), *rest, rows),
            *(self.index[:, VELOCITIES], SIZES, out, LANES, self.check),
        )

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if not (self.damped or self.inputs):
            return
        free, state = self.free(u), (q, v, v)
        if self.damped:
            self._forces(free, state, (False, True, False), -1.0, out, NO_SECTION)
        if self.inputs:
            # what the heating changes: its power is work of the inputs
            for sign, strains in ((-1.0, free), (1.0, 0.0 * free)):
                self._forces(strains, state, ELASTIC, sign, out, NO_SECTION)

    def bound_nonconservative(self, u: Floats, q: Floats, v: Floats, out: Floats) -> Callable[[], object]:
        if self.inputs:
            return super().bound_nonconservative(u, q, v, out)
        rest = q, v, v, self.fixed, self.gravity, False, True, False, -1.0, out, NO_SECTION, NO_ROWS
        calls = [Bound(forces, *self.elements(self.free(u)), *rest, check=self.check)] if self.damped else []
        return BoundSequence(calls)

    def accounts(self, own: str) -> tuple[str, ...]:
        return (*([own] if self.damped else []), *([self.prestress_account] if self.inputs else []))

    def add_powers(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if self.damped:
            force = np.zeros(v.shape)
            self._forces(self.free(u), (q, v, v), (False, True, False), -1.0, force, NO_SECTION)
            out[:, 0] += np.sum(force * v, axis=1)
        if self.inputs:
            both = np.zeros(v.shape)
            self.nonconservative_force(u, q, v, both)
            out[:, -1] += np.sum((both - force if self.damped else both) * v, axis=1)

    def _tangents(self, free: Floats, q: Floats, v: Floats, a: Floats, exact: bool, *matrices: Floats) -> Bound:
        state, blocks = (q, v, a, self.fixed, self.gravity), (self.offset, self.stride)
        return Bound(kernels.tangents, *self.elements(free), *state, exact, *blocks, *matrices, check=self.check)

    def matrices_each(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        self._tangents(self.free(u), q, v, v, False, mass, damping, stiffness)()

    def bound_matrices(
        self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats
    ) -> Callable[[], object]:
        if self.inputs:
            return super().bound_matrices(u, q, v, mass, damping, stiffness)
        return self._tangents(self.free(u), q, v, v, False, mass, damping, stiffness)

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        u, q, v, a, damping, stiffness = (part[None] for part in (u, q, v, a, damping, stiffness))
        self._tangents(self.free(u), q, v, a, True, damping, damping, stiffness)()

    def bound_masses(self, q: Floats, offset: Ints, stride: Ints, mass: Floats) -> Callable[[], object]:
        return Bound(kernels.masses, self.index, *self._kinds, q, self.fixed, offset, stride, mass)

    def inertial(self) -> Self:
        other = self.without_stiffness().strained(np.zeros(0), np.full(self.own.shape, np.nan))
        other.gravity, other.inputs = np.zeros(3), ()
        return other

    def _with(self, data: Floats) -> Self:
        """The elements with other parameters."""
        other = shallow_copy(self)
        other._set_rows(self.ends, data)
        return other

    def without_stiffness(self) -> Self:
        data = self.data
        data[:, DAMPING] = 0.0
        data[:, MEAN : MEAN + 36] += SOFT * np.eye(6).ravel()
        other = self._with(data)
        other.damped = False
        return other

    def own_strains(self, u: Floats, q: Floats, x: Floats, own: Floats | None = None) -> Floats:
        """(n, 6) stresses, which take the place of strains in Newton's iteration: equation (19)."""
        return self.stresses(self.free(u[None]), q[None], x[None], own).reshape(-1, 6)

    def stresses(self, free: Floats, q: Floats, x: Floats, own: Floats | None = None) -> Floats:
        """``own_strains`` (s, n, 6) at s states."""
        elements = self.elements(free, own)
        out = np.empty((len(q), *elements[-1].shape))
        self.check(kernels.predicted_stresses(*elements, q, self.fixed, x, out))
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
        other.own, other._own = own, groups(own)
        return other

    def unstrained(self, u: Floats, q: Floats) -> Self | None:
        own, data = self.own_strains(u, q, np.zeros(len(q))), self.data
        length = data[:, LENGTH, None]
        compliance = data[:, MEAN : MEAN + 36].reshape(-1, 6, 6)[:, range(6), range(6)]
        sizes = np.where(np.arange(6) < 3, 1.0, np.maximum(1.0, length)) * compliance * np.abs(own)
        rounding = ROUNDINGS * np.finfo(float).eps * (1.0 + np.max(np.abs(q)) / length)
        return self.strained(q, np.zeros_like(own)) if np.all(sizes <= rounding) else None

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        self._energies(np.zeros((len(q), *self.own.shape)), q, v, out)

    def _energies(self, free: Floats, q: Floats, v: Floats, out: Floats) -> None:
        energy_momentum(*self.elements(free)[:-1], q, v, self.fixed, self.gravity, out)

    def prestress_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        if self.inputs:
            still = np.zeros((len(q), 6 + int(self.index[:, VELOCITIES].max(initial=-6))))
            warm, cold = np.zeros((2, len(q), 8))
            self._energies(self.free(u), q, still, warm)
            self._energies(self.free(0.0 * u), q, still, cold)
            out += warm[:, 1] - cold[:, 1]

    def section_forces(self, q: Floats, v: Floats, a: Floats, u: Floats | None = None) -> Floats:
        """(s, n, 2, 6) forces and moments of the elements at their ends, section axes, without those of loads; u :
        inputs, None for cold elements."""
        free = np.zeros((len(q), *self.own.shape)) if u is None else self.free(u)
        section = np.empty((len(q), len(self.index), 2, 6))
        self._forces(free, (q, v, a), ALL, 1.0, np.zeros(v.shape), section)
        return section
