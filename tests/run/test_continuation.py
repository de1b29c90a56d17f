"""Runs that are resumed, extended, and started from the last state of another run."""

import pickle
import shutil
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import Mock

import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from fragile_runs import Kill, KilledError
from long_runs import slow
from models import refuses
from shared_runs import invoked

import femb
from femb.base.errors import ContinuationError, ModelError, ResultError
from femb.base.memory import recall, remembered
from femb.base.progress import Progress
from femb.cli import cli
from femb.elements import Ground, JointEnd, JointFriction, JointStops, Latch, PointMass, Revolute, RigidBody
from femb.profiles import Polynomial
from femb.recording.record import Recorder
from femb.results.results import Results
from femb.results.storage.file import ResultWriter
from femb.results.storage.journal import arrays_of
from femb.results.storage.read import RECORD, unfinished
from femb.run import checkpoints
from femb.run.events import Event
from femb.run.overview import overview
from femb.steppers.runge_kutta import RungeKutta4

METHODS = {
    "rk4": {"method": "rk", "tableau": "rk4", "step": 0.01},
    "gauss": {"method": "gauss", "step": 0.01},
    "dop853": {"method": "rk", "rtol": 1e-6},
    "radau": {"method": "radau"},
    "bdf": {"method": "bdf"},
    "generalized-alpha": {"method": "generalized-alpha"},
}
methods = pytest.mark.parametrize(
    "name", [name if name == "rk4" else pytest.param(name, marks=pytest.mark.slow) for name in METHODS]
)


def hinged(latch: float = -1.0, start: float = -0.5) -> femb.Model:
    """A free hub and two panels: one meets a stop and locks at an angle, the other rubs and turns on and on."""
    model = femb.Model("hinged")
    model.add(RigidBody("hub", 40.0, (3.0, 4.0, 5.0), position=(0, 0, 0), angular_velocity=(0.02, 0.01, -0.03)))
    for name, sign in (("left", -1.0), ("right", 1.0)):
        model.add(RigidBody(name, 5.0, (0.2, 0.5, 0.6), center_of_mass=(0.5 * sign, 0, 0)))
        ends = JointEnd(body="hub", at=(0.5 * sign, 0, 0), axis=(0, 0.2, 1)), JointEnd(body=name)
        begin, rate = (start, 1.0) if name == "left" else (0.0, 9.0)
        model.add(Revolute(f"{name} hinge", *ends, start=begin, rates=rate))
    model.add(Latch("lock", "left hinge", at=latch))
    model.add(JointFriction("rub", "right hinge", coulomb=0.3, transition_rate=0.5))
    model.add(JointStops("stop", "left hinge", lower=-0.6, upper=9.0, stiffness=2.0))
    return model


@pytest.fixture
def often(monkeypatch):
    """For the runs within a block a checkpoint before every step, which takes longer than the step."""

    @contextmanager
    def within():
        with monkeypatch.context() as patch:
            for word in ("INTERVAL", "PART", "COST"):
                patch.setattr(checkpoints, word, 0.0)
            yield

    return within


def run(model, out, duration=0.8, name="rk4", **more):
    return femb.simulate(model, out=out, duration=duration, output_interval=0.05, **METHODS[name], **more)


def same(a: Results, b: Results) -> None:
    assert set(a.series) == set(b.series)
    for path, array in a.series.items():
        np.testing.assert_array_equal(b.series[path], array, err_msg=path)


@pytest.mark.slow
@methods
def test_a_resumed_run_is_the_same_to_the_last_bit(tmp_path, often, name):
    """Before and after the latch engages, over half a turn of the other hinge, across a contact."""
    whole = run(hinged(), tmp_path / "whole.h5", name=name)
    assert whole.joints["right hinge"].coordinates[-1, 0] > np.pi
    for t in (0.6,) if name == "rk4" else (0.2, 0.6):
        file = tmp_path / f"{t}.h5"
        with often(), pytest.raises(KilledError):
            run(hinged(), file, name=name, progress=Kill(t))
        assert 0 < len(Results.read(file).time) < len(whole.time)
        resumed = run(hinged(), file, name=name, resume=True)
        same(whole, resumed)
        assert [event.time for event in resumed.events] == [event.time for event in whole.events]
        assert len(whole.events) == 1
        for word in ("steps", "rejected", "jacobians", "newton_iterations"):
            assert resumed.statistics[word] == whole.statistics[word]


