"""Model: a description of the system by named items, and of figures of its results, without unknowns and state."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, TypeVar

from numpy.typing import ArrayLike

from femb.base import html
from femb.base.checks import Checks
from femb.base.errors import ModelError, Problem
from femb.base.meanings import Description
from femb.base.types import Pair, Unit
from femb.base.values import array_problem, frozen_array, shown, whole_number
from femb.elements import Attachment, Ground, PointMass, Section, registry
from femb.elements.beam.line import LineItem
from femb.elements.item import Item
from femb.elements.marker import Marker

if TYPE_CHECKING:
    from femb.elements import FlexibleBody, Interface, Load, ModalDamping, RigidBody


INERTIAL = "inertial"


@dataclass(frozen=True, eq=False)
class Figure(Description):
    """A figure of the results, drawn by ``femb plot --what NAME``; "overview" is drawn by default.

    Raises ModelError: ``what`` is empty; an entry of ``what`` or ``items``, or ``frame``, is not text.
    """

    table: ClassVar[str] = "figures"
    kind: ClassVar[str] = "figure"

    name: str
    """unique among the figures"""
    what: tuple[str, ...]
    """each gives one row or more: a figure or quantity of femb plot, also "NAME of ITEM, ITEM"; the path of an array
    such as "joints/hinge/force"; " | " sets several side by side"""
    items: tuple[str, ...] = ()
    """names of the items to show, with * and ? as wildcards, a beam's node as "NAME[NODE]"; by default all"""
    frame: str = INERTIAL
    """reference frame of the motion: "inertial", a body, or a beam's node"""
    times: Annotated[Pair | None, Unit("s")] = None
    """first and last instant"""

    def __post_init__(self) -> None:
        with Checks(self, "figures", self.name) as check:
            for field in ("what", "items"):
                given = getattr(self, field)
                texts = given if isinstance(given, list | tuple) else (given,)
                if all(isinstance(text, str) for text in texts):
                    object.__setattr__(self, field, tuple(texts))
                else:
                    check.fail(field, f"got {shown(given)}, wanted a list of texts")
            check.require("what", self.what, "wanted one text or more")
            check.require("frame", isinstance(self.frame, str), "wanted the name of a body, or inertial")
            if self.times is not None and "times" not in check.bad:
                check.require("times", self.times[0] < self.times[1], "the first must be before the last")

    def words(self) -> dict[str, Any]:
        """The fields that are stored in the results."""
        words: dict[str, Any] = {"what": self.what}
        if self.items:
            words["items"] = self.items
        if self.frame != INERTIAL:
            words["frame"] = self.frame
        if self.times is not None:
            words["times"] = [float(t) for t in self.times]
        return words


Body: TypeAlias = "RigidBody | PointMass | Ground | FlexibleBody | Interface"
Added = TypeVar("Added", bound=Item | Figure)


@cache
def _ground() -> Ground:
    """The ground of models that add none."""
    return Ground()


