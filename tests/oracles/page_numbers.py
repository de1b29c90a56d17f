"""Numbers on pages, compared with the program.

A page may hold, in comments that a reader does not see, where its numbers come from::

    <!-- numbers of satellite_free run.atol.time=0.1
    83.80 = max(degrees(bodies["hub"].euler_angles()[:, 1]))
    94 ~ steps
    2e-9 > max(abs(audit["energy_error"]))
    -->

The first line names a case and what is set in it; ``slow numbers of`` leaves the comment to the long tests. Each other
line is a number as the page prints it, a relation and an expression over the results: ``=`` to half a unit of the last
digit printed, ``~`` within a fifth, for counts of steps, and ``>`` for what stays below the number, but not below a
hundredth of it, so that a bound that has become meaningless is noticed too. The number must stand on the page.

Output of commands is compared likewise: in a ``console`` block, what follows a line ``$ femb ...``; a line ``...``
stands for any lines left out.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from femb import Results
from femb.results.groups import groups

NUMBER = r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?"
COMMENT = re.compile(r"<!-- (slow )?numbers of ([^\n]+)\n(.*?)-->", re.DOTALL)
LINE = re.compile(rf"({NUMBER}) ([=~>]) (.+)")
ROUNDING = 1e-9  # printed numbers below this are rounding errors, which differ from machine to machine


class Numbers(NamedTuple):
    """One comment: the words of its first line, whether it is for the long tests, and its lines."""

    case: str
    overrides: tuple[str, ...]
    slow: bool
    lines: tuple[tuple[str, str, str], ...]


def numbers_of(text: str) -> list[Numbers]:
    """The comments of a page. Raises ValueError for a line that is none."""
    found = []
    for slow, head, body in COMMENT.findall(text):
        case, *overrides = head.split()
        lines = []
        for line in body.strip().splitlines():
            match = LINE.fullmatch(line.strip())
            if match is None:
                raise ValueError(f"not NUMBER RELATION EXPRESSION: {line!r}")
            lines.append((match[1], match[2], match[3]))
        found.append(Numbers(case, tuple(overrides), bool(slow), tuple(lines)))
    return found


def visible(text: str) -> str:
    """A page without its comments."""
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def names_of(results: Results) -> dict[str, object]:
    """What expressions may use."""
    names: dict[str, object] = {word: getattr(np, word) for word in dir(np) if not word.startswith("_")}
    names |= {"abs": np.abs, "max": np.max, "min": np.min, "norm": lambda a: np.linalg.norm(a, axis=-1), "pi": np.pi}
    for word in (*groups(), "time", "arrays"):
        names[word] = getattr(results, word)
    names |= {"results": results, **results.statistics}
    names["at"] = lambda instant: int(np.argmin(np.abs(results.time - instant)))
    return names


def problem_of(line: tuple[str, str, str], names: Mapping[str, object]) -> str | None:
    """Why a number is not what the program gives; None if it is."""
    printed, relation, expression = line
    value = float(eval(expression, {"__builtins__": {}}, dict(names)))
    wanted = float(printed.replace(",", ""))
    fits = {
        "=": abs(value - wanted) <= 0.51 * unit_of(printed),
        "~": abs(value - wanted) <= 0.2 * abs(wanted),
        ">": 0.01 * wanted <= abs(value) <= wanted,
    }[relation]
    return None if fits else f"{printed} {relation} {expression}: the program gives {value!r}"


def unit_of(printed: str) -> float:
    """One in the last digit of a printed number."""
    mantissa, _, exponent = printed.replace(",", "").partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals)


def output_problem(printed: str, given: str) -> str | None:
    """Why the output of a command is not what a page prints; None if it is. Times it took are not compared."""
    parts = [part.strip("\n") for part in re.split(r"^\.\.\.$", printed, flags=re.MULTILINE)]
    if len(parts) == 1:
        return _difference(printed, given)
    lines, at = [line for line in given.splitlines() if line.strip()], 0
    for k, part in enumerate(parts):
        count = sum(bool(line.strip()) for line in part.splitlines())
        places = range(at, len(lines) - count + 1) if k else [0]
        if k == len(parts) - 1 and count:
            places = [len(lines) - count]
        found = [n for n in places if n >= at and _difference(part, "\n".join(lines[n : n + count])) is None]
        if not found:
            return f"the page prints\n{part}\nthe program\n{given}"
        at = found[0] + count
    return None


def _difference(printed: str, given: str) -> str | None:
    a, b = (_tokens(text) for text in (printed, given))
    if [each for each in a if not _is_number(each)] != [each for each in b if not _is_number(each)] or len(a) != len(b):
        return f"the page prints\n{printed}\nthe program\n{given}"
    for one, other in zip(a, b, strict=True):
        if _is_number(one) and not _alike(one, other):
            return f"{one}: the program prints {other} in\n{given}"
    return None


def _tokens(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not line.startswith("wall time")]
    return re.findall(rf"{NUMBER}|[^\s\d]+|\d", " ".join(lines))


def _is_number(token: str) -> bool:
    return re.fullmatch(NUMBER, token) is not None


def _alike(one: str, other: str) -> bool:
    """Numbers to the last digit; errors of two digits within a factor of two; rounding errors by their being some."""
    a, b = float(one.replace(",", "")), float(other.replace(",", ""))
    if abs(a) < ROUNDING:
        return abs(b) < 10.0 * ROUNDING
    digits = len(one.lstrip("-+").partition("e")[0].replace(".", ""))
    if "e-" in one and digits <= 2:
        return 0.5 < b / a < 2.0
    return abs(a - b) <= 1.01 * max(unit_of(one), unit_of(other))
