"""The page: data, scripts, styles and libraries in one file of HTML."""

import html
import json
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from femb import __version__
from femb.base.errors import ResultError
from femb.base.quantity import Group
from femb.base.types import Floats
from femb.base.values import numbered
from femb.elements.beam.results import BeamResults
from femb.elements.body.results import BodyResults
from femb.pictures.drawing import svg
from femb.pictures.files import writing
from femb.pictures.frequency import Campbell
from femb.pictures.study import STUDY_FIGURES, default_figure, is_map
from femb.pictures.words import DEGREES, MEASURES
from femb.reporting import frequency as modal
from femb.reporting.frequency import Frequency, facts_of, number
from femb.reporting.packing import FINE, Packing
from femb.reporting.scene import FRAMES, scene_of
from femb.results.loop_signals import loop_signals
from femb.results.results import Results
from femb.results.sweep import METHOD as SWEEP
from femb.results.sweep import OF_MODES, SENSITIVITIES, Sweep
from femb.results.verdicts import items_of, verdicts

# The time histories of a page: the recorded quantities by name, with labels and units.

VALUES = 6_000_000  # numbers of all histories: with more, those at the end of the order of `_groups` are thinned
ROWS, FEWEST_ROWS = 2000, 500  # output times of thinned histories: at most, and with very many of them
THINNED = 600_000  # numbers of all thinned histories; quantities beyond are left out
AXES = {3: "xyz", 4: "0123"}
OF_NODES = ("position", "velocity", "deflection", "displacement", "acceleration", "angular_velocity")
SECTION = ("section_force", "section_moment", "strain")
ANGLES = "euler_angles"
ANGULAR = ("rad", "rad/s", "rad/s2")  # units of coordinates, also of springs and drivers, that are told in degrees
OF_MOTION = ("velocity", "angular_velocity", "acceleration", "angular_acceleration", "rate", "rates", "accelerations")


def histories_of(results: Results, packing: Packing, paths: Container[str] | None = None) -> dict[str, Any] | None:
    """The histories of results; None without any.

    Those that are looked at most have all output times, up to `VALUES` numbers, the others every n-th, ``every``.
    ``left_out`` counts quantities for which there is no room. paths : of the histories, by default all. Of static
    states, rates that are zero are left out.
    """
    if not results.time.size or results.method == "modes":
        return None
    still = results.method == "static"
    found = []
    for path, unit, labels, values in quantities_of(results):
        if paths is not None and path not in paths:
            continue
        if still and path.rpartition("/")[2] in OF_MOTION and not np.any(values):
            continue
        if values.size and values.dtype.kind in "fiu" and np.any(np.isfinite(values)):
            found.append((path, unit, labels, values.reshape(len(values), -1)))
    sizes = np.cumsum([values.size for *_, values in found])
    whole = len(found) if not len(found) or sizes[-1] <= VALUES else int(np.sum(sizes <= VALUES - THINNED))
    columns = sum(values.shape[1] for *_, values in found[whole:])
    every = -(-results.time.size // max(FEWEST_ROWS, min(ROWS, THINNED // max(1, columns))))
    rows = np.unique([*range(0, results.time.size, every), results.time.size - 1])
    entries, room, left_out = [], THINNED, 0
    for k, (path, unit, labels, values) in enumerate(found):
        entry: dict[str, Any] = {"path": path, "unit": unit, "labels": list(labels)}
        entry["largest"] = float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))
        if k >= whole and every > 1:
            values = values[rows]
            room -= values.size
            if room < 0:
                left_out += 1
                continue
            entry["every"] = every
        entries.append(entry | {"values": packing.add(values.astype(float), FINE)})
    if not entries:
        return None
    times = packing.add(results.time, FINE + 8)
    label = "state" if results.method == "static" else "time (s)"
    return {"times": times, "axis": label, "entries": entries, "left_out": left_out}


