"""Make the pictures of the documentation: ``python docs/make_images.py [NAME ...]``, a minute or two for all of them.

Runs the cases of ``cases/`` into a temporary folder and draws into ``docs/images`` with the commands of `PICTURES`, one
figure of three runs, and one of a static path. The pictures of studies in `LONG` are drawn only by name. The figure of
docs/performance.md is drawn by ``tests/bench/bench_mechanisms.py``.
"""

import contextlib
import re
import runpy
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import validation_pictures
from validation_pictures import write

from femb import (
    FembError,
    Results,
    linearize,
    linearize_structure,
    load_case,
    modes,
    pointing,
    shaper,
    simulate,
    static,
)
from femb.cli import cli
from femb.elements import Load
from femb.numerics.euler import to_euler
from femb.numerics.rotations import multiply
from femb.pictures.drawing import PALETTE, Panel, table
from femb.pictures.figures import plot
from femb.pictures.picture import picture
from femb.profiles import Constant

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SETTLING = ROOT / "cases" / "studies" / "satellite_settling.toml"

SOFT = ("sections.boom.youngs_modulus=2e7", "sections.boom.shear_modulus=8e6")
ABOVE = " --azimuth -90 --elevation 90"
FILM = " --fps 12 --dpi 45"
OF_NODES = "displacement.y of left[2], left[1], hub, right[1], right[2] | euler_angles of hub"
PICTURES: dict[str, tuple[str, tuple[str, ...], str]] = {
    **{f"satellite_{name}_nodes": (f"satellite_{name}", (), f'plot --what "{OF_NODES}" --dpi 90')
       for name in ("free", "forced")},
    "satellite_forced": ("satellite_forced", (), "plot --dpi 90"),
    "soft_satellite": ("satellite_forced", SOFT, "picture --times 0,0.75,1.5,2.25,3 --azimuth -70 --elevation 20"),
    "cantilever_tip_load": ("cantilever_tip_load", (), "picture --times 0,0.03,0.036,0.049" + ABOVE),
    "cantilever_tip_load_tips": ("cantilever_tip_load", (), "plot --what tips --dpi 90"),
    "short_boom": ("short_boom", (), "plot --dpi 90"),
    "wind_blade": ("wind_blade", (), "plot --dpi 90"),
    "panel_wing": ("panel_wing", (), "plot --dpi 80"),
    "panel_wing_slew": ("panel_wing", (), "picture --times 0,1,3,5,6 --azimuth -65 --elevation 20 --dpi 80"),
    "panel_slew_motion": ("panel_slew", (), "picture --times 0,0.5,0.6,2,4 --azimuth -65 --elevation 25 --dpi 80"),
    "tape_spring_motion": (
        "tape_spring", (), "picture --times 0,0.2,0.6,1,1.15,1.5 --azimuth -70 --elevation 20 --dpi 80"),
    "rollout_blanket": ("rollout_blanket", (), "plot --dpi 80"),
    "rollout_blanket_slew": ("rollout_blanket", (), "picture --times 0,1,3,7,10 --azimuth -60 --elevation 20 --dpi 80"),
    "solar_sail": ("solar_sail", (), "picture --times 0 --azimuth -50 --elevation 40 --dpi 80"),
    "solar_sail_motion": ("solar_sail", (), "plot --what sail --dpi 80"),
    "spinning_boom_audit": ("spinning_boom", (), "plot --what audit --dpi 90"),
    "satellite_four_arms": ("satellite_four_arms", (), "plot --dpi 90"),
    "satellite_deployment": ("satellite_deployment", (), "plot --dpi 90"),
    "satellite_deployment_motion": (
        "satellite_deployment", (), "picture --times 0,3,5,8,14 --frame hub --azimuth -75 --elevation 40 --dpi 70"),
    "satellite_deployment_film": (
        "satellite_deployment", (),
        "animate --to 14 --speed 2 --fps 10 --frame hub --azimuth -75 --elevation 40 --dpi 50"),
    "soft_satellite_film": ("satellite_forced", SOFT, "animate --to 4 --speed 0.8 --azimuth -70 --elevation 20" + FILM),
    "snake_arm_film": ("snake_arm", (), "animate --to 3 --speed 0.6" + FILM + ABOVE),
    "l_frame_film": ("l_frame", (), "animate --from 3.5 --to 6 --speed 0.5 --azimuth -55 --elevation 25" + FILM),
    "slider_crank_flexible_film": ("slider_crank_flexible", (), "animate --speed 0.02 --azimuth -60" + FILM),
    "satellite_free_model": ("satellite_free", (), "picture --times 0 --azimuth -60 --elevation 20 --dpi 60"),
    "array_deployment": (
        "array_deployment", (), "picture --times 0,3,5,7,9 --frame satellite --azimuth -75 --elevation 15 --dpi 60"),
    "double_pendulum_flexible": ("double_pendulum_flexible", (), "picture --times 0,0.1,0.2,0.3,0.4 --dpi 60"),
    "four_bar_misaligned": ("four_bar_misaligned", (), "picture --times 0,1,2 --dpi 60"),
    **{name: (name, (), "plot --dpi 60")
       for name in ("chain_universal", "iftomm_a01_pendulum", "iftomm_a02_four_bar", "iftomm_a03_squeezer",
                    "iftomm_a04_bricard", "iftomm_a05_governor", "kamman_two_bodies", "rotor_floating",
                    "satellite_hinged_panel", "slider_crank_flexible", "slider_crank_rigid",
                    "spinning_wire_booms", "drive_ripple", "cubesat_antennas", "detumbling",
                    "tape_spring_hinge")},
    "satellite_two_arrays": ("satellite_two_arrays", (), "plot --dpi 90"),
    "satellite_two_arrays_model": ("satellite_two_arrays", (), "picture --times 0 --dpi 60"),
    "satellite_two_arrays_slew": ("satellite_two_arrays_slew", (), "plot --what slew --dpi 70"),
    "l_frame": ("l_frame", (), "picture --times 0,4.35,4.6,4.8,6 --azimuth -55 --elevation 25"),
    "flexible_rotor": ("flexible_rotor", (), "plot --dpi 90"),
    "snake_arm": ("snake_arm", (), "picture --times 0,0.5,1,2,10" + ABOVE),
    "robot_arm_inverse": ("robot_arm_inverse", (), "plot --dpi 90"),
    **{f"rigid_body_{name}": (f"rigid_body_{name}", (), "plot --dpi 90")
       for name in ("free", "dual_euler_torque", "body_torque")},
    **{f"thompson_{name}": (f"thompson_{name}", (), "plot --dpi 90")
       for name in ("aircraft", "pendulum", "satellite", "connected", "rotorcraft", "wind_turbine")},
}  # fmt: skip
"""Name of a picture -> case, its overrides, and the femb command that draws its results."""


