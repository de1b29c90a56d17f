"""The table that a reduction prints: mass properties, interfaces, modes, truncation."""

from typing import TYPE_CHECKING

import numpy as np

from femb.analysis.fem.checks import properties
from femb.base.types import Floats
from femb.numerics.rotations import cross_matrix

if TYPE_CHECKING:
    from femb.analysis.fem.reduction import Reduction

MOST_ROWS = 40
WORDS = ("x", "y", "z", "rx", "ry", "rz")


def report(of: "Reduction") -> str:
    """Lines of text."""
    body = of.body
    rigid = np.zeros((6, 6))
    cross = cross_matrix(body.first_moment)
    rigid[:3, :3], rigid[:3, 3:], rigid[3:, :3], rigid[3:, 3:] = body.mass * np.eye(3), -cross, cross, body.inertia
    mass, centre, inertia = properties(rigid)
    lines = [
        f"mass          {mass:.6g} kg",
        f"mass centre   {_vector(centre)} m, from the root",
        f"inertia       {_vector(np.diag(inertia))} kg m2 about the mass centre; products xy, xz, yz "
        f"{_vector(inertia[[0, 0, 1], [1, 2, 2]])}",
        f"coupling      {of.coupling}",
        "",
        "interface          kind    nodes  position, m, from the root",
    ]
    for k, (name, kind, point, count) in enumerate(of.interfaces):
        lines.append(f"{name + ('' if k else ' (root)'):18} {kind:6} {count or '':>6}  {_vector(point)}")
    lines += ["", "         frequency, Hz              effective mass with the root held, %"]
    lines.append(
        "mode     held  root held    error  " + "".join(f"{word:>7}" for word in ("x", "y", "z", "rx", "ry", "rz"))
    )
    for k in range(min(len(of.free), MOST_ROWS)):
        held = f"{of.held[k]:9.5g}" if k < len(of.held) else " " * 9
        error = "exact" if abs(of.error[k]) < 1e-9 else f"{of.error[k]:.1e}"
        lines.append(f"{k + 1:4}{held}  {of.free[k]:9.5g}  {error:>7}  {_parts(of.effective[k])}")
    if len(of.free) > MOST_ROWS:
        lines.append(f"and {len(of.free) - MOST_ROWS} more")
    lines.append(f"{'kept':33}  {_parts(of.effective.sum(axis=0))}")
    lines.append(f"{'left out':33}  {_parts(of.missing)}")
    return "\n".join(lines)


def _parts(values: Floats) -> str:
    return "".join(f"{100.0 * value + 0.0:7.2f}" for value in np.where(np.abs(values) < 5e-5, 0.0, values))


def _vector(x: Floats) -> str:
    return (
        "("
        + ", ".join(f"{value:.6g}" for value in np.where(np.abs(x) < 1e-12 * max(1.0, np.abs(x).max()), 0.0, x))
        + ")"
    )
