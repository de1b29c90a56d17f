"""Frequency response: the transfer matrix of a linear model at some frequencies."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femb.analysis.array_file import Arrays, write_arrays
from femb.analysis.linear.units import unit_of
from femb.base import html
from femb.base.arguments import numbers_of
from femb.base.brief import Brief
from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats
from femb.base.values import nearest, shown

# Of what responds: with more rounding digits are lost.
LOST = 1e-3


@dataclass(frozen=True, eq=False)
class FrequencyResponse(Brief):
    """Transfer matrices, complex ``values`` (f, p, m) in SI units, at frequencies (f,) in Hz.

    outputs (p,), inputs (m,) : their names.

    rounding (f, p, m) : size up to which a value may be rounding of what cancels, where that is known, else None; files
    have it too.
    """

    frequencies: Floats
    values: Complexes
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    rounding: Floats | None = None

    def between(self, output: str, input_: str) -> Complexes:
        """(f,) in SI units: the response of an output to the input ``input_``. Raises ModelError: an unknown name."""
        for name, names in ((output, self.outputs), (input_, self.inputs)):
            if name not in names:
                raise ModelError(
                    f"frequency response: no {name!r}{nearest(name, names)}; there are: {', '.join(names) or 'none'}"
                )
        return self.values[:, self.outputs.index(output), self.inputs.index(input_)]

    def lost(self, part: float = LOST) -> NDArray[np.bool_]:
        """(f,) whether rounding is more than a part of some entry that is not small beside those of the same units."""
        if self.rounding is None or not self.values.size:
            return np.zeros(len(self.frequencies), dtype=bool)
        largest = largest_alike(np.abs(self.values), self.outputs, self.inputs)
        return np.asarray(np.any((self.rounding > part * largest) & (largest > 0.0), axis=(1, 2)))

    @property
    def singular_values(self) -> Floats:
        """(f, min(p, m)) singular values of the transfer matrices, largest first."""
        return np.asarray(np.linalg.svd(self.values, compute_uv=False))

    def write(self, path: str | Path) -> Path:
        """Write frequencies, real and imaginary parts and names to a .npz or a results file .h5; returns the path.

        In a results file they are in the group ``response``. Raises ResultError.
        """
        arrays: Arrays = {
            "frequencies": self.frequencies,
            "real": self.values.real,
            "imaginary": self.values.imag,
            "outputs": self.outputs,
            "inputs": self.inputs,
            **({} if self.rounding is None else {"rounding": self.rounding}),
        }
        return write_arrays(path, arrays, (".npz", ".h5"), group="response")

    def draw(self, path: str | Path, what: str = "bode", *, dpi: int = 150) -> Path:
        """Draw to the picture file ``path``; what : "bode", "nichols" or "singular-values"; dpi : dots per inch. Raises
        ResultError."""
        from femb.export.drawing import save
        from femb.export.plots.frequency import draw_response

        return save(draw_response(what, self.frequencies, self.values, self.outputs, self.inputs), Path(path), dpi)

    def _repr_html_(self) -> str:
        from femb.analysis.linear.glance import html_of_response

        return html_of_response(self) or html.text(repr(self))


def largest_alike(size: Floats, outputs: tuple[str, ...], inputs: tuple[str, ...]) -> Floats:
    """(f, p, m): the largest of the entries (f, p, m) with the same units."""
    rows, columns = (_alike(names) for names in (outputs, inputs))
    largest = np.array([[np.max(size[:, i][:, :, j], axis=(1, 2)) for j in columns] for i in rows])
    return np.moveaxis(largest.reshape(*size.shape[1:], len(size)), 2, 0)


def _alike(names: tuple[str, ...]) -> list[list[int]]:
    """For each name the numbers of those with the same unit."""
    units = [unit_of(name) for name in names]
    return [[k for k, other in enumerate(units) if other == unit] for unit in units]


def checked_frequencies(frequencies: ArrayLike) -> Floats:
    """(f,) Hz. Raises ModelError: none, or any that is not positive and finite."""
    found = numbers_of("frequencies", frequencies, "Hz, all positive")
    if np.min(found) <= 0.0:
        raise ModelError(f"frequencies: got {shown(frequencies)}, wanted positive numbers in Hz")
    return found
