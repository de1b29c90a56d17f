"""The JSON Schema of a case file, from the annotations that also check it: for completion and checks in editors.

It has tables, keys, types, shapes of arrays, bounds of numbers, words, defaults, units and meanings. Other conditions,
such as the name of an existing body, are checked by ``femb check`` only.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, get_args, get_origin

import numpy as np

from femb.base.checks import declared, mark_of, unit_of
from femb.base.meanings import description, told
from femb.base.types import OWN_UNITS, LowerBound, OneOf, SeveralForms, Shape, Unit
from femb.case.build import OPTIONS, kinds
from femb.case.parameters import Parameter, TunedGain
from femb.case.schema import WITH_UNIT, choices, keys_of, required_keys, takes_numbers
from femb.case.unmodelled import Unmodelled
from femb.elements import registry
from femb.model.model import Figure
from femb.profiles import PROFILES, Profile

DRAFT = "http://json-schema.org/draft-07/schema#"
NUMBER = {"type": "number"}
PLAIN = {float: NUMBER, int: {"type": "integer"}, bool: {"type": "boolean"}, str: {"type": "string"}}
# Names are parts of paths in result files: no slashes, no blanks around them.
NAMES = {"pattern": r"^(?!\.\.?$)(?!\s)[^/\\]+(?<!\s)$", "maxLength": 200}


def meaning(table: str) -> str:
    """The meaning of a table, a sentence; that of items stands in the catalogue."""
    if table in OPTIONS:
        return "How the model is integrated in time."
    return f"{'Figures of the results' if table == Figure.table else registry.meaning(table)}, by name."


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 7) of a case file in TOML, ready for ``json.dump``.

    Source: the dataclasses of femb.elements, femb.profiles and femb.Run.
    """
    writer = SchemaWriter()
    properties: dict[str, Any] = {
        "title": {"type": "string", "description": "Text for reports.", "default": ""},
        "gravity": _or_texts(_array((3,)))
        | {"description": "Uniform acceleration, inertial axes, m/s2.", "default": [0, 0, 0]},
    }
    properties["noise"] = {
        "type": "object",
        "properties": {
            "seed": {"type": "integer", "minimum": 0, "default": 0, "description": "Of the noise of all sensors."}
        },
        "additionalProperties": False,
        "description": "The seed of the noise of sensors.",
    }
    properties["include"] = {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "Case files whose tables belong to this case too, relative to its folder.",
    }
    properties["patterns"] = {
        "type": "object",
        "additionalProperties": {"type": "object"},
        "description": "Items that are repeated: count, each, first, last, and tables of items with {expressions}.",
    }
    for table, words in kinds().items():
        options = [([word, *getattr(kind, "also", ())], kind) for word, kind in words.items()]
        items = writer.chosen("kind", options, default=True)
        found = {"type": "object", "propertyNames": NAMES, "additionalProperties": items}
        properties[table] = _with(found, description=meaning(table))
    properties |= {table: _with(writer.table(kind), description=meaning(table)) for table, kind in OPTIONS.items()}
    of_analyses: dict[type[Parameter | Unmodelled], str] = {
        Parameter: "Numbers that studies change and by which results are differentiated, by name.",
        TunedGain: "Numbers of controllers that femb loop --tune tunes within their ranges, by name.",
        Unmodelled: "Dynamics of inputs and outputs that a model leaves out, by their relative error.",
    }
    for kind, text in of_analyses.items():
        properties[kind.table] = {
            "type": "object", "propertyNames": NAMES, "additionalProperties": writer.table(kind), "description": text,
        }  # fmt: skip
    return {
        "$schema": DRAFT,
        "title": "femb case",
        "description": "A case of femb: a model and how it is integrated in time. Units are SI and radians.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "definitions": writer.definitions,
    }


