"""Base class of formulations in other coordinates than the System's: methods that evaluate the System."""

from copy import copy
from typing import Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.layout.discrete import DiscreteState
from femb.layout.state import State
from femb.system.system import System


def refused(text: str) -> ModelError:
    """The error of a model, or its start, that a formulation does not admit."""
    return ModelError.at(("run", "formulation"), text)


class Transformed:
    """Base of formulations with their own coordinates q (n_q,) and speeds, rates or momenta v (n_v,), m, rad and s.

    Methods take these arrays, the inputs u (n_u,) of loads and drivers, the multipliers (n_c,), N and N m, and the
    time t, s. See `femb.formulations.contract` for what each of them does.
    """

    def __init__(self, system: System) -> None:
        self.system, self.model, self.layout = system, system.model, system.layout
        self.breakpoints, self.singular_batches = system.breakpoints, system.singular_batches
        self.inputs_of_state = system.inputs_of_state

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v of the System at s states."""
        raise NotImplementedError

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (n_v,) and the multipliers (n_c,), at one state."""
        raise NotImplementedError

    def acceleration(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """v' (n_v,)."""
        return self.forward(u, q, v)[0]

    def system_at(self, q: Floats) -> System:
        """The System with the unwrapped joint angles at q, if q contains joint angles; else the System."""
        return self.system

    def at(self, q: Floats) -> Self:
        """The same form after a step to q, from which joint angles are unwrapped."""
        raise NotImplementedError

    def joint_angles(self, q: Floats) -> Floats:
        """The joint coordinates (s, m) from which those of the System at s states are unwrapped."""
        if not self.system.coordinates_of_joints.count:
            return np.empty((len(q), 0))
        return np.array([self.at(state).system.discrete.angles for state in q])

    def state(self, t: float, q: Floats, v: Floats) -> State:
        """The named bodies, beams and joints at time t (s) and one state."""
        return self.system_at(q).state(t, *(array[0] for array in self.to_system(q[None], v[None])))

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,) at time t (s) and one state."""
        system = self.system_at(q)
        if not self.inputs_of_state:
            return system.inputs_at(t, system.q0, system.v0)
        return system.inputs_at(t, *(array[0] for array in self.to_system(q[None], v[None])))

    def check_singularities(self, t: float, q: Floats, v: Floats, last: bool = False) -> None:
        """Test the states q (s, n_q), v (s, n_v) of a step up to the time t, s, for singular configurations; ``last``,
        whether the run ends with it; see ``Formulation``."""
        self.system.check_singularities(t, *self.to_system(q, v), last)

    def with_discrete(self, discrete: DiscreteState) -> Self:
        """The same form in another discrete state."""
        other = copy(self)
        other.system = self.system.with_discrete(discrete)
        other._update_discrete(self.system.discrete)
        return other

    def _update_discrete(self, previous: DiscreteState) -> None:
        """Update the form after a change of the system's discrete state; ``previous`` is the old one."""
