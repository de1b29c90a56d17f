"""Equivalent mechanical models: modes as masses that slide on springs, or as hinged rigid panels, and what hub remains.

    sliding mass    m = |l_t|^2,   e = l_t / |l_t|,   rho = l_t x l_r / m,   k = m omega^2,   c = 2 zeta omega m
    hinged panel    I = |l_r|^2,   d = |l_t| |l_r| / m,   I_centre = I - m d^2,   k = I omega^2,   c = 2 zeta omega I

The whole mass of what slides or turns is taken from the hub. Source: docs/theory/handover.md, equations (12) to (15).
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from femb.base.errors import FembWarning, ModelError
from femb.base.files import write_json
from femb.base.html import Brief
from femb.base.types import Floats
from femb.handover.hybrid import UNITS, HybridCoordinates
from femb.numerics.rotations import rigid_transport
from femb.vibration.participation import Participation

# Parts that stand for a mode in an equivalent mechanical model: a sliding mass, or a hinged rigid panel.
#
# Vectors are from the hub's origin and along its axes. Names of parameters are those of Basilisk 2.12.


def _point_mass(mass: float, place: Floats) -> Floats:
    """(6, 6) of a point mass that moves with the hub."""
    rows = rigid_transport(place)[:3]
    return np.asarray(mass * rows.T @ rows)


@dataclass(frozen=True, eq=False)
class SlidingMass:
    """A point mass (kg) at a place (3,) m that slides along a direction (3,) of length one.

    stiffness N/m and damping N s/m : of its spring and dashpot.
    """

    effector: ClassVar[str] = "linearSpringMassDamper"

    name: str
    mass: float
    place: Floats
    direction: Floats
    stiffness: float
    damping: float

    @property
    def rigid_mass(self) -> Floats:
        """(6, 6): where it does not slide."""
        return _point_mass(self.mass, self.place)

    @property
    def coupling(self) -> Floats:
        """(6,): participation of its motion, of unit mass."""
        whole = np.concatenate([self.direction, np.cross(self.place, self.direction)])
        return np.asarray(np.sqrt(self.mass) * whole)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by Basilisk's names."""
        return {
            "name": self.name,
            "massInit": self.mass,
            "r_PB_B": self.place.tolist(),
            "pHat_B": self.direction.tolist(),
            "k": self.stiffness,
            "c": self.damping,
            "rhoInit": 0.0,
            "rhoDotInit": 0.0,
        }


@dataclass(frozen=True, eq=False)
class HingedPanel:
    """A rigid panel (kg) on a hinge at a place (3,) m, its mass centre at a distance d (m) from there.

    inertia : kg m2, about its mass centre across its length, as that of a slender rod. dcm (3, 3) : rows h1, h2, h3
    along the hub's axes; the panel is along -h1 and turns about h2. stiffness N m/rad and damping N m s/rad : of
    the hinge.
    """

    effector: ClassVar[str] = "hingedRigidBodyStateEffector"

    name: str
    mass: float
    distance: float
    inertia: float
    place: Floats
    dcm: Floats
    stiffness: float
    damping: float

    @property
    def rigid_mass(self) -> Floats:
        """(6, 6): where it does not turn."""
        whole = _point_mass(self.mass, self.place - self.distance * self.dcm[0])
        whole[3:, 3:] += self.inertia * (np.eye(3) - np.outer(self.dcm[0], self.dcm[0]))
        return whole

    @property
    def coupling(self) -> Floats:
        """(6,): participation of its motion, of unit mass."""
        axis, centre = self.dcm[1], -self.distance * self.dcm[0]
        speed = np.cross(axis, centre)
        turn = self.inertia * axis + self.mass * np.cross(self.place + centre, speed)
        whole = np.concatenate([self.mass * speed, turn])
        return np.asarray(whole / np.sqrt(self.inertia + self.mass * self.distance**2))

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by Basilisk's names."""
        return {
            "name": self.name,
            "mass": self.mass,
            "d": self.distance,
            "IPntS_S": np.diag([0.0, self.inertia, self.inertia]).tolist(),
            "r_HB_B": self.place.tolist(),
            "dcm_HB": self.dcm.tolist(),
            "k": self.stiffness,
            "c": self.damping,
            "thetaInit": 0.0,
            "thetaDotInit": 0.0,
        }


FORMAT = "femb equivalent mechanical model 1"
# Of the lever of a mode: a pitch below it is rounding, above it a sliding mass or a panel would mislead. Of the largest
# entry: an inertia below it is none.
STRAIGHT, SCREW, NONE = 1e-6, 0.05, 1e-9

Selection: TypeAlias = "int | Mapping[str, Sequence[int]]"
"""Numbers of modes, from 1, by the name of an appendage; or the number of lowest modes of each."""

