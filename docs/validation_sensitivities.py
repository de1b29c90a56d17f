"""Derivatives of outputs beside numbers of programs that share nothing with femb.

`python docs/validation_sensitivities.py` prints them. The numbers are closed forms, and solutions of 13 digits with the
complex step.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import femb


@dataclass(frozen=True)
class Table:
    """A case with numbers of its outputs and of their derivatives.

    of, by : outputs and parameters, as in ``femb.sensitivities``. wanted : by output, its value, NaN where it is not
    known, and the derivatives by the parameters. tolerance : of the values and derivatives, relative to the largest of
    the output times its parameter.
    """

    case: str
    of: Mapping[str, Any]
    by: Mapping[str, Any]
    wanted: Mapping[str, Sequence[float]]
    tolerance: float = 1e-7
    overrides: Sequence[str] = field(default=())

    def found(self, folder: Path, overrides: Sequence[str] = ()) -> femb.Sensitivities:
        """The derivatives by femb."""
        path = folder / "case.toml"
        path.write_text(self.case)
        return femb.sensitivities(path, self.of, self.by, overrides=(*self.overrides, *overrides))

    def differences(self, found: femb.Sensitivities) -> np.ndarray:
        """(o, 1 + k) of values, and of derivatives times the value of their parameter, relative to the largest."""
        wanted = np.array([self.wanted[name] for name in found.outputs])
        scale = np.append(1.0, [each.get("scale", p) for each, p in zip(self.by.values(), found.nominal, strict=True)])
        numbers = np.column_stack([found.values, found.derivatives]) * scale
        size = np.maximum(np.nanmax(np.abs(wanted * scale), axis=1), np.abs(found.values))
        return np.abs(numbers - wanted * scale) / size[:, None]


def _entry(*keys: str, **words: Any) -> dict[str, Any]:
    return {"entries": list(keys), **words}


def _end(of: str, **words: Any) -> dict[str, Any]:
    return {"kind": "final", "of": of, **words}


RUN = """
[run]
duration = {}
output_interval = {}
method = "radau"
rtol = 1e-10
"""

PANEL = """
[bodies.hub]
mass = 120.0
inertia = [20.0, 20.0, 25.0]
[bodies.panel]
mass = 6.0
inertia = [1.04, 1.04, 1.04]
[joints.hinge]
kind = "revolute"
first = { body = "hub", at = [0.5, 0.5, 0.0], axis = [0, 0, -1] }
second = { body = "panel", at = [-0.6, 0.0, 0.0], axis = [0, 0, -1] }
start = 1.5707963267948966
[springs.drive]
kind = "joint"
joint = "hinge"
stiffness = 0.1
damping = 0.05
free = -2.0
[latches.lock]
joint = "hinge"
at = 0.0
direction = -1
""" + RUN.format(8.0, 4.0)

PENDULUM = """
gravity = [0.0, 0.0, -9.81]
[bodies.bob]
mass = 2.0
inertia = [0.05, 0.05, 0.05]
[joints.pin]
kind = "revolute"
first = { body = "ground", axis = [0, -1, 0] }
second = { body = "bob", at = [0.0, 0.0, 0.8], axis = [0, -1, 0] }
start = 1.0
""" + RUN.format(10.0, 2.0)

RAIL = """
[bodies.cart]
mass = 10.0
inertia = [1.0, 1.0, 1.0]
[bodies.load]
mass = 2.0
inertia = [1.0, 1.0, 1.0]
[joints.track]
kind = "prismatic"
first = { body = "ground", axis = [1, 0, 0] }
second = { body = "cart", axis = [1, 0, 0] }
[joints.slide]
kind = "prismatic"
first = { body = "cart", axis = [1, 0, 0] }
second = { body = "load", axis = [1, 0, 0] }
[springs.coil]
kind = "joint"
joint = "slide"
stiffness = 50.0
damping = 0.4
[loads.push]
body = "cart"
force = [3.0, 0.0, 0.0]
profile = { shape = "step", duration = 1.7 }
""" + RUN.format(5.0, 5.0)

SLIDE = """
[bodies.block]
mass = {}
inertia = [1.0, 1.0, 1.0]
[joints.slide]
kind = "prismatic"
first = {{ body = "ground", axis = [1, 0, 0] }}
second = {{ body = "block", axis = [1, 0, 0] }}
start = {}
rates = {}
"""

STOP = (
    SLIDE.format(2.0, 0.0, 0.5)
    + """
[springs.bumper]
kind = "stops"
joint = "slide"
upper = 0.1
stiffness = 2e4
exponent = 1.5
"""
    + RUN.format(1.0, 1.0)
)

SAMPLED = (
    SLIDE.format(5.0, 0.02, 0.0)
    + """
