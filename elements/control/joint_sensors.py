"""Kinds of sensors of joints and wheels: encoder, tachometer, speed of a wheel.

Source: docs/theory/controllers.md, section 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import NOT_NEGATIVE, OneOf, Unit
from femb.elements.control.sensor import Sensor
from femb.elements.control.sensor_kernels import NUMBERS
from femb.elements.control.signals import Signal, signal_of
from femb.layout.layout import Layout
from femb.layout.state import RATE
from femb.layout.views import ModelView


@dataclass(frozen=True, eq=False, kw_only=True)
class CoordinateSensor(Sensor):
    """The base of sensors of a coordinate of a joint, or of a wheel."""

    width: ClassVar[int] = 1
    rate: ClassVar[bool] = False

    joint: str | None = None
    """its name"""
    coordinate: str | None = None
    """of the joint, by default its first"""
    wheel: str | None = None
    """in place of both, the name of a wheel"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.exactly_one("joint", "wheel")

    @property
    def joint_coordinates(self) -> Mapping[tuple[str, ...], tuple[str, str | None]]:
        return {} if self.joint is None else {(): (self.joint, self.coordinate)}

    def width_and_unit(self, layout: Layout, model: ModelView) -> tuple[int, str]:
        coordinates = () if self.joint is None else layout.joints[self.joint].coordinates
        chosen = [each for each in coordinates if self.coordinate in (None, each.name)]
        unit = "m" if chosen and not chosen[0].is_angle else "rad"
        return 1, f"{unit}/s" if self.rate else unit

    def truth(self, layout: Layout, model: ModelView) -> Signal:
        if self.wheel is not None:
            return wheel_signal(self, layout, model, self.wheel, "speed" if self.rate else "angle")
        assert self.joint is not None
        word = self.coordinate or layout.joints[self.joint].coordinates[0].name
        return signal_of(layout, model, f"joints.{self.joint}.{word}{RATE if self.rate else ''}")


@dataclass(frozen=True, eq=False)
class Encoder(CoordinateSensor):
    """The coordinate of a joint, unwrapped, or the angle of a wheel; with a quantum by default its floor."""

    kind: ClassVar[str] = "encoder"
    measures: ClassVar[int | None] = NUMBERS
    unit: ClassVar[str] = "rad or m"

    name: str
    noise: Annotated[float, Unit("own"), NOT_NEGATIVE] = 0.0
    bias: Annotated[float, Unit("own")] = 0.0
    rounding: Annotated[str, OneOf(("round", "floor"))] = field(default="floor", kw_only=True)


@dataclass(frozen=True, eq=False)
class Tachometer(CoordinateSensor):
    """The rate of a coordinate of a joint, or the speed of a wheel."""

    kind: ClassVar[str] = "tachometer"
    measures: ClassVar[int | None] = NUMBERS
    unit: ClassVar[str] = "rad/s or m/s"
    rate: ClassVar[bool] = True

    name: str
    noise: Annotated[float, Unit("own"), NOT_NEGATIVE] = 0.0
    bias: Annotated[float, Unit("own")] = 0.0


@dataclass(frozen=True, eq=False)
class WheelSpeedSensor(Sensor):
    """The speed of a wheel relative to its host, rad/s."""

    kind: ClassVar[str] = "wheel_speed"
    measures: ClassVar[int | None] = NUMBERS
    width: ClassVar[int] = 1
    unit: ClassVar[str] = "rad/s"

    name: str
    wheel: str
    """its name"""
    noise: Annotated[float, Unit("rad/s"), NOT_NEGATIVE] = 0.0
    bias: Annotated[float, Unit("rad/s")] = 0.0

    def truth(self, layout: Layout, model: ModelView) -> Signal:
        return wheel_signal(self, layout, model, self.wheel, "speed")


def wheel_signal(sensor: Sensor, layout: Layout, model: ModelView, wheel: str, word: str) -> Signal:
    """The speed or angle of a wheel. Raises ModelError, at the field of the sensor: no such wheel or quantity."""
    try:
        return signal_of(layout, model, f"wheels.{wheel}.{word}")
    except ModelError as error:
        raise ModelError.at((sensor.table, sensor.name, "wheel"), str(error)) from None
