"""The contract of batches: what evaluates all elements of one class together.

A description, ``femb.elements.item.Item``, builds the batches of its class, and ``System`` calls them.

The equations are M a + h + f + J^T lambda = f_applied. Batches give all but the forces of constraints, which come from
one ``femb.elements.joint.constraint_set.ConstraintSet``: J v + Phi_t = dPhi/dt, and J a = gamma is d2Phi/dt2 = 0
(docs/theory/constraints.md).

A batch evaluates all elements of one class together. Arrays q (s, n_q), v, a, out (s, n_v) hold s states at once,
u (s, n_u) the inputs. Nothing in a batch changes in an evaluation. Optional methods have defaults.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats, Ints
from femb.layout.discrete import DiscreteState


class TrialError(SolveError):
    """A trial state at which the equations cannot be evaluated; a shorter step may stay clear of it."""


class FoldedError(TrialError):
    """An element turned by 180 degrees: a shorter step, or more elements."""


class InputError(TrialError):
    """A load that is not a finite number, or that cannot be computed at a trial state."""


def raised(label: str, t: float, error: Exception) -> InputError:
    """The error for an exception in a user's function, to be raised from it.

    A shorter step may stay clear of it, or comes as near to it as the clock can tell.
    """
    return InputError(f"{label}: raised {type(error).__name__} at t = {t:.6g} s: {error}")


def breakpoints_of(function: Any) -> tuple[float, ...]:
    """The instants (s) at which a profile or a user's function of time is not smooth; a user's need not say any."""
    result: tuple[float, ...] = getattr(function, "breakpoints", ())
    return result


@dataclass(frozen=True)
class Input:
    """``width`` numbers of u: function(t), or function(t, state) if ``of_state``; smooth between ``breakpoints``.

    With ``of_discrete`` it is function(discrete), of the discrete state (femb.layout.discrete): constant within a step.
    differentiated : whether what is ``of_state`` holds its own derivatives, which the batch's tangents take; where a
    user's function left them out, the value is a WithoutDerivatives. label says in messages what it is.
    """

    width: int
    function: Callable[..., Any]
    of_state: bool = False
    of_discrete: bool = False
    breakpoints: tuple[float, ...] = ()
    label: str = "input"
    differentiated: bool = False

    @staticmethod
    def of_profile(profile: Any, label: str) -> "Input":
        """The value of a profile or of a user's function of time."""
        return Input(1, profile, breakpoints=breakpoints_of(profile), label=label)

    @staticmethod
    def of_law(law: "Callable[[float, Any], Any]", label: str) -> "Input":
        """The value of a user's function of time and state, and two derivatives: zeros where it gives none."""
        return Input(
            3, lambda t, state: with_derivatives(law(t, state)), of_state=True, label=label, differentiated=True
        )


class WithoutDerivatives(tuple[float, ...]):
    """A value and zeros in the place of derivatives that are not known."""


def with_derivatives(value: Any) -> Any:
    """A number with two zeros for its unknown derivatives, or the three numbers given."""
    return WithoutDerivatives((value, 0.0, 0.0)) if np.ndim(value) == 0 else value


