"""What the problems against other programs share: contenders, their CPU times and errors, and their comparison.

A contender is one program with one mesh and one step or tolerance. Its time is the CPU time from the model to the
results in memory; the median over repetitions in turn with all others. Programs are compared at the errors that a peer
reaches: femb's time is that of its fastest run with at most that error.
"""

import ctypes
import gc
import mmap
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from femb import FembError

Values = np.ndarray
Point = dict[str, Any]
FEMB = "femb"
# What femb records: positions and velocities, as the sensors of the peers do.
MOTION = {"motion_only": True}
MOTION_OF_BEAMS = {**MOTION, "exclude": ["*.strain", "*.deflection"]}
# Contenders whose runs took as long in all (CPU s) are not repeated again.
ENOUGH = 4.0
LOST = 0.3  # an error relative to the size of the motion above which a run does not count


class FailedError(Exception):
    """A program gave up a run."""


@dataclass(frozen=True)
class Contender:
    """program : femb or a peer. setting : mesh, method, step or tolerance. run : the values that are compared. like :
    what runs that are compared have in common, such as the mesh."""

    program: str
    setting: str
    run: Callable[[], Values]
    like: str = ""


@dataclass(frozen=True)
class Problem:
    """One row of the comparison.

    contenders : those of the problem, fewer and shorter if quick. reference : the values without error, which are
    stored under ``key`` in references.json. quantity : what the error is, with its unit. size : of the motion.
    """

    key: str
    title: str
    quantity: str
    contenders: Callable[[bool], list[Contender]]
    reference: Callable[[], Values]
    notes: str = ""
    size: float = 1.0


def largest(found: Values, wanted: Values) -> float:
    """The largest distance of two arrays of points (..., 3) or (..., 2); of a shorter run at the times that it has."""
    found = np.asarray(found)
    return float(np.linalg.norm(found - np.asarray(wanted)[: len(found)], axis=-1).max())


def timed(contender: Contender) -> tuple[Values, float]:
    """Values of a run, and its CPU time, s."""
    gc.collect()
    start = time.process_time()
    values = contender.run()
    return values, time.process_time() - start


def measured(problem: Problem, wanted: Values, quick: bool, repetitions: int) -> Iterator[Point]:
    """Points of all contenders, in their order. The first run of each warms up, unless it is long."""
    contenders = problem.contenders(quick)
    times: list[list[float]] = [[] for _ in contenders]
    errors = [float("nan")] * len(contenders)
    failures = [""] * len(contenders)
    for repetition in range(-1, repetitions):
        for k, contender in enumerate(contenders):
            if failures[k] or sum(times[k]) > ENOUGH:
                continue
            try:
                values, used = timed(contender)
            except (FailedError, FembError) as failure:
                failures[k] = str(failure) or "failed"
                continue
            errors[k] = largest(values, wanted)
            if repetition >= 0 or used > ENOUGH / 2:
                times[k].append(used)
    for contender, used, error, failure in zip(contenders, times, errors, failures, strict=True):
        if not failure and error > LOST * problem.size:
            failure = f"error {error:.1e}"
        point: Point = {"program": contender.program, "setting": contender.setting}
        if contender.like:
            point["like"] = contender.like
        point |= (
            {"failure": failure} if failure else {"cpu": median(used), "spread": max(used) / min(used), "error": error}
        )
        yield point


def front(points: list[Point], program: str) -> list[Point]:
    """Points of a program than which none of its points is faster and at most as wrong; from fast to slow."""
    found: list[Point] = []
    for point in sorted(
        (each for each in points if each["program"] == program and "cpu" in each), key=lambda p: p["cpu"]
    ):
        if not found or point["error"] < found[-1]["error"]:
            found.append(point)
    return found


def fastest(points: list[Point], program: str, error: float) -> Point | None:
    """The fastest point of a program with at most this error."""
    return next((point for point in front(points, program) if point["error"] <= error), None)


def alike(points: list[Point], like: str) -> list[Point]:
    """The points of runs that have this in common."""
    return [point for point in points if point.get("like", "") == like]


def comparisons(points: list[Point]) -> list[Point]:
    """For each peer and each point of its front, femb at the same error: times and their ratio.

    Runs are compared with those that have the same in common.
    """
    found = []
    for program in dict.fromkeys(p["program"] for p in points if p["program"] != FEMB):
        for like in dict.fromkeys(p.get("like", "") for p in points if p["program"] == program):
            some = alike(points, like)
            for peer in front(some, program):
                mine = fastest(some, FEMB, peer["error"])
                row: Point = {
                    "peer": program, "peer_setting": peer["setting"], "peer_cpu": peer["cpu"], "error": peer["error"],
                }  # fmt: skip
                if mine is None:
                    row |= {"setting": "not reached", "ratio": None}
                else:
                    row |= {"setting": mine["setting"], "cpu": mine["cpu"], "femb_error": mine["error"]}
                    row["ratio"] = peer["cpu"] / mine["cpu"]
                found.append(row)
    return found


# Of the control register of the vector units: its value at the start of a process, and the bits that make subnormal
# results and operands zero.
USUAL, TO_ZERO = 0x1F80, 0x8040
# The instructions "ldmxcsr [rdi]; ret".
LOAD = bytes([0x0F, 0xAE, 0x17, 0xC3])


@contextmanager
def without_subnormals() -> Iterator[None]:
    """A context in which this thread computes without subnormal numbers; none on other than x86-64 processors.

    For a program that does not avoid them, as femb's solvers do: on some processors they take a hundred times as long.
    """
    if platform.machine() != "x86_64":
        yield
        return
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(LOAD)
    load = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def set_register(value: int) -> None:
        load(ctypes.addressof(ctypes.c_uint32(value)))

    set_register(USUAL | TO_ZERO)
    try:
        yield
    finally:
        set_register(USUAL)
