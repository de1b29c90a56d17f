"""Quantities of springs and of modal damping in results; T times, k modes."""

from typing import ClassVar

from femb.base.quantity import Group, Quantity


class SpringResults(Group):
    """Resistance of a spring, dashpot, friction or stop, and the motion against it; (T, 3) on Euler angles."""

    word: ClassVar[str] = "spring"
    shown: ClassVar[tuple[str, ...] | None] = ("length", "angle", "rate", "force")

    force = Quantity(
        "(T,)",
        "N or N m",
        "resistance of a spring, dashpot, friction or stop: tension, or a force against an increase of the angle or "
        "stroke; (T, 3) for a spring on Euler angles, here and below",
    )
    length = Quantity("(T,)", "m", "distance of the two points, or stroke of the joint")
    angle = Quantity("(T,)", "rad", "of the torsion spring or of the joint, counting full revolutions")
    rate = Quantity(
        "(T,)",
        "m/s or rad/s",
        'of the length or the angle; for springs on Euler angles in `frame = "body"` the relative angular velocity '
        "along the axes",
    )


class ModalDampingResults(Group):
    """The power that modal damping takes from the motion, of k modes."""

    word: ClassVar[str] = "modaldamping"
    shown: ClassVar[tuple[str, ...] | None] = ("power",)

    power = Quantity("(T,)", "W", "that modal damping takes from the motion, never negative")
    modal_rates = Quantity(
        "(T, k)",
        "-",
        "of the modal coordinates, sqrt(kg) m/s; the attribute `names` (JSON) names the modes",
    )
    frequencies = Quantity("(k,)", "Hz", "of the damped modes, with the body held")
    ratios = Quantity("(k,)", "-", "damping ratios of these modes")

    @property
    def description(self) -> str:
        """Ratios, numbers of modes and appendages, as text."""
        return str(self.attributes.get("description", ""))
