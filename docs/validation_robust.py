"""Uncertain models, worst cases and pointing budgets beside an independent program: rows of docs/validation.md.

``python docs/make_validation.py ROBUST`` writes them. "Independent" is a program of numpy and scipy alone, by matrices
of its own, whose numbers are written here. The satellite has a hub of 500 kg, two panels on springs on hinges that turn
with the array, and a law with a lag on each axis (tests/oracles/uncertain_satellite.py).
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from validation_literature import CLOSED, Row, row

import femb
from femb.linear.norms import peak_gain
from femb.linear.pointing_budget import level
from femb.robust.bounds import recentred
from femb.robust.reduction import shapes_of
from femb.robust.worst import proved_level

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from oracles.uncertain_satellite import BY, LAW, attitude_law, satellite
from robust.test_reduction import errors, frequencies, model_at
from robust.test_tuning import tuned_roll_off

INDEPENDENT = "independent program"
QUARTER = {"angle": {"range": [0.0, np.pi / 2]}}
X, Z = "bodies.hub.torque.x", "bodies.hub.torque.z"
CORNER = {"left": 1980.0, "right": 1980.0, "inertia": 270.0, "angle": 0.0}
TURN, RATE, TORQUE = ([f"bodies.hub.{word}.{x}" for x in "xyz"] for word in ("turn", "angular_velocity", "torque"))


def exactness() -> list[Row]:
    """The form against models at random values, the repetitions of an angle, and the form of a file."""

    def opposite(angle: float = 0.7, hub_mass: float = 500.0) -> femb.Model:
        return satellite(angle=angle, other=-angle, hub_mass=hub_mass)

    form, mass = femb.uncertain(satellite, BY, laws=[LAW], points=184), {"hub_mass": {"range": "10 %"}}
    product = femb.uncertain(satellite, {"panel_mass": {"range": "30 %"}} | QUARTER, laws=[LAW], points=20)
    cases = ((satellite, QUARTER), (satellite, QUARTER | mass), (opposite, QUARTER | mass))
    sizes = [femb.uncertain(build, by, laws=[LAW], points=4).sizes[0] for build, by in cases]
    words: dict[str, Any] = {"scale": 1.0}
    return [
        row("form, springs, inertia, angle", "200 sets", "difference of transfer matrices", "femb's models", (0,),
            (form.difference,), 1e-10, **words),
        row("form, mass and angle of the panels", "200 sets", "difference of transfer matrices", "femb's models", (0,),
            (product.difference,), 1e-10, **words),
        row("form, a file closed by numbers", "200 sets", "difference of transfer matrices", "femb's models", (0,),
            (_of_file(form),), 1e-12, **words),
        row("repetitions of an angle", "without and with translations, opposite", "number", INDEPENDENT, (4, 8, 16),
            sizes, 1e-12),
    ]  # fmt: skip


def _of_file(form: femb.Uncertain) -> float:
    from scipy.io import loadmat

    with tempfile.TemporaryDirectory() as folder:
        found = loadmat(form.write(Path(folder) / "form.mat"))
    rng, r, largest = np.random.default_rng(3), sum(form.sizes), 0.0
    for _ in range(20):
        d, s = np.repeat(rng.uniform(-1.0, 1.0, len(form.sizes)), form.sizes), 1j * rng.uniform(0.1, 20.0)
        N = found["d"] + found["c"] @ np.linalg.solve(s * np.eye(len(found["a"])) - found["a"], found["b"])
        own = form.response(abs(s))
        pair = [M[r:, r:] + M[r:, :r] * d @ np.linalg.solve(np.eye(r) - M[:r, :r] * d, M[:r, r:]) for M in (N, own)]
        largest = max(largest, float(np.max(np.abs(pair[0] - pair[1])) / np.max(np.abs(pair[1]))))
    return largest


def reduction() -> list[Row]:
    """A beam of twenty elements in three modes with their derivatives, over three parameters."""
    middle = model_at(0.0, 0.0, 0.0)
    shapes, _ = shapes_of([(middle, [model_at(*d) for d in np.eye(3)])], 3)
    words = "hub with a beam", "3 modes and derivatives"
    alone = {6: (7e-3, 6e-3, 7e-3), 10: (4e-3, 5e-3, 4e-3), 20: (3e-3, 4e-3, 4e-3)}  # more modes do not help
    return [
        row(f"{words[0]}, middle", words[1], "frequencies (rad/s)", INDEPENDENT, (2.73035921, 9.62276821, 25.84579305),
            frequencies(middle), 1e-8),
        row(f"{words[0]}, 48 sets", words[1], "errors of three frequencies", "full model", (0, 0, 0), errors(shapes),
            1e-5, scale=1.0),
        *(row(f"{words[0]}, 48 sets, {count} modes alone", "without derivatives", "errors of three frequencies",
              INDEPENDENT, wanted, errors(shapes_of([(middle, [])], count)[0]), 0.5)
          for count, wanted in alone.items()),
    ]  # fmt: skip


def loops() -> list[Row]:
    """Poles, and margins as outputs of a study, nominal and at the worst corner."""
    form, rows = femb.uncertain(satellite, BY, laws=[LAW], points=2), []
    poles = {
        "middle": (-0.00833824 + 1.61880163j, -0.15223758 + 4.12797296j),
        "worst corner": (-0.00833824 + 1.77331226j, -0.15270255 + 4.90556216j),
    }
    margins = {
        "middle": (0.33585188, 58.319626, 1.05501803, 1.34751747),
        "worst corner": (0.11935636, 33.604327, 0.58639081, 1.94411226),
    }
    values = {"middle": {}, "worst corner": CORNER}
    kinds = ("delay_margin", "phase_margin", "disk_margin", "sensitivity_peak")
    variables = {name: {"values": [form.nominal[name], CORNER[name]]} for name in form.nominal}
    outputs = {kind: {"kind": kind, "channel": X} for kind in kinds}
    study = femb.sweep(femb.Study(satellite, variables, outputs, "list"), form=form)
    for k, (name, wanted) in enumerate(poles.items()):
        found = femb.loop(satellite(**values[name]), [LAW]).poles()
        nearest = [found[np.argmin(np.abs(found - pole))] for pole in wanted]
        parts = [[x for pole in some for x in (pole.real, pole.imag)] for some in (wanted, nearest)]
        rows.append(row(f"poles, {name}", "closed loop", "flexible ones (1/s)", INDEPENDENT, *parts, 1e-7))
        for kind, number in zip(kinds, margins[name], strict=True):
            mesh, quantity = "a study", kind.replace("_", " ")
            rows.append(
                row(f"margins, {name}", mesh, quantity, INDEPENDENT, (number,), (study.outputs[kind][k],), 1e-6)
            )
    return rows


def worst_gains() -> list[Row]:
    """Peaks with the angle of the array: at the worst corner, and proved."""
    rows, form = [], femb.uncertain(satellite, BY, laws=[LAW], points=2)
    cases = (
        ("S, x", X, 0.0, (1, 1, -1, -1), 1.94411226, 1.9633),
        ("(S - T)/2, x", X, 0.5, (1, 1, -1, -1), 1.70534732, 1.7223),
        ("S, z", Z, 0.0, (1, 1, -1, 1), 1.86868205, 1.8872),
    )
    for name, channel, less, corner, wanted, proved in cases:
        closed = form.closed(channel)
        closed.D[-1, -1] -= less
        at = peak_gain(recentred(closed, form.sizes, np.array(corner, dtype=float), np.zeros(4))).gain
        level_of = proved_level(closed, form.sizes, at).level
        rows.append(row(f"peak, {name}", "worst corner", "found", INDEPENDENT, (wanted,), (at,), 1e-7))
        rows.append(row(f"peak, {name}", "7 repetitions", "proved", INDEPENDENT, (proved,), (level_of,), 0.01))
    return rows


def radii() -> list[Row]:
    """Stability radii of loops with two lags, found and proved."""

    def straight(left: float = 1650.0, right: float = 1650.0, inertia: float = 300.0) -> femb.Model:
        return satellite(left, right, inertia, 0.0)

    rows, by = [], {name: range_ for name, range_ in BY.items() if name != "angle"}
    for lag, radius in ((1.0, 2.39038422), (1.5, 3.78139619)):
        form = femb.uncertain(straight, by, laws=[attitude_law((lag, lag))], points=2)
        case = femb.worst(form, channels=[X])["stability_radius", ""]
        problem = f"stability radius, lags 1/({lag:g} s + 1)²"
        rows.append(row(problem, "3 parameters", "found", INDEPENDENT, (radius,), (case.found,), 1e-8))
        rows.append(row(problem, "3 parameters", "proved", INDEPENDENT, (radius,), (case.proved or 0.0,), 0.03))
    return rows


def thin() -> list[Row]:
    """Peaks of resonances that grids miss."""
    rows = []
    wanted = {10.5: (3.20600690e-3, 1.40402563), 1.05: (7.54871854e-3, 1.40284545), 0.105: (8.74229602e-3, 1.40277494)}
    for damping, numbers in wanted.items():
        of = femb.loop(satellite(1650.0, 1000.0, angle=0.0, damping=damping), [LAW], outputs=["joints.left.angle"])
        found = peak_gain(of.closed((X,), ("joints.left.angle",)))
        pair = found.gain, found.omega
        problem = f"thin resonance, {damping:g} N m s/rad"
        rows.append(row(problem, "level sets", "norm, rad/(N m)", INDEPENDENT, numbers[:1], pair[:1], 1e-8))
    return rows


def budgets() -> list[Row]:
    """Windows of noise on all axes, pulses, and levels of harmonics in noise."""
    of, rows = femb.loop(satellite(), [LAW]), []
    noises = [
        femb.NoiseSource(name="torque", inputs=TORQUE, density=1e-6),
        femb.NoiseSource(name="attitude", inputs=[f"{x} error" for x in TURN], density=1e-9),
        femb.NoiseSource(name="rate", inputs=[f"{x} error" for x in RATE], density=1e-10),
    ]
    for window, apart, wanted in (
        (1.0, 10.0, (2.39880077e-5, 2.39396834e-5, 1.52186463e-6, 2.53842493e-5)),
        (10.0, 60.0, (2.39880077e-5, 2.23599269e-5, 8.68666712e-6, 3.15908636e-5)),
        (30.0, 30.0, (2.39880077e-5, 1.70137251e-5, 1.69102830e-5, 2.29832185e-5)),
    ):
        parts = femb.pointing_budget(of, TURN[0], noises, window, apart).parts
        found = [np.sqrt(sum(p.size(word)[0] ** 2 for p in parts)) for word in ("APE", "MPE", "RPE", "PDE")]
        problem = f"pointing, windows of {window:g} s, {apart:g} s apart"
        rows.append(row(problem, "noise on three axes", "APE, MPE, RPE, PDE (rad)", INDEPENDENT, wanted, found, 1e-6))
    for name, wanted in (
        ("torque", (5.13540517e-6, 4.76030272e-6, 1.92663031e-6, 6.72552116e-6)),
        ("attitude", (7.51921198e-6, 7.01074088e-6, 2.71809878e-6, 9.90501241e-6)),
        ("rate", (2.21926470e-5, 2.06919153e-5, 8.02235753e-6, 2.92342395e-5)),
    ):
        noise = [each for each in noises if each.name == name]
        (part,) = femb.pointing_budget(of, TURN[0], noise, 10.0, 60.0).parts
        found = [part.size(word)[0] for word in ("APE", "MPE", "RPE", "PDE")]
        problem = f"pointing, {name} alone, windows of 10 s, 60 s apart"
        rows.append(row(problem, "noise on three axes", "APE, MPE, RPE, PDE (rad)", INDEPENDENT, wanted, found, 1e-6))
    for omega, wanted in ((1.62, (9.0386e-8, 6.3453e-8)), (20.0, (4.4788e-9, 3.1669e-9))):
        source = femb.HarmonicSource(name="wheel", inputs=TORQUE[:1], amplitude=1e-3, frequency=omega)
        (part,) = femb.pointing_budget(of, TURN[0], [source], 10.0).parts
        found = part.amplitude[0, 0], part.size("RPE")[0]
        problem = f"pointing, harmonic at {omega:g} rad/s"
        rows.append(row(problem, "1e-3 N m", "amplitude, RPE (rad)", INDEPENDENT, wanted, found, 1e-4))
    pulse = femb.PulseSource(name="thruster", inputs=TORQUE[:1], size=1.0, length=0.02, rate=0.05)
    variance = femb.pointing_budget(of, TURN[0], [pulse], 10.0).parts[0].variance[0]
    rows.append(row("pointing, pulses", "1 N m, 0.02 s", "rms (rad)", INDEPENDENT, (2.28934084e-5,), np.sqrt(variance),
                    1e-6))  # fmt: skip
    levels = {(1.0, 1.0): 3.53319217, (1.0, 3.0): 5.33297465, (0.2, 1.0): 1.44780042}
    for (sigma, amplitude), wanted in levels.items():
        found = level(sigma, [amplitude])
        problem = f"level of 99.73 %, σ = {sigma:g}, a = {amplitude:g}"
        rows.append(row(problem, "noise and a harmonic", "level", CLOSED, (wanted,), (found,), 1e-7))
    return rows


def tuning() -> list[Row]:
    """A law with a roll-off and a delay of 0.2 s: the least noise with peaks of at most 2 over 16 plants."""
    found = tuned_roll_off()
    words = "roll-off tuned over 16 plants", "three gains"
    return [
        row(*words, "least noise gain", INDEPENDENT, (0.07850768,), (found.least,), 4e-3),  # its grid misses thin peaks
        row(*words, "largest peak", CLOSED, (2.0,), (found.peak,), 1e-4),
    ]


ROBUST: tuple[Callable[[], list[Row]], ...] = (exactness, reduction, loops, worst_gains, radii, thin, budgets, tuning)
