"""Flexible body: a finite element model reduced to interfaces and modes, in large motion."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks, size_problem
from femb.base.errors import FembError, ModelError
from femb.base.types import POSITIVE, Coordinates, Floats, Matrix3, OneOf, Quaternion, SeveralForms, Unit, Vector
from femb.base.values import nearest, shown
from femb.elements.body.body import OrientedBody
from femb.elements.item import FRAMES, StartMotion
from femb.elements.marker import Attachment, Marker
from femb.elements.records import RecordedSystem, Records, inertial_motion_of
from femb.elements.spring.modal_damping import check_ratios
from femb.layout.element import Batch, OutputRows
from femb.layout.layout import FlexibleLayout, Layout, Station
from femb.layout.numbering import InternalQuantity
from femb.layout.views import LinearPoint, ModelView, OutputStates, StartPoses
from femb.numerics import rotations
from femb.numerics.turns import EulerSequence

if TYPE_CHECKING:
    from femb.elements.modal.data import ReducedBody

# Checks of how the interfaces of a flexible body are attached to others.


def check_start(check: Checks) -> None:
    """The attachment of the root: on a body, whose motion is then that of the flexible body."""
    item = check.item
    if item.start is None:
        return
    if not isinstance(item.start, Attachment):
        check.fail("start", f"got {shown(item.start)}, wanted {Attachment.wanted}")
        return
    if item.start.report(check, "start") and item.start.body is None:
        check.fail("start.body", _on_beam("the root", f"body {item.name!r}"))
    for word in ("position", "quaternion", "euler_angles", "velocity", "angular_velocity"):
        check.require(word, getattr(item, word) is None, "the body is on another: give it there")
    check.require("relative_to", item.relative_to == "inertial", "the body is on another: give it there")


def check_interfaces(check: Checks, others: Sequence[str]) -> None:
    """The attachments of the interfaces beside the root, which are stored; others : their names in the file."""
    item, attached = check.item, {}
    if item.interfaces is None or "interfaces" in check.bad:
        return
    for name, given in item.interfaces.items():
        field = f"interfaces.{name}"
        if name not in others:
            listed = ", ".join(map(repr, others)) or "none"
            check.fail(field, f"is not in the file; interfaces beside the root: {listed}")
            continue
        try:
            end = Attachment(**given) if isinstance(given, Mapping) else given
        except TypeError as error:
            check.fail(field, f"got {shown(given)}, wanted an attachment ({error})")
            continue
        if not isinstance(end, Attachment):
            check.fail(field, f"got {shown(given)}, wanted {Attachment.wanted}")
        elif end.report(check, field):
            if end.body is None:
                check.fail(f"{field}.body", _on_beam("an interface", f"body '{item.name}.{name}'"))
            attached[name] = end
    object.__setattr__(item, "interfaces", attached)


def _on_beam(what: str, body: str) -> str:
    return f"is missing: {what} is attached to a body; to join a beam, give the beam's end on {body}"


# Interface of a flexible body: a frame of its own, to which joints, beams, springs, loads and masses attach.


@dataclass(frozen=True, eq=False)
class Interface(OrientedBody):
    """A free interface of a flexible body, a body named BODY.INTERFACE, such as "panel.tip".

    A FlexibleBody adds it to the model; its pose at the start follows from that of the body. Other items name it as any
    body. of : the name of the flexible body. interface : its name in the file of the body.

    Raises ModelError if the model has no such flexible body.
    """

    kind: ClassVar[str] = "interface"
    in_case_files: ClassVar[bool] = False

    name: str
    of: str
    interface: str

    position = None
    quaternion = None
    euler_angles = None
    euler_sequence = "xyz"
    relative_to = "inertial"

    def check(self, check: object) -> None:
        """Nothing: the flexible body checks its interfaces."""

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A moving frame, unless its flexible body has declared it."""
        if self.name not in layout.bodies:
            raise ModelError.at(
                (self.table, self.name), f"got of = {self.of!r}, which is no flexible body with this interface"
            )


# Results of flexible bodies: the motion of the root, and the nodes, shapes and cells for pictures and meshes.


