"""Start of a motion: coordinates that satisfy the constraints, and velocities that satisfy their rates.

Assembly is Newton's iteration, each step the smallest in the metric of mass, damping and stiffness, with a line search.
Connected structures start as one rigid body, without bodies marked ``moves_alone``.
Source: docs/theory/constraints.md, section 7.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats, Sparse
from femb.base.values import vector
from femb.elements.item import StartMotion
from femb.layout.connections import components
from femb.layout.element import TrialError
from femb.layout.layout import Layout, Station
from femb.model.model import Model
from femb.numerics import rotations
from femb.numerics.components import norm
from femb.numerics.newton import Iteration, largest, newton
from femb.numerics.rotations import rotation_matrix
from femb.system.block_lu import DEPENDENT, SingularError
from femb.system.constraints import mass_factors
from femb.system.degrees_of_freedom import freedom
from femb.system.motion_equations import MotionEquations

# Gaps up to this (m or rad) are the rounding of typed numbers, and always closed.
TYPED = 1e-6
# Tolerance of the constraints after assembly.
ASSEMBLED = 1e-11
ITERATIONS = 200


def assembled(system: MotionEquations, q: Floats, rough: bool) -> Floats:
    """q (n_q,) on the constraints, near a given one; ``rough`` : gaps may be larger than the rounding of typed numbers.

    Raises ModelError with the open rows.
    """
    _check_drivers(
        system,
        q,
        "begins at {0:.6g} rad, a quarter of a turn or more from the start of {1}, {2:.6g} rad: give the joint the "
        "start of the motion",
    )
    v = np.zeros(system.n_v)
    u = system.inputs_at(0.0, q, v)
    gaps = system.position_residual(u, q, v)
    if np.max(np.abs(gaps)) > TYPED and not rough:
        raise ModelError(
            *gap_problems(
                system,
                gaps,
                "is open by {0:.3g} at the start: correct the positions, or assemble with start = 'assembled'",
                "begins {0:.3g} {1} away from the start: correct the start of the joint or "
                "the positions, or assemble with start = 'assembled'",
            )
        )

    if largest(gaps) <= ASSEMBLED:
        _check_branches(system, q)
        return q

    def inputs(q: Floats) -> Floats:
        return system.inputs_at(0.0, q, v) if system.inputs_of_state else u

    def correction(it: Iteration[Floats, Floats]) -> Floats:
        matrix = system.solver.shifted(*system.matrices(inputs(it.x), it.x, v), 1.0)
        x = np.concatenate([np.zeros(system.n_v), -it.residual])
        result: Floats = system.solver.factorise(matrix).solve(x)[: system.n_v]
        return result

    try:
        end = newton(
            q,
            lambda q: system.position_residual(inputs(q), q, v),
            correction,
            system.retract,
            lambda it: it.within(ASSEMBLED),
            iterations=ITERATIONS,
            residual_size=largest,
            rotations=system.rotations,
            line_search=lambda residual: float(np.linalg.norm(residual)),
        )
    except (SingularError, TrialError) as error:
        raise ModelError(f"the mechanism could not be assembled: {error}") from error
    gaps = end.residual
    if largest(gaps) > 100.0 * ASSEMBLED:
        raise ModelError(
            *gap_problems(
                system, gaps, "stays open by {0:.3g}: the mechanism cannot be assembled from this start position"
            )
        )
    _check_branches(system, end.x)
    return end.x


def gap_problems(system: MotionEquations, gaps: Floats, words: str, of_driver: str | None = None) -> list[Problem]:
    """A problem for each open joint, with its largest gap.

    gaps (n_c,). words, of_driver : formats of the messages for joints and, if they differ, for drivers, with a unit.
    """
    worst = float(np.max(np.abs(gaps)))
    # gaps below TYPED, from rounding far from the origin, are listed where there are no larger ones
    limit = max(TYPED if worst > TYPED else 0.0, 1e-3 * worst)
    largest_gaps: dict[str, tuple[float, str]] = {}
    for row, label in enumerate(system.layout.row_labels):
        gap = abs(float(gaps[system.layout.row_c[row]]))
        item, _, what = label.partition(": ")
        if gap > limit and gap > largest_gaps.get(item, (0.0, ""))[0]:
            largest_gaps[item] = (gap, what)
    problems = []
    for item, (gap, what) in largest_gaps.items():
        table, name = item.split(".", 1)
        units = [each.unit for each in system.layout.drivers[name].inputs] if table == "drivers" else []
        text = of_driver if units and of_driver is not None else words
        problems.append(Problem((table, name), f"({what}) {text.format(gap, *units)}"))
    if not np.all(np.isfinite(gaps)):
        return [Problem(("joints",), "the gaps at the start are not finite: look for lengths that are far too large")]
    return problems


def _check_branches(system: MotionEquations, q: Floats) -> None:
    """Raise ModelError where axes are antiparallel instead of parallel, which satisfies the rows of a joint too."""
    layout, problems = system.layout, []
    joints = {name: joint for name, joint in layout.joints.items() if joint.same_way}
    if joints:
        first, second = _end_axes(layout, [end for joint in joints.values() for end in (joint.first, joint.second)], q)
        along = (first * second).sum(axis=1)
        for k, (name, joint) in enumerate(joints.items() if along.min() < 0.0 else ()):
            cosines = along[k]
            problems += [
                Problem(
                    ("joints", name),
                    f"the {'xyz'[axis]} axes of its ends point in opposite directions: turn one of them round",
                )
                for axis in joint.same_way
                if cosines[axis] < 0.0
            ]
    if problems:
        raise ModelError(*problems)
    _check_drivers(system, q, "was assembled half a turn away from where its motion begins, {0:.6g} rad: start nearer")


def _check_drivers(system: MotionEquations, q: Floats, words: str) -> None:
    """Raise ModelError where an angle is half a turn from its driver's motion, the row's second root, or whole turns.

    words : a format of the message with the angle where the motion begins, the joint, and its angle.
    """
    layout, coordinates, problems = system.layout, system.coordinates_of_joints, []
    if not layout.drivers:
        return
    values = coordinates.unwrapped(coordinates.motion(q[None], np.zeros((1, system.n_v)))[0][0], system.discrete.angles)
    for name, driver in layout.drivers.items():
        if driver.coordinate >= 0 and coordinates.is_angle[driver.coordinate]:
            wanted, value = driver.inputs[0].function(0.0)[0], values[driver.coordinate]
            turns = (
                "begins at {0:.7g} rad, whole turns from the start of {1}, {2:.7g} rad: begin both at the same angle"
            )
            text = words if np.cos(value - wanted) <= 0.0 else turns if abs(value - wanted) > np.pi else ""
            if text:
                said = text.format(wanted, f"joints.{system.model.drivers[name].joint}", value)
                problems.append(Problem(("drivers", name, "motion"), said))
    if problems:
        raise ModelError(*problems)


def _end_axes(layout: Layout, ends: list[Station], q: Floats) -> tuple[Floats, Floats]:
    """(n, 3, 3) axes of the first and of the second end of n joints at one state, as columns, inertial."""
    number = {frame: k for k, frame in enumerate(dict.fromkeys([end.frame for end in ends]))}
    places = [(layout.frames[k], layout.frame_q[k] + 3) for k in number]
    quaternions = [q[i : i + 4] if frame.freedom == 6 else frame.quaternion for frame, i in places]
    of_frames = rotation_matrix(np.array(quaternions))
    axes = of_frames[[number[end.frame] for end in ends]] @ np.array([end.axes for end in ends])
    return axes[0::2], axes[1::2]


# Start velocities that satisfy the constraints, nearest to the given ones in the metric of the mass.
#
# Source: docs/theory/constraints.md, section 7.

# From DENSE motions on, sparse factors are used, if REFINEMENTS bring the backward error to SOLVED and the terms of the
# sums are at most LARGEST_PART times the sums; dense ones otherwise.
DENSE, SOLVED, REFINEMENTS, LARGEST_PART = 600, 1e-12, 2, 1e9
# Of the largest rate: what a dense solution may leave before it is refined once.
ROUNDING = 1e-14
# The least Cholesky pivot of a scaled matrix that counts as regular.
INDEPENDENT = 1e-4
# Rounding of typed numbers, relative to the largest: given start velocities may violate the joints by this.
AGREEMENT = 1e-6


def consistent_start(
    system: MotionEquations,
    q: Floats,
    v: Floats,
    component: list[int],
    together: list[int],
    twists: dict[int, "Twist"],
    alone: set[int],
) -> Floats:
    """v (n_v,) with J v + Phi_t = 0 and the given joint rates, nearest to v; the known parts of ``twists`` stay.

    Three attempts: all structures that joints connect as one rigid body; each structure rigid; flexible.
    component : the structure of every frame; together : the structure that determines its motion; twists : the given
    motions of structures; alone : frames with a velocity of their own.
    Raises ModelError where the given velocities contradict the joints.
    """
    layout = system.layout
    u = system.inputs_at(0.0, q, v)
    drive = system.velocity_residual(u, q, np.zeros(system.n_v))
    if not (v.any() or drive.any() or any(joint.rates is not None for joint in system.model.joints.values())):
        return v  # at rest
    from scipy.sparse import eye_array, vstack

    rates, wanted, owners = _joint_rates(system, q)
    J = vstack([system.jacobian(u, q), rates], format="csr")
    right = np.concatenate([-drive, wanted])
    scale = float(np.max(np.abs(v), initial=0.0)) + float(np.max(np.abs(right)))
    if np.max(np.abs(J @ v - right)) <= 1e-13 * scale:
        return v
    # bodies on joints alone, of which no velocity is given; of many given rates the matrix would be dense
    few = rates.shape[0] <= DENSE
    if few and not twists and not alone and sum(frame.freedom for frame in layout.frames) == system.n_v:
        sizes = np.bincount(component)
        if all(sizes[group] == 1 for group, frame in zip(component, layout.frames, strict=True) if frame.freedom):
            found = _among_all(system, q, v, J, right)
            if found is not None:
                return found
    for groups in (together, component):
        v = _nearest(system, q, v, J, right, _rigid_motions(system, q, groups, twists, alone))
        if np.max(np.abs(J @ v - right)) <= 1e-10 * scale:
            break
    else:
        # Flexible structures may bend: all velocities that are not given are free.
        given = {k for k in range(len(layout.frames)) if component[k] in twists} | alone
        free = np.ones(system.n_v, dtype=bool)
        free[layout.first_order_v] = False
        for k in given:
            if layout.frames[k].freedom:
                free[layout.frame_v[k] : layout.frame_v[k] + layout.frames[k].freedom] = False
        v = _nearest(system, q, v, J, right, eye_array(system.n_v, format="csr")[np.flatnonzero(free)])
    gap = J @ v - right
    if np.max(np.abs(gap)) > AGREEMENT * scale:
        raise ModelError(
            *gap_problems(
                system,
                gap[: system.n_c],
                f"the start velocities {'and rates of drivers ' if layout.drivers else ''}that are given would open "
                "it at {0:.3g} per s: give fewer of them, or ones that the joints allow",
            )
            + [
                Problem(
                    ("joints", owners[k], "rates"),
                    f"got {wanted[k]:.6g}, but what else is given at the start allows {wanted[k] + off:.6g} at the "
                    "nearest: give fewer of them",
                )
                for k, off in enumerate(gap[system.n_c :])
                if abs(off) > AGREEMENT * scale
            ]
            + [Problem(("start",), text) for text in freedom(system, q).nearly]
        )
    return v


def _joint_rates(system: MotionEquations, q: Floats) -> tuple[Sparse, Floats, list[str]]:
    """Joint coordinates with given rates: their rows (k, n_v), sparse, the rates (k,), and the joints' names."""
    from scipy.sparse import csr_array

    given = {name: system.model.joints[name].rates for name in system.layout.joints}
    given = {name: rates for name, rates in given.items() if rates is not None}
    if not given:
        return csr_array((0, system.n_v)), np.zeros(0), []
    parts = [system.layout.joints[name].part for name in given]
    numbers = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    owners = [name for name, rates in given.items() for _ in rates]
    return _coordinate_rows(system, q, given)[numbers], np.concatenate(list(given.values())), owners


