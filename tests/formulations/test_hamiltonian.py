"""Trees of Models in coordinates and momenta against independent formulations, closed forms and invariants.

Oracles: the recursion of the source (oracles.energy_matrix; complex step gives its exact derivatives), Newton-Euler in
maximal coordinates with multipliers (oracles.tree), Lagrange's equations in absolute angles, and closed forms.
"""

import numpy as np
import pytest
from long_runs import slow_but
from models import of_parts, refuses
from oracles import energy_matrix as oracle
from oracles.random_trees import random_inertia
from oracles.tree import (
    NAMED,
    TURNING,
    Poses,
    coordinates_of,
    momentum_form,
    newton_euler,
    random_state,
    random_tree,
    rates_of,
    skew,
    state_of,
)
from scipy.integrate import solve_ivp

import femb
from femb.base.errors import ModelError, SolveError
from femb.formulations.hamiltonian.of_model import EnergyDerivatives, expanded_energy_matrix
from femb.layout.element import TrialError
from femb.numerics import rotations
from femb.numerics.rotations import rotation_matrix
from femb.run.events import switched
from femb.steppers.gauss import Collocation
from femb.thompson import energy_matrix, small_motion

TINY = 1e-30
X, Y, Z = np.eye(3)
both_bases = pytest.mark.parametrize("free", [False, True], ids=["ground", "free"])


def relative(got, wanted):
    return np.abs(got - wanted).max() / np.abs(wanted).max()


def poses_of(tree, motion):
    return Poses(tree, motion.q, motion.rate, motion.R[0], motion.origin_of_base, motion.v[0, :3], motion.v[0, 3:])


def generalized_velocity(tree, motion):
    """(omega, v of the base's origin, rates): what the energy matrix of the oracle multiplies."""
    return np.concatenate([motion.v[0], motion.rate]) if tree.floating else motion.rate


def kinetic_energy(motion):
    return 0.5 * float(np.einsum("ki,kij,kj->", motion.v, motion.M, motion.v))


def accelerations_of(form, q, v, t=0.0):
    return form.accelerations(form.inputs_at(t, q, v), q, v)


def momentum_rates(form, q, v, t=0.0):
    """p' (n,) of the hinges."""
    return form.acceleration(form.inputs_at(t, q, v), q, v)[form.momentum_equations.first_v :]


def energy(form, q, v):
    """Kinetic energy, weight and springs of the tree, J."""
    tree, motion = form.tree, form.momentum_equations.motion(q, v)
    weight = -float(np.sum(tree.data[:, 0] * ((motion.center + motion.origin_of_base) @ tree.gravity)))
    return kinetic_energy(motion) + weight + 0.5 * float(tree.stiffness @ (motion.q - tree.rest) ** 2)


def body_motion(form, motion, name):
    """Position (3,) from the base's origin, attitude (3, 3) and velocity (3,) of a body's frame, and its segment."""
    on = form.map.frames[form.layout.bodies[name]]
    k = on.segment + 1
    position = motion.hinge[k] + motion.R[k] @ on.origin
    velocity = motion.v[k, 3:] + np.cross(motion.v[k, :3], position)
    return position, motion.R[k] @ on.axes, velocity, on.segment


# Energy matrix


@both_bases
def test_reference_recursion_is_the_kinetic_energy_of_moving_positions(free):
    """T from complex-step velocities of mass centres and attitudes, which the recursion never differentiates."""
    rng = np.random.default_rng(1)
    form = momentum_form(random_tree(rng, 6, free))
    tree = form.tree
    y, p, q, rate = random_state(form, rng)
    motion = form.momentum_equations.motion(y, p)
    turned = motion.R[0] + 1j * TINY * skew(motion.v[0, :3]) @ motion.R[0]
    # attitudes and mass centres along the motion, from the hinge rotations alone
    R, o = [None] * (tree.n + 1), [None] * (tree.n + 1)
    R[-1], o[-1] = turned, motion.origin_of_base + 1j * TINY * motion.v[0, 3:]
    energy = 0.0
    moving = q + 1j * TINY * rate
    items = [(k, tree.mass[k], tree.center[k], tree.inertia[k]) for k in range(tree.n)]
    if free:
        items.insert(0, (-1, tree.base.mass, tree.base.center_of_mass, tree.base.inertia))
    for k, mass, center, inertia in items:
        if k >= 0:
            h = tree.parent[k]
            slide = tree.mounting[k] @ tree.axis[k] * moving[k] if tree.sliding[k] else 0.0
            o[k] = o[h] + R[h] @ (tree.at[k] + slide)
            R[k] = R[h] @ oracle.hinge_rotation(tree, k, moving[k])[0].T
        v = (o[k] + R[k] @ center).imag / TINY
        spin = R[k].real.T @ (R[k].imag / TINY)
        w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        energy += 0.5 * mass * v @ v + 0.5 * w @ inertia @ w
    u = generalized_velocity(tree, motion)
    A = oracle.energy_matrix(tree, q, motion.R[0])
    np.testing.assert_allclose(0.5 * u @ A @ u, energy, rtol=1e-13)
    np.testing.assert_allclose(kinetic_energy(motion), energy, rtol=1e-13)


@both_bases
def test_composite_energy_matrix_is_the_recursion_of_the_source(free):
    rng = np.random.default_rng(2)
    model = random_tree(rng, 8, free)
    form = momentum_form(model)
    tree = form.tree
    y, p, q, _ = random_state(form, rng)
    motion = form.momentum_equations.motion(y, p)
    A = motion.energy_matrix if free else motion.energy_matrix[6:, 6:]
    wanted = oracle.energy_matrix(tree, q, motion.R[0])
    assert relative(A, wanted) < 2e-15
    # a_ij vanishes unless i and j lie on one path
    apart = ~(tree.ancestors | tree.ancestors.T)
    assert apart.any()
    np.testing.assert_array_equal(A[-tree.n :, -tree.n :][apart], 0.0)


