"""Mass, stiffness and stress stiffness of linear elastic solids, by the elements of scikit-fem.

Cells are isoparametric: tetrahedra of 4 and 10 nodes, hexahedra of 8, 20 and 27, wedges of 6, also mixed.
Source: docs/theory/modal_body.md, section 4; T. Gustafsson, G. D. McBain, scikit-fem, JOSS 5 (2020) 2369.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ModelError, ResultError, optional
from femb.base.mesh_files import read_mesh_file
from femb.base.types import Floats, Ints, Sparse
from femb.fem.model import FeModel, as_csc

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
DEGREE = {
    "tetra": 2, "tetra10": 4, "hexahedron": 3, "hexahedron20": 5, "hexahedron27": 5, "wedge": 3, "wedge15": 5,
    "pyramid": 3, "pyramid13": 5,
}  # fmt: skip
# Of the product of three gradients, which are linear in a tetrahedron of 10 nodes.
STRESS_DEGREE = {**DEGREE, "tetra": 1, "tetra10": 3}
LINEAR = ("tetra", "hexahedron", "wedge")
STRAINS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
CHUNK = 4000  # cells at a time


@dataclass(frozen=True)
class SolidMaterial:
    """Linear: youngs_modulus (Pa), poissons_ratio, density (kg/m3), expansion (1/K).

    elastic : by rows the stiffness (6, 6), Pa, of strains xx, yy, zz, xy, yz, zx of an anisotropic one; empty where it
    is isotropic. softened : whether hexahedra of 8 nodes bend by the incompatible modes of ``too_stiff``. cold :
    temperature without stress. Raises ModelError.
    """

    youngs_modulus: float
    poissons_ratio: float
    density: float
    expansion: float = 0.0
    elastic: tuple[float, ...] = ()
    softened: bool = False
    cold: float = 0.0

    def __post_init__(self) -> None:
        if not self.youngs_modulus > 0.0:
            raise ModelError(f"youngs_modulus: got {self.youngs_modulus:g} Pa, must be greater than 0")
        if not -1.0 < self.poissons_ratio < 0.5:
            raise ModelError(f"poissons_ratio: got {self.poissons_ratio:g}, must be between -1 and 0.5")
        if not self.density > 0.0:
            raise ModelError(f"density: got {self.density:g} kg/m3, must be greater than 0")

    @property
    def lame(self) -> tuple[float, float]:
        """Lame's constants (Pa)."""
        E, nu = self.youngs_modulus, self.poissons_ratio
        return E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), E / (2.0 * (1.0 + nu))

    @property
    def stiffness(self) -> Floats:
        """(6, 6) Pa, by strains xx, yy, zz, xy, yz, zx."""
        if self.elastic:
            return np.array(self.elastic).reshape(6, 6)
        lame, shear = self.lame
        C = np.diag([2.0 * shear] * 3 + [shear] * 3)
        C[:3, :3] += lame
        return C


@dataclass(frozen=True, eq=False)
class Block:
    """Cells (c, b) of one kind and material, with their numbers (c,) from 1 among those of the kind, with shape
    functions (b, p) and derivatives (b, 3, p) at p points (3, p) of weights (p,).
    """

    kind: str
    cells: Ints
    material: SolidMaterial
    numbers: Ints
    values: Floats
    slopes: Floats
    points: Floats
    weights: Floats

    @classmethod
    def of(cls, kind: str, cells: Ints, material: SolidMaterial, numbers: Ints, degree: int) -> "Block":
        points, weights = _quadrature(kind, degree)
        return cls(kind, cells, material, numbers, *shape_functions(kind, points), points, weights)

    def geometry(self, nodes: Floats, part: slice) -> tuple[Floats, Floats]:
        """Gradients (c, p, 3, b) of the shape functions, 1/m, and volumes (c, p) m3. Raises ModelError."""
        J = np.einsum("cba,bdp->cpad", nodes[self.cells[part]], self.slopes, optimize=True)
        det = np.linalg.det(J)
        bad = np.flatnonzero(np.any(det <= 0.0, axis=1))
        if len(bad):
            raise ModelError(
                f"mesh: cell {self.numbers[part.start + bad[0]]} of the {self.kind} cells has no positive volume at "
                f"every point ({float(det[bad[0]].min()):.3g} m3): its nodes are in another order, or it is distorted"
            )
        slopes = np.swapaxes(np.linalg.inv(J), -1, -2) @ self.slopes.transpose(2, 1, 0)[None]
        return slopes, det * self.weights

    def parts(self, most: int = CHUNK) -> list[slice]:
        """The cells in portions of at most so many."""
        return [slice(k, min(k + most, len(self.cells))) for k in range(0, len(self.cells), most)]


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


