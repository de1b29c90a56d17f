"""Couplings: one relation of coordinates of joints, as of gears, racks, screws and differentials."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.quantity import Group
from femb.base.types import POSITIVE, Arguments, Floats, Numbers, Pair, Unit
from femb.base.values import as_numbers, frozen_array, shown
from femb.elements.item import Item
from femb.elements.joint.constraint_set import ConstraintRow
from femb.elements.joint.coordinates import term_row
from femb.elements.joint.on_coordinate import coordinate_symmetry
from femb.elements.joint.records import on_frames
from femb.elements.joint.results import CouplingResults
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Input, OutputRows
from femb.layout.layout import Layout, RelationLayout
from femb.layout.symmetry import EVERY, Surroundings, Symmetry, intersection
from femb.layout.views import LinearPoint, ModelView, OutputStates, StartPoses

# A relation is the sum of a_k h_k(c_k) less b, with coordinates c_k of joints, whose angles count turns.
# Source: docs/theory/constraints.md, equations (18) to (20).


@dataclass(frozen=True, eq=False)
class JointCoordinate(Brief):
    """A coordinate of a joint."""

    joint: str
    """its name"""
    coordinate: str | None = None
    """the name of one of the joint's coordinates; by default the first one, of a rack or a screw the first angle or
    the first stroke"""

    def __post_init__(self) -> None:
        with Checks(self, "coordinate") as check:
            check.require("joint", bool(self.joint), "wanted the name of a joint")


Law = Callable[[float], tuple[float, float, float]]
"""A function of a coordinate, with its first and second derivative."""
ANGULAR, STRAIGHT = True, False


class Term(NamedTuple):
    """A term of a relation: the field with its coordinate, the factor, and the function of the coordinate, by default
    the coordinate itself. is_angle : whether the coordinate must be an angle, or a stroke; None for either."""

    field: tuple[str, ...]
    of: JointCoordinate
    factor: float
    law: Law | None = None
    is_angle: bool | None = None

    def slopes(self, values: Floats) -> Floats:
        """The derivatives of the term at values (s,) of the coordinate."""
        if self.law is None:
            return np.full(len(values), self.factor)
        law = self.law
        return self.factor * np.array([law(value)[1] for value in values.tolist()])

    def value(self, coordinate: float) -> float:
        """The term at a coordinate."""
        return self.factor * (coordinate if self.law is None else float(self.law(coordinate)[0]))


class Relation(Item):
    """Base class of couplings: a class gives the terms of its relation.

    Its powers on the coordinates add up to zero, and so do the momenta, where all joints begin on one body, which
    carries the gear.
    """

    table: ClassVar[str] = "couplings"
    results: ClassVar[type[Group]] = CouplingResults
    # whether all coordinates are angles, or all strokes
    alike: ClassVar[bool] = True

    name: str
    offset: float | None

    def check(self, check: Checks) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if each.type is JointCoordinate and not isinstance(value, JointCoordinate):
                check.fail(each.name, f"got {shown(value)}, wanted a femb.JointCoordinate, the name of a joint in it")

    def terms(self) -> tuple[Term, ...]:
        """The terms, one for each coordinate."""
        raise NotImplementedError

    @property
    def joint_coordinates(self) -> Mapping[tuple[str, ...], tuple[str, str | None]]:
        """Names of the joints and coordinates, by field."""
        return {term.field: (term.of.joint, term.of.coordinate) for term in self.terms()}

    def frames(self, layout: Layout) -> list[int]:
        """The frames of its joints."""
        joints = [layout.joints[term.of.joint] for term in self.terms()]
        return [end.frame for joint in joints for end in (joint.first, joint.second)]

    def angular(self, layout: Layout) -> tuple[bool, ...]:
        return tuple(coordinate.is_angle for _, _, coordinate in self._coordinates(layout))

    def symmetry(self, around: Surroundings) -> Symmetry:
        # What leaves each of its coordinates as it is.
        kept = [coordinate_symmetry(around, joint, k).motions for joint, k, _ in self._coordinates(around.layout)]
        return EVERY if all(len(motions) == 6 for motions in kept) else Symmetry.of(intersection(kept))

    def _coordinates(self, layout: Layout) -> list[tuple[Any, int, Any]]:
        """The joint, the index in it, and the coordinate, of every term. Raises ModelError."""
        result = []
        for term in self.terms():
            joint = layout.joints[term.of.joint]
            fits = [
                k
                for k, each in enumerate(joint.coordinates)
                if term.of.coordinate in (None, each.name) and term.is_angle in (None, each.is_angle)
            ]
            if not fits:
                wanted, other = ("an angle", "strokes") if term.is_angle else ("a stroke", "angles")
                raise ModelError.at(
                    (self.table, self.name, *term.field),
                    f"the {self.kind} needs {wanted} of the joint {term.of.joint!r}, which has {other} there",
                )
            result.append((joint, fits[0], joint.coordinates[fits[0]]))
        return result

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """One row between all frames of its joints. Raises ModelError for coordinates of unequal units, for one that is
        named twice, and for a relation that leaves nothing free, or depends on others."""
        terms, found = self.terms(), self._coordinates(layout)
        numbers = [joint.part.start + k for joint, k, _ in found]
        words = [f"joints.{term.of.joint}.{each.name}" for term, (_, _, each) in zip(terms, found, strict=True)]
        for k, (term, word) in enumerate(zip(terms, words, strict=True)):
            if word in words[:k]:
                raise ModelError.at((self.table, self.name, *term.field), f"is {word} again: name each coordinate once")
        if self.alike and len({each.is_angle for _, _, each in found}) > 1:
            units = ", ".join(
                f"{word} in {'rad' if each.is_angle else 'm'}" for word, (_, _, each) in zip(words, found, strict=True)
            )
            raise ModelError.at(
                (self.table, self.name, *terms[-1].field),
                f"has another unit, got {units}: take 'rack' or 'screw' for an angle and a stroke, or 'table'",
            )
        frames = dict.fromkeys(end.frame for joint, _, _ in found for end in (joint.first, joint.second))
        row = layout.add_row(f"{self.table}.{self.name}: relation", *frames)
        start = [each.value(layout.pose(joint.first), layout.pose(joint.second)) for joint, _, each in found]
        values = [term.value(at) for term, at in zip(terms, start, strict=True)]
        offset = sum(values) if self.offset is None else self.offset
        linear = all(term.law is None for term in terms)
        factors = tuple(term.factor for term in terms) if linear else ()
        layout.relations[self.name] = RelationLayout(row, tuple(numbers), tuple(words), factors, offset)
        self._check_free(layout)

    def _check_free(self, layout: Layout) -> None:
        """Raise ModelError where the relation, those before it and drivers leave nothing free, or depend."""
        driven = {entry.coordinate: name for name, entry in layout.drivers.items() if entry.coordinate >= 0}
        own, others = layout.relations[self.name], list(layout.relations.items())[:-1]
        path = (self.table, self.name)
        if set(own.numbers) <= driven.keys():
            drivers = ", ".join(f"drivers.{driven[number]}" for number in own.numbers)
            raise ModelError.at(path, f"each of its coordinates has a driver, {drivers}: leave one of them free")
        linked, names, grows = set(own.numbers), list[str](), True
        while grows:
            more = [name for name, each in others if name not in names and linked & set(each.numbers)]
            names += more
            linked |= {number for name in more for number in layout.relations[name].numbers}
            grows = bool(more)
        together = [layout.relations[name] for name in (*names, self.name)]
        if not names or not all(each.factors for each in together):
            return
        columns = sorted(linked)
        rows = np.zeros((len(together), len(columns)))
        for k, each in enumerate(together):
            for number, factor in zip(each.numbers, each.factors, strict=True):
                rows[k, columns.index(number)] = factor / max(map(abs, each.factors))
        held = np.array([number in driven for number in columns])
        circle = f"with {', '.join(f'couplings.{name}' for name in names)}"
        if np.linalg.matrix_rank(rows, tol=SAME) < len(rows):
            raise ModelError.at(path, f"says nothing new {circle}: leave one of them out")
        if np.linalg.matrix_rank(rows[:, ~held], tol=SAME) < len(rows) or len(rows) >= np.sum(~held) > 0 == held.any():
            what = "and drivers " if held.any() else ""
            raise ModelError.at(
                path,
                f"{circle} {what}leaves none of the coordinates free to move, as a circle of ratios whose product is "
                "not one: leave one of them out, or correct a ratio",
            )

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        """Its terms, one row each."""
        entry, rows, number = layout.relations[self.name], [], 0
        for k, (term, (joint, _, coordinate)) in enumerate(zip(self.terms(), self._coordinates(layout), strict=True)):
            inputs = {"last": -1, "follows": -1}
            for word, given in (("last", coordinate.is_angle), ("follows", term.law is not None)):
                if given:
                    inputs[word], number = number, number + 1
            offset = entry.offset if k == 0 else 0.0
            rows.append(term_row(entry.row, joint, coordinate, term.factor, offset=offset, **inputs))
        return rows

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        """The angle of each term at the last accepted state, and its function at the state."""
        inputs = []
        for term, (joint, k, coordinate) in zip(self.terms(), self._coordinates(layout), strict=True):
            if coordinate.is_angle:
                inputs.append(Input.of_angles(np.array([joint.part.start + k])))
            if term.law is not None:
                label = f"{self.table}.{self.name}.{term.field[0]}"
                inputs.append(
                    Input(4, _at_state(term.law, term.of.joint, k), of_state=True, label=label, differentiated=True)
                )
        return tuple(inputs)

    # Results

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        layout = system.layout
        entries = {f"couplings/{item.name}": (item, layout.relations[item.name]) for item in items}
        attributes = {path: {"names": json.dumps([*map(_short, entry.words)])} for path, (_, entry) in entries.items()}

        def series(frames: OutputStates) -> dict[str, Floats]:
            block: dict[str, Floats] = {}
            for path, (item, entry) in entries.items():
                values, terms = frames.coordinates[:, entry.numbers], item.terms()
                slopes = np.stack([term.slopes(c) for term, c in zip(terms, values.T, strict=True)], axis=1)
                block[f"{path}/force"] = -frames.multipliers[:, layout.row_c[entry.row], None] * slopes
                sums = [sum(term.value(c) for term, c in zip(terms, row, strict=True)) for row in values.tolist()]
                block[f"{path}/violation"] = np.array(sums) - entry.offset
            return block

        return Records(attributes=attributes, series=series)

    def linear_outputs(self, layout: Layout) -> Mapping[str, bool]:
        """Its forces."""
        return {"force": False}

    def output_rows(self, point: LinearPoint, quantity: str) -> OutputRows | None:
        """The rows of the forces at the ``point``, the ``quantity`` that it gives, N or N m."""
        if quantity != "force":
            return None
        system, layout = point.system, point.system.layout
        entry, found = layout.relations[self.name], self._coordinates(layout)
        multiplier = float(point.multipliers[layout.row_c[entry.row]])
        values = system.joint_motion(point.q, point.v)[0][list(entry.numbers)]
        by_pose, by_multipliers = np.zeros((len(found), system.n_v)), np.zeros((len(found), system.n_c))
        for k, (term, (joint, _, _)) in enumerate(zip(self.terms(), found, strict=True)):
            by_multipliers[k, layout.row_c[entry.row]] = -term.slopes(values[k : k + 1])[0]
            if term.law is not None:
                gradient = system.coordinates_of_joints.rows(entry.numbers[k], point.q, point.v)[0]
                bend = term.factor * term.law(float(values[k]))[2]
                by_pose[k] = -multiplier * bend * on_frames(layout, joint, gradient, system.n_v)[0]
        unit = "N m" if found[0][2].is_angle else "N"
        return OutputRows(unit, by_pose, multipliers=by_multipliers, components=tuple(map(_short, entry.words)))


# Singular values of relations below this are zero: of ratios that are typed with fewer digits.
SAME = 1e-9


def _short(word: str) -> str:
    return word.removeprefix("joints.")


def _at_state(law: Law, joint: str, k: int) -> Callable[[float, Any], Any]:
    """The function of time and state with a coordinate, and a law of it with two derivatives."""

    def at(t: float, state: Any) -> tuple[float, ...]:
        c = float(state.joints[joint].coordinates[k])
        return (c, *law(c))

    return at


# The kinds.


@dataclass(frozen=True, eq=False)
class Coupling(Relation):
    """A linear relation of coordinates of joints: the sum of factors times coordinates is constant.

    Angles count turns. Force: on each coordinate; the powers add up to zero. Raises ModelError: coordinates of unequal
    units, or named twice, a factor of zero, relations that depend on each other. Source:
    docs/theory/constraints.md, section 13.
    """

    kind: ClassVar[str] = "linear"
    also: ClassVar[tuple[str, ...]] = ("mimic",)

    name: str
    coordinates: list[JointCoordinate]
    """of joints, two or more, all angles or all strokes"""
    factors: Annotated[Numbers, Unit("")]
    """one a coordinate"""
    offset: Annotated[float | None, Unit("rad", stroke="m")] = None
    """the sum; by default that at the start"""

    def check(self, check: Checks) -> None:
        super().check(check)
        if check.bad:
            return
        check.require("coordinates", len(self.coordinates) > 1, "wanted two or more")
        count, wanted = len(self.coordinates), "one a coordinate, none of them zero"
        numbers = check.array("factors", lambda x: x.ndim == 1 and len(x) == count and bool(x.all()), wanted)
        if numbers is not None:
            object.__setattr__(self, "factors", frozen_array(numbers))

    def terms(self) -> tuple[Term, ...]:
        names = [("coordinates", str(k + 1)) for k in range(len(self.coordinates))]
        return tuple(map(Term, names, self.coordinates, map(float, self.factors)))


class _OfTwo(Relation):
    """Base class of relations of two coordinates, in the fields first and second."""

    first: JointCoordinate
    second: JointCoordinate
    kinds: ClassVar[tuple[bool | None, bool | None]] = (None, None)

    def ratio_of_two(self) -> float:
        """The rate of the second over that of the first."""
        raise NotImplementedError

    def terms(self) -> tuple[Term, ...]:
        first, second = self.kinds
        return (
            Term(("first",), self.first, -self.ratio_of_two(), is_angle=first),
            Term(("second",), self.second, 1.0, is_angle=second),
        )


@dataclass(frozen=True, eq=False)
class Gear(_OfTwo):
    """A gear, or a belt: the second coordinate is ratio times the first, and a constant.

    Both joints begin on the body that carries the gear. Raises ModelError: none or both of ratio and teeth, a ratio of
    zero, coordinates of unequal units. Source: docs/theory/constraints.md, section 13.
    """

    kind: ClassVar[str] = "gear"

    name: str
    first: JointCoordinate
    """a coordinate of a joint"""
    second: JointCoordinate
    """another one, of the same unit"""
    ratio: Annotated[float | None, Unit("")] = None
    """the rate of the second over that of the first"""
    teeth: Annotated[Pair | None, Unit("")] = None
    """in place of it, of the first and the second wheel, which turn in opposite senses: the ratio is
    -teeth[0]/teeth[1]; a wheel with inner teeth has a negative number"""
    offset: Annotated[float | None, Unit("rad", stroke="m")] = None
    """second less ratio times first; by default that at the start"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.exactly_one("ratio", "teeth")
        check.require("ratio", self.ratio != 0.0, "must not be zero")
        if self.teeth is not None and "teeth" not in check.bad:
            check.require("teeth", bool(np.all(self.teeth)), "must not be zero")

    def ratio_of_two(self) -> float:
        if self.ratio is not None:
            return self.ratio
        assert self.teeth is not None
        return -float(self.teeth[0]) / float(self.teeth[1])


