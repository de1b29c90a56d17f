"""Ensembles: members move as they do alone, whatever their order; those that fail leave the others."""

import numpy as np
import pytest
from models import refuses

import femb
from femb.profiles import Step, Versine
from femb.study.run_outputs import history

RUN = {"duration": 0.3, "output_interval": 0.02, "rtol": 1e-7}
TIP = "beams.boom.-1.position.z"


def section(stiffness, damping=1e-3, **more):
    return femb.Section(
        "boom", 2.5e-3, (5.2e-7, 4.0e-7), 8e-7, 2800.0, 7e9 * stiffness, 2.7e9 * stiffness, damping=damping, **more
    )


def spacecraft(stiffness=1.0, mass=20.0, elements=1, profile=None, kind=femb.Beam, **of_section):
    """A hub with a boom that carries a point mass, turned by a torque."""
    model = femb.Model("spacecraft")
    hub = model.add(femb.RigidBody("hub", mass=mass, inertia=1.5, euler_rates=(0.1, 0.2, 0.3)))
    start = hub.at((0.1, 0, 0), direction=(1, 0, 0))
    boom = model.add(kind("boom", section=section(stiffness, **of_section), length=2.0, elements=elements, start=start))
    model.add(femb.PointMass("tip", mass=0.5, on=boom.at(-1)))
    model.add(femb.Load("turn", body="hub", torque=(0, 15.0, 1.0), frame="body", profile=profile or Versine(0.2)))
    return model


def cantilever(position, force, kind=femb.Beam):
    """A beam on the ground, somewhere, pushed at its tip from 0.1 s on, beside a free mass that is pushed too."""
    model = femb.Model("cantilever")
    base = model.add(femb.Ground("base", position=position))
    start = base.at((0, 0, 0), direction=(0, 1, 0))
    model.add(kind("boom", section=section(1.0), length=1.0, elements=2, start=start))
    model.add(femb.PointMass("free", mass=2.0, position=(0, 0, 5.0)))
    model.add(femb.Load("push", beam="boom", node=-1, force=(0, 0, force), profile=Step(0.1)))
    model.add(femb.Load("drift", body="free", force=(0, 0, 0.1 * force)))
    return model


def members():
    """Members that differ in parameters, numbers of elements, fixed frames, loads and breakpoints."""
    return [
        spacecraft(),
        cantilever((0, 0, 1.0), 20.0),
        spacecraft(1.3, 18.0, elements=2, profile=Versine(0.15)),
        cantilever((3.0, 0, 2.0), -30.0),
    ]


@pytest.fixture(scope="module")
def ensemble():
    return femb.simulate_ensemble(members(), **RUN)


def check_members(ensemble, models):
    """The members of an ensemble move as the models do alone."""
    assert not ensemble.failed.any()
    for model, results in zip(models, ensemble.results, strict=True):
        single = femb.simulate(model, **RUN)
        assert results.series.keys() == {path for path in single.series if not path.startswith(("audit/", "budget/"))}
        bodies = [f"bodies.{name}.position" for name in results.bodies]
        for name in (*bodies, TIP, "beams.boom.0.section_moment.y", "beams.boom.-1.acceleration.z"):
            mine, other = history(results, name).values, history(single, name).values
            # errors of either run are of the size of rtol in the motion; forces follow the accelerations
            tolerance = 1e-6 if "position" in name else 1e-3
            assert np.max(np.abs(mine - other)) <= tolerance * max(1.0, np.max(np.abs(other))), name


def test_members_move_as_they_do_alone(ensemble):
    check_members(ensemble, members())


