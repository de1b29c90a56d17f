"""Pulls along the line between two points: tangent, momentum, closed forms, a column pulled towards its foot."""

import numpy as np
import pytest
from models import of_parts, refuses, stiff
from oracles.finite_differences import bodies, only, random_state, residual_change
from scipy.optimize import brentq

import femb
from femb.elements.spring.batch import PullBatch
from femb.profiles import Step
from femb.statics.equilibrium import steady_start
from femb.system.system import System


def at(body=None, point=(0.0, 0.0, 0.0), **words):
    return femb.SpringEnd(body=body, at=point, **words)


def test_tangent():
    model = bodies(
        femb.Pull("one", start=at("a", (0.3, -0.2, 0.1)), end=at("b", (0.1, 0.4, -0.5)), force=2.0),
        femb.Pull("two", start=at("b", (0.5, 0.2, 0.1)), end=femb.SpringEnd(anchor=(1.0, 2.0, 3.0)), force=-3.0),
        femb.Pull("three", start=at("p"), end=at("a", (0.1, 0.1, 0.1)), force=1.0),
    )
    system = only(model, PullBatch)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, v, a, _ = random_state(system, rng)
        u = system.inputs_at(0.0, q, v)
        damping, stiffness = (system.pattern.to_csc(data).toarray() for data in system.tangent(u, q, v, a))
        assert not damping.any()
        dx = rng.standard_normal(system.n_v)
        wanted = residual_change(system, q, v, a, u, dx, 0.0 * dx)
        np.testing.assert_allclose(stiffness @ dx, wanted, atol=1e-8 * np.abs(wanted).max())


def test_it_is_a_spring_of_constant_force():
    """The same motion as with a callable force, and momenta are kept."""

    def run(item):
        model = femb.Model()
        inertia = (0.2, 0.3, 0.25)
        for name, x in (("a", 0.0), ("b", 1.0)):
            model.add(femb.RigidBody(name, mass=1.0 + x, inertia=inertia, position=(x, 0, 0), moves_alone=True,
                                velocity=(0, x, 0)))  # fmt: skip
        model.add(item)
        return femb.simulate(model, duration=0.5, output_interval=0.1, rtol=1e-9)

    ends = {"start": at("a", (0.0, 0.1, 0.0)), "end": at("b", (0.0, 0.3, 0.2))}
    pull = run(femb.Pull("p", **ends, force=0.7))
    spring = run(femb.SpringDamper("p", **ends, force=lambda length, rate: 0.7))
    np.testing.assert_allclose(pull.bodies["b"].position, spring.bodies["b"].position, atol=1e-8)
    np.testing.assert_allclose(pull.bodies["b"].quaternion, spring.bodies["b"].quaternion, atol=1e-8)
    audit = pull.audit
    np.testing.assert_allclose(audit.linear_momentum - audit.linear_momentum[0], 0.0, atol=1e-9)
    np.testing.assert_allclose(audit.angular_momentum - audit.angular_momentum[0], 0.0, atol=1e-9)
    np.testing.assert_allclose(audit.energy_error, 0.0, atol=1e-8)
    assert abs(audit.work[-1]) > 1e-3


def test_work_is_force_times_path():
    """Hauled in along a line, against nothing, for a second of three: m v^2 / 2 = F s."""
    model = of_parts(
        femb.PointMass("m", mass=2.0, position=(5.0, 0, 0)),
        femb.Pull("winch", start=at("m"), end=femb.SpringEnd(anchor=(0, 0, 0)), force=3.0, profile=Step(1.0, 1.0)),
    )
    results = femb.simulate(model, duration=3.0, output_interval=0.5, rtol=1e-9)
    np.testing.assert_allclose(results.bodies["m"].velocity[-1], (-1.5, 0, 0), atol=1e-9)
    assert results.audit.work[-1] == pytest.approx(0.5 * 2.0 * 1.5**2, rel=1e-9)


def test_column_pulled_towards_its_foot():
    """A cable from the top of a clamped column to its foot buckles it at pi^2 EI / L^2, four times the load of a weight
    (Timoshenko and Gere, Theory of Elastic Stability, section 2.21)."""
    rod = stiff(1e7, 50.0, (40.0, 3.0), 0.7, (3e-5, 1e-5, 2e-5))

    def lowest(force):
        beam = femb.Beam("b", rod, 2.0, 8, start=femb.Ground().at(direction=(1, 0, 0)))
        model = of_parts(beam, femb.Pull("cable", start=beam.node(-1), end=femb.Ground().at((0, 0, 0)), force=force))
        system = System(model)
        q, v = steady_start(system)
        u = system.inputs_at(0.0, q, v)
        stiffness = system.pattern.to_csc(system.tangent(u, q, v, 0.0 * v)[1]).toarray()
        return np.min(np.linalg.eigvals(stiffness).real)

    exact = np.pi**2 * 3.0 / 2.0**2
    assert brentq(lowest, 0.5 * exact, 1.3 * exact, xtol=1e-4) == pytest.approx(exact, rel=1e-3)


def test_it_ends_where_the_points_meet():
    model = femb.Model()
    model.add(femb.PointMass("m", mass=1.0, position=(1.0, 0, 0)))
    model.add(femb.Pull("winch", start=at("m"), end=femb.SpringEnd(anchor=(0, 0, 0)), force=3.0))
    refuses(r"loads\.winch: its two ends meet", femb.simulate, model, duration=3.0, error=femb.SolveError)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"end": at("m", anchor=(0, 0, 0))}, r"loads\.p\.end\.anchor: got body and anchor"),
        ({"force": "much"}, r"loads\.p\.force: got 'much', wanted a number"),
        ({"end": at("m")}, r"loads\.p\.end: is fixed to the same frame"),
        ({"end": femb.SpringEnd(anchor=(1, 0, 0))}, r"loads\.p\.end: starts at the same point"),
        ({"end": at("n")}, r"loads\.p\.end\.body: got 'n', which is not in the model"),
    ],
)
def test_refused(words, message):
    model = femb.Model()
    model.add(femb.PointMass("m", mass=1.0, position=(1.0, 0, 0)))

    def build():
        model.add(femb.Pull("p", **{"start": at("m"), "end": femb.SpringEnd(anchor=(0, 0, 0)), "force": 1.0, **words}))
        System(model)

    refuses(message, build)
