"""Comparison of formulations: what is the same differs by nothing, what was changed by what it was changed by."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from models import refuses
from oracles import synthetic_results
from shared_runs import invoked

import femb
from femb import ResultError, Results
from femb.base.options import FORMULATIONS, METHODS_OF, Run
from femb.numerics import rotations
from femb.run.compare import admitted, differences

CASE = """
title = "A pendulum on a ball"
gravity = [0, 0, -9.81]
[bodies.bob]
mass = 2.0
inertia = [0.1, 0.2, 0.15]
center_of_mass = [0.5, 0.1, 0]
angular_velocity = [0.3, 1.0, 2.0]
[joints.ball]
kind = "spherical"
first = { body = "ground" }
second = { body = "bob" }
[run]
duration = 1.0
output_interval = 0.1
method = "rk"
rtol = 1e-10
atol = { position = 1e-11, quaternion = 1e-11 }
"""


def satellite(**changes):
    """Results in closed form; changes of arrays by path, with / written as __."""
    block, static, attributes = synthetic_results.satellite()
    for path, change in changes.items():
        path = path.replace("__", "/")
        block[path] = block[path] + change
    return Results(block, static, attributes)


def table():
    """The rows that a comparison wrote."""
    with Path("there/comparison.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("case.toml").write_text(CASE)
    return Path("case.toml")


# Differences


def test_a_result_does_not_differ_from_itself():
    found = differences(satellite(), satellite())
    assert [each.quantity for each in found] == [
        *("position", "orientation", "velocity", "angular velocity", "axial strain"),
        *("kinetic energy", "potential energy", "work", "reaction force", "reaction torque"),
        *("section force", "section moment"),
    ]
    # conj(p) p has a vector part of rounding
    assert all(each.largest <= (4e-16 if each.quantity == "orientation" else 0.0) for each in found)


def test_known_changes_are_found_where_they_are():
    """The length of a vector's difference, its instant and its item; others stay as they are."""
    shift = np.zeros((21, 3, 3))
    shift[7, 2] = (3e-3, 0.0, 4e-3)
    shift[9, 1] = (0.0, 1e-3, 0.0)
    work = np.zeros(21)
    work[20] = -0.25
    changed = satellite(beams__left__position=shift, audit__work=work)
    found = {each.quantity: each for each in differences(satellite(), changed)}
    position = found.pop("position")
    assert position.largest == pytest.approx(5e-3, rel=1e-12)
    assert (position.where, position.time, position.unit) == ("beams/left/position", satellite().time[7], "m")
    assert found["work"].largest == 0.25
    assert found["work"].time == 2.0
    del found["work"]
    assert max(each.largest for each in found.values()) <= 4e-16


@pytest.mark.parametrize("angle", [1e-9, 0.7, 3.0])
def test_orientation_is_an_angle(angle):
    """Of any size and about any axis, and the same for p and -p."""
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    block, static, attributes = synthetic_results.satellite()
    turned = block["bodies/hub/quaternion"].copy()
    turned[5] = -rotations.multiply(turned[5], rotations.from_axis_angle(axis, angle))
    other = Results({**block, "bodies/hub/quaternion": turned}, static, attributes)
    (found,) = [each for each in differences(satellite(), other) if each.quantity == "orientation"]
    assert found.largest == pytest.approx(angle, rel=1e-6 if angle < 1e-6 else 1e-12)
    assert (found.time, found.where) == (satellite().time[5], "bodies/hub/quaternion")


def test_what_is_not_known_shows():
    unknown = np.zeros((21, 3))
    unknown[3] = np.nan
    found = {each.quantity: each for each in differences(satellite(), satellite(joints__hinge__force=unknown))}
    assert np.isnan(found["reaction force"].largest)
    assert found["reaction force"].scale == pytest.approx(np.sqrt(14.0))


