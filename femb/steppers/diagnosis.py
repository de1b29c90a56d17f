"""Diagnosis: why a stepper makes no progress, and the item at fault.

A user's function that returns different values for the same arguments, or jumps with the state, cannot be integrated
with any step. The local error tells which component of the motion limits the step.
"""

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.base.values import shown
from femb.formulations.contract import Formulation
from femb.layout.element import InputError, TrialError
from femb.steppers.contract import ABOVE_TOLERANCE, StepperState
from femb.system.constraints import mass_factors
from femb.system.definiteness import ADVICE, Definiteness
from femb.system.system import System

# Evaluations of an input with the same arguments.
EVALUATIONS = 4
# Intervals of time (fractions of the run), positions and velocities (fractions of their size, or of one) over which an
# input is compared, and the least ratio of its changes over the last and the first interval that is a jump.
INTERVALS, JUMP_RATIO = (1e-6, 1e-8, 1e-10), 0.5
# Smallest jump, as a fraction of the input.
SMALLEST_JUMP = 1e-6
# A part of the least eigenvalue of a mass matrix: below it steps fail already.
LOST = 1e-3
# Power iterations for the largest natural frequency.
POWER_ITERATIONS = 60


def step_failure(stepper: StepperState, h: float, why: str | Exception) -> SolveError:
    """The error of a stepper that cannot continue, with the item at fault if it is identified."""
    at = f"the integration stopped at t = {stepper.t:.6g} s: "
    if isinstance(why, InputError):
        return SolveError(f"{at}{why}")
    reason = cause(stepper) or (
        "A load or a control that jumps without declared breakpoints, an element turned too far, or a tolerance below "
        "the rounding of the forces are the usual causes; try more elements, a larger rtol, or look at the last state."
    )
    worst = limiting_component(stepper) if why == ABOVE_TOLERANCE else ""
    component = f" of {worst}" if worst else ""
    return SolveError(f"{at}the step had to be cut to {h:.2g} s ({why}{component}). {reason}")


def cause(stepper: StepperState) -> str:
    """A sentence on what no step can follow at the present state of a stepper; empty if nothing is found."""
    return misbehaving_input(stepper) or lost_inertia(stepper)


def misbehaving_input(stepper: StepperState) -> str:
    """A sentence on an input that is no smooth function at the present state of a stepper; empty if there is none."""
    form = stepper.form
    system = form.system
    q, v = (states[0] for states in form.to_system(stepper.q[None].copy(), stepper.v[None].copy()))
    try:
        values = [system.inputs_at(stepper.t, q, v) for _ in range(EVALUATIONS)]
        for source, part in system.parts_of_inputs:
            different = [value[part] for value in values if not np.array_equal(value[part], values[0][part])]
            if different:
                return (
                    f"{source.label} is not a function of its arguments: asked again at t = {stepper.t:.6g} s and in "
                    f"the same state it gave {shown(different[0])} after {shown(values[0][part])}. A load that changes "
                    "by itself, or jumps without declared breakpoints, cannot be followed: let it depend on t and "
                    "state alone, random numbers being drawn before the run and interpolated."
                )
        return _jump(system, stepper, q, v)
    except TrialError:
        return ""


def _jump(system: System, stepper: StepperState, q: Floats, v: Floats) -> str:
    t, n_v = stepper.t, system.n_v
    size = 1.0 + float(np.max(np.abs(v)))
    rate = system.rates(q[None], np.full((1, n_v), size))[0]

    def sides(fraction: float, in_time: bool) -> tuple[Floats, Floats]:
        if in_time:
            shift = fraction * float(stepper.run.duration)
            return system.inputs_at(t - shift, q, v), system.inputs_at(t + shift, q, v)
        low, high = (system.inputs_at(t, q + k * fraction * rate, v + k * fraction * size) for k in (-1.0, 1.0))
        return low, high

    for in_time in (True, False):
        values = [sides(fraction, in_time) for fraction in INTERVALS]
        for source, part in system.parts_of_inputs:
            if source.differentiated:
                part = slice(part.start, part.start + 1)
            changes = [float(np.max(np.abs(b[part] - a[part]), initial=0.0)) for a, b in values]
            low, high = values[-1][0][part], values[-1][1][part]
            smallest = SMALLEST_JUMP * float(np.max(np.abs([low, high])))
            if changes[-1] > smallest and changes[-1] > JUMP_RATIO * changes[0]:
                what = f"from {shown(low)} to {shown(high)}"
                if in_time:
                    return (
                        f"{source.label} jumps at t = {t:.6g} s {what} without declared breakpoints: take a profile "
                        "that declares them, or give the function an attribute breakpoints"
                    )
                return (
                    f"{source.label} jumps with the state {what}, and what it does then brings the state back: it "
                    "chatters, and has no motion that a step could follow, just as a load that jumps without declared "
                    "breakpoints. Let it change over a range that the motion passes in a finite time (tanh in the "
                    "place of a sign), or switch it at an event (latches)."
                )
    return ""


def lost_inertia(stepper: StepperState) -> str:
    """A sentence on an element whose mass matrix is no longer positive definite, or hardly; empty if there is none."""
    form = stepper.form
    q = form.to_system(stepper.q[None].copy(), stepper.v[None].copy())[0][0]
    try:
        item = Definiteness(form.system).lost(q, LOST)
    except TrialError:
        return ""
    return f"{item!r} {ADVICE}." if item else ""


def limiting_component(stepper: StepperState) -> str:
    """The velocity with the largest local error in the last step tried, such as 'hub: velocity x'; empty if unknown."""
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
    """Largest natural frequency (rad/s) of a model at the start of a run, zero if it cannot be computed.

    K is that of the iteration matrix, within the constraints.
    """
    return float(np.sqrt(_largest_ratio(form, 2)[0]))


def fastest_vibration(form: Formulation) -> tuple[float, str]:
    """The same with the velocity that has most of its energy, such as 'hub: velocity x'; zero and an empty text
    without."""
    ratio, shape = _largest_ratio(form, 2)
    if ratio == 0.0:
        return 0.0, ""
    system = form.system
    masses = system.matrices(system.inputs_at(0.0, system.q0, system.v0), system.q0, system.v0)[0]
    energy = shape * system.solver.multiply(masses, shape)
    return float(np.sqrt(ratio)), str(system.layout.velocity_labels()[int(np.argmax(energy[: system.n_v]))])


def largest_decay(form: Formulation) -> float:
    """Largest rate (1/s) at which dampers at the start of a run slow a motion, zero if it cannot be computed."""
    return _largest_ratio(form, 1)[0]


def _largest_ratio(form: Formulation, which: int) -> tuple[float, Floats]:
    """Largest eigenvalue, by size, of M^-1 A within the constraints at the start, by power iteration, and its vector;
    zero if it cannot be computed. A : the matrix of this number among those of Newton's iteration."""
    system = form.system
    try:
        u = system.inputs_at(0.0, system.q0, system.v0)
        matrix = system.matrices(u, system.q0, system.v0)[which]
        factors = mass_factors(system, u, system.q0)
    except SolveError:
        return 0.0, np.zeros(0)
    x = np.random.default_rng(0).standard_normal(system.n_v + system.n_c)
    size = 0.0
    for _ in range(POWER_ITERATIONS):
        x = system.solver.multiply(matrix, x / np.linalg.norm(x))
        x[system.n_v :] = 0.0
        factors.solve(x)
        x[system.n_v :] = 0.0
        size = float(np.linalg.norm(x))
        if not 0.0 < size < np.inf:
            return 0.0, x
    return size, x
