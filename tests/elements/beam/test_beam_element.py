"""The beam element and the rigid body against a plain reading of the theory differentiated automatically, on random
strongly deformed states; conservation laws and invariances of the equations of motion."""

from itertools import product

import numpy as np
import pytest
from long_runs import slow_but
from models import of_parts, refuses
from oracles import beam as plain

from femb import Beam, Load, Model, PointMass, RigidBody, Section
from femb.elements import Attachment
from femb.elements.beam import strain as beam_columns
from femb.elements.beam.batch import BeamBatch
from femb.elements.beam.strain import FEW, TWIST_POINTS, TWIST_WEIGHTS
from femb.elements.body.mass_batch import MassBatch
from femb.layout.element import FoldedError
from femb.numerics import rotations
from femb.system.system import System

# The kernels' own quadrature of the parallel transport: with it, oracle and kernels are the same function, and
# their derivatives must agree to rounding.
RULE = (TWIST_POINTS[FEW:], TWIST_WEIGHTS[:, FEW:])
TIGHT = 1e-11
HALF_TURNS = {"y": np.array([0.0, 0.0, 1.0, 0.0]), "z": np.array([0.0, 0.0, 0.0, 1.0])}


def close(got, wanted, tolerance=TIGHT):
    """Largest difference relative to the largest entry."""
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * np.max(np.abs(wanted)))


# Models. Numbers of order one, so that no part of an equation hides behind another.


def section(damping=0.3, moments=(1.3, 0.4)):
    return Section("soft", 1.1, moments, 0.7, 0.9, 2.0, 1.5, damping=damping, polar_moment=1.2)


def one_element(**words):
    model = Model("one", gravity=(0.3, -0.7, 0.5))
    strain = words.pop("strain", "exact")
    start = Attachment(direction=(1, 0, 0))
    model.add(Beam("beam", section=section(**words), length=1.4, elements=1, start=start, strain=strain))
    return model


def with_hub(**words):
    """A hub with an offset mass centre, two beams clamped off its origin at an angle, a mass on a tip."""
    model = Model("hub", gravity=(0.3, -0.7, 0.5))
    inertia = np.array([[2.0, 0.2, -0.1], [0.2, 1.5, 0.3], [-0.1, 0.3, 1.8]])
    hub = model.add(RigidBody("hub", mass=1.7, inertia=inertia, center_of_mass=(0.1, -0.2, 0.15)))
    soft = section(**words)
    right = hub.at((0.3, 0.1, -0.2), direction=(1, 0.4, 0.2), up=(0, 1, 2))
    beam = model.add(Beam("right", section=soft, length=2.4, elements=2, start=right))
    left = hub.at((-0.2, 0.2, 0.1), direction=(0.3, -1, 0.5))
    model.add(Beam("left", section=soft, length=1.1, elements=1, end=left, strain="source"))
    model.add(PointMass("tip", mass=0.6, on=beam.node(-1)))
    return model


def on_ground():
    start = Attachment("ground", at=(0.2, 0.1, 0.0), direction=(1, 1, 0))
    return of_parts(Beam("beam", section=section(), length=2.0, elements=2, start=start), gravity=(0.3, -0.7, 0.5))


def between_bodies(first=(0.2, 0, 0), second=(-0.1, 0.1, 0)):
    a = RigidBody("a", mass=1.2, inertia=(0.5, 0.6, 0.7))
    b = RigidBody("b", mass=0.8, inertia=(0.4, 0.2, 0.3))
    start, end = a.at(first, direction=(1, 0, 0)), b.at(second, direction=(1, 0.2, 0))
    return of_parts(a, b, Beam("beam", section=section(), length=2.0, elements=2, start=start, end=end))


def one_between_bodies():
    """One element whose strains have no free node to belong to."""
    a = RigidBody("a", mass=1.2, inertia=(0.5, 0.6, 0.7))
    b = RigidBody("b", mass=0.8, inertia=(0.4, 0.2, 0.3))
    start, end = a.at((0, 0, 0), direction=(1, 0, 0)), b.at((0, 0, 0), direction=(1, 0, 0))
    return of_parts(a, b, Beam("beam", section=section(), length=1.0, elements=1, start=start, end=end))


