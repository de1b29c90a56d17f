"""Control-moment gyros: equation (7) on its own, the torque of a light gyro, two gimbals, words and messages."""

import numpy as np
import pytest
from models import of_parts, refuses
from oracles.finite_differences import INERTIA
from scipy.integrate import quad, solve_ivp

import femb
from femb.elements import ControlMomentGyro, Gimbal, PointMass, RigidBody
from femb.numerics import rotations
from femb.profiles import Polynomial, Sine, Step, Table
from femb.system.system import System

J_S = 0.01
GYRO = {"axis": (0, 0, 1), "gimbal_axis": (1, 0, 0), "spin_inertia": J_S, "gimbal_mass": 2.0}
HUB = INERTIA + np.diag([2.0, 2.0, 2.0])
I_0 = np.array([[0.03, 0.002, 0.0], [0.002, 0.02, 0.001], [0.0, 0.001, 0.04]])


def hub_with(*items, **words):
    given = {"mass": 50.0, "inertia": (10.0, 7.0, 12.0), "angular_velocity": (0.1, -0.2, 0.3)} | words
    return of_parts(RigidBody("hub", **given), *items)


def conserved(results, tolerance):
    """Momenta, and energy less work, to a part of the energy."""
    audit = results.audit
    for momentum in (audit.angular_momentum, audit.linear_momentum):
        assert np.abs(momentum - momentum[0]).max() < tolerance * max(1.0, np.abs(momentum[0]).max())
    assert np.abs(audit.energy_error).max() < tolerance * np.abs(audit.kinetic_energy).max()


def gyro(**words):
    return ControlMomentGyro("g", "hub", **GYRO | {"gimbal_inertia": I_0, "speed": 300.0} | words)


def by_equation(t, y, torque, motor):
    """(omega, Omega, delta, delta')' of a body with the gyro at its mass centre: equation (7), by columns."""
    omega, speed, delta, rate = y[:3], y[3], y[4], y[5]
    k = np.array([1.0, 0.0, 0.0])
    R = rotations.rotation_matrix(rotations.exponential(delta * k))
    inertia, n = R @ I_0 @ R.T, R @ np.array([0.0, 0.0, 1.0])
    w = omega + rate * k

    def balance(x):
        """Torque on the body, rows of gimbal and motor, for the accelerations x (5,)."""
        turning = x[:3] + x[4] * k + np.cross(omega, rate * k)
        T = inertia @ turning + np.cross(w, inertia @ w) + J_S * (x[3] * n + speed * np.cross(w, n))
        on_body = HUB @ x[:3] + np.cross(omega, HUB @ omega) + T
        spin = J_S * (x[3] + n @ turning + np.cross(w, n) @ w)
        return np.array([*on_body, k @ T - torque, spin - motor])

    none = balance(np.zeros(5))
    columns = np.column_stack([balance(x) - none for x in np.eye(5)])
    x = np.linalg.solve(columns, -none)
    return np.array([*x[:3], x[3], rate, x[4]])


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["velocity", "reduced"])
def test_it_is_equation_7(formulation):
    model = hub_with(gyro(gimbal_torque=0.05, torque=0.02, gimbal_angle=0.3, gimbal_rate=0.2), mass=10.0, inertia=HUB)
    results = femb.simulate(model, duration=1.0, output_interval=0.2, rtol=1e-11, method="rk", formulation=formulation)
    start = (0.1, -0.2, 0.3, 300.0, 0.3, 0.2)
    words = {"t_eval": results.time, "rtol": 1e-12, "atol": 1e-12, "method": "DOP853", "args": (0.05, 0.02)}
    wanted = solve_ivp(by_equation, (0.0, 1.0), start, **words).y
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity, wanted[:3].T, atol=1e-9)
    np.testing.assert_allclose(results.wheels["g"].speed, wanted[3], rtol=1e-11)
    joint = results.joints["g_gimbal"]
    np.testing.assert_allclose(joint.coordinates[:, 0], wanted[4], atol=1e-9)
    np.testing.assert_allclose(joint.rates[:, 0], wanted[5], atol=1e-8)
    assert np.ptp(wanted[4]) > 0.2
    conserved(results, 1e-10)


