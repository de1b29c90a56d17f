"""Derivatives of outputs beside numbers of programs that share nothing with femb: rows of docs/validation.md.

`python docs/validation_sensitivities.py` prints them, ``python docs/make_validation.py SENSITIVITIES`` writes the page.
The numbers are closed forms, and solutions of 13 digits with the complex step.
"""

import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from validation_literature import CLOSED, Row, row

import femb

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from oracles import two_panels
from validation_sensitivity_cases import (
    BAR,
    BLADE,
    FREE,
    HUB,
    PANEL,
    PENDULUM,
    RAIL,
    ROOT,
    ROTOR,
    SAMPLED,
    SECTION,
    STOP,
    attitude_loop,
)  # fmt: skip

INDEPENDENT = "independent program"


@dataclass(frozen=True)
class Table:
    """A case with numbers of its outputs and of their derivatives.

    of, by : outputs and parameters, as in ``femb.sensitivities``. wanted : by output, its value, NaN where it is not
    known, and the derivatives by the parameters. tolerance : of the values and derivatives, relative to the largest of
    the output times its parameter. factor : of the numbers of femb, whose frequencies are in Hz. source : of the
    numbers.
    """

    case: str
    of: Mapping[str, Any]
    by: Mapping[str, Any]
    wanted: Mapping[str, Sequence[float]]
    tolerance: float = 1e-7
    overrides: Sequence[str] = field(default=())
    factor: float = 1.0
    source: str = INDEPENDENT

    def found(self, folder: Path, overrides: Sequence[str] = ()) -> femb.Sensitivities:
        """The derivatives by femb."""
        path = folder / "case.toml"
        path.write_text(self.case)
        return femb.sensitivities(path, self.of, self.by, overrides=(*self.overrides, *overrides))

    def differences(self, found: femb.Sensitivities) -> np.ndarray:
        """(o, 1 + k) of values, and of derivatives times the value of their parameter, relative to the largest."""
        wanted, numbers = self.relative(found)
        size = np.maximum(np.nanmax(np.abs(wanted), axis=1), np.abs(numbers[:, 0]))
        return np.abs(numbers - wanted) / size[:, None]

    def relative(self, found: femb.Sensitivities) -> tuple[np.ndarray, np.ndarray]:
        """(o, 1 + k) values, and derivatives times the value of their parameter: wanted ones, and those of femb."""
        wanted = np.array([self.wanted[name] for name in found.outputs])
        scale = np.append(1.0, [each.get("scale", p) for each, p in zip(self.by.values(), found.nominal, strict=True)])
        return wanted * scale, np.column_stack([found.values, found.derivatives]) * (scale * self.factor)

    def rows(self, title: str) -> list[Row]:
        """A row for each output."""
        with tempfile.TemporaryDirectory() as folder:
            found = self.found(Path(folder))
        rows = []
        for name, *pair in zip(found.outputs, *self.relative(found), strict=True):
            known = np.isfinite(pair[0])
            by = ", ".join(each for each, here in zip(("value", *self.by), known, strict=True) if here)
            rows.append(row(title, f"{name}: {by}", "derivatives times parameters", self.source,
                            *(numbers[known] for numbers in pair), self.tolerance))  # fmt: skip
        return rows


def _entry(*keys: str, **words: Any) -> dict[str, Any]:
    return {"entries": list(keys), **words}


def _end(of: str, **words: Any) -> dict[str, Any]:
    return {"kind": "final", "of": of, **words}