def shared_strain():
    model = Model("satellite")
    hub = model.add(RigidBody("hub", mass=1.7, inertia=(0.5, 0.6, 0.7)))
    soft = section()
    for name, sign in (("right", 1.0), ("left", -1.0)):
        start = hub.at((0.2 * sign, 0, 0), direction=(sign, 0, 0))
        model.add(Beam(name, section=soft, length=2.0, elements=1, start=start, share_strain=True))
    return model


def ring():
    """A hub and a body joined by two beams: the couplings form a loop."""
    model = Model("ring")
    hub = model.add(RigidBody("hub", mass=1.7, inertia=(0.5, 0.6, 0.7)))
    body = model.add(RigidBody("body", mass=0.9, inertia=(0.3, 0.4, 0.5), position=(2.0, 0.0, 0.0)))
    soft = section()
    for name, y in (("upper", 0.4), ("lower", -0.4)):
        start, end = hub.at((0.1, y, 0), direction=(1, 0, 0)), body.at((-0.1, y, 0), direction=(1, 0, 0))
        model.add(Beam(name, section=soft, length=1.8, elements=2, start=start, end=end))
    return model


MODELS = {
    "one": one_element, "hub": with_hub, "ground": on_ground, "two bodies": between_bodies, "rod": one_between_bodies,
    "shared": shared_strain, "ring": ring,
}  # fmt: skip
every_model = pytest.mark.parametrize("name", MODELS)


def beams_of(system):
    return next(batch for batch in system.batches if isinstance(batch, BeamBatch))


def general(system, rng, offset=False):
    """Give every element a full symmetric section stiffness, reference strains and, if asked for, a mass axis of its
    own."""
    beams = beams_of(system)
    beams.has_mass_offset = offset
    for row in beams.data:
        half = rng.standard_normal((4, 4))
        row[beam_columns.STIFFNESS : beam_columns.STIFFNESS + 16] = (half @ half.T + np.eye(4)).ravel()
        row[beam_columns.REFERENCE : beam_columns.REFERENCE + 12] = 0.2 * rng.standard_normal(12)
        row[beam_columns.INERTIA : beam_columns.INERTIA + 3] = rng.uniform(0.3, 1.5, 3)
        if offset:
            row[beam_columns.OFFSET : beam_columns.OFFSET + 2] = rng.uniform(0.2, 0.6, 2) * rng.choice([-1.0, 1.0], 2)
    beams.set_rows(beams.ends, beams.data)
    return system


def keep(system, *, elastic=True, damping=True, inertia=True):
    """Switch parts off, so that a small part is not measured against a large one."""
    beams = beams_of(system)
    data = beams.data
    if not damping:
        data[:, beam_columns.DAMPING] = 0.0
    if not elastic:
        data[:, beam_columns.STIFFNESS : beam_columns.STIFFNESS + 16] = 0.0
    if not inertia:
        data[:, beam_columns.MASS : beam_columns.MASS + 4] = 0.0
        for batch in system.batches:
            if isinstance(batch, MassBatch):
                batch.data[:, [0, *range(4, 13)]] = 0.0
    beams.set_rows(beams.ends, data)
    return system


def with_equal_inertias(system):
    beams = beams_of(system)
    data = beams.data.copy()
    data[:, beam_columns.INERTIA + 2] = data[:, beam_columns.INERTIA + 1]
    beams.set_rows(beams.ends, data)
    return system


def deformed(system, rng, turn=20.0):
    """q, v, a: every frame turned by ``turn`` degrees about a random axis (so two nodes up to twice that against each
    other), moved and strained at random, and the whole moved as one body."""
    layout = system.layout
    q = system.q0.copy()
    scale = 0.08 * turn / 20.0
    grounded = any(frame.freedom == 0 for frame in layout.frames)
    whole = np.array([1.0, 0, 0, 0]) if grounded else rotations.normalise(rng.standard_normal(4))
    shift = np.zeros(3) if grounded else rng.standard_normal(3)
    for k, frame in enumerate(layout.frames):
        if frame.freedom:
            i = layout.frame_q[k]
            axis = rng.standard_normal(3)
            own = rotations.exponential(np.deg2rad(turn) * axis / np.linalg.norm(axis))
            position = q[i : i + 3] + scale * rng.standard_normal(3)
            q[i : i + 3] = rotations.rotate(whole, position) + shift
            q[i + 3 : i + 7] = rotations.multiply(whole, rotations.multiply(q[i + 3 : i + 7], own))
    q[layout.internal_q] = scale * rng.standard_normal(len(layout.internal_q))
    return q, rng.standard_normal(system.n_v), rng.standard_normal(system.n_v)


