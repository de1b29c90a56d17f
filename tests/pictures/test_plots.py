"""Figures: the numbers they show, their names and units, and that something legible is drawn."""

import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest
from checkout import CASES
from long_runs import slow_but
from models import of_parts, refuses, slender
from oracles.synthetic_results import LENGTH, bent_beam, satellite
from PIL import Image
from shared_runs import said

import femb
from femb.base.errors import ResultError
from femb.case import CaseError
from femb.numerics import rotations
from femb.pictures import drawing
from femb.pictures.animation import animate
from femb.pictures.drawing import FOOTER
from femb.pictures.figures import ROW_LIMIT, plot, request, rows
from femb.pictures.picture import picture
from femb.pictures.sheets import FIGURES
from femb.pictures.subject import NODES, Subject
from femb.profiles import SmoothStep, Versine
from femb.results.results import Results


@pytest.fixture
def results():
    return Results(*satellite())


def rows_of(figure, results):
    return FIGURES[figure](Subject(results))


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
    (row,) = rows_of("tips", Results(*bent_beam(radius=1.5)))
    tip = LENGTH / 1.5
    expected = [1.5 * np.sin(tip) - LENGTH, 1.5 * (1 - np.cos(tip)), 0.0]
    for panel in row:
        assert panel.unit == "m"
        np.testing.assert_allclose(panel.values[-1], expected, atol=1e-14)


def test_rotations_show_every_node_in_degrees():
    (row,) = rows_of("rotations", Results(*bent_beam(radius=1.5, elements=4)))
    np.testing.assert_allclose(row[2].values[-1], np.rad2deg(np.linspace(0.0, LENGTH / 1.5, 5)), atol=1e-12)
    assert row[2].labels == [f"node {i}" for i in range(5)]


def test_bodies_show_angles_and_rates_in_degrees(results):
    ((angles, rates),) = rows_of("bodies", results)
    slope = np.gradient(angles.values, results.time, axis=0)[1:-1]
    np.testing.assert_allclose(rates.values[1:-1], slope, atol=0.6)
    assert np.abs(slope).max() > 20.0


def test_strains_name_the_end_of_the_element(results):
    block, static, attributes = satellite()
    block["beams/right/strain"] = np.tile(np.arange(4.0).reshape(2, 2), (21, 1, 1))
    panel = rows_of("strains", Results(block, static, attributes))[0][0]
    assert dict(zip(panel.labels, panel.values[3], strict=True)) == {
        "element 0 start": 0.0, "element 0 end": 1.0, "element 1 start": 2.0, "element 1 end": 3.0,
    }  # fmt: skip


def test_the_audit_shows_energies_and_the_change_of_momentum(results):
    panels = {panel.title: panel for row in rows_of("audit", results) for panel in row}
    assert panels["energy"].labels == ["kinetic", "potential", "work"]
    np.testing.assert_array_equal(panels["energy"].values[4], [5.0, 0.0, 0.0])
    np.testing.assert_array_equal(panels["linear momentum"].values, 0.0)
    np.testing.assert_allclose(panels["angular momentum"].values[:, 0], 1e-9 * np.sin(results.time), atol=1e-15)
    assert panels["constraints"].log


def test_long_beams_keep_their_first_and_last_node():
    (row,) = rows_of("rotations", Results(*bent_beam(elements=500)))
    assert len(row[0].labels) == row[0].values.shape[1] == NODES
    assert (row[0].labels[0], row[0].labels[-1]) == ("node 0", "node 500")


# What is asked for


