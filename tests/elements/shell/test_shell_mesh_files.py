"""Shells whose mesh is in a file: the same panel as by corners, patches, normals, sets, and faults by name."""

import warnings
from dataclasses import replace

import meshio
import numpy as np
import pytest
from models import of_parts, refusals, refuses, stiff
from oracles.shell import PATCH, QUADS, Supported, material, patch_fields

import femb
from femb.case import load_case
from femb.elements.shell.attachment import node_at
from femb.elements.shell.mesh import NodeSets, cylinder, mesh_of_file, quadrilateral
from femb.system.moving_ground import mass_properties
from femb.system.system import System

E, NU, RHO, H = 1e9, 0.3, 1000.0, 0.02
CORNERS = np.array([[0.5, -0.25, 0], [1.5, -0.25, 0], [1.5, 0.25, 0], [0.5, 0.25, 0]])
WALL = {"thickness": H, "material": material(E, NU, RHO)}


def written(path, nodes, quads=(), triangles=(), sets=None, **words):
    """A mesh in a file; sets : of nodes."""
    cells = [(kind, np.asarray(each)) for kind, each in (("quad", quads), ("triangle", triangles)) if len(each)]
    meshio.Mesh(np.asarray(nodes, dtype=float), cells, point_sets=sets or {}, **words).write(path)
    return path


def panel_file(path, seed=1):
    """The panel of 4 by 2 elements in millimetres, its nodes and elements in any order, from any corner on."""
    mesh, rng = quadrilateral(CORNERS, 4, 2), np.random.default_rng(seed)
    order = rng.permutation(len(mesh.nodes))
    rank = np.argsort(order)
    quads = np.array([np.roll(cell, rng.integers(4)) for cell in rng.permutation(rank[mesh.quads])])
    sets = {name: rng.permutation(rank[mesh.sets[word]]) for name, word in (("root", "edge4"), ("end", "edge2"))}
    # nodes that no element has
    nodes = np.vstack([[[7.0, 7.0, 7.0]], 1e3 * mesh.nodes[order]])
    return written(path, nodes, quads + 1, sets={name: rows + 1 for name, rows in sets.items()})


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["inp", "vtk", "bdf"])
def test_a_panel_in_a_file_is_the_panel_of_corners(tmp_path, suffix):
    """Frequencies and motion on a hub; formats without sets take the nodes of a plane."""
    path = panel_file(tmp_path / f"panel.{suffix}")
    root, end = ("root", "end") if suffix == "inp" else ("x=0.5", "x=1.5")
    shells = [
        femb.Shell("p", (4, 2), CORNERS, frame="hub", attach={"edge4": "hub"}, points={"tip": "edge2"}, **WALL),
        femb.Shell("p", mesh=path, mesh_unit=1e-3, frame="hub", attach={root: "hub"}, points={"tip": end}, **WALL),
    ]
    models = [of_parts(femb.RigidBody("hub", 10.0, (1.0, 0.7, 1.2)), shell) for shell in shells]
    first, second = (femb.modes(each, count=12).frequencies for each in models)
    # digits of coordinates in the file, and those that the eigenvalues lose
    np.testing.assert_allclose(second[6:], first[6:], rtol=1e-8)
    if suffix == "inp":
        hub = femb.RigidBody("hub", 10.0, (1.0, 0.7, 1.2), angular_velocity=(1.0, 2.0, 3.0))
        models = [of_parts(hub, shell) for shell in shells]
        motions = [femb.simulate(each, duration=5e-3, method="radau", rtol=1e-8) for each in models]
        tips = [found.bodies["p.tip"].position[-1] for found in motions]
        np.testing.assert_allclose(tips[1], tips[0], rtol=0.0, atol=1e-8)


def mixed_patch(path):
    """The patch of MacNeal and Harder with two of its five quadrilaterals cut."""
    nodes = np.column_stack([PATCH, np.zeros(8)])
    cut = QUADS[[1, 4]]
    return written(path, nodes, QUADS[[0, 2, 3]], np.vstack([cut[:, [0, 1, 2]], cut[:, [0, 2, 3]]]))


def test_mixed_patch(tmp_path):
    """Constant strains and curvatures of the outer nodes are those of the inner ones."""
    path = mixed_patch(tmp_path / "patch.vtu")
    shell = femb.Shell("p", mesh=path, thickness=1e-3, material=material(1e6, 0.25))
    mesh = shell.geometry
    assert (len(mesh.quads), len(mesh.triangles), mesh.flat) == (3, 4, True)
    fixed = np.zeros((8, 6), dtype=bool)
    fixed[:4] = True
    patch = Supported(shell, fixed)
    for wanted in patch_fields():
        found = patch.completed(wanted)
        assert np.all(np.abs(found[patch.places] - wanted) <= patch.rounding(found)[patch.places])