def test_exact_beams_move_as_they_do_alone():
    """Of different numbers of elements, of both kinds of damping, heated, held, and beside default beams."""
    directions = (1e-3, 2e-3, 1e-3, 1e-3, 3e-3, 1e-3)
    heated = spacecraft(1.2, elements=3, kind=femb.ExactBeam, expansion=2e-5)
    heated.add(femb.ThermalLoad("sun", beam="boom", temperature=50.0, gradient=(0.0, 200.0), profile=Versine(0.2)))
    cold = spacecraft(0.9, elements=2, kind=femb.ExactBeam, expansion=2e-5)
    cold.add(femb.ThermalLoad("shadow", beam="boom", temperature=-80.0, profile=Versine(0.3)))
    held = cantilever((0, 0, 1.0), 20.0, kind=femb.ExactBeam)
    models = [
        spacecraft(kind=femb.ExactBeam), heated, held, spacecraft(damping=directions, kind=femb.ExactBeam), cold,
        spacecraft(),
    ]  # fmt: skip
    check_members(femb.simulate_ensemble(models, **RUN), models)


def sprung(stiffness, damping=0.0, **words):
    """The spacecraft tied to a point by a spring and a dashpot about an axis, and pulled at the tip."""
    model = spacecraft(**words)
    anchor, hub = femb.SpringEnd(anchor=(0, 0.2, 3.0)), femb.SpringEnd("hub", at=(0, 0, 1.0))
    model.add(femb.SpringDamper("stay", anchor, hub, stiffness=stiffness, damping=damping))
    if damping:
        ground = femb.SpringEnd("ground")
        model.add(femb.TorsionSpringDamper("turn", ground, femb.SpringEnd("hub"), axis=(0, 1, 0), damping=damping))
    far = femb.SpringEnd(anchor=(5.0, 0, 1.0))
    model.add(femb.Pull("wire", femb.SpringEnd(beam="boom", node=-1), far, force=3.0, profile=Versine(0.2)))
    return model


def test_springs_act_as_in_runs_of_their_own():
    models = [sprung(400.0), spacecraft(), sprung(900.0, 2.0, elements=2), cantilever((0, 0, 1.0), 20.0), sprung(100.0)]
    got = femb.simulate_ensemble(models, **RUN)
    assert got.note == ""
    check_members(got, models)
    name = "springs.stay.force"
    for model, results in zip(models, got.results, strict=True):
        if "stay" in results.springs:
            mine, other = (history(each, name).values for each in (results, femb.simulate(model, **RUN)))
            assert np.max(np.abs(mine - other)) <= 1e-5 * np.max(np.abs(other))


def falling(stiffness):
    """A mass pushed towards the anchor of its spring, which a soft one does not keep it from."""
    model = femb.Model("falling")
    model.add(femb.PointMass("mass", mass=1.0, position=(0, 0, 0.5)))
    ends = femb.SpringEnd("ground"), femb.SpringEnd("mass")
    model.add(femb.SpringDamper("stay", *ends, stiffness=stiffness, free_length=0.4))
    model.add(femb.Load("push", body="mass", force=(0, 0, -20.0)))
    return model


@pytest.mark.parametrize("path", ["springs/stay/force", "bodies/mass/acceleration", "bodies/mass/position"])
def test_members_record_what_is_selected_alone(path):
    """Forces and accelerations also where nothing else asks for the equations at the output times."""
    words = {"output": {"select": [path.replace("/", ".")]}, **RUN}
    models = [falling(500.0), falling(600.0)]
    got = femb.simulate_ensemble(models, **words)
    assert got.note == ""
    for model, results in zip(models, got.results, strict=True):
        single = femb.simulate(model, **words)
        assert results.series.keys() == {"time", path}
        np.testing.assert_allclose(results.series[path], single.series[path], rtol=1e-6, atol=1e-6)


def locking(torque):
    """A body turned about the second of its Euler axes, by 9 N m to gimbal lock."""
    model = femb.Model("locking")
    model.add(femb.RigidBody("body", mass=1.0, inertia=(1.0, 1.0, 1.5), euler_rates=(0.0, 0.1, 0.0)))
    model.add(femb.Load("turn", body="body", torque=(0.0, torque, 0.0), frame="dual_euler"))
    return model


