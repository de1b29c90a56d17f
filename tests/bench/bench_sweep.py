"""What a study costs beside its runs: 1000 runs of some 0.1 s of CPU, on all cores and on dask workers.

The bound is the CPU time of the runs alone, as the first twenty take it in one process, divided by the cores; the ratio
is that bound over the time of the study, start of the processes included. On a machine that others use too, the ratio
of CPU times counts: what the runs take in one process over what the whole study took.
"""

import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import psutil

from femb import sweep
from femb.numerics.threads import core_count
from femb.study.study import read_study
from femb.study.sweep import runner_of

STUDY = Path(__file__).resolve().parents[2] / "cases" / "studies" / "satellite_settling.toml"
# of a run of some 0.1 s
SHORT = ("run.duration=20.0", "run.rtol=1e-5")
ALONE = 20


def cpu_time() -> float:
    """CPU time of this process and of all that it started, s; dask leaves the one that its workers were forks of."""
    left = [process.cpu_times()[:4] for process in psutil.Process().children(recursive=True)]
    return sum(os.times()[:4]) + sum(map(sum, left))


def main(runs: int, ways: list[str]) -> None:
    study = replace(read_study(STUDY, SHORT), runs=runs)
    runner, cores = runner_of(study, None), core_count()
    runner(0, study.rows[0])
    begin = time.process_time()
    for number in range(ALONE):
        runner(number, study.rows[number])
    alone = (time.process_time() - begin) / ALONE
    print(f"{runs} runs of {alone:.3f} s of CPU, {cores} cores")
    for way in ways:
        places = {"cluster": "local", "workers": cores} if way == "dask" else {"workers": cores}
        with tempfile.TemporaryDirectory() as folder:
            begin, before = time.monotonic(), cpu_time()
            table = sweep(study, out=folder, **places)
            wall, cpu = time.monotonic() - begin, cpu_time() - before
        print(
            f"{way:10} {wall:8.1f} s, {table.failed.sum()} failed; {100 * runs * alone / cores / wall:5.1f} % of the "
            f"cores; CPU of the runs alone over that of the study: {100 * runs * alone / cpu:5.1f} %"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1000, sys.argv[2:] or ["processes", "dask"])
