"""Units of the keys of a case file, and texts with units, such as "10 mm", in place of numbers.

A key has one unit, or several where it depends on what the item acts on; none where its numbers have different ones.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, get_args, get_origin

from femb.base.annotations import mark_of
from femb.base.errors import ModelError
from femb.base.types import Forms, Shape
from femb.base.values import shown
from femb.case.lines import Path
from femb.case.schema import Walked, choices, keys_of, walked

# A number and the beginning of a unit.
WITH_UNIT = r"^\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?(\s*[^\s0-9.,]|\s+1\s*/)"
NO_UNIT = ("",)
EACH_ITS_OWN = ()
LENGTH, ANGLE, TIME = ("m",), ("rad",), ("s",)
COORDINATE = ("rad", "m")  # of a joint
RATE = ("rad/s", "m/s")

UNITS: dict[str, tuple[str, ...]] = {
    "after": ("", *COORDINATE), "altitude": LENGTH,
    "amplitude": ("", *COORDINATE), "anchor": LENGTH, "angle": ANGLE,
    "angular_velocity": ("rad/s",), "area": ("m2",), "at": LENGTH, "axial_stiffness": ("N",), "axis": NO_UNIT,
    "before": ("", *COORDINATE), "bending_stiffness": ("N m2",), "center_of_mass": LENGTH, "coast": TIME,
    "coefficient": NO_UNIT,
    "coefficients": EACH_ITS_OWN, "coulomb": ("N m", "N"), "curvature": ("1/m",), "damping_ratio": NO_UNIT,
    "density": ("kg/m3",), "direction": NO_UNIT, "directions": NO_UNIT, "duration": TIME, "euler_angles": ANGLE,
    "euler_rates": ("rad/s",), "euler_sequence": NO_UNIT, "expansion": ("1/K",), "exponent": NO_UNIT,
    "factors": NO_UNIT, "first_step": TIME, "force": ("N",), "force_by_angular_velocity": ("N s/rad",),
    "force_by_velocity": ("N s/m",), "free": COORDINATE, "free_angle": ANGLE, "free_angles": ANGLE,
    "filter": ("Hz",), "free_length": LENGTH, "frequency": ("Hz",), "gradient": ("K/m",),
    "inertia": ("kg m2",), "inertia_about": LENGTH,
    "inertia_per_length": ("kg m",), "length": LENGTH, "lower": COORDINATE, "mass": ("kg",), "mass_axis": LENGTH,
    "mass_matrix": EACH_ITS_OWN, "mass_per_length": ("kg/m",), "max_frequency": ("Hz",), "max_step": TIME,
    "mean": ("", *COORDINATE), "mu": ("m3/s2",),
    "normal": NO_UNIT, "origin": LENGTH, "non_structural_mass": ("kg/m",), "output_interval": TIME, "period": TIME,
    "phase": ANGLE, "points": LENGTH, "poissons_ratio": NO_UNIT, "polar_moment": ("m4",), "position": LENGTH,
    "quaternion": NO_UNIT, "radial": NO_UNIT, "radius": LENGTH,
    "rate": ("rad/s",), "rates": RATE, "ratio": NO_UNIT, "recovery_points": LENGTH,
    "reference": NO_UNIT, "rtol": NO_UNIT, "second_moments": ("m4",), "sequence": NO_UNIT, "shear_modulus": ("Pa",),
    "shear_stiffness": ("N",), "slopes": ("1/s", *RATE), "spectral_radius": NO_UNIT, "start": COORDINATE,
    "static": ("N m", "N"), "stations": LENGTH, "step": TIME, "stiffness": ("N m/rad", "N/m"),
    "stiffness_matrix": EACH_ITS_OWN, "strain": NO_UNIT, "stribeck_rate": RATE, "tangential_coefficient": NO_UNIT,
    "temperature": ("K",),
    "thickness": LENGTH, "time": TIME, "time_constant": TIME, "times": TIME, "torque": ("N m",),
    "torque_by_angular_velocity": ("N m s/rad",), "torque_by_velocity": ("N s",), "torsion_constant": ("m4",),
    "torsion_modulus": ("m3",), "torsional_stiffness": ("N m2",), "transition_rate": RATE, "up": NO_UNIT,
    "upper": COORDINATE, "value": ("", *COORDINATE), "values": ("", *COORDINATE), "velocity": ("m/s",),
    "viscous": ("N m s/rad", "N s/m"), "width": LENGTH,
    "wind": ("m/s",), "youngs_moduli": ("Pa",), "youngs_modulus": ("Pa",),
}  # fmt: skip
"""The unit of every key that takes numbers, unless its table has another one."""
OF_TABLES: dict[tuple[str, str], tuple[str, ...]] = {
    ("Section", "damping"): TIME, ("SpringDamper", "damping"): ("N s/m",), ("SpringDamper", "stiffness"): ("N/m",),
    ("TorsionSpringDamper", "damping"): ("N m s/rad",), ("TorsionSpringDamper", "stiffness"): ("N m/rad",),
    ("EulerSpringDamper", "damping"): ("N m s/rad",), ("EulerSpringDamper", "stiffness"): ("N m/rad",),
    ("JointSpringDamper", "damping"): ("N m s/rad", "N s/m"), ("JointStops", "damping"): ("N m s/rad", "N s/m"),
    ("JointMotor", "force"): ("N m", "N"), ("DistributedLoad", "force"): ("N/m",),
    ("DistributedLoad", "torque"): ("N",), ("Drag", "viscous"): ("N s/m2",),
    ("ThermalLoad", "strain"): EACH_ITS_OWN, ("Spline", "values"): COORDINATE,
    ("Load", "damping"): EACH_ITS_OWN, ("JointStops", "stiffness"): EACH_ITS_OWN, ("Planar", "start"): EACH_ITS_OWN,
    ("Planar", "rates"): EACH_ITS_OWN, ("Cylindrical", "start"): EACH_ITS_OWN, ("Components", "rates"): EACH_ITS_OWN,
    ("Cylindrical", "rates"): EACH_ITS_OWN, ("Components", "start"): EACH_ITS_OWN, ("Tolerances", "strain"): NO_UNIT,
    ("Tolerances", "time"): TIME,
    **{(profile, "start"): TIME for profile in ("Polynomial", "Versine", "Step", "SmoothStep", "Exponential",
                                                "BangBang", "Repeat")},
}  # fmt: skip
"""Units of keys in tables, by the name of the class, where they differ."""


def units_of(kind: type, key: str) -> tuple[str, ...]:
    """The units that a key of a table may have; empty if each of its numbers has its own."""
    for base in kind.__mro__:
        if (base.__name__, key) in OF_TABLES:
            return OF_TABLES[base.__name__, key]
    return UNITS.get(key, EACH_ITS_OWN)


def takes_numbers(kind: type, key: str) -> bool:
    """Whether the value of a key is a number or consists of numbers, and is never a text."""
    options = choices(keys_of(kind)[key])
    return str not in options and any(map(_of_numbers, options))


def _of_numbers(option: Any) -> bool:
    match mark_of(option):
        case Shape(_):
            return True
        case Forms(options):
            return any(map(_of_numbers, options)) and str not in options
    if get_origin(option) is list:
        return any(map(_of_numbers, choices(get_args(option)[0])))
    return option is float


def in_si(kind: type, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[Path, str]]:
    """A table with numbers in SI units in place of texts with units, and the problems of these by key."""
    result, problems = dict(values), dict[Path, str]()
    known = keys_of(kind)
    for key, value in values.items():
        if key in known and isinstance(value, str | list | dict):
            result[key], of_value = walked(known[key], value, in_si, partial(_numbers_in_si, kind, key))
            problems |= {(key, *path): text for path, text in of_value.items()}
    return result, problems


def _numbers_in_si(kind: type, key: str, value: Any) -> Walked:
    """Numbers of a key in SI units, and their problem."""
    if not _has_text(value) or not takes_numbers(kind, key):
        return value, {}
    try:
        return converted(value, units_of(kind, key)), {}
    except ModelError as error:
        return value, {(): str(error)}


def _has_text(value: Any) -> bool:
    """Whether a value is or contains a number with a unit; any other text is left to the checks of the key."""
    if isinstance(value, list):
        return any(map(_has_text, value))
    return isinstance(value, str) and re.match(WITH_UNIT, value) is not None


def converted(value: Any, units: tuple[str, ...]) -> Any:
    """Numbers in SI units from texts with units, also in nested lists. Raises ModelError."""
    if isinstance(value, list):
        return [converted(entry, units) for entry in value]
    return _number(value, units) if _has_text(value) else value


def _number(text: str, units: tuple[str, ...]) -> float:
    """A number in SI units. Raises ModelError: another quantity, an unknown unit, or pint is missing."""
    if units == EACH_ITS_OWN:
        raise ModelError(f"got {shown(text)}, wanted numbers in SI units: those of this key have different units")
    wanted = " or ".join(unit or "no unit" for unit in units)
    advice = f"wanted a number in {wanted}, or a text with such a unit"
    try:
        import pint
    except ImportError as error:
        raise ModelError(
            f"got {shown(text)}, {advice}, which needs the package pint: pip install 'femb[units]'"
        ) from error
    quantities: Any = pint.get_application_registry()  # type: ignore[no-untyped-call]
    try:
        given = quantities.Quantity(text)
        for unit in units:
            if given.check(quantities.Quantity(1.0, _pint_name(unit)).dimensionality):
                return float(given.to_base_units().magnitude)
    except Exception as error:  # pint has many kinds, and passes on those of Python
        raise ModelError(f"got {shown(text)}, {advice}: {error}") from error
    raise ModelError(f"got {shown(text)}, {advice}")


def _pint_name(unit: str) -> str:
    """A unit as pint reads it: 'kg m2' as 'kg*m**2'."""
    factors = unit.replace("/", " / ").split()
    powers = [f[:-1] + "**" + f[-1] if f[-1].isdigit() and len(f) > 1 else f for f in factors]
    return "*".join(powers).replace("*/*", "/")
