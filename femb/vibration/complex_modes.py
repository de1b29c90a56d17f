"""Complex modes of damped and of spinning structures, by shift-invert Arnoldi on the block factorisation.

    (lambda^2 M + lambda (C + G) + K) phi + J^T mu = 0,   J phi = 0

In first order, with x = (phi, lambda phi), (A - s)^-1 takes one factorisation of s^2 M + s (C + G) + K.
Source: docs/theory/modes.md, equation (9).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats, Ints
from femb.base.values import without_rounding
from femb.layout.connections import groups_of
from femb.layout.symmetry import twists
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import FreeMotions, with_turned
from femb.small_motions.strains import Motion, of_columns
from femb.system.block_lu import SingularError
from femb.system.known_motions import KnownStructure
from femb.system.rigid_motion import angle_turned
from femb.vibration.eigen import (
    REFINED,
    REFINEMENTS,
    ROUNDED,
    SURE,
    freedoms,
    is_symmetric,
    orthonormal,
    rounding,
    without_forces,
)
from femb.vibration.flexibility import Flexibility
from femb.vibration.slow_modes import SLOW, SlowModes, of_unit_mass, stiffness_of_rigid

# Rigid-body motions of damped and of spinning structures as states, separated exactly: with x = (p, p'), x' = A x,
#
#     A X = X L,   Y^T A = L Y^T,   Y^T X = 1,   P = 1 - X Y^T
#
# for the invariant subspace X of motions that symmetries of space give: of a free structure that turns at w about n,
# its place along n and its angle about n with their rates (0, double), its place across n with the rate (+-i w, double)
# and the tilt of n (+-i w). They have defective eigenvalues, which an eigenvalue solver returns as clusters about the
# true ones. Y follows from X, since x_i^T W x with W = [C, M; -M, 0] is constant along every motion: momenta, mass
# centre. Source: docs/theory/modes.md, section 4.

# Residual of a motion, relative to its terms, up to which it is one of the structure.
EXACT = 1e-10
# Of the terms by which rates of motions without stiffness act on such motions: below this they do not.
COUPLED = 1e-7
# Corrections of slow displacements by deformation: each gains the square of the rate by the lowest frequency.
DEFORMED = 4
# Of the products of left and right vectors: below this they are not those of the whole subspace.
DEPENDENT = 1e-10


@dataclass(frozen=True, eq=False)
class RigidStates:
    """states X, left Y (2 n_v, d) with Y^T X = 1, and rates L (d, d): A X = X L. Y = [.., M Z] with adjoint Z (n_v, d).

    across : number of rigid-body motions that rest in inertial axes, seen from axes that turn: two translations and the
    tilt of each free structure. spins (g,) rad/s : of these structures. steady : places of first-order states among
    them, each with the coordinate that no equation reads.
    """

    states: Floats
    left: Floats
    adjoint: Floats
    rates: Floats
    across: int
    spins: Floats
    steady: Ints

    def without(self, x: Floats) -> Floats:
        """x (2 n_v,) less its part along these states."""
        projected: Floats = x - self.states @ (self.left.T @ x)
        return projected


def rigid_states(motion: EigenProblem, free: FreeMotions, lowest: float) -> RigidStates:
    """The states of motions without stiffness, of wheels that keep their speed, and of free structures that turn.

    free : motions without stiffness. lowest : omega^2 of the lowest other one, rad2/s2. Raises SolveError.
    """
    still, (free, steady) = free, free.with_states(motion)
    unforced = is_symmetric(motion) or _unforced(motion, free)
    parts = [_at_zero(motion, free, still, lowest) if unforced else _chains(free.undamped(motion).shapes, None)]
    spins = []
    if motion.spinning:
        for structure in motion.structures:
            found = _across(motion, structure)
            if found is not None:
                parts.append(found[:2])
                spins.append(found[2])
    X = np.hstack([states for states, _ in parts])
    sizes = np.linalg.norm(X, axis=0)
    rates = np.zeros((X.shape[1], X.shape[1]))
    at = 0
    for states, own in parts:
        rates[at : at + states.shape[1], at : at + states.shape[1]] = own
        at += states.shape[1]
    X, rates = X / sizes, sizes[:, None] * rates / sizes
    Y = _conserved(motion, X)
    products = Y.T @ X
    scale = np.linalg.norm(Y, axis=0)
    values = np.linalg.svd(products / np.where(scale > 0.0, scale, 1.0)[:, None], compute_uv=False)
    if len(values) and values[-1] <= DEPENDENT * values[0]:
        # a chain of more than two states, as with a spin about an axis of no inertia: none is taken out
        none = np.zeros((X.shape[0], 0))
        return RigidStates(none, none, none[: len(none) // 2], np.zeros((0, 0)), 0, np.zeros(0), steady[:0])
    across = sum(states.shape[1] // 2 for states, _ in parts[1:])
    left, adjoint = (np.linalg.solve(products, part.T).T for part in (Y, X[: len(X) // 2]))
    return RigidStates(X, left, adjoint, rates, across, np.array(spins), steady)


def _at_zero(motion: EigenProblem, free: FreeMotions, still: FreeMotions, lowest: float) -> tuple[Floats, Floats]:
    """States (D, 0), and (p, D c) of motions at a constant rate D c, with K p = -C D c.

    still : those of ``free`` that are no first-order states, which have no stiffness and do not move in p.
    """
    D = free.shapes
    if not free.count:
        return np.zeros((2 * motion.system.n_v, 0)), np.zeros((0, 0))
    forces = motion.damping_times(D)
    spin = float(np.max(np.abs(np.delete(motion.v, motion.system.layout.first_order_v)), initial=0.0))
    largest = free.sizes(motion)
    sizes = _sizes(motion, largest) + spin * motion.times(np.abs(motion.mass), largest)
    forces = motion.of_moving(np.where(np.abs(forces) <= EXACT * sizes, 0.0, forces))
    if not np.any(forces):
        return _chains(D, None)
    _, coupled, axes = np.linalg.svd(D.T @ forces)
    c = axes[int(np.sum(coupled > COUPLED * np.max(np.abs(D).T @ sizes))) :].T
    return _chains(D, (c, _displaced(motion, still, -forces @ c, lowest)))


def _unforced(motion: EigenProblem, free: FreeMotions) -> bool:
    """Whether an asymmetric stiffness has no force along motions without stiffness either, D^T K = 0, as that of
    cross-coupled bearings, whose forces act across the axis."""
    transposed = motion.stiffness[motion.system.pattern.transposed]
    forces = motion.of_moving(motion.times(motion.stiffness - transposed, free.shapes))
    largest = np.max(free.sizes(motion), axis=1, initial=0.0)
    sizes = motion.times(np.abs(motion.stiffness) + np.abs(transposed), largest)
    return bool(np.all(np.abs(forces) <= EXACT * sizes[:, None]))


def _displaced(motion: EigenProblem, still: FreeMotions, forces: Floats, lowest: float) -> Floats:
    """(n_v, k) displacements beside motions without stiffness by forces that do not act along these.

    Of a slow rotation, the small stiffness of what turns with it is known beside that of all deformation.
    """
    whole = with_turned(motion, still)
    if whole.count == still.count or motion.spin >= SLOW * np.sqrt(lowest):
        return Flexibility(motion.without_states(), still, lowest)(forces)
    T = whole.shapes[:, still.count :]
    KT, flexibility = stiffness_of_rigid(motion, T), Flexibility(motion.without_states(), whole, lowest)
    bent: Floats = np.zeros_like(forces)
    for _ in range(DEFORMED):
        moved = np.linalg.lstsq(T.T @ KT, T.T @ forces - KT.T @ bent, rcond=None)[0]
        bent = flexibility(forces - KT @ moved)
    displaced: Floats = T @ moved + bent
    return displaced


def _chains(D: Floats, of_rates: tuple[Floats, Floats] | None) -> tuple[Floats, Floats]:
    """The states (D, 0), (p, D c), and their rates; by default p = 0 and c = 1."""
    c, p = of_rates or (np.eye(D.shape[1]), np.zeros_like(D))
    k, m = c.shape
    rates = np.zeros((k + m, k + m))
    rates[:k, k:] = c
    return np.hstack([np.vstack([D, np.zeros_like(D)]), np.vstack([p, D @ c])]), rates


def _listed(vector: Floats) -> str:
    """Components in parentheses, zero where they are rounding."""
    values = without_rounding(vector, max(1.0, float(np.max(np.abs(vector))))) + 0.0
    return f"({', '.join(f'{x:.4g}' for x in values)})"


@dataclass(frozen=True, eq=False)
class Rotation:
    """Steady rotation of a structure: angular velocity omega (3,) rad/s, and the point (3,) m of its axis nearest to
    the held body, or to its first frame, inertial axes; distance : m, of that one from the axis. label : of the frame
    that tells by which angle ``turned`` (rad) the equilibrium turned the structure against its axis."""

    omega: Floats
    point: Floats
    distance: float
    label: str
    turned: float

    @property
    def rate(self) -> float:
        """Size of the angular velocity, rad/s."""
        return float(np.linalg.norm(self.omega))

    def text(self, held: str | None = None) -> str:
        """A line on what the structure turns about; held : the name of its held body."""
        axis, point = (_listed(self.omega / self.rate), _listed(self.point))
        beside = f"; the held {held} is {self.distance:.3g} m beside it" if held and self.distance > BESIDE else ""
        rate = f"turns at {self.rate / (2.0 * np.pi):.6g} Hz about the axis {axis}"
        degrees = np.degrees(self.turned)
        turned = (
            f"; the equilibrium turned {self.label} by {degrees:.3g} degrees against it" if degrees >= SHOWN else ""
        )
        return f"{rate} through its mass centre and {point} m{beside}{turned}"


def rotations_of(motion: EigenProblem) -> tuple[Rotation, ...]:
    """Rotations of the structures that turn, with points from the origin of the model."""
    layout = motion.system.layout
    found = [rotation_of(motion, group) for group in groups_of(layout, joined=True)]
    return tuple(replace(each, point=each.point + layout.origin) for each in found if each is not None)


def rotation_of(motion: EigenProblem, group: list[int]) -> Rotation | None:
    """The rotation of a structure; None where it is at rest."""
    omega, point, distance = motion.axis_of(group)
    if not np.any(omega):
        return None
    layout = motion.system.layout
    frame = next(k for k in group if layout.frames[k].freedom == 6)
    at = slice((i := layout.frame_q[frame] + 3), i + 4)
    free = all(layout.frames[k].freedom for k in group)
    turned = angle_turned(omega, layout.start_coordinates()[at], motion.q[at]) if free else 0.0
    return Rotation(omega, point, distance, layout.frames[frame].label, turned)


def _across(motion: EigenProblem, structure: KnownStructure) -> tuple[Floats, Floats, float] | None:
    """States, their rates and the spin (rad/s) of one structure that turns: across its axis, and of its tilt.

    None where it does not turn, or where its surroundings notice these motions or change their momenta.
    """
    from scipy.linalg import block_diag

    omega, point, _ = motion.axis_of(structure.frames)
    if not np.any(omega):
        return None
    spin = float(np.linalg.norm(omega))
    first = np.linalg.svd(omega[None])[2][1]
    plane = np.array([first, np.cross(omega / spin, first)])
    shifts, tilts = twists(plane), twists(turns=plane, point=point)
    s = spin * np.array([[0.0, -1.0], [1.0, 0.0]])
    two, one = np.zeros((2, 2)), np.eye(2)
    states: list[Floats] = []
    rates: list[Floats] = []
    # y = e^(-s t) (c + u t): y'' = -2 s y' - s^2 y
    if structure.contains(structure.boosts, shifts) and structure.contains(structure.momenta, shifts):
        T = motion.moves_of(structure, shifts)
        states.append(np.asarray(np.kron(one, T), dtype=np.float64))
        rates.append(np.block([[two, one], [-s @ s, -2.0 * s]]))
    if structure.contains(structure.kept, tilts):
        R = motion.moves_of(structure, tilts)
        states.append(np.vstack([R, -R @ s]))
        rates.append(np.asarray(-s, dtype=np.float64))
    return (np.hstack(states), block_diag(*rates), spin) if rates else None


def _sizes(motion: EigenProblem, x: Floats) -> Floats:
    """(n_v,) sizes of the terms of the damping force at rates of the sizes x (n_v,)."""
    return motion.times(np.abs(motion.damping), x) + motion.low_rank.damping_sizes(x)


def _conserved(motion: EigenProblem, X: Floats) -> Floats:
    """W^T X (2 n_v, d): the products with these that are constant along every motion."""
    # exact products: rounding of the damping of short elements would resist
    p, rate = np.split(X, 2)
    return np.vstack([motion.adjoint_damping(p) - motion.momenta(rate), motion.momenta(p)])


# degrees by which an equilibrium turned a structure against its axis: less is not said.
SHOWN = 0.01
# m between a held body and the axis of rotation: less is rounding.
BESIDE = 1e-9
Complex = NDArray[np.complex128]
SEED, RESTARTS = 1, 200
# Velocities up to which all eigenvalues are computed where Lanczos' method does not separate those wanted.
DENSE = 600
# Of what rounding may leave: an eigenvalue that a refinement moves farther is that of another mode.
FARTHEST = 10.0
# Rounding of eigenvalues 1 / (lambda - shift) of the size of the largest, with vectors (phi, lambda phi / shift).
SOLVER = 16.0 * np.finfo(float).eps
# An imaginary part below this part of the eigenvalue is rounding.
REAL = 1e-9


def complex_modes(
    motion: EigenProblem,
    rigid: RigidStates,
    count: int,
    shift: float,
    at_most: bool = False,
    slow: SlowModes | None = None,
) -> tuple[Complex, Complex]:
    """The ``count`` eigenvalues lambda (k,), 1/s, nearest to ``shift`` > 0 (rad/s), and shapes (n_v, k).

    rigid : motions that are left out. slow : modes that are not listed, since they are known better. at_most : whether
    fewer are given where there are no more, else refused. Of each conjugate pair the one with a positive imaginary part
    is given; sorted by size. Shapes have phi^H M phi = 1, and
    their largest entry is real and positive. Raises ModelError: more than there are; SolveError.
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

    n = motion.system.n_v
    try:
        solve = motion.shifted(shift)
    except SingularError as error:
        raise SolveError(f"modes: the matrices are singular at the shift {shift:.6g} rad/s") from error

    held = np.tile(motion.held, 2)
    # no equation reads the coordinates of first-order states: without them these have no eigenvalue at zero
    states = motion.system.layout.first_order_v

    # rates by the shift: velocities as large as displacements would round eigenvalues by the square of their size
    scales = np.repeat([1.0, shift], n)

    def inverse(b: Floats) -> Floats:
        first, second = np.split(rigid.without(np.where(held, 0.0, scales * b)), 2)
        first[states] = 0.0
        force = motion.damping_times(first) + motion.momenta(shift * first + second)
        x = solve(-force)
        found = rigid.without(np.concatenate([x, first + shift * x]))
        found[states] = 0.0
        return np.asarray(found / scales)

    start = inverse(np.tile(np.random.default_rng(SEED).standard_normal(n), 2))
    operator = LinearOperator((2 * n, 2 * n), matvec=inverse, dtype=np.float64)
    # those beyond the eigenvalues that there are would be rounding
    there = 2 * freedoms(motion) - int(np.sum(~motion.held[states])) - len(rigid.rates) + len(rigid.steady)
    wanted = min(2 * count + 2 + (slow.count if slow else 0), 2 * n - 2, there)
    if wanted < 1:
        raise ModelError(f"modes: nothing vibrates: all motions are without stiffness{without_forces(motion)}")
    try:
        values, vectors = eigs(
            operator, k=wanted, sigma=shift, OPinv=operator, v0=start, ncv=min(2 * n, 3 * wanted + 20), maxiter=RESTARTS
        )
    except ArpackError as error:
        if n > DENSE:
            raise SolveError(
                f"modes: the {wanted} eigenvalues of least size do not separate, as those that gather at -1/damping "
                "where stiffness damping is above critical: ask for fewer, or give a smaller damping (s)"
            ) from error
        inverted, vectors = np.linalg.eig(np.column_stack([inverse(b) for b in np.eye(2 * n)]))
        nearest = np.argsort(-np.abs(inverted))[:wanted]
        values, vectors = shift + 1.0 / inverted[nearest], vectors[:, nearest]
    if not is_symmetric(motion):
        vectors = _completed(motion, rigid, values, scales[:, None] * vectors) / scales[:, None]
    vectors[states] = shift * vectors[n + states] / np.where(values == 0.0, 1.0, values)
    listed = values.imag >= -REAL * np.abs(values)
    if slow is not None:
        listed[slow.among(values, of_unit_mass(motion, vectors[:n]))] = False
    chosen = np.flatnonzero(listed)
    # of equal sizes, as with a motion that grows and its reverse that falls, first what grows
    size = np.maximum(np.abs(values[chosen]), np.finfo(float).tiny)
    chosen = chosen[np.lexsort((-np.round(values[chosen].real / size, 8), np.round(np.log(size), 8)))][:count]
    if len(chosen) < count and not at_most:
        raise ModelError(f"modes: got {count} modes to compute, found {len(chosen)}: ask for fewer")
    eigenvalues, shapes = values[chosen], of_unit_mass(motion, vectors[:n, chosen])
    if np.max(_rounding(motion, eigenvalues, shapes)) > ROUNDED:
        return _refined(motion, eigenvalues, shapes, solve, shift)
    return eigenvalues, shapes


