"""The audit of a run in plain words: each quantity with its largest value, whether that is good, and why.

The limits are those of the warnings of a run, `femb.results.verdicts`, and parts of them. Source:
docs/reference/results.md, audit.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from femb.base.types import Floats
from femb.base.values import listed
from femb.numerics.newton import largest
from femb.results.results import Results

# Monitoring of a run's audit: a warning where it is far beyond the tolerances.
#
# A local error below rtol per step gives an energy error of some rtol of the largest energy, up to a thousand times as
# much over long runs and with members that the method damps. A far larger error shows that the steps missed something:
# an impact between two step ends, a load that is not integrated, a step far too long. The largest energy is that of the
# whole run, since that near a start at rest is no scale.
#
# Forces have a judgement of their own, by every method: what the equations leave on a body or node between steps,
# beside the largest force in the results. The motion may be right where it is not small: a force is a stiffness times a
# strain.

# Limit of the energy error over the largest energy: a multiple of rtol, within bounds.
ENERGY, LEAST_ENERGY, MOST_ENERGY = 1e4, 1e-2, 0.1
# Part of the energies themselves, with weight and preload, up to which an error is rounding: where nothing moves, their
# changes are no scale.
ROUNDED = 1e-14
# Limits of constraints (m or -, and per s and unit of speed) and of lengths of quaternions; being projected, these do
# not depend on rtol.
POSITION, VELOCITY, LENGTH = 1e-5, 1e-4, 1e-8
# Parts of the largest force or moment in the results: balances up to the first are good, above the second poor.
BALANCED, UNBALANCED = 0.01, 0.2
# Each balance of the audit, the arrays that it is compared with, and their unit.
BALANCES = (("force_balance", ("force", "section_force"), "N"), ("moment_balance", ("torque", "section_moment"), "N m"))
LOADED = ("beams", "joints", "appendages", "loads", "springs", "drivers")
# An error is recorded where it exceeds the last one recorded by this factor.
GROWTH = 1.01


def loads_among(paths: Iterable[str], words: tuple[str, ...]) -> list[str]:
    """The ``paths`` of recorded forces or moments."""
    return [path for path in paths if path.rpartition("/")[2] in words and path.partition("/")[0] in LOADED]


def largest_load(arrays: Mapping[str, Floats], paths: Sequence[str]) -> float:
    """The largest component of the ``arrays`` with these paths."""
    loads = [arrays[path].reshape(-1) for path in paths]
    return float(np.max(np.abs(np.concatenate(loads)), initial=0.0)) if loads else 0.0


@dataclass(frozen=True)
class Rounding:
    """Energy (J), force (N), moment (N m), linear (N s) and angular momentum (N m s) that rounding of positions may
    leave in the balances of a model, as a run finds them at its start; of results without them those of small models.
    """

    energy: float = 1e-20
    force: float = 1e-7
    moment: float = 1e-7
    linear_momentum: float = 1e-12
    angular_momentum: float = 1e-12

    @staticmethod
    def of(results: Results) -> "Rounding":
        """Rounding in the model of a run."""
        found = results.attributes.get("audit", {})
        words = {each.name: found.get(f"{each.name}_rounding") for each in fields(Rounding)}
        return Rounding(**{word: float(value) for word, value in words.items() if value is not None})

    def words(self) -> dict[str, float]:
        """Attributes of the audit of results."""
        return {f"{word}_rounding": value for word, value in vars(self).items()}


class AuditWatch:
    """Collects from the audit of a run, block by block, the data of a warning; rounding : of its model."""

    memory: ClassVar[tuple[str, ...]] = ("_errors", "_largest", "_first", "_others", "_unbalanced", "_load", "_total")

    def __init__(self, rounding: Rounding | None = None) -> None:
        self.rounding = rounding or Rounding()
        self._errors: list[tuple[float, float]] = []
        self._largest, self._total = 0.0, 0.0  # of their changes, and of the energies themselves
        self._first: tuple[float, float] | None = None
        self._others: dict[str, tuple[float, float]] = {}
        # time and size of the largest force balance, and the largest force beside it
        self._unbalanced, self._load = (0.0, 0.0), 0.0
        self._loads: list[str] = []

    def add(self, time: Floats, audit: dict[str, Floats], speed: Floats) -> None:
        """Add k output instants: time (k,), the audit's arrays by name, and the largest velocities (k,)."""
        kinetic, potential, work = (audit[name] for name in ("kinetic_energy", "potential_energy", "work"))
        if self._first is None:
            self._first = float(potential[0]), float(work[0])
        for energy in (kinetic, potential - self._first[0], work - self._first[1]):
            self._largest = max(self._largest, float(np.max(np.abs(energy[np.isfinite(energy)]), initial=0.0)))
        for energy in (kinetic, potential):
            self._total = max(self._total, float(np.max(np.abs(energy[np.isfinite(energy)]), initial=0.0)))
        last = self._errors[-1][1] if self._errors else 0.0
        errors = np.where(np.isfinite(audit["energy_error"]), np.abs(audit["energy_error"]), math.inf)
        highest = np.maximum.accumulate(np.append(last, errors))
        for k in np.flatnonzero(errors > highest[:-1]).tolist():
            if errors[k] > GROWTH * last:
                last = float(errors[k])
                self._errors.append((float(time[k]), last))
        for name, limit in (
            ("constraint_position", POSITION),
            ("constraint_velocity", VELOCITY * (1.0 + speed)),
            ("quaternion_norm", LENGTH),
        ):
            beyond = np.flatnonzero(~(audit[name] <= limit))
            if len(beyond) and name not in self._others:
                self._others[name] = float(time[beyond[0]]), float(audit[name][beyond[0]])

    def add_forces(self, block: Mapping[str, Floats]) -> None:
        """Add the force balance and the forces of k output instants, by the paths of their arrays."""
        name, words, _ = BALANCES[0]
        if not self._loads:  # of the first block, as all have the same arrays
            self._loads = loads_among(block, words)
        self._load = max(self._load, largest_load(block, self._loads))
        balance = block.get(f"audit/{name}", np.zeros(0))
        if len(balance):
            k = int(np.argmax(balance))
            if balance[k] > self._unbalanced[1]:
                self._unbalanced = float(block["time"][k]), float(balance[k])

    @property
    def largest_force(self) -> float:
        """The largest component of recorded forces, N."""
        return self._load

    def warning(self, rtol: float, finer: str = "rtol") -> str:
        """The quantities that were far beyond their tolerances, since when and how far, and forces that the steps did
        not resolve; empty if there are none. finer : the option of which a smaller value makes steps finer."""
        return "; ".join(filter(None, (self._of_motion(rtol, finer), self._of_forces(finer))))

    def _of_forces(self, finer: str) -> str:
        """The force balance where it is no longer small beside the forces.

        Torques may all be small beside the forces and their arms, as in a spin: their balance alone is no warning.
        """
        (t, size), load = self._unbalanced, self._load
        if not load > 0.0 or size <= max(UNBALANCED * load, self.rounding.force):
            return ""
        return (
            f"the steps did not resolve the forces: the force balance reaches {size:.2g} N at t = {t:.6g} s, beside a "
            f"largest force of {load:.2g} N. Peak loads of this run are not to be trusted: compare with a smaller "
            f"{_with_step(finer)}"
        )

    def _of_motion(self, rtol: float, finer: str) -> str:
        limit = min(max(ENERGY * rtol, LEAST_ENERGY), MOST_ENERGY)
        found = []
        least = max(limit * self._largest, ROUNDED * self._total, self.rounding.energy)
        beyond = [error for error in self._errors if error[1] > least]
        if beyond:
            worst = max(error for _, error in beyond)
            found.append(
                (beyond[0][0], f"energy error (up to {worst:.2g} J, with a largest energy of {self._largest:.2g} J)")
            )
        for name, (t, size) in self._others.items():
            found.append((t, f"{name.replace('_', ' ')} ({size:.2g})"))
        if not found:
            return ""
        listed = "; ".join(f"{text} from t = {t:.6g} s on" for t, text in sorted(found))
        return (
            f"the audit is far beyond the tolerances: {listed}. The motion from then on is not to be trusted: compare "
            f"with a smaller {_with_step(finer)}"
        )


