"""Statics: equilibria of a model as its loads grow, how stable they are, and the loads at which they cease to be.

Source: docs/theory/statics.md.
"""

import time as clock
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from femb.base.arrays import listing
from femb.base.errors import FembWarning, ModelError, SolveError
from femb.base.html import table
from femb.base.progress import LoadProgress, Reporter, reporting
from femb.base.types import Floats
from femb.base.values import check_flag, listed, names_of, number_problem, shown
from femb.layout.layout import Station
from femb.layout.symmetry import nullity
from femb.model.model import Model
from femb.numerics.newton import largest
from femb.recording.frames import Frames, unbalanced
from femb.recording.recording import Recording
from femb.results.results import Results
from femb.results.verdicts import wrinkled
from femb.run.calling import model_and_case
from femb.statics.critical import Critical, critical_between
from femb.statics.equations import WEIGHT
from femb.statics.neutral import motion_name, motion_of, moves_freely
from femb.statics.path import Equilibrium, LoadPath
from femb.statics.solve import Statics
from femb.statics.stability import negative_stiffness
from femb.system.stacked import least_multipliers
from femb.system.system import System
from femb.vibration.completion import system_of

if TYPE_CHECKING:
    from femb.case import Given

# Results of statics: results by load factor, states to start from, and buckling modes by name.

NO_WORK = ("audit/work", "audit/energy_error", "budget/")  # depend on how the loads came on


class StaticResults(Results):
    """Equilibria of a model, one a load factor; everything of ``Results``, whose times count the states from 0.

    Results that are read from a file hold the same arrays by their paths, "static/load_factor" and so on, but cannot
    be a start. Not pickled as such: a copy is plain ``Results``.
    """

    @classmethod
    def of(cls, results: Results, system: System, states: list[Equilibrium]) -> Self:
        """Results with the ``states`` of the ``system`` that they are of."""
        found = cls(results.series, results.static, results.attributes)
        found._system, found._states = system, states
        return found

    _system: System
    _states: list[Equilibrium]
    critical: "tuple[Critical, ...]" = ()

    @property
    def first(self) -> Equilibrium:
        """The first state."""
        return self._states[0]

    @property
    def last(self) -> Equilibrium:
        """The last state."""
        return self._states[-1]

    @property
    def load_factor(self) -> Floats:
        """(T,) of every state."""
        return self.arrays["static/load_factor"]

    @property
    def negative_eigenvalues(self) -> Floats:
        """(T,) how many eigenvalues of the stiffness are negative: zero where the equilibrium is stable. -1
        of structures that turn, whose stability the stiffness does not tell."""
        return self.arrays["static/negative_eigenvalues"]

    @property
    def stability(self) -> tuple[str, ...]:
        """(T,) of every state: "stable", "unstable", or "not judged" of structures that turn and under functions of the
        state. Under loads that follow the motion, where the stiffness is not symmetric, "no divergence" or "may
        diverge": it does not tell of flutter.
        """
        negative = self.negative_eigenvalues
        follows = self.arrays["static/follows"] if "static/follows" in self.arrays else np.zeros(len(negative))
        words = (("not judged", "stable", "unstable"), ("not judged", "no divergence", "may diverge"))
        return tuple(words[int(on)][int(np.sign(n)) + 1] for on, n in zip(follows, negative, strict=True))

    @property
    def neutral_motions(self) -> Floats:
        """(T,) how many motions have no stiffness: rigid ones of free structures, and those of joints. Stability does
        not tell of these."""
        return self.arrays["static/neutral_motions"]

    @property
    def iterations(self) -> Floats:
        """(T,) corrections of Newton's iteration that found the state, in its last step."""
        return self.arrays["static/iterations"]

    @property
    def critical_load_factors(self) -> Floats:
        """(m,) where eigenvalues change their sign, in the order of the path; only those that were asked for."""
        return self.arrays["static/critical_load_factor"]

    @property
    def mode_names(self) -> tuple[str, ...]:
        """(m,) what moves most in the mode of each critical load factor."""
        return tuple(map(str, self.arrays["static/mode_names"])) if "static/mode_names" in self.arrays else ()

    def _repr_html_(self) -> str:
        factors, negative = self.load_factor, self.negative_eigenvalues
        rows = [("status", self.status)]
        if factors.size:
            rows.append(("load factors", f"{factors.size} states, {factors[0]:g} to {factors[-1]:g}"))
            loose = np.flatnonzero(negative > 0)
            text = (
                f"{self.stability[loose[0]]} from {factors[loose[0]]:g} on" if loose.size else "no negative eigenvalue"
            )
            rows.append(("stability", text))
        critical = self.critical_load_factors if "static/critical_load_factor" in self.arrays else ()
        rows += [
            ("critical load factor", f"{factor:.6g}, {name}")
            for factor, name in zip(critical, self.mode_names, strict=False)
        ]
        names = ((kind, getattr(self, kind)) for kind in ("bodies", "beams", "joints"))
        return table(self.title or "Statics", [*rows, *((kind, listing(items, 6)) for kind, items in names if items)])

    def __repr__(self) -> str:
        factors = self.load_factor
        span = f"load factors {factors[0]:g} to {factors[-1]:g}" if factors.size else "no load factors"
        return f"<StaticResults: {self.status}, {factors.size} states, {span}>"

    def mode(self, k: int, item: str) -> tuple[Floats, Floats]:
        """Translations and rotations of mode ``k``, counted from 0, in inertial axes and relative to each other, m and
        rad: of the ``item`` "bodies/NAME" (3,) each, of "beams/NAME" (n, 3)."""
        path = f"static/modes/{item}"
        return self.arrays[f"{path}/translation"][k], self.arrays[f"{path}/rotation"][k]

    def start(self, k: int = -1) -> System:
        """The system that starts in state k: for ``simulate``, ``linearize``, ``operating_point`` and the like.

        It has the model's own loads: under them it is in equilibrium where its load factor is one. Warns of an unstable
        state.
        """
        state = self._states[k]
        if state.negative > 0 and not state.follows:
            warnings.warn(
                f"the equilibrium at the load factor {state.load:g} is unstable: {negative_stiffness(state.negative)}",
                FembWarning,
                stacklevel=2,
            )
        q = state.found.q
        return self._system.with_discrete(state.discrete).starting_at(q, np.zeros(self._system.n_v))


