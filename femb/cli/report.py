"""Output of commands: errors as messages and exit codes, warnings as lines, and the audit of a run."""

import contextlib
import errno
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import click

from femb.base.errors import ContinuationError, FembError, FembWarning, ModelError, SolveError
from femb.base.progress import Progress

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


def print_warning(message: Warning | str, *details: Any, **more: Any) -> None:
    """Print a warning as one line, without the position in the source."""
    click.echo(f"warning: {message}", err=True)


@contextlib.contextmanager
def located(loaded: Any) -> Iterator[None]:
    """Add the lines of the case file to the problems of a model."""
    try:
        yield
    except ModelError as error:
        raise loaded.located(error) from error


@contextlib.contextmanager
def reported(leave: bool = True) -> Iterator[None]:
    """Turn errors into messages on stderr and exit codes, and femb's warnings into lines there.

    leave : whether an error ends the command.
    """
    try:
        with warnings.catch_warnings():
            show = warnings.showwarning

            def say(message: Warning | str, category: type[Warning], *details: Any, **more: Any) -> None:
                if issubclass(category, FembWarning):
                    print_warning(message)
                else:
                    show(message, category, *details, **more)

            warnings.showwarning = say
            warnings.simplefilter("always", FembWarning)
            yield
    except (FembError, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            raise  # the reader of a pipe has closed it; click ends without a message
        click.echo(message_of(error), err=True)
        if leave:
            sys.exit(FAILED if isinstance(error, SolveError) else BAD_INPUT)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)


@contextlib.contextmanager
def running(
    loaded: Any, progress: Progress, reached: Callable[[], str], kept: Callable[[BaseException], str]
) -> Iterator[None]:
    """Compile the kernels of a case and run its analysis under a bar; exit with a message where it stops early.

    reached : text of an interruption. kept : text about the results of an analysis that stopped by an error, or empty.
    """
    try:
        with located(loaded):
            importlib.import_module("femb.run.warmup").compile_first(loaded.model, progress)
            yield
    except (ModelError, ContinuationError):
        raise
    except (FembError, OSError, KeyboardInterrupt) as error:
        progress.close()
        interrupted = isinstance(error, KeyboardInterrupt)
        click.echo(reached() if interrupted else message_of(error), err=True)
        if text := kept(error):
            click.echo(text, err=True)
        sys.exit(INTERRUPTED if interrupted else FAILED)
    finally:
        progress.close()


def message_of(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def damped(results: Any) -> str:
    """The energy that ``run.filter`` took away, and what it kept; empty without it."""
    statistics = results.statistics
    if "filter" not in statistics or "energy_error" not in results.audit:
        return ""
    energy, taken = float(results.audit["energy_error"][-1]), float(statistics.get("damped", 0.0))
    text = f"vibrations above {statistics['filter']:.4g} Hz, with an energy error of {energy:.2g} J at the end"
    text += f" and {taken:.2g} J taken out as work" if taken else ""
    # zero in coordinates without positions, as angles of joints
    kept = float(statistics["kept_error"])
    return text + (f"; local errors of the other motion {kept:.2g} m in all" if kept else "")


def _of_forces(balance: float, largest: float) -> str:
    """The judgement of forces, as of ``femb info``, where they are not good."""
    from femb.results.verdicts import BALANCED, UNBALANCED

    if balance <= BALANCED * largest:
        return ""
    return "; not resolved" if balance > UNBALANCED * largest else "; compare peak loads with a smaller rtol"


def works(results: Any) -> str:
    """The work of each kind of items at the end, where there is any."""
    found = {group.name: group["work"] for group in results.budget.values() if "work" in group}
    ends = {name: float(values[-1]) for name, values in found.items() if len(values) and values.any()}
    return ", ".join(f"{name.replace('_', ' ')} {work:.3g} J" for name, work in ends.items())


def audit(results: Any) -> str:
    """Status, cost and audit of a run, one line per entry."""
    import numpy as np

    from femb.results.verdicts import wrinkled

    def largest(name: str) -> float | None:
        if name not in results.audit or not len(results.audit[name]):
            return None
        values = np.asarray(results.audit[name])
        change = values - values[0] if name.endswith("momentum") else values
        return float(np.max(np.linalg.norm(change, axis=1) if change.ndim == 2 else np.abs(change)))

    def listed(*entries: tuple[str, str, str]) -> str:
        sizes = [(largest(name), words) for name, *words in entries]
        return ", ".join(f"{label}{size:.2g}{unit}" for size, (label, unit) in sizes if size is not None)

    statistics = results.statistics
    steps = f"{statistics.get('steps', '?')} ({statistics.get('rejected', 0)} rejected)"
    energy = listed(("energy_error", "", " J"))
    scale = max((largest(f"{kind}_energy") or 0.0 for kind in ("kinetic", "potential")), default=0.0)
    if energy and scale:
        energy += f" (largest energy {scale:.2g} J)"
    forces = listed(("force_balance", "", " N"), ("moment_balance", "", " N m"))
    if forces and statistics.get("largest_force"):
        scale = statistics["largest_force"]
        forces += f" (largest force {scale:.2g} N{_of_forces(largest('force_balance') or 0.0, scale)})"
    rows = {
        "method": results.method_reason,
        "status": results.status + (f": {results.message}" if results.message else ""),
        "steps": steps,
        "wall time": f"{statistics['wall_time']:.3g} s" if "wall_time" in statistics else "",
        "energy error": energy,
        "work": works(results),
        "damped": damped(results),
        "membranes": "; ".join(f"{name}: {text}" for name, text in wrinkled(results).items()),
        "modal damping": "; ".join(group.description for group in results.of_table("modal_damping").values()),
        "momentum change": listed(("linear_momentum", "linear ", " N s"), ("angular_momentum", "angular ", " N m s")),
        "force balance": forces,
        "constraint violation": listed(
            ("constraint_position", "position ", ""),
            ("constraint_velocity", "velocity ", ""),
            ("quaternion_norm", "quaternion length ", ""),
        ),
    }
    return "\n".join(f"{label:22}{text}" for label, text in rows.items() if text)
