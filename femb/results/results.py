"""Results: what an analysis computed, read by names.

Everything is an array named by its path in the result file, such as
``bodies/hub/position``; the full list is in `femb.results.file`. This module puts names on the
arrays and derives from them (Euler angles, displacements); it computes no dynamics and, files
aside, needs nothing but numpy.
"""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar, overload

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.numerics import euler, rotations

Arrays = Mapping[str, np.ndarray]
Attributes = Mapping[str, Mapping[str, Any]]

NOTHING: Mapping[str, Any] = MappingProxyType({})

GroupType = TypeVar("GroupType", bound="Group")


class LazyArrays(Mapping[str, np.ndarray]):
    """Arrays that are loaded when they are first asked for, and kept from then on; their shapes are known before."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], load: Callable[[str], np.ndarray]) -> None:
        self.shapes = dict(shapes)
        self._load = load
        self._loaded: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._loaded:
            if name not in self.shapes:
                raise KeyError(name)
            self._loaded[name] = _frozen(self._load(name))
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)


class _Below(Mapping[str, np.ndarray]):
    """The arrays of which the path begins with a prefix, by the rest of it."""

    def __init__(self, prefix: str, arrays: Arrays) -> None:
        self._arrays = arrays
        self._paths = {path.removeprefix(prefix): path for path in arrays if path.startswith(prefix)}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[self._paths[name]]

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


class Quantity:
    """A named array of a `Group`, read as an attribute; knows its shape, unit and meaning.

    ``otherwise`` computes it from the group for results that do not hold it.
    """

    def __init__(self, shape: str, unit: str, meaning: str, otherwise: Callable[[Group], Floats] | None = None) -> None:
        self.shape, self.unit, self.meaning, self.otherwise = shape, unit, meaning, otherwise
        self.__doc__ = f"{shape} {unit}: {meaning}."

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, group: None, owner: type) -> Quantity: ...
    @overload
    def __get__(self, group: Group, owner: type) -> Floats: ...
    def __get__(self, group: Group | None, owner: type) -> Quantity | Floats:
        if group is None:
            return self
        if self.otherwise is not None and self.name not in group:
            return self.otherwise(group)
        return group[self.name]

    def admits(self, array: np.ndarray, sizes: dict[str, int], strict: bool) -> bool:
        """Whether an array is of this shape, its letters standing for ``sizes``; those not met before are added.

        strict : all letters mean the same in the group. Of others what is written for each time may have more to it,
        as the force of a spring on Euler angles has three.
        """
        wanted = [part.strip() for part in self.shape.strip("()").split(",") if part.strip()]
        if array.dtype.kind not in "biufc" or array.ndim < len(wanted) or (strict and array.ndim != len(wanted)):
            return False
        for letter, size in zip(wanted, array.shape, strict=False):
            fixed = int(letter) if letter.isdigit() else sizes.get(letter, size)
            if size != fixed:
                return False
            if strict:
                sizes.setdefault(letter, size)
        return True

    def __set__(self, group: Group, value: object) -> None:
        raise AttributeError(f"{group.path}/{self.name} is a result and cannot be assigned")


class Group:
    """The arrays and attributes under one path; ``group["name"]`` reads any of them."""

    def __init__(self, path: str, arrays: Arrays, attributes: Attributes) -> None:
        self.path = path
        self.name = path.rsplit("/", 1)[-1]
        self.arrays: Arrays = _Below(path + "/", arrays)
        self.attributes: Mapping[str, Any] = attributes.get(path, NOTHING)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.arrays:
            raise ResultError(f"{self.path}: no quantity {name!r} in these results; there are: {listing(self.arrays)}")
        return self.arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = {f"{self.path}/{name}": array for name, array in self.arrays.items()}
        return type(self), (self.path, arrays, {self.path: dict(self.attributes)})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {', '.join(self.arrays) or 'no arrays'}>"


def _since_first(group: Group) -> Floats:
    """Displacement of results that hold none: since the first output time."""
    position = group["position"]
    return position - position[:1]


def _turn_of_body(body: Group) -> Floats:
    """Rotation of results that hold none: from the start configuration, or from the first output time."""
    quaternion = body["quaternion"]
    start = body["reference_quaternion"] if "reference_quaternion" in body else quaternion[0]
    return rotations.multiply(quaternion, rotations.conjugate(start))


class _Moving(Group):
    """What bodies and beams have in common: a turn since the start configuration, and its rates.

    Arrays are (T, ...) with the nodes of a beam, if any, in between.
    """

    def _turn(self) -> tuple[Floats, Floats]:
        """`rotation`, and the angular velocity in the axes that it turns: (T, ..., 4), (T, ..., 3) rad/s."""
        rotation, quaternion = self.rotation, self["quaternion"]  # type: ignore[attr-defined]
        start = rotations.multiply(rotations.conjugate(rotation), quaternion)
        return rotation, rotations.rotate(start, self["angular_velocity"])

    @property
    def quaternion_rate(self) -> Floats:
        """(T, ..., 4) 1/s: rate of `quaternion`."""
        return rotations.quaternion_rate(self["quaternion"], self["angular_velocity"])

    @property
    def rotation_rate(self) -> Floats:
        """(T, ..., 4) 1/s: rate of the quaternion `rotation`."""
        return rotations.quaternion_rate(*self._turn())


class Body(_Moving):
    """Motion of a body's reference point and axes."""

    position = Quantity("(T, 3)", "m", "reference point, inertial axes")
    quaternion = Quantity("(T, 4)", "-", "body to inertial, scalar first")
    velocity = Quantity("(T, 3)", "m/s", "of the reference point, inertial axes")
    angular_velocity = Quantity("(T, 3)", "rad/s", "body axes")
    acceleration = Quantity("(T, 3)", "m/s2", "of the reference point, inertial axes")
    angular_acceleration = Quantity("(T, 3)", "rad/s2", "body axes")
    displacement = Quantity(
        "(T, 3)",
        "m",
        "position minus that at the first output time, inertial axes; in results of `Results.in_frame` minus that in "
        "the start configuration",
        otherwise=_since_first,
    )
    rotation = Quantity("(T, 4)", "-", "rotation from the start configuration", otherwise=_turn_of_body)
    reference_position = Quantity("(3,)", "m", "reference point in the start configuration, inertial axes")
    reference_quaternion = Quantity("(4,)", "-", "body to inertial in the start configuration")

    @property
    def shape(self) -> dict[str, Any] | None:
        """Shape for pictures: ``{"box": [x, y, z]}``, ``{"sphere": radius}``, ``{"cylinder":
        [radius, length]}`` (about z), in m; None where the model gives none."""
        text = self.attributes.get("shape")
        return None if text is None else json.loads(text)

    @property
    def fixed(self) -> bool:
        """Whether it is a ground, which does not move."""
        return bool(self.attributes.get("fixed", False))

    def euler_angles(self, sequence: Any = "xyz", unwrap: bool = True) -> Floats:
        """(T, 3) rad: intrinsic Euler angles of the body; ``unwrap`` removes the jumps of 2 pi."""
        return euler.to_euler(self.quaternion, sequence, unwrap=unwrap)

    def euler_rates(self, sequence: Any = "xyz") -> Floats:
        """(T, 3) rad/s: rates of `euler_angles`."""
        return euler.euler_rates(self.quaternion, self.angular_velocity, sequence)


