"""femb: rigid-flexible multibody dynamics - satellites with booms, rotors and mechanisms.

A ``Model`` contains elements; ``simulate`` integrates it; ``Results`` are named arrays. The public names are listed in
``__init__.pyi`` and, for elements, in ``femb.elements.catalogue``. Modules contain what is special: ``profiles`` of
loads over time, ``fem`` for bodies from finite elements, ``handover`` for other programs, ``thompson`` for matrices.
"""

import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from os.path import isdir

if not isdir(f"{__path__[0]}/elements"):  # a checkout without links, as on Windows: the folder beside this one
    __path__.append(f"{__path__[0]}/..")

from femb.base.lazy import public_names

# What ``femb.<tab>`` shows: a model, what it is usually made of, what is done with it. All other public names are there
# too: ``femb.__all__`` has them, ``femb.elements`` shows all kinds of items.
EVERYDAY = (
    "Model", "load_case", "Run", "Output", "StartState", "Tolerances", "Event", "Results", "FembError",
    "simulate", "static", "modes", "linearize", "inverse", "mode_sweep", "peak_loads", "loop", "compare",
    "sweep", "Study", "optimize", "sensitivities", "simulate_ensemble",
    "plot", "figure", "animate", "picture", "report", "show", "export_csv", "export_vtu",
    "RigidBody", "PointMass", "Ground", "FlexibleBody", "Section", "Material", "Beam", "ExactBeam", "Shell",
    "Attachment", "Place", "JointEnd", "SpringEnd",
    "Revolute", "Spherical", "Universal", "Cylindrical", "Prismatic", "Fixed", "Latch", "JointDriver",
    "SpringDamper", "JointSpringDamper", "JointMotor", "ModalDamping",
    "Load", "DistributedLoad", "GravityGradient", "ReactionWheel", "Thruster", "PDController",
)  # fmt: skip
MODULES = ("elements", "fem", "handover", "profiles", "thompson")
MOVED = ("fem", "handover", "thompson")  # names of these were names of femb itself, and are it for one version more


@cache
def _own():
    """The names in the stub file, and the catalogues that it names."""
    return public_names(__name__, ".pyi")


@cache
def _public():
    """All public names, with those of the catalogues."""
    own, catalogues = _own()
    return {**own, **{name: each for module in catalogues for name, each in public_names(module)[0].items()}}


def _known(name, value):
    """The value of a name, which is found without ``__getattr__`` from now on."""
    globals()[name] = value
    return value


def __getattr__(name):
    if name in _own()[0]:
        return _known(name, _own()[0][name].value())
    if name == "__all__":
        return sorted(_public())
    if name == "__version__":  # on first use, since it reads files
        return _known(name, import_module("femb.base.version").version())
    if name.startswith("_"):
        raise AttributeError(f"module 'femb' has no attribute {name!r}")
    if name.islower() and find_spec(f"femb.{name}") is not None:  # a module, as in femb.profiles.Versine
        return import_module(f"femb.{name}")
    if name in _public():
        return _known(name, _public()[name].value())
    for module in MOVED:
        of = import_module(f"femb.{module}")
        if name in of.__all__:
            warnings.warn(f"femb.{name} is femb.{module}.{name}", DeprecationWarning, stacklevel=2)
            return getattr(of, name)
    for module in _own()[1]:
        for kind, each in public_names(module)[0].items():
            # Names of a class in other programs and in the literature.
            if name.lower() in (word.replace("_", "") for word in getattr(each.value(), "also", ())):
                raise AttributeError(f"module 'femb' has no attribute {name!r}; did you mean {kind!r}?")
    known = sorted(_public())
    close = import_module("femb.base.values").nearest(name, known)
    raise AttributeError(f"module 'femb' has no attribute {name!r}{close or '; it has ' + ', '.join(known)}")


def __dir__():
    return [*sorted([*EVERYDAY, *MODULES]), "__version__"]