# Names of what acts from outside in a sentence.
LISTED = 4
GOOD, FAIR, POOR, NEUTRAL = "good", "fair", "poor", "neutral"
LEVELS = {GOOD: "good", FAIR: "look closer", POOR: "not to be trusted", NEUTRAL: ""}
# Parts of the limits of warnings below which an audit is good; of the largest momentum, below which it is constant.
WELL, CONSTANT = 0.01, 1e-6


@dataclass(frozen=True)
class Verdict:
    """The verdict of the audit on one quantity.

    subject : such as "energy". value : the largest value with its unit and scale. level : "good", "fair" (look closer),
    "poor" (not to be trusted), or "neutral" (neither). reason : why, a sentence or two.
    """

    subject: str
    value: str
    level: str
    reason: str


def finer_of(results: Results) -> str:
    """The option of a run of which a smaller value makes its steps finer."""
    return "accuracy" if "accuracy" in results.statistics else "rtol"


def _with_step(finer: str) -> str:
    """The options of which smaller values make steps finer."""
    return "rtol or max_step" if finer == "rtol" else finer


def energy_line(results: Results) -> str:
    """The error of energy, the largest energy and the level; empty without an error."""
    found = _energy(results) if results.time.size else None
    return "" if found is None or not largest(results.audit.energy_error) else f"{found.value}: {LEVELS[found.level]}"


