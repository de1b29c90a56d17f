"""The contract of formulations over every formulation: its members, and agreement with the System at random states.

Two models that every formulation can be of: a free hub that carries arms, and a chain on the ground of which a hinge is
driven and another latched. A third has a beam, which "hamiltonian" refuses.
"""

import inspect
from functools import cache

import numpy as np
import pytest
from models import refuses

import femb
from femb.base import options
from femb.elements import (
    Beam,
    JointDriver,
    JointEnd,
    JointSpringDamper,
    Latch,
    Load,
    Prismatic,
    Revolute,
    RigidBody,
    Section,
    Universal,
)
from femb.formulations import FORMULATIONS, make_formulation
from femb.formulations.contract import Formulation, ImplicitFormulation
from femb.profiles import Sine
from femb.steppers import methods_of
from femb.system.system import System

X, Y, Z = np.eye(3)
T = 0.3


def satellite():
    """A free hub with an arm on two axes and a slider, springs, and forces of time and state."""
    model = femb.Model("satellite", gravity=(0.1, 0.2, -0.5))
    hub = RigidBody(
        "hub", mass=4.0, inertia=(1.0, 1.5, 2.0), center_of_mass=(0.1, -0.2, 0.05),
        velocity=(0.1, 0.2, -0.3), angular_velocity=(0.3, -0.2, 0.5),
    )  # fmt: skip
    model.add(hub)
    model.add(RigidBody("arm", mass=1.0, inertia=(0.2, 0.3, 0.4), center_of_mass=(0.5, 0.0, 0.1)))
    model.add(RigidBody("slider", mass=0.7, inertia=(0.1, 0.2, 0.15)))
    model.add(Universal("cardan", JointEnd("hub", at=(0.5, 0, 0), axis=Z, reference=X), JointEnd("arm", axis=Y)))
    model.add(Prismatic("rail", JointEnd("hub", at=(0, 0.4, 0), axis=Y), JointEnd("slider", axis=Y), rates=(0.2,)))
    model.add(JointSpringDamper("spring", joint="rail", stiffness=5.0, damping=0.3))
    model.add(Load("thrust", body="slider", force=(1.0, 0.5, 0.2), frame="body", profile=Sine(1.0, 0.3, phase=0.7)))
    model.add(Load("control", body="arm", force=lambda t, state: np.sin(t) - 0.3 * state.bodies["arm"].velocity))
    return model


def chain():
    """Three bodies on the ground: a driven hinge, a free one, and one that a latch may hold."""
    model = femb.Model("chain", gravity=(0.0, 0.0, -9.81))
    above, at = "ground", np.zeros(3)
    for name, axis in (("one", X), ("two", Y), ("three", X)):
        model.add(RigidBody(name, mass=1.0, inertia=(0.2, 0.3, 0.25), center_of_mass=(0.05, 0.0, -0.3)))
        model.add(Revolute(f"hinge {name}", JointEnd(above, at=at, axis=axis), JointEnd(name, axis=axis)))
        above, at = name, np.array([0.0, 0.0, -0.6])
    model.add(JointSpringDamper("damper", joint="hinge two", damping=0.4, stiffness=2.0))
    model.add(JointDriver("motor", "hinge one", Sine(0.4, 0.5)))
    model.add(Latch("lock", "hinge three", time=100.0))
    return model


def boom():
    """A free hub with a soft beam that carries a point mass, and an arm."""
    model = femb.Model("boom")
    words = {"area": 1e-3, "second_moments": (2e-7, 1e-7), "torsion_constant": 3e-7, "density": 2000.0, "damping": 0.01}
    section = Section("tube", youngs_modulus=1e8, shear_modulus=4e7, **words)
    hub = model.add(RigidBody("hub", mass=4.0, inertia=(1.0, 1.5, 2.0), angular_velocity=(0.3, -0.2, 0.5)))
    model.add(Beam("mast", section=section, length=1.0, elements=2, start=hub.at((0.1, 0, 0), direction=X)))
    model.add(RigidBody("arm", mass=1.0, inertia=(0.2, 0.3, 0.4), center_of_mass=(0.5, 0.0, 0.1)))
    model.add(Revolute("hinge", JointEnd("hub", at=(0, 0.2, 0), axis=Z), JointEnd("arm", axis=Z), rates=(0.4,)))
    return model


