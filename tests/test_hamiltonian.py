"""Trees in coordinates and momenta against independent formulations, closed forms and invariants.

Oracles: the recursion of the source (complex step gives its exact derivatives), Newton-Euler in maximal coordinates
with multipliers (oracle_tree), Lagrange's equations in absolute angles, and closed forms.
"""

import numpy as np
import pytest
from oracle_tree import Poses, newton_euler, random_inertia, random_state, random_tree, skew
from scipy.integrate import solve_ivp

from femb.base.errors import ModelError, SolveError
from femb.formulations.hamiltonian import (
    Base,
    Drive,
    Functions,
    HamiltonianForm,
    Hinge,
    Load,
    Quadratic,
    Tree,
    TreeBuilder,
    expanded_energy_matrix,
    linearise,
    reference,
)
from femb.formulations.hamiltonian.momentum_kernels import energy_matrix
from femb.formulations.hamiltonian.small import Derivatives
from femb.numerics.rotations import rotation_matrix
from femb.steppers.collocation import Collocation

TINY = 1e-30
both_bases = pytest.mark.parametrize("free", [False, True], ids=["ground", "free"])
both_methods = pytest.mark.parametrize("method", ["dense", "recursive"])


def relative(got, wanted):
    return np.abs(got - wanted).max() / np.abs(wanted).max()


def poses_of(tree, motion):
    return Poses(tree, motion.q, motion.rate, motion.R[0], motion.origin_of_base, motion.v[0, :3], motion.v[0, 3:])


def generalized_velocity(tree, motion):
    """(omega, v of the base's origin, rates): what the energy matrix of the reference multiplies."""
    return np.concatenate([motion.v[0], motion.rate]) if tree.floating else motion.rate


# Energy matrix


@both_bases
def test_reference_recursion_is_the_kinetic_energy_of_moving_positions(free):
    """T from complex-step velocities of mass centres and attitudes, which the recursion never differentiates."""
    rng = np.random.default_rng(1)
    tree = random_tree(rng, 6, free)
    form = HamiltonianForm(tree)
    y, q, rate = random_state(form, rng)
    motion = form.motion(0.0, y)
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
            R[k] = R[h] @ reference.hinge_rotation(tree, k, moving[k])[0].T
        v = (o[k] + R[k] @ center).imag / TINY
        spin = R[k].real.T @ (R[k].imag / TINY)
        w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        energy += 0.5 * mass * v @ v + 0.5 * w @ inertia @ w
    u = generalized_velocity(tree, motion)
    A = reference.energy_matrix(tree, q, motion.R[0])
    np.testing.assert_allclose(0.5 * u @ A @ u, energy, rtol=1e-13)
    np.testing.assert_allclose(motion.kinetic_energy, energy, rtol=1e-13)


@both_bases
def test_composite_energy_matrix_is_the_recursion_of_the_source(free):
    rng = np.random.default_rng(2)
    tree = random_tree(rng, 8, free)
    form = HamiltonianForm(tree)
    y, q, _ = random_state(form, rng)
    motion = form.motion(0.0, y)
    A = np.zeros((6 + tree.n, 6 + tree.n))
    energy_matrix(tree.parent_rows, motion.S, motion.M.copy(), A)
    A = np.tril(A) + np.tril(A, -1).T
    A = A if free else A[6:, 6:]
    wanted = reference.energy_matrix(tree, q, motion.R[0])
    assert relative(A, wanted) < 2e-15
    # a_ij vanishes unless i and j lie on one path
    apart = ~(tree.ancestors | tree.ancestors.T)
    assert apart.any()
    np.testing.assert_array_equal(A[-tree.n :, -tree.n :][apart], 0.0)


def test_energy_matrix_depends_on_outboard_angles_only():
    """a_ij, i inboard of j: no coordinate that is not outboard of i on the path to j, or outboard of j, enters."""
    tree = random_tree(np.random.default_rng(3), 4, sliding=0.0)
    q = np.linspace(-1.0, 1.0, tree.n)
    B = tree.ancestors
    for m in range(tree.n):
        step = np.zeros(tree.n, dtype=complex)
        step[m] = 1j * TINY
        change = reference.energy_matrix(tree, q + step).imag / TINY
        for i in range(tree.n):
            for j in range(i, tree.n):
                enters = B[i, j] and B[i, m] and m != i and (B[m, j] or B[j, m])
                if not enters:
                    assert abs(change[i, j]) < 1e-13, (i, j, m)
    assert np.abs(change).max() > 1e-3  # the last coordinate does enter somewhere


@both_bases
@both_methods
def test_velocities_solve_the_energy_matrix(free, method):
    rng = np.random.default_rng(4)
    for bodies in (1, 3, 9):
        tree = random_tree(rng, bodies, free)
        form = HamiltonianForm(tree, method=method)
        y, q, rate = random_state(form, rng)
        motion = form.motion(0.0, y)
        u = generalized_velocity(tree, motion)
        momenta = reference.energy_matrix(tree, q, motion.R[0]) @ u
        assert relative(y[form.p_slice], momenta[-tree.n :]) < 1e-13
        if free:
            total = np.concatenate(
                [motion.angular_momentum - np.cross(motion.origin_of_base, momenta[3:6]), momenta[3:6]]
            )
            assert relative(total, momenta[:6]) < 1e-13
        assert relative(motion.rate, rate) < 1e-11


