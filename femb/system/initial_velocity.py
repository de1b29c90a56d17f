"""Start velocities: connected structures start as one rigid body, without bodies marked ``moves_alone``."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats
from femb.base.values import vector
from femb.elements.item import StartMotion
from femb.layout.connections import components
from femb.layout.layout import Layout
from femb.model.model import Model
from femb.numerics import rotations
from femb.numerics.components import norm
from femb.system.consistent_velocity import consistent_start
from femb.system.equations import Equations

# Rounding of typed numbers: allowed relative difference of a given velocity from that of the rigid motion.
AGREEMENT = 1e-6
# A free model that moves faster than this (m/s), and than this multiple of its differences of velocity, is followed.
FAST, FAR = 100.0, 10.0


@dataclass
class Twist:
    """A given velocity, and the rigid motion of the structure with it.

    source : the item that gives it. point (3,) : m. velocity of the point, omega (3,) : inertial axes, None if unknown.
    """

    source: tuple[str, str]
    point: Floats
    velocity: Floats | None
    omega: Floats | None

    def at(self, point: Floats) -> tuple[Floats, Floats]:
        """Velocity and angular velocity at a point; unknown ones count as zero."""
        omega = _or_zero(self.omega)
        return _or_zero(self.velocity) + rotations.cross(omega, point - self.point), omega


def start_velocities(system: Equations, q: Floats) -> Floats:
    """v (n_v,) at the start. Raises ModelError, by item, for velocities that contradict each other.

    Structures that joints connect start as one rigid body too, where given velocities and the joints allow it.
    """
    layout = system.layout
    component = structures(layout)
    given = _given(system.model, layout)
    twists, problems = _leaders(given, component)
    problems += _ground_problems(twists, component, layout)
    if problems:
        raise ModelError(*problems)
    leader = _leader_of(twists, component, layout) if layout.rows else {}
    v = np.zeros(layout.n_v)
    alone = {motion.station.frame: twist for motion, twist in given if motion.alone}
    for k, frame in enumerate(layout.frames):
        twist, i = alone.get(k) or twists.get(leader.get(component[k], component[k])), layout.frame_v[k]
        if twist is not None and frame.freedom:
            v[i : i + 3], omega = twist.at(frame.position)
            if frame.freedom == 6:
                v[i + 3 : i + 6] = rotations.rotate_back(frame.quaternion, omega)
    if not layout.rows:
        return v
    together = [leader.get(group, group) for group in component]
    return consistent_start(system, q, v, component, together, twists, set(alone))


def shared_velocity(system: Equations, v: Floats) -> Floats:
    """The velocity of the origin (3,) m/s: that of the first frame if all frames move along with it, or zero.

    A free model in orbit leaves any fixed origin within seconds, and differences of positions would be lost in
    rounding. Zero where something stays behind: a fixed frame, or air, and where the
    origin moves on an orbit already. v (n_v,) : inertial velocities at the start.
    """
    layout = system.layout
    follows = layout.frames and all(frame.freedom for frame in layout.frames)
    if not follows or any(item.resists_flight or item.follows_origin for item in system.items):
        return np.zeros(3)
    velocities = v[layout.frame_v[:, None] + np.arange(3)]
    spread = float(np.max(np.linalg.norm(velocities - velocities[0], axis=1)))
    fast = norm(velocities[0]) > max(FAST, FAR * spread)
    return np.array(velocities[0]) if fast else np.zeros(3)


def _leaders(given: list[tuple[StartMotion, Twist]], component: list[int]) -> tuple[dict[int, Twist], list[Problem]]:
    """The motion of every structure with a given velocity, by the first item that gives one."""
    twists: dict[int, Twist] = {}
    problems: list[Problem] = []
    for motion, twist in given:
        if motion.alone:
            continue
        leader = twists.setdefault(component[motion.station.frame], twist)
        expected, omega = leader.at(twist.point)
        spin, distance = norm(omega), norm(twist.point - leader.point)
        speed = norm(_or_zero(leader.velocity)) + spin * distance
        pairs = ((twist.velocity, expected, speed, "velocity"), (twist.omega, omega, spin, "angular velocity"))
        for got, wanted, size, word in pairs:
            if got is not None and norm(got - wanted) > AGREEMENT * (norm(got) + size):
                problems.append(
                    Problem(
                        twist.source,
                        f"starts with the {word} {vector(got)} (inertial axes), but moving as one rigid body with "
                        f"{'.'.join(leader.source)} it would have {vector(wanted)}: give one of the two, make "
                        "them agree, or set moves_alone = true",
                    )
                )
                break
    return twists, problems


def _ground_problems(twists: dict[int, Twist], component: list[int], layout: Layout) -> list[Problem]:
    """Errors: velocities of structures that are connected to the ground."""
    problems = []
    for group, twist in twists.items():
        fixed = [frame.label for k, frame in enumerate(layout.frames) if component[k] == group and frame.freedom == 0]
        if fixed and (_or_zero(twist.velocity).any() or _or_zero(twist.omega).any()):
            problems.append(
                Problem(
                    twist.source,
                    f"starts with a velocity but is connected to {fixed[0]!r}, which does not move: "
                    "leave it out or set moves_alone = true",
                )
            )
    return problems


def _leader_of(twists: dict[int, Twist], component: list[int], layout: Layout) -> dict[int, int]:
    """For a structure without a given velocity, the nearest structure, by joints, that has one."""
    fixed = {component[k] for k, frame in enumerate(layout.frames) if frame.freedom == 0}
    neighbours: dict[int, list[int]] = {}
    for a, b in layout.rows:
        neighbours.setdefault(component[a], []).append(component[b])
        neighbours.setdefault(component[b], []).append(component[a])
    result = {group: group for group in twists}
    queue = deque(twists)
    while queue:
        group = queue.popleft()
        for other in neighbours.get(group, ()):
            if other not in result and other not in fixed:
                result[other] = result[group]
                queue.append(other)
    return result


def _given(model: Model, layout: Layout) -> list[tuple[StartMotion, Twist]]:
    """The velocities that are given of items."""
    result = []
    for item in model.items():
        motion = item.start_motion(layout)
        if motion is None:
            continue
        frame, omega = layout.frames[motion.station.frame], motion.angular_velocity
        spin = None if omega is None else rotations.rotate(frame.quaternion, omega)
        result.append((motion, Twist((item.table, item.name), frame.position, motion.velocity, spin)))
    return result


def _or_zero(x: Floats | None) -> Floats:
    return np.zeros(3) if x is None else x


def structures(layout: Layout) -> list[int]:
    """For every frame, the number of its connected structure; springs do not connect."""
    return components(len(layout.frames), (frames for frames, _ in layout.couplings))
