"""Forces that a recursion over a tree evaluates itself, linear springs and dashpots of joints, and all others."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.body.mass_batch import MassBatch
from femb.elements.joint.force_batch import JointForceBatch
from femb.elements.joint.spring import JointSpringDamper
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.system.system import System


def linear_springs(system: System) -> list[JointSpringDamper]:
    """The springs and dashpots of joints without a user's law."""
    items = [item for batch in system.batches if isinstance(batch, JointForceBatch) for item in batch.items]
    return [item for item in items if isinstance(item, JointSpringDamper) and item.force is None]


def spring_columns(
    layout: Layout, springs: Sequence[JointSpringDamper], hinge_of: Ints, n: int
) -> tuple[Floats, Floats, Floats]:
    """Stiffness, damping and rest (n,) of n hinges: parallel springs add up. hinge_of (m,) : of joint coordinates."""
    stiffness, damping, moment = np.zeros((3, n))
    for item in springs:
        k = hinge_of[item.coordinate_number(layout)]
        stiffness[k] += item.stiffness
        damping[k] += item.damping
        moment[k] += item.stiffness * item.free
    return stiffness, damping, np.divide(moment, stiffness, out=np.zeros(n), where=stiffness > 0.0)


def other_batches(system: System, springs: Sequence[JointSpringDamper]) -> list[Batch]:
    """The batches of a System without the masses of rigid bodies and without ``springs``."""
    left_out = set(map(id, springs))
    others = [_without(batch, left_out) for batch in system.batches if not isinstance(batch, MassBatch)]
    return [batch for batch in others if batch is not None]


def _without(batch: Any, springs: set[int]) -> Batch | None:
    """The batch without some items; None if no item remains."""
    if not isinstance(batch, JointForceBatch):
        result: Batch = batch
        return result
    taken = np.array([id(item) in springs for item in batch.items])
    if taken.all():
        return None
    other = copy(batch)
    other.data = np.where(taken[:, None], 0.0, batch.data)
    return other


def does_work(batch: Batch) -> bool:
    """Whether a batch may have power: false if it consists of springs only."""
    if isinstance(batch, JointForceBatch):
        return any(getattr(item, "damping", 1.0) or getattr(item, "force", None) for item in batch.items)
    return type(batch).nonconservative_force is not Batch.nonconservative_force
