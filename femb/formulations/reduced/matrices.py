"""Matrices of reduced-order equations of one joint and of a model, in Thompson's form.

Source: docs/theory/reduced_order.md, sections 5 and 6; Thompson, AIAA 2011-6277, equations (7) to (21) and table 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.types import Floats
from femb.base.values import shown
from femb.elements.joint.coordinates import PARALLEL, SPHERICAL, X, Y, Z
from femb.formulations.joint_tree import given_by_name
from femb.formulations.joint_tree_kernels import FRAME_V, SIZE
from femb.formulations.reduced.form import ReducedForm
from femb.formulations.tree_frame import Root
from femb.layout.layout import Station
from femb.model.model import Model
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix

if TYPE_CHECKING:
    from femb.system.system import System


# Closed forms of one joint between two bodies: Phi_q, H1, H2, H2' and H2^+ of every kind of constraint.
#
# Velocities are (v_b, w_b, v_c, w_c): of the bodies' points, inertial axes, and angular velocities, body axes. p is a
# point of b, s one of c; f a unit vector of c, g and h ones of b. A takes b components to c components; w is the
# angular velocity of c relative to b in c components, B theta' with the axes of successive rotations as columns of B,
# last first. With b_b = -A_b p~ and b_c = -A_c s~, A_b and A_c taking body to inertial components:
#
#     spherical        Phi = r_b + A_b p - r_c - A_c s                         u = (v_b, w_b, w_c)
#     perpendicular    Phi = g . A^T f - constant,         Y = f~ A g          u = (v_b, w_b, v_c, beta', alpha')
#     parallel         Phi = [g h]^T A^T f,                Y = f~ A [g h]      u = (v_b, w_b, v_c, theta')
#     joint            spherical with perpendicular or parallel                u = (v_b, w_b, theta')
#
# The spherical rows have the opposite sign of those of ``femb.elements.joint.joint``. All functions accept complex
# entries, for differentiation by a complex step. Sources: docs/theory/reduced_order.md, section 6;
# Thompson, AIAA 2011-6277, table 2, with Y (Y^T Y)^-1 for axes that are not perpendicular.


@dataclass(frozen=True)
class Pair:
    """Two bodies at an instant: attitudes A_b, A_c (3, 3), body to inertial, angular velocities w_b, w_c (3,), body
    axes, and the points p, s (3,) m, body axes.

    f, held : None for the spherical joint; otherwise the axis f (3,) of c and the axes of b at constant angles to f,
    (3, 1) for perpendicular and (3, 2) for parallel.
    """

    A_b: Floats
    A_c: Floats
    w_b: Floats
    w_c: Floats
    p: Floats
    s: Floats
    f: Any = None
    held: Any = None

    @property
    def A(self) -> Floats:
        """Rotation matrix from components of b to components of c."""
        return self.A_c.T @ self.A_b

    @property
    def w(self) -> Floats:
        """Angular velocity of c relative to b (3,), axes of c."""
        return self.w_c - self.A @ self.w_b

    @property
    def A_rate(self) -> Floats:
        """A'."""
        return -cross_matrix(self.w) @ self.A

    def arms(self) -> tuple[Floats, Floats, Floats, Floats]:
        """b_b, b_c and their rates."""
        p, s, w_b, w_c = map(cross_matrix, (self.p, self.s, self.w_b, self.w_c))
        return -self.A_b @ p, -self.A_c @ s, -self.A_b @ w_b @ p, -self.A_c @ w_c @ s

    def rotation_columns(self) -> tuple[Floats, Floats, Floats]:
        """B (3, 1 or 2), B', and Y (3, 2 or 1)."""
        f, Y = self.f[:, None], cross_matrix(self.f) @ self.A @ self.held
        if self.held.shape[1] == 2:
            return f, 0.0 * f, Y
        Ag = self.A @ self.held
        return np.hstack([f, Ag]), np.hstack([0.0 * f, -cross_matrix(self.w) @ Ag]), Y


@dataclass(frozen=True, eq=False)
class JointForms(Brief):
    """Phi_q (L, 12), H1 (12, L), H2 and H2' (12, P), H2^+ (P, 12) of one joint; Ha, Ha' (12, 12) and Hb, Hb' (12, P)
    of Ha v = Hb u, from which H2 = Ha^-1 Hb."""

    Phi_q: Floats
    H1: Floats
    H2: Floats
    H2_rate: Floats
    H2_inverse: Floats
    Ha: Floats
    Hb: Floats
    Ha_rate: Floats
    Hb_rate: Floats


