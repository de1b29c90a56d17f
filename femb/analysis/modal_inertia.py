"""Frame and inertia of a modal model: mass, its derivative with respect to the shapes, and quadratic velocity forces.

Source: docs/theory/inertia_tensor.md, equations (8) to (11).
"""

import numpy as np

from femb.analysis.linear.point import OperatingPoint
from femb.analysis.simulate import mass_properties
from femb.base.types import Floats
from femb.numerics import rotations
from femb.system.inertia_tensor import MassChange
from femb.system.system import System


def frame(system: System, held: str | None) -> tuple[Floats, Floats]:
    """Origin (3,) m and axes (3, 3) of the frame: those of the body ``held``, or the mass centre and inertial axes."""
    if held is not None:
        i = system.layout.frame_q[system.layout.bodies[held]]
        return system.q0[i : i + 3], rotations.rotation_matrix(system.q0[i + 3 : i + 7])
    return mass_properties(system)[1], np.eye(3)


def rigid_shapes(system: System, q: Floats, origin: Floats, axes: Floats) -> Floats:
    """(n_v, 6) velocities v by the velocity of a frame, along its axes, and its angular velocity about them."""
    motions = system.rigid_velocities(q)
    spins = motions[3:] - np.cross(np.eye(3), origin) @ motions[:3]
    return np.hstack([motions[:3].T @ axes, spins.T @ axes])


def modal_inertia(point: OperatingPoint, change: MassChange, Phi: Floats, rigid: int) -> tuple[Floats, Floats, Floats]:
    """Mass (m, m), its derivative and the quadratic forces (m, m, m): equations (9) to (11)."""
    shape_changes = _changes(point.system, point.q, Phi, rigid)
    momenta = point.mass @ Phi
    lever = np.einsum("cva,vb->abc", shape_changes, momenta, optimize=True)
    force = lever.transpose(1, 2, 0)  # [k, i, j]: force on shape k by the change of shape j along shape i
    D = change.projected(Phi) + lever + lever.swapaxes(0, 1)
    return Phi.T @ momenta, D, change.quadratic(Phi) + 0.5 * (force + force.swapaxes(1, 2))


def _changes(system: System, q: Floats, Phi: Floats, rigid: int) -> Floats:
    """(m, n_v, m) [c, :, a]: the derivative of column a of the shapes along column c. Equation (8).

    The shapes rotate with the frame; elastic displacements change the lever arm of a point, and the attitude of a node.
    """
    m, layout = Phi.shape[1], system.layout
    out = np.zeros((m, system.n_v, m))
    rotation_columns = range(3, 6) if rigid else range(0)
    spins = _spins(system, q, Phi, rotation_columns)
    for k, frame in enumerate(layout.frames):
        if not frame.freedom:
            continue
        j = layout.frame_v[k]
        line = Phi[j : j + 3]
        for c, w in zip(rotation_columns, spins, strict=True):
            out[c, j : j + 3] = np.cross(w, line, axisb=0, axisc=0)
            out[rigid:, j : j + 3, c] = np.cross(w, line[:, rigid:].T)
        if frame.freedom == 6:
            rotation = Phi[j + 3 : j + 6].T  # (m, 3)
            for c in range(rigid, m):
                across = -np.cross(rotation[c], rotation)
                across[rigid:] *= 0.5
                out[c, j + 3 : j + 6] = across.T
    return out


def _spins(system: System, q: Floats, Phi: Floats, rotation_columns: range) -> list[Floats]:
    """Angular velocities (3,), inertial axes, of the frame's rotations, taken from a node or body with axes."""
    k = next((k for k, frame in enumerate(system.layout.frames) if frame.freedom == 6), None)
    if k is None:
        return [np.zeros(3) for _ in rotation_columns]
    i, j = system.layout.frame_q[k] + 3, system.layout.frame_v[k] + 3
    return [rotations.rotate(q[i : i + 4], Phi[j : j + 3, c]) for c in rotation_columns]