@pytest.mark.parametrize(("build", "good", "bad"), [(falling, 500.0, 1.0), (locking, 1.0, 9.0)])
def test_a_member_ends_at_its_singular_configuration_and_the_others_go_on(build, good, bad):
    options = {"duration": 0.7, "output_interval": 0.02, "rtol": 1e-7, "method": "radau"}
    models = [build(good), build(bad), build(1.5 * good)]
    got = femb.simulate_ensemble(models, **options)
    assert got.alone == ("", "", "")
    assert got.failed.tolist() == [False, True, False]
    with pytest.raises(femb.SolveError) as alone:
        femb.simulate(models[1], **options)
    assert got.messages[1] == str(alone.value)
    for k in (0, 2):
        mine, other = got.results[k], femb.simulate(models[k], **options)
        for name in mine.bodies:
            for word in ("position", "quaternion"):
                np.testing.assert_allclose(mine.bodies[name][word], other.bodies[name][word], rtol=0.0, atol=1e-5)


def test_all_members_take_the_same_steps(ensemble):
    steps = {results.statistics["steps"] for results in ensemble.results}
    assert len(steps) == 1
    assert {results.statistics["members"] for results in ensemble.results} == {4}


def test_order_does_not_matter(ensemble):
    order = [2, 0, 3, 1]
    other = femb.simulate_ensemble([members()[k] for k in order], **RUN)
    time, values = ensemble.history(TIP)
    assert np.array_equal(time, np.linspace(0.0, 0.3, 16))
    assert np.allclose(other.history(TIP)[1], values[order], rtol=0.0, atol=1e-12)


def test_a_member_that_fails_leaves_the_others():
    def breaks(t):
        if t > 0.15:
            raise ValueError("no more torque")
        return 1.0

    open_end = spacecraft()
    open_end.add(femb.Load("lost", body="nothing", force=(0, 0, 1.0)))
    models = [spacecraft(), spacecraft(profile=breaks), open_end, spacecraft(1.2)]
    got = femb.simulate_ensemble(models, **RUN)
    assert got.failed.tolist() == [False, True, True, False]
    with pytest.raises(femb.SolveError) as alone:
        femb.simulate(spacecraft(profile=breaks), **RUN)
    assert got.messages[1] == str(alone.value)
    assert "no more torque" in got.messages[1]
    assert got.results[1].time[-1] == pytest.approx(0.15, abs=0.02)
    assert "nothing" in got.messages[2]
    assert got.results[2] is None
    whole = femb.simulate_ensemble([spacecraft(), spacecraft(1.2)], **RUN).history(TIP)[1]
    values = got.history(TIP)[1]
    assert np.allclose(values[[0, 3]], whole, rtol=0.0, atol=1e-6)
    assert np.isnan(values[1, -1])
    assert np.isnan(values[2]).all()


def orbiting(mu, radius, **words):
    """A spacecraft so near to a small central body that the gradient of its gravity turns it at once."""
    model = spacecraft(**words)
    speed = np.sqrt(mu / radius)
    model.add(femb.Orbit("planet", position=(0.0, radius, 0.0), velocity=(speed, 0.0, 0.3 * speed), mu=mu))
    return model


def test_members_on_different_orbits_move_as_they_do_alone():
    # 5, 4 and 2 rad/s; one is in no orbit and holds a frame, one has the structures of two bodies
    pair = orbiting(2e5, 25.0, stiffness=1.2)
    pair.add(femb.RigidBody("other", mass=3.0, inertia=(1.0, 2.0, 2.5), position=(0, 2.0, 0)))
    models = [cantilever((0, 0, 1.0), 20.0), orbiting(1e6, 35.0), spacecraft(), pair, orbiting(4e6, 100.0, elements=2)]
    ensemble = femb.simulate_ensemble(models, **RUN)
    assert not ensemble.failed.any()
    for number, (model, results) in enumerate(zip(models, ensemble.results, strict=True)):
        single = femb.simulate(model, **RUN)
        assert results.series.keys() == {path for path in single.series if not path.startswith(("audit/", "budget/"))}
        bodies = [f"bodies.{name}.{word}" for name in results.bodies for word in ("position", "velocity")]
        for name in (*bodies, TIP, "beams.boom.-1.acceleration.z", "beams.boom.0.section_moment.y"):
            mine, other = history(results, name).values, history(single, name).values
            tolerance = 1e-6 if "position" in name else 1e-3
            assert np.max(np.abs(mine - other)) <= tolerance * max(1.0, np.max(np.abs(other))), (number, name)
    tips = ensemble.history(TIP)[1]
    # the orbit matters by far more than that
    assert np.max(np.abs(tips[1] - tips[2])) > 1e-3


