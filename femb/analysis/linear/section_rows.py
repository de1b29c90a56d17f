"""Section force and moment of a beam as rows on small changes of motion, by the exact tangent of one element.

The section force is the residual force of an element on its end, in the axes of the section there:

    N = o S^T R^T f,    M = o S^T (c - d x R^T f),    o = -1 at the first end, 1 at the second

with f (inertial axes) and c (frame axes) the force and the torque on the frame of the node, whose section has the axes
S and the offset d. Inertia and weight of the element are part of it, as in results, for beams of both kinds. Source:
docs/theory/beam.md, docs/theory/exact_beam.md.
"""

from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.beam import batch as default_beam
from femb.elements.beam.batch import BeamBatch
from femb.elements.exact import batch as exact_beam
from femb.elements.exact.batch import ExactBatch
from femb.elements.private_blocks import PrivateBlocks
from femb.layout.element import Batch
from femb.numerics import rotations

if TYPE_CHECKING:
    from femb.analysis.linear.point import OperatingPoint

tilde = rotations.cross_matrix
# Columns of the velocities of an element, of two frames, and of the default beam a rate of strain after each.
PLACES: dict[type, tuple[list[int] | slice, tuple[int, ...]]] = {
    BeamBatch: (default_beam.VELOCITIES, (6, 1, 6, 1)),
    ExactBatch: (exact_beam.VELOCITIES, (6, 6)),
}


def section_rows(
    point: "OperatingPoint", beam: str, node: int, word: str
) -> tuple[Floats, Floats, Floats, int, int, None, Floats]:
    """Rows (3, n_v) on pose, velocity and acceleration, and (3, n_u) on the inputs of loads along the beam.

    node : index from 0; the section is that of the element before the node, at the first node of the one after.
    word : "section_force" or "section_moment". The result are the fields of an Output after its names.

    Raises ModelError: a load along the beam that acts at the point.
    """
    system, layout = point.system, point.system.layout
    whole = next(b for b in system.batches if isinstance(b, BeamBatch | ExactBatch) and beam in b.slices)
    row, end = (whole.slices[beam].start + node - 1, 1) if node else (whole.slices[beam].start, 0)
    by_input = _by_inputs(point, whole, row, end, word)
    one = whole.row(row)
    velocities, groups = PLACES[type(whole)]
    width = sum(groups)
    places = one.index[:, velocities].copy()
    # a fixed frame too has places of its own, so that the force on it is known
    private = PrivateBlocks(np.arange(len(groups))[None], groups)
    one.index[:, velocities] = private.starts
    one.offset, one.stride = private.offset, private.stride
    starts = np.cumsum((0, *groups))[:-1]
    v, a, own = np.zeros((1, width)), np.zeros((1, width)), np.full(width, -1)
    for start, size, place in zip(starts, groups, places[0], strict=True):
        if place >= 0:
            own[start : start + size] = place + np.arange(size)
            v[0, start : start + size], a[0, start : start + size] = (
                x[place : place + size] for x in (point.v, point.a)
            )
    residual, mass, damping, stiffness = np.zeros((1, width)), *np.zeros((3, width**2))
    one.residual(point.u[None], point.q[None], v, a, residual)
    one.mass(point.q, mass)
    one.tangent(point.u, point.q, v[0], a[0], damping, stiffness)
    station = layout.beams[beam].stations[node]
    frame = layout.frames[station.frame]
    i = layout.frame_q[station.frame]
    quaternion = rotations.normalise(point.q[i + 3 : i + 7]) if frame.freedom else frame.quaternion
    R = rotations.rotation_matrix(quaternion)
    S = one.ends[0, end, 4:13].reshape(3, 3)
    d = station.offset
    first = width // 2 * end
    f = R.T @ residual[0, first : first + 3]
    outward = 1.0 if end else -1.0
    result = []
    for data, turned in ((stiffness, True), (damping, False), (mass, False)):
        change = data.reshape(width, width)[first : first + 6]
        force = R.T @ change[:3]
        if turned:
            force[:, first + 3 : first + 6] += tilde(f)
        rows = outward * S.T @ (force if word == "section_force" else change[3:] - tilde(d) @ force)
        wide = np.zeros((3, system.n_v))
        wide[:, own[own >= 0]] = rows[:, own >= 0]
        result.append(wide)
    return result[0], result[1], result[2], -1, -1, None, by_input


def _by_inputs(point: "OperatingPoint", whole: BeamBatch | ExactBatch, row: int, end: int, word: str) -> Floats:
    """(3, n_u) change of the section force with the inputs of loads along beams, and with the heat of exact ones.

    Raises ModelError where a load along the beam acts at the point: its section force changes with the pose too.
    """
    system = point.system
    by_input = np.zeros((3, system.n_u))
    beams = [batch for batch in system.batches if isinstance(batch, type(whole))]
    part = slice(0, 3) if word == "section_force" else slice(3, 6)
    v = point.v[None]
    for batch, k, name in point.input_components():
        if isinstance(batch, BeamBatch | ExactBatch) and batch is not whole:
            continue

        def section(u: Floats, batch: Batch = batch) -> Floats:
            if batch is whole and isinstance(whole, ExactBatch):
                out = whole.section_forces(point.q[None], v, np.zeros_like(v), u[None])
            else:
                out = np.zeros((1, sum(len(each.index) for each in beams), 2, 6))
                batch.add_section_forces(beams[0], u[None], point.q[None], v, out)
            return np.asarray(out[0, row, end, part])

        by_input[:, k] = point.by_input(section, k)
        if batch is not whole and point.u[k] and np.any(by_input[:, k]):
            raise ModelError(
                f"output: section forces of a beam are not linearised about a state with a load along it; {name} is "
                f"{point.u[k]:.6g}: set its profile to zero, or take the reaction of a joint"
            )
    return by_input
