"""The report page in a headless Chromium: no complaint in its console, the structure where the results have it."""

import base64
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import shared_runs
from checkout import CASES
from models import of_parts, slender_boom
from oracles import firefox
from oracles.browser import PROGRAM, Browser
from oracles.synthetic_results import flexible, plate, satellite

import femb
from femb import Results, Sweep
from femb.numerics import rotations

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")]

# Where the middle of the last section of a beam is, in the frame of the results.
TIP = """(() => {
  const { player, data } = femb;
  player.viewer.render();
  const beam = player.structure.beams.find((part) => part.name === NAME);
  player.structure.moving.updateWorldMatrix(true, true);
  const points = beam.mesh.geometry.attributes.position;
  const sum = beam.mesh.position.clone().set(0, 0, 0);
  for (let c = 1; c <= beam.corners; c++) {
    const corner = beam.mesh.position.clone().fromBufferAttribute(points, points.count - c);
    sum.add(corner.applyMatrix4(beam.mesh.matrixWorld));
  }
  return sum.toArray().map((x, k) => x / beam.corners + data.scene.path[k]);
})()"""
PIXELS = "(femb.player.viewer.render(), document.querySelector('canvas').toDataURL())"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile"), 900, 700) as started:
        yield started
    assert started.problems == []


def opened(browser, results, folder, **words):
    browser.open(femb.report(results, folder / "report.html", **words))
    assert browser.problems == []


def test_the_satellite_moves_as_in_its_results(browser, tmp_path):
    results = shared_runs.results_of("satellite_forced")
    opened(browser, results, tmp_path)
    assert (tmp_path / "report.html").stat().st_size < 3e6
    assert browser.value("femb.player.playing")
    begin = browser.value("femb.player.time")
    browser.wait(f"femb.player.time > {begin}")
    browser.value("femb.player.play(false)")
    first = browser.value(PIXELS)
    times = browser.value("femb.data.scene.times")
    beam, hub = results.beams["right"], results.bodies["hub"]
    for time in (times[0], times[300], times[-1]):
        k = int(np.argmin(np.abs(results.time - time)))
        browser.value(f"femb.player.seek({time})")
        tip = browser.value(TIP.replace("NAME", "'right'"))
        np.testing.assert_allclose(tip, beam.position[k, -1], atol=2e-4)
        browser.value("femb.player.enlarge = 500; femb.player.show()")
        moved = np.array(browser.value(TIP.replace("NAME", "'right'"))) - tip
        np.testing.assert_allclose(moved, 499 * rotations.rotate(hub.quaternion[k], beam.deflection[k, -1]), atol=1e-3)
        browser.value("femb.player.enlarge = 1")
    assert browser.value(PIXELS) != first
    browser.value("femb.player.turning.checked = true; femb.player.follow('hub'); femb.player.seek(7)")
    tip = browser.value(TIP.replace("NAME", "'right'"))  # in the axes of the hub, which were the inertial ones
    still = rotations.rotate_back(hub.quaternion[700], beam.position[700, -1] - hub.position[700])
    np.testing.assert_allclose(tip, hub.position[0] + rotations.rotate(hub.quaternion[0], still), atol=2e-4)


def test_joints_stay_closed_where_deflections_are_enlarged(browser, tmp_path):
    results = shared_runs.results_of("satellite_two_arrays")
    opened(browser, results, tmp_path)
    ends = results.joints["left_1"].attachments
    at = ends["second"]["at"]
    assert ends["first"] == {"beam": "left_yoke", "node": 8, "at": [0.0, 0.0, 0.0]}
    point = f"""(() => {{
      const body = femb.player.structure.bodies.find((part) => part.name === "left_1");
      const point = body.group.position.clone().set({at[0]}, {at[1]}, {at[2]});
      return point.applyMatrix4(body.group.matrixWorld).toArray().map((x, k) => x + femb.data.scene.path[k]);
    }})()"""
    browser.value("femb.player.play(false); femb.player.enlarge = 10000; femb.player.seek(12)")
    tip = np.array(browser.value(TIP.replace("NAME", "'left_yoke'")))
    np.testing.assert_allclose(browser.value(point), tip, atol=1e-4)
    browser.value("femb.player.enlarge = 1; femb.player.show()")
    assert np.linalg.norm(tip - browser.value(TIP.replace("NAME", "'left_yoke'"))) > 0.05


