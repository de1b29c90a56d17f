"""Gains by a table over a signal: runs against independent integrations, loops against interpolated gains, messages."""

import numpy as np
import pytest
from models import refuses
from scipy.integrate import solve_ivp

import femb
from femb.base.errors import FembWarning
from femb.case import CaseError

J, T = 20.0, 0.1
AT, K_P, K_I, K_D = (0.5, 1.0, 2.0), (8.0, 14.0, 9.0), (0.6, 2.0, 1.0), (9.0, 20.0, 14.0)
GAINS = {"proportional": K_P, "integral": K_I, "derivative": K_D}
TURN = femb.profiles.Sine(amplitude=0.9, frequency=0.02, phase=0.0)


def pid(over="sensors.encoder", gains=GAINS, at=AT, **words):
    schedule = femb.GainSchedule(over=over, at=at, gains=gains)
    given = {"attitude": "bodies.hub", "rate": "bodies.hub", "outputs": ("loads.torquer.torque",), "period": T} | words
    return femb.PIDController("law", schedule=schedule, **given)


def plant(law, turn=0.3, at=1.3, driven=True):
    """A hub that turns about z, and beside it an array on a drive, which follows a sine about ``at`` rad."""
    model = femb.Model()
    model.add(femb.RigidBody("hub", 10.0, (J, J, J), quaternion=(np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2))))
    model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
    model.add(femb.RigidBody("mast", 1.0, (1.0, 1.0, 1.0), position=(0.0, 5.0, 0.0)))
    model.add(femb.RigidBody("array", 1.0, (0.1, 0.1, 0.1)))
    ends = {"first": femb.JointEnd("mast", axis=(0, 1, 0)), "second": femb.JointEnd("array", axis=(0, 1, 0))}
    model.add(femb.Revolute("drive", **ends, start=at))
    if driven:
        motion = femb.profiles.Sum(terms=[femb.profiles.Constant(at), TURN])
        model.add(femb.JointDriver("drive", joint="drive", motion=motion))
    model.add(femb.Encoder("encoder", joint="drive", period=T))
    if law is not None:
        model.add(law)
    return model


def angle(t):
    return 1.3 + 0.9 * np.sin(0.04 * np.pi * t)


def gains_at(x):
    """K_p, K_i and K_d between the values, held at the ends."""
    return [np.interp(x, AT, each) for each in (K_P, K_I, K_D)]


@pytest.mark.slow
@pytest.mark.parametrize("over", ["sensors.encoder", "joints.drive.angle"])
def test_a_sampled_law_has_the_gains_of_the_angle_at_each_sample(over):
    """Exact steps of constant torque. The sensor's value is read by compiled samples, the coordinate by others."""
    with pytest.warns(FembWarning, match=f"{over} goes outside its schedule, 0.5 to 2"):
        results = femb.simulate(plant(pid(over)), duration=50.0, output_interval=T, method="radau")
    x, rate, sum_, torque = 0.3, 0.0, 0.0, []
    for k in range(501):
        k_p, k_i, k_d = gains_at(angle(k * T))
        error = 2.0 * np.sin(0.5 * x)
        torque.append(-k_p * error - k_i * sum_ - k_d * rate)
        sum_ += T * error
        x, rate = x + T * rate + 0.5 * T * T * torque[-1] / J, rate + T * torque[-1] / J
    np.testing.assert_allclose(results.controllers["law"].scheduled, angle(results.time), atol=1e-9)
    found = results.controllers["law"].sample_output[:, 2]
    np.testing.assert_allclose(found, torque[: len(found)], atol=1e-6 * max(map(abs, torque)))


