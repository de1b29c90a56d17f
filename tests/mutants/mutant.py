"""A planted bug: one place of a source file, wrong text for right text, and the quick tests that should see it."""

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Mutant(NamedTuple):
    """One wrong line of femb.

    file: path from the root of the checkout. old: text that stands there exactly once. new: text in its place.
    tests: paths of tests from the root, in words apart by blanks. physics: what becomes wrong, in a few words.
    """

    file: str
    old: str
    new: str
    tests: str
    physics: str

    def problem(self, root: Path = ROOT) -> str:
        """Reason why it cannot be planted, or an empty string."""
        path = root / self.file
        if not path.is_file():
            return f"{self.file} is not there"
        count = path.read_text(encoding="utf-8").count(self.old)
        if count != 1:
            return f"{self.file} has {self.old!r} {count} times, wanted once"
        if self.old == self.new:
            return f"{self.file}: {self.old!r} is not changed"
        missing = [test for test in self.tests.split() if not (root / test).exists()]
        return f"{', '.join(missing)}: no such tests" if missing else ""