def coordinate_rows(system: MotionEquations, q: Floats) -> Floats:
    """(m, n_v): derivatives of the rates of all joint coordinates with respect to v."""
    return np.asarray(_coordinate_rows(system, q, system.layout.joints).toarray())


def _coordinate_rows(system: MotionEquations, q: Floats, joints: Iterable[str]) -> Sparse:
    """Rows of the coordinates of all joints as scipy.sparse.csr_array, with zeros for others than these."""
    from scipy.sparse import coo_array

    layout = system.layout
    gradients = system.coordinates_of_joints.measure(q[None], np.zeros((1, system.n_v)))[2][0]
    values, rows, columns = [np.zeros(0)], [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)]
    for joint in (layout.joints[name] for name in joints):
        numbers = np.arange(joint.part.start, joint.part.stop)
        for e, frame in enumerate((joint.first.frame, joint.second.frame)):
            axes = np.arange(layout.frames[frame].freedom)
            values.append(gradients[numbers[:, None], 6 * e + axes].ravel())
            rows.append(np.repeat(numbers, len(axes)))
            columns.append(np.tile(layout.frame_v[frame] + axes, len(numbers)))
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return coo_array(entries, shape=(len(gradients), system.n_v)).tocsr()


def _rigid_motions(
    system: MotionEquations, q: Floats, component: list[int], twists: dict[int, "Twist"], alone: set[int]
) -> Sparse:
    """(k, n_v), sparse: the rigid motions of structures, those of ``twists`` left out."""
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
        of_group = np.concatenate([layout.frame_v[k] + np.arange(layout.frames[k].freedom) for k in frames])
        twist = twists.get(group)
        point = twist.point if twist is not None else q[layout.frame_q[frames[0]] : layout.frame_q[frames[0]] + 3]
        translations = motions[:3, of_group]
        rotations = motions[3:, of_group] - np.cross(np.eye(3), point) @ translations
        free = [] if twist is not None and twist.velocity is not None else list(translations)
        if twist is None or twist.omega is None:
            free += [rotation for rotation in rotations if np.max(np.abs(rotation)) > 1e-12]
        values += free
        columns += [of_group] * len(free)
    if not values:
        return coo_array((0, system.n_v)).tocsr()
    rows = np.repeat(np.arange(len(values)), [len(value) for value in values])
    entries = (np.concatenate(values), (rows, np.concatenate(columns)))
    return coo_array(entries, shape=(len(values), system.n_v)).tocsr()


