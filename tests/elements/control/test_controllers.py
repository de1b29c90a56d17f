"""Controllers: sampled laws against exact discrete models, continuous ones against poles, order, delays, messages."""

from dataclasses import replace

import numpy as np
import pytest
from long_runs import slow_but
from models import of_parts, refuses, stiff
from oracles.alone import Alone
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from shared_runs import said

import femb
from femb import JointEnd
from femb.base.errors import ModelError, SolveError
from femb.formulations import make_formulation
from femb.layout.bound_updates import BoundUpdates
from femb.numerics import rotations
from femb.numerics.compiler.bound_calls import AVAILABLE
from femb.run.overview import overview
from femb.system.block_lu import WithLowRank
from femb.system.system import System

J, K_P, K_D = 10.0, 4.0, 9.0
SPIN = {"axis": (0.0, 0.0, 1.0), "spin_inertia": 0.1}


def rotor(*items, angle=0.0, rate=0.1, **words):
    """A body that turns about z, with a load for a torque."""
    quaternion = (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))
    model = femb.Model("rotor", **words)
    model.add(femb.RigidBody("hub", 10.0, (J, J, J), quaternion=quaternion, angular_velocity=(0.0, 0.0, rate)))
    model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
    for item in items:
        model.add(item)
    return model


def pd(**words):
    given = {"proportional": K_P, "derivative": K_D, "outputs": ("loads.torquer.torque",), "period": 0.1} | words
    return femb.PDController("pd", **({"attitude": "bodies.hub", "rate": "bodies.hub"} | given))


def double_integrator(period, count, delay, rate):
    """Angle and rate (count + 1, 2) at samples of the law -K_p 2 sin(angle/2) - K_d rate, by exact steps of constant
    torque."""
    whole = int(delay // period)
    part = delay - whole * period

    def step(x, torque, h):
        return np.array([x[0] + h * x[1] + 0.5 * h * h * torque / J, x[1] + h * torque / J])

    x, held, states = np.array([0.0, rate]), [0.0] * (whole + 2), [np.array([0.0, rate])]
    for _ in range(count):
        held = [-K_P * 2.0 * np.sin(0.5 * x[0]) - K_D * x[1], *held[:-1]]
        if part:
            x = step(step(x, held[whole + 1], part), held[whole], period - part)
        else:
            x = step(x, held[whole], period)
        states.append(x)
    return np.array(states)


@pytest.mark.parametrize("delay", [0.0, 0.035, 0.1, 0.22])
def test_sampled_law_with_delays_of_any_length(delay):
    results = femb.simulate(rotor(pd(delay=delay)), duration=6.0, output_interval=0.1, rtol=1e-10, method="radau")
    wanted = double_integrator(0.1, 60, delay, 0.1)
    hub = results.bodies["hub"]
    np.testing.assert_allclose(hub.angular_velocity[:, 2], wanted[:, 1], atol=1e-11)
    np.testing.assert_allclose(2.0 * np.arcsin(hub.quaternion[:, 3]), wanted[:, 0], atol=1e-10)
    audit = results.audit
    assert np.abs(audit.energy_error).max() < 1e-11
    # an output at a sample is the left limit: the command is that of the sample before
    k = 30
    angle, rate = wanted[k - 1]
    torque = -K_P * 2.0 * np.sin(0.5 * angle) - K_D * rate
    np.testing.assert_allclose(results.controllers["pd"].output[k, 2], torque, atol=1e-10)


@pytest.mark.parametrize("method", ["radau", "bdf", "generalized-alpha", "rk"])
def test_every_method_lands_on_samples(method):
    words = {"method": method, "rtol": 1e-8, "output_interval": 0.1, "atol": {"quaternion": 1e-10, "time": 1.0}}
    results = femb.simulate(rotor(pd()), duration=2.0, **words)
    wanted = double_integrator(0.1, 20, 0.0, 0.1)
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[:, 2], wanted[:, 1], atol=1e-5)


@pytest.mark.parametrize("formulation", ["velocity", "quaternion", "reduced"])
def test_formulations_agree(formulation):
    words = {"method": "radau", "rtol": 1e-9, "formulation": formulation, "output_interval": 0.1}
    results = femb.simulate(rotor(pd(delay=0.05)), duration=2.0, **words)
    wanted = double_integrator(0.1, 20, 0.05, 0.1)
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[:, 2], wanted[:, 1], atol=1e-9)


def test_the_short_way_is_taken():
    """A body turned by 200 degrees returns by the other 160."""
    results = femb.simulate(rotor(pd(), angle=np.radians(200.0), rate=0.0), duration=1.0, output_interval=0.1)
    assert results.bodies["hub"].angular_velocity[-1, 2] > 0.05
    # at q_0 = -0.999 the torque by unit gain is -2 sign(q_0) q_v = +0.089, where it would be -0.089 without the sign
    system = System(rotor(pd()))
    errors = system.model.controllers["pd"].law(system.layout, system.model).errors
    attitude = np.array([-0.999, 0.0, 0.0, np.sqrt(1.0 - 0.999**2)])
    assert -errors.of([attitude, np.zeros(3)], errors.reference(0.0))[2] == pytest.approx(0.089, abs=5e-4)


def test_a_stack_of_wheels_and_momentum():
    """Torque by four wheels is that of their pseudo-inverse; momentum stays; clips are counted."""
    axes = [(1, 1, 1), (-1, 1, 1), (-1, -1, 1), (1, -1, 1)]
    model = rotor(rate=0.3)
    for k, axis in enumerate(axes):
        model.add(femb.ReactionWheel(f"w{k}", body="hub", axis=axis, spin_inertia=0.1, max_torque=0.5))
    model.add(pd(outputs=(), wheels=("w0", "w1", "w2", "w3")))
    results = femb.simulate(model, duration=4.0, output_interval=0.1, rtol=1e-10, method="radau")
    audit = results.audit
    np.testing.assert_allclose(audit.angular_momentum, audit.angular_momentum[0] * np.ones((41, 1)), atol=1e-11)
    assert np.abs(audit.energy_error).max() < 1e-10
    torques = np.array([results.wheels[f"w{k}"].torque for k in range(4)])
    assert torques.max() == pytest.approx(0.5)
    assert np.ptp(torques, axis=0).max() < 1e-12
    output = results.controllers["pd"].output
    assert output[1, 0] > 0.5  # the law asked for more


def test_integral_is_held_while_a_command_is_at_its_limit():
    words = {"proportional": 1.0, "derivative": 6.0, "integral": 0.5, "wheels": ("w",), "allocation": [[0, 0, 1.0]]}
    words |= {"period": 0.1, "reference": femb.AttitudeReference((np.cos(0.5), 0, 0, np.sin(0.5)))}
    law = femb.PIDController("pid", attitude="bodies.hub", rate="bodies.hub", **words)
    model = rotor(femb.ReactionWheel("w", body="hub", **SPIN, max_torque=0.3), law, rate=0.0)
    results = femb.simulate(model, duration=20.0, output_interval=0.1)
    state, output = results.controllers["pid"].state[:, 2], results.controllers["pid"].output[:, 0]
    over = np.abs(output[1:]) > 0.3
    assert over[:5].all()
    assert not over[-1]
    assert np.all(np.diff(state)[over] == 0.0)
    assert np.any(np.diff(state)[~over] != 0.0)


