"""``femb check``: parts that nothing connects; degrees of freedom of trees; a thousand bodies in linear time."""

import re
import subprocess
import sys

import numpy as np
import pytest
from checkout import CASES, ROOT
from models import of_parts, stiff
from scipy.linalg import null_space
from shared_runs import said

import femb
from femb.layout.connections import parts
from femb.run.overview import implausible, overview
from femb.run.simulate import mass_properties, summary
from femb.system.degrees_of_freedom import freedom
from femb.system.system import System

BAR = stiff(1e6, 1e3, (1e3, 1e3), 1.0, (2e-4, 1e-4, 1e-4), "bar")


def body(model, name, **words):
    return model.add(femb.RigidBody(name, mass=1.0, inertia=(0.1, 0.12, 0.15), **words))


def scattered():
    """A hub with a boom, a body on a spring beside it, a lone body, two on the ground, and a pulled one."""
    model = femb.Model("scattered")
    hub = body(model, "hub")
    model.add(femb.Beam("boom", BAR, 1.0, 2, start=hub.at((0, 0, 0), direction=(1, 0, 0))))
    model.add(femb.PointMass("tip", mass=1.0, on=femb.Place(beam="boom", node=-1)))
    for k, name in enumerate(("hung", "lone", "left", "right", "pulled")):
        body(model, name, position=(0, 2.0 + k, 0))
    model.add(femb.SpringDamper("spring", femb.SpringEnd(beam="boom"), femb.SpringEnd("hung"), stiffness=1.0))
    for name in ("left", "right"):
        model.add(femb.Revolute(name, femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd(name, at=(0, -4, 0))))
    model.add(femb.Pull("rope", femb.SpringEnd("pulled"), femb.SpringEnd(anchor=(9, 9, 9)), force=1.0))
    model.add(femb.Load("push", body="lone", force=(1, 0, 0)))
    return model


def test_parts_that_nothing_connects_are_listed():
    model = scattered()
    found = parts(System(model, assemble=True).layout)
    assert sorted(map(sorted, found)) == [
        ["beams.boom", "bodies.hub", "bodies.hung"],
        ["bodies.left", "bodies.pulled", "bodies.right"],
        ["bodies.lone"],
    ]


def test_check_shows_them():
    model = femb.Model("two")
    for name, x in (("hub", 0.0), ("forgotten", 1.0)):
        body(model, name, position=(x, 0, 0))
    text = summary(model)
    assert "2 parts that nothing connects with each other:\n  bodies.hub\n  bodies.forgotten\n" in text
    model.add(femb.Distance("rod", femb.JointEnd("hub"), femb.JointEnd("forgotten")))
    assert "connects" not in summary(model)


def test_a_long_list_is_cut():
    model = of_parts(*(femb.PointMass(f"p{k}", mass=1.0, position=(k, 0, 0)) for k in range(30)), title="gas")
    lines = [line for line in summary(model).splitlines() if line.startswith("  ")]
    assert lines[0] == "  bodies.p0"
    assert lines[-1] == "  and 18 more"


def mechanism(rng, loops):
    """A random tree of bodies on joints, with rods and hinges that close loops."""
    model = femb.Model("mechanism")
    names = []
    for k in range(12):
        body(model, f"b{k}", position=rng.standard_normal(3))
        names.append(f"b{k}")
        host = "ground" if k == 0 else names[rng.integers(k)]
        kind = femb.Revolute if rng.random() < 0.5 else femb.Spherical
        ends = femb.JointEnd(host, at=rng.standard_normal(3), axis=rng.standard_normal(3)), femb.JointEnd(f"b{k}")
        model.add(kind(f"j{k}", *ends))
    for k in range(loops):
        a, b = rng.choice(12, 2, replace=False)
        kind = femb.Distance if rng.random() < 0.5 else femb.Revolute
        model.add(kind(f"loop{k}", femb.JointEnd(names[a], axis=(0, 0, 1)), femb.JointEnd(names[b])))
    return model


