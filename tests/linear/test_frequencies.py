"""Natural frequencies and small static deflections against the Euler-Bernoulli beam, with their orders of convergence.

Frequencies are the eigenvalues of stiffness and mass at the start, which is unstrained, so that the stiffness is exact.
References: roots of the characteristic equations, in closed form.
"""

import numpy as np
import pytest
from models import of_parts, order_of, satellite, sections_like
from scipy.linalg import eigh
from scipy.optimize import brentq

from femb import Beam, FembWarning, Ground, Load, Model, PointMass, RigidBody
from femb.elements import Attachment
from femb.run.simulate import simulate
from femb.system.system import System

# Sections without rotary inertia, or with more torsional stiffness than any has: what closed forms leave out.
pytestmark = pytest.mark.filterwarnings("ignore::femb.base.errors.FembWarning")

X = (1.0, 0.0, 0.0)
LENGTH = 2.0
NONE = np.zeros(0)


slender = sections_like("slender", 1e-4, (1e-10, 1e-10), 1.5e-10, 2700.0, 7e10, 2.6e10)  # L / i = 2000


# So thin that the rotary inertia, which the references leave out, changes bending by 1e-8 only.
THIN = {"second_moments": (1e-12, 1e-12)}


def cantilever(elements, **words):
    root = Ground().at(direction=X)
    model = of_parts(Beam("beam", section=slender(**words), length=LENGTH, elements=elements, start=root))
    return System(model)


def free_beam(elements, **words):
    model = Model("free")
    model.add(Beam("beam", section=slender(**words), length=LENGTH, elements=elements, start=Attachment(direction=X)))
    return System(model)


def modes(system):
    """Natural frequencies (rad/s) from the lowest, and their shapes by column."""
    mass, _, stiffness = system.matrices(NONE, system.q0, 0.0 * system.v0)
    mass, stiffness = (system.pattern.to_csc(each).toarray() for each in (mass, stiffness))
    np.testing.assert_allclose(stiffness, stiffness.T, rtol=0.0, atol=1e-12 * np.max(np.abs(stiffness)))
    values, shapes = eigh(stiffness, mass)
    return np.sqrt(np.abs(values)), shapes


def velocities(system, *components):
    """Places in v of components of all moving frames: 0 to 2 translation, 3 to 5 rotation."""
    moving = [j for k, j in enumerate(system.layout.frame_v) if system.layout.frames[k].freedom == 6]
    return np.array([j + c for j in moving for c in components])


def only(system, places):
    """Frequencies of motion in these velocities only; which is exact where they do not couple with the others."""
    mass, _, stiffness = system.matrices(NONE, system.q0, 0.0 * system.v0)
    mass, stiffness = (system.pattern.to_csc(each).toarray() for each in (mass, stiffness))
    others = np.setdiff1d(np.arange(system.n_v), places)
    for matrix in (mass, stiffness):
        assert np.max(np.abs(matrix[np.ix_(places, others)]), initial=0.0) < 1e-12 * np.max(np.abs(matrix))
    values = eigh(stiffness[np.ix_(places, places)], mass[np.ix_(places, places)], eigvals_only=True)
    return np.sqrt(np.abs(values))


def bending(system):
    """In the plane x, z: deflection along z and turning about y."""
    return only(system, velocities(system, 2, 4))


def twisting(system):
    return only(system, velocities(system, 3))


def stretching(system):
    places = np.concatenate([velocities(system, 0), system.layout.internal_v])
    return only(system, np.unique(places))


def roots(function, guesses):
    return np.array([brentq(function, guess - 0.5, guess + 0.5, xtol=1e-14) for guess in guesses])


CLAMPED_FREE = roots(lambda x: np.cos(x) + 1.0 / np.cosh(x), [1.9, 4.7, 7.85, 11.0])
FREE_FREE = roots(lambda x: np.cos(x) - 1.0 / np.cosh(x), [4.7, 7.85, 11.0, 14.1])


def beam_frequencies(beta, **words):
    """rad/s of bending with the roots beta L."""
    boom = slender(**words)
    wave = np.sqrt(boom.youngs_modulus * boom.second_moments[0] / (boom.density * boom.area))
    return np.asarray(beta) ** 2 / LENGTH**2 * wave


def bar_frequencies(number, modulus, inertia):
    """rad/s of a clamped-free bar in stretch or twist."""
    return (2 * np.asarray(number) - 1) * np.pi / (2.0 * LENGTH) * np.sqrt(modulus / inertia)


STRETCH = bar_frequencies([1, 2], 7e10, 2700.0)
TWIST = bar_frequencies([1, 2], 2.6e10 * 1.5e-10, 2700.0 * 2e-10)


