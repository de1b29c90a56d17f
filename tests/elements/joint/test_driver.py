"""Drivers: what they drive follows its motion, the force is what Newton and Euler want, the energy balances."""

import math

import numpy as np
import pytest
from models import of_parts, refuses
from scipy.integrate import cumulative_simpson

import femb
from femb import ModelError, SolveError
from femb.elements import (
    Cylindrical,
    Distance,
    DistanceDriver,
    JointDriver,
    JointEnd,
    OrientationDriver,
    Place,
    Planar,
    PointMass,
    PositionDriver,
    Prismatic,
    Revolute,
    RigidBody,
    Spherical,
    Universal,
)
from femb.elements.joint.driver import motion_of_angles
from femb.layout.layout import Layout
from femb.numerics import rotations
from femb.numerics.euler import SEQUENCES, to_euler
from femb.profiles import PROFILES, Constant, Integral, Polynomial, Sine, Slew, SmoothStep, Spline, Step, Table, Versine
from femb.system.system import System

Z = (0.0, 0.0, 1.0)
BOX = (0.5, 0.7, 0.9)
G = 9.81


def exact(tolerance):
    """Absolute tolerances that leave the error to the relative one."""
    return femb.Tolerances(position=0.1 * tolerance, quaternion=0.1 * tolerance)


def wheel(motion, start=0.0, **joint):
    """A body on a hinge along the inertial x axis through the ground, its mass centre off the axis."""
    model = femb.Model("wheel", gravity=(0.0, 0.0, -G))
    model.add(RigidBody("wheel", 2.0, BOX, center_of_mass=(0.0, 0.0, -0.4)))
    ends = JointEnd("ground", axis=(1.0, 0.0, 0.0), reference=(0.0, 1.0, 0.0)), JointEnd("wheel")
    model.add(Revolute("hinge", *ends, start=start, **joint))
    model.add(JointDriver("motor", "hinge", motion))
    return model


def torque_of_wheel(motion, t):
    """The torque that a motion of the wheel takes."""
    f, _, f2 = motion.derivatives(t)
    return (BOX[0] + 2.0 * 0.4**2) * f2 + 2.0 * G * 0.4 * math.sin(f)


MOTIONS = {
    "constant": Constant(0.3),
    "polynomial": Polynomial((0.2, 1.0, -0.5)),
    "sine": Sine(0.8, 0.6, 0.3, 0.1),
    "versine": Versine(0.7, 0.1),
    "smooth_step": SmoothStep(0.8, 0.1, -0.2, 1.4),
    "spline": Spline((0.1, 0.4, 0.9), (0.3, -0.4, 0.5)),
    "slew": Slew(1.1, before=0.3, duration=0.6, max_rate=2.0, start=0.1),
    "integral": Integral(Sine(0.8, 0.6, 0.3, 0.1), initial=0.2),
}


@pytest.mark.parametrize("shape", [shape for shape in PROFILES if hasattr(PROFILES[shape], "derivatives")])
def test_every_motion_in_time(shape):
    """Angle, rate and torque of a driven hinge, for every profile that has derivatives."""
    motion = MOTIONS[shape]
    results = femb.simulate(wheel(motion, motion(0.0)), duration=1.0, output_interval=0.01)
    wanted = np.array([motion.derivatives(t) for t in results.time])
    hinge, motor = results.joints["hinge"], results.drivers["motor"]
    np.testing.assert_allclose(hinge.coordinates[:, 0], wanted[:, 0], atol=1e-11)
    np.testing.assert_allclose(hinge.rates[:, 0], wanted[:, 1], atol=1e-10)
    np.testing.assert_array_equal(motor.value[:, 0], wanted[:, 0])
    np.testing.assert_array_equal(motor.rate[:, 0], wanted[:, 1])
    np.testing.assert_allclose(motor.force[:, 0], [torque_of_wheel(motion, t) for t in results.time], atol=1e-9)
    np.testing.assert_allclose(hinge.torque[:, 2], 0.0, atol=1e-9)  # the drive's is not among the joint's


