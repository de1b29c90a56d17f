"""Problems of docs/validation.md: errors of exact beams as a function of the number of elements.

Each function of ``STATICS``, ``CRITICAL``, ``MODES`` and ``MOTION`` computes a problem with n elements and returns its
errors by name, and in ``ITERATIONS`` the iterations of Newton's method in one load step.
"""

import sys
from collections.abc import Callable

import numpy as np

from femb import (
    Attachment,
    DistributedLoad,
    ExactBeam,
    Ground,
    JointDriver,
    JointEnd,
    Load,
    Model,
    Path,
    Prismatic,
    Revolute,
    RigidBody,
    Section,
    modes,
    simulate,
    static,
)  # fmt: skip
from femb.profiles import Versine

X, Y, Z = np.eye(3)
Errors = dict[str, float]
Problem = Callable[[int], Errors]
# Elements of the solution that stands for the exact one where none is known.
MANY = 64
ITERATIONS: dict[tuple[str, int], int] = {}


def rod(axial: float, bending: tuple[float, float], torsion: float, shear: float | None = None,
        mass: float = 1.0, inertia: tuple[float, float, float] = (2e-3, 1e-3, 1e-3)) -> Section:  # fmt: skip
    """A section by its stiffnesses; without ``shear`` it does not shear."""
    return Section("rod", axial_stiffness=axial, bending_stiffness=bending, torsional_stiffness=torsion,
                   shear_stiffness=None if shear is None else (shear, shear), mass_per_length=mass,
                   inertia_per_length=inertia)  # fmt: skip


def of(*items: object) -> Model:
    """The model of these items."""
    model = Model()
    for item in items:
        model.add(item)  # type: ignore[type-var]
    return model


def clamped(section: Section, n: int, length: float | None = 1.0, up: object = None, **words: object) -> ExactBeam:
    """A beam "b" from the origin along x, clamped to the ground."""
    start = Attachment(body="ground", direction=X, up=up)
    return ExactBeam("b", section, length, n, start=start, **words)  # type: ignore[arg-type]


def tip_of(name: str, n: int, *items: object) -> np.ndarray:
    """The position (3,) m of the tip of "b" under the full load, in one load step."""
    found = static(of(*items), steps=1)
    ITERATIONS[name, n] = int(found.statistics["newton_iterations"])
    place: np.ndarray = found.beams["b"].position[-1, -1]
    return place


def size(x: np.ndarray) -> float:
    """The norm."""
    return float(np.linalg.norm(x))


# Statics


def bend(n: int) -> Errors:
    """45-degree bend of 100, J = 1/6; the exact rod by shooting, as the following; m."""
    errors = {}
    path = Path(radius=100.0, angle=np.pi / 4)
    for force, shear, place in (
        (300, 5e6, (58.77912, 22.24478, 40.19189)),
        (600, 5e6, (47.15044, 15.68480, 53.47486)),
        (600, None, (47.15215, 15.68536, 53.47176)),
    ):
        name = f"45-degree bend, P = {force}{'' if shear else ', shear-rigid'}, m"
        beam = clamped(rod(1e7, (1e7 / 12, 1e7 / 12), 5e6 / 6, shear), n, None, path=path)
        errors[name] = size(tip_of(name, n, beam, Load("P", beam="b", force=(0, 0, force))) - place)
    return errors


def slender(n: int, ratio: float = 100.0) -> ExactBeam:
    """A cantilever of unit length and bending stiffness, GJ 0.8, L/t = ratio."""
    return clamped(rod(12.0 * ratio**2, (1.0, 1.0), 0.8), n)


def tip_force(n: int) -> Errors:
    """Tip force (0.5, 1, 3) EI/L2 at three slendernesses; against 64 elements; of the length."""
    errors = {}
    for ratio in (5.0, 100.0, 1e4):
        name = f"tip force in space, L/t = {ratio:g}"
        load = Load("P", beam="b", force=(0.5, 1.0, 3.0))
        wanted = tip_of(name, MANY, slender(MANY, ratio), load)
        errors[name] = size(tip_of(name, n, slender(n, ratio), load) - wanted)
    return errors


