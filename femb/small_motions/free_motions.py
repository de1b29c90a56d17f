"""Motions without stiffness, known before any eigenvalue is computed: of free structures, and of joints nothing moves.

A structure is what beams connect. Without strain it moves as a rigid body; the motions of all structures that obey the
constraints and that no spring resists are the exact null space of the stiffness. An eigenvalue solver would return them
as small numbers that pollute their neighbours. Source: docs/theory/modes.md, section 2.
"""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats, Ints
from femb.layout.connections import groups_of
from femb.layout.protocols import Strained
from femb.layout.symmetry import Surroundings, about, bracket, nullity, twists
from femb.small_motions.declared import of_frames
from femb.small_motions.eigenproblem import EigenProblem
from femb.system.known_motions import KnownStructure
from femb.system.system import System

# A stiffness or a row of constraints times a motion is zero where it cancels to this part of its terms.
NONE = 1e-11
# Of the largest force: what reactions and stresses carry from one body to another as rounding.
ROUNDING_PART = 1e-15
# Of the largest force and moment on a frame: what turning the axes of a spring leaves in other directions.
TURNED_PART = 1e-14
# Of a motion of unit size: the part beside what a rotation turns.
LEAST = 1e-6
FLOOR = 1e-3  # the same of components, for rounding on their scale


# Of groups: the frames, a point (3,), and orthonormal twists (k, 6) about it, which move them.
Centres = list[tuple[list[int], Floats, Floats]]
# Of a twist, and of the places of points: less is rounding.
ALONG = 1e-9


@dataclass(frozen=True, eq=False)
class FreeMotions:
    """shapes D (n_v, r) of unit mass, D^T M D = 1, and momenta M D (n_v, r).

    ``rigid`` of them are rigid motions of free structures, the others are motions of joints. The first ``kept`` of
    these have momenta that nothing changes.
    """

    shapes: Floats
    momenta: Floats
    rigid: int
    kept: int = 0

    @property
    def count(self) -> int:
        """r, the number of these motions."""
        return int(self.shapes.shape[1])

    def sizes(self, motion: EigenProblem) -> Floats:
        """(n_v, r) sizes of the components, no less than what rounding leaves of a translation in a turn."""
        units = np.full((motion.system.n_v, 1), motion.system.layout.extent or 1.0)
        units[motion.system.rotations] = 1.0
        sizes = np.abs(self.shapes)
        return np.asarray(np.maximum(sizes, FLOOR * units * np.max(sizes / units, axis=0, initial=0.0)))

    def undamped(self, motion: EigenProblem) -> "FreeMotions":
        """The free motions that no damping and no rotation resists, orthonormal in the mass."""
        if not self.count:
            return self
        largest, values = np.max(self.sizes(motion), axis=1), motion.damping_times(self.shapes)
        sizes = motion.times(np.abs(motion.damping), largest) + motion.low_rank.damping_sizes(largest)
        kept = null_space(values / np.maximum(sizes, np.finfo(float).tiny)[:, None])
        return FreeMotions(self.shapes @ kept, self.momenta @ kept, min(self.rigid, kept.shape[1]))

    def with_states(self, motion: EigenProblem, decaying: bool = False) -> tuple["FreeMotions", Ints]:
        """These motions beside first-order states that have a momentum of their own which stays, as the speed of a
        wheel without friction, whatever moves beside them; and the places of these.

        decaying : also those whose momentum a damping on themselves takes away, as friction.
        """
        layout, low = motion.system.layout, motion.low_rank
        places = layout.first_order_v[~motion.held[layout.first_order_v]]
        if not places.size:
            return self, places
        (c, by_c), (k, by_k) = (
            ((matrix := motion.system.pattern.to_csc(data))[places].toarray(), matrix[:, places].toarray().T)
            for data in (motion.damping, motion.stiffness)
        )
        # what is gyroscopic alone is the rate of a momentum in axes that turn
        c, by_c = (
            np.where(np.arange(c.shape[1]) == places[:, None], 0.0, each) if decaying else each for each in (c, by_c)
        )
        acting = np.any((np.abs(c + by_c) > NONE * np.abs(c)) | (k != 0.0) | (by_k != 0.0), axis=1)
        acting |= np.any(np.hstack([low.left, low.damping, low.stiffness])[places] != 0.0, axis=1)
        alone = places[~acting]
        shapes, momenta = self.shapes, self.momenta
        for place in alone:
            unit = np.zeros(motion.system.n_v)
            unit[place] = 1.0
            for _ in range(2):
                unit = unit - shapes @ (momenta.T @ unit)
            unit /= motion.lengths(unit)
            shapes = np.column_stack([shapes, unit])
            momenta = np.column_stack([momenta, motion.momenta(unit)])
        return FreeMotions(shapes, momenta, self.rigid), alone

    def without(self, x: Floats) -> Floats:
        """x (n_v,) less its part along these motions: equation (1)."""
        projected: Floats = x - self.shapes @ (self.momenta.T @ x)
        return projected

    def without_force(self, force: Floats) -> Floats:
        """A force (n_v,) less the inertia force of the accelerations that it gives these motions."""
        projected: Floats = force - self.momenta @ (self.shapes.T @ force)
        return projected


