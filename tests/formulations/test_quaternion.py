"""The augmented form in quaternion coordinates against the velocity form."""

import numpy as np
import pytest
from models import of_parts

from femb import Beam, Load, Model, RigidBody, Run, Section, SpringDamper, SpringEnd, Tolerances, simulate
from femb.elements import JointEnd, Latch, Revolute, Spherical
from femb.formulations.quaternion import QuaternionForm
from femb.numerics.rotations import exponential, multiply, normalise, quaternion_rate, rate_body, rotate_back
from femb.system.augmented import norm_rows, rate_map
from femb.system.system import System


def satellite(damping=1e-3, **changes):
    model = Model()
    values = {"mass": 5.0, "inertia": (0.3, 0.4, 0.5), "center_of_mass": (0.01, -0.02, 0.03), **changes}
    hub = model.add(RigidBody("hub", **values))
    boom = Section("s", 1e-4, (2e-8, 1e-8), 1e-8, 2000.0, 1e8, 4e7, damping=damping)
    for name, x in (("right", 1.0), ("left", -1.0)):
        model.add(Beam(name, boom, 1.0, 2, start=hub.at((0.1 * x, 0, 0.05), direction=(x, 0.2, 0))))
    model.add(Load("push", beam="left", force=(0.1, 0.2, -0.1), torque=(0.0, 0.01, 0.02), frame="body"))
    return model


def places_of(system):
    """Components of quaternions in q (n_p, 4), and of angular velocities in v (n_p, 3)."""
    return system.coordinates[2][:, None] + np.arange(4), system.coordinates[3][:, None] + np.arange(3)


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
    np.testing.assert_allclose(rate_map(system, q) @ second, wanted, atol=1e-12 * np.max(np.abs(wanted)))
    # and quaternions stay on the unit sphere: p.p'' = -p'.p'
    p, dp, ddp = (x[places_of(system)[0]] for x in (q, rate, second))
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
    p, dp, ddp = (x[places_of(system)[0]] for x in (q, rate, second))
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
    system, torque = form.system, np.array([0.3, -0.4, 0.5])
    wanted = np.linalg.solve(INERTIA, torque - np.cross(omega, INERTIA @ omega))
    np.testing.assert_allclose((rate_map(system, q) @ second)[3:], wanted, atol=1e-13)
    np.testing.assert_allclose(second[:3], 0.0, atol=1e-14)
    L, dL = rate_body(p), rate_body(dp)
    left = 4.0 * L.T @ INERTIA @ L @ second[3:] + 2.0 * p * multiplier
    np.testing.assert_allclose(left, 2.0 * L.T @ torque + 8.0 * dL.T @ INERTIA @ dL @ p, atol=1e-13)


def test_multiplier_of_a_body_off_its_mass_centre():
    """omega . P with P the angular momentum about the reference point."""
    s = np.array([0.1, -0.2, 0.3])
    model = of_parts(RigidBody("body", mass=2.0, inertia=INERTIA, center_of_mass=s, quaternion=(0.5, 0.5, -0.5, 0.5)))
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
    force = rate_map(system, q).T @ -system.residual(u[None], q[None], rest[None], rest[None])[0]
    momenta = system.mass_matrix(q) @ v
    wanted = np.sum(v[places_of(system)[1]] * momenta[places_of(system)[1]], axis=1)
    np.testing.assert_allclose(multipliers, wanted, atol=1e-15 * np.abs(force).max())

    def on_sphere(x):
        unit = x.copy()
        system.normalise(unit)
        return unit

    def energy(x):
        return system.energy_momentum(on_sphere(x)[None], (rate_map(system, x) @ rate)[None])[0, 0]

    def momentum(x, dx):
        G = rate_map(system, x)
        return G.T @ (system.mass_matrix(on_sphere(x)) @ (G @ dx))

    gradient = np.array([difference(lambda h, e=e: energy(q + h * e)) for e in np.eye(system.n_q)])
    along = difference(lambda h: momentum(q + h * rate, rate)) + momentum(q, second)
    left = along - gradient + norm_rows(system, q).T @ multipliers
    np.testing.assert_allclose(left, force, atol=1e-10 * np.abs(gradient).max())


