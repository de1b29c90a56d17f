"""The keys of the tables of a case file, from the fields of the model's dataclasses, and their texts with units.

The annotation of a field decides its form: a number, a list of a given shape, text, a nested table, or a profile by its
``shape``. Values are checked as in Python, by femb.base.checks. Callables, and items in place of their names (such as a
Section), are available in Python only.
"""

import dataclasses
import difflib
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache, partial
from typing import Any, cast, get_args, get_origin, get_type_hints

from femb.base.checks import alternatives, fit, is_function, mark_of, unit_of
from femb.base.errors import ModelError
from femb.base.types import OWN_UNITS, OneOf, SeveralForms, Shape
from femb.base.values import LARGEST, shown
from femb.case.text import KeyPath, typed_key
from femb.elements.item import Item
from femb.profiles import PROFILES, Profile

MISSING = "is missing"

Walked = tuple[Any, dict[KeyPath, str]]
"""A value made of that of a key, and its problems by path in it."""


@cache
def keys_of(kind: type) -> Mapping[str, Any]:
    """The keys of a table and their annotations; the name of an item is no key, but the name of its table."""
    hints = get_type_hints(kind, include_extras=True)
    named = {"name"} if hasattr(kind, "table") else set()
    return types.MappingProxyType(
        {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init and field.name not in named}
    )


@cache
def required_keys(kind: type) -> tuple[str, ...]:
    """The keys without defaults."""
    optional = {
        field.name
        for field in dataclasses.fields(kind)
        if not (field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING)
    }
    return tuple(name for name in keys_of(kind) if name not in optional)


def table_kind(hint: Any, value: Any) -> type | None:
    """The dataclass of a table under a key of this annotation; None where the value is no table."""
    for choice in choices(hint) if isinstance(value, dict) else ():
        if choice is Profile:
            return cast(type | None, PROFILES.get(str(value.get("shape"))))
        if dataclasses.is_dataclass(choice):
            return cast(type, choice)
    return None


def walked(
    hint: Any, value: Any, of_table: Callable[[type, dict[str, Any]], Walked], of_other: Callable[[Any], Walked]
) -> Walked:
    """The value of a key with ``of_table`` of each table in it, also in lists of tables, and ``of_other`` of all else;
    and their problems by path in the value."""
    if nested := table_kind(hint, value):
        return of_table(nested, value)
    entries = [get_args(option)[0] for option in choices(hint) if get_origin(option) is list]
    if not isinstance(value, list) or not entries or not any(isinstance(entry, dict) for entry in value):
        return of_other(value)
    made = [walked(entries[0], entry, of_table, of_other) for entry in value]
    problems = {(str(k), *path): text for k, (_, of_entry) in enumerate(made) for path, text in of_entry.items()}
    return [entry for entry, _ in made], problems


def key_problems(kind: type, values: dict[str, Any], *also: str) -> dict[KeyPath, str]:
    """The problems of a table's keys and of the types of their values, by path in the table.

    also : keys that are read elsewhere.
    """
    known = keys_of(kind)
    unknown = [str(key) for key in values if key not in known and key not in also]
    # A misspelt key is not reported as missing too.
    meant = {word for key in unknown for word in close_to(key, known)}
    result: dict[KeyPath, str] = {
        (key,): MISSING for key in required_keys(kind) if key not in values and key not in meant
    }
    for key, hint in known.items():
        if key in values:
            result |= {(key, *path): text for path, text in _value_problems(hint, values[key]).items()}
    return result | {(key,): unknown_key(key, known) for key in unknown}


