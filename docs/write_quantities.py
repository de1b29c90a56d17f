"""Write the tables of quantities of docs/reference/results.md from femb.results.groups.

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
    """A row for each quantity, or several of one shape and meaning, under the path of its group."""
    lines = []
    for kind in kinds:
        path = kind if kind == "audit" else f"{kind}/NAME"
        lines += [f"\n| below `/{path}/` | shape | unit | |", "| --- | --- | --- | --- |"]
        groups_of: dict[tuple[str, str, bool], dict[str, str]] = {}
        for name, quantity in groups()[kind].quantities().items():
            meaning, computed = SAID.sub("", quantity.meaning).lstrip(", "), NOT_THERE in quantity.meaning
            alike = groups_of.setdefault((quantity.shape, meaning, computed), {})
            alike[f"`{name}`"] = quantity.unit
        for (shape, meaning, computed), units in groups_of.items():
            told = [unit for unit in dict.fromkeys(units.values()) if unit != "-"]
            cells = [", ".join(units) + "*" * computed, shape, ", ".join(told), meaning.replace("|", "\\|")]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
