"""Budgets of energy and momentum by account: closed forms of each kind, their sums, and their exits."""

import csv
import json

import numpy as np
import pytest
from models import of_parts
from oracles.report_page import ReportPage

import femb

HUB = {"mass": 10.0, "inertia": (2.0, 3.0, 4.0)}
Z = (0.0, 0.0, 1.0)
SPIN, TORQUE, SPEED = 0.02, 0.3, 40.0


def wheel(**words):
    """A wheel about the third axis of a free hub."""
    given = {"body": "hub", "axis": (0.0, 0.0, 1.0), "spin_inertia": SPIN, "speed": SPEED}
    return femb.ReactionWheel("w", **given | words)


def everything():
    """A free hub with a wheel that has friction and a harmonic, a thruster, a load, and a mass on a damped hinge."""
    arm = femb.RigidBody("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1.0, 0.0, 0.0))
    return of_parts(
        femb.RigidBody("hub", angular_velocity=(0.1, 0.2, 0.3), **HUB),
        arm,
        femb.Revolute(
            "hinge", femb.JointEnd("hub", at=(0.5, 0, 0), axis=Z), femb.JointEnd("arm", at=(-0.5, 0, 0), axis=Z)
        ),
        femb.JointSpringDamper("damper", joint="hinge", stiffness=2.0, damping=0.4, free=0.5),
        femb.JointFriction("rub", joint="hinge", coulomb=0.02, transition_rate=0.05),
        wheel(torque=TORQUE, viscous=1e-3, harmonics=[femb.WheelHarmonic(1.0, radial_force=1e-4)]),
        femb.Thruster("t", 2.0, (0.0, 1.0, 0.0), body="hub", at=(0.3, 0.0, 0.1), pulses=((0.2, 0.4),)),
        femb.Load("push", body="arm", force=(0.0, 0.3, 0.0), profile=femb.profiles.Versine(0.7)),
    )


def test_motor_of_a_wheel_does_torque_times_speed():
    """Constant torque on the wheel of a hub that contains it: J_s (1 - J_s/J) Omega' = u."""
    results = femb.simulate(
        of_parts(femb.RigidBody("hub", **HUB), wheel(torque=TORQUE)), duration=2.0, output_interval=0.25, rtol=1e-9
    )
    t, rate = results.time, TORQUE / (SPIN * (1.0 - SPIN / HUB["inertia"][2]))
    work = results.budget["reaction_wheels_motor"].work
    np.testing.assert_allclose(work, TORQUE * (SPEED * t + 0.5 * rate * t**2), rtol=1e-9)
    assert not np.any(results.budget["reaction_wheels_friction"].work)


def test_friction_of_a_wheel_takes_what_its_speed_loses():
    """Viscous friction alone: Omega falls as exp(-c t/J'), and the wheel loses J' (Omega_0^2 - Omega^2)/2."""
    own, c = SPIN * (1.0 - SPIN / HUB["inertia"][2]), 0.01
    model = of_parts(femb.RigidBody("hub", **HUB), wheel(viscous=c))
    results = femb.simulate(model, duration=2.0, output_interval=0.25, rtol=1e-10)
    wanted = 0.5 * own * SPEED**2 * np.expm1(-2.0 * c * results.time / own)
    np.testing.assert_allclose(results.budget["reaction_wheels_friction"].work, wanted, rtol=1e-8)


@pytest.mark.parametrize("regenerative", [True, False], ids=["regenerative", "not"])
def test_electrical_energy_of_a_motor_that_brakes_and_drives(regenerative):
    """Constant torque against the speed, through zero: idle + u Omega + (u/k_m)^2, whose zero splits the integral."""
    u, k_m, idle, own = -0.3, 0.12, 5.0, SPIN * (1.0 - SPIN / HUB["inertia"][2])
    words = {"motor_constant": k_m, "idle_power": idle, "regenerative": regenerative}
    model = of_parts(femb.RigidBody("hub", **HUB), wheel(torque=u, **words))
    # the power has a kink where the motor begins to take, which no error control sees
    options = {"rtol": 1e-9} if regenerative else {"max_step": 0.01}
    results = femb.simulate(model, duration=4.0, output_interval=0.25, **options)
    t, lost, rate = results.time, (u / k_m) ** 2, u / own
    power = u * (SPEED + rate * t) + lost
    assert power[0] < 0.0 < power[-1]
    np.testing.assert_allclose(results.wheels["w"].power, idle + (power if regenerative else np.maximum(power, 0.0)))
    wanted = (u * SPEED + lost) * t + 0.5 * u * rate * t**2
    if not regenerative:
        zero = -(u * SPEED + lost) / (u * rate)
        wanted = np.where(t > zero, 0.5 * u * rate * (t - zero) ** 2, 0.0)
    motor = results.budget["reaction_wheels_motor"]
    tolerance = 1e-9 if regenerative else 1e-5
    np.testing.assert_allclose(motor.electrical_energy, idle * t + wanted, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(motor.work, results.audit.work, rtol=1e-12)  # which has no electrical energy


@pytest.mark.slow
def test_electrical_energy_of_a_motor_under_a_continuous_law_has_its_commands():
    """The law alone drives the wheel, u = -0.2 Omega: the energy is that of its commands."""
    words = {"inputs": ["wheels.w.speed"], "outputs": ["wheels.w.torque"]}
    law = femb.LinearController("law", [[-1.0]], [[0.0]], [[0.0]], [[-0.2]], **words)
    model = of_parts(femb.RigidBody("hub", **HUB), wheel(motor_constant=0.5, idle_power=1.0), law)
    results = femb.simulate(model, duration=1.0, output_interval=0.1, rtol=1e-10)
    own = SPIN * (1.0 - SPIN / HUB["inertia"][2])
    decay = -np.expm1(-2.0 * 0.2 * results.time / own) * own / (2.0 * 0.2)
    wanted = results.time + (-0.2 + 0.04 / 0.25) * SPEED**2 * decay
    motor = results.budget["reaction_wheels_motor"]
    np.testing.assert_allclose(motor.electrical_energy, wanted, rtol=1e-8)


def test_wheels_without_electrical_numbers_have_no_electrical_energy():
    results = femb.simulate(of_parts(femb.RigidBody("hub", **HUB), wheel(torque=TORQUE)), duration=0.1)
    assert "electrical_energy" not in results.budget["reaction_wheels_motor"]
    np.testing.assert_array_equal(results.wheels["w"].power, TORQUE * results.wheels["w"].speed)


def test_dashpot_takes_the_kinetic_energy():
    """v = v_0 exp(-c t/m) on the ground; the ground takes the momentum, as the rest."""
    m, c, v0 = 3.0, 2.0, 1.5
    dashpot = femb.SpringDamper("d", femb.SpringEnd(anchor=(-5.0, 0.0, 0.0)), femb.SpringEnd(body="m"), damping=c)
    model = of_parts(femb.PointMass("m", mass=m, velocity=(v0, 0.0, 0.0)), dashpot)
    results = femb.simulate(model, duration=2.0, output_interval=0.25, rtol=1e-10)
    fall = np.expm1(-2.0 * c * results.time / m)
    np.testing.assert_allclose(results.budget["point_springs"].work, 0.5 * m * v0**2 * fall, rtol=1e-8)
    np.testing.assert_allclose(
        results.budget["rest"].impulse[:, 0], m * v0 * np.expm1(-c * results.time / m), rtol=1e-8
    )


def test_thruster_gives_force_times_time():
    """On a free body that does not turn: F t_on, its moment about the origin, and the work that it became."""
    F, on = 2.0, 0.4
    thruster = femb.Thruster("t", F, (0.0, 1.0, 0.0), body="hub", pulses=((0.2, on),))
    model = of_parts(femb.RigidBody("hub", position=(3.0, 0.0, 0.0), **HUB), thruster)
    account = femb.simulate(model, duration=1.0, output_interval=0.1).budget["thrusters"]
    np.testing.assert_allclose(account.impulse[-1], (0.0, F * on, 0.0), atol=1e-12)
    np.testing.assert_allclose(account.angular_impulse[-1], (0.0, 0.0, 3.0 * F * on), atol=1e-11)
    assert account.work[-1] == pytest.approx((F * on) ** 2 / (2.0 * HUB["mass"]), rel=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "radau"},
        {"method": "rk"},
        {"method": "bdf"},
        {"method": "generalized-alpha"},
        {"formulation": "quaternion"},
        {"formulation": "reduced", "method": "rk"},
    ],
    ids=lambda options: "-".join(options.values()),
)
def test_works_add_up_and_impulses_are_the_change_of_momentum(options):
    """To rounding, by every method; and what is left of a free model's momentum are the errors of integration."""
    rtol = 2e-8 if options.get("method") == "generalized-alpha" else 1e-7
    results = femb.simulate(everything(), duration=0.6, output_interval=0.1, rtol=rtol, **options)
    budget = results.budget
    total = sum(account.work for account in budget.values() if "work" in account)
    np.testing.assert_allclose(total, results.audit.work, rtol=0.0, atol=1e-13)
    assert {"joint_springs", "friction_springs", "thrusters", "point_loads", "reaction_wheels_motor"} < {*budget}
    assert budget["joint_springs"].work[-1] < -1e-4 > budget["friction_springs"].work[-1]
    for word, momentum in (("impulse", "linear_momentum"), ("angular_impulse", "angular_momentum")):
        given = sum(account[word] for name, account in budget.items() if word in account and name != "rest")
        change = results.audit[momentum] - results.audit[momentum][0]
        np.testing.assert_allclose(given, change, atol=1e-5)
        np.testing.assert_allclose(budget["rest"][word], change - given, atol=1e-12)


