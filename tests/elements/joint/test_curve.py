"""Springs whose force is a curve: the curve itself, energy, snaps, tapes against plates in closed form, messages."""

from pathlib import Path

import numpy as np
import pytest
from models import refuses
from scipy.interpolate import PchipInterpolator

import femb
from femb import JointCurve, JointEnd, JointSpringDamper, ModelError, Prismatic, Revolute, RigidBody, Snap
from femb.case import load_case
from femb.elements.joint.curve import Curve
from femb.profiles import SmoothStep, Sum

CASE = Path(__file__).parents[3] / "cases" / "tape_spring_hinge.toml"
INERTIA = 0.5  # kg m2
SNAPS = [
    Snap(at=0.1, back=0.02, coordinates=(0.0, 3.0), forces=(0.05, 0.05)),
    Snap(at=-0.1, back=-0.02, coordinates=(-3.0, 0.0), forces=(-0.05, -0.05)),
]
POINTS = {"coordinates": (-0.1, -0.05, 0.0, 0.05, 0.1), "forces": (-0.4, -0.35, 0.0, 0.35, 0.4)}


def rotor(*items, kind=Revolute, **words):
    model = femb.Model("rotor")
    model.add(RigidBody("rotor", mass=INERTIA, inertia=INERTIA))
    model.add(kind("hinge", JointEnd("ground", axis=(0, 0, 1)), JointEnd("rotor"), **words))
    for item in items:
        model.add(item)
    return model


def simulated(model, duration, **words):
    given = {"output_interval": duration / 200, "rtol": 1e-9, "atol": {"position": 1e-11}}
    return femb.simulate(model, duration=duration, **(given | words))


