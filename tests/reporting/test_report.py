"""The report page without a browser: its data against its schema and closed forms, its texts, what it refuses."""

import json
import webbrowser
from pathlib import Path

import numpy as np
import pytest
from checkout import ROOT
from models import refuses
from oracles.report_page import ReportPage, page_of
from oracles.synthetic_results import BOX, DRIFT, OUTLINE, SPIN, START, THICKNESS, bent_beam, flexible, plate, satellite
from shared_runs import said

import femb
from femb import ResultError, Results, Sweep
from femb.numerics import rotations
from femb.pictures.words import channels
from femb.reporting import carriers
from femb.reporting.packing import COARSE, FINE, Packing
from femb.reporting.page import SCRIPTS

HOSTILE = "</script><script>alert(1)</script><!--<b>&amp;"


def changed(series=lambda array: array, **root):
    block, static, attributes = satellite()
    block = {path: series(array) for path, array in block.items()}
    return Results(block, static, attributes | {"": attributes[""] | root})


def test_arrays_come_back_within_half_a_step():
    values = np.random.default_rng(1).normal(size=(40, 3, 2)).cumsum(axis=0)
    missing = values.copy()
    missing[3, 1] = np.nan
    whole = np.arange(12, dtype=np.int64).reshape(4, 3) * 30_000
    packing = Packing()
    kept = [(values, COARSE), (values, FINE), (missing, FINE), (whole, COARSE), (np.zeros((0, 3)), FINE)]
    references = [packing.add(array, bits) for array, bits in kept]
    page = ReportPage(f'<script id="femb-data">{{}}</script><script id="femb-arrays">{packing.text()}</script>')
    for (array, bits), reference in zip(kept, references, strict=True):
        half = 0.5 * np.max(np.abs(array), initial=0.0, where=np.isfinite(array)) / 2.0**bits
        half = 0.0 if array.dtype == np.int64 else half
        np.testing.assert_allclose(page.array(reference), array, atol=half * 1.0000001, rtol=0.0)


@pytest.mark.slow
def test_parts_are_where_the_closed_form_has_them(tmp_path):
    """A satellite that turns as one rigid body: the corners of its box, and its booms from their shape at rest."""
    page = page_of(Results(*satellite()), tmp_path)
    scene = page.data["scene"]
    path = np.reshape(scene["path"], (-1, 3))
    time = np.array(scene["times"])
    attitude = rotations.exponential(time[:, None] * SPIN)
    (hub,), (right, _) = scene["bodies"], scene["beams"]
    np.testing.assert_allclose(page.array(hub["position"]) + path, START + time[:, None] * DRIFT, atol=1e-4)
    np.testing.assert_allclose(page.array(hub["quaternion"]), attitude, atol=3e-5)
    corners = page.array(hub["meshes"][0]["points"])
    np.testing.assert_allclose(np.ptp(corners, axis=0), BOX, atol=1e-4)
    # The synthetic booms have no deflection_body: what carries them is their first node.
    s = np.concatenate([np.linspace(0.0, 1.0, 9), np.linspace(1.0, 2.0, 9)])
    local = page.array(right["rest"]) + page.array(right["deflection"])
    root = page.array(right["position"]) + path
    for k in (0, 7, 20):
        stations = root[k] + rotations.rotate(page.array(right["quaternion"])[k], local[k])
        expected = START + time[k] * DRIFT + rotations.rotate(attitude[k], np.outer(0.1 + s, [1.0, 0.0, 0.0]))
        np.testing.assert_allclose(stations, expected, atol=5e-4)
    np.testing.assert_allclose(page.array(right["colours"]["axial force"])[:, 0, 1], 1.0, atol=1e-4)
    np.testing.assert_allclose(np.ptp(page.array(right["outline"]), axis=0), np.ptp(OUTLINE, axis=0), atol=1e-4)
    ranges = {each["name"]: (each["low"], each["high"]) for each in scene["quantities"]}
    assert ranges["axial force"] == (0.0, 2.0)
    assert scene["extent"] == pytest.approx(4.2, rel=0.5)


