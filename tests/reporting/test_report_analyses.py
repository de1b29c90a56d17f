"""Pages of modes, buckling modes, linear models and compared runs: their data against closed forms."""

import json

import jsonschema
import numpy as np
import pytest
from models import stiff
from oracles.report_page import SCHEMA, ReportPage, page_of
from oracles.synthetic_results import flexible, satellite
from shared_runs import said

import femb
from femb import ResultError, Results
from femb.numerics import rotations
from femb.recording.record import attachments
from femb.reporting.carriers import carriers_of
from femb.results.array_file import write_arrays
from femb.system.system import System

BAR = stiff(1e6, 1.0, (1.0, 4.0), 1.0, (2e-3, 1e-3, 1e-3), "bar")


def machine():
    """A hub with a boom, and a panel on a hinge at its tip, which a rod holds to the hub: a closed loop."""
    model = femb.Model()
    hub = model.add(femb.RigidBody("hub", mass=5.0, inertia=(1.0, 1.0, 1.0)))
    model.add(femb.Beam("boom", BAR, 1.0, 2, start=hub.at((0.1, 0, 0), direction=(1, 0, 0))))
    panel = model.add(femb.RigidBody("panel", mass=0.5, inertia=(0.02, 0.03, 0.04), position=(1.5, 0, 0)))
    end = femb.JointEnd("panel", at=(-0.4, 0, 0))
    model.add(femb.Revolute("hinge", femb.JointEnd(beam="boom", node=-1, axis=(0, 1, 0)), end))
    model.add(femb.PointMass("tip", mass=0.1, on=panel.at((0.4, 0, 0))))
    model.add(femb.Distance("rod", femb.JointEnd("hub"), femb.JointEnd("panel")))
    return System(model)


def test_items_record_where_they_attach():
    found = {path: json.loads(words["attachments"]) for path, words in attachments(machine()).items()}
    assert found["joints/hinge"] == {
        "first": {"beam": "boom", "node": 2, "at": [0.0, 0.0, 0.0]},
        "second": {"body": "panel", "at": [-0.4, 0.0, 0.0]},
    }
    assert found["beams/boom"] == {"start": {"body": "hub", "at": [0.1, 0.0, 0.0]}}
    assert found["bodies/tip"]["on"]["body"] == "panel"


def carriers(attributes, block, static):
    results = Results(block, static, attributes)
    return carriers_of(results, dict(results.bodies), dict(results.beams))


def test_parts_are_carried_in_an_open_chain():
    block, static, attributes = satellite()
    more = {
        "beams/right": {"start": {"body": "hub", "at": [0, 0, 0]}},
        "beams/left": {"start": {"beam": "right", "node": 2, "at": [0, 0, 0]}},
        "joints/loop": {
            "first": {"beam": "left", "node": 2, "at": [0, 0, 0]},
            "second": {"body": "hub", "at": [0, 0, 0]},
        },
    }
    attributes |= {path: {"attachments": json.dumps(words)} for path, words in more.items()}
    right, left = carriers(attributes, block, static)
    # the joint closes a loop: what it carries stays where it is
    assert right == {"part": 1, "on": 0, "at": None, "by": 0}
    assert left == {"part": 2, "on": 0, "at": None, "by": None}
    del attributes["joints/loop"]
    assert carriers(attributes, block, static)[1] == {"part": 2, "on": 1, "at": 2, "by": 0}
    # a loop of clamps has compatible deflections
    more["beams/left"]["end"] = {"body": "hub", "at": [0, 0, 0]}
    attributes["beams/left"] = {"attachments": json.dumps(more["beams/left"])}
    assert [row["by"] for row in carriers(attributes, block, static)] == [0, 2]


def test_interfaces_are_carried_by_their_flexible_body():
    block, static, attributes = flexible({})
    (row,) = carriers(attributes, block, static)
    assert (row["part"], row["on"], row["flexible"]) == (1, 0, 0)
    np.testing.assert_allclose(row["rest"], [0, 0, 0, 1, 0, 0, 0])
    # the place and the axes of the interface in the body's own axes, whatever the attitude of both at rest
    turn, own = rotations.exponential([0.3, -0.8, 0.5]), rotations.exponential([-0.6, 0.2, 0.9])
    place, there = np.array([0.5, -0.2, 0.1]), np.array([1.0, 2.0, 3.0])
    static["bodies/a/reference_position"], static["bodies/a/reference_quaternion"] = there, turn
    static["bodies/a.tip/reference_position"] = there + rotations.rotate(turn, place)
    static["bodies/a.tip/reference_quaternion"] = rotations.multiply(turn, own)
    (row,) = carriers(attributes, block, static)
    np.testing.assert_allclose(row["rest"], [*place, *own], atol=1e-14)
    # files without attachments: beams alone, by the body of their deflection
    block, static, attributes = satellite()
    attributes["beams/left"] = {"deflection_body": "hub"}
    assert carriers(attributes, block, static) == [{"part": 2, "on": 0, "at": None, "by": None}]


