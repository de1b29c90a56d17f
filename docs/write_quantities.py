"""Write the lists of quantities of docs/reference/results.md from femb.results.groups.

    python docs/write_quantities.py

They are between ``<!-- quantities of KIND KIND ... -->`` and ``<!-- end -->``. ``tests/docs/test_docs.py`` checks that
the page is up to date.
"""

import re
from pathlib import Path

from femb.results.groups import groups

PAGE = Path(__file__).resolve().parent / "reference" / "results.md"
NOT_THERE = "not in the file"
# What the page says once.
PLACE = "(?:in the middle|at both ends) of every element"
SAID = re.compile(rf"(?:, |^)inertial axes(?=[,;]|$)|; {NOT_THERE}|(?:, | |^){PLACE}(?=[,;:]|$)")
TABLE = re.compile(r"(<!-- quantities of ([\w ]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def page() -> str:
    """The text of the page with up-to-date lists."""
    return TABLE.sub(lambda match: match[1] + table(match[2].split()) + match[3], PAGE.read_text(encoding="utf-8"))


def table(kinds: list[str]) -> str:
    """A line for each quantity, or several of one shape and meaning, under the path of its group."""
    lines = []
    for kind in kinds:
        path = kind if kind == "audit" else f"{kind}/NAME"
        lines += [f"\nBelow `/{path}/`:\n"]
        groups_of: dict[tuple[str, str, bool], dict[str, str]] = {}
        for name, quantity in groups()[kind].quantities().items():
            meaning, computed = SAID.sub("", quantity.meaning).lstrip(", "), NOT_THERE in quantity.meaning
            alike = groups_of.setdefault((quantity.shape, meaning, computed), {})
            alike[f"`{name}`"] = quantity.unit
        for (shape, meaning, computed), units in groups_of.items():
            told = [unit for unit in dict.fromkeys(units.values()) if unit != "-"]
            head = f"{', '.join(units)}{'*' if computed else ''} {', '.join([shape, *told])}"
            lines.append(f"- {head}{': ' if meaning else ''}{meaning}")
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
