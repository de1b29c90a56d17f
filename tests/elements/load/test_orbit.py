"""Gravity of a central body on every mass, in a frame on a Kepler orbit: closed forms, and sums over points."""

import numpy as np
import pytest
from long_runs import slow_but
from models import of_parts, refusals, refuses, stiff
from oracles.in_orbit import CIRCULAR, ITEMS, MU, RADIUS, RATE, SPEED, bent, model_of, resultant, tube
from scipy.special import ellipk

import femb
from femb import Attachment, Beam, Load, ModelError, Orbit, PointMass, RigidBody, simulate
from femb.elements import ExactBeam, Ground, JointEnd, Revolute
from femb.layout.state import State
from femb.numerics import orbits as kepler
from femb.numerics import rotations
from femb.statics.equilibrium import in_equilibrium
from femb.system.moving_ground import mass_properties
from femb.system.system import System

INERTIA = np.array([30.0, 100.0, 80.0])


def gravity(position):
    return -MU * position / np.linalg.norm(position, axis=-1, keepdims=True) ** 3


@pytest.mark.parametrize("name", ITEMS)
def test_resultants_are_those_of_the_mass_and_its_moments(name):
    """Force m g at the mass centre, and moment 3 n2 u x J u about it, of any structure in any shape."""
    system, q = bent(ITEMS[name])
    force, moment = resultant(system, q).reshape(2, 3)
    mass, centre, inertia = mass_properties(system.starting_at(q, system.v0))
    at = np.array([RADIUS, 0.0, 0.0]) + centre
    u = at / np.linalg.norm(at)
    # the next terms are smaller by the size over the radius
    small = 20.0 * mass * RATE**2 * 6.0**2 / RADIUS
    np.testing.assert_allclose(force, mass * (gravity(at) - gravity(CIRCULAR.position)), rtol=0.0, atol=small)
    couple = 3.0 * MU / np.linalg.norm(at) ** 3 * np.cross(u, inertia @ u)
    np.testing.assert_allclose(moment - np.cross(centre, force), couple, rtol=0.0, atol=10.0 * small)
    assert np.linalg.norm(couple) > 1e3 * small


def test_points_move_as_on_orbits_of_their_own():
    """Also far apart, on an eccentric orbit, and where the model has an origin of its own."""
    orbit = Orbit("earth", position=(RADIUS, 1e5, 0.0), velocity=(300.0, 8500.0, 1000.0))
    offsets = {"near": ((0.3, -0.2, 0.4), (0.01, 0.02, -0.01)), "far": ((2e3, 5e3, -3e3), (1.0, -2.0, 3.0))}
    for several in (("near",), ("far",), ("near", "far")):
        points = [PointMass(name, 1.0, position=offsets[name][0], velocity=offsets[name][1]) for name in several]
        results = simulate(model_of(*points, orbit=orbit), duration=3000.0, output_interval=1000.0, rtol=1e-10)
        for name in several:
            offset, speed = map(np.array, offsets[name])
            for k, t in enumerate(results.time):
                wanted = kepler.motion(MU, orbit.position + offset, orbit.velocity + speed, t)[0] - orbit.position_at(t)
                distance = np.linalg.norm(wanted)
                np.testing.assert_allclose(results.bodies[name].position[k], wanted, atol=2e-8 + 1e-8 * distance)


# pitch, the exact period of a pendulum in twice the angle
AMPLITUDE = 0.2
PERIOD = 4.0 * ellipk(np.sin(AMPLITUDE) ** 2) / (RATE * np.sqrt(3.0 * (INERTIA[1] - INERTIA[0]) / INERTIA[2]))
FORMULATIONS = (
    ("velocity", "radau"), ("velocity", "bdf"), ("velocity", "rk"), ("quaternion", "radau"), ("reduced", "rk"),
    ("hamiltonian", "rk"),
)  # fmt: skip


