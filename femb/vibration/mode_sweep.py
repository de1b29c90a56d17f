"""Frequencies over a parameter - spin rate, joint angle, temperature, tip mass - each curve of one and the same mode.

Modes are matched from value to value by the modal assurance criterion (``femb.vibration.mode_sweep``).
Source: docs/theory/modes.md, equation (10).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from femb.base.errors import FembWarning, ModelError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.base.values import as_known, as_numbers, numbered, shown
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.results.array_file import write_arrays
from femb.results.sweep import DAMPING, OF_MODES, Sweep
from femb.vibration.complex_modes import Complex
from femb.vibration.mode_words import multiple, names_of_modes
from femb.vibration.solution import Solution, solution

if TYPE_CHECKING:
    from femb.system.system import System

# The modal assurance criterion: which mode of one state is which of another.
#
#     MAC_ij = |a_i^H W b_j|^2 / ((a_i^H W a_i) (b_j^H W b_j)),   W = diag(s^2 M, M) of states (phi, lambda phi)
#
# Source: docs/theory/modes.md, equation (10).

# Of the states of a multiple eigenvalue: what is left of one beside the others.
DEPENDENT = 1e-12


def assurance(first: Solution, second: Solution) -> NDArray[np.float64]:
    """The modal assurance criterion (k, m) between the modes of two states of one model, weighted by the first's."""
    weight = _Weight(first)
    a, b = weight.states(first), weight.states(second)
    sizes = [np.abs(np.sum(x.conj() * weight.times(x), axis=0)) for x in (a, b)]
    return np.asarray(np.abs(a.conj().T @ weight.times(b)) ** 2 / np.outer(*sizes))


def nearer(before: Solution, after: Solution) -> tuple[Solution, NDArray[np.float64]]:
    """The modes after, each or its conjugate by which is nearer to a mode before, and the criterion (k, m).

    In axes that turn, a whirl whose frequency falls through zero goes on as its conjugate.
    """
    mirrored = replace(after, eigenvalues=after.eigenvalues.conj(), shapes=after.shapes.conj())
    same, other = assurance(before, after), assurance(before, mirrored)
    turned = np.max(other, axis=0) > np.max(same, axis=0)
    chosen = replace(
        after,
        eigenvalues=np.where(turned, mirrored.eigenvalues, after.eigenvalues),
        shapes=np.where(turned, mirrored.shapes, after.shapes),
    )
    return chosen, np.where(turned, other, same)


def aligned(reference: Solution, modes: Solution) -> Solution:
    """The modes, those of a multiple eigenvalue in the basis that is nearest to modes of the reference."""
    weight = _Weight(reference)
    shapes = modes.shapes.copy()
    for group in multiple(modes.eigenvalues):
        # an orthonormal basis first: the eigenvalue solver's may be nearly dependent
        states = weight.states(modes.ordered(group))
        sizes, axes = np.linalg.eigh(states.conj().T @ weight.times(states))
        if sizes[0] <= DEPENDENT * sizes[-1]:
            continue  # one shape of a defective eigenvalue, as of critical damping
        basis = axes / np.sqrt(sizes)
        products = (states @ basis).conj().T @ weight.times(weight.states(reference))
        nearest = np.argsort(-np.sum(np.abs(products) ** 2, axis=0))[: len(group)]
        left, _, right = np.linalg.svd(products[:, nearest], full_matrices=False)
        shapes[:, group] = shapes[:, group] @ (basis @ _completed(left @ right, len(group)))
    return replace(modes, shapes=shapes)


def _completed(basis: Complex, count: int) -> Complex:
    """Orthonormal columns (count, m) and what completes them to (count, count)."""
    if basis.shape[1] == count:
        return basis
    whole, _ = np.linalg.qr(np.hstack([basis, np.eye(count)]))
    return np.hstack([basis, whole[:, basis.shape[1] : count]])


