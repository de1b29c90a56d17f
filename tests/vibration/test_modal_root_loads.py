"""Root loads of appendages from their modes: mode displacement and mode acceleration."""

from functools import cache

import numpy as np
import pytest
from checkout import ROOT
from models import refuses
from scipy.integrate import solve_ivp

import femb
from femb.vibration.participation import Participation, convergence_table


@cache
def wing() -> Participation:
    """A wing of the reference satellite, about its root: all modes."""
    model = femb.load_case(ROOT / "cases" / "satellite_two_arrays.toml").model
    return femb.modes(model, 120, held="hub").appendages[1]


UNIT_Z = np.eye(6)[2]


@pytest.mark.parametrize(("count", "moment"), [(1, 68.724), (3, 75.080), (4, 75.885), (6, 78.187)])
def test_mode_displacement_of_the_reference_wing_needs_many_modes(count, moment):
    """Moment x at the root for unit acceleration z: docs/theory/loads.md, section 4."""
    load = femb.quasi_static(wing().first(count), UNIT_Z).root_load("displacement")[0]
    assert -load[3] == pytest.approx(moment, abs=5e-4)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 6])
def test_mode_acceleration_of_the_reference_wing_is_exact_with_any_number_of_modes(count):
    load = femb.quasi_static(wing().first(count), UNIT_Z).root_load()[0]
    assert -load[3] == pytest.approx(78.225, rel=1e-9)
    assert -load[2] == pytest.approx(24.45, rel=1e-9)


def test_both_agree_with_all_modes():
    """All but the share of the clamped node, which no mode has: equation (4) of docs/theory/modes.md."""
    part, a = wing(), np.array([0.3, -0.2, 1.0, 0.4, 0.1, -0.5])
    motion = femb.quasi_static(part, a)
    difference = motion.root_load() - motion.root_load("displacement")
    np.testing.assert_allclose(difference[0], -part.clamped_mass @ a, atol=1e-9)


def test_modes_under_a_history_of_base_acceleration():
    """Exact between instants, at steps far above the period of the highest mode; against an integrator."""
    part = wing().first(3)
    time = np.array([0.0, 0.3, 0.35, 1.0, 2.0])
    history = np.outer([0.0, 1.0, -0.5, 0.2, 0.2], [0.0, 0.0, 1.0, 0.2, 0.0, 0.0])
    motion = femb.base_motion(part, time, history)
    omega = 2.0 * np.pi * part.frequencies

    def rates(t, x):
        a = np.array([np.interp(t, time, column) for column in history.T])
        return np.concatenate([x[3:], -part.coupling @ a - 2.0 * part.damping * omega * x[3:] - omega**2 * x[:3]])

    found = solve_ivp(rates, (0.0, 2.0), np.zeros(6), "DOP853", time, rtol=1e-11, atol=1e-13, max_step=0.01)
    np.testing.assert_allclose(motion.coordinates, found.y[:3].T, atol=1e-8)
    np.testing.assert_allclose(motion.rates, found.y[3:].T, atol=1e-7)
    residual = motion.accelerations + 2.0 * part.damping * omega * motion.rates + omega**2 * motion.coordinates
    np.testing.assert_allclose(residual, -history @ part.coupling.T, atol=1e-12)
    # with the motion of the modes, both ways differ by the residual mass alone
    difference = motion.root_load() - motion.root_load("displacement")
    np.testing.assert_allclose(difference, -history @ part.residual_mass, atol=1e-10)


def test_the_table_ends_with_the_exact_load():
    lines = convergence_table(wing().first(6), "z").splitlines()
    assert len(lines) == 8
    assert lines[1].split()[0] == "1"
    assert float(lines[1].split()[4]) == pytest.approx(-68.724, abs=1e-3)
    assert lines[-1].split()[0] == "exact"
    assert float(lines[-1].split()[4]) == pytest.approx(-78.225, abs=1e-4)


def test_bad_arguments_are_named():
    part = wing().first(2)
    refuses(r"got the shape \(1, 3\), wanted \(6,\) or \(T, 6\)", femb.quasi_static, part, [0, 0, 1])
    with pytest.raises(femb.ModelError, match="by: got 'both', wanted one of acceleration, displacement"):
        femb.quasi_static(part, UNIT_Z).root_load("both")
    refuses("direction: got 'w', wanted one of x, y, z, rx, ry, rz", convergence_table, part, "w")
    refuses("wanted 2 increasing instants", femb.base_motion, part, [0.0, 0.0], np.zeros((2, 6)))


@pytest.mark.parametrize(("share", "said"), [(0.2, False), (0.1, True)])
def test_a_warning_of_few_modes_counts_what_no_mode_can_have(share, said):
    """Of three quarters of the rigid mass in modes, beside the share of the root's own node."""
    ratios, coupling = np.zeros(2), np.full((2, 6), np.sqrt(0.375))
    words = (np.ones(2), ratios, coupling, np.eye(6), share * np.eye(6), np.zeros((0, 2)))
    assert ("below 90 % in x, y, z" in Participation("a", np.zeros(3), np.eye(3), *words).table()) is said
