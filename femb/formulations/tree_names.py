"""Names of the coordinates of a joint tree, for states of a linearisation and matrices of the reduced form."""

from collections.abc import Mapping

from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import given_numbers, shown
from femb.formulations.joint_tree import JointTree
from femb.formulations.joint_tree_kernels import REVOLUTE, UNIVERSAL
from femb.formulations.tree_frame import TreeFrame
from femb.layout.layout import Layout


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