MODELS = {"satellite": satellite, "chain": chain, "boom": boom}
RELATIVE = ("fixed", "body", "angles")
PAIRS = [
    (name, model)
    for model in MODELS
    for name in (*FORMULATIONS, *(f"relative, {speeds}" for speeds in RELATIVE))
    if (name, model) != ("hamiltonian", "boom")
]
every_formulation = pytest.mark.parametrize(("name", "model"), PAIRS)
every_implicit = pytest.mark.parametrize(
    ("name", "model"), [(n, m) for n, m in PAIRS if n in ("velocity", "quaternion", "reduced")]
)


@cache
def made(name, model):
    """A formulation, at the start of its model."""
    if name.startswith("relative"):
        return femb.thompson.relative_kinematics(MODELS[model](), name.split(", ")[1])
    return make_formulation(System(MODELS[model]()), name)


def at_random(name, model, seed=3):
    """A formulation that has counted the turns of its joints, and u, q, v there: near the start, on the constraints."""
    form = made(name, model)
    _, q, v = random_state(form, seed)
    form = form.at(q)
    return form, form.inputs_at(T, q, v), q, v


def random_state(form, seed=3):
    """u, q, v near the start, on the constraints."""
    rng = np.random.default_rng(seed)
    q = form.q0 + 0.3 * rng.standard_normal(form.n_q)
    q[form.n_q - len(form.layout.internal_q) :] *= 0.01
    form.normalise(q)
    v = form.v0 + 0.5 * rng.standard_normal(form.n_v)
    if form is form.system or len(form.q0) == form.system.n_q:
        # a state of the System on its constraints, by way of one that joints leave free
        tree = femb.thompson.relative_kinematics(form.model, "fixed")
        u, q, v = random_state(tree, seed)
        q, v = form.from_system(*(each[0] for each in tree.to_system(q[None], v[None])))
    u = form.inputs_at(T, q, v)
    q, v = form.projected(u, q, v)
    return form.inputs_at(T, q, v), q, v


def in_system(form, q, v):
    return (each[0] for each in form.to_system(q[None], v[None]))


def close(got, wanted, part=1e-9):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=part * (1.0 + np.max(np.abs(wanted), initial=0.0)))


# Members


def members(protocol):
    """The public members of a Protocol and of those it extends: name to function, or None of a property."""
    found = {}
    for base in reversed(protocol.__mro__[:-1]):
        for name, value in vars(base).items():
            if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                found[name] = value if inspect.isfunction(value) else None
    return found


def check_members(instance, protocol):
    """Every member of a Protocol is there, and methods take what the Protocol says, in that order."""
    wanted = members(protocol)
    assert wanted
    for name, function in wanted.items():
        assert hasattr(instance, name), f"{type(instance).__name__} has no {name}"
        value = getattr(instance, name)
        if function is None:
            assert not inspect.ismethod(value), f"{name} is a method"
            continue
        given = list(inspect.signature(value).parameters.values())
        expected = list(inspect.signature(function).parameters.values())[1:]
        assert len(given) >= len(expected), name
        for mine, other in zip(given, expected, strict=False):
            # what the Protocol takes by place alone may have any name; the rest has the Protocol's
            by_place = other.kind is other.POSITIONAL_ONLY and mine.kind is mine.POSITIONAL_OR_KEYWORD
            assert by_place or (mine.kind, mine.name) == (other.kind, other.name), name
            # what a caller may leave out may be left out
            assert mine.default is not inspect.Parameter.empty or other.default is inspect.Parameter.empty, name
        assert all(each.default is not inspect.Parameter.empty for each in given[len(expected) :]), name


@every_formulation
def test_members(name, model):
    form = made(name, model)
    implicit = name in ("velocity", "quaternion", "reduced")
    check_members(form, ImplicitFormulation if implicit else Formulation)
    assert isinstance(form, Formulation)
    assert isinstance(form, ImplicitFormulation) == implicit


def test_members_that_differ_are_seen():
    class Without(System):
        def __init__(self):
            self.equations = None

        def forward(self, u, q):
            return None

    refuses("has no", check_members, Without(), Formulation, error=AssertionError)
    form = made("velocity", "chain")
    with pytest.raises(AssertionError):
        check_members(
            type("Other", (), {name: getattr(form, name) for name in members(Formulation)}), ImplicitFormulation
        )


def test_which_methods_integrate_a_formulation():
    """What Run checks by hand, without importing anything, follows from what steppers and formulations have."""
    assert set(options.FORMULATIONS) == set(FORMULATIONS)
    for name in options.FORMULATIONS:
        assert methods_of(made(name, "chain")) == options.METHODS_OF.get(name, options.METHODS)


# Agreement with the System


