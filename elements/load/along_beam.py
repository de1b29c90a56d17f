"""Base class of batches of loads along beams: the elements of some beams of a model."""

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements.beam.batch import NO_SECTION, BeamBatch
from femb.elements.beam.beam import Beam
from femb.elements.records import load_factors
from femb.layout.element import Batch, FoldedError
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern, ModelView, OutputStates


class AlongBeams(Batch):
    """The elements of the named beams: index, ends and data as in ``femb.elements.beam.columns``.

    slices[name] : rows of a beam. in_model (n,) : numbers of the rows among all elements of the model.
    """

    def __init__(self, names: list[str], layout: Layout, model: ModelView) -> None:
        for name in names:
            if not isinstance(model.beams[name], Beam):
                what = f"is of the kind {model.beams[name].kind!r}, which takes no loads along it: load its nodes"
                raise ModelError.at(("beams", name), what)
        beams = BeamBatch([model.beams[name] for name in dict.fromkeys(names)], layout, model)
        self.index, self.ends, self.data = beams.index, beams.ends, beams.data
        self.labels, self.slices, self.fixed = beams.labels, beams.slices, beams.fixed
        count, first = 0, {}
        for beam in (beam for beam in model.beams.values() if isinstance(beam, Beam)):
            first[beam.name] = count
            count += beam.elements
        rows = [first[name] + np.arange(model.beams[name].elements) for name in self.slices]
        self.in_model: Ints = np.concatenate(rows)

    def select(self, rows: list[int]) -> None:
        """Replace the rows by these rows, in this order; a row may be repeated."""
        self.index, self.ends, self.data = self.index[rows], self.ends[rows], self.data[rows]
        self.in_model, self.labels = self.in_model[rows], [self.labels[k] for k in rows]

    def allocate(self, pattern: BlockPattern) -> None:
        self.offset, self.stride = pattern.offsets(self.index[:, [2, 6, 3, 7]])

    def check(self, folded: int) -> None:
        """Raise FoldedError for the row that a kernel returned, unless it is -1."""
        if folded >= 0:
            raise FoldedError(
                f"{self.labels[folded]}: turned by 180 degrees between its ends; divide the beam into more elements"
            )

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        self.force(u, q, 1.0, out, NO_SECTION)

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        self.force(u, q, -1.0, out, NO_SECTION)

    def add_section_forces(self, beams: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        if not isinstance(beams, BeamBatch):
            return
        section = np.zeros((len(q), len(self.index), 2, 6))
        self.force(u, q, 1.0, np.zeros_like(v), section)
        for k, row in enumerate(self.in_model):
            out[:, row] += section[:, k]

    def force(self, u: Floats, q: Floats, sign: float, out: Floats, section: Floats) -> None:
        """out (s, n_v) += sign times the residual force; section (s, n, 2, 6), unless of length 0, section forces."""
        raise NotImplementedError

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The factor of every load, i.e. the value of its profile."""
        return load_factors(self, frames)
