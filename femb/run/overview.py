"""A model at a glance: the function behind ``femb check``."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import FembError, FembWarning
from femb.base.options import Run, StartState
from femb.base.types import Floats
from femb.base.values import TURN, listed, numbered, vector, without_rounding
from femb.layout.connections import groups_of, unconnected
from femb.layout.views import ModelAtStart
from femb.model.model import Model
from femb.numerics import rotations
from femb.numerics.components import norm
from femb.run.calling import check_known
from femb.steppers.diagnosis import fastest_vibration
from femb.system.initial_state import taken_over
from femb.system.known_motions import KnownStructure, known_motions
from femb.system.moving_ground import mass_properties
from femb.vibration.completion import check_figures_of, system_of

if TYPE_CHECKING:
    from femb.system.system import System

# Tables of a control loop.
CONTROLLED = ("shells", "hinges", "wheels", "thrusters", "magnetic_torquers", "sensors", "controllers")
# Differences of angular velocity below this part of the largest are rounding.
ROUNDING = 1e-9
# The first component of a direction above this is positive.
LEAST = 1e-3


@dataclass(frozen=True)
class Vibration:
    """A vibration: what vibrates, such as "beams.boom", how, and its frequency, Hz."""

    item: str
    how: str
    frequency: float
    along: tuple[float, ...] | None = None
    """inertial axes at the start; None where it has no one direction"""

    def text(self) -> str:
        """The line of ``femb check``."""
        along = "" if self.along is None else f" along {vector(np.array(self.along))}"
        return f"{self.item}: {self.how} at about {self.frequency:.4g} Hz{along}"


@dataclass(frozen=True, eq=False)
class TimeScales:
    """Time scales of a model at its start.

    bending : of every beam, an estimate of the first bending, held where it is attached. fastest : the fastest natural
    vibration within the joints, None without. spins : of the joints by name, relative angular velocity at the start,
    rad/s, where it is not zero. rotation : the largest angular velocity of a body or node, rad/s, and its label.
    """

    bending: tuple[Vibration, ...]
    fastest: Vibration | None
    spins: dict[str, float]
    rotation: tuple[float, str]

    @property
    def slowest(self) -> Vibration | None:
        """The slowest of the first bendings."""
        return min(self.bending, key=lambda each: each.frequency, default=None)


def time_scales(system: "System") -> TimeScales:
    """The time scales of a system at its start, in time proportional to its items."""
    model = system.model
    bending = []
    for name, beam in model.beams.items():
        rate, how, along = beam.first_bending(model)
        if along is not None:
            _, axes = system.layout.pose(system.layout.beams[name].stations[0])
            turned = without_rounding(rotations.rotate(axes, along), 1.0)
            along = turned * np.sign(turned[np.argmax(np.abs(turned) > LEAST)])
        direction = None if along is None else tuple(float(x) for x in np.round(along, 4) + 0.0)
        bending.append(Vibration(f"beams.{name}", f"first bending, {how}", rate, direction))
    return TimeScales(tuple(bending), _fastest(system), *_rotations(system))


def _fastest(system: "System") -> Vibration | None:
    """The fastest vibration, and the velocity with most of its energy; None where nothing vibrates."""
    omega, label = fastest_vibration(system)
    return Vibration(label, "fastest vibration", omega / (2.0 * np.pi)) if omega > 0.0 else None


def _rotations(system: "System") -> tuple[dict[str, float], tuple[float, str]]:
    """Relative angular velocities of the ends of joints, rad/s, and the largest angular velocity with its label."""
    layout, q, v = system.layout, system.q0, system.v0
    omegas = np.zeros((len(layout.frames), 3))
    largest = (0.0, "")
    for k, frame in enumerate(layout.frames):
        if frame.freedom == 6:
            omega, i = v[layout.frame_v[k] + 3 : layout.frame_v[k] + 6], layout.frame_q[k]
            omegas[k] = rotations.rotate(q[i + 3 : i + 7], omega)
            size = float(np.linalg.norm(omega))
            largest = (size, frame.label) if size > largest[0] else largest
    spins = {}
    for name, joint in layout.joints.items():
        size = float(np.linalg.norm(omegas[joint.second.frame] - omegas[joint.first.frame]))
        if size > ROUNDING * largest[0]:
            spins[name] = size
    return spins, largest


# Remarks of items; advice on the run.

GRAVITY = 300.0  # m/s2
# Revolutions of a joint in a run beyond which another formulation is worth a line, and how many were measured fewer.
REVOLUTIONS = 50.0


def implausible(model: Model) -> tuple[str, ...]:
    """Sentences on numbers that are probably in other units than SI and radians, each with its item."""
    size = float(np.linalg.norm(model.gravity))
    weight = [f"gravity: {size:g} m/s2; mm/s2 are to be multiplied by 1e-3"] if size > GRAVITY else []
    return (*(line for item in model.items() for line in item.doubts(model)), *weight)


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


# Beams whose first bending is listed, of more the slowest; and structures.
LISTED = 12


@dataclass(frozen=True, eq=False)
class Overview:
    """A model at its start.

    counts : of bodies, beams, elements, joints, loads, springs. lines : of the choice of the
    method, connections, modal damping, degrees of freedom. mass (kg), centre (3,) m and inertia (3, 3) about it, kg m2,
    inertial axes; None without parts that move.
    scales : how slow and fast it moves. structures : free motions and momenta that stay of each. warnings : numbers
    that are probably in other units. advice : on the run.
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
    structures: tuple[KnownStructure, ...]
    system: "System"

    def text(self) -> str:
        """Counts, connections, degrees of freedom, mass properties and time scales, a line for each."""
        counts, elements = self.counts, self.counts["elements"]
        beams = numbered(counts["beams"], "beam") + (f" of {numbered(elements, 'element')}" if elements else "")
        items = (numbered(counts["bodies"], "body"), beams, numbered(counts["loads"], "load"))
        control = [numbered(counts[word], word[:-1].replace("_", " ")) for word in CONTROLLED if word in counts]
        coupled = " or couplings of joints" if self.system.layout.relations else ""
        lines = [
            self.title or "untitled model",
            ", ".join((*items, numbered(counts["springs"], "spring"), *control)),
            f"{self.velocities} velocities, {self.coordinates} coordinates; "
            + ("a tree of frames" if self.tree else f"closed loops of frames{coupled}"),
            *self.lines,
        ]
        if self.centre is not None and self.inertia is not None:
            centre = without_rounding(self.centre, self.system.layout.extent)
            lines.append(f"mass {self.mass:.6g} kg, mass centre at {vector(centre)} m")
            moments = np.linalg.eigvalsh(self.inertia)
            lines.append(f"principal moments about it {', '.join(f'{x:.6g}' for x in moments)} kg m2")
            lines.append(f"inertia about it {_inertia(self.inertia)} kg m2, inertial axes")
        shown, wheels = self.structures[:LISTED], "wheels" in counts
        lines += [line for each in shown for line in each.text(self.system.layout.origin, wheels).splitlines()]
        lines += [f"and {left} more structures"] if (left := len(self.structures) - LISTED) > 0 else []
        return "\n".join([*lines, *self._motion()])

    def _motion(self) -> list[str]:
        """Lines of the time scales."""
        scales = self.scales
        bending = sorted(scales.bending, key=lambda each: each.frequency)[:LISTED]
        left = len(scales.bending) - len(bending)
        chosen = [each for each in scales.bending if each in bending]
        lines = [each.text() for each in chosen]
        lines += [f"and {left} more beams, of faster bending"] if left else []
        fastest, (rate, label) = scales.fastest, scales.rotation
        if fastest is not None:
            lines.append(f"fastest vibration {fastest.frequency:.4g} Hz, mostly of {fastest.item}")
        if rate > 0.0:
            lines.append(f"fastest rotation {rate:.4g} rad/s, a turn in {2.0 * np.pi / rate:.4g} s, of {label}")
        return lines + [f"advice: {line}" for line in self.advice]

    def values(self) -> dict[str, Any]:
        """The overview as numbers, texts, lists and dictionaries of them."""
        scales, fastest = self.scales, self.scales.fastest
        words = ("title", "counts", "velocities", "coordinates", "tree", "mass", "centre", "inertia", "warnings")
        return {
            **{word: getattr(self, word) for word in (*words, "advice")},
            "notes": self.lines,
            "first_bending": [asdict(each) for each in scales.bending],
            "fastest_vibration": None if fastest is None else asdict(fastest),
            "fastest_rotation": {"item": scales.rotation[1], "rate": scales.rotation[0]},
            "joint_rates": scales.spins,
            "structures": [each.values(self.system.layout.origin) for each in self.structures],
        }

    def picture(self, path: str | Path) -> Path:
        """Draw the model at its start; the path written. Raises ResultError: nothing to draw, no permission."""
        from femb.pictures.picture import picture
        from femb.recording.record import still

        system = self.system
        return picture(still(system, np.zeros(1), system.q0[None], system.v0[None], "check"), path, 1)


