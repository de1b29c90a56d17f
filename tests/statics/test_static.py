"""Paths of equilibria: closed forms, joints and drivers, weight, what starts from them, files, and bad input."""

from itertools import product

import numpy as np
import pytest
from checkout import ROOT
from long_runs import slow_but
from models import of_parts, refusals, refuses, stiff
from shared_runs import said

import femb
from femb.profiles import Polynomial
from femb.run.static import path_of, report
from femb.system.system import System

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def rod(bending=(1.0, 1.0), axial=1e6, mass=1.0):
    return stiff(axial, 1.0, bending, mass, (2e-4, 1e-4, 1e-4), "rod")


def cantilever(elements=4, direction=X, gravity=(0, 0, 0), **load):
    model = femb.Model(gravity=gravity)
    model.add(femb.Beam("b", rod(), 1.0, elements, start=femb.Ground().at(direction=direction)))
    if load:
        model.add(femb.Load("P", beam="b", **load))
    return model


# Limit points, with joints


def truss(**load):
    """Two springs of stiffness 1000 N/m that meet at a slider 0.5 m above their feet, 1 m to the sides."""
    model = femb.Model()
    body = model.add(femb.RigidBody("b", mass=1.0, inertia=1.0, position=(0, 0.5, 0)))
    model.add(femb.Prismatic("guide", femb.JointEnd("ground", axis=(0, 1, 0)), femb.JointEnd("b", axis=(0, 1, 0))))
    for name, x in (("left", -1.0), ("right", 1.0)):
        model.add(
            femb.SpringDamper(
                name, femb.Ground().at((x, 0, 0)), body.at(), stiffness=1000.0, free_length=np.hypot(1.0, 0.5)
            )
        )
    if load:
        model.add(femb.Load("P", body="b", **load))
    return model


def truss_force(y):
    """The force down that holds the slider at the height y."""
    return -2000.0 * (np.hypot(1.0, y) - np.hypot(1.0, 0.5)) * y / np.hypot(1.0, y)


@pytest.mark.slow
def test_snap_through():
    """A path through both limit points of a shallow truss: every state, its stability, and the limit loads."""
    y = np.sqrt(np.hypot(1.0, 0.5) ** (2 / 3) - 1.0)  # where the force is largest
    results = femb.static(truss(force=(0, -100.0, 0)), factor=2.0, steps=10, arc_length=True)
    height, load = results.bodies["b"].position[:, 1], results.load_factor
    np.testing.assert_allclose(100.0 * load, truss_force(height), atol=1e-8)
    assert load[-1] == 2.0
    assert height[-1] < -0.5
    assert load.max() == 2.0
    assert load.min() < -0.2
    np.testing.assert_array_equal(results.negative_eigenvalues, np.abs(height) < y)
    found = femb.static(truss(force=(0, -100.0, 0)), factor=2.0, steps=10, arc_length=True, critical=2)
    np.testing.assert_allclose(100.0 * found.critical_load_factors, [truss_force(y), -truss_force(y)], rtol=1e-6)
    assert found.mode_names == ("b moves along y",) * 2


def test_a_path_that_comes_to_the_opposite_load_says_so():
    """The truss beside a long soft spring that pulls it down: past its limit load of 28 N the load falls."""
    model = truss(force=(0, -100.0, 0))
    ends = femb.Ground().at((0, -300.0, 0)), model.bodies["b"].at()
    model.add(femb.SpringDamper("pull", *ends, stiffness=0.05, free_length=0.0))
    results = femb.static(model, factor=0.4, steps=4, arc_length=True)
    height, load = results.bodies["b"].position[:, 1], results.load_factor
    np.testing.assert_allclose(100.0 * load, truss_force(height) - 0.05 * (300.0 + height), atol=1e-8)
    assert load[-1] == -0.4
    assert "; the path returns at the load factor -0.4 and does not come to 0.4: " in results.message


@pytest.mark.slow
def test_steps_of_the_load_say_where_they_may_jump():
    """Past the limit load of the truss: it was "stable" everywhere, and the last factor should have been raised."""
    said = femb.static(truss(force=(0, -100.0, 0)), factor=2.0, steps=10, critical=1).message
    assert "the structure may jump there, past a limit load" in said
    assert said.endswith("0 of 1 critical load factors found up to 2")
    below = femb.static(truss(force=(0, -100.0, 0)), factor=0.4, steps=10, critical=1).message
    assert below == "0 of 1 critical load factors found up to 0.4; raise the last factor"


