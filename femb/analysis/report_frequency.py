"""Frequency responses for reports: those of linear models, and those that base shakes have recorded."""

import numpy as np

from femb.analysis.linear.statespace import StateSpace
from femb.analysis.linear.units import UNITS, unit_of
from femb.base.types import Complexes, Floats
from femb.base.values import without_rounding
from femb.export.web.frequency import Frequency
from femb.numerics.resonances import RIGID, resolving
from femb.results.results import Results

MOST = 4000  # frequencies of a response
IN_BAND = 8  # frequencies in a half-power band
HANKEL = 400  # largest number of states of which Hankel singular values are computed
STABLE = 1e-9  # of the largest pole: a real part below this is one of damping


def frequency_of(results: Results) -> Frequency | None:
    """The responses in results of ``femb linearize`` and ``femb shake``; None of others."""
    if "linear/A" in results.arrays:
        return _linear(StateSpace.of_results(results))
    if "shake/real" in results.arrays:
        return _shake(results)
    return None


def _linear(space: StateSpace) -> Frequency:
    poles = space.eigenvalues()
    frequencies = resolving(poles, in_band=IN_BAND) if len(poles) else np.geomspace(0.01, 100.0, 200)
    if len(frequencies) > MOST:
        frequencies = frequencies[:: -(-len(frequencies) // MOST)]
    rigid = int(np.sum(np.abs(poles) <= RIGID * np.max(np.abs(poles), initial=0.0)))
    gains = None if rigid or not len(poles) else space.D - space.C @ np.linalg.solve(space.A, space.B)
    names = ("state", "input", "output")
    counts = ", ".join(
        f"{len(part)} {name}{'s' * (len(part) != 1)}"
        for name, part in zip(names, (space.states, space.inputs, space.outputs), strict=True)
    )
    stable = "unstable" if np.any(poles.real > 1e-6 * np.max(np.abs(poles), initial=0.0)) else "no unstable pole"
    note = f"{counts}; {stable}" + (f"; {rigid} poles at zero, of rigid motions" if rigid else "")
    return Frequency(
        frequencies, responses(space, frequencies), space.outputs, space.inputs,
        poles=poles, gains=gains, hankel=_hankel(space, poles), note=note,
    )  # fmt: skip


def responses(space: StateSpace, frequencies: Floats) -> Complexes:
    """(f, p, m) the transfer matrices, by a triangular form of A: for many frequencies of many states."""
    from scipy.linalg import schur, solve_triangular

    triangular, unitary = schur(space.A.astype(np.complex128), output="complex")
    left, right = space.C @ unitary, unitary.conj().T @ space.B
    unit = np.eye(len(triangular))
    found = [
        space.D + left @ solve_triangular(2j * np.pi * f * unit - triangular, right, check_finite=False)
        for f in frequencies
    ]
    return np.asarray(found, dtype=np.complex128).reshape(len(frequencies), *space.D.shape)


def _hankel(space: StateSpace, poles: Complexes) -> Floats | None:
    """(n,) Hankel singular values; None of a model that is large, or whose motion does not decay."""
    size = float(np.max(np.abs(poles), initial=0.0))
    if not 0 < len(poles) <= HANKEL or np.any(poles.real > -STABLE * size) or not len(space.outputs):
        return None
    from scipy.linalg import solve_continuous_lyapunov

    reached = solve_continuous_lyapunov(space.A, -space.B @ space.B.T)
    seen = solve_continuous_lyapunov(space.A.T, -space.C.T @ space.C)
    squares = np.sort(np.abs(np.linalg.eigvals(reached @ seen)))[::-1]
    return np.asarray(np.sqrt(squares))


def _shake(results: Results) -> Frequency:
    arrays = {path.removeprefix("shake/"): array for path, array in results.arrays.items()}
    outputs = [str(name) for name in arrays["outputs"]]
    units = [unit_of(name) for name in outputs]
    columns = {}
    for word in ("peak", "peak_frequency", "rms", "miles"):
        if word in arrays:
            values = np.asarray(arrays[word], dtype=float)
            sizes = [
                max(abs(x) for x, u in zip(np.nan_to_num(values), units, strict=True) if u == unit) for unit in units
            ]
            columns[word] = values if word == "peak_frequency" else without_rounding(values, sizes)
    rows = [
        {"output": name, "unit": unit if unit in UNITS.values() else ""}
        | {word: float(values[k]) if np.isfinite(values[k]) else None for word, values in columns.items()}
        for k, (name, unit) in enumerate(zip(outputs, units, strict=True))
    ]
    for row in rows:
        if not row["peak"] and "miles" in row:
            row["miles"] = None
    random = "density" in arrays
    return Frequency(
        np.asarray(arrays["frequencies"], dtype=float),
        (arrays["real"] + 1j * arrays["imaginary"])[:, :, None],
        outputs,
        [str(name) for name in arrays["inputs"]],
        densities=np.asarray(arrays["output_density"], dtype=float) if random else None,
        shaken=rows,
        note="random shake of the base" if random else "sine on the base, of unit acceleration",
    )
