"""The arrays of a reduced finite element model; symbols of docs/theory/modal_body.md."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from femb.base.brief import Brief
from femb.base.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class ReducedArrays(Brief):
    """The fields of ``femb.elements.modal.data.ReducedBody``, which explains them."""

    interfaces: Floats
    interface_axes: Floats
    interface_names: tuple[str, ...]
    mass: float
    first_moment: Floats
    inertia: Floats
    S1: Floats
    C0: Floats
    M: Floats
    K: Floats
    J1: Floats | None = None
    J2: Floats | None = None
    Q: Floats | None = None
    S2: Floats | None = None
    B2: Floats | None = None
    psi2: Floats | None = None
    included: bool = False
    damping_ratio: Floats | None = None
    D: Floats | None = None
    nodes: Floats | None = None
    node_shapes: Floats | None = None
    cells: Mapping[str, Ints] = field(default_factory=dict)
    recovery_names: tuple[str, ...] = ()
    recovery: Floats | None = None
