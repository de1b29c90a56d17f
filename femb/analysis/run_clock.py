"""The wall and CPU time that a run takes."""

import time

from femb.steppers.contract import Statistics


class RunClock:
    """Adds the time that has passed to the statistics of a run.

    It is read at the end and for checkpoints alone: on some machines a program that has worked waits longer for its CPU
    time than a small step takes.
    """

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def add_to(self, statistics: Statistics) -> None:
        """Add the time since the start, or since the last call, to the times of an earlier part of the run."""
        wall, cpu = time.perf_counter(), time.process_time()
        statistics.wall_time += wall - self._wall
        statistics.cpu_time += cpu - self._cpu
        self._wall, self._cpu = wall, cpu
