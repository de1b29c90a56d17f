"""Relative kinematics of Models: partial velocities against the reduced form and differences, equations of motion and
runs against the velocity form, gimbal lock."""

import numpy as np
import pytest
from formulations.test_reduced import differences, flexible_pendulum, loaded, run, wheel
from models import beads, of_parts, panel_on_hub, refuses
from oracles.random_trees import KINDS, random_model

import femb
from femb.formulations.reduced import ReducedForm
from femb.run.relative_kinematics import RelativeKinematics
from femb.system.system import System
from femb.thompson import relative_kinematics

STRICT = {"rtol": 1e-9, "atol": femb.Tolerances(1e-10, 1e-10, 1e-10)}
CHOICES = ("fixed", "body", "angles")
every_choice = pytest.mark.parametrize("choice", CHOICES)


def at_random(choice, seed=3, bodies=8, kinds=KINDS, ground=True):
    """A loaded tree of joints of all kinds, either way round, at a state off its start."""
    rng = np.random.default_rng(seed)
    form = RelativeKinematics(System(loaded(rng, bodies, kinds, ground), assemble=True), choice)
    q = form.q0 + 0.2 * rng.standard_normal(form.n_q)
    form.normalise(q)
    return form, q, rng.standard_normal(form.n_v)


def close(got, wanted, tolerance):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * max(1.0, np.abs(wanted).max(initial=0.0)))


@every_choice
@pytest.mark.parametrize("ground", [True, False])
def test_partial_velocities_and_their_rates(choice, ground):
    """V u, V u' + V' u against differences of positions and velocities along the motion; likewise for turns."""
    form, q, u = at_random(choice, ground=ground)
    found = form.evaluate(q, u)
    close(found.V @ u, found.velocity, 1e-13)
    close(found.W @ u, found.angular_velocity, 1e-13)
    close(found.V @ found.speed_rates + found.V_rate @ u, found.acceleration, 1e-12)
    close(found.W @ found.speed_rates + found.W_rate @ u, found.angular_acceleration, 1e-12)
    rate = form.rates(q[None], u[None])[0]
    second = form.second_rates(q[None], u[None], found.speed_rates[None])[0]

    def along(h):
        at = form.evaluate(q + h * rate + 0.5 * h * h * second, u + h * found.speed_rates)
        return at.position, at.velocity, at.attitude, at.angular_velocity

    steps = [(along(k * 1e-3), along(-k * 1e-3), w) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))]
    place, speed, turn, spin = (sum(w * (a[i] - b[i]) for a, b, w in steps) / 0.06 for i in range(4))
    close(place, found.velocity, 1e-9)
    close(speed, found.acceleration, 1e-7)
    close(spin, found.angular_acceleration, 1e-7)
    cross = np.einsum("kij,klj->kil", turn, found.attitude)
    close(np.stack([cross[:, 2, 1], cross[:, 0, 2], cross[:, 1, 0]], axis=1), found.angular_velocity, 1e-9)


@every_choice
@pytest.mark.parametrize(("kinds", "ground"), [(KINDS, True), (KINDS, False), ((femb.Spherical,), False)])
def test_they_span_what_the_reduced_form_does(choice, kinds, ground):
    """The same null space and accelerations by another recursion: H2 of one is H2 of the other times a matrix."""
    form, q, u = at_random(choice, 5, kinds=kinds, ground=ground)
    Q, V = form.to_system(q[None], u[None])
    other = ReducedForm(form.system)
    assert form.n_v == other.n_v
    H2, H2_rate = form.H2(q, u)
    x, speeds = other.from_system(Q[0], V[0])
    wanted, wanted_rate = (each.toarray() for each in other.H2(x, speeds))
    between = np.linalg.lstsq(wanted, H2, rcond=None)[0]
    close(wanted @ between, H2, 1e-11)
    close(H2 @ u, V[0], 1e-12)
    inputs = form.inputs_at(0.0, q, u)
    a = form.acceleration(inputs, q, u)
    full = H2 @ a + H2_rate @ u
    close(full, form.system.acceleration(inputs, Q[0], V[0]), 1e-10)
    close(full, wanted @ other.acceleration(inputs, x, speeds) + wanted_rate @ speeds, 1e-10)
    back = form.from_system(Q[0], V[0])
    close(form.to_system(back[0][None], back[1][None])[1][0], V[0], 1e-11)
    close(back[1], u, 1e-10)


