"""Motions of the literature, side by side with those of femb: rows of the first table of docs/validation.md."""

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
from validation_exact_beam import SpinUp
from validation_literature import COMPUTED, Row, row
from validation_statics import X

import femb
from femb import Attachment, ExactBeam, JointDriver, JointEnd, Model, Revolute, RigidBody, Section

ROOT = Path(__file__).resolve().parent.parent


def script(name: str) -> Any:
    """The module of a case in Python."""
    spec = spec_from_file_location(name, ROOT / "cases" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, suffix: str = "py", **options: Any) -> femb.Results:
    """A case, with other options of its run."""
    words = [f"run.{word}={value}" for word, value in options.items()]
    loaded = femb.load_case(ROOT / "cases" / f"{name}.{suffix}", words)
    return femb.simulate(loaded.model, loaded.run)


def pendulum() -> list[Row]:
    """IFToMM A01."""
    bob = run("iftomm_a01_pendulum", "toml").bodies["bob"]
    wanted = -0.2750874626, -0.9614192051, 4.1755981010, -1.1947490546
    found = *bob.position[-1, :2], *bob.velocity[-1, :2]
    return [
        row("IFToMM A01, pendulum, t = 10 s", "rk, rtol 1e-10", "x, y (m), rates (m/s)", COMPUTED, wanted, found, 1e-8)
    ]


def four_bar() -> list[Row]:
    """IFToMM A02 with two windows, through its singular postures."""
    atol = femb.Tolerances(1e-9, 1e-9)
    found = femb.simulate(script("iftomm_a02_four_bar").build(2), duration=10.0, output_interval=0.1, atol=atol,
                          method="radau", rtol=1e-8)  # fmt: skip
    rod_0 = found.bodies["rod_0"]
    values = *(2.0 * rod_0.position[-1, :2]), *(2.0 * rod_0.velocity[-1, :2])
    wanted = 0.3284581115, 0.9445185382, 1.4230514702, -0.4948688455
    return [row("IFToMM A02, double four-bar, t = 10 s", "radau, rtol 1e-8", "B0 (m), rates (m/s)", COMPUTED, wanted,
                values, 1e-6)]  # fmt: skip


def squeezer() -> list[Row]:
    """IFToMM A03, Andrews' squeezing mechanism, beside the values of the IVP test set."""
    start, joints = script("iftomm_a03_squeezer").START, run("iftomm_a03_squeezer").joints
    signs = {"beta": ("O", 1), "theta": ("crank", 1), "gamma": ("B", 1), "phi": ("knee", -1), "delta": ("A5", 1),
             "omega": ("heel", -1), "epsilon": ("A7", 1)}  # fmt: skip
    found = [start[name] + sign * joints[joint].coordinates[-1, 0] for name, (joint, sign) in signs.items()]
    wanted = (15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805304,
              0.5347301163226948, 1.048080741042263)  # fmt: skip
    return [row("IFToMM A03, Andrews' squeezer, t = 0.03 s", "the case", "seven angles (rad)", "IVP test set", wanted,
                found, 1e-6)]  # fmt: skip


def energies() -> list[Row]:
    """IFToMM A04 and A05: the balance of energy, of the largest energy."""
    rows = []
    for name, title, bound in (
        ("iftomm_a04_bricard.py", "IFToMM A04, Bricard", 1e-6),
        ("iftomm_a05_governor.toml", "IFToMM A05, governor", 1e-4),
    ):
        stem, _, suffix = name.partition(".")
        audit = run(stem, suffix).audit
        scale = float(max(np.max(np.abs(audit.kinetic_energy)), np.max(np.abs(audit.potential_energy))))
        error = float(np.max(np.abs(audit.energy_error)))
        rows.append(row(title, "the case", "energy less work (J)", "balance", (0.0,), (error,), bound, scale=scale))
    return rows


def spin_up() -> list[Row]:
    """The arm of Simo and Vu-Quoc."""
    section = Section("arm", axial_stiffness=2.8e7, bending_stiffness=(1.4e4, 1.4e4), torsional_stiffness=1e4,
                      shear_stiffness=(1e7, 1e7), mass_per_length=1.2,
                      inertia_per_length=(1.2e-3, 6e-4, 6e-4))  # fmt: skip
    model = Model()
    model.add(RigidBody("hub", mass=1.0, inertia=1.0))
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 0, 1)), JointEnd("hub", axis=(0, 0, 1))))
    model.add(ExactBeam("b", section, 10.0, 8, start=Attachment("hub", direction=X)))
    model.add(JointDriver("motor", "hinge", SpinUp()))
    found = femb.simulate(model, duration=12.0, output_interval=0.25, rtol=1e-7)
    moved = found.beams["b"].deflection[:, -1]
    lag = [moved[round(4 * t), 1] for t in (3.0, 6.0, 7.5, 9.0, 12.0)]
    words = "spin-up, Simo and Vu-Quoc", "8 exact elements, rtol 1e-7"
    wanted = -0.21727, -0.54360, -0.55908, -0.46027, -0.15090
    return [
        row(*words, "lag of the tip at 3, 6, 7.5, 9, 12 s (m)", COMPUTED, wanted, lag, 1e-4),
        row(*words, "lag and shortening at 6.75 s (m)", COMPUTED, (-0.573827, -0.018823), moved[27, [1, 0]], 1e-4),
    ]


def satellites() -> list[Row]:
    """Largest middle Euler angle of the hub with two booms, free and forced, and its time."""
    rows = []
    for name, peak, at in (("satellite_free", 83.80, 3.04), ("satellite_forced", 81.55, 5.47)):
        found = run(name, "toml")
        angle = np.degrees(found.bodies["hub"].euler_angles()[:, 1])
        k = int(np.argmax(angle))
        words = f"satellite with two booms, {name.partition('_')[2]}", "the case", "largest angle (deg), time (s)"
        rows.append(row(*words, COMPUTED, (peak, at), (angle[k], found.time[k]), 2e-4))
    return rows


def singular() -> list[Row]:
    """The time at which the dual-Euler torque of a spinning body becomes singular."""
    try:
        run("rigid_body_dual_euler_torque", "toml")
        at = float("nan")
    except femb.SolveError as error:
        at = float(getattr(error, "time", np.nan))
    return [row("dual-Euler torque, rates (1, 10, 1)", "the case", "time of the singularity (s)", COMPUTED, (0.161600,),
                (at,), 1e-5)]  # fmt: skip


MOTION: tuple[Callable[[], list[Row]], ...] = (pendulum, four_bar, squeezer, energies, spin_up, satellites, singular)
