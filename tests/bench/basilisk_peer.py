"""The spin of docs/theory/control_loop.md in Basilisk: two hinged panels and four wheels with torques held over 10 s.

Run by an interpreter with Basilisk (package bsk): `python basilisk_peer.py STEPS...`, steps in s. Prints, for each, a
line of JSON: the CPU time (s) of the run, the rates of the hub, its attitude (modified Rodrigues), the angles of the
panels and the speeds of the wheels after 30 s.
"""

import json
import sys
import time

import numpy as np
from Basilisk.architecture import messaging
from Basilisk.simulation import hingedRigidBodyStateEffector, reactionWheelStateEffector, spacecraft
from Basilisk.utilities import SimulationBaseClass, macros

INERTIA = [[300.0, 5.0, -8.0], [5.0, 250.0, 4.0], [-8.0, 4.0, 350.0]]
TILT, AZIMUTHS = np.arctan(np.sqrt(0.5)), np.radians([45.0, 135.0, 225.0, 315.0])
AXES = [[np.cos(TILT) * np.cos(a), np.cos(TILT) * np.sin(a), np.sin(TILT)] for a in AZIMUTHS]
TORQUES = [(0.10, -0.05, 0.03, -0.08), (-0.04, 0.09, -0.10, 0.02), (0.0, 0.0, 0.0, 0.0)]
SPAN = 10.0


def panel(side: float, angle: float) -> hingedRigidBodyStateEffector.HingedRigidBodyStateEffector:
    """A panel towards y = 1 or -1; its first axis points from the mass centre to the hinge, the second along it."""
    effector = hingedRigidBodyStateEffector.HingedRigidBodyStateEffector()
    effector.mass, effector.d, effector.k, effector.c = 20.0, 5.0, 1650.0, 10.5
    effector.IPntS_S = [[20 / 3, 0.0, 0.0], [0.0, 500 / 3, 0.0], [0.0, 0.0, 520 / 3]]
    effector.r_HB_B = [[0.0], [side], [0.0]]
    effector.dcm_HB = [[0.0, -side, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, side]]
    effector.thetaInit, effector.thetaDotInit = angle, 0.0
    return effector


def across(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first = np.cross(axis, [0.0, 0.0, 1.0])
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)


def run(step: float) -> dict[str, object]:
    simulation = SimulationBaseClass.SimBaseClass()
    process = simulation.CreateNewProcess("dynamics")
    process.addTask(simulation.CreateNewTask("task", macros.sec2nano(step)))
    craft = spacecraft.Spacecraft()
    craft.hub.mHub, craft.hub.r_BcB_B, craft.hub.IHubPntBc_B = 500.0, [[0.0], [0.0], [0.0]], INERTIA
    craft.hub.omega_BN_BInit = [[0.01], [-0.02], [0.03]]
    panels = [panel(1.0, 0.002), panel(-1.0, -0.001)]
    wheels = reactionWheelStateEffector.ReactionWheelStateEffector()
    for k, axis in enumerate(np.array(AXES)):
        wheel = reactionWheelStateEffector.RWConfigPayload()
        first, second = across(axis)
        wheel.gsHat_B, wheel.w2Hat0_B, wheel.w3Hat0_B = axis, first, second
        wheel.rWB_B = [0.0, 0.0, 0.0]
        wheel.Js, wheel.Omega, wheel.RWModel = 0.08, 100.0 * (-1.0) ** k, reactionWheelStateEffector.BalancedWheels
        wheel.u_max = wheel.Omega_max = wheel.P_max = -1.0
        wheels.addReactionWheel(wheel)
    torques = messaging.ArrayMotorTorqueMsg()
    wheels.rwMotorCmdInMsg.subscribeTo(torques)
    for effector in (*panels, wheels):
        craft.addStateEffector(effector)
    for member in (*panels, wheels, craft):
        simulation.AddModelToTask("task", member)
    simulation.InitializeSimulation()
    start = time.process_time()
    for k, values in enumerate(TORQUES):
        torques.write(messaging.ArrayMotorTorqueMsgPayload(motorTorque=list(values)), macros.sec2nano(k * SPAN))
        simulation.ConfigureStopTime(macros.sec2nano((k + 1) * SPAN))
        simulation.ExecuteSimulation()
    cpu = time.process_time() - start
    state = craft.scStateOutMsg.read()
    return {
        "step": step, "cpu": cpu, "omega": list(state.omega_BN_B), "attitude": list(state.sigma_BN),
        "panels": [craft.dynManager.getStateObject(each.nameOfThetaState).getState()[0][0] for each in panels],
        "wheels": list(wheels.rwSpeedOutMsg.read().wheelSpeeds)[: len(AXES)],
    }  # fmt: skip


if __name__ == "__main__":
    for text in sys.argv[1:]:
        print(json.dumps(run(float(text))), flush=True)
