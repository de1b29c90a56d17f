"""The reduced form against the velocity form, its source's closed forms, and itself."""

from functools import cache

import numpy as np
import pytest
from long_runs import slow_but
from models import beads, panel_on_hub, refuses
from oracles.null_space import null_space, null_space_rate
from oracles.random_trees import KINDS, random_model, random_state

import femb
from femb.formulations.reduced import ReducedForm, Root
from femb.formulations.reduced.matrices import matrices_of, rows
from femb.numerics.kinematics import error_norm
from femb.system.system import System

EACH = [pytest.param((kind,), id=kind.kind) for kind in KINDS]
SHAPES = [*EACH, pytest.param(KINDS, id="all")]
ROOTS = [Root(), Root("center_of_mass"), Root((0.3, -0.2, 0.5)), Root("center_of_mass", "body"), Root(velocity="body")]


def loaded(rng, bodies, kinds=KINDS, ground=True):
    """A random tree with springs and dampers between bodies and at joints, gravity and a load in body axes."""
    model = random_model(rng, bodies, kinds, ground)
    for name, joint in list(model.tables["joints"].items()):
        for each in joint.coordinates:
            values = {"stiffness": rng.uniform(1, 9), "damping": 0.3}
            model.add(femb.JointSpringDamper(f"{name} {each.name}", name, each.name, **values))
    if bodies > 1:
        ends = [femb.SpringEnd(each, at=rng.standard_normal(3)) for each in ("b0", f"b{bodies - 1}")]
        model.add(femb.SpringDamper("tie", *ends, stiffness=5.0, damping=0.2, free_length=0.3))
    model.add(femb.Load("push", body="b0", force=(1.0, -2.0, 0.5), torque=(0.1, 0.2, -0.4), frame="body"))
    return model


def form_of(seed, bodies=5, kinds=KINDS, ground=True, root=None, make=loaded):
    rng = np.random.default_rng(seed)
    form = ReducedForm(System(make(rng, bodies, kinds, ground), assemble=True), root)
    q, v = random_state(form.tree, rng)
    return form, q, v, form.inputs_at(0.0, q, v)


def shapes(test):
    """Over every joint alone, and trees of 30 bodies with all of them; on the ground and free."""
    test = pytest.mark.parametrize("kinds", SHAPES)(test)
    return pytest.mark.parametrize("ground", [True, False])(test)


def sized(seed, kinds, ground):
    if kinds[0].kind == "fixed" and ground:
        pytest.skip("nothing moves")
    return form_of(seed, 30 if len(kinds) > 1 else 5, kinds, ground)


@shapes
def test_H2_spans_the_null_space(kinds, ground):
    """J H2 = 0, H2 u = v and gamma = J H2' u; H2 = Ha^-1 Hb with its left inverse Hb^+ Ha."""
    form, q, v, u = sized(7, kinds, ground)
    system, (H2, H2_rate) = form.system, form.H2(q, v)
    Q, V = form.to_system(q[None], v[None])
    J = system.jacobian(u, Q[0])
    size = np.max(np.abs(H2))
    assert np.max(np.abs((J @ H2).toarray()), initial=0.0) < 1e-13 * size
    np.testing.assert_allclose(H2 @ v, V[0], atol=1e-13 * np.max(np.abs(V)))
    gamma = system.constraints(u[None], Q, V)[1][0]
    np.testing.assert_allclose(J @ (H2_rate @ v), gamma, atol=1e-12 * np.max(np.abs(gamma), initial=1.0))
    triangular = rows(form, q, v)
    rate = triangular.Hb_rate - triangular.Ha_rate @ H2
    for got, wanted in ((triangular.Ha @ H2, triangular.Hb), (triangular.Ha @ H2_rate, rate)):
        np.testing.assert_allclose(got, wanted, atol=1e-12 * np.max(np.abs(wanted)))
    np.testing.assert_allclose(triangular.H2_inverse() @ H2.toarray(), np.eye(form.n_v), atol=1e-12 * size)