@both_bases
def test_energy_matrix_of_a_model_is_the_recursion_of_the_source(free):
    """What users call, at joint coordinates of their own."""
    rng = np.random.default_rng(20)
    model = random_tree(rng, 5, free)
    form = momentum_form(model)
    q = rng.uniform(-1.0, 1.0, form.tree.n)
    attitude = rotation_matrix(rotations.normalise(form.q0[3:7])) if free else None
    assert relative(energy_matrix(model, q).matrix, oracle.energy_matrix(form.tree, q, attitude)) < 2e-15


def test_energy_matrix_depends_on_outboard_angles_only():
    """a_ij, i inboard of j: no coordinate that is not outboard of i on the path to j, or outboard of j, enters."""
    tree = momentum_form(random_tree(np.random.default_rng(3), 4, kinds=TURNING)).tree
    q = np.linspace(-1.0, 1.0, tree.n)
    B = tree.ancestors
    for m in range(tree.n):
        step = np.zeros(tree.n, dtype=complex)
        step[m] = 1j * TINY
        change = oracle.energy_matrix(tree, q + step).imag / TINY
        for i in range(tree.n):
            for j in range(i, tree.n):
                enters = B[i, j] and B[i, m] and m != i and (B[m, j] or B[j, m])
                if not enters:
                    assert abs(change[i, j]) < 1e-13, (i, j, m)
    assert np.abs(change).max() > 1e-3  # the last coordinate does enter somewhere


@both_bases
def test_velocities_solve_the_energy_matrix(free):
    rng = np.random.default_rng(4)
    for bodies in (1, 3, 9):
        form = momentum_form(random_tree(rng, bodies, free))
        tree = form.tree
        y, p, q, rate = random_state(form, rng)
        motion = form.momentum_equations.motion(y, p)
        u = generalized_velocity(tree, motion)
        momenta = oracle.energy_matrix(tree, q, motion.R[0]) @ u
        assert relative(p[form.momentum_equations.first_v :], momenta[-tree.n :]) < 1e-13
        if free:
            total = np.concatenate(
                [motion.angular_momentum - np.cross(motion.origin_of_base, momenta[3:6]), momenta[3:6]]
            )
            assert relative(total, momenta[:6]) < 1e-13
        assert relative(motion.rate, rate) < 1e-11


@pytest.mark.slow
@both_bases
def test_rates_of_momenta_are_those_of_newton_and_euler(free):
    """p' against (A u)' with accelerations from multipliers, on random trees up to 30 bodies."""
    rng = np.random.default_rng(5)
    for bodies in (1, 2, 5, 12, 30):
        form = momentum_form(random_tree(rng, bodies, free))
        tree = form.tree
        y, p, q, rate = random_state(form, rng)
        motion = form.momentum_equations.motion(y, p)
        second, base, _ = newton_euler(tree, poses_of(tree, motion), q, rate)
        u = generalized_velocity(tree, motion)
        a = np.concatenate([base, second]) if free else second
        moving = motion.R[0] + 1j * TINY * skew(motion.v[0, :3]) @ motion.R[0]
        rate_of_A = oracle.energy_matrix(tree, q + 1j * TINY * rate, moving).imag / TINY
        wanted = oracle.energy_matrix(tree, q, motion.R[0]) @ a + rate_of_A @ u
        assert relative(momentum_rates(form, y, p), wanted[-tree.n :]) < 1e-11


@pytest.mark.slow
@both_bases
def test_accelerations_are_those_of_newton_and_euler(free):
    rng = np.random.default_rng(6)
    for bodies in (1, 2, 5, 12, 30):
        form = momentum_form(random_tree(rng, bodies, free))
        tree = form.tree
        y, p, q, rate = random_state(form, rng)
        got = accelerations_of(form, y, p)
        second, base, _ = newton_euler(tree, poses_of(tree, got.motion), q, rate)
        assert relative(got.second, second) < 1e-9
        if free:
            # the point held still has the acceleration of the origin less omega x v
            linear = got.a[0, 3:] + np.cross(got.motion.v[0, :3], got.motion.v[0, 3:])
            assert relative(np.concatenate([got.a[0, :3], linear]), base) < 1e-9
            np.testing.assert_allclose(got.force[0], 0.0, atol=1e-9 * np.abs(got.force).max())


def test_dT_dq_and_its_sign_at_constant_momentum():
    """(dT/dq)_q' = 1/2 q'.dA q' is what the sweep gives, and minus dT/dq at constant p."""
    rng = np.random.default_rng(7)
    form = momentum_form(random_tree(rng, 5, springs=False, gravity=False))
    tree = form.tree
    y, p, q, rate = random_state(form, rng)
    at_rates, at_momenta = np.empty(tree.n), np.empty(tree.n)
    for m in range(tree.n):
        step = np.zeros(tree.n, dtype=complex)
        step[m] = 1j * TINY
        A = oracle.energy_matrix(tree, q + step)
        at_rates[m] = 0.5 * (rate @ A @ rate).imag / TINY
        at_momenta[m] = 0.5 * (p @ np.linalg.solve(A, p)).imag / TINY
    assert relative(momentum_rates(form, y, p), at_rates) < 1e-12
    assert relative(-at_momenta, at_rates) < 1e-12


# Forces


@both_bases
def test_loads_enter_like_forces_on_bodies(free):
    rng = np.random.default_rng(8)
    model = random_tree(rng, 5, free)
    loads = []
    for name in [name for name in model.bodies if name != "ground"]:
        words = {"body": name, **{word: rng.standard_normal(3) for word in ("force", "torque", "at")}}
        loads.append(femb.Load(f"{name} inertial", **words))
        loads.append(femb.Load(f"{name} follower", **words, frame="body", profile=lambda t: 0.7))
    for load in loads:
        model.add(load)
    form = momentum_form(model)
    tree = form.tree
    y, p, q, rate = random_state(form, rng)
    got = accelerations_of(form, y, p)
    motion, wrench = got.motion, {}
    for load in loads:
        position, attitude, _, k = body_motion(form, motion, load.body)
        follower = load.frame == "body"
        R, factor = (attitude, 0.7) if follower else (np.eye(3), 1.0)
        force, torque = factor * R @ load.force, factor * R @ load.torque
        arm = position + attitude @ load.at - motion.center[k + 1]
        before = wrench.get(k, (np.zeros(3), np.zeros(3)))
        wrench[k] = before[0] + force, before[1] + torque + np.cross(arm, force)
    second, _, _ = newton_euler(tree, poses_of(tree, motion), q, rate, wrench)
    assert relative(got.second, second) < 1e-11
    if free:
        force = sum(f for f, _ in wrench.values()) + tree.data[:, 0].sum() * tree.gravity
        change = form.acceleration(form.inputs_at(0.0, y, p), y, p)
        np.testing.assert_allclose(change[3:6], force, rtol=1e-12)


