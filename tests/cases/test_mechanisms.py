"""Mechanisms: the IFToMM problems against published or independent values, loops, flexible links, a deployment."""

import importlib.util
from functools import cache

import numpy as np
import pytest
from checkout import CASES
from long_runs import slow, slow_but
from scipy.integrate import solve_ivp
from shared_runs import results_of as run

from femb import Model, Tolerances, load_case, simulate
from femb.elements import Ground, JointEnd, Revolute
from femb.system.degrees_of_freedom import freedom
from femb.system.system import System


def script(name):
    """The module of a case in Python."""
    spec = importlib.util.spec_from_file_location(name, CASES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def held(results):
    """Constraints at all outputs, as the audit has them."""
    assert results.audit.constraint_position.max() < 1e-10
    assert results.audit.constraint_velocity.max() < 1e-8


@pytest.mark.slow
def test_a01_pendulum():
    results = run("iftomm_a01_pendulum")
    bob = results.bodies["bob"]
    np.testing.assert_allclose(bob.position[-1, :2], [-0.2750874626, -0.9614192051], atol=1e-8)
    np.testing.assert_allclose(bob.velocity[-1, :2], [4.1755981010, -1.1947490546], atol=1e-8)
    held(results)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "rtol", "bound"), [("radau", 1e-8, 1e-5), ("bdf", 1e-8, 1e-3)])
def test_a01_by_other_methods(method, rtol, bound):
    model = load_case(CASES / "iftomm_a01_pendulum.toml").model
    tolerances = Tolerances(0.1 * rtol, 0.1 * rtol, rtol)
    results = simulate(model, duration=10.0, method=method, rtol=rtol, atol=tolerances, output_interval=0.1)
    np.testing.assert_allclose(results.bodies["bob"].position[-1, :2], [-0.2750874626, -0.9614192051], atol=bound)
    held(results)


TWO_WINDOWS = {
    "dop853": ({"method": "rk", "rtol": 1e-10}, 1e-8),
    "radau": ({"method": "radau", "rtol": 1e-8}, 1e-7),
    "bdf": ({"method": "bdf", "rtol": 1e-11}, 1e-7),
    "generalized-alpha": ({"method": "generalized-alpha", "rtol": 1e-6}, 1e-2),
    "rk4": ({"method": "rk", "tableau": "rk4", "step": 0.0025}, 1e-8),
}


@pytest.mark.parametrize(
    ("name", "duration"),
    [
        *slow_but(
            [(name, 2.0) for name in ("radau", "generalized-alpha", "dop853")], [(name, 2.0) for name in TWO_WINDOWS]
        ),
        *slow_but([], [(name, 10.0) for name in TWO_WINDOWS]),
    ],
)
def test_a02_two_windows(name, duration):
    """Through the postures in which all rods are in line, on the same branch, the rods parallel; it is said once."""
    options, bound = TWO_WINDOWS[name]
    model = script("iftomm_a02_four_bar").build(2)
    atol = 0.1 * options.get("rtol", 1e-6)
    results = simulate(model, duration=duration, output_interval=0.1, atol=Tolerances(atol, atol), **options)
    rod, angle, rate = results.bodies["rod_0"], *in_line(2, duration)
    if duration == 10.0:
        np.testing.assert_allclose(2.0 * rod.position[-1, :2], [0.3284581115, 0.9445185382], atol=bound)
        np.testing.assert_allclose(2.0 * rod.velocity[-1, :2], [1.4230514702, -0.4948688455], atol=5.0 * bound)
    np.testing.assert_allclose(2.0 * rod.position[-1, :2], [np.cos(angle), np.sin(angle)], atol=bound)
    wanted = rate * np.array([-np.sin(angle), np.cos(angle)])
    np.testing.assert_allclose(2.0 * rod.velocity[-1, :2], wanted, atol=5.0 * bound)
    angles = [results.joints[f"pin_{k}"].coordinates[:, 0] for k in range(3)]
    np.testing.assert_allclose(angles[1:], [angles[0]] * 2, atol=1e-9)
    assert results.message.count("singular posture") == 1
    assert "at t = 0.714" in results.message
    assert "joints.right_0 (position x)" in results.message
    held(results)


def in_line(windows: int, duration: float) -> np.ndarray:
    """Angle and rate of the rods by the one equation of motion, ((N + 1)/3 + N) th'' + (3 N + 1)/2 g cos th = 0."""
    inertia, weight = (windows + 1) / 3.0 + windows, 9.81 * (3.0 * windows + 1.0) / 2.0
    motion = solve_ivp(
        lambda t, y: [y[1], -weight / inertia * np.cos(y[0])], (0.0, duration), [0.5 * np.pi, -1.0], method="DOP853",
        rtol=1e-13, atol=1e-13,
    )  # fmt: skip
    return motion.y[:, -1]


