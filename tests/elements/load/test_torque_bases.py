"""Torques along the inertial axes, the body axes, the Euler basis and its dual: the theorems of the thesis, tangents,
damping, and the end of a run at gimbal lock."""

import numpy as np
import pytest
from models import of_parts, refuses
from oracles.alone import Alone
from oracles.finite_differences import INERTIA, bodies, only, tangent_error

from femb import Beam, Load, Model, ModelError, RigidBody, Section, simulate
from femb.elements.load.batch import LoadBatch
from femb.elements.load.euler_basis import NEAREST, axes_of, dual_basis, euler_basis, lock_vector
from femb.layout.connections import SingularityError, first_violation
from femb.numerics import rotations
from femb.numerics.compiler.traced import V3
from femb.numerics.euler import SEQUENCES, euler_axes, euler_rates, from_euler, gimbal_distance, to_euler
from femb.system.system import System

FRAMES = ("inertial", "body", "euler", "dual_euler")
every_sequence = pytest.mark.parametrize("sequence", SEQUENCES)


def random_quaternions(count, seed=0):
    return rotations.normalise(np.random.default_rng(seed).standard_normal((count, 4)))


def bases(p, sequence):
    """Columns of the Euler basis and of its dual, in body axes, from the traced functions."""
    first, third, sign = axes_of(sequence)
    ends = V3(rotations.rotation_matrix(p)[first]), V3(np.eye(3)[third]), sign
    return np.asarray(euler_basis(*ends)).T, np.asarray(dual_basis(*ends)).T


def near_lock(sequence, distance):
    """A quaternion at a distance from gimbal lock."""
    middle = np.arcsin(distance) if sequence[0] == sequence[2] else np.arccos(distance)
    return from_euler([0.7, middle, -0.4], sequence)


# Theorems


def test_generalized_force_of_a_torque_is_twice_as_long():
    """Theorems 1 and 2: sum Q_i^2 = 4 |tau|^2, in inertial and in body components."""
    torque = np.array([0.3, -0.8, 0.5])
    for p in random_quaternions(50):
        for rate_map in (rotations.rate_inertial, rotations.rate_body):
            A = 2.0 * rate_map(p)
            assert A.T @ torque @ (A.T @ torque) == pytest.approx(4.0 * torque @ torque, rel=1e-14)
            np.testing.assert_allclose(A @ A.T, 4.0 * np.eye(3), atol=1e-14)
            np.testing.assert_allclose(A @ p, 0.0, atol=1e-15)


@every_sequence
def test_dual_basis(sequence):
    """Theorems 3 and 4: unit vectors and their dual, which are 1/d long but for the second."""
    for p in random_quaternions(50, seed=1):
        g, dual = bases(p, sequence)
        np.testing.assert_allclose(g, euler_axes(to_euler(p, sequence), sequence), atol=1e-12)
        distance = gimbal_distance(p, sequence)
        np.testing.assert_allclose(dual.T @ g, np.eye(3), atol=1e-13 / distance**2)
        lengths = np.linalg.norm(dual, axis=0) * [distance, 1.0, distance]
        np.testing.assert_allclose(lengths, 1.0, rtol=1e-13 / distance)
        A = 2.0 * rotations.rate_body(p)
        torque = np.array([0.2, -0.5, 0.4])
        assert np.linalg.norm(A.T @ g @ torque) <= 2.0 * np.abs(torque).sum()


@every_sequence
@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6])
def test_dual_basis_near_lock(sequence, distance):
    """|A^T g^3| d = 2 and |A^T g^2| = 2 to the last place that the attitude itself has."""
    p = near_lock(sequence, distance)
    _, dual = bases(p, sequence)
    generalized = 2.0 * rotations.rate_body(p).T @ dual
    lengths = np.linalg.norm(generalized, axis=0) * [distance, 1.0, distance]
    np.testing.assert_allclose(lengths, 2.0, rtol=1e-15 / distance)


@every_sequence
def test_lock_vector(sequence):
    """Its length is the distance from lock, and its rate is its rate."""
    first, third, _ = axes_of(sequence)
    p, omega, h = random_quaternions(10, seed=2), np.random.default_rng(2).standard_normal((10, 3)), 1e-5
    y, rate = lock_vector(first, np.eye(3)[third], p, omega)
    np.testing.assert_allclose(np.linalg.norm(y, axis=1), gimbal_distance(p, sequence), atol=1e-15)
    pdot = rotations.quaternion_rate(p, omega)
    after, before = (lock_vector(first, np.eye(3)[third], p + e * pdot, omega)[0] for e in (h, -h))
    np.testing.assert_allclose((after - before) / (2 * h), rate, atol=1e-9)


# Torques and their tangents


