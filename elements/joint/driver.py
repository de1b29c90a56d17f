"""What all drivers share: rows of constraint that follow motions, which are functions of time with two derivatives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import FembError, ModelError, SolveError
from femb.base.types import Floats
from femb.base.values import as_numbers, shown
from femb.elements.item import Item
from femb.elements.joint.constraint_set import Row
from femb.elements.joint.records import driver_records
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Input, breakpoints_of, raised
from femb.layout.layout import DriverLayout, Layout, Station
from femb.profiles import PROFILES, Motion

Follow = Callable[[float], Any]


@dataclass(frozen=True, eq=False)
class Driver(Item):
    """Base of all drivers: what is driven follows functions of time, whatever force that takes.

    A motion is a profile with two derivatives (femb.profiles.Motion), or in Python a function of time that returns the
    value and its first and second derivative.
    """

    table: ClassVar[str] = "drivers"
    kind: ClassVar[str]

    name: str

    def __post_init__(self) -> None:
        with Checks(self, "drivers", self.name) as check:
            self.check(check)

    def check(self, check: Checks) -> None:
        """Refuse what is wrong with the driver itself."""
        raise NotImplementedError

    def ends(self, layout: Layout) -> tuple[Station, Station]:
        """The two ends it holds."""
        raise NotImplementedError

    def components(self, layout: Layout) -> tuple[str, ...]:
        """Names of the components of its rate and force, one a row."""
        raise NotImplementedError

    def inputs(self) -> list[Input]:
        """What its rows follow."""
        raise NotImplementedError

    def constraint_rows(self, layout: Layout) -> list[Row]:
        """Its rows as the kernels take them, which follow its inputs by their number."""
        raise NotImplementedError

    def outputs(self, where: DriverLayout, motions: list[Floats], multipliers: Floats) -> tuple[Floats, Floats, Floats]:
        """Value, rate and force (T, n) for what the inputs gave, (T, width) each, and the multipliers (T, n).

        The power of the drive is force times rate. Source: docs/theory/constraints.md, section 10.
        """
        value, rate = (np.stack([motion[:, k] for motion in motions], axis=1) for k in (0, 1))
        return value, rate, -multipliers

    def declare_dofs(self, layout: Layout, placement: Any, model: Any) -> None:
        """Rows between its two ends. Raises ModelError where these are one, or both fixed, and for a bad motion."""
        first, second = self.ends(layout)
        moving = [layout.frames[each.frame].freedom for each in (first, second)]
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
        """The joint's coordinate that it drives, among those of all joints; -1 if it drives none."""
        return -1

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        return layout.drivers[self.name].inputs

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        return driver_records(items, system)


def check_motion(check: Checks, field: str) -> None:
    """Refuse what no driver can follow."""
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
    """The input of width 3 that a motion gives."""
    label = f"drivers.{name}.{field}"
    return Input(3, followed(motion, label), breakpoints=breakpoints_of(motion), label=label)


def followed(motion: Any, label: str) -> Follow:
    """A function of time to (f, f', f''). It raises SolveError where a user's function returns something else."""
    if hasattr(motion, "derivatives"):
        result: Follow = motion.derivatives
        return result

    def follow(t: float) -> Any:
        wanted = "three numbers: the value and its first and second derivative"
        return checked(asked(motion, label, t), (3,), wanted, label, t)

    return follow


def asked(function: Callable[[float], Any], label: str, t: float) -> Any:
    """What a user's function of time returns. Raises SolveError, with its cause, where it fails."""
    try:
        return function(t)
    except FembError:
        raise
    except Exception as error:
        raise raised(label, t, error) from error


def checked(value: Any, shape: tuple[int, ...], wanted: str, label: str, t: float) -> Floats:
    """What a user's function returned, as an array of a shape. Raises SolveError where it is something else."""
    numbers = as_numbers(value)
    if numbers is None or numbers.shape != shape:
        raise SolveError(f"{label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}")
    return numbers


def _check_start(each: Input) -> None:
    """Refuse an input that is wrong from the start."""
    item, field = each.label.rsplit(".", 1)
    place = (*item.split(".", 1), field)
    try:
        value = each.function(0.0)
    except SolveError as error:
        raise ModelError.at(place, str(error).removeprefix(f"{each.label}: ")) from error
    except Exception as error:  # of a user's function
        raise ModelError.at(place, f"fails at t = 0 s: {type(error).__name__}: {error}") from error
    if not np.all(np.isfinite(value)):
        raise ModelError.at(place, f"got {shown(value)} at t = 0 s, every number must be finite")