LIMIT, TRACKING = 0.5, 1.5


def limited(period, **words):
    """A pid law of the turn about z, far from its reference, on a torque of at most ``LIMIT``."""
    model = femb.Model("rotor")
    model.add(femb.RigidBody("hub", 10.0, (J, J, J)))
    model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body", max_torque=LIMIT))
    given = {"proportional": K_P, "derivative": K_D, "integral": 1.0, "period": period} | words
    reference = femb.AttitudeReference(quaternion=(np.cos(0.5), 0.0, 0.0, np.sin(0.5)))
    outputs = ("loads.torquer.torque",)
    law = femb.PIDController("pid", "bodies.hub", rate="bodies.hub", reference=reference, outputs=outputs, **given)
    model.add(law)
    return model


@pytest.mark.parametrize("period", slow_but([0.2], [None, 0.2]))
def test_back_calculation_leads_the_integral_back(period):
    """Against the equations of one axis; without it the integral of the way overshoots far more."""

    def torque(angle, rate, x):
        wanted = -K_P * 2.0 * np.sin(0.5 * (angle - 1.0)) - x - K_D * rate
        return wanted, np.clip(wanted, -LIMIT, LIMIT)

    def x_rate(angle, rate, x):
        wanted, given = torque(angle, rate, x)
        return 2.0 * np.sin(0.5 * (angle - 1.0)) - (given - wanted) / TRACKING

    times = np.arange(0.0, 30.1, 0.2)
    words = {"rtol": 1e-10, "atol": 1e-13, "t_eval": times, "max_step": 0.01}
    if period is None:
        of = lambda t, y: [y[1], torque(*y)[1] / J, x_rate(*y)]  # noqa: E731
        wanted = solve_ivp(of, (0.0, 30.0), [0.0, 0.0, 0.0], **words | {"t_eval": times[:-1]}).y[0]
    else:
        y, angles = np.zeros(3), []
        for _ in times:
            angles.append(y[0])
            a = torque(*y)[1] / J
            y = np.array([y[0] + period * y[1] + 0.5 * a * period**2, y[1] + period * a, y[2] + period * x_rate(*y)])
        wanted = np.array(angles)
    run = {"duration": 30.0, "output_interval": 0.2, "rtol": 1e-9, "method": "radau"}

    def angle(**given):
        results = femb.simulate(limited(period, **given), **run)
        return 2.0 * np.arctan2(results.bodies["hub"].quaternion[:, 3], results.bodies["hub"].quaternion[:, 0])

    found = angle(tracking_time=TRACKING)
    np.testing.assert_allclose(found[: len(wanted)], wanted[: len(found)], atol=1e-6 if period is None else 1e-9)
    if period is None:
        assert np.max(angle()) > np.max(found) + 0.2


@pytest.mark.slow
def test_a_rigid_body_follows_what_is_fed_forward():
    """The torque J a + w x J w of a slew about a skew axis: no error is left for the gains, continuous or sampled."""
    inertia = np.array([[9.0, 1.0, -0.5], [1.0, 7.0, 0.8], [-0.5, 0.8, 5.0]])
    turn = femb.profiles.SmoothStep(4.0, after=0.8)

    def error(period, feed_forward):
        model = femb.Model("slew")
        model.add(femb.RigidBody("hub", 10.0, inertia))
        model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
        reference = femb.AttitudeReference(axis=(1.0, 2.0, -1.0), angle=turn)
        given = {"attitude": "bodies.hub", "rate": "bodies.hub", "reference": reference, "period": period}
        outputs = ("loads.torquer.torque",)
        model.add(femb.PDController("pd", proportional=1.0, derivative=3.0, outputs=outputs, **given,
                                    feed_forward=feed_forward))  # fmt: skip
        results = femb.simulate(model, duration=5.0, output_interval=0.1, rtol=1e-9, method="radau")
        return np.max(np.abs(results.controllers["pd"].error))

    assert error(None, None) > 0.3
    assert error(None, inertia) < 1e-7
    assert error(0.1, inertia) < 1e-3


@pytest.mark.parametrize("delay", [0.0, 0.13])
def test_a_sampled_law_feeds_the_mean_acceleration_forward(delay):
    """A hinge then has the rate of the profile whenever a command begins to act: no gain is there to correct it."""
    profile = femb.profiles.SmoothStep(3.0, after=0.5)
    pid = femb.PDController(
        "pd", input="joints.hinge.angle", proportional=0.0, setpoint=profile, outputs=("loads.motor.force",),
        period=0.25, delay=delay, feed_forward=2.0,
    )  # fmt: skip
    model = femb.Model("hinge")
    model.add(femb.RigidBody("arm", 1.0, (2.0, 2.0, 2.0)))
    model.add(femb.Revolute("hinge", JointEnd("ground", axis=(0, 0, 1)), JointEnd("arm", axis=(0, 0, 1))))
    model.add(femb.JointMotor("motor", "hinge", force=0.0))
    model.add(pid)
    results = femb.simulate(model, duration=3.5, output_interval=0.01, rtol=1e-9, method="radau")
    acts = np.round((delay + 0.25 * np.arange(1, 13)) / 0.01).astype(int)
    wanted = [profile.derivatives(t)[1] for t in results.time[acts]]
    rates = results.joints["hinge"].rates[acts, 0]
    start = profile.derivatives(delay)[1]  # before the first command acts the hinge is at rest
    np.testing.assert_allclose(rates, np.array(wanted) - start, atol=1e-9)


def continuous(tau=0.2, **words):
    """tau x' = -K_p turn - K_d rate - x, the torque about z is x."""
    return femb.LinearController(
        "law", A=[[-1.0 / tau]], B=[[-K_P / tau, -K_D / tau]], C=[[1.0]],
        inputs=("bodies.hub.turn.z", "bodies.hub.angular_velocity.z"), outputs=("wheels.w.torque",), **words,
    )  # fmt: skip


def wheel_rotor(*items, **words):
    return rotor(femb.ReactionWheel("w", body="hub", axis=(0, 0, -1.0), spin_inertia=0.1), *items, **words)


def exact(tau, times, rate):
    """Angle, rate, x of the continuous loop, linear for small angles; the wheel takes its own inertia from the hub."""
    own = J - 0.1
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0 / own], [-K_P / tau, -K_D / tau, -1.0 / tau]])
    return np.array([expm(A * t) @ [0.0, rate, 0.0] for t in times])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "bdf", "generalized-alpha", "rk"])
def test_a_continuous_law_follows_its_linear_model(method):
    tolerances = {"quaternion": 1e-12, "time": 1.0}
    words = {"method": method, "rtol": 1e-9 if method in ("radau", "rk") else 1e-7, "atol": tolerances}
    results = femb.simulate(wheel_rotor(continuous(), rate=1e-4), duration=4.0, output_interval=0.5, **words)
    wanted = exact(0.2, results.time, 1e-4)
    scale = 1e-4 * (1e-6 if method in ("radau", "rk") else 1e-3)
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[:, 2], wanted[:, 1], atol=scale)
    np.testing.assert_allclose(results.controllers["law"].state[:, 0], wanted[:, 2], atol=10.0 * scale)