def _completed(motion: EigenProblem, rigid: RigidStates, values: Complex, vectors: Complex) -> Complex:
    """Eigenvectors x (2 n_v, k) with their parts along motions X that were left out by products Y that an asymmetric
    stiffness does not keep: A x = x l + X b, b = Y^T A x, so that x + X (l - L)^-1 b is one."""
    p, rate = np.split(vectors, 2)
    forces = motion.exact_damping(rate) + _stiffness(motion, p)
    acting = rigid.left[: len(p)].T @ rate - rigid.adjoint.T @ forces
    own = np.eye(len(rigid.rates))
    parts = [
        np.linalg.lstsq(value * own - rigid.rates, b, rcond=None)[0] for value, b in zip(values, acting.T, strict=True)
    ]
    return np.asarray(vectors + rigid.states @ np.array(parts).reshape(len(values), -1).T)


def complex_precision(motion: EigenProblem, eigenvalues: Complex, shapes: Complex, shift: float) -> Floats:
    """(k,) up to what part of their size eigenvalues are known; see ``femb.vibration.eigen.precision``."""
    sizes = np.abs(eigenvalues) / shift
    of_solver = SOLVER * (np.maximum(sizes, 1.0) ** 2 + 1.0 / np.maximum(sizes, np.finfo(float).tiny))
    found = _rounding(motion, eigenvalues, shapes)
    # a part of lambda^2 M is half that of lambda without gyroscopic forces, and that of lambda of a nutation
    masses, drags = (np.sum(shapes.conj() * x, axis=0) for x in (motion.momenta(shapes), motion.exact_damping(shapes)))
    sizes = np.abs(eigenvalues * masses)
    part = SURE * np.clip(sizes / np.maximum(np.abs(2.0 * eigenvalues * masses + drags), 0.5 * sizes), 0.5, 2.0)
    if np.max(found, initial=0.0) <= ROUNDED:
        return np.asarray(np.maximum(of_solver, part * found))
    others = part * _rounding(motion, eigenvalues, shapes, motion.exact.others[0])
    own = _own_errors(motion, eigenvalues, shapes, motion.shifted(shift))
    return np.asarray(np.max([of_solver, others, own], axis=0))


