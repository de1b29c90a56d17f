"""State space x' = A x + B u, y = C x + D u of small changes, with names; export to files and other packages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from femb.analysis.array_file import read_arrays, write_arrays
from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats

FORMATS = (".npz", ".mat", ".h5")
NAMES = ("states", "inputs", "outputs")


@dataclass(frozen=True, eq=False)
class StateSpace:
    """A linear system of small changes about an operating point.

    A (n, n), B (n, m), C (p, n), D (p, m). states, inputs, outputs : the names of their rows and columns, such as
    "joints.hinge.angle". SI units: m, rad and their rates; inputs are factors of loads or motions of drivers.

    Raises ModelError where the shapes of the matrices do not agree with the numbers of names.
    """

    A: Floats
    B: Floats
    C: Floats
    D: Floats
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        n, m, p = len(self.states), len(self.inputs), len(self.outputs)
        for name, shape in (("A", (n, n)), ("B", (n, m)), ("C", (p, n)), ("D", (p, m))):
            if np.shape(getattr(self, name)) != shape:
                raise ModelError(
                    f"state space: {name} has shape {np.shape(getattr(self, name))}, wanted {shape}: there are {n} "
                    f"states, {m} inputs and {p} outputs"
                )

    def eigenvalues(self) -> Complexes:
        """(n,) complex eigenvalues of A, 1/s, sorted by imaginary and then real part."""
        values = np.linalg.eigvals(self.A).astype(np.complex128)
        return values[np.lexsort((values.real, values.imag))]

    def index(self, kind: str, name: str) -> int:
        """Index of a name; kind : "states", "inputs" or "outputs". Raises ModelError: an unknown name."""
        names: tuple[str, ...] = getattr(self, kind)
        if name not in names:
            raise ModelError(f"state space: no {name!r} among the {kind}; there are: {', '.join(names) or 'none'}")
        return names.index(name)

    def transfer(self, s: complex) -> Complexes:
        """(p, m) complex: the transfer matrix D + C (s - A)^-1 B at s, 1/s."""
        states = np.linalg.solve(s * np.eye(len(self.states)) - self.A, self.B.astype(complex))
        return np.asarray(self.D + self.C @ states, dtype=np.complex128)

    def to_scipy(self) -> Any:
        """The same as scipy.signal.StateSpace, without names."""
        from scipy.signal import StateSpace as Signal

        return Signal(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """The same as control.StateSpace, with names. Raises ModelError where python-control is not installed."""
        try:
            import control
        except ImportError as error:
            raise ModelError("python-control is not installed: pip install 'femb[control]'") from error
        # dots are not allowed in names
        names = {key: [name.replace(".", "_").replace(" ", "_") for name in getattr(self, key)] for key in NAMES}
        return control.ss(self.A, self.B, self.C, self.D, **names)

    def write(self, path: str | Path) -> Path:
        """Write A, B, C, D, states, inputs, outputs to a .npz, a .mat or a results file .h5; returns the path.

        In a results file they are in the group ``linear``, names as lists of text. Raises ResultError.
        """
        arrays = {name: getattr(self, name) for name in (*"ABCD", *NAMES)}
        return write_arrays(path, arrays, FORMATS, group="linear")

    @classmethod
    def read(cls, path: str | Path) -> "StateSpace":
        """Read a .npz written by ``write``. Raises ResultError."""
        return cls(**read_arrays(path, "ABCD", NAMES, "state space"))