@pytest.mark.slow
def test_stiff_filters_cost_no_steps():
    """Steps do not depend on the time constant of the filter."""
    counts = []
    for tau in (0.2, 2e-4, 2e-7):
        words = {"method": "radau", "rtol": 1e-6, "output_interval": 5.0}
        results = femb.simulate(wheel_rotor(continuous(tau), rate=0.01), duration=20.0, **words)
        counts.append(results.statistics["steps"])
    # the first fraction of a second, in which x goes from zero to its value, is a transition of its own
    assert max(counts[1:]) <= counts[0] + 15


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "bdf", "generalized-alpha"])
@pytest.mark.parametrize("formulation", ["velocity", "quaternion", "reduced"])
def test_stiff_gains_cost_no_steps(formulation, method):
    """A body is held against a slow torque: the faster its law, the less it moves, and the fewer steps it needs.

    Newton's matrix has the law's derivatives by velocities and by positions, so that it converges at any step.
    """
    counts = []
    for bandwidth in (5.0, 50.0, 500.0):
        gains = {"proportional": J * bandwidth**2, "derivative": 1.4 * J * bandwidth, "period": None}
        slow = femb.Load("slow", body="hub", torque=(0.05, 0.02, 0.1), profile=femb.profiles.Sine(1.0, 0.05))
        words = {"duration": 60.0, "output_interval": 60.0, "rtol": 1e-6, "method": method, "formulation": formulation}
        found = femb.simulate(rotor(pd(**gains), slow, rate=0.0), **words).statistics
        counts.append(found["steps"])
        assert found["newton_iterations"] < 3.0 * (found["steps"] + found["rejected"])
    assert counts[2] <= counts[1] <= counts[0]


def spinning(law):
    """A turned and spinning body with a mast and a wheel under a law about z."""
    model = femb.Model("spinning")
    words = {"quaternion": (0.8, 0.2, -0.4, 0.4), "angular_velocity": (0.6, -0.4, 0.5)}
    hub = model.add(femb.RigidBody("hub", 10.0, (J, J, J), **words))
    section = femb.Section("tube", 1e-3, (2e-7, 1e-7), 3e-7, 2000.0, youngs_modulus=1e8, shear_modulus=4e7)
    start = hub.at((0.1, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    model.add(femb.Beam("mast", section=section, length=1.0, elements=2, start=start))
    model.add(femb.ReactionWheel("w", body="hub", axis=(0, 0, -1.0), spin_inertia=0.1))
    model.add(law)
    return model


SCHEDULE = femb.GainSchedule(
    over="bodies.hub.turn.z", at=(-1.0, 1.0), gains={"B": ([[-20.0, 9.0]], [[1.0, -50.0]]), "C": ([[1.0]], [[3.0]])}
)


@pytest.mark.parametrize("schedule", [None, SCHEDULE])
@pytest.mark.parametrize("formulation", ["velocity", "quaternion", "reduced", "reduced, sparse"])
def test_newtons_matrix_has_the_derivatives_of_a_law(formulation, schedule, monkeypatch):
    """What a law adds to mu M + C + K/mu, against differences of what it adds to the equations.

    Along x of the speeds, and x/mu of the coordinates, as in a step; at a state at which the law commands nothing.
    """
    if formulation == "reduced, sparse":
        monkeypatch.setattr("femb.formulations.reduced.form.DENSE", 0)
    mu, law, changes, products = 3.0, continuous(), [], []
    x = np.random.default_rng(3).standard_normal(100)
    acting = law if schedule is None else replace(law, B=None, C=None, schedule=schedule)
    for each in (acting, replace(law, B=[[0.0, 0.0]], C=[[0.0]])):
        form = make_formulation(System(spinning(each)), formulation.split(",")[0])
        q, v = form.q0, form.v0
        u, none = form.inputs_at(0.0, q, v)[None], np.zeros((1, form.n_c))
        y = x[: form.n_v].copy()
        if formulation == "quaternion":
            y = form.from_system(q, x[: form.system.n_v])[1]
            # the length of a quaternion stays one: 2 p.p' = 0
            for p in form.corotated_frames[0]:
                y[p : p + 4] -= q[p : p + 4] * (v[p : p + 4] @ y[p : p + 4]) / mu
        ahead = form.rates(q[None], y[None]) / mu

        def at(step, form=form, q=q, v=v, u=u, none=none, y=y, ahead=ahead):
            return form.equations(u, q + step * ahead, v + step * y[None], np.zeros((1, form.n_v)), none)[0]

        changes.append((at(1e-4) - at(-1e-4)) / 2e-4)
        matrix = form.solver.shifted(*form.matrices(u[0], q, v, none[0]), mu)
        low_rank = isinstance(matrix, WithLowRank)
        assert low_rank == (formulation != "reduced")
        left, right = (matrix.left, matrix.right) if low_rank else (matrix, np.eye(len(matrix)))
        products.append(left[: len(y)] @ (right[: len(y)].T @ y))
    wanted, found = (changes[0] - changes[1])[: len(y)], products[0] - products[1]
    np.testing.assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())


def test_poles_of_a_continuous_law():
    model = femb.linearize(wheel_rotor(continuous(), rate=0.0))
    poles = model.eigenvalues()
    own = J - 0.1
    wanted = np.roots([0.2 * own, own, K_D, K_P])
    found = [poles[np.argmin(np.abs(poles - each))] for each in wanted]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


def hinged(*items, **words):
    """Two free bodies on a hinge through both mass centres; its axis is z of the one and -x of the other."""
    model = femb.Model("hinged", **words)
    model.add(femb.RigidBody("hub", 10.0, (J, J, J), angular_velocity=(0.02, -0.01, 0.03)))
    model.add(femb.RigidBody("drum", 2.0, (SPUN, SPUN, SPUN), quaternion=(np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)))
    model.add(femb.Revolute("axle", JointEnd("hub", axis=(0, 0, 1)), JointEnd("drum", axis=(-1, 0, 0)), rates=0.1))
    model.add(femb.JointMotor("drive", joint="axle", force=0.0))
    for item in items:
        model.add(item)
    return model


SPUN = 4.0
LAWS = {
    "body": (J, rotor, "bodies.hub.turn.z", "bodies.hub.angular_velocity.z", "loads.torquer.torque"),
    "hinge": (J * SPUN / (J + SPUN), hinged, "joints.axle.angle", "joints.axle.angle rate", "loads.drive.force"),
}


def driven(kind, tau=0.2, **words):
    """The model of a kind with a continuous law of one torque, and the inertia that it turns."""
    inertia, model, angle, rate, command = LAWS[kind]
    gains = np.array([[-K_P / tau, -K_D / tau]])
    # of the three torques of a load about the axes of its body the law sets the last
    C = np.array([[0.0], [0.0], [1.0]]) if kind == "body" else np.eye(1)
    law = femb.LinearController("law", A=[[-1.0 / tau]], B=gains, C=C, inputs=(angle, rate), outputs=(command,))
    return model(law, **words), inertia


@pytest.mark.parametrize("kind", LAWS)
def test_poles_of_continuous_laws_on_bodies_and_hinges(kind):
    model, inertia = driven(kind)
    poles = femb.linearize(model, at_rest=True).eigenvalues()
    wanted = np.roots([0.2 * inertia, inertia, K_D, K_P])
    found = [poles[np.argmin(np.abs(poles - each))] for each in wanted]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["velocity", "quaternion", "reduced"])
