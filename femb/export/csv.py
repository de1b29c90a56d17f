"""Tables of time histories as text, for spreadsheets and other programs; numpy only."""

from collections.abc import Callable, Iterator
from itertools import cycle, product
from pathlib import Path

import numpy as np

from femb.base.errors import ResultError
from femb.base.quantity import AXES, ENDS, Group
from femb.base.types import Floats
from femb.pictures.files import chosen_times, writing
from femb.results.results import Results, results_of
from femb.results.view import INERTIAL


def export_csv(
    results: Results | str | Path,
    folder: str | Path,
    *,
    frame: str = INERTIAL,
    every: int = 1,
    at: float | None = None,
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
        progress: called as ``progress(done, total)`` after every file.

    Returns:
        The files ``body_NAME.csv``, ``beam_NAME.csv``, ``joint_NAME.csv``, ``driver_NAME.csv``, ``spring_NAME.csv``,
        ``load_NAME.csv`` and ``audit.csv``.

    Raises:
        ResultError: nothing to write, an unknown frame, a folder that cannot be written.
    """
    results, folder = results_of(results), Path(folder)
    times = chosen_times(results, every, at)
    results = results.in_frame(frame)
    groups = {_name(group): group for group in results.groups() if _series(results, group)}
    if not groups:
        raise ResultError("these results have nothing over time but the time itself, so there is no table to export")
    files = [f"{name}.csv" for name in groups]
    with writing(folder) as drafts:
        for done, (file, group) in enumerate(zip(files, groups.values(), strict=True), start=1):
            arrays = {name: array[times] for name, array in _series(results, group).items()}
            first = results.counted or "time [s]"
            _write_table(drafts.new(file), first, results.time[times], group, arrays)
            if progress is not None:
                progress(done, len(groups))
    return [folder / file for file in files]


def _name(group: Group) -> str:
    """The name of a group's table: body_hub, audit."""
    return group.path if group.path == "audit" else f"{group.word or group.path.partition('/')[0]}_{group.name}"


def _series(results: Results, group: Group) -> dict[str, Floats]:
    """The arrays of a group that change with time."""
    return {name: array for name, array in group.arrays.items() if f"{group.path}/{name}" in results.series}


def _write_table(path: Path, first: str, time: Floats, group: Group, arrays: dict[str, Floats]) -> None:
    names = [first]
    for name, array in arrays.items():
        names += _column_names(group, name, array.shape[1:])
    # Row by row, because a table of text is several times the size of the numbers.
    flat = [time[:, None], *(array.reshape(len(time), -1) for array in arrays.values())]
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
