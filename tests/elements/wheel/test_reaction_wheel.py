"""Reaction wheels: closed forms, conservation, exact rotors and their disturbances, limits and messages."""

import dataclasses
import re

import checkout
import numpy as np
import pytest
from long_runs import slow_but
from models import of_parts, refuses
from oracles.finite_differences import INERTIA
from oracles.modal_example import Particles
from scipy.integrate import solve_ivp

import femb
from femb.base.options import Tolerances
from femb.numerics import rotations
from femb.numerics.tableaux import RADAU_A, RADAU_C
from femb.profiles import Constant, Polynomial, Sine, Table
from femb.small_motions.channels import output
from femb.small_motions.point import OperatingPoint
from femb.system.moving_ground import mass_properties
from femb.system.system import System

J_S = 0.08
SKEW = (0.4, -0.5, 0.8)
DRY = {"viscous": 1e-4, "coulomb": 2e-3, "transition_speed": 0.5}
TUBE = femb.Section("tube", 2e-3, (3e-4, 4e-4), 5e-4, 1.2e3, 5e3, 2e3)


def hub_with(*items, title="wheel", gravity=(0.0, 0.0, 0.0), **words):
    given = {"mass": 50.0, "inertia": (10.0, 7.0, 12.0), "angular_velocity": (0.1, -0.2, 0.3)} | words
    return of_parts(femb.RigidBody("hub", **given), *items, gravity=gravity)


def conserved(results, tolerance, linear=True):
    """Momenta, and energy less work, to a part of the largest momentum and energy."""
    audit = results.audit
    spin = audit.angular_momentum
    assert np.abs(spin - spin[0]).max() < tolerance * max(1.0, np.abs(spin[0]).max())
    if linear:
        assert np.abs(audit.linear_momentum - audit.linear_momentum[0]).max() < tolerance
    size = np.abs(audit.kinetic_energy).max()
    assert np.abs(audit.energy_error).max() < tolerance * max(1.0, size)


# Balanced wheels


def test_a_skew_wheel_with_motor_and_friction_conserves_momentum_and_energy_less_work():
    wheel = femb.ReactionWheel("w", "hub", axis=SKEW, spin_inertia=J_S, speed=20.0, torque=Sine(0.05, 0.1), **DRY)
    results = femb.simulate(hub_with(wheel), duration=100.0, method="rk", rtol=1e-12, output_interval=1.0)
    conserved(results, 2e-11)
    assert np.ptp(results.audit.work) > 1.0
    torque, w = results.wheels["w"].torque, results.wheels["w"]
    np.testing.assert_allclose(torque, 0.1 * np.sin(0.1 * np.pi * results.time), atol=1e-12)
    np.testing.assert_allclose(w.power, torque * w.speed, rtol=1e-14)
    np.testing.assert_allclose(w.friction, 2e-3 * np.tanh(w.speed / 0.5) + 1e-4 * w.speed, rtol=1e-14)
    axis, omega = np.array(SKEW) / np.linalg.norm(SKEW), results.bodies["hub"].angular_velocity
    np.testing.assert_allclose(w.momentum, J_S * (w.speed + omega @ axis), rtol=1e-13)


def test_a_symmetric_gyrostat_nutates_with_its_rate_at_any_amplitude():
    A, C, h, spin = 10.0, 8.0, 0.1 * 300.0, 0.02
    wheel = femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=0.1, speed=300.0)
    model = hub_with(wheel, inertia=(A, A, C), angular_velocity=(0.5, 0.0, spin))
    results = femb.simulate(model, duration=10.0, method="rk", rtol=1e-12, output_interval=0.1)
    omega = results.bodies["hub"].angular_velocity
    rate = ((C - A) * spin + h) / A
    assert rate == pytest.approx(2.996)
    expected = 0.5 * np.exp(1j * rate * results.time)
    np.testing.assert_allclose(omega[:, 0] + 1j * omega[:, 1], expected, atol=1e-10)
    np.testing.assert_allclose(results.wheels["w"].speed, 300.0, rtol=1e-13)


def test_the_linear_model_of_a_triaxial_gyrostat_has_its_nutation_and_no_pole_of_the_angle():
    spin, h = 0.02, 30.0
    J1, J2, J3 = 10.0, 7.0, 12.0
    wheel = femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=0.1, speed=300.0)
    model = hub_with(wheel, angular_velocity=(0.0, 0.0, spin))
    space = femb.linearize(model, outputs=["wheels.w.speed", "wheels.w.momentum"])
    wanted = np.sqrt(((J3 - J2) * spin + h) * ((J3 - J1) * spin + h) / (J1 * J2))
    assert wanted == pytest.approx(3.5940506396, abs=5e-11)
    assert np.abs(space.eigenvalues().imag).max() == pytest.approx(wanted, rel=1e-12)
    # position, attitude and their rates, and the speed
    assert len(space.states) == 13
    assert space.states[-1] == "w.speed"
    assert space.inputs == ("wheels.w.torque",)


def test_the_linear_model_has_the_slope_of_friction():
    wheel = femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=J_S, speed=1.0, static=5e-3, **DRY)
    space = femb.linearize(hub_with(wheel, angular_velocity=None), outputs=["wheels.w.friction"])

    def law(x):
        return (2e-3 + 3e-3 * np.exp(-((x / 5.0) ** 2))) * np.tanh(x / 0.5) + 1e-4 * x

    slope = (law(1.0 + 1e-6) - law(1.0 - 1e-6)) / 2e-6
    np.testing.assert_allclose(space.C[0, space.states.index("w.speed")], slope, rtol=1e-9)
    # the wheel and the hub turn against each other
    assert -space.eigenvalues().real.min() == pytest.approx(slope * (1.0 / J_S + 1.0 / (12.0 - J_S)), rel=1e-9)


def on_a_hinge(axis, speed, torque, **words):
    """A wheel as a body on a hinge of the hub, whose inertia does not contain it."""
    g = np.array(axis) / np.linalg.norm(axis)
    locked = INERTIA + np.diag([9.0, 7.0, 8.0])
    rotor = J_S * np.outer(g, g) + 0.5 * J_S * (np.eye(3) - np.outer(g, g))
    model = femb.Model("hinge")
    model.add(femb.RigidBody("hub", 50.0, locked - rotor, angular_velocity=(0.1, -0.2, 0.3)))
    model.add(femb.RigidBody("wheel", 1e-9, rotor))
    model.add(femb.Revolute("axle", femb.JointEnd("hub", axis=axis), femb.JointEnd("wheel", axis=axis), rates=speed))
    model.add(femb.JointMotor("motor", "axle", force=torque))
    return model


