"""Public names that are imported at their first use: those that the lines of a file import, for type checkers too.

A line is ``from MODULE import NAME as NAME``, perhaps with a remark after ``#``. Source: Scientific Python, SPEC 1.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple


class Public(NamedTuple):
    """A public name: its module, and the first word of the remark on its line."""

    name: str
    module: str
    remark: str

    def value(self) -> Any:
        """The class, function or constant, whose module is imported now if it was not yet."""
        return getattr(import_module(self.module), self.name)


def public_names(module: str, ending: str = ".py") -> tuple[dict[str, Public], list[str]]:
    """The names that the file of a module imports from femb, and the modules of which it imports all names.

    The module itself is not imported, the package that contains it is. ending : of the file, ".pyi" for a stub.
    """
    names: dict[str, Public] = {}
    stars: list[str] = []
    for line in source_of(module, ending).splitlines():
        match line.split():
            case ["from", "femb", *_]:
                pass  # a module, for type checkers
            case ["from", of, "import", "*", *_]:
                stars.append(of)
            case ["from", of, "import", name, "as", _, *remark]:
                names[name] = Public(name, of, remark[1] if len(remark) > 1 else "")
    return names, stars


def source_of(module: str, ending: str = ".py") -> str:
    """The text of the file of a module, which is not imported; the package that contains it is.

    ending : of the file, ".pyi" for a stub. Raises ImportError: there is none.
    """
    spec = find_spec(module)
    if spec is None or spec.origin is None or spec.loader is None:
        raise ImportError(f"no module {module!r}")
    source: bytes = spec.loader.get_data(spec.origin.removesuffix(".py") + ending)  # type: ignore[attr-defined]
    return source.decode()
