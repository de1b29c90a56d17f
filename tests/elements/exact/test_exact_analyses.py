"""Exact beams in all analyses and formulations: the commands on their cases, against closed forms and each other."""

import re

import numpy as np
import pytest
from checkout import ROOT
from scipy.optimize import brentq
from shared_runs import said

import femb
from femb import Attachment, ExactBeam, JointEnd, JointSpringDamper, Model, ModelError, Revolute, RigidBody, Section
from femb.case import load_case
from femb.vibration.modes import modes

# sections that are linear between stations, as tables of blades are
pytestmark = pytest.mark.filterwarnings("ignore:beams.* and is linear there")

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
BLADE, BOOM = (ROOT / "cases" / f"{name}.toml" for name in ("wind_blade", "short_boom"))
# of the short boom: its stiffness, shear stiffness, mass per length; frequency of Timoshenko's cantilever in Hz
EI, KGA, MASS = 2.1e11 * 7.5e-5, 2.0192307692e9, 7850.0 * 0.03
FREQUENCY = 3.435275 * np.sqrt(EI / MASS) / (2.0 * np.pi)


def lines_of(output, columns=(0, 1, 2)):
    """The numbers of all lines that begin with one."""
    found = []
    for line in output.splitlines():
        words = re.split(r"\s{2,}", line.strip())  # a column may list several numbers
        try:
            found.append([float(words[column]) for column in columns if column < len(words)])
        except ValueError:
            continue
    return np.array([line for line in found if len(line) == 3])


@pytest.mark.slow
def test_static_command(tmp_path):
    said("static", BOOM, "--out", tmp_path, "--quiet")
    tip = femb.Results.read(tmp_path / "static.h5").beams["bar"].position[-1, -1]
    np.testing.assert_allclose(tip[1], -1000.0 * (1.0 / (3.0 * EI) + 1.0 / KGA), rtol=1e-6)


@pytest.mark.slow
def test_modes_and_linearize_commands(tmp_path):
    """Frequencies of the free vibration, and damping in proportion to the stiffness, beta omega / 2."""
    found = lines_of(said("modes", BOOM, "--modes", 2, "--out", tmp_path))
    np.testing.assert_allclose(found[:, 1], FREQUENCY, rtol=1.2e-4)
    poles = lines_of(said("linearize", BOOM, "--out", tmp_path))
    assert (tmp_path / "linear.npz").exists()
    np.testing.assert_allclose(poles[0, 2], FREQUENCY, rtol=1.2e-4)
    np.testing.assert_allclose(-poles[0, 0], 0.5 * 2e-6 * (2.0 * np.pi * FREQUENCY) ** 2, rtol=1e-3)


@pytest.mark.slow
def test_loads_command(tmp_path):
    """A blade in steady rotation: the root carries the centrifugal force of all its mass, 60 kg/m at the root and 15 at
    the tip, 1 m to 21 m from the axis, a little of it for its bending."""
    said("run", BLADE, "--set", "run.duration=0.02", "--out", tmp_path, "--quiet")
    said("loads", tmp_path, "--quiet")
    lines = (line.split(",") for line in (tmp_path / "loads.csv").read_text().splitlines())
    force = next(float(line[3]) for line in lines if line[:2] == ["beams/blade", "axial force"])
    wanted = 3.0**2 * (60.0 * 20.0 + 57.75 * 20.0**2 / 2.0 - 2.25 * 20.0**3 / 3.0)
    np.testing.assert_allclose(force, wanted, rtol=5e-5)


@pytest.mark.slow
def test_modes_of_a_rotor_with_one_blade(tmp_path):
    """About the steady rotation, with the mass centre beside the hub: the same poles as those of the linear model."""
    words = ("--set", "beams.blade.elements=3")
    # beside them are the frequency from the ground and the whirl
    found = lines_of(said("modes", BLADE, "--modes", 12, "--out", tmp_path, *words), (0, 1, 4))
    poles = lines_of(said("linearize", BLADE, "--out", tmp_path, *words))
    assert found[0, 2] == 0.0  # the nutation of a hub of equal moments neither grows nor decays but by rounding
    elastic = found[found[:, 1] > 1.0][:3]
    assert len(elastic) == 3
    for _, frequency, damping in elastic:
        k = int(np.argmin(np.abs(poles[:, 2] - frequency)))
        np.testing.assert_allclose(poles[k, 2], frequency, rtol=2e-5)
        size = np.hypot(*poles[k, :2])
        np.testing.assert_allclose(-poles[k, 0] / size, damping, rtol=2e-3)
    # the hub is so heavy that these are nearly those of a hub that is held
    held = modes(load_case(BLADE, [words[1]]).model, 3, held="hub", start="equilibrium").frequencies
    np.testing.assert_allclose(held, elastic[:, 1], rtol=2e-4)
    # with all elements, those of the page of the case
    held = modes(load_case(BLADE).model, 3, held="hub", start="equilibrium").frequencies
    page = (ROOT / "docs" / "cases" / "wind_blade.md").read_text(encoding="utf-8")
    assert "gives {:.3f}, {:.3f} and {:.3f} Hz".format(*held) in page