def static_frame(
    statics: Statics, system: System, number: int, state: Equilibrium
) -> tuple[Frames, dict[str, Floats], System, tuple[str, ...]]:
    """The arguments of ``Recording.add`` for a state: its frame, its arrays, its system, and what to omit."""
    found = state.found
    u, v, a = statics.state(found.q, found.load)
    weighed = system if statics.gravity is None else system.with_gravity(found.load * statics.gravity)
    q, multipliers = found.q, found.multipliers
    if system.layout.has_loops:
        multipliers = least_multipliers(system, u[None], q[None], multipliers[None])[0]
    coordinates, rates = system.with_discrete(state.discrete).joint_motion(q, v)
    one = (q[None], v[None], a[None], multipliers[None])
    left = unbalanced(weighed, u[None], *one)
    frame = Frames(
        np.array([float(number)]), one[0], one[1], system.budget.none()[None], u[None], one[2], one[3],
        coordinates[None], rates[None], left,
    )  # fmt: skip
    more = {
        "static/load_factor": np.array([found.load]),
        "static/negative_eigenvalues": np.array([state.negative]),
        "static/neutral_motions": np.array([state.neutral.count if state.neutral is not None else 0]),
        "static/iterations": np.array([found.iterations]),
        "static/follows": np.array([state.follows]),
    }
    return frame, more, weighed, NO_WORK


