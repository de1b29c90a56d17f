"""Flexible bodies as input of the simulator 42: node file, flex file, and the lines of the spacecraft file.

Every line of values is followed by text, has fewer than 80 characters, and counts from zero; names of files have fewer
than 40. Source: docs/howto/handover.md, E. Stoneking, 42, Docs/Kane_NBody_Flex and Source/42init.c (InitFlexModes).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ModelError
from femb.base.files import write_text
from femb.base.types import Floats
from femb.base.values import check_choice, file_words, shown
from femb.elements.marker import Place
from femb.elements.modal.kernels import axial
from femb.handover.hybrid import check_count
from femb.layout.layout import Station
from femb.model.model import Model
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix
from femb.small_motions.eigenproblem import EigenProblem, Flags
from femb.vibration.appendages import (
    HeldBody,
    appendages,
    default_points,
    held_body,
    participation,
    place_of,
    rigid_motions,
    root_frame,
    rows_of,
    stations,
)
from femb.vibration.damping_ratios import ratio_of_modes
from femb.vibration.solution import Solution, solution

if TYPE_CHECKING:
    from femb.system.system import System


# Integrals of mode shapes over the mass: what a simulator needs of a flexible body whose frame moves far.
#
#     S1_j = int psi_j dm,   C0_j = int X x psi_j dm,   B_0j = int X psi_j^T dm,   B_ij = int psi_i psi_j^T dm
#
# Mass, inertia, S1 and C0 follow from the mass matrix itself. The others follow from particles with rotary inertia, one
# for each frame of an element, whose mass, first moment and inertia are those of the rows of its mass matrix: exact for
# rigid bodies. Source: docs/theory/handover.md, section 3.


@dataclass(frozen=True, eq=False)
class Integrals:
    """Integrals of k shapes, about a point and along axes.

    mass kg. first_moment (3,) kg m. inertia (3, 3) kg m2, about the point. S1 (k, 3). C0 (k, 3). B0 (k, 3, 3) and B (k,
    k, 3, 3) : symmetric parts with rotary inertia, as it acts in the change of the inertia.
    """

    mass: float
    first_moment: Floats
    inertia: Floats
    S1: Floats
    C0: Floats
    B0: Floats
    B: Floats


@dataclass(frozen=True, eq=False)
class Particles:
    """n masses (n,) kg at X (n, 3) m from the point, with rotary inertias J (n, 3, 3) kg m2.

    psi (n, k, 3), theta (n, k, 3) : displacements and rotations by k shapes.
    """

    mass: Floats
    X: Floats
    J: Floats
    psi: Floats
    theta: Floats


def integrals(motion: EigenProblem, inside: Flags, shapes: Floats, point: Floats, axes: Floats) -> Integrals:
    """Integrals over the elements with a velocity ``inside`` (n_v,), for shapes (n_v, k).

    point (3,) m, inertial, and axes (3, 3), as columns : what they are about and along.
    """
    D = rigid_motions(motion, point, axes)
    momenta, rigid = np.zeros_like(shapes), np.zeros((6, 6))
    for places, mass in motion.element_masses:
        own = np.any(inside[places], axis=1)
        places, mass = places[own], mass[own]
        np.add.at(momenta, places, mass @ shapes[places])
        rigid += np.einsum("eni,enj->ij", D[places], mass @ D[places])
    first = np.array([rigid[5, 1], rigid[3, 2], rigid[4, 0]])
    by_shape = momenta.T @ D
    S1, C0 = by_shape[:, :3], by_shape[:, 3:]
    J1, J2, Q = changes(_particles(motion, inside, shapes, point, axes, D))
    B0 = _symmetric(J1) + _antisymmetric(C0)
    B = _symmetric(J2) + _antisymmetric(0.5 * (Q - Q.swapaxes(0, 1)))
    return Integrals(float(rigid[0, 0]), first, rigid[3:, 3:], S1, C0, B0, B)


def _symmetric(J: Floats) -> Floats:
    """The symmetric B (..., 3, 3) whose change of the inertia is J = 2 tr(B) - 2 B."""
    trace = np.trace(J, axis1=-2, axis2=-1)[..., None, None]
    return np.asarray(0.25 * trace * np.eye(3) - 0.5 * J)


def _antisymmetric(c: Floats) -> Floats:
    """The antisymmetric B (..., 3, 3) whose axial vector (B_23 - B_32, ...) is c (..., 3)."""
    return np.asarray(-0.5 * np.cross(np.eye(3), c[..., None, :]))


def changes(of: Particles) -> tuple[Floats, Floats, Floats]:
    """J1 (k, 3, 3), J2 (k, k, 3, 3), Q (k, k, 3): derivatives of the inertia, and int psi_i x psi_j dm."""
    m, one = of.mass, np.eye(3)

    def inertia(P: Floats) -> Floats:
        return np.asarray(np.trace(P, axis1=-2, axis2=-1)[..., None, None] * one - 0.5 * (P + P.swapaxes(-1, -2)))

    B0 = np.einsum("n,na,nkb->kab", m, of.X, of.psi, optimize=True)
    B = np.einsum("n,nia,nkb->ikab", m, of.psi, of.psi, optimize=True)
    t = np.cross(one, of.theta[:, :, None, :])  # (n, k, 3, 3) cross matrices
    tJ = t @ of.J[:, None]
    J1 = 2.0 * inertia(B0) + np.sum(tJ + tJ.swapaxes(-1, -2), axis=0)
    both = np.einsum("niab,nkbc->ikac", tJ, t, optimize=True)
    second = np.einsum("niab,nkbc->ikac", t, tJ, optimize=True)
    J2 = 2.0 * inertia(B) - both - both.swapaxes(0, 1)
    half = 0.5 * (second + second.swapaxes(0, 1))
    J2 = J2 + half + half.swapaxes(-1, -2)
    Q = axial(B)
    turned = np.einsum("niab,nkb->ika", tJ - 0.5 * (of.J[:, None] @ t), of.theta, optimize=True)
    return J1, J2, Q + turned


def _particles(
    motion: EigenProblem, inside: Flags, shapes: Floats, point: Floats, axes: Floats, D: Floats
) -> Particles:
    """Particles at the frames of each element: the rows of its mass matrix. Source: docs/theory/handover.md, (8)."""
    layout, k = motion.system.layout, shapes.shape[1]
    frame_of = np.full(motion.system.n_v, -1)
    for number in range(len(layout.frames)):
        frame_of[motion.velocities_of(number)] = number
    rows: list[tuple[float, Floats, Floats, Floats, Floats]] = []
    for places, masses in motion.element_masses:
        for place, mass in zip(places, masses, strict=True):
            if not np.any(inside[place]):
                continue
            E, G = D[place, :3], D[place, 3:]
            whole = np.trace(E.T @ mass @ E) / 3.0
            centre = axial(E.T @ mass @ G) / (2.0 * whole) if whole > 0.0 else np.zeros(3)
            frames = frame_of[place[place >= 0]]
            for number in np.unique(frames[frames >= 0]):
                i, own = layout.frame_q[number], motion.velocities_of(number)
                X = axes.T @ (motion.q[i : i + 3] + layout.origin - point)
                # several nodes of an element may be attached to one frame
                by_frame = mass @ (place[:, None] == np.arange(own.start, own.stop))
                line = by_frame[:, :3] @ axes
                m = float(np.trace(E.T @ line)) / 3.0
                rows_of_frame = shapes[own]
                d, J, u, theta = np.zeros(3), np.zeros((3, 3)), axes.T @ rows_of_frame[:3], np.zeros((3, k))
                if layout.frames[number].freedom == 6:
                    R = axes.T @ rotations.rotation_matrix(motion.q[i + 3 : i + 7])
                    turn = by_frame[:, 3:] @ R.T
                    across = E.T @ turn
                    if m > 0.0:
                        d = axial(across) / (2.0 * m)
                    beside = -0.5 * axial(G.T @ line) - m * (X + d)
                    J = G.T @ turn - cross_matrix(X + d) @ across - cross_matrix(beside) @ cross_matrix(X - centre)
                    theta = R @ rows_of_frame[3:]
                rows.append((m, X + d, 0.5 * (J + J.T), u.T + np.cross(theta.T, d), theta.T))
    mass, X, J, psi, theta = (np.array(part) for part in zip(*rows, strict=True))
    return Particles(mass, X, J, psi, theta)


# Flexible bodies for other simulators: the free modes of a whole satellite about its mass centre, in mean axes, or the
# modes of each appendage with its root held.
#
# Source: docs/theory/handover.md, sections 2 and 3.

Points = Mapping[str, Place | str]


@dataclass(frozen=True, eq=False)
class Node:
    """A named point: position (3,) m from the body's point, displacement and rotation rows (6, k) by modes."""

    name: str
    position: Floats
    rows: Floats


