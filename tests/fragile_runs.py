"""Functions of cases that kill the process of their run: imported by the workers of the tests."""

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
