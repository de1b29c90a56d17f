"""Meshes in archives of Ansys that are written here: those of the same mesh in another format, and volumes.

Public archives of Ansys are read with 6 of 12 by their solids or walls; the rest are plane or have no elements.
"""

import meshio
import numpy as np
import pytest

import femb
from femb.base.errors import FembWarning, ModelError
from femb.base.mesh_files import read_mesh_file
from femb.fem.solid_shapes import NODES, reference_places
from femb.fem.solids import SolidMaterial, read_mesh

STEEL = {"youngs_modulus": 2e11, "poissons_ratio": 0.3, "density": 7850.0}


def archive(path, points, elements, components="", node_format="(3i9,6e21.13e3)", first=1):
    """A file of points from a number on, and elements: type of its kind, material, nodes counted from 0."""
    kinds = sorted({kind for kind, _, _ in elements})
    width = 9 if node_format.startswith("(3i9") else 7
    lines = [f"ET,{k + 1},{kind}" for k, kind in enumerate(kinds)] + [f"NBLOCK,6,SOLID,{len(points)}", node_format]
    lines += [
        f"{k + first:{width}d}{0:9d}{0:9d}" + "".join(f"{x:21.13E}" for x in each) for k, each in enumerate(points)
    ]
    lines += ["N,R5.3,LOC,       -1,", f"EBLOCK,19,SOLID,{len(elements)}", "(19i9)"]
    for e, (kind, material, nodes) in enumerate(elements):
        head = [material, kinds.index(kind) + 1, 1, 1, 0, 0, 0, 0, len(nodes), 0, e + 1]
        row = [*head, *(-1 if k is None else k + first for k in nodes)]
        row = [0 if k == -1 else k for k in row]
        lines += ["".join(f"{k:9d}" for k in row[i:j]) for i, j in ((0, 19), (19, 40)) if row[i:j]]
    path.write_text("\n".join([*lines, "       -1", components, "FINISH", ""]))
    return path


def test_a_bar_of_an_archive_is_that_of_another_format(tmp_path):
    x, y, z = np.meshgrid(np.linspace(0.0, 0.4, 5), [-0.05, 0.0, 0.05], [-0.025, 0.0, 0.025], indexing="ij")
    places = np.array([*map(int, "000200220020002202222022100210120010102212122012001201221021")]).reshape(20, 3)
    first = places @ [9, 3, 1]
    nodes = np.column_stack([x.ravel(), y.ravel(), z.ravel()])
    cells = np.array([first, first + 18])
    meshio.Mesh(nodes, [("hexahedron20", cells)]).write(tmp_path / "bar.vtu")
    root = [101, 102, 103, 104, 106, 107, 108, 109]  # x = 0, of which no element has the middle
    text = "CMBLOCK,ROOT,NODE,       4\n(8i10)\n       101      -104       106      -109"
    for form in ("(3i9,6e21.13e3)", "(1i7,2i9,6e21.13)"):
        file = archive(tmp_path / "bar.cdb", nodes, [(186, 1, own) for own in cells.tolist()], text, form, 101)
        found, wanted = (
            femb.fem.reduce_mesh(path, [f"root={where}"], 3, **STEEL)
            for path, where in ((file, "ROOT"), (tmp_path / "bar.vtu", "x=0"))
        )
        np.testing.assert_allclose(found.free, wanted.free, rtol=1e-9)
    by_number = femb.fem.reduce_mesh(file, [f"root={','.join(map(str, root))}"], 3, **STEEL)
    np.testing.assert_allclose(by_number.free, wanted.free, rtol=1e-9)


CORNERS = {  # volume, by the corners of a hexahedron that are one
    "hexahedron": (1.0, [0, 1, 2, 3, 4, 5, 6, 7]), "wedge": (0.5, [0, 1, 2, 2, 4, 5, 6, 6]),
    "pyramid": (1.0 / 3.0, [0, 1, 2, 3, 4, 4, 4, 4]), "tetra": (1.0 / 6.0, [0, 1, 2, 2, 4, 4, 4, 4]),
}  # fmt: skip
SIDES = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)]


@pytest.mark.parametrize("kind", CORNERS)
@pytest.mark.parametrize("quadratic", [False, True])
def test_hexahedra_with_corners_that_are_one_are_other_cells(tmp_path, kind, quadratic):
    volume, corners = CORNERS[kind]
    points = [*reference_places("hexahedron").tolist()]
    nodes, middle = list(corners), dict[tuple[int, int], int]()
    for a, b in SIDES if quadratic else []:
        pair = tuple(sorted((corners[a], corners[b])))
        if pair[0] != pair[1] and pair not in middle:
            middle[pair] = len(points)
            points.append((0.5 * (np.array(points[pair[0]]) + points[pair[1]])).tolist())
        nodes.append(middle[pair] if pair[0] != pair[1] else pair[0])
    file = archive(tmp_path / "a.cdb", points, [(186 if quadratic else 185, 7, nodes)])
    model = read_mesh(file, SolidMaterial(2e11, 0.3, 1.0))
    rigid = model.rigid_motions(np.zeros(3))
    np.testing.assert_allclose((rigid.T @ model.mass @ rigid)[0, 0], volume, rtol=1e-9)
    assert np.abs(model.stiffness @ rigid).max() < 1e-3
    mesh = read_mesh_file(file, NODES)
    assert {name: [*own] for name, own in mesh.cell_sets.items()} == {"material 7": [*mesh.cells]}


def test_walls_and_other_elements_of_an_archive(tmp_path):
    points = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0]]
    elements = [(181, 1, [0, 1, 2, 3]), (181, 2, [1, 4, 2, 2]), (154, 1, [0, 1, 2, 3])]
    text = "CMBLOCK,OUTER,ELEM,       1\n(8i10)\n         2"
    file = archive(tmp_path / "a.cdb", points, elements, text)
    with pytest.warns(FembWarning, match="left out: elements of type 154"):
        mesh = read_mesh_file(file, ("quad", "triangle"))
    assert {kind: own.tolist() for kind, own in mesh.cells.items()} == {"quad": [[0, 1, 2, 3]], "triangle": [[1, 4, 2]]}
    assert mesh.node_sets["OUTER"].tolist() == [1, 2, 4]
    with pytest.raises(ModelError, match="has no volume: got cells of type 154, quad, triangle"):
        read_mesh(file, SolidMaterial(2e11, 0.3, 1.0))


def test_what_is_wrong_in_an_archive_is_named(tmp_path):
    cube = reference_places("hexahedron").tolist()
    wrong = [*range(8), *range(8, 19), None]
    some = archive(tmp_path / "a.cdb", cube + cube + cube[:3], [(186, 1, wrong)])
    with pytest.raises(ModelError, match="element 1 has nodes in the middle of some sides alone"):
        read_mesh(some, SolidMaterial(2e11, 0.3, 1.0))
    missing = archive(tmp_path / "b.cdb", cube, [(185, 1, [*range(7), 20])])
    with pytest.raises(ModelError, match="name nodes that are not among the 8 nodes"):
        read_mesh(missing, SolidMaterial(2e11, 0.3, 1.0))
    (tmp_path / "c.cdb").write_text("ET,1\nNBLOCK\n")
    with pytest.raises(femb.FembError, match="cannot be read as a mesh"):
        read_mesh(tmp_path / "c.cdb", SolidMaterial(2e11, 0.3, 1.0))
