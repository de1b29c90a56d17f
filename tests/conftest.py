"""Before the workers start: a folder for the runs that they share, one thread of linear algebra in each, and, where all
tests are asked for, kernels that are compiled once, on both cores (see compile_first)."""

import gc
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

# Read by the linear algebra of numpy and scipy when they are loaded: with as many workers as cores, more threads only
# wait for each other. Factors of dense matrices of some hundred rows then take twenty times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Many containers forbid to keep what Python compiles. Each worker, and each of some hundred processes that tests start,
# would then parse all sources again, which takes longer than most tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Collecting makes a million objects that stay: a search for garbage among them finds none.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="femb_tests_")
        os.environ["FEMB_TEST_RUNS"] = folder  # workers inherit it
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_sessionstart(session: pytest.Session) -> None:
    """In the process that hands out tests, where all of them are asked for and kernels can be kept."""
    config = session.config
    workers = getattr(config.option, "numprocesses", None) or 0
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
    if hasattr(config, "workerinput") or workers < 2 or not whole or config.option.collectonly:
        return
    from femb.numerics.compiler.compile import kernel_cache

    folder = kernel_cache().folder
    if folder is None:
        return
    compiled = folder / f"compiled_for_tests_{digest_of_sources()}"
    if compiled.exists():
        return
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    terminal.write_line("compiling kernels in two processes, once for all tests ...")
    begin = time.monotonic()
    if compiled_first():
        compiled.touch()
        terminal.write_line(f"compiled in {time.monotonic() - begin:.0f} s")
    else:
        terminal.write_line("compiling failed, for a reason that the tests will show; they compile what is missing")


# Files with the longest of the slow tests.
LONG = (
    "test_site.py", "test_typing.py", "test_validation.py", "test_packaging.py", "test_generated.py", "test_worst.py",
    "test_tuned_table.py", "test_shell_cases.py", "test_plain_kernels.py",
)  # fmt: skip


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest of the slow tests begin first: one that begins last keeps the other workers waiting."""
    items.sort(key=lambda item: item.path.name not in LONG or item.get_closest_marker("slow") is None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is collected stays until the end: the collector of garbage need not look at it in each of its rounds."""
    gc.collect()
    gc.freeze()
    gc.enable()


def digest_of_sources() -> str:
    """The same while no file of femb is edited; kernels themselves are kept by what they compute."""
    import femb.elements

    digest = hashlib.sha256()
    for folder in (*femb.__path__, *femb.elements.__path__):
        for path in sorted(Path(folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


MISSING = re.compile("not installed|could not import|No module named")


def _must_not_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """A skip for a missing package is a failure where all are installed (FEMB_NO_SKIPS): it would hide a test."""
    if report.skipped and os.environ.get("FEMB_NO_SKIPS") and MISSING.search(str(report.longrepr)):
        report.outcome = "failed"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    _must_not_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    report = yield
    _must_not_skip(report)
    return report


def compiled_first() -> bool:
    """Whether both halves have been compiled, by femb as the tests import it."""
    script = Path(__file__).with_name("compile_first.py")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        # numba writes a message for every overload that does not fit; colours for it take a twentieth of the time
        "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1",
    }
    # Tests are read once meanwhile: each worker would do so, and write the bytecode that the other has no use for.
    read = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-n0", "--collect-only", "-qq"],
        cwd=Path(__file__).parents[1], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    halves = [
        subprocess.Popen([sys.executable, script, half], env=environment, stderr=subprocess.DEVNULL)
        for half in ("beams", "bodies")
    ]
    codes = [half.wait() for half in halves]
    read.wait()
    return codes == [0, 0]
