"""A planted bug: one place of a source file, wrong text for right text, and the quick tests that should see it."""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Mutant(NamedTuple):
    """One wrong line of femb.

    file: path from the root of the checkout. old: text that stands there exactly once. new: text in its place.
    tests: paths of tests from the root, or ``path::test_name``, in words apart by blanks. physics: what becomes wrong,
    in a few words.
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
        missing = [test for test in self.tests.split() if not _exists(root, *test.partition("::")[::2])]
        return f"{', '.join(missing)}: no such tests" if missing else ""


def _exists(root: Path, path: str, name: str) -> bool:
    """Whether a file or folder of tests is there, and in the file the test, if one is named."""
    if not name:
        return (root / path).exists()
    return (root / path).is_file() and f"def {name.partition('[')[0]}(" in (root / path).read_text(encoding="utf-8")


@cache
def equivalents() -> dict[tuple[str, str, str], str]:
    """Reasons why no test can see a mutant, by its file, right and wrong text (``equivalent.toml``)."""
    rows = tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text(encoding="utf-8")).get("mutant", [])
    return {(row["file"], row["right"], row["wrong"]): row["reason"] for row in rows}