def elastica(n: int) -> Errors:
    """Transverse dead force, inextensible; elliptic integrals; of the length."""
    errors = {}
    for force, place in ((1, (0.0564332, 0.3017208)), (10, (0.5549956, 0.8106090))):
        name = f"elastica, P L²/EI = {force}"
        found = tip_of(name, n, slender(n, 1e4), Load("P", beam="b", force=(0, force, 0)))
        errors[name] = float(np.hypot(1.0 - found[0] - place[0], found[1] - place[1]))
    return errors


# Tip of the exact rod (edge, flap) in mm.
PRINCETON = {(4.448, 30): (4.750, 39.947), (13.345, 30): (16.775, 117.896), (13.345, 60): (11.715, 181.913),
             (13.345, 90): (0.0, 200.685)}  # fmt: skip


def strip_section() -> Section:
    """The strip of the Princeton tests."""
    a, b, E = 12.3777e-3, 3.2024e-3, 71.7e9
    G = E / 2.62
    k = np.arange(1, 60, 2)
    torsion = a * b**3 * (1 / 3 - 64 / np.pi**5 * (b / a) * np.sum(np.tanh(k * np.pi * a / (2 * b)) / k**5))
    return rod(E * a * b, (E * a * b**3 / 12, E * b * a**3 / 12), G * torsion, 5 / 6 * G * a * b)


def princeton(n: int) -> Errors:
    """The Princeton beam; against 64 elements, which are within 2e-6 m of the exact rod; of the displacement."""
    errors = {}
    for (force, angle), place in PRINCETON.items():
        name = f"Princeton, {force} N, {angle}°"
        along = np.array([0.0, np.cos(np.radians(angle)), np.sin(np.radians(angle))])
        load = Load("P", beam="b", force=force * along)
        wanted = tip_of(name, MANY, clamped(strip_section(), MANY, 0.508), load)
        if size(wanted[1:] - np.array(place) * 1e-3) > 2e-6:
            raise AssertionError(f"{name}: {wanted}")
        errors[name] = size(tip_of(name, n, clamped(strip_section(), n, 0.508), load) - wanted) / size(wanted[1:])
    return errors


def thick(n: int) -> Errors:
    """Cantilevers that shear: that of Geradin and Cardona, and one of 2 x 0.5 x 0.1 m; m."""
    name = "Géradin-Cardona, 600 kN, m"
    section = rod(4.8e8, (9.346e6, 9.346e6), 1e6, 3.231e8)
    found = tip_of(name, n, clamped(section, n, 5.0), Load("P", beam="b", force=(0, -6e5, 0)))
    errors = {name: size(found[:2] - (5.0 - 0.5964713, -2.1596939))}
    name, E, nu, b, h = "thick cantilever, m", 2.07e11, 0.3, 0.1, 0.5
    shear = 10 * (1 + nu) / (12 + 11 * nu) * E / (2 * (1 + nu)) * b * h
    section = rod(E * b * h, (E * b * h**3 / 12, E * b * h**3 / 12), 1e8, shear)
    found = tip_of(name, n, clamped(section, n, 2.0), Load("P", beam="b", force=(0, -5e8 * h**3, 0)))
    return errors | {name: size(found[:2] - (2.0 - 0.150971144, -0.710568598))}


def full_section() -> Section:
    """A section that couples everything."""
    coupling = np.random.default_rng(6).standard_normal((6, 6))
    scale = np.diag([30.0, 20.0, 20.0, 1.0, 1.0, 1.0])
    stiffness = scale @ (coupling @ coupling.T / 6.0 + np.eye(6)) @ scale
    return Section("full", stiffness_matrix=stiffness, mass_matrix=np.diag([1.0, 1.0, 1.0, 0.03, 0.01, 0.02]))


def helix(n: int) -> Errors:
    """A full 6 x 6 section on a helix of 2 rad; force and dead moment at the tip; against 64 elements."""
    name = "6 x 6 section on a helix"
    loads = Load("P", beam="b", force=(0.3, 0.5, 0.8)), Load("M", beam="b", torque=(0.3, -0.4, 0.5))
    places = [tip_of(name, k, clamped(full_section(), k, curvature=(0.9, 1.2, 1.3)), *loads) for k in (MANY, n)]
    return {name: size(places[1] - places[0])}