def test_ropes_and_symbols_stand_where_their_hosts_are(browser, tmp_path):
    """A rope from the end of a boom to a mass, and a wheel on the hub, in flight and with enlarged deflections."""
    hub = femb.RigidBody(
        "hub", mass=5.0, inertia=(1.0, 1.0, 1.0), velocity=(0.5, 0, 0), angular_velocity=(0.2, 0.3, 1.5)
    )
    model = of_parts(
        hub,
        slender_boom(4),
        femb.PointMass("load", mass=1.0, position=(1.0, 0.0, -1.0)),
        femb.Distance("rope", femb.JointEnd(beam="boom", node=4), femb.JointEnd("load")),
        femb.ReactionWheel("wheel", "hub", at=(0.2, 0.1, 0.3), axis=(0.0, 1.0, 0.0), spin_inertia=1e-3),
    )
    results = femb.simulate(model, duration=0.4, output_interval=0.1)
    opened(browser, results, tmp_path)
    browser.value("femb.player.play(false); femb.player.seek(0.4)")
    there = """(() => {
      const { structure } = femb.player;
      const ends = structure.links.geometry.attributes.position;
      const path = structure.moving.position;
      const wheel = structure.fittings.find((each) => each.data.drawn === "ring");
      const start = femb.data.scene.path;
      const places = [[ends.getX(0), ends.getY(0), ends.getZ(0)], [ends.getX(1), ends.getY(1), ends.getZ(1)],
        wheel.mesh.matrix.elements.slice(12, 15)];
      return places.map((place) => place.map((x, k) => x + path.toArray()[k] + start[k]));
    })()"""
    tip, load, center = (np.array(each) for each in browser.value(there))
    np.testing.assert_allclose(tip, results.beams["boom"].position[-1, -1], atol=1e-4)
    np.testing.assert_allclose(load, results.bodies["load"].position[-1], atol=1e-4)
    np.testing.assert_allclose(center, results.bodies["hub"].position[-1], atol=1e-4)
    browser.value("femb.player.enlarge = 5; femb.player.show()")
    drawn = np.array(browser.value(TIP.replace("NAME", "'boom'")))
    np.testing.assert_allclose(browser.value(there)[0], drawn, atol=1e-4)
    assert np.linalg.norm(drawn - tip) > 1e-3


def test_reports_print_on_white_paper_without_controls(browser, tmp_path):
    """Also where the reader's screen is dark; the clock stays beside the structure."""
    opened(browser, Results(*satellite()), tmp_path)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.call("Emulation.setEmulatedMedia", media="screen", features=dark)
    paper = "getComputedStyle(document.body).backgroundColor"
    assert browser.value(paper) != "rgb(255, 255, 255)"
    browser.call("Emulation.setEmulatedMedia", media="print", features=dark)
    try:
        assert browser.value(paper) == "rgb(255, 255, 255)"
        shown = (
            "[...document.querySelectorAll('main button, main select, main input')].filter((each) => each.offsetParent)"
        )
        assert browser.value(f"{shown}.map((each) => each.outerHTML.slice(0, 90))") == []
        assert browser.value("document.querySelector('.clock').offsetParent !== null")
        cell = browser.value("femb.player.viewer.cell")  # the extent is that of both booms
        assert browser.value("document.querySelector('.cell-size').textContent") == f"grid {cell:.1g} m"
    finally:
        browser.call("Emulation.setEmulatedMedia", media="", features=[])


def test_a_shell_moves_as_in_its_results(browser, tmp_path):
    hub = femb.RigidBody("hub", mass=1.0, inertia=0.1, angular_velocity=(0.0, 0.5, 1.0))
    corners = [[0.1, 0.0, 0.0], [1.1, 0.0, 0.0], [1.1, 0.5, 0.0], [0.1, 0.5, 0.0]]
    words = {"thickness": 1e-3, "material": "aluminium 6061-T6", "attach": {"edge4": hub.name}}
    model = of_parts(hub, femb.Shell("panel", elements=(4, 2), corners=corners, **words))
    results = femb.simulate(model, duration=0.2, output_interval=0.05, rtol=1e-4)
    opened(browser, results, tmp_path)
    browser.value("femb.player.play(false)")
    point = """(() => {
      femb.player.viewer.render();
      const body = femb.player.structure.bodies.find((part) => part.name === "panel");
      const { nodes } = body.meshes[0];
      const last = body.group.position.clone().fromArray(nodes, nodes.length - 3);
      return last.applyMatrix4(body.group.matrixWorld).toArray().map((x, k) => x + femb.data.scene.path[k]);
    })()"""
    shell, turned = results.shells["panel"], results.bodies["hub"].quaternion[3]
    browser.value("femb.player.seek(0.15)")
    corner = np.array(browser.value(point))
    np.testing.assert_allclose(corner, shell.position[3, -1], atol=2e-4)
    browser.value("femb.player.enlarge = 5; femb.player.show()")
    moved = np.array(browser.value(point)) - corner
    np.testing.assert_allclose(moved, 4.0 * rotations.rotate(turned, shell.deflection[3, -1]), atol=1e-3)
    browser.value("femb.player.enlarge = 1")