@pytest.mark.parametrize(("formulation", "method"), slow_but((FORMULATIONS[0], *FORMULATIONS[3:]), FORMULATIONS))
def test_libration_of_a_rigid_satellite(formulation, method):
    """A quarter of the period after the largest pitch the satellite is upright, whatever the formulation."""
    body = RigidBody("body", 200.0, INERTIA, euler_angles=(0, 0, AMPLITUDE), angular_velocity=(0, 0, RATE))
    options = {"formulation": formulation, "method": method, "rtol": 1e-9}
    results = simulate(model_of(body), duration=1.25 * PERIOD, output_interval=PERIOD / 4.0, **options)
    pitch = np.unwrap(results.bodies["body"].euler_angles("xyz")[:, 2]) - RATE * results.time
    rate = 2.0 * np.pi / PERIOD * AMPLITUDE
    assert abs(pitch[[1, 3, 5]]).max() / rate < 1e-4 * PERIOD
    np.testing.assert_allclose(pitch[[2, 4]], [-AMPLITUDE, AMPLITUDE], atol=1e-5)
    assert np.abs(results.audit.energy_error).max() < 1e-7 * results.audit.kinetic_energy[0]
    earth = results.loads["earth"]
    velocity, position = (
        getattr(earth, word) + getattr(results.bodies["body"], word) for word in ("velocity", "position")
    )
    energy = 0.5 * np.sum(velocity**2, axis=1) - MU / np.linalg.norm(position, axis=1)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)


def hinged():
    """A hub, an arm on a hinge and a free point: several structures."""
    hub = RigidBody("hub", 40.0, (2.0, 3.0, 1.5), angular_velocity=(0.01, 0.02, 0.03), position=(0.0, 3.0, 0.0))
    arm = RigidBody("arm", 5.0, (0.2, 4.0, 4.0), center_of_mass=(5.0, 0.0, 0.0))
    hinge = Revolute("hinge", JointEnd("hub", at=(0.5, 0, 0), axis=(0, 0, 1)), JointEnd("arm", axis=(0, 0, 1)))
    return hub, arm, hinge


