"""Modal damping: a damping ratio for each mode of the appendages of a body."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import Coordinates, Floats, Unit
from femb.base.values import number_problem, numbered, shown
from femb.elements.force_results import ModalDampingResults
from femb.elements.item import Item
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses

if TYPE_CHECKING:
    from femb.elements.spring.damped_modes import DampedModes

# Ratio of every mode, and number of modes of an appendage, where none are given.
RATIO, MODES = 0.005, 10


def check_ratios(check: Checks, field: str) -> None:
    """Refuse a field that is neither a damping ratio nor a list of them by mode, none of them negative."""
    value = getattr(check.item, field)
    if np.ndim(value):
        check.numbers(field)
    elif problem := number_problem(value):
        check.fail(field, f"{problem} or a list of numbers, one for each mode")
    if field not in check.bad:
        check.require(field, np.min(getattr(check.item, field)) >= 0.0, "must be at least 0")


LARGE = 0.5  # ratio


@dataclass(frozen=True, eq=False)
class ModalDamping(Item):
    """Damps the modes of the appendages of a body, each with a ratio of its own.

    The force vanishes in every rigid motion, conserves momenta and never adds energy. Modes of equal frequency should
    have equal ratios. Analyses find the modes when they begin; ``femb.completed`` does it for a System.

    Raises ModelError: a ratio below zero, another number of ratios than of modes; where an analysis begins: an unknown
    body, no appendages, more modes than there are, an appendage that moves without stiffness, or hangs on two bodies.
    Source: docs/theory/modal_damping.md.
    """

    table: ClassVar[str] = "modal_damping"
    results: ClassVar[type[Group]] = ModalDampingResults
    kind: ClassVar[str] = "modal_damping"
    turns_with_host: ClassVar[bool] = True

    name: str
    held: str
    """the body, or "ground". What hangs on it is an appendage, whose modes are those of femb modes --held of the
    unloaded structure"""
    ratio: Annotated[Coordinates, Unit("")] = RATIO
    """or one for each of the modes, with the body held"""
    modes: int | None = None
    """how many of the lowest modes of each appendage are damped: as many as there are ratios, of one ratio by default
    10"""
    appendage: str | None = None
    """the name of the only one to damp, by default all"""
    damped: tuple[Any, ...] | None = field(default=None, init=False, repr=False)  # of DampedModes
    """the modes of each appendage, which an analysis finds when it begins"""

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            check.require("held", isinstance(self.held, str), "wanted the name of a body")
            check_ratios(check, "ratio")
            check.whole("modes", 1)
            if np.ndim(self.ratio) and not {"ratio", "modes"} & check.bad and self.modes is not None:
                count = len(self.ratio)
                check.require("modes", self.modes == count, f"but there are {numbered(count, 'ratio')}")

    @property
    def path(self) -> str:
        """Path of its results."""
        return f"{self.table}/{self.name}"

    @property
    def count(self) -> int | None:
        """The given number of modes of each appendage; None if it is the default."""
        return len(self.ratio) if np.ndim(self.ratio) else self.modes

    def ratios(self, count: int) -> Floats:
        """(count,) the ratios of the lowest modes of an appendage."""
        return np.array(self.ratio, dtype=float) if np.ndim(self.ratio) else np.full(count, float(self.ratio))

    def with_modes(self, damped: "tuple[DampedModes, ...]") -> Self:
        """The item with the modes that it damps."""
        other = replace(self)
        object.__setattr__(other, "damped", damped)
        return other

    @property
    def description(self) -> str:
        """Ratios, numbers of modes and appendages, as text."""
        if self.damped is None:
            return f"modal damping of the appendages of {self.held}"
        ratios = 100.0 * np.concatenate([part.ratios for part in self.damped])
        low, high = float(np.min(ratios)), float(np.max(ratios))
        span = f"{low:.3g} %" if low == high else f"{low:.3g} to {high:.3g} %"
        parts = ", ".join(f"{len(part.ratios)} of {part.appendage}" for part in self.damped)
        listed = f"appendage{'s' if len(self.damped) > 1 else ''} of {self.held}"
        return f"{span} on {numbered(len(ratios), 'mode')} of the {listed}: {parts}"

    def doubts(self, model: ModelView) -> Iterator[str]:
        largest = np.max(np.asarray(self.ratio, dtype=float), initial=0.0)
        if largest > LARGE:
            yield f"modal_damping.{self.name}.ratio: {largest:g}; per cent are to be multiplied by 0.01"

    def held_frame(self, layout: Layout) -> int:
        """The number of the frame of the held body. Raises ModelError: there is no such body, or it has no axes."""
        path = (self.table, self.name, "held")
        if self.held not in layout.bodies:
            names = ", ".join(map(repr, layout.bodies)) or "none"
            raise ModelError.at(path, f"got {shown(self.held)}, which is not in the model; body names: {names}")
        frame = layout.bodies[self.held]
        if layout.frames[frame].freedom == 3:
            raise ModelError.at(path, f"got {self.held!r}, a point mass, which has no axes and no modes about it")
        return frame

    def between(self, layout: Layout) -> frozenset[int]:
        return frozenset([self.held_frame(layout), *(k for part in self.damped or () for k in part.frames)])

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """No couplings: its derivatives have no blocks. Raises ModelError: the body is unknown, the modes are not."""
        self.held_frame(layout)
        if self.damped is None:
            raise ModelError.at(
                (self.table, self.name),
                "its modes are not known yet: take the System of femb.completed(model), which finds them",
            )
        for part in self.damped:
            frames = [layout.frames[k].label if k < len(layout.frames) else "" for k in part.frames]
            if tuple(frames) != part.labels:
                raise ModelError.at(
                    (self.table, self.name),
                    f"has modes of another model, in which {part.appendage!r} has other frames: add the item without "
                    "modes, and let femb.completed find them",
                )

    @staticmethod
    def batches(items: "list[ModalDamping]", layout: Layout, model: ModelView) -> list[Batch]:
        from femb.elements.spring.modal_damping_batch import ModalDampingBatch

        parts = [(item, part) for item in items for part in item.damped or ()]
        return [ModalDampingBatch(layout, [(item.path, item.held_frame(layout), part) for item, part in parts])]

    @staticmethod
    def records(items: "list[ModalDamping]", system: RecordedSystem) -> Records:
        static: dict[str, Floats] = {}
        attributes: dict[str, Mapping[str, Any]] = {}
        for item in items:
            parts, path = item.damped or (), item.path
            static[f"{path}/frequencies"] = np.concatenate([part.frequencies for part in parts])
            static[f"{path}/ratios"] = np.concatenate([part.ratios for part in parts])
            names = [f"{part.appendage}, mode {j + 1}" for part in parts for j in range(len(part.ratios))]
            attributes[path] = {"description": item.description, "names": json.dumps(names)}
        return Records(static, {path: dict(values) for path, values in attributes.items()})
