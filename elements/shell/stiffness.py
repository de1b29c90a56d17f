"""Constant matrices of shell elements: stiffness on the natural strains, stresses, free strains, weights of the mass.

Source: docs/theory/shell.md, sections 2, 3, 7, 9 and 10.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from femb.base.types import Bools, Floats

# Gauss points and weights of a quadrilateral, 2 x 2 and 3 x 3, and of a triangle (its area is 1/2).
_TWO, _THREE = np.polynomial.legendre.leggauss(2), np.polynomial.legendre.leggauss(3)
TRIANGLE_POINTS = np.array([[1.0, 1.0], [4.0, 1.0], [1.0, 4.0]]) / 6.0
# Signs of the corners of a quadrilateral in the directions r and s.
R_SIGNS, S_SIGNS = np.array([-1.0, 1.0, 1.0, -1.0]), np.array([-1.0, -1.0, 1.0, 1.0])
# Corners at the ends of its edges A, B, C, D: where they lead to and where they begin.
EDGES = np.array([[2, 3], [1, 0], [2, 1], [3, 0]])
# The corner after each corner of a triangle.
AFTER = np.array([1, 2, 0])
# Elements at a time.
PORTION = 2000
# Strains that may be the rounding of positions: a sheet of no stress is taut.
LEAST_STRAIN = 1e-12
# Drilling in proportion to the membrane and to the bending stiffness, equation (10). The mean by corners: two triangles
# belong to a node, and as stiff as quadrilaterals they would hold walls beside their nodes.
MEAN_DRILLING, REST_DRILLING, LEAST_DRILLING = {4: 0.25, 3: 0.025}, 0.1, 1e-6


@dataclass(frozen=True, eq=False)
class ShellElements:
    """Constant arrays of e elements with n corners and m strains.

    stiffness (e, m, m) : S. reference (e, m) : natural strains of the reference shape, zero for drilling. weights
    (e, n, n) m2 : A of equation (16). recovery (e, 8, m) : the resultants (N, M, Q) in the middle by the strains.
    free (e, r, m) : strains that are without stress where the wall has the free strains. points (e, p, 3, m) : the
    membrane strains 11, 22 and 12 of the stresses at the points of integration by the strains, axes of the middles;
    point_areas (e, p) m2. axes (e, 3, 3) : of the middles, as columns t1, t2 and the normal. area (e,) m2.
    """

    stiffness: Floats
    reference: Floats
    weights: Floats
    recovery: Floats
    free: Floats
    points: Floats
    point_areas: Floats
    axes: Floats
    area: Floats


def _points(rule: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Points (p, 2) and weights (p,) of a product rule."""
    x, w = rule
    r, s = np.meshgrid(x, x, indexing="ij")
    return np.column_stack([r.ravel(), s.ravel()]), np.outer(w, w).ravel()


def turned_stiffness(C: Floats, angle: Floats) -> tuple[Floats, Floats]:
    """C (8, 8), or of each (e, 8, 8), in axes from which the material axes are turned by the angles (e,), and T (e, 8,
    8) from the strains in these axes to those in material axes."""
    c, s = np.cos(angle), np.sin(angle)
    T = np.zeros((len(angle), 8, 8))
    for o in (0, 3):
        T[:, o : o + 3, o : o + 3] = np.array(
            [[c * c, s * s, c * s], [s * s, c * c, -c * s], [-2.0 * c * s, 2.0 * c * s, c * c - s * s]]
        ).transpose(2, 0, 1)
    T[:, 6:, 6:] = np.array([[c, s], [-s, c]]).transpose(2, 0, 1)
    return np.swapaxes(T, 1, 2) @ C @ T, T


