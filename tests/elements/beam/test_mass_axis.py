"""Beams whose mass axis lies beside the axis that the stiffness refers to, against rigid bodies and exact modes."""

import numpy as np
import pytest
from models import of_parts
from scipy.linalg import eigh
from scipy.optimize import brentq

from femb import Attachment, Beam, FembWarning, Model, RigidBody, Section, simulate
from femb.numerics import rotations
from femb.run.simulate import mass_properties
from femb.system.system import System


def section(mass_axis=(0.3, -0.2), stiffness=1.0, name="s"):
    return Section(
        name, axial_stiffness=50.0 * stiffness, torsional_stiffness=3.0 * stiffness,
        bending_stiffness=(4.0 * stiffness, 5.0 * stiffness), mass_per_length=0.8, inertia_per_length=(0.5, 0.2, 0.35),
        mass_axis=mass_axis, damping=1e-3,
    )  # fmt: skip


LENGTH, CENTRE = 1.6, np.array([0.8, 0.3, -0.2])


def free(elements=2, gravity=(0, 0, 0), stiffness=1.0, **words):
    start = Attachment(direction=(1, 0, 0), up=(0, 1, 0))
    return of_parts(Beam("beam", section(stiffness=stiffness), LENGTH, elements, start=start, **words), gravity=gravity)


def twin(**words):
    """The same as a rigid body, by hand: a bar of length L whose sections turn with it; origin at the beam's start."""
    mass = 0.8 * LENGTH
    slender = mass * LENGTH**2 / 12.0
    inertia = LENGTH * np.array([0.5, 0.2, 0.35]) + np.array([0.0, slender, slender])
    return of_parts(RigidBody("body", mass=mass, inertia=inertia, center_of_mass=CENTRE, **words))


def test_mass_properties():
    got, wanted = (mass_properties(System(each)) for each in (free(), twin()))
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-15)


def test_energy_and_momentum_of_a_rigid_motion():
    words = {"velocity": (0.3, -0.2, 0.5), "angular_velocity": (0.4, 0.7, -0.6)}
    beam, body = System(free(gravity=(1.0, 2.0, 4.0), **words)), System(twin(**words))
    got = beam.energy_momentum(beam.q0[None], beam.v0[None])[0]
    wanted = body.energy_momentum(body.q0[None], body.v0[None])[0]
    np.testing.assert_allclose(got[[0, *range(2, 8)]], wanted[[0, *range(2, 8)]], rtol=1e-14)
    assert got[1] == pytest.approx(-0.8 * LENGTH * CENTRE @ [1.0, 2.0, 4.0], rel=1e-14)


def test_weight_acts_at_the_mass_axis():
    """The forces that hold the beam at rest have the resultant and the moment of a force at the mass centre."""
    gravity = np.array([0.4, -0.5, 9.81])
    system = System(free(3, gravity=gravity))
    zero = np.zeros((1, system.n_v))
    held = system.residual(np.zeros((1, 0)), system.q0[None], zero, zero)[0]
    force, moment = np.zeros(3), np.zeros(3)
    for i, j in zip(system.layout.frame_q, system.layout.frame_v, strict=True):
        force += held[j : j + 3]
        moment += np.cross(system.q0[i : i + 3], held[j : j + 3]) + held[j + 3 : j + 6]
    weight = 0.8 * LENGTH * gravity
    np.testing.assert_allclose(force, -weight, rtol=1e-13)
    np.testing.assert_allclose(moment, -np.cross(CENTRE, weight), rtol=1e-13)


def test_stiff_beam_tumbles_as_the_rigid_body():
    """Free of torque, about no principal axis: the attitude after half a turn."""
    words = {"velocity": (0.3, -0.2, 0.5), "angular_velocity": (0.4, 0.9, -0.6)}
    options = {"duration": 3.0, "output_interval": 0.5, "rtol": 1e-8}
    rigid = simulate(twin(**words), **options).bodies["body"]
    differences = []
    for stiffness in (1e4, 1e5):
        results = simulate(free(stiffness=stiffness, **words), **options)
        beam = results.beams["beam"]
        turn = rotations.multiply(rotations.conjugate(rigid.quaternion), beam.quaternion[:, 0])
        differences.append(2.0 * np.max(np.linalg.norm(turn[:, 1:], axis=1)))
        audit = results.audit
        np.testing.assert_allclose(audit.angular_momentum, audit.angular_momentum[:1] + np.zeros((7, 3)), atol=1e-7)
    # the strain by centrifugal force goes with 1/stiffness
    assert differences[1] < 1e-4
    assert differences[0] / differences[1] == pytest.approx(10.0, rel=0.1)


# A wing in the manner of M. Goland (J. Appl. Mech. 12, 1945), with the numbers of J. R. Banerjee (Computers &
# Structures 73, 1999, 551): a uniform cantilever whose mass axis lies behind its elastic axis. SI units.
WING = {"length": 6.0, "bending": 9.75e6, "torsion": 9.88e5, "mass": 35.75, "inertia": 8.65, "offset": 0.18}


