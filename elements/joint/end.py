"""End of a joint: a point of a body or a beam node, and the joint's axes there."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Floats, Vector
from femb.elements.attachment import Attachment, Place

# A reference direction this close to the axis (sine of the angle) does not tell where zero is.
ALONG = 1e-6
# Body axes x and y within this angle of the joint's axis are not taken for its reference.
STEEP = np.cos(np.radians(25.0))


@dataclass(frozen=True, eq=False)
class JointEnd(Place):
    """``body`` and ``at`` (m, body axes), or ``beam`` and ``node`` (whose section axes then take their place).

    axis : the joint's z axis. reference : its x axis is the part of this that is perpendicular to ``axis``; by default
    that of the body's x axis, or of its y axis where x is within 25 degrees of the axis. Both in body axes.
    """

    axis: Vector | None = None
    reference: Vector | None = None

    def problems(self) -> list[tuple[str, str]]:
        """(field, message) of what is wrong, for the joint that owns the end."""
        found = super().problems()
        if any(field in ("axis", "reference") for field, _ in found):
            return found
        for word in ("axis", "reference"):
            value = getattr(self, word)
            if value is not None and not np.linalg.norm(value) > 0.0:
                found.append((word, "got (0, 0, 0): a direction must not be zero"))
        if not found and self.axis is not None and self.reference is not None:
            sine = np.linalg.norm(np.cross(self.axis, self.reference))
            if sine <= ALONG * np.linalg.norm(self.axis) * np.linalg.norm(self.reference):
                found.append(("reference", "is along the axis: it must show a direction across it"))
        return found


def as_joint_end(value: Any) -> Any:
    """A JointEnd of what ``body.at`` and ``beam.node`` return (direction for axis, up for reference); else as it is."""
    if isinstance(value, JointEnd):
        return value
    if isinstance(value, Attachment):
        return JointEnd(value.body, value.beam, value.at, value.node, value.direction, value.up)
    if isinstance(value, Place):
        return JointEnd(value.body, value.beam, value.at, value.node)
    return value


def check_joint_ends(check: Checks, *names: str) -> None:
    """Convert and refuse what is wrong with fields that hold ends of a joint."""
    for name in names:
        object.__setattr__(check.item, name, as_joint_end(getattr(check.item, name)))
        value = getattr(check.item, name)
        if not isinstance(value, JointEnd):
            check.fail(name, f"got {value!r}, wanted a JointEnd, body.at(...) or beam.node(...)")
            continue
        for part, message in value.problems():
            check.fail(f"{name}.{part}", message)


def axes_of(axis: Any, reference: Any = None) -> Floats:
    """(3, 3) the joint's x, y and z axes as columns: z along ``axis``, x by ``reference``."""
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    if reference is None:
        reference = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < STEEP else np.array([0.0, 1.0, 0.0])
    x = reference - z * (z @ reference)
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
