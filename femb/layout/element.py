"""The contract of batches: a batch evaluates all elements of one class together.

The descriptions, ``femb.elements.item.Item``, build the batches of their class, and ``System`` calls them. The
equations are M a + h + f + J^T lambda = f_applied. Batches give all terms except the constraint forces, which one
``femb.elements.joint.constraint_set.ConstraintSet`` gives: J v + Phi_t = dPhi/dt, J a = gamma is d2Phi/dt2 = 0.

Arrays q (s, n_q), v, a, out (s, n_v) contain s states, u (s, n_u) the inputs. An evaluation changes no batch.

The row of a first-order state z' = g is a - g with z in v: mass 1, damping -dg/dv and stiffness -dg/dq H. Its
coordinate in q has no meaning, and no batch reads it. Energies are those of the batches, never v M v/2. A batch changes
no discrete state: it reads one as an input, and ``femb.layout.discrete.Update`` changes it between steps.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, SupportsFloat, TypeVar, runtime_checkable

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy, shown
from femb.layout.discrete import ANGLES, DiscreteState
from femb.layout.terms import Energy, Force, MassMatrix, Tangent
from femb.layout.views import BlockPattern, LinearPoint, OutputStates

if TYPE_CHECKING:
    from scipy.sparse import csc_array


# The value of a user's function of the state, with its derivatives.


class Differentiated(tuple[float, ...]):
    """Three components of a force or torque with their derivatives by the state, for linearisation.

    value (3,) : what the function would return without derivatives. by : derivatives (3, k) by quantities of the state
    with k components, or (3,) by a single one, by the names of outputs of linear models:

        femb.Differentiated(-k * angles - d * hub.angular_velocity, {"bodies.hub.turn": -k * np.eye(3), ...})

    "turn" is a small rotation in body axes. Quantities that are not named have no influence. In simulations it is the
    value alone. Raises ModelError: other shapes.
    """

    by: dict[str, Floats]

    def __new__(cls, value: Any, by: Mapping[str, Any]) -> "Differentiated":
        if np.shape(value) != (3,):
            raise ModelError(f"Differentiated: value: got {shown(value)}, wanted three numbers")
        self = super().__new__(cls, (float(x) for x in value))
        self.by = {}
        for name, derivative in by.items():
            matrix = np.asarray(derivative, dtype=float)
            if matrix.ndim not in (1, 2) or matrix.shape[0] != 3:
                raise ModelError(f"Differentiated: by {name!r}: got {shown(derivative)}, wanted (3,) or (3, k) numbers")
            self.by[name] = matrix.reshape(3, -1)
        return self


class WithoutDerivatives(tuple[float, ...]):
    """A value with zeros for its unknown derivatives."""


def with_derivatives(value: Any) -> Any:
    """A number with two zeros for its unknown derivatives, or the three numbers given."""
    alone = np.ndim(value) == 0 and isinstance(value, SupportsFloat)
    return WithoutDerivatives((value, 0.0, 0.0)) if alone else value


# Derivatives of low rank: of forces that couple many frames by a few scalars.
#
#     d(residual)/dv = left damping^T,    d(residual)/dq H = left stiffness^T
#
# Such a force, as that of modal damping, would fill the blocks of all its frames. It is kept as a few vectors instead
# and added where matrices are used: by products, by Woodbury's formula, or after a projection.


@dataclass(frozen=True, eq=False)
class LowRank:
    """left, damping, stiffness (n_v, r)."""

    left: Floats
    damping: Floats
    stiffness: Floats

    @staticmethod
    def joined(parts: "Sequence[LowRank]", n_v: int) -> "LowRank":
        """The sum of some; of none, of rank 0."""
        if not parts:
            none = np.zeros((n_v, 0))
            return LowRank(none, none, none)
        left, damping, stiffness = (
            [getattr(part, word) for part in parts] for word in ("left", "damping", "stiffness")
        )
        return LowRank(np.hstack(left), np.hstack(damping), np.hstack(stiffness))

    @property
    def rank(self) -> int:
        """r."""
        return int(self.left.shape[1])

    def damping_times(self, x: Floats) -> Floats:
        """d(residual)/dv x (n_v,)."""
        return self.left @ (self.damping.T @ x)

    def damping_sizes(self, x: Floats) -> Floats:
        """(n_v,) sizes of the terms of ``damping_times`` for entries of the sizes x."""
        return np.abs(self.left) @ (np.abs(self.damping).T @ x)

    def sparse(self) -> "tuple[csc_array, csc_array]":
        """d(residual)/dv and d(residual)/dq H (n_v, n_v), scipy.sparse: full for the frames that they couple."""
        from scipy.sparse import csc_array

        left = csc_array(self.left)
        return csc_array(left @ csc_array(self.damping).T), csc_array(left @ csc_array(self.stiffness).T)


class TrialError(SolveError):
    """The equations cannot be evaluated at a trial state; a shorter step may avoid it."""


class FoldedError(TrialError):
    """An element is rotated by 180 degrees: needs a shorter step, or more elements."""


class InputError(TrialError):
    """An input that is not finite, or that cannot be computed at a trial state."""


class BatchError(SolveError):
    """An exception in a Python function of a batch, which no shorter step avoids."""


def raised(label: str, t: float, error: Exception) -> InputError:
    """The error for an exception in a user's function, to be raised from it: steppers try shorter steps."""
    return InputError(f"{label}: raised {type(error).__name__} at t = {t:.6g} s: {error}")


