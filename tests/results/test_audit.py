"""The warning of a run whose audit is far beyond its tolerances, and the records of events."""

import numpy as np
import pytest
from models import of_parts, stiff

import femb
from femb.cli.output import audit
from femb.profiles import Polynomial
from femb.recording.frames import unbalanced
from femb.recording.rounding import rounding_at_start
from femb.results.groups import EventRecord
from femb.results.results import Results
from femb.results.verdicts import AuditWatch, verdicts
from femb.run.events import Event
from femb.system.system import System


def oscillator():
    """A mass on a spring, 10 rad/s."""
    return of_parts(
        femb.PointMass("m", mass=1.0, position=(1.5, 0, 0)),
        femb.SpringDamper("s", femb.SpringEnd("m"), femb.SpringEnd(anchor=(0, 0, 0)), stiffness=100.0, free_length=1.0),
    )


def test_a_run_that_loses_its_energy_says_from_when_on(tmp_path):
    """rk4 with steps of 1.6 radians: its factor, of order six in them, takes a part of the energy in each step."""
    words = {"method": "rk", "tableau": "rk4", "duration": 4.0, "output_interval": 0.16}
    results = femb.simulate(oscillator(), step=0.16, out=tmp_path / "r.h5", **words)
    error = np.abs(results.audit.energy_error)
    first = results.time[np.flatnonzero(error > 0.01 * 12.5)[0]]
    assert first > 0.1
    assert results.status == "complete"
    begin = "the audit is far beyond the tolerances: energy error (up to"
    assert results.message.startswith(f"{begin} {error.max():.2g} J, with a largest energy of")
    assert f"from t = {first:.6g} s on" in results.message
    assert femb.Results.read(tmp_path / "r.h5").message == results.message
    assert results.message in audit(results)
    fine = femb.simulate(oscillator(), step=0.02, **words)
    assert fine.message == ""


def block(time, **changes):
    zero = np.zeros(len(time))
    names = ("kinetic_energy", "potential_energy", "work", "energy_error", "constraint_position")
    names += ("constraint_velocity", "quaternion_norm")
    return {**dict.fromkeys(names, zero), **changes}


def test_what_is_watched():
    """Each by a limit of its own, over blocks; energies that are no numbers too."""
    time, still = np.arange(4.0), np.zeros(4)
    for name, size in (("constraint_position", 1e-3), ("constraint_velocity", 1.0), ("quaternion_norm", 1e-6)):
        watch = AuditWatch()
        watch.add(time, block(time), still)
        watch.add(time + 4.0, block(time, **{name: np.array([0.0, 0.0, size, size])}), still)
        assert f"{name.replace('_', ' ')} ({size:.2g}) from t = 6 s on" in watch.warning(1e-6)
    watch = AuditWatch()
    watch.add(time, block(time, constraint_velocity=still + 9e-5), still)
    assert watch.warning(1e-6) == ""
    watch = AuditWatch()
    watch.add(time, block(time, kinetic_energy=still + 2.0, energy_error=1e-3 * time), still)
    assert watch.warning(1e-6) == ""
    watch.add(
        time + 4.0, block(time, kinetic_energy=np.array([2.0, 2.0, np.nan, 2.0]), energy_error=still / 0.1), still
    )
    assert watch.warning(1e-6) == ""
    watch.add(time + 8.0, block(time, energy_error=np.array([0.0, np.nan, 0.0, 0.0])), still)
    assert "from t = 9 s on" in watch.warning(1e-6)


def test_the_balance_is_the_largest_force_and_moment_left_on_a_frame():
    """Accelerations of zero leave what acts: on a body a force and a torque, on points a force alone."""
    model = femb.Model("pushed")
    for k, (force, torque) in enumerate((((1, 2, 2), (0, 3, 4)), ((0, 0, 2), (6, 0, 8)))):
        model.add(femb.RigidBody(f"b{k}", mass=1.0, inertia=(1.0, 2.0, 2.5), position=(k, 0, 0)))
        model.add(femb.Load(f"push {k}", body=f"b{k}", force=force, torque=torque))
    model.add(femb.PointMass("point", mass=1.0, position=(0, 5, 0)))
    model.add(femb.Load("pull", body="point", force=(0, 0, 7)))
    system = System(model)
    u, none = system.inputs_at(0.0, system.q0, system.v0), np.zeros((1, system.n_v))
    left = unbalanced(system, u[None], system.q0[None], none, none, np.zeros((1, 0)))
    np.testing.assert_allclose(left, [[7.0, 10.0]], rtol=1e-14)


