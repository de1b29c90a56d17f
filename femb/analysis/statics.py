"""Statics with joints, drivers and latches: the state in which forces, reactions and constraints are in balance.

    f(q) + J^T lambda = 0,    Phi(q) = 0,    [K + sigma B, J^T; J, 0] [delta; change of lambda] = -[f + J^T lambda; Phi]

f are the forces at given velocities and accelerations (zero at rest), K their exact tangent with that of the
reactions. B, the mass of every frame on the scale of its own stiffness, keeps the blocks of bodies regular that only
joints hold, and the rigid motions of what is free; sigma B changes no solution, falls with the steps, and grows where
they lead nowhere.
Source: docs/theory/constraints.md, section 11.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.errors import SolveError
from femb.base.options import Tolerances
from femb.base.types import Floats
from femb.layout.element import TrialError
from femb.layout.layout import Layout
from femb.numerics.kinematics import error_norm
from femb.system.block_lu import SingularError
from femb.system.system import System

ITERATIONS, CAUTIOUS = 100, 400
LARGEST_TURN = 0.3  # rad, of one iteration
# sigma at first, its least and its most, and what changes it.
FIRST, LEAST, MOST = 1e-6, 1e-12, 1e2
SMALLER, LARGER = 0.1, 10.0
FREE = 1e-3  # of sigma at first: a stiffness below this is none


class CoupledLayout(Layout):
    """A layout whose matrices have blocks between the frames that a joint couples, for the tangent of its reactions."""

    def add_row(self, label: str, first: int, second: int) -> int:
        """A new equation of constraint between two frames."""
        self.couple_by_spring((first, second))
        return super().add_row(label, first, second)


@dataclass(frozen=True, eq=False)
class Balanced:
    """A state in balance: q (n_q,), the forces f (n_v,) there without reactions, the multipliers (n_c,)."""

    q: Floats
    force: Floats
    multipliers: Floats


class Statics:
    """The static equations of a system; ``rigid`` sets the velocities and accelerations (n_v,) of a state q.

    twin : the same model in a layout in which the tangent is complete, with the same coordinates.
    """

    def __init__(self, system: System, rigid: Callable[[Floats, Floats, Floats], None]) -> None:
        self.twin = System(system.model, assemble=True, layout=CoupledLayout())
        self.twin.discrete = system.discrete
        self.rigid = rigid
        held = {id(each) for each in self.twin.constraint_set.inputs}
        loads = [(each.width, not each.of_discrete and id(each) not in held) for each in self.twin.inputs]
        self.loads = np.concatenate([[], *(np.full(width, on) for width, on in loads)]).astype(bool)
        # what drivers prescribe is held: no rates, no accelerations
        driven = [id(each) in held and not each.of_discrete for each in self.twin.inputs]
        rates = [
            np.arange(each.width) >= max(1, each.width - 6) if on else np.zeros(each.width)
            for each, on in zip(self.twin.inputs, driven, strict=True)
        ]
        self.rates = np.concatenate([[], *rates]).astype(bool)
        self.sigma = FIRST

    def forces(self, q: Floats, load: float) -> tuple[tuple[Floats, Floats, Floats], Floats]:
        """(u, v, a) at a share of the loads, and the forces (n_v,) without reactions."""
        v, a = np.zeros((2, self.twin.n_v))
        self.rigid(q, v, a)
        u = self.twin.at(q).inputs_at(0.0, q, v)
        u = np.where(self.rates, 0.0, np.where(self.loads, load, 1.0) * u)
        return (u, v, a), self.twin.residual(u[None], q[None], v[None], a[None])[0]

    def matrices(
        self, state: tuple[Floats, Floats, Floats], q: Floats, multipliers: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Mass, stiffness with that of the reactions, and J with J^T, as block data."""
        twin, (u, v, a) = self.twin, state
        stiffness, jacobian = twin.tangent(u, q, v, a)[1], np.zeros(twin.pattern.size)
        twin.constraint_set.jacobian(u, q, jacobian)
        twin.constraint_set.constraint_tangent(u, q, np.zeros_like(v), multipliers, stiffness)
        return twin.mass_data(q), stiffness, jacobian

    def solve(
        self, q: Floats, load: float, multipliers: Floats, spin2: float = 0.0, cautious: bool = False
    ) -> Balanced:
        """The balance at a share of the loads, from the state of another; spin2 : largest squared angular velocity.

        cautious : larger sigma, rather than a shorter step, where a step would turn too far.

        Raises SolveError, which names the body that moves most, where the iteration does not end.
        """
        twin, step, scale = self.twin, np.inf, self.twin.error_scale(1e-12, Tolerances(1e-12, 1e-12, 1e-13))[0]
        spins = (twin.coordinates[3][:, None] + np.arange(3)).ravel()
        change, clear = np.zeros(twin.n_v), True
        self.sigma = FIRST
        for _ in range(CAUTIOUS if cautious else ITERATIONS):
            try:
                state, force = self.forces(q, load)
                mass, stiffness, jacobian = self.matrices(state, q, multipliers)
                shift = self.sigma * self.regular(mass, stiffness) + spin2 * mass
                factors = twin.solver.factorise(stiffness + shift + jacobian)
            except (TrialError, SingularError) as error:
                raise SolveError(f"no equilibrium found to start from: {error}") from error
            balance = force + self.reactions(state[0], q, multipliers)
            gaps = twin.constraints(state[0][None], q[None], np.zeros((1, twin.n_v)))[0][0]
            x = factors.solve(np.concatenate([-balance, -gaps]))
            if not np.all(np.isfinite(x)):
                break
            change = x[: twin.n_v]
            turned = float(np.max(np.abs(change[spins]), initial=0.0))
            if cautious and turned > LARGEST_TURN and self.sigma < MOST:
                self.sigma, clear = LARGER * self.sigma, False
                continue
            multipliers = multipliers + x[twin.n_v :]
            moved = min(1.0, LARGEST_TURN / turned if turned > 0.0 else 1.0) * twin.rates(q[None], change[None])[0]
            q = q + moved
            twin.normalise(q)
            previous, step = step, error_norm(*scale, moved, q)
            if step < 1.0 or (step < 1e3 and step > 0.5 * previous and self.sigma <= 1e-3 * FIRST):
                return Balanced(q, force, multipliers)
            if clear:
                self.sigma = min(
                    MOST, max(LEAST, self.sigma * (SMALLER if step < (2.0 if cautious else 1.0) * previous else LARGER))
                )
            clear = True
        raise SolveError(
            f"no equilibrium found to start from: {self.mover(change)} moves on from iteration to iteration; "
            "nothing holds it against the loads, or it is far from its equilibrium: start nearer, or as given"
        )

    def reactions(self, u: Floats, q: Floats, multipliers: Floats) -> Floats:
        """J^T lambda (n_v,)."""
        still, out, rates = np.zeros((1, self.twin.n_v)), np.zeros((1, self.twin.n_v)), np.zeros((1, self.twin.n_c))
        self.twin.constraint_set.constraint_force(u[None], q[None], still, multipliers[None], out, rates)
        result: Floats = out[0]
        return result

    def regular(self, mass: Floats, stiffness: Floats) -> Floats:
        """B, block data: the mass of every block on the scale of its stiffness; of those without, on the least."""
        pattern = self.twin.pattern
        sizes = np.diff(pattern.block_start)
        places = [
            slice(int(at), int(at + n * n))
            for at, n, start in zip(pattern.diagonal, sizes, pattern.block_start, strict=False)
            if start < pattern.n_v
        ]
        scales = np.array([np.max(np.abs(stiffness[each])) / np.max(np.abs(mass[each])) for each in places])
        least = float(np.min(scales[scales > 0.0], initial=np.inf))
        scales[scales == 0.0] = least if np.isfinite(least) else 1.0
        out = np.zeros(pattern.size)
        for each, scale in zip(places, scales, strict=True):
            out[each] = scale * mass[each]
        return out

    def mover(self, change: Floats) -> str:
        """The frame that moves most by a change (n_v,), as messages name it."""
        layout = self.twin.layout
        sizes = [
            float(np.max(np.abs(change[j : j + frame.freedom]), initial=0.0)) if frame.freedom else 0.0
            for frame, j in zip(layout.frames, layout.frame_v, strict=True)
        ]
        return repr(layout.frames[int(np.argmax(sizes))].label)

    def unheld(self, found: Balanced, where: Any) -> str:
        """The frame that a motion of no stiffness moves most, among velocities (n_v,) bool; empty if there is none.

        Inverse iteration with K + sigma B, where the constraints leave the motion.
        """
        twin = self.twin
        state, _ = self.forces(found.q, 1.0)
        mass, stiffness, jacobian = self.matrices(state, found.q, found.multipliers)
        B = self.regular(mass, stiffness)
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
        return self.mover(x) if softness < FREE * FIRST else ""

    def _times(self, data: Floats, x: Floats) -> Floats:
        """Block data times velocities (n_v,)."""
        product: Floats = self.twin.solver.multiply(data, np.append(x, np.zeros(self.twin.n_c)))[: self.twin.n_v]
        return product
