"""Internal coordinates: scalar unknowns that an element brings besides the positions and quaternions of frames.

An axial strain at a beam's node is one; the amplitude of a mode or the angle of a rotor inside a body are others. The
machinery numbers them, integrates them, scales their errors and names them, and knows nothing else about them.
"""

from dataclasses import dataclass

# The absolute tolerance of a run that bounds the error, by the unit of the coordinate.
TOLERANCE = {"m": "position", "rad": "quaternion", "-": "strain"}


@dataclass(frozen=True)
class InternalQuantity:
    """What an internal coordinate is: its name, as in "boom, node 1: strain", and its unit.

    unit : "m", "rad" or "-"; the error is held to the tolerance of positions, of quaternions or of strains.
    """

    name: str
    unit: str

    def __post_init__(self) -> None:
        if self.unit not in TOLERANCE:
            raise ValueError(f"{self.name}: got the unit {self.unit!r}, wanted one of {', '.join(TOLERANCE)}")

    @property
    def tolerance(self) -> str:
        """The field of ``femb.base.options.Tolerances`` that holds for it."""
        return TOLERANCE[self.unit]


@dataclass(frozen=True)
class InternalCoordinate:
    """One internal coordinate of an item.

    label : where it is, with the name of the item, such as "boom, node 1". quantity : what it is. owner : the moving
    frame in whose block of the matrices it is; None for a block of its own. table : of the item.
    """

    label: str
    quantity: InternalQuantity
    owner: int | None
    table: str

    @property
    def name(self) -> str:
        """As states of a linearisation are named: "boom, node 1.strain"."""
        return f"{self.label}.{self.quantity.name}"
