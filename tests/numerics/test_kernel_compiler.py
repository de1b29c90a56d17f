"""The compiler of kernels: the same results as numba's own, and numba as it was afterwards."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from long_runs import slow, slow_but
from numba import njit
from numba.core import errors, types

from femb.numerics.compiler import kernel_compiler
from femb.numerics.compiler.kernel_compiler import KernelCompiler
from femb.numerics.vector3 import rotate


def inner(x, k, out):
    total = 0 * x[0]
    for i in range(x.size):
        total += x[i] / (k + i)
    out[k] = total
    return total, k * k


called = {name: njit(error_model="numpy", **options)(inner) for name, options in (("own", {}), ("plain", {}))}
called["own"] = njit(error_model="numpy", pipeline_class=KernelCompiler)(inner)


def outer_of(function):
    def outer(x, k, skip):
        out = np.zeros((2, 4), x.dtype)
        for row in range(2):
            sums, square = function(x[row], k, out[row])
            if skip is not None and skip > row:
                continue
            out[row, 3] = sums * square - out[row, k]
        return out

    return outer


@pytest.mark.parametrize("dtype", slow_but([float, np.int64], [float, complex, np.int64]))
@pytest.mark.parametrize("skip", [None, slow(1)])
def test_results_are_those_of_numba(dtype, skip):
    x = np.arange(2, 12).reshape(2, 5).astype(dtype)
    own = njit(error_model="numpy", pipeline_class=KernelCompiler)(outer_of(called["own"]))
    plain = njit(error_model="numpy")(outer_of(called["plain"]))
    if dtype is np.int64:
        # quotients are not integers: an overload kept for other operands would show here
        x = x * 60
    found, wanted = own(x, 1, skip), plain(x, 1, skip)
    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted)
    assert np.any(found != 0)


def test_numba_is_left_as_it_was():
    @njit(pipeline_class=KernelCompiler)
    def wrong(x):
        return x + "m"

    assert "get_call_type" not in vars(types.Function)
    with pytest.raises(errors.TypingError):
        wrong(1.0)
    assert "get_call_type" not in vars(types.Function)


def test_inner_kernels_say_that_python_cannot_call_them():
    x = np.arange(3.0)
    with pytest.raises(TypeError, match="rotate is called by kernels only"):
        rotate(np.eye(3), x, x)
    # not even once it has been compiled, by a kernel that calls it
    moved = np.empty(3)

    @njit(pipeline_class=KernelCompiler)
    def entrance(matrix, x, out):
        rotate(matrix, x, out)

    entrance(2.0 * np.eye(3), x, moved)
    assert np.array_equal(moved, 2.0 * x)
    with pytest.raises(TypeError, match="rotate is called by kernels only"):
        rotate(np.eye(3), x, moved)


PLAIN = """
import sys
import numpy as np
from femb.numerics import kinematics
from femb.numerics.compiler import compile, kernel_compiler
q = np.array([1.0, 3.0, 0.0, 4.0, 0.0])
print(kernel_compiler.KNOWN, type(kinematics.normalise).__name__, kinematics.normalise(np.array([1]), q), q.tolist())
"""


@pytest.mark.slow
def test_numba_alone_compiles_where_its_inside_is_another(tmp_path):
    """The same numbers, compiled for a cache of their own."""
    found = []
    for plain in ("", "1"):
        environment = {**os.environ, "FEMB_PLAIN_NUMBA": plain, "FEMB_CACHE": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", PLAIN], env=environment, capture_output=True, text=True, check=True
        )
        found.append(done.stdout.split(maxsplit=2))
    (known, _, own), (not_known, _, plain) = found
    assert (known, not_known) == ("True", "False")
    assert own == plain
    assert own.startswith("24.0 [1.0, 0.6")
    assert len(list((tmp_path / "femb").iterdir())) == 2


@pytest.mark.parametrize("version", ["0.59.1", "0.69.0", "1.0.0rc1"])
def test_versions_that_were_not_tested_are_not_known(version, monkeypatch):
    assert kernel_compiler._known()
    monkeypatch.setattr(numba, "__version__", version)
    assert not kernel_compiler._known()


def test_an_inside_that_lacks_a_name_is_not_known(monkeypatch):
    monkeypatch.delattr("numba.core.compiler.CompilerBase.compile_extra")
    assert not kernel_compiler._known()
