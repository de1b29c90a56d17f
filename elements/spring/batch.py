"""Springs and dashpots between two points, evaluated together."""

from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.spring import kernels
from femb.elements.spring.end import SHORTEST
from femb.elements.spring.kernels import DAMPING, FREE, INPUT, STIFFNESS
from femb.elements.spring.pair_batch import PairBatch
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.singularity import Singularity
from femb.layout.views import OutputStates


class SpringBatch(PairBatch):
    """Pairs of points. A callable force has three inputs: value, and derivatives with respect to length and rate."""

    table = "springs"  # of its records in the results
    kernels: ClassVar[ModuleType] = kernels

    def __init__(self, springs: list[Any], layout: Layout) -> None:
        self.names = [spring.name for spring in springs]
        index, data, singular, singularities = [], [], [], []
        inputs: list[Input] = []
        for k, spring in enumerate(springs):
            ends = [layout.station(spring.start), layout.station(spring.end)]
            length = float(np.linalg.norm(layout.pose(ends[1])[0] - layout.pose(ends[0])[0]))
            numbers, given, singularity = self.parts(spring, k, length)
            index.append(self.index_row(layout, ends, -1 if given is None else 3 * len(inputs)))
            data.append([*ends[0].offset, *ends[1].offset, *numbers])
            if given is not None:
                inputs.append(given)
            if singularity is not None:
                singular.append(k)
                singularities.append(singularity)
        super().__init__(layout, index, data)
        self.inputs, self.singularities = tuple(inputs), tuple(singularities)
        self._singular: Ints = np.array(singular, dtype=np.int64)

    def parts(self, spring: Any, k: int, length: float) -> tuple[list[float], Input | None, Singularity | None]:
        """Stiffness, damping and free length of spring k, from its length at the start; its input; its singularity."""
        free, item = spring.rest_length(length), f"springs.{spring.name}"
        given = singularity = None
        if spring.force is not None:
            given = Input.of_law(law_of(self.lengths, k, spring.force), f"{item}.force")
        if spring.needs_direction(length):
            advice = "keep the ends apart, or give free_length = 0 to a spring that pulls to a point"
            singularity = coincident_ends(item, max(free, length), advice)
        return [spring.stiffness, spring.damping, free], given, singularity

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Tension, length and its rate of every spring."""
        d, change = self._vectors(np.arange(len(self.index)), frames.q, frames.v)
        length = np.linalg.norm(d, axis=-1)
        rate = np.sum(d * change, axis=-1) / np.where(length > 0.0, length, 1.0)
        force = self.data[:, STIFFNESS] * (length - self.data[:, FREE]) + self.data[:, DAMPING] * rate
        block: dict[str, Floats] = {}
        for k, name in enumerate(self.names):
            if self.index[k, INPUT] >= 0:
                force[:, k] += frames.u[:, self.index[k, INPUT]]
            values = {"force": force, "length": length, "rate": rate}
            block |= {f"{self.table}/{name}/{word}": value[:, k] for word, value in values.items()}
        return block

    def lengths(self, k: int, q: Floats, v: Floats) -> tuple[float, float]:
        """Length and its rate of spring k at one state."""
        d, rate = self._vectors(np.array([k]), q[None], v[None])
        length = float(np.linalg.norm(d))
        return length, float(np.sum(d * rate)) / length if length > 0.0 else 0.0

    def singularity_vectors(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Vectors (s, k, 3) between the ends of every spring that is singular at zero length, and their rates."""
        return self._vectors(self._singular, q, v)

    def _vectors(self, rows: Ints, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        d, rate = np.empty((2, len(q), len(rows), 3))
        kernels.vectors(self.index[rows], self.data[rows], q, v, self.fixed, d, rate)
        return d, rate


def law_of(measure: Callable[..., Any], k: int, law: Callable[[float, float], Any]) -> Callable[[float, Any], Any]:
    """The function of time and state that evaluates ``law`` at the length or angle of spring k and its rate."""
    return lambda t, state: law(*measure(k, *state.arrays()))


def coincident_ends(item: str, size: float, advice: str) -> Singularity:
    """The singularity of a line whose two ends coincide; size : its typical length, m."""
    event = "its two ends meet, where its force has no direction,"
    return Singularity(SHORTEST * size, item, event, "length", advice)
