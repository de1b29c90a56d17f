"""Results of an analysis: named arrays.

The name of an array is its path in the result file, such as ``bodies/hub/position``; the full list is in
`femb.results.groups`. Groups of arrays derive further quantities (Euler angles, displacements). No dynamics is computed
here; only numpy is needed, except for files.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from femb.base.arguments import check_text
from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.results.arrays import NOTHING, Arrays, Attributes, Content, ReadOnly, read_only, shapes_of
from femb.results.beam import Beam
from femb.results.by_name import ByQuantity
from femb.results.file import write_content
from femb.results.groups import (
    Appendage,
    Audit,
    Body,
    Driver,
    EventRecord,
    Joint,
    Load,
    ModalDamping,
    Spring,
    event_records,
)
from femb.results.quantity import Group, Groups
from femb.results.read import read_content
from femb.results.read_one import read_array_of
from femb.results.summary import html_of, parts_of
from femb.results.view import INERTIAL, seen_from


class Results(ByQuantity):
    """The results of one run, read-only.

    Parameters
    ----------
    series : mapping of path to (T, ...) array
        Arrays over time in SI units, with the T rows of ``"time"``, s.
    static : mapping of path to array
        Constant arrays, such as (3,) or (n, 3): start shapes, modes, matrices, in SI units.
    attributes : mapping of group path to attributes
        ``""`` is the root: femb_version, case, method, status, message.

    ``arrays`` has all arrays by path, including those without an attribute of this class.
    Raises ResultError where the number of rows of a series differs from that of ``"time"``.
    """

    def __init__(self, series: Arrays, static: Arrays = NOTHING, attributes: Attributes = NOTHING) -> None:
        self.series, self.static = read_only(series), read_only(static)
        self.attributes: Attributes = ReadOnly({path: ReadOnly(dict(values)) for path, values in attributes.items()})
        self.arrays: Arrays = ReadOnly(ChainMap(self.series, self.static))  # type: ignore[arg-type]
        times = self.time.shape
        for path, shape in shapes_of(self.series).items():
            if shape[:1] != times:
                raise ResultError(
                    f"{path}: shape {shape}, but there are {times[0]} output times; the first axis must be time"
                )

    # The groups of each kind, made on first use: of a large model with many arrays few kinds are asked for.

    @cached_property
    def bodies(self) -> Groups[Body]:
        """The rigid bodies, point masses and flexible bodies, by name."""
        return Groups("bodies", Body, self.arrays, self.attributes)

    @cached_property
    def beams(self) -> Groups[Beam]:
        """The beams, by name."""
        return Groups("beams", Beam, self.arrays, self.attributes, self.series)

    @cached_property
    def joints(self) -> Groups[Joint]:
        """The joints, by name."""
        return Groups("joints", Joint, self.arrays, self.attributes)

    @cached_property
    def drivers(self) -> Groups[Driver]:
        """The drivers, by name."""
        return Groups("drivers", Driver, self.arrays, self.attributes)

    @cached_property
    def springs(self) -> Groups[Spring]:
        """The springs, by name."""
        return Groups("springs", Spring, self.arrays, self.attributes)

    @cached_property
    def loads(self) -> Groups[Load]:
        """The loads, by name."""
        return Groups("loads", Load, self.arrays, self.attributes)

    @cached_property
    def appendages(self) -> Groups[Appendage]:
        """The appendages, by name."""
        return Groups("appendages", Appendage, self.arrays, self.attributes, self.series)

    @cached_property
    def modal_damping(self) -> Groups[ModalDamping]:
        """The modal damping, by name."""
        return Groups("modal_damping", ModalDamping, self.arrays, self.attributes)

    @cached_property
    def audit(self) -> Audit:
        """The audit of the run."""
        return Audit("audit", self.arrays, self.attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with all arrays, including those not yet read from a file."""
        attributes = {path: dict(values) for path, values in self.attributes.items()}
        return Results, (dict(self.series), dict(self.static), attributes)

    @property
    def time(self) -> Floats:
        """(T,) s: the output times; may be empty."""
        return self.series["time"] if "time" in self.series else np.zeros(0)

    @property
    def events(self) -> tuple[EventRecord, ...]:
        """The events of the run in order of time: latches, and the requested events; empty until the run has ended."""
        return event_records(self.static)

    @property
    def statistics(self) -> Mapping[str, Any]:
        """Steps, evaluations, factorizations, wall_time ... of the run; empty until it has ended."""
        return self.attributes.get("statistics", NOTHING)

    @property
    def status(self) -> str:
        """``"running"`` (also of a run that was killed), ``"complete"`` or ``"failed"``."""
        return str(self._root("status"))

    @property
    def message(self) -> str:
        """Why the run stopped, where it failed."""
        return str(self._root("message"))

    @property
    def method(self) -> str:
        """Name of the stepper."""
        return str(self._root("method"))

    @property
    def method_reason(self) -> str:
        """Why femb chose the method, for ``method = "auto"``; else empty."""
        return str(self._root("method_reason"))

    @property
    def case(self) -> str:
        """Text of the case file, empty for a model written in Python."""
        return str(self._root("case"))

    def _root(self, name: str) -> Any:
        return self.attributes.get("", NOTHING).get(name, "")

    @property
    def title(self) -> str:
        """Title of the model; may be empty."""
        return str(self._root("title"))

    @property
    def frame(self) -> str:
        """The frame that bodies and beams are seen from, see `in_frame`."""
        return str(self._root("frame") or "inertial")

    def in_frame(self, frame: str) -> "Results":
        """The same results with the motion of bodies and beams relative to a moving frame.

        frame : the name of a body; a beam's node as ``"NAME[NODE]"``, with the axes of its section; or
            ``"inertial"``, for these results themselves.

        For all bodies and beams, positions and velocities are relative to the moving frame and in its axes, quaternions
        are to its axes, angular velocities are relative to it and in the axes of the body or section. Accelerations
        are the rates of these; they are omitted if the results do not contain those of the frame. ``displacement`` is
        from the start configuration fixed in the frame: undeformed, its joints at their start coordinates. For beams,
        ``deflection`` is the same and thus includes all bending and rotation between the frame and the node, also of
        joints; ``rotation`` is the node's rotation from that configuration. All other quantities, such as those of
        joints, loads and the audit, are unchanged.

        Raises ResultError for an unknown frame.
        """
        check_text("frame", frame, "the name of a body, or of a beam's node as 'NAME[NODE]'", ResultError)
        return self if frame == INERTIAL else Results(*seen_from(self, frame))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a result file, also of a run that is in progress, failed or was killed.

        If ``path`` does not exist, the file of the unfinished run is read, ``path`` with ``.part`` appended.
        Raises ResultError where there is no such file, or it is damaged or not a result file.
        """
        content = read_content(path)
        try:
            results = cls(*content)
            results._check_shapes()
        except ResultError as error:
            raise ResultError(f"{path}: {error}") from error
        return results

    @staticmethod
    def read_array(path: str | Path, name: str) -> np.ndarray:
        """One array of a result file, without reading the others.

        name : a path such as ``"bodies/hub/position"``, or of one node or element of a beam
        ``"beams/boom[500]/position"``, (T, 3), of which only its own part of the file is read.
        Raises ResultError as `read`, and where there is no such array, node or element.
        """
        return read_array_of(path, name)

    def write(self, path: str | Path) -> None:
        """Write the result file; `read` gives the same results back.

        An existing file is replaced once the new one is complete. Raises ResultError where it cannot be written.
        """
        write_content(Content(self.series, self.static, self.attributes), path)

    def _check_shapes(self) -> None:
        """Raise ResultError where a quantity of a group has not the shape that its class declares, or no numbers."""
        for group in self.groups():
            sizes: dict[str, int] = {"T": self.time.size}
            for name, array in group.arrays.items():
                quantity = group.quantities().get(name)
                if quantity is not None and not quantity.admits(array, sizes, strict=group.of_nodes):
                    raise ResultError(f"{group.path}/{name}: shape {array.shape}, expected {quantity.shape}")

    def groups(self) -> Iterator[Group]:
        """The groups of all items, kind by kind, and the audit."""
        kinds: list[Groups[Any]] = [self.bodies, self.beams, self.joints, self.drivers, self.springs, self.loads]
        kinds += [self.appendages, self.modal_damping]
        for kind in kinds:
            yield from kind.values()
        yield self.audit

    def _repr_html_(self) -> str:
        return html_of(self)

    def __repr__(self) -> str:
        return f"<Results: {'; '.join(parts_of(self))}>"
