"""Linearise: the exact equations of small motions about an operating point, as a state space.

    M w' + C w + K p = F u,    [A1 A2] [x'; y] = [A3 A4] [x; u]

with the state x = [p; w]: changes of independent coordinates and of their speeds.
Source: docs/theory/linearisation.md, equations (7) to (10); Thompson, AIAA 2011-6277, equations (22) to (24).
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from scipy.linalg import LinAlgError

from femb.base.errors import FembWarning, ModelError
from femb.base.types import Floats
from femb.base.values import check_flag, check_options, names_of, shallow_copy
from femb.elements.control.controller import under_commands
from femb.elements.control.linear_law import LinearLaw
from femb.elements.control.schedule import moment_of
from femb.elements.control.signals import Moment, is_true
from femb.elements.joint.coordinates import JointCoordinates
from femb.linear.begin import PointOptions, commanded_point, operating_point
from femb.linear.chart import driven_inputs
from femb.linear.loop import Loop
from femb.linear.modal_form import SecondOrderModel
from femb.linear.modal_reduction import space_of
from femb.linear.second_order import SecondOrder, invariant_of, known_at_rest
from femb.linear.state_space import StateSpace
from femb.linear.structure import StructureOptions, linearize_structure
from femb.linear.trim import Balance, why_changing
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.profiles import Constant
from femb.small_motions.channels import MOTION, ForceInput, LinearOutput, default_outputs, inputs_of, output, stacked
from femb.small_motions.point import OperatingPoint
from femb.small_motions.spin_watch import warn_of_spin
from femb.vibration.completion import given, system_of
from femb.vibration.damping_ratios import damping_in_words, without_default

if TYPE_CHECKING:
    from femb.case import Given
    from femb.system.system import System

# Of the largest entry of the stiffness, by a metre: smaller reactions are rounding.
LOADED = 1e-12


@one_blas_thread()
def linearize(
    model: "Given | System | OperatingPoint",
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    closed: bool = False,
    **options: Unpack[PointOptions],
) -> StateSpace:
    """The state space of small changes about an operating point, of full order.

    ``StateSpace.unsteady`` says why a state is not steady: forces change its speeds, or change along its motion; its
    eigenvalues are then those of an instant. The sparse and truncated models of a structure are of
    ``femb.linearize_structure``.

    Parameters:
        model: or a System of it, an OperatingPoint, a case, or the path of its file.
        inputs: names, by default the factors of loads and motors, and the motion of every driver, its rate and its
            acceleration.
        outputs: names (femb.small_motions.channels), by default the motion of all bodies and joints.
        closed: whether its controllers act, as in ``femb.loop(model).closed()``: sampled ones with their sensors,
            delays and periods give the exact model over their common period ``dt``. By default commands of sampled
            controllers are held, as these give them at the state; continuous ones always act.
        options: start, at_rest, state, trim, vary, t and differences of ``femb.operating_point``, which say the point.

    Raises:
        ModelError: loads that are functions of the state without derivatives, driven orientations at a point that is no
            equilibrium, unknown inputs or outputs, options beside an OperatingPoint.
        SolveError: no requested equilibrium or steady motion exists.
    """
    check_flag("closed", closed)
    if closed:
        return closed_loop(model, inputs, outputs, **options)
    if of_structure := StructureOptions.__annotations__.keys() & options.keys() - PointOptions.__annotations__.keys():
        warnings.warn(
            f"linearize: {', '.join(sorted(of_structure))}: take femb.linearize_structure, which has them",
            DeprecationWarning,
            stacklevel=2,
        )
        return plant_of(model, inputs, outputs, options)
    check_options(linearize, options, PointOptions)
    if isinstance(model, OperatingPoint):
        if options:
            raise ModelError(f"linearize: got an operating point and {', '.join(options)}: give one of the two")
        point = model
    else:
        point = operating_point(model, **options)
    warn_of_spin(point.system, point.v)
    equations, unsteady = steady(point)
    return state_space(point, equations, outputs, inputs, unsteady)


def steady(point: OperatingPoint) -> tuple[SecondOrder, str]:
    """The equations of small motions about a point, at constant speeds of a steady state; why it is none, or ""."""
    balance = Balance.of(point)
    if not (unsteady := why_changing(balance)):
        # accelerations of a steady state are rounding, whose directions would turn with slow motions
        balance = balance.with_constant_speeds()
    return balance.equations, unsteady


def plant_of(
    model: Any, inputs: Sequence[str] | None, outputs: Sequence[str] | None, options: Mapping[str, Any]
) -> StateSpace:
    """The state space of ``linearize``, or of ``linearize_structure`` where an option is of that alone.

    model : of either. Raises ModelError: options of both.
    """
    known = StructureOptions.__annotations__.keys()
    chosen = known & options.keys() - PointOptions.__annotations__.keys()
    if not chosen:
        return linearize(model, inputs=inputs, outputs=outputs, **options)
    if other := [word for word in options if word not in known]:
        raise ModelError(
            f"linearize: got {', '.join(other)} beside {', '.join(sorted(chosen))}, which are about the state that "
            "start says: leave the one or the other out"
        )
    return linearize_structure(model, inputs=inputs, outputs=outputs, **options)


@one_blas_thread()
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
    model, words = with_channels(point, equations, outputs, inputs, unsteady)
    try:
        return space_of(model, **words, **known_motions(point, equations, words["kinematics"], unsteady))
    except LinAlgError as error:
        raise ModelError("the mass of the independent coordinates is not positive: something has no inertia") from error


def with_channels(
    point: OperatingPoint,
    equations: SecondOrder,
    outputs: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    unsteady: str = "",
) -> tuple[SecondOrderModel, dict[str, Any]]:
    """Second-order equations with inputs and outputs by name, and arguments of ``space_of`` beside ``known_motions``.

    Raises ModelError: unknown inputs or outputs.
    """
    chart = equations.chart
    driven = driven_inputs(point.system, chart.driven)
    chosen = inputs_of(point, inputs, tuple(driven))
    forces = [each for each in chosen if isinstance(each, ForceInput)]
    force = np.array([each.force for each in forces]).reshape(-1, point.system.n_v).T
    P, D, m = chart.free, len(chart.driven), len(forces)
    names = default_outputs(point) if outputs is None else names_of("outputs", outputs)
    parts = [_balanced(point, output(point, name), D) for name in names]
    by_p, by_w, by_rate = chart.rows(*(stacked(parts, word, len(force)) for word in MOTION))
    direct = stacked(parts, "force", len(force)) @ force
    by_input = stacked(parts, "by_input", point.system.n_u)
    for k, each in enumerate(forces):
        if each.component >= 0:
            direct[:, k] += by_input[:, each.component]
    # driven coordinates, their rates and accelerations are inputs
    motions = (equations.stiffness, equations.damping, equations.mass)
    columns = np.hstack([chart.H[:, :P].T @ force, *(-matrix[:, P:] for matrix in motions)])
    direct = np.hstack([direct, *(rows[:, P:] for rows in (by_p, by_w, by_rate))])
    turning = np.hstack([chart.E[:P, :P], np.zeros((P, m)), chart.E[:P, P:], np.zeros((P, 2 * D))])
    names_of_inputs = [*(each.name for each in forces), *driven]
    order = [names_of_inputs.index(each if isinstance(each, str) else each.name) for each in chosen]
    model = SecondOrderModel(
        chart.names, equations.mass[:, :P], equations.damping[:, :P], equations.stiffness[:, :P], columns[:, order],
        by_p[:, :P], by_w[:, :P], by_rate[:, :P], direct[:, order],
    )  # fmt: skip
    return model, {
        "inputs": tuple(names_of_inputs[k] for k in order),
        "outputs": tuple(name for part in parts for name in part.names),
        "integrated": point.system.layout.first_order_names,
        "kinematics": np.hstack([turning[:, :P], turning[:, P:][:, order]]),
        "units": {each.name: each.unit for each in forces}
        | {each: driven[each] for each in chosen if isinstance(each, str)}
        | {name: part.unit for part in parts for name in part.names},
        "title": point.system.model.title,
        "unsteady": unsteady,
        "damping": damping_in_words(point.system.model, None, False),
    }


def known_motions(point: OperatingPoint, equations: SecondOrder, kinematics: Floats, unsteady: str) -> dict[str, Any]:
    """Arguments of ``space_of``: motions without stiffness and exact forces, or about a rotation what stays."""
    if not np.any(kinematics):
        return known_at_rest(point, equations.chart)
    return {"free": None, "invariant": invariant_of(point, equations, not unsteady)}


def _balanced(point: OperatingPoint, of: LinearOutput, driven: int) -> LinearOutput:
    """An output, whose reactions are those that balance the forces. Raises ModelError: reactions beside drivers."""
    if of.multipliers is None:
        return of
    damping, stiffness = point.tangents
    largest = LOADED * float(np.max(np.abs(stiffness.data), initial=1.0))
    if driven and np.max(np.abs(point.multipliers), initial=0.0) > largest:
        raise ModelError("output: reactions of joints beside drivers are linearised at states without forces only")
    through = of.multipliers @ np.linalg.pinv(point.jacobian.toarray().T)
    return of.balanced(through, stiffness + point.reaction_stiffness(), damping, point.mass)


# Models in the loop of their controllers.


def closed_loop(
    model: "Given | System | OperatingPoint",
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    **words: Any,
) -> StateSpace:
    """``Loop.closed`` of ``loop``, with the inputs, outputs and options of its plant.

    inputs : also names of what laws read, followed by " error". Raises ModelError as with both.
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
        found |= {id(item): item.linear_law(layout, model, *_state_of(item, system)) for item in chosen}
        # the true quantity of a sensor is an output of the plant
        read = [f"{name}." for law in found.values() for name in law.inputs if not is_true(name)]
        left = [item for item in items if id(item) not in found]
        chosen = [item for item in left if any(name.startswith(f"{item.table}.{item.name}.") for name in read)]
    return tuple(found[id(item)] for item in items if id(item) in found)


