"""The audit in words: what is good, what is not, at the limits of the warnings of a run."""

import json

import numpy as np
import pytest
from models import of_parts
from oracles.synthetic_results import satellite

import femb
from femb import Results
from femb.cli.output import audit
from femb.results.verdicts import LENGTH, POSITION, AuditWatch, verdicts
from femb.system.known_motions import known_motions
from femb.system.system import System


def levels(method="radau", acting=None, **changes):
    """Level by subject of the audit of a satellite that drifts freely, with quantities of the audit replaced."""
    block, static, attributes = satellite()
    time = block["time"]
    for name, value in changes.items():
        block[name.replace("__", "/")] = (
            np.ones((len(time), *np.shape(value))) * value * (time > 1.0).reshape(-1, *(1,) * np.ndim(value))
        )
    attributes[""]["method"] = method
    if acting is not None:
        names = json.dumps(acting)
        attributes["audit"] = {f"{word}_momentum_changed_by": names for word in ("linear", "angular")}
    return {each.subject: each.level for each in verdicts(Results(block, static, attributes))}


def test_a_free_satellite_is_good_in_all():
    found = levels()
    assert set(found.values()) == {"good"}
    assert list(found)[:3] == ["energy", "linear momentum", "angular momentum"]


# The satellite has a kinetic energy of 5 J.
@pytest.mark.parametrize(("error", "level"), [(4e-4, "good"), (6e-4, "fair"), (0.04, "fair"), (0.06, "poor")])
def test_energy(error, level):
    assert levels(audit__energy_error=error)["energy"] == level
    assert levels(audit__energy_error=np.nan)["energy"] == "poor"


@pytest.mark.parametrize(("potential", "work", "scale"), [(4e6, 0.0, 5.0), (4e6, 20.0, 20.0)])
def test_the_summary_of_a_run_has_the_scale_of_the_verdict(potential, work, scale):
    """The change of a potential energy of 4e6 J is nothing, and work is a scale: in femb run as in info and reports."""
    block, static, attributes = satellite()
    late = block["time"] > 1.0
    block["audit/potential_energy"] = np.full(len(late), potential)
    block["audit/work"], block["audit/energy_error"] = work * late, 3e-3 * late
    results = Results(block, static, attributes)
    verdict = next(each for each in verdicts(results) if each.subject == "energy")
    assert verdict.value == f"0.003 J (largest energy {scale:.3g} J)"
    (line,) = (line for line in audit(results).splitlines() if line.startswith("energy error"))
    assert line.split(maxsplit=2)[2] == f"{verdict.value}: look closer"


def test_rounding_is_no_fault_where_nothing_moves():
    """Beside a potential energy of 1e5 J an error of 1e-10 J is rounding; one of 1e-8 J is not."""
    watched = []
    for size, level in ((1e-10, "good"), (1e-8, "poor")):
        still = {"audit__kinetic_energy": 0.0, "audit__work": 0.0, "audit__energy_error": size}
        block, static, attributes = satellite()
        for name, value in still.items():
            block[name.replace("__", "/")] = value * (block["time"] > 1.0)
        block["audit/potential_energy"] = np.full(len(block["time"]), 1e5)
        results = Results(block, static, attributes)
        assert next(each for each in verdicts(results) if each.subject == "energy").level == level
        watch = AuditWatch()
        audited = {path.partition("/")[2]: values for path, values in block.items() if path.startswith("audit/")}
        watch.add(block["time"], audited, np.zeros(len(block["time"])))
        watched.append(watch.warning(1e-6))
    assert not watched[0]
    assert "energy error" in watched[1]


@pytest.mark.parametrize(
    ("name", "subject", "limit"),
    [("constraint_position", "constraints", POSITION), ("quaternion_norm", "quaternion lengths", LENGTH)],
)
def test_constraints_have_the_limits_of_warnings(name, subject, limit):
    found = [levels(**{f"audit__{name}": factor * limit})[subject] for factor in (0.005, 0.5, 2.0)]
    assert found == ["good", "fair", "poor"]


def test_momentum_that_changes_is_no_mistake_by_itself():
    assert levels(audit__linear_momentum=[0.0, 0.0, 2.0])["linear momentum"] == "neutral"
    assert levels(acting=["gravity"], audit__linear_momentum=[0.0, 0.0, 2.0])["linear momentum"] == "neutral"


@pytest.mark.parametrize(("change", "level"), [(5e-3, "good"), (0.05, "fair"), (0.9, "fair"), (2.0, "poor")])
def test_a_momentum_that_nothing_changes_must_be_constant(change, level):
    """By the same parts of the largest as the energy."""
    block, static, attributes = satellite()
    block["audit/linear_momentum"] = np.array([[change * (t > 1.0), 0.0, 100.0] for t in block["time"]])
    attributes["audit"] = {"linear_momentum_changed_by": "[]"}
    found = {each.subject: each.level for each in verdicts(Results(block, static, attributes))}
    assert found["linear momentum"] == level


