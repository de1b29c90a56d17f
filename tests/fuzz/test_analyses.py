"""Analyses and results called with arguments replaced by nonsense: refused by name, or carried out.

A call that Python itself refuses, for an argument that is missing or unknown, is none of femb's.
"""

import functools

import numpy as np
import pytest
from fuzz.mutations import NUMBERS, VALUES, limited
from fuzz.test_calls import model
from fuzz.test_case_files import common
from hypothesis import example, given, seed, settings
from hypothesis import strategies as st
from seeds import SEED, TRIES

import femb

NAMES = ["hub", "boom", "axle", "wheel", "hub.position", "boom.tip.deflection", "boom.-1.section_moment.y",
         "axle.angle", "audit.work", "tips", "energy", "bodies/hub/velocity", "boom[-1]", "x", "rz",
         "joints.axle.angle", "", ".", "hub.", ".hub", "boom..x", "boom.99.position", "hub.position.x.y",
         "statistics.steps", "psd", "amplitude", "equilibrium", "nichols", "position of hub | energy", "velocity.w",
         " of ", "hub.euler"]  # fmt: skip
MORE = [None, *NUMBERS, *VALUES, *NAMES, ("hub.position", "tips"), ("x",), (0, 1e-3), (None, 5e-4), (1, 0), (0.1, 0.2),
        {"joints.axle.angle": 0.1}, {"x": "y"}, np.zeros(3), np.ones((2, 2)), lambda *_: 1.0, object(),
        5e-4]  # fmt: skip


@functools.cache
def results():
    return femb.simulate(model(), duration=1e-3, output_interval=1e-4)


@functools.cache
def plant():
    return femb.linearize(femb.System(pushed()))


def pushed():
    made = model()
    made.add(femb.Load("push", body="hub", force=(1.0, 0.0, 0.0)))
    return made


def clamped():
    """A model that is held, for statics and modes."""
    made = femb.Model("cantilever")
    made.add(femb.Section("bar", 1e-3, (1e-7, 1e-7), 1e-7, 2700.0, 7e10, 2.6e10))
    made.add(femb.Beam("boom", "bar", 1.0, 2, start=femb.Attachment("ground", direction=(1, 0, 0))))
    made.add(femb.Load("push", beam="boom", node=-1, force=(0.0, 0.0, 1.0)))
    return made


def plotted(names=(), **words):
    return results().plot(*(names if isinstance(names, list | tuple) else (names,)), **words)


# Name -> function, and arguments with which it is right.
CALLS = {
    "plot": (plotted, {"names": ("hub.euler",), "items": None, "frame": None, "times": None, "spectrum": None}),
    "key": (lambda name: results()[name], {"name": "hub.position"}),
    "spectrum": (lambda name, kind: results().spectrum(name, kind), {"name": "hub.position", "kind": "psd"}),
    "to_pandas": (lambda name: results().to_pandas(name), {"name": "boom.tip.position"}),
    "in_frame": (lambda frame: results().in_frame(frame), {"frame": "hub"}),
    "peak_loads": (lambda items, times: femb.peak_loads(results(), items, times),
                   {"items": ("boom",), "times": (None, None)}),
    "modes": (lambda **words: femb.modes(clamped(), **words)._repr_html_(),
              {"count": 2, "held": None, "start": "as_given", "damping": None, "damped": False}),
    "linearize": (lambda **words: femb.linearize(pushed(), **words)._repr_html_(),
                  {"t": 0.0, "inputs": ("loads.push",), "outputs": ("bodies.hub.position",), "start": "as_given",
                   "at_rest": False, "state": None}),
    "response": (lambda frequencies: plant().frequency_response(frequencies), {"frequencies": [1.0, 2.0]}),
    "static": (lambda **words: femb.static(clamped(), **words)._repr_html_(),
               {"factor": 1.0, "steps": 2, "arc_length": False, "critical": 0, "constant": (), "time": 0.0}),
    "simulate_ensemble": (lambda **words: femb.simulate_ensemble([clamped()], **words),
                          {"duration": 1e-3, "together": 2, "rtol": 1e-4, "method": "radau"}),
    "shake": (lambda **words: femb.shake(clamped(), **words),
              {"axis": "z", "outputs": ("beams.boom.-1.acceleration.z",), "sine": (1.0, 10.0), "modes": 2,
               "damping": 0.01}),
}  # fmt: skip


def tried(name, changed):
    call, words = CALLS[name]
    words = dict(words)
    for which, what in changed:
        words[list(words)[which % len(words)]] = MORE[what % len(MORE)]
    if name == "static" and isinstance(words["steps"], int) and words["steps"] > 20:
        words["steps"] = 20  # more are no mistake, and take their time
    with limited():
        call(**words)


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_understood(name):
    call, words = CALLS[name]
    call(**words)


numbers = st.integers(0, 10**4)
changes = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=2)


@seed(1)
@settings(common, max_examples=40)
@given(st.sampled_from(sorted(set(CALLS) - {"linearize", "modes", "shake", "static", "simulate_ensemble"})), changes)
@example("response", [(0, 1036)])  # a frequency of 1e300 Hz
def test_some(name, changed):
    tried(name, changed)


@pytest.mark.slow
def test_many():
    @seed(SEED)
    @settings(common, max_examples=TRIES)
    @given(st.sampled_from(sorted(CALLS)), changes)
    def many(name, changed):
        tried(name, changed)

    many()
