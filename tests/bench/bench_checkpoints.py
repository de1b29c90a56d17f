"""The cost of checkpoints: their part of the CPU time of a run into a file, and runs with and without them in turns.

``python tests/bench/bench_checkpoints.py [CASE] [DURATION] [PAIRS]``; the ratio is that of the medians. Without
checkpoints only the last one is written, which both have.
"""

import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from femb import load_case, simulate
from femb.run import checkpoints

CASE = Path(__file__).parents[2] / "cases" / "satellite_forced.toml"


def main(case: str = str(CASE), duration: str = "", pairs: str = "5") -> None:
    loaded = load_case(case)
    run = replace(loaded.run, duration=float(duration)) if duration else loaded.run
    interval, taken, spent = checkpoints.INTERVAL, [], {True: [], False: []}
    keep = checkpoints.Checkpoints.keep

    def timed(*arguments) -> None:
        begin = time.process_time()
        keep(*arguments)
        taken.append(time.process_time() - begin)

    checkpoints.Checkpoints.keep = timed
    with tempfile.TemporaryDirectory() as folder:
        for number in range(int(pairs) + 1):
            for with_them in (True, False) if number % 2 else (False, True):
                checkpoints.INTERVAL = interval if with_them else float("inf")
                taken.clear()
                begin = time.process_time()
                simulate(loaded.model, run, out=Path(folder) / "r.h5")
                used = time.process_time() - begin
                if number:  # the first pair compiles and warms up
                    spent[with_them].append(used)
                    share = f"{len(taken)} checkpoints took {100.0 * sum(taken) / used:.3f} %"
                    print(f"{'with' if with_them else 'without'}: {used:.3f} s, {share}", flush=True)
    ratio = statistics.median(spent[True]) / statistics.median(spent[False])
    print(f"median with {statistics.median(spent[True]):.3f} s, without {statistics.median(spent[False]):.3f} s")
    print(f"ratio {ratio:.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
