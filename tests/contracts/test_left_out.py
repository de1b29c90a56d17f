"""No analysis leaves a force out without a word: the tangents of each, over the catalogue, and the residual's changes.

At rest, with users' functions of the state as they are at each state, the changes of the residual are those of modes,
of linear models, and of what truncations project.
"""

import numpy as np
import pytest
from contracts.test_items import EXAMPLES, every_kind
from models import of_parts
from oracles.finite_differences import slope

import femb
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.point import OperatingPoint, with_differences
from femb.system.system import System

K = np.array([[2e3, 300.0, 0.0], [-300.0, 1e3, 50.0], [0.0, 20.0, 500.0]])
C = np.array([[-5.0, 1.0, 0.0], [0.0, 2.0, 0.3], [0.1, 0.0, 4.0]])


def change(system, q, v, a, multipliers, dx, dv):
    """Of the residual with reactions, its functions of the state included, along H dx and dv, of order 6."""

    def at(e):
        moved, speed = q + e * system.rates(q[None], dx[None])[0], v + e * dv
        force = system.residual(system.inputs_at(0.0, moved, speed)[None], moved[None], speed[None], a[None])
        system.constraint_set.constraint_force(
            system.inputs_at(0.0, moved, speed)[None], moved[None], speed[None], multipliers[None], force,
            np.zeros((1, system.n_c)),
        )  # fmt: skip
        return force[0]

    return slope(at)


def compared(found, wanted, tolerance=1e-7):
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=tolerance * (1.0 + np.max(np.abs(wanted), initial=0.0)))


def problem(model):
    """Small motions about the start at rest with loads, in a layout whose ground moves."""
    system = System(model, assemble=True)
    return EigenProblem.of(system.starting_at(system.q0, at_rest(system)), True, states=True)


def at_rest(system):
    """Velocities (n_v,) of states of the first order alone."""
    v = np.zeros(system.n_v)
    v[system.layout.first_order_v] = system.v0[system.layout.first_order_v]
    return v


@every_kind
def test_modes_have_every_force(kind):
    motion = problem(EXAMPLES[kind]())
    rng, system = np.random.default_rng(7), motion.system
    low = motion.low_rank
    for dx, dv in rng.standard_normal((2, 2, system.n_v)):
        dx[system.layout.first_order_v] = 0.0
        wanted = change(system, motion.q, motion.v, motion.a, motion.multipliers, dx, dv)
        found = motion.times(motion.stiffness, dx) + motion.damping_times(dv) + low.left @ (low.stiffness.T @ dx)
        compared(found, wanted)
        exact = motion.exact_stiffness(dx) + motion.exact_damping(dv) + low.left @ (low.stiffness.T @ dx)
        compared(np.where(motion.held, 0.0, exact), np.where(motion.held, 0.0, wanted), 1e-6)
