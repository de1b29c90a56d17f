"""Cases that come with femb: in an installed femb its package data ``femb.cases``, in a checkout the folder ``cases``;
and starters, commented cases to begin with.
"""

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from femb.base.errors import ResultError

PACKAGE = Path(__file__).resolve().parents[1]
STARTERS = Path(__file__).resolve().parent / "starters"
# Files of cases that a case or a starter needs beside it, by its name.
DATA = {
    "panel_wing": ("panel_wing/panel.npz", "panel_wing/panel.npz"),
    "panel": ("panel_wing/panel.npz", "panel.npz"),
    "satellite_two_arrays_slew": ("satellite_two_arrays.toml", "satellite_two_arrays.toml"),
}


@dataclass(frozen=True)
class Known:
    """A case or a starter: its name, file, title, and what it is for."""

    name: str
    file: Path
    title: str
    purpose: str


def folder() -> Path:
    """The folder of the cases. Raises ResultError: neither package data nor a checkout."""
    for found in (PACKAGE / "cases", PACKAGE.parent / "cases"):
        if (found / "satellite_free.toml").is_file():
            return found
    raise ResultError(f"the cases are not in this installation, {PACKAGE}; take a checkout, or install femb again")


def cases() -> dict[str, Known]:
    """All cases by name, in alphabetical order. Raises ResultError."""
    files = sorted([*folder().glob("*.toml"), *folder().glob("*.py")])
    return {file.stem: _known(file) for file in files if not file.stem.startswith("_")}


def starters() -> dict[str, Known]:
    """All starters by kind."""
    return {file.stem: _known(file) for file in sorted(STARTERS.glob("*.toml"))}


def copy(known: Known, target: Path) -> list[Path]:
    """Copy a case with its data to a file; the paths written. Raises ResultError: one of them exists already."""
    pairs = [(known.file, target)]
    if known.name in DATA:
        beside, place = DATA[known.name]
        pairs.append((folder() / beside, target.parent / place))
    for _, path in pairs:
        if path.exists():
            raise ResultError(f"{path}: exists already and is not replaced; give another FILE, or remove it")
    for source, path in pairs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
    return [path for _, path in pairs]


def chosen(name: str, among: dict[str, Known], what: str) -> Known:
    """The case or starter of a name. Raises ResultError, with the names that there are."""
    if name not in among:
        from femb.base.values import nearest

        raise ResultError(
            f"{name}: there is no such {what}{nearest(name, among) or '; there are: ' + ', '.join(among)}"
        )
    return among[name]


def _known(file: Path) -> Known:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        doc = ast.get_docstring(ast.parse(text)) or ""
        head = " ".join(doc.partition("\n\n")[0].split())
        title, _, rest = head.partition(": ")
        found = re.search(r"^Purpose(.*?)(?=^\S|\Z)", doc, re.MULTILINE | re.DOTALL)
        purpose = " ".join(found[1].split()) if found else rest
        return Known(file.stem, file, title.rstrip("."), purpose)
    comment = re.match(r"(?:#.*\n)+", text)
    lines = [line.removeprefix("#").strip() for line in comment[0].splitlines()] if comment else []
    ends = [k for k, line in enumerate(lines) if k and (not line or re.match(r"(Source|Look at)\b", line))]
    purpose = " ".join(lines[: min(ends, default=len(lines))]).removeprefix("Purpose").strip()
    return Known(file.stem, file, str(tomllib.loads(text).get("title", "")), purpose)