def wrinkled(means: Floats, stretch: Floats, ratio: Floats) -> tuple[Floats, Floats, Floats]:
    """Additions of wrinkling to the energy (...) and to the membrane forces (..., 3) at membrane strains 11, 22 and 12
    (..., 3), and the states (...): 0 taut, 1 wrinkled, 2 slack; section 11.

    stretch, ratio (...) : Young's modulus times thickness, to which energy and forces are proportional, and Poisson's
    ratio.
    """
    half, mean = 0.5 * (means[..., 0] - means[..., 1]), 0.5 * (means[..., 0] + means[..., 1])
    radius = np.hypot(half, 0.5 * means[..., 2])
    first, second = mean + radius, mean - radius
    slack = first <= 0.0
    state = np.where(second + ratio * first >= -LEAST_STRAIN, 0.0, np.where(slack, 2.0, 1.0))
    plane, strained = stretch / (1.0 - ratio**2), 1.0 * (state > 0.0)
    of_first = strained * (np.where(slack, 0.0, stretch * first) - plane * (first + ratio * second))
    of_second = -strained * plane * (second + ratio * first)
    turn = np.arctan2(means[..., 2], 2.0 * half)
    change, part = 0.5 * (of_first + of_second), 0.5 * (of_first - of_second)
    forces = np.stack([change + part * np.cos(turn), change - part * np.cos(turn), part * np.sin(turn)], axis=-1)
    return 0.5 * (of_first * first + of_second * second), forces, state


def middle_axes(corners: Floats) -> Floats:
    """(e, 3, 3) axes in the middles of elements with corners (e, n, 3), as columns: section 3."""
    if corners.shape[1] == 4:
        a, b = (_unit(corners[:, i] - corners[:, j]) for i, j in ((2, 0), (1, 3)))
        first, second = _unit(a + b), _unit(a - b)
    else:
        first = _unit(corners[:, 1] - corners[:, 0])
        second = corners[:, 2] - corners[:, 0]
        second = _unit(second - np.sum(first * second, axis=1)[:, None] * first)
    return np.stack([first, second, np.cross(first, second)], axis=2)


def areas(corners: Floats) -> Floats:
    """(e,) m2 of elements with corners (e, n, 3)."""
    if corners.shape[1] == 3:
        edges = corners[:, 1:] - corners[:, :1]
        return np.asarray(0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1))
    xr, xs, xd = combinations(corners)
    points, weights = _points(_TWO)
    parts = [np.linalg.norm(np.cross(xr + s * xd, xs + r * xd), axis=1) for r, s in points]
    return np.asarray(np.tensordot(weights, parts, 1))


def shape_weights(corners: Floats) -> Floats:
    """A (e, n, n) m2 of elements with corners (e, n, 3): equation (16)."""
    if corners.shape[1] == 3:
        return np.asarray(areas(corners)[:, None, None] / 12.0 * (1.0 + np.eye(3)))
    xr, xs, xd = combinations(corners)
    points, weights = _points(_TWO)
    sizes = [
        w * np.linalg.norm(np.cross(xr + s * xd, xs + r * xd), axis=1)
        for (r, s), w in zip(points, weights, strict=True)
    ]
    shapes = 0.25 * (1.0 + np.outer(points[:, 0], R_SIGNS)) * (1.0 + np.outer(points[:, 1], S_SIGNS))
    return np.asarray(np.einsum("pe,pi,pj->eij", np.array(sizes), shapes, shapes))


def _unit(x: Floats) -> Floats:
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.sum(a * b, axis=-1))


def combinations(y: Floats) -> tuple[Floats, Floats, Floats]:
    """y_r, y_s and y_d (e, 3) of vectors (e, 4, 3) at the corners: equation (2)."""
    signs = R_SIGNS, S_SIGNS, R_SIGNS * S_SIGNS
    parts = [np.einsum("n,enk->ek", 0.25 * sign, y) for sign in signs]
    return parts[0], parts[1], parts[2]


def reference_strains(x: Floats, d: Floats) -> Floats:
    """(e, 15 or 9) of corners x and directors d (e, n, 3): equation (3) and section 10."""
    if x.shape[1] == 3:
        edges = np.stack([x[:, (k + 1) % 3] - x[:, k] for k in range(3)], axis=1)
        means = np.stack([0.5 * (d[:, (k + 1) % 3] + d[:, k]) for k in range(3)], axis=1)
        xr, xs, dr, ds = edges[:, 0], -edges[:, 2], d[:, 1] - d[:, 0], d[:, 2] - d[:, 0]
        bending = np.stack([_dot(xr, dr), _dot(xs, ds), _dot(xr, ds) + _dot(xs, dr)], axis=1)
        return np.hstack([0.5 * _dot(edges, edges), bending, _dot(edges, means)])
    xr, xs, xd = combinations(x)
    dr, ds, dd = combinations(d)
    edges = 0.5 * (x[:, EDGES[:, 0]] - x[:, EDGES[:, 1]])
    means = 0.5 * (d[:, EDGES[:, 0]] + d[:, EDGES[:, 1]])
    middle = [
        _dot(xr, xs), _dot(xr, dr), _dot(xs, ds), _dot(xr, ds) + _dot(xs, dr), _dot(xr, dd) + _dot(xd, dr),
        _dot(xs, dd) + _dot(xd, ds), _dot(xd, dd),
    ]  # fmt: skip
    return np.hstack([0.5 * _dot(edges, edges), np.stack(middle, axis=1), _dot(edges, means)])