def quantities_of(results: Results) -> Iterator[tuple[str, str, Sequence[str], Floats]]:
    """Path, unit, labels of the c components and values (T, c), of the most looked at first."""
    for group in _groups(results):
        if isinstance(group, BeamResults):
            yield from _of_beam(group)
            continue
        if group.attributes.get("fixed"):
            continue
        if isinstance(group, BodyResults) and "quaternion" in group:
            yield f"{group.path}/{ANGLES}", "deg", list("xyz"), np.degrees(group.euler_angles())
        kinds = type(group).quantities()
        for name in group.arrays:
            path = f"{group.path}/{name}"
            if path not in results.series:
                continue
            array = results.series[path]
            if array.ndim > 2:
                continue
            own, names = group.columns_of(name)
            unit = own if name in kinds else ""
            labels = names if array.ndim == 2 and len(names) == array.shape[1] else _labels(group, array)
            if unit in ANGULAR and (name in MEASURES or name == "angle"):
                unit, array = unit.replace("rad", "deg"), DEGREES * array  # as in figures
            yield path, unit if unit not in ("-", "own") else "", labels, array
    known = {*results.tables, "audit", "time"}
    for path, array in results.series.items():
        if path.split("/")[0] not in known and array.ndim <= 2:
            yield path, "", _numbered(array), array


def _groups(results: Results) -> list[Group]:
    """The groups of all items: bodies, joints, beams, and so on; the audit first."""
    groups = list(results.groups())
    order = ("audit", "bodies", "joints", "beams")
    return sorted(groups, key=lambda group: order.index(kind) if (kind := group.path.split("/")[0]) in order else 9)