def mode_arrays(system: System, statics: Statics, found: list[Critical]) -> dict[str, Floats]:
    """Arrays of the results of critical loads: their factors, the names and the shapes of their modes."""
    layout = system.layout
    arrays: dict[str, Floats] = {"static/critical_load_factor": np.array([each.load for each in found])}
    if not found:
        return arrays
    modes = [(each.before.found.q, each.mode) for each in found]
    names = [motion_name(layout, q, mode, statics.weights) for q, mode in modes]
    arrays["static/mode_names"] = np.array(names)
    items = {f"bodies/{name}": [Station(frame)] for name, frame in layout.bodies.items()}
    items |= {f"beams/{name}": beam.stations for name, beam in layout.beams.items()}
    items |= {f"shells/{name}": shell.stations for name, shell in layout.shells.items()}
    for path, stations in items.items():
        motions = [[motion_of(layout, station, q, mode) for station in stations] for q, mode in modes]
        for i, word in enumerate(("translation", "rotation")):
            values = np.array([[motion[i] for motion in row] for row in motions])
            arrays[f"static/modes/{path}/{word}"] = values[:, 0] if path.startswith("bodies/") else values
    return arrays


MOST_STEPS = 100_000
LOOSE = 1e-6  # net force on what is free, relative to the largest force


def static(
    model: "Given",
    *,
    factor: float = 1.0,
    steps: int = 10,
    arc_length: bool = False,
    follow_mode: bool = False,
    control: tuple[str, float] | None = None,
    critical: int = 0,
    constant: Sequence[str] = (),
    time: float = 0.0,
    assemble: bool = False,
    out: str | Path | None = None,
    case_text: str = "",
    progress: Reporter | bool | None = None,
) -> StaticResults:
    """Equilibria of a model as its load factor grows from zero to ``factor``, in equal ``steps``.

    The load factor multiplies all loads, as they are at ``time``, and the weight. Drivers go along: at the load factor
    p they are where they are at p times ``time``. Bodies that turn steadily at the start keep their angular velocity;
    all else is at rest.

    Parameters:
        model: a model, a case or the path of its file, whose run counts only for how joints are assembled.
        factor: load factor at the end.
        steps: number of equal steps of the load factor.
        arc_length: steps along the path, on which the load factor may fall, up to the first state with the load factor
            ``factor``, or with its opposite; the first raises the load factor by factor/steps.
        follow_mode: the same, and at a bifurcation, where the path becomes unstable, on along the mode.
        control: equal steps of a displacement instead, ("BODY.z", m) or ("BEAM.NODE.z", m); the load factor is an
            unknown.
        critical: number of load factors to look for at which an eigenvalue of the stiffness changes its sign, to 1e-6;
            the last of them is the end.
        constant: names of loads that keep their full value, or "gravity", of the weight and of a load of that name.
        time: s, of the loads.
        assemble: joints may be open in the positions given.
        out: an HDF5 file to write to.
        case_text: as in ``simulate``.
        progress: as in ``simulate``.

    Returns:
        The states, whose output times count them from 0; ``load_factor`` has their load factors. See ``StaticResults``
        for what else there is, among it the System that starts from a state.

    Raises:
        ModelError: every problem of the model, or joints leave something free to move with nothing against it.
        SolveError: there is no equilibrium; the states so far are in ``error.results``.
    """
    model, case = model_and_case(model)
    if case is not None:
        case_text, assemble = case_text or case.text, assemble or case.start == "assembled"
    check_options(model, factor, steps, critical, constant, time, arc_length)
    orbit = next((item for item in model.items() if item.follows_origin), None)
    if orbit is not None:
        raise ModelError.at(
            (orbit.table, orbit.name),
            "gravity on an orbit turns in the axes of the model, so that there is no equilibrium: leave it out",
        )
    system = system_of(model, assemble)
    path = path_of(system, time, constant)
    word = "critical" if critical else "follow_mode"
    if (critical or follow_mode) and path.statics.functions:
        raise ModelError(
            f"{word}: the stiffness has no part of {', '.join(path.statics.functions)}, functions of the state; leave "
            "it out, or take modes with damped (--damped) and start = 'equilibrium'"
        )
    if (critical or follow_mode) and path.spin2:
        raise ModelError(
            f"{word}: the stability of structures that turn is not judged by their stiffness; leave it out"
        )
    word = "arc length" if arc_length or follow_mode else "control" if control is not None else ""
    if word and not (path.statics.loads.any() or path.statics.gravity is not None):
        raise ModelError(f"{word}: there is no load and no weight whose factor could change; leave it out")
    pushed = None if control is None else controlled(system, control)
    if pushed is not None and (arc_length or follow_mode):
        raise ModelError("control: steps of a displacement are no steps along an arc; leave out one of them")
    options = PathOptions(factor, steps, arc_length or follow_mode, follow_mode, pushed)
    began, cpu = clock.perf_counter(), clock.process_time()
    states: list[Equilibrium] = []
    found: list[Critical] = []
    with (
        reporting(progress, abs(factor), LoadProgress) as reporter,
        Recording(system, "static", out, case_text) as recording,
    ):
        try:
            for state in _states(path, options):
                if critical and states and state.negative != states[-1].negative:
                    found += critical_between(path, states[-1], state)[: critical - len(found)]
                states.append(state)
                recording.add(*static_frame(path.statics, system, len(states) - 1, state))
                if reporter is not None:
                    reporter.update(abs(state.load))
                if critical and len(found) >= critical:
                    break
        except SolveError as error:
            raise _explained(error, path, states, options) from error
        finally:
            recording.arrays = mode_arrays(system, path.statics, found)
            recording.statistics = {
                "steps": max(0, len(states) - 1),
                "newton_iterations": path.iterations,
                "wall_time": clock.perf_counter() - began,
                "cpu_time": clock.process_time() - cpu,
            }
        recording.message = "; ".join(notes(path, states, found, options, critical))
    results = StaticResults.of(recording.results(), system, states)
    results.critical = tuple(found)
    return results


