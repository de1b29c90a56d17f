"""Modes of free structures that turn slowly: those of rest, and nutation by Euler's equations, at every spin."""

import numpy as np
import pytest
from models import of_parts
from oracles.modal_beam import BeamModel

import femb
from femb import Attachment, Beam, FlexibleBody
from femb.system.moving_ground import mass_properties
from femb.system.system import System
from femb.vibration.modes import modes
from femb.vibration.slow_modes import SLOW

SPINS = (1e-6, 1.16e-3, 0.01, 0.1, 1.0, 10.0)
TUBE = {"shape": {"tube": [0.03, 0.002]}, "material": "aluminium 6061-T6"}


def boom(spin):
    """A heavy hub with a stiff boom, its mass centre beside the hub."""
    body = femb.RigidBody("hub", mass=100.0, inertia=(10.0, 7.0, 12.0), angular_velocity=(0.0, 0.0, spin))
    root = Attachment("hub", at=(0.6, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    return of_parts(body, femb.Section("s", **TUBE), Beam("b", "s", length=2.0, elements=8, start=root))


def panel(spin):
    """The satellite of docs/howto/shells.md, with a coarser mesh."""
    face = femb.Ply(thickness=2e-4, angle=0.0, material="aluminium 2014-T6")
    core = femb.Ply(
        thickness=0.02, angle=0.0, youngs_moduli=(1e6, 1e6), shear_modulus=1e6, poissons_ratio=0.1, density=32.0,
        transverse_shear=(180e6, 90e6),
    )  # fmt: skip
    body = femb.RigidBody("hub", mass=100.0, inertia=(10.0, 7.0, 12.0), angular_velocity=(0.0, 0.0, spin))
    corners = [[0.6, -0.5, 0], [2.6, -0.5, 0], [2.6, 0.5, 0], [0.6, 0.5, 0]]
    words = {"attach": {"edge4": "hub"}, "non_structural_mass": 1.2, "frame": "hub"}
    return of_parts(body, femb.Shell("panel", corners=corners, elements=[4, 2], plies=[face, core, face], **words))


def reduced(spin):
    """A hub with a beam reduced to its modes."""
    body = femb.RigidBody("hub", mass=100.0, inertia=(10.0, 7.0, 14.0), angular_velocity=(0.0, 0.0, spin))
    blade = BeamModel(2.0, 8, 1.0, 1e6, 1e4, (1e3, 3e3)).reduced(8)
    root = Attachment("hub", at=(0.5, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    return of_parts(body, FlexibleBody("blade", blade, start=root, damping_ratio=0.0))


MODELS = {"boom": boom, "panel": panel, "reduced": reduced}


def euler(model, spin):
    """The rate of the nutation of a rigid body about its axis of the largest inertia."""
    C, B, A = sorted(np.linalg.eigvalsh(mass_properties(System(model))[2]))[::-1]
    return spin * np.sqrt((C - A) * (C - B) / (A * B))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_modes_are_continuous_as_the_spin_goes_to_zero(name):
    """Two rigid motions stay, three turn, nothing grows, nutation is Euler's, and the others those of rest."""
    rest = modes(MODELS[name](0.0), 5).frequencies
    for spin in SPINS:
        model = MODELS[name](spin)
        found = modes(model, 6, start="equilibrium")
        assert (found.rigid, found.joint, found.across) == (5, 0, 3)
        assert np.max(np.abs(found.damping)) < 1e-10
        assert found.nutates.tolist() == [True] + 5 * [False]
        assert "unstable" not in found.table()
        assert "digits" not in found.table()
        assert np.max(found.precision) < 1e-4
        stiff = (spin / (2.0 * np.pi * rest[0])) ** 2
        np.testing.assert_allclose(2.0 * np.pi * found.frequencies[0], euler(model, spin), rtol=20.0 * stiff + 1e-9)
        np.testing.assert_allclose(found.frequencies[1:], rest, rtol=20.0 * stiff + 1e-6)


@pytest.mark.slow
def test_deformation_changes_nutation_alike_by_both_solvers():
    """The change by deformation is quadratic in the spin: below and above the limit of the small matrices."""
    changes = []
    for part in (0.7, 0.95, 1.05, 1.4):
        spin = part * SLOW * 2.0 * np.pi * modes(boom(0.0), 1).frequencies[0]
        model = boom(spin)
        found = modes(model, 1, start="equilibrium")
        changes.append((2.0 * np.pi * found.frequencies[0] / euler(model, spin) - 1.0) / spin**2)
    assert abs(changes[0]) > 1e-7
    np.testing.assert_allclose(changes, changes[0], rtol=1e-3)


def satellite(spin, viscous=(0.0, 1e-4)):
    """A hub with a boom, a panel on a hinge with a spring and a damper, and two wheels."""
    axis = (0.0, 0.0, 1.0)
    body = femb.RigidBody("hub", mass=100.0, inertia=(10.0, 7.0, 12.0), angular_velocity=spin * np.array(axis))
    # on both sides alike, so that z is a principal axis
    items = [body, femb.Section("s", **TUBE)]
    for side, x in (("right", 1.0), ("left", -1.0)):
        items.append(
            Beam(side, "s", length=2.0, elements=4, start=body.at((0.6 * x, 0.0, 0.0), direction=(x, 0.0, 0.0)))
        )
        panel = femb.RigidBody(f"{side}_panel", mass=4.0, inertia=(0.3, 0.5, 0.8), center_of_mass=(0.0, 0.5 * x, 0.0))
        ends = femb.JointEnd("hub", at=(0.0, 0.5 * x, 0.0), axis=(1.0, 0.0, 0.0)), femb.JointEnd(panel.name)
        hinge = femb.Revolute(f"{side}_hinge", *ends)
        items += [panel, hinge, femb.JointSpringDamper(f"{side}_spring", hinge.name, stiffness=300.0, damping=0.5)]
    for name, along, friction in zip(("a", "b"), WHEEL_AXES, viscous, strict=True):
        items.append(femb.ReactionWheel(name, "hub", axis=along, spin_inertia=WHEEL, viscous=friction))
    return of_parts(*items)


WHEEL, WHEEL_AXES = 0.02, np.array([[1.0, 0.0, 0.0], [0.6, 0.64, 0.48]])


def rigid_with_wheels(model, spin, viscous):
    """Eigenvalues of Euler's equations of a body with wheels about a rotation, beside their zeros."""
    J, omega = mass_properties(System(model))[2], np.array([0.0, 0.0, spin])
    cross = lambda x: np.cross(np.eye(3), x).T  # noqa: E731
    wheels = WHEEL * WHEEL_AXES
    M = np.block([[J, wheels.T], [wheels, WHEEL * np.eye(2)]])
    gyroscopic = np.hstack([cross(omega) @ J - cross(J @ omega), cross(omega) @ wheels.T])
    values = np.linalg.eigvals(
        -np.linalg.solve(M, np.vstack([gyroscopic, np.hstack([np.zeros((2, 3)), np.diag(viscous)])]))
    )
    return values[np.abs(values) > 1e-9 * np.max(np.abs(values))]


@pytest.mark.parametrize("viscous", [(0.0, 1e-6), (1e-4, 0.05)])
def test_a_hinged_satellite_with_wheels_turns_as_slowly_as_one_likes(viscous):
    """Nutation and the friction of wheels are those of the rigid body, and vibrations those of rest."""
    rest = modes(satellite(0.0, viscous), 9, damped=True).eigenvalues
    rest = rest[np.abs(rest) > 1.0][:5]
    rest = rest[rest.imag > 0.0]
    for spin in (1e-6, 1.16e-3, 1.0):
        model = satellite(spin, viscous)
        found = modes(model, 9, damped=True, start="equilibrium")
        assert (found.rigid, found.joint, found.across) == (5, 0, 3)
        assert "unstable" not in found.table()
        stiff = (max(spin, max(viscous) / WHEEL) / abs(rest[0])) ** 2
        for value in rigid_with_wheels(model, spin, np.array(viscous)):
            error = np.min(np.abs(found.eigenvalues - value))
            assert value.imag < 0.0 or error < (20.0 * stiff + 1e-6) * abs(value), (spin, value, found.eigenvalues)
        for value in rest:
            assert np.min(np.abs(found.eigenvalues - value)) < 1.01 * spin + 1e-6 * abs(value)