def test_a_momentum_of_zero_is_judged_beside_those_of_the_parts():
    """Booms of 12 N m s that turn against a hub, of which 1e-6 is rounding."""
    for word in ("angular", "linear"):
        change = {f"audit__{word}_momentum": [0.0, 0.0, 1e-6], f"audit__{word}_momentum_size": 12.0}
        assert levels(acting=[], **change)[f"{word} momentum"] == "good"


def two_bodies(*items, gravity=(0.0, 0.0, 0.0)):
    """Two free bodies that turn, a spring between them, and other items."""
    model = femb.Model("two", gravity=gravity)
    model.add(femb.RigidBody("a", 2.0, (1.0, 2.0, 3.0), angular_velocity=(0.1, 0.2, 0.3)))
    model.add(femb.RigidBody("b", 1.0, 0.5, position=(1.0, 0.2, 0.0), velocity=(0.0, 1.0, 0.0)))
    model.add(femb.SpringDamper("s", end("a", 0.3), end("b", -0.2), stiffness=30.0, damping=1.0))
    for item in items:
        model.add(item)
    return model


def end(body, x):
    return femb.SpringEnd(body, at=(x, 0.1, 0.0))


HINGE = femb.Revolute("h", femb.JointEnd("b", axis=(1, 0, 0)), femb.JointEnd("c"))
THIRD = femb.RigidBody("c", 1.0, 0.2, position=(1.0, 0.2, 0.0), center_of_mass=(0.0, 0.3, 0.0))
GROUND = (femb.Ground(), femb.SpringDamper("g", end("a", 0.1), femb.SpringEnd(anchor=(0, 0, 1)), stiffness=5.0))
# Items, and what changes the linear and the angular momentum.
ACTING = {
    "nothing": ((), [], []),
    "pull": ((femb.Pull("p", end("a", 0.2), end("b", 0.4), force=3.0),), [], []),
    "motor": ((THIRD, HINGE, femb.JointMotor("m", "h", force=2.0)), [], []),
    "torque": ((femb.Load("t", "a", torque=(0.0, 1.0, 0.5)),), [], ["loads.t"]),
    "force": ((femb.Load("f", "a", force=(0.0, 1.0, 0.5), at=(0.3, 0, 0)),), ["loads.f"], ["loads.f"]),
    "spring to the ground": (GROUND[1:], ["springs.g"], ["springs.g"]),
    "load on the ground": ((GROUND[0], femb.Load("f", "ground", force=(0.0, 1.0, 0.0))), [], []),
}


@pytest.mark.parametrize("name", ACTING)
def test_what_changes_momenta_is_known_from_the_model(name):
    """And what must be conserved is, in the motion."""
    items, *wanted = ACTING[name]
    results = femb.simulate(two_bodies(*items), duration=0.5, output_interval=0.1, rtol=1e-8)
    for word, names in zip(("linear", "angular"), wanted, strict=True):
        assert json.loads(results.audit.attributes[f"{word}_momentum_changed_by"]) == names
        (verdict,) = (each for each in verdicts(results) if each.subject == f"{word} momentum")
        momentum = results.audit[f"{word}_momentum"]
        change = np.abs(momentum - momentum[0]).max() / np.abs(momentum).max()
        assert (verdict.level, bool(change > 1e-3)) == (("neutral", True) if names else ("good", False))
        assert change < 1e-6 or names


def test_gravity_changes_momenta():
    results = femb.simulate(two_bodies(gravity=(0, 0, -1.0)), duration=0.1)
    assert json.loads(results.audit.attributes["linear_momentum_changed_by"]) == ["gravity"]


def test_balances_are_compared_with_the_forces():
    """The hinge carries 3 N at most, the section forces are 2 N."""
    found = [levels(audit__force_balance=size)["force balance"] for size in (0.02, 0.3, 3.0)]
    assert found == ["good", "fair", "poor"]
    assert levels(audit__moment_balance=0.1)["moment balance"] == "neutral"  # nothing to compare with


def test_states_of_statics_have_no_balance_of_energy():
    for method, said in (("static", False), ("radau", True)):
        block, static, attributes = satellite()
        attributes[""]["method"] = method
        block["audit/force_balance"] = 0.1 * block["time"]
        (balance,) = (each for each in verdicts(Results(block, static, attributes)) if each.subject == "force balance")
        assert ("between steps" in balance.reason) is said
    assert not {"energy", "linear momentum"} & set(levels("static"))
    assert verdicts(Results({})) == []


def test_a_structure_at_rest_is_no_fault():
    """Rounding of strains makes energies of 1e-23 J, momenta of 1e-13 N s and forces of 1e-8 N: no warning."""
    hub = femb.RigidBody("hub", mass=22.4, inertia=0.149)
    section = femb.Section("boom", shape={"tube": [0.03, 0.002]}, material="aluminium 6061-T6", damping=1e-4)
    model = of_parts(hub, femb.Beam("boom", section, 2.0, 4, start=hub.at((0.1, 0.0, 0.0), direction=(1.0, 0.0, 0.0))))
    results = femb.simulate(model, duration=0.1, rtol=1e-6)
    assert 0.0 < np.abs(results.audit.energy_error).max() < 1e-20
    assert results.message == ""
    assert {verdict.level for verdict in verdicts(results)} <= {"good", "neutral"}