@pytest.mark.slow
def test_histories_are_the_recorded_ones(tmp_path):
    results = Results(*satellite())
    page = page_of(results, tmp_path)
    for path in ("bodies/hub/velocity", "joints/hinge/force", "audit/angular_momentum"):
        array = results.arrays[path]
        np.testing.assert_allclose(page.entry(path), array, atol=np.max(np.abs(array)) / 2.0**FINE)
    angles = np.degrees(results.bodies["hub"].euler_angles())
    np.testing.assert_allclose(page.entry("bodies/hub/euler_angles"), angles, atol=1e-4)
    tip = results.beams["left"].position[:, -1]
    np.testing.assert_allclose(page.entry("beams/left[2]/position"), tip, atol=1e-5)
    np.testing.assert_allclose(page.array(page.data["histories"]["times"]), results.time, atol=1e-8)
    peaks = {(row["item"], row["load"]): row for row in page.data["peaks"]}
    assert peaks["joints/hinge", "force z"]["maximum"] == 3.0


@pytest.mark.slow
def test_an_animation_is_thinned_and_the_page_knows(tmp_path):
    page = page_of(Results(*satellite(times=3001)), tmp_path, frames=50)
    scene = page.data["scene"]
    assert len(scene["times"]) == 50
    assert scene["outputs"] == 3001
    assert scene["times"][-1] == 2.0
    assert page.entry("bodies/hub/velocity").shape == (3001, 3)
    assert page.size < 1.2e6


def test_a_page_needs_no_other_file_and_texts_stay_texts(tmp_path):
    block, static, attributes = satellite()
    attributes[""] |= {"title": HOSTILE, "message": HOSTILE, "case": HOSTILE}
    block = {path.replace("bodies/hub", f"bodies/{HOSTILE.replace('/', '')}"): array for path, array in block.items()}
    page = page_of(Results(block, static, attributes), tmp_path, name=HOSTILE)
    assert page.tags.count("script") == 4
    assert "b" not in page.tags
    assert page.sources == ["data:,"]  # the icon
    assert page.title == page.data["head"]["title"] == page.data["case"] == HOSTILE
    # Texts reach elements as text: no script of the page writes HTML.
    sources = [(ROOT / "femb" / "reporting" / "web" / f"{name}.js").read_text() for name in SCRIPTS]
    assert not [word for word in ("innerHTML", "insertAdjacentHTML", "document.write") if word in "".join(sources)]


@pytest.mark.slow
def test_runs_that_ended_early_have_a_page(tmp_path):
    killed = {"status": "running", "message": "the process ended before the run did"}
    for count, scene in ((1, True), (0, False)):
        page = page_of(changed(lambda array, count=count: array[:count], **killed), tmp_path)
        assert (page.data["scene"] is not None) == scene
        assert page.data["head"]["status"] == "running"
    broken = changed()
    for array in (series := {path: array.copy() for path, array in broken.series.items()}).values():
        array[-3:] = np.nan
    series["time"] = broken.time
    page = page_of(Results(series, broken.static, broken.attributes), tmp_path)
    assert len(page.data["scene"]["times"]) == 18  # without the last three, which are not numbers
    assert {row["level"] for row in page.data["audit"] if row["subject"] == "energy"} == {"poor"}


@pytest.mark.slow
def test_a_section_that_crosses_itself_has_open_ends(tmp_path):
    block, static, attributes = satellite()
    static["beams/left/outline"] = np.array([[0, 0], [1, 1], [1, 0], [0, 1.0]]) * 0.01
    right, left = (page := page_of(Results(block, static, attributes), tmp_path)).data["scene"]["beams"]
    assert [page.array(beam["lid"]).shape for beam in (right, left)] == [(2, 3), (0, 3)]


@pytest.mark.slow
def test_a_page_without_beams_and_one_of_other_arrays(tmp_path):
    block, _, attributes = satellite()
    bodies = {path: array for path, array in block.items() if not path.startswith("beams/")}
    page = page_of(Results(bodies, {}, attributes), tmp_path)
    assert page.data["scene"]["beams"] == page.data["scene"]["quantities"] == []
    page = page_of(Results({"time": np.arange(3.0), "own/quantity": np.array([1.0, np.nan, 3.0])}), tmp_path)
    assert page.data["scene"] is None
    np.testing.assert_allclose(page.entry("own/quantity")[:, 0], [1.0, np.nan, 3.0], atol=1e-6)


