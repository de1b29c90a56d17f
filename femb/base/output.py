"""What a run records, and how: the ``[run.output]`` table of a case file."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Annotated, Any

from femb.base.checks import Checks
from femb.base.types import OneOf
from femb.base.values import shown

PRECISIONS = ("float64", "float32")
# Recorded in every run, whatever is selected.
ALWAYS = ("time", "audit")
# By kind of item, the quantities that follow from positions and velocities alone.
FRAME_MOTION = ("position", "quaternion", "velocity", "angular_velocity", "displacement", "rotation")
MOTION = {
    "bodies": (*FRAME_MOTION, "deformation", "deformation_rate", "modal_coordinates", "nodal_displacement"),
    "beams": (*FRAME_MOTION, "strain", "deflection"),
    "joints": ("coordinates", "rates"),
}
# Of these, the small ones beside positions: as the steps interpolate positions they are not accurate.
DEFORMATION = {
    "bodies": ("deformation", "deformation_rate", "modal_coordinates", "nodal_displacement"),
    "beams": ("strain", "deflection"),
}


@dataclass(frozen=True)
class Output:
    """The quantities that a run records, and how they are stored.

    select : patterns of quantities to record, by default all; exclude : patterns of those to leave out. A pattern is a
    path of the results file with its kind of item or without, or the beginning of one: ``"bodies/hub/position"``,
    ``"hub/position"``, ``"hub"``, ``"bodies"``; ``*`` and ``?`` stand for any text and any character, and ``.`` may
    take the place of ``/``: ``"hub.*"``, ``"*.position"``. Time, audit, and arrays that do not change with time are
    always recorded. Items of which nothing is selected are not evaluated. precision : of the recorded numbers,
    "float64" or "float32" (7 digits, half the memory); time and audit are always in float64. compression : level of
    gzip in the results file, 1 to 9, or 0 for none. motion_only : record positions, velocities, deflections, strains
    and coordinates of joints alone, the same as without it: no forces, no accelerations and no audit. Without
    deflections and strains, the others are as the steps interpolate them, to the tolerance of the run, for next to no
    time.

    Raises ModelError: patterns that are no text, an unknown precision, a level out of bounds.
    """

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    precision: Annotated[str, OneOf(PRECISIONS)] = "float64"
    compression: int = 0
    motion_only: bool = False

    def __post_init__(self) -> None:
        with Checks(self, "run", "output") as check:
            check.whole("compression", 0, 9)
            for word in ("select", "exclude"):
                patterns: Any = getattr(self, word)
                if isinstance(patterns, list | tuple) and all(isinstance(each, str) and each for each in patterns):
                    object.__setattr__(self, word, tuple(patterns))
                else:
                    check.fail(word, f'got {shown(patterns)}, wanted a list of patterns such as ["hub/position"]')

    @property
    def restricted(self) -> bool:
        """Whether something may be left out."""
        return bool(self.select or self.exclude or self.motion_only)

    def admits(self, path: str) -> bool:
        """Whether the quantity at a path of the results file is recorded."""
        kind, word = path.partition("/")[0], path.rpartition("/")[2]
        if self.motion_only and path != "time" and word not in MOTION.get(kind, ()):
            return False
        if kind in ALWAYS:
            return True
        chosen = not self.select or any(matches(pattern, path) for pattern in self.select)
        return chosen and not any(matches(pattern, path) for pattern in self.exclude)

    def unmatched(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        """Patterns that none of the ``paths`` matches, each after the name of its field."""
        known = list(paths)
        patterns = [(word, pattern) for word in ("select", "exclude") for pattern in getattr(self, word)]
        return [each for each in patterns if not any(matches(each[1], path) for path in known)]

    def words(self) -> str:
        """The selection as text; empty without one."""
        given = {word: list(getattr(self, word)) for word in ("select", "exclude")}
        words = [f"{word} = {patterns}" for word, patterns in given.items() if patterns]
        return ", ".join([*words, "motion_only = true"] if self.motion_only else words)


EVERYTHING = Output()


@lru_cache(maxsize=1 << 16)
def matches(pattern: str, path: str) -> bool:
    """Whether a pattern is that of a path KIND/NAME/QUANTITY, or of a beginning of it."""
    parts = path.split("/")
    ends = range(1, len(parts) + 1)
    candidates = ["/".join(parts[:end]) for end in ends] + ["/".join(parts[1:end]) for end in ends if end > 1]
    return any(fnmatchcase(each, pattern) or fnmatchcase(each.replace("/", "."), pattern) for each in candidates)
