"""Rigid motion of a connected structure in a relative equilibrium, and the net force and moment on the structure."""

import math
from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.layout.connections import groups_of
from femb.layout.symmetry import nullity, twists
from femb.numerics import rotations
from femb.numerics.components import norm
from femb.system.known_motions import known_motions
from femb.system.system import System

if TYPE_CHECKING:
    from scipy.sparse import csc_array

UNBALANCED = 1e-6  # largest relative net force or moment; no strain can balance it
# Rounding of typed numbers: angle (rad) between a principal axis of rotation and the angular momentum about it.
NEARLY_PRINCIPAL = 1e-6
DEFORMED = 2.0  # how much larger this may be in the equilibrium
ROUNDING = 1e-10  # of forces relative to the largest one
STEADY = 1e-9  # of start velocities that are a rotation, and of the energy that does not change in it
# Attitudes tried for one with a principal axis along the rotation: how many, the largest turn (rad), and the last one.
ATTITUDES, FARTHEST, TURNED_ENOUGH = 20, 0.5, 1e-9
TURNED = (0.7, 2.1)  # rad, rotations that tell whether energy or forces change in it
# Advice where a simulation cannot start in equilibrium.
START = "remove loads that act at the start, or start as given"


def rigid_motions(system: System) -> list["RigidMotion"]:
    """The rigid motions of all connected structures with moving frames at the start; springs connect."""
    groups = groups_of(system.layout, joined=True)
    return [RigidMotion(system, group) for group in groups if any(system.layout.frames[k].freedom for k in group)]


def changes_of_motions(motions: "list[RigidMotion]", q: Floats) -> "tuple[csc_array, csc_array]":
    """dv/dq H, da/dq H (n, n), n with the multipliers: changes of the velocities and accelerations of rotations about
    axes that stay where they are, with displacements and rotations of the frames."""
    from scipy.sparse import csc_array

    layout, n = motions[0].system.layout, motions[0].system.pattern.n
    parts: list[tuple[int, Floats, Floats]] = []
    for motion in motions:
        spin = rotations.cross_matrix(motion.omega)
        for k in motion.frames if motion.point is not None else ():
            i, j = layout.frame_q[k], layout.frame_v[k]
            parts.append((j, spin, spin @ spin))
            if layout.frames[k].freedom == 6:
                own = rotations.rotate_back(q[i + 3 : i + 7], motion.omega)
                parts.append((j + 3, rotations.cross_matrix(own), np.zeros((3, 3))))
    first = np.array([j for j, _, _ in parts])
    rows = np.repeat(first[:, None] + np.arange(3), 3, axis=1).ravel()
    columns = np.tile(first[:, None] + np.arange(3), (1, 3)).ravel()
    changes = (np.array([part[1] for part in parts]), np.array([part[2] for part in parts]))
    of_velocities, of_accelerations = (csc_array((each.ravel(), (rows, columns)), shape=(n, n)) for each in changes)
    return of_velocities, of_accelerations


def about_mass_centres(system: System) -> System:
    """The system at its start without the translation of free structures across their rotation.

    In the axes of a rotating structure such a velocity is not constant, although the motion is steady: a hub that turns
    about its own centre while the mass centre is beside it. Kept where forces depend on it, as with the air.
    """
    v, translations = system.v0.copy(), system.rigid_velocities(system.q0)[:3]
    for group in groups_of(system.layout, joined=True):
        motion = RigidMotion(system, group)
        speed2 = float(motion.omega @ motion.omega)
        if speed2 > 0.0:
            across = motion.velocity - (motion.velocity @ motion.omega / speed2) * motion.omega
            v -= np.where(motion.mask, across @ translations, 0.0)
    if np.array_equal(v, system.v0):
        return system
    still = np.zeros((1, system.n_v))
    with_it, without = (
        system.residual(system.inputs_at(0.0, system.q0, each)[None], system.q0[None], each[None], still)[0]
        for each in (system.v0, v)
    )
    invariant = np.max(np.abs(with_it - without)) <= ROUNDING * max(1.0, float(np.max(np.abs(with_it))))
    return system.starting_at(system.q0, v) if invariant else system


def angle_turned(omega: Floats, before: Floats, after: Floats) -> float:
    """Angle (rad) between omega (3,) and the axis of a body that was along it: attitudes (4,) before and after."""
    axis = rotations.rotate(after, rotations.rotate_back(before, omega))
    return float(np.arctan2(norm(rotations.cross(axis, omega)), axis @ omega))


