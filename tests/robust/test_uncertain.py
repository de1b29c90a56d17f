"""Uncertain models in exact form, against models that are built at each set of values, and closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest
from models import refuses
from oracles.two_arrays import arrays_on_a_drive
from oracles.uncertain_satellite import BY, LAW, satellite
from scipy.io import loadmat
from scipy.optimize import brentq

import femb
from femb.profiles import Step
from femb.robust.ranges import UncertainRange


def transfers(form, values, omega):
    return form.at(values).transfer(1j * omega)


@pytest.fixture(scope="module")
def form():
    return femb.uncertain(satellite, BY, laws=[LAW])


@pytest.mark.slow
def test_the_form_is_that_of_models_at_all_values(form):
    """Section 3 of the theory's numbers: 7 repetitions, 4 of them of the angle; here at values of its own."""
    assert form.sizes == (1, 1, 1, 4)
    assert form.difference < 1e-11
    assert form.compared == 36
    rng = np.random.default_rng(7)
    names = {"inputs": form.plant.inputs[7:], "outputs": form.plant.outputs[7:]}
    for _ in range(5):
        values = {each.name: rng.uniform(each.low, each.high) for each in form.ranges}
        wanted = femb.linearize(satellite(**values), **names)
        for omega in rng.uniform(0.1, 20.0, 4):
            found = transfers(form, values, omega)
            assert found == pytest.approx(wanted.transfer(1j * omega), rel=1e-10, abs=1e-10 * np.abs(found).max())


@pytest.mark.slow
def test_outputs_that_nothing_moves_do_not_hide_the_difference_of_the_others():
    """A panel on a hub that turns about x alone: y and z of its turn are zero, or rounding beside x."""
    words = {"inputs": ["bodies.hub.torque.x"], "modes": 1, "points": 2}
    form = femb.uncertain(panel_on_a_table, {"modulus": {"range": "40 %"}}, outputs=["bodies.hub.turn.x"], **words)
    whole = femb.uncertain(panel_on_a_table, {"modulus": {"range": "40 %"}}, outputs=["bodies.hub.turn"], **words)
    assert whole.difference == pytest.approx(form.difference, rel=1e-6)
    assert 1e-12 < form.difference < 1e-3
    by = {"modulus": {"range": "40 %"}}
    refuses("no input moves an output: bodies.hub.torque.x; bodies.hub.turn.y", femb.uncertain, panel_on_a_table, by,
            outputs=["bodies.hub.turn.y"], **words)  # fmt: skip


def panel_on_a_table(modulus=7e10):
    model = femb.Model("panel on a table")
    model.add(femb.RigidBody("hub", 300.0, (120.0, 150.0, 110.0)))
    ends = femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("hub", axis=(1, 0, 0))
    model.add(femb.Revolute("table", *ends))
    words = {"shear_modulus": 2.7e10, "density": 2700.0}
    section = femb.Section("s", shape={"rectangle": [0.1, 0.01]}, youngs_modulus=modulus, **words)
    root = femb.Attachment("hub", direction=(0, 1, 0), y_axis=(1, 0, 0))
    model.add(femb.Beam("boom", section, length=4.0, elements=3, start=root))
    return model


@pytest.mark.slow
def test_the_worst_corner_has_the_known_poles_and_margins(form):
    loop = form.loop({"left": 1980.0, "right": 1980.0, "inertia": 270.0, "angle": 0.0})
    poles = loop.poles()
    for wanted in (-0.00833824 + 1.77331226j, -0.15270255 + 4.90556216j):
        assert np.min(np.abs(poles - wanted)) < 2e-8
    margins = loop.margins()[0]
    assert margins.delay_margin == pytest.approx(0.11935636, rel=1e-6)
    assert margins.phase_margin == pytest.approx(33.604327, rel=1e-6)
    assert margins.sensitivity == pytest.approx(1.94411226, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "sizes"),
    [
        ({"angle": {"range": [0.0, np.pi / 2]}}, (4,)),
        ({"angle": {"range": [0.0, np.pi / 2]}, "hub_mass": {"range": "10 %"}}, (8, 3)),
    ],
)
def test_an_angle_repeats_four_times_without_translations_and_eight_times_with_them(by, sizes):
    found = femb.uncertain(satellite, by, laws=[LAW], points=4)
    assert found.sizes == sizes
    assert found.difference < 1e-11


@pytest.mark.slow
def test_panels_that_turn_oppositely_take_sixteen_repetitions():
    by = {"angle": {"range": [0.0, np.pi / 2]}, "hub_mass": {"range": "10 %"}}

    def opposite(angle=0.7, hub_mass=500.0):
        return satellite(angle=angle, other=-angle, hub_mass=hub_mass)

    found = femb.uncertain(opposite, by, laws=[LAW], points=4)
    assert found.sizes == (16, 3)
    assert found.difference < 1e-10


