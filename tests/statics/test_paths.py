"""Paths through limit points and bifurcations: toggles and arches by shooting and closed forms, with steps of any
length; modes that are followed, paths that return, and displacements that are given."""

from functools import cache

import numpy as np
import pytest
from models import of_parts, refuses
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq, fsolve
from scipy.special import ellipe, ellipk
from shared_runs import said
from statics.test_static import truss, truss_force

import femb

# of Williams: half a span, rise (in), axial and bending stiffness (lb, lb in2)
SPAN, RISE, AXIAL, BENDING = 12.943, 0.386, 1.03e7 * 0.753 * 0.243, 1.03e7 * 0.753 * 0.243**3 / 12.0


def plane_rod(axial, bending):
    """A section that bends and twists in its plane alone."""
    stiff = 1e3 * bending
    return femb.Section("rod", axial_stiffness=axial, torsional_stiffness=stiff, bending_stiffness=(stiff, bending),
                        mass_per_length=1.0, inertia_per_length=(2e-3, 1e-3, 1e-3))  # fmt: skip


def toggle(rise, hinged=False, elements=16):
    """Two straight bars that meet at their rise under a force of 1 lb down."""
    model = femb.Model("toggle")
    along = np.array([SPAN, rise, 0.0]) / np.hypot(SPAN, rise)
    start = {"at": (-SPAN, 0, 0), "up": (-along[1], along[0], 0)}
    path = femb.Path(points=[(-SPAN, 0, 0), (0, rise, 0), (SPAN, 0, 0)], kinks=True)
    start = femb.Attachment(**start) if hinged else femb.Attachment(body="ground", **start)
    beam = femb.Beam("f", plane_rod(AXIAL, BENDING), elements=elements, start=start, path=path)
    model.add(beam)
    joint = femb.Revolute if hinged else femb.Fixed
    axis = {"axis": (0, 0, 1)} if hinged else {}
    if hinged:
        model.add(joint("left", femb.JointEnd("ground", at=(-SPAN, 0, 0), **axis), beam.node(0)))
    model.add(joint("right", femb.JointEnd("ground", at=(SPAN, 0, 0), **axis), beam.node(-1)))
    model.add(femb.Load("P", beam="f", node=elements // 2, force=(0, -1, 0)))
    return model


@cache
def williams_force():
    """The force on the clamped toggle over the fall of its apex: a bar by shooting, extensible without shear."""
    length, angle = np.hypot(SPAN, RISE), np.arctan2(RISE, SPAN)

    def rates(s, y, across, up):
        c, n = np.cos(y[2]), np.sin(y[2])
        stretch = 1.0 + (across * c + up * n) / AXIAL
        return [stretch * c, stretch * n, y[3] / BENDING, stretch * (across * n - up * c)]

    def end(unknowns, fall):
        y0 = [0.0, 0.0, angle, unknowns[2]]
        y = solve_ivp(rates, (0.0, length), y0, "DOP853", args=tuple(unknowns[:2]), rtol=1e-10, atol=1e-10).y[:, -1]
        return [y[0] - SPAN, y[1] - (RISE - fall), y[2] - angle]

    falls, states = np.linspace(0.0, 0.9, 37), [np.zeros(3)]
    for k, fall in enumerate(falls[1:], start=1):
        guess = states[-1] if k == 1 else 2.0 * states[-1] - states[-2]
        found, details, _, _ = fsolve(end, guess, args=(fall,), xtol=1e-11, full_output=True)
        assert np.max(np.abs(details["fvec"])) < 1e-7
        states.append(found)
    return CubicSpline(falls, -2.0 * np.array(states)[:, 1])


def williams_limits():
    """The largest force and the least one behind it."""
    return williams_force()(williams_force().derivative().roots(extrapolate=False))


@pytest.mark.slow
@pytest.mark.parametrize("steps", [3, 10, 30])
def test_williams_toggle(steps):
    """Both limit loads by steps of any length, and as many negative eigenvalues as between them."""
    model = toggle(RISE)
    found = femb.static(model, factor=80.0, steps=steps, arc_length=True, critical=2)
    np.testing.assert_allclose(found.critical_load_factors, williams_limits(), rtol=1e-3)
    path = femb.static(model, factor=80.0, steps=steps, arc_length=True)
    fall = RISE - path.beams["f"].position[:, 8, 1]
    assert np.all(np.diff(fall) > 0.0)
    np.testing.assert_allclose(path.load_factor[1::3], williams_force()(fall[1::3]), rtol=2e-3)
    falling = np.diff(path.load_factor) < -1e-3
    assert np.all(path.negative_eigenvalues[1:][falling] <= 1)
    assert path.negative_eigenvalues.max() == 1
    assert path.stability[-1] == "stable"


def test_given_displacements_of_a_toggle():
    """The force at each displacement that is given, on the falling part too; the file and the command as well."""
    found = femb.static(toggle(RISE), control=("f.8.y", -0.7), steps=7, critical=2)
    np.testing.assert_allclose(found.critical_load_factors, williams_limits(), rtol=1e-3)
    found = femb.static(toggle(RISE), control=("f.8.y", -0.7), steps=7)
    np.testing.assert_allclose(RISE - found.beams["f"].position[:, 8, 1], 0.1 * np.arange(8), atol=1e-12)
    wanted = williams_force()(0.1 * np.arange(8))
    np.testing.assert_allclose(found.load_factor, wanted, rtol=2e-3, atol=1e-9)


def test_the_command_controls_a_displacement_and_follows_a_mode(tmp_path):
    lee = "cases/lees_frame.toml"
    text = said("static", lee, "--time", "1", "--control", "frame.12.y=-0.1", "--steps", "2", "--out", tmp_path / "a")
    assert len([line for line in text.splitlines() if line.endswith("stable")]) == 3
    results = femb.Results.read(tmp_path / "a" / "static.h5")
    np.testing.assert_allclose(np.diff(results.beams["frame"].position[:, 12, 1]), -0.05, atol=1e-9)
    assert "wanted PLACE=M" in said("static", lee, "--control", "frame.12.y", "--out", tmp_path / "b", code=2)


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (("b.y", 0.0), "control: got 0.0 for the last displacement"), (("b", -1.0), "with x, y or z"),
        (("c.y", -1.0), "there is no 'c' that moves.*there are: b"), ("b.y", r"control: got 'b.y', wanted \("),
    ],
)  # fmt: skip
def test_a_wrong_control_is_named(control, message):
    refuses(message, femb.static, truss(force=(0, -100.0, 0)), control=control)
    with pytest.raises(femb.ModelError, match="steps of a displacement are no steps along an arc"):
        femb.static(truss(force=(0, -100.0, 0)), control=("b.y", -1.0), arc_length=True)


