"""Derivatives of equilibria and of critical loads by a parameter p, from the static equations R(q, p, P) = 0.

    A S = -R_p,    y' = y_p + y_q S,    g' = g_y y'                        a number g of an equilibrium, A = R_q
    P' = -x.(A_p + A_q[S_p]) x / x.(A_P + A_q[S_P]) x                      a bifurcation, with A x = 0
    P' = -x.R_p / x.R_P                                                    a limit point

y are the arrays of results that g is read from. x has the motion of a mode and its reactions. The partial derivatives
are those at the same displacements from the start: what moves the start moves the state. There nothing is in balance,
and the largest y may be another one: g is taken of their sum. Displacements count from the first state, whose part is
added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from femb.base.arrays import Arrays, Frozen, joined
from femb.base.errors import ModelError, SolveError
from femb.base.options import Output
from femb.base.types import Complexes, Floats, Ints
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.terms import same_arguments
from femb.model.model import Model
from femb.numerics import rotations
from femb.recording.record import Recorder
from femb.recording.recording import Recording
from femb.results.names import named
from femb.results.results import Results
from femb.run.static import StaticResults, path_of, static_frame
from femb.statics.equations import OF_STRAINS
from femb.statics.path import Equilibrium
from femb.statics.solve import Statics
from femb.system.block_lu import SingularError
from femb.system.system import System
from femb.vibration.completion import system_of

# Largest displacement, by the size of the model, or rotation of the differences along a motion.
STEP = 1e-4
# Largest change of a strain along it.
STRAIN = 1e-2
# Blocks of unknowns of which an output of one node is; sums over elements beside the equations, relative to these.
MOST, SUMMED = 64, 1e-9
# Results of states of a model that are kept, and their coordinates in all.
KEPT, COORDINATES = 64, 1_000_000
# Of the terms of x.R_P: less is a bifurcation.
LIMIT = 1e-6
# Change of a quantity for the derivative of a number of it, and of arrays whose differences it may be, by their sizes.
SMALL, ROUNDED = 1e-6, 1e-7
Number: TypeAlias = Callable[[Results], float]
Read: TypeAlias = "tuple[Callable[[StaticSide], Complexes], Callable[[Complexes], float]]"
"""What is read from a model, (n,), and the derivative by its changes (n,)."""


@dataclass(frozen=True, eq=False)
class StaticSide:
    """The static equations of a model."""

    system: System
    statics: Statics
    _known: dict[tuple[bytes, ...], Results] = field(default_factory=dict)
    _recorders: dict[tuple[str, ...], tuple[Recorder, Arrays]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model, assemble: bool) -> "StaticSide":
        """The equations of a model under all loads, as in ``static``."""
        system = system_of(model, assemble)
        return cls(system, path_of(system).statics)

    def results(self, *states: Equilibrium) -> Results:
        """The results of some states, which many outputs ask for."""
        key = tuple(part.tobytes() for state in states for part in (state.found.q, state.found.multipliers))
        if key not in self._known:
            with Recording(self.system, "static", None, "") as recording:
                for k, state in enumerate(states):
                    recording.add(*static_frame(self.statics, self.system, k, state))
            if len(self._known) >= min(KEPT, 1 + COORDINATES // self.system.n_q):
                del self._known[next(iter(self._known))]
            self._known[key] = recording.results()
        return self._known[key]

    def selected(self, states: Sequence[Equilibrium], paths: tuple[str, ...]) -> Results:
        """The results of some states with these paths alone, for states that one output asks for."""
        if paths not in self._recorders:
            try:
                recorder = Recorder(self.system, Output(select=paths))
            except ModelError:
                recorder = Recorder(self.system)  # of what cannot be selected, as the ground
            self._recorders[paths] = recorder, recorder.static()
        recorder, static = self._recorders[paths]
        blocks = list[Arrays]()
        for k, state in enumerate(states):
            frames, more, system, _ = static_frame(self.statics, self.system, k, state)
            blocks.append(recorder.without_audit(frames, system=system) | more)
        return Results(joined(blocks), static, {})


class Noting(Frozen):
    """Arrays with the paths of those that were read."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        self.noted: dict[str, None] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        array = super().__getitem__(name)
        self.noted[name] = None
        return array


