"""Section forces and moments of exact beams in the results."""

from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats
from femb.elements.exact.element_data import damping_in_the_middle
from femb.elements.records import load_factors
from femb.layout.element import Batch
from femb.layout.views import OutputStates

if TYPE_CHECKING:
    from femb.elements.exact.batch import ExactBatch


def section_records(batch: "ExactBatch", frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
    """Section forces and moments of every beam, with the loads along it; the factors of thermal loads."""
    section = batch.section_forces(frames.q, frames.v, frames.a, frames.u)
    for other in batches:
        other.add_section_forces(batch, frames.u, frames.q, frames.v, section)
    middle = _middle(batch, frames)
    for other in batches:
        section = section + other.field_part(batch, _sections, frames.u, frames.q)
    block = load_factors(batch, frames)
    for name, rows in batch.slices.items():
        block[f"beams/{name}/section_force"] = section[:, rows, :, :3]
        block[f"beams/{name}/section_moment"] = section[:, rows, :, 3:]
        block[f"beams/{name}/midpoint_force"] = middle[:, rows, :3]
        block[f"beams/{name}/midpoint_moment"] = middle[:, rows, 3:]
    return block


def _sections(batch: "ExactBatch", u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
    return batch.section_forces(q, v, a, u)


def _middle(batch: "ExactBatch", frames: OutputStates) -> Floats:
    """(k, n, 6) stress in the middles of the elements, with that of the material damping: section 11."""
    free = batch.free(frames.u)
    out = batch.stresses(free, frames.q, np.zeros(frames.v.shape))
    if batch.damped:
        share = damping_in_the_middle(batch.data)
        out += np.einsum("nij,knj->kni", share, batch.stresses(free, frames.q, frames.v) - out)
    return out
