"""Balanced truncation: the states that inputs reach and outputs see least are left out.

    A P + P A^T + B B^T = 0,   A^T Q + Q A + C^T C = 0,   sigma = sqrt(eig(P Q)),   ||G - G_r|| <= 2 sum of the rest

of inputs and outputs scaled to their own size. Rigid motions, which have no Gramians, are separated exactly first;
where dampers or the momentum of wheels act on them, the states that do not decay.
Source: docs/theory/linearisation.md, equation (25); Antoulas, Approximation of Large-Scale Dynamical Systems, 2005.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import shown, whole_number
from femb.linear.modal_form import SecondOrderModel
from femb.linear.modal_reduction import ModalReduction, first_order
from femb.linear.scaled_least_squares import or_one
from femb.linear.spinning_reduction import SpinningReduction
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import graded

# Of the largest singular value of Hankel: smaller ones are rounding.
ROUNDING = 1e-13
# Of the largest entry of a matrix: larger ones couple rigid motions with others.
COUPLED = 1e-8
# Of the largest pole: a state that decays more slowly does not.
LASTING = 1e-13


UNDAMPED = "balanced truncation: modes without damping have no Gramians: give a damping ratio above zero"


def balanced_states(
    of: ModalReduction | SpinningReduction, order: int, frequencies: ArrayLike | None = None
) -> StateSpace:
    """``order`` balanced states beside those of rigid motions, of a reduced model in modes.

    Raises ModelError: more states than there are; motions without damping.
    """
    free, whole = _parts(of)
    rest = len(whole.states)
    if not whole_number(order) or not 1 <= order <= rest:
        raise ModelError(
            f"balanced truncation: got {shown(order)} states, wanted a whole number from 1 to {rest}, the states that "
            "decay"
        )
    poles = whole.eigenvalues()
    rounding = np.maximum(1e-12 * np.abs(poles), 1e-15 * np.max(np.abs(poles), initial=0.0))
    if np.any(poles.real >= -rounding):
        raise ModelError(UNDAMPED)
    outputs, inputs = _scales(whole)
    left, right, values = _projection(whole.A, whole.B * inputs, whole.C / outputs[:, None])
    k = min(order, int(np.sum(values > ROUNDING * values[0])))
    left, right = left[:, :k], right[:, :k]
    n = len(free.states)
    A = np.zeros((n + k, n + k))
    A[:n, :n], A[n:, n:] = free.A, left.T @ whole.A @ right
    B, C = np.vstack([free.B, left.T @ whole.B]), np.hstack([free.C, whole.C @ right])
    names = (*free.states, *(f"balanced {j + 1}" for j in range(k)))
    space = StateSpace(A, B, C, free.D + whole.D, names, of.full.inputs, of.full.outputs)
    dropped = 2.0 * float(np.sum(values[k:])) * np.outer(outputs, 1.0 / inputs)
    bound: Callable[[float], Floats] | None = None
    if of.tail is not None:

        def bound(omega: float) -> Floats:
            return of.bound(omega) + dropped

    kind = f"{k} balanced states of {of.kind}"
    return of.compared(space, kind, frequencies, bound)


def _parts(of: ModalReduction | SpinningReduction) -> tuple[StateSpace, StateSpace]:
    """State spaces of rigid motions and of the others, whose sum is the reduced model."""
    if isinstance(of, SpinningReduction):
        return of.rigid, of.elastic
    r, model = of.integrators, of.reduced

    def coupled(matrix: Floats) -> bool:
        return bool(np.any(np.abs(matrix[:r]) > COUPLED * np.max(np.abs(matrix), initial=0.0)))

    if coupled(model.stiffness):
        raise ModelError("balanced truncation: motions without stiffness are held by others: ask for modes instead")
    if coupled(model.damping):
        return _lasting(first_order(model, of.full), r)
    model = _separated(model, r)
    units = np.eye(len(model.names))
    # the direct part stays with the elastic ones
    rigid = replace(model.along(units[:, :r], model.names[:r]), direct=0.0 * model.direct)
    return first_order(rigid, of.full), first_order(model.along(units[:, r:], model.names[r:]), of.full)


def _lasting(space: StateSpace, r: int) -> tuple[StateSpace, StateSpace]:
    """The first r displacements, which act on nothing, with the states that do not decay, and the states that do.

        d' = E w,  w' = A w + B u,  w = X z + Y s,  z' = A_z z + B_z u,  s' = A_s s + B_s u,  e = d - E Y A_s^-1 s

    so that e' = E X z - E Y A_s^-1 B_s u. Raises ModelError where more than r states do not decay.
    """
    from scipy.linalg import schur, solve_sylvester

    E, A, of_d = space.A[:r, r:], space.A[r:, r:], space.C[:, :r]
    scale = graded(A)[0]
    scaled = A * scale / scale[:, None]
    most = -LASTING * float(np.max(np.abs(np.linalg.eigvals(scaled)), initial=0.0))
    T, Z, k = schur(scaled, sort=lambda real, imaginary=0.0: real >= most)
    if k > r:
        raise ModelError(UNDAMPED)
    Q = solve_sylvester(T[:k, :k], -T[k:, k:], -T[:k, k:])
    X, Y = scale[:, None] * Z[:, :k], scale[:, None] * (Z[:, :k] @ Q + Z[:, k:])
    inner = Z.T @ (space.B[r:] / scale[:, None])
    B_z, B_s, A_s = inner[:k] - Q @ inner[k:], inner[k:], T[k:, k:]
    # E Y A_s^-1
    static = np.linalg.solve(A_s.T, (E @ Y).T).T
    of_z = np.block([[np.zeros((r, r)), E @ X], [np.zeros((k, r)), T[:k, :k]]])
    names = (*space.states[:r], *(f"lasting {j + 1}" for j in range(k)))
    C_z, C_s = np.hstack([of_d, space.C[:, r:] @ X]), space.C[:, r:] @ Y + of_d @ static
    free = replace(space, A=of_z, B=np.vstack([-static @ B_s, B_z]), C=C_z, D=0.0 * space.D, states=names)
    decaying = tuple(f"decaying {j + 1}" for j in range(len(A_s)))
    return free, replace(space, A=A_s, B=B_s, C=C_s, states=decaying)


def _separated(model: SecondOrderModel, r: int) -> SecondOrderModel:
    """The model in coordinates whose mass does not couple the first r, which have no stiffness, with the others."""
    change = np.eye(len(model.names))
    change[:r, r:] = -np.linalg.solve(model.mass[:r, :r], model.mass[:r, r:])
    model = model.along(change, model.names)
    for matrix in (model.mass, model.damping, model.stiffness):
        matrix[:r, r:] = matrix[r:, :r] = 0.0
    model.damping[:r, :r] = model.stiffness[:r, :r] = 0.0
    return model


def _scales(space: StateSpace) -> tuple[Floats, Floats]:
    """Sizes (p,) of outputs by unit white noise in all inputs, and inverse sizes (m,) of what inputs do."""
    from scipy.linalg import solve_continuous_lyapunov

    Q = solve_continuous_lyapunov(space.A.T, -space.C.T @ space.C)
    inputs = or_one(np.sqrt(np.maximum(np.einsum("nm,nk,km->m", space.B, Q, space.B), 0.0)))
    B = space.B / inputs
    P = solve_continuous_lyapunov(space.A, -B @ B.T)
    outputs = or_one(np.sqrt(np.maximum(np.einsum("pn,nk,pk->p", space.C, P, space.C), 0.0)))
    return outputs, 1.0 / inputs


def _projection(A: Floats, B: Floats, C: Floats) -> tuple[Floats, Floats, Floats]:
    """W, V (n, n) with W^T V = 1, and singular values of Hankel (n,): the square-root method."""
    from scipy.linalg import solve_continuous_lyapunov

    roots = []
    for a, b in ((A, B @ B.T), (A.T, C.T @ C)):
        values, axes = np.linalg.eigh(solve_continuous_lyapunov(a, -b))
        roots.append(axes * np.sqrt(np.maximum(values, 0.0)))
    reach, seen = roots
    U, values, V = np.linalg.svd(seen.T @ reach)
    scale = 1.0 / np.sqrt(np.maximum(values, ROUNDING * values[0]))
    return (seen @ U) * scale, (reach @ V.T) * scale, values
