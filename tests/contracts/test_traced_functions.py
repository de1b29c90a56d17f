"""The changes of every traced function in the program, in every argument, against complex steps of its own text.

The functions are found by themselves. Their annotations declare the shapes of their arguments.
"""

import importlib
import re
from typing import get_args, get_origin, get_type_hints

import numpy as np
import pytest
from checkout import ROOT

from femb.elements.exact import inertia
from femb.numerics.compiler.duals import Dual, SmallArray
from femb.numerics.compiler.traced import Traced, reader

STEP = 1e-30
STATES = 20
COMPARED = "returns changes, which the last test of this file compares with complex steps of the force"
SEEDED = "makes the changes of a tangent, of functions that are compared; the tests of the element compare the tangent"
# Functions whose changes are not those of the results, each with the reason.
EXEMPT = {
    "numerics.compiler.traced.dual": "makes changes of its second argument",
    "numerics.compiler.traced.change": "returns changes",
    "elements.spring.batch.varied": SEEDED,
    **{
        f"elements.joint.primitives.{word}_{primitive}": "takes changes in time or by poses of texts that are compared"
        for word in ("varied", "found")
        for primitive in ("point", "rod", "angle", "offset", "stroke", "turn", "orientation")
    },
    "elements.load.central_gravity.axes_of_gradient": "takes roots of parts of a gradient, whose signs others lack",
    "elements.exact.deformation.moved_chord": SEEDED,
    "elements.exact.deformation.moved_rates": SEEDED,
    **{f"elements.exact.deformation.{word}_change": SEEDED for word in ("ends", "stress", "damping", "viscous")},
    "elements.exact.line_load.point_turn": "returns the value of a square, without changes",
    "elements.exact.inertia.spin_tangents": COMPARED,
    "elements.exact.inertia.change_by_pose": COMPARED,
    "elements.exact.inertia.change_by_rate": COMPARED,
}
# Properties of matrices that annotations declare beside the shape.
PROPERTIES = {
    "symmetric": lambda a: 0.5 * (a + a.swapaxes(0, 1)),
    "positive definite": lambda a: 0.5 * (a + a.swapaxes(0, 1)) + 6.0 * np.eye(len(a))[..., None],
}


def functions():
    """Every traced function, by its name with that of its module."""
    texts = {path: path.read_text() for folder in ("femb", "elements") for path in (ROOT / folder).rglob("*.py")}
    names = {
        ".".join(("femb", *path.relative_to(ROOT).with_suffix("").parts)).replace("femb.femb.", "femb.")
        for path, text in texts.items()
        if re.search(r"^@traced$|= traced\(", text, re.MULTILINE) and "/femb/elements/" not in path.as_posix()
    }
    return {
        f"{module.__name__.removeprefix('femb.')}.{name}": function
        for module in map(importlib.import_module, sorted(names))
        for name, function in vars(module).items()
        if isinstance(function, Traced) and function.__module__ == module.__name__
    }


FUNCTIONS = functions()


def declared(annotation, name):
    """The kind that an annotation declares: a shape with properties, or a list of a maker of tuples and their kinds."""
    if hasattr(annotation, "_fields"):
        hints = get_type_hints(annotation, include_extras=True)
        return [annotation, *(declared(each, f"{name}.{field}") for field, each in hints.items())]
    if get_origin(annotation) is tuple:
        kinds = (declared(each, f"{name}[{i}]") for i, each in enumerate(get_args(annotation)))
        return [lambda *parts: parts, *kinds]
    if not hasattr(annotation, "__metadata__"):
        pytest.fail(
            f"{name} declares no shape: annotate it with Number, Vector3, Matrix3, ... of femb/numerics/compiler/"
            "duals.py, with Annotated[Any, shape], or with a named tuple or tuple[...] of those",
            pytrace=False,
        )
    return annotation.__metadata__


def kinds_of(function):
    """Kinds of the arguments of a function, by name."""
    hints = get_type_hints(function.function, include_extras=True)
    return {name: declared(hints.get(name), f"{function.__name__}: {name}") for name in function.signature.parameters}


