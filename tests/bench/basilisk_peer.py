"""Basilisk as a peer: the satellite of docs/theory/control_loop.md with two hinged panels and four wheels."""

from typing import Any

import numpy as np
from Basilisk.architecture import messaging
from Basilisk.fswAlgorithms import attTrackingError, inertial3D, mrpFeedback, rwMotorTorque
from Basilisk.simulation import hingedRigidBodyStateEffector, reactionWheelStateEffector, simpleNav, spacecraft
from Basilisk.utilities import SimulationBaseClass, macros

from tests.oracles.controlled_satellite import AXES, INERTIA, PERIOD, SPEEDS, SPIN

UNLIMITED = -1.0


def panel(side: float, angle: float) -> Any:
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


class Craft:
    """The satellite, integrated by RK4 with a step (s), from rates (rad/s), an attitude (modified Rodrigues) and angles
    of the panels (rad); most : torque of the wheels, N m."""

    def __init__(self, step: float, rates: Any, attitude: Any, angles: tuple[float, float], most: float) -> None:
        self.simulation = SimulationBaseClass.SimBaseClass()
        self.process = self.simulation.CreateNewProcess("dynamics")
        self.process.addTask(self.simulation.CreateNewTask("dynamics", macros.sec2nano(step)))
        self.body = spacecraft.Spacecraft()
        hub = self.body.hub
        hub.mHub, hub.r_BcB_B, hub.IHubPntBc_B = 500.0, [[0.0], [0.0], [0.0]], INERTIA.tolist()
        hub.omega_BN_BInit, hub.sigma_BNInit = ([[float(x)] for x in values] for values in (rates, attitude))
        self.panels = [panel(1.0, angles[0]), panel(-1.0, angles[1])]
        self.wheels = reactionWheelStateEffector.ReactionWheelStateEffector()
        for axis, speed in zip(AXES, SPEEDS, strict=True):
            wheel = reactionWheelStateEffector.RWConfigPayload()
            wheel.gsHat_B, (wheel.w2Hat0_B, wheel.w3Hat0_B) = axis, across(axis)
            wheel.rWB_B, wheel.RWModel = [0.0, 0.0, 0.0], reactionWheelStateEffector.BalancedWheels
            wheel.Js, wheel.Omega, wheel.u_max = SPIN, speed, most
            wheel.Omega_max = wheel.P_max = UNLIMITED
            self.wheels.addReactionWheel(wheel)
        for effector in (*self.panels, self.wheels):
            self.body.addStateEffector(effector)
        for member in (*self.panels, self.wheels, self.body):
            self.simulation.AddModelToTask("dynamics", member)

    def control(self, proportional: float, derivative: float, most: float) -> None:
        """Let its own compiled modules set the wheels at 10 Hz: navigation without errors, an attitude that is held,
        the torque -K sigma - P omega, and its allocation; no feed-forward, as the inertia that it knows is zero."""
        self.process.addTask(self.simulation.CreateNewTask("control", macros.sec2nano(PERIOD)))
        navigation, held = simpleNav.SimpleNav(), inertial3D.inertial3D()
        error, law, shares = (
            attTrackingError.attTrackingError(),
            mrpFeedback.mrpFeedback(),
            rwMotorTorque.rwMotorTorque(),
        )
        held.sigma_R0N = [0.0, 0.0, 0.0]
        law.K, law.P, law.Ki, law.integralLimit = proportional, derivative, -1.0, 0.0
        shares.controlAxes_B = np.eye(3).ravel().tolist()
        wheels = messaging.RWArrayConfigMsgPayload(
            GsMatrix_B=AXES.ravel().tolist(), JsList=[SPIN] * 4, numRW=4, uMax=[most] * 4
        )
        inertia = messaging.VehicleConfigMsgPayload(ISCPntB_B=[0.0] * 9)
        # messages without a module that writes them must be kept
        self.constants = messaging.RWArrayConfigMsg().write(wheels), messaging.VehicleConfigMsg().write(inertia)
        for read, written in (
            (navigation.scStateInMsg, self.body.scStateOutMsg),
            (error.attNavInMsg, navigation.attOutMsg),
            (error.attRefInMsg, held.attRefOutMsg),
            (law.guidInMsg, error.attGuidOutMsg),
            (law.vehConfigInMsg, self.constants[1]),
            (shares.rwParamsInMsg, self.constants[0]),
            (shares.vehControlInMsg, law.cmdTorqueOutMsg),
            (self.wheels.rwMotorCmdInMsg, shares.rwMotorTorqueOutMsg),
        ):
            read.subscribeTo(written)
        self.modules = navigation, held, error, law, shares
        for module in self.modules:
            self.simulation.AddModelToTask("control", module)

    def run(self, *ends: float, commands: Any = ()) -> None:
        """Run to each of the ends (s) in turn, with torques of the wheels (N m) that are held until then, if any."""
        self.simulation.InitializeSimulation()
        torques, start = messaging.ArrayMotorTorqueMsg(), 0.0
        if len(commands):
            self.wheels.rwMotorCmdInMsg.subscribeTo(torques)
        for k, end in enumerate(ends):
            if len(commands):
                payload = messaging.ArrayMotorTorqueMsgPayload(motorTorque=list(commands[k]))
                torques.write(payload, macros.sec2nano(start))
            self.simulation.ConfigureStopTime(macros.sec2nano(end))
            self.simulation.ExecuteSimulation()
            start = end

    def motion(self) -> np.ndarray:
        """(9,): the rates of the hub, the angles of the panels and the speeds of the wheels."""
        state = self.body.dynManager.getStateObject
        angles = [state(each.nameOfThetaState).getState()[0][0] for each in self.panels]
        speeds = list(self.wheels.rwSpeedOutMsg.read().wheelSpeeds)[: len(AXES)]
        return np.array([*self.body.scStateOutMsg.read().omega_BN_B, *angles, *speeds])

    def recorded(self, interval: float) -> Any:
        """What records the state of the hub."""
        recorder = self.body.scStateOutMsg.recorder(macros.sec2nano(interval))
        self.simulation.AddModelToTask("dynamics", recorder)
        return recorder
