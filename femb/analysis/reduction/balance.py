"""Balanced truncation: the states that inputs reach and outputs see least are left out.

    A P + P A^T + B B^T = 0,   A^T Q + Q A + C^T C = 0,   sigma = sqrt(eig(P Q)),   ||G - G_r|| <= 2 sum of the rest

of inputs and outputs scaled to their own size. Rigid motions, which have no Gramians, are separated exactly first.
Source: docs/theory/linearisation.md, equation (25); Antoulas, Approximation of Large-Scale Dynamical Systems, 2005.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from femb.analysis.linear.statespace import StateSpace
from femb.analysis.reduction.spinning import SpinningReduction
from femb.analysis.reduction.tail import SecondOrderModel
from femb.analysis.reduction.truncate import Reduction, first_order
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import shown

# Of the largest singular value of Hankel: smaller ones are rounding.
ROUNDING = 1e-13
# Of the largest entry of a matrix: larger ones couple rigid motions with others.
COUPLED = 1e-8


def balanced(of: Reduction | SpinningReduction, order: int, frequencies: ArrayLike | None = None) -> StateSpace:
    """``order`` balanced states beside those of rigid motions, of a reduced model in modes.

    Raises ModelError: more states than there are; motions without damping, or without stiffness but damped.
    """
    free, whole = _parts(of)
    rest = len(whole.states) // 2
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= 2 * rest:
        raise ModelError(
            f"balanced truncation: got {shown(order)} states, wanted a whole number from 1 to {2 * rest}: "
            f"two of each of {rest} modes"
        )
    if np.max(whole.eigenvalues().real, initial=-1.0) > -1e-12 * np.max(np.abs(whole.A)):
        raise ModelError("balanced truncation: modes without damping have no Gramians: give a damping ratio above zero")
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


def _parts(of: Reduction | SpinningReduction) -> tuple[StateSpace, StateSpace]:
    """State spaces of rigid motions and of the others, whose sum is the reduced model."""
    if isinstance(of, SpinningReduction):
        return of.rigid, of.elastic
    r = of.integrators
    model = _separated(of.reduced, r)
    rigid, elastic = (_part(model, part) for part in (slice(0, r), slice(r, None)))
    names = of.full.inputs, of.full.outputs
    return first_order(rigid, *names), first_order(elastic, *names)


def _separated(model: SecondOrderModel, r: int) -> SecondOrderModel:
    """The same in coordinates whose mass does not couple the first r, without stiffness and damping, with the others.

    Raises ModelError where they are damped.
    """
    for matrix in (model.stiffness, model.damping):
        if np.any(np.abs(matrix[:r]) > COUPLED * np.max(np.abs(matrix), initial=0.0)):
            raise ModelError(
                "balanced truncation: motions without stiffness are damped, so that they cannot be separated: ask for "
                "modes instead"
            )
    change = np.eye(len(model.names))
    change[:r, r:] = -np.linalg.solve(model.mass[:r, :r], model.mass[:r, r:])
    mass, damping, stiffness = (change.T @ x @ change for x in (model.mass, model.damping, model.stiffness))
    for matrix in (mass, damping, stiffness):
        matrix[:r, r:] = matrix[r:, :r] = 0.0
    damping[:r, :r] = stiffness[:r, :r] = 0.0
    return replace(
        model,
        mass=mass,
        damping=damping,
        stiffness=stiffness,
        forces=change.T @ model.forces,
        position=model.position @ change,
        rate=model.rate @ change,
        acceleration=model.acceleration @ change,
    )


def _part(model: SecondOrderModel, own: slice) -> SecondOrderModel:
    """Some of the coordinates alone; the direct part stays with the elastic ones."""
    return SecondOrderModel(
        model.names[own],
        model.mass[own, own],
        model.damping[own, own],
        model.stiffness[own, own],
        model.forces[own],
        model.position[:, own],
        model.rate[:, own],
        model.acceleration[:, own],
        model.direct if own.stop is None else 0.0 * model.direct,
    )


def _scales(space: StateSpace) -> tuple[Floats, Floats]:
    """Sizes (p,) of outputs by unit white noise in all inputs, and inverse sizes (m,) of what inputs do."""
    from scipy.linalg import solve_continuous_lyapunov

    Q = solve_continuous_lyapunov(space.A.T, -space.C.T @ space.C)
    inputs = _or_one(np.sqrt(np.maximum(np.einsum("nm,nk,km->m", space.B, Q, space.B), 0.0)))
    B = space.B / inputs
    P = solve_continuous_lyapunov(space.A, -B @ B.T)
    outputs = _or_one(np.sqrt(np.maximum(np.einsum("pn,nk,pk->p", space.C, P, space.C), 0.0)))
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


def _or_one(x: Floats) -> Floats:
    return np.where(x > 0.0, x, 1.0)
