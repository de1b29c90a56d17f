"""The table of planted bugs fits the sources, so that it can be run at any time (``python -m tests.mutants``)."""

from mutants.table import MUTANTS


def test_every_mutant_can_be_planted():
    assert [problem for mutant in MUTANTS if (problem := mutant.problem())] == []


def test_every_mutant_is_of_its_own():
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
    assert all(mutant.physics for mutant in MUTANTS)
