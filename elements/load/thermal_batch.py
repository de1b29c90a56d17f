"""Thermal loads, evaluated together."""

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from femb.base.types import Floats
from femb.elements.beam.force import inner_stiffness, inner_strains, relax, stress_force
from femb.elements.beam.shape import uniform_shape
from femb.elements.beam.strain import LENGTH, REFERENCE, SOURCE, STIFFNESS, WEIGHTS, helix, natural_coordinates, strains
from femb.elements.beam.tangent_strain import add_strain_hessian, elastic_stiffness, inner_gradients
from femb.elements.load.line_load_batch import (
    M8,
    V8,
    AlongBeams,
    LoadedEnds,
    NaturalShape,
    PlacedElement,
    RowsAlongBeams,
    Vector8,
    add_end_forces,
    add_section_forces,
    natural_forces,
    on_frames,
    place_element,
    placed_ends,
    scatter_changes,
    varied_ends,
)
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.terms import Force, Tangent
from femb.layout.views import ModelView
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import matrix, vector
from femb.numerics.compiler.traced import traced
from femb.numerics.rotations import rotate_back
from femb.numerics.vector3 import only_changes

# Kernels over heated beam elements: the stress depends on the strain minus the thermal strain.
#
# A free element that is heated has another reference shape: longer by the axial thermal strain and with additional
# curvature and twist. The thermal strain is the difference of the element's strains between the heated and the unheated
# reference shape, so that free heating causes no stress, to rounding, for any length of the elements.
#
# The last column of the places of ``RowsAlongBeams`` is the GROUP of an element.
# Source: docs/theory/beam_loads.md, equations (1) to (5).

UNHEATED_LENGTH, UNHEATED_CURVATURE, CHORD_OFFSET, SOURCE_FORM = 0, 1, 4, 7
GROUP = 8
Matrix8: TypeAlias = Annotated[Any, (8, 8)]


class Heat(NamedTuple):
    """The g groups of elements alike under l loads.

    shapes (g, 8) : UNHEATED_LENGTH, UNHEATED_CURVATURE (3), CHORD_OFFSET (3), the
    chord of the unheated element minus that of the helix of its mean curvature, and SOURCE_FORM of the strains.
    shares (l, g, 4) : axial strain, twist and curvatures (1/m) of free heated elements by the inputs from ``first`` on.
    """

    shapes: Floats
    shares: Floats
    first: int


class StrainedElement(NamedTuple):
    """An element: its ``PlacedElement``; psi (4,), psi_X (4, 8), strains e (3, 4) and their gradient E (3, 4, 8), of
    ``strains``; inner (2, 3, 4), of ``inner_strains`` and ``inner_stiffness``."""

    at: PlacedElement
    psi: Any
    psi_X: Any
    e: Any
    E: Any
    inner: Any


@inlined
def thermal_strains(index, heat, u, out):
    """Set out (s, g, 3, 4): thermal strains at the strain points of the groups.

    Returns -1, or the number of an element whose group is folded.
    """
    shapes, shares, first = heat
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
def strain_element(k, of, q, element):
    """Set the ``StrainedElement`` of row k at q (n_q,), but for what is ``inner``; whether it is not folded."""
    place_element(k, of, q, element.at)
    length, source = of.data[k, LENGTH], of.data[k, SOURCE] != 0.0
    return strains(element.at.X, length, source, element.psi, element.psi_X, element.e, element.E)


@inlined
def unstrained(data, element):
    """Set what is ``inner``, and take the strains of the reference shape off; the stiffness of the inner twist."""
    inner_strains(element.e, data[LENGTH], element.inner[0])
    for i in range(3):
        for j in range(4):
            element.e[i, j] -= data[REFERENCE + 4 * i + j]
    return inner_stiffness(data, element.inner[0], element.inner[1])


