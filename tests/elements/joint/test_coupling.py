"""Couplings of joint coordinates: closed forms, turns, momenta, formulations, and what is refused."""

import numpy as np
import pytest
from long_runs import slow
from models import of_parts
from scipy.integrate import quad, solve_ivp

import femb
from femb import (
    Coupling,
    Cylindrical,
    Differential,
    FunctionCoupling,
    Gear,
    JointCoordinate,
    JointEnd,
    JointMotor,
    ModelError,
    Planetary,
    Prismatic,
    Rack,
    Revolute,
    RigidBody,
    Screw,
    TableCoupling,
    Worm,
)
from femb.elements.marker import Place
from femb.formulations.reduced import ReducedForm
from femb.numerics import euler

FORMS = ("velocity", "quaternion", "reduced")
TIGHT = {"rtol": 1e-9, "atol": 1e-11}
every_form = pytest.mark.parametrize("formulation", FORMS)


def of(joint, coordinate=None):
    return JointCoordinate(joint, coordinate)


def rotor(name, inertia, start=0.0, on="ground", **words):
    """A balanced rotor on an axis z through the origin."""
    pin = Revolute(f"{name} pin", JointEnd(on, axis=(0, 0, 1)), JointEnd(name), start=start, **words)
    return RigidBody(name, 1e-3, (inertia, inertia, inertia)), pin


def motor(name, torque):
    return JointMotor(f"{name} motor", f"{name} pin", force=torque)


def run(model, duration, formulation="velocity", **words):
    return femb.simulate(model, duration=duration, formulation=formulation, **{**TIGHT, **words})


def on_hub(*items):
    """Rotors of 0.5 and 0.2 kg m2 on a hub of 10 kg m2 that turns freely."""
    hub = RigidBody("hub", 100.0, (10.0, 10.0, 10.0))
    return of_parts(hub, *rotor("a", 0.5, on="hub"), *rotor("b", 0.2, on="hub"), *items)


@every_form
def test_gear_on_a_free_hub(formulation):
    model = on_hub(Gear("gear", of("a pin"), of("b pin"), ratio=-3.0), motor("a", 1.0))
    results = run(model, 2.0, formulation, rtol=1e-11, atol=1e-13)
    hub = euler.to_euler(results.bodies["hub"].quaternion[-1])[2]
    np.testing.assert_allclose(hub, 0.0081300813, atol=1e-10)
    np.testing.assert_allclose(results.joints["a pin"].coordinates[-1, 0], 0.8699186992, rtol=1e-9)
    force, rates = results.couplings["gear"].force, [results.joints[f"{x} pin"].rates[:, 0] for x in "ab"]
    np.testing.assert_allclose(force[-1], [-0.7804878049, -0.2601626016], rtol=1e-9)
    # rates between steps are interpolated
    np.testing.assert_allclose(np.sum(force * np.array(rates).T, axis=1), 0.0, atol=1e-10)
    np.testing.assert_allclose(results.audit.angular_momentum, 0.0, atol=1e-12)
    np.testing.assert_allclose(results.couplings["gear"].violation, 0.0, atol=1e-11)


@every_form
def test_differential(formulation):
    parts = [*rotor("a", 1.0), *rotor("b", 2.0), *rotor("c", 0.5), motor("a", 0.3), motor("b", -0.1), motor("c", 1.0)]
    model = of_parts(*parts, Differential("sum", of("a pin"), of("b pin"), of("c pin")))
    results = run(model, 1.0, formulation)
    found = [results.joints[f"{x} pin"].accelerations[-1, 0] for x in "abc"]
    np.testing.assert_allclose(found, [0.6947368421, 0.1473684211, 0.4210526316], rtol=1e-9)
    np.testing.assert_allclose(results.couplings["sum"].force[-1], 0.3947368421 * np.array([1, 1, -2]), rtol=1e-9)


