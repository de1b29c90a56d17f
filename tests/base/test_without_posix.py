"""Systems that lack calls of POSIX, by simulation: locks, reads at an offset, signals, /proc."""

import builtins
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from checkout import CASES, ROOT

from femb.base import descriptors
from femb.run import memory

MISSING = ("pread", "pwrite", "O_NONBLOCK", "sched_getaffinity", "geteuid", "getuid", "sysconf", "fork", "mkfifo")
PRELUDE = f"""
import builtins, os, select, signal, sys
for name in {MISSING!r}:
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGALRM"):
    if hasattr(signal, name):
        delattr(signal, name)
if hasattr(select, "poll"):
    del select.poll
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
usual = builtins.open
def without_proc(file, *words, **named):
    if str(file).startswith("/proc") and not str(file).endswith("/maps"):  # which threadpoolctl reads on Linux
        raise FileNotFoundError(2, "no /proc", file)
    return usual(file, *words, **named)
builtins.open = without_proc
"""


class Locks:
    """The lock of Windows: one owner of a byte of a file, by descriptor."""

    LK_NBLCK, LK_UNLCK = 1, 2

    def __init__(self):
        self.owners = {}

    def locking(self, file, what, count):
        assert (os.lseek(file, 0, os.SEEK_CUR), count) == (descriptors.LOCKED, 1)
        key = os.fstat(file).st_ino
        if what == self.LK_UNLCK:
            del self.owners[key]
        elif key in self.owners:
            raise PermissionError(13, "locked")
        else:
            self.owners[key] = file


@pytest.fixture
def bare(monkeypatch):
    """Without POSIX; with the lock of Windows."""
    for name in MISSING:
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", locks := Locks())
    return locks


def test_bytes_at_offsets_and_locks(tmp_path, bare):
    path = tmp_path / "file"
    file = descriptors.opened(path, os.O_RDWR | os.O_CREAT)
    other = descriptors.opened(path)
    descriptors.write_at(file, b"0123456789", 0)
    descriptors.write_at(file, b"ab", 4)
    assert descriptors.read_at(other, 4, 3) == b"3ab6"
    os.lseek(file, 7, os.SEEK_SET)
    descriptors.lock(file)
    assert os.lseek(file, 0, os.SEEK_CUR) == 7  # a lock moves nothing
    assert descriptors.is_locked(other)
    with pytest.raises(BlockingIOError):
        descriptors.lock(other)
    bare.owners.clear()
    assert not descriptors.is_locked(other)
    assert bare.owners == {}
    os.close(file)
    os.close(other)


def test_open_files_are_renamed_closed_on_windows(tmp_path, bare, monkeypatch):
    path, name = tmp_path / "draft", tmp_path / "name"
    file = descriptors.opened(path, os.O_RDWR | os.O_CREAT)
    descriptors.lock(file)
    monkeypatch.setattr(descriptors, "os", types.SimpleNamespace(**vars(os) | {"name": "nt", "close": closed(bare)}))
    found = descriptors.renamed(file, path, name)
    assert (path.exists(), name.exists()) == (False, True)
    assert list(bare.owners.values()) == [found]
    os.close(found)


def closed(locks):
    """Close a file as the system does: with its locks."""

    def close(file):
        locks.owners.pop(os.fstat(file).st_ino, None)
        os.close(file)

    return close


def test_free_memory_is_unknown(bare, monkeypatch):
    def without(file, *words, **named):
        raise FileNotFoundError(2, "no such file", file)

    monkeypatch.setattr(builtins, "open", without)
    assert memory.available() is None


@pytest.mark.slow
def test_runs_figures_reports_and_studies_work(tmp_path):
    """The commands of a first hour in processes that have nothing of POSIX beyond what Python has everywhere."""
    case, study = CASES / "rigid_body_free.toml", tmp_path / "study.toml"
    study.write_text(f'''
case = "{case}"
[variables.mass]
key = "bodies.rod.mass"
values = [1.0, 2.0, 3.0]
[outputs.turn]
kind = "peak"
of = "bodies.rod.angular_velocity.y"
''')
    # every process, also the workers of a study, begins without them
    (tmp_path / "sitecustomize.py").write_text(PRELUDE)
    paths = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    missing = subprocess.run(
        [sys.executable, "-c", "import os; os.pread"], env={**os.environ, **paths}, capture_output=True, text=True
    )
    assert "AttributeError" in missing.stderr

    def said(*words):
        command = [sys.executable, "-m", "femb", *map(str, words)]
        environment = {**os.environ, **paths}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    out = tmp_path / "out"
    said("run", case, "--out", out, "--set", "run.duration=0.2")
    said("info", out)
    said("report", out)
    said("check", case)
    assert sorted(each.name for each in Path(out).iterdir() if each.suffix in (".h5", ".html"))
    assert not [each for each in out.iterdir() if "draft" in each.name or each.suffix == ".part"]
    for workers in (0, 2):
        made = tmp_path / f"study_{workers}"
        told = said("sweep", study, "--out", made, "--workers", workers)
        assert "3 runs" in told
        assert len((made / "sweep.csv").read_text().splitlines()) == 4
    said("sweep", study, "--out", made, "--workers", 0, "--force")