@pytest.mark.slow
def test_it_is_the_same_as_a_body_on_a_hinge():
    bodies = on_a_hinge(SKEW, 100.0, 0.1)
    locked = bodies.bodies["hub"].inertia + bodies.bodies["wheel"].inertia
    contained = hub_with(
        femb.ReactionWheel("w", "hub", axis=SKEW, spin_inertia=J_S, speed=100.0, torque=0.1), inertia=locked
    )
    words = {"duration": 3.0, "output_interval": 1.0, "rtol": 1e-10}
    first = femb.simulate(bodies, **words, formulation="reduced")
    assert first.joints["axle"].rates[0, 0] == pytest.approx(100.0)
    for formulation in ("velocity", "reduced", "quaternion"):
        second = femb.simulate(contained, **words, formulation=formulation)
        for name in ("angular_velocity", "quaternion"):
            np.testing.assert_allclose(second.bodies["hub"][name], first.bodies["hub"][name], rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(second.wheels["w"].speed, first.joints["axle"].rates[:, 0], rtol=1e-9)
    # as a body its quaternion must be followed through its turns
    words = {"duration": 0.5, "output_interval": 0.5, "rtol": 1e-6, "method": "radau"}
    steps = [femb.simulate(model, **words).statistics["steps"] for model in (bodies, contained)]
    assert steps[1] < 0.05 * steps[0]


# Section 10 of the theory page of control loops: a satellite with two panels and four wheels

TILT = np.arctan(np.sqrt(0.5))
AXES = [(np.cos(TILT) * np.cos(a), np.cos(TILT) * np.sin(a), np.sin(TILT)) for a in np.radians([45, 135, 225, 315])]
TORQUES = np.array([(0.10, -0.05, 0.03, -0.08), (-0.04, 0.09, -0.10, 0.02), (0.0, 0.0, 0.0, 0.0)])


class Held:
    """One value for ten seconds each."""

    breakpoints = (10.0, 20.0)

    def __init__(self, values):
        self.values = values

    def __call__(self, t):
        return float(self.values[int(t >= 10.0) + int(t >= 20.0)])


def satellite():
    model = femb.Model("satellite")
    inertia = [[300.0, 5.0, -8.0], [5.0, 250.0, 4.0], [-8.0, 4.0, 350.0]]
    model.add(femb.RigidBody("hub", 500.0, inertia, angular_velocity=(0.01, -0.02, 0.03)))
    for side, name, angle in ((1.0, "left", 0.002), (-1.0, "right", -0.001)):
        panel = femb.RigidBody(name, 20.0, (500 / 3, 20 / 3, 520 / 3), center_of_mass=(0.0, 5.0 * side, 0.0))
        ends = femb.JointEnd("hub", at=(0.0, side, 0.0), axis=(1, 0, 0)), femb.JointEnd(name, axis=(1, 0, 0))
        spring = femb.JointSpringDamper(f"{name} spring", f"{name} hinge", stiffness=1650.0, damping=10.5)
        for item in (panel, femb.Revolute(f"{name} hinge", *ends, start=angle), spring):
            model.add(item)
    for k, axis in enumerate(AXES):
        speed, torque = 100.0 * (-1.0) ** k, Held(TORQUES[:, k])
        model.add(femb.ReactionWheel(f"w{k}", "hub", axis=axis, spin_inertia=J_S, speed=speed, torque=torque))
    return model


OMEGA = (0.025464536642, -0.022176538412, 0.019868368729)
RODRIGUES = (0.144162654066, -0.156320660970, 0.204542869805)
PANELS = (-2.212683734e-4, 8.595978157e-5)
SPEEDS = (107.498177671, -94.983965421, 91.263521329, -107.504335579)


@pytest.mark.parametrize("formulation", slow_but(["velocity"], ["velocity", "reduced", "quaternion"]))
def test_the_satellite_with_four_wheels_has_the_numbers_of_two_other_programs(formulation):
    results = femb.simulate(
        satellite(), duration=30.0, method="radau", rtol=1e-10, formulation=formulation, output_interval=10.0
    )
    hub = results.bodies["hub"]
    np.testing.assert_allclose(hub.angular_velocity[-1], OMEGA, rtol=0.0, atol=2e-11)
    turn = hub.quaternion[-1] * np.sign(hub.quaternion[-1, 0])
    np.testing.assert_allclose(turn[1:] / (1.0 + turn[0]), RODRIGUES, rtol=0.0, atol=2e-11)
    angles = [results.joints[f"{name} hinge"].coordinates[-1, 0] for name in ("left", "right")]
    np.testing.assert_allclose(angles, PANELS, rtol=0.0, atol=2e-11)
    np.testing.assert_allclose([results.wheels[f"w{k}"].speed[-1] for k in range(4)], SPEEDS, rtol=0.0, atol=1e-9)
    assert np.abs(results.audit.energy_error).max() < 1e-10


STEPS = [
    ("velocity", "radau", 1e-6, 145, 5.6e-7),
    ("velocity", "radau", 1e-9, 786, 2.4e-10),
    ("velocity", "bdf", 1e-6, 297, 2e-4),
    ("velocity", "generalized-alpha", 1e-6, 442, 1.7e-4),
    ("velocity", "rk", 1e-9, 97, 5e-8),
    ("reduced", "radau", 1e-6, 269, 3.9e-8),
    ("reduced", "radau", 1e-9, 1364, 1.5e-11),
    ("reduced", "rk", 1e-9, 135, 1.3e-9),
    ("quaternion", "radau", 1e-6, 145, 7.5e-7),
]


@pytest.mark.parametrize(("formulation", "method", "rtol", "steps", "error"), slow_but(STEPS[:1], STEPS))
def test_wheels_of_the_satellite_cost_no_steps(formulation, method, rtol, steps, error):
    run = {"duration": 30.0, "method": method, "rtol": rtol, "formulation": formulation, "output_interval": 10.0}
    results = femb.simulate(satellite(), **run)
    assert results.statistics["steps"] <= steps
    assert np.abs(results.bodies["hub"].angular_velocity[-1] - OMEGA).max() < 1.1 * error


# Rotors with imbalance, and harmonics

ROTOR = {"mass": 2.0, "transverse_inertia": 0.015, "spin_inertia": 0.02}
HEAVY = ROTOR | {"static_imbalance": 0.01, "dynamic_imbalance": 1e-3}


def off_centre(gravity=(0.0, 0.0, 0.0), **words):
    given = {"axis": (1, 2, 2), "at": (0.3, -0.2, 0.5), "speed": 60.0, "torque": 0.05} | words
    return hub_with(
        femb.ReactionWheel("w", "hub", **given), gravity=gravity, mass=5.0, inertia=INERTIA + np.diag([2.0, 2.0, 2.0]),
        center_of_mass=(0.1, 0.2, -0.3), velocity=(0.1, 0.0, 0.0),
    )  # fmt: skip


def test_an_unbalanced_rotor_off_the_mass_centre_conserves_momenta_and_energy_less_work():
    results = femb.simulate(
        off_centre(**HEAVY), duration=2.0, method="rk", rtol=1e-13, output_interval=0.1, atol=Tolerances(1e-11)
    )
    conserved(results, 1e-10)
    assert np.ptp(results.audit.work) > 5.0
    assert mass_properties(System(off_centre(**HEAVY)))[0] == pytest.approx(7.0)


def test_a_rotor_without_imbalance_is_a_wheel_that_its_body_contains():
    """The rotor as part of the body, locked: its mass, mass centre and inertia in those of the body."""
    model = off_centre(**ROTOR)
    body, wheel = model.bodies["hub"], model.wheels["w"]
    g = np.asarray(wheel.axis)
    rotor = 0.015 * np.eye(3) + 0.005 * np.outer(g, g)
    mass = body.mass + 2.0
    centre = (body.mass * body.center_of_mass + 2.0 * wheel.at) / mass

    def about(m, d):
        return m * (d @ d * np.eye(3) - np.outer(d, d))

    inertia = body.inertia + about(body.mass, body.center_of_mass - centre) + rotor + about(2.0, wheel.at - centre)
    contained = hub_with(
        femb.ReactionWheel("w", "hub", axis=(1, 2, 2), spin_inertia=0.02, speed=60.0, torque=0.05), mass=mass,
        inertia=inertia, center_of_mass=centre, velocity=(0.1, 0.0, 0.0),
    )  # fmt: skip
    runs = [femb.simulate(each, duration=5.0, rtol=1e-10, output_interval=0.5) for each in (model, contained)]
    for name in ("angular_velocity", "quaternion", "position"):
        np.testing.assert_allclose(runs[0].bodies["hub"][name], runs[1].bodies["hub"][name], atol=1e-9)
    np.testing.assert_allclose(runs[0].wheels["w"].speed, runs[1].wheels["w"].speed, rtol=1e-11)
    # an imbalance of nothing is none
    tiny = femb.simulate(off_centre(**ROTOR, static_imbalance=1e-300), duration=1.0, rtol=1e-10, output_interval=0.5)
    np.testing.assert_allclose(tiny.wheels["w"].speed, runs[0].wheels["w"].speed[:3], rtol=1e-11)


def test_a_heavy_rotor_in_gravity_swings_as_a_pendulum():
    """About a horizontal axis of a body at rest, from the highest point of its mass centre."""
    m, d, g = 2.0, 0.005, 9.81
    wheel = femb.ReactionWheel("w", "hub", axis=(0, 1, 0), **ROTOR, static_imbalance=m * d, speed=1.0)
    model = hub_with(wheel, gravity=(0.0, 0.0, -g), mass=1e12, inertia=1e12, angular_velocity=None)
    falling = femb.simulate(model, duration=2.0, rtol=1e-9, output_interval=0.01)
    # in free fall there is no weight
    np.testing.assert_allclose(falling.wheels["w"].speed, 1.0, rtol=1e-6)
    model.add(femb.Fixed("bolt", femb.JointEnd("ground"), femb.JointEnd("hub")))
    results = femb.simulate(model, duration=2.0, rtol=1e-10, output_interval=0.01)
    # e1 = x, e2 = axis x e1 = -z: the mass centre starts along -e2
    force = m * d * g / ROTOR["spin_inertia"]
    words = {"t_eval": results.time, "rtol": 1e-12, "atol": 1e-12}
    wanted = solve_ivp(lambda t, y: (y[1], force * np.sin(y[0])), (0.0, 2.0), (0.0, 1.0), **words).y
    assert wanted[0, -1] > np.pi
    np.testing.assert_allclose(results.wheels["w"].angle, wanted[0], atol=1e-7)
    np.testing.assert_allclose(results.wheels["w"].speed, wanted[1], atol=1e-7)


A, M, U_D, U_S, SPEED = 4.0, 50.0, 1e-6, 1e-5, 100.0
PERIOD = 2.0 * np.pi / SPEED


def steady(spin_inertia=0.01, periods=6, rotor=None, **words):
    """A free hub with a wheel at its mass centre in its steady motion; the amplitudes of displacement and turn."""
    given = {"static_imbalance": U_S, "dynamic_imbalance": U_D} | (rotor or {})
    mass, inertia = M - given.get("mass", 0.0), A - given.get("transverse_inertia", 0.0)
    model = femb.Model("steady")
    rates = {"velocity": (-U_S * SPEED / M, 0, 0), "angular_velocity": (-U_D * SPEED / (A - spin_inertia), 0, 0)}
    model.add(femb.RigidBody("hub", mass, (inertia, inertia, 5.0), **rates))
    model.add(femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=spin_inertia, speed=SPEED, **given))
    run = {"duration": periods * PERIOD, "output_interval": PERIOD / 40.0, "method": "radau"} | words
    return femb.simulate(model, **run)


