"""Assembly: start coordinates and velocities that satisfy the constraints, and what the constraints leave free.

Coordinates are found by Newton's iteration with the smallest change in the metric of the mass and the stiffness,
shortened where it would overshoot; velocities as those nearest to the given ones, in the metric of the mass.
Source: docs/theory/constraints.md, sections 6 and 7.
"""

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats, Ints
from femb.layout.element import TrialError
from femb.layout.layout import Layout
from femb.numerics.newton import Iteration, largest, newton
from femb.numerics.rotations import multiply, rotation_matrix
from femb.system.block_lu import SingularError

if TYPE_CHECKING:
    from femb.system.system import System

# Gaps as large as this (m or rad) are the rounding of typed numbers, and closed without asking.
TYPED = 1e-6
# What is left of the constraints after assembly.
ASSEMBLED = 1e-11
ITERATIONS = 200
# Singular values below this part of the largest belong to dependent rows.
RANK = 1e-9
# With more motions than this, start velocities are solved for with sparse matrices, if they can be to this part after
# so many refinements, with terms that are at most so much larger than their sum.
DENSE, SOLVED, REFINEMENTS, LARGEST_PART = 600, 1e-12, 2, 1e9
# The least singular value of rows of unit length that are independent for certain.
INDEPENDENT_ROWS = 1e-6
# The least pivot of a scaled matrix that counts as regular.
INDEPENDENT = 1e-4
# A start velocity given (relative to the largest) may be off what the joints allow by the rounding of typed numbers.
AGREEMENT = 1e-6


def assembled(system: "System", rough: bool) -> Floats:
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

    def correction(it: Iteration[Floats, Floats]) -> Floats:
        mass, damping, stiffness = system.matrices(u, it.x, v)
        x = np.concatenate([np.zeros(system.n_v), -it.residual])
        found: Floats = system.solver.factorise(mass + damping + stiffness).solve(x)[: system.n_v]
        return found

    try:
        end = newton(
            q,
            lambda q: _open(system, u, q, v),
            correction,
            system.retract,
            lambda it: it.within(ASSEMBLED),
            iterations=ITERATIONS,
            residual_size=largest,
            rotations=system.rotations,
            line_search=lambda gaps: float(np.linalg.norm(gaps)),
        )
    except (SingularError, TrialError) as error:
        raise ModelError(f"the mechanism could not be assembled: {error}") from error
    left = end.residual
    if largest(left) > 100.0 * ASSEMBLED:
        raise ModelError(
            *_gaps(system, left, "stays open by {0:.3g}: the mechanism cannot be assembled from this start position")
        )
    _check_branches(system, end.x)
    return end.x


def _open(system: "System", u: Floats, q: Floats, v: Floats) -> Floats:
    result: Floats = system.constraints(u[None], q[None], v[None])[0][0]
    return result


def _gaps(system: "System", left: Floats, words: str, of_driver: str | None = None) -> list[Problem]:
    """A problem for each joint that is open, with its largest gap; ``of_driver``, other words for drivers."""
    worst = float(np.max(np.abs(left)))
    # below what is typed, as rounding at a great distance leaves it, the largest gaps are named all the same
    limit = max(TYPED if worst > TYPED else 0.0, 1e-3 * worst)
    found: dict[str, tuple[float, str]] = {}
    for row, label in enumerate(system.layout.row_labels):
        gap = abs(float(left[system.layout.row_c[row]]))
        item, _, what = label.partition(": ")
        if gap > limit and gap > found.get(item, (0.0, ""))[0]:
            found[item] = (gap, what)
    problems = []
    for item, (gap, what) in found.items():
        table, name = item.split(".", 1)
        said = of_driver if table == "drivers" and of_driver is not None else words
        problems.append(Problem((table, name), f"({what}) {said.format(gap)}"))
    if not np.all(np.isfinite(left)):
        return [Problem(("joints",), "the gaps at the start are not finite: look for lengths that are far too large")]
    return problems


def _check_branches(system: "System", q: Floats) -> None:
    """Refuse joints whose axes are parallel the wrong way round, which their rows cannot tell."""
    layout, problems = system.layout, []
    joints = {name: joint for name, joint in layout.joints.items() if joint.same_way}
    if joints:
        first, second = (
            _end_axes(layout, [getattr(joint, word) for joint in joints.values()], q) for word in ("first", "second")
        )
        along = np.einsum("jka,jka->ja", first, second)
        for (name, joint), cosines in zip(joints.items(), along, strict=True):
            problems += [
                Problem(
                    ("joints", name),
                    f"the {'xyz'[axis]} axes of its ends point in opposite directions: turn one of them round",
                )
                for axis in joint.same_way
                if cosines[axis] < 0.0
            ]
    coordinates = system.coordinates_of_joints
    values = coordinates.measure(q[None], np.zeros((1, system.n_v)))[0][0]
    for name, driver in layout.drivers.items():
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


