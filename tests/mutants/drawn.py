"""Mutants drawn at random from the lines that quick tests execute, by the operators of cosmic-ray.

A line is drawn from the executed ones of a room, a place on it, and one of the operators that fit there. Tests that
execute the line judge it: first those of its own folder, of each file the cheapest first. Kernels run as plain Python;
those whose mutant survives, or dies by an index past an array or a division by zero, which kernels do not notice,
run compiled.
"""

import ast
import random
import re
import subprocess
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names

from .copied import UNJUDGED, Copy, work_on
from .mutant import ROOT, equivalents
from .reached import Place, Reached

CAUGHT, CRASHED, ENDLESS, SURVIVED, EQUIVALENT = "caught", "crashed", "no end", "survived", "equivalent"
OUTCOMES = (CAUGHT, CRASHED, ENDLESS, SURVIVED, EQUIVALENT, UNJUDGED)
ROOMS = {
    "elements": ["elements"],
    **{
        room: [f"femb/{room}"]
        for room in (
            "linear", "vibration", "statics", "fem", "recording", "results", "handover", "system", "formulations",
            "steppers",
        )
    },
    "others": ["femb"],
}  # fmt: skip
SHARE = 20 / 300  # of all mutants, in each room at least
# Operators on bits and decorators make no sense of numbers, and those on variables need names.
UNFIT = re.compile("Bit|Shift|Invert|Decorator|Variable")
KERNELS = {"kernel", "kernel_with_entry", "inlined", "merged", "intrinsic", "compiled"}
UNSEEN = ("IndexError", "ZeroDivisionError")  # by compiled kernels
SEEN = ("AssertionError", "assert", "Failed", "hypothesis", "FlakyFailure", "ExceptionGroup")
FIRST, FURTHER = 10.0, 200.0  # s, of tests that judge, and of more for a mutant that they do not see
STARTING = 120.0  # s, of their imports
COMPILING = 1500.0  # s


@dataclass(frozen=True)
class Drawn:
    """One change of a file, in a line that is counted from one."""

    place: Place
    line: int
    number: int
    operator: str
    way: int

    @cached_property
    def text(self) -> str:
        return source(self.place.file).changed(self.number, self.operator, self.way)

    @cached_property
    def change(self) -> tuple[str, str]:
        """Right and wrong lines, without blanks around them."""
        texts = [source(self.place.file).text.splitlines(), self.text.splitlines()]
        while texts[0] and texts[1] and texts[0][-1] == texts[1][-1]:
            texts = [lines[:-1] for lines in texts]
        same = next((k for k, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1]), 0)
        right, wrong = (" ".join(line.strip() for line in lines[same:]) for lines in texts)
        return right, wrong

    def __str__(self) -> str:
        return f"{self.place.file}:{self.line} {self.operator}"

    def diff(self) -> str:
        right, wrong = self.change
        return f"{self}\n    - {right}\n    + {wrong}\n   "


OPERATORS: dict[str, Operator] = {
    name.partition("/")[2]: get_operator(name)() for name in operator_names() if not UNFIT.search(name)
}


@dataclass(eq=False)
class Source:
    """A file with its statements and what can be changed in them."""

    file: str

    @cached_property
    def text(self) -> str:
        return (ROOT / self.file).read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> Any:
        return get_ast(self.text)

    @cached_property
    def owners(self) -> dict[int, Place]:
        """By line, the innermost statement that it belongs to."""
        found: dict[int, Place] = {}

        def visit(node: ast.AST, in_kernel: bool, at_import: bool) -> None:
            for child in ast.iter_child_nodes(node):
                kernel, outside = in_kernel, at_import
                if isinstance(child, ast.FunctionDef):
                    names = {x.id for d in child.decorator_list for x in ast.walk(d) if isinstance(x, ast.Name)}
                    kernel, outside = in_kernel or bool(names & KERNELS), False
                elif isinstance(child, ast.stmt) and not isinstance(child, ast.ClassDef | ast.Import | ast.ImportFrom):
                    body = getattr(child, "body", None)
                    last = max(child.lineno, body[0].lineno - 1 if body else child.end_lineno or 0)
                    constant = at_import and self.has_kernels
                    place = Place(self.file, (child.lineno, last), in_kernel or constant, at_import)
                    found.update(dict.fromkeys(range(child.lineno, last + 1), place))
                if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                    visit(child, kernel, outside)

        visit(ast.parse(self.text), False, True)
        return found

    @cached_property
    def has_kernels(self) -> bool:
        return any(f"\n@{name}" in self.text for name in KERNELS)

    def changes(self, line: int) -> list[list[tuple[int, str, int]]]:
        """For each place on a line, what fits there: number of the node, operator and way of the operator."""
        found: dict[tuple[int, int], list[tuple[int, str, int]]] = defaultdict(list)
        for k, node in enumerate(ast_nodes(self.tree)):
            if node.start_pos[0] <= line <= node.end_pos[0]:
                for name, operator in OPERATORS.items():
                    for way, (start, _) in enumerate(operator.mutation_positions(node)):
                        if start[0] == line:
                            found[start].append((k, name, way))
        return list(found.values())

    def changed(self, number: int, operator: str, way: int) -> str:
        """Its text with one change."""
        tree = self.tree
        del self.tree  # which is changed here
        node = next(islice(ast_nodes(tree), number, None))
        siblings, at = node.parent.children, node.parent.children.index(node)
        siblings[at] = OPERATORS[operator].mutate(node, way)
        return str(tree.get_code())