def test_a_driver_goes_where_loads_could_not():
    """The same truss with its slider driven: the driver's force is that of the path, and no step is repeated."""
    model = truss()
    motion = Polynomial((0.5, -1.0))
    model.add(femb.JointDriver("push", joint="guide", motion=motion))
    results = femb.static(model, time=1.0, steps=8)
    height = results.bodies["b"].position[:, 1]
    np.testing.assert_allclose(height, 0.5 - results.load_factor, atol=1e-12)
    np.testing.assert_allclose(results.drivers["push"].force[:, 0], -truss_force(height), atol=1e-8)
    assert not results.negative_eigenvalues.any()
    # what drivers move is at rest
    assert np.abs(results.audit.constraint_velocity).max() < 1e-12


@pytest.mark.slow
def test_no_equilibrium_beyond_a_limit_point():
    """A spring that softens, and bears 100/e N: the states so far are kept, and the message says how far."""

    def law(stroke, rate):
        force = 100.0 * stroke * np.exp(-stroke)
        return force, 100.0 * (1.0 - stroke) * np.exp(-stroke), 0.0

    model = femb.Model()
    model.add(femb.RigidBody("b", mass=1.0, inertia=1.0))
    model.add(femb.Prismatic("guide", femb.JointEnd("ground", axis=X), femb.JointEnd("b", axis=X)))
    model.add(femb.JointSpringDamper("spring", joint="guide", force=law))
    model.add(femb.Load("P", body="b", force=(100.0, 0, 0)))
    results = femb.static(model, factor=0.36, steps=2)
    stroke = results.joints["guide"].coordinates[:, 0]
    np.testing.assert_allclose(stroke * np.exp(-stroke), results.load_factor, atol=1e-12)
    with pytest.raises(
        femb.SolveError, match=r"no equilibrium found beyond the load factor 0.3: .*arc length"
    ) as caught:
        femb.static(model, steps=10)
    np.testing.assert_allclose(caught.value.results.arrays["static/load_factor"], [0.0, 0.1, 0.2, 0.3])
    assert caught.value.results.status == "failed"


# Loads and weight


def test_weight_grows_with_the_load_factor():
    """Half the weight at half the load factor, in the section forces too; a constant load stays as it is."""
    model = cantilever(gravity=(0, -0.2, 0), force=(0.3, 0, 0))
    results = femb.static(model, steps=2, constant=("P",))
    root = results.beams["b"].section_force[:, 0, 0]
    np.testing.assert_allclose(np.linalg.norm(root[:, :2], axis=1), np.hypot(0.3, [0.0, 0.1, 0.2]), rtol=1e-9)
    np.testing.assert_allclose(results.loads["P"].force[:, 0], 0.3)
    still = femb.static(model, steps=2, constant=("gravity",))
    np.testing.assert_allclose(np.linalg.norm(still.beams["b"].section_force[:, 0, 0, :2], axis=1),
                               np.hypot([0.0, 0.15, 0.3], 0.2), rtol=1e-9)  # fmt: skip


def test_a_constant_load_is_that_of_its_whole_name():
    """A load P stays, and P2 grows with the factor."""
    model = femb.Model()
    model.add(femb.RigidBody("b", mass=1.0, inertia=1.0))
    model.add(femb.Prismatic("guide", femb.JointEnd("ground", axis=X), femb.JointEnd("b", axis=X)))
    model.add(femb.JointSpringDamper("spring", joint="guide", stiffness=100.0))
    for name, force in (("P", 3.0), ("P2", 20.0)):
        model.add(femb.Load(name, body="b", force=(force, 0, 0)))
    results = femb.static(model, steps=4, constant=("P",))
    np.testing.assert_allclose(results.joints["guide"].coordinates[:, 0], 0.03 + 0.2 * results.load_factor, atol=1e-12)


@pytest.mark.slow
def test_stability_under_a_load_that_follows_is_that_of_the_symmetric_part():
    """Ziegler's column of two links l on springs k: the stiffness has no zero, its symmetric part at P l = 2 k."""
    k, length = 10.0, 0.5
    model = femb.Model()
    before, at = "ground", (0, 0, 0)
    for name in ("a", "b"):
        model.add(femb.RigidBody(name, mass=1.0, inertia=1.0))
        ends = (
            femb.JointEnd(before, at=at, axis=(0, 0, 1), reference=X),
            femb.JointEnd(name, axis=(0, 0, 1), reference=X),
        )
        model.add(femb.Revolute(name, *ends))
        model.add(femb.JointSpringDamper(name, joint=name, stiffness=k))
        before, at = name, (length, 0, 0)
    model.add(femb.Load("P", body="b", force=(-2.0 * k / length, 0, 0), at=at, frame="body"))
    results = femb.static(model, factor=1.25, steps=5)
    np.testing.assert_allclose(results.load_factor, [0.0, 0.25, 0.5, 0.75, 1.0, 1.25])
    assert list(results.negative_eigenvalues[:4]) == [0, 0, 0, 0]
    assert results.negative_eigenvalues[-1] == 1
    assert results.stability == ("stable", *["no divergence"] * 3, *results.stability[4:5], "may diverge")
    assert "of flutter it does not tell" in results.message
    found = femb.static(model, factor=1.25, steps=5, critical=1)
    np.testing.assert_allclose(found.critical_load_factors, [1.0], rtol=1e-6)
    assert "critical load factor of the symmetric part 1: " in report(found)


