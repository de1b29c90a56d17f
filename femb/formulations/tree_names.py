"""Names of the coordinates of a joint tree, for states of a linearisation and matrices of the reduced form."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import given_numbers, shown
from femb.formulations.contract import Transformed
from femb.formulations.joint_tree import JointTree
from femb.formulations.joint_tree_kernels import REVOLUTE, UNIVERSAL
from femb.formulations.tree_frame import TreeFrame
from femb.layout.element import TrialError
from femb.layout.layout import Layout
from femb.numerics.newton import largest, newton
from femb.system.block_lu import Factors


def joint_words(layout: Layout, frame: TreeFrame) -> list[str]:
    """Names of the strokes, then of the one or two angles, of the joint of a frame; none for a spherical joint."""
    assert frame.joint is not None
    coordinates = layout.joints[frame.joint].coordinates
    strokes = {coordinate.first[0]: coordinate.name for coordinate in coordinates if not coordinate.is_angle}
    angles = [coordinate.name for coordinate in coordinates if coordinate.is_angle]
    unnamed = {REVOLUTE: ["angle"], UNIVERSAL: ["first_angle", "second_angle"]}.get(frame.rotation, [])
    return [strokes.get(axis, "xyz"[axis]) for axis in frame.strokes] + (angles or unnamed)


def coordinate_names(tree: JointTree) -> list[str]:
    """Names (n_u,) of the coordinates, in the order of the speeds."""
    layout = tree.layout
    names = [""] * tree.n_u
    bodies = {frame: f"bodies.{name}" for name, frame in layout.bodies.items()}
    for frame in tree.frames:
        owner = f"joints.{frame.joint}" if frame.joint else bodies.get(frame.frame, layout.frames[frame.frame].label)
        words = ["xyz"[k] if frame.joint is None else f"stroke_{'xyz'[k]}" for k in frame.strokes]
        turns = frame.u.stop - frame.u.start - len(words)
        words += [f"turn_{'xyz'[k]}" for k in range(turns)]
        names[frame.u] = [f"{owner}.{word}" for word in words]
    for number, index in tree.joint_speeds.items():
        joint = next(name for name, joint in layout.joints.items() if joint.part.start <= number < joint.part.stop)
        coordinates, part = layout.joints[joint].coordinates, layout.joints[joint].part
        names[index] = f"joints.{joint}.{coordinates[number - part.start].name}"
    names[tree.internal[1]] = [coordinate.name for coordinate in layout.internal]
    return names


def position_names(tree: JointTree) -> tuple[str, ...]:
    """Names (n_q,) of the coordinates q; the rotation of a spherical joint or a free body is a quaternion."""
    names, result = coordinate_names(tree), [""] * tree.n_q
    for frame in tree.frames:
        frame_names = names[frame.u]
        if frame.q.stop - frame.q.start > len(frame_names):
            title = frame_names[-1].rpartition(".")[0]
            frame_names = [*frame_names[:-3], *(f"{title}.quaternion_{k}" for k in range(4))]
        result[frame.q] = frame_names
    result[tree.internal[0]] = names[tree.internal[1]]
    return tuple(result)


def speed_names(tree: JointTree) -> tuple[str, ...]:
    """Names (n_u,) of the speeds."""
    return tuple(f"{name} rate" for name in coordinate_names(tree))


def given_by_name(
    word: str, values: ArrayLike | Mapping[str, float] | None, start: Floats, names: tuple[str, ...]
) -> Floats:
    """A copy of ``start`` (n,) with values by name, or an array (n,) of all values. Raises ModelError."""
    if values is None:
        return start.copy()
    if isinstance(values, Mapping):
        result = start.copy()
        for name, value in values.items():
            if name not in names:
                raise ModelError(f"reduced_matrices: {word}: got {shown(name)}, wanted names of {', '.join(names)}")
            result[names.index(name)] = value
        return result
    return given_numbers(values, len(start), f"reduced_matrices: {word}", f": {', '.join(names)}").copy()


# Base class of formulations in coordinates of a joint tree: the rows that remain constraints.

PROJECTION_TOLERANCE, PROJECTION_ITERATIONS = 1e-13, 10


class TreeForm(Transformed):
    """A System in coordinates of its joint tree.

    The rows of drivers and of engaged latches, which belong to no joint of the tree, are retained as constraints.
    retained : indices of these n_c rows in the System's multipliers.
    """

    def _select_rows(self, tree: JointTree) -> None:
        idle = {latch.row for latch in self.layout.latches if not latch.engaged(self.system.discrete)}
        rows = [row for row in tree.retained_rows if row not in idle]
        self.retained: Ints = np.asarray(self.layout.row_c[rows], dtype=np.int64)
        self.n_c = len(rows)

    def _all_multipliers(self, multipliers: Floats) -> Floats:
        """The System's multipliers (s, system.n_c), with zero for the rows of joints."""
        result = np.zeros((len(multipliers), self.system.n_c))
        result[:, self.retained] = multipliers
        return result

    def projected(self, u: Floats, q: Floats, v: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) projected onto the retained rows in the metric of the mass matrix, or of its ``factors``
        where given. Raises TrialError."""
        if not self.n_c:
            return q, v

        def gaps(q: Floats) -> Floats:
            result: Floats = self.system.constraints(u[None], *self.to_system(q[None], v[None]))[0][0, self.retained]
            return result

        def retract(q: Floats, x: Floats, part: float) -> Floats:
            new: Floats = q + part * self.rates(q[None], x[None])[0]
            self.normalise(new)
            return new

        end = newton(
            q,
            gaps,
            lambda it: self._correction(u, it.x, it.residual),
            retract,
            lambda it: it.within(PROJECTION_TOLERANCE),
            iterations=PROJECTION_ITERATIONS,
            residual_size=largest,
        )
        if not end.size <= 100.0 * PROJECTION_TOLERANCE:
            raise TrialError("the drivers could not be followed")
        q = end.x
        rates = self.system.constraint_rates(u[None], *self.to_system(q[None], v[None]))[0, self.retained]
        return q, v + self._correction(u, q, rates)

    def rates(self, q: Floats, v: Floats) -> Floats:
        """q' (s, n_q) at s states."""
        raise NotImplementedError

    def normalise(self, q: Floats) -> float:
        """Scale quaternions to unit length, in place."""
        raise NotImplementedError

    def _correction(self, u: Floats, q: Floats, gap: Floats) -> Floats:
        """The smallest change of speeds, in the metric of the mass, that changes the retained rows by -gap."""
        raise NotImplementedError

    def budget_rates(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s, n_w): power and rates of momentum of loads, dampers and drivers, by the columns of the budget."""
        full = None if multipliers is None else self._all_multipliers(multipliers)
        return self.system.budget_rates(u, *self.to_system(q, v), full)