class SchemaWriter:
    """Writes the schemas of tables, and collects the definitions of all, one per dataclass."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def chosen(self, key: str, options: list[tuple[list[str], Any]], default: bool) -> dict[str, Any]:
        """One of several tables by the word under a key; without the key the first, if there is a ``default``.

        The implications "if word then table" are checked, so that an error is shown at its key and not for the whole
        table. Editors do not complete from implications; for them the tables are also in an anyOf that all values fit.
        """
        all_words = [word for words, _ in options for word in words]
        references, cases = [], []
        for k, (words, kind) in enumerate(options):
            needed = [] if default and k == 0 else [key]
            references.append(self.table(kind, {key: {"enum": words}}))
            cases.append({"if": {"properties": {key: {"enum": words}}, "required": needed}, "then": references[-1]})
        return {
            "type": "object",
            "properties": {key: {"enum": all_words} | ({"default": all_words[0]} if default else {})},
            "required": [] if default else [key],
            "allOf": cases,
            "anyOf": [*references, {}],
        }

    def table(self, kind: type, tags: dict[str, Any] | None = None) -> dict[str, Any]:
        """A reference to the table of a dataclass; ``tags`` are keys in addition to its fields."""
        name = kind.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # ends the recursion of a table that contains itself
            hints = keys_of(kind)
            properties = dict(tags or {})
            for key, hint in hints.items():
                if options := choices(hint):
                    words = {"description": told(kind, key) or None, "default": _default(kind, key)}
                    value = self.value(options)
                    if bound := declared(hint, LowerBound):
                        value = _with_numbers(value, **{"exclusiveMinimum" if bound.above else "minimum": bound.least})
                    unit = unit_of(hint)
                    if takes_numbers(kind, key) and unit is not None and unit not in (Unit(""), OWN_UNITS):
                        value = _or_texts(value)
                    properties[key] = _with(value, **words)
            self.definitions[name] = {
                "type": "object",
                "title": name,
                "description": description(kind),
                "properties": properties,
                "required": list(required_keys(kind)),
                "additionalProperties": False,
            }
        return {"$ref": f"#/definitions/{name}"}

    def profile(self) -> dict[str, Any]:
        """A profile of time by its shape."""
        if "Profile" not in self.definitions:
            options = [([word], profile) for word, profile in PROFILES.items()]
            self.definitions["Profile"] = self.chosen("shape", options, default=False)
        return {"$ref": "#/definitions/Profile"}

    def value(self, options: Sequence[Any]) -> dict[str, Any]:
        """A value that fits one of several annotations."""
        forms = [self.form(option) for option in options]
        return forms[0] if len(forms) == 1 else {"anyOf": forms}

    def form(self, option: Any) -> dict[str, Any]:
        """A value that fits one annotation."""
        match mark_of(option):
            case Shape(dims):
                return _array(dims)
            case OneOf(words):
                return {"enum": list(words)}
            case SeveralForms(options):
                return self.value(list(options))
        if option is Profile:
            return self.profile()
        if dataclasses.is_dataclass(option):
            return self.table(option)  # type: ignore[arg-type]
        origin = get_origin(option) or option
        if origin in (list, tuple):
            return {"type": "array", "items": self.value(choices(get_args(option)[0]))}
        return {"type": "object"} if origin is dict else dict(PLAIN.get(origin, {}))


def _or_texts(value: Any) -> Any:
    """A schema whose numbers may also be texts with a unit, such as "10 mm"."""
    return _with_numbers(value, type=["number", "string"], pattern=WITH_UNIT)


def _with_numbers(value: Any, **words: Any) -> Any:
    """A schema with further keywords for its numbers."""
    if isinstance(value, dict):
        found = {word: _with_numbers(entry, **words) for word, entry in value.items()}
        return found | words if value.get("type") == "number" else found
    return [_with_numbers(entry, **words) for entry in value] if isinstance(value, list) else value


def _array(dims: tuple[int | None, ...]) -> dict[str, Any]:
    """Nested lists of numbers; None stands for any number of entries, at least one."""
    if not dims:
        return dict(NUMBER)
    size = {"minItems": 1} if dims[0] is None else {"minItems": dims[0], "maxItems": dims[0]}
    return {"type": "array", "items": _array(dims[1:]), **size}


def _with(value: dict[str, Any], **words: Any) -> dict[str, Any]:
    """A schema with further keywords, except None; next to a reference these would be ignored."""
    words = {key: word for key, word in words.items() if word is not None}
    return {"allOf": [value], **words} if "$ref" in value and words else value | words


def _default(kind: type, key: str) -> Any:
    """The default of a key as in a file; None without one."""
    default = next(field.default for field in dataclasses.fields(kind) if field.name == key)
    if default is dataclasses.MISSING:
        return None
    if dataclasses.is_dataclass(default):
        given = {field.name: getattr(default, field.name) for field in dataclasses.fields(default)}
        shape = {"shape": default.shape} if hasattr(default, "shape") else {}
        listed = {
            word: np.asarray(value).tolist() if isinstance(value, tuple | np.ndarray) else value
            for word, value in given.items()
        }
        return shape | {word: value for word, value in listed.items() if value is not None}
    if isinstance(default, tuple | np.ndarray):
        return np.asarray(default).tolist()
    return None if default == float("inf") else default
