"""Traced functions: the same text on registers, lanes, numbers and arrays of numpy; changes against complex steps."""

from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest
from models import refuses
from numba.core import errors

from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.duals import (
    Dual,
    SmallArray,
    as_dual,
    atan2,
    cos,
    cross,
    dot,
    exp,
    identity,
    implicit,
    joined,
    lift,
    log,
    matrix,
    maximum,
    minimum,
    norm,
    outer,
    scaled,
    sin,
    skew,
    sqrt,
    value,
    vector,
    zeros_like,
)
from femb.numerics.compiler.lanes import LANES, groups, lanes, ungrouped
from femb.numerics.compiler.traced import (
    M3,
    V3,
    add_changes,
    add_to,
    change,
    changes_along,
    dual,
    of_one,
    put,
    put_changes,
    reader,
    traced,
    unit_changes,
)

STEP = 1e-30


def known(number, like):
    """A number that is known when code is written, with the changes of another; with its complex step."""
    if like.changes:
        return Dual(number, like.changes)
    return Dual(number + 1j * np.imag(like.value) if np.iscomplexobj(like.value) else number)


# Of a, b (3,) and s, t > 0.
RULES = {
    "sum": lambda a, b, s, t: a + b + vector(s, t, 1.0) - 2.0 * vector(t, 3, s),
    "differences": lambda a, b, s, t: joined(1.0 - s, s - 1.0, 0.0 - s, s - 0.0, s - s),
    "negation": lambda a, b, s, t: -a * -s,
    "products": lambda a, b, s, t: joined(s * a, a * t, s * t, 2.0 * s, s * 0.0, s * 1.0, s * -1.0),
    "quotients": lambda a, b, s, t: joined(a / s, a / 2.0, s / t, s / 3.0, 1.0 / t, 0.0 / t),
    "powers": lambda a, b, s, t: joined(s**1, s**2, t**5),
    "known zero": lambda a, b, s, t: joined(known(0.0, s) * a, known(0.0, s) * t, a + known(0.0, s) * a),
    "known one": lambda a, b, s, t: joined(known(1.0, s) * a, t * known(-1.0, s), a / known(1.0, t)),
    "known quotients": lambda a, b, s, t: joined(known(0.0, s) / t, s / known(2.0, t), known(3.0, s) / known(2.0, t)),
    "known functions": lambda a, b, s, t: joined(sqrt(known(4.0, s)), sin(known(0.0, s)), cos(known(0.0, s))),
    "known vector": lambda a, b, s, t: joined(norm(vector(known(3.0, s), 0.0, known(4.0, t))), exp(known(0.0, s))),
    "known kinks": lambda a, b, s, t: joined(
        abs(known(-1.0, s)), minimum(known(9.0, s), t), maximum(0.1, known(0.2, s))
    ),
    "known angle": lambda a, b, s, t: joined(atan2(known(1.0, s), known(-2.0, t)), log(known(1.0, s))),
    "dot, cross": lambda a, b, s, t: joined(dot(a, b), cross(a, b), a @ b, cross(vector(1.0, 0.0, 0.0), a)),
    "matrices": lambda a, b, s, t: joined(
        (identity(3) + s * skew(a)) @ b, outer(a, b) @ a, outer(a, b).T @ b, a @ outer(b, a), scaled(a, b)
    ),
    "products of matrices": lambda a, b, s, t: (skew(a) @ outer(b, a) - matrix((s, t, 1.0), a, b).T)[1],
    "entries": lambda a, b, s, t: joined(a[2], outer(a, b)[1, 2], outer(a, b)[0], a[1:], b[-1]),
    "sqrt": lambda a, b, s, t: joined(sqrt(s), sqrt(s * t)),
    "sin, cos": lambda a, b, s, t: joined(sin(s), cos(s), sin(a[0]), cos(a[0] * b[0])),
    "atan2": lambda a, b, s, t: joined(atan2(a[0], a[1]), atan2(a[2], -s), atan2(-a[2], s), atan2(1.0, t)),
    "exp, log": lambda a, b, s, t: joined(exp(a[0]), log(s), log(1.0 + s * t)),
    "abs": lambda a, b, s, t: joined(abs(a[0]), abs(-s), abs(s)),
    "minimum, maximum": lambda a, b, s, t: joined(
        minimum(s, t), minimum(t, s), maximum(s, t), maximum(t, s), maximum(s, 0.0), minimum(s, 0.0), maximum(9.0, t)
    ),
    "norm": lambda a, b, s, t: joined(norm(a), norm(a - b) * s),
    "lift": lambda a, b, s, t: joined(
        lift(value(s) * value(t), (value(t), s), (value(s), t)), lift(sin(s), (cos(s), s))
    ),
    "implicit": lambda a, b, s, t: (
        a * implicit(sqrt(value(s)), lambda x: x * x - s, lambda r: r * (0.5 / sqrt(value(s))))
    ),
    "implicit, with a root and a factor that have changes": lambda a, b, s, t: (
        b * implicit(sqrt(s), lambda x: x * x - s, lambda r: r * (0.5 / sqrt(s)))
    ),
    "zeros": lambda a, b, s, t: joined(zeros_like(a), zeros_like(s)),
}


