"""Operating point of a linearisation, defined by the start of a case, values of states by name, and a trim."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from femb.base.errors import ModelError
from femb.base.values import check_flag, check_table, number_problem, shown
from femb.elements.control.controller import under_commands
from femb.linear.chart import Chart
from femb.linear.second_order import chart_of
from femb.linear.trim import trimmed
from femb.small_motions.point import OperatingPoint
from femb.vibration.completion import given, system_at

if TYPE_CHECKING:
    from femb.case import Given
    from femb.system.system import System


class PointOptions(TypedDict, total=False):
    """The arguments of ``operating_point`` as options by name."""

    start: str
    at_rest: bool
    state: Mapping[str, float] | None
    trim: bool
    vary: Sequence[str] | None
    t: float
    differences: bool


def operating_point(model: "Given | System", **options: Unpack[PointOptions]) -> OperatingPoint:
    """A state of a model, or of a System of it, with accelerations and reactions, for linearisation, under the commands
    that sampled controllers give there.

    Parameters:
        model: or a System of it.
        options: start : as in a run, "as_given", "assembled" or "equilibrium". at_rest : set all speeds to zero but
            those of drivers and of ``state``. state : coordinates of joints (rad or m) and speeds (per s) by the names
            of states, as {"joints.mast.angle": 0.1, "joints.mast.angle rate": 32.0}. trim, vary : then solve for a
            steady motion nearby, as ``femb.trim`` does. t : time, s. differences : whether users' functions of the
            state without derivatives are differentiated by central differences; else they are refused.

    Raises:
        ModelError: an unknown start or state; else as ``trim`` and ``femb.statics.equilibrium.in_equilibrium``.
    """
    return commanded_point(model, **options)[0]


def commanded_point(
    model: "Given | System", **options: Unpack[PointOptions]
) -> tuple[OperatingPoint, dict[str, float], set[str]]:
    """The point of ``operating_point``; what sampled controllers command there, by input; and what limits reduce."""
    point = trimmed_point(model, **options)[0]
    system, commands, limited = under_commands(point.system, point.t, point.q, point.v)
    if system is not point.system:
        point = OperatingPoint.of(system, point.q, point.v, point.t)
    return point, commands, limited


def trimmed_point(
    model: "Given | System",
    *,
    start: str | None = None,
    at_rest: bool = False,
    state: Mapping[str, float] | None = None,
    trim: bool = False,
    vary: Sequence[str] | None = None,
    t: float = 0.0,
    differences: bool = False,
) -> tuple[OperatingPoint, dict[str, float]]:
    """The point of ``operating_point``, and the speeds that a trim set to zero, by name."""
    model, start = given(model, start)
    check_flag("at_rest", at_rest)
    if number_problem(t):
        raise ModelError(f"t: got {shown(t)}, wanted a time in s")
    if state is not None:
        check_table("state", state)
    if vary and not trim:
        raise ModelError("vary names what a trim may change: ask for trim, too")
    system = system_at(model, start, differences=differences)
    if at_rest or state:
        system = _changed(system, at_rest, state or {}, t)
    return trimmed(system, vary or None, t) if trim else (OperatingPoint.of(system, t=t), {})


def _changed(system: "System", at_rest: bool, state: Mapping[str, float], t: float) -> "System":
    """The system started at rest, or with other coordinates of joints and speeds."""
    point = OperatingPoint.of(system, t=t)
    chart = chart_of(point)
    p, w = np.zeros((2, chart.H.shape[1]))
    values = system.layout.first_order_names
    moving = [k for k, name in enumerate(chart.names) if name not in values]
    if at_rest:
        w[moving] = -chart.speeds[moving]
    now = point.system.joint_motion(point.q, point.v)[0]
    coordinates = {chart.names[k]: float(now[number]) for number, k in chart.joints.items() if k < chart.free}
    for name, value in state.items():
        word = name.removesuffix(" rate")
        known = word in chart.names and (word not in values if word != name else name in coordinates or name in values)
        if not known:
            raise ModelError(f"state: got {name!r}; {_wanted(chart, coordinates, values)}")
        k = chart.names.index(word)
        if word == name and name not in values:
            p[k] = value - coordinates[name]
        else:
            w[k] = value - chart.speeds[k]
    q, v = chart.retract(p, w)
    return system.starting_at(q, v)


def _wanted(chart: Chart, coordinates: Mapping[str, float], values: Collection[str]) -> str:
    listed = f"coordinates {', '.join(coordinates)}" if coordinates else "no coordinates"
    states = f", the states {', '.join(values)}" if values else ""
    rates = ", ".join(f"{name} rate" for name in chart.names if name not in values)
    return f"there are {listed}{states}, and the rates: {rates or 'none'}"
