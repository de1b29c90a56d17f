"""Springs and dashpots between two points, evaluated together."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy
from femb.elements.frame_index import frame_indices, pair_starts, with_inputs
from femb.elements.marker import SHORTEST
from femb.layout.connections import Singularity
from femb.layout.element import Batch, Input, OutputRows, breakpoints_of, rows_of_law, unlike_inputs
from femb.layout.layout import Layout
from femb.layout.stacking import Shift, shifted
from femb.layout.state import motion_rows
from femb.layout.terms import Energy, Force, ForcePart, Tangent
from femb.layout.views import BlockPattern, LinearPoint, ModelView, OutputStates
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.vector3 import (
    HAS_AXES,
    IN_V,
    add_point_force,
    add_torque_tangent,
    dot,
    point_motion,
    rotate_back,
    scatter,
    times_skew,
)

# Kernels over springs and dashpots between two points.
#
#     f = k (l - l0) + c l' + force,    l = |d|,    d = r_b - r_a,    n = d / l,    l' = n . d'
#
# With d' = D v, the generalized force of the pair is -D^T n f.
#
# index (n, 8) int: FIRST and SECOND, columns of the frames a and b (see ``femb.numerics.vector3``), the first INPUT
# or -1, and the number of INPUTS. data (n, 9): the points in their frames, k, c, l0. Inputs: force, and of three its
# derivatives by l and l'. fixed : poses of fixed frames. Source: Thompson, AIAA 2011-6277, generalized forces.

FIRST, SECOND, INPUT, INPUTS = 0, 3, 6, 7
FIRST_POINT, SECOND_POINT, STIFFNESS, DAMPING, FREE = slice(0, 3), slice(3, 6), 6, 7, 8

STARTS = np.array([0, 3, 6, 9])
SIZES = np.array([3, 3, 3, 3])


@inlined
def line(index, data, q, v, fixed, R, w, d, rate, n):
    """Length and its rate; sets R (2, 3, 3), w (2, 3) of the ends, d, its rate, and the direction n. Of coincident ends
    it is that in which they part, or zero."""
    work = np.empty((4, 3))
    point_motion(index, FIRST, data[FIRST_POINT], q, v, fixed, R[0], work[0], work[1], w[0])
    point_motion(index, SECOND, data[SECOND_POINT], q, v, fixed, R[1], work[2], work[3], w[1])
    for k in range(3):
        d[k] = work[2, k] - work[0, k]
        rate[k] = work[3, k] - work[1, k]
    length, speed = math.sqrt(dot(d, d)), math.sqrt(dot(rate, rate))
    for k in range(3):
        n[k] = d[k] / length if length > 0.0 else rate[k] / speed if speed > 0.0 else 0.0
    return length, dot(n, rate)


@kernel
def vectors(index, data, fixed, q, v, out, out_rate):
    """out, out_rate (s, n, 3): d and its rate."""
    R, w, n = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            line(index[k], data[k], q[s], v[s], fixed, R, w, out[s, k], out_rate[s, k], n)


@kernel_with_entry
def force(index, data, fixed, u, q, v, factors, out):
    """out (s, n_v) += D^T n f; factors (2,) : of the stiffness force, and of the other forces."""
    elastic, dissipative = factors[0], factors[1]
    R, w, work = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((4, 3))
    d, rate, n, local = work[0], work[1], work[2], work[3]
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, speed = line(index[k], data[k], q[s], v[s], fixed, R, w, d, rate, n)
            f = elastic * data[k, STIFFNESS] * (length - data[k, FREE]) + dissipative * data[k, DAMPING] * speed
            if index[k, INPUT] >= 0:
                f += dissipative * u[s, index[k, INPUT]]
            for e in range(2):
                j = index[k, 3 * e + IN_V]
                if j < 0:
                    continue
                side = f if e == 1 else -f
                if index[k, 3 * e + HAS_AXES]:
                    rotate_back(R[e], n, local)
                    add_point_force(side, n, local, data[k, 3 * e : 3 * e + 3], j, out[s])
                else:
                    for o in range(3):
                        out[s, j + o] += side * n[o]


@kernel
def energy(index, data, fixed, q, v, out):
    """out (s, 8) += k (l - l0)^2 / 2, as potential energy."""
    R, w, work = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, _ = line(index[k], data[k], q[s], v[s], fixed, R, w, work[0], work[1], work[2])
            out[s, 1] += 0.5 * data[k, STIFFNESS] * (length - data[k, FREE]) ** 2


@kernel_with_entry
def tangent(index, data, fixed, offset, stride, u, q, v, damping, stiffness):
    """Add d(D^T n f)/dv and d(D^T n f)/dq H at every state to block data (s, size).

    dn = P dd / l with P = 1 - n n^T, and l' = n . d' changes by (P d' / l) . dd + n . (dd'), so that

        C = c D^T n n^T D,    K = D^T (k n n^T + c n (P d')^T / l + f P / l) D + c D^T n n^T E + change of the arms,

    where E is the change of d' with rotations at constant v: -+ R w~, w = omega x point. The damper of coincident
    ends, of which n is the direction in which they part, exerts c d': there c n n^T is c.
    """
    R, w, work = np.empty((2, 3, 3)), np.empty((2, 3)), np.empty((5, 3))
    d, rate, n, across, local = work[0], work[1], work[2], work[3], work[4]
    D, E = np.zeros((3, 12)), np.zeros((3, 12))
    C, K, middle, drag = np.empty((12, 12)), np.empty((12, 12)), np.empty((3, 3)), np.empty((3, 3))
    by_rate, by_pose = np.empty((3, 12)), np.empty((3, 12))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, speed = line(index[k], data[k], q[s], v[s], fixed, R, w, d, rate, n)
            stiff, damp, first = data[k, STIFFNESS], data[k, DAMPING], index[k, INPUT]
            f = stiff * (length - data[k, FREE]) + damp * speed
            if first >= 0:
                f += u[s, first]
            if index[k, INPUTS] == 3:
                stiff += u[s, first + 1]
                damp += u[s, first + 2]
            # limit of f / length at zero length, for springs without free length
            over = f / length if length > 0.0 else stiff
            for o in range(3):
                across[o] = (rate[o] - speed * n[o]) / length if length > 0.0 else 0.0
            for e in range(2):
                side = 1.0 if e == 1 else -1.0
                for o in range(3):
                    D[o, 6 * e + o] = side
                times_skew(-side, R[e], data[k, 3 * e : 3 * e + 3], D[:, 6 * e + 3 : 6 * e + 6])
                times_skew(-side, R[e], w[e], E[:, 6 * e + 3 : 6 * e + 6])
            for o in range(3):
                for p in range(3):
                    middle[o, p] = (stiff - over) * n[o] * n[p] + damp * n[o] * across[p]
                middle[o, o] += over
            for o in range(3):
                for p in range(3):
                    drag[o, p] = damp * n[o] * n[p] if length > 0.0 else damp if o == p else 0.0
            for o in range(3):
                for y in range(12):
                    by_rate[o, y] = by_pose[o, y] = 0.0
                    for p in range(3):
                        by_rate[o, y] += drag[o, p] * D[p, y]
                        by_pose[o, y] += middle[o, p] * D[p, y] + drag[o, p] * E[p, y]
            for x in range(12):
                for y in range(12):
                    C[x, y] = D[0, x] * by_rate[0, y] + D[1, x] * by_rate[1, y] + D[2, x] * by_rate[2, y]
                    K[x, y] = D[0, x] * by_pose[0, y] + D[1, x] * by_pose[1, y] + D[2, x] * by_pose[2, y]
            for e in range(2):
                rotate_back(R[e], n, local)
                add_torque_tangent(f if e == 1 else -f, local, data[k, 3 * e : 3 * e + 3], 6 * e + 3, K)
            scatter(C, STARTS, SIZES, offset[k], stride[k], damping[s])
            scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness[s])


# Base class of batches of forces between two frames.

FIRST_INPUT = 6  # column of the index


@dataclass(frozen=True)
class PairRow:
    """A force between two frames: its data, further columns of its index, its input and its singularities.

    Without further columns the index has the number of inputs.
    """

    data: list[float]
    index: list[int] | None = None
    given: Input | None = None
    singularities: tuple[Singularity, ...] = ()


class PairBatch(Batch):
    """Forces between pairs of frames, a ``row`` for each item.

    index (n, 7 or more) : both frames, the first input or -1, and further columns of the kernels. groups : the groups
    of velocities on which the forces act: 0, 1 translation and rotation of the first frame, 2, 3 of the second. names :
    TABLE.NAME of the items. ends : stations of both ends of each.
    """

    groups: ClassVar[list[int]] = [0, 1, 2, 3]

    def __init__(self, springs: list[Any], layout: Layout, model: ModelView) -> None:
        self.springs, self.fixed = springs, layout.fixed
        self.names = [f"{spring.table}.{spring.name}" for spring in springs]
        self.ends = [[layout.station(end) for end in (spring.start, spring.end)] for spring in springs]
        self.rows = [self.row(k, layout) for k in range(len(springs))]
        index, width = [], 0
        for row, ends in zip(self.rows, self.ends, strict=True):
            first, count = (-1, 0) if row.given is None else (width, row.given.width)
            frames = [number for end in ends for number in frame_indices(layout, end.frame)]
            index.append([*frames, first, *(row.index or [count])])
            width += count
        self.index = self.local_index = np.array(index, dtype=np.int64)
        self.data: Floats = np.array([row.data for row in self.rows], dtype=float)
        self.inputs = tuple(row.given for row in self.rows if row.given is not None)
        self.singularities = tuple(each for row in self.rows for each in row.singularities)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = shallow_copy(batches[0])
        for word in ("springs", "names", "ends", "rows"):
            setattr(result, word, [each for batch in batches for each in getattr(batch, word)])
        indices = [batch.local_index for batch in batches]
        result.index = result.local_index = shifted(indices, shifts, [0, 3], [1, 4], [FIRST_INPUT])
        result.data, result.fixed = np.concatenate([batch.data for batch in batches]), layout.fixed
        result.singularities = tuple(each for batch in batches for each in batch.singularities)
        for word in ("starts", "_singular"):
            result.__dict__.pop(word, None)
        return result

    def row(self, k: int, layout: Layout) -> PairRow:
        """The row of spring k."""
        raise NotImplementedError

    def allocate(self, pattern: BlockPattern) -> None:
        self.index = with_inputs(self.local_index, self.first_input, FIRST_INPUT)

    @cached_property
    def starts(self) -> Ints:
        """The first velocities of the groups, negative where they are fixed."""
        return pair_starts(self.local_index)[:, self.groups]

    @property
    def kept(self) -> tuple[Ints, Floats, Floats]:
        """The arrays that its kernels keep."""
        return self.index, self.data, self.fixed


class SpringBatch(PairBatch):
    """Pairs of points. A callable force has three inputs: value, and derivatives with respect to length and rate."""

    def forces(self) -> list[Force]:
        return [Force(force, self.kept, parts=(ForcePart.ELASTIC, ForcePart.WORK))]

    def tangents(self) -> list[Tangent]:
        return [Tangent(tangent, self.kept, self.starts)]

    def energies(self) -> list[Energy]:
        return [Energy(energy, self.kept)]

    def row(self, k: int, layout: Layout) -> PairRow:
        ends = self.ends[k]
        length = float(np.linalg.norm(layout.pose(ends[1])[0] - layout.pose(ends[0])[0]))
        numbers, given, singularity = self.parts(k, length)
        singularities = () if singularity is None else (singularity,)
        return PairRow([*ends[0].offset, *ends[1].offset, *numbers], None, given, singularities)

    def parts(self, k: int, length: float) -> tuple[list[float], Input | None, Singularity | None]:
        """Stiffness, damping and free length of spring k, from its length at the start; its input; its singularity."""
        spring, item = self.springs[k], self.names[k]
        free, given, singularity = spring.rest_length(length), None, None
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
        parting = np.linalg.norm(change, axis=-1)
        rate = np.where(length > 0.0, np.sum(d * change, axis=-1) / np.where(length > 0.0, length, 1.0), parting)
        force = self.data[:, STIFFNESS] * (length - self.data[:, FREE]) + self.data[:, DAMPING] * rate
        block: dict[str, Floats] = {}
        for k, name in enumerate(self.names):
            if self.index[k, INPUT] >= 0:
                force[:, k] += frames.u[:, self.index[k, INPUT]]
            values = {"force": force, "length": length, "rate": rate}
            block |= {f"{name.replace('.', '/', 1)}/{word}": value[:, k] for word, value in values.items()}
        return block

    def linear_outputs(self) -> dict[str, tuple[str, ...]]:
        return {item: unlike_inputs(self, item, "force", "length", "rate") for item in self.names}

    def output_rows(self, point: LinearPoint, item: str, quantity: str) -> OutputRows:
        """Rows of length, rate and force, with the direction n: dl = n . dd, dl' = P d'/l . dd + n . dd'. Raises
        ModelError: the ends coincide.
        """
        k = self.names.index(item)
        d, rate = (each[0, 0] for each in self._vectors(np.array([k]), point.q[None], point.v[None]))
        length = float(np.linalg.norm(d))
        if length == 0.0:
            raise ModelError("its two ends are at one point, where it has no direction")
        n = d / length
        across = (rate - (rate @ n) * n) / length

        def apart(quantity: str) -> tuple[Floats, Floats]:
            """(3, n_v) of the vector from the first end to the second, by pose and velocity."""
            first, second = (motion_rows(point, end, quantity) for end in self.ends[k])
            return second[0] - first[0], second[1] - first[1]

        by_pose, velocity = apart("position")[0], apart("velocity")
        changes = ((n @ by_pose)[None], (across @ by_pose + n @ velocity[0])[None], (n @ velocity[1])[None])
        first, slopes = int(self.index[k, INPUT]), self.data[k, [STIFFNESS, DAMPING]]
        if self.index[k, INPUTS] == 3:
            slopes = slopes + point.u[first + 1 : first + 3]
        given = [(first, 1.0)] if first >= 0 else []
        return rows_of_law(point, self, quantity, "m", changes, (slopes[:1], slopes[1:]), given)

    def lengths(self, k: int, q: Floats, v: Floats) -> tuple[float, float]:
        """Length and its rate of spring k at one state."""
        d, rate = self._vectors(np.array([k]), q[None], v[None])
        length = float(np.linalg.norm(d))
        return length, float(np.sum(d * rate)) / length if length > 0.0 else 0.0

    def singularity_vectors(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Vectors (s, k, 3) between the ends of every spring that is singular at zero length, and their rates."""
        return self._vectors(self._singular, q, v)

    @cached_property
    def _singular(self) -> Ints:
        """The springs that are singular at zero length."""
        return np.flatnonzero([bool(row.singularities) for row in self.rows])

    def _vectors(self, rows: Ints, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        d, rate = np.empty((2, len(q), len(rows), 3))
        vectors(self.index[rows], self.data[rows], self.fixed, q, v, d, rate)
        return d, rate


def law_of(measure: Callable[..., Any], k: int, law: Callable[[float, float], Any]) -> Callable[[float, Any], Any]:
    """The function of time and state that evaluates ``law`` at the length or angle of spring k and its rate."""
    return lambda t, state: law(*measure(k, *state.arrays()))


def coincident_ends(item: str, size: float, advice: str) -> Singularity:
    """The singularity of a line whose two ends coincide; size : its typical length, m."""
    event = "its two ends meet, where its force has no direction,"
    return Singularity(SHORTEST * size, item, event, "length", advice)


# Pulls along lines between points, evaluated together.


class PullBatch(SpringBatch):
    """Springs without stiffness whose force is a function of time only."""

    def parts(self, k: int, length: float) -> tuple[list[float], Input | None, Singularity | None]:
        force, profile, item = self.springs[k].force, self.springs[k].profile, self.names[k]
        label = f"{item}.force"
        given = Input(1, lambda t: force * profile(t), breakpoints=breakpoints_of(profile), label=label, unit="N")
        return [0.0, 0.0, 0.0], given, coincident_ends(item, length, "end the pull before they meet")
