"""Items of other packages are full items: the wheel of the how-to, in a package of its own, through every exit."""

import csv
import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from checkout import ROOT
from models import refuses

import femb
from femb.elements import registry
from femb.elements.item import Item
from femb.results.groups import STORED, declarations, groups, with_declarations

FLYWHEEL = ROOT / "docs" / "howto" / "added" / "elements" / "flywheel.py"
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
    (folder / "my_flywheels.py").write_text(FLYWHEEL.read_text())
    info = folder / "my_flywheels-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-flywheels\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[femb.items]\nflywheels = my_flywheels\n")
    (folder / "case.toml").write_text(CASE)
    return folder


# Commands one after the other, in one process which has the package: their exit codes and what they say.
COMMANDS = """
import json, sys
from click.testing import CliRunner
from femb.cli import cli
ended = [CliRunner().invoke(cli, line, prog_name="femb") for line in json.loads(sys.argv[1])]
print(json.dumps([(each.exit_code, each.stdout, each.stderr) for each in ended]))
"""


def commands(folder, *lines):
    """Exit code, stdout and stderr of each command line."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    line = [sys.executable, "-c", COMMANDS, json.dumps([words.split(" ") for words in lines])]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


PLOTS = [f"plot out/case --what {what}" for what in ("flywheels/rw/speed", "rw.momentum", "power")]
LINEAR = "linearize case.toml --input flywheels.rw.torque"
LINES = (
    "run case.toml --quiet", "export out/case --format csv", *PLOTS, "info out/case --json", "report out/case",
    "schema", "check case.toml", "check case.toml --set flywheels.rw.inertia='3kg'",
    "check case.toml --set flywheels.rw.body=tower",
    f"{LINEAR} --output flywheels.rw.speed --output flywheels.rw.momentum",
    f"{LINEAR} --output flywheels.rw.power --force",
)  # fmt: skip


@pytest.fixture(scope="module")
def ended(package):
    """What each of LINES said; but for the last four, all succeed."""
    found = dict(zip(LINES, commands(package, *LINES), strict=True))
    for line in LINES[:-4]:
        assert found[line][0] == 0, found[line]
    return found


@pytest.fixture(scope="module")
def run(package, ended):
    return package


def test_results_have_its_table_also_without_the_package(run, tmp_path):
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
    for name, unit in QUANTITIES.items():
        quantity = wheel.quantities()[name]
        assert (quantity.unit, quantity.shape) == (unit, "(T,)")
        assert quantity.meaning
    assert wheel.word == "flywheel"
    (table,) = (path for path in femb.export_csv(results, tmp_path) if path.name == "flywheel_rw.csv")
    assert "power [W]" in table.read_text().splitlines()[0].split(",")
    assert "flywheels.rw.power" in results.to_pandas("flywheels.rw.power").columns
    assert results.to_xarray("rw.speed")


def test_declarations_in_a_file_are_those_of_the_items():
    """Of the whole catalogue, read as by a process that knows none of the items."""
    read = with_declarations({}, declarations(registry.kinds()))
    for table, group in groups().items():
        recorded = {name: each for name, each in group.quantities().items() if each.otherwise is None}
        if table not in ("appendages", "budget", "audit") and recorded:
            stored = read[table].quantities()
            assert set(stored) == set(recorded)
            for name, quantity in recorded.items():
                assert all(getattr(stored[name], word) == getattr(quantity, word) for word in STORED), name
            assert read[table].word == group.word


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"wheels": 1}', '{"wheels": {"quantities": {"a": 1, "arrays": {}, "b": {"unit": 3}}}}']
)
def test_damaged_declarations_are_passed_over(text):
    known = groups()
    assert with_declarations(known, text) == {}


def test_tables_and_figures(run, ended):
    (file,) = run.rglob("flywheel*_rw.csv")
    with file.open() as text:
        header = next(csv.reader(text))
    assert set(header) == {"time [s]", *(f"{name} [{unit}]" for name, unit in QUANTITIES.items())}
    assert all(".png" in ended[each][1] for each in PLOTS)
    assert sorted(QUANTITIES) == json.loads(ended["info out/case --json"][1])["quantities"]["flywheels"]
    assert ended["report out/case"][1]


def test_schema_check_and_messages(ended):
    assert "flywheels" in json.loads(ended["schema"][1])["properties"]
    wrong, missing = (ended[line] for line in LINES[-4:-2])
    assert wrong[0] == 2
    assert "flywheels.rw.inertia: got '3kg', wanted a number in kg m2" in wrong[2]
    assert "flywheels.rw.body: got 'tower', wanted a rigid body" in missing[1] + missing[2]


def test_linear_models(run, ended):
    right, refused = (ended[line] for line in LINES[-2:])
    assert right[0] == 0
    assert right[1]
    with np.load(run / "out" / "case" / "linear.npz") as space:
        assert list(space["outputs"]) == ["flywheels.rw.speed", "flywheels.rw.momentum"]
        assert list(space["inputs"]) == ["flywheels.rw.torque"]
    assert refused[0]
    assert "output 'flywheels.rw.power': the item declares no derivatives" in refused[1] + refused[2]


def test_what_is_refused():
    class NoDataclass(Item):
        table = "things"
        kind = "thing"

    refuses(r"register: got .*NoDataclass.*, wanted a dataclass", femb.register, NoDataclass)
    refuses("wanted a dataclass derived from", femb.register, dict)
    assert femb.register(femb.RigidBody) is femb.RigidBody
    assert registry.kinds().count(femb.RigidBody) == 1


def test_a_package_that_cannot_be_used_is_named(package, tmp_path):
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[femb.items]\nsprockets = no_such_module\n")
    (tmp_path / "case.toml").write_text("[bodies.hub]\nmass = 1.0\ninertia = 1.0\n[run]\nduration = 1.0\n")
    ((code, out, errors),) = commands(tmp_path, "check case.toml")
    assert code == 0
    assert "items 'sprockets' of the package 'broken' are left out: ModuleNotFoundError" in out + errors