def test_commands_are_those_of_what_was_read_whatever_was_read_later():
    from femb.elements.control.schedule import law_of, moment_of
    from femb.elements.joint.coordinates import JointCoordinates
    from femb.vibration.completion import system_of

    system = system_of(plant(pid("joints.drive.angle"), driven=False))
    law = law_of(system.model.controllers["law"], system.layout, system.model)
    states = []
    for at in (0.6, 1.9):
        other = system_of(plant(pid("joints.drive.angle"), driven=False, at=at))
        states.append(moment_of(JointCoordinates(other.layout), other.q0, other.v0))
    first, second = (law.read(0.0, each, {}) for each in states)
    own = [law.step(0.0, y, np.zeros(3), 0)[0] for y in (first, second)]
    law.read(0.0, states[1], {})
    assert np.array_equal(law.step(0.0, first, np.zeros(3), 0)[0], own[0])
    assert not np.allclose(own[0], own[1])


@pytest.mark.slow
def test_a_continuous_law_has_the_gains_of_the_angle():
    """With the limit of a torque, and back-calculation whose gain follows the integral's."""
    law = pid("joints.drive.angle", period=None, tracking_time=2.0)
    model = plant(law)
    object.__setattr__(model.loads["torquer"], "max_torque", 2.0)
    with pytest.warns(FembWarning, match="goes outside"):
        results = femb.simulate(model, duration=50.0, output_interval=1.0, rtol=1e-9, method="radau")

    def rates(t, y):
        x, rate, integral = y
        k_p, k_i, k_d = gains_at(angle(t))
        error = 2.0 * np.sin(0.5 * x)
        wanted = -k_p * error - k_i * integral - k_d * rate
        given = np.clip(wanted, -2.0, 2.0)
        back = np.interp(angle(t), AT, 1.0 / np.array(K_I)) / 2.0  # as all matrices, linear between the rows
        return [rate, given / J, error - back * (given - wanted)]

    words = {"rtol": 1e-10, "atol": 1e-12, "max_step": 0.05, "t_eval": results.time}
    wanted = solve_ivp(rates, (0.0, 50.0), [0.3, 0.0, 0.0], **words).y
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[:, 2], wanted[1], atol=1e-6)
    np.testing.assert_allclose(results.controllers["law"].state[:, 2], wanted[2], atol=1e-5)


@pytest.mark.slow
def test_all_matrices_of_a_state_space_follow_the_signal():
    """x' = A x + B y and u = C x + D y of the turn, over the turn itself: with the derivatives by it in every step."""
    at = (0.0, 0.2, 0.4)
    table = {"A": ([[-2.0]], [[-1.0]], [[-3.0]]), "B": ([[1.0]], [[2.0]], [[1.5]]),
             "C": ([[-6.0]], [[-9.0]], [[-20.0]]), "D": ([[-9.0]], [[-12.0]], [[-4.0]])}  # fmt: skip
    schedule = femb.GainSchedule(over="bodies.hub.turn.z", at=at, gains=table)
    words = {"inputs": "bodies.hub.angular_velocity.z", "outputs": "wheels.w.torque", "schedule": schedule}
    model = plant(femb.LinearController("law", **words), turn=0.0)
    model.add(femb.ReactionWheel("w", body="hub", axis=(0, 0, -1.0), spin_inertia=0.1))
    object.__setattr__(model.bodies["hub"], "angular_velocity", np.array([0.0, 0.0, 0.3]))
    results = femb.simulate(model, duration=8.0, output_interval=0.5, rtol=1e-9, method="radau")

    def rates(t, y):
        x, rate, state = y
        A, B, C, D = (np.interp(2.0 * np.sin(0.5 * x), at, np.ravel(each)) for each in table.values())
        return [rate, (C * state + D * rate) / (J - 0.1), A * state + B * rate]

    words = {"rtol": 1e-10, "atol": 1e-12, "max_step": 0.02, "t_eval": results.time}
    wanted = solve_ivp(rates, (0.0, 8.0), [0.0, 0.3, 0.0], **words).y
    assert wanted[0].max() > 0.25  # two pieces of the table
    np.testing.assert_allclose(results.bodies["hub"].angular_velocity[:, 2], wanted[1], atol=1e-7)


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8, 1.7, 2.6])
def test_a_loop_has_the_gains_of_its_state(at):
    """Between values, at one, and held outside, which is said."""
    k_p, k_i, k_d = gains_at(at)
    plain = {"proportional": k_p, "integral": k_i, "derivative": k_d}
    law = femb.PIDController(
        "law", attitude="bodies.hub", rate="bodies.hub", outputs=("loads.torquer.torque",), period=T, **plain
    )
    wanted = femb.loop(plant(law, 0.0, at, driven=False)).margins()
    for start, words in ((at, {}), (1.0, {"state": {"joints.drive.angle": at}})):
        of = plant(pid("sensors.encoder"), 0.0, start, driven=False)
        if AT[0] <= at <= AT[-1]:
            found = femb.loop(of, **words).margins()
        else:
            with pytest.warns(FembWarning, match=f"sensors.encoder = {at:g} is outside its schedule, 0.5 to 2"):
                found = femb.loop(of, **words).margins()
        for one, other in zip(found, wanted, strict=True):
            assert one.delay_margin == pytest.approx(other.delay_margin, rel=1e-9)
            assert one.distance == pytest.approx(other.distance, rel=1e-9)


