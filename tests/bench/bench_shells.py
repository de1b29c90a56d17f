"""What a clamped plate of 100 x 100 quadrilaterals of shells costs: 20 modes, and a load step of statics.

``python tests/bench/bench_shells.py 30`` takes so many along an edge. Each line is a process of its own, with its time
and its peak of memory: femb; scipy's splu and eigsh of the same matrices; CalculiX, where there is a program ``ccx``,
with S4 elements; OpenSees, where ``openseespy`` is installed, with ShellMITC4; and Exudyn, of the extra ``bench``, with
ANCFThinPlate, whose modes need dense matrices and are left out above 24 elements along an edge.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

BOUNDS = {"modes": (20.0, 1.5), "statics": (3.0, 1.5)}  # s of CPU time, GB
MODES, LIMIT = 20, 900.0
SIDE, THICKNESS, PRESSURE = 1.0, 5e-3, 1e3
YOUNG, POISSON, DENSITY = 68.9e9, 0.33, 2700.0


def plate(n: int):
    """The plate of femb under a following pressure."""
    from femb import Material, Model, Shell, SurfaceLoad

    model, attach = Model("plate"), {f"edge{k}": "ground" for k in range(1, 5)}
    corners = [[0, 0, 0], [SIDE, 0, 0], [SIDE, SIDE, 0], [0, SIDE, 0]]
    material = Material(YOUNG, 0.5 * YOUNG / (1.0 + POISSON), density=DENSITY)
    model.add(Shell("plate", (n, n), corners, thickness=THICKNESS, material=material, attach=attach))
    model.add(SurfaceLoad("push", shell="plate", pressure=PRESSURE))
    return model


def report(frequencies: object, used: float) -> None:
    """Print the first frequencies, the time and the peak of memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{used:.3g} s of CPU time, {peak:.2g} GB; {np.round(np.asarray(frequencies)[:3], 2).tolist()}", flush=True)


def femb_modes(n: int) -> None:
    """From the description to the modes."""
    import femb

    femb.modes(plate(25), 2)  # compiles
    start = time.process_time()
    found = femb.modes(plate(n), MODES)
    report(found.frequencies, time.process_time() - start)


def femb_statics(n: int) -> None:
    """A second load step as large as the first, of several Newton iterations, with the stability of its equilibrium."""
    import femb
    from femb.system.system import System

    femb.static(plate(25), steps=1)  # compiles
    start = time.process_time()
    System(plate(n))
    described = time.process_time() - start
    used = []
    for steps in (1, 2):
        start = time.process_time()
        found = femb.static(plate(n), factor=steps, steps=steps)
        used.append(time.process_time() - start)
    print(f"set-up {described:.3g} s, path of one step {used[0]:.3g} s", flush=True)
    report(np.abs(found.shells["plate"].position[1, :, 2]).max(keepdims=True) * 1e3, used[1] - used[0])


def matrices(n: int):
    """The stiffness and the mass of what is not held, by femb."""
    from femb.system.system import System

    system = System(plate(n))
    q, v = system.q0, np.zeros(system.n_v)
    stiffness = system.tangent(system.inputs_at(0.0, q, v), q, v, v)[1]
    return system.pattern.to_csc(stiffness).tocsc(), system.pattern.to_csc(system.mass_data(q)).tocsc()


