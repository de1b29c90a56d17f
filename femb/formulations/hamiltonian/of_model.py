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

from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.types import Floats
from femb.base.values import given_numbers, shown
from femb.elements import Ground, JointDriver, JointSpringDamper, Latch, PointMass, RigidBody, Section
from femb.elements.joint.joint import Joint
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.formulations.hamiltonian.segments import Tree, TreeMotion
from femb.model.model import Model
from femb.numerics.rotations import cross_matrix
from femb.system.system import System

# Partial linearisation: equations linear in small coordinates theta at large coordinates s, for trees on the ground.
#
# Equations linear in theta need the kinetic energy to second order in theta and its rates together: the block of A of
# large coordinates to second order, the source of centrifugal stiffening; the mixed block to first order; the block of
# small coordinates at theta = 0. The integration of the full equations does not use these expansions.
# Source: docs/theory/hamiltonian.md, section 8, equations (17) to (21).

Law = Callable[[float, float], tuple[float, float, float]]
"""(coordinate, rate) -> the resisting torque or force, N m or N, and its derivatives by coordinate and rate."""


@dataclass(frozen=True)
class SmallMotion(Brief):
    """mass theta'' + damping theta' + stiffness theta = force, (k, k) and (k,), at given s and constant s'.

    names (k,) : of theta, rad or m; in SI units. damping includes gyroscopic and Coriolis terms, stiffness centrifugal
    ones; neither is symmetric in general.
    """

    names: tuple[str, ...]
    mass: Floats
    damping: Floats
    stiffness: Floats
    force: Floats

    def eigenvalues(self) -> Any:
        """(2 k,) complex, 1/s, by size of their imaginary part; coefficients taken as constant in time."""
        k = len(self.names)
        matrix = np.block(
            [
                [np.zeros((k, k)), np.eye(k)],
                [-np.linalg.solve(self.mass, self.stiffness), -np.linalg.solve(self.mass, self.damping)],
            ]
        )
        values = np.linalg.eigvals(matrix)
        return values[np.argsort(np.abs(values.imag), kind="stable")]


class EnergyDerivatives:
    """The energy matrix of a tree on the ground with its first and second derivatives, entry by entry.

    The derivatives by coordinate l of quantities outboard of hinge l are X_l S for a hinge motion, -X_l^T h for a
    momentum, and -X_l^T I - I X_l for an inertia, with X_l the matrix of S_l x.
    """

    def __init__(self, tree: Tree, q: Floats) -> None:
        if tree.base is not None:
            raise ModelError(
                f"partial linearisation is for trees on the ground; this one hangs on the free body {tree.base.name!r}."
                " Hold the body, or linearise the velocity form"
            )
        motion = TreeMotion.of(tree, q, np.zeros(tree.n), np.zeros(6))
        self.tree, self.S = tree, motion.S[1:]
        self._inboard = tree.ancestors
        self._composite = np.einsum("ki,iab->kab", self._inboard, motion.M[1:])
        self._F = np.einsum("kij,kj->ki", self._composite, self.S)
        self._X = np.zeros((tree.n, 6, 6))
        self._X[:, :3, :3] = self._X[:, 3:, 3:] = cross_matrix(self.S[:, :3])
        self._X[:, 3:, :3] = cross_matrix(self.S[:, 3:])
        self._composite_changes = -np.swapaxes(self._X, 1, 2) @ self._composite - self._composite @ self._X
        # mass outboard of every hinge, and its first moment
        self._mass, self._moment = self._inboard @ tree.mass, self._inboard @ (tree.mass[:, None] * motion.center[1:])

    def entry(self, i: int, j: int) -> float:
        """Entry a_ij of the energy matrix."""
        i, j = self._sorted(i, j)
        return float(self.S[i] @ self._F[j]) if self._inboard[i, j] else 0.0

    def first(self, i: int, j: int, m: int) -> float:
        """d a_ij / dq_m, equation (17)."""
        i, j = self._sorted(i, j)
        if self._between(i, m, j):
            return -float(self._X[m] @ self.S[i] @ self._F[j])
        if self._inboard[i, j] and self._outboard(j, m):
            return float(self.S[i] @ self._composite_changes[m] @ self.S[j])
        return 0.0

    def second(self, i: int, j: int, m: int, k: int) -> float:
        """d2 a_ij / dq_m dq_k, equation (18)."""
        i, j = self._sorted(i, j)
        m, k = self._sorted(m, k)
        X, S = self._X, self.S
        if not self._inboard[m, k]:
            return 0.0
        if self._between(i, m, j):
            if self._between(i, k, j):
                return float((X[k] @ X[m] @ S[i]) @ self._F[j])
            return -float((X[m] @ S[i]) @ self._composite_changes[k] @ S[j])
        if self._inboard[i, j] and self._outboard(j, m):
            return -float(
                (X[m] @ S[i]) @ self._composite_changes[k] @ S[j] + S[i] @ self._composite_changes[k] @ X[m] @ S[j]
            )
        return 0.0

    def weight(self, m: int, k: int) -> float:
        """Second derivative of the potential of gravity by q_m and q_k, equation (21)."""
        m, k = self._sorted(m, k)
        if not self._inboard[m, k]:
            return 0.0
        shift = np.cross(self.S[k, :3], self._moment[k]) + self._mass[k] * self.S[k, 3:]
        return -float(self.S[m, :3] @ np.cross(shift, self.tree.gravity))

    def pull(self, m: int) -> float:
        """First derivative of the potential of gravity by q_m."""
        moment = np.cross(self._moment[m], self.tree.gravity)
        return -float(self.S[m, :3] @ moment + self.S[m, 3:] @ self.tree.gravity * self._mass[m])

    def _sorted(self, i: int, j: int) -> tuple[int, int]:
        return (i, j) if i <= j else (j, i)  # parents come first

    def _outboard(self, j: int, m: int) -> bool:
        return bool(m != j and self._inboard[j, m])

    def _between(self, i: int, m: int, j: int) -> bool:
        """Whether m is outboard of i on the path to j, j included."""
        return self._outboard(i, m) and bool(self._inboard[m, j])


