"""The frame of an orbit: its axes and rate, by orbits and gravity gradients, and librations about it."""

import numpy as np
import pytest
from models import of_parts, refuses
from oracles.modal_example import Particles

import femb
from femb import ModelError
from femb.elements.control.reference import orbit_of
from femb.numerics import rotations
from femb.system.system import System

RATE = 1.1e-3


def gradient(**words):
    return femb.GravityGradient("earth", rate=RATE, **words)


def circular(gradient):
    """The orbit that has this gradient."""
    position, velocity = gradient.motion_at(0.0)
    return femb.Orbit("earth", position=position, velocity=velocity)


DIRECTIONS = {"radial": (1.0, 2.0, 0.0), "normal": (2.0, -1.0, 3.0)}


@pytest.mark.parametrize("t", [0.0, 700.0])
def test_axes(t):
    """z down, y against the normal, x ahead; both descriptions of one circular orbit agree."""
    field = gradient(**DIRECTIONS)
    quaternion, rate = orbit_of(of_parts(field), ("sensors", "s"))(t)
    axes = rotations.rotation_matrix(quaternion)
    np.testing.assert_allclose(axes[:, 2], -field.vertical(t), atol=1e-14)
    np.testing.assert_allclose(axes[:, 1], -np.array(field.normal), atol=1e-14)
    np.testing.assert_allclose(rate, [0.0, -RATE, 0.0], rtol=1e-12, atol=1e-18)
    orbit = circular(field)
    for found, wanted in zip(orbit_of(of_parts(orbit), ("sensors", "s"))(t), (quaternion, rate), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-11)
    velocity = orbit.motion_at(t)[1]
    np.testing.assert_allclose(axes[:, 0], velocity / np.linalg.norm(velocity), atol=1e-11)


def test_rate_on_an_ellipse():
    """It is that of the axes, and the radius and the velocity of the gradient are those of its orbit."""
    orbit = femb.Orbit("earth", position=(7e6, 0.0, 1e6), velocity=(500.0, 8.5e3, 0.0))
    frame = orbit_of(of_parts(orbit), ("sensors", "s"))
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
    model = of_parts(field if kind == "gravity_gradient" else circular(field))
    quaternion, rate = orbit_of(model, ("sensors", "s"))(0.0)
    model.add(femb.RigidBody("hub", mass=200.0, inertia=inertia, quaternion=quaternion, angular_velocity=rate))
    found = np.sort(np.linalg.eigvals(femb.linearize(model).A).imag) / RATE
    # beside them the mass centre, in the frame that falls freely with it
    found = [w for w in found[found > 0.1] if abs(w - 1.0) > 1e-6]
    np.testing.assert_allclose(found, [roots[0], pitch, roots[1]], rtol=1e-8)


def test_without_an_orbit():
    refuses(r'sensors\.s: got "orbit", but the model has no orbit: add a load', orbit_of, of_parts(), ("sensors", "s"))


ECCENTRIC = {"semi_major_axis": 8e6, "eccentricity": 0.15, "inclination": 0.9, "ascending_node": 0.4, "periapsis": 1.1}
OFF = rotations.normalise(np.array([0.8, 0.3, -0.4, 0.2]))


def in_orbit(anomaly, *items, **words):
    return of_parts(
        femb.Orbit("earth", **ECCENTRIC, anomaly=anomaly),
        femb.RigidBody("hub", 80.0, (10.0, 12.0, 14.0), relative_to="orbit", **words),
        *items,
    )


@pytest.mark.parametrize("anomaly", [0.0, 0.7, 2.9, 5.5])
def test_a_start_relative_to_the_orbit(anomaly):
    """The frame by its axes, and its turn by central differences in time; a given attitude and rate are from there."""
    model = in_orbit(anomaly, quaternion=OFF, angular_velocity=(0.01, -0.02, 0.03))
    orbit, h = model.loads["earth"], 1.0
    position, velocity = orbit.motion_at(0.0)
    down, across = -position / np.linalg.norm(position), -np.cross(position, velocity)
    across /= np.linalg.norm(across)
    axes = np.stack([np.cross(across, down), across, down], axis=1)
    quaternion, turning = femb.orbital_frame(model)
    np.testing.assert_allclose(rotations.rotation_matrix(quaternion), axes, atol=1e-14)
    before, after = (rotations.rotation_matrix(femb.orbital_frame(model, t)[0]) for t in (-h, h))
    skew = axes.T @ (after - before) / (2.0 * h)
    np.testing.assert_allclose(turning, [skew[2, 1], skew[0, 2], skew[1, 0]], atol=2e-6 * np.linalg.norm(turning))
    system = System(model)
    found = rotations.rotation_matrix(system.q0[3:7])
    np.testing.assert_allclose(found, axes @ rotations.rotation_matrix(OFF), atol=1e-14)
    wanted = rotations.rotate_back(OFF, turning) + np.array([0.01, -0.02, 0.03])
    np.testing.assert_allclose(system.v0[3:6], wanted, atol=1e-15)


