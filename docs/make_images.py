"""Make the pictures of the documentation: ``python docs/make_images.py``, less than a minute.

Runs the cases of ``cases/`` into a temporary folder and draws into ``docs/images``; that of docs/performance.md is
drawn by ``tests/bench/bench_mechanisms.py``.
"""

import tempfile
from pathlib import Path

import numpy as np

from femb import Results, load_case, rotations, simulate
from femb.euler import euler_rates, to_euler
from femb.export.drawing import Panel, table
from femb.plots import picture, plot
from femb.profiles import Versine

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
NODES = [f"node {k}" for k in range(1, 6)]


def run(name: str, *overrides: str) -> Results:
    """Results of a case of ``cases/``."""
    case = load_case(ROOT / "cases" / f"{name}.toml", overrides)
    with tempfile.TemporaryDirectory() as folder:
        return simulate(case.model, case.run, case_text=case.text, out=Path(folder) / "results.h5")


def satellite_nodes(results: Results) -> dict[str, np.ndarray]:
    """Motion of the five nodes of the satellite, from the end of the left boom to that of the right one, (T, 5, ...).

    displacement (m) from the start and velocity (m/s), inertial axes; quaternion and its rate (1/s), Euler angles and
    their rates (deg, deg/s) of each node's rotation since the start.
    """
    hub, left, right = results.bodies["hub"], results.beams["left"], results.beams["right"]
    columns = []
    for beam, nodes in ((left, (2, 1)), (None, (0,)), (right, (1, 2))):
        for k in nodes:
            if beam is None:
                turn, omega = hub.quaternion, hub.angular_velocity
                columns.append((hub.position - hub.position[0], hub.velocity, turn, omega))
            else:
                # the node's section is turned by a constant from the axes in which its rotation is counted
                omega = rotations.rotate(beam.reference_quaternion[k], beam.angular_velocity[:, k])
                columns.append((beam.displacement[:, k], beam.velocity[:, k], beam.rotation[:, k], omega))
    move, speed, turn, omega = (np.stack(each, axis=1) for each in zip(*columns, strict=True))
    return {
        "displacement": move,
        "velocity": speed,
        "quaternion": turn,
        "quaternion rate": rotations.quaternion_rate(turn, omega),
        "Euler angle": np.degrees(to_euler(turn, unwrap=True)),
        "Euler rate": np.degrees(euler_rates(turn, omega)),
    }


def draw_nodes(results: Results, title: str, path: Path) -> None:
    """The quantities of chapter 4 of the thesis, one row each, for every node."""
    components = {
        "displacement": ("u", "v", "w"),
        "velocity": ("u'", "v'", "w'"),
        "quaternion": ("p0", "p1", "p2", "p3"),
        "quaternion rate": ("p0'", "p1'", "p2'", "p3'"),
        "Euler angle": (r"$\psi$", r"$\varphi$", r"$\theta$"),
        "Euler rate": (r"$\psi'$", r"$\varphi'$", r"$\theta'$"),
    }
    units = ("m", "m/s", "", "1/s", "deg", "deg/s")
    rows = []
    for (name, values), unit in zip(satellite_nodes(results).items(), units, strict=True):
        words = components[name]
        rows.append([Panel(name, word, unit, values[..., i], NODES) for i, word in enumerate(words)])
    table(results.time, rows, title).savefig(path, dpi=64)


def draw_snap(path: Path) -> None:
    """Bend of the boom and angle of the hub as the satellite of ``thermal_snap`` is lit, heated in three times."""
    times = {f"{tau} s": f"loads.bending.profile.time_constant={tau}" for tau in (1.0, 3.0, 10.0)}
    all_results = [run("thermal_snap", override) for override in times.values()]
    tips = np.stack([results.beams["boom"].deflection[:, -1, 1] for results in all_results], axis=1)
    angles = np.stack([to_euler(results.bodies["hub"].quaternion)[:, 2] for results in all_results], axis=1)
    rows = [
        [Panel("end of the boom", "y", "m", tips, list(times))],
        [Panel("hub", "angle about z", "deg", np.degrees(angles), list(times))],
    ]
    table(all_results[0].time, rows, "Thermal snap: time constant of the gradient").savefig(path, dpi=80)


def four_arms(results: Results) -> None:
    """Attitude of the hub, and how far the ends of the booms bend."""
    hub = Panel("hub", "Euler angle", "deg", np.degrees(results.bodies["hub"].euler_angles()), ("x", "y", "z"))
    tips = [results.beams[name].deflection[:, -1] for name in ("east", "west")]
    ends = [
        Panel(f"{name}, tip in axes of hub", "deflection", "m", tip, ("x", "y", "z"))
        for name, tip in zip(("east (antenna)", "west"), tips, strict=True)
    ]
    rows = [[hub, Panel("slew", "torque", "N m", slew(results.time), ("z",))], ends]
    table(results.time, rows, "satellite four arms").savefig(IMAGES / "satellite_four_arms.png", dpi=90)


def slew(time: np.ndarray) -> np.ndarray:
    """(T, 1) the torque on the hub of the case satellite_four_arms, N m."""
    go, stop = Versine(4.0), Versine(4.0, start=4.0)
    return np.array([[5.0 * (go(t) - stop(t))] for t in time])


def rotor(results: Results) -> None:
    """Flap and lag of a blade's tip."""
    tip = results.beams["one"].deflection[:, -1]
    rows = [[Panel("blade one, tip in axes of hub", "deflection", "m", tip[:, [2, 1]], ("flap (z)", "lag (y)"))]]
    table(results.time, rows, "flexible rotor").savefig(IMAGES / "flexible_rotor.png", dpi=90)


def main() -> None:
    """Draw all pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in ("satellite_free", "satellite_forced"):
        results = run(name)
        draw_nodes(results, name.replace("_", " ") + ": all nodes", IMAGES / f"{name}_nodes.png")
    plot(results, IMAGES / "satellite_forced_tips.png", "tips")
    softer = run("satellite_forced", "sections.boom.youngs_modulus=2e7", "sections.boom.shear_modulus=8e6")
    picture(softer, IMAGES / "soft_satellite.png", [0.0, 0.75, 1.5, 2.25, 3.0], azimuth=-70.0, elevation=20.0)
    results = run("cantilever_tip_load")
    picture(results, IMAGES / "cantilever_tip_load.png", [0.0, 0.03, 0.036, 0.049], azimuth=-90.0, elevation=90.0)
    plot(results, IMAGES / "cantilever_tip_load_tips.png", "tips")
    draw_snap(IMAGES / "thermal_snap.png")
    plot(run("spinning_boom"), IMAGES / "spinning_boom_audit.png", "audit")
    four_arms(run("satellite_four_arms"))
    picture(run("l_frame"), IMAGES / "l_frame.png", [0.0, 4.35, 4.6, 4.8, 6.0], azimuth=-55.0, elevation=25.0)
    rotor(run("flexible_rotor"))
    picture(run("snake_arm"), IMAGES / "snake_arm.png", [0.0, 0.5, 1.0, 2.0, 10.0], azimuth=-90.0, elevation=90.0)


if __name__ == "__main__":
    main()