def error(got, wanted):
    """In per cent, positive from above."""
    return 100.0 * (got[: len(wanted)] / np.asarray(wanted) - 1.0)


# Errors on given meshes: half a unit of the table's last digit


@pytest.mark.parametrize(
    ("elements", "per_cent", "digit"),
    [
        (1, (0.48, 58), (0.005, 0.5)),
        (2, (0.048, 0.85, 22, 80), (0.0005, 0.005, 0.5, 0.5)),
        (4, (0.0033, 0.12, 0.77, 1.5), (0.00005, 0.005, 0.005, 0.05)),
        (8, (0.0002, 0.008, 0.061, 0.22), (0.00005, 0.0005, 0.0005, 0.005)),
    ],
)
def test_cantilever_bending(elements, per_cent, digit):
    wanted = beam_frequencies(CLAMPED_FREE[: len(per_cent)], **THIN)
    assert np.all(np.abs(error(bending(cantilever(elements, **THIN)), wanted) - per_cent) < digit)


@pytest.mark.parametrize(
    ("elements", "per_cent", "digit"),
    [
        (2, (0.22, 14, 45, 40), (0.005, 0.5, 0.5, 0.5)),
        (4, (0.11, 0.62, 0.79, 11.7), (0.005, 0.005, 0.005, 0.05)),
        (8, (0.0081, 0.058, 0.21, 0.53), (0.00005, 0.0005, 0.005, 0.005)),
    ],
)
def test_free_bending(elements, per_cent, digit):
    got = bending(free_beam(elements, **THIN))
    wanted = beam_frequencies(FREE_FREE, **THIN)
    assert np.all(got[:2] < 1e-3 * wanted[0])  # two rigid motions in the plane
    assert np.all(np.abs(error(got[2:], wanted) - per_cent) < digit)


@pytest.mark.parametrize(
    ("elements", "per_cent", "digit"),
    [
        (1, (0.0068, 2.6), (0.0001, 0.05)),
        (2, (0.00019, 0.084), (0.00001, 0.0005)),
        (4, (4e-6, 0.0025), (1e-6, 0.0001)),
        (8, (8e-8, 5e-5), (1e-8, 1e-5)),
    ],
)
def test_stretch(elements, per_cent, digit):
    assert np.all(np.abs(error(stretching(cantilever(elements)), STRETCH) - per_cent) < digit)


@pytest.mark.parametrize(
    ("elements", "per_cent", "digit"),
    [(1, (10.3,), 0.05), (2, (2.6, 19.5), 0.05), (4, (0.64, 5.8), 0.05), (8, (0.16, 1.45), 0.005)],
)
def test_twist(elements, per_cent, digit):
    got = error(twisting(cantilever(elements)), TWIST[: len(per_cent)])
    assert np.all(np.abs(got - per_cent) < digit)


def test_first_mode_of_two_elements():
    wanted = beam_frequencies(CLAMPED_FREE[:1])
    assert 0.0 < error(bending(cantilever(2)), wanted)[0] < 0.05


# Orders


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_order_of_bending(mode):
    meshes = np.array([8, 12, 16, 24])
    wanted = beam_frequencies(CLAMPED_FREE, **THIN)
    errors = [error(bending(cantilever(n, **THIN)), wanted)[mode] for n in meshes]
    assert order_of(meshes, errors) == pytest.approx(4.0, abs=0.15)


def test_order_of_twist():
    meshes = np.array([4, 8, 16, 32])
    for mode in (0, 1):
        errors = [error(twisting(cantilever(n)), TWIST)[mode] for n in meshes]
        assert order_of(meshes, errors) == pytest.approx(2.0, abs=0.1)


def test_order_of_stretch():
    """The strains at the nodes make it a cubic element: order 6, as frequencies of cubic elements are."""
    meshes = np.array([12, 16, 24])
    errors = [error(stretching(cantilever(n)), STRETCH)[1] for n in meshes]
    assert order_of(meshes, errors) == pytest.approx(6.0, abs=0.2)


# Directions


def test_second_moments():
    """The first is about y, for deflections along z; the second about z, for deflections along y."""
    system = cantilever(4, second_moments=(1e-10, 9e-10))
    along_z = only(system, velocities(system, 2, 4))[0]
    along_y = only(system, velocities(system, 1, 5))[0]
    assert along_y == pytest.approx(3.0 * along_z, rel=1e-5)
    assert error([along_z], beam_frequencies(CLAMPED_FREE[:1]))[0] == pytest.approx(0.0033, abs=2e-4)


