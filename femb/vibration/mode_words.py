"""Words for modes: kind and direction of the motion, and of what turns the whirl as seen from the ground."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Complexes, Floats
from femb.elements.beam.line import LineItem
from femb.layout.state import frame_pose
from femb.numerics.components import norm
from femb.small_motions.eigenproblem import EigenProblem
from femb.vibration.complex_modes import Rotation

# Cosine of the angle up to which a direction is that of an axis; the part of the energy up to which a motion is in one
# direction, and that of deformation from which a part deforms rather than moves.
ALIGNED, ONE_WAY, DEFORMS = 0.99, 0.2, 0.05
# Of the transverse motion: parts up to which a whirl is of one sense, and up to which it is along a line.
CIRCULAR, LINE = 0.01, 0.02
# Of all motion: transverse motion below this part is none.
NOTHING = 1e-6
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
    motion: EigenProblem, shapes: Complexes, labels: tuple[str, ...], whirl: "Whirl | None"
) -> list[str]:
    """Names of modes for curves: "flap 1" of blades, "forward 1" of whirls, else as "beams.boom, bending along z"."""
    items = {f"{item.table}.{item.name}": item for item in motion.system.model.items()}
    names: list[str] = []
    counts: dict[str, int] = {}
    for k, (label, shape) in enumerate(zip(labels, shapes.T, strict=True)):
        found = ItemMotion(motion, items[label], shape) if label in items else None
        word = found.on_blade(whirl.axis) if found is not None and whirl is not None and whirl.turning else ""
        if not word and whirl is not None and whirl.senses[k] in ("forward", "backward"):
            word = whirl.senses[k]
        if word:
            counts[word] = counts.get(word, 0) + 1
            names.append(f"{word} {counts[word]}")
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

    senses (k,) : "forward", "backward", "line" or "" without transverse motion. frequencies (k,) Hz, NaN where a mode
    has more than one from the ground. turning : whether the modes are those in axes that turn.
    """

    axis: Floats
    speed: float
    senses: tuple[str, ...]
    frequencies: Floats
    turning: bool


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
    """The whirl of modes; None of what does not turn."""
    turning = turning_of(motion, rotations)
    if turning is None:
        return None
    axis, speed, in_axes = turning
    layout = motion.system.layout
    rows = [int(layout.frame_v[k]) for k, frame in enumerate(layout.frames) if frame.freedom]
    x = np.linalg.svd(axis[None])[2][1]
    y = np.cross(axis, x)
    senses, frequencies = [], []
    for eigenvalue, shape in zip(eigenvalues, shapes.T, strict=True):
        moves = np.array([shape[j : j + 3] for j in rows])
        u, w = moves @ x, moves @ y
        ahead, back = (float(np.sum(np.abs(u + sign * 1j * w) ** 2)) / 4.0 for sign in (1.0, -1.0))
        both, omega = ahead + back, float(abs(eigenvalue.imag))
        if eigenvalue.imag < 0.0:
            ahead, back = back, ahead
        if speed < 0.0:
            ahead, back = back, ahead
        whole = float(np.sum(np.abs(shape) ** 2))
        if both <= NOTHING * whole:
            senses.append("")
            frequencies.append(omega)
        elif not in_axes:
            senses.append("line" if abs(ahead - back) < LINE * both else "forward" if ahead > back else "backward")
            frequencies.append(omega)
        elif min(ahead, back) > CIRCULAR * both:
            senses.append("")
            frequencies.append(np.nan)
        else:
            seen = omega + abs(speed) if ahead > back else abs(speed) - omega
            senses.append("forward" if seen >= 0.0 else "backward")
            frequencies.append(abs(seen))
    return Whirl(axis, speed, tuple(senses), np.array(frequencies) / (2.0 * np.pi), in_axes)
