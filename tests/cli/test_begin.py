"""``femb new | cases | info``, --json of every command, arguments of build(), completion of names."""

import json
import tomllib
from pathlib import Path

import click
import numpy as np
import pytest
from checkout import CASES, ROOT
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from long_runs import slow_but
from models import of_parts

from femb import Results, RigidBody, load_case, simulate
from femb.cli import COMMANDS, cli, library
from femb.cli.output import plain, stamp

CASE = '[bodies.hub]\nmass = 2.0\ninertia = 1.0\nangular_velocity = [0, 0, 2]\n[run]\nduration = 1.0\nmethod = "rk"\n'


def invoke(*arguments: object, code: int = 0) -> str:
    """Output of a command, or its messages where it is refused."""
    done = CliRunner().invoke(cli, list(map(str, arguments)), prog_name="femb")
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("case.toml").write_text(CASE)
    return tmp_path


@pytest.mark.parametrize("kind", slow_but(["satellite"], library.starters()))
def test_a_starter_is_a_case_without_warnings_that_runs(kind, place):
    out = CliRunner().invoke(cli, ["new", kind])
    assert out.exit_code == 0
    assert out.stdout.splitlines()[0] == f"{kind}.toml"
    checked = CliRunner().invoke(cli, ["check", f"{kind}.toml"])
    assert (checked.exit_code, checked.stderr) == (0, "")
    case = load_case(f"{kind}.toml", ["run.duration=2e-3", "run.output_interval=1e-3"])
    assert simulate(case.model, case.run).status == "complete"
    assert "exists already" in invoke("new", kind, code=2)


def test_kinds_are_listed_and_misspelt_ones_named(place):
    assert set(json.loads(invoke("new", "--json"))["kinds"]) == set(library.starters())
    assert "did you mean 'satellite'?" in invoke("new", "satelite", code=2)
    invoke("new", "rotor", "mine/first.toml")
    assert load_case("mine/first.toml").title == "Rotor with three blades"
    assert "ends in .toml" in invoke("new", "rotor", "first.py", code=2)