def expanded_energy_matrix(tree: Tree, q: ArrayLike, small: Sequence[str]) -> Floats:
    """A (n, n) at q to the orders that equations linear in the small coordinates need; exact without any.

    The error of the kinetic energy is of third order in the small coordinates and their rates.
    """
    q = tree.array(q).copy()
    indices = [tree.index(name) for name in small]
    theta = dict(zip(indices, q[indices], strict=True))
    q[indices] = 0.0
    d, A = EnergyDerivatives(tree, q), np.zeros((tree.n, tree.n))
    for i in range(tree.n):
        for j in range(i, tree.n):
            order = 2 - (i in theta) - (j in theta)
            value = d.entry(i, j)
            if order > 0:
                value += sum(d.first(i, j, m) * x for m, x in theta.items())
            if order > 1:
                value += 0.5 * sum(d.second(i, j, m, k) * x * y for m, x in theta.items() for k, y in theta.items())
            A[i, j] = A[j, i] = value
    return A


def linearise(
    tree: Tree,
    small: Sequence[str],
    q: ArrayLike | None = None,
    rate: ArrayLike | None = None,
    laws: Sequence[tuple[int, Law]] = (),
) -> SmallMotion:
    """Small motion of some coordinates of a tree while the others are at q and move at constant rates.

    q, rate: arrays (n,) or numbers by name; entries of small coordinates are not read. laws: hinges and their laws,
    in addition to the tree's springs and dampers. Equations (19) and (20).
    """
    indices = [tree.index(name) for name in small]
    x, v = tree.array(q).copy(), tree.array(rate, "rates").copy()
    x[indices], v[indices] = 0.0, 0.0
    d, moving = EnergyDerivatives(tree, x), [int(m) for m in np.flatnonzero(v)]
    k = len(indices)
    mass, damping, stiffness, force = np.zeros((k, k)), np.zeros((k, k)), np.zeros((k, k)), np.zeros(k)
    for a, i in enumerate(indices):
        force[a] = -d.pull(i) + tree.stiffness[i] * tree.rest[i]
        for m in moving:
            for n in moving:
                force[a] -= v[m] * v[n] * (d.first(m, i, n) - 0.5 * d.first(m, n, i))
        for b, j in enumerate(indices):
            mass[a, b] = d.entry(i, j)
            stiffness[a, b] = d.weight(i, j)
            for m in moving:
                damping[a, b] += v[m] * (d.first(m, i, j) - d.first(m, j, i) + d.first(i, j, m))
                for n in moving:
                    stiffness[a, b] += v[m] * v[n] * (d.second(m, i, n, j) - 0.5 * d.second(m, n, i, j))
        damping[a, a] += tree.damping[i]
        stiffness[a, a] += tree.stiffness[i]
        for resisting, by_coordinate, by_rate in (law(0.0, 0.0) for hinge, law in laws if hinge == i):
            force[a] -= resisting
            stiffness[a, a] += by_coordinate
            damping[a, a] += by_rate
    return SmallMotion(tuple(small), mass, damping, stiffness, force)


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
    """The energy matrix of a model, a tree of rigid bodies, at joint coordinates q, by equation (7).

    Parameters:
        model: a tree of rigid bodies.
        q: values by name, others as at the model's start, or an array (n,), rad or m.
        small: names of small coordinates: A is expanded to the orders needed for equations linear in them; only for a
            tree on the ground.

    Raises:
        ModelError: beams, closed loops, several trees, an unknown coordinate, small coordinates on a free base.
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
    """Equations of small motion of some joint coordinates. The others are at q and move at constant rates.

    Second-order terms that large motions cause in the equations, such as centrifugal stiffness, are included: equations
    (19) and (20). The derivatives that a user's law of a spring (``JointSpringDamper.force``) returns are included.

    Parameters:
        model: a tree of rigid bodies on the ground.
        small: names of the coordinates.
        q: values by name, others as at the model's start; or an array (n,), rad or m.
        rate: rates by name, others as at the model's start; or an array (n,), rad/s or m/s.

    Raises:
        ModelError: a model that is not a tree of rigid bodies on the ground, loads and other springs, a law without
            derivatives.
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
