"""Flexible bodies as input of the simulator 42: node file, flex file, and the lines of the spacecraft file.

Every line of values is followed by text, has fewer than 80 characters, and counts from zero; names of files have fewer
than 40. Source: docs/howto/handover.md, E. Stoneking, 42, Docs/Kane_NBody_Flex and Source/42init.c (InitFlexModes).
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from femb.analysis.handover.flexible_body import FlexibleBody, Points, appendage_bodies, mean_axes_body
from femb.analysis.handover.spacecraft42 import spacecraft_lines
from femb.analysis.modes.appendages import held_body
from femb.analysis.modes.solution import solution
from femb.base.errors import ModelError, ResultError
from femb.base.types import Floats
from femb.base.values import shown
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.system.system import System

# Relative to the largest of its kind: smaller numbers are rounding, and are not written.
ROUNDING = 1e-13


def write_flex42(
    model: "Model | System",
    folder: str | Path,
    count: int,
    *,
    held: str,
    reference: str = "cm",
    hf_factor: float = 1.0,
    start: str = "as_given",
    damping: float | None = None,
    points: Points | None = None,
) -> list[Path]:
    """Write the flexible-body input of 42 for the ``model`` of a satellite to a folder; the paths of its files.

    count : modes. held : the hub, whose axes are those of body 0. reference : "cm", free modes of the whole satellite
    in mean axes as body 0; or "joint", a rigid hub and each appendage with its root held, as outer bodies on locked
    joints. hf_factor : factor 1 or 0.5, of Hf, which 42 as of March 2025 adds twice for outer bodies. damping : ratio
    of every mode of an appendage with the hub held. start, points : as of ``hybrid_coordinates``; the points are the
    nodes.

    Raises ModelError: as ``hybrid_coordinates``; an unknown reference or factor; ResultError.
    """
    if reference not in ("cm", "joint"):
        raise ModelError(f"reference: got {shown(reference)}, wanted 'cm' or 'joint'")
    if hf_factor not in (0.5, 1.0) or (reference == "cm" and hf_factor != 1.0):
        raise ModelError(f"hf_factor: got {shown(hf_factor)}, wanted 1, or 0.5 where reference = 'joint'")
    hub = None
    if reference == "cm":
        bodies: Sequence[FlexibleBody] = (
            mean_axes_body(model, count, held=held, start=start, damping=damping, points=points),
        )
        remark = "modes of the whole in mean axes"
    else:
        bodies = appendage_bodies(model, count, held=held, start=start, damping=damping, points=points)
        motion = solution(model, 1, start=start).motion
        hub = held_body(motion, held, motion.system.layout.bodies[held])
        remark = "Hf halved: 42 adds it twice" if hf_factor == 0.5 else "Hf as defined: 42 may add it twice"
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = []
        for body in bodies:
            word = re.sub(r"\W", "_", body.name, flags=re.ASCII)[:28]
            for kind, lines in (("Nodes", node_lines(body)), ("Flex", flex_lines(body, remark, hf_factor))):
                files.append(_written(folder / f"{kind}_{word}.txt", lines))
        names = [path.name for path in files]
        word = re.sub(r"\W", "_", held, flags=re.ASCII)[:28]
        lines = spacecraft_lines(bodies, names, hub)
        return [_written(folder / f"SC_{word}_bodies.txt", lines), *files]
    except OSError as error:
        raise ResultError(f"{folder}: cannot be written ({error})") from error


def node_lines(body: FlexibleBody) -> Iterator[str]:
    """The node file: places in the body's axes, from its origin: the hub's where the mass centre is the reference."""
    yield "<<<<<<<<<<<<<<<<<  42: Node File, by femb  >>>>>>>>>>>>>>>>>"
    yield f"nodes of {body.name[:40]}"
    yield f"{len(body.nodes)}  ! number of nodes"
    yield "! place m, comment"
    for node in body.nodes:
        place = node.position - (body.hub if body.in_mean_axes else 0.0)
        yield f'{_numbers(place, 9)} "{node.name[:20]}"'


def flex_lines(body: FlexibleBody, remark: str, hf_factor: float) -> Iterator[str]:
    """The flex file, line by line."""
    k, of = len(body.frequencies), body.integrals
    yield "<<<<<<<<<<<<<<  42: Flexible Body Input, by femb  >>>>>>>>>>>>>>"
    yield f"{body.name[:30]}, {remark}"
    yield f"{k}  ! number of modes"
    yield "************** Initial Modal States x, u **************"
    for j in range(k):
        yield f"0.0 0.0  ! x u, mode {j}"
    yield "************** Joint Node Mode Shapes **************"
    yield from _table("PSI, translation", np.zeros((k, 0, 3)), "mode joint axis")
    yield from _table("THETA, rotation", np.zeros((k, 0, 3)), "mode joint axis")
    yield "************** Analysis Node Mode Shapes **************"
    rows = np.array([node.rows for node in body.nodes]).reshape(-1, 6, k).transpose(2, 0, 1)
    yield from _table("PSI, translation", rows[..., :3], "mode node axis")
    yield from _table("THETA, rotation", rows[..., 3:], "mode node axis")
    yield from _table("mass", np.eye(k), "row column")
    yield from _table("stiffness", np.diag((2.0 * np.pi * body.frequencies) ** 2), "row column")
    yield from _table("damping", body.damping, "row column")
    mean = body.in_mean_axes
    for word, vectors in (("Pf, linear", of.S1), ("Hf, angular", hf_factor * of.C0)):
        yield f"************** {word} momentum modal integral **************"
        for j, vector in enumerate(0.0 * vectors if mean else vectors):
            yield f"{_numbers(vector)}  ! mode {j}"
    yield from _table("L, linear modal integral", of.B0.transpose(1, 2, 0), "i j mode")
    yield from _table("N, angular modal integral", of.B.transpose(2, 3, 0, 1), "i j mode mode")
    yield "[EOF]"


def _table(what: str, values: Floats, indices: str) -> Iterator[str]:
    """A header, the number of entries that are not zero, and these with their indices."""
    yield f"******* Non-zero elements of {what} *******"
    least = ROUNDING * float(np.max(np.abs(values), initial=0.0))
    places = np.argwhere(np.abs(values) > least)
    yield f"{len(places)}  ! number of non-zero elements"
    for place in places:
        yield f"{' '.join(map(str, place))} {values[tuple(place)]:.15e}  ! {indices} value"


def _numbers(vector: Floats, digits: int = 14) -> str:
    return " ".join(f"{x:.{digits}e}" for x in vector + 0.0)


def _written(path: Path, lines: Iterator[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii", errors="replace")
    return path
