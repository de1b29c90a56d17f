"""Signals keep axes, frames, delays and start values on their way from sensors through laws to commands."""

import itertools

import numpy as np
import pytest
from models import refuses
from scipy.spatial.transform import Rotation

import femb
from femb.base.errors import FembError, ModelError
from femb.elements.control.linear_law import low_pass
from femb.elements.control.signals import Moment, signal_of
from femb.elements.environment.orbital_frame import frame_of, motion_of
from femb.numerics import rotations
from femb.run.overview import overview
from femb.system.system import System

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


@pytest.mark.slow
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


@pytest.mark.slow
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
GYROS = ["instant", "integrating"]
PAIRS = list(itertools.product(("inertial", "orbit"), ("inertial", "orbit"), CLOCKS, (None, TURNED), GYROS))


@pytest.mark.parametrize(("sensor", "reference", "clock", "mount", "kind"), PAIRS)
def test_on_its_reference_a_law_commands_nothing(sensor, reference, clock, mount, kind):
    """A reading is compared with the orbit at the instant at which it was measured, however late it comes."""
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
    model.add(femb.Gyro("gyro", body="hub", integrating=kind == "integrating", period=0.02, **clock, **axes))
    held = femb.AttitudeReference(quaternion=wanted, relative_to=reference)
    law = femb.PDController(
        "law", attitude="sensors.tracker", rate="sensors.gyro", reference=held, proportional=4.0, derivative=2.0,
        wheels=WHEELS, period=0.02,
    )  # fmt: skip
    model.add(law)
    run = femb.simulate(model, duration=0.2, output_interval=0.02, rtol=1e-10)
    assert np.abs(run.controllers["law"].output).max() < 1e-9


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
    refuses(text, femb.LinearController, "law", system=Given(dt), period=period, **names)
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


@pytest.mark.parametrize("phase", [0.0, 0.03, 0.1])
def test_the_first_mean_of_an_integrating_gyro_is_that_of_a_body_that_has_turned_before(phase):
    model = femb.Model("turning")
    model.add(femb.RigidBody("hub", 10.0, (1.0, 1.0, 1.0), angular_velocity=(0.1, -0.2, 0.3)))
    model.add(femb.Gyro("gyro", body="hub", axes=TURNED, integrating=True, period=0.1, phase=phase))
    run = femb.simulate(model, duration=0.35, output_interval=0.05)
    mount = Rotation.from_quat(np.array([*TURNED[1:], TURNED[0]]))
    np.testing.assert_allclose(
        run.sensors["gyro"].sample_value,
        np.tile(mount.inv().apply([0.1, -0.2, 0.3]), (len(run.sensors["gyro"].sample_value), 1)),
        atol=1e-12,
    )


def test_loops_of_integrating_gyros_and_filters_start_as_runs():
    """Of a turning hub, whose sensors and filter have readings at the start, the linear motion is that of the run."""
    rate = (1e-4, 0.0, 0.0)
    gyro = femb.Gyro("gyro", body="hub", axes=TURNED, integrating=True, delay=0.25, phase=0.03, period=0.1)
    smooth = femb.FilterController("smooth", "sensors.gyro", frequency=5.0, period=0.1, phase=0.02, delay=0.1)
    words = {"bandwidth": 0.5, "wheels": WHEELS, "period": 0.1}
    law = femb.PDController("law", attitude="bodies.hub", rate="controllers.smooth", **words)
    run = femb.simulate(satellite(gyro, smooth, law, rate=rate), duration=2.0, output_interval=0.1, rtol=1e-10,
        atol=femb.Tolerances(quaternion=1e-13))  # fmt: skip
    loop = femb.loop(satellite(gyro, smooth, law))
    linear = loop.simulate(2.0, start={"bodies.hub.turn_x rate": rate[0]}, times=run.time)
    np.testing.assert_allclose(2.0 * run.bodies["hub"].quaternion[:, 1], linear["bodies.hub.turn.x"], atol=1e-11)


