"""Operating point: a state of a System with its accelerations and reactions, and its exact tangents."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array

from femb.analysis.linear.feedback import check_differentiable, feedback
from femb.base.brief import Brief
from femb.base.types import Floats, Sparse
from femb.layout.element import Batch
from femb.steppers.diagnosis import Repetition
from femb.system.reaction_stiffness import reaction_stiffness
from femb.system.system import System

STILL = 1e-9  # m/s or rad/s: largest velocity at rest


@dataclass(frozen=True, eq=False)
class OperatingPoint(Brief):
    """A state q (n_q,), v (n_v,) of a ``system`` at time t (s), with its accelerations and reactions.

    u (n_u,) : inputs. a (n_v,) : accelerations. multipliers (n_c,) : of the constraints.
    """

    system: System
    t: float
    u: Floats
    q: Floats
    v: Floats
    a: Floats
    multipliers: Floats

    @classmethod
    def of(cls, system: System, q: Floats | None = None, v: Floats | None = None, t: float = 0.0) -> "OperatingPoint":
        """The point of a state of ``system``: q (n_q,), v (n_v,), t in s; by default its start.

        Raises ModelError, by name, for loads and springs that are functions of the state without derivatives.
        """
        q = system.q0 if q is None else q
        v = system.v0 if v is None else v
        system = system.at(q)
        check_differentiable(system, t, q, v)
        Repetition().check(system, t, q, v)
        u = system.inputs_at(t, q, v)
        a, multipliers = system.forward(u, q, v)
        return cls(system, t, u, q, v, a, multipliers)

    @property
    def at_rest(self) -> bool:
        """Whether all velocities are zero."""
        return bool(np.max(np.abs(self.v), initial=0.0) <= STILL)

    @cached_property
    def mass(self) -> Sparse:
        """M (n_v, n_v), scipy.sparse."""
        return self.system.mass_matrix(self.q)

    @cached_property
    def residual(self) -> Floats:
        """(n_v,) M a + h + f_el - f, in balance with the forces of constraints: -J^T lambda."""
        result: Floats = self.system.residual(self.u[None], self.q[None], self.v[None], self.a[None])[0]
        return result

    @cached_property
    def tangents(self) -> tuple[Sparse, Sparse]:
        """d(residual)/dv and d(residual)/dq H, (n_v, n_v), scipy.sparse, at constant accelerations.

        Users' functions of the state count with their derivatives.
        """
        n, to_csc = self.system.n_v, self.system.pattern.to_csc
        damping, stiffness = (to_csc(data)[:n, :n] for data in self.system.tangent(self.u, self.q, self.v, self.a))
        for each in feedback(self):
            batch = next(b for b in reversed(self.system.batches) if b.inputs and b.first_input <= each.first)
            for k, (by_pose, by_velocity) in enumerate(zip(each.by_pose, each.by_velocity, strict=True)):
                if np.any(by_pose) or np.any(by_velocity):
                    force = csc_array(self.force_of(batch, each.first + k)[:, None])
                    stiffness = stiffness - force @ csr_array(by_pose[None])
                    damping = damping - force @ csr_array(by_velocity[None])
        low_rank = self.system.low_rank_tangent(self.u, self.q, self.v)
        if not low_rank.rank:
            return damping, stiffness
        full = low_rank.sparse()
        return damping + full[0], stiffness + full[1]

    def reaction_stiffness(self) -> Sparse:
        """d(J^T lambda)/dq H (n_v, n_v), scipy.sparse, at constant multipliers."""
        return reaction_stiffness(self.system, self.u, self.q, self.v, self.multipliers)

    def force_inputs(self) -> tuple[Floats, tuple[str, ...]]:
        """Derivatives (n_v, m) of the forces by the inputs of loads and motors, and the names of these inputs."""
        found = list(self.input_components())
        columns = [self.force_of(batch, k) for batch, k, _ in found]
        return np.array(columns).reshape(-1, self.system.n_v).T, tuple(name for _, _, name in found)

    def input_components(self) -> Iterator[tuple[Batch, int, str]]:
        """The components of u of loads and motors: batch, index in u, and name."""
        for batch in self.system.batches:
            at = batch.first_input
            for input_ in batch.inputs:
                indices, at = range(at, at + input_.width), at + input_.width
                if input_.of_state or input_.of_discrete or input_.surroundings:
                    continue
                for k in indices:
                    yield batch, k, input_.label if input_.width == 1 else f"{input_.label}.{k - indices.start}"

    def force_of(self, batch: Batch, k: int) -> Floats:
        """The derivative (n_v,), N and N m, of the force of a ``batch`` by input k."""

        def residual(u: Floats) -> Floats:
            out = np.zeros((1, self.system.n_v))
            batch.residual(u[None], self.q[None], self.v[None], np.zeros_like(out), out)
            return np.asarray(out[0])

        force: Floats = -self.by_input(residual, k)
        return force

    def by_input(self, of: Callable[[Floats], Floats], k: int) -> Floats:
        """The derivative by input k of a function of the inputs (n_u,) that is at most quadratic in it, as forces are.

        Most are linear. Heat of an exact beam strains it, and the compliance changes with the shape: quadratic. A
        difference to both sides is exact for these.
        """
        step = max(1.0, abs(float(self.u[k])))
        below, above = self.u.copy(), self.u.copy()
        below[k] -= step
        above[k] += step
        return np.asarray((of(above) - of(below)) / (2.0 * step))