def residual(system, q, v, a, u=None):
    u = np.zeros(system.n_u) if u is None else u
    return system.residual(u[None], q[None], v[None], a[None])[0]


def dense(system, data):
    return system.pattern.to_csc(data).toarray()


beside = pytest.mark.parametrize("offset", [False, True], ids=["on axis", "mass beside axis"])
BESIDE = ("one", "hub", "two bodies")
# At a fixed frame, with a strain that elements share, and held at an offset: the others combine these.
QUICK = (("ground", False), ("shared", False), ("hub", True))
every_model_and_beside = pytest.mark.parametrize(
    ("name", "offset"), slow_but(QUICK, [*((name, False) for name in MODELS), *((name, True) for name in BESIDE)]),
)  # fmt: skip


# Force and mass against Lagrange's equations


@pytest.mark.slow
@every_model_and_beside
def test_residual_is_lagranges(name, offset):
    rng = np.random.default_rng(1)
    system = general(System(MODELS[name]()), rng, offset)
    oracle = plain.Oracle(system, RULE)
    q, v, a = deformed(system, rng)
    close(residual(system, q, v, a), oracle.lagrange(q, v, a) + oracle.damping_force(q, v))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("strain", ["exact", "source"])
def test_elastic_force(seed, strain):
    rng = np.random.default_rng(seed)
    system = keep(general(System(one_element(strain=strain)), rng), damping=False, inertia=False)
    oracle = plain.Oracle(system, RULE)
    q, v, a = deformed(system, rng)
    close(residual(system, q, v, a), oracle.elastic_force(q))


def test_elastic_force_of_a_slightly_bent_element():
    """Below SLIGHTLY_BENT the twist is integrated with fewer points, of which the rule has to be exact enough too."""
    rng = np.random.default_rng(6)
    system = keep(general(System(one_element()), rng), damping=False, inertia=False)
    q, v, a = deformed(system, rng, turn=0.15)
    few = plain.Oracle(system, (TWIST_POINTS[:FEW], TWIST_WEIGHTS[:, :FEW]))
    close(residual(system, q, v, a), few.elastic_force(q))
    close(residual(system, q, v, a), plain.Oracle(system, RULE).elastic_force(q))


@pytest.mark.parametrize(
    ("make", "equal", "offset"),
    slow_but(
        [(one_element, False, True), (with_hub, True, False)],
        product([one_element, with_hub], [False, True], [False, True]),
    ),
)
@pytest.mark.slow
def test_inertia_and_gyroscopic_force(make, equal, offset):
    """Equal inertias about y and z take a shorter way through the kernels."""
    rng = np.random.default_rng(2)
    system = keep(general(System(make()), rng, offset), damping=False, elastic=False)
    if equal:
        with_equal_inertias(system)
    oracle = plain.Oracle(system, RULE)
    q, v, a = deformed(system, rng)
    mass = system.mass_matrix(q).toarray()
    close(mass, oracle.mass_matrix(q))
    close(residual(system, q, v, 0.0 * a), oracle.lagrange(q, v, 0.0 * a))
    close(residual(system, q, v, a) - residual(system, q, v, 0.0 * a), mass @ a)
    close(residual(system, q, v, a), oracle.inertia_force(q, v, a))


@every_model_and_beside
def test_energy_and_momentum(name, offset):
    rng = np.random.default_rng(3)
    system = general(System(MODELS[name]()), rng, offset)
    oracle = plain.Oracle(system, RULE)
    q, v, _ = deformed(system, rng)
    kinetic, potential, *momentum = system.energy_momentum(q[None], v[None])[0]
    rates = oracle.rates(q, v)
    close(kinetic, oracle.kinetic(q, rates))
    close(potential, oracle.potential(q))
    close(momentum, oracle.momentum(q, rates))
    mass = system.mass_matrix(q).toarray()
    close(kinetic, 0.5 * v @ mass @ v)
    close(mass, mass.T, 1e-15)
    assert np.linalg.eigvalsh(mass)[0] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("make", [one_element, with_hub])
