"""Forces and accelerations at output instants, which lie between the steps: as accurate as at the ends of steps."""

from dataclasses import replace

import numpy as np
import pytest
from checkout import CASES
from long_runs import slow_but
from models import of_parts, stiff
from oracles.random_trees import random_model

from femb import (
    Beam,
    Ground,
    JointEnd,
    Load,
    Model,
    PointMass,
    Revolute,
    RigidBody,
    Section,
    SpringDamper,
    SpringEnd,
    TorsionSpringDamper,
    simulate,
)
from femb.base.options import Run
from femb.case import load_case
from femb.formulations import make_formulation
from femb.numerics import rotations
from femb.profiles import Step, Versine
from femb.recording.evaluation import evaluated
from femb.recording.frames import output_frames, unbalanced
from femb.recording.instants import step_instants
from femb.run.inverse import inverse
from femb.steppers import make_stepper
from femb.system.system import System

Z = (0.0, 0.0, 1.0)
SPIN = 3.0
# Method, formulation and step of the runs with members far stiffer than the step, and of those that follow all motion.
STIFF = [
    ("radau", "velocity", {}),
    ("bdf", "velocity", {}),
    ("generalized-alpha", "velocity", {}),
    ("radau", "quaternion", {}),
    ("bdf", "reduced", {}),
    ("radau", "reduced", {}),
]
EXPLICIT = [
    ("rk", "velocity", {}),
    ("rk", "velocity", {"tableau": "rk4", "step": 5e-4}),
    ("gauss", "velocity", {"order": 4, "step": 5e-4}),
    ("gauss", "reduced", {"order": 6, "step": 1e-3}),
    ("rk", "quaternion", {}),
    ("rk", "reduced", {}),
]
RIGID = [("gauss", "hamiltonian", {"order": 6, "step": 0.01}), ("rk", "hamiltonian", {})]


def named(each):
    method, formulation, more = each
    return "-".join([formulation, str(more.get("tableau", method)), *(["6"] if more.get("order") == 6 else [])])


def every(*lists):
    return pytest.mark.parametrize("each", [each for some in lists for each in some], ids=named)


def slow(some):
    return [pytest.param(each, marks=pytest.mark.slow) for each in some]


def run(model, each, **words):
    method, formulation, more = each
    return simulate(model, method=method, formulation=formulation, **{"rtol": 1e-6, "max_steps": 3000, **words, **more})


# Members that turn


def boom(stiffness):
    """A boom of 1.5 kg/m by its axial stiffness (N); 2 m long."""
    return stiff(stiffness, 0.01 * stiffness, (0.02 * stiffness, 0.02 * stiffness), 1.5, (0.02, 0.01, 0.01), "boom")


def spinning_boom(stiffness, elements=1):
    """A hub that spins freely with two booms, in the steady motion."""
    model = Model("spinning booms")
    hub = model.add(RigidBody("hub", mass=20.0, inertia=2.0, angular_velocity=(0, 0, SPIN), position=(0, 0, 0)))
    section = boom(stiffness)
    for name, side in (("left", -1.0), ("right", 1.0)):
        start = hub.at((0.5 * side, 0, 0), direction=(side, 0, 0))
        model.add(Beam(name, section=section, length=2.0, elements=elements, start=start))
    return model


def test_tension_in_steps_that_are_long_for_the_axis():
    """Gravity stretches a boom with 60 to 90 uN; a tangent at interpolated states would contain forces of 0.3 N."""
    case = load_case(CASES / "boom_in_orbit.toml")
    tension = simulate(case.model, replace(case.run, rtol=1e-5)).beams["boom"].section_force[1:, 0, 0, 0]
    assert tension.min() == pytest.approx(57.39e-6, rel=5e-3)
    assert tension.max() == pytest.approx(89.50e-6, rel=5e-3)
    # without jumps between instants
    assert np.abs(np.diff(tension, 2)).max() < 0.6e-6


