"""Hybrid coordinates: a hub with six speeds, and the modes of each appendage with its root held.

    M v' + L^T eta'' = W,    eta'' + 2 zeta omega eta' + omega^2 eta = -L v',    M = M_hub + sum of M_rr

beside the gyroscopic moments of wheels that spin, by the rates of both.

The data that attitude control takes of flexible satellites: frequencies, damping, participation about one point, rigid
masses. Source: docs/theory/modes.md, equations (11) and (12).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base import array_files as foreign
from femb.base.errors import ModelError, ResultError
from femb.base.files import write_json
from femb.base.html import Brief
from femb.base.types import Floats
from femb.base.values import distinct, shown, whole_number
from femb.elements.marker import Place
from femb.linear.state_space import StateSpace
from femb.model.model import Model
from femb.results.array_file import flat, nested, write_arrays
from femb.small_motions.eigenproblem import EigenProblem
from femb.vibration.appendages import (
    HeldBody,
    ModeRows,
    appendages,
    default_points,
    held_body,
    participation,
    place_of,
    rigid_motions,
    rows_of,
    stations,
)
from femb.vibration.modes import Modes
from femb.vibration.participation import DIRECTIONS, Participation
from femb.vibration.solution import solution

if TYPE_CHECKING:
    from femb.system.system import System


FORMAT = "femb hybrid coordinates 1"
UNITS = "SI: m, kg, s, rad; frequency in Hz; six-vectors are translation x, y, z, then rotation x, y, z"
MATRICES = ("damper_matrix", "gyroscopic_matrix")


@dataclass(frozen=True, eq=False)
class HybridCoordinates(Brief):
    """A hub and its appendages, all about the hub's origin and along its axes.

    hub : its name. point (3,) m, inertial, and axes (3, 3), as columns. hub_mass (6, 6) : of the hub alone.
    appendages : with participation and rigid masses about the hub's origin. state : "unloaded" or "loaded".
    points : named points for sensors and forces, with the displacement of each by the modes of its appendage.
    dampers (6 + k, 6 + k) or None : damping of the model's own dampers, by the rates of the hub and of all modes, with
    its modal damping or the ratio given in place of that; without the default ratio.
    gyroscopic (6 + k, 6 + k) or None : moments of wheels that spin, by the same rates; None where none does.
    """

    hub: str
    point: Floats
    axes: Floats
    hub_mass: Floats
    appendages: tuple[Participation, ...]
    state: str
    points: tuple[ModeRows, ...] = ()
    dampers: Floats | None = None
    gyroscopic: Floats | None = None

    @classmethod
    def of(cls, modes: Modes) -> "HybridCoordinates":
        """From modes with a body held. Raises ModelError where none is held."""
        if modes.root is None:
            raise ModelError("hybrid coordinates: the modes are of no held body: give held = the hub")
        root = modes.root
        parts = tuple(part.about(root.point, root.axes) for part in modes.appendages)
        gyroscopic = of_wheels(modes.motion.motion, motions_of(modes.motion.motion, root, parts))
        return cls(root.name, root.point, root.axes, root.mass, parts, modes.state, gyroscopic=gyroscopic)

    @property
    def mass(self) -> Floats:
        """M (6, 6): hub and appendages as one rigid body."""
        return np.asarray(self.hub_mass + sum(part.rigid_mass for part in self.appendages))

    def kept(self, count: int) -> "HybridCoordinates":
        """The coordinates of the ``count`` lowest modes of each appendage; rigid masses stay whole."""
        parts = tuple(part.first(count) for part in self.appendages)
        points = tuple(point.first(count) for point in self.points)
        of_modes = [np.arange(len(part.frequencies)) < count for part in self.appendages]
        kept = np.concatenate([np.ones(6, dtype=bool), *of_modes])
        by_rates = (self.dampers, self.gyroscopic)
        dampers, gyroscopic = (None if each is None else each[np.ix_(kept, kept)] for each in by_rates)
        return replace(self, appendages=parts, points=points, dampers=dampers, gyroscopic=gyroscopic)

    def damping_matrix(self, dampers: bool = False) -> Floats:
        """(6 + k, 6 + k) by the rates of the hub and of all modes, of the ratios and of wheels that spin.

        dampers : of the model's own dampers in place of the ratios. Raises ModelError where these are not known.
        """
        if dampers and self.dampers is None:
            raise ModelError("hybrid coordinates: the model's own dampers are not known: take hybrid_coordinates")
        rates = [4.0 * np.pi * part.damping * part.frequencies for part in self.appendages]
        found = self.dampers if dampers else np.diag(np.concatenate([np.zeros(6), *rates]))
        assert found is not None
        return found if self.gyroscopic is None else found + self.gyroscopic

    def rows(self, name: str) -> Floats:
        """(6, 6 + k): displacement and rotation of a named point by those of the hub and by all modes.

        Raises ModelError: an unknown point.
        """
        point, parts = self._point(name), []
        for part in self.appendages:
            own = part.name == point.appendage
            parts.append(point.rows if own else np.zeros((6, len(part.frequencies))))
        return np.hstack([point.rigid, *parts])

    def position(self, name: str) -> Floats:
        """(3,) m: a named point from the hub's origin, along its axes. Raises ModelError: an unknown point."""
        return self._point(name).position

    def _point(self, name: str) -> ModeRows:
        found = [point for point in self.points if point.name == name]
        if not found:
            listed = ", ".join(point.name for point in self.points) or "none"
            raise ModelError(f"hybrid coordinates: no point {name!r}; there are: {listed}")
        return found[0]

    def state_space(
        self, sensors: Sequence[str] = (), actuators: Sequence[str] = (), *, dampers: bool = False
    ) -> StateSpace:
        """States: displacement and rotation of the hub, modal coordinates, and their rates.

        Inputs are force and torque on the hub, outputs the first six states and their rates, in the hub's axes and by
        its name. For small motions about rest: equation (12). sensors : names of points, each with six displacements,
        their rates and accelerations as further outputs. actuators : names of points, each with force and torque as
        further inputs. dampers : the model's own in place of the ratios. Raises ModelError: an unknown point.
        """
        L = np.vstack([np.zeros((0, 6)), *(part.coupling for part in self.appendages)])
        omega = 2.0 * np.pi * np.concatenate([[], *(part.frequencies for part in self.appendages)])
        k = len(omega)
        mass = np.block([[self.mass, L.T], [L, np.eye(k)]])
        n = 6 + k
        stiffness, damping = np.zeros((n, n)), self.damping_matrix(dampers)
        stiffness[6:, 6:] = np.diag(omega**2)
        forces = np.vstack([np.eye(n)[:6], *(self.rows(name) for name in actuators)]).T
        A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, forces.shape[1]))
        A[:n, n:] = np.eye(n)
        A[n:] = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
        B[n:] = np.linalg.solve(mass, forces)
        none = np.zeros((6, n))
        C, D = [np.eye(2 * n)[:6], np.eye(2 * n)[n : n + 6]], [np.zeros((12, B.shape[1]))]
        for name in sensors:
            rows = self.rows(name)
            C += [np.hstack([rows, none]), np.hstack([none, rows]), rows @ A[n:]]
            D += [np.zeros((12, B.shape[1])), rows @ B[n:]]
        points = list(dict.fromkeys([*sensors, *actuators]))
        hub, *called = distinct([self.hub, *points])
        by_point = dict(zip(points, called, strict=True))
        words = [f"{hub}.{word}" for word in DIRECTIONS]
        words += [f"{part.name}.mode {j + 1}" for part in self.appendages for j in range(len(part.frequencies))]
        rates = [f"{word} rate" for word in words]
        outputs = [*words[:6], *rates[:6]]
        outputs += [
            f"{by_point[name]}.{word}{of}"
            for name in sensors
            for of in ("", " rate", " acceleration")
            for word in DIRECTIONS
        ]
        pushed = (hub, *(by_point[name] for name in actuators))
        inputs = [f"{name}.{word}.{axis}" for name in pushed for word in ("force", "torque") for axis in "xyz"]
        return StateSpace(A, B, np.vstack(C), np.vstack(D), (*words, *rates), tuple(inputs), tuple(outputs))

    def write(self, path: str | Path) -> Path:
        """Write a .json, a .npz, or a results file .h5 (group hybrid), by the keys of docs/howto/handover.md; its path.

        Raises ResultError.
        """
        path = Path(path)
        if path.suffix in (".h5", ".npz"):
            return write_arrays(path, flat(self._document()), (".h5", ".npz"), group="hybrid")
        return write_json(path, self._document())

    def _document(self) -> dict[str, Any]:
        from femb import __version__

        by_rates = zip(MATRICES, (self.dampers, self.gyroscopic), strict=True)
        return {
            "format": FORMAT,
            "femb": __version__,
            "units": UNITS,
            "state": self.state,
            **{word: each for word, each in by_rates if each is not None},
            "hub": {
                "name": self.hub,
                "point": self.point,
                "axes": self.axes,
                "mass_matrix": self.hub_mass,
                "mode_rows": self._rows_of(self.hub),
            },
            "appendages": [
                {
                    "name": part.name,
                    "point": part.point,
                    "axes": part.axes,
                    "mass_matrix": part.rigid_mass,
                    "frequency_hz": part.frequencies,
                    "damping_ratio": part.damping,
                    "participation": part.coupling,
                    "residual_mass": part.residual_mass,
                    "mode_rows": self._rows_of(part.name),
                }
                for part in self.appendages
            ],
        }

    def _rows_of(self, owner: str) -> list[dict[str, Any]]:
        points = [point for point in self.points if point.appendage == owner]
        return [{"name": point.name, "position": point.position, "rows": point.rows} for point in points]

    @classmethod
    def read(cls, path: str | Path) -> "HybridCoordinates":
        """Read the file at ``path``, which ``write`` wrote. Raises ResultError."""
        try:
            if Path(path).suffix == ".h5":
                from femb.results.results import Results

                document = nested(Results.read(path).static, "hybrid/")
            elif Path(path).suffix == ".npz":
                document = nested(foreign.read_arrays(path, "hybrid coordinates"))
            else:
                document = json.loads(foreign.content_of(path))
            if document["format"] != FORMAT:
                raise ValueError(f"the format is {document['format']!r}, wanted {FORMAT!r}")
            hub = document["hub"]
            parts = tuple(_participation(entry) for entry in document["appendages"])
            points = tuple(
                ModeRows(row["name"], owner["name"], np.array(row["position"], dtype=float), _six_rows(row["rows"]))
                for owner in (hub, *document["appendages"])
                for row in owner.get("mode_rows", ())
            )
            point, axes, mass = (np.array(hub[word], dtype=float) for word in ("point", "axes", "mass_matrix"))
            by_rates = [np.array(document[word], dtype=float) if word in document else None for word in MATRICES]
            return cls(hub["name"], point, axes, mass, parts, document["state"], points, *by_rates)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path}: cannot be read as hybrid coordinates ({error})") from error


