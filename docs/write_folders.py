"""Write the table of folders of docs/contributing.md, from the docstrings of the packages.

python docs/write_folders.py
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "contributing.md"
TABLE = re.compile(r"(<!-- folders: .* -->\n).*?(<!-- end of folders -->\n)", re.DOTALL)


def page() -> str:
    """The text of the page with an up-to-date table."""
    return TABLE.sub(lambda match: match[1] + table() + match[2], PAGE.read_text(encoding="utf-8"))


def table() -> str:
    """A row for each package of femb and of the element library, with the first sentence about it."""
    files = [
        file
        for folder in ("femb", "elements")
        for file in sorted((ROOT / folder).rglob("__init__.py"))
        if file.parts[len(ROOT.parts) : len(ROOT.parts) + 2] != ("femb", "elements")
    ]
    rows = [f"| `{file.parent.relative_to(ROOT).as_posix()}/` | {contents(file)} |" for file in files]
    return "\n".join(["| folder | contents |", "| --- | --- |", *rows]) + "\n"


def contents(file: Path) -> str:
    """The first paragraph of a package's docstring, without lists of commands and pages."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].split())
    told = re.split(r": ``femb new|; (?:see )?docs/", first)[0].rstrip(".")
    return told.replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