def spinning_boom():
    """A boom that is unstressed while it spins already: its axis vibrates at 2e4 rad/s."""
    model = femb.Model("boom")
    section = stiff(2e8, 2e6, (4e6, 4e6), 1.5, (0.02, 0.01, 0.01), "boom")
    hub = model.add(femb.RigidBody("hub", mass=20.0, inertia=2.0, angular_velocity=(0, 0, 3.0)))
    model.add(femb.Beam("boom", section, 2.0, 2, start=hub.at((0.5, 0, 0), direction=(1, 0, 0))))
    return model


@pytest.mark.parametrize(("method", "poor"), [("bdf", True), ("generalized-alpha", False), ("radau", False)])
def test_a_run_whose_forces_are_not_resolved_says_so(method, poor, tmp_path):
    """As the verdict on the page: by the force balance against the largest force, whatever the method."""
    words = {"duration": 1.0, "output_interval": 0.0123, "rtol": 1e-2, "method": method}
    results = femb.simulate(spinning_boom(), out=tmp_path / "r.h5", **words)
    (verdict,) = (each for each in verdicts(results) if each.subject == "force balance")
    assert (verdict.level == "poor") is poor
    size, largest = results.audit.force_balance.max(), np.abs(results.beams["boom"].section_force).max()
    said = f"the force balance reaches {size:.2g} N at t = "
    assert bool(size > 0.2 * largest) is poor
    assert (said in results.message) is poor
    assert (said in audit(results)) is poor
    (line,) = (text for text in audit(results).splitlines() if text.startswith("force balance"))
    largest = results.statistics["largest_force"]
    assert f"(largest force {largest:.2g} N" in line
    words = {"good": "N): good", "fair": "): compare peak loads with a smaller rtol", "poor": "): not resolved"}
    assert line.endswith(words[verdict.level])


def test_forces_of_rounding_are_good_in_the_summary_as_in_the_verdict():
    """Below 1e-7 N a balance may be that of strains of 1e-16, also beside forces that are rounding themselves."""
    series = {"time": np.arange(2.0), "audit/force_balance": np.full(2, 7e-35)}
    results = Results(series, attributes={"statistics": {"largest_force": 1e-35}})
    (line,) = (text for text in audit(results).splitlines() if text.startswith("force balance"))
    assert line.endswith("(largest force 1e-35 N): good")


def test_forces_are_judged_by_the_largest_of_the_whole_run():
    """Over blocks; a balance within the rounding of stiff members is none, and without forces there is no scale."""

    def said(*parts):
        watch = AuditWatch()
        for k, (balance, force) in enumerate(parts):
            block = {"time": np.array([float(k)]), "audit/force_balance": np.array([balance])}
            watch.add_forces(block | {"beams/b/section_force": np.full((1, 2, 2, 3), -force)})
        return watch.warning(1e-6)

    assert "reaches 3 N at t = 0 s, beside a largest force of 10 N" in said((3.0, 1.0), (0.1, 10.0))
    assert said((3.0, 1.0), (0.1, 20.0)) == said((5e-8, 1e-9)) == said((3.0, 0.0)) == ""


HEAT = {"expansion": 23e-6}
TUBE = femb.Section("c", shape={"tube": [0.03, 0.002]}, material=femb.Material(70e9, 27e9, 2700.0, **HEAT))
BLOCK = femb.Section("c", shape={"rectangle": [1.0, 1.0]}, material=femb.Material(210e9, 81e9, 7800.0, **HEAT))


