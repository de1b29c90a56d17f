"""The functions of the commands ``femb plot``, ``picture`` and ``animate``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from femb.base.errors import ResultError
from femb.base.progress import counted
from femb.export.plots import FIGURES, WORDS, animate, figures_of, picture, plot
from femb.results.results import Results


def draw_plot(
    results: Results,
    file: Path,
    out: Path | None,
    what: Sequence[str],
    items: Sequence[str],
    frame: str | None,
    times: tuple[float | None, float | None],
    dpi: int,
) -> Path:
    """Draw a figure of a result file, by default into its folder under the name of the figure."""
    target = out or file.with_name(f"{file_name(what)}.png")
    return plot(results, target, list(what) or None, items=items or None, frame=frame, times=times, dpi=dpi)


def listing(results: Results) -> str:
    """The figures, quantities and items of results that can be plotted."""
    lines = [
        f"figures of the case   {', '.join(figures_of(results)) or 'none'}",
        f"figures               {', '.join(FIGURES)}",
    ]
    lines.append(f"quantities            {', '.join(WORDS)}")
    for kind in ("bodies", "beams", "joints", "drivers", "springs", "loads"):
        names = ", ".join(getattr(results, kind))
        if names:
            lines.append(f"{kind:22}{names}")
    return "\n".join(lines)


def draw_picture(
    results: Results,
    file: Path,
    out: Path | None,
    times: str | None,
    count: int,
    frame: str,
    azimuth: float,
    elevation: float,
    dpi: int,
) -> Path:
    """Draw a picture at instants given as "0, 0.5, 1", or at ``count`` evenly spaced ones."""
    chosen: int | list[float] = count
    if times is not None:
        try:
            chosen = [float(text) for text in times.split(",")]
        except ValueError:
            chosen = [float("nan")]
        if not all(map(math.isfinite, chosen)):
            raise ResultError(f"--times {times}: wanted instants in s with commas between them, as 0,0.5,1")
    target = out or file.with_name("picture.png")
    return picture(results, target, chosen, frame=frame, azimuth=azimuth, elevation=elevation, dpi=dpi)


def draw_animation(
    results: Results,
    file: Path,
    out: Path | None,
    times: tuple[float | None, float | None],
    speed: float | None,
    fps: int,
    frame: str,
    azimuth: float,
    elevation: float,
    dpi: int,
    quiet: bool,
) -> Path:
    """Draw a film."""
    target = out or file.with_name("animation.gif")
    with counted(quiet) as progress:
        return animate(
            results,
            target,
            frame=frame,
            azimuth=azimuth,
            elevation=elevation,
            times=times,
            speed=speed,
            fps=fps,
            dpi=dpi,
            progress=progress,
        )


def file_name(what: Sequence[str]) -> str:
    """The name of the file of a figure with these texts."""
    text = "_".join(what) or "overview"
    return re.sub(r"[^\w.-]+", "_", text).strip("._")[:100] or "figure"
