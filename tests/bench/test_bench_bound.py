"""The count of operations calls kernels by their arguments, which change with the kernels."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_operations_of_all_kernels_are_counted():
    script = Path(__file__).with_name("operations.py")
    words = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(script.parent)}
    done = subprocess.run([sys.executable, script, "8"], env=words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"solve"') == 2