@pytest.mark.slow
def test_stations_of_a_bent_beam_are_on_its_arc(tmp_path):
    radius = 1.5
    page = page_of(Results(*bent_beam(radius)), tmp_path)
    (beam,) = page.data["scene"]["beams"]
    root = page.array(beam["position"])[-1] + page.data["scene"]["path"][-3:]
    local = page.array(beam["rest"]) + page.array(beam["deflection"])[-1]
    stations = root + rotations.rotate(page.array(beam["quaternion"])[-1], local)
    assert len(stations) == 4 * 9
    np.testing.assert_allclose(np.linalg.norm(stations - [0.0, radius, 0.0], axis=1), radius, atol=2e-4)
    turned = rotations.multiply(rotations.exponential(page.array(beam["turn"])[-1]), page.array(beam["restAxes"]))
    tangents = rotations.rotate(page.array(beam["quaternion"])[-1], rotations.rotate(turned, [1.0, 0.0, 0.0]))
    np.testing.assert_allclose(np.sum(tangents * (stations - [0.0, radius, 0.0]), axis=1), 0.0, atol=2e-3)


def test_the_stress_of_both_sides_of_a_shell_is_on_the_page(tmp_path):
    """|N/h -+ 6 M/h^2| of one stress along x, in the middle of every element."""
    page = page_of(Results(*plate()), tmp_path)
    scene = page.data["scene"]
    (mesh,) = scene["bodies"][1]["meshes"]
    np.testing.assert_array_equal(page.array(mesh["elements"]), [0, 1, 0, 1, 2])
    moment, time = np.array([1.0, 2.0, 3.0])[:, None], np.array(scene["times"])[:, None, None]
    stress = np.abs(1e3 / THICKNESS + 6.0 / THICKNESS**2 * moment * [-1.0, 1.0]) * time
    np.testing.assert_allclose(page.array(mesh["colours"]["von Mises stress"]), stress, rtol=1e-4)
    ranges = {each["name"]: each for each in scene["quantities"]}
    assert ranges["von Mises stress"] == {"name": "von Mises stress", "unit": "Pa", "low": 0.0, "high": 2.8e5}


def test_parts_have_paths_groups_and_carriers(tmp_path):
    """Shells come after the bodies and before the beams, also among the parts that are carried."""
    block, static, attributes = plate()
    others, more, _ = satellite(times=5)
    block |= {path: array for path, array in others.items() if path.startswith("beams/")}
    end = {"start": {"body": "hub", "at": [0, 0, 0]}}
    on = {"start": {"beam": "right", "node": 2, "at": [0, 0, 0]}}
    attributes |= {"beams/right": {"attachments": json.dumps(end)}, "beams/left": {"attachments": json.dumps(on)}}
    block |= {f"appendages/wing/{word}": np.zeros((5, 3)) for word in ("force", "torque")}
    attributes["appendages/wing"] = {"parent": "hub"}
    scene = page_of(Results(block, static | more, attributes), tmp_path).data["scene"]
    assert scene["parts"] == [
        {"path": "bodies/hub", "group": "hub"},
        {"path": "shells/plate", "group": "plate"},
        {"path": "beams/right", "group": "right"},
        {"path": "beams/left", "group": "right"},
    ]
    assert scene["carriers"] == [
        {"part": 2, "on": 0, "at": None, "by": 0},
        {"part": 1, "on": 0, "at": None, "by": None},
        {"part": 3, "on": 2, "at": 2, "by": 0},
    ]


def test_angles_of_joints_are_in_the_unit_of_figures(tmp_path):
    block, static, attributes = satellite()
    angle = np.linspace(0.0, 0.5, 21)[:, None]
    block |= {"joints/hinge/coordinates": angle, "joints/hinge/rates": 2.0 * angle}
    attributes["joints/hinge"] = {"names": '["angle"]'}
    results = Results(block, static, attributes)
    page = page_of(results, tmp_path)
    units = {entry["path"]: entry["unit"] for entry in page.data["histories"]["entries"]}
    for name, unit in (("coordinates", "deg"), ("rates", "deg/s")):
        (channel,) = channels("joints", results.joints["hinge"], name)
        assert units[f"joints/hinge/{name}"] == channel.unit == unit
        np.testing.assert_allclose(page.entry(f"joints/hinge/{name}"), channel.values, atol=1e-4)