def _six_rows(rows: Any) -> Floats:
    return np.array(rows, dtype=float).reshape(6, -1)


def _participation(entry: dict[str, Any]) -> Participation:
    words = ("point", "axes", "frequency_hz", "damping_ratio", "participation", "mass_matrix", "residual_mass")
    point, axes, frequency, damping, coupling, mass, residual = (np.array(entry[word], dtype=float) for word in words)
    coupling = coupling.reshape(-1, 6)
    clamped = residual - mass + coupling.T @ coupling
    if np.max(np.abs(clamped)) > 1e-9 * np.max(np.abs(mass)):
        raise ValueError(f"{entry['name']}: mass_matrix, participation and residual_mass do not belong together")
    nothing = np.zeros((0, len(coupling)))
    return Participation(entry["name"], point, axes, frequency, damping, coupling, mass, 0.0 * mass, nothing)


# Hybrid coordinates of a model with named points: what all files for control start from.


def check_count(count: int | None) -> None:
    """Refuse what is no number of modes."""
    if count is not None and (not whole_number(count) or count < 1):
        raise ModelError(f"modes: count: got {shown(count)}, wanted a whole number from 1, or None for all")


def hybrid_coordinates(
    model: "Model | System",
    count: int | None = None,
    *,
    held: str,
    start: str = "as_given",
    damping: float | None = None,
    points: Mapping[str, Place | str] | None = None,
) -> HybridCoordinates:
    """Hub and appendages in hybrid coordinates, with the rows of their modes at named points, and the model's dampers.

    Parameters:
        model: or a System of it.
        count: modes of each appendage, by default all.
        held: the hub.
        start: "as_given", "assembled" or "equilibrium", as in ``modes``.
        damping: ratio of every mode with the hub held, by default those of the model's modal damping of the hub, zero
            where this damps fewer modes, or 0.005 without one.
        points: places of the model, or names such as "bodies.panel" and "beams.boom.-1", by name; by default the bodies
            and the last nodes of the beams. The root of each appendage, NAME.root, is always among them.

    Raises:
        ModelError: as ``modes``; an unknown point, or one on something that is neither hub nor appendage; a spinning
            state, which has no such modes.
        SolveError: no equilibrium.
    """
    check_count(count)
    found = solution(model, 1, held=held, start=start)
    motion, hub = found.motion, found.motion.system.layout.bodies[held]
    if motion.spinning:
        raise ModelError(
            "hybrid coordinates: the state is a rotation, in which modes of appendages are not real: "
            "start = 'as_given' takes them at rest"
        )
    root = held_body(motion, held, hub)
    owners: dict[int, str] = {hub: held}
    parts, rows = [], []
    shapes = {held: np.zeros((motion.system.n_v, 0))}
    for appendage in appendages(motion, whole=True):
        part = participation(motion, appendage, hub, count, damping)
        owners |= dict.fromkeys(appendage.frames, part.name)
        shapes[part.name] = part.shapes
        at_root = root.axes.T @ (part.point - root.point)
        rows.append(ModeRows(f"{part.name}.root", held, at_root, np.zeros((6, 0))))
        parts.append(part.about(root.point, root.axes))
    named = stations(motion, default_points(motion, set(owners)) if points is None else points)
    for name, station in named.items():
        owner = owners.get(station.frame)
        if owner is None:
            raise ModelError(f"points: {name}: is neither on {held!r} nor on an appendage of it")
        at = rows_of(motion, station, root.axes, shapes[owner])
        rows.append(ModeRows(name, owner, place_of(motion, station, root.point, root.axes), at))
    basis = motions_of(motion, root, parts)
    gyroscopic = of_wheels(motion, basis)
    dampers = basis.T @ motion.times(motion.damping, basis)
    if gyroscopic is not None and found.state == "loaded":  # with the speeds of wheels in its damping
        dampers -= gyroscopic
    if damping is not None:
        rates = [4.0 * np.pi * part.damping * part.frequencies for part in parts]
        dampers += np.diag(np.concatenate([np.zeros(6), *rates]))
    else:
        dampers += (basis.T @ motion.low_rank.left) @ (motion.low_rank.damping.T @ basis)
    return HybridCoordinates(
        held, root.point, root.axes, root.mass, tuple(parts), found.state, tuple(rows), dampers, gyroscopic
    )


def motions_of(motion: EigenProblem, root: HeldBody, parts: Sequence[Participation]) -> Floats:
    """(n_v, 6 + k) motions of a hub with all that it carries, and modes of its appendages."""
    return np.hstack([rigid_motions(motion, root.point, root.axes), *(part.shapes for part in parts)])


def of_wheels(motion: EigenProblem, basis: Floats) -> Floats | None:
    """(k, k) moments of the wheels that spin at the start on motions (n_v, k), by their rates; None where none does."""
    system, still = motion.system, np.zeros(motion.system.n_v)
    places = system.layout.first_order_v
    speeds = still.copy()
    speeds[places] = system.v0[places]
    if not np.any(speeds):
        return None
    spun, at_rest = (system.tangent(motion.u, motion.q, v, still)[0] for v in (speeds, still))
    found = basis.T @ motion.times(spun - at_rest, basis)
    return np.asarray(found) if np.any(found) else None
