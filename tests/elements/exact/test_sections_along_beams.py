"""Exact beams whose sections vary: mass, stiffness and expansion are integrated, with stations anywhere."""

import numpy as np
import pytest
from models import refuses

import femb
from femb import Attachment, ExactBeam, Load, Model, ModelError, Section, ThermalLoad
from femb.numerics.rotations import cross_matrix, rotation_matrix
from femb.system.moving_ground import mass_properties
from femb.system.system import System

# sections that are linear between stations, as tables of blades are
pytestmark = pytest.mark.filterwarnings("ignore:beams.* and is linear there")

CLAMPED = Attachment(body="ground", direction=(1.0, 0.0, 0.0))
STATIONS = (0.0, 0.31, 0.8, 2.0)
# Mass per length, inertia, mass centre and a factor of the stiffness at each.
ALONG = [
    (10.0, (0.2, 0.1, 0.1), (0.1, 0.0), 1.0),
    (1.0, (0.02, 0.01, 0.011), (-0.05, 0.2), 2.0),
    (7.0, (0.3, 0.2, 0.1), (0.0, 0.03), 0.3),
    (4.0, (0.3, 0.2, 0.15), (0.1, 0.1), 1.0),
]


def section(name, mass, inertia, centre=(0.0, 0.0), factor=1.0, **words):
    return Section(name, axial_stiffness=1e6 * factor, torsional_stiffness=70.0 * factor, mass_axis=centre,
                   bending_stiffness=(100.0 * factor, 140.0 * factor), mass_per_length=mass,
                   inertia_per_length=inertia, **words)  # fmt: skip


def system_of(sections, stations, elements, start=CLAMPED, **words):
    model = Model()
    beam = ExactBeam("b", sections=sections, stations=stations, length=stations[-1], elements=elements, start=start,
                     **words)  # fmt: skip
    model.add(beam)
    return System(model, assemble=True)


def batch_of(system):
    return next(each for each in system.batches if type(each).__name__ == "ExactBatch")


def rigid_mass(elements, **words):
    """(6, 6) mass matrix of a free beam that moves as a rigid body, about its start."""
    sections = [section(f"s{k}", *each) for k, each in enumerate(ALONG)]
    system = system_of(sections, STATIONS, elements, Attachment(direction=(1.0, 0.0, 0.0)), **words)
    motion = np.zeros((system.n_v, 6))
    for k in range(elements + 1):
        q = system.q0[7 * k : 7 * k + 7]
        motion[6 * k : 6 * k + 3] = np.hstack([np.eye(3), -cross_matrix(q[:3])])
        motion[6 * k + 3 : 6 * k + 6, 3:] = rotation_matrix(q[3:]).T
    indices, matrices = system.evaluation.of([batch_of(system)]).element_masses(system.q0)[0]
    return sum(motion[rows].T @ M @ motion[rows] for rows, M in zip(indices, matrices, strict=True))


@pytest.mark.parametrize("elements", [1, 2, 3, 7])
def test_mass_centre_and_inertia_of_a_straight_beam(elements):
    """Exact for any number of elements: the integral of the mass matrices, which are linear between the stations."""
    sections = [section(f"s{k}", *each).mass() for k, each in enumerate(ALONG)]
    wanted = np.zeros((6, 6))
    x, w = np.polynomial.legendre.leggauss(3)
    for a, b, first, last in zip(STATIONS[:-1], STATIONS[1:], sections[:-1], sections[1:], strict=True):
        for part, weight in zip(0.5 + 0.5 * x, 0.5 * w, strict=True):
            arm = np.eye(6)
            arm[:3, 3:] = -cross_matrix(np.array([a + part * (b - a), 0.0, 0.0]))
            wanted += weight * (b - a) * arm.T @ ((1.0 - part) * first + part * last) @ arm
    np.testing.assert_allclose(rigid_mass(elements), wanted, rtol=0.0, atol=2e-15 * np.abs(wanted).max())


def test_mass_centre_and_inertia_of_a_helix():
    """The same mass and mass centre with any number of elements, to rounding; the inertia is of order 4."""
    exact = rigid_mass(64, curvature=(0.3, 0.2, 0.5))
    found = [rigid_mass(elements, curvature=(0.3, 0.2, 0.5)) for elements in (1, 2, 8, 16)]
    for each in found:
        np.testing.assert_allclose(each[:3], exact[:3], rtol=0.0, atol=1e-14 * np.abs(exact).max())
    errors = [np.abs(each - exact).max() / np.abs(exact).max() for each in found]
    assert errors[0] < 1e-2
    assert errors[2] < 4e-6
    assert errors[3] < 7e-7


