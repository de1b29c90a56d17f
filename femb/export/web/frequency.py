"""The frequency responses of a page: of linear models, and of base shakes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from femb.base.types import Complexes, Floats
from femb.export.web.modal import number
from femb.export.web.packing import FINE, Packing
from femb.numerics.resonances import RIGID

VALUES = 300_000  # numbers of all responses; outputs beyond are left out
LISTED = 2000  # rows of a table
SMALLEST = 1e-300


@dataclass(frozen=True)
class Frequency:
    """What a page shows of a linear model or a base shake.

    frequencies (f,) Hz; values (f, p, m) of the outputs by the inputs; densities (f, p) of a random shake, or None.
    poles (n,) 1/s. gains (p, m) : at frequency zero, or None where a rigid motion leaves none. hankel (n,) : singular
    values, or None of a model that is not stable. shaken : rows of the outputs of a shake, see schema.json. note : text
    about what the responses are.
    """

    frequencies: Floats
    values: Complexes
    outputs: Sequence[str]
    inputs: Sequence[str]
    densities: Floats | None = None
    poles: Complexes = field(default_factory=lambda: np.zeros(0, dtype=np.complex128))
    gains: Floats | None = None
    hankel: Floats | None = None
    shaken: Sequence[Mapping[str, Any]] = ()
    note: str = ""

    def packed(self, packing: Packing) -> dict[str, Any]:
        """The responses as gain in decibels and phase in degrees, and the tables."""
        count = max(1, VALUES // max(1, 2 * len(self.frequencies) * len(self.inputs)))
        kept = self.values[:, :count].reshape(len(self.frequencies), -1)
        size = np.abs(kept)
        phase = np.degrees(np.unwrap(np.angle(kept), axis=0))
        phase -= 360.0 * np.floor((phase[:1] + 270.0) / 360.0)  # begins between -270 and 90 degrees
        found: dict[str, Any] = {
            "frequencies": packing.add(self.frequencies, FINE + 8),
            "gain": packing.add(np.where(size > SMALLEST, 20.0 * np.log10(np.maximum(size, SMALLEST)), np.nan), FINE),
            "phase": packing.add(np.where(size > SMALLEST, phase, np.nan)),
            "outputs": list(self.outputs[:count]),
            "inputs": list(self.inputs),
            "left_out": max(0, len(self.outputs) - count),
            "poles": _poles(self.poles),
            "gains": None if self.gains is None else [[number(x) for x in row] for row in self.gains[:count]],
            "hankel": None if self.hankel is None else [number(x) for x in self.hankel[:LISTED]],
            "shaken": list(self.shaken),
            "note": self.note,
            "density": None,
        }
        if self.densities is not None:
            decibels = 10.0 * np.log10(np.maximum(self.densities[:, :count], SMALLEST))
            found["density"] = packing.add(decibels, FINE)
        return found


def _poles(poles: Complexes) -> list[dict[str, Any]]:
    """Rows of poles, one of each conjugate pair, by frequency; without those of rigid motions."""
    upper = poles[(poles.imag >= 0.0) & (np.abs(poles) > RIGID * np.max(np.abs(poles), initial=0.0))]
    rows = []
    for pole in upper[np.argsort(np.abs(upper), kind="stable")][:LISTED]:
        size = float(abs(pole))
        rows.append(
            {
                "real": number(pole.real),
                "imaginary": number(pole.imag),
                "frequency": number(size / (2.0 * np.pi)),
                "damping": number(-pole.real / size) if size > 0.0 else None,
            }
        )
    return rows
