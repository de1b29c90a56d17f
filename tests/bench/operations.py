"""The operations of kernels, counted: ``python operations.py`` prints them, in a process without compilation.

``python operations.py 8`` takes a chain of eight elements in place of a hundred.

The kernels run as Python (NUMBA_DISABLE_JIT) on arrays of numbers that count additions, multiplications, divisions and
functions. See ``bench_bound.py``.
"""

import json
import math
import os
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from femb import ExactBeam, Run, Tolerances
from femb.system.system import System

COARSE = Tolerances(1e-4, 1e-3, 1e-5)


def problems(elements: int = 100) -> dict[str, tuple[System, Run]]:
    """Systems and runs without output."""
    from bench_models import chain

    from tests.bench.p1_satellite import model

    return {
        "satellite, N = 2": (System(model(2)), Run(duration=1.0, rtol=1e-5)),
        f"chain of {elements} elements": (
            System(chain(elements, ExactBeam)),
            Run(duration=0.05, rtol=1e-3, atol=COARSE),
        ),
    }


def modules() -> list[Any]:
    return [module for name, module in list(sys.modules.items()) if name.startswith("femb")]


class Number(float):
    """A number that counts what is done with it."""

    done = 0


def _counting(name: str) -> Any:
    plain = getattr(float, name)

    def operation(self: Number, *other: Any) -> Any:
        Number.done += 1
        result = plain(self, *other)
        return result if result is NotImplemented else Number(result)

    return operation


for _word in ("add", "sub", "mul", "truediv"):
    setattr(Number, f"__{_word}__", _counting(f"__{_word}__"))
    setattr(Number, f"__r{_word}__", _counting(f"__r{_word}__"))


class _Numpy:
    """numpy whose new arrays keep objects."""

    def __getattr__(self, name: str) -> Any:
        if name in ("empty", "zeros"):
            return lambda shape, dtype=object: np.zeros(shape, dtype=dtype)
        return getattr(np, name)


def _function(name: str) -> Any:
    def counted(*args: Any) -> Number:
        Number.done += 1
        return Number(getattr(math, name)(*args))

    return counted


def counted(kernel: Any, args: list[Any]) -> int:
    """Operations of one call of an uncompiled kernel."""
    replaced = [
        (module, name, vars(module)[name]) for module in modules() for name in ("np", "math") if name in vars(module)
    ]
    words = {
        "np": _Numpy(),
        "math": SimpleNamespace(**{name: _function(name) for name in ("sqrt", "atan2", "sin", "cos")}),
    }
    turned = np.frompyfunc(Number, 1, 1)
    own = [
        turned(each) if isinstance(each, np.ndarray) and each.dtype == float and each.size else each for each in args
    ]
    for module, name, _ in replaced:
        setattr(module, name, words[name])
    try:
        Number.done = 0
        kernel(*own)
    finally:
        for module, name, value in replaced:
            setattr(module, name, value)
    return Number.done


def count_all(elements: int) -> dict[str, dict[str, int]]:
    """Operations of the real kernels at one state, in a process without compilation."""
    from femb.elements.exact.batch import ExactBatch
    from femb.numerics.block_kernels import factor, solve
    from femb.numerics.element_ranges import NO_ROWS

    result = {}
    for name, (system, _) in problems(elements).items():
        u, q, v = system.inputs_at(0.0, system.q0, system.v0), system.q0, system.v0
        batch: Any = next(each for each in system.batches if isinstance(each, ExactBatch))
        one, out = (u[None], q[None], v[None], v[None]), np.zeros((1, system.n_v))
        (force,), (mass,), step = batch.forces(), batch.masses(), batch.tangents()[0]
        blocks, data = system.pattern.offsets(batch.starts), [np.zeros((1, system.pattern.size)) for _ in range(3)]
        counts = {
            "forces": counted(force.kernel, [*force.kept, *one, np.ones(len(force.parts)), out, NO_ROWS]),
            "tangents": counted(mass.kernel, [*mass.kept, *blocks, one[1], data[0]])
            + counted(step.kernel, [*step.kept, *blocks, *one, *data[1:]]),
        }
        solver = system.solver
        matrix = solver.shifted(*system.matrices(u, q, v), 1e3)
        factors = solver.factorise(matrix.copy())
        pivots, rank = factors.pivots, factors.rank
        counts["factor"] = counted(
            factor, [solver.structure, solver.targets, matrix.copy(), pivots, rank, np.zeros(0), 1e-10]
        )
        counts["solve"] = counted(solve, [solver.structure, factors.data, pivots, rank, np.ones(system.n_v)])
        result[name] = counts
    return result


if __name__ == "__main__":
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    print(json.dumps(count_all(int((sys.argv[1:] or [100])[0]))))
