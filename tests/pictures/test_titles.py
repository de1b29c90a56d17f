"""Titles of figures: as long as what they name, on lines that fit."""

import shared_runs

from femb.pictures.figures import figure
from femb.results.results import Results

LONG = "displacement.y of left[2], left[1], hub, right[1], right[2] | euler_angles of hub"


def test_long_titles_have_lines_that_fit():
    overrides = ("run.duration=2.0", "run.output_interval=0.001")
    results = Results.read(shared_runs.command("run", "cases/satellite_forced.toml", overrides)[2])
    drawn = figure(results, LONG)
    drawn.draw_without_rendering()
    title = drawn._suptitle
    assert "more" not in title.get_text()
    box = title.get_window_extent()
    assert box.x0 > 0.0
    assert box.x1 < drawn.bbox.x1
