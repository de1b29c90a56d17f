"""Figure: a named plot of the results that a case defines."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from femb.base.checks import Checks
from femb.base.types import Pair, Unit
from femb.base.values import shown

INERTIAL = "inertial"


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of the results, drawn by ``femb plot --what NAME``; "overview" is drawn by default.

    name : unique among the figures. what : each gives one row or more: a figure or quantity of femb plot, also "NAME of
    ITEM, ITEM"; the path of an array such as "joints/hinge/force"; " | " sets several side by side. items : names of
    the items to show, with * and ? as wildcards, a beam's node as "NAME[NODE]"; by default all. frame : reference frame
    of the motion: "inertial", a body, or a beam's node. times : first and last instant, s.

    Raises ModelError: ``what`` is empty; an entry of ``what`` or ``items``, or ``frame``, is not text.
    """

    table: ClassVar[str] = "figures"
    kind: ClassVar[str] = "figure"

    name: str
    what: tuple[str, ...]
    items: tuple[str, ...] = ()
    frame: str = INERTIAL
    times: Annotated[Pair | None, Unit("s")] = None

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
        """The fields that are stored in the results."""
        words: dict[str, Any] = {"what": self.what}
        if self.items:
            words["items"] = self.items
        if self.frame != INERTIAL:
            words["frame"] = self.frame
        if self.times is not None:
            words["times"] = [float(t) for t in self.times]
        return words
