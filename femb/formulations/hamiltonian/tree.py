"""Frozen, numbered description of a tree of rigid segments, one degree of freedom a segment.

Segment k hangs by its hinge on segment ``parent[k]``, or on the base where that is -1; parents are numbered before
children. Its frame has its origin at the hinge and, at rotation q about the unit vector ``axis`` or translation q
along it,

    R_k = R_parent mounting_k rotation(axis_k, q_k)          O_k = O_parent + R_parent at_k                  revolute
    R_k = R_parent mounting_k                                O_k = O_parent + R_parent (at_k + mounting_k axis_k q_k)

Rotation matrices take segment components to inertial ones, as everywhere in femb. The base is the ground, or a free
body (``Base``). Hinges of several degrees of freedom are strings of segments of which all but the last have neither
mass nor inertia; ``femb.formulations.hamiltonian.builder`` inserts them.

Source: docs/theory/hamiltonian.md, section 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.checks import Checks, as_numbers, frozen_array, inertia_matrix, number_problem, shown
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints, Vector
from femb.formulations.hamiltonian.columns import pack

GROUND = -1


@dataclass(frozen=True)
class Base:
    """A free body on which branches hang.

    mass (kg), center_of_mass (m, base axes, from the origin of its frame), inertia (kg m2, about the mass centre, base
    axes; a number, 3 principal moments or a matrix). Raises ModelError for one that no body has.
    """

    name: str
    mass: float
    inertia: Any
    center_of_mass: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        with Checks(self, "bodies", self.name) as check:
            check.positive("mass")
            matrix, problem = inertia_matrix(self.inertia)
            if problem:
                check.fail("inertia", problem)
            object.__setattr__(self, "inertia", matrix)


@dataclass(frozen=True)
class Tree:
    """n segments; every array has a row a segment, and is stored read-only.

    names : of the coordinates, for example "panel" or, of several at a hinge, "panel.x". parent (n,): see the module.
    axis (n, 3): hinge axes, segment components; scaled to unit length. at (n, 3): hinge in the parent's frame, m.
    mass (n,), kg. center (n, 3): mass centre, from the hinge, segment axes. inertia (n, 3, 3): about the mass centre,
    segment axes, kg m2. sliding (n,): prismatic instead of revolute hinges. mounting (n, 3, 3): segment to parent
    components at q = 0. stiffness, rest, damping (n,): springs and dampers at the hinges (N m/rad or N/m, rad or m,
    N m s/rad or N s/m), each acting on its own coordinate. gravity (3,), m/s2. base: a free body, or None for the
    ground. origin (n, 3): origin of a body's own frame, from the hinge, segment axes, m; points of loads and positions
    in results refer to it. bodies: name to number of the segments that carry bodies; by default all, by their names.

    Raises ModelError, with everything that is wrong: shapes, numbers, closed loops, inertias of no body, and segments
    that would move without moving any mass.
    """

    names: tuple[str, ...]
    parent: Ints
    axis: Floats
    at: Floats
    mass: Floats
    center: Floats
    inertia: Floats
    sliding: Any = None
    mounting: Any = None
    stiffness: Any = None
    rest: Any = None
    damping: Any = None
    origin: Any = None
    gravity: Vector = (0.0, 0.0, 0.0)
    base: Base | None = None
    bodies: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from femb.formulations.hamiltonian.tree_checks import check_tree

        names = tuple(self.names)
        n, put = len(names), object.__setattr__
        put(self, "names", names)
        zeros, eye = np.zeros(n), np.broadcast_to(np.eye(3), (n, 3, 3))
        defaults = {"mounting": eye, "stiffness": zeros, "rest": zeros, "damping": zeros, "origin": np.zeros((n, 3))}
        for word, default in defaults.items():
            if getattr(self, word) is None:
                put(self, word, default)
        put(self, "sliding", frozen(np.zeros(n) if self.sliding is None else self.sliding, bool))
        problems = check_tree(self)
        if problems:
            raise ModelError(*problems)
        for word in ("axis", "at", "mass", "center", "inertia", "gravity", *defaults):
            put(self, word, frozen_array(getattr(self, word)))
        put(self, "parent", frozen(self.parent, np.int64))
        put(self, "axis", frozen_array(self.axis / np.linalg.norm(self.axis, axis=1, keepdims=True)))
        put(self, "bodies", dict(self.bodies) or {name: k for k, name in enumerate(names)})

    @property
    def n(self) -> int:
        """Number of coordinates of the hinges."""
        return len(self.names)

    @property
    def floating(self) -> bool:
        """Whether the base is a free body."""
        return self.base is not None

    def index(self, name: str) -> int:
        """Number of a coordinate; ModelError lists those there are."""
        if name not in self.names:
            there = ", ".join(map(repr, self.names[:8])) + (", ..." if self.n > 8 else "")
            raise ModelError(f"no hinge coordinate is named {shown(name)}; there are {there}")
        return self.names.index(name)

    def body(self, name: str) -> int:
        """Number of the segment with the frame of a body, -1 for the base; ModelError lists those there are."""
        if self.base is not None and name == self.base.name:
            return GROUND
        if name not in self.bodies:
            there = ", ".join(map(repr, list(self.bodies)[:8])) + (", ..." if len(self.bodies) > 8 else "")
            raise ModelError(f"no segment carries a body named {shown(name)}; there are {there}")
        return self.bodies[name]

    def array(self, values: ArrayLike | Mapping[str, float] | None, what: str = "coordinates") -> Floats:
        """(n,) of numbers by coordinate name (others zero), of an array, or of None (zeros)."""
        if isinstance(values, Mapping):
            named = np.zeros(self.n)
            for name, value in values.items():
                if text := number_problem(value):
                    raise ModelError(f"{what}, {name!r}: {text}")
                named[self.index(name)] = value
            return named
        out: Floats | None = np.zeros(self.n) if values is None else as_numbers(values)
        if out is None or out.shape != (self.n,):
            raise ModelError(f"{what}: got {shown(values)}, wanted {self.n} numbers, one a hinge coordinate")
        return out

    @cached_property
    def parent_rows(self) -> Ints:
        """(n + 1,): parents with the base as row 0, segment k as row k + 1."""
        return frozen(np.append(0, self.parent + 1), np.int64)

    @cached_property
    def data(self) -> Floats:
        """(n + 1, columns.WIDTH): what the kernels read of the base (row 0) and the segments."""
        return frozen_array(pack(self))

    @cached_property
    def ancestors(self) -> Any:
        """B (n, n) bool: B[i, k] is true where i is k or inboard of it."""
        found = np.eye(self.n, dtype=bool)
        for k in range(self.n):
            if self.parent[k] != GROUND:
                found[:, k] |= found[:, self.parent[k]]
        return found


def frozen(value: Any, kind: Any) -> Any:
    """A read-only copy of whole numbers or truth values."""
    array = np.array(value, dtype=kind)
    array.flags.writeable = False
    return array