def run(name: str, *overrides: str, out: Path) -> Path:
    """Run a case of ``cases/`` into a file; a run that fails leaves its results up to there."""
    (path,) = (ROOT / "cases").glob(f"{name}.*")
    case = load_case(path, overrides)
    try:
        simulate(case.model, case.run, case_text=case.text, out=out)
    except FembError as error:
        print(error)
    return out


def draw_fold(path: Path, folder: Path) -> None:
    """Moment over angle of the fold of ``tape_spring`` in statics, with closed forms, and the run of the case."""
    from matplotlib.figure import Figure

    slowly = load_case(ROOT / "cases" / "tape_spring.toml", ['drivers.fold.motion.after="-90 deg"']).model
    found = static(slowly, time=0.5, steps=40)
    results = Results.read(run("tape_spring", out=folder / "tape.h5"))
    figure = Figure(figsize=(10.0, 4.0), dpi=80, layout="constrained")
    moment, release = figure.subplots(1, 2)
    angle = -np.degrees(found.joints["fold"].coordinates[:, 0])
    moment.plot(angle, -found.drivers["fold"].force.ravel(), ".-", label="femb, 160 mm")
    moment.axhline(0.340, color="0.5", lw=0.9, ls="--", label="peak of a long tape (Wüst)")
    moment.axhline(0.0354, color="0.5", lw=0.9, ls=":", label=r"$(1+\nu)D\alpha$ (Seffen, Pellegrino)")
    moment.set(xlabel="angle of the fold, degrees", ylabel="moment, N m", ylim=(0.0, 0.48))
    moment.legend()
    turned = np.degrees(results.joints["fold"].coordinates[:, 0] + results.joints["grip"].coordinates[:, 0])
    release.plot(results.time, turned)
    release.axvline(0.6, color="0.5", lw=0.9, ls="--")
    release.set(xlabel="time, s", ylabel="angle of the panel, degrees")
    write(figure, path)


