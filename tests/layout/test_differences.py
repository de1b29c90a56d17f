"""Tangents by differences are the formulas of elements that give some."""

import numpy as np

from femb import Model, ReactionWheel, RigidBody
from femb.elements.wheel.batch import WheelBatch
from femb.layout.differences import tangent_by_differences
from femb.layout.evaluation import Evaluation
from femb.system.system import System


def test_differences_are_the_formulas_of_wheels_that_share_a_body():
    """Rotors with imbalance and friction on one body that moves, two of them at one place far from the origin."""
    model = Model("wheels", gravity=(0.3, -0.2, 9.0))
    model.add(RigidBody("hub", 10.0, (2.0, 3.0, 2.5), position=(4e6, -5e6, 1e6)))
    for name, axis in (("w1", (0.0, 0.6, 0.8)), ("w2", (1.0, 0.0, 0.0))):
        model.add(
            ReactionWheel(
                name, "hub", axis=axis, spin_inertia=0.1, static_imbalance=1e-2, dynamic_imbalance=2e-2,
                viscous=0.03, speed=20.0, at=(0.2, -0.1, 0.3),
            )
        )  # fmt: skip
    system, rng = System(model), np.random.default_rng(1)
    (wheels,) = (each for each in system.batches if isinstance(each, WheelBatch))
    q, v, a = system.q0.copy(), *rng.standard_normal((2, system.n_v))
    q[3:7], q[7:] = rng.standard_normal(4), rng.standard_normal(system.n_q - 7)
    system.normalise(q)
    u = system.inputs_at(0.0, q, v)

    def matrices(batch):
        damping, stiffness = np.zeros((2, 1, system.pattern.size))
        Evaluation([batch], system.pattern).add_tangents(u[None], q[None], v[None], a[None], damping, stiffness)
        return damping[0], stiffness[0]

    class Differenced(type(wheels)):
        def tangents(self):
            return [tangent_by_differences(wheels, wheels.starts, (6, 1), system.layout)]

    other = object.__new__(Differenced)
    other.__dict__.update(wheels.__dict__)
    for found, wanted in zip(matrices(other), matrices(wheels), strict=True):
        assert np.count_nonzero(wanted) >= 20
        np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())
