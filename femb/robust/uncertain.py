"""Uncertain linear models: the plant of a case for all values of its parameters in their ranges, in exact form.

    M q'' + C q' + K q = F u + F_w w,    y and z from (q, q', q'', u, w),    w = D z,    D = diag(d_1 1, d_2 1, ...)

with d_j in [-1, 1] over the range of parameter j. Source: docs/theory/robust.md, section 1.
"""

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import FembError, FembWarning, ModelError
from femb.base.html import Tabled
from femb.base.options import StartState
from femb.base.types import Complexes, Floats, Ints
from femb.base.values import absent, numbered
from femb.case.unmodelled import Unmodelled
from femb.elements.control.linear_law import LinearLaw
from femb.linear.begin import operating_point
from femb.linear.conserved import without_conserved
from femb.linear.linearise import (
    fixed_controllers,
    held,
    known_motions,
    laws_of,
    loop,
    steady,
    with_channels,
    without_commands,
)
from femb.linear.loop import Loop
from femb.linear.modal_form import SecondOrderModel, columns_without_rounding
from femb.linear.modal_reduction import space_of
from femb.linear.sampled_motion import part_of, with_continuous
from femb.linear.state_space import FORMATS, StateSpace
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.results.array_file import write_arrays
from femb.robust.matrices import (
    by_rates,
    closed_by,
    difference_of,
    independent,
    model_of,
    sizes_of,
    stacked,
    transfer_of,
    with_names,
    without_coordinates,
)
from femb.robust.ranges import UncertainRange, check_of_plant, in_words, range_of
from femb.robust.realisation import DEGREE, ParametricForm, additive, linear, realised
from femb.robust.reduction import shapes_of
from femb.robust.unmodelled import ErrorBlock, blocks_of, with_blocks
from femb.study.sensitivity import CaseFamily, parameters_of, read_either
from femb.study.study import Build, Study, given_entries
from femb.vibration.completion import system_of

# The largest relative difference from models of the same values that a form may have.
EXACT = 1e-7
# As EXACT, of a reduced form, above which a warning says so, and above which it is refused.
REDUCED, UNLIKE = 1e-3, 0.1
# Of the stiffness, what acts on a free motion and is rounding.
SEEN = 1e-9
# Values, in units of half of the range, of a parameter that is not linear, at which modes are taken beside the middle.
TURNS = (-1.0, -0.5, 0.5, 1.0)
# Of the size of a pole, by how much it grows beyond rounding.
GROWS = 1e-5
SEED = 1