def test_generalized_inertia_is_kanes():
    """sum of m V^T V + W^T J W over bodies, J about their mass centres in inertial axes; kinetic energy."""
    form, q, u = at_random("body", 1)
    found = form.evaluate(q, u)
    wanted = np.zeros_like(found.inertia)
    for k, name in enumerate(found.names):
        body, A = form.model.bodies[name], found.attitude[k]
        wanted += body.mass * found.V[k].T @ found.V[k] + found.W[k].T @ A @ body.inertia @ A.T @ found.W[k]
    close(found.inertia, wanted, 1e-12)
    Q, V = form.to_system(q[None], u[None])
    assert 0.5 * u @ found.inertia @ u == pytest.approx(form.system.energy_momentum(Q, V)[0, 0], rel=1e-12)
    close(found.inertia @ found.speed_rates, found.force, 1e-11)


@pytest.mark.parametrize(("choice", "ground"), [("fixed", True), ("body", False), ("angles", False)])
def test_runs_agree_with_the_velocity_form(choice, ground):
    """Springs, dampers, loads; constraints hold by themselves."""
    model = loaded(np.random.default_rng(4), 3, (femb.Revolute, femb.Universal, femb.Spherical, femb.Prismatic), ground)
    got = relative_kinematics(model, choice).simulate(0.2, output_interval=0.05, **STRICT)
    place, rate, force = differences(run(model, "velocity", rtol=1e-11, duration=0.2, count=4), got)
    assert place < 1e-8
    assert rate < 1e-7
    assert force < 1e-6
    assert got.audit.constraint_position.max() < 1e-12
    assert np.abs(got.audit.energy_error).max() < 1e-7


@pytest.mark.slow
def test_angles_count_their_turns():
    got = relative_kinematics(wheel(rates=30.0)).simulate(0.3, output_interval=0.03, rtol=1e-6)
    assert got.joints["axle"].coordinates[-1, 0] > 2.1 * np.pi
    assert np.all(np.diff(got.joints["axle"].coordinates[:, 0]) > 0.0)
    quaternions = got.bodies["wheel"].quaternion
    assert np.linalg.norm(np.diff(quaternions, axis=0), axis=1).max() < 1.0  # no change of sign


@pytest.mark.slow
def test_drivers_latches_beams_and_point_masses():
    model = wheel()
    model.add(femb.JointDriver("motor", joint="axle", motion=lambda t: (3.0 * t**2, 6.0 * t, 6.0)))
    got, wanted = (
        relative_kinematics(model).simulate(0.4, output_interval=0.1, **STRICT),
        run(model, "velocity", duration=0.4, count=4),
    )
    assert max(differences(got, wanted)) < 1e-6
    np.testing.assert_allclose(got.drivers["motor"].force, wanted.drivers["motor"].force, atol=1e-7)
    model = panel_on_hub(at=0.25)
    got, wanted = (
        relative_kinematics(model, "angles").simulate(1.0, output_interval=0.25, **STRICT),
        run(model, "velocity", count=4),
    )
    np.testing.assert_allclose(
        got.arrays["events/latches.lock/time"], wanted.arrays["events/latches.lock/time"], rtol=1e-6
    )
    assert max(differences(got, wanted)) < 1e-6
    form = relative_kinematics(flexible_pendulum())
    found, system = form.evaluate(), form.system
    H2, H2_rate = form.H2(form.q0, form.v0)
    inputs = system.inputs_at(0.0, system.q0, system.v0)
    close(H2 @ found.speed_rates + H2_rate @ form.v0, system.acceleration(inputs, system.q0, system.v0), 1e-9)
    assert set(found.names) == {"hub", "bob", "arm, node 1", "arm, node 2"}
    model = beads()
    got, wanted = (
        relative_kinematics(model, "body").simulate(0.5, output_interval=0.1, rtol=1e-9),
        run(model, "velocity", duration=0.5, count=5),
    )
    assert max(differences(got, wanted)[:2]) < 1e-6


