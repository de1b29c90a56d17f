"""Base class of batches of loads along beams: the elements of some beams of a model."""

from copy import copy
from typing import Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements.beam.batch import NO_SECTION, SIZES, VELOCITIES, BeamBatch
from femb.elements.beam.beam import Beam
from femb.elements.beam.ends import force_to_frame
from femb.elements.beam.matrices import attachment_stiffness, frame_map, scatter_ends, to_frames
from femb.elements.private_blocks import FreeBody
from femb.elements.records import load_factors
from femb.layout.element import Batch, FoldedError
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern, ModelView, OutputStates
from femb.numerics.compiler.compile import inlined
from femb.numerics.vector3 import rotate, rotate_back


class AlongBeams(Batch):
    """The elements of the named beams: index, ends and data as in ``femb.elements.beam.strain``.

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
        self.offset, self.stride = pattern.offsets(self.index[:, VELOCITIES])

    def load_on(self, batch: Batch, number: int) -> Self | None:
        """The loads on one element of ``batch``, with the velocities of its free body; None where there are none."""
        rows = np.flatnonzero(self.in_model == number).tolist() if isinstance(batch, BeamBatch) else []
        if not rows:
            return None
        private, other = FreeBody.blocks(SIZES), copy(self)
        other.select(rows)
        other.index[:, VELOCITIES] = private.starts  # a copy, by select
        other.offset, other.stride = (np.repeat(part, len(rows), axis=0) for part in (private.offset, private.stride))
        return other

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


# Kernels shared by loads along beam elements: geometry of an element, and transfer of end forces to its frames.
#
# index, ends, data : rows of the arrays of ``femb.elements.beam.strain``. R (5, 3, 3) : axes of frame I, end I, frame
# II
# and end II; Q, from the axes of section II to those of section I.


@inlined
def add_force(index, ends, R, f, sign, work, out):
    """out (n_v,) += sign times a force f (14,) on the ends: forces in axes of section I, moments in end axes.

    work : (3, 3).
    """
    F, force, torque = work[0], work[1], work[2]
    for end in range(2):
        o = 7 * end
        rotate(R[1], f[o : o + 3], F)
        frame = index[2 + end]
        if frame >= 0:
            force_to_frame(F, f[o + 3 : o + 6], ends[end], R[2 * end], force, torque)
            for i in range(3):
                out[frame + i] += sign * force[i]
                out[frame + 3 + i] += sign * torque[i]
        out[index[6 + end]] += sign * f[o + 6]


@inlined
def add_section_force(R, f, sign, work, section):
    """section (2, 6) += the contribution of a residual force sign f to the section forces (see ``force.forces``)."""
    F, own = work[0], work[1]
    for end in range(2):
        o, outward = 7 * end, -sign if end == 0 else sign
        rotate(R[1], f[o : o + 3], F)
        rotate_back(R[1 + 2 * end], F, own)
        for i in range(3):
            section[end, i] += outward * own[i]
            section[end, 3 + i] += outward * f[o + 3 + i]


@inlined
def add_tangent(ends, offset, stride, R, T, f, A, out):
    """Add the change A (14, 14) of the residual force f (14,) with the motion of the ends to block data; A changes.

    T (2, 3, 3) : work array.
    """
    attached = ends[0, 0] != 0.0 or ends[1, 0] != 0.0
    if attached:
        frame_map(R, ends, T)
    to_frames(A, R[1], T, ends)
    if attached:
        attachment_stiffness(f[0:3], f[7:10], ends, R, T[0], A)
    scatter_ends(A, offset, stride, out)
