"""Parts of linear plants, and plants with the states of continuous laws. Source: docs/theory/control_loop.md."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.control.linear_law import LinearLaw
from femb.linear.sampled_motion import selection
from femb.linear.state_space import StateSpace


def part_of(plant: StateSpace, inputs: Sequence[str], outputs: Sequence[str]) -> StateSpace:
    """The plant with some of its inputs and outputs, by name."""
    columns = [plant.index("inputs", name) for name in inputs]
    rows = [plant.index("outputs", name) for name in outputs]
    return replace(
        plant, B=plant.B[:, columns], C=plant.C[rows], D=plant.D[np.ix_(rows, columns)], inputs=tuple(inputs),
        outputs=tuple(outputs), truncation=None,
    )  # fmt: skip


def with_continuous(
    plant: StateSpace,
    laws: Sequence[LinearLaw],
    opened: tuple[LinearLaw, Floats, Floats] | None = None,
    errors: tuple[str, ...] = (),
) -> StateSpace:
    """The plant with the states of continuous laws.

    opened : a law, d and l: of its commands u the part d (l.u) is the last output, and d w, of the last input
    w, acts in its place. errors : names of what laws read, for which NAME error is an input after those of the plant.

    Raises ModelError: an algebraic loop.
    """
    if not laws:
        return plant
    n, m, p = len(plant.states), len(plant.inputs), len(plant.outputs)
    given = [name for law in laws for name in law.outputs]
    read = [name for law in laws for name in law.inputs]
    states = [name for law in laws for name in law.states]
    e, w = len(errors), int(opened is not None)
    A, B, C, D = (_diagonal([getattr(law, word) for law in laws]) for word in "ABCD")
    # y = (what laws read) of (x, states, commands, inputs, errors, w), by rows
    of_plant = selection(read, plant.outputs)
    of_laws = selection(read, given) * ~np.isin(read, plant.outputs)[:, None]
    acts = selection(plant.inputs, given)
    take, give = np.zeros((len(given), 0)), np.zeros((0, len(given)))
    keep = np.eye(len(given))
    if opened is not None:
        start = 0
        for law in laws:
            if law is opened[0]:
                d, weight = np.zeros(len(given)), np.zeros(len(given))
                d[start : start + len(law.outputs)], weight[start : start + len(law.outputs)] = opened[1:]
                take, give, keep = d[:, None], weight[None], keep - np.outer(d, weight)
            start += len(law.outputs)
    # u = (I - D F)^-1 (C s + D (read of x, inputs, errors)), with what is fed through beside states
    through = of_plant @ plant.D @ acts + of_laws
    ring = D @ through @ keep
    # positions follow at once by the static share of modes that were left out alone: no mass depends on the law
    at_once = D @ (through * np.array([plant.units.get(name) not in ("m", "rad") for name in read])[:, None]) @ keep
    if np.max(np.abs(np.linalg.matrix_power(at_once, max(len(ring), 1))), initial=0.0) > 0.0:
        names = ", ".join(law.name for law in laws)
        raise ModelError(
            f"controllers: {names}: what they set changes at once what they read, as accelerations do: read these "
            "through a filter, or sample"
        )
    free = np.linalg.inv(np.eye(len(given)) - ring)
    s, columns = len(states), n + len(states) + m + e + w
    own = np.eye(columns)
    x, xc, u, err, wt = np.split(own, np.cumsum([n, s, m, e]))
    reads0 = of_plant @ (plant.C @ x + plant.D @ (u + acts @ take @ wt)) + of_laws @ take @ wt
    reads0 = reads0 + selection(read, errors) @ err
    commands = free @ (C @ xc + D @ reads0)  # before the opening
    acting = keep @ commands + take @ wt
    total = u + acts @ acting
    reads = of_plant @ (plant.C @ x + plant.D @ total) + of_laws @ acting + selection(read, errors) @ err
    rates = np.vstack([plant.A @ x + plant.B @ total, A @ xc + B @ reads])
    values = np.vstack([plant.C @ x + plant.D @ total, give @ commands])
    inputs = (*plant.inputs, *(f"{name} error" for name in errors), *(("w",) if w else ()))
    outputs = (*plant.outputs, *(("-L w",) if w else ()))
    k = n + s
    assert values.shape[0] == p + w
    return StateSpace(
        rates[:, :k], rates[:, k:], values[:, :k], values[:, k:], (*plant.states, *states), inputs, outputs,
        units=plant.units,
    )  # fmt: skip


def _diagonal(parts: Sequence[Floats]) -> Floats:
    result = np.zeros((sum(len(each) for each in parts), sum(each.shape[1] for each in parts)))
    i = j = 0
    for each in parts:
        result[i : i + len(each), j : j + each.shape[1]] = each
        i, j = i + len(each), j + each.shape[1]
    return result