def test_normals_of_a_cylinder_are_means_and_those_of_a_fold_are_not(tmp_path):
    tube = cylinder(0.3, 0.5, 1.0, 2, 8)
    found = mesh_of_file(written(tmp_path / "tape.vtu", tube.nodes, tube.quads))
    inner = np.abs(tube.normals[:, 1]) < 0.45
    np.testing.assert_allclose(found.normals[inner], tube.normals[inner], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(found.corner_normals(found.quads), found.normals[found.quads], rtol=0.0, atol=1e-12)
    # an L and a T, whose web is on the flange
    nodes = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 0], [1, 0, 1], [1, 1, 1]]
    flange, web = [[0, 1, 4, 3], [1, 2, 5, 4]], [[1, 4, 7, 6]]
    for quads in (flange[:1] + web, flange + web):
        mesh = mesh_of_file(written(tmp_path / "profile.vtu", nodes, quads))
        normals = mesh.corner_normals(mesh.quads)
        assert np.all(normals[:-1] == [0.0, 0.0, 1.0])
        assert np.all(normals[-1] == [1.0, 0.0, 0.0])
        assert not mesh.flat


def test_a_folded_mesh_is_two_shells_on_an_edge(tmp_path):
    """Frequencies of an angle in one file, and of two panels that share the nodes of an edge."""
    floor = [[0, 0, 0], [1, 0, 0], [1, 0.5, 0], [0, 0.5, 0]]
    wall = [[1, 0, 0], [1, 0, 0.4], [1, 0.5, 0.4], [1, 0.5, 0]]
    parts = [quadrilateral(np.array(each, dtype=float), 3, 2) for each in (floor, wall)]
    nodes, where = np.unique(np.round(np.vstack([part.nodes for part in parts]), 9), axis=0, return_inverse=True)
    where = where.ravel()
    quads = np.vstack([where[parts[0].quads], where[parts[1].quads + len(parts[0].nodes)]])
    path = written(tmp_path / "angle.inp", nodes, quads)
    one = femb.Shell("p", mesh=path, attach={"x=0": "ground"}, direction=(1.0, 1.0, 1.0), drilling="stiff", **WALL)
    words = WALL | {"direction": (1.0, 1.0, 1.0)}
    two = [
        femb.Shell("floor", (3, 2), floor, attach={"edge4": "ground"}, **words),
        femb.Shell("wall", (3, 2), wall, attach={"edge4": {"shell": "floor", "edge": "edge2"}}, **words),
    ]
    first, second = (femb.modes(of_parts(*each), count=6).frequencies for each in ([one], two))
    np.testing.assert_allclose(first, second, rtol=1e-8)


def deflections(shell):
    """Of the corners 2 and 3 under a force on the point."""
    found = femb.static(of_parts(shell, femb.Load("f", body=f"{shell.name}.tip", force=(0, 0, 1.0))), steps=1)
    mesh = shell.geometry
    corners = [[0.8, 0.0, 0.0], [0.8, 0.5, 0.0]]
    nodes = [int(np.linalg.norm(mesh.nodes - each, axis=1).argmin()) for each in corners]
    return found.shells[shell.name].position[-1][nodes, 2]


@pytest.mark.parametrize("from_file", [False, True])
def test_a_force_in_the_middle_of_an_edge_twists_nothing(from_file, tmp_path):
    """Both corners deflect alike; with an odd number of elements there is no such node, which is refused."""
    corners = np.array([[0, 0, 0], [0.8, 0, 0], [0.8, 0.5, 0], [0, 0.5, 0]])
    words = {"thickness": 4e-3, "material": "aluminium 6061-T6"}
    for across, uneven in ((6, 1.0), (5, 1.0), *(((6, 2.0),) if from_file else ())):
        shape, edge, root = {"corners": corners, "elements": (8, across)}, "edge2", "edge4"
        if from_file:
            mesh = quadrilateral(corners, 8, across)
            mesh.nodes[:, 1] = 0.5 * (mesh.nodes[:, 1] / 0.5) ** uneven
            shape, edge, root = {"mesh": written(tmp_path / "p.inp", mesh.nodes, mesh.quads)}, "x=0.8", "x=0"
        given = {"attach": {root: "ground"}, "points": {"tip": edge}, **shape, **words}
        if (across, uneven) == (6, 1.0):
            np.testing.assert_allclose(*deflections(femb.Shell("p", **given)), rtol=1e-9)
        else:
            with pytest.raises(femb.ModelError, match=rf"points.tip: got '{edge}', in whose middle no node is; .*even"):
                femb.Shell("p", **given)


