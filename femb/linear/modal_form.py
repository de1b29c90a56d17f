"""Second-order models in their own modes, with motions without stiffness apart: what A of a state space rounds away.

    p = Phi e,   Phi^T M Phi = 1,   e'' + Phi^T C Phi e' + Phi^T K Phi e = Phi^T F u

The stiffness of short elements is so large that rounding of M^-1 K hides slow motions. In these coordinates each motion
has entries of its own size, and the free ones, which come first, have a stiffness of exactly zero. Source:
docs/theory/linearisation.md, section 7.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import block_diag, expm

from femb.base.types import Complexes, Floats, Ints
from femb.layout.symmetry import nullity
from femb.numerics.linear_systems import graded
from femb.small_motions.eigenproblem import EigenProblem
from femb.system.known_motions import KnownStructure

EPS = float(np.finfo(float).eps)
# Of the sizes of terms: smaller sums are rounding.
ROUNDING = 1e-13
# Of what rounding of its terms leaves at random: a stiffness below this part is none.
ABOVE = 100.0
# Of the largest entry of a row about free motions, which is of their own size: smaller ones are zero.
NONE = 1e-9
# Of the stiffness and the damping of a mode: more rounding of the entries of matrices counts.
PRECISE = 1e-12
# K x, C x and C^T x (r, k) by coordinates x (r, k).
ExactForces = Callable[[Floats], tuple[Floats, Floats, Floats]]


@dataclass(frozen=True, eq=False)
class SecondOrderModel:
    """M q'' + C q' + K q = F u, y = P q + V q' + A q'' + D u, dense; r coordinates with names."""

    names: tuple[str, ...]
    mass: Floats
    damping: Floats
    stiffness: Floats
    forces: Floats
    position: Floats
    rate: Floats
    acceleration: Floats
    direct: Floats

    def inverse(self, s: complex) -> Complexes:
        """(r, r): (s^2 M + s C + K)^-1."""
        return np.asarray(np.linalg.inv(s * s * self.mass + s * self.damping + self.stiffness))

    def rows(self, s: complex) -> Complexes:
        """(p, r): P + s V + s^2 A."""
        return np.asarray(self.position + s * self.rate + s * s * self.acceleration, dtype=complex)

    def along(self, basis: Floats, names: tuple[str, ...]) -> "SecondOrderModel":
        """The motions q = basis x, with the names of the coordinates x."""
        M, C, K = (basis.T @ matrix @ basis for matrix in (self.mass, self.damping, self.stiffness))
        P, V, A = (rows @ basis for rows in (self.position, self.rate, self.acceleration))
        return SecondOrderModel(names, M, C, K, basis.T @ self.forces, P, V, A, self.direct)


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """z' = A z + B u, y = C z + D u of a state space in better coordinates: x = change z, z = inverse x."""

    in_place: ClassVar[bool] = False

    A: Floats
    B: Floats
    C: Floats
    change: Floats
    inverse: Floats

    @property
    def matrices(self) -> tuple[Floats, Floats, Floats]:
        """A, B and C."""
        return self.A, self.B, self.C

    @property
    def rounding(self) -> Floats:
        """Part that rounding may leave of the entries of A."""
        return EPS * np.abs(self.A)

    def sampled(self, A: Floats, B: Floats, C: Floats, period: float, held: Floats) -> "SteadyForm | None":
        """The form of the model at samples: what is kept is not known."""
        return None

    def stored(self, A: Floats, B: Floats, C: Floats) -> dict[str, Floats]:
        """The arrays of files, with matrices A, B, C by z: none, where nothing is known to be kept."""
        return {}


