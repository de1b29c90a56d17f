"""Error against CPU time of the steppers on the IFToMM mechanisms A01 to A05: ``python bench_mechanisms.py [PICTURE]``.

The error is that of the positions of all bodies at the end, the time that of stepping alone. A01 and A02 are measured
against their closed forms, the others against DOP853 at an rtol of 1e-13: that radau's curve falls to its last point
says that this run is right.
"""

import importlib.util
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from femb import FembError, Model, Results, Run, Tolerances, load_case, simulate

CASES = Path(__file__).resolve().parents[2] / "cases"
# A curve ends where a run takes longer (CPU s).
LONGEST = 2.0
# An error (m) as large as this is that of a run which went another way.
LOST = 0.1
DECADES = {"radau": range(3, 10), "bdf": range(3, 11), "rk": range(3, 13), "generalized-alpha": range(3, 9)}
LABELS = {
    "radau": "radau", "bdf": "bdf", "rk": "rk (DOP853)", "rk4": "rk (rk4, fixed)", "generalized-alpha": "gen.-alpha",
}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A mechanism until ``duration`` (s). length : by which a tolerance of positions is scaled, m. steps : of rk4, s.

    exact : positions of bodies at the end by name, where they are known.
    """

    title: str
    model: Model
    duration: float
    length: float
    steps: tuple[float, ...]
    exact: dict[str, np.ndarray] | None = None

    def run(self, **options: Any) -> Results:
        """The run with these options and output at its end."""
        return simulate(
            self.model, Run(duration=self.duration, output_interval=self.duration, max_steps=10_000, **options)
        )

    def by_tolerance(self, method: str, rtol: float) -> Results:
        """The run by a method with error control."""
        return self.run(method=method, rtol=rtol, atol=Tolerances(0.1 * rtol * self.length, 0.1 * rtol))


def last_positions(results: Results) -> dict[str, np.ndarray]:
    """By name, the positions of all bodies at the end."""
    return {name: body.position[-1] for name, body in results.bodies.items()}


def in_line(windows: int, duration: float) -> dict[str, np.ndarray]:
    """Rods and couplers of A02 by its one equation of motion, ((N + 1)/3 + N) th'' + (3 N + 1)/2 g cos th = 0."""
    inertia, weight = (windows + 1) / 3.0 + windows, 9.81 * (3.0 * windows + 1.0) / 2.0
    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14}
    motion = solve_ivp(
        lambda t, y: [y[1], -weight / inertia * np.cos(y[0])], (0.0, duration), [0.5 * np.pi, -1.0], **options
    )
    end = np.array([np.cos(motion.y[0, -1]), np.sin(motion.y[0, -1]), 0.0])
    found = {f"rod_{k}": np.array([k, 0.0, 0.0]) + 0.5 * end for k in range(windows + 1)}
    return found | {f"coupler_{k}": np.array([k + 0.5, 0.0, 0.0]) + end for k in range(windows)}


def pendulum(duration: float) -> dict[str, np.ndarray]:
    """The bob of A01 by its angle."""
    options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14}
    motion = solve_ivp(lambda t, y: [y[1], -9.81 * np.cos(y[0])], (0.0, duration), [np.pi, 0.0], **options)
    return {"bob": np.array([np.cos(motion.y[0, -1]), np.sin(motion.y[0, -1]), 0.0])}


def problems() -> list[Problem]:
    """All five."""
    a01, a05 = (load_case(CASES / f"{name}.toml").model for name in ("iftomm_a01_pendulum", "iftomm_a05_governor"))
    a03, a04 = (load_case(CASES / f"{name}.py").model for name in ("iftomm_a03_squeezer", "iftomm_a04_bricard"))
    spec: Any = importlib.util.spec_from_file_location("a02", CASES / "iftomm_a02_four_bar.py")
    a02 = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(a02)
    halves = 2.0 ** -np.arange(7)
    return [
        Problem("A01 pendulum, 10 s", a01, 10.0, 1.0, tuple(0.1 * halves), pendulum(10.0)),
        Problem("A02 two four-bars, 10 s", a02.build(2), 10.0, 1.0, tuple(0.02 * halves), in_line(2, 10.0)),
        Problem("A03 squeezer, 0.03 s", a03, 0.03, 0.01, tuple(2e-4 * halves)),
        Problem("A04 Bricard, 5 s", a04, 5.0, 1.0, tuple(0.05 * halves)),
        Problem("A05 governor, 0.5 s", a05, 0.5, 1.0, tuple(1e-4 * halves[:3])),
    ]


def measured(problem: Problem) -> dict[str, np.ndarray]:
    """By method, (runs, 2) CPU time (s) and error (m)."""
    wanted = problem.exact or last_positions(problem.by_tolerance("rk", 1e-13))
    found = {}
    for method in LABELS:
        points = []
        for each in problem.steps if method == "rk4" else [10.0**-k for k in DECADES[method]]:
            try:
                if method == "rk4":
                    results = problem.run(method="rk", tableau="rk4", step=each)
                else:
                    results = problem.by_tolerance(method, each)
            except FembError as error:
                print(f"{problem.title:24} {method:18} {each:8.1e}   {str(error)[:60]}")
                continue
            positions = last_positions(results)
            error = max(float(np.abs(positions[name] - x).max()) for name, x in wanted.items())
            cpu, steps = results.statistics["cpu_time"], results.statistics["steps"]
            print(f"{problem.title:24} {method:18} {each:8.1e} {steps:7d} {cpu:9.3f} {error:9.1e}", flush=True)
            points.append((cpu, error))
            if cpu > LONGEST and error < LOST:
                break
        found[method] = np.array(points).reshape(-1, 2)
    return found


def draw(curves: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    """A panel for each problem: error over CPU time, by method."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    from femb.pictures.drawing import INK, PALETTE

    figure = Figure(figsize=(11.0, 6.6), layout="constrained")
    grid = figure.subplots(2, 3).ravel()
    for axes, (title, by_method) in zip(grid, curves.items(), strict=False):
        for (method, points), colour in zip(by_method.items(), PALETTE, strict=False):
            axes.loglog(points[:, 0], np.maximum(points[:, 1], 1e-13), "o-", ms=3.5, color=colour, label=LABELS[method])
        axes.set_title(title, fontsize=10, color=INK)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(True, which="major", lw=0.4, color="#cccccc")
        axes.set_xlabel("CPU time of stepping, s")
    for k in (0, 3):
        grid[k].set_ylabel("error of positions at the end, m")
    grid[-1].axis("off")
    grid[-1].legend(*grid[0].get_legend_handles_labels(), loc="center", frameon=False)
    figure.savefig(path, dpi=90)


def main() -> None:
    """Print the table, and draw the picture where a path is given."""
    print(f"{'problem':24} {'method':18} {'rtol/step':>8} {'steps':>7} {'CPU s':>9} {'error m':>9}")
    curves = {}
    for problem in problems():
        for method in DECADES:  # what has to be compiled is, before anything is measured
            replace(problem, duration=0.02 * problem.duration).by_tolerance(method, 1e-4)
        curves[problem.title] = measured(problem)
    if len(sys.argv) > 1:
        draw(curves, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
