"""Craig-Bampton matrices of an appendage, or of a whole satellite, with the hub as its interface.

    M = [ M_rr  L^T ]    K = [ 0  0       ]    D = [ 0  0              ]
        [ L     1   ]        [ 0  omega^2 ]        [ 0  2 zeta omega   ]

The boundary coordinates are displacement and rotation of the hub. Source: docs/theory/handover.md, equations (2), (3).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ModelError, ResultError
from femb.base.files import to_write
from femb.base.html import Brief
from femb.base.types import Complexes, Floats
from femb.handover.hybrid import HybridCoordinates
from femb.results.array_file import read_arrays, write_arrays
from femb.vibration.participation import DIRECTIONS, Participation

# Matrices in files of NASTRAN and its relatives, by pyyeti: OP4, and DMIG punch files with grids and scalar points.

# Names in files, of at most eight letters.
NAMES = {"mass": "MCB", "stiffness": "KCB", "damping": "BCB"}
BOUNDARY, FIRST_MODE = 1, 1001  # grid of the boundary, and the scalar point of the first mode


def _pyyeti() -> Any:
    try:
        import pyyeti.nastran
    except ImportError as error:
        raise ModelError(
            "pip install 'femb[fe]': OP4 and DMIG files are written by pyyeti, which is not installed"
        ) from error
    return pyyeti.nastran


def _points(count: int) -> Any:
    """Grid and component of each degree of freedom: six of the boundary, then scalar points."""
    import pandas

    ids = [(BOUNDARY, k + 1) for k in range(6)] + [(FIRST_MODE + k, 0) for k in range(count - 6)]
    return pandas.MultiIndex.from_tuples(ids, names=["id", "dof"])


def write_punch(path: Path, matrices: Mapping[str, Floats], dofs: tuple[str, ...]) -> Path:
    """Write matrices as DMIG entries with a comment for each degree of freedom; its path. Raises ModelError.

    Numbers have ten digits, the width of the format.
    """
    nastran, points = _pyyeti(), _points(len(dofs))
    import pandas

    with to_write(path), path.open("w", encoding="utf-8") as file:
        for (grid, component), name in zip(points, dofs, strict=True):
            file.write(f"$ {grid} {component}: {name}\n")
        nastran.wtdmig(file, {NAMES[word]: pandas.DataFrame(m, points, points) for word, m in matrices.items()})
    return path


FORMATS = (".npz", ".mat", ".h5", ".op4", ".pch")
MATRICES = ("mass", "stiffness", "damping")


@dataclass(frozen=True, eq=False)
class CraigBampton(Brief):
    """M x'' + D x' + K x = f with x (6 + k,): a boundary of six, and k modes with the boundary held.

    name : of the hub or the appendage. point (3,) m, inertial, and axes (3, 3), as columns : of the boundary.
    mass, stiffness, damping (6 + k, 6 + k) : modes have unit mass. dofs (6 + k,) : names, "x" to "rz" of the boundary,
    then those of the modes.
    """

    name: str
    point: Floats
    axes: Floats
    mass: Floats
    stiffness: Floats
    damping: Floats
    dofs: tuple[str, ...]

    @classmethod
    def of(cls, whole: HybridCoordinates | Participation, *, dampers: bool = False) -> "CraigBampton":
        """Matrices of a hub with all its appendages, or of one appendage about the point that its participation is
        about.

        dampers : the model's own in place of the ratios, of a whole. Raises ModelError where these are not known.
        """
        parts: tuple[Participation, ...]
        if isinstance(whole, Participation):
            name, parts, rigid = whole.name, (whole,), whole.rigid_mass
        else:
            name, parts, rigid = whole.hub, whole.appendages, whole.mass
        coupling = np.vstack([np.zeros((0, 6)), *(part.coupling for part in parts)])
        omega = 2.0 * np.pi * np.concatenate([[], *(part.frequencies for part in parts)])
        mass = np.block([[rigid, coupling.T], [coupling, np.eye(len(omega))]])
        stiffness, damping = np.zeros_like(mass), np.zeros_like(mass)
        stiffness[6:, 6:] = np.diag(omega**2)
        if isinstance(whole, HybridCoordinates):
            damping = whole.damping_matrix(dampers)
        elif dampers:
            raise ModelError("Craig-Bampton: the model's own dampers are known of the whole: give hybrid coordinates")
        else:
            damping[6:, 6:] = np.diag(2.0 * whole.damping * omega)
        modes = [f"{part.name}.mode {k + 1}" for part in parts for k in range(len(part.frequencies))]
        return cls(name, whole.point, whole.axes, mass, stiffness, damping, (*DIRECTIONS, *modes))

    def dynamic_mass(self, s: complex) -> Complexes:
        """D(s) (6, 6): the wrench on the boundary by its acceleration at e^(s t), s in rad/s: equation (4), with the
        damping and gyroscopic terms of the boundary where it has some."""
        inner = s * s * self.mass[6:, 6:] + s * self.damping[6:, 6:] + self.stiffness[6:, 6:]
        outer = self.mass + self.damping / s if np.any(self.damping[:6]) else self.mass
        share = s * s * np.linalg.solve(inner, outer[6:, :6].astype(complex))
        return np.asarray(outer[:6, :6] - outer[:6, 6:] @ share, dtype=np.complex128)

    def write(self, path: str | Path) -> Path:
        """Write a .npz, .mat, .h5 (group craig_bampton), .op4 or a DMIG punch file .pch; its path.

        The last two need pyyeti; a .pch has ten digits. Raises ModelError without pyyeti, ResultError.
        """
        path = Path(path)
        if path.suffix not in FORMATS:
            raise ResultError(f"{path}: got the suffix {path.suffix!r}, must be one of {', '.join(FORMATS)}")
        matrices = {word: getattr(self, word) for word in MATRICES}
        if path.suffix == ".op4":
            op4 = _pyyeti().op4
            with to_write(path):
                op4.write(str(path), {NAMES[word]: matrix for word, matrix in matrices.items()}, sparse="dense")
            return path
        if path.suffix == ".pch":
            return write_punch(path, matrices, self.dofs)
        arrays = {"name": (self.name,), "point": self.point, "axes": self.axes, **matrices, "dofs": self.dofs}
        return write_arrays(path, arrays, FORMATS[:3], group="craig_bampton")

    @classmethod
    def read(cls, path: str | Path) -> "CraigBampton":
        """Read the .npz at ``path``, written by ``write``. Raises ResultError."""
        found = read_arrays(path, ("point", "axes", *MATRICES), ("name", "dofs"), "Craig-Bampton model")
        return cls(**{**found, "name": found["name"][0]})
