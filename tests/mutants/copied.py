"""Copy of the checkout in a temporary folder, where tests meet a changed file."""

import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from .mutant import ROOT

INTERPRETED = {"NUMBA_DISABLE_JIT": "1"}
UNJUDGED = "not judged"
DIED = "the process died"
TICKS = count(1)
Change = TypeVar("Change")


def sources() -> list[str]:
    """Files of the checkout, as git lists them, or all of a source distribution."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [name for name in listed.stdout.splitlines() if os.path.lexists(ROOT / name)]
    return [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file() or path.is_symlink()]


class Failure(NamedTuple):
    """The test that failed, as pytest names it, and the name of its error; both empty where none failed."""

    test: str = ""
    error: str = ""


def failed_test(output: str) -> Failure:
    """The test that pytest's summary names last, with its error."""
    words = (line.partition(" ") for line in reversed(output.splitlines()))
    for word, _, rest in words:
        if word in ("FAILED", "ERROR"):
            test, _, error = rest.partition(" - ")
            return Failure(test, error.partition(":")[0].strip())
    return Failure()


@dataclass
class Copy:
    """A copy of the checkout in which tests run, with its own compiled kernels.

    fails : whether a test fails without any mutant, by (test, whether kernels are compiled).
    """

    folder: Path
    fails: dict[tuple[str, bool], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> "Copy":
        for name in sources():
            target = folder / "femb_copy" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        return cls(folder / "femb_copy")

    def environment(self, compiled: bool) -> dict[str, str]:
        path = os.pathsep.join([str(self.folder), str(self.folder / "tests")])
        # summaries of pytest are cut to the columns
        words = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, "COLUMNS": "1000"}
        return words if compiled else {**words, **INTERPRETED}

    def failure(self, tests: list[str], compiled: bool, timeout: float) -> Failure:
        """First of the tests that fails; subprocess.TimeoutExpired after ``timeout``, s."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider"]
        if not compiled:
            # a division by zero is inf in kernels, without a warning
            command += ["-W", "ignore::RuntimeWarning"]
        listed = self.folder.parent / "tests.txt"
        listed.write_text("\n".join(tests), encoding="utf-8")
        process = subprocess.Popen(
            [*command, f"@{listed}"], cwd=self.folder, env=self.environment(compiled), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        if process.returncode < 0:
            return Failure(DIED, f"signal {-process.returncode}")
        if process.returncode == pytest.ExitCode.USAGE_ERROR and "found no collectors" in output:
            return Failure(DIED, "its tests cannot be imported")
        if process.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            failed = failed_test(output)
            if process.returncode == pytest.ExitCode.INTERRUPTED and failed.test:
                return failed  # a module that cannot be imported
            raise RuntimeError(" ".join(output.splitlines()[-3:]))
        return failed_test(output)

    def verdict(self, file: str, text: str, tests: list[str], compiled: bool, timeout: float) -> Failure:
        """First test that fails with another text of a file and passes without."""
        while True:
            useless = {test for (test, how), fails in self.fails.items() if fails and how == compiled}
            words = [test for test in tests if test not in useless]
            with self.planted(file, text):
                failed = self.failure([*words, *(f"--deselect={test}" for test in useless)], compiled, timeout)
            if failed.test in ("", DIED):
                return failed
            if (failed.test, compiled) not in self.fails:
                self.fails[failed.test, compiled] = self.failure([failed.test], compiled, timeout).test != ""
            if not self.fails[failed.test, compiled]:
                return failed

    @contextmanager
    def planted(self, file: str, text: str) -> Iterator[None]:
        path = self.folder / file
        right, stamp = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(text, encoding="utf-8")
        # a time of its own: Python tells compiled files apart by size and whole seconds
        os.utime(path, (stamp.st_atime, stamp.st_mtime + 10 * next(TICKS)))
        try:
            yield
        finally:
            path.write_text(right, encoding="utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def work_on(
    changes: list[Change], judge: Callable[[Copy, Change], tuple[str, str]], processes: int
) -> Iterator[tuple[Change, str, str]]:
    """Changes with their outcomes and reasons, judged in ``processes`` copies at a time."""
    waiting: queue.SimpleQueue[Change] = queue.SimpleQueue()
    for change in changes:
        waiting.put(change)
    outcomes: queue.SimpleQueue[tuple[Change, str, str]] = queue.SimpleQueue()

    def work(folder: Path) -> None:
        copy = Copy.of(folder)
        while True:
            try:
                change = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                outcomes.put((change, *judge(copy, change)))
            except Exception as error:
                outcomes.put((change, UNJUDGED, str(error)))

    with tempfile.TemporaryDirectory(prefix="femb_mutants_") as folder:
        for k in range(processes):
            threading.Thread(target=work, args=(Path(folder) / str(k),), daemon=True).start()
        for _ in changes:
            yield outcomes.get()
