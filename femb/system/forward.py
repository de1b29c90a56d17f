"""Accelerations and multipliers that follow from the forces, at many states at once."""

from collections.abc import Sequence

import numpy as np

from femb.base.types import Floats
from femb.system.motion_equations import MotionEquations
from femb.system.stacked import Space, mass_factors, portions, products


def forward_each(system: MotionEquations, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
    """v' (k, n_v) and multipliers (k, n_c) of k states; see ``MotionEquations.forward``. Raises TrialError."""
    space = Space()
    found = [_forward(system, u[some], q[some], v[some], space)[:2] for some in portions(system, len(q))]
    a, multipliers = _joined(found)
    return a, multipliers


def forward_balance(
    system: MotionEquations, u: Floats, q: Floats, v: Floats, a: Floats
) -> tuple[Floats, Floats, Floats]:
    """Solve as ``forward_each``; and the residual forces (k, n_v) of the ``equations`` with these multipliers and other
    accelerations a (k, n_v). The forces are evaluated once."""
    found, space = [], Space()
    for some in portions(system, len(q)):
        rates, multipliers, force, data = _forward(system, u[some], q[some], v[some], space)
        force += products(system.solver, data, np.hstack([a[some], multipliers]))[:, : system.n_v]
        found.append((rates, multipliers, force))
    rates, multipliers, force = _joined(found)
    return rates, multipliers, force


def by_moments(system: MotionEquations, u: Floats, q: Floats, v: Floats, turns: slice) -> tuple[Floats, Floats]:
    """Changes of v' (3, n_v) and of the multipliers (3, n_c) by moments of one along the three velocities ``turns``."""
    space, (u, q, v) = Space(), (np.tile(each, (3, 1)) for each in (u, q, v))
    x, data = np.zeros((3, system.pattern.n)), space.zeros("mass", 3, system.pattern.size)
    x[:, turns] = np.eye(3)
    system.evaluation.add_masses(q, data)
    if system.n_c:
        system.constraints(u, q, v, data)
    mass_factors(system, u, q, v, data, space).solve(x)
    return x[:, : system.n_v], x[:, system.n_v :]


def _joined(found: Sequence[tuple[Floats, ...]]) -> tuple[Floats, ...]:
    return found[0] if len(found) == 1 else tuple(np.concatenate(arrays) for arrays in zip(*found, strict=True))


def _forward(
    system: MotionEquations, u: Floats, q: Floats, v: Floats, space: Space
) -> tuple[Floats, Floats, Floats, Floats]:
    """v', multipliers, the forces (k, n_v) without accelerations, and block data of M, J and J^T, in the ``space``."""
    x, data = np.zeros((len(q), system.pattern.n)), space.zeros("mass", len(q), system.pattern.size)
    force = system.residual(u, q, v, np.zeros(v.shape))
    x[:, : system.n_v] = -force
    system.evaluation.add_masses(q, data)
    if system.n_c:
        x[:, system.n_v :] = system.constraints(u, q, v, data)[1]
    mass_factors(system, u, q, v, data, space).solve(x)
    # both parts as the arrays of one state are, for which kernels are compiled already
    a, multipliers = (np.ascontiguousarray(part) for part in (x[:, : system.n_v], x[:, system.n_v :]))
    return a, multipliers, force, data
