"""Flexible bodies against beam theory and against femb's own beams: large rotation, large motion of interfaces."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from models import of_parts
from oracles.modal_beam import BeamModel
from scipy.linalg import eigvals

import femb
from femb import elements as e
from femb.profiles import Versine
from femb.system.system import System

SPIN = 3.0  # of a cantilever with unit length, line mass and bending stiffness


def spinning(body, spin=(0.0, 0.0, SPIN)):
    """Frequencies of a body with one interface on a root that spins, root held."""
    model = of_parts(e.FlexibleBody("blade", body, angular_velocity=spin, damping_ratio=0.0))
    system = System(model)
    u, q, v, a = system.inputs_at(0.0, system.q0, system.v0), system.q0.copy(), system.v0.copy(), np.zeros(system.n_v)
    at_q, at_v = system.layout.internal_q, system.layout.internal_v
    own = np.ix_(at_v, at_v)

    def dense(data):
        return system.pattern.to_csc(data).toarray()[own]

    for _ in range(10):
        damping, stiffness = (dense(data) for data in system.tangent(u, q, v, a))
        q[at_q] -= np.linalg.solve(stiffness, system.residual(u[None], q[None], v[None], a[None])[0, at_v])
    M, n = dense(system.mass_data(q)), len(at_v)
    first = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, stiffness), -np.linalg.solve(M, damping)]])
    found = np.sort(np.abs(eigvals(first).imag))[::2]
    return found[:4]


def test_rotating_cantilever_of_eight_elements():
    """Flap and lag of Wright's cantilever: 4.79728, 23.32026 and 3.74351, 23.12649; eight elements are 2e-3 above."""
    blade = BeamModel(1.0, 8, 1.0, 1e8, 1e4, (1.0, 1.0))
    found = spinning(blade.reduced(12))
    np.testing.assert_allclose(found, [3.74735, 4.80465, 23.14300, 23.34325], rtol=1e-4)
    np.testing.assert_allclose(found, [3.74351, 4.79728, 23.12649, 23.32026], rtol=2e-3)


@pytest.mark.parametrize(("elements", "wanted"), [
    (4, [3.75788, 4.82596, 23.20854, 23.42886]), (32, [3.74378, 4.79776, 23.12750, 23.32167]),
])  # fmt: skip
def test_rotating_cantilever_converges_with_the_elements(elements, wanted):
    """Sums over lumps and consistent masses: the error of four elements falls by 30 and more to that of thirty-two."""
    exact = np.array([3.74351, 4.79728, 23.12649, 23.32026])
    found = spinning(BeamModel(1.0, elements, 1.0, 1e8, 1e4, (1.0, 1.0)).reduced(12))
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    np.testing.assert_allclose(found, exact, rtol=0.16 / elements**2)


def test_second_order_inertia_alone_softens():
    blade = BeamModel(1.0, 16, 1.0, 1e4, 1e4, (1.0, 1.0))
    np.testing.assert_allclose(
        spinning(blade.reduced(12, stiffening=False)), [1.83238, 3.51753, 21.82814, 22.03626], rtol=1e-3
    )


def test_spin_about_its_own_axis_shifts_the_frequencies():
    """Seen from the body, a mode of a round beam splits by the spin: omega - Omega and omega + Omega. The error is that
    of the lumped inertia, the square of the element's length: 1.5e-3 with 16 elements. Exact beams, of inertia that is
    not lumped, have 1.5e-7 with as many: docs/validation.md."""
    still = np.array([3.51602, 22.0345])
    wanted = np.sort(np.concatenate([still - SPIN, still + SPIN]))
    errors = []
    for elements in (8, 16):
        blade = BeamModel(1.0, elements, 1.0, 1e8, 1e4, (1.0, 1.0))
        errors.append(np.abs(spinning(blade.reduced(12), (SPIN, 0.0, 0.0)) - wanted) / np.repeat(still, 2))
    assert np.all(errors[1] < 1.6e-3)
    assert np.all(errors[1] < 0.26 * errors[0])
    assert np.all(errors[1] > 0.2 * errors[0])