def _end_axes(layout: Layout, ends: list[Any], q: Floats) -> Floats:
    """(n, 3, 3) axes of stations at one state, as columns, inertial."""
    frames = [layout.frames[end.frame] for end in ends]
    places = [int(layout.frame_q[end.frame]) for end in ends]
    quaternions = [
        q[i + 3 : i + 7] if frame.freedom == 6 else frame.quaternion for frame, i in zip(frames, places, strict=True)
    ]
    return rotation_matrix(multiply(np.array(quaternions), np.array([end.rotation for end in ends])))


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


def freedom(system: "System", q: Floats) -> Freedom:
    """Degrees of freedom at a state, by the rank of J (rows scaled to unit length), and its dependent rows.

    Source: docs/theory/constraints.md, section 6.
    """
    from scipy.linalg import qr, svd

    if not system.n_c:
        return Freedom(system.n_v, 0, (), ())
    u = system.inputs_at(0.0, q, np.zeros(system.n_v))
    J = system.jacobian(u, q).tocsr()[system.layout.row_c]
    sizes = np.sqrt(np.asarray(J.multiply(J).sum(axis=1))).ravel()
    active = np.flatnonzero(sizes)
    blocks = _row_blocks(system.layout, J, sizes, active)
    loops = _in_loops(system.layout, blocks, active)
    dependent: list[int] = []
    undetermined: list[int] = []
    for rows in loops:
        # Rows that share no frame with others, even through others, depend on none of these.
        columns = np.unique(np.concatenate([J[[k]].indices for k in rows]))
        block = J[rows][:, columns].toarray() / sizes[rows, None]
        _, R, order = qr(block.T, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int(np.sum(diagonal > RANK * diagonal[0]))
        if rank < len(rows):
            dependent += [rows[k] for k in order[rank:]]
            null = svd(block)[0][:, rank:]
            undetermined += [rows[k] for k in np.flatnonzero(np.linalg.norm(null, axis=1) > 1e-8)]
    labels = system.layout.row_labels
    named = (tuple(labels[k] for k in sorted(each)) for each in (dependent, undetermined))
    return Freedom(system.n_v - len(active) + len(dependent), len(active), *named)


def _row_blocks(layout: Layout, J: Any, sizes: Floats, active: Ints) -> dict[tuple[int, int], Floats]:
    """J of every row, scaled to unit length, on the velocities of each moving frame that it is between."""
    found = {}
    for row in active.tolist():
        start, stop = J.indptr[row], J.indptr[row + 1]
        columns, values = J.indices[start:stop], J.data[start:stop] / sizes[row]
        for frame in set(layout.rows[row]):
            first, freedom = int(layout.frame_v[frame]), layout.frames[frame].freedom
            if freedom:
                own = np.zeros(6)
                inside = (columns >= first) & (columns < first + freedom)
                own[columns[inside] - first] = values[inside]
                found[row, frame] = own
    return found


def _in_loops(layout: Layout, blocks: dict[tuple[int, int], Floats], active: Ints) -> list[list[int]]:
    """Rows that may depend on others, in groups that share no frame.

    Where the rows on a frame are independent in its velocities alone, no multipliers of theirs cancel each other: they
    take part in no dependence. Without them, the same may hold of the next frame: so trees are undone from their
    leaves, and what is left is in loops, or holds two frames twice.
    """
    on: dict[int, set[int]] = {}
    for row, frame in blocks:
        on.setdefault(frame, set()).add(row)
    left = set(active.tolist())
    queue = deque(sorted(on))
    while queue:
        frame = queue.popleft()
        rows = sorted(on[frame])
        if not 0 < len(rows) <= layout.frames[frame].freedom:
            continue
        own = np.array([blocks[row, frame] for row in rows])
        if np.linalg.svd(own, compute_uv=False)[-1] < INDEPENDENT_ROWS:
            continue
        left -= set(rows)
        for other in {each for row in rows for each in layout.rows[row] if each in on}:
            on[other] -= set(rows)
            queue.append(other)
    groups: list[list[int]] = []
    while left:
        group, frames = [left.pop()], set[int]()
        for row in group:
            for frame in set(layout.rows[row]) - frames:
                frames.add(frame)
                others = on.get(frame, set()) & left
                left -= others
                group += sorted(others)
        groups.append(sorted(group))
    return sorted(groups)


def check_pairs(system: "System", q: Floats) -> None:
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
        J = system.jacobian(u, q).tocsr() if J is None else J
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
    system: "System", v: Floats, component: list[int], together: list[int], twists: dict[int, Any], alone: set[int]
) -> Floats:
    """v (n_v,) with J v + Phi_t = 0 and joint rates as given, nearest to v: what of ``twists`` is known stays.

    What joints connect to a structure whose motion is given moves as one rigid body with it where the constraints allow
    it; each structure moves as a rigid body where they do not; and bends where they do not allow that. component : the
    structure of every frame; together : that with whose given motion it moves; twists : the motions of structures that
    were given; alone : frames with a velocity of their own.
    Raises ModelError where the given velocities contradict the joints.
    """
    from scipy.sparse import eye_array, vstack

    layout, q = system.layout, system.q0
    u = system.inputs_at(0.0, q, v)
    rates, wanted, owners = _joint_rates(system, q)
    J = vstack([system.jacobian(u, q), rates], format="csr")
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
        v = _nearest(system, q, v, J, right, eye_array(system.n_v, format="csr")[np.flatnonzero(free)])
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


