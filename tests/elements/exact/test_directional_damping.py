"""Damping of exact beams with a coefficient for each strain: ratios in closed form, dissipation, sections of files."""

import numpy as np
import pytest
from models import of_parts, stiff
from oracles.alone import Alone

import femb
from femb import Attachment, ExactBeam, Load, Model, Section
from femb.elements.exact.element_data import damping_in_the_middle
from femb.system.system import System

SIX = np.array([2e-3, 0.0, 1e-3, 3e-3, 1e-3, 4e-3])
START = Attachment(body="ground", direction=(1.0, 0.0, 0.0))


def cantilever(section, elements=6, **words):
    return of_parts(ExactBeam("b", section, 1.0, elements, start=START, **words))


def ratios(model):
    """Frequencies (rad/s) and damping ratios of the linear equations, lowest first."""
    found = femb.linearize(model).eigenvalues()
    found = found[found.imag > 0.0]
    found = found[np.argsort(found.imag)]
    return np.abs(found), -found.real / np.abs(found)


def test_ratio_of_each_kind_of_mode():
    """Bending in both planes, torsion and stretching of a slender bar: d omega / 2, each with its own coefficient."""
    section = stiff(400.0, 0.5, (1.0, 0.6), 1.0, (2e-3, 1e-3, 1e-3), damping=SIX)
    frequency, ratio = ratios(cantilever(section))
    coefficient = 2.0 * ratio / frequency
    # the lowest of each kind: bending about z and y, torsion at 24.8 rad/s, stretching at 31.4 rad/s
    kinds = {"z": 0.6**0.5 * 3.516, "y": 3.516, "x": 0.5 * np.pi * 250.0**0.5, "stretch": 0.5 * np.pi * 20.0}
    for kind, d in zip(kinds, SIX[[5, 4, 3, 0]], strict=True):
        k = int(np.argmin(np.abs(frequency - kinds[kind])))
        assert frequency[k] == pytest.approx(kinds[kind], rel=5e-3)
        assert coefficient[k] == pytest.approx(d, rel=1e-4)


def test_ratio_of_a_mode_that_couples_stretch_and_twist():
    """Its shape a is an eigenvector of K by M; the ratio is omega / 2 times the sum of sqrt(d_i d_j) K_ij a_i a_j, by
    that of K_ij a_i a_j."""
    K, M, d = np.array([[4.0, 1.5], [1.5, 2.0]]), np.diag([1.0, 0.4]), np.array([2e-3, 5e-4])
    stiffness = np.diag([K[0, 0], 50.0, 50.0, K[1, 1], 50.0, 50.0])
    stiffness[0, 3] = stiffness[3, 0] = K[0, 1]
    mass = np.diag([1.0, 1.0, 1.0, 0.4, 0.2, 0.2])
    section = Section("s", stiffness_matrix=stiffness, mass_matrix=mass, damping=(d[0], 0, 0, d[1], 0, 0))
    frequency, ratio = ratios(cantilever(section, 8))
    squares, shapes = np.linalg.eigh(np.linalg.inv(M) ** 0.5 @ K @ np.linalg.inv(M) ** 0.5)
    for square, shape in zip(squares, (np.linalg.inv(M) ** 0.5 @ shapes).T, strict=True):
        omega, root = 0.5 * np.pi * np.sqrt(square), np.sqrt(d) * shape
        k = int(np.argmin(np.abs(frequency - omega)))
        assert frequency[k] == pytest.approx(omega, rel=1e-4)
        assert ratio[k] == pytest.approx(0.5 * omega * (root @ K @ root) / (shape @ K @ shape), rel=1e-3)


def full_section(name="s", **words):
    coupling = np.random.default_rng(3).standard_normal((6, 6))
    mass = np.diag([1.0, 1.0, 1.0, 0.03, 0.01, 0.02])
    return Section(name, stiffness_matrix=coupling @ coupling.T + np.eye(6), mass_matrix=mass, **words)


def test_it_always_dissipates():
    """In motions at random of a bent helix; with BeamDyn's d_i K_ij, which is not symmetric, some would gain energy."""
    system = System(cantilever(full_section(damping=SIX), 2, curvature=(0.9, 0.4, 0.7)), assemble=True)
    (batch,) = (each for each in system.batches if type(each).__name__ == "ExactBatch")
    rng = np.random.default_rng(5)
    q = system.retract(system.q0, 0.3 * rng.standard_normal(system.n_v))
    system.normalise(q)
    v = rng.standard_normal((200, system.n_v))
    force = np.zeros_like(v)
    Alone(system, batch).nonconservative_force(np.zeros((200, 0)), np.tile(q, (200, 1)), v, force)
    power = np.sum(force * v, axis=1)
    assert np.all(power < 0.0)
    K = full_section().stiffness_matrix
    assert np.linalg.eigvalsh(np.outer(SIX, np.ones(6)) * K + (np.outer(SIX, np.ones(6)) * K).T)[0] < -1e-4