class _Weight:
    """W = diag(s^2 M, M) of the states (phi, lambda phi) of a solution, s the median of its |lambda|.

    It is positive in every state, also where centrifugal forces make the stiffness negative.
    """

    def __init__(self, of: Solution) -> None:
        self.motion, self.scale = of.motion, float(np.median(np.abs(of.eigenvalues))) or 1.0

    def states(self, of: Solution) -> Complex:
        """(2 n_v, k): s phi and lambda phi."""
        return np.vstack([self.scale * of.shapes, of.shapes * of.eigenvalues])

    def times(self, states: Complex) -> Complex:
        """diag(M, M) x (2 n_v, k)."""
        return np.vstack([self._times(part) for part in np.split(states, 2)])

    def _times(self, x: Complex) -> Complex:
        columns = [
            self.motion.times(self.motion.mass, np.ascontiguousarray(column.real))
            + 1j * self.motion.times(self.motion.mass, np.ascontiguousarray(column.imag))
            for column in x.T
        ]
        return np.array(columns).T


# Below this value of the criterion a match is doubtful, and the step of the parameter is halved, so many times.
DOUBTFUL, HALVINGS = 0.7, 6
# Damping ratios up to this are rounding.
UNDAMPED = 1e-9
# Modes computed beyond those that are followed, so that none leaves the set at a crossing.
SPARE = 4
# Parts of a speed: to which a critical one is found, and by how much it may miss the revolutions.
CLOSE, JUMP = 1e-9, 1e-6
# Modes that are followed where none are asked for.
DEFAULT = 6


@dataclass(frozen=True)
class CriticalSpeed:
    """A speed (rad/s) at which the mode ``number``, from 1, has the frequency of the revolutions; its label."""

    speed: float
    number: int
    label: str

    def text(self) -> str:
        """Such as "91.79 rad/s (876.6 rpm): mode 1, forward 1"."""
        return f"{self.speed:.5g} rad/s ({self.speed * 30.0 / np.pi:.5g} rpm): mode {self.number}, {self.label}"


@dataclass(frozen=True, eq=False)
class ModeSweep(Tabled):
    """Modes followed over the values (v,) of a parameter, in its unit.

    frequencies (v, k) Hz, damping (v, k) ratios : of k modes.
    assurance (v, k) : the criterion by which each was matched with the value before; 1 at the first.
    labels (k,) : the item that moves most in each mode at the first value, of what turns at the last, and what it does:
    "flap 1" of blades, "forward 1" of a whirl. from_ground (v, k) Hz : frequencies from the ground of what turns, NaN
    where there are several. critical : speeds at which one of these is once per revolution.
    parameter : its name. unit : of its values, "" where it is not known, rad/s where they are the rates of rotation:
    the figure is then a Campbell diagram.
    precision (v, k) : up to what part frequencies are known, as in ``femb.modes``; tables show no more digits.
    title : of the model, for figures.
    """

    parameter: str
    values: Floats
    frequencies: Floats
    damping: Floats
    assurance: Floats
    labels: tuple[str, ...]
    precision: Floats
    unit: str = ""
    from_ground: Floats | None = None
    critical: tuple[CriticalSpeed, ...] = ()
    title: str = ""

    def sweep(self) -> Sweep:
        """The table with a row for each value, for results files, figures and reports."""
        names = [f"mode {k + 1}, {label}" for k, label in enumerate(self.labels)]
        outputs = dict(zip(names, self.frequencies.T, strict=True))
        if np.any(np.abs(self.damping) > UNDAMPED):
            outputs |= {f"{DAMPING}{k + 1}": column for k, column in enumerate(self.damping.T)}
        units = {self.parameter: self.unit} | dict.fromkeys(names, "Hz")
        count = len(self.values)
        return Sweep(
            {self.parameter: self.values.tolist()}, outputs, np.zeros(count, dtype=bool), [""] * count, units,
            ": ".join(filter(None, (self.title, f"modes over {self.parameter}"))), OF_MODES, count,
        )  # fmt: skip

    def table(self) -> str:
        """A line for each value, with the frequencies in Hz."""
        width = max(12, len(self.parameter) + 2)
        numbers = range(self.frequencies.shape[1])
        lines = [
            f"frequencies in Hz of {numbered(len(numbers), 'mode')} over {self.parameter}"
            + (f" in {self.unit}" if self.unit else ""),
            f"{self.parameter:>{width}}" + "".join(f"{f'mode {k + 1}':>12}" for k in numbers),
        ]
        for value, row, precision in zip(self.values, self.frequencies, self.precision, strict=True):
            lines.append(f"{value:{width}.6g}" + "".join(f"{text:>12}" for text in as_known(row, precision)))
        lines += [f"mode {k + 1}: {label}" for k, label in enumerate(self.labels)]
        if self.unit == "rad/s" and self.from_ground is not None:
            found = [each.text() for each in self.critical]
            lines += ["", "critical speeds, of one vibration per revolution from the ground", *(found or ["none here"])]
        return "\n".join(lines)

    def write(self, path: str | Path) -> Path:
        """Write a .npz with the fields by their names, or a results file, .h5, for figures and reports; its path.

        Raises ResultError.
        """
        if Path(path).suffix == ".h5":
            return self.sweep().write(path)
        words = ("values", "frequencies", "damping", "assurance", "labels", "precision")
        texts = {"parameter": (self.parameter,), "unit": (self.unit,)}
        arrays = {word: getattr(self, word) for word in words} | texts
        if self.from_ground is not None:
            arrays |= {"from_ground": self.from_ground, "critical": np.array([each.speed for each in self.critical])}
        return write_arrays(path, arrays)

    def draw(self, path: str | Path) -> Path:
        """Draw the frequencies over the parameter to the picture file ``path``; over a rate, a Campbell diagram."""
        from femb.pictures.drawing import save
        from femb.pictures.frequency import draw_campbell

        return save(draw_campbell(self.sweep().results()), Path(path))