def verdicts(results: Results) -> list[Verdict]:
    """The verdicts on the audit that results contain; empty without output times or audit."""
    if not results.time.size:
        return []
    of_motion = [_energy(results), *_momenta(results)] if results.method != "static" else []
    found = [*of_motion, *_constraints(results), *_balances(results)]
    return [verdict for verdict in found if verdict is not None]


def _energy(results: Results) -> Verdict | None:
    audit = results.audit
    if "energy_error" not in audit:
        return None
    error, finer = largest(audit.energy_error), finer_of(results)
    kinds = [audit[f"{kind}_energy"] for kind in ("kinetic", "potential") if f"{kind}_energy" in audit]
    rounded = max(ROUNDED * max(map(largest, kinds), default=0.0), Rounding.of(results).energy)
    kinds = [values - values[0] if k else values for k, values in enumerate(kinds)] + (
        [audit.work - audit.work[0]] if "work" in audit else []
    )
    scale = max(map(largest, kinds), default=0.0)
    value = f"{error:.2g} J (largest energy {scale:.3g} J)"
    meaning = "kinetic and potential energy minus the work of loads, drivers and dampers since the start"
    if not np.isfinite(error):
        return Verdict("energy", value, POOR, f"The balance ({meaning}) is not a number: the run broke down.")
    if error <= WELL * LEAST_ENERGY * scale or error == 0.0:
        return Verdict("energy", value, GOOD, f"The balance ({meaning}) is kept to {_part(error, scale)}.")
    if error <= rounded:
        return Verdict("energy", value, GOOD, f"The balance ({meaning}) is kept to rounding: hardly anything moves.")
    if error <= LEAST_ENERGY * scale:
        reason = f"The balance ({meaning}) drifts by {_part(error, scale)}: compare with a run of smaller {finer}."
        return Verdict("energy", value, FAIR, reason)
    reason = (
        f"The balance ({meaning}) is missed by {_part(error, scale)}: the steps missed something, such as an impact or "
        f"a fast vibration. Run again with a smaller {_with_step(finer)}."
    )
    return Verdict("energy", value, POOR, reason)


def _momenta(results: Results) -> Iterator[Verdict]:
    for word, unit in (("linear", "N s"), ("angular", "N m s")):
        name = f"{word}_momentum"
        if name not in results.audit:
            continue
        values = results.audit[name]
        change, size = (largest(np.linalg.norm(each, axis=-1)) for each in (values - values[0], values))
        # With parts that move against each other the momentum may be far smaller than theirs.
        scale = max(size, largest(results.audit[f"{name}_size"]) if f"{name}_size" in results.audit else 0.0)
        if word == "angular":
            turning = [group["momentum"] for group in results.groups() if "momentum" in group]
            scale = max(scale, largest(sum(map(np.abs, turning), np.zeros(1))))
        value = f"changes by {change:.2g} {unit}, largest {size:.3g} {unit}"
        yield Verdict(f"{word} momentum", value, *_of_momentum(results, word, change, scale))


