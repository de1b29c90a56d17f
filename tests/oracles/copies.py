"""Copies of satellites of ``generated`` whose physics is the same by dimension or by symmetry: other units, a mirror.

Units are those that the fields of items declare, so that nothing here knows how they are computed.
"""

import re
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import get_type_hints

import numpy as np
from oracles.generated import changed
from oracles.satellites import MODES, boom_model

import femb
from femb import elements as e
from femb.base.checks import unit_of
from femb.numerics import rotations

# Exponents of length, mass and time.
DIMENSIONS = {
    "": (0, 0, 0), "-": (0, 0, 0), "1": (0, 0, 0), "rad": (0, 0, 0), "K": (0, 0, 0), "T": (0, 0, 0),
    "m": (1, 0, 0), "kg": (0, 1, 0), "s": (0, 0, 1), "Hz": (0, 0, -1), "N": (1, 1, -2), "Pa": (-1, 1, -2),
    "A": (0, 1, -2), "W": (2, 1, -3), "J": (2, 1, -2),
}  # fmt: skip
OWN = {("PDController", "proportional"): "N m", ("PDController", "derivative"): "N m s"}
MIRROR = np.diag([-1.0, 1.0, 1.0])


def factor(unit, units):
    """Numbers of a quantity in other ``units`` (length, mass, time, each in the unit that they replace)."""
    result, sign = 1.0, 1
    for word in re.findall(r"/|[A-Za-z]+\d?|1", unit):
        if word == "/":
            sign = -1
            continue
        name, power = re.fullmatch(r"([A-Za-z]+|1)(\d?)", word).groups()
        result *= np.prod(np.power(units, np.array(DIMENSIONS[name]) * sign * int(power or 1), dtype=float))
    return result


@cache
def reduced_in(seed, units):
    """The reduced boom of a satellite, reduced in other units."""
    return femb.fem.reduce_beams(in_units(boom_model(seed), units), "root", {"tip": "beams.boom.-1"}, MODES).body


def scaled(item, units, seed, of_value=""):
    """An item, or a part of one, with its numbers in other units. of_value : the unit of the values of a profile."""
    changes, hints = {}, get_type_hints(type(item), include_extras=True)
    for each in fields(item):
        value, unit = getattr(item, each.name), unit_of(hints[each.name])
        if not each.init or value is None or isinstance(value, str | bool):
            continue
        if isinstance(item, e.FlexibleBody) and each.name == "file":
            changes[each.name] = reduced_in(seed, units)
        elif is_dataclass(value):
            changes[each.name] = scaled(value, units, seed, unit.text if unit else "")
        elif unit is not None and not callable(value):
            text = unit.stroke if unit.stroke and getattr(item, "coordinate", "") in ("x", "y", "z") else unit.text
            text = OWN.get((type(item).__name__, each.name), of_value if text == "value" else text)
            changes[each.name] = factor(text, units) * (np.asarray(value) if np.ndim(value) else value)
    return replace(item, **changes)


def in_units(model, units, seed=0):
    """A copy of a model whose numbers are in other units: each is ``factor`` times what it was.

    units : length, mass and time. seed : of the satellite.
    """
    items = {
        (table, name): scaled(item, units, seed)
        for table, named in model.tables.items()
        for name, item in named.items()
    }
    return changed(model, items)


def vector(v):
    """A vector in a mirror; None where it is not given."""
    return v if v is None else MIRROR @ np.asarray(v)


def axial(v):
    """An axial vector, as of a rotation, in a mirror."""
    return v if v is None else -MIRROR @ np.asarray(v)


def attitude(q):
    """(4,) of axes in a mirror, that are mirrored also in their own axes."""
    return q if q is None else np.concatenate([[q[0]], axial(q[1:])])


def tensor(J):
    return MIRROR @ J @ MIRROR


# By class: how each of its fields changes. Sections and the reduced boom are their own mirror images.
MIRRORED = {
    e.RigidBody: {
        "position": vector, "quaternion": attitude, "velocity": vector, "angular_velocity": axial,
        "center_of_mass": vector, "inertia": tensor,
    },
    e.Attachment: {"at": vector, "direction": vector, "up": vector},
    e.JointEnd: {"at": vector, "axis": axial, "reference": vector},
    e.Place: {"at": vector},
    e.PointMass: {"position": vector, "velocity": vector},
    e.ReactionWheel: {"at": vector, "axis": axial},
    e.ControlMomentGyro: {"at": vector, "axis": axial, "gimbal_axis": axial, "gimbal_inertia": tensor},
    e.SloshingTank: {"at": vector, "axis": vector},
    e.StarTracker: {"axes": attitude},
    e.Gyro: {"axes": attitude},
    femb.AttitudeReference: {"quaternion": attitude},
    e.PDController: {"proportional": tensor, "derivative": tensor},
    e.Load: {"force": vector, "torque": axial},
    # the panel's third axis, and with it the side that is hot, is turned about
    e.Shell: {"position": vector, "quaternion": lambda q: rotations.from_matrix(
        MIRROR @ rotations.rotation_matrix(q) @ np.diag([1.0, 1.0, -1.0]))},
    e.SurfaceLoad: {"gradient": lambda gradient: -gradient},
    e.ThermalLoad: {"gradient": lambda gradient: np.array([1.0, -1.0]) * gradient},
    e.GravityGradient: {"radial": vector, "normal": axial},
    e.DipoleField: {"tilt": lambda tilt: np.pi - tilt, "longitude": lambda x: -x, "rotation": lambda rate: -rate},
    e.MagneticTorquer: {"axis": axial},
}  # fmt: skip


def in_mirror(item):
    """An item, or a part of one, in a mirror."""
    of = MIRRORED.get(type(item), {})
    changes = {name: change(getattr(item, name)) for name, change in of.items()}
    for each in fields(item):
        value = getattr(item, each.name)
        if each.init and is_dataclass(value) and type(value) in MIRRORED:
            changes[each.name] = in_mirror(value)
    return replace(item, **changes)


def mirrored(model):
    """The satellite in a mirror across its x axis; its rates are axial vectors."""
    return changed(
        model, {(t, name): in_mirror(item) for t, named in model.tables.items() for name, item in named.items()}
    )