class Batch:
    """All elements of one class, evaluated together."""

    # What multiplies the batch's loads, in order: functions of time, or of time and state.
    inputs: "tuple[Input, ...]" = ()
    # Whether all batches of this class become one by ``joined``, since a call costs more than what it computes.
    joins: ClassVar[bool] = False
    # first input in u, set by the system when it numbers the inputs
    first_input: int = 0
    # Whether vibrations of the elements go on for ever, or nearly, for want of damping.
    undamped: bool = False
    # As of the items.
    slow_to_compile: ClassVar[bool] = False
    # Whether the stiffness or the damping may change at once, as where bodies come into contact or begin to slide.
    switches: bool = False
    # Uniform acceleration (3,) m/s2, inertial axes, by which its mass is weighed; None of batches without mass.
    gravity: Floats | None = None
    # Where the batch's equations end, a femb.layout.singularity.Singularity for each vector of singularity_vectors.
    singularities: tuple[Any, ...] = ()

    @staticmethod
    def joined(batches: list[Any]) -> "Batch":
        """One batch of several of this class."""
        raise NotImplementedError

    def allocate(self, pattern: Any) -> None:
        """Look up where the batch's blocks are in the matrices."""

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        """out += M a + h + f - f_applied."""
        raise NotImplementedError

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        """Add mass, d(residual)/dv and the iteration tangent d(residual)/dq H at one state to block data."""
        self.force_tangent(u, q, v, damping, stiffness)

    def gaps(self, discrete: DiscreteState, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Functions (s, k) of the state that are zero where the stiffness changes at once, and their rates.

        Steps end where one of them passes through zero. Of an element without such a place k is 0, as it is where the
        change is spread over a range that steps can follow.
        """
        return np.empty((len(q), 0)), np.empty((len(q), 0))

    def mass(self, q: Floats, mass: Floats) -> None:
        """Add the mass at one state to block data."""

    def element_masses(self, q: Floats) -> "list[tuple[Ints, Floats]]":
        """The mass matrices of the elements, each on its own, at one state; their sum is ``mass``.

        Groups of e elements alike: places (e, g) of their velocities, negative where these are held, and M (e, g, g).
        """
        return []

    def mass_changes(self, q: Floats) -> "list[tuple[Ints, Floats]]":
        """The change of the elements' mass matrices M at one state; nothing where they are constant.

        Groups of e elements alike: places (e, g) of their velocities, negative where these are held, and D (e, g, g,
        g), with D[:, i, j, k] the change of M_ij with q along column k of H.
        """
        return []

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin."""

    def potential_energy(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s,) += potential energy that depends on inputs, such as that of unwrapped angles."""

    def records(self, frames: Any, batches: "list[Batch]") -> dict[str, Floats]:
        """Arrays (k, ...) by path in the result file at output instants (``femb.results.frames.Frames``).

        batches : all batches of the system, for what others add to the values.
        """
        return {}

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, n_v) += force that does work on the system: loads and dampers, not gravity or springs."""

    def add_section_forces(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, n, 2, 6) += what loads along beams add to the section forces at both ends of all n elements."""

    def prestress_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        """out (s,) += energy that the inputs make of the potential energy (a heated part's is of what is left of its
        strain), which they have then done as work."""

    def singularity_vectors(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Vectors (s, k, m) that must not vanish in a motion, and their rates; k as in ``singularities``."""
        raise NotImplementedError

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        """Add d(residual)/dv and d(residual)/dq H, exact, at one state to block data."""
        self.force_tangent(u, q, v, damping, stiffness)

    def weighed(self, gravity: Floats) -> Self:
        """The batch under another ``gravity``."""
        if self.gravity is None:
            return self
        other = copy(self)
        other.gravity = gravity
        return other

    def own_strains(self, q: Floats, x: Floats) -> Floats:
        """Strains at one state, changed to first order by displacements and rotations x (n_v,); elements that have
        none give an empty array.

        Newton's iteration of statics holds them as unknowns of their own: docs/theory/statics.md, equation (4).
        """
        return np.zeros(0)

    def strained(self, q: Floats, own: Floats) -> Self:
        """The batch whose ``tangent`` at q has the stresses of these strains, not of those at q."""
        return self

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        """Add d(residual)/dv and d(residual)/dq H, exact, of forces that do not depend on accelerations.

        Elements without mass give it in place of ``matrices`` and ``tangent``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no exact tangent")


class ForceBatch(Batch):
    """Elements without mass, which exert forces: a part of a potential, and the rest, which does work on the system."""

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        """out (s, n_v) += elastic times the forces of the potential, and rest times the others, as in ``residual``."""
        raise NotImplementedError

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        self.add_forces(u, q, v, 1.0, 1.0, out)

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        self.add_forces(u, q, v, 0.0, -1.0, out)


def merged(batches: list[Batch]) -> list[Batch]:
    """The batches, with those of a class that ``joins`` made one."""
    found: list[Batch] = []
    groups: dict[type, list[Batch]] = {}
    for batch in batches:
        if batch.joins:
            groups.setdefault(type(batch), []).append(batch)
        else:
            found.append(batch)
    return found + [group[0].joined(group) for group in groups.values()]
