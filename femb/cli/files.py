"""The files that commands read and write: cases, result files, and whether they may be replaced."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from femb.base.errors import ResultError

if TYPE_CHECKING:
    from femb.base.options import Run
    from femb.case import Case
    from femb.results.results import Results

TABLES = ("loads.h5", "modal.h5")  # files beside results, which do not stand for their folder


def folder_of(case: Path, out: Path | None) -> Path:
    """The folder of the results of a case."""
    return out or Path("out") / case.stem


def opened(case: Path, overrides: tuple[str, ...], out: Path | None, name: str) -> "tuple[Case, Path]":
    """A case, and the file of its results, which must be writable."""
    from femb.case import load_case

    loaded, file = load_case(case, overrides), folder_of(case, out) / name
    check_writable(file)
    return loaded, file


def runnable(case: Path, overrides: tuple[str, ...]) -> "tuple[Case, Run]":
    """A case and its ``[run]``. Raises CaseError if it has none."""
    from femb.case import CaseError, load_case

    loaded = load_case(case, overrides)
    if loaded.run is None:
        raise CaseError.of_file(case, "run: is missing; to be run, a case needs [run] with a duration (s)", 1)
    return loaded, loaded.run


def check_writable(file: Path) -> None:
    """Raise ResultError if a file obviously cannot be written; nothing is created or changed."""
    folder = file.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if file.is_dir():
        raise ResultError(f"{file}: cannot be written: it is a folder")
    if not folder.is_dir():
        raise ResultError(f"{file}: cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ResultError(f"{file}: cannot be written: no permission to write in {folder}; try --out DIR")


def check_free(file: Path, force: bool) -> None:
    """Raise ResultError if a file, or a folder with files, is there that must not be replaced, or another run writes to
    it. All commands that write have this one habit."""
    from femb.results.storage.read import is_being_written, is_finished

    if file.is_dir():
        if not force and any(not old.name.startswith(".") for old in file.iterdir()):
            raise ResultError(f"{file}: has files already; --force replaces those, --out DIR writes to another folder")
        return
    of_run = file.suffix == ".h5"
    if not force and (is_finished(file) if of_run else file.exists()):
        what = "has the results of a finished run; --force replaces them" if of_run else "is there; --force replaces it"
        raise ResultError(f"{file}: {what}, --out writes to another place")
    if is_being_written(file):
        raise ResultError(f"{file}: another run writes to it now; wait for its end, or try --out")


def may_be_of(case: "Case", file: Path) -> bool:
    """Whether a file has finished results that may be those of this case: a case file in TOML, none of whose files
    was changed since."""
    from femb.results.storage.read import is_finished

    if case.path.suffix == ".py" or not is_finished(file):
        return False
    made = file.stat().st_mtime
    named = {case.path.parent / name for name in re.findall(r'"([^"\n]+)"', case.text)}
    return all(not path.is_file() or path.stat().st_mtime <= made for path in named)


def stamp(file: Path) -> tuple[int, int] | None:
    """Inode and time of modification of a file, which tell whether it was replaced; None if it does not exist."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns


def only_results(path: Path) -> Path:
    """The result file of a folder without a run, if there is only one, as ``sweep.h5`` of a study; else the path.

    Raises ResultError: several files, of which one must be named.
    """
    from femb.results.storage.read import find_results, part_of

    run = find_results(path)
    if not path.is_dir() or run.exists() or part_of(run).exists():
        return path
    files = sorted(file.name for file in path.glob("*.h5") if file.name not in TABLES)
    if len(files) > 1:
        raise ResultError(f"{path}: has several results: name one of {', '.join(str(path / name) for name in files)}")
    return path / files[0] if files else path


def read_results(results: Path) -> "tuple[Path, Results]":
    """The result file of a path, and the results in it; prints a note on a later unfinished run, and the output times
    of an unfinished run, on stderr."""
    from femb.results.results import Results
    from femb.results.storage.read import find_results, part_of

    file = find_results(results)
    later = part_of(file).exists() and file.exists()
    data = Results.read(file)
    if later:
        click.echo(f"{part_of(file)}: a later run, not finished", err=True)
    if data.status == "running":
        reached = f"up to t = {data.time[-1]:.6g} s" if data.time.size else "none"
        click.echo(f"{file}: {data.message or 'the run goes on'}; output times: {data.time.size}, {reached}", err=True)
    return file, data
