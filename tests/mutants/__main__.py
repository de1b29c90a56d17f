"""Small planted bugs, and which of them the quick tests see: ``python -m tests.mutants [WORD ...]``.

Each mutant of the table (``tests/mutants/table.py``, ``items.py``) is planted alone in a copy of the checkout, in a
temporary folder; its tests run there and should fail. Words choose the mutants whose file, tests or physics contain one
of them. The first test that fails runs once more without the mutant: if it fails there too, it does not judge.

Mutants in kernels meet tests that run kernels as plain Python first (NUMBA_DISABLE_JIT), which mostly takes some
seconds where a compilation takes minutes. Those that survive there, or whose tests take too long so, are compiled.
All share the kernels that the checkout has compiled; a mutant compiles only those that contain what it changes.
"""

import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from .mutant import ROOT, Mutant
from .table import MUTANTS

CAUGHT, SURVIVED, GONE, UNJUDGED = "caught", "survived", "no longer there", "not judged"
OUTCOMES = (CAUGHT, SURVIVED, GONE, UNJUDGED)
INTERPRETED = {"NUMBA_DISABLE_JIT": "1"}
PATIENCE = 100.0  # s, of tests whose kernels are not compiled
KERNEL = re.compile(r"@(?:kernel|inlined|intrinsic)\b")
TICKS = count(1)


def sources() -> list[str]:
    """Files of the checkout, as git lists them, or all of a source distribution."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [name for name in listed.stdout.splitlines() if os.path.lexists(ROOT / name)]
    return [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file() or path.is_symlink()]


def failed_test(output: str) -> str:
    """The test that pytest's summary names last, or an empty string."""
    words = (line.partition(" ") for line in reversed(output.splitlines()))
    return next((rest.split(" - ")[0] for word, _, rest in words if word in ("FAILED", "ERROR")), "")


def in_kernel(mutant: Mutant) -> bool:
    """Whether the file of a mutant contains kernels."""
    return bool(KERNEL.search((ROOT / mutant.file).read_text(encoding="utf-8")))


@dataclass
class Copy:
    """A copy of the checkout in which tests run, with its own compiled kernels.

    fails : whether a test fails without any mutant, by (test, whether kernels are compiled).
    """

    folder: Path
    timeout: float
    fails: dict[tuple[str, bool], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, timeout: float) -> "Copy":
        for name in sources():
            target = folder / "femb_copy" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        return cls(folder / "femb_copy", timeout)

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.folder), str(self.folder / "tests")])
        return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": path}

    def failure(self, tests: list[str], compiled: bool) -> str:
        """First of the tests that fails, or an empty string."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *tests]
        environment, timeout = self.environment, self.timeout
        if not compiled:
            # a division by zero is inf in kernels, without a warning
            command += ["-W", "ignore::RuntimeWarning"]
            environment, timeout = {**environment, **INTERPRETED}, min(timeout, PATIENCE)
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        if process.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            failed = failed_test(output)
            if process.returncode == pytest.ExitCode.INTERRUPTED and failed:
                return failed  # a module that cannot be imported
            raise RuntimeError(" ".join(output.splitlines()[-3:]))
        return failed_test(output)

    def verdict(self, mutant: Mutant, compiled: bool) -> str:
        """First test that fails with a mutant and passes without, or an empty string."""
        while True:
            useless = [test for (test, how), fails in self.fails.items() if fails and how == compiled]
            with self._planted(mutant):
                failed = self.failure([*mutant.tests.split(), *(f"--deselect={test}" for test in useless)], compiled)
            if not failed:
                return ""
            if (failed, compiled) not in self.fails:
                self.fails[failed, compiled] = self.failure([failed], compiled) != ""
            if not self.fails[failed, compiled]:
                return failed

    def outcome(self, mutant: Mutant) -> tuple[str, str]:
        """What the tests say of a mutant, and the first that fails."""
        if problem := mutant.problem(self.folder):
            return GONE, problem
        if not in_kernel(mutant):
            failed = self.verdict(mutant, compiled=True)
            return (CAUGHT, failed) if failed else (SURVIVED, "")
        try:
            failed = self.verdict(mutant, compiled=False)
        except (subprocess.TimeoutExpired, RuntimeError):
            failed = ""
        if failed:
            return CAUGHT, f"{failed}, interpreted"
        failed = self.verdict(mutant, compiled=True)
        return (CAUGHT, failed) if failed else (SURVIVED, "")

    @contextmanager
    def _planted(self, mutant: Mutant) -> Iterator[None]:
        path = self.folder / mutant.file
        right, stamp = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(right.replace(mutant.old, mutant.new), encoding="utf-8")
        # a time of its own: Python tells compiled files apart by size and whole seconds
        os.utime(path, (stamp.st_atime, stamp.st_mtime + 10 * next(TICKS)))
        try:
            yield
        finally:
            path.write_text(right, encoding="utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def room(file: str) -> str:
    """Folder that counts mutants together: elements/beam, femb/linear."""
    return str(Path(*Path(file).parts[:2])).removesuffix(".py")


def judged(mutants: list[Mutant], processes: int, timeout: float) -> Iterator[tuple[Mutant, str, str]]:
    """Mutants with their outcomes, those in kernels last."""
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in sorted(mutants, key=in_kernel):
        waiting.put(mutant)
    outcomes: queue.SimpleQueue[tuple[Mutant, str, str]] = queue.SimpleQueue()

    def work(folder: Path) -> None:
        copy = Copy.of(folder, timeout)
        while True:
            try:
                mutant = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                outcomes.put((mutant, *copy.outcome(mutant)))
            except subprocess.TimeoutExpired:
                outcomes.put((mutant, CAUGHT, f"no end after {timeout:g} s"))
            except Exception as error:
                outcomes.put((mutant, UNJUDGED, str(error)))

    with tempfile.TemporaryDirectory(prefix="femb_mutants_") as folder:
        for k in range(processes):
            threading.Thread(target=work, args=(Path(folder) / str(k),), daemon=True).start()
        for _ in mutants:
            yield outcomes.get()


def chosen(words: list[str]) -> list[Mutant]:
    """Mutants whose file, tests or physics contain one of the words; all of them without words."""
    return [
        mutant
        for mutant in MUTANTS
        if not words or any(word in part for word in words for part in (mutant.file, mutant.tests, mutant.physics))
    ]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="parts of file, tests or physics: radau, results")
    parser.add_argument("-n", type=int, default=1, metavar="PROCESSES", help="each works in a copy of its own")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--timeout", type=float, default=1800.0, metavar="S", help="of one run of tests")
    options = parser.parse_args(words)
    mutants = chosen(options.words)
    if options.list:
        print("\n".join(f"{mutant.file}: {mutant.physics} ({mutant.tests})" for mutant in mutants))
        return 0
    counts: dict[str, Counter[str]] = {}
    begin = last = time.monotonic()
    for mutant, outcome, reason in judged(mutants, options.n, options.timeout):
        counts.setdefault(room(mutant.file), Counter())[outcome] += 1
        now = time.monotonic()
        print(f"{outcome:16}{now - last:4.0f} s  {mutant.file}: {mutant.physics}  {reason}".rstrip(), flush=True)
        last = now
    total = sum(counts.values(), Counter())
    for name, of_room in [*sorted(counts.items()), ("all", total)]:
        print(f"{name:24}" + ", ".join(f"{of_room[outcome]} {outcome}" for outcome in OUTCOMES if of_room[outcome]))
    print(f"{time.monotonic() - begin:.0f} s")
    return 0 if total[CAUGHT] == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
