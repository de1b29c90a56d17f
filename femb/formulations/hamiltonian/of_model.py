"""From a Model: its tree of segments, and small motions of some joint coordinates beside large motions of the others.

Coordinates are named 'joint.coordinate', as 'yoke.angle' or 'flap.second_angle'; those of a ball joint are
'joint.turn_x', 'joint.turn_y' and 'joint.turn_z'. Source: docs/theory/hamiltonian.md, sections 8 and 11.
"""

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements import Ground, JointDriver, Latch, PointMass, RigidBody, Section
from femb.elements.joint.joint import Joint
from femb.formulations.hamiltonian.form import HamiltonianForm
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.formulations.hamiltonian.small import SmallMotion, linearise
from femb.formulations.hamiltonian.tree import Tree
from femb.model.model import Model
from femb.system.system import System

# What the equations of a tree on the ground hold, beside linear springs and dashpots of joints.
KNOWN = (RigidBody, PointMass, Ground, Section, Joint, JointDriver, Latch)


def tree_of(model: Model) -> Tree:
    """The tree of a Model's rigid bodies and joints, with its weight and the linear springs and dashpots of joints.

    Loads and other springs are left out. Raises ModelError with every problem of the model, and for what is no tree
    of rigid bodies.
    """
    return MomentumForm(System(model)).tree


def small_motion(
    model: Model,
    small: Sequence[str],
    q: ArrayLike | Mapping[str, float] | None = None,
    rate: ArrayLike | Mapping[str, float] | None = None,
) -> SmallMotion:
    """Equations of small motion of some joint coordinates while the others are at q and move at constant rates.

    q, rate : numbers by name, others as at the model's start; or arrays (n,). Terms of second order that large motions
    bring into the equations, such as the stiffness of rotation, are kept: equations (19) and (20).

    Raises ModelError: as ``tree_of``; a free base; a load or a spring that is not linear in one joint coordinate, since
    its derivatives are not known here.
    """
    form = MomentumForm(System(model))
    native = set(map(id, form.map.native))
    for item in model.items():
        if not isinstance(item, KNOWN) and id(item) not in native:
            raise ModelError.at(
                (item.table, item.name),
                "partial linearisation knows weight and linear springs of joints only; leave it out, or use another "
                "linearisation",
            )
    tree, start = form.tree, form.equations.motion(form.q0, form.v0)
    return linearise(HamiltonianForm(tree), small, completed(tree, q, start.q), completed(tree, rate, start.rate))


def completed(tree: Tree, values: ArrayLike | Mapping[str, float] | None, start: Floats) -> Floats:
    """(n,) of an array, of numbers by name with the others as at the start, or of None."""
    if isinstance(values, Mapping):
        values = {**dict(zip(tree.names, start.tolist(), strict=True)), **values}
    return start if values is None else tree.array(values)
