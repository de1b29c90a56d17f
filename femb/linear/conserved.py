"""Linear models without what is conserved: momenta that no input changes, and motions that no output sees.

A model that ``linearize`` made about rest or a steady rotation knows its rigid motions, and with these what is
conserved (``femb.linear.modal_form``), and about another state its translations. Of the rest there, of a model that is
made of matrices alone, and of samples, singular values tell.

A free satellite with wheels has the momentum of the whole, w.x with w^T A = 0 and w^T B = 0, and as a rule motions
A v = 0 with C v = 0, such as translations. Each is an eigenvalue at zero that no controller moves: with them a model
is not stabilisable, and rounding splits the multiple eigenvalue. Source: docs/theory/control_loop.md, section 4.
"""

from dataclasses import dataclass, replace

import numpy as np

from femb.base.types import Floats, Ints
from femb.base.values import check_kind
from femb.linear.modal_form import ABOVE, EPS, NONE, KnownForm, LoopForm, SteadyForm, unseen_by
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import balancing

# Singular values, by the largest: what is below ZERO may be zero, and is so where it is smaller than the others by GAP,
# or by GAP_TO_ROUNDING and below ROUNDING. Values below that are not told apart. Of stiff meshes no gap is left: their
# models in modes have one.
ZERO, GAP, GAP_TO_ROUNDING, ROUNDING = 1e-9, 1e3, 1e2, 1e-15
# The least part of a vector, by the largest, of a state that is left out in the place of another one.
LEAST = 1e-4
# Condition of a loop beside what it keeps from which it has no other motion than that.
SINGULAR = 1e14
# Of these motions: the first finds them.
REFINEMENTS = 4


def without_conserved(space: StateSpace, in_modes: bool = False) -> StateSpace:
    """The model without states that are conserved or have no effect; its transfer matrix stays.

    A state is left out for each motion and each momentum; the others keep their names, and mean what they meant where
    the conserved momenta are zero. Of a sampled system the same is left out for eigenvalues z = 1. in_modes : whether
    to give it in the modes that it is known by, if it knows any.
    """
    return reduced(space, in_modes).space


def reduced(space: StateSpace, in_modes: bool = False) -> "Reduced":
    """The model as ``without_conserved`` gives it, with the states that it has."""
    check_kind("state space", space, StateSpace, "a femb.StateSpace")
    if (known := space.known) is not None and isinstance(known.form, KnownForm | LoopForm):
        of = space.in_form()
        motions, momenta, _ = known.form.known(of.B, of.C)
        if isinstance(known.form, LoopForm):
            _, of_laws, rates = known.form.known(of.B[:, :0], of.C)
            motions = np.hstack([motions, _balanced_motions(of, motions, of_laws, rates, momenta)])
        if not in_modes:
            of, motions, momenta = space, known.form.change @ motions, known.form.inverse.T @ momenta
        found = _without_known(Reduced.of(of), motions, momenta)
        form = known.form.plant if isinstance(known.form, LoopForm) else known.form
        in_orbit = isinstance(form, SteadyForm) and form.invariant.motions.size and not form.invariant.momenta.size
        if not space.unsteady and not in_orbit:
            return found
        # translations are all that is known: what else stays is measured
    else:
        found = Reduced.of(space.in_form() if in_modes else space)
    while found.space.states:
        of = found.space
        A = of.A if of.dt is None else of.A - np.eye(len(of.A))
        scale, inputs, outputs = scales(A, of.B, of.C)
        A, B, C = A * scale / scale[:, None], of.B * inputs / scale[:, None], of.C * scale / outputs[:, None]
        # as large as the rates of stiff vibrations, beside which they would be rounding
        C, B = _as_large(C, A), _as_large(B.T, A).T
        unseen = null_space(np.vstack([A, C]))
        if unseen.shape[1]:
            found = found.without(_last(unseen), motions=scale[:, None] * unseen)
            continue
        kept = null_space(np.hstack([A, B]).T)
        if not kept.shape[1]:
            break
        found = found.without(_last(kept), momenta=kept / scale[:, None])
    return found