def test_a_light_gyro_gives_its_torque():
    """On a heavy body -h delta' k x n, from a prescribed angle."""
    light = gyro(gimbal_inertia=1e-6 * np.eye(3) + J_S * np.diag([0.5, 0.5, 1.0]), gimbal_angle=Sine(0.5, 0.4))
    model = hub_with(light, mass=1e4, inertia=1e4, angular_velocity=None)
    results = femb.simulate(model, duration=2.0, output_interval=0.1, rtol=1e-10)
    angle, rate = results.joints["g_gimbal"].coordinates[:, 0], results.joints["g_gimbal"].rates[:, 0]
    np.testing.assert_allclose(angle, 0.4 * np.sin(np.pi * results.time), atol=1e-9)
    # k x n = x x (0, -sin, cos) = (0, -cos, -sin)
    h = J_S * 300.0
    torque = h * rate[:, None] * np.column_stack([0.0 * angle, np.cos(angle), np.sin(angle)])
    found = 1e4 * results.bodies["hub"].angular_acceleration
    np.testing.assert_allclose(found[:, 1:], torque[:, 1:], atol=1e-5 * np.abs(torque).max())


@pytest.mark.parametrize(
    "rate", [Sine(0.5, 0.4 * np.pi, np.pi / 2.0), Table((0.0, 0.7, 1.5), (0.2, -0.3, 0.4))], ids=lambda rate: rate.shape
)
def test_a_profile_of_the_rate_is_followed_from_the_angle_at_the_start(rate):
    """As a motor that is commanded in rate; of a sine the same run as by the angle in closed form."""
    words = {"duration": 2.0, "output_interval": 0.1, "rtol": 1e-9}
    results = femb.simulate(hub_with(gyro(gimbal_rate=rate, gimbal_angle=0.3)), **words)
    joint = results.joints["g_gimbal"]
    np.testing.assert_allclose(joint.rates[:, 0], [rate(t) for t in results.time], atol=1e-9)
    angles = [0.3 + quad(rate, 0.0, t, points=[x for x in rate.breakpoints if 0.0 < x < t])[0] for t in results.time]
    np.testing.assert_allclose(joint.coordinates[:, 0], angles, atol=1e-9)
    if isinstance(rate, Sine):
        other = femb.simulate(hub_with(gyro(gimbal_angle=Sine(0.5, 0.4, mean=0.3))), **words)
        found, wanted = (each.bodies["hub"].angular_velocity for each in (results, other))
        np.testing.assert_allclose(found, wanted, atol=1e-9)
    conserved(results, 1e-6)


def test_two_gimbals_conserve_momenta_and_energy_less_work():
    outer = Gimbal((0.0, 1.0, 0.0), 1.0, (0.02, 0.03, 0.025), angle=0.2, rate=-0.1, torque=0.03)
    model = hub_with(gyro(gimbal_torque=Polynomial((0.0, 0.05)), torque=0.02, outer=outer, at=(0.2, 0.1, -0.3)))
    results = femb.simulate(model, duration=0.5, output_interval=0.1, rtol=1e-11, method="rk", formulation="reduced")
    conserved(results, 1e-10)
    assert {"g_outer", "g_gimbal"} <= set(results.joints)
    assert results.joints["g_outer"].coordinates[0, 0] == pytest.approx(0.2)
    assert results.joints["g_outer"].rates[0, 0] == pytest.approx(-0.1)
    # the wheel's axis is that of the innermost body
    spin = results.wheels["g"]
    inner = results.bodies["g_gimbal"]
    np.testing.assert_allclose(spin.momentum, J_S * (spin.speed + inner.angular_velocity[:, 2]), rtol=1e-13)


def test_gimbals_cost_few_steps():
    """The quaternion of a gimbal turns slowly, and the fast rotor has none."""
    model = hub_with(gyro(gimbal_angle=Sine(0.1, 0.4)), mass=500.0, inertia=200.0, angular_velocity=None)
    results = femb.simulate(model, duration=10.0, rtol=1e-6, method="radau")
    assert results.statistics["steps"] < 150


def test_case_file(tmp_path):
    case = tmp_path / "case.toml"
    case.write_text("""
[bodies.hub]
mass = 500.0
inertia = 200.0

[wheels.g]
kind = "control_moment"
body = "hub"
at = [0.5, 0, 0]
axis = [0, 0, 1]
spin_inertia = 0.1
speed = "6000 rpm"
gimbal_axis = [1, 0, 0]
gimbal_mass = 20.0
gimbal_inertia = [0.2, 0.2, 0.25]
gimbal_angle = "10 deg"
gimbal_torque = { shape = "sine", amplitude = 0.1, frequency = 0.5 }
outer = { axis = [0, 1, 0], mass = 5.0, inertia = 0.1, rate = "1 deg/s" }

[loads.stop]
kind = "motor"
joint = "g_gimbal"
force = 0.01

[run]
duration = 1.0
""")
    model = femb.load_case(case).model
    assert set(model.bodies) == {"hub", "g_gimbal", "g_outer"}
    assert model.joints["g_gimbal"].start == pytest.approx(np.radians(10.0))
    assert model.loads["g_gimbal"].profile == Sine(0.5, 0.1)
    results = femb.simulate(model, duration=0.1)
    assert np.isfinite(results.wheels["g"].speed).all()
    with pytest.raises(femb.ModelError, match=r"wheels\.g\.torque: got 'much', wanted a number or a profile"):
        femb.load_case(case, ["wheels.g.torque=much"])
    assert femb.load_case(case, ["wheels.g.torque='0.1 N m'"]).model.wheels["g"].torque == 0.1
    by_rate = 'gimbal_rate={ shape = "sine", amplitude = "5 deg/s", frequency = 0.1 }'
    driven = femb.load_case(case, [by_rate.replace("gimbal_rate", "wheels.g.gimbal_rate"), "wheels.g.gimbal_torque=0"])
    motion = driven.model.drivers["g_gimbal"].motion
    assert motion.derivatives(0.0)[:2] == pytest.approx((np.radians(10.0), 0.0))
    assert motion.derivatives(2.5)[1] == pytest.approx(np.radians(5.0))
    model.remove(model.wheels["g"])
    assert set(model.bodies) == {"hub"}


