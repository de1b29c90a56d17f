"""Models that are refused or warned of, by name."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from fem.solids import ALUMINIUM, bar, brick_mesh
from models import refuses
from scipy.sparse import csc_array, diags_array

from femb.base.errors import FembWarning, ModelError
from femb.fem import MeshInterface, reduce_model
from femb.fem.model import FeModel, as_csc
from femb.fem.reduce import craig_bampton_body, interfaces_of
from femb.fem.reduction import Keep
from femb.fem.solids import SolidMaterial, solid_model, too_stiff
from femb.numerics.rotations import cross_matrix


@pytest.fixture(scope="module")
def model():
    return bar((2, 1, 1), "hexahedron20")


def reduced(model, count=3, **words):
    return reduce_model(model, interfaces_of(model, ["root=root"]), Keep(count), **words)


def entry(model, i, j, value):
    return as_csc(csc_array(([value], ([i], [j])), shape=(model.size, model.size)))


def test_matrices_without_symmetry(model):
    with pytest.raises(ModelError, match=r"stiffness: is not symmetric: the entries of \(node \d+, x\) and"):
        reduced(replace(model, stiffness=model.stiffness + entry(model, 0, 3, 1e9)))
    refuses("mass: is not symmetric", reduced, replace(model, mass=model.mass + entry(model, 0, 3, 1.0)))


def test_matrices_of_other_sizes(model):
    refuses("mass: got a matrix of", reduced, replace(model, mass=model.mass[:5][:, :5]))
    refuses("wanted equal squares", FeModel.of, np.zeros((2, 3)), np.eye(6), np.eye(5))
    refuses("wanted 3 or 6 rows for each node", FeModel.of, np.zeros((2, 3)), np.eye(8), np.eye(8))


def test_numbers_that_are_not_finite(model):
    with pytest.raises(ModelError, match="mass: contains numbers that are not finite"):
        reduced(replace(model, mass=model.mass + entry(model, 0, 0, np.nan)))


def test_support_that_was_left_in(model):
    with pytest.raises(ModelError, match=r"the rigid translation z strains the model: .* A support was left in"):
        reduced(replace(model, stiffness=model.stiffness + entry(model, 2, 2, 1e10)))


@pytest.mark.parametrize("stiffness", [40.0, 0.4])
def test_soft_support_that_was_left_in(stiffness):
    """Soft beside the largest stiffness, and not beside the first mode: 40 N/m make 1.30 Hz of a panel 1.35 Hz."""
    nodes, cells = brick_mesh((8, 4, 1), (2.0, 1.0, 0.006), "hexahedron20")
    panel = replace(solid_model(nodes, cells, ALUMINIUM), stress=None)
    corner = int(np.argmax(panel.nodes[panel.node_of].sum(axis=1) * (panel.component == 2)))
    free = reduce_model(panel, interfaces_of(panel, ["root=x=0"]), Keep(2))
    assert free.free[0] == pytest.approx(1.2986, rel=1e-4)
    held = replace(panel, stiffness=panel.stiffness + entry(panel, corner, corner, stiffness))
    with pytest.raises(ModelError, match=r"vibrates as a rigid one \(rotation x\) with .* a soft support or a spring"):
        reduce_model(held, interfaces_of(held, ["root=x=0"]), Keep(2))
    # the same as Craig-Bampton matrices, with a stiff mode beside it
    body, cross = free.body, cross_matrix(free.body.first_moment)
    M, K = np.eye(9), np.diag([0.0] * 8 + [1e10])
    M[:6, :6] = np.block([[body.mass * np.eye(3), -cross], [cross, body.inertia]])
    M[6:8, :6], M[6:8, 6:8], K[6:8, 6:8] = np.hstack([body.S1, body.C0]), body.M, body.K
    M[:6, 6:] = M[6:, :6].T
    assert craig_bampton_body(M, K, ["root"], np.zeros((1, 3))).frequencies()[0] == pytest.approx(free.free[0])
    K[2, 2] = stiffness
    refuses(r"vibrates as a rigid one \(rotation y\)", craig_bampton_body, M, K, ["root"], np.zeros((1, 3)))


def test_positions_in_other_units(model):
    refuses(r"the rigid rotation . strains the model", reduced, replace(model, nodes=model.nodes * [1.0, 1.0, 1000.0]))


def test_mass_of_no_body(model):
    scaled = diags_array(np.where(model.component == 0, 2.0, 1.0))
    with pytest.raises(ModelError, match="is not that of a body: node axes are not turned"):
        reduced(replace(model, mass=as_csc(model.mass @ scaled)))
    refuses(r"mass: got -6.48 kg in all", reduced, replace(model, mass=-model.mass))


def test_given_mass_properties(model):
    with pytest.warns(FembWarning, match=r"mass: the model has 6.48, given is 7"):
        reduced(model, mass=7.0)
    with pytest.warns(FembWarning, match="mass centre: the model has"):
        reduced(model, centre=np.array([0.6, 0.0, 0.0]))
    reduced(model, mass=6.5, centre=np.array([0.5, 0.0, 0.0]))


def test_mechanism_is_named_by_its_node(model):
    loose = model.size
    nodes = np.vstack([model.nodes, [[0.5, 0.5, 0.0]]])
    grown = replace(
        model, nodes=nodes, node_of=np.append(model.node_of, [len(nodes) - 1] * 3),
        component=np.append(model.component, [0, 1, 2]), mass=_grown(model.mass, 1.0),
        stiffness=_grown(model.stiffness, 0.0), numbers=np.append(model.numbers, 777), stress=None,
    )  # fmt: skip
    assert grown.size == loose + 3
    refuses("has a mechanism beside its six rigid motions: node 777", reduced, grown)


def _grown(matrix, value):
    from scipy.sparse import block_diag

    return as_csc(block_diag([matrix, value * np.eye(3)]))


def test_interfaces(model):
    corner = model.node_sets["root"]
    line = corner[model.nodes[corner, 2] == model.nodes[corner, 2].min()]
    for nodes, message in (
        (line, "root: its 3 nodes are at one point or on a line"),
        (np.zeros(0, dtype=int), "root: has no nodes"),
        (np.array([0, 10**6]), "root: names nodes outside the model"),
        (np.setdiff1d(np.arange(len(model.nodes)), model.node_of)[:1], "has no degrees of freedom"),
    ):
        refuses(message, reduce_model, model, [MeshInterface("root", nodes)], Keep(2))
    with pytest.raises(ModelError, match=r"other: shares node .* with the rigid interface 'root'"):
        reduce_model(model, [MeshInterface("root", corner), MeshInterface("other", corner)], Keep(2))
    wrong = [MeshInterface("first", np.zeros(0, dtype=int)), MeshInterface("last", line)]
    refuses(r"(?s)first: has no nodes.*last: its 3 nodes", reduce_model, model, wrong, Keep(2))
    refuses("interfaces: none is given", reduce_model, model, [], Keep(2))
    with pytest.raises(ModelError, match="every interface needs a name of its own"):
        reduce_model(model, interfaces_of(model, ["root=root", "root=tip"]), Keep(2))


def test_units(model):
    with pytest.warns(FembWarning, match=r"the first frequency is .* Hz, size 1 m, .* check the units"):
        reduced(replace(model, stiffness=model.stiffness * 1e12, stress=None))


@pytest.mark.parametrize(("scale", "unit"), [(1000.0, 1.0), (1.0, 1e-3)])
def test_sizes_and_masses_of_other_units(scale, unit):
    """Millimetres read as metres, and metres as millimetres: 1 km and 6.5e9 kg, 1 mm and 6.5e-9 kg."""
    nodes, cells = brick_mesh((2, 1, 1), kind="hexahedron20")
    with pytest.warns(FembWarning, match=r"size .* m, mass .* kg: check the units"):
        reduced(
            replace(
                solid_model(nodes * scale * unit, cells, ALUMINIUM), node_sets=bar((2, 1, 1), "hexahedron20").node_sets
            )
        )


def test_mass_that_is_light_for_its_size(model):
    """Tonnes and millimetres read as kilograms and metres: frequencies are those of the body, and 1 t is 1 kg."""
    with pytest.warns(FembWarning, match=r"size 1e\+03 m, mass 0.00648 kg: check the units"):
        reduced(
            FeModel.of(
                1e3 * model.nodes[np.unique(model.node_of)],
                model.mass / 1e3,
                model.stiffness / 1e3,
                node_sets={"root": np.flatnonzero(model.nodes[np.unique(model.node_of), 0] == 0.0)},
            )
        )


def test_loaded_directions(model):
    with pytest.warns(FembWarning, match=r"of the effective mass along x out"):
        reduced(model, loaded="x ry")
    refuses("loaded: got 'q'", reduced, model, loaded="q")


def test_sizes(model):
    wide = bar((8, 2, 2), "hexahedron20")
    refuses(r"coupling = 'full' of 201 modes needs arrays of", reduced, wide, 201)
    refuses("modes: got 1000, wanted at most", reduced, model, 1000)


def test_full_coupling_needs_a_stress_stiffness(model):
    refuses("coupling = 'full' needs the stress stiffness", reduced, replace(model, stress=None), coupling="full")


def test_number_of_modes():
    for words, message in (
        ({}, "modes: give how many to keep"),
        ({"modes": -1}, "modes: got -1"),
        ({"effective_mass": 2.0}, "wanted a part between 0 and 1"),
    ):
        refuses(message, Keep, **words)


def test_meshes_and_materials():
    nodes, cells = brick_mesh((1, 1, 1), kind="hexahedron")
    with pytest.raises(ModelError, match="mesh: has no volume: got cells of triangle"):
        solid_model(nodes, {"triangle": np.array([[0, 1, 2]])}, ALUMINIUM)
    turned = cells["hexahedron"][:, [4, 5, 6, 7, 0, 1, 2, 3]]
    for before in (0, 2):  # cells in order before the wrong one
        given = np.concatenate([*[cells["hexahedron"]] * before, turned])
        with pytest.raises(ModelError, match=f"mesh: cell {before + 1} of the hexahedron cells has no positive volume"):
            solid_model(nodes, {"hexahedron": given}, ALUMINIUM)
    for values, message in (
        ((-1.0, 0.3, 1.0), "youngs_modulus: got -1"),
        ((1.0, 0.5, 1.0), "poissons_ratio: got 0.5"),
        ((1.0, 0.3, -1.0), "density: got -1"),
    ):
        refuses(message, SolidMaterial, *values)


@pytest.mark.parametrize("counts", [(8, 1, 1), (32, 2, 2)])
def test_linear_hexahedra_that_lock(counts):
    """The warning names the error of the first frequency: against quadratic cells."""
    exact = reduced(bar((16, 2, 2), "hexahedron20")).free[0]
    with pytest.warns(FembWarning, match="mesh: its linear hexahedra lock: the first frequency is about") as caught:
        found = reduced(bar(counts, "hexahedron")).free[0]
    said = float(str(caught[0].message).split("about ")[1].split("%")[0]) / 100.0
    assert said == pytest.approx(found / exact - 1.0, rel=0.05)


def test_linear_cells_that_do_not_lock():
    """Under pull nothing is released; other linear cells are named."""
    straight = bar((2, 1, 1), "hexahedron")
    assert too_stiff(straight, straight.nodes[straight.node_of, 0] * (straight.component == 0)) == (
        "hexahedron",
        pytest.approx(0.0, abs=1e-20),
    )
    quadratic = bar((2, 1, 1), "hexahedron20")
    assert too_stiff(quadratic, np.ones(quadratic.size)) == ("", 0.0)
    with pytest.warns(FembWarning, match=r"mesh: its linear cells \(tetra\) are far too stiff in bending"):
        reduced(bar((2, 1, 1), "tetra"))


@pytest.mark.parametrize(("length", "mass"), [(4.0, 300.0), (4e3, 0.3)])
def test_a_body_without_modes_has_its_size_and_mass_judged(length, mass):
    """A plate of 4 m by 2 m as one interface: its size is the root of the polar inertia by the mass; in mm and t."""
    sides = length * np.array([1.0, 0.5, 0.0])
    inertia = mass / 12.0 * (np.sum(sides**2) - sides**2)
    M = np.diag([mass] * 3 + list(inertia))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        body = craig_bampton_body(M, np.zeros((6, 6)), ["root"], np.zeros((1, 3)))
    np.testing.assert_allclose(body.inertia, M[3:, 3:])
    size = np.sqrt(np.sum(inertia) / mass)
    wanted = [] if length == 4.0 else [f"size {size:.3g} m, mass {mass:.3g} kg: check the units"]
    assert [str(each.message).split(", which")[0] for each in said] == wanted
