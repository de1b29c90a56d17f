"""Models at random: trees of rigid bodies by joints of the catalogue, on the ground or free, and states of them."""

from typing import Any

import numpy as np

import femb
from femb.numerics import kinematics

KINDS: tuple[Any, ...] = (
    femb.Revolute, femb.Universal, femb.Spherical, femb.Prismatic, femb.Cylindrical, femb.Planar, femb.Fixed,
    femb.PointOnLine, femb.PointOnPlane, femb.Parallel, femb.Perpendicular,
)  # fmt: skip


def random_inertia(rng):
    """Of six points at random."""
    x, m = 0.3 * rng.standard_normal((6, 3)), rng.uniform(0.1, 1.0, 6)
    return np.einsum("k,kij->ij", m, np.einsum("k,ij->kij", (x * x).sum(1), np.eye(3)) - x[:, :, None] * x[:, None, :])


def random_model(rng, bodies, kinds=KINDS, ground=True, moving=False):
    """Bodies on random others by random joints, whose first end is the parent or the child; the first body is on the
    ground, or free. Bodies are listed in any order.

    moving : without gravity, all joints that have coordinates at random rates, and the first body moving.
    """
    model = femb.Model("tree", gravity=(0.0, 0.0, 0.0) if moving else tuple(3.0 * rng.standard_normal(3)))
    order = rng.permutation(bodies)
    for k in sorted(order):
        center = tuple(0.3 * rng.standard_normal(3))
        more = {}
        if moving and k == order[0] and not ground:
            more = {"velocity": rng.standard_normal(3), "angular_velocity": rng.standard_normal(3)}
        values = {"mass": rng.uniform(0.5, 2.0), "inertia": random_inertia(rng), "center_of_mass": center}
        model.add(femb.RigidBody(f"b{k}", **values, **more))
    if ground:
        model.add(femb.Ground())
    names = [f"b{k}" for k in order]
    for k in range(0 if ground else 1, bodies):
        parents = names[:k] + (["ground"] if ground else [])
        parent = parents[rng.integers(len(parents))]
        ends = [
            femb.JointEnd(name, at=0.5 * rng.standard_normal(3), axis=rng.standard_normal(3))
            for name in (parent, names[k])
        ]
        if rng.random() < 0.5:
            ends.reverse()
        kind = kinds[rng.integers(len(kinds))]
        more = {"angle": 0.9} if kind is femb.Perpendicular and rng.random() < 0.5 else {}
        if moving and kind.coordinates:
            more["rates"] = rng.standard_normal(len(kind.coordinates))
        model.add(kind(f"j{k}", *ends, **more))
    return model


def random_state(tree, rng, size=1.0):
    """Coordinates (n_q,) and speeds (n_u,) of a joint tree, away from its start."""
    q = tree.coordinates_at(tree.system.q0) + rng.standard_normal(tree.n_q)
    kinematics.normalise(tree.coordinates[2], q)
    return q, size * rng.standard_normal(tree.n_u)