@pytest.mark.filterwarnings("ignore:1 motion of joints has no stiffness")
def test_what_flutters_is_not_called_stable():
    """A point on springs k and a cross stiffness c: growth Im sqrt((k + i c)/m), while nothing diverges."""
    mass, k, c = 2.0, 1000.0, 400.0
    ends = (femb.JointEnd(name, axis=Z) for name in ("ground", "disc"))
    bearing = femb.Bearing("b", femb.SpringEnd("disc"), axis=Z, kxx=k, kxy=c, kyx=-c)
    load = femb.Load("f", body="disc", force=(1.0, 0.0, 0.0))
    model = of_parts(femb.RigidBody("disc", mass, 0.1), femb.Planar("plane", *ends), bearing, load)
    results = femb.static(model, steps=2)
    assert set(results.stability) == {"no divergence"}
    growth = np.max(femb.modes(model, damped=True, start="equilibrium").eigenvalues.real)
    assert growth == pytest.approx(np.sqrt((k + 1j * c) / mass).imag, rel=1e-9)


@pytest.mark.parametrize("law", [
    lambda t, state: (300.0 * state.bodies["a"].position[0], 0.0, 0.0),
    lambda t, state: femb.Differentiated(
        (300.0 * state.bodies["a"].position[0], 0.0, 0.0), {"bodies.a.position": np.diag([300.0, 0.0, 0.0])}
    ),
])  # fmt: skip
def test_stability_under_functions_of_the_state_is_not_judged(law):
    """A spring of 100 N/m beside a force of 300 N/m outwards, which the stiffness of elements does not have."""
    ends = (femb.JointEnd(name, axis=X) for name in ("ground", "a"))
    spring = femb.JointSpringDamper("k", joint="rail", stiffness=100.0)
    load = femb.Load("law", body="a", force=law)
    model = of_parts(femb.RigidBody("a", 1.0, 1.0), femb.Prismatic("rail", *ends), spring, load)
    results = femb.static(model, steps=1)
    assert set(results.stability) == {"not judged"}
    assert "no part of loads.law.force" in results.message
    refuses("critical: the stiffness has no part of loads.law.force", femb.static, model, critical=1)


def test_column_under_its_own_weight():
    """q L^3/EI = 7.8373 (Greenhill)."""
    results = femb.static(cantilever(8, direction=Z, gravity=(0, 0, -10.0)), steps=4, critical=2)
    np.testing.assert_allclose(10.0 * results.critical_load_factors, 7.83735, rtol=1e-4)


def test_pendulum_that_only_its_weight_holds():
    """Without weight there is no equilibrium of its own to begin with; with it the beam hangs, and is stable."""
    model = femb.Model(gravity=(0, 0, -9.81))
    beam = model.add(femb.Beam("b", rod(), 1.0, 4, start=femb.Attachment(at=(0, 0, 0), direction=(0.6, 0, -0.8))))
    model.add(femb.Revolute("pin", femb.JointEnd("ground", axis=(0, 1, 0)), beam.node(0)))
    results = femb.static(model, steps=2)
    np.testing.assert_allclose(results.beams["b"].position[1:, -1, :2], 0.0, atol=1e-9)
    np.testing.assert_allclose(results.joints["pin"].force[-1] @ results.joints["pin"].force[-1], 9.81**2, rtol=1e-9)
    assert not results.negative_eigenvalues[1:].any()


def test_double_pendulum_hangs():
    """From a horizontal start, where without weight every posture is an equilibrium, to the stable one."""
    results = femb.static(femb.load_case(ROOT / "cases" / "double_pendulum_flexible.toml").model, steps=1)
    assert not results.negative_eigenvalues[-1]
    np.testing.assert_allclose(results.beams["lower"].position[-1, -1], [0.0, -1.0001, 0.0], atol=1e-4)