def test_a_path_ends_where_its_load_factor_is_first_reached():
    """Just below a limit load, with a step that passes it: the state before the limit point, not the one behind; of
    negative factors too."""
    y = np.sqrt(np.hypot(1.0, 0.5) ** (2 / 3) - 1.0)
    for part, steps, sign in ((0.9, 2, 1.0), (0.98, 3, -1.0), (0.999, 7, 1.0), (0.86, 1, -1.0)):
        factor = part * truss_force(y) / 100.0
        model = truss(force=(0, -100.0 * sign, 0))
        found = femb.static(model, factor=sign * factor, steps=steps, arc_length=True)
        assert found.stability[-1] == "stable"
        height = brentq(lambda y, wanted=100.0 * factor: truss_force(y) - wanted, y, 0.5)
        assert found.bodies["b"].position[-1, 1] == pytest.approx(height, abs=1e-6)


def test_deep_arch():
    """The arch of 215 degrees, clamped at one end and hinged at the other: 897 E I / 1e6 (DaDeppo and Schmidt)."""
    half = np.radians(107.5)
    at, along = (-100.0 * np.sin(half), 100.0 * np.cos(half), 0.0), (np.cos(half), np.sin(half), 0.0)
    start = femb.Attachment(body="ground", at=at, direction=along, up=(along[1], -along[0], 0.0))
    path = femb.Path(radius=100.0, angle=2.0 * half)
    arch = femb.Beam("a", plane_rod(1e8, 1e6), elements=48, start=start, path=path)
    end = femb.JointEnd("ground", at=(-at[0], at[1], 0.0), axis=(0, 0, 1))
    model = of_parts(
        arch, femb.Revolute("end", end, arch.node(-1)), femb.Load("P", beam="a", node=24, force=(0, -1, 0))
    )
    found = femb.static(model, factor=1200.0, steps=6, arc_length=True, critical=1)
    assert found.critical_load_factors[0] == pytest.approx(897.3, rel=2.5e-3)


