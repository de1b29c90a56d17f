"""The versions of Python and of libraries that femb works with: ``python -m tests.versions``.

For every Python from the first that femb needs, of pyenv and of this process, it makes an environment of exactly the
lowest version of each dependency that pyproject.toml admits, and one of the newest, in a temporary folder; of a
Python for which a library has no wheel as old, the oldest wheel there is. In each it runs the line of README.md, whose
output must not have errors or words of Python itself, and 300 tests. The lowest are run with kernels of numba alone
(FEMB_PLAIN_NUMBA). With ``--few`` the tests are a hundred, with kernels as plain Python. ``--write`` replaces the table
of docs/contributing.md.

    python -m tests.versions --lowest --this --few     the lowest of this Python alone, as .ci/run
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "contributing.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LEAST = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
NEEDED = ("pytest", "pytest-xdist", "hypothesis")
# What uses most of the interfaces of the libraries, and needs none beside them.
TESTS = (
    "tests/run/test_simulate.py", "tests/run/test_continuation.py", "tests/vibration/test_modes.py",
    "tests/linear/test_linear.py", "tests/statics/test_static.py", "tests/results/test_results.py",
    "tests/export/test_export.py", "tests/cli/test_check.py",
)  # fmt: skip
FEW = ("tests/results/test_results.py", "tests/export/test_export.py", "tests/linear/test_margins.py")
COMMANDS = ("run cases/satellite_forced.toml", "plot out/satellite_forced")
NAMES = [re.split(r"[<>=\[;]", each)[0] for each in PROJECT["dependencies"]]
BEGIN, END = "<!-- versions: python -m tests.versions --write -->\n", "<!-- end of versions -->\n"


class Outcome(NamedTuple):
    """What an environment gave: versions by name, and words on the line of README.md and on the tests."""

    python: str
    which: str
    versions: dict[str, str]
    line: str
    tests: str

    @property
    def good(self) -> bool:
        """Whether everything passed."""
        return self.line == "passes" and self.tests.endswith("pass")


def pythons() -> dict[str, Path]:
    """The interpreters by their version, as "3.12", the oldest first."""
    found = {sys.version_info[:2]: Path(sys.executable)}
    for path in Path.home().glob(".pyenv/versions/*/bin/python"):
        version = tuple(map(int, path.parents[1].name.split(".")[:2])) if path.parents[1].name[0].isdigit() else (0,)
        found.setdefault(version, path)
    return {".".join(map(str, version)): path for version, path in sorted(found.items()) if version >= LEAST}


def outcome_in(work: Path, python: Path, lowest: bool, few: bool) -> Outcome:
    """The outcome of one environment, made in an empty folder; few : tests, without compiled kernels."""
    checkout, venv = work / "femb", work / "venv"
    _run("git", "clone", "-q", ROOT, checkout)
    _run(python, "-m", "venv", venv)
    _run(venv / "bin" / "pip", "install", "-q", "uv")
    own = venv / "bin" / "python"
    install = (venv / "bin" / "uv", "pip", "install", "-q", "--python", own)
    resolution = "lowest-direct" if lowest else "highest"
    pinned = work / "pinned.txt"
    pinned.write_text("\n".join(PROJECT["dependencies"]))
    _run(*install, "--only-binary", ":all:", "--resolution", resolution, "-r", pinned)
    _run(*install, "--no-deps", checkout)
    code = f"from importlib.metadata import version as v; print(*[n + '=' + v(n) for n in {NAMES!r}])"
    versions = dict(each.split("=") for each in _run(own, "-c", code).split())
    environment = {
        **{k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "FEMB_NO_SKIPS")},
        "FEMB_CACHE": str(work / "cache"),
        **({"FEMB_PLAIN_NUMBA": "1"} if lowest else {}),
    }
    line = "passes"
    for command in COMMANDS:
        done = subprocess.run(
            [venv / "bin" / "femb", *command.split()], cwd=checkout, env=environment, capture_output=True, text=True
        )
        if done.returncode or "Traceback" in done.stderr or "Exception ignored" in done.stderr:
            line = f"`femb {command}`: {(done.stderr.strip().splitlines() or ['no word'])[-1]}"
    constraints = work / "versions.txt"
    constraints.write_text("\n".join(f"{name}=={version}" for name, version in versions.items()))
    _run(*install, "-c", constraints, *NEEDED)
    # the tests import the package that is installed in place of the checkout's
    _run(*install, "--no-deps", "-e", checkout)
    words = ("-m", "pytest", "-q", "-n2", "-p", "no:cacheprovider", "-W", "default", *(FEW if few else TESTS))
    if few:
        environment["NUMBA_DISABLE_JIT"] = "1"
    done = subprocess.run([own, *words], cwd=checkout, env=environment, capture_output=True, text=True)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?)\b", done.stdout)}
    passed, failed = counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:])
    tests = f"{failed} of {passed + failed} fail" if failed or not passed else f"{passed} pass"
    name = _run(own, "-c", "import platform; print(platform.python_version())").strip()
    return Outcome(name, "lowest" if lowest else "newest", versions, line, tests)


def _run(*words: object) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def table_of(outcomes: list[Outcome]) -> str:
    """The table of a page."""
    lines = [f"| Python | versions | {' | '.join(NAMES)} | README | tests |", "| --- " * (4 + len(NAMES)) + "|"]
    for each in outcomes:
        cells = each.python, each.which, *(each.versions[name] for name in NAMES), each.line, each.tests
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(words: list[str] | None = None) -> int:
    """Print the table as it grows; 1 where something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__.split("\n")[0])
    parser.add_argument("--lowest", action="store_true", help="the lowest versions alone")
    parser.add_argument("--newest", action="store_true", help="the newest versions alone")
    parser.add_argument("--this", action="store_true", help="this Python alone")
    parser.add_argument("--python", metavar="VERSION", help="that Python alone, as 3.12")
    parser.add_argument("--few", action="store_true", help="a hundred tests, with kernels as plain Python")
    parser.add_argument("--write", action="store_true", help="replace the table of docs/contributing.md")
    given = parser.parse_args(words)
    wanted = "{}.{}".format(*sys.version_info) if given.this else given.python
    chosen = [path for version, path in pythons().items() if wanted in (None, version)]
    outcomes = []
    for python in chosen:
        for lowest in [True] * (not given.newest) + [False] * (not given.lowest):
            begin = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="femb_versions_") as work:
                outcomes.append(outcome_in(Path(work), python, lowest, given.few))
            print(table_of(outcomes[-1:]) + f"{time.monotonic() - begin:.0f} s", flush=True)
    if given.write:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + BEGIN + table_of(outcomes) + END + rest.split(END)[1])
    return 0 if outcomes and all(each.good for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