def _start_section_deflection(beam: Group) -> Floats:
    """(T, n, 3) m: nodes in the axes of the start node's section, minus their value at the first output time.

    What can be said of a deflection without knowing the undeformed shape.
    """
    position = beam["position"]
    local = rotations.rotate_back(beam["quaternion"][:, :1], position - position[:, :1])
    return local - local[:1]


def _no_corners(beam: Group) -> Floats:
    """(e, 4) of files from before there were corners."""
    return np.tile([1.0, 0.0, 0.0, 0.0], (len(beam["element_length"]), 1))


class Beam(_Moving):
    """Motion and section loads of a beam of e elements and n = e + 1 nodes, from start to end."""

    position = Quantity("(T, n, 3)", "m", "nodes, inertial axes")
    quaternion = Quantity("(T, n, 4)", "-", "section to inertial, scalar first; x along the tangent")
    velocity = Quantity("(T, n, 3)", "m/s", "nodes, inertial axes")
    angular_velocity = Quantity("(T, n, 3)", "rad/s", "section axes")
    acceleration = Quantity("(T, n, 3)", "m/s2", "nodes, inertial axes")
    angular_acceleration = Quantity("(T, n, 3)", "rad/s2", "section axes")
    strain = Quantity("(T, e, 2)", "-", "axial strain at both ends of every element")
    # Both are positive on the face whose outward normal is the tangent: a positive first force is tension.
    section_force = Quantity("(T, e, 2, 3)", "N", "at both ends of every element, section axes, tension positive")
    section_moment = Quantity("(T, e, 2, 3)", "N m", "at both ends of every element, section axes")
    rotation = Quantity("(T, n, 4)", "-", "rotation of the nodes from the reference shape")
    # Files without it, and results made by hand, have no undeformed shape: there it is the change since the first
    # output time, in the axes of the start node's section.
    deflection = Quantity(
        "(T, n, 3)",
        "m",
        "position of the nodes minus where the undeformed beam would have them, had it moved rigidly with the body "
        "of `deflection_body`, in that body's axes; zero for a rigid motion",
        otherwise=_start_section_deflection,
    )

    reference_position = Quantity("(n, 3)", "m", "nodes in the start configuration, inertial axes")
    reference_quaternion = Quantity("(n, 4)", "-", "sections in the start configuration")
    element_length = Quantity("(e,)", "m", "undeformed length of every element")
    corner = Quantity(
        "(e, 4)",
        "-",
        "from the section of an element's first node to the element's own, which differ at a corner alone",
        otherwise=_no_corners,
    )
    outline = Quantity("(m, 2)", "m", "closed polygon of the section in its y and z axes")

    displacement = Quantity(
        "(T, n, 3)",
        "m",
        "position minus that at the first output time, inertial axes; in results of `Results.in_frame` minus that in "
        "the start configuration",
        otherwise=_since_first,
    )

    @property
    def deflection_body(self) -> str | None:
        """The body that `deflection` is relative to: the one the start is clamped to, or, if the start is free,
        the end. None for a beam that is free or on another beam: there it is relative to its first node's section."""
        return self.attributes.get("deflection_body")

    def euler_angles(self, sequence: Any = "xyz", unwrap: bool = True) -> Floats:
        """(T, n, 3) rad: intrinsic Euler angles of `rotation`."""
        return euler.to_euler(self.rotation, sequence, unwrap=unwrap)

    def euler_rates(self, sequence: str = "xyz") -> Floats:
        """(T, n, 3) rad/s: rates of `euler_angles`."""
        return euler.euler_rates(*self._turn(), sequence)


