"""Quantities of results as one number over time, by name: the outputs of studies, and members of ensembles."""

from dataclasses import dataclass

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.elements.beam.results import BeamResults
from femb.results.names import STRESSES, named
from femb.results.results import Results


@dataclass(frozen=True, eq=False)
class History:
    """One number over time: time (T,) s, values (T,), and their unit, "" where it is unknown."""

    time: Floats
    values: Floats
    unit: str


def history(results: Results, name: str) -> History:
    """The history of a quantity of results. Raises ResultError: no such quantity, or more than a vector of numbers."""
    kind, _, rest = name.partition(".")
    if kind == "statistics" and isinstance(results.statistics.get(rest), int | float | np.number):
        last = results.time[-1:] if results.time.size else np.zeros(1)
        return History(last, np.array([float(results.statistics[rest])]), "s" if rest.endswith("time") else "")
    found = named(results, name)
    values = found.values
    if isinstance(found.group, BeamResults) and found.node is None:
        if found.component is None and values.ndim > 2 and found.word not in (*STRESSES, "strain"):
            values = np.linalg.norm(values, axis=-1)
        values = np.max(np.abs(values.reshape(len(values), -1)), axis=1)
    elif values.ndim > 2:
        raise ResultError(f"got {name!r}, an array of shape {values.shape}; wanted a number or a vector over time")
    elif values.ndim == 2:
        values = values[:, 0] if values.shape[1] == 1 else np.linalg.norm(values, axis=1)
    return History(results.time, np.asarray(values, dtype=float), found.unit)
