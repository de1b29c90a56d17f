"""Mass, stiffness and stress stiffness of linear elastic solids, by the elements of scikit-fem.

Cells are isoparametric: tetrahedra of 4 and 10 nodes, hexahedra of 8, 20 and 27, wedges of 6, also mixed.
Source: docs/theory/modal_body.md, section 4; T. Gustafsson, G. D. McBain, scikit-fem, JOSS 5 (2020) 2369.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femb.base.errors import ModelError, ResultError
from femb.base.mesh_files import read_mesh_file
from femb.base.types import Floats, Ints, Sparse
from femb.fem.model import FeModel, as_csc
from femb.fem.solid_bending import bends, bent, worked
from femb.fem.solid_shapes import NODES, STRAINS, quadrature, shape_functions

DEGREE = {
    "tetra": 2, "tetra10": 4, "hexahedron": 3, "hexahedron20": 5, "hexahedron27": 5, "wedge": 3, "wedge15": 5,
    "pyramid": 3, "pyramid13": 5,
}  # fmt: skip
# Of the product of three gradients, which are linear in a tetrahedron of 10 nodes.
STRESS_DEGREE = {**DEGREE, "tetra": 1, "tetra10": 3}
LINEAR = ("tetra", "hexahedron", "wedge")
CHUNK = 4000  # cells at a time


@dataclass(frozen=True)
class SolidMaterial:
    """Linear: youngs_modulus (Pa), poissons_ratio, density (kg/m3), expansion (1/K).

    elastic : by rows the stiffness (6, 6), Pa, of strains xx, yy, zz, xy, yz, zx of an anisotropic one; empty where it
    is isotropic. bending : of ``femb.fem.solid_bending``, "" by the shape functions alone. cold : temperature without
    stress. Raises ModelError.
    """

    youngs_modulus: float
    poissons_ratio: float
    density: float
    expansion: float = 0.0
    elastic: tuple[float, ...] = ()
    bending: str = ""
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

    @property
    def bends(self) -> bool:
        """Whether the cells have other strains than those of their shape functions."""
        return bends(self.kind, self.material.bending)

    @classmethod
    def of(cls, kind: str, cells: Ints, material: SolidMaterial, numbers: Ints, degree: int) -> "Block":
        points, weights = quadrature(kind, degree)
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
            if block.material.elastic or block.bends:
                K = K + _scattered(_general(block, nodes, part, volumes), rows, 3 * count)
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


def _general(block: Block, nodes: Floats, part: slice, volumes: Floats) -> Floats:
    """Stiffness (c, 3 b, 3 b) of any material, without the part that modes inside the cells release."""
    B, _, across, follow = _following(block, nodes, part, volumes)
    K = worked(B, block.material.stiffness, B, volumes)
    return np.asarray(K - np.swapaxes(across, 1, 2) @ follow)


def _following(
    block: Block, nodes: Floats, part: slice, volumes: Floats, bending: str = ""
) -> tuple[Floats, Floats, Floats, Floats]:
    """Strains (c, p, 6, 3 b) by motions of the nodes and (c, p, 6, m) by modes inside; forces (c, m, 3 b) and sizes
    (c, m, 3 b) of these by motions of the nodes."""
    C, x = block.material.stiffness, nodes[block.cells[part]]
    B, G = bent(block.kind, bending or block.material.bending, x, block.points, block.weights, block.points)
    across, own = (worked(G, C, each, volumes) for each in (B, G))
    return B, G, across, np.asarray(np.linalg.solve(own, across))


def released_heat(block: Block, nodes: Floats, part: slice, pressure: Floats) -> Floats | float:
    """Forces (c, b, 3) that modes inside cells add to those of pressures (c, p) times volumes."""
    if not block.bends:
        return 0.0
    _, G, _, follow = _following(block, nodes, part, block.geometry(nodes, part)[1])
    own = np.einsum("cgh,cpeg,cp->ch", follow, G[:, :, :3], pressure, optimize=True)
    return np.asarray(-own.reshape(len(pressure), -1, 3))


def _released(block: Block, nodes: Floats, nodal: Floats) -> float:
    """Twice the energy that incompatible modes release in hexahedra, at displacements (N, 3) of all nodes."""
    if block.bends:
        return 0.0
    total = 0.0
    for part in block.parts():
        _, volumes = block.geometry(nodes, part)
        local = nodal[block.cells[part]].reshape(len(volumes), -1)
        _, _, across, follow = _following(block, nodes, part, volumes, "modes")
        total += float(np.sum((across @ local[..., None]) * (follow @ local[..., None])))
    return total


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