def torque_of(load):
    """The system of one load on body b, and a function of p and omega that gives its torque."""
    system = only(bodies(load), LoadBatch)
    i, j = (where[system.layout.bodies["b"]] + 3 for where in (system.layout.frame_q, system.layout.frame_v))

    def torque(p, omega, u=1.0):
        q, v = system.q0.copy(), np.zeros(system.n_v)
        q[i : i + 4], v[j : j + 3] = p, omega
        out = np.zeros((1, system.n_v))
        for batch in system.batches:
            Alone(system, batch).nonconservative_force(np.full((1, system.n_u), u), q[None], v[None], out)
        return out[0, j : j + 3]

    return torque


@every_sequence
@pytest.mark.parametrize("frame", FRAMES)
def test_power_of_each_component(frame, sequence):
    """A component does work on what it is conjugate to, and its damping opposes that."""
    rng = np.random.default_rng(3)
    for m in range(3):
        components, damping = 1.3 * np.eye(3)[m], 0.7 * np.eye(3)[m]
        driven = torque_of(Load("l", body="b", torque=components, frame=frame, sequence=sequence))
        damped = torque_of(Load("l", body="b", damping=damping, frame=frame, sequence=sequence))
        for p in random_quaternions(5, seed=m):
            omega = rng.standard_normal(3)
            g = euler_axes(to_euler(p, sequence), sequence)
            rates = {
                "inertial": rotations.rotate(p, omega),
                "body": omega,
                "euler": g.T @ omega,
                "dual_euler": euler_rates(p, omega, sequence),
            }
            rate = rates[frame][m]
            assert driven(p, omega) @ omega == pytest.approx(1.3 * rate, rel=1e-10, abs=1e-11)
            assert damped(p, omega) @ omega == pytest.approx(-0.7 * rate**2, rel=1e-10, abs=1e-11)


def test_a_dual_component_does_no_work_on_other_angles():
    torque = torque_of(Load("l", body="b", torque=(0, 0, 2.0), frame="dual_euler"))
    for p in random_quaternions(10, seed=4):
        g = euler_axes(to_euler(p))
        np.testing.assert_allclose(torque(p, np.zeros(3)) @ g, [0.0, 0.0, 2.0], atol=1e-11)


def test_profile_scales_the_torque_and_not_the_damping():
    torque = torque_of(Load("l", body="b", torque=(0, 0, 2.0), damping=0.5, frame="body"))
    omega = np.array([1.0, 2.0, 3.0])
    p = random_quaternions(1)[0]
    np.testing.assert_allclose(torque(p, omega, u=3.0), [-0.5, -1.0, 4.5], atol=1e-15)


@every_sequence
@pytest.mark.parametrize("frame", FRAMES)
def test_tangent(frame, sequence):
    load = Load("l", body="b", torque=(0.3, 0.7, -0.4), damping=(0.5, 0.2, 0.3), frame=frame, sequence=sequence)
    assert tangent_error(only(bodies(load), LoadBatch)) < 1e-9


@pytest.mark.parametrize("frame", FRAMES)
def test_tangent_of_a_callable_and_a_force_beside_it(frame):
    def torque(t, state):
        return 0.1, 0.2, 0.3

    force = (0.3, 0.2, 0.1) if frame in FRAMES[:2] else None
    load = Load("l", body="b", at=(0.1, 0.2, 0.3), torque=torque, force=force, damping=0.4, frame=frame)
    assert tangent_error(only(bodies(load), LoadBatch)) < 1e-9


SOFT = Section("soft", 1.1, (1.3, 0.4), 0.7, 0.9, 2.0, 1.5)


@pytest.mark.parametrize("frame", FRAMES)
def test_on_a_beam_node(frame):
    """At a node on a body the basis is that of the section; it equals that of a body with its axes."""
    direction, up = (1, 0.4, 0.2), (0, 1, 2)
    model = Model("beam")
    hub = model.add(RigidBody("hub", mass=1.7, inertia=INERTIA, euler_angles=(0.2, 0.5, 0.1)))
    model.add(Beam("boom", section=SOFT, length=1.0, elements=1, start=hub.at((0, 0, 0), direction=direction, up=up)))
    model.add(Load("l", beam="boom", node=0, torque=(0.3, 0.7, -0.4), damping=(0.5, 0.2, 0.3), frame=frame))
    system = only(model, LoadBatch)
    assert tangent_error(system) < 1e-9
    station = system.layout.beams["boom"].stations[0]
    omega = np.array([0.3, 0.2, -0.4])
    j = system.layout.frame_v[station.frame] + 3
    v, out = np.zeros((1, system.n_v)), np.zeros((1, system.n_v))
    v[0, j : j + 3] = omega
    Alone(system, system.batches[0]).nonconservative_force(np.ones((1, 1)), system.q0[None], v, out)
    twin = torque_of(Load("l", body="b", torque=(0.3, 0.7, -0.4), damping=(0.5, 0.2, 0.3), frame=frame))
    section = twin(system.layout.pose(station)[1], rotations.rotate_back(station.rotation, omega))
    np.testing.assert_allclose(out[0, j : j + 3], rotations.rotate(station.rotation, section), atol=1e-14)


