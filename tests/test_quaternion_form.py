"""The augmented form in quaternion coordinates against the velocity form."""

import numpy as np
import pytest

from femb import Beam, Load, Model, ModelError, RigidBody, Run, Section, Tolerances, simulate
from femb.formulations.quaternion import QuaternionForm
from femb.rotations import exponential, multiply
from femb.system import System


def satellite(**changes):
    model = Model()
    values = {"mass": 5.0, "inertia": (0.3, 0.4, 0.5), "center_of_mass": (0.01, -0.02, 0.03), **changes}
    hub = model.add(RigidBody("hub", **values))
    boom = Section("s", area=1e-4, second_moments=(2e-8, 1e-8), torsion_constant=1e-8, density=2000.0,
                   youngs_modulus=1e8, shear_modulus=4e7, damping=1e-3)  # fmt: skip
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


def test_a_free_body_turns_by_eulers_equations():
    """The multiplier vanishes: forces pulled back from velocities have no part along a quaternion."""
    model = Model()
    inertia = np.diag([1.0, 2.0, 3.0])
    model.add(RigidBody("body", mass=2.0, inertia=inertia, angular_velocity=(0.3, -0.5, 0.8)))
    form = QuaternionForm(System(model))
    matrix, right = form.augmented(np.zeros(0), form.q0, form.v0)
    omega = np.array([0.3, -0.5, 0.8])
    solution = np.linalg.solve(matrix.toarray(), right)
    assert abs(solution[-1]) < 1e-13
    wanted = -np.cross(omega, inertia @ omega) / np.diag(inertia)
    np.testing.assert_allclose((form.rate_map(form.q0) @ solution[:-1])[3:], wanted, atol=1e-13)


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
