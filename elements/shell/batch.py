"""The elements of shells, evaluated together."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.base.values import shallow_copy
from femb.elements.records import load_factors
from femb.elements.shell import kernels, tangents
from femb.elements.shell.load import SurfaceLoad
from femb.elements.shell.mesh import projected_axes
from femb.elements.shell.stiffness import (
    areas,
    elements_of,
    middle_axes,
    reference_strains,
    turned_stiffness,
    with_loose_corners,
    wrinkled,
)
from femb.layout.element import Batch, Input, weighed
from femb.layout.evaluation import Evaluation
from femb.layout.layout import Layout, unfixed_frames
from femb.layout.private_blocks import PrivateBlocks
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Ranges, Tangent
from femb.layout.views import ModelView, OutputStates
from femb.numerics import rotations
from femb.numerics.compiler.lanes import LANES, groups, groups_of, kinds, ungrouped

_Arrays: TypeAlias = tuple[Ints, tuple[Floats, ...], tuple[Any, ...]]
# The arrays of the elements of a shell, by their number of corners, with what they were made of: analyses build several
# systems of one model, derivatives many. Those of larger shells are not kept, for the memory.
_KNOWN: "WeakKeyDictionary[Any, dict[int, tuple[tuple[Any, ...], _Arrays]]]" = WeakKeyDictionary()
KEPT = 1000
NO_HEATS = np.zeros((0, 0, 0, LANES))
# Columns of a corner (b, D, P, M and a factor), and roundings in which strains are lost.
ROUNDINGS = 64.0
# Elements whose stress stiffness is in memory at a time.
PORTION = 256
# Elements whose shapes, of size one, and angles differ by less are alike.
ALIKE = 1e-11
# Share of its stiffness that a wall without compression keeps where it is slack, so that its shape is determined.
COMPRESSION = 1e-5
# Part of the size of an element by which a beam is off the surface, whose sections then do not turn with it.
OFF_SURFACE = 1e-6


class Cells:
    """The elements with n corners of all shells.

    index (e, 2 n) : of the frames in q and in v. starts (e, n) : the first velocity of the frame of every corner,
    negative if it is fixed. mass (e, n n + 4) : as in ``femb.elements.shell.kernels``. alike (e,)
    : the rows of the next arrays, of elements of equal shape and wall: stiffness (k, m, m), tension (k, t), recovery
    (k, 8, m) : resultants in the middle by the strains, material axes; flexibility (k, 6, 6) : strains and curvatures
    by resultants; area (k,) m2; free (k, 3, 6) and heat (k, 2, m) : strains and curvatures, material axes, and strains
    without stress, by temperature, gradient and, of free, the pretension; turn (k,) : angle (rad) of the material axes
    from those of the middle. rows : by shell, its elements. kind, shared : arguments of the kernels.
    """

    def __init__(self, n: int, shells: list[Any], layout: Layout) -> None:
        index, alike, arrays, known = [], [], [], []
        self.n, self.rows = n, dict[str, slice]()
        first = count = 0
        for item in shells:
            entry = layout.shells[item.name]
            cells = entry.quads if n == 4 else entry.triangles
            self.rows[item.name] = slice(first, first + len(cells))
            first += len(cells)
            if len(cells):
                frames = np.array([station.frame for station in entry.stations])[cells]
                index.append(np.ascontiguousarray(np.hstack([layout.frame_q[frames], layout.frame_v[frames]])))
                own, of_each, of_alike = _arrays_of(cells, item, entry.stations, layout)
                alike.append(count + own)
                count += len(of_alike[0])
                arrays.append(of_each)
                known.append(of_alike)
        self.index: Ints = np.concatenate(index)
        self.starts: Ints = self.index[:, n:]
        self.alike: Ints = np.concatenate(alike)
        reference, corners, self.mass = (np.concatenate(parts) for parts in zip(*arrays, strict=True))
        joined = [np.concatenate(parts) for parts in zip(*known, strict=True)]
        self.stiffness, self.tension, self.recovery, self.flexibility = joined[:4]
        self.area, self.free, self.heat, self.turn = joined[4:]
        if not np.any(self.tension):
            self.tension = np.zeros((count, 0))
        self.sizes = (6,) * n
        self._group(reference, corners)

    def _group(self, reference: Floats, corners: Floats) -> None:
        given = reference, corners, self.mass, self.tension[self.alike]
        kind, *shared = kinds(*map(groups, given))
        filled = np.minimum(np.arange(len(kind) * LANES), len(self.alike) - 1).reshape(-1, LANES)
        of_groups, which = np.unique(self.alike[filled], axis=0, return_inverse=True)
        self.kind = np.stack([which.ravel(), kind], axis=1)
        self.shared = [np.ascontiguousarray(np.moveaxis(self.stiffness[of_groups], 1, -1)), *shared]

    @property
    def strains(self) -> int:
        """m."""
        return int(self.stiffness.shape[1])

    def wrinkled(self, elastic: Floats) -> tuple[Floats, Floats, Floats]:
        """Additions of wrinkling at strains (s, e, m) less those without stress: energy (s, e) J and membrane forces
        (s, e, 3), N/m, material axes; and the states (s, e): 0 taut, 2 slack at all points, 1 wrinkled in between."""
        shape, n = elastic.shape[:2], 5 if self.n == 4 else 3
        if not self.tension.size:
            return np.zeros(shape), np.zeros((*shape, 3)), np.zeros(shape)
        tension, turn = self.tension[self.alike], self.turn[self.alike]
        points = tension[:, :-1].reshape(len(tension), -1, 3 * n + 1)
        strains = np.einsum("epik,sek->sepi", points[..., :-1].reshape(*points.shape[:2], 3, n), elastic[..., :n])
        energy, forces, state = wrinkled(strains, points[..., -1], tension[:, -1:])
        # the mean, in material axes
        c, s = np.cos(2.0 * turn), np.sin(2.0 * turn)
        a, b, shear = np.moveaxis(forces.sum(axis=2) / self.area[self.alike][:, None], -1, 0)
        mean, half = 0.5 * (a + b), 0.5 * (a - b) * c + shear * s
        turned = np.stack([mean + half, mean - half, shear * c - 0.5 * (a - b) * s], axis=-1)
        mixed = np.where(state.min(axis=2) == 2.0, 2.0, np.minimum(state.max(axis=2), 1.0))
        return energy.sum(axis=2), turned, mixed * np.any(points[..., -1], axis=1)

    def alone(self) -> "tuple[Cells, PrivateBlocks]":
        """The cells without stiffness, damping and wrinkles, with velocities and block data of their own."""
        private, other = PrivateBlocks(self.starts, self.sizes), shallow_copy(self)
        other.index, other.starts = np.hstack([self.index[:, : self.n], private.starts]), private.starts
        stiffness, shape, corners, mass, tension = self.shared
        mass = mass.copy()
        mass[:, -1] = 0.0
        other.shared = [np.zeros_like(stiffness), shape, corners, mass, tension[:, :0]]
        return other, private


def _arrays_of(cells: Ints, item: Any, stations: list[Any], layout: Layout) -> _Arrays:
    """The arrays of ``Cells`` of the elements of one shell: the rows of those alike, those of each, those of alike."""
    nodes, quaternions = layout.poses(stations)
    frames = np.array([layout.frames[station.frame].quaternion for station in stations])
    offsets = np.array([station.offset for station in stations])
    beside, own = np.zeros(len(stations), dtype=bool), np.array([station.frame for station in stations])
    for beam in layout.beams.values():
        shared = np.isin(own, [station.frame for station in beam.stations])
        beside |= shared & (shared.sum() > 1)
    given = cells, nodes, quaternions[0], frames, offsets, beside
    known = _KNOWN.setdefault(item, {})
    before = known.get(cells.shape[1])
    if before is not None and all(map(np.array_equal, given, before[0])):
        return before[1]
    found = _new_arrays_of(item, *given)
    if len(cells) <= KEPT:
        known[cells.shape[1]] = given, found
    return found


def _new_arrays_of(
    item: Any, cells: Ints, nodes: Floats, quaternion: Floats, frames: Floats, offsets: Floats, beside: Bools
) -> _Arrays:
    """The arrays, of nodes at the start and frames with these quaternions; quaternion : of the geometry. beside (n,) :
    the nodes that are several of a beam, whose turns about the normal are free where it runs off the surface."""
    to_frame = np.swapaxes(rotations.rotation_matrix(rotations.normalise(frames)), 1, 2)[cells]
    # the geometry as it is at the start: its axes turn the normals and the direction of the mesh
    turn = rotations.multiply(quaternion, rotations.conjugate(item.geometry.axes(item.material_direction)[0]))
    x, normals = nodes[cells], rotations.rotate(turn, item.geometry.corner_normals(cells))
    axes = middle_axes(x)
    material = projected_axes(axes[:, :, 2], rotations.rotate(turn, item.directions(cells.shape[1])))
    angle = np.arctan2(np.sum(material[:, :, 0] * axes[:, :, 1], 1), np.sum(material[:, :, 0] * axes[:, :, 0], 1))
    which = item.wall_of(cells.shape[1])
    C = np.array([wall.stiffness for wall in item.walls])
    if item.tension_only:
        # directors that follow the slopes exactly would be clamped at edges, where the layer is thinner than elements
        for each, wall in zip(C, item.walls, strict=True):
            each[6:, 6:] *= wall.thickness**2 / (wall.thickness**2 + areas(x).mean())
    # without an expansion nothing heats it
    free = np.array([[*np.nan_to_num(wall.free), item.pretension_strain(wall)] for wall in item.walls])
    size = np.sqrt(areas(x))
    shape = [np.swapaxes(part, 1, 2).reshape(len(x), -1) for part in (
        np.swapaxes(axes, 1, 2) @ np.swapaxes(x - x.mean(axis=1, keepdims=True), 1, 2) / size[:, None, None],
        np.swapaxes(axes, 1, 2) @ np.swapaxes(normals, 1, 2),
    )]  # fmt: skip
    after, before = np.roll(x, -1, axis=1) - x, np.roll(x, 1, axis=1) - x
    factor = 0.5 / np.linalg.norm(np.cross(after, before), axis=2)
    local = [np.einsum("enij,enj->eni", to_frame, part) for part in (normals, after, before)]
    off = np.abs(np.einsum("eni,eni->en", local[0], offsets[cells]))
    loose = beside[cells] & (off > OFF_SURFACE * size[:, None])
    marks = np.column_stack([*shape, angle, np.log(size), which, loose])
    _, first, alike = np.unique(np.round(marks / ALIKE), axis=0, return_index=True, return_inverse=True)
    wall, turned = which[first], angle[first]
    C, flexibility, free = C[wall], np.linalg.inv(C[:, :6, :6])[wall], free[wall]
    found = elements_of(x[first], normals[first], C, turned, free, item.stiff_drilling, item.tension_only)
    found = with_loose_corners(found, loose[first])
    alike = alike.ravel()
    natural = reference_strains(x, normals)
    stretched = found.free[alike, 2]
    stretched[:, : natural.shape[1]] += natural
    corners = np.concatenate([offsets[cells], *local, factor[..., None]], axis=2)
    count, n = len(first), cells.shape[1]
    per_area = np.array([[*wall.mass, item.damping] for wall in item.walls])[which]
    mass = np.hstack([found.weights.reshape(count, n * n)[alike], per_area])
    T = turned_stiffness(C, turned)[1]
    recovery = np.linalg.solve(np.swapaxes(T, 1, 2), found.recovery)
    tension = np.zeros((count, 1))
    if item.tension_only:
        # membrane strains are of the corners alone where drilling is weak
        points = found.points[..., : 5 if n == 4 else 3].reshape(count, found.points.shape[1], -1)
        Y, ratio = np.array([each.plane_constants for each in item.walls])[wall].T[:, :, None]
        stretch = (1.0 - COMPRESSION) * Y * found.point_areas
        tension = np.hstack([np.dstack([points, stretch]).reshape(count, -1), ratio])
    of_alike = found.stiffness, tension, recovery, flexibility, found.area, free, found.free[:, :2], turned
    return alike, (stretched, corners, mass), of_alike


class ShellBatch(Batch):
    """The quadrilaterals and the triangles of shells."""

    # docs/theory/shell.md, section 6
    largest_rotation, own_force, prestress_account = 0.6, False, ""

    def __init__(self, shells: list[Any], layout: Layout, model: ModelView) -> None:
        heating = [item for item in model.items() if isinstance(item, SurfaceLoad) and item.heats]
        of_shells = [layout.shells[item.name] for item in shells]
        counts = {4: sum(len(each.quads) for each in of_shells), 3: sum(len(each.triangles) for each in of_shells)}
        self.cells = [Cells(n, shells, layout) for n, count in counts.items() if count]
        self.names = [item.name for item in shells]
        self.pretensioned = any(item.pretension is not None and np.any(item.pretension) for item in shells)
        self.wrinkling = {item.name for item in shells if item.tension_only}
        self.fixed, self.gravity = layout.fixed, np.array(model.gravity)
        self.undamped = any(not np.all(cells.mass[:, -1]) for cells in self.cells)
        self.switches = any(cells.tension.size for cells in self.cells)
        self.damped = any(np.any(cells.mass[:, -1]) for cells in self.cells)
        self.own: list[Floats] | None = None
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in heating)
        # temperature and gradient (k, e, 2) of the elements by the inputs
        self.heated = [np.zeros((len(heating), len(cells.index), 2)) for cells in self.cells]
        meshes = {item.name: item.geometry for item in shells}
        for k, load in enumerate(heating):
            mesh = meshes[load.shell]
            for cells, given in zip(self.cells, self.heated, strict=True):
                corners = mesh.quads if cells.n == 4 else mesh.triangles
                given[k, cells.rows[load.shell]] = load.heat(mesh.nodes[corners].mean(axis=1))
        # strains without stress (k, g, m, LANES) by the inputs
        self.heats = [NO_HEATS] * len(self.cells)
        if heating:
            self.heats = [
                groups(np.einsum("kea,eam->kem", given, cells.heat[cells.alike]), 1)
                for given, cells in zip(self.heated, self.cells, strict=True)
            ]
        # what carries nodes of a shell: its path and the frame
        self._in_q: Ints = layout.frame_q
        self.interfaces = [
            (f"shells.{item.name}", frame)
            for item, entry in zip(shells, of_shells, strict=True)
            for own in [set(entry.own)]
            for frame in dict.fromkeys(entry.frames)
            if frame not in own
        ]

    def unfixed(self, n_q: int, n_v: int) -> Self:
        other = shallow_copy(self)
        other.cells = []
        for cells in self.cells:
            changed, n = shallow_copy(cells), cells.n
            changed.index = unfixed_frames(cells.index, n_q, n_v, list(range(n)), list(range(n, 2 * n)))
            other.cells.append(changed)
        return other

    # Heat

    def temperatures(self, u: Floats) -> list[Floats]:
        """(s, e, 2) temperature and gradient of each kind of cells, of inputs u (s, n_u)."""
        factors = u[:, self.first_input : self.first_input + len(self.inputs)]
        return [np.tensordot(factors, given, 1) for given in self.heated]

    # Forces, masses and derivatives

    def _kept(self, cells: Cells, heats: Floats, part: slice) -> tuple[Any, ...]:
        """The arrays that kernels keep of a range of the elements with n corners."""
        of_groups = groups_of(part)
        heats = np.ascontiguousarray(heats[:, of_groups]) if heats.size else heats
        arrays = cells.index[part], cells.kind[of_groups], *cells.shared, heats
        return (kernels.Elements._make((*arrays, self.first_input, self.fixed, self.gravity)),)

    def _terms(self) -> Iterator[tuple[Cells, Callable[[slice], tuple[Any, ...]], tuple[Any, ...]]]:
        """Each kind of cells, with what kernels keep of a range, and of all of them."""
        for cells, heats in zip(self.cells, self.heats, strict=True):
            kept = partial(self._kept, cells, heats)
            yield cells, kept, kept(slice(0, len(cells.index)))

    def forces(self) -> list[Force]:
        damping = ForcePart.WORK if self.damped else ForcePart.ELASTIC
        # the power of what the heating changes is work of the inputs
        parts = ForcePart.INERTIA, ForcePart.ELASTIC, damping, *([ForcePart.WORK] if self.inputs else [])
        return [
            Force(
                kernels.forces,
                whole,
                "uqva",
                parts=parts,
                ranges=Ranges(kept, cells.index[:, cells.n :], cells.sizes, LANES),
                slow=True,
            )
            for cells, kept, whole in self._terms()
        ]

    def masses(self) -> list[MassMatrix]:
        return [
            MassMatrix(
                tangents.add_masses,
                (cells.index, cells.kind, *cells.shared[2:4], self.fixed),
                cells.starts,
                cells.sizes,
            )
            for cells in self.cells
        ]

    def tangents(self) -> list[Tangent]:
        own = [np.full((len(cells.index), cells.strains), np.nan) for cells in self.cells]
        own = own if self.own is None else self.own
        terms = []
        for (cells, _, whole), strains in zip(self._terms(), own, strict=True):
            kept = *whole, groups(strains)
            terms += [
                Tangent(tangents.tangents, (*kept, False), cells.starts, "uqva", "mdk", exact=False),
                Tangent(tangents.tangents, (*kept, True), cells.starts, "uqva", "ddk", step=False),
            ]
        return terms

    def energies(self) -> list[Energy]:
        return [Energy(kernels.energy_momentum, whole) for _, _, whole in self._terms()]

    def mass_changes(self, q: Floats) -> list[tuple[Ints, Floats]]:
        # the exact tangent at rest without stiffness and gravity, where the residual is M a
        found, other = [], weighed(self, np.zeros(3))
        other.heats, other.own = [NO_HEATS], None
        for cells in self.cells:
            alone, private = cells.alone()
            other.cells = [alone]
            change = partial(Evaluation([other], private).tangent, np.zeros(0), q)
            found.append((private.indices, private.by_columns(change)))
        return found

    # Strains of Newton's iteration

    def _strains(self, q: Floats, x: Floats) -> list[Floats]:
        """(s, e, m) strains of each kind of cells at s states, changed to first order by x (s, n_v)."""
        found = []
        for cells in self.cells:
            out = np.empty((len(q), -(-len(cells.index) // LANES), cells.strains, LANES))
            shape, corners = cells.shared[1:3]
            kernels.changed_strains(cells.index, cells.kind, shape, corners, q, self.fixed, x, out)
            found.append(ungrouped(out, len(cells.index)))
        return found

    def own_strains(self, u: Floats, q: Floats, x: Floats, own: Floats | None = None) -> Floats:
        return np.concatenate([strains.ravel() for strains in self._strains(q[None], x[None])])

    def strained(self, q: Floats, own: Floats) -> Self:
        other, first = shallow_copy(self), 0
        other.own = []
        for cells in self.cells:
            size = len(cells.index) * cells.strains
            other.own.append(own[first : first + size].reshape(-1, cells.strains))
            first += size
        return other

    def stress_stiffness(self, q: Floats, fields: Floats) -> Iterator[tuple[Ints, Floats]]:
        """Velocities (c, g), -1 if fixed, and stress stiffness (c, g, f, g) of the elements in portions, at a state q
        (n_q,) with the stresses of displacements (f, n_v): equations (13) and (14) of docs/theory/shell.md."""
        count, states = len(fields), np.broadcast_to(q, (len(fields) + 1, len(q)))
        moved = np.vstack([fields, np.zeros(fields.shape[1])])
        for cells in self.cells:
            stiff, shape, corners = cells.shared[:3]
            size = 6 * cells.n
            for start in range(0, len(cells.index), PORTION):
                part = slice(start, min(start + PORTION, len(cells.index)))
                index, kind = cells.index[part], cells.kind[groups_of(part)]
                strains = np.empty((count + 1, len(kind), cells.strains, LANES))
                kernels.changed_strains(index, kind, shape, corners, states, self.fixed, moved, strains)
                strains = strains[:count] - strains[count]
                found = np.empty((len(index), size, count, size))
                tangents.stress_stiffness(index, kind, stiff, shape, corners, q[None], self.fixed, strains, found)
                first = np.repeat(index[:, cells.n :], 6, axis=1)
                yield np.where(first >= 0, first + np.tile(np.arange(6), cells.n), -1), found

    def unstrained(self, u: Floats, q: Floats) -> Self | None:
        own, far = self.own_strains(u, q, np.zeros(self._n_v)), float(np.max(np.abs(q)))
        rounding = []
        for cells in self.cells:
            size = np.sqrt(cells.area[cells.alike])[:, None]
            rounding.append(np.broadcast_to(size * (size + far) + far, (len(size), cells.strains)).ravel())
        small = np.abs(own) <= ROUNDINGS * np.finfo(float).eps * np.concatenate(rounding)
        return self.strained(q, np.zeros_like(own)) if np.all(small) else None

    @property
    def _n_v(self) -> int:
        return 6 + max(int(cells.index[:, cells.n :].max(initial=-6)) for cells in self.cells)

    # Results

    def prestress_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        if not self.inputs:
            return
        strains = self._strains(q, np.zeros((len(q), self._n_v)))
        for t, cells, e in zip(self.temperatures(u), self.cells, strains, strict=True):
            free = np.einsum("sea,eam->sem", t, cells.heat[cells.alike])
            out += np.einsum("sem,emk,sek->s", 0.5 * free - e, cells.stiffness[cells.alike], free, optimize=True)
            out += np.sum(cells.wrinkled(e - free)[0] - cells.wrinkled(e)[0], axis=1)

    def resultants(self, u: Floats, q: Floats, v: Floats) -> list[tuple[Floats, Floats, Floats]]:
        """N, M and Q (s, e, 8) in the middles of each kind of cells at s states, with those of the damping; strains and
        curvatures (s, e, 6); and states of wrinkling (s, e)."""
        found, still = [], np.zeros(v.shape)
        rates = self._strains(q, v) if self.damped else None
        for k, (cells, t, strains) in enumerate(
            zip(self.cells, self.temperatures(u), self._strains(q, still), strict=True)
        ):
            elastic = strains - np.einsum("sea,eam->sem", t, cells.heat[cells.alike])
            wrinkles, state = cells.wrinkled(elastic)[1:]
            if rates is not None:
                elastic += cells.mass[:, -1:] * (rates[k] - strains)
            loads = np.einsum("eik,sek->sei", cells.recovery[cells.alike], elastic)
            free = cells.free[cells.alike]
            free = free[:, 2] + np.einsum("sea,eai->sei", t, free[:, :2])
            changes = np.einsum("eij,sej->sei", cells.flexibility[cells.alike], loads[..., :6]) + free
            loads[..., :3] += wrinkles
            found.append((loads, changes, state))
        return found

    def interface_forces(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, k, 6) force (N, inertial axes) and torque (N m, axes of the frame, about its origin) on the frames of
        ``interfaces``, which carry nodes, fixed ones too, in s states with accelerations."""
        found = np.zeros((len(q), len(self.interfaces), 6))
        unused, u = np.zeros(v.shape), np.zeros((len(q), 0))
        for cells in self.cells:
            rows = np.empty((len(cells.index), len(q), 6 * cells.n))
            kept = self._kept(cells, NO_HEATS, slice(0, len(cells.index)))
            kernels.forces(*kept, u, q, v, a, np.ones(3), unused, rows)
            each = rows.reshape(*rows.shape[:2], cells.n, 6)
            for k, (path, frame) in enumerate(self.interfaces):
                part = cells.rows[path.partition(".")[2]]
                element, corner = np.nonzero(cells.index[part, : cells.n] == self._in_q[frame])
                found[:, k] -= each[part][element, :, corner].sum(axis=0)
        return found

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Resultants and strains in the middles of the elements of every shell, and the heat of those that have any."""
        found = self.resultants(frames.u, frames.q, frames.v)
        heat = self.temperatures(frames.u)
        block = load_factors(self, frames)
        for name in self.names:
            parts = [cells.rows[name] for cells in self.cells]
            loads, changes, states = (
                np.concatenate([each[k][:, rows] for each, rows in zip(found, parts, strict=True)], axis=1)
                for k in range(3)
            )
            path = f"shells/{name}"
            block[f"{path}/membrane_force"], block[f"{path}/bending_moment"] = loads[..., :3], loads[..., 3:6]
            block[f"{path}/shear_force"] = loads[..., 6:]
            block[f"{path}/membrane_strain"], block[f"{path}/curvature"] = changes[..., :3], changes[..., 3:]
            if any(given[:, rows].any() for given, rows in zip(self.heated, parts, strict=True)):
                both = np.concatenate([each[:, rows] for each, rows in zip(heat, parts, strict=True)], axis=1)
                block[f"{path}/temperature"], block[f"{path}/temperature_gradient"] = both[..., 0], both[..., 1]
            if name in self.wrinkling:
                block[f"{path}/wrinkling"] = states
        return block
