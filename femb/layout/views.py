"""Contracts of the rooms above elements: the model, its placement, the matrices and the output instants.

The classes are in ``femb.model``, ``femb.system`` and ``femb.results``. A Protocol names the members that elements may
use, so that they need not import these rooms.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from femb.base.types import Floats, Ints, Sparse


class BlockPattern(Protocol):
    """The storage of a system's matrices (``femb.system.pattern.Pattern``)."""

    n_v: int
    n: int
    size: int

    def to_csc(self, data: Floats) -> Any:
        """The matrix (n, n) of block data (size,) as scipy.sparse.csc_array."""

    def from_csc(self, matrix: Any) -> Floats:
        """Block data of a scipy.sparse matrix (n, n) without entries outside the blocks."""

    def offsets(self, starts: Ints) -> tuple[Ints, Ints]:
        """Offset and stride (n, g, g) of the blocks of groups that begin at ``starts`` (n, g), negative if fixed."""

    def rows_columns(self) -> tuple[Ints, Ints]:
        """Row and column of every entry of the data."""


class ModelView(Protocol):
    """A model (``femb.model.model.Model``): gravity (3,) m/s2, inertial axes, the seed of noise, and items by name."""

    gravity: Floats
    seed: int

    @property
    def beams(self) -> Mapping[str, Any]:
        """Beams by name."""

    def items(self) -> Iterator[Any]:
        """Every item, table by table."""

    def body(self, name: str) -> Any:
        """The body of that name; "ground" always exists."""

    def section_of(self, beam: Any) -> Any:
        """The section that a beam was given or named."""


class ModelAtStart(NamedTuple):
    """A model at its start, as remarks of items see it.

    system : its equations. run : options of the run, None without. bending : item and frequency (Hz) of the first
    bending of each beam. sampled : discrete states after the first samples, by name.
    """

    system: Any
    run: Any
    bending: Sequence[Any]
    sampled: Mapping[str, Floats]


class StartPoses(Protocol):
    """Start poses (``femb.model.placement.Placement``): position (3,) m and quaternion (4,) of bodies and of the starts
    of beams; clamps, for each end of a beam, are the rotation from body to section, None if it is not clamped."""

    bodies: dict[str, tuple[Floats, Floats]]
    beams: dict[str, tuple[Floats, Floats]]
    clamps: dict[str, tuple[Floats | None, Floats | None]]


class StateView(Protocol):
    """An instant of a system as users' functions see it (``femb.layout.state.State``).

    bodies, beams : motion by name. joints : coordinates by name. coordinates (m,) : of all joints, unwrapped.
    """

    time: float
    q: Floats
    v: Floats

    def accelerations(self) -> Floats:
        """(n_v,) with the inputs just before this instant."""

    @property
    def bodies(self) -> Any: ...
    @property
    def beams(self) -> Any: ...
    @property
    def joints(self) -> Any: ...
    @property
    def coordinates(self) -> Floats: ...
    def __getattr__(self, table: str) -> Any:
        """The items of another table by name."""


class OutputStates(Protocol):
    """k output instants (``femb.recording.frames.Frames``).

    time (k,) s, coordinates q (k, n_q), velocities v (k, n_v), inputs u (k, n_u), accelerations a (k, n_v), multipliers
    (k, n_c) of least norm, coordinates of all joints (k, m), unwrapped, and their rates.
    """

    @property
    def time(self) -> Floats: ...
    @property
    def q(self) -> Floats: ...
    @property
    def v(self) -> Floats: ...
    @property
    def u(self) -> Floats: ...
    @property
    def a(self) -> Floats: ...
    @property
    def multipliers(self) -> Floats: ...
    @property
    def coordinates(self) -> Floats: ...
    @property
    def coordinate_rates(self) -> Floats: ...


class LinearPoint(Protocol):
    """A state with its accelerations and reactions, for rows of linear outputs
    (``femb.small_motions.point.OperatingPoint``).

    t : s. system : the System. u (n_u,), q (n_q,), v (n_v,), a (n_v,), multipliers (n_c,).
    """

    @property
    def t(self) -> float: ...
    @property
    def system(self) -> Any: ...
    @property
    def u(self) -> Floats: ...
    @property
    def q(self) -> Floats: ...
    @property
    def v(self) -> Floats: ...
    @property
    def a(self) -> Floats: ...
    @property
    def multipliers(self) -> Floats: ...
    @property
    def jacobian(self) -> Sparse:
        """J (n_c, n_v)."""

    def feedback_of(self, batch: Any) -> list[Any]:
        """Derivatives of the inputs of a batch that are functions of the state, beyond those in its tangents."""

    def reaction_stiffness(self, multipliers: Floats | None = None) -> Sparse:
        """d(J^T lambda)/dq H (n_v, n_v) at constant multipliers, by default those of the point."""

    def input_components(self) -> Iterator[tuple[Any, int, str]]:
        """The components of u of loads and motors: batch, index in u, and name."""

    def input_unit(self, k: int) -> str:
        """The unit of component k of u."""

    def force_of(self, batch: Any, k: int) -> Floats:
        """The derivative (n_v,), N and N m, of the force of a batch by input k."""

    def by_input(self, of: Callable[[Floats], Floats], k: int) -> Floats:
        """The derivative by input k of a function of the inputs (n_u,)."""
