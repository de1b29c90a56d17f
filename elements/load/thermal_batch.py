"""Thermal loads, evaluated together."""

from typing import Annotated, Any, TypeAlias

import numpy as np

from femb.base.types import Floats
from femb.elements.beam.ends import element_shape
from femb.elements.beam.force import inner_stiffness, inner_strains, relax, stress_force
from femb.elements.beam.shape import uniform_shape
from femb.elements.beam.strain import (
    LENGTH,
    REFERENCE,
    SOURCE,
    STIFFNESS,
    WEIGHTS,
    end_states,
    helix,
    natural_coordinates,
    strains,
)
from femb.elements.beam.tangent_strain import add_strain_hessian, elastic_stiffness, inner_gradients
from femb.elements.load.line_load_batch import (
    M8,
    STRAIN,
    V8,
    V13,
    AlongBeams,
    LoadedEnds,
    NaturalShape,
    Vector8,
    add_end_forces,
    add_section_forces,
    first_own,
    moved,
    natural_forces,
    natural_shape,
    on_frames,
    scatter_changes,
    second_own,
    shape_of,
    strained_end,
)
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.terms import Force, Tangent
from femb.layout.views import ModelView
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import matrix, vector
from femb.numerics.compiler.traced import M3, V3, V4, traced
from femb.numerics.rotations import rotate_back
from femb.numerics.vector3 import only_changes

# Kernels over heated beam elements: the stress depends on the strain minus the thermal strain.
#
# A free element that is heated has another reference shape: longer by the axial thermal strain and with additional
# curvature and twist. The thermal strain is the difference of the element's strains between the heated and the unheated
# reference shape, so that free heating causes no stress, to rounding, for any length of the elements.
#
# index, ends, data : arrays of ``femb.elements.beam.strain``, with the GROUP of an element as the last column of index.
# shapes, shares, first : of ``thermal_strains``.
# Source: docs/theory/beam_loads.md, equations (1) to (5).

UNHEATED_LENGTH, UNHEATED_CURVATURE, CHORD_OFFSET, SOURCE_FORM = 0, 1, 4, 7
GROUP = 8
Matrix8: TypeAlias = Annotated[Any, (8, 8)]


@inlined
def thermal_strains(index, shapes, shares, first, u, out):
    """Set out (s, g, 3, 4): thermal strains at the strain points of the groups.

    shapes (g, 8) : UNHEATED_LENGTH, UNHEATED_CURVATURE (3), CHORD_OFFSET (3), the
    chord of the unheated element minus that of the helix of its mean curvature, and SOURCE_FORM of the strains.
    shares (l, g, 4) : axial strain, twist and curvatures (1/m) of free heated elements by the inputs from ``first`` on.
    Returns -1, or the number of an element whose group is folded.
    """
    Q, work, X = np.empty((3, 3)), np.empty((3, 3)), np.empty(8)
    small, free = np.zeros((3, 3)), np.empty(4)
    zero, d, rotation = small[0], small[1], small[2]
    axes = np.eye(3)
    psi, psi_X, e, E = np.empty(4), np.empty((4, 8)), np.empty((3, 4)), np.empty((3, 4, 8))
    for g in range(shapes.shape[0]):
        length, source = shapes[g, UNHEATED_LENGTH], shapes[g, SOURCE_FORM] != 0.0
        for s in range(u.shape[0]):
            for part in range(2):
                # heated minus unheated
                for i in range(4):
                    free[i] = 0.0
                    if part == 0:
                        for m in range(shares.shape[0]):
                            free[i] += u[s, first + m] * shares[m, g, i]
                eps = free[0]
                for i in range(3):
                    rotation[i] = length * (shapes[g, UNHEATED_CURVATURE + i] + free[1 + i])
                helix(rotation, length * (1.0 + eps), d, Q)
                for i in range(3):
                    d[i] += (1.0 + eps) * shapes[g, CHORD_OFFSET + i]
                natural_coordinates(zero, axes, eps, d, Q, eps, length, work, X)
                if not strains(X, length, source, psi, psi_X, e, E):
                    for k in range(index.shape[0]):
                        if index[k, GROUP] == g:
                            return k
                for i in range(3):
                    for j in range(4):
                        if part == 0:
                            out[s, g, i, j] = e[i, j]
                        else:
                            out[s, g, i, j] -= e[i, j]
    return -1