def _nearest(system: MotionEquations, q: Floats, v: Floats, J: Sparse, right: Floats, motions: Sparse) -> Floats:
    """v plus the combination of motions (k, n_v) of least kinetic energy with which J v = right."""
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
            # componentwise backward error; large multipliers are a sign of dependent rows
            size = abs(matrix) @ np.abs(x) + np.abs(wanted)
            needed = np.max(np.abs(mass @ x[:count]), initial=0.0)
            sound = np.max(size[:count]) <= LARGEST_PART * max(needed, np.finfo(float).tiny)
            if sound and np.all(np.abs(matrix @ x - wanted) <= SOLVED * size):
                return np.asarray(v + motions.T @ x[:count])
        except RuntimeError:
            pass  # dependent rows
    from scipy.linalg import lstsq

    dense = reach.toarray()
    spread = _solution(mass.toarray())(dense.T)
    metric = dense @ spread
    solve = _solution(metric)
    multipliers = solve(gap)
    left = gap - metric @ multipliers
    if np.max(np.abs(left), initial=0.0) > ROUNDING * np.max(np.abs(gap), initial=0.0):
        multipliers += solve(left)
        if np.max(np.abs(gap - metric @ multipliers)) > AGREEMENT * np.max(np.abs(gap)):
            # given velocities contradict each other: the ones that come nearest to all
            multipliers = lstsq(metric, gap, cond=DEPENDENT, lapack_driver="gelsy")[0]
    return np.asarray(v + motions.T @ (spread @ multipliers))


