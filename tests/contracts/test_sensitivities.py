"""The derivative of every quantity of results that is one number over time: the difference of two analyses."""

import numpy as np
import pytest
from seeds import SEED

import femb
from femb.base.errors import ResultError
from femb.results.names import components_of, known_names, named
from femb.study.run_outputs import history

# A frame with a corner, heated, with a weight on a prestressed hinge: the state without loads is not the start.
AT_REST = """
gravity = [0, 0, -9.81]
[sections.tube]
shape = { tube = [0.02, 0.002] }
material = "aluminium 6061-T6"
[beams.column]
kind = "exact"
section = "tube"
length = 1.4
elements = 2
start = { body = "ground", direction = [0, 0, 1] }
[beams.arm]
section = "tube"
length = 1.1
elements = 2
start = { beam = "column", node = -1, direction = [0, 0.2, -1], y_axis = [0, 1, 0] }
[bodies.tip]
mass = 2.0
inertia = [0.01, 0.02, 0.015]
[joints.hinge]
first = { beam = "arm", node = -1, axis = [0, 1, 0] }
second = { body = "tip", at = [0.1, 0, 0], axis = [0, 1, 0] }
[springs.hinge]
kind = "joint"
joint = "hinge"
stiffness = 30.0
free = 0.1
[loads.push]
body = "tip"
at = [0.02, 0.01, 0.03]
force = [-3.0, 4.0, -20.0]
[loads.heat]
kind = "thermal"
beam = "arm"
temperature = 40.0
gradient = [100.0, -200.0]
[shells.plate]
corners = [[1, 0, 0], [2, 0, 0], [2, 0.3, 0], [1, 0.2, 0]]
elements = [2, 1]
thickness = 0.005
material = "aluminium 6061-T6"
attach = { edge4 = "ground" }
points = { corner = "corner3" }
[loads.lift]
body = "plate.corner"
force = [0, 0, 1.0]
"""
# A free hub with a beam, a body on a hinge, a body on a drive and a wheel.
IN_MOTION = """
gravity = [0, 0, -2.0]
[bodies.hub]
mass = 20.0
inertia = [3.0, 4.0, 5.0]
center_of_mass = [0.02, 0.01, 0]
angular_velocity = [0.1, 0.2, -0.1]
[sections.strip]
shape = { rectangle = [0.06, 0.004] }
material = "aluminium 6061-T6"
damping = 2e-3
[beams.arm]
section = "strip"
length = 1.0
elements = 1
start = { body = "hub", at = [0.3, 0, 0], direction = [1, 0, 0] }
[bodies.pan]
mass = 1.0
inertia = [0.05, 0.06, 0.1]
[joints.hinge]
first = { beam = "arm", node = -1, axis = [0, 1, 0] }
second = { body = "pan", at = [-0.3, 0, 0], axis = [0, 1, 0] }
start = 0.2
[springs.hinge]
kind = "joint"
joint = "hinge"
stiffness = 6.0
damping = 0.2
[bodies.rotor]
mass = 0.5
inertia = [0.01, 0.01, 0.02]
[joints.drive]
first = { body = "hub", at = [0, 0.2, 0.1], axis = [0, 0, 1] }
second = { body = "rotor", at = [0.05, 0, 0], axis = [0, 0, 1] }
[drivers.drive]
joint = "drive"
motion = { shape = "smooth_step", duration = 0.3, after = 0.8 }
[wheels.wheel]
body = "hub"
axis = [0, 1, 1]
spin_inertia = 0.02
speed = 30.0
torque = 0.1
[loads.push]
body = "pan"
at = [0.1, 0.05, 0]
force = [1.0, -0.5, 2.0]
frame = "body"
[run]
duration = 0.1
output_interval = 0.02
method = "radau"
rtol = 1e-9
"""
# Of the audit, what is zero but for rounding, and the difference that a run leaves.
ZERO = ("energy_error", "constraint_position", "constraint_velocity", "quaternion_norm", "force_balance",
        "moment_balance")  # fmt: skip
STEP, NEAR = 1e-4, 2e-5


def numbers(results):
    """The names of all numbers over time, magnitudes and last components, and the words of their quantities."""
    found = {}
    for name in known_names(results):
        if name.startswith("statistics") or name.endswith(ZERO):
            continue
        try:
            quantity = named(results, name)
        except ResultError:  # in the axes of a node only
            continue
        parts = components_of(quantity.group, quantity.word, quantity.array)
        for each in (name, *(f"{name}.{part}" for part in parts[1:][-1:])):
            try:
                history(results, each)
            except ResultError:  # more than a number
                continue
            found[each] = quantity.word
    return found


PLACES = ("root", "midpoint", "tip")


def drawn(words):
    """All numbers, but of each quantity of a beam at one place, by chance; others with FEMB_SEED."""
    places = {}
    for name in np.random.default_rng(SEED).permutation(list(words)).tolist():
        if name.startswith("beams."):
            places[name.split(".")[1], words[name]] = [part for part in name.split(".") if part in PLACES]
    return {
        name: word
        for name, word in words.items()
        if not name.startswith("beams.")
        or [part for part in name.split(".") if part in PLACES] == places[name.split(".")[1], word]
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "analysis", "by"),
    [
        (AT_REST, "static", ("beams.column.length", "springs.hinge.free")),
        (IN_MOTION, "run", ("beams.arm.length", "joints.hinge.start", "loads.push.force.2")),
    ],
)
def test_every_quantity_has_the_derivative_of_its_differences(text, analysis, by, tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(text)

    def results(*words):
        case = femb.load_case(path, words)
        return femb.static(case.model, steps=1) if analysis == "static" else femb.simulate(case)

    words = drawn(numbers(results()))
    assert {"displacement", "rotation", "von_mises", "strain"} <= set(words.values())
    found = femb.sensitivities(path, {name: {"kind": "final", "of": name, "analysis": analysis} for name in words}, by)
    wrong = []
    for k, (entry, value) in enumerate(zip(by, map(float, found.nominal), strict=True)):
        ends = [results(f"{entry}={value * (1.0 + s * STEP)!r}") for s in (-2.0, -1.0, 1.0, 2.0)]
        f = np.array([[float(history(each, name).values[-1]) for name in words] for each in ends])
        wanted = (f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * STEP * value)
        # beside other components of the quantity, and other items
        sizes = dict.fromkeys(words.values(), 1e-12)
        for word, *own in zip(words.values(), wanted, found.values / value, strict=True):
            sizes[word] = max(sizes[word], *np.abs(own))
        wrong += [
            (name, entry, derivative, of)
            for (name, word), derivative, error, of in zip(
                words.items(), found.derivatives[:, k], found.errors[:, k], wanted, strict=True
            )
            if not abs(derivative - of) <= NEAR * sizes[word] + 3.0 * error
        ]
    assert not wrong
