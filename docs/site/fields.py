"""Extension of griffe: fields of descriptions as tables of types, units, defaults and meanings.

The tables are made of the classes, as ``help`` has them, so that they have what bases say too. The other attributes and
all methods follow as griffe finds them in the source.
"""

import dataclasses
import inspect
from importlib import import_module
from typing import Any

import griffe

from femb.base.meanings import Description, told


class Fields(griffe.Extension):
    """Puts the fields of a description below Parameters of its docstring, in place of their own entries."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        kind: Any = getattr(import_module(cls.module.path), cls.name, None)
        if not inspect.isclass(kind) or not issubclass(kind, Description) or not dataclasses.is_dataclass(kind):
            return
        lines = [cls.docstring.value if cls.docstring else "", "", "Parameters:"]
        for name, value in inspect.signature(kind).parameters.items():
            if told(kind, name):
                lines.append(f"    {name} ({value.annotation}): {told(kind, name)}.")
            if name in cls.members:
                cls.del_member(name)
        cls.docstring = griffe.Docstring("\n".join(lines), parent=cls)