def _own_errors(
    motion: EigenProblem, eigenvalues: Complex, shapes: Complex, solve: Callable[[Floats], Floats]
) -> Floats:
    """(k,) relative errors of eigenvalues by what exact products leave unbalanced, r: to the first order along the left
    vector, psi^H r / (lambda psi^H (2 lambda M + C + G) phi), and to the second by the displacement that r gives.

    What a shape has of known motions, whose left vectors are others, does not count.
    """
    basis, momenta = orthonormal(motion, np.hstack([shapes.real, shapes.imag]), *np.zeros((2, len(shapes), 0)))
    C, K = basis.T @ motion.exact_damping(basis), basis.T @ _stiffness(motion, basis)
    errors = []
    for value, phi in zip(eigenvalues, shapes.T, strict=True):
        # of the shapes and their conjugates: psi^H (lambda^2 M + lambda (C + G) + K) = 0
        small = value**2 * (basis.T @ momenta) + value * C + K
        left = np.linalg.svd(small)[0][:, -1].conj() @ basis.T
        unbalanced = _unbalanced(motion, value, phi)
        by_value = 2.0 * value * motion.momenta(phi) + motion.exact_damping(phi)
        work = abs(left @ unbalanced) + abs(np.conj(unbalanced) @ of_columns(solve, unbalanced))
        errors.append(work / max(abs(value * (left @ by_value)), np.finfo(float).tiny))
    return np.array(errors)


