"""Satellite with two hinged arrays: attitude control about x turns it by 20 degrees in 30 s, from rest to rest.

Purpose   A controller as a load in Python that returns its derivatives; the nonlinear check of a control design.
Source    Own; docs/tutorials/satellite_with_two_arrays.md designs the controller.
Look at   The root torques of the arrays, and the decay of their vibration at 0.54 Hz after the slew.
"""

from pathlib import Path

import numpy as np

import femb

STIFFNESS, DAMPING = 34.6, 257.0  # N m/rad, N m s/rad
INERTIA = 973.65  # kg m2, of the whole satellite about x
ANGLE, DURATION = np.radians(20.0), 30.0  # rad, s

run = {"duration": 60.0, "output_interval": 0.1}


def wanted(t):
    """Angle, rate and acceleration about x at an instant: rad, rad/s, rad/s2."""
    omega, mean = 2.0 * np.pi / DURATION, ANGLE / DURATION
    phase = omega * min(t, DURATION)
    angle = mean * (phase - np.sin(phase)) / omega
    return angle, mean * (1.0 - np.cos(phase)), mean * omega * np.sin(phase)


def control(t, state):
    """Torque on the hub in its axes, N m, with its derivatives by the turn and the rate of the hub."""
    hub = state.bodies["hub"]
    angle, rate, acceleration = wanted(t)
    error = 2.0 * np.arctan2(hub.quaternion[1], hub.quaternion[0]) - angle
    torque = INERTIA * acceleration - STIFFNESS * error - DAMPING * (hub.angular_velocity[0] - rate)
    derivatives = {"bodies.hub.turn.x": (-STIFFNESS, 0, 0), "bodies.hub.angular_velocity.x": (-DAMPING, 0, 0)}
    return femb.Differentiated((torque, 0.0, 0.0), derivatives)


def build():
    """The satellite of cases/satellite_two_arrays.toml; its wheel gives no torque."""
    model = femb.load_case(Path(__file__).with_name("satellite_two_arrays.toml"), ["loads.wheel.torque=[0,0,0]"]).model
    model.add(femb.Load("control", body="hub", torque=control, frame="body"))
    panels = ["angular_velocity of hub | torque of control", "coordinates of left_1 | appendages/left_yoke/torque"]
    model.add(femb.Figure("slew", panels))
    return model