def draw_bulge(path: Path, folder: Path) -> None:
    """Deflection of the middle of ``buckling_panel`` over the temperature, in statics, in time and in closed form."""
    from matplotlib.figure import Figure

    build = runpy.run_path(str(ROOT / "cases" / "buckling_panel.py"))["build"]
    found = static(build(), factor=2.0, time=1.0, steps=20)
    results = Results.read(run("buckling_panel", out=folder / "bulge.h5"))
    figure = Figure(figsize=(6.5, 4.0), dpi=80, layout="constrained")
    axes, heat = figure.subplots(), np.linspace(0.0, 2.0, 401)
    closed = np.sqrt(np.maximum(heat - 1.0, 0.0) / (0.375 * 1.3 * 2.7))
    axes.plot(heat, closed, color="0.5", ls="--", label="von Karman, one half wave")
    axes.plot(found.load_factor, 1e3 * np.abs(found.bodies["plate.middle"].displacement[:, 2]), "o", label="statics")
    axes.plot(results.time, 1e3 * np.abs(results.bodies["plate.middle"].displacement[:, 2]), label="run")
    axes.set(xlabel="temperature over the critical one", ylabel="deflection of the middle, mm")
    axes.legend()
    write(figure, path)


def draw_dish(path: Path, folder: Path) -> None:
    """Displacement along the axis of ``dish_thermal`` by each load, from above."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    figure = Figure(figsize=(10.0, 4.2), dpi=80, layout="constrained")
    several = {"through": "3 K through the wall", "across": "30 K across"}
    for axes, (name, title) in zip(figure.subplots(1, 2), several.items(), strict=True):
        model = load_case(ROOT / "cases" / "dish_thermal.toml").model
        model.remove(model.loads["across" if name == "through" else "through"])
        dish = static(model, time=1.0, steps=1).shells["dish"]
        x, y, _ = 1e3 * dish.reference_position.T
        drawn = axes.tricontourf(x, y, 1e6 * dish.displacement[-1, :, 2], 21, cmap="RdBu_r")
        axes.add_patch(Circle((0, 0), 100.0, color="w"))
        axes.set(aspect="equal", title=title, xlabel="x, mm", ylabel="y, mm")
        figure.colorbar(drawn, ax=axes, label="displacement along the axis, um")
    write(figure, path)


def draw_array(path: Path, folder: Path) -> None:
    """The slew of the tutorial on a solar array, as shells and as a reduced body, and the gain of its loop."""
    from matplotlib.figure import Figure

    page = (ROOT / "docs" / "tutorials" / "solar_array_of_shells.md").read_text()
    found: dict[str, Any] = {}
    with contextlib.chdir(folder), contextlib.redirect_stdout(None):
        for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
            exec(text, found)
    figure = Figure(figsize=(10.0, 3.8), dpi=80, layout="constrained")
    slew, gain = figure.subplots(1, 2)
    slew.plot(found["shells"].time, found["corner"], label="shells")
    slew.plot(found["reduced"].time, found["other"], "--", label="reduced body")
    slew.set(xlabel="time, s", ylabel="deflection of the corner, mm")
    slew.legend()
    gain.loglog(found["frequencies"], np.abs(found["loop"]))
    gain.axhline(1.0, color="0.5", lw=0.9)
    gain.set(xlabel="frequency, Hz", ylabel="gain of the loop", xlim=(1e-3, 100.0), ylim=(1e-4, None))
    write(figure, path)


def draw_snap(path: Path, folder: Path) -> None:
    """Deflection of the boom and angle of the hub in ``thermal_snap``, for three time constants of heating."""
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


def draw_path(path: Path, folder: Path) -> None:
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
    write(figure, path)


def draw_mast(path: Path, folder: Path) -> None:
    """The truss of ``lattice_mast`` before and after the slew, or the deflection of its end in all three models."""
    mast = runpy.run_path(str(ROOT / "cases" / "lattice_mast.py"))
    if path.stem == "lattice_mast_slew":
        results = simulate(mast["build"]("truss"), **mast["run"])
        picture(results, path, [0.0, 3.0], azimuth=-70.0, elevation=20.0, dpi=80)
        return
    tips = []
    for kind in ("truss", "superelement", "beam"):
        results = simulate(mast["build"](kind), **mast["run"])
        seen = results.in_frame("hub").bodies
        tips.append(1e3 * (seen["mast.tip"] if "mast.tip" in seen else seen["plate"]).displacement[:, 2])
    shown, others = np.stack(tips, axis=1), np.stack(tips[1:], axis=1) - tips[0][:, None]
    rows = [
        [Panel("end plate, z from the hub", "deflection", "mm", shown, ["truss", "superelement", "beam"])],
        [Panel("difference from the truss", "deflection", "mm", others, ["superelement", "beam"])],
    ]
    table(results.time, rows, "Slew of a lattice mast").savefig(path, dpi=80)


def draw_libration(path: Path, folder: Path) -> None:
    """Pitch of ``boom_in_orbit`` from the vertical, and tension at the root of its boom."""
    case = load_case(ROOT / "cases" / "boom_in_orbit.toml")
    results = simulate(case.model, case.run)
    x, y, _ = results.loads["earth"].position.T
    turned = to_euler(results.bodies["hub"].quaternion)[:, 2]
    pitch = np.degrees(np.unwrap(turned) - np.unwrap(np.arctan2(y, x)))
    tension = 1e6 * results.beams["boom"].section_force[:, 0, 0, 0]
    rows = [
        [Panel("boom", "pitch", "deg", pitch[:, None], ["from the vertical"])],
        [Panel("root of the boom", "tension", "uN", tension[:, None], ["axial force"])],
    ]
    table(results.time, rows, "Satellite with a boom in orbit").savefig(path, dpi=80)


def draw_gradient(path: Path, folder: Path) -> None:
    """Angles of ``gravity_gradient_boom`` from the orbital axes, and the deflection of its tip."""
    results = Results.read(run("gravity_gradient_boom", out=folder / "gradient.h5"))
    half = 0.5 * np.linalg.norm(results.bodies["hub"].angular_velocity[0]) * results.time
    back = np.stack([np.cos(half), 0.0 * half, np.sin(half), 0.0 * half], axis=1)
    angles = np.degrees(to_euler(multiply(back, results.bodies["hub"].quaternion)))
    tip = 1e6 * results.beams["boom"].deflection[:, -1, :2]
    rows = [
        [Panel("hub", "from the orbital axes", "deg", angles, ["roll", "pitch", "yaw"])],
        [Panel("end of the boom", "deflection", "um", tip, ["along the orbit", "across it"])],
    ]
    table(results.time, rows, "Gravity-gradient satellite").savefig(path, dpi=80)


def draw_jitter(path: Path, folder: Path) -> None:
    """Rate of the hub about z in ``wheel_jitter``, and its steady amplitude at the speed of the wheel."""
    results = Results.read(run("wheel_jitter", out=folder / "jitter.h5"))
    speed = results.wheels["z"].speed
    words = ["wheels.z.static_imbalance=0", "wheels.z.dynamic_imbalance=0", "wheels.z.torque=0"]
    several = np.linspace(speed[0], speed[-1], 81)
    steady = []
    for each in several:
        model = load_case(ROOT / "cases" / "wheel_jitter.toml", [*words, f"wheels.z.speed={each}"]).model
        for k, axis in enumerate("xy"):
            across = np.eye(3)[k]
            place = {"body": "hub", "at": model.wheels["z"].at, "frame": "body", "profile": Constant(0.0)}
            model.add(Load(axis, force=2e-5 * across, torque=2e-6 * across, **place))
        space = linearize(
            model,
            inputs=[f"loads.{axis}.{word}" for axis in "xy" for word in ("force", "torque")],
            outputs=["bodies.hub.angular_velocity.z"],
        )
        loads = each**2 * space.B @ [-1j, -1j, -1.0, -1.0]
        steady.append(abs(space.C @ np.linalg.solve(1j * each * np.eye(len(space.A)) - space.A, loads))[0])
    rate = 1e6 * results.bodies["hub"].angular_velocity[:, 2]
    trend = np.polyval(np.polyfit(results.time, rate, 2), results.time)  # the reaction of the motor
    shown = np.stack([rate - trend, 1e6 * np.interp(speed, several, steady)], axis=1)
    rows = [
        [Panel("wheel", "speed", "Hz", speed[:, None] / (2.0 * np.pi), ["relative to the hub"])],
        [Panel("hub", "rate about z, less its trend", "urad/s", shown, ["run", "steady amplitude"])],
    ]
    table(results.time, rows, "A wheel that runs up through a mode").savefig(path, dpi=80)


def draw_shapers(path: Path, folder: Path) -> None:
    """What each shaper of an undamped mode leaves, over frequency."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), dpi=80, layout="constrained")
    axes, ratio = figure.subplots(), np.linspace(0.3, 1.7, 401)
    for kind in ("zv", "zvd", "zvdd", "ei"):
        axes.plot(ratio, 100.0 * shaper(kind, frequencies=1.0).residual(ratio), label=kind)
    axes.axhline(5.0, color="0.5", linewidth=0.8)
    axes.set(xlabel="frequency over that of the shaper", ylabel="residual vibration, %", ylim=(0.0, 100.0))
    axes.legend()
    write(figure, path)