BOOM = {"area": 2.5e-3, "second_moments": (5.2e-7, 5.2e-7), "torsion_constant": 8.8e-7, "density": 2800.0,
        "youngs_modulus": 7.17e8, "shear_modulus": 7.17e8 / 2.68}  # fmt: skip
LINK = {"area": 1e-4, "second_moments": (1e-8, 1e-8), "torsion_constant": 2e-8, "density": 2800.0,
        "youngs_modulus": 7.17e9, "shear_modulus": 7.17e9 / 2.6}  # fmt: skip


def beam_model(section):
    """Eight elements of a beam of 2 m with a femb section."""
    EA, GJ, *EI = np.diag(section.stiffness())
    return BeamModel(2.0, 8, section.line_mass(), EA, GJ, tuple(EI), tuple(section.inertia()))


def pulsed(model, body, torque):
    model.add(e.Load("pulse", body, torque=torque, frame="body", profile=Versine(1.0)))
    return model


def moved(model, duration):
    return femb.simulate(model, duration=duration, output_interval=duration / 20, method="radau", rtol=1e-8)


def booms(torque, body=None):
    """A hub with two booms of 2 m, of beams or of bodies with the tip as second interface."""
    model = femb.Model("booms")
    model.add(e.RigidBody("hub", mass=22.4, inertia=0.149))
    section = e.Section("tube", **BOOM)
    for name, side in (("right", 1.0), ("left", -1.0)):
        start = e.Attachment("hub", (0.1 * side, 0.0, 0.0), direction=(side, 0.0, 0.0))
        if body is None:
            model.add(e.Beam(name, section, 2.0, 8, start=start))
        else:
            model.add(e.FlexibleBody(name, body, start=start, damping_ratio=0.0))
    return pulsed(model, "hub", (0.0, torque, 0.5 * torque))


def link(torque, body=None):
    """Two bodies at the ends of a link of 2 m."""
    model = femb.Model("link")
    model.add(e.RigidBody("first", mass=10.0, inertia=(0.3, 0.4, 0.5)))
    model.add(e.RigidBody("second", mass=2.0, inertia=(0.05, 0.04, 0.06)))
    start, end = e.Attachment("first", direction=(1.0, 0.0, 0.0)), e.Attachment("second", direction=(1.0, 0.0, 0.0))
    if body is None:
        model.add(e.Beam("link", e.Section("rod", **LINK), 2.0, 8, start=start, end=end))
    else:
        model.add(e.FlexibleBody("link", body, start=start, interfaces={"tip": end}, damping_ratio=0.0))
    return pulsed(model, "first", (0.1 * torque, torque, 0.6 * torque))


def link_error(torque, second):
    """Largest difference of the position of the second body."""
    body = beam_model(e.Section("rod", **LINK)).reduced(4, tip=True, second=second, stiffening=second)
    runs = [moved(link(torque, each), 2.0).bodies["second"].position for each in (None, body)]
    return np.abs(runs[0] - runs[1]).max()


@pytest.mark.slow
def test_two_bodies_on_a_flexible_link():
    """The link bends by 4 and 20 mm: the error of first order grows with the square, that of second is 500 below."""
    first = [link_error(torque, second=False) for torque in (0.2, 1.0)]
    full = [link_error(torque, second=True) for torque in (0.2, 1.0)]
    assert first[1] / first[0] == pytest.approx(25.0, rel=0.02)
    assert first[1] == pytest.approx(1.3e-4, rel=0.05)
    assert full[0] < 1.5e-8
    assert full[1] < 4e-7


@cache
def slewed_beams(torque, duration):
    return moved(booms(torque), duration)


def bodies_of(source):
    """A boom of eight elements with eight modes: by the matrices of the test, or by those of femb's own beams."""
    if source == "matrices":
        return beam_model(e.Section("tube", **BOOM)).reduced(8, tip=True)
    return femb.fem.reduce_beams(booms(0.0), "hub", {"tip": "beams.right.-1"}, 8, appendage="right").body


