"""Interfaces and node sets as they are named in calls and commands."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from femb.analysis.fem.model import FeModel, MeshInterface
from femb.base.errors import ModelError, Problem
from femb.base.types import Ints

PLANE = 1e-6  # distance of nodes on a plane, of the model's size
FORM = (
    "wanted NAME=NODES, NODES being a node set, node numbers as 3,7,9, or a plane as x=0.5; then :mean for the mean "
    "motion of the nodes (RBE3) in place of a rigid set, and @X,Y,Z for the position in m"
)


def interfaces_of(
    model: FeModel, given: Sequence[str | MeshInterface] | Mapping[str, str]
) -> tuple[MeshInterface, ...]:
    """Interfaces from texts as "tip=right:mean@1,0,0", or from names and what follows them; the first is the root.

    Raises ModelError: names the interface, and what there is.
    """
    texts = [f"{name}={nodes}" for name, nodes in given.items()] if isinstance(given, Mapping) else list(given)
    return tuple(each if isinstance(each, MeshInterface) else _interface(model, each) for each in texts)


def _interface(model: FeModel, text: str) -> MeshInterface:
    name, sign, rest = text.partition("=")
    rest, _, where = rest.partition("@")
    nodes, _, kind = rest.partition(":")
    if not (sign and name.strip() and nodes.strip()) or kind.strip() not in ("", "rigid", "mean"):
        raise ModelError.at(("interfaces",), f"got {text!r}, {FORM}")
    position = None
    if where:
        try:
            position = np.array([float(each) for each in where.split(",")])
        except ValueError:
            position = np.zeros(0)
        if position.shape != (3,):
            raise ModelError.at(("interfaces", name), f"got the position {where!r}, {FORM}")
    found = nodes_named(model, nodes.strip(), name)
    return MeshInterface(name.strip(), found, "mean" if kind.strip() == "mean" else "rigid", position)


def nodes_named(model: FeModel, text: str, name: str) -> Ints:
    """Rows (m,) of the nodes of a set, of a plane, or with numbers. Raises ModelError."""
    if text in model.node_sets:
        return np.unique(model.node_sets[text])
    plane = re.fullmatch(r"([xyz])\s*=\s*(\S+)", text)
    known = model.dofs[:, 0] >= 0
    if plane is not None:
        try:
            value = float(plane[2])
        except ValueError:
            raise ModelError.at(("interfaces", name), f"got the plane {text!r}, {FORM}") from None
        away = np.abs(model.nodes[:, "xyz".index(plane[1])] - value)
        found = np.flatnonzero(known & (away <= PLANE * model.length))
        if not len(found):
            nearest = model.nodes[known, "xyz".index(plane[1])]
            nearest = nearest[np.argmin(np.abs(nearest - value))]
            raise ModelError.at(
                ("interfaces", name), f"no node is on the plane {text}; the nearest is at {plane[1]}={nearest:g} m"
            )
        return found
    if re.fullmatch(r"[0-9,\s]+", text):
        wanted = [int(each) for each in text.replace(" ", "").split(",") if each]
        row = {int(number): k for k, number in enumerate(model.numbers)}
        lacking = [each for each in wanted if each not in row]
        if lacking:
            raise ModelError.at(("interfaces", name), f"node {lacking[0]} is not in the model")
        return np.array([row[each] for each in wanted])
    sets = ", ".join(sorted(model.node_sets)) or "no node sets"
    raise ModelError(Problem(("interfaces", name), f"got the nodes {text!r}, the model has {sets}; {FORM}"))
