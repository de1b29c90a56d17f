"""What the fuzz tests share: values that are wrong somewhere, TOML text of nested tables, and one step of a case."""

import contextlib
import copy
import math
import signal
import tomllib
import warnings

import checkout
from numba.core.compiler_lock import global_compiler_lock

from femb import FembError
from femb.formulations import make_formulation
from femb.run.start import started
from femb.steppers import make_stepper
from femb.system.system import System

NUMBERS = [0, 1, -1, 2, 3, 7, 0.5, -2.5, 1e-9, 1e-4, 0.1, 10, 100, 1e3, 1e4, 1e6, 1e9, 1e12, 1e20, 1e45, 1e80, -1e6]
WORDS = ["ground", "body", "dual_euler", "euler", "source", "rk", "bdf", "gauss", "generalized-alpha", "reduced", "rk4",
         "hamiltonian", "quaternion", "assembled", "equilibrium", "zxz", "spherical", "fixed", "revolute"]  # fmt: skip
SECONDS = 10  # no example may take longer
CASES = {path.stem: tomllib.loads(path.read_text()) for path in sorted(checkout.CASES.glob("*.toml"))}
VALUES = [
    0, 1, -1, 2, 3, 0.5, -2.5, 1e-300, 1e-60, 1e-12, 1e6, 1e20, 1e50, 1e300, 1e308, -1e308, 10**30, 10**400, math.inf,
    -math.inf, math.nan, True, False, "", "x", "hub", "ground", ".", "..", "a/b", "a\nb", "a\x00b", "1.0", "é" * 300,
    [], [1], [1.0, 2.0], [0, 0, 0], [1, 0, 0], [1, 2, 3], [1e300, 0, 0], [math.nan, 0, 0], [1, 2, 3, 4], ["x", 1, 2],
    [[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[1, 2], [3]], [True, False, True], {}, {"x": 1}, {"body": "hub"},
    {"body": "ground", "at": [0, 0, 0]}, {"beam": "b", "node": 99}, {"anchor": [0, 0, 0]}, {"shape": "sine"},
    {"shape": "versine", "duration": 1.0}, {"shape": "table", "times": [0, 0], "values": [1]}, {"box": [1, 1, 1]},
]  # fmt: skip


def places(document, path=()):
    """The path of every entry of nested tables."""
    for key, value in document.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from places(value, (*path, key))


def mutated(document, choice, value):
    """A copy of nested tables with one change, chosen by a number: an entry is replaced by the value, or dropped where
    that is None, or the value is put beside it; or, in most cases, it is replaced by something of its own type.
    """
    changed = copy.deepcopy(document)
    paths = list(places(changed))
    *above, last = paths[choice % len(paths)]
    table = changed
    for part in above:
        table = table[part]
    way = choice // len(paths) % 8
    if value is None:
        del table[last]
    elif way == 0:
        table[f"{last}_"] = value
    elif way < 3:
        table[last] = copy.deepcopy(value)
    else:
        table[last] = alike(table[last], choice, document)
    return changed


def alike(old, choice, document):
    """Another value of the type of ``old``."""
    number = NUMBERS[choice % len(NUMBERS)]
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return int(number)
    if isinstance(old, float):
        return float(number)
    if isinstance(old, str):
        words = sorted({part for path in places(document) for part in path} | set(WORDS))
        return words[choice % len(words)]
    if isinstance(old, list) and old:
        place = choice % len(old)
        return [*old[:place], alike(old[place], choice // len(old), document), *old[place + 1 :]]
    if isinstance(old, dict) and old:
        return {name: each for k, (name, each) in enumerate(old.items()) if k != choice % len(old)}
    return old


def toml(document):
    """TOML text of nested tables."""
    lines = [f"{key(name)} = {written(value)}" for name, value in document.items() if not isinstance(value, dict)]
    for name, value in document.items():
        if isinstance(value, dict):
            lines += section((name,), value)
    return "\n".join(lines) + "\n"


def section(path, table):
    tables = len(path) == 1 and table and all(isinstance(each, dict) for each in table.values())
    if tables:
        return [line for name, value in table.items() for line in section((*path, name), value)]
    heading = ".".join(map(key, path))
    return [f"[{heading}]", *(f"{key(name)} = {written(value)}" for name, value in table.items())]


def key(name):
    return written(str(name))


def written(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in value) + '"'
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key(name)} = {written(each)}" for name, each in value.items()) + " }"
    return repr(value)


@contextlib.contextmanager
def limited():
    """A time limit; femb's own errors pass for what they are, refusals."""

    def late(*_):
        if global_compiler_lock.is_locked():
            # a kernel is compiled, which a first use has to wait for
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            return
        raise TimeoutError(f"longer than {SECONDS} s")

    # of CPU time, since other tests run beside this one
    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            # what numpy says of numbers that overflow on the way to a refusal
            warnings.simplefilter("ignore")
            yield
    except FembError as error:
        if not str(error).strip() or "Traceback" in str(error):
            raise ValueError(f"{type(error).__name__} says {error}") from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def first_step(model, run):
    """What a run does up to its first step."""
    system = started(System(model, assemble=run is not None and run.start == "assembled"), run)
    if run is not None:
        stepper = make_stepper(make_formulation(system, run.formulation), run)
        stepper.step(min(run.duration, 1e-3))