@traced
def all_rules(a, b, s, t):
    return joined(*(rule(a, b, s, t) for rule in RULES.values()))


SIZE = len(all_rules(V3(np.ones(3)), V3(np.ones(3)), 1.0, 1.0))
read_changes = changes_along(12)


@inlined
def rules_of(x, dx, out, dout):
    """out = the results of all rules at x (8,), dout = their change by dx."""
    a, b, s, t = V3(x), V3(x[3:]), x[6], x[7]
    put(all_rules(a, b, s, t), out)
    changed = all_rules(dual(a, V3(dx)), dual(b, V3(dx[3:])), dual(s, dx[6]), dual(t, dx[7]))
    put(change(changed), dout)


@kernel
def of_numbers(x, dx, out, dout):
    for k in range(x.shape[0]):
        rules_of(x[k], dx[k], out[k], dout[k])


@kernel
def of_lanes(x, dx, out, dout):
    x, dx, out, dout = lanes(x), lanes(dx), lanes(out), lanes(dout)
    for k in range(x.shape[0]):
        rules_of(x[k], dx[k], out[k], dout[k])


@kernel
def of_directions(x, dx, out, dout):
    """dout (entries, 12), the changes of one point by dx (8, 12)."""
    a, b = read_changes(V3(x), dx), read_changes(V3(x[3:]), dx[3:])
    s, t = read_changes(x[6], dx[6:]), read_changes(x[7], dx[7:])
    changed = all_rules(a, b, s, t)
    put_changes(changed, dout)
    add_changes(changed, dout)
    put(of_one(changed), out)


def points(count, seed=3):
    """Rows (count, 8) of a, b, s, t."""
    rows = np.random.default_rng(seed).standard_normal((count, 8))
    rows[:, 6:] = 0.5 + np.abs(rows[:, 6:])
    return rows


def at_once(function, rows, drows=None):
    """The result (n, ...) of a function for rows (n, 8) of arguments, with numpy; its change if there are changes."""
    arguments = [(V3(x[:3]), V3(x[3:6]), x[6], x[7]) for x in (rows.T, rows.T if drows is None else drows.T)]
    if drows is None:
        return np.moveaxis(np.asarray(function(*arguments[0])), -1, 0)
    changed = function(*(dual(x, dx) for x, dx in zip(*arguments, strict=True)))
    return np.moveaxis(np.asarray(change(changed)), -1, 0)


def stepped(function, rows, drows):
    return at_once(function, rows + 1j * STEP * drows).imag / STEP


@pytest.mark.parametrize("name", RULES)
def test_changes_are_those_of_complex_steps(name):
    rows, drows = points(50), np.random.default_rng(4).standard_normal((50, 8))
    rule = traced(lambda a, b, s, t: joined(RULES[name](*map(as_dual_or_array, (a, b, s, t))), 0.0 * s))
    np.testing.assert_allclose(at_once(rule, rows, drows), stepped(rule, rows, drows), 1e-13, 1e-14)


def as_dual_or_array(x):
    return x if isinstance(x, SmallArray) else as_dual(x)


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, 1e-14, 1e-14 * np.abs(wanted).max())


@pytest.mark.slow
@pytest.mark.parametrize("function", [of_numbers, of_lanes], ids=["numbers", "lanes"])
def test_machine_code_computes_what_numpy_computes(function):
    x, dx = points(8), points(8, 5)
    out, dout = np.zeros((2, 8, SIZE))
    if function is of_numbers:
        function(x, dx, out, dout)
    else:
        grouped = [groups(each) for each in (x, dx, out, dout)]
        function(*grouped)
        out, dout = (ungrouped(each[None], 8)[0] for each in grouped[2:])
    close(out, at_once(all_rules, x))
    close(dout, at_once(all_rules, x, dx))
    assert np.abs(dout).max() > 1.0


