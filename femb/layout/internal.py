"""Internal coordinates: scalar unknowns of an element in addition to the positions and quaternions of frames.

Examples are the axial strain at a node of a beam, the amplitude of a mode, the angle of a rotor inside a body. Layout,
steppers and results number, integrate and name them and scale their errors; they need no other information.
"""

from dataclasses import dataclass

# The absolute tolerance of a run that applies, by the unit of the coordinate.
TOLERANCE = {"m": "position", "rad": "quaternion", "-": "strain"}


@dataclass(frozen=True)
class InternalQuantity:
    """The quantity of an internal coordinate: its name, as in "boom, node 1: strain", and its unit.

    unit : "m", "rad" or "-", with the tolerance of positions, of quaternions or of strains. Raises ValueError.
    """

    name: str
    unit: str

    def __post_init__(self) -> None:
        if self.unit not in TOLERANCE:
            raise ValueError(f"{self.name}: got the unit {self.unit!r}, wanted one of {', '.join(TOLERANCE)}")

    @property
    def tolerance(self) -> str:
        """The field of ``femb.base.options.Tolerances`` that applies."""
        return TOLERANCE[self.unit]


@dataclass(frozen=True)
class InternalCoordinate:
    """One internal coordinate of an item.

    label : the name of the item and the position in it, such as "boom, node 1". quantity : its name and unit. owner :
    the moving frame whose block of the matrices contains it; None for a separate block. table : of the item.
    block : the number of the coordinate whose separate block contains it too; None for a block of its own.
    """

    label: str
    quantity: InternalQuantity
    owner: int | None
    table: str
    block: int | None = None

    @property
    def name(self) -> str:
        """Its name as a state of a linearisation: "boom, node 1.strain"."""
        return f"{self.label}.{self.quantity.name}"
