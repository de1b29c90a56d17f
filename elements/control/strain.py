"""Strain gauge: the axial strain of a fibre of a beam, or a row of recovery of a flexible body.

Source: docs/theory/controllers.md, section 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import NOT_NEGATIVE, Floats, Pair, Unit
from femb.base.values import nearest, shown
from femb.elements.beam.line import LineItem, SectionStrains
from femb.elements.control.sensor import Sensor
from femb.elements.control.signals import Rows, Signal
from femb.elements.marker import Place
from femb.elements.modal.flexible_body import FlexibleBody
from femb.elements.modal.load import ModalLoad
from femb.layout.element import OutputRows
from femb.layout.layout import Layout
from femb.layout.views import LinearPoint, ModelView, StateView


@dataclass(frozen=True, eq=False)
class StrainGauge(Sensor):
    """The strain along a beam at a point of a section, or what a row of recovery of a flexible body gives.

    The strain is gamma_11 + z kappa_2 - y kappa_3 of the fibre, heat included.

    Raises ModelError: no such beam, flexible body or row, a station that is not on the beam.
    """

    kind: ClassVar[str] = "strain"
    width: ClassVar[int] = 1
    unit: ClassVar[str] = "-"

    name: str
    beam: str | None = None
    """its name"""
    station: Annotated[float | None, Unit("m"), NOT_NEGATIVE] = None
    """length from the start of the beam"""
    point: Annotated[Pair, Unit("m")] = (0.0, 0.0)
    """y and z in the section, by default on the axis"""
    body: str | None = None
    """in place of the beam, the name of a flexible body"""
    recovery: str | None = None
    """name of a row of recovery of the flexible body, whose unit is that of the file"""
    noise: Annotated[float, Unit(""), NOT_NEGATIVE] = 0.0
    bias: Annotated[float, Unit("")] = 0.0

    def check(self, check: Checks) -> None:
        super().check(check)
        check.exactly_one("beam", "body")
        for host, word in (("beam", "station"), ("body", "recovery")):
            if getattr(self, host) is None:
                check.require(word, getattr(self, word) is None, f"but it is on no {host}")
            elif getattr(self, word) is None and word not in check.bad:
                check.fail(word, f"is missing: the place on the {host}")

    @property
    def markers(self) -> Mapping[tuple[str, ...], Place]:
        return {(): Place(beam=self.beam)} if self.beam is not None else {}

    def truth(self, layout: Layout, model: ModelView) -> Signal:
        return self._of_beam(layout, model) if self.beam is not None else self._of_body(layout, model)

    def true_rows(self, point: LinearPoint) -> OutputRows:
        """The rows of the strain, also by what heats the beam or body."""
        system, n_v, by_input = point.system, len(point.v), np.zeros((1, len(point.u)))
        places = {given.label: part.start for given, part in system.inputs.parts}
        if self.beam is None:
            for load, size in self._held(system.model):
                by_input[0, places[f"loads.{load.name}"]] = size
            return replace(super().true_rows(point), inputs=by_input)
        strains = self.strains(system.layout, system.model)
        columns = [places[each.label] for each in strains.inputs]
        by_input[0, columns] = self._fibre @ strains.by_heat(point.q, n_v)
        pose = (self._fibre @ strains.rows(point.u[columns], point.q, n_v))[None]
        return OutputRows(self.unit, pose, inputs=by_input, components=())

    @property
    def _fibre(self) -> Floats:
        """(4,) the factors of axial strain, twist and curvatures in its strain."""
        y, z = np.asarray(self.point, dtype=float)
        return np.array([1.0, 0.0, z, -y])

    def strains(self, layout: Layout, model: ModelView) -> SectionStrains:
        """The strains of its section. Raises ModelError: a station that is not on the beam."""
        beam: LineItem = model.beams[str(self.beam)]
        station, length = float(self.station or 0.0), beam.shape.length
        if station > length * (1.0 + 1e-9):
            text = f"got {station:g} m, wanted from 0 to {length:g} m, the length of beam {beam.name!r}"
            raise ModelError.at((self.table, self.name, "station"), text)
        return beam.section_strains(layout, model, min(station, length))

    def _of_beam(self, layout: Layout, model: ModelView) -> Signal:
        strains, fibre = self.strains(layout, model), self._fibre

        def value(state: StateView, discrete: Mapping[str, Floats]) -> Floats:
            return np.atleast_1d(fibre @ strains.of(strains.heat(state.time), state.q, np.zeros(len(state.v))))

        def rows(t: float, q: Floats, v: Floats) -> Rows:
            return (fibre @ strains.rows(strains.heat(t), q, len(v)))[None], np.zeros((1, len(v)))

        return Signal(f"beams.{self.beam}.strain", self.unit, 1, value, (), rows)

    def _held(self, model: ModelView) -> list[tuple[ModalLoad, float]]:
        """The loads of the body under which its row is not zero where nothing moves, with what it is then."""
        found = []
        for load in model.items():
            if isinstance(load, ModalLoad) and load.body == self.body:
                host, number = load.numbered(model)
                still = host.reduced.load_recovery
                if still is not None:
                    row = host.reduced.recovery_names.index(str(self.recovery))
                    found.append((load, load.size * float(still[number, row])))
        return found

    def _of_body(self, layout: Layout, model: ModelView) -> Signal:
        flexible = [item for item in model.items() if isinstance(item, FlexibleBody)]
        host = next((item for item in flexible if item.name == self.body), None)
        if host is None:
            names = [item.name for item in flexible]
            listed = ", ".join(map(repr, names)) or "none"
            text = f"got {shown(self.body)}; flexible bodies are {listed}{nearest(str(self.body), names)}"
            raise ModelError.at((self.table, self.name, "body"), text)
        try:
            recovered, by_pose = host.recovered(layout, model, str(self.recovery))
            held = self._held(model)
        except ModelError as error:
            raise ModelError.at((self.table, self.name, "recovery"), str(error)) from None

        def value(state: StateView, discrete: Mapping[str, Floats]) -> Floats:
            return np.array([recovered(state.q) + sum(size * load.profile(state.time) for load, size in held)])

        def rows(t: float, q: Floats, v: Floats) -> Rows:
            return by_pose(q)[None], np.zeros((1, len(v)))

        return Signal(f"bodies.{self.body}.recovered", self.unit, 1, value, (), rows)
