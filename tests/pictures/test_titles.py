"""Titles of figures: as long as what they name, on lines that fit."""

import numpy as np
import pytest
import shared_runs

import femb
from femb.pictures.drawing import PALETTE
from femb.pictures.figures import figure
from femb.results.results import Results

LONG = "displacement.y of left[2], left[1], hub, right[1], right[2] | euler_angles of hub"


@pytest.mark.slow
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


def free_satellite(gain=1.0):
    """A torque turns a satellite about z: the other five outputs are zero by symmetry, and come as rounding."""
    names = [f"bodies.hub.{word}.{axis}" for word in ("position", "turn") for axis in "xyz"]
    C = 1e-12 * np.ones((6, 2))
    C[5] = 0.0, gain
    units = dict.fromkeys(names[:3], "m") | dict.fromkeys(names[3:], "rad") | {"torque": "N m"}
    return femb.StateSpace(
        -np.eye(2), np.ones((2, 1)), C, np.zeros((6, 1)), ("a", "b"), ("torque",), tuple(names), units=units,
        title="satellite",
    )  # fmt: skip


@pytest.mark.parametrize("what", ["bode", "nichols"])
def test_responses_that_are_rounding_are_named_and_not_drawn(what, tmp_path):
    drawn = figure(free_satellite().write(tmp_path / "linear.h5"), what)
    axes = drawn.get_axes()[0]
    assert [line.get_label().split(" ")[0] for line in axes.get_lines()] == ["bodies.hub.turn.z"]
    note = axes.get_title("left").replace("\n", " ")
    assert note.startswith("zero to rounding: bodies.hub.position.x, bodies.hub.position.y")
    assert drawn.get_suptitle() == "Satellite: frequency response"


def test_the_folder_of_a_linear_model_is_drawn_as_its_bode_plot(tmp_path):
    free_satellite().write(tmp_path / "linear.h5")
    assert [axes.get_ylabel() for axes in figure(tmp_path).get_axes()] == ["gain (dB of rad/(N m))", "phase (deg)"]


def test_curves_beyond_the_colours_have_other_lines(tmp_path):
    """Of 14 pairs that respond the strongest twelve are drawn, no two alike."""
    gains = np.linspace(1.0, 2.0, 14)[:, None]
    space = femb.StateSpace(
        -np.eye(1), np.ones((1, 1)), gains, np.zeros((14, 1)), ("a",), ("u",), tuple(f"y{k}" for k in range(14))
    )
    axes = figure(space.write(tmp_path / "linear.h5"), "bode").get_axes()[0]
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.get_lines()}
    assert len(looks) == len(axes.get_lines()) == 2 * len(PALETTE)
    assert axes.get_lines()[0].get_label() == "y2 by u"
    assert axes.get_title("left") == "the strongest 12 of 14 pairs of output and input"


@pytest.mark.slow
def test_scenes_have_the_title_of_the_model(tmp_path, monkeypatch):
    results = Results.read(shared_runs.command("run", "cases/satellite_forced.toml", ("run.duration=0.1",))[2])
    titles = []
    monkeypatch.setattr("femb.pictures.picture.save", lambda drawn, *_: titles.append(drawn.get_suptitle()))
    femb.picture(results, tmp_path / "a.png")
    assert titles == [results.title]


def figures_of(monkeypatch, draw):
    """What ``draw`` saves, in place of a file."""
    found = []
    monkeypatch.setattr("femb.pictures.drawing.save", lambda drawn, *_: found.append(drawn))
    draw("figure.png")
    return found[0]


def test_bars_of_sensitivities_have_a_title_and_no_legend_on_them(monkeypatch):
    found = femb.Sensitivities(
        ("frequency", "mass"), ("density", "modulus"), np.array([2.0, 16.0]), np.array([2700.0, 7e10]),
        np.array([[-1e-3, 1e-11], [6e-3, 0.0]]), np.zeros((2, 2)), np.array([100.0, 1e10]), np.ones(2, bool), ("", ""),
        {"frequency": "Hz", "mass": "kg"}, "panel",
    )  # fmt: skip
    drawn = figures_of(monkeypatch, found.draw)
    assert drawn.get_suptitle() == "Panel: changes by half of the range"
    assert [axes.get_legend() for axes in drawn.axes] == [None, None]
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["parameter up", "parameter down"]
    # what does not move an output has no bar
    assert [text.get_text() for text in drawn.axes[1].get_yticklabels()] == ["density"]
    up, down = drawn.axes[1].patches
    assert up.get_width() == pytest.approx(0.6)
    assert down.get_width() == pytest.approx(-0.6)


def test_shaken_outputs_that_are_rounding_are_named_and_not_drawn(monkeypatch):
    """A boom along x shaken along z has no force along x and y."""
    model = femb.Model("boom")
    tube = femb.Section("tube", shape={"tube": [0.03, 0.002]}, material="aluminium 6061-T6")
    model.add(femb.Beam("boom", tube, length=2.0, elements=4, start=femb.Attachment("ground", direction=(1, 0, 0))))
    words = {"outputs": ["appendages.boom.force", "appendages.boom.torque.y"], "modes": 4}
    random = femb.shake(model, "z", density=([5.0, 500.0], [0.1, 0.1]), **words)
    drawn = figures_of(monkeypatch, random.draw)
    axes = drawn.get_axes()[0]
    labels = [line.get_label() for line in axes.get_lines()]
    assert labels == ["appendages.boom.force.z (N²/Hz)", "appendages.boom.torque.y ((N m)²/Hz)"]
    assert axes.get_title("left") == "zero to rounding: appendages.boom.force.x, appendages.boom.force.y"
    assert drawn.get_suptitle() == "Boom: shake of the base"
    sine = femb.shake(model, "z", sine=(5.0, 500.0), outputs=["appendages.boom.force.z"], modes=4)
    assert figures_of(monkeypatch, sine.draw).get_axes()[0].get_ylabel() == "amplitude by unit acceleration (N)"
