"""The audit in words: what is good, what is not, at the limits of the warnings of a run."""

import numpy as np
import pytest
from oracles.synthetic_results import satellite

from femb import Results
from femb.results.audit import LENGTH, POSITION
from femb.results.verdicts import verdicts


def levels(method="radau", **changes):
    """Level by subject of the audit of a satellite that drifts freely, with quantities of the audit replaced."""
    block, static, attributes = satellite()
    time = block["time"]
    for name, value in changes.items():
        block[name.replace("__", "/")] = (
            np.ones((len(time), *np.shape(value))) * value * (time > 1.0).reshape(-1, *(1,) * np.ndim(value))
        )
    attributes[""]["method"] = method
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


@pytest.mark.parametrize(
    ("name", "subject", "limit"),
    [("constraint_position", "constraints", POSITION), ("quaternion_norm", "quaternion lengths", LENGTH)],
)
def test_constraints_have_the_limits_of_warnings(name, subject, limit):
    found = [levels(**{f"audit__{name}": factor * limit})[subject] for factor in (0.005, 0.5, 2.0)]
    assert found == ["good", "fair", "poor"]


def test_momentum_that_changes_is_no_mistake_by_itself():
    assert levels(audit__linear_momentum=[0.0, 0.0, 2.0])["linear momentum"] == "neutral"


def test_balances_are_compared_with_the_forces():
    """The hinge carries 3 N at most, the section forces are 2 N."""
    found = [levels(audit__force_balance=size)["force balance"] for size in (0.02, 0.3, 3.0)]
    assert found == ["good", "fair", "poor"]
    assert levels(audit__moment_balance=0.1)["moment balance"] == "neutral"  # nothing to compare with


def test_states_of_statics_have_no_balance_of_energy():
    assert not {"energy", "linear momentum"} & set(levels("static"))
    assert verdicts(Results({})) == []
