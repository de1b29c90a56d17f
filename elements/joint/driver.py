"""Base class of drivers: rows of constraint whose inputs are functions of time with two derivatives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import FembError, ModelError, SolveError
from femb.base.types import Floats
from femb.base.values import as_numbers, shown
from femb.elements.item import Item
from femb.elements.joint.records import driver_records
from femb.elements.marker import Place, check_markers
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Input, breakpoints_of, raised
from femb.layout.layout import DriverLayout, Layout, Station
from femb.layout.views import ModelView, StartPoses
from femb.profiles import PROFILES, Motion

Follow = Callable[[float], Any]


@dataclass(frozen=True, eq=False)
class Driver(Item):
    """Base class of drivers: the driven quantities follow functions of time, with the necessary force.

    A motion is a profile with two derivatives (femb.profiles.Motion), or in Python a function of time that returns the
    value and its first and second derivative.
    """

    table: ClassVar[str] = "drivers"

    name: str

    def ends(self, layout: Layout) -> tuple[Station, Station]:
        """Its two ends."""
        raise NotImplementedError

    def components(self, layout: Layout) -> tuple[str, ...]:
        """Names of the components of its rate and force, one for every row."""
        raise NotImplementedError

    def inputs(self) -> list[Input]:
        """The inputs of its rows."""
        raise NotImplementedError

    def outputs(self, entry: DriverLayout, motions: list[Floats], multipliers: Floats) -> tuple[Floats, Floats, Floats]:
        """Value, rate and force (T, n) from the values of the inputs, (T, width) each, and the multipliers (T, n).

        entry : the driver in the layout. motions (T, width) : the values, rates and accelerations of its
        inputs, m or rad.

        The power of the drive is force times rate. Source: docs/theory/constraints.md, section 10.
        """
        value, rate = (np.stack([motion[:, k] for motion in motions], axis=1) for k in (0, 1))
        return value, rate, -multipliers

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Rows between its two ends. Raises ModelError for ends on one frame, two fixed ends, or an invalid motion."""
        first, second = self.ends(layout)
        moving = [layout.frames[end.frame].freedom for end in (first, second)]
        if first.frame == second.frame or not any(moving):
            raise ModelError.at(
                (self.table, self.name, "second"), "is on the same frame as the first, or both are fixed: nothing moves"
            )
        inputs = tuple(self.inputs())
        for input_ in inputs:
            _check_start(input_)
        names = self.components(layout)
        rows = [layout.add_row(f"drivers.{self.name}: {name}", first.frame, second.frame) for name in names]
        layout.drivers[self.name] = DriverLayout(first, second, rows, inputs, names, self.coordinate_number(layout))

    def coordinate_number(self, layout: Layout) -> int:
        """Number of the driven coordinate among those of all joints; -1 if it drives no joint coordinate."""
        return -1

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        return layout.drivers[self.name].inputs

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        return driver_records(items, system)


class PlaceDriver(Driver):
    """Base class of drivers between two places, in the fields first and second."""

    first: Place
    second: Place

    def check(self, check: Checks) -> None:
        check_markers(check, Place, "first", "second")

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """Its markers, by field."""
        return {("first",): self.first, ("second",): self.second}

    def ends(self, layout: Layout) -> tuple[Station, Station]:
        return layout.station(self.first), layout.station(self.second)


def check_motion(check: Checks, field: str) -> None:
    """Report a field that is not a motion with two derivatives."""
    value = getattr(check.item, field)
    shape = getattr(value, "shape", None)
    if shape in list(PROFILES) and not isinstance(value, Motion):
        smooth = ", ".join(repr(shape) for shape, kind in PROFILES.items() if hasattr(kind, "derivatives"))
        check.fail(field, f"got the profile {shape!r}, whose value or rate jumps; a driver can follow {smooth}")
    elif not callable(value):
        check.fail(
            field,
            f"got {shown(value)}, wanted a profile, or a function of time that returns three numbers (f, f', f'')",
        )


def motion_input(name: str, field: str, motion: Any) -> Input:
    """The input of width 3 of a motion."""
    label = f"drivers.{name}.{field}"
    return Input(3, motion_function(motion, label), breakpoints=breakpoints_of(motion), label=label)


def motion_function(motion: Any, label: str) -> Follow:
    """The function of time with the result (f, f', f''). It raises SolveError for other results of the function."""
    if hasattr(motion, "derivatives"):
        result: Follow = motion.derivatives
        return result

    def follow(t: float) -> Any:
        wanted = "three numbers: the value and its first and second derivative"
        return as_array(call_user(motion, label, t), (3,), wanted, label, t)

    return follow


def call_user(function: Callable[[float], Any], label: str, t: float) -> Any:
    """The result of a user's function of time. Raises SolveError, with the cause, if the function fails."""
    try:
        return function(t)
    except FembError:
        raise
    except Exception as error:
        raise raised(label, t, error) from error


def as_array(value: Any, shape: tuple[int, ...], wanted: str, label: str, t: float) -> Floats:
    """The result of a user's function as an array of the given shape. Raises SolveError for any other result."""
    numbers = as_numbers(value)
    if numbers is None or numbers.shape != shape:
        raise SolveError(f"{label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}")
    return numbers


def _check_start(motion: Input) -> None:
    """Raise ModelError for an input that fails or is not finite at t = 0."""
    item, field = motion.label.rsplit(".", 1)
    path = (*item.split(".", 1), field)
    try:
        value = motion.function(0.0)
    except SolveError as error:
        raise ModelError.at(path, str(error).removeprefix(f"{motion.label}: ")) from error
    except Exception as error:  # of a user's function
        raise ModelError.at(path, f"fails at t = 0 s: {type(error).__name__}: {error}") from error
    if not np.all(np.isfinite(value)):
        raise ModelError.at(path, f"got {shown(value)} at t = 0 s, every number must be finite")
