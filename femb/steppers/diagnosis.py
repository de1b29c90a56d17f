"""Diagnosis: why a stepper makes no progress, and the item at fault.

A user's function that returns different values for the same arguments, or jumps with the state, cannot be integrated
with any step. The local error tells which component of the motion limits the step.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats, Ints
from femb.base.values import shown
from femb.formulations.contract import Formulation
from femb.layout.element import InputError, TrialError
from femb.layout.evaluation import Evaluation
from femb.layout.state import State
from femb.numerics.kinematics import error_norm
from femb.numerics.newton import largest
from femb.steppers.contract import ABOVE_TOLERANCE, StepperState
from femb.system.block_lu import Factors, WithLowRank
from femb.system.constraints import mass_factors
from femb.system.degrees_of_freedom import EXACT, freedom
from femb.system.parts import not_finite
from femb.system.system import System

# Whether the mass matrices of elements stay positive definite.
#
# The mass matrix of a flexible body is that of a sum of squares if its file holds the array B2 and its coupling is
# "full", or if it is free and its coupling "constant". Else the terms that are left out may make it indefinite where an
# interface has hardly any inertia of its own. The motion of such an interface with its frequencies is then not
# determined: explicit methods and tight tolerances, which follow it, stop.

# The least eigenvalue of a mass matrix with a unit diagonal that counts as positive.
POSITIVE = 1e-9
ADVICE = (
    "is deformed so far that its mass matrix is not positive definite, which explicit methods and tight tolerances do "
    "not bear: take method = 'radau' with a larger rtol, coupling = 'full' with the array B2 in the file, which `femb "
    "reduce` writes for meshes and beams, the body in mean axes (`femb reduce BODY --mean-axes`), larger interfaces, "
    "or slower loads"
)


class Definiteness:
    """Watches the elements of a system whose mass matrix is positive definite at the start, but need not remain so."""

    def __init__(self, system: System) -> None:
        self.system = system
        watched = [
            batch
            for batch, masses in zip(system.batches, system.evaluation.masses, strict=True)
            if not all(term.definite for term in masses)
        ]
        kinds = [_masses(system.evaluation.of([batch]), system.q0) for batch in watched]
        self.watched = [each for each in kinds if each is not None]

    def lost(self, q: Floats, part: float = 0.0) -> str:
        """The item that begins an element whose least eigenvalue at q (n_q,) is below this part of that at the start.

        Empty if there is none.
        """
        for evaluation, scales, least in self.watched:
            for (indices, masses), scale, first in zip(evaluation.element_masses(q), scales, least, strict=True):
                below = np.flatnonzero(np.linalg.eigvalsh(masses / scale)[:, 0] < part * first)
                if len(below):
                    return self._label(indices[below[0]])
        return ""

    def _label(self, indices: Ints) -> str:
        return self.system.layout.velocity_labels()[int(indices[indices >= 0][0])].partition(":")[0]


def _masses(evaluation: Evaluation, q: Floats) -> tuple[Evaluation, list[Floats], list[Floats]] | None:
    """The evaluation, divisors of its masses to a unit diagonal, and their least eigenvalues; None if not positive."""
    scales, least = [], []
    for _, masses in evaluation.element_masses(q):
        sizes = np.sqrt(np.diagonal(masses, axis1=1, axis2=2))
        if not np.all(sizes > 0.0):
            return None
        scales.append(sizes[:, :, None] * sizes[:, None, :])
        least.append(np.linalg.eigvalsh(masses / scales[-1])[:, 0])
        if np.min(least[-1]) < POSITIVE:
            return None
    return evaluation, scales, least


# Evaluations of an input with the same arguments.
EVALUATIONS = 4
# Differences of repeated values up to this part of them are rounding, as with an iteration within the function.
SAME = 1e-8
# Values are asked for again after 1, 2, 4, 8 ... steps, and then after so many.
LONGEST = 64
# Intervals of time (fractions of the run), positions and velocities (fractions of their size, or of one) over which an
# input is compared, and the least ratio of its changes over the last and the first interval that is a jump.
INTERVALS, JUMP_RATIO = (1e-6, 1e-8, 1e-10), 0.5
# Smallest jump, as a fraction of the input.
SMALLEST_JUMP = 1e-6
# A part of the least eigenvalue of a mass matrix: below it steps fail already.
LOST = 1e-3
# Change of a state over which forces are compared, relative to its size.
SHIFT = 1e-6
# Product of a step and a rate of decay above which the step is at the limit of stability, and not of accuracy.
STIFF = 2.5
# Inertia of a body beside its mass on the arm of a joint: of reactions there no more than six digits are left.
TINY = 1e-10
# Change of velocities by the rounding of forces, relative to the tolerance, that governs the steps.
ROUNDED = 0.02
EPS = float(np.finfo(float).eps)
# Of the largest ratio without constraints: less is the rounding of forces that constraints hold.
HELD = 64.0 * EPS
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
    found = forces_not_finite, misbehaving_input, nearly_locked, lost_inertia, tiny_inertia, rounding_of_forces
    return next(filter(None, (of(stepper) for of in found)), "")


def forces_not_finite(stepper: StepperState) -> str:
    """A sentence on an item whose forces are not finite at the present state of a stepper, or just after it."""
    form = stepper.form
    system, none = form.system, np.zeros(form.system.n_v)
    q, v = (states[0] for states in form.to_system(stepper.q[None].copy(), stepper.v[None].copy()))
    states = [(q, v)]
    try:
        u = system.inputs_at(stepper.t, q, v)
        a = system.at(q).forward(u, q, v)[0]
        rate = system.rates(q[None], v[None])[0]
        size = SHIFT * (1.0 + float(np.max(np.abs(v), initial=0.0))) / (1.0 + float(np.max(np.abs(a), initial=0.0)))
        states.append((q + size * rate, v + size * a))
        for at in states:
            if text := not_finite(system, u, *at, none):
                return f"{text} at t = {stepper.t:.6g} s"
    except SolveError:
        return not_finite(system, system.inputs_at(stepper.t, q, v), q, v, none)
    return ""


def misbehaving_input(stepper: StepperState) -> str:
    """A sentence on an input that is no smooth function at the present state of a stepper; empty if there is none."""
    form = stepper.form
    system = form.system
    q, v = (states[0] for states in form.to_system(stepper.q[None].copy(), stepper.v[None].copy()))
    try:
        values = [system.inputs_at(stepper.t, q, v) for _ in range(EVALUATIONS)]
        for value in values[1:]:
            if text := different_input(system, stepper.t, values[0], value):
                return text
        return _jump(system, stepper, q, v)
    except TrialError:
        return ""


def different_input(system: System, t: float, first: Floats, again: Floats) -> str:
    """A sentence on an input that differs between two evaluations with the same arguments; empty without one."""
    if np.array_equal(first, again):
        return ""
    for source, part in system.inputs.parts:
        if not _same(first[part], again[part]):
            return _not_a_function(source.label, t, first[part], again[part])
    return ""


def _same(first: Floats | float, again: Floats | float) -> bool:
    values = np.stack([np.atleast_1d(first), np.atleast_1d(again)])
    return bool(np.max(np.abs(values[1] - values[0]), initial=0.0) <= SAME * np.max(np.abs(values), initial=0.0))


def _not_a_function(label: str, t: float, first: object, again: object) -> str:
    return (
        f"{label} is not a function of its arguments: asked again at t = {t:.6g} s and in the same state it gave "
        f"{shown(again)} after {shown(first)}. A function that draws random numbers, counts its calls or remembers "
        "earlier ones has no one motion that a step could follow: let it depend on t and state alone. Draw random "
        "numbers before the run and interpolate them; give a controller as a function of the state, without samples."
    )


class Asked(Protocol):
    """An event, as ``Repetition`` sees it."""

    @property
    def label(self) -> str:
        """Its name in messages."""

    def value(self, t: float, state: State, /) -> float:
        """The function at an instant."""


Events = Sequence[Asked]


class Repetition:
    """Asks the functions of users again, now and then, for what they gave before, at an instant some steps ago.

    A random function differs at once; one that remembers its calls, such as a controller that samples, differs after
    calls at other arguments. Both give another motion with every method and step.
    """

    def __init__(self) -> None:
        self._asked: tuple[Formulation, Events, float, Floats, Floats, Floats, list[float]] | None = None
        self._left, self._interval = 1, 1

    def check(self, form: Formulation, t: float, q: Floats, v: Floats, events: Events = ()) -> None:
        """Count a step of a formulation that has led to a state (n_q,), (n_v,) at the time t (s).

        Raises SolveError, which names the item, where a function has given another value for the same arguments.
        """
        self._left -= 1
        if self._left > 0 or not (events or any(not input_.of_discrete for input_ in form.system.inputs)):
            return
        first = self._asked is None
        self.finish()
        q, v = q.copy(), v.copy()
        self._asked = form, events, t, q, v, form.inputs_at(t, q, v), event_values(form, events, t, q, v)
        if first:
            self.finish()
        self._left, self._interval = self._interval, min(2 * self._interval, LONGEST)

    def finish(self) -> None:
        """Ask again for the last values that were noted; raises as ``check``."""
        if self._asked is None:
            return
        form, events, t, q, v, inputs, values = self._asked
        text = different_input(form.system, t, inputs, form.inputs_at(t, q, v))
        for event, first, again in zip(events, values, event_values(form, events, t, q, v), strict=True):
            if not text and not _same(first, again):
                text = _not_a_function(event.label, t, first, again)
        if text:
            raise SolveError(text)


def event_values(form: Formulation, events: Events, t: float, q: Floats, v: Floats) -> list[float]:
    """Values of events at a state of a formulation at the time t (s)."""
    if not events:
        return []
    state = form.state(t, q, v)
    return [event.value(t, state) for event in events]


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
        for source, part in system.inputs.parts:
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


def nearly_locked(stepper: StepperState) -> str:
    """A sentence on a loop that moves with rows left open, as its axes are misaligned; empty if there is none."""
    system = stepper.form.system
    q, v = (x[0] for x in stepper.form.to_system(stepper.q[None].copy(), stepper.v[None].copy()))
    if system.layout.has_loops and largest(system.position_residual(system.inputs_at(stepper.t, q, v), q, v)) > EXACT:
        return "; ".join(freedom(system, q).nearly)
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


def tiny_inertia(stepper: StepperState) -> str:
    """A sentence on a body whose inertia is rounding beside its mass on the arm of a joint; empty if there is none."""
    system = stepper.form.system
    layout, mass = system.layout, system.pattern.to_csc(system.mass_data(system.q0))
    for name, joint in layout.joints.items():
        for station in (joint.first, joint.second):
            frame, j = layout.frames[station.frame], layout.frame_v[station.frame]
            if frame.freedom != 6:
                continue
            own = mass[j : j + 6, j : j + 6].toarray()
            least, on_arm = np.linalg.eigvalsh(own[3:, 3:])[0], own[0, 0] * float(station.offset @ station.offset)
            if least < TINY * on_arm:
                return (
                    f"{frame.label!r} has an inertia of {least:.2g} kg m2, rounding beside that of its mass on the arm "
                    f"of {np.linalg.norm(station.offset):.3g} m to joint {name!r}, {on_arm:.3g} kg m2: give it the "
                    "inertia of its size (2/5 m r2 of a sphere), make it a point mass on a rod (kind = 'distance'), or "
                    "take formulation = 'reduced'"
                )
    return ""


def rounding_of_forces(stepper: StepperState) -> str:
    """A sentence on tolerances that are below what the rounding of forces leaves of a step; empty if they are not.

    Coordinates that differ in their last digits have forces that differ by these roundings. Steps beside which the
    response of velocities counts cannot become longer: an estimate of errors that are smaller does not fall with them.
    """
    form, run, error = stepper.form, stepper.run, stepper.error_v
    h = getattr(stepper, "h", 0.0)
    if not isinstance(form, System) or error is None or not h:
        return ""
    u, still, signs = form.inputs_at(stepper.t, stepper.q, stepper.v), np.zeros((1, form.n_v)), np.array([-1.0, 1.0])
    q = np.stack([stepper.q, stepper.q * (1.0 + EPS * np.random.default_rng(0).choice(signs, form.n_q))])
    forces = [form.residual(u[None], each[None], stepper.v[None], still)[0] for each in q]
    mass, damping, stiffness = form.matrices(u, stepper.q, stepper.v)
    jacobian = np.zeros(form.pattern.size)
    form.constraint_set.jacobian(u, stepper.q, jacobian)
    x = np.append(forces[1] - forces[0], np.zeros(form.n_c))
    form.solver.factorise(mass / h + damping + h * stiffness + jacobian).solve(x)
    size = float(error_norm(*form.error_scale(run.rtol, run.atol)[1], x[: form.n_v], stepper.v))
    if not size > ROUNDED:
        return ""
    return (
        f"The tolerances are below the rounding of the forces: this alone moves {_largest(form, stepper, x)} by "
        f"{size:.1g} of its tolerance in a step of {h:.1g} s, and an estimate of errors counts it several times; take "
        f"an rtol (and atol) that is ten times as large or more, rtol = {10.0 * run.rtol:.0e}"
    )


def limiting_component(stepper: StepperState) -> str:
    """The velocity with the largest local error in the last step tried, such as 'hub: velocity x'; empty if unknown."""
    form, error = stepper.form, stepper.error_v
    if error is None or not isinstance(form, System) or not np.all(np.isfinite(error)):
        return ""
    return _largest(form, stepper, error)


def _largest(form: System, stepper: StepperState, error: Floats) -> str:
    """The velocity with the largest error (n_v,) beside its tolerance."""
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
    """The highest frequency with the velocity that has most of its energy, such as 'hub: velocity x'; zero and an empty
    text without.
    """
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


def rates_of_functions(
    form: Formulation, t: float = 0.0, q: Floats | None = None, v: Floats | None = None
) -> tuple[float, float]:
    """Largest natural frequency (rad/s) and decay (1/s) of a model, with functions of users, at a state (n_q,), (n_v,)
    of the System at the time t (s), by default at the start of a run.

    Functions of the state need not give derivatives, so that the forces at neighbouring states are compared; zero, zero
    for models without such functions, and where they cannot be evaluated.
    """
    system = form.system
    if not any(input_.of_state for input_ in system.inputs):
        return 0.0, 0.0
    q, v = system.q0 if q is None else q, system.v0 if v is None else v
    still = np.zeros((1, system.n_v))
    by = SHIFT * (1.0 + float(np.max(np.abs(v), initial=0.0)))

    def force(q: Floats, v: Floats) -> Floats:
        result: Floats = system.residual(system.inputs_at(t, q, v)[None], q[None], v[None], still)[0]
        return result

    try:
        start, factors = force(q, v), mass_factors(system, system.inputs_at(t, q, v), q)

        def along(change: Callable[[Floats], Floats]) -> float:
            def multiplied(x: Floats) -> Floats:
                x[: system.n_v] = (change(by * x[: system.n_v]) - start) / by
                return x

            return _power_iteration(system, factors, multiplied)[0]

        stiffness = along(lambda x: force(system.retract(q, x), v))
        return float(np.sqrt(stiffness)), along(lambda x: force(q, v + x))
    except SolveError:
        return 0.0, 0.0


def stiff_control(stepper: StepperState, h: float) -> str:
    """A sentence on functions of users that decay faster than explicit steps of length h (s) pass; else empty."""
    form = stepper.form
    q, v = (states[0] for states in form.to_system(stepper.q[None].copy(), stepper.v[None].copy()))
    try:
        decay = rates_of_functions(form, stepper.t, q, v)[1]
    except (TrialError, InputError):
        return ""
    if decay * h <= STIFF:
        return ""
    return (
        f"at t = {stepper.t:.6g} s explicit steps are held up at {h:.2g} s by a control or damper of {decay:.3g}/s, "
        "whatever the tolerance: method = 'radau' passes over it"
    )


def held_by_vibration(stepper: StepperState, h: float, end: float) -> str:
    """A sentence on the vibration that keeps steps at the length h (s) up to the time ``end`` (s); empty if unknown.

    Its frequency is Rayleigh's quotient of the local error of velocities.
    """
    form, worst = stepper.form, limiting_component(stepper)
    if not worst or stepper.error_v is None:
        return ""
    system, q, v = form.system, stepper.q, stepper.v
    try:
        mass, _, stiffness = system.matrices(system.inputs_at(stepper.t, q, v), q, v)
    except (TrialError, InputError):
        return ""
    error = np.append(stepper.error_v, np.zeros(system.n_c))
    inertia, force = (float(error @ system.solver.multiply(each, error)) for each in (mass, stiffness))
    if not (inertia > 0.0 and force > 0.0):
        return ""
    method = stepper.run.method
    others = " or 'bdf'" if method == "generalized-alpha" else ""
    less = "a fixed step, a filter, " if others else ""
    return (
        f"at t = {stepper.t:.6g} s a vibration of {np.sqrt(force / inertia) / (2.0 * np.pi):.3g} Hz ({worst}) keeps "
        f"the steps of {method} at {h:.2g} s, of which {(end - stepper.t) / h:.2g} are left: method = 'radau'{others} "
        f"passes over it sooner; {less}a larger rtol, a smaller atol.time or damping do not follow it"
    )


def _largest_ratio(form: Formulation, which: int) -> tuple[float, Floats]:
    """Largest eigenvalue, by size, of M^-1 A within the constraints at the start, by power iteration, and its vector;
    zero if it cannot be computed. A : the matrix of this number among those of Newton's iteration."""
    system = form.system
    try:
        u = system.inputs_at(0.0, system.q0, system.v0)
        matrices = system.matrices(u, system.q0, system.v0)
        matrix = matrices[which]
        factors = mass_factors(system, u, system.q0)
    except SolveError:
        return 0.0, np.zeros(0)
    size, x = _power_iteration(system, factors, lambda x: system.solver.multiply(matrix, x))
    # what constraints hold, as springs of latched joints, leaves rounding
    parts = (each.matrix if isinstance(each, WithLowRank) else each for each in (matrices[0], matrix))
    mass, free = (np.abs(part[system.pattern.of_diagonal[: system.n_v]]) for part in parts)
    largest = np.max(free[mass > 0.0] / mass[mass > 0.0], initial=0.0)
    return (size if size > HELD * largest else 0.0), x


def _power_iteration(system: System, factors: Factors, multiplied: Callable[[Floats], Floats]) -> tuple[float, Floats]:
    """Largest eigenvalue, by size, of M^-1 A within the constraints, and its vector. multiplied : x to A x."""
    x = np.random.default_rng(0).standard_normal(system.n_v + system.n_c)
    x[system.n_v :] = 0.0
    size = 0.0
    for _ in range(POWER_ITERATIONS):
        x = multiplied(x / np.linalg.norm(x))
        x[system.n_v :] = 0.0
        factors.solve(x)
        x[system.n_v :] = 0.0
        size = float(np.linalg.norm(x))
        if not 0.0 < size < np.inf:
            return 0.0, x
    return size, x
