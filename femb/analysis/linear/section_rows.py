"""Section force and moment of a beam as rows on small changes of motion, by the exact tangent of one element.

The section force is the residual force of an element on its end, in the axes of the section there:

    N = o S^T R^T f,    M = o S^T (c - d x R^T f),    o = -1 at the first end, 1 at the second

with f (inertial axes) and c (frame axes) the force and the torque on the frame of the node, whose section has the axes
S and the offset d. Inertia and weight of the element are part of it, as in results. Source: docs/theory/beam.md.
"""

from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.beam.batch import VELOCITIES, BeamBatch
from femb.elements.load.along_beam import AlongBeams
from femb.elements.private_blocks import PrivateBlocks
from femb.numerics import rotations

if TYPE_CHECKING:
    from femb.analysis.linear.point import OperatingPoint

tilde = rotations.cross_matrix
GROUPS = (6, 1, 6, 1)


def section_rows(
    point: "OperatingPoint", beam: str, node: int, word: str
) -> tuple[Floats, Floats, Floats, int, int, None, Floats]:
    """Rows (3, n_v) on pose, velocity and acceleration, and (3, n_u) on the inputs of loads along the beam.

    node : index from 0; the section is that of the element before the node, at the first node of the one after.
    word : "section_force" or "section_moment". The result are the fields of an Output after its names.

    Raises ModelError: a beam of a kind without section forces, or a load along it that acts at the point.
    """
    system, layout = point.system, point.system.layout
    item = system.model.beams[beam]
    whole = next((b for b in system.batches if isinstance(b, BeamBatch) and beam in b.slices), None)
    if whole is None:
        raise ModelError(f"output: beams.{beam} is of kind {item.kind!r}, which has no section forces")
    row, end = (whole.slices[beam].start + node - 1, 1) if node else (whole.slices[beam].start, 0)
    by_input = _by_loads(point, row, end, word)
    one = whole.row(row)
    places = one.index[:, VELOCITIES]
    # a fixed frame too has places of its own, so that the force on it is known
    private = PrivateBlocks(np.arange(4)[None], GROUPS)
    one.index[:, VELOCITIES] = private.starts
    one.offset, one.stride = private.offset, private.stride
    starts = np.cumsum((0, *GROUPS))[:4]
    v, a, own = np.zeros((1, 14)), np.zeros((1, 14)), np.full(14, -1)
    for start, size, place in zip(starts, GROUPS, places[0], strict=True):
        if place >= 0:
            own[start : start + size] = place + np.arange(size)
            v[0, start : start + size], a[0, start : start + size] = (
                x[place : place + size] for x in (point.v, point.a)
            )
    residual, mass, damping, stiffness = np.zeros((1, 14)), *np.zeros((3, 14 * 14))
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
    first = 7 * end
    f = R.T @ residual[0, first : first + 3]
    outward = 1.0 if end else -1.0
    result = []
    for data, turned in ((stiffness, True), (damping, False), (mass, False)):
        change = data.reshape(14, 14)[first : first + 6]
        force = R.T @ change[:3]
        if turned:
            force[:, first + 3 : first + 6] += tilde(f)
        rows = outward * S.T @ (force if word == "section_force" else change[3:] - tilde(d) @ force)
        wide = np.zeros((3, system.n_v))
        wide[:, own[own >= 0]] = rows[:, own >= 0]
        result.append(wide)
    return result[0], result[1], result[2], -1, -1, None, by_input


def _by_loads(point: "OperatingPoint", row: int, end: int, word: str) -> Floats:
    """(3, n_u) change of the section force with the inputs of loads along beams.

    Raises ModelError where such a load acts at the point: its section force changes with the pose too.
    """
    system = point.system
    by_input = np.zeros((3, system.n_u))
    beams = [batch for batch in system.batches if isinstance(batch, BeamBatch)]
    part = slice(0, 3) if word == "section_force" else slice(3, 6)
    for batch, k, name in point.input_components():
        if not isinstance(batch, AlongBeams):
            continue
        section = np.zeros((2, sum(len(each.index) for each in beams), 2, 6))
        for value, out in zip((0.0, 1.0), section, strict=True):
            u = point.u.copy()
            u[k] = value
            batch.add_section_forces(beams[0], u[None], point.q[None], point.v[None], out[None])
        by_input[:, k] = (section[1] - section[0])[row, end, part]
        if point.u[k] and np.any(by_input[:, k]):
            raise ModelError(
                f"output: section forces of a beam are not linearised about a state with a load along it; {name} is "
                f"{point.u[k]:.6g}: set its profile to zero, or take the reaction of a joint"
            )
    return by_input
