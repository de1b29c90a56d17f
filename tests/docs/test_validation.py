"""The tables of docs/validation.md are those of docs/make_validation.py; the errors are below their bounds."""

import json

import numpy as np
import pytest
from checkout import ROOT, script

PAGE = ROOT / "docs" / "validation.md"
# Smaller errors are rounding, of femb or of the reference value.
ROUNDING = 1e-7


def problems():
    return script("validation_problems")


def stored():
    """The numbers of the page."""
    return json.loads((ROOT / "docs" / "validation.json").read_text(encoding="utf-8"))


def test_the_page_has_the_tables_of_its_file():
    make = script("make_validation")
    assert set(stored()) == {*make.LISTS, *make.ON_THE_PAGE}
    text = PAGE.read_text(encoding="utf-8")
    assert make.page_with(text, stored()) == text


@pytest.mark.parametrize(("word", "count"), [("LITERATURE", 40), ("ROBUST", 30), ("SENSITIVITIES", 30)])
def test_values_of_other_programs_are_within_their_bounds(word, count):
    rows = stored()[word]
    assert len(rows) > count
    assert not [row for row in rows if not row["error"] < row["bound"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "word"),
    [("literature", "STATICS"), ("literature", "MODES"), ("motion", "MOTION"), ("robust", "ROBUST"),
     ("sensitivities", "OTHERS")],
)  # fmt: skip
def test_all_values_of_the_literature_are_those_of_the_page(name, word):
    page = {
        (row["problem"], row["quantity"], row["source"]): row
        for rows in (stored()[word] for word in ("LITERATURE", "ROBUST", "SENSITIVITIES"))
        for row in rows
    }
    for problem in getattr(script(f"validation_{name}"), word):
        for row in problem():
            wanted = page[row.problem, row.quantity, row.source]
            assert row.error < row.bound, row
            assert list(row.reference) == wanted["reference"]
            size = max(abs(x) for x in row.reference) or 1.0
            np.testing.assert_allclose(row.found, wanted["found"], rtol=0.0, atol=0.1 * row.bound * size)


def table(word):
    """Errors of the page by name and value of the parameter."""
    lines = iter(PAGE.read_text(encoding="utf-8").splitlines())
    header = next(line for line in lines if line.startswith(f"| {problems().GROUPS[word].title} |"))
    values = [float(cell.split("=")[1]) for cell in header.split("|")[2:-1] if "=" in cell]
    next(lines)
    found = {}
    for line in lines:
        if not line.startswith("|"):
            return values, found
        name, *cells = (cell.strip() for cell in line.split("|")[1:-1])
        found[name] = dict(zip(values, map(float, cells[: len(values)]), strict=True))
    raise AssertionError("no table")


PEERS = {"PULSE": "fmpy", "SUMS": "pyyeti"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "word",
    ["STATICS", "CRITICAL", "MODES", "PULSE", "TRUNCATION", "SUMS", "SHAKE", "PEAKS", "SHELLS", "TRANSFER"],
)
def test_all_errors_are_those_of_the_page(word):
    if word in PEERS:
        pytest.importorskip(PEERS[word], reason=f"{PEERS[word]} is not installed")
    group, (values, page) = problems().GROUPS[word], table(word)
    assert values == list(group.values)
    names = set()
    for problem in group.problems:
        for value in group.values:
            for name, error in problem(value).items():
                names.add(name)
                wanted = page[name][value]
                if max(wanted, error) > ROUNDING:
                    assert error == pytest.approx(wanted, rel=0.06), (name, value)
    assert names == set(page)


BOUNDS = [
    ("SHELLS", 16, "plate S", 0.01),
    ("SHELLS", 16, "plate F", 2e-3),
    ("SHELLS", 16, "plate buckles, compression, hinged", 2e-3),
    ("SHELLS", 16, "plate buckles, heat, clamped", 0.012),
    ("SHELLS", 16, "laminate", 3e-3),
    ("SHELLS", 16, "rotating strip", 3e-4),
    ("SHELLS", 16, "pinched cylinder", 0.07),
    ("STATICS", 32, "elastica, P L²/EI", 1e-5),
    ("STATICS", 32, "cantilever with stretch", 1e-5),
    ("STATICS", 8, "roll-up", 2e-3),
    ("STATICS", 32, "elastica without stretch, L/t = 289", 1e-5),
    ("STATICS", 32, "elastica without stretch, L/t = 913, exact beam", 1e-5),
    ("STATICS", 8, "Géradin-Cardona", 1e-4),
    ("STATICS", 16, "45-degree bend", 1e-4),
    ("STATICS", 16, "Princeton", 1e-3),
    ("CRITICAL", 16, "column", 1e-5),
    ("CRITICAL", 16, "lateral-torsional", 1e-3),
    ("CRITICAL", 16, "right-angle frame", 1e-3),
    ("CRITICAL", 8, "Lee's frame", 1e-4),
    ("MODES", 48, "cantilever,", 1e-6),
    ("MODES", 8, "cantilever, first root, exact beam", 1e-6),
    ("MODES", 48, "free-free", 1e-6),
    ("MODES", 48, "pinned-free", 1e-6),
    ("MODES", 16, "effective masses", 1e-4),
    ("MODES", 48, "hub", 1e-5),
    ("MODES", 16, "effective inertias", 1e-4),
    ("MODES", 16, "rotating cantilever", 1e-4),
    ("PULSE", 0.025, "FMU", 1e-2),
    ("TRANSFER", 1e-5, "largest of 20 frequencies", 1e-4),
    ("TRUNCATION", 5, "bound", 1e-4),
    ("SUMS", 60, "all of the 6 x 6 matrix", 1e-10),
    ("SUMS", 60, "effective masses, pyyeti", 1e-9),
    ("SUMS", 60, "dynamic mass, pyyeti", 1e-9),
    ("SUMS", 1, "root moment, mode acceleration", 1e-9),
    ("SHAKE", 32, "random", 1e-4),
    ("SHAKE", 8, "sine", 1e-6),
    ("PEAKS", 8, "root moment", 1e-5),
]


@pytest.mark.parametrize(("word", "n", "name", "bound"), BOUNDS)
def test_errors_of_the_page_are_below_their_bounds(word, n, name, bound):
    rows = [errors[n] for row, errors in table(word)[1].items() if row.startswith(name)]
    assert rows
    assert max(rows) < bound


@pytest.mark.parametrize("name", ["cantilever, three roots", "free-free, three roots", "pinned-free, three roots"])
def test_frequencies_are_of_order_four(name):
    errors = table("MODES")[1][name]
    assert errors[8] / errors[32] > 0.9 * 4**4


@pytest.mark.parametrize(("name", "order"), [("panel below the boom", 1), ("panel in line", 2), ("FMU", 1)])
def test_differences_from_the_simulation_fall_with_the_pulse(name, order):
    rows = [errors for row, errors in table("PULSE")[1].items() if name in row]
    assert len(rows) == 2
    for errors in rows:
        assert errors[0.1] / errors[0.025] > 0.9 * 4**order


def test_differences_of_the_transfer_function_fall_with_the_sines():
    errors = table("TRANSFER")[1]["largest of 20 frequencies"]
    assert errors[1e-2] / errors[1e-5] > 0.9e3


def test_no_error_of_a_truncation_is_above_its_bound():
    rows = table("TRUNCATION")[1]
    for name, errors in rows.items():
        if name.startswith("error"):
            bounds = rows[name.replace("error", "bound")]
            assert all(error <= max(bounds[count], ROUNDING) for count, error in errors.items()), name
