"""The contract of a formulation: the interface of a System in any coordinates to steppers and the time loop.

A formulation writes the equations of motion of one System in its own coordinates q (n_q,) and speeds v (n_v,), with
n_c multipliers. Explicit steppers and the time loop use ``Formulation``; ``ImplicitFormulation`` adds the residual and
its matrices. The type of the first argument of a stepper tells which of the two it needs; the methods that integrate a
formulation follow from it.

Arrays of s states are (s, n_q), (s, n_v), (s, n_c); methods for one state take (n_q,) and so on, as their docstrings
tell. u (n_u,) are the inputs of the System (loads, motions of drivers). v' are the rates of the speeds, which may be
velocities, rates of quaternions or momenta. An evaluation changes nothing.

Output, reactions, events and latches are evaluated in the coordinates of ``system``: ``to_system`` converts states to
these coordinates, ``from_system`` converts them back.
"""

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from femb.base.errors import ModelError
from femb.base.options import Tolerances
from femb.base.types import NO_PLACES, Ability, ErrorScale, Floats, Ints, Loop, Turning
from femb.layout.discrete import DiscreteState
from femb.layout.state import State
from femb.system.system import System

if TYPE_CHECKING:
    from femb.layout.element import Batch
    from femb.layout.layout import Layout
    from femb.model.model import Model
    from femb.system.block_lu import Factors, Matrix, Solver

Coordinates: TypeAlias = tuple[Ints, Ints, Ints, Ints]
"""Indices in q and v of coordinates whose rates are speeds; indices of quaternions in q and angular velocities in v."""


@runtime_checkable
class Formulation(Protocol):
    """The interface of a System to explicit steppers and the time loop."""

    # Sizes, start and inputs

    @property
    def system(self) -> System:
        """The System, in the same discrete state; for a System, itself."""

    @property
    def model(self) -> "Model":
        """The model of the System."""

    @property
    def layout(self) -> "Layout":
        """The indices of named items in the coordinates of the System."""

    @property
    def n_q(self) -> int:
        """Number of coordinates."""

    @property
    def n_v(self) -> int:
        """Number of speeds."""

    @property
    def n_c(self) -> int:
        """Number of multipliers, in the present discrete state."""

    @property
    def q0(self) -> Floats:
        """Coordinates (n_q,) at the start; read-only."""

    @property
    def v0(self) -> Floats:
        """Speeds (n_v,) at the start; read-only."""

    @property
    def breakpoints(self) -> list[float]:
        """Instants (s), sorted, at which an input is not smooth: steps end there."""

    @property
    def inputs_of_state(self) -> bool:
        """Whether an input depends on the state, not only on time."""

    def inputs_at(self, t: float, q: Floats, v: Floats, /) -> Floats:
        """u (n_u,) at time t (s) and one state; joint angles are unwrapped from those of the last ``at``.

        Raises InputError if an input is not finite, SolveError if a user's function fails.
        """

    # Equations of motion

    def forward(self, u: Floats, q: Floats, v: Floats, /) -> tuple[Floats, Floats]:
        """v' (n_v,) and multipliers (n_c,) at one state, with constraints on accelerations. Raises TrialError."""

    def acceleration(self, u: Floats, q: Floats, v: Floats, /) -> Floats:
        """v' (n_v,) at one state. Raises TrialError."""

    def rates(self, q: Floats, v: Floats, /) -> Floats:
        """q' (s, n_q); linear in v except for momenta."""

    def second_rates(self, q: Floats, v: Floats, a: Floats, /) -> Floats:
        """q'' (s, n_q) of states whose v' is a (s, n_v)."""

    def tangents(self, q: Floats, dq: Floats, /) -> Floats:
        """The speeds (s, n_v) at which one q (n_q,), or each of s (s, n_q), has the rates dq (s, n_q)."""

    def normalise(self, q: Floats, /) -> float:
        """Scale the quaternions in q, (n_q,) or (s, n_q), to unit length, in place; returns the largest |p.p - 1| on
        entry."""

    def projected(self, u: Floats, q: Floats, v: Floats, /) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) projected onto the constraints, with the smallest change. Raises TrialError."""

    def budget_rates(self, u: Floats, q: Floats, v: Floats, /, multipliers: Floats | None = None) -> Floats:
        """(s, n_w): power and rates of momentum of loads, dampers and, with multipliers (s, n_c), drivers, for u
        (s, n_u); the columns are those of ``system.budget``."""

    def error_scale(self, rtol: float, atol: Tolerances, /) -> tuple[ErrorScale, ErrorScale]:
        """The arguments of ``femb.numerics.kinematics.error_norm`` that precede the error, for q and for v."""

    # Singular configurations

    @property
    def singular_batches(self) -> "Sequence[Batch]":
        """Elements that have singular configurations; if empty, ``check_singularities`` need not be called."""

    def check_singularities(self, t: float, q: Floats, v: Floats, /, last: bool = False) -> None:
        """Test the states of a step from t (s), its start first, for singular configurations.

        Raises TrialError if a shorter step can come nearer, SingularityError if none can or the step is the ``last``.
        """

    # The System's coordinates

    def to_system(self, q: Floats, v: Floats, /) -> tuple[Floats, Floats]:
        """q (s, system.n_q), v (s, system.n_v) of the System at s states."""

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats, /) -> Floats:
        """v' (s, system.n_v) of the System at s states whose v' is a (s, n_v)."""

    def from_system(self, q: Floats, v: Floats, /) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) of one state of the System that satisfies the constraints."""

    def state(self, t: float, q: Floats, v: Floats, /) -> State:
        """The named bodies, beams and joints at one state."""

    def joint_angles(self, q: Floats, /) -> Floats:
        """The joint coordinates (s, m) from which those of the System at s states are unwrapped: q may count them."""

    @property
    def turning(self) -> Turning:
        """Rates of rotation in v that limit the length of steps, in which joints would lose turns."""

    # Discrete states

    def at(self, q: Floats, /) -> Self:
        """The formulation after an accepted step to q (n_q,): joint angles are unwrapped from those at q."""

    def with_discrete(self, discrete: DiscreteState, /) -> Self:
        """The formulation in another discrete state; n_c may change."""


