"""Undriven degrees of freedom, by the names of joint coordinates and bodies."""

import numpy as np
from scipy.linalg import null_space, qr

from femb.base.types import Floats
from femb.system.consistent_velocity import coordinate_rows
from femb.system.degrees_of_freedom import RANK
from femb.system.system import System

LISTED = 8  # names in a message


def missing_drivers(system: System, q: Floats, J: Floats) -> str:
    """Names of joint coordinates, and of bodies, that must be driven too so that J (n_c, n_v) has the rank n_v."""
    names = [
        f"{coordinate.name!r} of joints.{name}"
        for name, joint in system.layout.joints.items()
        for coordinate in joint.coordinates
    ]
    rows = coordinate_rows(system, q)
    chosen: list[int] = []
    motions = _free(J)
    if len(rows):
        _, R, order = qr((rows @ motions).T, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        chosen = sorted(order[: np.sum(diagonal > 1e-6 * max(1.0, diagonal[0]))])
        motions = _free(np.vstack([J, rows[chosen]]))
    words = [names[k] for k in chosen]
    words += [f"the position or orientation of {label!r}" for label in _moving(system, motions)]
    more = f" and {len(words) - LISTED} more" if len(words) > LISTED else ""
    return ", ".join(words[:LISTED]) + more


def _free(J: Floats) -> Floats:
    """(n_v, k): an orthonormal basis of the motions with J v = 0."""
    return null_space(J, rcond=RANK) if len(J) else np.eye(J.shape[1])


def _moving(system: System, motions: Floats) -> list[str]:
    """Labels of the frames that move in any of the motions (n_v, k)."""
    layout = system.layout
    result = []
    for k, frame in enumerate(layout.frames):
        part = motions[layout.frame_v[k] : layout.frame_v[k] + frame.freedom] if frame.freedom else motions[:0]
        if np.max(np.abs(part), initial=0.0) > 1e-3:
            result.append(frame.label)
    return result