def test_section_follows_up():
    """Turned by ``up``, the section's y is along inertial z, so that the strong axis resists deflections along z."""
    root = Ground().at(direction=X, up=(0, 0, 1))
    boom = slender(second_moments=(1e-10, 9e-10))
    model = of_parts(Beam("beam", section=boom, length=LENGTH, elements=4, start=root))
    system = System(model)
    frequency, shapes = modes(system)
    tip = system.layout.frame_v[system.layout.beams["beam"].stations[-1].frame]
    for mode, axis in ((0, 1), (1, 2)):
        deflection = np.abs(shapes[tip : tip + 3, mode])
        assert np.argmax(deflection) == axis
        assert np.sum(deflection) == pytest.approx(deflection[axis], rel=1e-6)
    assert frequency[1] == pytest.approx(3.0 * frequency[0], rel=1e-5)


def test_torsion_constant_is_not_the_polar_moment():
    """The torsion constant resists, the polar moment is inertia; by default it is the sum of the second moments."""
    first = twisting(cantilever(4))[0]
    assert twisting(cantilever(4, torsion_constant=6e-10))[0] == pytest.approx(2.0 * first, rel=1e-9)
    # four times what a plane section has
    with pytest.warns(FembWarning, match="polar_moment"):
        heavy = cantilever(4, polar_moment=8e-10)
    assert twisting(heavy)[0] == pytest.approx(0.5 * first, rel=1e-9)
    assert twisting(cantilever(4, polar_moment=2e-10))[0] == pytest.approx(first, rel=1e-12)
    assert bending(heavy)[0] == pytest.approx(bending(cantilever(4))[0], rel=1e-9)


def test_all_modes_are_those_of_the_planes():
    system = cantilever(4)
    separate = np.concatenate([bending(system), bending(system), twisting(system), stretching(system)])
    got, _ = modes(system)
    np.testing.assert_allclose(got, np.sort(separate), rtol=1e-4)
    assert np.count_nonzero(modes(free_beam(3))[0] < 1e-3 * beam_frequencies(FREE_FREE)[0]) == 6


# Attached bodies


def test_tip_mass():
    """Cantilever with a tip mass: 1 + cos x cosh x = mu x (sin x cosh x - cos x sinh x), mu its share of the beam."""
    boom = slender()
    share = 0.7
    beam = Beam("beam", section=boom, length=LENGTH, elements=8, start=Ground().at(direction=X))
    model = of_parts(beam, PointMass("tip", mass=share * boom.density * boom.area * LENGTH, on=beam.node(-1)))

    def characteristic(x):
        return 1.0 / np.cosh(x) + np.cos(x) - share * x * (np.sin(x) - np.cos(x) * np.tanh(x))

    wanted = beam_frequencies(roots(characteristic, [1.3, 4.1]))
    assert np.all(np.abs(error(bending(System(model)), wanted)) < (5e-4, 0.01))


@pytest.mark.parametrize(
    ("ratio", "wanted"), [(0.1, (10.034035, 25.011193, 62.709947)), (1.0, (4.899577, 22.310512, 61.794873))]
)
def test_hub_with_two_beams(ratio, wanted):
    """Antisymmetric modes of a free rigid hub with beams clamped at its centre; sqrt(m L^3 / E I) omega."""
    boom = slender()
    beam_mass = boom.density * boom.area * LENGTH
    model = Model("hub")
    hub = model.add(RigidBody("hub", mass=1.0, inertia=ratio * 2.0 * beam_mass * LENGTH**2 / 3.0))
    for name, x in (("right", 1), ("left", -1)):
        model.add(Beam(name, section=boom, length=LENGTH, elements=24, start=hub.at(direction=(x, 0, 0))))
    system = System(model)
    mass, _, stiffness = (system.pattern.to_csc(each).toarray() for each in system.matrices(NONE, system.q0, system.v0))
    places = velocities(system, 2, 4)
    frequency, shapes = eigh(stiffness[np.ix_(places, places)], mass[np.ix_(places, places)])
    turning = np.abs(shapes[np.flatnonzero(places == system.layout.frame_v[system.layout.bodies["hub"]] + 4)[0]])
    unit = np.sqrt(boom.youngs_modulus * boom.second_moments[0] / (beam_mass * LENGTH**3))
    antisymmetric = np.sqrt(frequency[2:][turning[2:] > 1e-6 * np.max(turning)])[:3] / unit
    np.testing.assert_allclose(antisymmetric, wanted, rtol=1e-5)