class Joint(Group):
    """Reaction of a joint on its second body, and its coordinates where it has any."""

    force = Quantity("(T, 3)", "N", "on the second body at the joint, first body's joint frame")
    torque = Quantity("(T, 3)", "N m", "on the second body at the joint, first body's joint frame")
    coordinates = Quantity("(T, c)", "m or rad", "of the free directions")
    rates = Quantity("(T, c)", "m/s or rad/s", "of the coordinates")
    accelerations = Quantity("(T, c)", "m/s2 or rad/s2", "of the coordinates")


class Driver(Group):
    """What a driver prescribes, and the force it takes; the attribute ``names`` has the n components of the force.

    The power of the drive is the sum of force times rate.
    """

    value = Quantity("(T, n)", "m or rad", "what is prescribed; of an orientation the quaternion (T, 4)")
    rate = Quantity("(T, n)", "m/s or rad/s", "of the value; of an orientation the relative angular velocity")
    force = Quantity("(T, n)", "N or N m", "on the second end, positive where it drives the value upwards")


class Spring(Group):
    """What a spring, dashpot, friction or stop resists with, and the motion it resists; (T, 3) on Euler angles."""

    force = Quantity("(T,)", "N or N m", "against an increase of the length or the angle: tension positive")
    length = Quantity("(T,)", "m", "between the two points, or the stroke of the joint")
    angle = Quantity("(T,)", "rad", "of the turn, or of the joint, unwrapped")
    rate = Quantity("(T,)", "m/s or rad/s", "of the length or the angle")


class Load(Group):
    """What a load exerts; of a motor or a pull also the motion it drives."""

    force = Quantity(
        "(T,)",
        "N",
        "(T, 3) in inertial axes; of a motor (T,) in N or N m, positive where it makes the coordinate grow; of a pull "
        "(T,) towards each other",
    )
    torque = Quantity("(T, 3)", "N m", "with its damping, axes of the body or section")
    factor = Quantity("(T,)", "-", "of a load along a beam or of its heating: the value of its profile")
    length = Quantity("(T,)", "m", "between the ends of a pull; the stroke of a motor's joint")
    angle = Quantity("(T,)", "rad", "of a motor's joint, unwrapped")
    rate = Quantity("(T,)", "m/s or rad/s", "of the length or the angle")


class Audit(Group):
    """What should be conserved or zero, at every output time."""

    kinetic_energy = Quantity("(T,)", "J", "of the whole model")
    potential_energy = Quantity("(T,)", "J", "elastic and gravitational")
    work = Quantity("(T,)", "J", "done by loads, drivers and dissipation since the start")
    linear_momentum = Quantity("(T, 3)", "N s", "inertial axes")
    angular_momentum = Quantity("(T, 3)", "N m s", "about the inertial origin, inertial axes")
    energy_error = Quantity("(T,)", "J", "kinetic + potential - work, minus its start value")
    constraint_position = Quantity("(T,)", "-", "largest violation of a constraint")
    constraint_velocity = Quantity("(T,)", "-", "largest violation of a constraint's rate")
    quaternion_norm = Quantity("(T,)", "-", "largest departure of a quaternion's length from 1")
    force_balance = Quantity("(T,)", "N", "largest force that a body or node lacks for the motion between steps")
    moment_balance = Quantity("(T,)", "N m", "largest moment that a body or node lacks for the motion between steps")


