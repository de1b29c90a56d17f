"""Small bugs, and which of them the quick tests see: ``python -m tests.mutants --random 300 --seed 1 -n 2``.

Each mutant is planted alone in a copy of the checkout, in a temporary folder; tests run there and should fail.
``--random`` draws mutants by the operators of cosmic-ray from lines that tests execute, at least 20 of 300 in each
room, and judges them by tests that reach them (``tests/mutants/drawn.py``); those that cannot be seen stand in
``equivalent.toml`` with a reason each. ``--planted`` are the mutants of a table by hand (``table.py``, ``items.py``).
Words choose those whose file contains one of them, of the table also whose tests or physics do.
"""

import argparse
import sys
import tempfile
from pathlib import Path


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--random", type=int, metavar="COUNT", help="mutants drawn at random (needs femb[mutants])")
    which.add_argument("--planted", action="store_true", help="mutants of the table")
    parser.add_argument("words", nargs="*", metavar="WORD", help="parts of file, tests or physics: radau, results")
    parser.add_argument("-n", type=int, default=1, metavar="PROCESSES", help="each works in a copy of its own")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--timeout", type=float, default=1800.0, metavar="S", help="of the tests of a planted one")
    parser.add_argument("--seed", type=int, default=1, help="of those at random")
    parser.add_argument("--hours", type=float, default=1.5, help="after which no more at random are judged")
    parser.add_argument("--reach", type=Path, metavar="FOLDER", help="keeps the executed lines, for later runs")
    options = parser.parse_args(words)
    if options.planted:
        from .planted import run_planted

        return run_planted(options.words, options.n, options.timeout, options.list)
    from .drawn import draw, run_drawn
    from .reached import Reached

    with tempfile.TemporaryDirectory(prefix="femb_reached_") as folder:
        reached = Reached.measured(options.reach or Path(folder), options.n)
        mutants = draw(options.random, options.seed, reached)
        mutants = [m for m in mutants if not options.words or any(word in m.place.file for word in options.words)]
        if options.list:
            print("\n".join(mutant.diff() for mutant in mutants))
            return 0
        return run_drawn(mutants, options.n, options.hours, reached)


if __name__ == "__main__":
    sys.exit(main())