def test_damping(make):
    rng = np.random.default_rng(4)
    system = keep(general(System(make()), rng), inertia=False)
    oracle = plain.Oracle(system, RULE)
    q, v, a = deformed(system, rng)
    close(residual(system, q, v, a), oracle.elastic_force(q) + oracle.damping_force(q, v))
    power = system.power(np.zeros((1, 0)), q[None], v[None])[0]
    assert power < 0.0
    close(power, -oracle.dissipation(q, v))


def test_many_states_at_once():
    rng = np.random.default_rng(5)
    system = general(System(with_hub()), rng)
    states = [np.array(each) for each in zip(*(deformed(system, rng) for _ in range(3)), strict=True)]
    together = system.residual(np.zeros((3, 0)), *states)
    alone = [residual(system, q, v, a) for q, v, a in zip(*states, strict=True)]
    close(together, alone, 1e-15)


def test_quadrature_of_the_twist():
    """Against fine quadrature: the strain energy holds where nodes are turned 40 degrees apart."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        system = System(one_element())
        q, v, _ = deformed(system, rng)
        close(system.energy_momentum(q[None], v[None])[0, 1], plain.Oracle(system).potential(q))


def test_twist_is_uniform():
    """2 E(p) p' has the same first component at every point."""
    rng = np.random.default_rng(6)
    system = System(one_element())
    q, _, _ = deformed(system, rng)
    twist = plain.Oracle(system).strains(q)[0, :, 1]
    close(twist, twist[0] * np.ones(3), 1e-13)


def test_section_forces_are_end_reactions():
    """In section axes, positive on the face whose outward normal is the tangent: tension is positive at both ends."""
    rng = np.random.default_rng(13)
    system = general(System(one_element()), rng)
    q, v, a = deformed(system, rng)
    reaction = residual(system, q, v, a)
    got = beams_of(system).section_forces(q[None], v[None], a[None])[0, 0]
    for end, outward in ((0, -1.0), (1, 1.0)):
        i, j = system.layout.frame_q[end], system.layout.frame_v[end]
        force = rotations.rotate_back(q[i + 3 : i + 7], reaction[j : j + 3])
        close(got[end], outward * np.concatenate([force, reaction[j + 3 : j + 6]]), 1e-14)


# Iteration tangent


@pytest.mark.slow
@pytest.mark.parametrize("make", slow_but([shared_strain], [one_element, with_hub, shared_strain]))
def test_iteration_tangent(make):
    rng = np.random.default_rng(7)
    system = general(System(make()), rng)
    oracle = plain.Oracle(system, RULE)
    q, v, _ = deformed(system, rng)
    mass, damping, stiffness = system.matrices(np.zeros(0), q, v)
    close(dense(system, mass), oracle.mass_matrix(q))
    rows = oracle.strain_rows(q)
    close(dense(system, damping), oracle.damping_tangent(q, rows))
    material = oracle.material_tangent(q, rows)
    for dx in rng.standard_normal((2, system.n_v)):
        close(dense(system, stiffness) @ dx, material @ dx + oracle.director_stress_change(q, v, dx))


# Invariance


@beside
@pytest.mark.parametrize("make", [one_element, with_hub])
def test_rigid_motion(make, offset):
    rng = np.random.default_rng(8)
    model = make()
    model.gravity = np.zeros(3)
    system = general(System(model), rng, offset)
    q, v, a = deformed(system, rng)
    turn, shift = rotations.normalise(rng.standard_normal(4)), rng.standard_normal(3)
    q2, v2, a2 = q.copy(), v.copy(), a.copy()
    moved = residual(system, q, v, a)
    for k in range(len(system.layout.frames)):
        i, j = system.layout.frame_q[k], system.layout.frame_v[k]
        q2[i : i + 3] = rotations.rotate(turn, q[i : i + 3]) + shift
        q2[i + 3 : i + 7] = rotations.multiply(turn, q[i + 3 : i + 7])
        for x in (v2, a2, moved):
            x[j : j + 3] = rotations.rotate(turn, x[j : j + 3])
    close(residual(system, q2, v2, a2), moved, 1e-13)
    before, after = system.energy_momentum(np.stack([q, q2]), np.stack([v, v2]))
    close(after[:2], before[:2], 1e-13)
    still = System(model)
    straight = still.q0.copy()
    for i in still.layout.frame_q:
        straight[i : i + 3] = rotations.rotate(turn, straight[i : i + 3]) + shift
        straight[i + 3 : i + 7] = rotations.multiply(turn, straight[i + 3 : i + 7])
    assert still.energy_momentum(straight[None], v[None])[0, 1] < 1e-28 * before[1]


