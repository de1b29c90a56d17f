"""Kernels bound to their arguments: called by address they do what they do when Python calls them."""

import numpy as np
import pytest

from femb.numerics.compiler.bound_calls import AVAILABLE, Bound, BoundSequence, Program, call_bound, call_for_number
from femb.numerics.compiler.compile import kernel, kernel_with_entry

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="kernels have no entries in this version of numba")


@kernel_with_entry
def add(x, pair, factor, doubled, number, y):
    """A kernel with all kinds of arguments: y (n,) += ..., and the number of a negative one."""
    shift, rows = pair
    for i in range(y.size):
        y[i] += factor * x[i] + shift * rows[i, 0] + number + (x[i] if doubled else 0.0)
    for i in range(y.size):
        if y[i] < 0.0:
            return i
    return -1


@kernel_with_entry
def size(x, factor):
    """A kernel that returns a number."""
    return factor * x[0]


@kernel
def run(calls):
    """The integer of each call."""
    for k in range(calls.shape[0]):
        bad = call_bound(calls[k, 0], calls[k, 1])
        if bad != -1:
            return bad
    return -1


@kernel
def run_for_number(calls):
    """The number of the last call."""
    number = 0.0
    for k in range(calls.shape[0]):
        number = call_for_number(calls[k, 0], calls[k, 1])
    return number


def entries(*calls):
    """The entries of calls, which the program keeps."""
    kept.append(Program(calls))
    return kept[-1].put_together({})


kept = []


@pytest.mark.slow
def test_calls_by_address_are_those_of_python():
    rng = np.random.default_rng(0)
    x, rows = rng.random(5), rng.random((5, 3))
    found, wanted = np.zeros(5), np.zeros(5)
    for doubled in (False, True):
        arguments = x, (0.25, rows), 0.5, doubled, 3
        calls = [Bound(add, *arguments, found), Bound(add, *arguments, found)]
        assert run(entries(BoundSequence(calls[:1]), calls[1])) == -1
        for _ in range(2):
            assert Bound(add, *arguments, wanted)() == -1
        np.testing.assert_array_equal(found, wanted)
    found[3] = -100.0
    assert run(entries(calls[0])) == 3


def test_arguments_are_changed_in_place():
    x, other, rows, y = np.ones(3), np.array([2.0, 4.0, 8.0]), np.ones((3, 1)), np.zeros(3)
    call = Bound(add, x, (0.0, rows), 1.0, False, 0, y)
    calls = entries(call)
    call.point("x", other)
    run(calls)
    np.testing.assert_array_equal(y, other)
    number = Bound(size, x, 2.0)
    assert run_for_number(entries(call, number)) == number() == 2.0
    assert Program([call, number]).number() == 2.0


def test_results_are_checked():
    told = []
    Bound(add, np.ones(2), (0.0, np.ones((2, 1))), -9.0, False, 0, np.zeros(2), check=told.append)()
    assert told == [0]


def test_python_functions_are_called_back():
    """An error ends the calls, as a failed kernel does, and Python raises it; an interrupt is not lost."""
    y, rows, raised = np.zeros(2), np.ones((2, 1)), [None]

    def double(out):
        if raised[0] is not None:
            raise raised[0]
        out *= 2.0

    one = Bound(add, np.ones(2), (0.0, rows), 1.0, False, 0, y)
    calls = [one, Bound(double, y), one]
    program = Program(calls)
    bound = program.put_together({})
    assert run(bound) == -1
    np.testing.assert_array_equal(y, [3.0, 3.0])
    for error in (ValueError("no value"), KeyboardInterrupt()):
        raised[0] = error
        assert run(bound) == 0
        raised[0] = None if isinstance(error, KeyboardInterrupt) else error
        with pytest.raises(type(error)):
            program()
