"""Outputs of the audit: quantities that should be zero, at k output instants; and momenta that must be conserved."""

import numpy as np

from femb.base.types import Floats
from femb.results.frames import Frames
from femb.system.system import System


def constraint_position(system: System, name: str, frames: Frames) -> Floats:
    """(k,) the largest violation of a constraint."""
    return _largest(system.constraints(frames.u, frames.q, frames.v)[0])


def constraint_velocity(system: System, name: str, frames: Frames) -> Floats:
    """(k,) the largest violation of a constraint's rate."""
    return _largest(system.constraint_rates(frames.u, frames.q, frames.v))


def quaternion_norm(system: System, name: str, frames: Frames) -> Floats:
    """(k,) the largest deviation of a quaternion's squared length from 1."""
    quaternions = frames.q[:, system.coordinates[2][:, None] + np.arange(4)]
    return _largest(np.sum(quaternions**2, axis=2) - 1.0)


def force_balance(system: System, name: str, frames: Frames) -> Floats:
    """(k,) N: see ``femb.results.frames.unbalanced``."""
    return frames.unbalanced[:, 0]


def moment_balance(system: System, name: str, frames: Frames) -> Floats:
    """(k,) N m: see ``femb.results.frames.unbalanced``."""
    return frames.unbalanced[:, 1]


def acting_from_outside(system: System) -> dict[str, tuple[str, ...]]:
    """Causes that may change the linear and the angular momentum: gravity, the ground, loads; empty if none does."""
    layout, momenta = system.layout, ("linear", "angular")
    fixed = {k for k, frame in enumerate(layout.frames) if frame.freedom == 0}
    linked = (frames for frames, _ in (*layout.couplings, *layout.spring_couplings))
    found: list[tuple[str, tuple[str, ...]]] = [("gravity", momenta)] if np.any(system.model.gravity) else []
    if any(fixed & {*frames} and {*frames} - fixed for frames in (*linked, *layout.rows)):
        found.append(("the ground", momenta))
    for item in system.items:
        on = {layout.frame_of(marker) for marker in item.markers.values()}
        if item.changes_momenta and (not on or on - fixed):
            found.append((f"{item.table}.{item.name}", item.changes_momenta))
    return {word: tuple(name for name, changed in found if word in changed) for word in momenta}


def _largest(values: Floats) -> Floats:
    result: Floats = np.max(np.abs(values), axis=1, initial=0.0)
    return result
