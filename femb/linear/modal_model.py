"""Third-order inertia tensors, and modal models: a structure described by a few shapes in a floating frame.

The tensors are derivatives of the mass matrix with respect to the pose, which give the quadratic velocity forces; the
element kernels of time steps do not form them.
Source: docs/theory/inertia_tensor.md, equations (1) to (4) of tensors, (5) to (11) of modal models.
"""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.types import Bools, Floats, Ints, Sparse
from femb.base.values import as_numbers, check_choice, given_numbers, shown
from femb.layout.protocols import MassChanges
from femb.model.model import Model
from femb.numerics import rotations
from femb.numerics.threads import one_blas_thread
from femb.results.array_file import read_arrays, write_arrays
from femb.run.simulate import mass_properties
from femb.small_motions.point import OperatingPoint
from femb.system.system import System
from femb.vibration.completion import given, system_at
from femb.vibration.eigen import MOVED, moved_by_asymmetry

if TYPE_CHECKING:
    from femb.case import Given
    from femb.linear.second_order import SecondOrder
    from femb.system.system import System


class MassChange:
    """D (n_v, n_v, n_v) of a System at one state, stored by element: M' = D v.

    D[i, j, k] is the derivative of M[i, j] along column k of H: per metre of a frame's position (inertial axes), per
    radian of its rotation about its own axes, per unit of an internal coordinate. q (n_q,) : with unit quaternions.
    groups : velocity indices and D of elements of one kind, from ``MassChanges``; the index n_v : fixed.

    Raises FoldedError where an element is rotated by 180 degrees.
    """

    def __init__(self, system: "System", q: Floats) -> None:
        self.system, self.q = system, q
        self.n = system.n_v
        self.groups: list[tuple[Ints, Floats]] = [
            (np.where(index >= 0, index, self.n), change)
            for batch in system.batches
            if isinstance(batch, MassChanges)
            for index, change in batch.mass_changes(q)
        ]

    def tensor(self) -> Sparse:
        """D as sparse.COO; only the blocks of elements are formed, and their common entries added."""
        import sparse

        keys, values = [], []
        for index, change in self.groups:
            pairs = index[:, :, None] * self.n + index[:, None, :]
            key = pairs[:, :, :, None] * self.n + index[:, None, None, :]
            nonzero = change != 0.0  # leaves out fixed velocities too, for which the kernels add nothing
            keys.append(key[nonzero])
            values.append(change[nonzero])
        key, value = np.concatenate([[], *keys]).astype(np.int64), np.concatenate([[], *values])
        order = np.argsort(key, kind="stable")
        key, value = key[order], value[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        value = np.add.reduceat(value, first) if len(first) else value
        pair, k = np.divmod(key[first], self.n)
        indices = np.stack([*np.divmod(pair, self.n), k])
        return sparse.COO(indices, value, shape=(self.n,) * 3, has_duplicates=False, sorted=True)

    def projected(self, shapes: Floats) -> Floats:
        """(m, m, m) of shapes (n_v, m): the derivative of their mass matrix along each of them."""
        padded = np.vstack([shapes, np.zeros((1, shapes.shape[1]))])
        m = shapes.shape[1]
        out = np.zeros((m, m, m))
        for index, change in self.groups:
            local = padded[index]  # (e, g, m)
            last = change @ local[:, None]  # (e, g, g, m)
            middle = np.einsum("eijc,ejb->eibc", last, local, optimize=True)
            out += np.einsum("eibc,eia->abc", middle, local, optimize=True)
        return out

    def gyroscopic_force(self, v: Floats) -> Floats:
        """h (n_v,) at velocities v by contraction: M' v - 1/2 v^T D v + omega x P in the rows of angular velocities.

        P = M v. It equals the force of the element kernels at v' = 0 less that at v = 0, without dampers.
        """
        padded, force = np.append(v, 0.0), np.zeros(self.n + 1)
        for index, change in self.groups:
            local = padded[index]
            along = np.einsum("eijk,ek,ej->ei", change, local, local, optimize=True)
            across = np.einsum("eijk,ei,ej->ek", change, local, local, optimize=True)
            np.add.at(force, index, along - 0.5 * across)
        momentum = self.system.mass_matrix(self.q) @ v
        omega = self.system.rotations.reshape(-1, 3)
        force[omega] += np.cross(v[omega], momentum[omega])
        return force[: self.n]

    def quadratic(self, shapes: Floats) -> Floats:
        """G (m, m, m) of shapes (n_v, m): the force on shape k is G[k, i, j] x_i x_j at velocities shapes @ x.

        Symmetric in the last two indices. Source: docs/theory/inertia_tensor.md, equation (5).
        """
        change = self.projected(shapes)
        omega = self.system.rotations.reshape(-1, 3)
        momenta = self.system.mass_matrix(self.q) @ shapes
        torque = np.cross(shapes[omega][:, :, :, None], momenta[omega][:, :, None, :], axis=1)  # (frames, 3, i, j)
        force = change.transpose(0, 2, 1) - 0.5 * change.transpose(2, 0, 1)
        force += np.einsum("fok,foij->kij", shapes[omega], torque, optimize=True)
        return 0.5 * (force + force.swapaxes(1, 2))


def mass_derivative(system: "System", q: Floats) -> Sparse:
    """D, the derivative of the mass matrix of a system: see ``MassChange``.

    Parameters:
        system: the equations of a model.
        q: (n_q,) coordinates, m and quaternions.

    Returns:
        (n_v, n_v, n_v), sparse.COO, in SI units.
    """
    return MassChange(system, q).tensor()


def gyroscopic_force(system: "System", q: Floats, v: Floats) -> Floats:
    """h of M v' + h + ... = f of a system at a state, by contraction of D: see ``MassChange``.

    Parameters:
        system: the equations of a model.
        q: (n_q,) coordinates, m and quaternions.
        v: (n_v,) velocities, m/s and rad/s.

    Returns:
        (n_v,) N and N m.
    """
    return MassChange(system, q).gyroscopic_force(v)


FORMATS = (".npz", ".h5")
# Tolerances of the symmetry of a stiffness, and of its zeros along rigid motions, relative to its largest entry.
SYMMETRIC, FREE = 1e-7, 1e-9
RIGID = tuple(f"{word} {axis}" for word in ("velocity", "angular velocity") for axis in "xyz")
NAMES = ("names", "velocities", "inputs")


@dataclass(frozen=True, eq=False)
class ModalModel(Brief):
    """(M + D p) x' + G x x + C x + K p = F u with speeds x (m,) of any size and small elastic coordinates p (m,).

    names (m,) : of the speeds. The first six of a free structure are the velocity and the angular velocity of the
    frame, in its own axes; the others are the rates of the elastic coordinates. ``rigid`` : the number of speeds of the
    frame, 6 or 0; these entries of p are zero.

    shapes (n_v, m) : the velocities of all bodies, nodes and internal coordinates by the speeds at p = 0, in the order
    and units of ``velocities``: rates of positions in inertial axes, angular velocities in those of the body or node.
    q (n_q,) : the System's coordinates at p = 0. origin (3,) m, axes (3, 3) : pose of the frame, axes as columns.
    mass, damping, stiffness (m, m). mass_change (m, m, m) : D, mass[a, b] changes by D[a, b, c] p_c. quadratic (m, m,
    m) : G[k, i, j] x_i x_j is the force on speed k, symmetric in i and j; exact at p = 0. forces (m, i) : F, by the
    inputs (i,), the factors of loads and motors.

    Weight is not an input: for a gravity g (3,) in the axes of the frame it is mass_at(p)[:, :3] @ g.
    Source: docs/theory/inertia_tensor.md, equations (5) to (11).
    """

    names: tuple[str, ...]
    velocities: tuple[str, ...]
    inputs: tuple[str, ...]
    shapes: Floats
    q: Floats
    origin: Floats
    axes: Floats
    mass: Floats
    damping: Floats
    stiffness: Floats
    mass_change: Floats
    quadratic: Floats
    forces: Floats

    @property
    def rigid(self) -> int:
        """Number of speeds of the frame: 6 for a free structure, 0 for a supported one."""
        return 6 if self.names[:6] == RIGID else 0

    @property
    def frequencies(self) -> Floats:
        """(m - rigid,) Hz: the frequency of each shape alone, with the frame at rest."""
        square = np.diag(self.stiffness) / np.diag(self.mass)
        return np.asarray(np.sqrt(np.maximum(square[self.rigid :], 0.0)) / (2.0 * np.pi))

    def quadratic_force(self, rates: ArrayLike) -> Floats:
        """G x x (m,) at speeds (m,): centrifugal, Coriolis and gyroscopic forces, N and N m by speed."""
        x = self._numbers("speeds", rates)
        return np.asarray(self.quadratic @ x @ x)

    def mass_at(self, p: ArrayLike) -> Floats:
        """(m, m) mass to first order in the coordinates p (m,)."""
        return np.asarray(self.mass + self.mass_change @ self._numbers("coordinates", p))

    def acceleration(self, p: ArrayLike, rates: ArrayLike, force: ArrayLike) -> Floats:
        """x' (m,) at coordinates, speeds and a generalized force (m,), such as ``forces @ u`` plus weight."""
        x = self._numbers("speeds", rates)
        right = self._numbers("force", force) - self.quadratic_force(x) - self.damping @ x
        right = right - self.stiffness @ self._numbers("coordinates", p)
        return np.asarray(np.linalg.solve(self.mass_at(p), right), dtype=np.float64)

    def _numbers(self, word: str, values: ArrayLike) -> Floats:
        return given_numbers(values, len(self.names), f"modal model: {word}")

    def write(self, path: str | Path) -> Path:
        """Write all fields, by their names, to a .npz or to the group ``modal`` of a results file .h5; its path.

        Raises ResultError.
        """
        return write_arrays(
            path, {field.name: getattr(self, field.name) for field in fields(self)}, FORMATS, group="modal"
        )

    @classmethod
    def read(cls, path: str | Path) -> "ModalModel":
        """Read the .npz at ``path``, written by ``write``. Raises ResultError."""
        arrays = [field.name for field in fields(cls) if field.name not in NAMES]
        return cls(**read_arrays(path, arrays, NAMES, "modal model"))


@one_blas_thread()
def modal_model(
    model: "Given",
    modes: int | None = None,
    *,
    shapes: ArrayLike | None = None,
    held: str | None = None,
    start: str | None = None,
) -> ModalModel:
    """Modal model of a structure without joints: its ``modes`` lowest elastic modes, or given shapes, at rest.

    By default the modes are those of the free structure, and the frame is at its mass centre with inertial axes. A
    structure connected to the ground, by a beam or by springs, has no speeds of a frame.

    Parameters:
        model: of the structure, a case, or the path of its file.
        modes: number of the lowest elastic modes.
        shapes: (n_v, m) elastic displacements, in the order and units of ``ModalModel.velocities``; zero for the body
            ``held``.
        held: the body that is fixed in the modes, and carries the frame.
        start: the configuration, by default that of the case. "equilibrium" is that under the loads, with their
            stiffness in the modes; the others are assumed in equilibrium without loads and weight.

    Raises:
        ModelError: joints; loads that are functions of the state without derivatives; modes where the stiffness is not
            symmetric, as with follower forces; an unknown body; more modes than coordinates.
    """
    from femb.linear.chart import frames_chart
    from femb.linear.second_order import second_order
    from femb.small_motions.point import OperatingPoint

    of, start = given(model, start)
    model = of if isinstance(of, Model) else of.model
    if model.joints:
        listed = ", ".join(f"joints.{name}" for name in model.joints)
        raise ModelError(f"modal_model: is for one structure, got {listed}: take the parts between joints one by one")
    if held is not None:
        check_choice("modal_model: held", held, model.bodies, "bodies")
    loaded, system = start == "equilibrium", system_at(of, start)
    if not loaded:
        system = system.with_gravity(np.zeros(3))
    point = _at_rest(OperatingPoint.of(system, system.q0, np.zeros(system.n_v)), loaded)
    equations = second_order(point, frames_chart(point))
    H, K = equations.chart.H, equations.stiffness
    origin, axes = frame(system, held)
    rigid = rigid_shapes(system, point.q, origin, axes)
    rigid_p = H.T @ rigid  # H is orthogonal
    free = bool(np.max(np.abs(K @ rigid_p)) <= FREE * np.max(np.abs(K), initial=1.0) * np.max(np.abs(rigid_p)))
    if free:
        modal = list(RIGID)
    else:
        rigid, modal = rigid[:, :0], []
    if shapes is None:
        elastic, squares = _lowest(equations, modes, _not_held(system, held), rigid.shape[1] if held is None else 0)
        modal += [f"mode {k + 1}, {f:.6g} Hz" for k, f in enumerate(np.sqrt(squares) / (2.0 * np.pi))]
    else:
        elastic = H.T @ _given(system, shapes, modes, held)
        modal += [f"shape {k + 1}" for k in range(elastic.shape[1])]
    Phi = np.hstack([rigid, H @ elastic])
    if np.linalg.matrix_rank(Phi) < Phi.shape[1]:
        raise ModelError("modal_model: shapes: some depend on each other, or on motions as a rigid body")
    mass, change, quadratic = modal_inertia(point, MassChange(system, point.q), Phi, rigid.shape[1])
    elastic = np.hstack([np.zeros((len(K), rigid.shape[1])), elastic])
    return ModalModel(
        tuple(modal),
        tuple(system.layout.velocity_labels()),
        equations.inputs,
        Phi,
        point.q,
        origin,
        axes,
        mass,
        elastic.T @ equations.damping @ elastic,
        elastic.T @ K @ elastic,
        change,
        quadratic,
        Phi.T @ (H @ equations.forces),
    )


def _at_rest(point: "OperatingPoint", loaded: bool) -> "OperatingPoint":
    """The point without accelerations and, unless ``loaded``, with loads that are inputs set to zero."""
    u = point.u.copy()
    for input_, part in point.system.inputs.parts:
        if not (loaded or input_.of_state or input_.of_discrete):
            u[part] = 0.0
    return replace(point, u=u, a=np.zeros_like(point.a))


def _not_held(system: "System", held: str | None) -> Bools:
    """(n_v,) bool: the velocities of all but the body ``held``."""
    result = np.ones(system.n_v, dtype=bool)
    if held is not None:
        i = system.layout.frame_v[system.layout.bodies[held]]
        result[i : i + 6] = False
    return result


def _lowest(equations: "SecondOrder", modes: int | None, free: Bools, skip: int) -> tuple[Floats, Floats]:
    """Coordinates (n_v, m) of the lowest modes after ``skip`` rigid ones, of unit modal mass, and their stiffnesses."""
    from scipy.linalg import eigh

    K, M = (matrix[np.ix_(free, free)] for matrix in (equations.stiffness, equations.mass))
    count = len(K) - skip
    if isinstance(modes, bool) or not isinstance(modes, int) or not 1 <= modes <= count:
        raise ModelError(f"modal_model: modes: got {shown(modes)}, wanted a whole number from 1 to {count}, or shapes")
    squares, parts = eigh(0.5 * (K + K.T), M)
    moved = moved_by_asymmetry(squares[skip:], (parts.T @ K @ parts)[skip:, skip:])
    if np.max(np.abs(K - K.T)) > SYMMETRIC * np.max(np.abs(K)) or moved > MOVED:
        raise ModelError(
            "modal_model: the stiffness at this posture is not symmetric, so that there are no real modes: forces "
            "follow the motion, or the posture is no equilibrium of the loads; take them out, or give shapes"
        )
    elastic = np.zeros((len(free), modes))
    elastic[free] = parts[:, skip : skip + modes]
    return elastic, np.maximum(squares[skip : skip + modes], 0.0)


def _given(system: "System", shapes: ArrayLike, modes: int | None, held: str | None) -> Floats:
    if modes is not None:
        raise ModelError("modal_model: got modes and shapes: give one of the two")
    result = as_numbers(shapes)
    if result is None or result.ndim != 2 or len(result) != system.n_v or not result.shape[1]:
        raise ModelError(f"modal_model: shapes: got {shown(shapes)}, wanted {system.n_v} rows, one for each velocity")
    if np.any(result[~_not_held(system, held)]):
        raise ModelError(f"modal_model: shapes: they move bodies.{held}, which is held")
    return result


# Frame and inertia of a modal model: mass, its derivative with respect to the shapes, and quadratic velocity forces.
#
# Source: docs/theory/inertia_tensor.md, equations (8) to (11).


def frame(system: System, held: str | None) -> tuple[Floats, Floats]:
    """Origin (3,) m and axes (3, 3) of the frame: those of the body ``held``, or the mass centre and inertial axes."""
    if held is not None:
        i = system.layout.frame_q[system.layout.bodies[held]]
        return system.q0[i : i + 3], rotations.rotation_matrix(system.q0[i + 3 : i + 7])
    return mass_properties(system)[1], np.eye(3)


def rigid_shapes(system: System, q: Floats, origin: Floats, axes: Floats) -> Floats:
    """(n_v, 6) velocities v by the velocity of a frame, along its axes, and its angular velocity about them."""
    motions = system.rigid_velocities(q)
    spins = motions[3:] - np.cross(np.eye(3), origin) @ motions[:3]
    return np.hstack([motions[:3].T @ axes, spins.T @ axes])


def modal_inertia(point: OperatingPoint, change: MassChange, Phi: Floats, rigid: int) -> tuple[Floats, Floats, Floats]:
    """Mass (m, m), its derivative and the quadratic forces (m, m, m): equations (9) to (11)."""
    shape_changes = _changes(point.system, point.q, Phi, rigid)
    momenta = point.mass @ Phi
    lever = np.einsum("cva,vb->abc", shape_changes, momenta, optimize=True)
    force = lever.transpose(1, 2, 0)  # [k, i, j]: force on shape k by the change of shape j along shape i
    D = change.projected(Phi) + lever + lever.swapaxes(0, 1)
    return Phi.T @ momenta, D, change.quadratic(Phi) + 0.5 * (force + force.swapaxes(1, 2))


def _changes(system: System, q: Floats, Phi: Floats, rigid: int) -> Floats:
    """(m, n_v, m) [c, :, a]: the derivative of column a of the shapes along column c. Equation (8).

    The shapes rotate with the frame; elastic displacements change the lever arm of a point, and the attitude of a node.
    """
    m, layout = Phi.shape[1], system.layout
    out = np.zeros((m, system.n_v, m))
    rotation_columns = range(3, 6) if rigid else range(0)
    spins = _spins(system, q, Phi, rotation_columns)
    for k, frame in enumerate(layout.frames):
        if not frame.freedom:
            continue
        j = layout.frame_v[k]
        line = Phi[j : j + 3]
        for c, w in zip(rotation_columns, spins, strict=True):
            out[c, j : j + 3] = np.cross(w, line, axisb=0, axisc=0)
            out[rigid:, j : j + 3, c] = np.cross(w, line[:, rigid:].T)
        if frame.freedom == 6:
            rotation = Phi[j + 3 : j + 6].T  # (m, 3)
            for c in range(rigid, m):
                across = -np.cross(rotation[c], rotation)
                across[rigid:] *= 0.5
                out[c, j + 3 : j + 6] = across.T
    return out


def _spins(system: System, q: Floats, Phi: Floats, rotation_columns: range) -> list[Floats]:
    """Angular velocities (3,), inertial axes, of the frame's rotations, taken from a node or body with axes."""
    k = next((k for k, frame in enumerate(system.layout.frames) if frame.freedom == 6), None)
    if k is None:
        return [np.zeros(3) for _ in rotation_columns]
    i, j = system.layout.frame_q[k] + 3, system.layout.frame_v[k] + 3
    return [rotations.rotate(q[i : i + 4], Phi[j : j + 3, c]) for c in rotation_columns]