def _quadrature(kind: str, degree: int) -> tuple[Floats, Floats]:
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


def solid_model(
    nodes: Floats,
    cells: Mapping[str, Ints],
    material: SolidMaterial | Mapping[str, Sequence[SolidMaterial]],
    *,
    node_sets: Mapping[str, Ints] | None = None,
    numbers: Ints | None = None,
) -> FeModel:
    """A solid: nodes (N, 3) m, cells by their type in meshio. material : of all cells, or of every cell by type.

    Raises ModelError: no volume.
    """
    from scipy.sparse import coo_array, kron

    nodes = np.asarray(nodes, dtype=float)
    solid = {kind: np.asarray(each) for kind, each in cells.items() if kind in NODES and len(each)}
    if not solid:
        raise ModelError(
            f"mesh: has no volume: got cells of {', '.join(cells) or 'no kind'}, wanted {', '.join(NODES)}; walls and "
            "bars need properties: write bulk data or .inp, or take them into the case, `[shells]` with mesh = FILE"
        )
    parts = _by_material(solid, material)
    blocks = [Block.of(*each, DEGREE[each[0]]) for each in parts]
    used = np.unique(np.concatenate([each.cells.ravel() for each in blocks]))
    place = np.full(len(nodes), -1)
    place[used] = np.arange(len(used))
    count = len(used)
    K: Sparse = as_csc(coo_array((3 * count, 3 * count)))
    m: Sparse = as_csc(coo_array((count, count)))
    for block in blocks:
        lame, shear = block.material.lame
        for part in block.parts():
            slopes, volumes = block.geometry(nodes, part)
            own = place[block.cells[part]]
            c, b = own.shape
            me = block.material.density * np.einsum("ip,jp,cp->cij", block.values, block.values, volumes, optimize=True)
            rows = (3 * own[:, :, None] + np.arange(3)).reshape(c, -1)
            m = m + _scattered(me, own, count)
            if block.material.elastic or (block.material.softened and block.kind == "hexahedron"):
                K = K + _scattered(_general(block, nodes, part, slopes, volumes), rows, 3 * count)
                continue
            flat = np.swapaxes(slopes, -1, -2).reshape(c, len(block.weights), 3 * b)  # (c, p, b a)
            H = (np.swapaxes(flat, 1, 2) @ (flat * volumes[:, :, None])).reshape(c, b, 3, b, 3)
            Ke = lame * H + shear * H.transpose(0, 1, 4, 3, 2)
            trace = shear * np.einsum("ciaja->cij", H)
            for a in range(3):
                Ke[:, :, a, :, a] += trace
            K = K + _scattered(Ke.reshape(c, 3 * b, 3 * b), rows, 3 * count)
    mass = as_csc(kron(m, np.eye(3), format="csc"))
    node_of, component = np.repeat(used, 3), np.tile(np.arange(3), count)
    known = np.arange(1, len(nodes) + 1) if numbers is None else numbers
    strained = [Block.of(*each, STRESS_DEGREE[each[0]]) for each in parts]
    stress = SolidStress(nodes, strained, place)
    return FeModel(nodes, node_of, component, mass, as_csc(K), known, node_sets or {}, stress, solid)


def _by_material(
    cells: Mapping[str, Ints], material: SolidMaterial | Mapping[str, Sequence[SolidMaterial]]
) -> list[tuple[str, Ints, SolidMaterial, Ints]]:
    """Type, cells, material and numbers of the cells from 1, for every type and material."""
    found = []
    for kind, each in cells.items():
        own = [material] * len(each) if isinstance(material, SolidMaterial) else material[kind]
        for one in dict.fromkeys(own):
            rows = np.flatnonzero([other == one for other in own])
            found.append((kind, each[rows], one, rows + 1))
    return found


def _scattered(blocks: Floats, rows: Ints, size: int) -> Sparse:
    """Sum of element matrices (c, g, g) with rows (c, g)."""
    from scipy.sparse import coo_array

    rows = rows.astype(np.int32)
    across = np.broadcast_to(rows[:, :, None], blocks.shape), np.broadcast_to(rows[:, None, :], blocks.shape)
    return coo_array((blocks.ravel(), (across[0].ravel(), across[1].ravel())), shape=(size, size)).tocsc()


