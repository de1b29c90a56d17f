"""Joints, their forces and drivers, and latches in ensembles: members move as alone and latch when they are to."""

import numpy as np
import pytest
from models import stiff

import femb
from femb.elements import Attachment, DriveHarmonic, Snap
from femb.elements import catalogue as elements
from femb.elements.joint.joint import Joint
from femb.profiles import Sine, Versine

RUN = {"duration": 0.6, "output_interval": 0.04, "rtol": 1e-8, "method": "radau"}
X, Y, Z = np.eye(3)


def check(ensemble, models, **options):
    """Members of an ensemble have the motion, reactions and events of their own runs."""
    assert ensemble.note == ""
    assert not ensemble.failed.any(), ensemble.messages
    for number, (model, mine) in enumerate(zip(models, ensemble.results, strict=True)):
        single = femb.simulate(model, **RUN | options)
        assert mine.series.keys() == {path for path in single.series if not path.startswith(("audit/", "budget/"))}
        assert [event.name for event in mine.events] == [event.name for event in single.events]
        for one, other in zip(mine.events, single.events, strict=True):
            assert one.time == pytest.approx(other.time, abs=1e-6)
            assert one.energy_loss == pytest.approx(other.energy_loss, rel=1e-4, abs=1e-9)
        for path, values in single.series.items():
            word = path.rpartition("/")[2]
            motion = word in ("position", "quaternion", "coordinates", "angle", "length")
            if motion or word in ("velocity", "angular_velocity", "rates", "force", "torque", "value"):
                size = max(1.0, np.max(np.abs(values), initial=0.0))
                error = np.max(np.abs(mine.series[path] - values), initial=0.0)
                assert error <= (1e-6 if motion else 2e-5) * size, (number, path, error)


def pair(kind, seed=0, **words):
    """A free hub that moves, and a body on it by a joint."""
    rng = np.random.default_rng(seed)
    model = femb.Model(kind.__name__)
    model.add(femb.RigidBody("hub", 5.0, (1.0, 1.5, 2.0), velocity=(0.1, 0.2, -0.1), angular_velocity=(0.3, -0.2, 0.4)))
    where = {"position": 0.5 * Y + 0.1 * Z} if kind is femb.Distance else {}
    model.add(femb.RigidBody("arm", 1.0 + 0.1 * seed, (0.2, 0.3, 0.4), center_of_mass=(0.3, 0.05, 0.1), **where))
    axes = {} if kind is femb.Distance else {"axis": rng.standard_normal(3), "reference": rng.standard_normal(3)}
    if kind is femb.Components:
        words |= {"directions": [(1, 0.2, 0), (0, 0.3, 1)]}
        axes = {}
    elif kind.coordinates and "start" not in words:
        words |= {"rates": rng.uniform(0.3, 1.0, len(kind.coordinates))}
    first = femb.JointEnd("hub", at=(0.2, 0.1, 0.0), **axes)
    model.add(kind("joint", first, femb.JointEnd("arm", at=(-0.1, 0.0, 0.1), **axes), **words))
    return model


def catalogue():
    """The joints of the catalogue."""
    kinds = [each for each in vars(elements).values() if isinstance(each, type) and issubclass(each, Joint)]
    assert len(kinds) >= 13
    return kinds


@pytest.mark.slow
def test_every_joint_moves_as_alone():
    models = [pair(kind, seed) for seed, kind in enumerate(catalogue())]
    models[1:1] = [pair(femb.Spherical, 20)]
    check(femb.simulate_ensemble(models, **RUN), models)


def hinged(*items, number=0, kind=femb.Revolute, **words):
    """A hub with an arm on a hinge, and things that act on it."""
    model = pair(kind, number, **words)
    for item in items:
        model.add(item)
    return model


CURVE = {"coordinates": (-1.0, -0.2, 0.3, 1.0), "forces": (-2.0, -0.5, 0.8, 1.5)}