def test_the_energy_lost_is_the_work_of_the_damping():
    model = cantilever(full_section(damping=10.0 * SIX), 2, curvature=(0.9, 0.4, 0.7))
    model.add(Load("pull", beam="b", force=(0.1, 0.3, 0.2), profile=femb.profiles.Versine(0.5)))
    found = femb.simulate(model, duration=1.5, output_interval=0.1, rtol=1e-8)
    energy = found.audit.kinetic_energy + found.audit.potential_energy
    assert energy[-1] < 0.95 * energy[6]  # after the pulse
    np.testing.assert_allclose(found.audit.energy_error, 0.0, atol=1e-6 * np.abs(energy).max())


def test_coefficients_along_the_beam_and_beside_other_beams():
    """Linear between stations; a beam with one coefficient in the same model stays as it is."""
    ends = [full_section("root", damping=6.0 * SIX), full_section("tip", damping=0.004)]
    model = Model()
    model.add(ExactBeam("b", None, 1.0, 2, start=START, stations=(0.0, 1.0), sections=ends))
    model.add(ExactBeam("c", full_section(damping=0.002), 1.0, 1, start=START))
    batch = next(each for each in System(model).batches if type(each).__name__ == "ExactBatch")
    np.testing.assert_allclose(damping_in_the_middle(batch.data)[2], 0.002 * np.eye(6))
    spanwise = model.beams["b"].spanwise(model)
    np.testing.assert_allclose(spanwise.damping(0.25), 0.75 * 6.0 * SIX + 0.25 * 0.004)


def test_stress_in_the_middle_has_the_damping():
    """In a bar that stretches at a steady rate, all of it by the coefficient of extension."""
    section = stiff(400.0, 0.5, (1.0, 0.6), 1.0, (2e-3, 1e-3, 1e-3), damping=SIX)
    batch = next(each for each in System(cantilever(section, 1)).batches if type(each).__name__ == "ExactBatch")
    share = damping_in_the_middle(batch.data)[0]
    np.testing.assert_allclose(share[[0, 3, 4, 5], [0, 3, 4, 5]], SIX[[0, 3, 4, 5]], rtol=1e-9)


def test_elements_in_a_group_are_as_alone():
    """Kernels take elements of all beams in groups: with and without offsets, with one coefficient, with six and with
    none, turned by more and less than 1 rad, and a last group that is not full."""
    at = [
        START,
        Attachment(body="ground", at=(0.1, 0.2, 0.3), direction=(0.0, 1.0, 0.2)),
        Attachment(body="ground", direction=(0.0, 0.0, 1.0)),
    ]
    sections = [full_section("one", damping=0.004), full_section("six", damping=SIX), full_section("none")]
    beams = [
        ExactBeam(section.name, section, 1.0, elements, start=start)
        for section, elements, start in zip(sections, (2, 3, 1), at, strict=True)
    ]

    def force_of(beams, x):
        model = of_parts(*beams, gravity=(0.0, 0.0, -9.81))
        system = System(model)
        (batch,) = (each for each in system.batches if type(each).__name__ == "ExactBatch")
        q, out = system.q0.copy(), np.zeros((1, system.n_v))
        places = [k for beam in beams for k in numbers[beam.name]]
        frames = [s.frame for beam in beams for s in system.layout.beams[beam.name].stations[1:]]
        v, a = np.zeros((2, system.n_v))
        for place, frame in zip(places, frames, strict=True):
            i, j = system.layout.frame_q[frame], system.layout.frame_v[frame]
            q[i : i + 7] += 0.3 * x[place, :7]
            v[j : j + 6], a[j : j + 6] = x[place, 7:13], x[place, 13:]
        Alone(system, batch).residual(np.zeros((1, 0)), q[None], v[None], a[None], out)
        return np.concatenate([out[0, system.layout.frame_v[frame] :][:6] for frame in frames])

    numbers = {"one": [0, 1], "six": [2, 3, 4], "none": [5]}
    x = np.random.default_rng(11).standard_normal((6, 19))
    x[3, 3:7] *= 4.0
    alone = np.concatenate([force_of([beam], x) for beam in beams])
    np.testing.assert_allclose(force_of(beams, x), alone, rtol=0.0, atol=1e-13 * np.abs(alone).max())
