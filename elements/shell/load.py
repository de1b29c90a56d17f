"""Loads per area of shells and per length of their edges, and heat.

Source: docs/theory/shell.md, section 8.
"""

from dataclasses import dataclass
from math import isnan
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import Floats, Unit, Vector
from femb.base.values import nearest
from femb.elements.force_results import LoadResults
from femb.elements.item import Item
from femb.layout.layout import Layout
from femb.layout.symmetry import EVERY, Surroundings, Symmetry, of_directions
from femb.layout.views import ModelView, StartPoses
from femb.profiles import Constant, Profile

HEAT = ("temperature", "gradient", "slope")
WORDS = ("pressure", "force", "edge_force", *HEAT)


@dataclass(frozen=True, eq=False)
class SurfaceLoad(Item):
    """A pressure or a force per area on a shell, a force per length on one of its edges, or its heating.

    Heat takes the expansion of the material or of the plies.

    Raises ModelError: no load, an edge_force without an edge, an unknown shell or edge, heat without an expansion.
    Source: docs/theory/shell.md, sections 8 and 9.
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "surface"
    results: ClassVar[type[Group]] = LoadResults
    batch: ClassVar[str] = "femb.elements.shell.load_batch:SurfaceBatch"

    name: str
    shell: str
    """its name"""
    pressure: Annotated[float | None, Unit("Pa")] = None
    """along the normal, which it follows in large rotation, on the deformed area"""
    force: Annotated[Vector | None, Unit("N/m2")] = None
    """per area of the reference surface, inertial axes"""
    edge: str | None = None
    """name of an edge, "edge1" and so on"""
    edge_force: Annotated[Vector | None, Unit("N/m")] = None
    """per length of the edge, inertial axes"""
    temperature: Annotated[float | None, Unit("K")] = None
    """of the reference surface, above that of the stress-free shell"""
    gradient: Annotated[float | None, Unit("K/m")] = None
    """of the temperature along the normal"""
    slope: Annotated[Vector | None, Unit("K/m")] = None
    """of the temperature along the axes of the geometry, from their origin on"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    """factor of the load: a profile or any function of time"""

    def check(self, check: Checks) -> None:
        if all(getattr(self, word) is None for word in WORDS):
            check.fail("pressure", f"none of {', '.join(WORDS)} is given")
        for given, missing in (("edge", "edge_force"), ("edge_force", "edge")):
            if getattr(self, given) is not None and getattr(self, missing) is None:
                check.fail(missing, f"is missing beside {given!r}")

    @property
    def heats(self) -> bool:
        """Whether it has a temperature, a gradient or a slope."""
        return any(getattr(self, word) is not None for word in HEAT)

    def heat(self, places: Floats) -> Floats:
        """(k, 2) temperature (K) and its gradient along the normal (K/m) at places (k, 3) m, axes of the geometry."""
        slope = np.zeros(3) if self.slope is None else np.asarray(self.slope)
        gradient = np.full(len(places), self.gradient or 0.0)
        return np.stack([(self.temperature or 0.0) + places @ slope, gradient], axis=1)

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """None of heat alone: its stresses are in equilibrium."""
        return () if all(getattr(self, word) is None for word in WORDS[:3]) else ("linear", "angular")

    def frames(self, layout: Layout) -> list[int]:
        return list(layout.shells[self.shell].frames)

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Motions that keep its directions in space; pressure and heat have none.
        given = [np.asarray(force) for force in (self.force, self.edge_force) if force is not None]
        symmetry = of_directions(given) if given else EVERY
        return symmetry if self.pressure is None else Symmetry(symmetry.motions, np.zeros((0, 6)))

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Nothing to declare. Raises ModelError where there is no such shell or edge, or no expansion."""
        shells = {item.name: item for item in model.items() if item.table == "shells"}
        if self.shell not in shells:
            names = ", ".join(map(repr, shells)) or "none"
            what = f"got {self.shell!r}, which is not in the model{nearest(self.shell, shells)}; shells: {names}"
            raise ModelError.at((self.table, self.name, "shell"), what)
        if self.heats and any(isnan(wall.free[0, 0]) for wall in shells[self.shell].walls):
            word = next(word for word in HEAT if getattr(self, word) is not None)
            what = f"needs the expansion (1/K) of the wall of shell {self.shell!r}: give it in its material or plies"
            raise ModelError.at((self.table, self.name, word), what)
        mesh = shells[self.shell].geometry
        if self.edge is not None and (self.edge not in mesh.sets or not len(mesh.segments(self.edge))):
            what = mesh.without(self.edge, f"shell {self.shell!r}")
            if self.edge in mesh.sets:
                what = f"got {self.edge!r}, whose nodes are not along sides of elements"
            raise ModelError.at((self.table, self.name, "edge"), what)