def _value_problems(hint: Any, value: Any) -> dict[KeyPath, str]:
    options, kind = choices(hint), table_kind(hint, value)
    if Profile in options and (isinstance(value, dict) or float not in options):
        if not isinstance(value, dict):
            return {(): f"got {shown(value)}, wanted a table such as {{ shape = 'versine', duration = 1.0 }}"}
        if kind is None:
            got = f"got {shown(value['shape'])}," if "shape" in value else f"{MISSING},"
            return {("shape",): f"{got} must be one of {', '.join(map(repr, PROFILES))}"}
        return key_problems(kind, value, "shape")
    if kind is not None:
        return key_problems(kind, value)
    for option in options:
        if get_origin(option) in (list, tuple):
            if not isinstance(value, list):
                return {(): f"got {shown(value)}, wanted a list"}
            entry = get_args(option)[0]
            by_index = ((str(k), _value_problems(entry, element)) for k, element in enumerate(value))
            return {(k, *path): text for k, problems in by_index for path, text in problems.items()}
    values = [option for option in options if not dataclasses.is_dataclass(option)]
    if options and not values:
        keys = ", ".join(map(repr, keys_of(options[0])))
        return {(): f"got {shown(value)}, wanted a table with keys from {keys}"}
    # The dataclass checks which word it is: any text lets it be constructed, so that it reports its other problems too.
    problem = fit([str if isinstance(mark_of(option), OneOf) else option for option in values], value)
    return {(): problem} if problem else {}


def close_to(word: str, known: Iterable[str]) -> list[str]:
    """The known word that was probably meant, if there is one."""
    return difflib.get_close_matches(word.lower().replace("-", "_"), list(known), n=1)


def unknown_key(word: str, known: Iterable[str]) -> str:
    """The message about a key that does not exist."""
    if word == "name":
        return "unknown key; an item's name is that of its table, such as [bodies.hub]"
    for guess in close_to(word, known):
        return f"unknown key; did you mean {guess!r}?"
    return "unknown key; the keys here are " + ", ".join(map(repr, known))


@cache
def choices(hint: Any) -> tuple[Any, ...]:
    """The alternatives of an annotation that a file can express; items of the model are given by their names."""
    options = [
        alternative
        for alternative in alternatives(hint)
        if alternative is not type(None) and not is_function(alternative)
    ]
    other = tuple(option for option in options if not (isinstance(option, type) and issubclass(option, Item)))
    return other or (str,) * len(options)


# Texts with units, such as "10 mm", in place of numbers of a case file.
#
# The unit of a key is declared beside its field, by ``femb.base.types.Unit``. A turn is 2 pi radians: "10 Hz" and "600
# rpm" are 62.8 rad/s, and "62.8 rad/s" is 10 Hz. Radians may be left out where they are a part of a unit: "1 N m" is a
# stiffness of 1 N m/rad; but "1 1/s" is neither a rate nor a frequency.

