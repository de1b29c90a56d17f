"""``femb sweep`` and the figures of its tables."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from oracles.spring_study import STUDY, written
from shared_runs import said

from femb.study.runner import Runner

RANDOM = STUDY.replace('"grid"', '"latin-hypercube"\nruns = 8').replace(
    "values = [50.0, 80.0]", 'kind = "uniform"\nlow = 40.0\nhigh = 90.0'
)


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return written(tmp_path)


def test_a_study_is_carried_out_and_drawn(study, tmp_path):
    output = said("sweep", study, "--workers", 0, "--set", "run.duration=2.0")
    assert output.splitlines()[0] == "Masses: 4 runs, 0 failed"
    assert output.splitlines()[-2:] == ["out/study/sweep.csv", "out/study/sweep.h5"]
    again = said("sweep", study, "--workers", 0, "--set", "run.duration=2.0")
    assert again.splitlines()[0] == "out/study/sweep.h5: has the results of this study already; --force computes anew"
    assert again.splitlines()[-len(output.splitlines()) :] == output.splitlines()
    output = said("sweep", study, "--workers", 0, code=2)
    assert "has the results of a finished run; --force replaces them" in output
    assert said("sweep", study, "--workers", 0, "--force", "--quiet", "--set", "run.duration=2.0") == ""
    table = "out/study/sweep.h5"
    assert said("plot", table).strip() == "out/study/curves.png"
    for figure in ("histogram of lowest", "scatter", "curves"):
        name = figure.replace(" ", "_")
        assert said("plot", table, "--what", figure, "--dpi", 30, "--force").strip() == f"out/study/{name}.png"
    assert "no figure 'tips' of a study; there are: histogram, scatter" in said("plot", table, "--what", "tips", code=2)
    assert "no output 'depth'" in said("plot", table, "--what", "curves of depth", code=2)
    assert "need the design 'saltelli'" in said("plot", table, "--what", "sobol", code=2)
    assert said("plot", table, "--list").splitlines()[1] == "outputs               lowest, frequency"


def test_sobol_indices_are_computed_and_drawn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, RANDOM)
    output = said("sweep", path, "--sobol", "--workers", 0, "--set", "run.duration=0.5")
    assert "Masses: 32 runs, 0 failed" in output
    assert "Sobol indices of lowest, 8 samples" in output
    assert "Sobol indices of frequency: got " in output  # half a second is too short
    assert output.splitlines()[-1] == "out/study/sobol.png"
    assert (tmp_path / "out" / "study" / "sobol.png").stat().st_size > 5000


def test_errors_have_their_lines(study):
    study.write_text(STUDY.replace('"grid"', '"gird"'))
    assert said("sweep", study, code=2).startswith(f"{study}:3: design: got 'gird', must be one of 'grid'")
    study.write_text(STUDY.replace("position.x", "positoin.x"))
    output = said("sweep", study, "--workers", 0, code=2)
    assert output.startswith(f"{study}:15: outputs.lowest.of: got 'bodies.mass.positoin.x', no such quantity")
    study.write_text(STUDY.replace("bodies.mass.mass", "bodies.mass.mas"))
    output = said("sweep", study, "--workers", 0, code=2)
    assert output.startswith(
        f"{study}:10: variables.mass.key: got 'bodies.mass.mas': unknown key; did you mean 'mass'?"
    )
    assert "there is no such file" in said("sweep", study.with_name("other.toml"), code=2)
    study.write_text(STUDY)
    assert said("sweep", study, "--set", "runs=3", "--workers", 0, code=2).startswith("--set runs: unknown key")


@pytest.mark.slow
def test_an_interruption_says_how_to_go_on(study, monkeypatch):
    run = Runner.__call__

    def called(self, number, values):
        if number == 2:
            raise KeyboardInterrupt
        return run(self, number, values)

    monkeypatch.setattr(Runner, "__call__", called)
    output = said("sweep", study, "--workers", 0, code=130)
    assert "interrupted after 2 of 4 runs; the same command goes on with the others" in output
    monkeypatch.setattr(Runner, "__call__", run)
    assert "4 runs, 0 failed" in said("sweep", study, "--workers", 0)


def test_a_study_without_a_complete_run_has_failed(study):
    study.write_text(STUDY.replace("[2.0, 3.0]", "[-1.0, -2.0]"))
    assert "run 3 failed: " in said("sweep", study, "--workers", 0, code=1)


def test_the_schema_of_studies_is_printed():
    assert json.loads(said("schema", "--study"))["title"] == "femb study"


def test_dask_is_asked_for_by_name(study, monkeypatch):
    assert "cluster: got 'cray', must be one of 'local', 'slurm'" in said("sweep", study, "--cluster", "cray", code=2)
    monkeypatch.setitem(sys.modules, "distributed", None)
    output = said("sweep", study, "--cluster", "local", code=2)
    assert "pip install 'femb[cluster]': dask.distributed is not installed" in output


def lines(path):
    return path.read_text().count("\n") if path.exists() else 0


@pytest.mark.slow
def test_a_killed_study_goes_on_and_leaves_no_process_behind(tmp_path):
    """SIGKILL in the middle; the table of the continued study is that of an undisturbed one, to the last digit."""
    text = RANDOM.replace("runs = 8", "runs = 60")
    path = written(tmp_path, text)
    command = [sys.executable, "-m", "femb", "sweep", str(path), "--workers", "2", "--out"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    part = tmp_path / "killed" / "sweep.part"
    process = subprocess.Popen([*command, str(part.parent)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while lines(part) < 20:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    workers = children(process.pid)
    assert len(workers) >= 2
    process.kill()
    process.communicate()
    limit = time.monotonic() + 20.0
    while any(map(is_alive, workers)):
        assert time.monotonic() < limit
        time.sleep(0.05)
    done = lines(part) - 1
    assert 19 <= done < 60
    subprocess.run([*command, str(part.parent)], check=True, capture_output=True)
    assert (part.parent / "sweep.csv").read_bytes() == (tmp_path / "whole" / "sweep.csv").read_bytes()


@pytest.mark.slow
def test_a_signal_ends_a_study_with_its_workers(tmp_path):
    path = written(tmp_path, RANDOM.replace("runs = 8", "runs = 500"))
    command = [sys.executable, "-m", "femb", "sweep", str(path), "--workers", "2", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while lines(tmp_path / "out" / "sweep.part") < 5:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    workers = children(process.pid)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "the same command goes on with the others" in said
    assert "Traceback" not in said
    time.sleep(0.5)
    assert not any(map(is_alive, workers))


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return list(map(int, found.stdout.split()))


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_a_study_whose_runs_all_fail_says_so_in_one_line(study):
    """Also where nothing but errors is printed."""
    output = said("sweep", study, "--workers", 0, "--quiet", "--set", "run.max_steps=1", code=1)
    assert output.startswith("all 4 runs failed, the first by: ")
    assert output.count("\n") == 1


def test_a_study_of_a_python_case_asks_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEMB_ALLOW_CODE", "0")
    path = written(tmp_path, STUDY.replace("spring.toml", "spring.py"))
    text = path.read_text().splitlines()
    path.write_text("\n".join('case = "spring.py"' if line.startswith("case") else line for line in text))
    (tmp_path / "spring.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    output = said("sweep", path, "--workers", 0, code=2)
    assert "case: spring.py is code in Python, which runs only if you allow it: read it, then give" in output
    assert not (tmp_path / "ran").exists()
    said("sweep", path, "--workers", 0, "--allow-code", code=2)
    assert (tmp_path / "ran").exists()