def amplitudes(results):
    """Of the displacement and of the turn, beside a drift."""
    hub, t = results.bodies["hub"], results.time
    turn = 2.0 * hub.quaternion[:, 1:3] * np.sign(hub.quaternion[:, :1])
    basis = np.column_stack([np.ones_like(t), t, np.cos(SPEED * t), np.sin(SPEED * t)])
    fits = [np.linalg.lstsq(basis, motion[:, 0], rcond=None)[0] for motion in (hub.position, turn)]
    return [np.hypot(*fit[2:]) for fit in fits]


LIGHT = {"mass": 2.0, "transverse_inertia": 0.006}


@pytest.mark.parametrize("rotor", [None, LIGHT], ids=["loads", "rotor"])
def test_steady_amplitudes_on_a_free_body(rotor):
    """The turn is U_d/(A - J_s), also by the loads: the wheel that causes them has its gyroscopic term."""
    fine = {"rtol": 1e-10, "atol": Tolerances(1e-16, 1e-16)}
    np.testing.assert_allclose(amplitudes(steady(rotor=rotor, **fine)), [2e-7, 2.50626567e-7], rtol=3e-9)
    if rotor is None:
        light = amplitudes(steady(1e-6, rotor=None, **fine))
        np.testing.assert_allclose(light, [2e-7, 2.5e-7 * (1.0 + 2.5e-7)], rtol=3e-9)


@pytest.mark.parametrize(("method", "least", "error"), [("radau", 8, 1e-4), ("rk", 8, 1e-5), ("bdf", 40, 0.02)])
def test_steps_resolve_what_tolerances_do_not_see(method, least, error):
    results = steady(method=method, periods=10)
    assert results.statistics["steps"] >= least * 10
    assert results.statistics["steps"] < 1.2 * least * 10 + 20
    np.testing.assert_allclose(amplitudes(results), [2e-7, 2.50626567e-7], rtol=error)
    # of the highest order, and with the fastest wheel
    more = {"harmonics": [femb.WheelHarmonic(3.0, radial_force=1e-9)]}
    assert steady(method=method, periods=2, rotor=more).statistics["steps"] >= least * 6


FIXED = [{"method": "rk", "tableau": "rk4"}, {"method": "gauss"}, {"method": "generalized-alpha"}]