def _among_all(system: MotionEquations, q: Floats, v: Floats, J: Sparse, right: Floats) -> Floats | None:
    """v plus the velocities of least kinetic energy with which J v = right, by block elimination.

    The first rows are those of the constraints. None where the rows are not met.
    """
    n_v, n_c = system.n_v, system.n_c
    more = J[n_c:].toarray()
    try:
        factors = mass_factors(system, system.inputs_at(0.0, q, v), q)
    except TrialError:
        return None
    # what multipliers of further rows do
    spread = factors.solve_columns(np.vstack([more.T, np.zeros((n_c, len(more)))]))[:n_v]
    solve = _solution(more @ spread)
    for _ in range(2):
        gap = right - J @ v
        v = v + factors.solve(np.concatenate([np.zeros(n_v), gap[:n_c]]))[:n_v]
        v = v + spread @ solve(right[n_c:] - more @ v)
    left = np.max(np.abs(right - J @ v), initial=0.0)
    return v if left <= SOLVED * (np.max(np.abs(v)) + np.max(np.abs(right))) else None


def _solution(A: Floats) -> Callable[[Floats], Floats]:
    """Function from b to an x of A x = b, A positive semidefinite: by Cholesky factors, of its largest pivots if it is
    singular; x is zero for the others."""
    from scipy.linalg import LinAlgError, cho_factor, solve_triangular
    from scipy.linalg.lapack import dpstrf

    # a zero of the diagonal may be negative by rounding
    size, rank = np.sqrt(np.maximum(np.diag(A), 0.0)), len(A)
    size[size == 0.0] = 1.0
    scaled, order = A / size / size[:, None], np.arange(len(A))
    try:
        factors = cho_factor(scaled, lower=True)[0]
        regular = np.min(np.diag(factors), initial=np.inf) > INDEPENDENT
    except LinAlgError:
        regular = False
    if not regular:
        factors, pivots, rank, _ = dpstrf(scaled, tol=DEPENDENT, lower=1)
        order = pivots - 1
    L, kept = factors[:rank, :rank], order[:rank]

    def solve(b: Floats) -> Floats:
        x = np.zeros(b.shape)
        if rank:  # scipy before 1.14 refuses no rows
            y = solve_triangular(L, (b.T / size).T[kept], lower=True)
            x[kept] = solve_triangular(L, y, lower=True, trans=1)
        return np.asarray((x.T / size).T)

    return solve