def in_orbit():
    """Two bodies on a spring; the frame's origin is on an orbit of the Earth."""
    model = femb.Model("orbit")
    model.add(RigidBody("hub", 10.0, 1.0, angular_velocity=(0, 0, 0.1)))
    model.add(RigidBody("probe", 1.0, 0.1, position=(0, 3.0, 0), velocity=(0, 0, 0.1)))
    ends = femb.SpringEnd("hub", at=(0, 0.5, 0)), femb.SpringEnd("probe")
    model.add(femb.SpringDamper("tether", *ends, stiffness=2.0, damping=0.1, free_length=2.0))
    model.add(femb.Orbit("earth", position=(7e6, 0, 0), velocity=(0, 7546.05, 0)))
    return model, {"duration": 20.0, "method": "rk", "rtol": 1e-4}, (4.0, 11.0)


def pushed():
    """A body on a spring under a force that begins at 0.3 s, between steps."""
    model = femb.Model("pushed")
    model.add(RigidBody("top", 2.0, (1.0, 2.0, 3.0), angular_velocity=(0.1, 2.0, 0.3)))
    ends = femb.SpringEnd("top", at=(0.2, 0, 0)), femb.SpringEnd(anchor=(1.0, 0, 0))
    model.add(femb.SpringDamper("spring", *ends, stiffness=50.0, damping=0.5, free_length=0.5))
    model.add(femb.Load("push", "top", force=(0, 5.0, 0), at=(0, 0, 0.1), profile=femb.profiles.Step(0.3)))
    return model, {"duration": 0.6, "method": "generalized-alpha", "rtol": 1e-4}, (0.29, 0.32)


def pushed_in_steps():
    """The same in fixed steps, which are counted from the jump on."""
    model, words, kills = pushed()
    return model, {**words, "step": 0.007}, kills


def bouncing():
    """An arm that falls on a stop and leaves it."""
    model = femb.Model("bouncing", gravity=(0, -9.81, 0))
    model.add(Ground())
    model.add(RigidBody("arm", 1.0, 0.1, center_of_mass=(0.5, 0, 0)))
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 0, 1)), JointEnd("arm")))
    model.add(JointStops("stop", "hinge", lower=-0.3, stiffness=3e3))
    return model, {"duration": 0.6, "method": "radau", "rtol": 1e-4}, (0.22, 0.26, 0.3)


class Until:
    """A reporter that interrupts a run at a time; the last checkpoint is before 0.2 s."""

    early = True

    def __init__(self, end):
        self.end = end

    def message(self, text):
        """Nothing."""

    def update(self, t):
        """Interrupt the run after its end."""
        Until.early = t < 0.2
        if t > self.end:
            raise KeyboardInterrupt


@pytest.mark.parametrize("killed", [False, True])
def test_a_continuation_that_ends_early_leaves_the_longer_record(tmp_path, monkeypatch, killed):
    """Outputs lie beyond the last checkpoint: interrupted between the two, results have what was recorded before, also
    of a process that was killed twice; and the run goes on to the same end."""
    file, whole = tmp_path / "a.h5", run(hinged(), tmp_path / "whole.h5")
    monkeypatch.setattr(checkpoints.Checkpoints, "due", property(lambda self: Until.early))

    def ended(end, kill, **words):
        with monkeypatch.context() as patch:
            if kill:
                patch.setattr(ResultWriter, "finish", lambda *content: None)
            with pytest.raises(KeyboardInterrupt):
                run(hinged(), file, progress=Until(end), **words)

    ended(0.6, killed)
    for end in (0.4, 0.3) if killed else ():
        ended(end, True, resume=True)
    ended(0.35, False, resume=True)
    found = Results.read(file)
    assert (found.status, found.message) == ("failed", "interrupted")
    np.testing.assert_array_equal(found.time, whole.time[:13])
    assert {each.name for each in tmp_path.iterdir()} == {"a.h5", "whole.h5"}
    same(whole, run(hinged(), file, resume=True))


