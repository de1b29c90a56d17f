"""Values with several numbers: where numba cannot have them, kernels compute the same with one number at a time."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from long_runs import slow

from femb.numerics.compiler import lanes
from femb.numerics.compiler.lanes import SharedRows

# Forces and tangents of a damped beam of 6 elements, which fill one group of four and a part of another.
FORCES = """
import numpy as np
import femb
from femb.numerics.compiler.kernel_compiler import KNOWN
from femb.numerics.compiler.lanes import LANES
from femb.system.system import System

model = femb.Model(gravity=(0.0, 0.0, -9.81))
rod = femb.Section("rod", axial_stiffness=9e3, bending_stiffness=(2.0, 3.0), torsional_stiffness=1.0,
                   shear_stiffness=(3e3, 2e3), mass_per_length=2.0, inertia_per_length=(0.3, 0.1, 0.2), damping=0.01)
model.add(femb.ExactBeam("beam", rod, 1.0, 6, start=femb.Attachment("ground", direction=(1.0, 0.0, 0.0))))
system = System(model)
batch = next(each for each in system.batches if type(each).__name__ == "ExactBatch")
x = 0.05 * np.sin(np.arange(5.0 * system.n_v)).reshape(5, -1)
q = system.retract(system.q0, x[0])
out = system.evaluation.of([batch]).residual(np.zeros((1, 0)), q[None], x[1][None], x[2][None])
tangent = np.array(system.evaluation.of([batch]).tangent(np.zeros(0), q, x[1], x[2]))
print(KNOWN, LANES, *map(float.hex, [*out[0].tolist(), *tangent[:, tangent.any(axis=0)].ravel().tolist()]))
"""


def forces(**environment):
    """Whether femb knows the version of numba, the number of lanes, and the forces and tangents, in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", FORCES], env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    known, count, *numbers = done.stdout.split()
    return known == "True", int(count), [float.fromhex(number) for number in numbers]


def test_kernels_compute_several_elements_at_once():
    assert lanes.LANES == 4


def test_a_numba_that_is_not_known_is_not_extended(monkeypatch):
    monkeypatch.setattr(lanes, "KNOWN", False)
    assert lanes._extension() is None


def test_an_extension_that_raises_is_done_without(monkeypatch):
    monkeypatch.setitem(sys.modules, "femb.numerics.compiler.lane_types", None)
    assert lanes._extension() is None


HIDE = "sys.modules['femb.numerics.compiler.{}'] = None\n"

# One kernel of lanes, of arithmetic and choices, and of a traced function with its change, on eight elements in groups.
SMALL = """
import sys
import numpy as np
HIDDEN
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.kernel_compiler import KNOWN
from femb.numerics.compiler.lanes import LANES, choose, lanes
from femb.numerics.compiler.traced import change, dual, put, reader, traced

row = reader(2)

@traced
def square(x):
    return x * x[0]

@inlined
def formula(x):
    return choose(x > 0.0, x * x + 2.0, 1.0 - x / 3.0)

@kernel
def each(x, out):
    group = np.empty((3, 2, LANES))
    values = lanes(group)
    for k in range(len(x)):
        group[0], group[1] = x[k], 0.5
        values[2, 0] = formula(values[0, 0])
        out[k, 0] = group[2, 0]
        put(change(square(dual(row(values[0]), row(values[1])))), values[2])
        out[k, 1] = group[2, 1]

x = np.linspace(-2.0, 2.0, 8).reshape(-1, LANES)
out = np.zeros((len(x), 2, LANES))
each(x, out)
out = out.swapaxes(0, 1)
print(KNOWN, LANES, *map(float.hex, out.ravel().tolist()))
"""


@pytest.mark.parametrize(
    ("hidden", "environment", "wanted"),
    [
        slow(("", {"FEMB_PLAIN_NUMBA": "1"}, (False, 1))),
        ("", {"NUMBA_DISABLE_JIT": "1"}, (True, 1)),
        slow((HIDE.format("lane_types"), {}, (True, 1))),
        slow((HIDE.format("lean_lowering"), {}, (True, 4))),
        slow((HIDE.format("lane_types") + HIDE.format("lean_lowering"), {}, (True, 1))),
    ],
    ids=["plain numba", "Python", "one lane", "numba's lowering", "one lane and numba's lowering"],
)
def test_a_small_kernel_computes_the_same_without_extensions(tmp_path, hidden, environment, wanted):
    """Quickly, what the next test does with the kernels of a beam; to the last bit, against numpy."""
    (tmp_path / "small.py").write_text(SMALL.replace("HIDDEN", hidden))
    done = subprocess.run(
        [sys.executable, tmp_path / "small.py"],
        env={**os.environ, **environment, "FEMB_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    compiled = set() if "NUMBA_DISABLE_JIT" in environment else {"__main__.each", "__main__.formula"}
    assert {path.name.split("-")[0] for path in tmp_path.rglob("*.nbc")} == compiled
    known, count, *numbers = done.stdout.split()
    assert (known == "True", int(count)) == wanted
    x = np.linspace(-2.0, 2.0, 8)
    wanted = [*np.where(x > 0.0, x * x + 2.0, 1.0 - x / 3.0), *x]
    np.testing.assert_array_equal([float.fromhex(number) for number in numbers], wanted)


@pytest.mark.slow
def test_one_lane_computes_the_same():
    """The kernels of a beam with a version of numba that is not known; the test before has the other reason."""
    known, count, several = forces()
    assert (known, count) == (True, 4)
    assert np.all(several)
    plain = forces(FEMB_PLAIN_NUMBA="1")
    assert plain[:2] == (False, 1)
    np.testing.assert_allclose(plain[2], several, rtol=1e-13)


def test_equal_rows_are_stored_once_and_all_are_found_again():
    numbers = np.arange(3.0)[:, None, None] * np.ones((2, 5))
    rows = numbers[[0, 0, 0, 1, 2, 2, 0]]
    shared = SharedRows(rows)
    np.testing.assert_array_equal(shared.all(), rows)
    shared.all()[:] = 7.0
    np.testing.assert_array_equal(shared.all(), rows, "what is returned is a copy")
    assert len(pickle.dumps(shared)) < len(pickle.dumps(SharedRows(np.arange(70.0).reshape(rows.shape))))
