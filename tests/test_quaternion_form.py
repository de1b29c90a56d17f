"""The augmented form in quaternion coordinates against the velocity form."""

import numpy as np
import pytest

from femb import Beam, Load, Model, ModelError, RigidBody, Run, Section, Tolerances, simulate
from femb.formulations.quaternion import QuaternionForm
from femb.rotations import exponential, multiply, normalise, quaternion_rate, rate_body, rotate_back
from femb.system import System


def satellite(damping=1e-3, **changes):
    model = Model()
    values = {"mass": 5.0, "inertia": (0.3, 0.4, 0.5), "center_of_mass": (0.01, -0.02, 0.03), **changes}
    hub = model.add(RigidBody("hub", **values))
    boom = Section("s", area=1e-4, second_moments=(2e-8, 1e-8), torsion_constant=1e-8, density=2000.0,
                   youngs_modulus=1e8, shear_modulus=4e7, damping=damping)  # fmt: skip
    for name, x in (("right", 1.0), ("left", -1.0)):
        model.add(Beam(name, boom, 1.0, 2, start=hub.at((0.1 * x, 0, 0.05), direction=(x, 0.2, 0))))
    model.add(Load("push", beam="left", force=(0.1, 0.2, -0.1), torque=(0.0, 0.01, 0.02), frame="body"))
    return model


def deformed(system, rng):
    q = system.q0 + 0.05 * rng.standard_normal(system.n_q)
    for k in system.coordinates[2]:
        turn = exponential(0.4 * rng.standard_normal(3))
        q[k : k + 4] = multiply(system.q0[k : k + 4], turn)
    return q, rng.standard_normal(system.n_v)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_accelerations_as_the_velocity_form(seed):
    system = System(satellite())
    form = QuaternionForm(system)
    rng = np.random.default_rng(seed)
    q, v = deformed(system, rng)
    u = system.inputs_at(0.0, q, v)
    rate = system.rates(q[None], v[None])[0]
    second = form.acceleration(u, q, rate)
    wanted = system.acceleration(u, q, v)
    np.testing.assert_allclose(form.rate_map(q) @ second, wanted, atol=1e-12 * np.max(np.abs(wanted)))
    # and quaternions stay on the unit sphere: p.p'' = -p'.p'
    p, dp, ddp = (x[form._p] for x in (q, rate, second))
    np.testing.assert_allclose(np.sum(p * ddp, axis=1), -np.sum(dp * dp, axis=1), atol=1e-12 * np.max(np.abs(ddp)))


def test_the_printed_pair_of_rows_leaves_the_unit_sphere():
    """2 p^T with p'.p' makes the second rate of p.p equal p'.p' where it should vanish."""
    system = System(satellite())
    rng = np.random.default_rng(5)
    q, v = deformed(system, rng)
    u = system.inputs_at(0.0, q, v)
    rate = system.rates(q[None], v[None])[0]
    printed = QuaternionForm(system, consistent=False)
    second = printed.acceleration(u, q, rate)
    p, dp, ddp = (x[printed._p] for x in (q, rate, second))
    drift = 2.0 * np.sum(p * ddp + dp * dp, axis=1)
    np.testing.assert_allclose(drift, np.sum(dp * dp, axis=1), atol=1e-12 * np.max(np.abs(ddp)))


INERTIA = np.array([[2.0, 0.2, -0.1], [0.2, 1.5, 0.3], [-0.1, 0.3, 1.8]])


@pytest.mark.parametrize("seed", range(5))
def test_a_free_body_turns_by_eulers_equations(seed):
    """lambda_E = omega . J omega, twice the energy of rotation, whatever the velocity and a torque; the equations
    4 L^T J L p'' + 2 p lambda_E = 2 L^T torque + 8 L'^T J L' p hold with their own matrix."""
    model = Model()
    model.add(RigidBody("body", mass=2.0, inertia=INERTIA))
    model.add(Load("torque", body="body", torque=(0.3, -0.4, 0.5), frame="body"))
    form = QuaternionForm(System(model))
    rng = np.random.default_rng(seed)
    q = np.append(rng.standard_normal(3), normalise(rng.standard_normal(4)))
    omega, velocity = rng.standard_normal((2, 3))
    p, dp = q[3:], quaternion_rate(q[3:], omega)
    u = form.inputs_at(0.0, q, np.append(velocity, dp))
    second, (multiplier,) = form.forward(u, q, np.append(velocity, dp))
    assert multiplier == pytest.approx(omega @ INERTIA @ omega, rel=1e-13)
    torque = np.array([0.3, -0.4, 0.5])
    wanted = np.linalg.solve(INERTIA, torque - np.cross(omega, INERTIA @ omega))
    np.testing.assert_allclose((form.rate_map(q) @ second)[3:], wanted, atol=1e-13)
    np.testing.assert_allclose(second[:3], 0.0, atol=1e-14)
    L, dL = rate_body(p), rate_body(dp)
    left = 4.0 * L.T @ INERTIA @ L @ second[3:] + 2.0 * p * multiplier
    np.testing.assert_allclose(left, 2.0 * L.T @ torque + 8.0 * dL.T @ INERTIA @ dL @ p, atol=1e-13)