@dataclass(frozen=True, eq=False)
class Reduced:
    """A model whose states are left x (r, n), and which stand for the states right x (n, r) of the model before."""

    space: StateSpace
    left: Floats
    right: Floats

    @classmethod
    def of(cls, space: StateSpace) -> "Reduced":
        return cls(space, np.eye(len(space.A)), np.eye(len(space.A)))

    def without(self, chosen: Ints, motions: Floats | None = None, momenta: Floats | None = None) -> "Reduced":
        """The model modulo motions (n, r), or with zero momenta (n, r), without the ``chosen`` states."""
        vectors, of = motions if motions is not None else momenta, self.space
        assert vectors is not None
        rest = np.setdiff1d(np.arange(len(vectors)), chosen)
        change = np.linalg.solve(vectors[chosen].T, vectors[rest].T)  # (r, n - r)
        left, right = np.eye(len(vectors))[rest], np.eye(len(vectors))[:, rest]
        if motions is not None:
            left[:, chosen] = -change.T
        else:
            right[chosen] = -change
        names = tuple(of.states[k] for k in rest)
        space = replace(of, A=left @ of.A @ right, B=left @ of.B, C=of.C @ right, states=names, truncation=None)
        return Reduced(space, left @ self.left, self.right @ right)


def _without_known(found: Reduced, motions: Floats, momenta: Floats) -> Reduced:
    """The model modulo motions (n, v), with zero momenta (n, w)."""
    of = found.space
    scale = scales(of.A, of.B, of.C)[0]
    motions = _basis(motions / scale[:, None])
    momenta = momenta * scale[:, None]
    if motions.shape[1]:
        chosen = _last(motions)
        found = found.without(chosen, motions=scale[:, None] * motions)
        momenta, scale = np.delete(momenta, chosen, axis=0), np.delete(scale, chosen)
    momenta = _basis(momenta)
    return found.without(_last(momenta), momenta=momenta / scale[:, None]) if momenta.shape[1] else found


def _balanced_motions(of: StateSpace, motions: Floats, momenta: Floats, rates: Floats, unmoved: Floats) -> Floats:
    """(n, k) motions of a closed loop, beside ``motions`` (n, v), with momenta (n, w) that no law changes, which no
    output sees.

    As where the integral of a law carries the friction of a wheel that stores what torques have brought. With A by
    these momenta and the states across, X = (1; Z) has A22 Z - Z L = -A21. unmoved (n, w2) : momenta that no input
    changes either, of which they have none. Source: docs/theory/control_loop.md, section 4.
    """
    from scipy.linalg import expm, schur

    none = motions[:, :0]
    if momenta.shape[1] == unmoved.shape[1]:
        return none
    scale = balancing(of.A)
    A, C = of.A * scale / scale[:, None] - (0.0 if of.dt is None else np.eye(len(of.A))), of.C * scale
    across = np.linalg.qr(motions / scale[:, None], mode="complete")[0][:, motions.shape[1] :]
    axes, sizes = np.linalg.qr(across.T @ (momenta * scale[:, None]), mode="complete")
    w = momenta.shape[1]
    Y, N = across @ axes[:, :w], across @ axes[:, w:]
    # of momenta about axes that turn a triangular form, one by one
    inner = N.T @ A @ N
    own = rates if of.dt is None else expm(of.dt * rates) - np.eye(w)
    L = np.linalg.solve(sizes[:w].T, own @ sizes[:w].T)
    T, U = schur(L, output="complex")
    rows = np.vstack([C, (unmoved * scale[:, None]).T])
    X, before, terms = Y.astype(complex) @ U, np.zeros((len(rows), w)), np.zeros((len(rows), w))
    inverses = []
    for k in range(w):
        shifted = inner - T[k, k] * np.eye(len(inner))
        if not np.linalg.cond(shifted) < SINGULAR:
            return none
        inverses.append(N @ np.linalg.inv(shifted) @ N.T)
    for _ in range(REFINEMENTS):
        before = rows @ (X @ U.conj().T).real
        for k in range(w):
            X[:, k] -= inverses[k] @ (A @ X[:, k] - X[:, : k + 1] @ T[: k + 1, k])
    for k in range(w):
        size = np.abs(A) @ np.abs(X[:, k]) + np.abs(X[:, : k + 1]) @ np.abs(T[: k + 1, k])
        terms[:, k] = np.abs(rows) @ (np.abs(inverses[k]) @ size + np.abs(X[:, k]))
    X, most = (X @ U.conj().T).real, ABOVE * EPS * terms @ np.abs(U.conj().T)
    seen = rows @ X
    # where each refinement finds another number there is none
    small = np.abs(seen) <= NONE * np.max(np.abs(rows), axis=1, keepdims=True) * np.max(np.abs(X), axis=0)
    none_left = small & (np.abs(seen - before) > 0.5 * np.abs(seen))
    seen = np.where((np.abs(seen) <= most) | none_left, 0.0, seen)
    return np.asarray(scale[:, None] * X @ unseen_by(L, seen))


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
