"""The command line: messages, exit codes, and that results are never harmed."""

import importlib
import os
import re
import subprocess
import sys
import time
import types
from pathlib import Path

import checkout
import numba
import numpy as np
import pytest
from models import refuses
from shared_runs import invoked, said

import femb
from femb.base.errors import ModelError, ResultError, SolveError
from femb.base.progress import Progress, announce
from femb.cli.output import audit, check_writable
from femb.results.results import Results
from femb.results.storage.file import ResultWriter

BAD_CASES = sorted(checkout.BAD_CASES.glob("*.toml"))

CASE = """
title = "One body"
[bodies.hub]
mass = 2.0
inertia = 1.0
[run]
duration = 4.0
"""


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("case.toml").write_text(CASE)
    return Path("case.toml")


@pytest.fixture
def simulation(monkeypatch):
    """A femb.run.simulate that writes a few times and then raises ``ending``, if that is set."""
    module = types.ModuleType("femb.run.simulate")
    module.ending = None
    module.calls = []

    def simulate(model, run=None, *, out=None, case_text="", progress=None):
        module.calls.append((model, run, case_text))
        if isinstance(module.ending, ModelError):
            raise module.ending
        progress.message("compiling")
        with ResultWriter(out, {}, {"": {"case": case_text}}) as writer:
            for t in (0.0, 1.0, 2.0):
                rows = {name: np.full(1, t) for name in ("time", "audit/kinetic_energy", "audit/energy_error")}
                writer.append({**rows, "audit/linear_momentum": np.full((1, 3), t)})
                progress.update(t)
            if module.ending is not None:
                raise module.ending
            progress.update(run.duration * (1 + 1e-15))
            writer.finish("complete", "", {"steps": 20, "rejected": 3, "wall_time": 0.25})
        return Results.read(out)

    module.simulate = simulate
    monkeypatch.setitem(sys.modules, "femb.run.simulate", module)
    return module


# Bad input


def test_there_are_many_bad_cases():
    assert len(BAD_CASES) >= 20


@pytest.mark.parametrize("path", BAD_CASES, ids=lambda path: path.stem)
def test_bad_case(path, tmp_path):
    """The messages are exactly those the file says in its first lines; results from before stay as they are."""
    head = path.read_bytes().decode(errors="replace").splitlines()
    expected = [line.removeprefix("# expect: ") for line in head if line.startswith("# expect: ")]
    assert expected
    before = tmp_path / "results.h5"
    before.write_bytes(b"results of a run long ago")

    code, stdout, stderr = invoked("run", path, "--out", tmp_path)

    assert stderr.splitlines() == [f"{path}:{line}" for line in expected]
    assert (code, stdout) == (2, "")
    assert before.read_bytes() == b"results of a run long ago"
    assert list(tmp_path.iterdir()) == [before]


