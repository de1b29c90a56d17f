"""Pictures of docs/validation.md: errors over the parameter of each group of docs/validation_problems.py."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
import validation_linear as linear
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from validation_problems import GROUPS, table

from femb.pictures.drawing import INK, styled

DATA = Path(__file__).resolve().parent / "validation.json"
# Smaller differences are drawn here: rounding.
FLOOR = 1e-16
MARKS = ("o", "s", "^", "D", "v", "P", "X")


def write(figure: Figure, path: Path) -> None:
    """Write a figure, with axes, titles and legends as all figures of femb have them."""
    for axes in figure.axes:
        if axes.name == "rectilinear":
            styled(axes)
        axes.title.set(fontsize=10, color=INK)
        legend = axes.get_legend()
        if legend is not None:
            legend.set_frame_on(False)
            for text in legend.get_texts():
                text.set(fontsize=8, color=INK)
    figure.savefig(path)


def errors_of(
    axes: Axes, curves: Mapping[str, Sequence[float]], values: Sequence[float], slopes: Sequence[int]
) -> None:
    """Curves over a parameter, with open marks of different sizes, which equal curves do not hide."""
    for k, ((name, errors), mark) in enumerate(zip(curves.items(), cycle(MARKS))):
        axes.loglog(values, np.maximum(errors, FLOOR), mark + ("-" if k % 2 == 0 else "--"), ms=9 - k % 5, mfc="none",
                    lw=1.0, label=name)  # fmt: skip
    slope_marks(axes, values, slopes)
    axes.set_xticks(list(values), [f"{value:g}" for value in values])
    axes.minorticks_off()
    finish(axes)


def slope_marks(axes: Axes, values: Sequence[float], slopes: Sequence[int]) -> None:
    """Triangles of some slopes with their order, in the lower corner on the side of the large errors."""
    errors = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines()])
    first, second = values[0], values[1]
    for k, slope in enumerate(slopes):
        # towards smaller errors: from the first value of the parameter to the next
        x = first * (second / first) ** (np.array([0.0, 0.0, 0.45]) + 0.65 * k)
        fall = max(x[2] / x[0], x[0] / x[2]) ** slope
        y = 0.4 * np.min(errors) * np.array([1.0, fall, 1.0])
        axes.loglog(x[[0, 1, 2, 0]], y[[0, 1, 2, 0]], "k-", lw=1.0)
        axes.annotate(f"order {slope}", (x[1], y[1]), (0, 3), textcoords="offset points", fontsize=8,
                      ha="left" if second > first else "right")  # fmt: skip
    axes.set_ylim(0.2 * np.min(errors), 3.0 * np.max(errors))


def finish(axes: Axes, columns: int = 2) -> None:
    """The grid, and the legend below the axes."""
    axes.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=columns, frameon=False)


def panels(count: int, height: float = 5.2) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels in a row."""
    figure = Figure(figsize=(max(6.5, 5.4 * count), height), dpi=80, layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(1, count)))


GROUPED: dict[str, dict[str, tuple[str, ...]]] = {
    "STATICS": {
        "in a plane": ("elastica", "cantilever", "Géradin", "roll-up"),
        "in space": ("45-degree", "Princeton"),
    },
    "CRITICAL": {"critical and limit loads": ("",)},
    "MODES": {
        "roots of uniform beams": ("cantilever", "free-free", "pinned-free"),
        "hubs, effective masses, rotation": ("effective", "hub", "rotating"),
    },
    "SHELLS": {
        "frequencies and deflections": ("plate S", "plate C", "plate F", "laminate", "rotating", "pinched"),
        "buckling": ("plate buckles",),
    },
    "KINDS": {"both kinds of beams": ("",)},
}
SLOPES = {"SHELLS": (2,), "STATICS": (4, 2), "CRITICAL": (4, 2), "MODES": (4,), "KINDS": (4, 2)}


def numbers(word: str) -> Mapping[str, Sequence[float]]:
    """The errors of a group by name: those of docs/validation.json, or computed where it has none."""
    stored = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    return stored[word]["errors"] if word in stored else table(GROUPS[word])


def draw_literature(path: Path, folder: Path) -> None:
    """The errors of all values of the literature, and the bounds of the tests."""
    rows = json.loads(DATA.read_text(encoding="utf-8"))["LITERATURE"]
    figure = Figure(figsize=(9.0, 0.19 * len(rows) + 1.2), dpi=90, layout="constrained")
    axes = figure.subplots()
    heights = -np.arange(len(rows), dtype=float)
    axes.semilogx([row["bound"] for row in rows], heights, "|", color="0.55", ms=9, label="bound of the test")
    for k, subject in enumerate(dict.fromkeys(row["subject"] for row in rows)):
        own = [i for i, row in enumerate(rows) if row["subject"] == subject]
        axes.semilogx(
            [max(rows[i]["error"], FLOOR) for i in own], heights[own], "o", color=f"C{k}", ms=5, label=subject
        )
    named = [f"{row['problem']}: {row['quantity']}" for row in rows]
    for k, row in enumerate(rows):
        if named.index(named[k]) < k:
            named[k] += f", {row['source'].partition(',')[0]}"  # the same, beside another publication
    axes.set_yticks(heights, named, fontsize=7)
    axes.set_ylim(heights[-1] - 0.8, 0.8)
    axes.set_xlabel("error, of the largest reference value")
    axes.legend(fontsize=7.5, loc="lower left")
    write(figure, path)