@pytest.mark.parametrize("make", [one_element, with_hub])
def test_sign_of_quaternions(make):
    """p and -p are one attitude, and so is any multiple of p."""
    rng = np.random.default_rng(9)
    system = general(System(make()), rng)
    q, v, a = deformed(system, rng)
    before = residual(system, q, v, a)
    for factor in (-1.0, 1.01):
        for i in system.layout.frame_q:
            other = q.copy()
            other[i + 3 : i + 7] *= factor
            close(residual(system, other, v, a), before, 1e-13)


@pytest.mark.parametrize("axis", HALF_TURNS)
@pytest.mark.parametrize(("turn", "tolerance"), [(5, 1e-13), (10, 1e-13), (15, 1e-12), (20, 1e-11), (25, 1e-10)])
def test_reversal(axis, turn, tolerance):
    """Built from its other end, an element has the same strain energy; nodes are turned up to 2 ``turn`` apart."""
    model = one_element()
    model.gravity = np.zeros(3)
    system = System(model)
    for seed in range(10):
        q, v, _ = deformed(system, np.random.default_rng(seed), turn)
        i, k = system.layout.frame_q
        reversed_q = q.copy()
        for here, there in ((i, k), (k, i)):
            reversed_q[here : here + 3] = q[there : there + 3]
            reversed_q[here + 3 : here + 7] = rotations.multiply(q[there + 3 : there + 7], HALF_TURNS[axis])
        reversed_q[system.layout.internal_q] = q[system.layout.internal_q[::-1]]
        before, after = system.energy_momentum(np.stack([q, reversed_q]), np.stack([v, v]))[:, 1]
        close(after, before, tolerance)


def test_folded_element_is_named():
    system = System(one_element())
    q = system.q0.copy()
    i = system.layout.frame_q[1] + 3
    q[i : i + 4] = [0.0, 0.0, 0.0, 1.0]
    zero = np.zeros((1, system.n_v))
    refuses(r"beams\.beam, element 1 of 1", system.residual, np.zeros((1, 0)), q[None], zero, zero, error=FoldedError)


# Balance of power and momentum


def loaded():
    model = with_hub()
    hub, beam = model.bodies["hub"], model.beams["right"]
    model.add(Load("push", body=hub.name, at=(0.2, 0.5, -0.1), force=(1.0, 2.0, -0.5), torque=(0.3, 0.2, 0.1)))
    model.add(
        Load("jet", body=hub.name, at=(0.1, 0.3, 0.2), force=(0.4, -1.0, 0.5), torque=(0.2, 1.0, 0.3), frame="body")
    )
    model.add(Load("tip", beam=beam.name, node=-1, force=(0.4, 0.1, 0.8), torque=(0.2, 0.7, 0.1), frame="body"))
    model.add(Load("root", beam=beam.name, node=0, force=(0.4, 0.1, 0.8), torque=(0.2, 0.7, 0.1), frame="body"))
    model.add(Load("middle", beam=beam.name, node=1, force=(0.4, -0.6, 0.8), torque=(-0.2, 0.7, 0.9)))
    return model


@beside
def test_power_balance(offset):
    """Kinetic and potential energy change at the power of loads and dampers."""
    rng = np.random.default_rng(10)
    system = general(System(loaded()), rng, offset)
    oracle = plain.Oracle(system, RULE)
    q, v, _ = deformed(system, rng)
    u = rng.standard_normal(system.n_u)
    a = system.acceleration(u, q, v)
    assert np.max(np.abs(residual(system, q, v, a, u))) < 1e-11
    n = system.n_q

    def energy(x):
        return oracle.kinetic(x[:n], oracle.rates(x[:n], x[n:])) + oracle.potential(x[:n])

    rate = plain.change(energy, np.concatenate([q, v]), np.concatenate([oracle.rates(q, v), a]))
    close(rate, system.power(u[None], q[None], v[None])[0])


