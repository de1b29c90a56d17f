"""Base shake: response to a sine sweep or to a random acceleration of the base.

    S_out = |H|^2 S_in,   rms^2 = integral of S_out df,   Miles: rms = sqrt(pi/2 f Q S(f)) times the static response

Points of the integral resolve every half-power band. Source: docs/theory/linearisation.md, section 9; J. W. Miles, J.
Aero. Sci. 21 (1954) 753.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femb.base.array_files import content_of
from femb.base.errors import FembWarning, ModelError, ResultError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.base.values import as_numbers, check_choice, names_of, numbered, shown, without_rounding
from femb.case import Given
from femb.linear.model import linear_model
from femb.linear.response import FrequencyResponse
from femb.linear.spinning_reduction import elastic_modes
from femb.linear.state_space import StateSpace
from femb.linear.structure import state_space_of
from femb.numerics.linear_systems import resolving
from femb.results.array_file import write_arrays

# Power spectral densities of random vibrations, and integrals over frequency.

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
            text = content_of(path).decode("utf-8-sig")
            lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
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


MODES = 20
# Poles that differ by no more than this part are those of one multiple mode.
EQUAL = 1e-6
# A smaller ratio is that of a pole without damping. A mode that moves by less than this part of what others move by
# the base, or in an output, has none of it.
UNDAMPED, UNSEEN = 1e-9, 1e-9


@dataclass(frozen=True, eq=False)
class Shaken(Tabled):
    """The response of outputs (p,) to the acceleration of the base along one axis.

    span : first and last frequency, Hz. model : the kept modes and the source of their damping, in words. response : to
    unit acceleration, (f, p, 1). space : the linear model.
    density (f,), output_density (f, p) and rms (p,) : of a random shake, and miles (p,) its estimate by the mode of the
    largest static response, or nan; None of a sine.
    peak (p,), peak_frequency (p,) Hz : the largest amplitude for unit acceleration, where it is. Peak and RMS of what
    responds to a mode without damping in the span are infinite.
    """

    axis: str
    span: tuple[float, float]
    model: str
    space: StateSpace
    response: FrequencyResponse
    density: Floats | None
    output_density: Floats | None
    rms: Floats | None
    miles: Floats | None
    peak: Floats
    peak_frequency: Floats

    def table(self) -> str:
        """A line for each output."""
        kind = "random" if self.rms is not None else "sine"
        head = f"{kind} {self.axis}, {self.span[0]:.6g} to {self.span[1]:.6g} Hz; {self.model}"
        width = max(len("output"), *(len(name) for name in self.response.outputs))
        columns = f"{'output':{width}}{'peak by unit':>15}{'at Hz':>12}"
        lines = [head, columns + (f"{'RMS':>13}{'Miles':>13}" if self.rms is not None else "")]
        peak, rms, miles = (None if x is None else self._shown(x) for x in (self.peak, self.rms, self.miles))
        assert peak is not None
        for k, name in enumerate(self.response.outputs):
            at = f"{self.peak_frequency[k]:12.6g}" if peak[k] else f"{'-':>12}"
            line = f"{name:{width}}{peak[k]:15.6g}{at}"
            if rms is not None and miles is not None:
                estimate = f"{miles[k]:13.6g}" if np.isfinite(miles[k]) and rms[k] else f"{'-':>13}"
                line += f"{rms[k]:13.6g}{estimate}"
            lines.append(line)
        return "\n".join(lines)

    def _shown(self, values: Floats) -> Floats:
        """Values (p,) of a column, zero where they are rounding beside the largest of the same unit."""
        units = list(map(self.response.unit_of, self.response.outputs))
        largest = dict.fromkeys(units, 0.0)
        for unit, x in zip(units, np.abs(values), strict=True):
            largest[unit] = max(largest[unit], float(x) if np.isfinite(x) else 0.0)
        return without_rounding(values, [largest[unit] for unit in units])

    def write(self, path: str | Path) -> Path:
        """Write frequencies, the response and, of a random shake, densities, RMS and Miles' estimate to a .npz or .h5.

        In a results file they are in the group ``shake``. Returns the path. Raises ResultError.
        """
        values = self.response.values[:, :, 0]
        arrays: dict[str, Floats | tuple[str, ...]] = {
            **{word: getattr(self.response, word) for word in ("frequencies", "outputs", "inputs")},
            "real": values.real,
            "imaginary": values.imag,
            "output_units": tuple(self.response.units.get(name, "") for name in self.response.outputs),
        }
        if self.space.title:
            arrays["title"] = (self.space.title,)
        for word in ("peak", "peak_frequency", "density", "output_density", "rms", "miles"):
            value = getattr(self, word)
            if value is not None:
                arrays[word] = value
        return write_arrays(path, arrays, (".npz", ".h5"), group="shake")

    def draw(self, path: str | Path, *, dpi: int = 150) -> Path:
        """Draw the densities of a random shake, or the gain of a sine, to a picture file; its path."""
        from femb.pictures.drawing import save
        from femb.pictures.frequency import draw_shaken

        values, quantity = np.abs(self.response.values[:, :, 0]), "amplitude by unit acceleration"
        names = self.response.outputs
        units = {name: self.response.unit_of(name) for name in names}
        if self.output_density is not None:
            values, quantity = self.output_density, "power spectral density"
            units = {name: (f"{unit}²/Hz" if unit.isalpha() else f"({unit})²/Hz") for name, unit in units.items()}
        moved = self._shown(self.peak) != 0.0
        outputs = [name for name, moves in zip(names, moved, strict=True) if moves]
        figure = draw_shaken(
            self.response.frequencies, values[:, moved], outputs, [units[name] for name in outputs], quantity,
            [name for name in names if name not in outputs], self.space.title,
        )  # fmt: skip
        return save(figure, Path(path), dpi)


def shake(
    model: "Given",
    axis: str = "z",
    *,
    outputs: Sequence[str],
    density: "Density | tuple[Sequence[float], Sequence[float]] | None" = None,
    sine: tuple[float, float] | None = None,
    held: str | None = None,
    modes: int | None = None,
    damping: float | None = None,
    start: str | None = None,
) -> Shaken:
    """Shake the base of a model: the ground, or the body that is ``held``.

    Parameters:
        model: whose base it is, a case, or the path of its file.
        axis: "x", "y", "z" of the acceleration, along inertial axes, or "rx", "ry", "rz" of the angular acceleration,
            about the own axes of a held body through its origin, which differ where it is turned at the start.
        outputs: names, as in ``femb.linear_model``; accelerations are those of the whole motion, displacements relative
            to the base.
        density: of a random shake, a Density or frequencies (Hz) and values ((m/s2)2/Hz, or (rad/s2)2/Hz).
        sine: in place of it, first and last frequency, Hz.
        held: the body that is shaken, by default the ground.
        modes: number of those that are kept, with the static share of the others, by default 20, or all of fewer.
        damping: ratio of each mode in place of the model's modal damping and that of reduced bodies; by default 0.005
            of a model without both. A warning names modes without damping in the span.
        start: as in ``femb.linear_model``.

    Raises:
        ModelError: neither or both of density and sine, an unknown axis or output, nothing that is held.
    """
    axes = ("x", "y", "z", "rx", "ry", "rz")
    check_choice("shake: axis", axis, axes)
    if (density is None) == (sine is None):
        raise ModelError("shake: got neither or both of a density and a sine: give one")
    if not names_of("shake: outputs", outputs):
        raise ModelError("shake: no outputs: name some, as appendages.NAME.force or beams.NAME.-1.acceleration")
    if density is not None and not isinstance(density, Density):
        density = Density(*(np.asarray(part, dtype=float) for part in density))
    span = as_numbers(sine)
    if sine is not None and not (span is not None and span.shape == (2,) and 0.0 < span[0] < span[1] < np.inf):
        raise ModelError(f"shake: sine: got {shown(sine)}, wanted a first and a last frequency in Hz that rise")
    word = "angular_acceleration" if len(axis) == 2 else "acceleration"
    name = f"{'ground' if held is None else f'bodies.{held}'}.{word}.{axis[-1]}"
    sparse = linear_model(model, inputs=[name], outputs=outputs, held=held, start=start, own_ratios=damping is None)
    if modes is None:
        modes = min(MODES, elastic_modes(sparse.motion))
    space = state_space_of(sparse, modes=modes, damping=damping)
    assert space.truncation is not None
    kind = space.truncation.kind
    if sine is not None:
        first, last = sine
    else:
        assert density is not None
        first, last = (float(f) for f in density.frequencies[[0, -1]])
    points = resolving(space.eigenvalues(), first, last)
    if density is not None:
        points, weights = gauss(np.unique(np.concatenate([points, density.frequencies])))
    response = _response(space, points)
    endless, frequencies = _endless(space, first, last)
    peaks = _peaks(space, response, endless)
    if len(frequencies):
        there = f"{np.min(frequencies):.6g} to {np.max(frequencies):.6g}"
        warnings.warn(
            f"shake: {numbered(len(frequencies), 'mode')} at {there} Hz {'have' if len(frequencies) > 1 else 'has'} no "
            "damping, so that the response has no bound there: damp more modes by [modal_damping], or give a ratio of "
            "all, --damping",
            FembWarning,
            stacklevel=2,
        )
    if density is None:
        return Shaken(name, (first, last), kind, space, response, None, None, None, None, *peaks)
    values = density.at(points)
    out = np.abs(response.values[:, :, 0]) ** 2 * values[:, None]
    rms, miles = np.where(np.isfinite(endless), np.inf, np.sqrt(weights @ out)), _miles(space, density)
    return Shaken(name, (first, last), kind, space, response, values, out, rms, miles, *peaks)


def _response(space: StateSpace, frequencies: Floats) -> FrequencyResponse:
    """The response of a model in modes; diagonal, so that thousands of frequencies cost little."""
    values, shapes = np.linalg.eig(space.A)
    left = np.linalg.solve(shapes, space.B)
    s = 2j * np.pi * frequencies
    away = s[:, None] - values
    # at a pole without damping there is no number: the next one that is
    by_pole = 1.0 / np.where(away == 0.0, np.spacing(np.abs(values)), away)
    out = np.einsum("pn,fn,nm->fpm", space.C @ shapes, by_pole, left, optimize=True) + space.D
    return FrequencyResponse(frequencies, out, space.outputs, space.inputs, units=space.units)


def _peaks(space: StateSpace, response: FrequencyResponse, endless: Floats) -> tuple[Floats, Floats]:
    """(p,) the largest amplitudes, and their frequencies in Hz; infinite at those of ``endless`` (p,), else nan."""
    from scipy.optimize import minimize_scalar

    f, size = response.frequencies, np.abs(response.values[:, :, 0])
    peaks = np.zeros((2, size.shape[1]))
    for k, at in enumerate(np.argmax(size, axis=0)):
        peaks[:, k] = (size[at, k], f[at]) if np.isnan(endless[k]) else (np.inf, endless[k])
        if np.isnan(endless[k]) and 0 < at < len(f) - 1 and size[at, k] > 0.0:
            found = minimize_scalar(
                lambda x, k=k: -abs(_response(space, np.array([x])).values[0, k, 0]),
                bounds=(f[at - 1], f[at + 1]),
                method="bounded",
            )
            peaks[:, k] = max((-found.fun, found.x), (size[at, k], f[at]))
    return peaks[0], peaks[1]


def _endless(space: StateSpace, first: float, last: float) -> tuple[Floats, Floats]:
    """Frequencies (Hz) of a pole without damping that each output (p,) responds to, else nan; and those of all."""
    values, shapes = np.linalg.eig(space.A)
    reached, shown_by = np.abs(np.linalg.solve(shapes, space.B)[:, 0]), np.abs(space.C @ shapes)
    size, f = np.abs(values), np.abs(values) / (2.0 * np.pi)
    own = (values.imag > 0.0) & (-values.real <= UNDAMPED * size) & (f >= first) & (f <= last)
    own &= reached > UNSEEN * np.max(reached, initial=0.0)
    seen = shown_by > UNSEEN * np.max(shown_by, axis=1, initial=0.0, keepdims=True)
    found = np.full(len(space.outputs), np.nan)
    for k in np.flatnonzero(own):
        found[seen[:, k]] = f[k]
    return found, f[own]


def _miles(space: StateSpace, density: Density) -> Floats:
    """(p,) Miles' estimate by the mode of the largest static response: that times sqrt(pi/2 f Q S(f))."""
    values, shapes = np.linalg.eig(space.A)
    residues = (space.C @ shapes) * np.linalg.solve(shapes, space.B)[:, 0]
    largest, found = np.zeros(len(space.outputs)), np.full(len(space.outputs), np.nan)
    for pole in values[values.imag > 0.0]:
        f, ratio = abs(pole) / (2.0 * np.pi), -pole.real / abs(pole)
        if ratio <= UNDAMPED:
            continue
        # at its peak a pair of poles responds by its residue over zeta omega: Q times the static response
        equal = np.abs(values - pole) <= EQUAL * abs(pole)
        static = np.abs(np.sum(residues[:, equal], axis=1)) * 2.0 / abs(pole)
        estimate = np.sqrt(0.25 * np.pi * f / ratio * float(density.at(np.array([f]))[0])) * static
        found = np.where(static > largest, estimate, found)
        largest = np.maximum(static, largest)
    return np.where(found > 0.0, found, np.nan)