@pytest.mark.parametrize("words", FIXED, ids=lambda words: words["method"])
def test_fixed_steps_that_are_too_long_are_refused(words):
    steady(periods=1, step=PERIOD / 50.0, **words)
    with pytest.raises(femb.SolveError, match=r"too long for a wheel with imbalance or harmonics: at most 0.00\d+ s"):
        steady(periods=1, step=PERIOD / 30.0, **words)


@pytest.mark.slow
def test_harmonics_are_the_imbalance_of_a_rotor_with_little_inertia():
    """Equation (6) against (5) in a run-up: equal phases, and the loads act where the rotor is."""
    rotor = {"mass": 1e-6, "transverse_inertia": 1e-8, "spin_inertia": 1e-8}
    motor = {"axis": (1, 2, 2), "at": (0.3, -0.2, 0.5), "speed": 30.0, "torque": Polynomial((0.0, 1e-7))}
    small = {"static_imbalance": 1e-12, "dynamic_imbalance": 1e-13}
    words = {"duration": 1.0, "output_interval": 0.01, "rtol": 1e-12, "atol": Tolerances(1e-19, 1e-19)}
    still = {"mass": 1e-3, "inertia": 1e-3, "angular_velocity": None}

    def response(**given):
        """The motion of the hub by the imbalance alone."""
        hubs = []
        for imbalance in (small, {}):
            wheel = femb.ReactionWheel("w", "hub", **motor, **given, **imbalance)
            hubs.append(femb.simulate(hub_with(wheel, **still), **words).bodies["hub"])
        return [hubs[0][name] - hubs[1][name] for name in ("velocity", "angular_velocity")]

    for first, second in zip(response(**rotor), response(spin_inertia=1e-8), strict=True):
        size = np.abs(first).max()
        assert size > 1e-8
        # but for the tangential acceleration of the imbalance, and what a rotor of a thousandth of the mass adds
        np.testing.assert_allclose(first, second, rtol=0.0, atol=0.02 * size)


def panelled(*items):
    """A hub with a panel on a damped hinge, whose mode is at about 21 rad/s."""
    return of_parts(
        femb.RigidBody("hub", 20.0, (3.0, 2.0, 4.0)),
        femb.RigidBody("panel", 2.0, (0.5, 0.02, 0.5), center_of_mass=(0.0, 1.0, 0.0)),
        femb.Revolute(
            "hinge", femb.JointEnd("hub", at=(0, 0.5, 0), axis=(1, 0, 0)), femb.JointEnd("panel", axis=(1, 0, 0))
        ),
        femb.JointSpringDamper("spring", "hinge", stiffness=1100.0, damping=20.0),
        *items,
    )


AT = (0.1, -0.2, 0.3)


@pytest.mark.parametrize("speed", slow_but([5.0, 21.0], [5.0, 15.0, 21.0, 30.0, 60.0]))
def test_amplitudes_are_those_of_the_linear_model(speed):
    words = {"at": AT, "axis": (0, 0, 1), "spin_inertia": J_S, "speed": speed}
    U, D = 1e-6, 2e-6
    loads = [
        femb.Load(
            f"{word} {axis}", "hub", at=AT, frame="body", profile=Constant(0.0), **{word: np.eye(3)["xyz".index(axis)]}
        )
        for word in ("force", "torque")
        for axis in "xy"
    ]
    outputs = ["joints.hinge.angle", "bodies.hub.angular_velocity"]
    inputs = [f"loads.{load.name}" for load in loads]
    space = femb.linearize(panelled(femb.ReactionWheel("w", "hub", **words), *loads), outputs=outputs, inputs=inputs)
    s = 1j * speed
    G = space.C @ np.linalg.solve(s * np.eye(len(space.A)) - space.A, space.B) + space.D
    # sin(theta) e1 - cos(theta) e2 is the real part of (-i e1 - e2) exp(i theta)
    wanted = np.abs(G @ (speed**2 * np.array([-1j * U, -U, -1j * D, -D])))
    wheel = femb.ReactionWheel("w", "hub", **words, static_imbalance=U, dynamic_imbalance=D)
    period = 2.0 * np.pi / speed
    results = femb.simulate(
        panelled(wheel), duration=1.0 + 10.0 * period, output_interval=period / 20.0, rtol=1e-9,
        atol=Tolerances(1e-14, 1e-14),
    )  # fmt: skip
    t = results.time
    # beside the steady motion the free ones of the linear model, from the start at rest
    free = [np.exp(root * t) for root in space.eigenvalues() if root.imag >= 0.0 and abs(root) > 1e-6]
    free = [part for each in free for part in (each.real, each.imag)]
    basis = np.column_stack([np.ones_like(t), t, np.cos(speed * t), np.sin(speed * t), *free])
    found = np.column_stack([results.joints["hinge"].coordinates, results.bodies["hub"].angular_velocity])
    fit = np.linalg.lstsq(basis, found, rcond=None)[0]
    np.testing.assert_allclose(np.hypot(fit[2], fit[3]), wanted, rtol=1e-4, atol=1e-6 * wanted.max())
    assert np.diff(results.time).max() < period
    assert results.statistics["steps"] >= 8 * results.time[-1] / period


# Hosts


def on_beam():
    """A rotor with imbalance on the tip of a beam, and a wheel that its middle contains."""
    hub = femb.RigidBody("hub", 1.0, (0.2, 0.3, 0.25), angular_velocity=(0.3, 0.2, -0.4))
    rotor = femb.ReactionWheel(
        "rotor", beam="boom", node=-1, at=(0.02, 0.01, 0.0), axis=(1, 1, 0), mass=0.1, transverse_inertia=6e-4,
        spin_inertia=1e-3, speed=50.0, torque=1e-3, static_imbalance=2e-4, dynamic_imbalance=1e-5,
    )  # fmt: skip
    inner = femb.ReactionWheel(
        "inner", beam="boom", node=1, axis=(1, 0, 0), spin_inertia=1e-5, speed=200.0, viscous=1e-6
    )
    return hub, femb.Beam("boom", TUBE, 1.0, 2, start=femb.Attachment("hub", direction=(1, 0, 0))), rotor, inner


def on_interface():
    hub = femb.RigidBody("hub", 2.0, (1.0, 2.0, 2.5), angular_velocity=(0.3, 0.2, -0.4))
    start = femb.Attachment("hub", (0.2, 0.0, 0.1), direction=(1.0, 0.3, 0.0))
    panel = femb.FlexibleBody("panel", Particles(interfaces=2).reduced(consistent=True), start=start)
    (name,) = panel.free_interfaces.values()
    rotor = femb.ReactionWheel(
        "rotor", body=name.name, at=(0.02, 0.01, 0.0), axis=(1, 1, 0), mass=0.1, transverse_inertia=6e-4,
        spin_inertia=1e-3, speed=50.0, torque=1e-3, static_imbalance=2e-4, dynamic_imbalance=1e-5,
    )  # fmt: skip
    return hub, panel, rotor


