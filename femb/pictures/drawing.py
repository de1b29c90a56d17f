"""Figures of time histories with matplotlib, without pyplot and its global state."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.results.view import INERTIAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # safe for colour blindness
LINES = ("-", "--", ":")
SEQUENCE = "viridis"
SEQUENCE_END = 0.9  # its last tenth is too pale on white
TIME, FREQUENCY = "time (s)", "frequency (Hz)"
LEGEND_LIMIT = 6  # more ordered curves get a colour bar instead of a legend
PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 3: "k", 6: "M", 9: "G"}
INK = "#333333"


@dataclass(frozen=True)
class Panel:
    """Curves over time in one pair of axes.

    ``values`` (T, k) in ``unit`` ("" for none), with ``labels`` of the k curves. Curves with ``positions`` (k,) are
    ordered, as by the node along a beam, and coloured accordingly; ``order`` names the positions. ``log`` shows
    absolute values on a logarithmic axis. ``marks`` are instants (s) with a vertical line. ``samples``, instants (s,)
    and values (s, k), are drawn as steps; then the values are thin dashed lines, or are not drawn if ``steps_only``.
    """

    title: str
    quantity: str
    unit: str
    values: Floats
    labels: Sequence[str]
    positions: np.ndarray | None = None
    order: str = ""
    log: bool = False
    marks: tuple[float, ...] = ()
    samples: tuple[Floats, Floats] | None = None
    steps_only: bool = False


LETTERS = 8.5  # of a title in an inch


def table(time: Floats, rows: Sequence[Sequence[Panel]], title: str, axis: str = TIME, note: str = "") -> "Figure":
    """The matplotlib figure of rows of panels over a common time (T,), or over a frequency on a logarithmic axis.

    note : a line below the panels.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = max(map(len, rows))
    width = {1: 7.5, 2: 10.8}.get(columns, 4.5 * columns)
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    figure = Figure(figsize=(width, 2.3 * len(rows) + 0.7), dpi=150, layout=layout)
    titled(figure, title)
    if note:
        figure.supxlabel(textwrap.fill(note, int(1.6 * LETTERS * width)), x=0.01, ha="left", fontsize=8, color=INK)
    grid = figure.add_gridspec(len(rows), columns)
    for i, row in enumerate(rows):
        for j, panel in enumerate(row):
            # A single panel spans the row.
            axes = figure.add_subplot(grid[i, :] if len(row) == 1 else grid[i, j])
            draw_panel(axes, time, panel)
            if axis == FREQUENCY:
                axes.set_xscale("log")
            if all(len(below) <= j for below in rows[i + 1 :]):
                axes.set_xlabel(axis, fontsize=9)
    return figure


def titled(figure: "Figure", model: str, analysis: str = "") -> None:
    """The title of all figures: the model's, and what was computed of it."""
    text = ": ".join(filter(None, (model, analysis)))
    text = textwrap.fill(text[:1].upper() + text[1:], int(LETTERS * figure.get_figwidth()))
    figure.suptitle(text, fontsize=12, fontweight="bold", color=INK)


def listed(figure: "Figure", axes: Any, title: str | None = None, where: str = "outside lower left") -> None:
    """One legend of all of some axes, outside of those of a figure, where it covers no curve."""
    found: dict[str, Any] = {}
    for each in np.ravel(axes):
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        figure.legend(list(found.values()), list(found), loc=where, fontsize=8, frameon=False, handlelength=1.3,
                      title=title, title_fontsize=8, alignment="left")  # fmt: skip


def coloured(axes: Any) -> None:
    """Axes whose next curves have the colours of all figures; curves beyond their number are dashed."""
    axes.set_prop_cycle(color=PALETTE * len(LINES), linestyle=[style for style in LINES for _ in PALETTE])


def styled(axes: Any) -> None:
    """Lines, ticks and names of axes as all figures have them."""
    axes.xaxis.label.set_size(9)
    axes.yaxis.label.set_size(9)
    axes.tick_params(which="both", labelsize=8, color="#bbbbbb", labelcolor=INK)
    axes.grid(True, color="#e4e4e4", lw=0.7)
    for axis, kind in (("x", axes.get_xscale()), ("y", axes.get_yscale())):
        if kind == "log":
            axes.grid(True, which="minor", axis=axis, color="#f1f1f1", lw=0.5)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#bbbbbb")


