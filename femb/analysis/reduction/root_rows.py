"""Rows of a linear model for reactions, and for the force and the torque of an appendage on its root."""

from dataclasses import dataclass, replace

import numpy as np

from femb.analysis.modes.appendages import appendages, rigid_motions, root_frame
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import nearest
from femb.system.appendages import Appendage


@dataclass(frozen=True, eq=False)
class Part:
    """Rows (k, n_v) of an output on p, p', p'' and on the forces; (k, n_u) on inputs.

    through (k, n_v) : of a reaction of a joint, on the forces that it balances; zero of other outputs.
    """

    names: tuple[str, ...]
    position: Floats
    rate: Floats
    acceleration: Floats
    force: Floats
    through: Floats
    by_input: Floats | None = None

    def row(self, k: int) -> "Part":
        """One row."""
        words = ("names", "position", "rate", "acceleration", "force", "through")
        return replace(self, **{word: getattr(self, word)[k : k + 1] for word in words})


def through_multipliers(motion: EigenProblem, multipliers: Floats) -> Floats:
    """Rows r (k, n_v) with r J^T = rows on multipliers (k, n_c), zero where velocities are held: by these, mu is known
    from the balance of forces. Raises ModelError where the equations do not determine the reaction."""
    system = motion.system
    rows, columns = system.pattern.rows_columns()
    identity = np.zeros(system.pattern.size)
    identity[(rows == columns) & (rows < system.n_v)] = 1.0
    factors = motion.factorise(identity)
    found = []
    for row in multipliers:
        r = factors.solve(np.concatenate([np.zeros(system.n_v), row]))[: system.n_v]
        if np.linalg.norm(motion.gaps(r) - row) > 1e-9 * np.linalg.norm(row):
            raise ModelError(
                "output: the reaction of a joint is not determined, since rows of constraints depend on each other: "
                "release what is held twice, or take a section force"
            )
        found.append(r)
    return np.array(found)


def of_appendage(motion: EigenProblem, name: str, appendage: str, word: str, hub: str | None, loaded: bool) -> Part:
    """The wrench on the root: forces on the appendage less the rate of its momentum, -(M D)^T a + D^T F."""
    layout = motion.system.layout
    if loaded and (np.any(motion.system.model.gravity) or np.any(motion.v) or np.any(motion.multipliers)):
        raise ModelError(
            f"output {name!r}: forces of appendages are linearised about the state without loads; take "
            "beams.NAME.0.section_force or the reaction of a joint"
        )
    body = None if hub is None else layout.bodies[hub]
    without = motion if body is None else motion.holding(body)
    found = {each.name: each for each in appendages(without)}
    if appendage not in found:
        known = [f"appendages.{each}.{word}" for each in found]
        there = f"there are {', '.join(found)}" if found else "there are none: name the hub"
        raise ModelError(f"output {name!r}: no appendage {appendage!r}; {there}{nearest(name, known)}")
    part = found[appendage]
    point, axes = root_frame(without, part, _root(without, part) if body is None else body)
    D = rigid_motions(motion, point, axes)[:, slice(0, 3) if word == "force" else slice(3, 6)]
    inside = ~without.only(*part.frames).held
    momenta = np.zeros_like(D)
    for places, mass in motion.element_masses:
        own = np.any(inside[places] & (places >= 0), axis=1)
        np.add.at(momenta, places[own], mass[own] @ D[places[own]])
    zero = np.zeros((3, len(D)))
    return Part(
        tuple(f"{name}.{axis}" for axis in "xyz"), zero, zero, -momenta.T, np.where(inside[:, None], D, 0.0).T, zero
    )


def _root(motion: EigenProblem, appendage: Appendage) -> int:
    """The held frame on which an appendage is."""
    layout = motion.system.layout
    held = {k for k in range(len(layout.frames)) if motion.held[motion.velocities_of(k)].any()}
    for item in motion.system.model.items():
        if f"{item.table}.{item.name}" in appendage.items:
            for marker in item.markers.values():
                frame = layout.station(marker).frame
                if frame in held:
                    return frame
    return min(held)