@pytest.fixture(scope="module")
def arm():
    """Two hinges, a driver, a motor, a spring, a load and a beam: something of every kind."""
    model = femb.Model("Arm")
    section = femb.Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9)
    for name, at in (("upper", 0.5), ("fore", 1.5)):
        model.add(femb.RigidBody(name, 1.0, 0.1, position=(at, 0, 0)))
    model.add(
        femb.Revolute(
            "first", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("upper", at=(-0.5, 0, 0), axis=(0, 0, 1))
        )
    )
    ends = (
        femb.JointEnd("upper", at=(0.5, 0, 0), axis=(0, 0, 1)),
        femb.JointEnd("fore", at=(-0.5, 0, 0), axis=(0, 0, 1)),
    )
    model.add(femb.Revolute("second", *ends))
    model.add(femb.JointDriver("turn", "first", SmoothStep(after=1.0, duration=0.1)))
    model.add(femb.JointMotor("motor", "second", force=0.3))
    model.add(
        femb.SpringDamper(
            "rope", femb.SpringEnd("fore"), femb.SpringEnd(anchor=(1.0, 2.0, 0.0)), stiffness=5.0, free_length=1.0
        )
    )
    model.add(
        femb.Load("push", body="fore", force=(0.0, 1.0, 2.0), torque=(0, 0, 0.5), frame="body", profile=Versine(0.1))
    )
    model.add(
        femb.Beam("tip", section, 0.5, 2, start=femb.Attachment(body="fore", at=(0.5, 0, 0), direction=(1.0, 0, 0)))
    )
    return femb.simulate(model, duration=0.2, output_interval=0.01)


def shown(results, what, **words):
    return rows(results, request(results, what, **words))


@pytest.mark.parametrize(
    ("what", "values"),
    [
        ("position of fore", lambda r: r.bodies["fore"].position),
        ("bodies/fore/velocity", lambda r: r.bodies["fore"].velocity),
        ("quaternion_rate of upper", lambda r: r.bodies["upper"].quaternion_rate),
        ("angular_velocity.z of tip[1]", lambda r: r.beams["tip"].angular_velocity[:, 1, 2:]),
        ("beams/tip/displacement[-1]", lambda r: r.beams["tip"].displacement[:, -1]),
        ("coordinates.angle of second", lambda r: np.degrees(r.joints["second"].coordinates)),
        ("rates of second", lambda r: np.degrees(r.joints["second"].rates)),
        ("force of drivers/turn", lambda r: r.drivers["turn"].force),
        ("force of motor", lambda r: r.loads["motor"].force[:, None]),
        ("force of rope", lambda r: r.springs["rope"].force[:, None]),
        ("torque of push", lambda r: r.loads["push"].torque),
        ("audit/work", lambda r: r.audit.work[:, None]),
        ("kinetic_energy", lambda r: r.audit.kinetic_energy[:, None]),
        ("energy_error", lambda r: r.audit.energy_error[:, None]),
    ],
)
def test_any_quantity_of_any_item(arm, what, values):
    ((panel,),) = shown(arm, what)
    np.testing.assert_allclose(panel.values, values(arm), rtol=1e-12, atol=1e-12)
    assert panel.quantity


def test_quantities_of_shells_are_those_of_a_node_or_of_the_elements_that_change_most():
    model = femb.Model()
    words = {
        "corners": [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]],
        "thickness": 2e-3,
        "material": "aluminium 6061-T6",
    }
    model.add(femb.Shell("panel", elements=(4, 2), attach={"edge4": "ground"}, **words, points={"tip": "corner3"}))
    model.add(femb.Load("push", body="panel.tip", force=(0.0, 0.0, 1.0)))
    results = femb.static(model, steps=2)
    shell = results.shells["panel"]
    ((last,),) = shown(results, "deflection of panel")
    np.testing.assert_allclose(last.values, shell.deflection[:, -1], rtol=1e-12, atol=1e-12)
    ((third,),) = shown(results, "position of panel[2]")
    np.testing.assert_allclose(third.values, shell.position[:, 2], rtol=1e-12, atol=1e-12)
    ((moments,),) = shown(results, "bending_moment of panel")
    assert len(moments.labels) == 12
    assert "of 24 that change most" in moments.title
    assert np.abs(moments.values).max() == pytest.approx(np.abs(shell.bending_moment).max())