MOTIONS = {
    "free body": Table(
        FREE,
        {axis: _end(f"body.angular_velocity.{axis}") for axis in "xyz"},
        {"first inertia": _entry("bodies.body.inertia.0")},
        {"x": [np.nan, -0.16777745], "y": [np.nan, -0.04086848], "z": [np.nan, -0.10385248]},
    ),
    "panel with a latch": Table(
        PANEL,
        {
            "instant": {"kind": "event_time", "event": "latches.lock"},
            "hub": _end("hub.euler_angles.z"),
            "angle": _end("hinge.angle", last=4.0),
        },
        {
            "spring": _entry("springs.drive.stiffness"),
            "damper": _entry("springs.drive.damping"),
            "free angle": _entry("springs.drive.free"),
            "mass": _entry("bodies.panel.mass"),
            "inertia": _entry("bodies.panel.inertia.2"),
            "arm": _entry("joints.hinge.second.at.0"),
            "hub inertia": _entry("bodies.hub.inertia.2"),
            "start": _entry("joints.hinge.start"),
        },
        {
            "instant": [
                5.29738001841, -26.916595213, 1.718780482, 0.81994013526, 0.25772979001, 0.76800596077, -5.3044124471,
                0.0073318648359, 1.205271754,
            ],
            "hub": [
                -0.154344294303, 0.0, 0.0, 0.0, -0.011906517379, -0.046057233345, 0.30634048626, 0.0049164232866,
                -0.050238737804,
            ],
            "angle": [
                np.nan, -8.97726834, 0.41272342, np.nan, 0.09054523, np.nan, -1.82733543, np.nan, np.nan,
            ],
        },
    ),
    "pendulum": Table(
        PENDULUM,
        {"at 2 s": _end("pin.angle", last=2.0), "at 10 s": _end("pin.angle")},
        {
            "mass": _entry("bodies.bob.mass"),
            "inertia": _entry("bodies.bob.inertia.1"),
            "arm": _entry("joints.pin.second.at.2"),
            "gravity": _entry("gravity.2"),
            "start": _entry("joints.pin.start"),
        },
        {
            "at 2 s": [
                0.9877583023693, -0.0092502165442, 0.37000866177, 0.56888831747, 0.050164273206, 1.1189207213,
            ],
            "at 10 s": [0.7043571663663, -0.21500572736, 8.6002290943, 13.222852232, 1.1659841687, 3.7435521148],
        },
    ),
    "two masses on a rail": Table(
        RAIL,
        {"distance": _end("slide.stroke")},
        {
            "m1": _entry("bodies.cart.mass"),
            "m2": _entry("bodies.load.mass"),
            "k": _entry("springs.coil.stiffness"),
            "c": _entry("springs.coil.damping"),
            "force": _entry("loads.push.force.0"),
            "duration": _entry("loads.push.profile.duration"),
        },
        {
            "distance": [
                -0.00802541440813, 2.3238176513e-3, 0.038031905262, -1.9086553206e-3, 0.010390483501,
                -2.6751381360e-3, 0.025905663798,
            ]
        },
    ),
    "stop": Table(
        STOP,
        {"place": _end("slide.stroke")},
        {
            "mass": _entry("bodies.block.mass"),
            "speed": _entry("joints.slide.rates"),
            "gap": _entry("springs.bumper.upper"),
            "stiffness": _entry("springs.bumper.stiffness"),
        },
        {"place": [-0.2535729726406, 9.28540547e-3, -0.925716756, 2.0, -9.28540547e-7]},
    ),
    "sampled law": Table(
        SAMPLED,
        {"place": _end("slide.stroke")},
        {
            "mass": _entry("bodies.block.mass"),
            "proportional": _entry("controllers.hold.proportional"),
            "derivative": _entry("controllers.hold.derivative"),
            "period": _entry("controllers.hold.period", "controllers.hold.delay"),
        },
        {
            "place": [
                9.0628236829936e-6, -5.58669558553e-4, -6.38937000915e-4, 7.90484380008e-4, -5.43821217697e-4,
            ]
        },
    ),
}  # fmt: skip
"""Runs in time. The signs of the arm and of gravity are those of their entries."""

OF_BLADE = {
    "k": _entry("springs.flap.stiffness"),
    "rate": _entry(
        "drivers.spin.motion.coefficients.1", "bodies.hub.angular_velocity.2", "bodies.blade.angular_velocity.2",
        value=1.5,
    ),
    "e": _entry("joints.flap.first.at.0"),
    "s": _entry("joints.flap.second.at.0", relative=True),
    "m": _entry("bodies.blade.mass"),
    "Jx": _entry("bodies.blade.inertia.0"),
    "Jy": _entry("bodies.blade.inertia.1"),
}  # fmt: skip
HELD = {f"mode {k}, hub held": {"kind": "natural_frequency", "mode": k, "held": "hub"} for k in (1, 2)}
OF_PANELS = tomllib.loads(two_panels.PARAMETERS)["parameters"]
BY_PANELS = np.array([np.multiply(row, two_panels.LENGTHS.get(by, 1.0)) for by, row in two_panels.DERIVATIVES.items()])
PANELS = partial(Table, two_panels.CASE)
OF_LAW = {
    name: _entry(*(f"controllers.law.{key}.0.{k}" for key in "BD"), relative=True)
    for k, name in enumerate(("K_p", "K_d"))
} | {"k": _entry("springs.left.stiffness", "springs.right.stiffness"), "I": _entry("bodies.hub.inertia.0")}
LOOP = partial(Table, attitude_loop(), by=OF_LAW, tolerance=1e-8)
PAIR = {"forward": 0.695, "backward": 0.456}

