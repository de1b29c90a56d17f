"""A tree of bodies in relative coordinates, and its placement. Source: docs/theory/relative.md, section 1."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats
from femb.base.values import array_problem, as_numbers, frozen_array, shown
from femb.formulations.relative_angles import rotation_123


@dataclass(frozen=True)
class RelativeTree:
    """The constants of a tree of n bodies: names (n); parent (n,), -1 for the inertial frame, parents before children;
    joint (n, 3): q_k, from the parent's mass centre to the joint, parent axes, m; arm (n, 3): from the joint to the
    mass centre, body axes, m.

    parent_axes, body_axes (n, 3, 3) : the joint's axes as columns, in axes of the parent and of the body; by default
    the same. slides_in_body (n,) bool : whether the joint's point slides along the body's axes, not the parent's:
    r_k = r_P + A_k (r_arm - s_k). universal (n,) : 1 if the first two speeds of the rotation are rates about z
    of the parent's and then of the body's axes, for all choices of speeds; 2 for the opposite order; else 0.

    Raises ModelError for wrong shapes, and for parents that do not precede their children (as in a closed loop).
    """

    names: tuple[str, ...]
    parent: Any
    joint: Any
    arm: Any
    parent_axes: Any = None
    body_axes: Any = None
    slides_in_body: Any = None
    universal: Any = None

    def __post_init__(self) -> None:
        names, n = tuple(self.names), len(self.names)
        for word, default in (
            ("parent_axes", np.tile(np.eye(3), (n, 1, 1))),
            ("body_axes", np.tile(np.eye(3), (n, 1, 1))),
            ("slides_in_body", np.zeros(n)),
            ("universal", np.zeros(n)),
        ):
            if getattr(self, word) is None:
                object.__setattr__(self, word, default)
        shapes = {"joint": (n, 3), "arm": (n, 3), "parent_axes": (n, 3, 3), "body_axes": (n, 3, 3)}
        shapes |= {"slides_in_body": (n,), "universal": (n,)}
        problems = [
            Problem(("bodies", word), text)
            for word, shape in shapes.items()
            if (text := array_problem(getattr(self, word), shape))
        ]
        parent = as_numbers(self.parent)
        if parent is None or parent.shape != (n,) or np.any(parent != np.round(parent)):
            problems.append(Problem(("bodies", "parent"), f"got {shown(self.parent)}, wanted {n} body numbers"))
        else:
            problems += [
                Problem(
                    ("bodies", names[k], "parent"),
                    f"got {int(parent[k])}, wanted -1 (the inertial frame) or a body before it: number parents before "
                    "children; a closed loop has no place in a tree, cut it at a joint",
                )
                for k in range(n)
                if not -1 <= parent[k] < k
            ]
        if problems:
            raise ModelError(*problems)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "parent", tuple(int(h) for h in parent))  # type: ignore[union-attr]
        for word in shapes:
            object.__setattr__(self, word, frozen_array(getattr(self, word)))

    @property
    def n(self) -> int:
        """Number of bodies; each has 6 speeds, translation first."""
        return len(self.names)

    def path(self, k: int) -> list[int]:
        """Bodies from the root to k, k included."""
        path = [k]
        while self.parent[path[-1]] >= 0:
            path.append(self.parent[path[-1]])
        return path[::-1]


@dataclass(frozen=True)
class Placement:
    """Relative coordinates of the bodies: s (n, 3), m, and angles (n, 3), rad, or relative attitudes R (n, 3, 3),
    parent to body components, for speeds that are not angle rates."""

    s: Floats
    angles: Any = None
    R: Any = None

    def rotations(self) -> Floats:
        """R (n, 3, 3)."""
        if self.R is not None:
            return np.asarray(self.R)
        if self.angles is None:
            raise ModelError("a placement needs angles or relative attitudes R; it has neither")
        return rotation_123(self.angles)
