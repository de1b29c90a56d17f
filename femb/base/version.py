"""The version of this code: the one that is installed, in a checkout of git with the commit that is checked out.

Beside it, the versions of numba with which it was tested.
"""

import re
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path

UNKNOWN = "0+unknown"
COMMIT = re.compile(r"[0-9a-f]{40,64}")
# The first and the last tested version of numba (major, minor).
TESTED_NUMBA = (0, 62), (0, 68)


def is_tested(numba: str) -> bool:
    """Whether femb was tested with this version of numba, such as "0.68.1"."""
    return TESTED_NUMBA[0] <= tuple(map(int, numba.split(".")[:2])) <= TESTED_NUMBA[1]


def numba_line() -> str:
    """The installed version of numba, and the tested ones where it is none of these."""
    found, (first, last) = installed("numba"), (f"{major}.{minor}" for major, minor in TESTED_NUMBA)
    return f"numba {found}" + ("" if is_tested(found) else f", not tested: femb was tested with {first} to {last}")


@cache
def version() -> str:
    """The version as setuptools-scm writes it at the installation: "0.1.dev1668+g3dcff1bbb".

    A checkout that is installed in place goes on to other commits: the part after "+" is that of the present one.
    """
    try:
        given = installed("femb")
    except PackageNotFoundError:
        given = UNKNOWN
    commit = commit_of(Path(__file__).resolve().parents[2])
    return f"{given.partition('+')[0]}+g{commit[:9]}" if commit else given


def commit_of(root: Path) -> str:
    """The commit that is checked out in a folder, by the files of its repository; empty where there is none."""
    try:
        folder = root / ".git"
        if folder.is_file():  # a further worktree names the folder with its head
            folder = root / folder.read_text().partition("gitdir:")[2].strip()
        head = (folder / "HEAD").read_text().strip()
        if head.startswith("ref:"):
            head = _of_reference(folder, head.partition("ref:")[2].strip())
    except OSError:
        return ""
    return head if COMMIT.fullmatch(head) else ""


def _of_reference(folder: Path, name: str) -> str:
    """The commit of a branch. Raises OSError where no file has it."""
    common = folder / "commondir"
    whole = folder / common.read_text().strip() if common.exists() else folder
    if (whole / name).exists():
        return (whole / name).read_text().strip()
    for line in (whole / "packed-refs").read_text().splitlines():
        commit, _, of = line.partition(" ")
        if of == name:
            return commit
    raise FileNotFoundError(name)
