"""Words: the quantities that a figure can show, by name, with labels and units.

`words` is the catalogue: the quantities that items declare, of some groups those that they have in ``shown``, and
those of `LABELLED`, whose labels, units or components no declaration says. A word may exist for several kinds of items:
``force`` for joints, drivers, springs and loads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import cycle

import numpy as np

from femb.base.quantity import Group, Quantity
from femb.base.types import Floats
from femb.results.groups import groups
from femb.results.names import array_of, at_node

XYZ = ("x", "y", "z")
WXYZ = ("$p_0$", "$p_1$", "$p_2$", "$p_3$")
ANGLES = (r"$\psi$ (x)", r"$\varphi$ (y)", r"$\theta$ (z)")
POINTS = ("bodies", "beams")
DEGREES = float(np.degrees(1.0))


@dataclass(frozen=True)
class Word:
    """A quantity: the label of its axis, unit in the figure, components, and the kinds of items that have it.

    derived : whether the values are an attribute or a method of the group, not its array. factor : from the unit of the
    results to that of the figure. scale : name of its size in `femb.pictures.subject.Scales`.
    """

    label: str
    unit: str
    components: Sequence[str] = ("",)
    kinds: Sequence[str] = POINTS
    derived: bool = False
    factor: float = 1.0
    scale: str = ""


@dataclass(frozen=True)
class Channel:
    """Values (T, k) of one item over time, in the unit of the figure, and the labels of their columns.

    part : the component, if the values are one of several.
    """

    item: str
    quantity: str
    unit: str
    components: Sequence[str]
    values: Floats
    scale: str
    part: str = ""

    @property
    def title(self) -> str:
        """The item, and the component if it is one of several."""
        return ", ".join(filter(None, (self.item, self.part)))

    def only(self, component: str) -> "Channel | None":
        """One component alone, None if there is none of that name."""
        names = [component_name(label) for label in self.components]
        if component not in names:
            return None
        k = names.index(component)
        return replace(self, part=component.replace("_", " "), components=[""], values=self.values[:, k : k + 1])


def component_name(label: str) -> str:
    """The name of a component in texts: x of "ψ (x)", first_angle of "first angle"."""
    if label in WXYZ:
        return "wxyz"[WXYZ.index(label)]
    return label[label.rfind("(") + 1 : -1] if label.endswith(")") else label.replace(" ", "_")


LABELLED: dict[str, Word] = {
    "displacement": Word("displacement", "m", XYZ, derived=True, scale="length"),
    "deflection": Word("deflection", "m", XYZ, ("beams",), derived=True, scale="length"),
    "quaternion_rate": Word("quaternion rate", "1/s", WXYZ, derived=True, scale="angular_speed"),
    "rotation": Word("rotation", "", WXYZ, derived=True, scale="one"),
    "rotation_rate": Word("rate of rotation", "1/s", WXYZ, derived=True, scale="angular_speed"),
    "euler_angles": Word("Euler angle", "deg", ANGLES, derived=True, factor=DEGREES, scale="one"),
    "euler_rates": Word("Euler rate", "deg/s", ANGLES, derived=True, factor=DEGREES, scale="angular_speed"),
    "modal_coordinates": Word("modal coordinate", "m", (), ("bodies",)),
    "deformation": Word("deformation", "", (), ("bodies",)),
    "angle": Word("angle", "deg", ("",), ("springs", "loads"), factor=DEGREES, scale="one"),
    "kinetic_energy": Word("energy", "J", ("kinetic",), ("audit",), scale="energy"),
    "potential_energy": Word("energy", "J", ("potential",), ("audit",), scale="energy"),
    "work": Word("energy", "J", ("work",), ("audit",), scale="energy"),
    "energy_error": Word("error", "J", ("",), ("audit",), scale="energy"),
    "linear_momentum": Word("linear momentum", "N s", XYZ, ("audit",), scale="momentum"),
    "angular_momentum": Word("angular momentum", "N m s", XYZ, ("audit",), scale="angular_momentum"),
    "constraint_position": Word("violation", "", ("position",), ("audit",), scale="constraint"),
    "constraint_velocity": Word("violation", "", ("velocity",), ("audit",), scale="constraint_rate"),
    "quaternion_norm": Word("| length - 1 |", "", ("",), ("audit",), scale="one"),
}
"""Name -> word of what a declaration does not say: methods of results, angles in degrees, the panels of the audit."""


# By unit, the name of the size of a quantity in `femb.pictures.subject.Scales`.
SCALES = {
    "-": "one", "rad": "one", "m": "length", "m/s": "speed", "m/s2": "acceleration", "rad/s": "angular_speed",
    "rad/s2": "angular_acceleration", "N": "force", "N m": "torque", "J": "energy",
}  # fmt: skip


def words() -> Mapping[str, Word]:
    """Name -> word, of all quantities of items over time."""
    return _words(tuple(groups().items()))


def words_of(table: str, group: type[Group]) -> list[str]:
    """The words of the quantities over time of a table of items, of one kind of groups alone."""
    return [word for word, known in _words(((table, group),)).items() if table in known.kinds]


@lru_cache(maxsize=64)
def _words(of: tuple[tuple[str, type[Group]], ...]) -> Mapping[str, Word]:
    found = dict(LABELLED)
    for kind, group in of:
        for name, quantity in group.quantities().items():
            declared = group.shown is None or name in group.shown or quantity.given
            if (declared or (quantity.recorded and kind != "audit")) and quantity.sizes[:1] == ["T"]:
                known = found.get(name)
                if known is None:
                    found[name] = _declared(kind, name, quantity)
                elif kind not in known.kinds:
                    found[name] = replace(known, kinds=(*known.kinds, kind))
    return found


def _declared(kind: str, name: str, quantity: Quantity) -> Word:
    """The word of a quantity as it is declared, with the components of its shape."""
    components = quantity.components or {"3": XYZ, "4": WXYZ}.get(quantity.sizes[-1], ())
    components = components or (("",) if len(quantity.sizes) == 1 else ())
    unit = "" if quantity.unit == "-" else quantity.unit.replace("s2", "s²")
    label = quantity.label or name.replace("_", " ")
    return Word(label, unit, components, (kind,), scale=SCALES.get(quantity.unit, ""))


MEASURES = {
    "coordinates": (("angle", "deg", "one"), ("stroke", "m", "length")),
    "value": (("angle", "deg", "one"), ("distance", "m", "length")),
    "rates": (("angular rate", "deg/s", "angular_speed"), ("speed", "m/s", "speed")),
    "rate": (("angular rate", "deg/s", "angular_speed"), ("speed", "m/s", "speed")),
    "accelerations": (
        ("angular acceleration", "deg/s²", "angular_acceleration"),
        ("acceleration", "m/s²", "acceleration"),
    ),
    "force": (("torque", "N m", "torque"), ("force", "N", "force")),
}
"""Words of coordinates and their forces: label, unit and scale of angles, and of lengths."""
LENGTHS = ("m", "m/s", "m/s2", "N")


def channels(kind: str, group: Group, name: str, node: int | None = None) -> list[Channel]:
    """Channels of a quantity of one item, or of the node ``node`` of a beam; none where it is not recorded."""
    declared = type(group).quantities().get(name)
    if declared is None or (name in LABELLED and kind in LABELLED[name].kinds):
        word = words().get(name, Word(name.replace("_", " "), "", ()))
    else:
        word = _declared(kind, name, declared)
    computed = word.derived or name not in group
    if not word.derived and computed and array_of(group, name)[0] is None:
        return []
    value = getattr(group, name) if computed else group[name]
    values = np.asarray(value() if callable(value) else value)
    if not values.shape[-1:] or not values.size:
        return []
    item = group.name
    if kind == "audit":
        item = name.replace("_", " ")
    if node is not None and group.of_nodes:
        here = at_node(group, name, values, node)
        if here is None:
            return []
        values, item = here, f"{group.name}[{node}]"
    if kind in ("joints", "drivers", "springs", "loads") and name in MEASURES:
        return _coordinates(kind, group, name, values)
    flat = values.reshape(len(values), -1)
    own, names = group.columns_of(name)
    if word.unit == "own":
        word = replace(word, unit="" if own in ("-", "own") else own.replace("s2", "s²"), scale=SCALES.get(own, ""))
    given = names or word.components
    components = given if len(given) == flat.shape[1] else _numbered(values.shape[1:], name)
    return [Channel(item, word.label, word.unit, components, word.factor * flat, word.scale)]


def _coordinates(kind: str, group: Group, name: str, values: Floats) -> list[Channel]:
    """Channels of columns that may be angles or lengths, torques or forces, grouped by unit."""
    values = values.reshape(len(values), -1)
    unit, given = group.columns_of(name)
    if unit == "-":
        return [Channel(group.name, "quaternion", "", WXYZ, values, "one")]
    if name == "force" and (kind == "joints" or (kind == "loads" and values.shape[1] == 3)):
        return [Channel(group.name, "force", "N", XYZ, values, "force")]
    names = list(given) if len(given) == values.shape[1] else _unnamed(values.shape[1])
    columns_of: dict[bool, list[int]] = {}
    for k, own in zip(range(len(names)), cycle(unit.split(", "))):
        columns_of.setdefault(own in LENGTHS, []).append(k)
    result = []
    for length, columns in columns_of.items():
        label, unit, scale = MEASURES[name][length]
        factor = DEGREES if unit.startswith("deg") else 1.0
        shown = [names[k].replace("_", " ") for k in columns]
        result.append(Channel(group.name, label, unit, shown, factor * values[:, columns], scale))
    return result


def _unnamed(count: int) -> list[str]:
    """Names of coordinates without names."""
    return list(ANGLES) if count == 3 else [""] if count == 1 else [str(k) for k in range(count)]


def _numbered(shape: tuple[int, ...], name: str = "") -> list[str]:
    """Names of components without names; modes are counted from 1, as in tables."""
    if name == "modal_coordinates":
        return [str(k + 1) for k in range(shape[-1])]
    if shape in ((), (1,)):
        return [""]
    if shape == (3,):
        return list(XYZ)
    return [",".join(map(str, indices)) for indices in np.ndindex(*shape)]
