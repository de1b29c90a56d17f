"""Numbers of a model that are legal and hardly meant: other units, degrees, per cent; and advice on how to run it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from femb.analysis.fem.checks import size_problem
from femb.analysis.time_scales import TimeScales
from femb.base.errors import FembError
from femb.base.options import Run
from femb.elements import ExactBeam, FlexibleBody, RigidBody, Section
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.system.system import System

# Young's and shear moduli (Pa) and densities (kg/m3) of what structures are made of, from foams to diamond.
MODULUS, DENSITY = (1e5, 2e12), (5.0, 3e4)
TURN = 2.0 * np.pi
LONGEST, THINNEST = 1000.0, 1.0  # m of a beam; length of a beam by the radius of gyration of its section
GRAVITY = 300.0  # m/s2
GYRATION = 500.0  # m, the radius of gyration of a rigid body
RATIO = 0.5  # of modal damping
# Revolutions of a joint in a run beyond which another formulation is worth a line, and how many were measured fewer.
REVOLUTIONS = 50.0
# Tension in a free beam by EI / L2 of an element beyond which tension carries it, and bending stiffness does not.
WIRE = 100.0


def implausible(model: Model) -> tuple[str, ...]:
    """Sentences on numbers that are probably in other units than SI and radians, each with its item."""
    of_items = (_sections(model), _beams(model), _bodies(model), _flexible(model), _angles(model), _others(model))
    return tuple(line for lines in of_items for line in lines)


def advice(system: "System", run: Run | None, scales: TimeScales) -> tuple[str, ...]:
    """Sentences on beams and options of the run that suit the model better."""
    return (*_wires(system), *_formulation(system, run, scales))


def _wires(system: "System") -> Iterator[str]:
    """Exact beams that their rotation at the start pulls to wires: docs/howto/beams.md, section on wires."""
    layout = system.layout
    for name, beam in system.model.beams.items():
        if not isinstance(beam, ExactBeam):
            continue
        frames = [each.frame for each in layout.beams[name].stations if layout.frames[each.frame].freedom == 6]
        spin = max((float(np.linalg.norm(system.v0[layout.frame_v[k] + 3 :][:3])) for k in frames), default=0.0)
        sections = beam.sections_along(system.model)
        mass = np.mean([section.line_mass() for section in sections])
        stiffness = max(np.linalg.eigvalsh(section.stiffness()[2:, 2:])[-1] for section in sections)
        tension = 0.125 * mass * (spin * beam.shape.length) ** 2
        if tension * beam.shape.lengths[0] ** 2 > WIRE * stiffness:
            yield (
                f"beams.{name}: the tension of its rotation carries it, not its bending stiffness: frequencies of such "
                'wires are of order 4 in the length of exact elements, of order 6 with kind = "beam"'
            )


def _formulation(system: "System", run: Run | None, scales: TimeScales) -> tuple[str, ...]:
    """Another formulation for joints that turn often."""
    if run is None or run.formulation not in ("velocity", "quaternion"):
        return ()
    fast = {name: spin * run.duration / TURN for name, spin in scales.spins.items()}
    name = max(fast, key=lambda each: fast[each], default="")
    if not name or fast[name] < REVOLUTIONS:
        return ()
    from femb.formulations import make_formulation

    try:
        make_formulation(system, "reduced")
    except FembError:
        return ()
    return (
        f'joints.{name} turns {fast[name]:.3g} times in the run: run.formulation = "reduced", in the angles of the '
        "joints, takes far fewer steps for fast wheels",
    )


def _sections(model: Model) -> Iterator[str]:
    for name, section in model.tables["sections"].items():
        at = f"sections.{name}"
        for word in ("youngs_modulus", "shear_modulus"):
            value = getattr(section, word)
            if value is not None and not MODULUS[0] <= value <= MODULUS[1]:
                yield f"{at}.{word}: {value:g} Pa is that of no material; GPa are to be multiplied by 1e9"
        if section.density is not None and not DENSITY[0] <= section.density <= DENSITY[1]:
            yield f"{at}.density: {section.density:g} kg/m3 is that of no material; g/cm3 are to be multiplied by 1e3"
        if section.area is not None and section.second_moments is not None:
            yield from _shape(at, section)


def _shape(at: str, section: Section) -> Iterator[str]:
    """Second moments that do not belong to the area: the radius of gyration by the root of the area is near 0.3."""
    assert section.area is not None
    assert section.second_moments is not None
    ratio = np.sqrt(np.asarray(section.second_moments) / section.area**2)
    if np.any(ratio > 100.0) or np.any(ratio < 1e-3):
        yield (
            f"{at}.second_moments: {_list(section.second_moments)} m4 do not belong to an area of {section.area:g} "
            "m2; mm4 are to be multiplied by 1e-12, mm2 by 1e-6"
        )


def _beams(model: Model) -> Iterator[str]:
    for name, beam in model.beams.items():
        length = beam.shape.length
        if length > LONGEST:
            yield f"beams.{name}.length: {length:g} m; mm are to be multiplied by 1e-3"
        for section in (*(model.tables["sections"][each] for each in beam.section_names), *beam.parts()):
            stiffness = np.diag(section.stiffness())
            radius = float(np.sqrt(max(stiffness[2:]) / stiffness[0]))
            if radius * THINNEST > length:
                yield (
                    f"beams.{name}: its section {section.name!r} has a radius of gyration of {radius:.3g} m, more than "
                    f"its length of {length:g} m; are both in m?"
                )


def _bodies(model: Model) -> Iterator[str]:
    for name, body in model.bodies.items():
        if isinstance(body, RigidBody):
            radius = float(np.sqrt(np.max(np.abs(np.asarray(body.inertia))) / body.mass))
            if radius > GYRATION:
                yield (
                    f"bodies.{name}.inertia: with a mass of {body.mass:g} kg it is that of a body of {radius:.3g} m; "
                    "kg mm2 are to be multiplied by 1e-6"
                )


def _flexible(model: Model) -> Iterator[str]:
    for name, body in model.bodies.items():
        if isinstance(body, FlexibleBody):
            whole = body.reduced
            length = float(np.sqrt(3.0 * np.linalg.eigvalsh(whole.inertia)[-1] / whole.mass))
            first = float(whole.frequencies()[0]) if whole.size else None
            if problem := size_problem(first, length, whole.mass):
                yield f"bodies.{name}.file: {problem}"


def _angles(model: Model) -> Iterator[str]:
    for name, body in model.bodies.items():
        angles = getattr(body, "euler_angles", None)
        if angles is not None and np.max(np.abs(angles)) > TURN:
            yield f"bodies.{name}.euler_angles: {_list(angles)} rad is more than a turn; are these degrees?"
    for name, joint in model.tables["joints"].items():
        if joint.start is None:
            continue
        for coordinate, value in zip(joint.coordinates, np.atleast_1d(joint.start), strict=True):
            if coordinate.is_angle and abs(value) > TURN:
                yield f"joints.{name}.start: {value:g} rad is more than a turn; are these degrees?"


def _others(model: Model) -> Iterator[str]:
    size = float(np.linalg.norm(model.gravity))
    if size > GRAVITY:
        yield f"gravity: {size:g} m/s2; mm/s2 are to be multiplied by 1e-3"
    for name, damping in model.tables["modal_damping"].items():
        if np.max(np.asarray(damping.ratio, dtype=float), initial=0.0) > RATIO:
            yield f"modal_damping.{name}.ratio: {np.max(damping.ratio):g}; per cent are to be multiplied by 0.01"


def _list(values: object) -> str:
    return "[" + ", ".join(f"{value:g}" for value in np.atleast_1d(np.asarray(values, dtype=float))) + "]"