# The largest of |x| and |y| of all corners, as parts of half of the view.
SEEN = """(() => {
  const { viewer } = femb.player;
  viewer.render();
  const point = viewer.camera.position.clone();
  const most = [0, 0];
  for (let k = 0; k < viewer.seen.length; k += 3) {
    point.fromArray(viewer.seen, k).project(viewer.camera);
    most[0] = Math.max(most[0], Math.abs(point.x));
    most[1] = Math.max(most[1], Math.abs(point.y));
  }
  return most;
})()"""


def test_the_view_is_filled_and_nothing_is_cut(browser, tmp_path):
    opened(browser, Results(*satellite()), tmp_path)
    browser.value("femb.player.play(false)")
    for command in ("", "femb.player.fit('x')", "femb.player.enlarge = 50; femb.player.fit()", "femb.player.fit('z')"):
        browser.value(f"{command}; 0")
        assert max(browser.value(SEEN)) == pytest.approx(1.0 / 1.12, rel=1e-3)  # MARGIN
    browser.value("femb.player.fit()")
    count = "femb.player.viewer.seen.length"
    whole = browser.value(count)
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="f", text="f")  # again: at this instant
    assert browser.value(count) == pytest.approx(whole / 17)
    assert max(browser.value(SEEN)) == pytest.approx(1.0 / 1.12, rel=1e-3)
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="f", text="f")
    assert browser.value(count) == whole
    browser.call("Emulation.setDeviceMetricsOverride", width=420, height=800, deviceScaleFactor=1, mobile=True)
    try:
        browser.wait("femb.player.viewer.camera.aspect < 1.3")
        assert max(browser.value(SEEN)) == pytest.approx(1.0 / 1.12, rel=1e-3)
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