def draw_panel(axes: Any, time: Floats, panel: Panel) -> None:
    """Curves, names and units of one panel in matplotlib axes."""
    values = np.abs(panel.values) if panel.log else panel.values
    factor, unit = (1.0, panel.unit) if panel.log else scale(values, panel.unit)
    log = panel.log and bool(np.any(values > 0.0))
    styles = _styles(panel)
    if panel.samples is not None:
        instants, sampled = panel.samples
        for curve, label, (colour, style) in zip(sampled.T / factor, panel.labels, styles, strict=True):
            axes.step(instants, curve, where="post", color=colour, ls=style, label=label, lw=1.3)
        styles = [] if panel.steps_only else [(colour, "--") for colour, _ in styles]
    labels = panel.labels if panel.samples is None else [""] * len(styles)
    for curve, label, (colour, style) in zip(values.T[: len(styles)] / factor, labels, styles, strict=True):
        # A logarithmic axis cannot show zeros.
        shown = np.where(curve > 0.0, curve, np.nan) if log else curve
        wide = {"label": label, "lw": 1.3} if panel.samples is None else {"lw": 0.8}
        axes.plot(time, shown, color=colour, ls=style, marker="." if time.size < 3 else None, **wide)
    for instant in panel.marks:
        if time[0] <= instant <= time[-1]:
            axes.axvline(instant, color="#999999", lw=0.8, ls=(0, (2, 2)), zorder=1)
    if log:
        axes.set_yscale("log")
    else:
        axes.ticklabel_format(useOffset=False)
        _keep_flat(axes, values / factor)
    axes.set_title(panel.title, fontsize=10, loc="left", color=INK)
    axes.set_ylabel(f"{panel.quantity} ({unit})" if unit else panel.quantity)
    styled(axes)
    if time[-1] > time[0]:
        axes.set_xlim(time[0], time[-1])
    if panel.positions is not None and len(panel.labels) > LEGEND_LIMIT:
        _colour_bar(axes, panel.positions, panel.order)
    elif len(panel.labels) > 1:
        # To the right of the axes, where it covers no curve.
        axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.03), handlelength=1.3)


def scale(values: Floats, unit: str) -> tuple[float, str]:
    """A power of a thousand as divisor, and the corresponding unit, for numbers of convenient size."""
    largest = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
    if largest == 0.0 or 0.1 <= largest < 1e4:
        return 1.0, unit
    exponent = 3 * int(np.floor(np.log10(largest) / 3))
    if exponent == 0:  # 0.05 is easier to read than 50 with a prefix
        return 1.0, unit
    if unit in ("m", "N", "J") and exponent in PREFIXES:
        return 10.0**exponent, PREFIXES[exponent] + unit
    return 10.0**exponent, f"$10^{{{exponent}}}$ {unit}".strip()


def save(figure: Any, path: Path, dpi: int = 150) -> Path:
    """Write a figure in the format of the path's suffix; dpi : of pixel formats. Raises ResultError on failure."""
    path = path if path.suffix else path.with_suffix(".png")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=dpi)
    except (OSError, ValueError) as error:
        raise ResultError(
            f"{path}: the picture cannot be written ({error}). Check the folder and its permissions; the "
            "suffix gives the format, such as .png, .svg or .pdf"
        ) from error
    return path


def png(figure: "Figure", dpi: int = 70) -> bytes:
    """A figure as the bytes of a picture, for notebooks."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()


def svg(figure: "Figure") -> str:
    """A figure as the text of a picture, for pages."""
    buffer = BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue().decode()


def _styles(panel: Panel) -> list[tuple[Any, str]]:
    """Colour and line style of every curve; curves beyond the number of colours are dashed."""
    if panel.positions is None:
        count = len(PALETTE)
        return [(PALETTE[i % count], LINES[i // count % len(LINES)]) for i in range(len(panel.labels))]
    from matplotlib import colormaps

    span = max(1, int(np.max(panel.positions)))
    return [(colormaps[SEQUENCE](SEQUENCE_END * position / span), "-") for position in panel.positions]


def _colour_bar(axes: Any, positions: np.ndarray, name: str) -> None:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.ticker import MaxNLocator

    shades = ListedColormap(colormaps[SEQUENCE](np.linspace(0.0, SEQUENCE_END, 256)))
    mappable = ScalarMappable(Normalize(0, np.max(positions)), shades)
    bar = axes.figure.colorbar(mappable, ax=axes, pad=0.02, aspect=18, ticks=MaxNLocator(5, integer=True))
    bar.set_label(name, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)


def _keep_flat(axes: Any, values: Floats) -> None:
    """Prevent rounding errors of a constant from filling the height of the axes."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    largest = max(abs(low), abs(high))
    if largest > 0.0 and high - low <= 1e-6 * largest:
        axes.set_ylim(low - 0.1 * largest, high + 0.1 * largest)