def draw_cycles(path: Path, folder: Path) -> None:
    """The cycle of ``thruster_limit_cycle`` in the plane of turn and rate: rigid, and with panels by two laws."""
    from matplotlib.figure import Figure

    case = runpy.run_path(str(ROOT / "cases" / "thruster_limit_cycle.py"))
    figure = Figure(figsize=(10.0, 4.0), dpi=80, layout="constrained")
    several = {"rigid": (), "with panels": (True,), "with panels, 2 s between pulses": (True, 2.0)}
    for axes, (label, arguments) in zip(figure.subplots(1, 3, sharey=True), several.items(), strict=True):
        results = simulate(case["build"](*arguments), **(case["run"] | {"output_interval": 0.02}))
        hub = results.bodies["hub"]
        turn, rate = 2e3 * hub.quaternion[:, 1], 1e6 * hub.angular_velocity[:, 0]
        axes.plot(turn, rate, lw=0.4)
        axes.plot(turn, 1e6 * results.audit.angular_momentum[:, 0] / case["INERTIA"], lw=1.2)
        for edge in (-1.0, 1.0):
            axes.axvline(edge, color="0.6", lw=0.8, ls="--")
        pulses = results.thrusters["plus_left"].pulses[-1] + results.thrusters["minus_left"].pulses[-1]
        axes.set_title(f"{label}: {pulses:.0f} pulses", fontsize=10)
        axes.set_xlabel("turn, mrad")
    figure.axes[0].set_ylabel("rate, urad/s")
    figure.axes[0].legend(["hub", "mean of all: momentum by inertia"], fontsize=8)
    write(figure, path)


