"""The recorder: from states of a system to named arrays of results."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial
from importlib import import_module
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from femb import __version__
from femb.base.arrays import NOTHING
from femb.base.errors import ModelError, Problem
from femb.base.options import ALWAYS, EVERYTHING, Output
from femb.base.quantity import Group
from femb.base.types import Floats
from femb.base.values import nearest
from femb.elements.item import Item, declared_records
from femb.elements.records import Records
from femb.elements.registry import is_of_others
from femb.model.model import Model
from femb.numerics import rotations
from femb.numerics.rotations import cross
from femb.recording.evaluation import evaluated, interpolated
from femb.recording.frames import Frames
from femb.recording.instants import Part
from femb.recording.root_loads import RootLoads
from femb.recording.rounding import stored_energies
from femb.results.groups import Audit, declarations, groups
from femb.results.results import Results
from femb.results.verdicts import AuditWatch
from femb.system.budget import ORIGIN
from femb.system.known_motions import known_motions
from femb.system.system import System

# Where items attach: attributes of their groups in results.

TABLES = ("joints", "beams", "bodies")


def attachments(system: System) -> dict[str, dict[str, Any]]:
    """The attribute ``attachments`` of every item that has any, by the path of the item.

    JSON by the item's field, as ``first`` and ``second`` of a joint, ``start`` and ``end`` of a beam: the ``body``, or
    the ``beam`` and its ``node`` from 0, and the point ``at`` (m), in the axes of the body or of the node's section; or
    an ``anchor`` (m) in space. ``along`` : the unit vectors along which pictures show the item, ``size`` : radius and
    height (m) of a drum. The attribute ``drawn`` says how they do.
    """
    beams = system.layout.beams
    found: dict[str, dict[str, Any]] = {}
    for item in system.items:
        if item.table not in TABLES and (not item.drawn or item.results is Group):
            continue
        places: dict[str, dict[str, Any]] = {}
        for field, marker in item.markers.items():
            at = np.asarray(marker.at, dtype=float).tolist()
            if marker.body is not None:
                places[".".join(field)] = {"body": marker.body, "at": at}
            elif marker.beam is not None:
                node = range(beams[marker.beam].elements + 1)[marker.node]
                places[".".join(field)] = {"beam": marker.beam, "node": node, "at": at}
        sights = item.sights
        if sights is not None:
            for place in places.values():
                place["along"] = sights.tolist()
                if item.drum_size is not None:
                    place["size"] = item.drum_size
        places |= {".".join(field): {"anchor": anchor.tolist()} for field, anchor in item.anchors.items()}
        if places:
            words = {"drawn": item.drawn} if item.drawn else {}
            found[f"{item.table}/{item.name}"] = {"attachments": json.dumps(places)} | words
    return found


# The quantities of a run that are recorded: the patterns of ``[run.output]`` applied to the arrays of a model.

# Root loads are computed from the loads at the ends of beams.
BEAM_LOADS = ("section_force", "section_moment")
# Words in the meaning of a quantity that is computed from others when results are read.
DERIVED = "not in the file"


class Selection:
    """Which arrays of a run are evaluated and recorded.

    Items and batches without a recorded quantity are not evaluated, batches from their second block on.
    Raises ModelError with every pattern that belongs to no quantity of the model; appendages : their names.
    """

    def __init__(self, output: Output, model: Model, appendages: list[str]) -> None:
        self.output, self.text = output, output.words()
        self.admits: Callable[[str], bool] = cache(partial(_admits, output))
        self._yields: dict[int, bool] = {}
        self.root_loads = True
        self._names = tuple((item.table, item.name) for item in model.items() if item.results is not Group)
        self._flexible = tuple((kind, name) for kind, name in self._names if model.tables[kind][name].deforms)
        if output.restricted:
            if output.select or output.exclude:
                _check(output, self._names, tuple(appendages))
            loads = (f"appendages/{name}/{word}" for name in appendages for word in ("force", "torque"))
            self.root_loads = any(map(self.admits, loads))

    @property
    def wants_forces(self) -> bool:
        """Whether a recorded quantity depends on more than positions and velocities, without time and audit."""
        return self.root_loads or _records_level(self.output, self._names, "forces")

    @property
    def evaluation(self) -> Callable[[Sequence[Part]], Frames]:
        """Evaluator of output instants: motion without deformations needs no equations of motion."""
        if self.output.motion_only and not _records_level(self.output, self._flexible, "deformation"):
            return interpolated
        return partial(evaluated, motion_only=self.output.motion_only)

    def wants_item(self, item: Item) -> bool:
        """Whether a quantity of an item may be recorded."""
        by_name = self.output.select or self.output.exclude
        return _some_admitted(self.output, item.table, item.name if by_name else "")

    def wants(self, batch: int) -> bool:
        """Whether a batch yields arrays that are recorded; known after the first ones."""
        return self._yields.get(batch, True)

    def noted(self, batch: int, arrays: dict[str, Floats]) -> dict[str, Floats]:
        """The arrays of a batch, noting whether any of them is recorded."""
        if batch not in self._yields and self.output.restricted:
            self._yields[batch] = any(map(self._wanted, arrays))
        return arrays

    def of(self, block: dict[str, Floats]) -> dict[str, Any]:
        """The recorded arrays of a block, in their precision."""
        if self.output.restricted:
            block = {path: array for path, array in block.items() if self.admits(path)}
        if self.output.precision == "float64":
            return block
        return {
            path: _single(array) if "/" in path and not path.startswith(ALWAYS) else array
            for path, array in block.items()
        }

    def _wanted(self, path: str) -> bool:
        of_roots = self.root_loads and path.startswith("beams/") and path.endswith(BEAM_LOADS)
        return of_roots or self.admits(path)


# Functions of the words and the names alone, of which the models of a study have the same.


def _admits(output: Output, path: str) -> bool:
    """Whether the quantity at a path of the results file is recorded."""
    of_motion = not output.motion_only or path == "time" or _of_motion(path.partition("/")[0], path.rpartition("/")[2])
    return of_motion and output.admits(path)


@lru_cache(maxsize=1 << 12)
def _of_motion(kind: str, word: str) -> bool:
    """Whether a quantity of a table does not depend on forces."""
    return kind in groups() and word in groups()[kind].quantities() and word not in _of_level(kind, "forces")


def _of_level(kind: str, level: str) -> list[str]:
    """The quantities of a table that depend on this."""
    return [word for word, quantity in groups()[kind].quantities().items() if quantity.level == level]


@lru_cache(maxsize=1 << 12)
def _some_admitted(output: Output, table: str, name: str) -> bool:
    """Whether a quantity of an item may be recorded; its name is of no account where there are no patterns."""
    group = groups().get(table)
    return group is None or any(_admits(output, f"{table}/{name}/{word}") for word in group.quantities())


@lru_cache
def _records_level(output: Output, items: tuple[tuple[str, str], ...], level: str) -> bool:
    """Whether a quantity of this level of these items, kind and name, may be recorded."""
    paths = (f"{kind}/{name}/{word}" for kind, name in items for word in _of_level(kind, level))
    return any(_admits(output, path) for path in paths)


@lru_cache
def _check(output: Output, items: tuple[tuple[str, str], ...], appendages: tuple[str, ...]) -> None:
    paths = list(_paths(items, appendages))
    names = sorted({part for path in paths for part in ("/".join(path.split("/")[1:]), path.split("/")[1])})
    problems = [
        Problem(
            ("run", "output", word),
            f"{pattern!r} belongs to no quantity that this model records{nearest(pattern.replace('.', '/'), names)}; "
            f"a pattern is such as {paths[0]!r}, {names[0]!r} or '*/position'",
        )
        for word, pattern in output.unmatched(paths)
    ]
    if problems:
        raise ModelError(*problems)


def _paths(items: tuple[tuple[str, str], ...], appendages: tuple[str, ...]) -> Iterator[str]:
    """The paths of the quantities that items may have; ``time`` and the audit are always recorded."""
    for kind, name in (*items, *(("appendages", name) for name in appendages)):
        if kind != "audit":
            words = (word for word, quantity in groups()[kind].quantities().items() if DERIVED not in quantity.meaning)
            yield from (f"{kind}/{name}/{word}" for word in words)


def _single(array: Floats) -> Any:
    return array.astype(np.float32) if array.dtype == np.float64 else array


# Outputs of the audit: quantities that should be zero, at k output instants; and momenta that must be conserved.


def constraint_position(system: System, name: str, frames: Frames) -> Floats:
    """(k,) the largest violation of a constraint."""
    return _largest(system.constraints(frames.u, frames.q, frames.v)[0])


def constraint_velocity(system: System, name: str, frames: Frames) -> Floats:
    """(k,) the largest violation of a constraint's rate."""
    return _largest(system.constraint_rates(frames.u, frames.q, frames.v))


