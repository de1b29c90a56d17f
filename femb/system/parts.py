"""The parts of the equations of motion of a model: layout, batches, constraints, inputs, budget."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import listed, without_collection
from femb.elements.item import Item, ItemState
from femb.elements.joint.constraint_set import ConstraintSet
from femb.elements.joint.coordinates import JointCoordinates
from femb.elements.registry import in_order
from femb.layout.discrete import ANGLES, DiscreteState
from femb.layout.element import Batch, Input
from femb.layout.evaluation import Evaluation
from femb.layout.layout import Layout
from femb.layout.protocols import Joins
from femb.layout.terms import MassMatrix, Tangent
from femb.model.model import Model
from femb.model.placement import Placement
from femb.system.budget import Budget
from femb.system.inputs import Inputs
from femb.system.pattern import Pattern
from femb.system.velocity_coordinates import VelocityCoordinates


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of the equations of motion.

    model : whose items are placed. layout : of the unknowns. pattern : the storage of matrices. evaluation : of the
    terms of the batches, items_of_batches the items of each. discrete : the discrete state at the start. audited :
    whether output instants have the unbalanced forces of the audit. forces_recorded : whether they have multipliers,
    and the accelerations that follow from the forces.
    """

    model: Model
    items: Sequence[Item]
    layout: Layout
    pattern: Pattern
    evaluation: Evaluation
    items_of_batches: Sequence[Sequence[Item]]
    constraint_set: ConstraintSet
    inputs: Inputs
    budget: Budget
    coordinates_of_joints: JointCoordinates
    discrete: DiscreteState
    audited: bool = True
    forces_recorded: bool = True


@without_collection()
def parts_of(model: Model, layout: Layout | None = None) -> Parts:
    """The parts of a model.

    layout : an empty layout with another numbering, by default ``Layout``. Raises ModelError with every problem of the
    model.
    """
    model.check()
    placement = Placement(model)
    model = placement.model
    layout = Layout() if layout is None else layout
    layout.origin = placement.origin
    found: dict[type[Item], list[Item]] = {}
    for item in model.items():
        found.setdefault(type(item), []).append(item)
    by_kind = {kind: found[kind] for kind in in_order(found)}
    items: list[Item] = [model.body("ground")] if "ground" in placement.bodies and "ground" not in model.bodies else []
    for table in dict.fromkeys(item.table for item in model.items()):
        items += placement.in_order([item for kind, some in by_kind.items() if kind.table == table for item in some])
    for item in items:
        space = layout.inertial_frame() if item.anchors else None
        couplings, internal = len(layout.couplings), len(layout.internal)
        item.declare_dofs(layout, placement, model)
        if space is not None and not any(space in frames for frames, _ in layout.couplings[couplings:]):
            layout.couple(item.frames(layout))
        layout.declared[item.table, item.name] = (
            slice(couplings, len(layout.couplings)),
            slice(internal, len(layout.internal)),
        )
    layout.finish()
    for item in items:
        if item.given_quantities():
            layout.views.setdefault(item.table, {})[item.name] = partial(ItemState, item, layout)
    pattern, coordinates = Pattern.of(layout), VelocityCoordinates(layout)
    built: list[tuple[Batch, list[Item]]] = []
    q = layout.start_coordinates()
    layout.locked_inertia = lambda: mass_properties(coordinates, Evaluation([each for each, _ in built], pattern), q)[2]
    # controllers come last: their gains may be those of the inertia of all others
    for kind, some in sorted(by_kind.items(), key=lambda each: any(item.sets for item in each[1])):
        built += _built(kind, some, layout, model)
    of_items = _merged(built)
    batches, constraint_set = [batch for batch, _ in of_items], ConstraintSet.of(items, layout)
    inputs = allocated(batches, constraint_set, pattern)
    for batch in batches:
        if batch.by_differences is not None:
            batch.tangents()  # refuses a force that depends on nobody knows what
    evaluation = Evaluation(batches, pattern)
    check_masses(of_items, evaluation, layout)
    joints = JointCoordinates(layout)
    return Parts(
        model, items, layout, pattern, evaluation, [some for _, some in of_items], constraint_set,
        Inputs(inputs), Budget(of_items, layout, constraint_set.is_driven), joints,
        discrete_at(layout, joints, q),
    )  # fmt: skip


def batches_of_kinds(kinds: Collection[type[Item]], layout: Layout, model: Model) -> list[Batch]:
    """The batches of the items of some kinds of a model whose layout is known, not yet allocated."""
    model = Placement(model).model
    found: dict[type[Item], list[Item]] = {}
    for item in model.items():
        if type(item) in kinds:
            found.setdefault(type(item), []).append(item)
    built = [each for kind in in_order(found) for each in _built(kind, found[kind], layout, model)]
    return [batch for batch, _ in _merged(built)]


