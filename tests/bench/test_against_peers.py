"""The comparison with other programs: every problem runs, errors are compared rightly, the page has its numbers."""

import importlib
import json
import sys

import pytest
from checkout import ROOT

sys.path.append(str(ROOT))
page = importlib.import_module("tests.bench.page")
harness = importlib.import_module("tests.bench.harness")


def point(program, cpu, error):
    return {"program": program, "setting": "", "cpu": cpu, "error": error}


def test_a_comparison_takes_the_fastest_run_that_is_at_most_as_wrong():
    points = [point("femb", 1.0, 1e-3), point("femb", 2.0, 1e-5), point("femb", 3.0, 1e-4), point("peer", 8.0, 1e-4)]
    points.append({"program": "peer", "setting": "", "failure": "diverged"})
    (row,) = harness.comparisons(points)
    assert (row["cpu"], row["ratio"]) == (2.0, 4.0)
    (row,) = harness.comparisons([points[0], points[3]])
    assert row["ratio"] is None


def test_runs_are_compared_with_those_that_have_the_same_in_common():
    points = [point("femb", cpu, 1e-6) | {"like": f"{k} elements"} for k, cpu in ((4, 1.0), (8, 2.0))]
    points += [point("peer", 6.0, 1e-4) | {"like": f"{k} elements"} for k in (4, 8)]
    assert [row["ratio"] for row in harness.comparisons(points)] == [6.0, 3.0]


@pytest.mark.parametrize("first", page.TABLES)
def test_the_tables_of_the_page_are_those_of_its_numbers(first):
    data = json.loads(page.DATA.read_text(encoding="utf-8"))
    assert page.written(page.PAGE.read_text(encoding="utf-8"), first) == page.TABLES[first](data)


KEYS = (
    "p1_position",
    "p1_deflection",
    "p2_10",
    "p3",
    "p4_roll",
    "p4_bend",
    "p5_100",
    "p6_a01",
    "p6_a02",
    "p6_a04",
    "p7",
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Exudyn, on words of its own
@pytest.mark.parametrize("key", KEYS)
def test_every_program_runs_a_short_problem(key):
    pytest.importorskip("exudyn")
    pytest.importorskip("pinocchio")
    problem = importlib.import_module("tests.bench.__main__").all_problems([key])[0]  # the smallest whose key begins so
    for contender in problem.contenders(True):
        assert contender.run().shape[-1] == 3
