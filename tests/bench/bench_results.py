"""Large results and long runs, beside their bounds: ``python bench_results.py [STEPS]``.

Written: 1e4 output times of 1000 nodes, position and quaternion, 560 MB, as a run writes them: into the journal, and
from it into the HDF5 file. Read: the position of one node by name. Memory: of the process during a run of 1e6 steps.
"""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import femb
from femb.results.storage.file import ResultWriter

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


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for words, dtype, compression in KINDS:
            path = Path(folder) / "results.h5"
            took, cpu = written(path, dtype, compression)
            size = os.path.getsize(path) / 1e6
            shown(f"written, {words} ({size:.0f} MB, {cpu:.1f} s CPU)", took, "s", WRITE)
            shown(f"one node read, {words}", one_node(path), "s", READ)
            path.unlink()
    steps = int(sys.argv[1]) if sys.argv[1:] else 1_000_000
    shown(f"memory, growth in {steps} steps", growth(steps), "MB", GROWTH)


if __name__ == "__main__":
    main()