@pytest.mark.parametrize("loops", [0, 1, 3])
def test_degrees_of_freedom_are_those_of_the_rank(loops):
    """Whatever trees are undone first: the rank of J, and the rows in the null space of its transpose."""
    for seed in range(4):
        model = mechanism(np.random.default_rng(seed), loops)
        try:
            system = System(model, assemble=True)
        except femb.ModelError:  # a loop that cannot be closed says nothing of ranks
            continue
        found = freedom(system, system.q0)
        J = system.jacobian(np.zeros(system.n_u), system.q0).toarray()[system.layout.row_c]
        assert found.degrees == system.n_v - np.linalg.matrix_rank(J, tol=1e-8)
        J /= np.linalg.norm(J, axis=1, keepdims=True)
        free = null_space(J.T, rcond=1e-9)
        taking_part = np.flatnonzero(np.linalg.norm(free, axis=1) > 1e-8) if free.size else []
        assert found.undetermined == tuple(system.layout.row_labels[k] for k in taking_part)
        assert len(found.dependent) == free.shape[1]


CHAIN = """
import time
import femb
from femb.run.simulate import summary

used = [0.0]
for count in COUNTS:
    model = femb.Model("chain", gravity=(0, 0, -9.81))
    for k in range(count):
        model.add(femb.RigidBody(f"b{k}", mass=1.0, inertia=0.01))
        host = femb.JointEnd(f"b{k - 1}", at=(0.1, 0, 0), axis=(0, 1, 0))
        end = host if k else femb.JointEnd("ground", axis=(0, 1, 0))
        model.add(femb.Revolute(f"j{k}", end, femb.JointEnd(f"b{k}", at=(-0.1, 0, 0)), rates=RATES))
    print(summary(model, femb.Run(duration=1.0)))
    used.append(time.process_time() - sum(used))
# not ru_maxrss, which the process that starts this one hands on
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
begin, x = time.process_time(), 0
for k in range(5_000_000):
    x += k * k
print(*used[1:], peak, time.process_time() - begin)
"""
# CPU time (s) of the loop on a machine on which a chain of a thousand bodies is checked in 2 s.
LOOP = 0.13


@pytest.mark.slow
@pytest.mark.parametrize("rates", ["None", "0.01"])
def test_a_chain_of_a_thousand_bodies(rates):
    """Dense matrices of all rows took 40 s and 1.1 GB; with the modules it is 2 s of CPU time and 200 MB, and twice the
    bodies take no more than thrice the time."""
    # a first use compiles, which takes memory of its own
    for counts in ((3,), (3, 500, 1000)):
        code = CHAIN.replace("RATES", rates).replace("COUNTS", repr(counts))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *lines, used = done.stdout.strip().splitlines()
    modules, half, whole, megabytes, loop = map(float, used.split())
    assert "1000 joints, 5000 equations of constraint: 1000 degrees of freedom at the start" in lines
    assert modules + whole < 2.0 * max(1.0, loop / LOOP)
    assert megabytes < 300.0
    assert whole < 3.0 * half


def test_many_start_velocities_by_sparse_matrices(monkeypatch):
    """They are those of the dense solution."""
    model = femb.Model("chain")
    for k in range(8):
        body(model, f"b{k}")
        host = (
            femb.JointEnd(f"b{k - 1}", at=(0.3, 0, 0), axis=(0, 1, 1)) if k else femb.JointEnd("ground", axis=(0, 1, 0))
        )
        model.add(
            femb.Revolute(f"j{k}", host, femb.JointEnd(f"b{k}", at=(-0.1, 0, 0)), rates=0.3 if k % 3 == 0 else None)
        )
    dense = System(model).v0
    monkeypatch.setattr("femb.system.initial_state.DENSE", 3)
    np.testing.assert_allclose(System(model).v0, dense, atol=1e-13)
    assert np.abs(dense).max() > 0.1


