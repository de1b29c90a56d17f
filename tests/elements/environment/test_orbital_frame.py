"""The frame of an orbit: its axes and rate, by orbits and gravity gradients, and librations about it."""

import numpy as np
import pytest
from models import of_parts

import femb
from femb.elements.control.reference import orbit_of
from femb.numerics import rotations

RATE = 1.1e-3


def gradient(**words):
    return femb.GravityGradient("earth", rate=RATE, **words)


def circular(gradient):
    """The orbit that has this gradient."""
    position, velocity = gradient.motion_at(0.0)
    return femb.Orbit("earth", position=position, velocity=velocity)


def model_of(*items):
    return of_parts(*items)


DIRECTIONS = {"radial": (1.0, 2.0, 0.0), "normal": (2.0, -1.0, 3.0)}


@pytest.mark.parametrize("t", [0.0, 700.0])
def test_axes(t):
    """z down, y against the normal, x ahead; both descriptions of one circular orbit agree."""
    field = gradient(**DIRECTIONS)
    quaternion, rate = orbit_of(model_of(field), ("sensors", "s"))(t)
    axes = rotations.rotation_matrix(quaternion)
    np.testing.assert_allclose(axes[:, 2], -field.vertical(t), atol=1e-14)
    np.testing.assert_allclose(axes[:, 1], -np.array(field.normal), atol=1e-14)
    np.testing.assert_allclose(rate, [0.0, -RATE, 0.0], rtol=1e-12, atol=1e-18)
    orbit = circular(field)
    for found, wanted in zip(orbit_of(model_of(orbit), ("sensors", "s"))(t), (quaternion, rate), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-11)
    velocity = orbit.motion_at(t)[1]
    np.testing.assert_allclose(axes[:, 0], velocity / np.linalg.norm(velocity), atol=1e-11)


def test_rate_on_an_ellipse():
    """It is that of the axes, and the radius and the velocity of the gradient are those of its orbit."""
    orbit = femb.Orbit("earth", position=(7e6, 0.0, 1e6), velocity=(500.0, 8.5e3, 0.0))
    frame = orbit_of(model_of(orbit), ("sensors", "s"))
    h, t = 0.1, 300.0
    turn = rotations.multiply(rotations.conjugate(frame(t - h)[0]), frame(t + h)[0])
    np.testing.assert_allclose(rotations.logarithm(turn) / (2.0 * h), frame(t)[1], atol=1e-9)
    axes = rotations.rotation_matrix(frame(t)[0])
    assert axes[:, 0] @ orbit.motion_at(t)[1] > 0.0
    field = femb.GravityGradient("low", altitude=500e3)
    position, velocity = field.motion_at(1e3)
    np.testing.assert_allclose(np.linalg.norm(position), 6378137.0 + 500e3, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(velocity), np.linalg.norm(position) * field.orbital_rate, rtol=1e-12)


@pytest.mark.parametrize("kind", ["gravity_gradient", "orbit"])
def test_librations(kind):
    """Pitch, and roll with yaw, of a rigid satellite that turns with the frame: equation (6), I = 120, 150, 60."""
    inertia = np.array([120.0, 150.0, 60.0])
    k_1, k_3 = (inertia[1] - inertia[2]) / inertia[0], (inertia[1] - inertia[0]) / inertia[2]
    b = 1.0 + 3.0 * k_1 + k_1 * k_3
    roots = [np.sqrt((b + sign * np.sqrt(b * b - 16.0 * k_1 * k_3)) / 2.0) for sign in (-1.0, 1.0)]
    pitch = np.sqrt(3.0 * (inertia[0] - inertia[2]) / inertia[1])
    np.testing.assert_allclose([pitch, *roots[::-1]], [1.09544512, 1.77442875, 0.69021924], rtol=1e-8)
    field = gradient(**DIRECTIONS)
    model = model_of(field if kind == "gravity_gradient" else circular(field))
    quaternion, rate = orbit_of(model, ("sensors", "s"))(0.0)
    model.add(femb.RigidBody("hub", mass=200.0, inertia=inertia, quaternion=quaternion, angular_velocity=rate))
    found = np.sort(np.linalg.eigvals(femb.linearize(model).A).imag) / RATE
    # beside them the mass centre, in the frame that falls freely with it
    found = [w for w in found[found > 0.1] if abs(w - 1.0) > 1e-6]
    np.testing.assert_allclose(found, [roots[0], pitch, roots[1]], rtol=1e-8)


def test_without_an_orbit():
    with pytest.raises(femb.ModelError, match=r'sensors\.s: got "orbit", but the model has no orbit: add a load'):
        orbit_of(model_of(), ("sensors", "s"))
