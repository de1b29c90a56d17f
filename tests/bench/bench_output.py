"""What output costs: ``python bench_output.py [times] [large [STEPS]] [checkpoints [CASE] [DURATION] [PAIRS]]``.

times : CPU time of runs with 2, 100 and 1000 output times, beside a bound of 1.3 times that with 2, of all quantities
and of the motion alone. large : 1e4 output times of 1000 nodes, position and quaternion, 560 MB, written as a run
writes them, into the journal and from it into the HDF5 file, and the position of one node read by name; memory of the
process during a run of 1e6 steps. checkpoints : their part of the CPU time of a run into a file, and runs with and
without them in turns; the ratio is that of the medians. Without checkpoints only the last one is written.
"""

import os
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from runpy import run_path

import numpy as np
from bench_models import chain, satellite

import femb
from femb import load_case, simulate
from femb.results.storage.file import ResultWriter
from femb.run import checkpoints

CASES = Path(__file__).resolve().parents[2] / "cases"
CASE = CASES / "satellite_forced.toml"
BOUND = 1.3
ROUNDS = 5
OUTPUTS = (2, 100, 1000)


def measure_times() -> None:
    tree, windows = load_case(CASES / "thompson_connected.toml"), run_path(str(CASES / "iftomm_a02_four_bar.py"))
    runs = {
        "satellite, 5 nodes, radau": (satellite(), {"duration": 10.0, "method": "radau"}),
        "satellite, 5 nodes, rk": (satellite(), {"duration": 0.1, "method": "rk"}),
        "tree, reduced, rk": (tree.model, {"duration": 2.0, "method": "rk", "formulation": "reduced"}),
        "40 windows of A02, rk": (windows["build"](40), {"duration": 4.0, "method": "rk"}),
        "chain of 100, radau": (chain(100), {"duration": 0.02, "method": "radau", "max_step": 1e-3}),
    }
    for name, (model, words) in runs.items():
        for motion_only in (False, True):
            taken: dict[int, list[float]] = {count: [] for count in OUTPUTS}
            for _ in range(ROUNDS):
                for count in OUTPUTS:
                    start = time.process_time()
                    times = {"output_interval": words["duration"] / (count - 1), "output": {"motion_only": motion_only}}
                    results = simulate(model, rtol=1e-6, **times, **words)
                    taken[count].append(time.process_time() - start)
            best = {count: min(times) for count, times in taken.items()}
            ratios = ", ".join(f"{best[count] / best[2]:.2f} with {count}" for count in OUTPUTS[1:])
            print(
                f"{name:26}{'motion' if motion_only else 'all':7}: {1e3 * best[2]:6.0f} ms in "
                f"{results.statistics['steps']} steps with 2 output times; over that {ratios} (bound {BOUND}); "
                f"{1e6 * (best[1000] - best[2]) / 998:.0f} us an output time"
            )


# Large results and long runs

FRAMES, NODES, BLOCK = 10_000, 1000, 64
# Results in parts: name, type and level of compression.
KINDS = (("float64", np.float64, 0), ("float32", np.float32, 0), ("float32, gzip 1", np.float32, 1))
WRITE, READ, GROWTH = 6.0, 0.2, 4.0


def shown(what: str, value: float, unit: str, bound: float) -> None:
    print(f"{what:44s} {value:8.3f} {unit:3s} bound {bound:g} {'' if value < bound else '  MISSED'}", flush=True)


def written(path: Path, dtype: type, compression: int) -> tuple[float, float]:
    """Time and CPU time of writing, s, without that of making the numbers."""
    wave = np.linspace(0.0, 20.0, NODES)[:, None]
    took = np.zeros(2)
    with ResultWriter(path, {}, {"beams/boom": {"kind": "beam"}}, compression) as writer:
        for first in range(0, FRAMES, BLOCK):
            t = np.arange(first, min(first + BLOCK, FRAMES), dtype=float)
            motion = np.sin(wave + 0.01 * t[:, None, None] + np.arange(7.0)).astype(dtype)
            arrays = {"beams/boom/position": motion[..., :3].copy(), "beams/boom/quaternion": motion[..., 3:].copy()}
            start = np.array([time.perf_counter(), time.process_time()])
            writer.append({"time": t, **arrays})
            took += np.array([time.perf_counter(), time.process_time()]) - start
        start = np.array([time.perf_counter(), time.process_time()])
        writer.finish("complete")
    took += np.array([time.perf_counter(), time.process_time()]) - start
    return float(took[0]), float(took[1])


def one_node(path: Path) -> float:
    """Time of reading one node of 1000, s: the median of 5."""
    times = []
    for node in range(100, 600, 100):
        start = time.perf_counter()
        array = femb.Results.read_array(path, f"beams/boom[{node}]/position")
        times.append(time.perf_counter() - start)
        wanted = np.sin(20.0 * node / (NODES - 1) + 0.01 * np.arange(FRAMES)[:, None] + np.arange(3.0))
        assert np.allclose(array, wanted, atol=1e-6)
    return float(np.median(times))


class Memory:
    """Resident memory of this process, MB, as a run goes on."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.sizes: list[float] = []

    def message(self, text: str) -> None:
        print(text)

    def update(self, t: float) -> None:
        if len(self.sizes) == 0 or t - self.times[-1] > 0.01:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            self.times.append(t)
            self.sizes.append(pages * resource.getpagesize() / 1e6)


def growth(steps: int) -> float:
    """Growth of memory, MB, from a tenth of a run of fixed steps to its end; the run is 1 s of a spinning body."""
    model = femb.Model()
    model.add(femb.RigidBody("body", mass=1.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(0.1, 2.0, 0.1)))
    memory = Memory()
    results = femb.simulate(
        model, duration=1.0, output_interval=1e-3, method="rk", tableau="rk4", step=1.0 / steps, progress=memory
    )
    assert results.statistics["steps"] >= steps
    sizes = [size for t, size in zip(memory.times, memory.sizes, strict=True) if t >= 0.1]
    return max(sizes) - sizes[0]


def measure_large(steps: int = 1_000_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for words, dtype, compression in KINDS:
            path = Path(folder) / "results.h5"
            took, cpu = written(path, dtype, compression)
            size = os.path.getsize(path) / 1e6
            shown(f"written, {words} ({size:.0f} MB, {cpu:.1f} s CPU)", took, "s", WRITE)
            shown(f"one node read, {words}", one_node(path), "s", READ)
            path.unlink()
    shown(f"memory, growth in {steps} steps", growth(steps), "MB", GROWTH)


# Checkpoints


def measure_checkpoints(case: str = str(CASE), duration: str = "", pairs: str = "5") -> None:
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
    part, *more = sys.argv[1:] or ("",)
    if part in ("", "times"):
        measure_times()
    if part in ("", "large"):
        measure_large(*map(int, more))
    if part in ("", "checkpoints"):
        measure_checkpoints(*more)