def exact_frequencies(count, length, bending, torsion, mass, inertia, offset):
    """Angular frequencies of a clamped and a free end by the general solution of the coupled equations,

    EI h'''' = w^2 m (h + e psi),  -GJ psi'' = w^2 (J psi + m e h),

    J about the elastic axis: with h = exp(k x) a cubic for k^2, one solution cosh(k x), one sinh(k x)/k of each.
    """

    def determinant(w):
        w2 = w * w
        # (EI z^2 - m w^2) (GJ z + J w^2) + (m e w^2)^2 = 0, z = k^2
        roots = np.roots(
            [
                bending * torsion,
                bending * inertia * w2,
                -mass * w2 * torsion,
                w2**2 * ((mass * offset) ** 2 - mass * inertia),
            ]
        )
        k = np.sqrt(np.sort(roots.real).astype(complex))
        columns = []
        for each in k:
            ratio = (bending * each**4 - mass * w2) / (mass * offset * w2)
            c, s = np.cosh(each * length), np.sinh(each * length)
            scale = max(abs(c), 1.0)
            for h, end in (
                ((1.0, 0.0), (each**2 * c, each**3 * s, ratio * each * s)),
                ((0.0, 1.0), (each * s, each**2 * c, ratio * c)),
            ):
                columns.append(np.array([h[0], h[1], ratio * h[0], *end]) / scale)
        matrix = np.array(columns).T.real
        return np.linalg.det(matrix / np.linalg.norm(matrix, axis=1)[:, None])

    found, grid = [], np.linspace(5.0, 700.0, 2000)
    values = [determinant(w) for w in grid]
    for a, b, x, y in zip(grid, grid[1:], values, values[1:], strict=False):
        if x * y < 0.0:
            found.append(brentq(determinant, a, b, xtol=1e-11, rtol=1e-13))
    return np.array(found[:count])


def wing_frequencies(elements, count, length, bending, torsion, mass, inertia, offset):
    """The same of the finite elements; rotary inertia of bending so small that it does not show."""
    small = 1e-9
    beam = Section(
        "wing", axial_stiffness=1e9, torsional_stiffness=torsion, bending_stiffness=(bending, 10.0 * bending),
        mass_per_length=mass, inertia_per_length=(inertia - mass * offset**2, small, small), mass_axis=(offset, 0.0),
    )  # fmt: skip
    start = Attachment("ground", direction=(1, 0, 0), up=(0, 1, 0))
    model = of_parts(Beam("wing", beam, length, elements, start=start))
    system = System(model)
    mass_data, _, stiffness = system.matrices(np.zeros(0), system.q0, system.v0)
    # across the plane of both axes: displacement z and turns about x and y
    places = [
        j + k for j, f in zip(system.layout.frame_v, system.layout.frames, strict=True) if f.freedom for k in (2, 3, 4)
    ]
    full = [system.pattern.to_csc(each).toarray() for each in (stiffness, mass_data)]
    others = np.setdiff1d(np.arange(system.n_v), places)
    for each in full:
        assert np.max(np.abs(each[np.ix_(places, others)])) < 1e-12 * np.max(np.abs(each))
    K, M = (each[np.ix_(places, places)] for each in full)
    return np.sqrt(eigh(K, M, eigvals_only=True)[:count])


@pytest.mark.slow
def test_coupled_bending_and_torsion():
    exact = exact_frequencies(5, **WING)
    # as published
    np.testing.assert_allclose(exact, [49.6, 97.0, 248.9, 355.6, 451.5], atol=0.051)
    # the published frequencies are those without the rotary inertia of bending
    with pytest.warns(FembWarning, match="wing.inertia_per_length: .* triangle inequality"):
        coarse, fine = (wing_frequencies(n, 5, **WING) for n in (16, 32))
    # torsion is of order 2, bending of order 4
    np.testing.assert_allclose((coarse - exact) / (fine - exact), 4.0, rtol=0.05)
    np.testing.assert_allclose((4.0 * fine - coarse) / 3.0, exact, rtol=2e-5)


def test_beams_with_and_without():
    """Beside a beam with a mass axis of its own, one without moves as it does alone."""
    rng = np.random.default_rng(1)
    forces = []
    for others in ((), ((0.3, -0.2),)):
        model = Model("free", gravity=(1.0, 2.0, 3.0))
        for k, axis in enumerate((None, *others)):
            start = Attachment(at=(0.0, float(k), 0.0), direction=(1, 0, 0))
            model.add(Beam(f"beam {k}", section(axis, name=str(axis)), LENGTH, 2, start=start))
        system = System(model)
        if not others:
            state = [0.05 * rng.standard_normal((1, n)) for n in (system.n_q, system.n_v, system.n_v)]
        q, v, a = system.q0[None].copy(), np.zeros((1, system.n_v)), np.zeros((1, system.n_v))
        # by frame, which places the strains of both beams elsewhere
        for x, y, places, width in ((q, state[0], system.layout.frame_q, 7), (v, state[1], system.layout.frame_v, 6)):
            for k, i in enumerate(places[:3]):
                x[0, i : i + width] += y[0, width * k : width * (k + 1)]
        a[:] = v
        force = system.residual(np.zeros((1, 0)), q, v, a)[0]
        forces.append(np.concatenate([force[j : j + 6] for j in system.layout.frame_v[:3]]))
    np.testing.assert_allclose(forces[1], forces[0], rtol=0, atol=1e-14 * np.max(np.abs(forces[0])))