def quaternion_norm(system: System, name: str, frames: Frames) -> Floats:
    """(k,) the largest deviation of a quaternion's squared length from 1."""
    quaternions = frames.q[:, system.coordinates[2][:, None] + np.arange(4)]
    return _largest(np.sum(quaternions**2, axis=2) - 1.0)


def force_balance(system: System, name: str, frames: Frames) -> Floats:
    """(k,) N: see ``femb.recording.frames.unbalanced``."""
    return frames.unbalanced[:, 0]


def moment_balance(system: System, name: str, frames: Frames) -> Floats:
    """(k,) N m: see ``femb.recording.frames.unbalanced``."""
    return frames.unbalanced[:, 1]


def momentum_sizes(system: System, frames: Frames) -> tuple[Floats, Floats]:
    """Sums of the sizes of the momenta (k,), N s, and of the angular momenta (k,), N m s, of all bodies and nodes."""
    q, still, numbers = frames.q, np.zeros_like(frames.v), system.layout.numbers
    first, turning, _ = numbers.groups[1]
    three = np.arange(3)
    momenta = system.residual(frames.u, q, still, frames.v) - system.residual(frames.u, q, still, still)
    linear = momenta[:, first[:, None] + three]
    angular = cross(q[:, numbers.frame_q[numbers.moving, None] + three], linear)
    quaternions = q[:, numbers.frame_q[numbers.turning, None] + 3 + np.arange(4)]
    angular[:, numbers.turning[numbers.moving]] += rotations.rotate(quaternions, momenta[:, turning[:, None] + three])
    return np.linalg.norm(linear, axis=2).sum(axis=1), np.linalg.norm(angular, axis=2).sum(axis=1)


