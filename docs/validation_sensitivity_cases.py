"""Cases of the derivatives in ``validation_sensitivities``, as texts."""

from math import factorial

import numpy as np
from oracles import two_panels

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

SECTION = """
[sections.s]
axial_stiffness = 1e7
torsional_stiffness = 200.0
bending_stiffness = [200.0, 20000.0]
mass_per_length = 1.0
inertia_per_length = [2e-3, 1e-3, 1e-3]
[beams.b]
section = "s"
length = 4.0
elements = {}
start = {{ body = "{}", direction = [{}] }}
[loads.tip]
beam = "b"
force = [0.0, 0.0, {}]
"""
ROOT = """
[bodies.root]
mass = 0.001
inertia = 1e-6
position = [0, 0, 0]
[joints.root]
kind = "revolute"
first = {{ body = "ground", at = [0, 0, 0], axis = [0, 1, 0] }}
second = {{ body = "root", at = [0, 0, 0], axis = [0, 1, 0] }}
[springs.root]
kind = "joint"
joint = "root"
stiffness = {}
"""
BAR = (
    ROOT.format(300.0)
    + """
[bodies.tip]
mass = 0.001
inertia = 1e-6
position = [0, 0, 2.0]
[joints.slide]
kind = "prismatic"
first = { body = "root", at = [0, 0, 2.0], axis = [0, 0, 1] }
second = { body = "tip", axis = [0, 0, 1] }
[springs.axial]
kind = "joint"
joint = "slide"
stiffness = 1000.0
[loads.tip]
body = "tip"
force = [0.0, 0.0, -1.0]
"""
)
HUB = """
[sections.s]
axial_stiffness = 1e9
torsional_stiffness = 1e7
bending_stiffness = [1e7, 4000.0]
mass_per_length = 2.0
inertia_per_length = [2e-8, 1e-8, 1e-8]
[bodies.hub]
mass = 100.0
inertia = [300.0, 300.0, 300.0]
position = [0, 0, 0]
[joints.hub]
kind = "revolute"
first = { body = "ground", axis = [0, 0, 1] }
second = { body = "hub", axis = [0, 0, 1] }
[beams.left]
section = "s"
length = 10.0
elements = 12
start = { body = "hub", at = [-1, 0, 0], direction = [-1, 0, 0] }
[beams.right]
section = "s"
length = 10.0
elements = 12
start = { body = "hub", at = [1, 0, 0], direction = [1, 0, 0] }
"""
BLADE = """
[bodies.hub]
mass = 1.0
inertia = 1.0
angular_velocity = [0, 0, 1.5]
position = [0, 0, 0]
[bodies.blade]
mass = 6.0
angular_velocity = [0, 0, 1.5]
inertia = [0.32, 0.72, 1.04]
[joints.shaft]
kind = "revolute"
first = { body = "ground", at = [0, 0, 0], axis = [0, 0, 1] }
second = { body = "hub", at = [0, 0, 0], axis = [0, 0, 1] }
[joints.flap]
kind = "revolute"
first = { body = "hub", at = [0.8, 0, 0], axis = [0, 1, 0] }
second = { body = "blade", at = [-1.2, 0, 0], axis = [0, 1, 0] }
[springs.flap]
kind = "joint"
joint = "flap"
stiffness = 40.0
[drivers.spin]
joint = "shaft"
motion = { shape = "polynomial", coefficients = [0.0, 1.5] }
"""

# Order of the delay of 0.1 s in a law, whose phase is right to 1e-12 rad at the frequencies of its margins.
PADE = 6


def attitude_loop() -> str:
    """Two panels on a hub that turns about x alone, and a law with a delay: (46.65 + 435.4 s) e^(-0.1 s)."""
    n = PADE
    c = np.array([factorial(2 * n - k) // factorial(n - k) // factorial(k) for k in range(n + 1)]) * 0.1 ** np.arange(
        n + 1
    )
    c = c[::-1] / c[n]
    top = c * (-1.0) ** np.arange(n, -1, -1)
    A = np.vstack([-c[1:], np.eye(n - 1, n)])
    # commands are the negative of the gains times the angle and the rate
    gains = np.array([46.65, 435.4])
    B, C, D = np.outer(np.eye(n)[0], gains), -(top[1:] - top[0] * c[1:])[None], -top[0] * gains[None]
    law = "\n".join(f"{name} = {matrix.tolist()}" for name, matrix in (("A", A), ("B", B), ("C", C), ("D", D)))
    hub = two_panels.CASE.replace(
        "[[300.0, 5.0, -8.0], [5.0, 250.0, 4.0], [-8.0, 4.0, 350.0]]", "[300.0, 250.0, 350.0]"
    )
    return f"""{hub}
[joints.shaft]
kind = "revolute"
first = {{ body = "ground", axis = [1, 0, 0] }}
second = {{ body = "hub", axis = [1, 0, 0] }}
[loads.motor]
kind = "motor"
joint = "shaft"
force = 0.0
[controllers.law]
kind = "state_space"
inputs = ["joints.shaft.angle", "joints.shaft.angle rate"]
outputs = ["loads.motor.force"]
{law}
"""


# A wheel on two springs, whose pair of modes is h/(2 A) apart on both sides; a law about z, on which it does not
# depend, since poles are of loops.
ROTOR = """
[bodies.rotor]
mass = 1.0
inertia = [4.0, 4.0, 2.0]
position = [0, 0, 0]
[joints.pivot]
kind = "spherical"
first = { body = "ground", at = [0, 0, 0] }
second = { body = "rotor", at = [0, 0, 0] }
[wheels.spin]
body = "rotor"
axis = [0, 0, 1]
spin_inertia = 1.0
speed = 6.0
[springs.pivot]
kind = "euler"
start = { body = "ground" }
end = { body = "rotor" }
stiffness = [50.0, 50.0, 1000.0]
[loads.damper]
body = "rotor"
torque = [0.0, 0.0, 0.0]
frame = "body"
[controllers.rate]
kind = "state_space"
inputs = ["bodies.rotor.angular_velocity"]
outputs = ["loads.damper.torque"]
D = [[0, 0, 0], [0, 0, 0], [0, 0, -1.0]]
"""