def draw_held(path: Path, folder: Path) -> None:
    """The turn of the satellite in ``array_deployment_closed_loop``, held and free; angles of hinges, the wheel."""
    case = runpy.run_path(str(ROOT / "cases" / "array_deployment_closed_loop.py"))
    held, free = (simulate(case["build"](each), **case["run"]) for each in (True, False))
    turns = np.stack([np.degrees(to_euler(each.bodies["satellite"].quaternion)[:, 1]) for each in (held, free)], axis=1)
    names = [f"hinge_{k}" for k in (1, 2, 3)]
    angles = np.stack([np.degrees(held.joints[name].coordinates[:, 0]) for name in names], axis=1)
    momentum = held.wheels["y"].momentum[:, None]
    rows = [
        [Panel("hinges, held", "angle", "deg", angles, ["root", "middle", "outer"])],
        [Panel("satellite", "turn about y", "deg", turns, ["held", "free"])],
        [Panel("wheel about y, held", "momentum", "N m s", momentum, ["about its axis"])],
    ]
    table(held.time, rows, "Deployment under attitude control").savefig(path, dpi=80)


def draw_budget(path: Path, folder: Path) -> None:
    """Pointing errors over windows of six runs of ``pointing_budget``, and the linear prediction of its study."""
    from matplotlib.figure import Figure

    names = runpy.run_path(str(ROOT / "cases" / "studies" / "pointing_budget.py"))
    windows = np.geomspace(0.1, 30.0, 24)
    linear = 1e6 * np.array(names["predicted"](ROOT / "cases" / "pointing_budget.toml", windows))
    figure = Figure(figsize=(8.0, 4.5), dpi=80, layout="constrained")
    axes = figure.subplots()
    for seed in range(1, 7):
        results = Results.read(run("pointing_budget", f"noise.seed={seed}", out=folder / f"budget{seed}.h5"))
        errors = pointing(results, "controllers.attitude.error", windows, 60.0)
        for word, colour in (("mean", "C0"), ("relative", "C1")):
            axes.loglog(windows, [1e6 * errors.rms(word, each) for each in windows], color=colour, lw=0.7, alpha=0.6)
    for k, (word, colour) in enumerate((("mean", "C0"), ("relative", "C1"))):
        axes.loglog(windows, linear[:, k], color=colour, lw=2.5, ls="--", label=f"{word} error, linear; thin: runs")
    axes.set(xlabel="window, s", ylabel="RMS of all three axes, urad")
    axes.legend()
    write(figure, path)