class Model:
    """Bodies, beams and loads by name.

    title : for reports. gravity : uniform, inertial axes, (3,) m/s2. seed : of the noise of sensors.

    ``add`` refuses a second item of the same name; ``problems`` lists errors between items, such as a beam on an
    unknown body. The order of adding does not matter. Raises ModelError: a title or gravity of another type.
    """

    def __init__(self, title: str = "", gravity: ArrayLike = (0.0, 0.0, 0.0), seed: int = 0) -> None:
        if not isinstance(title, str):
            raise ModelError.at(("title",), f"got {shown(title)}, wanted text")
        if not whole_number(seed) or seed < 0:
            raise ModelError.at(("noise", "seed"), f"got {shown(seed)}, must be a whole number of at least 0")
        problem = array_problem(gravity, (3,))
        if problem:
            raise ModelError.at(("gravity",), problem + " (m/s2)")
        self.title, self.seed = title, int(seed)
        self.gravity = frozen_array(gravity)
        self.tables: dict[str, dict[str, Any]] = {table: {} for table in (*registry.tables(), Figure.table)}

    def add(self, item: Added) -> Added:
        """Add an item of the element catalogue, or a figure, and return it.

        Raises ModelError: its class is not in the catalogue, or its name is taken.
        """
        if not (isinstance(item, Figure) or (isinstance(item, Item) and registry.is_known(type(item)))):
            if isinstance(item, Item):
                what = f"its class {type(item).__name__} is none that models know: register it by femb.register"
                raise ModelError.at(("model",), f"got {shown(item)}: {what}")
            described = (kind.__name__ for kind in registry.kinds() if kind.in_case_files)
            names = ", ".join([*described, Figure.__name__])
            raise ModelError.at(("model",), f"got {shown(item)}, wanted one of {names}")
        # a class may have been registered after the model was made
        table = self.tables.setdefault(item.table, {})
        if item.name in table and table[item.name] is not item:
            raise ModelError.at((item.table, item.name), "there is one of this name already: names must differ")
        table[item.name] = item
        if isinstance(item, Item):
            for part in item.parts():
                self.add(part)
        return item

    def remove(self, item: Item | Figure) -> None:
        """Take an item out, with the parts that were added along with it, as in ``model.remove(model.beams["boom"])``.

        What still refers to it is reported by `problems`. Raises ModelError where it is not in the model.
        """
        if self.tables.get(getattr(item, "table", ""), {}).get(getattr(item, "name", "")) is not item:
            raise ModelError.at(("model",), f"got {shown(item)}, wanted an item of this model")
        for part in item.parts() if isinstance(item, Item) else ():
            self.remove(part)
        del self.tables[item.table][item.name]

    def __repr__(self) -> str:
        counts = [f"{table}: {', '.join(map(repr, items))}" for table, items in self.tables.items() if items]
        return f"<Model {self.title!r}: {'; '.join(counts) or 'empty'}>"

    def _repr_html_(self) -> str:
        rows = [(name, ", ".join(items)) for name, items in self.tables.items() if items]
        return html.table(self.title or "Model without a title", rows or [("empty", "")])

    if TYPE_CHECKING:
        # the items of each table of the catalogue, by name
        bodies: dict[str, Body]
        beams: dict[str, LineItem]
        sections: dict[str, Section]
        loads: dict[str, Load]
        modal_damping: dict[str, ModalDamping]
        figures: dict[str, Figure]
        joints: dict[str, Any]
        drivers: dict[str, Any]
        latches: dict[str, Any]
        springs: dict[str, Any]
        wheels: dict[str, Any]
        thrusters: dict[str, Any]
        magnetic_torquers: dict[str, Any]
        fields: dict[str, Any]
        tanks: dict[str, Any]
        shells: dict[str, Any]
        hinges: dict[str, Any]
        couplings: dict[str, Any]
        sensors: dict[str, Any]
        controllers: dict[str, Any]
    else:

        def __getattr__(self, table: str) -> dict[str, Any]:
            """The items of a table, by name."""
            tables = self.__dict__.get("tables", {})
            if table not in tables:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {table!r}")
            return tables[table]

        def __dir__(self) -> list[str]:
            return [*super().__dir__(), *self.tables]

    def items(self) -> Iterator[Item]:
        """Every item, without figures, table by table in the order of the catalogue."""
        for name, table in self.tables.items():
            if name != Figure.table:
                yield from table.values()

    def body(self, name: str) -> Body:
        """The body of that name; "ground" always exists."""
        if name not in self.bodies and name == "ground":
            return _ground()
        return self.bodies[name]

    def section_of(self, beam: LineItem) -> Section:
        """The section of a beam, given as an object or by name."""
        return self.sections[beam.section] if isinstance(beam.section, str) else beam.section

    def problems(self) -> list[Problem]:
        """Errors that concern the model as a whole; empty if there are none."""
        result: list[Problem] = []
        if not any(item.has_dofs for item in self.items()):
            result.append(Problem(("bodies",), "the model is empty: add at least one body or beam"))
        for beam in self.beams.values():
            path = (beam.table, beam.name)
            for name in beam.section_names:
                if name not in self.sections:
                    word = "section" if beam.uniform else "sections"
                    result.append(self._unknown((*path, word), "section", name, self.sections))
            for word, end in (("start", beam.start), ("end", beam.end)):
                if end is not None and end.body is not None:
                    result += self._clamp_problems((*path, word, "body"), end)
                elif end is not None and end.beam == beam.name:
                    result.append(Problem((*path, word, "beam"), "a beam cannot be clamped to itself"))
                elif end is not None and end.beam is not None:
                    result += self._marker_problems((*path, word), beam, end)
            start, end = beam.attached
            same = start is not None and end is not None and start.body is not None and start.body == end.body
            if same and beam.elements < 2:
                result.append(Problem((*path, "elements"), "a beam with both ends on one body needs at least 2"))
        for item in self.items():
            if not isinstance(item, LineItem):
                for field, marker in item.markers.items():
                    result += self._marker_problems((item.table, item.name, *field), item, marker)
            for field, coordinate in item.joint_coordinates.items():
                result += self._joint_problems((item.table, item.name, *field), *coordinate)
            result += [Problem((item.table, item.name), text) for text in item.misnamed(self)]
        return result

    def check(self) -> None:
        """Raise ModelError with every problem of the model, if there is one."""
        problems = self.problems()
        if problems:
            raise ModelError(*problems)

    def _unknown(self, path: tuple[str, ...], what: str, name: str, known: Mapping[str, object]) -> Problem:
        names = ", ".join(map(repr, known)) or "none"
        return Problem(path, f"got {name!r}, which is not in the model; {what} names: {names}")

    def _clamp_problems(self, path: tuple[str, ...], end: Attachment) -> list[Problem]:
        if end.body not in self.bodies and end.body != "ground":
            return [self._unknown(path, "body", str(end.body), self.bodies)]
        if not self.body(end.body).has_axes:
            return [
                Problem(path, f"got {end.body!r}, a point mass: a beam cannot be clamped to it; put it on the beam")
            ]
        return self._carried_problems(path, str(end.body))

    def _carried_problems(self, path: tuple[str, ...], name: str) -> list[Problem]:
        """The error of a body that has no frame of its own, because another carries it."""
        if (carrier := self.body(name).carried_by) is not None:
            return [Problem(path, f"got {name!r}, which is carried by body {carrier.body!r}: give that instead")]
        return []

    def _joint_problems(self, path: tuple[str, ...], name: str, coordinate: str | None) -> list[Problem]:
        """Errors of the joint and the coordinate that an item names."""
        joints = self.joints
        if name not in joints:
            listed = ", ".join(map(repr, joints)) or "none"
            return [Problem((*path, "joint"), f"got {name!r}, which is not in the model; joints: {listed}")]
        joint = joints[name]
        names = [coordinate.name for coordinate in joint.coordinates]
        if not names:
            return [Problem((*path, "joint"), f"got {name!r}, a {joint.kind} joint, which has no coordinates")]
        if coordinate is not None and coordinate not in names:
            message = f"got {coordinate!r}; the coordinates of joint {name!r} are: {', '.join(names)}"
            return [Problem((*path, "coordinate"), message)]
        return []

    def _marker_problems(self, path: tuple[str, ...], item: Item, end: Marker) -> list[Problem]:
        if end.body is not None:
            if end.body not in self.bodies and end.body != "ground":
                return [self._unknown((*path, "body"), "body", end.body, self.bodies)]
            if (refused := self.body(end.body).refusal(end, item.turns(end))) is not None:
                return [Problem((*path, refused[0]), refused[1])]
            return self._carried_problems((*path, "body"), end.body)
        if end.beam not in self.beams:
            return [self._unknown((*path, "beam"), "beam", str(end.beam), self.beams)]
        count = self.beams[end.beam].elements
        if not whole_number(end.node) or not -count - 1 <= end.node <= count:
            return [Problem((*path, "node"), f"got {end.node!r}, wanted a node from 0 to {count}, or -1 for the end")]
        return []