@runtime_checkable
class ImplicitFormulation(Formulation, Protocol):
    """The interface of a System to implicit steppers.

    The unknowns of a Newton iteration are speeds and multipliers, n = n_v + n_c; coordinates follow from speeds by
    ``coordinates``.
    """

    @property
    def coordinates(self) -> Coordinates:
        """The relation of coordinates and speeds by which the kernels of steppers integrate; see ``Coordinates``."""

    @property
    def corotated_frames(self) -> tuple[Ints, Ints]:
        """Frames that flexible elements couple: indices of their quaternions in q (F,), and (F, 2) indices in v of two
        vectors that rotate with the frame, -1 for none.

        Matrices of one attitude are used at another by rotating the right-hand side back and the solution forth.
        """

    @property
    def solver(self) -> "Solver":
        """The linear solver of the ``matrices``."""

    def equations(self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats, /) -> Floats:
        """(s, n): the residual of the equations of motion with constraint forces, and constraints on velocities.

        u (s, n_u), a (s, n_v) are v'. Raises TrialError.
        """

    def matrices(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, /) -> "tuple[Matrix, Matrix, Matrix]":
        """Mass, damping and stiffness (n, n) at one state: derivatives of the ``equations`` by a, v and, along
        ``rates``, q. Rows of constraints count as damping. Raises TrialError."""

    def projected(self, u: Floats, q: Floats, v: Floats, /, factors: "Factors | None" = None) -> tuple[Floats, Floats]:
        """Project as in ``Formulation``; factors : of an iteration matrix at a nearby state, used as metric of the
        change.
        """


@runtime_checkable
class WithStiffJacobian(Protocol, metaclass=Ability):
    """A formulation with the stiff part of the derivative of its rates, for collocation methods."""

    def stiff_jacobian(self, t: float, q: Floats, v: Floats, /) -> Floats:
        """(n_q + n_v, n_q + n_v) d(q', v')/d(q, v) at one state, of stiff forces alone."""


# Coefficients of stages that evaluate the rate at a state itself.
NO_STAGES = np.zeros((1, 1))


@runtime_checkable
class WithStages(Protocol, metaclass=Ability):
    """A formulation whose rates are one compiled function, so that a stepper need not call it stage by stage."""

    @property
    def has_stages(self) -> bool:
        """Whether ``stages`` applies: no user's function, and no element or input of its own, takes part."""

    def stages(self, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats, /) -> Floats:
        """Evaluate stages ``first`` to ``last`` - 1 of an explicit Runge-Kutta step of length h (s) from y0 (n,).

        y0 = (q, v, work). A (stages, stages) : coefficients; K (stages, n) : the rates y', of which the earlier ones
        are given and rows ``first`` to ``last`` - 1 are set, at the states y0 + h A K. Returns the last of these states
        (n,). Raises TrialError.
        """