def free_motions(motion: EigenProblem) -> FreeMotions:
    """The motions without stiffness of what is not held: those that are known, and what joints leave beside these."""
    layout = motion.system.layout
    shapes, _ = _unresisted(motion, groups_of(layout, joined=False), ordered=False)
    if not shapes.shape[1]:
        return FreeMotions(shapes, shapes, 0)
    rigid, kept = _unresisted(motion, groups_of(layout, joined=True))
    shapes, momenta = _orthonormal(motion, rigid, shapes)
    return FreeMotions(shapes, momenta, rigid.shape[1], kept)


def with_turned(motion: EigenProblem, free: FreeMotions) -> FreeMotions:
    """The free motions, and the known ones that a rotation turns in its own axes: across it, and its tilt."""
    columns, centres = _rigid_motions(motion, groups_of(motion.system.layout, joined=False))
    turned = [columns @ part for part in _turned(motion, centres)[1:]]
    shapes, momenta = _orthonormal(motion, free.shapes, np.hstack([free.shapes, *turned]))
    return FreeMotions(shapes, momenta, free.rigid)


def _unresisted(motion: EigenProblem, groups: list[list[int]], ordered: bool = True) -> tuple[Floats, int]:
    """(n_v, r) rigid motions of groups that the constraints allow and no stiffness resists: the known ones that stay
    where they are in axes of the rotation, and, of what is beside them, what is measured. If they are to be ordered, so
    many of the first, as the second value says, have momenta that nothing changes."""
    columns, centres = _rigid_motions(motion, groups)
    nothing = np.zeros((columns.shape[1], 0))
    still, turned = _turned(motion, centres)

    def terms(word: str) -> list[Floats]:
        """Terms of what stays of the motions of each structure of this name."""
        pairs = ((each, motion.axis_of(each.frames)[:2]) for each in motion.structures)
        return [_in_terms(each, each.resting_in(*axis, getattr(each, word)), centres) for each, axis in pairs]

    kept = independent(np.hstack([nothing, *terms("kept")])) if ordered else nothing
    resting = independent(np.hstack([nothing, *terms("motions"), still]))
    resting = np.hstack([kept, resting @ nullity(kept.T @ resting).T])
    turned = independent(turned - resting @ (resting.T @ turned))
    others = nullity(np.hstack([resting, turned]).T).T
    if not others.shape[1] or not null_space(_constraint_rows(motion, columns @ others)).shape[1]:
        return np.asarray(columns @ resting), kept.shape[1]
    beside = np.hstack([others, turned])
    rest = columns @ beside
    resisted = resisted_by_joints(motion.system, motion.q, centres) @ beside
    found = null_space(np.vstack([_constraint_rows(motion, rest), resisted, _stiffness_rows(motion, rest)]))
    # what is turned alone is resisted, by however small a rate of the rotation
    _, sizes, parts = np.linalg.svd(found[: others.shape[1]])
    found = beside @ found @ parts[: np.sum(sizes > LEAST)].T
    return np.asarray(columns @ np.hstack([resting, found])), kept.shape[1]


def resisted_by_joints(system: System, q: Floats, groups: Centres) -> Floats:
    """(r, d) what rows of size one take from motions of groups, as in ``_rigid_motions``: the relative motions that
    springs of joints resist, as these declare, however weak they are beside others."""
    layout, rows = system.layout, [np.zeros((0, sum(len(basis) for _, _, basis in groups)))]
    of_frame = {k: number for number, (frames, _, _) in enumerate(groups) for k in frames}
    ends = np.cumsum([0, *(len(basis) for _, _, basis in groups)])
    everything = frozenset(range(len(layout.frames)))
    for item in system.items:
        on = dict.fromkeys(item.frames(layout)) if item.resists else {}
        pair = [of_frame.get(k, -1) for k in on]
        if len(set(pair)) == 2:
            moving = next(number for number in pair if number >= 0)
            fixed = everything - {k for k in on if of_frame.get(k, -1) == moving}
            symmetry = item.symmetry(Surroundings(layout, system.model, q, fixed, system.discrete))
            noticed = nullity(np.eye(6) if symmetry is None else symmetry.motions)
            own = np.zeros((len(noticed), rows[0].shape[1]))
            for number in set(pair) - {-1}:
                _, centre, basis = groups[number]
                along = _without_rounding(basis @ (twists(np.eye(3), np.eye(3), centre) @ noticed.T), 1.0).T
                own[:, ends[number] : ends[number + 1]] = along * (1.0 if number == moving else -1.0)
            # of points on a line, whose turns about it are no motions, nothing is left of some
            own = own[np.any(own, axis=1)]
            rows.append(own / np.max(np.abs(own), axis=1, keepdims=True))
    return np.vstack(rows)