def shape_errors(motion: EigenProblem, eigenvalues: Complex, shapes: Complex, shift: float) -> Floats:
    """(k,) sizes in the mass, of shapes of unit mass, of what exact products leave unbalanced of each eigenpair, as a
    displacement at the shift (rad/s)."""
    solve = motion.shifted(shift)
    return motion.lengths(_corrections(motion, eigenvalues, shapes, solve))


def _refined(
    motion: EigenProblem, eigenvalues: Complex, shapes: Complex, solve: Callable[[Floats], Floats], shift: float
) -> tuple[Complex, Complex]:
    """Eigenvalues and shapes by exact products, in a basis of the shapes and of corrections by the rounded factors.

    An eigenvalue that moves farther than rounding explains belongs to another mode: the given ones are returned then.
    """
    from scipy.linalg import eig

    given, most = (eigenvalues, shapes), FARTHEST * _rounding(motion, eigenvalues, shapes)
    basis, momenta, forces, drags = (np.zeros((motion.system.n_v, 0)) for _ in range(4))
    more, largest = np.hstack([shapes.real, shapes.imag]), np.inf
    for _ in range(REFINEMENTS):
        more, momentum = orthonormal(motion, more[:, motion.lengths(more) > REFINED], basis, momenta)
        if not more.shape[1]:
            break
        basis, momenta = np.hstack([basis, more]), np.hstack([momenta, momentum])
        forces = np.hstack([forces, _stiffness(motion, more)])
        drags = np.hstack([drags, motion.exact_damping(more)])
        # of the inverse at the shift, whose largest eigenvalues the motions of high stiffness cannot round
        n = basis.shape[1]
        drag = basis.T @ drags + shift * np.eye(n)
        inner = np.linalg.inv(basis.T @ forces + shift * drag)
        values, vectors = eig(-np.block([[inner @ drag, inner], [shift * inner @ drag - np.eye(n), shift * inner]]))
        values = shift + 1.0 / values
        places = [int(np.argmin(np.abs(values - value))) for value in eigenvalues]
        eigenvalues, shapes = values[places], basis @ vectors[:n, places]
        shapes = of_unit_mass(motion, shapes)
        columns = _corrections(motion, eigenvalues, shapes, solve)
        sizes = motion.lengths(columns)
        last, largest = largest, float(np.max(sizes))
        if largest <= REFINED or largest > 0.5 * last:
            break
        wanted = columns[:, sizes > REFINED]
        more = np.hstack([wanted.real, wanted.imag])
    if np.any(np.abs(eigenvalues - given[0]) > most * np.abs(given[0])):
        return given
    return eigenvalues, shapes


def _corrections(motion: EigenProblem, values: Complex, shapes: Complex, solve: Callable[[Floats], Floats]) -> Complex:
    """Displacements (n_v, k) by what is unbalanced, at the shift of ``solve``."""
    return of_columns(solve, _unbalanced(motion, values, shapes))


def _unbalanced(motion: EigenProblem, values: Complex | complex, shapes: Complex) -> Complex:
    """(lambda^2 M + lambda (C + G) + K) phi of one shape (n_v,) or of k, which should be zero, by exact products."""
    inertia, drag = motion.momenta(shapes), motion.exact_damping(shapes)
    return np.asarray(values**2 * inertia + values * drag + _stiffness(motion, shapes))


def _stiffness(motion: EigenProblem, x: Motion) -> Motion:
    forces = motion.exact_stiffness(x) + motion.low_rank.left @ (motion.low_rank.stiffness.T @ x)
    return cast("Motion", motion.of_moving(forces))


def _rounding(motion: EigenProblem, eigenvalues: Complex, shapes: Complex, stiffness: Floats | None = None) -> Floats:
    """(k,) ``femb.vibration.eigen.rounding`` of complex shapes."""
    return rounding(motion, np.abs(eigenvalues) ** 2, np.abs(shapes), stiffness)
