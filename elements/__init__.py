"""The element library: one physical thing a file; ``CATALOGUE`` is what a model may hold.

Its names are those of ``femb.elements.catalogue``; see docs/howto/add_an_element.md.
"""

if __name__ != "femb.elements":
    raise ImportError("the element library is imported as femb.elements, not as a top-level package")

from typing import TYPE_CHECKING

from femb.elements.catalogue import *  # noqa: F403
from femb.elements.item import Item

_CLASSES = [each for each in list(globals().values()) if isinstance(each, type) and each is not Item]
CATALOGUE: tuple[type[Item], ...] = tuple(kind for kind in _CLASSES if issubclass(kind, Item))

if not TYPE_CHECKING:
    # Type checkers see the names of the catalogue by themselves.
    __all__ = ["CATALOGUE", *sorted(kind.__name__ for kind in _CLASSES)]