@pytest.mark.slow
def test_formulations_agree_on_several_bodies():
    slow = Orbit("body", position=(1e5, 0.0, 0.0), velocity=(0.0, 1e4, 0.0), mu=1e13)  # 0.1 rad/s
    ends = []
    for formulation in ("velocity", "reduced", "hamiltonian"):
        options = {"formulation": formulation, "method": "rk", "rtol": 1e-10}
        results = simulate(model_of(*hinged(), orbit=slow), duration=20.0, output_interval=20.0, **options)
        ends.append((results.bodies["hub"].position[-1], results.bodies["arm"].quaternion[-1]))
    for position, quaternion in ends[1:]:
        np.testing.assert_allclose(position, ends[0][0], rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(quaternion, ends[0][1], rtol=0.0, atol=1e-8)
    free = simulate(model_of(*hinged(), orbit=Orbit("body", (1e9, 0, 0), (0, 1.0, 0), 1.0)), duration=20.0, method="rk")
    assert np.linalg.norm(free.bodies["hub"].position[-1] - ends[0][0]) > 0.1


@pytest.mark.parametrize("kind", [Beam, ExactBeam])
def test_tension_of_an_upright_boom(kind):
    """3 n2 times the moment of the mass above a section about the frame's origin, in the middle of elements too."""
    hub = RigidBody("hub", 1e5, 1e4, angular_velocity=(0, 0, RATE))
    words = {"length": 8.0, "elements": 2, "start": hub.at((0.0, 0, 0), direction=(1, 0, 0))}
    boom = kind("boom", section=tube(damping=0.1), **words)
    model = model_of(hub, boom, PointMass("tip", 3.0, on=boom.at(-1)))
    results = simulate(model, duration=20.0, output_interval=20.0, max_step=1.0)
    line, length = 0.16, 8.0

    def tension(x):
        return 3.0 * RATE**2 * (3.0 * length + line * (length**2 - x**2) / 2.0)

    force, middle = results.beams["boom"].section_force[-1, :, :, 0], results.beams["boom"].midpoint_force[-1, :, 0]
    # the mass centre of the model is above the origin, with which the hub moves
    np.testing.assert_allclose(force, tension(np.array([[0.0, 4.0], [4.0, 8.0]])), rtol=2e-3)
    np.testing.assert_allclose(middle, tension(np.array([2.0, 6.0])), rtol=2e-3)
    root = results.appendages["boom"].force[-1]
    np.testing.assert_allclose(root[0], tension(0.0), rtol=2e-3)


@pytest.mark.parametrize("name", ["beam", "exact beam", "flexible body"])
def test_root_loads_and_gravity_move_the_hub(name):
    """Of the hub alone: mass times acceleration, and the rate of its spin, by gravity on itself and the root load."""
    hub = RigidBody("hub", 20.0, (2.0, 3.0, 1.5), position=(3.0, -5.0, 4.0), euler_angles=(0.4, -0.9, 1.3))
    results = simulate(model_of(hub, ITEMS[name](hub)), duration=1.0, output_interval=0.5)
    (root,), motion = results.appendages.values(), results.bodies["hub"]
    for k in range(len(results.time)):
        R = rotations.rotation_matrix(motion.quaternion[k])
        at = results.loads["earth"].position[k] + motion.position[k]
        pull = 20.0 * (gravity(at) - gravity(results.loads["earth"].position[k]))
        got = 20.0 * motion.acceleration[k] - R @ root.force[k]
        np.testing.assert_allclose(got, pull, rtol=0.0, atol=1e-8 + 1e-9 * np.abs(root.force[k]).max())
        J, omega, u = np.diag((2.0, 3.0, 1.5)), motion.angular_velocity[k], R.T @ at / np.linalg.norm(at)
        couple = 3.0 * RATE**2 * np.cross(u, J @ u)
        spin = J @ motion.angular_acceleration[k] + np.cross(omega, J @ omega)
        moment = root.torque[k] + np.cross(root.point, root.force[k])
        np.testing.assert_allclose(spin - moment, couple, rtol=0.0, atol=1e-9)
    assert np.linalg.norm(pull) > 1e-4
    assert np.linalg.norm(couple) > 1e-7


def test_the_gradient_is_that_at_the_place_of_a_structure():
    """K = m mu/r^3 (1 - 3 n n^T) of a body that is 40 km beside the point on the orbit."""
    at = np.array([0.0, 4e4, 0.0])
    system = System(model_of(RigidBody("hub", 20.0, 2.0, position=at)))
    u = system.inputs_at(0.0, system.q0, system.v0)
    stiffness = system.tangent(u, system.q0, system.v0, np.zeros(system.n_v))[1]
    place = np.array([RADIUS, 0.0, 0.0]) + at
    r = np.linalg.norm(place)
    wanted = 20.0 * MU / r**3 * (np.eye(3) - 3.0 * np.outer(place, place) / r**2)
    found = system.pattern.to_csc(stiffness).toarray()[:3, :3]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12 * np.abs(wanted).max())


