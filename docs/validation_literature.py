"""Statics and modes of the literature, side by side with those of femb: the first table of docs/validation.md.

Each function computes a problem and returns its rows; ``python docs/make_validation.py LITERATURE`` writes them; those
of motions are in validation_motion.py. Sources: "computed", an independent solution to ten digits, by collocation,
roots of frequency equations or series; "closed form"; otherwise the publication.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import validation_modes as modes
import validation_statics as statics
from validation_statics import LEE, X, cantilever, rod, tip_of

import femb
from femb import Attachment, Beam, ExactBeam, Load, Model, Path, Section

COMPUTED, CLOSED = "computed", "closed form"
Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Row:
    """A value of the literature and that of femb. error : the largest difference by ``scale``, the largest reference
    value unless it is given. bound : what a test asks of the error."""

    problem: str
    mesh: str
    quantity: str
    source: str
    reference: Numbers
    found: Numbers
    bound: float
    scale: float = 0.0

    @property
    def error(self) -> float:
        """The largest difference, of the scale."""
        difference = np.max(np.abs(np.subtract(self.found, self.reference)))
        return float(difference / (self.scale or np.max(np.abs(self.reference))))


def row(*words: Any, **more: Any) -> Row:
    """A row with plain numbers."""
    *texts, reference, found, bound = words
    return Row(*texts, tuple(map(float, reference)), tuple(map(float, found)), bound, **more)


# Statics


def elastica() -> list[Row]:
    """The inextensible elastica under a transverse force; shortening, deflection, and the tip's angle."""
    exact = {1: (0.0564332, 0.3017208, 0.4613519), 2: (0.1606417, 0.4934575, 0.7817498),
             5: (0.3876284, 0.7137915, 1.2153681), 10: (0.5549956, 0.8106090, 1.4302855)}  # fmt: skip
    rows = []
    for force, wanted in exact.items():
        model = cantilever(rod(axial_stiffness=1e7), 16, kind=ExactBeam, force=(0, force, 0))
        beam = femb.static(model, steps=2).beams["b"]
        x, y, _ = beam.position[-1, -1]
        found = 1.0 - x, y, beam.euler_angles()[-1, -1, 2]
        rows.append(row(f"elastica, P L²/EI = {force}", "16 exact elements", "u/L, w/L, tip angle (rad)", COMPUTED,
                        wanted, found, 1e-5))  # fmt: skip
    return rows


def end_moment() -> list[Row]:
    """The roll-up of a beam by an end moment M L/EI = t: u = L (sin t/t - 1), w = L (1 - cos t)/t."""
    rows = []
    section = rod(axial_stiffness=1.2e5)
    for share, bound in ((0.5, 1e-4), (1.0, 2e-4)):
        t = 2.0 * np.pi * share
        beam = femb.static(cantilever(section, 16, torque=(0, 0, t), frame="body"), steps=10).beams["b"]
        x, y, _ = beam.position[-1, -1]
        wanted = np.sin(t) / t - 1.0, (1.0 - np.cos(t)) / t
        rows.append(row(f"end moment, M L/EI = {2 * share:g} π", "16 elements", "u/L, w/L", CLOSED, wanted,
                        (x - 1.0, y), bound, scale=1.0))  # fmt: skip
    return rows


def stretched() -> list[Row]:
    """A cantilever that bends and stretches."""
    section = Section("bar", area=0.01, second_moments=(1e-4 / 12, 1e-4 / 12), torsion_constant=1.406e-5,
                      density=7850.0, youngs_modulus=2.07e11, shear_modulus=8e10)  # fmt: skip
    x, y, _ = tip_of(cantilever(section, 16, 2.0, force=(0, -1293750, 0)), steps=2)
    wanted = -0.5085373043, -1.2072398545
    return [row("cantilever with stretch, F = 3 EI/L²", "16 elements", "tip u, w (m)", "computed; Exudyn", wanted,
                (x - 2.0, y), 2e-6)]  # fmt: skip


