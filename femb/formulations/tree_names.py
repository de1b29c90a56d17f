"""Names of the coordinates of a joint tree: of states of a linearisation and of the reduced form's matrices."""

from collections.abc import Mapping

from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import as_numbers, shown
from femb.formulations.joint_tree import JointTree


def coordinate_names(tree: JointTree) -> list[str]:
    """Names (n_u,) of the coordinates, in the order of the speeds."""
    layout = tree.layout
    names = [""] * tree.n_u
    bodies = {frame: f"bodies.{name}" for name, frame in layout.bodies.items()}
    for each in tree.frames:
        owner = f"joints.{each.joint}" if each.joint else bodies.get(each.frame, layout.frames[each.frame].label)
        words = ["xyz"[k] if each.joint is None else f"stroke_{'xyz'[k]}" for k in each.strokes]
        turns = each.u.stop - each.u.start - len(words)
        words += [f"turn_{'xyz'[k]}" for k in range(turns)]
        names[each.u] = [f"{owner}.{word}" for word in words]
    for number, place in tree.joint_speeds.items():
        joint = next(name for name, joint in layout.joints.items() if joint.part.start <= number < joint.part.stop)
        where = layout.joints[joint]
        names[place] = f"joints.{joint}.{where.coordinates[number - where.part.start].name}"
    names[tree.internal[1]] = [each.name for each in layout.internal]
    return names


def position_names(tree: JointTree) -> tuple[str, ...]:
    """Names (n_q,) of all of q; of a spherical joint or a free body the turn is a quaternion."""
    names, out = coordinate_names(tree), [""] * tree.n_q
    for frame in tree.frames:
        own = names[frame.u]
        if frame.q.stop - frame.q.start > len(own):
            title = own[-1].rpartition(".")[0]
            own = [*own[:-3], *(f"{title}.quaternion_{k}" for k in range(4))]
        out[frame.q] = own
    out[tree.internal[0]] = names[tree.internal[1]]
    return tuple(out)


def speed_names(tree: JointTree) -> tuple[str, ...]:
    """Names (n_u,) of the speeds."""
    return tuple(f"{name} rate" for name in coordinate_names(tree))


def given_by_name(
    word: str, values: ArrayLike | Mapping[str, float] | None, start: Floats, names: tuple[str, ...]
) -> Floats:
    """An array of numbers by name, of all of them, or of the start."""
    if values is None:
        return start.copy()
    if isinstance(values, Mapping):
        out = start.copy()
        for name, value in values.items():
            if name not in names:
                raise ModelError(f"reduced_matrices: {word}: got {shown(name)}, wanted names of {', '.join(names)}")
            out[names.index(name)] = value
        return out
    found = as_numbers(values)
    if found is None or found.shape != start.shape:
        raise ModelError(
            f"reduced_matrices: {word}: got {shown(values)}, wanted {len(start)} numbers: {', '.join(names)}"
        )
    return found.copy()
