"""Tank with a free surface of liquid: masses that move as the liquid sloshes, on pendulums or springs.

Source: docs/theory/actuators.md, section 5; H. N. Abramson, NASA SP-106, 1966.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group, Quantity
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, OneOf, Unit, UnitVector, Vector
from femb.elements.body.body import PointMass
from femb.elements.item import AtPoint, Item, ItemStates
from femb.elements.joint.coordinates import Coordinate, X, Y
from femb.elements.joint.force import JointSpringDamper
from femb.elements.joint.joint import Distance, OfPoint, PointOnPlane
from femb.elements.marker import JointEnd, Place
from femb.numerics import rotations

# Zeros of the derivative of the Bessel function J_1.
ZEROS = np.array([1.841183781340659, 5.331442773525033, 8.536316366346286])
PENDULUM, SPRING = "pendulum", "spring"


def recorded_displacement(item: "SloshingTank", at: ItemStates) -> Floats:
    """(s, n, 3) m, axes of the host."""
    position, quaternion, _, _ = at.motion(item.on)
    moved = [
        rotations.rotate_back(quaternion, at.motion(mass.name)[0] - position) - place * item.up
        for mass, place in zip(item.masses, item.places.tolist(), strict=True)
    ]
    return np.stack(moved, axis=1)


class TankResults(Group):
    """Motion of the liquid in a tank."""

    word: ClassVar[str] = "tank"

    displacement = Quantity(
        "(T, n, 3)",
        "m",
        "of the masses that slosh from their places at rest, in axes of the body or section",
        of=recorded_displacement,
        level="motion",
    )


class TankRod(OfPoint, Distance):
    """The rod of a pendulum of a tank, with the coordinates of its mass across the axis of its first end."""

    kind = "tank_rod"
    also = ()
    coordinates = (Coordinate("x", (X,)), Coordinate("y", (Y,)))
    in_case_files = False


@dataclass(frozen=True, eq=False)
class SloshingTank(AtPoint):
    """The liquid in an upright cylinder with a free surface: a mass at rest and one for each mode of sloshing.

    It makes the point masses NAME_rest, NAME_1 ... and joints and springs NAME_1, NAME_1_x, NAME_1_y ... Its place is
    the middle of the liquid.

    Raises ModelError: numbers that are not positive, as a gravity of zero: in weightlessness a liquid does not slosh as
    a pendulum does. Source: docs/theory/actuators.md, equation (12).
    """

    table: ClassVar[str] = "tanks"
    kind: ClassVar[str] = "cylinder"
    drawn: ClassVar[str] = "drum"
    acts_on_attitude: ClassVar[bool] = True
    results: ClassVar[type[Group]] = TankResults

    name: str
    mass: Annotated[float, Unit("kg"), POSITIVE]
    radius: Annotated[float, Unit("m"), POSITIVE]
    depth: Annotated[float, Unit("m"), POSITIVE]
    gravity: Annotated[float, Unit("m/s2")]
    """acceleration that holds the liquid on the floor, of gravity or of a thrust; above 0"""
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    node: int = -1
    axis: UnitVector = (0.0, 0.0, 1.0)
    """of the cylinder, from the floor to the surface, in axes of the body or section"""
    modes: int = 1
    """number of modes of sloshing, 1 to 3"""
    damping_ratio: Annotated[float, Unit(""), NOT_NEGATIVE] = 0.0
    """of each mode"""
    model: Annotated[str, OneOf((PENDULUM, SPRING))] = PENDULUM
    """as a "pendulum", masses on massless rods, brought back by the model's acceleration, not with formulation =
    "reduced"; or "spring", across the axis, with the stiffness for gravity"""

    def check(self, check: Checks) -> None:
        if "gravity" not in check.bad and not self.gravity > 0.0:
            check.fail(
                "gravity",
                f"got {self.gravity:.6g}, must be above 0: in weightlessness a liquid has no free surface across its "
                "axis, and does not slosh as a pendulum does",
            )
        check.whole("modes", 1, len(ZEROS))
        self.on.report(check)

    # Equation (12)

    @property
    def up(self) -> Floats:
        """(3,) unit vector along the axis."""
        return np.asarray(self.axis)

    @property
    def sights(self) -> Floats:
        return self.up[None]

    @property
    def drum_size(self) -> tuple[float, float]:
        return self.radius, self.depth

    @property
    def _zeros(self) -> tuple[Floats, Floats]:
        zeros = ZEROS[: self.modes]
        return zeros, np.tanh(zeros * self.depth / self.radius)

    @property
    def frequencies(self) -> Floats:
        """(modes,) rad/s."""
        zeros, depth = self._zeros
        return np.sqrt(zeros * self.gravity * depth / self.radius)

    @property
    def moving_masses(self) -> Floats:
        """(modes,) kg, of the modes."""
        zeros, depth = self._zeros
        result: Floats = self.mass * 2.0 * self.radius * depth / (zeros * (zeros**2 - 1.0) * self.depth)
        return result

    @property
    def lengths(self) -> Floats:
        """(modes,) m, of the pendulums."""
        zeros, depth = self._zeros
        result: Floats = self.radius / (zeros * depth)
        return result

    @property
    def places(self) -> Floats:
        """(modes,) m, of the masses above the middle of the liquid."""
        zeros, _ = self._zeros
        half = np.tanh(0.5 * zeros * self.depth / self.radius)
        result: Floats = 0.5 * self.depth - 2.0 * self.radius / zeros * half
        return result

    @property
    def hinges(self) -> Floats:
        """(modes,) m, of the hinges of the pendulums above the middle of the liquid."""
        return self.places + self.lengths

    # The items that it makes

    @cached_property
    def masses(self) -> tuple[PointMass, ...]:
        """The masses that slosh."""
        return tuple(PointMass(f"{self.name}_{k}", mass) for k, mass in enumerate(self.moving_masses.tolist(), start=1))

    def _host(self, place: float) -> dict[str, Any]:
        """The words of a marker on the axis."""
        return {"body": self.body, "beam": self.beam, "node": self.node, "at": np.asarray(self.at) + place * self.up}

    @cached_property
    def _made(self) -> tuple[Item, ...]:
        moving = self.moving_masses
        rest = self.mass - float(moving.sum())
        made: list[Item] = [
            PointMass(f"{self.name}_rest", rest, on=Place(**self._host(-float(moving @ self.places) / rest)))
        ]
        for k, mass in enumerate(self.masses):
            made.append(mass)
            made += self._held(k, mass) if self.model == SPRING else self._hung(k, mass)
        return tuple(made)

    def _hung(self, k: int, mass: PointMass) -> list[Item]:
        """The rod of a mass, and its damping across the axis."""
        hinge = JointEnd(**self._host(float(self.hinges[k])), axis=-self.up)
        return [
            TankRod(mass.name, hinge, JointEnd(mass.name), length=float(self.lengths[k])),
            *(self._across(k, mass, 0.0) if self.damping_ratio else ()),
        ]

    def _held(self, k: int, mass: PointMass) -> list[Item]:
        """The plane of a mass, and its springs."""
        plane = JointEnd(**self._host(float(self.places[k])), axis=self.up)
        stiffness = mass.mass * float(self.frequencies[k]) ** 2
        return [PointOnPlane(mass.name, plane, JointEnd(mass.name)), *self._across(k, mass, stiffness)]

    def _across(self, k: int, mass: PointMass, stiffness: float) -> list[Item]:
        """A spring and a dashpot along both coordinates across the axis: together alike in all directions."""
        return [JointSpringDamper(f"{mass.name}_{word}", mass.name, word, stiffness, self._damping(k)) for word in "xy"]

    def _damping(self, k: int) -> float:
        return float(2.0 * self.damping_ratio * self.moving_masses[k] * self.frequencies[k])

    def parts(self) -> tuple[Item, ...]:
        return self._made
