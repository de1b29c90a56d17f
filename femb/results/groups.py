"""Groups of results: the words for the arrays of a body, a beam, a joint and so on, with shapes, units and meanings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.numerics import euler, rotations
from femb.results.arrays import NOTHING, Arrays, Attributes, Below, listing

GroupType = TypeVar("GroupType", bound="Group")


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
        self.arrays: Arrays = Below(path + "/", arrays)
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
    result: Floats = position - position[:1]
    return result


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
