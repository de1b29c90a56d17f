"""Inputs and outputs of a sparse linear model by name, as columns of forces and rows on its coordinates.

Beside those of ``femb.small_motions.channels``:

ground.acceleration, bodies.HELD.acceleration            input: the base accelerates; inertial axes, three columns
ground.angular_acceleration, bodies.HELD.angular_acceleration    about the origin, about the body's; own axes
drivers.NAME                                             input: its motion, rate and acceleration, three columns
appendages.NAME.force, .torque                           output: on the root, about its point, in the root's axes

In a base that accelerates by D a the others feel -M D a; positions and velocities are relative to the base,
accelerations and forces are those of the whole motion. A driver that moves by d, J p = S d, takes along the shape P
with J P = S, and the others feel -M P d'' - C P d' - K P d. Source: docs/theory/linearisation.md, section 7.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Sparse
from femb.base.values import nearest
from femb.elements.item import Item
from femb.linear.chart import driven_inputs, driver_slopes
from femb.numerics import rotations
from femb.small_motions.channels import MOTION, ForceInput, LinearOutput, default_outputs, inputs_of, output, stacked
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import free_motions
from femb.small_motions.point import OperatingPoint
from femb.small_motions.spinning import own_axes_changes
from femb.system.appendages import Appendage
from femb.system.moving_ground import MovingGround
from femb.vibration.appendages import appendages, rigid_motions, root_frame
from femb.vibration.eigen import freedoms, lowest


def through_multipliers(motion: EigenProblem, multipliers: Floats) -> Floats:
    """Rows r (k, n_v) with r J^T = rows on multipliers (k, n_c), zero where velocities are held: by these, mu is known
    from the balance of forces. Raises ModelError where the equations do not determine the reaction."""
    n, found = motion.system.n_v, []
    for row in multipliers:
        r = motion.balance.solve(np.concatenate([np.zeros(n), row]))[:n]
        if np.linalg.norm(motion.gaps(r) - row) > 1e-9 * np.linalg.norm(row):
            raise ModelError(
                "output: the reaction of a joint is not determined, since rows of constraints depend on each other: "
                "release what is held twice, or take a section force"
            )
        found.append(r)
    return np.array(found)


def of_appendage(motion: EigenProblem, appendage: str, word: str, hub: str | None, loaded: bool) -> LinearOutput:
    """The wrench on the root: forces from outside on the appendage less the rate of its momentum,
    -(M D)^T a + D^T (F - C v - K p).

    Forces between the two, as of a motor, are part of the wrench themselves.
    """
    layout, name = motion.system.layout, f"appendages.{appendage}.{word}"
    if loaded and (np.any(motion.system.model.gravity) or np.any(motion.v) or np.any(motion.multipliers)):
        raise ModelError(
            f"output {name!r}: forces of appendages are linearised about the state without loads; take "
            "beams.NAME.0.section_force or the reaction of a joint"
        )
    body = None if hub is None else layout.bodies[hub]
    without = motion if body is None else motion.holding(body)
    found = {each.name: each for each in appendages(without)}
    if appendage not in found:
        known = [f"appendages.{each}.{word}" for each in found]
        there = f"there are {', '.join(found)}" if found else "there are none: name the hub"
        raise ModelError(f"output {name!r}: no appendage {appendage!r}; {there}{nearest(name, known)}")
    part = found[appendage]
    root = _root(without, part) if body is None else body
    point, axes = root_frame(without, part, root)
    D = rigid_motions(motion, point, axes)[:, slice(0, 3) if word == "force" else slice(3, 6)]
    inside = ~without.only(part).held
    momenta = np.zeros_like(D)
    for places, mass in motion.element_masses:
        own = np.any(inside[places] & (places >= 0), axis=1)
        np.add.at(momenta, places[own], mass[own] @ D[places[own]])
    on_forces = np.where(inside[:, None], D, 0.0).T
    names = tuple(f"{name}.{axis}" for axis in "xyz")
    within = frozenset(part.frames) | (_held(without) if body is None else {root})
    damping, stiffness = (on_forces @ each for each in _from_outside(motion, within))
    return LinearOutput(names, ROOT[word], -stiffness, -damping, -momenta.T, force=on_forces, within=within)


def _from_outside(motion: EigenProblem, within: frozenset[int]) -> tuple[Sparse, Sparse]:
    """Derivatives (n_v, n_v) by velocities and by the pose of forces from outside of these frames, with the signs of a
    residual: as of air, and of ties to points in space."""
    system, n = motion.system, motion.system.n_v

    def inner(item: Item) -> bool:
        on = item.between(system.layout)
        return item.deforms or (len(on) > 1 and on <= within)

    owners = zip(system.batches, system.items_of_batches, strict=True)
    outer = system.evaluation.of([batch for batch, items in owners if not any(map(inner, items))])
    damping, stiffness = outer.tangent(motion.u, motion.q, motion.v, motion.a)
    return system.pattern.to_csc(damping)[:n, :n], system.pattern.to_csc(stiffness)[:n, :n]


def _root(motion: EigenProblem, appendage: Appendage) -> int:
    """The held frame on which an appendage is."""
    layout, held = motion.system.layout, _held(motion)
    for item in motion.system.model.items():
        if f"{item.table}.{item.name}" in appendage.items:
            for marker in item.markers.values():
                frame = layout.station(marker).frame
                if frame in held:
                    return frame
    return min(held)


def _held(motion: EigenProblem) -> frozenset[int]:
    layout = motion.system.layout
    return frozenset(k for k in range(len(layout.frames)) if motion.held[motion.velocities_of(k)].any())


# Accelerations of the base, and loads on the root of an appendage, with their units.
BASE = {"acceleration": "m/s2", "angular_acceleration": "rad/s2"}
ROOT = {"force": "N", "torque": "N m"}
# Of the lowest omega^2: the mass that keeps the stiffness regular. What a driver's constraint may lack.
SHIFT, GAP = 1e-3, 1e-8


@dataclass(frozen=True, eq=False)
class Rows:
    """forces F (n_v, m); position, rate, acceleration P, V, A (p, n_v); direct D (p, m); names, and units by name.

    through (p, n_v) : of outputs that are reactions of joints, on the forces that these balance; zero of others.
    rates (n_v, m) : p' that inputs prescribe.
    """

    inputs: tuple[str, ...]
    forces: Floats
    outputs: tuple[str, ...]
    position: Floats
    rate: Floats
    acceleration: Floats
    direct: Floats
    through: Floats
    rates: Floats
    units: Mapping[str, str]


def rows_of(
    motion: EigenProblem,
    inputs: Sequence[str] | None,
    outputs: Sequence[str] | None,
    hub: str | None,
    held: str | None,
    loaded: bool,
) -> Rows:
    """The rows of named inputs and outputs; by default as in ``femb.linearize``."""
    point, free = motion.point, ~motion.held
    columns = _columns(motion, point, inputs, held)
    parts = [_part(motion, name, hub, loaded) for name in (default_outputs(point) if outputs is None else outputs)]
    if outputs is None:
        # without the motion of what is held
        parts = [part for part in parts if any(np.any(getattr(part, word)[:, free]) for word in MOTION)]
    n, m = motion.system.n_v, len(columns)
    forces = np.array([column.force for column in columns]).reshape(m, n).T
    prescribed = np.zeros((3, n, m))
    selected = np.zeros((motion.system.n_u, m))
    for k, column in enumerate(columns):
        prescribed[:, :, k] = column.prescribed
        if column.component >= 0:
            selected[column.component, k] = 1.0

    position, rate, acceleration = (stacked(parts, word, n) for word in MOTION)
    # the inertia force of a base is no force: it is the part of the acceleration that p'' has not; so are its others
    outer = np.where(np.any(prescribed, axis=(0, 1)) | motion.held[:, None], 0.0, forces)
    direct = position @ prescribed[0] + rate @ prescribed[1] + acceleration @ prescribed[2]
    direct += stacked([_direct(part, columns, outer) for part in parts], "force", m)
    direct += stacked(parts, "by_input", len(selected)) @ selected
    reactions = [part if part.multipliers is not None else replace(part, force=None) for part in parts]
    return Rows(
        tuple(column.name for column in columns),
        np.where(motion.held[:, None], 0.0, forces),
        tuple(name for part in parts for name in part.names),
        position * free,
        rate * free,
        acceleration * free,
        direct,
        stacked(reactions, "force", n),
        prescribed[1],
        {each.name: each.unit for each in columns if each.unit} | {x: part.unit for part in parts for x in part.names},
    )


def _direct(part: LinearOutput, columns: Sequence[ForceInput], outer: Floats) -> LinearOutput:
    """The output with (k, m) on the inputs, by the forces outer (n_v, m) of these, in place of the rows on forces."""
    if part.force is None:
        return part
    inner = [len(column.between) > 1 and column.between <= part.within for column in columns]
    return replace(part, force=part.force @ np.where(inner, 0.0, outer))


def grounded(motion: EigenProblem) -> list[int]:
    layout = motion.system.layout
    assert isinstance(layout, MovingGround)
    return layout.grounded


def _columns(
    motion: EigenProblem, point: OperatingPoint, names: Sequence[str] | None, held: str | None
) -> list[ForceInput]:
    driven = _Driven(motion, point)
    if names is None:
        columns = [_of_force(motion, each) for each in inputs_of(point, None) if isinstance(each, ForceInput)]
        return columns + [driven.column(name) for name in (driven.inputs if driven.at_rest else ())]
    columns = []
    for name in names:
        base = _base(motion, point, name, held)
        if base is None and name.rpartition(".")[2] in ("x", "y", "z"):
            whole, _, axis = name.rpartition(".")
            base = _base(motion, point, whole, held)
            base = None if base is None else [base["xyz".index(axis)]]
        if base is not None:
            columns += base
        else:
            columns += [
                _of_force(motion, each) if isinstance(each, ForceInput) else driven.column(each)
                for each in inputs_of(point, [name], driven.inputs)
            ]
    return columns


def _of_force(motion: EigenProblem, each: ForceInput) -> ForceInput:
    return each if motion.axes is None else replace(each, force=np.asarray(motion.axes.T @ each.force))


class _Driven:
    """The coordinates that drivers prescribe, as inputs: their motion, rates and accelerations.

    inputs : names. at_rest : whether they can be inputs: about rest without reactions, whose directions they change.
    """

    def __init__(self, motion: EigenProblem, point: OperatingPoint) -> None:
        self.motion = motion
        self.names, slopes = driver_slopes(point)
        self.slopes = -slopes  # of J p by the coordinates
        self.units = driven_inputs(motion.system, self.names)
        self.inputs = tuple(self.units)
        self.at_rest = motion.axes is None and point.at_rest and not np.any(motion.multipliers)

    @cached_property
    def shapes(self) -> Floats:
        """(n_v, D): displacements by the coordinates, as slow as the structure can follow them without inertia."""
        motion, n = self.motion, self.motion.system.n_v
        free = free_motions(motion)
        stiff = motion.without_states()
        elastic = freedoms(stiff) > free.count
        # the stiffness alone is singular on free motions, which then follow by inertia
        shift = SHIFT * abs(float(lowest(stiff, free, 1)[0][0])) if elastic else 1.0
        factors = motion.factorise(motion.stiffness + shift * motion.mass)
        found = np.array([factors.solve(np.concatenate([np.zeros(n), rows]))[:n] for rows in self.slopes.T])
        for name, shape, rows in zip(self.names, found, self.slopes.T, strict=True):
            if np.max(np.abs(motion.gaps(shape) - rows)) > GAP * np.max(np.abs(rows)):
                raise ModelError(f"input {name!r}: the driver moves what is held")
        return found.T

    def column(self, name: str) -> ForceInput:
        """The input of this name. Raises ModelError: a state in which a driver is no input of a sparse model."""
        motion = self.motion
        if not self.at_rest:
            raise ModelError(
                f"input {name!r}: motions of drivers are inputs of a model with a hub, or of a truncated one, about "
                "rest without loads only; linearize without hub and truncation"
            )
        kind = next(k for k, word in ((2, " acceleration"), (1, " rate"), (0, "")) if name.endswith(word))
        base = name.removesuffix((" acceleration", " rate", "")[2 - kind])
        shape = np.ascontiguousarray(self.shapes[:, self.names.index(base)])
        force = (motion.times(motion.stiffness, shape), motion.damping_times(shape), motion.momenta(shape))[kind]
        prescribed = np.zeros((3, len(shape)))
        prescribed[kind] = shape
        return ForceInput(name, self.units[name], -force, prescribed=prescribed)


def _base(motion: EigenProblem, point: OperatingPoint, name: str, held: str | None) -> list[ForceInput] | None:
    """Three columns of the acceleration of the base; None of another name."""
    layout, axes = motion.system.layout, np.eye(3)
    match layout.parts_of(name):
        case ["ground", word] if word in BASE:
            origin, on = layout.origin * 0.0, ""
        case ["bodies", body, word] if word in BASE and body in layout.bodies:
            i, on = layout.frame_q[layout.bodies[body]], body
            origin = motion.q[i : i + 3] + layout.origin
            axes = rotations.rotation_matrix(rotations.normalise(motion.q[i + 3 : i + 7]))
        case _:
            return None
    frames = [layout.bodies[on]] if on else grounded(motion)
    if not frames or (on and on != held and layout.bodies[on] not in grounded(motion)):
        what = f"the body {on!r} is not held" if on else "nothing is fixed to the ground"
        raise ModelError(f"input {name!r}: {what}, so that its acceleration is no input; apply a force, or hold it")
    if motion.axes is not None or not point.at_rest:
        raise ModelError(f"input {name!r}: the base accelerates from rest only, and this state is in rotation")
    turn = word == "angular_acceleration"
    D = rigid_motions(motion, origin, axes if turn else np.eye(3))[:, 3:] if turn else motion.rigid_motions()[:3].T
    still = np.zeros(motion.system.n_v)
    return [
        ForceInput(
            f"{name}.{axis}",
            BASE[name.rpartition(".")[2]],
            -motion.momenta(np.ascontiguousarray(column)),
            prescribed=np.array([still, still, column]),
        )
        for axis, column in zip("xyz", D.T, strict=True)
    ]


def _part(motion: EigenProblem, name: str, hub: str | None, loaded: bool) -> LinearOutput:
    """The rows of an output on p, p', p'' and on the forces."""
    match name.split("."):
        case ["appendages", appendage, word, *axis] if word in ROOT and axis in ([], ["x"], ["y"], ["z"]):
            part = of_appendage(motion, appendage, word, hub, loaded)
            return part if not axis else part.row("xyz".index(axis[0]))
    found = output(motion.point, name)
    if motion.axes is not None:
        changes = own_axes_changes(motion.system, motion.q, motion.v, motion.a).by_rates()
        rows = changes.rows(found.pose, found.velocity, found.acceleration)
        found = replace(found, **dict(zip(MOTION, rows, strict=True)))
    if found.multipliers is None:
        return found
    through, low = through_multipliers(motion, found.multipliers), motion.low_rank
    n, to_csc = motion.system.n_v, motion.system.pattern.to_csc
    found = found.balanced(through, *(to_csc(data)[:n, :n] for data in (motion.stiffness, motion.damping, motion.mass)))
    return replace(found, velocity=found.velocity - (through @ low.left) @ low.damping.T)