@every_form
def test_screw_falls(formulation):
    nut = RigidBody("nut", 5.0, (1e-3, 1e-3, 1e-3))
    joint = Cylindrical("thread", JointEnd("ground", axis=(0, 0, 1)), JointEnd("nut"))
    coupling = Screw("screw", of("thread"), of("thread"), pitch=0.01)
    results = run(of_parts(nut, joint, coupling, gravity=(0, 0, -9.81)), 0.5, formulation)
    found = results.joints["thread"].accelerations[-1]
    np.testing.assert_allclose(found[1], -0.1226911993, rtol=1e-9)
    np.testing.assert_allclose(found[0], -0.1226911993 * 2.0 * np.pi / 0.01, rtol=1e-9)


@pytest.mark.slow
def test_dependent_rates_are_eliminated():
    """A train of three relations of five coordinates, one of them in metres: two speeds, no multiplier, and the motion,
    the matrices of a step and the forces of the couplings are those of the equations with rows."""
    parts = [
        Differential("sum", of("a pin"), of("b pin"), of("c pin")),
        Gear("gear", of("b pin"), of("d pin"), teeth=(20, 61)),
        Rack("rack", of("d pin"), of("rail"), 0.2),
        motor("a", 0.3),
        femb.JointSpringDamper("spring", "rail", stiffness=3.0, damping=0.1),
        femb.JointSpringDamper("other", "c pin", stiffness=1.0),
    ]
    model = trained(*rotor("c", 0.5, rates=0.2), *rotor("d", 0.7), *parts)
    form = ReducedForm(femb.System(model))
    assert (form.n_q, form.n_v, form.n_c) == (2, 2, 0)
    results = {
        (word, method): run(model, 2.0, word, method=method, rtol=1e-9)
        for word in ("velocity", "reduced")
        for method in ("rk", "radau")
    }
    wanted = results["velocity", "rk"]
    for found in results.values():
        for name in ("a pin", "c pin", "rail"):
            np.testing.assert_allclose(found.joints[name].coordinates, wanted.joints[name].coordinates, atol=2e-8)
        for name in ("sum", "gear", "rack"):
            np.testing.assert_allclose(found.couplings[name].force, wanted.couplings[name].force, atol=1e-6)
            np.testing.assert_allclose(found.couplings[name].violation, 0.0, atol=1e-11)


def test_matrices_of_a_tree_with_couplings():
    """H2 of the independent speeds gives velocities of the system that its rows allow, and Ha v = Hb u."""
    found = femb.thompson.reduced_matrices(concertina(hub=RigidBody("hub", 200.0, (50.0, 50.0, 50.0))))
    assert found.H2.shape[1] == len(found.speeds) == 7
    np.testing.assert_allclose(found.Phi_q @ found.H2, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.Ha @ found.H2, found.Hb, atol=1e-12)


def bent(c):
    return c + 0.4 * np.sin(c), 1.0 + 0.4 * np.cos(c), -0.4 * np.sin(c)


def time_of_turns(turns):
    """By the energy: (2 + h'^2) c'^2 = (2 + 1.4^2) 1.5^2."""
    speed = 1.5 * np.sqrt(2.0 + 1.4**2)
    return turns * quad(lambda c: np.sqrt(2.0 + bent(c)[1] ** 2), 0.0, 2.0 * np.pi, epsabs=1e-13)[0] / speed


@pytest.mark.slow
@pytest.mark.parametrize(("formulation", "turns"), [("velocity", 1), ("quaternion", 1), ("reduced", 2)])
def test_function_for_whole_turns(formulation, turns):
    time = time_of_turns(turns)
    assert abs(10.0 / turns * time - 36.784881638) < 1e-8
    coupling = FunctionCoupling("cam", of("a pin"), of("b pin"), bent)
    model = of_parts(*rotor("a", 2.0, rates=1.5), *rotor("b", 1.0), coupling)
    results = run(model, time, formulation)
    found = [results.joints[f"{x} pin"].coordinates[-1, 0] / (2.0 * np.pi) for x in "ab"]
    np.testing.assert_allclose(found, turns, rtol=1e-9)


