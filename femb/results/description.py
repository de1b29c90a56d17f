"""What results contain, in one table: what was run and how, its cost, the audit, quantities, time span."""

import json
from typing import Any

import numpy as np

from femb.results.results import Results
from femb.results.verdicts import verdicts

AUDITED = ("energy_error", "constraint_position", "constraint_velocity", "quaternion_norm", "force_balance",
           "moment_balance")  # fmt: skip
SHARED = ("bodies", "beams", "joints", "drivers", "springs", "loads", "appendages", "modal_damping")


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
            name: float(np.max(np.abs(results.audit[name])))
            for name in AUDITED
            if name in results.audit and len(results.audit[name])
        },
        "verdicts": [
            {"subject": each.subject, "value": each.value, "level": each.level, "reason": each.reason}
            for each in verdicts(results)
        ],
        "events": [{"time": event.time, "name": event.name} for event in results.events],
        "items": {kind: list(getattr(results, kind)) for kind in SHARED if getattr(results, kind)},
        "quantities": _quantities(results),
    }


def described(content: dict[str, Any]) -> str:
    """The same as text, a line for each subject."""
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
        lines += ["", *(f"{kind.replace('_', ' '):22}{_listed(names)}" for kind, names in content["items"].items())]
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


def _listed(names: list[str], most: int = 20) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