def test_equal_functions_of_time_are_evaluated_once():
    calls = []

    def torque(t):
        calls.append(t)
        return 1.0

    counts = []
    for number in (1, 3):
        calls.clear()
        femb.simulate_ensemble([spacecraft(profile=torque) for _ in range(number + 1)], **RUN | {"duration": 0.02})
        counts.append(len(calls))
    assert counts[0] == counts[1]


def same_as_alone(results, model, **options):
    """Results of a member with a run of its own are those of its model, to the last bit."""
    single = femb.simulate(model, **RUN | options)
    assert results.series.keys() == single.series.keys()
    for path, array in single.series.items():
        np.testing.assert_array_equal(results.series[path], array, err_msg=path)


def test_what_cannot_be_integrated_together_has_a_run_of_its_own():
    blown = spacecraft()
    blown.add(femb.DistributedLoad("wind", beam="boom", force=(0, 0, 1.0)))
    heavy = spacecraft()
    heavy.gravity = (0, 0, -9.81)
    steered = spacecraft(profile=None)
    steered.add(femb.Load("control", body="hub", torque=lambda t, state: np.zeros(3)))
    for model, words in (
        (
            blown,
            "models[1].loads.wind: is no body, point mass, beam, spring, joint, orbit, or load that depends on time",
        ),
        (heavy, "models[1].gravity: is another than that of the members before"),
        (steered, "models[1].loads.control: depends on the state of the model"),
    ):
        ensemble = femb.simulate_ensemble([spacecraft(), model, spacecraft()], **RUN)
        assert ensemble.alone == ("", words, "")
        assert ensemble.note == f"1 of 3 members had runs of their own, the first of them since {words}"
        same_as_alone(ensemble.results[1], model)
    # gravity is compared with that of the members which stay together
    heavy.add(femb.DistributedLoad("wind", beam="boom", force=(0, 0, 1.0)))
    alone = femb.simulate_ensemble([heavy, spacecraft(), spacecraft()], **RUN).alone
    assert [bool(why) for why in alone] == [True, False, False]
    assert femb.simulate_ensemble([spacecraft()], **RUN).note == ""
    refuses("got none", femb.simulate_ensemble, [], **RUN)
    refuses("together: got 0", femb.simulate_ensemble, [spacecraft()], together=0, **RUN)
    refuses("wanted 'velocity'", femb.simulate_ensemble, [spacecraft()], formulation="quaternion", **RUN)
    with pytest.raises(femb.ModelError, match="got 'gauss', wanted one of"):
        femb.simulate_ensemble([spacecraft()], duration=0.1, method="gauss", step=1e-3)
    refuses(r"models\[0\]: got 3", femb.simulate_ensemble, [3], **RUN)


def controlled(seed, bandwidth=0.5):
    """A hub that a sampled law points by one wheel, from a sensor with noise."""
    model = femb.Model("controlled", seed=int(seed))
    model.add(femb.RigidBody("hub", mass=10.0, inertia=(2.0, 2.0, 3.0), euler_angles=(0.0, 0.0, 0.1)))
    model.add(femb.ReactionWheel("w", body="hub", axis=(0, 0, 1), spin_inertia=0.02))
    model.add(femb.AttitudeSensor("tracker", body="hub", noise=1e-3))
    model.add(
        femb.PDController(
            "law", attitude="sensors.tracker", rate="bodies.hub", wheels=("w",), allocation=((0.0, 0.0, -1.0),),
            bandwidth=bandwidth, period=0.05,
        ),
    )  # fmt: skip
    return model