def two_bodies(gyro, wheels, tracker, mount=(1.0, 0.0, 0.0, 0.0)):
    """A hub and a box fixed to it with other axes; sensors in a mount and wheels are on either, the same in space."""
    start = rotations.normalise(np.array([1.0, 0.01, -0.005, 0.015]))
    model = femb.Model("two")
    model.add(femb.RigidBody("hub", 80.0, (10.0, 12.0, 14.0), quaternion=start))
    model.add(femb.RigidBody("box", 5.0, (1.0, 1.0, 1.0), quaternion=rotations.multiply(start, TURNED)))
    model.add(femb.Fixed("bolts", femb.JointEnd("hub"), femb.JointEnd("box")))
    for name, axis in zip(WHEELS, np.eye(3), strict=True):
        own = axis if wheels == "hub" else rotations.rotate_back(TURNED, axis)
        model.add(femb.ReactionWheel(name, body=wheels, axis=own, spin_inertia=0.05))
    model.add(femb.Gyro("gyro", body=gyro, axes=mount))
    model.add(femb.StarTracker("tracker", body=tracker, axes=mount))
    held = femb.AttitudeReference(quaternion=(1.0, 0.0, 0.0, 0.0) if tracker == "hub" else TURNED)
    words = {"reference": held, "bandwidth": 0.5, "wheels": WHEELS, "period": 0.1}
    model.add(femb.PDController("law", attitude="sensors.tracker", rate="sensors.gyro", **words))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("hosts", list(itertools.product(("hub", "box"), repeat=3))[1:])
def test_sensors_and_wheels_on_bodies_with_other_axes_are_one_loop(hosts):
    plain, model = two_bodies("hub", "hub", "hub"), two_bodies(*hosts, mount=np.array([0.5, 0.1, -0.7, 0.5]))
    assert abs(femb.loop(model).growth() - femb.loop(plain).growth()) < 1e-12
    motions = [femb.simulate(each, duration=2.0).bodies["hub"].quaternion[-1] for each in (model, plain)]
    np.testing.assert_allclose(*motions, atol=1e-9)


def test_a_torque_is_in_the_axes_of_the_load_that_gives_it():
    """A load on a box with other axes turns the hub as one on the hub does; one in inertial axes is refused."""
    motions = []
    for body in ("hub", "box"):
        model = femb.Model("load")
        for item in two_bodies("hub", "hub", "hub").items():
            if item.table in ("bodies", "joints", "sensors"):
                model.add(item)
        model.add(femb.Load("torquer", body=body, torque=(0.0, 0.0, 0.0), frame="body"))
        words = {"attitude": "sensors.tracker", "rate": "sensors.gyro", "bandwidth": 0.5, "period": 0.1}
        model.add(femb.PDController("law", outputs=("loads.torquer.torque",), **words))
        motions.append(femb.simulate(model, duration=2.0).bodies["hub"].quaternion[-1])
    np.testing.assert_allclose(*motions, atol=1e-9)
    inertial = satellite(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0)))
    inertial.add(femb.PDController("law", attitude="bodies.hub", proportional=1.0, outputs=("loads.torquer.torque",)))
    refuses('give the load frame = "body"', femb.loop, inertial)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"attitude": "sensors.gyro", "rate": "sensors.gyro"}, "as an attitude: got 3 numbers in rad/s, wanted 4"),
        ({"attitude": "bodies.hub", "rate": "sensors.felt"}, "got 3 numbers in m/s2, wanted 3 in rad/s"),
        ({"attitude": "bodies.hub", "rate": "controllers.turn"}, "got 3 numbers in rad, wanted 3 in rad/s"),
        ({"attitude": "bodies.hub", "rate": "sensors.speed"}, "as its rate: got 1 number in rad/s, wanted 3 in rad/s"),
    ],
)
def test_signals_that_do_not_fit_are_refused(words, text):
    model = satellite(femb.Gyro("gyro", body="hub", period=0.1), femb.Accelerometer("felt", body="hub", period=0.1))
    model.add(femb.WheelSpeedSensor("speed", wheel="x", period=0.1))
    model.add(femb.FilterController("turn", "bodies.hub.turn", frequency=5.0, period=0.1))
    model.add(femb.PDController("law", proportional=1.0, derivative=1.0, wheels=WHEELS, period=0.1, **words))
    refuses(text, overview, model)