def test_compiled_steps_know_the_power_of_hinges():
    """Of the reduced and the momentum form, whose kernels have one power, beside the velocity form."""
    model = of_parts(
        femb.RigidBody("a", mass=2.0, inertia=(0.2, 0.3, 0.4), angular_velocity=(0.0, 1.0, 0.5)),
        femb.RigidBody("b", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1.0, 0.0, 0.0)),
        femb.Revolute("h", femb.JointEnd("a", at=(0.5, 0, 0), axis=Z), femb.JointEnd("b", at=(-0.5, 0, 0), axis=Z)),
        femb.JointSpringDamper("d", joint="h", stiffness=2.0, damping=0.4, free=0.5),
    )
    options = {"duration": 1.0, "output_interval": 0.2, "rtol": 1e-9, "method": "rk"}
    works = [
        femb.simulate(model, formulation=name, **options).budget["joint_springs"].work
        for name in ("velocity", "reduced", "hamiltonian")
    ]
    assert works[0][-1] < -0.01
    np.testing.assert_allclose(works[1:], [works[0], works[0]], atol=1e-8)


def test_budgets_leave_by_every_exit(tmp_path):
    file = tmp_path / "results.h5"
    results = femb.simulate(everything(), duration=0.3, output_interval=0.1, out=file)
    read = femb.Results.read(file)
    name = "budget.thrusters.angular_impulse"
    np.testing.assert_array_equal(read[name], results.budget["thrusters"].angular_impulse)
    femb.export_csv(read, tmp_path / "csv", items=["thrusters"])
    with (tmp_path / "csv" / "account_thrusters.csv").open() as table:
        head = next(csv.reader(table))
    assert {"work [J]", "impulse_x [N s]", "angular_impulse_z [N m s]"} < {*head}
    page = ReportPage(femb.report(read, tmp_path / "report.html"))
    rows = {row["account"]: row for row in page.data["budget"]}
    assert rows["joint springs"]["work"][0] == pytest.approx(read.budget["joint_springs"].work[-1], rel=1e-4)
    assert json.dumps(rows["thrusters"]["impulse"])
    femb.figure(read, "budget", path=tmp_path / "budget.png")
    assert (tmp_path / "budget.png").stat().st_size > 10_000


def test_heat_is_an_account_of_its_own():
    """A heated exact beam with damping, whose batch has the power of both."""
    section = femb.Section("s", 1e-4, (1e-9, 1e-9), 2e-9, 2700.0, 7e10, 2.6e10, expansion=2e-5, damping=1e-3)
    beam = femb.ExactBeam(
        "boom", section=section, length=1.0, elements=1, start=femb.Attachment("hub", direction=(1.0, 0.0, 0.0))
    )
    heat = femb.ThermalLoad("sun", beam="boom", temperature=50.0, profile=femb.profiles.Versine(0.05))
    model = of_parts(femb.RigidBody("hub", **HUB), section, beam, heat)
    results = femb.simulate(model, duration=0.02, output_interval=0.005)
    budget = results.budget
    assert budget["thermal_loads"].work[-1] != 0.0 > budget["exact_beams"].work[-1]
    total = sum(account.work for account in budget.values() if "work" in account)
    np.testing.assert_allclose(total, results.audit.work, rtol=0.0, atol=1e-12)
