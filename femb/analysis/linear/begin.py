"""Begin: the operating point that a linearisation is asked for, by names: how a case starts, at rest, trimmed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from femb.analysis.linear.chart import Chart
from femb.analysis.linear.point import OperatingPoint
from femb.analysis.linear.second_order import chart_of
from femb.analysis.linear.trim import trimmed
from femb.base.errors import ModelError
from femb.base.options import STARTS
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.system.system import System


def operating_point(
    model: "Model | System",
    *,
    start: str = "as_given",
    at_rest: bool = False,
    state: Mapping[str, float] | None = None,
    trim: bool = False,
    vary: Sequence[str] | None = None,
    t: float = 0.0,
) -> OperatingPoint:
    """A state of a model, or of a System of it, with its accelerations and reactions, to be linearised about.

    start : as of a run, "as_given", "assembled" or "equilibrium". at_rest : with no speeds but those of drivers and of
    ``state``, which has coordinates of joints (rad or m) and speeds (per s) by the names of states, such as
    {"joints.mast.angle": 0.1, "joints.mast.angle rate": 32.0}. trim, vary : then look for steady motion nearby, as
    ``femb.trim``. t : time, s.

    Raises ModelError: an unknown start or state; else as ``trim`` and ``femb.analysis.equilibrium.steady_start``.
    """
    return point_at(prepared(model, start, at_rest, state, t), trim, vary, t)[0]


def prepared(
    model: "Model | System", start: str, at_rest: bool, state: Mapping[str, float] | None, t: float = 0.0
) -> "System":
    """The System at the start that is asked for."""
    from femb.system.system import System

    if start not in STARTS:
        raise ModelError(f"start: got {start!r}, must be one of {', '.join(map(repr, STARTS))}")
    system = System(model, assemble=start == "assembled") if isinstance(model, Model) else model
    if start == "equilibrium":
        from femb.analysis.equilibrium import steady_start

        system = system.starting_at(*steady_start(system))
    return _changed(system, at_rest, state or {}, t) if at_rest or state else system


def point_at(
    system: "System", trim: bool = False, vary: Sequence[str] | None = None, t: float = 0.0
) -> tuple[OperatingPoint, dict[str, float]]:
    """The point at the start of a System, or near it, and the speeds that a trim brought to rest, by their names."""
    if vary and not trim:
        raise ModelError("vary names what a trim may change: ask for trim, too")
    if not trim:
        return OperatingPoint.of(system, t=t), {}
    found = trimmed(system, vary=vary or None, t=t)
    return found.point, found.rested


def _changed(system: "System", at_rest: bool, state: Mapping[str, float], t: float) -> "System":
    """The system started at rest, or with other coordinates of joints and speeds."""
    point = OperatingPoint.of(system, t=t)
    chart = chart_of(point)
    p, w = np.zeros((2, chart.H.shape[1]))
    if at_rest:
        w[: chart.free] = -chart.speeds[: chart.free]
    now = point.system.joint_motion(point.q, point.v)[0]
    places = {chart.names[k]: float(now[number]) for number, k in chart.joints.items() if k < chart.free}
    for name, value in state.items():
        word = name.removesuffix(" rate")
        if word not in chart.names or (word == name and word not in places):
            raise ModelError(f"state: got {name!r}; {_wanted(chart, places)}")
        k = chart.names.index(word)
        if word == name:
            p[k] = value - places[name]
        else:
            w[k] = value - chart.speeds[k]
    q, v = chart.retract(p, w)
    return system.starting_at(q, v)


def _wanted(chart: Chart, places: Mapping[str, float]) -> str:
    coordinates = f"coordinates {', '.join(places)}" if places else "no coordinates"
    return f"there are {coordinates}, and the rates: {', '.join(f'{name} rate' for name in chart.names) or 'none'}"
