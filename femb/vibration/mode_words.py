"""Words for modes: kind and direction of the motion, and of what turns the whirl as seen from the ground."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femb.base.types import Complexes, Floats
from femb.elements.beam.line import LineItem
from femb.layout.state import frame_pose
from femb.layout.symmetry import twists
from femb.numerics.components import norm
from femb.small_motions.eigenproblem import EigenProblem
from femb.system.known_motions import KnownStructure
from femb.vibration.complex_modes import Rotation

# Cosine of the angle up to which a direction is that of an axis; the part of the energy up to which a motion is in one
# direction, and that of deformation from which a part deforms rather than moves.
ALIGNED, ONE_WAY, DEFORMS = 0.99, 0.2, 0.05
# Of the transverse motion: parts up to which a whirl is of one sense, and up to which it is along a line.
CIRCULAR, LINE = 0.01, 0.02
# Of all motion: transverse motion below this part is none.
NOTHING = 1e-6
# Of the size of a structure: what is nearer to the axis is on it. Of the kinetic energy: motions there, and as one
# rigid body, say what is seen from the ground where they have more.
ON_AXIS, LEAST_SHARE = 0.01, 1e-3
# Of the size, and of a turn: nodes of shells at one radius and height, at equal angles, are a ring.
RING = 1e-4
# Eigenvalues that differ by no more than this part are one multiple eigenvalue, whose shapes are any basis.
MULTIPLE = 1e-6
# Frequencies that differ by less than this part are one.
SAME = 1e-9
# Motions of modes below this have no direction: of a shape with the modal mass one it is nothing.
LEAST = 1e-100


def direction(vector: Floats) -> str:
    """A direction (3,) as "x", or as "(0.71, 0.71, 0)" with its first number above zero."""
    unit = vector / norm(vector)
    k = int(np.argmax(np.abs(unit)))
    if abs(unit[k]) > ALIGNED:
        return "xyz"[k]
    numbers = np.round(unit, 2) * np.sign(unit[int(np.argmax(np.abs(unit) > 1.0 - ALIGNED))])
    return f"({', '.join(f'{x + 0.0:.2g}' for x in numbers)})"


def principal(motions: Complexes) -> Floats | None:
    """The direction (3,) of displacements or turns (m, 3); None where they have more than one."""
    largest = float(np.max(np.abs(motions), initial=0.0))
    if largest < LEAST:
        return None
    sizes, axes = np.linalg.eigh(((motions / largest).conj().T @ (motions / largest)).real)
    return None if sizes[1] > ONE_WAY * sizes[2] else axes[:, 2]


class ItemMotion:
    """The motion of the frames of an item in a mode (n_v,), inertial axes: places, displacements and turns (m, 3)."""

    def __init__(self, motion: EigenProblem, item: Any, shape: Complexes) -> None:
        layout = motion.system.layout
        self.item, self.model, frames = item, motion.system.model, list(dict.fromkeys(item.frames(layout)))
        if not frames and item.name in layout.bodies:
            frames = [layout.bodies[item.name]]
        poses = [frame_pose(layout, frame, motion.q) for frame in frames]
        self.places = np.array([r for r, _ in poses])
        self.moves, self.turns = np.zeros((2, len(frames), 3), dtype=complex)
        for k, (frame, (_, axes)) in enumerate(zip(frames, poses, strict=True)):
            j, freedom = layout.frame_v[frame], layout.frames[frame].freedom
            if freedom:
                self.moves[k] = shape[j : j + 3]
            if freedom == 6:
                self.turns[k] = axes @ shape[j + 3 : j + 6]
        stations = layout.beams[item.name].stations if isinstance(item, LineItem) else []
        self.axes = poses[0][1] @ stations[0].axes if stations else np.eye(3)

    def words(self) -> str:
        """Such as "bending along z"; empty where there is no one direction."""
        rigid = self.moves[0] + np.cross(self.turns[0], self.places - self.places[0]) if len(self.moves) else None
        deformed = self.moves - rigid if rigid is not None else self.moves
        share = np.sum(np.abs(deformed) ** 2) / max(float(np.sum(np.abs(self.moves) ** 2)), np.finfo(float).tiny)
        if isinstance(self.item, LineItem):
            section = self.item.sections_along(self.model)[0]
            x = self.axes[:, 0]
            along, twist = np.sum(np.abs(self.moves @ x) ** 2), np.sum(np.abs(self.turns @ x) ** 2)
            across = np.sum(np.abs(self.moves) ** 2) - along
            if section.inertia()[0] * twist > section.line_mass() * (across + along):
                return f"twist about {direction(x)}"
            word = "stretching" if along > across else "bending"
            return self._along(word if share > DEFORMS else "motion", self.moves)
        if len(self.moves) > 1:
            return self._along("bending" if share > DEFORMS else "motion", self.moves)
        inertia = getattr(self.item, "inertia", None)
        mass = getattr(self.item, "mass", None)
        if mass is None:
            return ""
        turning = (
            0.0 if inertia is None else float(np.trace(np.asarray(inertia))) / 3.0 * np.sum(np.abs(self.turns) ** 2)
        )
        if turning > mass * np.sum(np.abs(self.moves) ** 2):
            axis = principal(self.turns)
            return "" if axis is None else f"turn about {direction(axis)}"
        return self._along("motion", self.moves)

    def _along(self, word: str, moves: Complexes) -> str:
        found = principal(moves)
        return "" if found is None else f"{word} along {direction(found)}"

    def on_blade(self, axis: Floats) -> str:
        """The word "flap", "lag" or "twist" for a beam across an axis of rotation (3,); else empty."""
        words, x = self.words(), self.axes[:, 0]
        if not isinstance(self.item, LineItem) or abs(x @ axis) > ONE_WAY:
            return ""
        if words.startswith("twist"):
            return "twist"
        found = principal(self.moves) if words.startswith("bending") else None
        return "" if found is None else "flap" if abs(found @ axis) > np.sqrt(0.5) else "lag"


def names_of_modes(
    motion: EigenProblem, shapes: Complexes, labels: tuple[str, ...], whirl: "Whirl | None", eigenvalues: Complexes
) -> list[str]:
    """Names of modes for curves: "flap 1" of blades, of equal ones too, "forward 1" of whirls, else as "beams.boom,
    bending along z"."""
    of = {int(k): int(group[0]) for group in multiple(eigenvalues) for k in group}
    items = {f"{item.table}.{item.name}": item for item in motion.system.model.items()}
    names: list[str] = []
    numbers: dict[tuple[str, int], int] = {}
    for k, (label, shape) in enumerate(zip(labels, shapes.T, strict=True)):
        found = ItemMotion(motion, items[label], shape) if label in items else None
        word = found.on_blade(whirl.axis) if found is not None and whirl is not None and whirl.turning else ""
        if not word and whirl is not None and whirl.senses[k] in ("forward", "backward"):
            word = whirl.senses[k]
        if word:
            number = numbers.setdefault((word, of.get(k, k)), 1 + sum(each == word for each, _ in numbers))
            names.append(f"{word} {number}")
        else:
            names.append(", ".join(filter(None, (label, found.words() if found is not None else ""))))
    return names


