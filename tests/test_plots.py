"""Figures: the numbers they show, their names and units, and that something legible is drawn."""

import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from femb import Attachment, Beam, Model, RigidBody, Section, simulate
from femb.errors import ResultError
from femb.export import drawing
from femb.export.picture import FOOTER
from femb.plots import FIGURES, LINE_LIMIT, ROW_LIMIT, overview, picture, plot
from femb.results import Results

SYNTHETIC = runpy.run_path(str(Path(__file__).with_name("synthetic_results.py")))
satellite, bent_beam, LENGTH = (SYNTHETIC[name] for name in ("satellite", "bent_beam", "LENGTH"))


@pytest.fixture
def results():
    return Results(*satellite())


def ink(path):
    """Share of the pixels that are not white."""
    image = matplotlib.image.imread(path)[..., :3]
    return float(np.mean(np.any(image < 0.98, axis=-1)))


def darkness(path):
    """1 - brightness of the drawing, (h, w), without the strip of times below it."""
    image = matplotlib.image.imread(path)[..., :3]
    return 1.0 - image[: -int(FOOTER * 150)].mean(axis=-1)


# What is shown


def test_tips_show_displacement_and_deflection():
    (row,) = FIGURES["tips"](Results(*bent_beam(radius=1.5)))
    tip = LENGTH / 1.5
    expected = [1.5 * np.sin(tip) - LENGTH, 1.5 * (1 - np.cos(tip)), 0.0]
    for panel in row:
        assert panel.unit == "m"
        np.testing.assert_allclose(panel.values[-1], expected, atol=1e-14)


def test_rotations_show_every_node_in_degrees():
    (row,) = FIGURES["rotations"](Results(*bent_beam(radius=1.5, elements=4)))
    np.testing.assert_allclose(row[2].values[-1], np.rad2deg(np.linspace(0.0, LENGTH / 1.5, 5)), atol=1e-12)
    assert row[2].labels == [f"node {i}" for i in range(5)]


def test_bodies_show_angles_and_rates_in_degrees(results):
    ((angles, rates),) = FIGURES["bodies"](results)
    slope = np.gradient(angles.values, results.time, axis=0)[1:-1]
    np.testing.assert_allclose(rates.values[1:-1], slope, atol=0.6)
    assert np.abs(slope).max() > 20.0


def test_strains_name_the_end_of_the_element(results):
    block, static, attributes = satellite()
    block["beams/right/strain"] = np.tile(np.arange(4.0).reshape(2, 2), (21, 1, 1))
    panel = FIGURES["strains"](Results(block, static, attributes))[0][0]
    assert dict(zip(panel.labels, panel.values[3], strict=True)) == {
        "element 0 start": 0.0,
        "element 0 end": 1.0,
        "element 1 start": 2.0,
        "element 1 end": 3.0,
    }


def test_the_audit_shows_energies_and_the_change_of_momentum(results):
    panels = {panel.title: panel for row in FIGURES["audit"](results) for panel in row}
    assert panels["energy"].labels == ["kinetic", "potential", "work"]
    np.testing.assert_array_equal(panels["energy"].values[4], [5.0, 0.0, 0.0])
    np.testing.assert_array_equal(panels["linear momentum"].values, 0.0)
    np.testing.assert_allclose(panels["angular momentum"].values[:, 0], 1e-9 * np.sin(results.time), atol=1e-15)
    assert panels["constraints"].log


def test_long_beams_keep_their_first_and_last_node():
    (row,) = FIGURES["rotations"](Results(*bent_beam(elements=500)))
    assert len(row[0].labels) == row[0].values.shape[1] == LINE_LIMIT
    assert (row[0].labels[0], row[0].labels[-1]) == ("node 0", "node 500")


# How it is shown


