"""A cantilever rolled up to a full circle in motion, by an end moment that follows it, and let settle."""

import numpy as np
import pytest
from long_runs import slow
from models import of_parts, stiff

from femb import Beam, Ground, Load, ThermalLoad, simulate
from femb.profiles import SmoothStep


def rod():
    """Of unit length and bending stiffness; its first mode is at 3.5 rad/s and all but critically damped."""
    return stiff(12.0 * 100.0**2, 1.0, (1.0, 1.0), 1.0, (1e-3, 5e-4, 5e-4), damping=0.5)


def rolled(elements, load):
    model = of_parts(Beam("b", rod(), 1.0, elements, start=Ground().at(direction=(1, 0, 0))), load)
    return simulate(model, duration=40.0, output_interval=1.0, rtol=1e-6)


@pytest.mark.parametrize(("elements", "gap"), [(4, 0.0176), slow((8, 1.4e-3)), slow((16, 9.7e-5))])
def test_by_a_moment(elements, gap):
    """ML/EI = 2 pi, ramped in 20 s: the tip comes back to the root to the accuracy of the mesh, as in equilibrium, and
    the energy is the work: M times the turn, half of it stored, the rest lost in the damping."""
    load = Load("m", beam="b", torque=(0, 0, 2 * np.pi), frame="body", profile=SmoothStep(20.0))
    results = rolled(elements, load)
    beam, audit = results.beams["b"], results.audit
    assert np.linalg.norm(beam.position[-1, -1]) == pytest.approx(gap, rel=0.05, abs=2e-6)
    # half way it is on the way round: higher than the radius of the circle
    assert beam.position[:, -1, 1].max() > 0.3
    moment = beam.section_moment[-1, :, :, 2]
    np.testing.assert_allclose(moment, 2 * np.pi, rtol={4: 0.1, 8: 0.01, 16: 1e-3}[elements])
    turned = beam.euler_angles()[-1, -1, 2]
    # an arc whose turn is off by a small share ends as far from its start as that share of its length
    assert turned == pytest.approx(2 * np.pi, rel=1.1 * gap)
    assert audit.potential_energy[-1] == pytest.approx(0.5 * (2 * np.pi) ** 2, rel=5.0 * gap + 1e-4)
    np.testing.assert_allclose(audit.energy_error, 0.0, atol=1e-4 * 0.5 * (2 * np.pi) ** 2)


@pytest.mark.parametrize("elements", [4, slow(8)])
def test_by_heat(elements):
    """The thermal strain of a full circle: the tip comes back to the root, whatever the mesh, without stress."""
    load = ThermalLoad("t", beam="b", strain=(0, 0, 0, 2 * np.pi), profile=SmoothStep(20.0))
    results = rolled(elements, load)
    beam = results.beams["b"]
    assert np.linalg.norm(beam.position[-1, -1]) < 1e-6
    assert np.abs(beam.section_moment[-1]).max() < 1e-4
    assert results.audit.potential_energy[-1] < 1e-9
