"""Sparse linear models: small motions of any number of elements, with inputs and outputs by name.

    M p'' + (C + G) p' + K p + J^T mu = F u,   J p = 0,   y = P p + V p' + A p'' + D u

in the coordinates of ``femb.small_motions.eigenproblem``; nothing dense has n rows and n columns.
Source: docs/theory/linearisation.md, section 7.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError, SolveError
from femb.base.html import Brief
from femb.base.types import Complexes, Floats
from femb.base.values import check_choice
from femb.layout.element import LowRank
from femb.linear.response import FrequencyResponse, checked_frequencies
from femb.linear.rows import Rows, grounded, rows_of
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import FreeMotions, free_motions
from femb.small_motions.point import OperatingPoint, check_differentiable
from femb.small_motions.rest import left_out_at_rest, warn_of_rest
from femb.system.block_lu import AnyFactorisation, SingularError
from femb.vibration.completion import given, mean_system_of, system_at
from femb.vibration.damping_ratios import ratio_of_modes, with_ratio, without_own_ratios

if TYPE_CHECKING:
    from scipy.sparse import csc_array

    from femb.case import Given
    from femb.system.system import System

# Of a solution in the frequency domain: above this step, relative to the largest displacement, it is refined once more.
REFINED, REFINEMENTS = 1e-13, 30
# Of the largest of some steps of refinements that no longer fall: so many times it may be missing.
PROBES, STALLED = 4, 10.0
# Of the acceleration: this damping keeps the factors of a structure without its modal damping regular at resonances.
DETUNED = 1e-6
# Of the work of a force: above this the stiffness is taken by exact products.
PRECISE = 1e-10
# Of the terms of a transfer function, and of displacements by the largest: what rounding may leave where they cancel.
ROUNDING, EVERYWHERE = 1e-11, 1e-13


@dataclass(frozen=True, eq=False)
class LinearModel(Brief):
    """Small motions about a state, sparse, with m inputs and p outputs.

    motion : matrices, constraints and what is held. rows : F (n_v, m), P, V, A (p, n_v), D (p, m) and their names.
    hub : the body on which appendages are, or None. ratio (-) : damping ratio of the modes that
    are damped in place of the modal damping of the case; None where it is as the case says.
    """

    motion: EigenProblem
    rows: Rows
    hub: str | None = None
    ratio: float | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """(m,) names."""
        return self.rows.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """(p,) names."""
        return self.rows.outputs

    @property
    def units(self) -> Mapping[str, str]:
        """SI units of inputs and outputs by name, where known."""
        return self.rows.units

    @cached_property
    def matrices(self) -> "tuple[csc_array, csc_array, csc_array, csc_array]":
        """M, C + G, K (n_v, n_v) and J (n_c, n_v), scipy.sparse; rows and columns of what is held are among them."""
        n, to_csc = self.motion.system.n_v, self.motion.system.pattern.to_csc
        of = self.motion
        M, C, K = (to_csc(data)[:n, :n] for data in (of.mass, of.damping, of.stiffness))
        return M, C, K, to_csc(of.jacobian)[n:, :n]

    def with_ratio(self, given: float | None, momenta: Floats, omega: Floats) -> "LinearModel":
        """The model with a ratio of some modes in place of modal damping: the ``given`` one, or the default one if the
        model has no modal damping.

        given : a damping ratio, without unit.
        momenta (n_v, k) and omega (k,) : as in ``femb.vibration.damping_ratios.with_ratio``.
        """
        ratio = ratio_of_modes(self.motion.system.model, given)
        if ratio is None:
            return self
        return self.with_low_rank(with_ratio(self.motion, ratio, momenta, omega).low_rank, ratio)

    def with_low_rank(self, other: LowRank, ratio: float) -> "LinearModel":
        """The model with ``other`` modal damping, of one ratio."""
        own, through = self.motion.low_rank, self.rows.through
        # the reactions of joints balance these forces
        change = (through @ own.left) @ own.damping.T - (through @ other.left) @ other.damping.T
        rates, held = self.rows.rates, self.motion.held
        lost = own.left @ (own.damping.T @ rates) - other.left @ (other.damping.T @ rates)
        rows = replace(
            self.rows,
            rate=self.rows.rate + np.where(held, 0.0, change),
            direct=self.rows.direct + change @ rates,
            forces=self.rows.forces + np.where(held[:, None], 0.0, lost),
        )
        return replace(self, motion=replace(self.motion, low_rank=other), rows=rows, ratio=ratio)

    def frequency_response(self, frequencies: ArrayLike) -> FrequencyResponse:
        """The transfer matrices at frequencies (f,) in Hz, each by one sparse factorisation.

        Raises ModelError: frequencies that are not positive; SolveError: a resonance without damping.
        """
        found = checked_frequencies(frequencies)
        parts = [self._transfer(2j * np.pi * frequency) for frequency in found]
        values, rounding = np.array([value for value, _ in parts]), np.array([size for _, size in parts])
        return FrequencyResponse(found, values, self.outputs, self.inputs, rounding, self.units)

    def transfer(self, s: complex) -> Complexes:
        """(p, m) transfer matrix at s, 1/s."""
        return self._transfer(s)[0]

    def _transfer(self, s: complex) -> tuple[Complexes, Floats]:
        """The transfer matrix (p, m), and what rounding may leave of it."""
        x, noise = self._motions(s, self.rows.forces)
        rows = self.rows
        of_x = rows.position + s * rows.rate + s * s * rows.acceleration
        rounding = ROUNDING * np.abs(x) + noise * np.max(np.abs(x), axis=0, initial=0.0)
        return of_x @ x + rows.direct, np.abs(of_x) @ rounding + ROUNDING * np.abs(rows.direct)

    def _motions(self, s: complex, forces: Floats) -> tuple[Complexes, float]:
        """(n_v, k): displacements by forces (n_v, k) at e^(s t), and their rounding relative to the largest."""
        of, n = self.motion, self.motion.system.n_v
        detuned = DETUNED * s * abs(s) if of.low_rank.rank else 0.0
        try:
            factors = of.factorise((s * s + detuned) * of.mass + s * of.damping + of.stiffness)
        except SingularError as error:
            raise SolveError(f"frequency response: singular at {abs(s) / (2 * np.pi):.6g} Hz, a resonance") from error
        equations = _Equations(self, s, factors)
        solutions = [equations.solve(force) for force in np.where(of.held[:, None], 0.0, forces).T]
        noise = max((size for _, size in solutions), default=0.0)
        return np.array([x for x, _ in solutions], dtype=complex).reshape(-1, n).T, max(noise, EVERYWHERE)

    @cached_property
    def _free(self) -> FreeMotions:
        """Motions that nothing resists."""
        return free_motions(self.motion).undamped(self.motion)

    @cached_property
    def _squares(self) -> Floats:
        """Squares of the entries of the stiffness."""
        return np.asarray(self.motion.stiffness**2)

    def _product(self, s: complex, x: Complexes) -> Complexes:
        """(s^2 M + s (C + G) + K) x (n_v,), without modal damping."""
        M, C, K, _ = self.matrices
        return np.asarray(s * s * (M @ x) + s * (C @ x) + K @ x)

    def _exact_product(self, s: complex, x: Complexes) -> Complexes:
        """The product of ``_product`` without rounding of large stiffness terms."""
        of, (M, C, _, _) = self.motion.exact, self.matrices
        real, imaginary = x.real.copy(), x.imag.copy()
        damping = of.damping(real) + 1j * of.damping(imaginary) if C.count_nonzero() else 0.0
        return np.asarray(s * s * (M @ x) + s * damping + of.stiffness(real) + 1j * of.stiffness(imaginary))


class _Equations:
    """The equations of motion at e^(s t), of unknowns [p, mu, a]: displacements p beside motions D a that nothing
    resists, and multipliers mu.

    The motions D a follow from their momenta, and p from forces without these: beside the stiffness of a structure of
    short elements the inertia of a slow motion is less than rounding. Modal damping U V^T is left out of ``factors``,
    and added by Woodbury's formula; refinement takes out what factors lack (``DETUNED``).
    """

    def __init__(self, model: LinearModel, s: complex, factors: AnyFactorisation) -> None:
        self.model, self.s, self.factors, self.free = model, s, factors, model._free
        self.n, low, held = model.motion.system.n_v, model.motion.low_rank, model.motion.held[:, None]
        self._left = self._forces(np.where(held, 0.0, low.left))
        right = np.where(held, 0.0, s * low.damping + low.stiffness)
        self._right = np.vstack([right, np.zeros((model.motion.system.n_c, low.rank)), self.free.shapes.T @ right])
        self._by_left = np.array([self._without_low_rank(x) for x in self._left.T]).reshape(self._left.T.shape).T
        self._small = np.eye(low.rank) + self._right.T @ self._by_left

    def solve(self, force: Floats) -> tuple[Complexes, float]:
        """The motion (n_v,) by a force (n_v,), refined, and its last step relative to it."""
        n, (right,) = self.n, self._forces(force[:, None]).T
        x = self._solved(right)
        squares = np.abs(x[:n]) ** 2
        rounding = np.finfo(float).eps * np.sqrt(squares @ self.model.motion.times(self.model._squares, squares))
        exact = rounding > PRECISE * abs(x[:n] @ right[:n])
        Z = partial(self.model._exact_product if exact else self.model._product, self.s)
        size = np.inf
        stalled: list[float] = []
        for _ in range(REFINEMENTS):
            step = self._solved(right - self._product(Z, x))
            previous, size = size, float(np.max(np.abs(step[:n]), initial=0.0))
            if stalled or size >= 0.5 * previous:
                # of rounding alone, now larger, now smaller: the largest of some tells what it is
                stalled.append(max(size, previous) if not stalled else size)
            if len(stalled) == PROBES:
                size = STALLED * max(stalled)
                break
            x = x + step
            if size <= REFINED * np.max(np.abs(x[:n]), initial=0.0):
                break
        motion = x[:n] + self.free.shapes @ x[len(x) - self.free.count :]
        return motion, size / max(float(np.max(np.abs(motion), initial=0.0)), np.finfo(float).tiny)

    def _forces(self, forces: Floats) -> Floats:
        """Right-hand sides (n_v + n_c + r, k) of forces (n_v, k)."""
        rigid = self.free.shapes.T @ forces
        none = np.zeros((self.model.motion.system.n_c, forces.shape[1]))
        return np.vstack([forces - self.free.momenta @ rigid, none, rigid])

    def _without_low_rank(self, right: Complexes) -> Complexes:
        """The solution without modal damping."""
        last = len(right) - self.free.count
        x: Complexes = self.factors.solve(right[:last].astype(complex))
        x[: self.n] = self.free.without(x[: self.n])  # type: ignore[arg-type]
        return np.concatenate([x, right[last:] / self.s**2])

    def _solved(self, right: Complexes) -> Complexes:
        x = self._without_low_rank(right)
        return np.asarray(x - self._by_left @ np.linalg.solve(self._small, self._right.T @ x))

    def _product(self, Z: Callable[[Complexes], Complexes], x: Complexes) -> Complexes:
        n, last, free, J = self.n, len(x) - self.free.count, self.free, self.model.matrices[3]
        forces = np.where(self.model.motion.held, 0.0, Z(x[:n]) + J.T @ x[n:last])
        forces = forces - free.momenta @ (free.shapes.T @ forces)
        without = np.concatenate([forces, J @ x[:n], self.s**2 * x[last:]])
        return np.asarray(without + self._left @ (self._right.T @ x))


def linear_model(
    model: "Given | System",
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    held: str | None = None,
    hub: str | None = None,
    start: str | None = None,
    own_ratios: bool = True,
) -> LinearModel:
    """The sparse linear model of small motions about a state at rest, or in steady rotation.

    First-order states, as the speeds of wheels, keep their values at rest.

    Parameters:
        model: or a System of it, a case, or the path of its file.
        inputs: names, as in ``linearize``, and beside them appendages.NAME.force and .torque (on their root), and the
            acceleration and angular_acceleration of the base: "ground.acceleration", or "bodies.NAME.acceleration" of
            the body that is held.
        outputs: names, as in ``linearize``, and beside them appendages.NAME.force and .torque.
        held: a body that does not move.
        hub: the body whose appendages are meant, by default the held one.
        start: the state, by default that of the case, else "as_given": at rest and without loads; "equilibrium" with
            weight, loads and rotation.
        own_ratios: whether reduced bodies have their own damping; a ratio of modes that is given takes its place.

    Raises:
        ModelError: unknown names, a state that is not steady.
        SolveError: no equilibrium.
    """
    if isinstance(model, OperatingPoint):
        raise ModelError("linear model: got an operating point, wanted a model, whose state start says")
    model, start = given(model, start)
    loaded = start == "equilibrium"
    if loaded:
        model = mean_system_of(model)
        check_differentiable(model, 0.0, model.q0, model.v0)
    system = system_at(model, start) if own_ratios else without_own_ratios(system_at(model, start))
    for word, name in (("held", held), ("hub", hub)):
        if name is not None:
            check_choice(f"linear model: {word}", name, system.layout.bodies, "bodies")
    motion = _motion(system, loaded, held, hub)
    if not loaded:
        warn_of_rest("linear model", left_out_at_rest(motion))
    hub = hub or held
    return LinearModel(motion, rows_of(motion, inputs, outputs, hub, held, loaded), hub)


def _motion(system: "System", loaded: bool, held: str | None, hub: str | None) -> EigenProblem:
    """Small motions with a body held; also its hub can be held later, for modes of appendages."""
    motion = EigenProblem.of(system, loaded, held=held or hub, states=True)
    if held is None and hub is not None:
        frame = motion.system.layout.bodies[hub]
        if frame not in grounded(motion):
            free = motion.held.copy()
            free[motion.velocities_of(frame)] = False
            motion = replace(motion, held=free)
    return motion
