"""Point mass: free, or fixed to a body or to a node of a beam."""

from dataclasses import dataclass
from typing import ClassVar

from femb.checks import Checks
from femb.elements.attachment import Place, check_place
from femb.types import Vector


@dataclass(frozen=True, eq=False)
class PointMass:
    """A mass without inertia.

    mass : kg. Free: position (m) and velocity (m/s), inertial axes; it then has three degrees of freedom.
    Fixed: ``on`` a body at a point, or on a beam at a node; it then adds its mass there.

    Raises ModelError: mass not positive, both free and fixed. Source: docs/theory/rigid_body.md.
    """

    table: ClassVar[str] = "bodies"
    kind: ClassVar[str] = "point_mass"

    name: str
    mass: float
    position: Vector | None = None
    velocity: Vector | None = None
    on: Place | None = None

    def __post_init__(self) -> None:
        with Checks(self, "bodies", self.name) as check:
            check.positive("mass")
            check_place(check, "on")
            if self.on is not None:
                for name in ("position", "velocity"):
                    check.require(name, getattr(self, name) is None, "but the mass is fixed by 'on': give one of them")
