"""Runs that are killed, watched, refused room, or started twice: no result is lost, and every file can be read."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from models import of_parts, refuses
from seeds import SEED

import femb
from femb.base.arrays import LazyArrays
from femb.cli import cli
from femb.results.results import Results
from femb.results.storage.file import ResultWriter

SCRIPT = Path(__file__).with_name("forked_runs.py")
slow = pytest.mark.slow
CASE = """
[bodies.top]
mass = 2.0
inertia = 1.0
velocity = [1.0, 0.0, 0.0]
[run]
duration = {duration}
output_interval = 0.001
method = "rk"
tableau = "rk4"
step = 0.01
"""


FEW = {"kills": 2, "reads": 4, "full_disk": 2, "resumes": 1}
MANY = {"kills": 40, "reads": 100, "full_disk": 25, "resumes": 4}


@pytest.fixture(scope="module", params=[pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=slow)])
def tried(request, tmp_path_factory):
    """How often each kind was tried, and what became of the tries, which one process carries out."""
    print(f"FEMB_SEED={SEED}")
    command = [sys.executable, SCRIPT, SEED, tmp_path_factory.mktemp("tries"), json.dumps(request.param)]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, f"FEMB_SEED={SEED}\n{done.stderr}"
    assert done.stderr == ""
    print(done.stdout)
    return request.param, json.loads(done.stdout)


def test_killed_runs_leave_readable_files_and_older_results(tried):
    count, found = (each["kills"] for each in tried)
    assert found["readable"] == count
    assert found["in between"] >= count / 4


def test_runs_that_go_on_can_be_read_at_any_moment(tried):
    count, found = (each["reads"] for each in tried)
    assert found["reads"] >= count
    assert found["running"] > count / 4


def test_without_room_there_is_one_error_which_carries_the_results(tried):
    count, found = (each["full_disk"] for each in tried)
    assert found["error with results"] >= count / 4
    assert found["readable"] + found.get("no room to begin", 0) == count


def test_killed_runs_are_resumed_to_the_same_end(tried):
    count, found = (each["resumes"] for each in tried)
    assert found["resumed"] == count
    assert found["killed"] >= count
    assert found["from a checkpoint"] >= count // 3


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(duration: float) -> None:
        Path("case.toml").write_text(CASE.format(duration=duration))

    write(0.1)
    return write


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "femb", *arguments]


def ran_alone(*arguments: str, **options) -> tuple[int, str]:
    """Exit code and stderr of a command in a process of its own."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, **options)
    return done.returncode, done.stderr


def ran(*arguments: str) -> tuple[int, str]:
    """Exit code and stderr of a command in this process."""
    result = CliRunner().invoke(cli, arguments, prog_name="femb")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stderr


def small_files() -> None:
    # of 4 MB, written in blocks of 0.4 MB
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))


def test_command_without_room(case):
    """One message, exit code 1, and what was computed until then."""
    case(10.0)
    code, stderr = ran_alone("run", "case.toml", preexec_fn=small_files)
    assert code == 1
    message, where = stderr.splitlines()
    assert message == (
        "out/case/results.h5: the result file cannot be written (File too large). "
        "Check the folder's permissions and the free space"
    )
    # a file that is finished if there is room for its end, else the unfinished one
    path = where.removeprefix("the results up to there are in ")
    assert path in ("out/case/results.h5", "out/case/results.h5.part")
    assert len(femb.Results.read(path).time) > 1000
    results = Results.read("out/case/results.h5")
    assert results.status == "failed"
    assert 50 < len(results.time) < 10000
    np.testing.assert_allclose(results.bodies["top"].position[:, 0], results.time, atol=1e-9)


