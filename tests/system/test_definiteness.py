"""Elements whose mass matrix need not stay positive definite: a run that fails says so."""

from dataclasses import replace

import numpy as np
import pytest
from checkout import CASES
from models import of_parts

import femb
from femb import SolveError, simulate
from femb import elements as e
from femb.case import load_case
from femb.steppers.diagnosis import Definiteness
from femb.system.system import System

STRONG = ("loads.go.torque=[0, -200000, 0]", "loads.go.profile.duration=0.1", "run.duration=0.002",
          "run.output_interval=0.001")  # fmt: skip
BODY = femb.fem.read_reduced_body(CASES / "panel_wing" / "panel.npz")
TRUNCATED = replace(BODY, B2=None)  # all that files held before


def on_a_hub(body, torque, coupling="full"):
    """The panel on a small hub that a pulse turns; the patch on its right moves freely."""
    model = femb.Model("panel")
    model.add(e.RigidBody("hub", mass=1.0, inertia=0.02))
    words = {"damping_ratio": 0.0, "coupling": coupling}
    model.add(e.FlexibleBody("panel", body, start=e.Attachment("hub"), **words))
    model.add(e.Load("go", "hub", torque=(0.0, torque, 0.0), profile=femb.profiles.Versine(0.02)))
    return model


@pytest.mark.parametrize(("body", "coupling", "displacement", "lost"), [
    (BODY, "full", 0.0, ""), (BODY, "full", 2e-3, ""), (BODY, "full", 0.3, ""), (TRUNCATED, "full", 2e-3, "hub"),
    (TRUNCATED, "constant", 2e-3, ""), (TRUNCATED, "constant", 1e-2, "hub"),
])  # fmt: skip
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_panel_with_small_interfaces(body, coupling, displacement, lost, axis):
    """A sum of squares stays positive at displacements of a third of the panel's width. Without B2, the terms that are
    left out outweigh the inertia of a patch that is displaced by millimetres."""
    system = System(on_a_hub(body, 0.0, coupling))
    watch = Definiteness(system)
    moved = system.q0.copy()
    layout = system.layout
    patch = layout.flexible_bodies["panel"].stations["right"].frame
    moved[layout.frame_q[patch] + axis] += displacement
    least = [np.linalg.eigvalsh(masses)[:, 0].min() for _, masses in system.evaluation.element_masses(moved)]
    assert (min(least) < 0.0) == bool(lost)
    assert watch.lost(moved) == lost


@pytest.mark.slow
def test_an_explicit_method_carries_small_interfaces():
    """A patch that moves by 9 mm, of a panel that bends by as much: Runge and Kutta's motion is that of Radau."""
    runs = [
        simulate(on_a_hub(BODY, 100.0), duration=0.02, output_interval=0.005, method=method, rtol=rtol)
        for method, rtol in (("rk", 1e-6), ("radau", 1e-7))
    ]
    explicit, implicit = (run.bodies["panel.right"].position for run in runs)
    assert np.abs(explicit[-1] - explicit[0]).max() > 8e-3
    np.testing.assert_allclose(explicit, implicit, rtol=0.0, atol=1e-8)
    assert np.abs(runs[0].audit.energy_error).max() < 1e-8 * runs[0].audit.kinetic_energy.max()


@pytest.mark.slow
def test_a_step_torque_on_a_root_without_mass():
    """On the patch that holds a panel alone in space: angular momentum is the torque by the time."""
    model = of_parts(e.FlexibleBody("panel", BODY), e.Load("go", "panel", torque=(0.0, 3.0, 10.0)))
    results = simulate(model, duration=2e-3, method="radau", rtol=1e-6)
    momentum = results.audit.angular_momentum
    np.testing.assert_allclose(momentum[-1], [0.0, 6e-3, 2e-2], rtol=0.0, atol=1e-4)
    assert np.abs(results.audit.energy_error).max() < 1e-5 * results.audit.kinetic_energy.max()


def test_a_run_says_that_its_mass_is_indefinite():
    with pytest.raises(SolveError, match=r"'hub' is deformed so far .* larger rtol, coupling = 'full' with the array"):
        simulate(on_a_hub(TRUNCATED, 100.0), duration=0.02, method="rk", rtol=1e-6)


@pytest.mark.slow
def test_a_panel_on_a_yoke_of_beams_by_an_explicit_method():
    """A torque of 200 kN m on the satellite of panel_wing."""
    ends = []
    for method in ("rk", "radau"):
        case = load_case(CASES / "panel_wing.toml", [*STRONG, f"run.method={method!r}", "run.rtol=1e-7"])
        ends.append(simulate(case.model, case.run).bodies["panel.tip"].position[-1])
    np.testing.assert_allclose(*ends, rtol=0.0, atol=1e-8)
