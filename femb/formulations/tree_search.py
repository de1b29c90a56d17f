"""The order of the frames of a joint tree: a search along the joints, parents before children."""

from collections import deque
from collections.abc import Callable, Iterable

from femb.base.errors import ModelError
from femb.layout.layout import Layout


def hung(
    layout: Layout, roots: Iterable[int], refused: Callable[[str, str], ModelError]
) -> list[tuple[int, int, str | None]]:
    """Frame, place of its parent in the list, -1 where that is fixed, and joint (None of a free root) of all frames.

    roots : frames in the order in which they are taken as free roots. refused : the error to raise for a closed loop,
    from why the model is refused and from what could be done about it.
    """
    joints: list[list[str]] = [[] for _ in layout.frames]
    for name, joint in layout.joints.items():
        for end in (joint.first, joint.second):
            joints[end.frame].append(name)
    place = {k: -1 for k, frame in enumerate(layout.frames) if frame.freedom == 0}
    parent: dict[int, tuple[int, str]] = {}
    result: list[tuple[int, int, str | None]] = []
    todo = deque(place)
    used: set[str] = set()
    for root in [None, *roots]:
        if root is not None:
            if root in place:
                continue
            place[root] = len(result)
            result.append((root, -1, None))
            todo.append(root)
        while todo:
            above = todo.popleft()
            for name in joints[above]:
                joint = layout.joints[name]
                below = joint.second.frame if joint.first.frame == above else joint.first.frame
                if name in used:
                    continue
                used.add(name)
                if below in place:
                    loop = ", ".join(f"joints.{each}" for each in _loop(parent, above, below, name))
                    raise refused(f"{loop} close a loop", "or open the loop")
                place[below] = len(result)
                parent[below] = (above, name)
                result.append((below, place[above], name))
                todo.append(below)
    return result


def _loop(parent: dict[int, tuple[int, str]], first: int, second: int, closing: str) -> list[str]:
    """Names of the joints of the loop that one closes."""
    paths = []
    for frame in (first, second):
        path = []
        while frame in parent:
            frame, name = parent[frame]
            path.append(name)
        paths.append(path)
    return [closing, *(path for path in paths[0] + paths[1] if (path in paths[0]) != (path in paths[1]))]
