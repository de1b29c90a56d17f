"""Operating point: a state of a System with its accelerations and reactions, and its exact tangents."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.types import Floats, Sparse
from femb.layout.element import Batch, Differentiated, Input, LowRank, WithoutDerivatives
from femb.layout.protocols import DerivesByInputs
from femb.small_motions.channels import output
from femb.steppers.diagnosis import Repetition
from femb.system.constraints import reaction_stiffness
from femb.system.system import System

# Derivatives of users' functions of the state: those that the functions return, or central differences if asked for.
#
# Source: docs/theory/linearisation.md, section 4.

# Of central differences: rad, m, and their rates; relative to larger ones.
STEP = 6e-6


@dataclass(frozen=True, eq=False)
class Feedback:
    """Derivatives (w, n_v) of the inputs of the System from ``first`` on, by the pose and by the velocities."""

    first: int
    by_pose: Floats
    by_velocity: Floats


def with_differences(system: "System") -> "System":
    """The system, whose functions of the state without derivatives are linearised by central differences."""
    return system.with_inputs([replace(each, by_differences=True) if each.of_state else each for each in system.inputs])


def without_derivatives(system: "System", t: float, q: Floats, v: Floats) -> list[str]:
    """The names of loads and springs that are functions of the state and whose derivatives are not known."""
    state = system.state(t, q, v) if system.inputs_of_state else None
    return [
        each.label
        for each in system.inputs
        if each.of_state and not each.by_differences and _unknown(each, each.function(t, state))
    ]


def check_differentiable(system: "System", t: float, q: Floats, v: Floats) -> None:
    """Raises ModelError, by name, for loads and springs that are functions of the state without derivatives."""
    for label in without_derivatives(system, t, q, v):
        raise ModelError(
            f"{label}: is a function of the state whose derivatives are not known, so that it cannot be "
            "linearised; springs and motors may return (force, by length, by rate), loads a femb.Differentiated, "
            "and laws of aerodynamic loads and of drags return them; or ask for differences (--differences)"
        )


def feedback(point: "OperatingPoint", batch: Batch | None = None) -> list[Feedback]:
    """The derivatives of users' functions of the state that are not in the tangents of the elements.

    batch : whose inputs; by default all.
    """
    system, found = point.system, []
    state = system.state(point.t, point.q, point.v) if system.inputs_of_state else None
    own = range(system.n_u)
    if batch is not None:
        own = range(batch.first_input, batch.first_input + sum(each.width for each in batch.inputs))
    for each, part in system.inputs.parts:
        if not each.of_state or part.start not in own:
            continue
        value = each.function(point.t, state)
        if isinstance(value, Differentiated):
            found.append(_returned(point, part.start, value, each.label))
        elif each.by_differences and _unknown(each, value):
            found.append(_differences(point, part.start, each))
    return found


def _unknown(of: Input, value: object) -> bool:
    """Whether the derivatives of a value are not known."""
    return not isinstance(value, Differentiated) and (not of.differentiated or isinstance(value, WithoutDerivatives))


def _returned(point: "OperatingPoint", first: int, value: Differentiated, label: str) -> Feedback:
    by_pose, by_velocity = np.zeros((2, 3, point.system.n_v))
    for name, matrix in value.by.items():
        try:
            rows = output(point, name)
        except ModelError as error:
            raise ModelError(f"{label}: derivative by {error}") from error
        if np.any(rows.acceleration) or rows.multipliers is not None or rows.by_input is not None:
            raise ModelError(f"{label}: derivative by {name!r}: wanted positions, rotations, coordinates or rates")
        if matrix.shape[1] != len(rows.names):
            raise ModelError(
                f"{label}: derivative by {name!r}: got shape {matrix.shape}, wanted (3, {len(rows.names)})"
            )
        by_pose += matrix @ rows.pose
        by_velocity += matrix @ rows.velocity
    return Feedback(first, by_pose, by_velocity)


def _differences(point: "OperatingPoint", first: int, of: Input) -> Feedback:
    system, n = point.system, point.system.n_v

    def value(q: Floats, v: Floats) -> Floats:
        result = of.function(point.t, system.state(point.t, q, v))
        found = np.array(result, dtype=float)
        if isinstance(result, WithoutDerivatives):
            found[1:] = 0.0  # of a law: the places of its derivatives
        return found

    by_pose, by_velocity = np.zeros((2, of.width, n))
    for j in range(n):
        for by, base in ((by_pose, 0.0), (by_velocity, point.v[j])):
            step = np.zeros(n)
            step[j] = STEP * max(1.0, abs(base))
            ends = [
                value(system.retract(point.q, sign * step), point.v)
                if by is by_pose
                else value(point.q, point.v + sign * step)
                for sign in (1.0, -1.0)
            ]
            by[:, j] = (ends[0] - ends[1]) / (2.0 * step[j])
    return Feedback(first, by_pose, by_velocity)


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
        """The point of a state of a system, by default its start.

        Parameters:
            system: the equations of a model.
            q: (n_q,) coordinates, m and quaternions.
            v: (n_v,) velocities, m/s and rad/s.
            t: s, the instant.

        Raises:
            ModelError: loads and springs, by name, that are functions of the state without derivatives.
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
        return not self.system.moves(self.v, STILL)

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
        if not self.low_rank.rank:
            return damping, stiffness
        full = self.low_rank.sparse()
        return damping + full[0], stiffness + full[1]

    @cached_property
    def low_rank(self) -> LowRank:
        """The part of the tangents that modal damping and users' functions of the state give."""
        of_system = self.system.low_rank_tangent(self.u, self.q, self.v)
        return LowRank.joined([of_system, self.of_functions()], self.system.n_v)

    def of_functions(self) -> LowRank:
        """The derivatives of the residual by users' functions of the state, beyond those in the tangents of the
        elements."""
        batches, left, damping, stiffness = self.system.batches, [], [], []
        for each in feedback(self):
            batch = next((b for b in reversed(batches) if b.inputs and b.first_input <= each.first), None)
            if batch is None:
                continue
            for k, (by_pose, by_velocity) in enumerate(zip(each.by_pose, each.by_velocity, strict=True)):
                if np.any(by_pose) or np.any(by_velocity):
                    left.append(-self.force_of(batch, each.first + k))
                    damping.append(by_velocity)
                    stiffness.append(by_pose)
        return LowRank(*(np.reshape(rows, (-1, self.system.n_v)).T for rows in (left, damping, stiffness)))

    @cached_property
    def jacobian(self) -> Sparse:
        """J (n_c, n_v), scipy.sparse.csc_array."""
        return self.system.jacobian(self.u, self.q).tocsc()

    def reaction_stiffness(self, multipliers: Floats | None = None) -> Sparse:
        """d(J^T lambda)/dq H (n_v, n_v), scipy.sparse, at constant multipliers, by default those of the point."""
        of = self.multipliers if multipliers is None else multipliers
        return reaction_stiffness(self.system, self.u, self.q, self.v, of)

    def feedback_of(self, batch: Batch) -> list[Feedback]:
        """The derivatives of the inputs of a batch that are functions of the state, beyond those in its tangents."""
        return feedback(self, batch)

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

    def input_unit(self, k: int) -> str:
        """The unit of component k of u."""
        return next(each.unit for each, part in self.system.inputs.parts if part.start <= k < part.stop)

    def force_of(self, batch: Batch, k: int) -> Floats:
        """The derivative (n_v,), N and N m, of the force of a ``batch`` by input k."""
        if isinstance(batch, DerivesByInputs):
            return -batch.input_derivative(self.u, self.q, self.v, k)
        alone, v = self.system.evaluation.of([batch]), self.v[None]

        def residual(u: Floats) -> Floats:
            return np.asarray(alone.residual(u[None], self.q[None], v, np.zeros(v.shape))[0])

        force: Floats = -self.by_input(residual, k)
        return force

    def by_input(self, of: Callable[[Floats], Floats], k: int) -> Floats:
        """The derivative by input k of a function of the inputs (n_u,) that is nearly a polynomial in it, as forces.

        Most are linear. Heat of an exact beam strains it, and the compliance changes with the shape: quadratic. Heat of
        a default beam with twist also turns its sections. The difference is exact for polynomials of degree six, and
        what heat has beyond is far below rounding.
        """
        step = 0.25 * max(1.0, abs(float(self.u[k])))

        def pair(n: int) -> Floats:
            below, above = self.u.copy(), self.u.copy()
            below[k] -= n * step
            above[k] += n * step
            return np.asarray(of(above) - of(below))

        return np.asarray((45.0 * pair(1) - 9.0 * pair(2) + pair(3)) / (60.0 * step))