BAD = [
    ({"body": None}, r"wheels\.g\.body: got body = None and beam = None"),
    ({"body": "probe"}, r"wheels\.g\.body: got 'probe', a point mass"),
    ({"gimbal_axis": (0, 0, 0)}, r"wheels\.g\.gimbal_axis: got .*, a direction must not be zero"),
    ({"gimbal_axis": (0, 0, 2)}, r"wheels\.g\.gimbal_axis: got .*, is along the axis of the wheel"),
    ({"gimbal_mass": 0.0}, r"wheels\.g\.gimbal_mass: got 0\.0, must be greater than 0"),
    ({"gimbal_inertia": (1, 1, 3)}, r"wheels\.g\.gimbal_inertia: .* break the triangle inequality"),
    ({"spin_inertia": 0.05}, r"wheels\.g\.spin_inertia: got 0\.05, must be below the inertia of body 'g_gimbal'"),
    ({"gimbal_angle": Sine(1.0, 1.0), "gimbal_torque": 1.0}, r"gimbal_torque: got 1\.0, given beside a motion"),
    ({"gimbal_angle": Sine(1.0, 1.0), "gimbal_rate": 1.0}, r"gimbal_rate: got 1\.0, given beside a motion"),
    ({"gimbal_rate": Step()}, r"gimbal_rate: got the profile 'step', whose value jumps or has no integral"),
    ({"gimbal_rate": Sine(1.0), "gimbal_torque": 1.0}, r"gimbal_torque: got 1\.0, given beside a profile of the rate"),
    ({"outer": 1.0}, r"wheels\.g\.outer: got 1\.0, wanted a femb\.Gimbal"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_messages(words, message):
    given = {"body": "hub", "gimbal_inertia": I_0} | GYRO | words
    probe = PointMass("probe", 1.0, position=(5, 0, 0))
    refuses(message, lambda: System(hub_with(probe, ControlMomentGyro("g", **given))))


def on_a_boom(**words):
    """A hub with a boom and a gyro whose gimbal is driven."""
    hub = RigidBody("hub", mass=50.0, inertia=(5.0, 6.0, 7.0))
    section = femb.Section("tube", shape={"tube": (0.02, 0.001)}, material="aluminium 6061-T6")
    boom = femb.Beam("boom", section, 2.0, 4, start=hub.at(direction=(1, 0, 0)))
    return of_parts(hub, boom, *([gyro(**words)] if words else []))


@pytest.mark.slow
def test_a_driven_gimbal_is_no_appendage_that_vibrates():
    """With the hub held the boom alone has modes; the plant for truncation has the gimbal's mass on the hub."""
    driven = {"gimbal_angle": Polynomial((0.1, 0.2))}
    wanted = femb.modes(on_a_boom(), 4, held="hub")
    model = on_a_boom(**driven)
    found = femb.modes(model, 4, held="hub")
    np.testing.assert_allclose(found.frequencies, wanted.frequencies, rtol=1e-9)
    assert [part.name for part in found.appendages] == ["boom"]
    plant = femb.handover.hybrid_coordinates(model, held="hub")
    assert [len(part.frequencies) > 0 for part in plant.appendages] == [
        part.name == "boom" for part in plant.appendages
    ]
    words = {"inputs": ["bodies.hub.torque"], "outputs": ["bodies.hub.turn"]}
    full = femb.linear_model(model, hub="hub", **words).frequency_response([0.5, 20.0]).values
    space = femb.linearize_structure(model, hub="hub", craig_bampton=12, damping=1e-12, **words)
    np.testing.assert_allclose(space.frequency_response([0.5, 20.0]).values, full, atol=1e-3 * np.max(np.abs(full)))