def _built(kind: type[Item], items: list[Item], layout: Layout, model: Model) -> list[tuple[Batch, list[Item]]]:
    """The batches of the items of a kind, each with its items: those on points in space apart, as they are no part of
    what connects bodies."""
    apart = [[item for item in items if bool(item.anchors) == on_points] for on_points in (False, True)]
    built = [(batch, some) for some in apart if some for batch in kind.batches(some, layout, model)]
    for batch, some in built:
        batch.of_items = listed([f"{item.table}.{item.name}" for item in some], 3)
        if type(batch).tangents is Batch.tangents:
            batch.by_differences = partial(_differences, some, layout)
    return built


def _differences(items: Sequence[Item], layout: Layout, batch: Batch) -> list[Tangent]:
    """The tangents of a batch by differences; none where its forces do not depend on the motion."""
    if not any(set("qv") & set(each.reads) for each in batch.forces()):
        return []
    # imported only where a user's batch gives forces alone, for a faster start
    from femb.layout.differences import differences_of

    return differences_of(batch, [(f"{item.table}.{item.name}", *_groups_of(item, layout)) for item in items], layout)


def _groups_of(item: Item, layout: Layout) -> tuple[list[int], list[int]]:
    """The frames and internal coordinates that an item names or has."""
    couplings, coordinates = layout.declared[item.table, item.name]
    frames = dict.fromkeys(item.frames(layout))
    internal = dict.fromkeys(range(coordinates.start, coordinates.stop))
    for some, numbers in layout.couplings[couplings]:
        frames |= dict.fromkeys(some)
        internal |= dict.fromkeys(numbers)
    return list(frames), list(internal)


def discrete_at(layout: Layout, joints: JointCoordinates, q: Floats) -> DiscreteState:
    """The discrete state at a start q (n_q,), with the angles of joints nearest to their ``start``."""
    angles = joints.at_start(q, layout.n_v)
    arrays = {name: array.at_start(angles) for name, array in layout.discrete.items()}
    return DiscreteState({ANGLES: angles, **arrays})


def allocated(batches: Sequence[Batch], constraint_set: ConstraintSet, pattern: Pattern) -> list[Input]:
    """Number the inputs of batches and constraints, and prepare what depends on it; returns all inputs."""
    inputs: list[Input] = []
    parts: list[Batch | ConstraintSet] = [*batches, constraint_set]
    for part in parts:
        part.first_input = sum(input_.width for input_ in inputs)
        inputs += part.inputs
        part.allocate(pattern)
    for batch in batches:
        batch.bind(batches)
    return inputs


def _merged(batches: list[tuple[Batch, list[Item]]]) -> list[tuple[Batch, list[Item]]]:
    """The batches, each with its items, with one joined batch for every class that ``joins``."""
    single = [(batch, items) for batch, items in batches if not (isinstance(batch, Joins) and batch.joins)]
    groups: dict[type, list[tuple[Any, list[Item]]]] = {}
    for batch, items in batches:
        if isinstance(batch, Joins) and batch.joins:
            groups.setdefault(type(batch), []).append((batch, items))
    joined = [
        group[0]
        if len(group) == 1
        else (group[0][0].joined([batch for batch, _ in group]), [item for _, items in group for item in items])
        for group in groups.values()
    ]
    return single + joined


def mass_properties(
    coordinates: VelocityCoordinates, evaluation: Evaluation, q: Floats
) -> tuple[float, Floats, Floats]:
    """Mass (kg), mass centre (3,) m from ``layout.origin`` and inertia (3, 3) kg m2 about it, inertial axes, at q.

    From the momenta of six rigid motions of the whole model, beyond those at rest, which rotors have.
    """
    v = np.vstack([coordinates.rigid_velocities(q), np.zeros(coordinates.n_v)])
    found = np.zeros((7, 8))
    evaluation.add_energies(None, np.tile(q, (7, 1)), v, found)
    momenta = found[:6, 2:] - found[6, 2:]
    mass = momenta[0, 0]
    # rotation about the origin: linear momentum omega x m c
    centre = np.array([momenta[5, 1], momenta[3, 2], momenta[4, 0]]) / mass
    about_origin = momenta[3:, 3:].T
    inertia = about_origin - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    return float(mass), centre, inertia


# Declarations of batches against the layout: mistakes in items of one's own that would be wrong without a word.


