"""A tenth of rtol gives a tenth of the error, from 1e-3 down to where rounding ends it, with default tolerances."""

import numpy as np
import pytest
from models import of_parts, slender
from scipy.special import ellipk
from steppers.test_steppers import free_body, jacobi

from femb import (
    Attachment,
    Beam,
    JointEnd,
    Load,
    Model,
    PointMass,
    Revolute,
    RigidBody,
    Run,
    Section,
    SolveError,
    SpringDamper,
    SpringEnd,
    Tolerances,
)
from femb.profiles import Sine
from femb.run.simulate import simulate
from femb.steppers import generalized_alpha, make_stepper
from femb.system.system import System

# By method: duration (s), short for low orders; order; and what rounding leaves of the angular velocity, whatever the
# tolerance: it gathers with the steps, and a Newton iteration that ends at rounding leaves more than an explicit step.
PROBLEMS = {
    "rk": (2.0, 8, 2e-14),
    "radau": (2.0, 5, 1e-11),
    "bdf": (0.5, 5, 2e-11),
    "generalized-alpha": (0.1, 2, 1e-10),
}
TOLERANCES = 10.0 ** -np.arange(3.0, 13.0)


def errors(name, tolerances):
    duration = PROBLEMS[name][0]
    wanted = jacobi(duration)
    found = []
    for rtol in tolerances:
        results = simulate(free_body(), duration=duration, output_interval=duration, rtol=rtol, method=name)
        found.append(np.max(np.abs(results.bodies["b"].angular_velocity[-1] - wanted)))
    return np.array(found)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_tenth_of_rtol(name):
    """The error falls with every power of ten, until it comes to the rounding of the method.

    With the tolerance of the error of a step, which is of order p + 1, the error over a time falls as rtol^(p/(p+1)).
    """
    found, (_, order, floor) = errors(name, TOLERANCES), PROBLEMS[name]
    resolved = found > floor
    assert np.all((found[1:] < 0.6 * found[:-1]) | ~resolved[1:] | (found[1:] < TOLERANCES[1:]))
    expected = order / (order + 1.0)
    assert np.all(found < 10.0 * TOLERANCES**expected + floor)
    slope = np.polyfit(np.log10(TOLERANCES[resolved]), np.log10(found[resolved]), 1)[0]
    assert slope > expected - 0.15


def oscillating(name, h):
    """A stepper that begins with h, of an oscillator of 5 rad/s."""
    model = Model("oscillator")
    model.add(PointMass("m", mass=2.0, position=(1.1, 0, 0), velocity=(0.4, 0, 0)))
    model.add(SpringDamper("s", SpringEnd(anchor=(0, 0, 0)), SpringEnd("m"), stiffness=50.0, free_length=1.0))
    return make_stepper(System(model), Run(duration=1.0, method=name, rtol=0.1, first_step=h, max_step=h))


def steps_of_oscillator(name, h, count):
    """Estimates and true errors (count, 2), both in the norm of the tolerances, of the first steps of the oscillator,
    each against the exact motion from its start."""
    stepper = oscillating(name, h)
    estimates, estimate = [], stepper._error
    stepper._error = lambda trial, h: estimates.append(estimate(trial, h)) or estimates[-1]
    found = []
    for _ in range(count):
        q, v = stepper.q.copy(), stepper.v.copy()
        end = stepper.step(stepper.t + h).end
        x = 1.0 + (q[0] - 1.0) * np.cos(5 * h) + v[0] / 5.0 * np.sin(5 * h)
        speed = 5.0 * (1.0 - q[0]) * np.sin(5 * h) + v[0] * np.cos(5 * h)
        found.append((estimates[-1], stepper._norm(stepper.q - [x, 0, 0], stepper.v - [speed, 0, 0], q, v)))
    assert len(estimates) == count
    assert end == pytest.approx(count * h)
    return np.array(found)


@pytest.mark.parametrize(
    ("name", "order", "least", "most"), [("generalized-alpha", 3, 1.0, 1.2), ("bdf", 2, 0.7, 0.8), ("radau", 4, 1, 1e6)]
)
def test_the_error_estimate_of_a_first_step(name, order, least, most, monkeypatch):
    """That of the method: nearly the error where both are of one order, and above it where the method is better."""
    monkeypatch.setattr(generalized_alpha, "WEIGHT_OF_VELOCITIES", 1.0)
    ((long, wrong),), ((short, less),) = (steps_of_oscillator(name, h, 1) for h in (0.025, 0.0125))
    assert least < long / wrong < most
    assert least < short / less < most
    assert np.log2(long / short) == pytest.approx(order, abs=0.15)


def test_the_error_estimate_of_generalized_alpha_is_its_local_error(monkeypatch):
    """Within a tenth, in steps over half a period; without the weight of velocities, which makes it larger."""
    monkeypatch.setattr(generalized_alpha, "WEIGHT_OF_VELOCITIES", 1.0)
    estimates, errors = steps_of_oscillator("generalized-alpha", 0.01, 60)[1:].T
    np.testing.assert_allclose(estimates, errors, rtol=0.1)