def test_load_histories_are_what_the_loads_exert(arm):
    """Force in inertial axes, turned with the body; torque in the body's own."""
    size, push, body = Versine(0.1), arm.loads["push"], arm.bodies["fore"]
    profile = np.array([[size(t)] for t in arm.time])
    np.testing.assert_allclose(push.torque, profile * [0, 0, 0.5], atol=1e-15)
    np.testing.assert_allclose(push.force, rotations.rotate(body.quaternion, profile * [0, 1.0, 2.0]), atol=1e-14)


def test_loads_along_beams_have_the_history_of_their_profile():
    model = femb.Model("Heated")
    section = femb.Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9)
    model.add(femb.Beam("b", section, 1.0, start=femb.Attachment(body="ground", direction=(1.0, 0, 0))))
    model.add(femb.DistributedLoad("snow", "b", force=(0, 0, -1e-3), profile=Versine(0.1)))
    ((panel,),) = shown(femb.simulate(model, duration=0.1, output_interval=0.01), "loads")
    np.testing.assert_allclose(panel.values[:, 0], [Versine(0.1)(0.01 * k) for k in range(11)], atol=1e-14)


def test_one_item_shows_components_and_several_show_items(arm):
    ((one,),) = shown(arm, "velocity of fore")
    assert (one.title, list(one.labels)) == ("fore", ["x", "y", "z"])
    (several,) = shown(arm, "velocity", items=["upper", "fore", "tip[*]"])
    assert [panel.title for panel in several] == ["velocity, x", "velocity, y", "velocity, z"]
    assert list(several[0].labels) == ["upper", "fore", "tip[0]", "tip[1]", "tip[2]"]
    ((angles, torque),) = shown(arm, "coordinates | force of drivers/turn")
    assert (list(angles.labels), angles.unit, torque.unit) == (["first", "second"], "deg", "N m")


def test_spans_of_time(arm):
    ((panel,),) = shown(arm, "position of fore", times=(0.05, None))
    np.testing.assert_allclose(panel.values, arm.bodies["fore"].position[5:], atol=1e-13)
    ((change, _),) = shown(arm, "momentum", times=(0.05, 0.1))
    np.testing.assert_allclose(
        change.values, (arm.audit.linear_momentum - arm.audit.linear_momentum[0])[5:11], atol=1e-12
    )
    with pytest.raises(ResultError, match=r"from 3.0 to None s: the results go from 0 to 0\.2 s"):
        shown(arm, "position", times=(3.0, None))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("velocty", "did you mean 'velocity'"),
        ("../x", r"no figure '\.\./x'"),
        ("/etc/passwd", "no figure"),
        ("bodies/fore/velocty", "did you mean 'bodies/fore/velocity'"),
        ("bodies/four/velocity", "did you mean"),
        ("velocity of four", "no item 'four'.*did you mean 'fore'"),
        ("velocity.k of fore", "no component 'k' here; it may be one of: x, y, z"),
        ("tip[0]", "no figure"),
        ("a\0b", r"no figure 'a\\x00b'"),
        ("", "no figure ''"),
    ],
)
def test_what_is_unknown_is_refused_with_a_hint(arm, tmp_path, what, message):
    refuses(message, plot, arm, tmp_path / "a.png", what, error=ResultError)
    assert not list(tmp_path.iterdir())


def test_accelerations_and_other_arrays_need_no_word():
    block, static, attributes = satellite()
    block["bodies/hub/acceleration"] = np.outer(block["time"], [1.0, 2.0, 3.0])
    block["joints/hinge/wear"] = block["time"]
    block["audit/force_balance"] = block["time"] * 1e-9
    results = Results(block, static, attributes)
    ((panel,),) = shown(results, "acceleration of hub")
    assert (panel.unit, panel.values[-1].tolist()) == ("m/s²", [2.0, 4.0, 6.0])
    for path in ("joints/hinge/wear", "audit/force_balance"):
        ((panel,),) = shown(results, path)
        np.testing.assert_array_equal(panel.values[:, 0], block[path])


