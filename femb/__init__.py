"""femb: rigid-flexible multibody dynamics - satellites with booms, rotors and mechanisms.

``Model`` and the elements describe; ``simulate`` integrates; ``Results`` holds arrays by name. The public names stand
in ``__init__.pyi`` and, of the elements, in ``femb.elements.catalogue``.
"""

from importlib import import_module

__version__ = "0.1.0"


def _homes():
    """The modules of the public names, and the modules of which all names are public, as the stub file says."""
    stub = __spec__.loader.get_data(__file__.rpartition(".")[0] + ".pyi").decode()
    named, whole = {}, []
    for line in stub.splitlines():
        match line.split():
            case ["from", module, "import", "*", *_]:
                whole.append(module)
            case ["from", module, "import", name, "as", _]:
                named[name] = module
    return named, whole


# Imported on first use, so that `import femb` costs next to nothing.
_HOMES, _WHOLE = _homes()


def _names(module):
    """The names of a module of which all names are public, with what they stand for."""
    return {name: value for name, value in vars(import_module(module)).items() if not name.startswith("_")}


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "__all__":
        return sorted({*_HOMES, *(known for module in _WHOLE for known in _names(module))})
    if name.startswith("_"):
        raise AttributeError(f"module 'femb' has no attribute {name!r}")
    for module in _WHOLE:
        known = _names(module)
        if name in known:
            return known[name]
        for kind, value in known.items():
            # What other programs and the sources call a class.
            if name.lower() in (word.replace("_", "") for word in getattr(value, "also", ())):
                raise AttributeError(f"module 'femb' has no attribute {name!r}; did you mean {kind!r}?")
    raise AttributeError(f"module 'femb' has no attribute {name!r}; it has {', '.join(__getattr__('__all__'))}")


def __dir__():
    return [*__getattr__("__all__"), "__version__"]