def flexible_records(items: list[Any], system: RecordedSystem) -> Records:
    """The records of flexible bodies beside those of their batches."""
    layout = system.layout
    static: dict[str, Floats] = {}
    attributes: dict[str, dict[str, Any]] = {}
    for item in items:
        path, body, root = f"bodies/{item.name}", item.reduced, _root(item, layout)
        position, quaternion = layout.pose(root)
        static[f"{path}/reference_position"] = layout.origin + position
        static[f"{path}/reference_quaternion"] = quaternion
        attributes[path] = {"fixed": layout.frames[root.frame].freedom == 0, "kind": item.kind}
        if body.recovery is not None:
            attributes[path]["recovery_names"] = json.dumps(body.recovery_names)
        if body.nodes is not None:
            for name in ("nodes", "node_shapes", "stress_shapes", "load_stress"):
                if getattr(body, name) is not None:
                    static[f"{path}/{name}"] = np.asarray(getattr(body, name))
            for kind, cells in body.cells.items():
                static[f"{path}/cells_{kind}"] = cells.astype(float)

    def series(accelerations: bool, frames: OutputStates) -> dict[str, Floats]:
        block: dict[str, Floats] = {}
        for item in items:
            path = f"bodies/{item.name}"
            root = _root(item, layout)
            motion = inertial_motion_of(layout, root, frames, accelerations)
            block |= {f"{path}/{word}": values for word, values in motion.items()}
        return block

    return Records(static, attributes, partial(series, True), partial(series, False))


def _root(item: Any, layout: Layout) -> Station:
    return layout.flexible_bodies[item.name].stations[item.reduced.interface_names[0]]


DAMPING_RATIO = 0.005
File = Annotated[Any, SeveralForms((str,))]


# Loads of interfaces as outputs of linear models, and which of the two they are.
INTERFACE_LOADS = {"interface_force": "force", "interface_torque": "torque"}


