"""Sections along a beam: one for all of it, or several at stations, linear between them.

Stiffness, mass, damping and expansion are linear in the length between two stations. Source: docs/theory/exact_beam.md,
sections 3 and 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from femb.base.types import Floats
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

    def _between(self, s: float) -> tuple[int, int, float]:
        """The numbers of the sections of the stations around s, and the part of the way between them."""
        if self.uniform:
            return 0, 0, 0.0
        k = int(np.clip(np.searchsorted(self.stations, s) - 1, 0, len(self.sections) - 2))
        first, last = self.stations[k], self.stations[k + 1]
        return k, k + 1, float((s - first) / (last - first))

    @cached_property
    def _compliances(self) -> list[Floats]:
        return [section.compliance() for section in self.sections]

    @cached_property
    def _masses(self) -> list[Floats]:
        return [section.mass() for section in self.sections]

    def compliance(self, s: float) -> Floats:
        """(6, 6) at a length s (m) from the start."""
        k, m, part = self._between(s)
        first, last = self.sections[k], self.sections[m]
        if first is last:
            return self._compliances[k]
        if first.shears:
            a, b = np.linalg.inv(self._compliances[k]), np.linalg.inv(self._compliances[m])
            return np.linalg.inv((1.0 - part) * a + part * b)
        result = np.zeros((6, 6))
        stiffness = (1.0 - part) * first.stiffness() + part * last.stiffness()
        result[np.ix_(UNSHEARED, UNSHEARED)] = np.linalg.inv(stiffness)
        return result

    def mass(self, s: float) -> Floats:
        """(6, 6) per length at a length s (m) from the start."""
        k, m, part = self._between(s)
        return (1.0 - part) * self._masses[k] + part * self._masses[m]

    @property
    def damped_by_direction(self) -> bool:
        """Whether a section has damping coefficients that differ."""
        return any(section.damped_by_direction for section in self.sections)

    def damping(self, s: float) -> Floats:
        """(6,) coefficients of damping in proportion to the stiffness, s."""
        k, m, part = self._between(s)
        a, b = (np.broadcast_to(self.sections[each].damping, 6) for each in (k, m))
        return np.asarray((1.0 - part) * a + part * b)

    def viscous_compliance(self, s: float) -> Floats:
        """(6, 6) F V F by the compliance F and the damping matrix V = sqrt(d_i d_j) K_ij at a length s: (13b)."""
        F, root = self.compliance(s), np.sqrt(self.damping(s))
        strains = list(range(6)) if self.sections[0].shears else UNSHEARED
        stiffness = np.linalg.inv(F[np.ix_(strains, strains)])
        V = np.zeros((6, 6))
        V[np.ix_(strains, strains)] = np.outer(root[strains], root[strains]) * stiffness
        return np.asarray(F @ V @ F)

    def expansion(self, s: float) -> float | None:
        """Coefficient of thermal expansion, 1/K; None where a section has none."""
        k, m, part = self._between(s)
        first, last = self.sections[k], self.sections[m]
        if first.expansion is None or last.expansion is None:
            return None
        return (1.0 - part) * first.expansion + part * last.expansion