@dataclass(frozen=True, eq=False)
class Rack(_OfTwo):
    """A rack and pinion, or a drum and cable: the stroke is radius times the angle, and a constant.

    Raises ModelError: a radius of zero, coordinates that are no angle and no stroke. Source:
    docs/theory/constraints.md, section 13.
    """

    kind: ClassVar[str] = "rack"
    alike: ClassVar[bool] = False
    kinds: ClassVar[tuple[bool | None, bool | None]] = (ANGULAR, STRAIGHT)

    name: str
    first: JointCoordinate
    """the angle"""
    second: JointCoordinate
    """the stroke"""
    radius: Annotated[float, Unit("m")]
    """of the pinion; negative where the stroke falls as the angle grows"""
    offset: Annotated[float | None, Unit("m")] = None
    """stroke less radius times angle; by default that at the start"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.require("radius", self.radius != 0.0, "must not be zero")

    def ratio_of_two(self) -> float:
        return self.radius


@dataclass(frozen=True, eq=False)
class Screw(_OfTwo):
    """A screw: the stroke grows by the pitch in each turn; both may be coordinates of one cylindrical joint.

    Raises ModelError: a pitch of zero, coordinates that are no angle and no stroke. Source:
    docs/theory/constraints.md, section 13.
    """

    kind: ClassVar[str] = "screw"
    alike: ClassVar[bool] = False
    kinds: ClassVar[tuple[bool | None, bool | None]] = (ANGULAR, STRAIGHT)

    name: str
    first: JointCoordinate
    """the angle"""
    second: JointCoordinate
    """the stroke"""
    pitch: Annotated[float, Unit("m")]
    """of a turn; negative of a left-hand thread"""
    offset: Annotated[float | None, Unit("m")] = None
    """stroke less pitch times turns; by default that at the start"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.require("pitch", self.pitch != 0.0, "must not be zero")

    def ratio_of_two(self) -> float:
        return self.pitch / (2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class Worm(_OfTwo):
    """A worm and wheel: the wheel turns by starts/teeth of the worm.

    Raises ModelError: starts of zero, coordinates that are no angles. Source: docs/theory/constraints.md, section 13.
    """

    kind: ClassVar[str] = "worm"
    kinds: ClassVar[tuple[bool | None, bool | None]] = (ANGULAR, ANGULAR)

    name: str
    first: JointCoordinate
    """the angle of the worm"""
    second: JointCoordinate
    """that of the wheel"""
    teeth: Annotated[float, Unit(""), POSITIVE]
    """of the wheel"""
    starts: Annotated[float, Unit("")] = 1.0
    """threads of the worm; negative of a left-hand thread"""
    offset: Annotated[float | None, Unit("rad")] = None
    """wheel less starts/teeth times worm; by default that at the start"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.require("starts", self.starts != 0.0, "must not be zero")

    def ratio_of_two(self) -> float:
        return self.starts / self.teeth


@dataclass(frozen=True, eq=False)
class Differential(Relation):
    """A differential: the carrier turns by the mean of its two sides.

    Raises ModelError: coordinates of unequal units. Source: docs/theory/constraints.md, section 13.
    """

    kind: ClassVar[str] = "differential"

    name: str
    first: JointCoordinate
    """the coordinate of one side"""
    second: JointCoordinate
    """that of the other side"""
    carrier: JointCoordinate
    """that of the carrier, of the same unit"""
    offset: Annotated[float | None, Unit("rad", stroke="m")] = None
    """first and second less twice the carrier; by default that at the start"""

    def terms(self) -> tuple[Term, ...]:
        factors = {"first": 1.0, "second": 1.0, "carrier": -2.0}
        return tuple(Term((word,), getattr(self, word), factor) for word, factor in factors.items())


@dataclass(frozen=True, eq=False)
class Planetary(Relation):
    """A planetary gear: teeth[0] sun + teeth[1] ring = (teeth[0] + teeth[1]) carrier, and a constant.

    The three joints begin on one body. Raises ModelError: teeth that are not above zero, coordinates that are no
    angles. Source: docs/theory/constraints.md, section 13.
    """

    kind: ClassVar[str] = "planetary"

    name: str
    sun: JointCoordinate
    """the angle of the sun"""
    ring: JointCoordinate
    """that of the ring"""
    carrier: JointCoordinate
    """that of the carrier"""
    teeth: Annotated[Pair, Unit("")]
    """of the sun and of the ring"""
    offset: Annotated[float | None, Unit("rad")] = None
    """the sun's and the ring's angle times their teeth, less the carrier's times both; by default that at the start"""

    def check(self, check: Checks) -> None:
        super().check(check)
        if "teeth" not in check.bad:
            check.require("teeth", bool(np.all(np.asarray(self.teeth) > 0.0)), "must be above 0")

    def terms(self) -> tuple[Term, ...]:
        sun, ring = (float(each) for each in self.teeth)
        factors = {"sun": sun, "ring": ring, "carrier": -sun - ring}
        return tuple(Term((word,), getattr(self, word), factor, None, True) for word, factor in factors.items())


@dataclass(frozen=True, eq=False)
class TableCoupling(_OfTwo):
    """A curve through points: the second coordinate is a smooth function of the first, as of a cam.

    The curve is a cubic spline with continuous curvature. Raises ModelError: coordinates that do not rise, fewer than
    three points. Source: docs/theory/constraints.md, section 13.
    """

    kind: ClassVar[str] = "table"
    alike: ClassVar[bool] = False

    name: str
    first: JointCoordinate
    """a coordinate of a joint"""
    second: JointCoordinate
    """another one"""
    coordinates: Annotated[Numbers, Unit("rad", stroke="m")]
    """of the first, rising; rad or m"""
    values: Annotated[Numbers, Unit("rad", stroke="m")]
    """of the second, one a point; rad or m"""
    periodic: bool = False
    """whether the curve goes on with the same shape beyond its last point, as of a cam or of wheels that are not
    round; else it goes on straight"""
    offset: Annotated[float | None, Unit("rad", stroke="m")] = None
    """second less the curve; by default that at the start"""

    def check(self, check: Checks) -> None:
        super().check(check)
        x, y = (
            check.array(word, lambda x: x.ndim == 1 and len(x) > 2 and bool(np.isfinite(x).all()), "three or more")
            for word in ("coordinates", "values")
        )
        if x is None or y is None:
            return
        check.require("coordinates", bool(np.all(np.diff(x) > 0.0)), "must rise from each to the next")
        check.require("values", len(x) == len(y), f"wanted {len(x)}, one a coordinate")
        for word, numbers in (("coordinates", x), ("values", y)):
            object.__setattr__(self, word, frozen_array(numbers))

    def terms(self) -> tuple[Term, ...]:
        return Term(("first",), self.first, -1.0, self._curve()), Term(("second",), self.second, 1.0)

    def _curve(self) -> Law:
        from scipy.interpolate import CubicSpline  # for a faster start

        x, y = self.coordinates, self.values
        span, rise = float(x[-1] - x[0]), float(y[-1] - y[0])
        slope = rise / span if self.periodic else 0.0
        rest = y - slope * (x - x[0])
        if self.periodic:
            rest[-1] = rest[0]
        spline = CubicSpline(x, rest, bc_type="periodic" if self.periodic else "natural")

        def curve(c: float) -> tuple[float, float, float]:
            inside = x[0] + (c - x[0]) % span if self.periodic else min(max(c, x[0]), x[-1])
            value, first, second = (float(spline(inside, order)) for order in range(3))
            beyond = 0.0 if self.periodic else c - inside
            return value + first * beyond + slope * (c - x[0]), first + slope, 0.0 if beyond else second

        return curve


@dataclass(frozen=True, eq=False)
class FunctionCoupling(_OfTwo):
    """The second coordinate is a function of the first, in Python.

    Raises ModelError: a function without derivatives. Source: docs/theory/constraints.md, section 13.
    """

    kind: ClassVar[str] = "python"
    alike: ClassVar[bool] = False

    name: str
    first: JointCoordinate
    """a coordinate of a joint"""
    second: JointCoordinate
    """another one"""
    function: Annotated[Callable[..., Any], Arguments("of the first coordinate")] | None = None
    """in Python, of the first coordinate: it returns three numbers, the second coordinate and its first and second
    derivative by the first"""
    python: str | None = None
    """in a case file in its place, "FILE.py:NAME", read with --allow-code only"""
    offset: Annotated[float | None, Unit("rad", stroke="m")] = None
    """second less the function; by default that at the start"""

    def check(self, check: Checks) -> None:
        from femb.elements.control.function import check_python

        super().check(check)
        check.exactly_one("function", "python")
        check_python(check)

    @cached_property
    def _function(self) -> Callable[[float], Any]:
        from femb.elements.control.function import function_in

        path = (self.table, self.name, "python")
        return self.function if self.function is not None else function_in(str(self.python), path)

    def terms(self) -> tuple[Term, ...]:
        return Term(("first",), self.first, -1.0, self._checked), Term(("second",), self.second, 1.0)

    def _checked(self, c: float) -> tuple[float, float, float]:
        """The three numbers of the function. Raises ModelError."""
        found = self._function(c)
        numbers = as_numbers(found)
        if numbers is None or numbers.shape != (3,) or not np.all(np.isfinite(numbers)):
            raise ModelError.at(
                (self.table, self.name, "function"),
                f"got {shown(found)} at {c:.6g}, wanted three finite numbers: the value and its first and second "
                "derivative",
            )
        value, first, second = numbers.tolist()
        return value, first, second
