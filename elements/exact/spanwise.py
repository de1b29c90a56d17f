"""Sections along a beam: one for all of it, or several at stations, linear between them.

Stiffness, mass, damping and expansion are linear in the length between two stations; elements take their integrals.
Source: docs/theory/exact_beam.md, sections 3, 4 and 9.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.section import UNSHEARED, Section

# Gauss points and weights of a piece of an element between two stations; compliances are rational functions there.
GAUSS, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(16)
# A station this close to a node, in lengths of the element, is at the node.
AT_NODE = 1e-9
# Integrals from -1/2 to 1/2 of the powers.
OF_POWERS = np.array([1.0, 0.0, 1.0 / 12.0, 0.0, 1.0 / 80.0])


@dataclass(frozen=True, eq=False)
class Places:
    """Points for integrals over elements; those of an element follow each other.

    element (p,) : its number. s (p,) m from the start of the beam. eta (p,) : distance from the middle of the element,
    and weights (p,), in its length. first (e,) : the first point of every element.
    """

    element: Ints
    s: Floats
    eta: Floats
    weights: Floats
    first: Ints

    def moments(self, values: Floats, highest: int) -> Floats:
        """(e, highest + 1, ...) integrals of values (p, ...) at the points times the powers of eta."""
        each = (slice(None), *[None] * (values.ndim - 1))
        parts = [np.add.reduceat((self.weights * self.eta**k)[each] * values, self.first) for k in range(highest + 1)]
        return np.stack(parts, axis=1)


@dataclass(frozen=True, eq=False)
class Spanwise:
    """sections at stations (k,) m from the start of the beam, in ascending order."""

    stations: Floats
    sections: Sequence[Section]

    @property
    def uniform(self) -> bool:
        """Whether there is one section."""
        return len(self.sections) == 1

    def places(self, lengths: Floats) -> Places:
        """Points for integrals over elements of these lengths (e,), between whose nodes stations may be."""
        count, nodes = len(lengths), np.concatenate([[0.0], np.cumsum(lengths)])
        stations = self.stations[1:-1]
        owner = np.clip(np.searchsorted(nodes, stations) - 1, 0, count - 1)
        cut = (stations - nodes[owner]) / lengths[owner]
        inside = (cut > AT_NODE) & (cut < 1.0 - AT_NODE)
        element = np.concatenate([np.arange(count), owner[inside]])
        begin = np.concatenate([np.zeros(count), cut[inside]])
        order = np.lexsort((begin, element))
        element, begin = element[order], begin[order]
        last = np.append(element[1:] != element[:-1], True)
        end = np.where(last, 1.0, np.append(begin[1:], 1.0))
        size = 0.5 * (end - begin)[:, None]
        xi = (begin[:, None] + size * (1.0 + GAUSS)).ravel()
        first = np.searchsorted(element, np.arange(count)) * len(GAUSS)
        element = np.repeat(element, len(GAUSS))
        s, weights = nodes[element] + xi * lengths[element], (size * GAUSS_WEIGHTS).ravel()
        return Places(element, s, xi - 0.5, weights, first)

    def moments(self, values: Callable[[Floats], Floats], lengths: Floats, highest: int) -> Floats:
        """(e, highest + 1, ...) means over elements of lengths (e,) of ``values`` of the length s, such as ``mass``,
        times powers of the distance from the middle in lengths of the element."""
        if not self.uniform:
            places = self.places(lengths)
            return places.moments(values(places.s), highest)
        one = values(np.zeros(1))
        each = OF_POWERS[: highest + 1].reshape(-1, *[1] * (one.ndim - 1)) * one
        return np.broadcast_to(each, (len(lengths), *each.shape))

    def _between(self, s: float | Floats) -> tuple[Ints, Ints, Floats]:
        """The numbers (...) of the sections of the stations around s (...), and the part of the way between them."""
        s = np.asarray(s, dtype=float)
        if self.uniform:
            none = np.zeros(s.shape, dtype=np.int64)
            return none, none, np.zeros(s.shape)
        k: Ints = np.clip(np.searchsorted(self.stations, s) - 1, 0, len(self.sections) - 2)
        first, last = self.stations[k], self.stations[k + 1]
        return k, k + 1, np.asarray((s - first) / (last - first))

    @cached_property
    def _compliances(self) -> Floats:
        return np.array([section.compliance() for section in self.sections])

    @cached_property
    def _masses(self) -> Floats:
        return np.array([section.mass() for section in self.sections])

    @cached_property
    def _dampings(self) -> Floats:
        return np.array([np.broadcast_to(section.damping, 6) for section in self.sections])

    def compliance(self, s: float | Floats) -> Floats:
        """(..., 6, 6) at lengths s (...) m from the start."""
        k, m, part = self._between(s)
        result: Floats = self._compliances[k]
        if self.uniform:
            return result
        # that of one section is exact
        names = np.array([id(section) for section in self.sections])
        mixed = names[k] != names[m]
        if np.any(mixed):
            shears = bool(self.sections[0].shears)
            given = np.linalg.inv(self._compliances) if shears else np.array([x.stiffness() for x in self.sections])
            k, m, part = k[mixed], m[mixed], part[mixed][:, None, None]
            inverse = np.linalg.inv((1.0 - part) * given[k] + part * given[m])
            if not shears:
                unsheared = np.zeros((len(k), 6, 6))
                rows, columns = np.ix_(UNSHEARED, UNSHEARED)
                unsheared[:, rows, columns] = inverse
                inverse = unsheared
            result[mixed] = inverse
        return result

    def mass(self, s: float | Floats) -> Floats:
        """(..., 6, 6) per length at lengths s (...) m from the start."""
        k, m, part = self._between(s)
        if self.uniform:
            return np.asarray(self._masses[k])
        # in this order, that between equal sections is exact
        return np.asarray(self._masses[k] + part[..., None, None] * (self._masses[m] - self._masses[k]))

    @property
    def damped_by_direction(self) -> bool:
        """Whether the damping coefficients differ, between directions or along the beam."""
        return bool(np.ptp(self._dampings) > 0.0)

    def damping(self, s: float | Floats) -> Floats:
        """(..., 6) coefficients of damping in proportion to the stiffness, s."""
        k, m, part = self._between(s)
        if self.uniform:
            return np.asarray(self._dampings[k])
        part = part[..., None]
        return np.asarray((1.0 - part) * self._dampings[k] + part * self._dampings[m])

    def viscous_compliance(self, s: float | Floats) -> Floats:
        """(..., 6, 6) F V F by the compliance F and the damping matrix V = sqrt(d_i d_j) K_ij at lengths s: (13b)."""
        F, root = self.compliance(s), np.sqrt(self.damping(s))
        strains = list(range(6)) if self.sections[0].shears else UNSHEARED
        rows, columns = np.ix_(strains, strains)
        V = np.zeros(F.shape)
        stiffness = np.linalg.inv(F[..., rows, columns])
        V[..., rows, columns] = root[..., strains, None] * root[..., None, strains] * stiffness
        return np.asarray(F @ V @ F)

    @cached_property
    def _expansions(self) -> Floats:
        return np.array([np.nan if each.expansion is None else each.expansion for each in self.sections])

    def expansion(self, s: float | Floats) -> Floats:
        """(...) coefficients of thermal expansion, 1/K; nan where a section has none."""
        k, m, part = self._between(s)
        first, last = self._expansions[k], self._expansions[m]
        return np.asarray(first + part * (last - first))
