"""Appendages: what a held hub leaves connected with each other, each with its modes about its root.

Source: docs/theory/modes.md, section 3.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from femb.analysis.modes.eigen import freedoms, real_modes
from femb.analysis.modes.eigenproblem import EigenProblem, Flags
from femb.analysis.modes.participation import Participation
from femb.analysis.modes.rigid import free_motions, groups_of
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.numerics import rotations


@dataclass(frozen=True, eq=False)
class Appendage:
    """Frames (f,) that are connected without the held ones, and the items that are on them, by table and name."""

    name: str
    frames: tuple[int, ...]
    items: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class HeldBody:
    """A held body: its name, point (3,) m, inertial, axes (3, 3) as columns, and its mass (6, 6) about and along these,
    with what is fixed to it but without appendages."""

    name: str
    point: Floats
    axes: Floats
    mass: Floats


def held_body(motion: EigenProblem, name: str, frame: int) -> HeldBody:
    """The held body ``name``."""
    layout = motion.system.layout
    i = layout.frame_q[frame]
    point, axes = motion.q[i : i + 3] + layout.origin, rotations.rotation_matrix(motion.q[i + 3 : i + 7])
    own = np.zeros(motion.system.n_v, dtype=bool)
    own[motion.velocities_of(frame)] = True
    D, mass = rigid_motions(motion, point, axes), np.zeros((6, 6))
    for places, element in _elements_of(motion, own):
        alone = np.all(own[places], axis=1)
        mass += np.einsum("eni,enj->ij", D[places[alone]], element[alone] @ D[places[alone]])
    return HeldBody(name, point, axes, mass)


def appendages(motion: EigenProblem) -> list[Appendage]:
    """The appendages of what is held, in the order of the model."""
    layout, model = motion.system.layout, motion.system.model
    held = {k for k in range(len(layout.frames)) if motion.held[motion.velocities_of(k)].any()}
    found = []
    for frames in groups_of(layout, springs=True, rows=True, without=held):
        items = tuple(_items(motion, set(frames)))
        if items:
            # named by what it is connected by
            at_root = [
                item.name
                for item in model.items()
                if f"{item.table}.{item.name}" in items
                and any(layout.station(marker).frame in held for marker in item.markers.values())
            ]
            found.append(Appendage((at_root or [items[0].partition(".")[2]])[0], tuple(frames), items))
    return found


def participation(
    motion: EigenProblem, appendage: Appendage, root: int, count: int | None, damping: float
) -> Participation:
    """The modes of an appendage with all else held, and their coupling with the motion of the frame ``root``.

    count : by default all. Raises ModelError: it can move without stiffness.
    """
    alone = motion.only(*appendage.frames)
    free = free_motions(alone)
    if free.count:
        raise ModelError(
            f"modes: {appendage.name!r} can move without stiffness beside the held frame, in {free.count} ways: add "
            "the springs of its joints, or hold what it hangs on"
        )
    most = freedoms(alone)
    squares, shapes = real_modes(alone, free, min(most, count or most))
    point, axes = root_frame(motion, appendage, root)
    D = rigid_motions(motion, point, axes)
    inside = ~alone.held
    momenta, coupled, whole, clamped = np.zeros_like(D), np.zeros_like(D), np.zeros((6, 6)), np.zeros((6, 6))
    for places, mass in _elements_of(motion, inside):
        own = D[places]
        at_root = np.where(inside[places][:, :, None], 0.0, own)
        products = mass @ own
        np.add.at(momenta, places, products)
        whole += np.einsum("eni,enj->ij", own, products)
        by_root = mass @ at_root
        np.add.at(coupled, places, by_root)
        clamped += np.einsum("eni,enj->ij", at_root, by_root)
    coupled[~inside] = 0.0
    factors = alone.factorise(alone.mass.copy())
    clamped -= coupled.T @ np.array([alone.solve(factors, column) for column in coupled.T]).T
    frequencies = np.sqrt(squares) / (2.0 * np.pi)
    ratios = np.full(len(squares), damping)
    return Participation(appendage.name, point, axes, frequencies, ratios, shapes.T @ momenta, whole, clamped, shapes)


def rigid_motions(motion: EigenProblem, point: Floats, axes: Floats) -> Floats:
    """(n_v, 6): velocities of all frames in unit motions along axes (3, 3) and about them through a point (3,) m."""
    whole = motion.rigid_motions()
    turns = whole[3:] - np.cross(np.eye(3), point - motion.system.layout.origin) @ whole[:3]
    return np.hstack([whole[:3].T @ axes, turns.T @ axes])


def root_frame(motion: EigenProblem, appendage: Appendage, root: int) -> tuple[Floats, Floats]:
    """Point (3,) m, inertial, and axes (3, 3): where the appendage is on the root frame, along the axes of that."""
    system = motion.system
    i = system.layout.frame_q[root]
    origin, axes = motion.q[i : i + 3], rotations.rotation_matrix(motion.q[i + 3 : i + 7])
    points = []
    for item in system.model.items():
        if f"{item.table}.{item.name}" in appendage.items:
            for marker in item.markers.values():
                station = system.layout.station(marker)
                if station.frame == root:
                    points.append(station.offset)
    same = bool(points) and all(np.allclose(point, points[0], rtol=0.0, atol=1e-9) for point in points)
    return origin + (axes @ points[0] if same else 0.0) + system.layout.origin, axes


def _items(motion: EigenProblem, frames: set[int]) -> Iterator[str]:
    layout, model = motion.system.layout, motion.system.model
    for name, frame in layout.bodies.items():
        if frame in frames:
            yield f"bodies.{name}"
    for name, beam in layout.beams.items():
        if any(station.frame in frames for station in beam.stations):
            yield f"beams.{name}"
    for name, joint in layout.joints.items():
        if joint.first.frame in frames or joint.second.frame in frames:
            yield f"joints.{name}"
    for name, spring in model.springs.items():
        if any(layout.station(marker).frame in frames for marker in spring.markers.values()):
            yield f"springs.{name}"


def _elements_of(motion: EigenProblem, inside: Flags) -> Iterator[tuple[Ints, Floats]]:
    """Places and masses of the elements with a velocity inside."""
    for places, mass in motion.element_masses:
        own = np.any(inside[places], axis=1)
        if np.any(own):
            yield places[own], mass[own]
