"""Abilities of batches beside their terms, which some have: each is a protocol, found by ``isinstance``.

Arrays are as in ``femb.layout.element``: u (s, n_u), q (s, n_q), v, a, out (s, n_v) of s states.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from femb.base.types import Ability, Floats, Ints
from femb.layout.discrete import DiscreteState
from femb.layout.views import LinearPoint

if TYPE_CHECKING:
    from femb.layout.element import Batch, LowRank, OutputRows

# For the start of a motion and its steps.


@runtime_checkable
class Begins(Protocol, metaclass=Ability):
    """A batch with first-order states that depend on the motion at the start."""

    def begin(self, q: Floats, v: Floats) -> None:
        """Set these states in v (n_v,), from q (n_q,) and the rest of v, where they have the values of their items."""


@runtime_checkable
class HasGaps(Protocol, metaclass=Ability):
    """A batch whose stiffness jumps, where steps end."""

    def gaps(self, discrete: DiscreteState, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Functions (s, k) of the state that are zero where the stiffness jumps, and their rates.

        k = 0 for elements whose stiffness changes over a range that steps resolve.
        """


@runtime_checkable
class LimitsSteps(Protocol, metaclass=Ability):
    """A batch with motion that the tolerances do not see. limits_steps : whether it has any."""

    limits_steps: bool

    def longest_step(self, q: Floats, v: Floats) -> float:
        """The longest step (s) from one state."""


