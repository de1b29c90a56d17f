"""Motions of a structure at rest, without its loads, leave out heat and the way to an equilibrium: remarks that say so.

Source: docs/theory/modes.md, section 1.
"""

import warnings

import numpy as np

from femb.base.errors import FembWarning
from femb.numerics.newton import largest
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import free_motions
from femb.system.block_lu import SingularError

ROUNDING = 1e-11  # of the stiffness: forces (N, N m) that shapes leave at rest
SLOW = 1e-3  # 1/s: the mass at this rate holds what is free
TURNED = 0.2  # rad: an equilibrium nearer than that has almost the same frequencies, by the cosine of the turn


def left_out_at_rest(motion: EigenProblem, preload: bool = True) -> list[str]:
    """In words, how far preloads move the structure, and loads at the start that heat shells."""
    loads = motion.system.model.loads.values()
    heats = [load.name for load in loads if getattr(load, "heats", False) and load.profile(0.0) != 0.0]
    return (_moved_by_preload(motion) if preload else []) + [f"load {name!r} heats its shell" for name in heats]


def warn_of_rest(of: str, why: list[str]) -> None:
    """Warn of what an analysis leaves out at rest."""
    if why:
        warnings.warn(
            f"{of}: {', '.join(why)}: this is left out, as of a structure at rest and without loads; take start = "
            '"equilibrium"',
            FembWarning,
            stacklevel=6,
        )


def _moved_by_preload(motion: EigenProblem) -> list[str]:
    """The frame that the forces of strained springs and hinges turn most, to first order, if it is far."""
    system, layout = motion.system, motion.system.layout
    rest = np.zeros((1, system.n_v))
    force = -system.residual(motion.u[None], motion.q[None], rest, rest)[0]
    force = motion.of_moving(force if motion.axes is None else motion.axes.T @ force)
    if largest(force) <= ROUNDING * largest(motion.stiffness):
        return []
    try:
        solve = motion.shifted(SLOW)
    except SingularError:
        return []
    x, momenta = solve(force), free_motions(motion).momenta
    if momenta.shape[1]:  # what is free has no place to come to rest
        columns = np.stack([solve(each) for each in momenta.T], axis=1)
        x = x - columns @ np.linalg.solve(momenta.T @ columns, momenta.T @ x)
    turns = [float(np.linalg.norm(x[motion.velocities_of(k)][3:])) for k in range(len(layout.frames))]
    far = int(np.argmax(turns))
    if turns[far] <= TURNED:
        return []
    what = f"strained springs and the like turn {layout.frames[far].label!r} by {turns[far]:.2g} rad"
    return [f"the state is not in equilibrium: {what}"]