def test_mass_of_what_is_fixed_to_the_ground():
    """Bodies on joints to the ground need no second system; a beam's share that is clamped there does."""
    model = femb.Model("clamped")
    model.add(femb.Beam("mast", BAR, 2.0, 4, start=femb.Ground().at((0, 0, 0), direction=(0, 0, 1))))
    model.add(femb.PointMass("foot", mass=3.0, on=femb.Place("ground", at=(0, 0, 0.5))))
    body(model, "arm", position=(0, 1.0, 0))
    model.add(femb.Revolute("pin", femb.JointEnd("ground", axis=(0, 0, 1)), femb.JointEnd("arm", at=(0, -1.0, 0))))
    mass, centre, _ = mass_properties(System(model))
    assert mass == pytest.approx(6.0, rel=1e-12)
    np.testing.assert_allclose(centre, [0, 1.0 / 6.0, (2.0 * 1.0 + 3.0 * 0.5) / 6.0], atol=1e-12)


def test_bodies_are_placed_whatever_the_order_of_joints():
    """A chain whose joints are listed from its end, and through a beam."""
    model = femb.Model("chain")
    for k in range(5):
        body(model, f"b{k}")
    ends = [
        femb.JointEnd("ground", axis=(0, 1, 0)),
        *(femb.JointEnd(f"b{k}", at=(1, 0, 0), axis=(0, 1, 0)) for k in range(4)),
    ]
    for k in reversed(range(5)):
        model.add(femb.Revolute(f"j{k}", ends[k], femb.JointEnd(f"b{k}")))
    results = femb.simulate(model, duration=1e-3, output_interval=1e-3)
    for k in range(5):
        np.testing.assert_allclose(results.bodies[f"b{k}"].position[0], [k, 0, 0], atol=1e-12)


def test_the_time_scales_of_a_beam_are_those_of_its_modes():
    """A cantilever: the first bending in closed form and as of femb modes, whose last is the fastest vibration."""
    model = femb.Model("mast")
    model.add(femb.Beam("mast", BAR, 5.0, 3, start=femb.Ground().at((0, 0, 0), direction=(0, 0, 1))))
    scales = overview(model).scales
    (first,) = scales.bending
    assert first.how == "first bending, one end held"
    assert first.frequency == pytest.approx(3.5160153 / (2 * np.pi) / 25.0 * np.sqrt(1e3), rel=1e-7)
    found = femb.modes(model, 22).frequencies
    assert found[0] == pytest.approx(first.frequency, rel=2e-3)  # rotary inertia
    assert found[-1] == pytest.approx(scales.fastest.frequency, rel=1e-6)
    assert f"beams.mast: first bending, one end held at about {first.frequency:.4g} Hz" in summary(model)


def test_the_first_bending_has_its_direction():
    """Along the axis of least stiffness of the section, which is turned about the beam; none of a square."""
    flat = femb.Section("flat", axial_stiffness=1e6, torsional_stiffness=1.0, bending_stiffness=(9.0, 4.0),
                        mass_per_length=1.0, inertia_per_length=(2e-3, 1e-3, 1e-3))  # fmt: skip
    directions = {"x": (1, 0, 0), "y": (0, 1, 0), "(0.6, 0.8, 0)": (3, 4, 0)}
    for word, y_axis in directions.items():
        start = femb.Ground().at((0, 0, 0), direction=(0, 0, 1), y_axis=y_axis)
        model = femb.Model("mast")
        model.add(femb.Beam("mast", flat, 5.0, 2, start=start))
        assert f" Hz along {word if len(word) > 1 else y_axis}\n" in summary(model)
        assert femb.modes(model, 1).motions[0] == f"bending along {word}"


@pytest.mark.parametrize("held", [0, 2])
def test_a_beam_held_at_no_end_or_at_both_has_the_time_scale_of_its_first_elastic_mode(held):
    """Both have the roots of cos x cosh x = 1; rotary inertia lowers them by about (4.73 i / L)^2."""
    model = femb.Model("mast")
    ends = {"start": femb.Attachment(None, direction=(0, 0, 1))}
    if held:
        model.add(femb.RigidBody("plate", mass=1e9, inertia=(1e9, 1e9, 1e9), position=(0, 0, 5.0)))
        model.add(femb.Fixed("to ground", femb.JointEnd("ground", at=(0, 0, 5.0)), femb.JointEnd("plate")))
        ends = {"start": femb.Ground().at((0, 0, 0), direction=(0, 0, 1)), "end": femb.Attachment("plate")}
    model.add(femb.Beam("mast", BAR, 5.0, 8, **ends))
    (first,) = overview(model).scales.bending
    assert first.how == ("first bending, free", "", "first bending, both ends held")[held]
    assert femb.modes(model, 1).frequencies[0] == pytest.approx(first.frequency, rel=2e-3)


