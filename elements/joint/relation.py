"""A relation of coordinates of joints, the base of couplings: an equation, or a spring along it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, Unit
from femb.base.values import shown
from femb.elements.item import Item
from femb.elements.joint.constraint_set import ConstraintRow
from femb.elements.joint.coordinates import coordinate_row, start_value
from femb.elements.joint.on_coordinate import coordinate_symmetry
from femb.elements.joint.records import on_frames
from femb.elements.joint.results import CouplingResults
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Input, OutputRows
from femb.layout.layout import Layout, RelationLayout
from femb.layout.symmetry import EVERY, Surroundings, Symmetry, intersection
from femb.layout.views import LinearPoint, ModelView, OutputStates, StartPoses

# A relation is the sum of a_k h_k(c_k) less b, with coordinates c_k of joints, whose angles count turns.
# Source: docs/theory/constraints.md, equations (16) to (18).


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


Law = Callable[[float], tuple[float, ...]]
"""A function of a coordinate, with its first and second derivative."""
ANGULAR, STRAIGHT = True, False


class Term(NamedTuple):
    """A term of a relation: the field with its coordinate, the factor, and the function of the coordinate, by default
    the coordinate itself. is_angle : whether the coordinate must be an angle, or a stroke; None for either. table : the
    function as rows of ``primitives.table_at``, if it is one."""

    field: tuple[str, ...]
    of: JointCoordinate
    factor: float
    law: Law | None = None
    is_angle: bool | None = None
    table: Floats | None = None

    def at(self, coordinates: Floats, order: int = 0) -> Floats:
        """The term, or its first or second derivative, at values (s,) of the coordinate."""
        if self.law is None:
            return self.factor * (coordinates if order == 0 else np.full(len(coordinates), float(order == 1)))
        law = self.law
        return self.factor * np.array([law(c)[order] for c in coordinates.tolist()])


@dataclass(frozen=True, eq=False, kw_only=True)
class Relation(Item):
    """Base class of couplings: a class gives the terms of its relation.

    Its powers on the coordinates add up to zero, and so do the momenta, where all joints begin on one body, which
    carries the gear. With a ``stiffness`` it is no equation, but a spring along the relation.
    """

    table: ClassVar[str] = "couplings"
    results: ClassVar[type[Group]] = CouplingResults
    batch: ClassVar[str] = "femb.elements.joint.relation_batch:RelationBatch"
    # whether all coordinates are angles, or all strokes
    alike: ClassVar[bool] = True

    name: str
    offset: Annotated[float | None, Unit("rad", stroke="m")] = None
    """the value that the relation keeps; by default that at the start"""
    stiffness: Annotated[float | None, Unit("N m/rad", stroke="N/m"), POSITIVE] = None
    """of teeth that yield, along the last coordinate; without it the relation is exact"""
    backlash: Annotated[float, Unit("rad", stroke="m"), NOT_NEGATIVE] = 0.0
    """play of the last coordinate, half of it to each side; it needs a stiffness"""
    damping: Annotated[float, Unit("s/rad", stroke="s/m"), NOT_NEGATIVE] = 0.0
    """of teeth that yield, as in ``springs.stops``; it needs a stiffness"""

    def check(self, check: Checks) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type is JointCoordinate and not isinstance(value, JointCoordinate):
                check.fail(each.name, f"got {shown(value)}, wanted a femb.JointCoordinate, the name of a joint in it")
        if self.stiffness is None:
            for word in ("backlash", "damping"):
                check.require(word, not getattr(self, word), "needs a 'stiffness': an exact relation has none")

    def in_batch(self, layout: Layout, model: ModelView) -> bool:
        return self.stiffness is not None

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """None: it acts between the ends of its joints."""
        return ()

    def friction(self) -> tuple[float, float, float]:
        """The lead angle and the angle of friction of a thread, rad, and the rate over which friction develops."""
        return 1.0, 0.0, 1.0

    def terms(self) -> tuple[Term, ...]:
        """The terms, one for each coordinate."""
        raise NotImplementedError

    @property
    def joint_coordinates(self) -> Mapping[tuple[str, ...], tuple[str, str | None]]:
        return {term.field: (term.of.joint, term.of.coordinate) for term in self.terms()}

    def frames(self, layout: Layout) -> list[int]:
        joints = [layout.joints[term.of.joint] for term in self.terms()]
        return [end.frame for joint in joints for end in (joint.first, joint.second)]

    def angular(self, layout: Layout) -> tuple[bool, ...]:
        return (self.coordinates_in(layout)[-1][2].is_angle,)

    def symmetry(self, around: Surroundings) -> Symmetry:
        # What leaves each of its coordinates as it is.
        kept = [coordinate_symmetry(around, joint, k).motions for joint, k, _ in self.coordinates_in(around.layout)]
        return EVERY if all(len(motions) == 6 for motions in kept) else Symmetry.of(intersection(kept))

    def coordinates_in(self, layout: Layout) -> list[tuple[Any, int, Any]]:
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
        terms, found = self.terms(), self.coordinates_in(layout)
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
        row = -1
        if self.stiffness is None:
            row = layout.add_row(f"{self.table}.{self.name}: relation", *frames)
        else:
            layout.couple(tuple(frames))
        start = [start_value(layout, joint, k) for joint, k, _ in found]
        values = [term.at(np.array([at])).item() for term, at in zip(terms, start, strict=True)]
        offset = sum(values) if self.offset is None else self.offset
        linear = all(term.law is None for term in terms)
        factors = tuple(term.factor for term in terms) if linear else ()
        layout.relations[self.name] = RelationLayout(row, tuple(numbers), tuple(words), factors, offset)
        if self.stiffness is None:
            self._check_free(layout)

    def _check_free(self, layout: Layout) -> None:
        """Raise ModelError where the relation and those before it leave nothing free, or depend."""
        own, path = layout.relations[self.name], (self.table, self.name)
        others = [(name, each) for name, each in list(layout.relations.items())[:-1] if each.row >= 0]
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
        circle = f"with {', '.join(f'couplings.{name}' for name in names)}"
        if np.linalg.matrix_rank(rows, tol=SAME) < len(rows):
            raise ModelError.at(path, f"says nothing new {circle}: leave one of them out")
        if len(rows) == len(columns):
            raise ModelError.at(
                path,
                f"{circle} leaves none of the coordinates free to move, as a circle of ratios whose product is not "
                "one: leave one of them out, or correct a ratio",
            )

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        return self.rows(layout) if self.stiffness is None else []

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        return self.inputs(layout) if self.stiffness is None else ()

    def rows(self, layout: Layout) -> list[ConstraintRow]:
        """Its terms, one row each."""
        entry, rows, number = layout.relations[self.name], [], 0
        for k, (term, (joint, _, coordinate)) in enumerate(zip(self.terms(), self.coordinates_in(layout), strict=True)):
            inputs, of_state = {"last": -1, "curve": -1}, term.law is not None and term.table is None
            for word, given in (("last", coordinate.is_angle), ("curve", of_state)):
                if given:
                    inputs[word], number = number, number + 1
            more = {"offset": entry.offset if k == 0 else 0.0, "table": term.table}
            rows.append(coordinate_row(layout, entry.row, joint, coordinate, term.factor, **inputs, **more))
        return rows

    def inputs(self, layout: Layout) -> tuple[Input, ...]:
        """The angle of each term at the last accepted state, and a function in Python at the state."""
        inputs = []
        for term, (joint, k, coordinate) in zip(self.terms(), self.coordinates_in(layout), strict=True):
            if coordinate.is_angle:
                inputs.append(Input.of_angles(np.array([joint.part.start + k])))
            if term.law is not None and term.table is None:
                label, law = f"{self.table}.{self.name}.{term.field[0]}", _at_state(term.law, term.of.joint, k)
                inputs.append(Input(4, law, of_state=True, label=label, differentiated=True))
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
                pairs = list(zip(item.terms(), frames.coordinates[:, entry.numbers].T, strict=True))
                block[f"{path}/violation"] = np.sum([term.at(c) for term, c in pairs], axis=0) - entry.offset
                if entry.row >= 0:
                    slopes = np.stack([term.at(c, 1) for term, c in pairs], axis=1)
                    block[f"{path}/force"] = -frames.multipliers[:, layout.row_c[entry.row], None] * slopes
            return block

        return Records(attributes=attributes, series=series)

    def linear_outputs(self, layout: Layout) -> Mapping[str, bool]:
        """Its forces, of an exact relation."""
        return {"force": False} if self.stiffness is None else {}

    def output_rows(self, point: LinearPoint, quantity: str) -> OutputRows | None:
        """The rows of the forces at the ``point``, the ``quantity`` that it gives, N or N m."""
        if quantity != "force":
            return None
        system, layout = point.system, point.system.layout
        entry, found = layout.relations[self.name], self.coordinates_in(layout)
        multiplier = float(point.multipliers[layout.row_c[entry.row]])
        values = system.joint_motion(point.q, point.v)[0][list(entry.numbers)]
        by_pose, by_multipliers = np.zeros((len(found), system.n_v)), np.zeros((len(found), system.n_c))
        for k, (term, (joint, _, _)) in enumerate(zip(self.terms(), found, strict=True)):
            by_multipliers[k, layout.row_c[entry.row]] = -term.at(values[k : k + 1], 1)[0]
            if term.law is not None:
                gradient = system.coordinates_of_joints.rows(entry.numbers[k], point.q, point.v)[0]
                bend = term.at(values[k : k + 1], 2)[0]
                by_pose[k] = -multiplier * bend * on_frames(layout, joint, gradient, system.n_v)[0]
        unit = "N m" if found[-1][2].is_angle else "N"
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