def test_closed_loop():
    """A clamped beam whose far end a weld closes: symmetric, with half of the load on the weld."""
    loop = femb.Model()
    beam = loop.add(femb.Beam("b", rod(axial=1e3), 2.0, 8, start=femb.Ground().at(direction=X)))
    loop.add(femb.Fixed("weld", femb.JointEnd("ground", at=(2, 0, 0)), beam.node(-1)))
    loop.add(femb.Load("P", beam="b", node=4, force=(0, 8.0, 0)))
    results = femb.static(loop, steps=2)
    position = results.beams["b"].position[-1]
    np.testing.assert_allclose(position[::-1] * (-1, 1, 1) + (2, 0, 0), position, atol=1e-9)
    reaction = results.joints["weld"].force[-1]
    assert reaction[1] == pytest.approx(-4.0, rel=1e-9)
    assert not results.negative_eigenvalues.any()


def test_spinning_structure():
    """A relative equilibrium: that which a run starts from."""
    section = femb.Section("tape", 1.2e-4, (1e-9, 1e-9), 2e-9, 1600.0, 1e11, 4e10)
    model = of_parts(
        femb.Beam(
            "b", section, 10.0, 4, start=femb.Attachment(at=(-5, 0, 0), direction=X), velocity=(0, -10.0, 0),
            angular_velocity=(0, 0, 2.0),
        ),
    )  # fmt: skip
    results = femb.static(model, steps=1)
    run = femb.simulate(model, duration=0.01, output_interval=0.01, start="equilibrium")
    np.testing.assert_allclose(results.beams["b"].strain[-1], run.beams["b"].strain[0], atol=1e-13)
    assert set(results.negative_eigenvalues) == {-1}
    refuses("structures that turn is not judged", femb.static, model, critical=1)
    np.testing.assert_allclose(results.beams["b"].velocity[-1], run.beams["b"].velocity[0], atol=1e-9)


@pytest.mark.parametrize(
    "load",
    [
        femb.Load("P", beam="b", force=(1.0, 2.0, 3.0), torque=(0.3, 0.2, 0.1), frame="body"),
        femb.Load("P", beam="b", force=lambda t, state: 3.0 * state.beams["b"].nodes[-1].position),
        femb.DistributedLoad("P", beam="b", force=((0, 1, 2), (3, 2, 1)), torque=(0.1, 0, 0), frame="body"),
        femb.Pull("P", start=femb.SpringEnd(beam="b", node=-1), end=femb.SpringEnd(anchor=(0, 2, 1)), force=2.0),
        femb.JointMotor("P", joint="hinge", force=2.0),
    ],
    ids=lambda load: type(load).__name__,
)
def test_equations_are_linear_in_the_load_factor(load):
    """Of every kind of load, and of the weight: the exact derivative, by which a path is followed."""
    model = femb.Model(gravity=(1.0, -2.0, 3.0))
    model.add(femb.Beam("b", rod(), 1.0, 2, start=femb.Ground().at(direction=X)))
    model.add(femb.PointMass("m", mass=2.0))
    model.add(femb.SpringDamper("s", femb.SpringEnd(body="m"), femb.SpringEnd(anchor=(1, 1, 1)), stiffness=3.0))
    model.add(femb.RigidBody("arm", mass=1.0, inertia=1.0, center_of_mass=(0.1, 0.2, 0.3)))
    model.add(femb.Revolute("hinge", femb.JointEnd("ground", axis=Z), femb.JointEnd("arm", axis=Z)))
    model.add(load)
    statics = path_of(System(model)).statics
    system = statics.twin
    q = system.retract(system.q0, 0.1 * np.random.default_rng(0).standard_normal(system.n_v))
    zero, half, one = (statics.forces(q, factor)[1] for factor in (0.0, 0.5, 1.0))
    np.testing.assert_allclose(half, 0.5 * (zero + one), atol=1e-9)
    np.testing.assert_allclose(statics.by_load(q, 0.3)[: system.n_v], one - zero, atol=1e-9)
    alone = path_of(System(model), constant=("gravity",)).statics
    assert np.abs(alone.by_load(q, 0.3)).max() > 1e-3
    assert np.abs(path_of(System(model), constant=("P",)).statics.by_load(q, 0.3)).max() > 1e-3
    both = path_of(System(model), constant=("P", "gravity")).statics
    np.testing.assert_allclose(both.by_load(q, 0.3), 0.0, atol=1e-12)


@pytest.mark.slow
def test_heating_along_an_arc():
    """A half circle without stress, although the strain of a hot element is not quite linear in the load factor."""
    model = cantilever(4)
    model.add(femb.ThermalLoad("heat", beam="b", strain=(0, 0, 0, np.pi)))
    results = femb.static(model, steps=8, arc_length=True)
    np.testing.assert_allclose(results.beams["b"].position[-1, -1], [0.0, 2.0 / np.pi, 0.0], atol=1e-6)


# What starts from them


