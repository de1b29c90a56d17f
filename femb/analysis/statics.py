"""Statics with joints, drivers and latches: the state in which forces, reactions and constraints are in balance.

    f(q, p) + J^T lambda = 0,    Phi(q, p) = 0,    [K + S, J^T; J, 0] [delta; change of lambda] = -[f + J^T lambda; Phi]

f are the forces at given velocities and accelerations (zero at rest) and load factor p, K their exact tangent with that
of the reactions. S keeps the matrix regular, and changes no solution (femb.analysis.regularisation). Beams take part in
K with strains of their own, which Newton's iteration advances beside the coordinates.
Source: docs/theory/statics.md, equations (1) to (5).
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from femb.analysis.regularisation import FIRST, Regularisation, mover, scaled_mass
from femb.base.errors import SolveError
from femb.base.options import Tolerances
from femb.base.types import Bools, Floats, Ints
from femb.layout.element import TrialError
from femb.layout.layout import Layout
from femb.numerics.kinematics import error_norm
from femb.numerics.newton import Iteration, largest, newton
from femb.system.block_lu import SingularError
from femb.system.system import System

FREE = 1e-3  # of sigma at first: a stiffness below this is none
WEIGHT = "gravity"  # names the weight among the loads


def is_load(label: str) -> bool:
    """Whether an input is of a load."""
    return label.startswith("loads.")


def is_named(label: str, names: Collection[str]) -> bool:
    """Whether an input is of one of the loads of these names."""
    return any(label == f"loads.{name}" or label.startswith(f"loads.{name}.") for name in names)


class CoupledLayout(Layout):
    """A layout whose matrices have blocks between the frames that a joint couples, for the tangent of its reactions."""

    def add_row(self, label: str, first: int, second: int) -> int:
        """A new equation of constraint between two frames."""
        self.couple_by_spring((first, second))
        return super().add_row(label, first, second)


@dataclass(frozen=True, eq=False)
class Unbalanced:
    """The system under the loads of a state, the state's inputs, velocities and accelerations, the forces f (n_v,), and
    the static equations (n_v + n_c,)."""

    system: System
    state: tuple[Floats, Floats, Floats]
    force: Floats
    equations: Floats


@dataclass(frozen=True, eq=False)
class Balanced:
    """A state in balance: q (n_q,), the forces f (n_v,) there without reactions, the multipliers (n_c,), the load
    factor, and after how many corrections it was found."""

    q: Floats
    force: Floats
    multipliers: Floats
    load: float = 0.0
    iterations: int = 0


@dataclass(frozen=True, eq=False)
class Trial:
    """A state of the iteration: coordinates, multipliers, own strains by batch, load factor, and what the step lacks of
    its length where the load factor is an unknown."""

    q: Floats
    multipliers: Floats
    own: list[Floats]
    load: float
    gap: float = 0.0


class Normal(Protocol):
    """A plane that a step with an unknown load factor ends in, by its normal in displacements and load factor."""

    @property
    def by_load(self) -> float:
        """The component of the load factor."""
        ...

    def along(self, x: Floats) -> float:
        """The product with displacements and rotations (n_v,)."""
        ...


class Statics:
    """The static equations of a system; ``rigid`` sets the velocities and accelerations (n_v,) of a state q.

    twin : the same model in a layout in which the tangent is complete, with the same coordinates; the system itself
    where there are no constraints. The load factor multiplies loads, as they are at ``time`` (s), and the weight, but
    those named in ``constant``; drivers are where they are at the load factor times ``time``.
    """

    def __init__(
        self,
        system: System,
        rigid: Callable[[Floats, Floats, Floats], None],
        time: float = 0.0,
        constant: Collection[str] = (WEIGHT,),
    ) -> None:
        self.twin = system
        if system.n_c:
            self.twin = System(system.model, assemble=True, layout=CoupledLayout()).with_discrete(system.discrete)
        self.rigid, self.time = rigid, time
        self.gravity = None if WEIGHT in constant else np.array(system.model.gravity)
        held = {id(each) for each in self.twin.constraint_set.inputs}
        loads = [(each.width, is_load(each.label) and not is_named(each.label, constant)) for each in self.twin.inputs]
        self.loads = np.concatenate([[], *(np.full(width, on) for width, on in loads)]).astype(bool)
        # what drivers prescribe is held: no rates, no accelerations
        driven = [id(each) in held and not each.of_discrete for each in self.twin.inputs]
        self.driven = np.concatenate(
            [[], *(np.full(e.width, on) for e, on in zip(self.twin.inputs, driven, strict=True))]
        )
        self.driven = self.driven.astype(bool)
        rates = [
            np.arange(input_.width) >= max(1, input_.width - 6) if on else np.zeros(input_.width)
            for input_, on in zip(self.twin.inputs, driven, strict=True)
        ]
        self.rates = np.concatenate([[], *rates]).astype(bool)

    def advanced(self, q: Floats) -> None:
        """Count the turns of joints from an accepted state on."""
        self.twin = self.twin.at(q)

    def under(self, load: float) -> System:
        """The twin under its weight at a load factor."""
        return self.twin if self.gravity is None else self.twin.with_gravity(load * self.gravity)

    def inputs(self, q: Floats, v: Floats, load: float) -> Floats:
        """u (n_u,) at a load factor, with the rates of drivers."""
        twin = self.twin.at(q)
        u = twin.inputs_at(self.time, q, v)
        u = np.where(self.loads, load, 1.0) * u
        if self.time and self.driven.any():
            u = np.where(self.driven, twin.inputs_at(load * self.time, q, v), u)
        return u

    def forces(self, q: Floats, load: float) -> tuple[tuple[Floats, Floats, Floats], Floats]:
        """(u, v, a) at a load factor, and the forces (n_v,) without reactions."""
        v, a = np.zeros((2, self.twin.n_v))
        self.rigid(q, v, a)
        u = np.where(self.rates, 0.0, self.inputs(q, v, load))
        return (u, v, a), self.under(load).residual(u[None], q[None], v[None], a[None])[0]

    def by_load(self, q: Floats, load: float) -> Floats:
        """Change (n_v + n_c,) of the static equations with the load factor, in which loads and weight are linear; of
        heating, which is not quite, that with an increase by one."""
        (u, v, a), force = self.forces(q, load)
        more = np.where(self.loads, self.inputs(q, v, load + 1.0), u)
        change: Floats = self.under(load + 1.0).residual(more[None], q[None], v[None], a[None])[0] - force
        if not self.twin.n_c:
            return change
        rates = self.twin.constraint_rates(self.inputs(q, v, load)[None], q[None], np.zeros_like(v)[None])[0]
        return np.concatenate([change, self.time * rates])

    def unbalanced(self, x: Trial) -> Unbalanced:
        """The static equations at a state."""
        twin = self.twin
        state, force = self.forces(x.q, x.load)
        if not twin.n_c:
            return Unbalanced(self.under(x.load), state, force, force)
        gaps = twin.position_residual(state[0], x.q, np.zeros(twin.n_v))
        equations = np.concatenate([force + self.reactions(state[0], x.q, x.multipliers), gaps])
        return Unbalanced(self.under(x.load), state, force, equations)

    def matrices(
        self,
        state: tuple[Floats, Floats, Floats],
        q: Floats,
        multipliers: Floats,
        exact: bool = True,
        system: System | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """Mass, stiffness with that of the reactions, and J with J^T, as block data.

        exact : whether of the exact tangent, or of that which steppers iterate with. system : under its weight.
        """
        system = self.twin if system is None else system
        u, v, a = state
        stiffness = system.tangent(u, q, v, a)[1] if exact else system.matrices(u, q, v)[2]
        jacobian = np.zeros(system.pattern.size)
        system.constraint_set.jacobian(u, q, jacobian)
        system.constraint_set.constraint_tangent(u, q, np.zeros_like(v), multipliers, stiffness)
        return system.mass_data(q), stiffness, jacobian

    def trial(self, start: Balanced, load: float, gap: float = 0.0, exact: bool = True) -> Trial:
        """Where an iteration begins: own strains are those of the coordinates."""
        still = np.zeros(self.twin.n_v)
        own = [batch.own_strains(start.q, still) for batch in self.twin.batches] if exact else []
        return Trial(start.q, start.multipliers, own, load, gap)

    def solve(
        self,
        start: Balanced,
        load: float,
        regularisation: Regularisation,
        normal: Normal | None = None,
        gap: float = 0.0,
    ) -> Balanced:
        """The balance at a load factor, from the state of another; or, with the plane ``normal`` to which the distance
        is ``gap``, with the load factor as an unknown that begins at ``load``.

        Raises SolveError where the iteration does not end, with the reason that the regularisation gives.
        """
        twin, n_v = self.twin, self.twin.n_v
        scale, change = twin.error_scale(1e-12, Tolerances(1e-12, 1e-12, 1e-13))[0], np.zeros(n_v)

        def correction(it: Iteration[Trial, Unbalanced]) -> Floats | None:
            x, at = it.x, it.residual
            system = at.system.with_own_strains(x.q, x.own) if x.own else at.system
            mass, stiffness, jacobian = self.matrices(at.state, x.q, x.multipliers, regularisation.exact, system)
            weight = 0.0
            if regularisation.augmented and twin.n_c:
                weight = largest(stiffness)
                stiffness += weight * self.products(jacobian)
            shift = regularisation.added(twin.pattern, mass, stiffness)
            factors = twin.solver.factorise(stiffness + shift + jacobian)

            def solved(equations: Floats) -> Floats:
                c: Floats = factors.solve(-equations)
                c[n_v:] -= weight * equations[n_v:]
                return c

            c = solved(at.equations)
            if normal is not None:
                with_load = solved(self.by_load(x.q, x.load))
                part = (x.gap - normal.along(c[:n_v])) / (normal.by_load + normal.along(with_load[:n_v]))
                c = np.append(c + part * with_load, part)
            if np.all(np.isfinite(c)):
                change[:] = c[:n_v]
            return c if regularisation.accepts(largest(c[twin.rotations])) else None

        def moved(x: Trial, c: Floats, part: float) -> Trial:
            d = c[:n_v]
            own = [
                strain + part * (batch.own_strains(x.q, d) - strain) if strain.size else strain
                for batch, strain in zip(twin.batches, x.own, strict=bool(x.own))
            ]
            multipliers = x.multipliers + c[n_v : n_v + twin.n_c]
            load, lacking = (x.load, 0.0) if normal is None else (x.load + part * c[-1], (1.0 - part) * x.gap)
            return Trial(twin.retract(x.q, d, part), multipliers, own, load, lacking)

        def step_size(x: Trial, c: Floats, part: float, new: Trial) -> float:
            return float(error_norm(*scale, part * twin.rates(x.q[None], c[None, :n_v])[0], new.q))

        try:
            end = newton(
                self.trial(start, load, gap, regularisation.exact),
                self.unbalanced,
                correction,
                moved,
                regularisation.settled,
                iterations=regularisation.iterations,
                step_size=step_size,
                rotations=twin.rotations,
            )
        except TrialError as error:
            raise SolveError(f"no equilibrium found to start from: {error}") from error
        except SingularError as error:
            raise SolveError(f"no equilibrium found to start from: {self._singular(error)}") from error
        if not end.converged:
            raise SolveError(
                f"no equilibrium found to start from{regularisation.reason(end.size, mover(twin.layout, change))}"
            )
        return Balanced(end.x.q, end.residual.force, end.x.multipliers, end.x.load, end.count)

    def _singular(self, error: SingularError) -> str:
        """What a singular matrix means, by the frame that it concerns."""
        frames = zip(self.twin.layout.frames, self.twin.layout.frame_v, strict=True)
        moving = [frame.label for frame, j in frames if frame.freedom and error.first <= j < error.last]
        return f"the stiffness is singular, {moving[0]!r} moves with nothing against it" if moving else str(error)

    def products(self, jacobian: Floats) -> Floats:
        """J^T J as block data, for J and J^T as block data."""
        pattern, n_v = self.twin.pattern, self.twin.n_v
        J = pattern.to_csc(jacobian)[n_v:, :n_v]
        rows, columns = self._both_in_rows
        out = np.zeros(pattern.size)
        if rows.size:
            places = self._places_in_rows
            out[places] = np.asarray((J.T @ J).tocsr()[rows, columns]).ravel()
        return out

    @cached_property
    def _places_in_rows(self) -> Ints:
        """The entries of block data between velocities that rows of constraints take part in."""
        twin = self.twin
        touched = np.zeros(twin.pattern.n, dtype=bool)
        for frame in {frame for pair in twin.layout.rows for frame in pair}:
            j = twin.layout.frame_v[frame]
            touched[j : j + twin.layout.frames[frame].freedom] = True
        rows, columns = twin.pattern.rows_columns()
        return np.flatnonzero(touched[rows] & touched[columns])

    @cached_property
    def _both_in_rows(self) -> tuple[Ints, Ints]:
        rows, columns = self.twin.pattern.rows_columns()
        return rows[self._places_in_rows], columns[self._places_in_rows]

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
        state, _ = self.forces(found.q, found.load)
        mass, stiffness, jacobian = self.matrices(state, found.q, found.multipliers, system=self.under(found.load))
        B = scaled_mass(twin.pattern, mass, stiffness)
        products = largest(stiffness) * self.products(jacobian) if twin.n_c else 0.0
        factors = twin.solver.factorise(stiffness + products + FIRST * B + jacobian)
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
    solved: Callable[[Balanced, float], Balanced], start: Balanced, last: float, part: float, smallest: float
) -> Balanced:
    """The balance at the load factor ``last``, from that of a start, in steps: halved where ``solved`` fails, else
    doubled; the first, and the smallest, are parts of the whole. Raises its SolveError where they do not suffice."""
    found, whole = start, last - start.load
    while found.load != last:
        ends_there = abs(last - found.load) <= abs(part * whole) * (1.0 + 1e-9)
        try:
            found = solved(found, last if ends_there else found.load + part * whole)
        except SolveError:
            part *= 0.5
            if part < smallest:
                raise
            continue
        part *= 2.0
    return found
