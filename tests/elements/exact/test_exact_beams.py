"""Exact beams: the tables of docs/theory/exact_beam.md, section 12."""

from dataclasses import replace

import numpy as np
import pytest
from models import of_parts

import femb
from femb.elements.beam.shape import uniform_shape
from femb.numerics import rotations

X = (1.0, 0.0, 0.0)
CLAMPED = femb.Attachment(body="ground", direction=X)
# sections that are linear between stations, as tables of blades are
pytestmark = pytest.mark.filterwarnings("ignore:beams.* and is linear there")


def rod(axial, bending, torsion, shear=None, mass=1.0, inertia=(2e-3, 1e-3, 1e-3), name="rod", **words):
    return femb.Section(name, axial_stiffness=axial, bending_stiffness=bending, torsional_stiffness=torsion,
                   shear_stiffness=shear, mass_per_length=mass, inertia_per_length=inertia, **words)  # fmt: skip


def slender(elements, ratio=1e2, torsion=0.8, **words):
    """A beam of length and bending stiffness one, L/t = ratio."""
    return femb.ExactBeam("b", rod(12.0 * ratio**2, (1.0, 1.0), torsion), 1.0, elements, start=CLAMPED, **words)


def end_of(beam, *loads, steps=1):
    model = of_parts(*(beam, *loads))
    found = femb.static(model, steps=steps)
    return found.beams["b"].position[-1, -1], found


def near(error, table):
    """The error of a table within 20 %."""
    assert 0.8 * table < error < 1.2 * table, (error, table)


# Statics


@pytest.mark.parametrize(
    ("force", "shear", "tip", "errors"),
    [
        (300.0, 5e6, (58.77912, 22.24478, 40.19189), (6.4e-3, 4.0e-4)),
        (600.0, 5e6, (47.15044, 15.68480, 53.47486), (1.8e-2, 1.2e-3)),
        (600.0, None, (47.15215, 15.68536, 53.47176), (1.8e-2, 1.2e-3)),
    ],
)
def test_bend(force, shear, tip, errors):
    """The 45-degree bend of Bathe and Bolourchi: errors, order 4, and the number of iterations of one load step."""
    section = rod(1e7, (1e7 / 12.0, 1e7 / 12.0), 5e6 / 6.0, shear and (shear, shear))
    for elements, error in zip((4, 8), errors, strict=True):
        beam = femb.ExactBeam(
            "b", section, elements=elements, start=CLAMPED, path=femb.Path(radius=100.0, angle=np.pi / 4.0)
        )
        found, results = end_of(beam, femb.Load("pull", beam="b", force=(0.0, 0.0, force)))
        near(np.linalg.norm(found - tip), error)
        assert results.statistics["newton_iterations"] <= 10


@pytest.mark.parametrize(
    ("force", "tip", "errors"),
    [(1.0, (0.0564332, 0.3017208), (1.7e-5, 1.0e-6)), (10.0, (0.5549956, 0.8106090), (8.3e-4, 5.3e-5))],
)
def test_elastica(force, tip, errors):
    for elements, error in zip((4, 8), errors, strict=True):
        found, _ = end_of(slender(elements, 1e4), femb.Load("pull", beam="b", force=(0.0, force, 0.0)))
        near(np.hypot(1.0 - found[0] - tip[0], found[1] - tip[1]), error)


@pytest.mark.parametrize("ratio", [5.0, 1e2, 1e4])
def test_no_locking(ratio):
    """The error does not depend on the slenderness, nor do the iterations."""
    load = femb.Load("pull", beam="b", force=(0.5, 1.0, 3.0))
    exact, _ = end_of(slender(32, ratio), load)
    found, results = end_of(slender(4, ratio), load)
    near(np.linalg.norm(found - exact), 1.4e-4)
    assert results.statistics["newton_iterations"] <= 8


@pytest.mark.parametrize("ratio", [1e1, 1e4])
def test_circle(ratio):
    """An end moment makes a circle of three elements, exactly."""
    found, _ = end_of(slender(3, ratio), femb.Load("turn", beam="b", torque=(0.0, 0.0, 2.0 * np.pi), frame="body"))
    np.testing.assert_allclose(found, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("angle", "force", "tip", "error"),
    [
        (30.0, 4.448, (4.750e-3, 39.947e-3), 8.3e-6),
        (60.0, 13.345, (11.715e-3, 181.913e-3), 7.4e-5),
        (90.0, 13.345, (0.0, 200.685e-3), 8.7e-5),
    ],
)
def test_princeton(angle, force, tip, error):
    """The Princeton beam: a strip under a tip load at an angle to its stiff axis."""
    E, nu, t, h = 71.7e9, 0.31, 3.2024e-3, 12.377e-3
    G, area = E / (2.0 * (1.0 + nu)), t * h
    ratio = t / h
    torsion = h * t**3 * (1.0 / 3.0 - 0.21 * ratio * (1.0 - ratio**4 / 12.0))
    section = rod(E * area, (E * h * t**3 / 12.0, E * t * h**3 / 12.0), G * torsion, (5 / 6 * G * area,) * 2)
    beam = femb.ExactBeam("b", section, 0.508, 4, start=CLAMPED)
    angle = np.radians(angle)
    found, _ = end_of(beam, femb.Load("weight", beam="b", force=(0.0, force * np.cos(angle), force * np.sin(angle))))
    # the table's digits: 1e-3 mm; its section's twist stiffness enters the small component
    np.testing.assert_allclose(found[1:], tip, atol=0.01 * np.linalg.norm(tip))