@dataclass(frozen=True, eq=False)
class Invariant:
    """Motions X (n, k) of a state space with A X = X rates, and momenta Y (n, j) with Y^T A = left_rates Y^T."""

    motions: Floats
    rates: Floats
    momenta: Floats
    left_rates: Floats

    @classmethod
    def of_structure(
        cls,
        structure: KnownStructure,
        screw: Floats,
        coordinates: Callable[[Floats], Floats],
        mass: Floats,
        damping: Floats,
        kinematics: Floats,
    ) -> "Invariant":
        """Motions and momenta of a structure in steady motion along a twist ``screw`` (6,), with the states (p, w).

        coordinates : p (r, k) of displacements by twists (k, 6). mass, damping (r, r) : M w' + C w + K p = 0.
        kinematics E (r, r) : p' = w + E p. Source: docs/theory/known_motions.md, equation (3).
        """
        motions, boosts, along = structure.motions, structure.boosts, structure.momenta
        by_motions, by_boosts, by_momenta = (_turning(screw, each) for each in (motions, boosts, along))
        p, still, d = coordinates(motions), np.zeros((len(mass), len(boosts))), coordinates(along)
        X = np.block([[p, still], [-p @ by_motions - kinematics @ p, coordinates(boosts)]])
        rates = np.block(
            [[-by_motions, _in_terms(motions, boosts)], [np.zeros((len(boosts), len(motions))), -by_boosts]]
        )
        # the place of the mass centre, whose rate is a momentum
        if not structure.contains(along, boosts):
            boosts, by_boosts = boosts[:0], by_boosts[:0, :0]
        places = mass @ coordinates(boosts)
        Y = np.block([[damping.T @ d + mass @ d @ by_momenta, places], [mass @ d, np.zeros_like(places)]])
        left = np.block(
            [[by_momenta.T, np.zeros((len(along), len(boosts)))], [_in_terms(along, boosts).T, by_boosts.T]]
        )
        # entries that cancel are zero: nothing sees or drives what is left of them
        return cls(columns_without_rounding(X), rates, columns_without_rounding(Y), left)

    @classmethod
    def of_speeds(
        cls, mass: Floats, damping: Floats, kinematics: Floats, stiffness: Floats, own: list[int]
    ) -> "Invariant":
        """The momenta of those of the first-order states ``own`` that nothing drives, as with wheels without friction.

        Matrices (r, r) as in ``of_structure``.
        """
        by_pose = np.max(np.abs(damping @ kinematics - stiffness), axis=1, initial=0.0)
        # a rotor on a gimbal: terms of the rotation cancel, up to what is known of this
        sizes = np.max(np.abs(damping), axis=1, initial=0.0) * np.max(np.abs(kinematics), initial=0.0)
        alone = [k for k in own if not np.any(damping[k, own]) and by_pose[k] <= NONE * sizes[k]]
        momenta = np.vstack([damping[alone].T, mass[:, alone]])
        return cls(momenta[:, :0], np.zeros((0, 0)), momenta, np.zeros((len(alone), len(alone))))

    @classmethod
    def of(
        cls,
        motion: EigenProblem,
        coordinates: Callable[[Floats], Floats],
        mass: Floats,
        damping: Floats,
        kinematics: Floats,
        stiffness: Floats,
        own: list[int],
        steady: bool = True,
    ) -> "Invariant | None":
        """The motions and momenta of all structures, in the steady motion of each, and of the first-order states
        ``own``; None where a structure notices its own motion.

        coordinates : (r, k) of displacements (n_v, k). Matrices (r, r) as in ``of_structure``. steady : whether the
        motion is; else what is known are translations, at rest and at constant velocities, which any motion leaves.
        """
        matrices, none = (mass, damping, kinematics), np.zeros((2 * len(mass), 0))
        parts = [cls.of_speeds(*matrices, stiffness, own)] if steady else []
        for each in motion.structures if steady else (each.shifted for each in motion.structures):
            screw = each.screw(motion.system, motion.q, motion.v)
            if steady and not each.leaves(screw):
                return None

            def moves(twists: Floats, of: KnownStructure = each) -> Floats:
                return coordinates(motion.moves_of(of, twists))

            parts.insert(len(parts) - steady, cls.of_structure(each, screw, moves, *matrices))
        return cls(
            np.hstack([none, *(each.motions for each in parts)]), block_diag(*(each.rates for each in parts)),
            np.hstack([none, *(each.momenta for each in parts)]), block_diag(*(each.left_rates for each in parts)),
        )  # fmt: skip

    def holds(self, A: Floats) -> bool:
        """Whether the motions are those of a matrix A (n, n), to rounding of the terms."""
        X, sizes = self.motions, np.abs(A) @ np.abs(self.motions) + np.abs(self.motions) @ np.abs(self.rates)
        return bool(np.all(np.abs(A @ X - X @ self.rates) <= NONE * np.max(sizes, axis=0, initial=0.0)))

    def of_states(self, chosen: Sequence[int]) -> "Invariant":
        return replace(self, motions=self.motions[list(chosen)], momenta=self.momenta[list(chosen)])