def _sampled(system: "System", end: float) -> Mapping[str, Floats]:
    """Discrete states after the first sample of each clock before the time ``end`` (s), in the state of the start.

    Raises what the run would raise there, of laws and loads whose numbers do not fit or whose functions fail.
    """
    from femb.run.events import switched

    system.inputs_at(0.0, system.q0, system.v0)
    updates = [each for each in system.layout.updates if each.has_instants]
    for t in sorted({each.next(system.discrete) for each in updates}):
        if t < end:
            due = [each for each in updates if each.next(system.discrete) <= t]
            system = switched(system, due, t, system.q0, system.v0).form
    return system.discrete


def overview(model: Model, run: Run | None = None) -> Overview:
    """The overview of a model at its start. Raises ModelError with every problem of the model.

    run : for the start, and to check that its formulation admits the model.
    """
    from femb.formulations import make_formulation
    from femb.run.memory import check_memory
    from femb.run.method_choice import steps_line, with_defaults

    system = system_of(model, run is not None and run.assembles)
    if run is not None and isinstance(run.start, StartState):
        from femb.recording.named_state import start_line, start_state

        system, started = start_state(system, run.start), [start_line(run.start)]
    else:
        if run is not None and run.start == "equilibrium":
            from femb.statics.equilibrium import check_rates

            check_rates(system)
        started = [*_taken_over_lines(system), *_recoil_lines(system)]
    check_figures_of(model)
    method: list[str] = []
    if run is not None:
        check_known(model, run.duration)
        asked = run
        run, reason, of_output = with_defaults(system, run)
        method = [line for line in (reason and f"method {reason}", of_output, steps_line(system, run, asked)) if line]
        make_formulation(system, run.formulation)
        check_memory(system, run)
        if run.output.restricted:
            from femb.recording.record import Recorder

            Recorder(system, run.output)
        for warning in run.unused():
            warnings.warn(warning, FembWarning, stacklevel=2)
    sampled = _sampled(system, math.inf if run is None else run.duration)
    damping = [f"modal damping {item.description}" for item in system.model.modal_damping.values()]
    freedom = _freedom_lines(system) if system.n_c else []
    mass, centre, inertia = mass_properties(system) if system.layout.frames else (None, None, None)
    scales = time_scales(system)
    start = ModelAtStart(system, run, scales.bending, sampled)
    remarks = (line for item in system.model.items() for line in item.remarks(start))
    return Overview(
        model.title,
        {
            **{word: len(model.tables[word]) for word in ("bodies", "beams", "joints", "loads", "springs")},
            # of those that few models have, what there is
            **{word: len(model.tables[word]) for word in CONTROLLED if model.tables[word]},
            "elements": sum(beam.elements for beam in model.beams.values()),
        },
        system.n_v,
        system.n_q,
        bool(system.layout.is_tree),
        (*method, *unconnected(system.layout), *damping, *freedom, *started),
        mass,
        centre,
        inertia,
        scales,
        implausible(system.model),
        (*remarks, *_formulation(system, run, scales)),
        known_motions(system),
        system,
    )


