"""Exact beams with the mass beside the axis: spin, weight, coupled frequencies, against closed forms of beam theory."""

from itertools import pairwise

import numpy as np
import pytest
from models import stiff
from oracles.alone import Alone
from scipy.linalg import eigh

from femb import Attachment, ExactBeam, JointEnd, Model, Revolute, RigidBody, Section, simulate
from femb.numerics import rotations
from femb.system.system import System

# sections that are linear between stations, as tables of blades are
pytestmark = pytest.mark.filterwarnings("ignore:beams.* and is linear there")

EA, GJ, EI = 1e6, 30.0, 50.0
START = Attachment(direction=(1.0, 0.0, 0.0))


def section(c, factor=1.0, name="s", mass=1.0, shear=None):
    return Section(name, axial_stiffness=EA * factor, torsional_stiffness=GJ * factor, mass_per_length=mass,
                   bending_stiffness=(EI * factor, EI * factor), inertia_per_length=(2e-4, 1e-4, 1e-4), mass_axis=c,
                   shear_stiffness=None if shear is None else (shear, 2.0 * shear))  # fmt: skip


def linear(elements, *sections, gravity=(0.0, 0.0, 0.0), **words):
    """System, its beams, mass and stiffness of the undeformed free beam of unit length, from the origin along x."""
    model = Model(gravity=gravity)
    if len(sections) > 1:
        words |= {"sections": sections, "stations": np.linspace(0.0, 1.0, len(sections))}
    else:
        words["section"] = sections[0]
    model.add(ExactBeam("b", length=1.0, elements=elements, **({"start": START} | words)))
    system = System(model, assemble=True)
    batch = next(each for each in system.batches if type(each).__name__ == "ExactBatch")
    M, C, K = np.zeros((3, 1, system.pattern.size))
    state = np.zeros((1, 0)), system.q0[None], np.zeros((1, system.n_v))
    system.evaluation.of([batch]).add_step_matrices(*state, M, C, K)
    M, K = (system.pattern.to_csc(each[0]).toarray() for each in (M, K))
    return system, batch, M, K