@dataclass(frozen=True, eq=False)
class Uncertain(Tabled):
    """The plant of a case for all values of its parameters in their ranges, with the laws of its controllers.

    ranges : of the parameters, by their repetitions. core : the second-order model in the middle of the ranges, with
    the inputs w before those of the plant and the outputs z before its own. plant : its state space. laws : of the
    nominal case, at all values. following : controllers whose gains would follow the inertia or a signal. moves :
    whether each set of values has an equilibrium of its own, about which it is linearised. still : loads by a profile
    of time that act at the start: they are inputs, and zero in the state that is linearised about. shapes : to which
    the models are reduced, 0 of full ones. difference : the largest relative one of transfer matrices from those of
    models that were made at ``compared`` values. words : with which models were made. title : of the model. blocks :
    unmodelled dynamics, of which plant and core know nothing.
    """

    ranges: tuple[UncertainRange, ...]
    core: SecondOrderModel
    plant: StateSpace
    laws: tuple[LinearLaw, ...]
    words: Mapping[str, Any]
    difference: float
    compared: int
    title: str = ""
    still: tuple[str, ...] = ()
    shapes: int = 0
    following: tuple[str, ...] = ()
    moves: bool = False
    blocks: tuple[ErrorBlock, ...] = ()

    @property
    def structure(self) -> tuple[int, ...]:
        """The repetitions of the parameters and of the unmodelled dynamics."""
        return (*self.sizes, *(1,) * len(self.blocks))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The repetitions of the parameters."""
        return tuple(each.repetitions for each in self.ranges)

    @property
    def nominal(self) -> dict[str, float]:
        """The nominal values by name."""
        return {each.name: each.of.value for each in self.ranges}

    @property
    def identity(self) -> list[Any]:
        """Text that tells this form of a case from others: ranges, coordinates, laws, errors, inputs and outputs."""
        laws = [
            [law.name, law.period, law.phase, law.delay, law.inputs, law.outputs,
             *(f"{x:.9g}" for word in "ABCD" for x in np.ravel(getattr(law, word)))]
            for law in self.laws
        ]  # fmt: skip
        ranges = [[each.name, each.low, each.high, each.turning, each.of.value] for each in self.ranges]
        words = [self.core.names, self.plant.inputs, self.plant.outputs, self.shapes, self.moves, self.still]
        return [ranges, laws, words, [each.words() for each in self.blocks]]

    def normal(self, values: Mapping[str, float]) -> Floats:
        """(k,) d of values by name, the others nominal. Raises ModelError: unknown names."""
        for name in values:
            if name not in self.nominal:
                raise ModelError(f"uncertain: no parameter {absent(name, self.nominal)}")
        given = self.nominal | dict(values)
        return np.array([each.normal(given[each.name]) for each in self.ranges])

    def values(self, d: Floats) -> dict[str, float]:
        """The values of the parameters by name at d (k,)."""
        return {each.name: each.value(float(x)) for each, x in zip(self.ranges, d, strict=True)}

    def response(self, omega: float) -> Complexes:
        """N(i omega): (z, y) by (w, u) at a frequency, rad/s, in the middle of the ranges."""
        return transfer_of(self.core, 1j * omega, self.words["kinematics"])

    def at(self, values: Mapping[str, float] | Floats) -> StateSpace:
        """The plant at values of parameters by name, the others nominal, or at their d (k,)."""
        d = self.normal(values) if isinstance(values, Mapping) else values
        count, n, core = sum(self.sizes), len(self.core.names), self.core
        repeated = np.repeat(d, self.sizes)
        closing = repeated[:, None] * np.linalg.inv(np.eye(count) - core.direct[:count, :count] * repeated)
        rows = np.hstack([core.acceleration, core.rate, core.position, core.direct])
        F, (Z, Y) = core.forces, np.split(rows, [count])
        whole = np.vstack([np.hstack([core.mass, core.damping, core.stiffness, -F[:, count:]]),
                           np.delete(Y, np.s_[3 * n : 3 * n + count], axis=1)])  # fmt: skip
        through = np.vstack([-F[:, :count], Y[:, 3 * n : 3 * n + count]])
        whole = whole + through @ closing @ np.delete(Z, np.s_[3 * n : 3 * n + count], axis=1)
        model = model_of(whole, core.names)
        inputs, outputs = self.plant.inputs[count:], self.plant.outputs[count:]
        return space_of(model, **with_names(self.words, count, inputs, outputs, model))

    def loop(self, values: Mapping[str, float] | Floats) -> Loop:
        """The loop of the nominal controllers at values of parameters, as in ``at``."""
        return Loop(self.at(values), self.laws)

    def without_errors(self) -> "Uncertain":
        """The model without unmodelled dynamics."""
        return replace(self, blocks=())

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels at which the loop can be opened."""
        return self.loop({}).channels if self.laws else ()

    def reduced(self, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> StateSpace:
        """The plant by w, the inputs that laws set and ``inputs``, without what is conserved."""
        count = sum(self.sizes)
        ins = [*self.plant.inputs[:count], *inputs, *(x for law in self.laws for x in law.outputs)]
        outs = [*self.plant.outputs[:count], *outputs, *(x for law in self.laws for x in law.inputs)]
        part = part_of(self.plant, [x for x in dict.fromkeys(ins) if x in self.plant.inputs],
                       [x for x in dict.fromkeys(outs) if x in self.plant.outputs])  # fmt: skip
        return without_conserved(by_rates(part, self.core, self.sizes))

    def closed(self, channel: str) -> StateSpace:
        """(z, s) by (w, e) of continuous loops, all closed: e adds to the command of a channel, and s = S e acts.

        w and z are those of parameters, then of unmodelled dynamics.

        Raises ModelError: an unknown channel, a sampled law.
        """
        if any(law.period is not None for law in self.laws):
            raise ModelError(
                "uncertain: sampled laws have no rational form: their worst cases can be found, not proved"
            )
        law = next((each for each in self.laws if channel in each.openings), None)
        if law is None:
            raise ModelError(f"loop: no channel {absent(channel, self.channels)}")
        reduced = with_blocks(self.reduced(), self.blocks, sum(self.sizes))
        opened = with_continuous(reduced, self.laws, (law, *law.openings[channel]))
        count = sum(self.structure)
        kept, rows = [*range(count), -1], [*range(count), -1]
        A, B, C, D = opened.A, opened.B[:, kept], opened.C[rows], opened.D[np.ix_(rows, kept)]
        # v = -L a is the last output, and a = v + e acts
        through = 1.0 / (1.0 - D[-1, -1])
        row, by = through * np.append(C[-1], [*D[-1, :-1], 1.0]), np.append(B[:, -1], D[:, -1])
        last = np.hstack([np.vstack([A, C]), np.vstack([B[:, :-1], D[:, :-1]]), np.zeros((len(by), 1))])
        whole = last + np.outer(by, row)
        whole[-1] = row
        n = len(A)
        names = reduced.inputs[:count]
        return StateSpace(
            whole[:n, :n], whole[:n, n:], whole[n:, :n], whole[n:, n:], opened.states, (*names, "e"), (*names, "S e"),
            title=self.title,
        )  # fmt: skip

    def table(self) -> str:
        """The ranges, their repetitions, and the difference from models of the same values."""
        lines = [self.title] if self.title else []
        lines += [*(each.words() for each in self.ranges), *(each.words() for each in self.blocks)]
        if self.still:
            lines.append(f"about the state without {', '.join(self.still)}: loads by a profile of time are inputs")
        if self.following:
            lines.append(
                f"gains by the inertia, or by a table, stay those of the nominal case: {', '.join(self.following)}"
            )
        if self.moves:
            lines.append("about the equilibrium at each set of values")
        exact = f"in {self.shapes} shapes, off by" if self.shapes else "exact but for"
        sets = numbered(self.compared, "set")
        lines.append(f"{exact} {self.difference:.1e} of the transfer matrix, at {sets} of values")
        return "\n".join(lines)

    def write(self, path: str | Path) -> Path:
        """Write a path, .npz or .mat: a, b, c, d of the plant with w and z first, block_name, block_size, block_kind,
        inputs, outputs; of the real blocks nominal, low, high, unit, tangent (of a quarter of the range where an angle
        enters by its half, else 0). Complex blocks, of any gain of at most one, come last, with their weights in the
        plant.
        """
        plant, ranges = with_blocks(self.plant, self.blocks, sum(self.sizes)), self.ranges
        arrays: dict[str, Any] = {word.lower(): getattr(plant, word) for word in "ABCD"}
        arrays["block_name"] = (*(each.name for each in ranges), *(each.name for each in self.blocks))
        arrays["block_kind"] = ("real",) * len(ranges) + ("complex",) * len(self.blocks)
        arrays["block_size"] = np.array(self.structure)
        arrays |= {word: np.array([getattr(each, word) for each in ranges]) for word in ("low", "high")}
        arrays["nominal"] = np.array([each.of.value for each in ranges])
        arrays["tangent"] = np.array([each._tangent * each.turning for each in ranges])
        arrays |= {"unit": tuple(each.of.unit for each in ranges), "inputs": plant.inputs, "outputs": plant.outputs}
        return write_arrays(path, arrays, FORMATS[:2])


class _Samples:
    """Second-order models of a case at values of its parameters, each made once.

    point : options of the operating point. fine : as of ``sizes_of``.
    """

    def __init__(
        self, family: CaseFamily, names: tuple[Sequence[str], Sequence[str]], point: dict[str, Any], fine: bool
    ) -> None:
        self.family, self.point, self.fine = family, point, fine
        self.inputs, self.outputs = names
        self.still: Ints = np.zeros(0, dtype=np.int64)
        self.shapes: Floats | None = None
        # motions without stiffness in the middle, and coordinates that tell them
        self.free: Floats | None = None
        self.leading: Ints = self.still
        # those of them whose momenta nothing changes, as of translations
        self.kept: Ints = self.still
        # rad/s, of the fastest mode that is kept
        self.band = np.inf
        self.known: dict[tuple[float, ...], Floats] = {}
        self.sizes: tuple[Floats, Floats] | None = None
        self.first: tuple[SecondOrderModel, dict[str, Any]] | None = None

    def made(
        self, ranges: Sequence[UncertainRange], d: Floats, full: bool = False
    ) -> tuple[SecondOrderModel, dict[str, Any]]:
        """The model at d (k,), reduced unless ``full``, and the other arguments of its ``space_of``.

        Raises ModelError: values by name.
        """
        values = {each.name: each.value(float(x)) for each, x in zip(ranges, d, strict=True)}
        entries: dict[str, Any] = {}
        for each in ranges:
            entries |= each.of.entries(values[each.name])
        at = in_words(ranges, d)
        try:
            point = operating_point(_plant(self.family.analyses(entries).described.model, self.point)[0], **self.point)
            equations, unsteady = steady(point)
            model, words = with_channels(point, equations, self.outputs, self.inputs, unsteady)
            if self.first is None:
                words |= known_motions(point, equations, words["kinematics"], unsteady)
                # forces of the middle alone
                words.pop("exact", None)
        except FembError as error:
            raise ModelError(f"uncertain: no model at {at}: {error}") from error
        if unsteady:
            raise ModelError(f"uncertain: at {at} the state is not steady: {unsteady}")
        if np.min(np.linalg.eigvalsh(0.5 * (model.mass + model.mass.T)), initial=1.0) <= 0.0:
            raise ModelError(f"uncertain: at {at} a mass or an inertia is not positive")
        if not np.any(words["kinematics"]):
            model, words = self._relative(
                model, words, lambda: known_motions(point, equations, words["kinematics"], "")
            )
        if self.first is None:
            self.first = model, words
        first = self.first
        if model.names != first[0].names or not np.allclose(words["kinematics"], first[1]["kinematics"]):
            raise ModelError(f"uncertain: at {at} the model has other coordinates than in the middle of the ranges")
        model, words = without_coordinates(model, first[1], self.still)
        return (model, words) if self.shapes is None or full else self._reduced(model, words)

    def _relative(
        self, model: SecondOrderModel, words: dict[str, Any], motions: Callable[[], dict[str, Any]]
    ) -> tuple[SecondOrderModel, dict[str, Any]]:
        """The model by coordinates relative to its free motions, which these turn with parameters as an angle.

        So no stiffness acts on the coordinates that the free motions have: rounding of that of beams would be as large
        as slow inertial forces. motions : known ones of this model.
        """
        if self.first is None:
            self.free = None if words["free"] is None else words["free"][0]
            if self.free is not None:
                self.leading, moved = independent(self.free), self.free[:, : words["free"][1]]
                self.kept = self.leading[np.any(columns_without_rounding(moved)[self.leading], axis=1)]
                self.kept = self.kept if len(self.kept) == moved.shape[1] else self.kept[:0]
        if self.free is None or not self.free.shape[1]:
            return model, words
        free, K = self.free, model.stiffness
        least = SEEN * np.max(np.abs(K), initial=0.0)
        if np.max(np.abs(K @ free)) > least * np.max(np.abs(free)) and (own := motions()["free"]) is not None:
            free = own[0] if own[0].shape == free.shape else free
        change, leading = np.eye(len(K)), self.leading
        change[:, leading] = free @ np.linalg.inv(free[leading])
        model = model.along(change, model.names)
        for part in (model.stiffness[leading], model.stiffness[:, leading]):
            if np.max(np.abs(part)) > least:
                return model, words
        model.stiffness[leading], model.stiffness[:, leading] = 0.0, 0.0
        # what acts on a momentum that nothing changes is gyroscopic, or rounding
        small = np.abs(model.damping) <= SEEN * np.max(np.abs(model.damping), initial=0.0)
        others = np.setdiff1d(np.arange(len(K)), self.kept)
        small[np.ix_(others, others)] = False
        model.damping[small] = 0.0
        if self.first is None:
            kept = np.zeros_like(free)
            kept[leading] = free[leading]
            words = {**words, "free": (kept, words["free"][1])}
        return model, words

    def _reduced(self, model: SecondOrderModel, words: dict[str, Any]) -> tuple[SecondOrderModel, dict[str, Any]]:
        shapes = self.shapes
        assert shapes is not None
        m = shapes.shape[1]
        names = tuple(f"shape {k + 1}" for k in range(m))
        inputs = words["kinematics"].shape[1] - len(shapes)
        free = words["free"]
        if free is not None:
            free = np.eye(m)[:, : free[0].shape[1]], free[1]
        return model.along(shapes, names), {**words, "kinematics": np.zeros((m, m + inputs)), "free": free}

    def reduce(self, ranges: Sequence[UncertainRange], straight: Sequence[bool], modes: int) -> None:
        """Reduce models to so many modes, what parameters change of them, and static shares.

        Raises ModelError: a model that turns.
        """
        k = len(ranges)
        ends = [x * each for each, own in zip(np.eye(k), straight, strict=True) if not own for x in TURNS]
        pairs = []
        for at in (np.zeros(k), *ends):
            model, words = self.made(ranges, at)
            if np.any(words["kinematics"]):
                raise ModelError("uncertain: modes: the model turns: leave modes out")
            beside = [at + each for each, own in zip(np.eye(k), straight, strict=True) if own]
            pairs.append((model, [self.made(ranges, each)[0] for each in beside]))
        free = None if words["free"] is None else words["free"][0]
        self.shapes, self.band = shapes_of(pairs, modes, free)
        self.sizes = None
        self.known.clear()

    def advice(self, of_form: bool) -> str:
        """Advice about a form that differs; of_form : whether it does so from the reduced model itself."""
        damped = [f"{item.table}.{name}" for name, item in self.family.nominal.described.model.modal_damping.items()]
        if of_form and damped:
            return (
                f"{', '.join(damped)} is of other modes at other values, as where modes change their order; damp more "
                "modes, with modes = N, or by the damping of sections, or take narrower ranges"
            )
        return "take fewer parameters together, or narrower ranges" if of_form else "take more modes"

    def leave_out(self, ranges: Sequence[UncertainRange]) -> None:
        """Leave out the coordinates, as translations of a free body, that nothing acts on, reads, or makes heavier."""
        ends = [np.zeros(len(ranges)), *np.eye(len(ranges)), *-np.eye(len(ranges))]
        models = [self.made(ranges, d)[0] for d in ends]
        found = np.ones(len(models[0].names), dtype=bool)
        for each in models:
            for matrix in (each.stiffness, each.stiffness.T, each.damping, each.damping.T, each.forces.T,
                           each.position, each.rate):  # fmt: skip
                found &= np.max(np.abs(matrix), axis=0, initial=0.0) <= 1e-13 * np.max(np.abs(matrix), initial=0.0)
        blocks = [each.mass[np.ix_(found, found)] for each in models]
        sizes = 1e-12 * np.max(np.abs(blocks[0]), initial=0.0)
        if all(np.allclose(each, blocks[0], rtol=0.0, atol=sizes) for each in blocks):
            self.still = np.flatnonzero(found)

    def scales(self, ranges: Sequence[UncertainRange]) -> tuple[Floats, Floats]:
        """(a,), (b,) factors of rows and columns of ``matrix``, with which rounding of a large stiffness is none beside
        a small one: those of ``sizes_of`` in the middle."""
        if self.sizes is None:
            self.sizes = sizes_of(self.made(ranges, np.zeros(len(ranges)))[0], self.fine)
        return self.sizes

    def matrix(self, ranges: Sequence[UncertainRange]) -> Callable[[Floats], Floats]:
        """The stacked matrices by d, times ``scales``."""
        rows, columns = self.scales(ranges)

        def at(d: Floats) -> Floats:
            key = tuple(each.value(float(x)) for each, x in zip(ranges, d, strict=True))
            if key not in self.known:
                self.known[key] = rows[:, None] * stacked(self.made(ranges, d)[0]) * columns
            return self.known[key]

        return at


@one_blas_thread()
def uncertain(
    case: Study | Build | str | Path,
    by: Sequence[str] | Mapping[str, Any] | str | None = None,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    laws: Sequence[LinearLaw] | None = None,
    modes: int | None = None,
    unmodelled: Mapping[str, Any] | None = None,
    points: int = 20,
    overrides: Iterable[str] = (),
    **point: Any,
) -> Uncertain:
    """The linear model of a case for all values of its parameters in their ranges, in exact form.

    Parameters:
        case: path of a case file or of a study file, a femb.Study, or a function that returns a femb.Model.
        by: parameters with ranges, as in ``femb.sensitivities``; by default all of the case.
        inputs: names as in ``femb.linearize``, beside those of the controllers; by default those that outputs of the
            study name, or all where there are none.
        outputs: likewise.
        laws: of controllers in place of those of the case, as in ``femb.loop``.
        modes: keep so many flexible modes, what each parameter changes of them, and the static share of the others.
        unmodelled: tables of unmodelled dynamics by name, as [unmodelled.NAME]; by default those of the case.
        points: number of random sets of values at which the form is compared with models, beside the corners.
        overrides: entries to replace, as in ``load_case``.
        point: options of ``femb.operating_point``.

    Raises:
        ModelError: a parameter without a range, values of which there is no model, or a steady state, by name; a
            dependence that has no exact form.
    """
    study = read_either(case, overrides)
    if unmodelled is None:
        unmodelled = given_entries(study).get(Unmodelled.table, {}) if study.build is None else {}
    some = by or study.parameters or study.variables or (not unmodelled and by != {})
    chosen = parameters_of(study, by) if some else {}
    family = CaseFamily(study, chosen, {})
    ranges = tuple(map(range_of, family.parameters))
    check_of_plant(ranges)
    model = family.nominal.described.model
    run = family.nominal.described.run
    if "start" not in point and run is not None and isinstance(run.start, StartState):
        raise ModelError.at(
            ("run", "start"), "is the last state of a run, which other parameters do not have: give another start"
        )
    point.setdefault("start", family.nominal.start)
    still = _plant(model, point)[1]
    own = fixed_controllers(model).items() if laws is None else ()
    following = tuple(f"controllers.{name}" for name, each in own if each is not model.controllers[name])
    inputs, outputs = (_named(study, k) if each is None else each for k, each in enumerate((inputs, outputs)))
    laws, names = _channels(model, laws, inputs, outputs, point)
    read, set_ = ([x for law in laws for x in getattr(law, word)] for word in ("inputs", "outputs"))
    blocks = blocks_of(unmodelled, [x for x in names[0] if x in set_], [x for x in names[1] if x in read], list(chosen))

    def found(fine: bool) -> Uncertain:
        samples, own = _Samples(family, names, point, fine), ranges
        samples.leave_out(own)
        middle = np.zeros(len(own))
        first, words = samples.made(own, middle)
        straight = [linear(samples.matrix(own), k, len(own)) for k in range(len(own))]
        for k in (k for k, each in enumerate(straight) if not each):
            own = _as_angle(samples, own, k)
        if modes is not None:
            samples.reduce(own, straight, modes)
            first, words = samples.made(own, middle)
        form = realised(additive(samples.matrix(own), straight), straight, len(first.names))
        rows, columns = samples.scales(own)
        V = _without_rounding(form.V, len(first.names)) / columns
        form = replace(form, U=form.U / rows[:, None], V=V)
        own = tuple(replace(each, repetitions=n) for each, n in zip(own, form.repetitions, strict=True))
        core, plant = _extended(form, first, own, words)
        moves = point["start"] == "equilibrium"
        shapes = 0 if samples.shapes is None else samples.shapes.shape[1]
        result = Uncertain(
            own, core, plant, tuple(laws), words, 0.0, 0, model.title, still, shapes, following, moves, blocks
        )
        return _compared(result, samples, points)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FembWarning)
            return found(False)
    except (ModelError, FembWarning):
        # slow motions lose their digits beside fast ones: with sizes of their own, which take more repetitions
        return found(True)


