"""Items of other packages are full items: the wheel of the how-to, in a package of its own, through every exit."""

import csv
import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest
from checkout import ROOT

import femb
from femb.elements import registry
from femb.elements.item import Item

PAGE = ROOT / "docs" / "howto" / "add_an_element.md"
QUANTITIES = {"speed": "rad/s", "momentum": "N m s", "power": "W"}
CASE = """
[bodies.hub]
mass = 100.0
inertia = [10.0, 7.0, 12.0]

[flywheels.rw]
body = "hub"
inertia = 0.1
torque = 0.02
max_speed = "9 rpm"

[run]
duration = 10.0
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with an installed package, whose entry point names the module of the wheel, and a case."""
    folder = tmp_path_factory.mktemp("package")
    (text,) = re.findall(r"```python title=elements/flywheel.py\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (folder / "my_flywheels.py").write_text(text)
    info = folder / "my_flywheels-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-flywheels\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[femb.items]\nflywheels = my_flywheels\n")
    (folder / "case.toml").write_text(CASE)
    return folder


def command(folder, *words):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    line = [sys.executable, "-m", "femb", *words]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def said(folder, *words):
    done = command(folder, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(package):
    said(package, "run", "case.toml", "--quiet")
    return package


def test_results_have_its_table_also_without_the_package(run):
    results = femb.Results.read(run / "out" / "case" / "results.h5")
    wheel = results.flywheels["rw"]
    assert set(wheel.arrays) >= set(QUANTITIES)
    speed = results["flywheels.rw.speed"]
    np.testing.assert_array_equal(speed, results["rw.speed"])
    assert speed[0] == 0.0
    # the motor stops the wheel's run-up at 9 rpm
    assert speed.max() == pytest.approx(9.0 * 2.0 * np.pi / 60.0, rel=1e-3)
    with h5py.File(run / "out" / "case" / "results.h5") as file:
        assert file["flywheels/rw/momentum"].shape == speed.shape
    assert "flywheels.rw.power" in results.to_pandas("flywheels.rw.power").columns
    assert results.to_xarray("rw.speed")


def test_tables_and_figures(run):
    said(run, "export", "out/case", "--format", "csv")
    (file,) = run.rglob("flywheel*_rw.csv")
    with file.open() as text:
        header = next(csv.reader(text))
    assert set(header) == {"time [s]", *(f"{name} [{unit}]" for name, unit in QUANTITIES.items())}
    for what in ("flywheels/rw/speed", "rw.momentum", "power"):
        assert ".png" in said(run, "plot", "out/case", "--what", what)
    assert sorted(QUANTITIES) == json.loads(said(run, "info", "out/case", "--json"))["quantities"]["flywheels"]
    assert said(run, "report", "out/case")


def test_schema_check_and_messages(run):
    schema = json.loads(said(run, "schema"))
    assert "flywheels" in schema["properties"]
    assert said(run, "check", "case.toml")
    wrong = command(run, "check", "case.toml", "--set", 'flywheels.rw.inertia="3 kg"')
    assert wrong.returncode == 2
    assert "flywheels.rw.inertia: got '3 kg', wanted a number in kg m2" in wrong.stderr
    missing = command(run, "check", "case.toml", "--set", "flywheels.rw.body=tower")
    assert "flywheels.rw.body: got 'tower', wanted a rigid body" in missing.stderr + missing.stdout


def test_linear_models(run):
    words = ("--input", "flywheels.rw.torque", "--output", "flywheels.rw.speed", "--output", "flywheels.rw.momentum")
    assert said(run, "linearize", "case.toml", *words)
    with np.load(run / "out" / "case" / "linear.npz") as space:
        assert list(space["outputs"]) == ["flywheels.rw.speed", "flywheels.rw.momentum"]
        assert list(space["inputs"]) == ["flywheels.rw.torque"]
    refused = command(
        run, "linearize", "case.toml", "--input", "flywheels.rw.torque", "--output", "flywheels.rw.power", "--force"
    )
    assert refused.returncode
    assert "output 'flywheels.rw.power': the item declares no derivatives" in refused.stderr + refused.stdout


def test_what_is_refused():
    class NoDataclass(Item):
        table = "things"
        kind = "thing"

    with pytest.raises(femb.ModelError, match=r"register: got .*NoDataclass.*, wanted a dataclass"):
        femb.register(NoDataclass)
    with pytest.raises(femb.ModelError, match="wanted a dataclass derived from"):
        femb.register(dict)
    assert femb.register(femb.RigidBody) is femb.RigidBody
    assert registry.kinds().count(femb.RigidBody) == 1


def test_a_package_that_cannot_be_used_is_named(package, tmp_path):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[femb.items]\nsprockets = no_such_module\n")
    (tmp_path / "case.toml").write_text("[bodies.hub]\nmass = 1.0\ninertia = 1.0\n[run]\nduration = 1.0\n")
    done = command(tmp_path, "check", "case.toml")
    assert done.returncode == 0
    assert "items 'sprockets' of the package 'broken' are left out: ModuleNotFoundError" in done.stderr + done.stdout
