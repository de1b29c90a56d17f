"""First use: compile the kernels of beams on two cores, and say so.

Compiling is single-threaded and takes most of the time of the first run on a machine, so that half of it is done by a
second process, which leaves its machine code in the same cache. ``python -m femb.warmup`` is that process; it may also
be run by hand after an installation.
"""

import subprocess
import sys
from typing import Any

import numpy as np


def compile_first(system: Any, progress: Any = None) -> None:
    """Compile what a run of this system needs first, if nothing is in the cache yet; a message goes to ``progress``."""
    from femb.jit import is_compiled

    if is_compiled() or not system.layout.beams:
        return
    if progress is not None:
        progress.message("compiling kernels: once on this machine, about 20 s")
    silent = subprocess.DEVNULL
    beside = subprocess.Popen([sys.executable, "-m", "femb.warmup"], stdout=silent, stderr=silent)
    try:
        q, v = system.q0[None], system.v0[None]
        system.residual(system.inputs_at(0.0, q[0], v[0])[None], q, v, np.zeros_like(v))
    finally:
        beside.wait()


def main() -> None:
    """Compile matrices, energies and block elimination with the model of a single clamped beam."""
    from femb.elements import Beam, Ground, Section
    from femb.model import Model
    from femb.system import System

    section = Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9)
    model = Model()
    model.add(Beam("b", section, 1.0, 1, start=Ground().at(direction=(1.0, 0.0, 0.0))))
    system = System(model)
    mass, _, stiffness = system.matrices(np.zeros(0), system.q0, system.v0)
    x = np.zeros(system.n_v)
    system.solver.factorise(mass + stiffness).solve(x)
    system.solver.factorise((1.0 + 1.0j) * mass + stiffness).solve(x.astype(complex))
    system.solver.multiply(stiffness, x)
    system.energy_momentum(system.q0[None], system.v0[None])


if __name__ == "__main__":
    main()
