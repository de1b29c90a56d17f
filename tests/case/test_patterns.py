"""Patterns and included files: the items that they make, and where their mistakes are."""

import os
import threading

import numpy as np
import pytest

import femb
from femb.base import array_files
from femb.base.profile import columns_of
from femb.case import CaseError, load_case
from femb.case.compose import filled_text, locate_files
from femb.linear.base_shake import Density
from femb.study.study import read_study

WINGS = """
[bodies.hub]
mass = 200.0
inertia = 40.0

[patterns.wings]
count = 4
each = { side = ["left", "right"], y = [1, -1] }
[patterns.wings.bodies."{side} panel {i}"]
mass = "{3.0 - 0.1*i}"
inertia = [1.0, 0.5, 1.4]
center_of_mass = [0, "{0.5*y}", 0]
[patterns.wings.joints."{side} hinge {i}"]
first = { body = "{side} panel {i-1}", at = [0, "{y}", 0], axis = [1, 0, 0] }
second = { body = "{side} panel {i}" }
[patterns.wings.first.joints."{side} hinge {i}".first]
body = "hub"
at = [0, "{0.5*y}", 0]
[patterns.wings.last.bodies."{side} panel {i}"]
mass = 1.0
[run]
duration = 1.0
"""


def written(folder, text, name="case.toml"):
    (folder / name).write_text(text)
    return folder / name


def test_wings_of_panels(tmp_path):
    model = load_case(written(tmp_path, WINGS)).model
    assert len(model.bodies) == 9
    assert model.bodies["left panel 2"].mass == pytest.approx(2.8, rel=1e-15)
    assert model.bodies["right panel 4"].mass == 1.0
    hinge = model.tables["joints"]["right hinge 1"]
    assert hinge.first.body == "hub"
    np.testing.assert_array_equal(hinge.first.at, [0, -0.5, 0])
    assert model.tables["joints"]["left hinge 3"].first.body == "left panel 2"


def test_set_reaches_repeated_items(tmp_path):
    model = load_case(written(tmp_path, WINGS), ['bodies."left panel 1".mass=7']).model
    assert model.bodies["left panel 1"].mass == 7.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("inertia = [1.0", "inertias = [1.0", 'case.toml:11: bodies."left panel 1".inertias: unknown key'),
        ("inertia = [1.0", "inertia = [-1.0", 'case.toml:11: bodies."left panel 1".inertia: principal moments'),
        ("{0.5*y}", "{0.5*z}", 'case.toml:12: patterns.wings.bodies."{side} panel {i}".center_of_mass: got '),
        ("{0.5*y}", "{y.real}", "is no expression"),
        ("{0.5*y}", "{y/0}", "is no expression"),
        ("{0.5*y}", "{side*2}", "is no expression"),
        ("{0.5*y}", "{9**9**9}", "is no expression"),
        ("{0.5*y}", "{(-2)**0.5}", "is no expression"),
        ("{0.5*y}", "{0**-1}", "is no expression"),
        ("count = 4", "count = 0", "case.toml:7: patterns.wings.count: got 0, must be a whole number of at least 1"),
        ("y = [1, -1]", "y = [1]", "case.toml:8: patterns.wings.each: the lists must have as many entries"),
        ("[bodies.hub]", '[bodies."left panel 1"]', 'bodies."left panel 1": is given here and in'),
        ('"{side} panel {i-1}"', '"{side} panels {i-1}"', "got 'left panels 1'"),
    ],
)
def test_mistakes_are_located(tmp_path, old, new, message):
    with pytest.raises(CaseError) as refused:
        load_case(written(tmp_path, WINGS.replace(old, new)))
    assert message in str(refused.value)


def test_expressions():
    assert filled_text("{2*i + 1}", {"i": 3}) == 7
    assert filled_text("a {i}-{-i//2} {x}", {"i": 3, "x": 0.1}) == "a 3--2 0.1"
    assert filled_text("{0.9**(i - 1)} {2**-1} {-2**2} {(-1)**i}", {"i": 3}) == "0.81 0.5 -4 -1"
    assert filled_text("{ side }", {"side": "left"}) == "left"


BUS = """
title = "bus"
[bodies.hub]
mass = 200.0
inertia = 40.0
[loads.slew]
body = "hub"
torque = [0, 0, 1]
profile = { shape = "table", file = "torque.csv" }
[run]
duration = 5.0
rtol = 1e-7
"""