@every_formulation
def test_sizes_and_start(name, model):
    form = made(name, model)
    assert form.q0.shape == (form.n_q,)
    assert form.v0.shape == (form.n_v,)
    Q, V = in_system(form, form.q0, form.v0)
    close(Q, form.system.q0)
    close(V, form.system.v0)
    assert form.breakpoints == form.system.breakpoints
    assert form.inputs_of_state == form.system.inputs_of_state
    assert (form.model, form.layout) == (form.system.model, form.system.layout)
    assert form.system.system is form.system


@every_formulation
def test_states_go_to_the_system_and_back(name, model):
    form, u, q, v = at_random(name, model)
    Q, V = in_system(form, q, v)
    position, _ = form.system.constraints(u[None], Q[None], V[None])
    close(position, 0.0 * position)
    close(form.system.constraint_rates(u[None], Q[None], V[None]), 0.0 * position)
    back = form.from_system(Q, V)
    again = list(in_system(form, *back))
    quaternions = form.system.coordinates[2]
    for i in quaternions:
        again[0][i : i + 4] *= np.sign(again[0][i : i + 4] @ Q[i : i + 4])
    close(again[0], Q)
    close(again[1], V)
    close(back[1], v)
    many = form.to_system(np.array([form.q0, q]), np.array([form.v0, v]))
    close(many[0][1], Q)
    close(many[1][1], V)


@every_formulation
def test_accelerations(name, model):
    form, u, q, v = at_random(name, model)
    Q, V = in_system(form, q, v)
    close(u, form.system.inputs_at(T, Q, V))
    a, multipliers = form.forward(u, q, v)
    assert a.shape == (form.n_v,)
    assert multipliers.shape == (form.n_c,)
    wanted, reactions = form.system.forward(u, Q, V)
    close(form.accelerations_to_system(q[None], v[None], a[None])[0], wanted, 1e-8)
    close(form.acceleration(u, q, v), a, 1e-12)
    W = form.budget_rates(u[None], q[None], v[None], multipliers[None])
    assert W.shape == (1, form.system.budget.size)
    close(W, form.system.budget_rates(u[None], Q[None], V[None], reactions[None]), 1e-8)


@every_formulation
def test_kinematics(name, model):
    """Rates against the System's along the motion, second rates against differences of rates, tangents as inverse."""
    form, u, q, v = at_random(name, model)
    a = form.acceleration(u, q, v)
    rate, second = form.rates(q[None], v[None])[0], form.second_rates(q[None], v[None], a[None])[0]
    close(form.tangents(q, rate[None])[0], v)

    def slope(of, h=1e-4):
        terms = [w * (of(k * h) - of(-k * h)) for k, w in ((1, 45.0), (2, -9.0), (3, 1.0))]
        return sum(terms) / (60.0 * h)

    Q, V = in_system(form, q, v)
    close(
        slope(lambda h: form.to_system((q + h * rate)[None], v[None])[0][0]),
        form.system.rates(Q[None], V[None])[0],
        1e-8,
    )
    close(slope(lambda h: form.rates((q + h * rate)[None], (v + h * a)[None])[0]), second, 1e-8)
    scaled = q + 0.0
    assert form.normalise(scaled) < 1e-12
    close(scaled, q)


@every_formulation
def test_projection(name, model):
    """A state somewhat off the constraints comes back onto them, near by."""
    form, u, q, v = at_random(name, model)
    rng = np.random.default_rng(5)
    off = q + form.rates(q[None], 1e-4 * rng.standard_normal((1, form.n_v)))[0]
    form.normalise(off)
    on, speeds = form.projected(u, off, v + 1e-4 * rng.standard_normal(form.n_v))
    Q, V = in_system(form, on, speeds)
    position, _ = form.system.constraints(u[None], Q[None], V[None])
    np.testing.assert_allclose(position, 0.0, atol=1e-11)
    np.testing.assert_allclose(form.system.constraint_rates(u[None], Q[None], V[None]), 0.0, atol=1e-9)
    assert np.max(np.abs(on - q)) < 0.02
    again = form.projected(u, on, speeds)
    close(again[0], on, 1e-10)
    close(again[1], speeds, 1e-10)


