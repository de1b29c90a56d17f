"""Tables of the rows and coordinates of joints: primitives, and the axes of the two ends between which they act."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.joint import columns as primitives
from femb.elements.joint.constraint_set import ZERO, ConstraintRow
from femb.layout.layout import Layout, Station
from femb.numerics import rotations

X, Y, Z = range(3)
UNIT_VECTORS = np.eye(3)
# Rows: the primitive, then its axes of the first and of the second end.
SPHERICAL = (("point", X), ("point", Y), ("point", Z))
PARALLEL = (("dot1", X, Z), ("dot1", Y, Z))
LOCK = (("dot1", X, Y), ("dot1", Y, Z), ("dot1", Z, X))
LINE = (("dot2", X), ("dot2", Y))
PLANE = (("dot2", Z),)


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of a joint: its name and its definition.

    An angle is atan2(s e_i(a).e_j(b), e_i(c).e_j(d)), with axes e_i of the first and e_j of the second end, sign s,
    first (a, c) and second (b, d). A stroke is e_i(a).d, with first (a,) and d from the first to the second point.
    """

    name: str
    first: tuple[int, ...]
    second: tuple[int, ...] = ()
    sign: float = 1.0

    @property
    def is_angle(self) -> bool:
        """Whether it is an angle (rad) and not a length (m)."""
        return bool(self.second)

    def value(self, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> float:
        """The angle, rad within pi, or the stroke, m, at positions (3,) and quaternions (4,) of the joint's ends."""
        axes = rotations.rotation_matrix(first[1])
        if not self.is_angle:
            return float(axes[:, self.first[0]] @ (second[0] - first[0]))
        other = rotations.rotation_matrix(second[1])
        sine, cosine = (axes[:, i] @ other[:, j] for i, j in zip(self.first, self.second, strict=True))
        return float(np.arctan2(self.sign * sine, cosine))


ANGLE = Coordinate("angle", (Y, X), (X, X))
STROKE = Coordinate("stroke", (Z,))


@dataclass(frozen=True)
class Primitive:
    """The type of a row of a joint's table. code : its number in ``constraint_kernels.row`` and in
    ``constraint_tangent_kernels.row_tangent``. axes : the fields of Row for the axes that its row of the table lists.
    words : its description in messages; {} stands for the letter of an axis."""

    code: int
    axes: tuple[str, ...] = ()
    words: str = ""


PRIMITIVES = {
    "point": Primitive(primitives.POINT, ("inertial",), "position {}"),
    "distance": Primitive(primitives.DISTANCE),
    "dot1": Primitive(primitives.DOT1, ("first_axis", "second_axis"), "axis {} across axis {}"),
    "dot2": Primitive(primitives.DOT2, ("first_axis",), "offset along axis {}"),
}


def make_row(
    layout: Layout, number: int, spec: tuple[Any, ...], first: Station, second: Station, constant: float, **more: Any
) -> ConstraintRow:
    """The row of a table entry ``spec`` between two stations with the axes of a joint."""
    primitive = PRIMITIVES[spec[0]]
    axes = {"first_axis": ZERO, "second_axis": ZERO}
    for field, axis in zip(primitive.axes, spec[1:], strict=True):
        if field == "inertial":
            axes["first_axis"] = UNIT_VECTORS[axis]
        else:
            axes[field] = (first if field == "first_axis" else second).axes[:, axis]
    given = (first.offset, axes["first_axis"], ZERO, second.offset, axes["second_axis"], constant)
    row = ConstraintRow(number, primitive.code, first.frame, second.frame, *given)
    return row._replace(**more) if more else row


def component_rows(
    numbers: list[int], first: Station, second: Station, axes: Iterable[Floats], frame: str
) -> list[ConstraintRow]:
    """Rows for the components, along axes (3,), of the vector between two stations; row k follows input k.

    frame : "inertial", or "first" for axes that are fixed in the frame of the first station.
    """
    primitive = primitives.DOT2 if frame == "first" else primitives.POINT
    parts: dict[str, Any] = {"first_point": first.offset, "second_point": second.offset}
    return [
        ConstraintRow(number, primitive, first.frame, second.frame, first_axis=axis, follows=k, **parts)
        for k, (number, axis) in enumerate(zip(numbers, axes, strict=True))
    ]


@cache
def row_words(spec: tuple[Any, ...]) -> str:
    """The description of a row, for messages."""
    word, *axes = spec
    if word == "component":
        return f"component {axes[0] + 1}"
    return PRIMITIVES[word].words.format(*("xyz"[axis] for axis in axes)) or str(word)