@beside
def test_momentum_balance(offset):
    """Linear and angular momentum change at the force and the torque of the loads and of gravity."""
    rng = np.random.default_rng(11)
    system = general(System(loaded()), rng, offset)
    oracle = plain.Oracle(system, RULE)
    q, v, _ = deformed(system, rng)
    u = rng.standard_normal(system.n_u)
    a = system.acceleration(u, q, v)
    rates, second = oracle.rates(q, v), oracle.second_rates(q, v, a)
    n = system.n_q
    rate = plain.change(
        lambda x: oracle.momentum(x[:n], x[n:]), np.concatenate([q, rates]), np.concatenate([rates, second])
    )
    masses, _ = oracle.mass_values
    gravity = system.model.gravity
    force = masses.sum() * gravity
    torque = np.cross(masses @ oracle.split(oracle.matter(q))[0], gravity)
    inputs = iter(u)
    for load in system.model.loads.values():
        station = system.layout.station(load.on)
        i = system.layout.frame_q[station.frame]
        at = q[i : i + 3] + rotations.rotate(q[i + 3 : i + 7], station.offset)
        axes = rotations.multiply(q[i + 3 : i + 7], station.rotation)
        for value, is_force in ((load.force, True), (load.torque, False)):
            vector = next(inputs) * value
            vector = rotations.rotate(axes, vector) if load.frame == "body" else vector
            if is_force:
                force = force + vector
                torque = torque + np.cross(at, vector)
            else:
                torque = torque + vector
    close(rate, np.concatenate([force, torque]))


# Rigid body


def free_body(**words):
    inertia = np.array([[2.0, 0.2, -0.1], [0.2, 1.5, 0.3], [-0.1, 0.3, 1.8]])
    model = Model("body", gravity=(0.1, 0.2, -9.81))
    model.add(RigidBody("body", mass=1.7, inertia=inertia, center_of_mass=(0.1, -0.2, 0.15), **words))
    return model


def test_newton_and_euler_about_the_mass_centre():
    rng = np.random.default_rng(12)
    model = free_body()
    model.add(Load("push", body="body", at=(0.2, 0.5, -0.1), force=(1.0, 2.0, -0.5), torque=(0.3, 0.2, 0.1)))
    system = System(model)
    q = np.concatenate([rng.standard_normal(3), rotations.normalise(rng.standard_normal(4))])
    v = rng.standard_normal(6)
    u = np.array([1.3, 0.7])
    a = system.acceleration(u, q, v)
    body = model.bodies["body"]
    s, omega, alpha, turn = body.center_of_mass, v[3:], a[3:], q[3:7]
    acceleration = a[:3] + rotations.rotate(turn, np.cross(alpha, s) + np.cross(omega, np.cross(omega, s)))
    push = u[0] * np.array([1.0, 2.0, -0.5])
    close(body.mass * acceleration, push + body.mass * model.gravity, 1e-14)
    arm = np.array([0.2, 0.5, -0.1]) - s
    torque = rotations.rotate_back(turn, u[1] * np.array([0.3, 0.2, 0.1])) + np.cross(
        arm, rotations.rotate_back(turn, push)
    )
    close(body.inertia @ alpha + np.cross(omega, body.inertia @ omega), torque, 1e-13)


def test_symmetric_top_precesses():
    """Torque-free: omega turns about the axis of symmetry at (J3 - J1)/J1 times the spin about it."""
    model = of_parts(RigidBody("top", mass=1.0, inertia=(2.0, 2.0, 0.5), angular_velocity=(0.3, 0.0, 4.0)))
    system = System(model)
    a = system.acceleration(np.zeros(0), system.q0, system.v0)
    close(a[3:], [0.0, -4.0 * (2.0 - 0.5) / 2.0 * 0.3, 0.0], 1e-15)
    close(a[:3] + 1.0, np.ones(3), 1e-15)


def test_offset_body_falls_without_turning():
    system = System(free_body())
    a = system.acceleration(np.zeros(0), system.q0, system.v0)
    close(a, np.concatenate([system.model.gravity, np.zeros(3)]), 1e-15)


# Closed forms of the beam


def cantilever(elements, **words):
    return of_parts(
        Beam(
            "beam", section=section(0.0), length=2.0, elements=elements,
            start=Attachment("ground", direction=(1, 0, 0)), **words,
        ),
    )  # fmt: skip