def concertina(*items, hub=None):
    """Three thin panels of 10 kg and 2 m, folded to and fro along y, that unfold from a hinge at x = 0.5."""
    parts, thin = [hub] if hub else [], 10.0 * 2.0**2 / 12.0
    on, at, zero = "hub" if hub else "ground", (0.5, 0, 0), (0, 1, 0)
    for k in range(3):
        parts.append(RigidBody(f"p{k}", 10.0, (1e-3, thin, thin), center_of_mass=(1, 0, 0)))
        first = JointEnd(on, at=at, axis=(0, 0, -1), reference=zero)
        second = JointEnd(f"p{k}", axis=(0, 0, -1), reference=(1, 0, 0))
        parts.append(Revolute(f"h{k}", first, second))
        on, at, zero = f"p{k}", (2, 0, 0), (-1, 0, 0)
    gears = [Gear(f"g{k}", of("h0"), of(f"h{k}"), ratio=ratio) for k, ratio in ((1, -2.0), (2, 2.0))]
    return of_parts(*parts, *gears, JointMotor("drive", "h0", force=2.0), *items)


FREE = RigidBody("hub", 200.0, (50.0, 50.0, 50.0)), 16.5565018710, 0.6152584932, 0.6222754647


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hub", "time", "rate", "turn", "formulation"),
    [(None, 19.5408700161, 0.3963327298, None, "velocity"), *((*FREE, word) for word in FORMS)],
)
def test_concertina(hub, time, rate, turn, formulation):
    results = run(concertina(hub=hub), time, formulation, rtol=1e-10)
    hinge = results.joints["h0"]
    np.testing.assert_allclose(hinge.coordinates[-1, 0], np.pi / 2.0, rtol=1e-9)
    np.testing.assert_allclose(hinge.rates[-1, 0], rate, rtol=1e-8)
    if hub is not None:
        found = euler.to_euler(results.bodies["hub"].quaternion[-1])[2]
        np.testing.assert_allclose(abs(found), turn, rtol=1e-8)


@pytest.mark.parametrize("formulation", [slow("velocity"), "reduced"])
def test_hundred_turns_of_a_ratio_that_is_not_whole(formulation):
    """The planet turns by -61/20 of the motor, whose 100 turns take two seconds from rest."""
    inertia, torque = 0.5 + 0.2 * (61.0 / 20.0) ** 2, 100.0 * np.pi * (0.5 + 0.2 * (61.0 / 20.0) ** 2)
    model = of_parts(
        *rotor("a", 0.5), *rotor("b", 0.2), Gear("gear", of("a pin"), of("b pin"), teeth=(61, 20)), motor("a", torque)
    )
    results = run(model, 2.0, formulation, rtol=1e-6, atol=1e-8)
    a, b = (results.joints[f"{x} pin"].coordinates[-1, 0] for x in "ab")
    np.testing.assert_allclose(a, 200.0 * np.pi, rtol=1e-6)
    np.testing.assert_allclose(b, -3.05 * a, rtol=1e-12)
    np.testing.assert_allclose(results.couplings["gear"].force[-1, 1], -0.2 * 61.0 / 20.0 * torque / inertia, rtol=1e-8)


def trained(*items):
    """Two rotors and a slider on the ground."""
    slider = Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("cart"))
    return of_parts(*rotor("a", 1.0), *rotor("b", 2.0), RigidBody("cart", 3.0, (1.0, 1.0, 1.0)), slider, *items)


