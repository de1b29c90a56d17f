"""Every case by every method, and in both formulations: independent integrations of the same motion.

Stretches are short, since explicit steps follow the fastest vibration of a mesh. Material damping, which makes explicit
steps shorter still, is no more than they bear, and loads that would grow slowly come in a short pulse.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from checkout import CASES
from long_runs import slow_but
from models import refuses

from femb import ModelError, Results, Tolerances, load_case, simulate

# sections that are linear between stations, as tables of blades are
pytestmark = pytest.mark.filterwarnings("ignore:beams.* and is linear there")

PULSE = '{ shape = "versine", duration = 0.01 }'


@dataclass(frozen=True)
class Stretch:
    """How long (s) a case is run: by every method, explicit ones among them; by explicit steps in quaternion
    coordinates; and as it is. overrides : what makes it fit for explicit steps."""

    explicit: float
    quaternion: float
    whole: float
    overrides: tuple[str, ...] = ()


STRETCHES = {
    "satellite_free": Stretch(0.04, 0.001, 0.1),
    "satellite_forced": Stretch(0.04, 0.001, 0.2, ("loads.slew.profile.duration=0.04",)),
    "cantilever_tip_load": Stretch(
        0.001, 5e-5, 0.03, ("sections.bar.damping=1e-6", "loads.pull.profile.times=[0, 0.002]"),
    ),
    "short_boom": Stretch(0.002, 1e-4, 0.02, ("loads.pull.profile.times=[0, 0.001]", "loads.pull.force=[0, -1e6, 0]")),
    "wind_blade": Stretch(
        0.01, 5e-4, 0.3, ("sections.root.damping=1e-5", "sections.tip.damping=1e-5", f"loads.wind.profile={PULSE}"),
    ),
    "satellite_settling": Stretch(
        0.04, 0.001, 0.5,
        (
            *("sections.right.damping=1e-5", "sections.left.damping=1e-5"),
            *("loads.start.profile.duration=0.04", "loads.start.torque=[0, 100, 0]"),
        ),
    ),
    "wheel_jitter": Stretch(
        0.1, 0.001, 0.5,
        ("sections.yoke.damping=1e-5", "wheels.z.static_imbalance=2e-3", "wheels.z.dynamic_imbalance=2e-4"),
    ),
    "slew_flexible": Stretch(
        0.04, 0.001, 0.5,
        (
            *("sections.boom.damping=1e-5", "loads.slew.torque=[300, 0, 0]"),
            'loads.slew.profile={shape="versine",duration=0.04}',
        ),
    ),
    "gravity_gradient_boom": Stretch(0.02, 5e-4, 50.0, ("sections.boom.damping=1e-5",)),
    "spinning_boom": Stretch(0.03, 0.001, 0.3),
    "boom_in_orbit": Stretch(0.02, 5e-4, 10.0, ("sections.boom.damping=1e-5",)),
    "satellite_four_arms": Stretch(0.03, 0.001, 1.5, ("sections.boom.damping=1e-5", "loads.go.profile.duration=0.04")),
    "l_frame": Stretch(
        0.003, 5e-5, 0.5,
        ("sections.strip.damping=1e-6", f"loads.disturbance.profile={PULSE}", "loads.disturbance.force=[0, 0, 1.0]"),
    ),
    "flexible_rotor": Stretch(0.04, 0.001, 0.2),
    "snake_arm": Stretch(
        0.006, 2e-4, 0.5, ("sections.rod.damping=1e-5", f"loads.middle.profile={PULSE}", f"loads.tip.profile={PULSE}"),
    ),
    "panel_wing": Stretch(
        0.008, 2e-4, 0.2,
        ("sections.yoke.damping=1e-6", "loads.go.profile.duration=0.01", "loads.go.torque=[0, -1000, 0]"),
    ),
    "panel_slew": Stretch(
        0.002, 2e-5, 0.3,
        (
            *("sections.tube.damping=0", "shells.panel.damping=0"),
            *("loads.go.profile.duration=0.004", "loads.go.torque=[0, -6e4, 3e4]"),
        ),
    ),
    "rollout_blanket": Stretch(
        0.002, 2e-5, 0.1,
        (
            *("sections.boom.damping=0", "shells.blanket.damping=0"),
            *("loads.go.profile.duration=0.004", "loads.go.torque=[0, -6e4, 3e4]"),
        ),
    ),
    "solar_sail": Stretch(
        5e-4, 5e-6, 0.2,
        (
            "sections.boom.damping=0",
            *(f"shells.{name}.damping=0" for name in ("north_east", "north_west", "south_west", "south_east")),
            *("loads.go.profile.duration=0.0004", "loads.go.torque=[1000, 0, 0]"),
        ),
    ),
    "rigid_body_free": Stretch(1.0, 0.5, 0.5),
    "rigid_body_dual_euler_torque": Stretch(0.15, 0.15, 0.15),
    "rigid_body_body_torque": Stretch(0.5, 0.5, 0.5, ("bodies.rod.euler_rates=[1, 10, 1]",)),
}  # fmt: skip
# Mechanisms, flexible bodies, and what is driven or warmed: how long with explicit steps (0 where a damped member
# forbids them) and how long otherwise, s.
MECHANISMS = {
    "chain_universal": (0.5, 0.5),
    "double_pendulum_flexible": (0.001, 0.2),
    "four_bar_misaligned": (0.002, 0.05),
    "lattice_mast": (0.2, 0.2),
    "lees_frame": (0.002, 0.1),
    "iftomm_a01_pendulum": (1.0, 1.0),
    "iftomm_a03_squeezer": (0.005, 0.005),
    "iftomm_a04_bricard": (0.5, 0.5),
    "iftomm_a05_governor": (0.01, 0.1),
    "kamman_two_bodies": (0.5, 0.5),
    "robot_arm_inverse": (1.2, 1.2),
    "rotor_floating": (0.1, 0.1),
    "satellite_hinged_panel": (0.05, 5.0),
    "satellite_two_arrays": (0.01, 0.5),
    "slider_crank_flexible": (0.0005, 0.002),
    "slosh_slew": (0.5, 0.5),
    "slider_crank_rigid": (0.02, 0.05),
    "drive_ripple": (0.2, 4.0),
    "spinning_wire_booms": (0.002, 0.3),
    "thermal_snap": (0.05, 12.0),
    "thompson_aircraft": (0.5, 0.5),
    "thompson_connected": (0.5, 0.5),
    "thompson_pendulum": (0.5, 0.5),
    "thompson_rotorcraft": (0.02, 0.02),
    "thompson_satellite": (0.5, 0.5),
    "thompson_wind_turbine": (0.2, 0.2),
    "thruster_limit_cycle": (1.0, 1.0),
}
# What makes them fit for explicit steps.
SOFTENED = {
    "drive_ripple": (
        *("loads.drive.teeth=2", "loads.drive.damping=5", "loads.drive.motion.coefficients=[0.6,1]"),
        *("loads.drive.harmonics=[]", "springs.seal.transition_rate=0.1", "run.rtol=1e-6"),
    ),
    "four_bar_misaligned": (
        "sections.thick.damping=1e-6", "sections.thin.damping=1e-6", "drivers.crank.motion.duration=0.02",
    ),
    "lees_frame": ("sections.bar.damping=1e-6", "loads.push.profile.times=[0, 0.002]"),
    "thermal_snap": (
        "sections.tube.damping=1e-5", "loads.bending.profile.start=0", "loads.bending.profile.time_constant=0.05",
        "loads.warming.profile.start=0",
    ),
}  # fmt: skip
# Rods and loops, which have no independent coordinates of joints.
NO_TREE = ("iftomm_a01_pendulum", "iftomm_a03_squeezer", "iftomm_a04_bricard", "slider_crank_rigid", "slosh_slew")
FILES = {path.stem: path for path in CASES.iterdir() if path.suffix in (".toml", ".py")}
# One of each kind of motion and mesh: the others among STRETCHES are long runs, but for a few explicit steps.
FEW = ("cantilever_tip_load", "spinning_boom", "wind_blade", *(name for name in STRETCHES if name.startswith("rigid")))
# The same of mechanisms: rigid trees, loops and rods, drivers, joints of flexible bodies.
FEW_MECHANISMS = (
    "chain_universal", "four_bar_misaligned", "iftomm_a01_pendulum", "kamman_two_bodies", "robot_arm_inverse",
    "thompson_pendulum",
)  # fmt: skip
every_case = pytest.mark.parametrize("name", STRETCHES)


def run(name: str, duration: float, method: str, *overrides: str, formulation: str = "velocity", rtol: float = 1e-6):
    """A stretch of a case, with the default absolute tolerances."""
    return carried_out(name, duration, method, overrides, formulation, rtol)


@cache
def loaded(name, overrides=()):
    """Once: a run does not change its model, and some cases take a while to build."""
    return load_case(FILES[name], overrides)


@cache
def carried_out(name, duration, method, overrides, formulation, rtol) -> Results:
    """Once, however many other runs are compared with it."""
    case = loaded(name, overrides)
    options = {"method": method, "formulation": formulation, "rtol": rtol, "atol": Tolerances()}
    return simulate(case.model, replace(case.run, duration=duration, output_interval=duration / 4, **options))


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
    # 40 windows with multipliers of least norm at every output; latches, which the quaternion form does not know
    # a slew of satellite_two_arrays that begins too slowly for a short stretch
    too_large = {"iftomm_a02_four_bar", "satellite_deployment", "array_deployment", "satellite_two_arrays_slew"}
    # snaps, of which rounding errors shift later ones
    too_large |= {"cubesat_antennas", "tape_spring", "tape_spring_hinge"}
    # what heat moves, by less than tolerances
    too_large |= {"buckling_panel", "dish_thermal"}
    # deployments, what noise alone moves, and a sampled law alone, by less than tolerances
    too_large |= {"array_deployment_closed_loop", "pointing_budget", "detumbling"}
    assert set(FILES) - too_large == {*STRETCHES, *MECHANISMS}


@pytest.mark.parametrize("name", slow_but({*FEW[:3], "satellite_free"}, STRETCHES))
def test_methods_agree(name):
    """The implicit methods at rtol 1e-6 with the explicit one at 1e-8; bdf is of low order where nothing is damped."""
    stretch = STRETCHES[name]
    explicit = run(name, stretch.explicit, "rk", *stretch.overrides, rtol=1e-8)
    for method, bound in (("radau", 1e-7), ("bdf", 1e-5)):
        assert motion(explicit) > 10.0 * bound
        assert difference(run(name, stretch.explicit, method, *stretch.overrides), explicit) < bound, method


@every_case
def test_formulations_agree_by_explicit_steps(name):
    """A few steps of the stiff cases, to what rounding and the ends of steps leave, with a tolerance at which steps are
    short enough not to raise the rounding of stiff forces; rigid bodies to rtol."""
    stretch = STRETCHES[name]
    both = [
        run(name, stretch.quaternion, "rk", *stretch.overrides, formulation=formulation, rtol=1e-8)
        for formulation in ("velocity", "quaternion")
    ]
    assert difference(*both) < (1e-6 if name.startswith("rigid") else 1e-10)
    assert np.abs(both[1].audit.quaternion_norm).max() < 1e-14


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but(FEW[:1], STRETCHES))
def test_implicit_methods_in_quaternion_coordinates(name):
    """The cases as they are, damped and for longer, against radau in velocities; radau with the same rtol in both,
    a tight one: in twelve steps of 1e-6 it leaves 1.6e-6 of the boom's vibrations, in both forms alike."""
    whole = STRETCHES[name].whole
    # undamped vibrations of a fine mesh are followed by steps of second order
    short = whole / 8 if name in ("snake_arm", "flexible_rotor") else whole
    bdf = 1e-5 if name.startswith("rigid") else 1e-4
    for method, duration, bound, rtol in (
        ("radau", whole, 1e-6, 1e-9),
        ("bdf", whole, bdf, 1e-6),
        ("generalized-alpha", short, 1e-4, 1e-6),
    ):
        wanted = run(name, duration, "radau", rtol=min(rtol, 1e-7))
        assert motion(wanted) > 1e-6
        results = run(name, duration, method, formulation="quaternion", rtol=rtol)
        assert difference(results, wanted) < bound, method
        assert np.abs(results.audit.quaternion_norm).max() < 1e-14


