"""Signals keep axes, frames, delays and start values on their way from sensors through laws to commands."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import femb
from femb.base.errors import ModelError
from femb.elements.environment.orbital_frame import frame_of, motion_of
from femb.numerics import rotations
from femb.run.overview import overview

WHEELS = ("x", "y", "z")
TURNED = rotations.normalise(np.array([0.3, -0.5, 0.7, 0.2]))


def satellite(*items, quaternion=(1.0, 0.0, 0.0, 0.0), rate=(0.0, 0.0, 0.0)):
    """A hub with three wheels."""
    model = femb.Model("satellite")
    model.add(femb.RigidBody("hub", 100.0, (10.0, 12.0, 14.0), quaternion=quaternion, angular_velocity=rate))
    for name, axis in zip(WHEELS, np.eye(3), strict=True):
        model.add(femb.ReactionWheel(name, body="hub", axis=axis, spin_inertia=0.05))
    for item in items:
        model.add(item)
    return model


def filtered(mount, **words):
    gyro = femb.Gyro("gyro", body="hub", axes=mount, **words)
    smooth = femb.FilterController("smooth", "sensors.gyro", filter="low_pass", frequency=5.0, period=0.1)
    law = femb.PDController(
        "law", attitude="bodies.hub", rate="controllers.smooth", bandwidth=0.3, wheels=WHEELS, period=0.1
    )
    return satellite(gyro, smooth, law, quaternion=rotations.normalise(np.array([1.0, 0.01, -0.005, 0.015])))


def test_axes_of_a_gyro_go_through_a_filter():
    """The mount of a gyro changes neither the loop nor the run, though a filter stands between gyro and law."""
    plain = filtered((1.0, 0.0, 0.0, 0.0))
    growth, motion = femb.loop(plain).growth(), femb.simulate(plain, duration=5.0).bodies["hub"].quaternion[-1]
    assert growth < -0.2
    for angle in (1.0, 2.5):
        model = filtered((np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0))
        assert abs(femb.loop(model).growth() - growth) < 1e-10
        np.testing.assert_allclose(femb.simulate(model, duration=5.0).bodies["hub"].quaternion[-1], motion, atol=1e-9)


@pytest.mark.parametrize("words", [{"delay": 0.3}, {"delay": 0.05}, {"period": 0.05, "delay": 0.1}, {"phase": 0.03}])
def test_delays_of_what_laws_read_are_those_of_the_loop(words):
    smooth = femb.FilterController(
        "smooth", "sensors.gyro", filter="low_pass", frequency=8.0, **({"period": 0.1} | words)
    )
    law = femb.PDController(
        "law", attitude="bodies.hub", rate="controllers.smooth", bandwidth=1.5, damping_ratio=0.6, wheels=WHEELS,
        period=0.1,
    )  # fmt: skip
    model = satellite(femb.Gyro("gyro", body="hub"), smooth, law, quaternion=(1.0, 1e-4, 0.0, 0.0))
    run = femb.simulate(model, duration=3.0, output_interval=0.1, rtol=1e-9, atol=femb.Tolerances(quaternion=1e-12))
    linear = femb.loop(model).simulate(3.0, start={"bodies.hub.turn_x": 2e-4}, times=run.time)
    np.testing.assert_allclose(2.0 * run.bodies["hub"].quaternion[:, 1], linear["bodies.hub.turn.x"], atol=2e-11)


def test_a_filter_has_the_delay_of_a_delayed_gyro():
    """The same delay before and after a filter is the same loop, and the same run."""
    growths, motions = [], []
    for gyro, smooth in (({"delay": 0.3}, {}), ({}, {"delay": 0.3})):
        items = [femb.Gyro("gyro", body="hub", **gyro)]
        items.append(femb.FilterController("smooth", "sensors.gyro", frequency=8.0, period=0.1, **smooth))
        items.append(
            femb.PDController(
                "law", attitude="bodies.hub", rate="controllers.smooth", bandwidth=1.0, wheels=WHEELS, period=0.1
            )
        )
        model = satellite(*items, quaternion=(1.0, 1e-3, 0.0, 0.0))
        growths.append(femb.loop(model).growth())
        motions.append(femb.simulate(model, duration=4.0).bodies["hub"].quaternion[-1])
    assert abs(growths[0] - growths[1]) < 1e-9
    np.testing.assert_allclose(motions[0], motions[1], atol=1e-9)


# On its reference a law commands nothing, whatever stands between the motion and the law.

ORBIT = femb.Orbit("orbit", semi_major_axis=6.9e6, inclination=0.9, ascending_node=0.4, anomaly=0.7)
CLOCKS = [{}, {"delay": 0.015}, {"phase": 0.013}, {"delay": 0.03, "phase": 0.005}]
PAIRS = list(itertools.product(("inertial", "orbit"), ("inertial", "orbit"), CLOCKS, (None, TURNED)))


@pytest.mark.parametrize(("sensor", "reference", "clock", "mount"), PAIRS)
def test_on_its_reference_a_law_commands_nothing(sensor, reference, clock, mount):
    """Of delayed readings a moving reference is ahead by its turn in that time; nothing else remains."""
    model = femb.Model("on orbit")
    model.add(ORBIT)
    quaternion, turning = frame_of(motion_of(model, (), ""), 0.0)
    attitude = rotations.multiply(quaternion, TURNED)
    rate = rotations.rotate_back(TURNED, turning) if reference == "orbit" else np.zeros(3)
    wanted = TURNED if reference == "orbit" else attitude
    model.add(femb.RigidBody("hub", 50.0, (5.0, 5.0, 5.0), quaternion=attitude, angular_velocity=rate))
    for name, axis in zip(WHEELS, np.eye(3), strict=True):
        model.add(femb.ReactionWheel(name, body="hub", axis=axis, spin_inertia=0.02))
    axes = {} if mount is None else {"axes": rotations.multiply(mount, mount)}
    model.add(femb.StarTracker("tracker", body="hub", relative_to=sensor, **clock, **axes))
    model.add(femb.Gyro("gyro", body="hub", **clock, **axes))
    held = femb.AttitudeReference(quaternion=wanted, relative_to=reference)
    law = femb.PDController(
        "law", attitude="sensors.tracker", rate="sensors.gyro", reference=held, proportional=4.0, derivative=2.0,
        wheels=WHEELS, period=0.02,
    )  # fmt: skip
    model.add(law)
    run = femb.simulate(model, duration=0.2, output_interval=0.02, rtol=1e-10)
    torque = np.abs(run.controllers["law"].output).max()
    late = (clock.get("delay", 0.0) + 0.02) * np.linalg.norm(turning)
    moves = (sensor != reference) and bool(clock)
    assert torque < (1.1 * 4.0 * late if moves else 1e-7), torque


@pytest.mark.parametrize("integrating", [False, True])
def test_late_sensors_of_moving_bodies_begin_with_the_motion(integrating):
    """A gyro on a turning body and an encoder away from zero have their readings before the first one arrives."""
    rate = np.array([0.1, -0.2, 0.3])
    model = femb.Model("turning")
    model.add(femb.RigidBody("hub", 10.0, (1.0, 1.0, 1.0), angular_velocity=rate))
    model.add(femb.RigidBody("arm", 1.0, (0.1, 0.1, 0.1)))
    hinge = femb.Revolute(
        "hinge", femb.JointEnd("hub", axis=(0, 0, 1), reference=(1, 0, 0)), femb.JointEnd("arm", axis=(0, 0, 1)),
        start=1.0,
    )  # fmt: skip
    model.add(hinge)
    late = {"delay": 0.25, "phase": 0.05, "period": 0.1}
    model.add(femb.Gyro("gyro", body="hub", axes=TURNED, integrating=integrating, **late))
    model.add(femb.Encoder("encoder", joint="hinge", **late))
    run = femb.simulate(model, duration=0.2, output_interval=0.02, rtol=1e-9)
    mount = Rotation.from_quat(np.array([*TURNED[1:], TURNED[0]]))
    mounted = mount.inv().apply(np.array(run.bodies["hub"].angular_velocity[0]))
    np.testing.assert_allclose(run.sensors["gyro"].value[1:], np.tile(mounted, (10, 1)), atol=1e-9)
    np.testing.assert_allclose(run.sensors["encoder"].value[1:, 0], 1.0, atol=1e-9)


def test_forces_of_motors_are_forces_whatever_they_are_at_the_start():
    """loads.NAME.force of a motor is N m for laws, linear models and loops alike."""
    columns = []
    for force in (0.0, 2.0):
        model = femb.Model("motor")
        model.add(femb.RigidBody("base", 10.0, (5.0, 6.0, 7.0)))
        model.add(femb.RigidBody("arm", 2.0, (0.1, 0.1, 0.1)))
        ends = femb.JointEnd("base", axis=(0, 1, 0)), femb.JointEnd("arm", at=(0, 0, -1.0), axis=(0, 1, 0))
        model.add(femb.Revolute("hinge", *ends))
        model.add(femb.JointMotor("motor", joint="hinge", force=force))
        space = femb.linearize(model, inputs=["loads.motor.force"], outputs=["joints.hinge.angle"])
        assert space.units["loads.motor.force"] == "N m"
        columns.append(space.B[:, 0])
    np.testing.assert_allclose(columns[0], columns[1], atol=1e-14)
    assert np.abs(columns[0]).max() > 0.5


class Given:
    """A state space as other packages give it."""

    def __init__(self, dt):
        self.A, self.B, self.C, self.D, self.dt = [[-1.0]], [[1.0]], [[1.0]], [[0.0]], dt


@pytest.mark.parametrize(
    ("dt", "period", "text"),
    [
        (0.2, 0.1, "got 0.1 s, but the system is sampled every 0.2 s"),
        (None, 0.1, "the system is continuous: leave the period out"),
        (0.0, 0.1, "the system is continuous: leave the period out"),
        (True, None, "the system is sampled, with a dt that it does not tell"),
    ],
)
def test_state_spaces_of_other_clocks_are_refused(dt, period, text):
    names = {"inputs": ("bodies.hub.turn.x",), "outputs": ("loads.t.torque",)}
    with pytest.raises(ModelError, match=text):
        femb.LinearController("law", system=Given(dt), period=period, **names)
    assert femb.LinearController("law", system=Given(0.2), **names).period == 0.2
    assert femb.LinearController("law", system=Given(0.2), period=0.2, **names).period == 0.2


@pytest.mark.parametrize(("axes", "text"), [([0], "across (1, 0, 0)"), ([0, 1], "along (0, 0, 1)")])
def test_a_law_of_fewer_than_three_wheels_holds_the_axes_that_it_has(axes, text):
    """As after the failure of a wheel; `check` names the others."""
    model = femb.Model("few")
    quaternion = rotations.normalise(np.array([1.0, 0.01, 0.02, 0.03]))
    model.add(femb.RigidBody("hub", 50.0, (5.0, 5.0, 5.0), quaternion=quaternion))
    names = tuple("xyz"[k] for k in axes)
    for k in axes:
        model.add(femb.ReactionWheel("xyz"[k], body="hub", axis=np.eye(3)[k], spin_inertia=0.02))
    law = femb.PDController("law", attitude="bodies.hub", rate="bodies.hub", bandwidth=0.5, wheels=names, period=0.1)
    model.add(law)
    assert any(text in line for line in overview(model).advice)
    run = femb.simulate(model, duration=60.0)
    turn = 2.0 * run.bodies["hub"].quaternion[-1, 1:]
    assert np.abs(turn[axes]).max() < 1e-3
    others = np.setdiff1d(range(3), axes)
    np.testing.assert_allclose(turn[others], 2.0 * quaternion[1:][others], rtol=0.05)


def test_a_reference_that_is_a_mapping_is_refused_by_name():
    text = r"controllers\.law\.reference: got .*, wanted femb\.AttitudeReference"
    with pytest.raises(ModelError, match=text):
        femb.PDController("law", attitude="bodies.hub", proportional=1.0, reference={"quaternion": (1, 0, 0, 0)})