def difference(function, h=2e-3):
    """Derivative at 0 by central differences of order 6."""
    terms = [w * (function(k * h) - function(-k * h)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))]
    return sum(terms) / (60.0 * h)


@pytest.mark.slow
def test_runs_agree_with_the_velocity_form():
    model = satellite(euler_rates=(0.2, 0.5, -0.3))
    options = {
        "duration": 0.03, "output_interval": 0.01, "method": "rk", "rtol": 1e-9, "atol": Tolerances(*[1e-10] * 3),
    }  # fmt: skip
    one = simulate(model, **options)
    two = simulate(model, formulation="quaternion", **options)
    for name in ("right", "left"):
        np.testing.assert_allclose(two.beams[name].position, one.beams[name].position, atol=1e-9)
        np.testing.assert_allclose(two.beams[name].angular_velocity, one.beams[name].angular_velocity, atol=1e-7)
    np.testing.assert_allclose(two.bodies["hub"].quaternion, one.bodies["hub"].quaternion, atol=1e-9)
    assert np.max(np.abs(two.audit.energy_error)) < 1e-8


def pendulum():
    """A rod on a hinge, a body on a ball joint below it, and a beam on that: two joints and a driven turn."""
    model = Model(gravity=(0.3, 0.0, -9.8))
    model.add(RigidBody("rod", mass=1.0, inertia=(0.1, 0.12, 0.02), position=(0.0, 0.0, -0.5)))
    bob = model.add(RigidBody("bob", mass=0.5, inertia=INERTIA, center_of_mass=(0.1, 0.0, 0.05), position=(0, 0, -1)))
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 1, 0)), JointEnd("rod", at=(0, 0, 0.5)), rates=0.5))
    model.add(Spherical("ball", JointEnd("rod", at=(0, 0, -0.5)), JointEnd("bob")))
    boom = Section("s", 1e-4, (2e-8, 1e-8), 1e-8, 2000.0, 1e8, 4e7, damping=1e-3)
    model.add(Beam("boom", boom, 0.5, 2, start=bob.at(direction=(1, 0, 0))))
    return model


def test_joints_are_rows_of_it():
    """The same accelerations and reactions as in velocities, and multipliers of quaternions that know of no joint."""
    system = System(pendulum())
    form = QuaternionForm(system)
    q, v = system.q0, system.v0
    u = system.inputs_at(0.0, q, v)
    rate = system.rates(q[None], v[None])[0]
    second, multipliers = form.forward(u, q, rate)
    wanted, reactions = system.forward(u, q, v)
    np.testing.assert_allclose(rate_map(system, q) @ second, wanted, atol=1e-10 * np.abs(wanted).max())
    np.testing.assert_allclose(multipliers[form.n_p :], reactions, atol=1e-10 * np.abs(reactions).max())
    momenta = system.mass_matrix(q) @ v
    spin_energy = np.sum(v[places_of(system)[1]] * momenta[places_of(system)[1]], axis=1)
    np.testing.assert_allclose(multipliers[: form.n_p], spin_energy, atol=1e-12 * np.abs(reactions).max())


def bordered(form, q, rate, parts):
    """Mass, damping and iteration tangent of the equations of a step, dense, from block data of the velocity form.

    With p'' = -p'.p' p, as where nothing is accelerated: v and v' change by G q' and G q'' through G too.
    """
    system = form.system
    n_q, n_v, (p, omega) = form.n_q, system.n_v, places_of(system)
    M, C, K = (system.pattern.to_csc(data).toarray() for data in parts)
    G = np.zeros((len(M), n_q + form.n_c))
    G[:n_v, :n_q] = rate_map(system, q).toarray()
    G[n_v:, n_q + form.n_p :] = np.eye(system.n_c)
    X, Y = np.zeros_like(G), np.zeros_like(G)
    v = G[:, :n_q] @ rate
    radial, spin = np.zeros((form.n_p, len(M))), (M @ v)[omega]
    for k in range(form.n_p):
        for goal, dp in ((X, rate[p[k]]), (Y, -(rate[p[k]] @ rate[p[k]]) * q[p[k]])):
            # d(2 rate_body(p) x / p.p) with x held; rate_body(d) x = -rate_body(x) d
            goal[np.ix_(omega[k], p[k])] = -2.0 * rate_body(dp) - 4.0 * np.outer(rate_body(q[p[k]]) @ dp, q[p[k]])
        radial[k, omega[k]] = spin[k]
        radial[k] += v[omega[k]] @ M[omega[k]]
    mass, damping, stiffness = G.T @ M @ G, G.T @ C @ G, G.T @ (K @ G + C @ X + M @ Y)
    for k in range(form.n_p):
        row, at = n_q + k, p[k]
        damping[row, at] = damping[at, row] = 2.0 * q[at]
        stiffness[row, at] = 2.0 * rate[at]
        damping[at] -= 2.0 * np.outer(q[at], radial[k] @ G)
        stiffness[at] -= 2.0 * np.outer(q[at], radial[k] @ X)
    return mass, damping, stiffness