@pytest.mark.slow
def test_a_mode_is_followed_to_the_elastica():
    """A column goes on along its mode where it buckles: P = Pcr (2 K / pi)^2, height 2 E / K - 1, tip 2 sin(a/2) / K.
    Steps of the load stay on the straight path, and say so."""
    rod = femb.Section("rod", axial_stiffness=1e7, torsional_stiffness=1.0, bending_stiffness=(1.0, 2.0),
                       mass_per_length=1.0, inertia_per_length=(2e-4, 1e-4, 1e-4))  # fmt: skip
    model = femb.Model("column")
    model.add(femb.Beam("b", rod, 1.0, 32, start=femb.Ground().at(direction=(1, 0, 0))))
    model.add(femb.Load("P", beam="b", force=(-4.0, 0, 0)))
    straight = femb.static(model, steps=10)
    assert straight.stability[-1] == "unstable"
    assert "between the load factors 0.6 and 0.7, where it buckles: follow_mode" in straight.message
    found = femb.static(model, follow_mode=True)
    assert set(found.stability) == {"stable"}
    x, _, z = found.beams["b"].position[:, -1].T
    modulus = brentq(lambda k: (ellipk(k * k)) ** 2 - 4.0, 0.1, 0.99)  # P = K^2 E I / l^2
    K, E = ellipk(modulus**2), ellipe(modulus**2)
    assert x[-1] == pytest.approx(2.0 * E / K - 1.0, abs=5e-5)
    assert abs(z[-1]) == pytest.approx(2.0 * modulus / K, abs=5e-5)


@pytest.mark.slow
def test_a_path_that_returns_is_recognised():
    """The hinged toggle buckles aside; that path comes back to where it began, and never to the load asked for."""
    found = femb.static(toggle(1.0, hinged=True), factor=3000.0, follow_mode=True)
    assert len(found.load_factor) < 100
    assert "the path returns at the load factor" in found.message
    assert found.load_factor[-1] == pytest.approx(found.load_factor.max(), rel=1e-2)
    over = femb.static(toggle(1.0, hinged=True), factor=3000.0, arc_length=True)
    assert over.load_factor[-1] == pytest.approx(3000.0)
    assert over.stability[-1] == "stable"


def heated_plate(size):
    """A square plate on four hinge lines that cannot part, heated; all lengths by a size."""
    corners = 0.5 * size * np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    plate = femb.Shell(
        "p", (4, 4), corners, thickness=2e-3 * size, material=femb.Material(7e10, 2.7e10, 2700.0, 2.3e-5)
    )
    lines = [
        femb.elements.HingeLine(f"line {k}", first={"body": "ground"}, second={"shell": "p", "edge": f"edge{k}"})
        for k in range(1, 5)
    ]
    return of_parts(plate, *lines, femb.SurfaceLoad("heat", "p", temperature=0.3))


@pytest.mark.slow
def test_critical_loads_of_similar_structures_are_one():
    """Temperatures and load factors have no length: micrometres, metres and kilometres buckle at the same."""
    found = [
        femb.static(heated_plate(size), factor=5.0, steps=2, critical=1).critical_load_factors[0]
        for size in (1.0, 1e-5, 1e3)
    ]
    np.testing.assert_allclose(found[1:], found[0], rtol=1e-6)


def leaning_column():
    """A cantilever with a load along it, and 3 % of this across it in both directions: it has no bifurcation."""
    section = femb.Section("r", axial_stiffness=7e6, torsional_stiffness=70.0, bending_stiffness=(70.0, 150.0),
                           mass_per_length=0.27, inertia_per_length=(2e-6, 1e-6, 1e-6))  # fmt: skip
    start = femb.Attachment("ground", direction=(0, 0, 1))
    beam = femb.ExactBeam("r", section="r", length=1.0, elements=8, start=start)
    return of_parts(section, beam, femb.Load("p", beam="r", force=(0.03, 0.009, -1.0)))


def test_load_steps_stay_on_the_path():
    """Beyond the Euler load one of ten steps went over to another, unstable equilibrium, and to a critical load."""
    far = femb.static(leaning_column(), factor=400.0, steps=10, critical=1)
    near = femb.static(leaning_column(), factor=400.0, steps=40)
    assert far.critical_load_factors.size == 0
    assert not far.negative_eigenvalues.any()
    np.testing.assert_allclose(far.beams["r"].position, near.beams["r"].position[::4], atol=1e-9)


@pytest.mark.slow
def test_steps_of_a_displacement_stay_on_the_path():
    """Down by more than the length: steps went over to a compressed column, with 4 negative eigenvalues."""
    words = {"factor": 400.0, "control": ("r.8.z", -1.5), "critical": 1}
    far, near = (femb.static(leaning_column(), steps=steps, **words) for steps in (10, 20))
    np.testing.assert_allclose(far.load_factor, near.load_factor[::2], rtol=1e-9)
    assert not far.negative_eigenvalues.any()
    along = femb.static(leaning_column(), factor=far.load_factor[-1], steps=10, arc_length=True)
    np.testing.assert_allclose(far.beams["r"].position[-1], along.beams["r"].position[-1], atol=1e-8)


CLAMPED = 4.0 * np.pi**2 * 2e-3**2 / 12.0 / 2.3e-5  # K, at which a clamped strip of 1 m and 2 mm buckles
STRIP = femb.Material(7e10, 2.7e10, 2700.0, 2.3e-5)


