"""Tables of docs/validation.md: ``python docs/validation_problems.py [GROUP ...]`` prints some, or all.

The problems are in validation_statics.py, validation_modes.py, validation_linear.py and validation_loads.py;
``python docs/make_validation.py`` writes the tables into the page, and draws pictures of the same numbers.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import validation_linear as linear
import validation_loads as loads
import validation_modes as modes
import validation_shells as shells
import validation_statics as statics

Errors = dict[str, float]


@dataclass(frozen=True)
class Group:
    """Problems with one parameter: title of the table, symbol and values of the parameter, and the two places in the
    values between which the printed order is measured, or None."""

    title: str
    problems: tuple[Callable[..., Errors], ...]
    symbol: str
    values: tuple[float, ...]
    order: tuple[int, int] | None = None


HALVED = (0.4, 0.2, 0.1, 0.05, 0.025)
GROUPS = {
    "STATICS": Group("statics, error", statics.STATICS, "n", (2, 4, 8, 16, 32), (1, 3)),
    "CRITICAL": Group("critical loads, error", statics.CRITICAL, "n", (2, 4, 8, 16, 32), (1, 3)),
    "MODES": Group("modes, error", modes.MODES, "n", (4, 8, 16, 32, 48), (1, 3)),
    "SHELLS": Group("shells, error", shells.SHELLS, "n", (4, 8, 16), (1, 2)),
    "KINDS": Group("kinds, error", modes.KINDS, "n", (2, 4, 8, 16, 32), (1, 3)),
    "PULSE": Group("pulse, difference", linear.PULSE, "N m", HALVED, (2, 4)),
    "TRANSFER": Group("transfer function, difference", linear.TRANSFER, "N m", (1e-2, 1e-3, 1e-4, 1e-5, 1e-6), (0, 3)),
    "TRUNCATION": Group("truncation", linear.TRUNCATION, "modes", (1, 2, 3, 5, 8)),
    "SUMS": Group("sums over modes, remainder", loads.SUMS, "modes", (1, 3, 6, 12, 24, 60)),
    "SHAKE": Group("base shake, error", loads.SHAKE, "n", (4, 8, 16, 24, 32), (1, 3)),
    "PEAKS": Group("peak loads, error", loads.PEAKS, "n", (2, 4, 8), (0, 2)),
}


def table(group: Group, values: tuple[float, ...] | None = None) -> dict[str, list[float]]:
    """The errors of all problems of a group by name, one for each value of the parameter."""
    found: dict[str, list[float]] = {}
    for problem in group.problems:
        for value in group.values if values is None else values:
            for name, error in problem(value).items():
                found.setdefault(name, []).append(error)
    return found


def order(group: Group, errors: list[float]) -> float:
    """The slope of the errors over the parameter in logarithms, positive where they fall to the right place."""
    assert group.order is not None
    i, k = group.order
    return float(abs(np.log(errors[i] / errors[k]) / np.log(group.values[k] / group.values[i])))


def main(words: list[str]) -> None:
    """Print the tables of some groups, or all."""
    for word in words or GROUPS:
        group = GROUPS[word]
        head = [f"{group.symbol}={value:g}" for value in group.values] + ["order"] * (group.order is not None)
        print(f"\n| {group.title} | " + " | ".join(head) + " |")
        print("| --- " * (len(head) + 1) + "|")
        for name, errors in table(group).items():
            cells = [f"{error:.1e}" for error in errors]
            cells += [f"{order(group, errors):.1f}"] if group.order is not None else []
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