def test_the_estimate_of_radau_is_that_of_its_authors():
    """Of x'' = -25 (x - 1): (I - h J / u)^-1 (h f / u + e Z), with the real eigenvalue u of the inverse of A.

    Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8.
    """
    h, r = 0.05, np.sqrt(6.0)
    A = np.array([
        [(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225],
        [(296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225],
        [(16 - r) / 36, (16 + r) / 36, 1 / 9],
    ])  # fmt: skip
    J, y = np.array([[0.0, 1.0], [-25.0, 0.0]]), np.array([0.1, 0.4])
    Z = np.linalg.solve(np.eye(6) - h * np.kron(A, J), h * np.kron(A @ np.ones(3), J @ y)).reshape(3, 2)
    u = np.linalg.eigvals(np.linalg.inv(A))
    u = u[np.argmin(np.abs(u.imag))].real
    e = np.array([-13 - 7 * r, -13 + 7 * r, -1]) / (3.0 * u)
    wanted = np.linalg.solve(np.eye(2) - h * J / u, h * J @ y / u + e @ Z)
    stepper = oscillating("radau", h)
    stepper.step(1.0)
    np.testing.assert_allclose([stepper._error_q[0, 0], stepper.error_v[0]], wanted, rtol=1e-6)


def test_default_tolerances_follow_rtol():
    for rtol in TOLERANCES:
        assert Tolerances().values(rtol) == pytest.approx([0.1 * rtol] * 3)
    assert Tolerances().values(1e-14) == [1e-14] * 3
    assert Tolerances(position=1e-5).values(1e-9) == pytest.approx([1e-5, 1e-10, 1e-10])


def oscillation(size, method):
    """Steps and largest error, of the size, of a mass on a spring of this length (m)."""
    mass = 2.0 * size**3
    spring = SpringDamper("spring", SpringEnd("ground"), SpringEnd("mass"), mass * (2.0 * np.pi) ** 2, free_length=size)
    model = of_parts(PointMass("mass", mass, position=(1.3 * size, 0, 0)), spring)
    results = simulate(model, duration=2.0, output_interval=0.1, method=method)
    error = results.bodies["mass"].position[:, 0] / size - 1.0 - 0.3 * np.cos(2.0 * np.pi * results.time)
    return results.statistics["steps"], np.abs(error).max()


@pytest.mark.parametrize("method", PROBLEMS)
def test_a_small_model_is_followed_as_one_of_a_metre(method):
    """Of a micrometre 1e-7 m would be all of the motion."""
    steps, error = oscillation(1.0, method)
    for size in (1e-6, 1e-2):
        found = oscillation(size, method)
        assert found[0] == pytest.approx(steps, rel=0.15)
        assert found[1] == pytest.approx(error, rel=0.5)
    assert error < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "bdf"])
def test_a_structure_of_a_micrometre_takes_the_steps_of_one_of_a_metre(method):
    """Of one shape and material, whose waves take times in proportion to its size."""
    counts = []
    for size in (1.0, 1e-3, 1e-6):
        second = [8e-6 * size**4] * 2
        section = Section("bar", area=1e-2 * size**2, second_moments=second, torsion_constant=1.4e-5 * size**4,
                          density=7850.0, youngs_modulus=2e11, shear_modulus=8e10, damping=1e-3 * size)  # fmt: skip
        beam = Beam("bar", section, size, 2, start=Attachment("ground", direction=(1.0, 0.0, 0.0)))
        model = of_parts(beam, Load("push", beam="bar", force=(0.0, 3e4 * size**2, 0.0)))
        results = simulate(model, duration=0.1 * size, output_interval=0.05 * size, method=method)
        counts.append(results.statistics["steps"])
    assert counts[1:] == pytest.approx(counts[:1] * 2, rel=0.03)


def test_the_size_of_a_model_is_that_of_its_items():
    """Distances of frames or radii of gyration, wherever the model is; a metre of larger ones and where none is known.

    Bodies on a hinge of a satellite of 1 cm turn as those of one of 1 m in as many steps.
    """
    ball = RigidBody("ball", 2.0, 2.0 * 2.0 / 5.0 * 0.05**2, position=(300.0, 0.0, 0.0))
    assert System(of_parts(ball)).layout.length == pytest.approx(np.sqrt(0.6) * 0.05)
    ends = [PointMass(name, 1.0, position=(300.0, y, 0.0)) for name, y in (("a", 0.0), ("b", 0.02))]
    assert System(of_parts(*ends)).layout.length == pytest.approx(0.02)
    assert System(of_parts(ends[0])).layout.length == 1.0
    found = {}
    for size in (0.01, 1.0):
        mass = 100.0 * size**3
        inertia = mass * size**2 * np.array([0.2, 0.25, 0.3])
        hub = RigidBody("hub", mass, inertia, angular_velocity=(0.5, 2.0, 1.0))
        panel = RigidBody("panel", 0.2 * mass, 0.1 * inertia, position=(0.0, 1.2 * size, 0.0))
        axis = JointEnd("hub", at=(0.0, 0.5 * size, 0.0), axis=(1, 0, 0))
        hinge = Revolute("hinge", axis, JointEnd("panel", at=(0.0, -0.7 * size, 0.0)))
        results = simulate(of_parts(hub, panel, hinge), duration=5.0, output_interval=5.0)
        found[size] = results.statistics["steps"], results.bodies["panel"].quaternion[-1]
    assert found[0.01][0] == pytest.approx(found[1.0][0], rel=0.02)
    np.testing.assert_allclose(found[0.01][1], found[1.0][1], atol=1e-7)