def check_options(
    model: Model, factor: float, steps: int, critical: int, constant: Sequence[str], time: float, arc_length: bool
) -> None:
    """Raise ModelError for options that make no sense."""
    check_flag("arc_length", arc_length)
    if number_problem(factor) or factor == 0.0:
        raise ModelError(f"factor: got {shown(factor)}, wanted a number that is not zero: the last load factor")
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
        raise ModelError(f"steps: got {shown(steps)}, wanted a whole number from 1 to {MOST_STEPS}")
    if isinstance(critical, bool) or not isinstance(critical, int) or critical < 0:
        raise ModelError(f"critical: got {shown(critical)}, wanted how many load factors to look for, at least 0")
    if isinstance(time, bool) or not isinstance(time, int | float) or not 0.0 <= time < np.inf:
        raise ModelError(f"time: got {shown(time)}, wanted the instant (s) of the loads, at least 0")
    names = [WEIGHT, *model.loads]
    for name in names_of("constant", constant):
        if name not in names:
            raise ModelError(f"constant: there is no load {name!r}; there are: {', '.join(names)}")


def path_of(system: System, time: float = 0.0, constant: Sequence[str] = ()) -> LoadPath:
    """The path of equilibria of a system."""
    statics = Statics(system, time, constant, weight=bool(np.any(system.model.gravity)) and WEIGHT not in constant)
    for motion in statics.motions:
        motion.check_axis("or leave out the velocities of its start, which statics take for a steady rotation")
    return LoadPath(statics)


@dataclass(frozen=True)
class PathOptions:
    """Options of a path: the last load factor, and steps up to it; steps along an arc, and along modes; or steps of
    the displacement of a station along an axis, up to the last one (m)."""

    factor: float
    steps: int
    arc_length: bool
    follow_mode: bool
    control: tuple[Station, int, float] | None


