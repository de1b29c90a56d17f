"""Quantities of loads, springs, modal damping and fields in results; T times, k modes."""

from typing import ClassVar

from femb.base.quantity import Group, Quantity


class LoadResults(Group):
    """Force and torque of a load; of a motor or a pull also the motion it drives."""

    word: ClassVar[str] = "load"
    shown: ClassVar[tuple[str, ...] | None] = ("force", "torque", "factor", "length", "angle", "rate")

    force = Quantity(
        "(T,)",
        "N or N m",
        "(T, 3) N, inertial axes; of a pull between two points (T,), towards each other; of the motor of a joint (T,), "
        "positive if it acts towards larger coordinates",
    )
    torque = Quantity(
        "(T, 3)",
        "N m",
        "with its damping, in the axes of the body or section; of a gravity gradient about its origin, inertial axes",
    )
    factor = Quantity("(T,)", "-", "value of the profile of a load along a beam or of a heated beam")
    length = Quantity("(T,)", "m", "distance of the ends of a pull; stroke of a motor's joint")
    angle = Quantity("(T,)", "rad", "of a motor's joint, counting full revolutions")
    rate = Quantity("(T,)", "m/s or rad/s", "of the length or the angle")
    position = Quantity(
        "(T, 3)", "m", "of an orbit: the origin of the model's frame, from the centre of the central body"
    )
    velocity = Quantity("(T, 3)", "m/s", "of this origin")
    force_clips = Quantity(
        "(T,)", "-", "commands of a controller so far that exceeded max_force; without one not there", level="motion"
    )
    torque_clips = Quantity(
        "(T,)", "-", "commands of a controller so far that exceeded max_torque; without one not there", level="motion"
    )


class SpringResults(Group):
    """Resistance of a spring, dashpot, friction or stop, and the motion against it; (T, 3) on Euler angles."""

    word: ClassVar[str] = "spring"
    shown: ClassVar[tuple[str, ...] | None] = ("length", "angle", "displacement", "rate", "force")

    force = Quantity(
        "(T,)",
        "N or N m",
        "resistance of a spring, dashpot, friction or stop: tension, or a force against an increase of the angle or "
        "stroke; (T, 3) for a spring on Euler angles, here and below, and for a bearing, of the shaft, in its axes",
    )
    length = Quantity("(T,)", "m", "distance of the two points, or stroke of the joint")
    angle = Quantity("(T,)", "rad", "of the torsion spring or of the joint, counting full revolutions")
    displacement = Quantity("(T, 3)", "m", "of the shaft's point from the centre of a bearing, in its axes")
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
        "(T, k)", "-", "of the modal coordinates, sqrt(kg) m/s; the attribute `names` (JSON) names the modes"
    )
    frequencies = Quantity("(k,)", "Hz", "of the damped modes, with the body held")
    ratios = Quantity("(k,)", "-", "damping ratios of these modes")

    @property
    def description(self) -> str:
        """Ratios, numbers of modes and appendages, as text."""
        return str(self.attributes.get("description", ""))


class FieldResults(Group):
    """A magnetic field at the origin of the model's frame."""

    word: ClassVar[str] = "field"

    field = Quantity("(T, 3)", "T", "at the origin of the model's frame, inertial axes")


class AtmosphereResults(Group):
    """Density of the air at the origin of the model's frame."""

    word: ClassVar[str] = "field"

    density = Quantity("(T,)", "kg/m3", "at the origin of the model's frame")