[loads.push]
kind = "motor"
joint = "slide"
force = 0.0
[controllers.hold]
kind = "pd"
input = "joints.slide.stroke"
rate = "joints.slide.stroke rate"
proportional = 8.0
derivative = 10.0
period = 0.1
delay = 0.1
outputs = ["loads.push.force"]
"""
    + RUN.format(3.05, 3.05)
)

FREE = """
[bodies.body]
mass = 1.0
inertia = [10.0, 7.0, 12.0]
angular_velocity = [0.3, -0.5, 0.2]
""" + RUN.format(10.0, 10.0)

MOTIONS = {
    "free body": Table(
        FREE,
        {axis: _end(f"body.angular_velocity.{axis}") for axis in "xyz"},
        {"first inertia": _entry("bodies.body.inertia.0")},
        {"x": [np.nan, -0.16777745], "y": [np.nan, -0.04086848], "z": [np.nan, -0.10385248]},
    ),
    "panel with a latch": Table(
        PANEL,
        {
            "instant": {"kind": "event_time", "event": "latches.lock"},
            "hub": _end("hub.euler_angles.z"),
            "angle": _end("hinge.angle", last=4.0),
        },
        {
            "spring": _entry("springs.drive.stiffness"),
            "damper": _entry("springs.drive.damping"),
            "free angle": _entry("springs.drive.free"),
            "mass": _entry("bodies.panel.mass"),
            "inertia": _entry("bodies.panel.inertia.2"),
            "arm": _entry("joints.hinge.second.at.0"),
            "hub inertia": _entry("bodies.hub.inertia.2"),
            "start": _entry("joints.hinge.start"),
        },
        {
            "instant": [
                5.29738001841, -26.916595213, 1.718780482, 0.81994013526, 0.25772979001, 0.76800596077, -5.3044124471,
                0.0073318648359, 1.205271754,
            ],
            "hub": [
                -0.154344294303, 0.0, 0.0, 0.0, -0.011906517379, -0.046057233345, 0.30634048626, 0.0049164232866,
                -0.050238737804,
            ],
            "angle": [
                np.nan, -8.97726834, 0.41272342, np.nan, 0.09054523, np.nan, -1.82733543, np.nan, np.nan,
            ],
        },
    ),
    "pendulum": Table(
        PENDULUM,
        {"at 2 s": _end("pin.angle", last=2.0), "at 10 s": _end("pin.angle")},
        {
            "mass": _entry("bodies.bob.mass"),
            "inertia": _entry("bodies.bob.inertia.1"),
            "arm": _entry("joints.pin.second.at.2"),
            "gravity": _entry("gravity.2"),
            "start": _entry("joints.pin.start"),
        },
        {
            "at 2 s": [
                0.9877583023693, -0.0092502165442, 0.37000866177, 0.56888831747, 0.050164273206, 1.1189207213,
            ],
            "at 10 s": [0.7043571663663, -0.21500572736, 8.6002290943, 13.222852232, 1.1659841687, 3.7435521148],
        },
    ),
    "two masses on a rail": Table(
        RAIL,
        {"distance": _end("slide.stroke")},
        {
            "m1": _entry("bodies.cart.mass"),
            "m2": _entry("bodies.load.mass"),
            "k": _entry("springs.coil.stiffness"),
            "c": _entry("springs.coil.damping"),
            "force": _entry("loads.push.force.0"),
            "duration": _entry("loads.push.profile.duration"),
        },
        {
            "distance": [
                -0.00802541440813, 2.3238176513e-3, 0.038031905262, -1.9086553206e-3, 0.010390483501,
                -2.6751381360e-3, 0.025905663798,
            ]
        },
    ),
    "stop": Table(
        STOP,
        {"place": _end("slide.stroke")},
        {
            "mass": _entry("bodies.block.mass"),
            "speed": _entry("joints.slide.rates"),
            "gap": _entry("springs.bumper.upper"),
            "stiffness": _entry("springs.bumper.stiffness"),
        },
        {"place": [-0.2535729726406, 9.28540547e-3, -0.925716756, 2.0, -9.28540547e-7]},
    ),
    "sampled law": Table(
        SAMPLED,
        {"place": _end("slide.stroke")},
        {
            "mass": _entry("bodies.block.mass"),
            "proportional": _entry("controllers.hold.proportional"),
            "derivative": _entry("controllers.hold.derivative"),
            "period": _entry("controllers.hold.period", "controllers.hold.delay"),
        },
        {
            "place": [
                9.0628236829936e-6, -5.58669558553e-4, -6.38937000915e-4, 7.90484380008e-4, -5.43821217697e-4,
            ]
        },
    ),
}  # fmt: skip
"""Runs in time. The signs of the arm and of gravity are those of their entries."""

TABLES = MOTIONS


def main(names: Sequence[str]) -> None:
    """Print the tables beside femb's values."""
    for title, table in TABLES.items():
        if names and title not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = table.found(Path(folder))
        worst = table.differences(found)
        print(f"\n{title}")
        print(f"{'output':12}{'by':>14}{'page':>20}{'femb':>20}{'difference':>12}{'error':>10}")
        for i, name in enumerate(found.outputs):
            rows = zip(("", *found.parameters), numbers_of(found, i), table.wanted[name], worst[i], strict=True)
            for by, (number, error), wanted, difference in rows:
                print(f"{name:12}{by:>14}{wanted:20.12g}{number:20.12g}{difference:12.1e}{error:10.1e}")


def numbers_of(found: femb.Sensitivities, i: int) -> list[tuple[float, float]]:
    """The value of an output and its derivatives, with their errors."""
    return [(found.values[i], np.nan), *zip(found.derivatives[i], found.errors[i], strict=True)]


if __name__ == "__main__":
    main(sys.argv[1:])