def _joint_rates(system: "System", q: Floats) -> tuple[Any, Floats, list[str]]:
    """Rows (k, n_v) of the joint coordinates whose rates are given, sparse, these rates, and the joints' names."""
    from scipy.sparse import csr_array

    given = {name: system.model.tables["joints"][name].rates for name in system.layout.joints}
    given = {name: rates for name, rates in given.items() if rates is not None}
    if not given:
        return csr_array((0, system.n_v)), np.zeros(0), []
    parts = [system.layout.joints[name].part for name in given]
    numbers = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    owners = [name for name, rates in given.items() for _ in rates]
    return _coordinate_rows(system, q)[numbers], np.concatenate(list(given.values())), owners


def coordinate_rows(system: "System", q: Floats) -> Floats:
    """Rows (m, n_v) of the rates of all joint coordinates."""
    return np.asarray(_coordinate_rows(system, q).toarray())


def _coordinate_rows(system: "System", q: Floats) -> Any:
    """The same as scipy.sparse.csr_array."""
    from scipy.sparse import coo_array

    layout = system.layout
    gradients = system.coordinates_of_joints.measure(q[None], np.zeros((1, system.n_v)))[2][0]
    values, rows, columns = [np.zeros(0)], [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)]
    for joint in layout.joints.values():
        numbers = np.arange(joint.part.start, joint.part.stop)
        for e, frame in enumerate((joint.first.frame, joint.second.frame)):
            axes = np.arange(layout.frames[frame].freedom)
            values.append(gradients[numbers[:, None], 6 * e + axes].ravel())
            rows.append(np.repeat(numbers, len(axes)))
            columns.append(np.tile(layout.frame_v[frame] + axes, len(numbers)))
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return coo_array(entries, shape=(len(gradients), system.n_v)).tocsr()


def _rigid_motions(system: "System", q: Floats, component: list[int], twists: dict[int, Any], alone: set[int]) -> Any:
    """(k, n_v), sparse: the rigid motions of structures that are not given."""
    from scipy.sparse import coo_array

    layout = system.layout
    motions = system.rigid_velocities(q)
    fixed = {component[k] for k, frame in enumerate(layout.frames) if frame.freedom == 0}
    members: dict[int, list[int]] = {}
    for k, group in enumerate(component):
        if group not in fixed and k not in alone:
            members.setdefault(group, []).append(k)
    values, columns = [], []
    for group in sorted(members):
        frames = members[group]
        own = np.concatenate([layout.frame_v[k] + np.arange(layout.frames[k].freedom) for k in frames])
        twist = twists.get(group)
        point = twist.point if twist is not None else q[layout.frame_q[frames[0]] : layout.frame_q[frames[0]] + 3]
        moved = motions[:, own]
        about = moved[3:] - np.cross(np.eye(3), point) @ moved[:3]
        given = [] if twist is not None and twist.velocity is not None else list(moved[:3])
        if twist is None or twist.omega is None:
            given += [each for each in about if np.max(np.abs(each)) > 1e-12]
        values += given
        columns += [own] * len(given)
    if not values:
        return coo_array((0, system.n_v)).tocsr()
    rows = np.repeat(np.arange(len(values)), [len(each) for each in values])
    entries = (np.concatenate(values), (rows, np.concatenate(columns)))
    return coo_array(entries, shape=(len(values), system.n_v)).tocsr()


def _nearest(system: "System", q: Floats, v: Floats, J: Any, right: Floats, motions: Any) -> Floats:
    """v plus the combination of motions (k, n_v) with the least kinetic energy that brings J v to ``right``."""
    count = motions.shape[0]
    if not count:
        return v
    mass, reach, gap = motions @ system.mass_matrix(q) @ motions.T, J @ motions.T, right - J @ v
    if count > DENSE:
        from scipy.sparse import block_array, csc_array
        from scipy.sparse.linalg import splu

        try:
            matrix = csc_array(block_array([[mass, reach.T], [reach, None]]))
            factors, wanted = splu(matrix), np.concatenate([np.zeros(count), gap])
            x = factors.solve(wanted)
            for _ in range(REFINEMENTS):
                x += factors.solve(wanted - matrix @ x)
            # componentwise backward error, and no multipliers that blow up as those of dependent rows do
            size = abs(matrix) @ np.abs(x) + np.abs(wanted)
            needed = np.max(np.abs(mass @ x[:count]), initial=0.0)
            sound = np.max(size[:count]) <= LARGEST_PART * max(needed, np.finfo(float).tiny)
            if sound and np.all(np.abs(matrix @ x - wanted) <= SOLVED * size):
                return np.asarray(v + motions.T @ x[:count])
        except RuntimeError:
            pass  # rows that depend on others
    dense = reach.toarray()
    spread = _solved(mass.toarray(), dense.T)
    multipliers = _solved(dense @ spread, gap)
    return np.asarray(v + motions.T @ (spread @ multipliers))


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
