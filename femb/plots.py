"""Standard figures of `Results`: time histories as picture files.

    plot(results, "overview.png")
    plot(results, "tips.png", "tips")

A figure is a table of `Panel`, and a panel is data; only `femb.export.drawing` knows matplotlib. To
add a figure, write a function from `Results` to rows of panels and name it in `FIGURES`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from femb.errors import ResultError
from femb.export.drawing import Panel, draw_table
from femb.export.picture import picture
from femb.results import Beam, Results, listing

__all__ = ["FIGURES", "picture", "plot"]

Rows = list[list[Panel]]

ROW_LIMIT = 6  # what fits on one readable page
LINE_LIMIT = 40  # curves of one panel; more only make it black

AXES = ("x", "y", "z")
ANGLES = (r"$\psi$ (x)", r"$\varphi$ (y)", r"$\theta$ (z)")


def plot(results: Results, path: str | Path, what: str | None = None) -> Path:
    """Draw one of `FIGURES` into a file; returns the path written.

    Parameters
    ----------
    results : a run with output times.
    path : path of the picture
        The suffix gives the format (png, svg, pdf), png without one. Its folder is made.
    what : name in `FIGURES`; None is ``"overview"``.

    Raises ResultError for an unknown name, for results that have nothing of that kind to show, and
    where the file cannot be written.
    """
    what = what or "overview"
    if what not in FIGURES:
        raise ResultError(f"no figure {what!r}; there are: {listing(FIGURES)}")
    rows = FIGURES[what](results) if results.time.size else []
    if not rows:
        raise ResultError(f"these results have nothing to show in the figure {what!r}: {results!r}")
    title = f"{_title(results)}: {what.replace('_', ' ')}"
    if len(rows) > ROW_LIMIT:
        title += f" (the first {ROW_LIMIT} of {len(rows)})"
    return draw_table(results.time, rows[:ROW_LIMIT], title, Path(path))


def bodies(results: Results) -> Rows:
    """A row for each body that is not a ground: Euler angles and their rates, intrinsic x-y-z, degrees."""
    return [
        [
            Panel(body.name, "Euler angle", "deg", np.rad2deg(body.euler_angles()), ANGLES),
            Panel(body.name, "Euler rate", "deg/s", np.rad2deg(body.euler_rates()), ANGLES),
        ]
        for body in results.bodies.values()
        if not body.fixed
    ]


def tips(results: Results) -> Rows:
    """A row for each beam: how far its end came, and how far it bent away from the undeformed beam."""
    return [
        [
            Panel(f"{beam.name}, tip", "displacement", "m", beam.displacement[:, -1], AXES),
            Panel(f"{beam.name}, tip in {_axes(beam)}", "deflection", "m", beam.deflection[:, -1], AXES),
        ]
        for beam in results.beams.values()
    ]


def rotations(results: Results) -> Rows:
    """A row for each beam: Euler angles of every node's rotation from the reference shape, degrees."""
    rows = []
    for beam in results.beams.values():
        nodes = _some(beam.rotation.shape[1])
        labels = [f"node {i}" for i in nodes]
        angles = np.rad2deg(beam.euler_angles()[:, nodes])
        rows.append([Panel(beam.name, ANGLES[i], "deg", angles[..., i], labels, nodes, "node") for i in range(3)])
    return rows


def strains(results: Results) -> Rows:
    """A row for each beam: axial strain at both ends of every element."""
    rows = []
    for beam in results.beams.values():
        elements = beam.strain.shape[1]
        place = (np.arange(elements)[:, None] + np.arange(2)).reshape(-1)
        labels = [f"element {i} {end}" for i in range(elements) for end in ("start", "end")]
        values = beam.strain.reshape(-1, 2 * elements)
        chosen = _some(2 * elements)
        shown = [labels[i] for i in chosen]
        rows.append(
            [Panel(beam.name, "axial strain", "", values[:, chosen], shown, place[chosen], "elements from the start")]
        )
    return rows


def section_loads(results: Results) -> Rows:
    """A row for each beam: section force and moment at its start, section axes."""
    return [
        [
            Panel(f"{beam.name}, at the start", "force", "N", beam.section_force[:, 0, 0], AXES),
            Panel(f"{beam.name}, at the start", "moment", "N m", beam.section_moment[:, 0, 0], AXES),
        ]
        for beam in results.beams.values()
        if "section_force" in beam and "section_moment" in beam
    ]


def joints(results: Results) -> Rows:
    """A row for each joint: force and torque on its second body, axes of the first one's frame."""
    return [
        [
            Panel(joint.name, "force", "N", joint.force, AXES),
            Panel(joint.name, "torque", "N m", joint.torque, AXES),
        ]
        for joint in results.joints.values()
        if "force" in joint and "torque" in joint
    ]


def audit(results: Results) -> Rows:
    """Energies, and everything that should be conserved or zero."""
    audit = results.audit

    def together(title: str, quantity: str, unit: str, *names: str, log: bool = False) -> list[Panel]:
        found = [name for name in names if name in audit]
        labels = [name.removesuffix("_energy").removeprefix("constraint_") for name in found]
        curves = [audit[name] for name in found]
        return [Panel(title, quantity, unit, np.stack(curves, axis=-1), labels, log=log)] if found else []

    def change(title: str, unit: str, name: str) -> list[Panel]:
        return [Panel(title, "change", unit, audit[name] - audit[name][0], AXES)] if name in audit else []

    rows = [
        together("energy", "energy", "J", "kinetic_energy", "potential_energy", "work")
        + together("energy balance", "error", "J", "energy_error"),
        change("linear momentum", "N s", "linear_momentum") + change("angular momentum", "N m s", "angular_momentum"),
        together("constraints", "violation", "", "constraint_position", "constraint_velocity", log=True)
        + together("quaternions", "| length - 1 |", "", "quaternion_norm", log=True),
    ]
    return [row for row in rows if row]


def overview(results: Results) -> Rows:
    """The first body, the first two beams and the audit on one page."""
    return [*bodies(results)[:1], *tips(results)[:2], *audit(results)]


FIGURES: dict[str, Callable[[Results], Rows]] = {
    "overview": overview,
    "bodies": bodies,
    "tips": tips,
    "rotations": rotations,
    "strains": strains,
    "section_loads": section_loads,
    "joints": joints,
    "audit": audit,
}
"""Name of a figure -> function from results to its rows of panels, empty where there is nothing to show."""


def _some(count: int) -> np.ndarray:
    """Evenly spread indices, first and last among them, as many as a panel can show."""
    return np.unique(np.linspace(0, count - 1, min(count, LINE_LIMIT)).round().astype(int))


def _axes(beam: Beam) -> str:
    """Whose axes the deflection is in."""
    return f"axes of {beam.deflection_body}" if beam.deflection_body else "start section"


def _title(results: Results) -> str:
    """The title the case gives itself, else the plain word."""
    try:
        return str(tomllib.loads(results.case).get("title", "results"))
    except tomllib.TOMLDecodeError:
        return "results"
