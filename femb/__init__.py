"""femb: rigid-flexible multibody dynamics - satellites with booms, rotors and mechanisms.

A ``Model`` contains elements; ``simulate`` integrates it; ``Results`` are named arrays. The public names are listed in
``__init__.pyi`` and, for elements, in ``femb.elements.catalogue``.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec

__version__ = "0.1.0"


def _homes():
    """The module of each public name, and the modules whose names are all public, from the stub file."""
    stub = __spec__.loader.get_data(__file__.rpartition(".")[0] + ".pyi").decode()
    modules, catalogues = {}, []
    for line in stub.splitlines():
        match line.split():
            case ["from", "femb", *_]:
                pass  # a module, for type checkers
            case ["from", module, "import", "*", *_]:
                catalogues.append(module)
            case ["from", module, "import", name, "as", _]:
                modules[name] = module
    return modules, catalogues


# Imported on first use, so that `import femb` is fast.
_HOMES, _CATALOGUES = _homes()


@cache
def _names(module):
    """The names of a catalogue and their values."""
    return {name: value for name, value in vars(import_module(module)).items() if not name.startswith("_")}


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "__all__":
        return sorted({*_HOMES, *(known for module in _CATALOGUES for known in _names(module))})
    if name.startswith("_"):
        raise AttributeError(f"module 'femb' has no attribute {name!r}")
    if name.islower() and find_spec(f"femb.{name}") is not None:  # a module, as in femb.profiles.Versine
        return import_module(f"femb.{name}")
    for module in _CATALOGUES:
        known = _names(module)
        if name in known:
            return known[name]
        for kind, value in known.items():
            # Names of a class in other programs and in the literature.
            if name.lower() in (word.replace("_", "") for word in getattr(value, "also", ())):
                raise AttributeError(f"module 'femb' has no attribute {name!r}; did you mean {kind!r}?")
    known = __getattr__("__all__")
    close = import_module("femb.base.values").nearest(name, known)
    raise AttributeError(f"module 'femb' has no attribute {name!r}{close or '; it has ' + ', '.join(known)}")


def __dir__():
    return [*__getattr__("__all__"), "__version__"]
