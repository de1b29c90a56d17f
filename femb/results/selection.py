"""The quantities of a run that are recorded: the patterns of ``[run.output]`` applied to the arrays of a model."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.output import DEFORMATION, MOTION, Output
from femb.base.types import Floats
from femb.base.values import nearest
from femb.elements.item import Item
from femb.elements.modal.flexible_body import FlexibleBody
from femb.model.model import Model
from femb.results.frames import Frames
from femb.results.groups import GROUPS
from femb.results.inside_steps import Part
from femb.results.instants import evaluated, interpolated

# Root loads are computed from the loads at the ends of beams.
BEAM_LOADS = ("section_force", "section_moment")
# What the meaning of a quantity says that is computed from others when results are read.
DERIVED = "not in the file"


class Selection:
    """Which arrays of a run are evaluated and recorded.

    Items and batches without a recorded quantity are not evaluated, batches from their second block on.
    Raises ModelError with every pattern that belongs to no quantity of the model; appendages : their names.
    """

    def __init__(self, output: Output, model: Model, appendages: list[str]) -> None:
        self.output, self.text = output, output.words()
        self.admits: Callable[[str], bool] = cache(output.admits)
        self._yields: dict[int, bool] = {}
        self.root_loads = True
        self._names = tuple((kind, name) for kind in GROUPS if kind in model.tables for name in model.tables[kind])
        bodies = model.tables["bodies"]
        self._flexible = tuple(
            (kind, name)
            for kind, name in self._names
            if kind == "beams" or (kind == "bodies" and isinstance(bodies[name], FlexibleBody))
        )
        if output.restricted:
            if output.select or output.exclude:
                _check(output, self._names, tuple(appendages))
            loads = (f"appendages/{name}/{word}" for name in appendages for word in ("force", "torque"))
            self.root_loads = any(map(self.admits, loads))

    @property
    def wants_forces(self) -> bool:
        """Whether a recorded quantity depends on more than positions and velocities, without time and audit."""
        return self.root_loads or _beyond_motion(self.output, self._names)

    @property
    def evaluation(self) -> Callable[[Sequence[Part]], Frames]:
        """Evaluator of output instants: motion without deformations needs no equations of motion."""
        if self.output.motion_only and not _deformation(self.output, self._flexible):
            return interpolated
        return partial(evaluated, motion_only=self.output.motion_only)

    def wants_item(self, item: Item) -> bool:
        """Whether a quantity of an item may be recorded."""
        by_name = self.output.select or self.output.exclude
        return _some_admitted(self.output, item.table, item.name if by_name else "")

    def wants(self, batch: int) -> bool:
        """Whether a batch yields arrays that are recorded; known after the first ones."""
        return self._yields.get(batch, True)

    def noted(self, batch: int, arrays: dict[str, Floats]) -> dict[str, Floats]:
        """The arrays of a batch, noting whether any of them is recorded."""
        if batch not in self._yields and self.output.restricted:
            self._yields[batch] = any(map(self._wanted, arrays))
        return arrays

    def of(self, block: dict[str, Floats]) -> dict[str, Any]:
        """The recorded arrays of a block, in their precision."""
        if self.output.restricted:
            block = {path: array for path, array in block.items() if self.admits(path)}
        if self.output.precision == "float64":
            return block
        return {
            path: _single(array) if "/" in path and path[:6] != "audit/" else array for path, array in block.items()
        }

    def _wanted(self, path: str) -> bool:
        of_roots = self.root_loads and path.startswith("beams/") and path.endswith(BEAM_LOADS)
        return of_roots or self.admits(path)


# Functions of the words and the names alone, of which the models of a study have the same.


@lru_cache(maxsize=1 << 12)
def _some_admitted(output: Output, table: str, name: str) -> bool:
    """Whether a quantity of an item may be recorded; its name is of no account where there are no patterns."""
    group = GROUPS.get(table)
    return group is None or any(output.admits(f"{table}/{name}/{word}") for word in group.quantities())


@lru_cache
def _beyond_motion(output: Output, items: tuple[tuple[str, str], ...]) -> bool:
    """Whether a quantity of these items, kind and name, is recorded that is not of motion alone."""
    paths = (
        f"{kind}/{name}/{word}"
        for kind, name in items
        for word in set(GROUPS[kind].quantities()).difference(MOTION.get(kind, ()))
    )
    return any(map(output.admits, paths))


@lru_cache
def _deformation(output: Output, items: tuple[tuple[str, str], ...]) -> bool:
    """Whether a deformation of these items, kind and name, may be recorded."""
    paths = (f"{kind}/{name}/{word}" for kind, name in items for word in DEFORMATION.get(kind, ()))
    return any(map(output.admits, paths))


@lru_cache
def _check(output: Output, items: tuple[tuple[str, str], ...], appendages: tuple[str, ...]) -> None:
    paths = list(_paths(items, appendages))
    names = sorted({part for path in paths for part in ("/".join(path.split("/")[1:]), path.split("/")[1])})
    problems = [
        Problem(
            ("run", "output", word),
            f"{pattern!r} belongs to no quantity that this model records{nearest(pattern.replace('.', '/'), names)}; "
            f"a pattern is such as {paths[0]!r}, {names[0]!r} or '*/position'",
        )
        for word, pattern in output.unmatched(paths)
    ]
    if problems:
        raise ModelError(*problems)


def _paths(items: tuple[tuple[str, str], ...], appendages: tuple[str, ...]) -> Iterator[str]:
    """The paths of the quantities that items may have; ``time`` and the audit are always recorded."""
    for kind, name in (*items, *(("appendages", name) for name in appendages)):
        if kind != "audit":
            words = (word for word, quantity in GROUPS[kind].quantities().items() if DERIVED not in quantity.meaning)
            yield from (f"{kind}/{name}/{word}" for word in words)


def _single(array: Floats) -> Any:
    return array.astype(np.float32) if array.dtype == np.float64 else array
