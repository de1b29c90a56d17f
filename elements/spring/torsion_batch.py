"""Torsion springs and dashpots about one axis, or on three Euler angles, evaluated together."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from femb.base.types import Floats
from femb.elements.load.euler_basis import NEAREST, axes_of, lock_vector, measure_of
from femb.elements.spring import torsion_kernels as kernels
from femb.elements.spring.batch import law_of
from femb.elements.spring.pair_batch import PairBatch
from femb.elements.spring.torsion_angles import AXIS, BENDING, DUAL_EULER, FREE, INPUT, ONE_AXIS, STIFFNESS, twist
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.singularity import Singularity
from femb.layout.views import OutputStates
from femb.numerics import rotations
from femb.numerics.euler import euler_rates, to_euler

HALF_TURN_ADVICE = "its angle is not followed beyond half a turn"


@dataclass(frozen=True)
class _SpringRow:
    """One spring: the last columns of its index, and its data. law : a callable moment, if there is one.

    vectors, motion : functions of the rotation (s, 4) of the end relative to the start, and of its angular velocity.
    They return the vectors (s, k, 2) that vanish at singularities, with rates; and angle and rate, (s,) or (s, 3).
    """

    index: list[int]
    data: list[float]
    singularities: tuple[Singularity, ...]
    vectors: Callable[[Floats, Floats], list[tuple[Floats, Floats]]]
    motion: Callable[[Floats, Floats], tuple[Floats, Floats]]
    law: Callable[[float, float], Any] | None = None


def axis_row(spring: Any, layout: Layout) -> _SpringRow:
    """A spring about one axis. In the start pose, the station of the end has the axes of the start."""
    start, end = layout.station(spring.start), layout.station(spring.end)
    frame = layout.frames[end.frame].quaternion
    aligned = rotations.multiply(rotations.conjugate(frame), layout.pose(start)[1])
    axis = spring.axis / np.linalg.norm(spring.axis)
    needs_angle = spring.stiffness > 0.0 or spring.torque is not None
    event = "its angle reaches half a turn" if needs_angle else "its ends have turned over about another axis"
    singularity = Singularity(NEAREST, f"springs.{spring.name}", event, "|cos(angle/2)|", HALF_TURN_ADVICE)

    def vectors(p: Floats, w: Floats) -> list[tuple[Floats, Floats]]:
        """p_0, zero at 180 degrees; for a dashpot also p . axis, so that rotations about the axis are not limited."""
        parts = [np.stack([x[..., 0], x[..., 1:] @ axis], axis=-1) for x in (p, rotations.quaternion_rate(p, w))]
        if needs_angle:
            for part in parts:
                part[..., 1] = 0.0
        return [(parts[0], parts[1])]

    def motion(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        x, y = p[..., 0], p[..., 1:] @ axis
        change = rotations.quaternion_rate(p, w)
        rate = 2.0 * (x * (change[..., 1:] @ axis) - y * change[..., 0]) / (x * x + y * y)
        sign = np.where(x >= 0.0, 1.0, -1.0)
        return 2.0 * np.arctan2(sign * y, sign * x), rate

    moments = [spring.stiffness, 0.0, 0.0, spring.damping, 0.0, 0.0, spring.free_angle, 0.0, 0.0]
    return _SpringRow(
        [ONE_AXIS, 0, 0, 0, 1],
        [*start.rotation, *aligned, *axis, *moments, 0.0],
        (singularity,),
        vectors,
        motion,
        spring.torque,
    )


def euler_row(spring: Any, layout: Layout) -> _SpringRow:
    """A spring on the three Euler angles between its stations."""
    start, end = layout.station(spring.start), layout.station(spring.end)
    first, last, sign = axes_of(spring.sequence)
    second = "xyz".index(spring.sequence[1])
    free = spring.free_angles
    if free is None:
        relative = rotations.multiply(rotations.conjugate(layout.pose(start)[1]), layout.pose(end)[1])
        free = to_euler(relative, spring.sequence)
    stiffness = np.broadcast_to(spring.stiffness, 3)
    stiff = [m for m in (0, 2) if stiffness[m] != 0.0]
    item = f"springs.{spring.name}"
    lock = f"its ends are at gimbal lock of the sequence {spring.sequence}"
    advice = "give a sequence that stays away from it"
    singularities = [Singularity(NEAREST, item, lock, measure_of(spring.sequence), advice)]
    for m in stiff:
        event = f"its {'first' if m == 0 else 'third'} angle reaches half a turn"
        singularities.append(Singularity(NEAREST, item, event, "2 |cos(angle/2)|", HALF_TURN_ADVICE))
    axis = np.eye(3)[last]

    def vectors(p: Floats, w: Floats) -> list[tuple[Floats, Floats]]:
        """The vector that vanishes at gimbal lock, and (1 + cos, sin) of the outer angles with a stiffness."""
        angles, rates = to_euler(p, spring.sequence), euler_rates(p, w, spring.sequence)
        result = [lock_vector(first, axis, p, w)]
        for m in stiff:
            cos, sin, rate = np.cos(angles[..., m]), np.sin(angles[..., m]), rates[..., m]
            result.append((np.stack([1.0 + cos, sin], axis=-1), np.stack([-sin * rate, cos * rate], axis=-1)))
        return result

    def motion(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        along_axes = w[..., ["xyz".index(letter) for letter in spring.sequence]]
        rates = euler_rates(p, w, spring.sequence) if spring.frame == "dual_euler" else along_axes
        return to_euler(p, spring.sequence), rates

    kind = DUAL_EULER if spring.frame == "dual_euler" else BENDING
    moments = [*stiffness, *np.broadcast_to(spring.damping, 3), *free]
    data = [*start.rotation, *end.rotation, 0.0, 0.0, 0.0, *moments, sign]
    return _SpringRow([kind, first, second, last, 3], data, tuple(singularities), vectors, motion)


class TorsionBatch(PairBatch):
    """Pairs of stations. A callable moment has three inputs: value, and derivatives with respect to angle and rate."""

    kernels: ClassVar[ModuleType] = kernels
    groups: ClassVar[list[int]] = [1, 3]  # moments act on rotations only

    def __init__(self, springs: list[Any], layout: Layout, row_of: Callable[[Any, Layout], _SpringRow]) -> None:
        self.springs = springs
        self.rows = [row_of(spring, layout) for spring in springs]
        index: list[list[int]] = []
        inputs: list[Input] = []
        for k, (spring, row) in enumerate(zip(springs, self.rows, strict=True)):
            ends = [layout.station(end) for end in (spring.start, spring.end)]
            first = -1 if row.law is None else 3 * len(inputs)
            index.append([*self.index_row(layout, ends, first), *row.index])
            if row.law is not None:
                inputs.append(Input.of_law(law_of(self.angle, k, row.law), f"springs.{spring.name}.torque"))
        super().__init__(layout, index, [row.data for row in self.rows])
        self.inputs = tuple(inputs)
        self.singularities = tuple(singularity for row in self.rows for singularity in row.singularities)

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Moment, angle and rate of every spring; three each on Euler angles."""
        p, w = self._motions(frames.q, frames.v)
        block: dict[str, Floats] = {}
        for k, (spring, row) in enumerate(zip(self.springs, self.rows, strict=True)):
            angle, rate = row.motion(p[:, k], w[:, k])
            moments = np.reshape(self.data[k, STIFFNESS : FREE + 3], (3, 3))
            stiffness, damping, free = moments if row.index[0] != ONE_AXIS else moments[:, 0]
            force = stiffness * (angle - free) + damping * rate
            if self.index[k, INPUT] >= 0:
                force = force + frames.u[:, self.index[k, INPUT]]
            values = {"force": force, "angle": angle, "rate": rate}
            block |= {f"springs/{spring.name}/{word}": value for word, value in values.items()}
        return block

    def angle(self, k: int, q: Floats, v: Floats) -> tuple[float, float]:
        """Angle and rate of spring k about its axis at one state."""
        p, w = self._motions(q[None], v[None])
        h = np.empty(3)
        angle = twist(p[0, k], self.data[k, AXIS], h)
        return float(angle), float(h @ w[0, k])

    def _motions(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        count = len(self.index)
        p, w = np.empty((len(q), count, 4)), np.empty((len(q), count, 3))
        kernels.motions(self.index, self.data, q, v, self.fixed, p, w)
        return p, w

    def singularity_vectors(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Vectors (s, k, 2) that vanish at the singularities of the springs, and their rates."""
        p, w = self._motions(q, v)
        pairs = [pair for k, row in enumerate(self.rows) for pair in row.vectors(p[:, k], w[:, k])]
        return np.stack([y for y, _ in pairs], axis=1), np.stack([rate for _, rate in pairs], axis=1)