@pytest.mark.slow
def test_a_product_of_a_mass_and_an_angle_is_exact():
    """Equation (4) of the theory: mass and angle of the panels; neither alone is affine in both."""
    by = {"panel_mass": {"range": "30 %"}, "angle": {"range": [0.0, np.pi / 2]}}
    found = femb.uncertain(satellite, by, laws=[LAW], points=20)
    assert found.difference < 1e-11
    assert sum(found.sizes) < 30


@pytest.mark.slow
def test_stiff_beams_that_turn_with_an_array_leave_slow_motions_their_digits(tmp_path):
    """Of the case of two arrays: yokes of 2.6e8 N/m on a drive, beside inertial forces of 1 N at the lowest frequency.

    As of rigid panels the angle takes four repetitions, and eight beside a mass that translations notice.
    """
    path = tmp_path / "arrays.toml"
    path.write_text(arrays_on_a_drive())
    for by, sizes in ((["inertia", "springs", "angle"], (1, 6, 4)), (["angle", "mass"], (8, 3))):
        found = femb.uncertain(path, by, points=4)
        assert found.sizes == sizes
        assert found.difference < 1e-8
    reduced = femb.uncertain(path, ["inertia", "springs", "angle"], modes=6, points=4)
    assert reduced.sizes == (1, 6, 4)
    assert reduced.shapes < 25
    assert reduced.difference < 1e-6


def test_loads_by_a_profile_that_act_at_the_start_are_inputs():
    """As if they did not act; a constant load is none of them, and no state under it is steady."""

    def hub(inertia=4.0, torque=0.0, profile=None):
        model = femb.Model()
        model.add(femb.RigidBody("hub", 3.0, (inertia, 5.0, 6.0)))
        words = {} if profile is None else {"profile": profile}
        model.add(femb.Load("wheel", "hub", torque=(1.0 + torque, 0.0, 0.0), **words))
        return model

    words = {"points": 1, "outputs": ["bodies.hub.turn.x"], "inputs": ["loads.wheel.torque.factor"]}
    found = femb.uncertain(lambda inertia=4.0: hub(inertia, 1.0, Step(0.0)), {"inertia": {"range": "10 %"}}, **words)
    assert found.still == ("loads.wheel",)
    assert "about the state without loads.wheel" in found.table()
    assert found.at({"inertia": 4.4}).transfer(2j)[0, 0] == pytest.approx(-2.0 / (4.4 * 4.0), rel=1e-12)
    refuses("is not steady", femb.uncertain, hub, {"inertia": {"range": "10 %"}}, **words)


def test_a_length_is_a_polynomial_dependence():
    def pendulum(length=2.0):
        model = femb.Model()
        model.add(femb.RigidBody("bob", 3.0, (0.1, 0.1, 0.1)))
        first, second = femb.JointEnd("ground", axis=(0, 1, 0)), femb.JointEnd("bob", at=(0, 0, length), axis=(0, 1, 0))
        model.add(femb.Revolute("hinge", first, second))
        model.add(femb.JointSpringDamper("spring", "hinge", stiffness=5.0))
        return model

    found = femb.uncertain(
        pendulum, {"length": {"range": "20 %"}}, inputs=["bodies.bob.torque.y"], outputs=["joints.hinge.angle"]
    )
    assert found.sizes == (2,)
    for length in (1.6, 1.9, 2.4):  # (0.1 + 3 l^2) a'' + 5 a = torque
        response = found.at({"length": length}).transfer(2j)[0, 0]
        assert response == pytest.approx(1.0 / (5.0 - 4.0 * (0.1 + 3.0 * length**2)), rel=1e-10)


@pytest.mark.slow
def test_an_equilibrium_that_moves_with_a_parameter_is_that_of_each_value():
    """A pendulum on a turning spring: k a = m g l cos a, and J a'' = -(k + m g l sin a) da."""

    def pendulum(mass=2.0):
        model = femb.Model(gravity=(0.0, 0.0, -9.81))
        model.add(femb.RigidBody("bob", mass, (0.1, 0.1, 0.1), position=(1.0, 0.0, 0.0)))
        first, second = femb.JointEnd("ground", axis=(0, 1, 0)), femb.JointEnd("bob", at=(-1, 0, 0), axis=(0, 1, 0))
        model.add(femb.Revolute("hinge", first, second))
        model.add(femb.JointSpringDamper("spring", "hinge", stiffness=100.0))
        return model

    words = {"inputs": ["bodies.bob.torque.y"], "outputs": ["joints.hinge.angle"], "points": 2}
    by = {"mass": {"range": "20 %"}}
    refuses("at mass = 2 the state is not steady: joints.hinge.angle", femb.uncertain, pendulum, by, **words)
    found = femb.uncertain(pendulum, by, start="equilibrium", **words)
    assert "about the equilibrium at each set of values" in found.table()
    for mass in (1.6, 2.0, 2.3):
        weight = mass * 9.81
        angle = brentq(lambda a, weight=weight: 100.0 * a - weight * np.cos(a), 0.0, 1.0)
        wanted = 1.0 / (100.0 + weight * np.sin(angle) - 4.0 * (0.1 + mass))
        assert found.at({"mass": mass}).transfer(2j)[0, 0] == pytest.approx(wanted, rel=1e-8)


