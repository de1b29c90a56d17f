"""An appendage between two ports, the two-input two-output port model of chains of appendages.

    eta'' + 2 zeta omega eta' + omega^2 eta = -L a_P + Phi_C^T F_C
    a_C = tau a_P + Phi_C eta'',     W_P = tau^T F_C - M_PP a_P - L^T eta''

The modes are those of the Craig-Bampton basis of both ports, diagonalised with the child port free: a heavy child needs
few of them. Source: docs/theory/handover.md, equations (13) to (15); D. Alazard, J. A. Perez, T. Cumer, C. Loquen, AIAA
GNC 2015.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from femb.analysis.handover.coordinates import check_count
from femb.analysis.handover.port_modes import port_modes
from femb.analysis.linear.statespace import StateSpace
from femb.analysis.modes.appendages import appendages, participation, rigid_motions
from femb.analysis.modes.damping_ratios import ratios_of
from femb.analysis.modes.mode_rows import place_of, rows_of, stations
from femb.analysis.modes.participation import DIRECTIONS
from femb.analysis.modes.solution import solution
from femb.base.brief import Brief
from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats
from femb.base.values import shown
from femb.elements.marker import Place
from femb.model.model import Model
from femb.numerics.rotations import cross_matrix

if TYPE_CHECKING:
    from femb.system.system import System


@dataclass(frozen=True, eq=False)
class Port(Brief):
    """An appendage with a parent port at its root, and a child port at a point of it.

    name : of the appendage. point (3,) m, inertial, and axes (3, 3), as columns : of the parent port. child (3,) m :
    the child port from there, along the axes. frequencies (k,) Hz and damping (k,) ratios : of the modes with the
    parent held and the child port free. coupling (k, 6) : L. child_rows (6, k) : Phi_C. rigid_mass (6, 6) : M_PP.
    """

    name: str
    point: Floats
    axes: Floats
    child: Floats
    frequencies: Floats
    damping: Floats
    coupling: Floats
    child_rows: Floats
    rigid_mass: Floats

    @property
    def tau(self) -> Floats:
        """(6, 6): motion of the child port by that of the parent port, as a rigid body."""
        tau = np.eye(6)
        tau[:3, 3:] = -cross_matrix(self.child)
        return tau

    def state_space(self) -> StateSpace:
        """Inputs: wrench on the child port, acceleration of the parent port; outputs: acceleration of the child port,
        wrench on the parent. States: modal coordinates and their rates. All along the parent's axes.
        """
        k, omega = len(self.frequencies), 2.0 * np.pi * self.frequencies
        L, Phi, tau = self.coupling, self.child_rows, self.tau
        A, B = np.zeros((2 * k, 2 * k)), np.zeros((2 * k, 12))
        A[:k, k:] = np.eye(k)
        A[k:, :k], A[k:, k:] = -np.diag(omega**2), -np.diag(2.0 * self.damping * omega)
        B[k:] = np.hstack([Phi.T, -L])
        out = np.vstack([Phi, -L.T])
        through = np.block([[np.zeros((6, 6)), tau], [tau.T, -self.rigid_mass]])
        modes = [f"{self.name}.mode {j + 1}" for j in range(k)]
        inputs = [f"child.force.{axis}" for axis in "xyz"] + [f"child.torque.{axis}" for axis in "xyz"]
        inputs += [f"parent.{word} acceleration" for word in DIRECTIONS]
        outputs = [f"child.{word} acceleration" for word in DIRECTIONS]
        outputs += [f"parent.force.{axis}" for axis in "xyz"] + [f"parent.torque.{axis}" for axis in "xyz"]
        states = (*modes, *(f"{mode} rate" for mode in modes))
        return StateSpace(A, B, out @ A[k:], out @ B[k:] + through, states, tuple(inputs), tuple(outputs))

    def dynamic_mass(self, s: complex, child: ArrayLike | None = None) -> Complexes:
        """D(s) (6, 6) of the parent port with a child on the child port whose dynamic mass is ``child`` (6, 6).

        child : about the child port along the same axes; a rigid body's mass matrix, or ``dynamic_mass`` of the next
        appendage of a chain; by default nothing. s : rad/s.
        """
        whole = self.state_space().transfer(s)
        by_force, by_motion = whole[:6, :6], whole[:6, 6:]
        if child is None:
            return np.asarray(-whole[6:, 6:])
        load = np.asarray(child, dtype=complex)
        # F_C = -D_C a_C
        force = -load @ np.linalg.solve(np.eye(6) + by_force @ load, by_motion)
        return np.asarray(-(whole[6:, 6:] + whole[6:, :6] @ force))


def port(
    model: "Model | System",
    child: Place | str,
    count: int | None = None,
    *,
    held: str,
    start: str = "as_given",
    damping: float | None = None,
) -> Port:
    """The appendage that a point is on, between the hub and that point.

    child : a Place of the model, or a name such as "bodies.panel" and "beams.boom.-1". count : modes with both ports
    held, beside the six of the child port; by default all. held : the hub. start : as of ``modes``. damping : ratio of
    every mode, by default as of ``hybrid_coordinates``.

    Raises ModelError: as ``modes``; a point that is not on an appendage, or on a point mass; SolveError.
    """
    check_count(count)
    motion = solution(model, 1, held=held, start=start).motion
    if motion.spinning:
        raise ModelError("port: the state is a rotation, in which its modes are not real: start = 'as_given'")
    layout, station = motion.system.layout, stations(motion, {"child": child})["child"]
    hub = layout.bodies[held]
    found = [appendage for appendage in appendages(motion) if station.frame in appendage.frames]
    if not found or layout.frames[station.frame].freedom != 6:
        wanted = f"wanted a body, or a node of a beam, of an appendage of {held!r}"
        raise ModelError(f"port: child: got {shown(child)}, {wanted}")
    part = participation(motion, found[0], hub, 1, damping)
    alone = motion.only(*found[0].frames)
    squares, shapes = port_modes(alone, station.frame, part.frequencies[0], count)
    omega = np.sqrt(squares)
    D = rigid_motions(motion, part.point, part.axes)
    momenta = np.array([motion.times(motion.mass, column) for column in D.T]).T
    return Port(
        part.name,
        part.point,
        part.axes,
        place_of(motion, station, part.point, part.axes),
        omega / (2.0 * np.pi),
        ratios_of(motion, shapes, omega, damping),
        shapes.T @ momenta,
        rows_of(motion, station, part.axes, shapes),
        part.rigid_mass,
    )
