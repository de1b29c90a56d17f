"""A chain of rods in free fall from the horizontal: a stage in each formulation, and whole runs beside their peers.

n rods of 0.1 m and 0.1 kg on hinges about y and z in turn, at rest along x, in gravity (0, 2, -9.6) m/s2; 1 s, and 2 s
for 200 rods. Peers (extra ``bench``): Pinocchio's articulated-body accelerations integrated by scipy's DOP853, and
Exudyn's kinematic tree by its explicit method RK44 and redundant coordinates by its trapezoidal rule. The error is that
of the tip against DOP853 at 1e-12. CPU times are medians of runs made in turn. A run of femb is ``femb.simulate`` of a
Model, with results at both ends; times of peers are those of the integration alone. ``stages`` or ``runs`` makes one of
the tables.
"""

import sys
import time
from statistics import median

import exudyn as exu
import numpy as np
import pinocchio as pin
from bench_formulations import evaluation
from bench_models import best
from exudyn.robotics import Robot, RobotBase, RobotLink, RobotTool
from exudyn.utilities import HT0, HTtranslate, InertiaRodX, SensorBody, SensorKinematicTree
from scipy.integrate import solve_ivp

import femb
from femb.formulations import make_formulation
from femb.numerics import dop853
from femb.numerics.rotations import rotate
from femb.system.system import System

LENGTH, MASS, GRAVITY = 0.1, 0.1, np.array([0.0, 2.0, -9.6])
INERTIA = np.array([1e-2, 1.0 / 12.0, 1.0 / 12.0]) * MASS * LENGTH**2
SIZES = (2, 5, 10, 20, 50, 100, 200)
FORMULATIONS = ("velocity", "reduced", "hamiltonian")
RUNS = ((10, 1.0), (50, 1.0), (200, 2.0))
REPEATS = 5


def axis_of(k):
    """The axis of hinge k."""
    return (0.0, float(k % 2 == 0), float(k % 2))


def chain(rods):
    """The Model."""
    model = femb.Model("chain", gravity=GRAVITY)
    model.add(femb.Ground())
    words = {"reference": (1.0, 0.0, 0.0)}
    for k in range(rods):
        words["axis"] = axis_of(k)
        above = femb.JointEnd(f"s{k - 1}", at=(LENGTH, 0, 0), **words) if k else femb.JointEnd("ground", **words)
        model.add(femb.RigidBody(f"s{k}", MASS, INERTIA, center_of_mass=(LENGTH / 2, 0, 0)))
        model.add(femb.Revolute(f"j{k}", above, femb.JointEnd(f"s{k}", **words)))
    return model


def pinocchios(rods):
    """The model in Pinocchio, and its data."""
    model, joint = pin.Model(), 0
    model.gravity.linear = GRAVITY
    for k in range(rods):
        kind = pin.JointModelRZ() if k % 2 else pin.JointModelRY()
        joint = model.addJoint(joint, kind, pin.SE3(np.eye(3), np.array([LENGTH if k else 0.0, 0.0, 0.0])), f"s{k}")
        inertia = pin.Inertia(MASS, np.array([LENGTH / 2, 0.0, 0.0]), np.diag(INERTIA))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return model, model.createData()


def pinocchio_run(rods, duration, tolerance):
    """Tip (3,) and CPU time, s."""
    (model, data), no_torque = pinocchios(rods), np.zeros(rods)

    def rates(t, y):
        return np.concatenate([y[rods:], pin.aba(model, data, y[:rods], y[rods:], no_torque)])

    start = time.process_time()
    found = solve_ivp(rates, (0.0, duration), np.zeros(2 * rods), method="DOP853", rtol=tolerance, atol=tolerance)
    used = time.process_time() - start
    pin.forwardKinematics(model, data, found.y[:rods, -1].copy())
    return data.oMi[rods].act(np.array([LENGTH, 0.0, 0.0])), used


def femb_run(formulation):
    """A run in a formulation."""

    def run(rods, duration, tolerance):
        model = chain(rods)
        start = time.process_time()
        options = {"duration": duration, "output_interval": duration, "method": "rk", "rtol": tolerance}
        results = femb.simulate(model, formulation=formulation, **options)
        used = time.process_time() - start
        last = results.bodies[f"s{rods - 1}"]
        return last.position[-1] + rotate(last.quaternion[-1], (LENGTH, 0.0, 0.0)), used

    return run


def exudyn_settings(duration, step):
    """Settings of a run without files."""
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime = duration
    settings.timeIntegration.numberOfSteps = round(duration / step)
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1.0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = duration
    return settings


def exudyn_tree(rods, duration, step):
    """Tip and CPU time of Exudyn's kinematic tree by RK44."""
    system = exu.SystemContainer().AddSystem()
    robot = Robot(gravity=GRAVITY, base=RobotBase(), tool=RobotTool())
    centre = np.array([LENGTH / 2, 0.0, 0.0])
    for k in range(rods):
        place = HTtranslate([LENGTH, 0.0, 0.0]) if k else HT0()
        robot.AddLink(
            RobotLink(
                mass=MASS, COM=centre, inertia=np.diag(INERTIA), jointType="Rz" if k % 2 else "Ry", preHT=place,
                parent=k - 1,
            )
        )  # fmt: skip
    tree = robot.CreateKinematicTree(system)
    sensor = system.AddSensor(
        SensorKinematicTree(
            objectNumber=tree["objectKinematicTree"], linkNumber=rods - 1, localPosition=[LENGTH, 0.0, 0.0],
            storeInternal=True, outputVariableType=exu.OutputVariableType.Position,
        )
    )  # fmt: skip
    return exudyn_solved(system, sensor, exudyn_settings(duration, step), exu.DynamicSolverType.RK44)


