"""Pulls along lines between points, evaluated together."""

from typing import Any

from femb.elements.spring.batch import SpringBatch, coincident_ends
from femb.layout.element import Input, breakpoints_of
from femb.layout.singularity import Singularity


class PullBatch(SpringBatch):
    """Springs without stiffness whose force is a function of time only."""

    table = "loads"

    def parts(self, spring: Any, k: int, length: float) -> tuple[list[float], Input | None, Singularity | None]:
        force, profile, item = spring.force, spring.profile, f"loads.{spring.name}"
        given = Input(3, lambda t: (force * profile(t), 0.0, 0.0), breakpoints=breakpoints_of(profile), label=item)
        return [0.0, 0.0, 0.0], given, coincident_ends(item, length, "end the pull before they meet")
