"""Appendages of femb's own beams as reduced bodies."""

import numpy as np
import pytest
from models import refuses, stiff
from shared_runs import said

from femb import (
    Attachment,
    Beam,
    ExactBeam,
    HingeLine,
    JointDriver,
    JointEnd,
    Material,
    Model,
    Revolute,
    RigidBody,
    Shell,
    modes,
)
from femb.base.errors import ModelError
from femb.elements.modal.data import read_reduced_body
from femb.fem import reduce_beams

SPIN = 3.0
EXACT = {"lag": (3.74351, 23.12649), "flap": (4.79728, 23.32026)}  # inextensible, rad/s


def cantilever(elements, direction=(1.0, 0.0, 0.0), others=0):
    """A boom of unit length, mass and bending stiffness on a hub, hardly extensible."""
    model = Model()
    model.add(RigidBody("hub", mass=10.0, inertia=1.0))
    model.add(
        stiff(1e7, 1.0, (1.0, 1.0), 1.0, (2e-8, 1e-8, 1e-8), "rod")
    )  # fmt: skip
    model.add(Beam("boom", "rod", 1.0, elements, start=Attachment("hub", direction=direction)))
    for k in range(others):
        model.add(Beam(f"other{k}", "rod", 1.0, 2, start=Attachment("hub", direction=(0.0, -1.0, float(k)))))
    return model


def spinning(body, omega):
    """Frequencies (rad/s) at a steady spin (3,) about the root, by equation (15)."""
    K = body.K - 0.5 * np.einsum("a,ijab,b->ij", omega, body.J2, omega)
    gyroscopic = np.einsum("kja,a->jk", body.Q - body.Q.transpose(1, 0, 2), omega)
    n = body.size
    rates = np.block(
        [[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(body.M, K), -np.linalg.solve(body.M, gyroscopic)]]
    )
    values = np.linalg.eigvals(rates).imag
    return np.sort(values[values > 0.0])


@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (0.0, 0.6, 0.8)])
def test_rotating_cantilever(direction):
    """Lag and flap of a spinning beam; errors fall with the square of the element's length."""
    axis = np.cross(direction, (0.3, 0.5, -0.2))
    axis = SPIN * axis / np.linalg.norm(axis)
    errors = []
    for elements in (8, 16):
        body = reduce_beams(cantilever(elements, direction), "hub", {}, 12).body
        found = spinning(body, axis)[:4]
        wanted = np.array([EXACT["lag"][0], EXACT["flap"][0], EXACT["lag"][1], EXACT["flap"][1]])
        errors.append(np.abs(found / wanted - 1.0))
    assert np.all(errors[1] < [3.5e-4, 5e-4, 2e-4, 3e-4])  # those of the table with 16 elements
    assert np.all(errors[1][:2] < 0.35 * errors[0][:2])


def of_exact_beams(elements, direction=(1.0, 0.0, 0.0)):
    """The same boom of exact beams."""
    model = Model()
    for item in cantilever(2, direction).items():
        model.add(ExactBeam("boom", "rod", 1.0, elements, start=item.start) if item.name == "boom" else item)
    return model


@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (0.0, 0.6, 0.8)])
def test_rotating_cantilever_of_exact_beams(direction):
    """They stiffen as the others do: the closed form, with errors of the same order."""
    axis = np.cross(direction, (0.3, 0.5, -0.2))
    axis = SPIN * axis / np.linalg.norm(axis)
    wanted = np.array([EXACT["lag"][0], EXACT["flap"][0], EXACT["lag"][1], EXACT["flap"][1]])
    errors = []
    for elements in (8, 16):
        found = reduce_beams(of_exact_beams(elements, direction), "hub", {}, 12)
        assert found.coupling == "full"
        errors.append(np.abs(spinning(found.body, axis)[:4] / wanted - 1.0))
    assert np.all(errors[1] < 8e-4)
    assert np.all(errors[1] < 0.3 * errors[0])
    assert found.free[0] == pytest.approx(modes(of_exact_beams(16), 1, held="hub").frequencies[0], rel=1e-6)


