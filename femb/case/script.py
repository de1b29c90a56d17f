"""Cases in Python: a script that defines ``build() -> Model`` and, for integration in time, ``run``."""

import contextlib
import inspect
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from femb.base.errors import FembError, ModelError
from femb.base.values import nearest
from femb.case.compose import refused
from femb.case.text import CaseError
from femb.model.model import Model


def build_script(path: Path, text: str, given: Mapping[str, tuple[str, Any]] | None = None) -> tuple[Model, Any]:
    """The model of a script and its ``run``: a Run, a dictionary of its fields, or None.

    The script is executed as a module, without its ``if __name__ == "__main__":``; its folder is searched for imports
    as when Python runs it. given : arguments of ``build`` by name, each with the text of its --set and its value.
    Raises CaseError with the script's line if it fails, has no ``build``, or ``build`` returns no Model.
    """
    module = types.ModuleType(f"femb_case_{path.stem}")
    module.__file__ = str(path)
    # Functions of the case can be pickled, as for parameter studies in several processes, only if the module is known.
    sys.modules[module.__name__] = module
    with _failures_located(path), _first_on_path(path.resolve().parent):
        exec(compile(text, str(path), "exec"), module.__dict__)
        make = getattr(module, "build", None)
        if not callable(make):
            raise CaseError.of_file(path, "defines no build(): a case in Python is def build() -> femb.Model: ...")
        model = make(**_arguments(make, given or {}))
    if not isinstance(model, Model):
        raise CaseError.of_file(path, f"build() returned {type(model).__name__}, wanted a femb.Model")
    return model, getattr(module, "run", None)


def _arguments(make: Callable[..., Any], given: Mapping[str, tuple[str, Any]]) -> dict[str, Any]:
    """The values of given arguments of a function. Raises CaseError where it has no argument of that name."""
    if given:
        parameters = inspect.signature(make).parameters.values()
        known = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
        anything = any(each.kind is each.VAR_KEYWORD for each in parameters)
        for name, (text, _) in given.items():
            if name not in known and not anything:
                there = f"there are: {', '.join(known)}" if known else "it has none"
                raise refused(text, f"build() has no argument {name!r}{nearest(name, known) or f'; {there}'}")
    return {name: value for name, (_, value) in given.items()}


@contextlib.contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


@contextlib.contextmanager
def _failures_located(path: Path) -> Iterator[None]:
    """Turn every error of a script into a CaseError with its line."""
    try:
        yield
    except CaseError:
        raise
    except ModelError as error:
        location = f"{path}:{_line(error, path)}"
        raise CaseError([f"{location}: {problem}" for problem in error.problems], error.problems) from error
    except SyntaxError as error:
        line = error.lineno if error.filename == str(path) else _line(error, path)
        raise CaseError.of_file(path, f"{type(error).__name__}: {error.msg}", line) from error
    except SystemExit as error:
        raise CaseError.of_file(path, "the script ended Python (sys.exit)", _line(error, path)) from error
    except Exception as error:
        name = "" if isinstance(error, FembError) else f"{type(error).__name__}: "
        raise CaseError.of_file(path, f"{name}{error}", _line(error, path)) from error


def _line(error: BaseException, path: Path) -> int | None:
    """The innermost line of the script in the error's traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return frames[-1].lineno if frames else None
