"""Power spectral densities of random vibrations, and integrals over frequency."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femb.base.errors import ModelError, ResultError
from femb.base.types import Floats
from femb.base.values import shown

# Points of Gauss and Legendre in every interval.
GAUSS = 3


@dataclass(frozen=True, eq=False)
class Density:
    """A power spectral density: values (n,) in (m/s2)2/Hz, or (rad/s2)2/Hz, at rising frequencies (n,) in Hz.

    Straight between the points on double logarithmic paper, as test specifications are drawn; zero outside.
    Raises ModelError: frequencies that do not rise from above zero, values that are not positive.
    """

    frequencies: Floats
    values: Floats

    def __post_init__(self) -> None:
        f, values = np.asarray(self.frequencies, dtype=float), np.asarray(self.values, dtype=float)
        whole = f.ndim == 1 and f.shape == values.shape and len(f) > 1
        if not whole or not (np.all(np.isfinite(f)) and f[0] > 0.0 and np.all(np.diff(f) > 0.0)):
            raise ModelError(
                f"density: frequencies: got {shown(self.frequencies)}, wanted two or more that rise from above zero, "
                "with a value each"
            )
        if not (np.all(np.isfinite(values)) and np.all(values > 0.0)):
            raise ModelError(f"density: got {shown(self.values)}, wanted positive values")

    @classmethod
    def read(cls, path: str | Path) -> "Density":
        """From a text file of two columns, frequency in Hz and value, with commas; a line of names may be first.

        Raises ResultError: a file that cannot be read so; ModelError as the class.
        """
        try:
            with open(path, encoding="utf-8") as file:
                lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
            rows = [[float(part) for part in line.split(",")] for line in lines[_names(lines) :]]
            table = np.array(rows, dtype=float)
            if table.ndim != 2 or table.shape[1] != 2:
                raise ValueError("wanted two columns: frequency in Hz, value")
        except (OSError, ValueError, UnicodeDecodeError) as error:
            raise ResultError(f"{path}: cannot be read as a power spectral density ({error})") from error
        return cls(table[:, 0], table[:, 1])

    def at(self, frequencies: Floats) -> Floats:
        """(f,) values at frequencies in Hz."""
        inside = (frequencies >= self.frequencies[0]) & (frequencies <= self.frequencies[-1])
        logs = np.interp(np.log(frequencies), np.log(self.frequencies), np.log(self.values))
        return np.where(inside, np.exp(logs), 0.0)

    @property
    def rms(self) -> float:
        """Root of the integral."""
        f = np.unique(np.concatenate([np.geomspace(self.frequencies[0], self.frequencies[-1], 2000), self.frequencies]))
        points, weights = gauss(f)
        return float(np.sqrt(weights @ self.at(points)))


def gauss(edges: Floats) -> tuple[Floats, Floats]:
    """Points and weights of an integral over the intervals between edges."""
    x, w = np.polynomial.legendre.leggauss(GAUSS)
    half = 0.5 * np.diff(edges)
    points = (0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * x).ravel()
    return points, (half[:, None] * w).ravel()


def _names(lines: list[str]) -> int:
    """1 where the first line is of names."""
    try:
        [float(part) for part in lines[0].split(",")]
    except (ValueError, IndexError):
        return 1
    return 0
