"""The version of this code: of a checkout of git that of its commit and its changes, else the one that is installed."""

import hashlib
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path

UNKNOWN = "0+unknown"
DESCRIBED = re.compile(r"(?:v?(?P<tag>\d+(?:\.\d+)*)-(?P<distance>\d+)-g)?(?P<node>[0-9a-f]+)(?P<dirty>-dirty)?")


@cache
def version() -> str:
    """The version as setuptools-scm writes it: "0.1.dev1668+g3dcff1bbb", with a digest of changes not committed.

    A checkout is asked itself, since an installation in place has the version of the commit at which it was made.
    """
    root = Path(__file__).resolve().parents[2]
    try:
        return of_checkout(root) if (root / ".git").exists() else installed("femb")
    except (OSError, subprocess.SubprocessError, PackageNotFoundError):
        pass
    try:
        return installed("femb")
    except PackageNotFoundError:
        return UNKNOWN


def of_checkout(root: Path) -> str:
    """The version of a folder with a repository. Raises OSError or SubprocessError where git does not answer."""
    found = DESCRIBED.fullmatch(_git(root, "describe", "--tags", "--long", "--always", "--dirty", "--abbrev=9").strip())
    if found is None:
        raise OSError("git describes the checkout in words of its own")
    local = f"g{found['node']}"
    if found["dirty"]:
        local += f".d{hashlib.sha256(_git(root, 'diff', 'HEAD').encode()).hexdigest()[:8]}"
    elif found["tag"] and found["distance"] == "0":
        return found["tag"]
    if not found["tag"]:
        return f"0.1.dev{_git(root, 'rev-list', '--count', 'HEAD').strip()}+{local}"
    *first, last = found["tag"].split(".")
    return f"{'.'.join((*first, str(int(last) + 1)))}.dev{found['distance']}+{local}"


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, check=True, timeout=10)
    return done.stdout.decode(errors="replace")