class Reading:
    """A number of a quantity ``of`` this name in results, and the arrays y (m,) of these that it is read from."""

    def __init__(self, results: Results, of: str, number: Number) -> None:
        parts = Noting(results.series), Noting(results.static)
        self._results, self._of, self._number = results, of, number
        self.value = number(Results(*parts, results.attributes))
        self._paths = [
            [path for path in part.noted if path != "time" and part[path].dtype.kind == "f"] for part in parts
        ]
        self.nominal = self.of(results)

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the arrays."""
        return tuple(path for paths in self._paths for path in paths)

    def of(self, results: Results) -> Floats:
        """y (m,) of other results."""
        parts = zip((results.series, results.static), self._paths, strict=True)
        return np.concatenate([np.zeros(0), *(part[path].ravel() for part, paths in parts for path in paths)])

    def of_first(self) -> bool:
        """Whether the number depends on the first state."""
        series, change = self._results.series, np.zeros(len(self.nominal))
        first = 0
        for path in self._paths[0]:
            count = series[path][0].size
            change[first : first + count] = 1.0 + np.arange(count) % 7
            first += series[path].size
        return self._number(self._moved(change)) != self.value

    def _moved(self, change: Floats) -> Results:
        """The results with y + change."""
        parts, first = (dict(self._results.series), dict(self._results.static)), 0
        for part, paths in zip(parts, self._paths, strict=True):
            for path in paths:
                array = part[path]
                part[path] = array + change[first : first + array.size].reshape(array.shape)
                first += array.size
        return Results(*parts, self._results.attributes)

    def slope(self, change: Floats) -> float:
        """The derivative of the number along changes (m,) of y."""
        if not np.any(change):
            return 0.0
        ratios, first = list[float](), 0
        for path in (path for paths in self._paths for path in paths):
            array = self._results.arrays[path]
            own, first = change[first : first + array.size], first + array.size
            if np.any(own) and np.any(array):
                ratios.append(float(np.nanmax(np.abs(array)) / np.nanmax(np.abs(own))))
        # a part of the arrays that change least; others, which may be rounding, change the quantity by more than that
        h, nominal = SMALL * max(ratios, default=1.0), named(self._results, self._of).values[-1]
        size = float(np.nanmax(np.abs(nominal), initial=0.0))
        for _ in range(3):
            moved = named(self._moved(h * change), self._of).values[-1]
            excess = float(np.nanmax(np.abs(moved - nominal), initial=0.0)) / (SMALL * size or np.inf)
            if excess <= 2.0:
                break
            h = max(h / excess, min(h, ROUNDED * min(ratios, default=0.0)))
        above, below = (self._number(self._moved(sign * h * change)) for sign in (1.0, -1.0))
        return (above - below) / (2.0 * h)


@dataclass(frozen=True, eq=False)
class StaticForm:
    """An equilibrium of the nominal model, from which those beside it are read."""

    side: StaticSide
    state: Equilibrium

    def at(self, side: StaticSide) -> Equilibrium:
        """The state with the same displacements from the start of another model, not in equilibrium there.

        Raises ModelError: one of other unknowns.
        """
        twin, other = self.side.statics.twin, side.statics.twin
        if (twin.n_q, twin.n_v, twin.n_c) != (other.n_q, other.n_v, other.n_c):
            raise ModelError("statics: the numbers of unknowns differ beside the value")
        q = _moved(twin.layout, self.state.found.q, twin.q0, other.q0)
        return replace(self.state, found=replace(self.state.found, q=q))

    def along(self, motion: Floats, part: float) -> Equilibrium:
        """The state moved along changes (n_v + n_c,) of the coordinates and multipliers."""
        found, twin = self.state.found, self.side.statics.twin
        q = twin.retract(found.q, part * motion[: twin.n_v])
        multipliers = found.multipliers + part * motion[twin.n_v :]
        return replace(self.state, found=replace(found, q=q, multipliers=multipliers))

    def slope(self, numbers: Callable[[Equilibrium], Floats], motion: Floats) -> Floats:
        """The derivatives of numbers (m,) of states along a motion."""
        # where no node moves, as of what is heated between walls, strains that are rounding bound the step
        weights = self.side.statics.weights
        scales = np.where(weights > OF_STRAINS, np.sqrt(weights), STEP / STRAIN)
        size = float(np.max(scales * np.abs(motion[: len(scales)]), initial=0.0))
        # numbers are linear in multipliers
        h = STEP / size if size else 1.0
        coarse, fine = (
            (numbers(self.along(motion, r)) - numbers(self.along(motion, -r))) / (2.0 * r) for r in (h, 0.5 * h)
        )
        return np.asarray((4.0 * fine - coarse) / 3.0)

    def residual(self, side: StaticSide) -> Floats:
        """(n_v + n_c,) of the static equations of another model."""
        found = self.at(side).found
        return side.statics.unbalanced(found.q, found.multipliers, found.load).equations

    def solved(self, right: Floats, border: Floats | None = None) -> Floats:
        """A x = right (n_v + n_c,); border (n_v,) : a motion without stiffness, along which x has no part.

        Raises SolveError: a singular A.
        """
        stiffness, jacobian = self._matrices
        if border is None:
            return self._solved(right)
        from scipy.sparse import block_array, csc_array
        from scipy.sparse.linalg import splu

        A = self.side.statics.twin.pattern.to_csc(stiffness + jacobian)
        column = csc_array(np.append(border, np.zeros(A.shape[0] - len(border)))[:, None])
        A, right = csc_array(block_array([[A, column], [column.T, None]])), np.append(right, 0.0)
        factors = splu(A)
        x = factors.solve(right)
        return np.asarray((x + factors.solve(right - A @ x))[:-1])

    @cached_property
    def _matrices(self) -> tuple[Floats, Floats]:
        """The stiffness, and J with J^T: block data, of which A is the sum."""
        statics, found = self.side.statics, self.state.found
        system, state = statics.under(found.load), statics.state(found.q, found.load)
        return statics.matrices(state, found.q, found.multipliers, system=system)

    @cached_property
    def _solved(self) -> Callable[[Floats], Floats]:
        return self._solver(self._matrices[0])

    def _solver(self, stiffness: Floats) -> Callable[[Floats], Floats]:
        """The solution with a stiffness and the rows of constraints, by factors that are kept, improved once."""
        statics, found, jacobian = self.side.statics, self.state.found, self._matrices[1]
        twin, matrix, weight = statics.twin, stiffness + jacobian, np.zeros(0)
        regular = matrix.copy()
        if twin.n_c:
            # bodies that only joints hold have no stiffness of their own
            weight = statics.scales(stiffness, jacobian)[1]
            regular += statics.products(statics.state(found.q, found.load)[0], found.q, weight)
        try:
            factors = twin.solver.factorise(regular)
        except SingularError as error:
            raise SolveError("statics: the tangent of the equilibrium is singular, as at a critical load") from error

        def once(right: Floats) -> Floats:
            x: Floats = factors.solve(right.copy())
            x[twin.n_v :] += weight * right[twin.n_v :]
            return x

        def solved(right: Floats) -> Floats:
            x = once(right)
            return x + once(right - twin.solver.multiply(matrix, x))

        return solved

    def weights(self, numbers: Callable[[Equilibrium], Floats], slope: Callable[[Floats], float]) -> Floats:
        """w (n_v + n_c,) of A^T w = g_q of a number that few blocks of unknowns change. Raises ModelError: many do.

        numbers : y (m,) of states, of whose changes the number has this slope.
        """
        starts, nominal = self.side.statics.twin.pattern.block_start, numbers(self.state)
        arbitrary, gradient = np.random.default_rng(0).standard_normal(int(starts[-1])), np.zeros(int(starts[-1]))
        waiting, found = [(0, len(starts) - 1)], list[int]()
        while waiting:
            first, last = waiting.pop()
            motion, part = np.zeros_like(gradient), slice(starts[first], starts[last])
            motion[part] = arbitrary[part]
            if first == last or slope(numbers(self.along(motion, STEP)) - nominal) == 0.0:
                continue
            if last == first + 1:
                found.append(first)
                if len(found) > MOST:
                    raise ModelError("statics: an output of the motion of many nodes")
                continue
            middle = (first + last) // 2
            waiting += [(first, middle), (middle, last)]
        for i in (i for k in found for i in range(starts[k], starts[k + 1])):
            unit = np.zeros_like(gradient)
            unit[i] = 1.0
            gradient[i] = slope(self.slope(numbers, unit))
        return self._solver(self._matrices[0][self.side.statics.twin.pattern.transposed])(gradient)

    def differing(self, side: StaticSide) -> list[int]:
        """The numbers of the batches that differ in another model. Raises ModelError: more than elements differs."""
        pairs = list(zip(self._batches(self.side), self._batches(side), strict=False))
        changed = [k for k, pair in enumerate(pairs) if not same_arguments(*map(_terms, pair))]
        rows = [self.element_forces(each, changed) for each in (self.side, side)]
        whole = self.residual(side) - self.residual(self.side)
        sums = np.zeros(len(whole))
        for sign, each in zip((-1.0, 1.0), rows, strict=True):
            for places, forces in each:
                np.add.at(sums, places[places >= 0], sign * forces[places >= 0])
        if np.max(np.abs(sums - whole), initial=0.0) > SUMMED * np.max(np.abs(whole), initial=0.0):
            raise ModelError("statics: more than elements differs beside the value")
        return changed

    def element_forces(self, side: StaticSide, numbers: Sequence[int]) -> list[tuple[Ints, Floats]]:
        """Places (e, g) and residuals (e, g) of the elements of batches of a model. Raises ModelError: these do not
        tell them apart."""
        found = self.state.found
        u, v, a = self.side.statics.state(found.q, found.load)
        evaluation, batches = side.statics.twin.evaluation, self._batches(side)
        rows = evaluation.of(batches[k] for k in numbers).element_forces(u, found.q, v, a)
        if rows is None:
            raise ModelError("statics: elements are not told apart")
        return rows

    def _batches(self, side: StaticSide) -> Sequence[Batch]:
        return side.statics.under(self.state.found.load).batches


def _terms(batch: Batch) -> list[object]:
    """The kernels of the forces of a batch, with the arrays that they keep."""
    return [(each.kernel, each.kept) for each in batch.forces()]


class StaticNumber:
    """The derivatives of a number of a quantity of results: of the last state, beside the first where it counts from
    that. Raises ModelError: motions that nothing resists."""

    def __init__(self, results: StaticResults, side: StaticSide, of: str, number: Number) -> None:
        self.states, self.side = [results.first, results.last], side
        self.reading = Reading(side.results(*self.states), of, number)
        if not self.reading.of_first():
            del self.states[0]
            self.reading = Reading(side.results(*self.states), of, number)
        if any(state.neutral is not None and state.neutral.count for state in self.states):
            raise ModelError("statics: motions without stiffness")
        self.forms = [StaticForm(side, state) for state in self.states]
        self._weights, self._changed = dict[int, Floats](), list[int]()

    def numbers(self, side: StaticSide) -> Complexes:
        """Residuals and y of a model, at the same displacements."""
        residuals = [form.residual(side) for form in self.forms]
        return np.concatenate([*residuals, self._beside(side)]).astype(complex)

    def derivative(self, change: Complexes) -> float:
        """The derivative of the number by these."""
        found, first = change.real, 0
        whole = found[len(self.forms) * self._size :].copy()
        for form in self.forms:
            residual, first = found[first : first + self._size], first + self._size
            if np.any(residual):
                whole += form.slope(self._with(form), form.solved(-residual))
        return self.reading.slope(whole)

    def elements(self, side: StaticSide) -> list[Complexes]:
        """(e, 2): what the elements of a model add to the number, by the weights of their equations, which are found on
        first use, and numbers that tell them apart. Raises ModelError: the number, or more, changes by itself."""
        if side is not self.side:
            self._changed[:] = self.forms[-1].differing(side)
            states = [form.at(side) for form in self.forms]
            change = self.reading.slope(
                self.reading.of(side.selected(states, self.reading.paths)) - self.reading.nominal
            )
            if abs(change) > SUMMED * abs(self.reading.value):
                raise ModelError("statics: the number changes beside the value")
        arbitrary = np.random.default_rng(0).uniform(0.5, 1.0, self._size)
        found = list[Complexes]()
        for rows in zip(*(form.element_forces(side, self._changed) for form in self.forms), strict=True):
            # marks of squares, whose changes do not cancel
            places, forces = rows[-1]
            parts = np.zeros((len(places), 2), dtype=complex)
            parts[:, 1] = np.sum(np.where(places >= 0, arbitrary[places], 0.0) * forces**2, axis=1)
            for k, (places, forces) in enumerate(rows):
                if np.any(forces):  # a start without strains needs no weights
                    parts[:, 0] += np.sum(np.where(places >= 0, self._weights_of(k)[places], 0.0) * forces, axis=1)
            found.append(parts)
        return found

    def _weights_of(self, k: int) -> Floats:
        if k not in self._weights:
            form = self.forms[k]
            self._weights[k] = -form.weights(self._with(form, alone=True), self.reading.slope)
        return self._weights[k]

    @property
    def _size(self) -> int:
        return self.side.statics.twin.n_v + self.side.statics.twin.n_c

    def _beside(self, side: StaticSide) -> Floats:
        return self.reading.of(side.results(*(form.at(side) for form in self.forms)))

    def _with(self, form: StaticForm, alone: bool = False) -> Callable[[Equilibrium], Floats]:
        """y (m,) with another state in place of that of a form; alone : of states that no other output asks for."""

        def found(state: Equilibrium) -> Floats:
            states = [state if each is form.state else each for each in self.states]
            results = self.side.selected(states, self.reading.paths) if alone else self.side.results(*states)
            return self.reading.of(results)

        return found


def of_critical(form: StaticForm, mode: Floats) -> Read:
    """The derivative of a critical load factor, of the state there and its mode (n_v,)."""
    statics, found = form.side.statics, form.state.found

    def matrix(of: Statics, state: Equilibrium) -> Floats:
        at = state.found
        stiffness, jacobian = of.matrices(of.state(at.q, at.load), at.q, at.multipliers, system=of.under(at.load))
        return np.asarray(stiffness + jacobian)

    x = mode / np.linalg.norm(mode)
    x = np.append(x, _reactions(statics.twin, matrix(statics, form.state), x))

    def stiffness(of: Statics, state: Equilibrium) -> float:
        return float(x @ of.twin.solver.multiply(matrix(of, state), x))

    def numbers(side: StaticSide) -> Complexes:
        return np.append(form.residual(side), stiffness(side.statics, form.at(side))).astype(complex)

    by_load = statics.by_load(found.q, found.load)
    along, rounding = float(x @ by_load), np.finfo(float).eps * float(np.linalg.norm(x) * np.linalg.norm(by_load))
    if abs(along) > LIMIT * float(np.abs(x) @ np.abs(by_load)) + rounding:
        return numbers, lambda change: -float(x @ change.real[:-1]) / along

    def whole(by: Floats, own: float) -> float:
        motion = form.solved(-by, x[: statics.twin.n_v])
        return own + float(form.slope(lambda state: np.array(stiffness(statics, state)), motion))

    h = STEP * found.load
    states = [replace(form.state, found=replace(found, load=found.load + sign * h)) for sign in (1.0, -1.0)]
    pair = [stiffness(statics, state) for state in states]
    below = whole(by_load, (pair[0] - pair[1]) / (2.0 * h))
    return numbers, lambda change: -whole(change.real[:-1], float(change[-1].real)) / below


def _reactions(twin: System, matrix: Floats, x: Floats) -> Floats:
    """m (n_c,) of K x + J^T m = 0 for a mode x (n_v,), of block data of K and J."""
    from scipy.sparse.linalg import lsqr

    A, n = twin.pattern.to_csc(matrix), twin.n_v
    return np.asarray(lsqr(A[:n, n:], -(A[:n, :n] @ x), atol=1e-15, btol=1e-15)[0]) if twin.n_c else np.zeros(0)


def _moved(layout: Layout, q: Floats, before: Floats, after: Floats) -> Floats:
    """q (n_q,) with the displacements that it has from one start before from another one after."""
    out = q.copy()
    out[layout.internal_q] += after[layout.internal_q] - before[layout.internal_q]
    for frame, i in zip(layout.frames, layout.frame_q, strict=True):
        out[i : i + 3] += after[i : i + 3] - before[i : i + 3]
        if frame.freedom == 6 and np.any(after[i + 3 : i + 7] != before[i + 3 : i + 7]):
            back = before[i + 3 : i + 7] * np.array([1.0, -1.0, -1.0, -1.0])
            turn = rotations.multiply(back, after[i + 3 : i + 7])
            out[i + 3 : i + 7] = rotations.multiply(q[i + 3 : i + 7], turn)
    return out
