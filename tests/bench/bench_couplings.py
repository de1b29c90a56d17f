"""A gear between two rotors beside Exudyn's ObjectConnectorCoordinate, and the motion in closed form."""

import exudyn as exu
import exudyn.utilities as items
import numpy as np

import femb

INERTIAS, RATIO = (0.5, 0.2), -3.05  # kg m2
STIFFNESS, DAMPING, TORQUE, DURATION = 3.0, 0.1, 0.4, 2.0
STEPS, RADIUS = 20000, 0.6  # of Exudyn; at the radius 1 its multiplier rings


def exact() -> np.ndarray:
    """Both angles (rad) and the torque (N m) of the gear on the second rotor: J q'' + c q' + k q = n T of the first."""
    J, push = INERTIAS[0] + INERTIAS[1] * RATIO**2, RATIO * TORQUE
    decay, rest = 0.5 * DAMPING / J, push / STIFFNESS
    omega = np.sqrt(STIFFNESS / J - decay**2)
    swing = np.exp(-decay * DURATION) * np.array([np.cos(omega * DURATION), np.sin(omega * DURATION)])
    q = rest - rest * (swing[0] + decay / omega * swing[1])
    rate = rest * (omega + decay**2 / omega) * swing[1]
    second = (push - DAMPING * rate - STIFFNESS * q) / J
    return np.array([q, RATIO * q, INERTIAS[1] * RATIO * second - TORQUE])


def exudyns() -> np.ndarray:
    """The same of Exudyn."""
    system = exu.SystemContainer().AddSystem()
    ground = system.AddNode(items.NodePointGround())
    fixed = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
    nodes = [system.AddNode(items.Node1D(referenceCoordinates=[0.0])) for _ in INERTIAS]
    for node, inertia in zip(nodes, INERTIAS, strict=True):
        system.AddObject(items.ObjectRotationalMass1D(inertia=inertia, nodeNumber=node))
    first, second = (system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=0)) for node in nodes)
    spring = {"markerNumbers": [fixed, first], "stiffness": STIFFNESS, "damping": DAMPING}
    system.AddObject(items.ObjectConnectorCoordinateSpringDamper(**spring))
    gear = system.AddObject(items.ObjectConnectorCoordinate(markerNumbers=[second, first], factor1=RATIO))
    system.AddLoad(items.LoadCoordinate(markerNumber=second, load=TORQUE))
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = STEPS, DURATION
    settings.timeIntegration.generalizedAlpha.spectralRadius = RADIUS
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    system.SolveDynamic(settings)
    angles = [float(system.GetNodeOutput(node, exu.OutputVariableType.Coordinates)) for node in nodes]
    return np.array([*angles, float(system.GetObjectOutput(gear, exu.OutputVariableType.Force))])


def fembs(formulation: str) -> np.ndarray:
    """The same of femb."""
    model = femb.Model("rotors")
    for name, inertia in zip("ab", INERTIAS, strict=True):
        model.add(femb.RigidBody(name, 1e-3, (inertia,) * 3))
        model.add(femb.Revolute(f"{name} pin", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd(name)))
    model.add(femb.Gear("gear", femb.JointCoordinate("a pin"), femb.JointCoordinate("b pin"), ratio=RATIO))
    model.add(femb.JointSpringDamper("spring", "a pin", stiffness=STIFFNESS, damping=DAMPING))
    model.add(femb.JointMotor("motor", "b pin", force=TORQUE))
    results = femb.simulate(model, duration=DURATION, formulation=formulation, rtol=1e-10, atol=1e-12)
    angles = [results.joints[f"{name} pin"].coordinates[-1, 0] for name in "ab"]
    return np.array([*angles, results.couplings["gear"].force[-1, 1]])


def main() -> None:
    wanted = exact()
    print(f"{'exact':10} {wanted[0]:.8f} {wanted[1]:.8f} rad {wanted[2]:.8f} N m")
    programs = {"Exudyn": exudyns()} | {f"femb, {word}": fembs(word) for word in ("velocity", "quaternion", "reduced")}
    for name, found in programs.items():
        print(f"{name:18} differs by {' '.join(f'{each:.1e}' for each in np.abs(np.abs(found) - np.abs(wanted)))}")


if __name__ == "__main__":
    main()
