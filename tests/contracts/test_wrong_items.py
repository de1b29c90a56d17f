"""Items of one's own with a mistake: each is refused by name, in runs, modes and linear models, and none is wrong
without a word."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
from models import of_parts, refuses
from oracles.rigid_motions import check_known_motions

import femb
from femb.elements import registry
from femb.elements.control.control_law import LinearControl
from femb.elements.control.controller import Controller
from femb.elements.control.errors import Errors
from femb.elements.control.linear_law import Realisation
from femb.elements.control.sensor import Sensor
from femb.elements.control.signals import Signal, rows_of, signal_of
from femb.elements.frame_forces import FrameForces
from femb.elements.item import Item
from femb.elements.joint.coordinates import ANGLE, LINE, LOCK, PARALLEL, SPHERICAL, STROKE, Z
from femb.elements.joint.joint import Joint
from femb.elements.marker import Place
from femb.layout.element import Batch
from femb.layout.numbering import InternalQuantity
from femb.layout.symmetry import NO_MOTION
from femb.layout.terms import Force, ForcePart, MassMatrix
from femb.numerics.compiler.traced import traced
from femb.numerics.vector3 import MovingFrame, scatter
from femb.system.system import System

Row = Annotated[Any, (1,)]


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


# Motions that an item declares, and its forces resist


@traced
def to_the_middle(row: Row, inputs: tuple[()], a: MovingFrame, b: MovingFrame, c: MovingFrame) -> Any:
    f = row[0] * (0.5 * (b.r + c.r) - a.r)
    return f, -0.5 * f, -0.5 * f


class Middles(FrameForces):
    force = to_the_middle

    def __init__(self, items, layout, model):
        frames = [tuple(layout.bodies[name] for name in each.bodies) for each in items]
        super().__init__(layout, frames, [(each.stiffness,) for each in items])


@dataclass(frozen=True, eq=False)
class Middle(Item):
    """A spring from a body to the middle of two others."""

    table: ClassVar[str] = "middles"
    kind: ClassVar[str] = "middle"

    name: str
    bodies: tuple
    stiffness: float = 8.0
    coupled: bool = True
    with_host: bool = False
    says: bool = False

    @property
    def turns_with_host(self):
        return self.with_host

    @property
    def markers(self):
        return {("bodies", str(k)): Place(name) for k, name in enumerate(self.bodies)}

    def symmetry(self, around):
        return NO_MOTION if self.says and around.hold(self.frames(around.layout)) else super().symmetry(around)

    def declare_dofs(self, layout, placement, model):
        if self.coupled:
            layout.couple([layout.bodies[name] for name in self.bodies])

    @staticmethod
    def batches(items, layout, model):
        return [Middles(items, layout, model)]


def middled(*bodies, stiff=0.0, **words):
    """A mass of 2 kg on a spring of 8 N/m; stiff : N/m, of a spring between others that stays as it is."""
    femb.register(Middle)
    model = of_parts(
        femb.PointMass("a", 2.0, position=(1.0, 0.0, 0.0)), femb.PointMass("h", 1e6), femb.PointMass("g", 1e6),
        femb.RigidBody("hub", 1.0, 1.0, position=(3.0, 2.0, 1.0)), Middle("m", bodies, **words),
    )  # fmt: skip
    if stiff:
        model.add(femb.PointMass("end", 1.0, position=(4.0, 0.0, 0.0)))
        ends = femb.SpringEnd("a"), femb.SpringEnd("end")
        model.add(femb.SpringDamper("stiff", *ends, stiffness=stiff))
    return model


ANALYSES = [lambda model: femb.modes(model, 1), femb.linearize]


@pytest.mark.parametrize("bodies", [("a", "ground", "ground"), ("ground", "a", "ground"), ("a", "h", "ground")])
@pytest.mark.parametrize("stiff", [0.0, 1e5])
@pytest.mark.parametrize("analysis", ANALYSES)
def test_an_item_on_the_ground_that_says_that_it_turns_with_its_host(bodies, stiff, analysis):
    text = r"middles\.m: its forces resist a rigid motion that its class declares not to notice: give it a method 'symm"
    refuses(text, analysis, middled(*bodies, with_host=True, stiff=stiff))


@pytest.mark.parametrize("bodies", [("a", "h", "g"), ("a", "h", "h")])
@pytest.mark.parametrize("analysis", ANALYSES)
def test_an_item_that_does_not_couple_its_bodies(bodies, analysis):
    text = r"middles\.m: its forces depend on bodies that it does not couple: let declare_dofs .* layout\.couple"
    refuses(text, analysis, middled(*bodies, coupled=False))


def test_the_contract_of_items_sees_it_where_a_body_is_held():
    """As ``tests/contracts/test_items.py`` holds one of two bodies in turn."""
    system = System(middled("a", "h", "h", with_host=True), assemble=True)
    rng, fixed = np.random.default_rng(1), [system.layout.bodies["h"]]
    at = 0.0, system.q0, rng.standard_normal(system.n_v), rng.standard_normal(system.n_v)
    check_known_motions(system, *at)
    with pytest.raises(AssertionError):
        check_known_motions(system, *at, fixed)


@pytest.mark.parametrize("words", [{"bodies": ("a", "ground", "ground"), "says": True}, {"bodies": ("a", "h", "g")}])
def test_the_same_item_as_it_should_be(words):
    bodies = words.pop("bodies")
    np.testing.assert_allclose(2.0 * np.pi * femb.modes(middled(*bodies, **words), 1).frequencies[0], 2.0, rtol=2e-6)
    values = femb.linearize(middled(*bodies, **words)).eigenvalues()
    np.testing.assert_allclose(np.max(values.imag), 2.0, rtol=2e-6)


# Masses


class SliderBatch(Batch):
    """Slides without forces but their inertia, along x of a body that does not turn."""

    def __init__(self, items, layout, model):
        numbers = [layout.internal_number(each.table, each.name, "stroke") for each in items]
        bodies = [layout.bodies[each.body] for each in items]
        self.starts = np.stack([layout.frame_v[bodies], layout.internal_v[numbers]], axis=1)
        self.has, self.sizes = items[0].has_mass, items[0].sizes
        if items[0].says_gravity:
            self.gravity = np.array(model.gravity)

    def forces(self):
        return [Force(self.inertia, (), "a", ForcePart.INERTIA)]

    def tangents(self):
        return []

    def masses(self):
        return [MassMatrix(self.mass, (), self.starts, self.sizes)] if self.has else []

    def inertia(self, a, out):
        for frame, stroke in self.starts:
            force = a[:, frame] + a[:, stroke]
            out[:, frame] += force
            out[:, stroke] += force
            out[:, frame + 1 : frame + 3] += a[:, frame + 1 : frame + 3]

    def mass(self, offset, stride, q, mass):
        matrix = np.eye(4)
        matrix[0, 3] = matrix[3, 0] = 1.0
        starts, sizes = np.array([0, 3]), np.array([3, 1])
        for each in mass:
            for blocks in zip(offset, stride, strict=True):
                scatter(matrix, starts, sizes, *blocks, each)


@dataclass(frozen=True, eq=False)
class Slider(Item):
    """A mass in a slot."""

    table: ClassVar[str] = "sliders"
    kind: ClassVar[str] = "slider"
    turns_with_host: ClassVar[bool] = True

    name: str
    body: str
    has_mass: bool = True
    says_gravity: bool = True
    sizes: tuple = (3, 1)

    @property
    def markers(self):
        return {("body",): Place(self.body)}

    def declare_dofs(self, layout, placement, model):
        frame = layout.bodies[self.body]
        layout.couple([frame], [layout.add_internal(self.name, InternalQuantity("stroke", "m"), frame, self.table)])

    @staticmethod
    def batches(items, layout, model):
        return [SliderBatch(items, layout, model)]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"has_mass": False}, "its coordinate 'stroke' has no mass: let masses"),
        ({"sizes": (3,)}, r"MassMatrix: got starts \(1, 2\) and sizes \(3,\), wanted"),
        ({"says_gravity": False}, "the batch SliderBatch has masses, but does not say its gravity"),
    ],
)
@pytest.mark.parametrize("analysis", [*ANALYSES, lambda model: femb.simulate(model, duration=1.0)])
def test_an_item_without_what_its_mass_needs(words, text, analysis):
    femb.register(Slider)
    model = of_parts(femb.PointMass("a", 2.0), Slider("s", "a", **words))
    refuses(rf"sliders\.s: {text}", analysis, model)


def test_a_mass_as_it_should_be():
    femb.register(Slider)
    results = femb.simulate(
        of_parts(femb.PointMass("a", 2.0, velocity=(1.0, 2.0, 0.0)), Slider("s", "a")), duration=1.0
    )
    np.testing.assert_allclose(results.bodies["a"].position[-1], (1.0, 2.0, 0.0), atol=1e-9)


# What is right: a sensor of one's own connects nothing


@dataclass(frozen=True, eq=False)
class Gap(Speed):
    """The velocity of a body beside another one that it names too."""

    kind: ClassVar[str] = "gap"
    target: str = "b"

    @property
    def markers(self):
        return {("body",): Place(self.body), ("target",): Place(self.target)}


def test_a_sensor_between_two_bodies_is_no_connection():
    femb.register(Gap)
    hub, free = femb.RigidBody("a", 10.0, 1.0), femb.PointMass("b", 2.0, position=(3.0, 0.0, 0.0))
    results = femb.simulate(of_parts(hub, free, Gap("gap", "a", period=0.5)), duration=1.0)
    assert list(results.appendages) == []


# Functions of a batch that raise, and forces that are no numbers


class DraggedBatch(Batch):
    def __init__(self, items, layout, model):
        self.at, self.item = int(layout.frame_v[layout.bodies[items[0].body]]), items[0]

    def forces(self):
        return [Force(self.drag, (), "v")]

    def drag(self, v, out):
        speed, item = v[:, self.at], self.item
        fails = speed > item.limit
        if item.raises and np.any(fails):
            raise ZeroDivisionError("no such speed")
        out[:, self.at] += np.where(fails, np.nan, -item.push)


@dataclass(frozen=True, eq=False)
class Dragged(Item):
    """A force along x that fails above a speed."""

    table: ClassVar[str] = "drags"
    kind: ClassVar[str] = "dragged"
    turns_with_host: ClassVar[bool] = True

    name: str
    body: str
    raises: bool
    limit: float = 0.5
    push: float = 1.0

    @property
    def markers(self):
        return {("body",): Place(self.body)}

    @staticmethod
    def batches(items, layout, model):
        return [DraggedBatch(items, layout, model)]


def dragged(**words):
    femb.register(Dragged)
    return of_parts(femb.PointMass("a", 1.0), Dragged("d", "a", **words))


@pytest.mark.parametrize("method", ["radau", "rk"])
def test_a_run_stops_where_a_force_fails_by_the_name_of_its_item(method):
    """Before half a second, at which the speed is the limit."""
    refuses(
        r"after t = 0\.[1-5]\d* s: drags\.d: drag raised ZeroDivisionError: no such speed", femb.simulate,
        dragged(raises=True), error=femb.SolveError, duration=1.0, method=method,
    )  # fmt: skip
    refuses(
        r"drags\.d returned \w+ that are NaN or infinite at t = 0\.(49|5)\d* s", femb.simulate,
        dragged(raises=False), error=femb.SolveError, duration=1.0, method=method,
    )  # fmt: skip


@pytest.mark.parametrize("analysis", ANALYSES)
def test_analyses_name_the_item_whose_force_fails(analysis):
    refuses("drags.d: drag raised ZeroDiv", analysis, dragged(raises=True, limit=-1.0), error=femb.SolveError)
    text = "drags.d returned (forces|derivatives) that are NaN or infinite"
    refuses(text, analysis, dragged(raises=False, limit=-1.0), error=femb.SolveError)


# Classes that are not registered


def joint_of(**members):
    return dataclass(frozen=True, eq=False)(type("Own", (Joint,), {"kind": "own", **members}))


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"rows": (*LINE, ("dot1", Z, 7))}, r"rows: got \('dot1', 2, 7\), wanted point of 1 axes"),
        ({"rows": (*LINE, ("dot3", Z))}, r"rows: got \('dot3', 2\), wanted"),
        ({"rows": (*SPHERICAL, *PARALLEL), "coordinates": (STROKE,)}, "coordinates: 'stroke' is held by the rows"),
        ({"rows": (*LINE, *PARALLEL, *LOCK), "coordinates": (ANGLE,)}, "coordinates: 'angle' is held by the rows"),
        ({"rows": LINE, "results": femb.Model}, "results: got .*Model.*, wanted a class derived from femb.base.quant"),
    ],
)
def test_a_class_whose_members_are_wrong(members, text):
    refuses(f"Own.{text}", femb.register, joint_of(**members))


def test_joints_of_the_catalogue_hold_none_of_their_coordinates():
    assert [kind for kind in registry.kinds() if kind.class_problem()] == []


STATES_OUT_OF_BALANCE = {
    "preloaded hinge": [femb.JointSpringDamper("k", joint="h", stiffness=3.0, free=-0.5)],
    "curve of a constant force": [femb.JointCurve("k", joint="h", coordinates=[-4.0, 4.0], forces=[0.0555, 0.0555])],
    "torque in space": [
        femb.JointSpringDamper("k", joint="h", stiffness=3.0),
        femb.Load("l", body="hub", torque=(0.3, 0.2, 0.1)),
    ],
    "force beside the centre": [femb.Load("l", body="hub", at=(0.3, 0.2, 0.1), force=(1.0, 2.0, 3.0))],
    "torque of the body": [femb.Load("l", body="hub", torque=(0.3, 0.2, 0.1), frame="body")],
}


@pytest.mark.parametrize("word", STATES_OUT_OF_BALANCE)
def test_states_out_of_balance_are_no_wrong_declarations(word):
    """Accelerations and reactions turn with a structure: items are asked one by one."""
    model = femb.Model("hinged")
    model.add(femb.RigidBody("hub", mass=50.0, inertia=(5.0, 6.0, 7.0)))
    model.add(femb.RigidBody("two", mass=3.0, inertia=(0.3, 0.2, 0.1)))
    ends = femb.JointEnd("hub", at=(0.5, 0, 0), axis=(0, 1, 0)), femb.JointEnd("two", at=(-0.5, 0, 0))
    for item in (femb.Revolute("h", *ends, start=0.3), *STATES_OUT_OF_BALANCE[word]):
        model.add(item)
    assert len(femb.linearize(model).A) == 14