@pytest.mark.parametrize(
    "name", slow_but([*FEW, *FEW_MECHANISMS, *NO_TREE, "satellite_hinged_panel"], [*STRETCHES, *MECHANISMS])
)
def test_reduced_form(name):
    """Independent speeds where joints make a tree, beams and drivers among it, and a refusal by name where not."""
    whole = STRETCHES[name].whole if name in STRETCHES else MECHANISMS[name][1]
    duration = min(whole, 0.5)
    if name in NO_TREE:
        refuses("'reduced' is for trees of joints: joints", run, name, duration, "radau", formulation="reduced")
        return
    both = [run(name, duration, "radau", formulation=each, rtol=1e-8) for each in ("velocity", "reduced")]
    assert difference(*both) < 1e-7


@pytest.mark.parametrize(
    "name", slow_but({*STRETCHES, *MECHANISMS} - {"iftomm_a05_governor", "drive_ripple"}, [*STRETCHES, *MECHANISMS])
)
def test_hamiltonian_form(name):
    """Coordinates and momenta for trees of rigid bodies, and a refusal by name of everything else."""
    model = loaded(name).model
    whole = STRETCHES[name].whole if name in STRETCHES else MECHANISMS[name][1]
    duration = min(whole, 0.5)
    points = [each for each in model.bodies.values() if each.kind == "point_mass"]
    if model.beams or points or name in NO_TREE:
        with pytest.raises(
            ModelError, match=r"'hamiltonian' is for trees of (rigid bodies: (beams|bodies)|joints: joints)\."
        ):
            run(name, duration, "rk", formulation="hamiltonian")
        return
    both = [run(name, duration, "rk", formulation=each, rtol=1e-9) for each in ("velocity", "hamiltonian")]
    assert motion(both[1]) > 1e-7
    assert difference(*both) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but(FEW_MECHANISMS[:2], MECHANISMS))
def test_mechanisms(name):
    """Joints too: all methods, in velocities and in quaternion coordinates."""
    explicit, whole = MECHANISMS[name]
    soft = SOFTENED.get(name, ())
    implicit = (("radau", 1e-6), ("bdf", 3e-5), ("generalized-alpha", 1e-4))
    runs = [(method, whole, form, bound, ()) for method, bound in implicit for form in ("velocity", "quaternion")]
    runs += [("rk", explicit, "velocity", 3e-6, soft), ("rk", explicit / 4.0, "quaternion", 3e-6, soft)]
    for method, duration, formulation, bound, overrides in runs:
        wanted = run(name, duration, "radau", *overrides, rtol=1e-8)
        results = run(name, duration, method, *overrides, formulation=formulation)
        assert difference(results, wanted) < min(bound, 0.01 * motion(wanted)), (method, formulation)
