"""Compile the kernels of beams on first use, in two processes.

Compilation is single-threaded and most of the time of the first run on a machine; two processes therefore compile half
of the kernels each into the same cache: those of elements and outputs, and those of steps. A kernel of both halves is
compiled by the process that needs it first; each half therefore starts with kernels that the other does not need. Where
a process can fork, both are forks of this one: they have loaded what compilation takes, and end without the collection
of its garbage, and this one stays small. Elsewhere this process compiles one half. ``python -m femb.run.warmup``,
``femb warmup`` and the first run on the command line compile both halves. A library call compiles in its own process.
"""

import gc
import multiprocessing
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import FembError
from femb.base.progress import COMPILING, announce
from femb.base.values import without_collection
from femb.numerics.threads import can_fork

OF_EVERY_RUN = "femb.numerics.kinematics:rates"

if TYPE_CHECKING:
    from femb.base.progress import Reporter
    from femb.model.model import Model
    from femb.system.system import System


def compile_first(model: "Model", progress: "Reporter | None" = None) -> None:
    """Compile the kernels of a run of a model with beams, shells or flexible bodies, if they are not in the cache.

    Sends a message to ``progress``. Starts other processes; no other function of femb does. Raises ModelError with
    every problem of the model.
    """
    from femb.numerics.compiler.compile import kernel_cache

    if is_compiled(model):
        return
    if progress is not None:
        announce(COMPILING, said=True)
    if not slow_kernels(model):
        if progress is not None:
            progress.message("compiling kernels: once on this machine, 4 to 8 s")
        return
    if kernel_cache().folder is None:
        # Without a cache a second process cannot pass on its kernels.
        if progress is not None:
            progress.message("compiling kernels, 15 to 30 s: they cannot be kept")
        return
    if progress is not None:
        progress.message(COMPILING)
    (_compile_in_forks if can_fork() else _compile_beside)(model)


def _compile_in_forks(model: "Model") -> None:
    # with what compilation imports, which the forks share
    from femb.system.system import System

    system = System(_bodies(1))
    system.rates(system.q0[None], system.v0[None])
    forks = [_fork(_compile_steps)]
    try:
        from femb.vibration.completion import system_of

        forks.append(_fork(_compile_forces, system_of(model, assemble=True)))
        for fork in forks:
            fork.join()
    finally:
        # after an error or an interruption; finished kernels are in the cache, the next run compiles the others
        for fork in forks:
            fork.terminate()
            fork.join()


def _fork(compile_half: Callable[..., None], *args: Any) -> multiprocessing.process.BaseProcess:
    """A fork of this process that compiles a half."""
    fork = multiprocessing.get_context("fork").Process(target=_silently, args=(compile_half, *args))
    with warnings.catch_warnings():
        # of threads of OpenBLAS, which ends and restarts them around a fork
        warnings.simplefilter("ignore", DeprecationWarning)
        fork.start()
    return fork


def _silently(compile_half: Callable[..., None], *args: Any) -> None:
    """Compile a half without messages: what fails here is compiled, and told, by the run."""
    gc.disable()
    with open(os.devnull, "w") as sys.stderr:
        compile_half(*args)


def _compile_beside(model: "Model") -> None:
    """Compile one half in this process, and the other in a second one."""
    # Both processes must import the same files to share the cache; a checkout in the current folder would come first.
    paths = os.pathsep.join([str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "femb.run.warmup", "second"],
        env={**os.environ, "PYTHONPATH": paths.rstrip(os.pathsep)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with without_collection():
            from femb.vibration.completion import system_of

            _compile_forces(system_of(model, assemble=True))
    except BaseException:
        # Its finished kernels are in the cache; the next run compiles the others.
        process.terminate()
        raise
    finally:
        process.wait()


def slow_kernels(model: "Model") -> set[str]:
    """Kernels of its items that take longest to compile."""
    return {item.slow_kernel for item in model.items()} - {""}


def is_compiled(model: "Model") -> bool:
    """Whether the kernels of a model that take longest to compile are in the cache, or else one of every run."""
    from femb.numerics.compiler.kernel_cache import is_stored

    return all(is_stored(resolve_name(name)) for name in slow_kernels(model) or {OF_EVERY_RUN})


def _compile_forces(system: "System") -> None:
    """Compile kinematics, solution, and forces, energies and matrices of all batches, slow ones first, and outputs."""
    q, v = system.q0, system.v0
    rates = system.rates(q[None], v[None])
    _compile_solving(1.0)
    system.solver.multiply(np.zeros(system.pattern.size), np.zeros(system.pattern.n))
    system.tangents(q, rates)
    system.normalise(q.copy())
    u = system.inputs_at(0.0, q, v)
    slow_first = system.evaluation.of(
        sorted(system.batches, key=lambda batch: not any(term.slow for term in batch.forces()))
    )
    state, data = (u[None], q[None], v[None]), np.zeros((3, 1, system.pattern.size))
    slow_first.residual(*state, np.zeros((1, system.n_v)))
    slow_first.add_energies(*state, np.zeros((1, 8)))
    slow_first.add_step_matrices(*state, *data)
    with suppress(FembError):  # the run tells of a state without accelerations
        _compile_outputs(system)


def _compile_outputs(system: "System") -> None:
    """Compile what is evaluated at an output instant."""
    from femb.base.options import Output
    from femb.recording.frames import output_frames
    from femb.recording.record import Recorder

    q, v = system.q0[None], system.v0[None]
    work = system.budget.rates(system, system.inputs_at(0.0, q[0], v[0])[None], q, v)
    Recorder(system, Output()).block(output_frames(system, np.zeros(1), q, v, work))


def _compile_steps() -> None:
    """Compile solution, also of several matrices at once, and time steps, by a run of a body."""
    from femb.numerics.compiler.lanes import LANES
    from femb.run.simulate import simulate
    from femb.system.stacked import FEWEST, factors_each, products
    from femb.system.system import System

    # Complex numbers first: the other process starts with real ones and the vector algebra of bodies.
    _compile_solving(1.0j)
    simulate(_bodies(1), duration=1e-3)
    # enough bodies for matrices that are treated in lanes
    count = -(-FEWEST // 36)
    solver = System(_bodies(count)).solver
    data, x = np.tile(np.eye(6).ravel(), (LANES, count)), np.ones((LANES, 6 * count))
    factors_each(solver, data).solve(x)
    products(solver, data, x)


def _compile_solving(unit: complex) -> None:
    """Compile factorisation and solution, without multipliers, for numbers of the type of ``unit``."""
    from femb.system.system import System

    solver = System(_bodies(1)).solver
    solver.factorise(unit * np.eye(6).ravel()).solve(unit * np.ones(6))


def _bodies(count: int) -> "Model":
    from femb.elements import RigidBody
    from femb.model.model import Model

    model = Model()
    for k in range(count):
        model.add(RigidBody(f"b{k}", mass=1.0, inertia=1.0))
    return model


def _clamped_beam() -> "Model":
    from femb import elements
    from femb.model.model import Model

    section = elements.Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9)
    model = Model()
    start = elements.Ground().at(direction=(1.0, 0.0, 0.0))
    model.add(elements.Beam("b", section, 1.0, 1, start=start))
    return model


def main(arguments: list[str]) -> bool:
    """Compile all kernels of a run of beams, and return whether they are in the cache; with the argument "second" the
    half of the second process."""
    if arguments == ["second"]:
        with without_collection():
            _compile_steps()
        return True
    model = _clamped_beam()
    compile_first(model)
    return is_compiled(model)


if __name__ == "__main__":
    main(sys.argv[1:])
