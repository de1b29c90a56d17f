"""One exact beam element against equations typed in numpy: gradient, tangents, mass, stresses of its own, inertia."""

import numpy as np
import pytest
from models import of_parts
from oracles import exact_beam as oracle
from oracles.alone import Alone

import femb
from femb import Attachment, ExactBeam, RigidBody, Section
from femb.elements.exact.element_data import DAMPING, MASSES, MEAN, natural_coordinates
from femb.layout import terms
from femb.layout.evaluation import Evaluation
from femb.numerics import rotations
from femb.system.system import System

# sections that are linear between stations, as tables of blades are
pytestmark = pytest.mark.filterwarnings("ignore:beams.* and is linear there")

COUPLING = np.random.default_rng(6).standard_normal((6, 6))
STIFFNESS = 1e3 * (COUPLING @ COUPLING.T + 4.0 * np.eye(6))
C = np.array([0.0, 0.03, -0.02])
TILDE = np.cross(np.eye(3), C)
MASS = np.block([[2.0 * np.eye(3), -2.0 * TILDE], [2.0 * TILDE, np.diag([0.6, 0.5, 0.4]) - 2.0 * TILDE @ TILDE]])
CURVATURE, LENGTH = np.array([0.5, 0.3, 0.8]), 0.7
ON_BODIES = [((0.2, 0.0, 0.1), (1.0, 0.3, 0.0)), (-0.1, 0.05, 0.0)]


# At the tip, of another mass, mass centre and inertia.
TIP_C = np.array([0.0, -0.01, 0.02])
TIP_TILDE = np.cross(np.eye(3), TIP_C)
TIP_ROTARY = np.array([[0.25, 0.01, 0.0], [0.01, 0.2, -0.02], [0.0, -0.02, 0.3]])
TIP_MASS = np.block([[0.8 * np.eye(3), -0.8 * TIP_TILDE], [0.8 * TIP_TILDE, TIP_ROTARY - 0.8 * TIP_TILDE @ TIP_TILDE]])


def mass_at(xi):
    return (1.0 - xi) * MASS + xi * TIP_MASS


def compliance_at(xi, taper=0.4):
    return np.linalg.inv((1.0 - xi + xi * taper) * STIFFNESS)


def element(taper=0.4, damping=0.0, gravity=(0.0, 0.0, 0.0)):
    """A curved and tapered element between two bodies, and what the typed equations take of it."""
    model = femb.Model(gravity=gravity)
    names = ("root", "tip")
    for name, scale, mass in zip(names, (1.0, taper), (MASS, TIP_MASS), strict=True):
        model.add(Section(name, stiffness_matrix=scale * STIFFNESS, mass_matrix=mass, damping=damping))
    for name in "ab":
        model.add(RigidBody(name, mass=1e-9, inertia=1e-9))
    ends = [Attachment("a", *ON_BODIES[0]), Attachment("b", ON_BODIES[1])]
    model.add(ExactBeam("beam", sections=names, stations=(0.0, LENGTH), length=LENGTH, elements=1,
                        curvature=CURVATURE, start=ends[0], end=ends[1]))  # fmt: skip
    return model


def beam_of(model):
    """System, the batch, and length, d0, compliances, offsets and rotations of its only element."""
    system = System(model, assemble=True)
    batch = next(each for each in system.batches if type(each).__name__ == "ExactBatch")
    item = model.beams["beam"]
    taper = model.tables["sections"]["tip"].stiffness_matrix[0, 0] / STIFFNESS[0, 0]
    matrices = oracle.compliances_of(lambda xi: compliance_at(xi, taper))
    stations = system.layout.beams["beam"].stations
    offsets, turns = [each.offset for each in stations], [each.rotation for each in stations]
    d0 = np.array(natural_coordinates(*item.shape.element(0)))
    return system, batch, (LENGTH, d0, matrices), offsets, turns


@pytest.fixture(scope="module")
def plain():
    return beam_of(element())


def bent(system, turn, seed=0):
    """A state at which the ends of the element differ by about the rotation ``turn`` (rad) more than at first."""
    rng = np.random.default_rng(seed)
    x = 0.1 * rng.standard_normal(system.n_v)
    x[3:6] *= 3.0
    axis = rng.standard_normal(3)
    x[9:12] = turn * axis / np.linalg.norm(axis)
    q = system.retract(system.q0, x)
    for i in (3, 10):
        q[i : i + 4] = rotations.normalise(q[i : i + 4])
    return q


