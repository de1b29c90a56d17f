"""Solids of several materials, by the cell sets of their mesh."""

import meshio
import numpy as np
import pytest
from fem.solids import brick_mesh
from scipy.optimize import brentq
from shared_runs import said

import femb
from femb.base.errors import ModelError

FIRST, SECOND = (7e10, 0.0, 2700.0), (1e10, 0.0, 1500.0)
WORDS = dict(zip(("youngs_modulus", "poissons_ratio", "density"), FIRST, strict=True))


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    """A rod of 1 m in ten bricks, the first four in the set near and the others in far."""
    nodes, cells = brick_mesh((10, 1, 1), (1.0, 0.1, 0.1), "hexahedron20")
    used, own = np.unique(cells["hexahedron20"], return_inverse=True)
    own = own.reshape(-1, 20)
    places = nodes[used]
    near = np.flatnonzero(places[own].mean(axis=1)[:, 0] < 0.4)
    far = np.setdiff1d(np.arange(len(own)), near)
    path = tmp_path_factory.mktemp("rod") / "rod.inp"
    meshio.Mesh(places, [("hexahedron20", own)], cell_sets={"near": [near], "far": [far]}).write(path)
    return path


def axial(found):
    """The first frequency along the rod."""
    return found.free[np.flatnonzero(found.effective[:, 0] > 0.3)[0]]


def test_a_rod_of_two_materials_has_its_axial_frequency(mesh):
    """sin(w x/c1) up to the joint, cos(w (L - x)/c2) beyond, with equal displacement and force."""
    found = femb.fem.reduce_mesh(mesh, ["root=x=0"], 12, materials={"near": FIRST, "far": SECOND})
    assert found.body.mass == pytest.approx(0.01 * (0.4 * FIRST[2] + 0.6 * SECOND[2]), rel=1e-12)
    (c1, z1), (c2, z2) = ((np.sqrt(E / rho), np.sqrt(E * rho)) for E, _, rho in (FIRST, SECOND))
    wanted = brentq(lambda w: np.tan(0.4 * w / c1) * np.tan(0.6 * w / c2) - z1 / z2, 1.0, 0.999 * np.pi * c2 / 1.2)
    assert axial(found) == pytest.approx(wanted / (2.0 * np.pi), rel=1e-5)


def test_equal_materials_are_one(mesh):
    one = femb.fem.reduce_mesh(mesh, ["root=x=0"], 4, **WORDS).body
    for words in ({"materials": {"near": FIRST, "far": FIRST}}, {"materials": {"far": FIRST}, **WORDS}):
        both = femb.fem.reduce_mesh(mesh, ["root=x=0"], 4, **words).body
        np.testing.assert_allclose(both.frequencies(), one.frequencies(), rtol=1e-9)
        np.testing.assert_allclose(both.inertia, one.inertia, rtol=0.0, atol=1e-12)


def test_the_option_and_its_messages(mesh, tmp_path):
    def run(*words, code=0):
        out = ["--out", tmp_path / "rod.npz", "--quiet", "--force"]
        return said("reduce", mesh, "--interfaces", "root=x=0", "--modes", "2", *words, *out, code=code)

    both = ["--material", "near=7e10,0,2700", "--material", "far=1e10,0,1500"]
    run(*both)
    assert femb.fem.read_reduced_body(tmp_path / "rod.npz").mass == pytest.approx(19.8, rel=1e-12)
    run(*both[:2], "-E", "1e10", "--poissons-ratio", "0", "--density", "1500")
    assert femb.fem.read_reduced_body(tmp_path / "rod.npz").mass == pytest.approx(19.8, rel=1e-12)
    assert "6 of the 10 hexahedron20 cells are in none of the sets near" in run(*both[:2], code=2)
    assert "--material near=7e10: wanted SET=E,NU,RHO" in run("--material", "near=7e10", code=2)
    assert "--density: is missing" in run("-E", "7e10", code=2)
    assert "'middle' is no cell set of the mesh, which has near, far" in run("--material", "middle=7e10,0,1", code=2)
    with pytest.raises(ModelError, match="density: missing; give youngs_modulus"):
        femb.fem.reduce_mesh(mesh, ["root=x=0"], 2, youngs_modulus=7e10, poissons_ratio=0.3)
