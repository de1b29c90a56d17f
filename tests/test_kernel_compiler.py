"""The compiler of kernels: the same results as numba's own, and numba as it was afterwards."""

import numpy as np
import pytest
from numba import njit
from numba.core import errors, types

from femb.numerics.kernel_compiler import KernelCompiler
from femb.numerics.vector3 import turn


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


@pytest.mark.parametrize("dtype", [float, complex, np.int64])
@pytest.mark.parametrize("skip", [None, 1])
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
    with pytest.raises(TypeError, match="turn is called by kernels only"):
        turn(np.eye(3), x, x)
    # not even once it has been compiled, by a kernel that calls it
    moved = np.empty(3)

    @njit(pipeline_class=KernelCompiler)
    def entrance(matrix, x, out):
        turn(matrix, x, out)

    entrance(2.0 * np.eye(3), x, moved)
    assert np.array_equal(moved, 2.0 * x)
    with pytest.raises(TypeError, match="turn is called by kernels only"):
        turn(np.eye(3), x, moved)
