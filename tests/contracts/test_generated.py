"""Properties of all models, each one function, of generated satellites with their loops: what a copy may not change.

A property takes the number of a satellite and asserts. Other satellites are tried with ``FEMB_SEED``.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from oracles.generated import PERIOD, WHEELS, changed, generated, in_other_axes, moved, reordered
from oracles.satellites import unit
from seeds import SEED

import femb
from femb import elements as e

pytestmark = pytest.mark.filterwarnings("ignore:beams.* and is linear there")

COUNT = 10  # eigenvalues
TORQUE, RATE = "bodies.hub.torque", "bodies.hub.angular_velocity"
PUSH = np.array([0.2, -0.1, 0.3])  # N m
SPIN = 0.1  # rad/s
PROPERTIES = []


def every(of):
    """Joins a property to those of all models."""
    PROPERTIES.append(of)
    return of


def rng_of(number):
    return np.random.default_rng([SEED, number, 1])


@cache
def eigenvalues(number):
    return femb.modes(generated(number, law=False), COUNT, damped=True).eigenvalues


@cache
def loop_of(number):
    return femb.loop(generated(number), inputs=[TORQUE], outputs=[RATE])


def run_of(model, duration=0.5, push=PUSH, **options):
    """Of the satellite under a steady torque on its hub, by which it hardly turns."""
    pushed = changed(model, {})
    pushed.add(e.Load("push", body="hub", torque=push, frame="body"))
    words = {"duration": duration, "output_interval": 0.05, "method": "radau", "rtol": 1e-9} | options
    return femb.simulate(pushed, **words)


@cache
def rates(number):
    """(T, 3) rad/s, of the hub in its axes."""
    return run_of(generated(number, latch=True)).bodies["hub"].angular_velocity


def same(got, wanted, within):
    """Each number of a list within a relative tolerance of the largest, or of its own size where it is complex."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    if not np.iscomplexobj(wanted):
        np.testing.assert_allclose(got, wanted, rtol=0.0, atol=within * np.max(np.abs(wanted)))
        return
    left = list(got)
    for value in wanted:  # in any order
        nearest = min(left, key=lambda x: abs(x - value))
        assert abs(nearest - value) <= within * abs(value), (nearest, value)
        left.remove(nearest)


def vibrations(values):
    """Eigenvalues of what vibrates: those of rigid motions are zero but for rounding."""
    return values[np.abs(values) > 1e-3]


def elastic(values):
    """Those of vibrations of the structure, above the nutation."""
    return values[values.imag > 1.0]


def check_copy(number, copied):
    """Damped modes, poles of the loop and a run are those of the satellite."""
    same(vibrations(femb.modes(copied(generated(number, law=False)), COUNT, damped=True).eigenvalues),
         vibrations(eigenvalues(number)), 1e-6)  # fmt: skip
    loop = femb.loop(copied(generated(number)), inputs=[TORQUE], outputs=[RATE])
    assert abs(loop.growth() - loop_of(number).growth()) < 1e-6
    same(run_of(copied(generated(number, latch=True))).bodies["hub"].angular_velocity, rates(number), 1e-5)


@every
def a_moved_and_turned_copy_is_the_same(number):
    rng = rng_of(number)
    turn, shift = unit(rng, 4), 3.0 * rng.standard_normal(3)
    check_copy(number, lambda model: moved(model, turn, shift))


@every
def the_order_of_items_changes_nothing(number):
    check_copy(number, lambda model: reordered(model, rng_of(number)))


@every
def the_axes_of_a_body_change_nothing(number):
    check_copy(number, lambda model: in_other_axes(model, unit(rng_of(number), 4)))


@every
def a_law_of_gain_zero_leaves_the_poles(number):
    model = generated(number, law=False)
    plant = femb.linearize(model, inputs=[TORQUE], outputs=["bodies.hub.turn"], hub="hub")
    law = femb.LinearLaw(
        "idle", [], [], [], np.zeros((1, 1)), period=PERIOD, inputs=("bodies.hub.turn.y",), outputs=(f"{TORQUE}.y",)
    )
    poles = femb.loop(plant, [law]).poles()
    for value in vibrations(eigenvalues(number)):
        if 0.0 < value.imag < np.pi / PERIOD:  # folded beyond half the rate
            assert np.min(np.abs(poles - value)) < 1e-6 * abs(value)


