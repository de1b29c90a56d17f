"""Linearise: the exact equations of small motions about an operating point, as a state space.

    M w' + C w + K p = F u,    [A1 A2] [x'; y] = [A3 A4] [x; u]

with the state x = [p; w]: changes of independent coordinates and of their speeds.
Source: docs/theory/linearisation.md, equations (7) to (10); Thompson, AIAA 2011-6277, equations (22) to (24).
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import check_flag, names_of, shallow_copy
from femb.elements.control.linear_law import LinearLaw
from femb.elements.control.signals import is_true
from femb.linear.begin import operating_point
from femb.linear.chart import driven_inputs
from femb.linear.loop import Loop
from femb.linear.modal_form import SecondOrderModel
from femb.linear.second_order import SecondOrder, free_motions_of, invariant_of
from femb.linear.state_space import StateSpace
from femb.linear.trim import Balance, why_changing
from femb.linear.truncate import space_of
from femb.model.model import Model
from femb.small_motions.channels import ForceInput, LinearOutput, default_outputs, inputs_of, output
from femb.small_motions.point import OperatingPoint, with_differences
from femb.small_motions.spin_watch import warn_of_spin
from femb.vibration.completion import mean_system_of, system_of
from femb.vibration.damping_ratios import damping_in_words, without_default

if TYPE_CHECKING:
    from femb.case import Case
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
    closed: bool = False,
) -> StateSpace:
    """The state space of small changes about a state. It is of a model or of a System of it, by default the start.

    model : or an OperatingPoint of ``trim`` or ``operating_point``. The state is given by q (n_q,), v (n_v,),
    coordinates and velocities of the System, or by start, at_rest, trim, vary and state as of ``operating_point``, the
    options of ``femb linearize``. t : s. outputs : names (femb.small_motions.channels), by default the motion of all
    bodies and joints. inputs : names, by default the factors of loads and motors, and the
    motion of every driver, its rate and its acceleration.

    closed : whether its controllers act, as ``femb.loop(model).closed()``: sampled ones with their sensors, delays and
    periods give the exact model over their common period ``dt``. By default commands of sampled controllers are held;
    continuous ones always act.

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
    check_flag("closed", closed)
    if closed:
        plant: dict[str, Any] = {
            "q": q, "v": v, "state": state, "vary": vary, "held": held, "hub": hub, "damping": damping,
            "frequencies": frequencies, **orders,
        }  # fmt: skip
        flags = {"at_rest": at_rest, "trim": trim, "differences": differences, "residual_vectors": residual_vectors}
        words: dict[str, Any] = {word: value for word, value in plant.items() if value is not None}
        words |= {word: True for word, value in flags.items() if value} | ({"t": t} if t else {})
        return closed_loop(model, inputs, outputs, **words | ({"start": start} if start != "as_given" else {}))
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
    begun = {"start": start != "as_given", "at_rest": at_rest, "state": state, "trim": trim, "vary": vary}
    given = [word for word, value in begun.items() if value]
    if given and (q is not None or v is not None):
        raise ModelError(f"linearize: got q or v and {', '.join(given)}: give one of the two")
    if isinstance(model, OperatingPoint):
        if given or q is not None or v is not None:
            raise ModelError("linearize: got an operating point and a state beside it: give one of the two")
        point = model
    elif q is not None or v is not None:
        system = mean_system_of(model)
        point = OperatingPoint.of(with_differences(system) if differences else system, q, v, t)
    else:
        point = operating_point(
            model, start=start, at_rest=at_rest, state=state, trim=trim, vary=vary, t=t, differences=differences
        )
    warn_of_spin(point.system, point.v)
    balance = Balance.of(point)
    if not (unsteady := why_changing(balance)):
        # accelerations of a steady state are rounding, whose directions would turn with slow motions
        balance = balance.with_constant_speeds()
    return state_space(point, balance.equations, outputs, inputs, unsteady)