class KnownForm:
    """A form that knows what is ``kept``, by z: motions which no output may see, momenta which no input may change."""

    in_place: ClassVar[bool] = False
    change: Any
    inverse: Any
    rounding: Any

    def kept(self) -> Invariant:
        """The motions and momenta, whatever the outputs and inputs."""
        raise NotImplementedError

    def sampled(self, A: Floats, B: Floats, C: Floats, period: float, held: Floats) -> "SteadyForm":
        """The form of the model after periods (s), whose states begin with those of this, with its matrices A, B, C.

        held (n, m) : B of this model, by z; its inputs are states of the other one.
        """
        kept, more = self.kept(), len(A) - len(self.change)
        alone = unseen_by(kept.left_rates.T, product_without_rounding(held.T, kept.momenta, by_rows=True))
        parts = self.change @ kept.motions, self.inverse.T @ kept.momenta @ alone
        X, Y = (np.pad(part, ((0, more), (0, 0))) for part in parts)
        rates, left_rates = (expm(period * each) for each in (kept.rates, alone.T @ kept.left_rates @ alone))
        return SteadyForm.of(A, B, C, Invariant(X, rates, Y, left_rates))

    def stored(self, A: Floats, B: Floats, C: Floats) -> dict[str, Floats]:
        """The arrays of files, from which ``StoredForm.read`` makes the form again, in the order of ``graded``."""
        own = {"A": A, "B": B, "C": C, "change": self.change, "inverse": self.inverse, "noise": self.rounding}
        order = graded(A)[1]
        found = {f"form_{word}": _ordered(word, each, order) for word, each in (own | vars(self.kept())).items()}
        return found | {"form_order": order.astype(float)}

    def known(self, B: Floats, C: Floats) -> tuple[Floats, Floats, Floats]:
        """Motions (n, v) that no output C ever sees, momenta (n, w) that no input B ever changes, and L (w, w) of
        these: Y^T A = L Y^T."""
        of = self.kept()
        motions = of.motions @ unseen_by(of.rates, product_without_rounding(C, of.motions, by_rows=True))
        seen = np.vstack(
            [
                product_without_rounding(B.T, of.momenta, by_rows=True),
                product_without_rounding(motions.T, of.momenta, by_rows=True),
            ]
        )
        alone = unseen_by(of.left_rates.T, seen)
        return motions, of.momenta @ alone, alone.T @ of.left_rates @ alone


@dataclass(frozen=True, eq=False)
class SteadyForm(KnownForm, ClosedForm):
    """The states themselves, about a steady rotation or between samples, with what is ``invariant``."""

    in_place: ClassVar[bool] = True
    invariant: Invariant

    @classmethod
    def of(cls, A: Floats, B: Floats, C: Floats, invariant: Invariant) -> "SteadyForm":
        """The form of a state space with these matrices."""
        return cls(A, B, C, np.eye(len(A)), np.eye(len(A)), invariant)

    def kept(self) -> Invariant:
        return self.invariant


@dataclass(frozen=True, eq=False)
class LoopForm(ClosedForm):
    """A closed loop by the coordinates of its ``plant`` and the states of its laws, which come last.

    driven (n, m), read (p, n) : columns and rows of the plant, by z, of inputs that laws set and outputs they read.
    """

    plant: KnownForm
    driven: Floats
    read: Floats

    def known(self, B: Floats, C: Floats) -> tuple[Floats, Floats, Floats]:
        """The motions of the plant that no law sees either, the momenta that no law changes, and L of these."""
        n = len(self.plant.inverse)
        found = self.plant.known(np.hstack([self.driven, B[:n]]), np.vstack([self.read, C[:, :n]]))
        motions, momenta = (np.pad(part, ((0, len(B) - n), (0, 0))) for part in found[:2])
        return motions, momenta, found[2]