@dataclass(frozen=True, eq=False)
class ModalPart:
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
) -> ModalPart:
    """The ``count`` lowest modes of a whole free satellite, about its mass centre, along the axes of the body ``held``.

    damping : ratio of every mode of an appendage with the hub held, by default as in ``hybrid_coordinates``; that of
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
    first = motion.momenta(D[:, 0]) @ D, motion.momenta(D[:, 1]) @ D
    centre = np.array([first[1][5], -first[0][5], first[0][4]]) / first[0][0]
    point, shapes = root.point + root.axes @ centre, found.shapes.real
    inside = np.ones(motion.system.n_v, dtype=bool)
    of_hub = rows_of(motion, Station(hub), root.axes, shapes)
    named = stations(motion, default_points(motion, set(range(len(layout.frames)))) if points is None else points)
    return ModalPart(
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
) -> tuple[ModalPart, ...]:
    """Every appendage of a hub with its ``count`` lowest modes, about its root along the hub's axes.

    Arguments and errors as in ``hybrid_coordinates``; the root is the first node, points on the hub are left out.
    """
    check_count(count)
    found, hub = _of_rest(model, 1, start, held)
    motion = found.motion.holding(hub)
    origin = held_body(motion, held, hub).point
    found_bodies = []
    for appendage in appendages(motion, whole=True):
        part = participation(motion, appendage, hub, count, damping)
        point, axes = root_frame(motion, appendage, hub)
        inside = ~motion.only(appendage).held
        named = stations(motion, default_points(motion, set(appendage.frames)) if points is None else points)
        own = {name: station for name, station in named.items() if station.frame in appendage.frames}
        found_bodies.append(
            ModalPart(
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
    check_choice("flexible body: held", held, bodies, "bodies")
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
    if ratio_of_modes(motion.system.model, ratio, listed=True) is None:
        low = motion.low_rank
        return np.asarray((relative.T @ low.left) @ (low.damping.T @ relative))
    hub = motion.system.layout.bodies[held]
    total = np.zeros((relative.shape[1],) * 2)
    momenta = motion.momenta(relative)
    for appendage in appendages(motion, whole=True):
        part = participation(motion, appendage, hub, relative.shape[1], ratio)
        by_mode = part.shapes.T @ momenta
        total += (by_mode.T * (4.0 * np.pi * part.damping * part.frequencies)) @ by_mode
    return total


# The lines of a spacecraft file of the simulator 42 that describe its dynamics, bodies and joints.

# Letters of the name of an item in names of files.
LONGEST = 28
STARS = "*" * 24


def spacecraft_lines(bodies: Sequence[ModalPart], files: Sequence[str], hub: HeldBody | None) -> Iterator[str]:
    """The lines. files : node and flex file of each body. hub : body 0, rigid, where the others are outer bodies."""
    reference = "REFPT_CM" if hub is None else "REFPT_JOINT"
    yield f"{STARS} Dynamics Flags {STARS}"
    yield "GAUSS_ELIM                  ! Solve Dynamics by GAUSS_ELIM, not ORDER_N"
    yield "FALSE                       ! Compute Constraint Forces and Torques"
    yield f"{reference:28}! Mass Props referenced to REFPT_CM or REFPT_JOINT"
    yield "TRUE                        ! Flex Active"
    yield "TRUE                        ! Include 2nd Order Flex Terms"
    yield f"{STARS} Body Parameters {STARS}"
    yield f"{len(bodies) + (hub is not None):<28d}! Number of Bodies"
    number = 0
    if hub is not None:
        first = np.array([hub.mass[5, 1], hub.mass[3, 2], hub.mass[4, 0]])
        yield from _body(0, float(hub.mass[0, 0]), hub.mass[3:, 3:], first / hub.mass[0, 0], ("NONE", "NONE"))
        number = 1
    for k, body in enumerate(bodies):
        of = body.integrals
        centre = of.first_moment / of.mass - (body.hub if hub is None else 0.0)
        yield from _body(number + k, of.mass, of.inertia, centre, files[2 * k : 2 * k + 2])
    yield f"{STARS} Joint Parameters {STARS}"
    for k, body in enumerate(bodies if hub is not None else ()):
        yield from _joint(k, -body.hub)


def _body(number: int, mass: float, inertia: Floats, centre: Floats, files: Sequence[str]) -> Iterator[str]:
    """A body; products of inertia with the sign of int x y dm."""
    yield f"================ Body {number} ================"
    yield f"{mass:.12g}  ! Mass"
    yield f"{_three(np.diag(inertia))}  ! Moments of Inertia (kg-m^2)"
    yield f"{_three(-inertia[[0, 0, 1], [1, 2, 2]])}  ! Products of Inertia (xy,xz,yz)"
    yield f"{_three(centre)}  ! Location of mass center, m"
    yield "0.0  0.0  0.0  ! Constant Embedded Momentum (Nms)"
    yield "0.0  0.0  0.0  ! Constant Embedded Magnetic Dipole (A-m^2)"
    yield "NONE  ! Geometry Input File Name"
    yield f"{files[0]}  ! Node File Name"
    yield f"{files[1]}  ! Flex File Name"


def _joint(number: int, place: Floats) -> Iterator[str]:
    """A locked joint of body 0 and an outer body, along the same axes."""
    yield f"================ Joint {number} ================"
    yield "PASSIVE  ! Type of joint"
    yield f"0 {number + 1}  ! Inner, outer body indices"
    yield "1  123  GIMBAL  ! RotDOF, Seq, GIMBAL or SPHERICAL"
    yield "0  123  ! TrnDOF, Seq"
    yield "TRUE  TRUE  TRUE  ! RotDOF Locked"
    yield "TRUE  TRUE  TRUE  ! TrnDOF Locked"
    yield "0.0  0.0  0.0  ! Initial Angles [deg]"
    yield "0.0  0.0  0.0  ! Initial Rates, deg/sec"
    yield "0.0  0.0  0.0  ! Initial Displacements [m]"
    yield "0.0  0.0  0.0  ! Initial Displacement Rates, m/sec"
    yield "0.0  0.0  0.0  123  ! Bi to Gi Static Angles [deg] & Seq"
    yield "0.0  0.0  0.0  123  ! Go to Bo Static Angles [deg] & Seq"
    yield f"{_three(place)}  ! Position wrt inner body origin, m"
    yield "0.0  0.0  0.0  ! Position wrt outer body origin, m"
    yield "NONE  ! Parameter File Name"


def _three(vector: Floats) -> str:
    return "  ".join(f"{x:.12g}" for x in vector + 0.0)


# Relative to the largest of its kind: smaller numbers are rounding, and are not written.
ROUNDING = 1e-13


def write_flex42(
    model: "Model | System",
    folder: str | Path,
    count: int,
    *,
    held: str,
    reference: str = "cm",
    hf_factor: float = 1.0,
    start: str = "as_given",
    damping: float | None = None,
    points: Points | None = None,
) -> list[Path]:
    """Write the flexible-body input of 42 for the model of a satellite to a folder. Returns the paths of its files.

    Parameters:
        model: or a System of it.
        folder: for the files.
        count: number of modes.
        held: the hub, whose axes are those of body 0.
        reference: "cm", free modes of the whole satellite in mean axes as body 0; or "joint", a rigid hub and each
            appendage with its root held, as outer bodies on locked joints.
        hf_factor: factor 1 or 0.5, of Hf, which 42 as of March 2025 adds twice for outer bodies.
        start: as in ``hybrid_coordinates``.
        damping: ratio of every mode of an appendage with the hub held.
        points: as in ``hybrid_coordinates``; they are the nodes.

    Raises:
        ModelError: as ``hybrid_coordinates``; an unknown reference or factor.
        ResultError: the files cannot be written.
    """
    if reference not in ("cm", "joint"):
        raise ModelError(f"reference: got {shown(reference)}, wanted 'cm' or 'joint'")
    if hf_factor not in (0.5, 1.0) or (reference == "cm" and hf_factor != 1.0):
        raise ModelError(f"hf_factor: got {shown(hf_factor)}, wanted 1, or 0.5 where reference = 'joint'")
    hub = None
    if reference == "cm":
        bodies: Sequence[ModalPart] = (
            mean_axes_body(model, count, held=held, start=start, damping=damping, points=points),
        )
        remark = "modes of the whole in mean axes"
    else:
        bodies = appendage_bodies(model, count, held=held, start=start, damping=damping, points=points)
        motion = solution(model, 1, start=start).motion
        hub = held_body(motion, held, motion.system.layout.bodies[held])
        remark = "Hf halved: 42 adds it twice" if hf_factor == 0.5 else "Hf as defined: 42 may add it twice"
    folder, files = Path(folder), []
    for body, word in zip(bodies, file_words((body.name for body in bodies), LONGEST, re.ASCII), strict=True):
        for kind, lines in (("Nodes", node_lines(body)), ("Flex", flex_lines(body, remark, hf_factor))):
            files.append(_written(folder / f"{kind}_{word}.txt", lines))
    (word,) = file_words([held], LONGEST, re.ASCII)
    lines = spacecraft_lines(bodies, [path.name for path in files], hub)
    return [_written(folder / f"SC_{word}_bodies.txt", lines), *files]


def node_lines(body: ModalPart) -> Iterator[str]:
    """The node file: places in the body's axes, from its origin: the hub's where the mass centre is the reference."""
    yield "<<<<<<<<<<<<<<<<<  42: Node File, by femb  >>>>>>>>>>>>>>>>>"
    yield f"nodes of {body.name[:40]}"
    yield f"{len(body.nodes)}  ! number of nodes"
    yield "! place m, comment"
    for node in body.nodes:
        place = node.position - (body.hub if body.in_mean_axes else 0.0)
        yield f'{_numbers(place, 9)} "{node.name[:20]}"'


def flex_lines(body: ModalPart, remark: str, hf_factor: float) -> Iterator[str]:
    """The flex file, line by line."""
    k, of = len(body.frequencies), body.integrals
    yield "<<<<<<<<<<<<<<  42: Flexible Body Input, by femb  >>>>>>>>>>>>>>"
    yield f"{body.name[:30]}, {remark}"
    yield f"{k}  ! number of modes"
    yield "************** Initial Modal States x, u **************"
    for j in range(k):
        yield f"0.0 0.0  ! x u, mode {j}"
    yield "************** Joint Node Mode Shapes **************"
    yield from _table("PSI, translation", np.zeros((k, 0, 3)), "mode joint axis")
    yield from _table("THETA, rotation", np.zeros((k, 0, 3)), "mode joint axis")
    yield "************** Analysis Node Mode Shapes **************"
    rows = np.array([node.rows for node in body.nodes]).reshape(-1, 6, k).transpose(2, 0, 1)
    yield from _table("PSI, translation", rows[..., :3], "mode node axis")
    yield from _table("THETA, rotation", rows[..., 3:], "mode node axis")
    yield from _table("mass", np.eye(k), "row column")
    yield from _table("stiffness", np.diag((2.0 * np.pi * body.frequencies) ** 2), "row column")
    yield from _table("damping", body.damping, "row column")
    mean = body.in_mean_axes
    for word, vectors in (("Pf, linear", of.S1), ("Hf, angular", hf_factor * of.C0)):
        yield f"************** {word} momentum modal integral **************"
        for j, vector in enumerate(0.0 * vectors if mean else vectors):
            yield f"{_numbers(vector)}  ! mode {j}"
    yield from _table("L, linear modal integral", of.B0.transpose(1, 2, 0), "i j mode")
    yield from _table("N, angular modal integral", of.B.transpose(2, 3, 0, 1), "i j mode mode")
    yield "[EOF]"


def _table(what: str, values: Floats, indices: str) -> Iterator[str]:
    """A header, the number of entries that are not zero, and these with their indices."""
    yield f"******* Non-zero elements of {what} *******"
    least = ROUNDING * float(np.max(np.abs(values), initial=0.0))
    places = np.argwhere(np.abs(values) > least)
    yield f"{len(places)}  ! number of non-zero elements"
    for place in places:
        yield f"{' '.join(map(str, place))} {values[tuple(place)]:.15e}  ! {indices} value"


def _numbers(vector: Floats, digits: int = 14) -> str:
    return " ".join(f"{x:.{digits}e}" for x in vector + 0.0)


def _written(path: Path, lines: Iterator[str]) -> Path:
    return write_text(path, "".join(f"{line}\n" for line in lines), encoding="ascii", errors="replace")