def draw_slews(path: Path, folder: Path) -> None:
    """Rate of the hub and deflection of a tip in ``slew_flexible``, by the shaped torque and by the unshaped one."""
    bare = 'loads.slew.profile={shape="bang_bang", duration=19.5}'
    both = [Results.read(run("slew_flexible", *words, out=folder / f"slew{len(words)}.h5")) for words in ((bare,), ())]
    rates = np.degrees(np.stack([each.bodies["hub"].angular_velocity[:, 0] for each in both], axis=1))
    tips = 1e3 * np.stack([each.beams["left"].deflection[:, -1, 2] for each in both], axis=1)
    torques = np.stack([each.loads["slew"].torque[:, 0] for each in both], axis=1)
    labels = ["bang-bang", "shaped, ZVD"]
    rows = [
        [Panel("torque on the hub", "about x", "N m", torques, labels)],
        [Panel("hub", "rate about x", "deg/s", rates, labels)],
        [Panel("end of the left boom", "deflection z", "mm", tips, labels)],
    ]
    table(both[0].time, rows, "Slew of a satellite with two booms").savefig(path, dpi=80)


def draw_sloshing(path: Path, folder: Path) -> None:
    """Rate of the hub and displacement of the liquid in ``slosh_slew``, by the shaped torque and the unshaped one."""
    bare = 'loads.slew.profile={shape="bang_bang", duration=22.07}'
    both = [Results.read(run("slosh_slew", *words, out=folder / f"slosh{len(words)}.h5")) for words in ((bare,), ())]
    rates = np.degrees(np.stack([each.bodies["hub"].angular_velocity[:, 1] for each in both], axis=1))
    moved = 1e3 * np.stack([each.tanks["fuel"].displacement[:, 0, 0] for each in both], axis=1)
    torques = np.stack([each.loads["slew"].torque[:, 1] for each in both], axis=1)
    labels = ["bang-bang", "shaped, ZVD"]
    rows = [
        [Panel("torque on the hub", "about y", "N m", torques, labels)],
        [Panel("hub", "rate about y", "deg/s", rates, labels)],
        [Panel("liquid", "displacement x", "mm", moved, labels)],
    ]
    table(both[0].time, rows, "Slew of a stage with a tank").savefig(path, dpi=80)


def draw_shapes(path: Path, folder: Path) -> None:
    """Nine modes of ``satellite_two_arrays``."""
    plot(modes(load_case(ROOT / "cases" / "satellite_two_arrays.toml").model, 9).results(), path, "modes", dpi=70)