def _of_momentum(results: Results, word: str, change: float, scale: float) -> tuple[str, str]:
    """Level and reason of a momentum that changed; scale : the largest, or that of the parts that move."""
    if not np.isfinite(change):
        return POOR, "It is not a number: the run broke down."
    recorded = results.audit.attributes.get(f"{word}_momentum_changed_by")
    acting = json.loads(str(recorded)) if recorded is not None else ["gravity, loads or the ground"]
    if acting:
        names = listed(acting, LISTED)
        if change > CONSTANT * scale:
            return NEUTRAL, f"It changes by what acts from outside: {names}."
        return GOOD, f"It is constant to {_part(change, scale)}, though something acts from outside: {names}."
    if change <= WELL * LEAST_ENERGY * scale:
        return GOOD, f"Nothing acts from outside, and it is constant to {_part(change, scale)}."
    if change <= getattr(Rounding.of(results), f"{word}_momentum"):
        return GOOD, "Nothing acts from outside, and it is constant to rounding."
    reason = f"Nothing acts from outside, so that it must be constant, and it drifts by {_part(change, scale)}"
    level = FAIR if change <= LEAST_ENERGY * scale else POOR
    return level, f"{reason}: compare with a run of smaller {finer_of(results)}."


def _constraints(results: Results) -> Iterator[Verdict]:
    speed, finer = _fastest(results, "velocity"), finer_of(results)
    limits = (
        ("constraint_position", "constraints", POSITION, "", "Joints hold their positions and angles (m, rad)"),
        ("constraint_velocity", "rates of constraints", VELOCITY * (1.0 + speed), "/s", "Joints hold their rates"),
        ("quaternion_norm", "quaternion lengths", LENGTH, "", "Attitudes keep their length of one"),
    )
    for name, subject, limit, unit, held in limits:
        if name not in results.audit:
            continue
        size = largest(results.audit[name])
        value = f"{size:.2g}{unit}"
        if size == 0.0 and name != "quaternion_norm":
            yield Verdict(subject, value, GOOD, "There are no equations of joints, or they hold exactly.")
        elif size <= WELL * limit:
            yield Verdict(subject, value, GOOD, f"{held} to {size:.1g}.")
        elif size <= limit:
            yield Verdict(subject, value, FAIR, f"{held} only to {size:.1g}; a warning is given above {limit:.1g}.")
        else:
            reason = f"Above {limit:.1g}, where a run warns: run again with a smaller {finer}."
            yield Verdict(subject, value, POOR, reason)


def _balances(results: Results) -> Iterator[Verdict]:
    for name, words, unit in BALANCES:
        if name not in results.audit:
            continue
        size, scale = largest(results.audit[name]), largest_load(results.series, loads_among(results.series, words))
        rounding = getattr(Rounding.of(results), name.partition("_")[0])
        subject = name.replace("_", " ")
        value = f"{size:.2g} {unit}" + (f", largest {words[0]} {scale:.3g} {unit}" if scale else "")
        between = "" if results.method == "static" else " between steps"
        meaning = f"What the equations leave on a body or node{between}"
        if not scale:
            yield Verdict(subject, value, NEUTRAL, f"{meaning}; no {words[0]} is recorded to compare it with.")
        elif BALANCED * scale < size <= rounding:
            yield Verdict(subject, value, GOOD, f"{meaning} is rounding.")
        elif size <= BALANCED * scale:
            yield Verdict(subject, value, GOOD, f"{meaning} is small against the forces: {_part(size, scale)}.")
        elif size <= UNBALANCED * scale:
            reason = f"{meaning} is {_part(size, scale)} of the largest: vibrations that the steps do not resolve."
            reason += f" For exact peak loads compare with a smaller {finer_of(results)}."
            yield Verdict(subject, value, FAIR, reason)
        else:
            reason = f"{meaning} is as large as the forces ({_part(size, scale)}): do not read peak loads from this run"
            yield Verdict(subject, value, POOR, f"{reason}, or only where the balance is small.")


def _fastest(results: Results, name: str) -> float:
    """The largest component of velocities or angular velocities of bodies, beams and shells."""
    groups = (*results.bodies.values(), *results.beams.values(), *results.shells.values())
    return max((largest(group[name]) for group in groups if name in group), default=0.0)


