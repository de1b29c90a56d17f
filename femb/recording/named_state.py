"""The state of a system by the names of its frames, internal coordinates, joints and discrete states.

Positions and velocities are inertial, so that another system with parts of the same names can start from the state,
also if its coordinates are numbered in another order.
"""

from collections.abc import Mapping
from copy import copy
from pathlib import Path

import numpy as np

from femb.base.arrays import CHECKPOINT
from femb.base.errors import ContinuationError, ModelError, Problem
from femb.base.options import StartState
from femb.base.types import Floats
from femb.layout.commands import TakesCommands
from femb.layout.layout import Layout
from femb.results.storage.read import Earlier, find_results, read_earlier
from femb.system.initial_state import TYPED, assembled, gap_problems, shared_velocity
from femb.system.system import System

Arrays = Mapping[str, np.ndarray]

# Words for the parts of a state in messages.
PARTS = {"frames": "bodies and nodes", "internal": "internal coordinates", "joints": "joint coordinates"}


def names_of(layout: Layout) -> dict[str, np.ndarray]:
    """The names of the parts of a state, as arrays of text."""
    joints = [f"{name}.{part.name}" for name, joint in layout.joints.items() for part in joint.coordinates]
    names = {
        "frames": [frame.label for frame in layout.frames if frame.freedom],
        "internal": [coordinate.name for coordinate in layout.internal],
        "joints": joints,
    }
    return {part: np.array(entries, dtype=str) for part, entries in names.items()}


def named_state(system: System, t: float, q: Floats, v: Floats, angles: Floats) -> dict[str, Floats]:
    """The state q (n_q,), v (n_v,) of a system at time t (s), by part: pose (F, 7) and motion (F, 6) of the frames that
    move, internal (S, 2) the internal coordinates and their rates, and the unwrapped coordinates of joints (m,).

    A point has no axes: its quaternion and angular velocity are NaN.
    """
    layout = system.layout
    moving = [k for k, frame in enumerate(layout.frames) if frame.freedom]
    pose, motion = np.full((len(moving), 7), np.nan), np.full((len(moving), 6), np.nan)
    for row, k in enumerate(moving):
        freedom, i, j = layout.frames[k].freedom, layout.frame_q[k], layout.frame_v[k]
        width = 7 if freedom == 6 else 3
        pose[row, :width], motion[row, :freedom] = q[i : i + width], v[j : j + freedom]
    position, velocity = layout.to_inertial(np.array([t]), pose[None, :, :3], motion[None, :, :3])
    pose[:, :3], motion[:, :3] = position[0], velocity[0]
    internal = np.stack([q[layout.internal_q], v[layout.internal_v]], axis=1)
    return {"time": np.array(t), "pose": pose, "motion": motion, "internal": internal, "joints": angles}


def start_state(system: System, start: StartState) -> System:
    """The system at the start of a motion from the last state of a run.

    Raises ContinuationError where the file has none, ModelError where the model has other parts.
    """
    earlier = _earlier(start)
    return starting_from(system, earlier.part("names"), earlier.part("last"), earlier.part("discrete"))


def start_line(start: StartState) -> str:
    """A line on a start from results, as they are at their last instant while profiles and orbits begin at zero."""
    last = float(_earlier(start).part("last")["time"])
    return f"start: the last state of {start.results}, at {last:.6g} s there; profiles, orbits and clocks begin anew"


def _earlier(start: StartState) -> Earlier:
    path = find_results(Path(start.results))
    earlier = read_earlier(path)
    if "last/time" not in {name.removeprefix(CHECKPOINT) for name in earlier.checkpoint}:
        raise ContinuationError(
            f"{path}: has no last state to start from; wanted a run in time, not a copy of its file"
        )
    return earlier


