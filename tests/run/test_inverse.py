"""Inverse dynamics: published numbers, forward dynamics undoes it, statics is the slope of the potential."""

import math
import re
from functools import cache

import numpy as np
import pytest
from checkout import CASES
from models import of_parts, refuses
from shared_runs import said

import femb
from femb.numerics import rotations
from femb.profiles import Constant, Polynomial, Sine, SmoothStep
from femb.run.inverse import check_prescribed, prescribed
from femb.system.initial_state import coordinate_rows
from femb.system.system import System

G = 9.81


def sine(mean, amplitude, omega, phase=0.0):
    return Sine(omega / (2.0 * math.pi), amplitude, phase, mean)


def pendulum(a, b, c):
    """The spatial double pendulum of the reference: a universal joint to the ground, then a hinge.

    a about the inertial e1, then b about the body's e2, then c about the common e2.
    """
    model = femb.Model("double pendulum", gravity=(0.0, 0.0, -G))
    model.add(femb.RigidBody("one", mass=2.0, inertia=(0.08, 0.08, 0.004)))
    model.add(femb.RigidBody("two", mass=1.5, inertia=(0.05, 0.05, 0.003)))
    starts = [np.asarray(m.derivatives(0.0) if hasattr(m, "derivatives") else m(0.0))[0] for m in (a, b, c)]
    e1, e2 = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    ground = femb.JointEnd("ground", axis=e1, reference=e2)
    top = femb.JointEnd("one", at=(0.0, 0.0, 0.35), axis=e2, reference=e1)
    model.add(femb.Universal("pin", ground, top, start=starts[:2]))
    lower = femb.JointEnd("one", at=(0.0, 0.0, -0.35), axis=e2)
    model.add(femb.Revolute("hinge", lower, femb.JointEnd("two", at=(0.0, 0.0, 0.3)), start=starts[2]))
    model.add(femb.JointDriver("a", "pin", a, "first_angle"))
    model.add(femb.JointDriver("b", "pin", b, "second_angle"))
    model.add(femb.JointDriver("c", "hinge", c))
    return model


def moving():
    return pendulum(sine(0.9, 0.4, 2.0, 0.1), sine(0.4, 0.3, 1.5, 0.2), sine(0.7, 0.5, 3.0))


def forces(results, *names):
    """(T, n) of the drivers' first components."""
    return np.stack([results.drivers[name].force[:, 0] for name in names], axis=1)


class TestReference:
    """equations of the sheet in docs/theory/constraints.md, section 8, evaluated independently for this pendulum."""

    DRIVES = (11.0739721595991, 2.6633465271606, 0.4972073207272)
    PIN = (-0.4435634916443, -1.4900415315837, -31.4411097154197)
    STATIC = (12.0808397095756, 4.7228329257833, 1.4039846069169)

    def test_inverse_dynamics(self):
        results = femb.inverse(moving(), duration=0.45, output_interval=0.15)
        np.testing.assert_allclose(forces(results, "a", "b", "c")[-1], self.DRIVES, atol=1e-10)
        # the joint's axes at the ground are x along e2, y along e3, z along e1; the force is on the second body
        force = results.joints["pin"].force[-1][[2, 0, 1]]
        np.testing.assert_allclose(-force, self.PIN, atol=1e-10)

    def test_statics(self):
        held = [Constant(m(0.45)) for m in (sine(0.9, 0.4, 2.0, 0.1), sine(0.4, 0.3, 1.5, 0.2), sine(0.7, 0.5, 3.0))]
        results = femb.inverse(pendulum(*held), duration=1.0, output_interval=1.0)
        np.testing.assert_allclose(forces(results, "a", "b", "c"), [self.STATIC] * 2, atol=1e-10)
        np.testing.assert_allclose(results.joints["pin"].force[-1][[2, 0, 1]], (0.0, 0.0, 3.5 * G), atol=1e-12)

    def test_motion_is_the_prescribed_one(self):
        results = femb.inverse(moving(), duration=2.0, output_interval=0.1)
        t = results.time
        pin = np.stack([0.9 + 0.4 * np.sin(2.0 * t + 0.1), 0.4 + 0.3 * np.sin(1.5 * t + 0.2)], axis=1)
        rate = np.stack([0.8 * np.cos(2.0 * t + 0.1), 0.45 * np.cos(1.5 * t + 0.2)], axis=1)
        np.testing.assert_allclose(results.joints["pin"].coordinates, pin, atol=1e-11)
        np.testing.assert_allclose(results.joints["pin"].rates, rate, atol=1e-10)
        np.testing.assert_allclose(results.drivers["a"].value[:, 0], pin[:, 0], atol=1e-15)
        np.testing.assert_allclose(results.drivers["a"].rate[:, 0], rate[:, 0], atol=1e-15)
        assert results.audit.constraint_position.max() < 1e-11
        assert results.audit.constraint_velocity.max() < 1e-10
        assert (results.method, results.status) == ("inverse", "complete")

    @pytest.mark.slow
    def test_power_of_the_drives_is_the_rate_of_the_energy(self):
        """Against differences of the energy, which the multipliers do not enter."""
        h = 1e-4
        results = femb.inverse(moving(), duration=100 * h, output_interval=h)
        energy = results.audit.kinetic_energy + results.audit.potential_energy
        power = sum(np.sum(each.force * each.rate, axis=1) for each in results.drivers.values())
        # differences over two and four intervals, extrapolated
        two, four = (energy[3:-1] - energy[1:-3]) / (2.0 * h), (energy[4:] - energy[:-4]) / (4.0 * h)
        np.testing.assert_allclose(power[2:-2], (4.0 * two - four) / 3.0, atol=1e-9)

    def test_work_is_that_of_gauss_with_two_points(self):
        errors = [
            np.abs(femb.inverse(moving(), duration=2.0, output_interval=h).audit.energy_error).max() for h in (0.2, 0.1)
        ]
        assert errors[1] < 1e-4
        assert math.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.5)