def test_the_vibration_of_two_bodies_on_a_spring():
    model = femb.Model("two")
    for name, x in (("a", 0.0), ("b", 1.0)):
        body(model, name, position=(x, 0, 0))
    model.add(femb.SpringDamper("spring", femb.SpringEnd("a"), femb.SpringEnd("b"), stiffness=50.0))
    assert overview(model).scales.fastest.frequency == pytest.approx(10.0 / (2 * np.pi), rel=1e-9)


@pytest.mark.parametrize("latched", [False, True])
def test_springs_of_latched_joints_vibrate_with_nothing(latched):
    """Hub and panels are one free rigid body when latched: the stiffness that the constraints hold leaves rounding."""
    model = femb.Model("panels")
    model.add(femb.RigidBody("hub", 120.0, (14.0, 12.0, 13.0)))
    arm = {"axis": (0, 1, 0), "reference": (1, 0, 0)}
    for name, before, at in (("p1", "hub", 0.4), ("p2", "p1", 1.2)):
        model.add(femb.RigidBody(name, 4.0, (0.34, 0.49, 0.82), center_of_mass=(0.6, 0, 0)))
        first, second = femb.JointEnd(before, at=(at, 0, 0), **arm), femb.JointEnd(name, **arm)
        model.add(femb.Revolute(f"to {name}", first, second, start=0.0))
        model.add(femb.JointSpringDamper(f"spring {name}", f"to {name}", stiffness=0.12))
        if latched:
            model.add(femb.Latch(f"lock {name}", f"to {name}", engaged=True, time=1e6))
    fastest = overview(model).scales.fastest
    assert (fastest is None) == latched
    assert latched or fastest.frequency == pytest.approx(femb.modes(model, 2).frequencies[-1], rel=1e-6)


IMPLAUSIBLE = [
    ("sections.bar.youngs_modulus=70", "sections.bar.youngs_modulus: 70 Pa is that of no material"),
    ("sections.bar.shear_modulus=7e11", "sections.bar.shear_modulus: 7e+11 Pa beside a youngs_modulus of 7e+10 Pa"),
    ("sections.bar.density=2.7", "sections.bar.density: 2.7 kg/m3 is that of no material"),
    ("sections.bar.area=100", "sections.bar.second_moments: [1e-08, 1e-08] m4 do not belong to an area of 100 m2"),
    ("beams.boom.length=2000", "beams.boom.length: 2000 m; mm are to be multiplied"),
    ("beams.boom.length=0.001", "beams.boom: its section 'bar' has a radius of gyration of 0.01 m"),
    ("bodies.hub.inertia=3e6", "bodies.hub.inertia: with a mass of 2 kg it is that of a body of 1.22e+03 m"),
    ("bodies.hub.euler_angles=[0,0,90]", "bodies.hub.euler_angles: [0, 0, 90] rad is more than a turn"),
    ("joints.hinge.start=45", "joints.hinge.start: 45 rad is more than a turn; are these degrees?"),
    ("gravity=[0,0,-9810]", "gravity: 9810 m/s2; mm/s2 are to be multiplied by 1e-3"),
    ("modal_damping.all.ratio=2", "modal_damping.all.ratio: 2; per cent are to be multiplied by 0.01"),
]
SMALL = """
gravity = [0, 0, -9.81]
[sections.bar]
area = 1e-4
second_moments = [1e-8, 1e-8]
torsion_constant = 1.5e-8
density = 2700.0
youngs_modulus = 7e10
shear_modulus = 2.6e10
[bodies.hub]
mass = 2.0
inertia = 1.0
[bodies.panel]
mass = 2.0
inertia = 1.0
[joints.hinge]
kind = "revolute"
first = { body = "hub", axis = [0, 0, 1] }
second = { body = "panel" }
start = 1.0
[beams.boom]
section = "bar"
length = 2.0
start = { body = "hub", direction = [1, 0, 0] }
[modal_damping.all]
held = "hub"
ratio = 0.01
"""