def spherical(pair: Pair) -> JointForms:
    """Two points coincide."""
    b_b, b_c, b_b1, b_c1 = pair.arms()
    return JointForms(
        _block([[1, b_b, -1, -b_c]]),
        _block([[0], [0], [-1], [0]]),
        _block([[1, 0, 0], [0, 1, 0], [1, b_b, -b_c], [0, 0, 1]]),
        _block([[0, 0, 0], [0, 0, 0], [0, b_b1, -b_c1], [0, 0, 0]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [-1, -b_b, 1, b_c], [0, 0, 0, 1]]),
        _block([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]),
        _block([[0, 0, 0, 0], [0, 0, 0, 0], [0, -b_b1, 0, b_c1], [0, 0, 0, 0]]),
        _block([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]),
    )


def rotation(pair: Pair) -> JointForms:
    """An axis of c at a constant angle to one axis of b (perpendicular), or to two (parallel)."""
    A, (B, B1, Y) = pair.A, pair.rotation_columns()
    none, plus = np.zeros((3, B.shape[1])), _plus(B)
    held = np.zeros((3, Y.shape[1]))
    return JointForms(
        _block([[held.T, -Y.T @ A, held.T, Y.T]]),
        _block([[held], [held], [held], [Y @ np.linalg.inv(Y.T @ Y)]]),
        _block([[1, 0, 0, none], [0, 1, 0, none], [0, 0, 1, none], [0, A, 0, B]]),
        _block([[0, 0, 0, none], [0, 0, 0, none], [0, 0, 0, none], [0, pair.A_rate, 0, B1]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [none.T, -plus @ A, none.T, plus]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, -A, 0, 1]]),
        _block([[1, 0, 0, none], [0, 1, 0, none], [0, 0, 1, none], [0, 0, 0, B]]),
        _block([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, -pair.A_rate, 0, 0]]),
        _block([[0, 0, 0, none], [0, 0, 0, none], [0, 0, 0, none], [0, 0, 0, B1]]),
    )


def joint(pair: Pair) -> JointForms:
    """Two points coincide, with one constant angle (universal) or two (revolute)."""
    A, A1, (B, B1, Y) = pair.A, pair.A_rate, pair.rotation_columns()
    b_b, b_c, b_b1, b_c1 = pair.arms()
    none, plus, held = np.zeros((3, B.shape[1])), _plus(B), np.zeros((3, Y.shape[1]))
    right = Y @ np.linalg.inv(Y.T @ Y)
    b, b1 = b_b - b_c @ A, b_b1 - b_c1 @ A - b_c @ A1
    return JointForms(
        _block([[1, b_b, -1, -b_c], [held.T, -Y.T @ A, held.T, Y.T]]),
        _block([[0, held], [0, held], [-1, -b_c @ right], [0, right]]),
        _block([[1, 0, none], [0, 1, none], [1, b, -b_c @ B], [0, A, B]]),
        _block([[0, 0, none], [0, 0, none], [0, b1, -b_c1 @ B - b_c @ B1], [0, A1, B1]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [none.T, -plus @ A, none.T, plus]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [-1, -b_b, 1, b_c], [0, -A, 0, 1]]),
        _block([[1, 0, none], [0, 1, none], [0, 0, none], [0, 0, B]]),
        _block([[0, 0, 0, 0], [0, 0, 0, 0], [0, -b_b1, 0, b_c1], [0, -A1, 0, 0]]),
        _block([[0, 0, none], [0, 0, none], [0, 0, none], [0, 0, B1]]),
    )


# The matrices of a joint by its kind.
OF_JOINTS = {"spherical": spherical, "rotation": rotation, "joint": joint}


def _block(rows: list[list[Any]]) -> Floats:
    """Matrix of 3 x 3 blocks; numbers stand for multiples of the unit matrix."""
    return np.block([[block * np.eye(3) if isinstance(block, int) else block for block in row] for row in rows])


def _plus(B: Floats) -> Floats:
    """The left inverse of B."""
    return np.linalg.inv(B.T @ B) @ B.T


# The reduced form as in its source: rows Ha v = Hb u of all frames of a tree.
#
# These matrices are for users; integration uses the sweeps of ``form``. They are evaluated at one state, in the order
# of the System's velocities. Source: docs/theory/reduced_order.md, equations (16) to (18); Thompson, AIAA 2011-6277,
# equations (12), (16) to (18).