@pytest.mark.slow
def test_histories_are_thinned_only_where_they_are_very_many(tmp_path, monkeypatch):
    times, arrays = np.linspace(0.0, 1.0, 10_001), {}
    for k in range(4):
        arrays[f"own/q{k}"] = np.where(np.arange(10_001) == 4321 + k, 1.0, 0.1 * np.sin(times))
    page = page_of(Results({"time": times} | arrays), tmp_path)
    for path, values in arrays.items():
        np.testing.assert_allclose(page.entry(path)[:, 0], values, atol=1e-6)
    monkeypatch.setattr("femb.reporting.page.VALUES", 30_000)
    monkeypatch.setattr("femb.reporting.page.THINNED", 9_000)
    histories = (page := page_of(Results({"time": times} | arrays), tmp_path)).data["histories"]
    assert [entry.get("every", 1) for entry in histories["entries"]] == [1, 1, 6, 6]
    np.testing.assert_allclose(page.entry("own/q0")[:, 0], arrays["own/q0"], atol=1e-6)
    np.testing.assert_allclose(page.entry("own/q3")[:, 0], arrays["own/q3"][[*range(0, 10_001, 6), 10_000]], atol=1e-6)


@pytest.mark.parametrize("attach", [{"edge4": "hub"}, None], ids=["on a body", "free"])
def test_shells_are_where_the_results_have_them(tmp_path, attach):
    """As a body with the pose of what carries the shell, deflected in its axes; triangles of all elements."""
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=1.0, inertia=0.1, angular_velocity=(0.0, 0.5, 1.0)))
    corners = [[0.1, 0.0, 0.0], [1.1, 0.0, 0.0], [1.1, 0.5, 0.1], [0.1, 0.5, 0.0]]
    spin = {} if attach else {"angular_velocity": (0.0, 0.5, 1.0)}
    words = {"corners": corners, "thickness": 1e-3, "material": "aluminium 6061-T6"}
    model.add(femb.Shell("panel", elements=(2, 1), attach=attach, **words, **spin))
    results = femb.simulate(model, duration=0.05, output_interval=0.025, rtol=1e-4)
    page = page_of(results, tmp_path)
    scene, shell = page.data["scene"], results.shells["panel"]
    panel = next(body for body in scene["bodies"] if body["name"] == "panel")
    (mesh,) = panel["meshes"]
    assert page.array(mesh["triangles"]).shape == (4, 3)
    path = np.reshape(scene["path"], (-1, 3))[:, None]
    turned = page.array(panel["quaternion"])[:, None]
    local = page.array(mesh["points"]) + page.array(mesh["deflection"])
    points = page.array(panel["position"])[:, None] + path + rotations.rotate(turned, local)
    np.testing.assert_allclose(points, shell.position, atol=1e-4)
    (deflection,) = (each for each in scene["quantities"] if each["name"] == "deflection")
    assert deflection["high"] == pytest.approx(np.linalg.norm(shell.deflection, axis=-1).max())


def test_a_body_rests_in_the_axes_of_its_turned_carrier():
    """The pose of the carrier times the one at rest is that of the body."""
    model = femb.Model()
    model.add(femb.RigidBody("carrier", 1.0, 1.0, position=(1.0, -2.0, 0.5), euler_angles=(0.4, -0.8, 1.1)))
    model.add(femb.RigidBody("carried", 1.0, 1.0, position=(3.0, 0.2, 0.1), euler_angles=(0.1, 0.3, 2.0)))
    bodies = femb.simulate(model, duration=0.01, output_interval=0.01).bodies
    p, q, r, s = (bodies[name][word][0] for name in ("carrier", "carried") for word in ("position", "quaternion"))
    rest = np.array(carriers._rest(bodies["carrier"], bodies["carried"]))
    np.testing.assert_allclose(p + rotations.rotate(q, rest[:3]), r, atol=1e-14)
    np.testing.assert_allclose(rotations.multiply(q, rest[3:]), s, atol=1e-14)


