"""A whole structure in NASTRAN bulk data as a finite element model: shells, bars, masses, rigid elements; or solids.

It is a femb model of shells, exact beams and grid points, whose matrices are those of its start. Rigid elements carry
their grids; other RBE2 and RBE3 are rows. Rods and springs are added to the stiffness, without stress stiffness.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from femb.base.bulk_data import LEFT_OUT, BulkData, Card, read_bulk_data
from femb.base.errors import FembWarning, ModelError
from femb.base.types import Floats, Ints
from femb.elements.beam.section import Section
from femb.elements.beam.section_shapes import shape_properties
from femb.elements.body.grid_point import GridPoint
from femb.elements.exact.beam import ExactBeam
from femb.elements.marker import Attachment
from femb.elements.shell.bulk_shell import ELEMENTS, NO_DENSITY, READ, isotropic
from femb.elements.shell.mesh import SIZES
from femb.elements.shell.shell import Shell
from femb.fem.beams import free_model, tied
from femb.fem.bulk_springs import SPRINGS, springs_of
from femb.fem.model import FeModel, as_csc
from femb.model.model import Model
from femb.numerics.rotations import rigid_transport

CARDS = (*READ, "CBAR", "CBEAM", "PBAR", "PBARL", "PBEAM", "PBEAML", "CONM2", "RBAR", "RBE2", "RBE3", *SPRINGS)
# Solids: by their number of grids, the kind of meshio and its order of the grids.
SOLIDS: dict[str, dict[int, tuple[str, list[int]]]] = {
    "CTETRA": {4: ("tetra", [*range(4)]), 10: ("tetra10", [*range(10)])},
    "CHEXA": {
        8: ("hexahedron", [*range(8)]),
        20: ("hexahedron20", [*range(12), *range(16, 20), *range(12, 16)]),
    },
    "CPENTA": {6: ("wedge", [*range(6)])},
}
SHELL = "shell"
# Shear factors along y and z by the shape, as NASTRAN prints them for the PBEAM of a PBEAML.
FACTORS = {"ROD": 0.9, "TUBE": 0.5, "BAR": 5.0 / 6.0}
# Shear stiffness in the direction without a factor, by that with a factor of 1.
NO_SHEAR = 1e6


def read_structure(path: str | Path, unit: float = 1.0) -> FeModel:
    """The finite element model of a file, without supports. unit : of its lengths, m, beside N and s.

    Nodes are the grids that rigid elements do not carry; or those of a solid, whose file has nothing else. Warns of
    supports, which are left out. Raises ModelError: cards, fields and options that are not read, by name; ResultError.
    """
    data = read_bulk_data(path, unit)
    try:
        solid = any(name in data.cards for name in SOLIDS)
        if supports := data.check_names(*((*SOLIDS, "PSOLID") if solid else CARDS)):
            said = f"{path}: {', '.join(supports)}: supports are left out: name interfaces"
            warnings.warn(said, FembWarning)
        return _solid(data) if solid else _Reader(data).fe_model()
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def _solid(data: BulkData) -> FeModel:
    """A solid of PSOLID and MAT1."""
    from femb.fem.solids import SolidMaterial, solid_model

    row = {grid: k for k, grid in enumerate(data.grids)}
    properties, materials = data.by_id("PSOLID"), dict[int, SolidMaterial]()
    cells, owned = dict[str, list[list[int]]](), dict[str, list[SolidMaterial]]()
    for card in data.all(*SOLIDS):
        number = card.whole(3, card.id)
        if number not in properties:
            raise ModelError(f"{card}: property {number} of field 3 is no PSOLID of the file")
        if number not in materials:
            properties[number].refuse_fields(4, 4, "axes of the material")
            E, _, nu, rho = isotropic(data, data.material(properties[number], 3, "MAT1"))
            heat = data.material(properties[number], 3, "MAT1").number(7, 0.0)
            materials[number] = SolidMaterial(E, nu, rho, heat)
        count = max(k for k in range(len(card.fields) + 2) if card.value(k) is not None) - 3
        if count not in SOLIDS[card.name]:
            raise card.refuse(f"{count} grids, beside which {' and '.join(map(str, SOLIDS[card.name]))} are read")
        kind, order = SOLIDS[card.name][count]
        grids = [row[data.grid(card, 4 + k)] for k in range(count)]
        cells.setdefault(kind, []).append([grids[k] for k in order])
        owned.setdefault(kind, []).append(materials[number])
    points = np.array([place for place, _ in data.grids.values()])
    arrays = {kind: np.array(each, dtype=np.int64) for kind, each in cells.items()}
    return solid_model(points, arrays, owned, numbers=np.array(list(data.grids)))


class _Reader:
    """The items of bulk data.

    carrier : by grid, the grid whose rigid element carries it. hosts : grids that are bodies of the model.
    """

    def __init__(self, data: BulkData) -> None:
        self.data = data
        self.rows: list[dict[int, Floats]] = []
        self.carrier = self._carriers()
        self.shelled = {card.whole(4 + k) for name, n in ELEMENTS.items() for card in data.all(name) for k in range(n)}
        self.masses: dict[int, list[tuple[float, Floats, Floats]]] = {}
        self.hosts = {host for grid in self.carrier for host in (self.host(grid),)}
        self.sections: dict[int, Section] = {}
        for card in data.all("CONM2"):
            self._mass(card)
        self.beams = [self._bar(card) for card in data.all("CBAR", "CBEAM")]
        self.springs = springs_of(data)
        for spring in self.springs:
            for grid, mass in spring.masses.items():
                self._add_mass(grid, mass, np.zeros(3), np.zeros((3, 3)))
        self.rows += [_mean_rows(data, card) for card in data.all("RBE3")]
        self.rows = [self._by_hosts(row) for row in self.rows]
        self.springs = [replace(each, rows=self._by_hosts(each.rows)) for each in self.springs]

    def fe_model(self) -> FeModel:
        """The model by its nodes."""
        model = Model()
        for grid in sorted(self.hosts):
            model.add(GridPoint(f"grid {grid}", position=self.place(grid), masses=tuple(self.masses.get(grid, ()))))
        for beam in self.beams:
            model.add(beam)
        shell = self._shell()
        if shell is not None:
            model.add(shell)
        if shell is None and not self.beams and not self.springs:
            raise ModelError(f"has no shells and no bars: wanted {', '.join(CARDS)}; of solids give the material (-E)")
        of_frame = {f"grid {grid}": grid for grid in self.hosts}
        if shell is not None and shell.bulk is not None:
            of_frame |= {f"{SHELL}, node {k}": int(grid) for k, grid in enumerate(shell.bulk.numbers)}
        fe = free_model(model, of_frame, self.rows)
        if self.springs:
            rows = tied(fe, [each.rows for each in self.springs])
            k = np.concatenate([each.stiffness for each in self.springs])
            fe = replace(fe, stiffness=as_csc(fe.stiffness + rows.T @ rows.multiply(k[:, None])))
        return fe if shell is None else replace(fe, cells=self._cells(shell, fe))

    def _cells(self, shell: Shell, fe: FeModel) -> dict[str, Ints]:
        """Rows of the nodes of the elements, for pictures; without those of carried grids."""
        row = {int(number): k for k, number in enumerate(fe.numbers)}
        numbers = np.array([int(number) for number in shell.geometry.sets.rows])  # type: ignore[attr-defined]
        place = np.array([row.get(int(number), -1) for number in numbers])
        every = shell.geometry.quads, shell.geometry.triangles
        found = {kind: place[cells] for kind, cells in zip(SIZES, every, strict=True)}
        return {kind: kept for kind, cells in found.items() if len(kept := cells[np.all(cells >= 0, axis=1)])}

    # Rigid elements

    def place(self, grid: int) -> Floats:
        """(3,) m of a grid."""
        return self.data.grids[grid][0]

    def _carriers(self) -> dict[int, int]:
        """The grids of rigid elements with all components by their dependent grids; the others make rows."""
        found: dict[int, int] = {}
        for card, lead, components, grids in [*self._rigid_bars(), *self._rigid_bodies()]:
            for own in grids:
                if own in found:
                    raise ModelError(f"{card}: grid {own} depends on grid {found[own]} already")
                if len(components) == 6:
                    found[own] = lead
                    continue
                place, axes = self.data.grids[own]
                turned = np.kron(np.eye(2), axes.T)[components]
                led = -turned @ rigid_transport(place - self.place(lead))
                self.rows.append({own: np.asarray(turned), lead: np.asarray(led)})
        return found

    def _rigid_bars(self) -> Iterator[tuple[Card, int, list[int], list[int]]]:
        """RBAR: EID GA GB CNA CNB CMA CMB, of which one grid has all independent components."""
        for card in self.data.all("RBAR"):
            ends, free = [3, 4], [card.text(5), card.text(6)]
            if sorted(map(len, free)) != [0, 6]:
                raise card.refuse("independent components of both grids, CNA and CNB")
            lead, own = ends if free[0] else ends[::-1]
            moved = _components(card, own + 4) if card.value(own + 4) not in (None, 0) else [*range(6)]
            yield card, self.data.grid(card, lead), moved, [self.data.grid(card, own)]

    def _rigid_bodies(self) -> Iterator[tuple[Card, int, list[int], list[int]]]:
        """RBE2: EID GN CM GM1 ..."""
        for card in self.data.all("RBE2"):
            # behind the grids there may be an expansion, a real number
            grids = [k for k in range(5, len(card.fields) + 2) if card.value(k) is not None]
            if grids and isinstance(card.value(grids[-1]), float):
                grids.pop()
            owned = [self.data.grid(card, k) for k in grids]
            yield card, self.data.grid(card, 3), _components(card, 4), owned

    def host(self, grid: int) -> int:
        """The grid that moves it, itself where no rigid element does. Raises ModelError: rigid elements in a ring."""
        passed = [grid]
        while grid in self.carrier:
            grid = self.carrier[grid]
            if grid in passed:
                raise ModelError(f"RBE2: grid {grid} depends on itself by way of {', '.join(map(str, passed))}")
            passed.append(grid)
        return grid

    def _by_hosts(self, row: Mapping[int, Floats]) -> dict[int, Floats]:
        """A row by grids that are not carried, which become nodes."""
        moved: dict[int, Floats] = {}
        for grid, part in row.items():
            host = self.host(grid)
            moved[host] = moved.get(host, 0.0) + part @ rigid_transport(self.place(grid) - self.place(host))
            if host not in self.shelled:
                self.hosts.add(host)
        return moved

    # Masses and bars

    def _mass(self, card: Card) -> None:
        """CONM2: EID G CID M X1 X2 X3, then I11 I21 I22 I31 I32 I33."""
        grid, unit = self.data.grid(card, 3), self.data.unit
        absolute = card.value(4) == -1
        axes = np.eye(3) if absolute else self.data.system(card, 4)[1]
        mass, centre = self.data.mass_factor * card.number(5, 0.0), unit * card.numbers(6, 3)
        xx, xy, yy, xz, yz, zz = self.data.mass_factor * unit**2 * card.numbers(10, 6)
        inertia = axes @ np.array([[xx, -xy, -xz], [-xy, yy, -yz], [-xz, -yz, zz]]) @ axes.T
        if mass < 0.0 or np.linalg.eigvalsh(inertia)[0] < -1e-9 * np.abs(inertia).max():
            raise ModelError(f"{card}: its mass or a principal moment of inertia is negative")
        arm = centre - self.place(grid) if absolute else axes @ centre
        self._add_mass(grid, mass, arm, inertia)

    def _add_mass(self, grid: int, mass: float, arm: Floats, inertia: Floats) -> None:
        host = self.host(grid)
        self.hosts.add(host)
        self.masses.setdefault(host, []).append((mass, arm + self.place(grid) - self.place(host), inertia))

    def _bar(self, card: Card) -> ExactBeam:
        """CBAR and CBEAM: EID PID GA GB X1 X2 X3 OFFT, then PA PB and the offsets of both ends."""
        data = self.data
        card.refuse_fields(10, 11, "pin flags, PA and PB")
        if card.name == "CBEAM":
            card.refuse_fields(18, 19, "warping at grids, SA and SB")
        grids = data.grid(card, 4), data.grid(card, 5)
        frames = [data.grids[grid] for grid in grids]
        system = card.text(9, "GGG") if isinstance(card.value(9), str) else "GGG"
        if isinstance(card.value(9), int | float) or system not in ("GGG", "BGG"):
            raise card.refuse(f"the option {card.value(9)!r} of offsets, beside which GGG and BGG are read")
        if isinstance(card.value(6), int) and card.value(7) is None:
            up = self.place(data.grid(card, 6)) - frames[0][0]
        else:
            up = card.numbers(6, 3) if system == "BGG" else frames[0][1] @ card.numbers(6, 3)
        ends, markers = [], []
        for grid, (place, axes), first in zip(grids, frames, (12, 15), strict=True):
            end, host = place + axes @ (data.unit * card.numbers(first, 3)), self.host(grid)
            self.hosts.add(host)
            ends.append(end)
            markers.append(Attachment(body=f"grid {host}", at=end - self.place(host), up=up))
        along = ends[1] - ends[0]
        if not np.linalg.norm(np.cross(along, up)) > 1e-6 * np.linalg.norm(along) * np.linalg.norm(up):
            raise ModelError(f"{card}: its ends are at one place, or its orientation vector is along it")
        return ExactBeam(f"{card.name} {card.id}", self._section(card), None, 1, markers[0], markers[1])

    def _section(self, card: Card) -> Section:
        number = card.whole(3, card.id)
        kinds = ("PBAR", "PBARL") if card.name == "CBAR" else ("PBEAM", "PBEAML")
        if number not in self.sections:
            found = self.data.by_id(*kinds)
            if number not in found:
                raise ModelError(f"{card}: property {number} of field 3 is no {' or '.join(kinds)} of the file")
            self.sections[number] = _section_of(self.data, found[number])
        return self.sections[number]

    def _shell(self) -> Shell | None:
        """All shells, whose nodes that are on bodies are attached to these."""
        if not self.shelled:
            return None
        attach: dict[str, str] = {}
        own: dict[int, list[int]] = {}
        for grid in sorted(self.shelled):
            if self.host(grid) in self.hosts:
                own.setdefault(self.host(grid), []).append(grid)
        for host, grids in own.items():
            attach[",".join(map(str, grids))] = f"grid {host}"
        with warnings.catch_warnings():
            # what a shell leaves out is in the model
            warnings.filterwarnings("ignore", message=f".*{LEFT_OUT}")
            return Shell(SHELL, mesh=self.data.path, mesh_unit=self.data.unit, attach=attach or None)


def _components(card: Card, k: int) -> list[int]:
    """Components 0 to 5 of digits as 123. Raises ModelError."""
    found = str(card.value(k) or "")
    if not found or not set(found) <= set("123456") or len(set(found)) < len(found):
        raise card.fault(k, "components as 123456")
    return sorted(int(digit) - 1 for digit in found)


def _mean_rows(data: BulkData, card: Card) -> dict[int, Floats]:
    """RBE3: EID, blank, REFGRID, REFC, then WT, C, grids of each group.

    The motion of the reference grid is that of least weighted squares, those of rotations times the square of the mean
    distance of the grids.
    """
    lead, wanted = data.grid(card, 4), _components(card, 5)
    groups: list[tuple[float, list[int], list[int]]] = []
    for k in range(6, len(card.fields) + 2):
        value = card.value(k)
        if isinstance(value, str):
            if value.strip().upper() != "ALPHA":
                raise card.refuse(f"field {k}, {value.strip()}")
            break
        if isinstance(value, float):
            groups.append((card.number(k), _components(card, k + 1), []))
            skip = k + 1
        elif value is not None and groups and k != skip:
            groups[-1][2].append(data.grid(card, k))
    if not groups or not all(grids for _, _, grids in groups):
        raise ModelError(f"{card}: has no weights and grids to take the mean of")
    if any(weight <= 0.0 for weight, _, _ in groups):
        raise ModelError(f"{card}: has a weight that is not above 0")
    for own in {grid for _, _, grids in groups for grid in grids} | {lead}:
        if np.abs(data.grids[own][1] - np.eye(3)).max() > 1e-9:
            raise card.refuse(f"grid {own} with displacement axes of its own")
    A, b = np.zeros((6, 6)), dict[int, Floats]()
    lengths = [np.linalg.norm(data.grids[g][0] - data.grids[lead][0]) for _, _, grids in groups for g in grids]
    turns = float(np.mean(lengths)) ** 2
    for weight, components, grids in groups:
        W = np.diag([weight * (1.0 if c < 3 else turns) * (c in components) for c in range(6)])
        for grid in grids:
            S = rigid_transport(data.grids[grid][0] - data.grids[lead][0])
            A += S.T @ W @ S
            b[grid] = b.get(grid, 0.0) + S.T @ W
    if np.linalg.matrix_rank(A) < 6:
        raise ModelError(f"{card}: the components of its grids define no motion of grid {lead}: take grids off a line")
    rows = {grid: np.asarray(-np.linalg.solve(A, part)[wanted]) for grid, part in b.items()}
    rows[lead] = np.asarray(rows.get(lead, 0.0) + np.eye(6)[wanted])
    return rows


@dataclass(frozen=True)
class Further:
    """Further numbers of a PBEAM, in the unit of the file: inertia of the non-structural mass per length about its own
    axis, its place and that of the neutral axis (y, z) from the axis of shear centres."""

    inertia: float = 0.0
    centre: tuple[float, float] = (0.0, 0.0)
    neutral: tuple[float, float] = (0.0, 0.0)


def _section_of(data: BulkData, card: Card) -> Section:
    """PBAR: PID MID A I1 I2 J NSM, C1 to F2, K1 K2 I12. PBEAM: PID MID A I1 I2 I12 J NSM, C1 to F2, stations, K1 K2 S1
    S2 NSI, M1 M2 and N1 N2 of both ends. PBARL, PBEAML: PID MID GROUP TYPE, DIM1 ... A blank J is 0."""
    E, G, _, rho = isotropic(data, data.material(card, 3, "MAT1"))
    unit, product, further = data.unit, 0.0, Further()
    if card.name in ("PBARL", "PBEAML"):
        area, first, second, torsion, factors, nsm = _shaped(card)
    elif card.name == "PBAR":
        area, first, second = (card.number(k, 0.0) for k in (4, 5, 6))
        torsion, nsm, product = (card.number(k, 0.0) for k in (7, 8, 20))
        # by the guide, with I12 the factors are ignored
        factors = (0.0, 0.0) if product else (card.number(18, 0.0), card.number(19, 0.0))
    else:
        area, first, second, product, torsion, nsm = (card.number(k, 0.0) for k in range(4, 10))
        factors, further = _uniform(card)
    if not min(area, first, second, torsion) > 0.0:
        raise ModelError(
            f"{card}: got A, I1, I2, J = {area:g}, {first:g}, {second:g}, {torsion:g}, must be above 0: "
            "a blank J is 0; a member without bending is a CROD"
        )
    area, moments = area * unit**2, unit**4 * np.array([second, first])
    K = np.diag([E * area, G * torsion * unit**4, *(E * moments)])
    K[2, 3] = K[3, 2] = -E * product * unit**4
    y, z = unit * np.array(further.neutral)
    at_neutral = np.eye(4)
    at_neutral[0, 2:] = z, -y
    shear = None if not any(factors) else G * area * np.array([factor or NO_SHEAR for factor in factors])
    nsm, spun = nsm * data.mass_factor / unit, further.inertia * data.mass_factor * unit
    line = np.diag([nsm, nsm, nsm, spun, 0.0, 0.0])
    # without a density, mass of bars is small, not zero; a line of mass has small moments of inertia
    rho = rho or NO_DENSITY + nsm / area * 1e-6
    own = np.diag([rho * area] * 3 + [rho * moments.sum(), *(rho * moments)])
    own[4, 5] = own[5, 4] = -rho * product * unit**4
    moved = [rigid_transport(unit * np.array([0.0, *at])) for at in (further.neutral, further.centre)]
    J = sum(S.T @ part @ S for S, part in zip(moved, (own, line), strict=True))
    return Section(
        f"{card.name} {card.id}", stiffness_matrix=at_neutral.T @ K @ at_neutral, shear_stiffness=shear, mass_matrix=J
    )


def _shaped(card: Card) -> tuple[float, float, float, float, tuple[float, float], float]:
    """Area, I1, I2, J, shear factors and NSM of a shape, in the unit of the file. Raises ModelError."""
    shape = card.text(5)
    counts = {"ROD": 1, "TUBE": 2, "BAR": 2, "BOX": 4}
    if shape not in counts:
        raise card.refuse(f"the section {shape or 'without a type'}, beside which {', '.join(counts)} are read")
    count = counts[shape]
    sizes, nsm = card.numbers(10, count), card.number(10 + count, 0.0)
    for k in range(11 + count, len(card.fields) + 2, count + 3):
        # SO, X/XB, sizes and NSM of stations, blank ones being those of end A
        own = [card.number(k + 2 + i, first) for i, first in enumerate((*sizes, nsm))]
        if not np.array_equal(own, [*sizes, nsm]):
            raise card.refuse("a section that changes along it")
    if not sizes.min() > 0.0:
        raise ModelError(f"{card}: got the sizes {sizes.tolist()}, must be above 0")
    factors = (FACTORS.get(shape, 0.0),) * 2
    if shape == "BOX":
        b, h, over, side = sizes
        inner, tall = b - 2.0 * side, h - 2.0 * over
        if not min(inner, tall) > 0.0:
            raise ModelError(f"{card}: the walls of its box fill it")
        area = b * h - inner * tall
        first, second = (b * h**3 - inner * tall**3) / 12.0, (h * b**3 - tall * inner**3) / 12.0
        torsion = 2.0 * over * side * (b - side) ** 2 * (h - over) ** 2 / (b * side + h * over - side**2 - over**2)
        factors = (2.0 * side * tall / area, 2.0 * over * inner / area)
    else:
        words = {"ROD": {"circle": sizes[0]}, "BAR": {"rectangle": sizes[::-1].tolist()}}
        if shape == "TUBE":
            words["TUBE"] = {"tube": [sizes[0], sizes[0] - sizes[1]]}
        found = shape_properties(words[shape])
        area, torsion = found.area, found.torsion_constant
        second, first = found.second_moments
    return area, first, second, torsion, factors, nsm


def _uniform(card: Card) -> tuple[tuple[float, float], Further]:
    """Shear factors and what else a PBEAM has. Raises ModelError: one that is not uniform."""
    k = 10 if isinstance(card.value(10), str) else 18
    while isinstance(card.value(k), str):
        if any(card.number(k + i, first) != first for i in range(2, 8) for first in [card.number(2 + i, 0.0)]):
            raise card.refuse("a section that changes along it")
        k += 16 if card.text(k) == "YES" else 8
    card.refuse_fields(k + 2, k + 3, "shear relief, S1 and S2")
    pairs = [(k + 4, k + 5), (k + 8, k + 10), (k + 9, k + 11), (k + 12, k + 14), (k + 13, k + 15)]
    at = [card.number(first, 0.0) for first, _ in pairs]
    if any(card.number(second, own) != own for (_, second), own in zip(pairs, at, strict=True)):
        raise card.refuse("an inertia or an axis of mass or stretching that changes along it")
    factors = card.number(k, 1.0), card.number(k + 1, 1.0)
    return factors, Further(at[0], (at[1], at[2]), (at[3], at[4]))
