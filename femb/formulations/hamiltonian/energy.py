"""The energy matrix of a Model; docs/theory/hamiltonian.md, sections 4 and 8."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import as_numbers, shown
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.formulations.hamiltonian.of_model import completed
from femb.formulations.hamiltonian.small import expanded_energy_matrix
from femb.model.model import Model

BASE = tuple(f"{word}_{axis}" for word in ("turn", "velocity") for axis in "xyz")


@dataclass(frozen=True, eq=False)
class EnergyMatrix:
    """T = 1/2 q'^T A q': A (N, N) at the joint coordinates q (n,), and names (N,) of the rates q'.

    Rates are those of joint coordinates, 'joint.angle'. For a free base six precede them: its angular velocity (rad/s)
    and the velocity of its origin (m/s), inertial axes. Momenta are A q'.
    """

    names: tuple[str, ...]
    matrix: Floats
    q: Floats

    def momenta(self, rates: ArrayLike) -> Floats:
        """p (N,) = A q' of rates (N,)."""
        return self.matrix @ self._numbers(rates)

    def kinetic_energy(self, rates: ArrayLike) -> float:
        """J, of rates (N,)."""
        x = self._numbers(rates)
        return float(0.5 * x @ self.matrix @ x)

    def _numbers(self, rates: ArrayLike) -> Floats:
        result = as_numbers(rates)
        if result is None or result.shape != (len(self.names),):
            raise ModelError(f"energy matrix: rates: got {shown(rates)}, wanted {len(self.names)} numbers")
        return result


def energy_matrix(
    model: Model, q: ArrayLike | Mapping[str, float] | None = None, *, small: Sequence[str] = ()
) -> EnergyMatrix:
    """The energy matrix of a tree of rigid bodies at joint coordinates q, by equation (7).

    q : values by name, others as at the model's start, or an array (n,). small : names of small coordinates: A is
    expanded to the orders needed for equations linear in them; only for a tree on the ground.

    Raises ModelError for beams, closed loops, several trees, an unknown coordinate, small coordinates on a free base.
    """
    from femb.system.system import System

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
