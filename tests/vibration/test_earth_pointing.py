"""Modes and linear models of satellites that turn with their orbit, from an equilibrium: closed forms of librations."""

import numpy as np
import pytest
from models import of_parts, sections_like

import femb
from femb.numerics import rotations

RATE = 1.1e-3
INERTIA = np.array([120.0, 150.0, 60.0])


def satellite(kind, centre=(0.0, 0.0, 0.0), boom=False, rate=RATE, inertia=INERTIA, **words):
    """A hub whose axes are those of the frame of the orbit, along which a boom may be: up, from the mass centre."""
    field = femb.GravityGradient("earth", rate=RATE, radial=(1.0, 2.0, 0.0), normal=(2.0, -1.0, 3.0))
    if kind == "orbit":
        position, velocity = field.motion_at(0.0)
        field = femb.Orbit("earth", position=position, velocity=velocity)
    model = of_parts(field)
    quaternion, turning = femb.orbital_frame(model)
    omega = turning * rate / RATE
    hub = femb.RigidBody(
        "hub", 200.0, inertia, center_of_mass=centre, quaternion=quaternion, angular_velocity=omega, **words
    )
    model.add(hub)
    if boom:
        tube = sections_like("tube", 1e-4, (2e-9, 1e-9), 3e-9, 1600.0, 1e11, 4e10)()
        start = hub.at(np.add(centre, (0.0, 0.0, -0.3)), direction=(0, 0, -1))
        model.add(femb.Beam("boom", tube, 5.0, 2, start=start))
    return model


def librations(inertia):
    """Roll with yaw and pitch by the rate of the orbit: docs/theory/actuators.md, equation (6)."""
    k_1, k_3 = (inertia[1] - inertia[2]) / inertia[0], (inertia[1] - inertia[0]) / inertia[2]
    b = 1.0 + 3.0 * k_1 + k_1 * k_3
    coupled = [np.sqrt((b + sign * np.sqrt(b * b - 16.0 * k_1 * k_3)) / 2.0) for sign in (-1.0, 1.0)]
    return np.sort([*coupled, np.sqrt(3.0 * (inertia[0] - inertia[2]) / inertia[1])])


# In orbit also what moves with its rate; beside the origin the drift along the orbit counts twice, at zero.
@pytest.mark.parametrize(("centre", "count"), [((0.0, 0.0, 0.0), 5), ((0.1, 0.2, 0.05), 6)])
@pytest.mark.parametrize("kind", ["orbit", "gravity_gradient"])
def test_librations_are_modes_of_the_equilibrium(kind, centre, count):
    """Of a rigid satellite, also where its mass centre, which falls, is beside the origin of the frame."""
    found = femb.modes(satellite(kind, centre), 3 if kind != "orbit" else count, start="equilibrium")
    omega = 2.0 * np.pi * np.asarray(found.frequencies) / RATE
    omega = [w for w in omega if w > 0.1 and abs(w - 1.0) > 1e-6]
    wanted = librations(INERTIA)
    np.testing.assert_allclose(omega, wanted[: len(omega)], rtol=1e-6)
    assert len(omega) >= 2


@pytest.mark.parametrize("words", [{}, {"centre": (0.1, 0.2, 0.05)}, {"boom": True}])
@pytest.mark.parametrize("kind", ["orbit", "gravity_gradient"])
def test_what_turns_with_a_circular_orbit_is_steady(kind, words):
    """Gravity turns with it; its mass centre falls freely beside the origin."""
    assert femb.linearize(satellite(kind, **words), start="equilibrium").unsteady == ""


@pytest.mark.parametrize("kind", ["orbit", "gravity_gradient"])
def test_trim_in_orbit_brings_to_rest_relative_to_it(kind):
    """A satellite at rest sees the vertical turn away: the steady one has the rate of the orbit, and librates."""
    model = satellite(kind, rate=0.0)
    assert "relative to the orbit" in femb.linearize(model).unsteady
    point = femb.trim(model)
    np.testing.assert_allclose(point.v[3:6], (0.0, -RATE, 0.0), atol=1e-9 * RATE)
    space = femb.linearize(point)
    assert space.unsteady == ""
    poles = space.eigenvalues() / RATE
    assert np.max(np.abs(poles.real)) < 1e-6
    for wanted in librations(INERTIA):
        assert np.min(np.abs(poles.imag - wanted)) < 1e-6


@pytest.mark.slow
def test_what_does_not_turn_with_the_orbit_is_unsteady():
    """Gravity of an ellipse varies in its frame; a moment along an inertial axis turns in it; thrust accelerates."""
    ellipse = of_parts(femb.Orbit("earth", semi_major_axis=7e6, eccentricity=0.01))
    quaternion, turning = femb.orbital_frame(ellipse)
    ellipse.add(femb.RigidBody("hub", 200.0, INERTIA, quaternion=quaternion, angular_velocity=turning))
    assert "no undisturbed circle" in femb.linearize(ellipse).unsteady
    turned = satellite("orbit")
    turned.add(femb.Load("push", "hub", torque=(1e-7, 0.0, 0.0)))
    assert "loads.push" in femb.linearize(turned, start="equilibrium").unsteady
    pushed = satellite("orbit")
    pushed.add(femb.Load("push", "hub", force=(0.0, 0.0, 1e-3), frame="body"))
    assert "changes its speed" in femb.linearize(pushed).unsteady


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["orbit", "gravity_gradient"])
def test_a_stiff_boom_is_a_part_of_the_rigid_satellite(kind):
    """The boom is stiff beside 1e-3 rad/s: librations are those of the inertia of the whole."""
    model = satellite(kind, boom=True)
    from femb.system.moving_ground import mass_properties

    system = femb.System(model)
    _, _, inertia = mass_properties(system)
    axes = femb.orbital_frame(model)[0]
    R = rotations.rotation_matrix(axes)
    wanted = librations(np.diag(R.T @ inertia @ R))
    found = femb.modes(model, 8, start="equilibrium")
    omega = 2.0 * np.pi * np.asarray(found.frequencies) / RATE
    omega = np.array([w for w in omega if 0.1 < w < 10.0 and abs(w - 1.0) > 1e-4])
    np.testing.assert_allclose(omega, wanted[: len(omega)], rtol=1e-4)
    assert len(omega) >= 2


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.3, 0.5, 0.8)])
@pytest.mark.parametrize("kind", ["orbit", "gravity_gradient"])
def test_principal_axes_beside_those_of_the_orbit_turn_to_them(kind, axis):
    """The gravity gradient holds them there, whatever the axes of the hub are; the warning says by how much."""
    R = rotations.rotation_matrix(rotations.from_axis_angle(np.array(axis) / np.linalg.norm(axis), np.radians(8.0)))
    model = satellite(kind, inertia=R @ np.diag(INERTIA) @ R.T)
    with pytest.warns(femb.FembWarning, match="against its axis of rotation, to a principal axis"):
        found = femb.modes(model, start="equilibrium")
    omega = 2.0 * np.pi * np.asarray(found.frequencies) / RATE
    omega = [w for w in omega if w > 0.1 and abs(w - 1.0) > 1e-6]
    np.testing.assert_allclose(omega, librations(INERTIA)[: len(omega)], rtol=1e-9)
    assert len(omega) >= 2


def test_one_that_turns_at_another_rate_is_refused():
    """Gravity does not turn with it."""
    with pytest.raises(femb.ModelError, match=r"loads\.earth do not turn with the structure of 'hub'"):
        femb.modes(satellite("gravity_gradient", rate=1.3 * RATE), 3, start="equilibrium")