def test_forces_along_coordinates_act_as_alone():
    """Springs, friction, motors, curves, microstepping motors, and drivers, in every order; some members have none."""
    stepper = {"holding_torque": 1.0, "teeth": 20.0, "damping": 0.1, "harmonics": [DriveHarmonic(4.0, torque=0.01)]}
    spring = femb.JointSpringDamper("spring", "joint", stiffness=3.0, damping=0.2, free=0.4)
    models = [
        hinged(spring, number=1),
        hinged(femb.JointFriction("friction", "joint", coulomb=0.2, transition_rate=0.2), number=2),
        hinged(number=3),
        hinged(femb.JointMotor("motor", "joint", force=0.4, profile=Versine(0.4)), spring, number=4),
        hinged(femb.JointCurve("curve", "joint", **CURVE), number=5),
        hinged(
            femb.JointSpringDamper("slide", "joint", "stroke", stiffness=20.0), spring, kind=femb.Cylindrical, number=6
        ),
        hinged(femb.StepperMotor(name="motor", joint="joint", motion=Sine(0.2, 1.0), **stepper), number=7),
        hinged(femb.JointCurve("other", "joint", damping=0.1, **CURVE), number=8),
        hinged(femb.JointDriver("drive", "joint", Sine(0.3, 1.5)), number=9, start=0.0),
        hinged(femb.OrientationDriver("aim", femb.Place("ground"), femb.Place("hub"), first_angle=Sine(0.2, 1.0))),
        hinged(femb.StepperMotor(name="slow", joint="joint", motion=Sine(0.1, 0.7), **stepper), number=10),
    ]
    # drivers start the motion that they prescribe
    models[9].tables["bodies"]["hub"] = femb.RigidBody("hub", 5.0, (1.0, 1.5, 2.0))
    check(femb.simulate_ensemble(models, **RUN), models)


def latching(at=None, number=0, rate=1.0, **more):
    """A hinge with a spring on a turning hub that latches at an angle, and a rotor with many turns."""
    words = {"start": -0.3, "rates": rate}
    model = hinged(femb.Latch("lock", "joint", at=at, **more), number=number, **words)
    model.add(femb.JointSpringDamper("spring", "joint", stiffness=2.0 + number, damping=0.1))
    model.add(femb.RigidBody("rotor", 0.5, (0.01, 0.01, 0.02)))
    model.add(femb.Revolute("axle", femb.JointEnd("hub", axis=Z), femb.JointEnd("rotor", axis=Z), rates=30.0))
    return model


def different_latches():
    """Members that latch at instants of their own, at an angle or a time, that let go, and that do not latch."""
    two = latching(-0.1, 5)
    two.add(femb.RigidBody("tip", 0.3, (0.02, 0.03, 0.04), center_of_mass=(0.1, 0, 0)))
    ends = femb.JointEnd("arm", at=(0.5, 0, 0), axis=Y), femb.JointEnd("tip", axis=Y)
    two.add(femb.Revolute("knuckle", *ends, rates=0.8))
    two.add(femb.Latch("second", "knuckle", at=0.2))
    pushed = latching(-0.15, 6)
    pushed.add(femb.Load("push", body="hub", torque=(0, 0, 2.0), profile=Versine(0.5)))
    return [
        latching(-0.2, 1), latching(0.9, 2), latching(0.0, 3), latching(number=4, time=0.25), two, pushed,
        latching(number=7, engaged=True, time=0.33, rate=0.0), latching(-0.25, 8, direction=-1),
    ]  # fmt: skip


SLOW = [pytest.param(method, marks=pytest.mark.slow) for method in ("generalized-alpha", "bdf")]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "rk", *SLOW])
def test_members_latch_at_instants_of_their_own(method):
    """After a latch they go on with each other, with rows of their own; none of them has a run of its own."""
    models, options = different_latches(), {"method": method}
    if method == "bdf":
        models, options["rtol"] = models[:4], 1e-10
    if method == "generalized-alpha":
        models, options["duration"] = models[:2], 0.12
    got = femb.simulate_ensemble(models, **RUN | options)
    check(got, models, **options)
    counts = [len(results.events) for results in got.results]
    assert counts[:4] == [1, 0, 1, 1][: len(models)]
    assert [results.statistics["members"] for results in got.results] == [len(models)] * len(models)
    held = got.results[0].joints["joint"].coordinates[:, 0]
    np.testing.assert_allclose(held[got.results[0].time > got.results[0].events[0].time], -0.2, atol=1e-9)


