"""What acts all along beams: batches over the elements of some of a model's beams."""

from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements.beam.batch import NO_SECTION, BeamBatch
from femb.elements.beam.beam import Beam
from femb.layout.element import Batch, FoldedError
from femb.layout.layout import Layout


class AlongBeams(Batch):
    """The elements of the named beams as rows of ``beam_columns``: index, ends and data.

    slices[name] : a beam's rows here. in_model (n,) : the rows' numbers among all elements of the model.
    """

    def __init__(self, names: list[str], layout: Layout, model: Any) -> None:
        for name in names:
            if not isinstance(model.beams[name], Beam):
                what = f"is of the kind {model.beams[name].kind!r}, which takes no loads along it: load its nodes"
                raise ModelError.at(("beams", name), what)
        beams = BeamBatch([model.beams[name] for name in dict.fromkeys(names)], layout, model)
        self.index, self.ends, self.data = beams.index, beams.ends, beams.data
        self.labels, self.slices, self.fixed = beams.labels, beams.slices, beams.fixed
        first, start = 0, {}
        for beam in (beam for beam in model.beams.values() if isinstance(beam, Beam)):
            start[beam.name] = first
            first += beam.elements
        rows = [start[name] + np.arange(model.beams[name].elements) for name in self.slices]
        self.in_model: Ints = np.concatenate(rows)

    def keep(self, rows: list[int]) -> None:
        """Keep these rows, in this order; a row may be there several times."""
        self.index, self.ends, self.data = self.index[rows], self.ends[rows], self.data[rows]
        self.in_model, self.labels = self.in_model[rows], [self.labels[k] for k in rows]

    def allocate(self, pattern: Any) -> None:
        self.offset, self.stride = pattern.offsets(self.index[:, [2, 6, 3, 7]])

    def check(self, bad: int) -> None:
        """Raise FoldedError for the row a kernel refused."""
        if bad >= 0:
            raise FoldedError(
                f"{self.labels[bad]}: turned by 180 degrees between its ends; divide the beam into more elements"
            )

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        self.force(u, q, 1.0, out, NO_SECTION)

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        self.force(u, q, -1.0, out, NO_SECTION)

    def add_section_forces(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        own = np.zeros((len(q), len(self.index), 2, 6))
        self.force(u, q, 1.0, np.zeros_like(v), own)
        for k, row in enumerate(self.in_model):
            out[:, row] += own[:, k]

    def force(self, u: Floats, q: Floats, sign: float, out: Floats, section: Floats) -> None:
        """out (s, n_v) += sign times the residual force; section (s, n, 2, 6), unless of length 0, section forces."""
        raise NotImplementedError

    def records(self, frames: Any, batches: list[Batch]) -> dict[str, Floats]:
        """The factor of every load, the value of its profile."""
        columns = [frames.u[:, self.first_input + k] for k in range(len(self.inputs))]
        return {
            f"{input_.label.replace('.', '/', 1)}/factor": u for input_, u in zip(self.inputs, columns, strict=True)
        }
