"""The element contract: what an element description and its batch must give.

A description (a frozen dataclass in ``femb.elements``) declares its table and kind, checks itself, and has

    lay_out(layout, placement, model)      declare frames, strains, rows of constraints and couplings
    batches(items, layout, model)          build the Batches of all items of this class: one, or several, or none

With constraints Phi(q, t) = 0 the equations are M a + h + f + J^T lambda = f_applied, where J v + Phi_t = dPhi/dt, and
J a = gamma is d2Phi/dt2 = 0 (docs/theory/constraints.md).

A batch evaluates all elements of one class together. Arrays q (s, n_q), v, a, out (s, n_v) hold s states at once,
u (s, n_u) the inputs. Nothing in a batch changes in an evaluation. All it need not give has a default here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from femb.base.errors import SolveError
from femb.base.types import Floats, Ints


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


@runtime_checkable
class Element(Protocol):
    """An item of the catalogue that takes part in the equations."""

    table: ClassVar[str]
    kind: ClassVar[str]
    name: str

    def lay_out(self, layout: Any, placement: Any, model: Any) -> None: ...

    @staticmethod
    def batches(items: list[Any], layout: Any, model: Any) -> "list[Batch]": ...


@dataclass(frozen=True)
class Input:
    """``width`` numbers of u: function(t), or function(t, state) if ``of_state``; smooth between ``breakpoints``.

    With ``of_discrete`` it is function(discrete), of the discrete state (femb.layout.discrete): constant within a step.
    differentiated : whether what is ``of_state`` holds its own derivatives, which the batch's tangents take; where a
    user's function left them out, the value is an Underived. label says in messages what it is.
    """

    width: int
    function: Callable[..., Any]
    of_state: bool = False
    of_discrete: bool = False
    breakpoints: tuple[float, ...] = ()
    label: str = "input"
    differentiated: bool = False


class Underived(tuple[float, ...]):
    """A value and zeros in the place of derivatives that are not known."""


class Batch:
    """All elements of one class, evaluated together."""

    # What multiplies the batch's loads, in order: functions of time, or of time and state.
    inputs: "tuple[Input, ...]" = ()
    # Whether all batches of this class become one by ``joined``, since a call costs more than what it computes.
    joins: ClassVar[bool] = False
    # first input in u, set by the system when it numbers the inputs
    first_input: int = 0
    # The batch's equations of constraint, as numbered by ``layout.add_row``.
    row_numbers: tuple[int, ...] = ()
    # Whether the stiffness or the damping may change at once, as where bodies come into contact or begin to slide.
    switches: bool = False
    # Where the batch's equations end, a femb.layout.singularity.Posture for each vector of posture_vectors.
    postures: tuple[Any, ...] = ()

    @staticmethod
    def joined(batches: list[Any]) -> "Batch":
        """One batch of several of this class."""
        raise NotImplementedError

    def couple(self, pattern: Any) -> None:
        """Look up where the batch's blocks are in the matrices."""

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        """out += M a + h + f - f_applied."""
        raise NotImplementedError

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        """Add mass, d(residual)/dv and the iteration tangent d(residual)/dq H at one state to block data."""

    def mass(self, q: Floats, mass: Floats) -> None:
        """Add the mass at one state to block data."""

    def mass_changes(self, q: Floats) -> "list[tuple[Ints, Floats]]":
        """The change of the elements' mass matrices M at one state; nothing where they are constant.

        Groups of e elements alike: places (e, g) of their velocities, negative where these are held, and D (e, g, g,
        g), with D[:, i, j, k] the change of M_ij with q along column k of H.
        """
        return []

    def hold(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, force: Floats, rates: Floats) -> None:
        """force (s, n_v) += J^T lambda; rates (s, n_c) = J v + Phi_t of the batch's rows."""

    def hold_by(self, numbers: list[int], u: Floats, q: Floats, v: Floats, multipliers: Floats, force: Floats) -> None:
        """force (s, n_v) += J^T lambda of some of the batch's rows."""

    def constraints(self, u: Floats, q: Floats, v: Floats, position: Floats, gamma: Floats) -> None:
        """position, gamma (s, n_c) of the batch's rows: Phi, and the right-hand side of J v' = gamma."""

    def jacobian(self, u: Floats, q: Floats, data: Floats) -> None:
        """Add J and J^T at one state to block data."""

    def hold_tangent(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, stiffness: Floats) -> None:
        """Add d(J^T lambda)/dq H and d(J v + Phi_t)/dq H at one state to block data."""

    def drive(self, u: Floats, q: Floats, v: Floats, multipliers: Floats, out: Floats) -> None:
        """out (s,) += lambda . Phi_t, the power of what drives the batch's rows."""

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin."""

    def stored(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s,) += potential energy that depends on inputs, such as that of unwrapped angles."""

    def records(self, frames: Any) -> dict[str, Floats]:
        """Arrays (k, ...) by path in the result file at output frames (femb.analysis.time_loop.Frames)."""
        return {}

    def applied(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, n_v) += force that does work on the system: loads and dampers, not gravity or springs."""

    def add_section_forces(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, n, 2, 6) += what loads along beams add to the section forces at both ends of all n elements."""

    def input_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        """out (s,) += energy that the inputs make of the potential energy (a heated part's is of what is left of its
        strain), which they have then done as work."""

    def posture_vectors(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Vectors (s, k, m) that must not vanish in a motion, and their rates; k as in ``postures``."""
        raise NotImplementedError

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        """Add d(residual)/dv and d(residual)/dq H, exact, at one state to block data."""
        raise NotImplementedError(f"{type(self).__name__} has no exact tangent")


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
