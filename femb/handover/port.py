"""An appendage between two ports, the two-input two-output port model of chains of appendages.

    eta'' + 2 zeta omega eta' + omega^2 eta = -L a_P + Phi_C^T F_C
    a_C = tau a_P + Phi_C eta'',     W_P = tau^T F_C - M_PP a_P - L^T eta''

The modes are those of the Craig-Bampton basis of both ports, diagonalised with the child port free: a heavy child needs
few of them. Source: docs/theory/handover.md, equations (9) to (11); D. Alazard, J. A. Perez, T. Cumer, C. Loquen, AIAA
GNC 2015.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, eigh, null_space, solve_triangular

from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.types import Complexes, Floats
from femb.base.values import shown
from femb.elements.marker import Place
from femb.handover.hybrid import check_count
from femb.linear.state_space import StateSpace
from femb.model.model import Model
from femb.numerics.rotations import rigid_transport
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import free_motions
from femb.system.block_lu import AnyFactorisation
from femb.vibration.appendages import appendages, participation, place_of, rigid_motions, rows_of, stations
from femb.vibration.damping_ratios import ratios_of
from femb.vibration.eigen import SEED, SMALL, freedoms, real_modes
from femb.vibration.participation import DIRECTIONS
from femb.vibration.solution import solution

if TYPE_CHECKING:
    from femb.system.system import System


# Modes of an appendage from the Craig-Bampton basis of its two ports: both held, and the six motions of the child.
#
# The six static shapes are those by forces on the child port; they span the same as its unit displacements do. Forces,
# too, hold the child port for the other modes, so that one factorisation, in the order that the held root needs, does.
# Source: docs/theory/handover.md, equation (11).

# Part of the lowest omega^2 that makes every block of the stiffness regular, and the passes that take it out again.
SHIFT, PASSES = 1e-3, 6
# A shape depends on the others where less than this part of it is left.
DEPENDENT = 1e-13


def port_modes(alone: EigenProblem, frame: int, lowest: float, count: int | None) -> tuple[Floats, Floats]:
    """omega^2 (k,) and shapes (n_v, k) of unit mass of an appendage, of which nothing else moves.

    frame : of the child port. lowest : frequency, Hz. count : modes with both ports held, by default all.
    """
    most = freedoms(alone)
    if count is None or 6 + count >= most:
        return real_modes(alone, free_motions(alone), most)
    if most < SMALL or 2 * count > most:
        squares, shapes = real_modes(alone, free_motions(alone), most)
        rows = shapes[alone.velocities_of(frame)]
        held = null_space(rows)
        _, parts = eigh((held.T * squares) @ held)
        return _diagonal(alone, np.hstack([shapes @ (rows / squares).T, shapes @ (held @ parts[:, :count])]))
    shift = SHIFT * (2.0 * np.pi * lowest) ** 2
    factors = alone.factorise(alone.stiffness + shift * alone.mass)
    loads = np.zeros((alone.system.n_v, 6))
    loads[alone.velocities_of(frame)] = np.eye(6)
    by_loads = alone.solve_columns(factors, loads)
    static = by_loads
    for _ in range(PASSES):  # each takes the error of the shift down by SHIFT
        static = by_loads + shift * alone.solve_columns(factors, alone.momenta(static))
    return _diagonal(alone, np.hstack([static, _held_modes(alone, frame, factors, by_loads, shift, count)]))


def _held_modes(
    alone: EigenProblem, frame: int, factors: AnyFactorisation, by_loads: Floats, shift: float, count: int
) -> Floats:
    """(n_v, count): the lowest modes with the frame held, by forces on it that keep it where it is."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    n, own = alone.system.n_v, alone.velocities_of(frame)
    keep = np.linalg.inv(by_loads[own])

    def inverse(force: Floats) -> Floats:
        x = alone.solve(factors, force.ravel())
        held: Floats = x - by_loads @ (keep @ x[own])
        return held

    def mass(x: Floats) -> Floats:
        return alone.momenta(np.where(alone.held, 0.0, x.ravel()))

    operators = [LinearOperator((n, n), matvec=f, dtype=np.float64) for f in (mass, inverse)]
    start = inverse(mass(np.random.default_rng(SEED).standard_normal(n)))
    _, shapes = eigsh(
        operators[0],
        k=count,
        M=operators[0],
        sigma=-shift,
        OPinv=operators[1],
        v0=start,
        tol=0.0,
        ncv=min(n - 1, max(2 * count + 1, 20)),
    )
    return np.asarray(shapes)


def _diagonal(alone: EigenProblem, basis: Floats) -> tuple[Floats, Floats]:
    """omega^2 (k,) and shapes (n_v, k) of unit mass of the motions that a basis (n_v, m) spans."""
    stiff = alone.times(alone.stiffness, basis).T @ basis
    scale = 1.0 / np.sqrt(np.maximum(np.diag(stiff), np.finfo(float).tiny))
    sizes, parts = eigh(scale[:, None] * (0.5 * (stiff + stiff.T)) * scale)
    kept = sizes > DEPENDENT * sizes[-1]
    unit = basis @ (scale[:, None] * (parts[:, kept] / np.sqrt(sizes[kept])))
    # of the inverse, whose largest eigenvalues are those of the lowest modes: the others cannot round these
    inverses, turns = eigh(unit.T @ alone.momenta(unit))
    shapes = unit @ (turns[:, ::-1] / np.sqrt(inverses[::-1]))
    upper = cholesky(shapes.T @ alone.momenta(shapes))
    return 1.0 / inverses[::-1], solve_triangular(upper, shapes.T, trans="T").T


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
        return rigid_transport(self.child)

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
        wrench = [f"{word}.{axis}" for word in ("force", "torque") for axis in "xyz"]
        acceleration = [f"{word} acceleration" for word in DIRECTIONS]
        inputs = (*(f"child.{each}" for each in wrench), *(f"parent.{each}" for each in acceleration))
        outputs = (*(f"child.{each}" for each in acceleration), *(f"parent.{each}" for each in wrench))
        states = (*modes, *(f"{mode} rate" for mode in modes))
        return StateSpace(A, B, out @ A[k:], out @ B[k:] + through, states, inputs, outputs)

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

    Parameters:
        model: or a System of it.
        child: a Place of the model, or a name such as "bodies.panel" and "beams.boom.-1".
        count: modes with both ports held, beside the six of the child port; by default all.
        held: the hub.
        start: as in ``modes``.
        damping: ratio of every mode, by default as in ``hybrid_coordinates``.

    Raises:
        ModelError: as ``modes``; a point that is not on an appendage, or on a point mass.
        SolveError: no equilibrium.
    """
    check_count(count)
    motion = solution(model, 1, held=held, start=start).motion
    if motion.spinning:
        raise ModelError("port: the state is a rotation, in which its modes are not real: start = 'as_given'")
    layout, station = motion.system.layout, stations(motion, {"child": child})["child"]
    hub = layout.bodies[held]
    found = [appendage for appendage in appendages(motion, whole=True) if station.frame in appendage.frames]
    if not found or layout.frames[station.frame].freedom != 6:
        wanted = f"wanted a body, or a node of a beam, of an appendage of {held!r}"
        raise ModelError(f"port: child: got {shown(child)}, {wanted}")
    part = participation(motion, found[0], hub, 1, damping)
    alone = motion.only(found[0])
    squares, shapes = port_modes(alone, station.frame, part.frequencies[0], count)
    omega = np.sqrt(squares)
    D = rigid_motions(motion, part.point, part.axes)
    momenta = motion.momenta(D)
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
