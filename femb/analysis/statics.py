"""Statics with joints, drivers and latches: the state in which forces, reactions and constraints are in balance.

    f(q) + J^T lambda = 0,    Phi(q) = 0,    [K + sigma B, J^T; J, 0] [delta; change of lambda] = -[f + J^T lambda; Phi]

f are the forces at given velocities and accelerations (zero at rest), K their exact tangent with that of the
reactions. sigma B keeps the matrix regular, and changes no solution (femb.analysis.regularisation).
Source: docs/theory/constraints.md, section 11.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from femb.analysis.regularisation import FIRST, Regularisation, mover, scaled_mass
from femb.base.errors import SolveError
from femb.base.options import Tolerances
from femb.base.types import Bools, Floats
from femb.layout.element import TrialError
from femb.layout.layout import Layout
from femb.numerics.kinematics import error_norm
from femb.numerics.newton import Iteration, largest, newton
from femb.system.block_lu import SingularError
from femb.system.system import System

FREE = 1e-3  # of sigma at first: a stiffness below this is none


class CoupledLayout(Layout):
    """A layout whose matrices have blocks between the frames that a joint couples, for the tangent of its reactions."""

    def add_row(self, label: str, first: int, second: int) -> int:
        """A new equation of constraint between two frames."""
        self.couple_by_spring((first, second))
        return super().add_row(label, first, second)


@dataclass(frozen=True, eq=False)
class Unbalanced:
    """Inputs, velocities and accelerations of a state, the forces f (n_v,), and the static equations (n_v + n_c,)."""

    state: tuple[Floats, Floats, Floats]
    force: Floats
    equations: Floats


@dataclass(frozen=True, eq=False)
class Balanced:
    """A state in balance: q (n_q,), the forces f (n_v,) there without reactions, the multipliers (n_c,)."""

    q: Floats
    force: Floats
    multipliers: Floats


class Statics:
    """The static equations of a system; ``rigid`` sets the velocities and accelerations (n_v,) of a state q.

    twin : the same model in a layout in which the tangent is complete, with the same coordinates; the system itself
    where there are no constraints.
    """

    def __init__(self, system: System, rigid: Callable[[Floats, Floats, Floats], None]) -> None:
        self.twin = system
        if system.n_c:
            self.twin = System(system.model, assemble=True, layout=CoupledLayout()).with_discrete(system.discrete)
        self.rigid = rigid
        held = {id(input_) for input_ in self.twin.constraint_set.inputs}
        loads = [(input_.width, not input_.of_discrete and id(input_) not in held) for input_ in self.twin.inputs]
        self.loads = np.concatenate([[], *(np.full(width, on) for width, on in loads)]).astype(bool)
        # what drivers prescribe is held: no rates, no accelerations
        driven = [id(input_) in held and not input_.of_discrete for input_ in self.twin.inputs]
        rates = [
            np.arange(input_.width) >= max(1, input_.width - 6) if on else np.zeros(input_.width)
            for input_, on in zip(self.twin.inputs, driven, strict=True)
        ]
        self.rates = np.concatenate([[], *rates]).astype(bool)

    def forces(self, q: Floats, load: float) -> tuple[tuple[Floats, Floats, Floats], Floats]:
        """(u, v, a) at a share of the loads, and the forces (n_v,) without reactions."""
        v, a = np.zeros((2, self.twin.n_v))
        self.rigid(q, v, a)
        u = self.twin.at(q).inputs_at(0.0, q, v)
        u = np.where(self.rates, 0.0, np.where(self.loads, load, 1.0) * u)
        return (u, v, a), self.twin.residual(u[None], q[None], v[None], a[None])[0]

    def matrices(
        self, state: tuple[Floats, Floats, Floats], q: Floats, multipliers: Floats, exact: bool = True
    ) -> tuple[Floats, Floats, Floats]:
        """Mass, stiffness with that of the reactions, and J with J^T, as block data.

        exact : whether of the exact tangent, or of that which steppers iterate with.
        """
        twin, (u, v, a) = self.twin, state
        stiffness = twin.tangent(u, q, v, a)[1] if exact else twin.matrices(u, q, v)[2]
        jacobian = np.zeros(twin.pattern.size)
        twin.constraint_set.jacobian(u, q, jacobian)
        twin.constraint_set.constraint_tangent(u, q, np.zeros_like(v), multipliers, stiffness)
        return twin.mass_data(q), stiffness, jacobian

    def solve(self, start: Balanced, load: float, regularisation: Regularisation) -> Balanced:
        """The balance at a share of the loads, from the state of another.

        Raises SolveError where the iteration does not end, with the reason that the regularisation gives.
        """
        twin, n_v = self.twin, self.twin.n_v
        scale, change = twin.error_scale(1e-12, Tolerances(1e-12, 1e-12, 1e-13))[0], np.zeros(n_v)

        def unbalanced(x: tuple[Floats, Floats]) -> Unbalanced:
            q, multipliers = x
            state, force = self.forces(q, load)
            if not twin.n_c:
                return Unbalanced(state, force, force)
            gaps = twin.position_residual(state[0], q, np.zeros(n_v))
            return Unbalanced(state, force, np.concatenate([force + self.reactions(state[0], q, multipliers), gaps]))

        def correction(it: Iteration[tuple[Floats, Floats], Unbalanced]) -> Floats | None:
            mass, stiffness, jacobian = self.matrices(it.residual.state, *it.x, exact=regularisation.exact)
            shift = regularisation.added(twin.pattern, mass, stiffness)
            c: Floats = twin.solver.factorise(stiffness + shift + jacobian).solve(-it.residual.equations)
            if np.all(np.isfinite(c)):
                change[:] = c[:n_v]
            return c if regularisation.accepts(largest(c[twin.rotations])) else None

        def step_size(x: tuple[Floats, Floats], c: Floats, part: float, new: tuple[Floats, Floats]) -> float:
            return float(error_norm(*scale, part * twin.rates(x[0][None], c[None, :n_v])[0], new[0]))

        try:
            end = newton(
                (start.q, start.multipliers),
                unbalanced,
                correction,
                lambda x, c, part: (twin.retract(x[0], c[:n_v], part), x[1] + c[n_v:]),
                regularisation.settled,
                iterations=regularisation.iterations,
                step_size=step_size,
                rotations=twin.rotations,
            )
        except (TrialError, SingularError) as error:
            raise SolveError(f"no equilibrium found to start from: {error}") from error
        if not end.converged:
            raise SolveError(
                f"no equilibrium found to start from{regularisation.reason(end.size, mover(twin.layout, change))}"
            )
        return Balanced(end.x[0], end.residual.force, end.x[1])

    def reactions(self, u: Floats, q: Floats, multipliers: Floats) -> Floats:
        """J^T lambda (n_v,)."""
        still, out, rates = np.zeros((1, self.twin.n_v)), np.zeros((1, self.twin.n_v)), np.zeros((1, self.twin.n_c))
        self.twin.constraint_set.constraint_force(u[None], q[None], still, multipliers[None], out, rates)
        result: Floats = out[0]
        return result

    def unheld(self, found: Balanced, where: Bools) -> str:
        """The frame that a motion of no stiffness moves most, among velocities (n_v,) bool; empty if there is none.

        Inverse iteration with K + sigma B, where the constraints leave the motion.
        """
        twin = self.twin
        state, _ = self.forces(found.q, 1.0)
        mass, stiffness, jacobian = self.matrices(state, found.q, found.multipliers)
        B = scaled_mass(twin.pattern, mass, stiffness)
        factors = twin.solver.factorise(stiffness + FIRST * B + jacobian)
        x = np.where(where, np.random.default_rng(0).standard_normal(twin.n_v), 0.0)
        softness = 1.0
        for _ in range(3):
            right = np.where(where, self._times(B, x), 0.0)
            y = factors.solve(np.append(right, np.zeros(twin.n_c)))[: twin.n_v]
            weight = float(y @ self._times(B, y))
            if weight <= 0.0:
                return ""
            softness = abs(float(y @ right) / weight - FIRST)
            x = y / np.sqrt(weight)
        return mover(twin.layout, x) if softness < FREE * FIRST else ""

    def _times(self, data: Floats, x: Floats) -> Floats:
        """Block data times velocities (n_v,)."""
        product: Floats = self.twin.solver.multiply(data, np.append(x, np.zeros(self.twin.n_c)))[: self.twin.n_v]
        return product


def in_load_steps(
    solved: Callable[[Balanced, float], Balanced], start: Balanced, first: SolveError, smallest: float
) -> Balanced:
    """The balance under the whole load, raised from zero in steps: halved where ``solved`` fails, else doubled.

    Raises ``first`` where a step smaller than ``smallest`` would be needed.
    """
    result, reached, part = start, 0.0, 0.25
    while reached < 1.0:
        trial = min(1.0, reached + part)
        try:
            result = solved(result, trial)
        except SolveError:
            part *= 0.5
            if part < smallest:
                raise first from None
            continue
        reached, part = trial, 2.0 * part
    return result