@pytest.mark.slow
@pytest.mark.parametrize("mass", slow_but([1.0], [0.9, 1.0, 1.1]))
def test_deflection_in_steps_of_half_a_second(mass):
    """A slewed satellite with stiff booms: at rtol = 1e-4 as at 1e-8; first corrections grow at some instants."""
    section = Section("boom", 2.5e-3, (5.2e-7, 5.2e-7), 1.04e-6, 2700.0, 7e10, 2.7e10)

    def deflection(rtol):
        model = Model("satellite")
        hub = model.add(RigidBody("hub", mass=20.0 * mass, inertia=0.149 * mass, euler_rates=(0.1, 0.1, 0.1)))
        for name, x in (("right", 1), ("left", -1)):
            start = hub.at((0.1 * x, 0, 0), direction=(x, 0, 0))
            model.add(Beam(name, section=section, length=2.0, elements=2, start=start))
        model.add(Load("slew", body="hub", torque=(0, 15.0, 0), frame="body", profile=Versine(1.0)))
        results = simulate(model, duration=5.0, rtol=rtol, output_interval=0.1, method="radau")
        return results.beams["right"].deflection[:, -1]

    wanted = deflection(1e-8)
    assert np.abs(deflection(1e-4) - wanted).max() < 1e-2 * np.abs(wanted).max()


@pytest.mark.parametrize("rtol", [1e-3, 1e-5])
def test_generalized_alpha_leaves_no_vibration_of_its_own(rtol):
    """After the slew pulse the roots carry the centrifugal force.

    The start is out of equilibrium: its vibration of 0.3 N is real, and is damped while the pulse lasts.
    """
    case = load_case(CASES / "satellite_forced.toml")
    results = simulate(case.model, replace(case.run, method="generalized-alpha", rtol=rtol, duration=4.0))
    assert results.statistics["steps"] < 120
    axial = results.beams["right"].section_force[:, 0, 0, 0]
    assert axial.min() > 0.0
    assert axial.max() < 1.7
    spin = np.sum(results.bodies["hub"].angular_velocity[:, 1:] ** 2, axis=1)
    wanted = 2800.0 * 2.5e-3 * spin * (2.1**2 - 0.1**2) / 2.0
    after = results.time > 1.5
    np.testing.assert_allclose(axial[after], wanted[after], rtol=0.03)
    assert results.message == ""


@every(STIFF)
def test_centrifugal_force_of_a_stiff_boom(each):
    """The axial force is the integral of m(x) omega^2 x from there outwards, at the root and in the middle."""
    duration = 0.2 if each[1] == "quaternion" else 1.0
    words = {"duration": duration, "output_interval": 0.01, "start": "equilibrium"}
    loose = {"rtol": 4e-6, "spectral_radius": 0.5} if each[0] == "generalized-alpha" else {}
    results = run(spinning_boom(2e8, 2), each, **words, **loose)
    # elements of 1 m have axial modes of some 4e4 rad/s
    assert results.statistics["steps"] < 2000
    rtol = 0.003 if each[0] == "radau" else 0.01
    for beam in results.beams.values():
        for element, inner in ((0, 0.5), (1, 1.5)):
            wanted = 1.5 * SPIN**2 * (2.5**2 - inner**2) / 2.0
            np.testing.assert_allclose(beam.section_force[:, element, 0, 0], wanted, rtol=rtol)
        arms = np.linalg.norm(beam.position, axis=2)
        np.testing.assert_allclose(np.linalg.norm(beam.acceleration, axis=2), SPIN**2 * arms, rtol=rtol)
        if loose:
            # generalized-alpha leaves vibrations of the sections at single ends of steps, of 1e-9 rad at 4e4 rad/s
            assert np.sqrt(np.mean(beam.angular_acceleration**2)) < 0.15
        else:
            np.testing.assert_allclose(beam.angular_acceleration, 0.0, atol=0.1)
    assert np.max(results.audit.force_balance) < 0.01 * 1.5 * SPIN**2 * 3.0


