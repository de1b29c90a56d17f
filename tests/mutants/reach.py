"""Plugin of pytest that writes which tests execute which lines: ``pytest -p tests.mutants.reach``.

Each process writes its part into the folder FEMB_REACH: ``lines.*`` is the data of coverage.py with the tests as
contexts, ``tests.*`` the seconds of each test that passed. With FEMB_REACH_SECONDS a test that takes longer is ended.
"""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import coverage
import pytest

FOLDER = Path(os.environ["FEMB_REACH"])
SECONDS = float(os.environ.get("FEMB_REACH_SECONDS", "0"))

passed: dict[str, float] = {}
measuring: list[coverage.Coverage] = []


def pytest_configure(config: pytest.Config) -> None:
    """Measure in the processes that run tests, not in one that hands them out."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        return
    root = config.rootpath
    data = coverage.Coverage(
        str(FOLDER / f"lines.{os.getpid()}"), config_file=False, source=[str(root / "femb"), str(root / "elements")]
    )
    data.start()
    measuring.append(data)
    if SECONDS:
        signal.signal(signal.SIGALRM, _too_long)


def _too_long(number: int, frame: FrameType | None) -> None:
    pytest.fail("too long", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    for data in measuring:
        data.switch_context(item.nodeid)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Of a test that passed, the seconds of its parts."""
    if report.outcome == "passed":
        passed[report.nodeid] = passed.get(report.nodeid, 0.0) + report.duration
    else:
        passed[report.nodeid] = float("inf")


def pytest_sessionfinish(session: Any) -> None:
    for data in measuring:
        data.stop()
        data.save()
        seconds = {test: round(time, 3) for test, time in passed.items() if time < float("inf")}
        (FOLDER / f"tests.{os.getpid()}").write_text(json.dumps(seconds), encoding="utf-8")
