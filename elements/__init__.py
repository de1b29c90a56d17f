"""The element library. ``CATALOGUE`` contains the classes of all items of a model.

The public names come from ``femb.elements.catalogue``; see docs/howto/add_an_element.md.
"""

if __name__ != "femb.elements":
    raise ImportError("the element library is imported as femb.elements, not as a top-level package")

from typing import TYPE_CHECKING

from femb.elements.catalogue import *  # noqa: F403
from femb.elements.item import Item

_CLASSES = [value for value in list(globals().values()) if isinstance(value, type) and value is not Item]
CATALOGUE: tuple[type[Item], ...] = tuple(kind for kind in _CLASSES if issubclass(kind, Item))

if not TYPE_CHECKING:
    # Type checkers read the names from the import of the catalogue.
    __all__ = ["CATALOGUE", *sorted(kind.__name__ for kind in _CLASSES)]