def test_a02_reduced_equation():
    """The reference of the test below, against the published value of two windows."""
    angle, _ = in_line(2, 10.0)
    np.testing.assert_allclose([np.cos(angle), np.sin(angle)], [0.3284581115, 0.9445185382], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "rtol"), [("rk", 1e-10), ("radau", 1e-8)])
def test_a02_forty_windows(method, rtol):
    """All 41 rods at 10 s, with forty rows that become dependent at each passage."""
    model = script("iftomm_a02_four_bar").build(40)
    tolerances = Tolerances(0.1 * rtol, 0.1 * rtol)
    results = simulate(model, duration=10.0, method=method, rtol=rtol, atol=tolerances, output_interval=10.0)
    angle, _ = in_line(40, 10.0)
    for k in range(41):
        end = 2.0 * (results.bodies[f"rod_{k}"].position[-1, :2] - [k, 0.0])
        np.testing.assert_allclose(end, [np.cos(angle), np.sin(angle)], atol=1e-7)
    held(results)


@pytest.mark.slow
def test_passing_near_a_singular_posture():
    """A parallelogram that is 2 cm too wide turns over without a word: methods agree on it."""
    case, axis = script("iftomm_a02_four_bar"), (0.0, 0.0, 1.0)
    model = Model("nearly a parallelogram", gravity=(0.0, -9.81, 0.0))
    for k in (0, 1):
        case.rod(model, f"rod_{k}", (1.02 * k, 0.5), upright=True)
        foot = Ground().at((1.02 * k, 0.0, 0.0), direction=axis)
        end = JointEnd(body=f"rod_{k}", at=(-0.5, 0, 0))
        model.add(Revolute(f"pin_{k}", foot, end, rates=-4.0 if k == 0 else None))
    case.rod(model, "coupler", (0.51, 1.0), upright=False)
    for k in (0, 1):
        first = JointEnd(body=f"rod_{k}", at=(0.5, 0, 0), axis=axis)
        model.add(Revolute(f"head_{k}", first, JointEnd(body="coupler", at=(k - 0.5, 0, 0))))
    ends = []
    for method, rtol in (("rk", 1e-10), ("radau", 1e-8)):
        tolerances = Tolerances(0.1 * rtol, 0.1 * rtol)
        options = {"method": method, "rtol": rtol, "atol": tolerances, "start": "assembled"}
        results = simulate(model, duration=2.0, output_interval=0.5, **options)
        ends.append(results.bodies["rod_1"].position)
        assert not results.message
        held(results)
    assert np.ptp(ends[0][:, 0]) > 0.3
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-5)


def test_a02_degrees_of_freedom():
    """One, of forty windows; 120 of the 605 rows depend on the others, one more in the plane for each window."""
    system = System(script("iftomm_a02_four_bar").build(3))
    found = freedom(system, system.q0)
    assert (found.degrees, found.rows, len(found.dependent)) == (1, 5 * 10, 50 - 7 * 6 + 1)


@pytest.mark.slow
def test_a03_squeezer():
    """All seven angles at 0.03 s to 1e-7 of the published values, the crank's over two and a half turns."""
    results = run("iftomm_a03_squeezer")
    start = script("iftomm_a03_squeezer").START
    turned = {name: results.joints[name].coordinates[-1, 0] for name in results.joints}
    got = [
        start["beta"] + turned["O"], start["theta"] + turned["crank"], start["gamma"] + turned["B"],
        start["phi"] - turned["knee"], start["delta"] + turned["A5"], start["omega"] - turned["heel"],
        start["epsilon"] + turned["A7"],
    ]  # fmt: skip
    published = [
        15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304,
        0.5347301163226948, 1.048080741042263,
    ]  # fmt: skip
    np.testing.assert_allclose(got, published, rtol=0.0, atol=1e-7)
    held(results)


@pytest.mark.slow
def test_a04_bricard():
    """It moves although its 30 rows hold 30 velocities, and keeps its energy."""
    results = run("iftomm_a04_bricard")
    assert np.abs(results.audit.energy_error).max() < 1e-8
    system = System(load_case(CASES / "iftomm_a04_bricard.py").model)
    assert freedom(system, system.q0).degrees == 1
    assert np.ptp(results.bodies["rod_3"].position, axis=0).max() > 0.5
    held(results)


