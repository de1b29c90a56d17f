"""Tables on pages, compared with the program: rows of numbers by their first column."""

from pathlib import Path

from oracles.page_numbers import unit_of


def rows_of(page: Path, heading: str) -> dict[str, list[str]]:
    """The cells of the first table after a heading of a page, by the first cell of each row."""
    lines = iter(page.read_text().partition(f"\n## {heading}\n")[2].splitlines())
    table = []
    for line in lines:
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
        elif table:
            break
    return {row[0]: row[1:] for row in table[2:]}


def is_printed(printed: str, value: float) -> bool:
    """Whether a number is the value to half a unit of its last digit."""
    return abs(float(printed.replace(",", "")) - value) <= 0.51 * unit_of(printed)