@pytest.mark.parametrize("kind", LAWS)
def test_continuous_laws_on_bodies_and_hinges(kind, formulation):
    """The motion about the axis is linear, of the body where it is small; the results have what the law commands."""
    rate = 1e-4 if kind == "body" else 0.1
    model, inertia = driven(kind, **({"rate": rate} if kind == "body" else {}))
    words = {"method": "radau", "rtol": 1e-9, "atol": {"quaternion": 1e-12, "time": 1.0}, "formulation": formulation}
    results = femb.simulate(model, duration=4.0, output_interval=0.5, **words)
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0 / inertia], [-K_P / 0.2, -K_D / 0.2, -1.0 / 0.2]])
    wanted = np.array([expm(A * t) @ [0.0, rate, 0.0] for t in results.time])
    x = results.controllers["law"].state[:, 0]
    np.testing.assert_allclose(x, wanted[:, 2], atol=1e-6 * rate)
    command = results.controllers["law"].output[:, -1]
    if kind == "body":
        np.testing.assert_allclose(results.loads["torquer"].torque[:, 2], command, atol=1e-15)
    else:
        np.testing.assert_allclose(results.joints["axle"].rates[:, 0], wanted[:, 1], atol=1e-7 * rate)
        np.testing.assert_allclose(results.loads["drive"].force, command, atol=1e-15)
        momentum = results.audit.angular_momentum
        np.testing.assert_allclose(momentum, momentum[[0]].repeat(len(momentum), axis=0), atol=1e-9)
    assert np.abs(results.audit.energy_error).max() < 1e-8


@pytest.mark.slow
def test_a_continuous_filter_of_an_accelerometer():
    """Equation (10) on a turning path, off the mass centre and in axes of its own, under gravity and a thrust."""
    inertia, at, thrust, g = np.array([3.0, 5.0, 4.0]), np.array([0.3, -0.2, 0.5]), np.array([4.0, -2.0, 1.0]), 9.81
    omega, axes, tau = np.array([0.9, 0.4, -0.7]), np.array([0.8, 0.6, 0.0, 0.0]), 0.3
    model = femb.Model("turning", gravity=(0.0, 0.0, -g))
    model.add(femb.RigidBody("hub", 2.0, tuple(inertia), velocity=(0.5, 0.0, -1.0), angular_velocity=tuple(omega)))
    model.add(femb.Load("thruster", body="hub", force=tuple(thrust), frame="body"))
    model.add(femb.Accelerometer("a", body="hub", at=tuple(at), axes=tuple(axes), period=0.5))
    start = np.array([1.0, -2.0, 0.5])
    A, B, C = -np.eye(3) / tau, np.eye(3) / tau, np.eye(3)
    model.add(femb.LinearController("f", A=A, B=B, C=C, inputs="sensors.a.true", state=tuple(start)))
    results = femb.simulate(model, duration=2.0, output_interval=0.25, rtol=1e-12, atol={"quaternion": 1e-14})
    own = rotations.rotation_matrix(axes).T

    def rates(t, y):
        w = y[:3]
        alpha = -np.cross(w, inertia * w) / inertia
        felt = thrust / 2.0 + np.cross(alpha, at) + np.cross(w, np.cross(w, at))
        return np.concatenate([alpha, (own @ felt - y[3:]) / tau])

    wanted = solve_ivp(
        rates, (0.0, 2.0), [*omega, *start], t_eval=results.time, rtol=1e-13, atol=1e-13, method="DOP853"
    )
    np.testing.assert_allclose(results.controllers["f"].state, wanted.y[3:].T, atol=1e-10)
    np.testing.assert_allclose(results.sensors["a"].true[-1], own @ felt_of(results, inertia, thrust, at), atol=1e-9)


def felt_of(results, inertia, thrust, at):
    """The specific force in axes of the hub at the last sample, which is at the end of the run less a period."""
    w = results.bodies["hub"].angular_velocity[-3]
    alpha = -np.cross(w, inertia * w) / inertia
    return thrust / 2.0 + np.cross(alpha, at) + np.cross(w, np.cross(w, at))


HUB, MODE = 1190.91, 882.09  # kg m2; 2073 in all, and a mode whose coupling is 29.7


def flexible_hub(*laws):
    """A hub and a rotor on a torsion spring about z; an accelerometer 1 m off the axis feels the hub's acceleration."""
    return of_parts(
        femb.RigidBody("hub", 10.0, (HUB, HUB, HUB)),
        femb.RigidBody("rotor", 10.0, (MODE, MODE, MODE)),
        femb.Revolute("flex", JointEnd("hub", axis=(0, 0, 1)), JointEnd("rotor", axis=(0, 0, 1))),
        femb.JointSpringDamper("spring", "flex", stiffness=2e3, damping=5.0),
        femb.JointMotor("drive", joint="flex", force=0.0),
        femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"),
        femb.Accelerometer("a", body="hub", at=(0.0, -1.0, 0.0), period=0.1),
        *laws,
    )


FEEDBACK = {"inputs": "sensors.a.true.x", "outputs": "loads.torquer.torque"}


def test_direct_feedback_of_an_acceleration_is_refused():
    """u = -k a makes the mass singular at k = -1190.91: what the hub's acceleration has at once of its torque."""
    model = femb.linearize(flexible_hub(), inputs=["bodies.hub.torque.z"], outputs=["sensors.a.true.x"])
    at_once = model.D.item()
    assert np.isclose(-1.0 / at_once, -1190.91, rtol=1e-12)
    with pytest.raises(ModelError, match=r"controllers\.law: sets its commands by 'sensors\.a\.true\.x' at once"):
        System(flexible_hub(femb.LinearController("law", D=[[0.0], [0.0], [500.0]], **FEEDBACK)))


