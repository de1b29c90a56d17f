"""Record: from the states of a system to the named arrays of a result file."""

import json
from itertools import groupby
from typing import Any

import numpy as np

from femb import __version__
from femb.base.types import Floats
from femb.elements.item import Item
from femb.results.audit import AuditWatch
from femb.results.frames import Frames
from femb.system.system import System


def _class_of(item: Item) -> type[Item]:
    return type(item)


class Recorder:
    """Turns output frames into blocks of named arrays, and audits them.

    The energy error is kinetic plus potential energy less the work of loads and dampers and less its value at the
    first frame recorded.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.layout = system.layout
        self.records = [kind.records(list(items), system) for kind, items in groupby(system.items, _class_of)]
        self.audit_watch = AuditWatch()
        self.first_energy: float | None = None
        self.first_stored = 0.0

    def static(self) -> dict[str, Floats]:
        """Arrays that do not change with time."""
        return {path: array for each in self.records for path, array in each.static.items()}

    def attributes(self, case_text: str, method: str) -> dict[str, dict[str, Any]]:
        """Attributes of the file, and of its groups."""
        found: dict[str, dict[str, Any]] = {
            "": {
                "femb_version": __version__,
                "title": self.system.model.title,
                "case": case_text,
                "method": method,
                "status": "running",
                "message": "",
            }
        }
        figures = self.system.model.figures
        if figures:
            found[""]["figures"] = json.dumps({name: figure.words() for name, figure in figures.items()})
        for each in self.records:
            found |= each.attributes
        return found

    def block(self, frames: Frames) -> dict[str, Floats]:
        """The named arrays of k output instants."""
        block: dict[str, Floats] = {"time": frames.time}
        for each in self.records:
            block |= each.series(frames)
        for batch in self.system.batches:
            block |= batch.records(frames, self.system.batches)
        self._audit(block, frames)
        return block

    def _audit(self, block: dict[str, Floats], frames: Frames) -> None:
        values = self.system.energy_momentum(frames.q, frames.v, frames.u)
        stored = np.zeros(len(frames.time))
        for batch in self.system.batches:
            batch.input_energy(frames.u, frames.q, stored)
        if self.first_energy is None:
            self.first_stored = float(stored[0])
        kinetic, potential, work = values[:, 0], values[:, 1] + stored, frames.work + stored - self.first_stored
        balance = kinetic + potential - work
        if self.first_energy is None:
            self.first_energy = float(balance[0])
        block["audit/kinetic_energy"] = kinetic
        block["audit/potential_energy"] = potential
        block["audit/work"] = work
        block["audit/linear_momentum"] = values[:, 2:5]
        block["audit/angular_momentum"] = values[:, 5:8] + np.cross(self.layout.origin, values[:, 2:5])
        block["audit/energy_error"] = balance - self.first_energy
        position, _ = self.system.constraints(frames.u, frames.q, frames.v)
        rates = self.system.constraint_rates(frames.u, frames.q, frames.v)
        block["audit/constraint_position"] = np.max(np.abs(position), axis=1, initial=0.0)
        block["audit/constraint_velocity"] = np.max(np.abs(rates), axis=1, initial=0.0)
        block["audit/quaternion_norm"] = self._norm_error(frames.q)
        block["audit/force_balance"], block["audit/moment_balance"] = frames.unbalanced.T
        audit = {path.removeprefix("audit/"): array for path, array in block.items() if path.startswith("audit/")}
        self.audit_watch.add(frames.time, audit, np.max(np.abs(frames.v), axis=1, initial=0.0))

    def _norm_error(self, q: Floats) -> Floats:
        places = self.system.coordinates[2][:, None] + np.arange(4)
        if not places.size:
            return np.zeros(len(q))
        result: Floats = np.max(np.abs(np.sum(q[:, places] ** 2, axis=2) - 1.0), axis=1)
        return result