def heated_strip(kind):
    """A strip clamped between two walls, heated by 1 K: as a beam or as a shell."""
    if kind == "shell":
        corners = [[0, 0, 0], [1, 0, 0], [1, 0.1, 0], [0, 0.1, 0]]
        strip = femb.Shell(
            "b", (12, 2), corners, thickness=2e-3, material=STRIP, attach={"edge2": "ground", "edge4": "ground"}
        )
        return of_parts(strip, femb.SurfaceLoad("heat", "b", temperature=1.0))
    section = femb.Section("s", shape={"rectangle": (0.1, 2e-3)}, material=STRIP)
    start, end = (femb.Attachment("ground", (x, 0.0, 0.0), direction=(1.0, 0.0, 0.0)) for x in (0.0, 1.0))
    beam = (femb.ExactBeam if kind == "exact" else femb.Beam)("b", section, elements=8, start=start, end=end)
    return of_parts(beam, femb.ThermalLoad("heat", beam="b", temperature=1.0))


@pytest.mark.parametrize("kind", ["slender", "exact", "shell"])
@pytest.mark.parametrize("steps", [3, 10])
def test_a_straight_strip_between_walls_is_followed_past_its_buckling(kind, steps):
    """The path before has no displacement; beyond, amplitudes are 2/pi sqrt(alpha T - strain of buckling) L. No
    state is beyond the factor."""
    found = femb.static(heated_strip(kind), factor=1.5, steps=steps, follow_mode=True)
    assert set(found.stability) == {"stable"}
    assert found.load_factor.max() == found.load_factor[-1] == pytest.approx(1.5)
    if kind == "shell":
        way = found.shells["b"].position[-1, :, 2]
    else:
        way = np.linalg.norm(found.beams["b"].position[-1, :, 1:], axis=1)
    amplitude = 2.0 / np.pi * np.sqrt(2.3e-5 * (1.5 - CLAMPED))
    assert np.max(np.abs(way)) == pytest.approx(amplitude, rel=0.02)


@pytest.mark.parametrize("kind", ["slender", "exact"])
def test_an_arc_goes_on_along_a_path_without_displacement(kind):
    found = femb.static(heated_strip(kind), factor=1.5, arc_length=True)
    assert found.load_factor[-1] == pytest.approx(1.5)
    assert found.stability[-1] == "unstable"
    assert np.max(np.abs(found.beams["b"].position[..., 1:])) < 1e-9


def clamped_body(tmp_path, *others):
    """The strip as a reduced body, both interfaces on the ground."""
    lines = ["SOL 101", "CEND", "BEGIN BULK", "PARAM,COUPMASS,1"]
    lines += [f"GRID,{i + 1},,{i / 16},0.,0." for i in range(17)]
    lines += [f"CBEAM,{i + 1},2,{i + 1},{i + 2},0.,0.,1." for i in range(16)]
    lines += ["PBEAML,2,3,,BAR", ",.002,.1", "MAT1,3,7.+10,,.3,2700.,2.3-5", "TEMPD,7,1.", "ENDDATA"]
    deck = tmp_path / "strip.bdf"
    deck.write_text("\n".join(lines))
    body = femb.fem.reduce_mesh(deck, ["root=1", "tip=17"], 8, loads=["t=set:7"]).body
    end = femb.Attachment("ground", (1.0, 0.0, 0.0))
    strip = femb.FlexibleBody("strip", body, start=femb.Attachment("ground"), interfaces={"tip": end})
    return of_parts(strip, femb.elements.ModalLoad("heat", "strip", "t", size=1.0), *others)


@pytest.mark.parametrize("beside", [False, True])
def test_a_body_that_buckles_between_frames_at_rest_is_named(tmp_path, beside):
    """Alone, and beside a boom that moves."""
    section = femb.Section("s", shape={"rectangle": (0.1, 2e-3)}, material=STRIP)
    boom = femb.Beam("boom", section, 1.0, 2, start=femb.Attachment("ground", direction=(0.0, 1.0, 0.0)))
    model = clamped_body(tmp_path, *([boom] if beside else []))
    found = femb.static(model, critical=1)
    assert found.critical_load_factors[0] == pytest.approx(CLAMPED, rel=1e-3)
    assert found.mode_names == ("strip deforms by its mode 1",)
    followed = femb.static(model, factor=1.5, follow_mode=True)
    assert set(followed.stability) == {"stable"}
    assert followed.load_factor.max() == pytest.approx(1.5)
    with pytest.warns(femb.FembWarning, match="1 motion has a negative stiffness"):
        refuses("most of all, strip deforms by its mode 1: reduce", femb.modes, model, 1, start="equilibrium")