def state_of(model, seed=7):
    system = System(model())
    form = QuaternionForm(system)
    rng = np.random.default_rng(seed)
    q, v = deformed(system, rng) if model is satellite else (system.q0, system.v0)
    u = system.inputs_at(0.0, q, v)
    return form, u, q, system.rates(q[None], v[None])[0], rng


@pytest.mark.parametrize("model", [satellite, pendulum])
def test_equations_of_a_step(model):
    """They vanish for the accelerations and multipliers of a state; their matrices are what they change by."""
    form, u, q, rate, rng = state_of(model)
    system, v = form.system, form.velocities(q[None], rate[None])[0]
    second, multipliers = form.forward(u, q, rate)

    def equations(second, multipliers):
        return form.equations(u[None], q[None], rate[None], second[None], multipliers[None])[0]

    size = np.abs(system.augmented(q=q, v=v).right).max()
    np.testing.assert_allclose(equations(second, multipliers), 0.0, atol=1e-11 * size)
    parts = system.matrices(u, q, v, multipliers[form.n_p :])
    mass, damping, stiffness = bordered(form, q, rate, parts)
    n, p = form.n_q, places_of(system)[0]
    a, more = rng.standard_normal(n), rng.standard_normal(form.n_c)
    change = equations(second + a, multipliers) - equations(second, multipliers)
    np.testing.assert_allclose(change, mass @ np.append(a, 0.0 * more), atol=1e-11 * size)
    change = equations(second, multipliers + more) - equations(second, multipliers)
    np.testing.assert_allclose(change, damping @ np.append(0.0 * a, more), atol=1e-11 * size)
    # rows of constraints: their change with the rates, and through the quaternions
    np.testing.assert_allclose((damping @ np.append(rate, 0.0 * more))[n : n + form.n_p], 0.0, atol=1e-14)
    turned = np.sum(a[p] * rate[p], axis=1)
    found = (stiffness @ np.append(a, 0.0 * more))[n : n + form.n_p]
    np.testing.assert_allclose(found, 2.0 * turned, atol=1e-12)


@pytest.mark.parametrize("mu", [40.0, 40.0 - 30.0j])
@pytest.mark.parametrize("model", [satellite, pendulum])
def test_block_elimination_solves_the_whole_bordered_matrix(model, mu):
    """Each quaternion and its multiplier eliminated in their block, against the dense matrix with all its borders."""
    form, u, q, rate, rng = state_of(model)
    _, multipliers = form.forward(u, q, rate)
    v = form.velocities(q[None], rate[None])[0]
    mass, damping, stiffness = bordered(form, q, rate, form.system.matrices(u, q, v, multipliers[form.n_p :]))
    right = rng.standard_normal(len(mass)) * (1.0 if np.isreal(mu) else 1.0 + 0.5j)
    wanted = np.linalg.solve(mu * mass + damping + stiffness / mu, right)
    parts = form.matrices(u, q, rate, multipliers)
    found = form.solver.factorise(form.solver.shifted(*parts, mu)).solve(right.copy())
    for k in (slice(0, form.n_q), slice(form.n_q, form.n_q + form.n_p), slice(form.n_q + form.n_p, None)):
        np.testing.assert_allclose(found[k], wanted[k], atol=1e-9 * np.abs(wanted[k]).max(initial=1e-300))


