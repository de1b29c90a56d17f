"""Properties of all models, each one function, of generated satellites with their loops: what a copy may not change,
and what two ways to one number must give.

A property takes the number of a satellite and asserts, within what the models, solvers and runs declare: the precision
of modes, the rounding of a response, the tolerances of a run. Other satellites are tried with ``FEMB_SEED``.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from oracles.copies import axial, in_units, mirrored
from oracles.generated import PERIOD, WHEELS, changed, generated, in_other_axes, moved, reordered, turn_of_copy
from oracles.satellites import unit
from seeds import SEED

import femb
from femb import elements as e

pytestmark = pytest.mark.filterwarnings("ignore:beams.* and is linear there")

COUNT = 10  # eigenvalues
TORQUE, RATE = "bodies.hub.torque", "bodies.hub.angular_velocity"
PUSH = np.array([0.2, -0.1, 0.3])  # N m
FINE = 1e-9  # rtol of runs that are compared
HIDDEN = 1e-10  # of its size: below that an estimate need not be told from rounding
UNITS = ((1e3, 1e-3, 1.0), (1e-3, 1.0, 1e3), (0.3048, 14.59, 60.0))  # of length, mass and time, in m, kg and s: inverse
SPINS = (1e-6, 1e-4, 1e-2, 0.1)  # rad/s
CHEAP, DEAR = [], []


def cheap(of):
    """Joins a property to those of modes and single responses, of a second and less."""
    CHEAP.append(of)
    return of


def dear(of):
    """Joins a property to those of loops and runs."""
    DEAR.append(of)
    return of


def rng_of(number):
    return np.random.default_rng([SEED, number, 1])


@cache
def modes_of(number):
    return femb.modes(generated(number, law=False), COUNT, damped=True)


@cache
def loop_of(number):
    return femb.loop(generated(number), inputs=[TORQUE], outputs=[RATE])


def whole(number):
    """With all that only a run has."""
    return generated(number, latch=0.23, orbit=True)


def run_of(model, duration=0.5, push=PUSH, **options):
    """Of the satellite under a steady torque on its hub, by which it hardly turns."""
    pushed = changed(model, {})
    pushed.add(e.Load("push", body="hub", torque=push, frame="body"))
    words = {"duration": duration, "output_interval": 0.05, "method": "radau", "rtol": FINE} | options
    return femb.simulate(pushed, **words)


@cache
def rates(number):
    """(T, 3) rad/s, of the hub in its axes."""
    return run_of(whole(number)).bodies["hub"].angular_velocity


def same_rates(got, wanted, rtol=FINE):
    """Rates of two runs within the tolerance that each declares: rtol of its size, and absolutely that of attitudes, a
    tenth of rtol, in the shortest time of interest, 0.01 s."""
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=2.0 * (rtol * np.max(np.abs(wanted)) + 0.1 * rtol / 0.01))


def same_modes(got, wanted, time=1.0):
    """Each eigenvalue of ``got``, times ``time``, is one of ``wanted``, to the precision that both declare."""
    left = list(range(COUNT))
    for value, known in zip(wanted.eigenvalues, wanted.precision, strict=True):
        k = min(left, key=lambda j: abs(time * got.eigenvalues[j] - value))
        left.remove(k)
        allowed = known + got.precision[k] + HIDDEN
        error = abs(time * got.eigenvalues[k] - value) / abs(value)
        assert error <= allowed, (value, error, known, got.precision[k])


def modes_of_copy(number, copied, time=1.0):
    same_modes(femb.modes(copied(generated(number, law=False)), COUNT, damped=True), modes_of(number), time)


def run_of_copy(number, copied, seen=np.asarray):
    """The loop decays, and a run moves, as that of the satellite; ``seen`` are the rates of the satellite there."""
    loop = femb.loop(copied(generated(number)), inputs=[TORQUE], outputs=[RATE])
    assert abs(loop.growth() - loop_of(number).growth()) < known_of_poles(number)
    pushed = run_of(copied(whole(number)), push=seen(PUSH))
    same_rates(pushed.bodies["hub"].angular_velocity, seen(rates(number).T).T)


def known_of_poles(number):
    """rad/s: rounding of the entries of the plant's matrix, the square of its fastest motion, by the rate of the law,
    below which its eigenvalues are compared."""
    fastest = np.max(np.abs(np.linalg.eigvals(loop_of(number).plant.A)))
    return np.finfo(float).eps * fastest**2 * PERIOD


def moved_copy(number):
    rng = rng_of(number)
    shift = 3.0 * rng.standard_normal(3)
    turns = rng.bit_generator.state

    def copied(model):
        rng.bit_generator.state = turns
        return moved(model, turn_of_copy(model, rng), shift)

    return copied


COPIES = {
    "moved and turned": moved_copy,
    "in another order": lambda number: lambda model: reordered(model, rng_of(number)),
    "with other axes of a body": lambda number: lambda model: in_other_axes(model, unit(rng_of(number), 4)),
    "in a mirror": lambda number: mirrored,
}


def of_copies(name, copied):
    """A copy as two properties, of its modes and of its run."""

    def modes(number):
        modes_of_copy(number, copied(number))

    def run(number):
        run_of_copy(number, copied(number), axial if copied(number) is mirrored else np.asarray)

    modes.__name__, run.__name__ = f"modes {name}", f"run {name}"
    cheap(modes)
    dear(run)


for word, copied in COPIES.items():
    of_copies(word, copied)


@cheap
def modes_in_other_units(number):
    units = UNITS[number % len(UNITS)]
    modes_of_copy(number, lambda model: in_units(model, units, number + 1000 * (SEED - 1)), time=units[2])


@cheap
def a_law_of_gain_zero_leaves_the_poles(number):
    """Of a plant of full order, to the rounding of its entries, which are squares of its highest frequency."""
    model = generated(number, law=False)
    plant = femb.linearize_structure(model, inputs=[TORQUE], outputs=["bodies.hub.turn"], hub="hub")
    law = femb.LinearLaw(
        "idle", [], [], [], np.zeros((1, 1)), period=PERIOD, inputs=("bodies.hub.turn.y",), outputs=(f"{TORQUE}.y",)
    )
    poles, fastest = femb.loop(plant, [law]).poles(), np.max(np.abs(np.linalg.eigvals(plant.A)))
    found = modes_of(number)
    for value, known in zip(found.eigenvalues, found.precision, strict=True):
        if 0.0 < value.imag < np.pi / PERIOD:  # folded beyond half the rate
            rounding = np.finfo(float).eps * (fastest / abs(value)) ** 2
            assert np.min(np.abs(poles - value)) < (known + rounding) * abs(value)


@cheap
def on_its_reference_the_command_is_zero(number):
    """But for what the run declares of attitudes and rates."""
    model = moved(generated(number, hot=False), unit(rng_of(number), 4), rng_of(number).standard_normal(3))
    for name, wheel in model.wheels.items():  # and no momentum, which would be held against what turns
        model = changed(model, {("wheels", name): replace(wheel, speed=0.0)})
    results = femb.simulate(model, duration=4 * PERIOD, output_interval=PERIOD / 4, rtol=FINE)
    law = model.controllers["law"]
    largest = max(np.max(np.abs(results.wheels[name].torque)) for name in WHEELS)
    assert largest < 0.1 * FINE * np.max(np.abs(law.proportional + law.derivative / 0.01))


@cheap
def slow_spin_changes_no_vibration(number):
    """But by the turn of the axes in which it is seen: continuous as the spin goes to zero."""
    model, nutations = generated(number, law=False), []
    for name, wheel in model.wheels.items():
        model = changed(model, {("wheels", name): replace(wheel, speed=0.0)})
    at_rest = femb.modes(model, COUNT, damped=True, start="equilibrium")
    elastic = [(x, known) for x, known in zip(at_rest.eigenvalues, at_rest.precision, strict=True) if x.imag > 1.0]
    for spin in (SPINS[0], SPINS[1 + number % 3]):
        turning = femb.modes(generated(number, law=False, spin=spin), COUNT, damped=True, start="equilibrium")
        assert (turning.rigid, turning.across) == (5, 3)
        assert "unstable" not in turning.table()
        for value, known in elastic[:6]:
            assert np.min(np.abs(turning.eigenvalues - value)) < 1.01 * spin + (2.0 * known + HIDDEN) * abs(value)
        (nutation,) = turning.eigenvalues[turning.nutates]
        nutations.append(nutation.imag / spin)
    assert abs(nutations[1] / nutations[0] - 1.0) < 5e-3  # deformation adds the square of the rate by the lowest


@cheap
def a_stiff_hinge_converges_to_a_weld(number):
    """With the flexibility that it adds: a tenth of it, a tenth of the difference."""
    model = generated(number, law=False)
    hinge = model.joints["hinge"]
    weld = changed(model, {("joints", "hinge"): e.Fixed("hinge", hinge.first, hinge.second)})
    del weld.tables["springs"]["hinge"]
    values = femb.modes(weld, 6, damped=True).eigenvalues
    errors = []
    for stiffness in (1e6, 1e7):
        stiff = changed(model, {("springs", "hinge"): replace(model.springs["hinge"], stiffness=stiffness)})
        found = femb.modes(stiff, 8, damped=True).eigenvalues
        errors.append([np.min(np.abs(found - value)) / abs(value) for value in values])
    soft, stiff = np.array(errors)
    seen = soft > 1e-7
    assert seen.any()
    np.testing.assert_allclose(stiff[seen] / soft[seen], 0.1, rtol=0.05)


@cheap
def a_response_declares_its_rounding(number):
    """At least what differs in copies with other axes of their items, and by and large no more than 100 times that."""
    frequencies = np.array([0.02, 0.2, 2.0, 20.0])
    rng = rng_of(number)
    copies = [generated(number, law=False)]
    copies += [in_other_axes(copies[0], unit(rng, 4)) for _ in range(2)]
    found = [
        femb.linearize_structure(m, inputs=[TORQUE], outputs=[RATE], hub="hub").frequency_response(frequencies)
        for m in copies
    ]
    size = np.max(np.abs(found[0].values), axis=(1, 2))
    for other in found[1:]:
        error = np.abs(other.values - found[0].values)
        assert np.all(error <= found[0].rounding + other.rounding + HIDDEN * size[:, None, None])


@dear
def a_loop_moves_as_the_run(number):
    """To the first order: the push turns the hub by less than 1e-4 rad, and what is of second order is that part.
    Without heat, by which a run would leave the state that the loop is about."""
    model, times, push = generated(number, hot=False), np.linspace(0.0, 0.5, 11), 1e-3 * PUSH
    added = dict(zip((f"{TORQUE}.{x}" for x in "xyz"), push, strict=True))
    linear = femb.loop(model, inputs=[TORQUE], outputs=[RATE]).simulate(0.5, added=added, times=times)
    columns = [linear.outputs.index(f"{RATE}.{x}") for x in "xyz"]
    found = run_of(model, push=push, atol=femb.Tolerances(time=1.0)).bodies["hub"].angular_velocity
    size = np.max(np.abs(found))
    np.testing.assert_allclose(linear.values[:, columns], found, rtol=0.0, atol=1e-4 * size + 0.1 * FINE)


@dear
def a_run_in_two_parts_is_the_same(number, tmp_path):
    model, out = whole(number), tmp_path / "parts"
    run_of(model, 0.25, out=out)
    same_rates(run_of(model, 0.25, out=out, extend=0.25).bodies["hub"].angular_velocity, rates(number))


@dear
def double_the_effort_gives_the_same_digits(number):
    coarse = run_of(whole(number), rtol=1e-6).bodies["hub"].angular_velocity
    same_rates(coarse, rates(number), 1e-6)


@dear
def what_happens_later_is_the_same_later(number):
    """A push and a latch two periods of the law later, of a satellite that waits on its reference."""
    found = []
    for late in (0.0, 2.0 * PERIOD):
        model = generated(number, latch=0.23 + late, hot=False)
        run = run_of(model, 0.5 + late, push=pulse(late))
        found.append(run.bodies["hub"].angular_velocity[-11:])
    same_rates(found[1], found[0])


def pulse(begin):
    """N m, of the time: a smooth push of 0.4 s."""
    return lambda t, state: PUSH * np.sin(np.pi * np.clip((t - begin) / 0.4, 0.0, 1.0)) ** 2


def holds(of, number, tmp_path):
    """A property of a satellite, with a folder where it writes."""
    of(number, tmp_path) if of is a_run_in_two_parts_is_the_same else of(number)


# Each satellite meets some properties by turns, so that each property meets satellites of all kinds.
@pytest.mark.parametrize("number", range(10))
def test_cheap_properties(number):
    for k in range(2):
        CHEAP[(2 * number + k) % len(CHEAP)](number)


@pytest.mark.parametrize(
    ("number", "of"), [(k % 2, of) for k, of in enumerate(DEAR)], ids=lambda x: getattr(x, "__name__", x)
)
def test_dear_properties(number, of, tmp_path):
    holds(of, number, tmp_path)


MANY = range(10, 310)
# Each dear property meets two of them; a pattern would keep satellites of some kinds from some properties.
OF_TWO = dict(zip(np.random.default_rng(0).choice(MANY, 2 * len(DEAR), replace=False), 2 * DEAR, strict=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::femb.FembWarning")  # of heat that modes leave out, of sizes in other units
@pytest.mark.parametrize("first", MANY[::25])
def test_properties_of_many(first, tmp_path):
    found = []
    for number in range(first, first + 25):
        cheap = CHEAP[(number + number // len(CHEAP)) % len(CHEAP)]  # each meets satellites of both kinds of arms
        for of in [cheap, *([OF_TWO[number]] if number in OF_TWO else [])]:
            try:
                holds(of, number, tmp_path / str(number))
            except (AssertionError, femb.FembError) as error:
                found.append(f"{of.__name__} {number}: {str(error).strip()[:200]}")
    assert not found, "\n".join(found)