STATES = {
    "two panels on a hub": PANELS(
        {f"mode {k}": {"kind": "natural_frequency", "mode": k} for k in (1, 2)},
        OF_PANELS,
        {f"mode {k + 1}": [two_panels.FREQUENCIES[k], *BY_PANELS[:, k]] for k in range(2)},
        factor=2.0 * np.pi,
    ),
    "damping of two panels": PANELS(
        {f"ratio {k}": {"kind": "damping_ratio", "mode": k} for k in (1, 2)},
        OF_PANELS,
        {f"ratio {k - 1}": [np.nan, *BY_PANELS[:, k]] for k in (2, 3)},
        1e-6,
    ),
    "a pair of modes": PANELS(
        HELD,
        {"k1": OF_PANELS["k1"]},
        {name: [two_panels.HELD, slope] for name, slope in zip(HELD, two_panels.HELD_BY_K1, strict=True)},
        1e-8,
        factor=2.0 * np.pi,
    ),
    "two beams on a hub": Table(
        HUB,
        {"antisymmetric": {"kind": "natural_frequency", "mode": 2}},
        {
            "I": _entry("bodies.hub.inertia.2"),
            "EI": _entry("sections.s.bending_stiffness.1"),
            "m": _entry("sections.s.mass_per_length"),
            "L": _entry("beams.left.length", "beams.right.length"),
            "root": _entry("beams.left.start.at.0", "beams.right.start.at.0", relative=True),
        },
        {"antisymmetric": [3.5486521087, -3.40046915e-3, 4.43581514e-4, -0.377092655, -0.409543337, 0.0585513820]},
        1e-5,
        factor=2.0 * np.pi,
        source=CLOSED,
    ),
    "blade on a flap spring": Table(
        BLADE,
        {"flap": {"kind": "natural_frequency", "start": "equilibrium"}},
        OF_BLADE,
        {
            "flap": [
                2.812137915914, 0.0189957979, 0.861649391, 0.307731925, -1.34256454 * 1.2, -0.113740993, -0.0427405452,
                -0.150221043,
            ]
        },
        1e-8,
        factor=2.0 * np.pi,
        source=CLOSED,
    ),
    "column on a root spring": Table(
        ROOT.format(150.0) + SECTION.format(16, "root", "0, 0, 1", -1.0),
        {"load": {"kind": "critical_load", "factor": 30.0}},
        {
            "EI": _entry("sections.s.bending_stiffness.0"),
            "L": _entry("beams.b.length"),
            "kt": _entry("springs.root.stiffness"),
        },
        {"load": [17.7744757458, 0.0491438779, -6.90081283, 0.0529713345]},
        1e-5,
        source=CLOSED,
    ),
    "extensible bar on a root spring": Table(
        BAR,
        {"load": {"kind": "critical_load", "factor": 300.0}},
        {
            "kt": _entry("springs.root.stiffness"),
            "ka": _entry("springs.axial.stiffness"),
            "L": _entry("bodies.tip.position.2", "joints.slide.first.at.2"),
        },
        {"load": [163.339973466, 0.597614304667, -0.0159443179342, -97.6143046672]},
        1e-6,
        source=CLOSED,
    ),
    "elastica": Table(
        SECTION.format(32, "ground", "1, 0, 0", 25.0),
        {"deflection": {"kind": "final", "of": "beams.b.-1.deflection.z", "analysis": "static"}},
        {
            "EI": _entry("sections.s.bending_stiffness.0"),
            "L": _entry("beams.b.length"),
            "load": _entry("loads.tip.force.2"),
        },
        {"deflection": [1.973829921587, -5.70184859e-3, 1.06364234, 0.0456147887]},
        1e-4,
        source=CLOSED,
    ),
    "phase margin of a loop with a delay": LOOP(
        {"phase": {"kind": "phase_margin"}},
        wanted={
            "phase": [1.10855849374, -7.09898242e-3 * 46.65, 1.44405816e-3 * 435.4, 3.26544956e-6, -1.40968129e-4],
        },
        factor=np.pi / 180.0,
    ),
    "margins of a loop with a delay": LOOP(
        {"gain": {"kind": "gain_margin"}, "delay": {"kind": "delay_margin"}},
        wanted={
            "gain": [10.53446944201, -1.11294963e-3 * 46.65, -0.0240756783 * 435.4, -3.92443834e-4, 0.0359013327],
            "delay": [0.2437237721508, -1.03015232e-4 * 46.65, -1.54480539e-4 * 435.4, -8.61495786e-5, 5.96656199e-4],
        },
    ),
    "gyroscopic pair": Table(
        ROTOR,
        {name: {"kind": "pole", "part": "frequency", "frequency": near} for name, near in PAIR.items()},
        {
            "A": _entry("bodies.rotor.inertia.0", "bodies.rotor.inertia.1"),
            "h": _entry("wheels.spin.speed"),
            "k": _entry("springs.pivot.stiffness.0", "springs.pivot.stiffness.1"),
        },
        {
            "forward": [4.3642080737, -0.658730479, 0.150939292, 0.0345857232],
            "backward": [2.8642080737, -0.283730479, -0.0990607076, 0.0345857232],
        },
        1e-8,
        factor=2.0 * np.pi,
        source=CLOSED,
    ),
}  # fmt: skip
"""Modes, critical loads, equilibria and loops. Lengths and gains that are factors have derivatives by these."""