@every_formulation
def test_named_states_and_discrete_states(name, model):
    form, _, q, v = at_random(name, model)
    Q, V = in_system(form, q, v)
    mine, wanted = form.state(T, q, v), form.system.state(T, Q, V)
    assert mine.time == T
    for body in form.model.bodies:
        if body != "ground":
            for word in ("position", "quaternion", "velocity", "angular_velocity"):
                close(getattr(mine.bodies[body], word), getattr(wanted.bodies[body], word))
    close(mine.coordinates, wanted.coordinates)
    close(form.at(q).system.discrete.angles, form.system.at(Q).discrete.angles)
    latches = {latch.on: 1.0 - form.system.discrete[latch.on] for latch in form.layout.latches}
    discrete = form.system.discrete.replaced(latches)
    other = form.with_discrete(discrete)
    assert type(other) is type(form)
    assert other.system.discrete is discrete
    u = other.inputs_at(T, *other.from_system(Q, V))
    q, v = other.projected(u, *other.from_system(Q, V))
    Q, V = in_system(other, q, v)
    # what engages may want another velocity: the state is on the constraints of the other discrete state
    np.testing.assert_allclose(other.system.constraint_rates(u[None], Q[None], V[None]), 0.0, atol=1e-9)
    a = other.acceleration(u, q, v)
    close(other.accelerations_to_system(q[None], v[None], a[None])[0], other.system.acceleration(u, Q, V), 1e-8)
    if latches:
        assert (other.n_c > form.n_c) == (name not in ("velocity", "quaternion"))


@every_formulation
def test_error_scale(name, model):
    """Groups cover every component once, with positive tolerances; those of rates are over ``atol.time``."""
    form, atol = made(name, model), options.Tolerances(1e-7, 1e-8, 1e-9, time=0.5)
    for (start, size, absolute, rtol), count in zip(form.error_scale(1e-5, atol), (form.n_q, form.n_v), strict=True):
        covered = np.concatenate([np.arange(i, i + n) for i, n in zip(start, np.abs(size), strict=True)])
        assert sorted(covered) == list(range(count))
        assert len(absolute) == len(start)
        assert np.all(absolute > 0.0)
        assert rtol == 1e-5


# Implicit formulations


@every_implicit
def test_equations_and_matrices(name, model):
    """Equations are zero at the accelerations; mass and constraints are their exact derivatives, and solvers solve."""
    form, u, q, v = at_random(name, model)
    a, multipliers = form.forward(u, q, v)
    rng = np.random.default_rng(7)
    x = rng.standard_normal(form.n_v)

    def equations(a, multipliers):
        return form.equations(u[None], q[None], v[None], a[None], multipliers[None])[0]

    close(equations(a, multipliers), np.zeros(form.n_v + form.n_c), 1e-8)
    mass, damping, stiffness = form.matrices(u, q, v, multipliers)

    def product(matrix, x):
        return form.solver.multiply(matrix, np.concatenate([x, np.zeros(form.n_c)]))[: form.n_v]

    change = equations(a + x, multipliers) - equations(a, multipliers)
    close(product(mass, x), change[: form.n_v])
    # the solution of an iteration matrix: speeds x that the constraints admit, with multipliers y
    mu, right = 30.0, np.concatenate([rng.standard_normal(form.n_v), np.zeros(form.n_c)])
    # with the change of coordinates a quaternion's length changes too, which products leave out
    reach = 0.0 if name == "quaternion" else 1.0 / mu
    factors = form.solver.factorise(form.solver.shifted(mass, damping, stiffness, mu, reach))
    found = factors.solve(right.copy())
    x, y = found[: form.n_v], found[form.n_v :]
    forces = mu * product(mass, x) + product(damping, x) + reach * product(stiffness, x)
    forces += (equations(a, multipliers + y) - equations(a, multipliers))[: form.n_v]
    # lengths of quaternions are left out of products: seen in directions that keep them
    Q, V = in_system(form, q, v)
    directions = np.array([form.from_system(Q, rng.standard_normal(len(V)))[1] for _ in range(form.n_v)])
    close(directions @ forces, directions @ right[: form.n_v], 1e-7)
    data = form.solver.shifted(mass, damping, stiffness, mu, 0.0)
    x = form.solver.factorise(data).solve(right.copy())[: form.n_v]
    rows = form.equations(u[None], q[None], (v + x)[None], a[None], multipliers[None])[0] - equations(a, multipliers)
    close(rows[form.n_v :], np.zeros(form.n_c), 1e-7)


@every_implicit
def test_coordinates_follow_from_speeds(name, model):
    """``coordinates`` says which components are rates of speeds, and which quaternions turn with angular velocities."""
    form, _, q, v = at_random(name, model)
    linear_q, linear_v, quaternion_q, omega_v = form.coordinates
    rate = form.rates(q[None], v[None])[0]
    close(rate[linear_q], v[linear_v])
    covered = sorted([*linear_q, *(i + k for i in quaternion_q for k in range(4))])
    assert covered == list(range(form.n_q))
    assert len(quaternion_q) == len(omega_v)
    turned_q, turned_v = form.corotated_frames
    assert turned_v.shape == (len(turned_q), 2)