def frames_of(q):
    return [(q[7 * e : 7 * e + 3], q[7 * e + 3 : 7 * e + 7]) for e in range(2)]


def ends_of(frames, offsets, turns):
    return [oracle.attached(frame, b, p) for frame, b, p in zip(frames, offsets, turns, strict=True)]


def residual(system, batch, q, v=None, a=None):
    zero, out = np.zeros((1, system.n_v)), np.zeros((1, system.n_v))
    v, a = (zero if each is None else each[None] for each in (v, a))
    Alone(system, batch).residual(np.zeros((1, 0)), q[None], v, a, out)
    return out[0]


def gradient(function, frames):
    """(12,) derivatives along the displacements and rotations of two frames, by complex steps."""
    out = np.zeros(12)
    for j in range(12):
        x = np.zeros(12, dtype=complex)
        x[j] = 1j * oracle.STEP
        value = function([oracle.moved(frame, x[6 * e : 6 * e + 6]) for e, frame in enumerate(frames)])
        out[j] = np.imag(value) / oracle.STEP
    return out


@pytest.mark.parametrize("turn", [0.0, 0.4, 1.5, 2.3])
def test_force_is_the_gradient_of_the_energy(plain, turn):
    system, batch, given, offsets, turns = plain
    q = bent(system, turn)
    wanted = gradient(lambda frames: oracle.energy(ends_of(frames, offsets, turns), *given), frames_of(q))
    np.testing.assert_allclose(residual(system, batch, q), wanted, rtol=0.0, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("own", [False, True])
def test_static_tangent(plain, own):
    """Of the force, and of that linear about stresses of its own where these follow the displacements: (19)."""
    system, batch, given, offsets, turns = plain
    q, still, none = bent(system, 0.8), np.zeros(system.n_v), np.zeros(0)
    axes = [oracle.matrix(p) for p in turns]
    stress = batch.own_strains(none, q, still)
    given_stress = stress + 0.3 * np.abs(stress).max() * np.random.default_rng(2).standard_normal((1, 6))

    def force(frames):
        ends = ends_of(frames, offsets, turns)
        d = oracle.coordinates(ends)[0]
        sigma = None
        if own:
            # the stress of its own, at the displacement to which the force is linear
            _, Fq, G = given[2]
            ad, s = oracle.adjoint(start), given_stress[0]
            y = Fq @ ad.T @ s + G @ s
            Lambda = np.eye(6) + LENGTH * (oracle.adjoint(y) - (G + ad @ Fq) @ oracle.skew(s))
            C = LENGTH * oracle.compliance(start, *given[2])
            sigma = s + np.linalg.solve(C, Lambda @ (d - start))
            ad = oracle.adjoint(d)
            y = Fq @ ad.T @ sigma + G @ sigma
            n = sigma + LENGTH * oracle.adjoint(y).T @ sigma
            return oracle.to_frames(frames, offsets, axes, oracle.on_ends(ends, n))
        return oracle.to_frames(frames, offsets, axes, oracle.force(ends, *given, sigma))

    start = oracle.coordinates(ends_of(frames_of(q), offsets, turns))[0]
    wanted = np.array([gradient(lambda frames, i=i: force(frames)[i], frames_of(q)) for i in range(12)])
    used = batch.strained(q, given_stress) if own else batch
    data = np.zeros((2, system.pattern.size))
    Alone(system, used).tangent(none, q, still, still, *data)
    got = system.pattern.to_csc(data[1]).toarray()[:12, :12]
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=3e-12 * np.abs(wanted).max())