def test_included_files(tmp_path):
    (tmp_path / "parts").mkdir()
    written(tmp_path / "parts", BUS, "bus.toml")
    (tmp_path / "parts" / "torque.csv").write_text("0 0\n1 2\n")
    text = "include = 'parts/bus.toml'\n[bodies.mass]\nmass = 1.0\ninertia = 1.0\n[run]\nduration = 1.0\n"
    case = load_case(written(tmp_path, text))
    assert set(case.model.bodies) >= {"hub", "mass"}
    assert (case.title, case.run.duration, case.run.rtol) == ("bus", 1.0, 1e-7)
    assert case.model.loads["slew"].profile(0.5) == 1.0
    assert "# [bodies.hub]" in case.text
    assert load_case(written(tmp_path, case.text, "again.toml")).model.bodies.keys() == case.model.bodies.keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("include = 'none.toml'\n", "case.toml:1: include: "),
        ("include = 'case.toml'\n", "case.toml:1: include: 'case.toml' includes itself"),
        ('include = "x\\u0000"\n', r"case.toml:1: include: 'x\x00' is no path of a file"),
        (
            "include = '/dev/zero'\n",
            "case.toml:1: include: /dev/zero: cannot be read: has more than 50 MB, or no end; wanted a case file",
        ),
        ("include = '.'\n", "is a folder, wanted a case file"),
        ("include = [1]\n", "case.toml:1: include: got [1], wanted the path"),
        ("include = 'bus.toml'\n[bodies.hub]\nmass = 1.0\n", "case.toml:2: bodies.hub: is given here and in"),
        ("include = 'bus.toml'\n[bodies.hub]\nmass = 1.0\n", "bus.toml:3; rename one, or take --set"),
        ("include = 'bad.toml'\n", "bad.toml:2: bodies.hub.mas: unknown key; did you mean 'mass'?"),
    ],
)
def test_mistakes_of_included_files(tmp_path, text, message):
    written(tmp_path, BUS.split("[loads")[0], "bus.toml")
    written(tmp_path, "[bodies.hub]\nmas = 1.0\ninertia = 1.0\n", "bad.toml")
    with pytest.raises(CaseError) as refused:
        load_case(written(tmp_path, text))
    assert message in str(refused.value)


def test_a_device_is_no_case_and_no_table():
    with pytest.raises(CaseError, match="/dev/zero: cannot be read: has more than 50 MB, or no end; wanted"):
        load_case("/dev/zero")


FILES = {
    "case.toml": "wanted a case file", "study.toml": "wanted a study file", "table.csv": "wanted a table of numbers",
    "section.csv": "cannot be read: is a pipe", "psd.csv": "cannot be read as a power spectral density",
    "results.h5": "is a pipe, wanted a file", "body.npz": "it is a pipe or a device, wanted a file",
    "body.h5": "it is a pipe or a device, wanted a file", "mesh.inp": "it is a pipe or a device, wanted a file",
    "matrices.op4": "it is a pipe or a device, wanted a file",
}  # fmt: skip
READERS = {
    "case.toml": load_case, "study.toml": read_study, "table.csv": lambda path: columns_of(str(path), 2),
    "section.csv": femb.read_sections, "psd.csv": Density.read, "results.h5": femb.Results.read,
    "mesh.inp": lambda path: femb.fem.reduce_mesh(
        path, {"root": [1]}, youngs_modulus=7e10, poissons_ratio=0.3, density=2.0,
    ), "matrices.op4": lambda path: femb.fem.reduce_matrices(path, {"root": [1]}, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_to_which_nothing_writes_is_named(tmp_path, monkeypatch, name):
    """Where it was waited for without end."""
    monkeypatch.setattr(array_files, "WAIT", 0.05)
    os.mkfifo(tmp_path / name)
    read = READERS.get(name, femb.fem.read_reduced_body)
    with pytest.raises(femb.FembError, match=FILES[name]) as refused:
        read(tmp_path / name)
    assert name in str(refused.value)


def test_a_case_may_come_through_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "case.toml")
    writer = threading.Thread(target=lambda: (tmp_path / "case.toml").write_text(WINGS))
    writer.start()
    assert "hub" in load_case(tmp_path / "case.toml").model.bodies
    writer.join()


def test_files_of_items_are_beside_the_case_in_tables_of_any_name(tmp_path):
    entries = {"path": "a.csv", "file": str(tmp_path / "b.csv"), "laws": [{"python": "c.py:law"}], "mesh": 3}
    document = {"others": {"one": dict(entries, sections="d.csv")}}
    locate_files(document, tmp_path)
    located = {"laws": [{"python": str(tmp_path / "c.py:law")}], "sections": str(tmp_path / "d.csv")}
    assert document == {"others": {"one": entries | located}}
