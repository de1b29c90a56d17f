"""Inputs of a system: the factors of loads and the motions of drivers.

They are functions of time, of the state, or of the discrete state, which is constant within a step.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from math import isfinite
from typing import Any

import numpy as np

from femb.base.errors import FembError, SolveError
from femb.base.types import Floats
from femb.base.values import shown
from femb.layout.discrete import DiscreteState
from femb.layout.element import Input, InputError, raised
from femb.profiles import Constant

# The inputs of one array of the discrete state: first component in u, width, and function.
OfArray = list[tuple[int, int, Callable[[DiscreteState], Any]]]


class Inputs(Sequence[Input]):
    """The inputs of a system, in order, and their values u (n_u,).

    parts : each with its part of u. of_state : whether one is a function of the state.
    """

    def __init__(self, inputs: Iterable[Input]) -> None:
        self._inputs = tuple(inputs)
        ends = list(accumulate(input_.width for input_ in self._inputs))
        self.size = ends[-1] if ends else 0
        self.parts = [(input_, slice(end - input_.width, end)) for input_, end in zip(self._inputs, ends, strict=True)]
        self.of_state = any(input_.of_state for input_ in self._inputs)
        self.held = [pair for pair in self.parts if pair[0].of_discrete]
        self._of_discrete = [pair for pair in self.held if not pair[0].array]
        self._of_arrays: dict[str, OfArray] = {}
        for input_, part in self.held:
            if input_.array:
                self._of_arrays.setdefault(input_.array, []).append((part.start, input_.width, input_.function))
        self._arrays_read = {input_.array for input_, _ in self.held if input_.array and not input_.recorded_only}
        others = [pair for pair in self.parts if not pair[0].of_discrete]
        self._constant = [pair for pair in others if isinstance(pair[0].function, Constant)]
        self._others = [pair for pair in others if not isinstance(pair[0].function, Constant)]
        of_time = bool(self._others) and not (self.of_state or self.held)
        self._numbers_of_time = of_time and all(input_.width == 1 for input_ in self._inputs)
        self._zeros = np.zeros(self.size)  # to find a number that is not finite faster than by a sum

    def __len__(self) -> int:
        return len(self._inputs)

    def __getitem__(self, k: Any) -> Any:
        return self._inputs[k]

    def __iter__(self) -> Iterator[Input]:
        return iter(self._inputs)

    @property
    def only_held(self) -> bool:
        """Whether all are constants, or functions of one array of the discrete state."""
        return not (self._others or self._of_discrete)

    @cached_property
    def breakpoints(self) -> list[float]:
        """Instants (s) where an input is not smooth, sorted."""
        return sorted({t for input_ in self._inputs for t in input_.breakpoints})

    def held_at(self, discrete: DiscreteState, before: tuple[DiscreteState, Floats] | None = None) -> Floats:
        """(n_u,) the inputs of a discrete state and constants, and zeros for the others.

        before : another discrete state with its values. Raises InputError, SolveError as ``at``.
        """
        if before is None:
            u = np.zeros(self.size)
            for input_, part in self._constant:
                u[part] = input_.function(0.0)
            changed = list(self._of_arrays)
        else:
            u, changed = before[1].copy(), discrete.changed_since(before[0])
        for name in changed:
            for first, width, function in self._of_arrays.get(name, ()):
                if width == 1 and discrete[name].size == 1:
                    u[first] = discrete.number(name)
                else:
                    u[first : first + width] = function(discrete)
        for input_, part in self._of_discrete:
            _set(u, input_, part, input_.function(discrete), "")
        if not isfinite(u.dot(self._zeros)):
            for input_, part in self.held:  # raises, and names it
                _set(u, input_, part, u[part], "")
        return u

    def change(self, before: DiscreteState, after: DiscreteState) -> bool:
        """Whether an input that the equations read has another value in another discrete state."""
        if not self._arrays_read.isdisjoint(after.changed_since(before)):
            return True
        return any(
            np.asarray(input_.function(before)).tobytes() != np.asarray(input_.function(after)).tobytes()
            for input_, _ in self._of_discrete
        )

    def at(self, t: float, held: Callable[[], Floats], state: Callable[[], Any]) -> Floats:
        """u (n_u,) at the time t (s), with the values that are ``held`` and the ``state`` for those of the state.

        Raises InputError where an input is not finite; SolveError, with its cause, where a user's function fails.
        """
        u = self._numbers_at(t)
        if u is not None:
            return u
        u = held().copy()
        if not self._others:
            return u
        now = state() if self.of_state else None
        for input_, part in self._others:
            try:
                value = input_.function(t, now) if input_.of_state else input_.function(t)
            except FembError:
                raise
            except Exception as error:
                raise raised(input_.label, t, error) from error
            if input_.of_state and np.shape(value) != (input_.width,):
                wanted = (
                    f"{'one number or ' if input_.differentiated and input_.width == 3 else ''}{input_.width} numbers"
                )
                raise SolveError(f"{input_.label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}")
            _set(u, input_, part, value, f" at t = {t:.6g} s")
        return u

    def _numbers_at(self, t: float) -> Floats | None:
        """u (n_u,) at time t of inputs that are all numbers of time; None for others, and where one is no finite
        number: ``at`` tells which."""
        if not self._numbers_of_time:
            return None
        try:
            values = [input_.function(t) for input_ in self._inputs]
            return np.array(values, dtype=float) if isfinite(sum(values)) else None
        except Exception:
            return None

    def along(self, times: Sequence[float], held: Callable[[], Floats], state: Callable[[], Any], out: Floats) -> None:
        """Set out (s, n_u) to ``at`` s times (s), in one state, on which none depends."""
        if self._others:
            try:
                if len(self._others) < len(self._inputs):
                    out[:] = held()
                for input_, part in self._others:
                    function, place = input_.function, part.start if input_.width == 1 else part
                    for k, t in enumerate(times):
                        out[k, place] = function(t)
                if isfinite(out.sum()):
                    return
            except Exception:
                pass
            for k, t in enumerate(times):
                out[k] = self.at(t, held, state)
        elif self.size:
            out[:] = held()

    def of_times(self, times: Floats, discrete: DiscreteState, angles: Floats) -> Floats | None:
        """u (s, n_u) at s times (s) with the joint coordinates ``angles`` (s, m) in the discrete state, of inputs that
        do not depend on the state; None if one fails, as ``at`` will tell."""
        u = np.empty((len(times), self.size))
        instants = times.tolist()
        for input_, part in self.parts:
            try:
                if input_.of_discrete:
                    u[:, part] = input_.at_angles(discrete, angles)
                else:
                    values = np.array([*map(input_.function, instants)], dtype=float)
                    u[:, part] = values.reshape(len(times), input_.width)
            except Exception:
                return None
        return u if np.isfinite(u).all() else None


def _set(u: Floats, input_: Input, part: slice, value: Any, when: str) -> None:
    """Set the part of u that is an input; when : the words of the time in messages."""
    try:
        u[part] = value
    except (TypeError, ValueError) as error:
        wanted = f"{input_.width} numbers" if input_.width > 1 else "a number"
        raise SolveError(f"{input_.label}: got {shown(value)}{when}, wanted {wanted}") from error
    if not all(map(isfinite, u[part].tolist())):
        raise InputError(f"{input_.label}: got {shown(value)}{when}, which is not finite")
