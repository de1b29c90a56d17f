"""Parameters: the numbers of a case that studies change and by which results are differentiated.

    [parameters.hinge]
    entry = "springs.left_1.stiffness"
    range = "5 %"

A case has the table for its analyses, a study may have one of its own. Both are read here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_origin

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError, Problem
from femb.base.meanings import Description
from femb.base.types import POSITIVE, Floats, OneOf, SeveralForms
from femb.base.values import as_numbers, number_problem, shown
from femb.case.build import entry_in_si, kind_in, kinds, read_table
from femb.case.compose import apply_override, composed, entry_of, override, parse_override
from femb.case.schema import choices, converted, keys_of, unit_of_entry
from femb.case.text import KeyPath, typed_key

T = TypeVar("T")
DISTRIBUTIONS = ("uniform", "normal", "lognormal")
# Half of a range is so many standard deviations of a normal distribution.
DEVIATIONS = 3.0
# Kinds of entries that have no neighbours: what they are, for the reason of a refusal.
NO_NUMBERS = {bool: "a switch", str: "a word", list: "a list", dict: "a table"}


@dataclass(frozen=True, kw_only=True)
class Parameter(Description):
    """A number of a case, or one that several entries share."""

    table: ClassVar[str] = "parameters"

    name: str
    entry: str | None = None
    """the entry of the case, as with --set: "sections.boom.youngs_modulus", "bodies.hub.inertia.0". Of a case that is a
    function, the name of its argument"""
    entries: list[str] | None = None
    """in place of it, entries that all have the value"""
    value: float | None = None
    """the nominal value, by default that of the case, in which it acts unless an entry is set"""
    range: Annotated[Any, SeveralForms((list[float], str))] = None
    """the least and the largest value, also as texts with the unit of the entry, or a text as "5 %", by how much it
    lies below and above the nominal value"""
    distribution: Annotated[str, OneOf(DISTRIBUTIONS)] = "uniform"
    """of the values over the range, of whose half a normal or lognormal one has a third as its standard deviation"""
    scale: Annotated[float | None, POSITIVE] = None
    """the size of a usual change, of numbers that may be zero; by default half of the range, or the nominal value"""
    relative: bool = False
    """whether value and range are of a factor, by default one, of the number, or the list of numbers, of each entry"""

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            check.at_most_one("entry", "entries")
            if self.entries is not None and not self.entries:
                check.fail("entries", "got an empty list, wanted entries of the case")
            if "range" in check.bad or self.range is None:
                return
            if isinstance(self.range, str):
                if not self._percent():
                    check.fail("range", f"got {shown(self.range)}, wanted two numbers, or a text as '5 %'")
            elif len(self.range) != 2 or any(map(number_problem, self.range)) or not self.range[1] > self.range[0]:
                check.fail("range", f"got {shown(self.range)}, wanted the least and the largest value")

    @property
    def keys(self) -> tuple[str, ...]:
        """The entries that it sets; of a function by default the argument of its name."""
        return tuple(self.entries or [self.entry or self.name])

    def _percent(self) -> float:
        """The relative half-width of a range in per cent; 0 where it is none."""
        number, _, rest = str(self.range).partition("%")
        try:
            return 0.01 * float(number) if not rest.strip() and "%" in str(self.range) and float(number) > 0.0 else 0.0
        except ValueError:
            return 0.0

    def limits(self, nominal: float | None = None) -> tuple[float, float] | None:
        """The least and the largest value; None without a range. nominal : the value, where it is not given here.

        Raises ModelError: a range in per cent of a nominal value that is zero or not known.
        """
        if self.range is None:
            return None
        if not isinstance(self.range, str):
            return float(self.range[0]), float(self.range[1])
        base = self.value if self.value is not None else 1.0 if self.relative else nominal
        if not base:
            raise ModelError.at((self.table, self.name, "range"), "is of a value that is zero; give two numbers")
        low, high = sorted(base * (1.0 + sign * self._percent()) for sign in (-1.0, 1.0))
        return low, high

    def check_about(self, nominal: float, limits: tuple[float, float]) -> None:
        """Raise ModelError where limits are not about the nominal value."""
        if not limits[0] <= nominal <= limits[1]:
            raise ModelError.at(
                (self.table, self.name, "range"),
                f"got {limits[0]:g} to {limits[1]:g}, wanted limits about the nominal value {nominal:g}",
            )

    def as_variable(self, nominal: float | None = None) -> dict[str, Any]:
        """The table of a study's variable that has the values of this parameter.

        nominal : the number of its entries in the case. A range in per cent is one of factors where they have no such
        number in common. Raises ModelError: no range.
        """
        of_case = isinstance(self.range, str) and self.value is None and not nominal
        key = self.entry if self.entries is None else list(self.entries)
        found: dict[str, Any] = {"key": key, "relative": self.relative or of_case}
        limits = self.limits(nominal or 1.0)
        if limits is None:
            if self.value is None:
                raise ModelError.at((self.table, self.name, "range"), "is missing; a study needs values to choose from")
            return found | {"kind": "values", "values": [self.value]}
        low, high = limits
        if self.distribution == "uniform":
            return found | {"kind": "uniform", "low": low, "high": high}
        middle = 0.5 * (low + high) if self.value is None else self.value
        spread = 0.5 * (high - low) / DEVIATIONS
        return found | {
            "kind": self.distribution,
            "mean": middle,
            "standard_deviation": spread,
            "low": low,
            "high": high,
        }


def overlaps(keys: Mapping[str, Iterable[str]], shared: bool = False) -> Iterator[tuple[str, str]]:
    """Names of which an entry is one of an earlier name, or a part of it, or has it as a part; and the reason.

    keys : the entries by name. Both would set one number, of which the last one's value would be left. shared : whether
    names may have an entry in common, as where each is changed alone.
    """
    whole, parts = dict[KeyPath, tuple[str, str]](), dict[KeyPath, tuple[str, str]]()
    for name, own in keys.items():
        for key in own:
            try:
                path = typed_key(key) if "." in key else (key,)
            except ValueError:  # no key, as is said where it is looked up
                path = (key,)
            above = [path[:k] for k in range(1, len(path))]
            looked_up = above if shared else [*above, path]
            if before := next((whole[each] for each in looked_up if each in whole), parts.get(path)):
                other, entry = before
                other = "it" if other == name else other
                how = f"as {other} does" if entry == key else f"and {other} sets {entry}, of which one is a part"
                yield name, f"sets {key}, {how}: only one of them may"
            whole[path] = name, key
            parts |= dict.fromkeys(above, (name, key))


class TunedGain(Parameter):
    """A number of a controller that ``femb.tune`` tunes within its range, beginning at its value."""

    table = "gains"


def read_parameters(
    tables: object, of_file: bool = True, document: Mapping[str, Any] | None = None, kind: type[Parameter] = Parameter
) -> tuple[dict[str, Parameter], list[Problem]]:
    """The parameters of tables [parameters.NAME] and the problems; with problems, those that can be read.

    of_file : whether they are of a case file, where each has entries. document : its tables, for units. kind : of
    parameters.
    """
    tables, of_units = numbers_in_si(kind, tables, document)
    found, problems = read_tables(kind, tables)
    problems = [each for each in problems if each.item not in of_units]
    problems += [Problem(item, text) for item, text in of_units.items()]
    for name, values in tables.items() if of_file and isinstance(tables, Mapping) else ():
        if isinstance(values, Mapping) and not {"entry", "entries"} & values.keys():
            problems.append(Problem((kind.table, name, "entry"), "is missing"))
    twice = [] if problems else [*overlaps({name: each.keys for name, each in found.items()}, kind is Parameter)]
    values = dict[str, Parameter]()
    for name, each in () if twice else found.items():
        for key in each.keys if each.value is not None else ():
            other = values.setdefault(key, each)
            if other is not each and (each.relative or other.relative or other.value != each.value):
                how = [f"{'by' if x.relative else 'to'} {x.value:g}" for x in (each, other)]
                twice.append((name, f"sets {key} {how[0]}, and {other.name} {how[1]}: only one of them may"))
    return found, problems + [Problem((kind.table, name), text) for name, text in twice]


# Keys of parameters, and of variables of studies, whose numbers have the unit of the entries.
OF_ENTRY = ("value", "range", "scale", "first", "last", "low", "high", "mean", "standard_deviation")


def numbers_in_si(
    kind: type, tables: object, document: Mapping[str, Any] | None
) -> tuple[object, dict[tuple[str, ...], str]]:
    """Tables of parameters or variables with numbers in SI units in place of texts with the units of their entries, and
    the problems. document : tables of the case, None where it has none."""
    if not isinstance(tables, Mapping) or document is None:
        return tables, {}
    result, problems = dict(tables), dict[tuple[str, ...], str]()
    for name, values in tables.items():
        if not isinstance(values, Mapping):
            continue
        keys = values.get("entries") or values.get("entry") or values.get("key")
        for word in OF_ENTRY:
            texts = values.get(word)
            if not isinstance(texts, list if word == "range" else str):
                continue
            try:
                for key in keys if isinstance(keys, list) else [keys] if isinstance(keys, str) else ():
                    own = converted(texts, ("",)) if values.get("relative") else _in_si(document, key, texts)
                    result[name] = {**result[name], word: own}
            except ModelError as error:
                problems[kind.table, name, word] = str(error)  # type: ignore[attr-defined]
    return result, problems


def _in_si(document: Mapping[str, Any], key: object, value: Any) -> Any:
    """The numbers of an entry, one by one, in SI units."""
    if isinstance(value, list):
        return [_in_si(document, key, each) for each in value]
    return entry_in_si(document, key, value) if isinstance(value, str) and isinstance(key, str) else value


def common_number(document: Mapping[str, Any], keys: Iterable[str]) -> float | None:
    """The number of all entries of a case, in SI units; None where they have none in common.

    Raises ModelError: another unit.
    """
    found = [entry_in_si(document, key, entry_of(dict(document), key)) for key in keys if "." in key]
    numbers = [each for each in found if not number_problem(each)]
    return float(numbers[0]) if numbers and numbers.count(numbers[0]) == len(found) else None


def read_tables(kind: type[T], tables: object) -> tuple[dict[str, T], list[Problem]]:
    """The items of tables [TABLE.NAME] of a kind, by name, and the problems; items that are made stay."""
    found: dict[str, T] = {}
    problems: list[Problem] = []
    where: str = kind.table  # type: ignore[attr-defined]
    if not isinstance(tables, Mapping):
        return found, [Problem((where,), f"got {shown(tables)}, wanted tables [{where}.NAME]")]
    for name, values in tables.items():
        if isinstance(values, kind):
            found[name] = values
        elif not isinstance(values, Mapping):
            problems.append(Problem((where, str(name)), f"got {shown(values)}, wanted a table [{where}.NAME]"))
        else:
            found[name], bad = read_table(kind, dict(values), name=name)
            problems += [Problem((where, name, *path), text) for path, text in bad.items()]
    return found, problems


def take_parameters(document: dict[str, Any], without: str = "") -> tuple[dict[str, Parameter], list[Problem]]:
    """The parameters of the tables of a case, which lose them and get their values, and the problems.

    without : a parameter whose factor does not act.
    """
    found, problems = read_parameters(document.pop(Parameter.table, {}), True, document)
    for each in () if problems else list(found.values()):
        if not (each.relative and each.name == without):
            problems += _act(document, each)
    return found, problems


def _act(document: dict[str, Any], parameter: Parameter) -> list[Problem]:
    """Set the entries of a parameter to its value, or multiply them by it; the problems."""
    place, value = (parameter.table, parameter.name, "value"), parameter.value
    if value is None:
        return []
    for key in parameter.keys:
        entry: Any = value
        try:
            if parameter.relative:
                numbers = as_numbers(entry_in_si(document, key, entry_of(document, key)))
                if numbers is None:
                    text = f"is a factor of {key}, wanted a number or a list of numbers there"
                    return [Problem(place, text)]
                entry = np.multiply(numbers, value).tolist()
            apply_override(document, override(key, entry), kinds())
        except ModelError as error:
            return [Problem(place, str(error).removeprefix("--set "))]
    return []


def apply_overrides(document: dict[str, Any], overrides: Iterable[str], without: str = "") -> tuple[KeyPath, ...]:
    """Set entries in the tables of a case as ``apply_override``, and return their paths.

    They come after the values of parameters: those of these entries are set before them, and parameters and gains lose
    them. without : a parameter whose factor does not act. Raises CaseError.
    """
    texts = tuple(overrides)
    paths = {text: parse_override(text)[0] for text in texts}
    valued = [text for text in texts if paths[text][0] in (Parameter.table, TunedGain.table)]
    for text in valued:
        apply_override(document, text, kinds())
    _settle(document, paths.values(), without)
    for text in (each for each in texts if each not in valued):
        apply_override(document, text, kinds())
    return tuple(paths[text] for text in texts)


def _settle(document: dict[str, Any], paths: Iterable[KeyPath], without: str) -> None:
    """Set entries to the values of those parameters of which paths will be set, or parts of them, or what they are
    parts of, but of one whose factor does not act; these parameters, and gains, lose their values."""
    changed = {path[:k] for path in paths for k in range(1, len(path) + 1)}, set(paths)
    for kind in (Parameter, TunedGain):
        items = document.get(kind.table)
        for name, each in items.items() if isinstance(items, dict) and changed[1] else ():
            if not isinstance(each, dict) or "value" not in each:
                continue
            found, problems = read_parameters({name: each}, True, document, kind)
            if problems:  # as is said where all are read
                continue
            own = [typed_key(key) for key in found[name].keys if "." in key]
            if any(path in changed[0] or any(path[:k] in changed[1] for k in range(1, len(path))) for path in own):
                acts = kind is Parameter and not (found[name].relative and name == without)
                if acts and _act(document, found[name]):
                    continue
                del each["value"]


def tables_of(path: Path, text: str, overrides: Iterable[str] = (), without: str = "") -> dict[str, Any]:
    """The tables of a case file with the entries of the command line, as ``apply_overrides``. Raises CaseError."""
    document = composed(path, text).document
    apply_overrides(document, overrides, without)
    return document


def document_of(path: Path, text: str, overrides: Iterable[str] = (), without: str = "") -> dict[str, Any]:
    """The tables of a case file with the entries of the command line and the values of its parameters.

    without : a parameter whose factor does not act.
    """
    document = tables_of(path, text, overrides, without)
    take_parameters(document, without)
    return document


@dataclass(frozen=True, eq=False)
class Differentiable:
    """A parameter in one case: its nominal value, unit, limits or None, the size of its usual changes, and what
    its entries have where it is a factor of these."""

    parameter: Parameter
    value: float
    unit: str
    limits: tuple[float, float] | None
    scale: float
    factors: Mapping[str, float | Floats]

    def entries(self, value: float) -> dict[str, Any]:
        """The entries of the case with a value of the parameter."""
        if not self.parameter.relative:
            return dict.fromkeys(self.parameter.keys, value)
        return {key: (value * np.asarray(own)).tolist() for key, own in self.factors.items()}


def differentiable(parameter: Parameter, document: dict[str, Any], model: Any) -> Differentiable:
    """The parameter of a case by which results can be differentiated.

    document : the tables of the case; model : of it. Raises ModelError, with the reason, where an entry has no
    neighbours: a count, a word, a switch, a list without ``relative``.
    """
    own = {key: _nominal(parameter, document, model, key) for key in parameter.keys}
    units = {unit_of_entry(model, key) for key in own}
    if parameter.relative:
        return _made(parameter, 1.0 if parameter.value is None else parameter.value, "", own)
    values = set(own.values()) if parameter.value is None else {parameter.value}
    if len(values) > 1:
        text = ", ".join(f"{key} is {value:g}" for key, value in own.items())
        raise refusal(parameter, f"its entries differ: {text}; give value, or relative = true for a factor of them")
    return _made(parameter, float(values.pop()), units.pop() if len(units) == 1 else "", {})


def missing_entries(document: dict[str, Any], model: Any, parameters: Iterable[Parameter]) -> list[Problem]:
    """The problems of parameters whose entries a case does not have, among its items."""
    return [
        Problem((each.table, each.name), f"the case has no entry {key}, and its default is no number")
        for each in parameters
        for key in each.keys
        if "." in key and typed_key(key)[0] in kinds()
        if entry_of(document, key) is None and _in_model(document, model, key) is None
    ]


def entries_without_item(document: dict[str, Any], model: Any, tables: Mapping[str, Any]) -> list[Problem]:
    """The problems of ``missing_entries`` of a case that has others; tables : [parameters] and [gains] as given."""
    found: list[Parameter] = []
    for kind in (Parameter, TunedGain):
        named = tables.get(kind.table, {})
        for name, values in named.items() if isinstance(named, Mapping) else ():
            keys = values.get("entries") or [values.get("entry")] if isinstance(values, Mapping) else ()
            if isinstance(keys, list) and keys and all(isinstance(key, str) for key in keys):
                found.append(kind(name=str(name), entries=keys))
    return missing_entries(document, model, found)


def _made(parameter: Parameter, value: float, unit: str, factors: Mapping[str, Any]) -> Differentiable:
    limits = parameter.limits(value)
    usual = abs(value) if limits is None else 0.5 * (limits[1] - limits[0])
    scale = parameter.scale or usual
    if not scale:
        raise refusal(
            parameter, "its value is zero, which has no size: give scale, the size of a usual change, or range"
        )
    return Differentiable(parameter, value, unit, limits, scale, factors)


def refusal(parameter: Parameter, why: str) -> ModelError:
    """The error of a parameter by which nothing can be differentiated."""
    return ModelError.at((parameter.table, parameter.name), f"cannot be differentiated by: {why}")


def _nominal(parameter: Parameter, document: dict[str, Any], model: Any, key: str) -> Any:
    """The number, or with ``relative`` the array of numbers, of an entry."""
    try:
        value = entry_of(document, key)
    except ValueError as error:
        raise refusal(parameter, f"got {key!r}, wanted an entry of the case, as springs.root.stiffness") from error
    of_model = _in_model(document, model, key)
    if isinstance(value, str | list):
        value = entry_in_si(document, key, value)
    if type(value) in (bool, str) or value is None:
        value = of_model if value is None or isinstance(value, str) else value
    if value is None:
        raise refusal(parameter, f"the case has no entry {key}, and its default is no number")
    if whole := _whole(document, key):
        raise refusal(parameter, f"{key} is {whole}")
    if parameter.relative:
        if (numbers := as_numbers(value)) is None:
            raise refusal(parameter, f"{key} is {shown(value)}, wanted a number or a list of numbers")
        return np.asarray(numbers, dtype=float)
    if number_problem(value):
        what = next((word for kind, word in NO_NUMBERS.items() if isinstance(value, kind)), "no number")
        raise refusal(parameter, f"{key} is {shown(value)}, {what}, which has no neighbours")
    return float(value)


def _in_model(document: dict[str, Any], model: Any, key: str) -> Any:
    """The value of an entry in the items of the model, in SI units; None where they have none of this name."""
    table, name, *path = typed_key(key) if "." in key else (key, "")
    found = getattr(model, "tables", {}).get(table, {}).get(name)
    for part in path:
        if part.isdecimal() and isinstance(found, list | tuple | np.ndarray):
            found = found[int(part)] if int(part) < len(found) else None
        else:
            found = getattr(found, part, None) if is_dataclass(found) else None
    return float(found) if isinstance(found, np.floating) else found


def _whole(document: dict[str, Any], key: str) -> str:
    """The words for an entry that takes whole numbers or truth values only; else nothing."""
    table, name, *path = typed_key(key) if "." in key else (key, "")
    item = document.get(table, {}).get(name) if isinstance(document.get(table), dict) else None
    if not isinstance(item, dict) or len(path) != 1 or (words := kinds().get(table)) is None:
        return ""
    kind = kind_in(item, words)[0]
    options = choices(keys_of(kind)[path[0]]) if kind and path[0] in keys_of(kind) else ()
    plain = {each.__origin__ if get_origin(each) is Annotated else each for each in options}
    return "a whole number, a count" if plain == {int} else "a switch" if plain == {bool} else ""