# Continuous controllers in chains.


def chained(filters, period=None, size=1.0):
    quaternion = rotations.normalise(np.array([1.0, 0.01 * size, -0.005 * size, 0.015 * size]))
    model, rate = satellite(quaternion=quaternion), "bodies.hub.angular_velocity"
    if filters == "one":
        a, b = low_pass(5.0), low_pass(6.0)
        A, B = np.block([[a.A, np.zeros((2, 2))], [b.B @ a.C, b.A]]), np.vstack([a.B, b.B @ a.D])
        of_each = {
            word: np.kron(np.eye(3), each)
            for word, each in zip("ABC", (A, B, np.hstack([b.D @ a.C, b.C])), strict=True)
        }
        model.add(femb.LinearController("both", inputs=(rate,), **of_each))
        rate = "controllers.both"
    for k in range(filters if filters != "one" else 0):
        model.add(femb.FilterController(f"f{k}", rate, frequency=5.0 + k))
        rate = f"controllers.f{k}"
    gains = {"proportional": (0.9, 1.08, 1.26), "derivative": (4.2, 5.04, 5.88), "wheels": WHEELS}
    model.add(femb.PDController("law", attitude="bodies.hub", rate=rate, period=period, **gains))
    return model


@pytest.mark.parametrize("period", [None, 0.1])
def test_continuous_controllers_are_chained(period):
    """Two filters one after the other are the one state space of both, before a continuous and a sampled law; the run
    is that of the linear loop."""
    chain, one = femb.loop(chained(2, period)), femb.loop(chained("one", period))
    np.testing.assert_allclose(np.sort_complex(chain.poles()), np.sort_complex(one.poles()), rtol=1e-7, atol=1e-7)
    margins = [each.margins()[0].phase_margins for each in (chain, one)]
    np.testing.assert_allclose(*margins, rtol=1e-9)
    words = {"rtol": 1e-10, "atol": femb.Tolerances(quaternion=1e-14), "output_interval": 0.5}
    run = femb.simulate(chained(2, period, 1e-4), duration=3.0, **words)
    start = {f"bodies.hub.turn_{axis}": 2.0 * run.bodies["hub"].quaternion[0, 1 + k] for k, axis in enumerate("xyz")}
    linear = femb.loop(chained(2, period, 0.0)).simulate(3.0, start=start, times=run.time)
    turn = 2.0 * run.bodies["hub"].quaternion[:, 1]
    np.testing.assert_allclose(turn, linear["bodies.hub.turn.x"], atol=1e-7 * abs(turn[0]))


def test_derivatives_of_the_output_of_a_chain():
    """By all velocities and states, as its differences; it is linear in them."""
    system = System(chained(2))
    signal, rng = signal_of(system.layout, system.model, "controllers.f1"), np.random.default_rng(3)
    q, v, change = system.q0, rng.normal(size=system.n_v), rng.normal(size=system.n_v)
    values = [signal.value(Moment(q, each, 0.0, np.zeros(0)), {}) for each in (v, v + change)]
    assert signal.rows is not None
    np.testing.assert_allclose(signal.rows(0.0, q, v)[1] @ change, values[1] - values[0], atol=1e-12)
    assert np.abs(values[1] - values[0]).max() > 0.1


def test_a_ring_of_continuous_controllers_is_refused():
    model = satellite(femb.FilterController("a", "controllers.b", frequency=5.0))
    model.add(femb.FilterController("b", "controllers.a", frequency=5.0))
    refuses("in a ring", overview, model)