def test_a_state_starts_a_run_and_a_linear_model():
    """At rest in the state, and a frequency that falls to zero at the buckling load."""
    model = cantilever(force=(-1.0, 0, 0))
    buckling = np.pi**2 / 4
    results = femb.static(model, factor=0.999 * buckling, steps=2)
    start = femb.static(cantilever(force=(0, 1.0, 0)), steps=2).start()
    run = femb.simulate(start, duration=0.2, output_interval=0.1)
    assert np.ptp(run.beams["b"].position, axis=0).max() < 1e-9
    squares = []
    for k in (0, 1, 2):
        scaled = cantilever(force=(-results.load_factor[k], 0, 0))
        system = femb.static(scaled, steps=1).start()
        eigenvalues = np.linalg.eigvals(femb.linearize(femb.operating_point(system)).A)
        squares.append(np.min(np.abs(eigenvalues)) ** 2)
        modes = femb.modes(system, 1, start="equilibrium")
        assert (2.0 * np.pi * modes.frequencies[0]) ** 2 == pytest.approx(squares[-1], rel=1e-4, abs=1e-6)
    assert squares[0] == pytest.approx(3.5160**2, rel=2e-3)
    assert squares[2] / squares[0] == pytest.approx(0.0, abs=2e-3)
    assert squares[1] / squares[0] == pytest.approx(0.51, abs=0.03)


def test_results_file(tmp_path):
    file = tmp_path / "static.h5"
    found = femb.static(cantilever(force=(-4, 0, 0)), steps=4, critical=1, out=file)
    read = femb.Results.read(file)
    np.testing.assert_array_equal(read.arrays["static/load_factor"], found.load_factor)
    np.testing.assert_array_equal(read.beams["b"].position, found.beams["b"].position)
    assert read.arrays["static/modes/beams/b/translation"].shape == (1, 5, 3)
    assert read.status == "complete"
    assert read.method == "static"
    assert "energy_error" not in read.audit


CASE = """
[sections.rod]
axial_stiffness = 1e6
torsional_stiffness = 1.0
bending_stiffness = [1.0, 1.0]
mass_per_length = 1.0
inertia_per_length = [2e-4, 1e-4, 1e-4]
[beams.b]
section = "rod"
length = 1.0
elements = 4
start = { body = "ground", direction = [1, 0, 0] }
[loads.P]
beam = "b"
force = [-1, 0, 0]
"""


def test_command(tmp_path):
    case = tmp_path / "column.toml"
    case.write_text(CASE)
    words = ["static", str(case), "--out", str(tmp_path / "out"), "--factor", "4", "--steps", "4", "--critical", "2"]
    result = said(*words)
    assert result.count("critical load factor 2.467") == 2
    said("static", case, "--factor", "0", code=2)
    result = said("static", case, "--critical", "1", "--out", tmp_path / "low")
    assert "warning: 0 of 1 critical load factors found up to 1" in result


# What turns freely


def strut(axis=X, kind=femb.Beam, elements=6, sag=0.0):
    """A rod of EI 100, GJ 130 and L 2 between a spherical joint and a slider with another, pushed by 1 N."""
    axes = np.linalg.qr(np.column_stack([axis, (0.3, -0.5, 0.8), (0.2, 0.9, 0.1)]))[0]
    axes *= np.sign(axes[:, 0] @ axis) * np.array([1.0, 1.0, np.linalg.det(axes)])
    points = [axes @ (x, sag * np.sin(0.5 * np.pi * x), 0.0) for x in np.linspace(0.0, 2.0, elements + 1)]
    section = stiff(1e6, 130.0, (100.0, 100.0), 1.0, (2e-4, 1e-4, 1e-4), "rod")
    model = femb.Model("strut")
    start = femb.Attachment(at=(0, 0, 0), direction=None if sag else axes[:, 0], up=axes[:, 2])
    shape = {"path": femb.Path(points)} if sag else {"length": 2.0}
    beam = model.add(kind("b", section, elements=elements, start=start, **shape))
    model.add(femb.RigidBody("head", mass=1.0, inertia=0.01, position=points[-1]))
    model.add(femb.Prismatic("guide", femb.JointEnd("ground", axis=axes[:, 0]), femb.JointEnd("head")))
    model.add(femb.Spherical("foot", femb.JointEnd("ground"), beam.node(0)))
    model.add(femb.Spherical("top", beam.node(-1), femb.JointEnd("head")))
    model.add(femb.Load("P", body="head", force=-axes[:, 0]))
    return model