def test_sampled_controllers_have_runs_of_their_own_with_the_noise_of_their_seeds():
    models, done = [controlled(seed) for seed in (1, 2)], []
    ensemble = femb.simulate_ensemble(models, together=1, progress=lambda *counts: done.append(counts), **RUN)
    assert done == [(1, 2), (2, 2)]
    assert not ensemble.failed.any()
    assert "has discrete states" in ensemble.note
    for results, model in zip(ensemble.results, models, strict=True):
        same_as_alone(results, model)
    values = [results.sensors["tracker"].sample_value for results in ensemble.results]
    assert np.abs(values[0] - values[1]).max() > 1e-4


def test_a_study_over_seeds_together_has_the_same_pointing():
    """A Monte Carlo study of pointing: every run is that of its seed."""
    outputs = {"rms": {"kind": "rms", "of": "controllers.law.error.z"}}
    study = femb.Study(controlled, {"seed": {"values": [3, 4, 5]}}, outputs, design="list", run=femb.Run(**RUN))
    with pytest.warns(femb.FembWarning, match="together: 3 of 3 members had runs of their own"):
        table = femb.sweep(study, together=True)
    separate = femb.sweep(study)
    np.testing.assert_array_equal(table["rms"], separate["rms"])
    assert len({*table["rms"].tolist()}) == 3


def study_of(**more):
    def case(stiffness, mass):
        if mass < 0.0:
            raise ValueError("no such mass")
        return spacecraft(stiffness, mass)

    variables = {"stiffness": {"values": [1.0, 1.2, 1.4]}, "mass": {"values": [20.0, -1.0, 15.0]}}
    outputs = {"peak": {"kind": "peak", "of": TIP}, "last": {"kind": "final", "of": "bodies.hub.angular_velocity.y"}}
    return femb.Study(case, variables, outputs, design="list", run=femb.Run(**RUN), **more)


def test_a_study_in_ensembles_has_the_same_table():
    table, separate = femb.sweep(study_of(), together=True), femb.sweep(study_of())
    assert table.failed.tolist() == separate.failed.tolist() == [False, True, False]
    assert table.messages == separate.messages
    for name in ("peak", "last"):
        assert np.allclose(table[name], separate[name], rtol=1e-6, atol=0.0, equal_nan=True)
    refuses("together: runs in this process", femb.sweep, study_of(), together=True, workers=2)


def test_outputs_of_the_audit_are_refused_before_a_run():
    made = []

    def case(stiffness):
        made.append(stiffness)
        return spacecraft(stiffness)

    outputs = {"last": {"kind": "final", "of": TIP}, "error": {"kind": "peak", "of": "audit.energy_error"}}
    study = femb.Study(case, {"stiffness": {"values": [1.0, 1.2]}}, outputs, design="list", run=femb.Run(**RUN))
    refuses(r"outputs.error.of: runs that are integrated together have no audit", femb.sweep, study, together=True)
    assert made == []


def test_wheels_of_members_fail_each_at_its_instant():
    """Members without joints: of what crosses the clock alone; 0.1 N m turn each up to then, by 0.1 t/J_s."""
    models = []
    for fails in (0.3, 0.8):
        model = femb.Model("wheel")
        model.add(femb.RigidBody("hub", 50.0, (1e9, 1e9, 1e9)))
        model.add(femb.ReactionWheel("w", "hub", axis=(0, 0, 1), spin_inertia=0.05, torque=0.1, fails_at=fails))
        models.append(model)
    _, speeds = femb.simulate_ensemble(models, duration=1.0, output_interval=0.1).history("wheels.w.speed")
    np.testing.assert_allclose(speeds[:, -1], [0.6, 1.6], rtol=1e-9)
