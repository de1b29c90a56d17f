"""Periodic motions and their Floquet multipliers, against closed forms and Mathieu's equation."""

import numpy as np
import pytest
from models import of_parts, refuses, steps_to, stiff

import femb
from femb import Run
from femb.linear import linearize, periodic
from femb.linear.report import periodic_motion
from femb.profiles import Sine
from femb.steppers import make_stepper
from femb.system.system import System


def slide(frequency, damping=1.5):
    """A mass on a sprung slide, shaken by a motor."""
    return of_parts(
        femb.RigidBody("mass", mass=2.0, inertia=1.0),
        femb.Prismatic(
            "rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("mass", axis=(1, 0, 0)), start=(0.1,)
        ),
        femb.JointSpringDamper("spring", joint="rail", stiffness=50.0, damping=damping),
        femb.JointMotor("shaker", joint="rail", force=3.0, profile=lambda t: np.cos(frequency * t)),
    )


@pytest.mark.slow
def test_forced_vibration():
    """The steady response of a linear oscillator, and multipliers exp(lambda T)."""
    frequency = 4.0
    period = 2.0 * np.pi / frequency
    model = slide(frequency)
    found = periodic(model, period, intervals=60)
    response = 3.0 / (50.0 - 2.0 * frequency**2 + 1.5j * frequency)
    system = found.point.system
    stroke, rate = system.joint_motion(found.point.q, found.point.v)
    np.testing.assert_allclose([stroke[0], rate[0]], [response.real, (1j * frequency * response).real], atol=1e-9)
    wanted = np.exp(period * np.roots([2.0, 1.5, 50.0]))
    np.testing.assert_allclose(np.sort_complex(found.multipliers), np.sort_complex(wanted), rtol=1e-9)
    assert found.states == ("joints.rail.stroke", "joints.rail.stroke rate")
    assert found.error < 1e-9


def swing(amplitude, frequency, length=0.5):
    """A pendulum whose pivot is shaken up and down."""
    model = femb.Model("swing", gravity=(0, 0, -9.81))
    model.add(femb.RigidBody("pivot", mass=1.0, inertia=1.0))
    model.add(femb.RigidBody("bob", mass=1.0, inertia=0.01))
    model.add(femb.Prismatic("lift", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("pivot", axis=(0, 0, 1))))
    second = femb.JointEnd("bob", at=(0, 0, length), axis=(0, 1, 0))
    model.add(femb.Revolute("pin", femb.JointEnd("pivot", axis=(0, 1, 0)), second))

    def motion(t):
        c, s = np.cos(frequency * t), np.sin(frequency * t)
        return amplitude * s, amplitude * frequency * c, -amplitude * frequency**2 * s

    model.add(femb.JointDriver("shaker", joint="lift", motion=motion))
    return model


@pytest.mark.slow
@pytest.mark.parametrize(("amplitude", "stable"), [(0.005, True), (0.06, False)])
def test_mathieu(amplitude, stable):
    """Hanging straight is periodic; its multipliers are those of Mathieu's equation, integrated by scipy."""
    from scipy.integrate import solve_ivp

    frequency, length = 8.5, 0.5
    period = 2.0 * np.pi / frequency
    inertia = 0.01 + length**2

    def rate(t, x):
        gravity = 9.81 - amplitude * frequency**2 * np.sin(frequency * t)
        return [x[1], -length * gravity / inertia * x[0]]

    Phi = np.array([solve_ivp(rate, (0, period), e, rtol=1e-12, atol=1e-13).y[:, -1] for e in np.eye(2)]).T
    found = periodic(swing(amplitude, frequency), period)
    np.testing.assert_allclose(found.monodromy, Phi, atol=1e-8)
    wanted = np.sort_complex(np.linalg.eigvals(Phi))
    np.testing.assert_allclose(np.sort_complex(found.multipliers), wanted, atol=1e-7)
    assert (np.abs(found.multipliers[0]) < 1.0 + 1e-6) == stable


