"""Write tutorials as executed notebooks beside their pages: ``python docs/write_notebooks.py [NAME ...]``.

A cell is a block of code of the page, and the text between two blocks: the page is the only source. Commands are cells
with an exclamation mark, files of the page are written by ``%%writefile``. Each cell is executed here, in a folder of
its own, without Jupyter; its output is what it prints.
"""

import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "tutorials"
NAMES = ("first_hour", "attitude_loop", "solar_array_of_shells")
FENCE = re.compile(r"^```(\w+)?[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
OFFER = re.compile(r"It is an executed \[notebook\]\(\w+\.ipynb\) too\. ")
IMAGE = re.compile(r"!\[([^\]]*)\]\(\.\./images/([\w.]+)\)")


def cells(page: str) -> Iterator[tuple[str, str]]:
    """Kind ("markdown" or "code") and source of the cells of a page, in their order."""
    page, end = OFFER.sub("", page), 0
    for match in FENCE.finditer(page):
        source = code_of(match[1], match[2], match[3])
        if source is None:
            continue
        text = page[end : match.start()]
        end = match.end()
        if text.strip():
            yield "markdown", text.strip()
        yield "code", source.rstrip("\n")
    if page[end:].strip():
        yield "markdown", page[end:].strip()


def code_of(language: str | None, words: str, block: str) -> str | None:
    """The source of the cell of a block; None of one that is no code."""
    if words.startswith("title="):
        return f"%%writefile {words.removeprefix('title=')}\n{block}"
    if language == "python":
        return block
    if language == "bash":
        return "".join(f"!{line}\n" if not line.startswith(" ") else f"{line}\n" for line in block.splitlines())
    if language == "console":
        return "".join(f"!{line[2:]}\n" for line in block.splitlines() if line.startswith("$ "))
    return None


def executed(source: str, namespace: dict[str, Any]) -> str:
    """What a cell prints. Raises what it raises."""
    if source.startswith("%%writefile "):
        name, _, text = source.removeprefix("%%writefile ").partition("\n")
        Path(name).write_text(text + "\n", encoding="utf-8")
        return f"Writing {name}"
    printed = io.StringIO()
    if source.startswith("!"):
        for command in source.replace("\\\n", " ").splitlines():
            done = subprocess.run(
                re.sub(r"\bfemb\b", f'"{sys.executable}" -m femb', command[1:], count=1),
                shell=True, capture_output=True, text=True, check=True,
                env={**os.environ, "COLUMNS": "120"},
            )  # fmt: skip
            printed.write(done.stdout)
    else:
        with contextlib.redirect_stdout(printed):
            exec(source, namespace)
    return printed.getvalue()


def notebook(page: str, run: bool = True) -> dict[str, Any]:
    """The notebook of a page; run : whether its cells are executed, in the current folder."""
    made: list[dict[str, Any]] = []
    namespace: dict[str, Any] = {"__name__": "notebook"}
    count = 0
    for number, (kind, source) in enumerate(cells(page)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        if kind == "markdown":
            names = [name for _, name in IMAGE.findall(source)]
            if names:
                cell["attachments"] = {name: {"image/png": encoded(ROOT / "docs" / "images" / name)} for name in names}
            source = IMAGE.sub(r"![\1](attachment:\2)", source)
        else:
            count += 1
            text = executed(source, namespace) if run else ""
            output = {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}
            cell |= {"execution_count": count if run else None, "outputs": [output] if text else []}
        made.append(cell | {"source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def encoded(path: Path) -> str:
    """A file in base64."""
    return base64.b64encode(path.read_bytes()).decode()


def main(names: list[str]) -> None:
    """Write the notebooks of some names, or all."""
    for name in names or NAMES:
        page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            (Path(folder) / "cases").symlink_to(ROOT / "cases")
            made = notebook(page)
        path = PAGES / f"{name}.ipynb"
        path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
