"""Hybrid coordinates: a hub with six speeds, and the modes of each appendage with its root held.

    M v' + L^T eta'' = W,    eta'' + 2 zeta omega eta' + omega^2 eta = -L v',    M = M_hub + sum of M_rr

The data that attitude control takes of flexible satellites: frequencies, damping, participation about one point, rigid
masses. Source: docs/theory/modes.md, equations (11) and (12).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from femb.analysis.linear.statespace import StateSpace
from femb.analysis.modes.modes import Modes
from femb.analysis.modes.participation import DIRECTIONS, Participation
from femb.base.errors import ModelError, ResultError
from femb.base.types import Floats

FORMAT = "femb hybrid coordinates 1"
UNITS = "SI: m, kg, s, rad; frequency in Hz; six-vectors are translation x, y, z, then rotation x, y, z"
FORCES = tuple(f"hub.force.{axis}" for axis in "xyz") + tuple(f"hub.torque.{axis}" for axis in "xyz")


@dataclass(frozen=True, eq=False)
class HybridCoordinates:
    """A hub and its appendages, all about the hub's origin and along its axes.

    hub : its name. point (3,) m, inertial, and axes (3, 3), as columns. hub_mass (6, 6) : of the hub alone.
    appendages : with participation and rigid masses about the hub's origin. state : "unloaded" or "loaded".
    """

    hub: str
    point: Floats
    axes: Floats
    hub_mass: Floats
    appendages: tuple[Participation, ...]
    state: str

    @classmethod
    def of(cls, modes: Modes) -> "HybridCoordinates":
        """From modes with a body held. Raises ModelError where none is held."""
        if modes.root is None:
            raise ModelError("hybrid coordinates: the modes are of no held body: give held = the hub")
        root = modes.root
        parts = tuple(part.about(root.point, root.axes) for part in modes.appendages)
        return cls(root.name, root.point, root.axes, root.mass, parts, modes.state)

    @property
    def mass(self) -> Floats:
        """M (6, 6): hub and appendages as one rigid body."""
        return np.asarray(self.hub_mass + sum(part.rigid_mass for part in self.appendages))

    def kept(self, count: int) -> "HybridCoordinates":
        """The same with the ``count`` lowest modes of each appendage; rigid masses stay whole."""
        parts = tuple(part.first(count) for part in self.appendages)
        return HybridCoordinates(self.hub, self.point, self.axes, self.hub_mass, parts, self.state)

    def state_space(self) -> StateSpace:
        """States: displacement and rotation of the hub, modal coordinates, and their rates.

        Inputs are force and torque on the hub, outputs the first six states and their rates, in the hub's axes. For
        small motions about rest: equation (12).
        """
        L = np.vstack([np.zeros((0, 6)), *(part.coupling for part in self.appendages)])
        omega = 2.0 * np.pi * np.concatenate([[], *(part.frequencies for part in self.appendages)])
        zeta = np.concatenate([[], *(part.damping for part in self.appendages)])
        k = len(omega)
        mass = np.block([[self.mass, L.T], [L, np.eye(k)]])
        stiffness, damping = np.zeros((6 + k, 6 + k)), np.zeros((6 + k, 6 + k))
        stiffness[6:, 6:], damping[6:, 6:] = np.diag(omega**2), np.diag(2.0 * zeta * omega)
        n = 6 + k
        A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 6))
        A[:n, n:] = np.eye(n)
        A[n:] = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
        B[n:] = np.linalg.solve(mass, np.eye(n)[:, :6])
        C = np.zeros((12, 2 * n))
        C[:6, :6] = C[6:, n : n + 6] = np.eye(6)
        words = [f"{self.hub}.{word}" for word in DIRECTIONS]
        words += [f"{part.name}.mode {j + 1}" for part in self.appendages for j in range(len(part.frequencies))]
        rates = [f"{word} rate" for word in words]
        return StateSpace(A, B, C, np.zeros((12, 6)), (*words, *rates), FORCES, (*words[:6], *rates[:6]))

    def write(self, path: str | Path) -> Path:
        """Write a JSON file, which docs/howto/modes.md describes; its path. Raises ResultError."""
        from femb import __version__

        path = Path(path)
        document = {
            "format": FORMAT,
            "femb": __version__,
            "units": UNITS,
            "state": self.state,
            "hub": {"name": self.hub, "point": self.point, "axes": self.axes, "mass_matrix": self.hub_mass},
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
                }
                for part in self.appendages
            ],
        }
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(document, indent=1, default=_listed) + "\n", encoding="utf-8")
        except OSError as error:
            raise ResultError(f"{path}: cannot be written ({error})") from error
        return path

    @classmethod
    def read(cls, path: str | Path) -> "HybridCoordinates":
        """Read what ``write`` wrote. Raises ResultError."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            if document["format"] != FORMAT:
                raise ValueError(f"the format is {document['format']!r}, wanted {FORMAT!r}")
            hub = document["hub"]
            parts = tuple(_participation(entry) for entry in document["appendages"])
            point, axes, mass = (np.array(hub[word], dtype=float) for word in ("point", "axes", "mass_matrix"))
            return cls(hub["name"], point, axes, mass, parts, document["state"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path}: cannot be read as hybrid coordinates ({error})") from error


def _listed(value: Any) -> Any:
    return value.tolist()


def _participation(entry: dict[str, Any]) -> Participation:
    words = ("point", "axes", "frequency_hz", "damping_ratio", "participation", "mass_matrix", "residual_mass")
    point, axes, frequency, damping, coupling, mass, residual = (np.array(entry[word], dtype=float) for word in words)
    coupling = coupling.reshape(-1, 6)
    clamped = residual - mass + coupling.T @ coupling
    if np.max(np.abs(clamped)) > 1e-9 * np.max(np.abs(mass)):
        raise ValueError(f"{entry['name']}: mass_matrix, participation and residual_mass do not belong together")
    nothing = np.zeros((0, len(coupling)))
    return Participation(entry["name"], point, axes, frequency, damping, coupling, mass, 0.0 * mass, nothing)