# The page of a picture: a drawing with equal scales, and a footer with the axes and a scale bar.

WIDTH, HEADER, FOOTER = 9.0, 0.45, 0.9  # inches


@dataclass(frozen=True)
class Sheet:
    """The page: a drawing of a rectangle of the picture's plane, WIDTH inches wide, and a footer below it.

    middle, span (2,) m: of the rectangle; ratio: height over width of the drawing; scale: inches per metre; header:
    inches above it, for a title.
    """

    middle: Floats
    span: Floats
    ratio: float
    scale: float
    header: float = 0.0

    @classmethod
    def around(cls, points: Floats, header: float = 0.0) -> Self:
        """The sheet that shows points (k, 2) m with some margin."""
        low, high = points.min(axis=0), points.max(axis=0)
        span = np.maximum(1.08 * (high - low), 1e-9)
        ratio = float(np.clip(span[1] / span[0], 0.35, 1.0))
        scale = float(min(WIDTH / span[0], WIDTH * ratio / span[1]))
        return cls(0.5 * (low + high), np.array([WIDTH, WIDTH * ratio]) / scale, ratio, scale, header)

    @property
    def height(self) -> float:
        """Height in inches, with header and footer."""
        return self.header + WIDTH * self.ratio + FOOTER

    def axes(self, figure: Any) -> Any:
        """Matplotlib axes of the drawing."""
        return _sheet(figure, FOOTER / self.height, 1.0 - self.header / self.height, self.middle, self.span)

    def footer(self, figure: Any, camera: Floats, frame: str) -> Any:
        """Matplotlib axes in inches below the drawing, with the axes of the frame and a scale bar."""
        footer = _sheet(figure, 0.0, FOOTER / self.height, np.array([WIDTH, FOOTER]) / 2, np.array([WIDTH, FOOTER]))
        draw_triad(footer, np.array([0.6, 0.36]), camera, 0.3, 9)
        if frame != INERTIAL:
            footer.text(1.1, 0.36, f"axes of {frame}", fontsize=9, color=INK, va="center")
        _draw_scale_bar(footer, self.scale)
        return footer


def _sheet(figure: Any, bottom: float, top: float, middle: Floats, span: Floats) -> Any:
    """Matplotlib axes without decoration, over the figure's width, that show a rectangle with equal scales."""
    axes = figure.add_axes((0.0, bottom, 1.0, top - bottom))
    axes.set_axis_off()
    axes.set_xlim(middle[0] - span[0] / 2, middle[0] + span[0] / 2)
    axes.set_ylim(middle[1] - span[1] / 2, middle[1] + span[1] / 2)
    return axes


def draw_triad(axes: Any, place: Floats, camera: Floats, length: float, fontsize: float) -> None:
    """The three axes as arrows from a place (2,), in the units of matplotlib axes."""
    for name, direction in zip("xyz", camera[:2].T, strict=True):
        tip = place + length * direction
        axes.annotate("", tip, place, arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.0})
        axes.text(*(tip + 0.37 * length * direction), name, fontsize=fontsize, color=INK, ha="center", va="center")


def _draw_scale_bar(footer: Any, scale: float) -> None:
    """A bar of a round length, at most 1.5 inches."""
    longest = 1.5 / scale
    power = 10.0 ** np.floor(np.log10(longest))
    length = max(factor * power for factor in (1, 2, 5) if factor * power <= longest)
    right = WIDTH - 0.4
    footer.plot([right - length * scale, right], [0.48, 0.48], color=INK, lw=2.0, solid_capstyle="butt")
    footer.text(right - length * scale / 2, 0.24, f"{length:g} m", fontsize=9, color=INK, ha="center", va="center")
