"""Joint springs beside axes that turn, whose rows of stiffness in other directions are rounding alone."""

import numpy as np
import pytest
from scipy.linalg import eigh

import femb

Z, ARM, INERTIA, MASSES, STIFFNESS, MOUNT = (0, 0, 1), 1.0, (1.0, 0.1), (10.0, 2.0, 1.0), 20.0, 5.0


def satellite(angle):
    """A hub with a panel on a sprung hinge about z, unloaded at an angle, and a payload on one spring along x."""
    model = femb.Model("hub, panel and payload")
    model.add(femb.RigidBody("hub", MASSES[0], INERTIA[0]))
    model.add(femb.RigidBody("panel", MASSES[1], (0.1, 0.2, INERTIA[1])))
    model.add(femb.RigidBody("payload", MASSES[2], 0.1, position=(2, 0, 0)))
    ends = (femb.JointEnd(name, at=(0, y, 0), axis=Z) for name, y in (("hub", ARM), ("panel", -ARM)))
    model.add(femb.Revolute("hinge", *ends, start=angle))
    model.add(femb.JointSpringDamper("hinge", joint="hinge", stiffness=STIFFNESS, free=angle))
    model.add(femb.SpringDamper("mount", femb.SpringEnd("hub"), femb.SpringEnd("payload"), stiffness=MOUNT))
    return model


def in_the_plane(angle):
    """(2,) Hz: frequencies of the hub (x, y, turn), the turn of the hinge and x of the payload, on paper."""
    arm = ARM * np.array([np.sin(angle), -np.cos(angle)])  # the velocity of the centre from the hinge is -arm x turn
    hub, payload = np.eye(5)[:2], np.eye(5)[4]
    turn, hinge = np.eye(5)[2], np.eye(5)[3]
    centre = hub + np.outer([-ARM, 0.0], turn) + np.outer([arm[1], -arm[0]], turn + hinge)
    M = MASSES[0] * hub.T @ hub + MASSES[1] * centre.T @ centre + MASSES[2] * np.outer(payload, payload)
    M += INERTIA[0] * np.outer(turn, turn) + INERTIA[1] * np.outer(turn + hinge, turn + hinge)
    K = STIFFNESS * np.outer(hinge, hinge) + MOUNT * np.outer(payload - hub[0], payload - hub[0])
    return np.asarray(np.sqrt(eigh(K, M, eigvals_only=True)[-2:]) / (2.0 * np.pi))


def geared(angle):
    """Two alike panels on either side of a hub, on hinges that an elastic gear connects: they turn opposite ways."""
    model = femb.Model("two geared panels")
    model.add(femb.RigidBody("hub", MASSES[0], INERTIA[0]))
    for name, side in (("right", 1.0), ("left", -1.0)):
        model.add(femb.RigidBody(name, MASSES[1], (0.1, 0.2, INERTIA[1])))
        ends = (femb.JointEnd(body, at=(0, y, 0), axis=Z) for body, y in (("hub", side), (name, -side)))
        model.add(femb.Revolute(name, *ends, start=angle))
    gear = femb.JointCoordinate("right"), femb.JointCoordinate("left")
    model.add(femb.Gear("gear", *gear, ratio=-1.0, stiffness=STIFFNESS))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("damped", [False, True])
def test_modes_of_a_hinged_panel_at_any_angle_are_those_of_its_plane(damped):
    for angle in np.linspace(0.05, 1.5, 4 if damped else 9).tolist():
        modes = femb.modes(satellite(angle), damped=damped)
        # two translations and three turns of the payload
        assert modes.joint == 5, angle
        assert modes.frequencies == pytest.approx(in_the_plane(angle), rel=1e-9), angle


@pytest.mark.parametrize("angle", [0.3, 1.2])
def test_an_elastic_gear_alone_gives_one_mode_at_any_angle(angle):
    """Both turn by the same angle the opposite way, and the hub along y alone: the sum of their angles has a spring."""
    modes = femb.modes(geared(angle))
    assert modes.joint == 1
    linear = femb.linearize(geared(angle), at_rest=True, outputs=["bodies.hub.position.x"]).eigenvalues()
    assert modes.frequencies == pytest.approx(np.max(linear.imag) / (2.0 * np.pi) * np.ones(1), rel=1e-6)


def test_linear_models_in_modes_know_what_a_hinge_at_an_angle_leaves_free():
    """Eleven pairs at zero, and the two vibrations."""
    values = femb.linearize_structure(satellite(0.3), modes=2, outputs=["bodies.hub.position.x"]).eigenvalues()
    values = values[np.argsort(np.abs(values))]
    np.testing.assert_array_equal(values[:22], 0.0)
    assert np.abs(values[22:]) / (2.0 * np.pi) == pytest.approx(np.repeat(in_the_plane(0.3), 2), rel=1e-9)
