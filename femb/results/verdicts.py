"""The audit of a run in plain words: each quantity with its largest value, whether that is good, and why.

The limits are those of the warnings of a run, `femb.results.audit`, and parts of them. Source:
docs/reference/results.md, audit.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.results.audit import (
    BALANCED,
    BALANCES,
    LEAST_ENERGY,
    LENGTH,
    POSITION,
    ROUNDING,
    UNBALANCED,
    VELOCITY,
    largest_load,
)
from femb.results.results import Results

# Names of what acts from outside in a sentence.
LISTED = 4
GOOD, FAIR, POOR, NEUTRAL = "good", "fair", "poor", "neutral"
# Parts of the limits of warnings below which an audit is good; of the largest momentum, below which it is constant.
WELL, CONSTANT = 0.01, 1e-6


@dataclass(frozen=True)
class Verdict:
    """What the audit says of one quantity.

    subject : such as "energy". value : the largest value with its unit and scale. level : "good", "fair" (look closer),
    "poor" (not to be trusted), or "neutral" (neither). reason : why, a sentence or two.
    """

    subject: str
    value: str
    level: str
    reason: str


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
    error = _largest(audit.energy_error)
    kinds = [audit[f"{kind}_energy"] for kind in ("kinetic", "potential") if f"{kind}_energy" in audit]
    kinds = [values - values[0] if k else values for k, values in enumerate(kinds)] + (
        [audit.work - audit.work[0]] if "work" in audit else []
    )
    scale = max(map(_largest, kinds), default=0.0)
    value = f"{error:.2g} J, largest energy {scale:.3g} J"
    meaning = "kinetic and potential energy minus the work of loads, drivers and dampers since the start"
    if not np.isfinite(error):
        return Verdict("energy", value, POOR, f"The balance ({meaning}) is not a number: the run broke down.")
    if error <= WELL * LEAST_ENERGY * scale or error == 0.0:
        return Verdict("energy", value, GOOD, f"The balance ({meaning}) is kept to {_part(error, scale)}.")
    if error <= LEAST_ENERGY * scale:
        reason = f"The balance ({meaning}) drifts by {_part(error, scale)}: compare with a run of smaller rtol."
        return Verdict("energy", value, FAIR, reason)
    reason = (
        f"The balance ({meaning}) is missed by {_part(error, scale)}: the steps missed something, such as an impact or "
        "a fast vibration. Run again with a smaller rtol or max_step."
    )
    return Verdict("energy", value, POOR, reason)


def _momenta(results: Results) -> Iterator[Verdict]:
    for word, unit in (("linear", "N s"), ("angular", "N m s")):
        name = f"{word}_momentum"
        if name not in results.audit:
            continue
        values = results.audit[name]
        change, size = _largest(np.linalg.norm(values - values[0], axis=-1)), _largest(np.linalg.norm(values, axis=-1))
        # With parts that move against each other the momentum may be far smaller than theirs: 2 T / v.
        moving = _largest(results.audit["kinetic_energy"]) if "kinetic_energy" in results.audit else 0.0
        rate = _fastest(results, "velocity" if word == "linear" else "angular_velocity")
        scale = max(size, 2.0 * moving / rate if rate > 0.0 else 0.0)
        value = f"changes by {change:.2g} {unit}, largest {size:.3g} {unit}"
        yield Verdict(f"{word} momentum", value, *_of_momentum(results, word, change, scale))


def _of_momentum(results: Results, word: str, change: float, scale: float) -> tuple[str, str]:
    """Level and reason of a momentum that changed; scale : the largest, or that of the parts that move."""
    if not np.isfinite(change):
        return POOR, "It is not a number: the run broke down."
    recorded = results.audit.attributes.get(f"{word}_momentum_changed_by")
    acting = json.loads(str(recorded)) if recorded is not None else ["gravity, loads or the ground"]
    if acting and change > CONSTANT * scale:
        names = ", ".join(acting[:LISTED]) + (f" and {len(acting) - LISTED} more" if len(acting) > LISTED else "")
        return NEUTRAL, f"It changes by what acts from outside: {names}."
    if acting:
        return GOOD, "It is constant."
    if change <= WELL * LEAST_ENERGY * scale:
        return GOOD, f"Nothing acts from outside, and it is constant to {_part(change, scale)}."
    reason = f"Nothing acts from outside, so that it must be constant, and it drifts by {_part(change, scale)}"
    return (FAIR if change <= LEAST_ENERGY * scale else POOR), f"{reason}: compare with a run of smaller rtol."


def _constraints(results: Results) -> Iterator[Verdict]:
    speed = _fastest(results, "velocity")
    limits = (
        ("constraint_position", "constraints", POSITION, "", "Joints hold their positions and angles (m, rad)"),
        ("constraint_velocity", "rates of constraints", VELOCITY * (1.0 + speed), "/s", "Joints hold their rates"),
        ("quaternion_norm", "quaternion lengths", LENGTH, "", "Attitudes keep their length of one"),
    )
    for name, subject, limit, unit, held in limits:
        if name not in results.audit:
            continue
        size = _largest(results.audit[name])
        value = f"{size:.2g}{unit}"
        if size == 0.0 and name != "quaternion_norm":
            yield Verdict(subject, value, GOOD, "There are no equations of joints, or they hold exactly.")
        elif size <= WELL * limit:
            yield Verdict(subject, value, GOOD, f"{held} to {size:.1g}.")
        elif size <= limit:
            yield Verdict(subject, value, FAIR, f"{held} only to {size:.1g}; a warning is given above {limit:.1g}.")
        else:
            yield Verdict(subject, value, POOR, f"Above {limit:.1g}, where a run warns: run again with a smaller rtol.")


def _balances(results: Results) -> Iterator[Verdict]:
    for name, words, unit in BALANCES:
        if name not in results.audit:
            continue
        size, scale = _largest(results.audit[name]), largest_load(results.series, words)
        subject = name.replace("_", " ")
        value = f"{size:.2g} {unit}" + (f", largest {words[0]} {scale:.3g} {unit}" if scale else "")
        between = "" if results.method == "static" else " between steps"
        meaning = f"What the equations leave on a body or node{between}"
        if not scale:
            yield Verdict(subject, value, NEUTRAL, f"{meaning}; no {words[0]} is recorded to compare it with.")
        elif size <= max(BALANCED * scale, ROUNDING):
            yield Verdict(subject, value, GOOD, f"{meaning} is small against the forces: {_part(size, scale)}.")
        elif size <= UNBALANCED * scale:
            reason = f"{meaning} is {_part(size, scale)} of the largest: vibrations that the steps do not resolve."
            yield Verdict(subject, value, FAIR, f"{reason} For exact peak loads compare with a smaller rtol.")
        else:
            reason = f"{meaning} is as large as the forces ({_part(size, scale)}): do not read peak loads from this run"
            yield Verdict(subject, value, POOR, f"{reason}, or only where the balance is small.")


def _fastest(results: Results, name: str) -> float:
    """The largest component of velocities or angular velocities of bodies and beams."""
    groups = (*results.bodies.values(), *results.beams.values())
    return max((_largest(group[name]) for group in groups if name in group), default=0.0)


def _largest(values: Floats) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _part(size: float, scale: float) -> str:
    """A ratio as text."""
    if scale <= 0.0:
        return "more than all there is"
    ratio = size / scale
    return f"{100.0 * ratio:.2g} %" if ratio >= 1e-4 else f"{ratio:.1g} of the largest"