@pytest.mark.parametrize(
    ("largest", "unit", "expected"),
    [
        (2.5, "m", (1.0, "m")),
        (0.0, "m", (1.0, "m")),
        (0.02, "m", (1e-3, "mm")),
        (3e-6, "m", (1e-6, "µm")),
        (4e-7, "", (1e-9, "$10^{-9}$")),
        (5e-4, "N m", (1e-6, "$10^{-6}$ N m")),
        (7e8, "N", (1e6, "MN")),
        (np.nan, "m", (1.0, "m")),
    ],
)
def test_units_suit_the_numbers(largest, unit, expected):
    factor, text = drawing.scale(np.array([0.0, -largest]), unit)
    assert (pytest.approx(factor), text) == expected


def test_labels_say_what_and_in_which_unit():
    panel = drawing.Panel("boom", "deflection", "m", 1e-3 * np.ones((5, 2)) * [[1], [2], [3], [4], [5]], ["x", "y"])
    figure = drawing.table(np.linspace(0.0, 1.0, 5), [[panel], [panel]], "two")
    upper, lower = figure.axes
    assert upper.get_ylabel() == "deflection (mm)"
    np.testing.assert_allclose(upper.lines[1].get_ydata(), [1.0, 2.0, 3.0, 4.0, 5.0])
    assert [text.get_text() for text in upper.get_legend().get_texts()] == ["x", "y"]
    assert (upper.get_xlabel(), lower.get_xlabel()) == ("", "time (s)")


@pytest.mark.parametrize("count", [3, 6, 40])
def test_legends_stay_clear_of_the_curves_and_on_the_page(count):
    values = np.random.default_rng(1).standard_normal((50, count))
    panel = drawing.Panel("rod", "angle", "deg", values, [f"node {i}" for i in range(count)], np.arange(count), "node")
    figure = drawing.table(np.linspace(0.0, 1.0, 50), [[panel, panel]], "many")
    figure.draw_without_rendering()
    page = figure.bbox
    axes = [a for a in figure.axes if a.get_ylabel() == "angle (deg)"]
    assert len(axes) == 2
    for one in axes:
        legend = one.get_legend()
        assert (legend is None) == (count == 40), "many nodes have a colour bar"
        if legend is not None:
            box = legend.get_window_extent()
            assert not any(box.overlaps(other.get_window_extent()) for other in axes)
            assert page.x0 <= box.x0
            assert box.x1 <= page.x1
            assert page.y0 <= box.y0
    colours = [line.get_color() for line in axes[0].lines]
    assert len(set(colours)) == count, "every node has a colour of its own"


def test_rounding_errors_of_a_constant_stay_small():
    values = 5.0 + 1e-15 * np.random.default_rng(2).standard_normal((30, 1))
    figure = drawing.table(np.arange(30.0), [[drawing.Panel("e", "energy", "J", values, ["kinetic"])]], "flat")
    low, high = figure.axes[0].get_ylim()
    assert high - low > 0.5


def test_zeros_on_a_logarithmic_axis_are_left_out():
    values = np.array([[0.0, 0.0], [1e-9, 0.0], [-1e-3, 0.0]])
    figure = drawing.table(np.arange(3.0), [[drawing.Panel("c", "violation", "", values, ["a", "b"], log=True)]], "log")
    assert figure.axes[0].get_yscale() == "log"
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), [np.nan, 1e-9, 1e-3])
    figure = drawing.table(
        np.arange(3.0), [[drawing.Panel("c", "violation", "", 0 * values, ["a", "b"], log=True)]], ""
    )
    assert figure.axes[0].get_yscale() == "linear"
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), 0.0)
    assert figure.axes[0].get_xlim() == (0.0, 2.0)


# Files


@pytest.mark.parametrize("what", [None, *FIGURES])
def test_every_figure_is_drawn(tmp_path, results, what):
    path = plot(results, tmp_path / "new" / "figure.png", what)
    assert 0.005 < ink(path) < 0.5