@shapes
def test_H2_and_its_rate_by_axes_and_a_complex_step(kinds, ground):
    form, q, v, _ = sized(11, kinds, ground)
    rate = form.rates(q[None], v[None])[0]
    for got, wanted in zip(form.H2(q, v), (null_space(form.tree, q), null_space_rate(form.tree, q, rate)), strict=True):
        np.testing.assert_allclose(got.toarray(), wanted, atol=1e-12 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("root", ROOTS, ids=str)
def test_roots_of_every_form(root):
    """H2' against the complex step; accelerations of bodies and mechanical power do not know of the root."""
    form, q, v, u = form_of(5, 8, ground=False, root=root)
    rate = form.rates(q[None], v[None])[0]
    for got, wanted in zip(form.H2(q, v), (null_space(form.tree, q), null_space_rate(form.tree, q, rate)), strict=True):
        np.testing.assert_allclose(got.toarray(), wanted, atol=1e-12 * np.max(np.abs(wanted)))
    Q, V = form.to_system(q[None], v[None])
    H2, H2_rate = form.H2(q, v)
    wanted = form.system.acceleration(u, Q[0], V[0])
    np.testing.assert_allclose(
        H2 @ form.acceleration(u, q, v) + H2_rate @ v, wanted, atol=1e-11 * np.max(np.abs(wanted))
    )
    np.testing.assert_allclose(form.tangents(q, rate[None])[0], v, atol=1e-12)
    # q'' is the rate of q', by central differences of order 6 along the motion
    a = form.acceleration(u, q, v)

    def later(h):
        return form.rates((q + h * rate + 0.5 * h * h * second)[None], (v + h * a)[None])[0]

    second = form.second_rates(q[None], v[None], a[None])[0]
    terms = [w * (later(k * 1e-3) - later(-k * 1e-3)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))]
    np.testing.assert_allclose(sum(terms) / 0.06, second, atol=1e-9 * np.max(np.abs(second)))


@shapes
def test_the_same_accelerations_and_multipliers_as_the_velocity_form(kinds, ground):
    """(15) = (8), lambda = H1^T (Q - M v'), and both implicit forms."""
    for seed in range(2):
        form, q, v, u = sized(seed, kinds, ground)
        H2, H2_rate = form.H2(q, v)
        Q, V = form.to_system(q[None], v[None])
        wanted, multipliers = form.system.forward(u, Q[0], V[0])
        close = {"rtol": 0.0, "atol": 1e-11 * np.max(np.abs(wanted))}
        a = form.acceleration(u, q, v)
        np.testing.assert_allclose(H2 @ a + H2_rate @ v, wanted, **close)
        held = {"rtol": 0.0, "atol": 1e-10 * np.max(np.abs(multipliers), initial=1.0)}
        matrices = matrices_of(form, q, v)
        np.testing.assert_allclose(matrices.constraint_vector(), multipliers, **held)
        np.testing.assert_allclose(matrices.implicit(1).solution()["velocity_rates"], wanted, **close)
        second = matrices.implicit(2).solution()
        np.testing.assert_allclose(second["velocity_rates"], wanted, **close)
        np.testing.assert_allclose(second["multipliers"], multipliers, **held)
        np.testing.assert_allclose(second["speed_rates"], a, rtol=0.0, atol=1e-11 * np.max(np.abs(a)))


@shapes
def test_the_reduced_mass_and_forces_do_the_same_work(kinds, ground):
    """H2^T M H2 by composite bodies; u . H2^T f = v . f; kinetic energy of both."""
    form, q, v, _ = sized(3, kinds, ground)
    swept = form.tree.sweep(q[None], v[None])
    H2, _ = form.H2(q, v)
    wanted = (H2.T @ form.system.mass_matrix(swept[0][0]) @ H2).toarray()
    np.testing.assert_allclose(form.mass(swept), wanted, atol=1e-12 * np.max(np.abs(wanted)))
    force = np.random.default_rng(1).standard_normal((1, form.system.n_v))
    np.testing.assert_allclose(form.pulled(swept, force.copy())[0], H2.T @ force[0], atol=1e-11)
    energy = form.system.energy_momentum(*swept[:2])[0, 0]
    assert 0.5 * v @ wanted @ v == pytest.approx(energy, rel=1e-12)


