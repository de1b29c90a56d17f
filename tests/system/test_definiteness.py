"""Elements whose mass matrix need not stay positive definite: a run that fails says so."""

import numpy as np
import pytest
from checkout import CASES

from femb import SolveError, simulate
from femb.case import load_case
from femb.system.definiteness import Definiteness
from femb.system.system import System

STRONG = ("loads.go.torque=[0, -200000, 0]", "loads.go.profile.duration=0.1", "run.duration=0.01")


def panel(coupling, *words):
    return load_case(CASES / "panel_wing.toml", [f"bodies.panel.coupling={coupling!r}", *words])


@pytest.mark.parametrize(("coupling", "displacement", "lost"), [
    ("full", 0.0, ""), ("full", 2e-3, "panel"), ("constant", 2e-3, ""), ("constant", 1e-2, "panel"),
])  # fmt: skip
def test_a_panel_with_small_interfaces(coupling, displacement, lost):
    """Inertia of higher order outweighs that of a patch that is displaced by millimetres, with "full" first."""
    system = System(panel(coupling).model)
    watch = Definiteness(system)
    moved = system.q0.copy()
    layout = system.layout
    patch = layout.flexible_bodies["panel"].stations["right"].frame
    moved[layout.frame_q[patch] + 1] += displacement
    least = [
        np.linalg.eigvalsh(masses)[:, 0].min() for batch in system.batches for _, masses in batch.element_masses(moved)
    ]
    assert (min(least) < 0.0) == bool(lost)
    assert watch.lost(moved) == lost


@pytest.mark.slow
def test_a_run_says_that_its_mass_is_indefinite():
    case = panel("full", *STRONG, "run.method='rk'", "run.rtol=1e-5", "run.output_interval=0.001")
    with pytest.raises(SolveError, match=r"'panel' is deformed so far .* larger rtol, coupling = 'constant'"):
        simulate(case.model, case.run)
