"""The default of the shortest time of interest: a second in orbit, where rates are small and act for hours."""

import numpy as np
import pytest

import femb
from femb.run.method_choice import with_method
from femb.system.system import System

RADIUS = 7e6
RATE = np.sqrt(3.986004418e14 / RADIUS**3)
ORBITS = {
    "orbit": femb.Orbit("o", position=(RADIUS, 0.0, 0.0), velocity=(0.0, RADIUS * RATE, 0.0)),
    "gradient": femb.GravityGradient("o", radius=RADIUS),
    "none": None,
}


@pytest.mark.parametrize("kind", ORBITS)
def test_default(kind):
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=1.0, inertia=1.0))
    if ORBITS[kind] is not None:
        model.add(ORBITS[kind])
    system, expected = System(model), 0.01 if kind == "none" else 1.0
    assert with_method(system, femb.Run(duration=1.0))[0].atol.shortest_time == expected
    given = femb.Run(duration=1.0, atol=femb.Tolerances(time=0.3))
    assert with_method(system, given)[0].atol.shortest_time == 0.3


def test_attitude_after_an_orbit_of_drag():
    """A plate far from the mass centre: within 2e-3 rad of strict tolerances, and with few steps."""

    def attitude(**options):
        model = femb.Model()
        model.add(femb.RigidBody("hub", mass=100.0, inertia=(30.0, 100.0, 80.0)))
        model.add(ORBITS["orbit"])
        model.add(femb.PlateDrag("air", area=4.0, normal=(0, 1, 0), density=1e-13, body="hub", at=(0.5, 0, 0.2),
                                 two_sided=True))  # fmt: skip
        results = femb.simulate(model, duration=5828.0, output_interval=5828.0, **options)
        return results.bodies["hub"].quaternion[-1], results.statistics.get("steps")

    strict, _ = attitude(rtol=1e-10, atol=femb.Tolerances(1e-12, 1e-12, 1e-12, time=1.0))
    found, steps = attitude()
    assert 2.0 * np.arccos(min(abs(float(found @ strict)), 1.0)) < 2e-3
    assert steps < 400