@pytest.mark.parametrize(
    ("method", "gain"), [("radau", 100.0), ("bdf", 30.0), ("rk", 100.0), ("generalized-alpha", 30.0)]
)
def test_work_of_the_drives_is_audited(method, gain):
    """The energy goes up and down by joules; what is left of the balance falls with the tolerance, in a multistep
    method less, which begins every stretch at low order."""
    motion = SmoothStep(1.0, 0.1, 0.2, 2.0)
    errors = []
    for rtol in (1e-5, 1e-8):
        audit = femb.simulate(wheel(motion, 0.2), duration=1.3, method=method, rtol=rtol, atol=exact(rtol)).audit
        errors.append(np.abs(audit.energy_error).max())
        assert np.abs(audit.work).max() > 10.0
        assert audit.constraint_position.max() < 1e-11
    assert errors[0] < 1e-2
    assert errors[1] < errors[0] / gain


@pytest.mark.slow
def test_every_driver_by_generalized_alpha():
    """A hinge, a distance, a place and an attitude, driven: forces and what moves freely beside, against radau."""
    model = wheel(SmoothStep(1.0, 0.1, 0.2, 1.0), 0.2)
    model.add(PointMass("kite", 1.0, position=(3.0, 0.0, 0.0)))
    model.add(DistanceDriver("line", Place("ground"), Place("kite"), Polynomial((3.0, 0.2))))
    model.add(RigidBody("box", 2.0, BOX, position=(0.0, 2.0, 0.0)))
    model.add(PositionDriver("shaker", Place("ground"), Place("box", at=(0.0, 0.0, 0.5)), x=Sine(1.0, 0.1)))
    model.add(RigidBody("ship", 1.0, BOX, position=(0.0, 5.0, 0.0)))
    model.add(OrientationDriver("turn", Place("ground"), Place("ship"), third_angle=SmoothStep(1.0, 0.0, 0.0, 2.0)))
    options = {"duration": 1.0, "output_interval": 0.1}
    wanted = femb.simulate(model, rtol=1e-9, atol=exact(1e-9), **options)
    results = femb.simulate(model, method="generalized-alpha", rtol=1e-7, atol=exact(1e-7), **options)
    for name in ("motor", "line", "shaker", "turn"):
        np.testing.assert_allclose(results.drivers[name].value, wanted.drivers[name].value, atol=1e-4)
        np.testing.assert_allclose(results.drivers[name].force, wanted.drivers[name].force, atol=1e-3)
    for name in ("kite", "box", "ship"):
        np.testing.assert_allclose(results.bodies[name].position, wanted.bodies[name].position, atol=1e-4)
    assert np.ptp(wanted.bodies["kite"].position[:, 2]) > 1.0
    assert results.audit.constraint_position.max() < 1e-10
    assert results.audit.constraint_velocity.max() < 1e-8


def test_a_full_turn_and_more():
    """The row of the angle is regular everywhere; the coordinate is unwrapped."""
    results = femb.simulate(wheel(Polynomial((0.0, 5.0))), duration=4.0, output_interval=0.1)
    np.testing.assert_allclose(results.joints["hinge"].coordinates[:, 0], 5.0 * results.time, atol=1e-10)
    power = results.drivers["motor"].force * results.drivers["motor"].rate
    np.testing.assert_allclose(power[:, 0], 5.0 * 2.0 * G * 0.4 * np.sin(5.0 * results.time), atol=1e-8)


def test_revolutions_are_those_of_the_motion():
    """A spring sees them, of a joint without a start."""
    model = wheel(Polynomial((4.0 * math.pi, 0.5)), start=None)
    model.add(femb.JointSpringDamper("spiral", "hinge", stiffness=3.0))
    results = femb.simulate(model, duration=0.1, output_interval=0.1)
    angle = 4.0 * math.pi + 0.5 * results.time
    np.testing.assert_allclose(results.joints["hinge"].coordinates[:, 0], angle, rtol=1e-12)
    weight = 2.0 * G * 0.4 * np.sin(angle)
    np.testing.assert_allclose(results.drivers["motor"].force[:, 0], weight + 3.0 * angle, rtol=1e-9)


def test_a_function_as_motion():
    """A callable that returns three numbers, as a tuple or an array."""
    motion = Sine(0.8, 0.6)
    for function in (motion.derivatives, lambda t: np.array(motion.derivatives(t))):
        results = femb.simulate(wheel(lambda t, f=function: f(t)), duration=0.5, output_interval=0.1)
        wanted = [torque_of_wheel(motion, t) for t in results.time]
        np.testing.assert_allclose(results.drivers["motor"].force[:, 0], wanted, atol=1e-9)