def breakpoints_of(function: Any) -> tuple[float, ...]:
    """The instants (s) at which a profile or a user's function of time is not smooth, if it has ``breakpoints``."""
    return getattr(function, "breakpoints", ())


@dataclass(frozen=True)
class Input:
    """``width`` components of u: function(t), or function(t, state) if ``of_state``; smooth between ``breakpoints``.

    of_discrete : it is function(discrete) of the ``DiscreteState``, constant within a step; see ``of_array``.
    differentiated : whether the value of an input ``of_state`` contains its derivatives, which the batch's tangents
    use; if a user's function gives none, the value is a WithoutDerivatives. label : its name in messages.
    by_differences : whether linearisation may take differences where there are no derivatives. surroundings : whether
    it is of the surroundings, such as the motion of the frame, so that linear models do not have it as an input. unit :
    of its components as inputs of linear models, "-" for a factor. recorded_only : whether no equation reads it: steps
    go on where it changes. array : the name of the discrete state that it is a function of, if of no other; it is that
    itself if it has as many numbers. joints : which coordinates of joints it is. factor : whether the load factor of
    statics multiplies it where it is of a load; not of a place or a wind, to which forces are not proportional.
    """

    width: int
    function: Callable[..., Any]
    of_state: bool = False
    of_discrete: bool = False
    breakpoints: tuple[float, ...] = ()
    label: str = "input"
    differentiated: bool = False
    by_differences: bool = False
    surroundings: bool = False
    unit: str = "-"
    recorded_only: bool = False
    array: str = ""
    joints: tuple[int, ...] = ()
    factor: bool = True

    @staticmethod
    def of_array(name: str, width: int = 1, recorded_only: bool = False) -> "Input":
        """The discrete state of this name, an array of ``width`` numbers."""
        return Input(
            width,
            lambda discrete: discrete[name].ravel(),
            of_discrete=True,
            label=name,
            recorded_only=recorded_only,
            array=name,
        )

    @staticmethod
    def of_angles(numbers: Ints) -> "Input":
        """The coordinates of joints with these numbers at the last accepted state, from which later ones are unwrapped.

        Where it alone changes, from one accepted state to the next, the equations at a state do not.
        """
        return Input(
            len(numbers),
            lambda discrete: discrete[ANGLES][..., numbers],
            of_discrete=True,
            label="joint angles",
            array=ANGLES,
            joints=tuple(np.asarray(numbers).tolist()),
        )

    def at_angles(self, discrete: DiscreteState, angles: Floats) -> Floats:
        """(s, width) values of an input ``of_discrete`` in a state with s sets of joint coordinates (s, m)."""
        if self.array:
            values = self.function(discrete.with_angles(angles))
        else:
            values = np.array([self.function(discrete.with_angles(row)) for row in angles], dtype=float)
        of_states = self.array in ("", ANGLES)
        return np.broadcast_to(values.reshape(len(angles) if of_states else 1, self.width), (len(angles), self.width))

    @staticmethod
    def of_profile(profile: Any, label: str) -> "Input":
        """The value of a profile or of a user's function of time."""
        return Input(1, profile, breakpoints=breakpoints_of(profile), label=label)

    @staticmethod
    def of_law(law: "Callable[[float, Any], Any]", label: str) -> "Input":
        """The value of a user's function of time and state, and its two derivatives, zero if it gives none."""
        return Input(
            3, lambda t, state: with_derivatives(law(t, state)), of_state=True, label=label, differentiated=True
        )


