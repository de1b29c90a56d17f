"""Loads and controllers that are functions of the state: their own derivatives, and differences if asked for."""

import numpy as np
import pytest
from models import of_parts, refuses
from shared_runs import said

import femb

K, D = np.diag([0.3, 0.4, 0.5]), np.array([[2.0, 0.3, 0.0], [0.0, 3.0, 0.1], [0.2, 0.0, 4.0]])
OMEGA = np.array([0.05, -0.02, 0.03])
WORDS = {"inputs": ["bodies.hub.torque"], "outputs": ["bodies.hub.turn", "bodies.hub.angular_velocity"]}


def control(derivatives):
    """A torque by the quaternion's vector part and the rate."""

    def law(t, state):
        hub = state.bodies["hub"]
        w, x = hub.quaternion[0], hub.quaternion[1:]
        torque = -K @ (2.0 * x) - D @ hub.angular_velocity
        if not derivatives:
            return torque
        a, b, c = x
        by_turn = w * np.eye(3) + np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
        return femb.Differentiated(torque, {"bodies.hub.turn": -K @ by_turn, "bodies.hub.angular_velocity": -D})

    return law


def craft(law, **words):
    hub = femb.RigidBody("hub", mass=5.0, inertia=(1.0, 1.5, 2.0), euler_angles=(0.2, -0.3, 0.5), **words)
    model = of_parts(hub)
    if law is not None:
        model.add(femb.Load("control", body="hub", torque=law, frame="body"))
    return model


def test_derivatives_that_a_load_returns():
    """Against differences in unsteady motion, and of damping against the aerodynamic load of the same coefficients."""
    moving = {"angular_velocity": OMEGA}
    exact = femb.linearize(craft(control(True), **moving), **WORDS)
    numeric = femb.linearize(craft(control(False), **moving), **WORDS, differences=True)
    np.testing.assert_allclose(exact.A, numeric.A, atol=1e-8)
    damper = craft(None, **moving)
    damper.add(femb.AerodynamicLoad("damper", body="hub", torque_by_angular_velocity=-D))

    def rates(t, state):
        return femb.Differentiated(-D @ state.bodies["hub"].angular_velocity, {"bodies.hub.angular_velocity": -D})

    np.testing.assert_allclose(
        femb.linearize(craft(rates, **moving), **WORDS).A, femb.linearize(damper, **WORDS).A, atol=1e-13
    )


def test_a_simulation_takes_the_value_alone():
    runs = [femb.simulate(craft(control(each), angular_velocity=OMEGA), duration=1.0) for each in (True, False)]
    np.testing.assert_array_equal(runs[0].bodies["hub"].quaternion, runs[1].bodies["hub"].quaternion)


def test_motors_and_loads_by_differences():
    """A motor and a force, both linear, against a spring with damper of the sum."""

    def cart(*items):
        rail = femb.Prismatic("rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("cart", axis=(1, 0, 0)))
        return of_parts(femb.RigidBody("cart", mass=3.0, inertia=1.0), rail, *items)

    def force(t, state):
        return -4.0 * state.bodies["cart"].position

    def motor(t, state):
        joint = state.joints["rail"]
        return -2.0 * joint.coordinates[0] - 0.5 * joint.rates[0]

    found = femb.linearize(
        cart(femb.Load("pull", body="cart", force=force), femb.JointMotor("motor", "rail", force=motor)),
        differences=True,
    )
    wanted = femb.linearize(cart(femb.JointSpringDamper("spring", "rail", stiffness=6.0, damping=0.5)))
    np.testing.assert_allclose(found.A, wanted.A, atol=1e-8)


def test_what_is_refused():
    refuses(r"loads.control.torque: .*ask for differences", femb.linearize, craft(control(False)), **WORDS)
    rates = craft(lambda t, state: -state.bodies["hub"].angular_velocity)
    with pytest.raises(femb.ModelError, match=r"loads.control.torque: .*derivatives are not known"):
        femb.linear_model(rates, **WORDS, start="equilibrium")
    with pytest.raises(femb.ModelError, match="there is no option 'differences'"):
        femb.linearize_structure(craft(control(False)), **WORDS, hub="hub", modes=1, differences=True)
    for by, message in (
        ({"bodies.hab.turn": K}, "loads.control.torque: derivative by output 'bodies.hab.turn'"),
        ({"bodies.hub.turn": K[:, :2]}, r"got shape \(3, 2\), wanted \(3, 3\)"),
        ({"bodies.hub.acceleration": K}, "wanted positions, rotations, coordinates or rates"),
    ):
        with pytest.raises(femb.ModelError, match=message):
            femb.linearize(craft(lambda t, state, by=by: femb.Differentiated((0.0, 0.0, 0.0), by)), **WORDS)
    refuses("wanted three numbers", femb.Differentiated, (0.0, 1.0), {})


CASE = """
from femb import Load, Model, RigidBody


def hold(t, state):
    return -state.bodies["hub"].position


def build():
    model = Model("held")
    model.add(RigidBody("hub", mass=4.0, inertia=1.0))
    model.add(Load("hold", body="hub", force=hold))
    return model
"""


def test_command(tmp_path):
    case = tmp_path / "held.py"
    case.write_text(CASE, encoding="utf-8")
    words = ["linearize", str(case), "--out", str(tmp_path)]
    result = said(*words, code=2)
    assert "--differences" in result
    result = said(*words, "--differences")
    assert "0.0795775" in result  # Hz, of 0.5 rad/s