def driven_tree(rng):
    """A tree with drivers of two of its angles, one of them between moving bodies."""
    model = random_model(rng, 5, (femb.Revolute, femb.Universal))
    for k in (0, 4):
        model.add(femb.JointDriver(f"motor {k}", joint=f"j{k}", motion=lambda t: (0.3 * t**2, 0.6 * t, 0.6)))
    return model


def reaching_tree(rng):
    """A tree whose last body a driver keeps at a distance from the ground: its row depends on all coordinates."""
    model = random_model(rng, 4, (femb.Revolute, femb.Universal))
    system = System(model, assemble=True)
    place = system.state(0.0, system.q0, system.v0).bodies["b3"].position
    reach = {"motion": lambda t: (2.0 + 0.3 * t**2, 0.6 * t, 0.6)}
    model.add(
        femb.DistanceDriver("reach", femb.Place("ground", at=place + np.array([2.0, 0, 0])), femb.Place("b3"), **reach)
    )
    return model


EXACT = {
    "hung": lambda: (loaded(np.random.default_rng(3), 8), Root()),
    "free": lambda: (loaded(np.random.default_rng(4), 6, ground=False), Root("center_of_mass")),
    "beams": lambda: (flexible_pendulum(), Root()),
    "driven": lambda: (driven_tree(np.random.default_rng(5)), Root()),
    "points": lambda: (beads(), Root()),
    "reaching": lambda: (reaching_tree(np.random.default_rng(7)), Root()),
}


@pytest.mark.parametrize("name", EXACT)
def test_matrices_are_the_derivatives_of_the_equations(name):
    """(14) and (15) by speeds and coordinates, of rigid and flexible trees in random motion, by differences of order 6.

    Among them the second derivatives of H2, (23) to (27), and the reactions of drivers.
    """
    model, root = EXACT[name]()
    form = ReducedForm(System(model, assemble=True), root)
    rng = np.random.default_rng(6)
    q, v = random_state(form.tree, rng)
    if model.beams:
        q, strains = form.q0 + 0.05 * rng.standard_normal(form.n_q), form.tree.internal[0]
        q[strains] = 1e-3 * rng.standard_normal(strains.stop - strains.start)
        form.normalise(q)
    u, multipliers = form.inputs_at(0.0, q, v), rng.standard_normal(form.n_c)
    a = form.forward(u, q, v)[0]
    mass, damping, stiffness = (
        each if isinstance(each, np.ndarray) else each.toarray() for each in form.matrices(u, q, v, multipliers)
    )

    def left(q, v, a):
        return form.equations(u[None], q[None], v[None], a[None], multipliers[None])[0]

    def slope(f, h):
        return sum(w * (f(k * h) - f(-k * h)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60.0 * h)

    n = form.n_v
    for k, e in enumerate(np.eye(n)):
        rate = form.rates(q[None], e[None])[0]
        pairs = [(stiffness, slope(lambda s: left(q + s * rate, v, a), 1e-3))]  # noqa: B023
        pairs += [(damping, slope(lambda s: left(q, v + s * e, a), 1e-3))]  # noqa: B023
        pairs += [(mass, left(q, v, a + e) - left(q, v, a))]
        for matrix, wanted in pairs:
            size = np.max(np.abs(matrix[:, :n]))
            np.testing.assert_allclose(matrix[:, k], wanted, rtol=0.0, atol=1e-9 * size)


# Runs

METHODS = [("rk", 1e-10, 3e-9), ("radau", 1e-9, 3e-8), ("bdf", 1e-7, 1e-5), ("generalized-alpha", 1e-6, 1e-4)]


def run(model, formulation, method="rk", rtol=1e-10, duration=1.0, count=8, **more):
    options = {"duration": duration, "output_interval": duration / count, "atol": femb.Tolerances(*[0.1 * rtol] * 3)}
    return femb.simulate(model, method=method, formulation=formulation, rtol=rtol, start="assembled", **options, **more)


def differences(one, other):
    """Largest differences of positions, of velocities, and of reactions relative to the largest."""
    places = [np.max(np.abs(one.bodies[name].position - other.bodies[name].position)) for name in one.bodies]
    rates = [np.max(np.abs(one.bodies[name].velocity - other.bodies[name].velocity)) for name in one.bodies]
    forces = [0.0]
    for name in one.joints:
        for word in ("force", "torque"):
            a, b = (getattr(each.joints[name], word) for each in (one, other))
            forces.append(np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(a))))
    return max(places), max(rates), max(forces)