@pytest.mark.slow
def test_lanes_hold_directions_of_one_element():
    x, dx = points(1)[0], points(12, 6).T.copy()
    out, dout = np.empty(SIZE), np.empty((SIZE, 12))
    of_directions(x, dx, out, dout)
    many = np.tile(x, (12, 1))
    close(out, at_once(all_rules, many)[0])
    close(dout.T, 2.0 * at_once(all_rules, many, dx.T.copy()))


# ---- kinks


KINKS = {
    "abs at zero": (lambda x, y: abs(x), (0.0, 0.0), 0.0, 0.0),
    "minimum of equals": (minimum, (2.0, 2.0), 2.0, 1.0),
    "maximum of equals": (maximum, (2.0, 2.0), 2.0, 1.0),
    "norm of zero": (lambda x, y: norm(vector(x, y)), (0.0, 0.0), 0.0, 0.0),
    "angle of the origin": (atan2, (0.0, 0.0), 0.0, 0.0),
    "root of zero": (lambda x, y: sqrt(x), (0.0, 0.0), 0.0, np.inf),
    "logarithm of zero": (lambda x, y: log(x), (0.0, 0.0), -np.inf, np.inf),
    "norm below zero": (lambda x, y: norm(vector(x, y)), (-3.0, -4.0), 5.0, -0.6 - 10.0 * 0.8),
}


read_kinks = reader(2 * len(KINKS))


@traced
def at_kinks(x):
    """Values of all kinks, each of its own two numbers."""
    return joined(*(rule(*x.items[2 * i : 2 * i + 2]) for i, (rule, *_) in enumerate(KINKS.values())))


@kernel
def kinks_of_numbers(x, dx, out, dout):
    put(at_kinks(read_kinks(x)), out)
    put(change(at_kinks(dual(read_kinks(x), read_kinks(dx)))), dout)


@kernel
def kinks_of_lanes(x, dx, out, dout):
    x, dx, out, dout = lanes(x), lanes(dx), lanes(out), lanes(dout)
    put(at_kinks(read_kinks(x)), out)
    put(change(at_kinks(dual(read_kinks(x), read_kinks(dx)))), dout)


@pytest.mark.slow
def test_every_kink_has_the_change_that_is_told():
    """By the directions (1, 10), at once, in machine code and in lanes."""
    x = np.array([each for _, point, _, _ in KINKS.values() for each in point])
    dx = np.tile([1.0, 10.0], len(KINKS))
    values, changes = np.array([(each, d) for _, _, each, d in KINKS.values()]).T
    np.testing.assert_array_equal(np.asarray(at_kinks(read_kinks(x)), float), values)
    np.testing.assert_allclose(np.asarray(change(at_kinks(dual(read_kinks(x), read_kinks(dx)))), float), changes, 1e-15)
    out, dout = np.empty((2, len(KINKS)))
    kinks_of_numbers(x, dx, out, dout)
    np.testing.assert_array_equal(out, values)
    np.testing.assert_allclose(dout, changes, 1e-15)
    wide = [np.tile(each[:, None], LANES) for each in (x, dx, out, dout)]
    kinks_of_lanes(*wide)
    for found, wanted in zip(wide[2:], (values, changes), strict=True):
        np.testing.assert_allclose(found, np.tile(wanted[:, None], LANES), 1e-15)


# ---- kernels: operators, entries, joins, tuples


class Section(NamedTuple):
    axes: object
    mass: float


Motion = namedtuple("Motion", "spin section")


@traced
def momentum(motion, factor):
    spin, section = motion
    return Motion(factor * section.mass * (section.axes @ spin), section), section.mass * factor


def glue(A, x, y, m, n):
    """Operators, entries and joins in the text of a kernel."""
    total = 0.0 * x
    for i in range(n):
        z = dual(x, y)
        if i % 2:
            total += z * m
        else:
            total -= -x / 2.0 + A.T @ y
    got, weight = momentum(Motion(x, Section(A, m)), factor=2.0)
    return change(total) + total[0] * got.spin + weight * A[1] + A[0, 2] * x[0] * y, got.section.mass


glue_inside = inlined(glue)


@kernel
def glued(x, out):
    """Of a row of a matrix, two vectors and a number."""
    v, mass = glue_inside(M3(x), V3(x[9:]), V3(x[12:]), x[15], 3)
    put(plain_of(v), out)
    out[3] = mass


@traced
def plain_of(x):
    return value(x)


@kernel
def seeded(x, rows, out):
    """x (6,) with a change of one of each entry, as rows (6, 8): a x b and |a|, twice."""
    a, b = first_three(V3(x)), last_three(V3(x[3:]))
    put_changes(crossed(a, b), rows)
    add_changes(crossed(a, b), rows)
    put(of_one(crossed(a, b)), out)
    add_to(of_one(crossed(a, b)), out)