@dataclass(frozen=True, eq=False)
class _Changes:
    """Changes of the motion by states and inputs (.., c): pose, velocity, acceleration (n_v,), multipliers (n_c,) and
    inputs of the System (n_u,)."""

    pose: Floats
    velocity: Floats
    acceleration: Floats
    multipliers: Floats
    inputs: Floats

    def of(self, output: LinearOutput) -> Floats:
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
    unsteady: str = "",
) -> StateSpace:
    """The state space of second-order equations, with inputs and outputs by name.

    unsteady : why the state is not steady; empty where it is.
    Raises ModelError: unknown inputs or outputs.
    """
    chart = equations.chart
    driven = driven_inputs(point.system, chart.driven)
    chosen = inputs_of(point, inputs, tuple(driven))
    forces = [each for each in chosen if isinstance(each, ForceInput)]
    force = np.array([each.force for each in forces]).reshape(-1, point.system.n_v).T
    P, D, m = chart.free, len(chart.driven), len(forces)
    # columns: coordinates, speeds and their rates; inputs of forces; driven coordinates, their rates and accelerations
    p, w, rate = np.zeros((3, P + D, 3 * P + m + 3 * D))
    d = [slice(3 * P + m + k * D, 3 * P + m + (k + 1) * D) for k in range(3)]
    p[:P, :P] = w[:P, P : 2 * P] = rate[:P, 2 * P : 3 * P] = np.eye(P)
    p[P:, d[0]] = w[P:, d[1]] = rate[P:, d[2]] = np.eye(D)
    balance = -equations.stiffness @ p - equations.damping @ w - equations.mass[:, P:] @ rate[P:]
    balance[:, 3 * P : 3 * P + m] += chart.H[:, :P].T @ force
    names = default_outputs(point) if outputs is None else names_of("outputs", outputs)
    parts = [output(point, name) for name in names]
    pose, velocity = chart.H @ p, chart.eta_p @ p + chart.H @ w
    acceleration = chart.alpha_p @ p + chart.alpha_w @ w + chart.H @ rate
    multipliers, by_input = np.zeros((point.system.n_c, p.shape[1])), np.zeros((point.system.n_u, p.shape[1]))
    for k, each in enumerate(forces):
        if each.component >= 0:
            by_input[each.component, 3 * P + k] = 1.0
    if any(part.multipliers is not None for part in parts):
        largest = LOADED * float(np.max(np.abs(point.tangents[1].data), initial=1.0))
        if D and np.max(np.abs(point.multipliers), initial=0.0) > largest:
            raise ModelError("output: reactions of joints beside drivers are linearised at states without forces only")
        unbalanced = point.mass @ acceleration + point.tangents[0] @ velocity
        unbalanced += (point.tangents[1] + point.reaction_stiffness()) @ pose
        unbalanced[:, 3 * P : 3 * P + m] -= force
        multipliers = -np.linalg.pinv(point.jacobian.toarray().T) @ unbalanced
    changes = _Changes(pose, velocity, acceleration, multipliers, by_input)
    y = np.vstack([np.zeros((0, p.shape[1])), *(changes.of(part) for part in parts)])
    names_of_inputs = [*(each.name for each in forces), *driven]
    order = [3 * P + names_of_inputs.index(each if isinstance(each, str) else each.name) for each in chosen]
    model = SecondOrderModel(
        chart.names, equations.mass[:, :P], equations.damping[:, :P], equations.stiffness[:, :P], balance[:, order],
        y[:, :P], y[:, P : 2 * P], y[:, 2 * P : 3 * P], y[:, order],
    )  # fmt: skip
    turning = (chart.E @ p)[:P]
    try:
        return space_of(
            model,
            tuple(names_of_inputs[k - 3 * P] for k in order),
            tuple(name for part in parts for name in part.names),
            point.system.layout.first_order_names,
            None if np.any(turning) else free_motions_of(point, chart),
            np.hstack([turning[:, :P], turning[:, order]]),
            invariant_of(point, equations) if np.any(turning) and not unsteady else None,
            units={each.name: each.unit for each in forces}
            | {each: driven[each] for each in chosen if isinstance(each, str)}
            | {name: part.unit for part in parts for name in part.names},
            title=point.system.model.title,
            unsteady=unsteady,
            damping=damping_in_words(point.system.model, None, False),
        )
    except LinAlgError as error:
        raise ModelError("the mass of the independent coordinates is not positive: something has no inertia") from error


# Models in the loop of their controllers.


def closed_loop(
    model: "Model | Case | System | OperatingPoint",
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    **words: Any,
) -> StateSpace:
    """``Loop.closed`` of ``loop``, with the inputs, outputs and words of ``linearize``.

    inputs : also names of what laws read, followed by " error". Raises ModelError as of both.
    """
    added = None if inputs is None else [name for name in inputs if not name.endswith(" error")]
    of = loop(model, inputs=added, outputs=outputs, **words)

    def components(names: Sequence[str] | None, known: Sequence[str]) -> list[str] | None:
        """The names of single numbers of those of groups."""
        if names is None:
            return None
        found = {name: [each for each in known if each.startswith((f"{name}.", f"{name} "))] for name in names}
        return list(
            dict.fromkeys(each for name in names for each in ([name] if name in known else found[name] or [name]))
        )

    return of.closed(components(inputs, of.plant.inputs), components(outputs, of.plant.outputs))


