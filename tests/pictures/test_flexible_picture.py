"""Pictures and figures of flexible bodies: the boundary of their meshes, and their coordinates."""

import numpy as np
import pytest
from fem.solids import bar, brick_mesh

import femb
from femb import FlexibleBody, Model, RigidBody
from femb.fem import MeshInterface, reduce_model
from femb.fem.reduction import Keep
from femb.pictures import geometry
from femb.pictures.figures import request, rows
from femb.pictures.picture import surfaces_of


def volume_and_area(nodes, faces):
    """By the divergence theorem over fans of triangles, and the sum of their areas."""
    volume = area = 0.0
    for cells in faces:
        for k in range(1, cells.shape[1] - 1):
            a, b, c = (nodes[cells[:, j]] for j in (0, k, k + 1))
            volume += np.einsum("fa,fa->", a, np.cross(b, c)) / 6.0
            area += 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    return volume, area


@pytest.mark.parametrize("kind", ["tetra", "tetra10", "hexahedron", "hexahedron20", "hexahedron27"])
def test_outer_faces_enclose_the_solid(kind):
    nodes, cells = brick_mesh((3, 2, 2), (1.0, 0.5, 0.2), kind)
    volume, area = volume_and_area(nodes, geometry.outer_faces(kind, cells[kind]))
    assert volume == pytest.approx(0.1, rel=1e-12)
    assert area == pytest.approx(2.0 * (0.5 + 0.2 + 0.1), rel=1e-12)


def test_outer_faces_of_a_wedge():
    nodes = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]], dtype=float)
    volume, area = volume_and_area(nodes, geometry.outer_faces("wedge", np.arange(6)[None]))
    assert volume == pytest.approx(0.5)
    assert area == pytest.approx(3.0 + np.sqrt(2.0))


def test_flat_cells_have_two_faces_and_lines_none():
    (faces,) = geometry.outer_faces("quad8", np.arange(8)[None])
    assert faces.tolist() == [[0, 1, 2, 3], [3, 2, 1, 0]]
    assert geometry.outer_faces("line", np.arange(2)[None]) == []


def test_a_flexible_body_is_drawn_by_its_mesh_and_its_coordinates_are_shown(tmp_path):
    solid = bar((2, 1, 1), "hexahedron20")
    body = reduce_model(solid, [MeshInterface("root", solid.node_sets["root"])], Keep(3)).body
    model = Model()
    hub = model.add(RigidBody("hub", 1.0, 1.0))
    model.add(FlexibleBody("bar", body, start=hub.at((0.0, 0.0, 0.0))))
    model.add(
        femb.Figure("overview", ["modal_coordinates of bar | deformation of bar", "bodies/bar/modal_coordinates"])
    )
    results = femb.simulate(model, duration=1e-3, output_interval=1e-3)
    (_, surface) = surfaces_of(results, 1.0)
    volume, _ = volume_and_area(surface.points(0), surface.faces)
    assert volume == pytest.approx(0.06 * 0.04, rel=1e-9)
    assert femb.picture(results, tmp_path / "bar.png", [0.0], dpi=30).exists()
    shown = rows(results, request(results))
    assert [len(row) for row in shown] == [2, 1]
    np.testing.assert_array_equal(shown[0][0].values.shape, (2, 3))
    assert list(shown[0][0].labels) == ["1", "2", "3"]