@dataclass(frozen=True, eq=False)
class FlexibleBody(OrientedBody):
    """A flexible body from a finite element model, with small deformation in a frame that moves freely.

    Position, attitude and velocities are those of the root, its first interface, without ``start``.

    Raises ModelError: the file cannot be read or describes no body, an interface that it does not have, or "full"
    without its arrays. Source: docs/theory/modal_body.md.
    """

    deforms: ClassVar[bool] = True
    has_interfaces: ClassVar[bool] = True
    kind: ClassVar[str] = "modal"
    slow_kernel: ClassVar[str] = "femb.elements.modal.kernels:forces"

    name: str
    file: File
    """path of a reduced body, .npz or .h5, or in Python a ReducedBody"""
    start: Attachment | None = None
    """an Attachment of the root on a body: direction is its x axis and up towards its y axis, by default the axes of
    that body"""
    interfaces: dict[str, Any] | None = None
    """by name, Attachments of other interfaces on bodies. One that is not attached is a body NAME.INTERFACE for joints,
    beams, springs and loads"""
    position: Annotated[Vector | None, Unit("m")] = None
    quaternion: Quaternion | None = None
    euler_angles: Annotated[Vector | None, Unit("rad")] = None
    euler_sequence: Annotated[EulerSequence | Matrix3, Unit("")] = "xyz"
    velocity: Annotated[Vector | None, Unit("m/s")] = None
    angular_velocity: Annotated[Vector | None, Unit("rad/s")] = None
    """in body axes"""
    modes: int | None = None
    """how many modes with all interfaces held to keep; by default all"""
    max_frequency: Annotated[float | None, Unit("Hz"), POSITIVE] = None
    """in place of a number of modes, those up to this frequency"""
    damping_ratio: Annotated[Coordinates | None, Unit("")] = None
    """of the modes with the root held, or a list by frequency, whose last is of all above; by default that of the
    file, else 0.005"""
    coupling: Annotated[str, OneOf(("full", "constant"))] | None = None
    """either "full" (default if the file has the arrays) for inertia of second order with geometric stiffening, or
    "constant" inertia"""
    nodal_displacements: bool = False
    """record the displacement of every node that the file holds"""
    relative_to: Annotated[str, OneOf(FRAMES)] = "inertial"

    # Checks

    def check(self, check: Checks) -> None:
        super().check(check)
        if self.damping_ratio is not None:
            check_ratios(check, "damping_ratio")
        check.whole("modes", 0)
        check.at_most_one("modes", "max_frequency")
        check_start(check)
        try:
            whole = self.whole
        except FembError as error:
            check.fail("file", str(error))
            return
        check_interfaces(check, whole.interface_names[1:])
        if "modes" not in check.bad:
            check.require("modes", self.modes is None or self.modes <= whole.modes, f"the file has {whole.modes}")
        if "coupling" not in check.bad and self.coupling == "full":
            check.require(
                "coupling", whole.second_order, "but the file has no J1, J2, Q and S2 with stiffening included"
            )

    def doubts(self, model: ModelView) -> Iterator[str]:
        kept = self.reduced
        length = float(np.sqrt(3.0 * np.linalg.eigvalsh(kept.inertia)[-1] / kept.mass))
        if problem := size_problem(float(kept.frequencies()[0]) if kept.size else None, length, kept.mass):
            yield f"bodies.{self.name}.file: {problem}"
        yield from super().doubts(model)

    # The model

    @cached_property
    def whole(self) -> "ReducedBody":
        """The body with all modes of the file. Raises FembError."""
        from femb.elements.modal.data import ReducedBody, read_reduced_body

        if isinstance(self.file, ReducedBody):
            return self.file
        if not isinstance(self.file, str | Path):
            raise ModelError(f"got {shown(self.file)}, wanted the path of a reduced body, .npz or .h5")
        return read_reduced_body(self.file)

    @cached_property
    def reduced(self) -> "ReducedBody":
        """The body with the modes that are kept."""
        body = self.whole
        if self.modes is not None:
            return body.kept(self.modes)
        if self.max_frequency is None:
            return body
        first = body.size - body.modes
        squares = np.diag(body.K)[first:] / np.diag(body.M)[first:]  # modes with all interfaces held
        return body.kept(int(np.sum(squares <= (2.0 * np.pi * self.max_frequency) ** 2)))

    @property
    def attached(self) -> dict[str, Attachment]:
        """The attachments by interface; that of the root by the name of the root."""
        found = dict(self.interfaces or {})
        if self.start is not None:
            found[self.reduced.interface_names[0]] = self.start
        return found

    @property
    def carried_by(self) -> Attachment | None:
        return self.start

    def turns(self, marker: Marker) -> bool:
        return True

    @property
    def markers(self) -> dict[tuple[str, ...], Attachment]:
        found = {("interfaces", name): end for name, end in (self.interfaces or {}).items()}
        return found | ({} if self.start is None else {("start",): self.start})

    @cached_property
    def free_interfaces(self) -> dict[str, Interface]:
        """The interfaces that are bodies of their own."""
        attached = self.interfaces or {}
        try:
            names = self.whole.interface_names[1:]
        except FembError:  # a body whose file is refused
            return {}
        return {name: Interface(f"{self.name}.{name}", self.name, name) for name in names if name not in attached}

    def parts(self) -> tuple[Interface, ...]:
        return tuple(self.free_interfaces.values())

    def at_interface(
        self, name: str, at: Any = (0.0, 0.0, 0.0), direction: Any = None, up: Any = None, y_axis: Any = None
    ) -> Attachment:
        """A point of a free interface for the end of a beam: ``at`` (m), its ``direction`` and the y axis of its
        section ``y_axis``, or ``up``, axes of the interface."""
        if name not in self.free_interfaces:
            listed = ", ".join(map(repr, self.free_interfaces)) or "none"
            raise ModelError.at((self.table, self.name), f"got interface {name!r}; free interfaces: {listed}")
        return Attachment(body=f"{self.name}.{name}", at=at, direction=direction, up=up, y_axis=y_axis)

    def rest_pose(self, interface: str) -> tuple[Floats, Floats]:
        """Position (3,) m and quaternion (4,) of an undeformed interface in the body frame."""
        k = self.reduced.interface_names.index(interface)
        return self.reduced.interfaces[k], rotations.from_matrix(self.reduced.interface_axes[k])

    def start_motion(self, layout: Layout, model: ModelView) -> StartMotion | None:
        omega = self.turn(layout, model, self.angular_velocity)
        if self.velocity is None and omega is None:
            return None
        return StartMotion(Station(layout.bodies[self.name]), self.velocity, omega)

    # The equations

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A frame for the root and every interface that is not attached, and a block of the modes."""
        if self.name in layout.flexible_bodies:
            return  # declared before, as the host of another
        root, *others = self.reduced.interface_names
        stations: dict[str, Station] = {}
        modes: list[int] = []
        layout.flexible_bodies[self.name] = FlexibleLayout(stations, modes, self.reduced.mass)
        position, quaternion = placement.bodies[self.name]
        poses = {name: _moved(position, quaternion, self.rest_pose(name)) for name in (root, *others)}
        for name, pose in poses.items():
            if name not in self.attached:
                label = self.name if name == root else f"{self.name}.{name}"
                layout.bodies[label] = layout.add_frame(label, *pose)
                stations[name] = Station(layout.bodies[label])
        for name, end in self.attached.items():
            host = _host(layout, placement, model, str(end.body))
            turned = rotations.multiply(rotations.conjugate(layout.frames[host].quaternion), poses[name][1])
            stations[name] = Station(host, np.asarray(end.at), rotations.normalise(turned))
        for k in range(self.reduced.modes):
            quantity = InternalQuantity(f"mode {k + 1}", "m")
            block = modes[0] if modes else None
            modes.append(layout.add_internal(self.name, quantity, None, self.table, block=block))
        frames = [station.frame for station in stations.values()]
        layout.couple(frames, modes)
        layout.connect(frames)

    def damping_matrix(self) -> Floats:
        """D (n, n) of the given ratio, of the file, or of the ratio 0.005."""
        body: ReducedBody = self.reduced
        if self.damping_ratio is not None:
            return body.damping(self.damping_ratio)
        if body.D is not None:
            return body.D
        return body.damping(DAMPING_RATIO if body.damping_ratio is None else body.damping_ratio)

    def own_ratios(self) -> Floats:
        """(n,) damping ratios of its modes with the root held."""
        from scipy.linalg import eigh

        squares, shapes = eigh(self.reduced.K, self.reduced.M)
        ratios: Floats = np.einsum("ij,ik,kj->j", shapes, self.damping_matrix(), shapes) / (2.0 * np.sqrt(squares))
        return ratios

    @staticmethod
    def batches(items: list["FlexibleBody"], layout: Layout, model: ModelView) -> list[Batch]:
        from femb.elements.modal.batch import ModalBatch

        batches: list[Batch] = []
        for item in items:
            entry = layout.flexible_bodies[item.name]
            full = item.coupling == "full" or (item.coupling is None and item.reduced.second_order)
            first = entry.modes[0] if entry.modes else -1
            stations = [entry.stations[name] for name in item.reduced.interface_names]
            held = item.attached or any(each.frame in frames for each in stations for frames in layout.rows)
            words = item.damping_matrix(), full, layout, model.gravity, not held
            batch = ModalBatch(item.name, item.reduced, stations, first, *words)
            batch.node_shapes = item.reduced.node_shapes if item.nodal_displacements else None
            batches.append(batch)
        return batches

    def recovered(
        self, layout: Layout, model: ModelView, name: str
    ) -> tuple[Callable[[Floats], float], Callable[[Floats], Floats]]:
        """A row of recovery of its file, by name: functions that give its value at q (n_q,), and its exact derivative
        (n_v,) by displacements. Raises ModelError, which says what there is."""
        names = self.reduced.recovery_names
        if self.reduced.recovery is None or name not in names:
            listed = ", ".join(map(repr, names)) or "none"
            raise ModelError(f"got {name!r}; the rows of recovery of {self.name!r} are {listed}{nearest(name, names)}")
        batch: Any = self.batches([self], layout, model)[0]
        row = np.asarray(self.reduced.recovery)[names.index(name)]

        def value(q: Floats) -> float:
            still = np.zeros((1, layout.n_v))
            return float(row @ batch.coordinates(q[None], still, still)[0, 0])

        def by_pose(q: Floats) -> Floats:
            # the rates of the coordinates are linear in the velocities
            unit = np.eye(layout.n_v)
            result: Floats = batch.coordinates(np.tile(q, (layout.n_v, 1)), unit, 0.0 * unit)[:, 1] @ row
            return result

        return value, by_pose

    def frames(self, layout: Layout) -> list[int]:
        stations = layout.flexible_bodies[self.name].stations.values()
        return [*super().frames(layout), *(station.frame for station in stations)]

    def linear_outputs(self, layout: Layout) -> Mapping[str, bool]:
        """The motion of its root, if this has a frame of its own, and the forces of its interfaces."""
        loads = [f"{name}.{word}" for name in layout.flexible_bodies[self.name].stations for word in INTERFACE_LOADS]
        return {**super().linear_outputs(layout), **dict.fromkeys(loads, False)}

    def output_rows(self, point: LinearPoint, quantity: str) -> OutputRows | None:
        """The rows of a ``quantity`` at the ``point``.

        Forces of interfaces are those on what carries them, in the axes of the interface.
        """
        name, _, word = quantity.rpartition(".")
        stations = point.system.layout.flexible_bodies[self.name].stations
        if word not in INTERFACE_LOADS or name not in stations:
            return super().output_rows(point, quantity)
        from femb.elements.private_blocks import end_rows_of, free_body

        cut = free_body(point, f"{self.table}.{self.name}", 0)
        assert cut is not None
        end = self.reduced.interface_names.index(name)
        return end_rows_of(point, cut, end, stations[name].frame, INTERFACE_LOADS[word], -1.0)

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        return flexible_records(items, system)


def _host(layout: Layout, placement: StartPoses, model: ModelView, name: str) -> int:
    """The frame of a body that carries an interface; a flexible one may follow in the table of bodies."""
    if name not in layout.bodies:
        host = model.body(name)
        owner = model.body(host.of) if type(host) is Interface else host
        owner.declare_dofs(layout, placement, model)
    return layout.bodies[name]


def _moved(position: Floats, quaternion: Floats, pose: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """A pose in the axes of another as an inertial one."""
    return position + rotations.rotate(quaternion, pose[0]), rotations.multiply(quaternion, pose[1])