@pytest.mark.parametrize(
    ("coupling", "ratio", "second", "inertia"),
    [
        (Rack("x", of("a pin"), of("rail"), 0.2), 0.2, "rail", 3.0),
        (Screw("x", of("a pin"), of("rail"), -0.4), -0.2 / np.pi, "rail", 3.0),
        (Worm("x", of("a pin"), of("b pin"), 30.0, 2.0), 1.0 / 15.0, "b pin", 2.0),
        (Coupling("x", [of("b pin"), of("a pin")], (2.0, -1.0)), 0.5, "b pin", 2.0),
        (TableCoupling("x", of("a pin"), of("rail"), (-9, 0, 9), (-4.5, 0, 4.5)), 0.5, "rail", 3.0),
    ],
    ids=lambda x: getattr(x, "kind", None),
)
def test_ratios(coupling, ratio, second, inertia):
    results = run(trained(coupling, motor("a", 0.3)), 1.0)
    wanted = 0.3 / (1.0 + inertia * ratio**2)
    np.testing.assert_allclose(results.joints["a pin"].accelerations[-1, 0], wanted, rtol=1e-9)
    np.testing.assert_allclose(results.joints[second].accelerations[-1, 0], ratio * wanted, rtol=1e-9)


def test_planetary():
    """Willis: about the carrier the ring turns by -20/50 of the sun; c = (20 s + 50 r)/70."""
    train = Planetary("x", of("a pin"), of("b pin"), of("c pin"), (20, 50))
    model = of_parts(*rotor("a", 1.0), *rotor("b", 2.0), *rotor("c", 0.5), train, motor("a", 0.3))
    a = np.array([20.0, 50.0, -70.0])
    inverse = np.array([1.0, 0.5, 2.0])
    wanted = inverse * (np.array([0.3, 0, 0]) - a * (a[0] * 0.3) / (a @ (inverse * a)))
    results = run(model, 1.0)
    found = [results.joints[f"{x} pin"].accelerations[-1, 0] for x in "abc"]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.slow
def test_a_periodic_table_is_the_function_that_it_samples():
    c = np.linspace(0.0, 2.0 * np.pi, 401)
    tables = {
        "table": TableCoupling("cam", of("a pin"), of("b pin"), c, bent(c)[0], periodic=True),
        "function": FunctionCoupling("cam", of("a pin"), of("b pin"), bent),
    }
    found = [run(of_parts(*rotor("a", 2.0, rates=1.5), *rotor("b", 1.0), each), 10.0) for each in tables.values()]
    first, second = (each.joints["b pin"].coordinates[:, 0] for each in found)
    assert second[-1] > 4.0 * np.pi
    np.testing.assert_allclose(first, second, atol=1e-7)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (
            [Gear("x", of("a pin"), of("rail"), ratio=2.0)],
            "couplings.x.second: has another unit, got joints.a pin.angle in",
        ),
        ([Gear("x", of("a pin"), of("a pin"), ratio=2.0)], "couplings.x.second: is joints.a pin.angle again"),
        ([Gear("x", of("a pin"), of("nobody"), ratio=2.0)], "couplings.x.second.joint: got 'nobody'"),
        ([Gear("x", of("a pin"), of("b pin", "stroke"), ratio=2.0)], "couplings.x.second.coordinate: got 'stroke'"),
        ([Rack("x", of("rail"), of("rail"), 0.1)], "couplings.x.first: the rack needs an angle of the joint 'rail'"),
        (
            [Gear("x", of("a pin"), of("b pin"), ratio=2.0), Gear("y", of("b pin"), of("a pin"), ratio=0.4)],
            "couplings.y: with couplings.x leaves none of the coordinates free to move",
        ),
        (
            [Gear("x", of("a pin"), of("b pin"), ratio=3.0), Gear("y", of("b pin"), of("a pin"), ratio=1.0 / 3.0)],
            "couplings.y: says nothing new with couplings.x",
        ),
        (
            [FunctionCoupling("x", of("a pin"), of("b pin"), lambda c: (2.0 * c, 0.5, 0.0))],
            "couplings.x.function: got 0.5 as the first derivative at 0, where differences give 2",
        ),
        (
            [FunctionCoupling("x", of("a pin"), of("b pin"), lambda c: (c**2, 2.0 * c, -2.0))],
            "couplings.x.function: got -2 as the second derivative at 0, where differences give 2",
        ),
        (
            [Gear("x", of("a pin"), of("b pin"), ratio=2.0, offset=0.3)],
            "couplings.x: .relation. is open by 0.3 at the start",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)