@dataclass(frozen=True)
class VelocityRows:
    """Ha (n_v, n_v) and Hb (n_v, n_u), with their rates: Ha v = Hb u, so that H2 = Ha^-1 Hb.

    Ha is unit lower triangular with parents before children.
    """

    Ha: Floats
    Hb: Floats
    Ha_rate: Floats
    Hb_rate: Floats

    def H2_inverse(self) -> Floats:
        """H2^+ = Hb^+ Ha (n_u, n_v), the last rows of [H1 H2]^-1: u = H2^+ v."""
        return np.linalg.pinv(self.Hb) @ self.Ha


def rows(form: "ReducedForm", q: Floats, v: Floats) -> VelocityRows:
    """Rows of a ReducedForm at one state. Equations (16) and (17)."""
    tree = form.tree
    n_v, n_u = tree.system.n_v, tree.n_u
    _, _, T, T1, B, B1 = (array[0] for array in form.swept(q[None], v[None]))
    Ha, Ha_rate = np.eye(n_v), np.zeros((n_v, n_v))
    Hb, Hb_rate = np.zeros((2, n_v, n_u))
    blocks = [slice(first, first + size) for first, size in tree.index[:, [FRAME_V, SIZE]]]
    for k, (block, frame) in enumerate(zip(blocks, tree.frames, strict=True)):
        size, count = block.stop - block.start, frame.u.stop - frame.u.start
        Hb[block, frame.u], Hb_rate[block, frame.u] = B[k, :size, :count], B1[k, :size, :count]
        if frame.parent >= 0:
            parent, width = blocks[frame.parent], tree.index[frame.parent, SIZE]
            Ha[block, parent], Ha_rate[block, parent] = -T[k, :size, :width], -T1[k, :size, :width]
    Hb[tree.internal_index[1], np.arange(tree.internal[1].start, tree.internal[1].stop)] = 1.0
    return VelocityRows(Ha, form.independent.pulled(Hb), Ha_rate, form.independent.pulled(Hb_rate))


# Rows of the kinds of joints in table 2: the function in ``table2`` and the constrained axes of the first end.
TABLE = {
    frozenset(SPHERICAL): ("spherical", ()),
    frozenset({("dot1", Z, Z)}): ("rotation", (Z,)),
    frozenset(PARALLEL): ("rotation", (X, Y)),
    frozenset({*SPHERICAL, ("dot1", Z, Z)}): ("joint", (Z,)),
    frozenset({*SPHERICAL, *PARALLEL}): ("joint", (X, Y)),
}


@dataclass(frozen=True, eq=False)
class JointMatrices(JointForms):
    """Table 2 for one joint at a state: velocities (v_b, w_b, v_c, w_c) (12,) of the two frames that it joins.

    v of their origins, inertial axes, m/s; w in axes of the frame, rad/s; zero for the ground. bodies : their names.
    Phi_q (L, 12), H1 (12, L), H2, H2_rate (12, P), H2_inverse (P, 12), Ha, Ha_rate (12, 12), Hb, Hb_rate (12, P), with

        Phi_q v = 0,   v = H2 u,   Ha v = Hb u,   [H1 H2]^-1 = [Phi_q; H2^+]

    speeds (P,) : names of u; angles in the order of the source, last rotation first. velocity (12,) : at the state.
    Rows of points have the sign of the source, first less second point, opposite to ``ReducedMatrices.Phi_q``.
    """

    joint: str
    bodies: tuple[str, str]
    speeds: tuple[str, ...]
    velocity: Floats


@dataclass(frozen=True, eq=False)
class Implicit:
    """One of the implicit forms (20) and (21): matrix @ x = right; unknowns : names and slices of the parts of x."""

    matrix: Floats
    right: Floats
    unknowns: dict[str, slice]

    def solution(self) -> dict[str, Floats]:
        """x by the names of its parts."""
        x = np.linalg.solve(self.matrix, self.right)
        return {name: np.asarray(x[part], dtype=np.float64) for name, part in self.unknowns.items()}


