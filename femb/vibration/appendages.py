"""Appendages: what a held hub leaves connected with each other, each with its modes about its root.

Source: docs/theory/modes.md, section 3.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements.marker import Place
from femb.layout.layout import Station
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix, rigid_transport
from femb.small_motions.eigenproblem import EigenProblem, Flags
from femb.small_motions.free_motions import FreeMotions, free_motions
from femb.system.appendages import Appendage, appendages_of, attachment
from femb.vibration.damping_ratios import ratios_of
from femb.vibration.eigen import freedoms, precision, real_modes
from femb.vibration.participation import Participation


@dataclass(frozen=True, eq=False)
class HeldBody:
    """A held body: its name, point (3,) m, inertial, axes (3, 3) as columns, and its mass (6, 6) about and along these,
    with what is fixed to it but without appendages."""

    name: str
    point: Floats
    axes: Floats
    mass: Floats


def held_body(motion: EigenProblem, name: str, frame: int) -> HeldBody:
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


def appendages(motion: EigenProblem, whole: bool = False) -> list[Appendage]:
    """The appendages of what is held, in the order of the model.

    whole : whether they are all that moves; raises ModelError: an item has a coordinate on what is held.
    """
    layout, model = motion.system.layout, motion.system.model
    held = {k for k in range(len(layout.frames)) if motion.held[motion.velocities_of(k)].any()}
    for each in layout.internal if whole else ():
        if each.owner in held and not each.quantity.first_order and each.quantity.kind != "strain":
            raise ModelError(
                f"{each.table}.{each.label}: its {each.quantity.name} is on what is held and of no appendage: describe "
                "it by a body on a joint, or hold another body"
            )
    # what has no motion of its own is mass of what holds it
    return [part for part in appendages_of(layout, model, held) if part.frames or part.internal]


def alone_of(motion: EigenProblem, appendage: Appendage) -> tuple[EigenProblem, FreeMotions]:
    """The motions of an appendage with all else held, none without stiffness. Raises ModelError: there is one."""
    alone = motion.only(appendage)
    free = free_motions(alone)
    if free.count:
        ways = f"{free.count} way{'s' * (free.count > 1)}"
        raise ModelError(
            f"{appendage.name!r} can move without stiffness beside the held frame, in {ways}: add the springs of its "
            "joints, or hold what it hangs on"
        )
    return alone, free


def held_modes(motion: EigenProblem, appendage: Appendage, count: int | None) -> tuple[EigenProblem, Floats, Floats]:
    """The motions of an appendage with all else held, omega^2 (k,), rad2/s2, and shapes (n_v, k) of its lowest modes.

    None of one that is welded on or driven. count : by default all. Raises ModelError: it can move without stiffness.
    """
    alone, free = alone_of(motion, appendage)
    most = freedoms(alone)
    if most < 1:
        return alone, np.zeros(0), np.zeros((motion.system.n_v, 0))
    return alone, *real_modes(alone, free, min(most, count or most))


def participation(
    motion: EigenProblem, appendage: Appendage, root: int, count: int | None, damping: float | None
) -> Participation:
    """The modes of an appendage with all else held, and their coupling with the motion of the frame ``root``.

    count : by default all. damping : the ratio of all modes, by default those of the model's modal damping, or 0.005
    without one. Raises ModelError: it can move without stiffness, a ratio that is none.
    """
    alone, squares, shapes = held_modes(motion, appendage, count)
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
    clamped -= coupled.T @ alone.solve_columns(factors, coupled)
    omega, own = np.sqrt(squares), np.zeros(len(squares))
    if np.any(alone.damping):
        own = np.array([phi @ alone.exact.damping(phi) for phi in shapes.T]) / (2.0 * omega)
    return Participation(
        appendage.name,
        point,
        axes,
        omega / (2.0 * np.pi),
        ratios_of(motion, shapes, omega, damping),
        shapes.T @ momenta,
        whole,
        clamped,
        shapes,
        own,
        precision(alone, free_motions(alone), squares, shapes),
    )


def rigid_motions(motion: EigenProblem, point: Floats, axes: Floats) -> Floats:
    """(n_v, 6): velocities of all frames in unit motions along axes (3, 3) and about them through a point (3,) m."""
    whole = motion.rigid_motions()
    turns = whole[3:] - np.cross(np.eye(3), point - motion.system.layout.origin) @ whole[:3]
    return np.hstack([whole[:3].T @ axes, turns.T @ axes])


def relative_rates(motion: EigenProblem, frame: int, momenta: Floats) -> Floats:
    """(n_v, k): what gives modal rates relative to a ``frame`` as products with velocities, of modes with it held.

    momenta (n_v, k) : M phi of these modes. Source: docs/theory/modal_damping.md, equations (2) to (4).
    """
    place, i = motion.velocities_of(frame), motion.system.layout.frame_q[frame]
    axes = rotations.rotation_matrix(rotations.normalise(motion.q[i + 3 : i + 7]))
    carried = rigid_motions(motion, motion.q[i : i + 3] + motion.system.layout.origin, axes)
    own = np.where(motion.holding(frame).held[:, None], 0.0, momenta)
    total = carried.T @ own
    rates = own.copy()
    rates[place] -= np.vstack([axes @ total[:3], total[3:]])
    return rates


def root_frame(motion: EigenProblem, appendage: Appendage, root: int) -> tuple[Floats, Floats]:
    """Point (3,) m, inertial, and axes (3, 3): where the appendage is on the root frame, along the axes of that."""
    system = motion.system
    i = system.layout.frame_q[root]
    origin, axes = motion.q[i : i + 3], rotations.rotation_matrix(motion.q[i + 3 : i + 7])
    point = attachment(system.layout, system.model, appendage, root)
    return origin + (0.0 if point is None else axes @ point) + system.layout.origin, axes


def _elements_of(motion: EigenProblem, inside: Flags) -> Iterator[tuple[Ints, Floats]]:
    """Places and masses of the elements with a velocity inside."""
    for places, mass in motion.element_masses:
        own = np.any(inside[places], axis=1)
        if np.any(own):
            yield places[own], mass[own]


# Rows of modes at named points: what sensors measure, and where forces act, on a hub and its appendages.
#
#     u_P = [1 -rho~; 0 1] u_hub + Phi_P eta
#
# u_P (6,) is displacement and rotation of a point at rho from the hub's origin, all along the hub's axes.
# Source: docs/theory/handover.md, equation (1).


@dataclass(frozen=True, eq=False)
class ModeRows:
    """A named point and its displacement by modes.

    appendage : its name, or that of the hub. position (3,) m : from the hub's origin, along its axes. rows (6, k) :
    displacement (m) and rotation (rad) by the modal coordinates of its appendage, along the hub's axes.
    """

    name: str
    appendage: str
    position: Floats
    rows: Floats

    @property
    def rigid(self) -> Floats:
        """(6, 6): displacement and rotation of the point by those of the hub."""
        return rigid_transport(self.position)

    def first(self, count: int) -> "ModeRows":
        """The rows of the ``count`` lowest modes."""
        return replace(self, rows=self.rows[:, :count])


def stations(motion: EigenProblem, points: Mapping[str, Place | str]) -> dict[str, Station]:
    """The stations of points: places of a model, or names such as "bodies.panel" and "beams.boom.-1".

    Raises ModelError: an unknown body, beam or node.
    """
    return {name: _station(motion, name, point) for name, point in points.items()}


def _station(motion: EigenProblem, name: str, point: Place | str) -> Station:
    layout = motion.system.layout
    if isinstance(point, Place):
        host = f"bodies.{point.body}" if point.body is not None else f"beams.{point.beam}.{point.node}"
        found = None if layout.named_station(host) is None else layout.station(point)
    else:
        found = layout.named_station(point)
    if found is None:
        raise ModelError(f"points: {name}: got {point!r}, wanted a Place of the model, bodies.NAME or beams.NAME.NODE")
    return found


def default_points(motion: EigenProblem, frames: set[int]) -> dict[str, str]:
    """Names of the bodies, and of the last nodes of the beams, that are on these frames."""
    layout = motion.system.layout
    found = {name: f"bodies.{name}" for name, frame in layout.bodies.items() if frame in frames}
    for name, beam in layout.beams.items():
        if beam.stations[-1].frame in frames:
            found[f"{name}.-1"] = f"beams.{name}.-1"
    return found


def place_of(motion: EigenProblem, station: Station, origin: Floats, axes: Floats) -> Floats:
    """Position (3,) m of a station from an inertial point ``origin``, along ``axes`` (3, 3)."""
    i = motion.system.layout.frame_q[station.frame]
    position = motion.q[i : i + 3] + motion.system.layout.origin
    if motion.system.layout.frames[station.frame].freedom == 6:
        position = position + rotations.rotate(motion.q[i + 3 : i + 7], station.offset)
    place: Floats = axes.T @ (position - origin)
    return place


def rows_of(motion: EigenProblem, station: Station, axes: Floats, shapes: Floats) -> Floats:
    """(6, k): displacement and rotation of a station along ``axes`` (3, 3) by shapes (n_v, k)."""
    layout = motion.system.layout
    i, own = layout.frame_q[station.frame], motion.velocities_of(station.frame)
    line, rows = shapes[own][:3], np.zeros((6, shapes.shape[1]))
    if layout.frames[station.frame].freedom == 6:
        R = rotations.rotation_matrix(motion.q[i + 3 : i + 7])
        turn = R @ shapes[own][3:]
        line = line - cross_matrix(R @ station.offset) @ turn
        rows[3:] = axes.T @ turn
    rows[:3] = axes.T @ line
    return rows
