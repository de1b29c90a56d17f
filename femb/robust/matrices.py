"""Matrices of second-order models that depend on parameters: as one matrix, with fewer coordinates, as transfer matrix.

Source: docs/theory/robust.md, section 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats, Ints
from femb.linear.modal_form import KnownForm, SecondOrderModel, SteadyForm
from femb.linear.state_space import InModes, StateSpace
from femb.numerics.linear_systems import NOTHING, largest_alike

# Of the fastest frequency of a coordinate, below which it has none.
STILL = 1e-6
# Of a row of free motions, what is another coordinate.
APART = 1e-3
# Relative: what z of masses may have of other w, which is rounding.
NO_RATE = 1e-9


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


def sizes_of(model: SecondOrderModel, fine: bool) -> tuple[Floats, Floats]:
    """(a,), (b,) factors of the rows and columns of the stacked matrices of a model.

    With them accelerations and rates count at the fastest frequency. fine : at the slowest one of a coordinate, where
    small differences of stiffness matter most, with the stiffness of each, and inputs and outputs, of size one.
    """
    whole, n = stacked(model), len(model.names)
    if not fine:
        most = [np.max(np.abs(part), initial=0.0) for part in (model.mass, model.stiffness)]
        omega = np.sqrt(most[1] / most[0]) if most[1] else 1.0
        return np.ones(len(whole)), np.repeat([omega**2, omega, 1.0], [n, n, whole.shape[1] - 2 * n])
    mass, stiffness = (np.abs(np.diag(part)) for part in (model.mass, model.stiffness))
    frequencies = np.sqrt(stiffness / mass)
    slow = np.min(frequencies[frequencies > STILL * np.max(frequencies, initial=0.0)], initial=np.inf)
    slow = slow if np.isfinite(slow) else 1.0
    own = 1.0 / (np.sqrt(mass) * np.maximum(frequencies, slow))
    forces = np.max(np.abs(own[:, None] * whole[:n, 3 * n :]), axis=0, initial=0.0)
    columns = np.concatenate([own * slow**2, own * slow, own, 1.0 / np.where(forces, forces, 1.0)])
    sizes = np.max(np.abs(whole[n:] * columns), axis=1, initial=0.0)
    return np.concatenate([own, 1.0 / np.where(sizes, sizes, 1.0)]), columns


def difference_of(own: Complexes, wanted: Complexes, words: Mapping[str, Any]) -> float:
    """The largest difference of two transfer matrices (p, m), by the largest of its row; of a row that is zero to
    rounding by the largest response of its kind. Raises ModelError: there is none."""
    size = np.abs(wanted)
    if not np.any(size):
        given, got = (
            ", ".join(names[:4]) + ", ..." * (len(names) > 4) for names in (words["inputs"], words["outputs"])
        )
        raise ModelError(f"uncertain: no input moves an output: {given}; {got}: name inputs and outputs")
    alike = largest_alike(size, words["outputs"], words["inputs"], words["units"])
    rows = np.max(size, axis=1, keepdims=True)
    scale = np.where(np.any(size > NOTHING * alike, axis=1, keepdims=True), rows, np.where(alike, alike, np.max(size)))
    return float(np.max(np.abs(own - wanted) / scale))


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
    return np.array(chosen, dtype=np.int64)


def closed_by(N: Complexes, d: Floats) -> Complexes:
    """N_22 + N_21 D (1 - N_11 D)^-1 N_12, with w and z first and D of diagonal d."""
    count = len(d)
    inner = np.linalg.solve(np.eye(count) - N[:count, :count] * d, N[:count, count:])
    return np.asarray(N[count:, count:] + N[count:, :count] * d @ inner)


def by_rates(space: StateSpace, core: SecondOrderModel, sizes: Sequence[int]) -> StateSpace:
    """The plant with integrals of those w and z that act through accelerations alone, as of masses.

    With z = s z1 and w = s w1 it is w1 = d z1, and w1 changes no momentum: what the plant keeps stays known.

    Parameters:
        space: of which w and z come first.
        core: of the same w and z.
        sizes: of w, by parameters.
    """
    known, count = space.known, sum(sizes)
    through = np.hstack([core.position, core.rate, core.direct[:, count:]])[:count]
    own = np.flatnonzero(~np.any(through, axis=1) & np.any(core.acceleration[:count], axis=1))
    rows, columns = (np.delete(np.arange(size), own) for size in space.D.shape)
    apart = (space.D[np.ix_(rows, own)], core.direct[np.ix_(own, columns[columns < count])])
    most = NO_RATE * np.max(np.abs(space.D[np.ix_(own, own)]), initial=1e-300)
    if not len(own) or any(np.max(np.abs(each), initial=0.0) > most for each in apart):
        return space
    rates = np.zeros((len(own), len(space.states)))
    for k, name in enumerate(core.names):
        if (state := f"{name} rate" if f"{name} rate" in space.states else name) in space.states:
            rates[:, space.states.index(state)] = core.acceleration[own, k]
    of = space.in_form()
    if of is not space and known is not None:
        rates = rates @ known.form.change
    # x = x1 + B w1
    A, B, C, D = of.A, of.B.copy(), of.C.copy(), of.D.copy()
    C[own], D[np.ix_(own, columns)] = rates, 0.0
    D[np.ix_(rows, own)] = C[rows] @ B[:, own]
    B[:, own] = A @ B[:, own]
    form = None
    if known is not None and isinstance(known.form, KnownForm):
        form = InModes(SteadyForm.of(A, B, C, known.form.kept()), A, B, C)
    return replace(of, B=B, C=C, D=D, form=form, truncation=None)
