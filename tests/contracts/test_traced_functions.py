"""The changes of every traced function in the program, in every argument, against complex steps of its own text.

The functions are found by themselves. Their annotations declare the shapes of their arguments; of functions without
any, shapes are found by trying others where the function stops.
"""

import importlib
import re
import traceback
from itertools import combinations
from typing import get_type_hints

import numpy as np
import pytest
from checkout import ROOT

from femb.numerics.compiler.duals import Dual, SmallArray
from femb.numerics.compiler.traced import Traced

SHAPES = [(), (3,), (3, 3), (4,), (6,), (4, 3), (8,), (7,), (13,), (2,), (6, 6), (4, 4), (12,), (2, 3), (3, 4)]
STEP = 1e-30
# Functions that make changes or leave them out, in which the derivatives of `lift` are looked up.
PARTS = {"dual", "change", "point_turn"}


def functions():
    """(module, name, function) of every traced function."""
    texts = {path: path.read_text() for folder in ("femb", "elements") for path in (ROOT / folder).rglob("*.py")}
    names = {
        ".".join(("femb", *path.relative_to(ROOT).with_suffix("").parts)).replace("femb.femb.", "femb.")
        for path, text in texts.items()
        if re.search(r"^@traced$|= traced\(", text, re.MULTILINE) and "/femb/elements/" not in path.as_posix()
    }
    for module in map(importlib.import_module, sorted(names)):
        for name, function in vars(module).items():
            if isinstance(function, Traced) and function.__module__ == module.__name__ and name not in PARTS:
                yield pytest.param(function, id=f"{module.__name__.removeprefix('femb.')}.{name}")


def made(kind, number):
    """An argument of a kind, a shape or a class of named tuples with those of its fields; number : of a shape."""
    if isinstance(kind, list):
        return kind[0](*(made(each, number) for each in kind[1:]))
    items = [number() for _ in range(int(np.prod(kind)))]
    return SmallArray(kind, items) if kind else items[0]


def progress(function, kinds):
    """The place where a function stops for arguments of these kinds; None where it does not."""
    numbers = np.random.default_rng(5)
    arguments = [made(kind, lambda: Dual(1.0 + numbers.random())) for kind in kinds]
    try:
        with np.errstate(all="ignore"):
            function.function(*arguments)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        inside = [each for each in frames if "numerics/compiler" not in each.filename]
        return [(each.lineno, each.end_colno or 0) for each in inside]
    return None


def declared(annotation):
    """The kind that an annotation declares; a number where there is none."""
    if hasattr(annotation, "_fields"):
        return [annotation, *map(declared, get_type_hints(annotation, include_extras=True).values())]
    return annotation.__metadata__[0] if hasattr(annotation, "__metadata__") else ()


def kinds_of(function):
    """Kinds of the arguments of a function: declared, or else the first with which it runs."""
    hints = get_type_hints(function.function, include_extras=True)
    kinds = [declared(hints.get(name)) for name in function.signature.parameters]
    reached = progress(function, kinds)
    while reached is not None and not hints:
        single = [[(i, kind)] for i in range(len(kinds)) for kind in SHAPES]
        pairs = [[(i, kind), (j, kind)] for kind in SHAPES for i, j in combinations(range(len(kinds)), 2)]
        for move in (*single, *pairs):
            tried = [dict(move).get(i, kind) for i, kind in enumerate(kinds)]
            now = progress(function, tried)
            if now is None or now > reached:
                kinds, reached = tried, now
                break
        else:
            pytest.skip(f"annotate the shapes of the arguments of {function.__name__}")
    assert reached is None, f"{function.__name__} does not take what it declares; it stops in line {reached}"
    return kinds


def leaves(x):
    """The numbers in arguments or in a result."""
    if isinstance(x, tuple):
        return [each for part in x for each in leaves(part)]
    return list(x.items) if isinstance(x, SmallArray) else [x if isinstance(x, Dual) else Dual(x)]


def from_numbers(kinds, numbers):
    left = iter(numbers)
    return [made(kind, lambda: next(left)) for kind in kinds]


@pytest.mark.parametrize("function", list(functions()))
def test_changes_are_complex_steps_in_every_argument(function):
    kinds = kinds_of(function)
    count = len([each for kind in kinds for each in leaves(made(kind, lambda: Dual(1.0)))])
    rng = np.random.default_rng(7)
    points = 0.3 + rng.random((count, 20))
    seen = 0
    for i in range(count):
        changed = [Dual(x, (1.0 if j == i else None,)) for j, x in enumerate(points)]
        stepped = [Dual(x + (1j * STEP if j == i else 0.0)) for j, x in enumerate(points)]
        got, want = (leaves(function(*from_numbers(kinds, each))) for each in (changed, stepped))
        for one, other in zip(got, want, strict=True):
            d = 0.0 if not one.changes or one.changes[0] is None else one.changes[0]
            wanted = np.imag(other.value) / STEP
            scale = np.max(np.abs(wanted), initial=1.0)
            both = np.isfinite(np.broadcast_to(d, np.shape(other.value))) & np.isfinite(wanted)
            seen += np.sum(both)
            np.testing.assert_allclose(np.where(both, d, 0.0), np.where(both, wanted, 0.0), 1e-9, 1e-12 * scale)
    assert seen or not count