@one_blas_thread()
def mode_sweep(
    build: "Callable[[float], Model | System]",
    values: Sequence[float],
    count: int | None = None,
    *,
    parameter: str = "value",
    unit: str = "",
    held: str | None = None,
    start: str = "as_given",
    damped: bool = False,
) -> ModeSweep:
    """The ``count`` lowest modes at the first value, followed over the others.

    Where a match is doubtful, modes at values between are computed too; they are not among the results.

    Parameters:
        build: the model as a function of the parameter, in its unit.
        values: (v,) values, as with a rate in rad/s, in the order in which the modes are followed.
        count: number of modes, by default 6, or all of fewer.
        parameter: its name, for tables and pictures.
        unit: of the parameter, for tables and pictures.
        held: as in ``femb.modes``.
        start: as in ``femb.modes``.
        damped: as in ``femb.modes``.

    Raises:
        ModelError: as ``femb.modes``, and a mode that cannot be followed.
    """
    if not callable(build):
        raise ModelError(f"mode sweep: build: got {shown(build)}, wanted a function of a value that makes a model")
    numbers = as_numbers(values)
    values = [] if numbers is None else np.atleast_1d(numbers).tolist()
    if len(values) < 2 or not np.all(np.isfinite(values)):
        raise ModelError(f"mode sweep: values: got {values}, wanted at least two numbers")

    def at(value: float, modes: int) -> Solution:
        return solution(build(value), modes, held=held, start=start, damped=damped, own_axes=True, at_most=True)

    some = (DEFAULT if count is None else count) + SPARE
    before = at(values[0], some)
    if not damped and (_rate(before) or _rate(at(values[-1], some))):
        # what rotates has damped modes: where it does not, they are damped too, so that the curves are continuous
        damped = True
        before = at(values[0], some)
    there = len(before.eigenvalues)
    if count is not None and not 1 <= count <= there:
        raise ModelError(f"mode sweep: count: got {shown(count)}, wanted a whole number from 1 to {there}")
    count = min(DEFAULT, there) if count is None else count
    # a multiple eigenvalue is followed as a whole, as the two equal bendings of a shaft before it turns
    whole = max([count, *(max(group) + 1 for group in multiple(before.eigenvalues) if min(group) < count)])
    chosen = before.first(whole)
    rows, states = [np.ones(count)], [chosen]
    equal = multiple(chosen.eigenvalues)
    for value, following in pairwise(values):
        chosen, assurance = _followed(at, chosen, value, following, whole, HALVINGS)
        order = np.arange(whole)
        for group in equal:
            # modes that have been equal from the first value on have no order of their own
            order[np.sort(group)] = group[np.argsort(np.abs(chosen.eigenvalues[group]), kind="stable")]
        chosen, assurance = chosen.ordered(order), assurance[order]
        equal = [group for group in multiple(chosen.eigenvalues) if any(set(group) <= set(wide) for wide in equal)]
        rows.append(assurance[:count])
        states.append(chosen)
    eigenvalues = np.array([each.eigenvalues[:count] for each in states])
    size = np.abs(eigenvalues)
    rates = [_rate(each) for each in states]
    of_speed = bool(np.allclose(rates, np.abs(values), rtol=1e-9, atol=1e-9)) and bool(np.any(rates))
    seen, labels = _from_ground(states, count)
    return ModeSweep(
        parameter,
        np.array(values),
        size / (2.0 * np.pi),
        0.0 - eigenvalues.real / np.maximum(size, np.finfo(float).tiny),
        np.array(rows),
        labels,
        np.array([each.precision[:count] for each in states]),
        unit or ("rad/s" if of_speed else ""),
        seen,
        _critical(at, values, states, seen, labels) if seen is not None and of_speed else (),
        states[0].motion.system.model.title,
    )


