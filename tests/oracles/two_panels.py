"""A free hub with two rigid panels on sprung hinges about x, as a case file, and the numbers of its modes.

Values and derivatives come from a program of matrices of its own with the complex step, 13 digits.
"""

import numpy as np

CASE = """\
title = "Hub with two panels"
[bodies.hub]
mass = 500.0
inertia = [[300.0, 5.0, -8.0], [5.0, 250.0, 4.0], [-8.0, 4.0, 350.0]]
position = [0.0, 0.0, 0.0]
[bodies.left]
mass = 20.0
inertia = [166.66666666666666, 6.666666666666667, 173.33333333333334]
[bodies.right]
mass = 20.0
inertia = [166.66666666666666, 6.666666666666667, 173.33333333333334]
[joints.left]
kind = "revolute"
first = { body = "hub", at = [0.0, 1.0, 0.0], axis = [1, 0, 0] }
second = { body = "left", at = [0.0, -5.0, 0.0], axis = [1, 0, 0] }
[joints.right]
kind = "revolute"
first = { body = "hub", at = [0.0, -1.0, 0.0], axis = [1, 0, 0] }
second = { body = "right", at = [0.0, 5.0, 0.0], axis = [1, 0, 0] }
[springs.left]
kind = "joint"
joint = "left"
stiffness = 1650.0
damping = 10.5
[springs.right]
kind = "joint"
joint = "right"
stiffness = 1650.0
damping = 10.5
[run]
duration = 1.0
"""

PARAMETERS = """
[parameters.k1]
entry = "springs.left.stiffness"
range = "5 %"
[parameters.c1]
entry = "springs.left.damping"
[parameters.hub_mass]
entry = "bodies.hub.mass"
[parameters.I_xx]
entry = "bodies.hub.inertia.0.0"
[parameters.I_xy]
entries = ["bodies.hub.inertia.0.1", "bodies.hub.inertia.1.0"]
[parameters.m_p]
entries = ["bodies.left.mass", "bodies.right.mass"]
[parameters.J_x]
entries = ["bodies.left.inertia.0", "bodies.right.inertia.0"]
[parameters.y]
entries = ["joints.left.first.at.1", "joints.right.first.at.1"]
relative = true
[parameters.d]
entries = ["joints.left.second.at.1", "joints.right.second.at.1"]
relative = true
"""

FREQUENCIES = np.array([1.6188231, 4.0692660])  # rad/s, hub free
RATIOS = np.array([0.0051508, 0.0129477])
# by: omega 1, omega 2, zeta 1, zeta 2; y and d in m
DERIVATIVES = {
    "k1": (2.45276227563e-4, 6.16555455085e-4, -7.804243604e-7, -1.961767357e-6),
    "c1": (0.0, 0.0, 2.452762276e-4, 6.165554551e-4),
    "hub_mass": (-8.81711929148e-5, 0.0, -2.805447047e-7, 0.0),
    "I_xx": (0.0, -5.58459599845e-3, 0.0, -1.776916909e-5),
    "I_xy": (0.0, 2.12714541893e-4, 0.0, 6.768189969e-7),
    "m_p": (-0.0275534977859, -6.46488942967e-3, -8.767022023e-5, -2.057010273e-5),
    "J_x": (-1.2855359927e-3, -1.38463177275e-3, -4.090341795e-6, -4.40564655e-6),
    "y": (0.0, 0.339710853004, 0.0, 1.080898169e-3),
    "d": (-0.23806222087, -0.119661286038, -7.574707028e-4, -3.807404556e-4),
}
LENGTHS = {"y": 1.0, "d": 5.0}
HELD = 1.57321327  # rad/s, of the pair with the hub held
HELD_BY_K1 = (0.0, 4.76731294e-4)

LOOP = """
[controllers.pd]
kind = "state_space"
inputs = ["bodies.hub.turn.x", "bodies.hub.angular_velocity.x"]
outputs = ["wheels.x.torque"]
A = [[-8.0]]
B = [[8.0, 0.0]]
C = [[46.65]]
D = [[0.0, 435.4]]
[wheels.x]
body = "hub"
axis = [1, 0, 0]
spin_inertia = 0.1
"""
