"""Where commands are given something else than they want: what they say, and that nothing is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from femb import FembError, Results, load_case, simulate
from femb.cli import cli
from femb.results.storage.read import part_of

CASE = "[bodies.hub]\nmass = 2.0\ninertia = 1.0\nangular_velocity = [0, 0, 2]\n[run]\n"
BOOM = """
[sections.s]
shape = { circle = 0.01 }
material = "aluminium 6061-T6"
[beams.boom]
section = "s"
length = 2.0
elements = 2
start = { body = "hub", direction = [1, 0, 0] }
"""


def invoke(*arguments, code=0):
    done = CliRunner().invoke(cli, list(map(str, arguments)), prog_name="femb")
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stdout + done.stderr


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("case.toml").write_text(CASE + 'duration = 1.0\nmethod = "rk"\n')
    return tmp_path


@pytest.fixture
def killed(place):
    """The folder of a run that was killed after it had written output."""
    Path("case.toml").write_text(CASE + 'duration = 1e6\noutput_interval = 10.0\nmethod = "rk"\n')
    part = part_of(Path("out/case/results.h5"))
    process = subprocess.Popen([sys.executable, "-m", "femb", "run", "case.toml", "--quiet"])
    while not part.exists() or part.stat().st_size < 200_000:
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return part


def test_a_killed_run_is_not_overwritten(killed):
    before = killed.read_bytes()
    end = Results.read(killed).time[-1]
    Path("other").mkdir()
    Path("other/case.toml").write_text(CASE + "duration = 1.0\n")
    for case in ("case.toml", "other/case.toml"):
        text = invoke("run", case, "--out", "out/case", code=2)
        assert f"a run that ended at t = {end:.6g} s is here: --resume continues it, --force begins anew" in text
        assert killed.read_bytes() == before
    invoke("run", "other/case.toml", "--out", "out/case", "--force", "--quiet")
    assert Results.read("out/case").time[-1] == 1.0


@pytest.mark.slow
def test_analyses_without_time_need_no_duration(place):
    """Those of a beam that spins: [run] gives the start alone."""
    for start, stiffer in (("as_given", False), ("equilibrium", True)):
        spinning = CASE.replace("2]", "20]").replace("[run]", f'{BOOM}[run]\nstart = "{start}"')
        Path("case.toml").write_text(spinning)
        assert "1 body, 1 beam" in invoke("check", "case.toml")
        found = json.loads(invoke("modes", "case.toml", "--held", "hub", "--json", "--force"))
        assert (found["state"] == "spinning") == stiffer
    text = invoke("run", "case.toml", code=2)
    assert text == "case.toml:14: run.duration: is missing; to be run, a case needs [run] with a duration (s)\n"
    invoke("run", "case.toml", "--set", "run.duration=0.1", "--quiet")
    assert simulate("case.toml", duration=0.01, rtol=1e-3).status == "complete"
    assert load_case("case.toml").start == "equilibrium"
    Path("case.toml").write_text(CASE + "durations = 3.0\n")
    assert "durations: unknown key; did you mean 'duration'?" in invoke("check", "case.toml", code=2)


WRONG_FILES = [
    (("run", "study.toml"), "study.toml: this is a study, of many runs of a case: femb sweep study.toml"),
    (("check", "study.toml"), "study.toml: this is a study, of many runs of a case: femb sweep study.toml"),
    (("sweep", "case.toml"), "case.toml: this is a case, wanted a study of one: femb run case.toml runs it"),
    (("report", "case.toml"), "case.toml: is a case or a study, wanted results: femb run or femb sweep writes them to"),
    (("check", "out/case/results.h5"), "out/case/results.h5: has results; wanted a case file"),
    (("case.toml",), "a command comes first, as femb check FILE"),
    (("modse", "case.toml"), "there is no command 'modse'; did you mean 'modes'"),
    (("run", "case.toml", "--set", "rtol=1e-3"), "--set rtol: unknown key; did you mean run.rtol?"),
    (("run", "case.toml", "--set", "hub.mass=1"), "--set hub: unknown key; did you mean bodies.hub?"),
]


@pytest.mark.parametrize(("words", "message"), WRONG_FILES, ids=lambda each: " ".join(each[:2]))
def test_commands_say_what_was_given_to_them(words, message, place):
    Path("study.toml").write_text(
        'case = "case.toml"\n[variables.m]\nkey = "bodies.hub.mass"\nvalues = [1.0, 2.0]\n'
        '[outputs.z]\nof = "hub.position.z"\n'
    )
    if "out/case/results.h5" in words:
        invoke("run", "case.toml", "--quiet")
    assert message in invoke(*words, code=2)


@pytest.mark.parametrize(
    ("words", "kind", "problems"),
    [
        (("run", "none.toml"), "CaseError", [[]]),
        (("check", "case.toml", "--set", "bodies.hub.mass=-1"), "CaseError", [["bodies", "hub", "mass"]]),
        (("info", "nowhere"), "ResultError", None),
        (("run", "case.toml", "--fore"), "NoSuchOption", None),
        (("run",), "MissingParameter", None),
        (("modse", "case.toml"), "UsageError", None),
    ],
)
def test_errors_with_json_are_json(words, kind, problems, place):
    done = CliRunner().invoke(cli, [*words, "--json"], prog_name="femb")
    error = json.loads(done.stdout)["error"]
    assert (done.exit_code, error["exit_code"], error["kind"], done.stderr) == (2, 2, kind, "")
    assert error["message"]
    assert [each["item"] for each in error.get("problems", [])] == (problems or [])


def test_pictures_are_of_instants_of_the_run(place):
    invoke("run", "case.toml", "--quiet")
    assert "times: got 100 s, wanted instants of the run, 0 to 1 s" in invoke(
        "picture", "out/case", "--times", "0,100", code=2
    )
    invoke("picture", "out/case", "--times", "0,0.50004,1.0004", "--dpi", "20")


@pytest.mark.slow
def test_plots_of_the_loop_and_the_loop_have_files_of_their_own(place):
    from femb.cli.results import OF_COMMANDS

    assert {"loop", "picture", "pointing"} == set(OF_COMMANDS)
    invoke("cases", "copy", "detumbling")
    invoke("run", "detumbling.toml", "--set", "run.duration=20", "--set", "run.output_interval=1", "--quiet")
    assert "loop_over_time.png" in invoke("plot", "out/detumbling", "--what", "loop", "--dpi", "20")
    assert not Path("out/detumbling/loop.png").exists()


def test_python_names_of_items_are_kinds():
    from femb.case.build import kind_in, kinds

    for words in kinds().values():
        for kind in words.values():
            assert kind_in({"kind": kind.__name__}, words) == (kind, "")
    bodies = kinds()["bodies"]
    for word, meant in (("flexible", "modal"), ("flexible_body", "modal"), ("rigidbody", "rigid"), ("modl", "modal")):
        assert kind_in({"kind": word}, bodies)[1].endswith(f"did you mean {meant!r}?"), word


def test_patterns_have_functions(tmp_path):
    """Points on a circle, and the numbers of Python's own mathematics."""
    head = 'count = {}\neach = {}\n[patterns.ring.bodies."b_{{i}}"]\ninertia = 1.0\n'
    file = tmp_path / "ring.toml"

    def written(position, mass="1", each="{ r = [2.0] }"):
        file.write_text(
            f'[patterns.ring]\n{head.format(3, each)}mass = "{{{mass}}}"\nposition = ["{{{position}}}", 0, 0]\n'
        )
        return load_case(file).model.bodies

    for k, body in enumerate(written("r*cos(2*pi*(i-1)/count)", "max(1, abs(min(-2, 3)))").values()):
        assert body.position[0] == pytest.approx((2.0, -1.0, -1.0)[k], abs=1e-15)
        assert body.mass == 2.0
    assert written("sqrt(r)*tan(pi/4) + sin(0)")["b_1"].position[0] == pytest.approx(2.0**0.5, abs=1e-15)
    for wrong, message in (("sqrt(-1)", "no expression"), ("exec(1)", "no expression"), ("sin", "no expression"),
                           ("max()", "no expression")):  # fmt: skip
        with pytest.raises(FembError, match=message):
            written(wrong)
    for name in ("i", "count", "pi"):
        with pytest.raises(FembError, match=rf"each\.{name}: is a variable of every pattern already"):
            written("1", each=f"{{ {name} = [1.0] }}")
