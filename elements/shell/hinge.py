"""Lines of hinges between edges of shells, or between an edge of a shell and a body."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, Floats, Ints, Unit
from femb.base.values import nearest, shown
from femb.elements.item import Item
from femb.elements.joint.constraint_set import ConstraintRow
from femb.elements.joint.coordinates import ANGLE, PARALLEL, SPHERICAL, Z, make_row, row_words
from femb.elements.joint.records import JointReactions
from femb.elements.marker import Marker, Place, axes_of
from femb.elements.records import RecordedSystem, Records
from femb.elements.shell.results import HingeResults
from femb.layout.layout import JointLayout, Layout, Station
from femb.layout.symmetry import EVERY, Surroundings, Symmetry, twists
from femb.layout.views import ModelView, OutputStates, StartPoses
from femb.numerics import rotations

# Distances of nodes from the straight line, and along it from those of the other edge, of its length.
STRAIGHT, FACING = 1e-3, 1e-3
ROWS = SPHERICAL + PARALLEL


@dataclass(frozen=True, eq=False)
class HingeLine(Item):
    """A line of hinges: a straight edge of a shell turns about an edge of another shell, or about a line of a body.

    An edge is that of a shell by corners, or a set of nodes of its mesh. Both edges have equally many nodes, which face
    each other; between edges that are apart the line is in the middle. The largest component of the axis in the axes of
    the second shell's geometry is positive.

    Raises ModelError: an edge that is not there or not straight, nodes that do not face each other, two edges on the
    same bodies.
    """

    table: ClassVar[str] = "hinges"
    kind: ClassVar[str] = "hinge"
    acts_on_attitude: ClassVar[bool] = True
    results: ClassVar[type[Group]] = HingeResults
    batch: ClassVar[str] = "femb.elements.shell.hinge_batch:HingeBatch"

    name: str
    first: dict[str, Any]
    """{"shell": name, "edge": edge}, or {"body": name}"""
    second: dict[str, Any]
    """{"shell": name, "edge": edge}"""
    stiffness: Annotated[float, Unit("N m/rad/m"), NOT_NEGATIVE] = 0.0
    """moment per length and angle"""
    damping: Annotated[float, Unit("N m s/rad/m"), NOT_NEGATIVE] = 0.0
    free: Annotated[float, Unit("rad")] = 0.0
    """the angle without moment; the angle is zero as the shells are given, and within half a turn of free / 2"""

    def check(self, check: Checks) -> None:
        wanted = {"second": ({"shell", "edge"},), "first": ({"shell", "edge"}, {"body"})}
        for word, forms in wanted.items():
            given = getattr(self, word)
            if word in check.bad or not isinstance(given, Mapping):
                continue
            if set(given) not in forms or not all(isinstance(value, str) for value in given.values()):
                other = " or { body = NAME }" if word == "first" else ""
                check.fail(word, f"got {shown(dict(given))}, wanted {{ shell = NAME, edge = EDGE }}{other}")
        if "free" not in check.bad:
            check.require("free", abs(self.free) < 2.0 * np.pi, "must be less than one turn")

    @property
    def markers(self) -> Mapping[tuple[str, ...], Marker]:
        return {("first",): Place(body=self.first["body"])} if "body" in self.first else {}

    def frames(self, layout: Layout) -> list[int]:
        return [end.frame for joint in layout.hinges[self.name] for end in (joint.first, joint.second)]

    def between(self, layout: Layout) -> frozenset[int]:
        return frozenset(self.frames(layout))

    @property
    def resists(self) -> bool:
        return bool(self.stiffness)

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Rotations about the line, where it is on what is fixed and has no stiffness.
        if not around.hold(self.frames(around.layout)):
            return EVERY
        joint = around.layout.hinges[self.name][0]
        point, axes = around.pose(joint.first if joint.first.frame in around.fixed else joint.second)
        turn = twists(turns=axes[:, Z][None], point=point)
        none = turn[:0]
        return Symmetry(none if self.stiffness else turn, none if self.stiffness or self.damping else turn)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A joint at every node of the line. Raises ModelError."""
        axis, second = self._line("second", layout, model, None)
        places = layout.poses(second)[0]
        if "body" in self.first:
            frame = layout.bodies[self.first["body"]]
            first, line = [Station(frame)] * len(second), places
        else:
            _, first = self._line("first", layout, model, axis)
            others = layout.poses(first)[0]
            self._check_facing(places, others, axis)
            line = 0.5 * (places + others)
        pairs = [(a.frame, b.frame) for a, b in zip(first, second, strict=True)]
        # nodes of an edge beside this one that are clamped need no hinge
        free = self.stiffness == self.damping == 0.0
        kept = [k for k, (a, b) in enumerate(pairs) if a != b or not free]
        pairs, line = [pairs[k] for k in kept], line[kept]
        if not pairs or len(set(pairs)) < len(pairs) or any(a == b for a, b in pairs):
            self._fail("second", "both edges are on the same nodes or bodies there: nothing can turn")
        if not any(layout.frames[k].freedom for pair in pairs for k in pair):
            self._fail("second", "is as fixed as the first: nothing can turn")
        held = {
            (joint.first.frame, joint.second.frame): rotations.rotate(
                layout.frames[joint.first.frame].quaternion, joint.first.axes[:, Z]
            )
            for other in layout.hinges.values()
            for joint in other
        }
        joints = []
        for k, (pair, point) in enumerate(zip(pairs, line, strict=True)):
            # where another line has the node, both leave it no turn: one more row, about the axis of the other line
            crossing = held.get(pair)
            parallel = crossing is not None and float(np.linalg.norm(np.cross(crossing, axis))) < STRAIGHT
            count = len(ROWS) if crossing is None else 0 if parallel else 1
            axes = rotations.from_matrix(axes_of(axis, None if parallel else crossing))
            one, other = (self._end(layout, frame, point, axes) for frame in pair)
            words = f"{self.table}.{self.name}: node {k},"
            numbers = [layout.add_row(f"{words} {row_words(spec)}", *pair) for spec in ROWS[len(ROWS) - count :]]
            joints.append(JointLayout(one, other, numbers, (ANGLE,), slice(k, k + 1), (Z,), np.full(1, np.nan)))
            layout.couple(pair)
        layout.hinges[self.name] = joints

    def _fail(self, word: str, what: str) -> None:
        raise ModelError.at((self.table, self.name, word), what)

    def _line(self, word: str, layout: Layout, model: ModelView, along: Floats | None) -> tuple[Floats, list[Station]]:
        """The direction (3,) of an edge at the start, and the stations of its nodes along it; along : the direction of
        the other edge, which gives the sense."""
        given = getattr(self, word)
        name, edge = given["shell"], given["edge"]
        shells = {item.name: item for item in model.items() if item.table == "shells"}
        if name not in shells:
            listed = ", ".join(map(repr, shells)) or "none"
            self._fail(word, f"got {name!r}, which is no shell{nearest(name, shells)}; shells: {listed}")
        mesh = shells[name].geometry
        if edge not in mesh.sets:
            self._fail(word, mesh.without(edge, f"shell {name!r}"))
        nodes = mesh.sets[edge]
        if len(nodes) < 2:
            self._fail(word, f"{edge} of shell {name!r} is one node: a line has at least two")
        own = mesh.nodes[nodes]
        far = own[np.linalg.norm(own - own[0], axis=1).argmax()]
        direction = far - own[np.linalg.norm(own - far, axis=1).argmax()]
        direction *= np.sign(direction[np.abs(direction).argmax()])
        length = np.linalg.norm(direction)
        direction /= length
        away = np.linalg.norm(np.cross(own - far, direction), axis=1)
        if away.max() > STRAIGHT * length:
            at = np.round(own[away.argmax()], 9).tolist()
            self._fail(word, f"{edge} of shell {name!r} is not straight: it is {away.max():.3g} m off the line at {at}")
        order: Ints = nodes[np.argsort(own @ direction)]
        stations = [layout.shells[name].stations[node] for node in order.tolist()]
        places = layout.poses([stations[0], stations[-1]])[0]
        axis = (places[1] - places[0]) / np.linalg.norm(places[1] - places[0])
        return (-axis, stations[::-1]) if along is not None and axis @ along < 0.0 else (axis, stations)

    def _check_facing(self, places: Floats, others: Floats, axis: Floats) -> None:
        """Raise ModelError where the nodes of two edges do not face each other."""
        if len(places) != len(others):
            self._fail("second", f"has {len(places)} nodes, the first edge {len(others)}: give both as many elements")
        apart = others - places
        along = np.abs(apart @ axis)
        steps = np.diff(places @ axis)
        gap = np.linalg.norm(apart - np.outer(apart @ axis, axis), axis=1)
        worst = max(along.max() / (FACING * steps.sum()), gap.max() / steps.max())
        if worst > 1.0:
            self._fail(
                "second",
                f"its nodes are up to {along.max():.3g} m along the line from those of the first edge, and the edges "
                f"up to {gap.max():.3g} m apart: nodes face each other, and edges are less than an element apart",
            )

    @staticmethod
    def _end(layout: Layout, number: int, point: Floats, axes: Floats) -> Station:
        frame = layout.frames[number]
        offset = rotations.rotate_back(frame.quaternion, point - frame.position)
        return Station(number, offset, rotations.multiply(rotations.conjugate(frame.quaternion), axes))

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        """Rows of a revolute joint at every node, or the last of them."""
        return [
            make_row(layout, number, spec, joint.first, joint.second, 0.0)
            for joint in layout.hinges[self.name]
            for number, spec in zip(joint.rows, ROWS[len(ROWS) - len(joint.rows) :], strict=True)
        ]

    @staticmethod
    def records(items: list["HingeLine"], system: RecordedSystem) -> Records:
        """The line, and its reactions; the batch records angles and moments."""
        from femb.elements.shell.hinge_batch import lengths_of

        layout, static = system.layout, dict[str, Floats]()
        for item in items:
            path, joints = f"{item.table}/{item.name}", layout.hinges[item.name]
            places, quaternions = layout.poses([joint.first for joint in joints])
            static[f"{path}/position"] = layout.origin + places
            static[f"{path}/axis"] = rotations.rotation_matrix(quaternions[0])[:, 2]
            static[f"{path}/length"] = lengths_of(layout, joints)
        return Records(static, series=partial(_reactions, items, system))


def _reactions(items: list[HingeLine], system: RecordedSystem, frames: OutputStates) -> dict[str, Floats]:
    block = {}
    for item in items:
        found = JointReactions(system, system.layout.hinges[item.name]).at(frames)
        for word, values in zip(("force", "torque"), found, strict=True):
            block[f"{item.table}/{item.name}/{word}"] = values
    return block
