"""What a model is, at a glance: the function behind ``femb check``."""

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.analysis.completion import check_figures_of, system_of
from femb.analysis.mass_properties import mass_properties
from femb.analysis.plausible import advice, implausible
from femb.analysis.time_scales import TimeScales, time_scales
from femb.base.errors import FembWarning
from femb.base.options import Run, StartState
from femb.base.types import Floats
from femb.base.values import numbered, vector, without_rounding
from femb.layout.connections import groups_of, unconnected
from femb.model.model import Model
from femb.numerics.components import norm

if TYPE_CHECKING:
    from femb.system.system import System

# Beams whose first bending is listed; of more, the slowest.
LISTED = 12


@dataclass(frozen=True, eq=False)
class Overview:
    """A model at its start.

    counts : of bodies, beams, elements, joints, loads, springs. lines : of the choice of the
    method, connections, modal damping, degrees of freedom. mass (kg), centre (3,) m and inertia (3, 3) about it, kg m2,
    inertial axes; None without parts that move.
    scales : how slow and fast it moves. warnings : numbers that are probably in other units. advice : on the run.
    """

    title: str
    counts: dict[str, int]
    velocities: int
    coordinates: int
    tree: bool
    lines: tuple[str, ...]
    mass: float | None
    centre: Floats | None
    inertia: Floats | None
    scales: TimeScales
    warnings: tuple[str, ...]
    advice: tuple[str, ...]
    system: "System"

    def text(self) -> str:
        """Counts, connections, degrees of freedom, mass properties and time scales, a line for each."""
        counts, elements = self.counts, self.counts["elements"]
        beams = numbered(counts["beams"], "beam") + (f" of {numbered(elements, 'element')}" if elements else "")
        items = (numbered(counts["bodies"], "body"), beams, numbered(counts["loads"], "load"))
        lines = [
            self.title or "untitled model",
            ", ".join((*items, numbered(counts["springs"], "spring"))),
            f"{self.velocities} velocities, {self.coordinates} coordinates; "
            + ("a tree of frames" if self.tree else "closed loops of frames"),
            *self.lines,
        ]
        if self.centre is not None and self.inertia is not None:
            centre = without_rounding(self.centre, self.system.layout.extent)
            lines.append(f"mass {self.mass:.6g} kg, mass centre at {vector(centre)} m")
            moments = np.linalg.eigvalsh(self.inertia)
            lines.append(f"principal moments about it {', '.join(f'{x:.6g}' for x in moments)} kg m2")
            lines.append(f"inertia about it {_inertia(self.inertia)} kg m2, inertial axes")
        return "\n".join([*lines, *self._motion()])

    def _motion(self) -> list[str]:
        """Lines of the time scales."""
        scales = self.scales
        bending = sorted(scales.bending, key=lambda each: each.frequency)[:LISTED]
        left = len(scales.bending) - len(bending)
        chosen = [each for each in scales.bending if each in bending]
        lines = [f"{each.item}: {each.how} at about {each.frequency:.4g} Hz" for each in chosen]
        lines += [f"and {left} more beams, of faster bending"] if left else []
        fastest, (rate, label) = scales.fastest, scales.rotation
        if fastest is not None:
            lines.append(f"fastest vibration {fastest.frequency:.4g} Hz, mostly of {fastest.item}")
        if rate > 0.0:
            lines.append(f"fastest rotation {rate:.4g} rad/s, a turn in {2.0 * np.pi / rate:.4g} s, of {label}")
        return lines + [f"advice: {line}" for line in self.advice]

    def values(self) -> dict[str, Any]:
        """The same as numbers, texts, lists and dictionaries of them."""
        scales, fastest = self.scales, self.scales.fastest
        words = ("title", "counts", "velocities", "coordinates", "tree", "mass", "centre", "inertia", "warnings")
        return {
            **{word: getattr(self, word) for word in (*words, "advice")},
            "notes": self.lines,
            "first_bending": [asdict(each) for each in scales.bending],
            "fastest_vibration": None if fastest is None else asdict(fastest),
            "fastest_rotation": {"item": scales.rotation[1], "rate": scales.rotation[0]},
            "joint_rates": scales.spins,
        }

    def picture(self, path: str | Path) -> Path:
        """Draw the model at its start; the path written. Raises ResultError: nothing to draw, no permission."""
        from femb.export.picture import picture
        from femb.results.record import still

        system = self.system
        return picture(still(system, np.zeros(1), system.q0[None], system.v0[None], "check"), path, 1)


