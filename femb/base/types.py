"""Array types used in signatures, protocols that are tested often, and the shapes a description's fields must have."""

from dataclasses import dataclass
from inspect import get_annotations
from typing import Annotated, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Complexes = NDArray[np.complex128]
Sparse: TypeAlias = Any
"""A matrix of scipy.sparse, or an array of the package sparse, which have no types."""
ErrorScale: TypeAlias = tuple[Ints, Ints, Floats, float]
"""First component, size and absolute tolerance of groups of components, and the relative tolerance, as
``femb.numerics.kinematics.error_norm`` takes them."""
Turning: TypeAlias = tuple[Ints, int, float]
"""Places of rates of rotation in v, of how many numbers each, and the angular velocity by their size; no places where
turns of joints are not lost in long steps."""
NO_PLACES: Ints = np.zeros(0, dtype=np.int64)
Loop: TypeAlias = tuple[Any, ...]
"""The arguments of a compiled loop over steps, as ``femb.numerics.dop853_kernels`` describes them."""


class Ability(type(Protocol)):  # type: ignore[misc]
    """The class of protocols for which ``isinstance`` looks for members by their names, collected once.

    ``typing`` collects them anew at every test in some versions, which takes longer than a small kernel.
    """

    members: tuple[str, ...]

    def __init__(cls, name: str, bases: tuple[type, ...], own: dict[str, Any], **more: Any) -> None:
        super().__init__(name, bases, own, **more)
        inherited = (member for base in bases for member in getattr(base, "members", ()))
        names = (member for member in (*get_annotations(cls), *own) if not member.startswith("_"))
        cls.members = tuple(dict.fromkeys((*inherited, *names)))

    def __instancecheck__(cls, instance: object) -> bool:
        if not cls.__dict__["_is_protocol"]:
            return bool(super().__instancecheck__(instance))
        return all(hasattr(instance, member) for member in cls.members)


@dataclass(frozen=True)
class Shape:
    """Marks a field of a description as an array; None is any number of entries. Constructors, which store it
    read-only, and the schema of case files read this mark and the following ones."""

    dims: tuple[int | None, ...]
    nonzero: bool = False  # whether an array of zeros is refused, as with a direction
    unit: bool = False  # whether it is stored with the length 1


@dataclass(frozen=True)
class LowerBound:
    """Marks numbers of a field that are at least this, or above it where they are ``above``."""

    least: float
    above: bool = False


POSITIVE, NOT_NEGATIVE = LowerBound(0.0, above=True), LowerBound(0.0)


@dataclass(frozen=True)
class OneOf:
    """Marks a field as one of a few words."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Arguments:
    """Marks a function in Python with what it takes and returns, such as "(length, rate) -> N", for messages."""

    text: str


@dataclass(frozen=True)
class SeveralForms:
    """Marks a field that may be given in several forms; its class checks and converts it."""

    options: tuple[Any, ...]


@dataclass(frozen=True)
class Unit:
    """Marks a field with the SI unit of its numbers, such as "kg m2"; "" for numbers without a unit.

    stroke : the unit where the item acts on a stroke of a joint; ``text`` is then that for an angle. The numbers of a
    joint have those of its coordinates, one by one.
    entries : of a table, by its keys, the units of the numbers of a list one by one where they are not all ``text``.
    "value" in the unit of a profile's field stands for the unit of the values of the profile, which the field declares
    that contains the profile: none for a factor of a load, "rad" or "m" for a motion.
    """

    text: str
    stroke: str | None = None
    entries: tuple[tuple[str, tuple[str, ...]], ...] = ()


OWN_UNITS = Unit("own")
"""Marks a field whose numbers have different units; its meaning names them."""
Vector = Annotated[Any, Shape((3,))]
"""Three numbers; stored as a read-only float array of shape (3,)."""
Direction = Annotated[Any, Shape((3,), nonzero=True), Unit("")]
"""Three numbers without a unit, of any length but zero; stored as a read-only float array of shape (3,)."""
UnitVector = Annotated[Any, Shape((3,), nonzero=True, unit=True), Unit("")]
"""A direction that is stored with the length 1."""
Quaternion = Annotated[Any, Shape((4,), nonzero=True), Unit("")]
"""Four numbers, scalar first, not all zero; stored as a read-only float array of shape (4,)."""
Strains = Annotated[Any, Shape((4,)), OWN_UNITS]
"""Axial strain, twist and the curvatures about y and z; stored as a read-only float array of shape (4,)."""
Pair = Annotated[Any, Shape((2,))]
"""Two numbers; stored as a read-only float array of shape (2,)."""
Matrix = Annotated[Any, Shape((None, None)), Unit("own")]
"""A matrix of any size, whose numbers have units of their own."""
Matrix4 = Annotated[Any, Shape((4, 4))]
"""A 4 x 4 matrix; stored as a read-only float array."""
Matrix6 = Annotated[Any, Shape((6, 6))]
"""A 6 x 6 matrix; stored as a read-only float array."""
Matrix3 = Annotated[Any, Shape((3, 3))]
"""A 3 x 3 matrix; stored as a read-only float array."""
Numbers = Annotated[Any, SeveralForms((Annotated[Any, Shape((None,))],))]
"""A list of numbers, at least one."""
Rows = Annotated[Any, SeveralForms((Vector, Annotated[Any, Shape((None, 3))]))]
"""Three numbers, or rows of three."""
Points = Annotated[Any, SeveralForms((Annotated[Any, Shape((None, 3))],))]
"""Rows of three numbers, at least one; stored as a read-only float array of shape (n, 3)."""
Coefficients = Annotated[Any, SeveralForms((float, Annotated[Any, Shape((6,))]))]
"""A number, or six; these are stored as a read-only float array of shape (6,)."""
Coordinates = Annotated[Any, SeveralForms((float, *Numbers.__metadata__[0].options))]
"""A number, or a list of numbers."""
Inertia = Annotated[Any, SeveralForms((float, Vector, Matrix3)), Unit("kg m2")]
"""A number, three principal moments or a 3 x 3 matrix, kg m2."""
