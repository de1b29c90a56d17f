"""Processes that see more files than the checkout has, as if somebody had added them to femb.

A copy of the package would compile all its kernels anew.
"""

import os
import subprocess
import sys

from checkout import ROOT

# Files beside this one come before those of the same modules in the checkout.
FINDER = """
import sys
from importlib.machinery import PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path


class Added:
    def find_spec(name, path=None, target=None):
        parts = name.split(".")
        file = Path(__file__).parent.joinpath(*parts[parts[:2] == ["femb", "elements"] :])
        if parts[0] == "femb" and file.with_suffix(".py").exists():
            return spec_from_file_location(name, file.with_suffix(".py"))
        if parts[0] == "femb" and (file / "__init__.py").exists():
            folders = PathFinder.find_spec(name, path).submodule_search_locations
            return spec_from_file_location(name, file / "__init__.py", submodule_search_locations=folders)


sys.meta_path.insert(0, Added)
"""


def with_added(folder, *arguments):
    """Output of a Python process in a folder, which imports the modules that are there instead of the checkout's."""
    (folder / "sitecustomize.py").write_text(FINDER)
    path = os.pathsep.join([str(folder), str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