def test_statics_is_minus_the_slope_of_the_potential():
    """The multiplier of a drive that stands still is -dV/d(coordinate), so its force is the slope itself."""
    angles = np.array([0.4, -0.7, 1.9])

    def potential(values):
        system = System(pendulum(*map(Constant, values)))
        return system.energy_momentum(system.q0[None], system.v0[None])[0, 1]

    found = forces(femb.inverse(pendulum(*map(Constant, angles)), duration=1.0, output_interval=1.0), "a", "b", "c")[0]
    h = 1e-4
    slopes = []
    for unit in np.eye(3):
        two, four = (potential(angles + k * h * unit) - potential(angles - k * h * unit) for k in (1, 2))
        slopes.append((4.0 * two / (2.0 * h) - four / (4.0 * h)) / 3.0)
    np.testing.assert_allclose(found, slopes, atol=1e-9)


def mechanism(seed):
    """A random open chain of four bodies on varied joints, all of whose coordinates are driven."""
    rng = np.random.default_rng(seed)
    model = femb.Model("chain", gravity=(1.0, -2.0, -9.0))
    near = "ground"
    for k, kind in enumerate(
        rng.permutation([femb.Revolute, femb.Universal, femb.Cylindrical, femb.Planar, femb.Prismatic])[:4]
    ):
        name = f"body{k}"
        moments = rng.uniform(1.0, 1.5, 3)
        model.add(femb.RigidBody(name, rng.uniform(1.0, 3.0), np.diag(moments), center_of_mass=rng.normal(size=3)))
        first = femb.JointEnd(near, at=rng.normal(size=3), axis=rng.normal(size=3), reference=rng.normal(size=3))
        second = femb.JointEnd(name, at=rng.normal(size=3), axis=rng.normal(size=3), reference=rng.normal(size=3))
        motions = [sine(*rng.uniform(-1.0, 1.0, 2), rng.uniform(1.0, 3.0), rng.normal()) for _ in kind.coordinates]
        model.add(kind(f"joint{k}", first, second, start=[motion(0.0) for motion in motions]))
        for coordinate, motion in zip(kind.coordinates, motions, strict=True):
            model.add(femb.JointDriver(f"{k}_{coordinate.name}", f"joint{k}", motion, coordinate.name))
        near = name
    return model


