"""Commands that laws give at the state of a linear model act on its plant: closed forms, constant loads and runs."""

import numpy as np
import pytest

import femb

HUB = {"mass": 100.0, "inertia": (10.0, 12.0, 14.0)}


def constant(outputs, values, period=0.1):
    """A sampled law that commands constant values, whatever it reads."""
    count = len(values)
    C, D = np.reshape(values, (count, 1)), np.zeros((count, 3))
    words = {"A": [[1.0]], "B": np.zeros((1, 3)), "C": C, "D": D, "state": [1.0], "period": period}
    return femb.LinearController("law", inputs=("bodies.hub.position",), outputs=outputs, **words)


def magnet(push=0.0):
    """A dipole that a law turns along a uniform field, at any attitude: its torque is zero. Rates are damped."""
    model = femb.Model("dipole along the field")
    model.add(femb.RigidBody("hub", **HUB))
    model.add(femb.elements.UniformField("coil", field=(0.0, 0.0, 4e-5)))
    for name, axis in zip("xyz", np.eye(3), strict=True):
        model.add(femb.MagneticTorquer(name, axis=axis, body="hub"))
    model.add(femb.Load("torquer", body="hub", frame="body", torque=(0.0, 0.0, 0.0)))
    if push:
        model.add(femb.Load("push", body="hub", frame="body", torque=(push, 0.0, 0.0)))
    model.add(femb.Magnetometer("mag", body="hub"))
    along = [f"magnetic_torquers.{x}.dipole" for x in "xyz"]
    model.add(femb.LinearController("c", inputs=("sensors.mag",), outputs=along, D=-1e8 * np.eye(3), period=0.1))
    gains = {"proportional": (0.0, 0.0, 0.5), "derivative": (1.0, 1.0, 2.0), "period": 0.1}
    law = femb.PDController("d", attitude="bodies.hub", rate="bodies.hub", outputs=("loads.torquer.torque",), **gains)
    model.add(law)
    return model


@pytest.mark.slow
def test_a_dipole_that_follows_the_field_has_no_stiffness():
    """About x and y the poles are those of a damped drift, J x'' = k (x - x_k) - x_k' with the dipole of its last
    sample; what turns there stays, in the loop and in the run."""
    loop = femb.loop(magnet())
    assert loop.commands == {"magnetic_torquers.z.dipole": pytest.approx(-4000.0)}
    assert not loop.plant.unsteady
    poles = np.sort(loop.poles()[np.abs(loop.poles().imag) < 1e-6].real)
    J = np.array([10.0, 12.0])
    s = np.sqrt(4000.0 * 4e-5 / J)
    wanted = [*(np.log(np.cosh(0.1 * s) - np.sinh(0.1 * s) / s / J) / 0.1), 0.0, 0.0]
    np.testing.assert_allclose(poles, wanted, atol=1e-9)
    assert (loop.staying, loop.stable) == (2, False)
    turn = loop.simulate(100.0, added={"loads.torquer.torque.0": 1e-3}, times=[50.0, 100.0])["bodies.hub.turn.x"]
    run = femb.simulate(magnet(1e-3), duration=100.0, output_interval=50.0)
    np.testing.assert_allclose(2.0 * run.bodies["hub"].quaternion[1:, 1], turn, rtol=5e-3)


def column(extra):
    """Two rods of 1 m on hinges with springs, upright, of which the second is the hub: Ziegler's column."""
    model = femb.Model("column")
    before = femb.JointEnd("ground", axis=(1, 0, 0))
    for k, name in enumerate(("rod", "hub")):
        model.add(femb.RigidBody(name, 3.0, (0.25, 0.25, 0.1), position=(0.0, 0.0, k + 0.5)))
        model.add(femb.Revolute(name, before, femb.JointEnd(name, at=(0.0, 0.0, -0.5), axis=(1, 0, 0))))
        model.add(femb.JointSpringDamper(name, joint=name, stiffness=500.0))
        before = femb.JointEnd(name, at=(0.0, 0.0, 0.5), axis=(1, 0, 0))
    for item in extra:
        model.add(item)
    return model


@pytest.mark.parametrize("kind", ["load", "thruster"])
def test_a_constant_command_is_a_constant_load(kind):
    """A follow-up force on a column: its frequencies come nearer to each other, as under the load itself."""
    force = 300.0
    given = {"force": (0.0, 0.0, -force), "frame": "body", "body": "hub", "at": (0.0, 0.0, 0.5)}
    alone = column([femb.Load("pull", **given)])
    if kind == "load":
        pull = femb.Load("pull", **(given | {"force": (0.0, 0.0, 0.0)}))
        model = column([pull, constant(("loads.pull.force",), [0.0, 0.0, -force])])
    else:
        jet = femb.Thruster("jet", 2.0 * force, (0.0, 0.0, -1.0), body="hub", at=(0.0, 0.0, 0.5))
        model = column([jet, constant(("thrusters.jet.on_time",), [0.05])])
    found, wanted, unloaded = (np.sort(np.abs(femb.linearize(x).eigenvalues())) for x in (model, alone, column([])))
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert np.max(np.abs(found / unloaded - 1.0)) > 0.05