@pytest.mark.slow
@pytest.mark.parametrize("made", [in_orbit, pushed, slow(pushed_in_steps), bouncing])
def test_a_run_goes_on_in_orbit_after_a_jump_and_in_contact(tmp_path, often, made):
    """To the last bit, from the steps before and after; output times between the ends of steps."""
    model, words, kills = made()
    words = {**words, "output_interval": words["duration"] / 101.0}
    whole = femb.simulate(model, out=tmp_path / "whole.h5", **words)
    for k, t in enumerate(kills):
        file = tmp_path / f"{k}.h5"
        with often(), pytest.raises(KilledError):
            femb.simulate(model, out=file, progress=Kill(t), **words)
        resumed = femb.simulate(model, out=file, resume=True, **words)
        same(whole, resumed)
        for word in ("steps", "rejected", "evaluations"):
            assert resumed.statistics[word] == whole.statistics[word]


@pytest.mark.slow
def test_an_extended_run_is_a_longer_one(tmp_path, often):
    """Also twice, across the event, and where the extension was killed itself."""
    whole, file = run(hinged(), tmp_path / "whole.h5"), tmp_path / "run.h5"
    run(hinged(), file, 0.3)
    run(hinged(), file, 0.3, extend=0.25)
    with often(), pytest.raises(KilledError):
        run(hinged(), file, 0.3, extend=0.25, progress=Kill(0.65))
    assert Results.read(file).time[-1] == pytest.approx(0.55)  # the finished run stays until the longer one is whole
    extended = run(hinged(), file, 0.3, resume=True)
    assert extended.status == "complete"
    np.testing.assert_allclose(extended.time, whole.time, atol=1e-12)
    for name in ("hub", "left", "right"):
        np.testing.assert_allclose(extended.bodies[name].position, whole.bodies[name].position, rtol=0.0, atol=1e-6)
    # the steps differ from the end of the first run on, which they land at, and so do their errors
    assert extended.events[0].time == pytest.approx(whole.events[0].time, abs=1e-6)
    assert np.max(np.abs(extended.audit.energy_error)) < 1.5 * np.max(np.abs(whole.audit.energy_error))


@pytest.mark.slow
def test_results_with_a_checkpoint_of_many_arrays_are_extended_too(tmp_path):
    """As femb wrote them before it kept the record of the journal in one array."""
    new, old = tmp_path / "new.h5", tmp_path / "old.h5"
    run(hinged(), new, 0.3)
    shutil.copy(new, old)
    with h5py.File(old, "r+") as file:
        for path, array in arrays_of(file[RECORD][()].tobytes()).items():
            text = np.char.encode(array, "utf-8") if array.dtype.kind == "U" else array
            file[path] = (
                text.astype(h5py.string_dtype("utf-8", max(1, text.dtype.itemsize))) if text is not array else text
            )
        del file[RECORD]
    same(run(hinged(), new, 0.3, extend=0.2), run(hinged(), old, 0.3, extend=0.2))


@pytest.mark.slow
def test_the_last_state_starts_another_run(tmp_path):
    """With the parts in another order, in another place, turns counted on, and the latch where it engaged."""
    whole, file = run(hinged(), None), tmp_path / "first.h5"
    run(hinged(), file, 0.6)
    other = hinged()
    other.tables["bodies"] = dict(reversed(other.tables["bodies"].items()))
    second = run(other, None, 0.2, start={"results": str(file)})
    later = slice(len(whole.time) - len(second.time), None)
    for name, body in second.bodies.items():
        np.testing.assert_allclose(body.position, whole.bodies[name].position[later], atol=1e-9)
        np.testing.assert_allclose(body.angular_velocity, whole.bodies[name].angular_velocity[later], atol=1e-8)
    for name, joint in second.joints.items():
        np.testing.assert_allclose(joint.coordinates, whole.joints[name].coordinates[later], atol=1e-9)
    # a latch that was not there stays as its model says
    released = hinged()
    del released.tables["latches"]["lock"]
    assert run(released, None, 0.1, start={"results": str(file)}).time[-1] == pytest.approx(0.1)


