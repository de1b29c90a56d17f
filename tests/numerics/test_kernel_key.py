"""Keys of kernels: every function and constant behind a kernel is part of its key, also those of plug-ins."""

import importlib
import sys

import pytest

from femb.numerics.compiler.kernel_key import key_of

KERNEL = """
import functools
import math
from typing import NamedTuple

import numba
import numpy as np
from numba.extending import intrinsic

import key_helpers
from femb.numerics.compiler.traced import reader, traced

TABLE = np.array([1.0, 2.0])
FACTOR = 2.0
PLACES = {"first": 0, "last": 4}


class Row(NamedTuple):
    length: float
    mass: float


class Curve:
    @staticmethod
    def value(t):
        return t + 8.0

    def slope(self):
        return 9.0

    @property
    def size(self):
        return 10.0


def power(t, exponent=11):
    return t**exponent


def scaled(t, *, by=12.0):
    return by * t


def made(number):
    def inside(t):
        return number * t
    return inside


closed, bound = made(13.0), functools.partial(power, 14.0)
alike = lambda t: t + 15.0


def written(t):
    shown = key_helpers.deeper(t) + Curve.value(t) + Curve().slope() + Curve().size + closed(t) + alike(t)
    return shown + power(t) + scaled(t) + bound() + np.cross(TABLE, TABLE) + PLACES["last"]


@intrinsic
def entry(typingctx, t):
    def code(context, builder, sig, args):
        return written(args[0])
    return t(t), code


row = reader(3)


@traced
def force(x):
    return 19.0 * key_helpers.halved(x)


@numba.njit
def called(t):
    return key_helpers.square(t) + Row(t, t).mass + force(row(t))[0]


def kernel(t):
    '''Its text.'''
    return FACTOR * called(entry(t)) + math.sqrt(t)
"""

HELPERS = """
import numba


def deepest(t):
    return t + 16.0


def halved(x):
    return x / 20.0


def deeper(t):
    return deepest(t)


@numba.njit
def square(t):
    return 17.0 * t


def unused(t):
    return t + 18.0
"""

# old and new text of what is edited
EDITS = {
    "the kernel": ("math.sqrt(t)", "math.cos(t)"),
    "a constant of the kernel": ("FACTOR = 2.0", "FACTOR = 3.0"),
    "a kernel that it calls": ("Row(t, t).mass", "Row(t, 2.0 * t).mass"),
    "a kernel of another module": ("17.0", "-17.0"),
    "the fields of a named tuple": ("length: float\n    mass: float", "mass: float\n    length: float"),
    "an intrinsic": ("written(args[0])", "written(args[0] + 1)"),
    "a function of an intrinsic": ("closed(t) + alike(t)", "closed(t) - alike(t)"),
    "a function of a module that it names": ("deepest(t)\n", "-deepest(t)\n"),
    "the last function of a chain": ("16.0", "-16.0"),
    "a method of a class": ("t + 8.0", "t - 8.0"),
    "a method of an instance": ("return 9.0", "return -9.0"),
    "a property": ("return 10.0", "return -10.0"),
    "a default": ("exponent=11", "exponent=12"),
    "a default of a keyword": ("by=12.0", "by=-12.0"),
    "what a closure holds": ("made(13.0)", "made(-13.0)"),
    "an argument of a partial": ("partial(power, 14.0)", "partial(power, -14.0)"),
    "a lambda": ("t + 15.0", "t - 15.0"),
    "a traced function": ("19.0", "-19.0"),
    "a function that a traced one calls": ("20.0", "-20.0"),
    "the shape of what is read": ("reader(3)", "reader(4)"),
    "an array": ("[1.0, 2.0]", "[1.0, 3.0]"),
    "an entry of a table": ('"last": 4', '"last": 5'),
}
NO_EDITS = {
    "nothing": ("", ""),
    "a text": ("Its text.", "Another text."),
    "a line": ("FACTOR = 2.0", "\n\nFACTOR = 2.0"),
    "what nobody calls": ("18.0", "-18.0"),
}


@pytest.fixture
def key(tmp_path, monkeypatch):
    """The key of the kernel of a plug-in after an edit."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def keyed(old, new):
        for name, text in (("key_helpers", HELPERS), ("key_kernel", KERNEL)):
            (tmp_path / f"{name}.py").write_text(text.replace(old, new) if old else text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        try:
            return key_of(importlib.import_module("key_kernel").kernel)
        finally:
            for name in ("key_helpers", "key_kernel"):
                sys.modules.pop(name, None)

    return keyed


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_any_function_behind_a_kernel_asks_for_a_new_key(key, edit):
    old, new = EDITS[edit]
    assert (KERNEL + HELPERS).count(old) == 1
    assert key("", "") != key(old, new)


@pytest.mark.parametrize("edit", NO_EDITS)
def test_what_a_kernel_does_not_compute_leaves_its_key(key, edit):
    assert key("", "") == key(*NO_EDITS[edit])