@pytest.mark.slow
def test_a_continuous_loop_on_an_accelerometer():
    """Poles, margins and motion of the torque -k a behind a low-pass beside matrices written down for it."""
    k, w = 400.0, 3.0
    A, B, C = [[0.0, 1.0], [-w * w, -1.4 * w]], [[0.0], [w * w]], [[0.0, 0.0], [0.0, 0.0], [-k, 0.0]]
    model = flexible_hub(femb.LinearController("law", A=A, B=B, C=C, **FEEDBACK))
    # turn of the hub and of the rotor beside it, their rates, and the filter x of the hub's acceleration a
    M, K = np.array([[HUB + MODE, MODE], [MODE, MODE]]), np.diag([0.0, 2e3])
    damping = np.diag([0.0, 5.0])
    inverse = np.linalg.inv(M)
    plant = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ K, -inverse @ damping]])
    torque = np.concatenate([np.zeros(2), inverse[:, 0]])
    whole = np.zeros((6, 6))
    whole[:4, :4], whole[:4, 4], whole[4, 5] = plant, -k * torque, 1.0
    whole[5, :4], whole[5, 4:] = w * w * plant[2], (-w * w - w * w * k * inverse[0, 0], -1.4 * w)
    wanted = np.linalg.eigvals(whole)
    poles = femb.linearize(model, at_rest=True).eigenvalues()
    for each in wanted[np.abs(wanted) > 1e-6]:
        assert np.abs(poles - each).min() < 1e-8, each
    loop = femb.loop(model, at_rest=True)
    for each in wanted[np.abs(wanted) > 1e-6]:
        assert np.abs(loop.poles() - each).min() < 1e-8, each
    margin = next(each for each in loop.margins() if each.channel == "loads.torquer.torque.2")
    frequencies = np.linspace(0.5, 8.0, 20001)
    motion = np.linalg.solve(1j * frequencies[:, None, None] * np.eye(4) - plant, torque[:, None])[..., 0]
    low_pass = w * w / (w * w - frequencies**2 + 1.4j * w * frequencies)
    L = k * low_pass * (motion @ plant[2] + torque[2])
    assert np.isclose(margin.distance, np.abs(1.0 + L).min(), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("torques", ["slow", "without order"])
def test_jumps_of_held_commands_leave_methods_their_order(torques):
    """A hub with vibrations of 0.25 and 1.6 Hz under a torque that jumps every 0.1 s, beside exponentials of matrices.

    Steps of a slow torque, as a law commands them, leave 1.4e-5 of the largest rate with one step of radau a period,
    those without any order, which ring all vibrations, 5e-4; twice as many steps leave a 32nd part of it. Of
    generalized-alpha eight steps leave a quarter of what four do.
    """
    slow = torques == "slow"
    torques = np.sin(0.03 * np.arange(60)) if slow else np.random.default_rng(5).standard_normal(60)
    model = rotor(rate=0.0)
    law = femb.SampledController(
        "sequence", lambda t, y, x: [0.0, 0.0, torques[min(round(t / 0.1), 59)]], inputs="bodies.hub.turn.z",
        outputs=("loads.torquer.torque",), period=0.1,
    )  # fmt: skip
    inertias, stiffnesses = np.array([4.0, 1.0]), []
    for k, (inertia, frequency) in enumerate(zip(inertias, (0.25, 1.6), strict=True)):
        stiffnesses.append(inertia * (2.0 * np.pi * frequency) ** 2)
        model.add(femb.RigidBody(f"rotor {k}", 1.0, (inertia,) * 3))
        ends = JointEnd("hub", axis=(0, 0, 1)), JointEnd(f"rotor {k}", axis=(0, 0, 1))
        model.add(femb.Revolute(f"flex {k}", *ends))
        model.add(femb.JointSpringDamper(f"spring {k}", f"flex {k}", stiffness=stiffnesses[-1], damping=0.0))
    model.add(law)
    M = np.diag([J + inertias.sum(), *inertias])
    M[0, 1:] = M[1:, 0] = inertias
    block = np.zeros((7, 7))
    block[:3, 3:6] = np.eye(3)
    block[3:6, :3] = -np.linalg.solve(M, np.diag([0.0, *stiffnesses]))
    block[3:6, 6] = np.linalg.solve(M, [1.0, 0.0, 0.0])
    step, x, wanted = expm(0.1 * block), np.zeros(7), [0.0]
    for torque in torques:
        x[6] = torque
        x = step @ x
        wanted.append(x[3])

    def error(count, **words):
        results = femb.simulate(model, duration=6.0, output_interval=0.1, **words)
        assert results.statistics["steps"] == 60 * count
        return np.abs(results.bodies["hub"].angular_velocity[:, 2] - wanted).max() / np.abs(wanted).max()

    words = {"method": "radau", "rtol": 1e-3, "atol": {"quaternion": 1e-2}, "first_step": 0.1}
    one, two, four = (error(count, max_step=0.1 / count, **words) for count in (1, 2, 4))
    assert one < (1.4e-5 if slow else 1e-3)
    assert 24.0 < one / two < 40.0
    assert 24.0 < two / four < 40.0
    words = {"method": "generalized-alpha", "spectral_radius": 0.8, "rtol": 1e-9}
    four, eight = (error(count, step=0.1 / count, **words) for count in (4, 8))
    assert eight < (1.4e-4 if slow else 5e-3)
    assert 3.5 < four / eight < 4.5


def test_forces_of_unit_commands_are_those_of_held_ones():
    """Of torques at turned sections, and of a motor, at any state: the same whether a law is sampled or continuous."""
    section = stiff(1e4, 5.0, (10.0, 20.0), 1.0, (0.02, 0.01, 0.01))
    torque = {"inputs": "bodies.hub.angular_velocity", "outputs": "loads.tip.torque", "period": 0.1}
    model = hinged(femb.SampledController("own", lambda t, y, x: -y, **torque), pd_of_hinge())
    start = femb.Attachment("hub", at=(1.0, 0.0, 0.0), direction=(1.0, 1.0, 0.0))
    model.add(femb.Beam("boom", section, length=2.0, elements=2, start=start))
    model.add(femb.Load("tip", beam="boom", node=1, torque=(0.0, 0.0, 0.0), frame="body"))
    system = System(model)
    rng = np.random.default_rng(4)
    v = rng.normal(size=system.n_v)
    compared = 0
    for name, item in (("tip.torque", model.loads["tip"]), ("drive.force", model.loads["drive"])):
        (command,) = item.commands(system.layout).values()
        for batch in system.batches:
            ends = batch.first_input + np.cumsum([0, *(each.width for each in batch.inputs)])
            places = {each.array: first for each, first in zip(batch.inputs, ends[:-1].tolist(), strict=True)}
            if f"loads.{name}_command" not in places:
                continue
            for k, column in enumerate(command.columns):
                u, force = np.zeros((1, ends[-1] + 9)), np.zeros((1, system.n_v))
                u[0, places[f"loads.{name}_command"] + k] = 1.0
                Alone(system, batch).nonconservative_force(u, system.q0[None], v[None], force)
                np.testing.assert_allclose(force[0], column, atol=1e-12)
                compared += 1
    assert compared == 4


def pd_of_hinge():
    words = {
        "input": "joints.axle.angle", "rate": "joints.axle.angle rate", "proportional": K_P, "derivative": K_D,
        "period": 0.1,
    }  # fmt: skip
    return femb.PDController("hinge", outputs=("loads.drive.force",), **words)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LAWS)
def test_continuous_commands_are_clipped(kind):
    """A law without states at its limit turns the body with constant acceleration."""
    inertia, model, angle, rate, command = LAWS[kind]
    D = np.vstack([*[[0.0, 0.0]] * (2 if kind == "body" else 0), [-K_P, -K_D]])
    law = femb.LinearController("law", D=D, inputs=(angle, rate), outputs=(command,))
    limited = model(law)
    name, word = ("torquer", "max_torque") if kind == "body" else ("drive", "max_force")
    limited.tables["loads"][name] = replace(limited.tables["loads"][name], **{word: 0.3})
    results = femb.simulate(limited, duration=6.0, output_interval=0.1, method="radau", rtol=1e-9)

    def equations(t, x):
        turn = 2.0 * np.sin(0.5 * x[0]) if kind == "body" else x[0]
        return [x[1], np.clip(-K_P * turn - K_D * x[1], -0.3, 0.3) / inertia]

    wanted = solve_ivp(equations, (0.0, 6.0), [0.0, 0.1], t_eval=results.time, rtol=1e-10, atol=1e-12, max_step=0.01)
    if kind == "body":
        found, given = results.bodies["hub"].angular_velocity[:, 2], results.loads["torquer"].torque[:, 2]
    else:
        found, given = results.joints["axle"].rates[:, 0], results.loads["drive"].force
    np.testing.assert_allclose(found, wanted.y[1], atol=1e-5)
    assert np.isclose(np.abs(given).max(), 0.3, rtol=1e-12)
    assert np.count_nonzero(np.isclose(np.abs(given), 0.3)) > 5