@pytest.mark.parametrize(
    ("load", "command", "word"),
    [
        ({"torque": (0, 0, 0)}, "torque", "angular"),
        ({"torque": (0, 0, 1e-3)}, "torque", "angular"),
        ({"force": (0, 0, 0)}, "force", "linear"),
    ],
)
def test_a_load_that_a_controller_commands_acts_from_outside(load, command, word):
    """Whatever its own value, which the command adds to, in any direction."""
    hub = femb.RigidBody("hub", mass=10.0, inertia=(1.0, 2.0, 3.0), velocity=(0, 0.1, 0), angular_velocity=(0, 0.1, 0))
    signal = {"angular": "bodies.hub.angular_velocity", "linear": "bodies.hub.velocity"}[word]
    law = femb.LinearController("c", inputs=[signal], outputs=[f"loads.t.{command}"], D=-0.1 * np.eye(3), period=1.0)
    model = of_parts(hub, femb.Load("t", body="hub", **load), law)
    (structure,) = known_motions(System(model))
    unit = np.eye(6)[{"linear": slice(3), "angular": slice(3, 6)}[word]]
    assert structure.changed_by == ("loads.t",)
    assert not any(structure.contains(structure.momenta, each[None]) for each in unit)
    (found,) = (each for each in verdicts(femb.simulate(model, duration=5.0)) if each.subject.startswith(word))
    assert (found.level, found.reason) == ("neutral", "It changes by what acts from outside: loads.t.")


def momenta_of(model, **options):
    """Verdicts on momenta by subject, and the results of a run."""
    results = femb.simulate(model, **options)
    return {each.subject: each for each in verdicts(results) if "momentum" in each.subject}, results


def test_fast_wheels_and_flight_excuse_no_change_of_a_quiet_hub():
    """Neither the energy of a wheel nor that of the flight is a scale of the hub's momentum: a torque of 1e-3 N m acts
    for 10 s beside 1 N m s of the wheel."""
    hub = femb.RigidBody("hub", mass=10.0, inertia=(1.0, 2.0, 3.0), velocity=(100.0, 0.0, 0.0))
    wheel = femb.ReactionWheel("w", body="hub", axis=(0, 0, 1), spin_inertia=0.01, speed=100.0)
    found, results = momenta_of(of_parts(hub, wheel, femb.Load("t", body="hub", torque=(0, 1e-3, 0))), duration=10.0)
    assert found["angular momentum"].level == "neutral"
    np.testing.assert_allclose(results.audit.angular_momentum[-1], [0.0, 0.01, 1.0], rtol=1e-6, atol=1e-9)
    assert 1.0 <= results.audit.angular_momentum_size.max() < 1.01
    np.testing.assert_allclose(results.audit.linear_momentum_size, 1000.0, rtol=1e-12)


def test_a_drift_is_beside_the_momenta_of_the_run():
    """Coarse steps of a wheel of 6 N m s, beside which the drift is more than 1e-4."""
    hub = femb.RigidBody("hub", mass=10.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(0.02, 0.01, 0.015))
    wheel = femb.ReactionWheel("w", body="hub", axis=(0, 0.6, 0.8), spin_inertia=0.01, speed=600.0)
    atol = {"position": 1e-2, "quaternion": 1e-2, "time": 1.0}
    found, results = momenta_of(of_parts(hub, wheel), duration=300.0, method="rk", rtol=0.05, atol=atol)
    momentum = results.audit.angular_momentum
    assert np.linalg.norm(momentum - momentum[0], axis=1).max() > 1e-4 * results.audit.angular_momentum_size.max()
    assert found["angular momentum"].level == "fair"


def test_parts_that_turn_against_each_other_have_a_scale():
    """Two bodies on a hinge of 0.2 N m s each, of which the whole has none: twice that is the scale."""
    first = femb.RigidBody("a", mass=1.0, inertia=(1.0, 1.0, 2.0), angular_velocity=(0, 0, 0.1))
    second = femb.RigidBody("b", mass=1.0, inertia=(1.0, 1.0, 2.0), angular_velocity=(0, 0, -0.1))
    hinge = femb.Revolute("h", femb.JointEnd("a", axis=(0, 0, 1)), femb.JointEnd("b", axis=(0, 0, 1)))
    found, results = momenta_of(of_parts(first, second, hinge), duration=2.0)
    np.testing.assert_allclose(results.audit.angular_momentum_size, 0.4, rtol=1e-9)
    assert found["angular momentum"].level == "good"


def test_what_acts_is_named_whatever_its_size():
    hub = femb.RigidBody("hub", mass=10.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(0, 0, 0.1))
    found, _ = momenta_of(of_parts(hub, femb.Load("t", body="hub", torque=(0, 0, 1e-9))), duration=1.0)
    assert found["angular momentum"].level == "good"
    assert found["angular momentum"].reason.endswith("though something acts from outside: loads.t.")