def test_the_speed_of_a_wheel_repeats_twice():
    """A hub with h = J_w W about z: w_x = J_y s/(J_x J_y s^2 + h^2) times a torque about x."""

    def hub(speed=150.0, viscous=0.0):
        model = femb.Model()
        model.add(femb.RigidBody("hub", 500.0, (300.0, 250.0, 350.0)))
        model.add(femb.ReactionWheel("z", body="hub", axis=(0, 0, 1), spin_inertia=0.2, speed=speed, viscous=viscous))
        return model

    words = {"inputs": ["bodies.hub.torque.x"], "outputs": ["bodies.hub.angular_velocity.x"], "points": 4}
    found = femb.uncertain(hub, {"speed": {"range": [-50.0, 200.0]}}, **words)
    assert found.sizes == (2,)
    for speed in (-50.0, 10.0, 150.0, 170.0):
        for s in (0.05j, 0.3j, 4j):
            wanted = 250.0 * s / (300.0 * 250.0 * s**2 + (0.2 * speed) ** 2)
            assert found.at({"speed": speed}).transfer(s)[0, 0] == pytest.approx(wanted, rel=1e-10)
    refuses(
        "at speed = 150 the state is not steady: z.speed changes its speed by -0.015", femb.uncertain,
        lambda speed=150.0: hub(speed, 2e-5), {"speed": {"range": "10 %"}}, **words,
    )  # fmt: skip


@pytest.mark.slow
def test_a_file_closed_by_numbers_is_the_model(form, tmp_path):
    found = loadmat(form.write(tmp_path / "form.mat"))
    assert [str(name[0]) for name in found["block_name"].ravel()] == list(BY)
    assert found["block_size"].ravel().tolist() == list(form.sizes)
    rng = np.random.default_rng(3)
    for _ in range(4):
        d = rng.uniform(-1.0, 1.0, 4)
        s, r = 1j * rng.uniform(0.1, 20.0), 7
        N = found["d"] + found["c"] @ np.linalg.solve(s * np.eye(len(found["a"])) - found["a"], found["b"])
        delta = np.diag(np.repeat(d, form.sizes))
        closed = N[r:, r:] + N[r:, :r] @ delta @ np.linalg.solve(np.eye(r) - N[:r, :r] @ delta, N[:r, r:])
        wanted = form.at(d).transfer(s)
        assert closed == pytest.approx(wanted, rel=1e-9, abs=1e-12 * np.abs(wanted).max())


@pytest.mark.slow
def test_python_control_closes_the_form_alike(form):
    control = pytest.importorskip("control")
    plant, d, r = form.plant, np.array([0.3, -0.8, 0.5, 0.9]), 7
    gains = control.ss([], [], [], np.diag(np.repeat(d, form.sizes)))
    plant = control.ss(plant.A, plant.B, plant.C, plant.D)
    whole = control.append(plant, gains)
    m, n = plant.ninputs, plant.noutputs
    # w is what the gains give, and these get z
    K = np.zeros((m + r, n + r))
    K[:r, n:], K[m:, :r] = np.eye(r), np.eye(r)
    closed = control.feedback(whole, control.ss([], [], [], K), sign=1)[r:n, r:m]
    wanted = control.evalfr(closed, 1.7j)
    assert form.at(d).transfer(1.7j) == pytest.approx(wanted, rel=1e-9, abs=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({"left": {}}, r"parameters\.left\.range: is missing"),
        ({"left": {"range": [1700.0, 1800.0]}}, r"wanted limits about the nominal value 1650"),
        ({"left": {"range": "20 %"}, "twice": {"entry": "left", "range": "5 %"}}, r"sets left, as left does"),
        ({"inertia": {"range": [-10.0, 610.0]}}, r"no model at inertia = 610: bodies\.hub\.inertia: .* triangle"),
        ({"inertia": {"range": [-10.0, 310.0]}}, r"no model at inertia = -10: bodies\.hub\.inertia: .* greater than 0"),
        ({"panel_mass": {"range": "100 %"}}, r"no model at panel_mass = 0: bodies\.left\.mass: .* greater than 0"),
        ({"left": {"range": [-10.0, 1700.0]}}, r"no model at left = -10: springs\.left_spring\.stiffness: got -10"),
    ],
)
def test_ranges_that_make_no_model_are_named(by, message):
    refuses(message, femb.uncertain, satellite, by, laws=[LAW], points=2)


@pytest.mark.parametrize("turning", [False, True])
def test_values_of_a_range_and_its_coordinates_belong_together(turning):
    of = SimpleNamespace(parameter=SimpleNamespace(name="angle"))
    each = UncertainRange(of, 0.2, 1.4, turning)
    assert [each.normal(each.value(d)) for d in (-1.0, -0.999, 0.3, 1.0)] == pytest.approx([-1.0, -0.999, 0.3, 1.0])
    assert each.value(0.0) == pytest.approx(0.8)
