"""Assembly: start coordinates that satisfy the constraints.

Newton's iteration, each step the smallest in the metric of mass, damping and stiffness, with a line search.
Source: docs/theory/constraints.md, section 7.
"""

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats
from femb.layout.element import TrialError
from femb.layout.layout import Layout, Station
from femb.numerics.newton import Iteration, largest, newton
from femb.numerics.rotations import multiply, rotation_matrix
from femb.system.block_lu import SingularError
from femb.system.equations import Equations

# Gaps up to this (m or rad) are the rounding of typed numbers, and always closed.
TYPED = 1e-6
# Tolerance of the constraints after assembly.
ASSEMBLED = 1e-11
ITERATIONS = 200


def assembled(system: Equations, q: Floats, rough: bool) -> Floats:
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
                "begins {0:.3g} (m, or the sine of the angle) away from the start: correct the start of the joint or "
                "the positions, or assemble with start = 'assembled'",
            )
        )

    if largest(gaps) <= ASSEMBLED:
        _check_branches(system, q)
        return q

    def correction(it: Iteration[Floats, Floats]) -> Floats:
        mass, damping, stiffness = system.matrices(u, it.x, v)
        x = np.concatenate([np.zeros(system.n_v), -it.residual])
        result: Floats = system.solver.factorise(mass + damping + stiffness).solve(x)[: system.n_v]
        return result

    try:
        end = newton(
            q,
            lambda q: system.position_residual(u, q, v),
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


def gap_problems(system: Equations, gaps: Floats, words: str, of_driver: str | None = None) -> list[Problem]:
    """A problem for each open joint, with its largest gap.

    gaps (n_c,). words, of_driver : formats of the messages for joints and, if they differ, for drivers.
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
        text = of_driver if table == "drivers" and of_driver is not None else words
        problems.append(Problem((table, name), f"({what}) {text.format(gap)}"))
    if not np.all(np.isfinite(gaps)):
        return [Problem(("joints",), "the gaps at the start are not finite: look for lengths that are far too large")]
    return problems


def _check_branches(system: Equations, q: Floats) -> None:
    """Raise ModelError where axes are antiparallel instead of parallel, which satisfies the rows of a joint too."""
    layout, problems = system.layout, []
    joints = {name: joint for name, joint in layout.joints.items() if joint.same_way}
    if joints:
        ends = [getattr(joint, word) for word in ("first", "second") for joint in joints.values()]
        first, second = _end_axes(layout, ends, q).reshape(2, -1, 3, 3)
        along = np.einsum("jka,jka->ja", first, second)
        turned = set(np.flatnonzero(np.any(along < 0.0, axis=1)).tolist())
        for k, (name, joint) in enumerate(joints.items() if turned else ()):
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


def _check_drivers(system: Equations, q: Floats, words: str) -> None:
    """Raise ModelError where an angle is nearer to the second root of its driver's row, half a turn away.

    words : a format of the message with the angle where the motion begins, the joint, and its angle.
    """
    layout, problems = system.layout, []
    if not layout.drivers:
        return
    coordinates = system.coordinates_of_joints
    values = coordinates.measure(q[None], np.zeros((1, system.n_v)))[0][0]
    for name, driver in layout.drivers.items():
        if driver.coordinate >= 0 and coordinates.is_angle[driver.coordinate]:
            wanted, value = driver.inputs[0].function(0.0)[0], values[driver.coordinate]
            if np.cos(value - wanted) <= 0.0:
                joint = f"joints.{system.model.tables['drivers'][name].joint}"
                problems.append(Problem(("drivers", name, "motion"), words.format(wanted, joint, value)))
    if problems:
        raise ModelError(*problems)


def _end_axes(layout: Layout, ends: list[Station], q: Floats) -> Floats:
    """(n, 3, 3) axes of stations at one state, as columns, inertial."""
    frames = [layout.frames[end.frame] for end in ends]
    starts = [int(layout.frame_q[end.frame]) for end in ends]
    quaternions = [
        q[i + 3 : i + 7] if frame.freedom == 6 else frame.quaternion for frame, i in zip(frames, starts, strict=True)
    ]
    return rotation_matrix(multiply(np.array(quaternions), np.array([end.rotation for end in ends])))