def test_refusals(items, message):
    with pytest.raises(ModelError, match=message):
        femb.System(trained(*items))


def test_refusals_of_the_item():
    for make, message in (
        (lambda: Gear("x", of("a"), of("b")), "ratio"),
        (lambda: Gear("x", of("a"), of("b"), ratio=0.0), "ratio: got 0"),
        (lambda: Gear("x", "a", of("b"), ratio=1.0), "first: got 'a', wanted a femb.JointCoordinate"),
        (lambda: Coupling("x", [of("a"), of("b")], (1.0, 0.0)), "factors"),
        (lambda: Planetary("x", of("a"), of("b"), of("c"), (20, -50)), "teeth"),
        (lambda: TableCoupling("x", of("a"), of("b"), (0, 2, 1), (0, 1, 2)), "coordinates"),
        (lambda: Gear("x", of("a"), of("b"), ratio=1.0, backlash=0.1), "backlash: got 0.1, needs a 'stiffness'"),
        (lambda: Worm("x", of("a"), of("b"), 30, friction_coefficient=0.1, lead_angle=0.2), "friction_coefficient"),
        (lambda: Screw("x", of("a"), of("b"), 0.1, friction_coefficient=0.1, stiffness=1.0), "lead_angle: is missing"),
        (
            lambda: Screw("x", of("a"), of("b"), 0.1, friction_coefficient=1.0, stiffness=1.0, lead_angle=1.0),
            "lead_angle: .* below pi/2 with the angle of friction",
        ),
    ):
        with pytest.raises(ModelError, match=rf"couplings\.x\.{message}"):
            make()


def test_small_motions_of_a_geared_rotor():
    """k = (J_1 + n^2 J_2) omega^2, by modes and by a linear model."""
    spring = femb.JointSpringDamper("spring", "a pin", stiffness=3.0)
    model = of_parts(*rotor("a", 0.5), *rotor("b", 0.2), Gear("gear", of("a pin"), of("b pin"), ratio=-3.0), spring)
    wanted = np.sqrt(3.0 / (0.5 + 9.0 * 0.2))
    np.testing.assert_allclose(femb.modes(model).frequencies, [wanted / (2.0 * np.pi)], rtol=1e-10)
    np.testing.assert_allclose(-femb.linearize(model).A[1, 0], wanted**2, rtol=1e-10)


@pytest.mark.parametrize("kind", ["gear", "function"])
def test_small_motions_about_a_motion(kind):
    """Of the concertina m c'' + m' c'^2/2 = 2 N m with m = 40 + 320 cos(c)^2, from an instant of its motion."""
    c, v, parts, thin = 0.5, 0.7, [], 10.0 * 2.0**2 / 12.0
    on, at, zero = "ground", (0.5, 0, 0), (0, 1, 0)
    for k, ratio in enumerate((1, -2, 2)):
        parts.append(RigidBody(f"p{k}", 10.0, (1e-3, thin, thin), center_of_mass=(1, 0, 0)))
        first = JointEnd(on, at=at, axis=(0, 0, -1), reference=zero)
        second = JointEnd(f"p{k}", axis=(0, 0, -1), reference=(1, 0, 0))
        parts.append(Revolute(f"h{k}", first, second, start=ratio * c, rates=ratio * v))
        on, at, zero = f"p{k}", (2, 0, 0), (-1, 0, 0)
    for k, n in ((1, -2.0), (2, 2.0)):
        if kind == "gear":
            parts.append(Gear(f"g{k}", of("h0"), of(f"h{k}"), ratio=n))
        else:
            parts.append(FunctionCoupling(f"g{k}", of("h0"), of(f"h{k}"), lambda c, n=n: (n * c, n, 0.0)))
    mass, slope, bend = 40.0 + 320.0 * np.cos(c) ** 2, -320.0 * np.sin(2.0 * c), -640.0 * np.cos(2.0 * c)
    by_c = -0.5 * bend * v**2 / mass - (2.0 - 0.5 * slope * v**2) / mass * slope / mass
    space = femb.linearize(of_parts(*parts, JointMotor("drive", "h0", force=2.0)))
    np.testing.assert_allclose(space.A, [[0.0, 1.0], [by_c, -slope * v / mass]], atol=1e-10)