SKEW = ((1.0, 0.0, 0.0), (0.3, -0.4, 0.6), (-0.9, 0.2, 0.1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "axis"),
    slow_but([(femb.Beam, SKEW[1]), (femb.ExactBeam, SKEW[2])], product([femb.Beam, femb.ExactBeam], SKEW)),
)
def test_a_strut_that_spins_freely(axis, kind):
    """The spin about its own axis is no sign of instability, and no critical load: P/(1 + P/EA) = pi^2 EI/L^2, of two
    equal modes across the axis."""
    results = femb.static(strut(axis, kind), factor=200.0, steps=4)
    assert not results.negative_eigenvalues.any()
    assert set(results.stability) == {"stable"}
    assert set(results.neutral_motions) == {femb.modes(strut(axis, kind), 1).joint} == {1}
    assert "1 motion of joints has no stiffness" in results.message
    assert "turns about" in results.message
    found = femb.static(strut(axis, kind), factor=400.0, steps=4, critical=2)
    load = found.critical_load_factors
    np.testing.assert_allclose(load / (1.0 + load / 1e6), 25.0 * np.pi**2, rtol=1e-3)
    assert load[0] == pytest.approx(load[1], rel=1e-6)
    for k in range(2):
        translation, _ = found.mode(k, "beams/b")
        assert np.max(np.abs(translation @ axis)) < 1e-6 * np.max(np.abs(translation))
    assert found.stability[-1] == "unstable"


@pytest.mark.slow
def test_a_torque_along_a_neutral_motion_is_named():
    """About its own axis nothing holds the strut, so that a torque there has no equilibrium; one of nothing has."""
    axis = np.array(SKEW[1]) / np.linalg.norm(SKEW[1])
    for size in (0.0, 1.0):
        model = strut(SKEW[1], femb.Beam)
        model.add(femb.Load("twist", beam="b", node=2, torque=size * axis))
        if size:
            with pytest.raises(femb.SolveError, match="the loads act along motions without stiffness"):
                femb.static(model, factor=200.0, steps=2)
        else:
            assert set(femb.static(model, factor=200.0, steps=2).stability) == {"stable"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [femb.Beam, femb.ExactBeam])
def test_a_bent_strut_that_spins_freely(kind):
    """Far beyond the critical load of a rod with a sag, by load steps and along the path: the same state, from which
    nothing but the spin about the line of its ends costs no energy."""
    model = strut(SKEW[1], kind, sag=0.05)
    states = [femb.static(model, factor=450.0, steps=6, arc_length=arc) for arc in (False, True)]
    for results in states:
        assert not results.negative_eigenvalues.any()
        assert set(results.neutral_motions) == {1}
    ends = [np.linalg.norm(results.bodies["head"].position[-1]) for results in states]
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)
    assert ends[0] < 0.5


def apex(feet=3):
    """Springs of 1000 N/m to a body 0.5 m above their feet on a circle of 1 m, which can turn about its centre."""
    model = femb.Model("dome")
    body = model.add(femb.RigidBody("apex", mass=1.0, inertia=1.0, position=(0, 0.5, 0)))
    for k in range(feet):
        foot = np.array([np.cos(2.0 * np.pi * k / feet), 0.0, np.sin(2.0 * np.pi * k / feet)])
        spring = femb.SpringDamper(
            f"s{k}", femb.Ground().at(foot), body.at(), stiffness=1000.0, free_length=np.hypot(1.0, 0.5)
        )
        model.add(spring)
    model.add(femb.Load("P", body="apex", force=(0, -100.0, 0)))
    return model


@pytest.mark.slow
def test_snap_through_of_an_apex_that_spins():
    """The path of three springs is that of the plane truss times 3/2, and ends where the load is reached again."""
    results = femb.static(apex(), factor=2.0, steps=10, arc_length=True)
    height = results.bodies["apex"].position[:, 1]
    np.testing.assert_allclose(100.0 * results.load_factor, 1.5 * truss_force(height), atol=1e-7)
    assert results.load_factor[-1] == 2.0
    assert len(height) < 40
    assert set(results.neutral_motions) == {femb.modes(apex(), 1).joint} == {3}
    y = np.sqrt(np.hypot(1.0, 0.5) ** (2 / 3) - 1.0)
    np.testing.assert_array_equal(results.negative_eigenvalues, np.abs(height) < y)
    found = femb.static(apex(), factor=2.0, steps=10, arc_length=True, critical=1)
    np.testing.assert_allclose(100.0 * found.critical_load_factors, 1.5 * truss_force(y), rtol=1e-6)


def test_a_wheel_with_nothing_against_it():
    """It stays where it is, and the results say so, as the modes do."""
    shaft = femb.Model()
    shaft.add(femb.RigidBody("wheel", mass=1.0, inertia=1.0))
    shaft.add(femb.Revolute("bearing", femb.JointEnd("ground", axis=Z), femb.JointEnd("wheel", axis=Z)))
    shaft.add(femb.Load("P", body="wheel", force=(1, 0, 0)))
    results = femb.static(shaft, steps=1)
    assert results.message.endswith("of which stability does not tell: wheel turns about z")
    np.testing.assert_allclose(results.joints["bearing"].coordinates, 0.0, atol=1e-12)
    assert list(results.neutral_motions) == [1, 1]


