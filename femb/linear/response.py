"""Frequency response: the transfer matrix of a linear model at some frequencies."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from femb.base import html
from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.types import Complexes, Floats
from femb.base.values import absent, numbers_of, shown
from femb.numerics.linear_systems import NOTHING, ROTATIONS, singular_values
from femb.results.array_file import Arrays, write_arrays

# Of what responds: with more rounding digits are lost.
LOST_PART = 1e-3


@dataclass(frozen=True, eq=False)
class FrequencyResponse(Brief):
    """Transfer matrices, complex ``values`` (f, p, m) in SI units, at frequencies (f,) in Hz.

    outputs (p,), inputs (m,) : their names.

    rounding (f, p, m) : size up to which a value may be rounding of what cancels, where that is known, else None; files
    have it too. units : SI, of inputs and outputs by name, where known. title : of the model, for figures.
    """

    frequencies: Floats
    values: Complexes
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    rounding: Floats | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    title: str = ""

    def between(self, output: str, input_: str) -> Complexes:
        """(f,) in SI units: the response of an output to the input ``input_``. Raises ModelError: an unknown name."""
        for name, names in ((output, self.outputs), (input_, self.inputs)):
            if name not in names:
                raise ModelError(f"frequency response: no {absent(name, names)}")
        return self.values[:, self.outputs.index(output), self.inputs.index(input_)]

    def unit_of(self, name: str) -> str:
        """The SI unit of an input or output; of a factor, and of one whose unit is not known, its name."""
        unit = self.units.get(name, "")
        return name if unit in ("", "-") else unit

    def largest_alike(self, size: Floats) -> Floats:
        """(f, p, m): of the sizes of all entries, ``size`` (f, p, m), the largest with the same units."""
        rows, columns = (self._alike(names) for names in (self.outputs, self.inputs))
        largest = np.array([[np.max(size[:, i][:, :, j], axis=(1, 2)) for j in columns] for i in rows])
        return np.moveaxis(largest.reshape(*size.shape[1:], len(size)), 2, 0)

    def _alike(self, names: tuple[str, ...]) -> list[list[int]]:
        """Numbers of the names with the same unit, for each name."""
        units = [self.unit_of(name) for name in names]
        return [[k for k, other in enumerate(units) if other == unit] for unit in units]

    def lost(self, part: float = LOST_PART) -> NDArray[np.bool_]:
        """(f,) whether rounding is more than a part of some entry that is not small beside those of the same units.

        Entries that are zero by symmetry have no digits to lose: those whose rounding is nothing beside the rotations
        that the same input causes, or beside the translations.
        """
        if self.rounding is None or not self.values.size:
            return np.zeros(len(self.frequencies), dtype=bool)
        size = np.abs(self.values)
        largest = self.largest_alike(size)
        units = map(self.unit_of, self.outputs)
        kinds = np.array([ROTATIONS.get(unit, unit) for unit in units])
        beside = np.stack([size[:, kinds == kind].max(axis=1) for kind in kinds], axis=1)
        zero = self.rounding <= NOTHING * beside
        return np.asarray(np.any((self.rounding > part * largest) & (largest > 0.0) & ~zero, axis=(1, 2)))

    def known(self) -> "FrequencyResponse":
        """The response without the frequencies at which digits are lost."""
        kept = ~self.lost()
        rounding = None if self.rounding is None else self.rounding[kept]
        return replace(self, frequencies=self.frequencies[kept], values=self.values[kept], rounding=rounding)

    @property
    def singular_values(self) -> Floats:
        """(f, min(p, m)) singular values of the transfer matrices, largest first."""
        return singular_values(self.values)

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
        """Draw to a picture file, without frequencies at which digits are lost.

        Parameters:
            path: of the picture.
            what: "bode", "nichols" or "singular-values".
            dpi: dots per inch.

        Raises:
            ResultError: unknown content, or a file that cannot be written.
        """
        from femb.pictures.drawing import save
        from femb.pictures.frequency import draw_response

        known = self.known()
        figure = draw_response(what, known.frequencies, known.values, self.outputs, self.inputs, self.units, self.title)
        return save(figure, Path(path), dpi)

    def _repr_html_(self) -> str:

        return html_of_response(self) or html.text(repr(self))


def checked_frequencies(frequencies: ArrayLike) -> Floats:
    """(f,) Hz. Raises ModelError: none, or any that is not positive and finite."""
    found = numbers_of("frequencies", frequencies, "Hz, all positive")
    if np.min(found) <= 0.0:
        raise ModelError(f"frequencies: got {shown(frequencies)}, wanted positive numbers in Hz")
    return found


# A response at a glance, for notebooks: the Bode plot of one channel.


def html_of_response(response: FrequencyResponse) -> str:
    """The Bode plot of the first pair of input and output that responds; empty where there is none."""
    response = response.known()
    found = _first(response.values)
    if found is None:
        return ""
    from femb.pictures.drawing import png
    from femb.pictures.frequency import draw_response

    i, j = found
    output, given = response.outputs[i], response.inputs[j]
    one = response.values[:, i : i + 1, j : j + 1]
    figure = draw_response("bode", response.frequencies, one, (output,), (given,), response.units, response.title)
    return html.image(png(figure, 60), f"Bode plot of {output} by {given}")


def _first(values: Complexes) -> tuple[int, int] | None:
    """Output and input of the first channel of transfer matrices (f, p, m) that is not zero."""
    if not values.size:
        return None
    size = np.max(np.abs(values), axis=0)
    found = np.argwhere(size > 1e-12 * np.max(size)) if np.max(size) > 0.0 else np.zeros((0, 2), dtype=int)
    return (int(found[0, 0]), int(found[0, 1])) if len(found) else None