@pytest.mark.slow
def test_results_are_replaced_when_asked_and_by_whole_ones_only(case):
    """A run over its own finished results says so; over those of another case it is refused; with --force they stay
    until the new ones are complete."""
    assert ran("run", "case.toml", "--quiet") == (0, "")
    file, part = Path("out/case/results.h5"), Path("out/case/results.h5.part")
    old = file.read_bytes()
    there = "out/case/results.h5: has the results of this case already; --force computes anew"
    assert ran("run", "case.toml") == (0, f"{there}\n")
    refused = "out/case/results.h5: has the results of a finished run; --force replaces them, --out writes to"
    assert ran("run", "case.toml", "--set", "run.rtol=1e-5") == (2, f"{refused} another place\n")
    case(1000.0)
    assert ran("run", "case.toml") == (2, f"{refused} another place\n")
    assert file.read_bytes() == old

    with running("run", "case.toml", "--quiet", "--force") as first:
        wait_for(lambda: part.exists() and len(Results.read(part).time) > 100, first)
        code, stderr = ran("run", "case.toml", "--force")
        assert code == 2
        assert stderr.startswith("out/case/results.h5: another run writes to it now")
        refuses("another run writes to it now", ResultWriter, file, {}, {}, error=femb.ResultError)
        assert file.read_bytes() == old
        first.send_signal(signal.SIGTERM)
        message = first.stderr.read().decode().splitlines()
        first.wait(30)
    assert first.returncode == 130
    assert message[0].startswith("interrupted at t = ")
    assert message[1:] == ["the results up to there are in out/case/results.h5.part"]
    assert file.read_bytes() == old
    kept = Results.read(part)
    assert (kept.status, kept.message) == ("failed", "interrupted")
    assert len(kept.time) > 100

    case(0.2)
    assert ran("run", "case.toml", "--quiet", "--force") == (0, "")
    assert Results.read(file).time[-1] == pytest.approx(0.2)
    assert os.listdir("out/case") == ["results.h5"]


@contextmanager
def running(*arguments: str):
    """A command that goes on; it is killed at the end, if it has not ended."""
    with subprocess.Popen(command(*arguments), stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition, process, limit=20.0) -> None:
    end = time.monotonic() + limit
    while not condition():
        assert process.poll() is None, "the run has ended"
        assert time.monotonic() < end
        time.sleep(0.02)


@slow
def test_a_killed_run_is_found_in_its_folder_and_kept_by_the_next(case):
    case(1000.0)
    file, part = Path("out/case/results.h5"), Path("out/case/results.h5.part")
    with running("run", "case.toml", "--quiet") as process:
        wait_for(lambda: part.exists() and len(Results.read(file).time) > 100, process)
        process.kill()
    with part.open("ab") as journal:
        journal.write(b"ROWS and then nothing of them")
    results = Results.read(file)
    assert results.status == "running"
    assert results.message == "the process ended before the run did; 29 damaged bytes at the end are left out"
    code, stderr = ran_alone("export", "out/case", "--format", "csv", "--quiet")
    assert (code, stderr.split("; output times")[0]) == (0, f"{part}: {results.message}")

    # not without being told so
    code, stderr = ran_alone("run", "case.toml", "--quiet")
    assert code == 2
    assert "--resume continues it" in stderr
    assert len(Results.read(file).time) == len(results.time)
    with running("run", "case.toml", "--quiet", "--force") as process:
        wait_for(lambda: len(Results.read(file).time) < len(results.time), process)
        assert len(Results.read(part.with_name(part.name + ".old")).time) == len(results.time)
        process.kill()


class Snapshot:
    """Progress that copies the file of a run that goes on: what a killed process leaves."""

    def __init__(self, part: Path, copy: Path) -> None:
        self.part, self.copy = part, copy

    def message(self, text: str) -> None:
        pass

    def update(self, t: float) -> None:
        if t > 1.5 and not self.copy.exists():
            self.copy.write_bytes(self.part.read_bytes())


class Kept:
    """Progress that reads the file kept of a run before."""

    def __init__(self, file: Path) -> None:
        self.file, self.counts = file, set()

    def message(self, text: str) -> None:
        pass

    def update(self, t: float) -> None:
        self.counts.add(len(Results.read(self.file).time))


def test_results_of_a_killed_run_are_read_and_kept_until_the_next_is_complete(tmp_path):
    """In one process: with damaged bytes at the end, which are counted and left out."""
    model = of_parts(femb.RigidBody("top", mass=2.0, inertia=1.0, velocity=(1.0, 0.0, 0.0)), title="top")
    words = {"duration": 2.0, "output_interval": 0.001, "method": "rk", "tableau": "rk4", "step": 0.02}
    whole, file = tmp_path / "whole.h5", tmp_path / "killed.h5"
    part = Path(f"{file}.part")
    femb.simulate(model, out=whole, progress=Snapshot(Path(f"{whole}.part"), part), **words)
    with part.open("ab") as journal:
        journal.write(b"ROWS and then nothing of them")
    killed = Results.read(file)
    assert 500 < len(killed.time) < 2001
    assert killed.status == "running"
    assert killed.message == "the process ended before the run did; 29 damaged bytes at the end are left out"
    np.testing.assert_allclose(killed.bodies["top"].position[:, 0], killed.time, atol=1e-9)

    refuses(r"a run that ended at t = .* resume=True continues it, force=True begins anew", femb.simulate, model,
            out=file, **words, error=femb.ResultError)  # fmt: skip
    words["force"] = True
    kept = Kept(Path(f"{part}.old"))
    femb.simulate(model, out=file, progress=kept, **{**words, "duration": 0.2})
    assert kept.counts == {len(killed.time)}
    assert Results.read(file).time[-1] == pytest.approx(0.2)
    assert sorted(os.listdir(tmp_path)) == ["killed.h5", "whole.h5"]


