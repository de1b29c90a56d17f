"""The equations of a tree in coordinates and momenta: y' = f(t, y).

States y, about which nothing is hidden here: (q, p) on the ground, (r, e, q, L, P, p) on a free base, as in
``rate_kernels``. Total momenta L and P are states, so that in free flight any integrator keeps them to the last bit.
Source: docs/theory/hamiltonian.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.checks import array_problem
from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.formulations.hamiltonian.actions import Drive, GeneralizedForce, Load, Potential, at_time
from femb.formulations.hamiltonian.momentum_kernels import energy_matrix
from femb.formulations.hamiltonian.motion import Motion, TreeAccelerations, accelerations_of, motion_of
from femb.formulations.hamiltonian.rate_kernels import state_rates
from femb.formulations.hamiltonian.tree import GROUND, Tree

# The recursion is the cheaper one from a single segment to 500 (tests/bench/bench_chain.py); "dense" is its check.
METHODS = ("recursive", "dense")


class HamiltonianForm:
    """A Tree under loads, potentials, generalized forces and drives; evaluating it changes nothing.

    method : how velocities follow from momenta: "recursive", cost O(n), or "dense", by the energy matrix and its
    factors. Raises ModelError for names that are not in the tree.
    """

    def __init__(
        self,
        tree: Tree,
        loads: Sequence[Load] = (),
        potentials: Sequence[Potential] = (),
        forces: Sequence[GeneralizedForce] = (),
        drives: Sequence[Drive] = (),
        method: str = "recursive",
    ) -> None:
        if method not in METHODS:
            raise ModelError(f"method: got {method!r}, must be one of {', '.join(map(repr, METHODS))}")
        self.tree, self.loads, self.potentials, self.forces = tree, tuple(loads), tuple(potentials), tuple(forces)
        self.drives, self.method = tuple(drives), method
        n, free = tree.n, tree.floating
        self.n_y = 2 * n + (13 if free else 0)
        self.q_slice = slice(7, 7 + n) if free else slice(0, n)
        self.p_slice = slice(self.n_y - n, self.n_y)
        dense = method == "dense"
        self._switches = np.array([free, dense, False], dtype=np.int64)
        self._no_forces = np.array([free, dense, True], dtype=np.int64)
        self._places = np.zeros((len(loads), 2), dtype=np.int64)
        self._loads = np.zeros((len(loads), 9))
        for m, load in enumerate(self.loads):
            k = tree.body(load.body)
            for word in ("force", "torque", "at"):
                if text := array_problem(getattr(load, word), (3,)):
                    raise ModelError(f"load on {load.body!r}, {word}: {text}")
            at = np.asarray(load.at, dtype=float) + (tree.origin[k] if k != GROUND else 0.0)
            self._places[m] = k + 1, load.follower
            self._loads[m] = np.concatenate([at, load.force, load.torque])
        self._driven = np.zeros(n, dtype=np.bool_)
        for drive in self.drives:
            k = tree.index(drive.coordinate)
            if self._driven[k]:
                raise ModelError(f"hinge coordinate {drive.coordinate!r} is driven or latched twice; leave one out")
            self._driven[k] = True
        self._drive_rows = np.array([tree.index(drive.coordinate) for drive in self.drives], dtype=int)
        varying = any(callable(load.factor) for load in loads) or any(callable(each.rate) for each in drives)
        self._acts = bool(self.potentials or self.forces)
        self._constant = None if varying else self._inputs(0.0, 1)

    # Rates

    def rates(self, t: float | ArrayLike, Y: Floats) -> Floats:
        """(s, n_y) of states Y (s, n_y) at one time or at s times; raises SolveError at a singular posture."""
        return self._evaluate(t, np.ascontiguousarray(Y), self._switches)[0]

    def velocities(self, t: float, y: Floats) -> tuple[Floats, Floats]:
        """Hinge rates (n,) and spatial velocities (n + 1, 6) about the base's origin, base first, of a state."""
        _, rate, v = self._evaluate(t, y[None], self._no_forces)
        return rate[0], v[0]

    def _evaluate(self, t: Any, Y: Floats, switches: Any) -> tuple[Floats, Floats, Floats]:
        tree, count = self.tree, len(Y)
        factors, given = (
            self._constant if self._constant and len(self._constant[0]) == count else self._inputs(t, count)
        )
        out, rate = np.empty_like(Y), np.empty((count, tree.n))
        v = np.empty((count, tree.n + 1, 6))
        extra = np.zeros((count if self._acts else 1, tree.n))
        arguments = tree.parent_rows, tree.data
        if self._acts and not switches[2]:
            if self.forces:
                state_rates(
                    *arguments,
                    self._no_forces,
                    self._driven,
                    given,
                    tree.gravity,
                    self._places,
                    self._loads,
                    factors,
                    extra,
                    Y,
                    rate,
                    v,
                    out,
                )
            instants = np.broadcast_to(t, (count,))
            for s in range(count):
                extra[s] = self.generalized(instants[s], Y[s, self.q_slice], rate[s])
        failed = state_rates(
            *arguments,
            switches,
            self._driven,
            given,
            tree.gravity,
            self._places,
            self._loads,
            factors,
            extra,
            Y,
            rate,
            v,
            out,
        )
        if failed:
            raise self._singular(failed - 1, Y, t)
        return out, rate, v

    def jacobian(self, t: float, y: Floats) -> Floats:
        """(n_y, n_y): what is stiff in the derivative of the rates, for simplified Newton iteration (Gauss steppers).

        Springs, dampers and the hessians of potentials over the energy matrix; derivatives of that matrix, of gravity
        and of loads are left out, which the iteration makes good as long as the step resolves the motion itself.
        """
        tree, free = self.tree, self._driven == 0
        mobility = self._mobility(t, y)
        K = np.diag(tree.stiffness)
        for potential in self.potentials:
            second = getattr(potential, "hessian", None)
            K = K + (second(y[self.q_slice]) if second is not None else 0.0)
        J = np.zeros((self.n_y, self.n_y))
        J[self.q_slice, self.p_slice] = mobility[6:, 6:]
        J[self.p_slice, self.q_slice] = -K * free[:, None]
        J[self.p_slice, self.p_slice] = -(tree.damping * free)[:, None] * mobility[6:, 6:]
        return J

    def _mobility(self, t: float, y: Floats) -> Floats:
        """(6 + n, 6 + n): the inverse of the energy matrix, zero for what does not move."""
        tree = self.tree
        motion = self.motion(t, y)
        A = np.zeros((6 + tree.n, 6 + tree.n))
        energy_matrix(tree.parent_rows, motion.S, motion.M.copy(), A)
        A = np.tril(A) + np.tril(A, -1).T
        moving = np.concatenate([np.full(6, tree.floating), self._driven == 0])
        mobility = np.zeros_like(A)
        mobility[np.ix_(moving, moving)] = np.linalg.inv(A[np.ix_(moving, moving)])
        return mobility

    def inertia(self, t: float, y: Floats) -> Floats:
        """(6 + n,): what the base's six velocities and each hinge rate move, all others left to follow; inf for none.

        The reciprocals of the diagonal of the inverse energy matrix: a momentum's error over this is a velocity's.
        """
        mobility = np.diag(self._mobility(t, y))
        return np.divide(1.0, mobility, out=np.full(mobility.size, np.inf), where=mobility > 0.0)

    def generalized(self, t: float, q: Floats, rate: Floats) -> Floats:
        """(n,) forces of potentials and generalized forces; hinge springs and dampers are the kernels'."""
        total = np.zeros(self.tree.n)
        for potential in self.potentials:
            total -= potential.gradient(q)
        for force in self.forces:
            total += force(t, q, rate)
        return total

    def _inputs(self, t: Any, count: int) -> tuple[Floats, Floats]:
        """Factors of loads (count, loads) and rates of driven hinges (count, n) at the times."""
        instants = np.broadcast_to(t, (count,))
        factors, given = np.empty((count, len(self.loads))), np.zeros((count, self.tree.n))
        for m, load in enumerate(self.loads):
            factors[:, m] = [at_time(load.factor, x) for x in instants]
        for k, drive in zip(self._drive_rows, self.drives, strict=True):
            given[:, k] = [at_time(drive.rate, x) for x in instants]
        return factors, given

    def _singular(self, k: int, Y: Floats, t: Any) -> Exception:
        if not np.all(np.isfinite(Y)):
            return SolveError("the state is not finite: the step is too long for this motion; try a smaller one")
        tree = self.tree
        outboard = np.flatnonzero(tree.ancestors[k])[:4]
        at = ", ".join(f"{tree.names[i]} = {Y[0, self.q_slice][i]:.6g}" for i in outboard)
        return SolveError(
            f"hinge coordinate {tree.names[k]!r} moves no mass that outboard hinges do not move as well, at "
            f"t = {np.min(t):.6g} s, {at}: three hinge axes lie in a plane (a ball of three hinges with its middle "
            "one at +-90 degrees), or a body has no inertia about its own axis. Choose another sequence of axes, or a "
            "free base for large rotations"
        )

    # States

    def state(
        self,
        q: ArrayLike | Mapping[str, float] | None = None,
        rate: ArrayLike | Mapping[str, float] | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Floats:
        """y (n_y,) of hinge coordinates and rates (arrays, or numbers by name), and of the base where it is free.

        position, velocity: of the origin of its frame, inertial axes; angular_velocity: its own axes.
        """
        from femb.numerics.rotations import normalise, rotation_matrix

        tree = self.tree
        shapes = {"position": (position, 3), "quaternion": (quaternion, 4), "velocity": (velocity, 3)}
        for word, (value, size) in (shapes | {"angular_velocity": (angular_velocity, 3)}).items():
            if text := array_problem(value, (size,)):
                raise ModelError(f"{word} of the base: {text}")
        q, rate = tree.array(q), tree.array(rate, "rates")
        y = np.zeros(self.n_y)
        y[self.q_slice] = q
        base = np.zeros(6)
        if tree.floating:
            y[:3], y[3:7] = position, normalise(quaternion)
            base[:3] = rotation_matrix(y[3:7]) @ np.asarray(angular_velocity, dtype=float)
            base[3:] = velocity
        motion = Motion.of(tree, y[self.q_slice], rate, base, y[:7] if tree.floating else None)
        y[self.p_slice] = motion.p
        if tree.floating:
            y[7 + tree.n : 10 + tree.n] = motion.h[0, :3] + np.cross(y[:3], motion.h[0, 3:])
            y[10 + tree.n : 13 + tree.n] = motion.h[0, 3:]
        return y

    def motion(self, t: float, y: Floats) -> Motion:
        """Everything about a state that is not an acceleration."""
        return motion_of(self, t, y)

    def accelerations(self, t: float, y: Floats) -> TreeAccelerations:
        """Accelerations, hinge forces and what the drives exert."""
        return accelerations_of(self, t, y)

    def potential_energy(self, q: Floats, motion: Motion) -> float:
        """J: gravity, hinge springs and potentials."""
        tree = self.tree
        weight = -float(np.sum(tree.data[:, 0] * ((motion.center + motion.origin_of_base) @ tree.gravity)))
        springs = 0.5 * float(tree.stiffness @ (q - tree.rest) ** 2)
        return weight + springs + float(sum(each.value(q) for each in self.potentials))

    def energy(self, t: float, y: Floats) -> float:
        """Kinetic and potential energy, J."""
        motion = self.motion(t, y)
        return motion.kinetic_energy + self.potential_energy(y[self.q_slice], motion)

    # Changes of the tree on the way

    def latched(self, coordinate: str) -> "HamiltonianForm":
        """The form with a hinge held from now on; states go on unchanged: the latch's impulse enters only its own p."""
        return self._with((*self.drives, Drive(coordinate)))

    def released(self, coordinate: str, t: float, y: Floats) -> tuple["HamiltonianForm", Floats]:
        """The form with a driven or latched hinge let go at time t, and the state with the momentum it then has."""
        k = self.tree.index(coordinate)
        kept = tuple(drive for drive in self.drives if drive.coordinate != coordinate)
        if len(kept) == len(self.drives):
            raise ModelError(f"hinge coordinate {coordinate!r} is neither driven nor latched, so it cannot be released")
        y = y.copy()
        y[self.p_slice.start + k] = self.motion(t, y).p[k]
        return self._with(kept), y

    def _with(self, drives: tuple[Drive, ...]) -> "HamiltonianForm":
        return HamiltonianForm(self.tree, self.loads, self.potentials, self.forces, drives, self.method)