@pytest.mark.filterwarnings("ignore::femb.FembWarning")
def test_numbers_in_other_units_are_pointed_out(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    assert implausible(femb.load_case(tmp_path / "small.toml").model) == ()
    for change, wanted in IMPLAUSIBLE:
        found = implausible(femb.load_case(tmp_path / "small.toml", [change]).model)
        assert any(line.startswith(wanted) for line in found), (change, found)


def test_shear_moduli_of_walls_in_another_unit_are_asked_about():
    """G = 1000 E of an isotropic wall has a Poisson's ratio above -1, and is no error."""
    square = {
        "corners": [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)],
        "elements": [1, 1],
        "attach": {"edge1": "ground"},
    }
    for modulus, asked in ((27e9, False), (70e12, True)):
        wall = femb.elements.Material(70e9, modulus, 2700.0)
        ply = femb.Ply(1e-3, 0.0, (140e9, 9e9), modulus, 0.3, 1600.0)
        for word, walls in (("material", {"thickness": 1e-3, "material": wall}), ("plies", {"plies": [ply]})):
            found = implausible(of_parts(femb.Shell("wall", **square, **walls), title="wall"))
            assert [line.startswith(f"shells.wall.{word}[0].shear_modulus: ") for line in found] == [True] * 2 * asked
    tube = femb.Section("tube", shape={"tube": (0.05, 1e-3)}, plies=[ply])
    assert any(line.startswith("sections.tube.plies[0].shear_modulus: 7e+13 Pa beside") for line in tube.doubts(None))


def test_the_numbers_of_the_cases_are_plausible():
    for path in sorted(CASES.glob("*.toml")):
        assert implausible(femb.load_case(path).model) == (), path


def test_coarse_trapezoids_are_too_stiff_in_their_plane():
    wall = {"thickness": 0.01, "material": "aluminium 6061-T6", "elements": [1, 1], "attach": {"edge4": "ground"}}
    for upper, advised in (((2.5, 0.5), False), ((1.5, 0.5), True)):
        corners = [(0, 0, 0), (2, 0, 0), (upper[0], 1, 0), (upper[1], 1, 0)]
        model = of_parts(femb.Shell("plate", corners=corners, **wall), title="plate")
        lines = [line for line in overview(model).advice if line.startswith("shells.plate: 1 of its 1 elements are")]
        assert bool(lines) == advised


def test_fast_wheels_are_advised_the_reduced_form():
    model = femb.Model("wheel")
    for name in ("hub", "wheel"):
        body(model, name)
    model.add(femb.Revolute("spin", femb.JointEnd("hub", axis=(0, 0, 1)), femb.JointEnd("wheel"), rates=100.0))
    (line,) = overview(model, femb.Run(duration=10.0)).advice
    assert line.startswith('joints.spin turns 159 times in the run: run.formulation = "reduced"')
    assert overview(model, femb.Run(duration=10.0, formulation="reduced")).advice == ()
    assert overview(model, femb.Run(duration=1.0)).advice == ()