def too_stiff(model: FeModel, shape: Floats) -> tuple[str, float]:
    """Kinds of the linear cells of a solid, and the part of the strain energy of a displacement (n,) that locks.

    That is what the incompatible modes 1 - x^2 of each hexahedron, which are those of bending, release; other cells are
    not judged. Source: R. L. Taylor, P. J. Beresford, E. L. Wilson, Int. J. Num. Meth. Eng. 10 (1976) 1211.
    """
    if not isinstance(model.stress, SolidStress):
        return "", 0.0
    blocks = [block for block in model.stress.blocks if block.kind in LINEAR]
    nodal = np.zeros((len(model.nodes), 3))
    nodal[model.node_of, model.component] = shape
    released = sum(_released(block, model.nodes, nodal) for block in blocks if block.kind == "hexahedron")
    energy = float(shape @ (model.stiffness @ shape))
    return ", ".join(sorted({block.kind for block in blocks})), released / energy if energy > 0.0 else 0.0


def _general(block: Block, nodes: Floats, part: slice, slopes: Floats, volumes: Floats) -> Floats:
    """Stiffness (c, 3 b, 3 b) of any material, of hexahedra that are softened without their incompatible modes."""
    C, B = block.material.stiffness, _strains(slopes)
    K = np.einsum("cpeg,ef,cpfh,cp->cgh", B, C, B, volumes, optimize=True)
    if block.material.softened and block.kind == "hexahedron":
        _, across, follow = _following(block, nodes, part, slopes, volumes)
        K = K - np.swapaxes(across, 1, 2) @ follow
    return np.asarray(K)


def _following(
    block: Block, nodes: Floats, part: slice, slopes: Floats, volumes: Floats
) -> tuple[Floats, Floats, Floats]:
    """Strains (c, p, 6, 9), forces (c, 9, 3 b) and sizes (c, 9, 3 b) of incompatible modes by motions of the nodes."""
    C, B, G = block.material.stiffness, _strains(slopes), _incompatible(block, nodes, part)
    across = np.einsum("cpeg,ef,cpfh,cp->cgh", G, C, B, volumes, optimize=True)
    own = np.einsum("cpeg,ef,cpfh,cp->cgh", G, C, G, volumes, optimize=True)
    return G, across, np.linalg.solve(own, across)


def released_heat(block: Block, nodes: Floats, part: slice, pressure: Floats) -> Floats | float:
    """Forces (c, b, 3) that incompatible modes add to those of pressures (c, p) times volumes."""
    if not (block.material.softened and block.kind == "hexahedron"):
        return 0.0
    slopes, volumes = block.geometry(nodes, part)
    G, _, follow = _following(block, nodes, part, slopes, volumes)
    own = np.einsum("cgh,cpeg,cp->ch", follow, G[:, :, :3], pressure, optimize=True)
    return np.asarray(-own.reshape(len(pressure), -1, 3))


def _incompatible(block: Block, nodes: Floats, part: slice) -> Floats:
    """(c, p, 6, 9): strains of the modes 1 - x^2 of hexahedra."""
    J = np.einsum("cba,bdp->cpad", nodes[block.cells[part]], block.slopes, optimize=True)
    middle = np.einsum("cpad,p->cad", J, block.weights)
    # gradients by the Jacobian of the middle, so that constant strains release nothing
    shrink = np.linalg.det(middle)[:, None] / np.linalg.det(J)
    return _strains(np.einsum("cp,dp,cda->cpad", shrink, 4.0 - 8.0 * block.points, np.linalg.inv(middle)))


def _released(block: Block, nodes: Floats, nodal: Floats) -> float:
    """Twice the energy that incompatible modes release in hexahedra, at displacements (N, 3) of all nodes."""
    if block.material.softened:
        return 0.0
    C, total = block.material.stiffness, 0.0
    for part in block.parts():
        slopes, volumes = block.geometry(nodes, part)
        local = nodal[block.cells[part]].reshape(len(volumes), -1)
        stress = np.einsum("cpeg,cg->cpe", _strains(slopes), local) @ C
        G = _incompatible(block, nodes, part)
        force = np.einsum("cpeg,cpe,cp->cg", G, stress, volumes, optimize=True)
        stiff = np.einsum("cpeg,ef,cpfh,cp->cgh", G, C, G, volumes, optimize=True)
        total += float(np.einsum("cg,cg->", force, np.linalg.solve(stiff, force[..., None])[..., 0]))
    return total


def _strains(slopes: Floats) -> Floats:
    """(c, p, 6, 3 b): strains xx, yy, zz, xy, yz, zx by displacements of b nodes with gradients (c, p, 3, b)."""
    c, p, _, b = slopes.shape
    B = np.zeros((c, p, 6, b, 3))
    for row, (i, j) in enumerate(STRAINS):
        B[:, :, row, :, i] += slopes[:, :, j]
        if i != j:
            B[:, :, row, :, j] += slopes[:, :, i]
    return B.reshape(c, p, 6, 3 * b)