def test_a_bad_case_in_a_process_of_its_own():
    path = next(path for path in BAD_CASES if path.stem == "six_errors")
    done = subprocess.run([sys.executable, "-m", "femb", "check", path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 6
    assert "Traceback" not in done.stderr


def test_overridden_entries_are_checked(case):
    code, _, stderr = invoked("run", case, "--set", "bodies.hub.mass=-1", "--set", "run.duration=0")
    assert code == 2
    assert stderr.splitlines() == [
        "--set bodies.hub.mass: got -1.0, must be greater than 0",
        "--set run.duration: got 0.0, must be greater than 0",
    ]


@pytest.mark.parametrize("arguments", [["run"], ["run", "a", "b"], ["run", "a", "--pace"], ["fly"]])
def test_bad_command(arguments):
    code, _, stderr = invoked(*arguments)
    assert code == 2
    assert "Error" in stderr


def test_output_below_a_file(case, simulation):
    code, _, stderr = invoked("run", case, "--out", case / "below" / "that")
    assert (code, stderr) == (2, "case.toml/below/that/results.h5: cannot be written: case.toml is not a folder\n")
    assert not simulation.calls
    assert case.read_text() == CASE


def test_output_where_there_is_a_folder(case, simulation):
    Path("results/results.h5").mkdir(parents=True)
    assert invoked("run", case, "--out", "results")[0] == 2
    assert not simulation.calls


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is permitted to root")
def test_output_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    refuses("no permission", check_writable, tmp_path / "new" / "results.h5", error=ResultError)


# Running


def test_run(case, simulation):
    code, stdout, stderr = invoked("run", case, "--set", "bodies.hub.mass=3")
    assert (code, stderr) == (0, "compiling\n")
    assert re.split(r"\s{2,}|\n", stdout.strip()) == [
        *("status", "complete"), *("steps", "20 (3 rejected)"), *("wall time", "0.25 s"),
        *("energy error", "2 J (largest energy 2 J): not to be trusted"), *("momentum change", "linear 3.5 N s"),
        *("results", "out/case/results.h5"),
    ]  # fmt: skip
    ((model, run, text),) = simulation.calls
    assert (model.bodies["hub"].mass, run.duration) == (3.0, 4.0)
    assert text == CASE + "\n# --set bodies.hub.mass=3\n"
    assert Results.read("out/case/results.h5").case == text


def test_quiet(case, simulation):
    assert invoked("run", case, "--quiet", "--out", "here") == (0, "", "")
    assert Path("here/results.h5").is_file()


@pytest.mark.parametrize(
    ("ending", "code", "message"),
    [
        (SolveError("no convergence at t = 2.1 s"), 1, "no convergence at t = 2.1 s"),
        (ResultError("results.h5: the disk is full"), 1, "results.h5: the disk is full"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted at t = 2 s"),
    ],
)
def test_run_that_ends_early(case, simulation, ending, code, message):
    simulation.ending = ending
    found, stdout, stderr = invoked("run", case)
    assert (found, stdout) == (code, "")
    assert stderr.splitlines() == ["compiling", message, "the results up to there are in out/case/results.h5"]
    results = Results.read("out/case/results.h5")
    assert results.status == "failed"
    assert results.time.tolist() == [0.0, 1.0, 2.0]


def test_a_problem_that_shows_when_the_system_is_built(case, simulation):
    Path("out/case").mkdir(parents=True)
    Path("out/case/results.h5").write_bytes(b"old")
    simulation.ending = ModelError.at(("bodies", "hub", "inertia"), "is in the way")
    assert invoked("run", case) == (2, "", "case.toml:5: bodies.hub.inertia: is in the way\n")
    assert Path("out/case/results.h5").read_bytes() == b"old"


def test_interrupt_before_the_run(case, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("femb.case.load_case", interrupt)
    assert invoked("run", case) == (130, "", "interrupted\n")


def test_check(case):
    code, stdout, stderr = invoked("check", case)
    assert (code, stdout.splitlines()[:2], stderr) == (0, ["One body", "1 body, 0 beams, 0 loads, 0 springs"], "")


def test_check_reports_what_building_finds(case, monkeypatch):
    def overview(model, run=None):
        raise ModelError.at(("bodies", "hub", "position"), "is in the way")

    monkeypatch.setattr("femb.run.overview.overview", overview)
    assert invoked("check", case) == (2, "", "case.toml:3: bodies.hub.position: is in the way\n")


def test_audit_of_results_without_any():
    assert audit(Results({})).splitlines()[-1].split() == ["steps", "?", "(0", "rejected)"]


def test_progress_never_passes_its_end():
    progress = Progress(1.0, quiet=True)
    progress.message("compiling")
    for t in (0.5, 1.0 + 1e-12):
        progress.update(t)
    progress.close()
    assert progress.time == 1.0


def test_compilation_is_announced_once_and_to_persons_alone(monkeypatch, capsys):
    monkeypatch.setattr("femb.base.progress._said", set())
    announce("compiling")
    assert capsys.readouterr().err == "", "no terminal"
    monkeypatch.setattr("femb.base.progress._said", set())
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    announce("told by a bar", said=True)
    for text in ("compiling", "compiling", "told by a bar"):
        announce(text)
    assert capsys.readouterr().err == "compiling\n"


# Results


@pytest.fixture
def results(tmp_path):
    time = np.linspace(0.0, 1.0, 5)
    still = np.tile([1.0, 0.0, 0.0, 0.0], (5, 1))
    path = {"position": np.outer(time, np.ones(3)), "velocity": np.ones((5, 3)), "quaternion": still}
    path["angular_velocity"] = np.zeros((5, 3))
    series = {"time": time, **{f"bodies/hub/{name}": array for name, array in path.items()}}
    Results(series, {}, {"": {"status": "complete"}, "bodies/hub": {"shape": '{"box": [1, 1, 1]}'}}).write(
        tmp_path / "results.h5"
    )
    return tmp_path


def test_export(results, tmp_path):
    code, stdout, stderr = invoked("export", results, "--every", 2, "--frame", "hub", "--out", tmp_path / "mesh")
    assert (code, stderr) == (0, "")
    assert stdout.split() == [str(tmp_path / "mesh" / name) for name in ("lines.pvd", "solids.pvd")]
    assert len(list((tmp_path / "mesh").glob("lines_*.vtu"))) == 3


def test_export_of_lines_beside_the_results(results):
    code, stdout, _ = invoked("export", results / "results.h5", "--lines-only")
    assert (code, stdout.split()) == (0, [str(results / "vtu" / "lines.pvd")])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "dxf"], "--format dxf: must be one of vtu"),
        (["--frame", "bus"], "no frame 'bus'; it may be one of: 'inertial', 'hub'"),
        (["--every", "0"], "Invalid value for '--every'"),
        (["--out", "results.h5/below"], "results.h5"),
    ],
)
def test_bad_export(results, monkeypatch, arguments, message):
    monkeypatch.chdir(results)
    code, stdout, stderr = invoked("export", ".", *arguments)
    assert (code, stdout) == (2, "")
    assert message in stderr


