"""Hybrid coordinates of a model with named points: what all files for control start from."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ModelError
from femb.base.values import shown
from femb.elements.marker import Place
from femb.handover.hybrid import HybridCoordinates
from femb.model.model import Model
from femb.vibration.appendages import (
    ModeRows,
    appendages,
    default_points,
    held_body,
    participation,
    place_of,
    rigid_motions,
    rows_of,
    stations,
)
from femb.vibration.solution import solution

if TYPE_CHECKING:
    from femb.system.system import System


def check_count(count: int | None) -> None:
    """Refuse what is no number of modes."""
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise ModelError(f"modes: count: got {shown(count)}, wanted a whole number from 1, or None for all")


def hybrid_coordinates(
    model: "Model | System",
    count: int | None = None,
    *,
    held: str,
    start: str = "as_given",
    damping: float | None = None,
    points: Mapping[str, Place | str] | None = None,
) -> HybridCoordinates:
    """Hub and appendages in hybrid coordinates, with the rows of their modes at named points, and the model's dampers.

    count : modes of each appendage, by default all. held : the hub. start : "as_given", "assembled" or "equilibrium",
    as of ``modes``. damping : ratio of every mode with the hub held, by default those of the model's modal damping of
    the hub, zero where this damps fewer modes, or 0.005 without one. points : places of the model, or names such as
    "bodies.panel" and "beams.boom.-1", by name; by default the bodies and the last nodes of the beams. The root of each
    appendage, NAME.root, is always among them.

    Raises ModelError: as ``modes``; an unknown point, or one on something that is neither hub nor appendage; a spinning
    state, which has no such modes; SolveError: no equilibrium.
    """
    check_count(count)
    found = solution(model, 1, held=held, start=start)
    motion, hub = found.motion, found.motion.system.layout.bodies[held]
    if motion.spinning:
        raise ModelError(
            "hybrid coordinates: the state is a rotation, in which modes of appendages are not real: "
            "start = 'as_given' takes them at rest"
        )
    root = held_body(motion, held, hub)
    owners: dict[int, str] = {hub: held}
    parts, rows = [], []
    shapes = {held: np.zeros((motion.system.n_v, 0))}
    for appendage in appendages(motion):
        part = participation(motion, appendage, hub, count, damping)
        owners |= dict.fromkeys(appendage.frames, part.name)
        shapes[part.name] = part.shapes
        at_root = root.axes.T @ (part.point - root.point)
        rows.append(ModeRows(f"{part.name}.root", held, at_root, np.zeros((6, 0))))
        parts.append(part.about(root.point, root.axes))
    named = stations(motion, default_points(motion, set(owners)) if points is None else points)
    for name, station in named.items():
        owner = owners.get(station.frame)
        if owner is None:
            raise ModelError(f"points: {name}: is neither on {held!r} nor on an appendage of it")
        at = rows_of(motion, station, root.axes, shapes[owner])
        rows.append(ModeRows(name, owner, place_of(motion, station, root.point, root.axes), at))
    basis = np.hstack([rigid_motions(motion, root.point, root.axes), *(shapes[part.name] for part in parts)])
    dampers = basis.T @ np.array([motion.times(motion.damping, x) for x in basis.T]).T
    if damping is not None:
        rates = [4.0 * np.pi * part.damping * part.frequencies for part in parts]
        dampers += np.diag(np.concatenate([np.zeros(6), *rates]))
    else:
        dampers += (basis.T @ motion.low_rank.left) @ (motion.low_rank.damping.T @ basis)
    return HybridCoordinates(held, root.point, root.axes, root.mass, tuple(parts), found.state, tuple(rows), dampers)