class RigidMotion:
    """Angular velocity omega (3,) and velocity of the mass centre (3,) of one structure, inertial axes.

    point (3,) : of the axis, which stays where it is; None where the axis goes with the mass centre. owner : the first
    of its frames that can turn, or -1. frames : numbers of its moving frames. free : whether none of its frames is
    fixed; one with a fixed frame needs no mass (kg). It is at rest, unless its start velocities are a rotation about an
    axis of its bearings that changes no energy; a driver may turn it against its weight. driven : whether one does.
    carried : whether a body that analyses hold carries moments across the axis, whatever their size.
    """

    def __init__(self, system: System, frames: list[int]) -> None:
        self.system = system
        layout = system.layout
        self.frames = [k for k in frames if layout.frames[k].freedom]
        self.free = len(self.frames) == len(frames)
        self.labels = layout.frames[frames[0]].label
        self.omega = np.zeros(3)
        self.point: Floats | None = None
        owner = {k for k in self.frames if layout.frames[k].freedom == 6}
        self.owner = min(owner, default=-1)
        self.driven = self.carried = False
        if owner:
            k = self.owner
            i, j = layout.frame_q[k] + 3, layout.frame_v[k] + 3
            self.omega = rotations.rotate(system.q0[i : i + 4], system.v0[j : j + 3])
        self.mask = np.zeros(system.n_v, dtype=bool)
        for k in self.frames:
            self.mask[layout.frame_v[k] : layout.frame_v[k] + layout.frames[k].freedom] = True
        for internal, j in zip(layout.internal, layout.internal_v, strict=True):
            self.mask[j] = internal.owner in owner
        self.mass, self.velocity = 0.0, np.zeros(3)
        if not self.free:
            self._turn_in_bearings()
        else:
            self.mass = self._mass_centre(system.q0)[0]
            start = np.where(self.mask, system.v0, 0.0)
            self.velocity = system.energy_momentum(system.q0[None], start[None])[0, 2:5] / self.mass

    def _turn_in_bearings(self) -> None:
        """Set the axis of a structure with a fixed frame, and whether it is driven; at rest it has no omega."""
        system, omega2 = self.system, float(self.omega @ self.omega)
        if not omega2:
            return
        i, j = system.layout.frame_q[self.owner], system.layout.frame_v[self.owner]
        self.point = system.q0[i : i + 3] + rotations.cross(self.omega, system.v0[j : j + 3]) / omega2
        wanted = np.zeros(system.n_v)
        self.state(system.q0, wanted, np.zeros(system.n_v))
        own = np.isin(np.arange(system.n_v), system.layout.internal_v, invert=True) & self.mask
        start = np.where(own, system.v0, 0.0)
        if np.max(np.abs(start - wanted)) <= STEADY * np.max(np.abs(start)):
            shape = wanted / math.sqrt(omega2)
            self.driven = bool(np.max(np.abs(self._gaps(system.q0, shape)), initial=0.0) > STEADY)
            weightless = system.with_gravity(np.zeros(3)) if self.driven else system
            energies = [
                weightless.energy_momentum(q[None], wanted[None])[0, :2]
                for _, q, _ in self.turned(self.point, system.q0, wanted)
            ]
            change = max(abs(float(each[1] - energies[0][1])) for each in energies)
            if change <= STEADY * float(np.sum(np.abs(energies[0]))):
                return
        self.omega, self.point = np.zeros(3), None

    def _gaps(self, q: Floats, v: Floats) -> Floats:
        """J v (n_c,), the rates at which velocities (n_v,) open joints and drivers."""
        u, both = self.system.inputs_at(0.0, q, v), np.stack([v, np.zeros_like(v)])
        rates = self.system.constraint_rates(np.stack([u, u]), np.stack([q, q]), both)
        gaps: Floats = rates[0] - rates[1]
        return gaps

    def turned(self, point: Floats, q: Floats, v: Floats) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Rotations (4,) about the axis through ``point`` (3,), first none, with the state q (n_q,), v (n_v,) after
        them."""
        layout, axis = self.system.layout, self.omega / norm(self.omega)
        for angle in (0.0, *TURNED):
            turn, v_after = rotations.from_axis_angle(axis, angle), v.copy()
            for k in self.frames:
                j = layout.frame_v[k]
                v_after[j : j + 3] = rotations.rotate(turn, v[j : j + 3])
            yield turn, self._moved(q, turn, point), v_after

    def _moved(self, q: Floats, turn: Floats, point: Floats) -> Floats:
        """q (n_q,) after a rotation (4,) of the structure about a point (3,)."""
        layout, q = self.system.layout, q.copy()
        for k in self.frames:
            i = layout.frame_q[k]
            q[i : i + 3] = point + rotations.rotate(turn, q[i : i + 3] - point)
            if layout.frames[k].freedom == 6:
                q[i + 3 : i + 7] = rotations.multiply(turn, q[i + 3 : i + 7])
        return q

    def to_principal_axis(self, q: Floats) -> tuple[Floats, float]:
        """q (n_q,) with a free structure turned as one body so that its angular momentum is along its axis, and by
        which angle (rad). No internal force is in this, beside which that of a slow rotation would be rounding.

        Raises SolveError where no such attitude is near.
        """
        across, whole = np.linalg.svd(self.omega[None])[2][1:], 0.0
        for _ in range(ATTITUDES):
            spin, inertia = self._spin(q), self._mass_centre(q)[2]
            # omega x H changes with turns phi by omega x (phi x H - I (phi x omega))
            changes = np.cross(across, spin) - np.cross(across, self.omega) @ inertia
            by_turns = np.cross(self.omega, changes) @ across.T
            moment = rotations.cross(self.omega, spin) @ across.T
            phi = np.linalg.lstsq(by_turns.T, -moment, rcond=None)[0] @ across
            size = norm(phi)
            if size > FARTHEST:
                break
            q, whole = self._moved(q, rotations.exponential(phi), self.centre(q)), whole + size
            if size <= TURNED_ENOUGH:
                return q, whole
        raise SolveError("no steady motion to start from: no principal axis of inertia is near the axis of rotation")

    def _mass_centre(self, q: Floats) -> tuple[float, Floats, Floats]:
        """Mass, mass centre (3,), and inertia (3, 3) about it, inertial axes."""
        motions = np.where(self.mask, self.system.rigid_velocities(q), 0.0)
        momenta = self.system.energy_momentum(np.tile(q, (6, 1)), motions)[:, 2:]
        mass = float(momenta[0, 0])
        centre = np.array([momenta[5, 1], momenta[3, 2], momenta[4, 0]]) / mass
        inertia: Floats = momenta[3:, 3:] - mass * np.cross(centre, np.cross(np.eye(3), centre))
        return mass, centre, inertia

    def centre(self, q: Floats) -> Floats:
        """(3,) a point of the axis at q (n_q,)."""
        return self._mass_centre(q)[1] if self.point is None else self.point

    def state(self, q: Floats, v: Floats, a: Floats) -> None:
        """Set the velocities v and accelerations a (n_v,) of the structure's frames."""
        layout = self.system.layout
        if not self.free and self.point is None:
            return
        centre = self.centre(q)
        for k in self.frames:
            i, j = layout.frame_q[k], layout.frame_v[k]
            arm = q[i : i + 3] - centre
            v[j : j + 3] = self.velocity + rotations.cross(self.omega, arm)
            a[j : j + 3] = rotations.cross(self.omega, rotations.cross(self.omega, arm))
            if layout.frames[k].freedom == 6:
                v[j + 3 : j + 6] = rotations.rotate_back(q[i + 3 : i + 7], self.omega)

    def about(self, q: Floats, part: float = 1.0) -> "RigidMotion":
        """The motion with a part of its rate, about an axis that stays: of bearings, or at the mass centre at q."""
        if not self.omega.any():
            return self
        other = copy(self)
        other.omega = part * self.omega
        other.point = self._mass_centre(q)[1] if self.free else self.point
        return other

    def neutral(self, q: Floats) -> Floats:
        """(n_v, 0 to 2): displacements along the axis and about it at q, which change nothing of the rotation; those
        that bearings allow, and no driver prescribes."""
        if self.driven:
            return np.zeros((self.system.n_v, 0))
        axis = self.omega / norm(self.omega)
        centre = self.centre(q)
        whole = np.where(self.mask, self.system.rigid_velocities(q), 0.0)
        both = np.column_stack([axis @ whole[:3], axis @ whole[3:] + rotations.cross(centre, axis) @ whole[:3]])
        return both if self.free else both[:, 1:]

    def turned_to(self, q: Floats) -> float:
        """Angle (rad) between the rotation of a free structure at q (n_q,) and its axis at the start, in its body."""
        if not self.free or not self.omega.any():
            return 0.0
        at = slice((i := self.system.layout.frame_q[self.owner] + 3), i + 4)
        return angle_turned(self.omega, self.system.q0[at], q[at])

    def turns(self, frame: int) -> bool:
        """Whether a frame is one of the structure that has a rotation."""
        return frame in self.frames and self.system.layout.frames[frame].freedom == 6

    def tilts(self, q: Floats) -> Floats:
        """(n_v, 2): displacements by rotations of a free structure about axes through its mass centre across its own
        axis."""
        across, centre = np.linalg.svd(self.omega[None])[2][1:], self.centre(q)
        whole = np.where(self.mask, self.system.rigid_velocities(q), 0.0)
        return np.asarray((across @ (whole[3:] - np.cross(np.eye(3), centre) @ whole[:3])).T)

    def shifts(self, q: Floats) -> Floats:
        """(n_v, 2): displacements across the axis."""
        whole = np.where(self.mask, self.system.rigid_velocities(q), 0.0)
        return np.asarray((np.linalg.svd(self.omega[None])[2][1:] @ whole[:3]).T)

    def across(self, q: Floats, force: Floats) -> Floats | None:
        """(3,) the moment across the axis that forces (n_v,) lack to keep a free structure at its angular velocity, if
        it is rounding of typed numbers or is carried; else None."""
        net, axis = self.system.rigid_velocities(q) @ np.where(self.mask, force, 0.0), self.omega / norm(self.omega)
        moment = net[3:] - rotations.cross(self.centre(q), net[:3])
        moment = moment - (moment @ axis) * axis
        most = DEFORMED * NEARLY_PRINCIPAL * norm(self.omega) * norm(self._spin(q))
        return moment if self.carried or norm(moment) <= most else None

    def _spin(self, q: Floats) -> Floats:
        """(3,) angular momentum about the mass centre of a free structure, with wheels at the speeds of the start."""
        v, states = np.zeros(self.system.n_v), self.system.layout.first_order_v
        self.state(q, v, np.zeros(self.system.n_v))
        v[states] = np.where(self.mask, self.system.v0, 0.0)[states]
        of_origin = self.system.energy_momentum(q[None], v[None])[0, 5:]
        spin: Floats = of_origin - self.mass * rotations.cross(self._mass_centre(q)[1], self.velocity)
        return spin

    def check_axis(self, instead: str = START) -> None:
        """Refuse an axis that is not a principal axis at the start: the iteration would rotate the structure to one, by
        any angle. One that turns with its orbit, whose gravity notices the tilt, has an equilibrium beside it.

        instead : what else to do, for the message.
        """
        if not self.free or not self.omega.any() or self.carried:
            return
        if self._turns_with_orbit() and not self.tilts_freely():
            return
        spin = self._spin(self.system.q0)
        moment = rotations.cross(self.omega, spin)
        if norm(moment) > NEARLY_PRINCIPAL * norm(self.omega) * norm(spin):
            self._refuse(np.concatenate([np.zeros(3), moment]), instead)

    def tilts_freely(self) -> bool:
        """Whether nothing around the structure notices a turn of its axis at the start, as items declare."""
        structure = next(each for each in known_motions(self.system) if self.owner in each.frames)
        tilts = twists(turns=nullity(self.omega[None] / norm(self.omega)), point=self.centre(self.system.q0))
        return structure.contains(structure.motions, tilts)

    def _turns_with_orbit(self) -> bool:
        """Whether it has the angular velocity of the frame of an orbit at the start."""
        from femb.elements.environment.orbital_frame import frame_of, motion_of

        try:
            quaternion, turn = frame_of(motion_of(self.system.model, ("run", "start"), "'equilibrium'"), 0.0)
        except ModelError:
            return False
        return norm(self.omega - rotations.rotate(quaternion, turn)) <= NEARLY_PRINCIPAL * norm(self.omega)

    def check(self, q: Floats, force: Floats) -> None:
        """Refuse a net force or moment on a free structure, and a moment about the axis of one that turns freely."""
        if not self.free:
            moment = self.neutral(q).T @ force if self.omega.any() else np.zeros(0)
            rotation = np.zeros((2, len(force)))
            self.state(q, *rotation)
            largest = max(float(np.max(np.abs(force))), float(np.sum(np.abs(self.system.mass_matrix(q) @ rotation[1]))))
            if np.any(np.abs(moment) > UNBALANCED * largest):
                raise SolveError(
                    f"no steady motion to start from: the structure of {self.labels!r} would need a moment of "
                    f"{moment[0]:.3g} N m about its axis to keep its angular velocity; add a driver, {START}"
                )
            return
        net = self.system.rigid_velocities(q) @ np.where(self.mask, force, 0.0)
        if self.omega.any() and (across := self.across(q, force)) is not None:
            net[3:] -= across
        largest = float(np.max(np.abs(net)))
        typical = float(np.max(np.abs(force))) + self.mass * float(self.omega @ self.omega)
        if largest > UNBALANCED * typical and largest > 1e-9:
            self._refuse(net)

    def _refuse(self, needed: Floats, instead: str = START) -> None:
        needed = needed + 0.0  # no minus zeros
        raise SolveError(
            f"no steady motion to start from: the structure of {self.labels!r} would need a net force "
            f"({', '.join(f'{x:.3g}' for x in needed[:3])}) N and moment about the origin "
            f"({', '.join(f'{x:.3g}' for x in needed[3:])}) N m to keep its angular velocity; turn it about a "
            f"principal axis of inertia, {instead}"
        )
