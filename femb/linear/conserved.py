"""Linear models without what is conserved: momenta that no input changes, and motions that no output sees.

A model that ``linearize`` made about rest or a steady rotation knows its rigid motions, and with these what is
conserved (``femb.linear.modal_form``), and about another state its translations. Of the rest there, of a model that is
made of matrices alone, and of samples, singular values tell.

A free satellite with wheels has the momentum of the whole, w.x with w^T A = 0 and w^T B = 0, and as a rule motions
A v = 0 with C v = 0, such as translations. Each is an eigenvalue at zero that no controller moves: with them a model
is not stabilisable, and rounding splits the multiple eigenvalue. Source: docs/theory/control_loop.md, section 4.
"""

from dataclasses import replace

import numpy as np

from femb.base.types import Floats, Ints
from femb.base.values import check_kind
from femb.linear.modal_form import KnownForm, LoopForm
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import balancing

# Singular values, by the largest: what is below ZERO may be zero, and is so where it is smaller than the others by GAP,
# or by GAP_TO_ROUNDING and below ROUNDING. Values below that are not told apart. Of stiff meshes no gap is left: their
# models in modes have one.
ZERO, GAP, GAP_TO_ROUNDING, ROUNDING = 1e-9, 1e3, 1e2, 1e-15
# The least part of a vector, by the largest, of a state that is left out in the place of another one.
LEAST = 1e-4


def without_conserved(space: StateSpace, in_modes: bool = False) -> StateSpace:
    """The model without states that are conserved or have no effect; its transfer matrix stays.

    A state is left out for each motion and each momentum; the others keep their names, and mean what they meant where
    the conserved momenta are zero. Of a sampled system the same is left out for eigenvalues z = 1. in_modes : whether
    to give it in the modes that it is known by, if it knows any.
    """
    check_kind("state space", space, StateSpace, "a femb.StateSpace")
    if (known := space.known) is not None and isinstance(known.form, KnownForm | LoopForm):
        of = space.in_form()
        motions, momenta = known.form.known(of.B, of.C)
        if not in_modes:
            of, motions, momenta = space, known.form.change @ motions, known.form.inverse.T @ momenta
        space = _without_known(of, motions, momenta)
        if not space.unsteady:
            return space
        # translations are all that is known: what else stays is measured
    elif in_modes:
        space = space.in_form()
    while space.states:
        A = space.A if space.dt is None else space.A - np.eye(len(space.A))
        scale, inputs, outputs = scales(A, space.B, space.C)
        A, B, C = A * scale / scale[:, None], space.B * inputs / scale[:, None], space.C * scale / outputs[:, None]
        # as large as the rates of stiff vibrations, beside which they would be rounding
        C, B = _as_large(C, A), _as_large(B.T, A).T
        unseen = null_space(np.vstack([A, C]))
        if unseen.shape[1]:
            space = _without(space, _last(unseen), scale[:, None] * unseen, None)
            continue
        kept = null_space(np.hstack([A, B]).T)
        if not kept.shape[1]:
            break
        space = _without(space, _last(kept), None, kept / scale[:, None])
    return space


def _without_known(space: StateSpace, motions: Floats, momenta: Floats) -> StateSpace:
    """The model modulo motions (n, v), with zero momenta (n, w)."""
    scale = scales(space.A, space.B, space.C)[0]
    motions = _basis(motions / scale[:, None])
    momenta = momenta * scale[:, None]
    if motions.shape[1]:
        chosen = _last(motions)
        space = _without(space, chosen, scale[:, None] * motions, None)
        momenta, scale = np.delete(momenta, chosen, axis=0), np.delete(scale, chosen)
    momenta = _basis(momenta)
    return _without(space, _last(momenta), None, momenta / scale[:, None]) if momenta.shape[1] else space


def _basis(vectors: Floats) -> Floats:
    """(n, k) an orthonormal basis of vectors (n, v), of which each may have any size; those of size zero are none."""
    sizes = np.linalg.norm(vectors, axis=0)
    return np.asarray(np.linalg.qr(vectors[:, sizes > 0.0] / sizes[sizes > 0.0])[0])


def _as_large(rows: Floats, matrix: Floats) -> Floats:
    """The rows, each of the size of the largest row of a matrix; of size one beside a matrix of zeros."""
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    largest = np.max(np.linalg.norm(matrix, axis=1), initial=0.0) or 1.0
    return np.asarray(rows * np.where(sizes > 0.0, largest / np.where(sizes > 0.0, sizes, 1.0), 0.0))


def scales(A: Floats, B: Floats, C: Floats) -> tuple[Floats, Floats, Floats]:
    """Sizes of states (n,), inputs (m,) and outputs (p,) in which the matrices are balanced.

    Every output is thought to lead to every input.
    """
    (n, m), p = B.shape, len(C)
    whole = np.zeros((n + m + p, n + m + p))
    whole[:n, :n], whole[:n, n : n + m], whole[n + m :, :n] = A, B, C
    whole[n : n + m, n + m :] = 1.0
    scale = balancing(whole)
    return scale[:n], scale[n : n + m], scale[n + m :]


def null_space(matrix: Floats) -> Floats:
    """(n, r) an orthonormal basis of what a matrix (m, n) maps to zero: of the singular values below a clear gap."""
    _, values, rows = np.linalg.svd(matrix)
    n = matrix.shape[1]
    if not n or not len(values) or not values[0]:
        return np.eye(n)
    sizes = np.append(values, np.zeros(n - len(values))) / values[0]
    sizes = np.maximum(sizes, ROUNDING)
    gaps = np.where(sizes[1:] < ZERO, sizes[:-1] / sizes[1:], 0.0)
    gaps *= np.where(sizes[1:] > ROUNDING, 1.0, GAP / GAP_TO_ROUNDING)
    rank = int(np.argmax(gaps)) + 1 if np.max(gaps, initial=0.0) > GAP else n
    return np.asarray(rows[rank:].T)


def _without(space: StateSpace, chosen: Ints, motions: Floats | None, momenta: Floats | None) -> StateSpace:
    """The model modulo motions (n, r), or with zero momenta (n, r), without the ``chosen`` states."""
    vectors = motions if motions is not None else momenta
    assert vectors is not None
    rest = np.setdiff1d(np.arange(len(vectors)), chosen)
    change = np.linalg.solve(vectors[chosen].T, vectors[rest].T)  # (r, n - r)
    names = tuple(space.states[k] for k in rest)
    if motions is not None:
        A, B = (each[rest] - change.T @ each[chosen] for each in (space.A[:, rest], space.B))
        return replace(space, A=A, B=B, C=space.C[:, rest], states=names, truncation=None)
    A, C = (each[:, rest] - each[:, chosen] @ change for each in (space.A[rest], space.C))
    return replace(space, A=A, B=space.B[rest], C=C, states=names, truncation=None)


def _last(vectors: Floats) -> Ints:
    """(r,) late states that determine orthonormal vectors (n, r): of a satellite those of wheels, not of the hub."""
    n, count = vectors.shape
    left: Floats = vectors.copy()
    chosen: list[int] = []
    for least in (LEAST, 0.0):
        for k in reversed(range(n)):
            size = np.linalg.norm(left[k])
            if len(chosen) < count and k not in chosen and size > least * np.max(np.linalg.norm(left, axis=1)):
                chosen.append(k)
                direction = left[k] / size
                left = left - np.outer(left @ direction, direction)
    return np.array(sorted(chosen), dtype=np.int64)
