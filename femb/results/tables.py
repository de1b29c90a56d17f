"""Results as tables of other libraries, which are imported on first use."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.results.arrays import Arrays
from femb.results.named import COMPONENTS, Named, unit_of
from femb.results.names import named

if TYPE_CHECKING:
    import pandas
    import xarray

    from femb.results.results import Results

DIMENSIONS = {"3": "axis", "4": "component"}


def to_pandas(results: Results, names: tuple[str, ...]) -> pandas.DataFrame:
    """As ``Results.to_pandas``."""
    try:
        import pandas
    except ImportError as error:
        raise ResultError("pip install 'femb[pandas]': pandas is not installed") from error
    columns: dict[str, Floats] = {}
    for quantity in _chosen(results, names):
        values = quantity.values.reshape(results.time.size, -1)
        for label, column in zip(_labels(quantity), values.T, strict=True):
            columns[".".join((quantity.path, *label))] = column
    return pandas.DataFrame(columns, index=pandas.Index(results.time, name="time"))


def to_xarray(results: Results, names: tuple[str, ...]) -> xarray.Dataset:
    """As ``Results.to_xarray``."""
    try:
        import xarray
    except ImportError as error:
        raise ResultError("pip install 'femb[xarray]': xarray is not installed") from error
    variables = {}
    for quantity in _chosen(results, names):
        dims = [DIMENSIONS.get(letter, f"{quantity.path}.{k}") for k, letter in enumerate(quantity.axes)]
        declared = quantity.group.quantities().get(quantity.word)
        unit = declared.unit if declared is not None else quantity.unit
        variables[quantity.path] = (("time", *dims), quantity.values, {"units": unit} if unit else {})
    coordinates = {"time": ("time", results.time, {"units": "s"}), "axis": list("xyz"), "component": list("wxyz")}
    used = {"time", *(dim for dims, _, _ in variables.values() for dim in dims)}
    attributes = {"title": results.title, "method": results.method, "status": results.status}
    return xarray.Dataset(variables, {dim: x for dim, x in coordinates.items() if dim in used}, attributes)


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
    """The names of the components of a quantity: numbers, and x, y, z of vectors."""
    sizes = zip(quantity.axes, quantity.values.shape[1:], strict=True)
    return list(product(*(COMPONENTS.get(letter) or list(map(str, range(size))) for letter, size in sizes)))