def driven_arm(begin, rate):
    """An arm on the ground whose hinge is driven from an angle (rad) on, by a rate."""
    model = femb.Model("arm")
    model.add(Ground())
    model.add(RigidBody("arm", 2.0, 0.3, center_of_mass=(0.5, 0, 0)))
    model.add(Revolute("hinge", JointEnd("ground", axis=(0, 0, 1)), JointEnd("arm")))
    model.add(femb.JointDriver("drive", "hinge", motion=Polynomial((begin, rate))))
    return model


def test_a_driver_goes_on_where_the_first_run_left_its_joint(tmp_path):
    """Turns counted on, without another start of the joint in the model; elsewhere it is refused."""
    file = tmp_path / "first.h5"
    first = femb.simulate(driven_arm(0.0, 8.41), duration=1.0, out=file)
    second = femb.simulate(driven_arm(8.41, 8.41), duration=1.0, start={"results": str(file)})
    np.testing.assert_allclose(second.joints["hinge"].coordinates[[0, -1], 0], [8.41, 16.82], atol=1e-9)
    np.testing.assert_allclose(second.bodies["arm"].quaternion[0], first.bodies["arm"].quaternion[-1], atol=1e-9)
    run = femb.Run(duration=1.0, start=femb.StartState(str(file)))
    assert "1 joint" in overview(driven_arm(8.41, 8.41), run).text()
    with pytest.raises(ModelError, match=r"drivers.drive: \(angle\) begins 0.1 rad away from the last state"):
        femb.simulate(driven_arm(8.31, 8.41), duration=1.0, start={"results": str(file)})
    with pytest.raises(ModelError, match="let the driver begin with that rate"):
        femb.simulate(driven_arm(8.41, 8.0), duration=1.0, start={"results": str(file)})


@pytest.mark.slow
def test_a_start_from_other_parts_is_refused(tmp_path):
    file = tmp_path / "first.h5"
    run(hinged(), file, 0.1)
    other = hinged()
    other.add(PointMass("tip", mass=1.0, position=(9.0, 0.0, 0.0)))
    with pytest.raises(ModelError, match=r"run.start: the results have no 'tip' \(bodies and nodes\)"):
        run(other, None, 0.1, start={"results": str(file)})
    with pytest.raises(ResultError, match="no such result file"):
        run(hinged(), None, 0.1, start={"results": str(tmp_path / "none.h5")})
    Results.read(file).write(tmp_path / "copy.h5")
    with pytest.raises(ResultError, match="has no last state to start from"):
        run(hinged(), None, 0.1, start={"results": str(tmp_path / "copy.h5")})
    refuses("start: got 3, wanted", femb.Run, duration=1.0, start=3)


@pytest.mark.slow
def test_written_results_of_a_run_in_memory_are_a_start(tmp_path):
    """With latches and turns as of the file of the run; they cannot be resumed, nor do they hold more arrays."""
    kept, written, again = (tmp_path / f"{name}.h5" for name in ("kept", "written", "again"))
    run(hinged(), kept)
    found = run(hinged(), None)
    found.write(written)
    pickle.loads(pickle.dumps(found)).write(again)
    assert found.events  # the latch is engaged
    later = [run(hinged(), None, start={"results": str(file)}) for file in (kept, written, again)]
    for name, array in later[0].arrays.items():
        for other in later[1:]:
            np.testing.assert_array_equal(other.arrays[name], array)
    assert {*Results.read(written).arrays} == {*found.arrays} == {*Results.read(kept).arrays}
    with pytest.raises(ResultError, match="has no checkpoint, and cannot be continued"):
        run(hinged(), written, extend=1.0)