@pytest.mark.parametrize("items", [on_beam, on_interface])
def test_wheels_on_flexible_parts_conserve_momenta_and_energy_less_work(items):
    model = of_parts(*items())
    results = femb.simulate(model, duration=0.1, rtol=1e-11, method="rk", output_interval=0.01)
    conserved(results, 1e-10)
    assert results.wheels["rotor"].speed[-1] > 50.0


def test_a_section_that_has_less_inertia_than_its_wheel_is_named():
    _, boom, _, inner = on_beam()
    big = dataclasses.replace(inner, name="big", spin_inertia=1.0)
    refuses(r"wheels\.big\.spin_inertia: got 1, must be below the inertia .* give", System, hub_with(boom, inner, big))


# Limits and commands


def test_commands_are_clipped_and_counted():
    wheel = femb.ReactionWheel("w", "hub", axis=SKEW, spin_inertia=J_S, torque=0.05, max_torque=0.2)
    system = System(hub_with(wheel))
    command = wheel.commands(system.layout)["torque"]
    assert (command.unit, command.width, command.limit, command.input) == ("N m", 1, 0.2, "wheels.w.torque")
    np.testing.assert_array_equal(np.flatnonzero(command.columns), [wheel.place(system.layout)])
    before = system.discrete
    assert wheel.commanded("torque", np.array([0.15]), 0.0, before) == {"wheels.w.command": 0.15}
    changed = wheel.commanded("torque", np.array([0.3]), 0.0, before)
    assert changed == {"wheels.w.command": pytest.approx(0.15), "wheels.w.clips": 1.0}
    after = before.replaced({name: np.array(value) for name, value in changed.items()})
    assert wheel.commanded("torque", np.array([-1.0]), 0.0, after) == {
        "wheels.w.command": pytest.approx(-0.25),
        "wheels.w.clips": 2.0,
    }
    # the force of a unit command is its column
    a = [system.with_discrete(each) for each in (before, after)]
    u = [each.inputs_at(0.0, system.q0, system.v0) for each in a]
    none = np.zeros((1, system.n_v))
    forces = [-system.residual(each[None], system.q0[None], system.v0[None], none)[0] for each in u]
    np.testing.assert_allclose(forces[1] - forces[0], 0.15 * command.columns[0], atol=1e-14)


def test_profiles_are_clipped():
    wheel = femb.ReactionWheel(
        "w", "hub", axis=(0, 0, 1), spin_inertia=J_S, torque=Polynomial((0.0, 0.1)), max_torque=0.2
    )
    results = femb.simulate(hub_with(wheel), duration=4.0, output_interval=1.0)
    np.testing.assert_allclose(results.wheels["w"].torque, [0.0, 0.1, 0.2, 0.2, 0.2], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_motor_holds_the_largest_speed_while_its_command_exceeds_what_that_takes(sign):
    profile = Sine(0.1, sign * 0.1)
    words = {"axis": (0, 0, 1), "spin_inertia": J_S, "viscous": 1e-3}
    wheel = femb.ReactionWheel("w", "hub", **words, torque=profile, max_speed=2.0)
    results = femb.simulate(hub_with(wheel, angular_velocity=None), duration=20.0, rtol=1e-9, output_interval=0.01)
    w, t = results.wheels["w"], results.time
    assert np.abs(w.speed).max() == pytest.approx(2.0, abs=1e-5)
    first, second, *_ = results.events
    assert first.name == second.name == "wheels.w"
    assert sign * np.interp(first.time, t, w.speed) == pytest.approx(2.0, abs=5e-3)
    # what balances friction holds it, until the command falls below that
    released = 5.0 - np.arcsin(0.02) / (0.2 * np.pi)
    held = (t > first.time + 1e-9) & (t < released)
    np.testing.assert_allclose(w.torque[held], sign * 2e-3, rtol=1e-4)
    np.testing.assert_allclose(w.speed[held], sign * 2.0, rtol=1e-5)
    free = (t > released + 0.01) & (t < second.time)
    np.testing.assert_allclose(w.torque[free], sign * 0.1 * np.sin(0.2 * np.pi * t[free]), atol=1e-12)
    assert np.abs(results.audit.energy_error).max() < 1e-8


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_motor_drives_and_brakes_within_its_power(sign):
    """u W = P gives W^2 = W_1^2 + 2 P t/J of the rotor against a free hub, J = J_s (1 - J_s/J_hub); braking the same
    with -P."""
    torque = Table(times=(0.0, 5.9995, 6.0005, 8.0), values=(0.1 * sign, 0.1 * sign, -0.1 * sign, -0.1 * sign))
    words = {"axis": (0, 0, 1), "spin_inertia": 0.05, "torque": torque, "max_power": 0.2}
    inertia, hub = 0.05 * (1.0 - 0.05 / 0.4), {"angular_velocity": None, "inertia": (0.3, 0.35, 0.4)}
    model = hub_with(femb.ReactionWheel("w", "hub", **words), **hub)
    results = femb.simulate(model, duration=8.0, rtol=1e-10, output_interval=0.1)
    w, t = results.wheels["w"], results.time
    full = 2.0 * inertia / 0.1  # s, to 2 rad/s at the whole torque
    limited = 6.0 - np.abs(t - 6.0) - full
    closed = np.where(t < full, 0.1 * t / inertia, np.sqrt(4.0 + 2.0 * 0.2 * np.maximum(limited, 0.0) / inertia))
    np.testing.assert_allclose(sign * w.speed, closed, rtol=1e-4)
    np.testing.assert_allclose(sign * w.speed[t < 5.95], closed[t < 5.95], rtol=1e-7)
    # speeds of Basilisk 2.12, by steps of 1 ms
    basilisk = [1.142857, 2.267914, 3.780030, 7.067434, 6.460560, 5.709338]
    np.testing.assert_allclose(sign * np.interp([0.5, 1.0, 2.0, 5.9, 7.0, 8.0], t, w.speed), basilisk, rtol=5e-4)
    clear = (t > full) & (np.abs(t - 6.0) > 0.05)
    np.testing.assert_allclose((w.torque * w.speed)[clear], np.where(t < 6.0, 0.2, -0.2)[clear], rtol=1e-12)
    assert np.abs(results.audit.energy_error).max() < 1e-8


def test_a_motor_at_a_limit_is_no_input_of_linear_models():
    """At its power the torque is P/W, at its largest speed what holds that; below both B is that of a motor without
    limits, J B = (-1, J/J_s) about the axis of a hub of J = 0.4 beside J_s = 0.05."""

    def column(**words):
        wheel = femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=0.05, torque=0.5, **words)
        model = hub_with(wheel, angular_velocity=None, inertia=(0.3, 0.35, 0.4))
        return femb.linearize(model, inputs=["wheels.w.torque"]).B[:, 0]

    free = column(speed=100.0)
    np.testing.assert_allclose(free[free != 0.0], [-1.0 / 0.35, 1.0 / 0.05 + 1.0 / 0.35], rtol=1e-12)
    np.testing.assert_allclose(column(speed=100.0, max_power=51.0, max_speed=101.0), free, rtol=1e-12)
    assert not column(speed=100.0, max_power=20.0).any()
    assert not column(speed=4.0, max_speed=4.0).any()


