"""Residual vectors: the static response of the modes left out, as more modes.

Source: docs/theory/linearisation.md, section 8.
"""

from dataclasses import replace

import numpy as np

from femb.analysis.modes.damping_ratios import source_of
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.flexibility import Flexibility
from femb.analysis.modes.rigid import free_motions
from femb.analysis.reduction.kept_modes import at_rest, modes_and_next, products, stiffness_products
from femb.analysis.reduction.model import LinearModel
from femb.analysis.reduction.residual_tail import ResidualTail
from femb.analysis.reduction.tail import Tail
from femb.analysis.reduction.truncate import Reduction, reduced
from femb.base.types import Floats

# Of the largest of vectors of unit size: below this they depend on each other.
DEPENDENT = 1e-6


def residual_vectors(model: LinearModel, count: int, *, damping: float | None = None) -> Reduction:
    """The ``count`` lowest modes of the whole, and the static responses of the others to the inputs as more modes.

    Outputs of all kinds have the static share of the modes left out, at the cost of states. damping : as of
    ``modal``, of residual ones too. Raises as ``modal``.
    """
    motion = at_rest(model, "residual vectors")
    source = source_of(motion.system.model, damping)
    free = free_motions(motion)
    squares, shapes, following = modes_and_next(motion, free, count)
    forces = model.rows.forces
    vectors = np.zeros((motion.system.n_v, 0))
    flexibility = Flexibility(motion, free, float(squares[0]))
    if np.isfinite(following):
        static = flexibility(forces)
        vectors = static - (shapes / squares) @ (shapes.T @ forces)
        # once more, since the modes outweigh what is left
        vectors = vectors - shapes @ (shapes.T @ products(motion, motion.mass, vectors))
    more, own = _ritz(motion, vectors)
    kept, of_kept = shapes, squares
    squares, shapes = np.concatenate([squares, own]), np.hstack([shapes, more])
    names = [f"rigid {k + 1}" for k in range(free.rigid)]
    names += [f"joint motion {k + 1}" for k in range(free.count - free.rigid)]
    names += [f"mode {k + 1}" for k in range(count)] + [f"residual {k + 1}" for k in range(len(own))]
    momenta = products(motion, motion.mass, shapes)
    full = model.with_ratio(damping, momenta, np.sqrt(squares))
    words = f"{count} modes of the whole structure and {len(own)} residual vectors, {source}"
    basis = np.hstack([free.shapes, shapes])
    found = reduced(full, basis, names, free, free, squares, shapes, np.inf, 0, False, words)
    tail: Tail | ResidualTail | None = found.tail  # none where dampers are not symmetric
    if tail is not None and np.isfinite(following):
        ratios = 2.0 * (full.ratio or 0.0) * np.sqrt(own)
        tail = ResidualTail.of(full, basis, more, ratios, kept, of_kept, flexibility, following)
    # compared over the modes, not up to the residual ones
    return replace(found, omega=np.sqrt(of_kept), tail=tail)


def _ritz(motion: EigenProblem, vectors: Floats) -> tuple[Floats, Floats]:
    """Shapes (n_v, r) of unit mass in the span of vectors, with diagonal stiffness, and omega^2 (r,)."""
    sizes = np.sqrt(np.maximum(np.sum(vectors * products(motion, motion.mass, vectors), axis=0), 0.0))
    vectors = vectors[:, sizes > 0.0] / sizes[sizes > 0.0]
    values, axes = np.linalg.eigh(vectors.T @ products(motion, motion.mass, vectors))
    own = values > DEPENDENT * np.max(values, initial=0.0)
    basis = vectors @ (axes[:, own] / np.sqrt(values[own]))
    squares, parts = np.linalg.eigh(basis.T @ stiffness_products(motion, basis))
    return basis @ parts, squares