def test_what_cannot_be_continued_is_refused(tmp_path, often):
    file = tmp_path / "r.h5"
    refuses("out: is missing", run, hinged(), None, resume=True)
    with often(), pytest.raises(KilledError):
        run(hinged(), file, progress=Kill(0.2))
    before = unfinished(file)
    assert before is not None
    for words, change in (
        (r"run.step was 0.01, now it is 0.02", {"step": 0.02}),
        (r"run.duration was 0.8, now it is 1.5", {"duration": 1.5}),
    ):
        options = {"duration": 0.8, "output_interval": 0.05, **METHODS["rk4"], **change}
        refuses(words, femb.simulate, hinged(), out=file, resume=True, **options, error=ResultError)
    other = hinged()
    other.add(PointMass("tip", mass=1.0, position=(9.0, 0.0, 0.0)))
    refuses("has the run of another model", run, other, file, resume=True, error=ResultError)
    event = Event("high", lambda t, state: t - 9.0)
    refuses("had other events", run, hinged(), file, resume=True, events=(event,), error=ResultError)
    refuses("not finished; resume it first", run, hinged(), file, extend=1.0, error=ResultError)
    refuses("got -1", run, hinged(), file, extend=-1)
    assert unfinished(file).frames == before.frames  # all of them left it as it was
    same(run(hinged(), None), run(hinged(), file, resume=True))
    assert not hasattr(Results.read(file).static, "checkpoint")
    assert not [name for name in Results.read(file).arrays if name.startswith("checkpoint")]


def test_a_run_interrupted_at_its_last_instant_resumes_to_the_same_samples(tmp_path, monkeypatch):
    """After its last step, before its results are complete: what a clock would do at the end is left out again."""
    (tmp_path / "case.toml").write_text(SAMPLED)
    case = femb.load_case(tmp_path / "case.toml")
    whole, file = femb.simulate(case.model, case.run), tmp_path / "r.h5"
    finish = ResultWriter.finish
    monkeypatch.setattr(ResultWriter, "finish", Mock(side_effect=[KilledError, KilledError]))
    with pytest.raises(KilledError):
        femb.simulate(case.model, case.run, out=file)
    monkeypatch.setattr(ResultWriter, "finish", finish)
    again = femb.simulate(case.model, case.run, out=file, resume=True)
    assert len(whole.sensors["gyro"].sample_time) == 4
    assert {name: x.shape for name, x in again.arrays.items()} == {name: x.shape for name, x in whole.arrays.items()}


@pytest.mark.slow
@pytest.mark.parametrize("part", ["stepper", "recorder"])
def test_a_checkpoint_of_another_layout_says_what_to_do(tmp_path, often, monkeypatch, part):
    """Where an attribute has another name than in the code that wrote it, and where nothing tells the layout."""
    file = tmp_path / "r.h5"
    with often(), pytest.raises(KilledError):
        run(hinged(), file, progress=Kill(0.2))
    made = femb.__version__
    kind = Recorder if part == "recorder" else RungeKutta4
    with monkeypatch.context() as change:
        change.setattr(kind, "memory", (*kind.memory, "system"))
        with pytest.raises(
            ContinuationError, match="of another layout than those of this femb: continue it with"
        ) as said:
            run(hinged(), file, resume=True)
        assert f"a checkpoint of femb {made}" in str(said.value)
    same(run(hinged(), None), run(hinged(), file, resume=True))


@pytest.mark.slow
def test_other_quantities_than_before_are_refused(tmp_path, often, monkeypatch):
    file = tmp_path / "r.h5"
    with often(), pytest.raises(KilledError):
        run(hinged(), file, progress=Kill(0.2))
    whole = Recorder.block
    monkeypatch.setattr(Recorder, "block", lambda self, *words: {**whole(self, *words), "audit/new": words[0].time})
    with pytest.raises(ResultError, match="the earlier part of the run has other quantities, as audit/new: continue"):
        run(hinged(), file, resume=True)


@pytest.mark.slow
def test_a_run_that_an_event_ended_is_not_extended_but_starts_another(tmp_path):
    file = tmp_path / "r.h5"
    event = Event("early", lambda t, state: t - 0.123)
    ended = run(hinged(), file, events=(event,))
    refuses("was ended by event 'early'", run, hinged(), file, extend=1.0, events=(event,), error=ResultError)
    again = run(hinged(), None, 0.1, start={"results": str(file)})
    np.testing.assert_allclose(again.bodies["hub"].quaternion[0], ended.bodies["hub"].quaternion[-1], atol=1e-12)
    assert ended.time[-1] == pytest.approx(0.123)


