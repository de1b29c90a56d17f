"""The energy matrix of a Model, and its equations for small motions of some joint coordinates during large motions of
the others.

Coordinates are named 'joint.coordinate', such as 'yoke.angle' or 'flap.second_angle'; those of a ball joint are
'joint.turn_x', 'joint.turn_y' and 'joint.turn_z'. Source: docs/theory/hamiltonian.md, sections 4, 8 and 11.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.brief import Brief
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import given_numbers, shown
from femb.elements import Ground, JointDriver, JointSpringDamper, Latch, PointMass, RigidBody, Section
from femb.elements.joint.joint import Joint
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.formulations.hamiltonian.small import Law, SmallMotion, expanded_energy_matrix, linearise
from femb.formulations.hamiltonian.tree import Tree
from femb.model.model import Model
from femb.system.system import System

BASE = tuple(f"{word}_{axis}" for word in ("turn", "velocity") for axis in "xyz")
# The items that partial linearisation supports, besides springs and dashpots of joints.
LINEARISABLE = (RigidBody, PointMass, Ground, Section, Joint, JointDriver, Latch)


@dataclass(frozen=True, eq=False)
class EnergyMatrix(Brief):
    """T = 1/2 q'^T A q': the matrix A (N, N) at the joint coordinates q (n,), and names (N,) of the rates q'.

    matrix (N, N) : in kg, kg m and kg m2.

    Rates are those of joint coordinates, 'joint.angle'. For a free base six precede them: its angular velocity (rad/s)
    and the velocity of its origin (m/s), inertial axes. Momenta are A q'.
    """

    names: tuple[str, ...]
    matrix: Floats
    q: Floats

    def momenta(self, rates: ArrayLike) -> Floats:
        """p (N,) = A q' of rates (N,)."""
        return self.matrix @ given_numbers(rates, len(self.names), "energy matrix: rates")

    def kinetic_energy(self, rates: ArrayLike) -> float:
        """J, of rates (N,)."""
        p = self.momenta(rates)
        return float(0.5 * np.asarray(rates) @ p)


def energy_matrix(
    model: Model, q: ArrayLike | Mapping[str, float] | None = None, *, small: Sequence[str] = ()
) -> EnergyMatrix:
    """The energy matrix of a ``model``, a tree of rigid bodies, at joint coordinates q, by equation (7).

    q : values by name, others as at the model's start, or an array (n,), rad or m. small : names of small coordinates:
    A is expanded to the orders needed for equations linear in them; only for a tree on the ground.

    Raises ModelError for beams, closed loops, several trees, an unknown coordinate, small coordinates on a free base.
    """
    form = MomentumForm(System(model))
    tree = form.tree
    start = form.momentum_equations.motion(form.q0, form.v0).q
    at = completed(tree, q, start)
    names = tuple(tree.names)
    if small:
        return EnergyMatrix(names, expanded_energy_matrix(tree, at, small), at)
    pose = form.q0.copy()
    pose[form.momentum_equations.first :] = at
    A = form.momentum_equations.moving(pose, np.zeros(tree.n), np.zeros(6)).energy_matrix
    if tree.base is None:
        return EnergyMatrix(names, A[6:, 6:], at)
    return EnergyMatrix((*(f"{tree.base.name}.{word}" for word in BASE), *names), A, at)


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
            if item.force is not None:
                laws.append((int(form.map.hinge_of[item.coordinate_number(form.layout)]), _law(item, item.force)))
        elif not isinstance(item, LINEARISABLE):
            raise ModelError.at(
                (item.table, item.name),
                "partial linearisation knows weight and linear springs of joints only; leave it out, or use another "
                "linearisation",
            )
    tree, start = form.tree, form.momentum_equations.motion(form.q0, form.v0)
    return linearise(tree, small, completed(tree, q, start.q), completed(tree, rate, start.rate), laws)


def _law(item: JointSpringDamper, user_law: Callable[[float, float], Any]) -> Law:
    """The law of a spring with a user's law; the tree includes linear springs."""

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

    return law


def completed(tree: Tree, values: ArrayLike | Mapping[str, float] | None, start: Floats) -> Floats:
    """Coordinates (n,) from an array, from values by name with others as in ``start``, or ``start`` for None."""
    if isinstance(values, Mapping):
        values = {**dict(zip(tree.names, start.tolist(), strict=True)), **values}
    return start if values is None else tree.array(values)
