"""Loads inside flexible bodies: forces on nodes, pressure and heat, by the shapes of their files.

Source: docs/theory/modal_body.md, section 8.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from femb.base.checks import Checks
from femb.base.errors import FembError, ModelError
from femb.base.quantity import Group
from femb.base.types import Unit
from femb.base.values import nearest
from femb.elements.force_results import LoadResults
from femb.elements.item import Item
from femb.elements.modal.flexible_body import FlexibleBody
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses
from femb.profiles import Constant, Profile, check_profile


@dataclass(frozen=True, eq=False)
class ModalLoad(Item):
    """A load inside a flexible body: a force on nodes, a pressure or heat of its file, by ``femb reduce --load``.

    The load turns with the root of the body and acts on its undeformed shape.

    Raises ModelError: an unknown or rigid body, or a load that its file does not have. Source:
    docs/theory/modal_body.md, section 8.
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "modal"
    turns_with_host: ClassVar[bool] = True
    results: ClassVar[type[Group]] = LoadResults

    name: str
    body: str
    """its name"""
    load: str | None = None
    """the name in the file, by default that of the item"""
    size: Annotated[float, Unit("")] = 1.0
    """N, Pa or K by the unit load of the file"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    """factor of the size: a profile or any function of time"""

    def check(self, check: Checks) -> None:
        check_profile(check)

    def frames(self, layout: Layout) -> list[int]:
        return [station.frame for station in layout.flexible_bodies[self.body].stations.values()]

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Nothing to declare. Raises ModelError where there is no such flexible body, or no such load."""
        self.numbered(model)

    def numbered(self, model: ModelView) -> tuple[FlexibleBody, int]:
        """The flexible body, and the number of the load in its file. Raises ModelError."""
        bodies = {item.name: item for item in model.items() if isinstance(item, FlexibleBody)}
        if self.body not in bodies:
            names = ", ".join(map(repr, bodies)) or "none"
            what = f"got {self.body!r}, which is no flexible body{nearest(self.body, bodies)}; flexible bodies: {names}"
            raise ModelError.at((self.table, self.name, "body"), what)
        try:
            known = bodies[self.body].whole.load_names
        except FembError:  # which the body reports
            known = ()
        name = self.load or self.name
        if name not in known:
            names = ", ".join(map(repr, known)) or "none: give `femb reduce` --load NAME=NODES:KIND"
            what = f"got {name!r}, which is not in the file of {self.body!r}{nearest(name, known)}; loads: {names}"
            raise ModelError.at((self.table, self.name, "load"), what)
        return bodies[self.body], known.index(name)

    @staticmethod
    def batches(items: list["ModalLoad"], layout: Layout, model: ModelView) -> list[Batch]:
        from femb.elements.modal.load_batch import ModalLoadBatch

        of_bodies: dict[str, list[ModalLoad]] = {}
        for item in items:
            of_bodies.setdefault(item.body, []).append(item)
        batches: list[Batch] = []
        for each in of_bodies.values():
            body = each[0].numbered(model)[0]
            batch: Any = body.batches([body], layout, model)[0]
            batches.append(ModalLoadBatch(each, [item.numbered(model)[1] for item in each], body.reduced, batch))
        return batches