B = TypeVar("B", bound="Batch")
OfMotion = Callable[[B, Floats, Floats, Floats, Floats], Floats]


class Batch:
    """All elements of one class, evaluated together."""

    # The components of u that the batch uses, in order.
    inputs: "tuple[Input, ...]" = ()
    # Index of the first input in u; the system sets it.
    first_input: int = 0
    # The names of its items, for messages; the system sets them.
    of_items: str = ""
    # Whether vibrations of the elements have no or hardly any damping.
    undamped: bool = False
    records_motion: ClassVar[bool] = False  # whether some of its records follow from positions and velocities alone
    # Whether the stiffness or the damping may jump, for example at contact or at the start of sliding.
    switches: bool = False
    # What gives the tangents of a batch that has none of its own, by differences; the system sets it.
    by_differences: "Callable[[Batch], list[Tangent]] | None" = None
    # Uniform acceleration (3,) m/s2, inertial axes, that gives the batch its weight; None of batches without mass.
    gravity: Floats | None = None

    def bind(self, batches: Sequence["Batch"]) -> None:
        """Look up other batches of the system, which it evaluates; called once, after ``allocate`` of all."""

    def allocate(self, pattern: BlockPattern) -> None:
        """Prepare what needs the number of its first input; pattern : the storage of matrices."""

    def take_start(self, q: Floats) -> None:
        """Take numbers that are by default those at the start, as free lengths, from q (n_q,)."""

    def forces(self) -> list[Force]:
        """Its share of the residual M a + h + f - f_applied."""
        return []

    def masses(self) -> list[MassMatrix]:
        """Its mass matrices."""
        return []

    def tangents(self) -> list[Tangent]:
        """The derivatives of its forces; by default by differences."""
        return [] if self.by_differences is None else self.by_differences(self)

    def energies(self) -> list[Energy]:
        """Its energies and momenta."""
        return []

    def records(self, frames: OutputStates, batches: "list[Batch]") -> dict[str, Floats]:
        """Arrays (k, ...) by path in the result file, at k output instants ``frames`` (femb.recording.frames.Frames).
        batches : all batches of the system, for contributions of others to the values."""
        return {}

    def internal_loads(self, frames: OutputStates, batches: "list[Batch]") -> dict[str, Floats]:
        """Further arrays, as in ``records``: forces and moments that change smoothly with time, in moving axes.
        Inside steps with many instants they are polynomials through those at nodes. Root loads are made of the
        section_force and section_moment that are given here."""
        return {}


def weighed(batch: B, gravity: Floats) -> B:
    """The batch under another ``gravity`` (3,) m/s2."""
    if batch.gravity is None:
        return batch
    other = shallow_copy(batch)
    other.gravity = gravity
    return other


# Outputs and inputs of linear models: exact rows and columns on small changes of the motion, which items give by name.