def at_rest(kind, section, fixed, temperature=0.0, gradient=0.0, force=0.0):
    """A beam of 3 m in equilibrium with heat and a force at its end; or one that is free, and not strained."""
    model = femb.Model("rest")
    model.add(section)
    start = femb.Attachment("ground", direction=(1, 0, 0), y_axis=(0, 1, 0))
    if not fixed:
        start = model.add(femb.RigidBody("hub", 5.0, 1.0)).at((0.1, 0, 0), direction=(1, 0, 0), y_axis=(0, 1, 0))
    model.add(kind("b", section="c", length=3.0, elements=4, start=start))
    model.add(femb.ThermalLoad("h", "b", temperature=temperature, gradient=(0.0, gradient)))
    if force:
        model.add(femb.Load("t", beam="b", force=(0.0, force, 0.0)))
    return model


@pytest.mark.parametrize("kind", [femb.Beam, femb.ExactBeam])
@pytest.mark.parametrize(
    ("section", "fixed", "loads"),
    [
        (TUBE, True, {"gradient": 300.0}),
        (TUBE, True, {"temperature": 40.0, "gradient": 300.0, "force": 5.0}),
        (TUBE, False, {"temperature": 40.0, "gradient": 300.0}),
        (BLOCK, True, {"force": 1e-3}),
    ],
)
def test_what_rests_in_equilibrium_is_trusted(kind, section, fixed, loads, tmp_path):
    """All that is left is rounding of 23 kN of preload or of a stiffness of 3e11 N/m, by any part of the audit."""
    model = at_rest(kind, section, fixed, **loads)
    results = femb.simulate(model, duration=0.5, output_interval=0.05, start="equilibrium", out=tmp_path / "r.h5")
    assert results.message == ""
    assert {each.level for each in verdicts(results)} <= {"good", "neutral"}
    assert not [line for line in audit(results).splitlines() if "not resolved" in line or "not to be" in line]


def test_rounding_is_that_of_stiffness_and_preload():
    """A mass on a spring along x: 16 digits of 2 m, times 1e9 N/m, and times a preload of 1e6 N and 2 mm."""
    model = femb.Model("spring")
    model.add(femb.PointMass("p", mass=3.0, position=(2.0, 0.0, 0.0)))
    ends = femb.SpringEnd(anchor=(0.0, 0.0, 0.0)), femb.SpringEnd("p")
    model.add(femb.SpringDamper("s", *ends, stiffness=1e9, free_length=1.999))
    found = rounding_at_start(System(model))
    digits = 32.0 * np.finfo(float).eps
    assert found.force == pytest.approx(digits * 1e9, rel=1e-3)
    assert 1.0 < found.energy / (digits * 1e6) < 1.1  # the stored 500 J have their own last digits
    assert found.linear_momentum == pytest.approx(digits * np.sqrt(3.0 * 1e9), rel=1e-3)
    assert found.moment == 0.0


# Events


def rotors(rates, inertias, **latch):
    """Rotors on the ground that are latched, each by a latch of its own."""
    model = femb.Model("rotors")
    model.add(femb.Ground())
    for k, (rate, inertia) in enumerate(zip(rates, inertias, strict=True)):
        model.add(femb.RigidBody(f"r{k}", 1.0, (1.0, 1.0, inertia), position=(float(k), 0, 0)))
        place = femb.Ground().at((float(k), 0, 0), direction=(0, 0, 1))
        model.add(femb.Revolute(f"axle{k}", place, femb.JointEnd(f"r{k}"), rates=rate))
        model.add(femb.Latch(f"l{k}", f"axle{k}", **latch))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "rk", "bdf"])
def test_latches_of_one_instant_have_each_its_own_loss(method, tmp_path):
    """Rotors that know nothing of each other: of each its kinetic energy."""
    model = rotors((1.0, 3.0, 2.0), (1.0, 1.5, 2.0), time=0.25)
    results = femb.simulate(model, duration=0.5, output_interval=0.1, method=method, out=tmp_path / "r.h5")
    assert [event.name for event in results.events] == ["latches.l0", "latches.l1", "latches.l2"]
    for event, loss in zip(results.events, (0.5, 0.5 * 1.5 * 9.0, 4.0), strict=True):
        assert isinstance(event, EventRecord)
        assert event.time == pytest.approx(0.25, abs=1e-12)
        assert event.energy_loss == pytest.approx(loss, rel=1e-6)
    assert femb.Results.read(tmp_path / "r.h5").events == results.events
    assert np.abs(results.audit.energy_error).max() < 1e-5


