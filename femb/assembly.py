"""Assembly: start coordinates and velocities that satisfy the constraints, and what the constraints leave free.

Coordinates are found by Newton's iteration with the smallest change in the metric of the mass and the stiffness,
shortened where it would overshoot; velocities as those nearest to the given ones, in the metric of the mass.
Source: docs/theory/constraints.md, sections 6 and 7.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.batch import TrialError
from femb.blocklu import SingularError
from femb.errors import ModelError, Problem
from femb.types import Floats

# Gaps as large as this (m or rad) are the rounding of typed numbers, and closed without asking.
TYPED = 1e-6
# What is left of the constraints after assembly.
ASSEMBLED = 1e-11
ITERATIONS = 200
LARGEST_TURN = 0.3  # rad, of one iteration
SHORTEST = 1e-4  # part of an iteration's change, below which it goes no further
# Singular values below this part of the largest belong to dependent rows.
RANK = 1e-9
# The least pivot of a scaled matrix that counts as regular.
INDEPENDENT = 1e-4
# A start velocity given (relative to the largest) may be off what the joints allow by the rounding of typed numbers.
AGREEMENT = 1e-6


def assembled(system: Any, rough: bool) -> Floats:
    """q (n_q,) on the constraints, near the system's start; ``rough`` allows for more than typed digits.

    Raises ModelError with the rows that stay open, or are open where ``rough`` is not allowed.
    """
    q, v = system.q0.copy(), np.zeros(system.n_v)
    u = system.inputs_at(0.0, q, v)
    left = _open(system, u, q, v)
    if np.max(np.abs(left)) > TYPED and not rough:
        raise ModelError(
            *_gaps(
                system,
                left,
                "is open by {0:.3g} at the start: correct the positions, or assemble with start = 'assembled'",
                "begins {0:.3g} (m, or the sine of the angle) away from the start: correct the start of the joint or "
                "the positions, or assemble with start = 'assembled'",
            )
        )
    factors: Any = None
    for _ in range(ITERATIONS):
        size = float(np.max(np.abs(left)))
        if size <= ASSEMBLED:
            break
        try:
            mass, damping, stiffness = system.matrices(u, q, v)
            factors = system.solver.factorise(mass + damping + stiffness)
        except (SingularError, TrialError) as error:
            raise ModelError(f"the mechanism could not be assembled: {error}") from error
        x = factors.solve(np.concatenate([np.zeros(system.n_v), -left]))[: system.n_v]
        spins = (system.coordinates[3][:, None] + np.arange(3)).ravel()
        turned = float(np.max(np.abs(x[spins]), initial=0.0))
        part = min(1.0, LARGEST_TURN / turned) if turned > 0.0 else 1.0
        while part >= SHORTEST:
            trial = q + part * system.rates(q[None], x[None])[0]
            system.normalise(trial)
            after = _open(system, u, trial, v)
            if np.linalg.norm(after) < (1.0 - 0.1 * part) * np.linalg.norm(left) or np.max(np.abs(after)) <= ASSEMBLED:
                break
            part *= 0.5
        else:
            break
        q, left = trial, after
    if np.max(np.abs(left)) > 100.0 * ASSEMBLED:
        raise ModelError(
            *_gaps(system, left, "stays open by {0:.3g}: the mechanism cannot be assembled from this start position")
        )
    _check_branches(system, q)
    return q


def _open(system: Any, u: Floats, q: Floats, v: Floats) -> Floats:
    return system.constraints(u[None], q[None], v[None])[0][0]


def _gaps(system: Any, left: Floats, words: str, of_driver: str | None = None) -> list[Problem]:
    """A problem for each joint that is open, with its largest gap; ``of_driver``, other words for drivers."""
    worst = float(np.max(np.abs(left)))
    found: dict[str, tuple[float, str]] = {}
    for row, label in enumerate(system.layout.row_labels):
        gap = abs(float(left[system.layout.row_c[row]]))
        item, _, what = label.partition(": ")
        if gap > max(TYPED, 1e-3 * worst) and gap > found.get(item, (0.0, ""))[0]:
            found[item] = (gap, what)
    problems = []
    for item, (gap, what) in found.items():
        table, name = item.split(".", 1)
        said = of_driver if table == "drivers" and of_driver is not None else words
        problems.append(Problem((table, name), f"({what}) {said.format(gap)}"))
    return problems


def _check_branches(system: Any, q: Floats) -> None:
    """Refuse joints whose axes are parallel the wrong way round, which their rows cannot tell."""
    from femb.state import station_motion

    problems = []
    for name, joint in system.layout.joints.items():
        for axis in joint.same_way:
            ends = [
                station_motion(system.layout, end, q[None], np.zeros((1, system.n_v)))[1][0]
                for end in (joint.first, joint.second)
            ]
            from femb.rotations import rotation_matrix

            first, second = (rotation_matrix(each)[:, axis] for each in ends)
            if first @ second < 0.0:
                problems.append(
                    Problem(
                        ("joints", name),
                        f"the {'xyz'[axis]} axes of its ends point in opposite directions: turn one of them round",
                    )
                )
    coordinates = system.coordinates_of_joints
    values = coordinates.measure(q[None], np.zeros((1, system.n_v)))[0][0]
    for name, driver in system.layout.drivers.items():
        if driver.coordinate >= 0 and coordinates.is_angle[driver.coordinate]:
            wanted = driver.inputs[0].function(0.0)[0]
            if np.cos(values[driver.coordinate] - wanted) < 0.0:
                problems.append(
                    Problem(
                        ("drivers", name),
                        f"was assembled half a turn away from where its motion begins, {wanted:.6g} rad: start nearer",
                    )
                )
    if problems:
        raise ModelError(*problems)


@dataclass(frozen=True)
class Freedom:
    """What constraints leave: degrees of freedom, number of rows, labels of rows that depend on others, and of all rows
    that take part in such a dependence, whose multipliers rigid bodies leave open.

    Which of the rows that take part is called the dependent one is a choice.
    """

    degrees: int
    rows: int
    dependent: tuple[str, ...]
    undetermined: tuple[str, ...]


def freedom(system: Any, q: Floats) -> Freedom:
    """Degrees of freedom at a state, by the rank of J (rows scaled to unit length), and its dependent rows.

    Source: docs/theory/constraints.md, section 6.
    """
    from scipy.linalg import qr, svd

    if not system.n_c:
        return Freedom(system.n_v, 0, (), ())
    u = system.inputs_at(0.0, q, np.zeros(system.n_v))
    J = system.jacobian(u, q).toarray()[system.layout.row_c]
    active = np.flatnonzero(np.any(J, axis=1))
    J = J[active] / np.linalg.norm(J[active], axis=1, keepdims=True)
    _, R, order = qr(J.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > RANK * diagonal[0])) if len(diagonal) else 0
    labels = system.layout.row_labels
    dependent = [labels[active[k]] for k in sorted(order[rank:])]
    if not dependent:
        return Freedom(system.n_v - rank, len(active), (), ())
    null = svd(J)[0][:, rank:]
    taking_part = np.flatnonzero(np.linalg.norm(null, axis=1) > 1e-8)
    undetermined = tuple(labels[active[k]] for k in taking_part)
    return Freedom(system.n_v - rank, len(active), tuple(dependent), undetermined)


def check_pairs(system: Any, q: Floats) -> None:
    """Refuse joints that hold the same two frames in the same way: each row between them must say something new."""
    layout = system.layout
    groups: dict[tuple[int, int], list[int]] = {}
    for row, pair in enumerate(layout.rows):
        groups.setdefault((min(pair), max(pair)), []).append(row)
    u = system.inputs_at(0.0, q, np.zeros(system.n_v))
    J = None
    problems = []
    for pair, rows in groups.items():
        items = list(dict.fromkeys(layout.row_labels[row].partition(": ")[0] for row in rows))
        if len(items) < 2:
            continue
        J = system.jacobian(u, q) if J is None else J
        block = J[layout.row_c[rows]].toarray()
        block = block[np.any(block, axis=1)]
        if np.linalg.matrix_rank(block, tol=RANK * np.linalg.norm(block)) < len(block):
            names = [layout.frames[frame].label for frame in pair]
            problems.append(
                Problem(
                    (*items[-1].split(".", 1),),
                    f"holds {names[0]!r} and {names[1]!r} as {' and '.join(items[:-1])} "
                    f"already {'does' if len(items) == 2 else 'do'}: leave one of them out, or take joints that leave "
                    "more free",
                )
            )
    if problems:
        raise ModelError(*problems)


def consistent_start(
    system: Any, v: Floats, component: list[int], together: list[int], twists: dict[int, Any], alone: set[int]
) -> Floats:
    """v (n_v,) with J v + Phi_t = 0 and joint rates as given, nearest to v: what of ``twists`` is known stays.

    What joints connect to a structure whose motion is given moves as one rigid body with it where the constraints allow
    it; each structure moves as a rigid body where they do not; and bends where they do not allow that. component : the
    structure of every frame; together : that with whose given motion it moves; twists : the motions of structures that
    were given; alone : frames with a velocity of their own.
    Raises ModelError where the given velocities contradict the joints.
    """
    layout, q = system.layout, system.q0
    u = system.inputs_at(0.0, q, v)
    rates, wanted, owners = _joint_rates(system, q)
    J = np.vstack([system.jacobian(u, q).toarray(), rates])
    drive = system.constraint_rates(u[None], q[None], np.zeros((1, system.n_v)))[0]
    right = np.concatenate([-drive, wanted])
    scale = float(np.max(np.abs(v), initial=0.0)) + float(np.max(np.abs(right)))
    if np.max(np.abs(J @ v - right)) <= 1e-13 * scale:
        return v
    for groups in (together, component):
        v = _nearest(system, q, v, J, right, _rigid_motions(system, q, groups, twists, alone))
        if np.max(np.abs(J @ v - right)) <= 1e-10 * scale:
            break
    else:
        # Flexible structures may have to bend with the start: all that is not given moves.
        held = {k for k in range(len(layout.frames)) if component[k] in twists} | alone
        free = np.ones(system.n_v, dtype=bool)
        for k in held:
            if layout.frames[k].freedom:
                free[layout.frame_v[k] : layout.frame_v[k] + layout.frames[k].freedom] = False
        v = _nearest(system, q, v, J, right, np.eye(system.n_v)[free])
    left = J @ v - right
    if np.max(np.abs(left)) > AGREEMENT * scale:
        raise ModelError(
            *_gaps(
                system,
                left[: system.n_c],
                f"the start velocities {'and rates of drivers ' if layout.drivers else ''}that are given would open "
                "it at {0:.3g} per s: give fewer of them, or ones that the joints allow",
            )
            + [
                Problem(
                    ("joints", owners[k], "rates"),
                    f"got {wanted[k]:.6g}, but what else is given at the start allows {wanted[k] + off:.6g} at the "
                    "nearest: give fewer of them",
                )
                for k, off in enumerate(left[system.n_c :])
                if abs(off) > AGREEMENT * scale
            ]
        )
    return v


def _joint_rates(system: Any, q: Floats) -> tuple[Floats, Floats, list[str]]:
    """Rows (k, n_v) of the joint coordinates whose rates are given, these rates, and the joints' names."""
    given = {name: system.model.tables["joints"][name].rates for name in system.layout.joints}
    given = {name: rates for name, rates in given.items() if rates is not None}
    if not given:
        return np.zeros((0, system.n_v)), np.zeros(0), []
    rows = coordinate_rows(system, q)
    parts = [rows[system.layout.joints[name].part] for name in given]
    owners = [name for name, rates in given.items() for _ in rates]
    return np.concatenate(parts), np.concatenate(list(given.values())), owners


