"""Building a tree body by body, by names; hinges of several degrees of freedom bring their massless segments.

tree = TreeBuilder(gravity=(0, 0, -9.81))
tree.base("bus", mass=400.0, inertia=(90.0, 80.0, 70.0))               # leave out for the ground
tree.add("yoke", "bus", at=(0, 0.8, 0), hinge="x", mass=6.0, inertia=(1, 0.2, 1), stiffness=12.0)
tree.add("panel", "yoke", at=(0, 1, 0), hinge="xz", mass=9.0, inertia=(3, 0.5, 3), center_of_mass=(0, 1, 0))
tree.build()                                                           # coordinates yoke.x, panel.x, panel.z
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.checks import array_problem, as_numbers, number_problem, shown
from femb.base.errors import ModelError, Problem
from femb.base.types import Floats, Vector
from femb.formulations.hamiltonian.tree import GROUND, Base, Tree
from femb.numerics.rotations import normalise, rotation_matrix

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
GROUND_NAME = "ground"


@dataclass(frozen=True)
class Hinge:
    """One degree of freedom: a rotation about an axis, or a translation along it (components of the outer body)."""

    axis: Vector
    sliding: bool = False


class TreeBuilder:
    """Collects bodies and makes the numbered Tree of them; every wrong word is a ModelError naming the body."""

    def __init__(self, gravity: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        self.gravity = gravity
        self._base: Base | None = None
        self._rows: list[dict[str, Any]] = []
        self._bodies: dict[str, tuple[int, Floats]] = {}

    def base(self, name: str, mass: float, inertia: Any, center_of_mass: ArrayLike = (0.0, 0.0, 0.0)) -> str:
        """The free body on which branches hang; returns its name. Without it the base is the ground."""
        if self._base is not None or self._rows:
            raise ModelError.at(("bodies", name), "the base comes first, and there is one; a tree has one root")
        self._base = Base(name, mass, inertia, center_of_mass)
        self._bodies[name] = (GROUND, np.zeros(3))
        return name

    def add(
        self,
        name: str,
        parent: str | None = None,
        *,
        hinge: str | Hinge | Sequence[Hinge],
        mass: float,
        inertia: Any,
        center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
        at: ArrayLike = (0.0, 0.0, 0.0),
        from_point: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
    ) -> str:
        """A body on a parent (a body, or the base where that is None); returns its name.

        hinge: letters for turns about x, y, z, inner first ("zxy" is a ball), a Hinge, or a sequence of them. at: the
        joint's point in the parent's frame; from_point: the same point in this body's frame; rotation: quaternion of
        this body's axes in the parent's, all coordinates zero. mass, inertia (about the mass centre) and center_of_mass
        as in ``Base``. stiffness, rest, damping: one number, or one a degree of freedom.
        """
        place = ("bodies", name)
        parts = self._parts(place, hinge)
        count = len(parts)
        shapes = {"center_of_mass": (center_of_mass, (3,)), "at": (at, (3,)), "from_point": (from_point, (3,))}
        shapes |= {"rotation": (rotation, (4,))}
        problems = [
            Problem((*place, word), text)
            for word, (value, shape) in shapes.items()
            if (text := array_problem(value, shape))
        ]
        if text := number_problem(mass):
            problems.append(Problem((*place, "mass"), text))
        matrix = _inertia(inertia)
        if matrix is None:
            wanted = "a number, 3 principal moments or a 3 x 3 matrix (kg m2)"
            problems.append(Problem((*place, "inertia"), f"got {shown(inertia)}, wanted {wanted}"))
        springs = {}
        for word, value in (("stiffness", stiffness), ("rest", rest), ("damping", damping)):
            numbers = as_numbers(value)
            if numbers is None or numbers.shape not in ((), (1,), (count,)):
                problems.append(Problem((*place, word), f"got {shown(value)}, wanted one number or {count}"))
            else:
                springs[word] = np.broadcast_to(numbers, (count,))
        problems += self._parent_problems(place, parent)
        if problems:
            raise ModelError(*problems)
        parent = self._root() if parent is None else parent
        row, origin = self._bodies.get(parent, (GROUND, np.zeros(3)))
        first, joint = np.asarray(at, dtype=float) - origin, np.asarray(from_point, dtype=float)
        mounting = rotation_matrix(normalise(rotation))
        for d, (label, part) in enumerate(parts):
            last = d == count - 1
            self._rows.append(
                {
                    "names": f"{name}.{label}",
                    "parent": row,
                    "axis": part.axis,
                    "sliding": part.sliding,
                    "at": first if d == 0 else np.zeros(3),
                    "mounting": mounting if d == 0 else np.eye(3),
                    "mass": mass if last else 0.0,
                    "center": np.asarray(center_of_mass, dtype=float) - joint if last else np.zeros(3),
                    "inertia": matrix if last else np.zeros((3, 3)),
                    "origin": -joint if last else np.zeros(3),
                    **{word: values[d] for word, values in springs.items()},
                }
            )
            row = len(self._rows) - 1
        self._bodies[name] = (row, joint)
        return name

    def build(self) -> Tree:
        """The Tree; ModelError if it has none or cannot move as described."""
        if not self._rows:
            raise ModelError.at(("bodies",), "got none on a hinge; add at least one")
        columns = {word: [row[word] for row in self._rows] for word in self._rows[0]}
        names = tuple(columns.pop("names"))
        arrays = {word: np.array(values) for word, values in columns.items()}
        bodies = {name: row for name, (row, _) in self._bodies.items() if row != GROUND}
        return Tree(names=names, **arrays, gravity=self.gravity, base=self._base, bodies=bodies)

    def _root(self) -> str:
        return GROUND_NAME if self._base is None else self._base.name

    def _parent_problems(self, place: tuple[str, ...], parent: str | None) -> list[Problem]:
        if place[1] in self._bodies:
            return [
                Problem(
                    place,
                    f"already hangs on a hinge; a second one, to {parent!r}, would close a loop, which no tree "
                    "form can hold. Cut the loop, or use a formulation with multipliers",
                )
            ]
        if parent is None or parent in self._bodies or (self._base is None and parent == GROUND_NAME):
            return []
        there = ", ".join(map(repr, self._bodies)) or "none yet"
        return [Problem((*place, "parent"), f"got {parent!r}; bodies so far: {there}. Add the parent first")]

    @staticmethod
    def _parts(place: tuple[str, ...], hinge: Any) -> list[tuple[str, Hinge]]:
        """(label, Hinge) of each degree of freedom, inner first."""
        if isinstance(hinge, str) and hinge and set(hinge) <= set(AXES):
            doubled = len(set(hinge)) < len(hinge)
            return [(f"{letter}{d + 1}" if doubled else letter, Hinge(AXES[letter])) for d, letter in enumerate(hinge)]
        parts = [hinge] if isinstance(hinge, Hinge) else hinge
        if isinstance(parts, str | bytes) or not isinstance(parts, Sequence) or not parts:
            parts = [None]
        if not all(isinstance(part, Hinge) for part in parts):
            raise ModelError.at(
                (*place, "hinge"),
                f"got {shown(hinge)}, wanted letters of 'xyz', a Hinge, or several. A body without a hinge is part of "
                "its parent: add its mass there",
            )
        for part in parts:
            if text := array_problem(part.axis, (3,)):
                raise ModelError.at((*place, "hinge"), f"axis: {text}")
        if isinstance(hinge, Hinge):
            return [("slide" if hinge.sliding else "turn", hinge)]
        return [(str(d + 1), part) for d, part in enumerate(parts)]


def _inertia(value: Any) -> Floats | None:
    """The matrix of a number, 3 moments or a matrix; whether a body has it is checked with the tree."""
    array = as_numbers(value)
    if array is None or array.shape not in ((), (3,), (3, 3)) or not np.all(np.isfinite(array)):
        return None
    return array if array.ndim == 2 else np.diag(np.broadcast_to(array, (3,)))