@pytest.mark.parametrize("period", [None, 0.1])
def test_a_loop_says_what_its_laws_command_at_its_state(period):
    """Two radians off the reference the torque is 2 sin 1 by the gain; at the reference there is nothing to say."""
    for turn in (2.0, 0.0):
        model = femb.Model("off its reference")
        model.add(femb.RigidBody("hub", **HUB, euler_angles=(0.0, 0.0, turn)))
        model.add(femb.Load("torquer", body="hub", frame="body", torque=(0.0, 0.0, 0.0)))
        words = {"outputs": ("loads.torquer.torque",), "period": period}
        model.add(
            femb.PDController("c", attitude="bodies.hub", rate="bodies.hub", proportional=1.0, derivative=5.0, **words)
        )
        loop, name = femb.loop(model), "loads.torquer.torque.2"
        assert loop.commands == ({name: pytest.approx(-2.0 * np.sin(1.0))} if turn else {})
        assert bool(loop.plant.unsteady) == (turn > 0.0)
        assert (f"commanded at this state: {name} -1.683 N m; laws act on changes about it" in loop.table()) == (
            turn > 0.0
        )


def wheeled(turn, **limits):
    """A hub with a wheel along z at -100 rad/s, whose law pushes it by the turn; with limits of the motor."""
    model = femb.Model("wheel at its limit")
    model.add(femb.RigidBody("hub", **HUB, euler_angles=(0.0, 0.0, turn)))
    words = {"body": "hub", "axis": (0.0, 0.0, 1.0), "spin_inertia": 0.05, "speed": -100.0, "viscous": 1e-3}
    model.add(femb.ReactionWheel("z", **words, **limits))
    D = np.zeros((1, 6))
    D[0, [2, 5]] = 2.0, 6.0
    read = ("bodies.hub.attitude", "bodies.hub.angular_velocity")
    model.add(femb.LinearController("c", inputs=read, outputs=("wheels.z.torque",), D=D, period=0.2))
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("turn", "limits", "effect"),
    [
        (-0.1, {"max_speed": 100.0}, False),
        (0.1, {"max_speed": 100.0}, True),
        (0.1, {"max_power": 1.0}, False),
        (0.1, {"max_torque": 0.1}, True),
        (0.1, {"max_torque": 5.0}, True),
    ],
)
def test_what_a_loop_says_is_commanded_acts_in_a_run(tmp_path, turn, limits, effect):
    """Within power, speed and torque; where the first two limit it, a change of the command has no effect, so that the
    turn that the law reads stays: margins are those of a loop that is not stable."""
    model = wheeled(turn, **limits)
    loop, run = femb.loop(model), femb.simulate(model, duration=1e-3, output_interval=1e-3, start="as_given")
    acting = loop.commands["wheels.z.torque"]
    assert acting == pytest.approx(run.wheels["z"].torque[-1], rel=1e-4)
    reduced = abs(acting) < 0.19
    assert ("N m (at its limit); laws act" in loop.table()) == reduced
    assert loop.without_effect == (() if effect else ("wheels.z.torque",))
    assert (loop.staying, loop.stable) == ((0, True) if effect else (1, False))
    assert ("without effect at this state: wheels.z.torque" in loop.table()) != effect
    assert len(loop.margins()) == effect
    loop.draw(tmp_path / "loop.png", dpi=30)  # also without a curve, and no warning


AT_MOST = """
[bodies.hub]
mass = 100.0
inertia = [10.0, 12.0, 14.0]
euler_angles = [0, 0, -0.1]

[wheels.z]
body = "hub"
axis = [0, 0, 1]
spin_inertia = 0.05
max_speed = 100.0

[controllers.c]
kind = "state_space"
inputs = ["bodies.hub.attitude", "bodies.hub.angular_velocity"]
outputs = ["wheels.z.torque"]
D = [[0, 0, 2.0, 0, 0, 6.0]]
period = 0.2
"""


def test_a_study_has_no_margins_where_a_limit_leaves_no_effect(tmp_path):
    case = tmp_path / "case.toml"
    case.write_text(AT_MOST)
    outputs = {x: {"kind": x} for x in ("gain_margin", "sensitivity_peak")}
    variables = {"s": {"key": "wheels.z.speed", "values": [0.0, -100.0]}}
    table = femb.sweep(femb.Study(case=case, variables=variables, outputs=outputs))
    assert table["gain_margin"][0] > 1.0 > table["gain_margin"][1] == 0.0
    assert table["sensitivity_peak"][0] < 2.0 < table["sensitivity_peak"][1] == np.inf


def test_a_dipole_without_a_field_has_no_effect():
    """The field begins at zero: what the law reads stays, with nothing that moves it, or is held by a spring."""
    for spring in (0.0, 2.0):
        model = femb.Model("field that begins")
        model.add(femb.RigidBody("hub", **HUB))
        field = femb.elements.UniformField(
            "coil", field=(4e-5, 0.0, 0.0), profile=femb.profiles.SmoothStep(duration=9.0)
        )
        model.add(field)
        model.add(femb.MagneticTorquer("y", axis=(0.0, 1.0, 0.0), body="hub"))
        model.add(femb.Revolute("pivot", *(femb.JointEnd(x, axis=(0, 0, 1)) for x in ("ground", "hub"))))
        if spring:
            model.add(femb.JointSpringDamper("spring", joint="pivot", stiffness=spring, damping=0.1 * spring))
        D = np.zeros((1, 6))
        D[0, [2, 5]] = 1e4, 1e5
        read = ("bodies.hub.attitude", "bodies.hub.angular_velocity")
        model.add(femb.LinearController("c", inputs=read, outputs=("magnetic_torquers.y.dipole",), D=D, period=0.2))
        loop = femb.loop(model)
        assert loop.without_effect == ("magnetic_torquers.y.dipole",)
        assert (loop.staying, loop.stable) == ((0, True) if spring else (1, False))
        if spring:
            assert np.max(np.abs(np.array([14.0, 0.2, 2.0]) @ loop.plant.eigenvalues() ** [[2], [1], [0]])) < 1e-9