@pytest.mark.parametrize("seed", range(6))
def test_forward_dynamics_undoes_it(seed):
    """The forces of the drives, applied to the mechanism without drivers, give the same accelerations."""
    model = mechanism(seed)
    driven = System(model)
    (*_, frame) = prescribed(driven, np.array([0.0, 0.3, 0.7]))
    free_model = femb.Model("chain", gravity=model.gravity)
    for item in model.items():
        if item.table != "drivers":
            free_model.add(item)
    free = System(free_model)
    assert list(free.layout.frame_v) == list(driven.layout.frame_v)
    # generalized forces of the coordinates, by their gradients: another path than the drivers' rows
    q, v, a = frame.q[0], frame.v[0], frame.a[0]
    rows = coordinate_rows(free, q)
    drives = np.full(len(rows), np.nan)
    for driver in driven.layout.drivers.values():
        drives[driver.coordinate] = -frame.multipliers[0, driven.layout.row_c[driver.rows[0]]]
    left = free.residual(np.zeros((1, 0)), q[None], v[None], np.zeros((1, free.n_v)))[0] - drives @ rows
    J = free.jacobian(np.zeros(0), q).toarray()
    gamma = free.constraints(np.zeros((1, 0)), q[None], v[None])[1][0]
    K = np.block([[free.mass_matrix(q).toarray(), J.T], [J, np.zeros((len(J), len(J)))]])
    found = np.linalg.solve(K, np.concatenate([-left, gamma]))[: free.n_v]
    np.testing.assert_allclose(found, a, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_torques_of_drives_as_loads_give_the_motion_back():
    """The same through elements of another kind and through time: torques as loads, integrated forwards."""
    model = femb.Model("two links", gravity=(0.0, 0.0, -G))
    model.add(femb.RigidBody("one", 2.0, (0.2, 0.2, 0.05), center_of_mass=(0.0, 0.0, -0.5)))
    model.add(femb.RigidBody("two", 1.0, (0.1, 0.1, 0.02), center_of_mass=(0.0, 0.0, -0.3)))
    shoulder = sine(0.3, 0.5, 3.0)
    elbow = sine(-0.4, 0.6, 4.0, 1.0)
    y = (0.0, 1.0, 0.0)
    rates = [shoulder.derivatives(0.0)[1], elbow.derivatives(0.0)[1]]
    first = femb.Revolute(
        "shoulder", femb.JointEnd("ground", axis=y), femb.JointEnd("one"), start=shoulder(0.0), rates=rates[0]
    )
    bottom = femb.JointEnd("one", at=(0.0, 0.0, -1.0), axis=y)
    second = femb.Revolute("elbow", bottom, femb.JointEnd("two"), start=elbow(0.0), rates=rates[1])
    for joint in (first, second):
        model.add(joint)
    drivers = [femb.JointDriver("s", "shoulder", shoulder), femb.JointDriver("e", "elbow", elbow)]
    for driver in drivers:
        model.add(driver)
    times = np.linspace(0.0, 0.2, 401)
    torques = forces(femb.inverse(model, duration=0.2, output_interval=times[1]), "s", "e")
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(times, torques)
    free = femb.Model("two links", gravity=model.gravity)
    for item in model.items():
        if item.table != "drivers":
            free.add(item)
    free.add(femb.Load("one", body="one", torque=lambda t, state: (0.0, spline(t)[0] - spline(t)[1], 0.0)))
    free.add(femb.Load("two", body="two", torque=lambda t, state: (0.0, spline(t)[1], 0.0)))
    results = femb.simulate(free, duration=0.2, output_interval=0.05, method="rk", rtol=1e-10)
    wanted = np.array([[shoulder(t), elbow(t)] for t in results.time])
    found = np.hstack([results.joints["shoulder"].coordinates, results.joints["elbow"].coordinates])
    np.testing.assert_allclose(found, wanted, atol=1e-7)


def four_bar(**crank):
    """A crank-rocker of four spatial hinges: twenty rows of which three depend on the others."""
    model = femb.Model("four-bar", gravity=(0.0, -G, 2.0))
    lengths = {"crank": 0.3, "coupler": 0.8, "rocker": 0.6}
    angle = 1.1
    pin = 0.3 * np.array([np.cos(angle), np.sin(angle)])
    away = np.array([0.9, 0.0]) - pin
    d = np.linalg.norm(away)
    along = (0.8**2 - 0.6**2 + d * d) / (2.0 * d)
    top = pin + along / d * away + math.sqrt(0.8**2 - along**2) / d * np.array([-away[1], away[0]])
    ends = {"crank": ((0.0, 0.0), pin), "coupler": (pin, top), "rocker": ((0.9, 0.0), top)}
    z = (0.0, 0.0, 1.0)
    for name, (a, b) in ends.items():
        a, b = np.append(a, 0.0), np.append(b, 0.0)
        m, turn = 2.0 * lengths[name], math.atan2(b[1] - a[1], b[0] - a[0])
        inertia = (1e-3, m * lengths[name] ** 2 / 12.0, m * lengths[name] ** 2 / 12.0)
        quaternion = rotations.from_axis_angle(z, turn)
        model.add(femb.RigidBody(name, m, inertia, position=0.5 * (a + b), quaternion=quaternion))

    def end(name, side):
        half = 0.0 if name == "ground" else 0.5 * lengths[name] * side
        return femb.JointEnd(name, at=(half, 0.0, 0.0), axis=z)

    model.add(femb.Revolute("first", end("ground", 0), end("crank", -1), start=angle))
    model.add(femb.Revolute("second", end("crank", 1), end("coupler", -1)))
    model.add(femb.Revolute("third", end("coupler", 1), end("rocker", 1)))
    model.add(femb.Revolute("fourth", femb.JointEnd("ground", at=(0.9, 0.0, 0.0), axis=z), end("rocker", -1)))
    return model


class TestClosedLoop:
    """Rows that depend on others, and agree, are allowed."""

    @pytest.mark.slow
    def test_positions_follow_freudenstein(self):
        model = four_bar()
        model.add(femb.JointDriver("motor", "first", Polynomial((1.1, 3.0))))
        results = femb.inverse(model, duration=2.0, output_interval=0.05)  # nearly a full turn
        crank = 1.1 + 3.0 * results.time
        np.testing.assert_allclose(results.joints["first"].coordinates[:, 0], crank, atol=1e-11)
        x, y = results.bodies["rocker"].position[:, :2].T
        rocker = np.arctan2(y, x - 0.9)
        k1, k2, k3 = 0.9 / 0.3, 0.9 / 0.6, (0.3**2 - 0.8**2 + 0.6**2 + 0.9**2) / (2.0 * 0.3 * 0.6)
        left = k1 * np.cos(rocker) - k2 * np.cos(crank) + k3 - np.cos(crank - rocker)
        assert np.abs(left).max() < 1e-11
        assert np.abs(results.bodies["coupler"].position[:, 2]).max() < 1e-12

    @pytest.mark.slow
    def test_drive_does_what_the_energy_takes(self):
        model = four_bar()
        model.add(femb.JointDriver("motor", "first", Polynomial((1.1, 3.0))))
        audit = femb.inverse(model, duration=2.0, output_interval=0.01).audit
        assert np.abs(audit.energy_error).max() < 1e-6
        assert np.abs(audit.work).max() > 1.0

    def test_two_drives_that_agree(self):
        """They share the load in a way that rigid bodies do not decide; their virtual work is that of one drive."""
        model = four_bar()
        model.add(femb.JointDriver("motor", "first", Constant(1.1)))
        alone = femb.inverse(model, duration=1.0, output_interval=1.0).drivers["motor"].force[0, 0]
        model.add(femb.JointDriver("brake", "fourth", Constant(0.0)))
        both = femb.inverse(model, duration=1.0, output_interval=1.0)
        first, fourth = (both.drivers[name].force[0, 0] for name in ("motor", "brake"))
        # the rates of the rocker and the crank are as 1.0014794... to 3
        assert first + fourth * 1.001479452646 / 3.0 == pytest.approx(alone, abs=1e-9)
        assert abs(fourth) > 0.01

    @pytest.mark.parametrize(
        ("motion", "error", "words"),
        [
            (
                Polynomial((1.1, 3.0)),
                femb.ModelError,
                r"drivers\.other: \(angle\) the start velocities and rates of drivers",
            ),
            (Polynomial((1.1, 0.0, 1.0)), femb.SolveError, r"the accelerations .* contradict each other at t = 0 s"),
            (
                SmoothStep(1.0, 0.2, 1.1, 2.0),
                femb.SolveError,
                r"contradict each other at t = 0\.2\d* s: drivers\.motor and drivers\.other by",
            ),
        ],
    )
    def test_drives_that_disagree(self, motion, error, words):
        model = four_bar()
        model.add(femb.JointDriver("motor", "first", motion))
        model.add(femb.JointDriver("other", "fourth", Constant(0.0)))
        turntable = femb.JointEnd("ground", at=(9, 0, 0), axis=(0, 0, 1)), femb.JointEnd("wheel", axis=(0, 0, 1))
        model.add(femb.RigidBody("wheel", mass=1.0, inertia=1.0, position=(9, 0, 0)))
        model.add(femb.Revolute("table", *turntable))
        model.add(femb.JointDriver("idle", "table", Constant(0.0)))
        refuses(words, femb.inverse, model, duration=0.44, output_interval=0.22, error=error)

    def test_out_of_reach(self):
        """The rocker cannot be turned all the way round; what was found until the dead centre is kept."""
        model = four_bar()
        model.add(femb.JointDriver("motor", "fourth", Polynomial((0.0, 1.0))))
        with pytest.raises(femb.SolveError, match=r"cannot be followed beyond t = .*dead centre") as error:
            femb.inverse(model, duration=3.0, output_interval=0.1)
        results = error.value.results
        assert results.status == "failed"
        assert 0.0 < results.time[-1] < 3.0


def test_free_body_driven_in_space():
    """Position and orientation of one body, six drives: Newton's and Euler's equations."""
    model = femb.Model(gravity=(0.0, 0.0, -G))
    inertia = np.array([1.0, 2.0, 2.5])
    model.add(femb.RigidBody("ship", 3.0, inertia))
    ground = femb.Place("ground")
    x, y, z = sine(0.0, 0.4, 2.0), sine(0.0, 1.0, 1.0), sine(0.0, 0.2, 5.0)
    model.add(femb.PositionDriver("place", ground, femb.Place("ship"), x, y, z))
    spin = femb.OrientationDriver("turn", ground, femb.Place("ship"), x, y, z, sequence="zxz")
    model.add(spin)
    results = femb.inverse(model, duration=2.0, output_interval=0.25)
    for k, t in enumerate(results.time):
        d2 = np.array([each.derivatives(t)[2] for each in (x, y, z)])
        np.testing.assert_allclose(results.drivers["place"].force[k], 3.0 * (d2 + np.array([0.0, 0.0, G])), atol=1e-10)
        motion = spin.inputs()[0].function(t)
        omega, alpha = motion[4:7], motion[7:]
        torque = inertia * alpha + np.cross(omega, inertia * omega)
        np.testing.assert_allclose(results.drivers["turn"].force[k], torque, atol=1e-10)
        np.testing.assert_allclose(results.drivers["turn"].rate[k], omega, atol=1e-12)
        np.testing.assert_allclose(results.bodies["ship"].angular_velocity[k], omega, atol=1e-11)


def test_strut():
    """A lever raised by a telescopic strut: the triangle gives its angle, moments about the hinge its force."""
    model = femb.Model(gravity=(0.0, 0.0, -G))
    model.add(femb.RigidBody("lever", 5.0, (0.01, 0.4, 0.4), center_of_mass=(0.5, 0.0, 0.0)))
    model.add(femb.Revolute("hinge", femb.JointEnd("ground", axis=(0.0, -1.0, 0.0)), femb.JointEnd("lever")))
    foot, head = (0.3, 0.0, -0.4), (0.8, 0.0, 0.0)
    length = SmoothStep(1.0, before=math.hypot(0.5, 0.4), after=0.9)
    model.add(femb.DistanceDriver("strut", femb.Place("ground", at=foot), femb.Place("lever", at=head), length))
    results = femb.inverse(model, duration=1.5, output_interval=0.5)
    c, l_end = math.hypot(0.3, 0.4), 0.9
    # between the directions to the foot and to the head, as seen from the hinge
    angle = math.acos((c * c + 0.8**2 - l_end**2) / (2.0 * c * 0.8)) - math.atan2(0.4, 0.3)
    assert results.joints["hinge"].coordinates[-1, 0] == pytest.approx(angle, abs=1e-11)
    arm = c * 0.8 * math.sin(angle + math.atan2(0.4, 0.3)) / l_end
    assert results.drivers["strut"].force[-1, 0] == pytest.approx(5.0 * G * 0.5 * math.cos(angle) / arm, rel=1e-11)


@pytest.mark.slow
def test_long_way_between_outputs():
    """Two full turns between two outputs: followed in parts, so that no turn is lost."""
    model = femb.Model()
    model.add(femb.RigidBody("wheel", 1.0, 1.0))
    model.add(femb.Revolute("axle", femb.JointEnd("ground", axis=(0.0, 0.0, 1.0)), femb.JointEnd("wheel")))
    model.add(femb.JointDriver("motor", "axle", SmoothStep(1.0, start=0.2, after=13.0)))
    results = femb.inverse(model, duration=2.0, output_interval=2.0)
    assert results.joints["axle"].coordinates[-1, 0] == pytest.approx(13.0, abs=1e-11)


def swept(*items):
    """An arm of 0.28 kg m2 about its hinge that a driver takes from 80 to -30 degrees in 1.8 s."""
    model = femb.Model()
    model.add(femb.RigidBody("arm", 1.5, (0.02, 0.05, 0.04), center_of_mass=(0.4, 0.0, 0.0)))
    ends = (femb.JointEnd(body, axis=(0.0, 0.0, 1.0), reference=(1.0, 0.0, 0.0)) for body in ("ground", "arm"))
    model.add(femb.Revolute("root", *ends, start=math.radians(80.0)))
    model.add(femb.JointDriver("drive", "root", SWEEP))
    for item in items:
        model.add(item)
    return model


SWEEP = SmoothStep(1.8, before=math.radians(80.0), after=math.radians(-30.0))


class TestDiscreteStates:
    """What changes at samples, instants and events acts on the prescribed motion as in a run."""

    @pytest.mark.slow
    def test_pulses_of_a_thruster(self):
        thruster = femb.Thruster("t", 2.0, (0.0, 1.0, 0.0), body="arm", at=(0.5, 0.0, 0.0), pulses=((0.32, 0.5),))
        results = femb.inverse(swept(thruster), duration=2.0, output_interval=0.05)
        on = (results.time > 0.32) & (results.time < 0.82)
        np.testing.assert_array_equal(results.thrusters["t"].level, on)
        acceleration = np.array([SWEEP.derivatives(t)[2] for t in results.time])
        np.testing.assert_allclose(forces(results, "drive")[:, 0], 0.28 * acceleration - on, atol=1e-12)

    @pytest.mark.slow
    def test_a_spring_snaps_on_the_way(self):
        d = math.radians(1.0)
        snaps = [
            femb.Snap(at=3 * d, back=0.2 * d, coordinates=(0.0, 3.14), forces=(0.08, 0.05)),
            femb.Snap(at=-3 * d, back=-0.2 * d, coordinates=(-3.14, 0.0), forces=(-0.05, -0.08)),
        ]
        tape = femb.JointCurve(
            "tape", joint="root", coordinates=(-3 * d, 0.0, 3 * d), forces=(-0.3, 0.0, 0.3), interpolation="linear",
            snaps=snaps,
        )  # fmt: skip
        results = femb.inverse(swept(tape), duration=2.0, output_interval=0.1)
        angle, curve = results.joints["root"].coordinates[:, 0], results.springs["tape"].snapped
        np.testing.assert_array_equal(curve[angle > 3 * d], 1.0)
        np.testing.assert_array_equal(curve[angle < -3 * d], 2.0)
        assert [event.name for event in results.events] == ["springs.tape"] * 2
        np.testing.assert_allclose([event.time for event in results.events], [crossed(0.2 * d), crossed(-3 * d)])

    @pytest.mark.slow
    @pytest.mark.parametrize("period", [None, 0.1])
    def test_controllers(self, period):
        motor = femb.JointMotor("motor", joint="root", force=0.0)
        angle = "joints.root.angle"
        law = femb.PDController(
            "pd", input=angle, rate=f"{angle} rate", proportional=0.5, derivative=0.1, outputs=("loads.motor.force",),
            period=period,
        )  # fmt: skip
        results = femb.inverse(swept(motor, law), duration=2.0, output_interval=0.125)
        t = results.time
        read = t if period is None else np.floor((t - 1e-9) / period) * period
        at, then = (np.array([SWEEP.derivatives(max(x, 0.0))[:3] for x in each]).T for each in (t, read))
        wanted = 0.28 * at[2] + 0.5 * then[0] + 0.1 * then[1]
        np.testing.assert_allclose(forces(results, "drive")[1:, 0], wanted[1:], atol=1e-12)

    @pytest.mark.slow
    def test_steps_of_a_motor(self):
        stepper = femb.StepperMotor(
            name="stepper", joint="root", motion=SWEEP, teeth=20, holding_torque=0.5, step=0.05, step_rate=20.0
        )
        runs = [f(swept(stepper), duration=1.0, output_interval=0.125) for f in (femb.simulate, femb.inverse)]
        np.testing.assert_allclose(forces(runs[1], "drive"), forces(runs[0], "drive"), atol=1e-10)


def crossed(angle):
    """The time (s) at which the sweep passes through an angle (rad)."""
    low, high = 0.0, 1.8
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if SWEEP(middle) > angle else (low, middle)
    return low


class TestRefused:
    def test_what_is_left_open_is_named(self):
        model = moving()
        del model.tables["drivers"]["b"]
        model.add(femb.RigidBody("ship", 1.0, 1.0))
        with pytest.raises(
            femb.ModelError,
            match=r"leave 7 degrees of freedom: drive also 'second_angle' of joints.pin, "
            r"the position or orientation of 'ship'; or integrate",
        ):
            check_prescribed(System(model))

    def test_nothing_is_driven(self):
        model = of_parts(femb.RigidBody("ship", 1.0, 1.0))
        refuses(
            r"leave 6 degrees of freedom: drive also the position or orient.* 'ship'", femb.inverse, model, duration=1.0
        )

    def test_suggested_coordinates_are_independent(self):
        """Of the four angles of a four-bar one is enough."""
        with pytest.raises(femb.ModelError, match=r"leave 1 degree of freedom: drive also '\w+' of joints\.\w+; or"):
            femb.inverse(four_bar(), duration=1.0)

    def test_beams(self):
        section = femb.Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9)
        hub = femb.RigidBody("hub", 1.0, 1.0)
        model = of_parts(hub, femb.Beam("boom", section, 1.0, 1, start=hub.at(direction=(1.0, 0.0, 0.0))))
        refuses(r"beams\.boom: bends: no joint or driver prescribes how", femb.inverse, model, duration=1.0)

    def test_run_and_options(self):
        refuses("give one of the two", femb.inverse, moving(), femb.Run(1.0), duration=1.0)


