"""Write the lists of quantities of docs/reference/results.md from femb.results.groups.

    python docs/write_quantities.py

They are between ``<!-- quantities of KIND KIND ... -->`` and ``<!-- end -->``. ``tests/docs/test_docs.py`` checks that
the page is up to date.
"""

import re
from pathlib import Path

from femb.results.groups import groups

PAGE = Path(__file__).resolve().parent / "reference" / "results.md"
TABLE = re.compile(r"(<!-- quantities of ([\w ]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def page() -> str:
    """The text of the page with up-to-date lists."""
    return TABLE.sub(lambda match: match[1] + table(match[2].split()) + match[3], PAGE.read_text(encoding="utf-8"))


def table(kinds: list[str]) -> str:
    """A line for each quantity, under the path of its group."""
    lines = []
    for kind in kinds:
        path = kind if kind == "audit" else f"{kind}/NAME"
        lines += [f"\nBelow `/{path}/`:\n"]
        for name, quantity in groups()[kind].quantities().items():
            unit = "" if quantity.unit == "-" else f", {quantity.unit}"
            lines.append(f"- `{name}` {quantity.shape}{unit}: {quantity.meaning}")
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