def test_multiplier_of_a_body_off_its_mass_centre():
    """omega . P with P the angular momentum about the reference point."""
    model = Model()
    s = np.array([0.1, -0.2, 0.3])
    model.add(RigidBody("body", mass=2.0, inertia=INERTIA, center_of_mass=s, quaternion=(0.5, 0.5, -0.5, 0.5)))
    form = QuaternionForm(System(model))
    omega, velocity = np.array([0.3, -0.5, 0.8]), np.array([1.0, 0.4, -0.7])
    p = form.q0[3:]
    _, (multiplier,) = form.forward(np.zeros(0), form.q0, np.append(velocity, quaternion_rate(p, omega)))
    about_point = INERTIA @ omega + 2.0 * np.cross(s, rotate_back(p, velocity) + np.cross(omega, s))
    assert multiplier == pytest.approx(omega @ about_point, rel=1e-13)


@pytest.mark.parametrize("seed", range(2))
def test_multipliers_of_a_flexible_system_are_those_of_lagranges_equations(seed):
    """d(dT/dq')/dt - dT/dq + A^T lambda_E = Q, with T(q, q') = T(q/|p|, G(q) q') differenced."""
    system = System(satellite(damping=0.0))
    form = QuaternionForm(system)
    rng = np.random.default_rng(seed)
    q, v = deformed(system, rng)
    rate = system.rates(q[None], v[None])[0]
    u = system.inputs_at(0.0, q, v)
    second, multipliers = form.forward(u, q, rate)
    rest = np.zeros_like(v)
    force = form.rate_map(q).T @ -system.residual(u[None], q[None], rest[None], rest[None])[0]
    momenta = system.mass_matrix(q) @ v
    wanted = np.sum(v[form._omega] * momenta[form._omega], axis=1)
    np.testing.assert_allclose(multipliers, wanted, atol=1e-15 * np.abs(force).max())

    def on_sphere(x):
        unit = x.copy()
        system.normalise(unit)
        return unit

    def energy(x):
        return system.energy_momentum(on_sphere(x)[None], (form.rate_map(x) @ rate)[None])[0, 0]

    def momentum(x, dx):
        G = form.rate_map(x)
        return G.T @ (system.mass_matrix(on_sphere(x)) @ (G @ dx))

    gradient = np.array([difference(lambda h, e=e: energy(q + h * e)) for e in np.eye(system.n_q)])
    along = difference(lambda h: momentum(q + h * rate, rate)) + momentum(q, second)
    left = along - gradient + form.constraint_rows(q).T @ multipliers
    np.testing.assert_allclose(left, force, atol=1e-10 * np.abs(gradient).max())


def difference(function, h=2e-3):
    """Derivative at 0 by central differences of order 6."""
    terms = [w * (function(k * h) - function(-k * h)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))]
    return sum(terms) / (60.0 * h)


def test_runs_agree_with_the_velocity_form():
    model = satellite(euler_rates=(0.2, 0.5, -0.3))
    options = {
        "duration": 0.03,
        "output_interval": 0.01,
        "method": "rk",
        "rtol": 1e-9,
        "atol": Tolerances(*[1e-10] * 3),
    }
    one = simulate(model, **options)
    two = simulate(model, formulation="quaternion", **options)
    for name in ("right", "left"):
        np.testing.assert_allclose(two.beams[name].position, one.beams[name].position, atol=1e-9)
        np.testing.assert_allclose(two.beams[name].angular_velocity, one.beams[name].angular_velocity, atol=1e-7)
    np.testing.assert_allclose(two.bodies["hub"].quaternion, one.bodies["hub"].quaternion, atol=1e-9)
    assert np.max(np.abs(two.audit.energy_error)) < 1e-8


def test_refused_with_a_method_that_does_not_know_it():
    with pytest.raises(ModelError, match="method 'rk' only"):
        Run(duration=1.0, formulation="quaternion", method="radau")
