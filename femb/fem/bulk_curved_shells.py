"""Shells of NASTRAN bulk data with nodes in the middle of their sides, CQUAD8 and CTRIA6, as matrices.

The strains are those of docs/theory/shell.md, equations (2) to (7), by quadratic shape functions, at the 2 x 2 or 3
points where these elements do not lock. Source: S. Ahmad, B. M. Irons, O. C. Zienkiewicz, Int. J. Num. Meth. Eng. 2
(1970) 419; reduced integration, O. C. Zienkiewicz, R. L. Taylor, J. M. Too, the same 3 (1971) 275.
"""

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements.shell.bulk_shell import Walls, material_directions
from femb.elements.shell.mesh import projected_axes
from femb.elements.shell.stiffness import to_cartesian

# Corners on both sides of the nodes in the middle of sides.
SIDES = {8: [(0, 1), (1, 2), (2, 3), (3, 0)], 6: [(0, 1), (1, 2), (2, 0)]}
DRILLING = 1e-4  # stiffness of drilling, of that of shear in the plane
G = 1.0 / np.sqrt(3.0)
POINTS = {8: np.array([[-G, -G], [G, -G], [G, G], [-G, G]]), 6: np.array([[1.0, 1.0], [4.0, 1.0], [1.0, 4.0]]) / 6.0}
WEIGHTS = {8: 1.0, 6: 1.0 / 6.0}
Found = tuple[Ints, Floats, Floats]


def curved_shells_of(data: BulkData, coupled: bool) -> list[Found]:
    """Rows (1, n) of grids, stiffness and mass (1, 6 n, 6 n) in basic axes of each element."""
    walls, found = Walls(data), []
    row = {number: k for k, number in enumerate(data.grids)}
    points = np.array([place for place, _ in data.grids.values()])
    for card in data.all("CQUAD8", "CTRIA6"):
        n = 8 if card.name == "CQUAD8" else 6
        half = n // 2
        given = [card.value(f"G{k + 1}") not in (None, 0) for k in range(n)]
        if not all(given[:half]):
            raise ModelError(f"{card}: lacks a grid at a corner")
        rows = np.array([row[data.known(card, f"G{k + 1}")] for k in range(n) if given[k]])
        # a side without its grid stays straight
        spread = np.zeros((n, len(rows)))
        spread[np.flatnonzero(given), np.arange(len(rows))] = 1.0
        for k, (a, b) in enumerate(SIDES[n]):
            if not given[half + k]:
                spread[half + k, [a, b]] = 0.5
        x = spread @ points[rows]
        wall = walls.laid(walls.number(card)).wall
        direction = material_directions(data, [card], x[None, :half])[0]
        K, M = _matrices(card, x, wall.stiffness, wall.mass, direction, coupled)
        S = np.kron(spread, np.eye(6))
        mass = S.T @ M @ S
        found.append((rows[None], (S.T @ K @ S)[None], mass[None]))
    return found