def test_stresses_of_its_own(plain):
    """The force linear about them, and what they become with a displacement."""
    system, batch, given, offsets, turns = plain
    q, still, none = bent(system, 0.8), np.zeros(system.n_v), np.zeros(0)
    axes = [oracle.matrix(p) for p in turns]
    ends = ends_of(frames_of(q), offsets, turns)
    d = oracle.coordinates(ends)[0]
    stress = np.linalg.solve(oracle.compliance(d, *given[2]), d - given[1]) / LENGTH
    np.testing.assert_allclose(batch.own_strains(none, q, still)[0], stress, atol=1e-12 * np.abs(stress).max())
    other = 1.3 * stress + 100.0
    force = residual(system, batch.strained(q, other[None]), q)
    wanted = oracle.to_frames(frames_of(q), offsets, axes, oracle.force(ends, *given, other))
    np.testing.assert_allclose(force, wanted, atol=1e-12 * np.abs(wanted).max())
    x, h = np.random.default_rng(1).standard_normal(system.n_v), 1e-6
    ahead, behind = (batch.own_strains(none, system.retract(q, sign * h * x), still) for sign in (1.0, -1.0))
    change = batch.own_strains(none, q, x) - batch.own_strains(none, q, still)
    np.testing.assert_allclose(change, (ahead - behind) / (2.0 * h), atol=1e-7 * np.abs(change).max())


@pytest.mark.slow
def test_kinetic_energy_and_mass(plain):
    system, batch, (length, d0, _), offsets, turns = plain
    q, axes = bent(system, 0.8), [oracle.matrix(p) for p in turns]
    M, inertia = Alone(system, batch).element_masses(q)[0][1][0], oracle.inertia(mass_at, compliance_at, length, d0)

    def kinetic(v):
        return oracle.kinetic_energy(frames_of(q), (v[:6], v[6:]), offsets, axes, inertia)

    unit = np.eye(12)
    wanted = np.array([[kinetic(a + b) - kinetic(a) - kinetic(b) for b in unit] for a in unit])
    np.testing.assert_allclose(M, wanted, atol=1e-13 * np.abs(M).max())
    out = np.zeros((1, 8))
    v = np.random.default_rng(4).standard_normal(12)
    Alone(system, batch).energy_momentum(q[None], v[None], out)
    np.testing.assert_allclose(out[0, 0], kinetic(v), rtol=1e-13)


def test_potential_energy_in_gravity_is_that_of_the_mass_centre(plain):
    """V = -m c.g, with m c from the angular momentum m c x e of a translation at the velocity e."""
    system, batch, *_ = plain
    heavy = beam_of(element(gravity=GRAVITY))[1]
    q, out = np.tile(bent(system, 0.8), (3, 1)), np.zeros((2, 3, 8))
    v = np.tile(np.eye(3, 6), 2)
    for each, sums in zip((batch, heavy), out, strict=True):
        Alone(system, each).energy_momentum(q, v, sums)
    (_, z, minus_y), (_, _, x) = out[0, 0, 5:], out[0, 1, 5:]
    np.testing.assert_allclose(out[1, 0, 1] - out[0, 0, 1], -np.dot(GRAVITY, [x, -minus_y, z]), rtol=1e-10)


def test_ends_exchanged():
    """An element read from its other end has the same energy: d changes its sign."""
    system, _, given, offsets, turns = beam_of(element(taper=0.999999999))
    length, d0, (Fm, Fq, G) = given
    q = bent(system, 0.8)
    ends = ends_of(frames_of(q), offsets, turns)
    first = oracle.energy(ends, length, d0, (Fm, Fq, G))
    np.testing.assert_allclose(oracle.energy(ends[::-1], length, -d0, (Fm, Fq, -G)), first, rtol=1e-13)


def test_damping_at_rest_is_in_proportion_to_the_stiffness():
    system, batch, *_ = beam_of(element(damping=0.02))
    data, still = np.zeros((3, system.pattern.size)), np.zeros(system.n_v)
    # free of stress: the end of the beam where its shape has it
    Alone(system, batch).matrices(np.zeros(0), system.q0, still, *data)
    np.testing.assert_allclose(data[1], 0.02 * data[2], atol=1e-10 * np.abs(data[2]).max())


# The whole residual

BETA, GRAVITY = 0.02, np.array([0.5, -3.0, 9.0])


BY_DIRECTION = np.array([0.03, 0.0, 0.01, 0.05, 0.02, 0.04])


@pytest.fixture(scope="module", params=["one coefficient", "six"])
def damped(request):
    return beam_of(element(damping=BETA if request.param == "one coefficient" else BY_DIRECTION, gravity=GRAVITY))