@cache
def bricard():
    """The mechanism, and where it is at 5 s."""
    model = load_case(CASES / "iftomm_a04_bricard.py").model
    tight = {"method": "rk", "rtol": 1e-12, "atol": Tolerances(1e-13, 1e-13)}
    return model, simulate(model, duration=5.0, output_interval=5.0, **tight)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "bound", "most"),
    [
        ({"method": "radau", "rtol": 1e-4}, 1e-3, 200),
        slow(({"method": "radau", "rtol": 1e-6}, 1e-5, 400)),
        ({"method": "bdf", "rtol": 1e-5}, 1e-2, 500),
        slow(({"method": "generalized-alpha", "rtol": 1e-6}, 1e-2, 2500)),
        ({"method": "rk", "rtol": 1e-6}, 1e-4, 100),
        ({"method": "rk", "tableau": "rk4", "step": 0.025}, 1e-3, 220),
    ],
    ids=["radau", "radau finer", "bdf", "generalized-alpha", "dop853", "rk4"],
)
def test_a04_within_coarse_steps(options, bound, most):
    """Where the constraints are met only roughly, as within a step, all 30 rows count, and would hold the mechanism."""
    model, exact = bricard()
    atol = 0.1 * options.get("rtol", 1e-6)
    results = simulate(model, duration=5.0, output_interval=5.0, atol=Tolerances(atol, atol), **options)
    for name, body in exact.bodies.items():
        np.testing.assert_allclose(results.bodies[name].position[-1], body.position[-1], atol=bound)
    assert results.statistics["steps"] < most
    assert results.statistics["rejected"] < 0.2 * results.statistics["steps"] + 5


@pytest.mark.slow
def test_a05_governor():
    """Stiff springs keep the balls in; energy balances with what the dampers take."""
    results = run("iftomm_a05_governor")
    audit = results.audit
    assert np.abs(audit.energy_error).max() < 1e-5 * audit.kinetic_energy[0]
    assert audit.work[-1] < 0.0
    angles = [results.joints[f"{side}_hinge"].coordinates[:, 0] for side in ("right", "left")]
    np.testing.assert_allclose(angles[0], -angles[1], atol=1e-9)
    assert np.ptp(audit.angular_momentum[:, 2]) < 1e-5 * audit.angular_momentum[0, 2]
    held(results)


@pytest.mark.slow
def test_slider_crank():
    """The rigid one: energy, and the closed form of the slider's place by the crank's angle."""
    results = run("slider_crank_rigid")
    angle = results.joints["bearing"].coordinates[:, 0]
    wanted = 0.15 * np.cos(angle) + np.sqrt(0.3**2 - (0.15 * np.sin(angle)) ** 2)
    np.testing.assert_allclose(results.bodies["slider"].position[:, 0], wanted, atol=1e-9)
    kinetic = results.audit.kinetic_energy
    np.testing.assert_allclose(kinetic, kinetic[0], rtol=1e-6)
    held(results)


@pytest.mark.slow
def test_flexible_rod_bends_and_follows_the_rigid_one():
    """Its ends keep their distance to the bending's shortening, and its middle bends away."""
    results = run("slider_crank_flexible")
    position = results.beams["rod"].position
    chord = np.linalg.norm(position[:, -1] - position[:, 0], axis=1)
    sag = np.linalg.norm(position[:, 2] - 0.5 * (position[:, 0] + position[:, -1]), axis=1)
    assert 1e-3 < sag.max() < 5e-3
    assert np.abs(chord - 0.3).max() < 1e-3
    assert np.abs(results.audit.energy_error).max() < 1e-6 * results.audit.kinetic_energy[0]
    held(results)


@pytest.mark.slow
def test_misaligned_linkage_turns_by_bending():
    """Joint c, off by five degrees, forces the coupler out of its plane; the rocker follows the crank."""
    results = run("four_bar_misaligned")
    crank, rocker = results.joints["drive"].coordinates[-1, 0], results.joints["d"].coordinates[-1, 0]
    assert crank == pytest.approx(1.2, abs=1e-9)
    assert abs(rocker) == pytest.approx(crank, rel=0.05)
    assert np.abs(results.beams["coupler"].position[:, :, 2]).max() > 1e-5
    assert np.abs(results.audit.energy_error).max() < 1e-3 * results.audit.potential_energy.max()
    held(results)


@pytest.mark.slow
def test_flexible_double_pendulum():
    results = run("double_pendulum_flexible")
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
    results = run("satellite_deployment")
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