@both_bases
@both_methods
def test_rates_of_momenta_are_those_of_newton_and_euler(free, method):
    """p' against (A u)' with accelerations from multipliers, on random trees up to 30 bodies."""
    rng = np.random.default_rng(5)
    for bodies in (1, 2, 5, 12, 30):
        tree = random_tree(rng, bodies, free)
        form = HamiltonianForm(tree, method=method)
        y, q, rate = random_state(form, rng)
        motion = form.motion(0.0, y)
        second, base, _ = newton_euler(tree, poses_of(tree, motion), q, rate)
        u = generalized_velocity(tree, motion)
        a = np.concatenate([base, second]) if free else second
        moving = motion.R[0] + 1j * TINY * skew(motion.v[0, :3]) @ motion.R[0]
        rate_of_A = reference.energy_matrix(tree, q + 1j * TINY * rate, moving).imag / TINY
        wanted = reference.energy_matrix(tree, q, motion.R[0]) @ a + rate_of_A @ u
        assert relative(form.rates(0.0, y[None])[0, form.p_slice], wanted[-tree.n :]) < 1e-11


@both_bases
def test_accelerations_are_those_of_newton_and_euler(free):
    rng = np.random.default_rng(6)
    for bodies in (1, 2, 5, 12, 30):
        tree = random_tree(rng, bodies, free)
        form = HamiltonianForm(tree)
        y, q, rate = random_state(form, rng)
        got = form.accelerations(0.0, y)
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
    tree = random_tree(rng, 5, springs=False, gravity=False)
    form = HamiltonianForm(tree, method="recursive")
    y, q, rate = random_state(form, rng)
    p = y[form.p_slice]
    at_rates, at_momenta = np.empty(tree.n), np.empty(tree.n)
    for m in range(tree.n):
        step = np.zeros(tree.n, dtype=complex)
        step[m] = 1j * TINY
        A = reference.energy_matrix(tree, q + step)
        at_rates[m] = 0.5 * (rate @ A @ rate).imag / TINY
        at_momenta[m] = 0.5 * (p @ np.linalg.solve(A, p)).imag / TINY
    assert relative(form.rates(0.0, y[None])[0, tree.n :], at_rates) < 1e-12
    assert relative(-at_momenta, at_rates) < 1e-12


# Forces


@both_bases
def test_loads_enter_like_forces_on_bodies(free):
    rng = np.random.default_rng(8)
    tree = random_tree(rng, 5, free)
    names = [*tree.bodies, *(["bus"] if free else [])]
    loads, wrench = [], {}
    for name in names:
        words = {word: rng.standard_normal(3) for word in ("force", "torque", "at")}
        loads += [Load(name, **words), Load(name, **words, follower=True, factor=0.7)]
    form = HamiltonianForm(tree, loads)
    y, q, rate = random_state(form, rng)
    got = form.accelerations(0.0, y)
    motion = got.motion
    for load in loads:
        k = tree.body(load.body)
        R = motion.R[k + 1] if load.follower else np.eye(3)
        factor = 0.7 if load.follower else 1.0
        force, torque = factor * R @ load.force, factor * R @ load.torque
        arm = motion.position(load.body) + motion.R[k + 1] @ load.at - motion.origin_of_base - motion.center[k + 1]
        before = wrench.get(k, (np.zeros(3), np.zeros(3)))
        wrench[k] = before[0] + force, before[1] + torque + np.cross(arm, force)
    second, _, _ = newton_euler(tree, poses_of(tree, motion), q, rate, wrench)
    assert relative(got.second, second) < 1e-11
    rates = form.rates(0.0, y[None])[0]
    if free:
        force = sum(f for f, _ in wrench.values()) + tree.data[:, 0].sum() * tree.gravity
        np.testing.assert_allclose(rates[10 + tree.n : 13 + tree.n], force, rtol=1e-12)