def _part(size: float, scale: float) -> str:
    """A ratio as text."""
    if not size:
        return "the last digit"
    if scale <= 0.0:
        return "more than all there is"
    ratio = size / scale
    return f"{100.0 * ratio:.2g} %" if ratio >= 1e-4 else f"{ratio:.1g} of the largest"


# The content of results in one table: what was run and how, its cost, the audit, quantities, time span.

AUDITED = ("energy_error", "constraint_position", "constraint_velocity", "quaternion_norm", "force_balance",
           "moment_balance")  # fmt: skip


def wrinkled(results: Results) -> dict[str, str]:
    """The membranes that wrinkled, in words, by shell."""
    found = {name: getattr(group, "wrinkled", "") for name, group in results.of_table("shells").items()}
    return {name: text for name, text in found.items() if text}


def items_of(results: Results) -> dict[str, list[str]]:
    """The names of the items of results by table, in the order of the catalogue; tables without any are left out."""
    found: dict[str, dict[str, None]] = {}
    for path in (*results.arrays, *results.attributes):
        table, *names = path.split("/")
        if names and table in results.present:
            found.setdefault(table, {})[names[0]] = None
    return {table: list(found[table]) for table in results.present}


def description(results: Results) -> dict[str, Any]:
    """Status, method, statistics, largest values of the audit and verdicts on it, items, quantities and time span.

    ``time`` has the number of output times, the first and the last (s); ``audit`` the largest magnitudes;
    ``quantities`` the arrays of each kind of item. All entries are numbers, texts, and lists and dictionaries of them.
    """
    root = results.attributes.get("", {})
    words = ("title", "femb_version", "method", "formulation", "status", "message")
    time = results.time
    return {
        **{word: str(root[word]) for word in words if str(root.get(word, ""))},
        "time": {"count": int(time.size), **({"first": float(time[0]), "last": float(time[-1])} if time.size else {})},
        "statistics": dict(results.statistics),
        "audit": {
            name: largest(results.audit[name]) for name in AUDITED if name in results.audit and len(results.audit[name])
        },
        "verdicts": [asdict(each) for each in verdicts(results)],
        "events": [{"time": event.time, "name": event.name} for event in results.events],
        "items": items_of(results),
        "quantities": _quantities(results),
    }


def described(content: dict[str, Any]) -> str:
    """The verdicts as text, a line for each subject."""
    time = content["time"]
    # the times of statics count the states, those of modes the modes
    word, unit = {"static": ("states", ""), "modes": ("modes", "")}.get(
        content.get("method", ""), ("output times", " s")
    )
    span = f"{time['count']}, {time['first']:g} to {time['last']:g}{unit}" if time["count"] else "none"
    how = [content.get("method", ""), content.get("formulation", "")]
    rows = {
        "title": content.get("title", ""),
        "made by": f"femb {content['femb_version']}" if "femb_version" in content else "",
        "method": ", ".join(filter(None, how)),
        "status": content.get("status", "") + (f": {content['message']}" if content.get("message") else ""),
        word: span,
        "statistics": ", ".join(f"{name.replace('_', ' ')} {_number(v)}" for name, v in content["statistics"].items()),
        "events": ", ".join(f"{event['name']} at {event['time']:.6g} s" for event in content["events"]),
    }
    lines = [f"{label:22}{text}" for label, text in rows.items() if text]
    if content["verdicts"]:
        lines += ["", "audit"]
        lines += [f"  {v['subject']:22}{v['level']:9}{v['value']}\n{'':33}{v['reason']}" for v in content["verdicts"]]
    if content["items"]:
        lines += ["", *(f"{kind.replace('_', ' '):22}{listed(names, 20)}" for kind, names in content["items"].items())]
    if content["quantities"]:
        lines += ["", "quantities"]
        lines += [f"  {kind:20}{', '.join(names)}" for kind, names in content["quantities"].items()]
    return "\n".join(lines)


def _quantities(results: Results) -> dict[str, list[str]]:
    """Names of arrays by the kind of their items, each once."""
    found: dict[str, dict[str, None]] = {}
    for path in results.arrays:
        kind, _, rest = path.partition("/")
        if rest:
            name = rest if kind in ("audit", "static", "modes", "sweep") else rest.rpartition("/")[2]
            found.setdefault(kind, {})[name] = None
    return {kind: list(names) for kind, names in found.items()}


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float | int | np.number) else json.dumps(value, default=str)
