"""Forces along coordinates of joints against automatic differentiation, conservation laws and closed forms."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from long_runs import slow, slow_but
from models import of_parts
from oracles import joint_force as plain
from oracles.alone import Alone
from oracles.finite_differences import INERTIA, only, random_state, slope
from scipy.optimize import brentq

import femb
from femb.elements.joint.force_batch import ELASTIC, REST, JointForceBatch
from femb.layout.evaluation import Evaluation
from femb.layout.terms import account
from femb.numerics import rotations
from femb.numerics.euler import from_euler
from femb.numerics.vector3 import IN_V
from femb.profiles import Step, Versine
from femb.run.time_loop import Event
from femb.system.system import System

TIGHT = {"rtol": 1e-10, "atol": femb.Tolerances(1e-11, 1e-11, 1e-11, time=0.1), "method": "rk"}
STIFF = TIGHT | {"method": "radau", "rtol": 1e-9}

COORDINATES = [
    (femb.Revolute, "angle"),
    (femb.Parallel, "angle"),
    (femb.Universal, "first_angle"),
    (femb.Universal, "second_angle"),
    (femb.Cylindrical, "angle"),
    (femb.Cylindrical, "stroke"),
    (femb.Prismatic, "stroke"),
    (femb.Planar, "x"),
    (femb.Planar, "y"),
    (femb.Planar, "angle"),
    (femb.PointOnLine, "stroke"),
    (femb.PointOnPlane, "x"),
    (femb.PointOnPlane, "y"),
]
LAWS = {
    "spring": (femb.JointSpringDamper("f", "j", stiffness=2.0, damping=0.7, free=0.3), plain.spring),
    "friction": (
        femb.JointFriction("f", "j", coulomb=1.3, transition_rate=0.8, static=2.1, stribeck_rate=1.5, viscous=0.2),
        plain.friction,
    ),
    "stops": (femb.JointStops("f", "j", lower=-0.002, upper=0.001, stiffness=2.0, damping=0.6), plain.stops),
    "stops, square": (femb.JointStops("f", "j", lower=-9, upper=-8, stiffness=0.1, exponent=2, damping=3), plain.stops),
    "motor": (femb.JointMotor("f", "j", force=1.7), None),
}
coordinates = pytest.mark.parametrize(("kind", "coordinate"), COORDINATES, ids=lambda x: getattr(x, "kind", x))
laws = pytest.mark.parametrize("law", LAWS)


def pair(kind, *items, ground=False):
    """Two bodies in different poses, or one and the ground, with a joint of a kind that is closed."""
    model = femb.Model("pair")
    poses = [((0, 0, 0), (-0.5, 0.8, 0.4)), ((1, 2, 0.5), (0.3, 0.4, -0.7))]
    names = ["ground" if ground else "a", "b"]
    for name, (position, angles) in zip(names, poses, strict=True):
        if name == "ground":
            poses[0] = ((0, 0, 0), (0, 0, 0))
        else:
            model.add(femb.RigidBody(name, mass=1.2, inertia=INERTIA, position=position, euler_angles=angles))
    point = np.array([0.3, -0.2, 0.9])
    at = [rotations.rotate_back(from_euler(angles), point - position) for position, angles in poses]
    first = femb.JointEnd(body=names[0], at=at[0], axis=(0.2, -0.5, 1.0), reference=(1.0, 0.3, 0.0))
    model.add(kind("j", first=first, second=femb.JointEnd(body="b", at=at[1])))
    for item in items:
        model.add(item)
    return model


def dense(system, data):
    return system.pattern.to_csc(data).toarray()[: system.n_v, : system.n_v]


# Against automatic differentiation, at states where the joint is wide open


@pytest.mark.parametrize(
    ("kind", "coordinate", "law", "ground"),
    slow_but(
        # a spring along every coordinate, every law along an angle and a stroke
        [
            *((*each, "spring", False) for each in COORDINATES),
            *(
                (*each, law, False)
                for each in ((femb.Universal, "second_angle"), (femb.Cylindrical, "stroke"))
                for law in LAWS
            ),
            *((*each, "spring", True) for each in ((femb.Revolute, "angle"), (femb.PointOnPlane, "y"))),
        ],
        [(*each, *how) for each in COORDINATES for how in (*((law, False) for law in LAWS), ("spring", True))],
    ),
    ids=lambda x: getattr(x, "kind", x),
)
def test_forces_and_tangents(kind, coordinate, law, ground):
    """With angles near references several turns away."""
    item, force = LAWS[law]
    item = replace(item, coordinate=coordinate)
    system = only(pair(kind, item, ground=ground), JointForceBatch)
    (batch,) = system.batches
    rng = np.random.default_rng(5)
    for _ in range(2 if law == "spring" else 1):
        q, v, a, u = random_state(system, rng)
        u[0] *= 10.0
        oracle = plain.Oracle(
            system, item, lambda c, rate, u=u: force(c, rate, item) if force else -u[1] + 0.0 * c * rate, u[0]
        )
        wanted = oracle.residual(q, v)
        found = system.residual(u[None], q[None], v[None], a[None])[0]
        np.testing.assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())
        for tangent, other in zip(oracle.tangents(q, v), system.tangent(u, q, v, a), strict=True):
            np.testing.assert_allclose(dense(system, other), tangent, atol=1e-10 * np.abs(tangent).max() + 1e-14)
        for one, other in zip(system.matrices(u, q, v)[1:], system.tangent(u, q, v, a), strict=True):
            np.testing.assert_array_equal(dense(system, one), dense(system, other))
        values, rates, gradients, _ = batch.measure(u[None], q[None], v[None])
        assert values[0, 0] == pytest.approx(oracle.coordinate(q), rel=1e-12)
        moving = [k for k in range(12) if k >= 6 or not ground]
        assert rates[0, 0] == pytest.approx(gradients[0, 0, moving] @ v, rel=1e-12)


def servo(t, state):
    joint = state.joints["j"]
    c, rate = joint.coordinates[0], joint.rates[0]
    return -3.0 * c**2 - 0.1 * rate, -6.0 * c, -0.1


CALLABLES = [
    femb.JointSpringDamper("f", "j", stiffness=2.0, force=lambda c, rate: (3.0 * c**2 + 0.1 * rate, 6.0 * c, 0.1)),
    femb.JointMotor("f", "j", force=servo),
]


@pytest.mark.parametrize("item", CALLABLES, ids=["spring", "motor"])
@pytest.mark.parametrize("kind", [femb.Revolute, femb.Prismatic])
def test_tangents_of_a_callable(kind, item):
    """Inputs change with the state: the derivatives that the callable returns make up for it."""
    system = only(pair(kind, item), JointForceBatch)
    rng = np.random.default_rng(0)
    for _ in range(4):
        q, v, a, _ = random_state(system, rng)
        damping, stiffness = (
            dense(system, data) for data in system.tangent(system.inputs_at(0.0, q, v), q, v, a)
        )  # fmt: skip
        dx, dv = rng.standard_normal((2, system.n_v))

        def at(e, q=q, v=v, a=a, dx=dx, dv=dv):
            moved, moving = q + e * system.rates(q[None], dx[None])[0], v + e * dv
            u = system.inputs_at(0.0, moved, moving)
            return system.residual(u[None], moved[None], moving[None], a[None])[0]

        wanted = slope(at)
        np.testing.assert_allclose(stiffness @ dx + damping @ dv, wanted, atol=1e-7 * np.abs(wanted).max())


# Identities


@coordinates
@laws
def test_power_is_what_the_energy_loses(kind, coordinate, law):
    """Anywhere off the joint; dashpots, friction and damped stops never gain."""
    item, _ = LAWS[law]
    system = only(pair(kind, replace(item, coordinate=coordinate)), JointForceBatch)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v, a, u = random_state(system, rng)
        u[0] *= 10.0
        rate = system.rates(q[None], v[None])[0]
        h = 1e-4
        states = np.stack([q + e * rate for e in (-2 * h, -h, h, 2 * h)])
        energies = system.energy_momentum(states, np.tile(v, (4, 1)), np.tile(u, (4, 1)))[:, 1]
        change = np.dot([1, -8, 8, -1], energies) / (12 * h)
        total = system.residual(u[None], q[None], v[None], a[None])[0] @ v
        work = system.power(u[None], q[None], v[None])[0]
        assert change == pytest.approx(total + work, rel=1e-7, abs=1e-7)
        if law != "motor":
            assert work <= 0.0
        if law in ("friction", "motor"):
            assert change == 0.0


@coordinates
@laws
def test_action_and_reaction(kind, coordinate, law):
    """No resultant force, no resultant moment, wherever the joint is."""
    item, _ = LAWS[law]
    system = only(pair(kind, replace(item, coordinate=coordinate)), JointForceBatch)
    rng = np.random.default_rng(2)
    for _ in range(3):
        q, v, a, u = random_state(system, rng)
        force = system.residual(u[None], q[None], v[None], a[None])[0]
        assert np.abs(force).max() > 0.0
        assert np.abs(system.rigid_velocities(q) @ force).max() < 1e-13 * np.abs(force).max()


@coordinates
@laws
def test_frame_invariance(kind, coordinate, law):
    """Moved and turned as a whole, the forces turn with the bodies."""
    item, _ = LAWS[law]
    system = only(pair(kind, replace(item, coordinate=coordinate)), JointForceBatch)
    rng = np.random.default_rng(3)
    q, v, a, u = random_state(system, rng)
    turn = rotations.normalise(rng.standard_normal(4))
    q2, v2 = q.copy(), v.copy()
    for k in range(2):
        i, j = 7 * k, 6 * k
        q2[i : i + 3] = rotations.rotate(turn, q[i : i + 3]) + np.array([1.0, -2.0, 3.0])
        q2[i + 3 : i + 7] = rotations.multiply(turn, q[i + 3 : i + 7])
        v2[j : j + 3] = rotations.rotate(turn, v[j : j + 3])
    one, two = (system.residual(u[None], x[None], w[None], a[None])[0].reshape(2, 2, 3) for x, w in ((q, v), (q2, v2)))
    size = np.abs(one).max()
    np.testing.assert_allclose(two[:, 0], rotations.rotate(turn, one[:, 0]), atol=1e-13 * size)
    np.testing.assert_allclose(two[:, 1], one[:, 1], atol=1e-13 * size)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0, 3.0])
def test_a_stop_never_pulls(exponent):
    """At any depth and rate, and nowhere between the limits does it push."""
    item = femb.JointStops("f", "j", lower=-0.5, upper=0.5, stiffness=4.0, exponent=exponent, damping=50.0)
    system = only(pair(femb.Prismatic, item), JointForceBatch)
    (batch,) = system.batches
    c, rate = (each.ravel()[:, None] for each in np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-9, 9, 37)))
    found = batch.results(np.zeros((len(c), 1)), c, rate)
    push = (found[:, 0, 0] + found[:, 0, 1]) * np.sign(c[:, 0])
    beyond = np.abs(c[:, 0]) > 0.5
    assert np.all(push[beyond] > 0.0)
    assert np.all(push[~beyond] == 0.0)
    assert np.all(found[:, 0, 1] * rate[:, 0] >= 0.0)


# Runs with closed forms


def hinge(*items, rate=0.0, start=0.0, at=(0.3, 0, 0), axis=(0, 0, 1), gravity=(0, 0, 0)):
    """A body on a hinge of the ground, off its mass centre: 0.61 kg m2 about the axis."""
    model = femb.Model("hinge", gravity=gravity)
    model.add(femb.RigidBody("b", mass=1.0, inertia=(0.3, 0.4, 0.52)))
    first = femb.JointEnd(body="ground", axis=axis)
    second = femb.JointEnd(body="b", at=at)
    model.add(femb.Revolute("j", first=first, second=second, start=start, rates=rate))
    for item in items:
        model.add(item)
    return model


MOMENT = 0.52 + 0.3**2


def slider(*items, rate=0.0, start=0.0):
    """2 kg on a slide of the ground."""
    first = femb.JointEnd(body="ground", axis=(1, 2, 2))
    return of_parts(
        femb.RigidBody("b", mass=2.0, inertia=1.0),
        femb.Prismatic("j", first=first, second=femb.JointEnd(body="b", at=(0.1, 0, 0)), start=start, rates=rate),
        *items,
    )


def motion(results):
    joint = results.joints["j"]
    return results.time, joint.coordinates[:, 0], joint.rates[:, 0]


@pytest.mark.parametrize("method", slow_but(["radau"], ["rk", "radau", "bdf"]))
def test_torsion_pendulum(method):
    """J a'' + c a' + k (a - a0) = 0 with the inertia about the hinge."""
    spring = femb.JointSpringDamper("s", "j", stiffness=4.0 * MOMENT, damping=0.6 * MOMENT, free=0.5)
    results = femb.simulate(hinge(spring, start=1.7), duration=5.0, **(TIGHT | {"method": method}))
    t, c, _ = motion(results)
    s = np.sqrt(4.0 - 0.09)
    wanted = 0.5 + 1.2 * np.exp(-0.3 * t) * (np.cos(s * t) + 0.3 / s * np.sin(s * t))
    # BDF is less accurate at a tolerance
    np.testing.assert_allclose(c, wanted, atol=1e-6 if method == "bdf" else 1e-8)
    assert np.abs(results.audit.energy_error).max() < (1e-6 if method == "bdf" else 1e-8)
    lost = 0.5 * 4.0 * MOMENT * 1.2**2 - results.audit.kinetic_energy - results.audit.potential_energy
    np.testing.assert_allclose(results.audit.work, -lost, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "duration"), [("rk", 7.0), slow(("radau", 3.5)), ("bdf", 3.5)])
