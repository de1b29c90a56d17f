"""Small motions about a state at rest, as sparse block data of any number of elements.

    M p'' + C p' + K p + J^T mu = F,    J p = 0

p (n_v,) are displacements of frames in inertial axes, rotations in their own, and internal coordinates: v = p'. K is
the exact tangent of forces and reactions. In the layout used here the ground has velocities too, so that what is
clamped to it has a root whose mass and motion are known like those of a body; ``held`` frames do not move.
Source: docs/theory/modes.md, section 1.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from femb.analysis.statics import CoupledLayout
from femb.base.types import Floats
from femb.layout.layout import Layout
from femb.system.block_lu import Factorisation
from femb.system.system import System

Flags = NDArray[np.bool_]


class FreeLayout(CoupledLayout):
    """A layout in which nothing is fixed: the ground has velocities, which ``SmallMotion`` holds."""

    def add_frame(self, label: str, position: Floats, quaternion: Floats, freedom: int = 6) -> int:
        """A new frame; a fixed one gets six velocities."""
        self.grounded = getattr(self, "grounded", [])
        if freedom == 0:
            self.grounded.append(len(self.frames))
        return super().add_frame(label, position, quaternion, freedom or 6)


@dataclass(frozen=True, eq=False)
class SmallMotion:
    """Matrices of small motions as block data of the pattern of ``system``.

    q (n_q,) : the state. held (n_v,) : velocities of frames that do not move. grounded : frames of the ground.
    """

    system: System
    q: Floats
    mass: Floats
    damping: Floats
    stiffness: Floats
    jacobian: Floats
    held: Flags
    grounded: tuple[int, ...]

    @classmethod
    def of(cls, system: System, loaded: bool) -> "SmallMotion":
        """About the start of a System at rest.

        loaded : whether its weight, loads and reactions are in the stiffness; the start is then their equilibrium.
        """
        layout = FreeLayout()
        free = System(system.model, assemble=True, layout=layout)
        free = free.with_discrete(system.discrete)
        grounded = tuple(getattr(layout, "grounded", ()))
        q = _coordinates(system, free)
        v, a = np.zeros((2, free.n_v))
        free = free.at(q)
        u = free.inputs_at(0.0, q, v)
        multipliers = np.zeros(free.n_c)
        if loaded:
            still = np.zeros(system.n_v)
            multipliers = system.at(system.q0).forward(system.inputs_at(0.0, system.q0, still), system.q0, still)[1]
        else:
            u = _without_loads(free, u)
        damping, stiffness = (part.copy() for part in free.tangent(u, q, v, a))
        jacobian = np.zeros(free.pattern.size)
        free.constraint_set.jacobian(u, q, jacobian)
        free.constraint_set.constraint_tangent(u, q, v, multipliers, stiffness)
        held = np.zeros(free.n_v, dtype=bool)
        motion = cls(free, q, free.mass_data(q).copy(), damping, stiffness, jacobian, held, grounded)
        return motion.holding(*grounded)

    def holding(self, *frames: int) -> "SmallMotion":
        """The same with more frames held."""
        held = self.held.copy()
        for frame in frames:
            held[self.velocities_of(frame)] = True
        return replace(self, held=held)

    def only(self, *frames: int) -> "SmallMotion":
        """The same with all held but these frames and the internal coordinates of their elements."""
        layout = self.system.layout
        held = np.ones_like(self.held)
        for frame in frames:
            held[self.velocities_of(frame)] = False
        for on, strains in layout.couplings:
            if not set(frames).isdisjoint(on):
                held[layout.strain_v[list(strains)]] = False
        return replace(self, held=held | self.held)

    def velocities_of(self, frame: int) -> slice:
        """Where the velocities of a frame are."""
        first = int(self.system.layout.frame_v[frame])
        return slice(first, first + self.system.layout.frames[frame].freedom)

    @cached_property
    def _on_held(self) -> tuple[Flags, Flags]:
        """Entries of the data in rows or columns that are held, and those of them on the diagonal."""
        rows, columns = self.system.pattern.rows_columns()
        held = np.append(self.held, np.zeros(self.system.n_c, dtype=bool))
        on_held = held[rows] | held[columns]
        return on_held, on_held & (rows == columns)

    def factorise(self, data: Floats) -> Factorisation:
        """Factors of block data with the constraints, and with unit rows for what is held. Raises SingularError."""
        whole = data + self.jacobian
        on_held, diagonal = self._on_held
        whole[on_held] = 0.0
        whole[diagonal] = 1.0
        return self.system.solver.factorise(whole)

    def solve(self, factors: Factorisation, force: Floats) -> Floats:
        """The motion (n_v,) of those factors by a force (n_v,) that ``held`` frames do not feel."""
        right = np.concatenate([np.where(self.held, 0.0, force), np.zeros(self.system.n_c)])
        solution: Floats = factors.solve(right)[: self.system.n_v]
        return solution

    def times(self, data: Floats, x: Floats) -> Floats:
        """Block data of velocities times x (n_v,)."""
        whole = np.append(x, np.zeros(self.system.n_c))
        return self.system.solver.multiply(data, whole)[: self.system.n_v]

    def gaps(self, x: Floats) -> Floats:
        """J x (n_c,)."""
        whole = np.append(x, np.zeros(self.system.n_c))
        return self.system.solver.multiply(self.jacobian, whole)[self.system.n_v :]


def _coordinates(system: System, free: System) -> Floats:
    """The start of a System in the coordinates of its twin whose ground has coordinates too."""
    q, layout = free.q0.copy(), system.layout
    q[free.layout.strain_q] = system.q0[layout.strain_q]
    for frame, i, j in zip(layout.frames, layout.frame_q, free.layout.frame_q, strict=True):
        size = {6: 7, 3: 3, 0: 0}[frame.freedom]
        q[j : j + size] = system.q0[i : i + size]
    return q


def _without_loads(system: System, u: Floats) -> Floats:
    """Inputs with loads of zero; drivers and latches keep theirs."""
    keep = {id(entry) for entry in system.constraint_set.inputs}
    u, at = u.copy(), 0
    for entry in system.inputs:
        if id(entry) not in keep and not (entry.of_state or entry.of_discrete):
            u[at : at + entry.width] = 0.0
        at += entry.width
    return u


__all__ = ["Layout", "SmallMotion"]
