"""Poles of a closed loop at zero that nothing conserved explains: motions that laws see, and do not take back.

A law whose own integral of a rate stands for an angle ends with u = 0 at any angle. The error that it begins with then
stays for ever. Left out are states of laws that the plant does not feel, and motions at which laws give nothing once
they have settled: an integrating gyro, or a difference of samples, does not see that the satellite has turned.
Source: docs/theory/control_loop.md, section 4.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from femb.base.types import Floats
from femb.elements.control.linear_law import LinearLaw
from femb.linear.conserved import null_space, without_conserved
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import balancing, eigenvectors

# Of what the terms of a pole are: a smaller one is rounding.
AT_ZERO = 1e-12
# Of states in balanced units: smaller parts of a motion are none.
NONE = 1e-6


def staying(matrix: Floats, sampled: bool, count: int, settled: Callable[[Floats], Floats]) -> int:
    """The number of motions with poles at zero that the plant feels and that laws, settled there, see.

    Parameters:
        matrix: (n, n) of the closed loop, of samples that over a period.
        sampled: whether it is that of samples.
        count: of the states of the plant, which come first.
        settled: the rows of ``settled_loop`` at states (count, k) of the plant.
    """
    values, left, right = eigenvectors(matrix)
    sizes = np.sum(np.abs(left) * (np.abs(matrix) @ np.abs(right)), axis=0)
    near = np.abs(values - sampled) * np.abs(np.sum(left * right, axis=0)) <= AT_ZERO * sizes
    scale = balancing(matrix)[:, None]
    parts = right[:, near] / scale
    # conjugate pairs of a double zero are two motions
    motions = np.linalg.svd(np.hstack([parts.real, parts.imag]), full_matrices=False)[0][:, : int(np.sum(near))]
    found = settled(scale[:count] * motions[:count])
    apart = np.vstack([motions - found[: len(scale)] / scale, found[len(scale) :]])
    seen = [int(np.linalg.matrix_rank(part, tol=NONE)) if part.size else 0 for part in (motions[:count], apart)]
    return seen[0] + seen[1] - len(motions[0])


def unanswered(plant: StateSpace, laws: Sequence[LinearLaw], acting: Sequence[str], idle: Sequence[str]) -> int:
    """The number of motions at rest that settled laws answer by inputs ``idle`` alone, not by those that are acting."""
    n, queues = len(plant.A), [0 for law in laws if law.period is not None]
    # where any state may begin, what is left out is what laws do not see
    of = without_conserved(replace(plant, B=np.eye(n), D=np.zeros((len(plant.C), n)), inputs=plant.states, form=None))
    scale = balancing(of.A)[:, None]
    still = scale * null_space(of.A * scale.T / scale)
    none, own, others = (settled_loop(of, laws, queues, inputs, still) for inputs in ((), idle, acting))
    _, sizes, rows = np.linalg.svd(others[len(none) :])
    return int(np.linalg.matrix_rank(own[len(none) :] @ rows[int(np.sum(sizes > NONE)) :].T, tol=NONE))


def settled_loop(
    plant: StateSpace, laws: Sequence[LinearLaw], queues: Sequence[int], inputs: Sequence[str], x: Floats
) -> Floats:
    """The states (n, k) of a loop at states x (count, k) of the ``plant``, with laws that have read these for ever;
    below, what these then give the ``inputs``, by the sizes of its terms.

    Integrals of laws are zero, as they begin. queues : numbers of commands of each sampled law that wait.
    """
    signals, states, values = dict(zip(plant.outputs, plant.C @ x, strict=True)), list[Floats](), list[Floats]()
    for _ in laws:
        states, values, commands = [], [], list[Floats]()
        for law in laws:
            read = np.array([signals.get(name, np.zeros(x.shape[1])) for name in law.inputs]).reshape(
                len(law.inputs), x.shape[1]
            )
            still = law.A if law.period is None else law.A - np.eye(len(law.A))
            states.append(-np.linalg.lstsq(still, law.B @ read, rcond=None)[0])
            values.append(law.C @ states[-1] + law.D @ read)
            sizes = np.max(np.abs(law.C) @ np.abs(states[-1]) + np.abs(law.D) @ np.abs(read), axis=1, initial=0.0)
            acting = np.isin(law.outputs, inputs) & (sizes > 0.0)
            commands.append(values[-1][acting] / sizes[acting, None])
            signals |= {
                name: row for name, row in zip(law.outputs, values[-1], strict=True) if name not in plant.outputs
            }
    own = [k for k, law in enumerate(laws) if law.period is not None]
    waiting = [values[k] for k, count in zip(own, queues, strict=True) for _ in range(count)]
    continuous = [states[k] for k in range(len(laws)) if k not in own]
    return np.vstack([x, *continuous, *(values[k] for k in own), *(states[k] for k in own), *waiting, *commands])