def _taken_over_lines(system: "System") -> list[str]:
    """Whose start velocity bodies without one of their own take over."""
    inertial = system.v0 + system.layout.origin_velocity @ system.rigid_velocities(system.q0)[:3]
    return [
        f"{listed(bodies)} take over the start velocity of {source}, as one rigid body with it; a velocity with "
        "moves_alone = true goes before it"
        for source, bodies in taken_over(system, inertial).items()
    ]


def _recoil_lines(system: "System") -> list[str]:
    """Free structures that rates of joints set in motion, while no velocity of a body is given: the momentum is zero,
    and the heaviest body recoils."""
    layout, v = system.layout, system.v0
    motions = (item.start_motion(layout, system.model) for item in system.model.items())
    given = {motion.station.frame for motion in motions if motion is not None}
    bodies = system.model.bodies  # masses on beams have no frame, interfaces of flexible bodies no item
    masses = {frame: (getattr(bodies.get(name), "mass", 0.0), name) for name, frame in layout.bodies.items()}
    lines = []
    for frames in groups_of(layout, joined=True):
        inside = set(frames)
        rates = [
            f"joints.{name}"
            for name, joint in system.model.joints.items()
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
    kinds = [(len(system.layout.joints), "joint"), (len(system.layout.relations), "coupling")]
    words = ", ".join(numbered(number, kind) for number, kind in kinds if number or kind == "joint")
    lines = [f"{words}, {count.rows} equations of constraint: {degrees}"]
    if count.dependent:
        lines += [
            f"equations that depend on the others: {len(count.dependent)}, {_by_item(count.dependent)}",
            f"reactions that are not unique, given with the least norm: {_by_item(count.undetermined)}",
        ]
    return [*lines, *count.nearly]


def _by_item(labels: tuple[str, ...]) -> str:
    """Labels of rows, 'item: what', grouped by item."""
    items: dict[str, list[str]] = {}
    for label in labels:
        item, _, what = label.partition(": ")
        items.setdefault(item, []).append(what)
    return "; ".join(f"{item} ({', '.join(what)})" for item, what in items.items())