@cache
def loaded_tree(seed, ground):
    """Six bodies, and how they move in the velocity form."""
    model = loaded(
        np.random.default_rng(seed), 6, (femb.Revolute, femb.Universal, femb.Spherical, femb.Prismatic), ground
    )
    return model, run(model, "velocity", rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "rtol", "bound"), slow_but(METHODS[:2], METHODS))
def test_every_stepper_agrees_with_the_velocity_form(method, rtol, bound):
    """Reactions among what agrees; the joints stay closed by themselves."""
    for seed, ground in ((0, True), (4, False)):
        model, reference = loaded_tree(seed, ground)
        got = run(model, "reduced", method, rtol)
        place, rate, force = differences(reference, got)
        assert place < bound
        assert rate < 10.0 * bound
        assert force < 30.0 * bound
        assert np.max(got.audit.constraint_position) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("order", "step"), [(4, 0.025), (6, 0.025)])
def test_gauss_steps_in_angles(order, step):
    """Of fixed length: with half the step, the error is the sixteenth or sixty-fourth."""
    model = wheel(rates=3.0)
    wanted = run(model, "reduced", rtol=1e-13)
    errors = [differences(run(model, "reduced", "gauss", step=h, order=order), wanted)[0] for h in (step, 0.5 * step)]
    assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.1)


def test_energy_and_momentum_in_free_motion():
    """A floating tree of every kind of joint, without forces."""
    model = random_model(np.random.default_rng(8), 12, ground=False, moving=True)
    got = run(model, "reduced", rtol=1e-11, duration=2.0)
    assert np.max(np.abs(got.audit.energy_error)) < 1e-9 * np.max(got.audit.kinetic_energy)
    for momentum in (got.audit.linear_momentum, got.audit.angular_momentum):
        assert np.max(np.abs(momentum - momentum[0])) < 1e-9 * np.max(np.abs(momentum))


def wheel(**axle):
    """A wheel on the ground with a pendulum on its rim."""
    model = femb.Model("wheel", gravity=(0, 0, -9.81))
    model.add(femb.RigidBody("wheel", mass=2.0, inertia=(0.1, 0.1, 0.2)))
    model.add(femb.RigidBody("bob", mass=0.3, inertia=1e-3, center_of_mass=(0, 0, -0.2)))
    model.add(femb.Revolute("axle", femb.JointEnd("ground", axis=(0, 1, 0)), femb.JointEnd("wheel"), **axle))
    model.add(femb.Revolute("pin", femb.JointEnd("wheel", at=(0.3, 0, 0), axis=(0, 1, 0)), femb.JointEnd("bob")))
    return model


def test_angles_count_their_turns():
    model = wheel(rates=6.0 * np.pi)
    got, wanted = (run(model, name, rtol=1e-11) for name in ("reduced", "velocity"))
    angle = got.joints["axle"].coordinates[:, 0]
    assert angle[-1] > 2.0 * np.pi
    np.testing.assert_allclose(angle, wanted.joints["axle"].coordinates[:, 0], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "rtol", "bound"), slow_but(METHODS[:2], METHODS))