# The arrays of a form in files, and those with rows and columns by z.
STORED = ("A", "B", "C", "change", "inverse", "noise")
KEPT = tuple(each.name for each in fields(Invariant))
ROWS, COLUMNS = ("A", "B", "inverse", "noise", "motions", "momenta"), ("A", "C", "change", "noise")


def _ordered(word: str, matrix: Any, order: Ints) -> Floats:
    """An array of a file with its coordinates z in another order."""
    found = np.array(matrix, dtype=float)
    found = found[order] if word in ROWS else found
    return found[:, order] if word in COLUMNS else found


@dataclass(frozen=True, eq=False)
class StoredForm(SteadyForm):
    """A form of a file; noise : part that rounding leaves of the entries of A."""

    in_place: ClassVar[bool] = False
    noise: Floats

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> "StoredForm":
        n = len(found["form_A"])
        order = np.ravel(found.get("form_order", np.arange(n)))  # of older files as it was
        back = np.argsort(order)
        own: Any = {word: _ordered(word, found[f"form_{word}"], back) for word in STORED}
        kept = ((word, np.array(found[f"form_{word}"], dtype=float)) for word in KEPT)
        shaped = ((word, x if x.shape[0] == x.shape[1] else x.reshape(n, -1)) for word, x in kept)
        return cls(invariant=Invariant(*(_ordered(word, x, back) for word, x in shaped)), **own)

    @property
    def rounding(self) -> Floats:
        return self.noise


def _in_terms(basis: Floats, twists: Floats) -> Floats:
    """(k, j) twists (j, 6) by those of a basis (k, 6)."""
    return np.asarray(np.linalg.lstsq(basis.T, twists.T, rcond=None)[0]) if basis.size else np.zeros((0, len(twists)))


def _turning(screw: Floats, twists: Floats) -> Floats:
    """(k, k) rates of twists (k, 6) that move along a screw (6,), by these."""
    (u, w), shifts, turns = (screw[:3], screw[3:]), twists[:, :3], twists[:, 3:]
    rates = np.hstack([np.cross(w, shifts) - np.cross(turns, u), np.cross(w, turns)])
    found = _in_terms(twists, rates)
    return np.where(np.abs(found) <= ROUNDING * np.max(np.abs(found), initial=0.0), 0.0, found)


def unseen_by(rates: Floats, rows: Floats) -> Floats:
    """(k, v) orthonormal vectors c of which rows (p, k) do not see e^(rates t) c."""
    scale = np.max(np.abs(rates), initial=0.0)
    each = [rows]
    for _ in range(len(rates) - 1 if scale else 0):
        each.append(product_without_rounding(each[-1], rates / scale))
    return _null(np.eye(len(rates)), *each)