# Rounding of typed numbers: allowed relative difference of a given velocity from that of the rigid motion.
RIGID_AGREEMENT = 1e-6
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


def start_velocities(system: MotionEquations, q: Floats) -> Floats:
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
    leader, v = _leader_of(twists, component, layout) if layout.rows else {}, layout.start_velocities()
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


def shared_velocity(system: MotionEquations, v: Floats) -> Floats:
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


def taken_over(system: MotionEquations, v: Floats) -> dict[str, list[str]]:
    """Bodies without a start velocity that take over that of another item, with which they start as one rigid body: by
    the item TABLE.NAME whose velocity it is. v (n_v,) : inertial velocities at the start."""
    layout, component = system.layout, structures(system.layout)
    given = _given(system.model, layout)
    twists, _ = _leaders(given, component)
    leader, own = _leader_of(twists, component, layout), {motion.station.frame for motion, _ in given}
    result: dict[str, list[str]] = {}
    for name, k in layout.bodies.items():
        frame, twist, i = layout.frames[k], twists.get(leader.get(component[k], -1)), layout.frame_v[k]
        if twist is None or k in own or not frame.freedom:
            continue
        velocity, omega = twist.at(frame.position)
        wanted = np.concatenate([velocity, rotations.rotate_back(frame.quaternion, omega)])[: frame.freedom]
        # where joints do not allow it, it has another
        if wanted.any() and norm(v[i : i + frame.freedom] - wanted) <= RIGID_AGREEMENT * norm(wanted):
            result.setdefault(".".join(twist.source), []).append(f"bodies.{name}")
    return result


def _leaders(given: list[tuple[StartMotion, Twist]], component: list[int]) -> tuple[dict[int, Twist], list[Problem]]:
    """The motion of every structure with a given velocity, by the first items that give one and its rotation."""
    twists: dict[int, Twist] = {}
    problems: list[Problem] = []
    together = [(component[motion.station.frame], twist) for motion, twist in given if not motion.alone]
    for group, twist in together:
        leader = twists.setdefault(group, twist)
        if leader.omega is None:
            twists[group] = replace(leader, omega=twist.omega)
    for group, twist in together:
        leader = twists[group]
        expected, omega = leader.at(twist.point)
        spin, distance = norm(omega), norm(twist.point - leader.point)
        speed = norm(_or_zero(leader.velocity)) + spin * distance
        pairs = ((twist.velocity, expected, speed, "velocity"), (twist.omega, omega, spin, "angular velocity"))
        for got, wanted, size, word in pairs:
            if got is not None and norm(got - wanted) > RIGID_AGREEMENT * (norm(got) + size):
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
    """Leaders of structures without a given velocity: the nearest structure, by joints, that has one."""
    if not twists:
        return {}
    fixed = {component[k] for k, frame in enumerate(layout.frames) if frame.freedom == 0}
    neighbours: dict[int, list[int]] = {}
    for a, b in (row for row in layout.rows if len(row) == 2):
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
        motion = item.start_motion(layout, model)
        if motion is None:
            continue
        frame, omega = layout.frames[motion.station.frame], motion.angular_velocity
        spin = None if omega is None else rotations.rotate(frame.quaternion, omega)
        result.append((motion, Twist((item.table, item.name), frame.position, motion.velocity, spin)))
    return result


def _or_zero(x: Floats | None) -> Floats:
    return np.zeros(3) if x is None else x


def structures(layout: Layout) -> list[int]:
    """Numbers of the connected structure of every frame; springs do not connect."""
    return components(len(layout.frames), layout.structures)
