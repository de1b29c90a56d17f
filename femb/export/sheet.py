"""The page of a picture: a drawing with equal scales, and a footer with the axes and a scale bar."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from femb.base.types import Floats
from femb.export.drawing import INK
from femb.results.view import INERTIAL

WIDTH, FOOTER = 9.0, 0.9  # inches


@dataclass(frozen=True)
class Sheet:
    """The page: a drawing of a rectangle of the picture's plane, WIDTH inches wide, and a footer below it.

    middle, span (2,) m: of the rectangle; ratio: height over width of the drawing; scale: inches per metre.
    """

    middle: Floats
    span: Floats
    ratio: float
    scale: float

    @classmethod
    def around(cls, points: Floats) -> Self:
        """The sheet that shows points (k, 2) m with some margin."""
        low, high = points.min(axis=0), points.max(axis=0)
        span = np.maximum(1.08 * (high - low), 1e-9)
        ratio = float(np.clip(span[1] / span[0], 0.35, 1.0))
        scale = float(min(WIDTH / span[0], WIDTH * ratio / span[1]))
        return cls(0.5 * (low + high), np.array([WIDTH, WIDTH * ratio]) / scale, ratio, scale)

    @property
    def height(self) -> float:
        """Height in inches, with the footer."""
        return WIDTH * self.ratio + FOOTER

    def axes(self, figure: Any) -> Any:
        """Matplotlib axes of the drawing."""
        return _sheet(figure, FOOTER / self.height, 1.0, self.middle, self.span)

    def footer(self, figure: Any, camera: Floats, frame: str) -> Any:
        """Matplotlib axes in inches below the drawing, with the axes of the frame and a scale bar."""
        footer = _sheet(figure, 0.0, FOOTER / self.height, np.array([WIDTH, FOOTER]) / 2, np.array([WIDTH, FOOTER]))
        _draw_axes(footer, camera, frame)
        _draw_scale_bar(footer, self.scale)
        return footer


def _sheet(figure: Any, bottom: float, top: float, middle: Floats, span: Floats) -> Any:
    """Matplotlib axes without decoration, over the figure's width, that show a rectangle with equal scales."""
    axes = figure.add_axes((0.0, bottom, 1.0, top - bottom))
    axes.set_axis_off()
    axes.set_xlim(middle[0] - span[0] / 2, middle[0] + span[0] / 2)
    axes.set_ylim(middle[1] - span[1] / 2, middle[1] + span[1] / 2)
    return axes


def _draw_axes(footer: Any, camera: Floats, frame: str) -> None:
    """The three axes and the name of their frame."""
    for name, direction in zip("xyz", camera[:2].T, strict=True):
        tip = np.array([0.6, 0.36]) + 0.3 * direction
        footer.annotate("", tip, (0.6, 0.36), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.0})
        footer.text(*(tip + 0.11 * direction), name, fontsize=9, color=INK, ha="center", va="center")
    if frame != INERTIAL:
        footer.text(1.1, 0.36, f"axes of {frame}", fontsize=9, color=INK, va="center")


def _draw_scale_bar(footer: Any, scale: float) -> None:
    """A bar of a round length, at most 1.5 inches."""
    longest = 1.5 / scale
    power = 10.0 ** np.floor(np.log10(longest))
    length = max(factor * power for factor in (1, 2, 5) if factor * power <= longest)
    right = WIDTH - 0.4
    footer.plot([right - length * scale, right], [0.48, 0.48], color=INK, lw=2.0, solid_capstyle="butt")
    footer.text(right - length * scale / 2, 0.24, f"{length:g} m", fontsize=9, color=INK, ha="center", va="center")