def test_rates_of_joints_of_a_free_structure_make_the_hub_recoil():
    """Said with the size, which zero momentum gives; not where the hub's motion is given, or the structure is held."""

    def lines(**hub):
        model = femb.Model("hinged")
        model.add(femb.RigidBody("hub", 10.0, 1.0, **hub))
        model.add(femb.RigidBody("panel", 2.0, 0.3, center_of_mass=(0.5, 0, 0)))
        ends = femb.JointEnd("hub", at=(0.5, 0, 0), axis=(0, 0, 1)), femb.JointEnd("panel")
        model.add(femb.Revolute("hinge", *ends, rates=1.0))
        return [line for line in overview(model).lines if "recoil" in line]

    (line,) = lines()
    # about the common mass centre: (I1 + I2 + m d.(d)) with the panel's mass centre 0.5 m beyond the hinge
    m, d, c = 10.0 * 2.0 / 12.0, 1.0, 0.5
    wanted = (0.3 + m * d * c) / (1.0 + 0.3 + m * d * d)
    speed = 2.0 / 12.0 * (c - wanted * d)
    assert line.startswith(f"bodies.hub recoils with {speed:.3g} m/s and {wanted:.3g} rad/s at the start")
    assert "angular_velocity = [0, 0, 0]" in line
    assert "joints.hinge" in line
    zero = (0.0, 0.0, 0.0)
    assert lines(velocity=zero, angular_velocity=zero) == []


def known_lines(model):
    """Free motions and conserved momenta, as check prints them."""
    return [line for line in summary(model).splitlines() if line.startswith(("free motions", "conserved momenta"))]


def joined_to_ground(kind, *items, **words):
    """A body on the ground by a joint at (1, 2, 3) along (0, 3, 4) / 5."""
    model = femb.Model("joined")
    body(model, "b")
    ends = femb.JointEnd("ground", at=(1, 2, 3), axis=(0, 3, 4)), femb.JointEnd("b", at=(0.1, 0.2, 0.3))
    model.add(kind("j", *ends, **words))
    return of_parts(*model.items(), *items, title="joined")


