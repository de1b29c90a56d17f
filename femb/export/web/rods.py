"""Bodies without a shape: thin rods from their reference point to the points at which others attach."""

from collections.abc import Iterable

import numpy as np

from femb.base.types import Floats, Ints
from femb.results.quantity import Group
from femb.results.results import Results

SIDES = 6


def attached_points(results: Results) -> dict[str, list[Floats]]:
    """Points (3,) m, in the axes of the body, at which joints, beams and bodies attach, by the name of the body."""
    groups: Iterable[Group] = (*results.joints.values(), *results.beams.values(), *results.bodies.values())
    found: dict[str, list[Floats]] = {}
    for group in groups:
        for end in group.attachments.values():
            if "body" in end:
                found.setdefault(str(end["body"]), []).append(np.asarray(end["at"], dtype=float))
    return found


def rods(points: Iterable[Floats], radius: float) -> tuple[Floats, Ints] | None:
    """Corners (n, 3) and triangles (j, 3) of rods from the origin to points farther away than the radius; or None."""
    angle = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    corners: list[Floats] = []
    triangles: list[Ints] = []
    known: list[Floats] = []
    for point in points:
        length = float(np.linalg.norm(point))
        if length <= radius or any(np.allclose(point, other, atol=radius) for other in known):
            continue
        known.append(point)
        along = point / length
        side = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
        side /= np.linalg.norm(side)
        ring = radius * (np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * np.cross(along, side))
        first = 2 * SIDES * len(corners)
        corners.append(np.concatenate([ring, point + ring]))
        near, after = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
        faces = np.stack([near, after, after + SIDES, near, after + SIDES, near + SIDES], axis=1).reshape(-1, 3)
        triangles.append(first + faces)
    return (np.concatenate(corners), np.concatenate(triangles)) if corners else None