def test_a_structure_far_away_has_an_origin_of_its_own():
    """10 km from the origin of the frame, beams are as exact as at it."""

    def tip(at):
        hub = RigidBody("hub", 20.0, 2.0, position=at, angular_velocity=(0.1, 0.2, 0.3))
        boom = Beam("boom", tube(), 4.0, 2, start=hub.at((0.3, 0.0, 0.1), direction=(1, 2, 0)))
        push = Load("push", body="hub", torque=(1.0, 0.0, 2.0))
        # at smaller tolerances rounding decides about single steps, wherever the structure is
        results = simulate(model_of(hub, boom, push), duration=0.5, output_interval=0.5, rtol=1e-5)
        return results.statistics["steps"], results.beams["boom"].deflection

    (steps, near), (steps_far, far) = tip((0.0, 0.0, 0.0)), tip((0.0, 1e4, 0.0))
    assert abs(steps_far - steps) <= 0.02 * steps
    np.testing.assert_allclose(far, near, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((Orbit("moon", (RADIUS, 0, 0), (0, 1.0, 0)),), "loads.moon: is a second orbit beside 'earth'"),
        ((femb.GravityGradient("tide", rate=1e-3),), "loads.tide: is part of the gravity of the orbit 'earth'"),
        ((Beam("b", tube(), 1.0, 1, start=Attachment("ground", direction=(1, 0, 0))),), "'ground' is fixed in it"),
        ((Ground("site", position=(1.0, 0, 0)),), "'site' is fixed in it"),
        ((PointMass("lost", 1.0, position=(RADIUS, 0, 0)),), "relative to the point that moves on the orbit"),
    ],
)
def test_refused(items, message):
    model = of_parts(*(RigidBody("hub", 1.0, 1.0), CIRCULAR, *items))
    with pytest.raises(ModelError) as raised:
        System(model)
    assert message in str(raised.value)


@pytest.mark.parametrize("beside", [1.5e-5, 2.0])
@pytest.mark.parametrize("spin", [0.0, 1.078e-3])
def test_equilibrium_beside_the_origin(beside, spin):
    """The mass centre falls freely beside the origin: the boom is strained as if it were there, to size over radius."""
    section = stiff(10.0, 10.0, (100.0, 100.0), 0.1, (2e-4, 1e-4, 1e-4), "boom")
    strains = []
    for x in (0.0, beside):
        hub = RigidBody("hub", mass=50.0, inertia=(1.0, 2.0, 2.0), position=(x, 0, 0), angular_velocity=(0, 0, spin))
        booms = [
            femb.Beam(f"boom{side}", section, 5.0, 3, start=hub.at((0.2 * side, 0, 0), direction=(side, 0, 0)))
            for side in (1, -1)
        ]
        system = in_equilibrium(System(model_of(hub, *booms)))
        beam = State(system.layout, 0.0, system.q0, system.v0).beams["boom1"]
        strains.append(beam.strain)
    assert np.max(strains[0]) > 1e-7
    np.testing.assert_allclose(strains[1], strains[0], rtol=1e-5, atol=1e-6 * np.max(strains[0]))


@pytest.mark.slow
@pytest.mark.parametrize("beside", [0.0, 2e-5])
def test_equilibrium_of_two_unlike_booms(beside):
    """Their mass centre is some 10 um off the origin: strained as by the gravity gradient, whose mass centre is on the
    orbit, and as all that is beyond a node pulls."""
    section = femb.Section("boom", shape={"tube": [0.015, 0.001]}, density=1600.0, youngs_modulus=1e11,
                           shear_modulus=4e10)  # fmt: skip
    strains, rate, length = [], SPEED / RADIUS, 6.0
    for field in (CIRCULAR, femb.GravityGradient("earth", rate=rate)):
        hub = RigidBody("hub", mass=60.0, inertia=2.5, angular_velocity=(0, 0, rate))
        up = femb.Beam("up", section, length, 3, start=hub.at((0.25, 0, 0), direction=(1, 0, 0)))
        down = femb.Beam("down", section, length - 7e-4, 3, start=hub.at((-0.25, beside, 0), direction=(-1, 0, 0)))
        system = in_equilibrium(System(model_of(hub, up, down, orbit=field)))
        strains.append(State(system.layout, 0.0, system.q0, system.v0).beams["up"].strain)
    np.testing.assert_allclose(strains[0], strains[1], rtol=1e-5, atol=1e-5 * np.max(strains[1]))
    # 3 n^2 of gravity and rotation on what is beyond a node, as a part of EA
    x = 0.25 + length / 3.0 * np.arange(2)
    wanted = 1.5 * rate**2 * section.density * ((0.25 + length) ** 2 - x**2) / section.youngs_modulus
    np.testing.assert_allclose(strains[0][:2, 0], wanted, rtol=2e-4)


