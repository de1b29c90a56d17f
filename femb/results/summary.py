"""Results at a glance: their text and their table in a notebook."""

from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.html import table
from femb.results.arrays import listing
from femb.results.quantity import Groups

if TYPE_CHECKING:
    from femb.results.results import Results

LARGEST = (("energy error", "energy_error", " J"), ("constraint violation", "constraint_position", ""))


def parts_of(results: "Results") -> list[str]:
    """Status and times, the names of items by kind, and the largest errors of the audit."""
    time = results.time
    times = f"{time.size} times {time[0]:g} to {time[-1]:g} s" if time.size else "no times"
    kinds: dict[str, Groups[Any]]
    kinds = {"bodies": results.bodies, "beams": results.beams, "joints": results.joints, "drivers": results.drivers}
    parts = [f"{results.status or 'no status'}, {times}"]
    parts += [f"{kind}: {listing(groups, 6)}" for kind, groups in kinds.items() if groups]
    for label, name, unit in LARGEST:
        if name in results.audit and time.size:
            parts.append(f"largest {label} {np.max(np.abs(results.audit[name])):.2g}{unit}")
    return parts


def html_of(results: "Results") -> str:
    """The same as a table."""
    status, *parts = parts_of(results)
    found = [(name, text) for name, _, text in (part.partition(": ") for part in parts)]
    return table(results.title or "Results", [("status", status), ("method", results.method), *found])
