"""Discrete states: named arrays that change only between steps, and the updates that change them.

An item declares the arrays with ``Layout.add_discrete``, and with ``Layout.add_update`` what changes them and when: at
the samples of a clock, at an instant that the arrays themselves name, where a function of the state passes through
zero, or after every step. Within a step they are constants of the equations, which read them as inputs
(``femb.layout.element.Input.of_array``). The counted revolutions of joints, ``ANGLES``, are such an array, which
``System.at`` sets after every step. Source: docs/theory/states.md.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf, isnan
from typing import Any, NamedTuple

import numpy as np

from femb.base.errors import FembError, SolveError
from femb.base.types import Floats
from femb.base.values import as_numbers, shown
from femb.layout.views import StateView
from femb.numerics.compiler.bound_calls import Bound

NUMBER = np.dtype(np.float64)
# The name of the coordinates (m,) of all joints at the last accepted state, unwrapped, rad or m.
ANGLES = "joints.coordinates"


class DiscreteState(Mapping[str, Floats]):
    """Arrays by name, as "latches.lock.engaged"; another state is another object."""

    # the state that this one was made from, and the names of the arrays that it changed
    _origin: "tuple[DiscreteState, list[str]] | None" = None

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        self._arrays = dict(arrays)

    def __getitem__(self, name: str) -> Floats:
        return self._arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"DiscreteState({self._arrays!r})"

    def number(self, name: str) -> float:
        """The only number of an array."""
        return self._arrays[name].item()

    @property
    def angles(self) -> Floats:
        """(m,) coordinates of all joints at the last accepted state, unwrapped, rad or m."""
        return self._arrays[ANGLES]

    def with_angles(self, angles: Floats) -> "DiscreteState":
        """The state with other coordinates of joints (m,)."""
        return self.with_arrays({ANGLES: angles})

    def replaced(self, values: Mapping[str, Floats]) -> "DiscreteState":
        """The state with other values of some arrays; itself if they are the same to the last bit."""
        # bytes of small arrays are compared ten times faster than their numbers
        before = self._arrays
        changed = {name: value for name, value in values.items() if value.tobytes() != before[name].tobytes()}
        return self.with_arrays(changed) if changed else self

    def with_arrays(self, values: dict[str, Floats]) -> "DiscreteState":
        """The state with other arrays of the shapes that they have, by name."""
        other = object.__new__(DiscreteState)
        other._arrays = self._arrays | values
        other._origin = self, list(values)
        if self._origin is not None:
            self._origin[0]._origin = None  # the last two, not all before them
        return other

    def changed_since(self, other: "DiscreteState") -> list[str]:
        """The names of the arrays that are not those of the other."""
        names: list[str] = []
        origin = self._origin
        while origin is not None:
            names += origin[1]
            if origin[0] is other:
                return names
            origin = origin[0]._origin
        before = other._arrays
        return [name for name, array in self._arrays.items() if array is not before[name]]

    def alike(self, other: "DiscreteState") -> bool:
        """Whether all arrays but the coordinates of joints are those of the other."""
        return set(self.changed_since(other)) <= {ANGLES}


@dataclass(frozen=True, eq=False)
class DiscreteArray:
    """A declared array: its value at the start, or the function of the joints' coordinates (m,) there that gives it.

    carried : whether a run that starts from the last state of another takes it from there, or the function of the array
    and of the last time (s) that gives it; instants, which that run counts from its own start, are not as they are.
    """

    start: Floats | Callable[[Floats], Any]
    carried: bool | Callable[[Floats, float], Floats] = True

    def taken_over(self, last: Floats, t: float) -> Floats | None:
        """The array of a run that starts where another one ended with ``last`` at t (s); None for that at the start."""
        return self.carried(last, t) if callable(self.carried) else last if self.carried else None

    def at_start(self, angles: Floats) -> Floats:
        """The array at the start, for the coordinates of joints (m,) there."""
        return np.array(self.start(angles) if callable(self.start) else self.start, dtype=np.float64)


class UpdateArrays:
    """The arrays that kernels of updates read and change in place: time t (1,), s, state q (n_q,), v (n_v,), and all
    discrete states but ``ANGLES``, one after the other in ``states``, with the place of each in ``parts``."""

    def __init__(self, discrete: DiscreteState, n_q: int, n_v: int) -> None:
        self.t, self.q, self.v = np.zeros(1), np.zeros(n_q), np.zeros(n_v)
        self.parts: dict[str, slice] = {}
        end = 0
        for name, array in discrete.items():
            if name != ANGLES:
                self.parts[name] = slice(end, end := end + array.size)
        self.states = np.zeros(end)

    def place(self, name: str) -> int:
        """The first place of a discrete state."""
        return int(self.parts[name].start)


class Crossing(NamedTuple):
    """A zero of sign (c - level), where c is the coordinate of joints with a number, unwrapped, or the time, -1."""

    number: int
    level: float
    sign: float = 1.0

    def value(self, t: float, state: StateView) -> float:
        """The function at an instant (s)."""
        c = t if self.number < 0 else float(state.coordinates[self.number])
        return self.sign * (c - self.level)


@dataclass(frozen=True, eq=False)
class Update:
    """A change of discrete states, and what it waits for: any of the four.

    label : of the item, as in messages. change : function (t, state, discrete) of the time (s), the ``State`` at the
    end of the step and the present discrete state, which gives the arrays that change by name, and no others.
    period, phase : s; a clock, with the samples phase + k period, k = 0, 1, 2 ...; the array ``count`` of the update is
    the number of samples so far. instant : function of the discrete state, which gives the next instant (s), infinity
    for none; waits_in : in its place, the array whose first number is that instant, as a queue. zero : function (t,
    state, discrete) that passes through zero, with direction 1 or -1 only rising or falling; watched where ``watched``
    of the discrete state says so. crossing : function of the discrete state that gives the ``Crossing`` that the zero
    is, if it is one. after_steps : whether after every step.

    At one instant updates with a lower ``order`` come first, then those declared first; each sees the arrays that those
    before it have changed, and all of them the same motion. Sensors have the order 0, controllers 1, what they set 2;
    those below 0 that are due at the start come before the first output.

    recorded : whether a zero is among the events of the results. rows : rows of constraints that it sets in force; the
    energy that their impulses take is recorded with the event. loss : function of the discrete states before and after,
    which gives the energy (J) that the change itself takes, recorded with the event. sample : function of the arrays
    (k, ...) after k samples of its clock, which gives those of the results by path TABLE/NAME/QUANTITY. bind : function
    of ``UpdateArrays`` that gives a kernel which changes them as ``change`` does, to the last bit, with the count of
    samples; None where there is no such kernel. Where it does not return -1, ``change`` does it.
    """

    label: str
    change: Callable[[float, StateView, DiscreteState], Mapping[str, Any]]
    period: float | None = None
    phase: float = 0.0
    instant: Callable[[DiscreteState], float] | None = None
    waits_in: str = ""
    zero: Callable[[float, StateView, DiscreteState], float] | None = None
    direction: int = 0
    watched: Callable[[DiscreteState], bool] | None = None
    crossing: Callable[[DiscreteState], Crossing] | None = None
    after_steps: bool = False
    order: int = 0
    recorded: bool = False
    rows: tuple[int, ...] = ()
    loss: Callable[[DiscreteState, DiscreteState], float] | None = None
    sample: Callable[[Mapping[str, Floats]], Mapping[str, Any]] | None = None
    bind: Callable[[UpdateArrays], Bound | None] | None = None

    @cached_property
    def count(self) -> str:
        """The name of the array () with the number of samples so far, of an update with a period."""
        return f"{self.label}.samples"

    def next(self, discrete: DiscreteState) -> float:
        """The next instant (s) that it waits for; infinity for none."""
        sample = inf
        if self.period is not None:
            sample = self.phase + discrete.number(self.count) * self.period
        if self.waits_in:
            return min(sample, discrete[self.waits_in].item(0))
        if self.instant is None:
            return sample
        asked = self.instant(discrete)
        if not asked == asked:
            raise SolveError(f"{self.label}: got NaN for the next instant, wanted a time (s), or infinity for none")
        return min(sample, float(asked))

    @property
    def has_instants(self) -> bool:
        """Whether it waits for a clock or an instant."""
        return self.period is not None or self.instant is not None or bool(self.waits_in)

    def samples(self, discrete: DiscreteState, t: float) -> bool:
        """Whether a sample of its clock is due at the time t (s)."""
        return self.period is not None and self.phase + discrete.number(self.count) * self.period <= t

    def watches(self, discrete: DiscreteState) -> bool:
        """Whether it waits for a zero now."""
        return self.zero is not None and (self.watched is None or self.watched(discrete))

    def changed(self, t: float, state: StateView, discrete: DiscreteState, sampled: bool = False) -> DiscreteState:
        """The discrete state after the update at time t (s); itself if nothing changes. sampled : whether it counts as
        a sample.

        Raises SolveError, by its label, where its function fails, or gives unknown arrays, other shapes or NaN.
        """
        try:
            given = self.change(t, state, discrete)
        except FembError:
            raise
        except Exception as error:
            raise SolveError(f"{self.label}: raised {type(error).__name__} at t = {t:.6g} s: {error}") from error
        values: dict[str, Floats] = {}
        known = discrete._arrays
        for name, value in given.items():
            before = known.get(name)
            if before is None or name == ANGLES:
                listed = ", ".join(each for each in discrete if each != ANGLES)
                raise SolveError(f"{self.label}: changes {name!r}; there are the discrete states {listed}")
            wanted = before.shape
            numbers: Floats | None
            if type(value) is float and value == value and not wanted:
                numbers = np.array(value)
            else:
                if type(value) is np.ndarray and value.dtype is NUMBER:
                    numbers = value
                else:
                    numbers = as_numbers(float(value) if isinstance(value, bool | np.bool_) else value)
                if numbers is None or numbers.shape != wanted or any(map(isnan, numbers.ravel().tolist())):
                    shape = f"numbers of the shape {wanted}" if wanted else "a number"
                    raise SolveError(f"{self.label}: {name}: got {shown(value)} at t = {t:.6g} s, wanted {shape}")
            # bytes of small arrays are compared ten times faster than their numbers
            if numbers.tobytes() != before.tobytes():
                values[name] = numbers
        if sampled:
            values[self.count] = np.array(known[self.count].item() + 1.0)
        return discrete.with_arrays(values) if values else discrete
