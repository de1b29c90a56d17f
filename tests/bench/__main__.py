"""The problems against other programs: ``python -m tests.bench [--only p1 p2] [--quick] [--json FILE] [--page]``.

Without options, all problems are measured, printed and written to docs/performance.json, and the table and the picture
of docs/performance.md are made of it; ``--page`` only makes these. ``--only`` replaces the problems whose keys
begin so. ``--json`` writes to another file and leaves the page as it is. ``--references`` computes the values without
error anew.
"""

import os

for _word in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_word}_NUM_THREADS", "1")
os.environ.setdefault("FEMB_THREADS", "1")

import argparse  # noqa: E402
import json  # noqa: E402
import platform  # noqa: E402
from importlib.metadata import version  # noqa: E402
from importlib.util import find_spec  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from . import p1_satellite, p2_chain, p3_spin_up, p4_statics, p5_chains, p6_mechanisms, p7_control  # noqa: E402
from .harness import Problem, comparisons, measured  # noqa: E402
from .page import DATA, draw, line, write_page  # noqa: E402

REFERENCES = Path(__file__).with_name("references.json")


FILES = (p1_satellite, p2_chain, p3_spin_up, p4_statics, p5_chains, p6_mechanisms, p7_control)


def all_problems(only: list[str] | tuple[str, ...] = ()) -> list[Problem]:
    """All, or those whose keys begin with one of ``only``."""
    return [
        problem
        for file in FILES
        for problem in file.problems()
        if not only or any(problem.key.startswith(key) for key in only)
    ]


def machine() -> dict[str, str]:
    """What was measured with what."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [each.partition(":")[2].strip() for each in lines if each.startswith("model name")]
    peers = {"mujoco": "mujoco", "bsk": "Basilisk"}
    names_of = ["exudyn", "pin", *(name for name, word in peers.items() if find_spec(word)), "numba", "numpy", "scipy"]
    programs = {name: version(name) for name in names_of}
    return {"processor": names[0] if names else platform.processor(), "python": platform.python_version()} | programs


def references(only: list[str]) -> None:
    """Compute the values without error anew."""
    stored = json.loads(REFERENCES.read_text(encoding="utf-8")) if REFERENCES.exists() else {}
    for problem in all_problems(only):
        stored[problem.key] = np.asarray(problem.reference()).tolist()
        print(problem.key, stored[problem.key][-1], flush=True)
        REFERENCES.write_text(json.dumps(stored, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def measure(only: list[str], quick: bool, repetitions: int, path: Path | None) -> dict[str, Any]:
    """Measure, print, and write after each problem."""
    from .exudyn_peer import silent

    silent()
    stored = json.loads(REFERENCES.read_text(encoding="utf-8"))
    data: dict[str, Any] = {}
    if path is not None and path.exists():
        data = json.loads(path.read_text(encoding="utf-8"))
    if not only:
        data["problems"] = {}
    data.setdefault("problems", {})
    data["machine"] = machine()
    for problem in all_problems(only):
        print(f"\n{problem.title}; {problem.quantity}; {problem.notes}", flush=True)
        points = []
        for point in measured(problem, np.array(stored[problem.key]), quick, repetitions):
            points.append(point)
            print(line(point), flush=True)
        rows = comparisons(points)
        words = {"title": problem.title, "quantity": problem.quantity, "notes": problem.notes}
        data["problems"][problem.key] = words | {"points": points, "comparisons": rows}
        for row in rows:
            peer = f"{row['peer']:26} {row['peer_setting']:24} error {row['error']:.1e}"
            ratio = "not reached" if row["ratio"] is None else f"{row['ratio']:.2f}"
            print(f"  {peer}: ratio {ratio}")
        order = [each.key for each in all_problems()]
        data["problems"] = dict(sorted(data["problems"].items(), key=lambda item: order.index(item[0])))
        if path is not None:
            path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return data


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="KEY", help="problems whose keys begin so: p1, p6_a04")
    parser.add_argument("--quick", action="store_true", help="short runs that show that all works; nothing is written")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path, default=DATA, help="default: docs/performance.json")
    parser.add_argument("--page", action="store_true", help="only make table and picture of the page")
    parser.add_argument("--references", action="store_true", help="compute the references anew")
    options = parser.parse_args(words)
    if options.references:
        references(options.only)
        return
    if not options.page:
        measure(
            options.only,
            options.quick,
            1 if options.quick else options.repetitions,
            None if options.quick else options.json,
        )
    if not options.quick and options.json == DATA:
        data = json.loads(options.json.read_text(encoding="utf-8"))
        write_page(data)
        draw(data)


if __name__ == "__main__":
    main()
