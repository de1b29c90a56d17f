"""Small planted bugs, and which of them the quick tests see: ``python -m tests.mutants [WORD ...]``.

Each mutant of the table (``tests/mutants/table.py``) is planted alone in a copy of the checkout, in a temporary folder;
its tests run there and should fail. Words choose the mutants whose file, tests or physics contain one of them. Tests
that fail without a mutant cannot judge it, so they run once without any; ``--trust`` leaves this first run out. Copies
begin with the kernels that the checkout has compiled; of these a mutant compiles only those that contain what it
changes, once.
"""

import argparse
import hashlib
import os
import queue
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count, groupby
from pathlib import Path
from typing import Any

from .mutant import ROOT, Mutant
from .table import MUTANTS

CAUGHT, SURVIVED, GONE, UNJUDGED = "caught", "survived", "no longer there", "not judged"
OUTCOMES = (CAUGHT, SURVIVED, GONE, UNJUDGED)
FEMB_CACHE = "FEMB_CACHE"  # the variable of the environment that chooses the folder of compiled kernels
TICKS = count(1)


def sources() -> list[str]:
    """Files of the checkout, as git lists them, or all of a source distribution."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [name for name in listed.stdout.splitlines() if os.path.lexists(ROOT / name)]
    return [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file() or path.is_symlink()]


@cache
def plan(folder: Path) -> dict[str, Any]:
    """Names of ``docs/draw_floor_plan.py``, which lists modules and their imports."""
    return runpy.run_path(str(folder / "docs" / "draw_floor_plan.py"))


def kernels_of(folder: Path, environment: dict[str, str]) -> Path:
    """Folder of the compiled kernels of a checkout."""
    environment = {**environment, "PYTHONPATH": str(folder)}
    command = [sys.executable, Path(__file__).with_name("kernels.py")]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return Path(done.stdout.strip() or "none")


def cached(sources: Path) -> str:
    """Folder, in the cache, of the kernels of the modules in a folder; numba names it so."""
    return f"{sources.name}_{hashlib.sha1(str(sources).encode()).hexdigest()}"


@dataclass
class Copy:
    """A copy of the checkout in which tests run, with its own compiled kernels."""

    folder: Path
    timeout: float
    judged: dict[str, str] = field(default_factory=dict)
    importers: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, timeout: float) -> "Copy":
        for name in sources():
            target = folder / "femb_copy" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        copy = cls(folder / "femb_copy", timeout)
        copy._take_kernels()
        return copy

    def _take_kernels(self) -> None:
        """Copy the kernels that the checkout has compiled; folders of the cache are named after those of sources."""
        compiled, target = kernels_of(ROOT, dict(os.environ)), self._kernels()
        for modules in {path.parent for path in plan(self.folder)["modules"]().values()}:
            for at in (modules, self.folder / "femb" / modules.relative_to(self.folder)):
                source = compiled / cached(ROOT / at.relative_to(self.folder))
                if source.is_dir():
                    shutil.copytree(source, target / cached(at), dirs_exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.folder), str(self.folder / "tests")])
        kept = {"PYTHONPATH": path, FEMB_CACHE: str(self.folder.parent / "kernels")}
        return {**os.environ, "OMP_NUM_THREADS": "1", **kept}

    def failure(self, tests: str) -> str:
        """First failure of the tests, or an empty string; one that takes too long fails."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *tests.split()]
        process = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"no end after {self.timeout:g} s"
        if process.returncode == 0:
            return ""
        lines = output.splitlines()
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return failed[0] if failed else " ".join(lines[-3:])

    def without_mutant(self, tests: str) -> str:
        """Failure of tests without any mutant; each is tried once."""
        if tests not in self.judged:
            self.judged[tests] = self.failure(tests)
        return self.judged[tests]

    def outcome(self, mutant: Mutant, trust: bool) -> tuple[str, str]:
        """What the tests say of a mutant, and the first failure."""
        if problem := mutant.problem(self.folder):
            return GONE, problem
        if not trust and (failed := self.without_mutant(mutant.tests)):
            return UNJUDGED, f"fails without it: {failed}"
        path = self.folder / mutant.file
        right, stamp = path.read_text(encoding="utf-8"), path.stat()
        before = self._kernels()
        path.write_text(right.replace(mutant.old, mutant.new), encoding="utf-8")
        # a time of its own: Python tells compiled files apart by size and whole seconds
        os.utime(path, (stamp.st_atime, stamp.st_mtime + 10 * next(TICKS)))
        after = self._kernels()
        try:
            if before != after:
                self._keep_kernels(before, after, mutant.file)
            failed = self.failure(mutant.tests)
        finally:
            path.write_text(right, encoding="utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            if before != after:
                shutil.rmtree(after, ignore_errors=True)
        return (CAUGHT, failed) if failed else (SURVIVED, "")

    def _kernels(self) -> Path:
        """Folder of the kernels of the copy as it is now; its name is a hash of the files that have kernels."""
        return kernels_of(self.folder, self.environment)

    def _keep_kernels(self, before: Path, after: Path, file: str) -> None:
        """Copy the compiled kernels of those modules that do not import the changed one."""
        stale = {(path.parent.name, path.stem) for path in self._importers_of(self.folder / file)}
        for path in before.rglob("*.nb?"):
            if (path.parent.name.rpartition("_")[0], path.name.partition(".")[0]) not in stale:
                target = after / path.relative_to(before)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)

    def _importers_of(self, changed: Path) -> Iterator[Path]:
        """The changed file, and those whose modules import it, also through others."""
        modules: dict[str, Path] = plan(self.folder)["modules"]()
        if not self.importers:
            for module, path in modules.items():
                for target, _, _ in plan(self.folder)["imports"](path, modules):
                    self.importers.setdefault(target, set()).add(module)
        found, waiting = set(), [name for name, path in modules.items() if path == changed]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.importers.get(name, ())
        return (modules[name] for name in found)


def room(file: str) -> str:
    """Folder that counts mutants together: elements/beam, femb/linear."""
    return str(Path(*Path(file).parts[:2])).removesuffix(".py")


def judged(mutants: list[Mutant], processes: int, timeout: float, trust: bool) -> Iterator[tuple[Mutant, str, str]]:
    """Mutants with their outcomes; those of the same tests go to the same process."""
    by_tests = sorted(mutants, key=lambda mutant: mutant.tests)
    groups: queue.SimpleQueue[list[Mutant]] = queue.SimpleQueue()
    for group in sorted((list(each) for _, each in groupby(by_tests, lambda mutant: mutant.tests)), key=len)[::-1]:
        groups.put(group)
    outcomes: queue.SimpleQueue[tuple[Mutant, str, str]] = queue.SimpleQueue()

    def work(folder: Path) -> None:
        copy = Copy.of(folder, timeout)
        while True:
            try:
                group = groups.get_nowait()
            except queue.Empty:
                return
            for mutant in group:
                try:
                    outcomes.put((mutant, *copy.outcome(mutant, trust)))
                except Exception as error:
                    outcomes.put((mutant, UNJUDGED, repr(error)))

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
    parser.add_argument("--trust", action="store_true", help="do not run the tests without a mutant first")
    options = parser.parse_args(words)
    mutants = chosen(options.words)
    if options.list:
        print("\n".join(f"{mutant.file}: {mutant.physics} ({mutant.tests})" for mutant in mutants))
        return 0
    counts: dict[str, Counter[str]] = {}
    begin = last = time.monotonic()
    for mutant, outcome, reason in judged(mutants, options.n, options.timeout, options.trust):
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