SAMPLED = """
[bodies.hub]
mass = 1.0
inertia = [1.0, 2.0, 3.0]
angular_velocity = [0.1, 0.2, 0.3]
[sensors.gyro]
kind = "gyro"
body = "hub"
period = 0.1
[run]
duration = 0.4
output_interval = 0.2
"""
CASE = """
[bodies.top]
mass = 2.0
inertia = [1.0, 2.0, 3.0]
angular_velocity = [0.1, 0.2, 2.0]
[run]
duration = 0.4
output_interval = 0.1
method = "rk"
tableau = "rk4"
step = 0.02
"""


@pytest.mark.slow
def test_commands(tmp_path, monkeypatch):
    """Messages and exit codes; paths of a start are relative to the folder of the case."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases").mkdir()
    file = tmp_path / "cases" / "a.toml"
    file.write_text(CASE)

    def femb_run(*arguments):
        done = CliRunner().invoke(cli, ["run", "cases/a.toml", "--quiet", "--out", "cases/out", *arguments])
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done.exit_code, done.stderr

    assert femb_run("--resume") == (0, "")  # nothing to resume: it begins
    assert femb_run("--resume") == (0, "")  # nothing left to do
    assert femb_run("--extend", "0.2") == (0, "")
    assert Results.read("cases/out/results.h5").time[-1] == pytest.approx(0.6)
    code, stderr = femb_run("--extend", "0")
    assert code == 2
    assert "'--extend': 0.0 is not in the range x>0" in stderr
    assert femb_run("--extend", "1", "--resume")[0] == femb_run("--resume", "--force")[0] == 2
    monkeypatch.setattr(Progress, "update", Mock(side_effect=KeyboardInterrupt))
    whole = "the results up to t = 0.6 s are in cases/out/results.h5"
    assert femb_run("--extend", "0.2") == (130, f"interrupted before the run went on\n{whole}\n")
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert femb_run("--resume") == (0, "")
    file.write_text(CASE.replace("mass = 2.0", "mass = 3.0"))
    for word in (["--resume"], ["--extend", "1"]):
        code, stderr = femb_run(*word)
        assert code == 2
        assert "line 3 of the case was 'mass = 2.0', now it is 'mass = 3.0'" in stderr
    (tmp_path / "cases" / "b.toml").write_text(CASE + 'start = { results = "out" }\n')
    monkeypatch.chdir(tmp_path.parent)
    loaded = femb.load_case(tmp_path / "cases" / "b.toml")
    results = femb.simulate(loaded.model, loaded.run)
    spin = Results.read(tmp_path / "cases" / "out" / "results.h5").bodies["top"].angular_velocity[-1]
    np.testing.assert_allclose(results.bodies["top"].angular_velocity[0], spin, atol=1e-14)


def test_options_of_the_run_are_in_the_results_also_from_python(tmp_path):
    for out in (None, tmp_path / "r.h5"):
        options = run(hinged(), out, 0.1, rtol=1e-5).attributes["run"]
        assert (options["duration"], options["rtol"], options["formulation"]) == (0.1, 1e-5, "velocity")


def test_a_memory_is_arrays_and_comes_back():
    watch = checkpoints.RunSummary([])
    assert remembered(watch).keys() == {"events", "warning"}
    recall(watch, {"warning": np.array("careful")})
    assert (watch.warning, watch.stopped_by) == ("careful", None)
    with pytest.raises(TypeError, match="warning: a builtin_function_or_method cannot be remembered"):
        remembered(replace(watch, warning=len))


LATCHED = """
[bodies.arm]
mass = 1.0
inertia = [1.0, 1.0, 2.0]
[bodies.tip]
mass = 1.0
inertia = [0.4, 0.4, 0.5]
[joints.root]
kind = "revolute"
first = { body = "ground", axis = [0.0, 0.0, 1.0] }
second = { body = "arm", axis = [0.0, 0.0, 1.0] }
rates = 1.0
[joints.hinge]
kind = "revolute"
first = { body = "arm", axis = [0.0, 0.0, 1.0] }
second = { body = "tip", axis = [0.0, 0.0, 1.0] }
[springs.hinge]
kind = "joint"
joint = "hinge"
stiffness = 8.0
[latches.lock]
joint = "root"
at = 0.2
[run]
duration = 1.0
output_interval = 0.1
method = "rk"
"""


def test_small_motions_are_about_the_last_state_of_a_run(tmp_path):
    """After a latch engaged the tip alone vibrates, at sqrt(k/I), by the library and by commands."""
    deploy, later = tmp_path / "deploy.toml", tmp_path / "later.toml"
    deploy.write_text(LATCHED)
    later.write_text(LATCHED + 'start = { results = "out" }\n')
    femb.simulate(deploy, out=tmp_path / "out" / "results.h5")
    stowed = femb.modes(later, start="as_given").frequencies * 2.0 * np.pi
    np.testing.assert_allclose(stowed, [np.sqrt(8.0 * (1.0 / 2.0 + 1.0 / 0.5))], rtol=1e-12)
    wanted = np.sqrt(8.0 / 0.5) / (2.0 * np.pi)
    np.testing.assert_allclose(femb.modes(later).frequencies, [wanted], rtol=1e-12)
    poles = np.linalg.eigvals(femb.linearize(later).A)
    np.testing.assert_allclose(np.abs(poles), 2.0 * np.pi * wanted, rtol=1e-9)
    done = CliRunner().invoke(cli, ["modes", str(later), "--out", str(tmp_path / "modes")], catch_exceptions=False)
    assert done.exit_code == 0
    np.testing.assert_allclose(np.load(tmp_path / "modes" / "modes.npz")["frequencies"], [wanted], rtol=1e-12)
    found = femb.sensitivities(later, of=["natural_frequency"], by=["springs.hinge.stiffness"])
    np.testing.assert_allclose(found.values, [wanted], rtol=1e-9)
    np.testing.assert_allclose(found.derivatives, [[wanted / 16.0]], rtol=1e-6)
    k = {"k": {"entry": "springs.hinge.stiffness", "range": [7.0, 9.0]}}
    refuses("is the last state of a run", femb.uncertain, later, k)


COMMANDED = """
[bodies.hub]
mass = 10
inertia = [1, 2, 3]
euler_angles = [0.1, 0, 0]
[wheels.w]
body = "hub"
axis = [1, 0, 0]
spin_inertia = 0.01
max_torque = 1.0
[controllers.c]
kind = "pd"
attitude = "bodies.hub"
rate = "bodies.hub"
proportional = 1.0
derivative = 1.0
wheels = ["w"]
period = 1.0
delay = 1.0
[run]
duration = 3.0
output_interval = 0.25
"""


def test_delayed_commands_go_on_within_limits_where_a_run_starts_from_another(tmp_path):
    """The command of the sample at 2 s is due at the start at 3 s, as in one run; a smaller limit holds at once."""
    case, later = tmp_path / "case.toml", tmp_path / "later.toml"
    case.write_text(COMMANDED)
    later.write_text(COMMANDED + 'start = { results = "out" }\n')
    femb.simulate(case, out=tmp_path / "out" / "results.h5")
    whole, second = femb.simulate(femb.load_case(case, ["run.duration=6.0"])), femb.simulate(later)
    np.testing.assert_allclose(second.wheels["w"].torque, whole.wheels["w"].torque[12:], rtol=1e-6)
    np.testing.assert_allclose(second.bodies["hub"].quaternion, whole.bodies["hub"].quaternion[12:], atol=1e-8)
    weak = femb.simulate(femb.load_case(later, ["wheels.w.max_torque=1e-3"]))
    np.testing.assert_allclose(np.abs(weak.wheels["w"].torque), 1e-3, rtol=1e-12)
    free = COMMANDED[: COMMANDED.index("[controllers.c]")] + COMMANDED[COMMANDED.index("[run]") :]
    later.write_text(free + 'start = { results = "out" }\n')
    code, stdout, _ = invoked("check", str(later))
    line = f"start: the last state of {tmp_path / 'out'}, at 3 s there; profiles, orbits and clocks begin anew"
    assert (code, line in stdout) == (0, True), stdout
    np.testing.assert_array_equal(femb.simulate(later).wheels["w"].torque, 0.0, "a motor that nothing commands")