def check_masses(of_items: Sequence[tuple[Batch, Sequence[Item]]], evaluation: Evaluation, layout: Layout) -> None:
    """Raise ModelError by the names of items: groups of a mass without a size, masses that fields of acceleration do
    not find, and internal coordinates without a mass."""
    with_mass = np.zeros(layout.n_v, dtype=bool)
    for batch, items in of_items:
        terms = [*batch.masses()]
        for term in terms:
            check_sizes(term, items)
            for starts, size in zip(term.starts.T, term.sizes, strict=True):
                places = starts[starts >= 0, None] + np.arange(size)
                with_mass[places[places < layout.n_v]] = True
        if terms and batch.gravity is None and not declares_gravity(batch) and _moves(batch, evaluation, layout):
            raise ModelError(
                f"{named(items)}: the batch {type(batch).__name__} has masses, but does not say its gravity, by which "
                "fields of acceleration find them: set self.gravity to that of the model, and use it in forces and "
                "energies; or to None where other items have this mass"
            )
    for item in (item for _, items in of_items for item in items):
        _, own = layout.declared[item.table, item.name]
        for number in range(own.start, own.stop):
            if not with_mass[layout.internal_v[number]]:
                raise ModelError(
                    f"{item.table}.{item.name}: its coordinate {layout.internal[number].quantity.name!r} has no mass: "
                    "let masses() of its batch give one; the row of a first-order state has the mass 1"
                )


def _moves(batch: Batch, evaluation: Evaluation, layout: Layout) -> bool:
    """Whether the elements of a batch have mass where frames are shifted, at the start."""
    return any(
        bool(np.any(np.diagonal(M, axis1=1, axis2=2)[np.isin(places, layout.frame_v) & (places >= 0)]))
        for places, M in evaluation.of([batch]).element_masses(layout.start_coordinates())
    )


def check_sizes(term: MassMatrix, items: Sequence[Item]) -> None:
    """Raise ModelError for a mass whose sizes are not those of its groups."""
    shape = np.shape(term.starts)
    if len(shape) != 2 or shape[1] != len(term.sizes):
        raise ModelError(
            f"{named(items)}: MassMatrix: got starts {shape} and sizes {term.sizes}, wanted starts (elements, groups) "
            "and a size of each group"
        )


def not_finite(system: Any, u: Floats, q: Floats, v: Floats, a: Floats) -> str:
    """The item whose forces or derivatives are not finite at a state, in words; empty if there is none.

    system : a ``femb.system.motion_equations.MotionEquations``.
    """
    # accelerations follow from forces
    state = u[None], q[None], v[None], np.where(np.isfinite(a), a, 0.0)[None]
    if not all(np.isfinite(each).all() for each in state):
        return ""
    layout = system.layout
    for batch, items in zip(system.batches, system.items_of_batches, strict=True):
        terms = system.evaluation.of([batch])
        force = np.zeros((1, system.n_v))
        terms.add_residual(*state, force)
        matrices = np.zeros((2, 1, system.pattern.size))
        terms.add_tangents(*state, *matrices)
        entries = ~np.isfinite(matrices[:, 0]).all(axis=0)
        of_matrices = system.pattern.rows_columns()[0][entries]
        for what, rows in (("forces", np.flatnonzero(~np.isfinite(force[0]))), ("derivatives", of_matrices)):
            if len(rows):
                return f"{_touching(items, layout, set(rows.tolist()))} returned {what} that are NaN or infinite"
    return ""


def _touching(items: Sequence[Item], layout: Layout, rows: set[int]) -> str:
    """The name of the first of some items with a frame or a coordinate in these rows of velocities."""
    found = (item for item in items if not rows_of(item, layout).isdisjoint(rows))
    return named([*found, *items])


def frames_of(item: Item, layout: Layout) -> set[int]:
    """The frames that an item names or couples."""
    coupled = layout.couplings[layout.declared[item.table, item.name][0]]
    return set(item.frames(layout)).union(*(frames for frames, _ in coupled))


def rows_of(item: Item, layout: Layout) -> set[int]:
    """The velocities of these frames, and of its internal coordinates."""
    own = layout.declared[item.table, item.name][1]
    places = set(layout.internal_v[own].tolist())
    for k in frames_of(item, layout):
        places |= set(range(int(layout.frame_v[k]), int(layout.frame_v[k]) + layout.frames[k].freedom))
    return places


def declares_gravity(batch: Batch) -> bool:
    """Whether a batch or its class sets its gravity, also to None."""
    return any("gravity" in vars(each) for each in (batch, *type(batch).__mro__) if each is not Batch)


def named(items: Sequence[Item]) -> str:
    """The name of the first item of a batch."""
    return f"{items[0].table}.{items[0].name}"
