"""Results as tables of other libraries, and their spectra; the libraries are imported on first use."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.results.arrays import Arrays, listing
from femb.results.quantity import Group

if TYPE_CHECKING:
    import pandas
    import xarray

    from femb.results.results import Results

COMPONENTS = {"3": "xyz", "4": "wxyz"}
"""Names of the components of vectors and quaternions, by their number in a `Quantity`'s shape."""
DIMENSIONS = {"3": "axis", "4": "component"}
# Relative difference of intervals between output times up to which they are equal.
UNIFORM = 1e-6


class Spectrum(NamedTuple):
    """frequency (F,) Hz, and the values (F, ...) of a spectrum over it."""

    frequency: Floats
    values: Floats


def quantity_of(results: Results, name: str) -> tuple[Group, str]:
    """The group and the word of a quantity over time: "hub.position", or "bodies.hub.position" where items of several
    kinds have the name. Raises ResultError, which names what there is."""
    item, _, word = name.replace("/", ".").rpartition(".")
    groups = [group for group in results.groups() if item in (group.name, group.path.replace("/", "."))]
    found = [(group, word) for group in groups if f"{group.path}/{word}" in results.series]
    if len(found) == 1:
        return found[0]
    if found:
        paths = ", ".join(repr(f"{group.path.replace('/', '.')}.{word}") for group, _ in found)
        raise ResultError(f"{name}: there are several; give one of {paths}")
    if groups:
        words = {path: None for group in groups for path in group.arrays if f"{group.path}/{path}" in results.series}
        raise ResultError(f"{name}: {item!r} has no such quantity over time; there are: {listing(words)}")
    names = {group.name: None for group in results.groups()}
    raise ResultError(f"{name}: wanted ITEM.QUANTITY with one of the items {listing(names)}")


def to_pandas(results: Results, names: tuple[str, ...]) -> pandas.DataFrame:
    """As ``Results.to_pandas``."""
    try:
        import pandas
    except ImportError as error:
        raise ResultError("pandas is missing; install it: pip install pandas") from error
    columns: dict[str, Floats] = {}
    for group, word in _chosen(results, names):
        values = group[word].reshape(results.time.size, -1)
        for label, column in zip(_labels(group, word), values.T, strict=True):
            columns[".".join((group.path.replace("/", "."), word, *label))] = column
    return pandas.DataFrame(columns, index=pandas.Index(results.time, name="time"))


def to_xarray(results: Results, names: tuple[str, ...]) -> xarray.Dataset:
    """As ``Results.to_xarray``."""
    try:
        import xarray
    except ImportError as error:
        raise ResultError("xarray is missing; install it: pip install xarray") from error
    variables = {}
    for group, word in _chosen(results, names):
        path, quantity = f"{group.path}/{word}".replace("/", "."), group.quantities().get(word)
        dims = [DIMENSIONS.get(letter, f"{path}.{k}") for k, letter in enumerate(_axes(group, word))]
        unit = {"units": quantity.unit} if quantity is not None else {}
        variables[path] = (("time", *dims), group[word], unit)
    coordinates = {"time": ("time", results.time, {"units": "s"}), "axis": list("xyz"), "component": list("wxyz")}
    used = {"time", *(dim for dims, _, _ in variables.values() for dim in dims)}
    attributes = {"title": results.title, "method": results.method, "status": results.status}
    return xarray.Dataset(variables, {dim: x for dim, x in coordinates.items() if dim in used}, attributes)


def spectrum(results: Results, name: str, kind: Literal["psd", "amplitude"]) -> Spectrum:
    """As ``Results.spectrum``."""
    from scipy import signal

    group, word = quantity_of(results, name)
    time = results.time
    if time.size < 8:
        raise ResultError(f"{name}: a spectrum needs at least 8 output times, there are {time.size}")
    intervals = np.diff(time)
    interval = float(np.mean(intervals))
    if np.max(np.abs(intervals - interval)) > UNIFORM * interval:
        raise ResultError(f"{name}: a spectrum needs equal intervals between the output times; give output_interval")
    if kind == "psd":
        return Spectrum(*signal.periodogram(group[word], 1.0 / interval, "hann", detrend="constant", axis=0))
    if kind != "amplitude":
        raise ResultError(f"kind: got {kind!r}, wanted 'psd' or 'amplitude'")
    values = 2.0 / time.size * np.abs(np.fft.rfft(group[word], axis=0))
    values[0] *= 0.5
    if time.size % 2 == 0:
        values[-1] *= 0.5
    return Spectrum(np.arange(len(values)) / (time.size * interval), values)


def _chosen(results: Results, names: tuple[str, ...]) -> list[tuple[Group, str]]:
    if names:
        return [quantity_of(results, name) for name in names]
    series: Arrays = results.series
    return [(group, word) for group in results.groups() for word in group.arrays if f"{group.path}/{word}" in series]


def _labels(group: Group, word: str) -> list[tuple[str, ...]]:
    """The names of the components of a quantity: numbers, and x, y, z of vectors."""
    sizes = zip(_axes(group, word), group[word].shape[1:], strict=True)
    return list(product(*(COMPONENTS.get(letter) or list(map(str, range(size))) for letter, size in sizes)))


def _axes(group: Group, word: str) -> list[str]:
    """The declared sizes of a quantity's axes after the time; those of its shape where it has others."""
    quantity, shape = group.quantities().get(word), group[word].shape[1:]
    if quantity is None:
        return [""] * len(shape)
    # Some quantities are a number for some items and a vector for others.
    declared = quantity.sizes[1:]
    return declared if len(declared) == len(shape) else [str(size) for size in shape]