def test_a_spring_is_wound_through_many_turns(method, duration):
    """a = 20 (1 - cos w t): six turns, and back."""
    spring = femb.JointSpringDamper("s", "j", stiffness=MOMENT, free=20.0)
    results = femb.simulate(hinge(spring), duration=duration, output_interval=0.1, **(TIGHT | {"method": method}))
    t, c, _ = motion(results)
    tolerance = 1e-4 if method == "bdf" else 1e-6
    np.testing.assert_allclose(c, 20.0 * (1.0 - np.cos(t)), atol=tolerance)
    np.testing.assert_allclose(results.audit.potential_energy, 200.0 * MOMENT * np.cos(t) ** 2, atol=20 * tolerance)
    assert np.abs(results.audit.energy_error).max() < 10 * tolerance
    np.testing.assert_allclose(results.arrays["springs/s/force"], MOMENT * (c - 20.0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(results.arrays["springs/s/angle"], c, atol=1e-12)


def test_a_spring_on_a_slide():
    spring = femb.JointSpringDamper("s", "j", stiffness=8.0, damping=0.8, free=-0.3)
    results = femb.simulate(slider(spring, start=0.2), duration=4.0, **TIGHT)
    t, c, rate = motion(results)
    s = np.sqrt(4.0 - 0.04)
    wanted = -0.3 + 0.5 * np.exp(-0.2 * t) * (np.cos(s * t) + 0.2 / s * np.sin(s * t))
    np.testing.assert_allclose(c, wanted, atol=1e-9)
    np.testing.assert_allclose(results.arrays["springs/s/force"], 8.0 * (c + 0.3) + 0.8 * rate, atol=1e-12)
    assert np.abs(results.audit.energy_error).max() < 1e-9


@pytest.mark.parametrize("formulation", ["velocity", "quaternion"])
def test_two_free_bodies_swing_with_their_reduced_inertia(formulation):
    """Momenta stay what they are, and the frequency is that of J1 J2/(J1 + J2)."""
    model = femb.Model("dumbbell")
    model.add(femb.RigidBody("a", mass=1.0, inertia=0.9, velocity=(0.1, 0.2, 0.3)))
    model.add(femb.RigidBody("b", mass=2.0, inertia=0.6, moves_alone=True, velocity=(0.1, 0.2, 0.3)))
    ends = {"first": femb.JointEnd(body="a", axis=(1, 1, 1)), "second": femb.JointEnd(body="b")}
    model.add(femb.Revolute("j", **ends, start=0.4))
    reduced = 0.9 * 0.6 / 1.5
    model.add(femb.JointSpringDamper("s", "j", stiffness=9.0 * reduced))
    results = femb.simulate(model, duration=3.0, formulation=formulation, **TIGHT)
    t, c, _ = motion(results)
    np.testing.assert_allclose(c, 0.4 * np.cos(3.0 * t), atol=1e-8)
    for momentum in (results.audit.linear_momentum, results.audit.angular_momentum):
        assert np.abs(momentum - momentum[0]).max() < 1e-9
    assert np.abs(results.audit.energy_error).max() < 1e-9


@pytest.mark.slow
def test_everything_at_once_keeps_its_balance():
    """Two free bodies off their centres on a universal joint, with every force there is."""
    model = femb.Model("all")
    model.add(femb.RigidBody("a", mass=1.0, inertia=INERTIA, angular_velocity=(0.3, -0.2, 0.5)))
    model.add(femb.RigidBody("b", mass=1.5, inertia=INERTIA))
    first = femb.JointEnd(body="a", at=(0.5, 0.1, 0), axis=(0, 0, 1))
    model.add(femb.Universal("j", first=first, second=femb.JointEnd(body="b", at=(-0.6, 0, 0.2)), rates=(2.0, -1.0)))
    model.add(femb.JointSpringDamper("s", "j", "first_angle", stiffness=3.0, damping=0.1, free=0.2))
    model.add(femb.JointFriction("f", "j", "second_angle", coulomb=0.2, transition_rate=0.05, static=0.3))
    model.add(femb.JointStops("e", "j", "second_angle", lower=-0.4, upper=0.5, stiffness=80.0, damping=0.2))
    model.add(femb.JointMotor("m", "j", "first_angle", force=0.5, profile=Versine(duration=1.0)))
    results = femb.simulate(model, duration=4.0, output_interval=0.01, **STIFF)
    for momentum in (results.audit.linear_momentum, results.audit.angular_momentum):
        assert np.abs(momentum - momentum[0]).max() < 1e-8
    assert np.abs(results.audit.energy_error).max() < 1e-6
    assert np.ptp(results.audit.work) > 0.1
    angle = results.springs["e"].angle
    assert angle.min() < -0.4  # the stop has been met
    power = [results.springs[name].force * results.springs[name].rate for name in "sfe"]
    assert np.all(power[1] >= 0.0)


@pytest.mark.parametrize("method", slow_but(["radau"], ["radau", "bdf"]))
def test_decrement_of_coulomb_friction(method):
    """Turning points are A - 2 n T/k, until one is inside T/k: there it stays (W. Thomson, Theory of Vibration)."""
    spring = femb.JointSpringDamper("s", "j", stiffness=4.0 * MOMENT)
    friction = femb.JointFriction("f", "j", coulomb=0.4 * MOMENT, transition_rate=1e-4)
    options = {"rtol": 1e-7, "atol": femb.Tolerances(1e-8, 1e-8, 1e-8, time=0.1), "method": method, "max_steps": 20000}
    results = femb.simulate(hinge(spring, friction, start=1.05), duration=9.0, output_interval=0.01, **options)
    t, c, rate = motion(results)
    half = np.pi / 2.0  # s, half a period
    for n in range(1, 6):
        found = np.interp(n * half, t, c)
        # 1.05 - 0.2 n; a turning point is flat, and the regularisation takes a 1e-4th of the decrement
        assert (-1) ** n * found == pytest.approx(1.05 - 0.2 * n, abs=2e-4)
    # inside 0.1 rad of the spring's zero: at rest, but for the creep T/v_t rate = k c of the regularised law
    resting = t > 5.2 * half
    assert np.abs(rate[resting]).max() < 1e-4
    assert np.ptp(c[resting]) < 1e-4
    assert np.abs(results.audit.energy_error).max() < 1e-5


def test_friction_stops_a_slide():
    """m v^2 / 2 = T x."""
    friction = femb.JointFriction("f", "j", coulomb=3.0, transition_rate=1e-4)
    results = femb.simulate(slider(friction, rate=1.2), duration=2.0, method="radau", rtol=1e-8)
    t, c, rate = motion(results)
    assert c[-1] == pytest.approx(2.0 * 1.2**2 / (2.0 * 3.0), abs=2e-4)
    assert rate[-1] < 1e-10
    assert results.audit.work[-1] == pytest.approx(-0.5 * 2.0 * 1.2**2, rel=1e-6)
    moving = t < 0.7
    np.testing.assert_allclose(rate[moving], 1.2 - 1.5 * t[moving], atol=1e-6)


@pytest.mark.slow
def test_a_motor_against_friction_turns_at_the_rate_of_the_stribeck_curve():
    """On the rising branch, beyond the fall from the static to the Coulomb level."""
    words = {"coulomb": 1.0, "static": 1.6, "transition_rate": 0.01, "stribeck_rate": 0.2, "viscous": 0.3}
    friction = femb.JointFriction("f", "j", **words)
    results = femb.simulate(hinge(friction, femb.JointMotor("m", "j", force=2.0)), duration=30.0, rtol=1e-7)
    _, _, rate = motion(results)

    def curve(r):
        return (1.0 + 0.6 * np.exp(-((r / 0.2) ** 2))) * np.tanh(r / 0.01) + 0.3 * r

    assert rate[-1] == pytest.approx(brentq(lambda r: curve(r) - 2.0, 1.0, 9.0), rel=1e-5)
    assert results.springs["f"].force[-1] == pytest.approx(2.0, rel=1e-5)
    assert results.arrays["loads/m/force"][-1] == 2.0


def test_static_friction_falls_at_ten_times_the_transition_rate_where_no_rate_is_given():
    words = {"coulomb": 1.0, "static": 1.6, "transition_rate": 0.01}
    for rate in (0.05, 0.1, 0.2):
        results = femb.simulate(hinge(femb.JointFriction("f", "j", **words), rate=rate), duration=1e-6, rtol=1e-7)
        level = (1.0 + 0.6 * np.exp(-((rate / 0.1) ** 2))) * np.tanh(rate / 0.01)
        assert abs(results.springs["f"].force[0]) == pytest.approx(level, rel=1e-9)


def test_static_friction_holds_what_coulomb_friction_would_not():
    """A torque between the two levels turns nothing from rest but by the creep, and goes on turning once it does."""
    words = {"coulomb": 1.0, "static": 1.6, "transition_rate": 1e-4, "stribeck_rate": 0.05}
    push = femb.JointMotor("m", "j", force=1.3)
    held, turning = (
        femb.simulate(hinge(femb.JointFriction("f", "j", **words), push, rate=rate), duration=1.0, rtol=1e-7)
        for rate in (0.0, 1.0)
    )
    assert motion(held)[1][-1] < 2e-4
    assert motion(turning)[2][-1] == pytest.approx(1.0 + 0.3 / MOMENT, rel=1e-4)


@pytest.mark.parametrize(
    ("side", "exponent"), slow_but([(-1.0, 1.0), (1.0, 1.5), (-1.0, 2.0)], product([1.0, -1.0], [1.0, 1.5, 2.0]))
)
def test_a_stop_without_damping_gives_everything_back(side, exponent):
    """Rebound at the speed of impact; the depth holds the kinetic energy."""
    words = {"lower": -0.5, "upper": 0.5, "stiffness": 500.0, "exponent": exponent}
    results = femb.simulate(
        hinge(femb.JointStops("e", "j", **words), rate=side), duration=1.5, output_interval=1e-3, **STIFF
    )
    _, c, rate = motion(results)
    assert rate[-1] == pytest.approx(-side, abs=1e-7)
    depth = np.max(side * c) - 0.5
    assert depth == pytest.approx((0.5 * MOMENT * (exponent + 1.0) / 500.0) ** (1.0 / (exponent + 1.0)), rel=1e-3)
    assert np.abs(results.audit.energy_error).max() < 1e-7
    assert np.abs(results.audit.work).max() == 0.0


def test_contact_with_a_linear_stop_lasts_half_a_period():
    words = {"upper": 0.5, "stiffness": 500.0, "exponent": 1.0}
    model = hinge(femb.JointStops("e", "j", **words), rate=1.0)
    leaving = Event("leaving", lambda t, state: state.joints["j"].coordinates[0] - 0.5, direction=-1)
    results = femb.simulate(model, duration=2.0, events=(leaving,), **STIFF)
    assert results.time[-1] == pytest.approx(0.5 + np.pi * np.sqrt(MOMENT / 500.0), abs=1e-7)


@pytest.mark.parametrize(
    ("loss", "exponent"), slow_but([(0.05, 1.5), (0.5, 2.5), (4.0, 1.0)], product([0.05, 0.5, 4.0], [1.0, 1.5, 2.5]))
)
def test_restitution_of_a_damped_stop(loss, exponent):
    """y^3 + (1 + y^2)^(3/2) after the impact is what it is for -y before, y = damping speed, at any stiffness."""
    words = {"lower": -0.2, "stiffness": 1e4, "exponent": exponent, "damping": loss}
    results = femb.simulate(
        slider(femb.JointStops("e", "j", **words), rate=-1.0), duration=1.0, output_interval=1e-3, **STIFF
    )
    _, _, rate = motion(results)

    def side(y):
        return y**3 + (1.0 + y * y) ** 1.5

    after = brentq(lambda y: side(y) - side(-loss), 0.0, loss) / loss
    assert rate[-1] == pytest.approx(after, abs=2e-6)
    if loss < 0.1:
        assert after == pytest.approx(1.0 - 2.0 / 3.0 * loss, abs=loss**2)
    assert results.audit.work[-1] == pytest.approx(after**2 - 1.0, abs=1e-5)
    assert np.abs(results.audit.energy_error).max() < 1e-6


@pytest.mark.slow
def test_stops_know_how_many_turns_the_hinge_has_made():
    """A wall two turns away is met there and not before."""
    results = femb.simulate(
        hinge(femb.JointStops("e", "j", upper=4.0 * np.pi, stiffness=1e4), rate=5.0), duration=2.8, **STIFF
    )
    _, c, rate = motion(results)
    assert c.max() == pytest.approx(4.0 * np.pi, abs=0.1)
    assert rate[-1] == pytest.approx(-5.0, abs=1e-6)


def test_a_motor_with_a_profile():
    """J a' = integral of the torque; its work is the kinetic energy."""
    motor = femb.JointMotor("m", "j", force=3.0, profile=Versine(duration=2.0))
    results = femb.simulate(hinge(motor), duration=3.0, **TIGHT)
    t, _, rate = motion(results)
    late = t > 2.0
    np.testing.assert_allclose(rate[late], 3.0 / MOMENT, rtol=1e-9)
    np.testing.assert_allclose(results.audit.work, results.audit.kinetic_energy, atol=1e-9)
    torque = 1.5 * (1.0 - np.cos(np.pi * t)) * (t < 2.0)
    np.testing.assert_allclose(results.arrays["loads/m/force"], torque, atol=1e-12)
    np.testing.assert_allclose(results.loads["m"].rate, rate, atol=1e-14)


def test_steppers_land_on_the_steps_of_a_motor():
    results = femb.simulate(slider(femb.JointMotor("m", "j", force=2.0, profile=Step(0.3, 0.4))), duration=1.0, **TIGHT)
    t, _, rate = motion(results)
    np.testing.assert_allclose(rate[t >= 0.7], 0.4, rtol=1e-10)


@pytest.mark.parametrize("method", slow_but(["rk"], ["rk", "radau"]))
def test_a_servo(method):
    """A motor that is a function of the state drives the hinge over more than a turn."""

    def control(t, state):
        joint = state.joints["j"]
        return MOMENT * (9.0 * (8.0 - joint.coordinates[0]) - 6.0 * joint.rates[0]), -9.0 * MOMENT, -6.0 * MOMENT

    results = femb.simulate(
        hinge(femb.JointMotor("m", "j", force=control)), duration=4.0, **(TIGHT | {"method": method})
    )
    t, c, _ = motion(results)
    np.testing.assert_allclose(c, 8.0 * (1.0 - (1.0 + 3.0 * t) * np.exp(-3.0 * t)), atol=1e-6)
    assert np.abs(results.audit.energy_error).max() < 1e-6


@pytest.mark.slow
def test_a_callable_is_as_good_as_a_stiffness():
    words = {"stiffness": 8.0, "damping": 0.4, "free": 5.0}
    law = {"force": lambda c, rate: (8.0 * (c - 5.0) + 0.4 * rate, 8.0, 0.4)}
    one, other = (
        femb.simulate(hinge(femb.JointSpringDamper("s", "j", **each)), duration=1.0, rtol=1e-7) for each in (words, law)
    )
    np.testing.assert_allclose(one.joints["j"].coordinates, other.joints["j"].coordinates, atol=1e-5)
    assert np.abs(other.audit.potential_energy).max() == 0.0
    assert np.abs(other.audit.energy_error).max() < 1e-4


def test_a_chain_of_stiff_hinges_is_solved_as_fast_as_it_moves():
    """Newton's iteration has the whole tangent: steps do not know how stiff the hinges are."""
    steps = []
    for stiffness in (1e4, 1e8):
        model = femb.Model("chain", gravity=(0, 0, -9.81))
        before = "ground"
        for k in range(4):
            model.add(femb.RigidBody(f"l{k}", mass=1.0, inertia=(0.01, 0.1, 0.1), position=(k + 0.5, 0, 0)))
            at = (0, 0, 0) if before == "ground" else (0.5, 0, 0)
            first = femb.JointEnd(body=before, at=at, axis=(0, 1, 0))
            model.add(femb.Revolute(f"h{k}", first=first, second=femb.JointEnd(body=f"l{k}", at=(-0.5, 0, 0))))
            if k:
                words = {"stiffness": stiffness, "damping": 1e-3 * stiffness}
                model.add(femb.JointSpringDamper(f"s{k}", f"h{k}", **words))
            before = f"l{k}"
        results = femb.simulate(model, duration=1.0, rtol=1e-6)
        steps.append(results.statistics["steps"])
        assert np.abs(results.audit.energy_error).max() < 1e-3
        if stiffness == 1e8:
            # a rigid bar of 4 m on a hinge: 4 x (m (k + 1/2)^2 + 0.1)
            moment = sum((k + 0.5) ** 2 + 0.1 for k in range(4))
            rate = results.joints["h0"].rates[:, 0]
            angle = results.joints["h0"].coordinates[:, 0]
            np.testing.assert_allclose(0.5 * moment * rate**2, 4 * 9.81 * 2.0 * np.sin(angle), atol=1e-3)
    assert steps[1] < 1.5 * steps[0]


@pytest.mark.slow
def test_a_spring_hinge_carries_a_beam():
    """A flexible panel on a preloaded hinge of a free hub: balance and momenta, and the moment at its root."""
    section = femb.Section("s", 1.2e-3, (4e-8, 4e-8), 7e-8, 2700.0, 7e10, 2.6e10, damping=1e-4)
    model = femb.Model("boom")
    model.add(femb.RigidBody("hub", mass=20.0, inertia=2.0))
    start = femb.Attachment(at=(0.5, 0, 0), direction=(1, 0, 0))
    model.add(femb.Beam("boom", section=section, length=2.0, elements=3, start=start))
    first = femb.JointEnd(body="hub", at=(0.5, 0, 0), axis=(0, 0, 1))
    model.add(femb.Revolute("j", first=first, second=femb.JointEnd(beam="boom", node=0)))
    model.add(femb.JointSpringDamper("s", "j", stiffness=3.0, damping=0.5, free=1.2))
    model.add(femb.JointStops("e", "j", upper=0.6, stiffness=3000.0, damping=0.5))
    atol = femb.Tolerances(1e-8, 1e-8, 1e-8, time=0.1)
    results = femb.simulate(model, duration=1.0, output_interval=0.01, rtol=1e-8, atol=atol)
    assert np.abs(results.audit.energy_error).max() < 1e-5
    for momentum in (results.audit.linear_momentum, results.audit.angular_momentum):
        assert np.abs(momentum).max() < 2e-8  # of some 2 N s and N m s of each of the two
    resisting = results.springs["s"].force + results.springs["e"].force
    assert results.springs["e"].force.max() > 1.0
    # the root's section moment is what the spring and the stop leave of the hinge: minus what resists the beam's turn
    np.testing.assert_allclose(results.beams["boom"].section_moment[:, 0, 0, 2], resisting, atol=1e-6)


# Results


def test_results_name_forces_and_motions(tmp_path):
    model = hinge(
        femb.JointSpringDamper("s", "j", stiffness=2.0, damping=0.1),
        femb.JointFriction("f", "j", coulomb=0.1, transition_rate=0.5),
        femb.JointMotor("m", "j", force=0.3),
        rate=1.0,
    )
    results = femb.simulate(model, duration=0.5, output_interval=0.1)
    _, c, rate = motion(results)
    assert list(results.springs) == ["s", "f"]
    assert list(results.loads) == ["m"]
    np.testing.assert_allclose(results.springs["s"].force, 2.0 * c + 0.1 * rate, atol=1e-14)
    np.testing.assert_allclose(results.springs["f"].force, 0.1 * np.tanh(rate / 0.5), atol=1e-14)
    np.testing.assert_allclose(results.springs["s"].rate, rate, atol=1e-14)
    assert "length" not in results.springs["s"]
    results.write(tmp_path / "run.h5")
    again = femb.Results.read(tmp_path / "run.h5")
    np.testing.assert_array_equal(again.springs["s"].angle, results.springs["s"].angle)
    np.testing.assert_array_equal(again.loads["m"].force, 0.3)


# What is refused


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: femb.JointSpringDamper("f", "j"), "stiffness"),
        (lambda: femb.JointSpringDamper("f", "j", stiffness=-1.0), "stiffness"),
        (lambda: femb.JointSpringDamper("f", "j", force=3.0), "force"),
        (lambda: femb.JointSpringDamper("f", 3, stiffness=1.0), "joint"),
        (lambda: femb.JointFriction("f", "j", coulomb=-1.0, transition_rate=1.0), "coulomb"),
        (lambda: femb.JointFriction("f", "j", coulomb=1.0, transition_rate=0.0), "transition_rate"),
        (lambda: femb.JointFriction("f", "j", coulomb=1.0, transition_rate=1.0, static=0.5), "static"),
        (lambda: femb.JointStops("f", "j", stiffness=1.0), "lower"),
        (lambda: femb.JointStops("f", "j", stiffness=1.0, lower=1.0, upper=0.0), "upper"),
        (lambda: femb.JointStops("f", "j", stiffness=1.0, lower=0.0, exponent=0.5), "exponent"),
        (lambda: femb.JointStops("f", "j", stiffness=0.0, lower=0.0), "stiffness"),
        (lambda: femb.JointMotor("f", "j", force="x"), "force"),
        (lambda: femb.JointMotor("f", "j", force=None), "force"),
        (lambda: System(pair(femb.Revolute, femb.JointSpringDamper("f", "k", stiffness=1.0))), "joint"),
        (lambda: System(pair(femb.Spherical, femb.JointSpringDamper("f", "j", stiffness=1.0))), "joint"),
        (lambda: System(pair(femb.Revolute, femb.JointSpringDamper("f", "j", "stroke", stiffness=1.0))), "coordinate"),
    ],
)
def test_refused(make, field):
    with pytest.raises(femb.ModelError) as error:
        make()
    assert [problem.item[1:] for problem in error.value.problems] == [("f", field)]