@both_bases
def test_energy_balance_of_every_kind_of_force(free):
    """dE/dt = power of loads and generalized forces less that of dampers; springs and potentials store theirs.

    A potential of one coordinate is a spring with a law, one that couples them a motor on each with its gradient.
    """
    rng = np.random.default_rng(9)
    model = random_tree(rng, 5, free, NAMED)
    places = coordinates_of(model)
    n = len(places)
    root = rng.standard_normal((n, n))
    K, control = root @ root.T, rng.standard_normal(n)

    def read(state, word):
        joints = [(state.joints[joint], coordinate) for joint, coordinate in places]
        return np.array([getattr(joint, word)[joint.names.index(coordinate)] for joint, coordinate in joints])

    def motor(k):
        def force(t, state):
            x, rate = read(state, "coordinates"), read(state, "rates")
            return -K[k] @ (x - 0.3) + control[k] * rate[k] * t

        return force

    for k, (joint, coordinate) in enumerate(places):
        law = {"force": lambda c, rate: (np.sin(c), np.cos(c), 0.0)}
        model.add(femb.JointSpringDamper(f"cosine {k}", joint, coordinate, **law))
        model.add(femb.JointMotor(f"motor {k}", joint, coordinate, force=motor(k)))
    push = {"force": (1.0, 2.0, 3.0), "at": (0.1, 0.2, 0.3)}
    model.add(femb.Load("follower", body="b2", **push, frame="body", profile=lambda t: 1.0 + t))
    form = momentum_form(model)
    tree = form.tree
    order = [tree.index(f"{joint}.{coordinate}") for joint, coordinate in places]
    assert sorted(order) == list(range(tree.n))
    y, p, _, rate = random_state(form, rng)
    t = 0.6
    direction = form.rates(y[None], p[None])[0], form.acceleration(form.inputs_at(t, y, p), y, p)

    def total(s):
        at = y + s * direction[0]
        x = at[form.momentum_equations.first :][order]
        stored = 0.5 * (x - 0.3) @ K @ (x - 0.3) - np.sum(np.cos(x))
        return energy(form, at, p + s * direction[1]) + stored

    h = 1e-4
    change = [total(k * h) for k in (-3, -2, -1, 1, 2, 3)]
    slope = np.dot(change, [-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / (60.0 * h)
    motion = form.momentum_equations.motion(y, p)
    _, attitude, velocity, k = body_motion(form, motion, "b2")
    velocity = velocity + np.cross(motion.v[k + 1, :3], attitude @ push["at"])
    power = (1.0 + t) * (attitude @ push["force"]) @ velocity
    power += t * control @ rate[order] ** 2 - tree.damping @ rate**2
    np.testing.assert_allclose(slope, power, rtol=1e-9)


def test_momenta_of_wheels_change_by_their_motors_only():
    """An axisymmetric wheel's coordinate is ignorable: p' is the motor's torque, whatever the bus does."""
    axis = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0)
    model = of_parts(
        femb.RigidBody("bus", 40.0, (3.0, 4.0, 5.0)),
        femb.RigidBody("wheel", 2.0, 0.02 * np.eye(3) + 0.01 * np.outer(axis, axis)),
        femb.Revolute("axle", femb.JointEnd("bus", at=(0.3, 0.1, 0.0), axis=axis), femb.JointEnd("wheel", axis=axis)),
        femb.JointMotor("motor", "axle", force=0.125),
    )
    form = momentum_form(model)
    y, p, _, _ = random_state(form, np.random.default_rng(10), size=100.0)
    assert abs(momentum_rates(form, y, p)[-1] - 0.125) < 1e-13


# Driven and latched hinges


@both_bases
def test_driven_hinges_and_their_torques(free):
    rng = np.random.default_rng(11)
    model = random_tree(rng, 6, free, NAMED)
    places = coordinates_of(model)
    moved = ((0.7, -0.4), (-1.1, 0.6), (0.0, 0.0))
    driven = dict(zip((places[0], places[len(places) // 2], places[-1]), moved, strict=True))
    for (joint, coordinate), (r, a) in driven.items():
        model.add(femb.JointDriver(f"drive {joint}", joint, lambda t, r=r, a=a: (0.0, r, a), coordinate))
    form = momentum_form(model)
    tree = form.tree
    chosen = {tree.index(f"{joint}.{coordinate}"): motion for (joint, coordinate), motion in driven.items()}
    q, rate = rng.uniform(-1.0, 1.0, tree.n), rng.standard_normal(tree.n)
    rate[list(chosen)] = [r for r, _ in chosen.values()]
    e = rng.standard_normal(4)
    pose, speed = np.concatenate([rng.standard_normal(3), e / np.linalg.norm(e)]), rng.standard_normal(6)
    y, p = state_of(form, q, rate, speed if free else None, pose if free else None)
    got = accelerations_of(form, y, p)
    rates, change = form.rates(y[None], p[None])[0], momentum_rates(form, y, p)
    for k, (r, a) in chosen.items():
        assert rates[form.momentum_equations.first + k] == r
        assert change[k] == a
    motion = got.motion
    free_p = [k for k in range(tree.n) if k not in chosen]
    assert relative(motion.p[free_p], p[form.momentum_equations.first_v :][free_p]) < 1e-12
    wanted, base, torque = newton_euler(
        tree, poses_of(tree, motion), q, motion.rate, driven={k: a for k, (_, a) in chosen.items()}
    )
    assert relative(got.second, wanted) < 1e-10
    np.testing.assert_allclose(got.drive[list(torque)], list(torque.values()), rtol=1e-9)
    np.testing.assert_array_equal(got.drive[free_p], 0.0)
    # momenta of the others: (A u)' with these accelerations
    u = generalized_velocity(tree, motion)
    a = np.concatenate([base, wanted]) if free else wanted
    moving = motion.R[0] + 1j * TINY * skew(motion.v[0, :3]) @ motion.R[0]
    slope = oracle.energy_matrix(tree, q + 1j * TINY * motion.rate, moving).imag / TINY
    momenta = (oracle.energy_matrix(tree, q, motion.R[0]) @ a + slope @ u)[-tree.n :]
    assert relative(change[free_p], momenta[free_p]) < 1e-11


def latched_tree(seed, bodies, **options):
    """A random free tree with a latch on a coordinate in its middle: its form, a state, and the hinge."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, bodies, True, NAMED)
    places = coordinates_of(model)
    joint, coordinate = places[len(places) // 2]
    model.add(femb.Latch("latch", joint, coordinate, time=1.0, **options))
    form = momentum_form(model)
    k = form.tree.index(f"{joint}.{coordinate}")
    q, rate, e = rng.uniform(-1.0, 1.0, form.tree.n), rng.standard_normal(form.tree.n), rng.standard_normal(4)
    if options:
        rate[k] = 0.0
    pose = np.concatenate([rng.standard_normal(3), e / np.linalg.norm(e)])
    y, p = state_of(form, q, rate, rng.standard_normal(6), pose)
    return form.at(y), y, p, k


def test_latching_is_the_impulse_of_maximal_coordinates():
    """All momenta but the latched hinge's own pass through; the velocity after is that of least change in energy."""
    form, y, p, k = latched_tree(12, 5)
    tree = form.tree
    before = form.momentum_equations.motion(y, p)
    # the same state goes on with the hinge held: its place holds its rate
    held = form.with_discrete(switched(form, form.layout.updates, 1.0, y, p).form.system.discrete)
    p_after = p.copy()
    p_after[6 + k] = 0.0
    after = held.momentum_equations.motion(y, p_after)
    # M (u+ - u-) = B lambda with u+_k = 0 (Gauss's principle for impulses)
    A = oracle.energy_matrix(tree, before.q, before.R[0])
    u = np.concatenate([before.v[0], before.rate])
    row = np.zeros(len(u))
    row[6 + k] = 1.0
    jump = np.linalg.solve(A, row)
    wanted = u - jump * u[6 + k] / jump[6 + k]
    assert relative(np.concatenate([after.v[0], after.rate]), wanted) < 1e-12
    assert after.rate[k] == 0.0
    np.testing.assert_allclose(after.linear_momentum, before.linear_momentum, rtol=1e-12)
    np.testing.assert_allclose(after.angular_momentum, before.angular_momentum, rtol=1e-12)
    loss = kinetic_energy(before) - kinetic_energy(after)
    assert loss > 0.0
    # and that is the state after the event of a run
    switch = switched(form, form.layout.updates, 1.0, y, p)
    np.testing.assert_allclose(switch.q, y, rtol=0.0, atol=1e-12)
    assert relative(switch.v, p_after) < 1e-12
    np.testing.assert_allclose(switch.losses, [loss], rtol=1e-10)


def test_release_goes_on_with_the_same_velocities():
    form, y, p, k = latched_tree(13, 4, engaged=True)
    switch = switched(form, form.layout.updates, 1.0, y, p)
    free, y1, p1 = switch.form, switch.q, switch.v
    one, other = form.momentum_equations.motion(y, p), free.momentum_equations.motion(y1, p1)
    assert relative(other.rate, one.rate) < 1e-11
    assert relative(other.v, one.v) < 1e-11
    assert (form.n_c, free.n_c) == (1, 0)
    assert one.rate[k] == 0.0 != p1[6 + k]


def blade(stiffness, *more, offset=0.3):
    """A blade flapping at an offset from a hub on a mast: flap about -y, up positive."""
    model = femb.Model("blade")
    model.add(femb.Ground())
    model.add(femb.RigidBody("hub", 5.0, (0.1, 0.1, 0.2)))
    m, length = 4.0, 3.0
    inertia = (1e-9, m * length**2 / 12, m * length**2 / 12 + 1e-9)
    model.add(femb.RigidBody("blade", m, inertia, center_of_mass=(length / 2, 0, 0)))
    model.add(femb.Revolute("mast", femb.JointEnd("ground", axis=Z), femb.JointEnd("hub")))
    hinge = femb.JointEnd("hub", at=(offset, 0, 0), axis=-Y, reference=X)
    model.add(femb.Revolute("flap", hinge, femb.JointEnd("blade", axis=-Y, reference=X)))
    model.add(femb.JointSpringDamper("root", "flap", stiffness=stiffness))
    for each in more:
        model.add(each)
    about_hinge, static = m * length**2 / 3, m * length / 2
    return model, lambda omega: omega**2 * (1.0 + offset * static / about_hinge) + stiffness / about_hinge


def test_driven_rotor_flaps_at_the_closed_form_frequency():
    model, squared = blade(500.0, femb.JointDriver("drive", "mast", motion=lambda t: (30.0 * t, 30.0, 0.0)))
    form = momentum_form(model)
    small = 1e-6
    y, p = state_of(form, [0.0, small], [30.0, 0.0])
    slope = momentum_rates(form, y, p)[1] / small
    inertia = oracle.energy_matrix(form.tree, np.zeros(2))[1, 1]
    np.testing.assert_allclose(-slope / inertia, squared(30.0), rtol=1e-9)


# Partial linearisation


@pytest.mark.slow
def test_derivatives_of_the_energy_matrix():
    """First and second derivatives against a complex step of the source's recursion and of the first derivatives."""
    rng = np.random.default_rng(16)
    tree = momentum_form(random_tree(rng, 4, springs=False)).tree
    n = tree.n
    q = rng.uniform(-1.0, 1.0, n)
    d = EnergyDerivatives(tree, q)
    h = 1e-3
    for m in range(n):
        step = np.zeros(n)
        step[m] = 1.0
        slope = oracle.energy_matrix(tree, q + 1j * TINY * step).imag / TINY
        first = np.array([[d.first(i, j, m) for j in range(n)] for i in range(n)])
        np.testing.assert_allclose(first, slope, atol=1e-12)
        for k in range(n):
            other = np.zeros(n)
            other[k] = h
            at = [oracle.energy_matrix(tree, q + s * other + 1j * TINY * step).imag / TINY for s in (-2, -1, 1, 2)]
            bend = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
            second = np.array([[d.second(i, j, m, k) for j in range(n)] for i in range(n)])
            np.testing.assert_allclose(second, bend, atol=1e-9)


def test_expanded_energy_is_right_to_second_order():
    """The error of the kinetic energy falls with the third power of the small coordinates and rates together."""
    rng = np.random.default_rng(17)
    tree = momentum_form(random_tree(rng, 5, springs=False)).tree
    small = [name for k, name in enumerate(tree.names) if k % 2]
    places = [tree.index(name) for name in small]
    q, rate = rng.uniform(-1.0, 1.0, tree.n), rng.standard_normal(tree.n)

    def error(size, expanded):
        x, v = q.copy(), rate.copy()
        x[places] *= size
        v[places] *= size
        return abs(v @ (oracle.energy_matrix(tree, x) - expanded(x)) @ v)

    def frozen(x):
        x = x.copy()
        x[places] = 0.0
        return oracle.energy_matrix(tree, x)

    consistent = [error(size, lambda x: expanded_energy_matrix(tree, x, small)) for size in (1e-2, 5e-3)]
    assert abs(np.log2(consistent[0] / consistent[1]) - 3.0) < 0.1
    assert np.log2(error(1e-2, frozen) / error(5e-3, frozen)) < 1.2


def test_linearised_blade_stiffens_with_its_rotation():
    model, squared = blade(500.0)
    motion = small_motion(model, ["flap.angle"], rate={"mast.angle": 30.0})
    np.testing.assert_allclose(motion.stiffness / motion.mass, squared(30.0), rtol=1e-9)
    np.testing.assert_allclose(np.abs(motion.eigenvalues().imag), np.sqrt(squared(30.0)), rtol=1e-9)
    # without the second-order terms next to nothing of it is left
    still = small_motion(model, ["flap.angle"])
    assert (still.stiffness / still.mass).item() < 0.06 * squared(30.0)


def test_linearised_equations_are_those_of_the_full_ones():
    """force - damping x' - stiffness x over mass, against accelerations with the large coordinates driven."""
    rng = np.random.default_rng(18)
    model = random_tree(rng, 4, kinds=NAMED)
    places_of = coordinates_of(model)
    for k, (joint, coordinate) in enumerate(places_of):
        a, b = rng.uniform(0.5, 2.0, 2)

        def law(c, rate, a=a, b=b):
            return a * np.sin(c + 0.2) + b * rate * (1.0 + c), a * np.cos(c + 0.2) + b * rate, b * (1.0 + c)

        model.add(
            femb.JointSpringDamper(f"law {k}", joint, coordinate, stiffness=0.7, damping=0.2, free=0.4, force=law)
        )
    tree = momentum_form(model).tree
    n = tree.n
    small = [name for k, name in enumerate(tree.names) if k % 3]
    places = [tree.index(name) for name in small]
    q, rate = rng.uniform(-1.0, 1.0, n), rng.standard_normal(n)
    q[places], rate[places] = 0.0, 0.0
    motion = small_motion(model, small, q, rate)
    for joint, coordinate in places_of:
        if (name := f"{joint}.{coordinate}") not in small:
            given = 0.0, rate[tree.index(name)], 0.0
            model.add(femb.JointDriver(f"drive {name}", joint, lambda t, given=given: given, coordinate))
    form = momentum_form(model)

    def inertial(x, v):
        """mass(0) times the small accelerations."""
        at, moving = q.copy(), rate.copy()
        at[places], moving[places] = x, v
        A = oracle.energy_matrix(tree, at)[np.ix_(places, places)]
        return A @ accelerations_of(form, *state_of(form, at, moving)).second[places]

    zero = np.zeros(len(places))
    scale = np.abs(motion.stiffness).max()
    np.testing.assert_allclose(inertial(zero, zero), motion.force, atol=1e-10 * scale)
    h = 1e-3
    weights = np.array([1.0, -8.0, 8.0, -1.0]) / (12.0 * h)
    for b in range(len(places)):
        e = np.eye(len(places))[b]
        by_x = weights @ [inertial(s * h * e, zero) for s in (-2, -1, 1, 2)]
        by_v = weights @ [inertial(zero, s * h * e) for s in (-2, -1, 1, 2)]
        np.testing.assert_allclose(by_v, -motion.damping[:, b], atol=1e-8 * scale)
        np.testing.assert_allclose(by_x, -motion.stiffness[:, b], atol=1e-8 * scale)


def test_partial_linearisation_refuses_what_it_cannot_know():
    with pytest.raises(ModelError, match=r"loads\.push: partial linearisation knows"):
        small_motion(double_pendulum(femb.Load("push", body="one", force=(1.0, 0, 0))), ["one.angle"])
    message = r"springs\.law\.force: got 0\.0, but partial linearisation needs \(force, by coordinate, by rate\)"
    with pytest.raises(ModelError, match=message):
        small_motion(double_pendulum(femb.JointSpringDamper("law", "one", force=lambda c, rate: 0.0)), ["one.angle"])
    refuses("free body 'bus'", small_motion, satellite(), ["left yoke.angle"])


# Trajectories


def double_pendulum(*more):
    """Two uniform links of 1 kg and 1 m under gravity along -y."""
    model = femb.Model("double pendulum", gravity=(0.0, -9.81, 0.0))
    model.add(femb.Ground())
    end = femb.JointEnd("ground", axis=Z, reference=X)
    for name in ("one", "two"):
        model.add(femb.RigidBody(name, 1.0, (1e-3, 1 / 12, 1 / 12), center_of_mass=(0.5, 0, 0)))
        model.add(femb.Revolute(name, end, femb.JointEnd(name, axis=Z, reference=X)))
        end = femb.JointEnd(name, at=(1, 0, 0), axis=Z, reference=X)
    for each in more:
        model.add(each)
    return model


def absolute_angles(t, x):
    """Lagrange's equations of the double pendulum in angles from the downward vertical."""
    a, b, da, db = x
    m, length, g = 1.0, 1.0, 9.81
    cos, sin = np.cos(a - b), np.sin(a - b)
    M = m * length**2 * np.array([[4 / 3, 0.5 * cos], [0.5 * cos, 1 / 3]])
    f = (
        m
        * length
        * np.array(
            [-0.5 * length * sin * db**2 - 1.5 * g * np.sin(a), 0.5 * length * sin * da**2 - 0.5 * g * np.sin(b)]
        )
    )
    return np.concatenate([[da, db], np.linalg.solve(M, f)])


@pytest.mark.slow
def test_double_pendulum_is_lagranges():
    form = momentum_form(double_pendulum())
    start = np.array([1.2, 0.5, 0.3, -0.4])
    state = state_of(form, [start[0] - np.pi / 2, start[1] - start[0]], [start[2], start[3] - start[2]])
    words = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    rates = rates_of(form)
    got = solve_ivp(lambda t, y: rates(t, y[None])[0], (0.0, 5.0), np.concatenate(state), **words).y[:, -1]
    wanted = solve_ivp(absolute_angles, (0.0, 5.0), start, **words).y[:, -1]
    rate = form.rates(got[None, :2], got[None, 2:])[0]
    np.testing.assert_allclose([got[0] + np.pi / 2, got[0] + got[1] + np.pi / 2], wanted[:2], atol=1e-9)
    np.testing.assert_allclose([rate[0], rate.sum()], wanted[2:], atol=1e-9)


@pytest.mark.slow
def test_free_forced_tree_moves_like_newton_and_euler():
    """A branched tree on a free bus, hinge springs and dampers, a follower force and a driven hinge, for one second."""
    rng = np.random.default_rng(14)
    model = random_tree(rng, 4, True, NAMED)
    push = {"force": np.array([3.0, -2.0, 1.0]), "at": np.array([0.2, 0.1, 0.0])}
    model.add(femb.Load("push", body="b3", **push, frame="body"))
    joint, coordinate = coordinates_of(model)[0]
    model.add(femb.JointDriver("drive", joint, lambda t: (1.0 - np.cos(t), np.sin(t), np.cos(t)), coordinate))
    form = momentum_form(model)
    tree, n = form.tree, form.tree.n
    driven = tree.index(f"{joint}.{coordinate}")
    q, rate, e = rng.uniform(-1.0, 1.0, n), 0.5 * rng.standard_normal(n), rng.standard_normal(4)
    rate[driven] = 0.0
    pose = np.concatenate([rng.standard_normal(3), e / np.linalg.norm(e)])
    y, p = state_of(form, q, rate, rng.standard_normal(6), pose)
    motion = form.momentum_equations.motion(y, p)
    on = form.map.frames[form.layout.bodies["b3"]]

    def by_multipliers(t, x):
        q, rate, e = x[:n], x[n : 2 * n], x[2 * n + 3 : 2 * n + 7]
        w, v = x[2 * n + 7 : 2 * n + 10], x[2 * n + 10 :]
        R = rotation_matrix(e / np.linalg.norm(e))
        poses = Poses(tree, q, rate, R, x[2 * n : 2 * n + 3], w, v)
        k = on.segment
        attitude = poses.R[k] @ on.axes
        force = attitude @ push["force"]
        center = tree.center[k] if k >= 0 else tree.base.center_of_mass
        arm = poses.R[k] @ (on.origin - center) + attitude @ push["at"]
        wrench = {k: (force, np.cross(arm, force))}
        second, base, _ = newton_euler(tree, poses, q, rate, wrench, driven={driven: np.cos(t)})
        E = np.array([[-e[1], e[0], -e[3], e[2]], [-e[2], e[3], e[0], -e[1]], [-e[3], -e[2], e[1], e[0]]])
        return np.concatenate([rate, second, v, 0.5 * E.T @ w, base])

    def in_momenta(t, x):
        q, v = x[: form.n_q], x[form.n_q :]
        return np.concatenate([form.rates(q[None], v[None])[0], form.acceleration(form.inputs_at(t, q, v), q, v)])

    words = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-11}
    x = np.concatenate([q, motion.rate, y[:7], motion.v[0]])
    wanted = solve_ivp(by_multipliers, (0.0, 1.0), x, **words).y[:, -1]
    got = solve_ivp(in_momenta, (0.0, 1.0), np.concatenate([y, p]), **words).y[:, -1]
    end = form.momentum_equations.motion(got[: form.n_q].copy(), got[form.n_q :].copy())
    np.testing.assert_allclose(end.q, wanted[:n], atol=1e-8)
    np.testing.assert_allclose(end.rate, wanted[n : 2 * n], atol=1e-7)
    np.testing.assert_allclose(got[:7], wanted[2 * n : 2 * n + 7], atol=1e-8)


@pytest.mark.slow
def test_energy_of_the_librating_double_pendulum_has_no_trend():
    form = momentum_form(double_pendulum())
    state = state_of(form, [-np.pi / 2 + 0.5, 0.3])
    lowest = energy(form, *state_of(form, [-np.pi / 2, 0.0]))
    start = energy(form, *state)
    _, states = Collocation(rates_of(form), np.concatenate(state), 0.005).run(100_000, every=50)
    error = np.array([energy(form, y[:2].copy(), y[2:].copy()) for y in states]) - start
    error /= start - lowest
    assert np.abs(error).max() < 1e-9
    first, last = np.abs(error[: len(error) // 10]).max(), np.abs(error).max()
    assert last < 1.5 * first
    slope = np.polyfit(np.linspace(0.0, 1.0, len(error)), error, 1)[0]
    assert abs(slope) < 1e-11


def satellite():
    """A bus with two wings of a yoke and two panels each, on springs with dampers; one to two axes a hinge."""
    model = femb.Model("satellite")
    model.add(femb.RigidBody("bus", 400.0, (90.0, 80.0, 70.0), center_of_mass=(0.0, 0.0, 0.1)))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        parent, y = "bus", 0.8 * sign
        for part, second, mass in (("yoke", None, 6.0), ("inner", Z, 9.0), ("outer", Y, 9.0)):
            name = f"{side} {part}"
            model.add(femb.RigidBody(name, mass, (1.0, 0.4, 1.2), center_of_mass=(0.0, 0.5 * sign, 0.02)))
            at = (0.0, y, 0.0)
            if second is None:
                model.add(femb.Revolute(name, femb.JointEnd(parent, at=at, axis=X), femb.JointEnd(name, axis=X)))
            else:
                model.add(femb.Universal(name, femb.JointEnd(parent, at=at, axis=X), femb.JointEnd(name, axis=second)))
            for each in model.tables["joints"][name].coordinates:
                spring = f"{name} {each.name}"
                model.add(femb.JointSpringDamper(spring, name, each.name, stiffness=40.0, damping=0.1))
            parent, y = name, sign
    return model


def test_free_tree_keeps_its_momenta_to_the_last_bits():
    """L and P are states that nothing changes, and velocities computed from the state carry them to rounding."""
    rng = np.random.default_rng(15)
    form = momentum_form(satellite())
    tree, n_q = form.tree, form.n_q
    y, p, _, _ = random_state(form, rng)
    _, states = Collocation(rates_of(form), np.concatenate([y, p]), 0.01, stages=3).run(400, every=20)
    assert np.ptp(states[:, 7:n_q], axis=0).max() > 1.0
    np.testing.assert_array_equal(states[:, n_q : n_q + 6], np.broadcast_to(p[:6], (21, 6)))
    poses = [form.momentum_equations.motion(y[:n_q].copy(), y[n_q:].copy()) for y in states]
    scale_L = sum(np.abs(np.cross(m.center, m.v[:, 3:])).sum() for m in poses[:1]) + np.abs(p[:3]).max()
    for motion in poses:
        # from the bodies' own velocities, summed without the spatial inertias
        mass = tree.data[:, 0]
        c = motion.center + motion.origin_of_base
        v = motion.v[:, 3:] + np.cross(motion.v[:, :3], motion.center)
        inertia = motion.R @ tree.data[:, 4:13].reshape(-1, 3, 3) @ np.swapaxes(motion.R, 1, 2)
        P = mass @ v
        L = np.sum(np.cross(c, mass[:, None] * v) + np.einsum("kij,kj->ki", inertia, motion.v[:, :3]), axis=0)
        np.testing.assert_allclose(P, p[3:6], rtol=0.0, atol=1e-13 * np.abs(mass[:, None] * v).sum())
        np.testing.assert_allclose(L, p[:3], rtol=0.0, atol=1e-13 * scale_L)
    lengths = np.linalg.norm(states[:, 3:7], axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=0.0, atol=1e-13)


# Gauss steppers


@pytest.mark.parametrize(("stages", "steps"), [(2, (20, 40)), (3, (40, 80))])
def test_gauss_orders(stages, steps):
    form = momentum_form(double_pendulum())
    y, rates = np.concatenate(state_of(form, [-0.3, 0.4], [0.5, -0.2])), rates_of(form)
    fine = Collocation(rates, y, 1.0 / 400, stages=3).run(400)[1][-1]
    errors = [np.abs(Collocation(rates, y, 1.0 / n, stages).run(n)[1][-1] - fine).max() for n in steps]
    assert abs(np.log2(errors[0] / errors[1]) - 2 * stages) < 0.35, errors


@pytest.mark.slow
@pytest.mark.parametrize("stages", slow_but([2], [2, 3]))
def test_gauss_is_symmetric_and_keeps_quadratic_invariants(stages):
    form = momentum_form(double_pendulum())
    y, rates = np.concatenate(state_of(form, [-0.3, 0.4], [0.5, -0.2])), rates_of(form)
    there = Collocation(rates, y, 0.02, stages).run(50)[1][-1]
    back = Collocation(lambda t, Y: -rates(t, Y), there, 0.02, stages).run(50)[1][-1]
    np.testing.assert_allclose(back, y, rtol=0.0, atol=1e-12)

    def free_body(t, w):
        inertia = np.array([1.0, 2.0, 3.0])
        return np.cross(inertia * w, w) / inertia

    _, w = Collocation(free_body, np.array([1.0, 0.1, 1.2]), 0.05, stages).run(2000)
    for weights in ([1.0, 2.0, 3.0], [1.0, 4.0, 9.0]):
        value = w**2 @ weights
        np.testing.assert_allclose(value, value[0], rtol=5e-14)


@pytest.mark.parametrize("stages", [2, 3])
def test_gauss_with_newton_steps_over_stiffness(stages):
    """y' = K (cos t - y): fixed-point iteration cannot solve the stages of such a step, Newton's can."""
    K = np.diag([1e6, 1.0])

    def rates(t, Y):
        return (np.cos(t)[:, None] - Y) @ K if np.ndim(t) and len(t) > 1 else (np.cos(t[0]) - Y) @ K

    start = np.ones(2)
    got = Collocation(rates, start, 0.05, stages, jacobian=lambda t, y: -K).run(40)[1][-1]
    exact = 0.5 * (np.cos(2.0) + np.sin(2.0)) + 0.5 * np.exp(-2.0)
    np.testing.assert_allclose(got[1], exact, rtol=1e-6)
    with pytest.raises(SolveError, match=r"stages of the Gauss step of 0.05 s at t = 0 s did not settle"):
        Collocation(rates, np.array([2.0, 2.0]), 0.05, stages).step()


@pytest.mark.parametrize("stages", [2, 3])
def test_gauss_carries_the_rounding_of_its_sums(stages):
    """Equal small increments of a large number: plain sums lose the same digits every step, 1e-10 and more in all."""
    stepper = Collocation(lambda t, Y: np.full_like(Y, 1.0 / 3.0), np.array([1e3]), 0.1, stages)
    for _ in range(12_000):
        stepper.step()
    assert abs(stepper.y[0] - 1.4e3) < 1e-12


def test_components_that_are_rounding_do_not_hold_up_the_stages():
    """The third component is what cancellation leaves: it never settles in proportion to itself."""

    def rates(t, Y):
        noise = ((Y[:, 0] + 3.0) - 3.0 - Y[:, 0]) + ((Y[:, 1] + 7.0) - 7.0 - Y[:, 1])
        return np.stack([Y[:, 1], -Y[:, 0], noise], axis=1)

    stepper = Collocation(rates, np.array([1.0, 0.0, 0.0]), 0.1, stages=3)
    _, states = stepper.run(1000)
    assert 0.0 < np.abs(states[:, 2]).max() < 1e-13
    np.testing.assert_allclose((states[:, :2] ** 2).sum(axis=1), 1.0, rtol=1e-14)
    assert stepper.statistics.evaluations < 60 * 1000


def test_gauss_refuses_what_it_cannot_do():
    refuses("stages: got 4, wanted 2", Collocation, lambda t, Y: -Y, np.ones(1), 0.1, stages=4, error=SolveError)
    refuses("must be greater than 0", Collocation, lambda t, Y: -Y, np.ones(1), 0.0, error=SolveError)


@both_bases
def test_gauss_with_newton_steps_over_stiff_hinges(free):
    """Springs of 1e4 rad/s under steps of 2 ms: the stages settle, and the motion is that with the hinges rigid."""

    def tree(rigid):
        model = femb.Model("stiff", gravity=(0.0, 0.0, -9.81))
        model.add(femb.RigidBody("bus", 5.0, (1.0, 1.2, 0.9)) if free else femb.Ground())
        words = {"mass": 1.0, "inertia": (0.01, 0.08, 0.08), "center_of_mass": (0.5, 0, 0)}
        model.add(femb.RigidBody("swing", **words))
        model.add(
            femb.Revolute("swing", femb.JointEnd("bus" if free else "ground", axis=Y), femb.JointEnd("swing", axis=Y))
        )
        model.add(femb.RigidBody("stiff", **words))
        model.add(femb.Universal("stiff", femb.JointEnd("swing", at=(1, 0, 0), axis=Y), femb.JointEnd("stiff", axis=Z)))
        for word in ("first_angle", "second_angle"):
            model.add(femb.JointSpringDamper(f"stiff {word}", "stiff", word, stiffness=1e7, damping=1e3))
            if rigid:
                model.add(femb.Latch(f"rigid {word}", "stiff", word, time=9.0, engaged=True))
        return momentum_form(model)

    form, rigid = tree(False), tree(True)
    assert form.tree.names[0] == "swing.angle"
    q, v = state_of(form, rate=[1.0, 0.0, 0.0])
    n_q, y = form.n_q, np.concatenate([q, v])
    refuses("did not settle", Collocation(rates_of(form), y, 2e-3).run, 100, error=SolveError)
    stepper = Collocation(rates_of(form), y, 2e-3, jacobian=lambda t, y: form.stiff_jacobian(t, y[:n_q], y[n_q:]))
    end = stepper.run(250)[1][-1]
    start = np.concatenate(state_of(rigid, rate=[1.0, 0.0, 0.0]))
    wanted = Collocation(rates_of(rigid), start, 2e-3, stages=3).run(250)[1][-1]
    np.testing.assert_allclose(end[n_q - 3 : n_q], wanted[n_q - 3 : n_q], atol=2e-5)
    assert stepper.statistics.newton_iterations < 12 * 250


# Refusals


def test_ball_of_three_hinges_at_its_singular_angle():
    model = femb.Model("ball")
    model.add(femb.Ground())
    model.add(femb.RigidBody("ball", 1.0, (1.0, 2.0, 2.5), center_of_mass=(0.3, 0.2, 0.1)))
    model.add(femb.Spherical("ball", femb.JointEnd("ground"), femb.JointEnd("ball")))
    form = momentum_form(model)
    at = state_of(form, [0.0, np.pi / 2, 0.0], [1.0, 0.0, 0.5])
    with pytest.raises(TrialError, match=r"ball\.turn_x moves no mass .*ball\.turn_y = 1\.5708.*in a plane"):
        form.rates(at[0][None], at[1][None])
    near = state_of(form, [0.0, np.pi / 2 - 1e-3, 0.0], [1.0, 0.0, 0.5])
    assert np.all(np.isfinite(form.rates(near[0][None], near[1][None])))


def test_names_that_are_not_there():
    model = double_pendulum()
    with pytest.raises(ModelError, match=r"no hinge coordinate is named 'three'; there are 'one\.angle', 'two\.angle'"):
        energy_matrix(model, {"three": 1.0})
    refuses(r"coordinates: got \[0\.0, 0\.0, 0\.0\], wanted 2 numbers", energy_matrix, model, [0.0, 0.0, 0.0])
    refuses(r"coordinates, 'one\.angle': got 'x'", energy_matrix, model, {"one.angle": "x"})


def test_bodies_that_do_not_move():
    model = of_parts(
        femb.Ground(), femb.RigidBody("a", 1.0, 1.0), femb.Fixed("weld", femb.JointEnd("ground"), femb.JointEnd("a"))
    )
    refuses(r"run\.formulation: .*got none, wanted at least one joint with a coordinate", momentum_form, model)


def test_joints_with_several_coordinates_are_strings_of_massless_segments():
    model = femb.Model("pan")
    model.add(femb.Ground())
    model.add(femb.RigidBody("pan", 9.0, random_inertia(np.random.default_rng(0))))
    model.add(femb.Universal("pan", femb.JointEnd("ground", axis=X), femb.JointEnd("pan", axis=Z)))
    for word, stiffness in (("first_angle", 8.0), ("second_angle", 40.0)):
        model.add(femb.JointSpringDamper(word, "pan", word, stiffness=stiffness))
    form = momentum_form(model)
    tree = form.tree
    assert tree.names == ("pan.first_angle", "pan.second_angle")
    assert form.map.frames[form.layout.bodies["pan"]].segment == 1
    np.testing.assert_array_equal(tree.mass, [0.0, 9.0])
    np.testing.assert_array_equal(tree.inertia[0], 0.0)
    np.testing.assert_array_equal(tree.stiffness, [8.0, 40.0])