@every(EXPLICIT[:2], slow(EXPLICIT[2:4]), EXPLICIT[4:])
def test_centrifugal_force_of_a_soft_boom(each):
    """The same where the steps follow every vibration, among them axial ones at the edge of stability."""
    duration = 0.5 if each[:2] in (("rk", "velocity"), ("gauss", "velocity")) else 0.1
    words = {"duration": duration, "output_interval": 0.007, "start": "equilibrium", "rtol": 1e-8}
    results = run(spinning_boom(3e4), each, **words)
    beam = results.beams["right"]
    arms = np.linalg.norm(beam.position, axis=2)
    # the boom is longer by what its force strains it: section by section, at x with (EA x')' = -m omega^2 x
    root = beam.section_force[:, 0, 0, 0]
    np.testing.assert_allclose(root, root[0], rtol=1e-3)
    np.testing.assert_allclose(root, 1.5 * SPIN**2 * (2.5**2 - 0.5**2) / 2.0, rtol=0.01)
    np.testing.assert_allclose(np.linalg.norm(beam.acceleration, axis=2), SPIN**2 * arms, rtol=1e-3)


def test_the_forced_satellite():
    """The root force of both booms after the pulse, at all output times, within 1 %; it would swing by hundreds."""
    case = load_case(CASES / "satellite_forced.toml")
    results = simulate(case.model, case.run)
    assert results.statistics["steps"] < 100
    spin = results.bodies["hub"].angular_velocity
    wanted = 7.0 * (spin[:, 1] ** 2 + spin[:, 2] ** 2) * (2.1**2 - 0.1**2) / 2.0
    free = results.time > 1.2
    for beam in results.beams.values():
        np.testing.assert_allclose(beam.section_force[free, 0, 0, 0], wanted[free], rtol=0.01)
    assert np.max(results.audit.force_balance[free]) < 0.01
    assert np.max(np.abs(results.audit.energy_error)) < 5e-6


@pytest.mark.slow
def test_ends_of_steps_show_the_same():
    """Runs that end at some of the output instants, and so have the end of a step there."""
    case = load_case(CASES / "satellite_forced.toml")
    whole = simulate(case.model, case.run)
    for t in (1.73, 4.21, 7.77):
        k = int(np.searchsorted(whole.time, t - 1e-9))
        short = simulate(case.model, duration=float(whole.time[k]), output_interval=1.0, rtol=case.run.rtol)
        for word, size in (("section_force", 1.33), ("section_moment", 1.33), ("acceleration", 0.2)):
            one, other = whole.beams["left"][word][k], short.beams["left"][word][-1]
            np.testing.assert_allclose(one, other, rtol=0.0, atol=0.01 * size, err_msg=word)


# Loads and damping


PUSH = np.array([2.0, 5.0, 0.0])


@pytest.mark.parametrize("damping", [0.0, 2e-3], ids=["undamped", "damped"])
@pytest.mark.parametrize("method", ["radau", "bdf"])
def test_momentum_of_a_cantilever_under_gravity(method, damping):
    """What the root carries is weight less inertia: against the rate of the momentum, at all output times."""
    section = Section("bar", 4e-4, (1.3e-8, 1.3e-8), 2e-8, 2700.0, 7e10, 2.6e10, damping=damping)
    model = Model("cantilever", gravity=(0, 0, -9.81))
    model.add(Ground())
    model.add(Beam("bar", section=section, length=1.0, elements=2, start=Ground().at((0, 0, 0), direction=(1, 0, 1))))
    model.add(Load("push", beam="bar", node=-1, force=PUSH, profile=Versine(0.1)))
    words = {"duration": 0.4, "output_interval": 1e-3, "start": "equilibrium"}
    results = simulate(model, method=method, rtol=1e-7, **words)
    beam, mass = results.beams["bar"], 4e-4 * 2700.0
    carried = rotations.rotate(beam.quaternion[:, 0], beam.section_force[:, 0, 0])
    momentum, h = results.audit.linear_momentum, 1e-3
    rate = (8.0 * (momentum[3:-1] - momentum[1:-3]) - (momentum[4:] - momentum[:-4])) / (12.0 * h)
    pushed = np.array([Versine(0.1)(t) for t in results.time[2:-2]])[:, None] * PUSH
    wanted = mass * np.array([0, 0, -9.81]) + pushed - rate
    np.testing.assert_allclose(carried[2:-2], wanted, rtol=0.0, atol=0.01 * np.max(np.abs(wanted)))
    # at the start it hangs in equilibrium
    bending = np.linalg.norm(beam.section_moment[0, 0, 0])
    assert bending == pytest.approx(0.5 * mass * 9.81 * np.sqrt(0.5), rel=0.01)


