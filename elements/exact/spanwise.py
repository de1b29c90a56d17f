"""Sections along a beam: one for all of it, or several at stations, linear between them.

Stiffness, mass, damping and expansion are linear in the length between two stations. Source: docs/theory/exact_beam.md,
sections 3 and 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.section import UNSHEARED, Section


@dataclass(frozen=True, eq=False)
class Spanwise:
    """sections at stations (k,) m from the start of the beam, in ascending order."""

    stations: Floats
    sections: Sequence[Section]

    @property
    def uniform(self) -> bool:
        """Whether there is one section."""
        return len(self.sections) == 1

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
        part = part[..., None, None]
        return np.asarray((1.0 - part) * self._masses[k] + part * self._masses[m])

    @property
    def damped_by_direction(self) -> bool:
        """Whether a section has damping coefficients that differ."""
        return any(section.damped_by_direction for section in self.sections)

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

    def expansion(self, s: float) -> float | None:
        """Coefficient of thermal expansion, 1/K; None where a section has none."""
        k, m, part = self._between(s)
        first, last = self.sections[int(k)], self.sections[int(m)]
        if first.expansion is None or last.expansion is None:
            return None
        return float((1.0 - part) * first.expansion + part * last.expansion)
