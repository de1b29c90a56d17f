"""Figures of studies: histograms and curves of outputs over variables, and Sobol indices."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats, Ints
from femb.pictures.drawing import INK, PALETTE, SEQUENCE, listed, styled, titled
from femb.pictures.frequency import draw_campbell
from femb.results.sobol import sobol_indices
from femb.results.sweep import OF_MODES, Sweep, is_numeric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.tri import Triangulation

    from femb.results.results import Results

# Bars of a tornado.
MOST_BARS = 20
# Panels that fit on one readable page, and curves in one panel.
MOST_ROWS, MOST_COLUMNS, MOST_CURVES = 6, 4, 6
# Of a map, about.
LEVELS = 10
KEY: dict[str, Any] = {"ncols": 5, "fontsize": 8, "frameon": False}
# Outputs of values that differ by less than this part of their size are drawn as one bar.
SAME = 1e-9


def draw_histogram(results: "Results", names: Sequence[str] = ()) -> "Figure":
    """Draw the distribution of every output, or of some, over the runs of a study, with mean and 5 and 95 % points.

    Raises ResultError: results of no study, unknown outputs, outputs without values.
    """
    sweep = Sweep.of(results)
    columns = {name: _finite(sweep, name) for name in _outputs(sweep, names)}
    figure, panels = _panels(len(columns), 1, sweep, "histogram")
    for (name, values), (axes,) in zip(columns.items(), panels, strict=True):
        if np.ptp(values) <= SAME * np.max(np.abs(values)):
            axes.bar([values[0]], [values.size], color=PALETTE[0])
        else:
            axes.hist(values, bins="auto", color=PALETTE[0], edgecolor="white", linewidth=0.4)
        low, high = np.quantile(values, (0.05, 0.95))
        for value, style, label in (
            (float(np.mean(values)), "-", "mean"),
            (float(low), "--", "5 and 95 %"),
            (float(high), "--", ""),
        ):
            axes.axvline(value, color=PALETTE[1], ls=style, lw=1.2, label=label or None)
        axes.set(xlabel=sweep.label(name), ylabel="runs")
    listed(figure, panels)
    return figure


def draw_scatter(results: "Results", names: Sequence[str] = ()) -> "Figure":
    """Draw every output, or some, over every variable of a study, one point a run. Raises ResultError."""
    sweep = Sweep.of(results)
    chosen = _outputs(sweep, names)
    variables = list(sweep.variables)[:MOST_COLUMNS]
    figure, panels = _panels(len(chosen), len(variables), sweep, "scatter")
    for name, row in zip(chosen, panels, strict=True):
        for variable, axes in zip(variables, row, strict=True):
            positions, ticks = _positions(sweep.variables[variable])
            axes.plot(positions, sweep.outputs[name], ".", ms=4, color=PALETTE[0])
            _mark(axes, sweep, name, positions)
            _label(axes, sweep, variable, ticks)
            axes.set_ylabel(sweep.label(name))
    return figure


def draw_curves(results: "Results", names: Sequence[str] = ()) -> "Figure":
    """Draw every output, or some, of a grid or list as curves over the first variable, one for each value of the
    others. Raises ResultError."""
    sweep = Sweep.of(results)
    chosen = _outputs(sweep, names)
    first, *others = sweep.variables
    figure, panels = _panels(len(chosen), 1, sweep, "curves")
    positions, ticks = _positions(sweep.variables[first])
    rest = list(zip(*(map(str, sweep.variables[name]) for name in others), strict=True)) or [()] * len(sweep)
    groups = list(dict.fromkeys(rest))
    for name, (axes,) in zip(chosen, panels, strict=True):
        for k, group in enumerate(groups[:MOST_CURVES]):
            rows = np.array([row == group for row in rest])
            order = np.argsort(positions[rows], kind="stable")
            label = ", ".join(f"{other} = {value}" for other, value in zip(others, group, strict=True))
            values = sweep.outputs[name][rows][order]
            axes.plot(positions[rows][order], values, ".-", lw=1.2, color=PALETTE[k % len(PALETTE)], label=label)
        _mark(axes, sweep, name, positions)
        _label(axes, sweep, first, ticks)
        axes.set_ylabel(sweep.label(name))
    listed(figure, panels, f"the first {MOST_CURVES}" if len(groups) > MOST_CURVES else None)
    return figure


def draw_map(results: "Results", names: Sequence[str] = ()) -> "Figure":
    """Draw every output, or some, over the two variables of a study, with its limits, the nominal values and where
    loops are not stable; of three variables, a map for each value of the one that has the fewest.

    Raises ResultError: other variables than two or three numbers, unknown outputs, outputs without values.
    """
    sweep = Sweep.of(results)
    chosen = _outputs(sweep, names)
    if not is_map(sweep):
        there = ", ".join(sweep.variables)
        raise ResultError(f"a map is of two or three variables with several numbers each; got {there}")
    points = {name: np.asarray(values, dtype=float) for name, values in sweep.variables.items()}
    third, kept, count = "", [0.0], 1
    if len(points) == 3:
        third = min(points, key=lambda name: len(np.unique(points[name])))
        known = np.unique(points[third])
        count, kept = len(known), known[np.unique(np.linspace(0, len(known) - 1, MOST_COLUMNS).astype(int))].tolist()
    some = f", {len(kept)} of {count} values of {third}" if len(kept) < count else ""
    figure, panels = _panels(len(chosen), len(kept), sweep, "map" + some)
    over = [name for name in points if name != third]
    near = min(kept, key=lambda value: abs(value - sweep.nominal.get(third, 0.0)))
    shown: dict[str, Any] = {}
    for name, row in zip(chosen, panels, strict=True):
        for value, axes in zip(kept, row, strict=True):
            rows = np.flatnonzero(points[third] == value) if third else np.arange(len(sweep))
            shown |= _draw_map(axes, sweep, name, over, rows, value == near, axes is row[-1])
            if third:
                axes.set_title(f"{sweep.label(third)} = {value:g}", fontsize=9, loc="left")
            else:
                axes.legend(handles=list(shown.values()), loc="lower right", bbox_to_anchor=(1.0, 1.0), **KEY)
    if third:
        figure.legend(handles=list(shown.values()), loc="outside lower left", **KEY)
    return figure


def is_map(sweep: Sweep) -> bool:
    """Whether a study is over two or three numbers."""
    spread = [is_numeric(values) and np.ptp(np.asarray(values, float)) > 0.0 for values in sweep.variables.values()]
    return len(spread) in (2, 3) and all(spread)


def _draw_map(
    axes: "Axes", sweep: Sweep, name: str, over: Sequence[str], rows: Ints, nominal: bool, barred: bool
) -> dict[str, Any]:
    """Draw an output of some runs over two variables; the handles of what is marked, by their labels."""
    from matplotlib.patches import Patch
    from matplotlib.tri import Triangulation

    points = np.array([sweep.variables[each] for each in over], dtype=float)[:, rows]
    low, span = points.min(axis=1, keepdims=True), np.ptp(points, axis=1)[:, None]
    try:  # of equal scales, for triangles that are not thin
        corners = Triangulation(*((points - low) / np.where(span > 0.0, span, 1.0))).triangles
    except (RuntimeError, ValueError) as error:
        raise ResultError("a map needs runs that are not on one line of its two variables: take a grid") from error
    values = sweep.outputs[name][rows]
    known = np.isfinite(values)
    mesh = Triangulation(*points, corners, ~known[corners].all(axis=1))
    if (~mesh.mask).any():
        _draw_contours(axes, mesh, np.where(known, values, 0.0), sweep, name, barred)
    axes.plot(*points, ".", ms=2, color=INK, label="runs")
    handles = []
    unstable = sweep.unstable[rows] if sweep.unstable.size else np.zeros(len(rows), bool)
    if unstable.any():
        whole = Triangulation(*points, corners)
        axes.tricontourf(whole, unstable.astype(float), levels=[0.5, 1.5], colors="none", hatches=["////"])
        handles.append(Patch(fill=False, hatch="////", label="not stable"))
    if nominal and set(sweep.nominal) >= set(sweep.variables):
        axes.plot(*(sweep.nominal[each] for each in over), "P", ms=9, color=INK, label="nominal")
    if sweep.best is not None and sweep.best in rows:
        best = np.flatnonzero(rows == sweep.best)[0]
        axes.plot(*points[:, best], "*", ms=12, color=INK, label=f"best: {sweep.wanted}")
    axes.set(**dict(zip(("xlabel", "ylabel"), map(sweep.label, over), strict=True)))
    return {str(each.get_label()): each for each in (*axes.get_legend_handles_labels()[0], *handles)}


def _draw_contours(axes: "Axes", mesh: "Triangulation", values: Floats, sweep: Sweep, name: str, barred: bool) -> None:
    """Draw the values of an output on a mesh over two variables, with its limits and a bar of colours, which all maps
    of the output share."""
    from matplotlib.ticker import MaxNLocator

    every = _finite(sweep, name)
    levels = MaxNLocator(LEVELS + 1, min_n_ticks=1).tick_values(every.min(), every.max())
    filled = axes.tricontourf(mesh, values, levels=levels, cmap=SEQUENCE, alpha=0.6)
    if barred:
        bar = axes.figure.colorbar(filled, ax=axes, pad=0.02)
        bar.set_label(sweep.label(name), fontsize=9)
        bar.ax.tick_params(labelsize=8)
    lines = axes.tricontour(mesh, values, levels=levels, colors=INK, linewidths=0.6)
    axes.clabel(lines, fontsize=7, fmt="%g")
    for limit in sweep.limits.get(name, ()):
        if limit is not None:
            axes.tricontour(mesh, values, levels=[limit], colors=PALETTE[1], linewidths=2.0)
            axes.plot([], [], color=PALETTE[1], lw=2.0, label=f"limit, {limit:g}")


def draw_sobol(results: "Results", names: Sequence[str] = ()) -> "Figure":
    """Draw the first-order and total Sobol indices of every output, or of some, as bars. Raises ResultError."""
    sweep = Sweep.of(results)
    found = {name: sobol_indices(sweep, name) for name in _outputs(sweep, names)}
    figure, panels = _panels(len(found), 1, sweep, "Sobol indices")
    for (name, indices), (axes,) in zip(found.items(), panels, strict=True):
        at = np.arange(len(indices.variables))
        for k, (label, values, interval) in enumerate(
            (("first order", indices.first, indices.first_interval), ("total", indices.total, indices.total_interval))
        ):
            bars = np.abs(interval.T - values)
            style = {"capsize": 2, "error_kw": {"lw": 0.8, "ecolor": INK}}
            axes.bar(at + 0.4 * k - 0.2, values, 0.38, yerr=bars, color=PALETTE[k], label=label, **style)
        axes.set_xticks(at, indices.variables)
        axes.set_ylabel(f"share of the variance of {name}")
    listed(figure, panels)
    return figure


def draw_tornado(
    title: str, what: str, outputs: Sequence[str], parameters: Sequence[str], values: Floats, changes: Floats
) -> "Figure":
    """Draw by how much parameters move outputs, as bars about the nominal values, largest first.

    title : of the model. what : the changes. outputs : their labels. values (o,) : of these. changes (o, k) : zeros
    have no bar.
    """
    from matplotlib.figure import Figure

    orders = [np.argsort(np.abs(row), kind="stable")[-MOST_BARS:] for row in changes]
    orders = [order[row[order] != 0.0] for order, row in zip(orders, changes, strict=True)]
    heights = [0.6 + 0.28 * max(len(order), 1) for order in orders]
    figure = Figure(figsize=(7.5, sum(heights) + 1.1), layout="constrained")
    titled(figure, title, what)
    panels = figure.subplots(len(outputs), 1, squeeze=False, height_ratios=heights)[:, 0]
    for label, value, row, order, axes in zip(outputs, values, changes, orders, panels, strict=True):
        at = np.arange(len(order))
        for sign, color, what in ((1.0, PALETTE[0], "parameter up"), (-1.0, PALETTE[1], "parameter down")):
            axes.barh(at, sign * row[order], 0.7, left=value, color=color, label=what)
        styled(axes)
        axes.axvline(value, color=INK, lw=0.8)
        axes.set_yticks(at, [parameters[k] for k in order])
        axes.set_xlabel(label)
    listed(figure, panels[0])
    return figure


def draw_search(results: "Results", names: Sequence[str] = ()) -> "Figure":
    """Draw what is wanted over the runs of a search: those within the limits, and the best so far. Raises ResultError.

    names : other outputs, without a best so far.
    """
    sweep = Sweep.of(results)
    sense, _, wanted = sweep.wanted.partition(" ")
    chosen = _outputs(sweep, names or ([wanted] if wanted else []))
    figure, panels = _panels(len(chosen), 1, sweep, "search")
    runs = np.arange(len(sweep))
    for name, (axes,) in zip(chosen, panels, strict=True):
        values, good = sweep.outputs[name], sweep.feasible
        axes.plot(runs[~good], values[~good], ".", ms=3, color="0.75", label="beyond a limit")
        axes.plot(runs[good], values[good], ".", ms=4, color=PALETTE[0], label="within all limits")
        if name == wanted and good.any():
            so_far = np.minimum.accumulate if sense == "least" else np.maximum.accumulate
            axes.step(runs[good], so_far(values[good]), where="post", lw=1.2, color=PALETTE[1], label="best so far")
        _mark(axes, sweep, name, runs)
        axes.set(xlabel="run", ylabel=sweep.label(name))
    listed(figure, panels)
    return figure


STUDY_FIGURES: dict[str, Callable[..., "Figure"]] = {
    "histogram": draw_histogram,
    "scatter": draw_scatter,
    "curves": draw_curves,
    "map": draw_map,
    "sobol": draw_sobol,
    "search": draw_search,
    "campbell": draw_campbell,
}
"""Figures of studies: name -> function of results and names of outputs that draws it."""


def default_figure(results: "Results") -> str:
    """The figure of a study that shows its design: curves, Sobol indices, a search, modes, or histograms."""
    design = Sweep.of(results).design
    figures = {"grid": "curves", "list": "curves", "saltelli": "sobol", "optimize": "search", OF_MODES: "campbell"}
    return figures.get(design, "histogram")


def _mark(axes: Any, sweep: Sweep, name: str, positions: Any) -> None:
    """Draw the limits of an output as lines, and the best run as a star."""
    for limit in sweep.limits.get(name, ()):
        if limit is not None:
            axes.axhline(limit, color=INK, ls="--", lw=1.0)
    if sweep.best is not None:
        at = positions[sweep.best], sweep.outputs[name][sweep.best]
        axes.plot(*at, "*", ms=12, color=INK, label=f"best: {sweep.wanted}", zorder=3.0)


def _outputs(sweep: Sweep, names: Sequence[str]) -> list[str]:
    """The outputs to draw: those named, or all that have values."""
    unknown = [name for name in names if name not in sweep.outputs]
    if unknown:
        raise ResultError(f"no output {unknown[0]!r} in this study; there are: {', '.join(sweep.outputs)}")
    chosen = [name for name in (names or sweep.outputs) if np.isfinite(sweep.outputs[name]).any()]
    if not chosen:
        raise ResultError("the outputs have no values: all runs failed, or gave none")
    return chosen[:MOST_ROWS]


def _finite(sweep: Sweep, name: str) -> Any:
    values = sweep.outputs[name]
    return values[np.isfinite(values)]


def _positions(values: Sequence[Any]) -> tuple[Any, list[str]]:
    """Positions of values on an axis, and the texts of its ticks where they are no numbers."""
    if is_numeric(values):
        return np.asarray(values, dtype=float), []
    texts = list(map(str, values))
    ticks = list(dict.fromkeys(texts))
    return np.array([ticks.index(text) for text in texts], dtype=float), ticks


def _label(axes: Any, sweep: Sweep, variable: str, ticks: list[str]) -> None:
    axes.set_xlabel(sweep.label(variable))
    if ticks:
        axes.set_xticks(range(len(ticks)), ticks)


def _panels(rows: int, columns: int, sweep: Sweep, what: str) -> "tuple[Figure, Any]":
    """A figure with rows and columns of axes."""
    from matplotlib.figure import Figure

    size = (7.5 if columns == 1 else 3.4 * columns, (3.4 if rows == 1 else 2.6 * rows) + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    titled(figure, sweep.title or "study", f"{what}, {len(sweep)} runs")
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.ravel():
        styled(axes)
    return figure, panels