@dataclass(frozen=True, eq=False)
class ReducedMatrices(Brief):
    """M v' + Phi_q^T lambda = Q of a model whose joints form trees, and v = H2 u, at a state.

    velocities (N,), speeds (P,), rows (L,) : names of v, u and lambda. coordinates : names of q. q (n,) m, rad, u (P,)
    m/s, rad/s : the state. M (N, N), Q (N,) : mass, and all forces, also gyroscopic ones, except constraint forces.
    Phi_q (L, N). H2, H2_rate, Hb, Hb_rate (N, P), Ha, Ha_rate (N, N), H1 (N, L), H2_inverse (P, N), with

        Ha v = Hb u,   H2 = Ha^-1 Hb,   Phi_q H2 = 0,   [H1 H2]^-1 = [Phi_q; H2^+],   v' = H2 u' + H2' u
    """

    velocities: tuple[str, ...]
    speeds: tuple[str, ...]
    rows: tuple[str, ...]
    coordinates: tuple[str, ...]
    q: Floats
    u: Floats
    M: Floats
    Q: Floats
    Phi_q: Floats
    Ha: Floats
    Hb: Floats
    Ha_rate: Floats
    Hb_rate: Floats
    H2: Floats
    H2_rate: Floats
    H2_inverse: Floats

    @cached_property
    def H1(self) -> Floats:
        """(N, L): the first L columns of the inverse of [Phi_q; H2^+]; the others are H2."""
        both = np.vstack([self.Phi_q, self.H2_inverse])
        return np.asarray(np.linalg.inv(both)[:, : len(self.Phi_q)])

    def reduced(self) -> tuple[Floats, Floats]:
        """H2^T M H2 (P, P) and H2^T (Q - M H2' u) (P,): (15)."""
        return self.H2.T @ self.M @ self.H2, self.H2.T @ (self.Q - self.M @ (self.H2_rate @ self.u))

    def speed_rates(self) -> Floats:
        """u' (P,)."""
        return np.asarray(np.linalg.solve(*self.reduced()))

    def velocity_rates(self) -> Floats:
        """v' (N,) = H2 u' + H2' u: (14)."""
        return self.H2 @ self.speed_rates() + self.H2_rate @ self.u

    def constraint_vector(self) -> Floats:
        """lambda (L,) = H1^T (Q - M v'): (19). The force of joints on v is -Phi_q^T lambda."""
        return self.H1.T @ (self.Q - self.M @ self.velocity_rates())

    def implicit(self, form: int) -> Implicit:
        """Form 1 is (20), for v' and u'; form 2 is (21), for v', lambda and u'. Raises ModelError for others."""
        (N, P), L = self.H2.shape, len(self.Phi_q)
        bias = self.H2_rate @ self.u
        if form == 1:
            matrix = np.block([[self.H2.T @ self.M, np.zeros((P, P))], [np.eye(N), -self.H2]])
            right = np.concatenate([self.H2.T @ self.Q, bias])
            return Implicit(matrix, right, {"velocity_rates": slice(0, N), "speed_rates": slice(N, N + P)})
        if form != 2:
            raise ModelError(f"implicit: got form {shown(form)}, wanted 1 or 2")
        matrix = np.block([[self.M, self.Phi_q.T, np.zeros((N, P))], [np.eye(N), np.zeros((N, L)), -self.H2]])
        parts = {"velocity_rates": slice(0, N), "multipliers": slice(N, N + L), "speed_rates": slice(N + L, N + L + P)}
        return Implicit(matrix, np.concatenate([self.Q, bias]), parts)


def joint_matrices(model: Model, joint: str, *, q: Floats | None = None, v: Floats | None = None) -> JointMatrices:
    """Table 2 for a joint of a model: spherical, perpendicular, parallel, universal or revolute; also in closed loops.

    Parameters:
        model: with the joint.
        joint: its name.
        q: (n_q,) coordinates of a ``femb.system.system.System`` of the model, m and rad, by default its start.
        v: (n_v,) velocities of it, m/s and rad/s, by default its start.

    Raises:
        ModelError: an unknown joint or one of another kind; ``reduced_matrices`` takes trees of all kinds.
    """
    from femb.system.system import System

    system = System(model)
    if joint not in system.layout.joints:
        listed = ", ".join(system.layout.joints) or "none"
        raise ModelError(f"joint_matrices: got joint {shown(joint)}, wanted one of {listed}")
    item, numbered = model.joints[joint], system.layout.joints[joint]
    kind, axes_of_first = TABLE.get(frozenset(item.rows), ("", ()))
    ends = numbered.first, numbered.second
    if not kind or any(system.layout.frames[end.frame].freedom == 3 for end in ends):
        raise ModelError.at(
            ("joints", joint),
            f"is {item.kind}{' of a point mass' if kind else ''}; table 2 has spherical, perpendicular, parallel, "
            "universal and revolute joints between bodies. Take reduced_matrices, of the whole model",
        )
    q = system.q0 if q is None else q
    v = system.v0 if v is None else v
    (A_b, v_b), (A_c, v_c) = (_motion(system, end.frame, q, v) for end in ends)
    axes = [rotations.rotation_matrix(end.rotation) for end in ends]
    f, g = (axes[1][:, Z], axes[0][:, list(axes_of_first)]) if axes_of_first else (None, None)
    pair = Pair(A_b, A_c, v_b[3:], v_c[3:], numbered.first.offset, numbered.second.offset, f, g)
    forms: JointForms = OF_JOINTS[kind](pair)
    names = [system.layout.frames[end.frame].label for end in ends]
    angles = {(): [], (Z,): ["second turn rate", "first turn rate"], (X, Y): ["turn rate"]}[axes_of_first]
    first = [f"{names[0]}: {word} {axis}" for word in ("velocity", "angular velocity") for axis in "xyz"]
    second = [f"{names[1]}: {word} {axis}" for word in ("velocity", "angular velocity") for axis in "xyz"]
    of_second = {"spherical": second[3:], "rotation": second[:3], "joint": []}[kind]
    return JointMatrices(
        **vars(forms),
        joint=joint,
        bodies=(names[0], names[1]),
        speeds=(*first, *of_second, *(f"{joint}: {word}" for word in angles)),
        velocity=np.concatenate([v_b, v_c]),
    )