def test_latches_are_marked():
    block, static, attributes = satellite()
    block["joints/hinge/coordinates"] = np.sin(block["time"])[:, None]
    block["joints/hinge/rates"] = np.cos(block["time"])[:, None]
    attributes["joints/hinge"] = {"names": '["angle"]'}
    static["events/latches.hinge/time"] = np.array([1.25])
    for row in shown(Results(block, static, attributes), "latches"):
        assert row[0].marks == (1.25,)


# Noise


def test_rounding_errors_are_drawn_as_zero():
    """Each quantity knows of what size the numbers are that it is the difference of."""
    noise = np.random.default_rng(0).standard_normal(21)
    block, static, attributes = satellite()
    block["audit/constraint_position"] = 1e-30 * np.abs(noise)
    block["audit/constraint_velocity"] = 1e-17 * np.abs(noise)
    block["audit/energy_error"] = 5.0 * 1e-15 * noise
    block["audit/linear_momentum"] = block["audit/linear_momentum"] + 1e-14 * noise[:, None]
    block["bodies/hub/quaternion"] = rotations.exponential(
        np.stack([1e-14 * noise, 0 * noise, 0.5 + 0 * noise], axis=1)
    )
    results = Results(block, static, attributes)
    panels = {panel.title: panel for row in rows_of("audit", results) for panel in row}
    for title in ("energy balance", "linear momentum", "constraints"):
        np.testing.assert_array_equal(panels[title].values, 0.0, title)
    ((angles, _),) = rows_of("bodies", results)
    np.testing.assert_array_equal(angles.values[:, 0], 0.0)
    np.testing.assert_allclose(angles.values[:, 2], np.degrees(0.5))


def test_what_is_above_rounding_is_drawn_as_it_is():
    block, static, attributes = satellite()
    block["audit/energy_error"] = 5.0 * 1e-11 * np.sin(block["time"])
    block["beams/right/strain"] = 1e-10 * np.ones((21, 2, 2))
    results = Results(block, static, attributes)
    (energy,) = rows_of("energy", results)
    np.testing.assert_array_equal(energy[1].values[:, 0], block["audit/energy_error"])
    np.testing.assert_array_equal(rows_of("strains", results)[0][0].values, 1e-10)


# Figures of a case


def test_a_case_names_its_figures(tmp_path):
    model = femb.Model("Top")
    model.add(femb.RigidBody("top", 1.0, (1.0, 2.0, 3.0), angular_velocity=(0.1, 2.0, 0.2)))
    model.add(femb.Figure("overview", ["angular_velocity | energy_error"]))
    model.add(femb.Figure("late", ["angular_velocity.x of top"], times=(0.5, 1.0)))
    femb.simulate(model, duration=1.0, output_interval=0.1, out=tmp_path / "results.h5")
    results = Results.read(tmp_path / "results.h5")
    ((spin, _),) = shown(results, None)
    np.testing.assert_array_equal(spin.values, results.bodies["top"].angular_velocity)
    ((late,),) = shown(results, "late")
    np.testing.assert_array_equal(late.values, results.bodies["top"].angular_velocity[5:, :1])
    assert results.title == "Top"
    refuses("figures are: overview, late, overview", plot, results, tmp_path / "a.png", "early", error=ResultError)


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": {"wat": 1}}', '{"a": {"what": []}}'])
def test_damaged_figures_are_told(tmp_path, text):
    block, static, attributes = satellite()
    attributes[""]["figures"] = text
    with pytest.raises(ResultError, match="attribute figures of the results"):
        plot(Results(block, static, attributes), tmp_path / "a.png")


