"""The frequency responses of a page: of linear models, and of base shakes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from femb.base.types import Complexes, Floats
from femb.numerics import rotations
from femb.numerics.linear_systems import NOTHING, beside_alike, moving
from femb.pictures.frequency import ratio_of_units
from femb.reporting.packing import FINE, Packing
from femb.results.results import Results

# The modes of a page: their table, the participation of appendages, and the buckling modes of static states.

EQUAL = 1e-6  # frequencies that differ by no more than this part are those of one mode
# The largest displacement of a buckling mode by the size of the structure, and its largest rotation (rad).
DISPLACEMENT, ROTATION = 0.1, 0.5
COUPLING = "/coupling"
MOVING = ("bodies/", "beams/")


def modes_of(results: Results) -> list[dict[str, Any]] | None:
    """Frequency, damping, what moves most, how, its share of the kinetic energy, of every mode; None without modes."""
    arrays = results.arrays
    if results.method != "modes" or "modes/frequencies" not in arrays:
        return None
    count = len(arrays["modes/frequencies"])
    labels = arrays["modes/labels"] if "modes/labels" in arrays else np.full(count, "")
    motions = arrays["modes/motions"] if "modes/motions" in arrays else np.full(count, "")
    damping = arrays["modes/damping"] if "modes/damping" in arrays else np.zeros(count)
    shares = np.max(arrays["modes/energy"], axis=1, initial=0.0) if "modes/energy" in arrays else np.full(count, np.nan)
    return [
        {
            "frequency": number(arrays["modes/frequencies"][k]),
            "damping": number(damping[k]),
            "moves": str(labels[k]).partition(".")[2] or str(labels[k]),
            "motion": str(motions[k]),
            "share": number(shares[k]),
        }
        for k in range(count)
    ]


def facts_of(results: Results) -> dict[str, str]:
    """The state of the modes, and the motions without stiffness, by name; none of other results."""
    arrays = results.arrays
    if results.method != "modes" or "modes/free_motions" not in arrays or "modes/state" not in arrays:
        return {}
    rigid, joint = (int(x) for x in arrays["modes/free_motions"])
    held = str(arrays["modes/held"][0]) if "modes/held" in arrays else ""
    damped = "damped" if "modes/damped" in arrays and arrays["modes/damped"][0] else "undamped"
    return {
        "state": f"{damped} modes of the {arrays['modes/state'][0]} structure" + (f", {held} held" if held else ""),
        "without stiffness": f"{rigid} rigid-body motion{'s' * (rigid != 1)}, {joint} of joints",
    }


def participation_of(results: Results) -> list[dict[str, Any]]:
    """The modes of each appendage: frequencies, numbers among all modes, and effective masses (kg, kg m2) in six
    directions beside the rigid mass."""
    arrays = results.arrays
    if results.method != "modes" or "modes/frequencies" not in arrays:
        return []
    all_of_them = np.array(arrays["modes/frequencies"], dtype=float)
    found = []
    paths = (path for path in arrays if path.startswith("modes/") and path.endswith(COUPLING))
    for name in (path[len("modes/") : -len(COUPLING)] for path in paths):
        frequencies, coupling = (np.asarray(arrays[f"modes/{name}/{word}"]) for word in ("frequencies", "coupling"))
        rigid = np.diag(arrays[f"modes/{name}/rigid_mass"])
        found.append(
            {
                "name": name,
                "frequencies": [number(x) for x in frequencies],
                "modes": [_matching(all_of_them, float(x)) for x in frequencies],
                "effective": [[number(x) for x in row] for row in coupling**2],
                "rigid": [number(x) if x > 1e-12 * np.max(rigid) else 0.0 for x in rigid],
            }
        )
    return found


def buckling_of(results: Results) -> tuple[Results, list[dict[str, Any]], list[int]] | None:
    """The buckling modes of static states as results: at the times 2 k and 2 k + 1 the state before critical load
    factor k, and the same moved by the mode; the rows of the modes; and the numbers of these states.

    The size of a mode is chosen for the eye. None where the results have none.
    """
    arrays = results.arrays
    factors: Any = arrays.get("static/critical_load_factor", [])
    if not len(factors) or "static/mode_names" not in arrays or not results.time.size:
        return None
    path = np.asarray(arrays["static/load_factor"], dtype=float)
    states = [int(np.argmin(np.abs(path - factor))) for factor in factors]
    bodies = [name for name in results.bodies if f"static/modes/bodies/{name}/translation" in arrays]
    beams = [name for name in results.beams if f"static/modes/beams/{name}/translation" in arrays]
    items = [f"bodies/{name}" for name in bodies] + [f"beams/{name}" for name in beams]
    if not items:
        return None
    rows = np.repeat(states, 2)
    series = {path: np.array(results.series[path][rows]) for path in results.series if path.startswith(MOVING)}
    points = [array.reshape(len(rows), -1, 3) for path, array in series.items() if path.endswith("/position")]
    extent = float(np.max(np.ptp(np.concatenate(points, axis=1), axis=1))) or 1.0
    for k in range(len(states)):
        motions = [[arrays[f"static/modes/{item}/{word}"][k] for word in ("translation", "rotation")] for item in items]
        moves, turns = (max(float(np.max(np.abs(motion[i]))) for motion in motions) for i in (0, 1))
        scale = min(DISPLACEMENT * extent / max(moves, 1e-300), ROTATION / max(turns, 1e-300))
        for item, (translation, rotation) in zip(items, motions, strict=True):
            _move(series, item, 2 * k + 1, scale * translation, scale * rotation)
    kept = {path: array for path, array in results.static.items() if path.startswith(MOVING)}
    shown = Results({"time": np.arange(float(len(rows))), **series}, kept, results.attributes)
    names = [str(name) for name in arrays["static/mode_names"]]
    modes = [{"factor": number(x), "moves": name} for x, name in zip(factors, names, strict=True)]
    return shown, modes, states


def _move(series: dict[str, Any], item: str, row: int, translation: Floats, rotation: Floats) -> None:
    """Displace and rotate the frames of an item at one time; inertial axes."""
    series[f"{item}/position"][row] += translation
    quaternion = series[f"{item}/quaternion"][row]
    series[f"{item}/quaternion"][row] = rotations.multiply(rotations.exponential(rotation), quaternion)


def _matching(frequencies: Floats, frequency: float) -> int | None:
    """The number from 1 of the first mode with a frequency, or None; takes it from the frequencies, as the modes of
    equal appendages have equal ones."""
    equal = np.flatnonzero(np.abs(frequencies - frequency) <= EQUAL * frequency)
    if not equal.size:
        return None
    frequencies[equal[0]] = np.nan
    return int(equal[0]) + 1


def number(value: Any) -> float | None:
    """A number for JSON, which has none that are not finite."""
    found = float(value)
    return found if np.isfinite(found) else None


VALUES = 300_000  # numbers of all responses; outputs beyond are left out
LISTED = 2000  # rows of a table
SMALLEST = 1e-300


@dataclass(frozen=True)
class Frequency:
    """The part of a page on a linear model or a base shake.

    frequencies (f,) Hz; values (f, p, m) of the outputs by the inputs; densities (f, p) of a random shake, or None.
    poles (n,) 1/s. gains (p, m) : at frequency zero, or None where a rigid motion leaves none. hankel (n,) : singular
    values, or None of a model that is not stable. shaken : rows of the outputs of a shake, see schema.json. note : text
    about what the responses are. units : SI, of outputs and inputs by name, where known. margins : of a control loop,
    rows of channel, margin and frequency. step : times (t,) s and values (t, p, m) after a unit step, of stable loops.
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
    units: Mapping[str, str] = field(default_factory=dict)
    margins: Sequence[Mapping[str, Any]] = ()
    step: tuple[Floats, Floats] | None = None

    def packed(self, packing: Packing) -> dict[str, Any]:
        """The responses as gain in decibels and phase in degrees, and the tables."""
        count = max(1, VALUES // max(1, 2 * len(self.frequencies) * len(self.inputs)))
        ratios = [
            [ratio_of_units(self.units.get(output, ""), self.units.get(given, "")) for given in self.inputs]
            for output in self.outputs[:count]
        ]
        size = np.abs(self.values[:, :count])
        peaks = np.max(size, axis=0, initial=0.0, where=np.isfinite(size))
        part = beside_alike(peaks, self.outputs[:count], self.inputs, self.units)
        zero, strongest = part <= NOTHING, _strongest(part, peaks, np.array(ratios, dtype=str))
        kept = self.values[:, :count].reshape(len(self.frequencies), -1)
        size = np.where(zero.ravel(), 0.0, np.abs(kept))
        phase = np.degrees(np.unwrap(np.angle(kept), axis=0))
        phase -= 360.0 * np.floor((phase[:1] + 270.0) / 360.0)  # begins between -270 and 90 degrees
        found: dict[str, Any] = {
            "frequencies": packing.add(self.frequencies, FINE + 8),
            "gain": packing.add(np.where(size > SMALLEST, 20.0 * np.log10(np.maximum(size, SMALLEST)), np.nan), FINE),
            "phase": packing.add(np.where(size > SMALLEST, phase, np.nan)),
            "outputs": list(self.outputs[:count]),
            "inputs": list(self.inputs),
            "units": ratios,
            "zero": zero.tolist(),
            "strongest": strongest,
            "left_out": max(0, len(self.outputs) - count),
            "poles": _poles(self.poles),
            "gains": None if self.gains is None else [[number(x) for x in row] for row in self.gains[:count]],
            "hankel": None if self.hankel is None else [number(x) for x in self.hankel[:LISTED]],
            "shaken": list(self.shaken),
            "note": self.note,
            "density": None,
            "margins": list(self.margins),
            "step": None,
        }
        if self.step is not None:
            times, values = self.step
            found["step"] = [packing.add(times), packing.add(values[:, :count].reshape(len(times), -1), FINE)]
        if self.densities is not None:
            decibels = 10.0 * np.log10(np.maximum(self.densities[:, :count], SMALLEST))
            found["density"] = packing.add(decibels, FINE)
        return found


def _strongest(part: Floats, peaks: Floats, ratios: np.ndarray) -> list[int]:
    """The pair (p, m) of output and input that responds most of those with the unit of the first that responds."""
    responding = part > NOTHING
    if not responding.any():
        return [0, 0]
    first = ratios.ravel()[np.flatnonzero(responding.ravel())[0]]
    strongest = int(np.argmax(np.where(responding & (ratios == first), peaks, -1.0)))
    return [strongest // peaks.shape[1], strongest % peaks.shape[1]]


def _poles(poles: Complexes) -> list[dict[str, Any]]:
    """Rows of poles, one of each conjugate pair, by frequency; without those of rigid motions."""
    rows = []
    for pole in moving(poles)[:LISTED]:
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
