"""Tables of time histories as text, for spreadsheets and other programs; numpy only."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import cycle, groupby, product
from pathlib import Path

import numpy as np

from femb.base.arrays import listing, rows_of, shapes_of
from femb.base.errors import ResultError
from femb.base.quantity import AXES, ENDS, Group
from femb.base.types import Floats, Ints
from femb.pictures.files import Span, chosen_times, writing
from femb.results.names import Named, fits_item, named
from femb.results.results import Results, results_of
from femb.results.view import INERTIAL

# The table of quantities that are asked for by name.
QUANTITIES = "quantities.csv"
# Groups of the whole model, whose tables are written where their names are asked for.
ACCOUNTS = ("audit", "budget")
# Output times that are read at a time.
ROWS = 1 << 13


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
        items: names of the items to write as "tip" or "beams/tip", in which * and ? are wildcards; by default all but
            the audit and the accounts of the budget, "audit" and as "drivers".
        what: names of quantities, such as "hub.position" or "boom.tip.deflection.z", to write alone, into one table.
        progress: called as ``progress(done, total)`` after every file.

    Returns:
        The files ``body_NAME.csv``, ``beam_NAME.csv``, ``joint_NAME.csv``, ``driver_NAME.csv``, ``spring_NAME.csv``,
        ``load_NAME.csv``, those of ``items``; of ``what`` ``quantities.csv``.

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
            _write(drafts.new(QUANTITIES), [first, *(name for each in found for name in _of_one(each))], chosen,
                   [results.time.__getitem__, *(each.values.__getitem__ for each in found)])  # fmt: skip
        return [folder / QUANTITIES]
    groups = {_name(group): group for group in results.groups() if _series(results, group)}
    if not groups:
        raise ResultError("these results have nothing over time but the time itself, so there is no table to export")
    for pattern in items:
        if not any(fits_item(group, (pattern,)) for group in groups.values()):
            there = listing(dict.fromkeys(group.name for group in groups.values()))
            raise ResultError(f"items: got {pattern!r}; items are {there}")
    if items:
        groups = {name: g for name, g in groups.items() if fits_item(g, items)}
    else:
        groups = {name: g for name, g in groups.items() if g.path.partition("/")[0] not in ACCOUNTS} or groups
    files = [f"{name}.csv" for name in groups]
    with writing(folder) as drafts:
        for done, (file, group) in enumerate(zip(files, groups.values(), strict=True), start=1):
            names = [column for name, shape in _series(results, group).items()
                     for column in _column_names(group, name, shape[1:])]  # fmt: skip
            paths = [f"{group.path}/{name}" for name in _series(results, group)]
            columns = (partial(rows_of, results.series, path) for path in paths)
            _write(drafts.new(file), [first, *names], chosen, [results.time.__getitem__, *columns])
            if progress is not None:
                progress(done, len(groups))
    return [folder / file for file in files]


def _name(group: Group) -> str:
    """The name of a group's table: body_hub, audit."""
    return group.path if group.path == "audit" else f"{group.word or group.path.partition('/')[0]}_{group.name}"


def _series(results: Results, group: Group) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays over time of a group, by name."""
    shapes = shapes_of(results.series)
    return {name: shapes[f"{group.path}/{name}"] for name in group.arrays if f"{group.path}/{name}" in shapes}


def _of_one(quantity: Named) -> list[str]:
    """Names of the columns of a quantity by its name: hub.position.x [m]."""
    unit = f" [{quantity.unit}]" if quantity.unit else ""
    names = [places or tuple(map(str, range(size)))
             for (_, places), size in zip(quantity.axes, quantity.values.shape[1:], strict=True)]  # fmt: skip
    return [".".join([quantity.path, *parts]) + unit for parts in product(*names)]


def _write(
    path: Path, names: Sequence[str], instants: Sequence[int], columns: Sequence[Callable[[slice], Floats]]
) -> None:
    """A table at increasing instants of columns, functions of the rows, (k, ...), with their names."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        # a comma in a name would be a column of its own
        file.write(",".join(name.replace(",", "") for name in names) + "\n")
        # In parts, because a table of text is several times the size of the numbers.
        for _, part in groupby(instants, lambda k: k // ROWS):
            each = list(part)
            for row in _rows(columns, slice(each[0], each[-1] + 1), np.array(each) - each[0]):
                file.write(",".join(map(repr, row)) + "\n")


def _rows(columns: Sequence[Callable[[slice], Floats]], rows: slice, chosen: Ints) -> Iterable[list[float]]:
    found = [column(rows)[chosen].reshape(len(chosen), -1) for column in columns]
    result: list[list[float]] = np.concatenate(found, axis=1).tolist()
    return result


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
