"""Linear models against simulations of the same model."""

import numpy as np
import pytest
from models import of_parts, slender

from femb import Attachment, Beam, JointEnd, JointSpringDamper, Load, Revolute, RigidBody, linearize, simulate

OUTPUT = "joints.hinge.angle"


class Sines:
    """A sum of sines at frequencies (Hz), each of amplitude 1, with spread phases."""

    def __init__(self, frequencies, amplitude):
        self.omega = 2.0 * np.pi * np.asarray(frequencies)
        self.phase = np.arange(len(self.omega)) ** 2 * 1.7
        self.amplitude = amplitude

    def __call__(self, t):
        return self.amplitude * float(np.sum(np.cos(self.omega * t + self.phase)))


def machine(profile):
    """A hub with a boom and a damped panel, and a torque on the hub."""
    section = slender(damping=0.02, inertia_per_length=[2e-3, 1e-3, 1e-3])
    model = of_parts(
        RigidBody("hub", mass=5.0, inertia=(1.0, 1.0, 1.0)),
        Beam("boom", section, length=1.0, elements=2, start=Attachment("hub", direction=(1.0, 0.0, 0.0))),
        RigidBody("panel", mass=0.5, inertia=(0.02, 0.03, 0.04), position=(1.4, 0.0, 0.0)),
    )
    inner = JointEnd(beam="boom", node=-1, axis=(0.0, 1.0, 0.0))
    model.add(Revolute("hinge", inner, JointEnd("panel", at=(-0.4, 0.0, 0.0), axis=(0.0, 1.0, 0.0))))
    model.add(JointSpringDamper("spring", "hinge", stiffness=2.0, damping=0.3))
    model.add(Load("wheel", body="hub", torque=(0.0, 1.0, 0.0), frame="body", profile=profile))
    return model


def pulse(t):
    return np.sin(np.pi * t) ** 2 if t < 1.0 else 0.0


pulse.breakpoints = (1.0,)


def linear_answer(space, times, profile):
    """The response of a state space to a profile, from rest."""
    from scipy.integrate import solve_ivp

    found = solve_ivp(
        lambda t, x: space.A @ x + space.B[:, 0] * profile(t), times[[0, -1]], np.zeros(len(space.A)), "Radau",
        times, rtol=1e-9, atol=1e-13, jac=space.A, max_step=0.05,
    )  # fmt: skip
    return space.C[0] @ found.y


@pytest.mark.slow
def test_a_small_pulse():
    """The difference between the linear model and the simulation, relative to the motion, falls with the pulse."""
    space = linearize(machine(pulse), inputs=["loads.wheel"], outputs=[OUTPUT])
    differences = []
    for size in (0.4, 0.1):
        run = simulate(machine(_scaled(size)), duration=3.0, output_interval=0.1, rtol=1e-9, atol=1e-12)
        found = run.joints["hinge"].coordinates[:, 0] / size
        wanted = linear_answer(space, run.time, pulse)
        differences.append(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))
    assert 3.0 < differences[0] / differences[1] < 20.0
    assert differences[1] < 2e-2


def _scaled(size):
    def profile(t):
        return size * pulse(t)

    profile.breakpoints = pulse.breakpoints
    return profile


@pytest.mark.slow
def test_transfer_function_at_twenty_frequencies():
    """One simulation with twenty sines, whose amplitudes are read once the start has died away."""
    base, settled = 0.05, 400.0
    numbers = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 19, 21, 23, 26, 29])
    size = 1e-6
    space = linearize(machine(pulse), inputs=["loads.wheel"], outputs=[OUTPUT])
    sines = Sines(base * numbers, size)
    period = 1.0 / base
    run = simulate(
        machine(sines), duration=settled + period, output_interval=period / 128, rtol=1e-7, atol=1e-14, max_steps=10**6
    )
    t = run.time[-129:-1]
    x = run.joints["hinge"].coordinates[-129:-1, 0] / size
    wanted = space.frequency_response(base * numbers).values[:, 0, 0]
    for k, number in enumerate(numbers):
        line = 2.0 / 128 * np.sum(x * np.exp(-1j * (2.0 * np.pi * base * number * t + sines.phase[k])))
        assert abs(line - wanted[k]) < 1e-4 * abs(wanted[k])
