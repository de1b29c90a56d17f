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


def make_row(
    layout: Layout, number: int, spec: tuple[Any, ...], first: Station, second: Station, constant: float, **more: Any
) -> Row:
    """The row of a primitive between two stations whose axes are those of a joint."""
    word, *axes = spec
    of_first, of_second = first.axes, second.axes
    parts: dict[str, Any] = {"first_point": first.offset, "second_point": second.offset}
    if word == "point":
        parts["first_axis"] = np.eye(3)[axes[0]]
    elif word == "dot1":
        parts |= {"first_axis": of_first[:, axes[0]], "second_axis": of_second[:, axes[1]]}
    elif word == "dot2":
        parts["first_axis"] = of_first[:, axes[0]]
    elif word == "angle":
        parts |= {
            "first_axis": of_first[:, X],
            "first_axis_2": of_first[:, Y],
            "second_axis": of_second[:, X],
        }
    return Row(number, PRIMITIVES[word], first.frame, second.frame, constant=constant, **parts, **more)


PRIMITIVES = {
    "point": primitives.POINT,
    "distance": primitives.DISTANCE,
    "dot1": primitives.DOT1,
    "dot2": primitives.DOT2,
    "angle": primitives.ANGLE,
    "orientation": primitives.ORIENTATION,
}


def row_words(spec: tuple[Any, ...]) -> str:
    """What a row holds, for messages."""
    word, *axes = spec
    if word == "point":
        return f"position {'xyz'[axes[0]]}"
    if word == "dot1":
        return f"axis {'xyz'[axes[0]]} across axis {'xyz'[axes[1]]}"
    if word == "dot2":
        return f"offset along axis {'xyz'[axes[0]]}"
    if word == "component":
        return f"component {axes[0] + 1}"
    return str(word)