def test_start_velocities_follow():
    """Nothing is said of velocities: the drive says them all."""
    system = System(wheel(Polynomial((0.0, 3.0))))
    frame = system.layout.bodies["wheel"]
    place = system.layout.frame_v[frame]
    np.testing.assert_allclose(system.v0[place : place + 6], [0, 0, 0, 3.0, 0, 0], atol=1e-14)


JOINTS = [
    (Revolute, "angle"),
    (Universal, "first_angle"),
    (Universal, "second_angle"),
    (Cylindrical, "angle"),
    (Cylindrical, "stroke"),
    (Prismatic, "stroke"),
    (Planar, "x"),
    (Planar, "y"),
    (Planar, "angle"),
]


@pytest.mark.parametrize(("kind", "name"), JOINTS, ids=lambda each: getattr(each, "kind", each))
@pytest.mark.parametrize("ground", ["first", "second"])
def test_every_coordinate(kind, name, ground):
    """One coordinate is driven, the others are left to the forces; energy balances with the drive's power."""
    rng = np.random.default_rng(11)
    model = femb.Model(gravity=(1.0, 2.0, -3.0))
    model.add(RigidBody("box", 1.5, BOX, center_of_mass=(0.2, -0.1, 0.3)))
    ends = [
        JointEnd(body, at=rng.normal(size=3), axis=rng.normal(size=3), reference=rng.normal(size=3))
        for body in (("ground", "box") if ground == "first" else ("box", "ground"))
    ]
    names = [each.name for each in kind.coordinates]
    start = rng.uniform(-1.0, 1.0, len(names))
    motion = Sine(0.4, 0.8, mean=start[names.index(name)])
    model.add(kind("joint", *ends, start=start))
    model.add(JointDriver("drive", "joint", motion, None if len(names) == 1 else name))
    results = femb.simulate(model, duration=1.0, output_interval=0.05, rtol=1e-9, atol=exact(1e-9))
    wanted = np.array([motion.derivatives(t) for t in results.time])
    found = results.joints["joint"]
    np.testing.assert_allclose(found.coordinates[:, names.index(name)], wanted[:, 0], atol=1e-11)
    np.testing.assert_allclose(found.rates[:, names.index(name)], wanted[:, 1], atol=1e-9)
    assert np.abs(results.audit.work).max() > 0.1
    assert np.abs(results.audit.energy_error).max() < 1e-7
    assert np.abs(results.drivers["drive"].force).max() > 0.1


class TestPoints:
    def test_distance(self):
        """A mass on a string that is wound up in space: its angular momentum is kept, so m h^2/r^3 less m r''."""
        model = femb.Model()
        model.add(PointMass("stone", 2.0, position=(1.0, 0.0, 0.0), velocity=(0.0, 1.5, 0.0)))
        length = SmoothStep(1.0, 0.2, 1.0, 0.4)
        model.add(DistanceDriver("string", Place("ground"), Place("stone"), length))
        results = femb.simulate(model, duration=1.5, output_interval=0.01, rtol=1e-10, atol=exact(1e-10))
        r, _, r2 = np.array([length.derivatives(t) for t in results.time]).T
        np.testing.assert_allclose(np.linalg.norm(results.bodies["stone"].position, axis=1), r, atol=1e-11)
        np.testing.assert_allclose(results.drivers["string"].force[:, 0], 2.0 * (r2 - 1.5**2 / r**3), atol=1e-6)
        assert np.abs(results.audit.energy_error).max() < 1e-8

    def test_position_in_one_and_two_directions(self):
        """A shaken point of a pendulum: what is not driven is free, and takes no force."""
        model = femb.Model(gravity=(0.0, 0.0, -G))
        model.add(RigidBody("box", 2.0, BOX))
        shake, rise = Sine(1.0, 0.3), Polynomial((0.0, 0.0, 1.0))
        model.add(PositionDriver("table", Place("ground"), Place("box"), x=shake, z=rise))
        results = femb.simulate(model, duration=1.0, output_interval=0.05)
        force = results.drivers["table"].force
        x2 = np.array([shake.derivatives(t)[2] for t in results.time])
        assert force.shape == (21, 2)
        np.testing.assert_allclose(force, np.stack([2.0 * x2, 2.0 * (2.0 + G) + 0.0 * x2], axis=1), atol=1e-9)
        np.testing.assert_allclose(results.bodies["box"].position[:, 1], 0.0, atol=1e-12)
        np.testing.assert_allclose(results.bodies["box"].position[:, 2], results.time**2, atol=1e-11)

    def test_position_between_two_bodies_keeps_their_momentum(self):
        model = femb.Model()
        model.add(RigidBody("one", 1.0, BOX))
        model.add(RigidBody("two", 3.0, BOX, position=(1.0, 0.0, 0.0)))
        apart = SmoothStep(1.0, 0.0, 1.0, 2.0)
        model.add(PositionDriver("arm", Place("one"), Place("two"), x=apart, y=Constant(0.0), z=Constant(0.0)))
        results = femb.simulate(model, duration=1.0, output_interval=0.1)
        np.testing.assert_allclose(results.audit.linear_momentum, 0.0, atol=1e-10)
        f2 = np.array([apart.derivatives(t)[2] for t in results.time])
        np.testing.assert_allclose(results.drivers["arm"].force[:, 0], 0.75 * f2, atol=1e-9)