@runtime_checkable
class Singular(Protocol, metaclass=Ability):
    """A batch with singular configurations.

    singularities : a femb.layout.connections.Singularity for each vector of ``singularity_vectors``.
    """

    singularities: tuple[Any, ...]

    def singularity_vectors(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Vectors (s, k, m) that must not vanish during a motion, and their rates."""


@runtime_checkable
class SetsCommands(Protocol, metaclass=Ability):
    """A batch of continuous controllers."""

    def continuous_commands(self, u: Floats, q: Floats, v: Floats) -> Mapping[str, Floats]:
        """Commands (s, width) that it sets, within their limits, by name TABLE.NAME.WORD: their items record them."""


@runtime_checkable
class Pushes(Protocol, metaclass=Ability):
    """A batch that tells itself whether its forces change the momentum of a model (``Item.changes_momenta``)."""

    pushes: bool


@runtime_checkable
class TakesPower(Protocol, metaclass=Ability):
    """A batch of motors with an electrical supply."""

    def supply_account(self, own: str) -> str:
        """The account of the budget that has the electrical energy; empty for none. own : the account of the items."""

    def electrical_power(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """(s, k) W: what each of its k motors takes from its supply."""


@runtime_checkable
class Prestressed(Protocol, metaclass=Ability):
    """A batch whose potential energy changes with inputs, as by thermal strain.

    prestress_account : of the budget; empty for that of the items.
    """

    prestress_account: str

    def prestress_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        """out (s,) += the change of the potential energy by inputs (J), counted as their work."""


# For loads at the ends of elements.


@runtime_checkable
class LoadsBeams(Protocol, metaclass=Ability):
    """A batch of loads along beams."""

    def add_section_forces(self, beams: "Batch", u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, n, 2, 6) += section forces of the loads at both ends of all n elements of ``beams``."""


@runtime_checkable
class HasInterfaces(Protocol, metaclass=Ability):
    """A batch whose elements with mass are on frames. interfaces : TABLE.NAME of the element and the frame of each."""

    interfaces: Sequence[tuple[str, int]]

    def interface_forces(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Forces (N, inertial axes) and torques (N m, axes of the frames) (s, k, 6) of its elements, with their
        inertia, on the frames of its k ``interfaces``, fixed ones too, at s states with accelerations."""


@runtime_checkable
class LoadsInterfaces(Protocol, metaclass=Ability):
    """A batch of loads on the elements of others."""

    def add_interface_forces(self, loaded: Any, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, k, 6) += its loads on the elements of ``loaded``, at the ``interfaces`` of these."""


@runtime_checkable
class HoldsFrames(Protocol, metaclass=Ability):
    """A batch that can take fixed frames as moving ones, for a field of forces on every mass."""

    def unfixed(self, n_q: int, n_v: int) -> Self:
        """The batch, where the fixed frame i has q[n_q + 7 i :] and v[n_v + 6 i :]; its matrices are as before."""


# For analyses.


@runtime_checkable
class Strained(Protocol, metaclass=Ability):
    """A batch of elements with strains, or stresses, that Newton's iteration of statics holds as unknowns.

    largest_rotation : rad, of one correction of statics that its elements bear. own_force : whether its residual is
    linear about own strains, see ``strained``. pretensioned : whether its elements have stresses as they are described.
    Source: docs/theory/statics.md, equation (4).
    """

    largest_rotation: float
    own_force: bool
    pretensioned: bool

    def own_strains(self, u: Floats, q: Floats, x: Floats, own: Floats | None = None) -> Floats:
        """Strains, or stresses, at one state, changed to first order by displacements x (n_v,).

        own : those at which the change is taken, if it depends on them.
        """

    def strained(self, q: Floats, own: Floats) -> Self:
        """The batch whose exact tangent at q (n_q,) has the stresses of these strains, not of those at q; if
        ``own_force``, its residual at q is linear about these stresses."""

    def unstrained(self, u: Floats, q: Floats) -> Self | None:
        """The batch without the strains that rounding of the positions gives it at q; None where they are more."""


@runtime_checkable
class Softened(Protocol, metaclass=Ability):
    """A batch of elements of two frames whose elastic force turns with them."""

    def softened(self) -> Any:
        """The batch without elastic and damping forces."""


@runtime_checkable
class LowRankTangent(Protocol, metaclass=Ability):
    """A batch with derivatives that couple many frames and have no blocks.

    feeds_back : whether they are of few frames, with a stiffness, as with a law.
    """

    feeds_back: bool

    def low_rank_tangent(self, u: Floats, q: Floats, v: Floats) -> "LowRank | None":
        """This part of the exact derivatives at one state; None for none."""


@runtime_checkable
class LowRankStep(Protocol, metaclass=Ability):
    """A batch of which Newton's iteration needs a part of low rank to converge fast."""

    def low_rank_matrices(self, u: Floats, q: Floats, v: Floats) -> "LowRank | None":
        """The part of ``low_rank_tangent`` that it needs beside the step's matrices, at one state."""


@runtime_checkable
class OfPhase(Protocol, metaclass=Ability):
    """A batch with forces that turn with a known angle and have no mean over a turn, as those of imbalance.

    disturbing : of its elements with such forces, by TABLE.NAME: the number of the internal coordinate whose value is
    the speed, and the orders of the forces.
    """

    disturbing: Mapping[str, tuple[int, Sequence[float]]]

    def balanced(self) -> Self:
        """The batch without these forces."""


@runtime_checkable
class HasRows(Protocol, metaclass=Ability):
    """A batch with outputs of linear models."""

    def linear_outputs(self) -> Mapping[str, tuple[str, ...]]:
        """Quantities that it gives as outputs, by the items' TABLE.NAME."""

    def output_rows(self, point: LinearPoint, item: str, quantity: str) -> "OutputRows":
        """The exact rows of a quantity of ``linear_outputs``. Raises ModelError: it has none in this state, and why."""


@runtime_checkable
class DerivesByInputs(Protocol, metaclass=Ability):
    """A batch whose residual is no polynomial of its inputs, of which linear models take exact differences."""

    def input_derivative(self, u: Floats, q: Floats, v: Floats, k: int) -> Floats:
        """The derivative (n_v,) of the residual by input k of u at one state."""


@runtime_checkable
class MassChanges(Protocol, metaclass=Ability):
    """A batch whose mass matrices depend on the state."""

    def mass_changes(self, q: Floats) -> list[tuple[Ints, Floats]]:
        """Derivatives of the elements' mass matrices M at one state.

        A pair for each group of e equal elements: indices (e, g) of their velocities, negative for fixed frames, and D
        (e, g, g, g), with D[:, i, j, k] the derivative of M_ij along column k of H.
        """


@runtime_checkable
class Joins(Protocol, metaclass=Ability):
    """A batch whose call costs more than its computation. joins : whether ``joined`` makes all of its class one."""

    joins: bool

    def joined(self, batches: list[Any]) -> "Batch":
        """One batch of several of this class."""
