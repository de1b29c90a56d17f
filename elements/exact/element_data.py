"""Rows of parameters of exact beam elements, from sections and the undeformed shape.

Source: docs/theory/exact_beam.md, sections 3, 4 and 9.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.base.values import Keeper
from femb.elements.beam.ends import AXES, OFFSET, QUATERNION
from femb.elements.beam.section import UNSHEARED, Section
from femb.elements.beam.shape import BeamShape
from femb.elements.beam.taper import is_taper, section_between
from femb.elements.exact.mean_rotation import helix_map
from femb.layout.views import ModelView
from femb.numerics import rotations

# Columns of the array arguments of the kernels over exact beam elements.
#
# The parameters of an element are rows of three arrays:
#
#     index (n, 4) int    index of both frames in q, of both frames in v; a negative frame index i means row -1-i of
#                         ``fixed`` in q and a fixed frame in v
#     ends (n, 2, 17)     per end: 1 if it has an offset or a rotation, offset (3) in the frame, section axes (9) in it,
#                         their quaternion (4)
#     data (n, 207)       length, damping, reference coordinates d0 (6), compliances Fm (36), Fq (36) and G (36),
#                         points y (4 x 3), k, c and c1 of both ends (6 x 3) and inertias J11, J12, J22 (27) in frame
#                         axes, masses h (4 x 4) of the points; of a mass beside the axis the masses of three more
#                         vectors with the points and with themselves (3 x 5) and the products of these in the
#                         reference shape (3)
#     data (n, 315)       where a section has damping coefficients that differ: also Fm, Fq and G of the viscous
#                         compliance, for the elements whose damping is ``BY_DIRECTION``

LENGTH, DAMPING, REFERENCE, MEAN, QUADRATIC, SLOPE, POINTS, ROTARY, MASSES = 0, 1, 2, 8, 44, 80, 116, 146, 173
BESIDE, PRODUCTS = MASSES + 16, MASSES + 31
COLUMNS = PRODUCTS + 3
VISCOUS_MEAN, VISCOUS_QUADRATIC, VISCOUS_SLOPE = COLUMNS, COLUMNS + 36, COLUMNS + 72
ALL_COLUMNS = COLUMNS + 108
BY_DIRECTION = -1.0  # in place of the damping coefficient of an element


# Sections along a beam: one for all of it, or several at stations.
#
# Between two stations of one shape its sizes are linear in the length, and stiffness and mass follow from them;
# otherwise, as damping and expansion always, these are linear. Elements take their integrals.
# Source: docs/theory/exact_beam.md, sections 3, 4 and 9.

# Gauss points and weights of a piece of an element between two stations; compliances are rational functions there.
GAUSS, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(16)
# Parts of the way between two stations of one shape where its sections are computed, and from the values there to the
# coefficients of the polynomial through them: of solid sections it is exact, of walls to rounding.
TAPER = 0.5 - 0.5 * np.cos(np.pi * np.arange(17) / 16)
TO_CHEBYSHEV = np.linalg.inv(np.polynomial.chebyshev.chebvander(2.0 * TAPER - 1.0, 16))
# A station this close to a node, in lengths of the element, is at the node.
AT_NODE = 1e-9
# Change of the bending stiffness from which it matters that it is linear; pieces shorter than a part of the beam are
# jumps.
LINEAR_CHANGE, JUMP = 0.1, 0.01
# Elements whose properties and parameters are kept, by all that they depend on.
MOST_KEPT = 64
PROPERTIES: "Keeper[ElementProperties]" = Keeper(64)
ROWS: Keeper[Floats] = Keeper(16)
# Integrals from -1/2 to 1/2 of the powers.
OF_POWERS = np.array([1.0, 0.0, 1.0 / 12.0, 0.0, 1.0 / 80.0])


@dataclass(frozen=True, eq=False)
class Places:
    """Points for integrals over elements; those of an element follow each other.

    element (p,) : its number. s (p,) m from the start of the beam. eta (p,) : distance from the middle of the element,
    and weights (p,), in its length. first (e,) : the first point of every element.
    """

    element: Ints
    s: Floats
    eta: Floats
    weights: Floats
    first: Ints

    def moments(self, values: Floats, highest: int) -> Floats:
        """(e, highest + 1, ...) integrals of values (p, ...) at the points times the powers of eta."""
        each = (slice(None), *[None] * (values.ndim - 1))
        parts = [np.add.reduceat((self.weights * self.eta**k)[each] * values, self.first) for k in range(highest + 1)]
        return np.stack(parts, axis=1)


@dataclass(frozen=True, eq=False)
class Spanwise:
    """sections at stations (k,) m from the start of the beam, in ascending order."""

    stations: Floats
    sections: Sequence[Section]

    @property
    def uniform(self) -> bool:
        """Whether there is one section."""
        return len(self.sections) == 1

    def places(self, lengths: Floats) -> Places:
        """Points for integrals over elements of these lengths (e,), between whose nodes stations may be."""
        count, nodes = len(lengths), np.concatenate([[0.0], np.cumsum(lengths)])
        stations = self.stations[1:-1]
        owner = np.clip(np.searchsorted(nodes, stations) - 1, 0, count - 1)
        cut = (stations - nodes[owner]) / lengths[owner]
        inside = (cut > AT_NODE) & (cut < 1.0 - AT_NODE)
        element = np.concatenate([np.arange(count), owner[inside]])
        begin = np.concatenate([np.zeros(count), cut[inside]])
        order = np.lexsort((begin, element))
        element, begin = element[order], begin[order]
        last = np.append(element[1:] != element[:-1], True)
        end = np.where(last, 1.0, np.append(begin[1:], 1.0))
        size = 0.5 * (end - begin)[:, None]
        xi = (begin[:, None] + size * (1.0 + GAUSS)).ravel()
        first = np.searchsorted(element, np.arange(count)) * len(GAUSS)
        element = np.repeat(element, len(GAUSS))
        s, weights = nodes[element] + xi * lengths[element], (size * GAUSS_WEIGHTS).ravel()
        return Places(element, s, xi - 0.5, weights, first)

    def moments(self, values: Callable[[Floats], Floats], lengths: Floats, highest: int) -> Floats:
        """(e, highest + 1, ...) means over elements of lengths (e,) of ``values`` of the length s, such as ``mass``,
        times powers of the distance from the middle in lengths of the element."""
        if not self.uniform:
            places = self.places(lengths)
            return places.moments(values(places.s), highest)
        one = values(np.zeros(1))
        each = OF_POWERS[: highest + 1].reshape(-1, *[1] * (one.ndim - 1)) * one
        return np.broadcast_to(each, (len(lengths), *each.shape))

    def _between(self, s: float | Floats) -> tuple[Ints, Ints, Floats]:
        """The numbers (...) of the sections of the stations around s (...), and the part of the way between them."""
        s = np.asarray(s, dtype=float)
        if self.uniform:
            none = np.zeros(s.shape, dtype=np.int64)
            return none, none, np.zeros(s.shape)
        k: Ints = np.clip(np.searchsorted(self.stations, s) - 1, 0, len(self.sections) - 2)
        first, last = self.stations[k], self.stations[k + 1]
        return k, k + 1, np.asarray((s - first) / (last - first))

    @cached_property
    def _tapers(self) -> dict[int, list[Section]]:
        """The sections at ``TAPER`` behind the stations, by their number, from which the shape changes to the next."""
        return {
            k: [section_between(*pair, part) for part in TAPER.tolist()]
            for k, pair in enumerate(pairwise(self.sections))
            if pair[0] is not pair[1] and is_taper(*pair)
        }

    @property
    def shaped(self) -> bool:
        """Whether neighbours have shapes of one kind, which change linearly between them."""
        return all(one is two or is_taper(one, two) for one, two in pairwise(self.sections))

    def along(self, of: Callable[[Section], Any], s: float | Floats) -> Floats:
        """A property of the sections at lengths s (...) m from the start."""
        k, m, part = self._between(s)
        given = np.array([of(section) for section in self.sections])
        # in this order, that between equal sections is exact
        result = np.asarray(given[k] + part.reshape(*part.shape, *[1] * (given.ndim - 1)) * (given[m] - given[k]))
        for number, sections in self._tapers.items():
            rows = (k == number) & (m > k)
            powers = np.polynomial.chebyshev.chebvander(2.0 * part[rows] - 1.0, len(TAPER) - 1)
            result[rows] = np.tensordot(powers @ TO_CHEBYSHEV, [of(section) for section in sections], 1)
        return result

    def compliance(self, s: float | Floats) -> Floats:
        """(..., 6, 6) at lengths s (...) m from the start."""
        k, m, _ = self._between(s)
        result: Floats = np.array([section.compliance() for section in self.sections])[k]
        # that of one section is exact
        names = np.array([id(section) for section in self.sections])
        mixed = names[k] != names[m]
        if np.any(mixed):
            inner = np.asarray(s, dtype=float)[mixed]
            if self.sections[0].shears:
                result[mixed] = np.linalg.inv(self.along(lambda each: np.linalg.inv(each.compliance()), inner))
            else:
                unsheared = np.zeros((*inner.shape, 6, 6))
                rows, columns = np.ix_(UNSHEARED, UNSHEARED)
                unsheared[..., rows, columns] = np.linalg.inv(self.along(Section.stiffness, inner))
                result[mixed] = unsheared
        return result

    def mass(self, s: float | Floats) -> Floats:
        """(..., 6, 6) per length at lengths s (...) m from the start."""
        return self.along(Section.mass, s)

    @property
    def damped_by_direction(self) -> bool:
        """Whether the damping coefficients differ, between directions or along the beam."""
        return bool(np.ptp([_damping(section) for section in self.sections]) > 0.0)

    def damping(self, s: float | Floats) -> Floats:
        """(..., 6) coefficients of damping in proportion to the stiffness, s."""
        return self.along(_damping, s)

    def viscous_compliance(self, s: float | Floats) -> Floats:
        """(..., 6, 6) F V F by the compliance F and the damping matrix V = sqrt(d_i d_j) K_ij at lengths s: (13b)."""
        F, root = self.compliance(s), np.sqrt(self.damping(s))
        strains = list(range(6)) if self.sections[0].shears else UNSHEARED
        rows, columns = np.ix_(strains, strains)
        V = np.zeros(F.shape)
        stiffness = np.linalg.inv(F[..., rows, columns])
        V[..., rows, columns] = root[..., strains, None] * root[..., None, strains] * stiffness
        return np.asarray(F @ V @ F)

    def remark(self) -> str:
        """By how much bending changes most between stations without a common shape, where it is linear; or nothing."""
        found = []
        for k, (first, last) in enumerate(pairwise(self.sections)):
            a, b = (np.diag(each.stiffness())[2:] for each in (first, last))
            change, where = np.abs(b - a) / np.maximum(a, b), self.stations[k : k + 2]
            if np.ptp(where) > JUMP * self.stations[-1] and not is_taper(first, last):
                found += [
                    (float(x), *where, axis, min(p, q) / max(p, q))
                    for x, p, q, axis in zip(change, a, b, "yz", strict=True)
                ]
        if not found or max(found)[0] <= LINEAR_CHANGE:
            return ""
        change, start, end, axis, ratio = max(found)
        root = ratio**0.25
        # means of the compliance, of a stiffness that is linear and of one whose fourth root is
        more = (root**-3 - 1.0) / (3.0 * (1.0 - root)) / (np.log(ratio) / (ratio - 1.0)) - 1.0
        return (
            f"the bending stiffness about {axis} changes by {100.0 * change:.3g} % between the stations {start:.6g} "
            f"and {end:.6g} m, and is linear there; a solid taper, with linear sizes, bends {100.0 * more:.3g} % more "
            "under the same moment: give both sections a shape of one kind, or more stations"
        )

    def expansion(self, s: float | Floats) -> Floats:
        """(...) coefficients of thermal expansion, 1/K; nan where a section has none."""
        return self.along(lambda each: np.nan if each.expansion is None else each.expansion, s)


def _damping(section: Section) -> Floats:
    return np.broadcast_to(section.damping, 6)


# Axial strain, twist and curvatures among the six strains.
STRAINS = [0, 3, 4, 5]
# Slope of the interpolation of axial motion, twist and bending rotation along an element, in the differences of its
# ends, and the share of the mass that only sees shear and stretching: equations (22b) and (23b).
STRETCH, TWIST, BEND, REST = 1.3, np.sqrt(2.0), np.sqrt(3.0), 31.0 / 1200.0
# Functions of eta by its powers: N of the four vectors, n_s, and the bubble of a linear curvature.
ALONG = np.array([[0.5, -1.0, 0.0], [0.125, 0.0, -0.5], [0.5, 1.0, 0.0], [-0.125, 0.0, 0.5]])
SHEARED, BUBBLE = np.array([-1.0, -0.5, 1.0, -0.5]), np.array([[1.5, 0.0, -6.0]])


@dataclass(frozen=True, eq=False)
class ElementProperties:
    """The data from which the parameters of e elements are computed.

    lengths (e,) m. corners (e, 4) : rotation from the first node's section to the element's. reference (e, 6) : d0;
    changes (e, 6) : of the reference strain per length. compliance (e, 3, 6, 6), mass (e, 5, 6, 6) per length : means
    over the element, times powers of the distance from its middle in its length. damping (e,) s, BY_DIRECTION where
    there is a viscous compliance (e, 3, 6, 6); None if none has one. moments (e, 3) : first moments of mass of curved
    elements, of ``first_moments``.
    """

    lengths: Floats
    corners: Floats
    reference: Floats
    changes: Floats
    compliance: Floats
    damping: Floats
    viscous: Floats | None
    mass: Floats
    moments: Floats

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The elements of several beams."""
        if len(parts) == 1:
            return parts[0]
        words = ("lengths", "corners", "reference", "changes", "compliance", "damping", "mass", "moments")
        joined = {word: np.concatenate([getattr(part, word) for part in parts]) for word in words}
        viscous = None
        if any(part.viscous is not None for part in parts):
            none = [np.zeros(part.compliance.shape) for part in parts]
            given = zip(parts, none, strict=True)
            viscous = np.concatenate([zero if part.viscous is None else part.viscous for part, zero in given])
        return cls(**joined, viscous=viscous)


