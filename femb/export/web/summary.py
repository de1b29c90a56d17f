"""The words and tables of a page: what was run, the audit, static states and studies."""

import time
from typing import Any

import numpy as np

from femb import __version__
from femb.base.values import numbered
from femb.export.web.modal import facts_of, number
from femb.results.results import Results
from femb.results.sweep import METHOD as SWEEP
from femb.results.sweep import Sweep
from femb.results.verdicts import verdicts

STATISTICS = ("steps", "rejected", "evaluations", "jacobians", "factorizations", "newton_iterations")
LISTED = 5000  # rows of a table
ANALYSES = {"modes": "natural modes", "static": "static equilibria", SWEEP: "study of many runs"}
LINEAR = {"linear/A": "linear model", "shake/real": "base shake", "loads/peaks/item": "peak loads"}


def head_of(results: Results, name: str) -> dict[str, Any]:
    """Title, status, and facts by name; ``name`` : of the result file, or empty."""
    root = results.attributes.get("", {})
    statistics = results.statistics
    times = results.time
    linear = next((text for path, text in LINEAR.items() if path in results.arrays), "motion in time")
    facts = {"results": name, "analysis": ANALYSES.get(results.method, linear)}
    facts |= facts_of(results)
    facts["method"] = "" if results.method in ANALYSES else results.method
    for word in ("formulation", "rtol", "atol", "analysis"):
        if word in root:
            facts[word] = str(root[word])
    if times.size and results.method not in ANALYSES:
        facts["time"] = f"{times[0]:.6g} to {times[-1]:.6g} s, {numbered(times.size, 'output time')}"
    facts["seen from"] = "" if results.frame == "inertial" else results.frame
    facts |= {word.replace("_", " "): str(statistics[word]) for word in STATISTICS if word in statistics}
    for word in ("wall_time", "cpu_time"):
        if word in statistics:
            facts[word.replace("_", " ")] = f"{float(statistics[word]):.3g} s"
    for kind in ("bodies", "beams", "joints", "drivers", "springs", "loads"):
        if (groups := getattr(results, kind)) and linear not in LINEAR.values():
            names = list(groups)
            more = f", ... ({len(names)})" if len(names) > 8 else ""
            facts[kind] = ", ".join(names[:8]) + more
    facts["modal damping"] = "; ".join(group.description for group in results.modal_damping.values())
    facts["events"] = ", ".join(f"{event.name} at {event.time:.6g} s" for event in results.events[:12])
    facts["made with"] = f"femb {root['femb_version']}" if "femb_version" in root else ""
    facts["report"] = f"femb {__version__}, {time.strftime('%Y-%m-%d %H:%M')}"
    return {
        "title": results.title or (linear.capitalize() if linear in LINEAR.values() else name or "Results"),
        "status": results.status,
        "message": results.message,
        "events": [{"time": event.time, "name": event.name} for event in results.events],
        "facts": [[word, text] for word, text in facts.items() if text],
    }


def audit_of(results: Results) -> list[dict[str, str]]:
    """The verdicts on the audit, as rows."""
    return [
        {"subject": each.subject, "value": each.value, "level": each.level, "reason": each.reason}
        for each in verdicts(results)
    ]


def states_of(results: Results) -> dict[str, Any] | None:
    """Load factors, stability and iterations of static states, and critical load factors; None of other results."""
    if "static/load_factor" not in results.arrays:
        return None
    arrays = results.arrays
    words = [word for word in ("load_factor", "negative_eigenvalues", "iterations") if f"static/{word}" in arrays]
    path = {word: [number(x) for x in arrays[f"static/{word}"]] for word in words}
    found: Any = arrays.get("static/critical_load_factor", [])
    names = arrays["static/mode_names"] if "static/mode_names" in arrays else [""] * len(found)
    critical = [{"factor": number(x), "mode": str(name)} for x, name in zip(found, names, strict=True)]
    return {"states": path, "critical": critical, "displacements": _displacements(results)}


def study_of(results: Results) -> dict[str, Any] | None:
    """The table of a study; None of other results."""
    if results.method != SWEEP:
        return None
    sweep = Sweep.of(results)
    columns = {sweep.label(name): values for name, values in sweep.columns().items()}
    rows = [[_cell(x) for x in row[:LISTED]] for row in (list(values) for values in columns.values())]
    return {
        "design": sweep.design,
        "variables": [sweep.label(name) for name in sweep.variables],
        "outputs": [sweep.label(name) for name in sweep.outputs],
        "columns": list(columns),
        "values": rows,
        "runs": len(sweep),
        "failed": int(np.sum(sweep.failed)),
    }


def _displacements(results: Results) -> list[dict[str, Any]]:
    """Displacements (T, 3) of each beam's node and each body that moves farthest, at most twelve."""
    found: list[tuple[float, dict[str, Any]]] = []
    for group in (*results.beams.values(), *results.bodies.values()):
        if "position" not in group:
            continue
        values = group["position"] - group["position"][:1]
        name = group.name
        if values.ndim == 3:
            node = int(np.argmax(np.max(np.linalg.norm(values, axis=-1), axis=0)))
            values, name = values[:, node], f"{name}[{node}]"
        size = float(np.max(np.abs(values), initial=0.0))
        if size > 0.0:
            found.append((size, {"name": name, "values": [[number(x) for x in row] for row in values]}))
    found.sort(key=lambda each: -each[0])
    return [entry for _, entry in found[:12]]


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return number(value)
    return value if isinstance(value, int | str) else str(value)
