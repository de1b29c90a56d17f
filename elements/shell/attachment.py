"""Nodes of a shell that others attach to, and their attachment to bodies, beams and other shells.

Source: docs/theory/shell.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import as_numbers, nearest, shown, whole_number
from femb.elements.modal.flexible_body import Interface
from femb.elements.shell.mesh import ON_NODE, ShellMesh
from femb.layout.layout import Layout, Station
from femb.layout.views import ModelView, StartPoses
from femb.numerics import rotations


@dataclass(frozen=True, eq=False)
class ShellPoint(Interface):
    """A named node of a shell, a body named SHELL.POINT. Joints, beams, springs, loads and sensors attach to it.

    A Shell adds it to the model. of : the name of the shell. interface : its name there.
    """

    kind: ClassVar[str] = "shell point"
    in_case_files: ClassVar[bool] = False

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        if self.name not in layout.bodies:
            layout.bodies[self.name] = layout.add_frame(self.name, *placement.bodies[self.name])


def attached(
    path: tuple[str, ...],
    mesh: ShellMesh,
    hosts: Mapping[str, tuple[str | None, str | None]],
    neighbours: Mapping[str, tuple[str, str]],
    layout: Layout,
    model: ModelView,
    positions: Floats,
    quaternions: Floats,
) -> list[Station | None]:
    """The stations of the nodes that hosts carry, None of the others; positions (n, 3) m, quaternions (n, 4).

    path : of the field, for messages. hosts, neighbours : by the sets of nodes, as in ``Shell``.
    Raises ModelError: a node on two hosts, a beam or a shell that has no node there.
    """
    stations: list[Station | None] = [None] * len(positions)
    carriers: list[tuple[str, int, int]] = []
    for word, (body, beam) in hosts.items():
        for node in mesh.sets[word].tolist():
            on_body = layout.bodies[body] if body is not None else None
            host = on_body if on_body is not None else _node_of_beam(path, layout, str(beam), word, positions[node])
            carriers.append((word, node, host))
    for word, (shell, edge) in neighbours.items():
        nodes = mesh.sets[word]
        found = _nodes_of_shell((*path, word), layout, model, shell, edge, positions[nodes], ON_NODE * mesh.size)
        carriers += [(word, node, host) for node, host in zip(nodes.tolist(), found, strict=True)]
    for word, node, host in carriers:
        frame, known = layout.frames[host], stations[node]
        if known is not None and known.frame != host:
            what = f"shares the node at {shown(np.round(positions[node], 9).tolist())} with another edge, whose host "
            raise ModelError.at((*path, word), f"{what}differs: a node is on one")
        offset = rotations.rotate_back(frame.quaternion, positions[node] - frame.position)
        turn = rotations.multiply(rotations.conjugate(frame.quaternion), quaternions[node])
        stations[node] = Station(host, offset, turn)
    return stations


def _node_of_beam(path: tuple[str, ...], layout: Layout, beam: str, word: str, at: Floats) -> int:
    """The frame of the node of a beam that carries a node. Raises ModelError where no node of the beam is near."""
    stations = layout.beams[beam].stations
    points = layout.poses(stations)[0]
    along = np.linalg.norm(np.diff(points, axis=0), axis=1).max()
    distance = np.linalg.norm(points - at, axis=1)
    nearest_node = int(distance.argmin())
    step = points[min(nearest_node + 1, len(points) - 1)] - points[max(nearest_node - 1, 0)]
    slip = abs((at - points[nearest_node]) @ step) / np.linalg.norm(step)
    if slip > ON_NODE * along:
        what = f"the nodes of beam {beam!r} are up to {slip:.3g} m along it from those of {word}: give both as many"
        raise ModelError.at((*path, word), what)
    return stations[nearest_node].frame


def _nodes_of_shell(
    path: tuple[str, ...], layout: Layout, model: ModelView, name: str, edge: str, places: Floats, near: float
) -> list[int]:
    """The frames of the nodes of a neighbour that are at places (k, 3). Raises ModelError where there is none."""
    shells: dict[str, Any] = {item.name: item for item in model.items() if item.table == "shells"}
    if name not in shells:
        names = ", ".join(map(repr, shells))
        raise ModelError.at(path, f"got {name!r}, which is no shell{nearest(name, shells)}; shells: {names}")
    sets = shells[name].geometry.sets
    if edge not in sets:
        raise ModelError.at(path, shells[name].geometry.without(edge, f"shell {name!r}"))
    stations = [layout.shells[name].stations[node] for node in sets[edge].tolist()]
    distances = np.linalg.norm(layout.poses(stations)[0] - places[:, None], axis=2)
    found, least = distances.argmin(axis=1), distances.min(axis=1)
    if least.max() > near:
        at = np.round(places[least.argmax()] + layout.origin, 9).tolist()
        raise ModelError.at(
            path,
            f"the node at {at} is {least.max():.3g} m from the nearest of {edge} of shell {name!r}: the edges meet "
            "node by node, give both as many elements",
        )
    return [stations[k].frame for k in found.tolist()]


def check_attach(check: Checks, name: str, mesh: ShellMesh, attach: Mapping[str, Any] | None) -> None:
    """Check what the sets of nodes of a shell are attached to; ``name`` : the shell's."""
    if attach is None or "attach" in check.bad:
        return
    for word, given in attach.items():
        if word not in mesh.sets:
            check.fail(f"attach.{word}", mesh.without(word, "this shell"))
        elif isinstance(given, Mapping) and _names(given, "beam"):
            continue
        elif isinstance(given, Mapping) and _names(given, "shell", "edge"):
            if given["shell"] == name:
                check.fail(f"attach.{word}", f"got {name!r}, this shell itself: name another")
        elif not isinstance(given, str):
            wanted = "the name of a body, { beam = NAME } or { shell = NAME, edge = EDGE }"
            check.fail(f"attach.{word}", f"got {shown(given)}, wanted {wanted}")
    if check.bad:
        return
    owner: dict[int, str] = {}
    # whether corners on beams and on other shells are one node is known when these have theirs
    undecided = {word for word, given in attach.items() if isinstance(given, Mapping)}
    for word in attach:
        for node in mesh.sets[word].tolist():
            other = owner.setdefault(node, word)
            if attach[other] != attach[word] and not {other, word} & undecided:
                what = f"shares a node with {other}, which is on another host: a node is on one"
                check.fail(f"attach.{word}", what)
                return