def test_the_order_of_the_collocation():
    """Twice the intervals, a 64th of the error of the monodromy."""
    frequency = 8.5
    errors = []
    fine = periodic(swing(0.06, frequency), 2.0 * np.pi / frequency, intervals=24).monodromy
    for intervals in (4, 8):
        coarse = periodic(swing(0.06, frequency), 2.0 * np.pi / frequency, intervals=intervals).monodromy
        errors.append(np.abs(coarse - fine).max())
    assert 40.0 < errors[0] / errors[1] < 90.0


@pytest.mark.slow
def test_free_libration_is_found_from_its_period():
    """A pendulum swings freely: of all its swings the one that takes this time. One multiplier is 1, twice."""
    from scipy.special import ellipk

    amplitude, length = 1.0, 0.5
    inertia = 0.01 + length**2
    small = np.sqrt(9.81 * length / inertia)
    period = 4.0 * ellipk(np.sin(0.5 * amplitude) ** 2) / small
    model = femb.Model("pendulum", gravity=(0, 0, -9.81))
    model.add(femb.RigidBody("bob", mass=1.0, inertia=0.01))
    ends = femb.JointEnd("ground", axis=(0, 1, 0)), femb.JointEnd("bob", at=(0, 0, length), axis=(0, 1, 0))
    model.add(femb.Revolute("pin", *ends, start=(0.9,)))
    found = periodic(model, period, vary=("joints.pin.angle",))
    angle = found.point.system.joint_motion(found.point.q, found.point.v)[0][0]
    np.testing.assert_allclose(angle, amplitude, rtol=1e-7)
    np.testing.assert_allclose(np.linalg.det(found.monodromy), 1.0, rtol=1e-8)
    np.testing.assert_allclose(found.multipliers, 1.0, atol=1e-3)  # a double eigenvalue


def test_free_body_in_own_axes():
    """A body that turns about a principal axis comes back after a turn; multipliers are those of its constant A."""
    model = of_parts(femb.RigidBody("top", mass=1.0, inertia=(1.0, 1.4, 2.0), angular_velocity=(0, 0, 2.0)))
    found = periodic(model, np.pi)
    A = linearize(System(model)).A
    wanted = np.exp(np.pi * np.linalg.eigvals(A))
    nutation = 2.0 * np.sqrt((2.0 - 1.0) * (2.0 - 1.4) / (1.0 * 1.4))
    assert np.min(np.abs(found.multipliers - np.exp(1j * np.pi * nutation))) < 1e-9
    assert np.min(np.abs(wanted - np.exp(1j * np.pi * nutation))) < 1e-12
    motion, text = periodic_motion(model, np.pi)
    head, _, _, *rows = text.splitlines()
    assert head == f"{len(motion.states)} states; periodic motion of 3.14159 s; no small motion grows"
    table = np.array([row.split() for row in rows], dtype=float)
    upper = motion.multipliers[motion.multipliers.imag >= 0.0]
    np.testing.assert_allclose(table[:, 0] * np.exp(1j * np.pi * table[:, 2]), upper, atol=1e-4)
    assert np.min(np.abs(table[:, 2] - (2.0 - nutation))) < 1e-5  # of multipliers in the upper half of the plane


def boom_on_an_axle(rate, stiffness=1e6):
    """A stiff boom that a driver turns about a horizontal axle, under gravity."""
    section = stiff(stiffness, 8.0, (40.0, 60.0), 0.3, (3e-4, 1e-4, 2e-4), "rod")
    return of_parts(
        femb.RigidBody("hub", mass=20.0, inertia=0.5),
        femb.Revolute("axle", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("hub", axis=(0, 0, 1))),
        femb.JointDriver("motor", joint="axle", motion=lambda t: (rate * t, rate, 0.0)),
        femb.Beam("boom", section, 1.0, 1, start=femb.Attachment("hub", direction=(1, 0, 0))),
        gravity=(0.0, -9.81, 0.0),
    )