def test_tip_stiffness_of_the_straight_beam():
    """Unit loads at the tip of a cantilever: L/EA, L^3/3EI, L/GJ, L/EI."""
    system = System(cantilever(1))
    _, _, stiffness = system.matrices(np.zeros(0), system.q0, system.v0)
    flexibility = np.linalg.inv(dense(system, stiffness))
    j = system.layout.frame_v[-1]
    length, (ea, gj, ei_y, ei_z) = 2.0, np.diag(section().stiffness())
    wanted = [length / ea, length**3 / 3 / ei_z, length**3 / 3 / ei_y, length / gj, length / ei_y, length / ei_z]
    close(np.diag(flexibility)[j : j + 6], wanted, 1e-13)
    close(flexibility[j + 1, j + 5], length**2 / 2 / ei_z, 1e-13)
    close(flexibility[j + 2, j + 4], -(length**2) / 2 / ei_y, 1e-13)


def test_mass_of_the_rigid_motion():
    """Rigid velocities see the total mass and the inertia of a rod with rotary inertia."""
    model = one_element()
    system = System(model)
    mass = system.mass_matrix(system.q0).toarray()
    length, own = 1.4, section().inertia()
    total = length * 0.9 * 1.1
    first, second = system.layout.frame_v
    shift, spin = np.zeros((2, system.n_v, 3))
    for j, x in ((first, 0.0), (second, length)):
        shift[j : j + 3] = np.eye(3)
        spin[j + 3 : j + 6] = np.eye(3)
        spin[j + 1, 2], spin[j + 2, 1] = x, -x
    close(shift.T @ mass @ shift, total * np.eye(3), 1e-14)
    slender = total * length**2 / 3
    close(spin.T @ mass @ spin, np.diag(length * own + [0.0, slender, slender]), 1e-14)


# Exact tangent


def check_tangent(system, rng):
    """Along a random change of coordinates and velocities, under random inputs."""
    oracle = plain.Oracle(system, RULE)
    q, v, a = deformed(system, rng)
    u = rng.standard_normal(system.n_u)
    damping, stiffness = (dense(system, data) for data in system.tangent(u, q, v, a))
    dx, dv = rng.standard_normal((2, system.n_v))
    close(stiffness @ dx + damping @ dv, oracle.residual_change(q, v, a, dx, dv, u))


@pytest.mark.slow
@every_model_and_beside
def test_tangent(name, offset):
    rng = np.random.default_rng(20)
    check_tangent(general(System(MODELS[name]()), rng, offset), rng)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["elastic", "damping", "inertia"])
@pytest.mark.parametrize("strain", slow_but(["exact"], ["exact", "source"]))
def test_tangent_part_by_part(part, strain):
    rng = np.random.default_rng(21)
    system = general(System(one_element(strain=strain)), rng)
    # damping force is damping times the elastic one of the strain rates: it needs the stiffness
    keep(system, elastic=part != "inertia", damping=part == "damping", inertia=part == "inertia")
    check_tangent(system, rng)


@pytest.mark.parametrize("offset", slow_but([True], [False, True]))
@pytest.mark.slow
def test_tangent_of_inertia_at_equal_inertias(offset):
    rng = np.random.default_rng(22)
    system = keep(general(System(with_hub()), rng, offset), elastic=False, damping=False)
    check_tangent(with_equal_inertias(system), rng)


def test_tangent_of_a_body():
    rng = np.random.default_rng(23)
    check_tangent(System(free_body()), rng)


def test_loads():
    """Force and tangent of all kinds of point loads against their virtual work."""
    rng = np.random.default_rng(24)
    system = keep(System(loaded()), elastic=False, damping=False, inertia=False)
    oracle = plain.Oracle(system, RULE)
    q, v, a = deformed(system, rng)
    u = rng.standard_normal(system.n_u)
    close(residual(system, q, v, a, u), -oracle.load_force(q, u))
    _, stiffness = system.tangent(u, q, v, a)
    for dx in rng.standard_normal((3, system.n_v)):
        change = plain.change(lambda x: oracle.load_force(x, u), q, oracle.rates(q, dx))
        close(dense(system, stiffness) @ dx, -change)