def test_a_motor_without_the_power_to_hold_its_largest_speed_settles_where_friction_takes_it():
    """P = c W^2, below the largest speed at which it starts."""
    words = {"axis": (0, 0, 1), "spin_inertia": J_S, "viscous": 1e-2, "max_speed": 4.0, "speed": 4.0}
    wheel = femb.ReactionWheel("w", "hub", **words, torque=1.0, max_power=0.09)
    results = femb.simulate(hub_with(wheel, angular_velocity=None), duration=60.0, rtol=1e-9)
    np.testing.assert_allclose(results.wheels["w"].speed[-1], 3.0, rtol=1e-4)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_wheel_leaves_its_limit_at_the_rate_of_its_torque(sign):
    """From the largest speed by -torque/J_s as soon as the torque is against it; half a second before, it is there."""
    torque = Table(times=(0.0, 4.999, 5.001, 8.0), values=(0.1 * sign, 0.1 * sign, -0.1 * sign, -0.1 * sign))
    wheel = femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=J_S, torque=torque, max_speed=2.0)
    hub = hub_with(wheel, angular_velocity=None, inertia=(1e9, 1e9, 1e9))
    results = femb.simulate(hub, duration=6.5, rtol=1e-9, output_interval=0.5)
    speed = sign * results.wheels["w"].speed
    late = results.time >= 5.0
    np.testing.assert_allclose(speed[late], 2.0 - 0.1 / J_S * (results.time[late] - 5.0), atol=2e-3)
    np.testing.assert_allclose(speed[(results.time > 1.7) & ~late], 2.0, atol=1e-4)


@pytest.mark.parametrize(("static", "dynamic"), [(0.05, 0.0), (0.0, 0.004), (0.05, 0.004)])
def test_the_energy_of_a_rotor_is_that_of_its_mass_matrix(static, dynamic):
    """v M v/2 in any motion, also with one imbalance alone; the momentum follows from the rigid motions."""
    rotor = ROTOR | {"static_imbalance": static, "dynamic_imbalance": dynamic, "speed": 7.0}
    system = System(hub_with(femb.ReactionWheel("w", "hub", at=(0.1, 0.2, -0.3), axis=SKEW, **rotor)))
    rng = np.random.default_rng(4)
    for _ in range(3):
        q, v = system.q0 + 0.1 * rng.standard_normal(system.n_q), rng.standard_normal(system.n_v)
        system.normalise(q)
        Mv = system.mass_matrix(q) @ v
        found = system.energy_momentum(q[None], v[None])[0]
        np.testing.assert_allclose(found[0], 0.5 * v @ Mv, rtol=1e-13)
        np.testing.assert_allclose(found[2:], system.rigid_velocities(q) @ Mv, rtol=1e-12, atol=1e-12)


def test_rows_of_a_wheel_on_a_turned_station():
    """The momentum J_s (speed + omega . axis) of a wheel whose axis is given along a beam that is turned."""
    boom = femb.Beam("boom", TUBE, 1.0, 2, start=femb.Attachment("hub", at=(0.2, 0, 0), direction=(0.3, 1.0, 0.4)))
    rotor = {"mass": 0.1, "transverse_inertia": 6e-4, "spin_inertia": 1e-3, "speed": 500.0}
    model = hub_with(boom, femb.ReactionWheel("w", beam="boom", node=0, axis=SKEW, **rotor), angular_velocity=None)
    system = System(model)
    point = OperatingPoint.of(system)
    rows = output(point, "wheels.w.momentum")
    station = system.layout.beams["boom"].stations[0]
    j = system.layout.frame_v[station.frame]
    # along the axes of the beam at the node
    axis = rotations.rotate(station.rotation, np.array(SKEW) / np.linalg.norm(SKEW))
    wanted = np.zeros((1, system.n_v))
    wanted[0, j + 3 : j + 6] = rotor["spin_inertia"] * axis
    wanted[0, system.layout.first_order_v] = rotor["spin_inertia"]
    np.testing.assert_allclose(rows.velocity, wanted, atol=1e-16)
    assert not np.any(rows.pose)
    assert abs(station.rotation[0]) < 0.9, "a station that is not turned says nothing"
    moving = hub_with(boom, femb.ReactionWheel("w", beam="boom", node=0, axis=SKEW, **rotor))
    results = femb.simulate(moving, duration=0.1)
    omega = results.bodies["hub"].angular_velocity[-1]
    np.testing.assert_allclose(
        results.wheels["w"].momentum[-1],
        rotor["spin_inertia"] * (results.wheels["w"].speed[-1] + omega @ axis),
        rtol=1e-9,
    )


def test_a_wheel_at_its_limit_keeps_its_momentum():
    """Friction does not brake it while torque is asked for: the hub keeps the rate that it had when it was reached."""
    limits = {"max_torque": 0.02, "max_speed": 600.0, "viscous": 2e-6, "coulomb": 1e-4, "transition_speed": 1.0}
    wheel = femb.ReactionWheel("z", body="hub", axis=(0, 0, 1), spin_inertia=1e-3, speed=590.0, torque=0.02, **limits)
    model = of_parts(femb.RigidBody("hub", 20.0, (1.0, 1.0, 1.0)), wheel, title="limit")
    results = femb.simulate(model, duration=600.0, output_interval=100.0)
    np.testing.assert_allclose(results.wheels["z"].speed[1:], 600.0, rtol=1e-8)
    # H_z = (J - J_s) w + J_s (w + W) stays 1e-3 x 590
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[1:, 2], -1e-3 * 10.0, rtol=1e-6)


def test_a_wheel_at_its_limit_turns_with_a_hub_that_is_torqued():
    """A torque on the hub that would slow the wheel down leaves it at its limit but for the servo's lag."""
    model = femb.Model("limit")
    model.add(femb.RigidBody("hub", 20.0, (1.0, 1.0, 1.0)))
    model.add(femb.Load("push", body="hub", torque=(0.0, 0.0, 0.01), frame="body"))
    words = {"axis": (0, 0, 1), "spin_inertia": 1e-3, "speed": 600.0, "max_speed": 600.0, "torque": 0.02}
    model.add(femb.ReactionWheel("z", body="hub", **words))
    results = femb.simulate(model, duration=60.0, output_interval=10.0)
    np.testing.assert_allclose(results.wheels["z"].speed[1:], 600.0, atol=2e-3)
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[:, 2], 0.01 * results.time, rtol=1e-5, atol=1e-9)


