"""Regularisations of the static equations: what is added to a stiffness that is singular, and changes no solution.

Free structures have rigid motions without stiffness, bodies that only joints hold have blocks without any, and near
buckling the stiffness is not definite. An added multiple of the mass makes the matrix regular; it only slows the
iteration.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from femb.base.types import Floats
from femb.layout.layout import Layout
from femb.numerics.newton import LARGEST_ROTATION, Iteration
from femb.system.pattern import Pattern

# sigma at first, its least and its most, and what changes it.
FIRST, LEAST, MOST = 1e-6, 1e-12, 1e2
SMALLER, LARGER = 0.1, 10.0
ROUNDING = 1e3  # tolerances: a step as small as this that is no longer halved ends the iteration

State = TypeVar("State")
Residual = TypeVar("Residual")


@dataclass
class Regularisation:
    """Of one solution of the static equations, by multiples of the mass.

    spin2 : largest squared angular velocity, 1/s2. augmented : whether to add a multiple of J^T J too, which holds
    bodies that only joints hold.
    """

    spin2: float
    iterations: ClassVar[int]
    augmented: ClassVar[bool] = False

    def added(self, pattern: Pattern, mass: Callable[[], Floats], stiffness: Floats) -> Floats:
        """What to add to the stiffness, block data. mass : computes that of the state, which not all need."""
        raise NotImplementedError

    def accepts(self, rotation: float) -> bool:
        """Whether to make a step with this largest rotation (rad), shortened, or to ask again for one."""
        return True

    def settled(self, it: Iteration[State, Residual]) -> bool:
        """Whether a step, by its size in tolerances, ends the iteration."""
        return it.within(1.0, ROUNDING)

    def reason(self, size: float, moving: str) -> str:
        """Why it may have failed, in words, by the size of the last step and what moves most."""
        raise NotImplementedError


@dataclass
class NoShift(Regularisation):
    """Nothing but the products of the constraints: for structures that are held."""

    iterations = 30
    augmented = True

    def added(self, pattern: Pattern, mass: Callable[[], Floats], stiffness: Floats) -> Floats:
        """Nothing."""
        return np.zeros(pattern.size)

    def reason(self, size: float, moving: str) -> str:
        """With what moves most."""
        return f" in {self.iterations} iterations (last change {size:.2g} times the tolerance, most of {moving})"


class Briefly(NoShift):
    """The same on an arc, where a shorter step is the better attempt."""

    iterations = 15


@dataclass
class MassShift(Regularisation):
    """spin2 M where a structure is ``free``, or at rest a small part of the stiffness; nothing where none is."""

    free: bool = False
    iterations = 50

    def added(self, pattern: Pattern, mass: Callable[[], Floats], stiffness: Floats) -> Floats:
        """One multiple of the mass."""
        if not self.free:
            return np.zeros(pattern.size)
        M = mass()
        least = 1e-6 * float(np.max(np.abs(stiffness)) / np.max(np.abs(M)))
        result: Floats = max(self.spin2, least) * M
        return result

    def reason(self, size: float, moving: str) -> str:
        """With the size of the last step."""
        return (
            f" in {self.iterations} iterations (last change {size:.2g} times the tolerance): the "
            "structure may buckle or turn too fast for its stiffness; start as given, or with a smaller load or rate"
        )


@dataclass
class AdaptiveShift(Regularisation):
    """sigma B + spin2 M, where sigma falls with the steps, and grows where they lead nowhere.

    B is the mass of every frame on the scale of its own stiffness.
    """

    sigma: float = FIRST
    iterations = 100
    growth: ClassVar[float] = 1.0  # of a step, up to which sigma falls
    _raised: bool = False

    def added(self, pattern: Pattern, mass: Callable[[], Floats], stiffness: Floats) -> Floats:
        """With the present sigma."""
        M = mass()
        return self.sigma * scaled_mass(pattern, M, stiffness) + self.spin2 * M

    def settled(self, it: Iteration[State, Residual]) -> bool:
        """By its size, of rounding only where sigma is small; sigma changes by whether steps become shorter."""
        if it.within(1.0, ROUNDING if self.sigma <= 1e-3 * FIRST else 0.0):
            return True
        if not self._raised:
            factor = SMALLER if it.size < self.growth * it.previous else LARGER
            self.sigma = min(MOST, max(LEAST, self.sigma * factor))
        self._raised = False
        return False

    def reason(self, size: float, moving: str) -> str:
        """With what moves most."""
        return (
            f": {moving} moves on from iteration to iteration; "
            "nothing holds it against the loads, or it is far from its equilibrium: start nearer, or as given"
        )


class CautiousShift(AdaptiveShift):
    """The same with a larger sigma, rather than a shorter step, where a step would turn too far."""

    iterations, growth = 400, 2.0

    def accepts(self, rotation: float) -> bool:
        """Raise sigma where a step turns too far."""
        if not LARGEST_ROTATION < rotation < np.inf or self.sigma >= MOST:
            return True
        self.sigma, self._raised = LARGER * self.sigma, True
        return False


def scaled_mass(pattern: Pattern, mass: Floats, stiffness: Floats) -> Floats:
    """B, block data: the mass of every block on the scale of its stiffness; of those without, on the least."""
    sizes = pattern.sizes
    places = [
        slice(int(at), int(at + n * n))
        for at, n, start in zip(pattern.diagonal, sizes, pattern.block_start, strict=False)
        if start < pattern.n_v
    ]
    scales = np.array([np.max(np.abs(stiffness[place])) / np.max(np.abs(mass[place])) for place in places])
    least = float(np.min(scales[scales > 0.0], initial=np.inf))
    scales[scales == 0.0] = least if np.isfinite(least) else 1.0
    out = np.zeros(pattern.size)
    for place, scale in zip(places, scales, strict=True):
        out[place] = scale * mass[place]
    return out


def mover(layout: Layout, change: Floats) -> str:
    """The frame that moves most by a change (n_v,), as messages name it."""
    sizes = [
        float(np.max(np.abs(change[j : j + frame.freedom]), initial=0.0)) if frame.freedom else 0.0
        for frame, j in zip(layout.frames, layout.frame_v, strict=True)
    ]
    return repr(layout.frames[int(np.argmax(sizes))].label)