def test_drivers_are_kept_rows(method, rtol, bound):
    """The wheel follows a motion: the motor's torque and work are those of the velocity form."""
    model = wheel()
    model.add(femb.JointDriver("motor", joint="axle", motion=lambda t: (3.0 * t**2, 6.0 * t, 6.0)))
    got, wanted = run(model, "reduced", method, rtol), run(model, "velocity", rtol=1e-12)
    np.testing.assert_allclose(got.drivers["motor"].force, wanted.drivers["motor"].force, atol=100.0 * bound)
    place, rate, force = differences(got, wanted)
    assert max(place, 0.1 * rate, 0.01 * force) < bound
    np.testing.assert_allclose(got.joints["axle"].coordinates[:, 0], 3.0 * got.time**2, atol=1e-12)
    assert np.max(np.abs(got.audit.energy_error)) < 10.0 * bound


@pytest.mark.slow
def test_an_orientation_may_be_driven_through_several_joints():
    """The attitude of the last of three bodies: three rows, three of four free directions."""
    model = femb.Model("wrist", gravity=(0, 0, -9.81))
    names = ("ground", "a", "b", "c")
    for k, (joint, axis) in enumerate(
        [(femb.Revolute, (0, 0, 1)), (femb.Revolute, (0, 1, 0)), (femb.Universal, (1, 0, 0))]
    ):
        model.add(femb.RigidBody(names[k + 1], mass=1.0, inertia=0.1, center_of_mass=(0.05, 0, -0.2)))
        model.add(joint(f"j{k}", femb.JointEnd(names[k], at=(0, 0, -0.3), axis=axis), femb.JointEnd(names[k + 1])))
    size = np.array([0.1, 0.2, -0.1])

    def motion(t, k):
        return size[k] * (1.0 - np.cos(t)), size[k] * np.sin(t), size[k] * np.cos(t)

    angles = {f"{word}_angle": lambda t, k=k: motion(t, k) for k, word in enumerate(("first", "second", "third"))}
    model.add(femb.OrientationDriver("lead", femb.Ground().at(), model.bodies["c"].at(), **angles))
    got, wanted = run(model, "reduced", "radau", 1e-9), run(model, "velocity", rtol=1e-11)
    np.testing.assert_allclose(got.drivers["lead"].force, wanted.drivers["lead"].force, atol=1e-6)
    assert max(differences(got, wanted)) < 1e-6


@pytest.mark.parametrize(("method", "rtol", "bound"), slow_but(METHODS[:2], METHODS))
def test_a_latch_becomes_a_kept_row(method, rtol, bound):
    """When it engages, and what energy it takes, as in the velocity form."""
    got, wanted = (run(panel_on_hub(at=0.25), *rest) for rest in (("reduced", method, rtol), ("velocity", "rk", 1e-11)))
    for word in ("time", "energy_loss"):
        path = f"events/latches.lock/{word}"
        np.testing.assert_allclose(got.arrays[path], wanted.arrays[path], rtol=30.0 * bound)
    assert max(differences(got, wanted)) < 100.0 * bound
    held = got.joints["hinge"].coordinates[got.time > got.arrays["events/latches.lock/time"][0]]
    np.testing.assert_allclose(held, 0.25, atol=1e-12)


def flexible_pendulum():
    """A beam clamped to a hub on a hinge, with a body hinged to its tip."""
    model = femb.Model("beams", gravity=(0, 0, -9.81))
    section = femb.Section("s", 1e-4, (2e-8, 1e-8), 1e-8, 2000.0, 1e8, 4e7, damping=1e-3)
    hub = model.add(femb.RigidBody("hub", mass=1.0, inertia=(0.03, 0.02, 0.03)))
    model.add(femb.Beam("arm", section, 1.0, 2, start=hub.at((0.1, 0, 0), direction=(1, 0, 0))))
    model.add(femb.RigidBody("bob", mass=0.2, inertia=1e-3, center_of_mass=(0, 0, -0.1)))
    model.add(femb.Revolute("axle", femb.JointEnd("ground", axis=(0, 1, 0)), femb.JointEnd("hub")))
    model.add(femb.Revolute("pin", femb.JointEnd(beam="arm", node=-1, axis=(0, 1, 0)), femb.JointEnd("bob")))
    return model


