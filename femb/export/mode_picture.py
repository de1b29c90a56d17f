"""A picture of mode shapes, a field for each mode: the unloaded structure light, the mode dark.

The results are those of ``femb modes``: their times count the modes, and time 0 is the unloaded structure.
"""

from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ResultError
from femb.export.drawing import INK
from femb.export.picture import camera_axes, check_drawable, extent_of, faces_of, surfaces_of
from femb.results.results import Results
from femb.results.view import INERTIAL, View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS, ROWS = 3, 4
FIELD = 3.4  # inches: width of a field
REST = (0.88, 0.90, 0.92)  # colour of the unloaded structure


def draw_modes(results: Results, *, azimuth: float = -60.0, elevation: float = 25.0) -> "Figure":
    """The figure of the first twelve modes of results of ``femb modes``.

    azimuth, elevation : as of `femb.export.picture.picture`. Raises ResultError: results without modes.
    """
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

    if results.method != "modes" or "modes/frequencies" not in results.arrays:
        raise ResultError("these results have no modes: give those of femb modes, as out/NAME/modes.h5")
    check_drawable(results)
    count = min(len(results.time) - 1, COLUMNS * ROWS)
    view, camera = View.of(results, INERTIAL), camera_axes(azimuth, elevation)
    surfaces = surfaces_of(results, extent_of(results, view, [0]))
    drawn = [faces_of(surfaces, view, camera, k, 1.0) for k in range(count + 1)]
    corners = np.concatenate([face for faces in drawn for face, _ in faces])
    low, high = corners.min(axis=0), corners.max(axis=0)
    margin = 0.04 * float(np.max(high - low))
    columns = min(COLUMNS, count)
    rows = -(-count // columns)
    ratio = float(np.clip((high - low)[1] / max((high - low)[0], 1e-9), 0.35, 1.3))
    figure = Figure(figsize=(FIELD * columns, (FIELD * ratio + 0.45) * rows), dpi=150)
    for k in range(1, count + 1):
        axes = figure.add_subplot(rows, columns, k)
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.set_xlim(low[0] - margin, high[0] + margin)
        axes.set_ylim(low[1] - margin, high[1] + margin)
        rest = [face for face, _ in drawn[0]]
        axes.add_collection(PolyCollection(rest, facecolors=[REST], edgecolors=[REST], linewidths=0.7))
        faces, colours = zip(*drawn[k], strict=True)
        axes.add_collection(PolyCollection(faces, facecolors=colours, edgecolors=colours, linewidths=0.7))
        axes.set_title(_title(results, k), fontsize=9, color=INK)
    figure.subplots_adjust(0.01, 0.01, 0.99, 0.93, 0.02, 0.2)
    return figure


def _title(results: Results, k: int) -> str:
    frequency, ratio = (float(results.arrays[f"modes/{word}"][k - 1]) for word in ("frequencies", "damping"))
    damping = f", {100.0 * ratio:.3g} %" if ratio > 0.0 else ""
    return f"{k}   {frequency:.4g} Hz{damping}"