@cache
def robot_arm():
    """The case and its results, once for all tests: each has an object of the class of its own."""
    case = femb.load_case(TestRobotArm.CASE)
    return case, femb.inverse(case.model, case.run)


class TestRobotArm:
    """cases/robot_arm_inverse.toml, and the numbers of its page."""

    CASE = CASES / "robot_arm_inverse.toml"

    @property
    def case(self):
        return robot_arm()[0]

    @property
    def results(self):
        return robot_arm()[1]

    def newton_euler(self, t):
        """Torques of the six motors by the recursive Newton-Euler method, outwards and inwards along the chain.

        Every link's quantities are in its own axes; it knows nothing of constraints.
        """
        model = self.case.model
        joints = list(model.tables["joints"].values())
        motions = [model.tables["drivers"][joint.name].motion.derivatives(t) for joint in joints]
        omega, alpha, acceleration = np.zeros(3), np.zeros(3), -model.gravity
        links = []
        for joint, (angle, rate, second) in zip(joints, motions, strict=True):
            at, axis, body = joint.first.at, np.asarray(joint.first.axis), model.bodies[joint.second.body]
            acceleration = acceleration + np.cross(alpha, at) + np.cross(omega, np.cross(omega, at))
            K = np.cross(np.eye(3), axis)
            back = np.eye(3) - np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K  # into the axes of the link
            alpha = back @ alpha + axis * second + np.cross(back @ omega, axis * rate)
            omega = back @ omega + axis * rate
            acceleration = back @ acceleration
            c = body.center_of_mass
            force = body.mass * (acceleration + np.cross(alpha, c) + np.cross(omega, np.cross(omega, c)))
            moment = body.inertia @ alpha + np.cross(omega, body.inertia @ omega) + np.cross(c, force)
            links.append((back, at, axis, force, moment))
        torques, force, moment = [], np.zeros(3), np.zeros(3)
        for k in reversed(range(len(links))):
            back, at, axis, own, own_moment = links[k]
            force, moment = own + force, own_moment + moment
            torques.append(moment @ axis)
            force, moment = back.T @ force, back.T @ moment  # into the axes of the link before, about its own joint
            moment = moment + np.cross(at, force)
        return torques[::-1]

    @pytest.mark.slow
    def test_against_newton_euler(self):
        found = forces(self.results, *self.results.drivers)
        wanted = [self.newton_euler(t) for t in self.results.time]
        np.testing.assert_allclose(found, wanted, atol=1e-10)

    def test_numbers_of_the_page(self):
        motors = forces(self.results, *self.results.drivers)
        np.testing.assert_allclose(motors[0], [0.0, -36.42, -66.24, 0.97, -14.72, 1.18], atol=0.005)
        np.testing.assert_allclose(motors[-1], [0.0, -154.98, -47.31, 1.92, -7.25, -2.24], atol=0.005)
        largest = motors[np.argmax(np.abs(motors), axis=0), range(6)]
        np.testing.assert_allclose(largest, [-74.14, -199.71, -69.06, 5.32, -14.72, -2.39], atol=0.005)
        audit = self.results.audit
        assert audit.work[-1] == pytest.approx(-156.44, abs=0.005)
        assert np.abs(audit.energy_error).max() < 2e-7

    def test_integrated_in_time_it_takes_the_same(self):
        """The same drivers in a run: a system without freedom, whose error is that of the constraints alone."""
        run = femb.simulate(self.case.model, self.case.run)
        np.testing.assert_allclose(
            forces(run, *run.drivers), forces(self.results, *self.results.drivers), rtol=0.0, atol=1e-9
        )

    @pytest.mark.slow
    def test_on_the_command_line(self, tmp_path):
        result = said("inverse", self.CASE, "--set", "run.duration=0.05", "--out", tmp_path)
        assert "status                complete" in result
        results = femb.Results.read(tmp_path / "results.h5")
        assert results.method == "inverse"
        np.testing.assert_array_equal(results.drivers["elbow"].force, self.results.drivers["elbow"].force[:6])

    def test_what_is_left_open_has_a_line_on_the_command_line(self, tmp_path):
        text = self.CASE.read_text()
        start, end = text.index("[drivers.elbow]"), text.index("[drivers.roll]")
        file = tmp_path / "arm.toml"
        file.write_text(text[:start] + text[end:])
        result = said("inverse", file, "--out", tmp_path, code=2)
        assert re.search(r"arm\.toml:\d+: drivers: joints and drivers leave 1 degree of freedom: ", result)
        assert "'angle' of joints.elbow" in result