def test_plots_do_without_pyplot(tmp_path, results):
    already = "matplotlib.pyplot" in sys.modules
    plot(results, tmp_path / "a.png", "strains")
    picture(results, tmp_path / "b.png")
    assert ("matplotlib.pyplot" in sys.modules) == already


def test_importing_loads_no_heavy_library():
    heavy = "matplotlib", "meshio", "h5py"
    code = f"import sys, femb.plots, femb.export, femb.resultfile; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_single_output_time_is_drawn(tmp_path):
    block, static, attributes = satellite()
    single = Results({path: array[:1] for path, array in block.items()}, static, attributes)
    assert ink(plot(single, tmp_path / "a.png", "tips")) > 0.005
    assert ink(picture(single, tmp_path / "b.png")) > 0.005


def test_the_suffix_gives_the_format(tmp_path, results):
    assert plot(results, tmp_path / "a", "strains").name == "a.png"
    assert plot(results, tmp_path / "a.svg", "strains").read_text().startswith("<?xml")
    with pytest.raises(ResultError, match=r"a\.frog.*cannot be written"):
        plot(results, tmp_path / "a.frog", "strains")


def test_more_rows_than_a_page_holds_are_counted(tmp_path, monkeypatch):
    time = np.linspace(0.0, 1.0, 3)
    series = {f"bodies/b{i}/quaternion": np.tile([1.0, 0, 0, 0], (3, 1)) for i in range(9)}
    series |= {f"bodies/b{i}/angular_velocity": np.zeros((3, 3)) for i in range(9)}
    drawn = []
    monkeypatch.setattr("femb.plots.draw_table", lambda time, rows, title, path: drawn.append((len(rows), title)))
    plot(Results({"time": time, **series}), tmp_path / "a.png", "bodies")
    assert drawn == [(ROW_LIMIT, "results: bodies (the first 6 of 9)")]


def test_the_ground_has_nothing_to_show(tmp_path):
    """Of a clamped beam the page shows its end and the audit, and there is no body to draw over time."""
    model = Model("cantilever")
    section = Section("s", area=1e-4, second_moments=(1e-9, 1e-9), torsion_constant=1e-9, density=1e3,
                      youngs_modulus=1e9, shear_modulus=1e9)  # fmt: skip
    model.add(Beam("b", section, 1.0, start=Attachment(body="ground", direction=(1.0, 0.0, 0.0))))
    results = simulate(model, duration=1e-3, out=tmp_path / "results.h5")
    for each in (results, Results.read(tmp_path / "results.h5")):
        assert each.bodies["ground"].fixed
        assert overview(each)[0][0].title == "b, tip"
        with pytest.raises(ResultError, match="nothing to show in the figure 'bodies'"):
            plot(each, tmp_path / "a.png", "bodies")
    model.add(RigidBody("weight", mass=1.0, inertia=1.0))
    assert overview(simulate(model, duration=1e-3))[0][0].title == "weight"


def test_the_case_gives_the_title(tmp_path, results, monkeypatch):
    drawn = []
    monkeypatch.setattr("femb.plots.draw_table", lambda time, rows, title, path: drawn.append(title))
    plot(results, tmp_path / "a.png", "section_loads")
    plot(Results(*bent_beam()), tmp_path / "a.png", "tips")
    assert drawn == ["satellite: section loads", "results: tips"]


def test_what_cannot_be_shown_says_why(tmp_path, results):
    with pytest.raises(ResultError, match=r"'colours'.*'overview', 'bodies'"):
        plot(results, tmp_path / "a.png", "colours")
    with pytest.raises(ResultError, match="nothing to show in the figure 'joints'"):
        plot(Results(*bent_beam()), tmp_path / "a.png", "joints")
    with pytest.raises(ResultError, match="nothing to show"):
        plot(Results({}), tmp_path / "a.png")
    with pytest.raises(ResultError, match="no output times"):
        picture(Results({}), tmp_path / "a.png")
    with pytest.raises(ResultError, match="neither bodies nor beams"):
        picture(Results({"time": np.zeros(1)}), tmp_path / "a.png")
    with pytest.raises(ResultError, match="times asks for none"):
        picture(results, tmp_path / "a.png", times=0)


