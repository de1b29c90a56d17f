"""Where things of the checkout are."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "cases"
BAD_CASES = ROOT / "tests" / "bad_cases"


def script(name: str) -> ModuleType:
    """A script of docs, which imports its neighbours."""
    folder = str(ROOT / "docs")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)
