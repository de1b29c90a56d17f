"""Tables of time histories as text, for spreadsheets and other programs; numpy only."""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np

from femb.base.errors import ResultError
from femb.base.quantity import Group
from femb.base.types import Floats
from femb.pictures.files import chosen_times, writing
from femb.results.names import COMPONENTS
from femb.results.results import Results
from femb.results.view import INERTIAL


def export_csv(
    results: Results,
    folder: str | Path,
    *,
    frame: str = INERTIAL,
    every: int = 1,
    at: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write the time histories as tables; returns the files ``body_NAME.csv``, ``beam_NAME.csv``,
    ``joint_NAME.csv``, ``driver_NAME.csv``, ``spring_NAME.csv``, ``load_NAME.csv`` and ``audit.csv``.

    Parameters
    ----------
    results : a run with output times.
    folder : path, created if missing.
    frame : ``"inertial"``, the name of a body, or a beam's node as ``"NAME[NODE]"``
        The motion of bodies and beams is that of `Results.in_frame`, with displacements and deflections from
        the start configuration fixed in the frame. Forces, loads and the audit are as in the results.
    every : interval of the output times to write.
    at : instant (s) to write alone; the output time that is nearest to it is taken.
    progress : called as ``progress(done, total)`` after every file.

    One line per output time, separated by commas; the first line names the columns with their unit:
    ``time [s]`` (of states ``state``, of modes ``mode``), ``position_x [m]``, ``node3_position_x [m]``, ``element0_start_strain [-]``. Nodes and elements
    count from 0, quaternions have the components w (scalar), x, y, z. Numbers have all digits.
    Raises ResultError where there is nothing to write, for an unknown frame, and where the folder cannot be written.
    """
    folder = Path(folder)
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
        file.write(",".join(names) + "\n")
        for row in zip(*flat, strict=True):
            file.write(",".join(map(repr, np.concatenate(row).tolist())) + "\n")


def _column_names(group: Group, name: str, shape: tuple[int, ...]) -> Iterator[str]:
    """Names of the columns of an array whose rows have that shape, in C order.

    The axes are those of the quantity's declared shape, such as (T, e, 2, 3): nodes and elements come before the name,
    components after it. Arrays that are no quantity have numbered components and no unit.
    """
    quantity, (own, names) = group.quantities().get(name), group.columns_of(name)
    axes, unit = [""] * len(shape), ""
    if quantity is not None:
        unit = f" [{own}]" if own != "own" else ""
        declared = quantity.sizes[1:]
        # Some quantities are a number for some items and a vector for others.
        axes = declared if len(declared) == len(shape) else [str(size) for size in shape]
    if name == "time":  # of the last sample, beside the first column
        name = f"{group.word}_time"
    if len(shape) == 1 and len(names) == shape[0]:
        yield from (f"{name}_{each}{unit}" for each in names)
        return
    for indices in product(*map(range, shape)):
        prefix, suffix = "", ""
        for axis, index in zip(axes, indices, strict=True):
            if axis in ("n", "e"):
                prefix += f"{'node' if axis == 'n' else 'element'}{index}_"
            elif axis == "2":
                prefix += ("start_", "end_")[index]
            else:
                suffix += f"_{COMPONENTS[axis][index]}" if axis in COMPONENTS else f"_{index}"
        yield f"{prefix}{name}{suffix}{unit}"