# Joints


LENGTH, MASS, INERTIA, G = 0.8, 2.0, 0.05, 9.81


def pendulum():
    """A body on a hinge about y, let go from the horizontal; its mass centre is on x, from the hinge."""
    first = Ground().at((0, 0, 0), direction=(0, 1, 0))
    moments = (0.02, INERTIA, 0.06)
    second = JointEnd("bob", at=(-LENGTH, 0, 0), axis=(0, 1, 0))
    return of_parts(
        RigidBody("bob", MASS, moments, position=(LENGTH, 0, 0)), Revolute("hinge", first, second), gravity=(0, 0, -G)
    )


@every(STIFF[:3], STIFF[3:4], STIFF[4:], EXPLICIT[:1], slow(EXPLICIT[3:4]), RIGID)
def test_reaction_and_accelerations_of_a_pendulum(each):
    """In closed form from the angle and its rate: m l (phi'^2 + ...) along the arm, and J phi'' = m g l cos phi."""
    loose = each[0] == "generalized-alpha"
    results = run(pendulum(), each, duration=1.2, output_interval=0.01, rtol=1e-6 if loose else 1e-8)
    body, joint = results.bodies["bob"], results.joints["hinge"]
    along = body.position / LENGTH  # from the hinge to the mass centre
    down = np.array([0, 0, -G])
    across = np.cross((0.0, 1.0, 0.0), along)
    rate = np.einsum("ti,ti->t", body.velocity, across) / LENGTH
    second = MASS * LENGTH * across @ down / (INERTIA + MASS * LENGTH**2)
    wanted = LENGTH * (second[:, None] * across - rate[:, None] ** 2 * along)
    atol = 2e-4 if loose else 2e-5
    np.testing.assert_allclose(body.acceleration, wanted, rtol=0.0, atol=atol)
    np.testing.assert_allclose(body.angular_acceleration[:, 1], second, rtol=0.0, atol=atol)
    np.testing.assert_allclose(joint.accelerations[:, 0], second, rtol=0.0, atol=atol)
    force = np.linalg.norm(joint.force, axis=1)
    np.testing.assert_allclose(force, np.linalg.norm(MASS * (wanted - down), axis=1), rtol=0.0, atol=3.0 * atol)
    assert np.max(results.audit.force_balance) < 0.05 * MASS * G


