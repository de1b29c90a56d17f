"""The JSON Schema of a study file, from the annotations that also check it: for completion and checks in editors."""

from collections.abc import Mapping
from typing import Any

from femb.base.meanings import told
from femb.case.json_schema import DRAFT, NAMES, SchemaWriter
from femb.case.parameters import Parameter
from femb.case.schema import choices, keys_of
from femb.study.linear_outputs import OUTPUTS
from femb.study.study import KEYS, SET, Limits, Study
from femb.study.variables import VARIABLES

TABLES: dict[str, tuple[Mapping[str, type], str]] = {
    "variables": (VARIABLES, "Entries of the case that differ from run to run, by name."),
    "outputs": (OUTPUTS, "Numbers of every run, by name."),
}
NEEDED = ("case", "outputs")
"""What every study file has; variables or parameters may be those of the case."""


def _by_name(text: str, items: Any) -> dict[str, Any]:
    return {"type": "object", "description": text, "propertyNames": NAMES, "additionalProperties": items}


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 7) of a study file, ready for ``json.dump``. Source: femb.Study and its tables."""
    writer = SchemaWriter()
    hints = keys_of(Study)
    properties: dict[str, Any] = {}
    for key in KEYS:
        if key == SET:
            text = "Entries of the case for all runs, as run.duration = 60.0."
            properties[key] = {"type": "object", "description": text}
        elif key == Limits.table:
            items = writer.table(Limits)
            properties[key] = {"type": "object", "description": told(Study, key), "additionalProperties": items}
        elif key == Parameter.table:
            properties[key] = _by_name(told(Study, key), writer.table(Parameter))
        elif key in TABLES:
            kinds, text = TABLES[key]
            items = writer.chosen("kind", [([word], kind) for word, kind in kinds.items()], default=True)
            properties[key] = _by_name(text, items) | {"minProperties": 1}
        else:
            properties[key] = writer.value(choices(hints[key])) | {"description": told(Study, key)}
    return {
        "$schema": DRAFT,
        "title": "femb study",
        "description": "A study of femb: many runs of one case, for femb sweep.",
        "type": "object",
        "properties": properties,
        "required": [*NEEDED],
        "additionalProperties": False,
        "definitions": writer.definitions,
    }
