"""Make the pictures of the documentation: ``python docs/make_images.py [NAME ...]``, a minute or two for all of them.

Runs the cases of ``cases/`` into a temporary folder and draws into ``docs/images`` with the commands of `PICTURES`,
but for one figure that puts three runs together, and one of a static path. That of docs/performance.md is drawn by
``tests/bench/bench_mechanisms.py``.
"""

import shlex
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from femb import FembError, Results, load_case, simulate, static
from femb.cli import cli
from femb.export.drawing import Panel, table
from femb.numerics.euler import to_euler

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"

SOFT = ("sections.boom.youngs_modulus=2e7", "sections.boom.shear_modulus=8e6")
ABOVE = " --azimuth -90 --elevation 90"
PICTURES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "satellite_free_nodes": ("satellite_free", (), "plot --what nodes --dpi 64"),
    "satellite_forced_nodes": ("satellite_forced", (), "plot --what nodes --dpi 64"),
    "satellite_forced": ("satellite_forced", (), "plot --dpi 90"),
    "soft_satellite": ("satellite_forced", SOFT, "picture --times 0,0.75,1.5,2.25,3 --azimuth -70 --elevation 20"),
    "cantilever_tip_load": ("cantilever_tip_load", (), "picture --times 0,0.03,0.036,0.049" + ABOVE),
    "cantilever_tip_load_tips": ("cantilever_tip_load", (), "plot --what tips --dpi 90"),
    "spinning_boom_audit": ("spinning_boom", (), "plot --what audit --dpi 90"),
    "satellite_four_arms": ("satellite_four_arms", (), "plot --dpi 90"),
    "satellite_deployment": ("satellite_deployment", (), "plot --dpi 90"),
    "satellite_two_arrays": ("satellite_two_arrays", (), "plot --dpi 90"),
    "l_frame": ("l_frame", (), "picture --times 0,4.35,4.6,4.8,6 --azimuth -55 --elevation 25"),
    "flexible_rotor": ("flexible_rotor", (), "plot --dpi 90"),
    "snake_arm": ("snake_arm", (), "picture --times 0,0.5,1,2,10" + ABOVE),
    "robot_arm_inverse": ("robot_arm_inverse", (), "plot --dpi 90"),
    **{f"rigid_body_{name}": (f"rigid_body_{name}", (), "plot --dpi 90")
       for name in ("free", "dual_euler_torque", "body_torque")},
    **{f"thompson_{name}": (f"thompson_{name}", (), "plot --dpi 90")
       for name in ("aircraft", "pendulum", "satellite", "connected", "rotorcraft", "wind_turbine")},
}  # fmt: skip
"""Name of a picture -> case, what is set in it, and the femb command that draws its results."""


def run(name: str, *overrides: str, out: Path) -> Path:
    """Run a case of ``cases/`` into a file; one that stops by itself leaves what it has until then."""
    (path,) = (ROOT / "cases").glob(f"{name}.*")
    case = load_case(path, overrides)
    try:
        simulate(case.model, case.run, case_text=case.text, out=out)
    except FembError as error:
        print(error)
    return out


def draw_snap(path: Path, folder: Path) -> None:
    """Bend of the boom and angle of the hub as the satellite of ``thermal_snap`` is lit, heated in three times."""
    times = {f"{tau} s": f"loads.bending.profile.time_constant={tau}" for tau in (1.0, 3.0, 10.0)}
    files = [run("thermal_snap", override, out=folder / f"snap{k}.h5") for k, override in enumerate(times.values())]
    all_results = [Results.read(file) for file in files]
    tips = np.stack([results.beams["boom"].deflection[:, -1, 1] for results in all_results], axis=1)
    angles = np.stack([to_euler(results.bodies["hub"].quaternion)[:, 2] for results in all_results], axis=1)
    rows = [
        [Panel("end of the boom", "y", "m", tips, list(times))],
        [Panel("hub", "angle about z", "deg", np.degrees(angles), list(times))],
    ]
    table(all_results[0].time, rows, "Thermal snap: time constant of the gradient").savefig(path, dpi=80)


def draw_path(path: Path) -> None:
    """The static path of ``lees_frame``: the force over the displacement of its point, and the frame at some states."""
    from matplotlib.figure import Figure

    results = static(
        load_case(ROOT / "cases" / "lees_frame.toml").model, factor=2.0, steps=20, arc_length=True, time=1.0
    )
    load, frame = results.load_factor, results.beams["frame"]
    figure = Figure(figsize=(9.5, 4.0), dpi=80, layout="constrained")
    curve, shapes = figure.subplots(1, 2)
    for k, label in ((0, "across"), (1, "down")):
        curve.plot(np.abs(frame.displacement[:, 12, k]), load, ".-", label=label)
    curve.set_xlabel("displacement of the loaded point (m)")
    curve.set_ylabel("force (kN)")
    curve.legend()
    turns = [0, *(1 + np.flatnonzero(np.diff(np.sign(np.diff(load))))), len(load) - 1]
    for k in turns:
        shapes.plot(*frame.position[k, :, :2].T, ".-", label=f"{load[k]:.3g} kN")
    shapes.set_aspect("equal")
    shapes.legend()
    figure.savefig(path)


def main(names: list[str]) -> None:
    """Draw the pictures of some names, or all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)

        @cache
        def results(case: str, overrides: tuple[str, ...]) -> Path:
            return run(case, *overrides, out=folder / f"{case}{len(overrides)}.h5")

        for name in names or [*PICTURES, "thermal_snap", "lees_frame"]:
            if name == "lees_frame":
                draw_path(IMAGES / "lees_frame.png")
                continue
            if name == "thermal_snap":
                draw_snap(IMAGES / "thermal_snap.png", folder)
                continue
            case, overrides, command = PICTURES[name]
            verb, *options = shlex.split(command)
            arguments = [verb, str(results(case, overrides)), *options, "--out", str(IMAGES / f"{name}.png")]
            cli(arguments, standalone_mode=False)


if __name__ == "__main__":
    main(sys.argv[1:])
