"""Lengths and directions along a path of equilibria, on which the load factor is an unknown too.

Source: docs/theory/statics.md, section 3 (Riks; the equations bordered by block elimination).
"""

from dataclasses import dataclass, replace

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.layout.layout import Layout, Station
from femb.layout.state import station_motion, station_pose
from femb.statics.neutral import NeutralMotions
from femb.statics.solve import Balanced, Statics
from femb.system.block_lu import SingularError

STILL = 1e-8  # of the extent, or rad: what hardly moves has no direction, and does not go over to another path
TURN = 0.5  # rad, between the displacements of a step and the tangents at its ends
# Change of the load factor beside that by the mean slope, relative to the slopes' mean size and the first slope.
UNEVEN, UNEVEN_START = 0.25, 0.02


@dataclass(frozen=True, eq=False)
class PathTangent:
    """A unit vector along the path: displacements x (n_v,) and load factor, whose lengths the weights measure."""

    x: Floats
    load: float
    weights: Floats
    of_load: float

    @property
    def by_load(self) -> float:
        """The component of the load factor in products."""
        return self.of_load * self.load

    @property
    def size(self) -> float:
        """The length of its displacements."""
        return float(np.sqrt(self.along(self.x)))

    @property
    def slope(self) -> float:
        """Change of the load factor over the length of the displacements."""
        return self.load / max(self.size, 1e-300)

    def along(self, x: Floats) -> float:
        """The product with displacements and rotations (n_v,)."""
        return float(self.x @ (self.weights * x))

    def product(self, other: "PathTangent") -> float:
        """The product with another one."""
        return self.along(other.x) + self.by_load * other.load


class PathMeasure:
    """Measures lengths along the path: the root mean square of all frames' motions, and the load factor over ``unit``.

    A displacement counts by the extent of the model, a rotation in rad. In the planes that steps end in, the load
    factor counts no more than the displacements of the first tangent: those of shallow structures are small, and load
    factors near their limit points are not reached. Where nothing moves, as under heat between walls, ``unit`` counts.

    slope : of the load factor where the path begins; zero where nothing moves there.
    """

    def __init__(self, statics: Statics, unit: float) -> None:
        self.statics, self.unit = statics, unit
        weights = statics.weights
        self.weights = weights / max(1, sum(frame.freedom > 0 for frame in statics.twin.layout.frames))
        self.of_load = self.slope = 0.0

    def tangent(
        self, found: Balanced, neutral: NeutralMotions | None, before: PathTangent | None = None
    ) -> PathTangent:
        """The unit vector along the path at an equilibrium, on in the sense of the one ``before``; at first towards
        larger loads; ``neutral`` motions are not along it. Raises SolveError where the stiffness is singular."""
        statics = self.statics
        state = statics.state(found.q, found.load)
        system = statics.under(found.load)
        stiffness, jacobian = statics.matrices(state, found.q, found.multipliers, system=system)
        if statics.twin.n_c:
            stiffness += statics.products(state[0], found.q, statics.scales(stiffness, jacobian)[1])
        change, matrix = statics.by_load(found.q, found.load), stiffness + jacobian
        if neutral is not None:
            change[neutral.held], matrix = 0.0, neutral.holding(matrix)
        try:
            x = statics.twin.solver.factorise(matrix).solve(-change)[: statics.twin.n_v]
        except SingularError as error:
            raise SolveError(
                "arc length: a motion has no stiffness where the path begins; hold it, or leave out arc length"
            ) from error
        x = x if neutral is None else neutral.without(x)
        of_x = float(x @ (self.weights * x))
        if not self.of_load:
            of_unit, moves = 1.0 / self.unit**2, of_x * self.unit**2 > STILL**2
            self.of_load, self.slope = (min(of_unit, of_x), 1.0 / np.sqrt(of_x)) if moves else (of_unit, 0.0)
        length = float(np.sqrt(of_x + self.of_load))
        forward = PathTangent(x / length, 1.0 / length, self.weights, self.of_load)
        back = PathTangent(-forward.x, -forward.load, self.weights, self.of_load)
        return forward if before is None or forward.product(before) > 0.0 else back

    def length(self, tangent: PathTangent) -> float:
        """The length of a tangent, with the load factor over ``unit``."""
        return float(np.hypot(tangent.size, tangent.load / self.unit))

    def follows(self, tangent: PathTangent, x: Floats, load: float, ahead: PathTangent) -> bool:
        """Whether a step by displacements x (n_v,) and a load factor goes along the path between its two tangents.

        The displacements turn little on the way, and the load factor changes by the mean of its slopes.
        """
        size = float(np.sqrt(x @ (self.weights * x)))
        if size <= STILL:
            return True
        if min(tangent.along(x) / tangent.size, ahead.along(x) / ahead.size) < np.cos(TURN) * size:
            return False
        return self.agree(load, 0.5 * (tangent.slope + ahead.slope) * size, size, tangent, ahead)

    def agree(self, load: float, wanted: float, size: float, tangent: PathTangent, ahead: PathTangent) -> bool:
        """Whether a change of the load factor in a step of displacements of a size is what its tangents let expect."""
        slope = 0.5 * (abs(tangent.slope) + abs(ahead.slope))
        return size <= STILL or abs(load - wanted) <= (UNEVEN * slope + UNEVEN_START * self.slope) * size


@dataclass(frozen=True, eq=False)
class Controlled:
    """A coordinate whose steps are given: the place of a station along an inertial axis, as a plane that steps end in.

    q (n_q,) : the state at which its changes are taken.
    """

    layout: Layout
    station: Station
    axis: int
    q: Floats | None = None
    by_load: float = 0.0

    def at(self, q: Floats) -> "Controlled":
        """The plane at a state."""
        return replace(self, q=q)

    def along(self, x: Floats) -> float:
        """Its change with displacements and rotations (n_v,)."""
        assert self.q is not None
        return float(station_motion(self.layout, self.station, self.q[None], x[None])[2][0, self.axis])

    def place(self, q: Floats) -> float:
        """Its value (m) at a state."""
        return float(station_pose(self.layout, self.station, q[None])[0][0, self.axis])