def twice_per_revolution() -> list[Row]:
    """The speed at which the blade is at twice the rotation: W' = -w_p/(w_W - 2)."""
    speed, table = 1.338698881504, STATES["blade on a flap spring"]
    wanted = {"k": 0.0167337360, "e": 0.215919174, "s": -1.15156893 * 1.2, "m": -0.100762281, "Jy": -0.119955097}
    by = OF_BLADE | {"rate": OF_BLADE["rate"] | {"value": speed}}
    with tempfile.TemporaryDirectory() as folder:
        found = Table(table.case, table.of, by, {}).found(Path(folder))
    slopes = 2.0 * np.pi * dict(zip(found.parameters, found.derivatives[0], strict=True))["rate"] - 2.0
    values = [-2.0 * np.pi * found["flap", name] / slopes for name in wanted]
    return [row("blade at twice the rotation", ", ".join(wanted), "derivatives of the speed", CLOSED,
                tuple(wanted.values()), values, 1e-8)]  # fmt: skip


def lightest() -> list[Row]:
    """The lightest tube, and the derivatives of its mass by the limit and the least wall."""
    from study.test_best import BY_LIMIT, BY_WALL, LIGHTEST, RADIUS, slender

    found = femb.sweep(slender())
    k = found.best
    slopes = 1e-4 * found.multipliers["deflection largest"], found.multipliers["wall low"]
    return [
        row("lightest tube", f"{len(found)} runs", "radius (m), mass (kg)", CLOSED, (RADIUS, LIGHTEST),
            (found["radius"][k], found["mass"][k]), 1e-7),
        row("lightest tube", "multipliers", "mass by the limit and by the least wall, kg/m", CLOSED,
            (BY_LIMIT, BY_WALL), slopes, 1e-6),
    ]  # fmt: skip


DEVIATIONS, WITH_PRIOR = (3.2156056, 3.4113831, 0.0553090), (1528.0823300, 1687.0687004, 20.2379734)


def fit() -> list[Row]:
    """Two springs and the mass of the panels from four measured frequencies."""
    from study.test_identification import COLUMNS, TWO

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = {"two.toml": two_panels.CASE, "free.csv": COLUMNS + "1,0.25251,2e-4\n2,0.63982,5e-4\n"}
        texts["held.csv"] = COLUMNS + "1,0.23999,2e-4\n2,0.25211,2e-4\n"
        for file, text in texts.items():
            (folder / file).write_text(text)
        data = [(folder / "free.csv", None), (folder / "held.csv", "hub")]
        found = femb.identify(folder / "two.toml", data, TWO)
        prior = femb.identify(folder / "two.toml", data, TWO, priors={"m_p": 0.1})
    problem, of = "fit of two panels", "k1, k2 (N m/rad), panel (kg)"
    return [
        row(problem, "4 frequencies", of, INDEPENDENT, (1531.19037197, 1690.34553155, 20.31053998), found.values, 1e-8),
        row(problem, "4 frequencies", f"deviations of {of}", INDEPENDENT, DEVIATIONS, found.deviations, 1e-6),
        row(problem, "and a prior of the mass", f"{of} with it", INDEPENDENT, WITH_PRIOR, prior.values, 1e-8),
        row(problem, "4 frequencies", "chi2", INDEPENDENT, (4.47923804,), (found.chi2,), 1e-8),
        row(problem, "4 frequencies", "singular values", INDEPENDENT, (1148.55, 616.19, 282.76), found.singular, 1e-5),
    ]


def scatter() -> list[Row]:
    """Frequencies of two panels whose springs, masses and lengths scatter."""
    from study.test_tolerances import FREQUENCIES, PARAMETERS, SHARES, SIGMA

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.toml"
        path.write_text(two_panels.CASE)
        found = femb.tolerances(path, FREQUENCIES, PARAMETERS)
    problem = "tolerances of two panels"
    return [
        row(problem, "two modes", "deviations (Hz)", INDEPENDENT, SIGMA, found.sigma, 1e-7),
        row(problem, "mode 1", "shares of 4 parameters", INDEPENDENT, SHARES, found.shares[0], 2e-5),
    ]


TABLES = STATES | MOTIONS
OTHERS = (twice_per_revolution, lightest, fit, scatter)


def _rows(title: str) -> Callable[[], list[Row]]:
    of = partial(TABLES[title].rows, title)
    of.__dict__["__name__"] = title
    return of


SENSITIVITIES: tuple[Callable[[], list[Row]], ...] = (*map(_rows, TABLES), *OTHERS)
