"""The stepper contract.

A stepper advances the state of a formulation (``femb.formulations.contract``) from one accepted step to the next. Its
constructor takes the formulation, as ``form``, and a Run; the type of ``form`` says what it needs, ``Formulation`` or
``ImplicitFormulation``. It must

1.  start at the formulation's q0, v0 with ``work`` zero, and take its tolerances from a Run;
2.  use the system through M, f, tangents and inputs at (t, q, v), never as y' = f(t, y) alone;
3.  on ``step(limit)`` make one accepted step that ends at or before ``limit``, and exactly at it if it reaches it;
4.  accept a step only if the local error, in the norm of ``error_scale``, is at most one (unless its steps are
    fixed), and if the equations were solved to a hundredth of that;
5.  scale quaternions to unit length after acceptance, never inside a step;
6.  evaluate inputs at the end of a step from the left: ``limit`` may be an instant where they jump;
7.  on ``restart()`` discard what it assumes of smoothness: the time loop calls it after such an instant; and on
    ``resume()``, after a change of the discrete state that leaves constraints as they are; that may be the same;
    and on ``jump(t, q, v, work)`` go back to an instant of its last step and restart with that state;
8.  integrate the power of loads and dampers along with the state, outside the error test;
9.  return a Step that interpolates the state inside it to about the order of the method, and the accelerations through
    instants at which its own equations hold (step ends, stages, or means of these), never through a start out of
    equilibrium: they balance the forces at output instants (docs/theory/integration.md, section 8);
10. pass the states of a step (start, stages in order of time, end) to ``check_singularities`` before accepting it;
11. satisfy the constraints on velocities inside a step, and project the state on all constraints after it; multipliers
    have no history and no part in the error test;
12. read ``form`` anew in each step: between steps the time loop replaces it by one in another discrete state;
13. with error control, end a step where a gap closes (``femb.steppers.variable_step``) and restart there; steps of
    fixed length may pass over it;
14. name in ``memory`` the attributes that determine its next steps, see ``femb.base.memory``, so that a run can be
    continued; without them a run with this stepper has no checkpoints;
15. make no step longer than ``longest_step``, which elements limit whose motion the tolerances do not see; steps of
    fixed length that are longer are refused;
16. count its operations in ``statistics``, and raise SolveError, naming time and cause, when it cannot continue.
"""

import math
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from femb.base.errors import SolveError
from femb.base.options import Run
from femb.base.types import Ability, Bools, Floats
from femb.formulations.contract import Formulation
from femb.layout.bound_updates import BoundUpdates
from femb.layout.element import InputError, TrialError
from femb.numerics.kinematics import turned_too_far

# Smallest step, in ulp of t.
SMALLEST_STEP = 16.0
# A fixed step reaches a limit that is farther by this part of it: more than the rounding of a sum of a million steps.
STRETCH = 1e-3
# Cause of a failure, unless an evaluation gives another.
ABOVE_TOLERANCE = "the error estimate stayed above the tolerance"


@dataclass
class Statistics:
    """Counts of a run; times in s."""

    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    jacobians: int = 0
    factorizations: int = 0
    newton_iterations: int = 0
    wall_time: float = 0.0
    cpu_time: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """Name to number."""
        return dict(vars(self))


@dataclass
class BookedStatistics(Statistics):
    """Counts of a run to an accuracy. damped : J, the energy that steps took from the motion, a part of the work."""

    damped: float = 0.0


class AcceptedStep(Protocol):
    """An accepted step from ``start`` to ``end`` (s)."""

    start: float
    end: float

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        """q (s, n_q) with unit quaternions, v (s, n_v) and work (s, n_w) at times (s,) inside the step."""

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times (s,) inside the step."""


class StepperState(Protocol):
    """The state of a stepper, read-only."""

    @property
    def form(self) -> Formulation:
        """The formulation that is integrated, in its present discrete state."""

    @property
    def run(self) -> Run:
        """The options of the run."""

    @property
    def statistics(self) -> Statistics:
        """Counts since the start."""

    @property
    def t(self) -> float:
        """Time at the end of the last accepted step, s."""

    @property
    def q(self) -> Floats:
        """Coordinates (n_q,) at ``t``, with unit quaternions."""

    @property
    def v(self) -> Floats:
        """Velocities (n_v,) at ``t``."""

    @property
    def work(self) -> Floats:
        """(n_w,) the integrals of ``Formulation.budget_rates`` since the start."""

    @property
    def error_v(self) -> Floats | None:
        """Local error of v (n_v,) in the last step tried; None before the first, and without error control."""


F = TypeVar("F", bound=Formulation)


@dataclass(frozen=True)
class PassedSteps:
    """Accepted steps that end at the times ``ends`` (s,), and output instants inside them.

    time (k,), q (k, n_q) with unit quaternions, v (k, n_v), work (k, n_w), accelerations a (k, n_v), start, end (k,)
    of the step of each instant, s. angles (k, m) : joint coordinates from which those of each instant are unwrapped,
    end_angles (m,) : those at the last end; None where q counts them. is_near : whether a singular configuration of a
    closed loop is near.
    """

    ends: Floats
    time: Floats
    q: Floats
    v: Floats
    work: Floats
    a: Floats
    start: Floats
    end: Floats
    angles: Floats | None
    end_angles: Floats | None
    is_near: bool

    def after(self, form: F, q: Floats) -> F:
        """The formulation after the steps, which end at q (n_q,)."""
        if self.end_angles is None:
            return form.at(q)
        return form.with_discrete(form.system.discrete.with_angles(self.end_angles))


class Stepper(StepperState, Protocol[F]):
    """A time integrator of a formulation of type F. See the docstring of this module."""

    form: F
    t: float

    def step(self, limit: float) -> AcceptedStep:
        """Make one accepted step that ends at ``limit`` (s) or before. Raises SolveError where none can be made."""

    def restart(self) -> None:
        """Begin a smooth interval at the present state, without history. Raises TrialError."""

    def resume(self) -> None:
        """Restart where only inputs have changed: a method may keep its step length, matrices and factors."""

    def jump(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Restart from an instant within the last step with another state. Raises TrialError."""


