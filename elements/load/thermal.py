"""Thermal load: uniform or one-sided heating of a beam."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import Floats, Pair, Strains, Unit
from femb.elements.item import Item
from femb.elements.load.load import LoadResults
from femb.elements.marker import Place
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses
from femb.profiles import Constant, Profile


@dataclass(frozen=True, eq=False)
class ThermalLoad(Item):
    """Heating along a beam: the stress depends on the strain minus the strain of the free, heated beam.

    beam : its name. temperature : mean over the section, K above the temperature of the stress-free reference shape.
    gradient : of the temperature along the section's y and z axes, K/m. Both take the ``expansion`` of the beam's
    section (1/K): the free beam has the axial strain expansion times temperature and bends away from its warmer side,
    with the radius 1/(expansion times gradient).
    strain : instead of both, the strain of the free beam: axial strain, twist and curvatures about y and z (1/m).
    profile : factor of the load, a Profile of femb.profiles or any callable of time.

    Several loads on one beam are added. In the energy audit, the action of the heating on the structure is work, and
    the potential energy is that of the stress. Material damping depends on the rate of the total strain: the
    deformation of a damped beam follows its temperature with a delay of the damping time.

    Raises ModelError: no temperature, gradient or strain; strain with one of the others; section without expansion.
    Source: docs/theory/beam_loads.md, equations (1) to (5).
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "thermal"
    results: ClassVar[type[Group]] = LoadResults

    name: str
    beam: str
    temperature: Annotated[float | None, Unit("K")] = None
    gradient: Annotated[Pair | None, Unit("K/m")] = None
    strain: Strains | None = None
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        heated = [name for name in ("temperature", "gradient") if getattr(self, name) is not None]
        if not heated and self.strain is None:
            check.fail("temperature", "neither temperature, gradient nor strain is given")
        if heated and self.strain is not None:
            check.fail("strain", f"given beside {heated[0]!r}, which says the strain: give it in a load of its own")

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """None: the stresses of a beam are in equilibrium."""
        return ()

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """Its beam."""
        return {(): Place(beam=self.beam)}

    def free_strain(self, expansion: float | None) -> Floats:
        """(4,) axial strain, twist and curvatures of the free beam, for a profile of one."""
        if self.strain is not None:
            return np.array(self.strain)
        y, z = self.gradient if self.gradient is not None else (0.0, 0.0)
        # curvatures cause the strain z kappa_2 - y kappa_3 in a fibre at (y, z)
        return (expansion or 0.0) * np.array([self.temperature or 0.0, 0.0, z, -y])

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Nothing to declare. Raises ModelError if a section of the beam has no expansion."""
        without = [each for each in model.beams[self.beam].sections_along(model) if each.expansion is None]
        if self.strain is None and without:
            section = without[0]
            word = "temperature" if self.temperature is not None else "gradient"
            raise ModelError.at(
                ("loads", self.name, word),
                f"needs the expansion (1/K) of the section {section.name!r} of beam {self.beam!r}: give it there",
            )

    @staticmethod
    def batches(items: list["ThermalLoad"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all thermal loads, but those on beams that carry their loads themselves."""
        from femb.elements.load.thermal_batch import ThermalBatch

        others = [load for load in items if not model.beams[load.beam].carries_loads]
        return [ThermalBatch(others, layout, model)] if others else []