def geradin() -> list[Row]:
    """The cantilever of Géradin and Cardona under a dead load of 600 kN."""
    section = rod(axial_stiffness=4.8e8, bending_stiffness=(9.346e6, 9.346e6), torsional_stiffness=1e6)
    beam = femb.static(cantilever(section, 16, 5.0, force=(0, -6e5, 0)), steps=2).beams["b"]
    x, y, _ = beam.position[-1, -1]
    found = 5.0 - x, y, -beam.euler_angles()[-1, -1, 2]
    return [row("cantilever of Géradin and Cardona, 600 kN", "16 elements", "tip u, w (m), angle (rad)", COMPUTED,
                (0.5938804, -2.1537615, 0.6724822), found, 1e-6)]  # fmt: skip


def bend() -> list[Row]:
    """The 45-degree bend, J = 1/6."""
    section = rod(axial_stiffness=1e7, bending_stiffness=(1e7 / 12, 1e7 / 12), torsional_stiffness=5e6 / 6)
    model = Model()
    path = Path(radius=100.0, angle=np.pi / 4)
    model.add(Beam("b", section, elements=32, start=Attachment(body="ground", direction=X), path=path))
    model.add(Load("P", beam="b", force=(0, 0, 600)))
    places = femb.static(model, steps=4).beams["b"].position[[2, 4], -1]
    exact = {300: (58.78025, 22.24529, 40.18939), 600: (47.15215, 15.68536, 53.47176)}
    rows = [
        row(f"45-degree bend, P = {force}", "32 elements", "tip (m)", COMPUTED, wanted, found, 5e-5)
        for (force, wanted), found in zip(exact.items(), places, strict=True)
    ]
    published = 47.23, 15.79, 53.37
    source = "Simo, Vu-Quoc 1986, 8 elements, J = 0.141"
    return [*rows, row("45-degree bend, P = 600", "32 elements", "tip (m)", source, published, places[1], 5e-3)]


PRINCETON = {
    0: ((5.358, 0, 0), (10.713, 0, 0), (16.061, 0, 0)),
    30: ((4.750, 39.947, 0.006670), (10.145, 79.451, 0.026375), (16.774, 117.895, 0.058095)),
    60: ((2.862, 68.125, 0.006509), (6.653, 129.916, 0.024096), (11.714, 181.912, 0.048453)),
    90: ((0, 78.077, 0), (0, 146.252, 0), (0, 200.684, 0)),
}


def princeton() -> list[Row]:
    """The Princeton beam under three loads at four angles; displacements and twists of all loads of an angle."""
    a, b, E = 12.3777e-3, 3.2024e-3, 71.7e9
    k = np.arange(1, 60, 2)
    torsion = a * b**3 * (1 / 3 - 64 / np.pi**5 * (b / a) * np.sum(np.tanh(k * np.pi * a / (2 * b)) / k**5))
    section = Section("s", area=a * b, second_moments=(b * a**3 / 12, a * b**3 / 12), torsion_constant=torsion,
                      density=2700.0, youngs_modulus=E, shear_modulus=E / 2.62)  # fmt: skip
    rows = []
    for beta, wanted in PRINCETON.items():
        angle, moved, twists = np.radians(beta), [], []
        for force in (4.448, 8.896, 13.345):
            model = Model()
            model.add(Beam("b", section, 0.508, 16, start=Attachment(body="ground", direction=X, up=(0, 1, 0))))
            model.add(Load("P", beam="b", force=(0.0, force * np.sin(angle), force * np.cos(angle))))
            beam = femb.static(model, steps=1).beams["b"]
            moved += [1e3 * x for x in beam.position[-1, -1, [2, 1]]]
            twists.append(beam.euler_angles()[-1, -1, 0])
        edges = [x for of_load in wanted for x in of_load[:2]]
        words = f"Princeton beam, {beta}°; 4.448, 8.896, 13.345 N", "16 elements"
        rows.append(row(*words, "edge, flap of each load (mm)", COMPUTED, edges, moved, 1e-3))
        if 0 < beta < 90:
            rows.append(row(*words, "twist of each load (rad)", COMPUTED, [w[2] for w in wanted], twists, 1e-3))
    return rows


