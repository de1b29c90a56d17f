"""How slow and how fast a model moves: first bending of beams, fastest vibration, rotation.

    f = k^2 / (2 pi L^2) sqrt(EI/m),  k = 1.875104 held at one end, 4.730041 held at both or free

of a straight uniform beam. Source: S. Timoshenko, Vibration Problems in Engineering, uniform beams.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from femb.elements.beam.line import LineItem
from femb.model.model import Model
from femb.numerics import rotations
from femb.steppers.diagnosis import fastest_vibration

if TYPE_CHECKING:
    from femb.system.system import System

CANTILEVER, BOTH = 1.8751040687, 4.7300407449
# Differences of angular velocity below this part of the largest are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Vibration:
    """A vibration: what vibrates, such as "beams.boom", how, and its frequency, Hz."""

    item: str
    how: str
    frequency: float


@dataclass(frozen=True, eq=False)
class TimeScales:
    """Time scales of a model at its start.

    bending : of every beam, an estimate of the first bending, held where it is attached. fastest : the fastest natural
    vibration within the joints, None without. spins : of the joints by name, relative angular velocity at the start,
    rad/s, where it is not zero. rotation : the largest angular velocity of a body or node, rad/s, and its label.
    """

    bending: tuple[Vibration, ...]
    fastest: Vibration | None
    spins: dict[str, float]
    rotation: tuple[float, str]

    @property
    def slowest(self) -> Vibration | None:
        """The slowest of the first bendings."""
        return min(self.bending, key=lambda each: each.frequency, default=None)


def time_scales(system: "System") -> TimeScales:
    """The time scales of a system at its start, in time proportional to its items."""
    model = system.model
    return TimeScales(
        tuple(_first_bending(model, beam) for beam in model.beams.values()),
        _fastest(system),
        *_rotations(system),
    )


def _first_bending(model: Model, beam: LineItem) -> Vibration:
    """By the means of its sections, along the axis of largest flexibility, which couplings may turn."""
    sections = [*(model.tables["sections"][name] for name in beam.section_names), *beam.parts()]
    flexible = [np.linalg.eigvalsh(np.linalg.inv(section.stiffness())[2:, 2:])[-1] for section in sections]
    stiffness, mass = np.mean(1.0 / np.array(flexible)), np.mean([section.line_mass() for section in sections])
    held = sum(end is not None for end in beam.attached)
    factor = CANTILEVER if held == 1 else BOTH
    how = ("first bending, free", "first bending, one end held", "first bending, both ends held")[held]
    frequency = factor**2 / (2.0 * np.pi * beam.shape.length**2) * np.sqrt(stiffness / mass)
    return Vibration(f"beams.{beam.name}", how, float(frequency))


def _fastest(system: "System") -> Vibration | None:
    """The fastest vibration, and the velocity with most of its energy; None where nothing vibrates."""
    omega, label = fastest_vibration(system)
    return Vibration(label, "fastest vibration", omega / (2.0 * np.pi)) if omega > 0.0 else None


def _rotations(system: "System") -> tuple[dict[str, float], tuple[float, str]]:
    """Relative angular velocities of the ends of joints, rad/s, and the largest angular velocity with its label."""
    layout, q, v = system.layout, system.q0, system.v0
    omegas = np.zeros((len(layout.frames), 3))
    largest = (0.0, "")
    for k, frame in enumerate(layout.frames):
        if frame.freedom == 6:
            omega, i = v[layout.frame_v[k] + 3 : layout.frame_v[k] + 6], layout.frame_q[k]
            omegas[k] = rotations.rotate(q[i + 3 : i + 7], omega)
            size = float(np.linalg.norm(omega))
            largest = (size, frame.label) if size > largest[0] else largest
    spins = {}
    for name, joint in layout.joints.items():
        size = float(np.linalg.norm(omegas[joint.second.frame] - omegas[joint.first.frame]))
        if size > ROUNDING * largest[0]:
            spins[name] = size
    return spins, largest
