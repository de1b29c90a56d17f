"""The table of planted bugs (``tests/mutants/table.py``, ``items.py``), and what their tests say.

Each mutant is planted alone; its tests run and should fail. The first test that fails runs once more without the
mutant: if it fails there too, it does not judge.

Mutants in kernels meet tests that run kernels as plain Python first (NUMBA_DISABLE_JIT), which mostly takes some
seconds where a compilation takes minutes. Those that survive there, or whose tests take too long so, are compiled.
All share the kernels that the checkout has compiled; a mutant compiles only those that contain what it changes.
"""

import re
import subprocess
import time
from collections import Counter
from pathlib import Path

from .copied import UNJUDGED, Copy, work_on
from .mutant import ROOT, Mutant
from .table import MUTANTS

CAUGHT, SURVIVED, GONE = "caught", "survived", "no longer there"
OUTCOMES = (CAUGHT, SURVIVED, GONE, UNJUDGED)
PATIENCE = 100.0  # s, of tests whose kernels are not compiled
KERNEL = re.compile(r"@(?:kernel|inlined|intrinsic)\b")


def in_kernel(mutant: Mutant) -> bool:
    """Whether the file of a mutant contains kernels."""
    return bool(KERNEL.search((ROOT / mutant.file).read_text(encoding="utf-8")))


def outcome(copy: Copy, mutant: Mutant, timeout: float) -> tuple[str, str]:
    """What the tests say of a mutant, and the first that fails."""
    if problem := mutant.problem(copy.folder):
        return GONE, problem
    right = (copy.folder / mutant.file).read_text(encoding="utf-8")
    words = mutant.file, right.replace(mutant.old, mutant.new), mutant.tests.split()
    if in_kernel(mutant):
        try:
            failed = copy.verdict(*words, compiled=False, timeout=min(timeout, PATIENCE)).test
        except (subprocess.TimeoutExpired, RuntimeError):
            failed = ""
        if failed:
            return CAUGHT, f"{failed}, interpreted"
    try:
        failed = copy.verdict(*words, compiled=True, timeout=timeout).test
    except subprocess.TimeoutExpired:
        failed = f"no end after {timeout:g} s"
    return (CAUGHT, failed) if failed else (SURVIVED, "")


def room(file: str) -> str:
    """Folder that counts mutants together: elements/beam, femb/linear."""
    return str(Path(*Path(file).parts[:2])).removesuffix(".py")


def chosen(words: list[str]) -> list[Mutant]:
    """Mutants whose file, tests or physics contain one of the words; all of them without words."""
    return [
        mutant
        for mutant in MUTANTS
        if not words or any(word in part for word in words for part in (mutant.file, mutant.tests, mutant.physics))
    ]


def run_planted(words: list[str], processes: int, timeout: float, only_list: bool) -> int:
    """Judge the mutants that the words choose, those in kernels last, and print what became of each."""
    mutants = sorted(chosen(words), key=in_kernel)
    if only_list:
        print("\n".join(f"{mutant.file}: {mutant.physics} ({mutant.tests})" for mutant in mutants))
        return 0
    counts: dict[str, Counter[str]] = {}
    begin = last = time.monotonic()
    for mutant, word, reason in work_on(mutants, lambda copy, mutant: outcome(copy, mutant, timeout), processes):
        counts.setdefault(room(mutant.file), Counter())[word] += 1
        now = time.monotonic()
        print(f"{word:16}{now - last:4.0f} s  {mutant.file}: {mutant.physics}  {reason}".rstrip(), flush=True)
        last = now
    total = sum(counts.values(), Counter())
    for name, of_room in [*sorted(counts.items()), ("all", total)]:
        print(f"{name:24}" + ", ".join(f"{of_room[word]} {word}" for word in OUTCOMES if of_room[word]))
    print(f"{time.monotonic() - begin:.0f} s")
    return 0 if total[CAUGHT] == len(mutants) else 1