def test_motions_along_axes_that_are_askew_have_names_and_a_straight_path_takes_twice_the_first_step():
    """A body of 10 N on a spring of 100 N/m, beside two that nothing holds."""
    model, skew = femb.Model(), (0.6, -0.8, 0.0)
    held = model.add(femb.RigidBody("held", mass=1.0, inertia=1.0))
    for name, kind, axis in (
        ("held", femb.Prismatic, X),
        ("slide", femb.Prismatic, skew),
        ("rotor", femb.Revolute, skew),
    ):
        if name != "held":
            model.add(femb.RigidBody(name, mass=2.0, inertia=3.0))
        model.add(kind(f"{name} joint", femb.JointEnd("ground", axis=axis), femb.JointEnd(name, axis=axis)))
    model.add(femb.SpringDamper("s", femb.Ground().at((-1, 0, 0)), held.at(), stiffness=100.0, free_length=1.0))
    model.add(femb.Load("P", body="held", force=(10.0, 0, 0)))
    results = femb.static(model, steps=10, arc_length=True)
    assert set(results.neutral_motions) == {2}
    start, _, names = results.message.partition("tell: ")
    assert start.startswith("2 motions of joints have no stiffness")
    wanted = {f"{words} (-0.60, 0.80, 0.00)" for words in ("rotor turns about", "slide moves along")}
    assert set(names.split("; ")) == wanted
    np.testing.assert_allclose(results.bodies["held"].position[:, 0], 0.1 * results.load_factor, atol=1e-9)
    np.testing.assert_allclose(np.diff(results.load_factor)[:5], [0.1, 0.15, 0.2, 0.2, 0.2], rtol=2e-3)


# Unstable equilibria in words


def inverted():
    """A pendulum of 2 kg that stands on its hinge."""
    model = femb.Model("inverted", gravity=(0, 0, -9.81))
    model.add(femb.RigidBody("rod", mass=2.0, inertia=0.3, position=(0, 0, 0.8)))
    model.add(femb.Revolute("hinge", femb.JointEnd("ground", axis=(0, 1, 0)), femb.JointEnd("rod", at=(0, 0, -0.8))))
    return model


def test_an_unstable_equilibrium_is_called_so():
    """In the table, by the results, and as a start of every analysis; a hanging pendulum draws no word."""
    buckled = cantilever(force=(-3.0, 0, 0))
    results = femb.static(buckled, steps=2)
    assert results.stability == ("stable", "stable", "unstable")
    assert [line.split()[-1] for line in report(results).splitlines()] == ["equilibrium", *results.stability]
    assert "the equilibrium at the load factor 1 is unstable: 2 motions have a negative stiffness" in results.message
    assert "unstable from 1 on" in results._repr_html_()
    assert results.start(1) is not None
    with pytest.warns(femb.FembWarning, match="the equilibrium at the load factor 1 is unstable"):
        results.start()
    with pytest.warns(
        femb.FembWarning, match="the start is an unstable equilibrium: 1 motion has a negative stiffness"
    ):
        femb.simulate(inverted(), duration=1e-3, start="equilibrium")
    with pytest.warns(femb.FembWarning, match="the start is an unstable equilibrium"):
        linear = femb.linearize(femb.operating_point(inverted(), start="equilibrium"))
    rate = np.sqrt(2.0 * 9.81 * 0.8 / (0.3 + 2.0 * 0.8**2))
    np.testing.assert_allclose(np.sort(linear.eigenvalues().real), [-rate, rate], rtol=1e-9)
    hanging = of_parts(*inverted().items(), gravity=(0, 0, 9.81))
    femb.simulate(hanging, duration=1e-3, start="equilibrium")


# Bad input


def test_what_drifts_is_named():
    free = femb.Model()
    hub = free.add(femb.RigidBody("hub", mass=1.0, inertia=1.0))
    free.add(femb.Beam("b", rod(), 1.0, 2, start=hub.at(direction=X)))
    free.add(femb.Load("P", beam="b", force=(0, 1, 0)))
    refuses(r"structure of 'hub' drifts: nothing holds it .*\(0, 1, 0\) N", femb.static, free, error=femb.SolveError)
    shaft = femb.Model()
    shaft.add(femb.RigidBody("wheel", mass=1.0, inertia=1.0))
    shaft.add(femb.Revolute("bearing", femb.JointEnd("ground", axis=Z), femb.JointEnd("wheel", axis=Z)))
    shaft.add(femb.Load("P", body="wheel", torque=(0, 0, 1)))
    with pytest.raises(
        femb.SolveError, match="along motions without stiffness, and what they move drifts: wheel turns about z; "
    ):
        femb.static(shaft)
    points = of_parts(femb.PointMass("m", mass=1.0), femb.Load("P", body="m", force=(1, 0, 0)))
    refuses("'m' drifts", femb.static, points, error=femb.SolveError)


