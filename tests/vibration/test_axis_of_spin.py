"""The axis of a spin that an equilibrium keeps, and the angle by which it turns a structure to another one."""

import warnings

import numpy as np
import pytest
from models import of_parts, stiff

import femb
from femb.numerics import rotations
from femb.profiles import Polynomial
from femb.statics.equilibrium import in_equilibrium
from femb.system.moving_ground import mass_properties
from femb.system.system import System

RATE = 1.5
BLADE = stiff(1e6, 60.0, (40.0, 160.0), 0.5, (1e-3, 8e-4, 2e-4), "blade")


def blade(model, roll=30.0, cone=0.0, elements=8, host="hub", at=(0.5, 0, 0)):
    """A blade of 5 m whose flexible axis is rolled about its line, degrees."""
    roll, cone = np.deg2rad((roll, cone))
    along = (np.cos(cone), 0.0, np.sin(cone))
    up = np.cos(roll) * np.array([0.0, 1.0, 0.0]) + np.sin(roll) * np.cross(along, (0.0, 1.0, 0.0))
    start = femb.Attachment(host, at=at, direction=along, up=tuple(up))
    model.add(femb.Beam("boom", BLADE, 5.0, elements, start=start))
    return model


def on_hub(inertia=2000.0, mass=5000.0, **words):
    model = of_parts(femb.RigidBody("hub", mass=mass, inertia=inertia, angular_velocity=(0, 0, RATE)))
    return blade(model, **words)


def driven(**words):
    """On a hub that a motor on the ground turns about z."""
    model = femb.Model("driven")
    model.add(femb.RigidBody("hub", mass=1.0, inertia=1.0))
    model.add(femb.Revolute("bearing", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("hub", axis=(0, 0, 1))))
    model.add(femb.JointDriver("motor", "bearing", motion=Polynomial((0.0, RATE))))
    return blade(model, **words)


def spinning_modes(model, **words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return femb.modes(model, 4, start="equilibrium", **words)


def axis_of_hub(system):
    """Of the body, that was along z."""
    at = system.layout.frame_q[system.layout.bodies["hub"]] + 3
    return rotations.rotate(system.q0[at : at + 4], np.array([0.0, 0.0, 1.0]))


@pytest.mark.slow
@pytest.mark.parametrize("inertia", [2000.0, (2000.0, 2000.0, 2001.0), 2e5])
@pytest.mark.parametrize(("roll", "cone"), [(30.0, 0.0), (0.0, 0.0), (75.0, 0.0), (30.0, 5.0)])
def test_a_held_hub_turns_as_a_driven_one(inertia, roll, cone):
    """Whatever its moments of inertia, so heavy that the mass centre is in it."""
    wanted = spinning_modes(driven(roll=roll, cone=cone)).frequencies
    found = spinning_modes(on_hub(inertia, mass=5e6, roll=roll, cone=cone), held="hub")
    np.testing.assert_allclose(found.frequencies, wanted, rtol=3e-6)
    assert "degrees" not in found.table()


@pytest.mark.slow
def test_a_held_hub_carries_a_moment_through_its_joints():
    """The blade on a root that is welded to the hub, of hardly any mass."""
    model = femb.Model("joined")
    model.add(femb.RigidBody("hub", mass=5e6, inertia=10.0, angular_velocity=(0, 0, RATE)))
    model.add(femb.RigidBody("root", mass=1e-6, inertia=1e-6))
    model.add(femb.Fixed("weld", femb.JointEnd("hub", at=(0.5, 0, 0)), femb.JointEnd("root")))
    found = spinning_modes(blade(model, cone=5.0, host="root", at=(0, 0, 0)), held="hub").frequencies
    np.testing.assert_allclose(found, spinning_modes(driven(cone=5.0)).frequencies, rtol=3e-6)


@pytest.mark.slow
def test_a_free_hub_of_equal_moments_keeps_its_axis():
    """The products of inertia of the rolled section, 1e-6 of the hub's, have no say; the mesh has none either."""
    for elements in (4, 8):
        model = on_hub(elements=elements)
        system = in_equilibrium(System(model))
        np.testing.assert_allclose(axis_of_hub(system), [0, 0, 1], atol=1e-9)
    few, many = (spinning_modes(on_hub(elements=n), held="hub").frequencies for n in (8, 16))
    np.testing.assert_allclose(few, many, rtol=2e-4)


def test_the_angle_by_which_an_equilibrium_turns_a_structure_is_said():
    """To the principal axis: the angle Jyz / (Jzz - Jyy), of the section 0.5 (Jz - Jy) l sin 2 roll."""
    model = on_hub((2000.0, 2000.0, 2001.0))
    # along the boom's axes 2 and 3, of which the first is rolled from y
    across, length = np.array(BLADE.inertia_per_length[1:]), 5.0
    product = 0.5 * (across[1] - across[0]) * length * np.sin(2.0 * np.deg2rad(30.0))
    change = 1.0 + (across[1] - across[0]) * length * np.cos(2.0 * np.deg2rad(30.0))
    wanted = abs(0.5 * np.arctan2(2.0 * product, change))
    system = in_equilibrium(System(model))
    assert np.arccos(axis_of_hub(system)[2]) == pytest.approx(wanted, rel=1e-3)
    table = spinning_modes(model).table()
    assert f"; the equilibrium turned hub by {np.degrees(wanted):.3g} degrees" in table


def test_a_structure_that_its_deformation_turns_far_says_so():
    """Of two coned blades, alike in mass, the soft one is lifted less: the principal axis tilts."""
    model = femb.Model("unlike")
    model.add(femb.RigidBody("hub", mass=50.0, inertia=20.0, angular_velocity=(0, 0, RATE)))
    for name, x, stiffness in (("soft", 1.0, 10.0), ("stiff", -1.0, 4e3)):
        section = stiff(1e6, 60.0, (stiffness, stiffness), 0.5, (1e-3, 5e-4, 5e-4), name)
        along = (x * np.cos(0.2), 0.0, np.sin(0.2))
        start = femb.Attachment("hub", at=(0.5 * x, 0, 0), direction=along)
        model.add(femb.Beam(name, section, 5.0, 4, start=start))
    with pytest.warns(femb.FembWarning) as said:
        system = in_equilibrium(System(model))
    momentum = mass_properties(system)[2] @ (0.0, 0.0, RATE)
    assert np.linalg.norm(momentum[:2]) < 1e-9 * momentum[2]
    degrees = np.degrees(np.arccos(axis_of_hub(system)[2]))
    assert degrees > 1.0
    (message,) = (str(each.message) for each in said)
    assert f"turns 'hub' by {degrees:.3g} degrees" in message