def test_results_that_cannot_be_compared():
    block, static, attributes = synthetic_results.satellite(times=21)
    other = Results(*synthetic_results.satellite(times=20))
    with pytest.raises(ResultError, match=r"B: 20 output times up to 2 s, but A has 21 .* nothing is interpolated"):
        differences(satellite(), other, ("A", "B"))
    later = Results({**block, "time": block["time"] * 1.001}, static, attributes)
    with pytest.raises(ResultError, match=r"B: output time 1 is 0\.1001 s, but 0\.1 s in A"):
        differences(satellite(), later, ("A", "B"))
    with pytest.raises(ResultError, match=r"B: beams/right/position has the shape .*must have the same elements"):
        differences(satellite(), Results(*synthetic_results.satellite(elements=3)), ("A", "B"))
    for renamed in ("bodies/hub", "joints/hinge"):
        paths = {path.replace(renamed, renamed + "2"): array for path, array in block.items()}
        group, name = renamed.split("/")
        with pytest.raises(ResultError, match=f"B: has no '{name}' among its {group}; there are: '{name}2'"):
            differences(satellite(), Results(paths, static, {"": attributes[""]}), ("A", "B"))


# Comparisons


def test_formulations_of_a_case_agree(case, tmp_path):
    """In one command: a table, its files, and the results of every run."""
    code, stdout, _ = invoked("compare", case, "--out", "there")
    assert code == 0
    assert "quaternion less velocity" in stdout
    rows = table()
    record = json.loads(Path("there/comparison.json").read_text())
    assert [each["formulation"] for each in record["runs"]] == list(FORMULATIONS)
    ran = [each["formulation"] for each in record["runs"] if each["ran"]]
    assert len(ran) >= 2
    assert all(each["reason"] for each in record["runs"] if not each["ran"])
    assert {row["formulation"] for row in rows} == set(ran[1:])
    quantities = [row["quantity"] for row in rows if row["formulation"] == "quaternion"]
    assert quantities == [
        *("position", "orientation", "velocity", "angular velocity"),
        *("kinetic energy", "potential energy", "work", "reaction force", "reaction torque"),
        *("root force", "root torque"),
    ]
    for row in rows:
        assert float(row["largest"]) < 1e-8 * max(1.0, float(row["scale"]))
    # the table says what the files hold
    runs = [Results.read(tmp_path / "there" / each / "results.h5") for each in ran[:2]]
    apart = np.linalg.norm(runs[1].bodies["bob"].position - runs[0].bodies["bob"].position, axis=1)
    assert float(rows[0]["largest"]) == apart.max()
    assert float(rows[0]["time"]) == runs[0].time[apart.argmax()]