def test_every_case_has_a_title_and_a_purpose():
    found = json.loads(invoke("cases", "--json"))["cases"]
    assert set(found) == {path.stem for path in [*CASES.glob("*.toml"), *CASES.glob("*.py")]}
    assert all(words["title"] and words["purpose"] for words in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panel_wing", "satellite_two_arrays_slew"])
def test_a_copied_case_has_what_it_needs(name, place):
    paths = invoke("cases", "copy", name, "there").splitlines()
    assert len(paths) == 2
    assert load_case(paths[0]).title == load_case(library.cases()[name].file).title
    assert "exists already" in invoke("cases", "copy", name, "there", code=2)
    assert "did you mean" in invoke("cases", "copy", f"{name}s", code=2)
    assert "wanted a NAME" in invoke("cases", "copy", code=2)


def test_all_cases_and_starters_are_package_data():
    """What the commands copy is in an installed femb: the patterns of pyproject.toml name every file."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package, folder in (("femb.cases", CASES), ("femb.cli", library.STARTERS.parent)):
        patterns = [*setuptools["package-data"][package], "*.py"]
        named = {path for pattern in patterns for path in folder.glob(pattern)}
        there = {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
        assert there <= named
    assert library.folder() == CASES


def test_info_says_what_results_contain(place):
    invoke("run", "case.toml", "--quiet")
    told = json.loads(invoke("info", "out/case", "--json"))
    results = Results.read("out/case/results.h5")
    assert told["time"] == {"count": 1001, "first": 0.0, "last": 1.0}
    assert told["statistics"]["steps"] == results.statistics["steps"]
    assert told["audit"]["energy_error"] == np.max(np.abs(results.audit.energy_error))
    assert {verdict["subject"]: verdict["level"] for verdict in told["verdicts"]}["energy"] == "good"
    text = invoke("info", "out/case")
    assert "output times          1001, 0 to 1 s" in text
    assert "angular momentum      good" in text
    assert "angular_velocity" in text
    assert "there is no such result file" in invoke("info", "nowhere", code=2)


def test_every_command_but_the_schema_prints_json(place):
    for name in COMMANDS:
        command = cli.get_command(None, name)
        assert any("--json" in option.opts for option in command.params), name
    ran = json.loads(invoke("run", "case.toml", "--json"))
    assert ran["status"] == "complete"
    assert ran["results"] == "out/case/results.h5"
    checked = json.loads(invoke("check", "case.toml", "--json", "--picture", "start.png"))
    assert (checked["mass"], checked["counts"]["bodies"], checked["files"]) == (2.0, 1, ["start.png"])
    assert Path("start.png").stat().st_size > 1000
    assert "bodies" in json.loads(invoke("plot", "out/case", "--list", "--json"))
    linear = json.loads(invoke("linearize", "case.toml", "--at-rest", "--json"))
    assert len(linear["eigenvalues"]) == len(linear["states"]) == 12
    assert linear["files"][0] == "out/case/linear.npz"
    assert invoke("run", "case.toml", "--json", "--quiet", "--force") == ""


@pytest.mark.slow
def test_every_command_that_writes_asks_for_force(place):
    """A second time each refuses, names what is there, and changes nothing; --force replaces it."""
    keep = {"new", "cases", "info", "view", "warmup"}  # they replace nothing
    without = {
        name for name in COMMANDS if all("--force" not in option.opts for option in cli.get_command(None, name).params)
    }
    assert without == keep
    ends = 'first = { body = "ground", axis = [0, 0, 1] }\nsecond = { body = "hub" }\n'
    joint = f'[joints.axle]\nkind = "revolute"\n{ends}'
    Path("case.toml").write_text(CASE.replace("[run]", f"{joint}[run]"))
    invoke("run", "case.toml", "--quiet")
    written = {
        ("linearize", "case.toml", "--at-rest"): "out/case/linear.npz",
        ("loads", "out/case"): "out/case/loads.csv",
        ("export", "out/case", "--format", "csv"): "out/case/csv",
        ("plot", "out/case", "--what", "energy", "--dpi", "20"): "out/case/energy.png",
        ("picture", "out/case", "--dpi", "20"): "out/case/picture.png",
        ("animate", "out/case", "--dpi", "20", "--fps", "1"): "out/case/animation.gif",
        ("report", "out/case", "--frames", "2"): "out/case/report.html",
        ("check", "case.toml", "--picture", "start.png"): "start.png",
        ("schema", "--out", "schema.json"): "schema.json",
    }
    for words, name in written.items():
        invoke(*words)
        before = stamp(Path(name))
        text = invoke(*words, code=2)
        assert text.startswith(f"{name}: "), text
        assert "--force replaces" in text
        assert stamp(Path(name)) == before
        invoke(*words, "--force")
        assert stamp(Path(name)) != before, name


def test_every_command_is_on_its_page():
    page = (ROOT / "docs" / "howto" / "command_line.md").read_text()
    assert [name for name in COMMANDS if f"| `femb {name}`" not in page and f", `femb {name}`" not in page] == []


def test_values_become_json():
    values = {"a": np.array([1.0, np.nan]), "b": 1 + 2j, "c": np.int64(3), "d": Path("x"), "e": (None, True), 4: np.inf}
    assert plain(values) == {"a": [1.0, None], "b": [1.0, 2.0], "c": 3, "d": "x", "e": [None, True], "4": None}


def test_arguments_of_build_are_set(place):
    case = CASES / "chain_universal.py"
    assert len(load_case(case, ["build.segments=2", "run.duration=0.5"]).model.bodies) == 3  # with the ground
    assert "build() has no argument 'segment'; did you mean" in invoke(
        "check", case, "--set", "build.segment=2", code=2
    )
    refused = invoke("check", CASES / "array_deployment.py", "--set", "build.n=2", code=2)
    assert refused == "--set build.n=2: build() has no argument 'n'; it has none\n"
    assert "chain_universal.py:30: TypeError" in invoke("check", case, "--set", "build.segments=few", code=2)


@pytest.mark.parametrize(
    ("typed", "begun", "wanted"),
    [
        (["new"], "ro", ["rotor"]),
        (["cases", "copy"], "lees", ["lees_frame"]),
        (["check", "case.toml", "--set"], "bodies.hub.m", ["bodies.hub.mass"]),
        (["run", "case.toml", "--set"], "run.rt", ["run.rtol"]),
        (["run", "missing.toml", "--set"], "bodies.", []),
        (["plot", "out.h5", "--item"], "h", ["hub"]),
        (["plot", "missing.h5", "--item"], "h", []),
    ],
)
def test_names_are_completed(typed, begun, wanted, place):
    if "out.h5" in typed:
        model = of_parts(RigidBody("hub", mass=1.0, inertia=1.0))
        simulate(model, duration=1.0, method="rk", output_interval=1.0).write("out.h5")
    found = ShellComplete(cli, {}, "femb", "_FEMB_COMPLETE").get_completions(typed, begun)
    assert [item.value for item in found] == wanted
    assert isinstance(cli, click.Group)