def acting_from_outside(system: System) -> dict[str, tuple[str, ...]]:
    """Names of what may change the linear and the angular momentum, latches engaged or not; none if nothing does."""
    engaged = {**system.discrete, **{latch.on: 1.0 for latch in system.layout.latches}}
    found: dict[str, dict[str, None]] = {"linear": {}, "angular": {}}
    for structure in known_motions(system, discrete=engaged):
        for names, along in zip(found.values(), np.split(np.eye(6), 2), strict=True):
            changing = [name for name, each in structure.limits if not structure.contains(each.momenta, along)]
            names |= dict.fromkeys((*changing, *structure.silent))
    return {word: tuple(names) for word, names in found.items()}


def _largest(values: Floats) -> Floats:
    result: Floats = np.max(np.abs(values), axis=1, initial=0.0)
    return result


RecordedFunction = Callable[[System, str, Frames], Floats | None]
"""A function of the system, the name of an item ("" of the audit) and output instants: the values (k, ...) of a
quantity, or None where the item has no such quantity."""


def recorded_outputs(system: System) -> Iterator[tuple[str, str, RecordedFunction]]:
    """Path, name of the item and function of every quantity with a function that records it."""
    of_items = ((item.results, f"{item.table}/{item.name}", item.name) for item in system.model.items())
    parts: list[tuple[type[Group], str, str]] = [*of_items, (Audit, "audit", "")]
    for group, path, name in parts:
        for word, quantity in group.quantities().items():
            if quantity.recorded:
                yield f"{path}/{word}", name, getattr(import_module(quantity.recorded), word)


def records_of(
    system: System, tables: Collection[str] | None = None, wanted: Callable[[Item], bool] | None = None
) -> tuple[list[Records], list[Records]]:
    """The records of the items of each class, in the order of the catalogue, and those of the items that are ``wanted``
    alone, by default of all; tables : only of these tables."""
    every, chosen = [], []
    for kind, group in groupby(system.items, lambda item: type(item)):
        if tables is None or kind.table in tables:
            items = list(group)
            some = list(filter(wanted, items)) if wanted is not None else items
            for records in (kind.records, declared_records) if kind.given_quantities() else (kind.records,):
                every.append(records(items, system))
                if some:
                    chosen.append(every[-1] if len(some) == len(items) else records(some, system))
    return every, chosen