def _state_of(item: Any, system: "System") -> tuple[Moment, ...]:
    """The start of a system, of which a controller with a schedule has its gains; nothing of others."""
    if not scheduled(item):
        return ()
    return (moment_of(JointCoordinates(system.layout), system.q0, system.v0),)


def scheduled(item: Any) -> bool:
    """Whether an item is a controller whose gains follow a signal."""
    return getattr(item, "schedule", None) is not None


def _started(
    model: "Given | System | OperatingPoint", words: Mapping[str, Any], in_modes: bool
) -> tuple["OperatingPoint | System", dict[str, float], set[str]]:
    """The operating point of a model and its options, of a plant in modes by default the System alone; what sampled
    laws command there, and what limits reduce."""
    options: Any = {word: value for word, value in words.items() if word in PointOptions.__annotations__}
    if isinstance(model, OperatingPoint):
        return model, *under_commands(model.system, model.t, model.q, model.v)[1:]
    if options or not in_modes:
        return commanded_point(model, **options)
    system = system_of(model)
    return system, *under_commands(system, 0.0, system.q0, system.v0)[1:]


@one_blas_thread()
def loop(
    model: "Given | System | OperatingPoint | StateSpace",
    laws: Sequence[LinearLaw] | None = None,
    *,
    inputs: Sequence[str] | None = (),
    outputs: Sequence[str] | None = (),
    **words: Any,
) -> Loop:
    """The control loop of a model about a state, by default about its start.

    Parameters:
        model: or a case, the path of its file, or a state space of its plant.
        laws: linear laws of the controllers, by default those of the model, whose sampled ones are held beside laws;
            its continuous ones act then in the plant, and a warning names them.
        inputs: names of more inputs of the plant, for responses; None for those that ``femb.linearize`` has by default.
        outputs: names of more outputs of the plant, likewise.
        words: others, as in ``femb.linearize``; modes of a truncated plant have no damping by default, beside the
            model's own.

    Raises:
        ModelError: as ``linearize`` and ``Loop``; a System or an operating point with continuous controllers.
    """
    if not isinstance(model, OperatingPoint | StateSpace):
        model, begins = given(model, words.get("start"))
        words |= {"start": begins} if begins != "as_given" else {}
    if isinstance(model, StateSpace):
        if laws is None:
            raise ModelError("loop: a state space has no controllers: give laws, too")
        return Loop(model, tuple(laws))
    system = model.system if isinstance(model, OperatingPoint) else model
    of = system if isinstance(system, Model) else system.model
    if any(words.get(order) is not None for order in ("modes", "craig_bampton", "balanced")):
        words["damping"] = without_default(of, words.get("damping"))
    found, commands, limited = () if laws is None else tuple(laws), dict[str, float](), set[str]()
    of_plant = () if laws is None else of.controllers.items()
    if acting := [f"controllers.{name}" for name, each in of_plant if each.period is None and each.sets]:
        said = "without samples, so that the plant is closed by it, too, beside the laws that are given"
        warnings.warn(f"loop: {', '.join(acting)}: {said}: inner loops only may stay", FembWarning, stacklevel=3)
    in_modes = StructureOptions.__annotations__.keys() & words.keys() - PointOptions.__annotations__.keys()
    if laws is None:
        start, commands, limited = _started(model, words, bool(in_modes))
        found = laws_of(start.system.starting_at(start.q, start.v) if isinstance(start, OperatingPoint) else start)
        if not found:
            raise ModelError("loop: the model has no controllers that set commands: add one, or give laws")
        if isinstance(model, Model) and any(each.period is None for each in model.controllers.values()):
            model = held(model)
            start, commands, limited = _started(model, words, bool(in_modes))
        elif any(law.period is None for law in found):
            raise ModelError("loop: got a state of a model that its continuous controllers are part of: give the model")
        if not (in_modes or isinstance(model, OperatingPoint)):  # found once, for laws, commands and plant
            model, words = start, {word: words[word] for word in words.keys() - PointOptions.__annotations__.keys()}
    if inputs is None or outputs is None:
        default = plant_of(model, inputs, outputs, words)
        inputs, outputs = default.inputs, default.outputs
    set_, read = ({name for law in found for name in getattr(law, word)} for word in ("outputs", "inputs"))
    # what a law sets is an input of the plant, or what other laws read
    # each once: of an asked vector its components are there
    actuated = [x for law in found for x in law.outputs if x not in read and x.rpartition(".")[0] not in inputs]
    sensed = [x for law in found for x in law.inputs if x not in set_ and x.rpartition(".")[0] not in outputs]
    plant = plant_of(model, list(dict.fromkeys([*actuated, *inputs])), list(dict.fromkeys([*sensed, *outputs])), words)
    if commands and in_modes:
        said = (
            f"laws command {', '.join(commands)} at its state, which a plant in modes has not; take one of full order"
        )
        warnings.warn(f"loop: {said}", FembWarning, stacklevel=3)
    return Loop(plant, found, commands, tuple(limited))