def _of_beam(beam: BeamResults) -> Iterator[tuple[str, str, Sequence[str], Floats]]:
    """Histories of the first, middle and last node, and at both ends of the beam."""
    kinds = BeamResults.quantities()
    for name in OF_NODES:
        if name in beam or name in ("deflection", "displacement"):
            array = getattr(beam, name)
            last = array.shape[1] - 1
            nodes = sorted({0, last // 2, last}, reverse=True)
            for node in nodes[:-1] if name == "deflection" else nodes:
                yield f"{beam.path}[{node}]/{name}", kinds[name].unit, list("xyz"), array[:, node]
    for name in SECTION:
        if name in beam:
            array = beam[name]
            labels = list("xyz") if array.ndim == 4 else ["axial"]
            for place, values in (("start", array[:, 0, 0]), ("end", array[:, -1, 1])):
                unit = kinds[name].unit
                yield f"{beam.path}/{name} at {place}", "" if unit == "-" else unit, labels, values


def _labels(group: Group, array: Floats) -> Sequence[str]:
    names = group.attributes.get("names")
    if array.ndim == 2 and names is not None:
        listed = json.loads(str(names))
        if len(listed) == array.shape[1]:
            return [str(name) for name in listed]
    return _numbered(array)


def _numbered(array: Floats) -> Sequence[str]:
    """Names of components: axes, or numbers."""
    if array.ndim == 1:
        return [""]
    return list(AXES.get(array.shape[1], "")) or [str(k) for k in range(array.shape[1])]


# The words and tables of a page: what was run, the audit, static states and studies.

STATISTICS = ("steps", "rejected", "evaluations", "jacobians", "factorizations", "newton_iterations")
LISTED = 5000  # rows of a table
ANALYSES = {
    "modes": "natural modes",
    "static": "static equilibria",
    SWEEP: "study of many runs",
    SENSITIVITIES: "derivatives",
}
TITLES = ("linear/title", "shake/title", "loads/title")
LINEAR = {
    "linear/channels": "control loop",
    "linear/A": "linear model",
    "shake/real": "base shake",
    "loads/peaks/item": "peak loads",
}


def head_of(results: Results, name: str) -> dict[str, Any]:
    """Title, status, and facts by name; ``name`` : of the result file, or empty."""
    root = results.attributes.get("", {})
    statistics = results.statistics
    times = results.time
    linear = next((text for path, text in LINEAR.items() if path in results.arrays), "motion in time")
    title = results.title or next((str(results.arrays[path][0]) for path in TITLES if path in results.arrays), "")
    title = title or (linear.capitalize() if linear in LINEAR.values() else name or "Results")
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
    if linear not in LINEAR.values():
        for table, names in items_of(results).items():
            if table not in ("appendages", "modal_damping"):
                more = f", ... ({len(names)})" if len(names) > 8 else ""
                facts[table.replace("_", " ")] = ", ".join(names[:8]) + more
    facts["modal damping"] = "; ".join(group.description for group in results.modal_damping.values())
    facts["events"] = ", ".join(f"{event.name} at {event.time:.6g} s" for event in results.events[:12])
    facts["made with"] = f"femb {root['femb_version']}" if "femb_version" in root else ""
    facts["report"] = f"femb {__version__}, {time.strftime('%Y-%m-%d %H:%M')}"
    return {
        "title": title,
        "status": results.status,
        "message": results.message,
        "events": [{"time": event.time, "name": event.name} for event in results.events],
        "facts": [[word, text] for word, text in facts.items() if text],
    }


def budget_of(results: Results) -> list[dict[str, Any]]:
    """The budgets of all kinds of items up to the last output time, as rows; without those that have done nothing."""
    rows = []
    for group in results.budget.values():
        last = {word: np.atleast_1d(group[word][-1]) for word in group.arrays if len(group[word])}
        if any(np.any(values) for values in last.values()):
            values = {word: [number(x) for x in array] for word, array in last.items()}
            rows.append({"account": group.name.replace("_", " "), **values})
    return rows


def loops_of(results: Results) -> list[dict[str, Any]]:
    """The signals of each controller, as rows: role, path, unit, names, the largest and the last values."""
    rows = []
    for signal in loop_signals(results):
        values = signal.values
        if signal.role == "clips" and not values.any():
            continue
        rows.append(
            {
                "controller": signal.controller,
                "role": signal.role,
                "path": signal.path,
                "unit": signal.unit,
                "names": list(signal.components),
                "largest": [number(x) for x in np.max(np.abs(values), axis=0, initial=0.0)],
                "last": [number(x) for x in values[-1]] if len(values) else [],
            }
        )
    return rows


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
        "judged": sweep.judged(),
        "best": sweep.best,
        "limits": {sweep.label(name): [x for x in pair if x is not None] for name, pair in sweep.limits.items()},
        "campbell": _campbell(sweep) if sweep.design == OF_MODES else None,
    }


def figures_of(results: Results, others: Mapping[str, Results]) -> list[dict[str, str]]:
    """The figures of the other studies, by their names, maps where they can be; and the map of results themselves."""
    found = []
    for name, study in (("", results), *others.items()):
        if study.method != SWEEP or not (name or is_map(Sweep.of(study))):
            continue
        word = "map" if is_map(Sweep.of(study)) else default_figure(study)
        try:
            found.append({"name": name, "picture": svg(STUDY_FIGURES[word](study))})
        except ResultError:  # nothing to draw, as of runs on one line
            if name:
                raise
    return found


def sensitivities_of(results: Results) -> list[dict[str, Any]]:
    """Derivatives of each output by parameters, those that change it most first; none of other results."""
    if results.method != SENSITIVITIES:
        return []
    of = {path.partition("/")[2]: array for path, array in results.arrays.items()}
    changes, found = of["derivatives"] * of["swings"], []
    for i, name in enumerate(of["outputs"]):
        rows = [
            {"by": str(of["parameters"][k]), "unit": str(of["parameters_units"][k])}
            | {word: number(x[k]) for word, x in (("value", of["nominal"]), ("change", changes[i]))}
            | {word: number(of[key][i, k]) for word, key in (("derivative", "derivatives"), ("error", "errors"))}
            for k in np.argsort(-np.abs(changes[i]), kind="stable")[:LISTED]
        ]
        words = {"name": str(name), "unit": str(of["outputs_units"][i]), "way": str(of["ways"][i])}
        found.append(words | {"value": number(of["values"][i]), "rows": rows})
    return found


def _campbell(sweep: Sweep) -> dict[str, Any]:
    """Modes over a parameter, and multiples of its rate of rotation, in Hz."""
    found = Campbell.of(sweep)
    turns = np.abs(found.speed) / 60.0

    def curves(of: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{"name": name, "values": [number(x) for x in values]} for name, values in of.items()]

    groups = {name: found.modes[alike[0]] for name, alike in found.groups().items()}
    return {
        "label": found.label,
        "speed": [number(x) for x in found.speed],
        "modes": curves(groups),
        "crossings": [[list(map(number, each)) for each in found.crossings(values)] for values in groups.values()],
        "revolutions": curves({f"{n}P": n * turns for n in found.revolutions}),
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


NO_RESULTS: Mapping[str, Results] = {}

FORMAT = 1  # of the data; see schema.json
SCRIPTS = (
    *("arrays", "colours", "beams", "carriers", "structure", "viewer", "plots", "player", "picks", "film"),
    *("curves", "chart", "tables", "envelopes", "modes", "frequency", "parallel", "study", "main"),
)
"""The scripts of the page, parts of one, in this order."""
FEWEST, MOST = 2, 20_000
UNFINISHED = ("running", "failed")  # runs of which a page also tells that there is no output time yet


def page_of(
    results: Results,
    *,
    name: str = "",
    frames: int = FRAMES,
    peaks: Sequence[Mapping[str, Any]] = (),
    envelopes: Sequence[Mapping[str, Any]] = (),
    frequency: Frequency | None = None,
    others: Mapping[str, Results] = NO_RESULTS,
) -> str:
    """The text of the page.

    name : of the result file. frames : largest number of output times of the animation. peaks, envelopes : rows of the
    peak-load table, and envelopes of beams, see schema.json. frequency : the responses of a linear model or a base
    shake. others : results by name, whose histories are drawn beside those of the same paths; of studies their figures.
    Raises ResultError: results without anything to show.
    """
    if not FEWEST <= frames <= MOST:
        raise ResultError(f"frames is {frames}; an animation has {FEWEST} to {MOST} output times")
    packing = Packing()
    data: dict[str, Any] = {
        "format": FORMAT,
        "head": head_of(results, name),
        "audit": [asdict(each) for each in verdicts(results)],
        "budget": budget_of(results),
        "loops": loops_of(results),
        "scene": scene_of(results, packing, frames),
        "histories": histories_of(results, packing),
        "peaks": list(peaks),
        "envelopes": list(envelopes),
        "modes": modal.modes_of(results),
        "participation": modal.participation_of(results),
        "static": states_of(results),
        "buckling": _buckling(results, packing),
        "frequency": None if frequency is None else frequency.packed(packing),
        "study": study_of(results),
        "figures": figures_of(results, others),
        "sensitivities": sensitivities_of(results),
        "case": results.case,
    }
    data["others"] = _others(others, data["histories"], packing)
    shown = results.time.size or any(data[word] for word in ("study", "sensitivities", "frequency", "peaks"))
    if not shown and results.status not in UNFINISHED:
        raise ResultError(
            "these results have neither output times nor loads, a linear model or the table of a study, so that a page "
            f"has nothing to show: {results!r}"
        )
    return _filled(data, packing.text())


def _buckling(results: Results, packing: Packing) -> dict[str, Any] | None:
    found = modal.buckling_of(results)
    if found is None:
        return None
    shown, rows, states = found
    return {"scene": scene_of(shown, packing, kind="buckling"), "modes": rows, "states": states}


def _others(others: Mapping[str, Results], own: dict[str, Any] | None, packing: Packing) -> list[dict[str, Any]]:
    """The histories of other runs of which the page has the same paths."""
    found = []
    for label, results in others.items():
        if results.method == SWEEP:
            continue
        paths = {entry["path"] for entry in own["entries"]} if own else set()
        histories = histories_of(results, packing, paths)
        if histories is None:
            raise ResultError(
                f"{label}: has no history of the same name as the first results, so that the two cannot be compared"
            )
        found.append({"name": label, "histories": histories})
    return found


def write_page(text: str, path: str | Path) -> Path:
    """Write a page; its path. An error leaves an earlier file as it was. Raises ResultError."""
    path = Path(path)
    if path.suffix not in (".html", ".htm"):
        raise ResultError(f"{path}: a report is a page for browsers; give a name that ends in .html")
    if path.is_dir():
        raise ResultError(f"{path}: cannot be written: it is a folder")
    with writing(path.parent) as drafts:
        drafts.new(path.name).write_text(text, encoding="utf-8")
    return path


def _filled(data: Mapping[str, Any], arrays: str) -> str:
    # In scripts only "<" can end the element.
    content = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "title": html.escape(str(data["head"]["title"])),
        "styles": _asset("libraries.min.css") + _asset("report.css"),
        "data": content,
        "arrays": arrays,
        "libraries": _asset("libraries.min.js"),
        "scripts": "\n".join(_asset(f"{name}.js") for name in SCRIPTS),
    }
    pieces = _asset("report.html").split("@@")  # texts and names of parts by turns
    return "".join(parts[piece] if odd else piece for odd, piece in ((k % 2, piece) for k, piece in enumerate(pieces)))


@cache
def _asset(name: str) -> str:
    return files("femb.reporting.web").joinpath(name).read_text(encoding="utf-8")
