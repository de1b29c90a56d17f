"""Mechanisms: the IFToMM problems against published or independent values, loops, flexible links, a deployment."""

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from femb import Results, Tolerances, load_case, simulate
from femb.assembly import freedom
from femb.system import System

CASES = Path(__file__).resolve().parent.parent / "cases"


def script(name):
    """The module of a case in Python."""
    spec = importlib.util.spec_from_file_location(name, CASES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def run(name: str) -> Results:
    """Results of a case as it is."""
    case = load_case(CASES / name)
    return simulate(case.model, case.run)


def held(results):
    """Constraints at all outputs, as the audit has them."""
    assert results.audit.constraint_position.max() < 1e-10
    assert results.audit.constraint_velocity.max() < 1e-8


def test_a01_pendulum():
    results = run("iftomm_a01_pendulum.toml")
    bob = results.bodies["bob"]
    np.testing.assert_allclose(bob.position[-1, :2], [-0.2750874626, -0.9614192051], atol=1e-8)
    np.testing.assert_allclose(bob.velocity[-1, :2], [4.1755981010, -1.1947490546], atol=1e-8)
    held(results)


@pytest.mark.parametrize(("method", "rtol", "bound"), [("radau", 1e-8, 1e-5), ("bdf", 1e-8, 1e-3)])
def test_a01_by_other_methods(method, rtol, bound):
    model = load_case(CASES / "iftomm_a01_pendulum.toml").model
    tolerances = Tolerances(0.1 * rtol, 0.1 * rtol, rtol)
    results = simulate(model, duration=10.0, method=method, rtol=rtol, atol=tolerances, output_interval=0.1)
    np.testing.assert_allclose(results.bodies["bob"].position[-1, :2], [-0.2750874626, -0.9614192051], atol=bound)
    held(results)


def test_a02_two_windows():
    """Through ten postures in which all rods are in line, on the same branch: the rods stay parallel."""
    model = script("iftomm_a02_four_bar").build(2)
    options = {"method": "rk", "tableau": "rk4", "step": 0.0025, "output_interval": 0.1}
    results = simulate(model, duration=10.0, **options)
    rod = results.bodies["rod_0"]
    np.testing.assert_allclose(2.0 * rod.position[-1, :2], [0.3284581115, 0.9445185382], atol=1e-7)
    np.testing.assert_allclose(2.0 * rod.velocity[-1, :2], [1.4230514702, -0.4948688455], atol=5e-7)
    angles = [results.joints[f"pin_{k}"].coordinates[:, 0] for k in range(3)]
    np.testing.assert_allclose(angles[1:], [angles[0]] * 2, atol=1e-6)
    held(results)


@pytest.mark.parametrize(("method", "bound"), [("radau", 5e-4), ("bdf", 5e-3)])
def test_a02_by_implicit_methods(method, bound):
    model = script("iftomm_a02_four_bar").build(2)
    tolerances = Tolerances(1e-7, 1e-7)
    results = simulate(model, duration=3.0, method=method, rtol=1e-7, atol=tolerances, output_interval=0.5)
    reference = simulate(
        model, duration=3.0, method="rk", rtol=1e-10, atol=Tolerances(1e-11, 1e-11), output_interval=0.5
    )
    difference = results.bodies["rod_1"].position - reference.bodies["rod_1"].position
    assert np.abs(difference).max() < bound


def test_a02_degrees_of_freedom():
    """One, of forty windows; 120 of the 605 rows depend on the others, one more in the plane for each window."""
    system = System(script("iftomm_a02_four_bar").build(3))
    found = freedom(system, system.q0)
    assert (found.degrees, found.rows, len(found.dependent)) == (1, 5 * 10, 50 - 7 * 6 + 1)


def test_a03_squeezer():
    """All seven angles at 0.03 s to 1e-7 of the published values, the crank's over two and a half turns."""
    results = run("iftomm_a03_squeezer.py")
    start = script("iftomm_a03_squeezer").START
    turned = {name: results.joints[name].coordinates[-1, 0] for name in results.joints}
    got = [
        start["beta"] + turned["O"],
        start["theta"] + turned["crank"],
        start["gamma"] + turned["B"],
        start["phi"] - turned["knee"],
        start["delta"] + turned["A5"],
        start["omega"] - turned["heel"],
        start["epsilon"] + turned["A7"],
    ]
    published = [
        15.81077119629904,
        -15.75637105984298,
        0.04082224013073101,
        -0.5347301163226948,
        0.5244099658805304,
        0.5347301163226948,
        1.048080741042263,
    ]
    np.testing.assert_allclose(got, published, rtol=0.0, atol=1e-7)
    held(results)


def test_a04_bricard():
    """It moves although its 30 rows hold 30 velocities, and keeps its energy."""
    results = run("iftomm_a04_bricard.py")
    assert np.abs(results.audit.energy_error).max() < 1e-8
    system = System(load_case(CASES / "iftomm_a04_bricard.py").model)
    assert freedom(system, system.q0).degrees == 1
    assert np.ptp(results.bodies["rod_3"].position, axis=0).max() > 0.5
    held(results)


def test_a05_governor():
    """Stiff springs keep the balls in; energy balances with what the dampers take."""
    results = run("iftomm_a05_governor.toml")
    audit = results.audit
    assert np.abs(audit.energy_error).max() < 1e-5 * audit.kinetic_energy[0]
    assert audit.work[-1] < 0.0
    angles = [results.joints[f"{side}_hinge"].coordinates[:, 0] for side in ("right", "left")]
    np.testing.assert_allclose(angles[0], -angles[1], atol=1e-9)
    assert np.ptp(audit.angular_momentum[:, 2]) < 1e-5 * audit.angular_momentum[0, 2]
    held(results)


def test_slider_crank():
    """The rigid one: energy, and the closed form of the slider's place by the crank's angle."""
    results = run("slider_crank_rigid.toml")
    angle = results.joints["bearing"].coordinates[:, 0]
    wanted = 0.15 * np.cos(angle) + np.sqrt(0.3**2 - (0.15 * np.sin(angle)) ** 2)
    np.testing.assert_allclose(results.bodies["slider"].position[:, 0], wanted, atol=1e-9)
    kinetic = results.audit.kinetic_energy
    np.testing.assert_allclose(kinetic, kinetic[0], rtol=1e-6)
    held(results)


def test_flexible_rod_bends_and_follows_the_rigid_one():
    """Its ends keep their distance to the bending's shortening, and its middle bends away."""
    results = run("slider_crank_flexible.toml")
    position = results.beams["rod"].position
    chord = np.linalg.norm(position[:, -1] - position[:, 0], axis=1)
    sag = np.linalg.norm(position[:, 2] - 0.5 * (position[:, 0] + position[:, -1]), axis=1)
    assert 1e-3 < sag.max() < 5e-3
    assert np.abs(chord - 0.3).max() < 1e-3
    assert np.abs(results.audit.energy_error).max() < 1e-6 * results.audit.kinetic_energy[0]
    held(results)


def test_misaligned_linkage_turns_by_bending():
    """Joint c, off by five degrees, forces the coupler out of its plane; the rocker follows the crank."""
    results = run("four_bar_misaligned.toml")
    crank, rocker = results.joints["drive"].coordinates[-1, 0], results.joints["d"].coordinates[-1, 0]
    assert crank == pytest.approx(1.2, abs=1e-9)
    assert abs(rocker) == pytest.approx(crank, rel=0.05)
    assert np.abs(results.beams["coupler"].position[:, :, 2]).max() > 1e-5
    assert np.abs(results.audit.energy_error).max() < 1e-3 * results.audit.potential_energy.max()
    held(results)


def test_flexible_double_pendulum():
    results = run("double_pendulum_flexible.toml")
    lower, upper = results.beams["lower"].position, results.beams["upper"].position
    np.testing.assert_allclose(lower[:, 0], upper[:, -1], atol=1e-10)
    assert np.abs(results.audit.energy_error).max() < 1e-6
    assert results.audit.work[-1] < 0.0
    held(results)


@pytest.mark.slow
def test_hinged_panel_for_a_thousand_seconds():
    """Linear momentum to rounding; angular momentum to the tolerance, and the better the smaller that is."""
    case = load_case(CASES / "satellite_hinged_panel.toml")
    drifts = []
    for rtol in (1e-5, 1e-6, 1e-7, 1e-8):
        options = {"rtol": rtol, "atol": Tolerances(rtol, rtol), "output_interval": 5.0}
        results = simulate(case.model, duration=1000.0, **options)
        audit = results.audit
        linear = np.abs(audit.linear_momentum - audit.linear_momentum[0]).max()
        assert linear < 1e-11 * 64.0 * np.abs(results.bodies["panel"].velocity).max()
        angular = np.linalg.norm(audit.angular_momentum - audit.angular_momentum[0], axis=1).max()
        drifts.append(angular / np.linalg.norm(audit.angular_momentum[0]))
        assert drifts[-1] < 25.0 * rtol
        assert np.ptp(results.joints["hinge"].coordinates) > 0.5
        held(results)
    assert np.all(np.array(drifts[1:]) < 0.5 * np.array(drifts[:-1]))


@pytest.mark.slow
def test_deployment():
    """Six latches, in pairs; energy lost positive; everything straight at the end, and no momentum from nothing."""
    results = run("satellite_deployment.py")
    for k in (1, 2, 3):
        times = [results.arrays[f"events/latches.{side}_hinge_{k}/time"] for side in ("right", "left")]
        losses = [results.arrays[f"events/latches.{side}_hinge_{k}/energy_loss"] for side in ("right", "left")]
        np.testing.assert_array_equal(*times)
        assert np.sum(losses) > 0.0
        for side in ("right", "left"):
            angle = results.joints[f"{side}_hinge_{k}"].coordinates[:, 0]
            assert np.abs(angle[results.time > times[0][0]]).max() < 1e-8
    audit = results.audit
    assert np.abs(audit.energy_error).max() < 1e-4 * audit.potential_energy[0]
    speed = np.abs(results.beams["right_3"].velocity).max()
    assert np.abs(audit.linear_momentum).max() < 1e-4 * 9.0 * speed
    assert np.abs(audit.angular_momentum).max() < 1e-6
    assert np.abs(results.joints["right_hinge_1"].torque[:, 2]).max() > 5.0
    tips = [results.beams[f"{side}_3"].position[-1, -1] for side in ("right", "left")]
    np.testing.assert_allclose(np.abs(tips)[:, 0], 3.5, atol=5e-3)
    held(results)
