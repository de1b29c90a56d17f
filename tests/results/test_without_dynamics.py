"""Results are read without the equations: neither numba nor the descriptions of items are imported for them."""

import subprocess
import sys

import numpy as np
import pytest

import femb
from femb.base.lazy import public_names
from femb.elements.registry import of_table, results_of, tables
from femb.results.groups import joined

READ = """
import sys, time
import h5py, numpy
start = time.process_time()
import femb
position = femb.Results.read(sys.argv[1]).bodies["hub"].position
print(time.process_time() - start, position[-1, 0])
print(*(name for name in sys.modules if name.startswith(("femb.", "numba", "scipy"))))
"""
# s of CPU beside numpy and h5py, of a machine that is busy: twice what it takes alone.
AT_MOST = 0.4


def test_positions_are_read_without_equations(tmp_path):
    time, file = np.linspace(0.0, 1.0, 5), tmp_path / "results.h5"
    series = {"time": time, "bodies/hub/position": np.outer(time, [1.0, 2.0, 3.0])}
    series |= {"loads/push/force": np.ones((5, 3)), "springs/k/force": time, "joints/j/force": np.ones((5, 3))}
    femb.Results(series).write(file)
    found = subprocess.run([sys.executable, "-c", READ, file], capture_output=True, text=True, check=True)
    first, second = found.stdout.splitlines()
    cpu, position = map(float, first.split())
    assert position == 1.0
    assert cpu < AT_MOST
    modules = set(second.split())
    assert "femb.elements.body.results" in modules
    equations = {"femb.elements.item", "femb.layout", "femb.system", "femb.model", "femb.numerics.compiler"}
    equations |= {"femb.base.checks", "femb.base.meanings"}  # of descriptions
    assert not {name for name in modules if name.startswith(("numba", "scipy", *equations))}


@pytest.mark.parametrize("table", tables())
def test_the_catalogue_of_quantities_has_those_that_items_declare(table):
    by_items = joined(tuple(kind.results for kind in of_table(table)))
    found = joined(results_of(table))
    assert found.quantities() == by_items.quantities()
    assert (found.word, found.shown) == (by_items.word, by_items.shown)


def test_every_line_is_of_a_table():
    assert {line.remark for line in public_names("femb.elements.quantities")[0].values()} < set(tables())
