"""Bodies from finite elements: models as matrices, their sources, and their reduction to interfaces and modes."""

from femb.elements.modal.data import ReducedBody, read_reduced_body, write_reduced_body
from femb.fem.further import reduce_further
from femb.fem.model import FeModel, MeshInterface
from femb.fem.overview import DeckOverview, overview
from femb.fem.recovery import write_punch
from femb.fem.reduce import reduce_beams, reduce_matrices, reduce_mesh, reduced_craig_bampton
from femb.fem.reduction import Reduction, reduce_model

__all__ = [
    "DeckOverview",
    "FeModel",
    "MeshInterface",
    "ReducedBody",
    "Reduction",
    "overview",
    "read_reduced_body",
    "reduce_beams",
    "reduce_further",
    "reduce_matrices",
    "reduce_mesh",
    "reduce_model",
    "reduced_craig_bampton",
    "write_punch",
    "write_reduced_body",
]