class TestOrientation:
    @pytest.mark.parametrize("sequence", SEQUENCES)
    def test_rates_of_euler_angles(self, sequence):
        """Angular velocity and acceleration against differences of the quaternion, and of the angular velocity."""
        motions = [Polynomial(c) for c in ((0.3, 1.0, -0.4), (-0.5, 0.7, 0.9), (1.2, -1.1, 0.6))]

        def at(t):
            return motion_of_angles(np.array([motion.derivatives(t) for motion in motions]).T, sequence)

        h, t = 1e-5, 0.4
        before, now, after = at(t - h), at(t), at(t + h)
        rate = (after[:4] - before[:4]) / (2.0 * h)
        np.testing.assert_allclose(rotations.quaternion_rate(now[:4], now[4:7]), rate, atol=1e-9)
        np.testing.assert_allclose(now[7:], (after[4:7] - before[4:7]) / (2.0 * h), atol=1e-9)

    def test_in_time_through_gimbal_lock(self):
        """The middle angle goes through a right angle; the torque is Euler's."""
        angles = Polynomial((0.1, 0.5)), Polynomial((0.0, 3.0)), Sine(0.5, 0.4)
        driver = OrientationDriver("turn", Place("ground"), Place("ship"), *angles)
        model = of_parts(RigidBody("ship", 1.0, BOX), driver)
        q = driver.inputs()[0].function(0.0)[:4]
        model.tables["bodies"]["ship"] = RigidBody("ship", 1.0, BOX, quaternion=q)
        results = femb.simulate(model, duration=1.0, output_interval=0.05)
        turn = results.drivers["turn"]
        for k, t in enumerate(results.time):
            motion = driver.inputs()[0].function(t)
            omega, alpha = motion[4:7], motion[7:]
            torque = BOX * alpha + np.cross(omega, BOX * omega)
            np.testing.assert_allclose(turn.force[k], torque, atol=1e-8)
            np.testing.assert_allclose(turn.rate[k], omega, atol=1e-14)
            found = results.bodies["ship"].quaternion[k]
            np.testing.assert_allclose(found * np.sign(found @ motion[:4]), motion[:4], atol=1e-11)
            np.testing.assert_allclose(turn.value[k], motion[:4], atol=1e-14)
        assert np.abs(results.audit.energy_error).max() < 1e-5

    def test_between_two_bodies_keeps_their_momentum(self):
        """A body turns another against itself in free space: momenta are kept, the work is the energy."""
        model = femb.Model()
        model.add(RigidBody("bus", 5.0, (3.0, 4.0, 5.0)))
        model.add(RigidBody("arm", 1.0, BOX, position=(1.0, 0.0, 0.0)))
        model.add(Spherical("ball", JointEnd("bus", at=(0.5, 0.0, 0.0)), JointEnd("arm", at=(-0.5, 0.0, 0.0))))
        angle = SmoothStep(1.0, 0.0, 0.0, 2.5)
        model.add(OrientationDriver("turn", Place("bus"), Place("arm"), second_angle=angle, third_angle=angle))
        results = femb.simulate(model, duration=1.2, output_interval=0.02, rtol=1e-9, atol=exact(1e-9))
        assert np.abs(results.audit.angular_momentum).max() < 1e-8
        assert np.abs(results.audit.linear_momentum).max() < 1e-8
        assert results.audit.work.max() > 1.0
        assert np.abs(results.audit.energy_error).max() < 1e-7
        p, q = (results.bodies[name].quaternion for name in ("bus", "arm"))
        relative = rotations.multiply(rotations.conjugate(p), q)
        value = results.drivers["turn"].value
        np.testing.assert_allclose(relative * np.sign(np.sum(relative * value, axis=1))[:, None], value, atol=1e-11)

    def test_of_a_beam_node_is_in_its_section_axes(self):
        """The section of a node that is clamped to a body is turned against the body's axes."""
        section = femb.Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9, damping=0.01)
        model = femb.Model()
        hub = model.add(RigidBody("hub", 1.0, BOX))
        boom = model.add(
            femb.Beam("boom", section, 1.0, 1, start=hub.at(direction=(0.0, 1.0, 0.0), up=(-1.0, 0.0, 0.0)))
        )
        model.add(OrientationDriver("turn", Place("ground"), boom.node(0), third_angle=Constant(math.pi / 2)))
        torque = np.array([0.3, -0.2, 0.5])
        model.add(femb.Load("push", body="hub", torque=torque))
        results = femb.simulate(model, duration=0.1, output_interval=0.05)
        wanted = rotations.from_axis_angle(Z, math.pi / 2)
        np.testing.assert_allclose(
            results.drivers["turn"].force, [rotations.rotate_back(wanted, -torque)] * 3, atol=1e-9
        )
        np.testing.assert_allclose(results.beams["boom"].quaternion[:, 0], [wanted] * 3, atol=1e-12)
        np.testing.assert_allclose(results.drivers["turn"].value, [wanted] * 3, atol=1e-12)

    def test_torque_on_a_turned_node(self):
        """In the section axes of the node: along these it is the rate of the angular momentum of everything."""
        section = femb.Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9, damping=0.01)
        model = femb.Model()
        hub = model.add(RigidBody("hub", 1.0, BOX))
        start = hub.at(direction=(0.3, 1.0, 0.2), up=(-1.0, 0.0, 0.4))
        boom = model.add(femb.Beam("boom", section, 1.0, 1, start=start))
        axes = femb.System(model).layout.beams["boom"].stations[0].rotation
        angles = [Polynomial((angle, 0.0, k)) for angle, k in zip(to_euler(axes), (0.9, -0.4, 0.7), strict=True)]
        model.add(OrientationDriver("turn", Place("ground"), boom.node(0), *angles))
        results = femb.simulate(model, duration=0.4, output_interval=0.002, rtol=1e-9, atol=exact(1e-9))
        torque = rotations.rotate(results.beams["boom"].quaternion[:, 0], results.drivers["turn"].force)
        momentum = np.asarray(results.audit["angular_momentum"])
        wanted = momentum - momentum[0]
        found = cumulative_simpson(torque, dx=0.002, axis=0, initial=0)
        assert np.min(np.ptp(wanted, axis=0)) > 0.1
        np.testing.assert_allclose(found, wanted, atol=2e-6)

    def test_motion_as_a_whole(self):
        angles = Polynomial((0.1, 0.5)), Polynomial((0.0, 1.0)), Sine(0.5, 0.4)
        by_angles = OrientationDriver("turn", Place("ground"), Place("ship"), *angles).inputs()[0].function

        def motion(t):
            whole = by_angles(t)
            return whole[:4], whole[4:7], whole[7:]

        model = femb.Model()
        model.add(RigidBody("ship", 1.0, BOX, quaternion=motion(0.0)[0]))
        model.add(OrientationDriver("turn", Place("ground"), Place("ship"), motion=motion))
        results = femb.simulate(model, duration=0.5, output_interval=0.1)
        np.testing.assert_allclose(results.drivers["turn"].value[-1], motion(0.5)[0], atol=1e-14)
        np.testing.assert_allclose(results.bodies["ship"].quaternion[-1], motion(0.5)[0], atol=1e-11)