@inlined
def thermal_force(data, thermal, element, own, n):
    """n (8,): force on the natural coordinates by strains minus the thermal strains (3, 4), less that by strains alone.

    The difference is linear in the thermal strains but for the inner twist. own (8,) : work.
    """
    e, E, c = element.e, element.E, element.inner
    stiffness = unstrained(data, element)
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
def forces(of, heat, section, u, q, out):
    """out (s, n_v) += the residual force; section (s, n, 2, 6), unless of length 0, its section forces.

    Returns -1, or the number of a folded element.
    """
    at = PlacedElement(np.zeros((2, 11)), np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8))
    e, E, c = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty((2, 3, 4))
    element, index, data = StrainedElement(at, np.empty(4), np.empty((4, 8)), e, E, c), of.places, of.data
    n, own, f = np.empty(8), np.empty(8), np.empty((2, 7))
    thermal = np.empty((q.shape[0], heat.shapes.shape[0], 3, 4))
    folded = thermal_strains(index, heat, u, thermal)
    if folded >= 0:
        return folded
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            if not strain_element(k, of, q[s], element):
                return k
            thermal_force(data[k], thermal[s, index[k, GROUP]], element, own, n)
            ends, shape = placed_ends(k, of, at)
            F, moments = strain_forces(shape, V8(n))
            add_end_forces(index[k], ends, F, moments, f, out[s])
            if section.shape[0] > 0:
                add_section_forces(ends, F, moments, section[s, k])
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
def prestress_energy(of, heat, u, q, out):
    """out (s,) += elastic energy of the strain minus the thermal strain, minus that of the strain; equation (5)."""
    at = PlacedElement(np.zeros((2, 11)), np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8))
    e, E, c = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty((2, 3, 4))
    element, index, data = StrainedElement(at, np.empty(4), np.empty((4, 8)), e, E, c), of.places, of.data
    thermal = np.empty((q.shape[0], heat.shapes.shape[0], 3, 4))
    folded = thermal_strains(index, heat, u, thermal)
    if folded >= 0:
        return folded
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            if not strain_element(k, of, q[s], element):
                return k
            stiffness = unstrained(data[k], element)
            relax(c[0], c[1], stiffness, e)
            out[s] -= elastic_energy(data[k], e)
            e -= thermal[s, index[k, GROUP]]
            relax(c[0], c[1], stiffness, e)
            out[s] += elastic_energy(data[k], e)
    return -1


@kernel_with_entry
def iteration_tangent(of, heat, offset, stride, u, q, out):
    """Add the change of the residual force with the motion of the ends to block data (s, size).

    It omits the second derivatives of the strains, as the iteration tangent of the beam does.
    """
    at = PlacedElement(np.zeros((2, 11)), np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8))
    e, E, c = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty((2, 3, 4))
    element, index, data = StrainedElement(at, np.empty(4), np.empty((4, 8)), e, E, c), of.places, of.data
    n, own, changes = np.empty(8), np.empty(8), np.empty((14, 12))
    thermal, K = np.empty((q.shape[0], heat.shapes.shape[0], 3, 4)), np.empty((14, 14))
    folded = thermal_strains(index, heat, u, thermal)
    if folded >= 0:
        return folded
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            if not strain_element(k, of, q[s], element):
                return k
            thermal_force(data[k], thermal[s, index[k, GROUP]], element, own, n)
            ends, shape = varied_ends(k, of, at)
            on_one, on_two = on_ends(ends, shape, V8(n))
            scatter_changes(on_one, on_two, changes, K, offset[k], stride[k], out[s])
    return -1


@kernel
def strain_tangent(of, heat, offset, stride, u, q, out):
    """Add the rest of the exact tangent: ``elastic_stiffness`` with the thermal strains minus that without."""
    at = PlacedElement(np.zeros((2, 11)), np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8))
    e, E, c = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty((2, 3, 4))
    psi, psi_X, X, index, data = np.empty(4), np.empty((4, 8)), at.X, of.places, of.data
    element, changes, K = StrainedElement(at, psi, psi_X, e, E, c), np.empty((14, 12)), np.empty((14, 14))
    G, w, rows, turns = np.empty((8, 8)), np.empty((3, 4)), np.empty((24, 8)), np.empty(4)
    turned_E, T, z = np.empty((3, 4, 8)), np.empty((3, 2, 8)), np.empty(8)
    thermal = np.empty((q.shape[0], heat.shapes.shape[0], 3, 4))
    folded = thermal_strains(index, heat, u, thermal)
    if folded >= 0:
        return folded
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            if not strain_element(k, of, q[s], element):
                return k
            row = data[k]
            stiffness, twist = unstrained(row, element), 0.0
            G[:] = 0.0
            w[:] = 0.0
            for sign in (-1.0, 1.0):
                twist += relax(c[0], c[1], stiffness, e)
                turned_E[:] = E
                inner_gradients(row, e, twist, c[1], stiffness, turned_E, T, z)
                elastic_stiffness(row, e, (twist, stiffness, z), turned_E, sign, rows, w, G)
                e -= thermal[s, index[k, GROUP]]
            add_strain_hessian(X, row[LENGTH], row[SOURCE] != 0.0, (psi, psi_X), w, turns, rows, G)
            ends, shape = varied_ends(k, of, at)
            on_one, on_two = by_stiffness(ends, shape, M8(G))
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
    def _rows(self) -> tuple[RowsAlongBeams, Heat]:
        return self.rows, Heat(self.shapes, self._shares, self.first_input)

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
