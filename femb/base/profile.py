"""Base classes of profiles of time (``femb.profiles``)."""

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from femb.base.checks import Checks

Derivatives = tuple[float, float, float]


@runtime_checkable
class Profile(Protocol):
    """A factor as a function of time; steppers land on its ``breakpoints`` (s)."""

    @property
    def breakpoints(self) -> tuple[float, ...]: ...

    def __call__(self, t: float) -> float: ...


@runtime_checkable
class Motion(Profile, Protocol):
    """A profile without jumps of value and rate, which a driver can follow."""

    def derivatives(self, t: float) -> Derivatives:
        """Its value, and its first and second derivative by time (1/s, 1/s2)."""


@dataclass(frozen=True)
class CheckedProfile:
    """Base of the profiles: the word in case files, and the checks of the fields."""

    shape: ClassVar[str]
    positive: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        with Checks(self, "profile") as check:
            self.check(check)

    def check(self, check: Checks) -> None:
        """Check the fields: by default, those named in ``positive`` must be above zero."""
        check.positive(*self.positive)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return ()


class SmoothProfile(CheckedProfile):
    """Base of profiles that compute the value with its derivatives."""

    def __call__(self, t: float) -> float:
        return self.derivatives(t)[0]

    def derivatives(self, t: float) -> Derivatives:
        """Its value, and its first and second derivative by time (1/s, 1/s2)."""
        raise NotImplementedError
