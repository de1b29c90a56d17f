"""Linearise: the exact equations of small motions about an operating point, as a state space.

    M w' + C w + K p = F u,    [A1 A2] [x'; y] = [A3 A4] [x; u]

with the state x = [p; w]: changes of independent coordinates and of their speeds.
Source: docs/theory/linearisation.md, equations (7) to (10); Thompson, AIAA 2011-6277, equations (22) to (24).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import check_flag, names_of
from femb.linear.begin import operating_point
from femb.linear.channels import Input, Output, default_outputs, inputs_of, output
from femb.linear.point import OperatingPoint, with_differences
from femb.linear.second_order import SecondOrder
from femb.linear.state_space import StateSpace, names_of_states
from femb.linear.trim import Balance, why_changing
from femb.model.model import Model
from femb.small_motions.spin_watch import warn_of_spin
from femb.vibration.completion import system_of

if TYPE_CHECKING:
    from femb.system.system import System

# Of the largest entry of the stiffness, by a metre: smaller reactions are rounding.
LOADED = 1e-12


def linearize(
    model: "Model | System | OperatingPoint",
    *,
    q: Floats | None = None,
    v: Floats | None = None,
    t: float = 0.0,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    start: str = "as_given",
    at_rest: bool = False,
    state: Mapping[str, float] | None = None,
    trim: bool = False,
    vary: Sequence[str] | None = None,
    differences: bool = False,
    held: str | None = None,
    hub: str | None = None,
    modes: int | None = None,
    craig_bampton: int | None = None,
    balanced: int | None = None,
    residual_vectors: bool = False,
    damping: float | None = None,
    frequencies: ArrayLike | None = None,
) -> StateSpace:
    """The state space of small changes about a state of a model, or of a System of it; by default about its start.

    model : or an OperatingPoint of ``trim`` or ``operating_point``. The state is given by q (n_q,), v (n_v,),
    coordinates and velocities of the System, or by start, at_rest, trim, vary and state as of ``operating_point``, the
    options of ``femb linearize``. t : s. outputs : names (femb.linear.channels), by default the motion of all
    bodies and joints. inputs : names, by default the factors of loads and motors, and the
    motion of every driver, its rate and its acceleration.

    differences : whether loads, springs and motors that are functions of the state without derivatives are
    differentiated by central differences; without it they are refused.

    A truncated model, or one with held or hub, is of the sparse ``femb.linear_model``, with its inputs and outputs and
    its meaning of start. modes, residual_vectors, craig_bampton, balanced : the order. damping : ratio of modes in
    place of the case's modal damping; by default a truncated model of a case without that has 0.005. frequencies (Hz) :
    where its error is computed. They are those of ``femb.linear.orders``; the result has a ``truncation``.

    ``StateSpace.unsteady`` says why a state is not steady: forces change its speeds, or change along its motion; its
    eigenvalues are then those of an instant.

    Raises ModelError: loads that are functions of the state without derivatives, driven orientations at a point that is
    no equilibrium, unknown inputs or outputs, a state given twice; SolveError: no requested equilibrium or steady
    motion exists.
    """
    orders = {"modes": modes, "craig_bampton": craig_bampton, "balanced": balanced}
    if held is not None or hub is not None or any(value is not None for value in orders.values()):
        other = {"q": q is not None, "v": v is not None, "t": t, "at_rest": at_rest, "state": state, "trim": trim}
        other["differences"] = differences
        wrong = [word for word, value in (*other.items(), ("vary", vary)) if value]
        if wrong or isinstance(model, OperatingPoint):
            raise ModelError(
                f"linearize: got {', '.join(wrong) or 'an operating point'} beside held, hub or a truncation, which "
                "are about the state that start says: leave it out, or linearize without truncation"
            )
        from femb.linear.model import linear_model
        from femb.linear.orders import state_space_of

        sparse = linear_model(model, inputs=inputs, outputs=outputs, held=held, hub=hub, start=start)
        return state_space_of(
            sparse, **orders, residual_vectors=residual_vectors, damping=damping, frequencies=frequencies
        )
    if damping is not None:
        raise ModelError(
            "linearize: a damping ratio is of the modes of a truncation, or of appendages: beside it name modes, "
            "craig_bampton or balanced, or a hub, or a held body"
        )
    check_flag("at_rest", at_rest)
    words = {"start": start != "as_given", "at_rest": at_rest, "state": state, "trim": trim, "vary": vary}
    given = [word for word, value in words.items() if value]
    if given and (q is not None or v is not None):
        raise ModelError(f"linearize: got q or v and {', '.join(given)}: give one of the two")
    if isinstance(model, OperatingPoint):
        if given or q is not None or v is not None:
            raise ModelError("linearize: got an operating point and a state beside it: give one of the two")
        point = model
    elif q is not None or v is not None:
        system = system_of(model)
        point = OperatingPoint.of(with_differences(system) if differences else system, q, v, t)
    else:
        point = operating_point(
            model, start=start, at_rest=at_rest, state=state, trim=trim, vary=vary, t=t, differences=differences
        )
    warn_of_spin(point.system, point.v)
    balance = Balance.of(point)
    space = state_space(point, balance.equations, outputs, inputs)
    return replace(space, unsteady=why_changing(balance))


@dataclass(frozen=True, eq=False)
class _Changes:
    """Changes of the motion by states and inputs (.., c): pose, velocity, acceleration (n_v,), multipliers (n_c,) and
    inputs of the System (n_u,)."""

    pose: Floats
    velocity: Floats
    acceleration: Floats
    multipliers: Floats
    inputs: Floats

    def of(self, output: Output) -> Floats:
        """(k, c): the rows of an output."""
        rows = output.pose @ self.pose + output.velocity @ self.velocity + output.acceleration @ self.acceleration
        if output.multipliers is not None:
            rows = rows + output.multipliers @ self.multipliers
        if output.by_input is not None:
            rows = rows + output.by_input @ self.inputs
        return rows


def state_space(
    point: OperatingPoint,
    equations: SecondOrder,
    outputs: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
) -> StateSpace:
    """The state space of second-order equations, with inputs and outputs by name.

    Raises ModelError: unknown inputs or outputs.
    """
    chart = equations.chart
    driven = [f"{name}{word}" for word in ("", " rate", " acceleration") for name in chart.driven]
    chosen = inputs_of(point, inputs, driven)
    forces = [each for each in chosen if isinstance(each, Input)]
    force = np.array([each.force for each in forces]).reshape(-1, point.system.n_v).T
    P, D, m = chart.free, len(chart.driven), len(forces)
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
    balance[:, 2 * P : 2 * P + m] += chart.H[:, :P].T @ force
    rate[:P] = cho_solve(factor, balance)
    p_rate = (chart.E @ p + w)[:P]
    names = default_outputs(point) if outputs is None else names_of("outputs", outputs)
    parts = [output(point, name) for name in names]
    pose, velocity = chart.H @ p, chart.eta_p @ p + chart.H @ w
    acceleration = chart.alpha_p @ p + chart.alpha_w @ w + chart.H @ rate
    multipliers, by_input = np.zeros((point.system.n_c, p.shape[1])), np.zeros((point.system.n_u, p.shape[1]))
    for k, each in enumerate(forces):
        if each.component >= 0:
            by_input[each.component, 2 * P + k] = 1.0
    if any(part.multipliers is not None for part in parts):
        largest = LOADED * float(np.max(np.abs(point.tangents[1].data), initial=1.0))
        if D and np.max(np.abs(point.multipliers), initial=0.0) > largest:
            raise ModelError("output: reactions of joints beside drivers are linearised at states without forces only")
        unbalanced = point.mass @ acceleration + point.tangents[0] @ velocity
        unbalanced += (point.tangents[1] + point.reaction_stiffness()) @ pose
        unbalanced[:, 2 * P : 2 * P + m] -= force
        multipliers = -np.linalg.pinv(point.jacobian.toarray().T) @ unbalanced
    changes = _Changes(pose, velocity, acceleration, multipliers, by_input)
    y = np.vstack([np.zeros((0, p.shape[1])), *(changes.of(part) for part in parts)])
    x_rate = np.vstack([p_rate, rate[:P]])
    n = 2 * P
    states, state_names = names_of_states(chart.names, point.system.layout.first_order_names, x_rate, y)
    names_of_inputs = [*(each.name for each in forces), *driven]
    order = [n + names_of_inputs.index(each if isinstance(each, str) else each.name) for each in chosen]
    return StateSpace(
        x_rate[np.ix_(states, states)],
        x_rate[np.ix_(states, order)],
        y[:, states],
        y[:, order],
        state_names,
        tuple(names_of_inputs[k - n] for k in order),
        tuple(name for part in parts for name in part.names),
        units={each.name: each.unit for each in forces} | {name: part.unit for part in parts for name in part.names},
    )