@pytest.mark.slow
def test_few_members_go_on_in_smaller_groups():
    """Also down to one, and to no member that is left."""
    models = [latching(at, number) for number, at in enumerate((-0.29, -0.28, -0.27, -0.26, -0.1, -0.05, 0.0))]
    check(femb.simulate_ensemble(models, **RUN), models)
    check(femb.simulate_ensemble(models[:2], **RUN), models[:2])


def test_tapes_snap_over_and_back_at_instants_of_their_own():
    snap = Snap(at=-0.15, back=-0.25, coordinates=(-1.0, 1.0), forces=(-2.5, -2.4))
    models = []
    for number in range(3):
        tape = femb.JointCurve("tape", "joint", coordinates=(-1.0, 1.0), forces=(-8.0, 8.0), snaps=[snap])
        models.append(hinged(tape, number=number, start=-0.3, rates=1.0 + 0.2 * number))
    got = femb.simulate_ensemble(models, **RUN)
    check(got, models)
    assert all(len(results.events) for results in got.results)


@pytest.mark.slow
def test_a_member_that_fails_after_its_latch_is_named_and_the_others_go_on():
    def breaks(t):
        if t > 0.45:
            raise ValueError("no more torque")
        return 1.0

    models = [latching(-0.2, 1), latching(-0.1, 2), latching(-0.15, 3)]
    models[1].add(femb.Load("push", body="hub", torque=(0, 0, 1.0), profile=breaks))
    got = femb.simulate_ensemble(models, **RUN)
    assert got.failed.tolist() == [False, True, False]
    with pytest.raises(femb.SolveError) as alone:
        femb.simulate(models[1], **RUN)
    assert got.messages[1] == str(alone.value)
    assert "no more torque" in got.messages[1]
    others = [models[0], models[2]]
    check(femb.Ensemble((got.results[0], got.results[2]), ("", "")), others)


def test_what_has_a_run_of_its_own_is_named():
    waiting = latching(when=lambda t, state: t - 0.1)
    stopped = hinged(femb.JointStops("stop", "joint", stiffness=1e4, upper=0.2))
    loop = pair(femb.Revolute)
    loop.add(femb.PointMass("knot", mass=0.5, position=(0.0, 1.0, 0.5)))
    for name in ("hub", "arm"):
        loop.add(femb.Distance(f"rod of {name}", femb.JointEnd(name), femb.JointEnd("knot")))
    geared = femb.Model("gears")
    geared.add(femb.RigidBody("hub", 5.0, 1.0))
    for number, name in enumerate(("a", "b")):
        geared.add(femb.RigidBody(name, 1.0, 0.1))
        root = femb.JointEnd("hub", at=(number, 0, 0), axis=Z)
        geared.add(femb.Revolute(name, root, femb.JointEnd(name, axis=Z)))
    geared.add(femb.Gear("gear", femb.JointCoordinate("a"), femb.JointCoordinate("b"), ratio=2.0))
    for model, words in (
        (waiting, "models[1].latches.lock: waits for a function of the state"),
        (stopped, "models[1].springs.stop: ends steps where it touches"),
        (loop, "models[1].joints: close loops"),
        (geared, "models[1].joints: are tied by couplings"),
    ):
        got = femb.simulate_ensemble([latching(0.0), model], **RUN | {"duration": 0.04})
        assert got.alone == ("", words)


def falling(push):
    """A block pushed along a rail through the anchor of its spring, where its length would vanish, which it latches
    before."""
    model = femb.Model("falling")
    model.add(femb.RigidBody("block", 1.0, 0.1))
    model.add(femb.Prismatic("rail", femb.Ground().at((0, 0, 0.5), direction=Z), femb.JointEnd("block", axis=Z)))
    ends = femb.SpringEnd("ground"), femb.SpringEnd("block")
    model.add(femb.SpringDamper("stay", *ends, stiffness=1.0, free_length=0.4))
    model.add(femb.Load("push", body="block", force=(0, 0, -push)))
    model.add(femb.Latch("catch", "rail", at=-0.4))
    return model


