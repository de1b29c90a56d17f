"""Steps and error with vibrations damped instead of followed: ``python bench_filter.py [PICTURE]``.

The flying beam of 32 elements for 15 s, and a satellite with four wires of 50 m for 100 s. The error is the largest of
the positions of nodes at 101 instants, relative to the longest way of a node, against radau at an rtol of 1e-8 that
follows all vibrations (flying beam: 1e-7).
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from femb import Model, Results, Run, simulate

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from oracles.stiff_motion import flying_beam, wire_satellite

# Model, duration (s), filter (Hz) and rtol of the reference.
PROBLEMS: dict[str, tuple[Model, float, float, float]] = {
    "flying beam, 15 s": (flying_beam(), 15.0, 3.0, 1e-7),
    "four wires of 50 m, 100 s": (wire_satellite(), 100.0, 1.0, 1e-8),
}
DECADES = (1e-3, 1e-4, 1e-5, 1e-6)
# By label: options, and whether vibrations are damped.
WAYS: dict[str, tuple[dict[str, Any], bool]] = {
    "radau, filter": ({"method": "radau"}, True),
    "gen.-alpha 0.8, filter": ({"method": "generalized-alpha", "spectral_radius": 0.8}, True),
    "gen.-alpha 0.4, filter": ({"method": "generalized-alpha", "spectral_radius": 0.4}, True),
    "radau, all followed": ({"method": "radau"}, False),
}


def nodes(results: Results) -> np.ndarray:
    """(T, n, 3) positions of the nodes of all beams."""
    return np.concatenate([beam.position for beam in results.beams.values()], axis=1)


def measured(title: str) -> dict[str, np.ndarray]:
    """By way, (runs, 2) steps and relative error."""
    model, duration, frequency, rtol = PROBLEMS[title]
    times = {"duration": duration, "output_interval": 0.01 * duration}
    exact = nodes(simulate(model, Run(rtol=rtol, **times)))
    way = np.linalg.norm(exact - exact[0], axis=2).max()
    found = {}
    for label, (options, damped) in WAYS.items():
        points = []
        for rtol in DECADES if damped else (1e-6,):
            run = Run(rtol=rtol, filter=frequency if damped else None, **times, **options)
            results = simulate(model, run)
            error = np.linalg.norm(nodes(results) - exact, axis=2).max() / way
            counts, lost = results.statistics, results.audit.energy_error[-1]
            numbers = f"{counts['steps']:7d} {counts['cpu_time']:8.2f} {error:9.1e} {lost:10.1e}"
            print(f"{title:26} {label:24} {rtol:8.0e} {numbers}", flush=True)
            points.append((counts["steps"], error))
        found[label] = np.array(points)
    return found


def draw(curves: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    """A panel for each problem: error over steps."""
    from matplotlib.figure import Figure

    from femb.pictures.drawing import INK, PALETTE

    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (title, by_way) in zip(panels, curves.items(), strict=True):
        for (label, points), colour in zip(by_way.items(), PALETTE, strict=False):
            axes.loglog(points[:, 0], points[:, 1], "o-", ms=4, color=colour, label=label)
        axes.axhline(1e-4, lw=0.8, ls="--", color="#888888")
        axes.set_title(title, fontsize=10, color=INK)
        axes.grid(True, which="major", lw=0.4, color="#cccccc")
        axes.set_xlabel("steps")
    panels[0].set_ylabel("largest error over the way of a node")
    panels[1].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=100)


def main() -> None:
    """Print the table, and draw the picture where a path is given."""
    print(f"{'problem':26} {'way':24} {'rtol':>8} {'steps':>7} {'CPU s':>8} {'error':>9} {'energy J':>10}")
    curves = {title: measured(title) for title in PROBLEMS}
    if len(sys.argv) > 1:
        draw(curves, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