def test_weight_of_one_element():
    """10, 1 and 10 kg/m."""
    sections = [section(f"s{k}", mass, (1e-3, 5e-4, 5e-4)) for k, mass in enumerate((10.0, 1.0, 10.0))]
    for elements in (1, 2, 3):
        system = system_of(sections, (0.0, 0.5, 1.0), elements, Attachment(direction=(1.0, 0.0, 0.0)))
        np.testing.assert_allclose(mass_properties(system)[0], 5.5, rtol=1e-14)


MOTIONS = {"stretching": [0], "twist": [3], "bending": [2, 4]}


def frequencies(sections, elements, directions):
    """The first two, of motion in some directions of all nodes."""
    from scipy.linalg import eigh

    system = system_of(sections, (0.0, 1.0), elements)
    M, C, K = np.zeros((3, 1, system.pattern.size))
    state = np.zeros((1, 0)), system.q0[None], np.zeros((1, system.n_v))
    system.evaluation.of([batch_of(system)]).add_step_matrices(*state, M, C, K)
    rows = np.sort(np.concatenate([np.arange(k, system.n_v, 6) for k in directions]))
    M, K = (system.pattern.to_csc(each[0]).toarray()[np.ix_(rows, rows)] for each in (M, K))
    return np.sqrt(eigh(K, M, eigvals_only=True)[:2])


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("ends", [((2.0, 1.0), (1.0, 1.0)), ((1.0, 2.0), (1.0, 1.0)), ((1.0, 1.0), (0.3, 0.3)),
                                  ((0.5, 0.4), (1.0, 1.0))])  # fmt: skip
def test_frequencies_of_tapers(ends, motion):
    """Order 4 where mass, stiffness or both vary, with rotary inertia."""
    inertia = np.array([2e-4, 1e-4, 1e-4])
    sections = [section(f"s{k}", m, m * inertia, (0.0, 0.0), factor) for k, (m, factor) in enumerate(ends)]
    exact, coarse, fine = (frequencies(sections, elements, MOTIONS[motion]) for elements in (48, 4, 8))
    errors = np.abs(np.array([coarse, fine]) / exact - 1.0)
    assert np.all(errors[1] < [1.2e-5, 4e-4])
    # the second is of order 6 in bending until that part is small
    assert errors[0, 0] > 11.0 * errors[1, 0] or errors[1, 0] < 2e-7
    assert errors[0, 1] > 8.0 * errors[1, 1]


@pytest.mark.parametrize("elements", [1, 2, 3])
def test_deflection_with_stations_inside_elements(elements):
    """Small deflections by forces at the end are exact: the integral of the curvature times the lever."""
    factors, stations = (1.0, 0.2, 0.7), (0.0, 0.37, 1.0)
    sections = [section(f"s{k}", 1.0, (2e-4, 1e-4, 1e-4), (0.0, 0.0), f) for k, f in enumerate(factors)]
    x, w = np.polynomial.legendre.leggauss(30)
    wanted = np.zeros(2)
    for a, b in ((0, 1), (1, 2)):
        length = stations[b] - stations[a]
        s = stations[a] + length * (0.5 + 0.5 * x)
        soft = 1.0 / np.interp(s, stations, factors)
        wanted += 0.5 * length * w @ np.stack([1e-6 * soft, 1e-2 * (1.0 - s) ** 2 * soft], axis=1)
    for force, axis, flexibility in (((1.0, 0.0, 0.0), 0, wanted[0]), ((0.0, 0.0, 1e-3), 2, 1e-3 * wanted[1])):
        model = Model()
        model.add(ExactBeam("b", sections=sections, stations=stations, length=1.0, elements=elements, start=CLAMPED))
        model.add(Load("pull", beam="b", force=force))
        tip = femb.static(model).beams["b"].deflection[-1, -1]
        # to first order in the strain of the bar
        np.testing.assert_allclose(tip[axis], flexibility, rtol=1e-8)


def test_heated_beam_with_an_expansion_that_varies():
    """Its free length and bow are the integrals of the expansion."""
    sections = [section(f"s{k}", 1.0, (2e-4, 1e-4, 1e-4), expansion=a) for k, a in enumerate((1e-6, 9e-6, 3e-6))]
    model = Model()
    model.add(ExactBeam("b", sections=sections, stations=(0.0, 0.4, 1.0), length=1.0, elements=1, start=CLAMPED))
    model.add(ThermalLoad("warm", beam="b", temperature=1.0, gradient=(0.0, 0.1)))
    tip = femb.static(model).beams["b"].deflection[-1, -1]
    s = np.linspace(0.0, 1.0, 20001)
    a = np.interp(s, (0.0, 0.4, 1.0), (1e-6, 9e-6, 3e-6))
    wanted = 1.0 * np.trapezoid(a, s), -0.1 * np.trapezoid((1.0 - s) * a, s)
    np.testing.assert_allclose(tip[[0, 2]], wanted, rtol=1e-5, atol=0.0)


