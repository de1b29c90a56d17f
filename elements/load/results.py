"""Quantities of loads in results; T times."""

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