def _from_ground(states: Sequence[Solution], count: int) -> tuple[Floats | None, tuple[str, ...]]:
    """(v, k) frequencies (Hz) from the ground of what turns at some value, else None; and labels (k,)."""
    first, last = states[0].first(count), states[-1].first(count)
    plain = names_of_modes(first.motion, first.inertial, first.labels, None, first.eigenvalues)
    if not any(each.whirl is not None for each in states):
        return None, tuple(plain)
    seen = np.array([_seen(state)[:count] for state in states])
    return seen, tuple(names_of_modes(last.motion, last.inertial, last.labels, last.whirl, last.eigenvalues))


def _seen(state: Solution) -> Floats:
    """(k,) frequencies from the ground, Hz."""
    whirl = state.whirl
    return np.abs(state.eigenvalues.imag) / (2.0 * np.pi) if whirl is None else whirl.frequencies


def _critical(
    at: Callable[[float, int], Solution],
    values: Sequence[float],
    states: Sequence[Solution],
    seen: Floats,
    labels: tuple[str, ...],
) -> tuple[CriticalSpeed, ...]:
    """Where frequencies from the ground, of modes that move across the axis, are those of the revolutions: of rotors at
    rest by modes there, followed from the nearest value; in axes that turn, where such a mode has no frequency, by
    curves through the values."""
    from scipy.interpolate import PchipInterpolator
    from scipy.optimize import brentq

    order = np.argsort(np.abs(values), kind="stable")
    speeds, known, found = np.abs(values)[order], dict(zip(values, states, strict=True)), list[CriticalSpeed]()

    def excess(speed: float, k: int, sign: float) -> float:
        value = float(np.copysign(speed, sign))
        if value not in known:
            # modes that are equal have no order that others could be followed from
            equal = {each: any(k in group for group in multiple(known[each].eigenvalues)) for each in known}
            near = min(known, key=lambda each: (equal[each], abs(each - value)))
            known[value] = _followed(at, known[near], near, value, len(known[near].eigenvalues), HALVINGS)[0]
        return 2.0 * np.pi * float(_seen(known[value])[k]) - speed

    for k in range(seen.shape[1]):
        rates = 2.0 * np.pi * seen[order, k] - speeds
        if np.any(np.isnan(rates)) or np.any(np.diff(speeds) <= 0.0):
            continue
        if not any(state.whirl is not None and state.whirl.senses[k] for state in states):
            continue  # along or about the axis, where no unbalance acts
        for i in np.flatnonzero((rates[:-1] > 0.0) & (rates[1:] <= 0.0)):
            whirl, low, high = states[order[i]].whirl, speeds[i], speeds[i + 1]
            if whirl is not None and whirl.turning:
                speed = float(brentq(PchipInterpolator(speeds, rates), low, high))
                found.append(CriticalSpeed(speed, k + 1, labels[k]))
                continue
            words = k, values[order[i]]
            speed = float(brentq(excess, low, high, words, xtol=CLOSE * high))
            if abs(excess(speed, *words)) > JUMP * speed:
                warn(
                    f"mode sweep: mode {k + 1} is another one on either side of {speed:.6g} rad/s, where its frequency "
                    "would be that of the revolutions: critical speeds there are not known; ask for values closer by",
                    FembWarning,
                    stacklevel=4,
                )
                continue
            whirl = known[float(np.copysign(speed, words[1]))].whirl
            sense = "" if whirl is None or labels[k].startswith(whirl.senses[k]) else whirl.senses[k]
            found.append(CriticalSpeed(speed, k + 1, labels[k] + (f", {sense} there" if sense else "")))
    return tuple(sorted(found, key=lambda each: each.speed))