# Refusals


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"force": (1, 0, 0), "frame": "euler"}, "frame"),
        ({"torque": (1, 0, 0), "sequence": "xxy", "frame": "euler"}, "sequence"),
        ({"torque": (1, 0, 0), "frame": "dual"}, "frame"),
        ({"damping": (1, -1, 0)}, "damping"),
        ({"damping": (1, 1)}, "damping"),
        ({}, "force"),
    ],
)
def test_refused(words, field):
    with pytest.raises(ModelError) as error:
        Load("l", body="b", **words)
    assert [problem.item for problem in error.value.problems] == [("loads", "l", field)]


def test_damping_on_a_point_mass():
    refuses("only takes forces", System, bodies(Load("l", body="p", damping=1.0)))


@pytest.mark.parametrize(("frame", "torque", "ends"), [("dual_euler", (1, 0, 0), True), ("euler", (1, 0, 1), False),
                                                       ("euler", (0, 1, 0), True)])  # fmt: skip
def test_only_what_loses_length_or_direction_ends_at_lock(frame, torque, ends):
    load = Load("l", body="ball", torque=torque, frame=frame, sequence="zxz")
    assert load.ends_at_lock is ends
    if ends:
        refuses("at whose gimbal lock the motion starts", System, ball((0, 0, 0), load))
    else:
        System(ball((0, 0, 0), load))


# The end of a run


def ball(rates, load):
    return of_parts(RigidBody("ball", mass=1.0, inertia=0.5, angular_velocity=rates), load)


@pytest.mark.parametrize(
    "method", [{"method": "rk"}, {"method": "radau"}, {"method": "rk", "tableau": "rk4", "step": 0.01}]
)
@pytest.mark.parametrize(("sequence", "spin", "time"), [("xyz", (0, 2, 0), np.pi / 4), ("zxz", (-2, 0, 0), 0.5)])
def test_a_turn_straight_into_lock(method, sequence, spin, time):
    """A ball that turns about the second axis alone comes to lock at a known time, from either kind of sequence."""
    load = Load("motor", body="ball", torque=(0, 0, 1e-12), frame="dual_euler", sequence=sequence)
    model = ball(spin, load)
    if sequence == "zxz":
        model.tables["bodies"].clear()
        model.add(RigidBody("ball", mass=1.0, inertia=0.5, euler_angles=(1, 0, 0), angular_velocity=spin))
    with pytest.raises(SingularityError, match=r"loads\.motor: body 'ball' is at gimbal lock") as error:
        simulate(model, duration=2.0, output_interval=0.1, **method)
    assert error.value.time == pytest.approx(time, abs=1e-7 if "step" not in method else 1e-5)
    results = error.value.results
    assert results.status == "failed"
    assert results.message == str(error.value)
    assert results.statistics["steps"] > 0
    assert time - 0.011 < results.time[-1] < time
    np.testing.assert_allclose(results.time[:-1], 0.1 * np.arange(len(results.time) - 1), atol=1e-15)


def test_a_turn_past_lock_goes_on():
    model = ball((0.05, 2, 0), Load("motor", body="ball", torque=(0, 0, 1e-12), frame="dual_euler"))
    results = simulate(model, duration=2.0, rtol=1e-3)
    assert results.status == "complete"
    assert gimbal_distance(results.bodies["ball"].quaternion).min() < 0.06


@pytest.mark.slow
def test_vectors_that_vanish():
    limit = np.array([NEAREST])
    line = np.linspace(1.0, -1.0, 4)
    head_on, aside = np.zeros((4, 1, 2)), np.zeros((4, 1, 2))
    head_on[:, 0, 0] = aside[:, 0, 0] = line
    aside[:, 0, 1] = 0.1
    assert first_violation(head_on, limit) == 0  # leapt over
    assert first_violation(head_on[:2], limit) == -1  # not there yet
    assert first_violation(head_on[::-1][:2], limit) == -1
    assert first_violation(aside, limit) == -1
    aside[:, 0, 1] = 0.01
    assert first_violation(aside, limit) == 0  # too coarse to tell
    assert first_violation(np.full((1, 1, 2), 1e-5), limit) == 0
    assert first_violation(np.full((1, 1, 2), np.nan), limit) == 0
