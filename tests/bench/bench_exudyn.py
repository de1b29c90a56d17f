"""A flexible body beside Exudyn's ObjectFFRFreducedOrder, of the same mass and stiffness: agreement and CPU time.

A bar of 20-node bricks on a hub turns under a constant torque. Exudyn's body has inertia of second order without
geometric stiffening, and so has the body here; the last line shows what the stiffening changes.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

import exudyn as exu
import numpy as np
from exudyn.FEM import FEMinterface, HCBstaticModeSelection, ObjectFFRFreducedOrderInterface
from exudyn.utilities import LoadTorqueVector, MarkerNodeRigid, ObjectRigidBody, SensorSuperElement

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the meshes of the tests

from fem.solids import brick_mesh

import femb
from femb.fem.reduce import interfaces_of
from femb.fem.reduction import Keep
from femb.fem.solids import SolidMaterial, solid_model

SOFT = SolidMaterial(7e8, 0.3, 2700.0)
MODES, DURATION, TORQUE = 8, 1.0, np.array([0.5, 6.0, 3.0])
HUB = 5.0, 0.3  # kg, kg m2: on the root
STEPS = 4000  # of Exudyn
ACCURACY = 1e-8


def exudyns(model: femb.fem.FeModel, root: np.ndarray, tip: int, steps: int) -> tuple[np.ndarray, float, np.ndarray]:
    """The position of a node at the end, the CPU time of the run, and the frequencies, Hz."""
    fem = FEMinterface()
    fem.nodes = {"Position": model.nodes}
    fem.massMatrix, fem.stiffnessMatrix = model.mass.tocsr(), model.stiffness.tocsr()
    fem.ComputeHurtyCraigBamptonModes([root], MODES, computationMode=HCBstaticModeSelection.RBE2)
    order = np.argsort(fem.eigenValues)
    fem.modeBasis["matrix"] = fem.modeBasis["matrix"][:, order]
    container = exu.SystemContainer()
    system = container.AddSystem()
    body = ObjectFFRFreducedOrderInterface(fem).AddObjectFFRFreducedOrder(system)
    marker = system.AddMarker(MarkerNodeRigid(nodeNumber=body["nRigidBody"]))
    system.AddLoad(LoadTorqueVector(markerNumber=marker, loadVector=TORQUE, bodyFixed=True))
    hub = ObjectRigidBody(mass=HUB[0], inertia=[HUB[1]] * 3 + [0.0] * 3, nodeNumber=body["nRigidBody"])
    system.AddObject(hub)
    sensor = system.AddSensor(
        SensorSuperElement(
            bodyNumber=body["oFFRFreducedOrder"],
            meshNodeNumber=tip,
            storeInternal=True,
            outputVariableType=exu.OutputVariableType.Position,
        )
    )
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime = DURATION
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.newton.relativeTolerance = 1e-10
    settings.solutionSettings.sensorsWritePeriod = DURATION / 10
    settings.solutionSettings.writeSolutionToFile = False
    start = time.process_time()
    system.SolveDynamic(settings, solverType=exu.DynamicSolverType.TrapezoidalIndex2)
    used = time.process_time() - start
    return system.GetSensorStoredData(sensor)[-1, 1:4], used, np.sqrt(fem.eigenValues[order]) / (2.0 * np.pi)


def fembs(body: femb.fem.ReducedBody, tip: int, warm: bool = True) -> tuple[np.ndarray, float]:
    """The position of a node at the end, and the CPU time of the run."""
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=HUB[0], inertia=HUB[1]))
    start = femb.Attachment("hub")
    model.add(femb.FlexibleBody("bar", body, start=start, damping_ratio=0.0, nodal_displacements=True))
    model.add(femb.Load("drive", "hub", torque=TORQUE, frame="body"))
    if warm:
        fembs(body, tip, False)
    start = time.process_time()
    results = femb.simulate(model, duration=DURATION, output_interval=DURATION / 10, method="rk", rtol=ACCURACY)
    used = time.process_time() - start
    bar = results.bodies["bar"]
    at = body.nodes[tip] + bar.nodal_displacement[-1, tip]
    R = femb.numerics.rotations.rotation_matrix(bar.quaternion[-1])
    return bar.position[-1] + R @ at, used


def main() -> None:
    nodes, cells = brick_mesh((16, 2, 2), kind="hexahedron20")
    used, own = np.unique(cells["hexahedron20"], return_inverse=True)
    model = solid_model(nodes[used], {"hexahedron20": own.reshape(cells["hexahedron20"].shape)}, SOFT)
    root = np.flatnonzero(model.nodes[:, 0] == 0.0)
    tip = int(np.argmin(np.linalg.norm(model.nodes - [1.0, 0.0, 0.0], axis=1)))
    ties = interfaces_of(replace(model, node_sets={"root": root}), ["root=root"])
    found = femb.fem.reduce_model(model, ties, Keep(MODES), coupling="constant")
    plain = replace(found.body, S2=np.zeros((MODES, MODES, 3)), included=True)  # inertia of second order alone
    full = femb.fem.reduce_model(model, ties, Keep(MODES)).body
    theirs, their_time, frequencies = exudyns(model, root, tip, STEPS)
    finer = exudyns(model, root, tip, 2 * STEPS)[0]
    ours, our_time = fembs(plain, tip)
    stiffened, _ = fembs(full, tip)
    print(f"{len(model.nodes)} nodes, {MODES} modes from {found.free[0]:.4g} to {found.free[-1]:.4g} Hz")
    print(f"frequencies differ by {np.abs(found.free / frequencies - 1.0).max():.1e} of themselves")
    print(
        f"tip after {DURATION} s: {ours}, differs from Exudyn's by {np.linalg.norm(ours - theirs):.1e} m with {STEPS} "
        f"steps, by {np.linalg.norm(ours - finer):.1e} m with twice as many"
    )
    print(f"CPU of the run: femb {our_time:.3g} s, Exudyn {their_time:.3g} s")
    print(f"geometric stiffening moves the tip by {np.linalg.norm(ours - stiffened):.1e} m")


if __name__ == "__main__":
    main()