# The picture


def box_alone(position=((0.0, 0.0, 0.0),), shape='{"box": [1.0, 1.0, 1.0]}'):
    """A body that does not turn, at one position per output time."""
    count = len(position)
    series = {
        "time": np.arange(count, dtype=float),
        "bodies/cube/position": np.array(position),
        "bodies/cube/quaternion": np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
        "bodies/cube/velocity": np.zeros((count, 3)),
        "bodies/cube/angular_velocity": np.zeros((count, 3)),
    }
    return Results(series, {}, {"bodies/cube": {"shape": shape}})


def test_a_cube_seen_from_the_front_is_a_square(tmp_path):
    dark = darkness(picture(box_alone(), tmp_path / "a.png", azimuth=0.0, elevation=0.0)) > 0.05
    rows, columns = np.nonzero(dark)
    height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
    assert abs(height - width) <= 2
    assert dark.sum() > 0.99 * height * width
    assert height > 0.85 * dark.shape[0]


def test_a_cube_seen_from_above_a_corner_is_a_hexagon(tmp_path):
    view = {"azimuth": 45.0, "elevation": float(np.rad2deg(np.arcsin(1 / np.sqrt(3))))}
    image = matplotlib.image.imread(picture(box_alone(), tmp_path / "a.png", **view))[: -int(FOOTER * 150), :, :3]
    dark = image.mean(axis=-1) < 0.95
    rows, columns = np.nonzero(dark)
    height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
    np.testing.assert_allclose(width / height, np.sqrt(3) / 2, rtol=0.01)
    np.testing.assert_allclose(dark.sum() / (width * height), 0.75, rtol=0.01)
    shades, counts = np.unique((image[dark] * 255).round().astype(int) @ [65536, 256, 1], return_counts=True)
    assert np.sum(counts > 0.2 * dark.sum()) == 3, f"three faces, three shades, not {len(shades)}"


def test_the_motion_goes_from_light_to_dark(tmp_path):
    results = box_alone(position=[(0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (4.0, 0.0, 0.0)])
    dark = darkness(picture(results, tmp_path / "a.png", times=3, azimuth=-90.0, elevation=0.0))
    row = dark[dark.shape[0] // 2]
    first, middle, last = (row[int(share * row.size)] for share in (0.15, 0.5, 0.85))
    assert 0.05 < first < middle - 0.1 < last - 0.2


def test_times_choose_the_instants(tmp_path):
    results = box_alone(position=[(0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (4.0, 0.0, 0.0)])
    dark = darkness(picture(results, tmp_path / "a.png", times=[2.1, -1.0], azimuth=-90.0, elevation=0.0))
    row = dark[dark.shape[0] // 2]
    assert row[row.size // 2] < 0.01, "the instant in the middle was not asked for"
    assert min(row[int(0.15 * row.size)], row[int(0.85 * row.size)]) > 0.05


def test_seen_from_the_body_it_stands_still(tmp_path, results):
    once = darkness(picture(results, tmp_path / "a.png", times=[2.0], frame="hub"))
    often = darkness(picture(results, tmp_path / "b.png", times=7, frame="hub"))
    # All instants lie on one another, but for the edges' half-covered pixels.
    assert np.mean(np.abs(once - often) > 0.02) < 0.01
    moving = darkness(picture(results, tmp_path / "c.png", times=7))
    assert moving.shape != once.shape or np.mean(np.abs(once - moving) > 0.02) > 0.02


def test_bodies_and_beams_without_shape_are_drawn_too(tmp_path):
    block, static, _ = satellite()
    bare = {path: array for path, array in static.items() if not path.endswith("outline")}
    assert ink(picture(Results(block, bare, {}), tmp_path / "a.png")) > 0.01