class RatesOfState(Protocol):
    """The rate of a state y (n,) with inputs u (1, n_u), arrays whose entries change between the calls."""

    y: Floats
    u: Floats
    rate: Floats
    state: tuple[Floats, Floats]

    def __call__(self) -> None:
        """Overwrite ``rate`` (n,). Raises TrialError."""

    def is_of(self, form: Any, /) -> bool:
        """Whether these are the rates of another discrete state of the same formulation too."""


@runtime_checkable
class WithBoundRates(Protocol, metaclass=Ability):
    """A formulation with rates by bound kernels."""

    def bound_rates(self) -> RatesOfState | None:
        """They; None where an element or a setting has none."""


@runtime_checkable
class WithSteps(Protocol, metaclass=Ability):
    """A formulation whose steps by DOP853 are one compiled function, many in a call."""

    @property
    def has_steps(self) -> bool:
        """Whether ``steps`` applies, as ``has_stages`` tells."""

    def steps(self, loop: Loop, /) -> Floats | None:
        """Accepted steps, with the output inside them, in the arrays of a loop, which ends before a step that fails.

        Returns the joint coordinates (s + 1, m) at the start and at the s ends, unwrapped; None if q counts them.
        """


def refused(text: str) -> ModelError:
    """The error of a model, or its start, that a formulation does not admit."""
    return ModelError.at(("run", "formulation"), text)


class Transformed:
    """Base of formulations with their own coordinates q (n_q,) and speeds, rates or momenta v (n_v,), m, rad and s.

    Methods take these arrays, the inputs u (n_u,) of loads and drivers, the multipliers (n_c,), N and N m, and the
    time t, s. See `femb.formulations.contract` for what each of them does.
    """

    def __init__(self, system: System) -> None:
        self.system, self.model, self.layout = system, system.model, system.layout
        self.breakpoints, self.singular_batches = system.breakpoints, system.singular_batches
        self.inputs_of_state = system.inputs_of_state

    @property
    def turning(self) -> Turning:
        """None, where q counts the angles of joints."""
        return NO_PLACES, 3, 1.0

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v of the System at s states."""
        raise NotImplementedError

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (n_v,) and the multipliers (n_c,), at one state."""
        raise NotImplementedError

    def acceleration(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """v' (n_v,)."""
        return self.forward(u, q, v)[0]

    def system_at(self, q: Floats) -> System:
        """The System with the unwrapped joint angles at q, if q contains joint angles; else the System."""
        return self.system

    def at(self, q: Floats) -> Self:
        """The form after a step to q, from which joint angles are unwrapped."""
        raise NotImplementedError

    def joint_angles(self, q: Floats) -> Floats:
        """The joint coordinates (s, m) from which those of the System at s states are unwrapped."""
        if not self.system.coordinates_of_joints.count:
            return np.empty((len(q), 0))
        return np.array([self.at(state).system.discrete.angles for state in q])

    def state(self, t: float, q: Floats, v: Floats) -> State:
        """The named bodies, beams and joints at time t (s) and one state."""
        return self.system_at(q).state(t, *(array[0] for array in self.to_system(q[None], v[None])))

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,) at time t (s) and one state."""
        system = self.system_at(q)
        if not self.inputs_of_state:
            return system.inputs_at(t, system.q0, system.v0)
        return system.inputs_at(t, *(array[0] for array in self.to_system(q[None], v[None])))

    def check_singularities(self, t: float, q: Floats, v: Floats, last: bool = False) -> None:
        """Test the states q (s, n_q), v (s, n_v) of a step up to the time t, s, for singular configurations; ``last``,
        whether the run ends with it; see ``Formulation``."""
        self.system.check_singularities(t, *self.to_system(q, v), last)

    def with_discrete(self, discrete: DiscreteState) -> Self:
        """The form in another discrete state."""
        other = copy(self)
        other.system = self.system.with_discrete(discrete)
        other._update_discrete(self.system.discrete)
        return other

    def _update_discrete(self, previous: DiscreteState) -> None:
        """Update the form after a change of the system's discrete state; ``previous`` is the old one."""
