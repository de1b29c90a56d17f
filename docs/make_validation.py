"""Make docs/validation.md: ``python docs/make_validation.py [GROUP ...]``, as LITERATURE or SENSITIVITIES, in minutes.

Computes all problems, or those of some groups, writes their numbers to docs/validation.json, the tables of that file
into the page between its markers, and the pictures. ``--page`` writes the tables of the file alone.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from validation_literature import MODES, STATICS
from validation_motion import MOTION
from validation_problems import GROUPS, order, table
from validation_robust import ROBUST
from validation_sensitivities import SENSITIVITIES

ROOT = Path(__file__).resolve().parent.parent
PAGE, DATA = ROOT / "docs" / "validation.md", ROOT / "docs" / "validation.json"
LITERATURE = "LITERATURE"
# Tables of single values: their subjects, and the problems of these.
LISTS = {
    LITERATURE: {"statics": STATICS, "modes": MODES, "dynamics": MOTION},
    "ROBUST": {"uncertain models": ROBUST},
    "SENSITIVITIES": {"derivatives": SENSITIVITIES},
}
ON_THE_PAGE = tuple(word for word in GROUPS if word != "KINDS")  # that one is of docs/howto/beams.md
PICTURES = {
    LITERATURE: ("validation_literature",),
    "STATICS": ("convergence_statics",),
    "CRITICAL": ("convergence_critical",),
    "MODES": ("convergence_modes",),
    "SHELLS": ("convergence_shells",),
    "SUMS": ("convergence_sums",),
    "PULSE": ("convergence_pulse",),
    "TRANSFER": ("convergence_transfer",),
    "TRUNCATION": ("convergence_truncation",),
    "SHAKE": ("convergence_loads",),
    "PEAKS": ("convergence_loads",),
}


def computed(word: str) -> Any:
    """The numbers of a group as they are stored."""
    if word not in LISTS:
        group = GROUPS[word]
        return {"values": list(group.values), "errors": table(group)}
    return [
        {
            "subject": subject, "problem": row.problem, "mesh": row.mesh, "quantity": row.quantity,
            "source": row.source, "reference": row.reference, "found": row.found, "error": row.error,
            "bound": row.bound,
        }
        for subject, problems in LISTS[word].items()
        for problem in problems
        for row in problem()
    ]  # fmt: skip


def lines_of(word: str, data: Any) -> list[str]:
    """The table of a group."""
    if word in LISTS:
        return literature_lines(data)
    group = GROUPS[word]
    head = [f"{group.symbol}={value:g}" for value in data["values"]] + ["order"] * (group.order is not None)
    lines = [f"| {group.title} | " + " | ".join(head) + " |", "| --- " * (len(head) + 1) + "|"]
    for name, errors in data["errors"].items():
        cells = [f"{error:.1e}" for error in errors]
        cells += [f"{order(group, errors):.1f}"] if group.order is not None else []
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def literature_lines(rows: list[dict[str, Any]]) -> list[str]:
    """A table for each subject: a row for each problem, in which cases of the same values stand below each other."""
    lines: list[str] = []
    for subject in dict.fromkeys(row["subject"] for row in rows):
        lines += ["", f"| {subject} | case | known | error |", "| --- | --- | --- | --- |"]
        groups: dict[str, list[tuple[str, str, str]]] = {}
        for row in rows:
            if row["subject"] != subject:
                continue
            # what is rounding beside the largest value is zero
            least = 1e-12 * max(abs(x) for x in row["reference"])
            known = ", ".join(f"{x if abs(x) > least else 0.0:.8g}" for x in row["reference"])
            cells = (row["problem"].partition(", ")[2], known, f"{row['error']:.1e}")
            groups.setdefault(problem_of(row), []).append(cells)
        for name, alike in groups.items():
            columns = ("<br>".join(column) for column in zip(*alike, strict=True))
            lines.append("| " + " | ".join([name, *columns]) + " |")
    return [*lines, ""]


def problem_of(row: dict[str, Any]) -> str:
    """What rows have in common: problem, mesh, quantity and source."""
    source = "" if row["source"] == "computed" else f" ({row['source']})"
    return f"{row['problem'].partition(', ')[0]}; {row['mesh']}: {row['quantity']}{source}"


def page_with(text: str, data: dict[str, Any]) -> str:
    """The text of the page with the tables of all groups between their markers."""
    for word in (word for word in (*LISTS, *ON_THE_PAGE) if word in data):
        begin, end = f"<!-- validation {word} -->\n", "<!-- end of validation -->\n"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = before + begin + "\n".join(lines_of(word, data[word])) + "\n" + end + after
    return text


def main(words: list[str]) -> None:
    """Compute, write and draw."""
    data: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    groups = [] if "--page" in words else words or [*LISTS, *ON_THE_PAGE]
    for word in groups:
        begin = time.process_time()
        data[word] = computed(word)
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{word}: {time.process_time() - begin:.0f} s of CPU time", flush=True)
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), data), encoding="utf-8")
    if names := list(dict.fromkeys(name for word in groups for name in PICTURES.get(word, ()))):
        import make_images

        make_images.main(names)


if __name__ == "__main__":
    main(sys.argv[1:])
