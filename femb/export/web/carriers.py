"""What carries each part of a scene: the page moves a part with its carrier where it enlarges the carrier's deflection.

The connections are the ends of beams, joints, and the interfaces of flexible bodies. Of a closed loop they form an open
chain: the last joint of the loop opens where deflections are enlarged.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from femb.numerics import rotations
from femb.results.beam import Beam
from femb.results.groups import Body
from femb.results.results import Results

Place = tuple[int, int | None]
"""Number of a part - bodies first, then beams - and the node of a beam, `INTERFACE` or None of a body."""
INTERFACE = -1  # one that moves with the deformation of a flexible body; its own pose is that of its first interface
FLEXIBLE = "modal"


def carriers_of(results: Results, bodies: Mapping[str, Body], beams: Mapping[str, Beam]) -> list[dict[str, Any]]:
    """A row for each part that another one carries, the carrier's own row before it.

    ``part`` is carried at its node ``by`` on the part ``on`` at its node ``at``; a node is null of a body, and of a
    beam whose carrier is known without the node. ``flexible`` : the one of the two that is a flexible body which holds
    the other at an interface; ``rest`` : pose of the other in its axes, undeformed: position and quaternion.
    """
    numbers = {f"bodies/{name}": k for k, name in enumerate(bodies)}
    numbers |= {f"beams/{name}": len(bodies) + k for k, name in enumerate(beams)}
    listed = list(bodies.values())
    neighbours: dict[int, list[tuple[Place, Place]]] = {}
    for first, second in _connections(results, bodies, beams, numbers):
        neighbours.setdefault(first[0], []).append((first, second))
        neighbours.setdefault(second[0], []).append((second, first))
    rows: list[dict[str, Any]] = []
    reached: set[int] = set()
    for root in _roots(results, bodies, numbers):
        if root in reached:
            continue
        reached.add(root)
        waiting = deque([root])
        while waiting:
            part = waiting.popleft()
            for (_, at), (other, by) in neighbours.get(part, ()):
                if other in reached:
                    continue
                reached.add(other)
                waiting.append(other)
                row: dict[str, Any] = {"part": other, "on": part}
                row |= {"at": at if part >= len(bodies) else None, "by": by if other >= len(bodies) else None}
                if max(part, other) < len(bodies) and INTERFACE in (at, by):
                    carrier, carried = (part, other) if at == INTERFACE else (other, part)
                    row |= {"flexible": carrier, "rest": _rest(listed[carrier], listed[carried])}
                rows.append(row)
    return rows


def _roots(results: Results, bodies: Mapping[str, Body], numbers: Mapping[str, int]) -> Iterator[int]:
    """Numbers of parts, best ones first: the ground, bodies with appendages, other bodies, beams."""
    parents = {each.parent for each in results.appendages.values()}
    first = sorted(bodies, key=lambda name: (not bodies[name].fixed, name not in parents))
    yield from (numbers[f"bodies/{name}"] for name in first)
    yield from numbers.values()


def _connections(
    results: Results, bodies: Mapping[str, Body], beams: Mapping[str, Beam], numbers: Mapping[str, int]
) -> Iterator[tuple[Place, Place]]:
    """Pairs of places that move together, or whose relative motion is that of a joint."""

    def place(end: Mapping[str, Any]) -> Place | None:
        path = f"bodies/{end['body']}" if "body" in end else f"beams/{end['beam']}"
        return (numbers[path], end.get("node")) if path in numbers else None

    for name, beam in beams.items():
        own = numbers[f"beams/{name}"]
        for word, end in beam.attachments.items():
            if (on := place(end)) is not None:
                yield on, (own, 0 if word == "start" else int(beam.element_length.size))
        if not beam.attachments and beam.deflection_body in bodies:
            yield (numbers[f"bodies/{beam.deflection_body}"], None), (own, None)
    for name, body in bodies.items():
        own = numbers[f"bodies/{name}"]
        parent = name.rpartition(".")[0]
        if parent in bodies and _flexible(bodies[parent]):
            yield (numbers[f"bodies/{parent}"], INTERFACE), (own, None)
        for word, end in body.attachments.items():
            if (on := place(end)) is not None:
                yield on, (own, INTERFACE if word.startswith("interfaces.") else None)
    for joint in results.joints.values():
        ends = [on for end in joint.attachments.values() if (on := place(end)) is not None]
        if len(ends) == 2:
            yield ends[0], ends[1]


def _flexible(body: Body) -> bool:
    return body.attributes.get("kind") == FLEXIBLE


def _rest(carrier: Body, body: Body) -> list[float]:
    """Position (3,) and quaternion (4,) of a body in the axes of its carrier, undeformed."""
    known = all("reference_position" in each and "reference_quaternion" in each for each in (carrier, body))
    (p, q), (r, s) = (
        (each.reference_position, each.reference_quaternion) if known else (each.position[0], each.quaternion[0])
        for each in (carrier, body)
    )
    pose = rotations.rotate_back(q, r - p), rotations.multiply(rotations.conjugate(q), s)
    return [float(x) for x in np.concatenate(pose)]