WHEEL = femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=0.01, speed=30.0)
AT_A_POINT = femb.SpringEnd("hub", at=(0.1, 0, 0)), femb.SpringEnd(anchor=(0, 2, 0))
# Model, free motions and conserved momenta.
KNOWN = {
    "free": (of_parts(femb.RigidBody("hub", 1.0, 0.1)), "3 translations, 3 rotations", "linear, angular"),
    "wheel": (
        of_parts(femb.RigidBody("hub", 1.0, 0.1), WHEEL),
        "3 translations, 3 rotations",
        "linear, angular with that of wheels",
    ),
    "weight": (
        of_parts(femb.RigidBody("hub", 1.0, 0.1), gravity=(0, -3, -4)),
        "3 translations, 1 rotation about (0, 0.6, 0.8); others noticed by gravity",
        "linear across (0, 0.6, 0.8), angular about (0, 0.6, 0.8); others changed by gravity",
    ),
    "torque": (
        of_parts(femb.RigidBody("hub", 1.0, 0.1), femb.Load("t", "hub", torque=(1, 0, 0))),
        "3 translations, 1 rotation about (1, 0, 0); others noticed by loads.t",
        "linear, angular across (1, 0, 0); others changed by loads.t",
    ),
    "spring": (
        of_parts(femb.RigidBody("hub", 1.0, 0.1), femb.SpringDamper("s", *AT_A_POINT, stiffness=3.0)),
        "3 rotations through (0, 2, 0) m; others noticed by springs.s",
        "angular through (0, 2, 0) m; others changed by springs.s",
    ),
    "hinge": (
        joined_to_ground(femb.Revolute),
        # the point of the axis nearest to the origin: (1, 2, 3) - 3.6 (0, 0.6, 0.8)
        "1 rotation about (0, 0.6, 0.8) through (1, -0.16, 0.12) m; others noticed by joints.j",
        "angular about (0, 0.6, 0.8) through (1, -0.16, 0.12) m; others changed by joints.j",
    ),
    "damped hinge": (
        joined_to_ground(femb.Revolute, femb.JointSpringDamper("d", "j", damping=1.0)),
        "1 rotation about (0, 0.6, 0.8) through (1, -0.16, 0.12) m; others noticed by joints.j",
        "none, changed by joints.j, springs.d",
    ),
    "plane": (
        joined_to_ground(femb.Planar),
        "2 translations across (0, 0.6, 0.8), 1 rotation about (0, 0.6, 0.8); others noticed by joints.j",
        "linear across (0, 0.6, 0.8), angular about (0, 0.6, 0.8); others changed by joints.j",
    ),
    "slide": (
        joined_to_ground(femb.Prismatic),
        "1 translation along (0, 0.6, 0.8); others noticed by joints.j",
        "linear along (0, 0.6, 0.8); others changed by joints.j",
    ),
    "held": (joined_to_ground(femb.Fixed), "none, noticed by joints.j", "none, changed by joints.j"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_free_motions_and_conserved_momenta_are_printed(name):
    model, motions, momenta = KNOWN[name]
    of = "hub" if "hub" in model.bodies else "b"
    assert known_lines(model) == [f"free motions of {of}: {motions}", f"conserved momenta of {of}: {momenta}"]


def test_structures_are_listed_apart_and_given_as_twists():
    """Of a spring to a point the rotations about it: (point x w, w) about the origin, also far from the body."""
    model = femb.Model("two")
    body(model, "a", position=(100.0, 0, 0))
    body(model, "b", position=(103.0, 0, 0))
    point = np.array([100.0, 5.0, 0.0])
    model.add(femb.SpringDamper("s", femb.SpringEnd("b"), femb.SpringEnd(anchor=tuple(point)), stiffness=1.0))
    assert [line.split(":")[0] for line in known_lines(model)] == [
        "free motions of a", "conserved momenta of a", "free motions of b", "conserved momenta of b",
    ]  # fmt: skip
    free, held = overview(model).values()["structures"]
    assert free["motions"].shape == free["momenta"].shape == (6, 6)
    assert (held["noticed_by"], held["changed_by"]) == (("springs.s",), ("springs.s",))
    for twists in (held["motions"], held["momenta"]):
        np.testing.assert_allclose(twists[:, :3], np.cross(point, twists[:, 3:]), atol=1e-10)
        assert np.linalg.matrix_rank(twists) == 3


def test_a_continuous_law_beside_its_vibrations():
    """Its derivatives are a part of low rank beside the blocks; the hub vibrates at sqrt(k/J) by its law alone."""
    model = femb.Model("hub")
    model.add(femb.RigidBody("hub", 10.0, (2.0, 2.0, 2.0)))
    model.add(femb.Load("torquer", body="hub", torque=(0, 0, 0), frame="body"))
    words = {"attitude": "bodies.hub", "rate": "bodies.hub", "outputs": ("loads.torquer.torque",)}
    model.add(femb.PDController("pd", proportional=8.0, derivative=0.1, **words))
    fastest = overview(model).scales.fastest
    assert fastest is not None
    assert fastest.frequency == pytest.approx(2.0 / (2.0 * np.pi), rel=1e-6)


HUB = re.search(
    r"```toml title=pd.toml\n(.*?)```", (ROOT / "docs" / "howto" / "robust.md").read_text(encoding="utf-8"), re.DOTALL
)[1]


@pytest.mark.parametrize(
    ("old", "new", "said_of"),
    [
        (
            'entry = "bodies.hub.inertia.0"',
            'entry = "bodies.hub.inertia.7"',
            "parameters.inertia: the case has no entry",
        ),
        ("attitude.bandwidth", "attitude.bandwith", "gains.bandwidth: the case has no entry"),
        ("torque.0", "torqu.0", "unmodelled.torquer.at: got 'loads.torquer.torqu.0'; did you mean"),
        ('"loads.torquer.torque.0"', '"bodies.hub.position"', "unmodelled.torquer.at: got 'bodies.hub.position'"),
    ],
)
def test_names_of_parameters_gains_and_unmodelled_dynamics_are_checked(tmp_path, old, new, said_of):
    """They were accepted, and failed in the analysis that read them."""
    path = tmp_path / "hub.toml"
    text = HUB + '[unmodelled.torquer]\nat = "loads.torquer.torque.0"\nerror = 0.1\n'
    path.write_text(text)
    assert "conserved momenta" in said("check", str(path))
    assert old in text
    path.write_text(text.replace(old, new))
    assert said_of in said("check", str(path), code=2)