def coordinate_rows(system: Any, q: Floats) -> Floats:
    """Rows (m, n_v) of the rates of all joint coordinates."""
    layout = system.layout
    gradients = system.coordinates_of_joints.measure(q[None], np.zeros((1, system.n_v)))[2][0]
    rows = np.zeros((len(gradients), system.n_v))
    for joint in layout.joints.values():
        for e, frame in enumerate((joint.first.frame, joint.second.frame)):
            place, freedom = layout.frame_v[frame], layout.frames[frame].freedom
            if freedom:
                rows[joint.part, place : place + freedom] += gradients[joint.part, 6 * e : 6 * e + freedom]
    return rows


def _rigid_motions(system: Any, q: Floats, component: list[int], twists: dict[int, Any], alone: set[int]) -> Floats:
    """(k, n_v): the rigid motions of structures that are not given."""
    layout = system.layout
    motions = system.rigid_velocities(q)
    fixed = {component[k] for k, frame in enumerate(layout.frames) if frame.freedom == 0}
    rows = []
    for group in sorted(set(component) - fixed):
        mask = np.zeros(system.n_v)
        frames = [k for k in range(len(component)) if component[k] == group and k not in alone]
        for k in frames:
            mask[layout.frame_v[k] : layout.frame_v[k] + layout.frames[k].freedom] = 1.0
        if not frames:
            continue
        twist = twists.get(group)
        point = twist.point if twist is not None else q[layout.frame_q[frames[0]] : layout.frame_q[frames[0]] + 3]
        about = motions[3:] - np.cross(np.eye(3), point) @ motions[:3]
        if twist is None or twist.velocity is None:
            rows += list(motions[:3] * mask)
        if twist is None or twist.omega is None:
            rows += [each for each in about * mask if np.max(np.abs(each)) > 1e-12]
    return np.array(rows).reshape(-1, system.n_v)


def _nearest(system: Any, q: Floats, v: Floats, J: Floats, right: Floats, motions: Floats) -> Floats:
    """v plus the combination of motions (k, n_v) with the least kinetic energy that brings J v to ``right``."""
    if not len(motions):
        return v
    mass = motions @ (system.mass_matrix(q) @ motions.T)
    reach = J @ motions.T
    spread = _solved(mass, reach.T)
    multipliers = _solved(reach @ spread, right - J @ v)
    return v + (spread @ multipliers) @ motions


def _solved(A: Floats, b: Floats) -> Floats:
    """The x of least norm of A x = b, A symmetric and not negative: by Cholesky's factors where A is regular."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    size = np.sqrt(np.diag(A))
    if np.all(size > 0.0):
        try:
            factors = cho_factor(A / size / size[:, None], lower=True)
            if np.min(np.diag(factors[0])) > INDEPENDENT:
                return np.asarray((cho_solve(factors, (b.T / size).T).T / size).T, dtype=float)
        except LinAlgError:
            pass
    return np.asarray(np.linalg.lstsq(A, b, rcond=RANK)[0], dtype=float)