def test_effective_masses_stand_beside_the_modes_they_belong_to(tmp_path):
    block, static, attributes = satellite(times=3)
    words = {"frequencies": [1.0, 1.0], "damping": [0.0, 0.0], "labels": ["beams.left", "beams.right"]}
    words |= {
        "motions": ["bending along z", ""],
        "energy": [[0.9, 0.1], [0.2, 0.8]],
        "state": ["unloaded"],
        "held": ["hub"],
        "free_motions": [0, 0],
    }
    static |= {f"modes/{word}": np.array(value) for word, value in words.items()}
    for name in ("left", "right"):
        path = f"modes/{name}/"
        static[path + "frequencies"] = np.array([1.0, 7.0])
        static[path + "coupling"] = np.array([[0, 0, 2.0, 0, 1.0, 0], [0, 0, 1.0, 0, 0, 0]])
        static[path + "rigid_mass"] = np.diag([6.0, 6.0, 6.0, 1e-20, 2.0, 2.0])
    attributes[""] |= {"method": "modes"}
    data = page_of(Results(block, static, attributes), tmp_path).data
    rows = [(row["moves"], row["motion"], row["share"]) for row in data["modes"]]
    assert rows == [("left", "bending along z", 0.9), ("right", "", 0.8)]
    left, right = data["participation"]
    assert (left["modes"], right["modes"]) == ([1, None], [2, None])
    assert left["effective"][0] == [0, 0, 4.0, 0, 1.0, 0]
    assert left["rigid"] == [6.0, 6.0, 6.0, 0.0, 2.0, 2.0]
    assert dict(data["head"]["facts"])["state"] == "undamped modes of the unloaded structure, hub held"


def test_buckling_modes_swing_about_their_state(tmp_path):
    block, static, attributes = satellite(times=4)
    moved = np.zeros((1, 3, 3))
    moved[0, :, 1] = [0.0, 0.5, 1.0]
    static |= {
        "static/load_factor": np.array([0.0, 1.0, 2.0, 3.0]),
        "static/critical_load_factor": np.array([2.1]),
        "static/mode_names": np.array(["right moves along y"]),
        "static/modes/beams/right/translation": moved,
        "static/modes/beams/right/rotation": np.zeros((1, 3, 3)),
    }
    attributes[""] |= {"method": "static"}
    page = page_of(Results(block, static, attributes), tmp_path)
    buckling = page.data["buckling"]
    assert buckling["states"] == [2]
    right = buckling["scene"]["beams"][0]
    local = page.array(right["rest"]) + page.array(right["deflection"])
    tips = [rotations.rotate(page.array(right["quaternion"])[k], local[k, -1]) for k in (0, 1)]
    change = tips[1] - tips[0] + page.array(right["position"])[1] - page.array(right["position"])[0]
    change += np.subtract(buckling["scene"]["path"][3:], buckling["scene"]["path"][:3])
    places = [block[f"{item}/position"][2].reshape(-1, 3) for item in ("bodies/hub", "beams/left", "beams/right")]
    size = np.max(np.ptp(np.concatenate(places), axis=0))
    np.testing.assert_allclose(change, [0.0, 0.1 * size, 0.0], atol=5e-4)


def test_linear_models_have_responses_poles_and_gains(tmp_path):
    """x' = -2 x + u, y = 3 x."""
    space = femb.StateSpace(
        np.array([[-2.0]]), np.array([[1.0]]), np.array([[3.0]]), np.zeros((1, 1)), ("x",), ("force",), ("place",),
        units={"force": "N", "place": "m"}, title="a rod",
    )  # fmt: skip
    page = page_of(Results.read(space.write(tmp_path / "linear.h5")), tmp_path)
    found = page.data["frequency"]
    f = page.array(found["frequencies"])
    transfer = 3.0 / (2j * np.pi * f + 2.0)
    np.testing.assert_allclose(page.array(found["gain"])[:, 0], 20.0 * np.log10(np.abs(transfer)), atol=1e-4)
    np.testing.assert_allclose(page.array(found["phase"])[:, 0], np.degrees(np.angle(transfer)), atol=0.01)
    assert (page.title, found["units"]) == ("a rod", [["m/N"]])
    assert found["gains"] == [[pytest.approx(1.5)]]
    assert found["hankel"] == [pytest.approx(0.75)]
    assert found["poles"] == [{"real": -2.0, "imaginary": 0.0, "frequency": pytest.approx(1 / np.pi), "damping": 1.0}]