def _natural(x: Floats) -> tuple[Floats, Floats, Floats]:
    """c_r, c_s (e,) of x_d in the middle plane, and epsilon_dd as a row (e, 5) of the first strains: equation (4)."""
    xr, xs, xd = combinations(x)
    metric = np.stack([np.stack([_dot(xr, xr), _dot(xr, xs)], -1), np.stack([_dot(xr, xs), _dot(xs, xs)], -1)], -2)
    c = np.linalg.solve(metric, np.stack([_dot(xd, xr), _dot(xd, xs)], axis=-1)[..., None])[..., 0]
    cr, cs = c.T
    rows = np.stack([cr - cr * cr, -cr - cr * cr, cs - cs * cs, -cs - cs * cs, -2.0 * cr * cs], axis=1)
    return cr, cs, rows / (2.0 * (1.0 - cr * cr - cs * cs))[:, None]


def _strain_rows(dd: Floats, r: float, s: float) -> Floats:
    """(e, 8, 15) E_rr, E_ss, 2 E_rs, kappa alike, gamma_r and gamma_s at r, s by the natural strains: equation (5)."""
    N = np.zeros((len(dd), 8, 15))
    N[:, 0, :5] = (s * s - 1.0) * dd
    N[:, 1, :5] = (r * r - 1.0) * dd
    N[:, 2, :5] = 2.0 * r * s * dd
    N[:, 0, :2] += [0.5 + 0.5 * s, 0.5 - 0.5 * s]
    N[:, 1, 2:4] += [0.5 + 0.5 * r, 0.5 - 0.5 * r]
    N[:, 2, :5] += [0.5 * r, -0.5 * r, 0.5 * s, -0.5 * s, 1.0]
    N[:, 3, [5, 8, 10]] = [1.0, s, s * s]
    N[:, 4, [6, 9, 10]] = [1.0, r, r * r]
    N[:, 5, 7:11] = [1.0, r, s, 2.0 * r * s]
    N[:, 6, 11:13] = [0.5 + 0.5 * s, 0.5 - 0.5 * s]
    N[:, 7, 13:15] = [0.5 + 0.5 * r, 0.5 - 0.5 * r]
    return N


def to_cartesian(J: Floats) -> Floats:
    """(e, 8, 8) from natural to Cartesian strains by J (e, 2, 2): equation (7)."""
    j = np.linalg.inv(J)
    a, b, c, d = j[:, 0, 0], j[:, 0, 1], j[:, 1, 0], j[:, 1, 1]
    T = np.zeros((len(J), 8, 8))
    block = np.array([[a * a, b * b, a * b], [c * c, d * d, c * d], [2 * a * c, 2 * b * d, a * d + b * c]])
    T[:, :3, :3] = T[:, 3:6, 3:6] = block.transpose(2, 0, 1)
    T[:, 6:, 6:] = j
    return T


def _directions(J: Floats) -> tuple[Floats, Floats]:
    """v_r and v_s (e, 3) of equation (8)."""
    return tuple(np.stack([J[:, i, 0] ** 2, J[:, i, 1] ** 2, J[:, i, 0] * J[:, i, 1]], axis=1) for i in range(2))  # type: ignore[return-value]


