"""Memory of an object: the values from which it continues exactly, as named arrays, and their way back.

An object with a memory names its attributes in ``memory``. A value is a number, a truth value, text, an array, None, a
tuple, list, deque or dictionary of such values, a dataclass, or another object with a memory. Paths are joined by
slashes. Nothing but arrays is stored, so that reading a file cannot run code.
"""

import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

# Name of the digest of the layout beside the arrays of a memory in a file.
LAYOUT = "layout"


@runtime_checkable
class WithMemory(Protocol):
    """An object whose attributes named in ``memory`` determine how it continues."""

    memory: ClassVar[tuple[str, ...]]


@runtime_checkable
class Recalled(Protocol):
    """An object that derives further values from its memory."""

    def recalled(self) -> None:
        """Called when the attributes of the memory are set."""


def remembered(owner: object) -> dict[str, np.ndarray]:
    """The memory of an object by path; None and empty containers have no entry. Raises TypeError for other values."""
    result: dict[str, np.ndarray] = {}
    _pack("", owner, result)
    return result


def layout_of(kind: type) -> str:
    """A digest of what the memory of a class may hold: the names of its attributes, and those of the classes with a
    memory and of the dataclasses that its modules know."""
    from hashlib import sha256

    modules = (vars(sys.modules[base.__module__]) for base in kind.__mro__ if base.__module__ in sys.modules)
    known = {each for names in modules for each in names.values() if isinstance(each, type)}
    lines = {each.__qualname__: "" for each in known if "memory" in vars(each) or is_dataclass(each)}
    for each in known:
        if each.__qualname__ in lines:
            own = fields(each) if is_dataclass(each) else ()
            lines[each.__qualname__] = repr((vars(each).get("memory"), [(one.name, str(one.type)) for one in own]))
    return sha256(repr(sorted(lines.items())).encode()).hexdigest()[:16]


def recall(owner: object, arrays: Mapping[str, np.ndarray]) -> None:
    """Set the attributes of an object from its memory; containers keep the type that they have in ``owner``."""
    tree: dict[str, Any] = {}
    for path, array in arrays.items():
        *parents, name = path.split("/")
        node = tree
        for part in parents:
            node = node.setdefault(part, {})
        node[name] = array
    _restored(tree, owner)


def _names(value: object) -> tuple[str, ...] | None:
    """The attributes in the memory of an object; None for a plain value."""
    if isinstance(value, WithMemory):
        return value.memory
    return tuple(field.name for field in fields(value)) if is_dataclass(value) else None


def _pack(path: str, value: Any, result: dict[str, np.ndarray]) -> None:
    names = _names(value)
    prefix = f"{path}/" if path else ""
    if names is not None:
        for name in names:
            _pack(prefix + name, getattr(value, name), result)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            _pack(prefix + name, part, result)
    elif isinstance(value, tuple | deque):
        for k, part in enumerate(value):
            _pack(f"{prefix}{k}", part, result)
    elif value is not None:
        array = np.array(value)
        if array.dtype.kind not in "biufcU":
            raise TypeError(f"{path}: a {type(value).__name__} cannot be remembered")
        result[path] = array


def _restored(node: Any, template: Any) -> Any:
    """The value of a node of the tree of a memory; template : the value that it replaces, which gives its type."""
    names = _names(template)
    if names is not None:
        for name in names:
            value = _restored((node or {}).get(name), getattr(template, name, None))
            setattr(template, name, value)
        if isinstance(template, Recalled):
            template.recalled()
        return template
    if isinstance(template, Mapping):
        return {name: _restored(part, None) for name, part in (node or {}).items()}
    if isinstance(template, list):
        return [] if node is None else [tuple(row) for row in node.tolist()]
    if isinstance(node, dict) and not all(name.isdecimal() for name in node):
        return {name: _restored(part, None) for name, part in node.items()}
    if isinstance(node, dict) or isinstance(template, tuple | deque):
        parts = tuple(_restored(node[k], None) for k in sorted(node or {}, key=int))
        return deque(parts, template.maxlen) if isinstance(template, deque) else parts
    if isinstance(node, np.ndarray):
        return node.item() if node.ndim == 0 else node.copy()
    return None
