"""Connected parts of a model: sets of bodies and beams that beams, joints, springs, pulls or drivers connect."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.base.values import Keeper, listed
from femb.layout.element import TrialError
from femb.layout.layout import Layout
from femb.layout.numbering import KEPT
from femb.numerics.compiler.compile import kernel

# What connects frames is the same in all models of one topology.
GROUPS: Keeper[list[list[int]]] = Keeper(4 * KEPT)
PARTS_OF: Keeper[list[int]] = Keeper(KEPT)
PARTS = 12  # that a message lists


def components(count: int, links: Iterable[Sequence[int]]) -> list[int]:
    """Numbers of the connected component of each of ``count`` frames; a link connects all its frames."""
    parent = list(range(count))

    def root(k: int) -> int:
        above = parent[k]
        while above != k:
            parent[k] = above = parent[above]
            k, above = above, parent[above]
        return k

    for frames in links:
        for k in frames[1:]:
            parent[root(k)] = root(frames[0])
    return [root(k) for k in range(count)]


def groups_of(layout: Layout, joined: bool, without: "set[int] | frozenset[int]" = frozenset()) -> list[list[int]]:
    """Frames of each structure that beams connect, or also springs and joints (``joined``), but those left out."""
    if not layout.numbers.kept:
        return _groups_of(layout, joined, without)
    key = layout.numbers, joined, frozenset(without)
    found = GROUPS.get(key, lambda: _groups_of(layout, joined, without))
    return [group.copy() for group in found]


def _groups_of(layout: Layout, joined: bool, without: "set[int] | frozenset[int]") -> list[list[int]]:
    links = [*(frames for frames, _ in layout.couplings), *layout.rows] if joined else layout.structures
    if without:
        links = [tuple(k for k in link if k not in without) for link in links]
    component = components(len(layout.frames), links)
    groups: dict[int, list[int]] = {}
    for k, number in enumerate(component):
        if k not in without:
            groups.setdefault(number, []).append(k)
    return list(groups.values())


def axes_of_points(layout: Layout) -> list[tuple[int, int]]:
    """Frames of point masses, each with the first frame of its structure that has axes, and so turns."""
    pairs = []
    for group in groups_of(layout, joined=True):
        owner = next((k for k in group if layout.frames[k].freedom == 6), None)
        if owner is not None:
            pairs += [(k, owner) for k in group if layout.frames[k].freedom == 3]
    return pairs


def parts_of_frames(layout: Layout) -> list[int]:
    """Numbers of the part of every frame: beams, springs, pulls, joints and drivers connect, and so do fixed
    frames."""

    def found() -> list[int]:
        fixed = tuple(layout.numbers.fixed_frames)
        coupled = (frames for frames, _ in layout.couplings)
        return components(len(layout.frames), (fixed, *coupled, *layout.rows))

    return PARTS_OF.get(layout.numbers, found) if layout.numbers.kept else found()


def parts(layout: Layout) -> list[list[str]]:
    """Names, as ``bodies.hub`` or ``beams.boom``, of the bodies, beams and shells of each connected part.

    Beams, shells, springs, pulls, joints and drivers connect. Everything connected with a fixed frame is one part;
    fixed frames themselves are not listed.
    """
    component = parts_of_frames(layout)
    names: dict[int, list[str]] = {}
    for name, frame in layout.bodies.items():
        if layout.frames[frame].freedom:
            names.setdefault(component[frame], []).append(f"bodies.{name}")
    for name, beam in layout.beams.items():
        names.setdefault(component[beam.stations[0].frame], []).append(f"beams.{name}")
    for name, shell in layout.shells.items():
        names.setdefault(component[shell.own[0] if shell.own else shell.frames[0]], []).append(f"shells.{name}")
    return list(names.values())


def unconnected(layout: Layout) -> list[str]:
    """Lines of a message that list the unconnected parts of a model; none if the model is one part."""
    names_of_parts = parts(layout)
    if len(names_of_parts) < 2:
        return []
    lines = [listed(names) for names in names_of_parts[:PARTS]]
    if len(names_of_parts) > PARTS:
        lines.append(f"and {len(names_of_parts) - PARTS} more")
    return [f"{len(names_of_parts)} parts that nothing connects with each other:", *(f"  {line}" for line in lines)]


# Singular configurations of elements: gimbal lock, coincident points.
#
# At gimbal lock the vectors of a dual Euler basis, and so a torque along them, grow without bound; a spring between
# coincident points has no direction. In a singular configuration a vector y of the coordinates vanishes. A step may
# jump over it, so y is tested at all states of a step (start, stages, end) before the step is accepted: |y| must not be
# less than ``limit``, and the chords from state to state must pass zero at a distance of at least a twentieth of their
# length. If a test fails, a shorter step is tried; if |y| at the start of the step is already within a hundredth of the
# limit, the run ends, and the message gives the time at which |y|, extrapolated linearly, is zero.

# Smallest distance of a chord from zero, as a part of its length: a closer chord does not tell the side it passes.
CLEARANCE = 0.05
# Times the limit: below this |y| the run ends, because a shorter step would only halve the distance to the limit.
ARRIVED = 1.01


@dataclass(frozen=True)
class Singularity:
    """One vector that must not vanish: its smallest length, and the texts of its message.

    item : the singular item, such as "loads.spin". event : the singular configuration, as in "gimbal lock of ...".
    measure : the length of the vector, such as "|cos phi|". advice : what to try.
    """

    limit: float
    item: str
    event: str
    measure: str
    advice: str


class SingularityError(SolveError):
    """The motion reached a singular configuration; ``time`` (s) is its extrapolated instant."""

    def __init__(self, singularity: Singularity, reached: float, time: float, size: float) -> None:
        self.singularity, self.time = singularity, time
        super().__init__(
            f"the run stopped at t = {reached:.8g} s: {singularity.item}: {singularity.event} at t = {time:.9g} s, "
            f"extrapolated linearly from {singularity.measure} = {size:.3g}; {singularity.advice}"
        )


@kernel
def first_violation(y, limit):
    """Number of the first of k vectors y (s, k, m), at s states of a step, that comes too near to zero; -1 if none."""
    for k in range(y.shape[1]):
        for s in range(y.shape[0]):
            size = 0.0
            for i in range(y.shape[2]):
                size += y[s, k, i] ** 2
            if not size >= limit[k] ** 2:
                return k
            if s == 0:
                continue
            # the point of the chord nearest to zero, if it is between the ends
            along, length = 0.0, 0.0
            for i in range(y.shape[2]):
                step = y[s, k, i] - y[s - 1, k, i]
                along -= y[s - 1, k, i] * step
                length += step * step
            if 0.0 < along < length:
                nearest = 0.0
                for i in range(y.shape[2]):
                    step = y[s, k, i] - y[s - 1, k, i]
                    nearest += (y[s - 1, k, i] + along / length * step) ** 2
                if nearest < max(limit[k] ** 2, CLEARANCE**2 * length):
                    return k
    return -1


def check_singularities(batch: Any, t: float, q: Floats, v: Floats, last: bool) -> None:
    """Test the states q (s, n_q), v (s, n_v) of a step from t (s); q[0], v[0] is the accepted state.

    Raises TrialError if a shorter step can come nearer, SingularityError if none can or the step is the ``last``.
    """
    y, rates = batch.singularity_vectors(q, v)
    # in the order of C, as with most: the kernel would be compiled once more for another
    k = first_violation(np.ascontiguousarray(y), np.array([singularity.limit for singularity in batch.singularities]))
    if k < 0:
        return
    singularity, size = batch.singularities[k], hypot(*y[0, k])
    if size > ARRIVED * singularity.limit and not last:
        raise TrialError(f"{singularity.item}: {singularity.event} is near")
    approach = -float(np.dot(y[0, k], rates[0, k])) / size if size > 0.0 else 0.0
    raise SingularityError(singularity, t, t + size / approach if approach > 0.0 else t, size)