def elements_of(
    x: Floats,
    d: Floats,
    C: Floats,
    angle: Floats,
    free: Floats,
    stiff_drilling: bool,
    membrane: bool = False,
    residual: bool = False,
) -> ShellElements:
    """The constant arrays of elements with corners x and directors d (e, n, 3).

    C (e, 8, 8) : of the laminates in material axes, which are turned by ``angle`` (e,) from the axes of the middles.
    free (e, r, 6) : strains and curvatures without stress, material axes, as by unit temperature and unit gradient.
    stiff_drilling : section 3.1, for flat meshes of quadrilaterals. membrane : section 11. residual : whether the mean
    shear of quadrilaterals has the flexibility l^2 / (12 D) more, by which a strip under a force at its end deflects by
    a cubic, and the shear that varies across it a (1 + 39 l^2 / b^2)th of it, b its width, as those that NASTRAN
    prints. Source: R. H. MacNeal, Computers and Structures 8 (1978) 175.
    """
    if len(x) > PORTION:
        # arrays of all points of all elements are much larger than those that are kept
        portions = [slice(k, k + PORTION) for k in range(0, len(x), PORTION)]
        words = stiff_drilling, membrane, residual
        parts = [elements_of(x[k], d[k], C[k], angle[k], free[k], *words) for k in portions]
        names = [each.name for each in fields(ShellElements)]
        return ShellElements(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    axes = middle_axes(x)
    C_own, T = turned_stiffness(C, angle)
    free_own = np.zeros((len(x), free.shape[1], 8))
    free_own[:, :, :6] = free @ np.linalg.inv(np.swapaxes(T, 1, 2))[:, :6, :6]
    if x.shape[1] == 4:
        found = _quadrilaterals(x, d, axes, C_own, free_own, stiff_drilling, residual)
    else:
        found = _triangles(x, d, axes, C_own, free_own, stiff_drilling)
    return _membranes(found, C_own) if membrane else found


def _quadrilaterals(
    x: Floats, d: Floats, axes: Floats, C: Floats, free: Floats, stiff: bool, residual: bool
) -> ShellElements:
    """Elements with four corners: sections 3 and 3.1."""
    count = len(x)
    xr, xs, xd = combinations(x)
    t1, t2, t3 = axes[:, :, 0], axes[:, :, 1], axes[:, :, 2]
    J0 = np.stack([np.stack([_dot(a, t1), _dot(a, t2)], -1) for a in (xr, xs)], axis=1)
    vr, vs = _directions(J0)
    dd = _natural(x)[2]
    points, gauss = _points(_THREE if stiff else _TWO)
    frames = []
    for (r, s), weight in zip(points, gauss, strict=True):
        ar, as_ = xr + s * xd, xs + r * xd
        normal = np.cross(ar, as_)
        size = np.linalg.norm(normal, axis=1)
        normal = normal / size[:, None]
        turned = [t - (_dot(t, normal) / (1.0 + _dot(t3, normal)))[:, None] * (t3 + normal) for t in (t1, t2)]
        J = np.stack([np.stack([_dot(a, t) for t in turned], -1) for a in (ar, as_)], axis=1)
        frames.append((r, s, weight * size, J))
    dA = np.array([frame[2] for frame in frames])
    area = dA.sum(axis=0)
    rm, sm = (np.sum(dA * points[:, [k]], axis=0) / area for k in range(2))
    w = 4 if stiff else 0
    N = [
        np.concatenate([to_cartesian(J) @ _strain_rows(dd, r, s), np.zeros((count, 8, w))], axis=2)
        for r, s, _, J in frames
    ]
    if stiff:
        _add_allman(x, axes, frames, dA / area, N)
    plane = np.stack([_dot(x - x.mean(axis=1, keepdims=True), t[:, None]) for t in (t1, t2)], axis=2)
    scale = 0.5 * np.sqrt(area)

    def stress(r: float, s: float) -> Floats:
        m = 9 if stiff else 5
        P = np.zeros((count, 8, m + 9))
        P[:, range(3), range(3)] = P[:, range(3, 6), range(m, m + 3)] = 1.0
        if stiff:
            at = 0.25 * np.einsum("n,enk->ek", (1.0 + R_SIGNS * r) * (1.0 + S_SIGNS * s), plane) / scale[:, None]
            a, b = at.T
            P[:, 0, 3], P[:, 0, 5], P[:, 0, 7] = b, a, b * b
            P[:, 1, 4], P[:, 1, 6], P[:, 1, 8] = a, b, a * a
            P[:, 2, 5], P[:, 2, 6] = -b, -a
        else:
            P[:, :3, 3], P[:, :3, 4] = vr * (s - sm)[:, None], vs * (r - rm)[:, None]
        P[:, 3:6, m + 3], P[:, 3:6, m + 4] = vr * (s - sm)[:, None], vs * (r - rm)[:, None]
        P[:, 6, m + 5] = P[:, 7, m + 6] = 1.0
        P[:, 6:, m + 7], P[:, 6:, m + 8] = J0[:, 0] * (s - sm)[:, None], J0[:, 1] * (r - rm)[:, None]
        return P

    P = [stress(r, s) for r, s, _, _ in frames]
    more = np.zeros((count, *P[0].shape[2:] * 2))
    if residual:
        bending = C[:, (3, 4), (3, 4)]
        more[:, [-4, -3], [-4, -3]] = area[:, None] * np.abs(J0).max(axis=1) ** 2 / (3.0 * bending)
        lengths = np.sum(J0**2, axis=2)
        along = np.einsum("eka,ea,eka->ek", J0, 1.0 / bending, J0) / (1.0 + 39.0 * lengths / lengths[:, ::-1])
        more[:, [-2, -1], [-2, -1]] = area[:, None] * lengths * along / 9.0
    found = _condensed(P, N, dA, np.asarray(np.linalg.inv(C)), free, stress(0.0, 0.0), more)
    return _with_drilling(x, d, found, C, dA, axes, stiff)


def with_loose_corners(found: ShellElements, loose: Bools) -> ShellElements:
    """The elements whose corners turn freely about the normal where ``loose`` (e, n): section 3.2."""
    S, recovery, points = (part.copy() for part in (found.stiffness, found.recovery, found.points))
    for pattern in np.unique(loose[loose.any(axis=1)], axis=0):
        some, w = (loose == pattern).all(axis=1), S.shape[1] - loose.shape[1] + np.flatnonzero(pattern)
        turns = np.linalg.solve(S[some][:, w][:, :, w], S[some][:, w])
        for array in (S, recovery, points):
            part = array[some]
            array[some] = part - part[..., w] @ (turns if part.ndim == 3 else turns[:, None])
        S[np.ix_(some, w)] = 0.0
    return replace(found, stiffness=S, recovery=recovery, points=points)


def _membranes(found: ShellElements, C: Floats) -> ShellElements:
    """The elements with hardly any stiffness of drilling: where nodes are held it would carry the shear of a wrinkled
    membrane."""
    n, S = found.weights.shape[1], found.stiffness.copy()
    S[:, -n:, -n:] = (LEAST_DRILLING * shear_of_all_axes(C, 0) * found.area)[:, None, None] * np.eye(n)
    return replace(found, stiffness=S)


def shear_of_all_axes(C: Floats, o: int) -> Floats:
    """(e,) mean over all axes of A66 (o = 0) or D66 (o = 3), which does not depend on the numbering of corners."""
    return np.asarray((C[:, o, o] + C[:, o + 1, o + 1] - 2.0 * C[:, o, o + 1] + 4.0 * C[:, o + 2, o + 2]) / 8.0)


def _condensed(
    P: list[Floats], N: list[Floats], dA: Floats, compliance: Floats, free: Floats, middle: Floats, more: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """S, the resultants in the middle, the membrane strains at the points of integration, and strains without stress:
    equation (9). more (e, p, p) : flexibility of the stresses beside that of the wall."""
    H: Any = sum(np.swapaxes(p, 1, 2) @ compliance @ p * w[:, None, None] for p, w in zip(P, dA, strict=True)) + more
    G: Any = sum(np.swapaxes(p, 1, 2) @ n * w[:, None, None] for p, n, w in zip(P, N, dA, strict=True))
    load: Any = sum(free @ p * w[:, None, None] for p, w in zip(P, dA, strict=True))
    by = np.linalg.solve(H, G)
    S = np.swapaxes(G, 1, 2) @ by
    # G e = load has a solution, since the rows of G are independent; those of linear stresses are of another size
    size = np.linalg.norm(G, axis=2)
    strains = np.linalg.pinv(G / size[:, :, None]) @ (np.swapaxes(load, 1, 2) / size[:, :, None])
    points = np.stack([compliance[:, :3] @ p @ by for p in P], axis=1)
    return 0.5 * (S + np.swapaxes(S, 1, 2)), middle @ by, points, np.swapaxes(strains, 1, 2)


def _with_drilling(
    x: Floats, d: Floats, found: tuple[Floats, Floats, Floats, Floats], C: Floats, dA: Floats, axes: Floats, stiff: bool
) -> ShellElements:
    """The arrays, with the stiffness of drilling: equation (10)."""
    S, recovery, points, free = found
    area = dA.sum(axis=0)
    count, n = x.shape[:2]
    natural = 15 if n == 4 else 9
    m, k = natural + n, S.shape[1]
    whole = np.zeros((count, m, m))
    whole[:, :k, :k] = S
    membrane = shear_of_all_axes(C, 0) * area
    mean, rest = MEAN_DRILLING[n] * membrane, REST_DRILLING * shear_of_all_axes(C, 3)
    rest = np.maximum(rest, LEAST_DRILLING * membrane)
    ones = np.full((n, n), 1.0 / n)
    whole[:, natural:, natural:] += mean[:, None, None] * ones
    if not stiff:
        whole[:, natural:, natural:] += rest[:, None, None] * (np.eye(n) - ones)
    e0 = np.zeros((count, m))
    e0[:, :natural] = reference_strains(x, d)

    def of_all(part: Floats) -> Floats:
        full = np.zeros((*part.shape[:-1], m))
        full[..., :k] = part
        return full

    weights, by_strains = shape_weights(x), (of_all(recovery), of_all(free), of_all(points))
    return ShellElements(whole, e0, weights, *by_strains, dA.T, axes, area)


def _add_allman(x: Floats, axes: Floats, frames: list[Any], share: Floats, N: list[Floats]) -> None:
    """Add the strains of the drilling rotations to N of flat elements: section 3.1."""
    plane = np.stack([_dot(x - x.mean(axis=1, keepdims=True), axes[:, None, :, k]) for k in range(2)], axis=2)
    count = len(x)
    unit = np.zeros((8, 4, 2))
    unit[range(8), [0, 0, 1, 1, 2, 2, 3, 3], [0, 1] * 4] = 1.0
    ends = 0.5 * (plane[:, EDGES[:, 0]] - plane[:, EDGES[:, 1]])
    change = 0.5 * (unit[:, EDGES[:, 0]] - unit[:, EDGES[:, 1]])
    B = np.zeros((count, 5, 8))
    B[:, :4] = np.einsum("emk,umk->emu", ends, change)
    xr, xs = (np.einsum("n,enk->ek", 0.25 * sign, plane) for sign in (R_SIGNS, S_SIGNS))
    ur, us = (np.einsum("n,unk->uk", 0.25 * sign, unit) for sign in (R_SIGNS, S_SIGNS))
    B[:, 4] = xr @ us.T + xs @ ur.T
    after, before = [1, 2, 3, 0], [3, 0, 1, 2]
    P, M = plane[:, after] - plane, plane[:, before] - plane
    up, um = unit[:, after] - unit, unit[:, before] - unit
    cross = np.abs(P[..., 0] * M[..., 1] - P[..., 1] * M[..., 0])
    T = (np.einsum("uik,eik->eiu", up, M) - np.einsum("uik,eik->eiu", um, P)) / (2.0 * cross)[..., None]
    turn = T @ np.linalg.pinv(B)
    strains = []
    for r, s, _, J in frames:
        slopes = np.array(
            [[-r * (1.0 - s), -0.5 * (1.0 - r * r)], [0.5 * (1.0 - s * s), -s * (1.0 + r)],
             [-r * (1.0 + s), 0.5 * (1.0 - r * r)], [-0.5 * (1.0 - s * s), -s * (1.0 - r)]]
        )  # fmt: skip
        by = np.einsum("eai,ki->eka", np.linalg.inv(J), slopes)
        E = np.zeros((count, 3, 4))
        for k in range(4):
            i, j = k, after[k]
            step = plane[:, j] - plane[:, i]
            u = np.stack([-step[:, 1], step[:, 0]], axis=1) / 8.0
            e = np.stack(
                [u[:, 0] * by[:, k, 0], u[:, 1] * by[:, k, 1], u[:, 0] * by[:, k, 1] + u[:, 1] * by[:, k, 0]], 1
            )
            E[:, :, i] += e
            E[:, :, j] -= e
        strains.append(E)
    mean: Any = sum(E * w[:, None, None] for E, w in zip(strains, share, strict=True))
    for n, E in zip(N, strains, strict=True):
        n[:, :3, :5] += (E - mean) @ turn
        n[:, :3, 15:] -= E - mean


def _triangles(x: Floats, d: Floats, axes: Floats, C: Floats, free: Floats, stiff: bool) -> ShellElements:
    """Elements with three corners, whose drilling is weak: section 10."""
    count, dA = len(x), areas(x) / 3.0
    plane = (x[:, AFTER] - x) @ axes[:, :, :2]
    J = np.stack([plane[:, 0], -plane[:, 2]], axis=1)
    j = np.linalg.inv(J)
    slopes = np.stack([-j[:, :, 0] - j[:, :, 1], j[:, :, 0], j[:, :, 1]], axis=1)
    constant = np.zeros((6, 6))
    constant[range(6), [0, 2, 1, 3, 4, 5]] = [1.0, 1.0, -1.0, 1.0, 1.0, 1.0]
    constant[2, [0, 2]] = 1.0
    mean = to_cartesian(J)[:, :6, :6] @ constant
    # bending that stretches the wall as it likes: of a wall beside the corners it is that about its own middle
    B, shear = C[:, :3, 3:6], C[:, 6:, 6:]
    bending = C[:, 3:6, 3:6] - np.swapaxes(B, 1, 2) @ np.linalg.solve(C[:, :3, :3], B)
    lengths = np.linalg.norm(plane, axis=2)
    share = _shear_share(plane / lengths[:, :, None], lengths, bending, shear)
    bows = plane * (-1.5 * (1.0 - share) / lengths**2)[:, :, None]

    def sheared(r: float, s: float) -> Floats:
        return np.asarray(j @ np.array([[1.0 - s, -s, -s], [r, r, r - 1.0]]) * share[:, None])

    S, recovery, unstressed = np.zeros((count, 9, 9)), np.zeros((count, 8, 9)), np.zeros((*free.shape[:2], 9))
    S[:, :6, :6] = np.swapaxes(mean, 1, 2) @ C[:, :6, :6] @ mean * (3.0 * dA)[:, None, None]
    for r, s in TRIANGLE_POINTS:
        shape, strains = np.array([1.0 - r - s, r, s]), sheared(r, s)
        turns = 4.0 * (shape[:, None] * slopes[:, AFTER] + shape[AFTER, None] * slopes)
        twists = turns[..., 0] * bows[..., 1] + turns[..., 1] * bows[..., 0]
        curved = np.concatenate([np.swapaxes(turns * bows, 1, 2), twists[:, None]], axis=1)
        for by, C_of in ((curved, bending), (strains, shear)):
            S[:, 6:, 6:] += np.swapaxes(by, 1, 2) @ C_of @ by * dA[:, None, None]
    recovery[:, :6, :6], recovery[:, 6:, 6:] = C[:, :6, :6] @ mean, shear @ sheared(1.0 / 3.0, 1.0 / 3.0)
    unstressed[:, :, :6] = free[:, :, :6] @ np.swapaxes(np.linalg.inv(mean), 1, 2)
    points = np.zeros((count, 3, 3, 9))
    points[..., :6] = mean[:, None, :3]
    found = 0.5 * (S + np.swapaxes(S, 1, 2)), recovery, points, unstressed
    return _with_drilling(x, d, found, C, np.tile(dA, (3, 1)), axes, False)


def _shear_share(along: Floats, lengths: Floats, bending: Floats, shear: Floats) -> Floats:
    """Share (e, 3) of the strains of edges that is shear, the rest bends the edges: equation (18).

    along (e, 3, 2) : directions of the edges. lengths (e, 3) m. bending (e, 3, 3) N m, shear (e, 2, 2) N/m : stiffness.
    """
    curved = np.stack([along[..., 0] ** 2, along[..., 1] ** 2, 2.0 * along[..., 0] * along[..., 1]], axis=2)
    stiffness = np.einsum("eki,eij,ekj->ek", curved, bending, curved)
    compliance = np.einsum("eki,eij,ekj->ek", along, np.linalg.inv(shear), along)
    ratio = 12.0 * stiffness * compliance / lengths**2
    return np.asarray(ratio / (1.0 + ratio))