def test_linear_stiffness_is_timoshenkos():
    EI, GA, L, f = 3.0, 20.0, 1.3, 1e-7
    found, _ = end_of(
        femb.ExactBeam("b", rod(1e3, (EI, EI), 1.0, (GA, GA)), L, 1, start=CLAMPED),
        femb.Load("f", beam="b", force=(0.0, f, 0.0)),
    )
    np.testing.assert_allclose(found[1], f * (L**3 / (3.0 * EI) + L / GA), rtol=1e-9)


def test_path_independence():
    """The same state in one load step and in three."""
    load = femb.Load("f", beam="b", force=(0.5, 1.0, 3.0))
    ends = [end_of(slender(4, curvature=(0.3, 0.5, 0.4)), load, steps=steps)[0] for steps in (1, 3)]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


def test_section_loads():
    """In the middles and at the ends of the elements, of a force at large rotation."""
    force = np.array([0.2, 0.3, 0.5])
    end, results = end_of(slender(8, curvature=(0.3, 0.5, 0.4)), femb.Load("f", beam="b", force=force))
    beam = results.beams["b"]
    at, turn = beam.position[-1], beam.quaternion[-1]
    exact = np.hstack([np.broadcast_to(force, (9, 3)), np.cross(end - at, force)])
    local = np.hstack([rotations.rotate_back(turn, exact[:, :3]), rotations.rotate_back(turn, exact[:, 3:])])
    ends = np.concatenate([beam.section_force[-1], beam.section_moment[-1]], axis=-1)
    np.testing.assert_allclose(ends[:, 0], local[:-1], atol=1e-9)
    np.testing.assert_allclose(ends[:, 1], local[1:], atol=1e-9)
    middle = np.hstack([beam.midpoint_force[-1], beam.midpoint_moment[-1]])
    # of order 2 between the ends
    np.testing.assert_allclose(middle, 0.5 * (local[1:] + local[:-1]), atol=3e-3)


def test_section_loads_at_an_end_beside_its_frame():
    """The moment is about the end of the beam, not about the origin of the body that it is clamped to."""
    force = np.array([0.2, 0.3, 0.5])
    beam = replace(slender(2), start=femb.Attachment("hub", at=(0.1, -0.2, 0.3), direction=X))
    weld = femb.Fixed("weld", femb.JointEnd("ground"), femb.JointEnd("hub"))
    end, results = end_of(beam, femb.RigidBody("hub", 1.0, 1.0), weld, femb.Load("f", beam="b", force=force))
    beam = results.beams["b"]
    at, turn = beam.position[-1, 0], beam.quaternion[-1, 0]
    np.testing.assert_allclose(at, (0.1, -0.2, 0.3), atol=1e-9)
    np.testing.assert_allclose(beam.section_force[-1, 0, 0], rotations.rotate_back(turn, force), atol=1e-9)
    wanted = rotations.rotate_back(turn, np.cross(end - at, force))
    np.testing.assert_allclose(beam.section_moment[-1, 0, 0], wanted, atol=1e-9)


def test_free_strain_makes_a_helix_without_stress():
    curvature, strain = np.array([0.3, 0.5, 0.4]), np.array([0.01, 0.2, 0.3, 1.0])
    found, results = end_of(slender(3, curvature=curvature), femb.ThermalLoad("sun", beam="b", strain=strain))
    beam = results.beams["b"]
    np.testing.assert_allclose(beam.section_force, 0.0, atol=1e-10 * 12e4)
    np.testing.assert_allclose(beam.section_moment, 0.0, atol=1e-10)
    helix = uniform_shape(1.01, 1, (curvature + strain[1:]) / 1.01)
    start = rotations.rotate(beam.quaternion[-1, 0], helix.positions[-1])
    np.testing.assert_allclose(found, beam.position[-1, 0] + start, atol=1e-12)


@pytest.mark.parametrize("curvature", [None, (0.3, 0.5, 0.4)], ids=["straight", "helix"])
@pytest.mark.parametrize("words", [{"force": (1.0, 2.0, 8.0)}, {"torque": (0.0, 1.0, 3.0)}], ids=["force", "moment"])
@pytest.mark.parametrize("frame", ["inertial", "body"])
def test_loads_along_it(frame, words, curvature):
    """Order 4; the sum of dead loads is carried at the clamp."""
    load = femb.DistributedLoad("w", beam="b", frame=frame, **words)
    exact, _ = end_of(slender(32, curvature=curvature), load)
    ends = [end_of(slender(elements, curvature=curvature), load) for elements in (4, 8)]
    errors = [np.linalg.norm(found - exact) for found, _ in ends]
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] > 12.0
    if frame == "inertial" and "force" in words:
        beam = ends[0][1].beams["b"]
        root = rotations.rotate(beam.quaternion[-1, 0], beam.section_force[-1, 0, 0])
        np.testing.assert_allclose(root, words["force"], rtol=1e-9)
        np.testing.assert_allclose(beam.section_force[-1, -1, 1], 0.0, atol=1e-8)