def check_points(check: Checks, mesh: ShellMesh, attach: Mapping[str, Any], points: Mapping[str, Any] | None) -> None:
    """Check the named points of a shell: each is a node of its own, which nothing else holds."""
    if points is None or "points" in check.bad:
        return
    used: dict[int, str] = {}
    on_hosts = attach if "attach" not in check.bad else {}
    held = {int(node): word for word in on_hosts for node in mesh.sets.get(word, ())}
    for word, given in points.items():
        node = node_at(mesh, given)
        if isinstance(node, str):
            check.fail(f"points.{word}", node)
        elif node in used:
            check.fail(f"points.{word}", f"is the node of points.{used[node]}: one name is enough")
        elif node in held:
            check.fail(f"points.{word}", f"is on {held[node]!r}, which attach fixes to a host: name the host")
        else:
            used[node] = word


def node_at(mesh: ShellMesh, given: Any) -> int | str:
    """The number of a node by an edge, a corner, its number or its position (m), or the fault of what is given."""
    if isinstance(given, str):
        return mesh.middle(given) if given in mesh.sets else mesh.without(given, "this shell")
    if whole_number(given):
        return int(given) if 0 <= given < len(mesh.nodes) else (
            f"got {given}, wanted the number of a node from 0 to {len(mesh.nodes) - 1}"
        )  # fmt: skip
    at = as_numbers(given)
    if at is None or at.shape != (3,) or not np.all(np.isfinite(at)):
        return f"got {shown(given)}, wanted an edge, a corner, the number of a node or its position (m)"
    distance = np.linalg.norm(mesh.nodes - at, axis=1)
    node = int(distance.argmin())
    if distance[node] > ON_NODE * mesh.size:
        place = np.round(mesh.nodes[node], 9).tolist()
        return f"got {shown(given)}, where no node is; the nearest, {node}, is at {place}"
    return node


def _names(given: Mapping[str, Any], *words: str) -> bool:
    """Whether a mapping has these words alone, each with a name."""
    return set(given) == set(words) and all(isinstance(given[word], str) for word in words)