def _turned(motion: EigenProblem, centres: Centres) -> tuple[Floats, Floats]:
    """(d, k), (d, j) known motions that a rotation turns in its own axes, in terms of those of ``_rigid_motions``:
    those that centrifugal and gyroscopic forces resist not, as the turn of a thin rod about its line, and those that
    they resist."""
    found = np.zeros((sum(len(basis) for _, _, basis in centres), 0))
    parts = found, found
    for structure in motion.structures:
        omega, point, _ = motion.axis_of(structure.frames)
        motions = structure.turned_by(omega, point)
        if len(motions) and any(frames[0] in structure.frames for frames, _, _ in centres):
            _, forces, sizes = stiffness_of_known(motion, structure, motions)
            own = null_space(forces / np.maximum(sizes, np.finfo(float).tiny)[:, None])
            terms = _in_terms(structure, motions, centres)
            both = terms @ own, terms @ nullity(own.T).T
            parts = np.hstack([parts[0], both[0]]), np.hstack([parts[1], both[1]])
    return parts


def stiffness_of_known(
    motion: EigenProblem, structure: KnownStructure, motions: Floats
) -> tuple[Floats, Floats, Floats]:
    """Displacements D (n_v, k) of a structure by known twists (k, 6), K D, and the sizes (n_v,) of terms of K D.

    p = D e^(-t ad) xi is a motion: K D xi = (C + G) D ad xi - M D ad^2 xi. No stiffness is in it that would cancel.
    """
    omega, point, _ = motion.axis_of(structure.frames)
    once = bracket(omega, point, motions)
    D, first, second = (motion.moves_of(structure, each) for each in (motions, once, bracket(omega, point, once)))
    damping, inertia = motion.exact_damping(first), motion.momenta(second)
    rate2 = float(omega @ omega)
    sizes = rate2 * motion.times(np.abs(motion.mass), np.max(np.abs(D), axis=1, initial=0.0))
    return D, damping - inertia, sizes


def _in_terms(structure: KnownStructure, twists: Floats, centres: Centres) -> Floats:
    """(d, k) twists (k, 6) of a structure in terms of the motions of ``_rigid_motions``."""
    parts = [np.zeros((0, len(twists)))]
    for frames, centre, basis in centres:
        whole = about(twists, centre).T
        largest = np.max(np.abs(whole), axis=0, initial=0.0)
        parts.append(_without_rounding(basis @ whole, largest) * (frames[0] in structure.frames))
    return np.vstack(parts)


def _without_rounding(terms: Floats, sizes: Floats | float) -> Floats:
    """Terms (k, d) of columns of these sizes (d,) with zeros for columns that are rounding."""
    return np.where(np.max(np.abs(terms), axis=0, initial=0.0) > ALONG * sizes, terms, 0.0)


def independent(columns: Floats) -> Floats:
    """(d, r) an orthonormal basis of the space of columns (d, k), whatever their sizes."""
    rows = columns.T[np.any(columns.T, axis=1)]
    return nullity(nullity(rows / np.linalg.norm(rows, axis=1, keepdims=True))).T


def _rigid_motions(motion: EigenProblem, groups: list[list[int]]) -> tuple[Floats, Centres]:
    """(n_v, d) motions as rigid bodies of all groups without a held frame, about the mean of their positions; and of
    each group its frames, this mean (3,) and the twists of its motions."""
    system, layout = motion.system, motion.system.layout
    whole = motion.rigid_motions()
    columns, centres = [np.zeros((system.n_v, 0))], []
    for group in groups:
        moving = np.zeros(system.n_v, dtype=bool)
        for k in group:
            moving[motion.velocities_of(k)] = True
        fixed = any(layout.frames[k].freedom == 0 for k in group)
        if fixed or not np.any(moving) or np.any(motion.held & moving):
            continue
        places = np.array([motion.q[i : i + 3] for i in layout.frame_q[group]])
        centre = np.mean(places, axis=0)
        turns = whole[3:] - np.cross(np.eye(3), centre) @ whole[:3]
        points = all(layout.frames[k].freedom == 3 for k in group)
        basis = _of_points(places - centre) if points else np.eye(6)
        own = np.where(moving, basis @ np.vstack([whole[:3], turns]), 0.0)
        columns.append(own.T)
        centres.append((group, centre, basis))
    return np.hstack(columns), centres


