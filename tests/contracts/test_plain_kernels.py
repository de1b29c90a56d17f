"""Kernels as plain Python: the equations of every item are those of its machine code.

A kernel that is compiled may read past an array, or take types that Python does not, without a word.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from contracts.test_items import EXAMPLES, in_orbit, state

from femb.elements import GravityGradient
from femb.system.system import System

# as Python, the field of an orbit takes half of the time of all: with one element a beam
EXAMPLES = {**EXAMPLES, GravityGradient: lambda: in_orbit(elements=1)}
SCRIPT = (
    "import sys; from contracts.test_plain_kernels import values; import numpy; numpy.savez(sys.argv[1], **values())"
)


def values():
    """Residual, energies with momenta, inertia and exact tangent of the example of every kind, at a random state."""
    found = {}
    for kind, make in EXAMPLES.items():
        system = System(make(), assemble=True)
        _, u, q, v, a = state(system, 3)
        found[f"{kind.__name__} residual"] = system.residual(u[None], q[None], v[None], a[None])
        found[f"{kind.__name__} energy"] = system.energy_momentum(q[None], v[None], u[None])
        found[f"{kind.__name__} inertia"] = system.mass_properties_at(q)[2]
        for word, data in zip(("damping", "stiffness"), system.tangent(u, q, v, a), strict=True):
            found[f"{kind.__name__} {word}"] = data
    return found


@pytest.mark.slow
def test_equations_are_those_of_machine_code(tmp_path):
    file = tmp_path / "plain.npz"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, file], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with np.load(file) as plain:
        compiled = values()
        assert set(plain) == set(compiled)
        for name, wanted in compiled.items():
            scale = np.max(np.abs(wanted), initial=np.finfo(float).tiny)
            np.testing.assert_allclose(plain[name], wanted, rtol=0.0, atol=1e-11 * scale, err_msg=name)
