"""Tangents by finite differences of the residual, and states to take them at."""

import numpy as np
from models import of_parts

from femb import PointMass, RigidBody
from femb.elements.joint.constraint_set import ConstraintSet, ConstraintTable
from femb.system.budget import Budget
from femb.system.system import System

INERTIA = np.array([[2.0, 0.2, -0.1], [0.2, 1.5, 0.3], [-0.1, 0.3, 1.8]])


def bodies(*items):
    """Two bodies in different poses and a free point mass, with items."""
    return of_parts(
        RigidBody("a", mass=1.0, inertia=INERTIA, euler_angles=(-0.5, 0.8, 0.4)),
        RigidBody("b", mass=1.3, inertia=INERTIA, position=(1, 2, 0.5), euler_angles=(0.3, 0.4, -0.7)),
        PointMass("p", mass=0.3, position=(2.0, 1.0, 1.0)),
        *items,
    )


def only(model, *kinds):
    """A system of which only batches of some kinds are left, without constraints."""
    system = System(model)
    system.constraint_set = ConstraintSet(system.layout, ConstraintTable.empty())
    system.evaluation = system.evaluation.of(batch for batch in system.batches if isinstance(batch, kinds))
    *_, last = model.items()  # one account for all of a batch
    system.budget = Budget([(batch, [last]) for batch in system.batches], system.layout, False)
    return system


def random_state(system, rng):
    """q, v, a and u."""
    q = rng.standard_normal(system.n_q)
    system.normalise(q)
    return q, *rng.standard_normal((2, system.n_v)), rng.standard_normal(system.n_u)


def slope(function, h=1e-3):
    """Derivative at zero, of order 6 in h."""
    at = [function(k * h) - function(-k * h) for k in (1, 2, 3)]
    return (45.0 * at[0] - 9.0 * at[1] + at[2]) / (60.0 * h)


def residual_change(system, q, v, a, u, dx, dv, h=1e-3):
    """Change of the residual (n_v,) along H dx in q and dv in v, inputs held; of order 6 in h."""

    def at(e):
        moved = q + e * system.rates(q[None], dx[None])[0]
        return system.residual(u[None], moved[None], (v + e * dv)[None], a[None])[0]

    return slope(at, h)


def tangent_error(system, seed=0, states=4):
    """Largest error of the tangents along random changes, relative to the change; both tangents are alike."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(states):
        q, v, a, u = random_state(system, rng)
        _, *iteration = system.matrices(u, q, v)
        exact = system.tangent(u, q, v, a)
        for one, other in zip(iteration, exact, strict=True):
            np.testing.assert_array_equal(one, other)
        damping, stiffness = (system.pattern.to_csc(data).toarray() for data in exact)
        for dx, dv in rng.standard_normal((2, 2, system.n_v)):
            wanted = residual_change(system, q, v, a, u, dx, dv)
            worst = max(worst, np.abs(stiffness @ dx + damping @ dv - wanted).max() / np.abs(wanted).max())
    return worst