def test_matrices_of_a_step_are_derivatives():
    """With the exact tangents of the velocity form: of forces in velocities, with q' and q'' held, by differences."""
    model = Model(gravity=(0.0, 1.0, -9.8))
    body = model.add(RigidBody("body", mass=2.0, inertia=INERTIA, center_of_mass=(0.1, -0.2, 0.3),
                               quaternion=(0.5, 0.5, -0.5, 0.5)))  # fmt: skip
    model.add(SpringDamper("rope", SpringEnd(body="body", at=(0.3, 0.1, 0.0)), SpringEnd(anchor=(1.0, 2.0, 0.5)),
                           stiffness=30.0, damping=5.0, free_length=1.0))  # fmt: skip
    system = System(model)
    form, rng, q = QuaternionForm(system), np.random.default_rng(3), system.q0
    assert body.mass == 2.0
    v = rng.standard_normal(6)
    u, rest, rate = np.zeros(0), np.zeros((1, 6)), system.rates(q[None], v[None])[0]
    p = slice(3, 7)
    second = np.append(rng.standard_normal(3), -(rate[p] @ rate[p]) * q[p])
    a = form.velocities(q[None], second[None])
    np.testing.assert_allclose(a[0, 3:], rest[0, 3:], atol=1e-14)
    mass, (damping, stiffness) = system.mass_data(q), system.tangent(u, q, v, a[0])
    pulled = form.pulled_back(q, v, mass, damping.copy(), stiffness.copy())

    def forces(x):
        there = form.velocities(x[None], rate[None]), form.velocities(x[None], second[None])
        return system.residual(u[None], x[None], *there)[0]

    for turn in rng.standard_normal((3, 3)):
        dq = np.append(rng.standard_normal(3), rate_body(q[p]).T @ turn)
        wanted = difference(lambda h, dq=dq: forces(q + h * dq))
        found = system.solver.multiply(pulled[2].data, rate_map(system, q) @ dq)
        np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())
    # and along p, where only velocities change
    dq = np.append(np.zeros(3), q[p])
    wanted = difference(lambda h: forces(q + h * dq))
    found = system.solver.multiply(damping, np.append(np.zeros(3), -v[3:]))
    np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.slow
@pytest.mark.parametrize(("method", "bound"), [("rk", 1e-7), ("bdf", 2e-4)])
def test_runs_with_joints_agree_with_the_velocity_form(method, bound):
    duration = 0.004 if method == "rk" else 1.0
    options = {"duration": duration, "output_interval": duration / 4}
    wanted = simulate(pendulum(), method="radau", rtol=1e-8, **options)
    results = simulate(pendulum(), method=method, formulation="quaternion", rtol=1e-6, **options)
    assert np.ptp(wanted.bodies["rod"].position[:, 0]) > 5.0 * bound
    for name in ("rod", "bob"):
        np.testing.assert_allclose(results.bodies[name].position, wanted.bodies[name].position, atol=bound)
        np.testing.assert_allclose(results.bodies[name].quaternion, wanted.bodies[name].quaternion, atol=bound)
    assert results.audit.constraint_position.max() < 1e-10
    assert results.audit.constraint_velocity.max() < 1e-9


def test_error_of_bdf_falls_with_the_tolerance():
    """A tumbling body off its mass centre, order up to 5, against the explicit method in velocities."""
    model = Model()
    model.add(RigidBody("body", mass=1.0, inertia=INERTIA, center_of_mass=(0.1, 0.2, 0.3),
                        angular_velocity=(0.3, 5.0, 0.2)))  # fmt: skip
    exact = simulate(model, method="rk", duration=1.0, output_interval=0.5, rtol=1e-12, atol=Tolerances(*[1e-13] * 3))
    errors = []
    for rtol in (1e-5, 1e-7, 1e-9):
        run = Run(duration=1.0, output_interval=0.5, method="bdf", formulation="quaternion", rtol=rtol,
                  atol=Tolerances(*[rtol] * 3, time=1.0))  # fmt: skip
        results = simulate(model, run)
        errors.append(np.abs(results.bodies["body"].quaternion - exact.bodies["body"].quaternion).max())
    assert np.all(np.array(errors) < [1e-3, 2e-5, 3e-7])
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def ring():
    """A ring of four hinges: each holds the others in their plane, so that three of its rows depend on the others."""
    model = Model("ring", gravity=(1.0, 0.0, -9.81))
    for name, x, z in (("left", 0.0, 0.5), ("top", 0.5, 1.0), ("right", 1.0, 0.5)):
        model.add(RigidBody(name, mass=1.0, inertia=0.1, position=(x, 0.0, z)))
    y = (0, 1, 0)
    ends = [("ground", (0, 0, 0)), ("left", (0, 0, -0.5)), ("left", (0, 0, 0.5)), ("top", (-0.5, 0, 0)),
            ("top", (0.5, 0, 0)), ("right", (0, 0, 0.5)), ("right", (0, 0, -0.5)), ("ground", (1, 0, 0))]  # fmt: skip
    for k in range(4):
        first, second = (JointEnd(body, at=at, axis=y) for body, at in ends[2 * k : 2 * k + 2])
        model.add(Revolute(f"hinge {k}", first, second, rates=2.0 if k == 0 else None))
    return model