@dataclass(frozen=True, eq=False)
class OutputRows:
    """Rows of an output with k components on small changes of the motion at an operating point.

    pose, velocity, acceleration (k, n_v) : on the changes xi of the pose, of q by H(q) xi, and of v and v'. multipliers
    (k, n_c) and inputs (k, n_u) : on the changes of the multipliers and of u. None stands for zero. components : names
    of the k rows after that of the output; none for a single number. unit : SI.
    """

    unit: str
    pose: Floats | None = None
    velocity: Floats | None = None
    acceleration: Floats | None = None
    multipliers: Floats | None = None
    inputs: Floats | None = None
    components: tuple[str, ...] = ("x", "y", "z")

    @property
    def by_motion(self) -> tuple[Floats, Floats]:
        """Rows (k, n_v) on pose and velocity, of which one is not None; zeros for the other."""
        still = np.zeros_like(self.velocity if self.pose is None else self.pose, dtype=float)
        return still if self.pose is None else self.pose, still if self.velocity is None else self.velocity


def rows_of_law(
    point: LinearPoint,
    batch: Batch,
    quantity: str,
    unit: str,
    changes: tuple[Floats, Floats, Floats],
    slopes: tuple[Floats, Floats],
    given: Iterable[tuple[int, float]] = (),
    components: tuple[str, ...] = (),
) -> OutputRows:
    """The rows of k forces N(c, r) along coordinates c with rates r: of "force", "rate" or c.

    unit : of c, m or rad. changes (k, n_v) : derivatives of c by the pose, and of r by the pose and by the velocities.
    slopes (k,) : N_c and N_r, with those that a user's law returns. given : index in u and factor of each value that
    the force contains.
    """
    by_pose, rate_by_pose, rate_by_velocity = changes
    if quantity == "rate":
        return OutputRows(f"{unit}/s", rate_by_pose, rate_by_velocity, components=components)
    if quantity != "force":
        return OutputRows(unit, by_pose, components=components)
    by_c, by_r = (slope[:, None] for slope in slopes)
    pose, velocity = by_c * by_pose + by_r * rate_by_pose, by_r * rate_by_velocity
    inputs = np.zeros((len(pose), len(point.u)))
    for k, factor in given:
        inputs[:, k] += factor
    for law in point.feedback_of(batch):
        factor = sum(factor for k, factor in given if k == law.first)
        pose, velocity = pose + factor * law.by_pose[0], velocity + factor * law.by_velocity[0]
    return OutputRows("N" if unit == "m" else "N m", pose, velocity, inputs=inputs, components=components)


def unlike_inputs(batch: Batch, item: str, *quantities: str) -> tuple[str, ...]:
    """Quantities of an item that are no inputs of linear models by their name, as a given force is, of some."""
    given = {each.label for each in batch.inputs if not each.of_state and not each.of_discrete}
    return tuple(quantity for quantity in quantities if f"{item}.{quantity}" not in given)


@dataclass(frozen=True, eq=False)
class ForceColumns:
    """Forces (k, n_v) on the velocities by k unit inputs; components and unit as in ``OutputRows``."""

    unit: str
    columns: Floats
    components: tuple[str, ...] = ("x", "y", "z")


@runtime_checkable
class GivesOutputs(Protocol):
    """An item with outputs of linear models, named TABLE.NAME.QUANTITY, beside those of its internal coordinates."""

    @property
    def table(self) -> str: ...
    @property
    def name(self) -> str: ...

    def linear_outputs(self, layout: Any) -> Mapping[str, bool]:
        """Its quantities, each with whether it is an output by default; of a series of points those at both ends."""

    def output_rows(self, point: LinearPoint, quantity: str) -> OutputRows | None:
        """The exact rows of a quantity; None of an unknown one. Raises ModelError: it has no exact row, and why."""


@runtime_checkable
class TakesForces(Protocol):
    """An item on which a force can be an input of linear models, named TABLE.NAME.QUANTITY."""

    def linear_forces(self, layout: Any) -> tuple[str, ...]:
        """Its quantities; of a series of points those at both ends."""

    def force_columns(self, point: LinearPoint, quantity: str) -> ForceColumns | None:
        """The columns of a quantity; None of an unknown one. Raises ModelError: the force can do nothing there."""