def varying(n: int) -> Errors:
    """A reference curvature that grows (a clothoid of 0.75 rad), and a taper to 0.4 of the height; 64 elements."""
    from scipy.special import fresnel

    def clothoid(s: float) -> tuple[float, float, float]:
        unit = np.sqrt(np.pi / 1.5)
        sine, cosine = fresnel(s / unit)
        return unit * cosine, unit * sine, 0.0

    def curved(k: int) -> ExactBeam:
        section = rod(12e4, (1.0, 1.0), 0.8)
        return ExactBeam("b", section, 1.0, k, start=Attachment(body="ground"), path=Path(curve=clothoid))

    def tapered(k: int) -> ExactBeam:
        stations = np.linspace(0.0, 1.0, 257)
        sections = [_height(1.0 - 0.6 * s) for s in stations]
        start = Attachment(body="ground", direction=X)
        return ExactBeam("b", None, 1.0, k, start=start, sections=sections, stations=stations)

    load, errors = Load("P", beam="b", force=(0.5, 1.0, 3.0)), {}
    for name, beam in (("curvature that grows", curved), ("taper to 0.4", tapered)):
        places = [tip_of(name, k, beam(k), load) for k in (MANY, n)]
        errors[name] = size(places[1] - places[0])
    return errors


def _height(h: float) -> Section:
    return Section(f"{h:.6f}", axial_stiffness=12e4 * h, bending_stiffness=(h**3, h**3), torsional_stiffness=0.8 * h**3,
                   mass_per_length=h, inertia_per_length=(2e-3, 1e-3, 1e-3))  # fmt: skip


def along(n: int) -> Errors:
    """Loads per length, dead; against 256 elements; of the length."""
    errors = {}
    for name, ratio, words in (
        ("force per length (1, 2, 8) EI/L³, L/t = 100", 100.0, {"force": (1.0, 2.0, 8.0)}),
        ("force per length (1, 2, 8) EI/L³, L/t = 10", 10.0, {"force": (1.0, 2.0, 8.0)}),
        ("moment per length 3 EI/L², L/t = 100", 100.0, {"torque": (0.0, 0.0, 3.0)}),
    ):
        load = DistributedLoad("w", beam="b", **words)  # type: ignore[arg-type]
        places = [tip_of(name, k, slender(k, ratio), load) for k in (4 * MANY, n)]
        errors[name] = size(places[1] - places[0])
    return errors


def root_reaction(n: int) -> Errors:
    """The moment at the root of the 45-degree bend under P = 600; of itself."""
    beam = clamped(rod(1e7, (1e7 / 12, 1e7 / 12), 5e6 / 6, 5e6), n, None, path=Path(radius=100.0, angle=np.pi / 4))
    found = static(of(beam, Load("P", beam="b", force=(0, 0, 600))), steps=1).beams["b"]
    wanted = np.cross((47.15044, 15.68480, 53.47486), (0.0, 0.0, 600.0))
    return {"root moment of the bend, P = 600": size(found.section_moment[-1, 0, 0] - wanted) / size(wanted)}


# Critical loads


def first_critical(model: Model, factor: float, **words: object) -> float:
    """The lowest critical load factor up to ``factor``."""
    found = static(model, factor=factor, steps=6, critical=1, **words)  # type: ignore[arg-type]
    return float(found.critical_load_factors[0])


def columns(n: int) -> Errors:
    """Euler's columns."""
    section = rod(12e6, (1.0, 2.0), 0.8)
    push = Load("P", beam="b", force=(-1.0, 0, 0))
    free = of(clamped(section, n), push)
    beam = ExactBeam("b", section, 1.0, n, start=Attachment(direction=X))
    # the axis about which it is soft is z: y of the sections is across
    ends = [
        Revolute("foot", JointEnd("ground", axis=Y), JointEnd(beam="b", node=0, axis=Y)),
        RigidBody("head", mass=1e-9, inertia=1e-9, position=(1.0, 0, 0)),
        Prismatic("guide", JointEnd("ground", at=(1.0, 0, 0), axis=X), JointEnd("head", axis=X)),
        Revolute("hinge", JointEnd("head", axis=Y), JointEnd(beam="b", node=-1, axis=Y)),
    ]
    held = of(beam, *ends, push)
    return {
        "column, clamped-free": abs(first_critical(free, 3.0) / (np.pi**2 / 4) - 1.0),
        "column, simply supported": abs(first_critical(held, 13.0) / np.pi**2 - 1.0),
    }


