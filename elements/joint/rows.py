"""Rows and coordinates of joints by tables: which primitives they are made of, between which axes of the two ends."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.elements.joint import constraint_kernels as primitives
from femb.elements.joint.constraint_set import Row
from femb.layout.layout import Layout, Station

X, Y, Z = range(3)
# Rows by primitive and by the axes of the first and of the second end that they are made of.
SPHERICAL = (("point", X), ("point", Y), ("point", Z))
PARALLEL = (("dot1", X, Z), ("dot1", Y, Z))
LOCK = (("dot1", X, Y), ("dot1", Y, Z), ("dot1", Z, X))
LINE = (("dot2", X), ("dot2", Y))
PLANE = (("dot2", Z),)


@dataclass(frozen=True)
class Coordinate:
    """A coordinate of a joint: its name, and what it is.

    An angle is atan2(s e_i(a).e_j(b), e_i(c).e_j(d)) of axes of the first (i) and the second end (j); a stroke is
    e_i(a).d, with d from the first to the second point.
    """

    name: str
    first: tuple[int, ...]
    second: tuple[int, ...] = ()
    sign: float = 1.0

    @property
    def is_angle(self) -> bool:
        """Whether it is an angle (rad) and not a length (m)."""
        return bool(self.second)


ANGLE = Coordinate("angle", (Y, X), (X, X))
STROKE = Coordinate("stroke", (Z,))


@dataclass(frozen=True)
class Primitive:
    """What a row of a joint's table is made of: its ``code``, by which ``constraint_kernels.row`` and
    ``constraint_tangent_kernels.second`` know it, the fields of Row that are axes of the first or of the second end,
    as many as its row of the table numbers, and its words in messages, with the letters of these axes put in."""

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
) -> Row:
    """The row of a primitive between two stations whose axes are those of a joint."""
    word, *axes = spec
    primitive = PRIMITIVES[word]
    parts: dict[str, Any] = {"first_point": first.offset, "second_point": second.offset}
    for field, axis in zip(primitive.axes, axes, strict=True):
        if field == "inertial":
            parts["first_axis"] = np.eye(3)[axis]
        else:
            parts[field] = (first if field == "first_axis" else second).axes[:, axis]
    return Row(number, primitive.code, first.frame, second.frame, constant=constant, **parts, **more)


def row_words(spec: tuple[Any, ...]) -> str:
    """What a row holds, for messages."""
    word, *axes = spec
    if word == "component":
        return f"component {axes[0] + 1}"
    return PRIMITIVES[word].words.format(*("xyz"[axis] for axis in axes)) or str(word)
