"""Sheets: named figures, functions from a `Subject` to rows of panels; no rows without data.

To add one, write the function and name it in `SHEETS`; the command line and case files then know it.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from femb.base.quantity import Group
from femb.base.types import Floats
from femb.elements.beam.results import BeamResults, axial_stress, shear_stress, von_mises
from femb.elements.beam.results import section_loads as loads_of_sections
from femb.elements.body.results import BodyResults, nodal_von_mises_at
from femb.pictures.drawing import Panel
from femb.pictures.subject import Rows, Subject, some
from femb.pictures.words import ANGLES, DEGREES, LABELLED, XYZ, channels, words
from femb.results.groups import BudgetResults

# Sheets of loads: root loads of appendages, section loads and stresses of beams over time.

FORCES = ("axial", "shear y", "shear z")
MOMENTS = ("torsion", "bending y", "bending z")
MEGA = 1e-6
ALIKE = 1e-5  # largest difference of items that are shown once, as part of their largest value


def root_loads(subject: Subject) -> Rows:
    """A row for each appendage: its force and torque on its parent, axes of that."""
    rows = []
    for group in subject.of("appendages"):
        parts = [channel for word in ("force", "torque") for channel in channels("appendages", group, word)]
        parent = group.attributes.get("parent", "the ground")
        rows.append([subject.panel(f"root of {group.name}, axes of {parent}", channel) for channel in parts])
    return [row for row in rows if row]


def section_forces(subject: Subject) -> Rows:
    """A row for each beam: at each instant the section forces and moments that are largest along it."""
    rows = []
    for beam in subject.of("beams"):
        if "midpoint_force" in beam:
            loads = _largest(loads_of_sections(beam))
            forces, moments = subject.clean(loads[:, :3], "force"), subject.clean(loads[:, 3:], "torque")
            title = f"{beam.name}, largest along it"
            rows.append([Panel(title, "section force", "N", forces, FORCES)])
            rows[-1].append(Panel(title, "section moment", "N m", moments, MOMENTS))
    return rows


def stress(subject: Subject) -> Rows:
    """A row for each beam: the extremes of the axial stress and the largest other stresses along it; for each shell
    with plies, of both surfaces; and the largest of the nodes of each flexible body with stresses."""
    rows = []
    for beam in subject.of("beams"):
        if "stress_section" in beam and "midpoint_force" in beam:
            axial = MEGA * axial_stress(beam).reshape(len(subject.results.time), -1)
            extremes = np.stack([np.max(axial, axis=1), np.min(axial, axis=1)], axis=1)
            others = [np.max(MEGA * von_mises(beam), axis=(1, 2, 3))]
            labels = ["von Mises"]
            shear = shear_stress(beam)
            if not np.any(np.isnan(shear)):
                others.append(np.max(MEGA * shear, axis=(1, 2)))
                labels.append("torsion")
            title = f"{beam.name}, extremes along it"
            rows.append([Panel(title, "axial stress", "MPa", extremes, ("largest", "smallest"))])
            rows[-1].append(Panel(title, "stress", "MPa", np.stack(others, axis=1), labels))
    for shell in subject.of("shells"):
        if "ply_recovery" in shell and "bending_moment" in shell:
            stress, mises = (
                MEGA * np.asarray(getattr(shell, word)) for word in ("surface_stress", "surface_von_mises")
            )
            title, stress = f"{shell.name}, extremes", stress[..., :2]
            extremes = np.stack([stress.max(axis=(1, 2, 3)), stress.min(axis=(1, 2, 3))], axis=1)
            rows.append([Panel(title, "surface stress", "MPa", extremes, ("largest", "smallest"))])
            rows[-1].append(Panel(title, "von Mises", "MPa", mises.max(axis=1), ("behind the normal", "in front")))
    for body in subject.of("bodies"):
        if "stress_shapes" in body and "deformation" in body:
            largest = [np.max(nodal_von_mises_at(body, slice(k, k + 1))) for k in range(len(subject.results.time))]
            rows.append([Panel(f"{body.name}, largest", "von Mises", "MPa", MEGA * np.array(largest)[:, None], ("",))])
    return rows


def _largest(values: Floats) -> Floats:
    """(T, c) the values of the largest magnitude of (T, e, s, c)."""
    flat = values.reshape(len(values), -1, values.shape[-1])
    places = np.argmax(np.abs(flat), axis=1)[:, None]
    return np.take_along_axis(flat, places, axis=1)[:, 0]


LATCHES = "events/latches."


def bodies(subject: Subject) -> Rows:
    """A row for each body that is not a ground: Euler angles and their rates, intrinsic x-y-z, degrees."""
    return [_of_one(subject, "bodies", body, "euler_angles", "euler_rates") for body in subject.of("bodies")]


def tips(subject: Subject) -> Rows:
    """A row for each beam: displacement and deflection of its end."""
    rows = []
    for beam in subject.of("beams"):
        assert isinstance(beam, BeamResults)
        title = f"{beam.name}, tip in {_axes(beam)}"
        rows.append([_panel(subject, title, "deflection", beam.deflection[:, -1])])
        if subject.results.frame == "inertial":  # in another frame they are the same
            rows[-1].insert(0, _panel(subject, f"{beam.name}, tip", "displacement", beam.displacement[:, -1]))
    return rows


def rotations(subject: Subject) -> Rows:
    """A row for each beam: Euler angles of every node's rotation from the reference shape, degrees."""
    rows = []
    for beam in subject.of("beams"):
        assert isinstance(beam, BeamResults)
        nodes = some(beam.rotation.shape[1])
        labels = [f"node {i}" for i in nodes]
        angles = np.rad2deg(beam.euler_angles()[:, nodes])
        rows.append(
            [
                Panel(beam.name, name, "deg", subject.clean(angles[..., i], "one"), labels, nodes, "node")
                for i, name in enumerate(ANGLES)
            ]
        )
    return rows


