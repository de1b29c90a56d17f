"""An appendage of femb's own beams, shells and bodies as a finite element model, by the matrices of the model at rest.

Joints and lines of hinges are rows of the model: their coordinates without a spring are mechanisms.

The stress stiffness of beams of the default kind is int N w'^2 with the tension N at the strain points and the cubics
of the element; that of exact beams and shells is the part of their tangent that is linear in the stresses.
Source: docs/theory/modal_body.md, section 4; docs/theory/beam.md, equations (3) and (7).
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.errors import FembWarning, ModelError
from femb.base.types import Bools, Floats, Ints, Sparse
from femb.elements.beam.batch import BeamBatch
from femb.elements.beam.strain import LENGTH, POINTS, STIFFNESS, WEIGHTS
from femb.elements.exact.batch import ExactBatch
from femb.elements.joint.driver import JointDriver
from femb.elements.joint.latch import Latch
from femb.elements.marker import Place
from femb.elements.shell.batch import ShellBatch
from femb.elements.shell.shell import Shell
from femb.fem.model import FeModel, MeshInterface, StressStiffness, as_csc
from femb.layout.layout import Layout
from femb.model.model import Model
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.rest import left_out_at_rest
from femb.system.appendages import Appendage
from femb.vibration.appendages import alone_of, appendages, place_of, root_frame, stations
from femb.vibration.damping_ratios import has_dampers


def appendage_model(
    model: Model, root: str, interfaces: Mapping[str, Place | str], appendage: str | None = None, damped: bool = True
) -> tuple[FeModel, tuple[MeshInterface, ...]]:
    """The appendage of a body, and its interfaces: where it is on the body, with the body's axes, and the others.

    root : name of the body, or "ground". interfaces : places by name, as "beams.boom.-1" or "bodies.panel". appendage :
    its name, which is needed if the body has several. damped : whether a ratio of modes is given. Raises ModelError:
    drivers and latches within; what is not on the appendage.
    """
    motion = EigenProblem.at_rest(model)
    layout = motion.system.layout
    if root not in layout.bodies and root != "ground":
        raise ModelError(f"root: got {root!r}, wanted one of {', '.join(['ground', *layout.bodies])}")
    frame = layout.bodies[root] if root != "ground" else _ground(motion)
    part = _chosen(appendages(motion.holding(frame)), appendage, root)
    frames = [frame, *part.frames]
    inside = ~motion.holding(frame).only(part).held
    own = inside.copy()
    own[motion.velocities_of(frame)] = True
    _refuse_moving_joints(model, layout, part)
    _refuse_pretension(model, layout, part)
    _warn_of_rest(motion.holding(frame).only(part), part.name, damped)
    alone_of(motion.holding(frame), part)
    place, axes = root_frame(motion, part, frame)
    of, turn, stored = _freedoms(motion, frames, own)
    mass = _mass(motion, inside, own)
    stiffness = _stiffness(motion, inside, own)
    mass, stiffness = (as_csc(turn @ each @ turn.T) for each in (mass, stiffness))
    nodes = _nodes(motion, frames)
    fe = FeModel(
        nodes, of[0], of[1], mass, _balanced(stiffness, nodes, of), np.array(frames),
        stress=AppendageStress.of(motion, turn, stored), joints=_joints(motion, inside, own, turn),
    )  # fmt: skip
    tied = [MeshInterface(root, np.array([0]), "rigid", place, axes)]
    for name, station in stations(motion, interfaces).items():
        if station.frame not in part.frames:
            raise ModelError(f"interfaces: {name}: is not on {part.name!r}")
        at = place_of(motion, station, np.zeros(3), np.eye(3))
        tied.append(MeshInterface(name, np.array([frames.index(station.frame)]), "rigid", at, axes))
    return fe, tuple(tied)


def _ground(motion: EigenProblem) -> int:
    held = np.flatnonzero([motion.held[motion.velocities_of(k)].all() for k in range(len(motion.system.layout.frames))])
    if len(held) != 1:
        raise ModelError(f"root: the ground carries {len(held)} frames, wanted one: name a body")
    return int(held[0])


def _chosen(found: list[Appendage], name: str | None, root: str) -> Appendage:
    names = ", ".join(each.name for each in found) or "none"
    for each in found:
        if each.name == name or (name is None and len(found) == 1):
            return each
    raise ModelError(f"appendage: got {name!r}, {root!r} has {names}: name one")


def _refuse_moving_joints(model: Model, layout: Layout, part: Appendage) -> None:
    for item in model.items():
        if isinstance(item, JointDriver | Latch):
            joint = layout.joints[item.joint]
            if {joint.first.frame, joint.second.frame} & set(part.frames):
                what = f"moves a joint within {part.name!r}: a reduced body is one elastic piece; reduce its parts"
                raise ModelError.at((item.table, item.name), what)


def _joints(motion: EigenProblem, inside: Bools, own: Bools, turn: Sparse) -> Sparse | None:
    """Rows (m, n) of the joints that move something inside, by freedoms in common axes; None without any."""
    n = motion.system.n_v
    if not motion.system.n_c:
        return None
    rows = motion.system.pattern.to_csc(motion.jacobian).tocsr()[n:, :n]
    moving = np.unique(rows[:, inside].tocoo().row)
    return as_csc(rows[moving][:, own] @ turn.T) if len(moving) else None


def _refuse_pretension(model: Model, layout: Layout, part: Appendage) -> None:
    for item in model.items():
        tensioned = isinstance(item, Shell) and item.pretension is not None
        if tensioned and set(layout.shells[item.name].frames) & set(part.frames):
            what = "a reduced body has no stress at rest: take the shell itself, or leave the pretension out"
            raise ModelError.at((item.table, item.name, "pretension"), what)


def _warn_of_rest(motion: EigenProblem, name: str, damped: bool) -> None:
    """Warn of what the body of an appendage does not have; damped : whether a ratio is given in place of dampers."""
    left_out = left_out_at_rest(motion)
    if not damped and has_dampers(motion):
        left_out.append("the model's own dampers act, in whose place is a default ratio (--damping)")
    if left_out:
        what = f"reduce: {', '.join(left_out)}: this is left out of {name!r}, which is at rest and without loads"
        warnings.warn(what, FembWarning, stacklevel=4)


def _nodes(motion: EigenProblem, frames: list[int]) -> Floats:
    """(N, 3) m, positions of frames."""
    layout = motion.system.layout
    return np.asarray(motion.q[layout.frame_q[frames][:, None] + np.arange(3)] + layout.origin)


def _freedoms(motion: EigenProblem, frames: list[int], own: Bools) -> tuple[tuple[Ints, Ints], Sparse, Ints]:
    """Node and component of each freedom, rotations to common axes (n, n), and the places (n,) among all velocities."""
    from scipy.sparse import csc_array

    layout, n = motion.system.layout, motion.system.n_v
    node, component = np.zeros(n, dtype=np.int64), np.full(n, 6)
    sizes = np.array([layout.frames[frame].freedom for frame in frames])
    for size in np.unique(sizes).tolist():
        of = np.flatnonzero(sizes == size)
        where = layout.frame_v[np.array(frames)[of]][:, None] + np.arange(size)
        node[where], component[where] = of[:, None], np.arange(size)
    stored = np.flatnonzero(own)
    place = np.full(n, -1)
    place[stored] = np.arange(len(stored))
    turning = np.array(frames)[sizes == 6]
    turns = place[layout.frame_v[turning][:, None] + np.arange(3, 6)]
    R = rotations.rotation_matrix(motion.q[layout.frame_q[turning][:, None] + np.arange(3, 7)])
    straight = np.setdiff1d(np.arange(len(stored)), turns)
    rows = np.concatenate([straight, np.repeat(turns, 3, axis=1).ravel()])
    columns = np.concatenate([straight, np.tile(turns, 3).ravel()])
    values = np.concatenate([np.ones(len(straight)), R.ravel()])
    turn = as_csc(csc_array((values, (rows, columns)), shape=(len(stored), len(stored))))
    return (node[stored], component[stored]), turn, stored


def _mass(motion: EigenProblem, inside: Bools, own: Bools) -> Sparse:
    """(n, n) of the elements that move something inside."""
    from scipy.sparse import coo_array

    whole, outer = _beside_the_root(motion, motion.mass, inside, own), own & ~inside
    if not np.any(outer):
        return whole
    size = motion.system.n_v
    row, column, value = [], [], []
    for places, masses in motion.element_masses:
        shared = np.any(inside[places], axis=1) & np.any(outer[places], axis=1)
        rows, blocks = places[shared], masses[shared]
        on_root = outer[rows][:, :, None] & outer[rows][:, None, :]
        row.append(np.broadcast_to(rows[:, :, None], blocks.shape)[on_root])
        column.append(np.broadcast_to(rows[:, None, :], blocks.shape)[on_root])
        value.append(blocks[on_root])
    entries = np.concatenate(value), (np.concatenate(row), np.concatenate(column))
    return as_csc(whole + coo_array(entries, shape=(size, size)).tocsc()[:, np.flatnonzero(own)][np.flatnonzero(own)])


def _stiffness(motion: EigenProblem, inside: Bools, own: Bools) -> Sparse:
    """(n, n) without the stiffness of the root with itself, to which other appendages add."""
    kept = _beside_the_root(motion, motion.stiffness, inside, own)
    return 0.5 * (kept + kept.T)


def _beside_the_root(motion: EigenProblem, data: Floats, inside: Bools, own: Bools) -> Sparse:
    """(n, n) of block data, zero between velocities that are not inside."""
    kept = motion.system.pattern.to_csc(data)[:, np.flatnonzero(own)][np.flatnonzero(own)].tocoo()
    alone = inside[own][kept.row] | inside[own][kept.col]
    kept.data *= alone
    return as_csc(kept)


def _balanced(stiffness: Sparse, nodes: Floats, of: tuple[Ints, Ints]) -> Sparse:
    """Give the root the stiffness that leaves rigid motions without force: K_rr = -K_ri D_i D_r^-1."""
    from scipy.sparse import coo_array

    D = FeModel(nodes, *of, stiffness, stiffness, np.arange(len(nodes))).rigid_motions(nodes[0])
    root = np.flatnonzero((of[0] == 0) & (of[1] < 6))
    block = -(stiffness @ D)[root] @ np.linalg.inv(D[root])
    block = 0.5 * (block + block.T)
    across = np.repeat(root, 6), np.tile(root, 6)
    return as_csc(stiffness + coo_array((block.ravel(), across), shape=stiffness.shape))


@dataclass(frozen=True, eq=False)
class AppendageStress:
    """Stress stiffness of the beams and shells of an appendage: the sum of the parts."""

    parts: tuple[StressStiffness, ...]

    @classmethod
    def of(cls, motion: EigenProblem, turn: Sparse, stored: Ints) -> "AppendageStress":
        """By freedoms in common axes."""
        kinds = ((BeamBatch, BeamStress), (ExactBatch, ExactStress), (ShellBatch, ShellStress))
        found = [(kind, each) for of, kind in kinds for each in motion.system.batches if isinstance(each, of)]
        return cls(tuple(kind(each, motion, turn, stored) for kind, each in found))

    def __call__(self, fields: Floats, shapes: Floats) -> Floats:
        G = np.zeros((fields.shape[1], shapes.shape[1], shapes.shape[1]))
        for part in self.parts:
            G += part(fields, shapes)
        return G


@dataclass(frozen=True, eq=False)
class BatchStress:
    """Base of the stress stiffnesses of a batch; turn, stored : as of ``_freedoms``."""

    batch: Any
    motion: EigenProblem
    turn: Sparse
    stored: Ints

    def velocities(self, freedoms: Floats) -> Floats:
        """(n_v, k): all velocities by freedoms (n, k) in common axes."""
        found = np.zeros((self.motion.system.n_v, freedoms.shape[1]))
        found[self.stored] = self.turn.T @ freedoms
        return found


class ExactStress(BatchStress):
    """Stress stiffness of exact beams: the part of their stiffness that is linear in their stresses, equation (15) of
    docs/theory/exact_beam.md."""

    batch: ExactBatch

    def __call__(self, fields: Floats, shapes: Floats) -> Floats:
        system, batch, u, q = self.motion.system, self.batch, self.motion.u, self.motion.q
        n, still = system.n_v, np.zeros(system.n_v)
        moved, inner = self.velocities(fields).T, self.velocities(shapes)
        rest = batch.own_strains(u, q, still)

        def stiffness(own: Floats) -> Floats:
            stressed = system.evaluation.of([batch.strained(q, own.reshape(rest.shape))])
            return stressed.tangent(u, q, still, still)[1]

        unstressed = stiffness(0.0 * rest)
        G = np.zeros((fields.shape[1], shapes.shape[1], shapes.shape[1]))
        for f, field in enumerate(moved):
            own = batch.own_strains(u, q, field) - rest
            # as large as the strains of the stiffness itself, so that no digits are lost
            if size := float(np.max(np.abs(own), initial=0.0)):
                change = system.pattern.to_csc(stiffness(own / size) - unstressed)[:n, :n]
                G[f] = size * (inner.T @ (change @ inner))
        return 0.5 * (G + G.swapaxes(1, 2))


class ShellStress(BatchStress):
    """Stress stiffness of shells, of shapes without a matrix: equation (12) of docs/theory/shell.md."""

    batch: ShellBatch

    def __call__(self, fields: Floats, shapes: Floats) -> Floats:
        f, s = fields.shape[1], shapes.shape[1]
        inner = np.vstack([self.velocities(shapes), np.zeros(s)])  # the last row is of what is fixed
        G = np.zeros((s, f * s))
        for places, stiffness in self.batch.stress_stiffness(self.motion.q, self.velocities(fields).T):
            own = inner[places]
            c, g, _ = own.shape
            pulled = stiffness.reshape(c, g * f, g) @ own
            G += own.reshape(-1, s).T @ pulled.reshape(-1, f * s)
        found = G.reshape(s, f, s).transpose(1, 0, 2)
        return 0.5 * (found + found.swapaxes(1, 2))


class BeamStress(BatchStress):
    """Stress stiffness of beams of the default kind: int N w'^2 over each element."""

    batch: BeamBatch

    def __call__(self, fields: Floats, shapes: Floats) -> Floats:
        batch, u, q, n = self.batch, self.motion.u, self.motion.q, self.motion.system.n_v
        inside = np.flatnonzero(np.isin(batch.index[:, [2, 3]], self.stored).all(axis=1))
        G = np.zeros((fields.shape[1], shapes.shape[1], shapes.shape[1]))
        if not len(inside):
            return G
        velocities = (batch.index[inside][:, [2, 3], None] + np.arange(6)).reshape(-1, 12)
        slopes = np.array([_slopes(q, batch, int(e)) for e in inside])
        bent = np.einsum("epck,eki->epci", slopes, self.velocities(shapes)[velocities], optimize=True)
        axial, lengths = batch.data[inside, STIFFNESS : STIFFNESS + 4], batch.data[inside, LENGTH]
        rest = batch.own_strains(u, q, np.zeros(n))[inside]
        for f, moved in enumerate(self.velocities(fields).T):
            strains = (batch.own_strains(u, q, moved)[inside] - rest).reshape(-1, 3, 4)
            tension = np.einsum("ea,epa->ep", axial, strains) * WEIGHTS * lengths[:, None]
            G[f] = np.einsum("ep,epci,epcj->ij", tension, bent, bent, optimize=True)
        return G