def _motion(system: "System", frame: int, q: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Attitude (3, 3) and velocities (6,) of a frame; the velocities of a fixed frame are zero."""
    i, j = system.layout.frame_q[frame], system.layout.frame_v[frame]
    if i < 0:
        return rotations.rotation_matrix(system.layout.pose(Station(frame))[1]), np.zeros(6)
    return rotations.rotation_matrix(rotations.normalise(q[i + 3 : i + 7])), v[j : j + 6]


def reduced_matrices(
    model: Model,
    *,
    q: ArrayLike | Mapping[str, float] | None = None,
    u: ArrayLike | Mapping[str, float] | None = None,
    t: float = 0.0,
    root: Root | None = None,
) -> ReducedMatrices:
    """Ha, Hb, H1, H2, their rates, mass and forces of a model whose joints form trees, at a state.

    Parameters:
        model: whose joints form trees.
        q: coordinates of its joint tree by name (``ReducedMatrices.coordinates``), others as at the start; or an array
            (n,) of all, m and rad.
        u: speeds by name (``ReducedMatrices.speeds``), others as at the start; or an array (P,) of all, m/s and rad/s.
        t: s, time of the loads.
        root: coordinates of free bodies.

    Raises:
        ModelError: closed loops, drivers, engaged latches, unknown names and arrays of wrong length.
    """
    from femb.system.system import System

    form = ReducedForm(System(model), root)
    return matrices_of(
        form, given_by_name("q", q, form.q0, form.coordinate_names), given_by_name("u", u, form.v0, form.speed_names), t
    )


def matrices_of(form: ReducedForm, q: Floats, u: Floats, t: float = 0.0) -> ReducedMatrices:
    """The matrices of a ReducedForm at q (n_q,), u (n_v,). Raises ModelError if rows are retained."""
    system, layout = form.system, form.layout
    if form.n_c:
        multipliers = list(layout.row_c)
        names = ", ".join(layout.row_labels[multipliers.index(row)] for row in form.retained)
        raise ModelError(f"reduced_matrices: {names} prescribes motions that H2 has; take out drivers, release latches")
    q = q.copy()
    form.normalise(q)
    velocity_rows = rows(form, q, u)
    H2, H2_rate = (matrix.toarray() for matrix in form.H2(q, u))
    Q, V = form.to_system(q[None], u[None])
    inputs = form.inputs_at(t, q, u)
    order = np.argsort(layout.row_c) if system.n_c else np.zeros(0, dtype=int)
    return ReducedMatrices(
        velocities=tuple(layout.velocity_labels()),
        speeds=form.speed_names,
        rows=tuple(layout.row_labels[k] for k in order),
        coordinates=form.coordinate_names,
        q=q,
        u=u,
        M=system.mass_matrix(Q[0]).toarray(),
        Q=-system.residual(inputs[None], Q, V, np.zeros_like(V))[0],
        Phi_q=system.jacobian(inputs, Q[0]).toarray(),
        **vars(velocity_rows),
        H2=H2,
        H2_rate=H2_rate,
        H2_inverse=velocity_rows.H2_inverse(),
    )
