"""Figure: what a case wants to be shown of its results, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from femb.base.checks import Checks
from femb.base.types import Pair
from femb.base.values import shown

INERTIAL = "inertial"


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of the results, drawn by ``femb plot --what NAME``; the one named "overview" is drawn without asking.

    what : texts, each one or more rows below one another: a figure or quantity that ``femb plot`` knows, also
    "NAME of ITEM, ITEM"; the path of an array as "joints/hinge/force"; several with " | " between them stand side by
    side. items : names of the items to show, with * and ? as wildcards, a beam's node as "NAME[NODE]"; by default all.
    frame : the motion is seen from "inertial", a body, or a beam's node. times : first and last instant, s.

    Raises ModelError: no text; a text, item or frame that is no text.
    """

    table: ClassVar[str] = "figures"
    kind: ClassVar[str] = "figure"

    name: str
    what: tuple[str, ...]
    items: tuple[str, ...] = ()
    frame: str = INERTIAL
    times: Pair | None = None

    def __post_init__(self) -> None:
        with Checks(self, "figures", self.name) as check:
            for field in ("what", "items"):
                given = getattr(self, field)
                texts = given if isinstance(given, list | tuple) else (given,)
                if all(isinstance(text, str) for text in texts):
                    object.__setattr__(self, field, tuple(texts))
                else:
                    check.fail(field, f"got {shown(given)}, wanted a list of texts")
            check.require("what", self.what, "wanted one text or more")
            check.require("frame", isinstance(self.frame, str), "wanted the name of a body, or inertial")
            if self.times is not None and "times" not in check.bad:
                check.require("times", self.times[0] < self.times[1], "the first must be before the last")

    def words(self) -> dict[str, Any]:
        """What the results keep of it."""
        words: dict[str, Any] = {"what": self.what}
        if self.items:
            words["items"] = self.items
        if self.frame != INERTIAL:
            words["frame"] = self.frame
        if self.times is not None:
            words["times"] = [float(t) for t in self.times]
        return words
