"""Springs and dashpots between two points, evaluated together."""

from collections.abc import Callable
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import frame_places, pair_starts
from femb.elements.spring import kernels as kernels
from femb.elements.spring.end import SHORTEST
from femb.layout.element import Batch, Input, with_derivatives
from femb.layout.layout import Layout
from femb.layout.singularity import Posture


class SpringBatch(Batch):
    """Pairs of points; a callable force is three inputs: its value, and its derivatives by length and rate."""

    table = "springs"  # where its records stand in the results

    def __init__(self, springs: list[Any], layout: Layout) -> None:
        self.names = [spring.name for spring in springs]
        index: list[list[int]] = []
        inputs: list[Input] = []
        data, watched, postures = [], [], []
        for spring in springs:
            ends = [layout.station(spring.start), layout.station(spring.end)]
            length = float(np.linalg.norm(layout.pose(ends[1])[0] - layout.pose(ends[0])[0]))
            free = spring.rest_length(length)
            places = [place for end in ends for place in frame_places(layout, end.frame)]
            first = -1
            if spring.force is not None:
                first = 3 * len(inputs)
                law = force_law(self.lengths, len(index), spring.force)
                inputs.append(Input(3, law, of_state=True, label=f"springs.{spring.name}.force", differentiated=True))
            index.append([*places, first, 3 if spring.force is not None else 0])
            data.append([*ends[0].offset, *ends[1].offset, spring.stiffness, spring.damping, free])
            if spring.needs_direction(length):
                watched.append(len(index) - 1)
                postures.append(_meeting(spring, max(free, length)))
        self.inputs, self.postures = tuple(inputs), tuple(postures)
        self.local_index: Ints = np.array(index, dtype=np.int64)
        self.index = self.local_index
        self.data: Floats = np.array(data, dtype=float)
        self.fixed = layout.fixed
        self._watched: Ints = np.array(watched, dtype=np.int64)

    def allocate(self, pattern: Any) -> None:
        self.index = self.local_index.copy()
        self.index[self.index[:, 6] >= 0, 6] += self.first_input
        self.offset, self.stride = pattern.offsets(pair_starts(self.index))

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        kernels.forces(self.index, self.data, u, q, v, self.fixed, 1.0, 1.0, out)

    def applied(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        kernels.forces(self.index, self.data, u, q, v, self.fixed, 0.0, -1.0, out)

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        places = self.offset, self.stride
        kernels.tangent(self.index, self.data, *places, u, q, v, self.fixed, damping, stiffness)

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        kernels.energy(self.index, self.data, q, v, self.fixed, out)

    def records(self, frames: Any, batches: list[Batch]) -> dict[str, Floats]:
        """Tension, length and its rate of every spring."""
        d, change = self._vectors(np.arange(len(self.index)), frames.q, frames.v)
        length = np.linalg.norm(d, axis=-1)
        rate = np.sum(d * change, axis=-1) / np.where(length > 0.0, length, 1.0)
        force = self.data[:, 6] * (length - self.data[:, 8]) + self.data[:, 7] * rate
        block: dict[str, Floats] = {}
        for k, name in enumerate(self.names):
            if self.index[k, 6] >= 0:
                force[:, k] += frames.u[:, self.index[k, 6]]
            values = {"force": force, "length": length, "rate": rate}
            block |= {f"{self.table}/{name}/{word}": value[:, k] for word, value in values.items()}
        return block

    def lengths(self, k: int, q: Floats, v: Floats) -> tuple[float, float]:
        """Length and its rate of spring k at one state."""
        d, rate = self._vectors(np.array([k]), q[None], v[None])
        length = float(np.linalg.norm(d))
        return length, float(np.sum(d * rate)) / length if length > 0.0 else 0.0

    def posture_vectors(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """From end to end (s, k, 3) for every spring that has no force at zero length, and its rate."""
        return self._vectors(self._watched, q, v)

    def _vectors(self, rows: Ints, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        d, rate = np.empty((2, len(q), len(rows), 3))
        kernels.vectors(self.index[rows], self.data[rows], q, v, self.fixed, d, rate)
        return d, rate


def force_law(measure: Callable[..., Any], k: int, law: Callable[[float, float], Any]) -> Callable[..., Any]:
    """The input (3,) of a callable of elongation and rate: its value and derivatives, zero where it gives none."""

    def at(t: float, state: Any) -> Any:
        return with_derivatives(law(*measure(k, *state.arrays())))

    return at


def _meeting(spring: Any, size: float) -> Posture:
    return Posture(
        SHORTEST * size,
        f"springs.{spring.name}",
        "its two ends meet, where its force has no direction,",
        "length",
        "keep the ends apart, or give free_length = 0 to a spring that pulls to a point",
    )
