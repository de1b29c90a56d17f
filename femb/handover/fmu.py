"""A linear model as a functional mock-up unit, FMI 2 for co-simulation, by pythonfmu.

Source: docs/theory/handover.md, equation (16); FMI standard 2.0.4, section 2.2.9 (names of variables) and chapter 4
(co-simulation).
"""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ModelError, ResultError
from femb.base.files import to_write
from femb.base.values import distinct
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import balancing

STEP = 0.01  # s, suggested to the importing program


def write_fmu(space: StateSpace, path: str | Path, *, step: float = STEP) -> Path:
    """Write an FMU whose inputs and outputs are those of a linear model; its path.

    It integrates x' = A x + B u exactly over each communication step, with inputs that are constant over the step. The
    initial states are the parameters ``start.STATE``. In names, what is neither letter nor digit becomes "_"; the
    descriptions have the names as they were. Inputs and outputs have their SI units. A program that runs the FMU needs
    a Python with numpy, but not femb.

    Parameters:
        space: the linear model.
        path: of the file, ending in ``.fmu``.
        step: s, suggested to the importing program, which may take any.

    Raises:
        ModelError: pythonfmu is not installed.
        ResultError: another suffix than .fmu, or it cannot be written.
    """
    path = Path(path)
    if path.suffix != ".fmu":
        raise ResultError(f"{path}: got the suffix {path.suffix!r}, must be .fmu")
    try:
        from pythonfmu.builder import FmuBuilder
    except ImportError as error:
        raise ModelError("pip install 'femb[fmu]': FMUs are written by pythonfmu, which is not installed") from error
    ((name, _),) = _variables([path.stem.replace(".", "_")])
    of, known = space.in_form(), space.known
    arrays: dict[str, Any] = {word: getattr(of, word) for word in "ABCD"}
    arrays |= {"sizes": balancing(of.A), "inverse": np.eye(len(of.A)) if known is None else known.form.inverse}
    for word in ("inputs", "outputs", "states"):
        variables = [(*each, space.units.get(each[1], "")) for each in _variables(getattr(space, word))]
        arrays[word] = np.array(variables, dtype=str).reshape(-1, 3)
    arrays |= {"name": name, "step": step, "description": f"linear model of {len(space.states)} states, by femb"}
    folders = list(sys.path)
    try:
        with to_write(path), tempfile.TemporaryDirectory() as folder:
            # a module of its own name, since programs load several FMUs into one Python
            script, data = Path(folder) / f"{name}_slave.py", Path(folder) / "linear.npz"
            shutil.copyfile(Path(__file__).with_name("fmu_slave.py"), script)
            np.savez(data, **arrays)
            able = {"canGetAndSetFMUstate": True, "canSerializeFMUstate": True}
            FmuBuilder.build_FMU(script, path, [data], **able)
    finally:
        # the builder imports the script by its folder
        sys.path[:] = folders
        sys.modules.pop(f"{name}_slave", None)
    return path


def _variables(names: Iterable[str]) -> list[tuple[str, str]]:
    """A name that the standard allows, unlike the others, and the name as it was."""
    names, allowed = list(names), list[str]()
    for name in names:
        parts = [re.sub(r"\W", "_", part, flags=re.ASCII) for part in name.split(".")]
        allowed.append(".".join(part if part[:1].isalpha() or part[:1] == "_" else f"_{part}" for part in parts))
    return list(zip(distinct(allowed), names, strict=True))