def critical() -> list[Row]:
    """Critical and limit loads."""
    known = {
        "column": (np.pi**2 / 4.0, "column, P L²/EI", CLOSED, 1e-5),
        "lateral-torsional": (4.0125993, "lateral-torsional buckling, tip load, P L²/√(EI GJ)", COMPUTED, 1e-3),
        "right-angle frame, +": (1.0875184, "right-angle frame (Argyris), push (N)", COMPUTED, 2e-4),
        "right-angle frame, -": (-0.6804276, "right-angle frame (Argyris), pull (N)", COMPUTED, 2e-4),
    }
    rows = []
    known |= {
        f"Lee's frame, {word}": (LEE[word], f"Lee's frame, {word} limit load (kN)", COMPUTED, 2e-4) for word in LEE
    }
    for ratios, n in ((statics.column_ratios, 8), (statics.strip_ratios, 32), (statics.right_angle_ratios, 32),
                      (statics.lee_ratios, 8)):  # fmt: skip
        for name, ratio in ratios(n).items():
            wanted, title, source, bound = known[name]
            mesh = f"{5 * n} elements" if "Lee" in name else f"{n} elements{' a leg' if 'frame' in name else ''}"
            rows.append(
                row(
                    title,
                    mesh,
                    "limit load" if "Lee" in name else "critical load",
                    source,
                    (wanted,),
                    (wanted * ratio,),
                    bound,
                )
            )
    return rows


# Modes


def frequencies() -> list[Row]:
    """Roots of uniform beams, effective masses and inertias of a cantilever."""
    rows = []
    for name, exact in modes.ROOTS.items():
        beta = modes.roots_of(name, 32)
        rows.append(row(f"{name} beam", "32 elements", "roots β L", CLOSED, exact, beta, 5e-6))
    masses, inertias = modes.effective_of(32)
    words = "cantilever, modes 1 to 6", "32 elements"
    rows.append(row(*words, "effective mass, of m", CLOSED, modes.EFFECTIVE, masses, 1e-5))
    rows.append(row(*words, "effective root inertia, of m L²/3", CLOSED, modes.INERTIAS, inertias, 1e-5))
    exact = {"anti, k 0.1, R 0": (10.034035, 25.011193, 62.709947), "anti, k 1, R 0": (4.899577, 22.310512, 61.794873)}
    for name, wanted in exact.items():
        ratio = 0.1 if "0.1" in name else 1.0
        found = modes.hub_frequencies(32, 2.0, 2.0 * ratio / 3.0, 0.0)
        near = [found[np.argmin(np.abs(found - value))] for value in wanted]
        title = f"free hub with two opposite beams, k = {ratio:g}"
        rows.append(row(title, "32 elements a beam", "ω √(m L³/EI)", CLOSED, wanted, near, 1e-5))
    for eta, flap in ((0.0, (3.51602, 22.03449, 61.69721)), (3.0, (4.79728, 23.32026, 62.98497))):
        found = modes.rotating_frequencies(32, eta)
        near = [found[np.argmin(np.abs(found - value))] for value in flap]
        rows.append(row(f"rotating cantilever, η = {eta:g}", "32 elements", "flap ω √(ρA L⁴/EI)",
                        COMPUTED if eta else CLOSED, flap, near, 1e-5))  # fmt: skip
        if eta:
            lag = [float(np.sqrt(value**2 - eta**2)) for value in flap]
            near = [found[np.argmin(np.abs(found - value))] for value in lag]
            words = f"rotating cantilever, η = {eta:g}", "32 elements", "lag ω √(ρA L⁴/EI)"
            rows.append(row(*words, COMPUTED, lag, near, 1e-5))
    return rows


STATICS: tuple[Callable[[], list[Row]], ...] = (elastica, end_moment, stretched, geradin, bend, princeton, critical)
MODES: tuple[Callable[[], list[Row]], ...] = (frequencies,)
