"""`femb check` says whose start velocity a body takes over, and elements say with one call what takes it over."""

import numpy as np
import pytest

import femb
from femb.layout.layout import Layout
from femb.run.overview import overview
from femb.system.initial_state import structures

BAR = femb.Section("bar", 1e-4, (1e-9, 1e-9), 2e-9, 2700.0, 7e10, 2.6e10)
ENDS = [femb.JointEnd(name, at=(x, 0.0, 0.0), axis=(0.0, 1.0, 0.0)) for name, x in (("hub", 0.5), ("tip", -0.5))]


def two(link, **words):
    """Two bodies, of which the first has a velocity, and what links them."""
    model = femb.Model()
    hub = model.add(femb.RigidBody("hub", mass=3.0, inertia=0.2, position=(0.0, 0.0, 0.0), **words))
    tip = model.add(femb.RigidBody("tip", mass=1.0, inertia=0.1, position=(1.0, 0.0, 0.0)))
    if link == "beam":
        model.add(femb.Beam("boom", BAR, start=hub.at((0, 0, 0)), end=tip.at((0, 0, 0))))
    elif link == "joint":
        model.add(femb.Revolute("hinge", *ENDS))
    elif link == "spring":
        model.add(femb.SpringDamper("spring", hub.at((0, 0, 0)), tip.at((0, 0, 0)), stiffness=1.0, free_length=1.0))
    return model


@pytest.mark.parametrize("link", ["beam", "joint", "spring"])
def test_whose_velocity_a_body_takes_over(link):
    model = two(link, velocity=(0.0, 1.0, 0.0), angular_velocity=(0.0, 0.0, 2.0))
    lines = [line for line in overview(model).lines if "take over" in line]
    results = femb.simulate(model, duration=1e-3)
    tip = results.bodies["tip"]
    if link == "spring":
        assert not lines
        np.testing.assert_array_equal(tip.velocity[0], 0.0)
        return
    assert len(lines) == 1
    assert lines[0].startswith("bodies.tip take over the start velocity of bodies.hub")
    np.testing.assert_allclose(tip.velocity[0], [0.0, 3.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(tip.angular_velocity[0], [0.0, 0.0, 2.0], atol=1e-12)


def test_nothing_is_taken_over_at_rest_or_from_a_joint_that_turns():
    assert not [line for line in overview(two("beam")).lines if "take over" in line]
    model = two("none", velocity=(0.0, 1.0, 0.0))
    model.add(femb.Revolute("hinge", *ENDS, rates=1.0))
    assert not [line for line in overview(model).lines if "take over" in line]


def test_to_couple_is_not_to_connect():
    """Entries of matrices alone make no structure."""
    layout = Layout()
    frames = [layout.add_frame(f"frame {k}", np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])) for k in range(3)]
    layout.couple(frames[:2])
    layout.couple(frames[1:])
    layout.connect(frames[1:])
    layout.finish()
    numbers = structures(layout)
    assert numbers[0] != numbers[1] == numbers[2]
    assert len(layout.edges) == 2