def values_of(kind, rng):
    """Values (entries, states) of the numbers of a kind."""
    if isinstance(kind, list):
        return np.concatenate([values_of(each, rng) for each in kind[1:]])
    shape, *properties = kind
    values = 0.3 + rng.random((*shape, STATES))
    for each in properties:
        values = PROPERTIES[each](values)
    return values.reshape(-1, STATES)


def made(kind, numbers):
    """An argument of a kind, of as many of the numbers as it takes."""
    if isinstance(kind, list):
        return kind[0](*(made(each, numbers) for each in kind[1:]))
    items = [next(numbers) for _ in range(int(np.prod(kind[0])))]
    return SmallArray(kind[0], items) if kind[0] else items[0]


def leaves(x):
    """The numbers in a result."""
    if isinstance(x, tuple):
        return [each for part in x for each in leaves(part)]
    return list(x.items) if isinstance(x, SmallArray) else [x if isinstance(x, Dual) else Dual(x)]


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - EXEMPT))
def test_changes_are_complex_steps_in_every_argument(name):
    function, rng = FUNCTIONS[name], np.random.default_rng(7)
    kinds = kinds_of(function)
    points = [x for kind in kinds.values() for x in values_of(kind, rng)]
    # directions along an axis before that of the states: in each, one number of the arguments changes
    units = np.eye(len(points))[..., None]

    def results(numbers):
        left = iter(numbers)
        return leaves(function(*(made(kind, left) for kind in kinds.values())))

    pairs = list(zip(points, units, strict=True))
    got = results(Dual(x + 0.0 * unit, (unit + 0.0 * x,)) for x, unit in pairs)
    want = results(Dual(x + 1j * STEP * unit) for x, unit in pairs)
    for one, other in zip(got, want, strict=True):
        d = 0.0 if not one.changes or one.changes[0] is None else one.changes[0]
        wanted = np.broadcast_to(np.imag(other.value) / STEP, (len(points), STATES))
        assert np.all(np.isfinite(wanted))
        scale = np.max(np.abs(wanted), axis=1, initial=1.0, keepdims=True)
        np.testing.assert_array_less(np.abs(d - wanted), 1e-9 * np.abs(wanted) + 1e-12 * scale)


def test_exemptions_are_of_functions_that_exist():
    assert EXEMPT.keys() <= FUNCTIONS.keys()


def test_changes_that_inertia_returns_are_complex_steps_of_its_force():
    rng = np.random.default_rng(9)
    numbers, gravity = reader(inertia.COLUMNS - inertia.POINTS)(rng.random(200)), reader(3)(rng.random(3))
    axes, places, rates, seconds = (rng.random((2, *shape)) for shape in ((3, 3), (3,), (6,), (6,)))

    def pairs(*arrays):
        return [tuple(map(reader(*each.shape[1:]), each)) for each in arrays]

    def compared(function, motion, wanted):
        got = np.asarray(function(numbers, 0.7, *pairs(axes, places, rates, seconds), gravity, *pairs(motion)))
        np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-13 * np.max(np.abs(wanted)))

    rows = [], []
    for unit in np.eye(12).reshape(12, 2, 6):
        step = 1j * STEP * unit
        turned = axes + axes @ np.cross(step[:, 3:, None], np.eye(3), axis=1)
        by_rate, by_pose = (axes, places, rates + step, seconds), (turned, places + step[:, :3], rates, seconds)
        for function, moved in ((inertia.change_by_rate, by_rate), (inertia.change_by_pose, by_pose)):
            force = np.asarray(inertia.inertia_force_beside(numbers, 0.7, *pairs(*moved), gravity))
            compared(function, unit, np.imag(force) / STEP)
        if np.any(unit[:, 3:]):
            for row, (R, _, v, a) in zip(rows, (by_rate, by_pose), strict=True):
                row.append(np.imag(np.asarray(inertia.inertia_force(numbers, *pairs(R, v, a), gravity))) / STEP)
    got = inertia.spin_tangents(numbers, *pairs(axes, rates, seconds), gravity)
    for one, wanted in zip(got, rows, strict=True):
        np.testing.assert_allclose(np.asarray(one), wanted, rtol=0.0, atol=1e-13 * np.max(np.abs(wanted)))