def strains(subject: Subject) -> Rows:
    """A row for each beam: axial strain at both ends of every element."""
    rows = []
    for beam in subject.of("beams"):
        for channel in subject.element_ends(beam, "strain"):
            elements = beam["strain"].shape[1]
            positions = (np.arange(elements)[:, None] + np.arange(2)).reshape(-1)[some(2 * elements)]
            rows.append([subject.panel(beam.name, channel, positions, "elements from the start")])
    return rows


def section_loads(subject: Subject) -> Rows:
    """A row for each beam: section force and moment at its start, section axes."""
    return [
        [
            _panel(subject, f"{beam.name}, at the start", "section_force", beam["section_force"][:, 0, 0]),
            _panel(subject, f"{beam.name}, at the start", "section_moment", beam["section_moment"][:, 0, 0]),
        ]
        for beam in subject.of("beams")
        if "section_force" in beam and "section_moment" in beam
    ]


def joints(subject: Subject) -> Rows:
    """A row for each joint: force and torque on its second body, axes of the first one's frame."""
    return _of_items(subject, "joints", "force", "torque")


def drivers(subject: Subject) -> Rows:
    """A row for each driver: the prescribed value, and the force or torque of the drive."""
    return [_of_one(subject, "drivers", driver, "value", "force") for driver in subject.of("drivers")]


def springs(subject: Subject) -> Rows:
    """A row for each spring, friction or stop: its length or angle, and its force or torque."""
    return [_of_one(subject, "springs", spring, "length", "angle", "force") for spring in subject.of("springs")]


def loads(subject: Subject) -> Rows:
    """A row for each load: its force and its torque; of a load along a beam its factor."""
    return _of_items(subject, "loads", "force", "torque", "factor")


def latches(subject: Subject) -> Rows:
    """Coordinates and rates of the joints, with the instants at which latches closed or opened."""
    marks = {
        path.removeprefix(LATCHES).rsplit("/", 1)[0]: tuple(map(float, np.atleast_1d(times)))
        for path, times in subject.results.arrays.items()
        if path.startswith(LATCHES) and path.endswith("/time")
    }
    if not marks:
        return []
    instants = tuple(sorted({t for times in marks.values() for t in times}))
    rows = [*subject.rows("coordinates"), *subject.rows("rates")]
    return [[replace(panel, marks=instants) for panel in row] for row in rows]


