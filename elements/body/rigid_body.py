"""Rigid body: a frame with mass, an offset mass centre and an inertia."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Floats, Inertia, Matrix3, Quaternion, Unit, Vector
from femb.base.values import as_numbers, finite_problem, frozen_array, shown
from femb.elements.body.body import OrientedBody
from femb.elements.item import StartMotion
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Batch
from femb.layout.layout import Layout, Station
from femb.layout.views import ModelView, StartPoses
from femb.numerics.euler import omega_from_euler_rates, to_euler
from femb.numerics.turns import EulerSequence

# The inertia matrix of a rigid body from user input.


def inertia_matrix(value: Any, mass: float, distance: Floats) -> tuple[Floats | None, str | None]:
    """The 3 x 3 inertia about the mass centre from a scalar, three principal moments or a matrix, and None; or None and
    the problem.

    mass (kg), distance (3,) m : of a point from the mass centre, that the value is about.

    A physical inertia about the mass centre has principal moments that are positive and obey the triangle
    inequality (each at most the sum of the other two); equality is a flat or thin body and is allowed.
    """
    array = as_numbers(value)
    if array is None:
        array = np.empty(0)
    if array.shape == ():
        array = np.full(3, float(array))
    fits = array.shape in ((3,), (3, 3))
    problem = finite_problem(value, array) if fits else None
    if not fits or (problem and not np.isfinite(array).all()):
        return (
            None,
            f"got {shown(value)}, wanted a number, 3 principal moments or a 3 x 3 matrix, all finite (kg m2)",
        )
    if problem:
        return None, problem
    if array.ndim == 1 and not mass:
        moments, array = sorted(array.tolist()), np.diag(array)
    else:
        array = np.diag(array) if array.ndim == 1 else array
        if np.max(np.abs(array - array.T)) > 1e-9 * np.max(np.abs(array)):
            return None, f"got {shown(value)}, which is not symmetric"
        array = array - mass * (distance @ distance * np.eye(3) - np.outer(distance, distance))
        moments = np.linalg.eigvalsh(array).tolist()
    problem = _moments_problem(moments, " about the mass centre" if np.any(distance) else "")
    return (None, problem) if problem else (frozen_array(0.5 * (array + array.T)), None)


def _moments_problem(moments: Sequence[float], moved: str) -> str | None:
    """Why ascending principal moments are not those of a body; None if they are. moved : what they are about."""
    least, middle, largest = moments
    if least > 0.0 and largest <= (least + middle) * (1.0 + 1e-9):
        return None
    listed = ", ".join(f"{moment:.6g}" for moment in moments)
    if not least > 0.0:
        return f"principal moments {listed} kg m2{moved}: all must be greater than 0"
    return (
        f"principal moments {listed} kg m2{moved} break the triangle inequality: no body has one moment above the "
        "sum of the other two; check the signs of the products of inertia and the point the inertia refers to "
        "(the mass centre)"
    )


@dataclass(frozen=True, eq=False)
class RigidBody(OrientedBody):
    """A rigid body; position and velocity are those of its reference point, the origin of its frame.

    mass : kg. inertia : about the mass centre in body axes, kg m2; a number, three principal moments or a
    3 x 3 matrix. center_of_mass : offset of the mass centre from the reference point, body axes, m.
    inertia_about : another point that the inertia is about, from the reference point, body axes, m; the body is stored
    with its inertia about the mass centre.
    position : of the reference point, inertial axes, m; by default it follows from beams and joints to bodies
    of known position, else it is the origin. quaternion or euler_angles (rad, in
    ``euler_sequence``, intrinsic: three letters, or any three axes, a row each) : attitude, body to inertial.
    velocity : of the reference point, inertial axes, m/s. angular_velocity (body axes, rad/s) or euler_rates.
    The velocities apply to the whole connected structure, which starts as one rigid body, unless
    ``moves_alone`` is true. shape : for pictures only, {"box": [x, y, z]}, {"sphere": radius} or
    {"cylinder": [radius, length]} in m.

    Raises ModelError: mass not positive, inertia not that of a body, quaternion not of unit length.
    Source: docs/theory/rigid_body.md.
    """

    kind: ClassVar[str] = "rigid"

    name: str
    mass: Annotated[float, Unit("kg")]
    inertia: Inertia
    center_of_mass: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    position: Annotated[Vector | None, Unit("m")] = None
    quaternion: Quaternion | None = None
    euler_angles: Annotated[Vector | None, Unit("rad")] = None
    velocity: Annotated[Vector | None, Unit("m/s")] = None
    angular_velocity: Annotated[Vector | None, Unit("rad/s")] = None
    euler_rates: Annotated[Vector | None, Unit("rad/s")] = None
    euler_sequence: Annotated[EulerSequence | Matrix3, Unit("")] = "xyz"
    moves_alone: bool = False
    shape: Annotated[dict[str, Any] | None, Unit("m")] = field(default=None, repr=False)
    inertia_about: Annotated[Vector | None, Unit("m")] = None

    def check(self, check: Checks) -> None:
        check.positive("mass")
        distance, mass = np.zeros(3), 0.0
        if self.inertia_about is not None and not {"inertia_about", "center_of_mass", "mass"} & check.bad:
            distance, mass = self.inertia_about - self.center_of_mass, self.mass
        matrix, problem = inertia_matrix(self.inertia, mass, distance)
        if problem:
            check.fail("inertia", problem)
        else:
            object.__setattr__(self, "inertia", matrix)
            object.__setattr__(self, "inertia_about", None)
        super().check(check)
        check.at_most_one("angular_velocity", "euler_rates")
        check_shape(check, "shape")

    def start_motion(self, layout: Layout) -> StartMotion | None:
        station, omega = Station(layout.bodies[self.name]), self.angular_velocity
        if self.euler_rates is not None:
            angles = to_euler(layout.frames[station.frame].quaternion, self.euler_sequence)
            omega = omega_from_euler_rates(angles, self.euler_rates, self.euler_sequence)
        if self.velocity is None and omega is None:
            return None
        return StartMotion(station, self.velocity, omega, self.moves_alone)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A moving frame."""
        layout.bodies[self.name] = layout.add_frame(self.name, *placement.bodies[self.name])

    @staticmethod
    def batches(items: list["RigidBody"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all rigid bodies."""
        from femb.elements.body.mass_batch import MassBatch

        entries = [(layout.bodies[body.name], body.mass, body.center_of_mass, body.inertia) for body in items]
        return [MassBatch(layout, model.gravity, entries)]

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        result = OrientedBody.records(items, system)
        for item in items:
            if item.shape is not None:
                result.attributes[f"bodies/{item.name}"]["shape"] = json.dumps(item.shape)
        return result


def check_shape(check: Checks, name: str) -> None:
    """Report a picture shape that no exporter can draw."""
    shape = getattr(check.item, name)
    sizes = {"box": 3, "sphere": 1, "cylinder": 2}
    if shape is None:
        return
    if not isinstance(shape, dict) or len(shape) != 1 or next(iter(shape)) not in sizes:
        check.fail(
            name,
            f"got {shape!r}, wanted one of box = [x, y, z], sphere = radius, cylinder = [radius, length]",
        )
        return
    word, size = next(iter(shape.items()))
    numbers = np.atleast_1d(np.asarray(size, dtype=object))
    if numbers.shape != (sizes[word],) or not all(isinstance(x, int | float) and x > 0 for x in numbers):
        check.fail(name, f"got {shape!r}, {word} wants {sizes[word]} number(s) greater than 0")
