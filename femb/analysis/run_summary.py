"""What the time loop tells of a run besides its output."""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.results.groups import EventRecord


@dataclass
class RunSummary:
    """Summary of a run: its events in order, the terminal event that stopped it, and a warning for the user."""

    events: list[EventRecord]
    stopped_by: str | None = None
    warning: str = ""

    def arrays(self) -> dict[str, Floats]:
        """Times (s) and energy losses (J) of the events, by the path in a results file."""
        result: dict[str, Floats] = {}
        for name in dict.fromkeys(event.name for event in self.events):
            records = [event for event in self.events if event.name == name]
            path = f"events/{name.replace('/', ' per ')}"
            result[f"{path}/time"] = np.array([event.time for event in records])
            result[f"{path}/energy_loss"] = np.array([event.energy_loss for event in records])
        return result