def heights(scale):
    return rod(12e4 * scale, (scale**3, scale**3), 0.8 * scale**3, name=f"height {scale:g}")


@pytest.mark.slow
def test_taper_and_growing_curvature():
    """Order 4 with sections that change and with a reference curvature that does."""
    from scipy.special import fresnel

    def clothoid(s):
        unit = np.sqrt(np.pi / 1.5)
        sine, cosine = fresnel(s / unit)
        return unit * cosine, unit * sine, 0.0

    load = femb.Load("pull", beam="b", force=(0.5, 1.0, 3.0))

    def curved(elements):
        section = rod(12e4, (1.0, 1.0), 0.8)
        return femb.ExactBeam(
            "b", section, 1.0, elements, start=femb.Attachment(body="ground"), path=femb.Path(curve=clothoid)
        )

    def tapered(elements):
        words = {"sections": [heights(1.0), heights(0.4)], "stations": (0.0, 1.0)}
        return femb.ExactBeam("b", length=1.0, elements=elements, start=CLAMPED, **words)

    for beam, errors in ((curved, (1.5e-4, 1e-5)), (tapered, (1e-3, 2e-4))):
        exact, _ = end_of(beam(40), load)
        found = [np.linalg.norm(end_of(beam(elements), load)[0] - exact) for elements in (4, 8)]
        assert found[0] < errors[0]
        assert found[1] < errors[1]


def test_column():
    """Euler's load of a cantilever: 1.0e-4 off with four elements."""
    model = of_parts(slender(4, 1e3), femb.Load("push", beam="b", force=(-4.0, 0.0, 0.0)))
    found = femb.static(model, steps=4, critical=1)
    near(abs(4.0 * found.critical_load_factors[0] / (np.pi**2 / 4.0) - 1.0), 1.0e-4)


# Frequencies and motion


def frequencies(section, elements, count):
    model = of_parts(femb.ExactBeam("b", section, 1.0, elements, start=CLAMPED))
    return 2.0 * np.pi * femb.modes(model, count).frequencies


def test_slender_frequencies():
    section = rod(12e6, (1.0, 1e4), 1e3, inertia=(2e-8, 1e-8, 1e-8))
    wanted = np.array([1.8751040687, 4.6940911330]) ** 2
    error = np.abs(frequencies(section, 4, 2) / wanted - 1.0)
    near(error[0], 2.6e-6)
    near(error[1], 5.0e-4)


def test_thick_frequencies():
    """Timoshenko's cantilever, radius of gyration 0.05 L, E/kG = 3.12."""
    axial = 1.0 / 0.05**2
    section = rod(axial, (1.0, 1e4), 1e4, (1e6, axial / 3.12), inertia=(0.05**2 * 2, 0.05**2, 0.05**2))
    error = np.abs(frequencies(section, 4, 2) / np.array([3.435275, 19.103623]) - 1.0)
    near(error[0], 8.1e-5)
    near(error[1], 7.8e-4)


def free_beam(**words):
    section = rod(1.2e3, (1.0, 1.5), 0.8, (4e2, 5e2), inertia=(0.03, 0.01, 0.02), mass_axis=(0.05, -0.02))
    start = femb.Attachment(at=(0.2, 0.1, 0.0), direction=X)
    return femb.ExactBeam("b", section, 1.0, 3, start=start, curvature=(0.5, 0.4, 1.0), **words)


@pytest.mark.slow
def test_free_flight():
    """Energy and momenta stay, to the tolerance of the steps."""
    model = of_parts(free_beam(velocity=(0.1, 0.2, 0.0), angular_velocity=(1.0, 2.0, 3.0)))
    drifts = []
    for rtol in (1e-6, 1e-9):
        audit = femb.simulate(model, duration=0.5, rtol=rtol).audit
        energy = np.abs(audit.energy_error).max() / audit.kinetic_energy[0]
        drifts.append(energy)
        for word in ("linear_momentum", "angular_momentum"):
            momentum = getattr(audit, word)
            np.testing.assert_allclose(momentum, momentum[:1] + 0.0 * momentum, atol=1e-2 * rtol**0.5)
    assert drifts[1] < 1e-8
    assert drifts[1] < 0.1 * drifts[0]


def test_formulations_agree():
    model = of_parts(free_beam(angular_velocity=(1.0, 2.0, 3.0)))
    words = {"duration": 0.1, "rtol": 1e-9, "output_interval": 0.05}
    runs = [femb.simulate(model, **words), femb.simulate(model, formulation="quaternion", **words)]
    first, second = (run.beams["b"].position[-1] for run in runs)
    np.testing.assert_allclose(second, first, atol=1e-7)
