"""Linear models, truncations, base shakes and loads of docs/validation.md: their differences from simulations, from
the full model and from closed forms.

Each function of a group computes one problem for a value of the group's parameter - the size of a pulse, the amplitude
of sines, the number of kept modes, of elements - and returns its differences by name.
``python docs/validation_problems.py [GROUP ...]`` prints the tables.
"""

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path as FilePath

import numpy as np
from scipy.linalg import expm

from femb import (
    Attachment,
    Beam,
    JointEnd,
    JointSpringDamper,
    Load,
    Model,
    Revolute,
    RigidBody,
    Section,
    StateSpace,
    linear_model,
    linearize,
    load_case,
    simulate,
)
from femb.handover import write_fmu
from femb.linear.modal_reduction import craig_bampton
from femb.linear.state_space import Truncation
from femb.profiles import Step

ROOT = FilePath(__file__).resolve().parent.parent
X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
Errors = dict[str, float]
Numbers = np.ndarray


# A hub with a boom and a panel on a damped hinge


class TimeFunction:
    """A function of time, with the instants at which it has corners."""

    def __init__(self, function: Callable[[float], float], breakpoints: tuple[float, ...] = ()) -> None:
        self.function = function
        self.breakpoints = breakpoints

    def __call__(self, t: float) -> float:
        return self.function(t)


def machine(profile: TimeFunction, offset: float) -> Model:
    """A torque about y on the hub; the panel's mass centre is 0.4 m beyond the hinge, and ``offset`` m below."""
    section = Section("tube", axial_stiffness=1e6, torsional_stiffness=1.0, bending_stiffness=(1.0, 4.0),
                      mass_per_length=1.0, inertia_per_length=(2e-3, 1e-3, 1e-3), damping=0.05)  # fmt: skip
    model = Model()
    model.add(RigidBody("hub", mass=5.0, inertia=(1.0, 1.0, 1.0)))
    model.add(Beam("boom", section, 1.0, 2, start=Attachment("hub", direction=X)))
    model.add(RigidBody("panel", mass=0.5, inertia=(0.02, 0.03, 0.04), position=(1.4, 0.0, -offset)))
    model.add(
        Revolute("hinge", JointEnd(beam="boom", node=-1, axis=Y), JointEnd("panel", at=(-0.4, 0, offset), axis=Y))
    )
    model.add(JointSpringDamper("spring", "hinge", stiffness=2.0, damping=1.0))
    model.add(Load("wheel", body="hub", torque=Y, frame="body", profile=profile))
    return model


OUTPUTS = ("joints.hinge.angle", "bodies.hub.angular_velocity.y")
OFFSET = 0.3  # m


@cache
def space(offset: float) -> StateSpace:
    """The linear model of the machine: torque to angle of the hinge and rate of the hub."""
    return linearize(machine(TimeFunction(lambda t: 0.0), offset), inputs=["loads.wheel"], outputs=list(OUTPUTS))


def simulated(profile: TimeFunction, offset: float, interval: float, size: float) -> Numbers:
    """The same outputs (T, 2) of a simulation of 3 s, by the size of the profile."""
    results = simulate(machine(profile, offset), duration=3.0, output_interval=interval, rtol=1e-8, atol=1e-11 * size)
    return np.stack([results.joints["hinge"].coordinates[:, 0], results.bodies["hub"].angular_velocity[:, 1]], 1) / size


def response(model: StateSpace, interval: float, count: int) -> Numbers:
    """Outputs (count, p) of a state space under the pulse sin(pi t)^2 of one second, exact at the instants.

    The pulse is the output of three more states, (1 - cos(2 pi t))/2.
    """
    n = len(model.A)
    A = np.zeros((n + 3, n + 3))
    A[:n, :n] = model.A
    A[:n, n], A[:n, n + 1] = 0.5 * model.B[:, 0], -0.5 * model.B[:, 0]
    A[n + 1, n + 2], A[n + 2, n + 1] = 2.0 * np.pi, -2.0 * np.pi
    step, x, rows = expm(interval * A), np.zeros(n + 3), []
    x[n] = x[n + 1] = 1.0
    for k in range(count):
        rows.append(model.C @ x[:n])
        if k == round(1.0 / interval):
            x[n:] = 0.0
        x = step @ x
    return np.array(rows)


def differences(found: Numbers, wanted: Numbers) -> Numbers:
    """(p,) largest differences of outputs (T, p), relative to the largest value."""
    return np.asarray(np.max(np.abs(found - wanted), axis=0) / np.max(np.abs(wanted), axis=0))