def energy(subject: Subject) -> Rows:
    """Energies and work, and the error of their balance."""
    row = [
        *_together(subject, "energy", "kinetic_energy", "potential_energy", "work"),
        *_together(subject, "energy balance", "energy_error"),
    ]
    return [row] if row else []


def momentum(subject: Subject) -> Rows:
    """Change of the linear and the angular momentum since the first output time."""
    row = []
    for word in ("linear_momentum", "angular_momentum"):
        if word in subject.results.audit:
            values = subject.results.audit[word]
            title = LABELLED[word].label
            shown = subject.clean(values - values[0], word.removeprefix("linear_"))
            row.append(Panel(title, "change", LABELLED[word].unit, shown, XYZ))
    return [row] if row else []


def budget(subject: Subject) -> Rows:
    """Work of each kind of items, their electrical energy, and the impulses of what acts from outside, if not zero."""
    row, results = [], subject.results
    for word in ("work", "electrical_energy", "impulse", "angular_impulse"):
        momentum = word.replace("impulse", "momentum") if word == "angular_impulse" else "linear_momentum"
        # without gravity, ground or loads the rest is the error of the others
        errors = ["rest"] if results.attributes.get("audit", {}).get(f"{momentum}_changed_by") == "[]" else []
        found = [(group.name, group[word]) for group in results.budget.values() if word in group]
        found = [(name, values.reshape(len(values), -1)) for name, values in found if name not in errors]
        if not any(np.any(values) for _, values in found):
            continue
        of_energy = word in ("work", "electrical_energy")
        labels = [f"{name.replace('_', ' ')} {axis}" for name, _ in found for axis in (("",) if of_energy else XYZ)]
        scale = "energy" if of_energy else momentum.removeprefix("linear_")
        shown = subject.clean(np.concatenate([values for _, values in found], axis=1), scale)
        kept, title = np.flatnonzero(shown.any(axis=0)), word.replace("_", " ")
        labels, unit = [labels[k].strip() for k in kept], BudgetResults.quantities()[word].unit
        row.append(Panel(labels[0] if len(labels) == 1 else title, title, unit, shown[:, kept], labels))
    return [row] if row else []


def loop(subject: Subject) -> Rows:
    """A row for each controller: reference, true error, what it reads, measured as steps and true dashed, its commands
    as steps, and what acts."""
    from femb.results.loop_signals import loop_signals  # runs check figures, and draw them later

    rows: dict[str, list[Panel]] = {}
    signals = loop_signals(subject.results)
    true = {signal.path.rpartition("/")[0]: signal.values for signal in signals if signal.role == "true"}
    for signal in signals:
        name, word = signal.path.split("/")[1], signal.role
        of_sensor = word == "true" and signal.samples is not None
        if of_sensor or word == "clips" or not signal.values.size:
            continue
        degrees = DEGREES if signal.unit == "rad" else 1.0
        unit = "deg" if signal.unit == "rad" else signal.unit
        values = true.get(signal.path.rpartition("/")[0], signal.values) if word == "measured" else signal.values
        samples = None
        if signal.time is not None and signal.samples is not None:
            samples = signal.time, degrees * signal.samples
        labels = [each.rpartition(".")[0].partition(".")[2] or each for each in signal.components] or [""]
        title = f"{signal.controller}: {word}" + (f" {name}" if word in ("measured", "true", "acting") else "")
        panel = Panel(title, word, unit, degrees * values, labels, samples=samples, steps_only=word == "command")
        rows.setdefault(signal.controller, []).append(panel)
    return [panels[k : k + 3] for panels in rows.values() for k in range(0, len(panels), 3)]


