"""Neutral motions of an equilibrium: rigid motions of its parts that no stiffness resists and the constraints allow.

A strut between two spherical joints turns freely about its axis, a body held by springs at one point about that point.
K D = 0 and J D = 0 are known before any eigenvalue is computed (``femb.small_motions.free_motions``). As many unknowns
are held as there are such motions, at zero, with which K is as regular as it is without these motions.
Source: docs/theory/statics.md, section 4.
"""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Bools, Floats
from femb.base.values import listed, numbered
from femb.layout.element import LowRank
from femb.layout.layout import Layout, Station
from femb.layout.state import station_motion
from femb.numerics import rotations
from femb.numerics.newton import largest
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import free_motions
from femb.small_motions.point import OperatingPoint
from femb.small_motions.strains import ExactProducts
from femb.statics.equations import OF_STRAINS, StaticEquations

LISTED = 3  # motions that a sentence names
STIFF = 1e3  # of the largest stiffness: what holds
IN_FRAMES = 1e-6  # of how a body deforms: what moves a frame is named by that
MOVED = 1e-9  # of all forces: what acts along a motion by rounding


@dataclass(frozen=True, eq=False)
class NeutralMotions:
    """shapes D (n_v, r), orthonormal with the weights (n_v,) by which motions are measured; held (n,) : r unknowns.

    rigid : how many of them, the first ones, are rigid motions of free structures; the others are those of joints.
    kept : how many, the last ones, are not free, but held by what is not in the equations.
    touched, diagonal : the entries of block data in rows and columns of what is held, and those on the diagonal.
    """

    shapes: Floats
    rigid: int
    weights: Floats
    held: Bools
    touched: Bools
    diagonal: Bools
    kept: int = 0

    @classmethod
    def of(
        cls, statics: StaticEquations, shapes: Floats, rigid: int, among: Bools | None = None, kept: int = 0
    ) -> "NeutralMotions":
        """The neutral motions with shapes (n_v, r), of which so many are rigid; what is held are the unknowns by which
        these differ most.

        among (n_v,) : unknowns to choose from; by default all. kept : how many of the last motions are held by others.
        """
        from scipy.linalg import qr

        pattern, weights = statics.twin.pattern, statics.weights
        held = np.zeros(pattern.n, dtype=bool)
        if shapes.shape[1]:
            scales = np.sqrt(weights) if among is None else np.where(among, np.sqrt(weights), 0.0)
            held[qr(shapes.T * scales, mode="r", pivoting=True)[1][: shapes.shape[1]]] = True
        touched, diagonal = pattern.entries_of(held)
        if kept:
            # constraints go on to reach what holds: a joint beside it would have no other support
            touched &= np.logical_and(*(each < statics.twin.n_v for each in pattern.rows_columns()))
        return cls(shapes, rigid, weights, held, touched, diagonal, kept)

    @property
    def count(self) -> int:
        """r, the number of these motions."""
        return int(self.shapes.shape[1])

    def names(self, layout: Layout, q: Floats) -> list[str]:
        """Names of the parts that move most in each motion of joints, with the direction, at q (n_q,)."""
        return [motion_name(layout, q, x, self.weights) for x in plain(self.shapes[:, self.rigid :].T, self.weights)]

    def holding(self, matrix: Floats) -> Floats:
        """Block data of a matrix with unit rows for what is held, or stiff ones where others hold it; it is
        overwritten."""
        if self.count:
            stiff = STIFF * largest(matrix) if self.kept else 1.0
            matrix[self.touched] = 0.0
            matrix[self.diagonal] = stiff
        return matrix

    def without(self, x: Floats) -> Floats:
        """Displacements x (n_v,) less their part along these motions."""
        projected: Floats = x - self.shapes @ (self.shapes.T @ (self.weights * x))
        return projected

    def unmoved(self, force: Floats) -> "NeutralMotions | None":
        """These motions, if a force (n_v,) does not act along any; else None."""
        of_frames = self.weights > OF_STRAINS
        size = float(np.linalg.norm(force[of_frames] / np.sqrt(self.weights[of_frames])))
        return self if np.all(np.abs(self.shapes.T @ force) <= MOVED * size) else None


