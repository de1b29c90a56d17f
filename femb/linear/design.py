"""Optimal laws of linear plants: quadratic regulators, and H2 controllers by measured outputs.

    minimise the mean of y.Q y + u.R u,        u = -K x,   K = (R + ...)^-1 (B^T S + ...)

of the plant without conserved momenta, which no law can change. Source: docs/theory/control_loop.md, section 7;
Anderson and Moore, Optimal Control, 1990.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.types import Complexes, Floats
from femb.base.values import absent, as_numbers, shown
from femb.elements.control.linear_law import LinearLaw
from femb.linear.conserved import without_conserved
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import eigenvalues

Weights: TypeAlias = ArrayLike | Mapping[str, float]
"""A number for all, one for each, a matrix, or a mapping of names, or beginnings of names, to numbers."""

FAST = 1e8  # 1/s: rounding of faster motions is as large as slow vibrations


@dataclass(frozen=True, eq=False)
class StateFeedback(Brief):
    """The law u = -K x of the states of ``plant``, which has no conserved ones; K (m, n), poles (n,) 1/s."""

    plant: StateSpace
    K: Floats
    poles: Complexes


def lqr(space: StateSpace, Q: Weights, R: Weights = 1.0) -> StateFeedback:
    """The linear quadratic regulator. It has the least integral, or sum of a sampled model, of y.Q y + u.R u.

    What is conserved is left out of the plant first: it is not stabilisable.

    Parameters:
        space: of the plant.
        Q: weights, numbers, of the outputs y, such as {"bodies.hub.turn": 1.0, "bodies.hub.angular_velocity": 10.0}.
        R: weights, numbers, of the inputs u.

    Raises:
        ModelError: weights that are no numbers, or not positive for an input; no regulator exists.
    """
    plant = without_conserved(space)
    C, D = plant.C, plant.D
    Qy, Ru = _weights("Q", Q, plant.outputs), _weights("R", R, plant.inputs)
    K = _gain(plant.A, plant.B, C.T @ Qy @ C, Ru + D.T @ Qy @ D, C.T @ Qy @ D, plant.dt is not None, "lqr")
    closed = StateSpace(
        plant.A - plant.B @ K, plant.B, plant.C, plant.D, plant.states, plant.inputs, plant.outputs, dt=plant.dt
    )
    return StateFeedback(plant, K, closed.eigenvalues())


def h2(
    space: StateSpace,
    Q: Weights,
    R: Weights,
    measured: Sequence[str],
    *,
    disturbance: Weights = 1.0,
    noise: Weights = 1.0,
    name: str = "h2",
    delay: float = 0.0,
) -> LinearLaw:
    """The law of ``measured`` outputs with the least mean of y.Q y + u.R u. It is a regulator of estimated states.

    Parameters:
        space: of the plant, as in ``lqr``.
        Q: weights of the outputs, numbers as in ``lqr``.
        R: weights of the inputs, numbers as in ``lqr``.
        measured: names of the outputs that the law reads.
        disturbance: intensities of white noise that adds to the inputs, by unit squared times s; variances of a sampled
            model.
        noise: of white noise that adds to the measured outputs, by unit squared times s.
        name: of the law.
        delay: s, of a model that ``StateSpace.sampled`` made with this delay.

    Raises:
        ModelError: as ``lqr``; measured outputs that an input changes at once.
    """
    plant = without_conserved(space)
    sampled = plant.dt is not None
    rows = [plant.index("outputs", each) for each in measured]
    Cm = plant.C[rows]
    if np.any(plant.D[rows]):
        raise ModelError("h2: an input changes a measured output at once: measure positions and rates")
    Qy, Ru = _weights("Q", Q, plant.outputs), _weights("R", R, plant.inputs)
    W, V = _weights("disturbance", disturbance, plant.inputs), _weights("noise", noise, tuple(measured))
    A, B, C, D = plant.A, plant.B, plant.C, plant.D
    K = _gain(A, B, C.T @ Qy @ C, Ru + D.T @ Qy @ D, C.T @ Qy @ D, sampled, "h2")
    # the estimator is the regulator of the transposed plant
    none = np.zeros((len(A), len(rows)))
    L = _gain(A.T, Cm.T, B @ W @ B.T, V, none, sampled, "h2: estimator").T
    if not sampled:
        matrices = A - B @ K - L @ Cm, L, -K, np.zeros((len(B.T), len(rows)))
    else:
        # that of the next sample is A M: the measurement of a sample corrects the state that is fed back there
        covariance = _riccati(A.T, Cm.T, B @ W @ B.T, V, none, True, "h2: estimator")
        M = covariance @ Cm.T @ np.linalg.inv(Cm @ covariance @ Cm.T + V)
        kept = np.eye(len(A)) - M @ Cm
        matrices = (A - B @ K) @ kept, (A - B @ K) @ M, -K @ kept, -K @ M
    return LinearLaw(name, *matrices, plant.dt, 0.0, delay, tuple(measured), plant.inputs, plant.units)


def _riccati(A: Floats, B: Floats, Q: Floats, R: Floats, N: Floats, sampled: bool, what: str) -> Floats:
    from scipy.linalg import LinAlgError, solve_continuous_are, solve_discrete_are

    # The solution is proportional to the weights, and scipy wants them near one. Its balancing helps where states
    # differ in size, and fails where disturbances and noise do.
    size = 1.0 / max(float(np.max(np.abs(R))), np.finfo(float).tiny)
    solve = solve_discrete_are if sampled else solve_continuous_are
    reason: Exception | None = None
    for balanced in (True, False):
        try:
            solution: Floats = solve(A, B, size * Q, size * R, s=size * N, balanced=balanced) / size
        except (LinAlgError, ValueError) as error:
            reason = reason or error
        else:
            return solution
    fastest = 0.0 if sampled else float(np.max(np.abs(eigenvalues(A)), initial=0.0))
    why = "a motion at rest or growing is not reached by the inputs, or has no weight among the outputs"
    if fastest > FAST:
        why = (
            f"rounding of decays of {fastest:.2g} 1/s, of full order, may hide slow motions: truncate it to modes "
            f"(hub=, craig_bampton=); else {why}"
        )
    raise ModelError(f"{what}: there is no solution ({reason}): {why}") from reason


def _gain(A: Floats, B: Floats, Q: Floats, R: Floats, N: Floats, sampled: bool, what: str) -> Floats:
    S = _riccati(A, B, Q, R, N, sampled, what)
    if sampled:
        return np.asarray(np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A + N.T))
    return np.asarray(np.linalg.solve(R, B.T @ S + N.T))


def _weights(word: str, given: Weights, names: Sequence[str]) -> Floats:
    """(k, k) a matrix of weights of named quantities."""
    if isinstance(given, Mapping):
        result = np.zeros(len(names))
        for name, value in given.items():
            own = [k for k, each in enumerate(names) if each == name or each.startswith(f"{name}.")]
            if not own:
                raise ModelError(f"{word}: got {absent(name, names)}")
            result[own] = value
        return np.diag(result)
    numbers = as_numbers(given)
    shapes = ((), (len(names),), (len(names), len(names)))
    if numbers is None or numbers.shape not in shapes or not np.all(np.isfinite(numbers)):
        raise ModelError(
            f"{word}: got {shown(given)}, wanted a number, {len(names)} numbers, a matrix, or numbers by name"
        )
    return numbers if numbers.ndim == 2 else np.diag(np.broadcast_to(numbers, (len(names),)))