@dataclass(frozen=True)
class EventRecord:
    """An event that happened: time (s), name (of a latch ``"latches.NAME"``), and the energy (J) that a latch took."""

    time: float
    name: str
    energy_loss: float = 0.0


class Groups(Mapping[str, GroupType], Generic[GroupType]):
    """The groups of one kind by name, in the order of the model."""

    def __init__(self, kind: str, make: type[GroupType], arrays: Arrays, attributes: Attributes) -> None:
        self._kind = kind
        # A dictionary, because a set forgets the order of the model.
        names = dict.fromkeys(path.split("/")[1] for path in (*arrays, *attributes) if path.startswith(kind + "/"))
        self._groups = {name: make(f"{kind}/{name}", arrays, attributes) for name in names}

    def __getitem__(self, name: str) -> GroupType:
        if name not in self._groups:
            raise ResultError(f"no {name!r} among the {self._kind}; there are: {listing(self._groups)}")
        return self._groups[name]

    def __contains__(self, name: object) -> bool:
        return name in self._groups

    def get(self, name: str, default: Any = None) -> Any:
        """The group of that name, or ``default``."""
        return self._groups.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __repr__(self) -> str:
        return f"<{self._kind}: {listing(self._groups)}>"


class Results:
    """The results of one run, read-only.

    Parameters
    ----------
    series : mapping of path to (T, ...) array
        What changes with time; all have the T rows of ``"time"``.
    static : mapping of path to array
        What does not: start shapes, modes, matrices.
    attributes : mapping of group path to attributes
        ``""`` is the root: femb_version, case, method, status, message.

    Everything is also in ``arrays`` by its path, whether this class has a word for it or not.
    Raises ResultError where a series has not as many rows as ``"time"``.
    """

    def __init__(self, series: Arrays, static: Arrays = NOTHING, attributes: Attributes = NOTHING) -> None:
        self.series, self.static = _kept(series), _kept(static)
        self.attributes: Attributes = MappingProxyType(
            {path: MappingProxyType(dict(values)) for path, values in attributes.items()}
        )
        self.arrays: Arrays = MappingProxyType(ChainMap(self.series, self.static))  # type: ignore[arg-type]
        for path, shape in _shapes(self.series).items():
            if shape[:1] != self.time.shape:
                raise ResultError(
                    f"{path}: shape {shape}, but there are {self.time.size} output times; the first axis must be time"
                )
        self.bodies = Groups("bodies", Body, self.arrays, self.attributes)
        self.beams = Groups("beams", Beam, self.arrays, self.attributes)
        self.joints = Groups("joints", Joint, self.arrays, self.attributes)
        self.drivers = Groups("drivers", Driver, self.arrays, self.attributes)
        self.springs = Groups("springs", Spring, self.arrays, self.attributes)
        self.loads = Groups("loads", Load, self.arrays, self.attributes)
        self.audit = Audit("audit", self.arrays, self.attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled whole, also where arrays would be read from a file when they are asked for."""
        attributes = {path: dict(values) for path, values in self.attributes.items()}
        return Results, (dict(self.series), dict(self.static), attributes)

    @property
    def time(self) -> Floats:
        """(T,) s: the output times; empty for results that have none."""
        return self.series["time"] if "time" in self.series else np.zeros(0)

    @property
    def events(self) -> tuple[EventRecord, ...]:
        """The events of the run in order of time: latches, and events that were asked for; empty until it has ended."""
        names = [path.split("/")[1] for path in self.static if path.startswith("events/") and path.endswith("/time")]
        found = [
            EventRecord(float(t), name, float(loss))
            for name in names
            for t, loss in zip(
                self.static[f"events/{name}/time"], self.static[f"events/{name}/energy_loss"], strict=True
            )
        ]
        return tuple(sorted(found, key=lambda event: event.time))

    @property
    def statistics(self) -> Mapping[str, Any]:
        """Steps, evaluations, factorizations, wall_time ... of the run; empty until it has ended."""
        return self.attributes.get("statistics", NOTHING)

    @property
    def status(self) -> str:
        """``"running"`` (also of a run that was killed), ``"complete"`` or ``"failed"``."""
        return str(self._root("status"))

    @property
    def message(self) -> str:
        """Why the run stopped, where it failed."""
        return str(self._root("message"))

    @property
    def method(self) -> str:
        """Name of the stepper."""
        return str(self._root("method"))

    @property
    def case(self) -> str:
        """Text of the case file, empty for a model written in Python."""
        return str(self._root("case"))

    def _root(self, name: str) -> Any:
        return self.attributes.get("", NOTHING).get(name, "")

    @property
    def title(self) -> str:
        """Title of the model; empty where it has none."""
        return str(self._root("title"))

    @property
    def frame(self) -> str:
        """The frame that bodies and beams are seen from, see `in_frame`."""
        return str(self._root("frame") or "inertial")

    def in_frame(self, frame: str) -> Results:
        """The same results with the motion of bodies and beams as it is seen from a moving frame.

        frame : the name of a body; of a beam's node, ``"NAME[NODE]"``, which has the axes of its section; or
            ``"inertial"``, for these results themselves.

        Of every body and beam, positions and velocities are relative to the moving frame and in its axes, quaternions
        are to its axes, angular velocities are relative to it and stay in the axes of the body or section.
        Accelerations are the rates of these, and are left out of results that do not hold the frame's own.
        ``displacement`` is from the start configuration fixed in the frame: undeformed, its joints at their start
        coordinates. Of beams, ``deflection`` is the same, so that it counts what bends and turns anywhere between the
        frame and the node, joints included; ``rotation`` is the node's turn from that configuration. All else, such
        as joints, loads and the audit, is as it was.

        Raises ResultError for an unknown frame.
        """
        from femb.results.view import seen_from

        return seen_from(self, frame)

    @classmethod
    def read(cls, path: str | Path) -> Results:
        """Read a result file, also of a run that still runs, failed or was killed.

        Where there is no ``path`` yet, the run that is to make it is read, from ``path`` with ``.part`` behind it.
        Raises ResultError where there is no such file, or it is damaged or not a result file.
        """
        from femb.results.read import read_results

        return read_results(path)

    def write(self, path: str | Path) -> None:
        """Write the result file; `read` gives the same results back.

        An existing file is replaced when the new one is whole. Raises ResultError where it cannot be written.
        """
        from femb.results.file import write_results

        write_results(self, path)

    def __repr__(self) -> str:
        parts = [f"{self.status or 'no status'}, {_times(self.time)}"]
        parts += [f"{g._kind}: {listing(g, 6)}" for g in (self.bodies, self.beams, self.joints, self.drivers) if g]
        for label, name, unit in (
            ("energy error", "energy_error", " J"),
            ("constraint violation", "constraint_position", ""),
        ):
            if name in self.audit and self.time.size:
                parts.append(f"largest {label} {np.max(np.abs(self.audit[name])):.2g}{unit}")
        return f"<Results: {'; '.join(parts)}>"


def listing(names: Mapping[str, Any], limit: int = 30) -> str:
    """Names for a message: ``'a', 'b', ... (40 in all)``."""
    shown = ", ".join(map(repr, list(names)[:limit])) or "none"
    return shown if len(names) <= limit else f"{shown}, ... ({len(names)} in all)"


def _times(time: Floats) -> str:
    return f"{time.size} times {time[0]:g} to {time[-1]:g} s" if time.size else "no times"


def _frozen(array: Any) -> np.ndarray:
    """A view that cannot be written through; the caller's own array stays as it was."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _kept(arrays: Arrays) -> Arrays:
    if isinstance(arrays, LazyArrays):
        return arrays
    return MappingProxyType({path: _frozen(array) for path, array in arrays.items()})


def _shapes(arrays: Arrays) -> Mapping[str, tuple[int, ...]]:
    return arrays.shapes if isinstance(arrays, LazyArrays) else {path: array.shape for path, array in arrays.items()}


def check_shapes(results: Results) -> None:
    """Raise ResultError where a quantity of a group has another shape than its class says, or is no number."""
    kinds: tuple[Groups[Any], ...] = (
        *(results.bodies, results.beams, results.joints, results.drivers, results.springs, results.loads),
    )
    for group in (*(group for groups in kinds for group in groups.values()), results.audit):
        sizes: dict[str, int] = {"T": results.time.size}
        for name, array in group.arrays.items():
            quantity = getattr(type(group), name, None)
            if isinstance(quantity, Quantity) and not quantity.admits(array, sizes, strict=isinstance(group, Beam)):
                raise ResultError(f"{group.path}/{name}: shape {array.shape}, expected {quantity.shape}")
