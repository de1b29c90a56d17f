"""Shear panels of NASTRAN bulk data, CSHEAR with PSHEAR: a field of shear flow along their sides.

The stresses are the projective image of a constant shear in a square, which is in equilibrium and shears its sides
alone; forces at the corners are half of those of the two sides that meet there. Source: S. J. Garvey, The quadrilateral
shear panel, Aircraft Engineering 23 (1951) 134.
"""

from collections.abc import Iterator

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.shell.bulk_shell import isotropic

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(12)
# F1 and F2 above are widths of rods in thicknesses, below parts of the panel's area.
WIDTHS = 1.01


def panels_of(data: BulkData) -> Iterator[tuple[list[int], Floats, Floats]]:
    """Grids, stiffness (12, 12) by their displacements, and masses (4,) kg, of each panel. Raises ModelError."""
    for card in data.all("CSHEAR"):
        own = data.property(card, "PSHEAR")
        E, G, _, density = isotropic(data.property(own, "MAT1", "MID"))
        thickness = own.number("T")
        if not thickness > 0.0:
            raise own.fault("T", "a thickness above 0")
        grids = [data.known(card, f"G{k}") for k in (1, 2, 3, 4)]
        x = np.array([data.grids[grid][0] for grid in grids])
        flat, axes = _in_plane(card, x)
        forces, compliance, area = _shear_field(card, flat, E, G, thickness)
        row = (forces @ axes).ravel()
        K = np.outer(row, row) / compliance
        sizes = np.linalg.norm(np.roll(x, -1, axis=0) - x, axis=1)
        for key, sides in (("F1", (0, 2)), ("F2", (1, 3))):
            factor = own.number(key)
            width = 0.5 * factor * thickness if factor > WIDTHS else factor * area / sizes[list(sides)].sum()
            for side in sides:
                K += E * width * thickness * _rod(x, side, sizes[side])
        yield grids, K, (density * thickness + own.number("NSM")) * _corner_areas(x)


def _in_plane(card: Card, x: Floats) -> tuple[Floats, Floats]:
    """(4, 2) corners in the plane of the diagonals, and its axes (2, 3)."""
    normal = np.cross(x[2] - x[0], x[3] - x[1])
    along = x[1] - x[0]
    along = along - normal * (along @ normal) / (normal @ normal or 1.0)
    if not (normal.any() and along.any()):
        raise ModelError(f"{card}: is collapsed")
    axes = np.array([along / np.linalg.norm(along), np.cross(normal, along) / np.linalg.norm(np.cross(normal, along))])
    return (x - x[0]) @ axes.T, axes


def _shear_field(card: Card, x: Floats, E: float, G: float, thickness: float) -> tuple[Floats, float, float]:
    """Forces (4, 2) at the corners of a field whose mean flow along the first side is 1 N/m, twice its strain energy,
    and the area."""
    # the projective map of the square: x = (A s + b) / (g s + 1)
    rows = np.zeros((8, 8))
    for k, ((r, s), (a, b)) in enumerate(zip(SQUARE, x, strict=True)):
        rows[2 * k] = [r, s, 1.0, 0.0, 0.0, 0.0, -a * r, -a * s]
        rows[2 * k + 1] = [0.0, 0.0, 0.0, r, s, 1.0, -b * r, -b * s]
    try:
        H = np.append(np.linalg.solve(rows, x.ravel()), 1.0).reshape(3, 3)
    except np.linalg.LinAlgError:
        raise ModelError(f"{card}: has an angle of 180 degrees") from None

    def stress(r: float, s: float) -> tuple[Floats, float, float]:
        """Membrane forces (2, 2), the area of a unit of the square, and the denominator."""
        top, w = H[:2] @ [r, s, 1.0], float(H[2] @ [r, s, 1.0])
        J = (H[:2, :2] - np.outer(top, H[2, :2]) / w) / w if w > 0.0 else np.zeros((2, 2))
        det = float(np.linalg.det(J))
        if not (w > 0.0 and det > 0.0):
            raise ModelError(f"{card}: has an angle above 180 degrees, or its corners are in another order")
        return w * w / det * (J @ np.array([[0.0, 1.0], [1.0, 0.0]]) @ J.T), det, w

    for corner in SQUARE:
        stress(*corner)
    places, weights = 0.5 * (1.0 + POINTS), 0.5 * WEIGHTS
    energy = area = 0.0
    for r, u in zip(places, weights, strict=True):
        for s, v in zip(places, weights, strict=True):
            N, det, _ = stress(r, s)
            # of plane stress: e = N / (2 G t) with the part of the trace that E has beside
            trace = float(np.trace(N))
            nu = 0.5 * E / G - 1.0
            energy += u * v * det * (np.sum(N * N) - nu / (1.0 + nu) * trace**2) / (2.0 * G * thickness)
            area += u * v * det
    flows = np.zeros(4)
    for k in range(4):
        a, b = SQUARE[k], SQUARE[(k + 1) % 4]
        side = (x[(k + 1) % 4] - x[k]) / np.linalg.norm(x[(k + 1) % 4] - x[k])
        outward = np.array([side[1], -side[0]])
        for t, u in zip(places, weights, strict=True):
            r, s = a + t * (b - a)
            N, _, w = stress(r, s)
            top = H[:2] @ [r, s, 1.0]
            J = (H[:2, :2] - np.outer(top / w, H[2, :2])) / w
            flows[k] += u * float(np.linalg.norm(J @ (b - a))) * float(side @ N @ outward)
    scale = np.linalg.norm(x[1] - x[0]) / flows[0]
    forces = np.zeros((4, 2))
    for k in range(4):
        side = (x[(k + 1) % 4] - x[k]) / np.linalg.norm(x[(k + 1) % 4] - x[k])
        forces[[k, (k + 1) % 4]] += 0.5 * scale * flows[k] * side
    return forces, energy * scale**2, area


def _rod(x: Floats, side: int, length: float) -> Floats:
    """(12, 12) of a side with a unit of E A."""
    along = (x[(side + 1) % 4] - x[side]) / length
    row = np.zeros((4, 3))
    row[side], row[(side + 1) % 4] = -along, along
    return np.outer(row, row) / length


def _corner_areas(x: Floats) -> Floats:
    """(4,): the areas of the four triangles of corners, each a sixth at its own."""
    found = np.zeros(4)
    for k in range(4):
        own = [k, (k + 1) % 4, (k + 2) % 4]
        a, b, c = x[own]
        found[own] += 0.5 * float(np.linalg.norm(np.cross(b - a, c - a))) / 6.0
    return found
