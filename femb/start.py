"""Start velocities: connected structures begin as one rigid body unless a body moves alone."""

from typing import Any

import numpy as np

from femb import rotations
from femb.errors import ModelError, Problem
from femb.euler import omega_from_euler_rates, to_euler
from femb.layout import Layout, Station
from femb.model import Model
from femb.placement import Placement
from femb.types import Floats

# A given velocity and that of the rigid motion may differ by the rounding of typed numbers.
AGREEMENT = 1e-6


def body_angular_velocity(item: Any, quaternion: Floats) -> Floats | None:
    """Angular velocity (3,) in body axes from whichever words the item gives it in; None if it gives none."""
    rates = getattr(item, "euler_rates", None)
    if rates is not None:
        return omega_from_euler_rates(to_euler(quaternion, item.euler_sequence), rates, item.euler_sequence)
    return getattr(item, "angular_velocity", None)


def start_velocities(model: Model, layout: Layout, placement: Placement) -> Floats:
    """v (n_v,) at the start; raises ModelError naming items whose velocities contradict each other."""
    v = np.zeros(layout.n_v)
    component = components(layout)
    leaders: dict[int, tuple[tuple[str, str], Floats, Floats, Floats]] = {}
    problems: list[Problem] = []
    for item, station, twist in _given(model, layout):
        position, velocity, omega = twist
        group = component[station.frame]
        if getattr(item, "moves_alone", False):
            continue
        name = (item.table, item.name)
        if group not in leaders:
            leaders[group] = (name, position, _or_zero(velocity), _or_zero(omega))
            continue
        other, origin, first_velocity, first_omega = leaders[group]
        arm = position - origin
        expected = first_velocity + np.cross(first_omega, arm)
        spin = float(np.linalg.norm(first_omega))
        speed = float(np.linalg.norm(first_velocity)) + spin * float(np.linalg.norm(arm))
        pairs = ((velocity, expected, speed, "velocity"), (omega, first_omega, spin, "angular velocity"))
        for got, wanted, size, word in pairs:
            if got is not None and np.linalg.norm(got - wanted) > AGREEMENT * (np.linalg.norm(got) + size):
                problems.append(
                    Problem(
                        name,
                        f"starts with the {word} {_shown(got)} (inertial axes), but moving as one rigid body with "
                        f"{'.'.join(other)} it would have {_shown(wanted)}: give one of the two, make them agree, "
                        "or set moves_alone = true",
                    )
                )
                break
    for group, (name, origin, velocity, omega) in leaders.items():
        frames = [k for k in range(len(layout.frames)) if component[k] == group]
        fixed = [layout.frames[k].label for k in frames if layout.frames[k].freedom == 0]
        if fixed and (velocity.any() or omega.any()):
            problems.append(
                Problem(
                    name,
                    f"starts with a velocity but is connected to {fixed[0]!r}, which does not move: "
                    "leave it out or set moves_alone = true",
                )
            )
        for k in frames:
            _set(v, layout, k, velocity + np.cross(omega, layout.frames[k].position - origin), omega)
    for item, station, (_, velocity, omega) in _given(model, layout):
        if getattr(item, "moves_alone", False):
            _set(v, layout, station.frame, _or_zero(velocity), _or_zero(omega))
    if problems:
        raise ModelError(*problems)
    return v


def _given(model: Model, layout: Layout) -> list[tuple[Any, Station, tuple[Floats, Floats | None, Floats | None]]]:
    """Items that state a velocity: position, and velocity and angular velocity, inertial axes, where given."""
    found = []
    for item in (*model.bodies.values(), *model.beams.values()):
        velocity = getattr(item, "velocity", None)
        if item.table == "beams":
            station = layout.beams[item.name].stations[0]
        elif item.name in layout.bodies:
            station = Station(layout.bodies[item.name])
        else:
            continue
        frame = layout.frames[station.frame]
        omega = body_angular_velocity(item, frame.quaternion)
        if velocity is None and omega is None:
            continue
        spin = None if omega is None else rotations.rotate(frame.quaternion, omega)
        found.append((item, station, (frame.position, velocity, spin)))
    return found


def _or_zero(x: Floats | None) -> Floats:
    return np.zeros(3) if x is None else x


def _set(v: Floats, layout: Layout, k: int, velocity: Floats, omega: Floats) -> None:
    frame, i = layout.frames[k], layout.frame_v[k]
    if frame.freedom:
        v[i : i + 3] = velocity
    if frame.freedom == 6:
        v[i + 3 : i + 6] = rotations.rotate_back(frame.quaternion, omega)


def components(layout: Layout, through_springs: bool = False) -> list[int]:
    """For every frame, the number of the connected structure it belongs to; springs connect if asked to."""
    parent = list(range(len(layout.frames)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    for frames, _ in (*layout.couplings, *(layout.spring_couplings if through_springs else ())):
        for k in frames[1:]:
            parent[root(k)] = root(frames[0])
    return [root(k) for k in range(len(parent))]


def _shown(x: Floats) -> str:
    return "(" + ", ".join(f"{float(each):.6g}" for each in x) + ")"