def test_it_has_no_equilibrium_and_is_no_input_of_linear_models():
    model = model_of(RigidBody("hub", 1.0, 1.0))
    refuses(r"loads\.earth: gravity on an orbit turns .* no equilibrium", femb.static, model)
    assert femb.linearize(model).inputs == ()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"mu": -1.0}, "loads.earth.mu"),
        ({"position": (0, 0, 0)}, "is the centre of the body"),
        ({"velocity": (3.0, 0, 0)}, "falls into the centre"),
    ],
)
def test_refused_orbits(words, message):
    with pytest.raises(ModelError) as raised:
        Orbit("earth", **({"position": (1.0, 0, 0), "velocity": (0, 1.0, 0)} | words))
    assert message in str(raised.value)


def test_elements_are_those_of_a_published_hyperbola():
    """H. D. Curtis, Orbital Mechanics for Engineering Students, example 4.7: to the digits printed there."""
    momentum, eccentricity, mu = 80000e6, 1.4, 398600e9
    words = {"inclination": "30 deg", "ascending_node": "40 deg", "periapsis": "60 deg", "anomaly": "30 deg"}
    angles = {word: np.radians(float(text.removesuffix(" deg"))) for word, text in words.items()}
    axis = momentum**2 / mu / (1.0 - eccentricity**2)
    orbit = Orbit("earth", mu=mu, semi_major_axis=axis, eccentricity=eccentricity, **angles)
    position, velocity = orbit.motion_at(0.0)
    np.testing.assert_allclose(position, (-4040e3, 4815e3, 3629e3), rtol=2e-4)
    np.testing.assert_allclose(velocity, (-10.39e3, -4.772e3, 1.744e3), rtol=5e-4)


def test_elements_are_those_of_the_motion():
    """Energy, momentum and the vector of eccentricity of a motion give back its elements, a quarter period later."""
    axis, eccentricity, angles = 8e6, 0.1, (0.9, 2.0, 4.0, 1.0)
    orbit = Orbit("earth", None, None, MU, axis, eccentricity, *angles)
    r, v = orbit.motion_at(0.25 * orbit.period)
    h = np.cross(r, v)
    e = np.cross(v, h) / MU - r / np.linalg.norm(r)
    node = np.cross((0.0, 0.0, 1.0), h)
    assert 1.0 / (2.0 / np.linalg.norm(r) - v @ v / MU) == pytest.approx(axis, rel=1e-12)
    assert np.linalg.norm(e) == pytest.approx(eccentricity, rel=1e-12)
    assert np.arccos(h[2] / np.linalg.norm(h)) == pytest.approx(angles[0], rel=1e-12)
    assert np.arctan2(node[1], node[0]) == pytest.approx(angles[1], rel=1e-12)
    along = np.cross(h, node) / np.linalg.norm(h)
    assert np.arctan2(e @ along, e @ node) % (2.0 * np.pi) == pytest.approx(angles[2], rel=1e-12)
    assert orbit.period == pytest.approx(2.0 * np.pi * np.sqrt(axis**3 / MU), rel=1e-14)


test_refused_elements = refusals(
    lambda words: Orbit("earth", **words),
    ({}, "loads.earth.position: is missing: give position and velocity, or semi_major_axis"),
    ({"position": (RADIUS, 0, 0)}, "loads.earth.velocity: is missing"),
    ({"position": (RADIUS, 0, 0), "inclination": 0.1}, "loads.earth.position: is given beside inclination"),
    ({"inclination": 0.1}, "loads.earth.semi_major_axis: is missing: elements of an orbit need its size"),
    ({"semi_major_axis": 7e6, "eccentricity": 1.2}, "wanted above 0 of an ellipse, below 0 of a hyperbola"),
    ({"semi_major_axis": -7e6, "eccentricity": 1.2, "anomaly": 2.8}, "anomaly: got 2.8 rad, which the hyperbola"),
)