@pytest.mark.parametrize(
    ("words", "line", "message"),
    [
        ('what = ["velocity", "sped"]', 6, "figures.a.what.1: got 'sped': no figure 'sped'"),
        ('what = ["velocty"]', 6, "did you mean 'velocity'"),
        ('what = ["velocity of hubb"]', 6, "no such item; there are: ground, hub"),
        ('what = ["bodies/hub/weight"]', 6, "bodies have no 'weight'"),
        ('what = ["appendages/hub/torque"]', 6, "no such item"),
        ('what = ["energy"]\nitems = ["pub"]', 7, "no such item"),
        ('what = ["energy"]\nframe = "pub"', 7, "no such frame; there are: inertial, ground, hub"),
        ('what = ["energy"]\ntimes = [2, 1]', 7, "the first must be before the last"),
        ("what = []", 6, "wanted one text or more"),
        ("wat = 3", 6, "did you mean 'what'"),
    ],
)
def test_figures_of_a_case_are_checked(tmp_path, words, line, message):
    case = tmp_path / "case.toml"
    case.write_text(f"[bodies.hub]\nmass = 1.0\ninertia = 1.0\n\n[figures.a]\n{words}\n")
    with pytest.raises(CaseError) as caught:
        femb.load_case(case)
    assert f"{case}:{line}: figures.a" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("path", sorted(CASES.glob("*.*")), ids=lambda path: path.stem)
def test_every_case_says_what_its_overview_shows(path):
    case = femb.load_case(path)
    assert "overview" in case.model.figures
    assert case.run.output_times().size >= 200, "fewer make broken lines"


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

# which has none of these
NOT_OF_SATELLITE = (
    "budget", "loop", "drivers", "springs", "loads", "latches", "section_forces", "stress", "root_loads",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", slow_but([None], [None, *(each for each in FIGURES if each not in NOT_OF_SATELLITE)]))
def test_every_figure_is_drawn(tmp_path, results, what):
    path = plot(results, tmp_path / "new" / "figure.png", what)
    assert 0.005 < ink(path) < 0.5


@pytest.mark.slow
def test_plots_do_without_pyplot(tmp_path, results):
    already = "matplotlib.pyplot" in sys.modules
    plot(results, tmp_path / "a.png", "strains")
    picture(results, tmp_path / "b.png")
    assert ("matplotlib.pyplot" in sys.modules) == already


def test_importing_loads_no_heavy_library():
    heavy = "matplotlib", "meshio", "h5py"
    modules = "femb.pictures, femb.export, femb.results.storage.file"
    code = f"import sys, {modules}; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.slow
def test_a_single_output_time_is_drawn(tmp_path):
    block, static, attributes = satellite()
    single = Results({path: array[:1] for path, array in block.items()}, static, attributes)
    assert ink(plot(single, tmp_path / "a.png", "tips")) > 0.005
    assert ink(picture(single, tmp_path / "b.png")) > 0.005


@pytest.mark.slow
def test_the_suffix_gives_the_format(tmp_path, results):
    assert plot(results, tmp_path / "a", "strains").name == "a.png"
    assert plot(results, tmp_path / "a.svg", "strains").read_text().startswith("<?xml")
    refuses(r"a\.frog.*cannot be written", plot, results, tmp_path / "a.frog", "strains", error=ResultError)


def test_more_rows_than_a_page_holds_are_counted(tmp_path, monkeypatch):
    time = np.linspace(0.0, 1.0, 3)
    series = {f"bodies/b{i}/quaternion": np.tile([1.0, 0, 0, 0], (3, 1)) for i in range(9)}
    series |= {f"bodies/b{i}/angular_velocity": np.zeros((3, 3)) for i in range(9)}
    drawn = []
    monkeypatch.setattr("femb.pictures.figures.save", lambda figure, path, dpi: path)
    monkeypatch.setattr("femb.pictures.figures.table", lambda time, rows, title, *_: drawn.append((len(rows), title)))
    plot(Results({"time": time, **series}), tmp_path / "a.png", "bodies")
    assert drawn == [(ROW_LIMIT, "results: bodies (the first 6 of 9)")]


def test_the_ground_has_nothing_to_show(tmp_path):
    """Of a clamped beam the page shows its end and the audit, and there is no body to draw over time."""
    model = femb.Model("cantilever")
    section = femb.Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9)
    model.add(femb.Beam("b", section, 1.0, start=femb.Attachment(body="ground", direction=(1.0, 0.0, 0.0))))
    results = femb.simulate(model, duration=1e-3, out=tmp_path / "results.h5")
    for each in (results, Results.read(tmp_path / "results.h5")):
        assert each.bodies["ground"].fixed
        assert [row[0].title for row in rows_of("overview", each)] == ["energy"], "it moves nowhere"
        refuses("nothing to show in the figure 'bodies'", plot, each, tmp_path / "a.png", "bodies", error=ResultError)
    model.add(femb.RigidBody("weight", mass=1.0, inertia=1.0, angular_velocity=(0, 0, 1.0)))
    assert rows_of("overview", femb.simulate(model, duration=1e-3))[0][0].title == "weight"


