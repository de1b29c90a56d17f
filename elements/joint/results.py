"""Quantities of joints, drivers, couplings, curves and stepper motors in results; T times, c coordinates."""

from typing import TYPE_CHECKING, Any, ClassVar

from femb.base.quantity import Group, Quantity
from femb.base.types import Floats
from femb.elements.force_results import LoadResults, SpringResults

if TYPE_CHECKING:
    from femb.elements.item import ItemStates


class JointResults(Group):
    """Reaction of a joint on its second body, and its c coordinates where it has any."""

    word: ClassVar[str] = "joint"
    shown: ClassVar[tuple[str, ...] | None] = ("coordinates", "rates", "accelerations", "force", "torque")

    force = Quantity(
        "(T, 3)", "N", "constraint reaction on the second end at its point, in the joint's axes at the first end"
    )
    torque = Quantity("(T, 3)", "N m", "in the same axes; about the point of the second end")
    coordinates = Quantity(
        "(T, c)",
        "m or rad",
        "in the order of the attribute `names` (JSON); angles count full revolutions",
        level="motion",
    )
    rates = Quantity("(T, c)", "m/s or rad/s", "of the coordinates", level="motion")
    accelerations = Quantity("(T, c)", "m/s2 or rad/s2", "of the coordinates")


class DriverResults(Group):
    """Prescribed motion and force of a driver; the attribute ``names`` has the c components of the force.

    The power of the drive is the sum of force times rate.
    """

    word: ClassVar[str] = "driver"
    shown: ClassVar[tuple[str, ...] | None] = ("value", "rate", "force")

    value = Quantity(
        "(T, c)",
        "m or rad",
        "prescribed value: a coordinate of a joint, a distance, c components of a position; of an orientation (T, 4), "
        "the quaternion of the second end relative to the first",
    )
    rate = Quantity(
        "(T, c)",
        "m/s or rad/s",
        "of the value; of an orientation the angular velocity (T, 3) of the second end relative to the first, in the "
        "axes of the second",
    )
    force = Quantity(
        "(T, c)",
        "N or N m",
        "of the drive, positive if it acts towards larger values: the force or torque on the second end, with the "
        "opposite one on the first; of an orientation the torque (T, 3) in the axes of the second. The sum of force "
        "times rate is the power of the drive. The attribute `names` (JSON) names the c components",
    )


class CouplingResults(Group):
    """Forces of a coupling on its c coordinates."""

    word: ClassVar[str] = "coupling"
    shown: ClassVar[tuple[str, ...] | None] = ("force",)

    force = Quantity(
        "(T, c)",
        "N or N m",
        "on each coordinate, positive if it acts towards larger values: the force or torque on the second end of the "
        "joint, with the opposite one on the first. The sum of force times rate is zero. The attribute `names` (JSON) "
        "names the coordinates",
    )
    violation = Quantity("(T,)", "m or rad", "of the relation, in the unit of its last coordinate")


class CurveResults(SpringResults):
    """State of a spring that snaps, beside its force and motion."""

    snapped = Quantity(
        "(T,)",
        "-",
        "of a spring with snaps: number of its curve, 0 for the first, 1 for that of its first snap",
        of=lambda item, at: at.input("snapped")[:, 0],
    )
    dissipated = Quantity(
        "(T,)",
        "J",
        "of a spring with snaps: energy lost by snapping since the start",
        of=lambda item, at: at.input("dissipated")[:, 0],
    )


def recorded_target(item: Any, at: "ItemStates") -> Floats:
    """(s,) rad, with the errors of the motor."""
    target: Floats = item.with_errors(at.input("angle")[:, 0] + at.input("target")[:, 0])
    return target


class StepperResults(LoadResults):
    """Target of a stepper motor, beside its torque and the angle of its joint, which are as with a motor."""

    target = Quantity("(T,)", "rad", "of a stepper motor, with its error", of=recorded_target)
