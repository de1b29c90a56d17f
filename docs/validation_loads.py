"""Effective masses, base shakes and peak loads of docs/validation.md against closed forms and pyyeti.

Each function computes a problem for a number of modes or elements and returns its errors by name;
docs/validation_problems.py prints them.
"""

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path as FilePath

import numpy as np
from validation_linear import Errors, Numbers, TimeFunction, X, satellite

from femb import Attachment, Beam, Load, Model, Section, modes, peak_loads, quasi_static, shake, simulate
from femb.handover import CraigBampton, hybrid_coordinates
from femb.vibration.participation import Participation

# Effective masses of an array


@cache
def wing() -> Participation:
    """An array of the satellite about its root, all modes."""
    return modes(satellite(), 120, held="hub").appendages[1]


def sums(count: int) -> Errors:
    """What the sum over modes leaves of the rigid mass less the clamped share, of the rigid mass: along z, about x; the
    largest entry of the whole matrix; and the root moment under unit acceleration of the hub, by two ways of recovery.
    """
    part = wing().first(count)
    left = part.residual_mass - part.clamped_mass
    size = np.sqrt(np.outer(np.diag(part.rigid_mass), np.diag(part.rigid_mass)))
    motion = quasi_static(part, np.eye(6)[2])
    exact = -part.rigid_mass[3, 2]
    errors = {
        "mass along z": abs(left[2, 2]) / size[2, 2],
        "inertia about x": abs(left[3, 3]) / size[3, 3],
        "all of the 6 x 6 matrix": np.max(np.abs(left) / size),
        "root moment, mode displacement": abs(motion.root_load("displacement")[0, 3] / exact - 1.0),
        "root moment, mode acceleration": abs(motion.root_load()[0, 3] / exact - 1.0),
    }
    return {name: float(value) for name, value in errors.items()}


FREQUENCIES = np.array([0.1, 0.26, 1.0, 6.0, 40.0])


def peer(count: int) -> Errors:
    """Effective masses of an array, and its dynamic mass at five frequencies, against pyyeti's functions of the same
    Craig-Bampton matrices; of the largest value."""
    from pyyeti import cb
    from pyyeti.nastran import addgrid

    part = hybrid_coordinates(satellite(), count, held="hub", damping=0.01, points={}).appendages[0]
    reduced = CraigBampton.of(part)
    border = np.arange(6)
    worst = 0.0
    for k in range(6):
        theirs = cb.cbtf(reduced.mass, reduced.damping, reduced.stiffness, np.eye(6)[k], FREQUENCIES, border).frc
        ours = np.array([part.dynamic_mass(2j * np.pi * f)[:, k] for f in FREQUENCIES]).T
        worst = max(worst, float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs))))
    with tempfile.TemporaryDirectory() as folder:
        found = cb.cbcheck(
            str(FilePath(folder) / "check.txt"), reduced.mass, reduced.stiffness, border, border,
            uset=addgrid(None, 1, "b", 0, [0.0, 0.0, 0.0], 0), em_filt=0, n_freefree_modes=6,
        )  # fmt: skip
    masses = np.abs(np.asarray(found.effmass_percent) / 100.0 - part.fractions)
    return {"effective masses, pyyeti": float(np.max(masses)), "dynamic mass, pyyeti": worst}


# A boom on a shaken base


BETA = np.array([1.8751040687, 4.6940911330, 7.8547574382, 10.9955407349, *(np.pi * (np.arange(5, 13) - 0.5))])
RATIO = (np.sinh(BETA) - np.sin(BETA)) / (np.cosh(BETA) + np.cos(BETA))
MASS, LENGTH, BENDING = 14.0, 2.0, 7.17e10 * 5.2e-7
SHAKEN = ("root force", "root moment", "tip acceleration")


def boom(n: int) -> Model:
    """A clamped tube of 2 m with next to no rotary inertia, n elements."""
    section = Section("tube", mass_per_length=MASS / LENGTH, axial_stiffness=7.17e10 * 2.5e-3,
                      bending_stiffness=(BENDING, BENDING), torsional_stiffness=2e4,
                      inertia_per_length=(2e-9, 1e-9, 1e-9))  # fmt: skip
    model = Model()
    model.add(Beam("boom", section, LENGTH, n, start=Attachment("ground", direction=X)))
    return model


