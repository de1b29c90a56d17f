"""Flexible bodies for other simulators: the free modes of a whole satellite about its mass centre, in mean axes, or the
modes of each appendage with its root held.

Source: docs/theory/handover.md, sections 2 and 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from femb.analysis.handover.coordinates import check_count
from femb.analysis.handover.integrals import Integrals, integrals
from femb.analysis.modes.appendages import appendages, held_body, participation, rigid_motions, root_frame
from femb.analysis.modes.damping_ratios import ratio_of_modes
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.mode_rows import default_points, place_of, rows_of, stations
from femb.analysis.modes.solution import Solution, solution
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.marker import Place
from femb.layout.layout import Station
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.system.system import System

Points = Mapping[str, Place | str]


@dataclass(frozen=True, eq=False)
class Node:
    """A named point: position (3,) m from the body's point, displacement and rotation rows (6, k) by modes."""

    name: str
    position: Floats
    rows: Floats


@dataclass(frozen=True, eq=False)
class FlexibleBody:
    """k modes of unit mass of a body, in a frame at a point (3,) m, inertial, along axes (3, 3), columns.

    frequencies (k,) Hz. damping (k, k) 1/s : by the rates of modes. integrals : over the mass, about the point. nodes :
    named points. hub : position (3,) m, along the axes, of the hub's origin from the point. in_mean_axes : modes of the
    whole, without momentum.
    """

    name: str
    point: Floats
    axes: Floats
    frequencies: Floats
    damping: Floats
    integrals: Integrals
    nodes: tuple[Node, ...]
    hub: Floats
    in_mean_axes: bool


def mean_axes_body(
    model: "Model | System",
    count: int,
    *,
    held: str,
    start: str = "as_given",
    damping: float | None = None,
    points: Points | None = None,
) -> FlexibleBody:
    """The ``count`` lowest modes of a whole free satellite, about its mass centre, along the axes of the body ``held``.

    damping : ratio of every mode of an appendage with the hub held, by default as of ``hybrid_coordinates``; that of
    free modes follows from it. start, points : as there. Raises ModelError: as there; the satellite is not free, or a
    joint is.
    """
    found, hub = _of_rest(model, count, start, held)
    motion, layout = found.motion, found.motion.system.layout
    if found.free.rigid != 6 or found.free.count != 6:
        raise ModelError(
            f"modes in mean axes: wanted a free satellite of one piece, got {found.free.rigid} rigid-body motions and "
            f"{found.free.count - found.free.rigid} motions of joints without stiffness"
        )
    with_hub = motion.holding(hub)
    root = held_body(motion, held, hub)
    D = rigid_motions(motion, root.point, root.axes)
    first = motion.times(motion.mass, D[:, 0]) @ D, motion.times(motion.mass, D[:, 1]) @ D
    centre = np.array([first[1][5], -first[0][5], first[0][4]]) / first[0][0]
    point, shapes = root.point + root.axes @ centre, found.shapes.real
    inside = np.ones(motion.system.n_v, dtype=bool)
    of_hub = rows_of(motion, Station(hub), root.axes, shapes)
    named = stations(motion, default_points(motion, set(range(len(layout.frames)))) if points is None else points)
    return FlexibleBody(
        held,
        point,
        root.axes,
        np.abs(found.eigenvalues) / (2.0 * np.pi),
        _damping(with_hub, held, shapes - D @ of_hub, damping),
        integrals(motion, inside, shapes, point, root.axes),
        _nodes(motion, {held: Station(hub), **named}, point, root.axes, shapes),
        -centre,
        True,
    )


def appendage_bodies(
    model: "Model | System",
    count: int,
    *,
    held: str,
    start: str = "as_given",
    damping: float | None = None,
    points: Points | None = None,
) -> tuple[FlexibleBody, ...]:
    """Every appendage of a hub with its ``count`` lowest modes, about its root along the hub's axes.

    Arguments and errors as of ``hybrid_coordinates``; the root is the first node, points on the hub are left out.
    """
    check_count(count)
    found, hub = _of_rest(model, 1, start, held)
    motion = found.motion.holding(hub)
    origin = held_body(motion, held, hub).point
    found_bodies = []
    for appendage in appendages(motion):
        part = participation(motion, appendage, hub, count, damping)
        point, axes = root_frame(motion, appendage, hub)
        inside = ~motion.only(*appendage.frames).held
        named = stations(motion, default_points(motion, set(appendage.frames)) if points is None else points)
        own = {name: station for name, station in named.items() if station.frame in appendage.frames}
        found_bodies.append(
            FlexibleBody(
                part.name,
                point,
                axes,
                part.frequencies,
                np.diag(4.0 * np.pi * part.damping * part.frequencies),
                integrals(motion, inside, part.shapes, point, axes),
                (
                    Node("root", np.zeros(3), np.zeros((6, len(part.frequencies)))),
                    *_nodes(motion, own, point, axes, part.shapes),
                ),
                axes.T @ (origin - point),
                False,
            )
        )
    return tuple(found_bodies)


def _of_rest(model: "Model | System", count: int, start: str, held: str) -> tuple[Solution, int]:
    """Modes of a state at rest, and the number of the hub's frame."""
    found = solution(model, count, start=start)
    if found.motion.spinning:
        raise ModelError("flexible body: the state is a rotation, in which its modes are not real: start = 'as_given'")
    bodies = found.motion.system.layout.bodies
    if held not in bodies:
        raise ModelError(f"flexible body: held: got {held!r}, wanted one of {', '.join(bodies) or 'no body'}")
    return found, bodies[held]


def _nodes(
    motion: EigenProblem, named: Mapping[str, Station], point: Floats, axes: Floats, shapes: Floats
) -> tuple[Node, ...]:
    return tuple(
        Node(name, place_of(motion, station, point, axes), rows_of(motion, station, axes, shapes))
        for name, station in named.items()
    )


def _damping(motion: EigenProblem, held: str, relative: Floats, ratio: float | None) -> Floats:
    """(k, k) damping of motions (n_v, k) relative to the hub by ratios of the modes of the appendages: equation (6)."""
    if ratio_of_modes(motion.system.model, ratio) is None:
        low = motion.low_rank
        return np.asarray((relative.T @ low.left) @ (low.damping.T @ relative))
    hub = motion.system.layout.bodies[held]
    total = np.zeros((relative.shape[1],) * 2)
    momenta = np.array([motion.times(motion.mass, column) for column in relative.T]).T
    for appendage in appendages(motion):
        part = participation(motion, appendage, hub, relative.shape[1], ratio)
        by_mode = part.shapes.T @ momenta
        total += (by_mode.T * (4.0 * np.pi * part.damping * part.frequencies)) @ by_mode
    return total
