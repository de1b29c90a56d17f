"""Quantities of controllers and sensors in results; T output times, s samples."""

from typing import ClassVar

from femb.base.quantity import Group, Quantity


class ControllerResults(Group):
    """The last sample of a controller, or the present commands and states of a continuous one."""

    word: ClassVar[str] = "controller"

    time = Quantity("(T,)", "s", "instant of the last sample", level="motion")
    output = Quantity("(T, k)", "own", "its commands, before their delay and the limits", level="motion")
    state = Quantity("(T, n)", "own", "its state", level="motion")
    sample_time = Quantity("(s,)", "s", "instants of all samples of a sampled one", level="motion")
    sample_output = Quantity("(s, k)", "own", "its commands at each sample, which act after its delay", level="motion")
    sample_state = Quantity("(s, n)", "own", "its state after each sample", level="motion")
    reference = Quantity(
        "(T, r)",
        "own",
        "of a pd or pid law, what it wants at the output time: an attitude as quaternion, body to inertial, or a "
        "coordinate, rad or m",
        level="motion",
    )
    error = Quantity(
        "(T, m)",
        "rad",
        "of a pd or pid law, the true error at the output time, without sensors: of an attitude the turn from its "
        "reference, body axes; of a coordinate its difference, rad or m",
        level="motion",
    )
    scheduled = Quantity(
        "(T,)",
        "own",
        "of a law with a schedule, what its gains are a table over, at the output time: of a sensor its scale times "
        "the true quantity, without errors",
        level="motion",
    )


class SensorResults(Group):
    """The last sample of a sensor."""

    word: ClassVar[str] = "sensor"

    time = Quantity("(T,)", "s", "instant of the last sample", level="motion")
    value = Quantity(
        "(T, k)",
        "own",
        "that controllers get, in the unit of the sensor; before the first one that of the motion at the start, "
        "without bias and noise",
        level="motion",
    )
    true = Quantity(
        "(T, k)", "own", "the true quantity at the last sample; before the first one at the start", level="motion"
    )
    sample_time = Quantity("(s,)", "s", "instants of all samples", level="motion")
    sample_value = Quantity("(s, k)", "own", "of each sample, before its delay", level="motion")
    sample_true = Quantity("(s, k)", "own", "the true quantity at each sample", level="motion")
