"""Springs and dashpots between two points, evaluated together."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy
from femb.elements.frame_index import frame_indices, frame_starts, with_inputs
from femb.elements.marker import SHORTEST
from femb.layout.connections import Singularity
from femb.layout.element import Batch, Input, OutputRows, breakpoints_of, rows_of_law, unlike_inputs
from femb.layout.layout import Layout
from femb.layout.stacking import Shift, shifted
from femb.layout.state import motion_rows
from femb.layout.terms import Energy, Force, ForcePart, Tangent
from femb.layout.views import BlockPattern, LinearPoint, ModelView, OutputStates
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import Number, Vector3, cross, dot, joined, lift, maximum, norm, vector
from femb.numerics.compiler.traced import V3, of_one, put, put_changes, reader, traced, unit_changes
from femb.numerics.vector3 import (
    OF_PAIR,
    MovingFrame,
    add_row_force,
    column,
    frame_at,
    in_group,
    scatter_changes,
    still,
    turned_pair,
)

# Kernels over springs and dashpots between two points.
#
#     N = k (l - l0) + c l' + force,    l = |d|,    d = r_2 - r_1,    n = d / l,    l' = n . d'
#
# index (n, 8) int: FIRST and SECOND, columns of the frames of both points (see ``femb.numerics.vector3``), the first
# INPUT or -1, and the number of INPUTS. data (n, 9): the points in their frames, k, c, l0. Inputs: force, and of three
# its derivatives by l and l'. fixed : poses of fixed frames. Source: docs/theory/rigid_body.md, equation (8); Thompson,
# AIAA 2011-6277, generalized forces.

FIRST, SECOND, INPUT, INPUTS = 0, 3, 6, 7
STIFFNESS, DAMPING, FREE = 6, 7, 8

# Directions of the tangent, in groups of four: the second place relative to the first, turns of both frames, and the
# rates of these.
units = unit_changes(0, 4)
DIRECTIONS = 24


class PointSpring(NamedTuple):
    """Points (3,) in both frames, stiffness, damping, and length without force."""

    first: Vector3
    second: Vector3
    k: Number
    c: Number
    free: Number


row_of_data = reader(9)


@traced
def spring_of(row: Annotated[Any, (9,)]) -> Any:
    return PointSpring(row[:3], row[3:6], row[STIFFNESS], row[DAMPING], row[FREE])


@traced
def way_of(spring: PointSpring, one: MovingFrame, two: MovingFrame) -> Any:
    """The vector d (3,) from the first point to the second, and its rate, inertial axes."""
    points = (one, spring.first), (two, spring.second)
    places = [at.r + at.R @ point for at, point in points]
    rates = [at.v + at.R @ cross(at.omega, point) for at, point in points]
    return places[1] - places[0], rates[1] - rates[0]


@traced
def pull(spring: PointSpring, d: Vector3, rate: Vector3, given: Vector3, elastic: Number, other: Number) -> Any:
    """N n, equation (8); given (3,) : the inputs. elastic, other : factors of the stiffness and of the rest."""
    length = norm(d)
    n = d / length
    speed = dot(n, rate)
    force = given[0] + lift(0.0, (given[1], length), (given[2], speed))
    return (elastic * spring.k * (length - spring.free) + other * (spring.c * speed + force)) * n


@traced
def direction(a: Vector3) -> Any:
    """That of a vector, zero of none."""
    return a / maximum(norm(a), 1e-300)


@traced
def pull_of_one_point(
    spring: PointSpring, d: Vector3, rate: Vector3, n: Vector3, given: Vector3, elastic: Number, other: Number
) -> Any:
    """N n where the points coincide and part in the direction n, the limit of equation (8): there l n is d."""
    by_law = vector(*(lift(0.0, (given[1], x), (given[2], y)) for x, y in zip(d, rate, strict=True)))
    return elastic * spring.k * (d - spring.free * n) + other * (spring.c * rate + given[0] * n + by_law)


@traced
def on_frames(spring: PointSpring, one: MovingFrame, two: MovingFrame, N: Vector3) -> Any:
    """Force, inertial axes, and torque, own axes, on both frames (12,), of N n."""
    return joined(-N, -cross(spring.first, one.R.T @ N), N, cross(spring.second, two.R.T @ N))


@traced
def varied(one: MovingFrame, two: MovingFrame, units: Vector3) -> Any:
    """Both motions with changes along the directions of the tangent."""
    one, two = turned_pair(one, two, units)
    speed, omega = in_group(two.v, units, 3), in_group(two.omega, units, 5)
    return one._replace(omega=in_group(one.omega, units, 4)), two._replace(v=speed, omega=omega)


@inlined
def inputs_of(index, u):
    """The inputs (3,) of a spring: a force, and its derivatives or zeros."""
    first = index[INPUT]
    return V3(u[first:]) if index[INPUTS] == 3 else column(u[first] if first >= 0 else 0.0, 0.0, 0.0)


@inlined
def ends_of(index, q, v, fixed):
    """The motions of both frames."""
    return frame_at(index, FIRST, q, v, fixed), frame_at(index, SECOND, q, v, fixed)


@kernel
def vectors(index, data, fixed, q, v, out, out_rate):
    """out, out_rate (s, n, 3): d and its rate."""
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            d, rate = way_of(spring_of(row_of_data(data[k])), *ends_of(index[k], q[s], v[s], fixed))
            put(d, out[s, k])
            put(rate, out_rate[s, k])


@kernel_with_entry
def force(index, data, fixed, u, q, v, factors, out):
    """out (s, n_v) += D^T N n; factors (2,) : of the stiffness force, and of the other forces."""
    f = np.empty(12)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            spring, given = spring_of(row_of_data(data[k])), inputs_of(index[k], u[s])
            one, two = ends_of(index[k], q[s], v[s], fixed)
            d, rate = way_of(spring, one, two)
            if of_one(d @ d) > 0.0:
                N = pull(spring, d, rate, given, factors[0], factors[1])
            else:
                N = pull_of_one_point(spring, d, rate, direction(rate), given, factors[0], factors[1])
            put(on_frames(spring, one, two, N), f)
            add_row_force(index[k], 1.0, f, out[s])


@kernel
def energy(index, data, fixed, q, v, out):
    """out (s, 8) += k (l - l0)^2 / 2, as potential energy."""
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            spring = spring_of(row_of_data(data[k]))
            d, _ = way_of(spring, *ends_of(index[k], q[s], v[s], fixed))
            out[s, 1] += 0.5 * spring.k * (math.sqrt(of_one(d @ d)) - spring.free) ** 2


@kernel_with_entry
def tangent(index, data, fixed, offset, stride, u, q, v, damping, stiffness):
    """Add d(D^T N n)/dv and d(D^T N n)/dq H at every state to block data (s, size)."""
    rows, e = np.empty((12, DIRECTIONS)), units(still())
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            spring, given = spring_of(row_of_data(data[k])), inputs_of(index[k], u[s])
            one, two = varied(*ends_of(index[k], q[s], v[s], fixed), e)
            d, rate = way_of(spring, one, two)
            if of_one(d @ d) > 0.0:
                N = pull(spring, d, rate, given, 1.0, 1.0)
            else:
                N = pull_of_one_point(spring, d, rate, direction(of_one(rate)), given, 1.0, 1.0)
            put_changes(on_frames(spring, one, two, N), rows)
            scatter_changes(rows, 0, OF_PAIR, offset[k], stride[k], stiffness[s])
            scatter_changes(rows, 12, OF_PAIR, offset[k], stride[k], damping[s])


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
        self.springs, self.fixed, self.layout = springs, layout.fixed, layout
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
        raise NotImplementedError

    def take_start(self, q: Floats) -> None:
        layout = self.layout.at(np.array(q))
        for k, data in enumerate(self.data):
            data[:] = self.row(k, layout).data

    def allocate(self, pattern: BlockPattern) -> None:
        self.index = with_inputs(self.local_index, self.first_input, FIRST_INPUT)

    @cached_property
    def starts(self) -> Ints:
        """The first velocities of the groups, negative where they are fixed."""
        return frame_starts(self.local_index)[:, self.groups]

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
