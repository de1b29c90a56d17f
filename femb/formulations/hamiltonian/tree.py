"""Numbered description of a tree of rigid segments with one degree of freedom each.

The hinge of segment k connects it to segment ``parent[k]``, or to the base for -1; parents precede children.
The origin of its frame is at the hinge. For a rotation q about the unit vector ``axis`` or a translation q along it,

    R_k = R_parent mounting_k rotation(axis_k, q_k)          O_k = O_parent + R_parent at_k                  revolute
    R_k = R_parent mounting_k                                O_k = O_parent + R_parent (at_k + mounting_k axis_k q_k)

Rotation matrices take segment components to inertial ones, as everywhere in femb. The base is the ground, or a free
body (``Base``). A joint with several degrees of freedom is a chain of segments; all but the last have neither mass nor
inertia. ``femb.formulations.hamiltonian.system_tree`` makes the tree of a System.

Source: docs/theory/hamiltonian.md, section 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import frozen_array, given_numbers, number_problem, shown
from femb.formulations.hamiltonian.columns import pack

GROUND = -1


@dataclass(frozen=True, eq=False)
class Base:
    """A free body, the root of the tree.

    mass (kg), center_of_mass (3,) (m, base axes, from the origin of its frame), inertia (3, 3) (kg m2, about the mass
    centre, base axes).
    """

    name: str
    mass: float
    inertia: Floats
    center_of_mass: Floats


@dataclass(frozen=True, eq=False)
class Tree:
    """n segments; every array has one row for each segment.

    names : of the coordinates, 'joint.coordinate'. parent (n,): see the module. axis (n, 3): hinge axes, segment
    components, unit vectors. at (n, 3): hinge in the parent's frame, m. mass (n,), kg. center (n, 3): mass centre, from
    the hinge, segment axes. inertia (n, 3, 3): about the mass centre, segment axes, kg m2. sliding (n,): prismatic
    instead of revolute hinges. mounting (n, 3, 3): segment to parent components at q = 0. stiffness, rest, damping
    (n,): springs and dampers at the hinges (N m/rad or N/m, rad or m, N m s/rad or N s/m), each acting on its own
    coordinate. gravity (3,), m/s2. base: a free body, or None for the ground.
    """

    names: tuple[str, ...]
    parent: Ints
    axis: Floats
    at: Floats
    mass: Floats
    center: Floats
    inertia: Floats
    sliding: Any
    mounting: Floats
    stiffness: Floats
    rest: Floats
    damping: Floats
    gravity: Floats
    base: Base | None

    @property
    def n(self) -> int:
        """Number of coordinates of the hinges."""
        return len(self.names)

    @property
    def floating(self) -> bool:
        """Whether the base is a free body."""
        return self.base is not None

    def index(self, name: str) -> int:
        """Number of a coordinate. Raises ModelError with the names of existing coordinates."""
        if name not in self.names:
            there = ", ".join(map(repr, self.names[:8])) + (", ..." if self.n > 8 else "")
            raise ModelError(f"no hinge coordinate is named {shown(name)}; there are {there}")
        return self.names.index(name)

    def array(self, values: ArrayLike | Mapping[str, float] | None, what: str = "coordinates") -> Floats:
        """Array (n,) of values by coordinate name (others zero), of an array, or of None (zeros). Raises ModelError."""
        if isinstance(values, Mapping):
            named = np.zeros(self.n)
            for name, value in values.items():
                if text := number_problem(value):
                    raise ModelError(f"{what}, {name!r}: {text}")
                named[self.index(name)] = value
            return named
        return given_numbers(np.zeros(self.n) if values is None else values, self.n, what, ", one a hinge coordinate")

    @cached_property
    def parent_rows(self) -> Ints:
        """(n + 1,): rows of the parents, with the base as row 0 and segment k as row k + 1; read-only."""
        rows: Ints = np.append(0, self.parent + 1).astype(np.int64)
        rows.flags.writeable = False
        return rows

    @cached_property
    def data(self) -> Floats:
        """(n + 1, columns.N_COLUMNS): data of the base (row 0) and the segments for the kernels; read-only."""
        return frozen_array(pack(self))

    @cached_property
    def ancestors(self) -> Any:
        """B (n, n) bool: B[i, k] is true if i is k or inboard of k."""
        result = np.eye(self.n, dtype=bool)
        for k in range(self.n):
            if self.parent[k] != GROUND:
                result[:, k] |= result[:, self.parent[k]]
        return result