def viscous():
    """Fm, Fq and G of the viscous compliances of ``element`` (13b)."""
    S = np.diag(np.sqrt(BY_DIRECTION))
    return oracle.compliances_of(lambda xi: (F := compliance_at(xi)) @ S @ np.linalg.inv(F) @ S @ F)


def in_motion(damped, turn):
    """The system, its batch, a state at random with velocities and accelerations, and the typed residual there."""
    system, batch, given, offsets, turns = damped
    beta = BETA if batch.data[0, DAMPING] > 0.0 else viscous()
    q = bent(system, turn)
    v, a = np.random.default_rng(7).standard_normal((2, 12))
    inertia = oracle.inertia(mass_at, compliance_at, *given[:2])

    def typed(frames, v, a=a):
        split = [[x[:6], x[6:]] for x in (v, a)]
        return oracle.residual(frames, *split, given, offsets, turns, inertia, beta, GRAVITY)

    return system, batch, q, v, a, typed


def complex_steps(function):
    """(12, 12) derivatives of a vector of twelve numbers, at zero."""
    return np.array([np.imag(function(1j * oracle.STEP * unit)) / oracle.STEP for unit in np.eye(12)]).T


@pytest.mark.parametrize("turn", [0.4, 1.5])
def test_whole_residual(damped, turn):
    """Stiffness, damping, inertia, gyroscopic moments and weight."""
    system, batch, q, v, a, typed = in_motion(damped, turn)
    wanted = typed(frames_of(q), v)
    np.testing.assert_allclose(residual(system, batch, q, v, a), wanted, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("turn", [0.4, 1.5])
def test_exact_tangent_in_motion(damped, turn):
    """By positions, with damping, centrifugal and gyroscopic forces of an offset mass, and by velocities."""
    system, batch, q, v, a, typed = in_motion(damped, turn)

    def moved(x):
        return [oracle.moved(frame, x[6 * e : 6 * e + 6]) for e, frame in enumerate(frames_of(q))]

    wanted = complex_steps(lambda x: typed(frames_of(q), v + x)), complex_steps(lambda x: typed(moved(x), v))
    data = np.zeros((2, system.pattern.size))
    Alone(system, batch).tangent(np.zeros(0), q, v, a, *data)
    for got, exact in zip(data, wanted, strict=True):
        matrix = system.pattern.to_csc(got).toarray()[:12, :12]
        np.testing.assert_allclose(matrix, exact, rtol=0.0, atol=3e-12 * np.abs(exact).max())
    # inertia alone, beside which the stiffness is large: of an element that is soft
    soft = beam_of(element(damping=0.0, gravity=GRAVITY))
    system, batch, given, offsets, turns = soft
    parameters = batch.data
    parameters[:, MEAN : MEAN + 36] += 1e30 * np.eye(6).ravel()
    batch._set_rows(batch.ends, parameters)
    split = [[x[:6], x[6:]] for x in (v, a)]
    axes = [oracle.matrix(p) for p in turns]

    inertia = oracle.inertia(mass_at, compliance_at, *given[:2])

    def force(frames, v, a):
        return oracle.inertia_force(frames, v, a, offsets, axes, inertia, GRAVITY)

    wanted = (
        complex_steps(lambda x: force(frames_of(q), [v[:6] + x[:6], v[6:] + x[6:]], split[1])),
        complex_steps(lambda x: force(moved(x), *split)),
    )
    data = np.zeros((2, system.pattern.size))
    Alone(system, batch).tangent(np.zeros(0), q, v, a, *data)
    for got, exact in zip(data, wanted, strict=True):
        matrix = system.pattern.to_csc(got).toarray()[:12, :12]
        np.testing.assert_allclose(matrix, exact, rtol=0.0, atol=1e-12 * np.abs(exact).max())


def test_inertia_forces_are_lagranges_equations(damped):
    """(25) of (21): d/dt (dT/dv) + omega x dT/domega - dT/dx, the derivatives by complex steps."""
    _, _, q, v, a, _ = in_motion(damped, 0.8)
    _, _, (length, d0, _), offsets, turns = damped
    axes = [oracle.matrix(p) for p in turns]
    frames, inertia = frames_of(q), oracle.inertia(mass_at, compliance_at, length, d0)

    def kinetic(x, v):
        moved = [oracle.moved(frame, x[6 * e : 6 * e + 6]) for e, frame in enumerate(frames)]
        return oracle.kinetic_energy(moved, (v[:6], v[6:]), offsets, axes, inertia)

    def momenta(x, v):
        return np.array([kinetic(x, v + unit) - kinetic(x, v) - kinetic(x, unit) for unit in np.eye(12)])

    still = np.zeros(12)
    p = momenta(still, v)
    rate = momenta(still, a) + np.imag(momenta(1j * oracle.STEP * v, v)) / oracle.STEP
    slope = np.array([np.imag(kinetic(1j * oracle.STEP * unit, v)) / oracle.STEP for unit in np.eye(12)])
    wanted = rate - slope
    for k in (3, 9):  # angular velocities are along own axes
        wanted[k : k + 3] += np.cross(v[k : k + 3], p[k : k + 3])
    split = [[x[:6], x[6:]] for x in (v, a)]
    got = oracle.inertia_force(frames, *split, offsets, axes, inertia, np.zeros(3))
    np.testing.assert_allclose(got, wanted, atol=1e-12 * np.abs(wanted).max())


def test_rigid_motions_on_top(damped):
    """Energy stays, and elastic and damping forces rotate with everything; a rigid motion is not damped."""
    system, batch, q, v, _, _ = in_motion(damped, 0.8)
    turn, shift = rotations.exponential(np.array([0.7, -1.1, 0.4])), np.array([0.3, -0.8, 1.7])
    other, moved = q.copy(), v.copy()
    for e in range(2):
        i, j = 7 * e, 6 * e
        other[i : i + 3] = shift + rotations.rotate(turn, q[i : i + 3])
        other[i + 3 : i + 7] = rotations.multiply(turn, q[i + 3 : i + 7])
        moved[j : j + 3] = rotations.rotate(turn, v[j : j + 3])

    def forces(q, v):
        """Elastic and damping forces, without the weight: at rest, and what the velocities change beside inertia."""
        static, damping = np.zeros((2, 1, system.n_v))
        state, evaluation = (np.zeros((1, 0)), q[None], v[None], v[None]), Evaluation([batch], system.pattern)
        evaluation.add_residual(*state, static, lambda part: float(part.kind == "elastic"))
        evaluation.add_residual(*state, damping, terms.work)
        return np.concatenate([static[0], damping[0]])

    def rotated(force):
        force = force.copy()
        for j in range(0, len(force), 6):
            force[j : j + 3] = rotations.rotate(turn, force[j : j + 3])
        return force

    wanted = rotated(forces(q, v))
    np.testing.assert_allclose(forces(other, moved), wanted, rtol=0.0, atol=1e-12 * np.abs(wanted).max())
    given, offsets, turns = damped[2:]
    energies = [oracle.energy(ends_of(frames_of(x), offsets, turns), *given) for x in (q, other)]
    np.testing.assert_allclose(energies[0], energies[1], rtol=1e-12)
    # a rotation about the origin with a translation on top of the velocities
    spin, drift, rigid = np.array([0.5, 1.5, -2.0]), np.array([1.0, 2.0, 3.0]), v.copy()
    for e in range(2):
        i, j = 7 * e, 6 * e
        rigid[j : j + 3] += drift + np.cross(spin, q[i : i + 3])
        rigid[j + 3 : j + 6] += rotations.rotate_back(q[i + 3 : i + 7], spin)
    damping = forces(q, v)[system.n_v :]
    np.testing.assert_allclose(forces(q, rigid)[system.n_v :], damping, rtol=0.0, atol=1e-12 * np.abs(damping).max())


def test_a_second_model_of_the_same_beams_has_their_parameters_and_another_its_own():
    def rows(density: float) -> np.ndarray:
        section = Section("s", 1e-4, (1e-9, 2e-9), 1e-9, density, 1e9, 4e8)
        model = of_parts(ExactBeam("b", section, 1.0, 3, start=femb.Ground().at(direction=(1, 0, 0))))
        return System(model).batches[0].data

    kept, heavy = rows(1e3), rows(2e3)
    assert np.array_equal(rows(1e3), kept)
    changed = heavy != kept
    assert changed.any(axis=1).all()
    assert not changed[:, MEAN : MEAN + 108].any()
    np.testing.assert_allclose(heavy[:, MASSES:], 2.0 * kept[:, MASSES:], rtol=1e-14)