class ModalForm(KnownForm):
    """The realisation z = (e, e') of a second-order ``model``, of which motions ``free`` (r, f) have no stiffness.

    unseen : numbers of those coordinates, free too, that are no states of the state space: only their rates are.
    kept : number of the first of them along which no stiffness acts either, as on a momentum that nothing changes.
    exact : forces by coordinates as precisely as the model of elements knows them, beside the entries of K and C.
    """

    def __init__(
        self,
        model: SecondOrderModel,
        free: Floats,
        unseen: Sequence[int],
        kept: int,
        exact: "ExactForces | None" = None,
    ) -> None:
        n = len(model.names)
        units = np.eye(n)[:, list(unseen)]
        self.model, self._free = model, np.hstack([units, np.where(np.any(units, axis=1)[:, None], 0.0, free)])
        self._states = np.setdiff1d(np.arange(2 * n), unseen)
        self.unseen, self.free = len(unseen), self._free.shape[1]
        self._kept, self._exact = self.unseen + kept, exact

    @cached_property
    def shapes(self) -> Floats:
        """Phi (r, r)."""
        from scipy.linalg import cholesky, eigh, qr, solve_triangular

        M, K, f = self.model.mass, self.model.stiffness, self.free
        lower = cholesky(M, lower=True)
        axes, sizes = qr(lower.T @ self._free) if f else (np.eye(len(M)), np.zeros((0, 0)))
        whole = solve_triangular(lower, 0.5 * (K + K.T), lower=True)
        whole = solve_triangular(lower, whole.T, lower=True)
        elastic = axes[:, f:]
        if f < len(M):
            elastic = elastic @ eigh(elastic.T @ whole @ elastic)[1]
        # of the free motions themselves: in parts with little inertia they would be rounding
        free = solve_triangular(sizes[:f], self._free.T, trans="T").T if f else self._free
        return np.hstack([columns_without_rounding(free), solve_triangular(lower.T, elastic)])

    def carried(self, given: Mapping[str, float]) -> Floats | None:
        """Coordinates (r,) of the rigid motion in which the named ones have these values; None where there is none."""
        rows, values = [self.model.names.index(name) for name in given], np.array(list(given.values()))
        rigid = self._free[:, : self._kept]
        q = rigid @ np.linalg.lstsq(rigid[rows], values, rcond=None)[0]
        return q if np.allclose(q[rows], values, rtol=0.0, atol=NONE * np.max(np.abs(values))) else None

    @cached_property
    def change(self) -> Floats:
        """x of the state space by z."""
        zero = np.zeros_like(self.shapes)
        return np.block([[self.shapes, zero], [zero, self.shapes]])[self._states, self.unseen :]

    @cached_property
    def inverse(self) -> Floats:
        """z by x of the state space."""
        inner, zero = self.shapes.T @ self.model.mass, np.zeros_like(self.shapes)
        return np.block([[inner, zero], [zero, inner]])[self.unseen :, self._states]

    @cached_property
    def matrices(self) -> tuple[Floats, Floats, Floats]:
        """A, B and C by z."""
        of, Phi, f, d, n = self.model, self.shapes, self.free, self.unseen, len(self.shapes)
        K, C = self._between_modes
        K, C = K.copy(), C.copy()
        K[:, :f] = 0.0
        none = np.abs(K[:f]) <= ABOVE * self._noise(of.stiffness)[:f]
        K[:f] = np.where(none | (np.arange(f) < self._kept)[:, None], 0.0, K[:f])
        apart = np.zeros((n, n), dtype=bool)
        apart[:f] = apart[:, :f] = True
        C = np.where(apart & (np.abs(C) <= ROUNDING * (np.abs(Phi).T @ np.abs(of.damping) @ np.abs(Phi))), 0.0, C)
        F, P, V, A = (
            product_without_rounding(*pair)
            for pair in ((Phi.T, of.forces), (of.position, Phi), (of.rate, Phi), (of.acceleration, Phi))
        )
        return (
            np.block([[np.zeros((n, n)), np.eye(n)], [-K, -C]])[d:, d:],
            np.vstack([np.zeros_like(F), F])[d:],
            np.hstack([P - A @ K, V - A @ C])[:, d:],
        )

    @cached_property
    def _between_modes(self) -> tuple[Floats, Floats]:
        """Phi^T K Phi and Phi^T C Phi; of modes that the rounding of stiff members reaches by exact forces."""
        of, Phi = self.model, self.shapes
        found = [Phi.T @ matrix @ Phi for matrix in (of.stiffness, of.damping)]
        noises = [self._noise(matrix) for matrix in (of.stiffness, of.damping)]
        reached = [np.diag(noise) > PRECISE * np.abs(np.diag(part)) for part, noise in zip(found, noises, strict=True)]
        low = np.flatnonzero(reached[0] | reached[1])
        low = low[low >= self.free]
        if self._exact is None or not low.size:
            return found[0], found[1]
        of_stiffness, of_damping, of_adjoint = (Phi.T @ each for each in self._exact(Phi[:, low]))
        symmetric = bool(np.all(np.abs(found[0] - found[0].T) <= ABOVE * noises[0]))
        given = (of_stiffness, of_stiffness if symmetric else None), (of_damping, of_adjoint)
        for part, noise, (columns, rows) in zip(found, noises, given, strict=True):
            # what the elements do not know of, as the reactions of a loaded mechanism, is in the matrices alone
            if np.any(np.abs(columns - part[:, low]) > ABOVE * noise[:, low]):
                continue
            part[:, low] = columns
            if rows is not None:
                high = np.setdiff1d(np.arange(len(part)), low)
                part[np.ix_(low, high)] = rows[high].T
        return found[0], found[1]

    @cached_property
    def rounding(self) -> Floats:
        """Part that rounding of the entries of M, C and K leaves of those of A, at random."""
        A, n, f, d = self.matrices[0], len(self.shapes), self.free, self.unseen
        of_stiffness, of_damping = self._noise(self.model.stiffness), self._noise(self.model.damping)
        of_stiffness[:f] = of_stiffness[:, :f] = 0.0
        found = EPS * np.abs(A)
        found[n - d :] += np.hstack([of_stiffness, of_damping])[:, d:]
        return found

    def _noise(self, matrix: Floats) -> Floats:
        squares = self.shapes**2
        return np.asarray(EPS * np.sqrt(squares.T @ matrix**2 @ squares))

    def kept(self) -> Invariant:
        """The motions D c along free ones: (c, 0) is a state at rest, and (0, c) moves along it where nothing damps.
        The momentum e' + C e stays, and with it e where nothing damps."""
        A, f, d = self.matrices[0], self.free, self.unseen
        n = len(self.shapes)
        first, rates = f - d, slice(n - d, n - d + f)
        drags, by_rates = -A[rates, n - d :], A[n - d :, rates]
        moving, along = _null(np.eye(f), by_rates), _null(np.eye(f), A[rates, first : n - d].T)
        # the angle of a wheel is no state
        still = _null(along, drags.T, np.eye(f)[:d])
        a, m, p, s = first, moving.shape[1], along.shape[1], still.shape[1]
        X, Y = np.zeros((len(A), a + m)), np.zeros((len(A), p + s))
        X[:a, :a], X[rates, a:] = np.eye(a), moving
        Y[: n - d, :p], Y[rates, :p], Y[:a, p:] = drags.T[d:] @ along, along, still[d:]
        of_motions, of_momenta = np.zeros((a + m, a + m)), np.zeros((p + s, p + s))
        of_motions[:a, a:], of_momenta[p:, :p] = moving[d:], still.T @ along
        return Invariant(X, of_motions, Y, of_momenta)


def product_without_rounding(first: Floats, second: Floats, part: float = ROUNDING, by_rows: bool = False) -> Floats:
    """The product of two matrices, zero where it is less than this part of its terms.

    by_rows : of the largest terms in its row, where columns are any basis of their space.
    """
    product, terms = first @ second, np.abs(first) @ np.abs(second)
    if by_rows:
        terms = np.max(terms, axis=1, keepdims=True, initial=0.0)
    return np.where(np.abs(product) <= part * terms, 0.0, product)


def columns_without_rounding(x: Floats) -> Floats:
    """Columns (n, k) with zeros for entries that are rounding beside the largest one of their column."""
    return np.where(np.abs(x) <= ROUNDING * np.max(np.abs(x), axis=0, initial=0.0), 0.0, x)


def _null(within: Floats, *rows: Floats) -> Floats:
    """(f, k) orthonormal vectors of those ``within`` (f, v) that rows (m, f), each of any size, take to zero."""
    whole = np.vstack(rows)
    sizes = np.max(np.abs(whole), axis=1, initial=0.0)
    found = within @ nullity((whole[sizes > 0.0] / sizes[sizes > 0.0, None]) @ within).T
    return np.where(np.abs(found) <= ROUNDING, 0.0, found)