def _without_rounding(V: Floats, n: int) -> Floats:
    """V by (q'', q', q, u), scaled, with zeros for what is rounding of accelerations (n,) of a parameter of masses."""
    least = DEGREE * np.linalg.norm(V[:, :n], axis=1, keepdims=True)
    found = V.copy()
    found[:, n:][np.abs(V[:, n:]) <= least] = 0.0
    return found


def _plant(model: Model, point: Mapping[str, Any]) -> tuple[Model, tuple[str, ...]]:
    """The model with held controllers, and without loads by a profile of time unless these are part of an equilibrium;
    the names of those that would act."""
    if point.get("start") == "equilibrium":
        return held(model), ()
    return without_commands(held(model), point.get("t", 0.0))


def _named(study: Study, place: int) -> list[str] | None:
    """The inputs (0) or outputs (1) that outputs of a study name; None without any."""
    return list(dict.fromkeys(x for each in study.outputs.values() for x in each.channels()[place])) or None


def _channels(
    model: Model,
    laws: Sequence[LinearLaw] | None,
    inputs: Sequence[str] | None,
    outputs: Sequence[str] | None,
    point: dict[str, Any],
) -> tuple[Sequence[LinearLaw], tuple[Sequence[str], Sequence[str]]]:
    """The laws, and the inputs and outputs of the plant by name."""
    if laws is None:
        laws = laws_of(system_of(model))
    if not laws:
        base = operating_point(_plant(model, point)[0], **point)
        _, words = with_channels(base, steady(base)[0], outputs, inputs)
        return (), (words["inputs"], words["outputs"])
    of = loop(_plant(model, point)[0], laws, inputs=inputs or (), outputs=outputs or (), **point)
    return of.laws, (of.plant.inputs, of.plant.outputs)


