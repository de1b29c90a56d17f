"""Distributed load: a force and a moment per length along a beam."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import Floats, Numbers, OneOf, Rows, Unit
from femb.base.values import as_numbers, finite_problem, frozen_array, order_problem, shown
from femb.elements.item import Item
from femb.elements.load.load import LoadResults
from femb.elements.marker import Place
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView
from femb.profiles import Constant, Profile

SHAPES = ((3,), (1, 3), (2, 3), (3, 3))


@dataclass(frozen=True, eq=False)
class DistributedLoad(Item):
    """A force (N/m) and/or torque (N m/m) per unstretched length along a beam.

    beam : its name. force, torque : three numbers for a uniform load; two such rows, at the start and at the end, for a
    linear load; or three, at the start, the middle and the end, for a quadratic load. In Python also a function
    ``s -> (3,)`` of the length (m) from the start.
    stations : lengths (m) from the start of the beam, in ascending order, with a row of force and of torque for each of
    them; the load is linear between two stations, and zero before the first and after the last.
    frame : "inertial", or "body" for components in the axes of the section, with which the load rotates (a pressure, a
    drag along the beam). profile : factor of the load, a Profile of femb.profiles or any callable of time.

    The interpolation of the element gives the forces on the nodes. Loads of constant direction are integrated exactly
    up to quadratic ones, others with three Gauss points per element: put nodes where a load jumps or bends.

    Raises ModelError: no force or torque, not one to three rows of three numbers, or not one for each station, stations
    out of order or beyond the beam, unknown frame.
    Source: docs/theory/beam_loads.md, equations (6) to (12).
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "distributed"
    results: ClassVar[type[Group]] = LoadResults

    name: str
    beam: str
    force: Annotated[Rows, Unit("N/m")] = None
    torque: Annotated[Rows, Unit("N")] = None
    frame: Annotated[str, OneOf(("inertial", "body"))] = "inertial"
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    stations: Annotated[Numbers, Unit("m")] = None

    def check(self, check: Checks) -> None:
        if self.force is None and self.torque is None:
            check.fail("force", "neither force nor torque is given")
        self._check_stations(check)
        if "stations" in check.bad:
            return
        shapes: tuple[tuple[int, ...], ...] = SHAPES
        wanted = "three numbers, or two or three rows of three numbers; more rows need 'stations'"
        if self.stations is not None:
            shapes = ((len(self.stations), 3),)
            wanted = f"a row of three numbers for each of {len(self.stations)} stations"
        for name in ("force", "torque"):
            value = getattr(self, name)
            if callable(value) and self.stations is not None:
                check.fail(
                    name, "a function given beside 'stations': give rows of three numbers, or leave out 'stations'"
                )
            if value is None or callable(value):
                continue
            rows = check.array(name, lambda x: x.shape in shapes and bool(np.isfinite(x).all()), wanted)
            if rows is not None:
                object.__setattr__(self, name, frozen_array(rows.reshape(-1, 3)))

    def _check_stations(self, check: Checks) -> None:
        if self.stations is None or "stations" in check.bad:
            return
        stations = as_numbers(self.stations)
        if stations is None or stations.ndim != 1 or len(stations) < 2:
            check.fail("stations", f"got {shown(self.stations)}, wanted two or more lengths from the start, m")
            return
        if problem := finite_problem(self.stations, stations) or order_problem(stations):
            check.fail("stations", problem)
        object.__setattr__(self, "stations", frozen_array(stations))

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """Its beam."""
        return {(): Place(beam=self.beam)}

    def values(self, s: Floats, length: float) -> Floats:
        """Force and torque (n, 6) per length at the lengths s (n,) from the start of a beam of that length."""
        values, stations = [], self.stations
        if stations is not None and (stations[0] < -1e-9 * length or stations[-1] > (1.0 + 1e-6) * length):
            found = f"got stations from {stations[0]:.6g} to {stations[-1]:.6g} m"
            path = (self.table, self.name, "stations")
            raise ModelError.at(path, f"{found}, wanted them within 0 and {length:.6g} m, the length of the beam")
        for word, load in (("force", self.force), ("torque", self.torque)):
            try:
                values.append(_interpolated(load, s, length, stations))
            except Exception as error:  # of a user's function
                path, cause = (self.table, self.name, word), f"{type(error).__name__}: {error}"
                raise ModelError.at(path, f"fails along the beam: {cause}; wanted three numbers") from error
        return np.hstack(values)

    @staticmethod
    def batches(items: list["DistributedLoad"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all distributed loads, but those on beams that carry their loads themselves."""
        from femb.elements.load.line_load_batch import LineLoadBatch

        others = [load for load in items if not model.beams[load.beam].carries_loads]
        return [LineLoadBatch(others, layout, model)] if others else []


def _interpolated(value: Any, s: Floats, length: float, stations: Floats | None) -> Floats:
    """(n, 3) values of a function, of lines between rows at stations, or of the polynomial through equidistant rows."""
    if value is None:
        return np.zeros((len(s), 3))
    if stations is not None:
        return np.stack([np.interp(s, stations, column, 0.0, 0.0) for column in value.T], axis=-1)
    if callable(value):
        return np.array([np.broadcast_to(np.asarray(value(float(x)), dtype=float), 3) for x in s])
    x = s[:, None] / length
    rows: Sequence[Floats] = value
    if len(rows) < 3:
        return rows[0] + x * (rows[-1] - rows[0])
    start, middle, end = rows
    return (1.0 - x) * (1.0 - 2.0 * x) * start + 4.0 * x * (1.0 - x) * middle + x * (2.0 * x - 1.0) * end