def _rate(modes: Solution) -> float:
    """The rate (rad/s) of the rotation that the modes are about, or of rotors at rest; of several the largest."""
    rotors = (abs(item.spin[1]) for item in modes.motion.system.model.items() if item.spin is not None)
    return max((*rotors, *(rotation.rate for rotation in modes.rotations)), default=0.0)


def matched_with(before: Solution, after: Solution) -> tuple[Solution, Floats]:
    """The modes after in the order of those before, assigned together, and the criterion of each match.

    Raises ModelError: there are fewer after.
    """
    from scipy.optimize import linear_sum_assignment

    if (found := len(after.eigenvalues)) < (wanted := len(before.eigenvalues)):
        raise ModelError(
            f"modes: got {numbered(found, 'mode')}, wanted the {wanted} that are followed: two overdamped ones may "
            "become one oscillation; ask for fewer, or for values on one side of it"
        )
    # a multiple eigenvalue, before or after, leaves its basis open
    before = aligned(after, before)
    after = aligned(before, after)
    after, criterion = nearer(before, after)
    rows, columns = linear_sum_assignment(-criterion)
    return after.ordered(columns), criterion[rows, columns]


def followed(before: Solution, after: Solution, count: int) -> tuple[Solution, Floats]:
    """``matched_with`` of the first ``count`` modes before. Raises ModelError: there are fewer."""
    if not count <= len(before.eigenvalues):
        raise ModelError(f"modes: got mode {count}, there are {len(before.eigenvalues)}")
    if len(before.motion.mass) != len(after.motion.mass) or before.shapes.shape[0] != after.shapes.shape[0]:
        raise ModelError("modes: the models have other unknowns, between which no mode can be followed")
    return matched_with(before.first(count), after)


def _followed(
    at: Callable[[float, int], Solution], before: Solution, value: float, following: float, count: int, halvings: int
) -> tuple[Solution, Floats]:
    """The modes at the next value in the order of those before, and the criterion of each match."""
    after, matched = matched_with(before, at(following, count + SPARE))
    if np.min(matched) >= DOUBTFUL:
        return after, matched
    if not halvings:
        k = int(np.argmin(matched))
        raise ModelError(
            f"mode sweep: mode {k + 1} of the first value cannot be followed from {value:.6g} to {following:.6g}: the "
            f"best match there has an assurance of {matched[k]:.3g}; ask for more modes, or for values that lie closer"
        )
    middle = 0.5 * (value + following)
    between, first = _followed(at, before, value, middle, count, halvings - 1)
    after, second = _followed(at, between, middle, following, count, halvings - 1)
    return after, np.minimum(first, second)
