"""The carrier of each part of a scene: the page moves a part with it where it enlarges the carrier's deflection."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from femb.base.quantity import Group
from femb.elements.beam.results import BeamResults
from femb.elements.body.results import BodyResults
from femb.elements.shell.results import ShellResults
from femb.numerics import rotations
from femb.results.results import Results

# The connections are the ends of beams, joints, and the interfaces of flexible bodies. The angles of joints in a closed
# loop belong to the true deflections: what such a joint carries stays at its true place.

Place = tuple[int, int | None]
"""Number of a part - bodies first, then beams - and the node of a beam, `INTERFACE` or None of a body."""
Edge = tuple[Place, Place, bool]
"""Two places, and whether a joint connects them."""
NO_SHELLS: Mapping[str, ShellResults] = {}
INTERFACE = -1  # one that moves with the deformation of a flexible body; its own pose is that of its first interface
FLEXIBLE = "modal"


def carriers_of(
    results: Results,
    bodies: Mapping[str, BodyResults],
    beams: Mapping[str, BeamResults],
    shells: Mapping[str, ShellResults] = NO_SHELLS,
) -> list[dict[str, Any]]:
    """A row for each part that another one carries, the carrier's own row before it. Parts are the bodies, the shells
    and the beams, in this order.

    ``part`` is carried at its node ``by`` on the part ``on`` at its node ``at``; a node is null of a body, and of a
    beam whose carrier is known without the node. ``flexible`` : the one of the two that is a flexible body which holds
    the other at an interface; ``rest`` : pose of the other in its axes, undeformed: position and quaternion.
    """
    numbers = numbers_of_parts(bodies, shells, beams)
    listed = list(bodies.values())
    edges = list(_connections(results, bodies, beams, shells, numbers))
    tree = _tree(edges, _roots(results, bodies, numbers))
    looped = _looped(edges, tree)
    rows: list[dict[str, Any]] = []
    entry: dict[int, int] = {}  # of the loops that a part is in: the part that carries them
    for part, number in tree.items():
        if number is None:
            entry[part] = part
            continue
        (on, at), (_, by), joint = _towards(edges[number], part)
        entry[part] = entry[on] if part in looped else part
        if joint and part in looped:
            rows.append({"part": part, "on": entry[part], "at": None, "by": None})
            continue
        row: dict[str, Any] = {"part": part, "on": on}
        row |= {"at": at if on >= len(bodies) else None, "by": by if part >= len(bodies) else None}
        if max(on, part) < len(bodies) and INTERFACE in (at, by):
            carrier, carried = (on, part) if at == INTERFACE else (part, on)
            row |= {"flexible": carrier, "rest": _rest(listed[carrier], listed[carried])}
        rows.append(row)
    return rows


def numbers_of_parts(*tables: Mapping[str, Group]) -> dict[str, int]:
    return {group.path: number for number, group in enumerate(group for table in tables for group in table.values())}


def groups_of(results: Results, paths: Sequence[str], carriers: Sequence[Mapping[str, Any]]) -> list[str]:
    """The group of every part: an appendage, named by the part that begins it, or the part itself.

    An appendage is what hangs on a parent of the results' appendages, or on a part that nothing carries.
    """
    parents = {f"bodies/{each.parent}" for each in results.appendages.values()}
    on = {row["part"]: row["on"] for row in carriers}

    def first(part: int) -> int:
        while part in on and paths[part] not in parents:
            if paths[on[part]] in parents or on[part] not in on:
                return part
            part = on[part]
        return part

    return [paths[first(part)].partition("/")[2] for part in range(len(paths))]


def _tree(edges: Sequence[Edge], roots: Iterable[int]) -> dict[int, int | None]:
    """The parts in the order in which they are reached from the roots, with the number of the edge to each; None of a
    root."""
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for number, ((first, _), (second, _), _) in enumerate(edges):
        neighbours.setdefault(first, []).append((second, number))
        neighbours.setdefault(second, []).append((first, number))
    tree: dict[int, int | None] = {}
    for root in roots:
        if root in tree:
            continue
        tree[root] = None
        waiting = deque([root])
        while waiting:
            for other, number in neighbours.get(waiting.popleft(), ()):
                if other not in tree:
                    tree[other] = number
                    waiting.append(other)
    return tree


def _looped(edges: Sequence[Edge], tree: Mapping[int, int | None]) -> set[int]:
    """The parts whose edge of the tree is in a closed loop; a second edge between the same places closes none."""
    above, depth, used = dict[int, int](), dict[int, int](), set[tuple[Place, Place]]()
    for part, number in tree.items():
        if number is None:
            depth[part] = 0
            continue
        on, by, _ = _towards(edges[number], part)
        above[part], depth[part] = on[0], depth[on[0]] + 1
        used |= {(on, by), (by, on)}
    found: set[int] = set()
    for first, second, _ in edges:
        if (first, second) in used:
            continue
        a, b = first[0], second[0]
        while a != b:
            a, b = (a, b) if depth[a] >= depth[b] else (b, a)
            found.add(a)
            a = above[a]
    return found


def _towards(edge: Edge, part: int) -> Edge:
    """An edge that ends at a part."""
    first, second, joint = edge
    return (first, second, joint) if second[0] == part else (second, first, joint)


def _roots(results: Results, bodies: Mapping[str, BodyResults], numbers: Mapping[str, int]) -> Iterator[int]:
    """Numbers of parts, best ones first: the ground, bodies with appendages, other bodies, beams."""
    parents = {each.parent for each in results.appendages.values()}
    first = sorted(bodies, key=lambda name: (not bodies[name].fixed, name not in parents))
    yield from (numbers[f"bodies/{name}"] for name in first)
    yield from numbers.values()


def _connections(
    results: Results,
    bodies: Mapping[str, BodyResults],
    beams: Mapping[str, BeamResults],
    shells: Mapping[str, ShellResults],
    numbers: Mapping[str, int],
) -> Iterator[Edge]:
    """Pairs of places that move together, or whose relative motion is that of a joint."""

    def place(end: Mapping[str, Any]) -> Place | None:
        path = f"bodies/{end['body']}" if "body" in end else f"beams/{end['beam']}"
        return (numbers[path], end.get("node")) if path in numbers else None

    for name, beam in beams.items():
        own = numbers[f"beams/{name}"]
        for word, end in beam.attachments.items():
            if (on := place(end)) is not None:
                yield on, (own, 0 if word == "start" else int(beam.element_length.size)), False
        if not beam.attachments and beam.deflection_body in bodies:
            yield (numbers[f"bodies/{beam.deflection_body}"], None), (own, None), False
    for name, shell in shells.items():
        if shell.deflection_body in bodies:
            yield (numbers[f"bodies/{shell.deflection_body}"], None), (numbers[f"shells/{name}"], None), False
    for name, body in bodies.items():
        own = numbers[f"bodies/{name}"]
        parent = name.rpartition(".")[0]
        if parent in bodies and _flexible(bodies[parent]):
            yield (numbers[f"bodies/{parent}"], INTERFACE), (own, None), False
        if parent in shells and "reference_position" in body:  # a point of a shell
            away = np.linalg.norm(shells[parent].reference_position - body.reference_position, axis=-1)
            yield (numbers[f"shells/{parent}"], int(np.argmin(away))), (own, None), False
        for word, end in body.attachments.items():
            if (on := place(end)) is not None:
                yield on, (own, INTERFACE if word.startswith("interfaces.") else None), False
    for joint in results.joints.values():
        ends = [on for end in joint.attachments.values() if (on := place(end)) is not None]
        if len(ends) == 2:
            yield ends[0], ends[1], True


def _flexible(body: BodyResults) -> bool:
    return body.attributes.get("kind") == FLEXIBLE


def _rest(carrier: BodyResults, body: BodyResults) -> list[float]:
    """Position (3,) and quaternion (4,) of a body in the axes of its carrier, undeformed."""
    known = all("reference_position" in each and "reference_quaternion" in each for each in (carrier, body))
    (p, q), (r, s) = (
        (each.reference_position, each.reference_quaternion) if known else (each.position[0], each.quaternion[0])
        for each in (carrier, body)
    )
    pose = rotations.rotate_back(q, r - p), rotations.multiply(rotations.conjugate(q), s)
    return [float(x) for x in np.concatenate(pose)]