def natural_coordinates(first: tuple[Floats, Floats], last: tuple[Floats, Floats]) -> Floats:
    """d (..., 6) of sections II in the axes of sections I, each positions and quaternions: equations (3) to (6)."""
    theta = rotations.logarithm(rotations.multiply(rotations.conjugate(first[1]), last[1]))
    x = rotations.rotate_back(first[1], last[0] - first[0])
    angle = np.linalg.norm(theta, axis=-1)
    small = angle < 1e-3
    safe = np.where(small, 1.0, angle)
    k0 = np.where(small, 1.0 / 12.0 + angle**2 / 720.0, (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    tilde = rotations.cross_matrix(theta)
    P = np.eye(3) - 0.5 * tilde + k0[..., None, None] * (tilde @ tilde)
    return np.concatenate([_apply(P, x), theta], axis=-1)


def adjoint(a: Floats) -> Floats:
    """ad_a (..., 6, 6): equation (2)."""
    result = np.zeros((*a.shape[:-1], 6, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = rotations.cross_matrix(a[..., 3:])
    result[..., :3, 3:] = rotations.cross_matrix(a[..., :3])
    return result


def compliances(moments: Floats, changes: Floats, lengths: Floats) -> tuple[Floats, Floats, Floats]:
    """Fm, Fq and G (e, 6, 6) of the moments (e, 3, 6, 6) of compliances and changes (e, 6) of the reference strain per
    length: equation (10)."""
    P0 = _middle(changes, lengths)
    return P0 @ moments[:, 0] @ _transposed(P0), moments[:, 2], moments[:, 1]


def _middle(changes: Floats, lengths: Floats) -> Floats:
    """P0 (e, 6, 6) of equation (10)."""
    return np.asarray(np.eye(6) - (lengths**2 / 12.0)[:, None, None] * adjoint(changes))


def damped_by_direction(data: Floats) -> Floats:
    """Rows of parameters with viscous compliances in place of single coefficients of damping, where elements of both
    kinds are in one group."""
    rows, result = data[:, DAMPING] != BY_DIRECTION, data.copy()
    result[rows, VISCOUS_MEAN:] = data[rows, DAMPING, None] * data[rows, MEAN:POINTS]
    result[rows, DAMPING] = BY_DIRECTION
    return result


def damping_in_the_middle(data: Floats) -> Floats:
    """(e, 6, 6) stress of the damping per rate of stress, s, of elements in their reference shape: section 11.

    data : their rows of parameters.
    """
    result: Floats = data[:, DAMPING, None, None] * np.eye(6)
    rows = data[data[:, DAMPING] == BY_DIRECTION]
    if len(rows):
        ad, parts = adjoint(rows[:, REFERENCE : REFERENCE + 6]), []
        for at in (MEAN, VISCOUS_MEAN):
            mean, quadratic, slope = np.moveaxis(rows[:, at : at + 108].reshape(-1, 3, 6, 6), 1, 0)
            parts.append(mean + ad @ slope + (ad @ quadratic + slope) @ _transposed(ad))
        result[data[:, DAMPING] == BY_DIRECTION] = np.linalg.solve(*parts)
    return result


def reference_changes(shape: BeamShape) -> Floats:
    """(e, 6) change of the reference strain per length in every element, from its neighbours on a smooth line."""
    count = len(shape.lengths)
    result = np.zeros((count, 6))
    if shape.straight:
        return result
    element = np.arange(count)
    curvatures = shape.curvature(element)
    middles = np.cumsum(shape.lengths) - 0.5 * shape.lengths
    corners = shape.corner_nodes
    # between an element and the one before it: neither the start nor a corner
    smooth = np.array([0 < k < count and k not in corners for k in range(count + 1)])
    before, after = element - smooth[:-1], element + smooth[1:]
    inner = after > before
    before, after = before[inner], after[inner]
    result[inner, 3:] = (curvatures[after] - curvatures[before]) / (middles[after] - middles[before])[:, None]
    return result


def element_rows(elements: ElementProperties, ends: Floats) -> Floats:
    """The parameters (e, 207 or 315) of elements, from their properties and the rows (e, 2, 17) of their ends; those of
    a few elements are kept, for models of a study whose beams are alike."""
    if len(ends) > MOST_KEPT:
        return _element_rows(elements, ends)
    given = (*(getattr(elements, each.name) for each in fields(elements)), ends)
    key = tuple(None if each is None else each.tobytes() for each in given)
    return ROWS.get(key, lambda: _element_rows(elements, ends)).copy()


def _element_rows(elements: ElementProperties, ends: Floats) -> Floats:
    lengths, reference = elements.lengths, elements.reference
    count = len(lengths)
    rows = np.zeros((count, COLUMNS if elements.viscous is None else ALL_COLUMNS))
    rows[:, LENGTH], rows[:, DAMPING] = lengths, elements.damping
    rows[:, REFERENCE : REFERENCE + 6] = reference
    found = compliances(elements.compliance, elements.changes, lengths)
    rows[:, MEAN : MEAN + 108] = np.stack(found, axis=1).reshape(count, 108)
    if elements.viscous is not None:
        P0 = _middle(elements.changes, lengths)[:, None]
        found = compliances(P0 @ elements.viscous @ _transposed(P0), np.zeros_like(elements.changes), lengths)
        rows[:, VISCOUS_MEAN:] = np.stack(found, axis=1).reshape(count, 108)
    h, points, inertias = inertia(elements)
    C = ends[:, :, AXES:QUATERNION].reshape(count, 2, 3, 3)
    beside = mass_beside(elements, points)
    for at, vectors, offset in ((POINTS, points, ends[:, :, OFFSET:AXES]), (POINTS + 12, beside[0], 0.0)):
        placed = np.einsum("enij,enkj->enki", C, vectors)
        placed[:, :, 0] += offset
        rows[:, at : at + placed[0].size] = placed.reshape(count, -1)
    rows[:, BESIDE:PRODUCTS], rows[:, PRODUCTS:COLUMNS] = beside[1].reshape(count, 15), beside[2]
    C1, C2 = C[:, 0], C[:, 1]
    turned = [A @ J @ _transposed(B) for A, J, B in zip((C1, C1, C2), inertias, (C1, C2, C2), strict=True)]
    rows[:, ROTARY : ROTARY + 27] = np.stack(turned, axis=1).reshape(count, 27)
    rows[:, MASSES : MASSES + 16] = h.reshape(count, 16)
    return rows


def inertia(elements: ElementProperties) -> tuple[Floats, Floats, tuple[Floats, Floats, Floats]]:
    """The inertia of elements: h (e, 4, 4) kg of their four vectors, these (e, 2, 2, 3) m in the axes of the sections
    at both ends, and J11, J12 and J22 (e, 3, 3) in these axes: equations (20) to (23c)."""
    count, L, reference = len(elements.lengths), elements.lengths[:, None], elements.reference
    mass, F = elements.mass, elements.compliance
    m, mc = mass[:, :, 0, 0], _first_moments(mass)
    c0, c1 = mass_line(mass)
    n = _line(elements)
    h = L[:, None] * (_integral(n, n, m) + REST * m[:, :1, None] * np.outer(SHEARED, SHEARED))
    # rotary inertia, with that of the mass centres beside the line
    spread = np.zeros((count, 3, 3, 3))
    for k in range(3):
        cross = _outer(mc[:, k], c0) + _outer(mc[:, k + 1], c1)
        line = m[:, k, None, None] * _outer(c0, c0) + m[:, k + 2, None, None] * _outer(c1, c1)
        line += m[:, k + 1, None, None] * (_outer(c0, c1) + _outer(c1, c0))
        spread[:, k] = line - cross - _transposed(cross)
    J = mass[:, :3, 3:, 3:] + np.asarray(np.trace(spread, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - spread)
    bend = _rotary_weights(J[:, :, 1, 1] + J[:, :, 2, 2], (4.0 - 2.0 * BEND), 0.0, BEND)
    twist = _rotary_weights(J[:, :, 0, 0], 3.0 - 2.0 * TWIST, F[:, 1, 3, 3] / F[:, 0, 3, 3], TWIST)
    inertias = []
    for a, b in ((0, 0), (0, 1), (1, 1)):
        each = L[:, None] * np.einsum("ek,ekij->eij", _product(bend[:, a], bend[:, b]), J)
        each[:, 0, 0] = L[:, 0] * np.einsum("ek,ek->e", _product(twist[:, a], twist[:, b]), J[:, :, 0, 0])
        inertias.append(each)
    # the four vectors
    centres = c0[:, None] + np.array([-0.5, 0.5])[:, None] * c1[:, None]
    points = np.empty((count, 2, 2, 3))
    points[:, :, 0] = centres
    points[:, :, 1] = reference[:, None, :3] + rotations.cross(reference[:, None, 3:], centres) + c1[:, None]
    curved = np.any(reference[:, 1:] != 0.0, axis=1)
    if curved.any():
        moved = points[curved]
        _shift(elements.moments[curved], reference[curved], h[curved], moved)
        points[curved] = moved
        total, own = L[curved, :, None, None] * J[curved], [each[curved] for each in inertias]
        for each, turned in zip(inertias, _turned(total, reference[curved], *own), strict=True):
            each[curved] = turned
    return h, points, (inertias[0], inertias[1], inertias[2])


def _first_moments(mass: Floats) -> Floats:
    """(e, 5, 3) of the moments of mass (e, 5, 6, 6)."""
    return np.stack([0.0 * mass[:, :, 0, 5], -mass[:, :, 0, 5], mass[:, :, 0, 4]], axis=2)


def mass_line(mass: Floats) -> tuple[Floats, Floats]:
    """c0 and c1 (e, 3) of the straight line c0 + eta c1 with the first moments of the mass centres: equation (20a).

    mass (e, 5, 6, 6) : moments of mass.
    """
    m, mc = mass[:, :, 0, 0], _first_moments(mass)
    place = (m[:, 1] / m[:, 0])[:, None]
    c1 = (mc[:, 1] - place * mc[:, 0]) / (m[:, 2:3] - place * m[:, 1:2])
    return np.asarray(mc[:, 0] / m[:, :1] - place * c1), np.asarray(c1)


def _line(elements: ElementProperties) -> Floats:
    """(e, 4, 3) shares n of the four vectors in the line, by powers of eta: equation (22b)."""
    m, F = elements.mass[:, :, 0, 0], elements.compliance
    g = 0.5 * ((3.0 - 2.0 * STRETCH) * m[:, 1] / m[:, 0] - F[:, 1, 0, 0] / F[:, 0, 0, 0])
    n = np.tile(ALONG, (len(m), 1, 1))
    n[:, :, 0] += g[:, None] * SHEARED
    n[:, :, 1] += (STRETCH - 1.0) * SHEARED
    return n


def mass_beside(elements: ElementProperties, points: Floats) -> tuple[Floats, Floats, Floats]:
    """Vectors k, c and c1 (e, 2, 3, 3) of a mass beside the axis, in the axes of both ends, H (e, 3, 5) kg and the
    products (e, 3) in the reference shape: equation (22d). All are zero where it is on the axis.

    points (e, 2, 2, 3) : the four vectors in these axes.
    """
    L, m, F = elements.lengths, elements.mass[:, :, 0, 0], elements.compliance[:, 0]
    beside = np.any(elements.mass[:, :, 0, 4:] != 0.0, axis=(1, 2))
    arms, masses, products = np.zeros((len(L), 2, 3, 3)), np.zeros((len(L), 3, 5)), np.zeros((len(L), 3))
    c = _first_moments(elements.mass)[:, 0] / m[:, :1]
    arms[:, :, 1], arms[:, :, 2] = c[:, None], mass_line(elements.mass)[1][:, None]
    for i, (shear, bend) in enumerate(((1, 5), (2, 4)), 1):
        sheared = 12.0 * F[:, shear, shear] / (F[:, bend, bend] * L**2)
        arms[:, :, 0, i] = (-c[:, i] / (L * (1.0 + sheared)))[:, None]
    bubble, slope = np.tile(BUBBLE, (len(L), 1, 1)), np.tile([[[0.0, STRETCH - 1.0, 0.0]]], (len(L), 1, 1))
    line = _line(elements)
    masses[:, 0, :4], masses[:, 0, 4] = _integral(bubble, line, m)[:, 0], _integral(bubble, bubble, m)[:, 0, 0]
    # g of (22b) is of stretching, not of the rotation of the sections
    masses[:, 2, :4] = (line[:, 2, :1] - 0.5) * masses[:, 0, :4]
    masses[:, 1, :4] = -_integral(slope, np.tile(ALONG, (len(L), 1, 1)), m)[:, 0] - masses[:, 2, :4]
    masses[:, 1, 4], masses[:, 2, 4] = -m[:, 0] / 30.0, m[:, 0] / 12.0
    masses *= np.where(beside, L, 0.0)[:, None, None]
    curved = beside & np.any(elements.reference[:, 1:] != 0.0, axis=1)
    if curved.any():
        d = elements.reference[curved]
        # c1 of the middle
        halves = rotations.exponential(np.array([0.5, -0.5])[:, None] * d[:, None, 3:])
        arms[curved, :, 2] = rotations.rotate(halves, arms[curved, :, 2])
        both = np.concatenate([points[curved], arms[curved]], axis=2)
        both[:, 1] = rotations.rotate(rotations.exponential(d[:, 3:])[:, None], both[:, 1])
        (y1, y2, k1, c1, _), (y3, y4, k2, c2, _) = np.moveaxis(both, 0, 2)
        s = _apply(helix_map(d[:, 3:]), d[:, :3]) + y3 - y1 - 0.5 * (y2 + y4)
        k, t = 0.5 * (k1 + k2), 0.5 * (y2 + y4) / L[curved, None]
        products[curved] = np.stack([np.sum(a * b, axis=1) for a, b in ((k, s + c1 - c2), (t, s), (t, s + c1 - c2))], 1)
    return arms, masses, products


def _rotary_weights(J: Floats, own: float, soft: float | Floats, slope: float) -> Floats:
    """(e, 2, 2) shares of both ends in the rotation along elements, 1/2 -+ (g + slope eta), by powers of eta."""
    g = 0.5 * (own * J[:, 1] / J[:, 0] - soft)
    result = np.full((len(J), 2, 2), 0.5)
    result[:, 0, 0] -= g
    result[:, 1, 0] += g
    result[:, 0, 1], result[:, 1, 1] = -slope, slope
    return result


def _product(a: Floats, b: Floats) -> Floats:
    """(e, 3) coefficients of products of linear functions (e, 2) of eta."""
    return np.stack([a[:, 0] * b[:, 0], a[:, 0] * b[:, 1] + a[:, 1] * b[:, 0], a[:, 1] * b[:, 1]], axis=1)


def _integral(a: Floats, b: Floats, moments: Floats) -> Floats:
    """(e, i, j) means of products of functions a_i, b_j (e, i, k), polynomials of eta, weighted by moments (e, 5)."""
    hankel = moments[:, np.add.outer(np.arange(3), np.arange(3))]
    return np.asarray(a @ hankel @ _transposed(b))


def _outer(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[..., :, None] * b[..., None, :])


def first_moments(places: Places, mass: Floats, reference: Floats, lengths: Floats) -> Floats:
    """(e, 3) kg m: first moments of mass of undeformed elements, d0 (e, 6), about their first ends in axes of these.

    mass (p, 6, 6) : per length at the points ``places``.
    """
    d, xi = reference[places.element], (0.5 + places.eta)[:, None]
    r = xi * _apply(helix_map(xi * d[:, 3:]), d[:, :3])
    c = np.stack([np.zeros(len(mass)), -mass[:, 0, 5], mass[:, 0, 4]], axis=1)
    each = mass[:, 0, 0, None] * r + rotations.rotate(rotations.exponential(xi * d[:, 3:]), c)
    return lengths[:, None] * places.moments(each, 0)[:, 0]


def _shift(first: Floats, d: Floats, h: Floats, points: Floats) -> None:
    """Move the four vectors of curved elements to where their mass has the first moments ``first``: equation (20b)."""
    turn = rotations.exponential(d[:, 3:])
    x = _apply(helix_map(d[:, 3:]), d[:, :3])
    others = rotations.rotate(turn[:, None], points[:, 1])
    others[:, 0] += x
    share = h[:, 0] + h[:, 2]
    has = np.einsum("ea,eai->ei", share, np.concatenate([points[:, 0], others], axis=1))
    shift = (first - has) / share[:, [0, 2]].sum(axis=1)[:, None]
    points[:, 0, 0] += shift
    points[:, 1, 0] += rotations.rotate_back(turn, shift)


def _turned(J: Floats, d: Floats, J11: Floats, J12: Floats, J22: Floats) -> tuple[Floats, Floats, Floats]:
    """The inertias of curved elements, whose sections are turned along them: equation (23c).

    J (e, 3, 3, 3) : moments of the rotary inertia. J11, J12, J22 : as with elements that are not turned.
    """
    half = rotations.rotation_matrix(rotations.exponential(0.5 * d[:, 3:]))
    tilde, back = rotations.cross_matrix(d[:, 3:]), _transposed(half)
    first, second = tilde @ J[:, 1], tilde @ tilde @ J[:, 2]
    mean = 0.25 * (first + _transposed(first) + 0.5 * (second + _transposed(second)) - tilde @ J[:, 2] @ tilde)
    # of J less a fourth of that of twist
    sides = 2.0 * J[:, 2]
    sides[:, 0, 0] *= 0.75
    slope = tilde @ sides - sides @ tilde
    # in the axes of the middle, then of the ends
    return half @ (J11 + mean - slope) @ back, half @ (J12 + mean) @ half, back @ (J22 + mean + slope) @ half


def _apply(R: Floats, x: Floats) -> Floats:
    """Matrices (..., 3, 3) times vectors (..., 3)."""
    return np.asarray((R @ x[..., None])[..., 0])


def _transposed(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, -1, -2)


def free_strains(
    heating: Sequence[Any], slices: Mapping[str, slice], model: ModelView, reference: Floats, lengths: Floats
) -> Floats:
    """(k, e, 6) free strains of the elements times their lengths by unit factors of k thermal loads: section 8.

    slices : elements of each beam. reference (e, 6) : d0.
    """
    strains: Floats = np.zeros((len(heating), len(lengths), 6))
    for k, load in enumerate(heating):
        rows = slices[load.beam]
        mean, slope = np.zeros((2, rows.stop - rows.start, 6))
        of_mean, of_slope = model.beams[load.beam].expansions(model).T
        mean[:, STRAINS] = [load.free_strain(each) for each in of_mean.tolist()]
        if load.strain is None:
            slope[:, STRAINS] = [load.free_strain(each) for each in of_slope.tolist()]
        strains[k, rows] = lengths[rows, None] * (mean + _apply(adjoint(reference[rows]), slope))
    return strains