@pytest.mark.parametrize("analysis", [femb.simulate, femb.inverse])
@pytest.mark.parametrize("duration", [10.0, 11.0])
def test_the_last_output_has_the_forces_before_a_break_there(analysis, duration):
    """A spline from (0, 0) and (5, 0) to (10, 1) m accelerates 1 kg by -0.18 m/s2 at its end; beyond it rests."""
    body = femb.RigidBody("b", mass=1.0, inertia=1.0)
    slide = femb.Prismatic("p", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("b", axis=(1, 0, 0)))
    motion = femb.profiles.Spline(times=(0.0, 5.0, 10.0), values=(0.0, 0.0, 1.0))
    model = of_parts(body, slide, femb.JointDriver("d", joint="p", motion=motion))
    results = analysis(model, duration=duration, output_interval=1.0)
    assert results.time[-1] == duration
    k = list(results.time).index(10.0)
    np.testing.assert_allclose(results.drivers["d"].force[k].item(), -0.18 if duration == 10.0 else 0.0, atol=1e-9)
    np.testing.assert_allclose(results.drivers["d"].force[9].item(), -0.12, atol=1e-9)


@pytest.mark.parametrize("method", ["rk", "radau", "bdf", "generalized-alpha"])
def test_the_last_output_has_a_load_that_ends_with_the_run(method):
    model = femb.Model("step")
    model.add(femb.RigidBody("b", mass=2.0, inertia=1.0))
    model.add(femb.Load("f", body="b", force=(1.0, 0, 0), profile=femb.profiles.Step(duration=10.0)))
    results = femb.simulate(model, duration=10.0, output_interval=5.0, method=method)
    np.testing.assert_allclose(results.bodies["b"].acceleration[:, 0], 0.5, rtol=1e-12)
