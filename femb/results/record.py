"""The recorder: from states of a system to named arrays of results."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from femb import __version__
from femb.base.output import EVERYTHING, Output
from femb.base.types import Floats
from femb.elements.item import Item
from femb.elements.records import Records
from femb.numerics.rotations import cross
from femb.results.arrays import NOTHING
from femb.results.attachments import attachments
from femb.results.audit import AuditWatch
from femb.results.frames import Frames
from femb.results.groups import GROUPS
from femb.results.results import Results
from femb.results.root_loads import RootLoads
from femb.results.selection import Selection
from femb.results.violations import acting_from_outside
from femb.system.system import System

RecordedFunction = Callable[[System, str, Frames], Floats | None]
"""A function of the system, the name of an item ("" of the audit) and output instants: the values (k, ...) of a
quantity, or None where the item has no such quantity."""


def recorded_outputs(system: System) -> Iterator[tuple[str, str, RecordedFunction]]:
    """Path, name of the item and function of every quantity with a function that records it."""
    for kind, group in GROUPS.items():
        for word, quantity in group.quantities().items():
            if quantity.recorded:
                function = getattr(import_module(quantity.recorded), word)
                for item in ("",) if kind == "audit" else system.model.tables[kind]:
                    yield "/".join(filter(None, (kind, item, word))), item, function


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
            every.append(kind.records(items, system))
            if some:
                chosen.append(every[-1] if len(some) == len(items) else kind.records(some, system))
    return every, chosen


def still(system: System, time: Floats, q: Floats, v: Floats, method: str) -> Results:
    """Results of the positions and velocities of bodies and beams in states that no forces belong to, for pictures.

    time (t,) s. q (t, n_q), v (t, n_v) : the states. method : of the results.
    """
    none, t = np.zeros((len(time), 0)), len(time)
    frames = Frames(time, q, v, np.zeros(t), none, np.zeros_like(v), none, none, none, np.zeros((t, 2)))
    series: dict[str, Floats] = {"time": time}
    static: dict[str, Floats] = {}
    attributes: dict[str, dict[str, Any]] = {}
    for record in records_of(system, ("bodies", "beams"))[0]:
        series |= record.series(frames)
        static |= record.static
        attributes |= record.attributes
    head = {"femb_version": __version__, "title": system.model.title, "method": method, "status": "complete"}
    return Results(series, static, {"": head, **attributes})


class Recorder:
    """Converts output instants to blocks of named arrays, with the audit.

    The energy error is kinetic plus potential energy minus the work of loads and dampers, relative to the first instant
    recorded.
    """

    memory: ClassVar[tuple[str, ...]] = ("begun", "first_stored", "first_energy", "first_total", "audit_watch")

    def __init__(self, system: System, output: Output = EVERYTHING) -> None:
        self.system = system
        self.layout = system.layout
        self.root_loads = RootLoads(system)
        self.selection = Selection(output, system.model, [root.name for root in self.root_loads.roots])
        wanted = self.selection.wants_item if output.restricted else None
        self.records, self.evaluated = records_of(system, wanted=wanted)
        self.audit_watch = AuditWatch()
        self.begun = False
        self.first_stored = self.first_energy = self.first_total = 0.0

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
            "": {
                "femb_version": __version__,
                "title": self.system.model.title,
                "case": case_text,
                "method": method,
            }
        }
        acting = acting_from_outside(self.system)
        result["audit"] = {f"{word}_momentum_changed_by": json.dumps(names) for word, names in acting.items()}
        if options:
            result["run"] = dict(options)
        figures = self.system.model.figures
        if figures:
            result[""]["figures"] = json.dumps({name: figure.words() for name, figure in figures.items()})
        if self.selection.text:
            result[""]["output"] = self.selection.text
        for record in self.records:
            result |= record.attributes
        for path, words in attachments(self.system).items():
            if path in result:  # point masses at a body or beam have no group of their own
                result[path] |= words
        return result | self.root_loads.attributes()

    def block(self, frames: Frames, system: System | None = None) -> dict[str, Floats]:
        """The named arrays of k output instants; system : in place of the recorder's own, of the same model."""
        system = self.system if system is None else system
        block = self._quantities(frames, system)
        if self.selection.output.motion_only:
            return self.selection.of(block)
        self._energies(block, frames, system)
        self._add_outputs(block, frames, system)
        block = self.selection.of(block)
        audit = {path.removeprefix("audit/"): array for path, array in block.items() if path.startswith("audit/")}
        self.audit_watch.add(frames.time, audit, np.max(np.abs(frames.v), axis=1, initial=0.0))
        self.audit_watch.add_forces(block)
        return block

    def without_audit(self, frames: Frames, forces: bool = True) -> dict[str, Floats]:
        """The named arrays of k output instants without those of the audit, for ``frames`` whose work is not known;
        forces : whether they have forces and accelerations."""
        block = self._quantities(frames, self.system, forces)
        self._add_outputs(block, frames, self.system, audit=False)
        return self.selection.of(block)

    def _quantities(self, frames: Frames, system: System, forces: bool = True) -> dict[str, Floats]:
        """The arrays of items, batches and appendages that are evaluated; forces : whether ``frames`` have them."""
        block: dict[str, Floats] = {"time": frames.time}
        select = self.selection
        for record in self.evaluated:
            block |= record.at(frames, select.output.motion_only or not forces)
        if not forces:
            return block
        for k, batch in enumerate(system.batches):
            if select.wants(k) and (batch.records_motion or not select.output.motion_only):
                block |= select.noted(k, batch.records(frames, system.batches))
        if select.root_loads:
            block |= self.root_loads.series(frames, block, system)
        return block

    def _add_outputs(self, block: dict[str, Floats], frames: Frames, system: System, audit: bool = True) -> None:
        """Add the quantities that functions record; audit : also those of the audit."""
        for path, name, function in self.outputs:
            values = function(system, name, frames) if name or audit else None
            if values is not None:
                block[path] = values

    def _energies(self, block: dict[str, Floats], frames: Frames, system: System) -> None:
        values = system.energy_momentum(frames.q, frames.v, frames.u)
        stored = np.zeros(len(frames.time))
        for batch in system.batches:
            batch.prestress_energy(frames.u, frames.q, stored)
        if not self.begun:
            self.first_stored = float(stored[0])
        kinetic, potential, work = values[:, 0], values[:, 1] + stored, frames.work + stored - self.first_stored
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
        self.begun = True
        block["audit/kinetic_energy"] = kinetic
        block["audit/potential_energy"] = potential
        block["audit/work"] = work
        block["audit/linear_momentum"] = linear
        block["audit/angular_momentum"] = angular + cross(origin, linear)
        block["audit/energy_error"] = error