def tip(elements, *sections, hub=0.0, spin=(0.0, 0.0, 0.0), **words):
    """Small displacement and rotation (6,) of the tip of a clamped beam, by a spin (rad/s) on a hub or by weight."""
    system, batch, _, K = linear(elements, *sections, **words)
    (v, a), q = np.zeros((2, 1, system.n_v)), system.q0
    for k in range(system.n_v // 6):
        r, turn = np.array([hub, 0.0, 0.0]) + q[7 * k : 7 * k + 3], q[7 * k + 3 : 7 * k + 7]
        v[0, 6 * k : 6 * k + 3] = np.cross(spin, r)
        v[0, 6 * k + 3 : 6 * k + 6] = rotations.rotate_back(turn, np.array(spin))
        a[0, 6 * k : 6 * k + 3] = np.cross(spin, np.cross(spin, r))
    force = np.zeros((1, system.n_v))
    Alone(system, batch).residual(np.zeros((1, 0)), q[None], v, a, force)
    start, end = batch.index[0, 2], batch.index[-1, 1:4:2]
    free = np.delete(np.arange(system.n_v), np.arange(start, start + 6))
    x = np.zeros(system.n_v)
    x[free] = np.linalg.solve(K[np.ix_(free, free)], -force[0, free])
    x, turn = x[end[1] : end[1] + 6], q[end[0] + 3 : end[0] + 7]
    return np.concatenate([x[:3], rotations.rotate(turn, x[3:])])


def one(x):
    return 1.0 + 0.0 * x


def exact_tip(c, hub, factor=one, mass=one, arm=one, shear=np.inf, rate=2.0):
    """The same by beam theory, of a spin about z: forces m rate^2 (hub + x, c_y, 0) per length at (c_y, c_z) times
    ``arm``."""
    y, w = np.polynomial.legendre.leggauss(20)
    x, w = 0.5 + 0.5 * y, 0.5 * w
    # points between x and the end of the beam
    s, ws = x[:, None] + (1.0 - x[:, None]) * x, (1.0 - x[:, None]) * w
    p, q = mass(s) * rate**2 * (hub + s), mass(s) * rate**2 * c[0] * arm(s)
    N, V = np.sum(ws * p, axis=1), np.sum(ws * q, axis=1)
    Mx, My = -c[1] * np.sum(ws * arm(s) * q, axis=1), c[1] * np.sum(ws * arm(s) * p, axis=1)
    Mz = np.sum(ws * (s - x[:, None]) * q, axis=1) - c[0] * np.sum(ws * arm(s) * p, axis=1)
    soft = w / factor(x)
    shears = np.sum(w * V) / shear
    return np.array([soft @ N / EA, soft @ ((1.0 - x) * Mz) / EI + shears, -soft @ ((1.0 - x) * My) / EI,
                     soft @ Mx / GJ, soft @ My / EI, soft @ Mz / EI])  # fmt: skip


C, SPIN = (0.02, 0.01), (0.0, 0.0, 2.0)


@pytest.mark.parametrize("elements", [1, 4])
@pytest.mark.parametrize("shear", [np.inf, 500.0])
@pytest.mark.parametrize("hub", [0.0, 0.5])
def test_spin_of_a_uniform_beam_is_exact(hub, shear, elements):
    """Deflection, stretch and twist by centrifugal forces beside the axis, for any number of elements."""
    one = section(C, shear=None if shear == np.inf else shear)
    found, wanted = tip(elements, one, hub=hub, spin=SPIN), exact_tip(C, hub, shear=shear)
    if shear != np.inf:
        # the other plane is twice as stiff in shear, where these forces have no part
        assert wanted[1] - exact_tip(C, hub)[1] > 1e-5
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_spin_of_rolled_sections():
    """The mass beside the axis in a direction between y and z."""
    angle = 0.6
    start = Attachment(direction=(1.0, 0.0, 0.0), up=(0.0, np.cos(angle), np.sin(angle)))
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ C
    np.testing.assert_allclose(tip(2, section(C), spin=SPIN, start=start), exact_tip(turned, 0.0), rtol=1e-12)


NEAR = section((0.008, 0.004), name="near")
THIN = {"factor": section(C, 0.4, "thin"), "mass": section(C, 1.0, "light", 0.4), "arm": NEAR}


@pytest.mark.parametrize("of", THIN)
@pytest.mark.parametrize("hub", [0.0, 0.5])
def test_spin_of_tapers_is_of_order_four(hub, of):
    """Deflection and rotation of beams whose stiffness, mass, or arm of the mass falls to 0.4 at the tip.

    Stretch beside an inclined line of masses leaves a part of order 2 in rotations, below 1e-5."""
    wanted = exact_tip(C, hub, **{of: lambda x: 1.0 - 0.6 * x})[[1, 2, 4, 5]]
    errors = [np.abs(tip(n, section(C), THIN[of], hub=hub, spin=SPIN)[[1, 2, 4, 5]] / wanted - 1.0) for n in (2, 4, 8)]
    assert np.all(errors[0] < 3e-3)
    for coarse, fine in pairwise(np.array(errors)):
        assert np.all((coarse / fine > 2.0**3.8) | ((of == "arm") & (coarse < 1e-5)))


@pytest.mark.parametrize("elements", [2, 8])
def test_stretch_with_the_mass_on_the_axis_is_of_order_two(elements):
    """The limit that the page of the theory states: 3/40 of the square of the length of the elements."""
    found, wanted = tip(elements, section((0.0, 0.0)), spin=SPIN)[0], exact_tip((0.0, 0.0), 0.0)[0]
    np.testing.assert_allclose(found / wanted - 1.0, 0.075 / elements**2, rtol=1e-8)


@pytest.mark.parametrize("elements", [1, 2])
def test_weight_along_a_column_is_exact(elements):
    """m g per length beside the axis of a column bends it by the moment c m g (L - x)."""
    found = tip(elements, section(C), gravity=(-9.0, 0.0, 0.0))
    wanted = [-4.5 / EA, 3.0 * C[0] / EI, 3.0 * C[1] / EI, 0.0, -4.5 * C[1] / EI, 4.5 * C[0] / EI]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("beside", [(0.05, 0.0), (0.0, 0.03)])
def test_frequencies_of_coupled_bending_and_stretching(beside):
    """Bending that moves a mass beside the axis along it: of order 4 to 6."""
    plane = (0, 1, 5) if beside[0] else (0, 2, 4)

    def frequencies(elements):
        system, batch, M, K = linear(elements, section(beside))
        start = batch.index[0, 2]
        rows = [k for k in range(system.n_v) if k % 6 in plane and not start <= k < start + 6]
        return np.sqrt(eigh(K[np.ix_(rows, rows)], M[np.ix_(rows, rows)], eigvals_only=True)[:2])

    exact, coarse, fine = (frequencies(n) for n in (32, 4, 8))
    errors = np.abs(np.array([coarse, fine]) / exact - 1.0)
    assert np.all(errors[1] < [2e-7, 1e-5])
    assert np.all(errors[0] > 16.0 * errors[1])


def test_energies_of_an_element_from_either_end():
    """Kinetic and potential energy and momenta of an element that is bent, turned, and moves."""
    stiffness = np.diag([EA, 2e3, 3e3, GJ, EI, 2.0 * EI])
    sums = []
    for ends, c in (("ab", (0.03, -0.02)), ("ba", (0.03, 0.02))):
        model = Model(gravity=(1.0, 2.0, -3.0))
        mass = np.diag([2.0, 2.0, 2.0, 0.02, 0.01, 0.01]).astype(float)
        tilde = np.cross(np.eye(3), [0.0, *c])
        mass[:3, 3:], mass[3:, :3], mass[3:, 3:] = -2.0 * tilde, 2.0 * tilde, mass[3:, 3:] - 2.0 * tilde @ tilde
        for name, place in (("a", 0.0), ("b", 0.7)):
            model.add(RigidBody(name, mass=1e-9, inertia=1e-9, position=(place, 0.0, 0.0)))
        along = (1.0, 0.0, 0.0) if ends == "ab" else (-1.0, 0.0, 0.0)
        model.add(ExactBeam("beam", section=Section("s", stiffness_matrix=stiffness, mass_matrix=mass), length=0.7,
                            elements=1, start=Attachment(ends[0], direction=along, up=(0.0, 1.0, 0.0)),
                            end=Attachment(ends[1])))  # fmt: skip
        system = System(model, assemble=True)
        rng = np.random.default_rng(3)
        q, v = system.retract(system.q0, 0.3 * rng.standard_normal(12)), rng.standard_normal(12)
        out = np.zeros((1, 8))
        batch = next(x for x in system.batches if type(x).__name__ == "ExactBatch")
        Alone(system, batch).energy_momentum(q[None], v[None], out)
        sums.append(out[0])
    np.testing.assert_allclose(*sums, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("rate", [1e-3, 0.1])
def test_a_taper_in_a_slow_spin_bends_with_the_square_of_the_rate(rate):
    """In bearings, at the rate of an orbit too, where the forces are below the rounding of the axial stiffness:
    v(L) = -int (1 - x) M / EI, M = c rate^2 times that of the mass beyond x, which falls to half at the tip."""
    model = Model()
    hub = model.add(RigidBody("hub", mass=10.0, inertia=5.0, angular_velocity=(0.0, 0.0, rate)))
    model.add(Revolute("j", JointEnd("ground", axis=(0.0, 0.0, 1.0)), hub.at((0.0, 0.0, 0.0))))
    sections = [stiff(1e8, 1e3, (1e4, 50.0), m, (2e-3 * m, 1e-3 * m, 1e-3 * m), mass_axis=(0.01, 0.0), name=name)
                for name, m in (("root", 1.0), ("tip", 0.5))]  # fmt: skip
    model.add(ExactBeam("b", length=1.0, elements=8, start=hub.at((0, 0, 0), direction=(1, 0, 0)), sections=sections,
                        stations=(0.0, 1.0)))  # fmt: skip
    found = simulate(model, duration=1e-3, start="equilibrium").beams["b"].deflection[0, -1, 1]
    np.testing.assert_allclose(found / rate**2, -0.01 * (13.0 / 240.0) / 50.0, rtol=1e-5)


def test_hub_with_an_arm_that_spins():
    """The deflection of the steady rotation, by beam theory -1.66589e-5 m with the stiffening by the pull."""
    model = Model()
    hub = model.add(RigidBody("hub", mass=10.0, inertia=5.0, angular_velocity=(0.0, 0.0, 1.0)))
    model.add(Revolute("j", JointEnd("ground", axis=(0.0, 0.0, 1.0)), hub.at((0.0, 0.0, 0.0))))
    arm = stiff(1e8, 1e3, (1e4, 50.0), 1.0, (2e-3, 1e-3, 1e-3), mass_axis=(0.01, 0.0))
    model.add(ExactBeam("b", section=arm, length=1.0, elements=2, start=hub.at((0, 0, 0), direction=(1, 0, 0))))
    found = simulate(model, duration=0.01, start="equilibrium").beams["b"].deflection[0, -1, 1]
    np.testing.assert_allclose(found, -1.66589e-5, rtol=2e-5)