@pytest.mark.slow
def test_statics_and_drivers():
    """A torque of 0.4 N m on the wheel turns the spring of the motor by n 0.4/k; what drives the cart of a rack, of 3
    kg, turns its pinion of 1 kg m2 too."""
    parts = [*rotor("a", 0.5), *rotor("b", 0.2), Gear("gear", of("a pin"), of("b pin"), ratio=-3.0)]
    spring = femb.JointSpringDamper("spring", "a pin", stiffness=3.0)
    still = femb.static(of_parts(*parts, spring, motor("b", 0.4)))
    np.testing.assert_allclose(still.joints["a pin"].coordinates[-1], [-0.4], rtol=1e-10)
    np.testing.assert_allclose(still.couplings["gear"].force[-1], [-1.2, -0.4], rtol=1e-10)
    motion = femb.profiles.Polynomial((0.0, 0.0, 0.5))
    drive = femb.PositionDriver("drive", Place("ground"), Place("cart"), x=motion)
    driven = trained(Rack("rack", of("a pin"), of("rail"), 0.2), drive)
    still = femb.JointDriver("still", "b pin", femb.profiles.Constant(0.0))
    inverse = femb.inverse(
        trained(Rack("rack", of("a pin"), of("rail"), 0.2), drive, still), duration=0.1, output_interval=0.01
    )
    for results in (inverse, run(driven, 0.1), run(driven, 0.1, "reduced")):
        np.testing.assert_allclose(results.drivers["drive"].force[-1], [3.0 + 1.0 / 0.2**2], rtol=1e-9)
        np.testing.assert_allclose(results.couplings["rack"].force[-1], [5.0, -25.0], rtol=1e-9)


def heated_rod_and_pinion():
    """The tip of a heated rod, a cart on a rail, turns a pinion by its rack against a spring."""
    words = {"area": 1e-4, "second_moments": (1e-9, 1e-9), "torsion_constant": 2e-9, "density": 2700.0}
    steel = femb.Section("rod", **words, youngs_modulus=7e10, shear_modulus=2.7e10, expansion=2e-5)
    ends = femb.Ground().at(direction=(1, 0, 0)), femb.Attachment("cart", direction=(1, 0, 0))
    pinion = (
        femb.RigidBody("pinion", 1.0, 1e-3),
        femb.Revolute("axle", femb.JointEnd("ground", at=(1, 0.1, 0), axis=(0, 0, 1)), femb.JointEnd("pinion")),
    )
    rail = femb.Prismatic("rail", femb.JointEnd("ground", at=(1, 0, 0), axis=(1, 0, 0)), femb.JointEnd("cart"))
    rack = femb.Rack("rack", femb.JointCoordinate("axle"), femb.JointCoordinate("rail"), radius=0.05)
    return of_parts(
        femb.RigidBody("cart", 1.0, 0.01, position=(1, 0, 0)), femb.Beam("rod", steel, 1.0, 2, *ends), *pinion, rail,
        rack, femb.JointSpringDamper("spring", "axle", stiffness=2000.0),
        femb.ThermalLoad("heat", beam="rod", temperature=100.0),
    )  # fmt: skip