def test_a_sampled_model_with_a_delay_responds_as_its_samples(tmp_path):
    """x+ = x/2 + d, d+ = u, y = 3 x: the transfer is 3/(z (z - 1/2)), and the delay's pole is z = 0."""
    space = femb.StateSpace(
        np.array([[0.5, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), np.array([[3.0, 0.0]]), np.zeros((1, 1)),
        ("x", "d"), ("u",), ("y",), dt=0.1,
    )  # fmt: skip
    page = page_of(Results.read(space.write(tmp_path / "linear.h5")), tmp_path)
    found = page.data["frequency"]
    f = page.array(found["frequencies"])
    z = np.exp(2j * np.pi * 0.1 * f)
    np.testing.assert_allclose(page.array(found["gain"])[:, 0], 20.0 * np.log10(np.abs(3.0 / z / (z - 0.5))), atol=1e-4)
    assert f[-1] == pytest.approx(5.0)  # half the rate
    assert found["gains"] == [[pytest.approx(6.0)]]
    assert [pole["real"] for pole in found["poles"]] == [pytest.approx(np.log(0.5) / 0.1)]
    # Gramians diag(4/3, 1) and ((12, 6), (6, 12))
    np.testing.assert_allclose(np.square(found["hankel"]), [14.0 + np.sqrt(52.0), 14.0 - np.sqrt(52.0)], rtol=1e-6)


@pytest.mark.slow
def test_a_linear_model_opens_with_what_responds_and_draws_no_rounding(tmp_path):
    """Three masses: the second output answers the second input most, the first pair is rounding."""
    B = np.array([[1e-14, 1.0], [0.5, 3.0], [0.0, 2.0]])
    space = femb.StateSpace(
        -np.eye(3), B, np.eye(3), np.zeros((3, 2)), ("x", "y", "z"), ("a", "b"), ("u", "v", "w"),
        units={"a": "N", "b": "N", "u": "m", "v": "m", "w": "rad"},
    )  # fmt: skip
    page = page_of(Results.read(space.write(tmp_path / "linear.h5")), tmp_path)
    found = page.data["frequency"]
    assert found["zero"] == [[True, False], [False, False], [True, False]]
    assert found["strongest"] == [1, 1]
    assert np.isnan(page.array(found["gain"])[:, 0]).all()


@pytest.mark.parametrize("dt", [None, 0.01])
def test_a_control_loop_has_margins_and_a_step_response(dt, tmp_path):
    """A first-order loop with the time constant of 2 s: y = 3 (1 - exp(-t/2)) after a unit step, at samples too."""
    decay = -0.5 if dt is None else np.exp(-0.5 * dt)
    gain = 1.5 if dt is None else 3.0 * (1.0 - decay)
    space = femb.StateSpace(
        np.array([[decay]]), np.array([[gain]]), np.eye(1), np.zeros((1, 1)), ("x",), ("u",), ("y",), dt=dt
    )
    margins = {
        "crossovers": [1.0], "phase_margins": [60.0], "delay_margins": [1.05], "phase_crossovers": [3.0],
        "gain_margins": [4.0], "sensitivity": [2.0, 1.4],
    }  # fmt: skip
    arrays = space.arrays() | {"channels": ("law.u",), "poles_real": np.array([-0.5]), "poles_imaginary": np.zeros(1)}
    arrays |= {f"margins_1_{word}": np.array(values) for word, values in margins.items()}
    results = Results.read(write_arrays(tmp_path / "loop.h5", arrays, (".h5",), group="linear"))
    page = page_of(results, tmp_path)
    assert dict(page.data["head"]["facts"])["analysis"] == "control loop"
    found = page.data["frequency"]
    times, values = map(page.array, found["step"])
    np.testing.assert_allclose(values[:, 0], 3.0 * (1.0 - np.exp(-0.5 * times)), atol=2e-3)
    assert 12.0 <= times[-1] * (1.0 + 1e-9) < 15.1  # six time constants, in whole samples
    assert [(row["kind"], row["value"]) for row in found["margins"]] == [
        ("phase margin (deg)", 60.0), ("delay margin (s)", 1.05), ("gain margin (factor)", 4.0),
        ("peak of the sensitivity", 1.4),
    ]  # fmt: skip
    assert found["margins"][2]["frequency"] == pytest.approx(3.0 / (2.0 * np.pi))


def test_maps_of_margins_stand_beside_the_nominal_loop(tmp_path):
    """Over an angle, over two numbers, and over all three; the study has its own map, and one along a line none."""
    space = femb.StateSpace(-np.eye(1), np.eye(1), np.eye(1), np.zeros((1, 1)), ("x",), ("u",), ("y",))
    arrays = space.arrays() | {"channels": (), "poles_real": -np.ones(1), "poles_imaginary": np.zeros(1)}
    loop = write_arrays(tmp_path / "loop.h5", arrays, (".h5",), group="linear")
    angle, stiffness, mass = (
        x.ravel() for x in np.meshgrid([0.0, 0.8, 1.6], [1.0, 2.0, 3.0], [5.0, 6.0], indexing="ij")
    )
    values, studies = {"angle": angle, "stiffness": stiffness, "mass": mass}, {}
    for name, words, runs in (
        ("angles", ["angle"], np.array([0, 6, 12])),
        ("pairs", ["stiffness", "mass"], np.arange(6)),
        ("all", list(values), np.arange(18)),
        ("line", ["stiffness", "mass"], np.array([0, 3])),
    ):
        margins = {"margin": (stiffness / mass * np.cos(angle))[runs]}
        variables = {word: values[word][runs].tolist() for word in words}
        sweep = femb.Sweep(variables, margins, np.zeros(len(runs), bool), [""] * len(runs), units={"margin": "s"})
        studies[name] = sweep.write(tmp_path / name / "sweep.h5").parent
    said("report", loop, studies["angles"], studies["pairs"], studies["all"])
    page = ReportPage(tmp_path / "loop_report.html")
    jsonschema.validate(page.data, SCHEMA)
    assert page.data["others"] == []
    assert [figure["name"] for figure in page.data["figures"]] == [
        str(studies[name]) for name in ("angles", "pairs", "all")
    ]
    words = (
        ("angle", "margin (s)"),
        ("stiffness", "mass", "margin (s)"),
        ("mass = 6", "angle", "stiffness", "margin (s)"),
    )
    for figure, labels in zip(page.data["figures"], words, strict=True):
        for label in labels:
            assert f"<!-- {label} -->" in figure["picture"]
    (own,) = page_of(Results.read(studies["pairs"]), tmp_path).data["figures"]
    assert own["name"] == ""
    for name in ("angles", "line"):
        assert page_of(Results.read(studies[name]), tmp_path).data["figures"] == []


def test_base_shakes_have_densities_and_a_table(tmp_path):
    f, words = np.linspace(1.0, 5.0, 9), ("shake/outputs", "shake/inputs", "shake/output_units")
    real = np.stack([1.0 / f, 1e-18 * f], axis=1)
    arrays = {
        "frequencies": f, "real": real, "imaginary": 0.0 * real, "density": f, "output_density": real**2 * f[:, None],
    }  # fmt: skip
    arrays |= {
        "peak": real.max(axis=0), "peak_frequency": f[[0, -1]], "rms": np.array([2.0, 1e-18]), "miles": np.ones(2),
    }  # fmt: skip
    static = {f"shake/{word}": array for word, array in arrays.items()}
    names = ["bodies.a.acceleration.x", "bodies.a.acceleration.y"], ["ground"], ["m/s2", "m/s2"]
    static |= dict(zip(words, map(np.array, names), strict=True))
    page = page_of(Results({}, static, {"": {"status": "complete"}}), tmp_path)
    first, second = page.data["frequency"]["shaken"]
    assert (first["unit"], first["peak"], first["rms"]) == ("m/s2", 1.0, 2.0)
    assert (second["peak"], second["rms"], second["miles"]) == (0.0, 0.0, None)
    np.testing.assert_allclose(10 ** (page.array(page.data["frequency"]["density"])[:, 0] / 10), 1.0 / f, rtol=1e-5)


@pytest.mark.slow
def test_other_runs_stand_beside_the_histories(tmp_path):
    block, static, attributes = satellite()
    file, other = tmp_path / "a" / "results.h5", tmp_path / "b" / "results.h5"
    root = {"": attributes[""] | {"status": "complete"}}
    Results(block, static, attributes | root).write(file)
    late = {path: array[5:] for path, array in block.items() if path == "time" or path.startswith("bodies/")}
    Results(late, {}, root).write(other)
    said("report", file.parent, other.parent)
    page = ReportPage(tmp_path / "a" / "report.html")
    jsonschema.validate(page.data, SCHEMA)
    (beside,) = page.data["others"]
    assert beside["name"] == str(other.parent)
    assert {entry["path"].split("/")[0] for entry in beside["histories"]["entries"]} == {"bodies"}
    np.testing.assert_allclose(page.array(beside["histories"]["times"]), block["time"][5:])
    with pytest.raises(ResultError, match="no history of the same name"):
        femb.report(Results(late, {}, root), tmp_path / "x.html", beside={"c": Results({"time": block["time"]})})


def test_the_folder_of_one_file_of_results_stands_for_it(tmp_path):
    sweep = femb.Sweep({"k": [1.0, 2.0]}, {"peak": np.array([1.0, 2.0])}, np.zeros(2, bool), ["", ""])
    sweep.write(tmp_path / "sweep.h5")
    assert said("report", tmp_path).strip() == str(tmp_path / "sweep_report.html")
    sweep.write(tmp_path / "static.h5")
    assert f"name one of {tmp_path / 'static.h5'}, {tmp_path / 'sweep.h5'}" in said("report", tmp_path, code=2)


def test_envelopes_are_of_a_run_or_of_its_file_of_loads(tmp_path):
    block, static, attributes = satellite()
    for name in ("right", "left"):
        force = block[f"beams/{name}/section_force"]
        block[f"beams/{name}/midpoint_force"] = force.mean(axis=2)
        block[f"beams/{name}/midpoint_moment"] = 0.0 * force[:, :, 0]
    results = Results(block, static, attributes)
    page = page_of(results, tmp_path)
    right = next(each for each in page.data["envelopes"] if each["beam"] == "right")
    (axial,) = right["loads"]  # the others are zero
    assert (axial["load"], axial["unit"]) == ("axial force", "N")
    np.testing.assert_allclose(axial["maximum"], right["position"], atol=1e-4)  # the distance from the start
    again = page_of(Results.read(femb.peak_loads(results).write(tmp_path / "loads.h5")), tmp_path)
    first, second = (sorted(each.data["envelopes"], key=lambda envelope: envelope["beam"]) for each in (page, again))
    assert first == second
    assert again.data["peaks"] == page.data["peaks"]


def test_bodies_without_a_shape_are_rods_to_their_joints(tmp_path):
    block, static, attributes = satellite()
    ends = {"first": {"body": "hub", "at": [0.0, 1.5, 0.0]}, "second": {"beam": "left", "node": 0, "at": [0, 0, 0]}}
    words = {"bodies/hub": {}, "joints/hinge": {"attachments": json.dumps(ends)}}
    page = page_of(Results(block, static, attributes | words), tmp_path)
    (rod,) = page.data["scene"]["fittings"]
    assert (rod["drawn"], rod["part"], rod["node"]) == ("rod", 0, None)
    points, triangles = page.array(rod["points"]), page.array(rod["triangles"]).astype(int)
    np.testing.assert_allclose([points[:, 1].min(), points[:, 1].max()], [0.0, 1.5], atol=1e-4)
    assert len(triangles) == 12
    assert triangles.max() == len(points) - 1


def test_derivatives_have_tables_of_what_matters_most(tmp_path):
    found = femb.Sensitivities(
        ("f", "mass"), ("radius", "wall"), np.array([6.0, 1.2]), np.array([0.03, 0.001]),
        np.array([[200.0, -3000.0], [40.0, 1100.0]]), np.full((2, 2), 1e-9), np.array([1e-3, 1e-4]),
        np.ones(2, bool), ("", "by differences of the analysis"), {"f": "Hz", "radius": "m", "wall": "m"}, "A boom",
    )  # fmt: skip
    found.write(tmp_path / "sensitivity.h5")
    assert said("report", tmp_path).strip() == str(tmp_path / "sensitivity_report.html")
    page = ReportPage(tmp_path / "sensitivity_report.html")
    jsonschema.validate(page.data, SCHEMA)
    assert dict(page.data["head"]["facts"])["analysis"] == "derivatives"
    first, second = page.data["sensitivities"]
    assert (first["name"], first["value"], first["unit"], first["way"]) == ("f", 6.0, "Hz", "")
    assert second["way"] == "by differences of the analysis"
    assert [row["by"] for row in first["rows"]] == ["wall", "radius"]
    wall = {
        "by": "wall",
        "unit": "m",
        "value": 0.001,
        "derivative": -3000.0,
        "error": 1e-9,
        "change": pytest.approx(-0.3),
    }
    assert first["rows"][0] == wall
    femb.report(found, tmp_path / "page.html")
    assert ReportPage(tmp_path / "page.html").data["sensitivities"] == page.data["sensitivities"]