def laws_of(system: "System") -> tuple[LinearLaw, ...]:
    """The linear laws of the controllers of a model that set commands, and of the filters and sensors that these read.

    Raises ModelError: one of them has none, with the reason.
    """
    layout, model = system.layout, system.model
    items = [item for item in model.items() if hasattr(item, "linear_law")]
    found: dict[int, LinearLaw] = {}
    chosen = [item for item in items if item.sets]
    while chosen:
        found |= {id(item): item.linear_law(layout, model) for item in chosen}
        # the true quantity of a sensor is an output of the plant
        read = [f"{name}." for law in found.values() for name in law.inputs if not is_true(name)]
        left = [item for item in items if id(item) not in found]
        chosen = [item for item in left if any(name.startswith(f"{item.table}.{item.name}.") for name in read)]
    return tuple(found[id(item)] for item in items if id(item) in found)


def loop(
    model: "Model | Case | System | OperatingPoint | StateSpace",
    laws: Sequence[LinearLaw] | None = None,
    *,
    inputs: Sequence[str] | None = (),
    outputs: Sequence[str] | None = (),
    **words: Any,
) -> Loop:
    """The control loop of a model about a state, by default about its start.

    model : or a case, or a state space of its plant. laws : linear laws of the controllers, by default those of the
    model. inputs, outputs : names of more inputs and outputs of the plant, for responses; None for those that
    ``femb.linearize`` has by default. words : others, as of ``femb.linearize``; modes of a truncated plant have no
    damping by default, beside the model's own.

    Raises ModelError: as of ``linearize`` and ``Loop``; a System or an operating point with continuous controllers.
    """
    from femb.case import Case

    if isinstance(model, Case):
        words = {"start": model.start} | words
        model = model.model
    if isinstance(model, StateSpace):
        if laws is None:
            raise ModelError("loop: a state space has no controllers: give laws, too")
        return Loop(model, tuple(laws))
    if any(words.get(order) is not None for order in ("modes", "craig_bampton", "balanced")):
        system = model.system if isinstance(model, OperatingPoint) else model
        of = system if isinstance(system, Model) else system.model
        words["damping"] = without_default(of, words.get("damping"))
    found = () if laws is None else tuple(laws)
    if laws is None:
        found = laws_of(model.system if isinstance(model, OperatingPoint) else system_of(model))
        if not found:
            raise ModelError("loop: the model has no controllers that set commands: add one, or give laws")
        if isinstance(model, Model):
            model = _held(model)
        elif any(law.period is None for law in found):
            raise ModelError("loop: got a state of a model that its continuous controllers are part of: give the model")
    if inputs is None or outputs is None:
        default = linearize(model, inputs=inputs, outputs=outputs, **words)
        inputs, outputs = default.inputs, default.outputs
    set_, read = ({name for law in found for name in getattr(law, word)} for word in ("outputs", "inputs"))
    # what a law sets is an input of the plant, or what other laws read
    # each once: of an asked vector its components are there
    actuated = [x for law in found for x in law.outputs if x not in read and x.rpartition(".")[0] not in inputs]
    sensed = [x for law in found for x in law.inputs if x not in set_ and x.rpartition(".")[0] not in outputs]
    plant = linearize(
        model,
        inputs=list(dict.fromkeys([*actuated, *inputs])),
        outputs=list(dict.fromkeys([*sensed, *outputs])),
        **words,
    )
    return Loop(plant, found)


# A period (s) of which no sample is taken, short for any filter.
SHORT = 1e-6


def _held(model: Model) -> Model:
    """The model whose continuous controllers are sampled, so that its linear plant has held commands in their place."""

    def held(item: Any) -> Any:
        continuous = hasattr(item, "linear_law") and item.table != "sensors" and item.period is None
        if not continuous:
            return item
        sampled = shallow_copy(item)  # not checked again
        object.__setattr__(sampled, "period", SHORT)
        return sampled

    result = copy(model)
    result.tables = {table: {name: held(item) for name, item in items.items()} for table, items in model.tables.items()}
    return result
