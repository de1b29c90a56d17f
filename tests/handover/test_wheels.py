"""Wheels that spin in plants for other programs: nutation, and the poles of the linear model with wheels at speed."""

import numpy as np
import pytest
from scipy.linalg import eigvals
from scipy.spatial.transform import Rotation

import femb
from femb.base.errors import FembWarning
from femb.handover import CraigBampton, hybrid_coordinates
from femb.handover.files import HandOver
from femb.handover.hybrid import HybridCoordinates


def section(damping=0.0):
    return femb.Section("s", 1e-4, (1e-9, 1.5e-9), 2e-9, 2700.0, 7e10, 2.7e10, damping=damping)


def satellite(seed, on_a_boom=True, damping=0.0):
    """A hub in any attitude with two booms, and wheels at speed on the hub and on a tip."""
    rng = np.random.default_rng(seed)
    model = femb.Model("satellite")
    turned = Rotation.random(random_state=seed).as_quat()[[3, 0, 1, 2]]
    model.add(femb.RigidBody("hub", 50.0, (5.0, 6.0, 7.0), position=rng.normal(size=3), quaternion=turned))
    model.add(section(damping))
    for name in ("boom", "mast"):
        direction = rng.normal(size=3)
        start = femb.Attachment("hub", 0.3 * rng.normal(size=3), direction=direction / np.linalg.norm(direction))
        model.add(femb.Beam(name, "s", length=2.0, elements=2, start=start))
    for k in range(2):
        model.add(wheel(f"w{k}", rng, body="hub"))
    if on_a_boom:
        model.add(wheel("tip", rng, beam="boom", node=-1, mass=0.5, transverse_inertia=0.004))
    return model


def wheel(name, rng, **place):
    axis = rng.normal(size=3)
    speed = rng.uniform(-600.0, 600.0)
    return femb.ReactionWheel(name, axis=axis / np.linalg.norm(axis), spin_inertia=0.006, speed=speed, **place)


def with_held_speeds(model):
    """Poles (n,) of the linear model whose motors keep the speeds of all wheels."""
    torques = [f"wheels.{name}.torque" for name in model.wheels]
    space = femb.linearize_structure(model, inputs=torques, outputs=[], hub="hub")
    speeds = [space.index("states", f"{name}.speed") for name in model.wheels]
    rest = np.setdiff1d(np.arange(len(space.states)), speeds)
    A, B = space.A, space.B
    return np.linalg.eigvals((A - B @ np.linalg.solve(B[speeds], A[speeds]))[np.ix_(rest, rest)])


@pytest.mark.parametrize("seed", range(3))
def test_poles_are_those_of_the_linear_model(seed):
    """All modes kept; of the state space, of its file, and of the reduced matrices."""
    model = satellite(seed)
    wanted = with_held_speeds(model)
    wanted = np.sort(wanted[wanted.imag > 0.1].imag)
    plant = hybrid_coordinates(model, held="hub", damping=0.0)
    whole = CraigBampton.of(plant)
    zero, one = np.zeros_like(whole.mass), np.eye(len(whole.mass))
    reduced = eigvals(
        np.block([[zero, one], [-whole.stiffness, -whole.damping]]), np.block([[one, zero], [zero, whole.mass]])
    )
    for poles in (plant.state_space().eigenvalues(), plant.state_space(dampers=True).eigenvalues(), reduced):
        found = np.sort(poles[poles.imag > 0.1].imag)
        assert len(found) == len(wanted)
        np.testing.assert_allclose(found[:12], wanted[:12], rtol=1e-6)


def test_nutation_of_a_rigid_satellite():
    """h / sqrt(A B) of a hub with a wheel along its third axis, in any state."""
    model = femb.Model("hub")
    model.add(femb.RigidBody("hub", 50.0, (5.0, 6.0, 7.0)))
    model.add(femb.ReactionWheel("w", body="hub", axis=(0, 0, 1), spin_inertia=0.1, speed=200.0 * np.pi))
    model.add(section())
    model.add(femb.Beam("boom", "s", length=0.1, elements=1, start=femb.Attachment("hub", direction=(1, 0, 0))))
    for start in ("as_given", "equilibrium"):
        plant = hybrid_coordinates(model, held="hub", start=start)
        assert plant.gyroscopic[3, 4] == pytest.approx(20.0 * np.pi, rel=1e-12)
        poles = plant.state_space().eigenvalues()
        slow = poles[(poles.imag > 0.1) & (poles.imag < 100.0)].imag
        inertia = plant.mass[3:, 3:]
        np.testing.assert_allclose(slow, 20.0 * np.pi / np.sqrt(inertia[0, 0] * inertia[1, 1]), rtol=1e-5)
        np.testing.assert_allclose(plant.dampers[:6, :6], 0.0, atol=1e-12)


@pytest.mark.parametrize("suffix", [".json", ".npz", ".h5"])
def test_files_give_the_moments_back(tmp_path, suffix):
    plant = hybrid_coordinates(satellite(1), 4, held="hub").kept(3)
    again = HybridCoordinates.read(plant.write(tmp_path / f"hybrid{suffix}"))
    np.testing.assert_array_equal(again.gyroscopic, plant.gyroscopic)
    np.testing.assert_array_equal(again.dampers, plant.dampers)
    of_modes = HybridCoordinates.of(femb.modes(satellite(1), 3, held="hub"))
    np.testing.assert_allclose(of_modes.gyroscopic, plant.gyroscopic, atol=1e-9)


def test_formats_without_the_moments_say_so(tmp_path):
    files = HandOver(satellite(1, on_a_boom=False), "hub", 2)
    with pytest.warns(FembWarning, match="42: .* gyroscopic moments of those that spin: add these as wheels"):
        files.flex42(tmp_path)


def test_moments_of_wheels_take_no_energy_from_a_damped_structure():
    G = hybrid_coordinates(satellite(1, damping=0.01), 3, held="hub", points={}).gyroscopic
    np.testing.assert_allclose(G, -G.T, atol=1e-10 * np.abs(G).max())
