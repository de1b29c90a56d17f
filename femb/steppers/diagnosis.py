"""Diagnosis: why a stepper makes no progress, by the item that is at fault.

A function of the user that gives another value when it is asked again, or that jumps from one side of the state to the
other, cannot be followed by any step. Which component of the motion keeps the step short is told by the local error.
"""

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.base.values import shown
from femb.formulations.contract import Formulation
from femb.layout.element import InputError, TrialError
from femb.steppers.contract import ABOVE_TOLERANCE, StepperState
from femb.system.constraints import mass_factors
from femb.system.system import System

# Times that an input is asked again with the same arguments.
AGAIN = 4
# Changes of time (parts of the run), positions and velocities (parts of their size, or of one) over which an input is
# looked at, and the part of its change over the first that has to be left over the last for it to count as a jump.
NEARBY, LEFT = (1e-6, 1e-8, 1e-10), 0.5
# A jump is at least this part of the input.
NOTICED = 1e-6
# Iterations for the largest natural frequency.
POWERS = 60


def step_failure(stepper: StepperState, h: float, cause: str | Exception) -> SolveError:
    """The error of a stepper that cannot go on, with what is found to be at fault; to be raised from its cause."""
    at = f"the integration stopped at t = {stepper.t:.6g} s: "
    if isinstance(cause, InputError):
        return SolveError(f"{at}{cause}")
    found = misbehaving_input(stepper) or (
        "A load or a control that jumps without declared breakpoints, an element turned too far, or a tolerance below "
        "the rounding of the forces are the usual causes; try more elements, a larger rtol, or look at the last state."
    )
    worst = limiting_component(stepper) if cause == ABOVE_TOLERANCE else ""
    where = f" of {worst}" if worst else ""
    return SolveError(f"{at}the step had to be cut to {h:.2g} s ({cause}{where}). {found}")


def misbehaving_input(stepper: StepperState) -> str:
    """What is wrong with the inputs at the state where a stepper stands, in a sentence; empty if nothing is found."""
    form = stepper.form
    system = form.system
    q, v = (each[0] for each in form.to_system(stepper.q[None].copy(), stepper.v[None].copy()))
    try:
        values = [system.inputs_at(stepper.t, q, v) for _ in range(AGAIN)]
        for each, part in system.parts_of_inputs:
            different = [value[part] for value in values if not np.array_equal(value[part], values[0][part])]
            if different:
                return (
                    f"{each.label} is not a function of its arguments: asked again at t = {stepper.t:.6g} s and in the "
                    f"same state it gave {shown(different[0])} after {shown(values[0][part])}. A load that changes by "
                    "itself, or jumps without declared breakpoints, cannot be followed: let it depend on t and state "
                    "alone, random numbers being drawn before the run and interpolated."
                )
        return _jump(system, stepper, q, v)
    except TrialError:
        return ""


def _jump(system: System, stepper: StepperState, q: Floats, v: Floats) -> str:
    t, n_v = stepper.t, system.n_v
    size = 1.0 + float(np.max(np.abs(v)))
    rate = system.rates(q[None], np.full((1, n_v), size))[0]

    def sides(part: float, in_time: bool) -> tuple[Floats, Floats]:
        if in_time:
            shift = part * float(stepper.run.duration)
            return system.inputs_at(t - shift, q, v), system.inputs_at(t + shift, q, v)
        low, high = (system.inputs_at(t, q + k * part * rate, v + k * part * size) for k in (-1.0, 1.0))
        return low, high

    for in_time in (True, False):
        found = [sides(part, in_time) for part in NEARBY]
        for each, part in system.parts_of_inputs:
            width = slice(part.start, part.start + 1) if each.differentiated else part
            changes = [float(np.max(np.abs(b[width] - a[width]), initial=0.0)) for a, b in found]
            low, high = found[-1][0][width], found[-1][1][width]
            if changes[-1] > NOTICED * float(np.max(np.abs([low, high]))) and changes[-1] > LEFT * changes[0]:
                what = f"from {shown(low)} to {shown(high)}"
                if in_time:
                    return (
                        f"{each.label} jumps at t = {t:.6g} s {what} without declared breakpoints: take a profile that "
                        "declares them, or give the function an attribute breakpoints"
                    )
                return (
                    f"{each.label} jumps with the state {what}, and what it does then brings the state back: it "
                    "chatters, and has no motion that a step could follow, just as a load that jumps without declared "
                    "breakpoints. Let it change over a range that the motion passes in a finite time (tanh in the "
                    "place of a sign), or switch it at an event (latches)."
                )
    return ""


def limiting_component(stepper: StepperState) -> str:
    """What has the largest local error in the last step tried, such as 'hub: velocity x'; empty if it is not known."""
    form, error = stepper.form, stepper.error_v
    if error is None or not isinstance(form, System) or not np.all(np.isfinite(error)):
        return ""
    start, size, atol, rtol = form.error_scale(stepper.run.rtol, stepper.run.atol)[1]
    parts = [slice(i, i + n) for i, n in zip(start, np.abs(size), strict=True)]
    ratios = [
        np.linalg.norm(error[part]) / (a + rtol * np.linalg.norm(stepper.v[part]))
        for part, a in zip(parts, atol, strict=True)
    ]
    part = parts[int(np.argmax(ratios))]
    return str(form.layout.velocity_labels()[part.start + int(np.argmax(np.abs(error[part])))])


def largest_frequency(form: Formulation) -> float:
    """Largest natural frequency (rad/s) of a model at the start of a run, zero if it is not found.

    By power iteration on M^-1 K with the iteration tangent K, constraints held.
    """
    system = form.system
    try:
        u = system.inputs_at(0.0, system.q0, system.v0)
        stiffness = system.matrices(u, system.q0, system.v0)[2]
        factors = mass_factors(system, u, system.q0)
    except SolveError:
        return 0.0
    x = np.random.default_rng(0).standard_normal(system.n_v + system.n_c)
    size = 0.0
    for _ in range(POWERS):
        x = system.solver.multiply(stiffness, x / np.linalg.norm(x))
        x[system.n_v :] = 0.0
        factors.solve(x)
        x[system.n_v :] = 0.0
        size = float(np.linalg.norm(x))
        if not 0.0 < size < np.inf:
            return 0.0
    return float(np.sqrt(size))
