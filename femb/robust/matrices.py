"""Matrices of second-order models that depend on parameters: as one matrix, with fewer coordinates, as transfer matrix.

Source: docs/theory/robust.md, section 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from femb.base.types import Complexes, Floats, Ints
from femb.linear.modal_form import SecondOrderModel
from femb.linear.state_space import StateSpace

# Of a row of free motions, what is another coordinate.
APART = 1e-3
# Relative: what z of masses may differ from rates of states, and singular values of these that are none.
OF_RATES, NO_RATE = 1e-7, 1e-11


def transfer_of(model: SecondOrderModel, s: complex, kinematics: Floats) -> Complexes:
    """(p, m) the transfer matrix of a second-order model with q' = v + E q, refined by its residual."""
    from scipy.linalg import lu_factor, lu_solve

    n = len(model.names)
    E = kinematics[:, :n]
    rate = s * np.eye(n) - E
    left = model.stiffness + (s * model.mass + model.damping) @ rate
    factors = lu_factor(left)
    q = lu_solve(factors, model.forces.astype(complex))
    for _ in range(2):
        q = q + lu_solve(factors, model.forces - left @ q)
    v = rate @ q
    return np.asarray(model.position @ q + model.rate @ v + s * model.acceleration @ v + model.direct)


def model_of(whole: Floats, names: tuple[str, ...]) -> SecondOrderModel:
    """The model whose matrices [M, C, K, -F; A, V, P, D] are stacked."""
    n = len(names)
    upper, lower = whole[:n], whole[n:]
    M, C, K, F = np.split(upper, [n, 2 * n, 3 * n], axis=1)
    acceleration, rate, position, direct = np.split(lower, [n, 2 * n, 3 * n], axis=1)
    return SecondOrderModel(names, M, C, K, -F, position, rate, acceleration, direct)


def stacked(model: SecondOrderModel) -> Floats:
    """[M, C, K, -F; A, V, P, D] of a model."""
    return np.vstack([
        np.hstack([model.mass, model.damping, model.stiffness, -model.forces]),
        np.hstack([model.acceleration, model.rate, model.position, model.direct]),
    ])  # fmt: skip


def with_names(
    words: Mapping[str, Any], count: int, inputs: Sequence[str], outputs: Sequence[str], model: SecondOrderModel
) -> dict[str, Any]:
    """The arguments of ``space_of`` for these inputs and outputs; free motions only where they have no stiffness."""
    free, n = words["free"], len(model.names)
    if free is not None:
        sizes = np.max(np.abs(model.stiffness), initial=0.0) * np.max(np.abs(free[0]), initial=0.0)
        if np.max(np.abs(model.stiffness @ free[0]), initial=0.0) > 1e-9 * sizes:
            free = None
    E = words["kinematics"]
    added = np.zeros((n, len(inputs) - (E.shape[1] - n)))
    if added.shape[1]:
        E = np.hstack([E[:, :n], added, E[:, n:]])
    return {**words, "inputs": tuple(inputs), "outputs": tuple(outputs), "kinematics": E, "free": free}


def without_coordinates(
    model: SecondOrderModel, words: dict[str, Any], still: Ints
) -> tuple[SecondOrderModel, dict[str, Any]]:
    """The model without coordinates that follow the others by their mass alone, and the arguments of ``space_of``."""
    if not len(still):
        return model, words
    rest = np.setdiff1d(np.arange(len(model.names)), still)
    M = model.mass
    follow = -np.linalg.solve(M[np.ix_(still, still)], M[np.ix_(still, rest)])
    square = np.ix_(rest, rest)
    reduced = SecondOrderModel(
        tuple(model.names[k] for k in rest), M[square] + M[np.ix_(rest, still)] @ follow, model.damping[square],
        model.stiffness[square], model.forces[rest], model.position[:, rest], model.rate[:, rest],
        model.acceleration[:, rest] + model.acceleration[:, still] @ follow, model.direct,
    )  # fmt: skip
    E, free = words["kinematics"], words["free"]
    if free is not None:
        moves = np.max(np.abs(free[0][rest]), axis=0) > 1e-9 * np.max(np.abs(free[0]), axis=0)
        left = free[0][rest][:, moves]
        # of motions that only differed in what is left out nothing is known
        alone = np.linalg.matrix_rank(left) == left.shape[1]
        free = (left, int(np.sum(moves[: free[1]]))) if alone else None
    columns = [*rest, *range(len(M), E.shape[1])]
    return reduced, {**words, "kinematics": E[rest][:, columns], "free": free}


def independent(vectors: Floats) -> Ints:
    """(k,) the first rows of vectors (n, k) that determine all of them."""
    rows, chosen = vectors / np.max(np.abs(vectors), axis=0), list[int]()
    left = rows.copy()
    for k in range(len(rows)):
        if (size := float(np.linalg.norm(left[k]))) > APART * float(np.linalg.norm(rows, axis=1).max()):
            chosen.append(k)
            left = left - np.outer(left @ left[k], left[k]) / size**2
        if len(chosen) == vectors.shape[1]:
            break
    return np.array(chosen)


def closed_by(N: Complexes, d: Floats) -> Complexes:
    """N_22 + N_21 D (1 - N_11 D)^-1 N_12, with w and z first and D of diagonal d."""
    count = len(d)
    inner = np.linalg.solve(np.eye(count) - N[:count, :count] * d, N[:count, count:])
    return np.asarray(N[count:, count:] + N[count:, :count] * d @ inner)


def by_rates(space: StateSpace, sizes: Sequence[int]) -> StateSpace:
    """The plant with integrals of w and z of parameters whose z are rates of states, as those of masses.

    With z = s z1 and w = s w1 it is w1 = d z1, and w1 changes no momentum. sizes : of w, which come first.
    """
    start = 0
    for size in sizes:
        own = np.arange(start, start + size)
        start += size
        A, B, C, D = space.A, space.B, space.C, space.D
        others = np.delete(np.arange(B.shape[1]), own)
        rows = np.delete(np.arange(len(C)), own)
        if np.any(D[np.ix_(rows, own)]) or not size:
            continue
        # z = L (x' without w) + (L B + H) w
        rates, wanted = np.hstack([A, B[:, others]]), np.hstack([C[own], D[np.ix_(own, others)]])
        scale = np.maximum(np.max(np.abs(rates), axis=0), np.max(np.abs(wanted), axis=0))
        scale = 1.0 / np.where(scale > 0.0, scale, 1.0)
        L = np.linalg.lstsq((rates * scale).T, (wanted * scale).T, rcond=NO_RATE)[0].T
        if np.max(np.abs((L @ rates - wanted) * scale)) > OF_RATES * np.max(np.abs(wanted * scale), initial=0.0):
            continue
        B, C, D = B.copy(), C.copy(), D.copy()
        # x = x1 + B w1
        C[own], D[np.ix_(own, others)] = L, 0.0
        D[np.ix_(rows, own)] = C[rows] @ B[:, own]
        B[:, own] = A @ B[:, own]
        space = replace(space, B=B, C=C, D=D, form=None, truncation=None)
    return space
