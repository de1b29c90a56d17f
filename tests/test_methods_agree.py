"""Every case by every method, and in both formulations: independent integrations of the same motion.

Stretches are short, since explicit steps follow the fastest vibration of a mesh. Material damping, which makes explicit
steps shorter still, is left out, and loads that would grow slowly come in a short pulse.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from femb import Results, load_case, simulate

CASES = Path(__file__).resolve().parent.parent / "cases"
PULSE = '{ shape = "versine", duration = 0.01 }'
# duration (s), duration in the quaternion form, overrides
STRETCHES: dict[str, tuple[float, float, tuple[str, ...]]] = {
    "satellite_free": (0.04, 0.003, ()),
    "satellite_forced": (0.04, 0.003, ("loads.slew.profile.duration=0.04",)),
    "cantilever_tip_load": (0.001, 0.0005, ("sections.bar.damping=0.0", "loads.pull.profile.times=[0, 0.002]")),
    "spinning_boom": (0.03, 0.003, ()),
    "satellite_four_arms": (0.03, 0.003, ("sections.boom.damping=0.0", "loads.go.profile.duration=0.04")),
    "l_frame": (
        0.003, 0.0003,
        ("sections.strip.damping=0.0", f"loads.disturbance.profile={PULSE}", "loads.disturbance.force=[0, 0, 1.0]"),
    ),
    "flexible_rotor": (0.04, 0.004, ()),
    "snake_arm": (
        0.006, 0.001,
        ("sections.rod.damping=0.0", f"loads.middle.profile={PULSE}", f"loads.tip.profile={PULSE}"),
    ),
    "rigid_body_free": (1.0, 1.0, ()),
    "rigid_body_dual_euler_torque": (0.15, 0.15, ()),
    "rigid_body_body_torque": (0.5, 0.5, ("bodies.rod.euler_rates=[1, 10, 1]",)),
}  # fmt: skip


@cache
def run(name: str, method: str, formulation: str = "velocity", rtol: float = 1e-6, short: bool = False) -> Results:
    """A stretch of a case, with the default absolute tolerances."""
    whole, brief, overrides = STRETCHES[name]
    duration = brief if short else whole
    options = [f"run.duration={duration}", f"run.output_interval={duration / 4}", f"run.rtol={rtol}"]
    options += [f'run.method="{method}"', f'run.formulation="{formulation}"']
    case = load_case(CASES / f"{name}.toml", [*options, *overrides])
    return simulate(case.model, case.run)


def poses(results: Results) -> dict[str, np.ndarray]:
    """Positions and quaternions of all bodies and nodes."""
    return {key: each for key, each in results.arrays.items() if key.endswith(("/position", "/quaternion"))}


def difference(one: Results, other: Results) -> float:
    """Largest difference of a component, m or dimensionless."""
    pairs = zip(poses(one).values(), poses(other).values(), strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def motion(results: Results) -> float:
    """How far anything has come."""
    return max(float(np.abs(each - each[0]).max()) for each in poses(results).values())


def test_every_case_is_here():
    assert {path.stem for path in CASES.glob("*.toml")} == set(STRETCHES)


@pytest.mark.parametrize("name", STRETCHES)
def test_methods_agree(name):
    """The implicit methods at rtol 1e-6 with the explicit one at 1e-8; bdf is of low order where nothing is damped."""
    explicit = run(name, "rk", rtol=1e-8)
    for method, bound in (("radau", 1e-7), ("bdf", 1e-5)):
        assert motion(explicit) > 10.0 * bound
        assert difference(run(name, method), explicit) < bound, method