def _of_points(arms: Floats) -> Floats:
    """(k, 6) twists about their mean that move points at ``arms`` (n, 3): no turn about a line on which all are."""
    if len(arms) == 1:
        return np.eye(6)[:3]
    _, sizes, axes = np.linalg.svd(arms, full_matrices=True)
    alike = int(np.sum(sizes > ALONG * max(sizes[0], np.finfo(float).tiny)))
    if alike > 1:
        return np.eye(6)
    turns = twists(turns=axes[1:]) if alike else np.zeros((0, 6))
    return np.vstack([np.eye(6)[:3], turns])


def _constraint_rows(motion: EigenProblem, columns: Floats) -> Floats:
    """J D (n_c, d), each row on the scale of its terms."""
    values = motion.gaps(columns)
    jacobian = np.abs(motion.jacobian)
    whole = np.append(np.max(np.abs(columns), axis=1, initial=0.0), np.zeros(motion.system.n_c))
    sizes = motion.system.solver.multiply(jacobian, whole)[motion.system.n_v :]
    return values / np.maximum(sizes, np.finfo(float).tiny)[:, None]


def _stiffness_rows(motion: EigenProblem, columns: Floats) -> Floats:
    """K D (n_v, d) of what is not held, each row on the scale of its terms."""
    moving = motion.of_moving(columns)
    # what a slow rotation adds would be rounding beside the stiffness of short elements
    exact = motion.exact if motion.spinning else None
    data = motion.stiffness if exact is None else exact.others[0]
    values = motion.times(data, moving) if exact is None else exact.rigid_stiffness(moving)
    low, largest = motion.low_rank, np.max(np.abs(moving), axis=1, initial=0.0)
    values = values + low.left @ (low.stiffness.T @ moving)
    sizes = motion.times(np.abs(data), largest) + np.abs(low.left) @ (np.abs(low.stiffness).T @ largest)
    sizes = np.maximum(sizes, np.max(np.abs(values), axis=1, initial=0.0))
    sizes = np.maximum(sizes, TURNED_PART / NONE * of_frames(motion, sizes))
    if np.any(motion.multipliers):
        # reactions turn with what they hold
        values = motion.unbalanced(values)
    if np.any(motion.multipliers) or any(
        isinstance(batch, Strained) and batch.pretensioned for batch in motion.system.batches
    ):
        sizes += ROUNDING_PART / NONE * np.max(sizes, initial=0.0)
    return motion.of_moving(values / np.maximum(sizes, np.finfo(float).tiny)[:, None])


def null_space(A: Floats) -> Floats:
    """(d, r) orthonormal vectors that A (m, d) takes to zero."""
    from scipy.linalg import qr, svd

    if 0 in A.shape:
        return np.eye(A.shape[1])
    if A.shape[0] > A.shape[1]:
        A = qr(A, mode="r")[0][: A.shape[1]]
    _, sizes, V = svd(A)
    rank = int(np.sum(sizes > NONE * max(1.0, sizes[0])))
    return np.asarray(V[rank:].T)


def _orthonormal(motion: EigenProblem, rigid: Floats, shapes: Floats) -> tuple[Floats, Floats]:
    """Shapes (n_v, d), orthonormal in the mass: the columns of rigid in order, then what ``shapes`` (n_v, d) add.

    Also their momenta. The column with the largest rest comes next: one that hardly differs from those before, made of
    unit mass, would consist of rounding. Motions without mass are left out.
    """
    found, momenta = np.zeros((len(rigid), 0)), np.zeros((len(rigid), 0))
    sizes = _rests(motion, shapes, found, momenta)[1]
    shapes = shapes / np.where(sizes > 0.0, sizes, 1.0)
    for candidates in [rigid[:, [k]] for k in range(rigid.shape[1])] + shapes.shape[1] * [shapes]:
        if found.shape[1] < shapes.shape[1]:
            rests, lengths = _rests(motion, candidates, found, momenta)
            best = int(np.argmax(lengths))
            if lengths[best] > 0.0:
                shape = rests[:, best] / lengths[best]
                found = np.column_stack([found, shape])
                momenta = np.column_stack([momenta, motion.momenta(shape)])
    return found, momenta


def _rests(motion: EigenProblem, columns: Floats, found: Floats, momenta: Floats) -> tuple[Floats, Floats]:
    """The columns (n_v, d) less their parts along the shapes found, and their lengths (d,) in the mass."""
    for _ in range(2):
        columns = columns - found @ (momenta.T @ columns)
    return columns, motion.lengths(columns)
