"""Cases of shells: panels, tapes, plates and dishes do what their pages say."""

from functools import cache

import pytest
from checkout import CASES, ROOT
from oracles.page_tables import is_printed, rows_of

import femb

PAGES = ROOT / "docs" / "cases"


@cache
def script(case, title, until=""):
    """The names of a Python block of a case's page, up to a line of it."""
    text = (PAGES / f"{case}.md").read_text().partition(f"```python title={title}\n")[2].partition("```")[0]
    names = {}
    exec(text.partition(until)[0] if until else text, names)
    return names


def compare(case, heading, columns):
    """The cells of a table of a page against the columns of the program."""
    table = rows_of(PAGES / f"{case}.md", heading)
    for (label, cells), numbers in zip(table.items(), zip(*columns, strict=True), strict=True):
        assert all(map(is_printed, cells, numbers)), (label, cells, numbers)


def test_panel_slew_has_the_modes_of_its_table(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = script("panel_slew", "comparison", "\nmodels =")
    table = list(rows_of(PAGES / "panel_slew.md", "Three models of one panel").items())[:11]
    for (label, cells), value in zip(table, names["of_modes"](names["case"].model), strict=True):
        assert is_printed(cells[0], value), (label, cells, value)


@pytest.mark.slow
def test_panel_slew_is_alike_as_shell_reduced_body_and_beams(monkeypatch):
    monkeypatch.chdir(ROOT)
    compare("panel_slew", "Three models of one panel", script("panel_slew", "comparison")["columns"].values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("elements", "printed"),
    [("[24, 8]", "2.379 3.874 11.68 12.78 32.00"), ("[36, 12]", "2.379 3.874 11.66 12.76 31.90")],
)
def test_panel_slew_on_finer_meshes(elements, printed):
    model = femb.load_case(CASES / "panel_slew.toml", [f"shells.panel.elements={elements}"]).model
    assert all(map(is_printed, printed.split(), femb.modes(model, 5, held="hub").frequencies))