def audit(subject: Subject) -> Rows:
    """Energies, and all quantities that should be conserved or zero."""
    violations = [
        *_together(subject, "constraints", "constraint_position", "constraint_velocity", log=True),
        *_together(subject, "quaternions", "quaternion_norm", log=True),
    ]
    return [row for row in (*energy(subject), *momentum(subject), violations) if row]


def overview(subject: Subject) -> Rows:
    """The moving items and the energies: the default where the case defines no overview."""
    rows = [*subject.rows("coordinates")[:2], *_differing(drivers(subject))[:2], *_alike(tips(subject))[:2]]
    if len(rows) < 4:
        moving = [_of_one(subject, "bodies", body, "displacement", "euler_angles") for body in subject.of("bodies")]
        rows = [*_alike(moving)[: 4 - len(rows)], *rows]
    rows = [*rows, *energy(subject), *_differing(momentum(subject))]
    return rows or bodies(subject) or audit(subject)


SHEETS = (
    overview, bodies, tips, rotations, strains, section_loads, section_forces, stress,
    root_loads, joints, drivers,
    springs, loads, latches, loop, energy, momentum, budget, audit,
)  # fmt: skip
FIGURES: dict[str, Callable[[Subject], Rows]] = {sheet.__name__: sheet for sheet in SHEETS}
"""Name of a figure -> function from a subject to its rows of panels, which may be empty."""


def _of_items(subject: Subject, kind: str, *words: str) -> Rows:
    """A row of some quantities for each item of a kind that has them."""
    rows = (_of_one(subject, kind, item, *words) for item in subject.of(kind))
    return [row for row in rows if row]


def _of_one(subject: Subject, kind: str, group: Group, *words: str) -> list[Panel]:
    """A row of some quantities of one item."""
    if isinstance(group, BodyResults) and "quaternion" not in group:
        return []
    return [subject.panel(group.name, channel) for word in words for channel in channels(kind, group, word)]


def _panel(subject: Subject, title: str, word: str, values: Floats) -> Panel:
    known = words()[word]
    return Panel(title, known.label, known.unit, subject.clean(values, known.scale), known.components)


def _together(subject: Subject, title: str, *words: str, log: bool = False) -> list[Panel]:
    """Histories of the audit in one panel."""
    recorded = [word for word in words if word in subject.results.audit]
    if not recorded:
        return []
    values = [subject.clean(subject.results.audit[word][:, None], LABELLED[word].scale) for word in recorded]
    labels = [LABELLED[word].components[0] for word in recorded]
    first = LABELLED[recorded[0]]
    return [Panel(title, first.label, first.unit, np.concatenate(values, axis=1), labels, log=log)]


def _differing(rows: Rows) -> Rows:
    """Rows with nonzero values."""
    return [row for row in rows if any(np.any(panel.values) for panel in row)]


def _alike(rows: Rows) -> Rows:
    """One of the rows with nonzero values that have the same sizes at all times, as of equal antennas around a hub, and
    how many there are."""
    found: list[tuple[list[Floats], list[list[Panel]]]] = []
    for row in _differing(rows):
        sizes = [np.linalg.norm(panel.values, axis=1) for panel in row]
        for others, equal in found:
            if len(others) == len(sizes) and all(_same(*both) for both in zip(others, sizes, strict=True)):
                equal.append(row)
                break
        else:
            found.append((sizes, [row]))
    return [
        [replace(panel, title=f"{panel.title} (one of {len(equal)} alike)") for panel in equal[0]]
        if len(equal) > 1
        else equal[0]
        for _, equal in found
    ]


def _same(first: Floats, second: Floats) -> bool:
    """Whether two histories (T,) are equal up to errors of the integration."""
    largest = np.max(np.abs(first), initial=0.0, where=np.isfinite(first))
    return np.allclose(first, second, rtol=0.0, atol=ALIKE * largest, equal_nan=True)


def _axes(beam: BeamResults) -> str:
    """The axes of a beam's deflection, in words."""
    return f"axes of {beam.deflection_body}" if beam.deflection_body else "start section"
