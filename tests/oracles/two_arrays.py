"""The case satellite_two_arrays with its arrays on a drive, a continuous law, and parameters with ranges, as text."""

import re

from checkout import ROOT

SPRINGS = [f"springs.{side}_{k}.stiffness" for side in ("left", "right") for k in (1, 2, 3)]
MORE = """
[bodies.shaft]
mass = 1e-3
inertia = [1e-6, 1e-6, 1e-6]

[joints.drive]
kind = "revolute"
first = { body = "hub", axis = [0, 1, 0] }
second = { body = "shaft", axis = [0, 1, 0] }
start = 0.7853981633974483

[latches.drive]
joint = "drive"
engaged = true
time = 1e6

[loads.torquer]
body = "hub"
frame = "body"
torque = [0, 0, 0]

[controllers.attitude]
kind = "pd"
attitude = "bodies.hub.attitude"
rate = "bodies.hub.angular_velocity"
bandwidth = 0.15
outputs = ["loads.torquer.torque"]
"""
RANGES = {
    "inertia": (["bodies.hub.inertia.0"], "10 %"),
    "mass": (["bodies.hub.mass"], "10 %"),
    "springs": (SPRINGS, "20 %"),
    "angle": (["joints.drive.start"], [0.0, 1.5707963267948966]),
    "modulus": (["sections.yoke.youngs_modulus"], "10 %"),
}


def arrays_on_a_drive() -> str:
    """The case, whose panels are placed by their joints."""
    text = (ROOT / "cases" / "satellite_two_arrays.toml").read_text(encoding="utf-8").partition("[loads.wheel]")[0]
    text = re.sub(r"(\[bodies\.(?:left|right)_\d\]\nmass.*\ninertia.*\n)position.*\n", r"\1", text)
    text = text.replace('start = { body = "hub", at', 'start = { body = "shaft", at')
    # the first panels point away from the hub
    text = re.sub(
        r"(node = -1, axis = \[0, 0, (-?1)\]) }\n(.*) }\n",
        r"\1, reference = [\2, 0, 0] }\n\3, reference = [0, 1, 0] }\n",
        text,
    )
    tables = [f"[parameters.{name}]\nentries = {entries}\nrange = {range_!r}\n".replace("'", '"')
              for name, (entries, range_) in RANGES.items()]  # fmt: skip
    return "\n".join([text, MORE, *tables, "[run]\nduration = 20.0\n"])


def with_a_table(angles: list[float]) -> str:
    """``arrays_on_a_drive`` with a law that rolls off at 100 rad/s, gains by a table over its angle."""
    text = arrays_on_a_drive().replace("damping = 0.5", "damping = 20.0")
    law, of_law = text.replace("density = 3000.0", "damping = 2e-3\ndensity = 3000.0").split("[controllers.attitude]")
    of_law = of_law[of_law.index("[parameters.") :]
    rows = [[27.0, 0, 0, 250.0, 0, 0], [0, 4.0, 0, 0, 38.0, 0], [0, 0, 28.0, 0, 0, 260.0]]
    return f"""{law}
[controllers.attitude]
kind = "state_space"
A = [[-100, 0, 0], [0, -100, 0], [0, 0, -100]]
C = [[-100, 0, 0], [0, -100, 0], [0, 0, -100]]
inputs = ["bodies.hub.attitude", "bodies.hub.angular_velocity"]
outputs = ["loads.torquer.torque"]
schedule = {{ over = "joints.drive.angle", at = {angles}, gains = {{ B = {[rows] * len(angles)} }} }}

{of_law}"""