class TestStart:
    def test_the_motion_begins_elsewhere(self):
        refuses(r"drivers\.motor: \(angle\) begins 0\.7 .* the start of the joint", System, wheel(Constant(0.7)))

    def test_and_is_assembled(self):
        system = System(wheel(Constant(0.7)), assemble=True)
        assert system.joint_motion(system.q0, system.v0)[0][0] == pytest.approx(0.7, abs=1e-11)
        for analysis in (femb.simulate, femb.inverse):
            results = analysis(wheel(Constant(0.7)), duration=0.1, output_interval=0.1, start="assembled")
            np.testing.assert_allclose(results.joints["hinge"].coordinates, 0.7, atol=1e-11)

    @pytest.mark.parametrize("angle", [1.6, 3.1, -2.0])
    def test_a_quarter_turn_away_is_refused(self, angle):
        """Beyond it, the other root of the angle's row is the nearer one."""
        with pytest.raises(ModelError, match=r"drivers\.motor\.motion: begins at .* a quarter of a turn or more"):
            System(wheel(Constant(angle)), assemble=True)

    def test_turns_apart_are_refused(self):
        """A spring of the joint would see another angle than the motion's."""
        words = (
            r"drivers\.motor\.motion: begins at 12\.86637 rad, whole turns from the start of joints\.hinge, 0\.3 rad"
        )
        refuses(words, System, wheel(Constant(0.3 + 4.0 * math.pi), 0.3))

    @pytest.mark.slow
    def test_the_turns_of_results_are_those_that_count(self, tmp_path):
        """Of a start from results, the start of the joint does not."""
        femb.simulate(wheel(Polynomial((0.0, 10.0))), duration=1.0, out=tmp_path / "first.h5")
        words = {"start": {"results": str(tmp_path / "first.h5")}, "duration": 0.1, "output_interval": 0.1}
        later = femb.simulate(wheel(Polynomial((10.0, 10.0))), **words)
        np.testing.assert_allclose(later.joints["hinge"].coordinates[:, 0], [10.0, 11.0], atol=1e-8)
        refuses("whole turns from the start of", femb.simulate, wheel(Polynomial((10.0 - 2.0 * np.pi, 10.0))), **words)


