"""Modes with known values, and problems of both kinds of beams.

Each function computes a problem with n elements and returns its errors by name. docs/validation_problems.py prints
them.
"""

from collections.abc import Callable

import numpy as np
from validation_statics import Errors, X, rod, tip_of

from femb import (
    Attachment,
    Beam,
    ExactBeam,
    JointEnd,
    Load,
    Model,
    Path,
    Revolute,
    RigidBody,
    modes,
)  # fmt: skip

ROOTS = {
    "cantilever": (1.8751040687, 4.6940911330, 7.8547574382),
    "free-free": (4.7300407449, 7.8532046241, 10.9956078380),
    "pinned-free": (3.9266023120, 7.0685827456, 10.2101761228),
}


def roots_of(name: str, n: int) -> np.ndarray:
    """The first three roots beta L of a uniform beam of n elements by its ends."""
    section = rod(bending_stiffness=(1.0, 1e4), axial_stiffness=1e7)
    model = Model()
    start = Attachment(body="ground" if name == "cantilever" else None, at=(0, 0, 0), direction=X)
    model.add(Beam("b", section, 1.0, n, start=start))
    if name == "pinned-free":
        model.add(Revolute("pin", JointEnd("ground", axis=(0, 1, 0)), JointEnd(beam="b", node=0, axis=(0, 1, 0))))
    return np.asarray(np.sqrt(2.0 * np.pi * modes(model, 3).frequencies))


def roots(n: int) -> Errors:
    """The first three roots beta L of a uniform beam by its ends, relative, the largest error of the three and of
    the first alone."""
    errors = {}
    for name, exact in ROOTS.items():
        wrong = np.abs(roots_of(name, n) / exact - 1.0)
        errors[f"{name}, first root"] = float(wrong[0])
        errors[f"{name}, three roots"] = float(np.max(wrong))
    section = rod(bending_stiffness=(1.0, 1e4), axial_stiffness=1e7)
    model = Model()
    model.add(ExactBeam("b", section, 1.0, n, start=Attachment(body="ground", direction=X)))
    beta = np.sqrt(2.0 * np.pi * modes(model, 1).frequencies[0])
    errors["cantilever, first root, exact beam"] = abs(float(beta) / ROOTS["cantilever"][0] - 1.0)
    return errors


EFFECTIVE = (0.6130761, 0.1883004, 0.0647322, 0.0330869, 0.0200140, 0.0133978)
INERTIAS = (0.9706882, 0.0247158, 0.0031525, 0.0008209, 0.0003004, 0.0001346)


