"""Stiffness and mass per area of the wall of a shell, from its plies.

Source: docs/theory/shell.md, section 9.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.elements.beam.laminate import Ply

# Gauss points and weights, exact for the squares of parabolas.
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True, eq=False)
class Wall:
    """stiffness (8, 8) : resultants (N, M, Q) by the strains of the reference surface, curvatures and shear, material
    axes, N/m, N, N m. mass (3,) : of area, and its first and second moment about the reference surface, kg/m2, kg/m,
    kg. thickness : m, of matrices an equivalent one.

    free (2, 6) : strains and curvatures of the free wall by one kelvin and by one kelvin per metre along the normal,
    material axes; nan where an expansion is unknown.
    """

    stiffness: Floats
    mass: Floats
    thickness: float
    free: Floats

    @property
    def plane_constants(self) -> tuple[float, float]:
        """Young's modulus times thickness (N/m) and Poisson's ratio of a wall that is isotropic in its plane."""
        first, across = self.stiffness[0, :2]
        ratio = across / first
        return float(first * (1.0 - ratio * ratio)), float(ratio)

    @property
    def isotropic(self) -> bool:
        """Whether membrane forces are those of an isotropic wall, and strains give no moments."""
        C, small = self.stiffness, 1e-9 * abs(self.stiffness[0, 0])
        Y, ratio = self.plane_constants
        shear = 0.5 * Y / (1.0 + ratio)
        wanted = np.array([[C[0, 0], C[0, 1], 0.0], [C[0, 1], C[0, 0], 0.0], [0.0, 0.0, shear]])
        return bool(
            np.all(np.abs(C[:3, :3] - wanted) <= small)
            and np.all(np.abs(C[:3, 3:6]) <= small * max(self.thickness, 0.0))
        )


def wall_of_sheet(
    membrane: Floats, bending: Floats, shear: Floats, thickness: float, density: float, offset: float
) -> Wall:
    """The wall of a homogeneous sheet with a bending and a shear stiffness of its own: forces (3, 3) N/m and moments
    (3, 3) N m about its middle, shear forces (2, 2) N/m; ``offset`` as in ``wall_of_plies``. Heat is unknown."""
    C = np.zeros((8, 8))
    C[:3, :3], C[6:, 6:] = membrane, shear
    C[:3, 3:6] = C[3:6, :3] = -offset * membrane
    C[3:6, 3:6] = bending + offset**2 * membrane
    mass = density * thickness * np.array([1.0, -offset, thickness**2 / 12.0 + offset**2])
    return Wall(C, mass, thickness, np.full((2, 6), np.nan))


def wall_of_plies(plies: Sequence[Ply], offset: float) -> Wall:
    """The wall of plies from bottom to top; offset : of the reference surface above the middle of the wall, m."""
    thicknesses = np.array([ply.thickness for ply in plies])
    total = float(thicknesses.sum())
    z = np.concatenate([[0.0], np.cumsum(thicknesses)]) - 0.5 * total - offset
    powers = np.stack([np.diff(z**k) / k for k in (1, 2, 3)], axis=1)
    Q, G = np.array([ply.stiffness() for ply in plies]), np.array([ply.shear() for ply in plies])
    A, B, D = np.tensordot(powers, Q, (0, 0))
    C = np.zeros((8, 8))
    C[:3, :3], C[:3, 3:6], C[3:6, :3], C[3:6, 3:6] = A, B, B, D
    C[6:, 6:] = _shear(z, Q, G)
    densities = np.array([ply.density for ply in plies], dtype=float)
    heat = np.einsum("pk,pij,pj->ki", powers, Q, np.array([ply.free_strain() for ply in plies]))
    try:
        free = np.linalg.solve(C[:6, :6], np.array([heat[:2].ravel(), heat[1:].ravel()]).T).T
    except np.linalg.LinAlgError:  # the description refuses a strain without stiffness in its own words
        free = np.full((2, 6), np.nan)
    return Wall(C, densities @ powers, total, free)


def walls_of_sheet(ply: Ply, thicknesses: Floats, offset: float) -> list[Wall]:
    """The walls of a ply of each thickness (k,) m; offset : as in ``wall_of_plies``."""
    one, t = wall_of_plies([ply], 0.0), thicknesses / ply.thickness
    # moments of the thickness about the reference surface
    powers = np.stack([t, -offset * t, t * (offset**2 + thicknesses**2 / 12.0)], axis=1)
    C = np.zeros((len(t), 8, 8))
    C[:, 6:, 6:] = t[:, None, None] * one.stiffness[6:, 6:]
    for rows, columns, k in ((0, 0, 0), (0, 3, 1), (3, 0, 1), (3, 3, 2)):
        C[:, rows : rows + 3, columns : columns + 3] = powers[:, k, None, None] * one.stiffness[:3, :3]
    return [Wall(*each, one.free) for each in zip(C, one.mass[0] * powers, thicknesses.tolist(), strict=True)]


@dataclass(frozen=True, eq=False)
class PlyRecovery:
    """Stresses of p plies along and across the fibres and in shear, at the side behind the normal and at that in front.

    loads (p, 2, 3, 6) : by N and M, 1/m and 1/m2. heat (p, 2, 3, 2) : by temperature and gradient without N and M, Pa/K
    and Pa m/K; of w walls (w, ...) both. angle (p,) : of the fibres, rad. strengths (p, 5) : Pa, nan where they are
    unknown.
    """

    loads: Floats
    heat: Floats
    angle: Floats
    strengths: Floats


def recovery_of_plies(plies: Sequence[Ply], offset: float, wall: Wall) -> PlyRecovery:
    """The recovery of stresses: those of the strains in each ply, by the compliance of the wall."""
    ends = np.cumsum([0.0, *(ply.thickness for ply in plies)])
    z = np.stack([ends[:-1], ends[1:]], axis=1) - 0.5 * ends[-1] - offset
    return _recovery(plies, z, wall.stiffness[:6, :6], wall.free)


def recovery_of_sheets(ply: Ply, offset: float, walls: Sequence[Wall]) -> PlyRecovery:
    """The recovery of w walls of one material, each of its own thickness."""
    z = np.array([wall.thickness for wall in walls])[:, None, None] * np.array([-0.5, 0.5]) - offset
    stiffness, free = np.array([wall.stiffness[:6, :6] for wall in walls]), np.array([wall.free for wall in walls])
    return _recovery([ply], z, stiffness, free)


def recovery_of_laminates(parts: Sequence[PlyRecovery]) -> PlyRecovery | None:
    """The recovery of w walls; None where these have other numbers, angles or strengths of plies."""
    first = parts[0]
    for each in parts:
        pairs = (first.angle, each.angle), (first.strengths, each.strengths)
        if not all(np.array_equal(*pair, equal_nan=True) for pair in pairs):
            return None
    loads, heat = (np.stack([getattr(each, word) for each in parts]) for word in ("loads", "heat"))
    return PlyRecovery(loads, heat, first.angle, first.strengths)


def _recovery(plies: Sequence[Ply], z: Floats, wall: Floats, wall_free: Floats) -> PlyRecovery:
    """The recovery at the heights z (..., p, 2) of walls of a stiffness (..., 6, 6) and free strains (..., 2, 6)."""
    at = np.concatenate([np.broadcast_to(np.eye(3), (*z.shape, 3, 3)), z[..., None, None] * np.eye(3)], axis=-1)
    angle = np.array([ply.angle for ply in plies])
    stiffness = to_fibres(angle) @ np.array([ply.stiffness() for ply in plies])
    compliance = np.linalg.inv(wall)[..., None, None, :, :]
    free = np.nan_to_num([ply.free_strain() for ply in plies])
    own = np.stack([np.broadcast_to(free[:, None], (*z.shape, 3)), z[..., None] * free[:, None]], axis=-1)
    of_wall = np.nan_to_num(wall_free).swapaxes(-1, -2)[..., None, None, :, :]
    return PlyRecovery(
        stiffness[:, None] @ at @ compliance,
        stiffness[:, None] @ (at @ of_wall - own),
        angle,
        np.array([np.full(5, np.nan) if ply.strengths is None else ply.strengths for ply in plies]),
    )


def to_fibres(angle: Floats) -> Floats:
    """(p, 3, 3) stresses along and across the fibres and in shear by those in axes from which they are at an angle."""
    c, s = np.cos(angle), np.sin(angle)
    rows = [[c * c, s * s, 2.0 * c * s], [s * s, c * c, -2.0 * c * s], [-c * s, c * s, c * c - s * s]]
    return np.array(rows).transpose(2, 0, 1)


def _shear(z: Floats, Q: Floats, G: Floats) -> Floats:
    """(2, 2) N/m: shear stiffness by the equilibrium of cylindrical bending in both directions."""
    size = np.diff(z)
    plain = np.tensordot(size, G, 1)
    result, factors = np.zeros((2, 2)), []
    for k in range(2):
        q, first, second = Q[:, k, k], 0.5 * np.diff(z**2), np.diff(z**3) / 3.0
        z0 = q @ first / (q @ size)
        bending = q @ (second - 2.0 * z0 * first + z0 * z0 * size)
        before = np.concatenate([[0.0], np.cumsum(q * (first - z0 * size))])[:-1]
        points = z[:-1, None] + 0.5 * size[:, None] * (1.0 + _POINTS)
        flow = before[:, None] + 0.5 * q[:, None] * ((points - z0) ** 2 - (z[:-1, None] - z0) ** 2)
        compliance = np.sum(0.5 * size[:, None] * _WEIGHTS * flow**2 / G[:, k, k, None])
        result[k, k] = bending**2 / compliance
        factors.append(result[k, k] / plain[k, k])
    result[0, 1] = result[1, 0] = plain[0, 1] * np.sqrt(factors[0] * factors[1])
    return result
