"""Values of statics: elastica, roll-up, curved and spatial beams, critical loads, a frame through its limit points."""

from itertools import pairwise

import numpy as np
import pytest
from long_runs import slow
from models import stiff
from scipy.integrate import solve_bvp

import femb
from femb import Attachment, Beam, Ground, JointEnd, Load, Model, Path, Revolute, Section

X = (1.0, 0.0, 0.0)


def rod(axial, bending=(1.0, 1.0), torsion=1.0):
    return stiff(axial, torsion, bending, 1.0, (2e-3, 1e-3, 1e-3), "rod")


def cantilever(section, elements, length=1.0, up=None, **load):
    model = Model()
    model.add(Beam("b", section, length, elements, start=Attachment(body="ground", direction=X, up=up)))
    model.add(Load("P", beam="b", **load))
    return model


def tip(results):
    return results.beams["b"].position[-1, -1]


def elastica(force, axial):
    """Tip (x, y) of the extensible elastica of unit length and stiffness under a transverse dead force."""
    s, y = np.linspace(0.0, 1.0, 50), np.zeros((4, 50))
    for part in (0.2, 0.5, 1.0):

        def rates(s, y, force=part * force):
            stretch = 1.0 + force * np.sin(y[0]) / axial
            return np.array([y[1], -stretch * force * np.cos(y[0]), stretch * np.cos(y[0]), stretch * np.sin(y[0])])

        found = solve_bvp(rates, lambda a, b: np.array([a[0], b[1], a[2], a[3]]), s, y, tol=1e-10, max_nodes=20000)
        s, y = found.x, found.y
    return y[2:, -1]


SHORTENING = {1: 0.0564332, 2: 0.1606417, 5: 0.3876284, 10: 0.5549956}
DEFLECTION = {1: 0.3017208, 2: 0.4934575, 5: 0.7137915, 10: 0.8106090}


@pytest.mark.parametrize("force", [1, 2, 5, 10])
def test_elastica(force):
    """L/t = 100: 32 elements are within 1e-5 L, and 16 and 32 differ by more than order 4."""
    np.testing.assert_allclose(elastica(force, 1e12), [1.0 - SHORTENING[force], DEFLECTION[force]], atol=1e-7)
    wanted = elastica(force, 1.2e5)
    errors = [
        np.linalg.norm(tip(femb.static(cantilever(rod(1.2e5), n, force=(0, force, 0)), steps=2))[:2] - wanted)
        for n in (16, 32)
    ]
    assert errors[1] < 1e-6
    assert errors[0] / errors[1] > 2**4


@pytest.mark.parametrize(("elements", "error"), [(8, 4e-5), (16, 2e-6), (32, 2e-7)])
def test_cantilever_with_stretch(elements, error):
    section = Section("bar", 0.01, (1e-4 / 12, 1e-4 / 12), 1.406e-5, 7850.0, 2.07e11, 8e10)
    results = femb.static(cantilever(section, elements, 2.0, force=(0, -1293750, 0)), steps=2)
    np.testing.assert_allclose(tip(results), [2.0 - 0.5085373043, -1.2072398545, 0.0], atol=2.0 * error)


def test_geradin_cardona():
    results = femb.static(cantilever(rod(4.8e8, (9.346e6, 9.346e6), 1e6), 8, 5.0, force=(0, -6e5, 0)), steps=2)
    np.testing.assert_allclose(tip(results), [5.0 - 0.5938804, -2.1537615, 0.0], atol=1e-5)
    assert results.beams["b"].euler_angles()[-1, -1, 2] == pytest.approx(-0.6724822, abs=1e-5)


@pytest.mark.parametrize("slenderness", [100, 1000, 10000])
def test_roll_up(slenderness):
    """Ten load steps to a full circle, each of as many iterations whatever the slenderness."""
    model = cantilever(rod(12.0 * slenderness**2), 8, torque=(0, 0, 2 * np.pi), frame="body")
    results = femb.static(model, steps=10)
    assert len(results.time) == 11
    assert np.linalg.norm(tip(results)) < 2e-3
    assert results.statistics["newton_iterations"] <= 80
    angles = 2 * np.pi * results.load_factor[1:]
    x = results.beams["b"].position[1:, -1]
    np.testing.assert_allclose(x[:, 0], np.sin(angles) / angles, atol=2e-3)
    np.testing.assert_allclose(x[:, 1], (1.0 - np.cos(angles)) / angles, atol=2e-3)


