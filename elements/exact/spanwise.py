"""Sections along a beam: one for all of it, or several at stations, linear between them.

Stiffness, mass, damping and expansion are linear in the length between two stations. Source: docs/theory/exact_beam.md,
sections 3 and 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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

    def _between(self, s: float) -> tuple[Section, Section, float]:
        """The sections of the stations around s, and the part of the way between them."""
        if self.uniform:
            return self.sections[0], self.sections[0], 0.0
        k = int(np.clip(np.searchsorted(self.stations, s) - 1, 0, len(self.sections) - 2))
        first, last = self.stations[k], self.stations[k + 1]
        return self.sections[k], self.sections[k + 1], float((s - first) / (last - first))

    def compliance(self, s: float) -> Floats:
        """(6, 6) at a length s (m) from the start."""
        first, last, part = self._between(s)
        if first is last:
            return first.compliance()
        if first.shears:
            matrices = (np.linalg.inv(each.compliance()) for each in (first, last))
            a, b = matrices
            return np.linalg.inv((1.0 - part) * a + part * b)
        result = np.zeros((6, 6))
        stiffness = (1.0 - part) * first.stiffness() + part * last.stiffness()
        result[np.ix_(UNSHEARED, UNSHEARED)] = np.linalg.inv(stiffness)
        return result

    def mass(self, s: float) -> Floats:
        """(6, 6) per length at a length s (m) from the start."""
        first, last, part = self._between(s)
        return (1.0 - part) * first.mass() + part * last.mass()

    @property
    def damped_by_direction(self) -> bool:
        """Whether a section has damping coefficients that differ."""
        return any(section.damped_by_direction for section in self.sections)

    def damping(self, s: float) -> Floats:
        """(6,) coefficients of damping in proportion to the stiffness, s."""
        first, last, part = self._between(s)
        a, b = (np.broadcast_to(each.damping, 6) for each in (first, last))
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
        first, last, part = self._between(s)
        if first.expansion is None or last.expansion is None:
            return None
        return (1.0 - part) * first.expansion + part * last.expansion