def controlled(system: System, control: tuple[str, float]) -> tuple[Station, int, float]:
    """The station and the axis whose displacement is controlled, and its last displacement. Raises ModelError."""
    layout, wanted = system.layout, 'wanted ("BODY.z", m) or ("BEAM.NODE.z", m)'
    if not isinstance(control, tuple | list) or len(control) != 2 or not isinstance(control[0], str):
        raise ModelError(f"control: got {shown(control)}, {wanted}")
    place, last = control
    if number_problem(last) or last == 0.0:
        raise ModelError(f"control: got {shown(last)} for the last displacement, wanted a number (m) that is not zero")
    name, _, axis = place.rpartition(".")
    if axis not in ("x", "y", "z"):
        raise ModelError(f"control: got {place!r}, {wanted}, with x, y or z")
    beam, _, node = name.rpartition(".")
    station = Station(layout.bodies[name]) if name in layout.bodies else None
    if beam in layout.beams:
        station = layout.beams[beam].node(node)
    if station is None or not layout.frames[station.frame].freedom:
        bodies = [body for body, frame in layout.bodies.items() if layout.frames[frame].freedom]
        names = [*bodies, *(f"{each}.-1" for each in layout.beams)]
        raise ModelError(f"control: there is no {name!r} that moves, {wanted}; there are: {', '.join(names[:8])}")
    return station, "xyz".index(axis), float(last)


def _states(path: LoadPath, options: PathOptions) -> Iterator[Equilibrium]:
    """The states to record; refuses what no strain can balance before the first."""
    factor, steps = options.factor, options.steps
    statics = path.statics
    q = statics.twin.q0
    for motion in statics.motions:
        if motion.free and not np.any(motion.omega):
            force = statics.forces(q, factor)[1]
            rigid = np.where(motion.mask, motion.system.rigid_velocities(q), 0.0)
            net = -rigid @ force + 0.0
            u, v, _ = statics.state(q, factor)
            held = statics.laws(u, q, v).stiffness.T @ rigid.T
            sizes = np.linalg.norm(held, axis=1, keepdims=True)
            loose = nullity(held[sizes[:, 0] > 0.0] / sizes[sizes > 0.0, None])
            if largest(loose @ net) > max(LOOSE * largest(force), 1e-9):
                raise SolveError(
                    f"the structure of {motion.labels!r} drifts: nothing holds it to the ground, and its loads at the "
                    f"load factor {factor:g} have a net force ({', '.join(f'{x:.3g}' for x in net[:3])}) N and moment "
                    f"about the origin ({', '.join(f'{x:.3g}' for x in net[3:])}) N m; hold it, or balance its loads"
                )
    if options.control is not None:
        yield from path.in_displacements(*options.control, steps)
    elif options.follow_mode:
        yield from _along_modes(path, factor, steps)
    else:
        yield from path.along_arc(factor, steps) if options.arc_length else path.in_load_steps(factor, steps)


def _along_modes(path: LoadPath, factor: float, steps: int) -> Iterator[Equilibrium]:
    """States along an arc, which goes on along the mode of each bifurcation at which the path becomes unstable."""
    states, before = path.along_arc(factor, steps), None
    while True:
        for state in states:
            if before is not None and state.negative > before.negative and not path.turned:
                bifurcation = critical_between(path, before, state)[0]
                states = path.along_arc(factor, steps, (bifurcation.before, bifurcation.mode))
                before = None
                yield bifurcation.before
                break
            yield state
            before = state
        else:
            return


def _explained(error: SolveError, path: LoadPath, states: list[Equilibrium], options: PathOptions) -> SolveError:
    """A failure with how far the loads could be raised."""
    text = str(error).removeprefix("no equilibrium found to start from").removeprefix(": ").strip()
    if not states:
        return SolveError(f"no equilibrium at the load factor 0: {text}")
    last = states[-1]
    if not path.spin2 and last.neutral is not None and path.stiffness.unmoved(last.found, last.load + 1.0) is None:
        names = "; ".join(last.neutral.names(path.statics.twin.layout, last.found.q)[:3])
        return SolveError(
            f"no equilibrium found beyond the load factor {last.load:.6g}: the loads act along motions without "
            f"stiffness, and what they move drifts: {names}; add what holds it, or drive it"
        )
    if options.control is not None:
        advice = "arc length, by which a path goes on where the displacement has to fall, or another displacement"
    elif options.arc_length:
        advice = "more steps"
    else:
        advice = "more steps, or arc length, by which a path goes on where loads have to fall"
    return SolveError(f"no equilibrium found beyond the load factor {states[-1].load:.6g}: {text}; try {advice}")


