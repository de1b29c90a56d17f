"""Differences, by kind of quantity, of two results of the same items at the same output times."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.numerics import rotations
from femb.results.arrays import listing
from femb.results.groups import GROUPS as CATALOGUE
from femb.results.results import Results

SAME_INSTANT = 1e-12  # largest difference of two equal output times, relative to the last of them


@dataclass(frozen=True)
class Difference:
    """The largest difference of one kind of quantity.

    quantity, unit : such as "position" and "m". largest : the norm of the difference of vectors, the angle between
    attitudes, or the difference of numbers; NaN where one of the two results has NaN. time : its instant, s.
    where : its array, such as "bodies/hub/position". scale : the largest norm, in the same unit, of the quantity itself
    in the first results; pi for attitudes.
    """

    quantity: str
    unit: str
    largest: float
    time: float
    where: str
    scale: float


@dataclass(frozen=True)
class _Kind:
    """A kind of quantity, with the groups of items and the word of its arrays."""

    quantity: str
    unit: str
    items: tuple[str, ...]
    word: str
    vectors: bool = True


KINDS: tuple[_Kind, ...] = (
    _Kind("position", "m", ("bodies", "beams"), "position"),
    _Kind("orientation", "rad", ("bodies", "beams"), "quaternion"),
    _Kind("velocity", "m/s", ("bodies", "beams"), "velocity"),
    _Kind("angular velocity", "rad/s", ("bodies", "beams"), "angular_velocity"),
    _Kind("axial strain", "-", ("beams",), "strain", vectors=False),
    _Kind("kinetic energy", "J", ("audit",), "kinetic_energy", vectors=False),
    _Kind("potential energy", "J", ("audit",), "potential_energy", vectors=False),
    _Kind("work", "J", ("audit",), "work", vectors=False),
    _Kind("reaction force", "N", ("joints",), "force"),
    _Kind("reaction torque", "N m", ("joints",), "torque"),
    _Kind("driver force", "N or N m", ("drivers",), "force", vectors=False),
    _Kind("section force", "N", ("beams",), "section_force"),
    _Kind("section moment", "N m", ("beams",), "section_moment"),
    _Kind("root force", "N", ("appendages",), "force"),
    _Kind("root torque", "N m", ("appendages",), "torque"),
)
KINDS += tuple(
    _Kind(word.replace("_", " "), quantity.unit, (kind,), word, vectors=quantity.sizes[-1] == "3")
    for kind, group in CATALOGUE.items()
    for word, quantity in group.quantities().items()
    if quantity.recorded and kind != "audit"
)
GROUPS = ("bodies", "beams", "joints", "drivers")


def differences(
    first: Results, second: Results, names: tuple[str, str] = ("the first", "the second")
) -> tuple[Difference, ...]:
    """A Difference for each kind of quantity that both results, ``first`` and ``second``, have, in the order of
    ``KINDS``.

    Both must have the same output times and items; nothing is interpolated. A kind of quantity is left out if one of
    the two results has no array of it. names : of the two results, for messages.

    Raises ResultError where output times, items, or shapes of arrays differ.
    """
    check_times(first.time, second.time, names)
    for group in GROUPS:
        _check_names(group, first, second, names)
    result = [_largest(kind, first, second, names) for kind in KINDS]
    return tuple(difference for difference in result if difference is not None)


def check_times(first: Floats, second: Floats, names: tuple[str, str]) -> None:
    """Raise ResultError unless two arrays of output times (T,) are equal up to rounding."""
    one, other = names
    advice = "; nothing is interpolated: use the same run.duration and run.output_interval for both"
    if len(first) != len(second):
        raise ResultError(f"{other}: {_span(second)}, but {one} has {_span(first)}{advice}")
    gaps = np.abs(second - first)
    if gaps.size and not np.max(gaps) <= SAME_INSTANT * max(1.0, float(np.max(np.abs(first)))):
        k = int(np.argmax(gaps > SAME_INSTANT))
        raise ResultError(f"{other}: output time {k} is {second[k]:.12g} s, but {first[k]:.12g} s in {one}{advice}")


def _span(time: Floats) -> str:
    return f"{len(time)} output times up to {time[-1]:.6g} s" if len(time) else "no output times"


def _check_names(group: str, first: Results, second: Results, names: tuple[str, str]) -> None:
    """Raise ResultError unless both have the same items; their order does not matter."""
    in_first, in_second = getattr(first, group), getattr(second, group)
    for wanted, present, label in ((in_first, in_second, names[1]), (in_second, in_first, names[0])):
        missing = [name for name in wanted if name not in present]
        if missing:
            listed = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
            raise ResultError(f"{label}: has no {listed} among its {group}; there are: {listing(present)}")


def _pairs(kind: _Kind, first: Results, second: Results) -> Iterator[tuple[str, Floats, Floats]]:
    """Path and both arrays of a kind of quantity, where both results have it."""
    for group in kind.items:
        paths = ["audit"] if group == "audit" else [f"{group}/{name}" for name in getattr(first, group)]
        for path in (f"{path}/{kind.word}" for path in paths):
            if path in first.series and path in second.series:
                yield path, first.series[path], second.series[path]


def _largest(kind: _Kind, first: Results, second: Results, names: tuple[str, str]) -> Difference | None:
    measure: Callable[[Floats, Floats], tuple[Floats, Floats]]
    measure = _angles if kind.word == "quaternion" else _lengths if kind.vectors else _numbers
    worst: Difference | None = None
    scale = 0.0
    for path, a, b in _pairs(kind, first, second):
        if a.shape != b.shape:
            raise ResultError(
                f"{names[1]}: {path} has the shape {b.shape}, but {a.shape} in {names[0]}: "
                "beams must have the same elements"
            )
        if not a.size:
            continue
        gaps, size = measure(a, b)
        # NaN counts as the largest difference
        gaps = np.where(np.isnan(gaps), np.inf, gaps)
        k = int(np.argmax(gaps))
        scale = max(scale, float(np.max(size, initial=0.0, where=np.isfinite(size))))
        if worst is None or gaps[k] > worst.largest:
            worst = Difference(kind.quantity, kind.unit, float(gaps[k]), float(first.time[k]), path, scale)
    if worst is None:
        return None
    largest = float("nan") if np.isinf(worst.largest) else worst.largest
    return Difference(kind.quantity, kind.unit, largest, worst.time, worst.where, scale)


def _over_items(values: Floats) -> Floats:
    """(T,) the largest value at each instant; NaN if one of them is."""
    result: Floats = np.max(values.reshape(len(values), -1), axis=1)
    return result


def _lengths(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    return _over_items(np.linalg.norm(second - first, axis=-1)), _over_items(np.linalg.norm(first, axis=-1))


def _numbers(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    return _over_items(np.abs(second - first)), _over_items(np.abs(first))


def _angles(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Angles between attitudes, by sine and cosine of the half angle for accuracy; p and -p are the same attitude."""
    p = rotations.multiply(rotations.conjugate(first), second)
    angle = 2.0 * np.arctan2(np.linalg.norm(p[..., 1:], axis=-1), np.abs(p[..., 0]))
    return _over_items(angle), np.full(len(first), np.pi)