def still(system: System, time: Floats, q: Floats, v: Floats, method: str) -> Results:
    """Results of positions and velocities of bodies, beams and shells in states without their forces, for pictures.

    time (t,) s. q (t, n_q), v (t, n_v) : the states. method : of the results.
    """
    none, t = np.zeros((len(time), 0)), len(time)
    frames = Frames(time, q, v, none, none, np.zeros_like(v), none, none, none, np.zeros((t, 2)))
    series: dict[str, Floats] = {"time": time}
    static: dict[str, Floats] = {}
    attributes: dict[str, dict[str, Any]] = {}
    deforming = {item.table for item in system.items if item.deforms}
    for record in records_of(system, {"bodies", *deforming})[0]:
        series |= record.series(frames)
        static |= record.static
        attributes |= record.attributes
    for batch in system.batches:  # deformations of flexible bodies
        of_batch = batch.records(frames, system.batches) if batch.records_motion and not batch.inputs else {}
        series |= {path: array for path, array in of_batch.items() if path.partition("/")[0] in {"bodies", *deforming}}
    head = {"femb_version": __version__, "title": system.model.title, "method": method, "status": "complete"}
    return Results(series, static, {"": head, **attributes})


class Recorder:
    """Converts output instants to blocks of named arrays, with the audit.

    The energy error is kinetic plus potential energy minus the work of loads and dampers, relative to the first instant
    recorded.
    """

    memory: ClassVar[tuple[str, ...]] = (
        *("begun", "first_stored", "first_energy", "first_total", "first_momenta", "audit_watch"),
    )

    def __init__(self, system: System, output: Output = EVERYTHING) -> None:
        self.system = system
        self.layout = system.layout
        self.root_loads = RootLoads(system, wanted=not output.motion_only)
        self.selection = Selection(output, system.model, [root.name for root in self.root_loads.roots])
        wanted = self.selection.wants_item if output.restricted else None
        self.records, self.evaluated = records_of(system, wanted=wanted)
        self.audit_watch = AuditWatch()
        self.begun = False
        self.first_energy = self.first_total = 0.0
        self.first_stored, self.first_momenta = np.zeros(len(system.budget.stored)), np.zeros(6)

    @cached_property
    def outputs(self) -> list[tuple[str, str, RecordedFunction]]:
        """The quantities that functions record."""
        return list(recorded_outputs(self.system))

    def static(self) -> dict[str, Floats]:
        """Arrays that do not change with time."""
        arrays = {path: array for record in self.records for path, array in record.static.items()}
        return arrays | self.root_loads.static()

    def attributes(
        self, case_text: str, method: str, options: Mapping[str, Any] = NOTHING
    ) -> dict[str, dict[str, Any]]:
        """Attributes of the file, and of its groups; options : of the run."""
        result: dict[str, dict[str, Any]] = {
            "": {"femb_version": __version__, "title": self.system.model.title, "case": case_text, "method": method}
        }
        if not self.selection.output.motion_only:
            acting = acting_from_outside(self.system)
            result["audit"] = {f"{word}_momentum_changed_by": json.dumps(names) for word, names in acting.items()}
        if options:
            result["run"] = dict(options)
        figures = self.system.model.figures
        if figures:
            result[""]["figures"] = json.dumps({name: figure.words() for name, figure in figures.items()})
        if self.selection.text:
            result[""]["output"] = self.selection.text
        foreign = dict.fromkeys(kind for kind in map(type, self.system.items) if is_of_others(kind))
        if foreign:
            result[""]["declared"] = declarations(foreign)
        for record in self.records:
            result |= record.attributes
        for item in self.system.items:
            if (angular := item.angular(self.layout)) and item.results is not Group:
                result.setdefault(f"{item.table}/{item.name}", {})["angular"] = json.dumps(angular)
        for path, words in attachments(self.system).items():
            if path in result or not path.startswith("bodies/"):  # point masses on another have no group of their own
                result.setdefault(path, {}).update(words)
        return result | self.root_loads.attributes()

    def block(self, frames: Frames, system: System | None = None) -> dict[str, Floats]:
        """The named arrays of k output instants; system : in place of the recorder's own, of the same model."""
        system = self.system if system is None else system
        block = self._quantities(frames, system)
        if self.selection.output.motion_only:
            return self.selection.of(block)
        more: dict[str, Floats] = {}
        self._energies(more, frames, system)
        self._add_outputs(more, frames, system)
        audit = {path.removeprefix("audit/"): array for path, array in more.items() if path.startswith("audit/")}
        block = self.selection.of(block | more)
        self.audit_watch.add(frames.time, audit, np.max(np.abs(frames.v), axis=1, initial=0.0))
        self.audit_watch.add_forces(block)
        return block

    def without_audit(self, frames: Frames, forces: bool = True, system: System | None = None) -> dict[str, Floats]:
        """The named arrays of k output instants without those of the audit, for ``frames`` whose work is not known;
        forces : whether they have forces and accelerations. system : as in ``block``."""
        system = self.system if system is None else system
        block = self._quantities(frames, system, forces)
        self._add_outputs(block, frames, system, audit=False)
        return self.selection.of(block)

    def _quantities(self, frames: Frames, system: System, forces: bool = True) -> dict[str, Floats]:
        """The arrays of items, batches and appendages that are evaluated; forces : whether ``frames`` have them."""
        block: dict[str, Floats] = {"time": frames.time}
        select = self.selection
        for record in self.evaluated:
            block |= record.at(frames, select.output.motion_only or not forces)
        if not forces:
            return block
        nodes, internal = frames.nodes, dict[str, Floats]()
        for k, batch in enumerate(system.batches):
            if select.wants(k) and (batch.records_motion or not select.output.motion_only):
                loads = batch.internal_loads(nodes, system.batches)
                found = select.noted(k, batch.records(frames, system.batches) | loads)
                internal |= loads
                block |= found
        if select.root_loads:
            internal |= self.root_loads.series(nodes, internal, system)
        return block | {path: frames.of_nodes(array) for path, array in internal.items()}

    def _add_outputs(self, block: dict[str, Floats], frames: Frames, system: System, audit: bool = True) -> None:
        """Add the quantities that functions record; audit : also those of the audit."""
        for path, name, function in self.outputs:
            values = function(system, name, frames) if name or audit else None
            if values is not None:
                block[path] = values

    def _energies(self, block: dict[str, Floats], frames: Frames, system: System) -> None:
        values, budget = system.energy_momentum(frames.q, frames.v, frames.u), system.budget
        stored = stored_energies(system, frames.u, frames.q)
        if not self.begun:
            self.first_stored, self.first_momenta = stored[0].copy(), values[0, 2:].copy()
        accounts = budget.accounts_of(frames.work, stored - self.first_stored, values[:, 2:] - self.first_momenta)
        total = sum(account["work"] for account in accounts.values() if "work" in account)
        kinetic, potential, work = values[:, 0], values[:, 1] + stored.sum(axis=1), np.asarray(total)
        balance = kinetic + potential - work
        if not self.begun:
            self.first_energy = float(balance[0])
        error = balance - self.first_energy
        linear, angular, origin = values[:, 2:5], values[:, 5:8], self.layout.origin
        speed = self.layout.origin_velocity
        if speed.any():
            # The error is that relative to the moving origin, since the inertial energies are far larger.
            carried = frames.v + speed @ system.rigid_velocities(frames.q[0])[:3]
            inertial = system.energy_momentum(frames.q, carried, frames.u)
            path, weight = frames.time[:, None] * speed, (inertial[:, 2:5] - linear) @ system.model.gravity
            kinetic, potential = inertial[:, 0], potential - weight * frames.time
            linear, angular, origin = inertial[:, 2:5], inertial[:, 5:8], origin + path
            if not self.begun:
                self.first_total = float(kinetic[0] + potential[0])
            work = kinetic + potential - self.first_total - error
            accounts[ORIGIN] = {"work": work - total}
        self.begun = True
        for name, account in accounts.items():
            if "impulse" in account:
                account["angular_impulse"] += cross(self.layout.origin, account["impulse"])
            block |= {f"budget/{name}/{word}": array for word, array in account.items()}
        block["audit/kinetic_energy"] = kinetic
        block["audit/potential_energy"] = potential
        block["audit/work"] = work
        block["audit/linear_momentum"] = linear
        block["audit/angular_momentum"] = angular + cross(origin, linear)
        block["audit/linear_momentum_size"], block["audit/angular_momentum_size"] = momentum_sizes(system, frames)
        block["audit/energy_error"] = error
