"""The panel of a mesh: what its files contain, its frequencies, and its slew."""

import runpy

import numpy as np
import pytest
from checkout import CASES, ROOT
from oracles.cantilever_plate import cantilever_plate
from oracles.page_tables import is_printed, rows_of
from scipy.integrate import cumulative_simpson
from shared_runs import results_of as run

import femb
from femb.elements.modal.data import read_reduced_body
from femb.numerics import rotations

FOLDER = CASES / "panel_wing"
PAGE = ROOT / "docs" / "cases" / "panel_wing.md"
INTERFACES = ["root=left", "right=right", "tip=edge:mean"]
LENGTH, WIDTH, HEIGHT, YOUNG, NU, DENSITY = 2.0, 0.8, 0.02, 5e9, 0.3, 150.0
RIGIDITY = YOUNG * HEIGHT**3 / 12.0 / (1.0 - NU**2)
UNIT = np.sqrt(RIGIDITY / (DENSITY * HEIGHT)) / LENGTH**2 / (2.0 * np.pi)  # Hz


def reduced(interfaces, modes):
    pytest.importorskip("skfem", reason="scikit-fem, the extra fem, is not installed")
    material = {"youngs_modulus": YOUNG, "poissons_ratio": NU, "density": DENSITY}
    return femb.fem.reduce_mesh(FOLDER / "panel.inp", interfaces, modes, **material)


def test_the_files_are_what_the_script_and_the_command_make(tmp_path):
    """But for rounding, and signs of modes."""
    runpy.run_path(str(FOLDER / "make_mesh.py"))["write"](tmp_path / "panel.inp")
    assert (tmp_path / "panel.inp").read_text() == (FOLDER / "panel.inp").read_text()
    stored, made = read_reduced_body(FOLDER / "panel.npz"), reduced(INTERFACES, 5).body
    assert stored.interface_names == made.interface_names
    assert stored.mass == pytest.approx(4.8, rel=1e-12)
    for name in ("interfaces", "first_moment", "inertia"):
        assert getattr(stored, name) == pytest.approx(getattr(made, name), abs=1e-10)
    assert stored.frequencies() == pytest.approx(made.frequencies(), rel=1e-8)


def test_frequencies_of_the_clamped_panel_are_those_of_a_plate():
    found = reduced(["root=x=0"], 3).free
    plate = cantilever_plate(LENGTH, WIDTH, NU)[:3] * UNIT
    assert np.all(found > plate)
    assert found == pytest.approx(plate, rel=0.025)
    beam = np.array([3.516015, 22.034492]) * UNIT * np.sqrt(1.0 - NU**2)
    leissa = np.array([3.4562, 17.988, 21.563]) * UNIT
    table = rows_of(PAGE, "The panel against plate theory")
    for k, cells in enumerate(table.values()):
        values = [found[k], plate[k], leissa[k], *([beam[k // 2]] if k != 1 else [])]
        assert all(map(is_printed, cells, values)), (cells, values)


@pytest.mark.slow
def test_momentum_and_root_loads_balance_the_slew():
    results = run("panel_wing")
    hub, loads, root = results.bodies["hub"], results.loads, results.appendages["left_arm"]
    torque = loads["go"].torque + loads["stop"].torque
    # impulse of (1 - cos) / 2 over 2 s, and its opposite from 4 s on
    t = results.time
    phase = np.clip(t, 0.0, 2.0) - np.clip(t - 4.0, 0.0, 2.0)
    impulse = 20.0 * 0.5 * (phase - np.sin(np.pi * phase) / np.pi)
    momentum = results.audit.angular_momentum
    assert momentum[:, 1] == pytest.approx(-impulse, abs=1e-5)
    assert np.abs(momentum[:, [0, 2]]).max() < 1e-7
    assert np.abs(results.audit.linear_momentum).max() < 1e-5
    moment = root.torque + np.cross(root.point, root.force)
    inertia = np.array([50.0, 60.0, 55.0])
    spin = hub.angular_velocity
    rate = inertia * hub.angular_acceleration + np.cross(spin, inertia * spin)
    assert rate == pytest.approx(torque + moment, abs=1e-9)
    # the yoke and the panel: their angular momentum about the inertial origin is the impulse of the yoke's root
    force = rotations.rotate(hub.quaternion, root.force)
    about_origin = (moment + np.cross(hub.position, force))[:, 1]
    of_hub = inertia[1] * hub.angular_velocity[:, 1] + 200.0 * np.cross(hub.position, hub.velocity)[:, 1]
    impulses = np.concatenate([[0.0], cumulative_simpson(about_origin, x=t)])
    assert momentum[:, 1] - of_hub == pytest.approx(-impulses, abs=1e-4)


def test_the_frequencies_on_the_yoke():
    model = femb.load_case(CASES / "panel_wing.toml").model
    assert femb.modes(model, 2, held="hub").frequencies == pytest.approx([1.348, 2.321], abs=6e-4)
    assert femb.modes(model, 2).frequencies == pytest.approx([1.610, 2.827], abs=6e-4)


@pytest.mark.slow
def test_the_deflection_converges_with_the_modes():
    body, tips = reduced(INTERFACES, 20).body, {}
    for modes in (20, 10, 5, 0):
        case = femb.load_case(CASES / "panel_wing.toml", ["run.duration=2.0", "run.rtol=1e-8"])
        model = femb.Model()
        for item in case.model.items():
            if item.name == "panel":
                item = femb.FlexibleBody("panel", body, modes=modes, damping_ratio=0.005, coupling="constant")
            if item.kind != "interface":
                model.add(item)
        results = femb.simulate(model, case.run)
        tips[modes] = results.in_frame("hub").bodies["panel.tip"].displacement[:, 2]
    table = rows_of(PAGE, "The slew")
    for modes, (printed,) in table.items():
        error = np.abs(tips[int(modes)] - tips[20]).max() / np.abs(tips[20]).max()
        assert 0.5 < error / float(printed) < 2.0, (modes, error)
