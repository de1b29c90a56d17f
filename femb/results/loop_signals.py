"""Signals of control loops in results: what each controller reads, wants and sets, by role."""

import json
from dataclasses import dataclass

from femb.base.quantity import Group
from femb.base.types import Floats
from femb.results.groups import NamedArrays

# Quantities of bodies by the words that controllers read them with.
RECORDED_AS = {"attitude": "quaternion"}


@dataclass(frozen=True, eq=False)
class LoopSignal:
    """One signal of a controller's loop.

    role : "reference", "error", "measured", "true", "command", "acting" or "clips". path : TABLE/NAME/QUANTITY of the
    results. unit, components : as the item has recorded them; "" for none. values (T, k) : at the output times. time
    (s,), samples (s, k) : all samples, None where there are none.
    """

    controller: str
    role: str
    path: str
    unit: str
    components: tuple[str, ...]
    values: Floats
    time: Floats | None = None
    samples: Floats | None = None


def loop_signals(results: NamedArrays) -> list[LoopSignal]:
    """The signals of all controllers, each in the order reference, error, measured, true, command, acting, clips."""
    found = []
    for group in getattr(results, "controllers").values():  # noqa: B009 - a table that protocols do not name
        name = group.name
        for role in ("reference", "error"):
            found += _signal(name, role, group, role)
        for read in json.loads(str(group.attributes.get("reads", "[]"))):
            table, item, word = (*read.split(".", 2), "")[:3]
            known = getattr(results, table, {}).get(item) if table in results.present else None
            if known is None:
                continue
            if table == "sensors":
                found += _signal(name, "measured", known, "value", "sample_value")
                found += _signal(name, "true", known, "true", "sample_true")
            else:
                found += _signal(name, "true", known, RECORDED_AS.get(word, word))
        found += _signal(name, "command", group, "output", "sample_output")
        for command in json.loads(str(group.attributes.get("sets", "[]"))):
            table, item, word = command.split(".", 2)
            known = getattr(results, table, {}).get(item) if table in results.present else None
            if known is not None:
                found += _signal(name, "acting", known, word)
                found += _signal(name, "clips", known, "clips") or _signal(name, "clips", known, f"{word}_clips")
    return found


def _signal(controller: str, role: str, group: Group, word: str, samples: str = "") -> list[LoopSignal]:
    """The signal of a quantity of a group; none where it is not recorded over time."""
    if word not in group.series or group[word].ndim > 2:
        return []
    values = group[word].reshape(len(group[word]), -1)
    unit, components = group.columns_of(word)
    if not components and values.shape[1] > 1:
        components = tuple({3: "xyz", 4: "wxyz"}.get(values.shape[1], map(str, range(values.shape[1]))))
    time = sampled = None
    if samples and samples in group and "sample_time" in group:
        time, sampled = group["sample_time"], group[samples].reshape(len(group["sample_time"]), -1)
    unit = "" if unit in ("-", "own") else unit
    return [LoopSignal(controller, role, f"{group.path}/{word}", unit, components, values, time, sampled)]
