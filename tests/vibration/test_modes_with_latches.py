"""A latch that is not engaged leaves all modes as they are; one that is takes one away."""

import numpy as np
import pytest
from models import FREE, of_parts, winged_satellite

import femb


def panels(*latches, damped=False):
    """Three rigid panels on hinges with springs, on a free hub."""
    parts = [femb.RigidBody("hub", mass=50.0, inertia=(5.0, 6.0, 7.0))]
    for name, y in (("a", 1.0), ("b", -1.0), ("c", 2.0)):
        ends = femb.JointEnd("hub", at=(0, y, 1), axis=(1, 0, 0)), femb.JointEnd(name, at=(0, 0, -1), axis=(1, 0, 0))
        parts += [femb.RigidBody(name, mass=3.0, inertia=0.5), femb.Revolute(name, *ends)]
        parts.append(femb.JointSpringDamper(name, joint=name, stiffness=10.0 + 5.0 * y))
    held = [femb.ModalDamping("d", held="hub", ratio=0.01)] if damped else []
    return of_parts(*parts, *held, *(femb.Latch(name, joint=name, at=0.1) for name in latches))


@pytest.mark.parametrize("latches", [("a",), ("a", "b", "c")])
@pytest.mark.parametrize("words", [{}, {"damped": True}, {"held": "hub"}, {"start": "equilibrium"}])
def test_latches_that_are_not_engaged_hide_no_mode(latches, words):
    wanted, found = (femb.modes(model, **words) for model in (panels(), panels(*latches)))
    assert len(wanted.frequencies) == 3
    np.testing.assert_allclose(found.frequencies, wanted.frequencies, rtol=1e-12)
    assert (found.rigid, found.joint) == (wanted.rigid, wanted.joint)


def test_an_engaged_latch_takes_a_mode_away():
    model = panels("a", "b", "c")
    latched = of_parts(*(item for item in model.items() if item.table != "latches"))
    for name in "abc":
        latched.add(femb.Latch(name, joint=name, at=0.1, engaged=name == "b"))
    assert len(femb.modes(latched).frequencies) == 2


@pytest.mark.slow
def test_what_hangs_on_a_hub_by_hinges_with_latches_is_handed_over_and_damped():
    """The panels, each on its spring with the hub held: sqrt(k/(J + m r^2)), r = 1 m."""
    wanted = np.sqrt((10.0 + 5.0 * np.array([-1.0, 1.0, 2.0])) / (0.5 + 3.0)) / (2.0 * np.pi)
    plant = femb.handover.hybrid_coordinates(panels("a", "b", "c"), held="hub")
    found = np.concatenate([part.frequencies for part in plant.appendages])
    np.testing.assert_allclose(np.sort(found), wanted, rtol=1e-12)
    for model in (panels("a", "b", "c"), panels()):
        space = femb.linearize_structure(
            model, inputs=["bodies.hub.torque"], outputs=["bodies.hub.turn"], hub="hub", craig_bampton=1, damping=1e-9
        )
        poles = np.sort(np.abs(space.eigenvalues().imag))[-6::2] / (2.0 * np.pi)
        np.testing.assert_allclose(poles, femb.modes(panels()).frequencies, rtol=1e-8)
    damped = femb.modes(panels("a", "b", "c", damped=True), damped=True, held="hub")
    np.testing.assert_allclose(damped.damping, 0.01, rtol=1e-9)


def test_the_satellite_of_modes_with_a_latch_on_each_hinge():
    """By Lanczos, whose shift counts negative eigenvalues; and its static stability."""
    model = winged_satellite()
    for joint in list(model.joints):
        model.add(femb.Latch(f"{joint} latch", joint=joint, at=0.1))
    np.testing.assert_allclose(femb.modes(model, 10).frequencies, FREE, atol=1e-6)
    push = femb.Load("push", body="left panel 2", force=(0.0, 0.0, 1.0))
    held = of_parts(*(item for item in model.items() if item.name != "hub"), femb.Ground("hub"), push)
    results = femb.static(held, steps=1)
    assert set(results.stability) == {"stable"}
