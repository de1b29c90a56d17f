"""Results of an analysis: named arrays.

The name of an array is its path in the result file, such as ``bodies/hub/position``; the full list is in
`femb.results.groups`. Groups of arrays derive further quantities (Euler angles, displacements). No dynamics is computed
here; only numpy is needed, except for files.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from femb.base.arrays import NOTHING, Arrays, Attributes, Content, ReadOnly, listing, parted, read_only, shapes_of
from femb.base.errors import ResultError, optional
from femb.base.quantity import AXES, COMPONENTS, ENDS, IN_PLANE, Group, Groups
from femb.base.types import Floats
from femb.base.values import check_frame, shown
from femb.results.groups import Audit, EventRecord, event_records, groups, table_names, tables_of, with_declarations
from femb.results.names import Named, named, short_names, unit_of, unit_of_coordinate
from femb.results.storage.file import write_content
from femb.results.storage.read import read_array_of, read_content

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

    from femb.base.html import Shown
    from femb.elements.actuator.thruster import ThrusterResults
    from femb.elements.actuator.torquer import TorquerResults
    from femb.elements.beam.results import BeamResults
    from femb.elements.body.results import BodyResults
    from femb.elements.body.tank import TankResults
    from femb.elements.control.results import ControllerResults, SensorResults
    from femb.elements.force_results import FieldResults, LoadResults, ModalDampingResults, SpringResults
    from femb.elements.joint.results import CouplingResults, DriverResults, JointResults
    from femb.elements.shell.results import HingeResults, ShellResults
    from femb.elements.wheel.reaction_wheel import WheelResults
    from femb.results import spectrum as spectra
    from femb.results.groups import AppendageResults, BudgetResults


# Results as tables of other libraries, which are imported on first use.

# Dimensions that quantities share, by the names of their places; others are named by those of their item.
DIMENSIONS = {COMPONENTS["3"]: "axis", COMPONENTS["4"]: "component", ENDS: "end", IN_PLANE: "in_plane"}


def _chosen(results: Results, names: tuple[str, ...]) -> list[Named]:
    if names:
        return [named(results, name) for name in names]
    series: Arrays = results.series
    return [
        Named(group, word, None, group[word], unit_of(group, word))
        for group in results.groups()
        for word in group.arrays
        if f"{group.path}/{word}" in series
    ]


def _labels(quantity: Named) -> list[tuple[str, ...]]:
    """The names of the components of a quantity: numbers, x, y, z of vectors, and names of coordinates of joints."""
    sizes = zip(quantity.axes, quantity.values.shape[1:], strict=True)
    return list(product(*(names or map(str, range(size)) for (_, names), size in sizes)))


# Arrays, figures, tables and spectra of quantities by name; `femb.results.names` reads the names.


class ByQuantity:
    """The part of `femb.Results` that takes names of quantities, such as ``"hub.position"``."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all quantities over time, as ``results["hub.position"]``, `plot` and others take them; a last
        .x, .y, .z or .w selects a component, and ``"boom.3.position"`` a node of a beam."""
        return tuple(short_names(self._results))

    def __getitem__(self, name: str) -> Floats:
        """(T, ...) of a quantity by name, in SI units, see `names`. Raises ResultError for unknown names."""
        return named(self._results, name).values

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.names)

    __iter__: None = None  # by their names they are no sequence

    def plot(
        self,
        *names: str,
        path: str | Path | None = None,
        items: Sequence[str] | None = None,
        frame: str | None = None,
        times: tuple[float | None, float | None] | None = None,
        spectrum: spectra.SpectrumKind | None = None,
        dpi: int = 150,
    ) -> Figure:
        """Draw quantities over time, one below another; returns the matplotlib figure, with units at its axes.

        Parameters:
            names: as ``"hub.euler_angles"`` or ``"right.tip.deflection"``, see `names`, and whatever ``femb.plot``
                takes, such as ``"tips"``; none for the overview.
            path: of a picture file to write as well, in the format of its suffix.
            items: patterns of the items to show.
            frame: the frame that the motion is relative to, see `in_frame`.
            times: first and last instant, s.
            spectrum: "psd" or "amplitude", draw that over the frequency in Hz instead, see `spectrum`.
            dpi: dots per inch of the file.

        Raises:
            ResultError: an unknown name, with the most similar ones; a file that cannot be written.
        """
        import femb  # its public names alone: what draws results is above them

        drawn = femb.figure(
            self._results, names or None, items=items, frame=frame, times=times, spectrum=spectrum, path=path, dpi=dpi
        )
        return drawn

    def to_pandas(self, *names: str) -> pandas.DataFrame:
        """Quantities over time as a pandas DataFrame with the time (s) as its index; all of them without names.

        names : as ``"hub.position"``, see `names`. Columns are ``bodies.hub.position.x``, of beams
        ``beams.boom.position.3.x`` with the number of the node, of joints ``joints.hinge.coordinates.angle``. The units
        of all columns are in ``frame.attrs["units"]``. Raises ResultError for unknown names, without pandas.
        """
        library = optional("pandas", "pandas", "pandas is not installed", ResultError)
        time = self._results.time
        columns: dict[str, Floats] = {}
        units: dict[str, str] = {}
        for quantity in _chosen(self._results, names):
            values = quantity.values.reshape(time.size, -1)
            for label, column in zip(_labels(quantity), values.T, strict=True):
                name = ".".join((quantity.path, *label))
                own = unit_of_coordinate(quantity.group, quantity.word, label[-1] if label else "")
                columns[name], units[name] = column, quantity.unit or own
        frame: pandas.DataFrame = library.DataFrame(columns, index=library.Index(time, name="time"))
        frame.attrs["units"] = units
        return frame

    def to_xarray(self, *names: str) -> xarray.Dataset:
        """Quantities over time as an xarray Dataset with units; its dimensions are time (s), axis, component and end.

        Those of an item have its name, as ``beams.boom.node``, ``beams.boom.element``, ``joints.hinge.coordinate``;
        others are named by their path. names : as in `to_pandas`. Raises ResultError for unknown names, without xarray.
        """
        library = optional("xarray", "xarray", "xarray is not installed", ResultError)
        results, variables = self._results, {}
        sizes: dict[str, int] = {}
        coordinates: dict[str, Any] = {"time": ("time", results.time, {"units": "s"} if not results.counted else {})}
        for quantity in _chosen(results, names):
            dims = []
            for k, ((letter, places), size) in enumerate(zip(quantity.axes, quantity.values.shape[1:], strict=True)):
                item = quantity.group.path.replace("/", ".")
                dim = f"{item}.{AXES[letter]}" if letter in AXES else DIMENSIONS.get(places, "")
                if not dim or sizes.setdefault(dim, size) != size:
                    dim = f"{quantity.path}.{k}"
                if places:
                    coordinates[dim] = list(places)
                dims.append(dim)
            unit = quantity.group.columns_of(quantity.word)[0]
            unit = quantity.unit if unit == "own" else unit
            variables[quantity.path] = (("time", *dims), quantity.values, {"units": unit} if unit else {})
        used = {"time", *(dim for dims, _, _ in variables.values() for dim in dims)}
        attributes = {"title": results.title, "method": results.method, "status": results.status}
        kept = {dim: x for dim, x in coordinates.items() if dim in used}
        dataset: xarray.Dataset = library.Dataset(variables, kept, attributes)
        return dataset

    def spectrum(self, name: str, kind: spectra.SpectrumKind = "psd") -> spectra.Spectrum:
        """The spectrum of a quantity: frequency (F,) Hz and values (F, ...).

        ``results.plot(name, spectrum=kind)`` draws it. Source: scipy.signal.periodogram.

        Parameters:
            name: as ``"hub.angular_velocity"``, see `names`.
            kind: "psd", the one-sided power spectral density with Hann's window and without the mean, in the unit's
                square per Hz; or "amplitude", that of each sine, in the unit itself.

        Raises:
            ResultError: output times without equal intervals, an unknown name.
        """
        from femb.results.spectrum import spectrum_of

        return spectrum_of(self._results.time, self[name], kind, name)

    def show(self, *, height: int = 820, frames: int = 600) -> Shown:
        """The page of ``femb report`` for a notebook, inline where this is the last value of a cell, as in
        ``femb.show(results)``.

        Parameters:
            height: in pixels.
            frames: largest number of output times of the animation.

        Raises:
            ResultError: nothing to show.
        """
        import femb  # its public names alone: what shows results is above them

        return femb.show(self._results, height=height, frames=frames)

    @property
    def _results(self) -> Results:
        return cast("Results", self)


# Results at a glance: their text and their table in a notebook.

UNDISPLACED = "undisplaced/"  # beginning of the paths of the constant arrays of `Results.undisplaced`
LARGEST = (("energy error", "energy_error", " J"), ("constraint violation", "constraint_position", ""))


def parts_of(results: Results) -> list[str]:
    """Status and times, the names of items by kind, and the largest errors of the audit."""
    time = results.time
    times = f"{time.size} times {time[0]:g} to {time[-1]:g} s" if time.size else "no times"
    times = f"{results.counted}s {time[0]:g} to {time[-1]:g}" if time.size and results.counted else times
    kinds: dict[str, Groups[Any]]
    kinds = {"bodies": results.bodies, "beams": results.beams, "shells": results.shells, "joints": results.joints}
    kinds["drivers"] = results.drivers
    parts = [f"{results.status or 'no status'}, {times}"]
    parts += [f"{kind}: {listing(groups, 6)}" for kind, groups in kinds.items() if groups]
    for label, name, unit in LARGEST:
        if name in results.audit and time.size:
            parts.append(f"largest {label} {np.max(np.abs(results.audit[name])):.2g}{unit}")
    return parts


class Results(ByQuantity):
    """The results of one run, read-only.

    ``arrays`` has all arrays by path, including those without an attribute of this class.

    Parameters:
        series: by path, arrays (T, ...) over time in SI units, with the T rows of ``"time"``, s.
        static: by path, constant arrays, such as (3,) or (n, 3): start shapes, modes, matrices, in SI units.
        attributes: of groups by path; ``""`` is the root: femb_version, case, method, status, message.

    Raises:
        ResultError: the number of rows of a series differs from that of ``"time"``.
    """

    def __init__(self, series: Arrays, static: Arrays = NOTHING, attributes: Attributes = NOTHING) -> None:
        static, self._kept = parted(static)
        self.series, self.static = read_only(series), read_only(static)
        self.attributes: Attributes = ReadOnly({path: ReadOnly(dict(values)) for path, values in attributes.items()})
        self.arrays: Arrays = ReadOnly(ChainMap(self.series, self.static))  # type: ignore[arg-type]
        times = self.time.shape
        for path, shape in shapes_of(self.series).items():
            if shape[:1] != times:
                raise ResultError(
                    f"{path}: shape {shape}, but there are {times[0]} output times; the first axis must be time"
                )

    if TYPE_CHECKING:
        # The tables of the catalogue, so that type checkers see wrong names; others are found by ``getattr``.
        appendages: Groups[AppendageResults]
        beams: Groups[BeamResults]
        bodies: Groups[BodyResults]
        budget: Groups[BudgetResults]
        controllers: Groups[ControllerResults]
        couplings: Groups[CouplingResults]
        drivers: Groups[DriverResults]
        fields: Groups[FieldResults]
        hinges: Groups[HingeResults]
        joints: Groups[JointResults]
        loads: Groups[LoadResults]
        magnetic_torquers: Groups[TorquerResults]
        modal_damping: Groups[ModalDampingResults]
        sensors: Groups[SensorResults]
        shells: Groups[ShellResults]
        springs: Groups[SpringResults]
        tanks: Groups[TankResults]
        thrusters: Groups[ThrusterResults]
        wheels: Groups[WheelResults]
    else:

        def __getattr__(self, name: str) -> Groups[Any]:
            """The groups of a table by name, made on first use: of a large model with many arrays few are asked for."""
            kind = None if name.startswith("_") else self._kind_of(name)
            if kind is None:
                there = f"; it has the tables {', '.join(self.tables)}" if not name.startswith("_") else ""
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{there}")
            found: Groups[Any] = Groups(name, kind, self.arrays, self.attributes, self.series)
            self.__dict__[name] = found
            return found

    @property
    def _declares(self) -> bool:
        """Whether the file declares quantities of items of other packages, which are looked for only then."""
        return "declared" in self.attributes.get("", NOTHING)

    @cached_property
    def _others(self) -> dict[str, type[Group]]:
        """The kinds of groups that the file declares, of items that are not known here."""
        declared = self.attributes.get("", NOTHING).get("declared")
        return {} if declared is None else with_declarations(groups(), declared)

    @cached_property
    def present(self) -> list[str]:
        """The tables of the items that these results have, in the order of the catalogue."""
        names = table_names(others=self._declares)
        known = {*names, *self._others} - {"audit"}
        found = tables_of((*self.arrays, *self.attributes), names)
        # items that nothing is known of have quantities over time
        others = set(tables_of((path for path in self.series if path.count("/") == 2), names))
        others -= {*vars(self), *dir(Results)}
        return [table for table in found if table in known | others]

    def of_table(self, table: str) -> Mapping[str, Group]:
        """The items of a table by name; none of a table that is not present, whose classes stay unloaded."""
        found: Mapping[str, Group] = getattr(self, table) if table in self.present else {}
        return found

    def _kind_of(self, table: str) -> type[Group] | None:
        """The kind of the groups of a table; plain groups of items that nothing is known of; None of no table."""
        found = self._others.get(table) or groups(others=self._declares).get(table)
        return Group if found is None and table in self.present else found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tables]

    @cached_property
    def audit(self) -> Audit:
        """The audit of the run."""
        return Audit("audit", self.arrays, self.attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with all arrays, including those not yet read from a file."""
        attributes = {path: dict(values) for path, values in self.attributes.items()}
        return Results, (dict(self.series), {**self.static, **self._kept}, attributes)

    @property
    def time(self) -> Floats:
        """(T,) s: the output times; may be empty."""
        return self.series["time"] if "time" in self.series else np.zeros(0)

    @property
    def counted(self) -> str:
        """Name of what the output times count: "state" of statics, "mode" of modes; empty where they are times in s."""
        return "state" if self.method == "static" else "mode" if "modes/frequencies" in self.arrays else ""

    def instants(self, times: Iterable[float], form: str = "g") -> list[str]:
        """Output times as words: "0.5 s", "state 3", "mode 2", "unloaded"; form : of a number of seconds."""
        counted = [f"{self.counted} {time:g}" if self.counted else f"{time:{form}} s" for time in times]
        return ["unloaded" if words == "mode 0" else words for words in counted]

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

    def without(self, times: Floats) -> Results:
        """The results without some output times (s)."""
        rows = ~np.isin(self.time, times)
        return Results({name: self.series[name][rows] for name in self.series}, self.static, self.attributes)

    @property
    def undisplaced(self) -> Results:
        """The instant that displacements count from: of modes the state about which they vibrate, else the first."""
        state = {name.removeprefix(UNDISPLACED): self.static[name] for name in self.static if UNDISPLACED in name}
        if not state:
            return self
        others = {name: self.static[name] for name in self.static if UNDISPLACED not in name}
        return Results({"time": np.zeros(1), **{k: x[None] for k, x in state.items()}}, others, self.attributes)

    def in_frame(self, frame: str) -> Results:
        """The results with the motion of bodies and beams relative to a moving frame.

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
        check_frame(frame)
        from femb.results.view import INERTIAL, seen_from

        return self if frame == INERTIAL else Results(*seen_from(self, frame))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a result file, also of a run that is in progress, failed or was killed; or the folder of a run.

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

        Parameters:
            path: of the file.
            name: a path such as ``"bodies/hub/position"``, or of one node or element of a beam
                ``"beams/boom[500]/position"``, (T, 3), of which only its own part of the file is read.

        Raises:
            ResultError: as `read`, and no such array, node or element.
        """
        return read_array_of(path, name)

    def write(self, path: str | Path) -> None:
        """Write the result file; `read` gives the same results back, and a run can start from the last state of one.

        An existing file is replaced once the new one is complete. Raises ResultError where it cannot be written.
        """
        write_content(Content(self.series, {**self.static, **self._kept}, self.attributes), path)

    def _check_shapes(self) -> None:
        """Raise ResultError where a quantity of a group has not the shape that its class declares, or no numbers."""
        for group in self.groups():
            sizes: dict[str, int] = {"T": self.time.size}
            for name, array in group.arrays.items():
                quantity = group.quantities().get(name)
                if quantity is not None and not quantity.admits(array, sizes, strict=group.of_nodes):
                    raise ResultError(f"{group.path}/{name}: shape {array.shape}, expected {quantity.shape}")

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of items, such as "bodies", also those that these results have no items of."""
        return tuple(table for table in dict.fromkeys((*groups(), *self._others, *self.present)) if table != "audit")

    def groups(self) -> Iterator[Group]:
        """The groups of all items, table by table, and the audit."""
        for kind in self.present:
            yield from getattr(self, kind).values()
        yield self.audit

    def _repr_html_(self) -> str:
        from femb.base.html import table

        status, *parts = parts_of(self)
        found = [(name, text) for name, _, text in (part.partition(": ") for part in parts)]
        return table(self.title or "Results", [("status", status), ("method", self.method), *found])

    def __repr__(self) -> str:
        return f"<Results: {'; '.join(parts_of(self))}>"


def results_of(given: Results | str | Path) -> Results:
    """The results that a function was given, as themselves or by the path of a file or of its folder.

    Raises ResultError, which names all else.
    """
    if isinstance(given, str | Path):
        return Results.read(given)
    if not isinstance(given, Results):
        raise ResultError(f"got {shown(given)}, wanted femb.Results or the path of a result file")
    return given