def strip(n: int) -> Errors:
    """Lateral-torsional buckling under a tip load, 4.0125993 sqrt(EI GJ)/L2; t/h = 0.002."""
    h, t, E, G = 0.1, 2e-4, 7e10, 2.7e10
    soft, torsion = E * h * t**3 / 12, G * h * t**3 / 3
    section = rod(E * h * t, (E * t * h**3 / 12, soft), torsion)
    unit = np.sqrt(soft * torsion)
    model = of(clamped(section, n), Load("P", beam="b", force=(0, 0, -unit)))
    return {"lateral-torsional": abs(first_critical(model, 5.0) / 4.0125993 - 1.0)}


def right_angle(n: int) -> Errors:
    """The right-angle frame of Argyris, n elements a leg, both signs."""
    E, h, t = 7.124e10, 0.03, 0.0006
    section = rod(E * h * t, (E * h * t**3 / 12, E * t * h**3 / 12), E / 2.62 * h * t**3 / 3, 5 / 6 * E / 2.62 * h * t)
    leg = ExactBeam("leg", section, 0.24, n, start=Ground().at(direction=X))
    arm = ExactBeam("arm", "rod", 0.24, n, start=Attachment(beam="leg", node=-1, direction=(0, -1, 0), up=X))
    model, errors = of(leg, arm, Load("push", beam="arm", force=X)), {}
    for sign, factor, wanted in (("+", 1.5, 1.0875184), ("-", -1.0, -0.6804276)):
        errors[f"right-angle frame, {sign}"] = abs(first_critical(model, factor) / wanted - 1.0)
    return errors


def ring(n: int) -> Errors:
    """A quarter of a ring under a pressure that follows it, 3 EI/R3, and one that keeps its direction, 4; relative."""
    section = rod(1e6, (1e3, 1.0), 1e3)
    quarter = ExactBeam("b", section, np.pi / 2, n, start=Attachment(at=(0, -1, 0), direction=X, up=Y),
                        curvature=(0, 0, 1.0))  # fmt: skip

    def slide(node: int, axis: np.ndarray) -> JointEnd:
        return JointEnd(beam="b", node=node, axis=axis, reference=Z)

    # by symmetry, the ends slide along the radius
    ends = [
        Prismatic("foot", JointEnd("ground", at=(0, -1, 0), axis=Y, reference=Z), slide(0, Y)),
        Prismatic("end", JointEnd("ground", at=(1, 0, 0), axis=X, reference=Z), slide(-1, -Y)),
    ]
    pressure = DistributedLoad("p", beam="b", force=(0, 1.0, 0), frame="body")
    kept = DistributedLoad("p", beam="b", force=lambda s: (-np.sin(s), np.cos(s), 0.0))
    return {
        "ring, n elements in a quarter": abs(first_critical(of(quarter, *ends, pressure), 4.0) / 3.0 - 1.0),
        "ring, pressure of constant direction": abs(first_critical(of(quarter, *ends, kept), 5.0) / 4.0 - 1.0),
    }