class TestRefused:
    @pytest.mark.parametrize(("profile", "shape"), [(Step(), "step"), (Table((0.0, 1.0), (0.0, 1.0)), "table")])
    def test_a_profile_without_derivatives(self, profile, shape):
        with pytest.raises(
            ModelError, match=rf"drivers\.motor\.motion: got the profile '{shape}', .* can follow .*spline"
        ):
            JointDriver("motor", "hinge", profile)

    @pytest.mark.parametrize(
        ("motion", "words"),
        [
            (lambda t: 0.0, r"got 0\.0 at t = 0 s, wanted three numbers: the value and its first and second"),
            (lambda t: (0.0, 0.0), r"got \(0\.0, 0\.0\) at t = 0 s, wanted three numbers"),
            (lambda t: None, r"got None at t = 0 s, wanted three numbers"),
            (lambda t: (0.0, math.nan, 0.0), r"at t = 0 s, every number must be finite"),
        ],
    )
    def test_a_function_that_returns_something_else(self, motion, words):
        refuses(r"drivers\.motor\.motion: .*" + words, System, wheel(motion))

    @pytest.mark.parametrize("value", [0.0, (0.0, math.nan, 0.0)])
    def test_one_that_fails_later(self, value):
        with pytest.raises(SolveError, match=r"drivers\.motor\.motion: got .* at t = 0\.\d+ s"):
            femb.simulate(wheel(lambda t: (0.0, 0.0, 0.0) if t < 0.5 else value), duration=1.0)

    def test_no_motion_at_all(self):
        with pytest.raises(ModelError, match=r"drivers\.motor\.motion: got 'fast', wanted a profile, or a function"):
            JointDriver("motor", "hinge", "fast")

    def test_unknown_joint(self):
        model = wheel(Constant(0.0))
        model.add(JointDriver("other", "hing", Constant(0.0)))
        refuses(r"drivers\.other\.joint: got 'hing', .* joints: 'hinge'", System, model)

    def test_unknown_coordinate(self):
        model = wheel(Constant(0.0))
        model.add(JointDriver("other", "hinge", Constant(0.0), "stroke"))
        refuses(r"other\.coordinate: got 'stroke'; the coordinates of .* are: angle", System, model)

    def test_joint_without_coordinates(self):
        model = femb.Model()
        model.add(RigidBody("box", 1.0, BOX))
        model.add(Spherical("ball", JointEnd("ground"), JointEnd("box")))
        model.add(JointDriver("drive", "ball", Constant(0.0)))
        refuses(r"drive\.joint: got 'ball', a spherical joint, which has no coordinates", System, model)

    def test_two_on_one_coordinate(self):
        model = wheel(Constant(0.0))
        model.add(JointDriver("brake", "hinge", Constant(0.0)))
        refuses(r"drivers\.brake: holds 'ground' and 'wheel' as joints\.hinge and drivers\.m", System, model)

    def test_a_rod_beside_a_driven_distance(self):
        model = femb.Model()
        model.add(RigidBody("box", 1.0, BOX, position=(1.0, 0.0, 0.0)))
        model.add(Distance("rod", JointEnd("ground"), JointEnd("box")))
        model.add(DistanceDriver("strut", Place("ground"), Place("box"), Constant(1.0)))
        refuses(r"drivers\.strut: holds 'ground' and 'box' as joints\.rod already do", System, model)

    @pytest.mark.parametrize("length", [0.0, -1.0])
    def test_no_distance(self, length):
        model = femb.Model()
        model.add(RigidBody("box", 1.0, BOX, position=(1.0, 0.0, 0.0)))
        model.add(DistanceDriver("strut", Place("ground"), Place("box"), Constant(length)))
        refuses(r"drivers\.strut\.motion: got .* a distance must be greater than 0", System, model)

    def test_no_direction(self):
        refuses(r"drivers\.table\.x: no direction is driven", PositionDriver, "table", Place("ground"), Place("box"))

    def test_orientation_of_a_point(self):
        model = femb.Model()
        model.add(PointMass("stone", 1.0))
        model.add(OrientationDriver("turn", Place("ground"), Place("stone"), first_angle=Constant(0.0)))
        refuses(r"drivers\.turn\.second\.body: got 'stone', a point mass", System, model)

    def test_orientation_without_motion_or_with_two(self):
        places = Place("ground"), Place("box")
        refuses(r"turn\.first_angle: no motion is given", OrientationDriver, "turn", *places)
        with pytest.raises(ModelError, match=r"turn\.motion: given beside 'second_angle'"):
            OrientationDriver("turn", *places, second_angle=Constant(0.0), motion=lambda t: None)

    @pytest.mark.parametrize(
        "value", [None, (1.0, 0.0, 0.0), ((2.0, 0, 0, 0), (0, 0, 0), (0, 0, 0.0)), ((1, 0, 0), 1, 2)]
    )
    def test_orientation_by_a_function_that_returns_something_else(self, value):
        model = femb.Model()
        model.add(RigidBody("box", 1.0, BOX))
        model.add(OrientationDriver("turn", Place("ground"), Place("box"), motion=lambda t: value))
        refuses(r"drivers\.turn\.motion: got .* at t = 0 s, wanted a quaternion of length 1", System, model)

    def test_nothing_to_move(self):
        model = femb.Model()
        model.add(RigidBody("box", 1.0, BOX))
        model.add(PositionDriver("table", Place("box"), Place("box", at=(1.0, 0.0, 0.0)), x=Constant(1.0)))
        refuses(r"drivers\.table\.second: is on the same frame as the first", System, model)


def test_results_of_drivers_are_kept_in_files(tmp_path):
    file = tmp_path / "results.h5"
    femb.simulate(wheel(Sine(1.0, 0.1)), duration=0.1, output_interval=0.05, out=file)
    results = femb.Results.read(file)
    assert list(results.drivers) == ["motor"]
    assert set(results.drivers["motor"].arrays) == {"value", "rate", "force"}
    assert results.drivers["motor"].attributes["names"] == '["angle"]'
    assert Layout().drivers == {}
