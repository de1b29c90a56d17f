"""Models that are refused or warned of, by name. Source: docs/theory/modal_body.md, section 12."""

from dataclasses import replace

import numpy as np
import pytest
from analysis.fem.solids import ALUMINIUM, bar, brick_mesh
from scipy.sparse import csc_array, diags_array

from femb import MeshInterface, reduce_model
from femb.analysis.fem.model import FeModel, as_csc
from femb.analysis.fem.nodes_of import interfaces_of
from femb.analysis.fem.reduction import Keep
from femb.analysis.fem.solids import Material, solid_model
from femb.base.errors import FembWarning, ModelError


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
    with pytest.raises(ModelError, match="mass: is not symmetric"):
        reduced(replace(model, mass=model.mass + entry(model, 0, 3, 1.0)))


def test_matrices_of_other_sizes(model):
    with pytest.raises(ModelError, match="mass: got a matrix of"):
        reduced(replace(model, mass=model.mass[:5][:, :5]))
    with pytest.raises(ModelError, match="wanted equal squares"):
        FeModel.of(np.zeros((2, 3)), np.eye(6), np.eye(5))
    with pytest.raises(ModelError, match="wanted 3 or 6 rows for each node"):
        FeModel.of(np.zeros((2, 3)), np.eye(8), np.eye(8))


def test_numbers_that_are_not_finite(model):
    with pytest.raises(ModelError, match="mass: contains numbers that are not finite"):
        reduced(replace(model, mass=model.mass + entry(model, 0, 0, np.nan)))


def test_support_that_was_left_in(model):
    with pytest.raises(ModelError, match=r"the rigid translation z strains the model: .* A support was left in"):
        reduced(replace(model, stiffness=model.stiffness + entry(model, 2, 2, 1e10)))


def test_positions_in_other_units(model):
    with pytest.raises(ModelError, match=r"the rigid rotation . strains the model"):
        reduced(replace(model, nodes=model.nodes * [1.0, 1.0, 1000.0]))


def test_mass_of_no_body(model):
    scaled = diags_array(np.where(model.component == 0, 2.0, 1.0))
    with pytest.raises(ModelError, match="is not that of a body: node axes are not turned"):
        reduced(replace(model, mass=as_csc(model.mass @ scaled)))
    with pytest.raises(ModelError, match=r"mass: got -6.48 kg in all"):
        reduced(replace(model, mass=-model.mass))


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
        model,
        nodes=nodes,
        node_of=np.append(model.node_of, [len(nodes) - 1] * 3),
        component=np.append(model.component, [0, 1, 2]),
        mass=_grown(model.mass, 1.0),
        stiffness=_grown(model.stiffness, 0.0),
        numbers=np.append(model.numbers, 777),
        stress=None,
    )
    assert grown.size == loose + 3
    with pytest.raises(ModelError, match="has a mechanism beside its six rigid motions: node 777"):
        reduced(grown)


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
        with pytest.raises(ModelError, match=message):
            reduce_model(model, [MeshInterface("root", nodes)], Keep(2))
    with pytest.raises(ModelError, match=r"other: shares node .* with the rigid interface 'root'"):
        reduce_model(model, [MeshInterface("root", corner), MeshInterface("other", corner)], Keep(2))
    with pytest.raises(ModelError, match="interfaces: none is given"):
        reduce_model(model, [], Keep(2))
    with pytest.raises(ModelError, match="every interface needs a name of its own"):
        reduce_model(model, interfaces_of(model, ["root=root", "root=tip"]), Keep(2))


def test_units(model):
    with pytest.warns(FembWarning, match=r"the first frequency is .* Hz, size 1 m, .* check the units"):
        reduced(replace(model, stiffness=model.stiffness * 1e12, stress=None))


def test_loaded_directions(model):
    with pytest.warns(FembWarning, match=r"of the effective mass along x out"):
        reduced(model, loaded="x ry")
    with pytest.raises(ModelError, match="loaded: got 'q'"):
        reduced(model, loaded="q")


def test_sizes(model):
    wide = bar((8, 2, 2), "hexahedron20")
    with pytest.raises(ModelError, match=r"coupling = 'full' of 201 modes needs arrays of"):
        reduced(wide, 201)
    with pytest.raises(ModelError, match="modes: got 1000, wanted at most"):
        reduced(model, 1000)


def test_full_coupling_needs_a_stress_stiffness(model):
    with pytest.raises(ModelError, match="coupling = 'full' needs the stress stiffness"):
        reduced(replace(model, stress=None), coupling="full")


def test_number_of_modes():
    for words, message in (
        ({}, "modes: give how many to keep"),
        ({"modes": -1}, "modes: got -1"),
        ({"effective_mass": 2.0}, "wanted a part between 0 and 1"),
    ):
        with pytest.raises(ModelError, match=message):
            Keep(**words)


def test_meshes_and_materials():
    nodes, cells = brick_mesh((1, 1, 1), kind="hexahedron")
    with pytest.raises(ModelError, match="mesh: has no volume: got cells of triangle"):
        solid_model(nodes, {"triangle": np.array([[0, 1, 2]])}, ALUMINIUM)
    with pytest.raises(ModelError, match="mesh: cell 1 of the hexahedron cells has no positive volume"):
        solid_model(nodes, {"hexahedron": cells["hexahedron"][:, [4, 5, 6, 7, 0, 1, 2, 3]]}, ALUMINIUM)
    for values, message in (
        ((-1.0, 0.3, 1.0), "youngs_modulus: got -1"),
        ((1.0, 0.5, 1.0), "poissons_ratio: got 0.5"),
        ((1.0, 0.3, -1.0), "density: got -1"),
    ):
        with pytest.raises(ModelError, match=message):
            Material(*values)
