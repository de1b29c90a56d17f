"""Scenes: the bodies and beams of `Results` as one mesh per output time, and the exporters of scenes."""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats, Ints
from femb.pictures.files import Drafts, chosen_times, writing
from femb.pictures.parts import Part, PartState, parts_of
from femb.results.results import Results
from femb.results.view import INERTIAL, View

FIELDS: Mapping[str, tuple[int, ...]] = {
    "strain": (),
    "section_force": (3,),
    "section_moment": (3,),
    "deflection": (3,),
    "acceleration": (3,),
    "membrane_force": (3,),
    "stress_behind": (3,),
    "stress_in_front": (3,),
    "bending_moment": (3,),
    "shear_force": (3,),
    "stress": (6,),
    "von_mises": (),
}
"""Fields and their components; parts without one have zeros, since a mesh needs a value at every point."""


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
    """Parts at some output times, relative to the frame of a view; named ``"lines"`` or ``"solids"``."""

    name: str
    parts: Sequence[Part]
    view: View
    instants: Sequence[int]

    def meshes(self) -> Iterator[Mesh]:
        """The mesh at each instant; cells and cell data are constant."""
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

    def legend(self, frame: str) -> str:
        """The text of ``legend.json``: kind and name of every number in the cell data ``component``."""
        components = [{"component": i, "kind": part.kind, "name": part.name} for i, part in enumerate(self.parts)]
        return json.dumps({"frame": frame, "components": components}, indent=2) + "\n"


WriteScene = Callable[[Scene, Floats, Drafts, Callable[[], None]], str]
"""Writes a scene at output times (t,) s, calls the function after each, and returns the name of the file to open."""


class SceneExporter:
    """An exporter of scenes: ``lines`` and ``solids``, by ``write``, and ``legend.json``."""

    def __init__(self, write: WriteScene, text: str) -> None:
        self._write = write
        self.__doc__ = f"{text}\n\n{inspect.getdoc(type(self).__call__)}"

    def __call__(
        self,
        results: Results,
        folder: str | Path,
        *,
        frame: str = INERTIAL,
        solids: bool = True,
        every: int = 1,
        at: float | None = None,
        subdivisions: int = 8,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Path]:
        """Write the motion of bodies, beams and shells; returns the files to open.

        Parameters
        ----------
        results : a run with bodies or beams.
        folder : path, created if missing.
        frame : ``"inertial"``, the name of a body, or a beam's node as ``"NAME[NODE]"``
            Coordinates are relative to that frame and in its axes.
        solids : whether to write also beams as swept sections and bodies with their shapes.
        every : interval of the output times to write.
        at : instant (s) to write alone; the output time that is nearest to it is taken.
        subdivisions : number of line segments per element.
        progress : called as ``progress(done, total)`` after every output time.

        Point data: ``displacement`` (m, from the first output time), ``velocity`` (m/s) and ``quaternion``
        (body or section to the frame, scalar first), all relative to the frame; ``strain``;
        ``section_force`` (N) and ``section_moment`` (N m) in section axes; ``deflection`` (m) in the axes of
        the body the beam is clamped to, and ``acceleration`` (m/s2, of a beam that of its centre line) in inertial
        axes, for any frame; of shells also ``membrane_force``, ``bending_moment`` and ``shear_force`` (N/m, N), and
        ``stress_behind`` and ``stress_in_front`` of the normal (Pa; 11, 22, 12), the means of the elements at a node in
        material axes; of flexible bodies with stresses ``stress`` (Pa; xx, yy, zz, xy, yz, zx, body axes) and
        ``von_mises``. Cell data: ``element``, and ``component``, a number that
        ``legend.json`` explains.
        Raises ResultError where there is nothing to draw or the folder cannot be written.
        """
        folder = Path(folder)
        instants = chosen_times(results, every, at)
        if subdivisions < 1:
            raise ResultError(f"subdivisions is {subdivisions}; an element is drawn with 1 or more")
        view = View.of(results, frame)
        if not results.bodies and not results.beams and not results.shells:
            raise ResultError("these results have neither bodies nor beams nor shells, so there is no mesh to export")
        names = ["lines", "solids"] if solids else ["lines"]
        scenes = [Scene(name, parts_of(results, name == "solids", subdivisions), view, instants) for name in names]
        done = count()

        def advance() -> None:
            if progress is not None:
                progress(next(done) + 1, len(scenes) * len(instants))

        with writing(folder) as drafts:
            files = [folder / self._write(scene, results.time[instants], drafts, advance) for scene in scenes]
            drafts.new("legend.json").write_text(scenes[-1].legend(frame), encoding="utf-8")
        return files


def _field(state: PartState, name: str) -> Floats:
    return state.fields[name] if name in state.fields else np.zeros((len(state.points), *FIELDS[name]))