def test_options_an_exporter_does_not_take(results, monkeypatch):
    def export_table(results, folder, *, every=1, progress=None):
        return []

    monkeypatch.setitem(importlib.import_module("femb.export.formats").EXPORTERS, "table", export_table)
    assert invoked("export", results, "--format", "table") == (0, "", "")
    assert invoked("export", results, "--format", "table", "--lines-only") == (
        *(2, ""),
        "--lines-only: the format table has no such option\n",
    )


@pytest.mark.parametrize("command", ["export", "plot", "picture", "animate"])
def test_no_results(command, tmp_path):
    (tmp_path / "text.h5").write_text("no results")
    for name in ("text.h5", "missing.h5", ""):
        code, _, stderr = invoked(command, tmp_path / name)
        assert code == 2
        assert str(tmp_path) in stderr


@pytest.mark.slow
def test_plot(results, tmp_path):
    code, stdout, _ = invoked("plot", results)
    assert (code, stdout.strip()) == (0, str(results / "overview.png"))
    assert (results / "overview.png").read_bytes().startswith(b"\x89PNG")
    code, _, stderr = invoked("plot", results, "--what", "weather")
    assert code == 2
    assert "figures are: overview" in stderr


@pytest.mark.slow
def test_plot_of_what_and_when(results):
    code, stdout, stderr = invoked("plot", results, "--what", "bodies/hub/position", "--from", 0.25, "--to", 0.75)
    assert (code, stderr, stdout.strip()) == (0, "", str(results / "bodies_hub_position.png"))
    code, stdout, _ = invoked(
        "plot", results, "--what", "velocity", "--what", "energy", "--item", "hub", "--frame", "hub"
    )
    assert (code, stdout.strip()) == (0, str(results / "velocity_energy.png"))
    code, stdout, _ = invoked("plot", results, "--list")
    assert code == 0
    for word in ("overview", "quaternion_rate", "bodies                hub"):
        assert word in stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--what", "../x"], "no figure '../x'"),
        (["--what", "bodies/hub/positon"], "did you mean 'bodies/hub/position'?"),
        (["--what", "velocity", "--item", "hob"], "no item 'hob' in these results; did you mean 'hub'?"),
        (["--what", "springs"], "nothing to show in the figure 'springs'"),
        (["--frame", "bus"], "no frame 'bus'"),
        (["--from", "2"], "no output time from 2.0"),
        (["--what", "a\0b"], "no figure 'a\\x00b'"),
    ],
)
def test_bad_plot(results, arguments, message):
    before = sorted(results.parent.rglob("*"))
    code, stdout, stderr = invoked("plot", results, *arguments)
    assert (code, stdout) == (2, "")
    assert message in stderr
    assert sorted(results.parent.rglob("*")) == before, "nothing is written anywhere"