@pytest.mark.parametrize("kind", [femb.PDController, femb.PIDController])
def test_the_loop_of_two_wheels_is_that_of_their_axes(kind):
    """About each of these it is the loop of a single wheel."""
    growths = []
    for names in (("x", "y"), ("x",), ("y",)):
        words = {"integral": 0.05} if kind is femb.PIDController else {}
        law = kind("law", attitude="bodies.hub", rate="bodies.hub", bandwidth=0.3, wheels=names, period=0.1, **words)
        loop = femb.loop(satellite(law))
        assert loop.stable  # no integral is left that nothing follows
        growths.append(np.sort_complex(loop.poles()))
    np.testing.assert_allclose(growths[0], np.sort_complex(np.concatenate(growths[1:])), atol=1e-6)


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_check_says_which_filters_start_far_from_what_they_read(rate):
    """The first output of such a filter is a part of the rate; of a hub at rest there is nothing to say."""
    gyro = femb.Gyro("gyro", body="hub", period=0.1, angle_random_walk=1e-7)  # whose noise is nothing to start from
    smooth = femb.FilterController("smooth", "sensors.gyro", frequency=2.0, period=0.1)
    law = femb.PDController("law", attitude="bodies.hub", rate="controllers.smooth", bandwidth=0.1, wheels=WHEELS,
        period=0.1)  # fmt: skip
    model = satellite(gyro, smooth, law, rate=(rate, 0.0, 0.0))
    lines = [line for line in overview(model).advice if "starts from zero" in line]
    assert [line.partition(" ")[0] for line in lines] == (["controllers.smooth"] if rate else [])
    run = femb.simulate(model, duration=0.05, output_interval=0.05)
    assert abs(run.controllers["smooth"].output[-1, 0]) < 0.1 * rate + 1e-6


def test_a_filter_of_an_attitude_at_its_reference_starts_at_what_it_reads():
    """Along the frame of an inclined orbit a product of quaternions leaves 1e-17; 1e-6 rad are an error."""
    for turn in (0.0, 1e-6):
        model = femb.Model()
        words = {"inclination": 1.71, "ascending_node": 0.698, "anomaly": 0.576}
        model.add(femb.Orbit("earth", semi_major_axis=7e6, **words))
        body = femb.RigidBody("hub", 200.0, (60.0, 80.0, 40.0), euler_angles=(turn, 0, 0), relative_to="orbit")
        model.add(body)
        model.add(femb.StarTracker("star", body="hub", relative_to="orbit", period=2.0))
        model.add(femb.FilterController("smooth", "sensors.star", filter="lead", zero=0.02, pole=0.5, period=2.0))
        lines = [line for line in overview(model).advice if "starts from zero" in line]
        assert len(lines) == (turn > 0.0)


# What a run would refuse at its first sample.


def wrong_width(t, y, x):
    return np.zeros(2), x


def fails(t, y, x):
    raise ZeroDivisionError("nothing to divide by")


@pytest.mark.parametrize(
    ("law", "text"),
    [
        (
            femb.LinearController(
                "law", D=np.eye(3)[:, :2], inputs=("bodies.hub.turn",), outputs=("loads.torquer.torque",), period=0.1
            ),
            "reads 3 numbers",
        ),
        (
            femb.SampledController("law", wrong_width, outputs=("loads.torquer.torque",), period=0.1, phase=0.05),
            "wanted 3 numbers",
        ),
        (femb.SampledController("law", fails, outputs=("loads.torquer.torque",), period=0.1), "nothing to divide by"),
        (
            femb.SampledController(
                "law", lambda t, y, x: (np.full(3, np.nan), x), outputs=("loads.torquer.torque",), period=0.1
            ),
            r"got \[nan, nan, nan\]",
        ),
        (femb.Load("own", body="hub", force=lambda t: np.zeros(3)), r"loads\.own\.force: raised TypeError at t = 0 s"),
    ],
)
def test_check_refuses_what_a_run_refuses_at_its_first_sample(law, text):
    model = satellite(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"), law)
    for look in (overview, lambda of: femb.simulate(of, duration=0.2)):
        refuses(text, look, model, error=FembError)


def test_a_turn_is_no_attitude_and_is_refused_by_its_own_name():
    law = femb.PIDController(
        "att", attitude="bodies.hub.turn", rate="bodies.hub", proportional=2.5, derivative=7.0, integral=0.2,
        tracking_time=10.0, wheels=WHEELS,
    )  # fmt: skip
    refuses("reads 'bodies.hub.turn' as an attitude: got 3 numbers in rad, wanted 4", femb.loop, satellite(law))