def closed_response(frequencies: Numbers, damping: float) -> Numbers:
    """(3, f) root force, root moment and tip acceleration of the boom for unit acceleration of its base: twelve modes
    in the plane, docs/theory/modes.md, equations (6) and (7)."""
    s = 2j * np.pi * frequencies
    omega = BETA**2 * np.sqrt(BENDING / (MASS * LENGTH**3))
    sign = (-1.0) ** np.arange(12)
    shares = np.array([
        MASS * (2.0 * RATIO / BETA) ** 2,
        MASS * LENGTH * 4.0 * RATIO / BETA**3,
        4.0 * RATIO / BETA * sign,
    ])  # fmt: skip
    kept = s**2 / (s**2 + 2.0 * damping * np.outer(omega, s) + (omega**2)[:, None])
    return np.asarray(np.array([[MASS], [0.5 * MASS * LENGTH], [1.0]]) - shares @ kept)


@cache
def closed_shake() -> tuple[Numbers, float]:
    """RMS values of the random shake, 1 to 2000 Hz, and the peak of the root force by a sine, 1 % damping."""
    f = np.geomspace(1.0, 2000.0, 400_001)
    values = np.abs(closed_response(f, 0.01))
    return np.sqrt(np.trapezoid(values**2, f, axis=1)), float(np.max(values[0]))


def shaken(n: int) -> Errors:
    """Base shake of the boom: RMS values of a flat random acceleration, and the peak of the root force by a sine."""
    outputs = ["appendages.boom.force.z", "appendages.boom.torque.y", "beams.boom.-1.acceleration.z"]
    count = min(27, 6 * n)  # twelve modes in each plane, and three along the boom
    found = shake(boom(n), "z", outputs=outputs, density=([1.0, 2000.0], [1.0, 1.0]), modes=count, damping=0.01)
    assert found.rms is not None
    wanted, peak = closed_shake()
    errors = {
        f"random, RMS of {word}": abs(float(a / b) - 1.0) for word, a, b in zip(SHAKEN, found.rms, wanted, strict=True)
    }
    return errors | {"sine, peak of root force": abs(float(found.peak[0]) / peak - 1.0)}


# Peak loads


def pulsed(n: int) -> Errors:
    """Peak of the root moment of the boom under a pulse sin(pi t/T)^2 N at its tip, T = 0.8 first periods, without
    damping; by twelve modes at the same instants: M(t) = F(t) L - sum of l_r eta''."""
    omega = BETA**2 * np.sqrt(BENDING / (MASS * LENGTH**3))
    duration = 0.8 * 2.0 * np.pi / omega[0]
    rate = 2.0 * np.pi / duration
    model = boom(n)
    model.add(
        Load("push", beam="boom", force=(0.0, 0.0, 1.0), profile=TimeFunction(lambda t: np.sin(0.5 * rate * t) ** 2))
    )
    results = simulate(model, duration=duration, output_interval=duration / 200, rtol=1e-5, atol=1e-11)
    t = results.time
    sign = (-1.0) ** np.arange(12)
    shares = sign * 4.0 * LENGTH / BETA**2  # of the root moment by the force at the tip
    waves = 0.5 * rate**2 * (np.cos(rate * t) - np.cos(np.outer(omega, t))) / (omega**2 - rate**2)[:, None]
    exact = np.sin(0.5 * rate * t) ** 2 * LENGTH - shares @ waves
    peaks = {peak.load: peak for peak in peak_loads(results, ["beams/boom"]).peaks}
    found = peaks["bending moment y"].largest
    return {"root moment, pulse at the tip": abs(found / float(np.max(np.abs(exact))) - 1.0)}


SUMS: tuple[Callable[[int], Errors], ...] = (sums, peer)
SHAKE: tuple[Callable[[int], Errors], ...] = (shaken,)
PEAKS: tuple[Callable[[int], Errors], ...] = (pulsed,)