def words_of_modes(motion: EigenProblem, shapes: Complexes, labels: tuple[str, ...]) -> tuple[str, ...]:
    """(k,) what the item that moves most does in each mode of shapes (n_v, k), inertial axes; "" where not known."""
    items = {f"{item.table}.{item.name}": item for item in motion.system.model.items()}
    return tuple(
        ItemMotion(motion, items[label], shape).words() if label in items else ""
        for label, shape in zip(labels, shapes.T, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Whirl:
    """Modes of what turns about one axis (3,) at a speed (rad/s), as seen from the ground.

    senses (k,) : "forward", "backward", "line", "both" of what turns with parts of either sense, or "" without
    transverse motion. seen (k,) : the frequencies of each mode, Hz: of an elliptic one in axes that turn there are two
    or three, and none where its shape about the axis is not known. turning : whether the modes are
    those in axes that turn.
    """

    axis: Floats
    speed: float
    senses: tuple[str, ...]
    seen: tuple[tuple[float, ...], ...]
    turning: bool

    @property
    def frequencies(self) -> Floats:
        """(k,) Hz, NaN where a mode has more than one, or none."""
        return np.array([each[0] if len(each) == 1 else np.nan for each in self.seen])


def turning_of(motion: EigenProblem, rotations: tuple[Rotation, ...]) -> tuple[Floats, float, bool] | None:
    """The axis (3,), the speed (rad/s) and whether axes turn with it, of rotors at rest or of structures that turn;
    None of several axes, or of none."""
    found = [item.spin for item in motion.system.model.items() if item.spin is not None]
    turning = not found
    if turning:
        found = [(each.omega / each.rate, each.rate) for each in rotations]
    if not found or any(norm(np.cross(axis, found[0][0])) > NOTHING for axis, _ in found):
        return None
    axis, speed = max(found, key=lambda each: abs(each[1]))
    return axis, speed, turning


def whirl_of(
    motion: EigenProblem, rotations: tuple[Rotation, ...], eigenvalues: Complexes, shapes: Complexes
) -> Whirl | None:
    """The whirl of modes of shapes (n_v, k), inertial axes; None of what does not turn.

    A displacement or a turn across the axis that is circular in axes with the rate W, ahead or back of it, has the rate
    W + omega or W - omega from the ground; one along the axis keeps omega. What neither moves the axis nor the whole is
    by nodal diameters n of shells, with n W. Parts are weighed by kinetic energy.
    """
    turning = turning_of(motion, rotations)
    if turning is None:
        return None
    axis, speed, in_axes = turning
    own = shapes if motion.axes is None else np.asarray(motion.axes.T @ shapes)
    whole = _energies(motion, own)
    parts, waves = _circular_energies(motion, axis, own, in_axes)
    senses, seen = [], []
    for k, eigenvalue in enumerate(eigenvalues):
        omega = float(eigenvalue.imag)
        across = [(rate + omega, energy[1, k]) for rate, energy in parts]
        across += [(rate - omega, energy[2, k]) for rate, energy in parts]
        rates = [
            *across,
            *((omega, energy[0, k]) for _, energy in parts),
            *((rate + omega, e[1, k]) for rate, e in waves),
        ]
        rates += [(rate - omega, energy[2, k]) for rate, energy in waves]
        both = sum(energy for _, energy in across)
        ahead = sum(energy for rate, energy in across if rate * speed >= 0.0)
        word = "forward" if ahead > 0.5 * both else "backward"
        least = max(CIRCULAR * sum(energy for _, energy in rates), NOTHING * whole[k])
        if both <= least:
            senses.append("")
        elif in_axes:
            senses.append("both" if min(ahead, both - ahead) > CIRCULAR * both else word)
        else:
            senses.append("line" if abs(2.0 * ahead - both) < LINE * both else word)
        found = sorted(abs(rate) for rate, energy in rates if energy > least)
        found = [rate for i, rate in enumerate(found) if not i or rate - found[i - 1] > SAME * rate]
        seen.append(tuple(rate / (2.0 * np.pi) for rate in found))
    return Whirl(axis, speed, tuple(senses), tuple(seen), in_axes)


def separated(motion: EigenProblem, rotations: tuple[Rotation, ...], values: Complexes, shapes: Complexes) -> Complexes:
    """Shapes (n_v, k), those of a multiple eigenvalue in axes that turn in a basis of what circles in one sense each:
    a thin disc has twice the inertia about its axis, and there tilts of either sense with one eigenvalue."""
    turning = turning_of(motion, rotations)
    groups = multiple(values)
    if turning is None or not turning[2] or not groups:
        return shapes
    shapes = shapes.copy()
    for group in groups:
        own, form = shapes[:, group], np.zeros((len(group), len(group)), dtype=complex)
        for k, (_, rigid, parts) in enumerate(_circular_parts(motion, turning[0], own)):
            for sense, part in zip((0, 1, -1), rigid + parts, strict=True):
                form += (3 * k + sense) * (part.conj().T @ motion.momenta(part))
        # shapes of one eigenvalue need not be orthogonal
        sizes, axes = np.linalg.eigh(own.conj().T @ motion.momenta(own))
        if sizes[0] > SAME * sizes[-1]:
            basis = axes / np.sqrt(sizes)
            shapes[:, group] = own @ (basis @ np.linalg.eigh(basis.conj().T @ form @ basis)[1])
    return shapes


def multiple(eigenvalues: Complexes) -> list[NDArray[np.intp]]:
    """Numbers of the modes of each multiple eigenvalue."""
    order = np.argsort(np.abs(eigenvalues), kind="stable")
    groups: list[list[int]] = []
    for k in order:
        if groups and abs(eigenvalues[k] - eigenvalues[groups[-1][-1]]) <= MULTIPLE * abs(eigenvalues[k]):
            groups[-1].append(int(k))
        else:
            groups.append([int(k)])
    return [np.array(group) for group in groups if len(group) > 1]


def _circular_energies(
    motion: EigenProblem, axis: Floats, own: Complexes, in_axes: bool
) -> tuple[list[tuple[float, Floats]], list[tuple[float, Floats]]]:
    """The rate (rad/s) about the axis of every structure, and energies (3, k) of what is along and about the axis, and
    of what circles ahead and back across it, in shapes (n_v, k); and those of waves of two nodal diameters or more.

    Motions of a structure that turns count where they are as one rigid body, or on the axis. What deforms beside it has
    no part of its own where it has others: of panels that flap alike, places move along the axis, and as one body.
    """
    if not in_axes:
        return [(0.0, _energies(motion, *_along_and_across(motion, _senses(axis), own)))], []
    found, waves = list[tuple[float, Floats]](), list[tuple[float, Floats]]()
    layout = motion.system.layout
    for structure, (omega, rigid, parts) in zip(motion.structures, _circular_parts(motion, axis, own), strict=True):
        energies = _energies(motion, *(rigid + parts))
        if omega.any():
            point = motion.axis_of(structure.frames)[1]
            for k in structure.frames:
                arm = np.cross(frame_pose(layout, k, motion.q)[0] - point, axis)
                if norm(arm) > ON_AXIS * structure.size:
                    parts[:, motion.velocities_of(k)] = 0.0
            on_axis = _energies(motion, *(rigid + parts))
            some = np.sum(on_axis, axis=0) > LEAST_SHARE * np.sum(energies, axis=0)
            rings = _diameters(motion, structure, axis, point, own)
            told = ~some & (
                sum(each.sum(axis=0) for each in rings.values()) > (1.0 - CIRCULAR) * _energies(motion, own)
            )
            energies = np.where(some, on_axis, 0.0 if rings else energies)
            for n, each in rings.items():
                (found if n < 2 else waves).append((n * float(omega @ axis), np.where(told, each, 0.0)))
        found.append((float(omega @ axis), energies))
    return found, waves


def _diameters(
    motion: EigenProblem, structure: KnownStructure, axis: Floats, point: Floats, own: Complexes
) -> dict[int, Floats]:
    """Energies (3, k) of shapes (n_v, k) by nodal diameters, of the rings of nodes of shells of a structure: constant
    around, ahead and back. A wave e^(i n angle) is the Fourier component of displacements in axes that turn around."""
    layout, plane = motion.system.layout, _plane(axis)
    nodes = sorted(set(structure.frames) & {k for each in layout.shells.values() for k in each.own})
    if not nodes:
        return {}
    found = {0: np.zeros((3, own.shape[1]))}
    height, x, y = plane @ (np.array([frame_pose(layout, k, motion.q)[0] for k in nodes]) - point).T
    angle, rows = np.arctan2(y, x), layout.frame_v[nodes][:, None] + np.arange(6)
    energy = (own.conj() * motion.momenta(own)).real[rows].sum(axis=1)
    along, right, up = np.einsum("ab,nbk->ank", plane, motion.inertial(own)[rows[:, :3]])
    turn = np.exp(1j * angle)[:, None] * np.sqrt(2.0)
    moves = np.stack([along, (right + 1j * up) / turn, (right - 1j * up) / turn.conj()])
    places = np.round(np.column_stack([height, np.hypot(x, y)]) / (RING * structure.size))
    for of in np.unique(places, axis=0):
        ring = np.flatnonzero(np.all(places == of, axis=1))
        ring = ring[np.argsort(angle[ring])]
        count = len(ring)
        if count < 3 or np.ptp(angle[ring] - 2.0 * np.pi * np.arange(count) / count) > RING:
            continue
        waves = np.sum(np.abs(np.fft.fft(moves[:, ring], axis=1)) ** 2, axis=0)
        waves *= energy[ring].sum(axis=0) / np.maximum(np.sum(waves, axis=0), np.finfo(float).tiny)
        for n in range(count):
            m = min(n, count - n)
            senses = [0] if not m else [1, 2] if 2 * m == count else [2 if n == m else 1]
            found.setdefault(m, np.zeros((3, own.shape[1])))[senses] += waves[n] / len(senses)
    return found


def _circular_parts(motion: EigenProblem, axis: Floats, own: Complexes) -> list[tuple[Floats, Complexes, Complexes]]:
    """Rates (3,) of all structures, and parts (3, n_v, k) along and about the axis, ahead and back across it of their
    motions as one rigid body and of what these leave of shapes (n_v, k)."""
    to, found = _senses(axis), []
    plane = _plane(axis)
    for structure in motion.structures:
        omega, point, _ = motion.axis_of(structure.frames)
        rows = np.concatenate([np.arange(at.start, at.stop) for at in map(motion.velocities_of, structure.frames)])
        rest = np.zeros_like(own)
        rest[rows] = own[rows]
        rigid = np.zeros((3, *own.shape), dtype=complex)
        if omega.any():
            basis = motion.moves_of(structure, twists(plane, plane, point))
            momenta = motion.momenta(basis)
            shares = (np.linalg.pinv(basis.T @ momenta, hermitian=True) @ (momenta.T @ rest)).reshape(2, 3, -1)
            inertial = np.einsum("sij,tjk->stik", plane @ to @ plane.T, shares)
            rest[rows] -= (basis @ shares.reshape(6, -1))[rows]
            rigid = basis @ inertial.reshape(3, 6, -1)
        found.append((omega, rigid, _along_and_across(motion, to, rest)))
    return found


def _plane(axis: Floats) -> Floats:
    """Axes (3, 3) whose first is the given one."""
    x = np.linalg.svd(axis[None])[2][1]
    return np.array([axis, x, np.cross(axis, x)])


def _senses(axis: Floats) -> Complexes:
    """Matrices (3, 3, 3) of the parts of vectors along the axis, and across it of circles ahead and back."""
    _, x, y = _plane(axis)
    e = (x - 1j * y) / np.sqrt(2.0)
    return np.array([np.outer(axis, axis), np.outer(e, e.conj()), np.outer(e.conj(), e)])


def _along_and_across(motion: EigenProblem, to: Complexes, own: Complexes) -> Complexes:
    """Parts (3, n_v, k) of shapes (n_v, k): of every displacement and turn those of inertial matrices to (3, 3, 3)."""
    layout, shapes = motion.system.layout, motion.inertial(own)
    parts = np.zeros((3, *own.shape), dtype=complex)
    for frame, freedom in enumerate(each.freedom for each in layout.frames):
        first = int(layout.frame_v[frame])
        if freedom:
            parts[:, first : first + 3] = to @ shapes[first : first + 3]
        if freedom == 6:
            axes = frame_pose(layout, frame, motion.q)[1]
            parts[:, first + 3 : first + 6] = axes.T @ to @ axes @ shapes[first + 3 : first + 6]
    return parts if motion.axes is None else np.array([motion.axes.T @ part for part in parts])


def _energies(motion: EigenProblem, *shapes: Complexes) -> NDArray[np.float64]:
    """(k,) or (s, k): twice the kinetic energies of shapes (n_v, k), or of s such."""
    found = [np.sum(np.conj(part) * motion.momenta(part), axis=0).real for part in shapes]
    return np.array(found if len(found) > 1 else found[0])