def mechanism():
    """A free hub with an arm on a sprung hinge, and a curved beam at the end of the arm."""
    model = Model()
    section = Section("s", axial_stiffness=1.2e3, bending_stiffness=(1.0, 1.5), torsional_stiffness=0.8,
                      shear_stiffness=(4e2, 5e2), mass_per_length=1.0, inertia_per_length=(0.03, 0.01, 0.02),
                      mass_axis=(0.05, -0.02), damping=1e-3)  # fmt: skip
    model.add(RigidBody("hub", mass=2.0, inertia=(0.3, 0.4, 0.5), angular_velocity=(1.0, 2.0, 3.0)))
    model.add(RigidBody("arm", mass=0.5, inertia=(0.02, 0.03, 0.04), center_of_mass=(0.2, 0.0, 0.0)))
    model.add(Revolute("hinge", JointEnd("hub", at=(0, 0.2, 0), axis=Z), JointEnd("arm", axis=Z), rates=(2.0,)))
    model.add(JointSpringDamper("spring", joint="hinge", stiffness=3.0, damping=0.1))
    start = Attachment("arm", at=(0.4, 0.0, 0.0), direction=X)
    model.add(ExactBeam("b", section, 1.0, 2, start=start, curvature=(0.5, 0.4, 1.0)))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["reduced", "quaternion"])
def test_formulations_agree(formulation):
    """Motion, section forces and energy of a mechanism with an exact beam."""
    words = {"duration": 0.1, "rtol": 1e-9, "output_interval": 0.05}
    first, second = (femb.simulate(mechanism(), formulation=each, **words) for each in ("velocity", formulation))
    for name, size in (("position", 1.0), ("quaternion", 1.0), ("velocity", 1.0), ("section_moment", 1.0)):
        mine, other = (getattr(each.beams["b"], name)[-1] for each in (first, second))
        np.testing.assert_allclose(other, mine, atol=1e-6 * size)
    np.testing.assert_allclose(second.audit.energy_error, 0.0, atol=1e-7)


def test_motion_in_coordinates_of_joints():
    """Accelerations in relative coordinates, in all three kinds of speeds."""
    from femb.system.system import System

    system = System(mechanism())
    u = system.inputs_at(0.0, system.q0, system.v0)
    wanted = system.acceleration(u, system.q0, system.v0)
    for speeds in ("fixed", "body", "angles"):
        form = femb.thompson.relative_kinematics(mechanism(), speeds)
        a, _ = form.forward(form.inputs_at(0.0, form.q0, form.v0), form.q0, form.v0)
        found = form.accelerations_to_system(form.q0[None], form.v0[None], a[None])[0]
        np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())


def test_momenta_are_of_rigid_bodies():
    with pytest.raises(ModelError, match=r"'hamiltonian' is for trees of rigid bodies: beams\.b bends; use 'velocity'"):
        femb.simulate(mechanism(), duration=0.1, formulation="hamiltonian", method="rk")


@pytest.mark.parametrize("elements", [4, 8, 16])
def test_torsion_with_a_disc_at_the_end(elements):
    """Order 2: kappa tan kappa = r (1 - kappa^2 / 12 n^2), of which the exact one is without the bracket; between free
    and held ends alone the order is 4."""
    G, R, rho, length, disc = 8e10, 0.01, 7850.0, 0.5, 1e-3
    r = rho * np.pi * R**4 / 2.0 * length / disc
    wanted = brentq(lambda k: k * np.tan(k) - r * (1.0 - k**2 / (12.0 * elements**2)), 1e-3, 1.5)
    model = Model("shaft")
    section = Section("s", shape={"circle": R}, material=femb.Material(2.08e11, G, rho))
    start = Attachment("ground", direction=X)
    model.add(ExactBeam("b", section=section, length=length, elements=elements, start=start))
    model.add(RigidBody("d", 0.01, disc))
    model.add(femb.Fixed("weld", JointEnd(beam="b", node=-1), JointEnd("d")))
    model.add(femb.Cylindrical("guide", JointEnd("ground", at=(length, 0, 0), axis=X), JointEnd("d", axis=X)))
    found = 2.0 * np.pi * modes(model).frequencies * length / np.sqrt(G / rho)
    exact = brentq(lambda k: k * np.tan(k) - r, 1e-3, 1.5)
    assert np.min(np.abs(found / wanted - 1.0)) < 0.01 * (1.0 - wanted / exact)
