"""The element library: the classes of items of a model, each imported at its first use.

``femb.elements.catalogue`` lists them; see docs/howto/extend.md.
"""

if __name__ != "femb.elements":
    raise ImportError("the element library is imported as femb.elements, not as a top-level package")

from functools import cache
from typing import TYPE_CHECKING, Any

from femb.base.lazy import Public, public_names

if TYPE_CHECKING:
    from femb.elements.catalogue import *  # noqa: F403


@cache
def entries() -> dict[str, Public]:
    """The lines of the catalogue by the name of the class: module, and TABLE.KIND, which parts of descriptions lack."""
    return public_names(f"{__name__}.catalogue")[0]


if not TYPE_CHECKING:
    # Type checkers read the names from the import of the catalogue.

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return sorted(entries())
        if name in entries():
            return entries()[name].value()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(entries())
