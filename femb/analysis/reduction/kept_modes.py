"""Modes that a truncated model keeps, and what they have in common: products, gaps of constraints, ratios."""

from collections.abc import Callable
from functools import partial

import numpy as np

from femb.analysis.modes.appendages import appendages
from femb.analysis.modes.eigen import freedoms, real_modes
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.rigid import FreeMotions, free_motions
from femb.analysis.reduction.model import LinearModel
from femb.base.errors import ModelError
from femb.base.types import Floats


def at_rest(model: LinearModel, what: str) -> EigenProblem:
    """The motions of a model at rest. Raises ModelError: a rotation, which has no truncation of this kind."""
    if model.motion.spinning:
        raise ModelError(
            f"{what}: the state is a steady rotation, whose modes are complex: those of an appendage with the hub held "
            "are no basis beside its motions, nor are static responses beside the modes; truncate to modes with the "
            "static share of the others, or to balanced states (--modes, --balanced)"
        )
    return model.motion


def modes_and_next(motion: EigenProblem, free: FreeMotions, count: int) -> tuple[Floats, Floats, float]:
    """omega^2 (k,) and shapes (n_v, k) of ``count`` modes, and omega of the next one, or infinity."""
    most = freedoms(motion) - free.count
    more = count + 1 if isinstance(count, int) and 1 <= count < most else count
    squares, shapes = real_modes(motion, free, more)
    following = float(np.sqrt(squares[count])) if more > count else np.inf
    return squares[:count], shapes[:, :count], following


def modes_of_appendages(alone: EigenProblem, count: int) -> tuple[Floats, Floats, list[str], float]:
    """Shapes, omega^2 and names of the lowest modes of each appendage, and omega of the next of all."""
    shapes, squares, names, following = [np.zeros((alone.system.n_v, 0))], [np.zeros(0)], [], np.inf
    for part in appendages(alone):
        own = alone.only(*part.frames)
        free = free_motions(own)
        if freedoms(own) - free.count < 1:
            continue
        values, found, after = modes_and_next(own, free, min(count, max(1, freedoms(own) - free.count)))
        shapes.append(found)
        squares.append(values)
        names += [f"{part.name}.mode {k + 1}" for k in range(len(values))]
        following = min(following, after)
    return np.hstack(shapes), np.concatenate(squares), names, following


def largest_gap(motion: EigenProblem, columns: Floats) -> float:
    if not motion.system.n_c:
        return 0.0
    return float(max(np.max(np.abs(motion.gaps(np.ascontiguousarray(x)))) for x in columns.T))


def products(motion: EigenProblem, data: Floats, columns: Floats) -> Floats:
    """Block data times columns (n_v, k)."""
    return _by_columns(motion, partial(motion.times, data), columns)


def stiffness_products(motion: EigenProblem, columns: Floats) -> Floats:
    """The stiffness times columns (n_v, k), by exact products."""
    return _by_columns(motion, motion.exact_stiffness, columns)


def damping_products(motion: EigenProblem, columns: Floats) -> Floats:
    """The damping without modal damping times columns (n_v, k), by exact products."""
    if not np.any(motion.damping):
        return np.zeros_like(columns)
    return _by_columns(motion, motion.exact.damping, columns)


def _by_columns(motion: EigenProblem, product: Callable[[Floats], Floats], columns: Floats) -> Floats:
    found = [product(np.ascontiguousarray(column)) for column in columns.T]
    return np.array(found).reshape(-1, motion.system.n_v).T
