"""Bars and rods of NASTRAN bulk data as matrices: stiffness by the forces at one end, exact for Timoshenko's beam.

Source: J. S. Przemieniecki, Theory of Matrix Structural Analysis, chapters 5 and 15.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.shell.bulk_shell import isotropic
from femb.fem.bulk_sections import BarSection, Stations, stations_of
from femb.numerics.rotations import rigid_transport

RODS = ("CROD", "CONROD", "CTUBE")
# Gauss points along each part of a bar
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True, eq=False)
class Bar:
    """Matrices (12, 12) of two grids in basic axes: stiffness, mass; stress (12, 12) by a unit of tension, whose value
    is tension (12,) times the motions. growth (12,) : forces of one kelvin above ``cold``, that without stress. forces
    (8, 12) : BM1 and BM2 at A and at B, shear 1 and 2, axial force and torque at A, or none; held (8,) : those of one
    kelvin where the grids do not move."""

    grids: tuple[int, int]
    stiffness: Floats
    mass: Floats
    tension: Floats
    stress: Floats
    growth: Floats
    cold: float
    number: int
    forces: Floats | None = None
    held: Floats | None = None


def bars_of(data: BulkData, coupled: bool) -> list[Bar]:
    """All bars and rods. coupled : whether masses are those of the shapes of the element, else half at each end."""
    properties: dict[tuple[str, int], tuple[Stations, tuple[float, float]]] = {}
    found = []
    for given in data.all("CBAR", "CBEAM"):
        card, own = with_property(data, given)
        key = card.name, card.whole("PID")
        if key not in properties:
            properties[key] = stations_of(data, own), heat_of(data, own)
        stations, heat = properties[key]
        found.append(_bar(_frame(data, card, stations), coupled, heat))
    found += [_bend(data, card) for card in data.all("CBEND")]
    return found + [_rod(data, card, coupled) for card in data.all(*RODS)]


def with_property(data: BulkData, card: Card) -> tuple[Card, Card]:
    """A bar with what is blank in it, and its property."""
    kind, default = ("PBAR PBARL", "BAROR") if card.name == "CBAR" else ("PBEAM PBEAML PBCOMP", "BEAMOR")
    card = _completed(card, next(data.all(default), None))
    return card, data.property(card, kind)


def heat_of(data: BulkData, card: Card) -> tuple[float, float]:
    """Expansion, 1/K, and temperature without stress of the material of a property or rod."""
    own = data.property(card, "MAT1", "MID")
    return tuple(own.number(key) if own.value(key) is not None else 0.0 for key in ("A", "TREF"))  # type: ignore[return-value]


def _completed(card: Card, default: Card | None) -> Card:
    """A bar with what is blank in it from BAROR or BEAMOR."""
    if default is None:
        return card
    fields = list(card.fields)
    places = [1, *([4, 5, 6] if all(each is None for each in fields[4:7]) else []), 7]
    for k in places:
        if fields[k] is None and k < len(default.fields):
            fields[k] = default.fields[k]
    return Card(card.name, fields, card.units)


def line_axes(data: BulkData, card: Card, ends: tuple[Floats, Floats], turn: Floats) -> Floats:
    """(3, 3) columns: x along the line of two places, y towards the orientation vector or grid of X1 to X3."""
    along = ends[1] - ends[0]
    length = float(np.linalg.norm(along))
    if not length > 0.0:
        raise ModelError(f"{card}: its ends are at one place, or its orientation vector is along it")
    if isinstance(card.value("X1"), int) and card.value("X2") is None and card.value("X3") is None:
        up = data.grids[data.known(card, "X1")][0] - data.grids[data.known(card, "GA")][0]
    else:
        up = turn @ card.numbers("X1", 3, "")
    if not np.linalg.norm(np.cross(along, up)) > 1e-6 * length * np.linalg.norm(up):
        raise ModelError(f"{card}: its ends are at one place, or its orientation vector is along it")
    return axes_along(along, up)


def axes_along(along: Floats, up: Floats) -> Floats:
    """(3, 3) columns: x along a vector, y in the plane of it and of ``up``."""
    x, z = (each / np.linalg.norm(each) for each in (along, np.cross(along, up)))
    return np.column_stack([x, np.cross(z, x), z])


@dataclass(frozen=True, eq=False)
class _Frame:
    """A bar between its ends, (2, 3) m: axes R (3, 3), columns; X (12, 12) : motions of the ends along these by those
    of the grids; K (12, 12) : by motions of the ends, without its pins."""

    card: Card
    grids: tuple[int, int]
    stations: Stations
    ends: Floats
    R: Floats
    X: Floats
    K: Floats
    pins: list[int]

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.ends[1] - self.ends[0]))


def _frame(data: BulkData, card: Card, stations: Stations) -> _Frame:
    grids = data.known(card, "GA"), data.known(card, "GB")
    frames = [data.grids[grid] for grid in grids]
    # 1 and 2 were the kinds of orientation
    option = "GGG" if card.text("OFFT") in ("1", "2") else card.text("OFFT")
    if len(option) != 3 or option[0] not in "GB" or not set(option[1:]) <= set("GO"):
        raise card.refuse(
            f"the option {option!r} of offsets, beside which three letters, G or B, then G or O, are read"
        )
    turn = np.eye(3) if option[0] == "B" else frames[0][1]
    # offsets in the axes of the grids, or in those of the line between them
    own = [axes for _, axes in frames]
    if "O" in option[1:]:
        line = line_axes(data, card, (frames[0][0], frames[1][0]), turn)
        own = [line if option[1 + k] == "O" else axes for k, axes in enumerate(own)]
    keys = ("W1A", "W1B")
    ends = [place + axes @ card.numbers(key, 3) for (place, _), axes, key in zip(frames, own, keys, strict=True)]
    R = line_axes(data, card, (ends[0], ends[1]), turn)
    turned = np.kron(np.eye(2), R.T)
    X = np.zeros((12, 12))
    for k, (end, (place, _)) in enumerate(zip(ends, frames, strict=True)):
        X[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = turned @ rigid_transport(end - place)
    pins = [6 * k + c for k, key in enumerate(("PA", "PB")) if card.value(key) for c in card.components(key)]
    K = stiffness(stations, float(np.linalg.norm(ends[1] - ends[0])))
    return _Frame(card, grids, stations, np.array(ends), R, X, K, pins)


def _bar(frame: _Frame, coupled: bool, heat: tuple[float, float]) -> Bar:
    K, X, length = released(frame.card, frame.K, frame.pins), frame.X, frame.length
    tension, G = _tension(K, length)
    mass = _coupled(frame.stations, length) if coupled else _lumped(frame.stations, length)
    stretch = np.concatenate([np.zeros(6), [length], np.zeros(5)])
    held = -K @ stretch * heat[0]
    return Bar(
        frame.grids,
        X.T @ K @ X,
        X.T @ mass @ X,
        tension @ X,
        X.T @ G @ X,
        -X.T @ held,
        heat[1],
        frame.card.id,
        _forces(K) @ X,
        _forces(held),
    )


def _forces(ends: Floats) -> Floats:
    """(8, ...) of forces (12, ...) on the ends: moments in planes 1 and 2 at A and at B; shears, axial force and torque
    at A."""
    return np.array([-ends[5], ends[4], ends[11], -ends[10], -ends[1], -ends[2], -ends[0], -ends[3]])


def line_load(data: BulkData, load: Card, bars: dict[int, Card]) -> tuple[dict[int, Floats], Floats]:
    """Forces and moments (6,) by grid of a PLOAD1, as of an exact Timoshenko beam with clamped ends, and forces (8,) of
    its bar, as of ``Bar``, where the grids do not move."""
    number = load.whole(1)
    if number not in bars:
        raise ModelError(f"{load}: {number} is no CBAR and no CBEAM of the file")
    card, own = with_property(data, bars[number])
    stations = stations_of(data, own)
    frame = _frame(data, card, stations)
    kind, scale, length = load.text(2), load.text(3), frame.length
    if kind[:2] not in ("FX", "FY", "FZ", "MX", "MY", "MZ") or scale not in ("LE", "FR", "LEPR", "FRPR"):
        raise load.refuse(f"a load {kind} by {scale}")
    direction = (np.eye(3) if kind.endswith("E") else frame.R.T)[:, "XYZ".index(kind[1])]
    unit = length if scale.startswith("FR") else data.units.length
    first = load.number(4) * unit
    last = first if load.value(6) is None else load.number(6) * unit
    whole = "FL" if kind[0] == "M" else "F"
    per_length = {"F": "F/L", "FL": "F"}[whole]
    column = np.concatenate([np.zeros(3), direction] if kind[0] == "M" else [direction, np.zeros(3)])
    if last == first:
        points, weights, values = np.array([first]), np.ones(1), np.array([load.number(5, whole)])
    else:
        p = [load.number(k, per_length) if load.value(k) is not None else 0.0 for k in (5, 7)]
        along, shares = np.polynomial.legendre.leggauss(5)
        points, weights = 0.5 * (first + last) + 0.5 * (last - first) * along, 0.5 * (last - first) * shares
        values = np.interp(points, [first, last], p)
        if scale.endswith("PR"):
            values = values * float(np.linalg.norm(np.cross(direction, [1.0, 0.0, 0.0])))
    held = np.zeros(12)
    for point, force in zip(points, weights * values, strict=True):
        # the part from end A to the force moves end B, as the rest is without load
        u = np.zeros(6)
        for s, w in zip(POINTS, WEIGHTS, strict=True):
            x = 0.5 * point * (1.0 + s)
            C, _ = _flexibility(_at(stations, x / length))
            to = rigid_transport(np.array([length - x, 0.0, 0.0])).T
            at = rigid_transport(np.array([point - x, 0.0, 0.0])).T
            u += 0.5 * point * w * (to.T @ C @ at @ (force * column))
        end = frame.K[6:, 6:] @ u
        total = rigid_transport(np.array([point, 0.0, 0.0])).T @ (force * column)
        held += np.concatenate([total - rigid_transport(np.array([length, 0.0, 0.0])).T @ end, end])
    K = frame.K
    for pin in frame.pins:
        if K[pin, pin] > 0.0:
            held = held - K[:, pin] * held[pin] / K[pin, pin]
            K = released(card, K, [pin])
    found = frame.X.T @ held
    return {frame.grids[0]: found[:6], frame.grids[1]: found[6:]}, -_forces(held)


def stiffness(stations: Stations, length: float) -> Floats:
    """Stiffness by ``_stiffness``: bars of one property and length are alike."""
    return _stiffness(tuple(stations), float(f"{length:.12g}"))


@lru_cache(maxsize=4096)
def _stiffness(stations: tuple[tuple[float, BarSection], ...], length: float) -> Floats:
    """(12, 12) of a bar along x, by the motions of both ends; forces without stiffness are zero."""
    F, active = np.zeros((6, 6)), np.ones(6, dtype=bool)
    for x, weight in _along(stations):
        S = rigid_transport(np.array([(1.0 - x) * length, 0.0, 0.0])).T  # forces at x by those at the end
        C, known = _flexibility(_at(stations, x))
        active &= known
        F += length * weight * (S.T @ C @ S)
    H = np.zeros((6, 12))
    H[:, 6:] = np.eye(6)
    H[:, :6] = -rigid_transport(np.array([length, 0.0, 0.0]))
    K = np.zeros((6, 6))
    own = np.flatnonzero(active)
    K[np.ix_(own, own)] = np.linalg.inv(F[np.ix_(own, own)])
    return H.T @ K @ H


def _along(stations: Sequence[tuple[float, BarSection]], count: int = 3) -> Iterator[tuple[float, float]]:
    """Gauss points along a bar and their weights: ``count`` in each part between stations."""
    places = [place for place, _ in stations] + ([1.0] if stations[-1][0] < 1.0 else [])
    for begin, end in pairwise(places):
        for point, weight in zip(*np.polynomial.legendre.leggauss(count), strict=True):
            yield 0.5 * (begin + end) + 0.5 * (end - begin) * point, 0.5 * (end - begin) * weight


def _at(stations: Sequence[tuple[float, BarSection]], x: float) -> BarSection:
    """The section at a place, linear between stations."""
    if len(stations) == 1:
        return stations[0][1]
    places = np.array([place for place, _ in stations])
    values = np.array([[s.area, s.first, s.second, s.product, s.torsion, s.extra] for _, s in stations])
    area, first, second, product, torsion, extra = (np.interp(x, places, column) for column in values.T)
    return replace(stations[0][1], area=area, first=first, second=second, product=product, torsion=torsion, extra=extra)


def _flexibility(s: BarSection) -> tuple[Floats, Floats]:
    """(6, 6) strains by forces (N, Qy, Qz, T, My, Mz) about the axis of shear centres, and the forces that can be."""
    C = np.zeros((6, 6))
    bends = np.array([s.second > 0.0, s.first > 0.0])
    active = np.array([s.area > 0.0, bends[1], bends[0], s.torsion > 0.0, *bends])
    moments = np.array([[s.second, -s.product], [-s.product, s.first]])
    own = np.flatnonzero(bends)
    C[np.ix_(4 + own, 4 + own)] = np.linalg.inv(s.E * moments[np.ix_(own, own)])
    if s.area > 0.0:
        C[0, 0] = 1.0 / (s.E * s.area)
        for k, factor in enumerate(s.factors):
            C[1 + k, 1 + k] = 1.0 / (factor * s.G * s.area) if factor > 0.0 else 0.0
    C[3, 3] = 1.0 / (s.G * s.torsion) if s.torsion > 0.0 else 0.0
    # bending about the neutral axis: N at the axis of shear centres bends
    y, z = s.neutral
    T = np.eye(6)
    T[4, 0], T[5, 0] = -z, y
    return T.T @ C @ T, active


def warping_of(data: BulkData) -> Iterator[tuple[Card, Floats, Floats]]:
    """CBEAM with SA or SB: the card, its x axis (3,), and what warping adds to the stiffness (4, 4) of rotations and
    rates of twist at both ends: the exact solution of (E Cw t'' - G J t)'' = 0."""
    for card in data.all("CBEAM"):
        if not any(card.value(key) for key in ("SA", "SB")):
            continue
        section = stations_of(data, data.property(card, "PBEAM PBEAML PBCOMP"))[0][1]
        ends = [data.grids[data.known(card, key)][0] for key in ("GA", "GB")]
        length = float(np.linalg.norm(ends[1] - ends[0]))
        EC, GJ = section.E * section.warping, section.G * section.torsion
        if not EC > 0.0:
            continue
        n = np.sqrt(GJ / EC)
        if n * length < 1e-3:
            # a cubic; torque -E Cw t''', bimoment E Cw t''
            rows = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [1.0, length, length**2, length**3],
                             [0.0, 1.0, 2.0 * length, 3.0 * length**2]])  # fmt: skip
            forces = EC * np.array([[0.0, 0.0, 0.0, 6.0], [0.0, 0.0, -2.0, 0.0], [0.0, 0.0, 0.0, -6.0],
                                    [0.0, 0.0, 2.0, 6.0 * length]])  # fmt: skip
            K = forces @ np.linalg.inv(rows)
        else:
            # by 1, x, exp(-n x), exp(n (x - L)), of which the torque G J t' - E Cw t''' has the second alone
            e = np.exp(-n * length)
            rows = np.array([[1.0, 0.0, 1.0, e], [0.0, 1.0, -n, n * e], [1.0, length, e, 1.0], [0.0, 1.0, -n * e, n]])
            q = EC * n * n
            forces = np.array([[0.0, -GJ, 0.0, 0.0], [0.0, 0.0, -q, -q * e], [0.0, GJ, 0.0, 0.0], [0.0, 0.0, q * e, q]])
            K = forces @ np.linalg.inv(rows)
            K[np.ix_([0, 2], [0, 2])] -= GJ / length * np.array([[1.0, -1.0], [-1.0, 1.0]])
        free = [k for k, key in ((1, "SA"), (3, "SB")) if not card.value(key)]
        yield card, (ends[1] - ends[0]) / length, released(card, 0.5 * (K + K.T), free)


def released(card: Card, K: Floats, pins: list[int]) -> Floats:
    """A stiffness whose forces of some freedoms are zero."""
    for pin in pins:
        if K[pin, pin] > 1e-9 * np.abs(K).max() * 1e-6:
            K = K - np.outer(K[:, pin], K[pin]) / K[pin, pin]
            K[pin] = K[:, pin] = 0.0
    return K


def _tension(K: Floats, length: float) -> tuple[Floats, Floats]:
    """Tension (12,) by the motions of the ends, and the stiffness (12, 12) of a unit of it on a cubic."""
    slopes = ((weight, _slopes(0.5 + 0.5 * x, length)) for x, weight in zip(POINTS, WEIGHTS, strict=True))
    return K[6], np.asarray(sum(0.5 * weight * length * (A.T @ A) for weight, A in slopes))


def _slopes(x: float, length: float) -> Floats:
    """(2, 12) slopes along y and z of a cubic by the motions of its ends, at a place from 0 to 1."""
    own = np.array([6 * x * (x - 1) / length, (1 - x) * (1 - 3 * x), 6 * x * (1 - x) / length, x * (3 * x - 2)])
    A = np.zeros((2, 12))
    A[0, [1, 5, 7, 11]], A[1, [2, 4, 8, 10]] = own, own * [1.0, -1.0, 1.0, -1.0]
    return A


def _line_mass(s: BarSection) -> Floats:
    """(6, 6) per length about the axis, with the inertia of what is no structure, and so much of that of the section
    about its line."""
    M = np.zeros((6, 6))
    for mass, at in ((s.density * s.area, s.neutral), (s.extra, s.centre)):
        S = rigid_transport(np.array([0.0, *at]))
        M += S.T @ np.diag([mass] * 3 + [0.0] * 3) @ S
    M[3, 3] += s.inertia
    return M


def _lumped(stations: Stations, length: float) -> Floats:
    """Parts of the mass at the ends, such that its centre is that of the line."""
    M = np.zeros((12, 12))
    for x, weight in _along(stations):
        M += length * weight * np.kron(np.diag([1.0 - x, x]), _line_mass(_at(stations, x)))
    return M


def _coupled(stations: Stations, length: float) -> Floats:
    M = np.zeros((12, 12))
    for x, weight in _along(stations, 4):
        h = [1 - 3 * x**2 + 2 * x**3, x * (1 - x) ** 2 * length, 3 * x**2 - 2 * x**3, x**2 * (x - 1) * length]
        N = np.zeros((6, 12))
        for row in (0, 3):
            N[row, row], N[row, 6 + row] = 1.0 - x, x
        N[1, [1, 5, 7, 11]] = h
        N[2, [2, 4, 8, 10]] = np.array(h) * [1.0, -1.0, 1.0, -1.0]
        N[5], N[4] = _slopes(x, length) * [[1.0], [-1.0]]
        M += weight * length * (N.T @ _line_mass(_at(stations, x)) @ N)
    # along the line NASTRAN has the mean of this and of half at each end
    along = np.ix_([0, 6], [0, 6])
    M[along] = 0.5 * (M[along] + np.diag(M[along].sum(axis=0)))
    return M


def _bend(data: BulkData, card: Card) -> Bar:
    """CBEND of PBEND with A, I1, I2 and J: a bar along an arc, whose plane 1 is that of the arc, half of the mass at
    each end."""
    own = data.property(card, "PBEND")
    E, G, _, density = isotropic(data.property(own, "MAT1", "MID"), bars=True)
    if isinstance(own.value("A"), int):
        section = _pipe(own)
    else:
        if any(own.value(key) for key in ("RC", "ZC", "DELTAN")):
            raise own.refuse("an axis beside its grids")
        A, first, second, J = (own.number(key) for key in ("A", "I1", "I2", "J"))
        factors = [own.number(key) if own.value(key) is not None else 0.0 for key in ("K1", "K2")]
        section = BarSection(A, first, second, 0.0, J, (factors[0], factors[1]), own.number("NSM"))
    section = replace(section, E=E, G=G, density=density)
    grids = data.known(card, "GA"), data.known(card, "GB")
    a, b = (data.grids[grid][0] for grid in grids)
    centre = _centre(data, card, own, a, b)
    radius, chord = float(np.linalg.norm(a - centre)), b - a
    angle = 2.0 * np.arcsin(min(1.0, 0.5 * float(np.linalg.norm(chord)) / radius))
    out = (a - centre) / radius
    z = np.cross(a - centre, b - centre)
    z /= np.linalg.norm(z)
    F = np.zeros((6, 6))
    for point, weight in zip(*np.polynomial.legendre.leggauss(6), strict=True):
        t = 0.5 * angle * (1.0 + point)
        y = np.cos(t) * out + np.sin(t) * np.cross(z, out)
        # x along the arc, y from its centre
        R = np.column_stack([np.cross(y, z), y, z])
        S = np.kron(np.eye(2), R.T) @ rigid_transport(b - (centre + radius * y)).T
        F += 0.5 * angle * radius * weight * (S.T @ _flexibility(section)[0] @ S)
    H = np.hstack([-rigid_transport(chord), np.eye(6)])
    if not np.linalg.cond(F) < 1e14:
        raise ModelError(f"{own}: its A, I1, I2 and J must be above 0")
    K = H.T @ np.linalg.inv(F) @ H
    M = np.zeros((12, 12))
    for k in (0, 6):
        M[k : k + 3, k : k + 3] = 0.5 * section.mass * angle * radius * np.eye(3)
    heat = heat_of(data, own)
    growth = K @ np.concatenate([np.zeros(6), chord, np.zeros(3)]) * heat[0]
    return Bar(grids, K, M, np.zeros(12), np.zeros((12, 12)), growth, heat[1], card.id)


def _pipe(card: Card) -> BarSection:
    """PBEND of a pipe: FSI, mean radius, thickness, in place of A, I1 and I2."""
    if card.value("A") != 1 or any(card.value(k) for k in (5, *range(8, 24))):
        raise card.refuse("a pipe with FSI other than 1, pressure or further lines")
    radius, wall = card.numbers("I1", 2, "L")
    outer, inner = radius + 0.5 * wall, radius - 0.5 * wall
    if not (wall > 0.0 and inner >= 0.0):
        raise ModelError(f"{card}: its wall is thicker than twice its radius, or not above 0")
    area, second = np.pi * (outer**2 - inner**2), 0.25 * np.pi * (outer**4 - inner**4)
    return BarSection(area, second, second, 0.0, 2.0 * second, (0.5, 0.5))


def _centre(data: BulkData, card: Card, own: Card, a: Floats, b: Floats) -> Floats:
    """(3,) m of the arc of a CBEND. Raises ModelError."""
    kind, chord = card.whole("GEOM"), b - a
    if isinstance(card.value("X1"), int) and card.value("X2") is None and card.value("X3") is None:
        v = data.grids[data.known(card, "X1")][0] - a
    else:
        v = data.grids[data.known(card, "GA")][1] @ card.numbers("X1", 3, "")
    across = np.cross(chord, v)
    if not np.linalg.norm(across) > 1e-9 * np.linalg.norm(chord) * np.linalg.norm(v):
        raise ModelError(f"{card}: its orientation vector is along it")
    if kind in (1, 2):
        # the centre is along the vector from A, or square to it
        towards = v if kind == 1 else np.cross(np.cross(v, chord), v)
        return np.asarray(a + towards * (chord @ chord) / (2.0 * (towards @ chord)))
    if kind != 3 or own.value("RB") is None:
        raise card.refuse(f"GEOM = {kind}, beside which 1, 2 and 3 with RB are read")
    radius = own.number("RB")
    inside = v - chord * (v @ chord) / (chord @ chord)
    height = np.sqrt(max(radius**2 - 0.25 * float(chord @ chord), 0.0))
    return np.asarray(0.5 * (a + b) + height * inside / np.linalg.norm(inside))


def rod_section(own: Card) -> tuple[float, float, float]:
    """Area, torsion constant and mass per length of what is no structure of a CONROD, PROD or PTUBE."""
    if own.name != "PTUBE":
        return own.number("A"), own.number("J"), own.number("NSM")
    outer, wall = own.number("OD"), own.number("T")
    if own.number("OD2") != outer:
        raise own.refuse("diameters of both ends")
    inner = outer - 2.0 * wall if wall else 0.0
    return 0.25 * np.pi * (outer**2 - inner**2), np.pi / 32.0 * (outer**4 - inner**4), own.number("NSM")


def _rod(data: BulkData, card: Card, coupled: bool) -> Bar:
    """CROD of PROD, CTUBE of PTUBE, CONROD: stiffness along and about the line, half of the mass at each end; coupled,
    a sixth of that along the line is between the ends."""
    own = card if card.name == "CONROD" else data.property(card, "PROD" if card.name == "CROD" else "PTUBE")
    E, G, _, density = isotropic(data.property(own, "MAT1", "MID"), bars=True)
    area, torsion, extra = rod_section(own)
    grids = data.known(card, "G1"), data.known(card, "G2")
    along = data.grids[grids[1]][0] - data.grids[grids[0]][0]
    length = float(np.linalg.norm(along))
    if not (length > 0.0 and area >= 0.0 and torsion >= 0.0):
        raise ModelError(f"{card}: has no length, or a negative area or torsion constant")
    line = along / length
    rows = np.zeros((2, 12))
    rows[0, :3], rows[0, 6:9], rows[1, 3:6], rows[1, 9:] = -line, line, -line, line
    K = rows.T @ np.diag([E * area / length, G * torsion / length]) @ rows
    mass = (density * area + extra) * length
    M = 0.5 * mass * np.diag(np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], 2))
    if coupled:
        M -= mass / 12.0 * np.outer(rows[0], rows[0])
    across = np.kron(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.eye(3) - np.outer(line, line)) / length
    stress = np.zeros((12, 12))
    places = np.r_[0:3, 6:9]
    stress[np.ix_(places, places)] = across
    heat, cold = heat_of(data, own)
    forces = np.vstack([np.zeros((6, 12)), E * area / length * rows[0], G * torsion / length * rows[1]])
    tension = E * area / length * rows[0]
    held = -E * area * heat * (np.arange(8) == 6)
    return Bar(grids, K, M, tension, stress, E * area * heat * rows[0], cold, card.id, forces, held)