def test_roll_up_in_one_step():
    results = femb.static(cantilever(rod(1.2e7), 8, torque=(0, 0, 2 * np.pi), frame="body"), steps=1)
    assert np.linalg.norm(tip(results)) < 2e-3


@pytest.mark.parametrize(("elements", "error"), [(8, 0.05), (16, 0.006)])
def test_45_degree_bend(elements, error):
    """J = 1/6; the reference is the exact Euler-Bernoulli rod."""
    model = Model()
    section = rod(1e7, (1e7 / 12, 1e7 / 12), 5e6 / 6)
    path = Path(radius=100.0, angle=np.pi / 4)
    model.add(Beam("b", section, elements=elements, start=Attachment(body="ground", direction=X), path=path))
    model.add(Load("P", beam="b", force=(0, 0, 600)))
    results = femb.static(model, steps=2)
    position = results.beams["b"].position[:, -1]
    np.testing.assert_allclose(position[1], [58.78025, 22.24529, 40.18939], atol=error)
    np.testing.assert_allclose(position[2], [47.15215, 15.68536, 53.47176], atol=error)


PRINCETON = {
    (0, 4.448): (5.358, 0.0, 0.0), (0, 8.896): (10.713, 0.0, 0.0), (0, 13.345): (16.061, 0.0, 0.0),
    (30, 4.448): (4.750, 39.947, 0.006670), (30, 8.896): (10.145, 79.451, 0.026375),
    (30, 13.345): (16.774, 117.895, 0.058095), (60, 4.448): (2.862, 68.125, 0.006509),
    (60, 8.896): (6.653, 129.916, 0.024096), (60, 13.345): (11.714, 181.912, 0.048453),
    (90, 4.448): (0.0, 78.077, 0.0), (90, 8.896): (0.0, 146.252, 0.0), (90, 13.345): (0.0, 200.684, 0.0),
}  # fmt: skip


def rectangle_torsion(a, b):
    k = np.arange(1, 60, 2)
    return a * b**3 * (1 / 3 - 64 / np.pi**5 * (b / a) * np.sum(np.tanh(k * np.pi * a / (2 * b)) / k**5))


@pytest.mark.parametrize(("beta", "force"), PRINCETON)
def test_princeton_beam(beta, force):
    """Within 0.1 % of the displacement, and of the twist, with 16 elements and one load step."""
    a, b, E = 12.3777e-3, 3.2024e-3, 71.7e9
    section = Section("s", a * b, (b * a**3 / 12, a * b**3 / 12), rectangle_torsion(a, b), 2700.0, E, E / 2.62)
    angle = np.radians(beta)
    load = (0.0, force * np.sin(angle), force * np.cos(angle))
    results = femb.static(cantilever(section, 16, 0.508, up=(0, 1, 0), force=load), steps=1)
    edge, flap, twist = PRINCETON[beta, force]
    gap = 1e3 * tip(results)[[2, 1]] - (edge, flap)
    assert np.linalg.norm(gap) < 1e-3 * np.hypot(edge, flap)
    assert results.beams["b"].euler_angles()[-1, -1, 0] == pytest.approx(twist, rel=1e-3, abs=1e-9)


# Critical loads


@pytest.mark.parametrize(("bending", "count"), [((1.0, 2.0), 1), ((1.0, 1.0), 2)])
def test_euler_column(bending, count):
    """pi^2 EI/4 L^2; equal stiffnesses give two modes at one load."""
    results = femb.static(cantilever(rod(1e8, bending), 8, force=(-4, 0, 0)), steps=4, critical=count)
    np.testing.assert_allclose(4.0 * results.critical_load_factors, np.pi**2 / 4, rtol=1e-5)
    assert set(results.mode_names) <= {"b, node 8 moves along z", "b, node 8 moves along y"}
    assert len(set(results.mode_names)) == count
    assert results.negative_eigenvalues[-1] == count
    shape = results.mode(0, "beams/b")[0][:, 2 if bending[0] < bending[1] else slice(1, 3)].reshape(9, -1)
    x = np.linspace(0.0, 1.0, 9)
    size = np.linalg.norm(shape, axis=1)
    np.testing.assert_allclose(size / size[-1], 1.0 - np.cos(0.5 * np.pi * x), atol=1e-3)


