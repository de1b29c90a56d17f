"""From a Model: small motions of some joint coordinates beside large motions of the others.

Coordinates are named 'joint.coordinate', as 'yoke.angle' or 'flap.second_angle'; those of a ball joint are
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

# What the equations of a tree on the ground hold, beside linear springs and dashpots of joints.
KNOWN = (RigidBody, PointMass, Ground, Section, Joint, JointDriver, Latch)


def small_motion(
    model: Model,
    small: Sequence[str],
    q: ArrayLike | Mapping[str, float] | None = None,
    rate: ArrayLike | Mapping[str, float] | None = None,
) -> SmallMotion:
    """Equations of small motion of some joint coordinates while the others are at q and move at constant rates.

    q, rate : numbers by name, others as at the model's start; or arrays (n,). Terms of second order that large motions
    bring into the equations, such as the stiffness of rotation, are kept: equations (19) and (20).

    Springs of joints with a law of their own (``JointSpringDamper.force``) take part by the derivatives it returns.

    Raises ModelError with every problem of the model: what is no tree of rigid bodies; a free base; a load or another
    spring, or a law without derivatives.
    """
    form = MomentumForm(System(model))
    laws: list[tuple[int, Law]] = []
    for item in model.items():
        if isinstance(item, JointSpringDamper):
            laws += _laws(form, item)
        elif not isinstance(item, KNOWN):
            raise ModelError.at(
                (item.table, item.name),
                "partial linearisation knows weight and linear springs of joints only; leave it out, or use another "
                "linearisation",
            )
    tree, start = form.tree, form.momentum_equations.motion(form.q0, form.v0)
    return linearise(tree, small, completed(tree, q, start.q), completed(tree, rate, start.rate), laws)


def _laws(form: MomentumForm, item: JointSpringDamper) -> list[tuple[int, Law]]:
    """The hinge of a spring with a law of its own, and what resists there; none for one that the tree has."""
    given = item.force
    if given is None:
        return []

    def law(coordinate: float, rate: float) -> tuple[float, float, float]:
        value = given(coordinate, rate)
        if np.shape(value) != (3,):
            raise ModelError.at(
                (item.table, item.name, "force"),
                f"got {shown(value)}, but partial linearisation needs (force, by coordinate, by rate): return the two "
                "derivatives as well",
            )
        force, by_coordinate, by_rate = (float(each) for each in value)
        moved = item.stiffness * (coordinate - item.free) + item.damping * rate
        return force + moved, by_coordinate + item.stiffness, by_rate + item.damping

    return [(int(form.map.hinge_of[item.coordinate_number(form.layout)]), law)]


def completed(tree: Tree, values: ArrayLike | Mapping[str, float] | None, start: Floats) -> Floats:
    """(n,) of an array, of numbers by name with the others as at the start, or of None."""
    if isinstance(values, Mapping):
        values = {**dict(zip(tree.names, start.tolist(), strict=True)), **values}
    return start if values is None else tree.array(values)
