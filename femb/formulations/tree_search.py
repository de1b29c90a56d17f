"""Order of the frames of a joint tree, parents before children, by a breadth-first search along the joints."""

from collections import deque
from collections.abc import Callable, Iterable

from femb.base.errors import ModelError
from femb.layout.layout import Layout


def ordered_frames(
    layout: Layout, roots: Iterable[int], refused: Callable[[str, str], ModelError]
) -> list[tuple[int, int, str | None]]:
    """Frame, index of its parent in the list (-1 for a fixed frame), and joint (None for a free root) of all frames.

    roots : candidates for free roots, in order of preference. refused : makes the error for a closed loop from the
    reason and a remedy.
    """
    joints: list[list[str]] = [[] for _ in layout.frames]
    for name, joint in layout.joints.items():
        for end in (joint.first, joint.second):
            joints[end.frame].append(name)
    index = {k: -1 for k, frame in enumerate(layout.frames) if frame.freedom == 0}
    parent: dict[int, tuple[int, str]] = {}
    result: list[tuple[int, int, str | None]] = []
    queue = deque(index)
    used: set[str] = set()
    for root in [None, *roots]:
        if root is not None:
            if root in index:
                continue
            index[root] = len(result)
            result.append((root, -1, None))
            queue.append(root)
        while queue:
            above = queue.popleft()
            for name in joints[above]:
                joint = layout.joints[name]
                below = joint.second.frame if joint.first.frame == above else joint.first.frame
                if name in used:
                    continue
                used.add(name)
                if below in index:
                    loop = ", ".join(f"joints.{member}" for member in _loop(parent, above, below, name))
                    raise refused(f"{loop} close a loop", "or open the loop")
                index[below] = len(result)
                parent[below] = (above, name)
                result.append((below, index[above], name))
                queue.append(below)
    return result


def _loop(parent: dict[int, tuple[int, str]], first: int, second: int, closing: str) -> list[str]:
    """Names of the joints of the loop that the joint ``closing`` closes."""
    paths = []
    for frame in (first, second):
        path = []
        while frame in parent:
            frame, name = parent[frame]
            path.append(name)
        paths.append(path)
    return [closing, *(path for path in paths[0] + paths[1] if (path in paths[0]) != (path in paths[1]))]
