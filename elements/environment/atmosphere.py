"""The atmosphere of a central body: its density by altitude, and its rotation.

Source: docs/theory/actuators.md, equation (10a).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError, SolveError
from femb.base.profile import columns_of
from femb.base.quantity import Group
from femb.base.types import POSITIVE, Floats, Numbers, Unit
from femb.base.values import frozen_array
from femb.elements.environment.field import EARTH_ROTATION
from femb.elements.environment.orbital_frame import OrbitalMotion, motion_of, orbital_motion
from femb.elements.force_results import AtmosphereResults
from femb.elements.item import Item
from femb.elements.records import RecordedSystem, Records
from femb.layout.layout import Layout
from femb.layout.views import ModelView, OutputStates, StartPoses
from femb.numerics.orbits import EARTH_RADIUS

FORMULA, TABLE = ("density", "altitude", "scale_height"), ("altitudes", "densities")


@dataclass(frozen=True, eq=False)
class Atmosphere(Item):
    """The density of thin air by altitude along the orbit, for drag without a density of its own, and its rotation.

    The model has an orbit or a gravity gradient.

    Raises ModelError: numbers that are not positive, neither a formula nor a table or both, altitudes that do not rise,
    no orbit, a second atmosphere. SolveError: an altitude outside of the table. Source: docs/theory/actuators.md,
    equation (10a).
    """

    table: ClassVar[str] = "fields"
    kind: ClassVar[str] = "atmosphere"
    results: ClassVar[type[Group]] = AtmosphereResults

    name: str
    density: Annotated[float | None, Unit("kg/m3"), POSITIVE] = None
    """at the ``altitude``"""
    altitude: Annotated[float | None, Unit("m")] = None
    """above the radius"""
    scale_height: Annotated[float | None, Unit("m"), POSITIVE] = None
    """over which the density falls by e"""
    altitudes: Annotated[Numbers | None, Unit("m")] = None
    """in place of these, a table, whose logarithms are interpolated"""
    densities: Annotated[Numbers | None, Unit("kg/m3")] = None
    """at the altitudes"""
    file: str | None = None
    """in place of both a table (.csv), with the columns altitude (m) and density
    (kg/m3)"""
    radius: Annotated[float, Unit("m"), POSITIVE] = EARTH_RADIUS
    """of the central body, above which altitudes are"""
    rotation: Annotated[float, Unit("rad/s")] = EARTH_ROTATION
    """of the air about the inertial z axis; by default that of the Earth"""

    def check(self, check: Checks) -> None:
        if check.bad:
            return
        formula = [word for word in FORMULA if getattr(self, word) is not None]
        table = [word for word in ("file", *TABLE) if getattr(self, word) is not None]
        if formula and table:
            check.fail(formula[0], f"is given beside {table[0]}: give a formula or a table")
        elif table:
            self._check_table(check)
        elif len(formula) < len(FORMULA):
            missing = next(word for word in FORMULA if word not in formula)
            check.fail(missing, "is missing: give density, altitude and scale_height, or altitudes and densities")

    def _check_table(self, check: Checks) -> None:
        if self.file is not None:
            try:
                columns = columns_of(self.file, 2)
            except ModelError as error:
                check.fail("file", str(error))
                return
            for word, values in zip(TABLE, columns, strict=True):
                if getattr(self, word) is not None and not np.array_equal(getattr(self, word), values):
                    check.fail(word, "given beside 'file', which has them: give one of them")
                object.__setattr__(self, word, frozen_array(np.array(values)))
        missing = [word for word in TABLE if getattr(self, word) is None]
        if missing:
            check.fail(missing[0], "is missing: give altitudes and densities, or a file")
            return
        check.numbers(*TABLE)
        if check.bad:
            return
        altitudes, densities = self._columns
        check.require("altitudes", len(altitudes) > 1, "wanted at least 2")
        check.require("altitudes", np.all(np.diff(altitudes) > 0.0), "must rise from each to the next")
        same = len(densities) == len(altitudes)
        check.require("densities", same, f"got {len(densities)}, wanted {len(altitudes)}, one an altitude")
        check.require("densities", np.all(densities > 0.0), "must be above 0")

    @cached_property
    def _columns(self) -> tuple[Floats, Floats]:
        return np.asarray(self.altitudes, dtype=float), np.asarray(self.densities, dtype=float)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Nothing; the model must have an orbit, and no other atmosphere."""
        motion_of(model, (self.table, self.name), "has a density by altitude")
        first = next(item for item in model.items() if isinstance(item, Atmosphere))
        if first is not self:
            raise ModelError.at((self.table, self.name), f"is a second atmosphere beside {first.name!r}: give one")

    def density_at(self, position: Any) -> tuple[Floats, Floats]:
        """Densities (...) kg/m3, and their slopes (..., 3) kg/m4, at a position (..., 3) m from the centre of the body.

        Raises SolveError: an altitude outside of the table.
        """
        from femb.elements.environment.density import densities

        shape = np.shape(position)
        places = np.ascontiguousarray(position, dtype=float).reshape(-1, 3)
        values, slopes = np.empty(len(places)), np.empty(places.shape)
        self.check_distance(densities(self.levels, places, values, slopes))
        return values.reshape(shape[:-1]), slopes.reshape(shape)

    @cached_property
    def levels(self) -> Floats:
        """(m, 3) of ``femb.elements.environment.density``."""
        if self.density is not None:
            assert self.altitude is not None
            assert self.scale_height is not None
            return np.array([[self.radius + self.altitude, np.log(self.density), -1.0 / self.scale_height]])
        altitudes, densities = self._columns
        slopes = np.diff(np.log(densities)) / np.diff(altitudes)
        return np.column_stack([self.radius + altitudes, np.log(densities), [*slopes, 0.0]])

    def check_distance(self, distance: int) -> None:
        """Raise SolveError for the distance (m) outside of the table that a kernel returned, unless it is -1."""
        if distance >= 0:
            altitudes, _ = self._columns
            raise SolveError(
                f"{self.table}.{self.name}: got the altitude {distance - self.radius:.6g} m, but the table is from "
                f"{altitudes[0]:.6g} to {altitudes[-1]:.6g} m: give a longer table"
            )

    @staticmethod
    def records(items: list["Atmosphere"], system: RecordedSystem) -> Records:
        motion = orbital_motion(system.model)
        assert motion is not None

        def series(frames: OutputStates) -> dict[str, Floats]:
            places = np.array([motion(t)[0] for t in frames.time.tolist()]).reshape(-1, 3)
            return {f"fields/{item.name}/density": item.density_at(places)[0] for item in items}

        return Records(series=series, motion=series)


def stream(motion: OrbitalMotion, t: float, rotation: float) -> Floats:
    """(3,) m/s the velocity of air that turns about the inertial z axis, relative to the origin of the model's frame.

    rotation : rad/s.
    """
    position, velocity, _ = motion(t)
    turning: Floats = np.cross((0.0, 0.0, rotation), position)
    return turning - velocity


def atmosphere_of(model: ModelView, path: tuple[str, ...]) -> tuple[Atmosphere, Callable[[float], Floats]]:
    """The atmosphere of a model, and a function of the time (s): the wind (3,) m/s relative to the origin of the
    model's frame and the place (3,) m of this origin.

    Raises ModelError, at the path of an item without a density: there is none.
    """
    found = next((item for item in model.items() if isinstance(item, Atmosphere)), None)
    motion = orbital_motion(model)
    if found is None or motion is None:
        raise ModelError.at(
            (*path, "density"), "is missing: give it, or an atmosphere, [fields.air] of the kind 'atmosphere'"
        )
    return found, lambda t: np.concatenate([stream(motion, t, found.rotation), motion(t)[0]])
