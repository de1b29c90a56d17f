"""Runs in processes of their own that are killed, watched, or given no room, many of them at little cost.

``python forked_runs.py SEED FOLDER COUNTS`` carries out so many tries of each kind and prints what became of them, both
as JSON. The compiled kernels are loaded once; every run is a fork of that process.
"""

import json
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

import femb
from femb.results.results import Results
from femb.results.storage.read import unfinished
from femb.run import checkpoints

# A run of some 0.2 s, most of it in steps, so that most moments at which it is killed are between its output times.
# Its steps are fixed: a resumed run repeats them to the last bit.
RUN = {"duration": 2.0, "output_interval": 0.002, "method": "rk", "tableau": "rk4", "step": 0.002}
# What the results of every run begin with, and what they end with if they are complete.
TIMES = np.arange(1001) * 0.002


def model() -> femb.Model:
    made = femb.Model("top")
    made.add(
        femb.RigidBody("top", mass=2.0, inertia=[1.0, 2.0, 3.0], velocity=[1.0, 0.0, 0.0], angular_velocity=[0, 1, 0.1])
    )
    return made


def check(results: Results) -> int:
    """How many output times there are; raises AssertionError where they are not those of the run."""
    count = len(results.time)
    if not count:
        return 0
    np.testing.assert_allclose(results.time, TIMES[:count], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(results.bodies["top"].position[:, 0], results.time, rtol=0.0, atol=1e-6)
    for array in results.series.values():
        assert len(array) == count
        assert np.all(np.isfinite(array))
    return count


def forked(run) -> int:
    """The process of a function, which returns its exit code."""
    process = os.fork()
    if process:
        return process
    try:
        code = run()
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 99
    os._exit(code or 0)


def simulated(path: Path) -> None:
    femb.simulate(model(), out=path, **RUN)


def kills(count: int, chance: random.Random, folder: Path) -> Counter[str]:
    """Kill runs at random moments, every second one over the results of a finished run."""
    found: Counter[str] = Counter()
    finished = folder / "finished.h5"
    begin = time.monotonic()
    simulated(finished)
    span = time.monotonic() - begin
    old = finished.read_bytes()
    for number in range(count):
        path = folder / str(number) / "results.h5"
        path.parent.mkdir()
        part = path.with_name("results.h5.part")
        if number % 2:
            path.write_bytes(old)
        process = forked(lambda path=path: simulated(path))
        while not part.exists() and os.waitpid(process, os.WNOHANG) == (0, 0):
            time.sleep(0.0005)
        time.sleep(span * (number + chance.random()) / count)  # one in each part of the run
        try:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        except ChildProcessError:
            pass
        if number % 2:
            # The old results, or the new ones if they were complete.
            assert check(Results.read(path)) == len(TIMES), f"run {number}: old results lost"
            assert Results.read(path).status == "complete"
        results = Results.read(part if part.exists() else path)
        frames = check(results)
        ended = results.status == "complete"
        found["complete" if ended else "in between"] += 1
        found["readable"] += 1
        # The machine may be slower or faster than before.
        span *= 0.7 if ended else 1.1
        found["output times"] += frames
    return found


def reads(count: int, chance: random.Random, folder: Path) -> Counter[str]:
    """Read files of runs that go on, at random moments, until there have been so many reads."""
    found: Counter[str] = Counter()
    number = 0
    while found["reads"] < count:
        number += 1
        path = folder / str(number) / "results.h5"
        path.parent.mkdir()
        process = forked(lambda path=path: simulated(path))
        before, seen, going = 0, False, True
        while going:
            time.sleep(chance.uniform(0.0, 0.004))
            going = os.waitpid(process, os.WNOHANG) == (0, 0)
            if not seen and not path.exists() and not path.with_name("results.h5.part").exists():
                continue
            seen = True
            results = Results.read(path)
            frames = check(results)
            assert frames >= before, "output times that had been read before are gone"
            before = frames
            found["reads"] += 1
            found[results.status] += 1
        assert before == len(TIMES)
    found["runs"] = number
    return found


def full_disk(count: int, chance: random.Random, folder: Path) -> Counter[str]:
    """Give runs no room beyond a random size of a file, as a full disk would."""
    found: Counter[str] = Counter()
    simulated(folder / "finished.h5")
    whole = (folder / "finished.h5").stat().st_size

    def run(path: Path, room: int) -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        try:
            simulated(path)
        except femb.ResultError as caught:
            error = caught
        else:
            return 0
        if str(error).count(str(path)) != 1 or "cannot be written" not in str(error):
            return 4
        if not hasattr(error, "results"):
            return 3  # nothing could be written at all
        frames = check(error.results)
        if frames == len(TIMES) and error.results.status == "complete":
            return 1  # there was room for everything, but not for the HDF5 file of it
        return 2 if error.results.status == "failed" and "cannot be written" in error.results.message else 5

    for number in range(count):
        path = folder / str(number) / "results.h5"
        path.parent.mkdir()
        # One in each part of the range; the second of four parts always has room to begin and never to end.
        room = int(1.2 * whole * (number + chance.random()) / count)
        process = forked(lambda path=path, room=room: run(path, room))
        _, status = os.waitpid(process, 0)
        assert os.WIFEXITED(status), f"run {number}, {room} bytes: ended by signal {os.WTERMSIG(status)}"
        code = os.WEXITSTATUS(status)
        words = {0: "enough room", 1: "no room for HDF5", 2: "error with results", 3: "no room to begin"}
        found[words[code]] += 1
        if code != 3:
            results = Results.read(path)
            check(results)
            assert results.status == ("failed" if code == 2 else "complete")
            assert not [each for each in path.parent.iterdir() if each.name.startswith(".")]
            found["readable"] += 1
    return found


def killed(work, wait: float) -> bool:
    """Whether a process that does some work was killed after ``wait`` seconds, before it ended."""
    process = forked(work)
    time.sleep(wait)
    os.kill(process, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(process, 0)[1])


def resumes(count: int, chance: random.Random, folder: Path) -> Counter[str]:
    """Kill runs with fixed steps at random moments, up to three times each, and resume them to their end."""
    checkpoints.INTERVAL = checkpoints.COST = 0.0
    found: Counter[str] = Counter()

    def run(path: Path, resume: bool = True) -> None:
        femb.simulate(model(), out=path, resume=resume, **RUN)

    begin = time.monotonic()
    run(folder / "whole.h5", resume=False)
    span = time.monotonic() - begin
    whole = Results.read(folder / "whole.h5")
    for number in range(count):
        path = folder / str(number) / "results.h5"
        path.parent.mkdir()
        for _ in range(chance.randint(1, 3)):
            wait = chance.uniform(0.0, span)
            while not killed(lambda path=path: run(path), wait):
                # it ended first, on a machine that is less busy now than in the whole run: once more, killed earlier
                path.unlink()
                wait *= 0.5
            found["killed"] += 1
        earlier = unfinished(path)
        found["from a checkpoint"] += bool(earlier and earlier.checkpoint)
        process = forked(lambda path=path: run(path))
        assert os.waitpid(process, 0)[1] == 0, f"run {number} was not resumed"
        results = Results.read(path)
        assert results.status == "complete"
        assert set(results.series) == set(whole.series)
        for name, array in whole.series.items():
            np.testing.assert_array_equal(results.series[name], array, err_msg=f"run {number}, {name}")
        assert results.statistics["steps"] == whole.statistics["steps"]
        assert os.listdir(path.parent) == ["results.h5"], f"run {number}: {os.listdir(path.parent)}"
        found["resumed"] += 1
    return found


def main(seed: str, folder: str, counts: str) -> None:
    simulated(Path(folder) / "first.h5")
    chance, found = random.Random(int(seed)), {}
    for tries in (kills, reads, full_disk, resumes):
        place = Path(folder) / tries.__name__
        place.mkdir()
        found[tries.__name__] = tries(json.loads(counts)[tries.__name__], chance, place)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