# A period (s) of which no sample is taken, short for any filter.
SHORT = 1e-6


def held(model: Model) -> Model:
    """The model whose continuous controllers are sampled, so that its linear plant has held commands in their place."""

    def sampled(item: Any) -> Any:
        if not hasattr(item, "linear_law") or item.table == "sensors" or item.period is not None:
            return item
        found = shallow_copy(item)  # not checked again
        object.__setattr__(found, "period", SHORT)
        return found

    return changed(model, sampled)


def without_commands(model: Model, t: float) -> tuple[Model, tuple[str, ...]]:
    """The model whose loads by a profile of time do not act, and the names of those that would at t, s.

    They are inputs, known or commanded, of which no state that a plant is linearised about depends.
    """
    acting: list[str] = []

    def still(item: Any) -> Any:
        profile = getattr(item, "profile", None)
        if item.table != "loads" or profile is None or isinstance(profile, Constant) or not float(profile(t)):
            return item
        acting.append(f"{item.table}.{item.name}")
        found = shallow_copy(item)
        object.__setattr__(found, "profile", Constant(0.0))
        return found

    found = changed(model, still)
    return found, tuple(acting)


def with_gains_of(model: Model, nominal: Model) -> Model:
    """The model whose controllers have the gains of a nominal one, also where they would follow its inertia."""
    own = fixed_controllers(nominal)
    return changed(model, lambda item: own.get(item.name, item) if hasattr(item, "fixed") else item)


def fixed_controllers(nominal: Model) -> dict[str, Any]:
    """The controllers of a model by name, with gains that do not follow changes of it."""
    layout = system_of(nominal).layout
    return {name: item.fixed(layout, nominal) for name, item in nominal.controllers.items()}


def changed(model: Model, change: Callable[[Any], Any]) -> Model:
    """A copy of a model with changed items."""
    result = copy(model)
    result.tables = {
        table: {name: change(item) for name, item in items.items()} for table, items in model.tables.items()
    }
    return result