def test_losses_of_latches_that_act_on_each_other_add_up():
    """A double pendulum whose hinges lock together: the sum is the energy lost, exactly; the shares are of impulses."""
    model = femb.Model("double pendulum", gravity=(0, 0, -9.81))
    model.add(femb.Ground())
    before = femb.Ground().at((0, 0, 0), direction=(0, 1, 0))
    for k in (1, 2):
        model.add(femb.RigidBody(f"b{k}", 1.0, (0.1, 0.2, 0.2), position=(k - 0.5, 0, 0)))
        model.add(
            femb.Revolute(f"h{k}", before, femb.JointEnd(f"b{k}", at=(-0.5, 0, 0), axis=(0, 1, 0)), rates=float(k))
        )
        model.add(femb.Latch(f"l{k}", f"h{k}", time=0.3))
        before = femb.JointEnd(f"b{k}", at=(0.5, 0, 0), axis=(0, 1, 0))
    results = femb.simulate(model, duration=0.5, output_interval=0.01, rtol=1e-9)
    losses = [event.energy_loss for event in results.events]
    kinetic = results.audit.kinetic_energy
    last = int(np.flatnonzero(results.time <= 0.3 + 1e-12)[-1])
    assert sum(losses) == pytest.approx(kinetic[last], rel=1e-9)
    assert min(map(abs, losses)) > 0.01 * sum(losses)
    np.testing.assert_allclose(kinetic[last + 1 :], 0.0, atol=1e-18)


def test_a_driver_that_moves_is_no_loss():
    """A disc is latched to a rotor that is driven on: what the driver gives in the jump is work, and no loss."""
    model = femb.Model("clutch")
    model.add(femb.Ground())
    model.add(femb.RigidBody("rotor", 1.0, (1.0, 1.0, 2.0), position=(0, 0, 0)))
    model.add(femb.Revolute("axle", femb.Ground().at(direction=(0, 0, 1)), femb.JointEnd("rotor"), rates=2.0))
    model.add(femb.JointDriver("drive", "axle", motion=Polynomial((0.0, 2.0))))
    model.add(femb.RigidBody("disc", 1.0, (2.0, 2.0, 3.0), position=(0, 0, 0)))
    model.add(femb.Revolute("clutch", femb.JointEnd("rotor", axis=(0, 0, 1)), femb.JointEnd("disc"), rates=-2.0))
    model.add(femb.Latch("grip", "clutch", time=0.5))
    results = femb.simulate(model, duration=1.0, output_interval=0.1)
    (event,) = results.events
    # the disc is brought from rest to 2 rad/s: 6 J of the driver's 12 J
    assert event.energy_loss == pytest.approx(6.0, rel=1e-9)
    assert results.audit.work[-1] == pytest.approx(6.0, rel=1e-9)
    assert np.abs(results.audit.energy_error).max() < 1e-9


def test_events_of_the_user_are_among_them():
    results = femb.simulate(
        oscillator(), duration=1.0, events=(Event("through rest", _away, terminal=False),), output_interval=0.5
    )
    times = [event.time for event in results.events]
    np.testing.assert_allclose(times, (np.arange(3) + 0.5) * np.pi / 10.0, atol=1e-4)
    assert {event.name for event in results.events} == {"through rest"}
    assert {event.energy_loss for event in results.events} == {0.0}


def _away(t, state):
    return state.bodies["m"].position[0] - 1.0


@pytest.mark.parametrize(("rtol", "limit"), [(1e-9, 0.01), (3e-6, 0.03), (1e-3, 0.1)])
def test_the_limit_of_the_energy_error_follows_the_tolerance(rtol, limit):
    """Ten thousand rtol of the largest energy, between a hundredth and a tenth."""
    time = np.array([0.0, 1.0])
    for part, warned in ((0.98, False), (1.02, True)):
        watch = AuditWatch()
        errors = {"kinetic_energy": np.array([5.0, 5.0]), "energy_error": np.array([0.0, part * limit * 5.0])}
        watch.add(time, block(time, **errors), np.zeros(2))
        assert bool(watch.warning(rtol)) == warned
