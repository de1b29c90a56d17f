"""Items of users that declare as little as they may: forces alone, or not what they notice."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pytest

import femb
from femb.base.errors import ModelError
from femb.base.quantity import Group, Quantity
from femb.base.types import Unit, Vector
from femb.elements import registry
from femb.elements.item import Item
from femb.elements.marker import Place
from femb.layout.element import Batch
from femb.layout.numbering import InternalQuantity
from femb.layout.symmetry import AXES, Symmetry, twists
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix
from femb.numerics.rotations import cross_matrix, rotation_matrix
from femb.numerics.vector3 import scatter
from femb.vibration.solution import solution

STARTS, SIZES = np.array([0, 6]), np.array([6, 1])


class AbsorberResults(Group):
    word: ClassVar[str] = "absorber"
    stroke = Quantity("(T,)", "m", "of the mass along the line", coordinate="stroke")


@dataclass(frozen=True, eq=False)
class Absorber(Item):
    """A mass on a line of a body, on a spring with a cubic part and a dashpot."""

    table: ClassVar[str] = "absorbers"
    kind: ClassVar[str] = "cubic"
    results: ClassVar[type[Group]] = AbsorberResults

    name: str
    body: str
    mass: Annotated[float, Unit("kg")] = 1.5
    stiffness: Annotated[float, Unit("N/m")] = 30.0
    cubic: Annotated[float, Unit("N/m3")] = 400.0
    damping: Annotated[float, Unit("N s/m")] = 0.3
    at: Annotated[Vector, Unit("m")] = (0.2, 0.5, -0.1)
    axis: Annotated[Vector, Unit("")] = (0.0, 0.0, 1.0)

    def declare_dofs(self, layout, placement, model):
        frame = layout.bodies[self.body]
        layout.couple([frame], [layout.add_internal(self.name, InternalQuantity("stroke", "m"), frame, self.table)])

    @staticmethod
    def batches(items, layout, model):
        return [AbsorberBatch(item, layout, model) for item in items]


class AbsorberBatch(Batch):
    """Forces, a mass and an energy, in numpy; no tangents."""

    def __init__(self, item, layout, model):
        self.item, frame = item, layout.bodies[item.body]
        number = layout.internal_number(item.table, item.name, "stroke")
        self.i, self.j = layout.frame_q[frame], layout.frame_v[frame]
        self.xq, self.xv = layout.internal_q[number], layout.internal_v[number]
        self.gravity = np.asarray(model.gravity, dtype=float)

    def forces(self):
        return [Force(self.inertia, (), "qva", ForcePart.INERTIA), Force(self.elastic, (), "q", ForcePart.ELASTIC),
                Force(self.dashpot, (), "v")]  # fmt: skip

    def places(self, q, v):
        """For each state the 3 x 7 map from velocities to that of the mass, its axes and what it is without a'."""
        for s in range(len(q)):
            R, axis = rotation_matrix(q[s, self.i + 3 : self.i + 7]), np.asarray(self.item.axis)
            arm, w = self.item.at + q[s, self.xq] * axis, v[s, self.j + 3 : self.j + 6]
            by = np.hstack([np.eye(3), -R @ cross_matrix(arm), (R @ axis)[:, None]])
            yield s, by, R @ (np.cross(w, np.cross(w, arm)) + 2.0 * np.cross(w, axis) * v[s, self.xv]), R @ arm

    def own(self, x, s):
        """The seven numbers of the item in a vector of the system."""
        return np.append(x[s, self.j : self.j + 6], x[s, self.xv])

    def inertia(self, q, v, a, out):
        for s, by, rest, _ in self.places(q, v):
            force = self.item.mass * by.T @ (by @ self.own(a, s) + rest - self.gravity)
            out[s, self.j : self.j + 6] += force[:6]
            out[s, self.xv] += force[6]

    def elastic(self, q, out):
        x = q[:, self.xq]
        out[:, self.xv] += self.item.stiffness * x + self.item.cubic * x**3

    def dashpot(self, v, out):
        out[:, self.xv] += self.item.damping * v[:, self.xv]

    def masses(self):
        return [MassMatrix(self.mass, (), np.array([[self.j, self.xv]]), (6, 1))]

    def mass(self, offset, stride, q, out):
        for s, by, _, _ in self.places(q, np.zeros((len(q), out.shape[1]))):
            scatter(self.item.mass * by.T @ by, STARTS, SIZES, offset[0], stride[0], out[s])

    def energies(self):
        return [Energy(self.energy, ())]

    def energy(self, q, v, out):
        for s, by, _, arm in self.places(q, v):
            velocity, x, m = by @ self.own(v, s), q[s, self.xq], self.item.mass
            place = q[s, self.i : self.i + 3] + arm
            out[s, 0] += 0.5 * m * velocity @ velocity
            out[s, 1] += 0.5 * self.item.stiffness * x**2 + 0.25 * self.item.cubic * x**4 - m * place @ self.gravity
            out[s, 2:] += m * np.concatenate([velocity, np.cross(place, velocity)])


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [Absorber, Pull, Unnamed, Tied])


def on_hub(*items, **words):
    """A hub whose mass centre is beside its origin."""
    model = femb.Model("own", **words)
    model.add(femb.RigidBody("hub", 20.0, (2.0, 3.0, 4.0), center_of_mass=(0.05, 0.0, 0.0)))
    for item in items:
        model.add(item)
    return model