def thrown(**options):
    model = of_parts(PointMass("m", mass=1.0, position=(0, 0, 1.0)), gravity=(0, 0, -9.81))
    return simulate(model, duration=0.1, **options)


def test_the_summary_says_what_limits_the_accuracy():
    assert thrown().message == ""
    assert thrown(rtol=1e-9).message == ""
    assert "atol.position = 1e-07 limits the accuracy" in thrown(rtol=1e-10, atol=Tolerances(position=1e-7)).message
    assert "rounding limits the accuracy" in thrown(rtol=1e-14).message
    # of a large structure it does not
    model = Model("large")
    model.add(PointMass("a", mass=1.0, position=(500.0, 0, 0)))
    model.add(PointMass("b", mass=1.0, position=(-500.0, 0, 0)))
    assert simulate(model, duration=0.1, rtol=1e-9, atol=Tolerances(position=1e-6)).message == ""
    # and fixed steps have none
    assert thrown(rtol=1e-14, method="rk", tableau="rk4", step=0.01).message == ""


def test_max_steps_by_default():
    """A million with error control; a fixed step says itself how many there are."""
    assert Run(1.0).most_steps == 1_000_000
    assert Run(1.0, max_steps=7).most_steps == 7
    assert Run(1.0, method="gauss", step=1e-9).most_steps == np.inf
    assert Run(1.0, method="rk", tableau="rk4", step=1e-9).most_steps == np.inf


def test_corrections_at_rounding_end_the_iteration():
    """With a tolerance that rounding hides, steps are as long as the motion admits, not ever shorter."""
    section = slender(damping=0.02, inertia_per_length=[2e-3, 1e-3, 1e-3])
    model = of_parts(
        RigidBody("hub", mass=5.0, inertia=(1.0, 1.0, 1.0)),
        Beam("boom", section, length=1.0, elements=2, start=Attachment("hub", direction=(1.0, 0.0, 0.0))),
        Load("wheel", body="hub", torque=(0.0, 1e-6, 0.0), frame="body", profile=Sine(1.0, 0.45)),
    )
    results = simulate(model, duration=2.0, output_interval=1.0, rtol=1e-7, atol=1e-14, method="radau")
    assert results.statistics["steps"] < 300
    assert results.statistics["rejected"] < 0.25 * results.statistics["steps"]


def test_a_tolerance_below_rounding_is_recognised_at_once():
    """A sagging cantilever 1 km from the origin: its strains have 13 digits, and steps that follow 11 of their rates
    follow rounding. With 8 it runs as at the origin."""

    def cantilever(x):
        section = Section("tube", shape={"tube": [0.05, 0.002]}, material="aluminium 6061-T6", damping=1e-4)
        start = Attachment("ground", at=(x, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
        return of_parts(Beam("b", section, 1.0, 4, start=start), gravity=(0.0, 0.0, -9.81))

    with pytest.raises(SolveError, match=r"last 1000 steps .* below the rounding of the forces.*rtol = 1e-10"):
        simulate(cantilever(1000.0), duration=5.0, rtol=1e-11, max_steps=20000)
    far, near = (simulate(cantilever(x), duration=1.0, rtol=1e-8).beams["b"].position[:, -1, 2] for x in (1000.0, 0.0))
    np.testing.assert_allclose(far, near, rtol=0.0, atol=5e-5 * np.ptp(near))


@pytest.mark.slow
def test_a_step_cut_to_nothing_names_a_tiny_inertia():
    """A pendulum of 1 kg on an arm of 1 m: a rounded inertia is named, a larger one swings as wanted."""

    def pendulum(inertia):
        model = Model(gravity=(0.0, 0.0, -9.81))
        body = model.add(RigidBody("bob", 1.0, inertia))
        model.add(Revolute("pin", JointEnd("ground", axis=(0, 1, 0)), body.at((0, 0, 1.0)), start=1.0))
        return model

    with pytest.raises(
        SolveError, match=r"'bob' has an inertia of 1e-12 kg m2, .* 1 m to joint 'pin', 1 kg m2.*sphere"
    ):
        simulate(pendulum(1e-12), duration=1.0)
    period = 4.0 * np.sqrt(1.0 / 9.81) * ellipk(np.sin(0.5) ** 2)
    results = simulate(pendulum(1e-6), duration=period, rtol=1e-9, output_interval=period)
    assert results.joints["pin"].coordinates[-1, 0] == pytest.approx(1.0, abs=1e-6)