Effector = TypeVar("Effector", bound=SlidingMass | HingedPanel)


@dataclass(frozen=True, eq=False)
class MechanicalModel(Brief, Generic[Effector]):
    """A rigid hub with sliding masses or hinged panels, about the hub's origin and along its axes.

    hub : its name. mass (6, 6) : of the hub, with all mass that neither slides nor turns. effectors : what does.
    left_out (k,) : of each mode that is a small screw, the part of its participation that no effector has: that in
    rotation along the motion of a sliding mass, that in translation along the axis of a panel.
    """

    hub: str
    mass: Floats
    effectors: tuple[Effector, ...]
    left_out: Floats

    @property
    def whole_mass(self) -> Floats:
        """(6, 6): of everything as one rigid body."""
        return np.asarray(self.mass + sum(effector.rigid_mass for effector in self.effectors))

    @property
    def coupling(self) -> Floats:
        """(k, 6): participation of the effectors' motions of unit mass, as L of the modes they stand for."""
        return np.array([effector.coupling for effector in self.effectors]).reshape(-1, 6)

    @property
    def centre(self) -> Floats:
        """(3,) m: the hub's mass centre."""
        first = np.array([self.mass[5, 1], self.mass[3, 2], self.mass[4, 0]])
        return np.asarray(first / self.mass[0, 0])

    @property
    def inertia(self) -> Floats:
        """(3, 3) kg m2: the hub's, about its mass centre."""
        c = self.centre
        return np.asarray(self.mass[3:, 3:] - self.mass[0, 0] * (c @ c * np.eye(3) - np.outer(c, c)))

    def write(self, path: str | Path) -> Path:
        """Write a JSON file with the names of Basilisk's hub and effectors; its path. Raises ResultError."""
        from femb import __version__

        document: dict[str, Any] = {
            "format": FORMAT,
            "femb": __version__,
            "units": UNITS,
            "hub": {
                "name": self.hub,
                "mHub": float(self.mass[0, 0]),
                "r_BcB_B": self.centre,
                "IHubPntBc_B": self.inertia,
            },
        }
        document["left_out"] = {one.name: float(part) for one, part in zip(self.effectors, self.left_out, strict=True)}
        for kind in (SlidingMass, HingedPanel):
            document[kind.effector] = [one.parameters for one in self.effectors if isinstance(one, kind)]
        return write_json(path, document)


def sliding_masses(plant: HybridCoordinates, modes: Selection = 1) -> MechanicalModel[SlidingMass]:
    """The modes of a plant as point masses that slide on springs.

    A warning names small screws, whose rotation along their motion is left out.

    Parameters:
        plant: hub and appendages.
        modes: number of modes, or their choice.

    Raises:
        ModelError: a mode that moves no mass centre or is a screw of more than a twentieth of its lever, an unknown
            mode, or a hub whose mass or inertia becomes negative.
    """
    found, left_out = [], []
    for part, k in _selected(plant, modes):
        line, turn, omega, zeta, name = _mode(part, k)
        mass = float(line @ line)
        if np.sqrt(mass) <= STRAIGHT * np.linalg.norm(turn):
            raise ModelError(f"sliding masses: {name} moves no mass centre, which no sliding mass is: leave out")
        pitch, lever = line @ turn / mass, np.linalg.norm(turn) / np.sqrt(mass)
        screw = abs(pitch) / max(lever, 1e-3)
        if screw > SCREW:
            raise ModelError(
                f"sliding masses: {name} is a screw of {pitch:.3g} m pitch, {100.0 * screw:.3g} % of its lever, which "
                "no sliding mass has: leave it out, or take hybrid coordinates, which have it exactly"
            )
        left_out.append(_stated("sliding masses", name, screw, "its rotation along its motion"))
        place = np.cross(line, turn) / mass
        found.append(SlidingMass(name, mass, place, line / np.sqrt(mass), mass * omega**2, 2.0 * zeta * omega * mass))
    return _checked(plant, tuple(found), left_out)