def test_a_wheel_that_starts_at_its_limit_stays_there():
    words = {"axis": (0, 0, 1), "spin_inertia": J_S, "max_speed": 2.0, "speed": -2.0}
    hub = {"angular_velocity": None}
    results = femb.simulate(hub_with(femb.ReactionWheel("w", "hub", **words, torque=-0.1), **hub), duration=1.0)
    np.testing.assert_allclose(results.wheels["w"].speed, -2.0, rtol=1e-12)
    freed = femb.simulate(hub_with(femb.ReactionWheel("w", "hub", **words, torque=0.1), **hub), duration=1.0)
    assert freed.wheels["w"].speed[-1] > -1.0


@pytest.mark.parametrize(
    ("controlled", "limits"),
    [({"period": 0.1}, {}), ({"period": 0.1, "delay": 0.03}, {"max_speed": 20.0, "max_torque": 0.5})],
)
def test_a_wheel_that_fails_leaves_the_hub_as_it_turns(controlled, limits):
    """Between two samples: up to then nothing differs, from then on nothing changes the speed of hub and wheel."""
    found = {}
    for word, fails in (("works", {}), ("fails", {"fails_at": 5.05})):
        wheel = femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=J_S, **limits, **fails)
        model = hub_with(wheel, angular_velocity=(0, 0, 0.1))
        law = femb.PDController("pd", "bodies.hub", rate="bodies.hub", wheels=["w"], bandwidth=0.5, **controlled)
        model.add(law)
        found[word] = femb.simulate(model, duration=10.0, rtol=1e-9, output_interval=0.05)
    works, fails = (each.wheels["w"].speed for each in found.values())
    before = found["fails"].time <= 5.0501
    np.testing.assert_allclose(fails[before], works[before], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fails[~before], fails[before][-1], rtol=1e-10)
    assert np.abs(works[~before] - works[before][-1]).max() > 0.5
    np.testing.assert_array_equal(found["fails"].wheels["w"].torque[~before], 0.0)
    assert [each.name for each in found["fails"].events] == ["wheels.w.failure"]


def test_a_wheel_that_failed_is_sound_in_a_run_whose_wheel_never_fails(tmp_path):
    """Else it stays dead, as one that fails at the start; 0.1 N m turn a sound one by 0.1/J_s."""
    words = {"axis": (0, 0, 1), "spin_inertia": J_S, "torque": 0.1}
    heavy = {"angular_velocity": None, "inertia": (1e9, 1e9, 1e9)}
    ends = []
    for fails, start in ((1.0, None), (1.0, "out"), (None, "out"), (0.0, None)):
        wheel = femb.ReactionWheel("w", "hub", **words, **({} if fails is None else {"fails_at": fails}))
        given = {} if start is None else {"start": {"results": str(tmp_path / "1.0.h5")}}
        out = {"out": tmp_path / f"{fails}.h5"} if start is None else {}
        ends.append(femb.simulate(hub_with(wheel, **heavy), duration=2.0, **given, **out).wheels["w"].speed[-1])
    np.testing.assert_allclose(np.multiply(ends, J_S), [0.1, 0.1, 0.3, 0.0], rtol=1e-6, atol=1e-12)


def test_a_wheel_that_will_fail_is_linear_before():
    model = hub_with(femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=J_S, fails_at=5.0))
    assert np.abs(femb.linearize(model).B).max() > 0.0


def test_a_law_at_its_reference_has_no_effect_by_a_wheel_that_failed():
    """Though the command is zero there, as that of a sound one."""
    model = hub_with(
        femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=J_S, fails_at=0.0), angular_velocity=None
    )
    assert not np.any(femb.linearize(model).B)
    model.add(femb.PDController("pd", "bodies.hub", rate="bodies.hub", wheels=["w"], bandwidth=0.5, period=0.1))
    loop = femb.loop(model)
    assert (loop.stable, loop.without_effect) == (False, ("wheels.w.torque",))


