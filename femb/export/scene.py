"""Scenes: the bodies and beams of `Results` put together to one mesh at each output time; numpy only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats, Ints
from femb.export.files import chosen_times
from femb.export.parts import Part, State, parts_of
from femb.results.results import Results
from femb.results.view import View

FIELDS: Mapping[str, tuple[int, ...]] = {
    "strain": (),
    "section_force": (3,),
    "section_moment": (3,),
    "deflection": (3,),
    "acceleration": (3,),
}
"""Fields and their components; bodies have zeros for those of beams, since a mesh wants a value everywhere."""


@dataclass(frozen=True)
class Mesh:
    """A scene at one output time: ``points`` (P, 3) m, ``cells`` as (meshio's type, corners (c, k)) per
    part, data by name at the points, (P,) to (P, 4), and at the cells, one (c,) per part."""

    points: Floats
    cells: list[tuple[str, Ints]]
    point_data: dict[str, Floats]
    cell_data: dict[str, list[Ints]]


@dataclass(frozen=True)
class Scene:
    """Parts seen in a view at some output times: ``"lines"`` or ``"solids"``."""

    name: str
    parts: Sequence[Part]
    view: View
    instants: Sequence[int]

    def meshes(self) -> Iterator[Mesh]:
        """The mesh at each instant; cells and cell data stay the same."""
        first = [part.state(0) for part in self.parts]
        counts = [len(state.points) for state in first]
        offsets = np.cumsum([0, *counts[:-1]])
        cells = [(part.cell_type, part.cells + offset) for part, offset in zip(self.parts, offsets, strict=True)]
        cell_data = {
            "component": [np.full(len(part.cells), number) for number, part in enumerate(self.parts)],
            "element": [part.element for part in self.parts],
        }
        fields = [name for name in FIELDS if any(name in state.fields for state in first)]
        start = self.view.points(0, np.concatenate([state.points for state in first]))
        for k in self.instants:
            states = [part.state(k) for part in self.parts]
            inertial = np.concatenate([state.points for state in states])
            velocities = np.concatenate([state.velocities for state in states])
            quaternions = np.concatenate([state.quaternions for state in states])
            points = self.view.points(k, inertial)
            point_data = {
                "displacement": points - start,
                "velocity": self.view.velocities(k, inertial, velocities),
                "quaternion": self.view.quaternions(k, quaternions),
            }
            for name in fields:
                point_data[name] = np.concatenate([_field(state, name) for state in states])
            yield Mesh(points, cells, point_data, cell_data)

    def write_legend(self, folder: Path, frame: str) -> None:
        """Write ``legend.json``: what the numbers of the cell data ``component`` stand for."""
        components = [{"component": i, "kind": part.kind, "name": part.name} for i, part in enumerate(self.parts)]
        text = json.dumps({"frame": frame, "components": components}, indent=2) + "\n"
        (folder / "legend.json").write_text(text, encoding="utf-8")


def scenes_of(results: Results, frame: str, solids: bool, every: int, subdivisions: int) -> list[Scene]:
    """The scene ``lines`` and, with ``solids``, also ``solids``; parameters as in `femb.export.mesh.export_vtu`.

    Raises ResultError for an option out of range, an unknown frame, or where there is nothing to draw.
    """
    instants = chosen_times(results, every)
    if subdivisions < 1:
        raise ResultError(f"subdivisions is {subdivisions}; an element is drawn with 1 or more")
    view = View.of(results, frame)
    if not results.bodies and not results.beams:
        raise ResultError("these results have neither bodies nor beams, so there is no mesh to export")
    names = ["lines", "solids"] if solids else ["lines"]
    return [Scene(name, parts_of(results, name == "solids", subdivisions), view, instants) for name in names]


def _field(state: State, name: str) -> Floats:
    return state.fields[name] if name in state.fields else np.zeros((len(state.points), *FIELDS[name]))