@runtime_checkable
class StepperOfMany(Protocol, metaclass=Ability):
    """A stepper that may make many steps in one call, between which nothing is asked of it."""

    def steps(self, limit: float, last: float, times: Floats, most: float, /) -> PassedSteps | None:
        """Make at most ``most`` accepted steps towards ``limit`` (s), with output at the next of ``times`` (k,).

        last : the last output time that counts as the limit. None where the next step has to be made by ``step``.
        """


StepOutput: TypeAlias = tuple[Formulation, AcceptedStep, Floats]
"""A step in a discrete state, and output times inside it."""


@dataclass(frozen=True)
class HeldSteps:
    """Accepted steps with updates of discrete states between them.

    ends (s + 1,) : the start of the first and the ends of all, s. output : of the steps with output times. samples
    (k, n) : the discrete states after updates of which some record their samples; updates (k, m) : which were carried
    out. due : whether updates are due at the last end.
    """

    ends: Floats
    output: list[StepOutput]
    samples: Floats
    updates: Bools
    due: bool


@runtime_checkable
class StepperOfHeld(Protocol, metaclass=Ability):
    """A stepper that may make many steps with held inputs, and the updates between them, in one call."""

    def held_steps(
        self, updates: BoundUpdates, end: float, same: float, times: Floats, most: float, /
    ) -> HeldSteps | None:
        """Make at most ``most`` accepted steps towards ``end`` (s), with output at the next of ``times`` (k,).

        same : s, instants that differ by less are one. None where the next step has to be made by ``step``.
        """


def left_limit(t: float, start: float) -> float:
    """The floating-point number next to t on the side of start: the time at which inputs have their left limit."""
    return math.nextafter(t, start)


def lands(length: float, remaining: float) -> bool:
    """Whether a fixed step goes all the way that remains, rather than leave a step within the rounding of times."""
    return length >= remaining * (1.0 - STRETCH)


def too_small(limit: float, h: float) -> bool:
    """Whether a step h towards ``limit`` is within the rounding of times there."""
    return h < SMALLEST_STEP * math.ulp(limit)


# Lengths of steps that elements limit are rounded down to powers of 2^(1/16): steps at nearly equal speeds are equal.
GRID = 16.0
# Part of the limits of elements, which are for methods of order 5 and higher, that other methods take.
OF_LOW_ORDER = 0.2


def turned_too_fast(form: Formulation, place: int) -> str:
    """The message about a frame, whose rates of rotation are at this place in v, that ``turned_too_far``."""
    frame = form.layout.velocity_labels()[place].partition(":")[0]
    return f"{frame!r} makes more than a quarter of a turn in it, where joints would lose turns"


def longest_step(stepper: StepperState, share: float) -> float:
    """The longest step (s) that the elements admit at the state of a stepper; infinity for any.

    share : the part of their limit that its method takes.
    """
    form = stepper.form
    q, v = form.to_system(stepper.q[None].copy(), stepper.v[None].copy())
    longest = share * form.system.longest_step(q[0], v[0])
    return 2.0 ** (math.floor(GRID * math.log2(longest)) / GRID) if math.isfinite(longest) else longest


def check_fixed_step(stepper: StepperState, h: float) -> None:
    """Refuse a step of fixed length h (s) that is longer than the elements and turns admit. Raises SolveError."""
    form, v = stepper.form, stepper.v[None]
    if (place := turned_too_far(form.turning, np.array([h]), v, v)) >= 0:
        raise SolveError(
            f"step {h:.6g} s at t = {stepper.t:.6g} s is too long: {turned_too_fast(form, place)}; try a smaller step, "
            "or method 'radau', which chooses its steps"
        )
    if stepper.form.system.limits_steps and h > (longest := longest_step(stepper, OF_LOW_ORDER)):
        raise SolveError(
            f"step {h:.6g} s at t = {stepper.t:.6g} s is too long for a wheel with imbalance or harmonics: at most "
            f"{longest:.3g} s at its speed with this method; try method 'radau', which chooses its steps"
        )


class located:  # noqa: N801 - used as a function
    """A context that turns a TrialError outside of a trial step into a SolveError that names the time t (s)."""

    __slots__ = ("_t",)

    def __init__(self, t: float) -> None:
        self._t = t

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        # the message of an InputError names the time
        if isinstance(problem, TrialError) and not isinstance(problem, InputError):
            raise SolveError(f"the integration stopped at t = {self._t:.6g} s: {problem}") from problem


def step_to(limit: float, t: float, h: float) -> float:
    """A step of about h that leaves no tiny step before ``limit``."""
    remaining = limit - t
    if h >= remaining * (1.0 - 1e-10):
        return remaining
    return 0.5 * remaining if h > 0.5 * remaining else h
