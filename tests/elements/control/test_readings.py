"""Readings of sensors by physics: noise by axes, quanta of attitudes, integrals on turned mounts, units, the orbit."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import femb
from femb.elements.control.queue import empty, pushed
from femb.elements.control.reference import gravity_of
from femb.elements.control.signals import last_sample, named_item
from femb.numerics import rotations

TURNED = rotations.normalise(np.array([0.3, -0.5, 0.7, 0.2]))


def rotation(quaternion):
    """That of scipy, whose quaternions have their scalar last."""
    w, *rest = quaternion
    return Rotation.from_quat([*rest, w])


def body(quaternion=(1.0, 0.0, 0.0, 0.0), rate=(0.0, 0.0, 0.0)):
    model = femb.Model("body")
    model.add(femb.RigidBody("hub", 10.0, (1.0, 1.0, 1.0), quaternion=quaternion, angular_velocity=rate))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("boresight", [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.6, 0.0, 0.8)])
def test_noise_of_a_star_tracker_about_and_across_its_boresight(boresight):
    """About its line of sight a tracker is ten times worse than across it."""
    model = body(TURNED)
    words = {"noise": 1e-5, "roll_noise": 1e-4, "boresight": boresight, "period": 0.01, "axes": TURNED}
    model.add(femb.StarTracker("tracker", body="hub", **words))
    found = femb.simulate(model, duration=20.0, output_interval=1.0).sensors["tracker"]
    pairs = zip(found.sample_true, found.sample_value, strict=True)
    turns = np.array([(rotation(true).inv() * rotation(value)).as_rotvec() for true, value in pairs])
    about = turns @ boresight
    across = turns - np.outer(about, boresight)
    assert len(turns) == 2000
    np.testing.assert_allclose(about.std(), 1e-4, rtol=0.06)
    np.testing.assert_allclose(np.sqrt(np.mean(np.sum(across**2, axis=1)) / 2.0), 1e-5, rtol=0.06)


@pytest.mark.parametrize("rounding", ["round", "floor"])
def test_the_quantum_of_an_attitude_is_of_its_turn(rounding):
    """A reading is a whole number of quanta, 2 q_v, within one of the true turn, and of length one."""
    quantum = 1e-3
    model = body(rotations.normalise(np.array([1.0, 0.0107, -0.0203, 0.0301])), rate=(0.01, 0.02, -0.03))
    model.add(femb.AttitudeSensor("s", body="hub", quantum=quantum, rounding=rounding, period=0.05))
    found = femb.simulate(model, duration=2.0, output_interval=0.5).sensors["s"]
    turn, true = 2.0 * found.sample_value[:, 1:], 2.0 * found.sample_true[:, 1:]
    np.testing.assert_allclose(turn / quantum, np.round(turn / quantum), atol=1e-9)
    least, most = (-0.5, 0.5) if rounding == "round" else (-1.0, 0.0)
    off = (turn - true) / quantum
    assert off.min() > least - 1e-9
    assert off.max() < most + 1e-9
    assert np.abs(off).max() > 0.4  # it is not finer than that
    np.testing.assert_allclose(np.linalg.norm(found.sample_value, axis=1), 1.0, atol=1e-14)


SECTION = femb.Section("tube", 1e-4, (1e-8, 1e-8), 2e-8, 1e-3, 70e9, 27e9)


def test_an_integrating_gyro_on_a_turned_mount_and_station():
    """Its mean is the steady rate of the body in its own axes; on the root of a beam x is along the beam, y is up."""
    rate, along, up = np.array([0.3, -0.2, 0.1]), np.array([0.0, 0.6, 0.8]), np.array([1.0, 0.0, 0.0])
    model = body(TURNED, rate=rate)  # equal moments: the rate stays
    root = femb.Attachment("hub", direction=along, up=up)
    model.add(femb.Beam("boom", SECTION, 0.1, 1, start=root))
    model.add(femb.Gyro("mounted", body="hub", axes=TURNED, integrating=True, period=0.1))
    model.add(femb.Gyro("rooted", beam="boom", node=0, axes=TURNED, integrating=True, period=0.1))
    run = femb.simulate(model, duration=1.0, output_interval=0.5, rtol=1e-10)
    section = np.array([along, up, np.cross(along, up)])  # its axes as rows
    for name, seen in (("mounted", rate), ("rooted", section @ rate)):
        found = run.sensors[name].sample_value
        np.testing.assert_allclose(found, np.tile(rotation(TURNED).inv().apply(seen), (len(found), 1)), atol=1e-7)


def test_sensors_of_a_stroke_are_in_metres_and_their_quantum_too():
    model = femb.Model("slide")
    model.add(femb.RigidBody("cart", 2.0, (1.0, 1.0, 1.0), position=(0.1234, 0.0, 0.0), velocity=(0.5, 0.0, 0.0)))
    ends = femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("cart", axis=(1, 0, 0))
    model.add(femb.Prismatic("rail", *ends, start=0.1234, rates=0.5))
    model.add(femb.Encoder("encoder", joint="rail", quantum=1e-3, period=0.1))
    model.add(femb.Tachometer("speed", joint="rail", period=0.1))
    run = femb.simulate(model, duration=1.0, output_interval=0.1)
    encoder, speed = run.sensors["encoder"], run.sensors["speed"]
    assert encoder.columns_of("sample_value")[0] == "m"
    assert speed.columns_of("sample_value")[0] == "m/s"
    place = 0.1234 + 0.5 * np.array(encoder.sample_time)
    np.testing.assert_allclose(encoder.sample_value[:, 0], 1e-3 * np.floor(place / 1e-3 + 1e-9), atol=1e-12)
    np.testing.assert_allclose(speed.sample_value[:, 0], 0.5, atol=1e-9)


def test_an_attitude_relative_to_the_orbit_from_time_zero_on():
    """Of a body at rest in space, by the position and the velocity of the orbit: z down, y against the normal."""
    model = body(TURNED)
    model.add(femb.Orbit("orbit", semi_major_axis=7.2e6, eccentricity=0.1, inclination=0.9, anomaly=0.7))
    model.add(femb.AttitudeSensor("s", body="hub", relative_to="orbit", period=50.0))
    run = femb.simulate(model, duration=200.0, output_interval=50.0)
    found, orbit = run.sensors["s"], run.loads["orbit"]
    assert found.sample_time[0] == 0.0
    for k, value in enumerate(found.sample_value):
        r, v = orbit.position[k], orbit.velocity[k]
        down, across = -r / np.linalg.norm(r), -np.cross(r, v) / np.linalg.norm(np.cross(r, v))
        axes = np.array([np.cross(across, down), across, down])  # as rows
        np.testing.assert_allclose(rotation(value).as_matrix(), axes @ rotation(TURNED).as_matrix(), atol=1e-7)


def test_the_rate_of_a_reference_is_that_of_its_attitude():
    """Of a slew beside an orbit whose axes turn unevenly; what is read late is compared with the orbit of before."""
    model = femb.Model("orbit")
    model.add(femb.Orbit("orbit", semi_major_axis=9e6, eccentricity=0.25, inclination=0.9, anomaly=0.7))
    slew = {"axis": (1.0, 2.0, 2.0), "angle": femb.profiles.SmoothStep(duration=20.0, after=1.5)}
    axes = femb.AttitudeReference(TURNED, relative_to="orbit", **slew).axes(model, ())
    t, h = 12.0, 1e-3
    change = (axes(t + h)[0] - axes(t - h)[0]) / (2.0 * h)
    found = 2.0 * rotations.multiply(rotations.conjugate(axes(t)[0]), change)
    np.testing.assert_allclose(found[1:], axes(t)[1], atol=1e-8)
    still = femb.AttitudeReference(TURNED, relative_to="orbit")
    late = still.axes(model, (), rate=SimpleNamespace(instant=lambda t: t - 50.0))
    np.testing.assert_array_equal(late(80.0)[1], still.axes(model, ())(30.0)[1])
    assert last_sample(0.3, 0.1, 0.0, 0.0) == pytest.approx(0.3)


def test_the_field_of_a_gravity_gradient_has_no_divergence():
    """n^2 (2, -1, -1) along the vertical and across it, from the point on the orbit on."""
    model, n = femb.Model("near"), 1.1e-3
    load = femb.GravityGradient("tide", rate=n, origin=(1.0, 2.0, 3.0))
    model.add(load)
    t, arm = 700.0, np.array([0.4, -0.2, 0.6])
    acceleration, slope = gravity_of(model, ())(t, np.array([1.0, 2.0, 3.0]) + arm)
    np.testing.assert_allclose(np.linalg.eigvalsh(slope), n**2 * np.array([-1.0, -1.0, 2.0]), rtol=1e-12)
    np.testing.assert_allclose(slope @ load.vertical(t), 2.0 * n**2 * load.vertical(t), rtol=1e-12)
    np.testing.assert_allclose(acceleration, slope @ arm, rtol=1e-12)


def test_a_full_queue_loses_the_value_that_came_last():
    queue = empty(2, 1)
    for instant, value in ((1.0, 5.0), (2.0, 6.0), (1.5, 7.0)):
        queue = pushed(queue, instant, np.array([value]))
    assert queue.tolist() == [[1.0, 5.0], [1.5, 7.0]]


@pytest.mark.parametrize("names", [("arm", "arm.tip"), ("arm.tip", "arm")])
def test_of_names_with_a_common_beginning_the_longest_is_meant(names):
    model = body()
    for name in names:
        model.add(femb.Load(name, body="hub", force=(1.0, 0.0, 0.0)))
    item, word = named_item(model, "loads.arm.tip.force")
    assert (item.name, word) == ("arm.tip", "force")
    assert named_item(model, "loads.arm.force")[0].name == "arm"