def exudyn_redundant(rods, duration, step):
    """Tip and CPU time of Exudyn's bodies and joints by the trapezoidal rule."""
    system = exu.SystemContainer().AddSystem()
    body = system.CreateGround()
    for k in range(rods):
        rod = InertiaRodX(MASS, LENGTH)
        rod.inertiaTensor, rod.com = np.diag(INERTIA), np.zeros(3)
        at = [LENGTH * k, 0.0, 0.0]
        new = system.CreateRigidBody(
            referencePosition=[LENGTH * (k + 0.5), 0.0, 0.0], inertia=rod, gravity=list(GRAVITY)
        )
        system.CreateRevoluteJoint(itemNumbers=[body, new], position=at, axis=list(axis_of(k)), useGlobalFrame=True)
        body = new
    sensor = system.AddSensor(
        SensorBody(
            bodyNumber=body, localPosition=[LENGTH / 2, 0.0, 0.0], storeInternal=True,
            outputVariableType=exu.OutputVariableType.Position,
        )
    )  # fmt: skip
    settings = exudyn_settings(duration, step)
    if rods > 20:
        settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    return exudyn_solved(system, sensor, settings, exu.DynamicSolverType.TrapezoidalIndex2)


def exudyn_solved(system, sensor, settings, solver):
    """Tip and CPU time."""
    system.Assemble()
    start = time.process_time()
    system.SolveDynamic(settings, solverType=solver)
    used = time.process_time() - start
    return system.GetSensorStoredData(sensor)[-1, 1:4], used


def stages():
    """us of a stage: within a step of DOP853 where the formulation evaluates whole steps, else alone."""
    print(f"us a stage; Pinocchio {pin.__version__}")
    print(" ".join(f"{word:>12}" for word in ("rods", *FORMULATIONS, "pinocchio", "difference")))
    for n in SIZES:
        system = System(chain(n))
        q, v = (scale * np.random.default_rng(n).standard_normal(n) for scale in (0.3, 0.1))
        forms = {name: make_formulation(system, name) for name in FORMULATIONS}
        costs = []
        for form in forms.values():
            if getattr(form, "has_stages", False):
                y, K = np.concatenate([form.q0, form.v0, [0.0]]), np.zeros((dop853.EXTENDED, 2 * n + 1))
                form.stages(dop853.A, 0, 1, 0.0, y, K)
                costs.append(best(lambda: form.stages(dop853.A, 1, 13, 1e-3, y, K)) / dop853.STAGES)  # noqa: B023
            else:
                costs.append(best(evaluation(form)))
        (model, data), no_torque = pinocchios(n), np.zeros(n)
        costs.append(best(lambda: pin.aba(model, data, q, v, no_torque)))  # noqa: B023
        wanted = pin.aba(model, data, q, v, no_torque)
        got = forms["reduced"].forward(forms["reduced"].inputs_at(0.0, q, v), q, v)[0]
        difference = np.abs(got - wanted).max() / np.abs(wanted).max()
        print(f"{n:12d} " + " ".join(f"{1e6 * cost:12.2f}" for cost in costs) + f" {difference:12.1e}", flush=True)


def runs():
    """Error of the tip and CPU time of whole runs."""
    print(f"\nwhole runs; Pinocchio {pin.__version__}, Exudyn {exu.__version__}")
    print(f"{'rods':>5} {'':>28} {'setting':>8} {'tip error, m':>13} {'CPU, ms':>9}")
    for n, duration in RUNS:
        reference = pinocchio_run(n, duration, 1e-12)[0]
        rows = [("reduced", femb_run("reduced"), 1e-5), ("reduced", femb_run("reduced"), 1e-6)]
        rows += [("hamiltonian", femb_run("hamiltonian"), 1e-4), ("hamiltonian", femb_run("hamiltonian"), 1e-5)]
        rows += [("Pinocchio and DOP853", pinocchio_run, tolerance) for tolerance in (1e-5, 1e-6)]
        rows += [("Exudyn, tree, RK44", exudyn_tree, 4e-3)] if n < 200 else []
        rows += [("Exudyn, redundant", exudyn_redundant, 1e-3)] if n < 200 else []
        found = [[] for _ in rows]
        for _ in range(1 + REPEATS):
            for times, (_, run, setting) in zip(found, rows, strict=True):
                times.append(run(n, duration, setting))
        for times, (name, _, setting) in zip(found, rows, strict=True):
            error = np.linalg.norm(times[0][0] - reference)
            print(
                f"{n:5d} {name:>28} {setting:8.0e} {error:13.1e} {1e3 * median(t for _, t in times[1:]):9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    for table in sys.argv[1:] or ("stages", "runs"):
        {"stages": stages, "runs": runs}[table]()