@pytest.mark.slow
def test_a_stiff_rotor_by_equal_implicit_steps():
    """Its weight bends a boom as a vibration forced with the rate does; it comes back by explicit steps too."""
    rate = 4.0
    period = 2.0 * np.pi / rate
    found = periodic(boom_on_an_axle(rate, stiffness=1e5), period, intervals=40)
    assert (found.method, found.intervals) == ("radau", 40)
    assert found.error < 1e-9
    np.testing.assert_allclose(np.abs(found.multipliers), 1.0, atol=1e-5)
    stepper = make_stepper(found.point.system.starting_at(found.point.q, found.point.v), Run(period, method="rk"))
    steps_to(stepper, period)
    tip = slice(7, 10)
    np.testing.assert_allclose(stepper.q[tip], found.point.q[tip], atol=1e-6)


def test_what_is_refused():
    refuses("got the period -1, must be greater than 0", periodic, slide(4.0), -1)
    refuses(r"no state 'height'; there are: joints\.rail\.stroke", periodic, slide(4.0), 1.0, vary=("height",))
    model = femb.Model("pushed")
    model.add(femb.RigidBody("b", mass=1.0, inertia=1.0))
    model.add(femb.Load("push", body="b", force=(1.0, 0, 0), profile=Sine(frequency=1.0, mean=1.0)))
    with pytest.raises(femb.SolveError, match=r"no motion of period 1 s found near the start: .* is still off by"):
        periodic(model, 1.0, intervals=4)


def shaken(**words):
    """A mass on a spring with damper on a rail, shaken at the speed of its wheel."""
    rail = femb.Prismatic("rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("a", axis=(1, 0, 0)))
    rotor = {"mass": 1.0, "spin_inertia": 0.02, "transverse_inertia": 0.02, "speed": 50.0}
    return of_parts(
        femb.RigidBody("a", mass=2.0, inertia=1.0),
        rail,
        femb.JointSpringDamper("s", "rail", stiffness=800.0, damping=4.0),
        femb.JointMotor("shaker", "rail", force=3.0, profile=lambda t: np.cos(50.0 * t)),
        femb.ReactionWheel("w", "a", axis=(0, 0, 1), **rotor, **words),
    )


@pytest.mark.slow
def test_a_wheel_with_imbalance_turns_at_a_known_rate():
    """Multipliers of the balanced wheel, exp(-c T/2m) in size and 1 of its speed; the amplitude by the imbalance."""
    T, imbalance = 2.0 * np.pi / 50.0, 1e-4
    found, without = (femb.periodic(shaken(**words), T) for words in ({"static_imbalance": imbalance}, {}))
    assert found.states == without.states
    sizes = [1.0, *2 * [np.exp(-4.0 * T / 6.0)]]
    np.testing.assert_allclose(np.abs(without.multipliers), sizes, rtol=1e-8)
    np.testing.assert_allclose(np.abs(found.multipliers), sizes, rtol=1e-6)
    # the force s Omega^2 beside that of the shaker, by the direction of the imbalance at the start
    gain = 1.0 / (800.0 - 3.0 * 50.0**2 + 4.0 * 50.0j)
    parts = [
        each.point.q[each.point.system.layout.frame_q[each.point.system.layout.bodies["a"]]]
        for each in (found, without)
    ]
    np.testing.assert_allclose(parts[1], (3.0 * gain).real, rtol=1e-6)
    change = parts[0] - parts[1]
    assert min(abs(abs(change) / (imbalance * 2500.0) - abs(x)) for x in (gain.real, gain.imag)) < 1e-3 * abs(gain)
    with pytest.raises(femb.SolveError, match=r"the disturbances of wheels.w have another period: it turns 1\.2999"):
        femb.periodic(shaken(static_imbalance=imbalance), 1.3 * T)