def pulse(size: float) -> Errors:
    """A pulse of the torque, size sin(pi t)^2 N m over 1 s: linear model against simulation, relative to the motion.

    With the panel in line with the boom, a pulse of the other sign gives the mirrored motion, and the difference is of
    second order in the size.
    """
    errors = {}
    for word, offset in (("below the boom", OFFSET), ("in line", 0.0)):
        profile = TimeFunction(lambda t: size * np.sin(np.pi * t) ** 2 if t < 1.0 else 0.0, (1.0,))
        found = simulated(profile, offset, 0.05, size)
        both = differences(found, response(space(offset), 0.05, len(found)))
        errors[f"hinge angle, panel {word}"], errors[f"hub rate, panel {word}"] = map(float, both)
    return errors


@cache
def fmu_response(interval: float) -> Numbers:
    """Outputs (T, 2) of the machine's FMU by FMPy under a unit torque over 0.5 s."""
    import fmpy

    time = interval * np.arange(round(3.0 / interval) + 1)
    names = [("time", float), ("loads.wheel.torque.factor", float)]
    table = np.array([(t, 1.0 if t < 0.5 - 1e-9 else 0.0) for t in time], dtype=names)
    with tempfile.TemporaryDirectory() as folder:
        path = write_fmu(space(OFFSET), FilePath(folder) / "machine.fmu")
        found = fmpy.simulate_fmu(str(path), stop_time=3.0, step_size=interval, output_interval=interval, input=table)
    return np.stack([found[name] for name in OUTPUTS], axis=1)


def fmu(size: float) -> Errors:
    """The FMU of the linear model, run by FMPy, against the simulation: a torque of ``size`` N m over 0.5 s."""
    step = Step(duration=0.5)
    found = simulated(TimeFunction(lambda t: size * step(t), step.breakpoints), OFFSET, 0.02, size)
    both = differences(fmu_response(0.02), found)
    return {f"FMU, {word}": float(value) for word, value in zip(("hinge angle", "hub rate"), both, strict=True)}


# Transfer function by simulations

BASE, SETTLED, POINTS = 0.05, 110.0, 128
NUMBERS = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 19, 21, 23, 26, 29])
"""Frequencies of the sines by BASE (Hz); what is read is one period of it after SETTLED (s), at POINTS instants."""


def simulated_transfer(amplitude: float) -> tuple[Numbers, Numbers, Numbers]:
    """Frequencies (20,) Hz, transfer function torque to hinge angle (20,) by simulation with a sum of sines, and that
    of the linear model."""
    frequencies = BASE * NUMBERS
    phase = 1.7 * np.arange(len(NUMBERS)) ** 2
    wheel = TimeFunction(lambda t: amplitude * float(np.sum(np.cos(2.0 * np.pi * frequencies * t + phase))))
    results = simulate(
        machine(wheel, OFFSET), duration=SETTLED + 1.0 / BASE, output_interval=1.0 / (BASE * POINTS), rtol=1e-7,
        atol=1e-9 * amplitude, max_steps=10**6,
    )  # fmt: skip
    t = results.time[-POINTS - 1 : -1]
    x = results.joints["hinge"].coordinates[-POINTS - 1 : -1, 0] / amplitude
    waves = np.exp(-1j * (2.0 * np.pi * np.outer(frequencies, t) + phase[:, None]))
    return frequencies, 2.0 / POINTS * waves @ x, space(OFFSET).frequency_response(frequencies).values[:, 0, 0]


def transfer(amplitude: float) -> Errors:
    """Largest and median relative difference of the transfer function at 20 frequencies, for sines of one amplitude."""
    _, found, wanted = simulated_transfer(amplitude)
    relative = np.abs(found / wanted - 1.0)
    return {"largest of 20 frequencies": float(np.max(relative)), "median": float(np.median(relative))}


# Truncations of the satellite with two arrays


@cache
def satellite() -> Model:
    """The satellite with two hinged arrays."""
    return load_case(ROOT / "cases" / "satellite_two_arrays.toml").model


def truncation(count: int, frequencies: Numbers) -> Truncation:
    """Hub torque to turn, Craig-Bampton with ``count`` modes of each array, against the full model."""
    model = linear_model(satellite(), inputs=["bodies.hub.torque"], outputs=["bodies.hub.turn"], hub="hub")
    found = craig_bampton(model, count, damping=0.005).state_space(frequencies).truncation
    assert found is not None
    return found


def truncated(count: int) -> Errors:
    """Error and bound at four frequencies, relative; the larger one of the three axes."""
    frequencies = (0.1, 0.3, 0.5, 1.0)
    found = truncation(count, np.array(frequencies))
    error, bound = (np.nanmax(values, axis=(1, 2)) for values in (found.error, found.relative_bound))
    return {
        f"{word} at {frequency} Hz": float(values[k])
        for k, frequency in enumerate(frequencies)
        for word, values in (("error", error), ("bound", bound))
    }


PULSE: tuple[Callable[[float], Errors], ...] = (pulse, fmu)
TRANSFER: tuple[Callable[[float], Errors], ...] = (transfer,)
TRUNCATION: tuple[Callable[[int], Errors], ...] = (truncated,)