def lees_frame(n: int) -> Errors:
    """The first limit load of Lee's frame, 5/2 n elements a leg; against 80 elements a leg; relative."""

    def limit(k: int) -> float:
        section = rod(720.0 * 6.0, (1e3 * 1440.0, 1440.0), 1e3 * 1440.0)
        path = Path(points=[(0, 0, 0), (0, 120, 0), (120, 120, 0)], kinks=True)
        frame = ExactBeam("f", section, elements=2 * k, start=Attachment(at=(0, 0, 0), up=X), path=path)
        ends = [
            Revolute("foot", JointEnd("ground", axis=Z), JointEnd(beam="f", node=0)),
            Revolute("end", JointEnd("ground", at=(120, 120, 0), axis=Z), JointEnd(beam="f", node=-1)),
        ]
        push = Load("P", beam="f", node=k + k // 5, force=(0, -1, 0))
        return first_critical(of(frame, *ends, push), 2.0, arc_length=True)

    return {"Lee's frame, 5/2 n elements a leg": abs(limit(5 * n // 2) / limit(80) - 1.0)}


# Modes


def cantilevers(n: int) -> Errors:
    """A slender cantilever, and one with the radius of gyration 0.05 L and E/kG = 3.12."""
    start = Attachment(body="ground", direction=X)
    thin = ExactBeam("b", rod(12e6, (1.0, 1e4), 1e3, inertia=(2e-8, 1e-8, 1e-8)), 1.0, n, start=start)
    axial = 1.0 / 0.05**2
    thick = Section("rod", axial_stiffness=axial, bending_stiffness=(1.0, 1e4), torsional_stiffness=1e4,
                    shear_stiffness=(1e6, axial / 3.12), mass_per_length=1.0,
                    inertia_per_length=(2 * 0.05**2, 0.05**2, 0.05**2))  # fmt: skip
    errors = {}
    for name, beam, exact in (
        ("slender cantilever", thin, (1.8751040687**2, 4.6940911330**2)),
        ("thick cantilever", ExactBeam("b", thick, 1.0, n, start=start), (3.435275, 19.103623)),
    ):
        found = 2.0 * np.pi * modes(of(beam), 2).frequencies
        for k, wanted in enumerate(exact):
            errors[f"{name}, mode {k + 1}"] = abs(float(found[k]) / wanted - 1.0)
    return errors


def free_free(n: int) -> Errors:
    """A free slender beam."""
    beam = ExactBeam("b", rod(12e6, (1.0, 1e4), 1e3, inertia=(2e-8, 1e-8, 1e-8)), 1.0, n,
                     start=Attachment(at=(0, 0, 0), direction=X))  # fmt: skip
    found = 2.0 * np.pi * modes(of(beam), 2).frequencies
    exact = (4.7300407449**2, 7.8532046241**2)
    return {f"free-free, mode {k + 1}": abs(float(found[k]) / exact[k] - 1.0) for k in range(2)}


def along_the_axis(n: int) -> Errors:
    """Axial vibration and torsion of a cantilever, mode 1: pi/2 times the speed of waves."""
    errors = {}
    for name, axial, torsion in (("axial", 1.0, 1e6), ("torsion", 1e6, 1e-3)):
        found = modes(of(clamped(rod(axial, (1e4, 1e4), torsion, inertia=(1e-3, 1e-3, 1e-3)), n)), 1)
        errors[f"{name}, mode 1"] = abs(4.0 * float(found.frequencies[0]) - 1.0)
    return errors


def rotating(n: int) -> Errors:
    """Flap and lag 1 of a rotating cantilever at eta = 3, hub radius 0."""
    hub = RigidBody("hub", mass=100.0, inertia=(50.0, 50.0, 90.0), angular_velocity=(0.0, 0.0, 3.0))
    section = rod(1e7, (1.0, 1.0), 1.0, inertia=(2e-9, 1e-9, 1e-9))
    beams = [
        ExactBeam(word, section if side < 0 else "rod", 1.0, n, start=Attachment("hub", direction=(side, 0, 0)))
        for word, side in (("left", -1.0), ("right", 1.0))
    ]
    omega = 2.0 * np.pi * modes(of(hub, *beams), 4, held="hub", start="equilibrium").frequencies
    exact = {"flap": 4.79728, "lag": np.sqrt(4.79728**2 - 9.0)}
    return {f"rotating cantilever, {word} 1": float(np.min(np.abs(omega / x - 1.0))) for word, x in exact.items()}


def spinning(n: int) -> Errors:
    """A round cantilever that spins about its own axis at eta = 3: omega - Omega and omega + Omega; relative."""
    hub = RigidBody("hub", mass=1e6, inertia=1e6, angular_velocity=(3.0, 0.0, 0.0))
    section = rod(1e7, (1.0, 1.0), 1e3, inertia=(2e-9, 1e-9, 1e-9))
    beam = ExactBeam("b", section, 1.0, n, start=Attachment("hub", direction=X))
    found = 2.0 * np.pi * modes(of(hub, beam), 4, held="hub", start="equilibrium").frequencies
    errors = {}
    for k, still in enumerate((1.8751040687**2, 4.6940911330**2)):
        error = np.abs(found[2 * k : 2 * k + 2] / (still - 3.0, still + 3.0) - 1.0)
        errors[f"spin about its own axis, mode {k + 1}"] = float(np.max(error))
    return errors


def pretwisted(n: int) -> Errors:
    """A strip of steel pretwisted by 45 degrees; against 64 elements; the largest error of bending modes 1 to 4."""
    found = {k: modes(of(pretwisted_strip(k)), 5).frequencies[[0, 1, 3, 4]] for k in (n, MANY)}
    return {"pretwisted strip, modes 1 to 4": float(np.max(np.abs(found[n] / found[MANY] - 1.0)))}


def pretwisted_strip(n: int) -> ExactBeam:
    """152.4 x 25.4 x 1.7272 mm, 45 degrees of twist."""
    L, b, h, E, G = 0.1524, 0.0254, 0.0017272, 206.85e9, 82.74e9
    section = Section("strip", area=b * h, second_moments=(b * h**3 / 12, h * b**3 / 12), density=7857.6,
                      torsion_constant=b * h**3 / 3 * (1 - 0.63 * h / b), youngs_modulus=E, shear_modulus=G,
                      shear_stiffness=(0.847458 * G * b * h, 0.847458 * G * b * h))  # fmt: skip
    return clamped(section, n, L, curvature=(np.pi / 4 / L, 0.0, 0.0))


# Motion


class SpinUp:
    """The angle of the arm of Simo and Vu-Quoc: its acceleration is 0.4 (1 - cos(2 pi t / 15 s)) rad/s2."""

    breakpoints = ()

    def __call__(self, t: float) -> float:
        return self.derivatives(t)[0]

    def derivatives(self, t: float) -> tuple[float, float, float]:
        """Angle, rate and acceleration."""
        w = 2.0 * np.pi / 15.0
        angle, rate = 0.5 * t * t + (np.cos(w * t) - 1.0) / w**2, t - np.sin(w * t) / w
        return 0.4 * angle, 0.4 * rate, 0.4 * (1.0 - np.cos(w * t))


def spin_up(n: int) -> Errors:
    """The arm of Simo and Vu-Quoc on a driven hinge: the lag of the tip at 6.75 s, -0.573827 m; m."""
    section = rod(2.8e7, (1.4e4, 1.4e4), 1e4, 1e7, 1.2, (1.2e-3, 6e-4, 6e-4))
    hub = RigidBody("hub", mass=1.0, inertia=1.0)
    hinge = Revolute("hinge", JointEnd("ground", axis=Z), JointEnd("hub", axis=Z))
    arm = ExactBeam("b", section, 10.0, n, start=Attachment("hub", direction=X))
    driver = JointDriver("motor", "hinge", SpinUp())
    found = simulate(of(hub, hinge, arm, driver), duration=6.75, output_interval=6.75, rtol=1e-7)
    lag = found.beams["b"].deflection[-1, -1, 1]
    return {"spin-up, m": abs(float(lag) + 0.573827)}


def hub_with_arms(n: int) -> Errors:
    """A hub with two arms of 2 m and a pulse of torque: the largest deflection, 2.03716e-4 m; relative."""
    area, moment, E, G = 2.5e-3, 5.2e-7, 7.17e10, 2.68e10
    section = Section("arm", area=area, second_moments=(moment, moment), torsion_constant=1.04e-6, density=2800.0,
                      youngs_modulus=E, shear_modulus=G, shear_stiffness=(5 / 6 * G * area,) * 2)  # fmt: skip
    hub = RigidBody("hub", mass=22.4, inertia=0.149, angular_velocity=(0.1, 0.1, 0.1))
    arms = [
        ExactBeam(word, section if side < 0 else "arm", 2.0, n,
                  start=Attachment("hub", at=(side * 0.1, 0, 0), direction=(side, 0, 0)))
        for word, side in (("left", -1.0), ("right", 1.0))
    ]  # fmt: skip
    torque = Load("slew", body="hub", torque=(0, 15.0, 0), frame="body", profile=Versine(1.0))
    found = simulate(of(hub, *arms, torque), duration=1.0, output_interval=0.01, rtol=1e-8)
    largest = np.max(np.linalg.norm(found.beams["right"].deflection[:, -1], axis=-1))
    return {"hub with two arms": abs(float(largest) / 2.03716e-4 - 1.0)}


# Side by side with published values


def published() -> dict[str, tuple[tuple[float, ...], np.ndarray]]:
    """By name, published values and those of femb, for the table "published" of the page."""
    path = Path(radius=100.0, angle=np.pi / 4)
    beam = clamped(rod(1e7, (1e7 / 12, 1e7 / 12), 5e6 / 6, 5e6), 16, None, path=path)
    bent = tip_of("", 16, beam, Load("P", beam="b", force=(0, 0, 600))) - beam.shape.positions[-1]
    # axes of BeamDyn: x = our y, y = our z, z = our x
    twisted = clamped(rod(25e9, (0.130208333e9, 0.520833e9), 0.141872656e9, 8.2604167e9), 16, 10.0,
                      Y, curvature=(np.pi / 20, 0, 0))  # fmt: skip
    moved = tip_of("", 16, twisted, Load("P", beam="b", force=(0, -4e6, 0))) - 10.0 * X
    coupled = static(of(clamped(composite(), 16, 10.0), Load("P", beam="b", force=(0, 0, 150))), steps=1).beams["b"]
    turn = coupled.quaternion[-1, -1]
    found = modes(of(pretwisted_strip(16)), 5).frequencies[[0, 1, 3, 4]]
    swept = modes(swept_rotor(16), 4, held="hub", start="equilibrium").frequencies[[0, 2, 3]]
    sloped = coupled.position[-1, -1] - 10.0 * X
    return {
        "45-degree bend, P = 600: displacement (Bathe, Bolourchi 1979)": ((-23.5, -13.4, 53.4), bent),
        "the same, place (Simo, Vu-Quoc 1986)": ((47.23, 15.79, 53.37), bent + beam.shape.positions[-1]),
        "the same, place (Exudyn, 16 elements)": ((47.171, 15.691, 53.439), bent + beam.shape.positions[-1]),
        "beam twisted by 90°, 4 MN: displacement, m (BeamDyn, one element of order 7)": (
            (1.71810805, -3.59245231, -1.14114462), np.array([moved[2], moved[1], moved[0]])),
        "composite beam, 150 lb: displacement, in (BeamDyn, Dymore; Wang 2017)": (
            (-0.09064, -0.06484, 1.22998), sloped),
        "the same, rotation, 4 tan(angle/4) (BeamDyn, Dymore; Wang 2017)": (
            (0.18445, -0.17985, 0.00488), 4.0 * turn[1:] / (1.0 + turn[0])),
        "pretwisted strip: bending, Hz (Subrahmanyam 1981)": ((61.9, 304.7, 944.5, 1193.0), found),
        "strip with a swept tip, 750 rpm: flap, Hz (experiments: Epps, Chandra 1996)": ((14.7, 26.1, 44.8), swept),
    }  # fmt: skip


def swept_rotor(n: int) -> Model:
    """A strip of aluminium with a tip swept by 45 degrees, at 750 rpm; pounds and inches. Data: GXBeam's example."""
    w, h, E, nu, rho = 1.0, 0.063, 1.06e7, 0.325, 2.51e-4
    area, flap, lag, G = w * h, w * h**3 / 12, h * w**3 / 12, E / (2 * (1 + nu))
    section = Section("strip", axial_stiffness=E * area, torsional_stiffness=G * (flap + lag) / 65.85255016982444,
                      bending_stiffness=(E * flap, E * lag), mass_per_length=rho * area,
                      shear_stiffness=(G * area / 1.2000001839588001, G * area / 14.625127919304001),
                      inertia_per_length=(rho * (flap + lag), rho * flap, rho * lag))  # fmt: skip
    hub = RigidBody("hub", mass=1e6, inertia=1e9, angular_velocity=(0, 0, 750 * np.pi / 30))
    arm = ExactBeam("arm", section, 31.5, 3 * n // 4, start=Attachment("hub", at=(2.5, 0, 0), direction=X))
    tip = ExactBeam("tip", "strip", 6.0, n // 4, start=Attachment(beam="arm", node=-1, direction=(1, -1, 0)))
    return of(hub, arm, tip)


def composite() -> Section:
    """A section of inclined fibres, whose twist couples with bending; pounds and inches."""
    stiffness = np.diag([1368.17, 88.56, 38.78, 16.96, 59.12, 141.47])
    stiffness[3, 4] = stiffness[4, 3] = 17.61
    stiffness[3, 5] = stiffness[5, 3] = -0.351
    stiffness[4, 5] = stiffness[5, 4] = -0.370
    mass = np.diag([8.538, 8.538, 8.538, 1.4433, 0.40972, 1.0336]) * 1e-2
    return Section("composite", stiffness_matrix=1e3 * stiffness, mass_matrix=mass)


STATICS: tuple[Problem, ...] = (bend, tip_force, elastica, princeton, thick, helix, varying, along, root_reaction)
CRITICAL: tuple[Problem, ...] = (columns, strip, right_angle, ring, lees_frame)
MODES: tuple[Problem, ...] = (cantilevers, free_free, along_the_axis, rotating, spinning, pretwisted)
MOTION: tuple[Problem, ...] = (spin_up, hub_with_arms)
TABLES = ("STATICS", "CRITICAL", "MODES", "MOTION")
ELEMENTS = {
    "STATICS": (1, 2, 4, 8, 16),
    "CRITICAL": (1, 2, 4, 8, 16),
    "MODES": (1, 2, 4, 8, 16),
    "MOTION": (1, 2, 4, 8),
}
# One element has neither a node for the load of Lee's frame nor enough modes for the pretwisted strip.
NOT_OF_ONE = (lees_frame, pretwisted)


def counts_of(word: str, problem: Problem) -> tuple[int, ...]:
    """Numbers of elements with which a problem of a table is computed."""
    return tuple(n for n in ELEMENTS[word] if n > 1 or problem not in NOT_OF_ONE)


def shown(values: object) -> str:
    """Numbers of a cell."""
    return ", ".join(f"{x:.6g}" for x in np.asarray(values))


def main(words: list[str]) -> None:
    """Print the tables: ``python docs/validation_exact_beam.py [STATICS | CRITICAL | MODES | MOTION | PUBLISHED]``."""
    for word in words or (*TABLES, "PUBLISHED"):
        if word == "PUBLISHED":
            print("\n| published | value | femb, 16 elements | largest difference |\n| --- | --- | --- | --- |")
            for name, (value, mine) in published().items():
                print(f"| {name} | {shown(value)} | {shown(mine)} | {difference(name, value, mine):.1e} |")
            continue
        counts, found = ELEMENTS[word], dict[str, dict[int, float]]()
        for problem in globals()[word]:
            for n in counts_of(word, problem):
                for name, error in problem(n).items():
                    found.setdefault(name, {})[n] = error
        last = " iterations |" if word == "STATICS" else ""
        print(f"\n| {word.lower()}, error | " + " | ".join(f"n={n}" for n in counts) + " |" + last)
        print("| --- " * (len(counts) + 1 + bool(last)) + "|")
        for name, errors in found.items():
            end = f" {ITERATIONS.get((name, 4), '')} |" if last else ""
            print(f"| {name} | " + " | ".join(f"{errors[n]:.1e}" if n in errors else "" for n in counts) + " |" + end)


def difference(name: str, value: object, mine: np.ndarray) -> float:
    """The largest difference, of the largest value; of frequencies, each of its own."""
    published = np.asarray(value)
    scale = published if "Hz" in name else np.max(np.abs(published))
    return float(np.max(np.abs(mine - published) / scale))


if __name__ == "__main__":
    main(sys.argv[1:])