def _as_angle(samples: _Samples, ranges: tuple[UncertainRange, ...], k: int) -> tuple[UncertainRange, ...]:
    """The ranges, of which parameter k enters by the tangent of half the angle where that takes fewer repetitions."""
    found: dict[bool, tuple[bool, int]] = {}
    choices = {}
    for turning in (True, False):
        if turning and (ranges[k].of.unit not in ("rad", "") or ranges[k].high - ranges[k].low >= 2.0 * np.pi):
            continue
        choices[turning] = tuple(replace(each, turning=turning) if j == k else each for j, each in enumerate(ranges))
        of, place = samples.matrix(choices[turning]), np.arange(len(ranges)) == k
        form = realised(lambda d, of=of, place=place: of(d[0] * place), [False])  # type: ignore[misc]
        wanted = of(0.37 * place) - of(0.0 * place)
        error = np.max(np.abs(form.change(np.array([0.37])) - wanted))
        found[turning] = bool(error > 1e-9 * np.max(np.abs(wanted))), form.repetitions[0]
    return choices[min(found, key=lambda turning: found[turning])]


def _extended(
    form: ParametricForm, middle: SecondOrderModel, ranges: Sequence[UncertainRange], words: Mapping[str, Any]
) -> tuple[SecondOrderModel, StateSpace]:
    """The model in the middle of the ranges with w and z, and its state space."""
    names = tuple(f"{each.name} {k + 1}" for each in ranges for k in range(each.repetitions))
    n, whole = len(middle.names), stacked(middle)
    count, split = len(names), 3 * n
    lower = np.hstack([form.V[:, :split], form.H, form.V[:, split:]])
    upper = np.hstack([whole[:, :split], form.U, whole[:, split:]])
    core = model_of(np.vstack([upper[:n], lower, upper[n:]]), middle.names)
    named = with_names(words, count, (*names, *words["inputs"]), (*names, *words["outputs"]), core)
    return core, space_of(core, **named)


