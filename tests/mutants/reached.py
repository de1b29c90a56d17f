"""Which quick tests execute which lines, and how long they take: with compiled kernels, and with kernels as plain
Python, of the rooms that have kernels, a test at most some seconds.

``Reached.measured`` runs the tests with the plugin ``reach`` in a copy of the checkout and keeps what it writes in a
folder, which can be read again while the sources stay.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from coverage import CoverageData

from .copied import Copy

HOW = {False: "interpreted", True: "compiled"}
WITH_KERNELS = ("contracts", "elements", "formulations", "layout", "numerics", "steppers", "system")
SHORT = 0.2  # s, with compiled kernels, of tests that are tried without
PATIENCE = 3.0  # s, of a test without
MANY = 500  # tests in one run


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
    def _data(self) -> list[CoverageData]:
        found = [CoverageData(str(path)) for path in sorted(self.folder.glob("lines.*"))]
        for data in found:
            data.read()
        return found

    def of_file(self, file: str) -> dict[int, set[str]]:
        """Tests that pass and execute a line, by line."""
        lines: dict[int, set[str]] = defaultdict(set)
        for data in self._data:
            for name in data.measured_files():
                if name.endswith(f"/{file}"):
                    for line, tests in data.contexts_by_lineno(name).items():
                        lines[line].update(test for test in tests if test in self.seconds)
        return lines


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

    @cache  # noqa: B019
    def lines(self, file: str, compiled: bool) -> dict[int, set[str]]:
        return self.part(compiled).of_file(file)

    def tests(self, place: Place) -> set[str]:
        """Tests that execute a statement, or anything of its file if it runs at import."""
        lines = self.lines(place.file, not place.in_kernel)
        if place.at_import:
            return set().union(*lines.values())
        first, last = place.statement
        return set().union(*(lines.get(line, ()) for line in range(first, last + 1)))

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
            k = 0 if total + time <= first and len(parts[0]) < MANY else 1
            if k == 0 or (total + time <= first + more and len(parts[1]) < 2 * MANY):
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