def test_reduced_boom_has_the_modes_of_the_model():
    model = cantilever(8, others=2)
    body = reduce_beams(model, "hub", {"tip": "beams.boom.-1"}, 12, appendage="boom")
    alone = modes(cantilever(8), 6, held="hub")
    assert body.free[:4] == pytest.approx(alone.frequencies[:4], rel=2e-4)
    assert body.body.mass == pytest.approx(1.0, rel=1e-12)
    assert body.body.interfaces[1] == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)
    clamped = reduce_beams(model, "hub", {}, 6, appendage="boom")
    assert clamped.free == pytest.approx(alone.frequencies, rel=1e-9)


@pytest.mark.parametrize(("made", "near"), [(cantilever, 1e-6), (of_exact_beams, 5e-4)])
def test_force_on_the_tip_stiffens_the_boom(made, near):
    """psi2 of the force along the boom: its foreshortening, int w'^2 for the deflection by the tip."""
    body = reduce_beams(made(8), "hub", {"tip": "beams.boom.-1"}, 0).body
    # tip displacement without rotation: w = 3 x^2 - 2 x^3, int w'^2 = 6/5
    assert -body.psi2[0, 0, 1, 1] == pytest.approx(1.2, rel=near)
    assert -body.psi2[0, 0, 5, 5] == pytest.approx(2.0 / 15.0, rel=near)


def wing(stiffness=4.0, **words):
    """Two stiff panels in a row on a hub, each on a line of hinges."""
    model, edge = Model(), {"shell": "outer", "edge": "edge4"}
    model.add(RigidBody("hub", mass=10.0, inertia=1.0))
    for k, name in enumerate(("inner", "outer")):
        corners = [[k, 0, 0], [k + 1, 0, 0], [k + 1, 0.5, 0], [k, 0.5, 0]]
        model.add(Shell(name, (3, 2), corners, thickness=0.02, material=Material(70e9, 27e9, density=1000.0), **words))
    model.add(HingeLine("root", {"body": "hub"}, {"shell": "inner", "edge": "edge4"}, stiffness=4.0))
    model.add(HingeLine("fold", {"shell": "inner", "edge": "edge2"}, edge, stiffness=stiffness))
    return model


@pytest.mark.slow
def test_panels_on_lines_of_hinges():
    """At rest and spinning, two stiff panels swing as in closed form: a double pendulum in the field of its spin."""
    found = reduce_beams(wing(), "hub", {}, 8)
    m, k = 10.0, 2.0
    inertia = m / 3.0 + m * 0.02**2 / 12.0
    M = np.array([[inertia + m, 0.5 * m], [0.5 * m, inertia]])
    K, stiffening = k * np.array([[2.0, -1.0], [-1.0, 1.0]]), m * np.diag([11.0 / 6.0, 5.0 / 6.0])
    for rate in (0.0, 2.0):
        wanted = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K + rate**2 * stiffening)).real)
        np.testing.assert_allclose(spinning(found.body, np.array([0.0, 0.0, rate]))[:2], np.sort(wanted), rtol=1e-4)
    np.testing.assert_allclose(found.free[:4], modes(wing(), 4, held="hub").frequencies, rtol=3e-6)


def test_effective_masses_of_all_modes_are_what_the_root_does_not_carry():
    """A panel clamped to the hub, whose edge moves with it: nothing is left out of all modes."""
    model, corners = Model(), [[0, 0, 0], [1, 0, 0], [1, 0.5, 0], [0, 0.5, 0]]
    model.add(RigidBody("hub", mass=10.0, inertia=1.0))
    clamped = {"edge4": "hub"}
    model.add(Shell("p", (2, 1), corners, thickness=0.1, material=Material(7e10, 2.7e10, density=1e3), attach=clamped))
    found = reduce_beams(model, "hub", {}, 24)
    assert len(found.free) == 24
    np.testing.assert_allclose(found.missing, 0.0, atol=1e-7)
    assert 0.8 < found.effective.sum(axis=0)[0] < 0.95