def draw_elements(path: Path, folder: Path) -> None:
    """Errors over the number of elements, of the group that the picture is named after."""
    word = path.stem.rpartition("_")[2].upper()
    group = GROUPS[word]
    found = numbers(word)
    figure, all_axes = panels(len(GROUPED[word]))
    for axes, (title, starts) in zip(all_axes, GROUPED[word].items(), strict=True):
        errors_of(axes, {n: e for n, e in found.items() if n.startswith(starts)}, group.values, SLOPES[word])
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("elements (n)")
    all_axes[0].set_ylabel("relative error")
    write(figure, path)


def draw_pulse(path: Path, folder: Path) -> None:
    """Differences from the simulation over the size of a pulse: of the linear model, and of its FMU."""
    group = GROUPS["PULSE"]
    found = numbers("PULSE")
    figure, (left, right) = panels(2)
    errors_of(left, {n: e for n, e in found.items() if not n.startswith("FMU")}, group.values, (1, 2))
    errors_of(right, {n: e for n, e in found.items() if n.startswith("FMU")}, group.values, (1,))
    left.set_title("linear model", fontsize=10)
    right.set_title("FMU, run by FMPy", fontsize=10)
    for axes in (left, right):
        axes.set_xlabel("torque on the hub (N m)")
    left.set_ylabel("difference from the simulation, of the largest value")
    write(figure, path)


def draw_transfer(path: Path, folder: Path) -> None:
    """The transfer function at 20 frequencies by simulations, and its difference from that of the linear model."""
    figure, (left, right) = panels(2)
    for amplitude, mark in zip(GROUPS["TRANSFER"].values, MARKS, strict=False):
        frequencies, found, wanted = linear.simulated_transfer(amplitude)
        if amplitude == GROUPS["TRANSFER"].values[-1]:
            fine = np.geomspace(0.8 * frequencies[0], 1.2 * frequencies[-1], 400)
            gain = np.abs(linear.space(linear.OFFSET).frequency_response(fine).values[:, 0, 0])
            left.loglog(fine, gain, "-", lw=1.0, label="linear model")
            left.loglog(frequencies, np.abs(found), "o", mfc="none", label=f"simulation, sines of {amplitude:g} N m")
        right.loglog(frequencies, np.abs(found / wanted - 1.0), mark + "-", mfc="none", lw=0.8, ms=5,
                     label=f"{amplitude:g} N m")  # fmt: skip
    left.set_ylabel("hub torque to angle of the hinge (rad/(N m))")
    right.set_ylabel("relative difference")
    for axes, columns in ((left, 2), (right, 5)):
        axes.set_xlabel("frequency (Hz)")
        finish(axes, columns)
    write(figure, path)


def draw_truncation(path: Path, folder: Path) -> None:
    """Error and bound of Craig-Bampton models over frequency, hub torque to turn, by the number of kept modes."""
    frequencies = np.geomspace(0.02, 2.0, 241)
    figure, all_axes = panels(2)
    for axes, k in zip(all_axes, (0, 2), strict=True):
        for count, colour, mark in zip((1, 3, 5, 8), ("C0", "C1", "C2", "C3"), MARKS, strict=False):
            found = linear.truncation(count, frequencies)
            axes.loglog(
                frequencies,
                found.error[:, k, k],
                "-",
                color=colour,
                lw=1.2,
                label=f"error, {count} mode{'s' * (count > 1)}",
            )
            axes.loglog(frequencies[::12], found.relative_bound[::12, k, k], mark, color=colour, mfc="none", ms=6,
                        label=f"bound, {count} mode{'s' * (count > 1)}")  # fmt: skip
        axes.set_title(f"turn about {'xyz'[k]} by torque about {'xyz'[k]}", fontsize=10)
        axes.set_xlabel("frequency (Hz)")
        axes.set_ylim(1e-10, 30.0)
        finish(axes, 4)
    all_axes[0].set_ylabel("difference from the full model, of its value")
    write(figure, path)


def draw_sums(path: Path, folder: Path) -> None:
    """What sums over modes leave, over the number of kept modes, and differences from pyyeti."""
    group = GROUPS["SUMS"]
    counts = (1, 2, 3, 4, 6, 8, 12, 18, 24, 32, 40, 48, 56, 58, 59, 60)
    found = table(group, counts)
    figure, (left, right) = panels(2)
    for k, ((name, errors), mark) in enumerate(zip(found.items(), cycle(MARKS))):
        axes = right if "root moment" in name or "pyyeti" in name else left
        axes.semilogy(counts, np.maximum(errors, FLOOR), mark + "-", mfc="none", lw=1.0, ms=8 - k % 4, label=name)
    left.set_ylabel("rigid mass less clamped share less sum, of the rigid mass")
    right.set_ylabel("relative difference (1e-16: that or less)")
    for axes in (left, right):
        axes.set_xlabel("kept modes of the array, of 60")
        finish(axes)
    write(figure, path)


def draw_loads(path: Path, folder: Path) -> None:
    """Errors of base shakes and of a peak load over the number of elements."""
    figure, all_axes = panels(2)
    for axes, word, title in zip(all_axes, ("SHAKE", "PEAKS"), ("base shake", "peak load of a run"), strict=True):
        errors_of(axes, numbers(word), GROUPS[word].values, (4,))
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("elements (n)")
    all_axes[0].set_ylabel("relative error")
    write(figure, path)


DRAWN: dict[str, Callable[[Path, Path], None]] = {
    "validation_literature": draw_literature,
    **{f"convergence_{word.lower()}": draw_elements for word in GROUPED},
    "convergence_pulse": draw_pulse,
    "convergence_transfer": draw_transfer,
    "convergence_truncation": draw_truncation,
    "convergence_sums": draw_sums,
    "convergence_loads": draw_loads,
}
