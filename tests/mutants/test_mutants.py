"""The table of planted bugs fits the sources, so that it can be run at any time (``python -m tests.mutants``)."""

from mutants.mutant import ROOT, equivalents
from mutants.table import MUTANTS


def test_every_mutant_can_be_planted():
    assert [problem for mutant in MUTANTS if (problem := mutant.problem())] == []


def test_every_mutant_is_of_its_own():
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
    assert all(mutant.physics for mutant in MUTANTS)


def test_every_equivalent_mutant_changes_text_that_is_there_and_has_a_reason():
    for (file, right, wrong), reason in equivalents().items():
        text = " ".join(line.strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines())
        assert right in text, (file, right)
        assert wrong != right
        assert len(reason.split()) > 3, (file, right)