@traced
def crossed(a, b):
    return joined(cross(a, b), norm(a))


first_three, last_three = unit_changes(0, 8), unit_changes(4, 8)


@pytest.mark.slow
def test_kernels_have_operators_entries_joins_and_named_tuples():
    rng = np.random.default_rng(1)
    x, out = rng.standard_normal(16), np.empty(4)
    glued(x, out)
    A, v, w, m = x[:9].reshape(3, 3), x[9:12], x[12:15], x[15]
    total = 2.0 * (v / 2.0 - A.T @ w) + m * v
    wanted = m * w + total[0] * 2.0 * m * (A @ v) + 2.0 * m * A[1] + A[0, 2] * v[0] * w
    np.testing.assert_allclose(out, [*wanted, m], 1e-14)
    found, mass = glue(M3(x), V3(v), V3(w), m, 3)
    np.testing.assert_allclose(np.asarray(value(found)), wanted, 1e-14)
    assert mass == m


def test_unit_changes_are_along_the_directions_that_are_told():
    x = np.random.default_rng(2).standard_normal(6)
    rows, out, again = np.empty((4, 8)), np.empty(4), np.empty((4, 8))
    seeded(x, rows, out)
    a, b = x[:3], x[3:]
    wanted = np.zeros((4, 8))
    for i, e in enumerate(np.eye(3)):
        wanted[:, i] = 2.0 * np.array([*np.cross(e, b), a[i] / np.linalg.norm(a)])
        wanted[:3, 4 + i] = 2.0 * np.cross(a, e)
    np.testing.assert_allclose(rows, wanted, 1e-15, 1e-16)
    np.testing.assert_allclose(out, 2.0 * np.array([*np.cross(a, b), np.linalg.norm(a)]), 1e-15)
    getattr(seeded, "py_func", seeded)(x, again, out)
    np.testing.assert_allclose(again, wanted, 1e-15, 1e-16)


# ---- refusals


@traced
def wrong_sum(a, b):
    return cross(a, b) + joined(a, b)


@traced
def branching(a):
    return a if a[0] > 0.0 else -a


@kernel
def calls_wrong_sum(x):
    return wrong_sum(V3(x), V3(x[3:]))[0]


@kernel
def reads_any(x, out):
    put(V3(x), out)


def test_an_error_names_the_function_the_line_and_both_shapes():
    x = np.ones(6)
    told = (
        r"wrong_sum: \(3,\) \+ \(6,\): wanted equal shapes\n.*test_traced.py, line \d+: return cross\(a, b\) \+ joined"
    )
    refuses(told + r"(.|\n)*called with a \(3,\), b \(3,\)", wrong_sum, V3(x), V3(x), error=TypeError)
    refuses(told, calls_wrong_sum, x, error=errors.TypingError)
    refuses("branching: a value is not known when code is written", branching, V3(x), error=TypeError)


def test_rows_that_are_not_contiguous_are_refused():
    x = np.ones((6, 6))
    refuses("wanted a contiguous array of float64", reads_any, x[:, 0], np.empty(3), error=errors.TypingError)
    refuses("wanted a contiguous array of float64", reads_any, x[0], x[:, 0], error=errors.TypingError)
    refuses("got array.int64", reads_any, np.ones(3, int), np.empty(3), error=errors.TypingError)
    x.flags.writeable = False
    refuses("cannot be written to", reads_any, x[0], x[1], error=errors.TypingError)
    refuses("wanted a row, or an array of shape", reads_any, x, np.empty(3), error=errors.TypingError)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        (r"\(3,\) \* \(3,\): wanted a number", lambda a: a * a),
        (r"\(3, 3\) @ \(2,\): wanted", lambda a: skew(a) @ vector(1.0, 2.0)),
        (r"dot of \(3,\) and \(2,\)", lambda a: dot(a, vector(1.0, 2.0))),
        (r"cross of \(3,\) and \(\)", lambda a: cross(a, 1.0)),
        (r"\(\) \+ \(3,\)", lambda a: 1.0 + a),
        (r"\(3,\) - \(\)", lambda a: a - a[0]),
        (r"\(3,\).T: wanted a matrix", lambda a: a.T),
        (r"wanted a whole number above zero", lambda a: a[0] ** 0.5),
        (r"wanted a number, got an array of shape \(3,\)", lambda a: sin(a)),
        (r"2 numbers do not have the shape \(3,\)", lambda a: SmallArray((3,), a[:2].items)),
    ],
)
def test_shapes_that_do_not_fit_are_told(text, call):
    refuses(text, traced(call), V3(np.ones(3)), error=TypeError)
