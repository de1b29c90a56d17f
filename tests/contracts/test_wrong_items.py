"""Items of one's own with a mistake: each is refused by name, in runs, modes and linear models, and none is wrong
without a word."""

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from models import of_parts, refuses

import femb
from femb.elements import registry
from femb.elements.control.control_law import LinearControl
from femb.elements.control.controller import Controller
from femb.elements.control.errors import Errors
from femb.elements.control.linear_law import Realisation
from femb.elements.control.sensor import Sensor
from femb.elements.control.signals import Signal, rows_of, signal_of


@pytest.fixture(autouse=True)
def own(monkeypatch):
    """Register classes for one test."""
    monkeypatch.setattr(registry, "_registered", [])
    return femb.register


# A law and a sensor whose arrays do not fit

POLE, GAIN, PERIOD = 0.5, 1.5, 0.5
RIGHT = {"A": [[POLE]], "B": [[1.0 - POLE, 0.0, 0.0]], "C": [[GAIN], [0.0], [0.0]], "D": np.zeros((3, 3))}


@dataclass(frozen=True, eq=False)
class Speed(Sensor):
    """The velocity of a body."""

    kind: ClassVar[str] = "speed"
    unit: ClassVar[str] = "m/s"

    name: str
    body: str
    values: int = 3
    rows: int = 3
    says: int = 3

    def truth(self, layout, model):
        true = signal_of(layout, model, f"bodies.{self.body}.velocity")

        def rows(t, q, v):
            return tuple(each[: self.rows] for each in rows_of(true)(t, q, v))

        return Signal(
            "speed", "m/s", self.says, lambda state, discrete: true.value(state, {})[: self.values], (), rows
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Lag(Controller):
    """A lag of first order."""

    kind: ClassVar[str] = "lagged"

    name: str
    matrices: dict
    states: int = 1
    reference: int = 3

    reads = ("sensors.speed",)
    sets = ("loads.push.force",)

    def start_state(self, layout, model):
        return np.zeros(self.states)

    def law(self, layout, model):
        errors = Errors(self.signals(layout, model), lambda t: np.zeros(self.reference))
        errors.constant = np.zeros(self.reference)
        return LinearControl(Realisation(**self.matrices), errors, self.limits(layout, model))


def controlled(law, **sensor):
    femb.register(Speed)
    femb.register(Lag)
    return of_parts(
        femb.PointMass("a", 10.0, velocity=(0.3, 0.0, 0.0)), femb.Load("push", body="a", force=(0.0, 0.0, 0.0)),
        Speed("speed", "a", period=PERIOD, **sensor), law,
    )  # fmt: skip


def test_poles_of_a_law_of_ones_own():
    """Of matrices of integers too: v+ = v + (h/m) c z, z+ = p z + (1 - p) v."""
    law = Lag("law", RIGHT | {"B": [[1, 0, 0]], "C": [[-2], [0], [0]], "D": np.zeros((3, 3), dtype=int)}, period=PERIOD)
    wanted = np.log(np.linalg.eigvals([[1.0, -2.0 * PERIOD / 10.0], [1.0, POLE]]).astype(complex)) / PERIOD
    poles = femb.loop(controlled(law)).poles()
    for pole in wanted:
        assert np.min(np.abs(poles - pole)) < 1e-9


@pytest.mark.parametrize(
    ("word", "change"),
    [
        ("A", {"A": np.eye(2)}), ("B", {"B": [[1.0]]}), ("C", {"C": [[GAIN]]}), ("D", {"D": np.zeros((1, 3))}),
        ("A", {"states": 2}), ("A", {"states": 0}), ("reference", {"reference": 1}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("analysis", [femb.loop, lambda model: femb.simulate(model, duration=1.0)])
def test_a_law_whose_arrays_do_not_fit(word, change, analysis):
    words = {key: change[key] for key in ("states", "reference") if key in change}
    law = Lag("law", RIGHT | {key: change[key] for key in RIGHT if key in change}, period=PERIOD, **words)
    refuses(
        rf"controllers\.law: law: {word}: got an array .*, wanted .*reads sensors\.speed \(3\) and sets "
        r"loads\.push\.force \(3\)",
        analysis, controlled(law),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"values": 1}, "value: got an array (1,), wanted (3,), by its width 3"),
        ({"says": 1}, "got a signal of width 1, wanted 3"),
        ({"rows": 2}, "rows: got an array (2, 3), wanted (3, 3), by its width 3"),
    ],
)
def test_a_sensor_whose_arrays_do_not_fit(words, text):
    model = controlled(Lag("law", RIGHT, period=PERIOD), **words)
    refuses(rf"sensors\.speed: truth: {re.escape(text)}", femb.loop, model)
    if "rows" not in words:
        refuses(rf"sensors\.speed: truth: {re.escape(text)}", lambda: femb.simulate(model, duration=1.0))