def test_free_structure_under_balanced_loads():
    """Stretched by two forces: the strain is that of the force, and nothing drifts."""
    model = femb.Model()
    model.add(femb.Beam("b", rod(), 1.0, 2, start=femb.Attachment(at=(0, 0, 0), direction=X)))
    model.add(femb.Load("P", beam="b", force=(1.0, 0, 0)))
    model.add(femb.Load("Q", beam="b", node=0, force=(-1.0, 0, 0)))
    results = femb.static(model, steps=1)
    np.testing.assert_allclose(results.beams["b"].strain[-1], 1e-6, rtol=1e-6)


test_bad_options = refusals(
    lambda options: femb.static(cantilever(force=(0, 1, 0)), **options), ({"factor": 0.0}, "factor: got 0.0"),
    ({"factor": float("nan")}, "factor: got"), ({"steps": 0}, "steps: got 0, wanted a whole number from 1"),
    ({"critical": -1}, "critical: got -1"), ({"time": -1.0}, "time: got -1.0"),
    ({"constant": ("Q",)}, "constant: there is no load 'Q'; there are: gravity, P"),
)  # fmt: skip


def test_arc_length_needs_a_load():
    refuses("there is no load and no weight whose factor could change", femb.static, cantilever(), arc_length=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gravity", "puff"])
def test_a_force_in_air_has_the_load_factor_once(name):
    """A plate before its hinge, held by k, which turns it at p = k/(F a); also where its name is that of the weight."""
    k, arm, wind, density, drag = 1.0, 0.5, 10.0, 0.01, 2.0
    model = femb.Model()
    model.add(femb.RigidBody("vane", mass=1.0, inertia=1.0))
    end = femb.JointEnd("ground", axis=(0, 0, 1))
    model.add(femb.Revolute("hinge", end, femb.JointEnd("vane", axis=(0, 0, 1))))
    model.add(femb.JointSpringDamper("k", joint="hinge", stiffness=k))
    air = {"density": density, "wind": (wind, 0.0, 0.0), "coefficient": drag}
    model.add(femb.PlateDrag(name, body="vane", at=(-arm, 0.0, 0.0), normal=(-1.0, 0.0, 0.0), area=1.0, **air))
    force = 0.5 * density * wind**2 * drag
    results = femb.static(model, factor=4.0, steps=8, critical=1)
    assert results.critical_load_factors == pytest.approx([k / (force * arm)], rel=1e-6)
    np.testing.assert_allclose(results.loads[name].force[:, 0], force * results.load_factor, rtol=1e-12)
    kept = femb.static(model, steps=2, constant=[name])
    np.testing.assert_allclose(kept.loads[name].force[:, 0], force, rtol=1e-12)


def test_loads_that_do_not_act_at_their_instant_are_told():
    """Each of a ramp from zero, at its start: nothing moves, which is no answer."""
    model = truss(force=(0.0, -100.0, 0.0), profile=femb.profiles.Table((0.0, 2.0), (0.0, 2.0)))
    assert femb.static(model, steps=2).message == (
        "the load factor changes nothing: all loads that it multiplies are zero at 0 s; take an instant at which they "
        "act (--time)"
    )
    assert femb.static(model, steps=2, time=1.0).message == ""
    model.gravity = (0.0, -1.0, 0.0)
    assert femb.static(model, steps=2).message == ""


def test_a_case_without_a_run(tmp_path):
    """Statics need no [run]: the middle of a rod of two elements sags by F l^3 / 3 E I of its free end at the end."""
    text = """
    [sections.rod]
    axial_stiffness = 1e6
    torsional_stiffness = 1.0
    bending_stiffness = [1.0, 1.0]
    mass_per_length = 1.0
    inertia_per_length = [2e-4, 1e-4, 1e-4]
    [beams.b]
    section = "rod"
    length = 1.0
    elements = 2
    start = { body = "ground", direction = [1, 0, 0] }
    [loads.P]
    beam = "b"
    force = [0, 0, -1e-3]
    """
    file = tmp_path / "rod.toml"
    for run in ("", '[run]\nduration = 1.0\nstart = "assembled"\n'):
        file.write_text(text.replace("\n    ", "\n") + run)
        found = femb.static(file, steps=1)
        assert found.beams["b"].position[-1, -1, 2] == pytest.approx(-1e-3 / 3.0, rel=1e-5)