@pytest.mark.parametrize("method", slow_but(["rk", "radau"], ["rk", "radau", "bdf", "generalized-alpha"]))
def test_beams_are_in_the_tree_as_free_nodes(method):
    """Bodies hang on hinges, beams on bodies and bodies on beams; multipliers of hinges drop out."""
    model = flexible_pendulum()
    system = System(model)
    form = ReducedForm(system)
    assert form.n_v == system.n_v - system.n_c
    assert form.n_c == 0
    u = np.zeros(system.n_u)
    rng = np.random.default_rng(2)
    q, v = form.q0 + 0.01 * rng.standard_normal(form.n_q), rng.standard_normal(form.n_v)
    form.normalise(q)
    H2, H2_rate = form.H2(q, v)
    Q, V = form.to_system(q[None], v[None])
    wanted = system.acceleration(u, Q[0], V[0])
    got = H2 @ form.acceleration(u, q, v) + H2_rate @ v
    np.testing.assert_allclose(got, wanted, atol=1e-10 * np.max(np.abs(wanted)))
    rtol, bound = {"rk": (1e-9, 1e-8), "radau": (1e-8, 1e-7)}.get(method, (1e-6, 1e-4))
    duration = 0.02
    one = run(model, "reduced", method, rtol, duration, 2)
    other = run(model, "velocity", "radau", 1e-10, duration, 2)
    assert differences(one, other)[0] < bound
    np.testing.assert_allclose(one.beams["arm"].position, other.beams["arm"].position, atol=bound)


def test_point_masses_hang_too():
    model = beads()
    form = ReducedForm(System(model))
    assert form.n_v == 1 + 3 + 3
    got, wanted = run(model, "reduced", rtol=1e-11), run(model, "velocity", rtol=1e-11)
    assert max(differences(got, wanted)) < 1e-7


def test_a_point_mass_beside_a_turned_node_has_no_axes():
    """A joint with turned axes places the mass; the tree gives the system's state back, and its rows hold the joint."""
    model = femb.Model(gravity=(0.3, -9.0, 1.0))
    section = femb.Section("tube", 2e-3, (3e-4, 4e-4), 5e-4, 1.2e3, 5e3, 2e3, damping=1e-2)
    model.add(femb.Beam("boom", section, 1.0, 2, start=femb.Attachment("ground", direction=(1.0, 0.2, 0.0))))
    model.add(femb.PointMass("p", mass=0.4))
    model.add(femb.Spherical("ball", femb.JointEnd(beam="boom", node=-1, at=(0.1, 0.2, 0.0)), femb.JointEnd("p")))
    form = ReducedForm(System(model))
    system, tree = form.system, form.tree
    q = tree.coordinates_at(system.q0)
    u = np.linspace(-0.5, 0.5, form.n_v)
    Q, V = tree.to_system(q[None], u[None])
    np.testing.assert_allclose(Q[0], system.q0, atol=1e-15)
    rates = system.jacobian(system.inputs_at(0.0, Q[0], V[0]), Q[0]) @ V[0]
    np.testing.assert_allclose(rates, 0.0, atol=1e-15)
    got, wanted = (run(model, name, duration=0.02, rtol=1e-9) for name in ("reduced", "velocity"))
    assert max(differences(got, wanted)) < 1e-7


def test_implicit_steps_take_inertial_velocities_alone():
    model = random_model(np.random.default_rng(1), 3, ground=False)
    form = ReducedForm(System(model, assemble=True), Root(velocity="body"))
    with pytest.raises(femb.ModelError, match="velocities in body axes are no rates of coordinates: use 'rk'"):
        _ = form.coordinates


