"""The tables and the pictures of docs/performance.md, made of docs/performance.json."""

import re
from pathlib import Path
from typing import Any

from .harness import FEMB, front

DOCS = Path(__file__).resolve().parents[2] / "docs"
DATA, PAGE, PICTURE = DOCS / "performance.json", DOCS / "performance.md", DOCS / "images" / "work_precision.png"
LAST = "<!-- end of the table -->"


def line(point: dict[str, Any]) -> str:
    """A point in words."""
    head = f"  {point['program']:26} {point['setting']:38}"
    if "failure" in point:
        return f"{head} {point['failure']}"
    return f"{head} {point['cpu']:9.4f} s  error {point['error']:.1e}"


HEAD = """| peer | its setting | error | CPU s | femb's setting | CPU s | ratio |
| --- | --- | --- | --- | --- | --- | --- |"""


def table(data: dict[str, Any]) -> str:
    """The comparisons in Markdown, a table for each problem; of a peer's settings the loosest, the tightest, and the
    one of the least ratio."""
    tables = []
    for problem in data["problems"].values():
        likes = {point.get("like", "") for point in problem["points"]}
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in problem["comparisons"]:
            last = row["peer_setting"].rpartition(", ")[2]
            groups.setdefault((row["peer"], last if last in likes else ""), []).append(row)
        lines = [HEAD]
        for (peer, like), rows in groups.items():
            compared = [row for row in rows if row["ratio"] is not None]
            shown = [rows[0], *([min(compared, key=lambda row: row["ratio"])] if compared else []), rows[-1]]
            for row in {id(row): row for row in rows if row in shown}.values():
                ratio = "-" if row["ratio"] is None else f"{float(format(row['ratio'], '.2g')):g}"
                cpu = f"{row['cpu']:.3g}" if "cpu" in row else "-"
                setting = row["peer_setting"].removesuffix(f", {like}")
                cells = [
                    ", ".join(filter(None, [peer, like])), setting, f"{row['error']:.1e}", f"{row['peer_cpu']:.3g}",
                ]  # fmt: skip
                lines.append("| " + " | ".join(map(exponent, [*cells, row["setting"], cpu, ratio])) + " |")
        for point in problem["points"]:
            if "failure" in point:
                lines.append(f"| {point['program']} | {point['setting']} | {point['failure']} | | | | |")
        tables.append(f"**{problem['title']}**\n\n" + "\n".join(lines))
    return "\n\n".join(tables)


def exponent(text: str) -> str:
    """A number or setting, with exponents of as few digits as they need and no blanks about signs of equality."""
    return re.sub(r"e-0(?=\d)", "e-", text).replace(" = ", "=")


def setup_table(data: dict[str, Any]) -> str:
    """What stands before the first step, ms; see ``bench_setup``."""
    lines = ["| ms of CPU | description | system | all, with a run of 1 ns |", "| --- | --- | --- | --- |"]
    for name, row in data["setup"].items():
        parts = [f"{row[word]:.1f}" for word in ("description", "system", "whole")]
        lines.append("| " + " | ".join([name, *parts]) + " |")
    return "\n".join(lines)


# By the line that begins it in the page.
TABLES = {"<!-- table of performance.json -->": table, "<!-- table of set-up -->": setup_table}


def written(page: str, first: str) -> str:
    """The table that a page has after this line."""
    return page.split(first)[1].split(LAST)[0].strip()


def write_page(data: dict[str, Any]) -> None:
    """Put the tables of the data into the page."""
    page = PAGE.read_text(encoding="utf-8")
    for first, made in TABLES.items():
        before, rest = page.split(first)
        _, after = rest.split(LAST, 1)
        page = f"{before}{first}\n\n{made(data)}\n\n{LAST}{after}"
    PAGE.write_text(page, encoding="utf-8")


def draw(data: dict[str, Any]) -> None:
    """A panel for each problem: error over CPU time, by program."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    from femb.pictures.drawing import INK, PALETTE

    problems = [each for each in data["problems"].values() if any("cpu" in p for p in each["points"])]
    columns = 3
    rows = -(-len(problems) // columns)
    figure = Figure(figsize=(11.0, 3.1 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, problem in zip(grid, problems, strict=False):
        programs = dict.fromkeys(p["program"] for p in problem["points"])
        for program, colour in zip(programs, PALETTE, strict=False):
            points = [p for p in problem["points"] if p["program"] == program and "cpu" in p]
            if not points:
                continue
            best = front(points, program)
            axes.loglog([p["cpu"] for p in best], [max(p["error"], 1e-16) for p in best], color=colour, label=program)
            marker = "o" if program == FEMB else "s"
            axes.loglog(
                [p["cpu"] for p in points], [max(p["error"], 1e-16) for p in points], marker, ms=3.5, color=colour
            )
        axes.set_title(problem["title"], fontsize=9, color=INK)
        axes.grid(True, which="major", lw=0.4, color="#cccccc")
        axes.tick_params(labelsize=7)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.legend(fontsize=7, frameon=False)
    for axes in grid[len(problems) :]:
        axes.axis("off")
    figure.supxlabel("CPU time, s", fontsize=9)
    figure.supylabel("error, m", fontsize=9)
    figure.savefig(PICTURE, dpi=90)