def test_accelerations_of_joints_are_the_rates_of_rates():
    """Of all kinds of joints in random trees, by differences along the motion."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        system = System(random_model(rng, 6, ground=bool(seed % 2)), assemble=True)
        coordinates = system.coordinates_of_joints
        v = system.projected(np.zeros(system.n_u), system.q0, rng.standard_normal(system.n_v))[1]
        a = system.forward(np.zeros(system.n_u), system.q0, v)[0]
        rate = system.rates(system.q0[None], v[None])[0]
        second = system.second_rates(system.q0[None], v[None], a[None])[0]
        h, found = 1e-3, []
        for k in (-2, -1, 1, 2):
            q = system.q0 + k * h * rate + 0.5 * (k * h) ** 2 * second
            system.normalise(q)
            found.append(coordinates.measure(q[None], (v + k * h * a)[None])[1][0])
        wanted = (8.0 * (found[2] - found[1]) - (found[3] - found[0])) / (12.0 * h)
        got = coordinates.accelerations(system.q0[None], v[None], a[None])[0]
        # the path is one of second order, and its rates those of the velocities: their difference is of order h^2
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(got).max()))


# Springs


@every(STIFF[:3], STIFF[3:4])
def test_a_stiff_spring_that_turns(each):
    """Two masses on a spring of 1e8 N/m: its force is m omega^2 r, and the length shown is that of the force."""
    model, stretch = Model("turning spring"), 0.5 * 3.0 * SPIN**2 / 1e8
    for name, side in (("one", 1.0), ("two", -1.0)):
        model.add(PointMass(name, mass=3.0, position=(0.5 * side, 0, 0), velocity=(0, 0.5 * SPIN * side, 0)))
    ends = SpringEnd("one"), SpringEnd("two")
    model.add(SpringDamper("spring", *ends, stiffness=1e8, free_length=1.0 - stretch))
    results = run(model, each, duration=0.3 if each[1] == "quaternion" else 2.0, output_interval=0.01)
    spring = results.springs["spring"]
    np.testing.assert_allclose(spring.force, 3.0 * SPIN**2 * 0.5, rtol=0.01)
    np.testing.assert_allclose(spring.force, 1e8 * (spring.length - (1.0 - stretch)), rtol=1e-6)


@pytest.mark.parametrize("method", ["radau", "bdf", "rk"])
def test_force_of_a_spring_whose_vibration_is_resolved(method):
    """An oscillator of 30 rad/s: the force is k x, x in closed form, though steps are some radians long."""
    model = Model("oscillator")
    model.add(PointMass("m", mass=2.0, position=(1.1, 0, 0)))
    ends = SpringEnd("m"), SpringEnd(anchor=(0, 0, 0))
    model.add(SpringDamper("spring", *ends, stiffness=1800.0, free_length=1.0))
    results = simulate(model, duration=1.0, output_interval=0.003, method=method, rtol=1e-7)
    wanted = 0.1 * np.cos(30.0 * results.time)
    np.testing.assert_allclose(results.springs["spring"].force, 1800.0 * wanted, rtol=0.0, atol=180.0 * 3e-4)
    np.testing.assert_allclose(results.bodies["m"].acceleration[:, 0], -900.0 * wanted, rtol=0.0, atol=90.0 * 3e-4)


def test_moment_of_a_stiff_torsion_spring():
    """A disc driven through a shaft of 1e7 N m/rad by a versine of torque at its other end."""
    model = Model("shaft")
    for name, inertia in (("motor", 1.0), ("disc", 3.0)):
        model.add(RigidBody(name, 1.0, (5.0, 5.0, inertia), position=(0, 0, 0)))
    model.add(Revolute("bearing", Ground().at(direction=Z), JointEnd("motor", axis=Z)))
    model.add(Revolute("sleeve", JointEnd("motor", axis=Z), JointEnd("disc", axis=Z)))
    ends = SpringEnd("motor"), SpringEnd("disc")
    model.add(TorsionSpringDamper("shaft", *ends, axis=Z, stiffness=1e7))
    model.add(Load("torque", body="motor", torque=(0, 0, 8.0), profile=Versine(1.0)))
    results = simulate(model, duration=1.0, output_interval=0.01, rtol=1e-6)
    wanted = 3.0 / 4.0 * 8.0 * 0.5 * (1.0 - np.cos(2.0 * np.pi * results.time))
    np.testing.assert_allclose(np.abs(results.springs["shaft"].force), wanted, rtol=0.0, atol=0.01 * 6.0)
    np.testing.assert_allclose(results.joints["bearing"].accelerations[:, 0], wanted / 3.0, rtol=0.0, atol=0.02)


# Jumps, the balance, and what it costs


@pytest.mark.parametrize("method", ["radau", "bdf", "generalized-alpha", "rk"])
def test_at_a_jump_all_is_as_after_it(method):
    """And nothing between is of the other side: the force balance is that of the step which ends there."""
    model = Model("pushed")
    model.add(PointMass("m", mass=2.0, position=(0, 0, 0)))
    model.add(Load("push", body="m", force=(4.0, 0, 0), profile=Step(0.5)))
    results = simulate(model, duration=1.0, output_interval=0.1, method=method)
    wanted = np.where(results.time > 0.5 - 1e-9, 2.0, 0.0)
    np.testing.assert_allclose(results.bodies["m"].acceleration[:, 0], wanted, rtol=0.0, atol=1e-12)
    assert np.max(results.audit.force_balance) < 1e-9


@pytest.mark.slow
def test_the_balance_tells_interpolated_strains():
    """Uncorrected, the states between steps lack far more force than they show; corrected ones next to none."""
    system = System(spinning_boom(2e8, 2))
    form = make_formulation(system, "velocity")
    stepper = make_stepper(form, Run(duration=2.0, rtol=1e-6))
    while stepper.t < 1.0:
        step = stepper.step(2.0)
    times = np.linspace(step.start, step.end, 9)[1:-1]
    wanted = evaluated([step_instants(form, step, times)])
    assert np.max(wanted.unbalanced[:, 0]) < 0.2
    plain = output_frames(form, times, *step(times))
    lacking = unbalanced(system, plain.u, plain.q, plain.v, step.accelerations(times), plain.multipliers)
    assert np.max(lacking[:, 0]) > 30.0 * np.max(wanted.unbalanced[:, 0])


def test_frames_cost_no_steps():
    """Many output instants take not one evaluation of the stepper more."""
    few, many = (
        simulate(spinning_boom(2e8), duration=1.0, output_interval=interval, start="equilibrium").statistics
        for interval in (1.0, 0.002)
    )
    for word in ("steps", "rejected", "evaluations", "jacobians", "factorizations", "newton_iterations"):
        assert few[word] == many[word]


@pytest.mark.slow
def test_inverse_dynamics_gives_accelerations():
    """Of bodies and joints; nothing is unbalanced."""
    case = load_case(CASES / "robot_arm_inverse.toml")
    results = inverse(case.model, case.run)
    for joint in results.joints.values():
        if "accelerations" in joint:
            rate = np.gradient(joint.rates, results.time, axis=0)
            size = np.max(np.abs(joint.accelerations))
            np.testing.assert_allclose(joint.accelerations[2:-2], rate[2:-2], rtol=0.0, atol=0.02 * size)
    for body in results.bodies.values():
        rate = np.gradient(body.velocity, results.time, axis=0)
        size = np.max(np.abs(body.acceleration)) + 1e-9
        np.testing.assert_allclose(body.acceleration[2:-2], rate[2:-2], rtol=0.0, atol=0.02 * size)
    assert np.max(results.audit.force_balance) < 1e-8


def test_what_a_jump_of_a_force_does_to_a_stiff_member_is_not_seen_between_steps():
    """A light mass on a damper that holds it to a heavy body, which a force pushes from 0.05 s on: it moves at F / c
    beside the body within m / c = 1e-9 s, though its acceleration is 1000 m/s2 where the first step begins."""
    model = Model("damped")
    model.add(PointMass("heavy", mass=1e3))
    model.add(PointMass("light", mass=1e-3, position=(1.0, 0, 0)))
    ends = SpringEnd(body="heavy"), SpringEnd(body="light")
    model.add(SpringDamper("s", *ends, stiffness=1e9, damping=1e6, free_length=1.0))
    model.add(Load("push", body="light", force=(1.0, 0, 0), profile=Step(start=0.05)))
    found = simulate(model, duration=0.1, output_interval=1e-4)
    assert found.statistics["steps"] < 100
    wanted = np.maximum(found.time - 0.05, 0.0) / 1e3
    for name in ("heavy", "light"):
        np.testing.assert_allclose(found.bodies[name].velocity[:, 0], wanted, atol=3e-6)