def neutral_motions(
    statics: StaticEquations, q: Floats, multipliers: Floats, stiffness: Floats, jacobian: Floats
) -> NeutralMotions:
    """The neutral motions of a state q (n_q,) with multipliers (n_c,), by its symmetric stiffness and constraints."""
    twin = statics.twin
    still, none = np.zeros(twin.n_v), np.zeros(twin.pattern.size)
    rows, columns = twin.pattern.rows_columns()
    diagonal = (rows == columns) & (rows < twin.n_v)
    weights = none.copy()
    weights[diagonal] = statics.weights[rows[diagonal]]
    u = twin.inputs_at(statics.time, q, still)
    point = OperatingPoint(twin, statics.time, u, q, still, still, multipliers)
    motion = EigenProblem(
        twin, q, still, weights, none, stiffness, jacobian, np.zeros(twin.n_v, dtype=bool), None, u, still, multipliers,
        LowRank.joined((), twin.n_v), ExactProducts(point, weights, False, functions=statics.of_laws(u, q, still)),
        loaded=not any(each.omega.any() for each in statics.motions) or None,
    )  # fmt: skip
    free = free_motions(motion)
    return NeutralMotions.of(statics, free.shapes, free.rigid)


def moves_freely(layout: Layout, q: Floats, motions: NeutralMotions | None) -> list[str]:
    """A sentence on the motions of joints without stiffness at q (n_q,); none if there are none."""
    names = [] if motions is None else motions.names(layout, q)
    if not names:
        return []
    one = len(names) == 1
    return [
        f"{numbered(len(names), 'motion')} of joints {'has' if one else 'have'} no stiffness, of which stability does "
        f"not tell: {listed(names, LISTED, '; ')}"
    ]


def plain(modes: Floats, weights: Floats) -> Floats:
    """Modes (k, n_v) that are as far from each other as the axes allow, with the largest weighted component one.

    Of a group of equal loads any combination is a mode: the one with a single largest component is easy to read.
    """
    found = np.array(modes)
    for k in range(len(found)):
        rest = np.sqrt(weights) * found[k:]
        row, column = divmod(int(np.argmax(np.abs(rest))), rest.shape[1])
        found[[k, k + row]] = found[[k + row, k]]
        found[k] /= np.sqrt(weights[column]) * found[k, column]
        for j in range(len(found)):
            if j != k:
                found[j] -= found[j, column] / found[k, column] * found[k]
    return found


def motion_of(layout: Layout, station: Station, q: Floats, shape: Floats) -> tuple[Floats, Floats]:
    """Translation and rotation (3,) of a station in a motion (n_v,) at q (n_q,), inertial axes."""
    _, quaternion, translation, rotation = station_motion(layout, station, q[None], shape[None])
    return translation[0], rotations.rotate(quaternion[0], rotation[0])


def motion_name(layout: Layout, q: Floats, shape: Floats, weights: Floats) -> str:
    """Name of the part that moves most in a motion (n_v,) at q (n_q,), with the direction; of a body that deforms
    between frames which do not move, with its coordinate."""
    sizes = [IN_FRAMES * float(np.sqrt(weights[j]) * abs(shape[j])) for j in layout.internal_v]
    motions = [f"{each.label} deforms by its {each.quantity.name}" for each in layout.internal]
    for k, frame in enumerate(layout.frames):
        if not frame.freedom:
            continue
        j = layout.frame_v[k]
        translation, rotation = motion_of(layout, Station(k), q, shape)
        moves = float(np.sqrt(weights[j]) * np.linalg.norm(translation))
        turns = float(np.linalg.norm(rotation))
        # a node of a bent beam moves and turns: what turns without moving is in torsion
        word, vector = ("moves along", translation) if moves > 0.1 * turns else ("turns about", rotation)
        sizes.append(moves if moves > 0.1 * turns else 0.1 * turns)
        motions.append(f"{frame.label} {word} {_direction(vector)}")
    return motions[int(np.argmax(np.round(np.array(sizes) / max(sizes), 6)))]


def _direction(vector: Floats) -> str:
    """An axis, or components of a unit vector."""
    unit = vector / max(float(np.linalg.norm(vector)), 1e-300)
    k = int(np.argmax(np.abs(unit)))
    if abs(unit[k]) > 0.999:
        return "xyz"[k]
    unit = np.round(unit * np.sign(unit[k]), 2) + 0.0  # no minus zeros
    return f"({', '.join(f'{x:.2f}' for x in unit)})"