@cache
def source(file: str) -> Source:
    return Source(file)


def files_of(folders: list[str]) -> list[str]:
    """Python files of femb and elements in the folders, each once."""
    found = (path.relative_to(ROOT).as_posix() for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return [file for file in found if not file.startswith("femb/elements/")]


def sound(mutant: Drawn) -> bool:
    """Whether its text is Python and another program."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # as of "is" with a text
            compile(mutant.text, mutant.place.file, "exec")
        changed = ast.parse(mutant.text)
    except (SyntaxError, SyntaxWarning, ValueError):
        return False
    right, wrong = mutant.change
    if right.replace("strict=True", "strict=False") == wrong:
        return False  # which only guards against mistakes of programmers
    return ast.dump(changed) != ast.dump(ast.parse(source(mutant.place.file).text))


def of_room(folders: list[str], count: int, reached: Reached, rng: random.Random) -> Iterator[Drawn]:
    """Different mutants of executed lines of a room."""
    lines = [
        (place, line) for file in files_of(folders) for line, place in source(file).owners.items() if reached.has(place)
    ]
    rng.shuffle(lines)
    while count and lines:
        place, line = lines.pop()
        if fits := source(place.file).changes(line):
            mutant = Drawn(place, line, *rng.choice(rng.choice(fits)))
            if sound(mutant):
                count -= 1
                yield mutant


def draw(count: int, seed: int, reached: Reached) -> list[Drawn]:
    """Mutants of all rooms, in a random order: the same by the same seed, sources and reached lines."""
    rng = random.Random(seed)
    least = round(count * SHARE)
    rooms = {room: least for room in ROOMS if room != "others"}
    rooms["others"] = count - least * len(rooms)
    found = [mutant for room, of in rooms.items() for mutant in of_room(ROOMS[room], of, reached, rng)]
    rng.shuffle(found)
    return list(dict.fromkeys(found))


def is_crash(error: str) -> bool:
    """Whether a test ended by an error that neither a test nor femb raises on purpose."""
    name = error.rpartition(".")[2]
    return not (error.startswith(SEEN) or name.endswith(("Warning",)) or name in femb_errors())


@cache
def femb_errors() -> frozenset[str]:
    text = (ROOT / "femb" / "base" / "errors.py").read_text(encoding="utf-8")
    return frozenset(node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef))


def outcome(copy: Copy, mutant: Drawn, reached: Reached, until: float) -> tuple[str, str]:
    """What the tests say of a mutant, and the first that fails."""
    file, in_kernel = mutant.place.file, mutant.place.in_kernel
    if reason := equivalents().get((file, *mutant.change)):
        return EQUIVALENT, reason
    if time.monotonic() > until:
        return UNJUDGED, "the time is over"
    tests, more = reached.chosen(mutant.place, FIRST, FURTHER)
    if in_kernel:  # compiled, tests that execute anything of its file meet it too
        around = replace(mutant.place, in_kernel=False, at_import=True)
        more = list(dict.fromkeys(sum(reached.chosen(around, FIRST, FURTHER), tests)))
    # tests, whether kernels are compiled, and the time limit
    first, last = (tests, not in_kernel, STARTING + 5.0 * FIRST), (more, True, STARTING + 5.0 * FURTHER)
    for words, compiled, limit in (first, last):
        if not words:
            continue
        try:
            with copy.planted(file, mutant.text):  # tests that pass without it, as the map says
                failed = copy.failure(words, compiled, limit + in_kernel * compiled * COMPILING)
        except subprocess.TimeoutExpired as error:
            return ENDLESS, f"after {error.timeout:g} s"
        unseen = in_kernel and not compiled and failed.error.endswith(UNSEEN)
        if failed.test and not unseen:
            return CRASHED if is_crash(failed.error) else CAUGHT, f"{failed.test} {failed.error}"
    return SURVIVED, f"{len({*tests, *more})} tests"


def rate(of: Counter[str], *words: str) -> str:
    """Percentage of those that were killed in one of the ways."""
    killed = sum(of[word] for word in words)
    return f"{100.0 * killed / (killed + of[SURVIVED]):.0f} %" if killed + of[SURVIVED] else "-"


def room_of(file: str) -> str:
    return next(room for room, folders in ROOMS.items() if any(file.startswith(f"{folder}/") for folder in folders))


def run_drawn(mutants: list[Drawn], processes: int, hours: float, reached: Reached) -> int:
    """Judge mutants, print those that survive, and a table of the rooms."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    until = time.monotonic() + 3600.0 * hours
    for mutant, word, reason in work_on(mutants, lambda copy, m: outcome(copy, m, reached, until), processes):
        counts[room_of(mutant.place.file)][word] += 1
        print(f"{word:11} {mutant.diff() if word in (SURVIVED, UNJUDGED) else mutant}  {reason}", flush=True)
    counts["all"] = sum(counts.values(), Counter())
    print(f"{'room':14}" + "".join(f"{word:>11}" for word in OUTCOMES) + "     killed  without crashes")
    for room in (*ROOMS, "all"):
        of = counts[room]
        print(f"{room:14}" + "".join(f"{of[word]:11d}" for word in OUTCOMES), end="")
        print(f"{rate(of, CAUGHT, CRASHED):>11}  {rate(of, CAUGHT):>15}")
    return 0 if counts["all"][SURVIVED] == 0 else 1
