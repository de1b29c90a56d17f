"""Appendages of femb's own beams as reduced bodies."""

import numpy as np
import pytest

from femb import Attachment, Beam, ExactBeam, Model, RigidBody, Section, modes
from femb.base.errors import ModelError
from femb.fem import reduce_beams

SPIN = 3.0
EXACT = {"lag": (3.74351, 23.12649), "flap": (4.79728, 23.32026)}  # inextensible, rad/s


def cantilever(elements, direction=(1.0, 0.0, 0.0), others=0):
    """A boom of unit length, mass and bending stiffness on a hub, hardly extensible."""
    model = Model()
    model.add(RigidBody("hub", mass=10.0, inertia=1.0))
    model.add(
        Section("rod", axial_stiffness=1e7, torsional_stiffness=1.0, bending_stiffness=(1.0, 1.0), mass_per_length=1.0,
                inertia_per_length=(2e-8, 1e-8, 1e-8))
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


def test_what_is_refused():
    with pytest.raises(ModelError, match="root: got 'nothing', wanted one of ground, hub"):
        reduce_beams(cantilever(2), "nothing", {}, 2)
    with pytest.raises(ModelError, match="appendage: got None, 'hub' has boom, other0: name one"):
        reduce_beams(cantilever(2, others=1), "hub", {}, 2)
    with pytest.raises(ModelError, match="interfaces: end: is not on 'boom'"):
        reduce_beams(cantilever(2, others=1), "hub", {"end": "beams.other0.-1"}, 2, appendage="boom")