@pytest.mark.slow
def test_against_a_file(case):
    """The run itself differs by nothing; a changed copy by its change; a shorter run is refused."""
    assert invoked("run", case, "--out", "mine", "--quiet")[0] == 0
    assert invoked("compare", case, "--against", "mine", "--out", "there", "--quiet") == (0, "", "")
    rows = table()
    velocity = [row for row in rows if row["formulation"] == "velocity"]
    assert len(velocity) == 11
    assert all(float(row["largest"]) <= 4e-16 for row in velocity)
    assert {row["reference"] for row in rows} == {str(Path("mine/results.h5"))}

    results = Results.read("mine/results.h5")
    moved = {"bodies/bob/position": results.bodies["bob"].position + np.array([0.0, 0.03, 0.04])}
    Results({**results.series, **moved}, results.static, results.attributes).write("moved.h5")
    assert invoked("compare", case, "--against", "moved.h5", "--out", "there")[0] == 2, "finished results are there"
    assert invoked("compare", case, "--against", "moved.h5", "--out", "there", "--force")[0] == 0
    rows = table()
    found = {row["quantity"]: row for row in rows if row["formulation"] == "velocity"}
    assert float(found["position"]["largest"]) == pytest.approx(0.05, rel=1e-9)
    assert float(found["velocity"]["largest"]) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("missing.h5", "missing.h5: there is no such result file"),
        ("text.h5", "text.h5: cannot be read as a result file"),
        ("cut.h5", "cut.h5: cannot be read as a result file"),
        ("short.h5", "short.h5: 6 output times up to 0.5 s, but the case has 11 output times up to 1 s"),
        ("coarse.h5", "coarse.h5: output time 1 is 0.05 s, but 0.1 s in the case"),
        ("other.h5", "velocity: has no 'rod' among its bodies; there are: 'ground', 'bob'"),
    ],
)
def test_wrong_file(case, file, message):
    """Refused with what is wrong; the files and the times before anything is run."""
    run = {"short.h5": "run.duration=0.5", "coarse.h5": "run.duration=0.5 run.output_interval=0.05", "cut.h5": ""}
    if file in run or file == "other.h5":
        sets = [word for each in run.get(file, "").split() for word in ("--set", each)]
        path = Path("case.toml") if file != "other.h5" else Path("other.toml")
        path.write_text(CASE if file != "other.h5" else CASE.replace("bob", "rod"))
        assert invoked("run", path, "--out", "made", "--quiet", *sets)[0] == 0
        data = Path("made/results.h5").read_bytes()
        Path(file).write_bytes(data[: len(data) // 2] if file == "cut.h5" else data)
    if file == "text.h5":
        Path(file).write_text("no results")
    code, stdout, stderr = invoked("compare", "case.toml", "--against", file, "--out", "there", "--quiet")
    assert (code, stdout) == (2, "")
    assert message in stderr
    assert Path("there").exists() == (file == "other.h5")


def test_bad_cases_are_reported_as_by_run(case):
    Path("bad.toml").write_text(CASE.replace("mass = 2.0", "mass = -2.0"))
    assert invoked("compare", "bad.toml") == (2, "", "bad.toml:5: bodies.bob.mass: got -2.0, must be greater than 0\n")
    Path("open.toml").write_text(CASE.replace('second = { body = "bob" }', 'second = { body = "bob", at = [1, 0, 0] }'))
    Path("open.toml").write_text(
        Path("open.toml").read_text().replace("mass = 2.0", "mass = 2.0\nposition = [5, 0, 0]")
    )
    code, _, stderr = invoked("compare", "open.toml")
    assert code == 2
    assert stderr.startswith("open.toml:")
    assert "joints.ball" in stderr
    Path("still.toml").write_text(CASE.partition("[run]")[0])
    assert "run: is missing" in invoked("compare", "still.toml")[2]


def test_a_method_that_a_formulation_admits():
    run = Run(duration=1.0, method="rk")
    assert admitted(run, "quaternion") == Run(duration=1.0, method="rk", formulation="quaternion")
    assert admitted(Run(duration=1.0, method="radau"), "hamiltonian").method == METHODS_OF["hamiltonian"][0]
    refuses("must be one of", admitted, run, "imaginary")


def test_a_run_that_stops_is_told(case):
    """Exit code 1, with the cause; what ran is still compared."""
    code, stdout, _ = invoked("compare", case, "--set", "run.max_steps=2")
    assert code == 1
    assert re.search(r"^velocity +stopped: ", stdout, re.MULTILINE)
    assert "after max_steps" in stdout


DRIVEN = """
[bodies.{name}]
mass = 1.0
inertia = [1.0, 1.0, 1.0]
[joints.{name}]
kind = "{kind}"
first = {{ body = "ground", axis = [0, 0, 1] }}
second = {{ body = "{name}" }}
[drivers.{name}]
joint = "{name}"
motion = {{ shape = "polynomial", coefficients = [0, 0, {half}] }}
"""


def test_forces_and_torques_of_drivers_are_compared_apart(tmp_path):
    """Of unit mass and inertia they are the accelerations: 1 and 1.5 N, 0.5 and 0.75 N m."""
    runs = []
    for factor in (1.0, 1.5):
        parts = (("slide", "prismatic", 0.5 * factor), ("turn", "revolute", 0.25 * factor))
        text = "".join(DRIVEN.format(name=name, kind=kind, half=half) for name, kind, half in parts)
        (tmp_path / "case.toml").write_text(text)
        runs.append(femb.simulate(tmp_path / "case.toml", duration=0.1, output_interval=0.1))
    found = {each.unit: each for each in differences(*runs) if each.quantity == "driver force"}
    assert {unit: (each.where, round(each.largest, 9), round(each.scale, 9)) for unit, each in found.items()} == {
        "N": ("drivers/slide/force", 0.5, 1.0),
        "N m": ("drivers/turn/force", 0.25, 0.5),
    }