def scipy_modes(n: int) -> None:
    """Factors and Lanczos alone."""
    from scipy.sparse.linalg import LinearOperator, eigsh, splu

    K, M = matrices(n)
    K, start = (0.5 * (K + K.T)).tocsc(), time.process_time()
    factors = splu(K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    inverse = LinearOperator(K.shape, factors.solve, dtype=float)
    squares = eigsh(K, MODES, M=M, sigma=0.0, OPinv=inverse, v0=np.ones(len(K.indptr) - 1), return_eigenvectors=False)
    report(np.sort(np.sqrt(squares)) / (2.0 * np.pi), time.process_time() - start)


def scipy_statics(n: int) -> None:
    """One factorisation and solution."""
    from scipy.sparse.linalg import splu

    K, _ = matrices(n)
    start = time.process_time()
    factors = splu(K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    factors.solve(np.ones(K.shape[0]))
    report([0.0], time.process_time() - start)


def deck(n: int, step: list[str]) -> Iterator[str]:
    """Lines of the input of CalculiX."""
    yield "*NODE, NSET=ALL"
    for k in range((n + 1) ** 2):
        yield f"{k + 1}, {SIDE * (k // (n + 1)) / n:.9g}, {SIDE * (k % (n + 1)) / n:.9g}, 0"
    yield "*ELEMENT, TYPE=S4, ELSET=PLATE"
    for k in range(n * n):
        a = (k // n) * (n + 1) + k % n + 1
        yield f"{k + 1}, {a}, {a + n + 1}, {a + n + 2}, {a + 1}"
    yield "*NSET, NSET=EDGE"
    for k in range((n + 1) ** 2):
        if {k // (n + 1), k % (n + 1)} & {0, n}:
            yield f"{k + 1}"
    yield from ["*MATERIAL, NAME=M", "*ELASTIC", f"{YOUNG}, {POISSON}", "*DENSITY", f"{DENSITY}"]
    yield from ["*SHELL SECTION, ELSET=PLATE, MATERIAL=M", f"{THICKNESS}", "*BOUNDARY", "EDGE, 1, 6"]
    yield from step


def ccx(n: int, step: list[str], more: str) -> None:
    """A run of CalculiX: its process alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "plate.inp").write_text("\n".join(deck(n, step)) + "\n")
        subprocess.run(["ccx", "plate"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows = [line.split() for line in Path(folder, "plate.dat").read_text().splitlines()]
    if more == "modes":
        shown = [float(row[3]) for row in rows if len(row) == 5 and row[0].isdigit()][:3]
    else:
        shown = [1e3 * max(abs(float(row[3])) for row in rows if len(row) == 4 and row[0].isdigit())]
    time_of_process, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6
    print(f"{time_of_process:.3g} s of CPU time, {peak:.2g} GB; {np.round(shown, 2).tolist()}")


def ccx_modes(n: int) -> None:
    """Lanczos of ARPACK with its own factors."""
    ccx(n, ["*STEP", "*FREQUENCY", f"{MODES}", "*END STEP"], "modes")


def ccx_statics(n: int) -> None:
    """A load step with large displacements."""
    load = ["*DLOAD", f"PLATE, P, {-PRESSURE}", "*NODE PRINT, NSET=ALL", "U", "*END STEP"]
    ccx(n, ["*STEP, NLGEOM", "*STATIC", "1., 1.", *load], "statics")


def opensees(n: int):
    """The plate of OpenSees."""
    import openseespy.opensees as ops

    ops.wipe()
    ops.model("basic", "-ndm", 3, "-ndf", 6)
    ops.section("ElasticMembranePlateSection", 1, YOUNG, POISSON, THICKNESS, DENSITY)
    for k in range((n + 1) ** 2):
        i, j = divmod(k, n + 1)
        ops.node(k + 1, SIDE * i / n, SIDE * j / n, 0.0)
        if {i, j} & {0, n}:
            ops.fix(k + 1, *[1] * 6)
    for k in range(n * n):
        a = (k // n) * (n + 1) + k % n + 1
        ops.element("ShellMITC4", k + 1, a, a + n + 1, a + n + 2, a + 1, 1)
    return ops


def opensees_modes(n: int) -> None:
    """ARPACK with band factors, its only solver of generalised problems that needs no shift by hand."""
    start = time.process_time()
    squares = opensees(n).eigen("-genBandArpack", MODES)
    report(np.sqrt(squares) / (2.0 * np.pi), time.process_time() - start)


def exudyn(n: int):
    """The plate of Exudyn: edges whose slopes may stretch, a load that keeps its direction, and fewer points of
    integration, with which its elements are as exact and four times as fast."""
    import exudyn as exu
    from exudyn.itemInterface import LoadMassProportional, MarkerBodyMass
    from exudyn.shells import AddClampToGround, ShellMesh

    system = exu.SystemContainer().AddSystem()
    corners = [[0, 0, 0], [SIDE, 0, 0], [SIDE, SIDE, 0], [0, SIDE, 0]]
    mesh = ShellMesh(corners, n, n, YOUNG, POISSON, DENSITY, THICKNESS)
    mesh.CreateANCFThinPlateElements(system, useReducedOrderIntegration=1)
    for k in set(mesh.boundaryNodeNumbers["all"]):
        AddClampToGround(system, k, [1, 1, 1, 0, 1, 1, 1, 0, 1])
    for k in mesh.elementNumbers:
        marker = system.AddMarker(MarkerBodyMass(bodyNumber=k))
        push = [0, 0, PRESSURE / (DENSITY * THICKNESS)]
        system.AddLoad(LoadMassProportional(markerNumber=marker, loadVector=push))
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.parallel.numberOfThreads = 1
    settings.solution.file.write = False
    static = settings.staticSolver
    static.numberOfLoadSteps, static.newton.relativeTolerance, static.verboseMode = 1, 1e-6, 0
    static.newton.useModifiedNewton = True
    return exu, system, mesh, settings


def exudyn_statics(n: int) -> None:
    """Set-up and a load step with large displacements; Newton's matrix is kept while it converges."""
    start = time.process_time()
    exu, system, mesh, settings = exudyn(n)
    system.SolveStatic(settings)
    used = time.process_time() - start
    middle = mesh.nodeNumbers[(n + 1) * (n // 2) + n // 2]
    report([1e3 * system.GetNodeOutput(middle, exu.OutputVariableType.Displacement)[2]], used)


def exudyn_modes(n: int) -> None:
    """ARPACK of scipy, of matrices that are made dense."""
    if n > 24:
        print("left out: 9 coordinates a node in dense matrices")
        return
    start = time.process_time()
    _, system, mesh, settings = exudyn(n)
    edges = [system.GetNodeODE2Index(k) for k in set(mesh.boundaryNodeNumbers["all"])]
    held = [first + k for first in edges for k in (0, 1, 2, 4, 5, 6, 8)]
    words = {"useSparseSolver": True, "numberOfEigenvalues": MODES, "convert2Frequencies": True}
    found = system.ComputeODE2Eigenvalues(settings, ignoreAlgebraicEquations=True, constrainedCoordinates=held, **words)
    report(np.sort(found[0]), time.process_time() - start)


TASKS = {f.__name__: f for f in (
    femb_modes, scipy_modes, ccx_modes, opensees_modes, exudyn_modes,
    femb_statics, scipy_statics, ccx_statics, exudyn_statics,
)}  # fmt: skip


def main() -> None:
    """Print a line for each program and problem, or carry out one of them."""
    if len(sys.argv) > 2:
        TASKS[sys.argv[2]](int(sys.argv[1]))
        return
    n = sys.argv[1] if len(sys.argv) > 1 else "100"
    for name in TASKS:
        program, what = name.split("_")
        if program == "ccx" and not shutil.which("ccx"):
            continue
        bound = "  bound {} s, {} GB".format(*BOUNDS[what]) if program == "femb" else ""
        try:
            found = subprocess.run([sys.executable, __file__, n, name], capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            print(f"{program:10}{what:10}did not end in {LIMIT:g} s", flush=True)
            continue
        said = found.stdout.strip() or (found.stderr.strip().splitlines() or [""])[-1]
        print(f"{program:10}{what:10}{said}{bound}", flush=True)


if __name__ == "__main__":
    main()