def test_statics_beside_a_beam():
    """EA alpha T / (EA/L + k/R^2); a run that starts there stays, and every joint has its own coordinate."""
    model, wanted = heated_rod_and_pinion(), 7e6 * 2e-3 / (7e6 + 2000.0 / 0.05**2)
    found = femb.static(model)
    assert found.joints["rail"].coordinates[-1, 0] == pytest.approx(wanted, rel=1e-9)
    assert found.joints["axle"].coordinates[-1, 0] == pytest.approx(wanted / 0.05, rel=1e-9)
    assert found.bodies["cart"].position[-1] == pytest.approx([1.0 + wanted, 0.0, 0.0], abs=1e-12)
    stays = femb.simulate(model, duration=0.1, output_interval=0.1, start="equilibrium")
    assert stays.joints["axle"].coordinates[:, 0] == pytest.approx(wanted / 0.05, rel=1e-8)


def held(*items):
    """Two rotors, of which a driver holds the second."""
    return of_parts(*rotor("a", 0.5, rates=0.3), *rotor("b", 0.2), HOLD, *items)


HOLD = femb.JointDriver("hold", "b pin", femb.profiles.Constant(0.0))


@pytest.mark.slow
@every_form
def test_play(formulation):
    """The number of section 5 of the theory: free in the play, then half a period of the spring, at each side."""
    period = 2.0 * (0.02 / 0.3 + np.pi / np.sqrt(200.0 / 0.5))
    assert abs(period - 0.4474925987) < 1e-10
    gear = Gear("gear", of("a pin"), of("b pin"), ratio=-1.0, stiffness=200.0, backlash=0.02)
    results = run(held(gear), period, formulation, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(results.joints["a pin"].coordinates[-1], [0.0], atol=1e-8)
    np.testing.assert_allclose(results.joints["a pin"].rates[-1], [0.3], rtol=1e-8)
    np.testing.assert_allclose(results.audit.energy_error, 0.0, atol=1e-11)


@pytest.mark.slow
def test_teeth_that_yield():
    """w^2 = k (n^2/J_1 + 1/J_2) of two rotors, by modes, a linear model, and on a free hub with its momenta."""
    gear = Gear("gear", of("a pin"), of("b pin"), ratio=-3.0, stiffness=40.0)
    wanted = np.sqrt(40.0 * (9.0 / 0.5 + 1.0 / 0.2))
    model = of_parts(*rotor("a", 0.5), *rotor("b", 0.2), gear)
    np.testing.assert_allclose(femb.modes(model).frequencies, [wanted / (2.0 * np.pi)], rtol=1e-10)
    poles = np.linalg.eigvals(femb.linearize(model).A)
    np.testing.assert_allclose(np.abs(poles.imag).max(), wanted, rtol=1e-9)
    results = run(on_hub(gear, motor("a", 1.0)), 1.0)
    np.testing.assert_allclose(results.audit.angular_momentum, 0.0, atol=1e-12)
    np.testing.assert_allclose(results.audit.energy_error, 0.0, atol=1e-9)


def thread(t, y, torques, inertias, law):
    """Rates of two coordinates and their rates, of a thread of ratio 0.1 by its definition."""
    k, play, chi, lead, friction, transition = law
    x, rate = y[1] - 0.1 * y[0], y[3] - 0.1 * y[2]
    side, depth = np.sign(x), abs(x) - 0.5 * play
    resistance = 0.0
    if depth > 0.0:
        damped = chi * side * rate
        resistance = side * k * depth * (damped + np.sqrt(1.0 + damped**2))
    # the thread pushes the second with -N, and the first with what its slope and friction make of N
    push = -resistance
    forward = np.tanh(y[2] / transition) * np.sign(push)
    torque = push * 0.1 * np.tan(lead + forward * friction) / np.tan(lead)
    return [y[2], y[3], (torques[0] - torque) / inertias[0], (torques[1] + push) / inertias[1]]


@pytest.mark.parametrize("kind", ["worm", "screw"])
@pytest.mark.parametrize(
    ("torques", "drives"), [((0.3, -1.0), True), ((0.0, -1.0), False)], ids=["motor drives", "load drives"]
)
def test_efficiency(kind, torques, drives):
    """The motion of the definition, and tan(g)/tan(g + p) of what a thread takes."""
    law = 50.0, 0.01, 0.4, 0.2, np.arctan(0.05), 0.01
    words = {"stiffness": 50.0, "backlash": 0.01, "damping": 0.4, "lead_angle": 0.2}
    words |= {"friction_coefficient": 0.05, "transition_rate": 0.01}
    second, inertias = ("b pin", (1.0, 2.0)) if kind == "worm" else ("rail", (1.0, 3.0))
    if kind == "worm":
        coupling, load = Worm("x", of("a pin"), of(second), 10.0, **words), motor("b", torques[1])
    else:
        coupling = Screw("x", of("a pin"), of(second), 0.2 * np.pi, **words)
        load = JointMotor("load", "rail", force=torques[1])
    found = solve_ivp(thread, (0.0, 2.0), [0, 0, 0, 0], args=(torques, inertias, law), rtol=1e-11, atol=1e-13)
    for method in ("rk", "radau"):
        results = run(trained(coupling, motor("a", torques[0]), load), 2.0, method=method, rtol=1e-9)
        first, last = (results.joints[name] for name in ("a pin", second))
        got = [x[-1, 0] for x in (first.coordinates, last.coordinates, first.rates, last.rates)]
        np.testing.assert_allclose(got, found.y[:, -1], rtol=2e-7, atol=1e-8)
        np.testing.assert_allclose(results.audit.energy_error, 0.0, atol=1e-7)
    force, rate = results.couplings["x"].force, first.rates[:, 0]
    sure = (np.abs(rate) > 0.1) & (np.abs(force[:, 1]) > 0.1) & (np.sign(rate * force[:, 1]) == (1 if drives else -1))
    assert sure.sum() > 5
    ideal = np.abs(0.1 * force[sure, 1] / force[sure, 0])
    lead, slide = 0.2, law[4] if drives else -law[4]
    np.testing.assert_allclose(ideal, np.tan(lead) / np.tan(lead + slide), rtol=1e-7)


@pytest.mark.slow
def test_a_worm_that_locks():
    """The angle of friction is above that of the lead: the load creeps by the transition rate only."""
    words = {"stiffness": 50.0, "damping": 1.0, "lead_angle": 0.1, "transition_rate": 1e-4}
    turned = []
    for friction in (0.0, 0.2):
        worm = Worm("x", of("a pin"), of("b pin"), 10.0, friction_coefficient=friction, **words)
        results = run(trained(worm, motor("b", 1.0)), 2.0, rtol=1e-7, method="radau")
        turned.append(abs(results.joints["a pin"].coordinates[-1, 0]))
    assert turned[0] > 0.15
    assert turned[1] < 2e-4


def test_a_table_calls_no_python():
    """Its curve is in the rows; a function in Python is an input of the state."""
    table = TableCoupling("x", of("a pin"), of("b pin"), (-9, 0, 9), (-4.5, 0, 4.5))
    of_state = [femb.System(trained(coupling)).inputs.of_state
                for coupling in (table, FunctionCoupling("x", of("a pin"), of("b pin"), bent))]  # fmt: skip
    assert of_state == [False, True]


def test_a_latch_stops_the_train():
    """All momentum is lost to the ground; the loss is the energy."""
    gear = Gear("gear", of("a pin"), of("b pin"), ratio=-3.0)
    lock = femb.Latch("lock", "b pin", at=-1.0)
    for formulation in ("velocity", "reduced"):
        results = run(of_parts(*rotor("a", 0.5, rates=1.0), *rotor("b", 0.2), gear, lock), 1.0, formulation)
        np.testing.assert_allclose(results.joints["a pin"].coordinates[-1], [1.0 / 3.0], rtol=1e-9)
        np.testing.assert_allclose(results.joints["a pin"].rates[-1], [0.0], atol=1e-11)


def test_hamiltonian_refuses():
    with pytest.raises(ModelError, match=r"couplings\.x"):
        run(trained(Gear("x", of("a pin"), of("b pin"), ratio=2.0)), 1.0, "hamiltonian", method="rk")
