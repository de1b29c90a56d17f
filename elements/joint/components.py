"""The joint of constant components of the vector between two points, along general directions."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Coordinates, OneOf, Rows, Unit
from femb.base.values import frozen_array, shown
from femb.elements.joint.constraint_set import ConstraintRow
from femb.elements.joint.joint import Joint
from femb.elements.joint.rows import component_rows
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.numerics import rotations


@dataclass(frozen=True, eq=False)
class Components(Joint):
    """Constant components of the vector from the first to the second point along general directions: the second point
    is in a plane (one direction), on a line (two) or at a point (three) relative to the first; both ends may move.

    directions : one to three, linearly independent, of any length: (3,) or a list of them. frame : in which they are
    fixed, "inertial", or "first" for the axes of the first end. values : the components (m) along the unit vectors, by
    default those at the start.

    Reaction: the forces on the two points are equal and opposite along the directions. Their couple acts on the
    inertial frame, or on the first end in the frame "first".

    Raises ModelError: no direction, linearly dependent directions, a wrong number of values.
    Source: docs/theory/constraints.md, equations (4) and (7); Thompson, AIAA 2011-6277, section IV, X^T r = 0.
    """

    kind: ClassVar[str] = "components"
    needs_axis: ClassVar[bool] = False

    directions: Annotated[Rows, Unit("")] = None
    values: Annotated[Coordinates, Unit("m")] = None
    frame: Annotated[str, OneOf(("inertial", "first"))] = "inertial"

    def check(self, check: Checks) -> None:
        super().check(check)
        wanted = "one to three directions of three numbers each, not in one plane"
        given = check.array("directions", lambda x: x.ndim in (1, 2) and x.shape[-1] == 3 and 1 <= x.size <= 9, wanted)
        if given is None:
            return
        rows = given.reshape(-1, 3)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.all(lengths > 0.0):
            check.fail("directions", f"got {shown(self.directions)}: a direction must not be zero")
            return
        if np.linalg.svd(rows / lengths, compute_uv=False)[-1] < 1e-6:
            check.fail("directions", f"got {shown(self.directions)}, wanted {wanted}")
            return
        object.__setattr__(self, "directions", frozen_array(rows / lengths))
        if self.values is not None:
            wanted = f"one a direction, {len(rows)} (m)"
            values = check.array("values", lambda x: x.size == len(rows) and bool(np.isfinite(x).all()), wanted)
            if values is not None:
                object.__setattr__(self, "values", frozen_array(np.ravel(values)))

    @property
    def acts_on_attitude(self) -> bool:  # type: ignore[override]
        """Whether the ends need axes."""
        return self.frame == "first"

    @property
    def rows(self) -> tuple[tuple[Any, ...], ...]:  # type: ignore[override]
        """One row for every direction."""
        return tuple(("component", k) for k in range(len(self.directions)))

    def other_pose(self, *args: Any) -> None:
        """None, whatever ``args``: it does not determine the pose of a body."""

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        rows = layout.joints[self.name].rows
        first, second = layout.station(self.first), layout.station(self.second)
        axes = self.directions @ first.axes.T if self.frame == "first" else self.directions
        return component_rows(rows, first, second, axes, self.frame)

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        """Constants, one for every direction."""
        (start, axes), (end, _) = layout.pose(layout.station(self.first)), layout.pose(layout.station(self.second))
        d = rotations.rotate_back(axes, end - start) if self.frame == "first" else end - start
        values = self.values if self.values is not None else self.directions @ d
        label = f"joints.{self.name}.values"
        return tuple(Input(3, lambda t, value=value: (value, 0.0, 0.0), label=label) for value in values.tolist())
