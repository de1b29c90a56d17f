"""Which quick tests execute which lines, and how long they take: with compiled kernels, and with kernels as plain
Python, of the rooms that have kernels, a test at most some seconds.

``Reached.measured`` runs the tests with the plugin ``reach`` in a copy of the checkout and keeps what it writes in a
folder, which can be read again while the sources stay.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from operator import or_
from pathlib import Path

from .copied import Copy

NAMES = (("path", "file"), ("context", "context"))  # of coverage.py: columns and their tables
HOW = {False: "interpreted", True: "compiled"}
WITH_KERNELS = ("contracts", "elements", "formulations", "layout", "numerics", "steppers", "system")
SHORT = 0.2  # s, with compiled kernels, of tests that are tried without
PATIENCE = 3.0  # s, of a test without
FEW, MANY = 50, 1000  # tests of the first and of a further run: all their files are imported


@dataclass(frozen=True)
class Place:
    """A statement of a file, from its first line to its last, both counted from one.

    in_kernel : a kernel executes it, or takes it as a constant. at_import : it belongs to no function.
    """

    file: str
    statement: tuple[int, int]
    in_kernel: bool
    at_import: bool

    @property
    def bits(self) -> int:
        """The bits of its lines; of a constant those of the whole file."""
        first, last = self.statement
        return -1 if self.at_import else (1 << last + 1) - (1 << first)

    @property
    def folder(self) -> str:
        """Tests of its room: tests/elements/beam, tests/linear."""
        parts = Path(self.file).parts[:-1]
        return str(Path("tests", *parts[(parts[0] == "femb") : 2]))


@dataclass(frozen=True)
class Part:
    """Lines and tests of one way to run kernels.

    seconds : of each test that passed.
    """

    folder: Path

    @cached_property
    def seconds(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for path in sorted(self.folder.glob("tests.*")):
            found |= json.loads(path.read_text(encoding="utf-8"))
        return found

    @cached_property
    def _rows(self) -> dict[str, list[tuple[str, int]]]:
        """By file: tests that pass and execute lines of it, and the bits of the numbers of these lines."""
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for path in sorted(self.folder.glob("lines.*")):
            with closing(sqlite3.connect(path)) as data:
                files, tests = (dict(data.execute(f"select id, {of} from {table}")) for of, table in NAMES)
                for file, test, bits in data.execute("select file_id, context_id, numbits from line_bits"):
                    if tests[test] in self.seconds:
                        found[files[file]].append((tests[test], int.from_bytes(bits, "little")))
        return found

    @cache  # noqa: B019
    def of_file(self, file: str) -> list[tuple[str, int]]:
        """Tests that pass and execute lines of a file, and the bits of the numbers of these lines."""
        return [row for path, rows in self._rows.items() if path.endswith(f"/{file}") for row in rows]

    @cache  # noqa: B019
    def executed(self, file: str) -> int:
        """The bits of the lines that tests execute."""
        return reduce(or_, (bits for _, bits in self.of_file(file)), 0)


@dataclass(frozen=True)
class Reached:
    """Tests by the lines that they execute."""

    folder: Path

    @classmethod
    def measured(cls, folder: Path, processes: int) -> "Reached":
        """Run the quick tests, unless the folder has their lines already."""
        if all((folder / how).is_dir() for how in HOW.values()):
            return cls(folder)
        with tempfile.TemporaryDirectory(prefix="femb_reach_") as place:
            copy = Copy.of(Path(place))
            for compiled in (True, False):
                into = folder / HOW[compiled]
                if into.is_dir():
                    continue
                tests = ["tests"]
                if not compiled:
                    own = tuple(f"tests/{room}/" for room in WITH_KERNELS)
                    seconds = Part(folder / HOW[True]).seconds
                    tests = [test for test, time in seconds.items() if time < SHORT and test.startswith(own)]
                _measure(copy, tests, compiled, processes, into)
        return cls(folder)

    @cache  # noqa: B019
    def part(self, compiled: bool) -> Part:
        return Part(self.folder / HOW[compiled])

    def has(self, place: Place) -> bool:
        """Whether a test executes a statement, or anything of its file if it runs at import."""
        return bool(self.part(not place.in_kernel).executed(place.file) & place.bits)

    def tests(self, place: Place) -> list[str]:
        """Tests that execute a statement, or anything of its file if it runs at import."""
        return [test for test, bits in self.part(not place.in_kernel).of_file(place.file) if bits & place.bits]

    def chosen(self, place: Place, first: float, more: float) -> tuple[list[str], list[str]]:
        """Tests of a statement that take ``first`` seconds together, and others of ``more`` seconds.

        Those of the folder of its room come first, and of each file the cheapest.
        """
        seconds = self.part(not place.in_kernel).seconds
        of_file: dict[str, list[str]] = defaultdict(list)
        for test in sorted(self.tests(place), key=lambda test: (seconds[test], test)):
            of_file[test.partition("::")[0]].append(test)
        ranked = [(not name.startswith(f"{place.folder}/"), k, seconds[test], test)
                  for name, tests in of_file.items() for k, test in enumerate(tests)]  # fmt: skip
        parts: tuple[list[str], list[str]] = [], []
        total = 0.0
        for _, _, time, test in sorted(ranked):
            k = 0 if total + time <= first and len(parts[0]) < FEW else 1
            if k == 0 or (total + time <= first + more and len(parts[1]) < MANY):
                total += time
                parts[k].append(test)
        return parts


def _measure(copy: Copy, tests: list[str], compiled: bool, processes: int, into: Path) -> None:
    """Run tests with the plugin, and move what it wrote to a folder when all have run."""
    into.parent.mkdir(parents=True, exist_ok=True)
    listed = copy.folder.parent / "tests.txt"
    listed.write_text("\n".join(tests), encoding="utf-8")
    with tempfile.TemporaryDirectory(dir=into.parent) as folder:
        words = {**copy.environment(compiled), "FEMB_REACH": folder}
        command = [sys.executable, "-m", "pytest", "-q", f"-n{processes}", "-p", "tests.mutants.reach"]
        if not compiled:
            words["FEMB_REACH_SECONDS"] = str(PATIENCE)
            command += ["-W", "ignore::RuntimeWarning"]
        subprocess.run([*command, "-p", "no:cacheprovider", f"@{listed}"], cwd=copy.folder, env=words, check=False,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        os.rename(folder, into)
        Path(folder).mkdir()  # which the context removes
