"""Problems of statics with known values: displacements under loads, critical and limit loads.

Each function computes a problem with n elements and returns its errors by name. docs/validation_problems.py prints
them.
"""

from collections.abc import Callable

import numpy as np

from femb import (
    Attachment,
    Beam,
    ExactBeam,
    Ground,
    JointEnd,
    Load,
    Model,
    Path,
    Revolute,
    Section,
    static,
)  # fmt: skip

X = (1.0, 0.0, 0.0)
Errors = dict[str, float]


def rod(**words: object) -> Section:
    """A slender section of unit bending stiffness, without rotary inertia to speak of."""
    values: dict[str, object] = {
        "axial_stiffness": 1.2e5,
        "torsional_stiffness": 1.0,
        "bending_stiffness": (1.0, 1.0),
        "mass_per_length": 1.0,
        "inertia_per_length": (2e-9, 1e-9, 1e-9),
    }
    return Section("rod", **(values | words))


def cantilever(
    section: Section, elements: int, length: float = 1.0, kind: type[Beam] | type[ExactBeam] = Beam, **load: object
) -> Model:
    """A beam along x, clamped to the ground, with a load at its tip."""
    model = Model()
    model.add(kind("b", section, length, elements, start=Attachment(body="ground", direction=X)))
    model.add(Load("P", beam="b", **load))
    return model


def tip_of(model: Model, **words: int) -> np.ndarray:
    """The position (3,) m of the tip under the full load."""
    return static(model, **words).beams["b"].position[-1, -1]


def elastica(n: int) -> Errors:
    """Transverse dead force P L2/EI = 1 and 10; the exact rod with EA L2/EI = 1.2e5, by collocation to 1e-10."""
    exact = {1: (0.94356880737, 0.30172241518), 10: (0.44501410746, 0.81067562487)}
    return {
        f"elastica, P L²/EI = {force}": float(
            np.linalg.norm(tip_of(cantilever(rod(), n, force=(0, force, 0)), steps=2)[:2] - place)
        )
        for force, place in exact.items()
    }


def inextensible(n: int) -> Errors:
    """The elastica without stretch under P L2/EI = 1, 2, 5, 10, the largest error, by beams of EA L2/EI = 1e6 and 1e7.

    The less the default beam stretches, the more elements it needs until its membrane strain does not resist bending.
    """
    exact = {
        1: (0.0564332, 0.3017208),
        2: (0.1606417, 0.4934575),
        5: (0.3876284, 0.7137915),
        10: (0.5549956, 0.8106090),
    }
    errors = {}
    for slenderness, axial, kind in ((289, 1e6, Beam), (913, 1e7, Beam), (913, 1e7, ExactBeam)):
        word = ", exact beam" if kind is ExactBeam else ""
        section = rod(axial_stiffness=axial)
        errors[f"elastica without stretch, L/t = {slenderness}{word}"] = max(
            float(np.hypot(x - 1.0 + shortening, y - deflection))
            for force, (shortening, deflection) in exact.items()
            for x, y, _ in [tip_of(cantilever(section, n, kind=kind, force=(0, force, 0)), steps=4)]
        )
    return errors


def stretched(n: int) -> Errors:
    """A cantilever of 2 m that bends and stretches; of its length."""
    section = Section("bar", area=0.01, second_moments=(1e-4 / 12, 1e-4 / 12), torsion_constant=1.406e-5,
                      density=7850.0, youngs_modulus=2.07e11, shear_modulus=8e10)  # fmt: skip
    place = tip_of(cantilever(section, n, 2.0, force=(0, -1293750, 0)), steps=2)
    return {"cantilever with stretch": float(np.linalg.norm(place[:2] - (2.0 - 0.5085373043, -1.2072398545))) / 2.0}


def geradin(n: int) -> Errors:
    """The cantilever of Geradin and Cardona under a dead load; its tip, of the length, and the tip's angle, rad."""
    section = rod(axial_stiffness=4.8e8, bending_stiffness=(9.346e6, 9.346e6), torsional_stiffness=1e6)
    beam = static(cantilever(section, n, 5.0, force=(0, -6e5, 0)), steps=2).beams["b"]
    gap = beam.position[-1, -1, :2] - (5.0 - 0.5938804, -2.1537615)
    angle = beam.euler_angles()[-1, -1, 2] + 0.6724822
    return {"Géradin-Cardona, tip": float(np.linalg.norm(gap)) / 5.0, "Géradin-Cardona, angle": abs(float(angle))}


def roll_up(n: int) -> Errors:
    """A moment that bends a beam to a full circle, in ten load steps."""
    errors = {}
    for slenderness in (100, 1000):
        model = cantilever(rod(axial_stiffness=12.0 * slenderness**2), n, torque=(0, 0, 2 * np.pi), frame="body")
        errors[f"roll-up, L/t = {slenderness}"] = float(np.linalg.norm(tip_of(model, steps=10)))
    return errors


def bend(n: int) -> Errors:
    """45-degree bend of 100 m, P = 300 and 600; the exact Euler-Bernoulli rod; of the radius."""
    section = rod(axial_stiffness=1e7, bending_stiffness=(1e7 / 12, 1e7 / 12), torsional_stiffness=5e6 / 6)
    model = Model()
    path = Path(radius=100.0, angle=np.pi / 4)
    model.add(Beam("b", section, elements=n, start=Attachment(body="ground", direction=X), path=path))
    model.add(Load("P", beam="b", force=(0, 0, 600)))
    places = static(model, steps=4).beams["b"].position[[2, 4], -1]
    exact = ((58.78025, 22.24529, 40.18939), (47.15215, 15.68536, 53.47176))
    errors = np.linalg.norm(places - exact, axis=1) / 100.0
    return {f"45-degree bend, P = {force}": float(error) for force, error in zip((300, 600), errors, strict=True)}