@inlined
def thermal_force(data, thermal, e, c, E, own, n):
    """n (8,): force on the natural coordinates by strains e (3, 4) minus the thermal strains, less that by e alone.

    The difference is linear in the thermal strains but for the inner twist. c (2, 3, 4), own (8,) : work arrays.
    """
    inner_strains(e, data[LENGTH], c[0])
    stiffness = inner_stiffness(data, c[0], c[1])
    for i in range(3):
        for j in range(4):
            e[i, j] -= data[REFERENCE + 4 * i + j]
    twist = relax(c[0], c[1], stiffness, e)
    stress_force(data, e, twist, E, own)
    for i in range(3):
        for j in range(4):
            e[i, j] -= thermal[i, j]
    twist += relax(c[0], c[1], stiffness, e)
    stress_force(data, e, twist, E, n)
    for m in range(8):
        n[m] -= own[m]


@traced
def strain_forces(shape: NaturalShape, n: Vector8) -> Any:
    """Forces (4, 3) on the four vectors, and moments on both ends, of n (8,) on the natural coordinates."""
    none = vector(0.0, 0.0, 0.0)
    return natural_forces.run(shape, matrix(none, none, none, none), n, none)


@traced
def on_ends(ends: LoadedEnds, shape: NaturalShape, n: Vector8) -> Any:
    """Force, torque and force on the strain (7,) of both ends, of n (8,) on the natural coordinates."""
    return on_frames.run(ends, *strain_forces.run(shape, n))


@traced
def by_stiffness(ends: LoadedEnds, shape: NaturalShape, G: Matrix8) -> Any:
    """The changes of ``on_ends`` by those of the natural coordinates, with the stiffness G."""
    return on_ends.run(ends, shape, G @ only_changes(shape.X))


@kernel_with_entry
def forces(index, ends, data, shapes, shares, first, fixed, section, u, q, out):
    """out (s, n_v) += the residual force; section (s, n, 2, 6), unless of length 0, its section forces.

    Returns -1, or the number of a folded element.
    """
    states, R, small, X = np.zeros((2, 11)), np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8)
    n, own, f, c = np.empty(8), np.empty(8), np.empty((2, 7)), np.empty((2, 3, 4))
    psi, psi_X, e, E = np.empty(4), np.empty((4, 8)), np.empty((3, 4)), np.empty((3, 4, 8))
    thermal = np.empty((q.shape[0], shapes.shape[0], 3, 4))
    folded = thermal_strains(index, shapes, shares, first, u, thermal)
    if folded >= 0:
        return folded
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            end_states(index[k], q[s], fixed, states)
            element_shape(states, ends[k], data[k, LENGTH], R, small, X)
            if not strains(X, data[k, LENGTH], data[k, SOURCE] != 0.0, psi, psi_X, e, E):
                return k
            thermal_force(data[k], thermal[s, index[k, GROUP]], e, c, E, own, n)
            one = strained_end(M3(R[0]), V4(states[0, STRAIN:]), V13(ends[k, 0]), data[k, LENGTH])
            two = strained_end(M3(R[2]), V4(states[1, STRAIN:]), V13(ends[k, 1]), data[k, LENGTH])
            F, moments = strain_forces(shape_of(R, small, X), V8(n))
            add_end_forces(index[k], (one, two), F, moments, f, out[s])
            if section.shape[0] > 0:
                add_section_forces((one, two), F, moments, section[s, k])
    return -1


@inlined
def elastic_energy(data, e):
    """Energy of the strains e (3, 4) of an element."""
    energy = 0.0
    for i in range(3):
        for j in range(4):
            for o in range(4):
                energy += 0.5 * WEIGHTS[i] * data[LENGTH] * e[i, j] * data[STIFFNESS + 4 * j + o] * e[i, o]
    return energy