BAD = [
    ({"fails_at": -1.0}, r"w\.fails_at: got -1\.0, must be at least 0"),
    ({"body": None}, r"w\.body: got body = None and beam = None, wanted one of the two"),
    ({"body": "ground"}, r"w\.body: got 'ground', which is fixed: a wheel there moves nothing"),
    ({"body": "moon"}, r"w\.body: got 'moon', which is not in the model"),
    ({"body": "probe"}, r"w\.body: got 'probe', a point mass"),
    ({"axis": (0, 0, 0)}, r"w\.axis: got .*, a direction must not be zero"),
    ({"spin_inertia": 0.0}, r"w\.spin_inertia: got 0\.0, must be greater than 0"),
    ({"spin_inertia": 12.5}, r"w\.spin_inertia: got 12\.5, must be below the inertia of body 'hub' .*, 12 kg m2"),
    ({"viscous": -1.0}, r"w\.viscous: got -1\.0, must be at least 0"),
    ({"coulomb": 1.0}, r"w\.transition_speed: is missing: dry friction"),
    ({"coulomb": 1.0, "static": 0.5, "transition_speed": 1.0}, r"w\.static: got 0\.5, must be at least coulomb"),
    ({"speed": -3.0, "max_speed": 2.0}, r"w\.speed: got -3\.0, must be at most max_speed, 2"),
    ({"torque": -3.0, "max_torque": 2.0}, r"w\.torque: got -3\.0, must be at most max_torque, 2"),
    ({"mass": 1.0}, r"w\.transverse_inertia: is missing: a rotor .* has both mass and transverse_inertia"),
    ({"mass": 1.0, "transverse_inertia": 0.03}, r"w\.spin_inertia: got 0\.08, must be at most twice the transverse"),
    (ROTOR | {"static_imbalance": 1.0}, r"w\.static_imbalance: got 1\.0, no rotor of this mass and inertia has it"),
    ({"harmonics": [1.0]}, r"w\.harmonics: got .*, wanted a list of femb\.WheelHarmonic"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[message[:24] for _, message in BAD])
def test_messages(words, message):
    with pytest.raises(femb.ModelError, match=message):
        System(
            hub_with(
                femb.PointMass("probe", 1.0, position=(5, 0, 0)),
                femb.ReactionWheel("w", **{"body": "hub", "axis": (0, 0, 1), "spin_inertia": J_S} | words),
            )
        )


def test_two_wheels_share_the_inertia_of_their_body():
    wheels = [femb.ReactionWheel(name, "hub", axis=(1, 0, 0), spin_inertia=6.0) for name in ("first", "second")]
    refuses(r"wheels\.second\.spin_inertia: .* 4 kg m2 with other wheels locked", System, hub_with(*wheels))


def test_a_case_file_has_the_same_words(tmp_path):
    case = tmp_path / "case.toml"
    case.write_text("""
[bodies.hub]
mass = 50.0
inertia = [10, 7, 12]

[wheels.w]
body = "hub"
axis = [1, 2, 2]
spin_inertia = 0.08
speed = "955 rpm"
torque = { shape = "sine", amplitude = "0.1 N m", frequency = "0.1 Hz" }
viscous = 1e-4
max_speed = "6000 rpm"
static_imbalance = 1e-6
harmonics = [{ order = 2.0, radial_force = 1e-8, rocking_torque = 1e-9, phase = 0.3 }]

[run]
duration = 0.2
""")
    wheel = femb.load_case(case).model.wheels["w"]
    assert wheel.speed == pytest.approx(955.0 * 2.0 * np.pi / 60.0)
    assert wheel.torque == Sine(0.1, 0.1)
    assert [row[0] for row in wheel.loads] == [1.0, 2.0]
    with pytest.raises(femb.ModelError, match=r"case\.toml:16: wheels\.w\.harmonics\.0\.order: must be|got -2"):
        femb.load_case(case, ["wheels.w.harmonics=[{order=-2.0}]"])


def test_an_ensemble_of_wheels_is_evaluated_together():
    def model(torque, imbalance=0.0):
        words = {"axis": SKEW, "spin_inertia": J_S, "speed": 30.0, "torque": torque, "static_imbalance": imbalance}
        return hub_with(
            femb.ReactionWheel("w", "hub", **words), femb.ReactionWheel("v", "hub", axis=(1, 0, 0), spin_inertia=J_S)
        )

    models = [model(0.1), model(-0.2, 1e-4), model(0.0)]
    words = {"duration": 1.0, "output_interval": 0.5, "rtol": 1e-9}
    together = femb.simulate_ensemble(models, **words)
    for each, alone in zip(together.results, models, strict=True):
        one = femb.simulate(alone, **words)
        np.testing.assert_allclose(each.wheels["w"].speed, one.wheels["w"].speed, rtol=1e-9)


@pytest.mark.slow
def test_torques_contain_the_commands_of_continuous_controllers():
    """The row of the motor, J_s (Omega' + g.omega') = u - friction, with the recorded torque as u."""
    words = {"axis": (0, 0, 1), "spin_inertia": J_S, "speed": 5.0, "torque": 0.01}
    law = femb.LinearController(
        "law", A=[[-2.0]], B=[[0.0, 0.0, 1.0]], C=[[0.5]], D=[[0.0, 0.0, 3.0]],
        inputs=("bodies.hub.angular_velocity",), outputs=("wheels.w.torque",),
    )  # fmt: skip
    results = femb.simulate(hub_with(femb.ReactionWheel("w", "hub", **words, **DRY), law), duration=5.0, rtol=1e-10)
    w, hub = results.wheels["w"], results.bodies["hub"]
    np.testing.assert_allclose(w.torque, 0.01 + results["controllers.law.output"][:, 0], rtol=1e-12)
    rate = np.gradient(w.speed + hub.angular_velocity[:, 2], results.time, edge_order=2)
    np.testing.assert_allclose(J_S * rate, w.torque - w.friction, atol=1e-5 * np.abs(w.torque).max())
    np.testing.assert_allclose(w.power, w.torque * w.speed, rtol=1e-14)
    assert np.abs(results.audit.energy_error).max() < 1e-9
    limited = femb.ReactionWheel("w", "hub", **words, max_speed=20.0)
    with pytest.raises(femb.ModelError, match="takes sampled commands only: give the controller a period"):
        femb.simulate(hub_with(limited, law), duration=1.0)


@pytest.mark.slow
def test_a_run_from_the_last_state_of_another_goes_on_with_the_angle(tmp_path):
    """Also of an unbalanced wheel, whose phase would jump."""
    words = {"rtol": 1e-9, "output_interval": 0.1, "method": "radau"}
    model = off_centre(**HEAVY)
    whole = femb.simulate(model, duration=0.4, **words)
    femb.simulate(model, duration=0.2, **words, out=tmp_path / "first.h5")
    rest = femb.simulate(model, duration=0.2, **words, start=femb.StartState(str(tmp_path / "first.h5")))
    np.testing.assert_allclose(rest.wheels["w"].angle, whole.wheels["w"].angle[2:], rtol=1e-9)
    np.testing.assert_allclose(rest.bodies["hub"].velocity[-1], whole.bodies["hub"].velocity[-1], atol=1e-8)


# The table of section 5 of docs/theory/wheels.md: steady amplitudes by steps of equal length


def _by_radau(A, b, h):
    """The state at t = 0 of the steady motion x' = A x + b exp(it), x(t + h) = exp(ih) x(t)."""
    whole, right = np.zeros((8, 8), dtype=complex), np.zeros(8, dtype=complex)
    for i in range(3):
        right[2 * i : 2 * i + 2] = b * np.exp(1j * RADAU_C[i] * h)
        whole[2 * i : 2 * i + 2, 6:] = -A
        for j in range(3):
            whole[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = (i == j) * np.eye(2) - h * RADAU_A[i, j] * A
        whole[6:, 2 * i : 2 * i + 2] = h * RADAU_A[2, i] * np.eye(2)
    whole[6:, 6:] = (1.0 - np.exp(1j * h)) * np.eye(2)
    return np.linalg.solve(whole, right)[6]


def _by_bdf(order):
    def found(A, b, h):
        rate = sum((1.0 - np.exp(-1j * h)) ** j / j for j in range(1, order + 1)) / h
        return np.linalg.solve(rate * np.eye(2) - A, b)[0]

    return found


def _by_generalized_alpha(A, b, h):
    rho, z = 0.8, np.exp(1j * h)
    alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma, beta = 0.5 - alpha_m + alpha_f, 0.25 * (1.0 - alpha_m + alpha_f) ** 2
    mean = (1.0 - alpha_f) * z + alpha_f
    whole = np.array(
        [
            [z - 1.0, -h, -h * h * (0.5 - beta + beta * z)],
            [0.0, z - 1.0, -h * (1.0 - gamma + gamma * z)],
            [-A[1, 0] * mean, 0.0, (1.0 - alpha_m) * z + alpha_m],
        ]
    )
    return np.linalg.solve(whole, [0.0, 0.0, mean])[0]


def test_the_table_of_steady_amplitudes_by_steps_a_period():
    """Of x'' + w^2 x = exp(it), w = 0.3 and 3.3, beside 1/(w^2 - 1): every number of the page."""
    page = (checkout.ROOT / "docs/theory/wheels.md").read_text()
    rows = [line for line in page.splitlines() if re.match(r"\| \d+ \|", line)]
    assert len(rows) == 4
    for row in rows:
        n, *columns = (each.strip() for each in row.strip("|").split("|"))
        methods = (_by_radau, _by_bdf(5), _by_bdf(2), _by_generalized_alpha)
        for method, pair in zip(methods, columns, strict=True):
            for w, shown in zip((0.3, 3.3), pair.split(","), strict=True):
                A, b = np.array([[0.0, 1.0], [-w * w, 0.0]]), np.array([0.0, 1.0])
                error = abs(method(A, b, 2.0 * np.pi / int(n)) * (w * w - 1.0) - 1.0)
                assert error == pytest.approx(float(shown), rel=0.05), (n, method, w)
