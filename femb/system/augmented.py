"""The augmented equations in quaternion coordinates, equation (57) of the thesis, as scipy.sparse matrices.

For inspection, with the names of rows and columns; ``formulation = "quaternion"`` solves the same equations by block
elimination. Source: docs/theory/quaternion_form.md, equations (1) to (6).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_array, csc_array, csr_array
from scipy.sparse.linalg import splu

from femb.base.errors import ModelError, SolveError
from femb.base.types import Bools, Floats, Sparse
from femb.base.values import as_numbers, shown
from femb.layout.layout import Layout
from femb.numerics.rotations import rate_body
from femb.system.constraints import mass_factors
from femb.system.motion_equations import MotionEquations

# Largest |p.p - 1| of a quaternion given by a user.
NOT_UNIT = 1e-6


@dataclass(frozen=True, eq=False)
class Augmented:
    """The equations of motion of a System in quaternion coordinates q at one state, SI units.

        [ mass        norm_rows^T  joint_rows^T ] [ q''      ]   [ force       ]
        [ norm_rows   0            0            ] [ lambda_E ] = [ norm_right  ]
        [ joint_rows  0            0            ] [ lambda   ]   [ joint_right ]

    mass (n_q, n_q) : M, of rank 3 in each quaternion. norm_rows (n_p, n_q) : A, 2 p^T for each quaternion. joint_rows
    (n_c, n_q) : J, of joints and drivers; the row of an open latch is zero. force (n_q,) : all terms without q'', on
    the right-hand side. norm_right (n_p,) : -2 p'.p'. joint_right (n_c,).
    rows, columns : names of the equations and of the unknowns, in order: 'hub: force p0', 'hub: second rate of p0'.
    independent (n_c,) bool : rows of joints that do not depend on others; without the dependent rows the matrix is
    regular.
    """

    mass: csc_array
    norm_rows: csr_array
    joint_rows: csr_array
    force: Floats
    norm_right: Floats
    joint_right: Floats
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    independent: Bools

    @property
    def matrix(self) -> csc_array:
        """The bordered matrix (n_q + n_p + n_c square)."""
        return _bordered(self.mass, [self.norm_rows, self.joint_rows])

    @property
    def right(self) -> Floats:
        """The right-hand side (n_q + n_p + n_c,)."""
        return np.concatenate([self.force, self.norm_right, self.joint_right])

    def solve(self) -> tuple[Floats, Floats, Floats]:
        """q'' (n_q,), lambda_E (n_p,) and lambda (n_c,), zero for dependent rows.

        Raises SolveError where the matrix is singular without the dependent rows.
        """
        independent = np.flatnonzero(self.independent)
        n_q, n_p = len(self.force), len(self.norm_right)
        matrix = _bordered(self.mass, [self.norm_rows, self.joint_rows[independent]])
        right = np.concatenate([self.force, self.norm_right, self.joint_right[independent]])
        try:
            x = splu(matrix).solve(right)
        except RuntimeError as error:  # scipy raises it for an exactly singular matrix
            raise SolveError(
                "the augmented matrix is singular: got a part without mass or inertia, or a state that is not finite; "
                "look at the entries of mass that are zero, by their names in rows"
            ) from error
        multipliers = np.zeros(len(self.joint_right))
        multipliers[independent] = x[n_q + n_p :]
        return x[:n_q], x[n_q : n_q + n_p], multipliers


def _bordered(mass: csc_array, borders: list[csr_array]) -> csc_array:
    borders = [border for border in borders if border.shape[0]]
    blocks: list[list[Sparse | None]] = [[mass, *(border.T for border in borders)]]
    blocks += [[border, *[None] * len(borders)] for border in borders]
    return csc_array(block_array(blocks, format="csc"))


def checked_state(
    system: MotionEquations, q: Floats | None, v: Floats | None, start: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """A user's q (n_q,) and v (n_v,), by default those of the ``start``.

    Raises ModelError where q or v has another length or is not finite, or a quaternion is not of unit length.
    """
    q, v = _given("q", q, start[0]), _given("v", v, start[1])
    error = system.normalise(q.copy())
    if not error <= NOT_UNIT:
        raise ModelError(f"q: got a quaternion p with p.p off 1 by {error:.3g}, wanted unit length; divide it by |p|")
    return q, v


def augmented(system: MotionEquations, u: Floats, q: Floats, v: Floats) -> Augmented:
    """Equation (57) of a System with inputs u (n_u,) at q (n_q,) and v (n_v,)."""
    rate = system.rates(q[None], v[None])[0]
    n, (_, _, quaternion_q, omega_v) = system.n_v, system.coordinates
    p, omega = quaternion_q[:, None] + np.arange(4), omega_v[:, None] + np.arange(3)
    G = rate_map(system, q)
    force = -system.residual(u[None], q[None], v[None], np.zeros((1, n)))[0]
    mass = system.mass_matrix(q)
    momentum, spin = (mass @ v)[omega], v[omega]
    # Lagrange's equations have 4 rate_body(p')^T momentum in place of spin x momentum, the term of body axes
    force[omega] += np.cross(spin, momentum)
    force_q = G.T @ force
    force_q[p] -= 4.0 * np.einsum("kij,ki->kj", rate_body(rate[p]), momentum)
    independent, joint_rows = np.zeros(system.n_c, dtype=bool), csr_array((system.n_c, system.n_q))
    joint_right = np.zeros(system.n_c)
    if system.n_c:
        J = system.jacobian(u, q)
        # the row of an open latch has a single entry, 1, on the diagonal: its multiplier is zero
        independent = (mass_factors(system, u, q).pivot_ratios() > 0.0) & (abs(J).sum(axis=1) > 0.0)
        joint_rows = csr_array(J @ G)
        joint_right = system.constraints(u[None], q[None], v[None])[1][0]
    rows, columns = _names(system.layout)
    norm_right = -2.0 * np.sum(rate[p] ** 2, axis=1)
    borders = norm_rows(system, q), joint_rows
    return Augmented(csc_array(G.T @ mass @ G), *borders, force_q, norm_right, joint_right, rows, columns, independent)


def _given(name: str, values: Floats | None, default: Floats) -> Floats:
    """A user's array of a state, checked; by default ``default``."""
    result = as_numbers(default if values is None else values)
    if result is None or result.shape != default.shape or not np.all(np.isfinite(result)):
        raise ModelError(
            f"{name}: got {shown(values)}, wanted {len(default)} finite numbers in the order of System.{name}0"
        )
    return np.ascontiguousarray(result)