def test_a_filter_before_a_law():
    """A sampled low-pass: the law reads its output of the same instant."""
    low = femb.FilterController("low", input="bodies.hub.angular_velocity", frequency=2.0, period=0.1)
    law = femb.SampledController(
        "law", lambda t, y, x: -3.0 * y, inputs="controllers.low", outputs=("loads.torquer.torque",), period=0.1,
    )  # fmt: skip
    results = {}
    for items in ((low, law), (law, low)):
        model = rotor(*items)
        results[items] = femb.simulate(model, duration=2.0, output_interval=0.1, rtol=1e-9).controllers["law"].output
    first, second = results.values()
    np.testing.assert_array_equal(first, second)
    realisation = low.realisation(1)
    x, omega, torque = np.zeros((2, 1)), 0.1, []
    for _ in range(19):
        y = realisation.C @ x + realisation.D * omega
        torque.append(-3.0 * y.item())
        x = realisation.A @ x + realisation.B * omega
        omega += 0.1 * torque[-1] / J
    np.testing.assert_allclose(first[1:-1, 2], torque, atol=1e-9)


def law(function, **words):
    given = {"inputs": ("bodies.hub.angular_velocity",), "outputs": ("loads.torquer.torque",), "period": 0.1} | words
    return femb.SampledController("own", function, **given)


def remembering(t, y, x, memory=[0.0]):  # noqa: B006
    memory[0] += 1.0
    return [0.0, 0.0, memory[0]]


def changing(t, y, x):
    y *= 2.0
    return y


def failing(t, y, x):
    if t > 3.65:
        raise RuntimeError("lost")
    return 0.0 * y


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (remembering, "controllers.own: sample 0, t = 0 s: gave .* it remembers, or draws random numbers"),
        (lambda t, y, x: np.random.default_rng().standard_normal(3), "it remembers, or draws"),
        (changing, "changes its arguments"),
        (failing, "controllers.own: sample 37, t = 3.7 s: raised RuntimeError: lost"),
        (lambda t, y, x: y * (np.nan if t > 3.65 else 0.0), "sample 37, t = 3.7 s: commands: .* not finite"),
        (lambda t, y, x: y[:2] if t > 3.65 else y, "sample 37, t = 3.7 s: commands: got .*, wanted 3 numbers"),
    ],
)
def test_functions_that_fail_are_named(function, message):
    with pytest.raises(SolveError, match=message) as raised:
        femb.simulate(rotor(law(function)), duration=6.0, output_interval=0.1)
    if "37" in message:
        assert raised.value.results.time[-1] == pytest.approx(3.7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rotor(pd(outputs=("loads.torqer.torque",))), "did you mean 'loads.torquer.torque'"),
        (lambda: rotor(pd(), law(lambda t, y, x: y)), "sets 'loads.torquer.torque', which controllers.* sets too"),
        (lambda: rotor(law(lambda t, y, x: y, inputs=("sensors.gyro",))), "reads 'sensors.gyro', but there is no such"),
        (lambda: rotor(law(lambda t, y, x: y, inputs=("bodies.hob.turn",))), "did you mean 'bodies.hub.turn'"),
        (lambda: law(None), "got none, wanted one of function and python"),
        (lambda: law(lambda t, y, x: y, period=0.0), "period: .* greater than 0"),
        (lambda: pd(delay=-1.0), "delay: .* at least 0"),
        (lambda: pd(period=None, delay=0.1), "a continuous controller has none"),
        (lambda: pd(wheels=("w",)), "give wheels or outputs"),
        (lambda: pd(bandwidth=1.0), "given beside 'bandwidth'"),
        (
            lambda: rotor(
                femb.FilterController("a", input="controllers.b", frequency=1.0, period=0.1),
                femb.FilterController("b", input="controllers.a", frequency=1.0, period=0.1),
            ),
            "is in a ring of controllers that read each other: (a|b) -> (a|b)",
        ),
        (lambda: rotor(femb.Gyro("g", body="hub")), "sensors.g.period: is missing: no controller reads this sensor"),
        (
            lambda: wheel_rotor(
                femb.Gyro("g", body="hub"),
                femb.LinearController("c", D=[[1.0]], inputs=("sensors.g.x",), outputs=("wheels.w.torque",)),
            ),
            "the controller that reads this sensor is continuous",
        ),
        (
            lambda: wheel_rotor(
                femb.LinearController("c", D=[[1.0, 2.0]], inputs=("bodies.hub.turn.x",), outputs=("wheels.w.torque",))
            ),
            "its matrices have 2 inputs",
        ),
        (lambda: femb.LinearController("c", A=[[1.0]], B=[[1.0, 2.0]], C=[[1.0], [2.0]], D=[[1.0]]), "wanted .2, 2."),
        *(
            (
                lambda name=name: rotor(
                    femb.Load("pull", body="hub", force=(0.0, 0.0, 0.0), frame="body"),
                    femb.Load("fixed", body="hub", torque=(0.0, 0.0, 0.0)),
                    femb.LinearController("c", D=np.eye(3), inputs=("bodies.hub.turn",), outputs=(name,)),
                ),
                f"sets '{name}', which takes sampled commands only: give the controller a period; continuous ones set",
            )
            for name in ("loads.pull.force", "loads.fixed.torque")
        ),
    ],
)
def test_messages(make, message):
    refuses(message, lambda: femb.simulate(make(), duration=1.0))


def test_code_in_a_case_file_runs_only_if_it_is_allowed(tmp_path, monkeypatch):
    monkeypatch.delenv("FEMB_ALLOW_CODE", raising=False)
    (tmp_path / "law.py").write_text("""
from pathlib import Path
Path(__file__).with_name("ran").touch()

def law(t, y, x):
    return -9.0 * y, x
""")
    case = tmp_path / "case.toml"
    case.write_text("""
[bodies.hub]
mass = 10.0
inertia = [10.0, 10.0, 10.0]
angular_velocity = [0.0, 0.0, 0.1]

[loads.torquer]
body = "hub"
torque = [0.0, 0.0, 0.0]
frame = "body"

[controllers.own]
kind = "python"
python = "law.py:law"
inputs = ["bodies.hub.angular_velocity"]
outputs = ["loads.torquer.torque"]
period = 0.1

[run]
duration = 0.3
output_interval = 0.1
""")
    refusal = "case.toml:14: controllers.own.python: is code in Python, which runs only if you allow it"
    refuses(refusal, femb.load_case, case)
    assert refusal in said("run", case, "--out", tmp_path / "r.h5", code=2)
    assert not (tmp_path / "ran").exists()
    allowed = femb.load_case(case, allow_code=True)
    results = femb.simulate(allowed.model, allowed.run)
    assert (tmp_path / "ran").exists()
    rates = 0.1 * (1.0 - 0.1 * 9.0 / 10.0) ** np.arange(4)
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[:, 2], rates, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        {"method": "gauss", "step": 0.03},
        {"method": "gauss", "step": 0.03, "formulation": "hamiltonian"},
        {"method": "rk", "formulation": "hamiltonian"},
    ],
)
@pytest.mark.parametrize("delay", [0.0, 0.035, 0.22])
def test_fixed_steps_and_momenta_land_on_samples(words, delay):
    """Steps of 0.03 s do not divide the period of 0.1 s: those before a sample or an action are shorter."""
    wanted = double_integrator(0.1, 20, delay, 0.1)[:, 1]
    results = femb.simulate(rotor(pd(delay=delay)), duration=2.0, output_interval=0.1, rtol=1e-9, **words)
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[:, 2], wanted, atol=1e-11)