def effective_of(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The effective masses (6,) of modes 1 to 6 of a cantilever, of its mass, and their effective inertias (6,) about
    the root, of m L2/3."""
    model = Model()
    model.add(RigidBody("hub", mass=1.0, inertia=1.0))
    section = rod(bending_stiffness=(1.0, 1e4), axial_stiffness=1e7)
    model.add(Beam("b", section, 1.0, n, start=Attachment("hub", direction=X)))
    coupling = modes(model, 6, held="hub").appendages[0].coupling
    return coupling[:, 2] ** 2, 3.0 * coupling[:, 4] ** 2


def effective_masses(n: int) -> Errors:
    """The largest errors of the effective masses and inertias."""
    masses, inertias = effective_of(n)
    return {
        "effective masses, modes 1 to 6": float(np.max(np.abs(masses - EFFECTIVE))),
        "effective inertias, modes 1 to 6": float(np.max(np.abs(inertias - INERTIAS))),
    }


HUBS = {
    "anti, k 0.1, R 0": (0.1, 0.0, (10.0340351, 25.0111934, 62.7099469)),
    "anti, k 1, R 0.25": (1.0, 0.25, (5.5271931, 23.2749269, 62.5284092)),
    "sym, mu 0.5": (0.5, None, (4.5632463, 24.8199839, 64.8170548)),
    "sym, mu 1": (1.0, None, (4.2187134, 23.7032800, 63.4519333)),
}


def hub_frequencies(n: int, mass: float, inertia: float, radius: float) -> np.ndarray:
    """(6,) rad/s: the lowest frequencies of a free hub with two opposite beams of n elements at a radius."""
    section = rod(bending_stiffness=(1.0, 1e4), axial_stiffness=1e7)
    model = Model()
    model.add(RigidBody("hub", mass=mass, inertia=inertia))
    for word, side in (("left", -1.0), ("right", 1.0)):
        start = Attachment("hub", at=(side * radius, 0, 0), direction=(side, 0, 0))
        model.add(Beam(word, section, 1.0, n, start=start))
    return np.asarray(2.0 * np.pi * modes(model, 6).frequencies)


def hub(n: int) -> Errors:
    """A free hub with two opposite beams of n elements; the largest relative error of three frequencies."""
    errors = {}
    for name, (ratio, radius, exact) in HUBS.items():
        mass, inertia = (2.0, 2.0 * ratio / 3.0) if radius is not None else (2.0 * ratio, 1.0)
        omega = hub_frequencies(n, mass, inertia, radius or 0.0)
        errors[f"hub, {name}"] = max(float(np.min(np.abs(omega / value - 1.0))) for value in exact)
    return errors


def rotating_frequencies(n: int, eta: float) -> np.ndarray:
    """(12,) rad/s: the lowest frequencies of two opposite cantilevers that turn at the rate eta with a held hub."""
    model = Model()
    model.add(RigidBody("hub", mass=100.0, inertia=(50.0, 50.0, 90.0), angular_velocity=(0.0, 0.0, eta)))
    section = rod(axial_stiffness=1e7)
    for word, side in (("left", -1.0), ("right", 1.0)):
        start = Attachment("hub", direction=(side, 0, 0))
        model.add(Beam(word, section, 1.0, n, start=start))
    return np.asarray(2.0 * np.pi * modes(model, 12, held="hub", start="equilibrium").frequencies)


def rotating(n: int) -> Errors:
    """Flap 1 and 2 of a rotating cantilever at eta = 0 and 3, hub radius 0; relative."""
    errors = {}
    for eta, flap in ((0.0, (3.5160153, 22.0344916)), (3.0, (4.79728, 23.32026))):
        omega = rotating_frequencies(n, eta)
        wrong = max(float(np.min(np.abs(omega / value - 1.0))) for value in flap)
        errors[f"rotating cantilever, eta {eta:g}"] = wrong
    return errors


# Both kinds of beams: docs/howto/beams.md

BOTH: dict[str, type[Beam] | type[ExactBeam]] = {"quaternion": Beam, "exact": ExactBeam}


def large_bend(n: int) -> Errors:
    """45-degree bend of 100 m, P = 600; the exact Euler-Bernoulli rod; of the radius."""
    section = rod(axial_stiffness=1e7, bending_stiffness=(1e7 / 12, 1e7 / 12), torsional_stiffness=5e6 / 6)
    errors = {}
    for word, kind in BOTH.items():
        model = Model()
        path = Path(radius=100.0, angle=np.pi / 4)
        model.add(kind("b", section, elements=n, start=Attachment(body="ground", direction=X), path=path))
        model.add(Load("P", beam="b", force=(0, 0, 600)))
        error = tip_of(model, steps=4) - (47.15215, 15.68536, 53.47176)
        errors[f"45-degree bend, P = 600, {word}"] = float(np.linalg.norm(error)) / 100.0
    return errors


def tip_force(n: int) -> Errors:
    """A tip force (0.5, 1, 3) EI/L^2 on a beam of L/t = 100; against 64 exact elements, of the length."""
    errors = {}
    for word, kind in BOTH.items():
        tips = []
        for elements in (n, 64):
            model = Model()
            used = kind if elements == n else ExactBeam
            start = Attachment(body="ground", direction=X)
            model.add(used("b", rod(torsional_stiffness=0.8), 1.0, elements, start=start))
            model.add(Load("P", beam="b", force=(0.5, 1.0, 3.0)))
            tips.append(tip_of(model, steps=1))
        errors[f"tip force in space, {word}"] = float(np.linalg.norm(tips[0] - tips[1]))
    return errors


def vibrations(n: int) -> Errors:
    """The first modes of bending and of torsion of a slender cantilever."""
    exact = {"bending": 1.8751040687**2, "torsion": 0.5 * np.pi * np.sqrt(0.01 / 2e-6)}
    errors = {}
    for word, kind in BOTH.items():
        for name, wanted in exact.items():
            # bending in one plane, below all else; or torsion, below all else
            stiff = (1.0, 1e6) if name == "bending" else (1e6, 1e6)
            torsion, inertia = (1e3, (2e-9, 1e-9, 1e-9)) if name == "bending" else (0.01, (2e-6, 1e-6, 1e-6))
            section = rod(axial_stiffness=1.2e8, bending_stiffness=stiff, torsional_stiffness=torsion,
                          inertia_per_length=inertia)  # fmt: skip
            model = Model()
            model.add(kind("b", section, 1.0, n, start=Attachment(body="ground", direction=X)))
            found = 2.0 * np.pi * modes(model, 1).frequencies[0]
            errors[f"frequency of {name}, {word}"] = abs(float(found) / wanted - 1.0)
    return errors


MODES: tuple[Callable[[int], Errors], ...] = (roots, effective_masses, hub, rotating)
KINDS: tuple[Callable[[int], Errors], ...] = (large_bend, tip_force, vibrations)