def _slopes(q: Floats, batch: BeamBatch, e: int) -> Floats:
    """(3, 3, 12): rotations w'/L across and zero along element e at its strain points, inertial, by the velocities of
    its ends."""
    out = np.zeros((3, 3, 12))
    length = batch.data[e, LENGTH]
    x = POINTS  # derivatives of the cubics of equation (3)
    hermite = np.stack([6 * x * (x - 1), (1 - x) * (1 - 3 * x), 6 * x * (1 - x), x * (3 * x - 2)], axis=1)
    chord = []
    for end in range(2):
        i, v = batch.index[e, end], 6 * end
        R = rotations.rotation_matrix(q[i + 3 : i + 7])
        offset, section = batch.ends[e, end, 1:4], batch.ends[e, end, 4:].reshape(3, 3)
        section = section if batch.ends[e, end, 0] else np.eye(3)
        tangent = R @ section[:, 0]
        chord.append(q[i : i + 3] + R @ offset)
        place_of_end, end_slope = hermite[:, 2 * end], hermite[:, 2 * end + 1]
        out[:, :, v : v + 3] += place_of_end[:, None, None] * np.eye(3) / length
        out[:, :, v + 3 : v + 6] += place_of_end[:, None, None] * -(cross_matrix(R @ offset) @ R) / length
        out[:, :, v + 3 : v + 6] += end_slope[:, None, None] * -(cross_matrix(tangent) @ R)
    along = chord[1] - chord[0]
    along = along / np.linalg.norm(along)
    return np.asarray(np.einsum("cd,pdn->pcn", np.eye(3) - np.outer(along, along), out))
