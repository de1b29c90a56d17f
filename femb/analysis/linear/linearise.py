"""Linearise: the exact equations of small motions about an operating point, as a state space.

    M w' + C w + K p = F u,    [A1 A2] [x'; y] = [A3 A4] [x; u]

with the state x = [p; w]: changes of independent coordinates and of their speeds.
Source: docs/theory/linearisation.md, equations (7) to (10); Thompson, AIAA 2011-6277, equations (22) to (24).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from femb.analysis.linear.begin import operating_point
from femb.analysis.linear.outputs import Output, default_outputs, output
from femb.analysis.linear.point import OperatingPoint
from femb.analysis.linear.second_order import SecondOrder, chart_of, second_order
from femb.analysis.linear.statespace import StateSpace
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.system.system import System


def linearize(
    model: "Model | System | OperatingPoint",
    *,
    q: Floats | None = None,
    v: Floats | None = None,
    t: float = 0.0,
    outputs: Sequence[str] | None = None,
    start: str = "as_given",
    at_rest: bool = False,
    state: Mapping[str, float] | None = None,
    trim: bool = False,
    vary: Sequence[str] | None = None,
) -> StateSpace:
    """The state space of small changes about a state of a model, or of a System of it; by default about its start.

    model : or an OperatingPoint of ``trim`` or ``operating_point``. The state is given by q (n_q,), v (n_v,),
    coordinates and velocities of the System, or by start, at_rest, state, trim, vary as of ``operating_point``, the
    options of ``femb linearize``. t : s. outputs : names (femb.analysis.linear.outputs), by default the motion of all
    bodies and joints. Inputs are the factors of loads and motors, and the motion of every driver, its rate and its
    acceleration.

    Raises ModelError: loads that are functions of the state without derivatives, driven orientations at a point that is
    no equilibrium, unknown outputs, a state given twice; SolveError: no requested equilibrium or steady motion exists.
    """
    words = {"start": start != "as_given", "at_rest": at_rest, "state": state, "trim": trim, "vary": vary}
    given = [word for word, value in words.items() if value]
    if given and (q is not None or v is not None):
        raise ModelError(f"linearize: got q or v and {', '.join(given)}: give one of the two")
    if isinstance(model, OperatingPoint):
        if given or q is not None or v is not None:
            raise ModelError("linearize: got an operating point and a state beside it: give one of the two")
        point = model
    elif q is not None or v is not None:
        from femb.system.system import System

        point = OperatingPoint.of(System(model) if isinstance(model, Model) else model, q, v, t)
    else:
        point = operating_point(model, start=start, at_rest=at_rest, state=state, trim=trim, vary=vary, t=t)
    return state_space(point, second_order(point, chart_of(point)), outputs)


def _rows(of: Output, pose: Floats, velocity: Floats, acceleration: Floats, p: Floats, w: Floats) -> Floats:
    if of.coordinate >= 0:
        return p[[of.coordinate]]
    if of.speed >= 0:
        return w[[of.speed]]
    return of.pose @ pose + of.velocity @ velocity + of.acceleration @ acceleration


def state_space(point: OperatingPoint, equations: SecondOrder, outputs: Sequence[str] | None = None) -> StateSpace:
    """The state space of second-order equations, with outputs by name. Raises ModelError: unknown outputs."""
    chart = equations.chart
    P, D, m = chart.free, len(chart.driven), len(equations.inputs)
    try:
        factor = cho_factor(equations.mass[:, :P])
    except LinAlgError as error:
        raise ModelError("the mass of the independent coordinates is not positive: something has no inertia") from error
    # columns: states p and w; inputs of forces; driven coordinates, their rates and accelerations
    p, w, rate = np.zeros((3, P + D, 2 * P + m + 3 * D))
    d = [slice(2 * P + m + k * D, 2 * P + m + (k + 1) * D) for k in range(3)]
    p[:P, :P] = w[:P, P : 2 * P] = np.eye(P)
    p[P:, d[0]] = w[P:, d[1]] = rate[P:, d[2]] = np.eye(D)
    balance = -equations.stiffness @ p - equations.damping @ w - equations.mass[:, P:] @ rate[P:]
    balance[:, 2 * P : 2 * P + m] += equations.forces
    rate[:P] = cho_solve(factor, balance)
    p_rate = (chart.E @ p + w)[:P]
    names = default_outputs(point, chart) if outputs is None else outputs
    parts = [output(point, chart, name) for name in names]
    pose, velocity = chart.H @ p, chart.eta_p @ p + chart.H @ w
    acceleration = chart.alpha_p @ p + chart.alpha_w @ w + chart.H @ rate
    y = np.zeros((0, p.shape[1]))
    if parts:
        y = np.vstack([_rows(part, pose, velocity, acceleration, p, w) for part in parts])
    driven = [f"{name}{word}" for word in ("", " rate", " acceleration") for name in chart.driven]
    x_rate = np.vstack([p_rate, rate[:P]])
    n = 2 * P
    return StateSpace(
        x_rate[:, :n],
        x_rate[:, n:],
        y[:, :n],
        y[:, n:],
        (*chart.names, *(f"{name} rate" for name in chart.names)),
        (*equations.inputs, *driven),
        tuple(name for part in parts for name in part.names),
    )
