"""Loops of free satellites that turn: places and velocities of the whole, which no law moves, turn in their axes."""

import numpy as np
import pytest

import femb
from femb.study.study import Study

HUB, PANEL = (120.0, np.array([18.0, 20.0, 25.0])), (6.0, np.array([0.32, 0.72, 1.04]))
PLACE = np.array([1.1, 0.5, 0.0])  # of the panel
BANDWIDTH = 0.2
SPINS = (1e-6, 1e-4, 0.0044, 0.02, 0.1)


def controlled(*items, inertia=HUB[1], mass=HUB[0], spin=0.0):
    """A hub that turns about z, with a torque by a sampled law."""
    model = femb.Model("turning satellite")
    model.add(femb.RigidBody("hub", mass, inertia, angular_velocity=(0.0, 0.0, spin)))
    for item in items:
        model.add(item)
    model.add(femb.Load("torque", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
    reads = {"attitude": "bodies.hub.attitude", "rate": "bodies.hub.angular_velocity"}
    model.add(femb.PDController("law", **reads, bandwidth=BANDWIDTH, outputs=("loads.torque.torque",), period=0.25))
    return model


def with_panel(spin, *more):
    """The same with a panel on a hinge about z, with its mass centre beside that of the hub."""
    axes = {"axis": (0, 0, -1), "reference": (1, 0, 0)}
    hinge = femb.JointEnd("hub", at=(0.5, 0.5, 0), **axes), femb.JointEnd("panel", at=(-0.6, 0, 0), **axes)
    return controlled(femb.RigidBody("panel", *PANEL), femb.Revolute("hinge", *hinge), *more, spin=spin)


def latched(spin):
    return with_panel(spin, femb.Latch("latch", joint="hinge", engaged=True, time=1e6))


def in_one(spin):
    """Hub and panel as one rigid body about the common mass centre."""
    reduced = HUB[0] * PANEL[0] / (HUB[0] + PANEL[0])
    inertia = np.diag(HUB[1] + PANEL[1]) + reduced * (PLACE @ PLACE * np.eye(3) - np.outer(PLACE, PLACE))
    return controlled(inertia=inertia, mass=HUB[0] + PANEL[0], spin=spin)


@pytest.mark.parametrize("spin", SPINS)
def test_a_latched_panel_is_one_body_with_its_hub(spin):
    """Also where the mass centre moves in space, so that the state is not steady: three pairs of turns are left."""
    loop, wanted = femb.loop(latched(spin)), femb.loop(in_one(spin))
    assert loop.conserved == 6
    assert loop.stable
    np.testing.assert_allclose(np.sort_complex(loop.poles()), np.sort_complex(wanted.poles()), rtol=0.0, atol=1e-8)
    for found, alike in zip(loop.margins(), wanted.margins(), strict=True):
        assert found.phase_margin == pytest.approx(alike.phase_margin, rel=1e-6)


def test_margins_of_a_sprung_panel_go_over_into_those_at_rest():
    """By less than what gyroscopic forces turn about an axis while the loop answers: 30 degrees by rad/s."""
    spring = femb.JointSpringDamper("spring", joint="hinge", stiffness=5.0, damping=0.05)
    rest = femb.loop(with_panel(0.0, spring)).margins()[0]
    for spin in SPINS:
        loop = femb.loop(with_panel(spin, spring))
        assert (loop.stable, loop.conserved) == (True, 6), spin
        found = loop.margins()[0]
        assert abs(found.phase_margin - rest.phase_margin) <= 30.0 * spin, spin
        assert abs(found.delay_margin - rest.delay_margin) <= 3.0 * spin, spin


CASE = """
[bodies.hub]
mass = 120.0
inertia = [18.0, 20.0, 25.0]
angular_velocity = [0, 0, 0]
[bodies.panel]
mass = 6.0
inertia = [0.32, 0.72, 1.04]
[joints.hinge]
first = { body = "hub", at = [0.5, 0.5, 0], axis = [0, 0, -1], reference = [1, 0, 0] }
second = { body = "panel", at = [-0.6, 0, 0], axis = [0, 0, -1], reference = [1, 0, 0] }
[springs.spring]
kind = "joint"
joint = "hinge"
stiffness = 5.0
damping = 0.05
[loads.torque]
body = "hub"
torque = [0, 0, 0]
frame = "body"
[controllers.law]
kind = "pd"
attitude = "bodies.hub.attitude"
rate = "bodies.hub.angular_velocity"
bandwidth = 0.2
outputs = ["loads.torque.torque"]
period = 0.25
[run]
duration = 60.0
"""


def test_studies_of_the_rate_of_a_satellite_see_stable_loops(tmp_path):
    spring = femb.JointSpringDamper("spring", joint="hinge", stiffness=5.0, damping=0.05)
    (tmp_path / "case.toml").write_text(CASE)
    values = {"w": {"key": "bodies.hub.angular_velocity.2", "values": [0.0, -0.0044, 0.02]}}
    outputs = {"phase": {"kind": "phase_margin"}, "delay": {"kind": "delay_margin"}}
    table = femb.sweep(Study(tmp_path / "case.toml", variables=values, outputs=outputs))
    assert not table.failed.any(), table.messages
    for k, spin in enumerate((0.0, -0.0044, 0.02)):
        margins = femb.loop(with_panel(spin, spring)).margins()
        assert table["phase"][k] == pytest.approx(min(each.phase_margin for each in margins), rel=1e-9)
        assert table["delay"][k] == pytest.approx(min(each.delay_margin for each in margins), rel=1e-9)
        assert table["phase"][k] > 62.0
