"""Controllers that are functions in Python with an explicit state."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import OWN_UNITS, Floats, Numbers
from femb.base.values import shown
from femb.elements.control.control_law import Law
from femb.elements.control.controller import NAMES, Controller
from femb.elements.control.signals import Signal
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StateView

# Samples at which a function is called twice, to see whether it remembers or draws random numbers.
PROBED = frozenset({0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987})


def check_python(check: Checks) -> None:
    """Report a field ``python`` that is no FILE.py:NAME."""
    given = check.item.python
    if given is not None and "python" not in check.bad:
        file, _, word = given.rpartition(":")
        good = file.endswith(".py") and word.isidentifier()
        check.require("python", good, "wanted a file and a function, as law.py:law")


def function_in(python: str, path: tuple[str, ...]) -> Callable[..., Any]:
    """The function FILE.py:NAME of the field at a path. Raises ModelError where its file has none."""
    from importlib.util import module_from_spec, spec_from_file_location

    file, _, word = python.rpartition(":")
    spec = spec_from_file_location(f"femb_law_{Path(file).stem}", file)
    if spec is None or spec.loader is None or not Path(file).is_file():
        raise ModelError.at(path, f"got {python!r}, but there is no file {file!r}")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ModelError.at(path, f"{file}: raised {type(error).__name__}: {error}") from error
    if not callable(getattr(module, word, None)):
        raise ModelError.at(path, f"{file} has no function {word!r}")
    found: Callable[..., Any] = getattr(module, word)
    return found


@dataclass(frozen=True, eq=False)
class SampledController(Controller):
    """A law in Python: ``function(t, y, x) -> (u, x)``, with the time (s), what it reads, and its state.

    The function must depend on its arguments alone and leave them as they are: what it remembers is in x. A law without
    a state returns u alone.

    Raises ModelError: no period, neither or both of function and python.
    """

    kind: ClassVar[str] = "python"

    name: str
    function: Callable[..., Any] | None = None
    """in Python, the law"""
    python: str | None = None
    """in a case file in its place, "FILE.py:NAME", read with --allow-code only"""
    inputs: tuple[str, ...] = ()
    """the signals y, one after the other; an attitude gives its quaternion"""
    outputs: tuple[str, ...] = ()
    """the commands that are the numbers u"""
    state: Annotated[Numbers | None, OWN_UNITS] = None
    """x at the start"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.exactly_one("function", "python")
        check.require("period", self.period is not None, "is missing: a function in Python is sampled")
        check.names("inputs", "outputs", wanted=NAMES)
        if self.state is not None:
            check.numbers("state")
        if "outputs" not in check.bad:
            check.require("outputs", len(self.outputs) > 0, "wanted the names of commands, as wheels.w1.torque")
        check_python(check)

    @property
    def reads(self) -> tuple[str, ...]:
        return self.inputs

    @property
    def sets(self) -> tuple[str, ...]:
        return self.outputs

    def start_state(self, layout: Layout, model: ModelView) -> Floats:
        return np.zeros(0) if self.state is None else np.asarray(self.state, dtype=float)

    def called(self) -> Callable[..., Any]:
        """The function. Raises ModelError where its file has none."""
        return self.function if self.function is not None else function_in(str(self.python), (*self._path, "python"))

    def law(self, layout: Layout, model: ModelView) -> Law:
        return FunctionLaw(self.called(), self.signals(layout, model), self.state is not None)


class FunctionLaw(Law):
    """A function of users, which is called twice at some samples; the signals that it reads."""

    def __init__(self, function: Callable[..., Any], signals: list[Signal], has_state: bool) -> None:
        self._function, self._signals, self._has_state = function, signals, has_state

    def read(self, t: float, state: StateView, discrete: Any) -> Floats:
        none = np.zeros(0)
        return np.concatenate([none, *(each.value(state, discrete) for each in self._signals)])

    def step(self, t: float, y: Floats, x: Floats, sample: int) -> tuple[Any, Any]:
        first = self._call(t, y, x)
        if sample in PROBED or sample % 1000 == 0:
            second = self._call(t, y, x)
            pairs = [tuple(map(np.asarray, pair)) for pair in zip(first, second, strict=True)]
            if not all(np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f") for a, b in pairs):
                raise ModelError(
                    f"gave {shown(first[0])} and then {shown(second[0])} for the same arguments: it remembers, or "
                    "draws random numbers; keep what it remembers in its state x, and let sensors have the noise"
                )
        return first

    def _call(self, t: float, y: Floats, x: Floats) -> tuple[Any, Any]:
        given = np.array(y), np.array(x)
        result = self._function(t, *given)
        if not (np.array_equal(given[0], y, equal_nan=True) and np.array_equal(given[1], x, equal_nan=True)):
            raise ModelError("changes its arguments: let it return new arrays")
        if not self._has_state:
            if isinstance(result, tuple) and len(result) == 2 and np.size(result[1]) == 0:
                return result[0], x
            return result, x
        if not isinstance(result, tuple) or len(result) != 2:
            raise ModelError(f"gave {shown(result)}, wanted (u, x): commands and the next state")
        return result