def test_flexible_bodies_are_meshes_lines_or_links(tmp_path):
    scene = (page := page_of(Results(*flexible({"cells_hexahedron": np.arange(8)[None]})), tmp_path)).data["scene"]
    (mesh,) = scene["bodies"][0]["meshes"]
    points, triangles = page.array(mesh["points"]), page.array(mesh["triangles"]).astype(int)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    assert np.sum(a * np.cross(b, c)) / 6.0 == pytest.approx(1.0, abs=1e-4)  # closed, and outwards
    moved = np.einsum("tm,mnk->tnk", page.array(mesh["coordinates"]), page.array(mesh["shapes"]))
    np.testing.assert_allclose(moved[-1], 0.2 * points[:, 2:] * [1.0, 0.0, 0.0], atol=1e-4)
    (deflection,) = scene["quantities"]
    assert deflection == {"name": "deflection", "unit": "m", "low": 0.0, "high": pytest.approx(0.2)}
    lines = page_of(Results(*flexible({"cells_line": np.array([[0, 4], [4, 6]])})), tmp_path)
    (mesh,) = lines.data["scene"]["bodies"][0]["meshes"]
    np.testing.assert_array_equal(lines.array(mesh["lines"]), [[0, 1], [1, 2]])
    assert lines.data["scene"]["links"] == []
    assert page_of(Results(*flexible({})), tmp_path).data["scene"]["links"] == [
        [{"part": part, "node": None, "at": [0.0, 0.0, 0.0]} for part in (0, 1)]
    ]


def test_the_page_of_a_study_has_its_table(tmp_path):
    peak = np.array([1.0, 4.0, np.nan])
    sweep = Sweep(
        {"k": [1.0, 2.0, 3.0], "kind": ["a", "b", "<"]}, {"peak": peak}, np.isnan(peak), ["", "", "fell"], {"peak": "N"}
    )
    study = page_of(sweep, tmp_path).data["study"]
    assert study["columns"] == ["run", "k", "kind", "peak (N)", "status", "message"]
    assert study["values"][3] == [1.0, 4.0, None]
    assert study["values"][5][2] == "fell"


def test_what_cannot_be_shown_or_written_is_refused(tmp_path):
    results = Results(*satellite())
    refuses("nothing to show", femb.report, Results({}), tmp_path / "a.html", error=ResultError)
    refuses(r"ends in \.html", femb.report, results, tmp_path / "a.pdf", error=ResultError)
    refuses("frames is 1", femb.report, results, tmp_path / "a.html", frames=1, error=ResultError)
    refuses("height is 3", results.show, height=3, error=ResultError)
    (tmp_path / "file").write_text("")
    refuses("cannot be written", femb.report, results, tmp_path / "file" / "a.html", error=ResultError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_commands_write_and_open_pages(tmp_path, monkeypatch):
    file = tmp_path / "results.h5"
    changed(status="complete").write(file)
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    assert said("report", tmp_path).strip() == str(tmp_path / "report.html")
    assert dict(ReportPage(tmp_path / "report.html").data["head"]["facts"])["results"] == "results.h5"
    assert said("report", file, "--out", tmp_path / "x" / "own.html", "--quiet") == ""
    viewed = said("view", file, "--frames", "5").strip()
    assert opened == [Path(viewed).as_uri()]
    assert len(ReportPage(Path(viewed)).data["scene"]["times"]) == 5
    assert "there is no such result file" in said("report", tmp_path / "none.h5", code=2)
    assert "ends in .html" in said("report", file, "--out", tmp_path / "a.png", code=2)


def test_notebooks_show_the_page_in_a_frame_of_its_own():
    shown = Results(*satellite()).show(height=500)
    text = shown._repr_html_()
    assert text.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert "height:500px" in text
    assert '"' not in text.partition('srcdoc="')[2].partition('" style=')[0]
    assert "MB" in repr(shown)