def test_the_case_gives_the_title(tmp_path, results, monkeypatch):
    drawn = []
    monkeypatch.setattr("femb.pictures.figures.save", lambda figure, path, dpi: path)
    monkeypatch.setattr("femb.pictures.figures.table", lambda time, rows, title, *_: drawn.append(title))
    plot(results, tmp_path / "a.png", "section_loads")
    plot(Results(*bent_beam()), tmp_path / "a.png", "tips")
    assert drawn == ["satellite: section loads", "results: tips"]


@pytest.mark.parametrize(("across", "wanted"), [(1.0, {"boom0": 4}), (1.2, {"boom0": 2, "boom1": 2})])
def test_one_of_equal_antennas_is_shown_and_says_of_how_many(across, wanted):
    """Four booms around a hub that spins up bend alike, each in its own axes; of two lengths, two and two."""
    model = of_parts(femb.RigidBody("hub", mass=50.0, inertia=(9.0, 9.0, 9.0)))
    boom = slender()
    for k in range(4):
        along = (np.cos(0.5 * np.pi * k), np.sin(0.5 * np.pi * k), 0.0)
        start = femb.Attachment("hub", direction=along, y_axis=(0.0, 0.0, 1.0))
        model.add(femb.Beam(f"boom{k}", boom, length=across if k % 2 else 1.0, elements=1, start=start))
    model.add(femb.Load("spin", body="hub", torque=(0.0, 0.0, 5.0)))
    results = femb.simulate(model, duration=0.1, output_interval=0.02)
    assert len(rows_of("tips", results)) == 4
    shown = [row[0].title for row in rows_of("overview", results) if "boom" in row[0].title]
    assert shown == [f"{name}, tip (one of {count} alike)" for name, count in wanted.items()]


def test_what_does_not_move_is_named_below_the_overview():
    """A body that turns in its place: its displacement has no panel of the overview, and one where it is asked for."""
    time = np.linspace(0.0, 1.0, 5)
    turn = np.stack([np.cos(time), 0 * time, 0 * time, np.sin(time)], axis=1)
    body = {"quaternion": turn, "angular_velocity": np.tile([0, 0, 2.0], (5, 1)), "displacement": np.zeros((5, 3))}
    results = Results({"time": time} | {f"bodies/hub/{word}": values for word, values in body.items()})
    overview = results.plot()
    assert [axes.get_ylabel() for axes in overview.get_axes()] == ["Euler angle (deg)"]
    assert overview.get_supxlabel() == "zero to rounding: displacement of hub"
    asked = results.plot("hub.displacement")
    assert asked.get_axes()[0].get_ylabel() == "displacement (m)"
    assert not asked.get_supxlabel()


def test_what_cannot_be_shown_says_why(tmp_path, results):
    refuses(r"'colours'.*overview, bodies", plot, results, tmp_path / "a.png", "colours", error=ResultError)
    with pytest.raises(ResultError, match="nothing to show in the figure 'joints'"):
        plot(Results(*bent_beam()), tmp_path / "a.png", "joints")
    refuses("nothing to show", plot, Results({}), tmp_path / "a.png", error=ResultError)
    refuses("no output times", picture, Results({}), tmp_path / "a.png", error=ResultError)
    refuses("neither bodies nor beams", picture, Results({"time": np.zeros(1)}), tmp_path / "a.png", error=ResultError)
    refuses("times asks for none", picture, results, tmp_path / "a.png", times=0, error=ResultError)


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