def test_expansion_of_every_section():
    """One without it is named, whichever it is."""
    sections = [section("warm", 1.0, (2e-4, 1e-4, 1e-4), expansion=1e-6), section("bare", 1.0, (2e-4, 1e-4, 1e-4))]
    model = Model()
    model.add(ExactBeam("b", sections=sections, stations=(0.0, 1.0), length=1.0, elements=1, start=CLAMPED))
    model.add(ThermalLoad("warm", beam="b", temperature=100.0))
    refuses(r"expansion \(1/K\) of the section 'bare' of beam 'b'", System, model)


def test_shape_between_the_nodes_of_a_helix():
    """Pictures show the curve between nodes: that of the curvature, by the exponential of a 4 x 4 matrix; with
    velocities of its ends."""
    from scipy.linalg import expm

    curvature, length = np.array([0.7, -0.4, 1.1]), 1.5
    model = Model()
    model.add(ExactBeam("b", section("s", 1.0, (2e-4, 1e-4, 1e-4)), length, 2, curvature=curvature,
                        start=Attachment(at=(0.3, 0.1, -0.2), direction=(1.0, 2.0, 0.5)),
                        angular_velocity=(0.0, 0.0, 0.4)))  # fmt: skip
    beam = femb.simulate(model, duration=1e-3, output_interval=1e-3).beams["b"]
    words = ("position", "quaternion", "velocity", "angular_velocity")
    recorded = {word: getattr(beam, word)[0] for word in words}
    recorded |= {"element_length": beam.element_length, "corner": beam.corner}
    xi = np.array([0.0, 0.3, 0.5, 0.85, 1.0])
    found = ExactBeam.sections_between(recorded, xi)
    first = rotation_matrix(beam.quaternion[0, 0])
    rate = np.zeros((4, 4))
    rate[:3, :3], rate[0, 3] = cross_matrix(curvature), 1.0
    for element in range(2):
        for k, part in enumerate(xi):
            pose = expm(0.5 * length * (element + part) * rate)
            where = beam.position[0, 0] + first @ pose[:3, 3]
            np.testing.assert_allclose(found.position[element, k], where, atol=1e-12)
            np.testing.assert_allclose(found.axes[element, k], first @ pose[:3, :3], atol=1e-12)
    ends = found.velocity[:, [0, -1]]
    np.testing.assert_allclose(ends, beam.velocity[0][[[0, 1], [1, 2]]], atol=1e-12)


def test_stations_and_items_in_messages(tmp_path):
    """The station of a file that is wrong, by number and length; the beam, its field and both lengths."""
    stiffness = np.diag([1e6, 1e5, 1e5, 70.0, 100.0, 140.0])
    mass = np.diag([1.0, 1.0, 1.0, 2e-4, 1e-4, 1e-4])
    names = [f"{letter}{i}{j}" for letter in "KM" for i in range(1, 7) for j in range(i, 7)]
    rows = [",".join(["station", *names])]
    for s, factor in ((0.0, 1.0), (0.75, 1.0), (2.0, -1.0)):
        upper = [A[i, j] for A in (factor * stiffness, mass) for i in range(6) for j in range(i, 6)]
        rows.append(",".join(f"{x:g}" for x in (s, *upper)))
    file = tmp_path / "blade.csv"
    file.write_text("\n".join(rows) + "\n")
    with pytest.raises(
        ModelError, match=r"beams\.b\.sections: .*blade\.csv: station 3, at 2 m, stiffness_matrix: must"
    ):
        ExactBeam("b", sections=str(file), length=2.0, elements=2, start=CLAMPED)
    rows[3] = rows[2].replace("0.75", "1.5")
    file.write_text("\n".join(rows) + "\n")
    with pytest.raises(ModelError, match=r"beams\.b\.stations: got stations from 0 to 1\.5 m, wanted from 0 to 2 m"):
        ExactBeam("b", sections=str(file), length=2.0, elements=2, start=CLAMPED)
    rows[2], rows[3] = rows[3], rows[2]
    file.write_text("\n".join(rows) + "\n")
    with pytest.raises(ModelError, match=r"blade\.csv.*0\.75 m follows 1\.5 m"):
        ExactBeam("b", sections=str(file), length=2.0, elements=2, start=CLAMPED)