@both_bases
def test_energy_balance_of_every_kind_of_force(free):
    """dE/dt = power of loads and generalized forces less that of dampers; springs and potentials store theirs."""
    rng = np.random.default_rng(9)
    tree = random_tree(rng, 5, free)
    n = tree.n
    root = rng.standard_normal((n, n))
    cosine = Functions(lambda q: float(-np.sum(np.cos(q))), lambda q: np.sin(q))
    control = rng.standard_normal(n)
    loads = [Load("b2", force=(1.0, 2.0, 3.0), at=(0.1, 0.2, 0.3), follower=True, factor=lambda t: 1.0 + t)]
    form = HamiltonianForm(
        tree, loads, [Quadratic(root @ root.T, 0.3), cosine], [lambda t, q, rate: control * rate * t]
    )
    y, _, rate = random_state(form, rng)
    t = 0.6
    direction = form.rates(t, y[None])[0]
    h = 1e-4
    change = [form.energy(t, y + k * h * direction) for k in (-3, -2, -1, 1, 2, 3)]
    slope = np.dot(change, [-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / (60.0 * h)
    motion = form.motion(t, y)
    k = tree.body("b2")
    point = motion.position("b2") - motion.origin_of_base + motion.R[k + 1] @ (0.1, 0.2, 0.3)
    velocity = motion.v[k + 1, 3:] + np.cross(motion.v[k + 1, :3], point)
    power = (1.0 + t) * (motion.R[k + 1] @ (1.0, 2.0, 3.0)) @ velocity
    power += t * control @ rate**2 - tree.damping @ rate**2
    np.testing.assert_allclose(slope, power, rtol=1e-9)


def test_momenta_of_wheels_change_by_their_motors_only():
    """An axisymmetric wheel's coordinate is ignorable: p' is the motor's torque, whatever the bus does."""
    builder = TreeBuilder()
    builder.base("bus", 40.0, (3.0, 4.0, 5.0))
    axis = np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0)
    inertia = 0.02 * np.eye(3) + 0.01 * np.outer(axis, axis)
    builder.add("wheel", "bus", hinge=Hinge(axis), mass=2.0, inertia=inertia, at=(0.3, 0.1, 0.0))
    form = HamiltonianForm(builder.build(), forces=[lambda t, q, rate: [0.125]])
    y, _, _ = random_state(form, np.random.default_rng(10), size=100.0)
    assert abs(form.rates(0.0, y[None])[0, -1] - 0.125) < 1e-13


# Driven and latched hinges


@both_bases
@both_methods
def test_driven_hinges_and_their_torques(free, method):
    rng = np.random.default_rng(11)
    tree = random_tree(rng, 6, free)
    chosen = {0: (0.7, -0.4), tree.n // 2: (-1.1, 0.6), tree.n - 1: (0.0, 0.0)}
    drives = [Drive(tree.names[k], lambda t, r=r: r, a) for k, (r, a) in chosen.items()]
    form = HamiltonianForm(tree, drives=drives, method=method)
    y, q, _ = random_state(HamiltonianForm(tree), rng)
    got = form.accelerations(0.0, y)
    rates = form.rates(0.0, y[None])[0]
    for k, (r, _) in chosen.items():
        assert rates[form.q_slice][k] == r
    motion = got.motion
    free_p = [k for k in range(tree.n) if k not in chosen]
    assert relative(motion.p[free_p], y[form.p_slice][free_p]) < 1e-12
    wanted, base, torque = newton_euler(
        tree, poses_of(tree, motion), q, motion.rate, driven={k: a for k, (_, a) in chosen.items()}
    )
    assert relative(got.second, wanted) < 1e-10
    np.testing.assert_allclose(got.drive[list(chosen)], list(torque.values()), rtol=1e-9)
    np.testing.assert_array_equal(got.drive[free_p], 0.0)
    # momenta of the others: (A u)' with these accelerations
    u = generalized_velocity(tree, motion)
    a = np.concatenate([base, wanted]) if free else wanted
    moving = motion.R[0] + 1j * TINY * skew(motion.v[0, :3]) @ motion.R[0]
    slope = reference.energy_matrix(tree, q + 1j * TINY * motion.rate, moving).imag / TINY
    momenta = (reference.energy_matrix(tree, q, motion.R[0]) @ a + slope @ u)[-tree.n :]
    assert relative(rates[form.p_slice][free_p], momenta[free_p]) < 1e-11


def test_latching_is_the_impulse_of_maximal_coordinates():
    """All momenta but the latched hinge's own pass through; the velocity after is that of least change in energy."""
    rng = np.random.default_rng(12)
    tree = random_tree(rng, 5, free=True)
    form = HamiltonianForm(tree)
    y, q, _ = random_state(form, rng)
    before = form.motion(0.0, y)
    k = tree.n // 2
    after = form.latched(tree.names[k]).motion(0.0, y)
    # M (u+ - u-) = B lambda with u+_k = 0 (Gauss's principle for impulses)
    A = reference.energy_matrix(tree, q, before.R[0])
    u = np.concatenate([before.v[0], before.rate])
    row = np.zeros(len(u))
    row[6 + k] = 1.0
    jump = np.linalg.solve(A, row)
    wanted = u - jump * u[6 + k] / jump[6 + k]
    assert relative(np.concatenate([after.v[0], after.rate]), wanted) < 1e-12
    assert after.rate[k] == 0.0
    np.testing.assert_allclose(after.linear_momentum, before.linear_momentum, rtol=1e-12)
    np.testing.assert_allclose(after.angular_momentum, before.angular_momentum, rtol=1e-12)
    assert after.kinetic_energy < before.kinetic_energy


def test_release_goes_on_with_the_same_velocities():
    rng = np.random.default_rng(13)
    tree = random_tree(rng, 4, free=True)
    name = tree.names[1]
    driven = HamiltonianForm(tree, drives=[Drive(name, 0.8)])
    y, _, _ = random_state(HamiltonianForm(tree), rng)
    free, y1 = driven.released(name, 0.0, y)
    one, other = driven.motion(0.0, y), free.motion(0.0, y1)
    assert relative(other.rate, one.rate) < 1e-11
    assert relative(other.v, one.v) < 1e-11
    assert not free.drives


def blade(Omega, stiffness, offset=0.3):
    """A blade flapping at an offset from a hub driven at Omega: flap about -y, up positive."""
    builder = TreeBuilder()
    builder.add("hub", hinge="z", mass=5.0, inertia=(0.1, 0.1, 0.2))
    blade = Hinge((0.0, -1.0, 0.0))
    m, length = 4.0, 3.0
    inertia = (1e-9, m * length**2 / 12, m * length**2 / 12 + 1e-9)
    builder.add(
        "blade",
        "hub",
        hinge=blade,
        mass=m,
        inertia=inertia,
        at=(offset, 0, 0),
        center_of_mass=(length / 2, 0, 0),
        stiffness=stiffness,
    )
    tree = builder.build()
    about_hinge, static = m * length**2 / 3, m * length / 2
    squared = Omega**2 * (1.0 + offset * static / about_hinge) + stiffness / about_hinge
    return HamiltonianForm(tree, drives=[Drive("hub.z", Omega)]), squared


def test_driven_rotor_flaps_at_the_closed_form_frequency():
    form, squared = blade(30.0, 500.0)
    small = 1e-6
    y = form.state({"blade.turn": small})
    slope = form.rates(0.0, y[None])[0, form.p_slice][1] / small
    inertia = reference.energy_matrix(form.tree, np.zeros(2))[1, 1]
    np.testing.assert_allclose(-slope / inertia, squared, rtol=1e-9)


# Partial linearisation


def test_derivatives_of_the_energy_matrix():
    """First and second derivatives against a complex step of the source's recursion and of the first derivatives."""
    rng = np.random.default_rng(16)
    tree = random_tree(rng, 4, springs=False)
    n = tree.n
    q = rng.uniform(-1.0, 1.0, n)
    d = Derivatives(tree, q)
    h = 1e-3
    for m in range(n):
        step = np.zeros(n)
        step[m] = 1.0
        slope = reference.energy_matrix(tree, q + 1j * TINY * step).imag / TINY
        first = np.array([[d.first(i, j, m) for j in range(n)] for i in range(n)])
        np.testing.assert_allclose(first, slope, atol=1e-12)
        for k in range(n):
            other = np.zeros(n)
            other[k] = h
            at = [reference.energy_matrix(tree, q + s * other + 1j * TINY * step).imag / TINY for s in (-2, -1, 1, 2)]
            bend = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
            second = np.array([[d.second(i, j, m, k) for j in range(n)] for i in range(n)])
            np.testing.assert_allclose(second, bend, atol=1e-9)


def test_expanded_energy_is_right_to_second_order():
    """The error of the kinetic energy falls with the third power of the small coordinates and rates together."""
    rng = np.random.default_rng(17)
    tree = random_tree(rng, 5, springs=False)
    small = [name for k, name in enumerate(tree.names) if k % 2]
    places = [tree.index(name) for name in small]
    q, rate = rng.uniform(-1.0, 1.0, tree.n), rng.standard_normal(tree.n)

    def error(size, expanded):
        x, v = q.copy(), rate.copy()
        x[places] *= size
        v[places] *= size
        return abs(v @ (reference.energy_matrix(tree, x) - expanded(x)) @ v)

    def frozen(x):
        x = x.copy()
        x[places] = 0.0
        return reference.energy_matrix(tree, x)

    consistent = [error(size, lambda x: expanded_energy_matrix(tree, x, small)) for size in (1e-2, 5e-3)]
    assert abs(np.log2(consistent[0] / consistent[1]) - 3.0) < 0.1
    assert np.log2(error(1e-2, frozen) / error(5e-3, frozen)) < 1.2


def test_linearised_blade_stiffens_with_its_rotation():
    form, squared = blade(30.0, 500.0)
    motion = linearise(HamiltonianForm(form.tree), ["blade.turn"], rate={"hub.z": 30.0})
    np.testing.assert_allclose(motion.stiffness / motion.mass, squared, rtol=1e-9)
    np.testing.assert_allclose(np.abs(motion.eigenvalues().imag), np.sqrt(squared), rtol=1e-9)
    # without the second-order terms next to nothing of it is left
    still = linearise(HamiltonianForm(form.tree), ["blade.turn"])
    assert (still.stiffness / still.mass).item() < 0.06 * squared


def test_linearised_equations_are_those_of_the_full_ones():
    """force - damping x' - stiffness x over mass, against accelerations with the large coordinates driven."""
    rng = np.random.default_rng(18)
    tree = random_tree(rng, 4, sliding=0.3)
    n = tree.n
    root = rng.standard_normal((n, n))
    potentials = [
        Quadratic(root @ root.T, 0.2),
        Functions(lambda q: float(-np.sum(np.cos(q))), np.sin, lambda q: np.diag(np.cos(q))),
    ]
    small = [name for k, name in enumerate(tree.names) if k % 3]
    places = [tree.index(name) for name in small]
    large = [k for k in range(n) if k not in places]
    q, rate = rng.uniform(-1.0, 1.0, n), rng.standard_normal(n)
    q[places], rate[places] = 0.0, 0.0
    motion = linearise(HamiltonianForm(tree, potentials=potentials), small, q, rate)
    form = HamiltonianForm(tree, potentials=potentials, drives=[Drive(tree.names[k], rate[k]) for k in large])
    plain = HamiltonianForm(tree)

    def inertial(x, v):
        """mass(0) times the small accelerations."""
        at, moving = q.copy(), rate.copy()
        at[places], moving[places] = x, v
        A = reference.energy_matrix(tree, at)[np.ix_(places, places)]
        return A @ form.accelerations(0.0, plain.state(at, moving)).second[places]

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
    form = double_pendulum()
    with pytest.raises(ModelError, match="loads and generalized forces"):
        linearise(HamiltonianForm(form.tree, [Load("one")]), ["one.z"])
    potential = Functions(lambda q: 0.0, lambda q: 0.0 * q)
    with pytest.raises(ModelError, match="gives no hessian"):
        linearise(HamiltonianForm(form.tree, potentials=[potential]), ["one.z"])
    with pytest.raises(ModelError, match="free body 'bus'"):
        linearise(HamiltonianForm(satellite()), ["left yoke.x"])


# Trajectories


def double_pendulum(method="recursive"):
    """Two uniform links of 1 kg and 1 m under gravity along -y."""
    builder = TreeBuilder(gravity=(0.0, -9.81, 0.0))
    words = {"mass": 1.0, "inertia": (0.0, 1 / 12, 1 / 12), "center_of_mass": (0.5, 0, 0), "hinge": "z"}
    builder.add("one", **words)
    builder.add("two", "one", at=(1, 0, 0), **words)
    return HamiltonianForm(builder.build(), method=method)


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


def test_double_pendulum_is_lagranges():
    form = double_pendulum()
    start = np.array([1.2, 0.5, 0.3, -0.4])
    y = form.state([start[0] - np.pi / 2, start[1] - start[0]], [start[2], start[3] - start[2]])
    words = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    got = solve_ivp(lambda t, y: form.rates(t, y[None])[0], (0.0, 5.0), y, **words).y[:, -1]
    wanted = solve_ivp(absolute_angles, (0.0, 5.0), start, **words).y[:, -1]
    rate, _ = form.velocities(5.0, got)
    np.testing.assert_allclose([got[0] + np.pi / 2, got[0] + got[1] + np.pi / 2], wanted[:2], atol=1e-9)
    np.testing.assert_allclose([rate[0], rate.sum()], wanted[2:], atol=1e-9)


def test_free_forced_tree_moves_like_newton_and_euler():
    """A branched tree on a free bus, hinge springs and dampers, a follower force and a driven hinge, for one second."""
    rng = np.random.default_rng(14)
    tree = random_tree(rng, 4, free=True)
    load = Load("b3", force=(3.0, -2.0, 1.0), at=(0.2, 0.1, 0.0), follower=True)
    name, n = tree.names[0], tree.n
    form = HamiltonianForm(tree, [load], drives=[Drive(name, lambda t: np.sin(t), lambda t: np.cos(t))])
    y, q, _ = random_state(HamiltonianForm(tree), rng, size=0.5)
    motion = form.motion(0.0, y)

    def by_multipliers(t, x):
        q, rate, e = x[:n], x[n : 2 * n], x[2 * n + 3 : 2 * n + 7]
        w, v = x[2 * n + 7 : 2 * n + 10], x[2 * n + 10 :]
        R = rotation_matrix(e / np.linalg.norm(e))
        poses = Poses(tree, q, rate, R, x[2 * n : 2 * n + 3], w, v)
        k = tree.body("b3")
        force = poses.R[k] @ load.force
        arm = poses.R[k] @ (tree.origin[k] + load.at - tree.center[k])
        second, base, _ = newton_euler(tree, poses, q, rate, {k: (force, np.cross(arm, force))}, driven={0: np.cos(t)})
        E = np.array([[-e[1], e[0], -e[3], e[2]], [-e[2], e[3], e[0], -e[1]], [-e[3], -e[2], e[1], e[0]]])
        return np.concatenate([rate, second, v, 0.5 * E.T @ w, base])

    words = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-11}
    x = np.concatenate([q, motion.rate, y[:7], motion.v[0]])
    wanted = solve_ivp(by_multipliers, (0.0, 1.0), x, **words).y[:, -1]
    got = solve_ivp(lambda t, y: form.rates(t, y[None])[0], (0.0, 1.0), y, **words).y[:, -1]
    end = form.motion(1.0, got)
    np.testing.assert_allclose(end.q, wanted[:n], atol=1e-8)
    np.testing.assert_allclose(end.rate, wanted[n : 2 * n], atol=1e-7)
    np.testing.assert_allclose(got[:7], wanted[2 * n : 2 * n + 7], atol=1e-8)


@pytest.mark.slow
def test_energy_of_the_librating_double_pendulum_has_no_trend():
    form = double_pendulum()
    y = form.state([-np.pi / 2 + 0.5, 0.3])
    lowest = form.energy(0.0, form.state([-np.pi / 2, 0.0]))
    start = form.energy(0.0, y)
    _, states = Collocation(form.rates, y, 0.005).run(100_000, every=50)
    error = np.array([form.energy(0.0, y) for y in states]) - start
    error /= start - lowest
    assert np.abs(error).max() < 1e-9
    first, last = np.abs(error[: len(error) // 10]).max(), np.abs(error).max()
    assert last < 1.5 * first
    slope = np.polyfit(np.linspace(0.0, 1.0, len(error)), error, 1)[0]
    assert abs(slope) < 1e-11


def satellite():
    """A bus with two wings of a yoke and two panels each, on springs with dampers; one to two axes a hinge."""
    builder = TreeBuilder()
    builder.base("bus", 400.0, (90.0, 80.0, 70.0), (0.0, 0.0, 0.1))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        parent, y = "bus", 0.8 * sign
        for part, hinge, mass in (("yoke", "x", 6.0), ("inner", "xz", 9.0), ("outer", "xy", 9.0)):
            parent = builder.add(
                f"{side} {part}",
                parent,
                hinge=hinge,
                mass=mass,
                inertia=(1.0, 0.4, 1.2),
                at=(0.0, y, 0.0),
                center_of_mass=(0.0, 0.5 * sign, 0.02),
                stiffness=40.0,
                damping=0.1,
            )
            y = sign
    return builder.build()


def test_free_tree_keeps_its_momenta_to_the_last_bits():
    """L and P are states that nothing changes, and velocities computed from the state carry them to rounding."""
    rng = np.random.default_rng(15)
    tree = satellite()
    form = HamiltonianForm(tree)
    y, _, _ = random_state(form, rng)
    _, states = Collocation(form.rates, y, 0.01, stages=3).run(400, every=20)
    assert np.ptp(states[:, form.q_slice], axis=0).max() > 1.0
    n = tree.n
    np.testing.assert_array_equal(states[:, 7 + n : 13 + n], np.broadcast_to(y[7 + n : 13 + n], (21, 6)))
    poses = [form.motion(0.0, y) for y in states]
    scale_L = sum(np.abs(np.cross(m.center, m.v[:, 3:])).sum() for m in poses[:1]) + np.abs(y[7 + n : 10 + n]).max()
    for motion in poses:
        # from the bodies' own velocities, summed without the spatial inertias
        mass = tree.data[:, 0]
        c = motion.center + motion.origin_of_base
        v = motion.v[:, 3:] + np.cross(motion.v[:, :3], motion.center)
        inertia = motion.R @ tree.data[:, 4:13].reshape(-1, 3, 3) @ np.swapaxes(motion.R, 1, 2)
        P = mass @ v
        L = np.sum(np.cross(c, mass[:, None] * v) + np.einsum("kij,kj->ki", inertia, motion.v[:, :3]), axis=0)
        np.testing.assert_allclose(P, y[10 + n : 13 + n], rtol=0.0, atol=1e-13 * np.abs(mass[:, None] * v).sum())
        np.testing.assert_allclose(L, y[7 + n : 10 + n], rtol=0.0, atol=1e-13 * scale_L)
    lengths = np.linalg.norm(states[:, 3:7], axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=0.0, atol=1e-13)


# Gauss steppers


@pytest.mark.parametrize(("stages", "steps"), [(2, (20, 40)), (3, (40, 80))])
def test_gauss_orders(stages, steps):
    form = double_pendulum()
    y = form.state([-0.3, 0.4], [0.5, -0.2])
    fine = Collocation(form.rates, y, 1.0 / 400, stages=3).run(400)[1][-1]
    errors = [np.abs(Collocation(form.rates, y, 1.0 / n, stages).run(n)[1][-1] - fine).max() for n in steps]
    assert abs(np.log2(errors[0] / errors[1]) - 2 * stages) < 0.35, errors


@pytest.mark.parametrize("stages", [2, 3])
def test_gauss_is_symmetric_and_keeps_quadratic_invariants(stages):
    form = double_pendulum()
    y = form.state([-0.3, 0.4], [0.5, -0.2])
    there = Collocation(form.rates, y, 0.02, stages).run(50)[1][-1]
    back = Collocation(lambda t, Y: -form.rates(t, Y), there, 0.02, stages).run(50)[1][-1]
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
    for _ in range(30_000):
        stepper.step()
    assert abs(stepper.y[0] - 2e3) < 1e-12


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
    with pytest.raises(SolveError, match="stages: got 4, wanted 2"):
        Collocation(lambda t, Y: -Y, np.ones(1), 0.1, stages=4)
    with pytest.raises(SolveError, match="must be greater than 0"):
        Collocation(lambda t, Y: -Y, np.ones(1), 0.0)


@both_bases
def test_gauss_with_newton_steps_over_stiff_hinges(free):
    """Springs of 1e4 rad/s under steps of 2 ms: the stages settle, and the motion is that with the hinges rigid."""
    builder = TreeBuilder(gravity=(0.0, 0.0, -9.81))
    parent = builder.base("bus", 5.0, (1.0, 1.2, 0.9)) if free else None
    words = {"mass": 1.0, "inertia": (0.01, 0.08, 0.08), "center_of_mass": (0.5, 0, 0)}
    builder.add("swing", parent, hinge="y", **words)
    builder.add("stiff", "swing", hinge="yz", at=(1, 0, 0), stiffness=1e7, damping=1e3, **words)
    tree = builder.build()
    form = HamiltonianForm(tree)
    y = form.state(rate={"swing.y": 1.0})
    with pytest.raises(SolveError, match="did not settle"):
        Collocation(form.rates, y, 2e-3).run(100)
    stepper = Collocation(form.rates, y, 2e-3, jacobian=form.jacobian)
    end = stepper.run(250)[1][-1]
    rigid = HamiltonianForm(tree, drives=[Drive("stiff.y"), Drive("stiff.z")])
    wanted = Collocation(rigid.rates, rigid.state(rate={"swing.y": 1.0}), 2e-3, stages=3).run(250)[1][-1]
    np.testing.assert_allclose(end[form.q_slice], wanted[form.q_slice], atol=2e-5)
    assert stepper.statistics.newton_iterations < 12 * 250


# Refusals


def simple_tree(**changes):
    words = {
        "names": ("a", "b"),
        "parent": [-1, 0],
        "axis": np.array([[0, 0, 1.0], [0, 1.0, 0]]),
        "at": np.zeros((2, 3)),
        "mass": np.ones(2),
        "center": np.tile([0.5, 0, 0], (2, 1)),
        "inertia": np.tile(np.eye(3), (2, 1, 1)),
    }
    return Tree(**{**words, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"mass": [1.0, 0.0], "inertia": np.array([np.eye(3), np.zeros((3, 3))])},
            r"segments\.b\.mass: has neither mass",
        ),
        ({"parent": [1, 0]}, r"segments\.a\.parent: hangs on itself \(a -> b -> a\): a closed loop"),
        ({"names": ("a", "a")}, r"segments\.a: is there more than once.*would close a loop"),
        ({"parent": [-1, 2]}, r"segments\.b\.parent: got 2, wanted -1"),
        ({"parent": [-1, 0.5]}, "wanted 2 segment numbers"),
        ({"axis": np.zeros((2, 3))}, r"segments\.a\.axis: .*wanted a direction"),
        ({"mounting": 2.0 * np.tile(np.eye(3), (2, 1, 1))}, r"segments\.a\.mounting: .*rotation matrix"),
        ({"mass": [-1.0, 1.0]}, r"segments\.a\.mass: got -1 kg"),
        ({"inertia": np.tile(np.diag([1.0, 1.0, 3.0]), (2, 1, 1))}, r"segments\.b\.inertia: .*those of no body"),
        ({"stiffness": [0.0, -1.0]}, r"segments\.b\.stiffness: got -1"),
        ({"at": np.zeros((3, 3))}, r"segments\.at: got .* wanted a 2 x 3 array"),
        ({"gravity": (0.0, np.nan, 0.0)}, "gravity: .*finite"),
        ({"bodies": {"x": 5}}, r"bodies\.x: got segment 5"),
        ({"names": ()}, "at least one segment"),
    ],
)
def test_trees_that_cannot_be(changes, message):
    with pytest.raises(ModelError, match=message):
        simple_tree(**changes)


def test_parents_come_first():
    words = {"names": ("a", "b", "c"), "parent": [-1, 2, 0]}
    three = {"axis": np.eye(3), "at": np.zeros((3, 3)), "mass": np.ones(3), "center": np.zeros((3, 3))}
    with pytest.raises(ModelError, match=r"segments\.b\.parent: got 2 \('c'\), which comes after it"):
        Tree(**words, **three, inertia=np.tile(np.eye(3), (3, 1, 1)))


def test_every_problem_is_reported_at_once():
    with pytest.raises(ModelError) as caught:
        simple_tree(mass=[-1.0, 1.0], axis=np.zeros((2, 3)), stiffness=[0.0, -1.0])
    assert len(caught.value.problems) == 4


def test_builder_refuses_by_name():
    builder = TreeBuilder()
    builder.base("bus", 1.0, 1.0)
    words = {"hinge": "x", "mass": 1.0, "inertia": 1.0}
    builder.add("arm", "bus", **words)
    with pytest.raises(
        ModelError, match=r"bodies\.arm: already hangs on a hinge; a second one, to 'bus', would close a loop"
    ):
        builder.add("arm", "bus", **words)
    with pytest.raises(ModelError, match=r"bodies\.leg\.parent: got 'hip'; bodies so far: 'bus', 'arm'"):
        builder.add("leg", "hip", **words)
    with pytest.raises(ModelError, match=r"bodies\.leg\.hinge: got 'w'"):
        builder.add("leg", "arm", **{**words, "hinge": "w"})
    with pytest.raises(ModelError, match=r"bodies\.leg\.stiffness: .*wanted one number or 2"):
        builder.add("leg", "arm", **{**words, "hinge": "xy"}, stiffness=(1.0, 2.0, 3.0))
    with pytest.raises(ModelError, match=r"bodies\.leg\.hinge: axis: got \(1, 2\), wanted 3 numbers"):
        builder.add("leg", "arm", **{**words, "hinge": Hinge((1, 2))})
    with pytest.raises(ModelError, match=r"bodies\.leg\.hinge: got 3"):
        builder.add("leg", "arm", **{**words, "hinge": 3})
    with pytest.raises(ModelError, match=r"bodies\.leg\.inertia: got 'heavy'"):
        builder.add("leg", "arm", **{**words, "inertia": "heavy"})
    with pytest.raises(ModelError, match=r"bodies\.leg\.rest: got 'x', wanted one number or 1"):
        builder.add("leg", "arm", **words, rest="x")
    with pytest.raises(ModelError, match=r"bodies\.leg\.at"):
        builder.add("leg", "arm", **words, at=(1.0, 2.0))
    with pytest.raises(ModelError, match=r"bodies\.x\.mass: .*greater than 0"):
        Base("x", -1.0, 1.0)
    builder.add("tip", "arm", hinge="xy", mass=0.0, inertia=0)
    with pytest.raises(ModelError, match=r"segments\.tip\.y\.mass: has neither mass nor inertia"):
        builder.build()


@both_methods
def test_ball_of_three_hinges_at_its_singular_angle(method):
    builder = TreeBuilder()
    builder.add("ball", hinge="zyx", mass=1.0, inertia=(1.0, 2.0, 2.5), center_of_mass=(0.3, 0.2, 0.1))
    form = HamiltonianForm(builder.build(), method=method)
    y = form.state({"ball.y": np.pi / 2}, {"ball.z": 1.0, "ball.x": 0.5})
    with pytest.raises(SolveError, match=r"hinge coordinate 'ball\.z' moves no mass .*ball\.y = 1\.5708.*in a plane"):
        form.rates(0.0, y[None])
    near = form.state({"ball.y": np.pi / 2 - 1e-3}, {"ball.z": 1.0, "ball.x": 0.5})
    assert np.all(np.isfinite(form.rates(0.0, near[None])))


@both_methods
def test_coaxial_hinges_are_named(method):
    builder = TreeBuilder()
    builder.add("shaft", hinge="zz", mass=1.0, inertia=1.0)
    form = HamiltonianForm(builder.build(), method=method)
    with pytest.raises(SolveError, match=r"'shaft\.z1' moves no mass"):
        form.rates(0.0, form.state()[None])


def test_names_that_are_not_there():
    form = double_pendulum()
    with pytest.raises(ModelError, match=r"no hinge coordinate is named 'three'; there are 'one\.z', 'two\.z'"):
        form.state({"three": 1.0})
    with pytest.raises(ModelError, match="no segment carries a body named 'three'"):
        HamiltonianForm(form.tree, [Load("three")])
    with pytest.raises(ModelError, match="driven or latched twice"):
        form.latched("one.z").latched("one.z")
    with pytest.raises(ModelError, match="neither driven nor latched"):
        form.released("one.z", 0.0, form.state())
    with pytest.raises(ModelError, match=r"coordinates: got \[0\.0, 0\.0, 0\.0\], wanted 2 numbers"):
        form.state([0.0, 0.0, 0.0])
    with pytest.raises(ModelError, match=r"load on 'one', force: got \(1\.0, 2\.0\), wanted 3 numbers"):
        HamiltonianForm(form.tree, [Load("one", force=(1.0, 2.0))])
    with pytest.raises(ModelError, match=r"position of the base: .*wanted 3 numbers"):
        form.state(position=(1.0,))
    with pytest.raises(ModelError, match="symmetric matrix"):
        Quadratic(np.array([[1.0, 2.0], [0.0, 1.0]]))


def test_massless_strings_are_inserted_where_a_hinge_has_several_degrees():
    builder = TreeBuilder()
    builder.add("pan", hinge="xz", mass=9.0, inertia=random_inertia(np.random.default_rng(0)), stiffness=(8, 40))
    tree = builder.build()
    assert tree.names == ("pan.x", "pan.z")
    assert dict(tree.bodies) == {"pan": 1}
    np.testing.assert_array_equal(tree.mass, [0.0, 9.0])
    np.testing.assert_array_equal(tree.inertia[0], 0.0)
    np.testing.assert_array_equal(tree.stiffness, [8.0, 40.0])