def test_what_cannot_move_is_refused():
    model = femb.Model()
    model.add(femb.RigidBody("block", mass=1.0, inertia=1.0))
    model.add(femb.Fixed("weld", femb.JointEnd("ground"), femb.JointEnd("block")))
    refuses("the joints leave nothing free to move", ReducedForm, System(model))


def test_tolerances_do_not_grow_with_turns():
    """A shaft that has turned a thousand times is known as well as one turned by a radian."""
    form = ReducedForm(System(wheel(rates=3.0)))
    error, scale = np.zeros(form.n_q), form.error_scale(1e-6, femb.Tolerances())[0]
    error[form.tree.coordinate_index[0]] = 1e-8
    for angle, wanted in ((0.0, 1e-7), (0.5, 6e-7), (1.0, 1.1e-6), (2000.0 * np.pi, 1.1e-6)):
        assert error_norm(*scale, error, np.full(form.n_q, angle)) == pytest.approx(1e-8 / wanted, rel=1e-12)


@pytest.mark.slow
def test_explicit_steps_build_no_sparse_matrix(monkeypatch):
    """Twice the steps of a satellite with a hinged panel and a wheel make as many objects of scipy.sparse."""
    from scipy.sparse import csc_array, csr_array

    made = 0
    for kind in (csc_array, csr_array):
        begin = kind.__init__

        def counted(self, *arguments, begin=begin, **words):
            nonlocal made
            made += 1
            begin(self, *arguments, **words)

        monkeypatch.setattr(kind, "__init__", counted)
    model = panel_on_hub(time=50.0)
    model.add(femb.ReactionWheel("wheel", body="hub", axis=(0, 0, 1), spin_inertia=0.05, speed=10.0))
    counts = []
    for duration in (1.0, 2.0):
        made = 0
        results = femb.simulate(
            model, duration=duration, output_interval=0.5, method="rk", formulation="reduced", tableau="rk4", step=0.01
        )
        counts.append(made)
    assert results.statistics["steps"] == 200
    assert counts[0] == counts[1]


def pushed(model):
    """The model with a wheel, whose speed is a coordinate of its own, or without, and a force that the recursion of
    rigid trees does not know."""
    model.add(femb.Load("push", body="hub", torque=(0.1, 0.2, 0.3), frame="body", profile=femb.profiles.Versine(2.0)))
    return model


def with_wheel(model):
    model.add(femb.ReactionWheel("wheel", body="hub", axis=(0, 0, 1), spin_inertia=0.05, speed=10.0, viscous=1e-3))
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    "made", [lambda: pushed(panel_on_hub(time=50.0)), lambda: with_wheel(pushed(panel_on_hub(time=50.0)))]
)
def test_rates_by_bound_kernels_are_those_of_the_methods(made, monkeypatch):
    form = ReducedForm(System(made()))
    rates = form.bound_rates()
    rng = np.random.default_rng(3)
    q, v = form.q0 + 0.1 * rng.standard_normal(form.n_q), rng.standard_normal(form.n_v)
    form.normalise(q)
    u = form.inputs_at(0.7, q, v)
    a, multipliers = form.forward(u, q, v)
    power = form.budget_rates(u[None], q[None], v[None], multipliers[None])[0]
    wanted = np.concatenate([form.rates(q[None], v[None])[0], a, power])
    for _ in range(2):
        rates.y[:], rates.u[0] = np.concatenate([q, v, rng.standard_normal(len(power))]), form.inputs_at(0.7, q, v)
        rates()
        np.testing.assert_allclose(rates.rate, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max())
    # inside steps no method of the form, which allocates arrays, evaluates anything
    calls, forward = [], ReducedForm.forward
    monkeypatch.setattr(ReducedForm, "forward", lambda *x: calls.append(1) or forward(*x))
    options = {"output_interval": 0.5, "method": "rk", "formulation": "reduced", "output": {"motion_only": True}}
    found = femb.simulate(made(), duration=2.0, tableau="rk4", step=0.01, **options)
    assert found.statistics["evaluations"] >= 800
    assert len(calls) <= 5