def draw_bode(path: Path, folder: Path) -> None:
    """Attitude, rate and root torque of ``satellite_two_arrays`` by the torque on the hub, of a truncated model."""
    space = linearize_structure(
        load_case(ROOT / "cases" / "satellite_two_arrays.toml").model,
        inputs=["bodies.hub.torque.x"],
        outputs=["bodies.hub.turn.x", "bodies.hub.angular_velocity.x", "appendages.left_yoke.torque.x"],
        hub="hub",
        craig_bampton=3,
    )
    space.frequency_response(space.resolving_frequencies()).draw(path, "bode", dpi=70)


def draw_settling(path: Path, folder: Path) -> None:
    """The study of ``satellite_settling``: a histogram of the settling time, or it and the vibration over variables."""
    out = ROOT / "out" / "satellite_settling"
    if not (out / "sweep.h5").exists():
        cli(["sweep", str(SETTLING), "--out", str(out)], standalone_mode=False)
    what = {"": "histogram of settling_time", "_scatter": "scatter of settling_time, vibration"}
    plot(Results.read(out / "sweep.h5"), path, what[path.stem.removeprefix("satellite_settling")], dpi=80)


def draw_settling_sobol(path: Path, folder: Path) -> None:
    """Sobol indices of the vibration in the study of ``satellite_settling``, of 64 samples."""
    few = folder / "satellite_settling.toml"
    text = SETTLING.read_text().replace('"../', f'"{SETTLING.parent.parent}/').replace("runs = 1000", "runs = 64")
    few.write_text(text)
    cli(["sweep", str(few), "--sobol", "--out", str(folder / "sobol")], standalone_mode=False)
    plot(Results.read(folder / "sobol" / "sweep.h5"), path, "sobol of vibration", dpi=80)


def draw_tutorial(path: Path, folder: Path) -> None:
    """The deployment of the tutorial, whose case is a block of its page."""
    page = (ROOT / "docs" / "tutorials" / "deployment.md").read_text()
    case = folder / "fold.toml"
    case.write_text(page.split("```toml title=fold.toml\n")[1].split("```")[0])
    results = simulate(case).in_frame("hub")
    picture(results, path, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0], azimuth=-75.0, elevation=15.0, dpi=60)


def draw_loop(path: Path, folder: Path) -> None:
    """A figure of the tutorials on an attitude loop, whose pages draw it."""
    names = ("attitude_loop", "worst_case") if path.stem == "worst_case_map" else ("attitude_loop",)
    pages = [(ROOT / "docs" / "tutorials" / f"{name}.md").read_text() for name in names]
    blocks = [each for page in pages for each in re.findall(r"```toml title=(\S+)\n(.*?)```", page, re.DOTALL)]
    figure = {"attitude_loop": "loop.png", "attitude_loop_slew": "slew.png", "worst_case_map": "map.png"}[path.stem]
    namespace: dict[str, object] = {}
    with contextlib.chdir(folder):
        for file, text in blocks:
            Path(file).write_text(text)
        for text in re.findall(r"```python\n(.*?)```", pages[-1], re.DOTALL):
            if not Path(figure).exists():
                exec(text, namespace)
        shutil.copyfile(figure, path)


TASKS = {
    "crane": ("what_it_takes", ["run crane.toml", "picture out/crane --times 0,4,6,8,10,13 --azimuth -60 --elevation 25"
                                " --dpi 60 --out crane.png"], "crane.png"),
    "campbell": ("what_it_takes", ["modes rotor.toml --damped --modes 4 --sweep wheels.disc.speed=0:1500:31"],
                 "out/rotor/sweep.png"),
    **{
        f"task_{name}": (
            "what_it_takes",
            [f"run {name}.toml", f'plot out/{name} --what "{what}" --dpi 70 --out {name}.png'], f"{name}.png")
        for name, what in {
            "drive": "drivers/drive/force", "wires": "angular_velocity of hub | deflection.z of east, south",
            "pitch": "angular_velocity.y of satellite", "arm": "rates of shoulder, elbow | deflection.y of upper",
            "tug": "velocity.z of tug | force.z of engine",
        }.items()
    },
    "lightest_boom": ("sweep", ["sweep boom_study.toml", "plot out/boom_study/sweep.h5 --dpi 60"],
                      "out/boom_study/curves.png"),
}  # fmt: skip
"""Name of a picture -> how-to page whose case files it is of, commands, and the file that these write."""


