"""Commands: numbers of items that controllers set."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, runtime_checkable

import numpy as np

from femb.base.types import Ability, Floats
from femb.layout.element import Batch
from femb.layout.protocols import SetsCommands


@dataclass(frozen=True, eq=False)
class Command:
    """A command that an item takes from a controller, by the name TABLE.NAME.WORD.

    unit : SI. width : how many numbers it has. limit : the largest size of each, infinity for none; the item clips what
    exceeds it, and counts. input : the input of linear models, by its label, to which it adds; where it has several
    numbers, those of its components. per_period : whether it is a duration (s), whose mean over the period of the
    controller is that input. columns (width, n_v) : generalized forces of unit commands where these are constant in the
    velocities, so that a continuous controller can set them; None where they are not. held, clips : where the item does
    nothing but hold a sampled command within its limit, the discrete states of the command and of the count of those
    beyond. own : of these, what acts beside the command within the same limit. host : of a vector, the ``Place`` in
    whose axes it is; None of inertial axes. least : of one that acts to one side alone, as an on-time, the smallest
    that acts; minus infinity of others. effect : of such a one, its frame, and there the force and the torque (6,) of a
    unit command, in axes of this.
    """

    unit: str
    input: str
    width: int = 1
    limit: float = inf
    per_period: bool = False
    columns: Floats | None = None
    held: str = ""
    clips: str = ""
    own: float = 0.0
    host: Any = None
    least: float = -inf
    effect: tuple[int, Floats] | None = None

    def acting(self, value: Floats) -> Floats:
        """The part of a command (width,) that acts, within its limits."""
        within = np.clip(self.own + value, -self.limit, self.limit) - self.own
        return np.where(within < self.least, 0.0, within)


def command_array(command: str) -> str:
    """The discrete state of a command that is held, of its name TABLE.NAME.WORD."""
    return f"{command}_command"


def clip_count(command: str) -> str:
    """The discrete state that counts how often a command was clipped."""
    return f"{command}_clips"


def add_command(layout: Any, command: str, width: int = 1) -> None:
    """Declare the discrete states of a command: its numbers, and how often it was clipped."""
    layout.add_discrete(command_array(command), np.zeros(width))
    layout.add_discrete(clip_count(command), 0.0)


def continuous_commands(batches: Iterable[Batch], u: Floats, q: Floats, v: Floats) -> dict[str, Floats]:
    """The commands (s, width) of all continuous controllers among ``batches`` at s states, by name."""
    laws = (batch for batch in batches if isinstance(batch, SetsCommands))
    return {name: value for batch in laws for name, value in batch.continuous_commands(u, q, v).items()}


def with_commands(block: dict[str, Floats], commands: Mapping[str, Floats]) -> dict[str, Floats]:
    """Recorded arrays (s, ...) by path with the commands (s, width) of the same names added."""
    for name, value in commands.items():
        path = name.replace(".", "/")
        if path in block:
            block[path] = block[path] + value.reshape(block[path].shape)
    return block


def clipped_command(command: str, value: Floats, limit: float | None, discrete: Mapping[str, Floats]) -> dict[str, Any]:
    """The discrete states of a command after a new value: within its limit, and counted where it was not."""
    given = value if limit is None else np.clip(value, -limit, limit)
    changed: dict[str, Any] = {command_array(command): given}
    if given is not value and not np.array_equal(given, value):
        changed[clip_count(command)] = float(discrete[clip_count(command)]) + 1.0
    return changed


@runtime_checkable
class TakesCommands(Protocol, metaclass=Ability):
    """An item with commands that controllers set, such as the torque of a wheel."""

    @property
    def table(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def changes_momenta(self) -> tuple[str, ...]: ...

    def commands(self, layout: Any) -> Mapping[str, Command]:
        """Its commands by word; of a layout without numbers yet (``declare_dofs``) without columns."""

    def commanded(self, word: str, value: Floats, t: float, discrete: Mapping[str, Floats]) -> Mapping[str, Any]:
        """The discrete states that a command (width,) at the time t (s) changes, by name: what the item then does,
        within its limits."""
