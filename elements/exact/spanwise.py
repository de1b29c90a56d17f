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

    def damping(self, s: float) -> float:
        """Of the stiffness, s."""
        first, last, part = self._between(s)
        return (1.0 - part) * first.damping + part * last.damping

    def expansion(self, s: float) -> float | None:
        """Coefficient of thermal expansion, 1/K; None where a section has none."""
        first, last, part = self._between(s)
        if first.expansion is None or last.expansion is None:
            return None
        return (1.0 - part) * first.expansion + part * last.expansion
