"""The contract of a formulation: what steppers and the time loop use of a System in whatever coordinates.

A formulation writes the equations of motion of one System in coordinates q (n_q,) and speeds v (n_v,) of its own, with
n_c multipliers. ``Formulation`` is what explicit steppers and the time loop use, ``ImplicitFormulation`` adds the
residual and its matrices. A stepper says by the type of its first argument which of the two it integrates; the methods
that integrate a formulation follow from that.

Arrays of s states at once are (s, n_q), (s, n_v), (s, n_c); a method says where it takes one state, (n_q,) and so on.
u (n_u,) are the inputs of the System (loads, motions of drivers), v' the accelerations: rates of the speeds, whatever
these are (velocities, rates of quaternions, momenta). Nothing changes in an evaluation.

What is not done in a formulation's own coordinates - output, reactions, events, latches - is done in those of
``system``, to which ``to_system`` leads and from which ``from_system`` leads back.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, runtime_checkable

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints

if TYPE_CHECKING:
    from femb.layout.discrete import DiscreteState
    from femb.layout.element import Batch
    from femb.layout.layout import Layout
    from femb.layout.state import State
    from femb.model.model import Model
    from femb.system.linear_solver import Factors, Matrix, Solver
    from femb.system.system import System

Coordinates: TypeAlias = tuple[Ints, Ints, Ints, Ints]
"""Places of what is linear in q and in v, and of quaternions in q with their angular velocities in v."""


@runtime_checkable
class Formulation(Protocol):
    """A System as explicit steppers and the time loop see it."""

    # Sizes, start and inputs

    @property
    def system(self) -> "System":
        """The System whose equations these are, in the same discrete state; a System's is itself."""
        ...

    @property
    def model(self) -> "Model":
        """The model of the System."""
        ...

    @property
    def layout(self) -> "Layout":
        """Where the named items are among the coordinates of the System."""
        ...

    @property
    def n_q(self) -> int:
        """Number of coordinates."""
        ...

    @property
    def n_v(self) -> int:
        """Number of speeds."""
        ...

    @property
    def n_c(self) -> int:
        """Number of multipliers, in the present discrete state."""
        ...

    @property
    def q0(self) -> Floats:
        """Coordinates (n_q,) at the start; not to be changed."""
        ...

    @property
    def v0(self) -> Floats:
        """Speeds (n_v,) at the start; not to be changed."""
        ...

    @property
    def breakpoints(self) -> list[float]:
        """Instants (s), sorted, at which an input is not smooth: steps end there."""
        ...

    @property
    def inputs_of_state(self) -> bool:
        """Whether an input depends on more than time: it is then to be evaluated again at every state."""
        ...

    def inputs_at(self, t: float, q: Floats, v: Floats, /) -> Floats:
        """u (n_u,) at time t (s) and one state; turns of joints are counted from the last ``at``.

        Raises InputError where an input is not finite, SolveError where a user's function fails.
        """
        ...

    # Equations of motion

    def forward(self, u: Floats, q: Floats, v: Floats, /) -> tuple[Floats, Floats]:
        """v' (n_v,) and multipliers (n_c,) at one state, constraints held on accelerations. Raises TrialError."""
        ...

    def acceleration(self, u: Floats, q: Floats, v: Floats, /) -> Floats:
        """v' (n_v,) at one state. Raises TrialError."""
        ...

    def rates(self, q: Floats, v: Floats, /) -> Floats:
        """q' (s, n_q), linear in v in all formulations but those with momenta."""
        ...

    def second_rates(self, q: Floats, v: Floats, a: Floats, /) -> Floats:
        """q'' (s, n_q) of states whose v' is a (s, n_v)."""
        ...

    def tangents(self, q: Floats, dq: Floats, /) -> Floats:
        """The speeds (s, n_v) with which one q (n_q,) changes at the rates dq (s, n_q)."""
        ...

    def normalise(self, q: Floats, /) -> float:
        """Scale the quaternions in one q (n_q,) to unit length, in place; the largest |p.p - 1| before."""
        ...

    def projected(self, u: Floats, q: Floats, v: Floats, /) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) on the constraints by the smallest change, from a state near them. Raises TrialError."""
        ...

    def power(self, u: Floats, q: Floats, v: Floats, /, multipliers: Floats | None = None) -> Floats:
        """(s,) W of loads, dampers and, with multipliers (s, n_c), drivers, for u (s, n_u)."""
        ...

    def error_scale(self, rtol: float, atol: Tolerances, /) -> tuple[ErrorScale, ErrorScale]:
        """Of q and of v: what ``femb.numerics.kinematics.error_norm`` takes before the error."""
        ...

    # Singular configurations

    @property
    def singular_batches(self) -> "Sequence[Batch]":
        """Elements that have singular configurations; without them ``check_singularities`` need not be called."""
        ...

    def check_singularities(self, t: float, q: Floats, v: Floats, /, last: bool = False) -> None:
        """Refuse a step from t with these states, the first the one it starts from, if it meets a singular one.

        Raises TrialError where a shorter step can come nearer, SingularityError where none can or the step is ``last``.
        """
        ...

    # The System's coordinates

    def to_system(self, q: Floats, v: Floats, /) -> tuple[Floats, Floats]:
        """q (s, system.n_q), v (s, system.n_v) of the System at s states."""
        ...

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats, /) -> Floats:
        """v' (s, system.n_v) of the System at s states whose v' is a (s, n_v)."""
        ...

    def from_system(self, q: Floats, v: Floats, /) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) of one state of the System that is on the constraints."""
        ...

    def state(self, t: float, q: Floats, v: Floats, /) -> "State":
        """The named bodies, beams and joints at one state."""
        ...

    # Discrete states

    def at(self, q: Floats, /) -> Self:
        """The same formulation after an accepted step to q (n_q,): turns of joints are counted from there."""
        ...

    def with_discrete(self, discrete: "DiscreteState", /) -> Self:
        """The same formulation in another discrete state, in which n_c may be another."""
        ...