def _growth(space: StateSpace, low: float) -> float:
    """The largest growth, 1/s, of poles beyond rounding, of those faster than ``low``; else 0."""
    values = space.eigenvalues()
    grow = values.real[(np.abs(values) > low) & (values.real > GROWS * np.abs(values))]
    return float(np.max(grow, initial=0.0))


def _compared(found: Uncertain, samples: _Samples, points: int) -> Uncertain:
    """The form with its largest difference from models at corners and random points. Raises ModelError: too large."""
    k = len(found.ranges)
    rng = np.random.default_rng(SEED)
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=min(k, 5))))
    corners = np.hstack([corners, rng.choice([-1.0, 1.0], (len(corners), k - corners.shape[1]))])
    poles = np.abs(found.plant.eigenvalues())
    poles = poles[poles > 1e-6 * np.max(poles, initial=0.0)]
    low, high = (0.1 * np.min(poles), 10.0 * np.max(poles)) if len(poles) else (0.01, 100.0)
    high = samples.band if found.shapes else min(high, 1e5 * low)
    worst, where, at, advice = 0.0, "", (np.zeros(k), low), ""
    for d in (*corners, *rng.uniform(-1.0, 1.0, (points, k))):
        model, words = samples.made(found.ranges, d, full=True)
        omega = float(np.exp(rng.uniform(np.log(low), np.log(high))))
        wanted = transfer_of(model, 1j * omega, words["kinematics"])
        own = closed_by(found.response(omega), np.repeat(d, found.sizes))
        error = difference_of(own, wanted, words)
        if error > worst:
            worst, where, at = error, in_words(found.ranges, d), (d, omega)
        if found.shapes and (growth := _growth(found.at(d), low)) > 0.0:
            model, words = samples.made(found.ranges, d)
            if growth > 2.0 * max(_growth(space_of(model, **words), low), 0.0):
                text = f"a pole of the form grows by {growth:.1e} 1/s at {in_words(found.ranges, d)}"
                raise ModelError(f"uncertain: {text}, where the model has none: {samples.advice(True)}")
    if found.shapes:
        model, words = samples.made(found.ranges, at[0])
        reduced = transfer_of(model, 1j * at[1], words["kinematics"])
        own = closed_by(found.response(at[1]), np.repeat(at[0], found.sizes))
        of_form = difference_of(own, reduced, words)
        advice = samples.advice(of_form > 0.5 * worst)
        text = f"uncertain: {numbered(found.shapes, 'shape')} differ by {worst:.1e} from the full model at {where}"
        if worst > UNLIKE or (of_form > EXACT and not samples.fine):
            raise ModelError(f"{text}: {advice}")
        if worst > REDUCED:
            warnings.warn(f"{text}: what is proved is of the reduced model; {advice}", FembWarning, stacklevel=4)
    elif worst > EXACT:
        raise ModelError(
            f"uncertain: the form differs by {worst:.1e} from the model at {where}: the state moves with a parameter, "
            "or the model has products that are not linear in all but one of them; take fewer parameters together"
        )
    return replace(found, difference=worst, compared=len(corners) + points)