@kernel
def prestress_energy(index, ends, data, shapes, shares, first, fixed, u, q, out):
    """out (s,) += elastic energy of the strain minus the thermal strain, minus that of the strain; equation (5)."""
    states = np.empty((2, 8))
    R, small, X, c = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8), np.empty((2, 3, 4))
    psi, psi_X, e, E = np.empty(4), np.empty((4, 8)), np.empty((3, 4)), np.empty((3, 4, 8))
    thermal = np.empty((q.shape[0], shapes.shape[0], 3, 4))
    folded = thermal_strains(index, shapes, shares, first, u, thermal)
    if folded >= 0:
        return folded
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            end_states(index[k], q[s], fixed, states)
            element_shape(states, ends[k], data[k, LENGTH], R, small, X)
            if not strains(X, data[k, LENGTH], data[k, SOURCE] != 0.0, psi, psi_X, e, E):
                return k
            inner_strains(e, data[k, LENGTH], c[0])
            stiffness = inner_stiffness(data[k], c[0], c[1])
            e -= data[k, REFERENCE:].reshape(3, 4)
            relax(c[0], c[1], stiffness, e)
            out[s] -= elastic_energy(data[k], e)
            e -= thermal[s, index[k, GROUP]]
            relax(c[0], c[1], stiffness, e)
            out[s] += elastic_energy(data[k], e)
    return -1


@kernel_with_entry
def iteration_tangent(index, ends, data, shapes, shares, first, fixed, offset, stride, u, q, out):
    """Add the change of the residual force with the motion of the ends to block data (s, size).

    It omits the second derivatives of the strains, as the iteration tangent of the beam does.
    """
    states, R, small, X = np.zeros((2, 11)), np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8)
    n, own, c, changes, K = np.empty(8), np.empty(8), np.empty((2, 3, 4)), np.empty((14, 12)), np.empty((14, 14))
    psi, psi_X, e, E = np.empty(4), np.empty((4, 8)), np.empty((3, 4)), np.empty((3, 4, 8))
    thermal = np.empty((q.shape[0], shapes.shape[0], 3, 4))
    folded = thermal_strains(index, shapes, shares, first, u, thermal)
    if folded >= 0:
        return folded
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            end_states(index[k], q[s], fixed, states)
            element_shape(states, ends[k], data[k, LENGTH], R, small, X)
            if not strains(X, data[k, LENGTH], data[k, SOURCE] != 0.0, psi, psi_X, e, E):
                return k
            thermal_force(data[k], thermal[s, index[k, GROUP]], e, c, E, own, n)
            one = strained_end(M3(R[0]), first_own(V4(states[0, STRAIN:])), V13(ends[k, 0]), data[k, LENGTH])
            two = strained_end(M3(R[2]), second_own(V4(states[1, STRAIN:])), V13(ends[k, 1]), data[k, LENGTH])
            both, between = (one, two), moved(V3(states[1]) - V3(states[0]))
            on_one, on_two = on_ends(both, natural_shape(both, between, X[7]), V8(n))
            scatter_changes(on_one, on_two, changes, K, offset[k], stride[k], out[s])
    return -1