def hinged_panels(plant: HybridCoordinates, modes: Selection = 1) -> MechanicalModel[HingedPanel]:
    """The modes of a plant as rigid panels on hinges. These are at the roots of their appendages, whose mass they share
    by effective mass.

    A warning names small screws, whose translation along their axis is left out.

    Parameters:
        plant: hub and appendages.
        modes: number of modes, or their choice.

    Raises:
        ModelError: a mode that does not turn its mass centre about the root, or moves it along the axis by more than a
            twentieth, an unknown mode, or a hub whose mass or inertia becomes negative.
    """
    selected, found, left_out = _selected(plant, modes), [], []
    for part, k in selected:
        root = plant.position(f"{part.name}.root")
        line, turn, omega, zeta, name = _mode(part.about(plant.point + plant.axes @ root), k)
        inertia, effective = float(turn @ turn), float(line @ line)
        if not np.sqrt(effective) > STRAIGHT * np.sqrt(inertia) or not inertia > 0.0:
            raise ModelError(f"hinged panels: {name} moves no mass centre, as no hinged panel does: leave it out")
        screw = abs(line @ turn) / np.sqrt(effective * inertia)
        if screw > SCREW:
            raise ModelError(
                f"hinged panels: {name} moves its mass centre along the axis of its rotation, by {100.0 * screw:.3g} % "
                "of its motion, which no hinged panel does: leave it out, or take hybrid coordinates, which have it "
                "exactly"
            )
        left_out.append(_stated("hinged panels", name, screw, "the motion of its mass centre along its axis"))
        share = sum(np.sum(other.coupling[j, :3] ** 2) for other, j in selected if other is part)
        mass = part.rigid_mass[0, 0] * effective / share
        axis = turn / np.sqrt(inertia)
        line = line - axis * (axis @ line)
        across = float(np.linalg.norm(line))
        distance = across * np.sqrt(inertia) / mass
        centre = inertia - mass * distance**2
        if centre < 0.0:
            raise ModelError(
                f"hinged panels: {name} needs a panel of more than its share of the appendage, {mass:.6g} kg: take "
                f"fewer modes of {part.name!r}"
            )
        along = np.cross(line / across, axis)  # from the hinge to the panel's mass centre
        dcm = np.array([-along, axis, -np.cross(along, axis)])
        stiffness, damping = inertia * omega**2, 2.0 * zeta * omega * inertia
        found.append(HingedPanel(name, mass, distance, centre, root, dcm, stiffness, damping))
    return _checked(plant, tuple(found), left_out)


def _stated(what: str, name: str, screw: float, rest: str) -> float:
    """The part of a mode that is left out, with a warning; zero where it is rounding."""
    if screw <= STRAIGHT:
        return 0.0
    warnings.warn(f"{what}: {name} is a screw: {rest}, {100.0 * screw:.3g} %, is left out", FembWarning, stacklevel=3)
    return float(screw)


def _selected(plant: HybridCoordinates, modes: Selection) -> list[tuple[Participation, int]]:
    """Appendages, and numbers of modes from zero."""
    parts = {part.name: part for part in plant.appendages}
    wanted = {name: range(1, modes + 1) for name in parts} if isinstance(modes, int) else modes
    found = []
    for name, numbers in wanted.items():
        if name not in parts:
            raise ModelError(f"modes: no appendage {name!r}; there are: {', '.join(parts) or 'none'}")
        most = len(parts[name].frequencies)
        for number in numbers:
            if not 1 <= number <= most:
                raise ModelError(f"modes: {name}: got {number}, wanted numbers from 1 to {most}, its modes")
            found.append((parts[name], number - 1))
    return found


def _mode(part: Participation, k: int) -> tuple[Floats, Floats, float, float, str]:
    """Participation in translation and in rotation (3,), frequency rad/s, damping ratio, and name of a mode."""
    omega = 2.0 * np.pi * float(part.frequencies[k])
    return part.coupling[k, :3], part.coupling[k, 3:], omega, float(part.damping[k]), f"{part.name}.mode {k + 1}"


def _checked(
    plant: HybridCoordinates, effectors: tuple[Effector, ...], left_out: Sequence[float]
) -> MechanicalModel[Effector]:
    """The model, whose hub must be a rigid body."""
    mass = plant.mass - sum(effector.rigid_mass for effector in effectors)
    result = MechanicalModel(plant.hub, mass, effectors, np.array(left_out))
    words = ", ".join(effector.name for effector in effectors)
    if not mass[0, 0] > NONE * plant.mass[0, 0]:
        raise ModelError(f"hub {plant.hub!r}: its mass becomes {mass[0, 0]:.4g} kg with {words}: take fewer")
    values, axes = np.linalg.eigh(result.inertia)
    if values[0] < NONE * np.max(np.diag(plant.mass)[3:]) or values[2] > (1.0 + NONE) * (values[0] + values[1]):
        axis = ", ".join(f"{x:.3g}" for x in axes[:, 0] + 0.0)
        raise ModelError(
            f"hub {plant.hub!r}: what remains is no rigid body, its principal moments of inertia become "
            f"{', '.join(f'{x:.4g}' for x in values)} kg m2, the least about ({axis}), with {words}: model one plane "
            "of bending alone by sliding masses, or take hinged panels"
        )
    return result