def shape(n: int, r: float, s: float) -> tuple[Floats, Floats]:
    """Values (n,) and derivatives (2, n) of the shape functions."""
    if n == 6:
        a = 1.0 - r - s
        N = np.array([a * (2 * a - 1), r * (2 * r - 1), s * (2 * s - 1), 4 * a * r, 4 * r * s, 4 * s * a])
        D = np.array([
            [1 - 4 * a, 4 * r - 1, 0.0, 4 * (a - r), 4 * s, -4 * s],
            [1 - 4 * a, 0.0, 4 * s - 1, -4 * r, 4 * r, 4 * (a - s)],
        ])  # fmt: skip
        return N, D
    p, q = np.array([-1.0, 1.0, 1.0, -1.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    u, v = 1 + p * r, 1 + q * s
    N = np.r_[0.25 * u * v * (p * r + q * s - 1), 0.5 * (1 - r * r) * (1 - s), 0.5 * (1 + r) * (1 - s * s),
              0.5 * (1 - r * r) * (1 + s), 0.5 * (1 - r) * (1 - s * s)]  # fmt: skip
    by_r = np.r_[0.25 * p * v * (2 * p * r + q * s), -r * (1 - s), 0.5 * (1 - s * s), -r * (1 + s), -0.5 * (1 - s * s)]
    by_s = np.r_[0.25 * q * u * (p * r + 2 * q * s), -0.5 * (1 - r * r), -s * (1 + r), 0.5 * (1 - r * r), -s * (1 - r)]
    return N, np.array([by_r, by_s])


def _normal_at(x: Floats, n: int, r: float, s: float) -> Floats:
    D = shape(n, r, s)[1]
    normal = np.cross(*(D @ x))
    return np.asarray(normal / np.linalg.norm(normal))


def _matrices(
    card: Card, x: Floats, C: Floats, mass: Floats, direction: Floats, coupled: bool
) -> tuple[Floats, Floats]:
    n = len(x)
    corners = {8: [(-1, -1), (1, -1), (1, 1), (-1, 1)], 6: [(0, 0), (1, 0), (0, 1)]}[n]
    places = np.array([*corners, *(np.mean([corners[a], corners[b]], axis=0) for a, b in SIDES[n])], dtype=float)
    d = np.array([_normal_at(x, n, r, s) for r, s in places])
    K, M, diagonal, area = np.zeros((6 * n, 6 * n)), np.zeros((n, n)), np.zeros(n), 0.0
    for r, s in POINTS[n]:
        N, D = shape(n, r, s)
        sides, slopes, director = D @ x, D @ d, N @ d
        normal = np.cross(*sides)
        size = float(np.linalg.norm(normal))
        if not size > 0.0:
            raise ModelError(f"{card}: is collapsed")
        axes = projected_axes(normal[None] / size, direction)[0]
        J = sides @ axes[:, :2]
        B = np.zeros((8, 6 * n))
        drilled = np.zeros(6 * n)
        for i in range(n):
            u, turn = slice(6 * i, 6 * i + 3), slice(6 * i + 3, 6 * i + 6)
            # the change of the director by a rotation
            spin = np.cross(np.eye(3), d[i])
            for row, (a, b) in enumerate(((0, 0), (1, 1), (0, 1))):
                twice = 1.0 if a == b else 2.0
                B[row, u] = 0.5 * twice * (D[a, i] * sides[b] + D[b, i] * sides[a])
                B[3 + row, u] = 0.5 * twice * (D[a, i] * slopes[b] + D[b, i] * slopes[a])
                B[3 + row, turn] = 0.5 * twice * (D[a, i] * (spin @ sides[b]) + D[b, i] * (spin @ sides[a]))
            for a in range(2):
                B[6 + a, u], B[6 + a, turn] = D[a, i] * director, N[i] * (spin @ sides[a])
            local = np.linalg.inv(J) @ D[:, i]
            drilled[u] = 0.5 * (local[0] * axes[:, 1] - local[1] * axes[:, 0])
            drilled[turn] = -N[i] * axes[:, 2]
        B = to_cartesian(J[None])[0] @ B
        dA = WEIGHTS[n] * size
        K += dA * (B.T @ C @ B + DRILLING * C[2, 2] * np.outer(drilled, drilled))
        area += dA
    # points that are exact for squares of the shape functions
    for (r, s), weight in zip(*_fine(n), strict=True):
        N, D = shape(n, r, s)
        M += weight * float(np.linalg.norm(np.cross(*(D @ x)))) * np.outer(N, N)
    if not coupled:
        diagonal = np.diag(M) / np.trace(M) * M.sum()
        M = np.diag(diagonal)
    whole = np.zeros((6 * n, 6 * n))
    inertia = mass[2] if coupled else (mass[1] ** 2 / mass[0] if mass[0] > 0.0 else 0.0)
    T = np.zeros((n, 6, 6))
    T[:, :3, :3] = np.eye(3)
    for i in range(n):
        T[i, 3:, 3:] = np.cross(np.eye(3), d[i]).T
    middle = np.kron(np.array([[mass[0], mass[1]], [mass[1], inertia]]), np.eye(3))
    for i, j in zip(*np.nonzero(M), strict=True):
        whole[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = M[i, j] * (T[i].T @ middle @ T[j])
    return K, whole


def _fine(n: int) -> tuple[Floats, Floats]:
    """Points (p, 2) and weights (p,)."""
    if n == 6:
        # of degree 4: D. A. Dunavant, Int. J. Num. Meth. Eng. 21 (1985) 1129
        a, b, u, v = 0.445948490915965, 0.091576213509771, 0.111690794839005, 0.054975871827661
        places = [[a, a], [1 - 2 * a, a], [a, 1 - 2 * a], [b, b], [1 - 2 * b, b], [b, 1 - 2 * b]]
        return np.array(places), np.repeat([u, v], 3)
    x, w = np.polynomial.legendre.leggauss(3)
    r, s = np.meshgrid(x, x, indexing="ij")
    return np.column_stack([r.ravel(), s.ravel()]), np.outer(w, w).ravel()
