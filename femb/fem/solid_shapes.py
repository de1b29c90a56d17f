"""Shape functions, points of integration and strains of solid cells, by the elements of scikit-fem.

Source: T. Gustafsson, G. D. McBain, scikit-fem, JOSS 5 (2020) 2369.
"""

from typing import Any

import numpy as np

from femb.base.errors import optional
from femb.base.types import Floats

_HEXA = ["000", "100", "110", "010", "001", "101", "111", "011"]
_HEXA_EDGES = ["h00", "1h0", "h10", "0h0", "h01", "1h1", "h11", "0h1", "00h", "10h", "11h", "01h"]
# Reference places of the nodes of cells in the order of VTK and meshio; h is one half.
NODES: dict[str, tuple[str, list[str]]] = {
    "tetra": ("ElementTetP1", ["000", "100", "010", "001"]),
    "tetra10": ("ElementTetP2", ["000", "100", "010", "001", "h00", "hh0", "0h0", "00h", "h0h", "0hh"]),
    "hexahedron": ("ElementHex1", _HEXA),
    "hexahedron20": ("ElementHexS2", _HEXA + _HEXA_EDGES),
    "hexahedron27": ("ElementHex2", _HEXA + _HEXA_EDGES + ["0hh", "1hh", "h0h", "h1h", "hh0", "hh1", "hhh"]),
    "wedge": ("ElementWedge1", ["000", "100", "010", "001", "101", "011"]),
    "wedge15": (
        "ElementWedge1",
        ["000", "100", "010", "001", "101", "011", "h00", "hh0", "0h0", "h01", "hh1", "0h1", "00h", "10h", "01h"],
    ),
    # hexahedra of which a face is one node
    "pyramid": ("ElementHex1", [*_HEXA[:4], "hh1"]),
    "pyramid13": ("ElementHexS2", [*_HEXA[:4], "hh1", *_HEXA_EDGES[:4], *_HEXA_EDGES[8:]]),
}
STRAINS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))


def reference_places(kind: str) -> Floats:
    """(b, 3): the nodes of a cell in the reference cell."""
    return np.array([[0.5 if c == "h" else float(c) for c in place] for place in NODES[kind][1]])


def shape_functions(kind: str, points: Floats) -> tuple[Floats, Floats]:
    """Values (b, p) and derivatives (b, 3, p) of the shape functions at points (3, p) of the reference cell."""
    if kind == "wedge15":
        # derivatives by imaginary steps, which are exact
        steps = [_wedge15(points + 1e-30j * np.eye(3)[:, a : a + 1]).imag / 1e-30 for a in range(3)]
        return _wedge15(points), np.stack(steps, axis=1)
    if kind.startswith("pyramid"):
        whole = kind == "pyramid13"
        top, rest = ([4, 5, 6, 7, 12, 13, 14, 15], [8, 9, 10, 11, 16, 17, 18, 19]) if whole else ([4, 5, 6, 7], [])
        first, second = (
            np.concatenate([each[:4], each[top].sum(axis=0, keepdims=True), each[rest]])
            for each in shape_functions("hexahedron20" if whole else "hexahedron", points)
        )
        return first, second
    element = getattr(_skfem(), NODES[kind][0])()
    wanted = reference_places(kind)
    order = [int(np.argmin(np.linalg.norm(element.doflocs - place, axis=1))) for place in wanted]
    parts, count = [element.lbasis(points, i) for i in order], points.shape[1]
    values = np.array([np.broadcast_to(value, (count,)) for value, _ in parts])
    slopes = np.array([np.broadcast_to(slope, (3, count)) for _, slope in parts])
    return values, slopes


def quadrature(kind: str, degree: int) -> tuple[Floats, Floats]:
    """Points (3, p) and weights (p,) of a reference cell."""
    skfem = _skfem()
    from skfem.quadrature import get_quadrature

    if not kind.startswith("wedge"):
        return get_quadrature(getattr(skfem, NODES[kind][0])().refdom, degree)  # type: ignore[no-any-return]
    # of a triangle and a line, as those of scikit-fem 12 do not fill a wedge
    (plane, of_plane), (line, of_line) = (
        get_quadrature(each, degree) for each in (skfem.refdom.RefTri, skfem.refdom.RefLine)
    )
    points = np.vstack([np.repeat(plane, len(of_line), axis=1), np.tile(line, len(of_plane))])
    return points, np.repeat(of_plane, len(of_line)) * np.tile(of_line, len(of_plane))


def _wedge15(points: Any) -> Any:
    """(15, p) of a wedge: corners, sides below, above, and between."""
    r, s, t = points
    L, up, down = [1.0 - r - s, r, s], t, 1.0 - t
    corners = [L[i] * (2.0 * L[i] - 1.0) * h - 2.0 * L[i] * up * down for h in (down, up) for i in range(3)]
    sides = [4.0 * L[i] * L[(i + 1) % 3] * h for h in (down, up) for i in range(3)]
    return np.array(corners + sides + [4.0 * L[i] * up * down for i in range(3)])


def _skfem() -> Any:
    return optional("skfem", "fem", "meshes are assembled by scikit-fem, which is not installed")


def strains(slopes: Floats) -> Floats:
    """(c, p, 6, 3 b): strains xx, yy, zz, xy, yz, zx by displacements of b nodes with gradients (c, p, 3, b)."""
    c, p, _, b = slopes.shape
    B = np.zeros((c, p, 6, b, 3))
    for row, (i, j) in enumerate(STRAINS):
        B[:, :, row, :, i] += slopes[:, :, j]
        if i != j:
            B[:, :, row, :, j] += slopes[:, :, i]
    return B.reshape(c, p, 6, 3 * b)


def turned_strains(axes: Floats) -> Floats:
    """(..., 6, 6): strains in axes (..., 3, 3), columns, by those outside; shears are twice the components."""
    T = np.zeros((*axes.shape[:-2], 6, 6))
    for row, (i, j) in enumerate(STRAINS):
        for column, (p, q) in enumerate(STRAINS):
            own = axes[..., p, i] * axes[..., q, j] + (axes[..., q, i] * axes[..., p, j] if p != q else 0.0)
            T[..., row, column] = own * (0.5 if p != q else 1.0) * (1.0 if i == j else 2.0)
    return T