def test_joints_that_are_refused():
    """Without a spring, with a driver, and between two interfaces."""
    with pytest.raises(ModelError, match="'root' can move without stiffness beside the held frame, in 1 way: add the"):
        reduce_beams(wing(0.0), "hub", {}, 4)
    lines = wing(points={"near": "edge4", "far": "edge2"})
    with pytest.raises(ModelError, match="connects a and b, which"):
        reduce_beams(lines, "hub", {"a": "bodies.inner.far", "b": "bodies.outer.near"}, 4)
    model = Model()
    model.add(RigidBody("hub", mass=10.0, inertia=1.0))
    model.add(RigidBody("arm", mass=1.0, inertia=1.0, position=(1.0, 0.0, 0.0)))
    model.add(Revolute("elbow", JointEnd("hub", at=(1.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0)), JointEnd("arm")))
    model.add(JointDriver("motor", "elbow", lambda t: (0.0, 0.0, 0.0)))
    refuses("motor: moves a joint within 'elbow'", reduce_beams, model, "hub", {}, 4)


CASE = """
title = "Two panels on hinges"
[bodies.hub]
mass = 10
inertia = 1
[shells.inner]
corners = [[0, 0, 0], [1, 0, 0], [1, 0.5, 0], [0, 0.5, 0]]
elements = [3, 2]
thickness = 0.02
material = { youngs_modulus = 70e9, shear_modulus = 27e9, density = 1000 }
[shells.outer]
corners = [[1, 0, 0], [2, 0, 0], [2, 0.5, 0], [1, 0.5, 0]]
elements = [3, 2]
thickness = 0.02
material = { youngs_modulus = 70e9, shear_modulus = 27e9, density = 1000 }
points = { tip = "edge2" }
[hinges.root]
first = { body = "hub" }
second = { shell = "inner", edge = "edge4" }
stiffness = 4
[hinges.fold]
first = { shell = "inner", edge = "edge2" }
second = { shell = "outer", edge = "edge4" }
stiffness = 4
"""


@pytest.mark.slow
def test_an_appendage_of_a_case_file(tmp_path):
    """By the command as in Python; what does not apply is named."""
    case, file = tmp_path / "wing.toml", tmp_path / "wing.npz"
    case.write_text(CASE)
    chosen = ("--interfaces", "hub", "--interfaces", "tip=bodies.outer.tip", "--modes", "5")
    assert "hub (root)" in said("reduce", case, *chosen, "--out", file)
    found, wanted = read_reduced_body(file), reduce_beams(wing(points={"tip": "edge2"}), "hub", {}, 5).body
    assert found.interface_names == ("hub", "tip")
    np.testing.assert_allclose(found.frequencies()[:2], wanted.frequencies()[:2], rtol=1e-5)
    refused = said("reduce", case, *chosen, "--density", "3", "--unit", "0.001", code=2)
    assert "is a case file, to which --density, --unit does not apply; wanted --interfaces" in refused
    assert "--appendage does not apply" in said("reduce", file, "--appendage", "x", "--interfaces", "a", code=2)
    assert "got 'hab', wanted one of ground, hub" in said("reduce", case, "--interfaces", "hab", "--force", code=2)


def test_what_is_refused():
    refuses("root: got 'nothing', wanted one of ground, hub", reduce_beams, cantilever(2), "nothing", {}, 2)
    with pytest.raises(ModelError, match="appendage: got None, 'hub' has boom, other0: name one"):
        reduce_beams(cantilever(2, others=1), "hub", {}, 2)
    with pytest.raises(ModelError, match="interfaces: end: is not on 'boom'"):
        reduce_beams(cantilever(2, others=1), "hub", {"end": "beams.other0.-1"}, 2, appendage="boom")