@pytest.mark.parametrize("over", ["sensors.encoder", "sensors.gyro.y"])
def test_a_loop_has_the_gains_of_what_the_sensor_says_as_the_run_has(over):
    """A scale of -1, and axes turned by 180 degrees about z: the command of the first sample tells the gain."""
    model = plant(None, 0.3, -1.1, driven=False)
    model.remove(model.sensors["encoder"])
    model.add(femb.Encoder("encoder", joint="drive", period=T, scale=-1.0))
    model.add(femb.Gyro("gyro", body="mast", period=T, axes=(0.0, 0.0, 0.0, 1.0), bias=(0.0, 0.3, 0.0)))
    model.remove(model.bodies["mast"])
    model.add(femb.RigidBody("mast", 1.0, (1.0, 1.0, 1.0), position=(0.0, 5.0, 0.0), angular_velocity=(0.0, -1.1, 0.0)))
    model.add(pid(over, {"proportional": K_P, "derivative": K_D}))
    k_p, _, k_d = gains_at(1.1)
    (law,) = (each for each in femb.loop(model, start="as_given").laws if each.name == "law")
    np.testing.assert_allclose(law.D[2][np.nonzero(law.D[2])], [-k_p, -k_d], rtol=1e-12)
    run = femb.simulate(model, duration=2.0 * T, output_interval=T)
    np.testing.assert_allclose(run.controllers["law"].scheduled[0], 1.1, rtol=1e-12)
    if over == "sensors.encoder":  # whose value has no bias
        assert run.controllers["law"].sample_output[0, 2] == pytest.approx(-k_p * 2.0 * np.sin(0.15), rel=1e-12)


@pytest.mark.slow
def test_gains_by_a_bandwidth_have_the_inertia_of_the_model_and_stay_when_it_is_fixed():
    schedule = femb.GainSchedule(over="joints.drive.angle", at=(0.0, 2.0), gains={"bandwidth": (0.2, 0.4)})
    law = femb.PDController("law", attitude="bodies.hub", rate="bodies.hub", outputs=("loads.torquer.torque",),
                            schedule=schedule)  # fmt: skip
    of = plant(law, 0.0, 1.0, driven=False)
    (found,) = femb.loop(of).laws
    whole = femb.PDController("law", attitude="bodies.hub", rate="bodies.hub", outputs=("loads.torquer.torque",),
                              bandwidth=1.0)  # fmt: skip
    (unit,) = femb.loop(plant(whole, 0.0, 1.0, driven=False)).laws
    # the matrices are interpolated, not the bandwidth
    assert found.D[:, :3] == pytest.approx(0.5 * (0.2**2 + 0.4**2) * unit.D[:, :3])
    from femb.linear.linearise import with_gains_of

    heavy = plant(law, 0.0, 1.0, driven=False)
    object.__setattr__(heavy.bodies["hub"], "inertia", 2.0 * heavy.bodies["hub"].inertia)
    assert abs(femb.loop(heavy).laws[0].D[2, 2]) > abs(found.D[2, 2]) + 0.9
    np.testing.assert_allclose(femb.loop(with_gains_of(heavy, of)).laws[0].D, found.D)