def tumbling(angle):
    turned = {"position": (0, 0, 0), "euler_angles": (0, angle, 0), "angular_velocity": (0, 1, 0)}
    return of_parts(
        femb.RigidBody("arm", mass=1.0, inertia=(0.1, 0.2, 0.3), center_of_mass=(0, 0, -0.4), **turned),
        femb.Spherical("ball", femb.JointEnd("ground"), femb.JointEnd("arm", axis=(0, 0, 1), reference=(1, 0, 0))),
        title="ball",
    )


def test_gimbal_distance_is_reported_and_lock_is_refused():
    form = relative_kinematics(tumbling(0.4), "angles")
    assert form.evaluate().gimbal_distance == {"ball": pytest.approx(np.cos(0.4), rel=1e-12)}
    assert relative_kinematics(tumbling(0.4), "body").evaluate().gimbal_distance == {"ball": 1.0}
    with pytest.raises(femb.SolveError, match=r"the second is within .* of a right angle"):
        relative_kinematics(tumbling(0.5 * np.pi), "angles")
    q = form.q0.copy()
    q[1] = 0.5 * np.pi
    refuses("1-2-3 angles of ball are locked; take angular velocities", form.evaluate, q, error=femb.SolveError)
    relative_kinematics(tumbling(0.5 * np.pi), "fixed").evaluate()


def test_what_is_refused():
    model = random_model(np.random.default_rng(0), 3)
    refuses("speeds: got 'euler', wanted 'fixed', 'body', 'angles'", relative_kinematics, model, "euler")
    refuses(r"relative kinematics: u: got .*, wanted \d+ numbers: ", relative_kinematics(model).evaluate, u=[1.0])
    refuses("is integrated by method 'rk', got 'radau'", relative_kinematics(model).simulate, 0.1, method="radau")
    loop = femb.Model()
    for name in ("a", "b"):
        loop.add(femb.RigidBody(name, mass=1.0, inertia=1.0))
    loop.add(femb.Revolute("one", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("a")))
    loop.add(femb.Revolute("two", femb.JointEnd("a", axis=(0, 0, 1)), femb.JointEnd("b")))
    loop.add(femb.Revolute("three", femb.JointEnd("b", axis=(0, 0, 1)), femb.JointEnd("ground")))
    refuses(
        r"'relative_kinematics' is for trees of joints: joints\.\w+, .* close a loop; open", relative_kinematics, loop
    )
    rod = femb.Model()
    rod.add(femb.RigidBody("a", mass=1.0, inertia=1.0, position=(1, 0, 0)))
    rod.add(femb.Distance("rod", femb.JointEnd("ground"), femb.JointEnd("a")))
    refuses(r"joints\.rod \(distance\) .*; take a joint of another kind", relative_kinematics, rod)


def test_the_start_of_a_slider_is_a_column():
    """[K]'s slider and hinge: what is locked has no column, and the names say what is left."""
    model = femb.Model()
    model.add(femb.RigidBody("cart", mass=1.0, inertia=1.0))
    model.add(femb.RigidBody("bob", mass=1.0, inertia=1.0, center_of_mass=(0, 0, -0.5)))
    model.add(femb.Prismatic("rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("cart", axis=(1, 0, 0))))
    model.add(femb.Revolute("pin", femb.JointEnd("cart", axis=(0, 1, 0)), femb.JointEnd("bob", axis=(0, 1, 0))))
    form = relative_kinematics(model)
    assert form.speeds == ("joints.rail.stroke rate", "joints.pin.angle rate")
    V = form.evaluate().V[1]
    np.testing.assert_allclose(V, np.transpose([(1, 0, 0), (-0.5, 0, 0)]), atol=1e-15)