def rate_map(system: MotionEquations, q: Floats) -> csr_array:
    """G (n_v, n_q) with v = G q': 2 rate_body(p) for a quaternion p, identity for all else."""
    linear_q, linear_v, quaternion_q, omega_v = system.coordinates
    p = quaternion_q[:, None] + np.arange(4)
    rows = np.repeat(omega_v[:, None] + np.arange(3), 4, axis=1)
    columns = np.tile(p, (1, 3))
    entries = np.concatenate([np.ones(len(linear_q)), 2.0 * rate_body(q[p]).ravel()])
    indices = np.concatenate([linear_v, rows.ravel()]), np.concatenate([linear_q, columns.ravel()])
    return csr_array((entries, indices), shape=(system.n_v, system.n_q))


def norm_rows(system: MotionEquations, q: Floats) -> csr_array:
    """A (n_p, n_q): a row 2 p^T for each quaternion."""
    p = system.coordinates[2][:, None] + np.arange(4)
    rows = np.repeat(np.arange(len(p)), 4)
    return csr_array((2.0 * q[p].ravel(), (rows, p.ravel())), shape=(len(p), system.n_q))


def _names(layout: Layout) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the rows and of the columns of the bordered matrix."""
    parts: list[tuple[str, str]] = [("", "")] * layout.n_q
    norms: list[str] = []
    for k, frame in enumerate(layout.frames):
        if frame.freedom:
            names = ["x", "y", "z", "p0", "p1", "p2", "p3"][: 7 if frame.freedom == 6 else 3]
            for i, name in enumerate(names):
                parts[layout.frame_q[k] + i] = (frame.label, name)
        if frame.freedom == 6:
            norms.append(frame.label)
    for internal, i in zip(layout.internal, layout.internal_q, strict=True):
        parts[i] = (internal.label, internal.quantity.name)
    joints = [""] * layout.n_c
    for label, i in zip(layout.row_labels, layout.row_c, strict=True):
        joints[i] = label
    rows = [f"{label}: force {name}" for label, name in parts] + [f"{label}: length of p" for label in norms] + joints
    columns = [f"{label}: second rate of {name}" for label, name in parts]
    for internal, i in zip(layout.internal, layout.internal_q, strict=True):
        if internal.quantity.first_order:
            columns[i] = f"{internal.label}: rate of {internal.quantity.name}"
    columns += [f"{label}: multiplier of the length of p" for label in norms]
    columns += [f"{label}: multiplier" for label in joints]
    return tuple(rows), tuple(columns)