@every
def on_its_reference_the_command_is_zero(number):
    rng = rng_of(number)
    model = moved(generated(number, hot=False), unit(rng, 4), rng.standard_normal(3))
    for name in WHEELS:  # and no momentum, which would be held against what turns
        model = changed(model, {("wheels", name): replace(model.wheels[name], speed=0.0)})
    results = femb.simulate(model, duration=4 * PERIOD, output_interval=PERIOD / 4)
    largest = max(np.max(np.abs(results.wheels[name].torque)) for name in WHEELS)
    assert largest < 1e-9


@every
def a_loop_moves_as_the_run(number):
    times, push = np.linspace(0.0, 0.5, 11), 1e-3 * PUSH
    added = dict(zip((f"{TORQUE}.{x}" for x in "xyz"), push, strict=True))
    linear = loop_of(number).simulate(0.5, added=added, times=times)
    columns = [linear.outputs.index(f"{RATE}.{x}") for x in "xyz"]
    found = run_of(generated(number), push=push, atol=femb.Tolerances(time=1.0)).bodies["hub"].angular_velocity
    same(linear.values[:, columns], found, 1e-3)


@every
def a_run_in_two_parts_is_the_same(number, tmp_path):
    model, out = generated(number, latch=True), tmp_path / "parts"
    run_of(model, 0.25, out=out)
    parts = run_of(model, 0.25, out=out, extend=0.25)
    same(parts.bodies["hub"].angular_velocity, rates(number), 1e-5)


@every
def double_the_effort_gives_the_same_digits(number):
    """To the tolerance of rates, which is that of the positions in a hundredth of a second."""
    pushed = generated(number, latch=True)
    pushed.add(e.Load("push", body="hub", torque=PUSH, frame="body"))
    coarse, fine = (
        femb.simulate(pushed, duration=0.5, output_interval=0.05, method="radau", rtol=rtol).bodies["hub"]
        for rtol in (1e-6, 1e-9)
    )
    size = np.max(np.abs(fine.angular_velocity))
    same(coarse.angular_velocity, fine.angular_velocity, 1e-6 + 1e-5 / size)


@every
def slow_spin_changes_no_vibration(number):
    model = generated(number, law=False)
    for name in WHEELS:
        model = changed(model, {("wheels", name): replace(model.wheels[name], speed=0.0)})
    at_rest = femb.modes(model, COUNT, damped=True, start="equilibrium").eigenvalues
    turning = femb.modes(generated(number, law=False, spin=SPIN), COUNT, damped=True, start="equilibrium")
    for value in elastic(at_rest)[:6]:  # by no more than the turn of the axes in which it is seen
        assert np.min(np.abs(turning.eigenvalues - value)) < 1.01 * SPIN


def holds(of, number, tmp_path):
    """A property of a satellite, with a folder where it writes."""
    of(number, tmp_path) if of is a_run_in_two_parts_is_the_same else of(number)


QUICK, SLOW = range(1), range(1, 2)
CHEAP = (a_law_of_gain_zero_leaves_the_poles, on_its_reference_the_command_is_zero, slow_spin_changes_no_vibration)


@pytest.mark.parametrize("of", PROPERTIES, ids=lambda of: of.__name__)
@pytest.mark.parametrize("number", QUICK)
def test_property(number, of, tmp_path):
    holds(of, number, tmp_path)


@pytest.mark.parametrize("number", range(1, 9))
def test_cheap_properties(number):
    for of in CHEAP:
        of(number)


@pytest.mark.slow
@pytest.mark.parametrize("number", SLOW)
def test_properties_of_many(number, tmp_path):
    for of in PROPERTIES:
        holds(of, number, tmp_path)
