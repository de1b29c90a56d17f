"""Tables of time histories as text, for spreadsheets and other programs; numpy only."""

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import cycle, product
from pathlib import Path

import numpy as np

from femb.base.arrays import listing
from femb.base.errors import ResultError
from femb.base.quantity import AXES, ENDS, Group
from femb.base.types import Floats
from femb.pictures.files import Span, chosen_times, writing
from femb.results.names import Named, named
from femb.results.results import Results, results_of
from femb.results.view import INERTIAL

# The table of quantities that are asked for by name.
QUANTITIES = "quantities.csv"


def export_csv(
    results: Results | str | Path,
    folder: str | Path,
    *,
    frame: str = INERTIAL,
    every: int = 1,
    at: float | None = None,
    times: Span = (None, None),
    items: Sequence[str] = (),
    what: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write the time histories as tables.

    One line per output time, separated by commas; the first line names the columns with their unit: ``time [s]`` (of
    states ``state``, of modes ``mode``), ``position_x [m]``, ``node3_position_x [m]``, ``element0_start_strain [-]``.
    Nodes and elements count from 0, quaternions have the components w (scalar), x, y, z. Numbers have all digits.

    Parameters:
        results: a run with output times.
        folder: path, created if missing.
        frame: ``"inertial"``, the name of a body, or a beam's node as ``"NAME[NODE]"``. The motion of bodies and beams
            is that of `Results.in_frame`, with displacements and deflections from the start configuration fixed in the
            frame. Forces, loads and the audit are as in the results.
        every: interval of the output times to write.
        at: instant (s) to write alone; the output time that is nearest to it is taken.
        times: first and last instant, s; None for those of the results.
        items: names of the items to write, in which * and ? are wildcards; all by default.
        what: names of quantities, such as "hub.position" or "boom.tip.deflection.z", to write alone, into one table.
        progress: called as ``progress(done, total)`` after every file.

    Returns:
        The files ``body_NAME.csv``, ``beam_NAME.csv``, ``joint_NAME.csv``, ``driver_NAME.csv``, ``spring_NAME.csv``,
        ``load_NAME.csv`` and ``audit.csv``, those of ``items``; of ``what`` ``quantities.csv``.

    Raises:
        ResultError: nothing to write, an unknown frame or name, a folder that cannot be written.
    """
    results, folder = results_of(results), Path(folder)
    chosen = chosen_times(results, every, at, times)
    results = results.in_frame(frame)
    first = results.counted or "time [s]"
    if what:
        if items:
            raise ResultError("items are given beside what: give one of them")
        found = [named(results, name) for name in what]
        with writing(folder) as drafts:
            columns = [(_of_one(each), each.values[chosen]) for each in found]
            _write(drafts.new(QUANTITIES), [first, *(name for names, _ in columns for name in names)],
                   [results.time[chosen], *(values for _, values in columns)])  # fmt: skip
        return [folder / QUANTITIES]
    groups = {_name(group): group for group in results.groups() if _series(results, group)}
    if not groups:
        raise ResultError("these results have nothing over time but the time itself, so there is no table to export")
    for pattern in items:
        if not any(fnmatchcase(group.name, pattern) for group in groups.values()):
            there = listing(dict.fromkeys(group.name for group in groups.values()))
            raise ResultError(f"items: got {pattern!r}; items are {there}")
    if items:
        groups = {name: g for name, g in groups.items() if any(fnmatchcase(g.name, pattern) for pattern in items)}
    files = [f"{name}.csv" for name in groups]
    with writing(folder) as drafts:
        for done, (file, group) in enumerate(zip(files, groups.values(), strict=True), start=1):
            arrays = {name: array[chosen] for name, array in _series(results, group).items()}
            names = [column for name, each in arrays.items() for column in _column_names(group, name, each.shape[1:])]
            _write(drafts.new(file), [first, *names], [results.time[chosen], *arrays.values()])
            if progress is not None:
                progress(done, len(groups))
    return [folder / file for file in files]


def _name(group: Group) -> str:
    """The name of a group's table: body_hub, audit."""
    return group.path if group.path == "audit" else f"{group.word or group.path.partition('/')[0]}_{group.name}"


def _series(results: Results, group: Group) -> dict[str, Floats]:
    return {name: array for name, array in group.arrays.items() if f"{group.path}/{name}" in results.series}


def _of_one(quantity: Named) -> list[str]:
    """Names of the columns of a quantity by its name: hub.position.x [m]."""
    unit = f" [{quantity.unit}]" if quantity.unit else ""
    names = [places or tuple(map(str, range(size)))
             for (_, places), size in zip(quantity.axes, quantity.values.shape[1:], strict=True)]  # fmt: skip
    return [".".join([quantity.path, *parts]) + unit for parts in product(*names)]


def _write(path: Path, names: Sequence[str], columns: Sequence[Floats]) -> None:
    """A table of columns (T, ...) with their names."""
    # Row by row, because a table of text is several times the size of the numbers.
    flat = [array.reshape(len(array), -1) for array in columns]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        # a comma in a name would be a column of its own
        file.write(",".join(name.replace(",", "") for name in names) + "\n")
        for row in zip(*flat, strict=True):
            file.write(",".join(map(repr, np.concatenate(row).tolist())) + "\n")


def _column_names(group: Group, name: str, shape: tuple[int, ...]) -> Iterator[str]:
    """Names of the columns of an array whose rows have that shape, in C order.

    The axes are those of the quantity's declared shape, such as (T, e, 2, 3): nodes, elements and places in these come
    before the name, components after it. Arrays that are no quantity have numbered components and no unit.
    """
    unit, axes = group.columns_of(name)[0], group.axes_of(name, (0, *shape))[1:]
    units = cycle([f" [{each}]" if each != "own" else "" for each in unit.split(", ")])
    label = f"{group.word}_time" if name == "time" else name  # of the last sample, beside the first column
    for indices in product(*map(range, shape)):
        prefix, suffix = "", ""
        for (size, names), index in zip(axes, indices, strict=True):
            place = names[index] if names else str(index)
            if size in ("n", "e"):
                prefix += f"{AXES[size]}{place}_"
            elif prefix and names == ENDS:
                prefix += f"{place}_"
            else:
                suffix += f"_{place}"
        yield f"{prefix}{label}{suffix}{next(units)}"
