"""Cheap estimates of how slow and how fast a model moves: first bending of beams, stiffest vibration, rotation.

    f = k^2 / (2 pi L^2) sqrt(EI/m),  k = 1.875104 held at one end, 4.730041 held at both or free

of a straight uniform beam; its fastest vibration is below that of its free elements: of length l in bending
sqrt(8400 EI/m)/l^2, stretched sqrt(12 EA/m)/l, twisted sqrt(12 GJ/I)/l. Sources: S. Timoshenko, Vibration Problems in
Engineering, uniform beams; B. M. Irons, bound of the frequencies of a mesh by those of its elements.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats
from femb.elements import JointSpringDamper, PointMass, RigidBody, SpringDamper
from femb.elements.beam.line import LineItem
from femb.model.model import Model
from femb.numerics import rotations

if TYPE_CHECKING:
    from femb.system.system import System

CANTILEVER, BOTH = 1.8751040687, 4.7300407449
# Differences of angular velocity below this part of the largest are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Vibration:
    """A vibration: what vibrates, such as "beams.boom", how, and its estimated frequency, Hz."""

    item: str
    how: str
    frequency: float


@dataclass(frozen=True, eq=False)
class TimeScales:
    """Estimates for a model at its start.

    bending : of every beam, the first bending, held where it is attached. fastest : the fastest vibration of beams and
    springs, None without. spins (s,) : of the joints by name, relative angular velocity at the start, rad/s, where it
    is not zero. rotation : the largest angular velocity of a body or node, rad/s, and its label.
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
    fast = [*(_fastest(model, beam) for beam in model.beams.values()), *_springs(model, system)]
    return TimeScales(
        tuple(_first_bending(model, beam) for beam in model.beams.values()),
        max(fast, key=lambda each: each.frequency, default=None),
        *_rotations(system),
    )


def _stiffness_and_mass(model: Model, beam: LineItem) -> tuple[Floats, float, float]:
    """Means over the sections of a beam: of EA, GJ and the smaller EI, of the mass and of the polar inertia by length.

    The smaller of EI is along the axis of largest flexibility, which couplings may turn.
    """
    sections = [*(model.tables["sections"][name] for name in beam.section_names), *beam.parts()]
    stiffness = []
    for section in sections:
        flexible = np.linalg.inv(section.stiffness())
        stiffness.append((1.0 / flexible[0, 0], 1.0 / flexible[1, 1], 1.0 / np.linalg.eigvalsh(flexible[2:, 2:])[-1]))
    mass = float(np.mean([section.line_mass() for section in sections]))
    return np.mean(stiffness, axis=0), mass, float(np.mean([section.inertia()[0] for section in sections]))


def _first_bending(model: Model, beam: LineItem) -> Vibration:
    (_, _, bending), mass, _ = _stiffness_and_mass(model, beam)
    held = sum(end is not None for end in beam.attached)
    factor = CANTILEVER if held == 1 else BOTH
    how = ("first bending, free", "first bending, one end held", "first bending, both ends held")[held]
    frequency = factor**2 / (2.0 * np.pi * beam.shape.length**2) * np.sqrt(bending / mass)
    return Vibration(f"beams.{beam.name}", how, float(frequency))


def _fastest(model: Model, beam: LineItem) -> Vibration:
    (axial, torsion, bending), mass, polar = _stiffness_and_mass(model, beam)
    length = beam.shape.length / beam.elements
    rates = {
        "bending of an element": np.sqrt(8400.0 * bending / mass) / length**2,
        "stretching of an element": np.sqrt(12.0 * axial / mass) / length,
        "twisting of an element": np.sqrt(12.0 * torsion / polar) / length,
    }
    how = max(rates, key=lambda word: float(rates[word]))
    return Vibration(f"beams.{beam.name}", how, float(rates[how]) / (2.0 * np.pi))


def _springs(model: Model, system: "System") -> Iterator[Vibration]:
    """Springs between bodies by the reduced mass, and springs of joint angles by the smallest moments of inertia."""
    for spring in model.springs.values():
        if isinstance(spring, SpringDamper):
            hosts = [end.body for end in (spring.start, spring.end)]
            inverse = [_inverse(model, host, turning=False) for host in hosts]
        elif isinstance(spring, JointSpringDamper) and spring.coordinate_of(system.layout).is_angle:
            joint = model.tables["joints"][spring.joint]
            inverse = [_inverse(model, end.body, turning=True) for end in (joint.first, joint.second)]
        else:
            continue
        if spring.stiffness > 0.0 and None not in inverse and (total := sum(filter(None, inverse))) > 0.0:
            frequency = float(np.sqrt(spring.stiffness * total)) / (2.0 * np.pi)
            yield Vibration(f"springs.{spring.name}", "bodies on both sides", frequency)


def _inverse(model: Model, host: str | None, turning: bool) -> float | None:
    """One by the mass of a body, or by its smallest moment of inertia; zero of the ground, None where it is unknown."""
    body = model.bodies.get(host) if host is not None else None
    if isinstance(body, RigidBody):
        return 1.0 / float(np.linalg.eigvalsh(np.asarray(body.inertia))[0] if turning else body.mass)
    if isinstance(body, PointMass) and not turning:
        return 1.0 / float(body.mass)
    return 0.0 if host == "ground" else None


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