def test_a_callable_that_returns_nonsense_is_named():
    with pytest.raises(Exception, match=r"loads\.m\.force: got .* wanted one number or 3 numbers"):
        femb.simulate(hinge(femb.JointMotor("m", "j", force=lambda t, state: (1.0, 2.0))), duration=1.0)


# What one accepted step leaves to the next


def sprung():
    """A turning hinge with a spring and friction, and the equations at a state of it."""
    items = [femb.JointSpringDamper("s", "j", stiffness=2.0, damping=0.7, free=0.3), LAWS["friction"][0]]
    system = System(pair(femb.Revolute, *items), assemble=True)
    rng = np.random.default_rng(5)
    return system, system.q0, system.v0 + rng.normal(size=system.n_v)


def test_forces_of_parts_are_those_of_the_laws():
    """At several states: of gradients and laws alone, part by part, and bound to arrays as in compiled steps."""
    system, q, v = sprung()
    (batch,) = (each for each in system.batches if isinstance(each, JointForceBatch))
    states = np.array([q, q]), np.array([v, 2.0 * v])
    u = np.array([system.inputs_at(0.0, q, v)] * 2)
    a = np.zeros((2, system.n_v))
    _, _, gradients, L = batch.measure(u, *states)
    rows = np.zeros((2, 2, system.n_v))  # of states and forces
    for end, column in enumerate((IN_V, 3 + IN_V)):
        first = int(batch.coordinates.index[0, column])
        rows[..., first : first + 6] = gradients[..., 6 * end : 6 * end + 6]
    evaluation = Evaluation([batch], system.pattern)
    names = [part.account for part in batch.works]
    assert names == ["joint_springs", "friction_springs"]
    wanted = [np.einsum("sn,snk->sk", L[..., ELASTIC], rows), *(L[:, n, REST, None] * rows[:, n] for n in range(2))]
    total = np.zeros_like(a)
    chosen = [lambda part: float(part.kind == "elastic"), *(account("", name) for name in names)]
    for factor, force in zip(chosen, wanted, strict=True):
        out = np.zeros_like(a)
        evaluation.add_residual(u, *states, a, out, factor)
        assert out.any()
        np.testing.assert_allclose(out, force, rtol=1e-14, atol=1e-15)
        total += out
    out = np.zeros_like(a)
    for call in evaluation.force_calls(u, *states, a, out):
        call()
    np.testing.assert_allclose(out, total, rtol=1e-14, atol=1e-15)


def batch_residual(system, batch, u, q, v, a):
    out = np.zeros(a.shape)
    Alone(system, batch).residual(u, q, v, a, out)
    return out


def test_revolutions_alone_change_no_equation():
    """The angles of the last accepted state only unwrap later ones."""
    system, q, v = sprung()
    later = system.with_discrete(system.discrete.with_angles(system.discrete.angles + 0.2))
    before, after = (each.inputs_at(0.0, q, v) for each in (system, later))
    assert np.any(before != after)
    exact = [batch_residual(system, batch, after[None], q[None], v[None], 0.0 * v[None]) for batch in system.batches]
    for batch, values in zip(system.batches, exact, strict=True):
        np.testing.assert_array_equal(
            values, batch_residual(system, batch, before[None], q[None], v[None], 0.0 * v[None])
        )