@runtime_checkable
class ImplicitFormulation(Formulation, Protocol):
    """A System as implicit steppers see it.

    A Newton iteration has speeds and multipliers for its unknowns, n = n_v + n_c; coordinates follow from speeds by
    ``coordinates``.
    """

    @property
    def coordinates(self) -> Coordinates:
        """How coordinates follow from speeds: see ``Coordinates``. The kernels of steppers integrate by them."""
        ...

    @property
    def corotated_frames(self) -> tuple[Ints, Ints]:
        """Frames that stiff members are on: places of their quaternions in q (F,), and (F, 2) places in v of two
        vectors that turn with the frame, -1 where there is none.

        Matrices of one attitude are used at another by turning the right-hand side back and the solution along.
        """
        ...

    @property
    def solver(self) -> "Solver":
        """Of the ``matrices``."""
        ...

    def equations(self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats, /) -> Floats:
        """(s, n) what is zero in a motion: the residual with the forces of constraints, and constraints on velocities.

        u (s, n_u), a (s, n_v) for v'. Raises TrialError.
        """
        ...

    def matrices(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, /) -> "tuple[Matrix, Matrix, Matrix]":
        """Mass, damping and stiffness (n, n) at one state: derivatives of the ``equations`` by a, v and, along
        ``rates``, q. Rows of constraints count as damping. Raises TrialError."""
        ...

    def projected(self, u: Floats, q: Floats, v: Floats, /, factors: "Factors | None" = None) -> tuple[Floats, Floats]:
        """As in ``Formulation``; factors : of an iteration matrix at a state nearby, whose metric then counts."""
        ...


@runtime_checkable
class WithStiffJacobian(Protocol):
    """A formulation that can give the stiff part of the derivative of its rates, for collocation methods."""

    def stiff_jacobian(self, t: float, q: Floats, v: Floats, /) -> Floats:
        """(n_q + n_v, n_q + n_v) d(q', v')/d(q, v) at one state, of stiff forces alone."""
        ...
