"""Loops of a hub whose wheels have friction, carried by the integral of a law: what torques bring stays in the wheels,
and the attitude does not see it. Checked by own matrices of one axis, in which that momentum is no state.
"""

import json

import numpy as np
import pytest
from models import refuses
from scipy.linalg import expm, solve_continuous_lyapunov, solve_discrete_lyapunov

import femb
from femb.linear.norms import h2_norm, peak_gain

J, SPIN, DRAG, KP, KD, KI, PERIOD = 10.0, 0.05, 1e-3, 2.5, 7.0, 0.2, 0.2
# about the axis of a wheel, which does not turn along
HUB = J - SPIN
TURN, TORQUE = "bodies.hub.turn.x", "bodies.hub.torque.x"
SOURCES = {
    "steady": {"kind": "constant", "inputs": [TORQUE], "value": 1e-3},
    "noise": {"kind": "noise", "inputs": [TORQUE], "density": 1e-8},
}


@pytest.fixture
def case(tmp_path):
    """The path of a case, by its kind of law and whether it is sampled."""

    def made(sampled=False, kind="pid", integral=KI):
        gains = f"proportional = [{KP}, 3.0, 3.5]\nderivative = [{KD}, 8.4, 9.8]\n"
        gains += f"integral = [{integral}, 0.2, 0.2]\n" if kind == "pid" else ""
        gains += f"period = {PERIOD}\n" if sampled else "tracking_time = 10.0\n" if kind == "pid" else ""
        wheels = "".join(
            f'[wheels.{x}]\nbody = "hub"\naxis = {[float(k == n) for k in range(3)]}\nspin_inertia = {SPIN}\n'
            f"viscous = {DRAG}\n"
            for n, x in enumerate("xyz")
        )
        path = tmp_path / "hub.toml"
        path.write_text(
            f'title = "hub"\n[bodies.hub]\nmass = 100.0\ninertia = [{J}, 12.0, 14.0]\n{wheels}[controllers.att]\n'
            f'kind = "{kind}"\nattitude = "bodies.hub"\nrate = "bodies.hub"\nwheels = ["x", "y", "z"]\n{gains}'
            "[run]\nduration = 1.0\n"
        )
        return path

    return made


def own_axis():
    """A, B, C of (turn, rate, torque on the wheel) under a continuous law: its integral and the speed are no states."""
    # HUB w' = n - m, Spin (s' + w') = m, m' = KI x + KP w + KD w' - DRAG s'
    by_torque = np.array([KI, KP, -KD / HUB - DRAG * (1.0 / SPIN + 1.0 / HUB)])
    A = np.vstack([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0 / HUB], by_torque])
    return A, np.array([[0.0], [1.0 / HUB], [(KD + DRAG) / HUB]]), np.array([[1.0, 0.0, 0.0]])


@pytest.mark.slow
def test_norms_of_a_loop_whose_integral_carries_friction(case):
    A, B, C = own_axis()
    space = femb.loop(femb.load_case(case()), inputs=[TORQUE], outputs=[TURN]).closed([TORQUE], [TURN])
    w = np.linspace(0.2, 0.27, 200001)
    gains = np.abs((C @ np.linalg.solve(1j * w[:, None, None] * np.eye(3) - A, B + 0j))[:, 0, 0])
    found = peak_gain(space)
    assert (found.gain, found.omega) == pytest.approx((np.max(gains), w[np.argmax(gains)]), rel=2e-6)
    wanted = np.sqrt(float((C @ solve_continuous_lyapunov(A, -B @ B.T) @ C.T)[0, 0]))
    assert h2_norm(space) == pytest.approx(wanted, rel=1e-10)


def test_a_peak_at_frequency_zero_has_derivatives(case):
    # a slow integral: the offset by a steady torque, DRAG/(SPIN integral), is the peak
    outputs = {"peak": {"kind": "peak_gain", "input": TORQUE, "output": TURN, "closed": True}}
    found = femb.sensitivities(case(integral=0.01), outputs, by=["controllers.att.integral.0", "wheels.x.viscous"])
    peak = DRAG / (SPIN * 0.01)
    assert found.values[0] == pytest.approx(peak, rel=1e-9)
    assert found.derivatives[0] == pytest.approx([-peak / 0.01, peak / DRAG], rel=1e-7)


def test_budgets_of_a_loop_whose_integral_carries_friction(case):
    A, B, C = own_axis()
    steady, noise = femb.pointing_budget(case(), TURN, SOURCES, window=4.0).parts
    assert steady.constant[0] == pytest.approx(1e-3 * DRAG / (SPIN * KI), rel=1e-9)
    wanted = 1e-4 * np.sqrt(float((C @ solve_continuous_lyapunov(A, -B @ B.T) @ C.T)[0, 0]))
    assert noise.size("APE")[0] == pytest.approx(wanted, rel=1e-9)