@pytest.mark.parametrize(("share_strain", "largest"), [(True, 48857.0), (False, 48900.7)])
def test_satellite(share_strain, largest):
    """Frequencies of the satellite with two booms, the stiffest among them."""
    got, _ = modes(System(satellite(forced=False, rates=None, share_strain=share_strain)))
    assert np.all(got[:6] < 0.01)
    bending_modes = got[6:]
    np.testing.assert_allclose(bending_modes[[0, 1]], 78.94, atol=0.005)
    np.testing.assert_allclose(bending_modes[[2, 3]], 252.5, atol=0.05)
    np.testing.assert_allclose(bending_modes[[4, 5]], 440.5, atol=0.05)
    assert bending_modes[6] == pytest.approx(826.7, abs=0.05)
    assert np.min(np.abs(got - 2493.0)) < 0.5
    assert got[-1] == pytest.approx(largest, abs=0.1)


@pytest.mark.parametrize("share_strain", [True, False])
def test_stretching_of_the_satellite(share_strain):
    """A plain assembly of cubic Hermite rods on the hub's mass: displacement and slope at every node."""
    x, w = np.polynomial.legendre.leggauss(5)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    shapes = np.array([1 - 3 * x**2 + 2 * x**3, x * (1 - x) ** 2, 3 * x**2 - 2 * x**3, x**2 * (x - 1)])
    slopes = np.array([-6 * x + 6 * x**2, 1 - 4 * x + 3 * x**2, 6 * x - 6 * x**2, 3 * x**2 - 2 * x])
    element_mass, element_stiffness = 7.0 * (shapes * w) @ shapes.T, 7.17e10 * 2.5e-3 * (slopes * w) @ slopes.T
    mass, stiffness = np.zeros((2, 11, 11))
    mass[0, 0] = 22.4
    # displacements along x and strains: of the hub 0; at the hub 1 (and 6 on the left); then of the outer nodes
    left_root = 1 if share_strain else 6
    arms = (((0, 1, 2, 3), (2, 3, 4, 5)), (1, 1, 1, 1)), (((0, left_root, 7, 8), (7, 8, 9, 10)), (-1, 1, -1, 1))
    for elements, signs in arms:
        for places in elements:
            block = np.ix_(places, places)
            mass[block] += np.outer(signs, signs) * element_mass
            stiffness[block] += np.outer(signs, signs) * element_stiffness
    used = np.setdiff1d(np.arange(11), [6] if share_strain else [])
    block = np.ix_(used, used)
    wanted = np.sqrt(np.abs(eigh(stiffness[block], mass[block], eigvals_only=True)))
    got = stretching(System(satellite(forced=False, rates=None, share_strain=share_strain)))
    np.testing.assert_allclose(got[1:], wanted[1:], rtol=1e-10)
    assert got[0] < 0.01


# Statics by small loads


@pytest.mark.parametrize("elements", [1, 2, 5])
@pytest.mark.parametrize(
    ("load", "component", "wanted"),
    [
        ({"force": (0, 0, 1.0)}, 2, LENGTH**3 / 3.0 / 7.0),
        ({"force": (0, 1.0, 0)}, 1, LENGTH**3 / 3.0 / 63.0),
        ({"torque": (0, -1.0, 0)}, 2, LENGTH**2 / 2.0 / 7.0),
        ({"torque": (0, 0, 1.0)}, 1, LENGTH**2 / 2.0 / 63.0),
        ({"force": (1e6, 0, 0)}, 0, LENGTH * 1e6 / 7e6),
    ],
)
def test_static_deflection(elements, load, component, wanted):
    """Exact at the nodes on any mesh: P L^3 / 3 E I, M L^2 / 2 E I, P L / E A; the load a billionth of the buckling
    load, so that what is not linear is below rounding."""
    model = Model("loaded")
    boom = slender(second_moments=(1e-10, 9e-10))
    beam = model.add(Beam("beam", section=boom, length=LENGTH, elements=elements, start=Ground().at(direction=X)))
    scale = 1e-6
    model.add(Load("tip", beam=beam.name, **{word: scale * np.asarray(value) for word, value in load.items()}))
    results = simulate(model, duration=1e-3, output_interval=1e-3, start="equilibrium")
    tip = results.beams["beam"].position[0, -1] - [LENGTH, 0, 0]
    assert tip[component] == pytest.approx(scale * wanted, rel=2e-6, abs=1e-15)


def test_static_twist():
    beam = Beam("beam", section=slender(), length=LENGTH, elements=3, start=Ground().at(direction=X))
    model = of_parts(beam, Load("tip", beam=beam.name, torque=(0.5, 0, 0)))
    results = simulate(model, duration=1e-3, output_interval=1e-3, start="equilibrium")
    angle = results.beams["beam"].euler_angles()[0, -1]
    np.testing.assert_allclose(angle, [0.5 * LENGTH / (2.6e10 * 1.5e-10), 0, 0], rtol=1e-9, atol=1e-12)
