"""Runs that are killed: functions of cases that kill their process, imported by workers, and a reporter that ends."""

import os
import signal
from pathlib import Path

from oracles.spring_study import build

from femb import Model


def killed_once(stiffness: float, folder: str) -> Model:
    """The mass on a spring; the first run above 70 N/m kills its process."""
    mark = Path(folder) / "killed"
    if stiffness > 70.0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return build(stiffness=stiffness)


def killed_always(stiffness: float, folder: str) -> Model:
    """The same; every run above 70 N/m kills its process."""
    if stiffness > 70.0 and Path(folder).exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return build(stiffness=stiffness)


class KilledError(Exception):
    """The end of a process."""


class Kill:
    """A reporter that ends the run at a time."""

    def __init__(self, t: float) -> None:
        self.t = t

    def message(self, text: str) -> None:
        """Nothing."""

    def update(self, t: float) -> None:
        """End the run after its time."""
        if t > self.t:
            raise KilledError