def test_budgets_of_samples_whose_integral_carries_friction(case):
    steady, noise = femb.pointing_budget(case(sampled=True), TURN, SOURCES, window=4.0).parts
    assert steady.constant[0] == pytest.approx(1e-3 * DRAG / (SPIN * KI), rel=1e-9)
    # (turn, rate, m) between samples with a held command u and m = u - DRAG s, and the turn and rate of the last sample
    fall = DRAG * (1.0 / SPIN + 1.0 / HUB)
    A = np.zeros((5, 5))
    A[:3, :3] = [[0.0, 1.0, 0.0], [0.0, 0.0, -1.0 / HUB], [0.0, 0.0, -fall]]
    B = np.array([[0.0, 1.0 / HUB, DRAG / HUB, 0.0, 0.0]])
    law = next(each for each in femb.loop(femb.load_case(case(sampled=True))).laws if each.name == "att")
    turn, rate = (next(k for k, name in enumerate(law.inputs) if f"{word}.x" in name) for word in ("turn", "velocity"))
    unit = np.zeros((len(law.inputs), 2))
    unit[turn, 0] = unit[rate, 1] = 1.0
    own = law.outputs.index("wheels.x.torque")
    now, after = (law.D @ unit)[own], (law.C @ law.B @ unit)[own]
    jump = np.eye(5)
    jump[2, :2] += now
    jump[2, 3:] += after - now
    jump[3:] = np.eye(5)[:2]
    whole = expm(np.block([[-A, 1e-8 * B.T @ B], [np.zeros((5, 5)), A.T]]) * PERIOD)
    F, Q = whole[5:, 5:].T, whole[5:, 5:].T @ whole[:5, 5:]
    P = jump @ solve_discrete_lyapunov(F @ jump, Q) @ jump.T
    points, weights = np.polynomial.legendre.leggauss(12)
    total = 0.0
    for x, w in zip(points, weights, strict=True):
        part = expm(np.block([[-A, 1e-8 * B.T @ B], [np.zeros((5, 5)), A.T]]) * 0.5 * PERIOD * (x + 1.0))
        total += 0.5 * w * (part[5:, 5:].T @ P @ part[5:, 5:] + part[5:, 5:].T @ part[:5, 5:])[0, 0]
    assert noise.size("APE")[0] == pytest.approx(np.sqrt(total), rel=1e-8)


@pytest.mark.parametrize("sampled", [False, True])
def test_friction_that_no_integral_carries_turns_the_hub_for_ever(case, tmp_path, sampled):
    for name, source in SOURCES.items():
        message = f"sources.{name}: moves what the loop never takes back"
        refuses(message, femb.pointing_budget, case(sampled, "pd"), TURN, {name: source}, window=4.0)
    path = tmp_path / "study.toml"
    path.write_text(
        'case = "hub.toml"\n[variables.drag]\nkey = "wheels.x.viscous"\nvalues = [0.0, 1e-3]\n[outputs.error]\n'
        f'kind = "pointing_budget"\nof = "{TURN}"\nwindow = 4.0\nsources = {{ noise = {{ kind = "noise", inputs = '
        f"{json.dumps([TORQUE])}, density = 1e-8 }} }}\n"
    )
    assert not np.isfinite(femb.sweep(path)["error"][1])


def test_translations_in_orbit_are_no_poles_of_an_attitude_loop():
    """They turn with the orbit, with the rates 0 and +-i n of free fall; a law that reads the position keeps them."""
    n = np.sqrt(3.986004418e14 / 7e6**3)
    for position in (False, True):
        model = femb.Model("along an orbit")
        model.add(femb.Orbit("earth", semi_major_axis=7e6, inclination=1.71, ascending_node=0.698, anomaly=0.576))
        model.add(femb.RigidBody("hub", 200.0, (60.0, 80.0, 40.0), relative_to="orbit"))
        model.add(femb.Load("torquer", body="hub", frame="body", torque=(0.0, 0.0, 0.0)))
        model.add(femb.StarTracker("star", body="hub", relative_to="orbit"))
        model.add(femb.Gyro("gyro", body="hub"))
        read = ["sensors.star", "sensors.gyro", *(["bodies.hub.position"] if position else [])]
        D = np.zeros((3, 9 if position else 6))
        D[:, :6] = -np.hstack([0.02 * np.eye(3), 2.0 * np.eye(3)])
        words = {"inputs": read, "outputs": ("loads.torquer.torque",), "D": D, "period": 2.0}
        model.add(femb.LinearController("law", **words))
        loop = femb.loop(model)
        at_orbit = np.abs(np.abs(loop.poles()) - n) < 1e-3 * n
        assert np.sum(at_orbit) == (4 if position else 0)
        assert position or (loop.stable and loop.conserved == 6 and loop.growth() < -1e-3)