@pytest.mark.parametrize("law", [continuous, lambda: pd(attitude="bodies.hub", outputs=("loads.torquer.torque",))])
def test_momenta_refuse_states_of_first_order_by_name(law):
    """A wheel and a continuous law have unknowns of their own."""
    with pytest.raises(ModelError, match=r"'hamiltonian' is for trees of rigid bodies: wheels\.w has an unknown"):
        femb.simulate(wheel_rotor(law()), duration=1.0, formulation="hamiltonian", method="rk")


def everything_in_a_loop():
    """Two sampled laws, one after a filter, with delays, limits, a wheel and a load, a sensor with noise."""
    model = rotor(angle=0.4)
    model.add(femb.ReactionWheel("w", body="hub", **SPIN, max_torque=0.05, torque=0.01))
    model.add(femb.Gyro("gyro", body="hub", angle_random_walk=1e-4))
    model.add(femb.FilterController("soft", "sensors.gyro", frequency=8.0, period=0.1))
    words = {"inputs": ("controllers.soft.z",), "outputs": ("wheels.w.torque",), "period": 0.1, "delay": 0.17}
    model.add(femb.LinearController("wheel", A=[[0.5]], B=[[0.1]], C=[[1.0]], D=[[3.0]], **words))
    outputs = ("loads.torquer.torque",)
    words = {"attitude": "bodies.hub", "rate": "bodies.hub", "outputs": outputs, "period": 0.05, "tracking_time": 1.0}
    model.add(femb.PIDController("pid", proportional=4.0, derivative=9.0, integral=0.3, **words))
    return model


@pytest.mark.skipif(not AVAILABLE, reason="kernels have no entries in this version of numba")
def test_samples_of_one_call_are_those_of_python_to_the_last_bit(monkeypatch):
    options = {"duration": 4.0, "output_interval": 0.1, "rtol": 1e-8, "method": "radau"}
    calls, changed = [], BoundUpdates.changed

    def counted(self, *args):
        result = changed(self, *args)
        calls.append(result is not None)
        return result

    monkeypatch.setattr(BoundUpdates, "changed", counted)
    one = femb.simulate(everything_in_a_loop(), **options)
    assert all(calls)
    assert len(calls) > 100
    monkeypatch.setattr("femb.run.time_loop.AVAILABLE", False)
    other = femb.simulate(everything_in_a_loop(), **options)
    assert one.wheels["w"].clips[-1] > 3
    assert one.arrays.keys() == other.arrays.keys()
    for path, values in one.arrays.items():
        np.testing.assert_array_equal(values, other.arrays[path], err_msg=path)


@pytest.mark.slow
def test_a_killed_run_goes_on_bitwise(tmp_path):
    """With noise, a delay and a queue: two parts and the whole are equal to the last bit."""

    def model():
        gyro = femb.Gyro("gyro", body="hub", angle_random_walk=1e-3, rate_random_walk=1e-4, delay=0.03)
        return rotor(gyro, pd(rate="sensors.gyro", delay=0.25), femb.Encoder("e", joint="axle", period=0.07), axle())

    def axle():
        return femb.Revolute("axle", JointEnd(body="ground", axis=(0, 0, 1.0)), JointEnd(body="hub"))

    # by default the first step depends on the duration
    words = {"output_interval": 0.1, "method": "radau", "rtol": 1e-8, "first_step": 0.01}
    whole = femb.simulate(model(), duration=6.0, **words)
    path = tmp_path / "r.h5"
    femb.simulate(model(), duration=2.5, out=path, **words)
    second = femb.simulate(model(), duration=2.5, out=path, extend=3.5, **words)
    np.testing.assert_array_equal(second.bodies["hub"].angular_velocity, whole.bodies["hub"].angular_velocity)
    np.testing.assert_array_equal(second.sensors["gyro"].value, whole.sensors["gyro"].value)


def test_axes_of_sensors_change_nothing():
    """A tracker and a gyro that are turned in the body: the law takes their values in axes of the body."""
    axes, outputs = (0.8, 0.1, -0.5, 0.2), []
    for words in ({}, {"axes": axes}):
        sensors = femb.AttitudeSensor("t", body="hub", **words), femb.Gyro("g", body="hub", **words)
        model = rotor(*sensors, pd(attitude="sensors.t", rate="sensors.g", bandwidth=0.5, **NO_GAINS), angle=0.3)
        outputs.append(femb.simulate(model, duration=2.0, output_interval=0.1, rtol=1e-9).controllers["pd"].output)
    np.testing.assert_allclose(outputs[0], outputs[1], atol=1e-12)


NO_GAINS = {"proportional": None, "derivative": None}


def test_inertia_of_gains_is_in_the_axes_of_the_body():
    """A body with three inertias that starts turned takes the gains of its own axes."""
    outputs = []
    for words in (
        {"bandwidth": 0.5, "damping_ratio": 0.8},
        {"proportional": (0.75, 1.0, 1.25), "derivative": (2.4, 3.2, 4.0)},
    ):
        model = femb.Model()
        model.add(femb.RigidBody("hub", 1.0, (3.0, 4.0, 5.0), quaternion=(0.1, 0.7, 0.1, 0.7)))
        model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
        model.add(pd(**(NO_GAINS | words)))
        outputs.append(femb.simulate(model, duration=2.0, output_interval=0.1, rtol=1e-9).controllers["pd"].output)
    np.testing.assert_allclose(outputs[0], outputs[1], atol=1e-8)
    assert np.abs(outputs[0]).max() > 0.5


def test_clipped_commands_of_loads_and_motors_are_counted():
    model = femb.Model()
    model.add(femb.RigidBody("hub", 1.0, (3.0, 4.0, 5.0), angular_velocity=(0.0, 0.0, 1.0)))
    model.add(femb.RigidBody("arm", 1.0, (3.0, 4.0, 5.0)))
    model.add(femb.Revolute("hinge", femb.JointEnd("hub", axis=(0, 0, 1)), femb.JointEnd("arm", axis=(0, 0, 1))))
    model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body", max_torque=0.01))
    model.add(femb.JointMotor("motor", joint="hinge", force=0.0, max_force=10.0))
    model.add(pd())
    law = {"input": "joints.hinge.angle", "outputs": ("loads.motor.force",), "proportional": 0.1}
    model.add(femb.PDController("hinge", period=0.1, **law))
    loads = femb.simulate(model, duration=0.5, output_interval=0.1).loads
    # outputs are before the samples at their instants
    assert loads["torquer"].torque_clips.tolist() == [0, 1, 2, 3, 4, 5]
    assert loads["motor"].force_clips.tolist() == [0] * 6


