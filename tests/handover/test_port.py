"""Appendages between two ports, closed with a rigid child or with the next appendage."""

from dataclasses import replace

import numpy as np
import pytest
from models import of_parts, refuses, slender, winged_satellite

from femb import Attachment, Beam, Place, RigidBody
from femb.handover import hybrid_coordinates, port

FREQUENCIES = (0.05, 1.0, 3.0)
CHILD = np.diag([3.0, 3.0, 3.0, 0.1, 0.2, 0.25])
HUB = RigidBody("hub", mass=5.0, inertia=(1.0, 1.0, 1.0))


SECTION = slender(mass_per_length=4.0, axial_stiffness=1e3, inertia_per_length=[2e-3, 1e-3, 1e-3])


def boom(elements, child=None):
    start = Attachment("hub", direction=(1.0, 0.0, 0.0))
    end = {} if child is None else {"end": Attachment(child, direction=(1.0, 0.0, 0.0))}
    return Beam("boom", SECTION, length=1.0, elements=elements, start=start, **end)


def direct(elements):
    """Dynamic mass of the boom with its tip body, by the modes of both."""
    tip = RigidBody("tip", mass=3.0, inertia=(0.1, 0.2, 0.25), position=(1.0, 0.0, 0.0))
    model = of_parts(HUB, tip, boom(elements, child="tip"))
    return hybrid_coordinates(model, held="hub", damping=0.0, points={}).appendages[0]


@pytest.mark.parametrize("elements", [2, 6])
def test_with_all_modes_a_rigid_child_makes_the_direct_model(elements):
    whole = port(of_parts(HUB, boom(elements)), "beams.boom.-1", held="hub", damping=0.0)
    for frequency in FREQUENCIES:
        s = 2j * np.pi * frequency
        wanted = direct(elements).dynamic_mass(s)
        np.testing.assert_allclose(whole.dynamic_mass(s, CHILD), wanted, rtol=0.0, atol=1e-11 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("elements", [6, 12])
def test_few_modes_do_for_a_heavy_child(elements):
    """Six of the child port and four, of all modes or iterated: as many with a free tip are ten times worse."""
    model = of_parts(HUB, boom(elements))
    few, all_modes = (port(model, "beams.boom.-1", count, held="hub", damping=0.0) for count in (4, None))
    assert len(few.frequencies) == 10
    words = {word: getattr(all_modes, word)[:10] for word in ("frequencies", "damping", "coupling")}
    free_tip = replace(all_modes, child_rows=all_modes.child_rows[:, :10], **words)
    for frequency, bound in ((0.1, 2e-5), (0.3, 3e-4), (1.0, 3e-4)):
        s = 2j * np.pi * frequency
        wanted = direct(elements).dynamic_mass(s)
        errors = [np.max(np.abs(one.dynamic_mass(s, CHILD) - wanted)) for one in (few, free_tip)]
        assert errors[0] < bound * np.max(np.abs(wanted))
        assert errors[0] < 0.1 * errors[1]


def test_a_chain_of_two():
    """Two booms, one on the tip of the other, as a chain and as one appendage."""
    one = of_parts(HUB, boom(3))
    two = of_parts(HUB, boom(3))
    outer = Attachment(beam="boom", node=-1, direction=(1.0, 0.0, 0.0))
    two.add(Beam("outer", SECTION, length=1.0, elements=3, start=outer))
    inner = port(one, "beams.boom.-1", held="hub", damping=0.0)
    whole = hybrid_coordinates(two, held="hub", damping=0.0, points={}).appendages[0]
    for frequency in FREQUENCIES:
        s = 2j * np.pi * frequency
        wanted = whole.dynamic_mass(s)
        found = inner.dynamic_mass(s, inner.dynamic_mass(s))
        np.testing.assert_allclose(found, wanted, atol=1e-8 * np.max(np.abs(wanted)))


@pytest.mark.slow
def test_a_child_on_a_jointed_panel():
    """Joints and springs between the ports; without a child it is the appendage."""
    place = Place("left panel 2", at=(0.0, -0.75, 0.0))
    wing = port(winged_satellite(), place, held="hub", damping=0.0)
    part = hybrid_coordinates(winged_satellite(), held="hub", damping=0.0, points={}).appendages[0]
    np.testing.assert_allclose(wing.child, (0.0, -5.5, 0.0), atol=1e-12)
    np.testing.assert_allclose(wing.frequencies[:4], part.frequencies[:4], rtol=1e-8)
    few = port(winged_satellite(), place, 8, held="hub", damping=0.0)  # from the sparse factorisation
    heavy = np.diag([20.0, 20.0, 20.0, 1.0, 2.0, 3.0])
    at_root = part.about((0.0, -0.6, 0.0))
    for frequency in (0.05, 0.5, 1.0):
        s = 2j * np.pi * frequency
        wanted = at_root.dynamic_mass(s)
        np.testing.assert_allclose(wing.dynamic_mass(s), wanted, rtol=0.0, atol=1e-9 * np.max(np.abs(wanted)))
        wanted = wing.dynamic_mass(s, heavy)
        np.testing.assert_allclose(few.dynamic_mass(s, heavy), wanted, rtol=0.0, atol=1e-8 * np.max(np.abs(wanted)))


def test_state_space_and_names():
    few = port(of_parts(HUB, boom(2)), "beams.boom.-1", 1, held="hub")
    space = few.state_space()
    assert space.inputs[0] == "child.force.x"
    assert space.inputs[6] == "parent.x acceleration"
    assert space.outputs[-1] == "parent.torque.z"
    # rigid at low frequency: the wrench on the parent by its acceleration is that of the rigid mass
    np.testing.assert_allclose(space.transfer(1e-6j)[6:, 6:].real, -few.rigid_mass, atol=1e-8)
    np.testing.assert_allclose(space.transfer(1e-6j)[:6, 6:].real, few.tau, atol=1e-8)


@pytest.mark.parametrize("child", ["bodies.hub", "beams.mast.-1"])
def test_refusals(child):
    refuses(r"port: child: got|points: child: got", port, of_parts(HUB, boom(1)), child, held="hub")