@pytest.mark.parametrize(("around", "there"), [(8, True), (7, False)])
def test_the_middle_of_an_arc_and_of_a_ring(around, there, tmp_path):
    """Of an arc of a cylinder, by its order and in a file; a ring in a file has none, one of a surface is opposite of
    its start."""
    arc, ring, disc = cylinder(1.0, 1.0, 2.0, 2, around), cylinder(1.0, 1.0, 2.0 * np.pi, 2, around), femb.Shell(
        "d", (2, around), surface={"disc": [1.0, 0.5]}, thickness=0.01, material="aluminium 6061-T6"
    ).geometry  # fmt: skip
    for mesh in (arc, replace(arc, sets=NodeSets(arc.sets, arc.nodes))):
        node = mesh.middle("edge2")
        assert isinstance(node, int) is there
        if there:
            np.testing.assert_allclose(mesh.nodes[node], [1.0, 0.0, 0.0], atol=1e-12)
    assert isinstance(replace(ring, sets=NodeSets(ring.sets, ring.nodes)).middle("edge2"), str)
    assert isinstance(disc.middle("edge2"), int) is there


def test_sets_of_a_file_carry_beams_loads_and_points(tmp_path):
    """Root load of a panel on a beam, by its own weight along a set of nodes; points on sets and planes."""
    path = panel_file(tmp_path / "panel.inp")
    shell = femb.Shell("p", mesh=path, mesh_unit=1e-3, attach={"root": "ground"}, points={"a": "end"}, **WALL)
    mesh = shell.geometry
    np.testing.assert_allclose(mesh.nodes[node_at(mesh, "end")], [1.5, 0.0, 0.0], atol=1e-12)
    assert len(mesh.segments("end")) == 2
    assert len(mesh.segments("y=0")) == 4
    loads = [
        femb.SurfaceLoad("tip", "p", edge="end", edge_force=(2.0, 0.0, 0.0)),
        femb.SurfaceLoad("line", "p", edge="y=0", edge_force=(0.0, 3.0, 0.0)),
    ]
    found = femb.static(of_parts(shell, *loads)).appendages["p"]
    np.testing.assert_allclose(found.force[-1], [1.0, 3.0, 0.0], rtol=1e-6, atol=1e-6)
    section = stiff(1e7, 1e4, (1e4, 1e4), 2.0, (0.02, 0.01, 0.01), "bar", shear_stiffness=(1e6, 1e6))
    start = femb.Attachment("ground", at=(0.5, -0.25, -0.1), direction=(1.0, 0.0, 0.0))
    beam = femb.ExactBeam("stringer", section, 1.0, 4, start=start)
    on = femb.Shell("p", mesh=path, mesh_unit=1e-3, attach={"y=-0.25": {"beam": "stringer"}}, **WALL)
    system = System(of_parts(section, beam, on))
    np.testing.assert_allclose(mass_properties(system)[0], RHO * H * 0.5 + 2.0, rtol=1e-12)
    assert len(system.layout.shells["p"].own) == 10


def test_group_of_a_file(tmp_path):
    """One of two surfaces and a volume in a file of Gmsh."""
    mesh = quadrilateral(CORNERS, 4, 2)
    nodes = np.vstack([mesh.nodes, mesh.nodes + np.array([0.0, 0.0, 1.0])])
    hexahedron = [[*mesh.quads[0], *(mesh.quads[0] + 15)]]
    cells = [("quad", mesh.quads), ("quad", mesh.quads + 15), ("hexahedron", hexahedron)]
    groups = {"gmsh:physical": [np.full(8, 1), np.full(8, 2), np.full(1, 3)]}
    groups["gmsh:geometrical"] = groups["gmsh:physical"]
    names = {"lower": [1, 2], "upper": [2, 2], "block": [3, 3]}
    path = tmp_path / "both.msh"
    whole = meshio.Mesh(nodes, cells, cell_data=groups, field_data={k: np.array(v) for k, v in names.items()})
    meshio.write(path, whole, file_format="gmsh22")
    shell = femb.Shell("p", mesh=path, group="upper", **WALL)
    assert len(shell.geometry.quads) == 8
    assert np.all(shell.geometry.nodes[:, 2] == 1.0)
    for words, message in (
        ({}, "cells of the kind hexahedron: .* or the group"),
        ({"group": "block"}, "cells of the kind hexahedron"),
        ({"group": "uper"}, "did you mean 'upper'"),
    ):
        refuses(message, femb.Shell, "p", mesh=path, **words, **WALL)


SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0], [2, 1, 0.0]])
TWO = [[0, 1, 2, 3], [1, 4, 5, 2]]


@pytest.mark.parametrize(
    ("nodes", "cells", "message"),
    [
        (SQUARE, {"quad": [[0, 1, 2, 3], [1, 2, 5, 4]]}, "on the two sides of the surface"),
        (SQUARE, {"quad": [[0, 2, 1, 3]]}, "wrong order"),
        (SQUARE, {"quad": [[0, 1, 1, 3]]}, "collapsed"),
        (SQUARE, {"triangle": [[0, 1, 4]]}, "collapsed"),
        (SQUARE, {"quad": [TWO[0], [1, 2, 3, 0]]}, "2 elements have the same nodes"),
        (SQUARE, {"line": [[0, 1]]}, "has no surface"),
        (SQUARE, {"triangle6": [[0, 1, 2, 3, 4, 5]]}, "cells of the kind triangle6: .* corners alone"),
        (np.where(SQUARE == 2.0, np.nan, SQUARE), {"quad": TWO}, "not finite"),
    ],
)
def test_bad_meshes_are_named(tmp_path, nodes, cells, message):
    path = tmp_path / "bad.vtu"
    meshio.Mesh(nodes, [(kind, np.array(each)) for kind, each in cells.items()]).write(path)
    refuses(rf"shells\.p\.mesh: .*bad\.vtu: .*{message}", femb.Shell, "p", mesh=path, **WALL)


@pytest.mark.parametrize(
    ("nodes", "quads", "message"),
    [
        (np.vstack([SQUARE, SQUARE[[1, 2]]]), [TWO[0], [6, 4, 5, 7]], "2 pairs of nodes at one place"),
        (np.vstack([SQUARE, SQUARE + np.array([5, 0, 0])]), [TWO[0], [6, 7, 8, 9]], "2 parts that no element connects"),
        (1e3 * SQUARE, TWO, "in millimetres"),
        ([*SQUARE[:4], [1, 0, 1], [1, 1, 1]], [TWO[0], [2, 5, 4, 1]], "other side behind a fold"),
    ],
)
def test_unusual_meshes_are_said(tmp_path, nodes, quads, message):
    path = written(tmp_path / "odd.vtu", nodes, quads)
    with pytest.warns(femb.FembWarning, match=message):
        femb.Shell("p", mesh=path, direction=(0.3, 1.0, 0.0), **WALL)


def test_cards_of_bulk_data_that_are_not_read_are_said(tmp_path):
    path = panel_file(tmp_path / "panel.bdf")
    cards = "CBAR,902,2,1,2,0.,0.,1.\nRBE2    903     1       123456  2       3\nCONM2*  904\nPSHELL,1,1,0.01\n"
    path.write_text(path.read_text().replace("ENDDATA", cards + "ENDDATA"))
    with pytest.warns(femb.FembWarning, match="CBAR, RBE2, CONM2, PSHELL: are not read"):
        femb.Shell("p", mesh=path, mesh_unit=1e-3, **WALL)


def test_usual_meshes_are_not_said(tmp_path):
    path = panel_file(tmp_path / "panel.inp")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        femb.Shell("p", mesh=path, mesh_unit=1e-3, **WALL)


test_bad_words_are_named = refusals(
    lambda words: femb.Shell("p", **words, **WALL),
    ({"mesh": "none.msh"}, "mesh: none.msh: .*no such file"),
    ({"mesh": "none.msh", "elements": (2, 2)}, "elements: given beside 'mesh'"),
    ({"mesh": "none.msh", "corners": CORNERS}, "wanted one of corners, surface and mesh"),
    ({"mesh": [1.0, 2.0]}, "mesh: got .*, wanted the path of a file"),
    ({"corners": CORNERS}, "elements: is missing"),
    ({"corners": CORNERS, "elements": (2, 2), "group": "a"}, "group: is that of a mesh"),
)


@pytest.mark.slow
def test_the_path_in_a_case_file_is_relative_to_it(tmp_path, monkeypatch):
    (tmp_path / "meshes").mkdir()
    panel_file(tmp_path / "meshes" / "panel.inp")
    case = tmp_path / "case.toml"
    case.write_text(
        '[shells.p]\nmesh = "meshes/panel.inp"\nmesh_unit = "1 mm"\nattach = { root = "ground" }\n'
        'thickness = "20 mm"\nmaterial = "aluminium 6061-T6"\n'
    )
    monkeypatch.chdir("/")
    shell = load_case(case).model.tables["shells"]["p"]
    assert len(shell.geometry.quads) == 8
    assert Supported(shell, np.zeros((15, 6), dtype=bool)).system.n_v == 72