def test_what_a_schedule_cannot_have_is_named():
    make = femb.GainSchedule
    words = {"over": "joints.drive.angle", "at": (0.0, 1.0), "gains": {"derivative": (1.0, 2.0)}}
    refuses("schedule.at: got .*, must rise from each to the next", make, **words | {"at": (0.0, 0.0)})
    refuses("schedule.at: .*wanted at least 2", make, **words | {"at": (0.0,), "gains": {"derivative": (1.0,)}})
    refuses("schedule.gains.derivative: got .*, wanted 3 entries", make, **words | {"at": (0.0, 1.0, 2.0)})
    table = {"proportional": (1.0, 2.0)}
    for gains, text in (
        ({"gain": (1.0, 2.0)}, "controllers.law.schedule.gains.gain: is no gain that a schedule sets"),
        (table | {"bandwidth": (1.0, 2.0)}, "proportional: got 1.0, given beside 'bandwidth'"),
        (table | {"derivative": (1.0, "a")}, "schedule.gains.derivative.1: got 'a'"),
        (table | {"derivative": (1.0, [1.0, 2.0, 3.0])}, "wanted entries of one shape"),
    ):
        refuses(text, pid, gains=gains, at=(0.0, 1.0))
    refuses("proportional: given beside 'schedule'", pid, gains=table, at=(0.0, 1.0), proportional=3.0)
    for over, text in (
        ("bodies.hub.turn", "schedule.over: got 'bodies.hub.turn', which has 3 numbers"),
        ("sensors.enc", "schedule.over: got 'sensors.enc', which is no signal"),
        ("controllers.law", "schedule.over: got 'controllers.law', wanted a sensor or a coordinate"),
        ("joints.drive.angel", "schedule.over: got 'joints.drive.angel', which is no signal"),
    ):
        refuses(text, femb.loop, plant(pid(over), driven=False))
    function = {"inputs": "joints.drive.angle", "outputs": "loads.torquer.torque", "period": 1.0}
    refuses("this law has none", femb.SampledController, "law", print, **function, schedule=make(**words))


def test_wrong_gains_in_a_table_are_told_with_all_other_errors_and_nothing_that_follows(tmp_path):
    text = """
    [bodies.hub]
    mass = -1.0
    [loads.torquer]
    body = "hub"
    [controllers.law]
    kind = "pid"
    perod = 0.1
    attitude = "bodies.hub"
    rate = "bodies.hub"
    outputs = ["loads.torquer.torque"]
    [controllers.law.schedule]
    over = "bodies.hub.turn.z"
    at = [0.0, 1.0]
    gains = { proportinal = [1.0, 2.0], derivative = [3.0, "a"], integral = [1.0, 2.0] }
    """
    path = tmp_path / "case.toml"
    path.write_text(text)
    wrong = [
        "perod: unknown key; did you mean 'period'?",
        "schedule.gains.proportinal: is no gain that a schedule sets; did you mean 'proportional'?",
    ]
    wrong = [f"controllers.law.{each}" for each in wrong]
    for absent in (0, 1):
        with pytest.raises(CaseError) as error:
            femb.load_case(path)
        said = str(error.value).splitlines()
        assert [line.split(": ", 1)[1] for line in said if "controllers" in line] == wrong[absent:]
        assert any("bodies.hub.mass: got -1.0" in line for line in said)
        assert "case.toml:15:" in str(error.value) or absent
        path.write_text(text.replace("    perod = 0.1\n", ""))
    # of three entries for two values
    path.write_text(text.replace('[3.0, "a"]', "[3.0, 4.0, 5.0]"))
    refuses(r"perod(.|\n)*schedule.gains.derivative: got .*, wanted 2 entries", femb.load_case, path)