def test_dependent_rows_of_joints():
    """Left out with multipliers of zero, which changes neither accelerations nor the forces of constraint."""
    system = System(ring())
    form = QuaternionForm(system)
    u = system.inputs_at(0.0, system.q0, system.v0)
    a, wanted = system.forward(u, system.q0, system.v0)
    second, multipliers = form.forward(u, form.q0, form.v0)
    np.testing.assert_allclose(form.velocities(form.q0[None], second[None])[0], a, atol=1e-11)
    J = system.jacobian(u, system.q0)
    np.testing.assert_allclose(J.T @ multipliers[form.n_p :], J.T @ wanted, atol=1e-10)
    assert np.sum(multipliers[form.n_p :] == 0.0) >= 3


@pytest.mark.parametrize(
    ("method", "bound"), [("rk", 1e-6), ("radau", 1e-7), ("bdf", 1e-5), ("generalized-alpha", 5e-5)]
)
def test_ring_by_all_methods(method, bound):
    options = {"duration": 0.3, "output_interval": 0.1}
    wanted = simulate(ring(), method="rk", rtol=1e-10, **options)
    results = simulate(ring(), method=method, formulation="quaternion", rtol=1e-6, **options)
    assert np.ptp(wanted.bodies["top"].position[:, 0]) > 0.1
    np.testing.assert_allclose(results.bodies["top"].position, wanted.bodies["top"].position, atol=bound)
    # multipliers of least norm, as in the velocity form
    for k in range(4):
        force, other = results.joints[f"hinge {k}"].force, wanted.joints[f"hinge {k}"].force
        np.testing.assert_allclose(force, other, atol=1e3 * bound)


@pytest.mark.parametrize("method", ["rk", "radau", "bdf", "generalized-alpha"])
def test_latches(method):
    """A door swings open and is caught: impulse and loss are those of the velocity form."""
    model = Model("door")
    model.add(RigidBody("frame", mass=3.0, inertia=2.0))
    model.add(RigidBody("door", mass=1.0, inertia=(0.1, 0.2, 0.3), position=(0.5, 0.0, 0.0)))
    model.add(Revolute("hinge", JointEnd("frame", axis=(0, 0, 1)), JointEnd("door", at=(-0.5, 0, 0)), rates=1.0))
    model.add(Latch("lock", "hinge", at=0.3))
    options = {"method": method, "duration": 1.0, "output_interval": 0.1, "rtol": 1e-6}
    one, two = (simulate(model, formulation=form, **options) for form in ("velocity", "quaternion"))
    angle = two.joints["hinge"].coordinates[:, 0]
    caught = two.arrays["events/latches.lock/time"][0]
    assert 0.1 < caught < 0.9
    np.testing.assert_allclose(angle[two.time > caught], 0.3, atol=1e-6)
    loss = two.arrays["events/latches.lock/energy_loss"][0]
    assert loss == pytest.approx(one.arrays["events/latches.lock/energy_loss"][0], rel=1e-3)
    assert loss > 0.01
    momentum = two.audit.angular_momentum
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), atol=1e-3)
    assert np.abs(two.audit.energy_error).max() < 1e-3 * two.audit.kinetic_energy[0]
