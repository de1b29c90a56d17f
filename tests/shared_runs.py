"""Runs of cases that several tests look at: each is carried out once, by the command line, in whichever worker comes
first; the others wait for it and read its results."""

import fcntl
import hashlib
import json
import os
import shlex
from functools import cache
from pathlib import Path

from checkout import CASES
from click.testing import CliRunner, Result

from femb import Results, load_case
from femb.cli import cli

FOLDER = "FEMB_TEST_RUNS"  # the variable of the environment that conftest sets


@cache
def command(verb: str, case: str, overrides: tuple[str, ...] = ()) -> tuple[int, str, Path]:
    """Exit code, output and result file of an analysis of ``cases/NAME``, with what is set in it.

    verb : with its other words, as "static --steps 4". In the output OUT stands for the folder of the results.
    """
    folder = Path(os.environ[FOLDER])
    out = folder / hashlib.sha256(repr((verb, case, overrides)).encode()).hexdigest()[:16]
    note = out.with_suffix(".json")
    with out.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            note.write_text(json.dumps(carried_out(verb, case, overrides, out)))
    code, output = json.loads(note.read_text())
    return code, output.replace(str(out), "OUT"), out / ("static.h5" if verb.startswith("static") else "results.h5")


def carried_out(verb: str, case: str, overrides: tuple[str, ...], out: Path) -> tuple[int, str]:
    words = [word for each in overrides for word in ("--set", each)]
    before = Path.cwd()
    os.chdir(CASES.parent)
    try:
        result = CliRunner().invoke(cli, [*shlex.split(verb), case, *words, "--out", str(out)])
    finally:
        os.chdir(before)
    return result.exit_code, result.output


def start_of(case: Path) -> tuple[str, ...]:
    """What makes a run of a case a hundredth of it."""
    horizon = 0.01 * load_case(case).run.duration
    return f"run.duration={horizon}", f"run.output_interval={horizon / 10}"


@cache
def results_of(name: str, *overrides: str) -> Results:
    """Results of a complete run of a case, as its file describes it, or as changed by overrides."""
    (path,) = CASES.glob(f"{name}.*")
    code, output, file = command("run", f"cases/{path.name}", overrides)
    assert code == 0, output
    return Results.read(file)


def ended(*words: object) -> Result:
    """The end of a command in this process; any exception but an exit is raised."""
    done = CliRunner().invoke(cli, list(map(str, words)), prog_name="femb")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def invoked(*words: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    done = ended(*words)
    return done.exit_code, done.stdout, done.stderr


def said(*words: object, code: int = 0) -> str:
    """Stdout and stderr of a command that ends with this exit code, as a user sees them."""
    done = ended(*words)
    assert done.exit_code == code, done.output
    return done.output
