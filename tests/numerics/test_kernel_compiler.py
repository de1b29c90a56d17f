"""The compiler of kernels: the same results as numba's own, and numba as it was afterwards."""

import os
import runpy
import subprocess
import sys
import warnings

import numba
import numpy as np
import pytest
from long_runs import slow, slow_but
from models import refuses
from numba import njit
from numba.core import errors, types

from femb.base import version
from femb.base.errors import FembWarning
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


@pytest.mark.slow
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
    refuses("rotate is called by kernels only", rotate, np.eye(3), x, x, error=TypeError)
    # not even once it has been compiled, by a kernel that calls it
    moved = np.empty(3)

    @njit(pipeline_class=KernelCompiler)
    def entrance(matrix, x, out):
        rotate(matrix, x, out)

    entrance(2.0 * np.eye(3), x, moved)
    assert np.array_equal(moved, 2.0 * x)
    refuses("rotate is called by kernels only", rotate, np.eye(3), x, moved, error=TypeError)


def test_a_numba_that_was_not_tested_is_said(monkeypatch):
    monkeypatch.setattr(numba, "__version__", "0.99.1")
    monkeypatch.setattr(version, "installed", lambda name: "0.99.1")
    with pytest.warns(
        FembWarning, match=r"numba 0.99.1, not tested: femb was tested with 0.62 to 0.68; .* three times"
    ):
        runpy.run_path(kernel_compiler.__file__)
    monkeypatch.setenv("FEMB_PLAIN_NUMBA", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not runpy.run_path(kernel_compiler.__file__)["KNOWN"]


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


TABLE = np.array([[0.25, -1.5], [3.0, 0.125], [-2.0, 7.0]])


def checked(x, k):
    if x[k] > 1e3:
        raise ValueError("too large")
    return x[k]


def entries(x, numbers, columns, stop, step, out, call):
    work, sums = np.empty((2, 3)), np.zeros(2)
    last = x[0, 0]
    for i in range(x.shape[0]):
        row, again = x[i], np.zeros(3)
        for j in range(-1, x.shape[1] - 1):
            again[j] += row[j] + TABLE[j, i % 2]
            work[i, j] = again[j] * x[i, -1] + call(x[i], j)
            last = again[2]
        x[i, 0] -= again[-3]
    for k in range(stop, -stop, step):
        sums[k] += work[k % 2, 0]
        for m in range(k):
            sums[m % 2] -= x[0, m]
    for k in range(2, -1, -1):
        out[0, k], out[-1, k] = work[0, k] + last, sums[numbers[k]] * columns[k, 1] + work[1][k]
    return sums[0], work.shape


@pytest.mark.slow
@pytest.mark.parametrize("step", [-1, -2, 1])
def test_entries_rows_ranges_and_small_arrays_are_those_of_python(step):
    """Negative and unsigned places, columns that are not contiguous, ranges of all steps, arrays inside loops."""

    def results(call, function):
        x, out = np.arange(6.0).reshape(2, 3) ** 1.5 - 3.0, np.full((2, 3), np.nan)
        numbers, columns = np.array([1, 0, 1], np.uint8), (np.arange(12.0) ** 0.5).reshape(3, 4)[:, ::2]
        return *function(x, numbers, columns, 1, step, out, call), x.tobytes(), out.tobytes()

    options = {"error_model": "numpy", "pipeline_class": KernelCompiler}
    assert results(njit(**options)(checked), njit(**options)(entries)) == results(checked, entries)


def kept(x):
    return small_copy(x)[1]


@njit(pipeline_class=KernelCompiler)
def small_copy(x):
    made = np.empty((2, 3))
    made[0], made[1] = x[0], x[1]
    return made


@pytest.mark.slow
def test_small_arrays_are_on_the_stack_unless_they_are_returned():
    def total(x):
        turned = np.empty((3, 3))
        for i in range(3):
            for j in range(3):
                turned[i, j] = x[j, i]
        found = 0.0
        for i in range(3):
            found += turned[0, i] * turned[i, 1]
        return found

    x = np.arange(9.0).reshape(3, 3)
    kernel = njit(pipeline_class=KernelCompiler)(total)
    assert kernel(x) == total(x)
    (code,) = kernel.inspect_llvm().values()
    assert "NRT_" not in code.split("cpython")[0]
    assert np.array_equal(njit(pipeline_class=KernelCompiler)(kept)(x), x[1])


def test_loops_are_unrolled_where_the_number_of_passes_is_known():
    """It is not that of an array, whose sum is then written once and not several times."""

    @kernel_compiler.compiled
    def kernel(x, y):
        s = 0.0
        for k in range(x.size):
            s += x[k]
        for k in range(3):
            s *= y[k]
        return s

    assert kernel(np.arange(5.0), np.ones(3)) == 10.0
    (code,) = kernel.inspect_llvm().values()
    assert (code.count(" fadd double"), code.count(" fmul double")) == (1, 3)


@pytest.mark.slow
def test_kernels_that_allocate_by_assignment_count_references():
    def turned(x):
        made = np.empty((2, 2))
        made[:] = x.T
        return made[0, 1] + made[1, 0] * 3.0

    x = np.arange(4.0).reshape(2, 2)
    assert njit(pipeline_class=KernelCompiler)(turned)(x) == turned(x)


def test_errors_pass_through_calls():
    inside = njit(pipeline_class=KernelCompiler)(checked)
    kernel = njit(pipeline_class=KernelCompiler)(lambda x, k: 2.0 * inside(x, k))
    assert kernel(np.array([1.0, 2e3]), 0) == 2.0
    refuses("too large", kernel, np.array([1.0, 2e3]), 1, error=ValueError)