def test_an_element_of_forces_alone_has_the_poles_of_its_closed_form():
    """A body with an absorber moves freely: the inverse of the whole mass gives the mass that the spring meets."""
    absorber = Absorber("t", "hub")
    mass = np.zeros((7, 7))
    for m, arm, along in ((20.0, (0.05, 0.0, 0.0), 0.0), (1.5, absorber.at, 1.0)):
        by = np.hstack([np.eye(3), -cross_matrix(np.asarray(arm, dtype=float)), along * np.array([[0.0, 0.0, 1.0]]).T])
        mass += m * by.T @ by
    mass[3:6, 3:6] += np.diag([2.0, 3.0, 4.0])
    wanted = np.roots([1.0 / np.linalg.inv(mass)[6, 6], 0.3, 30.0])
    linear = femb.linearize(on_hub(absorber), inputs=["bodies.hub.force"], outputs=["absorbers.t.stroke"])
    poles = np.linalg.eigvals(linear.A)
    np.testing.assert_allclose(min(abs(poles - wanted[0])), 0.0, atol=1e-8)
    np.testing.assert_allclose(femb.modes(on_hub(Absorber("t", "hub", damping=0.0)), 1).frequencies, 0.80289, rtol=1e-4)


def test_an_element_of_forces_alone_has_its_equilibrium_and_the_modes_about_it():
    """On a held body a cubic spring carries the mass, and its slope there gives the frequency."""
    weld = femb.elements.Fixed("weld", femb.JointEnd("ground"), femb.JointEnd("hub"))
    model = on_hub(weld, Absorber("t", "hub", damping=0.0), gravity=(0.0, 0.0, -9.81))
    (x,) = (root.real for root in np.roots([400.0, 0.0, 30.0, 1.5 * 9.81]) if abs(root.imag) < 1e-9)
    np.testing.assert_allclose(femb.static(model, steps=1).absorbers["t"].stroke[-1], x, rtol=1e-8)
    found = femb.modes(model, 1, start="equilibrium").frequencies
    np.testing.assert_allclose(found, np.sqrt((30.0 + 1200.0 * x**2) / 1.5) / (2.0 * np.pi), rtol=1e-8)


@dataclass(frozen=True, eq=False)
class Pull(Item):
    """A spring from a body to the inertial origin, which does not say what it notices."""

    table: ClassVar[str] = "pulls"
    kind: ClassVar[str] = "named"
    named: ClassVar[bool] = True

    name: str
    body: str

    @property
    def markers(self):
        return {("body",): Place(self.body)} if self.named else {}

    @staticmethod
    def batches(items, layout, model):
        return [PullBatch(layout, item) for item in items]


class PullBatch(Batch):
    """40 N/m."""

    def __init__(self, layout, item):
        self.i, self.j = (numbers[layout.bodies[item.body]] for numbers in (layout.frame_q, layout.frame_v))

    def forces(self):
        return [Force(self.force, (), "q", ForcePart.ELASTIC)]

    def force(self, q, out):
        out[:, self.j : self.j + 3] += 40.0 * q[:, self.i : self.i + 3]


class Unnamed(Pull):
    """The same without the name of its frame."""

    kind: ClassVar[str] = "unnamed"
    named: ClassVar[bool] = False


class Tied(Pull):
    """The same, which names the point."""

    kind: ClassVar[str] = "tied"

    @property
    def anchors(self):
        return {("point",): np.zeros(3)}

    def symmetry(self, around):
        return Symmetry.of(twists(turns=AXES))


def test_a_force_on_one_body_must_say_what_it_notices():
    for analyse in (femb.modes, lambda model: femb.linearize(model, inputs=["bodies.hub.force"])):
        with pytest.raises(ModelError, match=r"pulls\.p does not say which rigid motions .* 'symmetry'"):
            analyse(on_hub(Pull("p", "hub")))


def test_forces_of_the_motion_must_say_of_which():
    with pytest.raises(ModelError, match=r"pulls\.p: its batch gives forces .* 'markers'"):
        femb.System(on_hub(Unnamed("p", "hub")))


def test_shares_of_energy_name_a_coordinate_of_an_item():
    model = on_hub(Absorber("t", "hub", damping=0.0))
    for held in ("hub", None):
        names, shares = solution(model, 1, held=held).energy
        np.testing.assert_allclose(shares[0, names.index("absorbers.t")], 1.0)
        np.testing.assert_allclose(shares.sum(), 1.0)


def test_derivatives_of_modes_build_elements_of_forces_alone_anew(tmp_path):
    """f = sqrt(k/m) / 2 pi of what is on a held hub, by k."""
    text = "[bodies.hub]\nmass = 20.0\ninertia = 2.0\n[absorbers.t]\nbody = 'hub'\nstiffness = 30.0\ndamping = 0.0\n"
    (path := tmp_path / "case.toml").write_text(text)
    found = femb.sensitivities(path, ["natural_frequency held=hub"], ["absorbers.t.stiffness"])
    np.testing.assert_allclose(found.derivatives, np.sqrt(20.0) / (120.0 * np.pi), rtol=1e-8)


def test_a_place_in_space_holds_what_is_tied_to_it():
    model = on_hub(Tied("k", "hub"), femb.Load("f", body="hub", force=(4.0, 0.0, 0.0)))
    np.testing.assert_allclose(femb.static(model, steps=1).bodies["hub"].position[-1], (0.1, 0.0, 0.0), atol=1e-8)


def test_a_coordinate_on_a_held_hub_is_of_no_appendage():
    with pytest.raises(ModelError, match=r"absorbers\.t: its stroke is on what is held .* a body on a joint"):
        femb.handover.hybrid_coordinates(on_hub(Absorber("t", "hub")), held="hub")
