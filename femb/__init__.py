"""femb: rigid-flexible multibody dynamics - satellites with booms, rotors and mechanisms.

``Model`` and the elements describe; ``simulate`` integrates; ``Results`` holds arrays by name.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Imported on first use, so that `import femb` costs next to nothing.
_HOMES = {
    "Model": "femb.model",
    "Run": "femb.options",
    "Tolerances": "femb.options",
    "Results": "femb.results",
    "simulate": "femb.simulation",
    "lock_angles": "femb.euler",
    "inverse": "femb.inverse_dynamics",
    "compare": "femb.comparison",
    "load_case": "femb.case",
    "AerodynamicLoad": "femb.elements",
    "Airload": "femb.elements",
    "Attachment": "femb.elements",
    "Beam": "femb.elements",
    "DistributedLoad": "femb.elements",
    "Ground": "femb.elements",
    "JointDriver": "femb.elements",
    "DistanceDriver": "femb.elements",
    "PositionDriver": "femb.elements",
    "OrientationDriver": "femb.elements",
    "Load": "femb.elements",
    "Path": "femb.elements",
    "Place": "femb.elements",
    "PointMass": "femb.elements",
    "Pull": "femb.elements",
    "RigidBody": "femb.elements",
    "Section": "femb.elements",
    "SpringDamper": "femb.elements",
    "SpringEnd": "femb.elements",
    "ThermalLoad": "femb.elements",
    "TorsionSpringDamper": "femb.elements",
    "EulerSpringDamper": "femb.elements",
    "JointEnd": "femb.elements",
    "Revolute": "femb.elements",
    "Spherical": "femb.elements",
    "Universal": "femb.elements",
    "Cylindrical": "femb.elements",
    "Prismatic": "femb.elements",
    "Planar": "femb.elements",
    "Fixed": "femb.elements",
    "Distance": "femb.elements",
    "Parallel": "femb.elements",
    "Perpendicular": "femb.elements",
    "PointOnLine": "femb.elements",
    "PointOnPlane": "femb.elements",
    "Components": "femb.elements",
    "JointSpringDamper": "femb.elements",
    "JointFriction": "femb.elements",
    "JointStops": "femb.elements",
    "JointMotor": "femb.elements",
    "FembError": "femb.errors",
    "FembWarning": "femb.errors",
    "ModelError": "femb.errors",
    "ResultError": "femb.errors",
    "SolveError": "femb.errors",
}

__all__ = sorted(_HOMES)


# What other programs and the sources call a class.
_OTHER_NAMES = {
    "Hinge": "Revolute",
    "Ball": "Spherical",
    "Hooke": "Universal",
    "Cardan": "Universal",
    "Translational": "Prismatic",
    "Weld": "Fixed",
    "Rod": "Distance",
    "DoubleSpherical": "Distance",
    "Dot1": "Perpendicular",
    "Dot2": "PointOnPlane",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _OTHER_NAMES:
        raise AttributeError(f"module 'femb' has no attribute {name!r}; did you mean {_OTHER_NAMES[name]!r}?")
    raise AttributeError(f"module 'femb' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