def stress_of(C: Floats, twice: Floats) -> Floats:
    """(..., 3, 3, f): stresses of strains, given as twice these, with a stiffness (6, 6)."""
    strain = np.stack([twice[..., i, j, :] * (0.5 if i == j else 1.0) for i, j in STRAINS], axis=-2)
    found, stress = np.matmul(C, strain), np.empty_like(twice)
    for row, (i, j) in enumerate(STRAINS):
        stress[..., i, j, :] = stress[..., j, i, :] = found[..., row, :]
    return stress


@dataclass(frozen=True, eq=False)
class SolidStress:
    """Stress stiffness of solids: int (grad a) sigma : grad b, of shapes without a matrix."""

    nodes: Floats
    blocks: list[Block]
    place: Ints

    def __call__(self, fields: Floats, shapes: Floats) -> Floats:
        """(f, s, s) of fields (n, f) and shapes (n, s)."""
        f, s = fields.shape[1], shapes.shape[1]
        G = np.zeros((f, s, s))
        both = np.hstack([fields, shapes]).reshape(-1, 3 * (f + s))
        for block in self.blocks:
            C = block.material.stiffness
            for part in block.parts(500):
                slopes, volumes = block.geometry(self.nodes, part)
                c, p, _, b = slopes.shape
                local = both[self.place[block.cells[part]]]  # (c, b, 3 (f + s))
                grads = (slopes.reshape(c, 3 * p, b) @ local).reshape(c * p, 3, 3, f + s)  # direction, component
                twice = grads[..., :f] + grads[..., :f].swapaxes(1, 2)
                stress = stress_of(C, twice) * volumes.reshape(-1)[:, None, None, None]
                own = np.ascontiguousarray(grads[..., f:]).reshape(c * p, 3, 3 * s)
                flat = own.reshape(-1, s)
                for k in range(f):
                    pulled = np.swapaxes(stress[..., k], 1, 2) @ own
                    G[k] += flat.T @ pulled.reshape(-1, s)
        return G


ANSYS = (".db", ".rst", ".full", ".emat", ".sub")


def read_mesh(
    path: str | Path,
    material: SolidMaterial | None,
    unit: float = 1.0,
    materials: Mapping[str, SolidMaterial] | None = None,
) -> FeModel:
    """A solid from the mesh in a file.

    material : of all cells that ``materials`` does not name by their cell set or physical group. unit : length of the
    mesh's unit, m: 0.001 for millimetres. Node sets are those of the file, and the nodes of its named cell sets and
    Gmsh's physical groups; nodes are numbered from 1 in the order of the file. Raises ModelError: no volume, cells of
    no or of two materials; ResultError: a file that cannot be read.
    """
    if not 0.0 < unit < np.inf:
        raise ModelError(f"unit: got {unit:g} m, must be greater than 0")
    if Path(path).suffix.lower() in ANSYS:
        raise ResultError(
            f"{path}: of the files of Ansys .cdb is read, by CDWRITE: write it, bulk data, .inp or .vtu, or mass and "
            "stiffness of all nodes as .npz or .mat"
        )
    mesh = read_mesh_file(path, NODES)
    try:
        mesh.check_nodes()
        own = _materials(mesh.cell_sets, mesh.cells, material, materials or {})
        # kinds that are not solids are named where there is no solid
        cells = {**mesh.cells, **{kind: np.zeros((1, 1), dtype=np.int64) for kind in mesh.others}}
        return solid_model(mesh.points * unit, cells, own, node_sets=mesh.node_sets, numbers=mesh.numbers)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def _materials(
    sets: Mapping[str, Mapping[str, Ints]],
    cells: Mapping[str, Ints],
    material: SolidMaterial | None,
    named: Mapping[str, SolidMaterial],
) -> SolidMaterial | dict[str, list[SolidMaterial]]:
    """The material of every cell by type, or of all."""
    if not named and material is not None:
        return material
    own: dict[str, list[SolidMaterial | None]] = {
        kind: [None] * len(each) for kind, each in cells.items() if kind in NODES
    }
    for name, each in named.items():
        if name not in sets:
            raise ModelError(f"materials: {name!r} is no cell set of the mesh, which has {', '.join(sets) or 'none'}")
        for kind, rows in sets[name].items():
            for row in rows if kind in own else ():
                known = own[kind][row]
                if known is not None and known != each:
                    raise ModelError(f"materials: cell {row + 1} of the {kind} cells is in {name!r} and another set")
                own[kind][row] = each
    found: dict[str, list[SolidMaterial]] = {}
    for kind, given in own.items():
        found[kind] = [each or material for each in given if (each or material) is not None]  # type: ignore[misc]
        if len(found[kind]) < len(given):
            raise ModelError(
                f"materials: {len(given) - len(found[kind])} of the {len(given)} {kind} cells are in none of the sets "
                f"{', '.join(named) or '(none)'}: name theirs too, or give a material for all others"
            )
    return found