# A number and the beginning of a unit.
WITH_UNIT = r"^\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?(\s*[^\s0-9.,]|\s+1\s*/)"
NUMBER = re.compile(r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(.*)", re.DOTALL)
# A sign, a bracket, a root, the number 1, or the name of a unit and its power: m, m2, m^2, m**-2, m², h^0.5, √h.
PART = re.compile(
    r"\s*(?:(?P<sign>[*·⋅/()√])"
    r"|(?:(?P<one>1)|(?P<name>%|°?[^\W\d¹²³⁴-⁹](?:\w*[^\W\d¹²³⁴-⁹])?|°)"
    r"(?:(?P<power>(?:\^|\*\*)[-+]?\d(?:\.5)?|-?\d)|(?P<raised>⁻?[¹²³⁴-⁹]))?)(?![\w.^]))"
)
RAISED = str.maketrans("⁻¹²³⁴⁵⁶⁷⁸⁹", "-123456789")
# Spellings of many that pint does not read, or reads as another unit.
ALSO = {"°": "degree", "hz": "Hz", "rev": "turn", "Nm": "N m", "Nmm": "N mm", "kNm": "kN m", "Nms": "N m s"}
ANGLE = "[angle]"
# Powers of angles in units by the names of pint, to which they are numbers; to it a hertz is 1/s, here a turn a second.
ANGLES = {
    **dict.fromkeys(("radian", "degree", "arcminute", "arcsecond", "milliarcsecond", "grade", "mil", "turn"), 1),
    **dict.fromkeys(("hertz", "revolutions_per_minute", "revolutions_per_second"), 1),
    **dict.fromkeys(("steradian", "square_degree"), 2),
}
# Units of which radians cannot be left out: it would not be known whether radians or turns are meant.
ANGULAR = ("rad", "rad/s", "Hz", "rad/s^0.5", "rad/s^1.5")
VALUE = "value"  # in the unit of a profile's field: the unit of the values of the profile

Units = tuple[str, ...]
"""The unit of a number, several where it is not known which, none where its key declares none; "" : no unit."""


@dataclass(frozen=True)
class Scope:
    """The units of a table by its place in the case.

    angles : of every coordinate that the item acts on, whether it is an angle (else it is a stroke); of a joint, of its
    own coordinates; None where it is not known. value : the units of the values of a profile.
    """

    angles: Sequence[bool] | None = None
    value: Units = ("",)


ANYWHERE = Scope()


@dataclass(frozen=True)
class UnitValue:
    """A unit. factor : its size in SI units and radians. powers : of the dimensions in it, without zeros."""

    factor: float
    powers: Mapping[str, float]

    def times(self, other: "UnitValue", power: float = 1) -> "UnitValue":
        """The product with a power of another one. Raises ModelError beyond the range of numbers."""
        words = {*self.powers, *other.powers}
        sums = {word: self.powers.get(word, 0) + power * other.powers.get(word, 0) for word in words}
        factor = self.factor * (other.factor if power > 0 else 1.0 / other.factor) ** abs(power)
        if not 1.0 / LARGEST <= factor <= LARGEST:
            raise ModelError("the unit is too large or too small")
        return UnitValue(factor, {word: p for word, p in sums.items() if p})


NUMBER_ONE = UnitValue(1.0, {})


def units_of(kind: type, key: str, scope: Scope = ANYWHERE) -> Sequence[Units]:
    """The units of the numbers of a key: one entry for all of them, or one for each coordinate of a joint."""
    unit = unit_of(keys_of(kind)[key])
    if unit is None or unit == OWN_UNITS:
        return [()]
    if VALUE in unit.text:
        return [tuple(_of_value(unit.text, value) for value in scope.value)]
    if unit.stroke is None:
        return [(unit.text,)]
    if scope.angles is None:
        return [(unit.text, unit.stroke)]
    return [(unit.text if is_angle else unit.stroke,) for is_angle in scope.angles]


def unit_of_entry(model: Any, key: str) -> str:
    """The SI unit of the numbers of an entry of a case, as "bodies.hub.angular_velocity.2", by the items of its model.

    "" for numbers without a unit, and where it is not known, as with entries with numbers of several units.
    """
    if key.partition(".")[0] == "gravity":
        return "m/s2"
    try:
        table, name, *path = typed_key(key)
    except ValueError:
        return ""
    item = getattr(model, "tables", {}).get(table, {}).get(name)
    scope = _scope_in(model, item)
    while path and is_dataclass(item) and not isinstance(item, type):
        word, *path = path
        if word not in keys_of(type(item)):
            return ""
        units, scope = units_of(type(item), word, scope), _within(type(item), word, scope)
        item = getattr(item, word, None)
        if not is_dataclass(item):
            return units[0][0] if len(units) == 1 and len(units[0]) == 1 else ""
    return ""


def _scope_in(model: Any, item: Any) -> Scope:
    """Coordinates on which the units of an item of a model depend: those of its joint, or its own if it is one."""
    joint = item
    if getattr(item, "follows_joint", False):
        joint = model.tables.get("joints", {}).get(item.joint)
    own_angles = getattr(joint, "own_angles", None)
    angles = own_angles() if own_angles is not None else None
    if joint is item or not angles:
        return Scope(list(angles.values())) if angles else ANYWHERE
    named = [angle for key, angle in angles.items() if getattr(item, "coordinate", None) in (None, key)]
    return Scope(named[:1]) if named else ANYWHERE


def _of_value(text: str, value: str) -> str:
    """The unit in a profile whose values have the unit ``value``: "value/s" as "rad/s"."""
    unit = text.replace(VALUE, value or "1")
    return "" if unit == "1" else unit


def takes_numbers(kind: type, key: str) -> bool:
    """Whether the value of a key is a number or consists of numbers, and is never a text."""
    hint = keys_of(kind)[key]
    options = choices(hint)
    of_sizes = unit_of(hint) is not None and any(get_origin(option) is dict for option in options)
    return str not in options and (of_sizes or any(map(_of_numbers, options)))


def _of_numbers(option: Any) -> bool:
    match mark_of(option):
        case Shape(_):
            return True
        case SeveralForms(options):
            return any(map(_of_numbers, options)) and str not in options
    if get_origin(option) is list:
        return any(map(_of_numbers, choices(get_args(option)[0])))
    return option is float


def in_si(kind: type, values: Mapping[str, Any], scope: Scope = ANYWHERE) -> tuple[dict[str, Any], dict[KeyPath, str]]:
    """A table with numbers in SI units in place of texts with units, and the problems of these by key."""
    result, problems = dict(values), dict[KeyPath, str]()
    known = keys_of(kind)
    for key, value in values.items():
        if key in known and isinstance(value, str | list | dict):
            of_table = partial(in_si, scope=_within(kind, key, scope))
            result[key], of_value = walked(known[key], value, of_table, partial(_numbers_in_si, kind, key, scope))
            problems |= {(key, *path): text for path, text in of_value.items()}
    return result, problems


def _within(kind: type, key: str, scope: Scope) -> Scope:
    """That of a table within a key: the numbers of a profile have the unit of what it is given for, by default none, as
    factors."""
    hint = keys_of(kind)[key]
    declared = unit_of(hint) is not None and _is_profile(hint)
    return Scope(scope.angles, units_of(kind, key, scope)[0] if declared else ("",))


def _is_profile(hint: Any) -> bool:
    options = choices(hint)
    entries = [get_args(option)[0] for option in options if get_origin(option) is list]
    return Profile in (*options, *entries)


def _numbers_in_si(kind: type, key: str, scope: Scope, value: Any) -> Walked:
    if not _has_text(value) or not takes_numbers(kind, key):
        return value, {}
    units, unit = units_of(kind, key, scope), unit_of(keys_of(kind)[key])
    of_tables = dict(unit.entries) if unit is not None and isinstance(value, dict) else {}
    try:
        if of_tables.keys() & value:
            return {word: _one_by_one(each, of_tables.get(word, ()), units[0]) for word, each in value.items()}, {}
        if isinstance(value, list) and len(units) > 1:  # of a joint, whose class checks how many there are
            by_entry = [*units, *[units[-1]] * len(value)]
            return [converted(entry, of_entry) for entry, of_entry in zip(value, by_entry, strict=False)], {}
        return (converted(value, units[0]) if units else value), {}
    except ModelError as error:
        return value, {(): str(error)}


def _one_by_one(value: Any, given: Units, units: Units) -> Any:
    """A list of numbers with one unit each; what is no such list, in ``units``."""
    if not given or not isinstance(value, list) or len(value) != len(given):
        return converted(value, units)
    return [converted(entry, (unit,)) for entry, unit in zip(value, given, strict=True)]


def _has_text(value: Any) -> bool:
    """Whether a value is or contains a number with a unit; any other text is left to the checks of the key."""
    if isinstance(value, list | dict):
        return any(map(_has_text, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and re.match(WITH_UNIT, value) is not None


def converted(value: Any, units: Units) -> Any:
    """Numbers in SI units from texts with units, also in nested lists and tables. Raises ModelError."""
    if isinstance(value, list):
        return [converted(entry, units) for entry in value]
    if isinstance(value, dict):
        return {key: converted(entry, units) for key, entry in value.items()}
    return _number(value, units) if _has_text(value) else value


def _number(text: str, units: Units) -> float:
    """A number in SI units. Raises ModelError: another quantity, or an unknown unit."""
    if not units:
        raise ModelError(f"got {shown(text)}, wanted a number in SI units: this key takes no texts with units")
    advice = f"wanted a number in {' or '.join(units)}, or a text with such a unit"
    if units == ("",):
        advice = "wanted a number without a unit"
    match = NUMBER.fullmatch(text)
    try:
        if match is None:
            raise ModelError("no number before the unit")
        number, given = float(match[1]), quantity(match[2])
    except ModelError as error:
        raise ModelError(f"got {shown(text)}, {advice}: {error}") from error
    if not math.isfinite(number * given.factor):
        raise ModelError(f"got {shown(text)}, must be finite")
    for unit in units:
        if _fits(given, unit):
            size = quantity(unit).factor
            # divided by 1000 rather than multiplied by 0.001, which is rounded: "72 mm" is 0.072
            return number * (given.factor / size) if given.factor >= size else number / (size / given.factor)
    turns = any(given.powers == _without_angle(unit) for unit in units if unit in ANGULAR)
    raise ModelError(f"got {shown(text)}, {advice}" + (": say whether it counts radians or turns" if turns else ""))


def _without_angle(unit: str) -> dict[str, Any]:
    """The powers of a unit in which radians or turns are left out."""
    return {dimension: power for dimension, power in quantity(unit).powers.items() if dimension != ANGLE}


def _fits(given: UnitValue, unit: str) -> bool:
    """Whether a text with the unit ``given`` is one of a number in ``unit``."""
    wanted = quantity(unit).powers
    if given.powers == wanted:
        return True
    return ANGLE in wanted and unit not in ANGULAR and given.powers == _without_angle(unit)


@cache
def quantity(text: str) -> UnitValue:
    """The quantity of a unit in a text, such as "kg m2", "N m s/rad", "W/(m K)". Raises ModelError."""
    if len(text) > 100:
        raise ModelError("the unit is too long")
    parts = _Parts(text)
    result = parts.product() if text.strip() else NUMBER_ONE
    if parts.left:
        raise ModelError(f"cannot read the unit {shown(text.strip())}")
    return result


class _Parts:
    """The parts of a unit in a text, read from the left."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.left = list(self._parts(re.sub(r"\bsqrt\b", "√", re.sub(r"\bper\b", "/", text.rstrip()))))

    def _parts(self, text: str) -> Iterator[re.Match[str]]:
        at = 0
        while at < len(text):
            match = PART.match(text, at)
            if match is None:
                raise self.unread()
            yield match
            at = match.end()

    def unread(self) -> ModelError:
        """The error of a text that is no unit."""
        return ModelError(f"cannot read the unit {shown(self.text.strip())}")

    def product(self) -> UnitValue:
        """Factors up to a closing bracket or the end."""
        divided = bool(self.left) and self.left[0]["sign"] == "/"  # as in "5 /s"
        result = NUMBER_ONE if divided else self.factor()
        while self.left and self.left[0]["sign"] != ")":
            sign = self.left[0]["sign"]
            if sign in tuple("*·⋅/"):
                del self.left[0]
            elif divided:
                raise ModelError(f"brackets are missing after '/' in {shown(self.text.strip())}: write 'kg/(m s2)'")
            divided = divided or sign == "/"
            result = result.times(self.factor(), -1 if sign == "/" else 1)
        return result

    def factor(self) -> UnitValue:
        """A unit with its power, the number 1, or a product in brackets."""
        part = self.left.pop(0) if self.left else None
        if part is None or part["sign"] not in (None, "(", "√"):
            raise self.unread()
        if part["sign"] == "√":
            return NUMBER_ONE.times(self.factor(), 0.5)
        if part["sign"]:
            result = self.product()
            if not self.left or self.left.pop(0)["sign"] != ")":
                raise self.unread()
            return result
        if part["one"]:
            return NUMBER_ONE
        given = (part["power"] or "1").lstrip("^*") if part["raised"] is None else part["raised"].translate(RAISED)
        power = float(given) if "." in given else int(given)
        return NUMBER_ONE.times(named(part["name"]), power)


@cache
def named(name: str) -> UnitValue:
    """The unit of a name, with a prefix. Raises ModelError: it is unknown, or its zero is not zero."""
    if name in ALSO:
        return quantity(ALSO[name])
    import pint

    registry: Any = pint.get_application_registry()  # type: ignore[no-untyped-call]
    try:
        (_, base, _), *_ = registry.parse_unit_name(name)
        one, zero = (registry.Quantity(x, name).to_base_units() for x in (1.0, 0.0))
    except Exception as error:  # pint has many kinds, and passes on those of Python
        raise ModelError(f"unknown unit {name!r}") from error
    if zero.magnitude != 0.0:
        raise ModelError(f"{name!r} is no multiple of an SI unit (a difference of temperatures is: in K)")
    powers = {**one.dimensionality, ANGLE: ANGLES.get(base, 0)}
    turn = 2.0 * math.pi if base == "hertz" else 1.0
    return UnitValue(turn * float(one.magnitude), {word: power for word, power in powers.items() if power})