def test_a_spline_is_the_monotone_one_of_scipy_and_a_table_is_linear():
    rng = np.random.default_rng(3)
    x, y = np.cumsum(rng.uniform(0.1, 1.0, 9)), rng.standard_normal(9)
    smooth, table = Curve.through(x, y, "spline"), Curve.through(x, y, "linear")
    at = np.linspace(x[0] + 1e-9, x[-1] - 1e-9, 50)
    pchip = PchipInterpolator(x, y)

    def value(curve, c):
        k = int(np.searchsorted(curve.knots, c, side="right"))
        return np.polyval(curve.pieces[k, ::-1], c - curve.knots[max(k - 1, 0)])

    np.testing.assert_allclose([value(smooth, c) for c in at], pchip(at), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose([value(table, c) for c in at], np.interp(at, x, y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        [smooth.energy(c) - smooth.energy(x[0]) for c in at], pchip.antiderivative()(at), rtol=1e-10, atol=1e-12
    )
    # outside it goes on with its slope
    assert value(smooth, x[-1] + 2.0) == pytest.approx(y[-1] + 2.0 * pchip.derivative()(x[-1]))
    assert value(table, x[0] - 1.0) == pytest.approx(y[0] - (y[1] - y[0]) / (x[1] - x[0]))
    assert smooth.energy(x[-1] + 2.0) - smooth.energy(x[-1]) == pytest.approx(
        2.0 * y[-1] + 2.0 * pchip.derivative()(x[-1])
    )


@pytest.mark.parametrize("interpolation", ["spline", "linear"])
@pytest.mark.parametrize("kind", [Revolute, Prismatic])
def test_a_straight_curve_is_a_spring(kind, interpolation):
    line = JointCurve("s", joint="hinge", coordinates=(-1.0, 0.5, 2.0), forces=(-1.2, 0.6, 2.4), damping=0.1,
                      interpolation=interpolation)  # fmt: skip
    plain = JointSpringDamper("s", joint="hinge", stiffness=1.2, damping=0.1)
    a, b = (simulated(rotor(item, kind=kind, start=1.5), 3.0) for item in (line, plain))
    np.testing.assert_allclose(a.joints["hinge"].coordinates, b.joints["hinge"].coordinates, atol=1e-8)
    np.testing.assert_allclose(a.springs["s"].force, b.springs["s"].force, atol=1e-8)
    shift = a.audit.potential_energy[0] - b.audit.potential_energy[0]
    np.testing.assert_allclose(a.audit.potential_energy - shift, b.audit.potential_energy, atol=1e-8)


def test_angles_are_counted_over_revolutions():
    winch = JointCurve("s", joint="hinge", coordinates=(0.0, 20.0), forces=(0.0, 2.0))
    results = simulated(rotor(winch, rates=5.0), 4.0)
    omega = np.sqrt(0.1 / INERTIA)
    wanted = 5.0 / omega * np.sin(omega * results.time)
    assert wanted.max() > 3.0 * np.pi
    np.testing.assert_allclose(results.joints["hinge"].coordinates[:, 0], wanted, atol=1e-6)


@pytest.mark.parametrize("method", ["radau", "rk", "bdf"])
@pytest.mark.slow
def test_snaps_lose_the_area_between_the_curves(method):
    """From 1.2 rad a tape swings through and snaps to the other side, until it cannot: the energy tells how often."""
    tape = JointCurve("tape", joint="hinge", **POINTS, snaps=SNAPS)
    results = simulated(rotor(tape, start=1.2), 30.0, method=method)
    first, folded, _ = tape.curves()
    lost = first.energy(0.1) - folded.energy(0.1)
    # the integral of a cubic from 0 to 0.1 with these slopes, less that of 0.05 N m from 0.02 on
    pchip = PchipInterpolator(POINTS["coordinates"], POINTS["forces"])
    assert lost == pytest.approx(pchip.integrate(0.02, 0.1) - 0.05 * 0.08, rel=1e-12)
    stored = pchip.integrate(0.0, 0.02) + 0.05 * 1.18
    barrier = pchip.integrate(0.0, 0.1)
    wanted, left = 0, stored
    while left > barrier:
        wanted, left = wanted + 1, left - lost
    snaps = [event.energy_loss for event in results.events if event.energy_loss > 1e-6]
    assert len(snaps) == wanted == 2
    np.testing.assert_allclose(snaps, lost, rtol=1e-8)
    assert results.springs["tape"].dissipated[-1] == pytest.approx(wanted * lost)
    assert results.audit.work[-1] == pytest.approx(-wanted * lost)
    assert results.budget["curve_springs"].work[-1] == pytest.approx(-wanted * lost)
    assert np.abs(results.audit.energy_error).max() < 1e-6
    assert set(results.springs["tape"].snapped) == {0.0, 1.0, 2.0}
    assert results.springs["tape"].snapped[0] == 1.0
    assert results.springs["tape"].snapped[-1] == 0.0


@pytest.mark.slow
def test_a_slow_cycle_draws_the_hysteresis():
    """Driven out and back: on the first curve out, on the other back, and the work of the driver is the area."""
    there = SmoothStep(duration=5.0, before=0.0, after=0.3)
    back = SmoothStep(duration=5.0, start=5.0, before=0.0, after=-0.3)
    model = rotor(JointCurve("tape", joint="hinge", **POINTS, snaps=SNAPS))
    model.add(femb.JointDriver("drive", joint="hinge", motion=Sum([there, back])))
    results = simulated(model, 10.0)
    angle, force = results.springs["tape"].angle, results.springs["tape"].force
    out = results.time < 5.0
    pchip = PchipInterpolator(POINTS["coordinates"], POINTS["forces"])
    rising, folded = out & (angle < 0.0999), ~out & (angle > 0.0201)
    np.testing.assert_allclose(force[rising], pchip(angle[rising]), atol=1e-9)
    np.testing.assert_allclose(force[folded], 0.05, atol=1e-12)
    area = pchip.integrate(0.02, 0.1) - 0.05 * 0.08
    assert results.budget["drivers"].work[-1] == pytest.approx(area, rel=1e-6)


def test_equilibrium_statics_and_linear_models_know_the_slope():
    tape = JointCurve("tape", joint="hinge", **POINTS, snaps=SNAPS)
    model = rotor(tape)
    pchip = PchipInterpolator(POINTS["coordinates"], POINTS["forces"])
    frequency = np.sqrt(pchip.derivative()(0.0) / INERTIA) / (2.0 * np.pi)
    assert femb.modes(model).frequencies[0] == pytest.approx(frequency, rel=1e-9)
    loaded = rotor(tape, femb.Load("push", body="rotor", torque=(0, 0, 0.2)))
    assert float(pchip(femb.static(loaded).joints["hinge"].coordinates[-1, 0])) == pytest.approx(0.2, rel=1e-8)


def test_tapes_of_the_case_are_those_of_wuest():
    """Moments of a curved strip by the equation of its section, D w'''' + E t k^2 w = 0, free at its edges."""
    E, nu, t, radius, arc, length = 193e9, 0.3, 1e-4, 0.015, 0.5 * np.pi, 0.06
    D, width = E * t**3 / (12.0 * (1.0 - nu**2)), radius * arc

    def moment(k):
        """Of a strip bent to the curvature k against its own one across: w = A cosh cos + B sinh sin."""
        beta = (E * t * k**2 / (4.0 * D)) ** 0.25
        y = np.linspace(-0.5 * width, 0.5 * width, 4001)
        x, z = beta * y[-1], beta * y
        sh, ch, s, c = np.sinh(x), np.cosh(x), np.sin(x), np.cos(x)
        edges = np.array([[-2.0 * sh * s, 2.0 * ch * c], [-2.0 * (ch * s + sh * c), 2.0 * (sh * c - ch * s)]])
        A, B = np.linalg.solve(edges, [(-1.0 / radius - nu * k) / beta**2, 0.0])
        w = A * np.cosh(z) * np.cos(z) + B * np.sinh(z) * np.sin(z)
        across = 2.0 * beta**2 * (B * np.cosh(z) * np.cos(z) - A * np.sinh(z) * np.sin(z))
        return np.trapezoid(D * (k + nu * (across + 1.0 / radius)) + E * t * k * w**2, y)

    def wuest(k):
        x = (3.0 * (1.0 - nu**2)) ** 0.25 * width / np.sqrt(t / k)
        both = np.sinh(x) + np.sin(x)
        f = 2.0 / x * (np.cosh(x) - np.cos(x)) / both
        g = f / 4.0 - np.sinh(x) * np.sin(x) / both**2
        across = 1.0 / radius + nu * k
        return width * D * (k + nu / radius - nu * across * f + across**2 / k * g)

    spring = load_case(CASE).model.springs["right tapes"]
    folded, other = (1.0 + nu) * D * arc, (1.0 - nu) * D * arc
    for angle, force in zip(spring.coordinates, spring.forces, strict=True):
        if angle > 0.0:
            k = angle / length
            assert wuest(k) == pytest.approx(moment(k), rel=1e-5)
            assert force == pytest.approx(wuest(k) + min(wuest(k), other), abs=1e-5)
    assert spring.snaps[0].forces[0] == pytest.approx(folded + other, abs=1e-5)
    steps = np.linspace(0.6, 0.8, 2001)
    assert spring.snaps[0].at == pytest.approx(length * steps[np.argmax([wuest(k) for k in steps])], rel=1e-3)
    assert wuest(spring.snaps[0].back / length) == pytest.approx(folded, rel=1e-3)


@pytest.mark.parametrize(("at", "back"), [(0.5, 0.1), (0.1, 0.5)])
def test_a_spring_begins_on_the_curve_of_its_side(at, back):
    """Beyond ``at`` on the other one; between both where ``start`` says so."""
    snaps = [Snap(at=at, back=back, coordinates=(0.0, 1.0), forces=(0.0, 1.0), start=start) for start in (False, True)]
    side = 1.0 if at > back else -1.0
    found = [[each.starts(c) for each in snaps] for c in (at + 0.05 * side, 0.3, back - 0.05 * side)]
    assert found == [[True, True], [False, True], [False, False]]


def test_a_file_has_the_points(tmp_path):
    file = tmp_path / "tape.csv"
    file.write_text("angle,slow,fast\n0.0,0.0,0.0\n0.5,1.0,2.0\n")
    spring = JointCurve("s", joint="hinge", file=str(file), column="fast")
    assert (spring.coordinates, spring.forces) == ((0.0, 0.5), (0.0, 2.0))
    case = tmp_path / "case.toml"
    case.write_text(
        '[bodies.rotor]\nmass = 1.0\ninertia = [1, 1, 1]\n[joints.hinge]\nkind = "revolute"\n'
        'first = { body = "ground", axis = [0, 0, 1] }\nsecond = { body = "rotor" }\n'
        '[springs.s]\nkind = "curve"\njoint = "hinge"\nfile = "tape.csv"\n'
        'snaps = [{ at = "20 deg", back = 0.1, coordinates = ["0 deg", "90 deg"], forces = ["0 N mm", "10 N mm"] }]\n'
        "[run]\nduration = 1.0\n"
    )
    snap = load_case(case).model.springs["s"].snaps[0]
    assert (snap.at, snap.forces[1]) == pytest.approx((np.radians(20.0), 0.01))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"coordinates": (0.0, 0.0)}, "coordinates: got (0.0, 0.0), must rise from each to the next"),
        ({"coordinates": (0.0,), "forces": (1.0,)}, "wanted at least 2"),
        ({"forces": (1.0,)}, "forces: got (1.0,), wanted 2, one a point"),
        ({"coordinates": ()}, "coordinates: is missing: give coordinates and forces, or a file"),
        ({"interpolation": "cubic"}, "interpolation: got 'cubic'"),
        ({"snaps": [3]}, "snaps: got [3], wanted a list of femb.Snap"),
        ({"damping": -1.0}, "damping: got -1.0, must be at least 0"),
        (
            {"snaps": [Snap(at=0.9, back=0.0, coordinates=(0.0, 1.0), forces=(9.0, 9.0))]},
            "snaps.0.forces: give 7.69 J in a cycle",
        ),
    ],
)
def test_what_is_refused(words, message):
    with pytest.raises(ModelError) as error:
        JointCurve("s", joint="hinge", **({"coordinates": (0.0, 1.0), "forces": (0.0, 1.0)} | words))
    assert message in str(error.value)
    refuses("must not be equal to at", Snap, at=0.1, back=0.1, coordinates=(0.0, 1.0), forces=(0.0, 1.0))