def draw_task(path: Path, folder: Path) -> None:
    """A figure of case files that are blocks of a page."""
    page, commands, file = TASKS[path.stem]
    text = (ROOT / "docs" / "howto" / f"{page}.md").read_text()
    with contextlib.chdir(folder):
        for name, block in re.findall(r"```(?:toml|text) title=(\S+)\n(.*?)```", text, re.DOTALL):
            Path(name).write_text(block)
        for command in commands:
            cli([*shlex.split(command), "--force"], standalone_mode=False)
        shutil.copyfile(file, path)


SCRIPTS = {
    "task_antenna": ("reduce_beams", "torque of antenna | rotation_rate of hub"),
    "task_wheel": ("Reaction wheel and PD", "euler_angles.z of hub | rates of spin"),
}
"""Name of a picture -> what the script on the page of tasks contains whose results it shows, and its quantities."""


def draw_script(path: Path, folder: Path) -> None:
    """A figure of the results of a script on the page of tasks."""
    word, what = SCRIPTS[path.stem]
    text = (ROOT / "docs" / "howto" / "what_it_takes.md").read_text()
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if word in block]
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    plot(namespace["results"], path, what, dpi=70)


DRAWN: dict[str, Callable[[Path, Path], None]] = {
    "thermal_snap": draw_snap,
    "lees_frame": draw_path,
    "tape_spring": draw_fold,
    "tutorial_solar_array": draw_array,
    "buckling_panel": draw_bulge,
    "dish_thermal": draw_dish,
    "boom_in_orbit": draw_libration,
    "shapers": draw_shapers,
    "slew_flexible": draw_slews,
    "slosh_slew": draw_sloshing,
    "wheel_jitter": draw_jitter,
    "thruster_limit_cycle": draw_cycles,
    "pointing_budget": draw_budget,
    "array_deployment_closed_loop": draw_held,
    "gravity_gradient_boom": draw_gradient,
    "lattice_mast": draw_mast,
    "lattice_mast_slew": draw_mast,
    **dict.fromkeys(TASKS, draw_task),
    **dict.fromkeys(SCRIPTS, draw_script),
    "tutorial_deployment": draw_tutorial,
    "attitude_loop": draw_loop,
    "attitude_loop_slew": draw_loop,
    "worst_case_map": draw_loop,
    "satellite_two_arrays_modes": draw_shapes,
    "satellite_two_arrays_bode": draw_bode,
    **validation_pictures.DRAWN,
}
"""Name of a picture of several runs, or of none -> function of its path and of a folder for results."""
LONG: dict[str, Callable[[Path, Path], None]] = {
    "satellite_settling": draw_settling,
    "satellite_settling_scatter": draw_settling,
    "satellite_settling_sobol": draw_settling_sobol,
}
"""The same of studies of many runs, minutes on all cores, which are drawn only when they are named."""


def main(names: list[str]) -> None:
    """Draw the pictures of some names, or all but the long ones."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    matplotlib.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=list(PALETTE))
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)

        @cache
        def results(case: str, overrides: tuple[str, ...]) -> Path:
            return run(case, *overrides, out=folder / f"{case}{len(overrides)}.h5")

        for name in names or [*PICTURES, *DRAWN]:
            if name in DRAWN or name in LONG:
                (DRAWN | LONG)[name](IMAGES / f"{name}.png", folder)
                continue
            case, overrides, command = PICTURES[name]
            verb, *options = shlex.split(command)
            file = IMAGES / f"{name}.{'webp' if verb == 'animate' else 'png'}"
            arguments = [verb, str(results(case, overrides)), *options, "--force", "--out", str(file)]
            cli(arguments, standalone_mode=False)


if __name__ == "__main__":
    main(sys.argv[1:])