def princeton(n: int) -> Errors:
    """The Princeton beam at 60 degrees under 13.345 N; the exact rod; of its displacement."""
    a, b, E = 12.3777e-3, 3.2024e-3, 71.7e9
    k = np.arange(1, 60, 2)
    torsion = a * b**3 * (1 / 3 - 64 / np.pi**5 * (b / a) * np.sum(np.tanh(k * np.pi * a / (2 * b)) / k**5))
    section = Section("s", area=a * b, second_moments=(b * a**3 / 12, a * b**3 / 12), torsion_constant=torsion,
                      density=2700.0, youngs_modulus=E, shear_modulus=E / 2.62)  # fmt: skip
    model = Model()
    model.add(Beam("b", section, 0.508, n, start=Attachment(body="ground", direction=X, up=(0, 1, 0))))
    angle = np.radians(60.0)
    model.add(Load("P", beam="b", force=(0.0, 13.345 * np.sin(angle), 13.345 * np.cos(angle))))
    exact = np.array([181.912, 11.714]) * 1e-3
    place = tip_of(model, steps=2)
    return {"Princeton beam, 60°": float(np.linalg.norm(place[1:] - exact) / np.linalg.norm(exact))}


# Critical loads


def column_ratios(n: int) -> Errors:
    """The critical load of a clamped-free column, of pi2/4 EI/L2."""
    found = static(cantilever(rod(axial_stiffness=1e8, bending_stiffness=(1.0, 2.0)), n, force=(-4, 0, 0)),
                   steps=4, critical=1)  # fmt: skip
    return {"column": 4.0 * float(found.critical_load_factors[0]) / (np.pi**2 / 4.0)}


def strip_ratios(n: int) -> Errors:
    """Lateral-torsional buckling of a strip under a tip load, of 4.0125993 sqrt(EI GJ)/L2."""
    h, t, E, G = 0.1, 2e-4, 7e10, 2.7e10
    section = Section("s", area=h * t, second_moments=(h * t**3 / 12, t * h**3 / 12), torsion_constant=h * t**3 / 3,
                      density=2700.0, youngs_modulus=E, shear_modulus=G)  # fmt: skip
    unit = np.sqrt(E * h * t**3 / 12 * G * h * t**3 / 3)
    model = Model()
    model.add(Beam("b", section, 1.0, n, start=Attachment(body="ground", direction=X, up=(0, 1, 0))))
    model.add(Load("P", beam="b", force=(0, -5.0 * unit, 0)))
    found = static(model, steps=5, critical=1)
    return {"lateral-torsional": 5.0 * float(found.critical_load_factors[0]) / 4.0125993}


def right_angle_ratios(n: int) -> Errors:
    """The critical loads of the right-angle frame of Argyris, n elements a leg, both signs, of the known ones."""
    E, h, t = 7.124e10, 0.03, 0.0006
    section = Section("strip", area=h * t, second_moments=(h * t**3 / 12, t * h**3 / 12), density=2700.0,
                      torsion_constant=h * t**3 / 3, youngs_modulus=E, shear_modulus=E / 2.62)  # fmt: skip
    model = Model()
    model.add(Beam("leg", section, 0.24, n, start=Ground().at(direction=X)))
    model.add(Beam("arm", "strip", 0.24, n, start=Attachment(beam="leg", node=-1, direction=(0, -1, 0), up=X)))
    model.add(Load("push", beam="arm", force=X))
    ratios = {}
    for sign, factor, wanted in (("+", 1.5, 1.0875184), ("-", -1.0, -0.6804276)):
        found = static(model, factor=factor, steps=6, critical=1)
        ratios[f"right-angle frame, {sign}"] = float(found.critical_load_factors[0]) / wanted
    return ratios


def errors_of(ratios: Callable[[int], Errors]) -> Callable[[int], Errors]:
    """The relative errors of a function of ratios."""
    return lambda n: {name: abs(ratio - 1.0) for name, ratio in ratios(n).items()}


# Limit loads, kN, of the exact rod by shooting: tests/cases/test_limit_loads_of_lees_frame.py.
LEE = {"largest": 1.8556727538, "least": -0.9414431556}


def lee_ratios(n: int) -> Errors:
    """Lee's frame with 5 n elements through both of its limit points; the loads there, of the known ones."""
    model = Model()
    section = rod(axial_stiffness=4320.0, bending_stiffness=(1.44e6, 1440.0), torsional_stiffness=1.44e6)
    points = [(0, 0, 0), (0, 120, 0), (120, 120, 0)]
    frame = Beam("f", section, elements=5 * n, start=Attachment(at=(0, 0, 0), up=X),
                 path=Path(points=points, kinks=True))  # fmt: skip
    model.add(frame)
    model.add(Revolute("foot", JointEnd("ground", axis=(0, 0, 1)), JointEnd(beam="f", node=0)))
    model.add(Revolute("end", JointEnd("ground", at=(120, 120, 0), axis=(0, 0, 1)), JointEnd(beam="f", node=-1)))
    model.add(Load("P", beam="f", node=3 * n, force=(0, -1, 0)))
    found = static(model, factor=2.0, steps=10, arc_length=True, critical=2).critical_load_factors
    return {
        f"Lee's frame, {word}": float(value) / wanted for value, (word, wanted) in zip(found, LEE.items(), strict=True)
    }


column, strip, right_angle, lee = map(errors_of, (column_ratios, strip_ratios, right_angle_ratios, lee_ratios))

STATICS: tuple[Callable[[int], Errors], ...] = (elastica, inextensible, stretched, geradin, roll_up, bend, princeton)
CRITICAL: tuple[Callable[[int], Errors], ...] = (column, strip, right_angle, lee)
