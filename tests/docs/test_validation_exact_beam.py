"""The tables of docs/validation.md are those of its problems; orders, iterations, and published values."""

from functools import cache, partial

import numpy as np
import pytest
from checkout import ROOT, script

PAGE, BEAMS = (ROOT / "docs" / name for name in ("validation.md", "howto/beams.md"))
# Smaller errors are rounding, of femb, of the reference value, or of critical loads, which are found to 1e-6.
ROUNDING = {"KINDS": 2e-7, "STATICS": 2e-7, "CRITICAL": 3e-6, "MODES": 1e-6, "MOTION": 1e-5}
WORDS = tuple(ROUNDING)[1:]
# What one default run computes, with four elements: a second of computing time.
QUICK = ("bend", "elastica", "thick", "root_reaction", "columns", "strip", "right_angle", "ring",
         "free_free", "along_the_axis", "rotating", "spinning", "cantilevers")  # fmt: skip


problems = partial(script, "validation_exact_beam")


@cache
def rows(word):
    """Header and cells of the lines of a table."""
    page = BEAMS if word == "KINDS" else PAGE
    lines = iter(page.read_text(encoding="utf-8").rpartition("\n## The exact beam\n")[2].splitlines())
    header = next(line for line in lines if line.startswith(f"| {word.lower()}"))
    next(lines)
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.split("|")[1:-1]])
    return [cell.strip() for cell in header.split("|")[1:-1]], found


def table(word):
    """Errors of the page by name and number of elements."""
    header, lines = rows(word)
    counts = [int(cell.split("=")[1]) for cell in header[1:] if "=" in cell]
    cells = ((line[0], zip(counts, line[1:], strict=False)) for line in lines)
    return {name: {n: float(cell) for n, cell in row if cell} for name, row in cells}


def check(word, problem, counts):
    page = table(word)
    for n in counts:
        for name, error in problem(n).items():
            wanted = page[name][n]
            if max(wanted, error) > ROUNDING[word]:
                assert error == pytest.approx(wanted, rel=0.08), (name, n)


def all_problems(quick):
    module = problems()
    return [
        pytest.param(word, problem, id=problem.__name__)
        for word in WORDS
        for problem in getattr(module, word)
        if not quick or problem.__name__ in QUICK
    ]


@pytest.mark.parametrize(("word", "problem"), all_problems(True))
def test_errors_with_four_elements_are_those_of_the_page(word, problem):
    check(word, problem, [4])


@pytest.mark.slow
@pytest.mark.parametrize(("word", "problem"), all_problems(False))
def test_all_errors_are_those_of_the_page(word, problem):
    check(word, problem, problems().counts_of(word, problem))


@pytest.mark.slow
def test_iterations_and_published_values_are_those_of_the_page():
    module = problems()
    iterations = {line[0]: line[-1] for line in rows("STATICS")[1]}
    for problem in module.STATICS:
        for name in problem(4):
            if iterations[name]:
                assert abs(int(iterations[name]) - module.ITERATIONS[name, 4]) <= 1
    page = {line[0]: line[1:] for line in rows("PUBLISHED")[1]}
    for name, (value, mine) in module.published().items():
        published, femb, difference = page[name]
        np.testing.assert_allclose([float(x) for x in published.split(",")], value, rtol=1e-5)
        np.testing.assert_allclose([float(x) for x in femb.split(",")], mine, rtol=2e-5, atol=1e-6)
        assert module.difference(name, value, mine) == pytest.approx(float(difference), rel=0.05)


@pytest.mark.parametrize("n", [2, pytest.param(8, marks=pytest.mark.slow), pytest.param(32, marks=pytest.mark.slow)])
def test_both_kinds_of_beams_have_the_errors_of_their_page(n):
    """The curves of the picture of docs/howto/beams.md."""
    for problem in script("validation_modes").KINDS:
        check("KINDS", problem, [n])


def test_every_problem_has_a_line_and_every_line_a_problem():
    module = problems()
    assert set(module.TABLES) == set(WORDS)
    assert all(len(table(word)) >= len(getattr(module, word)) for word in WORDS)


@pytest.mark.parametrize("name", [name for name in table("STATICS") if not name.startswith("elastica, P L²/EI = 1")])
def test_statics_are_of_order_four(name):
    errors = table("STATICS")[name]
    assert errors[8] / errors[16] > 12.0


def test_few_iterations():
    """One load step; a moment per length is the hardest."""
    counts = [int(line[-1]) for line in rows("STATICS")[1] if line[-1]]
    assert sorted(counts)[-2] <= 9


@pytest.mark.parametrize(
    ("word", "n", "name", "bound"),
    [
        ("STATICS", 8, "Princeton", 1e-5),
        ("STATICS", 8, "Géradin-Cardona", 2e-5),
        ("STATICS", 8, "6 x 6 section on a helix", 2e-5),
        ("CRITICAL", 8, "column", 1e-4),
        ("CRITICAL", 8, "lateral-torsional", 1e-4),
        ("CRITICAL", 8, "right-angle frame", 1e-6),
        ("CRITICAL", 8, "ring", 1e-4),
        ("CRITICAL", 8, "Lee's frame", 1e-6),
        ("MODES", 8, "free-free, mode 1", 1e-5),
        ("MODES", 8, "axial", 1e-5),
        ("MODES", 8, "torsion", 1e-5),
        ("MODES", 8, "rotating cantilever", 3e-5),
        ("MODES", 16, "pretwisted", 1.6e-5),
        ("MODES", 16, "spin about its own axis", 1e-4),
        ("MOTION", 8, "spin-up", 1e-5),
        ("MOTION", 4, "hub with two arms", 1e-4),
    ],
)
def test_errors_of_the_page_are_below_their_bounds(word, n, name, bound):
    found = [errors[n] for row, errors in table(word).items() if row.startswith(name)]
    assert found
    assert max(found) < bound


def test_published_values_agree():
    """Within their digits and meshes."""
    bounds = {
        "45-degree": 4e-3, "the same, place (Simo": 3e-3, "the same, place (Exudyn": 1e-3, "beam twisted": 3e-4,
        "composite": 4e-4, "the same, rotation": 1e-3, "pretwisted": 1e-2, "strip with a swept tip": 8e-2,
    }  # fmt: skip
    lines = rows("PUBLISHED")[1]
    for start, bound in bounds.items():
        (found,) = [float(line[-1]) for line in lines if line[0].startswith(start)]
        assert found < bound