class Watcher:
    """Progress that looks into the file after every step of a run: what is missing there, and for how long."""

    def __init__(self, file: Path) -> None:
        self.file, self.reached, self.late = file, [], 0.0

    def message(self, text: str) -> None:
        pass

    def update(self, t: float) -> None:
        now = time.monotonic()
        self.reached.append((t, now))
        written = Results.read(self.file).time
        there = written[-1] if len(written) else -1.0
        self.late = max([self.late, *(now - at for reached, at in self.reached if reached > there)])


@pytest.mark.slow
def test_output_times_of_a_slow_run_are_in_the_file_within_two_seconds(tmp_path):
    def slow_load(t, state):
        time.sleep(0.025)
        return [1.0, 0.0, 0.0]

    model = femb.Model("slow")
    model.add(femb.RigidBody("top", mass=2.0, inertia=1.0))
    model.add(femb.Load("slow", body="top", force=slow_load))
    watcher = Watcher(tmp_path / "r.h5")
    femb.simulate(
        model, duration=1.5, output_interval=0.1, method="rk", tableau="rk4", step=0.1, out=watcher.file,
        progress=watcher,
    )  # fmt: skip
    assert len(watcher.reached) == 15
    assert watcher.reached[-1][1] - watcher.reached[0][1] > 1.0
    assert 0.0 < watcher.late < 2.0


def test_results_of_a_file_are_read_when_they_are_asked_for_and_pickled_whole(tmp_path):
    model = of_parts(femb.RigidBody("top", mass=2.0, inertia=1.0, velocity=(1.0, 0.0, 0.0)))
    results = femb.simulate(model, duration=1.0, output_interval=0.1, out=tmp_path / "r.h5")
    assert isinstance(results.series, LazyArrays)
    assert not results.series._loaded or set(results.series._loaded) == {"time"}
    # Another run may have replaced the file meanwhile.
    femb.simulate(model, duration=2.0, output_interval=0.1, out=tmp_path / "r.h5")
    copy = pickle.loads(pickle.dumps(results))
    for body in (results.bodies["top"], copy.bodies["top"], pickle.loads(pickle.dumps(results.bodies["top"]))):
        np.testing.assert_allclose(body.position[:, 0], np.linspace(0.0, 1.0, 11), atol=1e-9)
    for each in (results, copy):
        assert not each.bodies["top"].position.flags.writeable
    assert copy.attributes == results.attributes
    assert set(copy.arrays) == set(results.arrays)


MEMORY = """
import sys
import numpy as np
from femb.results.storage.file import ResultWriter
def peak():  # not ru_maxrss, which the process that starts this one hands on
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
block = {"time": np.arange(100.0), "bodies/b/position": np.ones((100, 3)), "x": np.ones((100, 1000))}
import h5py
with ResultWriter(sys.argv[1] + "/small.h5", {}, {}) as writer:
    for k in range(20):
        writer.append(block)
    writer.finish("complete")
before = peak()
with ResultWriter(sys.argv[1] + "/large.h5", {}, {}) as writer:
    for k in range(150):
        writer.append(block)
    writer.finish("complete")
    assert writer.content().series["time"].size == 15000
print(peak() - before)
"""


@slow
def test_memory_of_a_run_with_a_file_does_not_grow_with_its_output_times(tmp_path):
    done = subprocess.run([sys.executable, "-c", MEMORY, tmp_path], capture_output=True, text=True, check=True)
    written = (tmp_path / "large.h5").stat().st_size / 2**20
    assert written > 110.0
    assert float(done.stdout) < 30.0
