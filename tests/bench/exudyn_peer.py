"""Exudyn as a peer: its systems, solver settings and nodes as the problems need them."""

import sys
import warnings
from typing import Any

import numpy as np

from .harness import FailedError

sys.exudynFast = True  # type: ignore[attr-defined]  # its module without range checks, the faster one
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import exudyn as exu
    import exudyn.utilities as items

VERSION = exu.__version__
POSITION = exu.OutputVariableType.Position


class Peer:
    """A system under construction; ``add`` is for any item, and gives its number."""

    def __init__(self) -> None:
        self.container = exu.SystemContainer()
        self.system = self.container.AddSystem()

    def add(self, item: Any) -> int:
        """The number of a node, object, marker, load or sensor, told by the name of its class."""
        for method in ("Node", "Marker", "Load", "Sensor", "Object"):
            if type(item).__name__.startswith(method) or (
                method == "Load" and type(item).__name__ in ("Force", "Torque")
            ):
                return int(getattr(self.system, f"Add{method}")(item))
        return int(self.system.AddObject(item))

    def rigid_node(
        self, position: Any, velocity: Any = (0, 0, 0), spin: Any = (0, 0, 0), turn: Any = (1, 0, 0, 0)
    ) -> int:
        """A node with Euler parameters; spin in body axes of a node that starts along the inertial axes."""
        rates = [0.0, *(0.5 * np.asarray(spin, float))]
        initial = [*velocity, *rates]
        return self.add(items.NodeRigidBodyEP(referenceCoordinates=[*position, *turn], initialVelocities=initial))

    def watch(self, *nodes: int) -> list[int]:
        """Sensors that keep the positions of nodes in memory."""
        return [
            self.add(items.SensorNode(nodeNumber=n, storeInternal=True, outputVariableType=POSITION)) for n in nodes
        ]

    def settings(self, duration: float, step: float, interval: float, **words: Any) -> Any:
        """Settings of a run with a fixed step; words: sparse, newton (relative, absolute), increments (whether Newton's
        criterion is the size of the increment), once (whether the Jacobian is formed in every step, and once), radius,
        modified, redundant (rows of constraints depend on others)."""
        settings = exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.endTime, integration.numberOfSteps = duration, round(duration / step)
        integration.verboseMode = 0
        integration.newton.useModifiedNewton = words.get("modified", True)
        if "newton" in words:
            integration.newton.relativeTolerance, integration.newton.absoluteTolerance = words["newton"]
        integration.newton.newtonResidualMode = int(words.get("increments", False))
        integration.newton.modifiedNewtonJacUpdatePerStep = words.get("once", False)
        integration.generalizedAlpha.spectralRadius = words.get("radius", 1.0)
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = interval
        settings.parallel.numberOfThreads = 1
        solver = exu.LinearSolverType
        settings.linearSolverType = solver.EigenSparse if words.get("sparse", True) else solver.EXUdense
        if words.get("redundant"):
            settings.linearSolverType = solver.EigenDense
            settings.linearSolverSettings.ignoreSingularJacobian = True
        return settings

    def run(self, settings: Any, solver: str = "GeneralizedAlpha") -> None:
        """Solve. Raises FailedError."""
        try:
            done = self.system.SolveDynamic(settings, solverType=getattr(exu.DynamicSolverType, solver))
        except Exception as error:
            raise FailedError("its Newton iteration did not converge") from error
        if not done:
            raise FailedError("its Newton iteration did not converge")

    def history(self, sensor: int) -> np.ndarray:
        """(T, 3) of a sensor of positions."""
        return np.asarray(self.system.GetSensorStoredData(sensor))[:, 1:]


def silent() -> None:
    """No words of its solver on the screen."""
    exu.config.printToConsole = False


__all__ = ["POSITION", "VERSION", "FailedError", "Peer", "exu", "items", "silent"]