@pytest.mark.slow
@pytest.mark.parametrize("source", ["matrices", "femb's beams"])
def test_hub_with_two_booms_in_a_slew(source):
    """Tips that deflect by 14 mm agree to micrometres."""
    body = bodies_of(source)
    beams, bodies = slewed_beams(10.0, 2.0), moved(booms(10.0, body), 2.0)
    assert np.abs(beams.beams["right"].deflection).max() > 5e-3
    for name in ("right", "left"):
        error = beams.beams[name].position[:, -1] - bodies.bodies[f"{name}.tip"].position
        assert np.abs(error).max() < 3e-6
    assert np.abs(beams.bodies["hub"].quaternion - bodies.bodies["hub"].quaternion).max() < 1e-5


@pytest.mark.slow
def test_table_of_a_large_slew():
    """Tips after a slew by 33 and 166 degrees, which deflect by 14 and 71 mm: with stiffening, with inertia of second
    order alone, and constant. Inertia alone is the worst."""
    full = bodies_of("matrices")
    plain = beam_model(e.Section("tube", **BOOM)).reduced(8, tip=True, stiffening=False)
    straight = replace(full, psi2=None)
    constant = replace(beam_model(e.Section("tube", **BOOM)).reduced(8, tip=True, second=False), psi2=full.psi2)
    bounds = {
        10.0: {"full": 2e-6, "straight": 1.1e-4, "plain": None, "constant": 2e-6},
        50.0: {"full": 6e-5, "straight": 2.7e-3, "plain": None, "constant": 1.4e-4},
    }
    bodies = {"full": full, "straight": straight, "plain": plain, "constant": constant}
    for torque, wanted in bounds.items():
        beams = slewed_beams(torque, 5.0).beams["right"].position[:, -1]
        errors = {
            name: np.abs(moved(booms(torque, body), 5.0).bodies["right.tip"].position - beams).max()
            for name, body in bodies.items()
        }
        for name, bound in wanted.items():
            if bound is not None:
                assert errors[name] < bound, (torque, errors)
        assert errors["straight"] > 20.0 * errors["full"]
        assert errors["plain"] > 2.0 * errors["constant"]


@pytest.mark.slow
def test_reactions_of_a_joint_on_an_interface():
    """A flap hinged to the tip of a boom that a pulse turns: force and torque of the hinge are those by beams."""
    runs = []
    for body in (None, beam_model(e.Section("tube", **BOOM)).reduced(16, tip=True)):
        model = booms(10.0, body)
        model.add(e.RigidBody("flap", mass=0.5, inertia=(0.01, 0.02, 0.02)))
        tip = (
            e.JointEnd(beam="right", node=-1, axis=(0, 1.0, 0))
            if body is None
            else e.JointEnd("right.tip", axis=(0, 1.0, 0))
        )
        model.add(e.Revolute("hinge", tip, e.JointEnd("flap", at=(-0.2, 0.0, 0.0), axis=(0, 1.0, 0))))
        runs.append(moved(model, 1.0))
    beams, bodies = (run.joints["hinge"] for run in runs)
    assert np.abs(beams.force).max() > 0.1
    # eight modes in place of sixteen make it 3e-3
    assert np.abs(bodies.force - beams.force).max() < 2e-3 * np.abs(beams.force).max()
    assert np.abs(bodies.torque - beams.torque).max() < 2e-3 * np.abs(beams.torque).max()
    assert np.abs(bodies.coordinates - beams.coordinates).max() < 1e-5
    energy = runs[1].audit
    assert np.abs(energy.energy_error).max() < 1e-6 * energy.kinetic_energy.max()


@pytest.mark.slow
def test_hub_with_stiffened_booms_conserves():
    """Tips that swing by 3 % of their length after a pulse of 1 s: energy and momenta stay to 1e-8."""
    model = booms(50.0, bodies_of("matrices"))
    results = femb.simulate(model, duration=2.0, output_interval=0.1, method="rk", rtol=1e-11)
    deflection = np.linalg.norm(results.bodies["right"].deformation[:, :3], axis=1)
    assert deflection.max() > 0.05
    audit, after = results.audit, results.time >= 1.0
    assert np.abs(audit.energy_error).max() < 1e-8 * audit.kinetic_energy.max()
    for word in ("linear_momentum", "angular_momentum"):
        momentum = getattr(audit, word)[after]
        assert np.abs(momentum - momentum[0]).max() < 1e-8 * np.abs(audit.angular_momentum).max()