@pytest.mark.parametrize("period", [0.1, None])
def test_locked_inertia_gives_gains(period):
    results = []
    for words in ({"bandwidth": 0.5, "damping_ratio": 0.8}, {"proportional": 0.25 * J, "derivative": 0.8 * J}):
        given = {"proportional": None, "derivative": None, "period": period} | words
        results.append(femb.simulate(rotor(pd(**given)), duration=2.0, output_interval=0.1).controllers["pd"].output)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_motor_of_a_joint_by_a_pid():
    """A hinge follows its setpoint without an error that stays; the motor's torque is that of the law."""
    model = femb.Model()
    model.add(femb.RigidBody("arm", 2.0, (1.0, 1.0, 1.0)))
    model.add(femb.Revolute("hinge", JointEnd(body="ground", axis=(0, 0, 1.0)), JointEnd(body="arm")))
    model.add(femb.JointSpringDamper("spring", joint="hinge", stiffness=0.5))
    model.add(femb.JointMotor("motor", joint="hinge", force=0.0, max_force=5.0))
    setpoint = femb.profiles.SmoothStep(duration=2.0, after=0.4)
    model.add(
        femb.PIDController(
            "pid", input="joints.hinge.angle", rate="joints.hinge.angle rate", setpoint=setpoint, proportional=20.0,
            derivative=10.0, integral=10.0, outputs=("loads.motor.force",), period=0.02,
        )
    )  # fmt: skip
    results = femb.simulate(model, duration=15.0, output_interval=0.1)
    assert results.joints["hinge"].coordinates[-1, 0] == pytest.approx(0.4, abs=1e-4)
    assert results.loads["motor"].force[-1] == pytest.approx(0.2, abs=1e-3)


def test_a_static_law_can_be_replaced():
    law = femb.LinearController("law", D=[[1.0]], inputs="bodies.hub.turn.x", outputs="wheels.w.torque", period=0.1)
    other = replace(law, period=0.2)
    assert other.period == 0.2
    assert other.A is None
    np.testing.assert_array_equal(other.realisation.D, [[1.0]])


def test_check_names_fast_vibrations_and_loose_tolerances():
    """Half the rate of the samples against the first bending of a beam, the tolerance of rates against a gyro."""
    gyro = femb.Gyro("gyro", body="hub", angle_random_walk=1e-7)
    model = rotor(gyro, pd(rate="sensors.gyro", period=0.5))
    tube = stiff(1e6, 1e3, (5e3, 5e3), 1.0, (2e-3, 1e-3, 1e-3), "tube")
    model.add(femb.Beam("boom", tube, 3.0, 2, start=femb.Attachment("hub", direction=(1.0, 0.0, 0.0))))
    found = overview(model, femb.Run(duration=1.0))
    second, first = found.advice
    assert "controllers.pd samples at 2 Hz: the first bending of beams.boom, 4" in first
    assert "sensors.gyro is finer, 1.4e-07 rad/s a sample: atol = { time = 0.71 }" in second
    assert found.counts["controllers"] == 1
    assert "wheels" not in found.counts


@pytest.mark.parametrize("first", ["attitude", "rate"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_sampled_linear_law_of_an_attitude_and_a_rate(first, sign):
    """The turn of the quaternion q or -q, 2 q_v of positive q_0, in the order of its inputs: the commands are the gains
    by hand, and the hub comes to rest as under the pd law of the same gains."""
    start = sign * rotations.normalise(np.array([0.9, 0.15, -0.3, 0.25]))
    inputs = {"attitude": "bodies.hub.attitude", "rate": "bodies.hub.angular_velocity"}
    gains = {"attitude": np.diag([4.0, 5.0, 6.0]), "rate": np.diag([9.0, 10.0, 11.0])}
    words = {"outputs": ("loads.torquer.torque",), "period": 0.1}
    order = ["attitude", "rate"] if first == "attitude" else ["rate", "attitude"]
    D = -np.hstack([gains[each] for each in order])
    linear = femb.LinearController("law", D=D, inputs=tuple(inputs[each] for each in order), **words)
    attitude, rate = "bodies.hub", "bodies.hub"
    both = {"proportional": (4.0, 5.0, 6.0), "derivative": (9.0, 10.0, 11.0)}
    runs = []
    for law in (linear, femb.PDController("law", attitude=attitude, rate=rate, **both, **words)):
        model = femb.Model("hub")
        model.add(femb.RigidBody("hub", 10.0, (J, J, J), quaternion=start, angular_velocity=(0.02, 0.05, -0.1)))
        model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
        model.add(law)
        runs.append(femb.simulate(model, duration=10.0, output_interval=0.05, rtol=1e-10))
    one, other = runs
    wanted = -gains["attitude"] @ (2.0 * sign * start[1:]) - gains["rate"] @ [0.02, 0.05, -0.1]
    np.testing.assert_allclose(one.controllers["law"].output[1], wanted, rtol=1e-12)
    np.testing.assert_allclose(one.controllers["law"].output, other.controllers["law"].output, atol=1e-9)
    np.testing.assert_allclose(one.bodies["hub"].quaternion, other.bodies["hub"].quaternion, atol=1e-9)
    assert np.linalg.norm(one.bodies["hub"].quaternion[-1, 1:]) < 0.05


def test_an_allocation_is_in_place_of_the_pseudoinverse():
    """One wheel along z: the default; its negative, which drives the body away, is said by check."""

    def wheeled(**words):
        model = rotor(femb.ReactionWheel("w", body="hub", **SPIN))
        model.add(pd(outputs=(), wheels=("w",), **words))
        return model

    growths = [femb.loop(wheeled(**words)).growth() for words in ({}, {"allocation": [[0.0, 0.0, 1.0]]})]
    assert growths[0] == pytest.approx(growths[1], rel=1e-9)
    assert growths[0] <= 0.0
    turned = wheeled(allocation=[[0.0, 0.0, -1.0]])
    assert femb.loop(turned).growth() > 0.0
    assert "controllers.pd: its allocation gives -1 of the torque that is asked for about z" in str(overview(turned))


def test_a_name_without_its_table_gets_that_of_its_item():
    """Not the nearest of the quantities, which is another body's."""
    model = of_parts(
        femb.RigidBody("hub", 20.0, 2.0), femb.RigidBody("panel", 2.0, 2.0, position=(1, 0, 0)),
        femb.AttitudeSensor("att", body="hub", period=0.1), femb.Load("act", body="hub", torque=(0, 0, 0)),
        femb.PDController("pd", "att", rate="bodies.hub", bandwidth=1.0, outputs=["loads.act.torque"], period=0.1),
    )  # fmt: skip
    refuses(r"reads 'att\.attitude', wanted TABLE.*; did you mean 'sensors\.att'\?$", System, model)
    misspelt = of_parts(*(replace(each, attitude="bodis.hub") if each.name == "pd" else each for each in model.items()))
    refuses(r"reads 'bodis\.hub\.attitude', wanted TABLE.*did you mean 'bodies\.hub\.attitude'", System, misspelt)
