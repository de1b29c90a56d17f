"""Two systems beside a nominal one, whose equations are differenced at the same states.

    R_p = [R(S+; z) - R(S-; z)]/d

Batch by batch, and only of those whose terms differ: rounding is that of their own forces. Quaternions and discrete
states are those of the nominal system.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Bools, Floats
from femb.base.values import shallow_copy
from femb.layout.discrete import ANGLES, DiscreteState
from femb.layout.element import Batch
from femb.layout.terms import Force, same_arguments
from femb.system.system import System

# Difference of forward and backward derivatives of what is linear, relative to the largest.
LINEAR = 1e-6
# Distance from an instant where inputs are not smooth for their slope there, relative to the interval.
BESIDE_CORNER = 1e-4
BESIDE = "differ beside the value"


class SystemPair:
    """The systems ``sides``, whose values of a parameter are those of the nominal one and ``places``.

    shift : of the instants of the present steps. corners (b,) : of the instants where inputs are not smooth.

    Raises ModelError where their unknowns, items, instants or discrete states are not those of the nominal one.
    """

    shift = 0.0

    def __init__(self, nominal: System, sides: tuple[System, System], places: tuple[float, float]) -> None:
        self.nominal, self.sides, self.places, self.distance = nominal, sides, places, places[0] - places[1]
        first, second = sides
        for side in self.sides:
            _check_alike(nominal, side)
        self.discrete = self.changes(first.discrete, second.discrete)
        self.corners = (np.array(first.breakpoints) - np.array(second.breakpoints)) / self.distance
        self._rows_differ = not same_arguments(
            (first.constraint_set.data, first.constraint_set.fixed, first.constraint_set.index),
            (second.constraint_set.data, second.constraint_set.fixed, second.constraint_set.index),
        )
        # unwrapped angles of joints, which only count revolutions, are the nominal ones
        counted = [part for input_, part in nominal.inputs.parts if input_.array == ANGLES]
        self._given: Bools = np.ones(nominal.n_u, dtype=bool)
        for part in counted:
            self._given[part] = False

    def changes(self, first: DiscreteState, second: DiscreteState) -> dict[str, Floats]:
        """The derivatives of discrete states that differ, but the counted angles, of those of both systems."""
        found = {}
        for name, array in first.items():
            other = second[name]
            # bytes of small arrays are compared ten times faster than their numbers
            if name != ANGLES and array is not other and array.tobytes() != other.tobytes():
                # instants that never come are infinite
                found[name], differs = np.zeros(array.shape), array != other
                found[name][differs] = (array[differs] - other[differs]) / self.distance
        return found

    def holding(self, discrete: DiscreteState, changes: dict[str, Floats]) -> "SystemPair":
        """The systems in a discrete state with these derivatives."""
        other = shallow_copy(self)
        other.nominal, other.discrete = self.nominal.with_discrete(discrete), changes
        first, second = (
            side.with_discrete(moved(discrete, changes, place))
            for side, place in zip(self.sides, self.places, strict=True)
        )
        other.sides, other.shift = (first, second), 0.0
        return other

    def later(self, shift: float) -> "SystemPair":
        """The systems in steps whose instants have this derivative."""
        other = shallow_copy(self)
        other.shift = shift
        return other

    @cached_property
    def start(self) -> tuple[Floats, Floats]:
        """The changes of q (n_q,) and v (n_v,) at the start of the motion."""
        first, second = self.sides
        return (first.q0 - second.q0) / self.distance, (first.v0 - second.v0) / self.distance

    def is_linear(self, times: Sequence[float], u: Floats, *motion: Floats) -> bool:
        """Whether the equations at s states, as in ``equations``, and the start are linear in the parameter."""
        halves = []
        for k in range(2):
            sides, places = list(self.sides), list(self.places)
            sides[k], places[k] = self.nominal, 0.0
            half = SystemPair(self.nominal, (sides[0], sides[1]), (places[0], places[1]))
            given = half.inputs(times, u)
            halves.append((*half.start, half.equations(given, *motion), *half.constraints(given, *motion[:2])))
        pairs = zip(*halves, strict=True)
        return all(
            np.max(np.abs(one - other), initial=0.0) <= LINEAR * np.max(np.abs(one), initial=0.0)
            for one, other in pairs
        )

    def inputs(self, times: Sequence[float], u: Floats) -> list[Floats]:
        """The inputs (s, n_u) of both systems at times (s), of the nominal one u."""
        nominal, *sides = (
            self._along(system, times, place * self.shift, u)
            for system, place in zip((self.nominal, *self.sides), (0.0, *self.places), strict=True)
        )
        return [u + self._given * (values - nominal) for values in sides]

    def _along(self, system: System, times: Sequence[float], later: float, u: Floats) -> Floats:
        """The inputs as u of a system, later by so much (s), each of the smooth interval of the nominal ones."""

        def given(times: Sequence[float]) -> Floats:
            values = np.empty((len(times), u.shape[1]))
            system.inputs_along(times, system.q0, system.v0, values)
            return values

        corners = self.nominal.breakpoints
        if not corners or not (later or np.any(self.corners)):
            return given(times)
        moved, own = [t + later for t in times], [-np.inf, *system.breakpoints, np.inf]
        values = given(moved)
        for k, t in enumerate(times):
            first, last = own[(j := bisect_right(corners, t)) : j + 2]
            if not first <= moved[k] < last:
                # continued from inside
                edge, length = (first, BESIDE_CORNER) if moved[k] < first else (np.nextafter(last, 0.0), -BESIDE_CORNER)
                length *= min(last - first, edge)
                near = given([edge, edge + length, edge + 2.0 * length])
                slope = (4.0 * near[1] - 3.0 * near[0] - near[2]) / (2.0 * length)
                values[k] = near[0] + (moved[k] - edge) * slope
        return values

    def equations(self, inputs: list[Floats], q: Floats, v: Floats, a: Floats, multipliers: Floats) -> Floats:
        """(s, n) the partial derivative of ``MotionEquations.equations`` at s states."""
        n_v, found = self.nominal.n_v, []
        moved = not np.array_equal(inputs[0], inputs[1])
        for side, u, batches in zip(self.sides, inputs, self._changed(moved), strict=True):
            force, rates = np.zeros(v.shape), np.zeros(multipliers.shape)
            side.evaluation.of(batches).add_residual(u, q, v, a, force)
            if self._rows_differ or moved:
                side.constraint_set.constraint_force(u, q, v, multipliers, force, rates)
            found.append((force, rates))
        out = np.empty((len(q), n_v + self.nominal.n_c))
        for part, (first, second) in zip((out[:, :n_v], out[:, n_v:]), zip(*found, strict=True), strict=True):
            np.divide(first - second, self.distance, out=part)
        return out

    def constraints(self, inputs: list[Floats], q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """(s, n_c) those of Phi and of J v + Phi_t."""
        if not self._rows_differ and np.array_equal(inputs[0], inputs[1]):
            return np.zeros((len(q), self.nominal.n_c)), np.zeros((len(q), self.nominal.n_c))
        found = [
            (side.constraints(u, q, v)[0], side.constraint_rates(u, q, v))
            for side, u in zip(self.sides, inputs, strict=True)
        ]
        position, rates = ((first - second) / self.distance for first, second in zip(*found, strict=True))
        return position, rates

    def _changed(self, moved: bool) -> tuple[list[Batch], list[Batch]]:
        """The batches of both systems whose forces differ; moved : whether inputs do."""
        pairs = list(zip(*(side.batches for side in self.sides), strict=True))
        some = [
            pair
            for pair, same in zip(pairs, self._alike, strict=True)
            if not same or (moved and _reads_inputs(pair[0]))
        ]
        return [one for one, _ in some], [other for _, other in some]

    @cached_property
    def _alike(self) -> list[bool]:
        """Whether the terms of each batch are equal in both systems."""
        return [
            same_arguments(_keys(one), _keys(other))
            for one, other in zip(*(side.evaluation.forces for side in self.sides), strict=True)
        ]


def moved(discrete: DiscreteState, changes: dict[str, Floats], part: float) -> DiscreteState:
    """A discrete state moved by a part of changes."""
    return discrete.with_arrays({name: discrete[name] + part * change for name, change in changes.items()})


def _keys(forces: Sequence[Force]) -> list[object]:
    return [(each.kernel, each.reads, each.kept) for each in forces]


def _reads_inputs(batch: Batch) -> bool:
    return any("u" in force.reads for force in batch.forces())


def _check_alike(nominal: System, other: System) -> None:
    """Raise ModelError where the equations are not of the same unknowns."""

    def shape(system: System) -> tuple[object, ...]:
        return system.n_q, system.n_v, system.n_c, system.n_u, [type(batch) for batch in system.batches]

    if shape(nominal) != shape(other):
        raise ModelError(f"the unknowns of the model {BESIDE}")
    if nominal.breakpoints != other.breakpoints and (
        len(nominal.breakpoints) != len(other.breakpoints) or nominal.constraint_set.inputs
    ):
        raise ModelError(f"the instants of inputs {BESIDE}")
    arrays = nominal.discrete, other.discrete
    if {name: array.shape for name, array in arrays[0].items()} != {k: array.shape for k, array in arrays[1].items()}:
        raise ModelError(f"discrete states {BESIDE}")
