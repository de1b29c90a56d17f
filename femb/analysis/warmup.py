"""First use: compile the kernels of beams on two cores, and say so.

Compiling is single-threaded and takes most of the time of the first run on a machine, so that half of it is done by a
second process, which leaves its machine code in the same cache. A kernel that both halves call is compiled by the one
that needs it first; each half therefore begins with what the other does not need. ``python -m femb.analysis.warmup``
compiles both halves, after an installation for instance; so do ``femb warmup`` and the first run on the command line. A
call of the library compiles in its own process.
"""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from femb.base.progress import Reporter
    from femb.model.model import Model
    from femb.system.system import System


def compile_first(model: "Model", progress: "Reporter | None" = None) -> None:
    """Compile what a run of a model with beams needs first, if nothing is in the cache yet.

    A message goes to ``progress``. Starts a second process, which no other function of femb does. Raises ModelError
    with every problem of the model.
    """
    from femb.numerics.compile import is_compiled, kernel_cache

    if is_compiled() or not any(item.slow_to_compile for item in model.items()):
        return
    if kernel_cache().folder is None:
        # A second process could not hand on what it compiles.
        if progress is not None:
            progress.message("compiling kernels, 15 to 30 s: they cannot be kept")
        return
    if progress is not None:
        progress.message("compiling kernels: once on this machine, 10 to 15 s")
    silent = subprocess.DEVNULL
    # Both must be of the same files, or neither finds the other's: a checkout in the current folder would come first.
    where = os.pathsep.join([str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")])
    beside = subprocess.Popen(
        [sys.executable, "-P", "-m", "femb.analysis.warmup", "beside"],
        env={**os.environ, "PYTHONPATH": where.rstrip(os.pathsep)},
        stdout=silent,
        stderr=silent,
    )
    try:
        with _no_collection():
            from femb.system.system import System

            _compile_forces(System(model, assemble=True))
    except BaseException:
        # What it has written so far is whole, and the next run goes on from there.
        beside.terminate()
        raise
    finally:
        beside.wait()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the garbage collector, which a compiler's many small objects keep busy for a seventh of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _compile_forces(system: "System") -> None:
    """Compile kinematics and solving, forces and energies of a system, slow ones first, and matrices of the others."""
    q, v = system.q0, system.v0
    rates = system.rates(q[None], v[None])
    _compile_solving(1.0)
    system.solver.multiply(np.zeros(system.pattern.size), np.zeros(system.pattern.n))
    system.tangents(q, rates)
    system.normalise(q.copy())
    u = system.inputs_at(0.0, q, v)
    force, energy, blocks = np.zeros((1, system.n_v)), np.zeros((1, 8)), np.zeros((3, system.pattern.size))
    slow = [batch for batch in system.batches if batch.slow_to_compile]
    others = [batch for batch in system.batches if not batch.slow_to_compile]
    for batch in slow + others:
        batch.residual(u[None], q[None], v[None], np.zeros((1, system.n_v)), force)
        batch.energy_momentum(q[None], v[None], energy)
    for batch in others:
        batch.matrices(u, q, v, *blocks)


def _compile_beside() -> None:
    """Compile solving and stepping, by a run without beams, and then the matrices of beams."""
    from femb.analysis.simulate import simulate

    # Complex numbers first, while the first process is at real ones and at the vector algebra that a body needs too.
    _compile_solving(1.0j)
    simulate(_one_body(), duration=1e-3)
    beam = _clamped_beam()
    beam.matrices(np.zeros(0), beam.q0, beam.v0)


def _compile_solving(unit: complex) -> None:
    """Compile factorisation and solution, without multipliers, in the numbers that ``unit`` is of."""
    from femb.system.system import System

    solver = System(_one_body()).solver
    solver.factorise(unit * np.eye(6).ravel()).solve(unit * np.ones(6))


def _one_body() -> "Model":
    from femb.elements import RigidBody
    from femb.model.model import Model

    model = Model()
    model.add(RigidBody("b", mass=1.0, inertia=1.0))
    return model


def _clamped_beam() -> "System":
    from femb.elements import Beam, Ground, Section
    from femb.model.model import Model
    from femb.system.system import System

    section = Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9)
    model = Model()
    model.add(Beam("b", section, 1.0, 1, start=Ground().at(direction=(1.0, 0.0, 0.0))))
    return System(model)


def main(arguments: list[str]) -> None:
    """Compile everything that a run of beams needs; with the argument "beside", the second process's half."""
    if arguments == ["beside"]:
        with _no_collection():
            _compile_beside()
    else:
        compile_first(_clamped_beam().model)


if __name__ == "__main__":
    main(sys.argv[1:])