@kernel
def strain_tangent(index, ends, data, shapes, shares, first, fixed, offset, stride, u, q, out):
    """Add the rest of the exact tangent: ``elastic_stiffness`` with the thermal strains minus that without."""
    states, R, small, X = np.zeros((2, 11)), np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8)
    psi, psi_X, e, E = np.empty(4), np.empty((4, 8)), np.empty((3, 4)), np.empty((3, 4, 8))
    c, changes, K = np.empty((2, 3, 4)), np.empty((14, 12)), np.empty((14, 14))
    G, w, rows, turns = np.empty((8, 8)), np.empty((3, 4)), np.empty((24, 8)), np.empty(4)
    turned_E, T, z = np.empty((3, 4, 8)), np.empty((3, 2, 8)), np.empty(8)
    thermal = np.empty((q.shape[0], shapes.shape[0], 3, 4))
    folded = thermal_strains(index, shapes, shares, first, u, thermal)
    if folded >= 0:
        return folded
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length = data[k, LENGTH]
            end_states(index[k], q[s], fixed, states)
            element_shape(states, ends[k], length, R, small, X)
            if not strains(X, length, data[k, SOURCE] != 0.0, psi, psi_X, e, E):
                return k
            inner_strains(e, length, c[0])
            stiffness = inner_stiffness(data[k], c[0], c[1])
            e -= data[k, REFERENCE:].reshape(3, 4)
            twist = 0.0
            G[:] = 0.0
            w[:] = 0.0
            for sign in (-1.0, 1.0):
                twist += relax(c[0], c[1], stiffness, e)
                turned_E[:] = E
                inner_gradients(data[k], e, twist, c[1], stiffness, turned_E, T, z)
                elastic_stiffness(data[k], e, twist, stiffness, turned_E, z, sign, rows, w, G)
                e -= thermal[s, index[k, GROUP]]
            add_strain_hessian(X, length, data[k, SOURCE] != 0.0, psi, psi_X, w, turns, rows, G)
            one = strained_end(M3(R[0]), first_own(V4(states[0, STRAIN:])), V13(ends[k, 0]), length)
            two = strained_end(M3(R[2]), second_own(V4(states[1, STRAIN:])), V13(ends[k, 1]), length)
            both, between = (one, two), moved(V3(states[1]) - V3(states[0]))
            on_one, on_two = by_stiffness(both, natural_shape(both, between, X[7]), M8(G))
            scatter_changes(on_one, on_two, changes, K, offset[k], stride[k], out[s])
    return -1


class ThermalBatch(AlongBeams):
    """The elements of all heated beams; one input per load.

    Elements of one beam with the same reference shape form a group with common thermal strains.
    """

    prestress_account = ""

    def __init__(self, loads: list[Any], layout: Layout, model: ModelView) -> None:
        super().__init__([load.beam for load in loads], layout, model)
        self.inputs = tuple(Input.of_profile(load.profile, f"loads.{load.name}") for load in loads)
        groups: dict[tuple[Any, ...], int] = {}
        group: list[int] = []
        rows: list[int] = []
        shapes: list[tuple[Floats, Floats]] = []
        for name, elements in self.slices.items():
            for k in range(elements.start, elements.stop):
                length = float(self.data[k, LENGTH])
                curvature, offset = _shape(model.beams[name].shape, k - elements.start, length)
                key = (name, *np.round(np.concatenate([[length], curvature * length, offset]), 13))
                group.append(groups.setdefault(key, len(groups)))
                if group[-1] == len(rows):
                    rows.append(k)
                    shapes.append((curvature, offset))
        self.index = np.column_stack([self.index, np.array(group, dtype=np.int64)])
        columns = zip(*shapes, strict=True)
        lengths, source = self.data[rows, LENGTH], self.data[rows, SOURCE]
        self.shapes: Floats = np.ascontiguousarray(np.column_stack([lengths, *map(np.array, columns), source]))
        # free strain of every group per load, (loads, groups, 4)
        self._shares: Floats = np.zeros((len(loads), len(rows), 4))
        for i, load in enumerate(loads):
            share = load.free_strain(model.section_of(model.beams[load.beam]).expansion)
            for (name, *_), g in groups.items():
                if name == load.beam:
                    self._shares[i, g] = share

    @property
    def _rows(self) -> tuple[Any, ...]:
        heat = self.shapes, self._shares, self.first_input
        return self.index, self.ends, self.data, *heat, self.fixed

    def force(self, section: Floats) -> Force:
        return Force(forces, (*self._rows, section), "uq", check=self.check)

    def tangents(self) -> list[Tangent]:
        return [
            Tangent(iteration_tangent, self._rows, self.starts, "uq", "k", check=self.check),
            Tangent(strain_tangent, self._rows, self.starts, "uq", "k", step=False, check=self.check),
        ]

    def prestress_energy(self, u: Floats, q: Floats, out: Floats) -> None:
        self.check(prestress_energy(*self._rows, u, q, out))


def _shape(shape: Any, k: int, length: float) -> tuple[Floats, Floats]:
    """Mean curvature (3,) of an element, and its chord (3,) minus that of the helix of this curvature."""
    curvature = shape.curvature(k)
    (start, axes), (end, _) = shape.element(k)
    helix = uniform_shape(length, 1, curvature).positions[-1]
    return curvature, rotate_back(axes, end - start) - helix
