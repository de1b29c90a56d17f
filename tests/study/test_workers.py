"""Worker processes of this machine and of dask: the same table as from one process, also where workers are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import fragile_runs as fragile
import numpy as np
import pytest
from oracles.spring_study import build

from femb import SolveError, Study, sweep
from femb.study import workers as cluster

pytestmark = pytest.mark.slow
RUN = {"duration": 2.0, "output_interval": 0.02, "method": "rk"}
OUTPUTS = {"lowest": {"kind": "min", "of": "bodies.mass.position.x"}}
STIFFNESS = {"kind": "range", "first": 40.0, "last": 90.0, "count": 24}


@pytest.fixture(autouse=True)
def tests_on_path(monkeypatch):
    """Workers find the modules of the tests."""
    folder = str(Path(__file__).resolve().parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")]))


@pytest.fixture(scope="module")
def table():
    return sweep(Study(build, {"stiffness": STIFFNESS}, OUTPUTS, run=RUN))


def of(function, folder, **words):
    variables = {"stiffness": STIFFNESS, "folder": {"values": [str(folder)]}}
    return Study(function, variables, OUTPUTS, run=RUN, **words)


def test_processes_give_the_same_table(table):
    rows = sweep(Study(build, {"stiffness": STIFFNESS}, OUTPUTS, run=RUN), workers=3)
    assert rows.columns() == table.columns()


def test_a_run_whose_worker_is_killed_is_repeated(table, tmp_path):
    rows = sweep(of(fragile.killed_once, tmp_path), workers=2)
    assert (tmp_path / "killed").exists()
    assert not rows.failed.any()
    np.testing.assert_array_equal(rows["lowest"], table["lowest"])


def test_a_run_that_always_kills_its_worker_has_failed(table, tmp_path):
    variables = {"stiffness": {"values": [50.0, 60.0, 80.0, 55.0, 65.0]}, "folder": {"values": [str(tmp_path)]}}
    study = Study(fragile.killed_always, variables, OUTPUTS, run=RUN)
    rows = sweep(study, workers=2)
    assert rows.failed.tolist() == [False, False, True, False, False]
    assert rows.messages[2].startswith("the process of this run ended every time")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forks on Linux alone")
def test_forks_end_with_the_first_process_also_if_that_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import femb\nfrom oracles.spring_study import build\n"
        "femb.sweep(femb.Study(build, {'mass': {'values': [1.0] * 400}}, {'x': {'of': 'bodies.mass.position.x'}},"
        " run={'duration': 200.0, 'rtol': 1e-10}), workers=2)\n"
    )
    with subprocess.Popen([sys.executable, str(script)]) as first:
        forks = _wait_for(lambda: _children(first.pid), 2)
        first.kill()
    assert _wait_for(lambda: [pid for pid in forks if _ended(pid)], 2)


def _ended(pid):
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def _children(pid):
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # it has ended
            if f"\nPPid:\t{pid}\n" in status.read_text():
                found.append(int(status.parent.name))
    return found


def _wait_for(found, count):
    deadline = time.monotonic() + 60.0
    while len(found()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found()


def test_a_script_without_the_line_for_main_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    # beside another thread, processes begin anew
    script.write_text(
        "import threading, time, femb\nfrom oracles.spring_study import build\n"
        "threading.Thread(target=time.sleep, args=(100.0,), daemon=True).start()\n"
        "femb.sweep(femb.Study(build, {'mass': {'values': [1.0]}}, {'x': {'of': 'bodies.mass.position.x'}},"
        " run={'duration': 0.1}), workers=1)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert f"{SolveError.__name__}: the processes of the study ended while they started" in done.stderr


def test_dask_gives_the_same_table_though_a_worker_is_killed_in_the_middle(table, tmp_path):
    """A scheduler with three real worker processes, one of which gets SIGKILL when a third of the runs are finished."""
    pytest.importorskip("distributed")
    with cluster.started("local", 3) as workers:
        pids = [worker.pid for worker in workers.workers.values()]
        assert len(set(pids)) == 3
        assert os.getpid() not in pids
        done = []

        def progress(*count):
            done.append(count)
            if count[0] == 8:
                os.kill(pids[1], signal.SIGKILL)

        study = Study(build, {"stiffness": STIFFNESS}, OUTPUTS, run=RUN)
        rows = sweep(study, scheduler=workers.scheduler_address, out=tmp_path / "out", progress=progress)
    assert rows.columns() == table.columns()
    assert done[-1] == (24, 0, 24)
    table.write_csv(tmp_path / "alone.csv")
    assert (tmp_path / "out" / "sweep.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()


def test_dask_records_a_run_that_always_kills_its_worker(tmp_path):
    pytest.importorskip("distributed")
    variables = {"stiffness": {"values": [50.0, 80.0, 60.0]}, "folder": {"values": [str(tmp_path)]}}
    rows = sweep(Study(fragile.killed_always, variables, OUTPUTS, run=RUN), cluster="local", workers=2)
    assert rows.failed.tolist() == [False, True, False]


def test_jobs_of_slurm_have_one_core_each():
    jobqueue = pytest.importorskip("dask_jobqueue")
    with suppress(Exception), jobqueue.SLURMCluster(cores=1, processes=1, memory="2GB") as jobs:
        assert "#SBATCH --cpus-per-task=1" in jobs.job_script()


def test_threads_of_one_worker_take_turns():
    """Runs of a worker with several threads do not overlap."""
    inside, most = [], []

    class Runner:
        outputs = ()

        def __call__(self, number, values):
            inside.append(number)
            most.append(len(inside))
            time.sleep(0.01)
            inside.remove(number)

    portions = [[(2 * k, ()), (2 * k + 1, ())] for k in range(5)]
    threads = [threading.Thread(target=cluster._run_on_worker, args=(Runner(), each)) for each in portions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
