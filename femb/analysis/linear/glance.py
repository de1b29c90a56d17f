"""Linear models at a glance, for notebooks: sizes, frequencies and damping, and the Bode plot of one channel."""

from typing import TYPE_CHECKING

import numpy as np

from femb.base import html
from femb.base.types import Complexes
from femb.base.values import numbered, without_rounding

if TYPE_CHECKING:
    from femb.analysis.linear.response import FrequencyResponse
    from femb.analysis.linear.statespace import StateSpace

# Of larger models there is no picture, which would take longer than a second.
LARGEST, POINTS = 120, 400
MOST = 20  # lines of the table


def html_of_model(model: "StateSpace") -> str:
    """The sizes, the frequencies and damping ratios of its modes, and the first channel that responds."""
    sizes = ", ".join(
        numbered(len(names), word)
        for names, word in ((model.states, "state"), (model.inputs, "input"), (model.outputs, "output"))
    )
    values = model.eigenvalues()
    size = np.abs(values)
    moving = values[(values.imag >= 0.0) & (size > 1e-7 * np.max(size, initial=0.0))]
    moving = moving[np.argsort(np.abs(moving), kind="stable")]
    ratios = -moving.real / np.abs(moving)
    rows = [
        (str(k + 1), f"{abs(value) / (2.0 * np.pi):.6g}", f"{ratio:.3g}")
        for k, (value, ratio) in enumerate(zip(moving[:MOST], without_rounding(ratios, 1.0), strict=False))
    ]
    more = f"<p>the first {MOST} of {len(moving)}</p>" if len(moving) > MOST else ""
    table = html.columns(("", "frequency Hz", "damping"), rows) + more if rows else ""
    picture = ""
    if model.inputs and model.outputs and 0 < len(model.states) <= LARGEST:
        frequencies = model.resolving_frequencies()
        frequencies = frequencies[:: -(-len(frequencies) // POINTS)]
        picture = html_of_response(model.frequency_response(frequencies))
    return f"<div><strong>Linear model of {sizes}</strong>{table}{picture}</div>"


def html_of_response(response: "FrequencyResponse") -> str:
    """The Bode plot of the first pair of input and output that responds; empty where there is none."""
    found = _first(response.values)
    if found is None:
        return ""
    from femb.export.drawing import png
    from femb.export.plots.frequency import draw_response

    i, j = found
    output, given = response.outputs[i], response.inputs[j]
    one = response.values[:, i : i + 1, j : j + 1]
    figure = draw_response("bode", response.frequencies, one, (output,), (given,))
    return html.image(png(figure, 60), f"Bode plot of {output} by {given}")


def _first(values: Complexes) -> tuple[int, int] | None:
    """Output and input of the first channel of transfer matrices (f, p, m) that is not zero."""
    if not values.size:
        return None
    size = np.max(np.abs(values), axis=0)
    found = np.argwhere(size > 1e-12 * np.max(size)) if np.max(size) > 0.0 else np.zeros((0, 2), dtype=int)
    return (int(found[0, 0]), int(found[0, 1])) if len(found) else None
