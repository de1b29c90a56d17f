"""Strains of hexahedra and wedges that bend: by incompatible modes, or with NASTRAN's reduced shear and bubbles.

Sources: R. L. Taylor, P. J. Beresford, E. L. Wilson, Int. J. Num. Meth. Eng. 10 (1976) 1211; R. H. MacNeal, Finite
Elements: Their Design and Performance, 1994; the fields are those of stresses that NASTRAN prints.
"""

import numpy as np

from femb.base.types import Floats
from femb.fem.solid_shapes import shape_functions, strains, turned_strains

# Shears xy, yz and zx of a hexahedron vary along the third axis alone.
_ALONG = ((3, 2), (4, 0), (5, 1))
_GAUSS = 0.5 + (np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]).T / np.sqrt(12.0))
_MIDDLES = np.array([[0.5, 0.5, 0.5], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]).T


def bends(kind: str, bending: str) -> bool:
    """Whether cells of a kind have other strains than those of their shape functions."""
    return kind in {"modes": ("hexahedron",), "": ()}.get(bending, ("hexahedron", "wedge", "hexahedron20"))


def bent(kind: str, bending: str, x: Floats, own: Floats, weights: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Strains (c, p, 6, 3 b) by motions of nodes (c, b, 3), and (c, p, 6, m) by modes inside, at points (3, p).

    own, weights : points of integration of the cells. bending : "modes", "bubbles", or "shear" without modes inside.
    """
    own_jacobian, own_det, own_plain = _plain(kind, x, own)
    _, det, plain = (own_jacobian, own_det, own_plain) if at is own else _plain(kind, x, at)
    if not bends(kind, bending):
        return plain, np.zeros((*plain.shape[:3], 0))
    middle = np.einsum("cpad,p->cad", own_jacobian, weights / weights.sum())
    if bending == "modes":
        # gradients by the Jacobian of the middle, so that constant strains release nothing
        shrink = (np.linalg.det(middle)[:, None] / det)[:, :, None, None]
        along = np.zeros((at.shape[1], 3, 3))
        along[:, range(3), range(3)] = (4.0 - 8.0 * at).T
        return plain, strains(shrink * np.swapaxes(along @ np.linalg.inv(middle)[:, None], -1, -2))
    R = _wedge_axes(middle) if kind == "wedge" else _nearest(middle)
    local = x @ R
    across = np.swapaxes(R, 1, 2)
    _, _, of_own = _plain(kind, local, own)
    B = of_own.copy() if at is own else _plain(kind, local, at)[2]
    shrink = np.linalg.det(middle)[:, None] / det
    if kind == "wedge":
        _wedge_shear(local, B, at)
        G = _wedge_bubbles(np.linalg.inv(across @ middle), shrink, at)
    else:
        if kind == "hexahedron":
            _hexahedron_shear(B, at, of_own, own, own_det * weights)
            G = _hexahedron_bubbles(shrink, at)
        else:
            B[:, :, 3:] = np.einsum("kp,ckef->cpef", _linear(at), _plain(kind, local, _GAUSS)[2][:, :, 3:])
            G = np.zeros((*B.shape[:3], 0))
    if bending == "shear":
        G = G[..., :0]
    back = turned_strains(across)[:, None]
    c, p, _, n = B.shape
    B = (B.reshape(c, p, 6, n // 3, 3) @ across[:, None, None]).reshape(B.shape)
    return back @ B, back @ G


def worked(A: Floats, C: Floats, B: Floats, volumes: Floats) -> Floats:
    """(c, g, h): work of strains (c, p, 6, g) with the stresses of strains (c, p, 6, h), of volumes (c, p)."""
    stress = (C @ B) * volumes[:, :, None, None]
    c, p = volumes.shape
    return np.asarray(np.swapaxes(A.reshape(c, 6 * p, -1), 1, 2) @ stress.reshape(c, 6 * p, -1))


def _plain(kind: str, x: Floats, at: Floats) -> tuple[Floats, Floats, Floats]:
    """Jacobians (c, p, 3, 3), their determinants, and strains (c, p, 6, 3 b) by the shape functions."""
    slopes = shape_functions(kind, at)[1]
    jacobian = np.einsum("cba,bdp->cpad", x, slopes, optimize=True)
    gradients = np.swapaxes(np.linalg.inv(jacobian), -1, -2) @ slopes.transpose(2, 1, 0)[None]
    return jacobian, np.linalg.det(jacobian), strains(gradients)


def _nearest(middle: Floats) -> Floats:
    """Axes (c, 3, 3), columns, nearest to the three directions of each cell."""
    U, _, V = np.linalg.svd(middle)
    return np.asarray(U @ V)


def _wedge_axes(middle: Floats) -> Floats:
    """Axes (c, 3, 3) of wedges: z normal to their middle triangle, x along its first side."""
    x = middle[:, :, 0] / np.linalg.norm(middle[:, :, 0], axis=1)[:, None]
    z = np.cross(middle[:, :, 0], middle[:, :, 1])
    z /= np.linalg.norm(z, axis=1)[:, None]
    return np.stack([x, np.cross(z, x), z], axis=-1)


def _linear(at: Floats) -> Floats:
    """(8, p): linear functions along each axis with 1 at a point of Gauss."""
    return np.asarray(np.prod(0.5 + 6.0 * (at - 0.5)[:, None, :] * (_GAUSS - 0.5)[:, :, None], axis=0))


def _hexahedron_shear(B: Floats, at: Floats, of_own: Floats, own: Floats, volumes: Floats) -> None:
    """Shears by their linear fits along one axis, which keep their means."""
    for row, axis in _ALONG:
        P, wanted = (np.stack([np.ones(each.shape[1]), each[axis] - 0.5], axis=1) for each in (own, at))
        square = np.einsum("pi,pj,cp->cij", P, P, volumes)
        sums = np.einsum("pi,cpg,cp->cig", P, of_own[:, :, row], volumes, optimize=True)
        B[:, :, row] = np.einsum("pi,cig->cpg", wanted, np.linalg.solve(square, sums))


def _hexahedron_bubbles(shrink: Floats, at: Floats) -> Floats:
    """(c, p, 6, 9): along each axis the strain x, and its products with the two other places."""
    place, G = 2.0 * at - 1.0, np.zeros((*shrink.shape, 6, 9))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        G[:, :, i, 3 * i : 3 * i + 3] = (
            shrink[:, :, None] * (place[i] * np.stack([place[i] ** 0, place[j], place[k]])).T
        )
    return G


def _wedge_shear(x: Floats, B: Floats, at: Floats) -> None:
    """Shears zx and yz by those along the sides of the middle triangle: two constants, and sum L_i t_i of the places
    L_i of the corners and the directions t_i of the sides across from them."""
    corners = 0.5 * (x[:, :3, :2] + x[:, 3:, :2])
    t = corners[:, [2, 0, 1]] - corners[:, [1, 2, 0]]
    t /= np.linalg.norm(t, axis=2)[:, :, None]

    def fields(points: Floats) -> Floats:
        L = np.stack([1.0 - points[0] - points[1], points[0], points[1]]) - 1.0 / 3.0
        found = np.zeros((len(x), points.shape[1], 2, 3))
        found[:, :, 0, 0] = found[:, :, 1, 1] = 1.0
        found[:, :, :, 2] = np.einsum("cia,ip->cpa", t, L)
        return found

    along = np.einsum("cia,ciag->cig", t, _plain("wedge", x, _MIDDLES)[2][:, :, [5, 4]])
    sizes = np.linalg.solve(np.einsum("cia,ciak->cik", t, fields(_MIDDLES)), along)
    B[:, :, [5, 4]] = fields(at) @ sizes[:, None]


def _wedge_bubbles(inverse: Floats, shrink: Floats, at: Floats) -> Floats:
    """(c, p, 6, 3): strains of L1 L2 + L2 L3 + L3 L1 in the plane, and of 1 - z^2 across it."""
    r, s, z = at
    slopes = np.stack([1.0 - 2.0 * r - s, 1.0 - r - 2.0 * s, 0.0 * z], axis=1)
    a = np.einsum("pd,cda->cpa", slopes, inverse) * shrink[:, :, None]
    G = np.zeros((*shrink.shape, 6, 3))
    G[:, :, 0, 0] = G[:, :, 3, 1] = a[:, :, 0]
    G[:, :, 3, 0] = G[:, :, 1, 1] = a[:, :, 1]
    G[:, :, 2, 2] = (2.0 * z - 1.0) * shrink
    return G
