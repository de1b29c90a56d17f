"""Loads inside a finite element model, forces on nodes, pressure and heat, and the stresses of solids at their nodes.

Source: docs/theory/modal_body.md, section 8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.types import Floats, Ints
from femb.fem.model import FeModel
from femb.fem.solid_shapes import reference_places, shape_functions
from femb.fem.solids import DEGREE, Block, SolidStress, released_heat, stress_of

# Faces of the reference cells: three corners, such that the sides from the first to the others span the face, and that
# their product is outward.
_TETRA = ("000 010 100", "000 001 010", "000 100 001", "100 010 001")
_HEXA = ("000 010 100", "001 101 011", "000 100 001", "010 011 110", "000 001 010", "100 110 101")
_WEDGE = ("000 010 100", "001 101 011", "000 100 001", "000 001 010", "100 010 101")
FACES = {
    **dict.fromkeys(("tetra", "tetra10"), _TETRA),
    **dict.fromkeys(("hexahedron", "hexahedron20", "hexahedron27"), _HEXA),
    **dict.fromkeys(("wedge", "wedge15"), _WEDGE),
}
TRIANGLES = {"tetra": (0, 1, 2, 3), "tetra10": (0, 1, 2, 3), "wedge": (0, 1), "wedge15": (0, 1)}
ON_FACE = 1e-9


@dataclass(frozen=True, eq=False)
class InnerLoad(Brief):
    """A load of unit size: its ``force`` (n,) on the degrees of freedom of a model; where nothing moves, the ``stress``
    (N, 3, 3) Pa of the nodes under heat, and the forces (q,) of elements of a deck by their numbers, ``held``."""

    name: str
    force: Floats
    stress: Floats | None = None
    held: Mapping[int, Floats] = field(default_factory=dict)


def _fault(name: str, text: str) -> ModelError:
    return ModelError.at(("loads", name), text)


def force_on(model: FeModel, name: str, nodes: Ints, force: Sequence[float]) -> InnerLoad:
    """A force (3,) N in equal parts on nodes (m,), by row. Raises ModelError: a node that does not move."""
    dofs = model.dofs[nodes][:, :3]
    if np.any(dofs[:, np.asarray(force) != 0.0] < 0):
        raise _fault(name, "has a force on a node without this degree of freedom")
    whole = np.zeros(model.size)
    for a, value in enumerate(force):
        if value:
            np.add.at(whole, dofs[:, a], value / len(nodes))
    return InnerLoad(name, whole)


def pressure_on(model: FeModel, name: str, nodes: Ints) -> InnerLoad:
    """A pressure of 1 Pa on the faces of a solid whose nodes are all among ``nodes`` (m,), against their normals.

    Faces between two cells cancel. Raises ModelError: no face, or a model without cells.
    """
    chosen = np.zeros(len(model.nodes), dtype=bool)
    chosen[nodes] = True
    force, faces = np.zeros((len(model.nodes), 3)), 0
    for block in _blocks(model, name):
        if block.kind not in FACES:
            raise _fault(name, f"a pressure on cells of the kind {block.kind} is not known")
        places = reference_places(block.kind)
        for number, text in enumerate(FACES[block.kind]):
            corner, second, third = (np.array([float(c) for c in each]) for each in text.split())
            e, f = second - corner, third - corner
            normal = np.cross(e, f)  # as large as the face, or as twice a triangle
            own = np.flatnonzero(np.abs((places - corner) @ normal) < ON_FACE)
            rows = np.flatnonzero(np.all(chosen[block.cells[:, own]], axis=1))
            if not len(rows):
                continue
            points, weights = _on_face(number in TRIANGLES.get(block.kind, ()))
            at = corner[:, None] + e[:, None] * points[0] + f[:, None] * points[1]
            values, slopes = shape_functions(block.kind, at)
            J = np.einsum("cba,bdp->cpad", model.nodes[block.cells[rows]], slopes)
            area = np.linalg.det(J)[..., None] * (np.swapaxes(np.linalg.inv(J), -1, -2) @ normal)
            share = -np.einsum("bp,cpa,p->cba", values, area, weights)
            np.add.at(force, block.cells[rows], share)
            faces += len(rows)
    if not faces:
        raise _fault(name, "no face of a cell has all its nodes in the set: take the nodes of a face")
    return InnerLoad(name, _on_dofs(model, force))


def heat_of(model: FeModel, name: str, nodes: Ints) -> InnerLoad:
    """Nodes (m,) of a solid 1 K above the temperature without stress, the others at it; linear as the displacements.

    Raises ModelError: cells without an expansion, or a model without cells.
    """
    temperature = np.zeros(len(model.nodes))
    temperature[nodes] = 1.0
    blocks = _blocks(model, name)
    if any(
        np.any(temperature[each.cells]) and not (each.material.expansion or each.material.elastic) for each in blocks
    ):
        raise _fault(name, "heats cells without an expansion: give it, 1/K")
    force, pressure = heated(blocks, model.nodes, temperature, name)
    return InnerLoad(name, _on_dofs(model, force), -pressure[:, None, None] * np.eye(3))


def heated(
    blocks: Sequence[Block], nodes: Floats, temperature: Floats, name: str, from_cold: bool = False
) -> tuple[Floats, Floats]:
    """Forces (N, 3) of temperatures (N,) of nodes above zero, or above those without stress of their materials, and the
    pressures (N,) that hold them. Raises ModelError: anisotropic materials."""
    force, pressure, share = np.zeros((len(nodes), 3)), np.zeros(len(nodes)), np.zeros(len(nodes))
    for block in blocks:
        warm = temperature[block.cells] - (block.material.cold if from_cold else 0.0)
        if not np.any(warm):
            continue
        if block.material.elastic:
            raise _fault(name, "heats cells of an anisotropic material: their expansion is not known")
        lame, shear = block.material.lame
        per_kelvin = (3.0 * lame + 2.0 * shear) * block.material.expansion
        for part in block.parts():
            slopes, volumes = block.geometry(nodes, part)
            at_points = warm[part] @ block.values
            own = per_kelvin * np.einsum("cpab,cp,cp->cba", slopes, at_points, volumes)
            np.add.at(
                force, block.cells[part], own + released_heat(block, nodes, part, per_kelvin * at_points * volumes)
            )
            whole = volumes.sum(axis=1)[:, None]
            np.add.at(pressure, block.cells[part], per_kelvin * warm[part] * whole)
            np.add.at(share, block.cells[part], np.broadcast_to(whole, warm[part].shape))
    return force, np.divide(pressure, share, out=np.zeros_like(pressure), where=share > 0.0)


def nodal_stress(model: FeModel, shapes: Floats) -> Floats:
    """(s, N, 3, 3) Pa at the nodes of a solid by shapes (n, s): linear fits of those at the points of integration of
    each cell, their means by volume over the cells around a node. Raises ModelError: a model without cells."""
    s, count = shapes.shape[1], len(model.nodes)
    dofs = model.dofs[:, :3]
    moved = np.where((dofs >= 0)[:, :, None], shapes[dofs], 0.0)
    total, share = np.zeros((count, 3, 3, s)), np.zeros(count)
    for block in _blocks(model, "stresses"):
        C, fit = block.material.stiffness, _fit(block)
        for part in block.parts(200):
            slopes, volumes = block.geometry(model.nodes, part)
            grads = np.einsum("cpdb,cbas->cpads", slopes, moved[block.cells[part]], optimize=True)
            stress = stress_of(C, grads + grads.swapaxes(2, 3))
            own, volume = np.einsum("bp,cpads->cbads", fit, stress, optimize=True), volumes.sum(axis=1)
            np.add.at(total, block.cells[part], volume[:, None, None, None, None] * own)
            np.add.at(share, block.cells[part], np.broadcast_to(volume[:, None], block.cells[part].shape))
    return np.moveaxis(total / np.where(share > 0.0, share, 1.0)[:, None, None, None], -1, 0)


def _fit(block: Block) -> Floats:
    """(b, p): values at the nodes of a cell of the linear function that fits values at its points best."""
    points = block.points.T
    at_points, at_nodes = (np.hstack([np.ones((len(x), 1)), x]) for x in (points, reference_places(block.kind)))
    fit: Floats = at_nodes @ np.linalg.pinv(at_points)
    return fit


def _blocks(model: FeModel, name: str) -> list[Block]:
    """The cells of a solid, with the points of integration of their stiffness. Raises ModelError."""
    if not isinstance(model.stress, SolidStress):
        raise _fault(name, "needs the cells of a mesh: of matrices, give forces on nodes")
    return blocks_of(model.stress)


def blocks_of(stress: SolidStress) -> list[Block]:
    """The cells of a solid with the points of its stiffness."""
    of = stress.blocks
    return [Block.of(each.kind, each.cells, each.material, each.numbers, DEGREE[each.kind]) for each in of]


def _on_dofs(model: FeModel, force: Floats) -> Floats:
    """(n,) of forces (N, 3) on nodes."""
    own = model.component < 3
    whole = np.zeros(model.size)
    whole[own] = force[model.node_of[own], model.component[own]]
    return whole


def _on_face(triangle: bool) -> tuple[Floats, Floats]:
    """Points (2, g) of a unit triangle or square, and their weights (g,)."""
    from skfem.quadrature import get_quadrature
    from skfem.refdom import RefQuad, RefTri

    points, weights = get_quadrature(RefTri if triangle else RefQuad, 5)
    return np.asarray(points), np.asarray(weights)