def test_angles_and_their_rates_relative_to_the_orbit():
    """Roll, pitch and yaw from the frame of the orbit, which themselves change at their rates."""
    words = {"euler_angles": (0.2, -0.3, 0.4), "euler_rates": (0.01, 0.02, -0.03), "euler_sequence": "zyx"}
    system = System(in_orbit(0.7, **words))
    free = of_parts(femb.RigidBody("hub", 80.0, (10.0, 12.0, 14.0), **words))
    alone, (quaternion, turning) = System(free), femb.orbital_frame(system.model)
    own = alone.q0[3:7]
    np.testing.assert_allclose(system.q0[3:7], rotations.multiply(quaternion, own), atol=1e-14)
    np.testing.assert_allclose(system.v0[3:6], alone.v0[3:6] + rotations.rotate_back(own, turning), atol=1e-15)


@pytest.mark.parametrize("anomaly", [0.0, 2.9])
@pytest.mark.parametrize("clock", [{}, {"delay": 0.03, "phase": 0.05}])
def test_start_reading_and_reference_are_in_one_frame(anomaly, clock):
    """A tracker reads the attitude that the start gives, and the law, whose reference it is, commands nothing."""
    tracker = femb.StarTracker("tracker", body="hub", relative_to="orbit", **clock)
    gyro = femb.Gyro("gyro", body="hub", **clock)
    torquer = femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body")
    held = femb.AttitudeReference(quaternion=OFF, relative_to="orbit")
    law = femb.PDController(
        "law", attitude="sensors.tracker", rate="sensors.gyro", reference=held, proportional=4.0, derivative=0.0,
        outputs=("loads.torquer.torque",), period=0.1,
    )  # fmt: skip
    model = in_orbit(anomaly, tracker, gyro, torquer, law, quaternion=OFF)
    results = femb.simulate(model, duration=0.3, output_interval=0.05, rtol=1e-11)
    sampled, output = results.sensors["tracker"].sample_value, results.controllers["law"].output
    # the gravity gradient turns it by 1e-7 rad meanwhile
    np.testing.assert_allclose(sampled, np.tile(OFF, (len(sampled), 1)), atol=1e-6)
    assert np.abs(output).max() < 1e-6
    if not clock:
        np.testing.assert_allclose(sampled[0], OFF, atol=1e-12)
    np.testing.assert_allclose(output[1], 0.0, atol=1e-12)


def test_what_an_orbit_carries_turns_with_it(tmp_path):
    """A whole structure, from a case file; without an orbit the word is refused, and so is the former second frame."""
    text = """
    [loads.earth]
    kind = "orbit"
    semi_major_axis = 7e6
    inclination = 0.9
    [bodies.hub]
    mass = 80.0
    inertia = [10.0, 12.0, 14.0]
    relative_to = "orbit"
    euler_angles = ["10 deg", 0, 0]
    [bodies.box]
    mass = 1.0
    inertia = 1.0
    [joints.bolts]
    kind = "fixed"
    first = { body = "hub", at = [1, 0, 0] }
    second = { body = "box" }
    """.replace("\n    ", "\n")
    file = tmp_path / "case.toml"
    file.write_text(text + "[run]\nduration = 1.0\n")
    model = femb.load_case(file).model
    system, (quaternion, turning) = System(model), femb.orbital_frame(model)
    inertial = rotations.rotate(quaternion, turning)
    for q, v in zip(system.q0.reshape(2, 7), system.v0.reshape(2, 6), strict=True):
        np.testing.assert_allclose(rotations.rotate(q[3:], v[3:]), inertial, atol=1e-15)
    refuses(r"femb\.orbital_frame", model.loads["earth"].axes_at, 0.0)
    file.write_text(text.partition("[bodies.hub]")[1] + text.partition("[bodies.hub]")[2] + "[run]\nduration = 1.0\n")
    refuses(r'bodies\.hub\.relative_to: got "orbit", but the model has no orbit', System, femb.load_case(file).model)


def test_a_flexible_body_starts_relative_to_the_orbit():
    """As a rigid body of the same words; one whose root is on a body takes that of the body."""
    words = {"relative_to": "orbit", "quaternion": OFF, "angular_velocity": (0.01, 0.0, 0.02)}
    panel = Particles(interfaces=2).reduced(consistent=True)
    model = of_parts(femb.Orbit("earth", **ECCENTRIC), femb.FlexibleBody("panel", panel, **words), title="panel")
    rigid = System(in_orbit(0.0, quaternion=OFF, angular_velocity=(0.01, 0.0, 0.02)))
    flexible = System(model)
    np.testing.assert_allclose(flexible.q0[3:7], rigid.q0[3:7], atol=1e-15)
    np.testing.assert_allclose(flexible.v0[3:6], rigid.v0[3:6], atol=1e-15)
    with pytest.raises(ModelError, match=r"panel\.relative_to: got 'orbit', the body is on another: give it there"):
        femb.FlexibleBody("panel", panel, start=femb.Attachment("hub"), relative_to="orbit")