def starting_from(system: System, names: Arrays, state: Arrays, discrete: Arrays) -> System:
    """The system at the start of a motion from a state of this or another system with the same names.

    discrete : its discrete states by name. Of these the system takes those that it has too, commands within its limits;
    clocks begin anew, and others are as its model says. Raises ModelError where parts are missing, or where joints or
    drivers contradict the state.
    """
    layout = system.layout
    own = names_of(layout)
    _check_names(own, names)
    q, v = system.q0.copy(), np.zeros(system.n_v)
    rows = {name: row for row, name in enumerate(names["frames"].tolist())}
    for k, frame in enumerate(layout.frames):
        if frame.freedom:
            i, j, row = layout.frame_q[k], layout.frame_v[k], rows[frame.label]
            q[i : i + 3], v[j : j + 3] = state["pose"][row, :3] - layout.origin, state["motion"][row, :3]
            if frame.freedom == 6:
                q[i + 3 : i + 7], v[j + 3 : j + 6] = state["pose"][row, 3:], state["motion"][row, 3:]
    if not (np.all(np.isfinite(q)) and np.all(np.isfinite(v))):
        raise _refused("a point mass there is a body with axes here")
    order = _order(own["internal"], names["internal"])
    q[layout.internal_q], v[layout.internal_v] = state["internal"][order].T
    other = copy(system)
    if "engaged" in discrete:  # by number, in files of earlier versions
        columns = list(zip(discrete["engaged"], discrete["latched"], strict=True))
        pairs = zip(names["latches"].tolist(), columns, strict=True)
        discrete = {
            f"latches.{name}.{word}": value
            for name, values in pairs
            for word, value in zip(("engaged", "coordinate"), values, strict=True)
        }
    angles = state["joints"][_order(own["joints"], names["joints"])]
    carried = {
        name: last
        for name, array in layout.discrete.items()
        if name in discrete and discrete[name].shape == system.discrete[name].shape
        if (last := array.taken_over(discrete[name], float(state["time"]))) is not None
    }
    for item in system.items:
        for command in item.commands(layout).values() if isinstance(item, TakesCommands) else ():
            if command.held in carried:  # limits may differ
                carried[command.held] = command.acting(carried[command.held])
    other = other.with_discrete(system.discrete.replaced(carried).with_angles(angles))
    other.q0 = _closed(other, q) if system.n_c else q
    layout.origin_velocity = shared_velocity(other, v)
    v = v - layout.origin_velocity @ other.rigid_velocities(other.q0)[:3]
    other.v0 = _consistent(other, v)
    return other


def _check_names(own: Arrays, names: Arrays) -> None:
    problems = []
    for part, words in PARTS.items():
        here, there = dict.fromkeys(own[part].tolist()), dict.fromkeys(names[part].tolist())
        for first, second, text in ((here, there, "the results have no"), (there, here, "the case has no")):
            missing = [name for name in first if name not in second]
            if missing:
                more = f", and {len(missing) - 3} more" if len(missing) > 3 else ""
                problems.append(f"{text} {', '.join(map(repr, missing[:3]))}{more} ({words})")
    if problems:
        raise _refused("; ".join(problems) + ". Both need the same bodies, beams with their elements, and joints")


def _order(own: np.ndarray, names: np.ndarray) -> list[int]:
    """The index in ``names`` of each of the own names; the same name several times counts in order."""
    places: dict[str, list[int]] = {}
    for k, name in enumerate(names.tolist()):
        places.setdefault(name, []).append(k)
    try:
        return [places[name].pop(0) for name in own.tolist()]
    except IndexError:
        raise _refused("the elements of a beam differ") from None


def _closed(system: System, q: Floats) -> Floats:
    """q on the constraints, from which it may differ by rounding only."""
    v = np.zeros(system.n_v)
    gaps = system.position_residual(system.inputs_at(0.0, q, v), q, v)
    if np.max(np.abs(gaps)) > TYPED:
        of_driver = "begins {0:.3g} {1} away from the last state of the results: let it begin there"
        raise ModelError(*gap_problems(system, gaps, "is open by {0:.3g} in the last state of the results", of_driver))
    return assembled(system, q, False)


def _consistent(system: System, v: Floats) -> Floats:
    """v on the constraints, from which it may differ by rounding only."""
    u = system.inputs_at(0.0, system.q0, v)
    gaps = system.velocity_residual(u, system.q0, v)
    if len(gaps) and np.max(np.abs(gaps)) > TYPED * max(1.0, float(np.max(np.abs(v)))):
        worst = int(np.argmax(np.abs(gaps)))
        label = system.layout.row_labels[int(np.flatnonzero(system.layout.row_c == worst)[0])]
        raise _refused(
            f"{label} moves at the end of the results by {abs(gaps[worst]):.3g} (m/s, or rad/s) otherwise than here at "
            "the start: let the driver begin with that rate"
        )
    return system.projected(u, system.q0, v)[1] if len(gaps) else v


def _refused(text: str) -> ModelError:
    return ModelError(Problem(("run", "start"), text))