def test_what_is_picked_tells_its_quantities_and_distances(browser, tmp_path):
    """By clicks on the picture, at a turned attitude and enlarged deflections; against the results."""
    results = Results(*satellite())
    opened(browser, results, tmp_path)
    browser.value("femb.player.play(false); femb.player.enlarge = 3; femb.player.seek(0.65)")

    def click(path, node):
        place = browser.value(f"""(() => {{
          const {{ viewer, structure }} = femb.player;
          viewer.render();
          const part = [...structure.bodies, ...structure.beams].find((each) => each.path === "{path}");
          part.group.updateWorldMatrix(true, false);
          const seen = part.shownAt({node}).applyMatrix4(part.group.matrixWorld).project(viewer.camera);
          const box = viewer.renderer.domElement.getBoundingClientRect();
          return [box.left + (0.5 + 0.5 * seen.x) * box.width, box.top + (0.5 - 0.5 * seen.y) * box.height];
        }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            words = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
            browser.call("Input.dispatchMouseEvent", type=kind, **words)

    click("beams/right", 1)
    click("bodies/hub", "null")
    browser.wait("femb.player.picks.picks.length === 2")
    names = browser.value("[...document.querySelectorAll('.picks h3')].map((each) => each.textContent)")
    assert [name.split("  ")[0] for name in names] == ["right, node 1 beams×", "hub bodies×"]
    first, second = (browser.value(f"femb.player.picks.stateOf(femb.player.picks.picks[{k}])") for k in (0, 1))
    w = 0.5  # between the output times 0.6 and 0.7
    node = (1 - w) * results.beams["right"].position[6, 1] + w * results.beams["right"].position[7, 1]
    hub = (1 - w) * results.bodies["hub"].position[6] + w * results.bodies["hub"].position[7]
    # an attitude is blended on its arc
    np.testing.assert_allclose(first["place"], node, atol=1e-3)
    np.testing.assert_allclose(second["place"], hub, atol=1e-5)
    force = next(row for row in first["rows"] if row["name"] == "axial force")
    assert force["unit"] == "N"
    np.testing.assert_allclose(force["values"], 1.0, rtol=1e-4)  # before and after the node
    velocity = next(row for row in second["rows"] if row["name"] == "velocity")
    np.testing.assert_allclose(velocity["values"], results.bodies["hub"].velocity[0], rtol=1e-5)
    browser.value("femb.player.seek(0.7)")  # an output time
    shown = browser.value("document.querySelector('.picks .distance b').textContent")
    assert float(shown.split()[1]) == pytest.approx(1.1, abs=2e-5)  # of the node from the reference point
    browser.wait("document.querySelectorAll('.marks circle').length === 2")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert browser.value("document.querySelector('.picks').hidden")


def test_parts_are_coloured_by_name_group_side_and_stress(browser, tmp_path):
    opened(browser, Results(*plate()), tmp_path)
    assert browser.value("femb.player.colours.value") == "von Mises stress"
    choices = browser.value("[...femb.player.colours.options].map((each) => each.value)")
    stresses = ["von Mises stress", "von Mises stress, side seen"]
    assert choices == ["", "part", "group", "side of shells", *stresses, "deflection"]
    colours = """(() => {
      const [, plate] = femb.player.structure.bodies;
      const of = (mesh) => [...mesh.geometry.attributes.color.array];
      return plate.meshes[0].sides.map((mesh) => [
        mesh.material.color.getHexString(), mesh.material.vertexColors, of(mesh),
      ]);
    })()"""
    scale = "[...femb.player.scale.table.slice(3 * 255)]"
    browser.value("femb.player.play(false); femb.player.seek(1)")
    back, front = (each[2] for each in browser.value(colours))
    assert back == front  # the larger of both sides
    np.testing.assert_allclose(front[9 * 4 : 9 * 4 + 3], browser.value(scale), atol=1e-6)  # 280 kPa in the triangle
    browser.value("femb.player.colour('von Mises stress, side seen')")
    (_, _, back), (_, vertices, front) = browser.value(colours)
    assert vertices
    table = np.reshape(browser.value("[...femb.player.scale.table]"), (256, 3))
    for side, stress in ((back, 80.0), (front, 280.0)):  # |N/h -+ 6 M/h^2| in kPa
        np.testing.assert_allclose(side[-3:], table[round(255 * stress / 280.0)], atol=1e-6)
    browser.value("femb.player.colour('side of shells')")
    (back, vertices, _), (front, _, _) = browser.value(colours)
    assert (vertices, back == front) == (False, False)
    browser.value("femb.player.colour('part')")
    hub = "femb.player.structure.bodies[0].meshes[0].sides[0].material.color.getHexString()"
    assert browser.value(hub) != browser.value(colours)[0][0]
    assert browser.value("document.querySelector('.legend').innerText").split() == ["part", "hub", "plate"]
    browser.value("femb.player.picks.pick('shells/plate', 6)")
    rows = browser.value("femb.player.picks.stateOf(femb.player.picks.picks[0]).rows")
    np.testing.assert_allclose(rows[0]["values"], [4.0, 2.5, 0.18], atol=1e-4)
    assert rows[2]["name"] == "von Mises stress, element 2: back | front"
    np.testing.assert_allclose(rows[2]["values"], [8e4, 2.8e5], rtol=1e-4)


FILM = """femb.player.film.record(KIND).then(async (blob) => {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  window.film = [blob.type, btoa(Array.from(bytes, (each) => String.fromCharCode(each)).join(""))];
}); 0"""


def test_films_of_motion_and_of_modes_leave_the_page(browser, tmp_path):
    """A video that the browser itself plays, and all frames as pictures."""
    opened(browser, Results(*satellite()), tmp_path)
    browser.value("femb.player.play(false); femb.player.seek(0.3)")
    browser.value("femb.player.speed = 2 / 0.5; window.film = null; " + FILM.replace("KIND", "'video'"))
    browser.wait("window.film !== null", 300.0)
    kind, data = browser.value("window.film")
    assert kind == "video/webm"
    assert base64.b64decode(data)[:4] == b"\x1a\x45\xdf\xa3"  # EBML
    video = "window.video = document.createElement('video'); video.src = `data:${film[0]};base64,${film[1]}`; 0"
    browser.value(video)
    browser.wait("video.readyState > 0")
    width, height = browser.value("[video.videoWidth, video.videoHeight]")
    assert [width, height] == browser.value("[femb.player.film.canvas.width, femb.player.film.canvas.height]")
    assert browser.value("femb.player.time") == 0.3  # where it was
    browser.value("window.film = null; femb.player.speed = 2 / 0.1; " + FILM.replace("KIND", "'frames'"))
    browser.wait("window.film !== null", 300.0)
    kind, data = browser.value("window.film")
    assert kind == "application/zip"
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(data))) as file:
        assert file.testzip() is None
        pictures = [file.read(name) for name in file.namelist()]
    assert len(pictures) == 4  # 0.1 s in 30 frames per second, with both ends
    assert len(set(pictures)) == 4
    assert all(picture[1:4] == b"PNG" for picture in pictures)
    model = femb.load_case(CASES / "satellite_two_arrays.toml").model
    opened(browser, femb.modes(model, 2, held="hub"), tmp_path)
    browser.value("femb.player.choose(2)")
    assert browser.value("[femb.player.film.name(), femb.player.film.count()]") == [
        "satellite_with_two_hinged_arrays_mode_2",
        120,
    ]


def test_a_hundred_thousand_numbers_a_channel_open_below_a_second(browser, tmp_path):
    """CPU of the page, with the noise of a sensor; plots draw each pixel once and read every number."""
    rng = np.random.default_rng(1)
    time = np.linspace(0.0, 100.0, 100_001)
    values = {f"own/q{k}": np.sin((k + 1) * time)[:, None] + 1e-3 * rng.normal(size=(time.size, 3)) for k in range(10)}
    values["own/q0"][54_321, 1] = 3.0
    page = femb.report(Results({"time": time} | values), tmp_path / "report.html")
    browser.call("Performance.enable", timeDomain="threadTicks")
    browser.open(page)
    used = {each["name"]: each["value"] for each in browser.call("Performance.getMetrics")["metrics"]}["TaskDuration"]
    assert used < 1.0
    series = "[...femb.curves.plots.values()][0].plot.data"
    assert browser.value(f"{series}[2].length") == time.size
    assert browser.value(f"{series}[2][54321]") == pytest.approx(3.0, abs=1e-6)


def test_histories_are_picked_and_keys_play(browser, tmp_path):
    opened(browser, Results(*satellite()), tmp_path)
    shown = browser.value("document.querySelectorAll('.plot canvas').length")
    filtered = "femb.curves.filter.value = 'hub velocity'; femb.curves.filter.oninput();"
    browser.value(f"{filtered} document.querySelector('.names input:not(:checked)').click()")
    assert browser.value("document.querySelectorAll('.plot canvas').length") == shown + 1
    assert browser.value("[...femb.curves.plots.keys()].at(-1)").startswith("bodies/hub/")
    playing = browser.value("femb.player.playing")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=" ", text=" ")
    assert browser.value("femb.player.playing") != playing
    browser.value("femb.player.play(false); femb.player.seek(0)")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    assert browser.value("femb.player.time") == pytest.approx(0.1)
    assert browser.value("document.querySelector('.clock').textContent") == "0.100 s"


def test_modes_swing_and_static_states_are_stepped_through(browser, tmp_path):
    model = femb.load_case(CASES / "satellite_two_arrays.toml").model
    opened(browser, femb.modes(model, 4, held="hub"), tmp_path)
    browser.value("femb.player.choose(2)")
    first = browser.value(PIXELS)
    browser.wait(f"{PIXELS} !== {first!r}")
    assert browser.value("document.querySelector('.clock').textContent").startswith("mode 2, ")
    path = femb.static(femb.load_case(CASES / "lees_frame.toml").model, steps=2, time=1.0)
    opened(browser, path, tmp_path)
    browser.value("femb.player.seek(2)")
    assert browser.value("document.querySelector('.clock').textContent") == "state 2, load factor 1"
    np.testing.assert_allclose(
        browser.value(TIP.replace("NAME", "'frame'")), path.beams["frame"].position[2, -1], atol=1e-3
    )
    assert browser.value("document.querySelectorAll('.chart circle').length") == 3
    unit = {"axial_stiffness": 1e6, "torsional_stiffness": 1.0, "bending_stiffness": (1.0, 2.0)}
    section = femb.Section("rod", mass_per_length=1.0, inertia_per_length=(2e-3, 1e-3, 1e-3), **unit)
    start = femb.Attachment(body="ground", direction=(1, 0, 0))
    column = of_parts(femb.Beam("b", section, 1.0, 4, start=start), femb.Load("P", beam="b", force=(-4, 0, 0)))
    opened(browser, femb.static(column, steps=4, critical=1), tmp_path)
    assert browser.value("femb.data.buckling.modes[0].factor") == pytest.approx(np.pi**2 / 16.0, rel=1e-4)
    assert browser.value("document.querySelectorAll('.view canvas').length") == 2
    browser.value("document.querySelectorAll('.view')[1].scrollIntoView()")
    begin = browser.value("femb.buckling.phase")
    browser.wait(f"femb.buckling.phase !== {begin}")


def test_frequency_responses_and_other_runs_are_drawn(browser, tmp_path):
    A, B, C, D = [[0.0, 1.0], [-4.0, -0.2]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]]
    space = femb.StateSpace(*map(np.array, (A, B, C, D)), ("x", "v"), ("force",), ("place",))
    opened(browser, Results.read(space.write(tmp_path / "linear.h5")), tmp_path)
    assert browser.value("femb.responses.plots.length") == 2
    gain = "femb.responses.plots[0].data[1]"
    shown = browser.value(f"Math.max(...{gain}) / {gain}[0]")
    assert shown == pytest.approx(1.0 / 0.1 / np.sqrt(1.0 - 0.0025) / 1.01, rel=3e-3)  # the peak over that at f/10
    block, static, attributes = satellite()
    late = {path: array[5:] for path, array in block.items()}
    opened(browser, Results(block, static, attributes), tmp_path, beside={"late": Results(late, static, attributes)})
    assert browser.value("[...femb.curves.plots.values()][0].plot.series.length") == 1 + 2 * 3


def test_flexible_bodies_are_drawn_by_their_mesh_by_lines_and_by_links(browser, tmp_path):
    for cells, kind in (({"cells_line": np.array([[0, 4], [4, 6]])}, "LineSegments"), ({}, "Mesh")):
        opened(browser, Results(*flexible(cells)), tmp_path)
        browser.value("femb.player.seek(1)")
        assert browser.value("femb.player.structure.bodies[0].meshes[0].sides[0].type") == kind
        assert browser.value("femb.player.structure.links.geometry.attributes.position.count") == 2 * (not cells)
    opened(browser, Results(*flexible({"cells_hexahedron": np.arange(8)[None]})), tmp_path)
    browser.value(
        "femb.player.play(false); femb.player.enlarge = 2; femb.player.colour('deflection'); femb.player.seek(1)"
    )
    points = browser.value("[...femb.player.structure.bodies[0].meshes[0].nodes]")
    assert np.max(np.reshape(points, (-1, 3))[:, 0]) == pytest.approx(1.0 + 2 * 0.2, abs=1e-4)


def test_flexible_bodies_are_coloured_by_the_stress_of_their_nodes(browser, tmp_path):
    block, static, attributes = flexible({"cells_hexahedron": np.arange(8)[None]})
    (path,) = [each.removesuffix("/deformation") for each in block if each.endswith("/deformation")]
    shapes = np.zeros((block[f"{path}/deformation"].shape[1], len(static[f"{path}/nodes"]), 3, 3))
    shapes[:, 4, 0, 0] = 1e6  # Pa in node 4, uniaxial
    results = Results(block, static | {f"{path}/stress_shapes": shapes}, attributes)
    mises = results.bodies[path.rpartition("/")[2]].nodal_von_mises
    np.testing.assert_allclose(mises[:, 4], 1e6 * np.abs(block[f"{path}/deformation"].sum(axis=1)), rtol=1e-12)
    opened(browser, results, tmp_path)
    browser.value("femb.player.play(false); femb.player.colour('von Mises stress'); femb.player.seek(0.25)")
    found = "[...femb.player.structure.bodies[0].meshes[0].sides[0].geometry.attributes.color.array]"
    colours = np.reshape(browser.value(found), (-1, 3))
    table = np.reshape(browser.value("[...femb.player.scale.table]"), (256, 3))
    np.testing.assert_allclose(colours[0], table[0], atol=1e-6)
    np.testing.assert_allclose(colours[4], table[round(255 * mises[1, 4] / mises.max())], atol=1e-6)
    told = browser.value(
        "JSON.stringify(femb.player.structure.bodies[0].truly({ node: 4 }, 1, 1, 0).values['von Mises stress'].values)"
    )
    assert json.loads(told)[0] == pytest.approx(mises[1, 4], rel=1e-4)


def test_unfinished_runs_and_studies_are_shown(browser, tmp_path):
    block, static, attributes = satellite()
    text = "</script><b>"
    root = {"status": "running", "title": text, "message": text}
    none = {path: array[:0] for path, array in block.items()}
    opened(browser, Results(none, static, attributes | {"": root}), tmp_path)
    assert browser.value("document.querySelector('h1').textContent") == f"{text}unfinished"
    peak = np.array([1.0, 4.0, np.nan])
    sweep = Sweep({"k": [1.0, 2.0, 3.0]}, {"peak": peak}, np.isnan(peak), ["", "", text], {"peak": "N"})
    opened(browser, sweep, tmp_path)
    assert text in browser.value("document.querySelector('main').textContent")
    assert browser.value("document.querySelectorAll('.chart circle').length") == 2


def test_runs_of_a_search_are_coloured_marked_and_chosen(browser, tmp_path):
    """The best is a star and a row of its own, a limit a wall; what is dragged over an axis chooses runs everywhere."""
    k, width = np.arange(8.0), np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])
    outputs, none = {"mass": 10.0 - k, "stress": 2.0 * k}, np.zeros(8, dtype=bool)
    limits = {"stress": (None, 9.0)}
    sweep = Sweep(
        {"k": k, "width": width}, outputs, none, [""] * 8, {"stress": "Pa"}, limits=limits, wanted="least mass"
    )
    opened(browser, sweep, tmp_path)
    assert browser.value("document.querySelectorAll('path.star').length") == 1
    assert browser.value("document.querySelector('path.star title').textContent").startswith("4:")
    assert browser.value("document.querySelector('tr.best td').textContent") == "4"
    assert browser.value("document.querySelectorAll('.run').length") == 8
    lists = "document.querySelectorAll('.options select')[{}]"
    choose = f"(() => {{{{ const list = {lists}; list.value = '{{}}'; list.onchange(); }}}})()"
    browser.value(choose.format(0, 1))
    assert browser.value("document.querySelectorAll('line.wall').length") == 1
    browser.value(choose.format(2, 1))
    shades = "new Set([...document.querySelectorAll('circle.point')].map((each) => getComputedStyle(each).fill)).size"
    assert browser.value(shades) == 7  # and the star
    # over the lower half of the first axis, k from 0 to 4
    drag = """(() => {
        const handle = document.querySelector('.handle'), box = handle.getBoundingClientRect();
        handle.setPointerCapture = () => 0;
        const at = (kind, part) => handle.dispatchEvent(new PointerEvent(kind, {
            clientX: box.x + 4, clientY: box.y + (1 - part) * box.height, pointerId: 1 }));
        at('pointerdown', -0.05); at('pointermove', 0.52); at('pointerup', 0.52);
    })()"""
    browser.value(drag)
    assert browser.value("document.querySelectorAll('.run.outside').length") == 3
    assert browser.value("document.querySelectorAll('circle.outside').length") == 3
    assert browser.value("document.querySelectorAll('section .scroll:last-of-type tbody tr').length") >= 5
    assert "5 of 8 runs: k 0 to" in browser.value("document.querySelector('main').textContent")


def test_nothing_is_wider_than_a_phone(browser, tmp_path):
    """390 px wide: of a run with its audit, of modes over a rate of rotation, and of a search."""
    speeds = np.linspace(0.0, 300.0, 4)
    frequencies = np.stack([20.0 + 0.0 * speeds, 30.0 + speeds / 10.0], axis=1)
    labels = ("beams.one", "bodies.hub")
    ones = np.ones_like(frequencies)
    swept = femb.ModeSweep("wheels.disc.speed", speeds, frequencies, 0.01 * ones, ones, labels, 0.0 * ones, "rad/s")
    size = {"height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.call("Emulation.setDeviceMetricsOverride", width=390, **size)
    try:
        for results in (Results(*satellite()), swept.sweep().results(), searched()):
            opened(browser, results, tmp_path)
            assert browser.value("document.documentElement.scrollWidth") <= 390
        assert browser.value("document.querySelectorAll('svg text').length") > 4
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


def searched():
    """The runs of a search by two parameters."""
    k = np.arange(4.0)
    return Sweep({"k": k, "width": k}, {"mass": 9.0 - k}, k > 4.0, [""] * 4, {}, wanted="least mass")


def test_reports_bar_nobody(browser, tmp_path):
    """No grave finding of axe on light and dark screens: of a run, of modes over a rate, of a search, of responses."""
    k = np.arange(4.0)
    lines = femb.ModeSweep(
        "wheels.disc.speed", k, 20.0 + k[:, None], *(np.ones((2, 4, 1))), ("b",), np.zeros((4, 1)), "rad/s"
    )
    space = femb.StateSpace(*(np.array([[x]]) for x in (-1.0, 1.0, 1.0, 0.0)), ("x",), ("force",), ("place",))
    responses = Results.read(space.write(tmp_path / "linear.h5"))
    try:
        for results in (Results(*satellite()), Results(*plate()), searched(), lines.sweep().results(), responses):
            for scheme in ("light", "dark"):
                media = [{"name": "prefers-color-scheme", "value": scheme}]
                browser.call("Emulation.setEmulatedMedia", features=media)
                opened(browser, results, tmp_path)
                assert browser.barriers() == []
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])


def test_paper_has_three_poses_in_place_of_the_view(browser, tmp_path):
    opened(browser, shared_runs.results_of("satellite_forced"), tmp_path)
    seen = "getComputedStyle(document.querySelector('.view')).display"
    assert browser.value(seen) != "none"
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.wait("document.querySelectorAll('.poses img').length === 3")
    poses = browser.value(
        "[...document.querySelectorAll('.poses figcaption')].map((each) => parseFloat(each.textContent))"
    )
    assert poses == [0.0, 5.0, 10.0]
    assert len(set(browser.value("[...document.querySelectorAll('.poses img')].map((each) => each.src)"))) == 3
    assert browser.value(seen) == "none"
    browser.call("Emulation.setEmulatedMedia", media="screen")
    assert browser.value(seen) != "none"


@pytest.mark.skipif(firefox.PROGRAM is None, reason="no Firefox is installed")
def test_reports_open_in_firefox(tmp_path):
    """Whole, with the structure, or, where this browser has no WebGL, with a sentence in its place."""
    plots = "document.querySelectorAll('.uplot, svg.chart, .chart svg').length"
    with firefox.Firefox(tmp_path / "profile") as browser:
        for results, drawn in ((Results(*satellite()), 2), (Results(*plate()), 1), (searched(), 1)):
            browser.open(femb.report(results, tmp_path / "report.html"))
            assert browser.value(plots) >= drawn
            if isinstance(results, Results) and not browser.value("femb.player !== null"):
                assert "The animation needs WebGL" in browser.value("document.querySelector('main').textContent")


def test_notebooks_show_the_page_inline(browser, tmp_path):
    page = Path(tmp_path / "notebook.html")
    page.write_text(f"<!doctype html><html><body>{Results(*satellite()).show()._repr_html_()}</body></html>")
    browser.open(page, ready="document.querySelector('iframe') !== null")
    browser.enter_frame()
    browser.wait("document.documentElement?.dataset.ready === 'yes'")
    assert browser.value("femb.data.scene.beams.length") == 2
    assert browser.value("window.origin") == "null"  # it reaches nothing of the notebook
    assert browser.problems == []


def test_derivatives_have_bars_of_what_they_change(browser, tmp_path):
    found = femb.Sensitivities(
        ("f",), ("radius", "wall"), np.array([6.0]), np.array([0.03, 0.001]), np.array([[200.0, -3000.0]]),
        np.full((1, 2), 1e-9), np.array([1e-3, 1e-4]), np.ones(2, bool), ("",), {"f": "Hz"},
    )  # fmt: skip
    opened(browser, found, tmp_path)
    part = "[...document.querySelectorAll('section')].find((each) => each.textContent.includes('Which number matters'))"
    assert browser.value(f"{part}.querySelector('h3').textContent") == "f 6 Hz"
    assert browser.value(f"[...{part}.querySelectorAll('td div')].map((bar) => bar.style.width)") == [
        "200px",
        "133.333px",
    ]
