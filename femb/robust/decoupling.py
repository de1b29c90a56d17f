"""Parts of a closed loop with uncertain parameters, of which each has its own repetitions: as of a satellite with a
plane of symmetry.

What e reaches through z and w, and what of this s sees, are a loop of their own, since w = d z stays in any subspace
of the repetitions of a parameter. What is left has no gain, and only has to be stable. Source: docs/theory/robust.md,
section 3.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from femb.base.types import Complexes, Floats
from femb.linear.state_space import StateSpace
from femb.robust.bounds import Plant, balance
from femb.robust.matrices import closed_by

# Of the largest coupling of balanced signals, of which smaller ones are none: the first with which parts are exact.
COUPLED = 1e-4, 1e-6
# What parts may differ from the whole at points and corners of the box: little beside the slack of a proof.
SAME, POINTS, SEED = 1e-5, 40, 1
# Times the largest difference at these, which a level of the whole is above that of the parts.
SAFETY = 10.0
# Frequencies at which couplings are looked at, by those of poles.
FREQUENCIES, BESIDE = 12, 1.1

Part = tuple[StateSpace, tuple[int, ...]]


def parts_of(space: StateSpace, sizes: Sequence[int], real: int | None = None) -> tuple[list[Part], float]:
    """Plants (z, e) by (w, d) with their repetitions, first that with the gain from the last inputs to the outputs; and
    by what a level of the whole may be above that of the parts, relative.

    Of the others the gain is zero: they are stable for all parameters where any level is proved. real : as with
    ``bounds.scaling_at``.
    """
    r, count = sum(sizes), len(sizes)
    if r == count:
        return [(space, tuple(sizes))], 0.0
    plant = Plant(space, sizes, real)
    poles = np.sort(np.abs(plant.poles[plant.poles != 0.0]))
    omegas = BESIDE * poles[np.linspace(0, len(poles) - 1, FREQUENCIES).astype(int)] if len(poles) else np.ones(1)
    N = np.array([plant.at(float(omega)) for omega in omegas])
    t = balance(np.sqrt(np.sum(np.abs(N) ** 2, axis=0)), r)
    N[:, :r] *= t[:, None]
    N[:, :, :r] /= t
    for coupled in COUPLED:
        bases = _bases(N, sizes, coupled)
        if len(bases) > 1 and (difference := _difference(N, sizes, bases)) < SAME:
            break
    else:
        return [(space, tuple(sizes))], 0.0
    found = []
    for k, own in enumerate(bases):
        chosen = block_diag(*own)
        B, C = space.B[:, :r] / t @ chosen, (chosen.T * t) @ space.C[:r]
        D = (chosen.T * t) @ space.D[:r, :r] / t @ chosen
        through, from_ = space.D[r:, :r] / t @ chosen, (chosen.T * t) @ space.D[:r, r:]
        gain = 0.0 if k else 1.0
        names = tuple(f"w {j + 1}" for j in range(chosen.shape[1]))
        part = replace(
            space, B=np.hstack([B, gain * space.B[:, r:]]), C=np.vstack([C, gain * space.C[r:]]),
            D=np.block([[D, gain * from_], [gain * through, gain * space.D[r:, r:]]]),
            inputs=(*names, *space.inputs[r:]), outputs=(*names, *space.outputs[r:]), form=None,
        )  # fmt: skip
        found.append((part, tuple(each.shape[1] for each in own)))
    return found, SAFETY * difference


def _bases(N: Complexes, sizes: Sequence[int], coupled: float) -> list[list[Floats]]:
    """Orthonormal bases by parameter, of each part; the first has the gain."""
    seen = _reached(N, sizes, coupled)
    both = _reached(np.swapaxes(_along(N, seen), 1, 2), [each.shape[1] for each in seen], coupled)
    main = [a @ b for a, b in zip(seen, both, strict=True)]
    unseen = [a @ _beside(b) for a, b in zip(seen, both, strict=True)]
    others = (unseen, [_beside(each) for each in seen])
    return [main, *(each for each in others if any(part.shape[1] for part in each))]


def _difference(N: Complexes, sizes: Sequence[int], bases: Sequence[Sequence[Floats]]) -> float:
    """The largest part by which 1 - N D has another determinant, or the gain is another one, than in these parts."""
    largest = 0.0
    rng = np.random.default_rng(SEED)
    for d in (*rng.uniform(-1.0, 1.0, (POINTS, len(sizes))), *rng.choice([-1.0, 1.0], (POINTS, len(sizes)))):
        whole, ratio, gains = np.repeat(d, sizes), np.ones(len(N), dtype=complex), list[Complexes]()
        for k, own in enumerate([None, *bases]):
            part = N if own is None else _along(N, own)
            repeated = whole if own is None else np.repeat(d, [each.shape[1] for each in own])
            inner = part[:, : len(repeated), : len(repeated)] * repeated
            determinants = np.linalg.det(np.eye(len(repeated)) - inner)
            ratio = ratio * determinants if k else ratio / determinants
            if k < 2:
                gains.append(np.array([closed_by(each, repeated) for each in part]))
        largest = max(largest, float(np.max(np.abs(ratio - 1.0))))
        largest = max(largest, float(np.max(np.abs(gains[1] - gains[0])) / np.max(np.abs(gains[0]), initial=1e-300)))
    return largest


def _along(N: Complexes, bases: Sequence[Floats]) -> Complexes:
    """N with w and z by orthonormal bases of each parameter."""
    whole, r = block_diag(*bases), sum(len(each) for each in bases)
    left = block_diag(whole, np.eye(N.shape[1] - r))
    return np.asarray(left.T @ N @ block_diag(whole, np.eye(N.shape[2] - r)))


def _reached(N: Complexes, sizes: Sequence[int], coupled: float) -> list[Floats]:
    """Orthonormal bases of what d reaches, through all parameters, of the z of each of them."""
    r, places = sum(sizes), np.cumsum(sizes)[:-1]
    bases = [np.zeros((n, 0)) for n in sizes]
    largest = np.max(np.abs(N[:, :r]), initial=1e-300)
    columns = N[:, :r, r:] / largest
    while True:
        flat = np.hstack([part for each in columns for part in (each.real, each.imag)])
        added = []
        for k, part in enumerate(np.split(flat, places)):
            own = bases[k]
            rest = part - own @ (own.T @ part)
            left, values, _ = np.linalg.svd(rest - own @ (own.T @ rest), full_matrices=False)
            new = left[:, values > coupled]
            # by their sizes: what is reached little has the rounding of all
            added.append(new * values[: new.shape[1]])
            bases[k] = np.linalg.qr(np.hstack([own, new]))[0]
        if not any(each.shape[1] for each in added):
            return bases
        columns = N[:, :r, :r] @ block_diag(*added)


def _beside(basis: Floats) -> Floats:
    """An orthonormal basis of what is across an orthonormal one."""
    return (
        np.asarray(np.linalg.qr(basis, mode="complete")[0][:, basis.shape[1] :]) if basis.size else np.eye(len(basis))
    )
