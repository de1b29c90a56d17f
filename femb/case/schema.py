"""Case-file schema: pydantic types built from the dataclasses of the model, so that the words exist only once.

A dataclass becomes a TypedDict, which knows only the keys that are given and leaves the defaults to the
dataclass. A field's annotation decides what is read: numbers, lists of a given shape, text, nested tables, and a
profile by its ``shape``. Callables and whole items (a Section in place of its name) exist in Python only.
"""

import dataclasses
import difflib
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, NotRequired, Required, Union, cast, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, Discriminator, Tag, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic brings it, and takes no other before Python 3.12

from femb import elements
from femb.base.checks import shown
from femb.case.lines import Path
from femb.case.values import no_value, value_type
from femb.profiles import PROFILES, Profile

MISSING = "is missing"
TAG = "<femb "  # marks what a union adds to the place of an error


@cache
def keys_of(kind: type) -> Mapping[str, Any]:
    """The keys of a table by name, each with its annotation; an item's name is not a key but its table's."""
    hints = get_type_hints(kind, include_extras=True)
    named = {"name"} if hasattr(kind, "table") else set()
    return types.MappingProxyType(
        {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init and field.name not in named}
    )


@cache
def required_keys(kind: type) -> tuple[str, ...]:
    """The keys a table cannot do without."""
    optional = {
        field.name
        for field in dataclasses.fields(kind)
        if not (field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING)
    }
    return tuple(name for name in keys_of(kind) if name not in optional)


def table_kind(hint: Any, value: Any) -> type | None:
    """The dataclass that a table under a key of this annotation describes; None where it is not one."""
    for choice in choices(hint) if isinstance(value, dict) else ():
        if choice is Profile:
            return cast(type | None, PROFILES.get(str(value.get("shape"))))
        if dataclasses.is_dataclass(choice):
            return cast(type, choice)
    return None


def key_problems(kind: type, values: Any) -> dict[Path, str]:
    """What is wrong with the keys of a table and the types of their values, by place in the table."""
    found: dict[Path, str] = {}
    try:
        _adapter(kind).validate_python(values)
        return found
    except ValidationError as error:
        details = error.errors(include_url=False)
    meant: set[Path] = set()
    for each in details:
        place = tuple(str(part) for part in each["loc"] if not str(part).startswith(TAG))
        match each["type"]:
            case "missing":
                found[place] = MISSING
            case "extra_forbidden":
                known = list(keys_of(_kind_at(kind, values, place[:-1])))
                found[place] = unknown_key(place[-1], known)
                meant.update((*place[:-1], word) for word in close_to(place[-1], known))
            case "union_tag_invalid":
                got = f"got {shown(each['input']['shape'])}," if "shape" in each["input"] else f"{MISSING},"
                found[(*place, "shape")] = f"{got} must be one of {', '.join(map(repr, PROFILES))}"
            case "list_type":
                found[place] = f"got {shown(each['input'])}, wanted a list"
            case "femb":
                found[place] = each["msg"]
            case _:
                found[place] = f"got {shown(each['input'])}: {each['msg']}"
    # A key that is there but misspelt is not reported as missing too.
    return {place: text for place, text in found.items() if not (text == MISSING and place in meant)}


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


def _kind_at(kind: type, values: Any, place: Path) -> type:
    """The dataclass of the table at a place below a table of ``kind``."""
    for part in place:
        values, hint = values[part], keys_of(kind)[part]
        kind = table_kind(hint, values) or kind
    return kind


def choices(hint: Any) -> list[Any]:
    """The alternatives of an annotation that a file can express."""
    if get_origin(hint) in (Union, types.UnionType):
        return [choice for option in get_args(hint) for choice in choices(option)]
    python_only = hint is type(None) or get_origin(hint) is Callable or hint in elements.CATALOGUE
    return [] if python_only else [hint]


@cache
def _adapter(kind: type) -> Any:
    return TypeAdapter(_table(kind))


def _table(kind: type, *also: str) -> Any:
    """The TypedDict of a dataclass; ``also`` are keys that are read elsewhere."""
    required = required_keys(kind)
    fields: dict[str, Any] = dict.fromkeys(also, NotRequired[Any])
    for name, hint in keys_of(kind).items():
        fields[name] = Required[_field(hint)] if name in required else NotRequired[_field(hint)]
    make: Any = TypedDict
    table = make(kind.__name__, fields)
    table.__pydantic_config__ = ConfigDict(extra="forbid")
    return table


def _field(hint: Any) -> Any:
    """The pydantic type of a field: a table, a list, a value, or what fits one of these."""
    options = choices(hint)
    if Profile in options:
        shapes = {name: _table(cast(type, profile), "shape") for name, profile in PROFILES.items()}
        example = "a table such as { shape = 'versine', duration = 1.0 }"
        return _either(no_value(example), shapes, lambda value: str(value.get("shape")))
    for option in options:
        if get_origin(option) in (list, tuple):
            return list[value_type(choices(get_args(option)[0]))]  # type: ignore[misc]
        if dataclasses.is_dataclass(option):
            kind = cast(type, option)
            values = [each for each in options if each is not option]
            keys = ", ".join(map(repr, keys_of(kind)))
            value = value_type(values) if values else no_value(f"a table with keys from {keys}")
            return _either(value, {"": _table(kind)}, lambda table: "")
    return value_type(options)


def _either(value: Any, tables: dict[str, Any], choose: Callable[[dict[str, Any]], str]) -> Any:
    """One of several tables, as ``choose`` says, or a value that is no table."""
    tagged = [Annotated[table, Tag(f"{TAG}table {name}")] for name, table in tables.items()]
    tagged.append(Annotated[value, Tag(f"{TAG}value")])

    def tag(given: Any) -> str:
        return f"{TAG}table {choose(given)}" if isinstance(given, dict) else f"{TAG}value"

    return Annotated[Union[tuple(tagged)], Discriminator(tag)]  # noqa: UP007