def test_what_a_member_would_do_without_its_latch_does_not_stop_the_others():
    models = [falling(push) for push in (9.0, 4.0, 3.8, 3.6)]
    check(femb.simulate_ensemble(models, **RUN), models)


def panels(number, elements=1, damping=1e-2, driven=True):
    """A satellite with two flexible panels that springs unfold, or that turn on, until they latch one by one."""
    stiffness, springs = 1.0 + np.random.default_rng(number).uniform(-0.2, 0.2, 2)
    section = stiff(2e5, 150.0, (200.0 * stiffness, 2e3), 3.0, (0.26, 0.01, 0.25), "panel", damping=damping)
    model = femb.Model("panels")
    model.add(femb.RigidBody("hub", 100.0, 20.0))
    for name, side in (("right", 1.0), ("left", -1.0)):
        at, heading = np.array([0.5 * side, 0, 0]), (0.0 if side > 0.0 else np.pi) + 0.2 * side
        along = (np.cos(heading), np.sin(heading), 0.0)
        start = Attachment(at=at, direction=along, up=Z)
        model.add(femb.Beam(name, section, 1.0, elements, start=start))
        end = femb.JointEnd(beam=name, node=0, axis=Y, reference=X)
        rates, root = None if driven else -0.6 * side, femb.JointEnd("hub", at=at, axis=Z, reference=(side, 0, 0))
        model.add(femb.Revolute(name, root, end, rates=rates))
        stiffness = 4.0 * springs * (1.1 if side > 0.0 else 1.0)
        if driven:
            model.add(femb.JointSpringDamper(name, name, stiffness=stiffness, free=-side))
        model.add(femb.Latch(name, name, at=0.0))
    return model


@pytest.mark.slow
def test_flexible_panels_vibrate_as_alone_after_they_have_latched():
    models, options = [panels(number) for number in range(4)], {"duration": 0.8, "rtol": 1e-7}
    got = femb.simulate_ensemble(models, **RUN | options)
    assert got.note == ""
    for model, mine in zip(models, got.results, strict=True):
        single = femb.simulate(model, **RUN | options)
        assert len(mine.events) == 2
        for one, other in zip(mine.events, single.events, strict=True):
            assert (one.name, one.time) == (other.name, pytest.approx(other.time, abs=1e-6))
        for name in ("right", "left"):
            bent, other = (results.beams[name].deflection for results in (mine, single))
            assert np.max(np.abs(bent - other)) < 1e-4 * np.max(np.abs(other))
            force, other = (results.joints[name].force for results in (mine, single))
            assert np.max(np.abs(force - other)) < 3e-3 * np.max(np.abs(other))


@pytest.mark.slow  # follows the vibrations for comparison
def test_a_filter_takes_fast_vibrations_out_of_a_member_at_its_latch():
    models, options = (
        [panels(number, damping=0.0, driven=False) for number in range(2)],
        {"duration": 0.8, "filter": 15.0},
    )
    got = femb.simulate_ensemble(models, **RUN | options)
    for model, mine in zip(models, got.results, strict=True):
        single = femb.simulate(model, **RUN | options)
        followed = femb.simulate(model, **RUN | options | {"filter": None})
        latched = mine.time > mine.events[-1].time
        assert latched.any()
        bent, alone, fast = (each.beams["right"].deflection[latched, :, 2] for each in (mine, single, followed))
        # the vibration that is left is that of the run alone, and not what it would be without the filter
        assert np.max(np.abs(bent - alone)) < 0.01 * np.max(np.abs(fast - alone))


def test_couplings():
    """Screws of unlike pitch, whose members count turns of their own."""
    models = []
    for seed in range(2):
        rates = np.array([12.0, 0.12 * (seed + 1) / np.pi])
        model = pair(femb.Cylindrical, seed, start=(0.0, 0.0), rates=rates)
        at = femb.JointCoordinate("joint")
        model.add(femb.Screw("screw", at, at, pitch=0.02 * (seed + 1)))
        model.add(femb.JointMotor("motor", "joint", force=0.4))
        models.append(model)
    check(femb.simulate_ensemble(models, **RUN), models)