def overview(model: Model, run: Run | None = None) -> Overview:
    """What a model is at its start. Raises ModelError with every problem of the model.

    run : for the start, and to check that its formulation admits the model.
    """
    from femb.analysis.memory import check_memory
    from femb.analysis.method_choice import with_method
    from femb.formulations import make_formulation

    system = system_of(model, run is not None and run.assembles)
    if run is not None and isinstance(run.start, StartState):
        from femb.analysis.continuation import start_state

        system = start_state(system, run.start)
        recoil: list[str] = []
    else:
        recoil = _recoil_lines(system)
    check_figures_of(model)
    method: list[str] = []
    if run is not None:
        run, reason = with_method(system, run)
        method = [f"method {reason}"] if reason else []
        make_formulation(system, run.formulation)
        check_memory(system, run)
        if run.output.restricted:
            from femb.results.record import Recorder

            Recorder(system, run.output)
        for warning in run.unused():
            warnings.warn(warning, FembWarning, stacklevel=2)
    damping = [f"modal damping {item.description}" for item in system.model.tables["modal_damping"].values()]
    freedom = _freedom_lines(system) if system.n_c else []
    mass, centre, inertia = mass_properties(system) if system.layout.frames else (None, None, None)
    scales = time_scales(system)
    return Overview(
        model.title,
        {
            **{word: len(model.tables[word]) for word in ("bodies", "beams", "joints", "loads", "springs")},
            "elements": sum(beam.elements for beam in model.beams.values()),
        },
        system.n_v,
        system.n_q,
        bool(system.layout.is_tree),
        (*method, *unconnected(system.layout), *damping, *freedom, *recoil),
        mass,
        centre,
        inertia,
        scales,
        implausible(system.model),
        advice(system, run, scales),
        system,
    )


def _recoil_lines(system: "System") -> list[str]:
    """Free structures that rates of joints set in motion, while no velocity of a body is given: the momentum is zero,
    and the heaviest body recoils."""
    layout, v = system.layout, system.v0
    motions = (item.start_motion(layout) for item in system.model.items())
    given = {motion.station.frame for motion in motions if motion is not None}
    bodies = system.model.bodies  # masses on beams have no frame, interfaces of flexible bodies no item
    masses = {frame: (getattr(bodies.get(name), "mass", 0.0), name) for name, frame in layout.bodies.items()}
    lines = []
    for frames in groups_of(layout, springs=True, rows=True):
        inside = set(frames)
        rates = [
            f"joints.{name}"
            for name, joint in system.model.tables["joints"].items()
            if joint.rates is not None and np.any(joint.rates) and layout.joints[name].first.frame in inside
        ]
        heavy = max((masses[k] + (k,) for k in frames if k in masses), default=None)
        if not rates or heavy is None or inside & given or any(layout.frames[k].freedom == 0 for k in frames):
            continue
        i, name = int(layout.frame_v[heavy[2]]), heavy[1]
        parts = ((v[i : i + 3], "m/s", "velocity"), (v[i + 3 : i + 6], "rad/s", "angular_velocity"))
        moving = [(norm(each), unit, word) for each, unit, word in parts if each.any()]
        if moving:
            speeds = " and ".join(f"{size:.3g} {unit}" for size, unit, _ in moving)
            zeros = " and ".join(f"{word} = [0, 0, 0]" for _, _, word in moving)
            lines.append(
                f"bodies.{name} recoils with {speeds} at the start, since the momentum that the rates of "
                f"{', '.join(rates)} leave to a free structure is zero; {zeros} of bodies.{name} keeps it at rest"
            )
    return lines


def _inertia(inertia: Floats) -> str:
    """Moments and products of inertia, rounding as zero."""
    shown = without_rounding(inertia, np.max(np.abs(inertia)))
    words = (("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("xy", 0, 1), ("xz", 0, 2), ("yz", 1, 2))
    return ", ".join(f"{word} {shown[i, j]:.6g}" for word, i, j in words)


def _freedom_lines(system: "System") -> list[str]:
    """Degrees of freedom, and dependent equations of constraints, at the start."""
    from femb.system.degrees_of_freedom import freedom

    count = freedom(system, system.q0)
    degrees = f"{numbered(count.degrees, 'degree')} of freedom at the start"
    lines = [f"{numbered(len(system.layout.joints), 'joint')}, {count.rows} equations of constraint: {degrees}"]
    if count.dependent:
        lines += [
            f"equations that depend on the others: {len(count.dependent)}, {_by_item(count.dependent)}",
            f"reactions that are not unique, given with the least norm: {_by_item(count.undetermined)}",
        ]
    return lines


def _by_item(labels: tuple[str, ...]) -> str:
    """Labels of rows, 'item: what', grouped by item."""
    items: dict[str, list[str]] = {}
    for label in labels:
        item, _, what = label.partition(": ")
        items.setdefault(item, []).append(what)
    return "; ".join(f"{item} ({', '.join(what)})" for item, what in items.items())