def notes(
    path: LoadPath, states: list[Equilibrium], found: list[Critical], options: PathOptions, critical: int
) -> list[str]:
    """Notes on a path that was followed."""
    last, factor = states[-1], options.factor
    said = [*path.statics.left_out, *moves_freely(path.statics.twin.layout, last.found.q, last.neutral)]
    follows = any(state.follows for state in states)
    if path.statics.without_load(last.found.q):
        said.append(
            f"the load factor changes nothing: all loads that it multiplies are zero at {path.statics.time:g} s; take "
            "an instant at which they act (--time)"
        )
    if last.negative > 0 and not found and not follows:
        text = f"the equilibrium at the load factor {last.load:.6g} is unstable: {negative_stiffness(last.negative)}"
        passed = [(a, b) for a, b in pairwise(states) if a.negative <= 0 < b.negative]
        if passed and not options.arc_length and options.control is None:
            low, high = passed[0]
            text += (
                f"; steps of the load stay on a path that the structure leaves between the load factors {low.load:.6g} "
                f"and {high.load:.6g}, where it buckles: follow_mode (--follow-mode) goes on along the mode"
            )
        said.append(text)
    if labels := path.statics.beyond(last.found.q)[0]:
        said.append(f"the last state is beyond where {listed(labels)} snaps, which steps of the load do, others do not")
    if path.jumped:
        low, high = path.jumped[0]
        said.append(
            f"between the load factors {low.load:.6g} and {high.load:.6g} the steps do not stay on the path: the "
            "structure may jump there, past a limit load that steps of the load do not see; arc length (--arc-length) "
            "follows the path"
        )
    if critical and len(found) < critical:
        advice = "" if path.jumped else "; raise the last factor"
        said.append(f"{len(found)} of {critical} critical load factors found up to {states[-1].load:g}{advice}")
    elif path.returned:
        said.append(
            f"the path returns at the load factor {last.load:.6g} and does not come to {factor:g}: more steps, a finer "
            "mesh or control of a displacement (--control) may follow another one"
        )
    elif options.control is None and not critical and abs(states[-1].load - factor) > 1e-9 * abs(factor):
        said.append(
            f"the path does not come to the load factor {factor:g} in {len(states) - 1} states; take fewer steps"
        )
    if path.statics.functions:
        said.append(
            f"stability is not judged: the stiffness has no part of {', '.join(path.statics.functions)}, functions of "
            "the state; modes with damped (--damped) and start = 'equilibrium' have, if these return derivatives"
        )
    if follows:
        said.append(
            "loads follow the motion: the stiffness is not symmetric. While its symmetric part, that of the table and "
            "of critical load factors, is positive, nothing diverges; of flutter it does not tell: modes with damped "
            "(--damped) and start = 'equilibrium' do"
        )
    return said


def report(results: StaticResults) -> str:
    """States and critical loads as a table."""
    lines = ["state  load factor  negative eigenvalues  iterations  equilibrium"]
    lines += [
        f"{k:5d}  {load:11.6g}  {negative if negative >= 0 else '-':>20}  {iterations:10d}  {word}"
        for k, (load, negative, iterations, word) in enumerate(
            zip(results.load_factor, results.negative_eigenvalues, results.iterations, results.stability, strict=True)
        )
    ]
    # the symmetric part of the stiffness is no longer positive there, and nothing need happen
    of = " of the symmetric part" if np.any(results.arrays.get("static/follows", False)) else ""
    lines += [
        f"critical load factor{of} {load:.7g}: {name}"
        for load, name in zip(results.critical_load_factors, results.mode_names, strict=True)
    ]
    lines += [f"shell {name!r}: {text}" for name, text in wrinkled(results).items()]
    return "\n".join(lines)
