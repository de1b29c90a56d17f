"""Equations of a Model for small motions of some joint coordinates during large motions of the others.

Coordinates are named 'joint.coordinate', such as 'yoke.angle' or 'flap.second_angle'; those of a ball joint are
'joint.turn_x', 'joint.turn_y' and 'joint.turn_z'. Source: docs/theory/hamiltonian.md, sections 8 and 11.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import shown
from femb.elements import Ground, JointDriver, JointSpringDamper, Latch, PointMass, RigidBody, Section
from femb.elements.joint.joint import Joint
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.formulations.hamiltonian.small import Law, SmallMotion, linearise
from femb.formulations.hamiltonian.tree import Tree
from femb.model.model import Model
from femb.system.system import System

# The items that partial linearisation supports, besides springs and dashpots of joints.
LINEARISABLE = (RigidBody, PointMass, Ground, Section, Joint, JointDriver, Latch)


def small_motion(
    model: Model,
    small: Sequence[str],
    q: ArrayLike | Mapping[str, float] | None = None,
    rate: ArrayLike | Mapping[str, float] | None = None,
) -> SmallMotion:
    """Equations of small motion of some joint coordinates while the others are at q and move at constant rates.

    q, rate : values by name, others as at the model's start; or arrays (n,). Second-order terms that large motions
    cause in the equations, such as centrifugal stiffness, are included: equations (19) and (20). The derivatives that a
    user's law of a spring (``JointSpringDamper.force``) returns are included.

    Raises ModelError for a model that is not a tree of rigid bodies on the ground, for loads and other springs, and for
    a law without derivatives.
    """
    form = MomentumForm(System(model))
    laws: list[tuple[int, Law]] = []
    for item in model.items():
        if isinstance(item, JointSpringDamper):
            laws += _laws(form, item)
        elif not isinstance(item, LINEARISABLE):
            raise ModelError.at(
                (item.table, item.name),
                "partial linearisation knows weight and linear springs of joints only; leave it out, or use another "
                "linearisation",
            )
    tree, start = form.tree, form.momentum_equations.motion(form.q0, form.v0)
    return linearise(tree, small, completed(tree, q, start.q), completed(tree, rate, start.rate), laws)


def _laws(form: MomentumForm, item: JointSpringDamper) -> list[tuple[int, Law]]:
    """The hinge and the law of a spring with a user's law; empty for a linear spring, which the tree includes."""
    user_law = item.force
    if user_law is None:
        return []

    def law(coordinate: float, rate: float) -> tuple[float, float, float]:
        value = user_law(coordinate, rate)
        if np.shape(value) != (3,):
            raise ModelError.at(
                (item.table, item.name, "force"),
                f"got {shown(value)}, but partial linearisation needs (force, by coordinate, by rate): return the two "
                "derivatives as well",
            )
        force, by_coordinate, by_rate = (float(number) for number in value)
        linear = item.stiffness * (coordinate - item.free) + item.damping * rate
        return force + linear, by_coordinate + item.stiffness, by_rate + item.damping

    return [(int(form.map.hinge_of[item.coordinate_number(form.layout)]), law)]


def completed(tree: Tree, values: ArrayLike | Mapping[str, float] | None, start: Floats) -> Floats:
    """Coordinates (n,) from an array, from values by name with others as in ``start``, or ``start`` for None."""
    if isinstance(values, Mapping):
        values = {**dict(zip(tree.names, start.tolist(), strict=True)), **values}
    return start if values is None else tree.array(values)
