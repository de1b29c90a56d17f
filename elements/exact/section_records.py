"""Section forces and moments of exact beams in the results."""

from abc import abstractmethod

import numpy as np

from femb.base.types import Floats
from femb.elements.exact.element_data import damping_in_the_middle
from femb.elements.records import load_factors
from femb.layout.element import Batch
from femb.layout.views import OutputStates


class SectionRecords(Batch):
    """A batch that records the section forces of its n elements.

    slices[name] : the rows of the elements of a beam. damped : whether one has material damping.
    """

    slices: dict[str, slice]
    damped: bool

    @property
    @abstractmethod
    def data(self) -> Floats:
        """The rows (n, 171 or 279) of parameters of all elements."""

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
        """Section forces and moments of every beam, with the loads along it; the factors of thermal loads."""
        section = self.section_forces(frames.q, frames.v, frames.a, frames.u)
        for other in batches:
            other.add_section_forces(self, frames.u, frames.q, frames.v, section)
        middle = self._middle(frames)
        for other in batches:
            section = section + other.field_part(self, SectionRecords._sections, frames.u, frames.q)
        block = load_factors(self, frames)
        for name, rows in self.slices.items():
            block[f"beams/{name}/section_force"] = section[:, rows, :, :3]
            block[f"beams/{name}/section_moment"] = section[:, rows, :, 3:]
            block[f"beams/{name}/midpoint_force"] = middle[:, rows, :3]
            block[f"beams/{name}/midpoint_moment"] = middle[:, rows, 3:]
        return block

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