@pytest.mark.slow
def test_picture(results):
    code, stdout, stderr = invoked("picture", results, "--times", "0,0.5", "--azimuth", 30)
    assert (code, stderr, stdout.strip()) == (0, "", str(results / "picture.png"))
    assert (results / "picture.png").read_bytes().startswith(b"\x89PNG")
    code, _, stderr = invoked("picture", results, "--times", "now")
    assert (code, stderr) == (
        2,
        "--times now: 'now' is no number: wanted instants in s with commas between them, as 0,0.5,1\n",
    )


def test_animate(results):
    code, stdout, stderr = invoked("animate", results, "--fps", 4, "--dpi", 30, "--quiet")
    assert (code, stderr, stdout.strip()) == (0, "", str(results / "animation.gif"))
    assert (results / "animation.gif").read_bytes().startswith(b"GIF89a")
    code, _, stderr = invoked("animate", results, "--out", results / "film.avi")
    assert code == 2
    assert "a film is written as .gif, .webp or .mp4" in stderr


# The command itself


def test_version():
    assert invoked("--version") == (0, f"femb {femb.__version__}\nnumba {numba.__version__}\n", "")


def test_help_lists_every_command():
    code, stdout, _ = invoked("--help")
    assert code == 0
    commands = [
        "new", "cases", "run", "static", "inverse", "compare", "linearize", "loop", "modal", "modes", "unbalance",
        "shake", "shaper", "handover", "reduce", "sweep", "sensitivity", "correlate", "identify", "warmup", "check",
        "schema", "info", "diff", "report", "view", "loads", "pointing", "export", "plot", "picture", "animate",
    ]  # fmt: skip
    assert re.findall(r"^  (\w+)  ", stdout, re.MULTILINE) == commands


def test_a_run_loads_only_what_it_needs(tmp_path):
    """Of a rigid body, with compiled kernels: nothing of pictures, meshes and compilation, and no linear algebra."""
    case = checkout.ROOT / "cases" / "rigid_body_free.toml"
    femb.simulate(case, duration=0.1, out=tmp_path / "compiled.h5")
    unused = ("matplotlib", "meshio", "pandas", "numpy.ma", "scipy.linalg", "scipy.sparse", "scipy.optimize")
    unused = (*unused, "numba.np.arrayobj", "numba.np.linalg", "femb.elements.beam.batch", "femb.steppers.radau")
    code = f"""
import sys
from femb.cli import cli
cli(["run", {str(case)!r}, "--out", {str(tmp_path)!r}, "--quiet", "--set", "run.duration=0.1"], standalone_mode=False)
print([name for name in {unused} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_loads_no_numerical_library():
    code = "import sys, femb.cli; print([m for m in ('numpy', 'numba', 'scipy', 'h5py') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


INTERRUPTED = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
sys.argv = ["femb", "run", {case!r}, "--out", {out!r}]
from femb.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["click", "femb.cli.output", "femb.case", "numpy", "femb.run.simulate"])
def test_an_interruption_while_modules_are_imported_is_one_line(tmp_path, module):
    code = INTERRUPTED.format(module=module, case=str(checkout.CASES / "l_frame.toml"), out=str(tmp_path / "out"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=checkout.CASES.parent)
    assert (done.returncode, done.stderr, done.stdout) == (130, "interrupted\n", "")


@pytest.mark.slow
def test_tables_nested_too_deeply_are_one_line(tmp_path):
    """Thousands of keys with dots between them, in a file and on the command line."""
    many = ".".join(["a"] * 3000)
    for text in (f"{many} = 1\n", f"[{many}]\nb = 1\n"):
        (tmp_path / "deep.toml").write_text(text)
        assert said("check", tmp_path / "deep.toml", code=2).endswith("1: lists or tables are nested too deeply\n")
    output = said("check", checkout.CASES / "l_frame.toml", "--set", f"{many}=1", code=2)
    assert output.endswith("tables are nested too deeply: 3000 keys, at most 50\n")
    assert output.count("\n") == 1


def test_an_interrupt_that_a_callback_swallows_comes_again(monkeypatch):
    """Errors cannot leave a function that compiled code calls: Python ignores them, with a message."""
    from ctypes import CFUNCTYPE

    import femb.cli

    def called_back():
        raise KeyboardInterrupt

    def computing():
        CFUNCTYPE(None)(called_back)()
        for _ in range(500):
            time.sleep(0.01)

    monkeypatch.setattr(sys, "unraisablehook", femb.cli._interrupt_again)
    with pytest.raises(KeyboardInterrupt):
        computing()