@pytest.mark.slow
def test_a_cube_seen_from_the_front_is_a_square(tmp_path):
    dark = darkness(picture(box_alone(), tmp_path / "a.png", azimuth=0.0, elevation=0.0)) > 0.05
    rows, columns = np.nonzero(dark)
    height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
    assert abs(height - width) <= 2
    assert dark.sum() > 0.99 * height * width
    assert height > 0.85 * dark.shape[0]


@pytest.mark.slow
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
    dark = darkness(picture(results, tmp_path / "a.png", times=[2.1, 0.0], azimuth=-90.0, elevation=0.0))
    row = dark[dark.shape[0] // 2]
    assert row[row.size // 2] < 0.01, "the instant in the middle was not asked for"
    assert min(row[int(0.15 * row.size)], row[int(0.85 * row.size)]) > 0.05


@pytest.mark.slow
def test_seen_from_the_body_it_stands_still(tmp_path, results):
    once = darkness(picture(results, tmp_path / "a.png", times=[2.0], frame="hub"))
    often = darkness(picture(results, tmp_path / "b.png", times=7, frame="hub"))
    # All instants lie on one another, but for the edges' half-covered pixels.
    assert np.mean(np.abs(once - often) > 0.02) < 0.01
    moving = darkness(picture(results, tmp_path / "c.png", times=7))
    assert moving.shape != once.shape or np.mean(np.abs(once - moving) > 0.02) > 0.02


@pytest.mark.slow
def test_bodies_and_beams_without_shape_are_drawn_too(tmp_path):
    block, static, _ = satellite()
    bare = {path: array for path, array in static.items() if not path.endswith("outline")}
    assert ink(picture(Results(block, bare, {}), tmp_path / "a.png")) > 0.01


# The film


@pytest.mark.slow
def test_a_film_has_the_images_it_should(tmp_path, results):
    counts = []
    words = {"times": (0.5, 1.5), "fps": 5, "dpi": 40, "progress": lambda done, total: counts.append((done, total))}
    path = animate(results, tmp_path / "new" / "film", **words)
    assert path.name == "film.gif"
    with Image.open(path) as film:
        assert (film.n_frames, film.info["duration"]) == (6, 200)
        frames = []
        for k in (0, 5):
            film.seek(k)
            frames.append(np.asarray(film.convert("L"), float))
    assert counts[-1] == (6, 6)
    assert np.mean(np.abs(frames[0] - frames[1]) > 50) > 0.01, "it moves"


@pytest.mark.slow
def test_a_film_takes_its_time_where_its_format_counts_in_hundredths(tmp_path, results):
    """Of 8 images a second each lasts 120 or 130 ms in a GIF: one of 120 ms alone would run 4 % too fast."""
    with Image.open(animate(results, tmp_path / "film.gif", fps=8, times=(0.0, 2.0), dpi=40)) as film:
        lasting = []
        for k in range(film.n_frames):
            film.seek(k)
            lasting.append(film.info["duration"])
    assert sum(lasting) == pytest.approx(17 * 125, abs=10)


@pytest.mark.slow
def test_films_of_both_kinds_show_the_same(tmp_path, results):
    """The few colours of a GIF and the losses of WebP are small, and neither stores what stands still again."""
    images = []
    for suffix in ("gif", "webp"):
        path = animate(results, tmp_path / f"film.{suffix}", fps=5, times=(0.0, 2.0), dpi=60)
        with Image.open(path) as film:
            assert film.n_frames == 11
            film.seek(10)
            images.append(np.asarray(film.convert("RGB"), float) / 255.0)
        assert path.stat().st_size < 11 * 6_000
    apart = np.abs(images[0] - images[1]).max(axis=-1)
    assert np.mean(apart) < 0.01
    assert np.mean(images[0].min(axis=-1) < 0.5) > 0.002


def test_films_that_cannot_be_are_refused(tmp_path, results, monkeypatch):
    refuses(r"\.webp or \.mp4", animate, results, tmp_path / "a.avi", error=ResultError)
    refuses(r"no motion from 5\.0", animate, results, tmp_path / "a.gif", times=(5.0, None), error=ResultError)
    refuses("too long, at most", animate, results, tmp_path / "a.gif", speed=1e-6, error=ResultError)
    monkeypatch.setattr("matplotlib.animation.FFMpegWriter.isAvailable", lambda: False)
    refuses("ffmpeg, which is not installed", animate, results, tmp_path / "a.mp4", error=ResultError)
    refuses("neither bodies nor beams", animate, Results({"time": np.zeros(1)}), tmp_path / "a.gif", error=ResultError)


@pytest.mark.slow
def test_results_draw_quantities_by_name(tmp_path, results):
    """One call: a figure with units at its axes, and a file only where one is asked for."""
    figure = results.plot("hub.euler", "right.tip.position.z", "right.root.section_moment", path=tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    first, second, third = figure.get_axes()
    assert (first.get_ylabel(), second.get_ylabel()) == ("Euler angle (deg)", "position (m)")
    assert third.get_xlabel() == "time (s)"
    assert third.get_ylabel() == "section moment (N m)"
    angles = np.rad2deg(results.bodies["hub"].euler_angles())
    np.testing.assert_allclose([line.get_ydata() for line in first.get_lines()], angles.T, atol=1e-9)
    (line,) = second.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), results["right.tip.position.z"])
    assert "a.svg" in [path.name for path in tmp_path.iterdir()]
    assert len(list(tmp_path.iterdir())) == 1
    refuses(r"did you mean 'right\.tip\.position'", results.plot, "right.tip.positoin", error=ResultError)
    assert len(results.plot("tips").get_axes()) == 4, "named figures as well"


def test_spectra_are_drawn(tmp_path):
    """A sine of 2 Hz has its peak there, in squared units per Hz."""
    time = np.arange(200) * 0.02
    position = np.zeros((200, 3))
    position[:, 1] = 0.3 * np.sin(2.0 * np.pi * 2.0 * time)
    results = Results({"time": time, "bodies/hub/position": position})
    (axes,) = results.plot("hub.position", spectrum="psd").get_axes()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("frequency (Hz)", "position (m²/Hz)")
    frequency, density = axes.get_lines()[1].get_data()
    assert frequency[np.nanargmax(density)] == pytest.approx(2.0)
    (axes,) = results.plot("hub.position.y", spectrum="amplitude").get_axes()
    assert np.nanmax(axes.get_lines()[0].get_ydata()) == pytest.approx(0.3, rel=1e-9)
    assert "amplitude spectrum" in axes.figure.get_suptitle()
    with pytest.raises(ResultError, match="spectrum: got 'power', wanted 'psd' or 'amplitude'"):
        results.plot("hub.position", spectrum="power")
    with pytest.raises(ResultError, match="needs equal intervals"):
        Results({"time": time**2, "bodies/hub/position": position}).plot("hub.position", spectrum="psd")
    results.write(tmp_path / "r.h5")
    said("plot", tmp_path / "r.h5", "--what", "hub.position", "--spectrum", "psd")
    assert (tmp_path / "hub.position.png").exists()
    assert "hub.displacement" in said("plot", tmp_path / "r.h5", "--list")


def test_items_of_one_name_in_two_tables_are_told_apart():
    """In the legend of a panel that shows both."""
    position = np.arange(6.0).reshape(2, 3)
    arrays = {"bodies/boom/position": position, "beams/boom/position": np.stack([position, 2.0 * position], axis=1)}
    both = Results({"time": np.arange(2.0), **arrays, "bodies/hub/position": -position})
    ((first, *_),) = Subject(both).rows("position")
    assert first.labels == ["bodies.boom", "hub", "beams.boom[1]"]