def test_lateral_torsional_buckling():
    """4.0126 sqrt(EI_z GJ)/L^2 at the tip of a thin strip; 32 elements, order 2 in the torsion."""
    h, t, E, G = 0.1, 2e-4, 7e10, 2.7e10
    section = Section("s", h * t, (h * t**3 / 12, t * h**3 / 12), h * t**3 / 3, 2700.0, E, G)
    unit = np.sqrt(E * h * t**3 / 12 * G * h * t**3 / 3)
    model = cantilever(section, 32, up=(0, 1, 0), force=(0, -5.0 * unit, 0))
    results = femb.static(model, steps=5, critical=1)
    assert 5.0 * results.critical_load_factors[0] == pytest.approx(4.0125993, rel=1e-3)
    assert results.mode_names == ("b, node 32 moves along z",)


@pytest.mark.parametrize(("factor", "wanted"), [(1.5, 1.0875184), (-1.0, -0.6804276)])
def test_right_angle_frame(factor, wanted):
    """The frame of Argyris, loaded in its plane either way: 16 elements a leg."""
    E, h, t = 7.124e10, 0.03, 0.0006
    section = Section("strip", h * t, (h * t**3 / 12, t * h**3 / 12), h * t**3 / 3, 2700.0, E, E / 2.62)
    model = Model()
    model.add(Beam("leg", section, 0.24, 16, start=Ground().at(direction=X)))
    corner = Attachment(beam="leg", node=-1, direction=(0, -1, 0), up=X)
    model.add(Beam("arm", "strip", 0.24, 16, start=corner))
    model.add(Load("push", beam="arm", force=X))
    results = femb.static(model, factor=factor, steps=6, critical=1)
    assert results.critical_load_factors[0] == pytest.approx(wanted, rel=1e-3)
    assert results.mode_names == ("arm, node 16 moves along z",)


def lees_frame(elements):
    """Legs of 120, hinged at both ends, a force down at a fifth of the horizontal one; in its plane."""
    model = Model()
    section = rod(720.0 * 6.0, (1e3 * 1440.0, 1440.0), 1e3 * 1440.0)
    points = [(0, 0, 0), (0, 120, 0), (120, 120, 0)]
    frame = Beam("f", section, elements=elements, start=Attachment(at=(0, 0, 0), up=(1, 0, 0)),
                 path=Path(points=points, kinks=True))  # fmt: skip
    model.add(frame)
    model.add(Revolute("foot", JointEnd("ground", axis=(0, 0, 1)), frame.node(0)))
    model.add(Revolute("end", JointEnd("ground", at=(120, 120, 0), axis=(0, 0, 1)), frame.node(-1)))
    model.add(Load("P", beam="f", node=elements // 2 + elements // 10, force=(0, -1, 0)))
    return model


@pytest.mark.slow
@pytest.mark.parametrize(("elements", "error"), [(20, 3e-3), slow((40, 2e-4))])
def test_limit_points_of_lees_frame(elements, error):
    """The limit loads are those of 80 elements."""
    found = femb.static(lees_frame(elements), factor=2.0, steps=10, arc_length=True, critical=2)
    np.testing.assert_allclose(found.critical_load_factors, [1.85567, -0.94144], rtol=error)


@pytest.mark.slow
def test_lees_frame():
    """Through both limit points, at which one eigenvalue becomes negative and positive again."""
    results = femb.static(lees_frame(20), factor=2.0, steps=10, arc_length=True)
    load = results.load_factor
    assert load[-1] == pytest.approx(2.0, abs=1e-12)
    turns = [k for k in range(1, len(load) - 1) if (load[k] - load[k - 1]) * (load[k + 1] - load[k]) < 0.0]
    assert len(turns) == 2
    assert load.max() == 2.0
    assert load[turns[0]] == pytest.approx(1.855, abs=0.05)
    assert load[turns[1]] == pytest.approx(-0.94, abs=0.05)
    changes = [int(b - a) for a, b in pairwise(results.negative_eigenvalues) if a != b]
    assert changes == [1, -1]
