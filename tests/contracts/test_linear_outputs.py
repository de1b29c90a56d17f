"""Linear outputs of every item of the catalogue: rows against difference quotients of the nonlinear quantities.

At states with arbitrary velocities, accelerations, multipliers and inputs, so that every row is tried on its own.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from contracts.test_items import EXAMPLES, SECTION, SMOOTH, state
from oracles.modal_example import Particles

import femb
from femb import elements as e
from femb.base.errors import ModelError
from femb.elements import registry
from femb.elements.item import Item, ItemStates, given_values
from femb.elements.joint.records import JointReactions
from femb.elements.marker import Attachment, JointEnd, SpringEnd
from femb.elements.modal.batch import ModalBatch
from femb.elements.private_blocks import FieldOnElements
from femb.layout.element import Batch, Input
from femb.layout.layout import Station
from femb.layout.numbering import InternalQuantity
from femb.layout.protocols import LoadsInterfaces
from femb.layout.state import internal_rows, station_acceleration, station_motion
from femb.layout.terms import Force, ForcePart, MassMatrix, Tangent
from femb.linear.chart import driven_inputs, driver_slopes
from femb.linear.state_space import StateSpace
from femb.numerics import rotations
from femb.numerics.vector3 import scatter
from femb.recording.frames import Frames
from femb.small_motions.channels import default_outputs, known_outputs, output
from femb.small_motions.point import OperatingPoint, with_differences
from femb.system.system import System

STEP = 1e-3


def clamped():
    """A beam from the ground to a point mass, and a joint on it: reactions on frames of every freedom."""
    model = femb.Model("clamped", gravity=(0.3, -9.0, 1.0))
    model.add(e.Beam("boom", SECTION, 1.0, 2, start=Attachment("ground", direction=(1.0, 0.2, 0.0))))
    model.add(e.PointMass("p", mass=0.4))
    model.add(e.Spherical("ball", JointEnd(beam="boom", node=-1, at=(0.1, 0.2, 0.0)), JointEnd("p")))
    model.add(e.ThermalLoad("sun", "boom", strain=(0.01, 0.1, 0.2, -0.1), profile=SMOOTH))
    words = {"force": ((1, 2, 3), (2, 0, 1)), "torque": (0.1, 0.2, 0.0)}
    model.add(e.DistributedLoad("pressure", "boom", **words, frame="body", profile=SMOOTH))
    model.add(e.DistributedLoad("wind", "boom", force=(0.0, 1.0, 2.0)))
    return model


def carried():
    """A flexible body that carries a free body, in a field, with an interface on the ground."""
    model = femb.Model("carried")
    model.add(e.RigidBody("hub", mass=2.0, inertia=(1.0, 2.0, 2.5)))
    root = Attachment("ground", (0.2, 0.0, 0.1), direction=(1.0, 0.3, 0.0))
    ends = {"p1": Attachment("hub", (-0.1, 0.2, 0.0), direction=(0.1, 0.8, 0.3))}
    body = Particles(interfaces=3).reduced(consistent=True)
    model.add(e.FlexibleBody("panel", body, start=root, interfaces=ends))
    model.add(e.GravityGradient("orbit", rate=0.7, radial=(1.0, 2.0, 0.0), normal=(2.0, -1.0, 3.0)))
    return model


def gauged():
    """Gauges on a curved and tapered beam that is heated, and on a flexible body."""
    model = EXAMPLES[e.ExactBeam]()
    model.add(e.StrainGauge("s", "boom", station=0.4, point=(0.02, -0.03), period=1.0))
    body = Particles(interfaces=3).reduced(consistent=True)
    rows = np.random.default_rng(4).standard_normal((2, body.size))
    root = Attachment("b", (0.2, 0.0, 0.1), direction=(1.0, 0.3, 0.0))
    model.add(e.FlexibleBody("panel", replace(body, recovery=rows, recovery_names=("g1", "g2")), start=root))
    model.add(e.StrainGauge("r", body="panel", recovery="g2", period=1.0))
    return model


def sensing():
    """Sensors on a beam node with axes of their own, on an orbit whose field and tides change from point to point."""
    model = EXAMPLES[e.DipoleField]()
    words = {"beam": "boom", "node": 1, "at": (0.1, 0.2, 0.3), "axes": (0.8, 0.6, 0.0, 0.0), "period": 1.0}
    for kind in (e.Accelerometer, e.Magnetometer, e.AttitudeSensor, e.Gyro, e.PositionSensor):
        model.add(kind(f"of {kind.kind}", **words))
    model.add(e.PositionSensor("from", relative_to="a", **words))
    model.add(e.SunSensor("sun", sun=(1.0, -2.0, 0.5), **words))
    return model


MODELS = {kind.__name__: example for kind, example in EXAMPLES.items()}
MODELS |= {"clamped": clamped, "carried": carried, "gauged": gauged, "sensing": sensing}


def point_of(system, seed=0):
    """An operating point with velocities, accelerations, reactions and inputs of any size."""
    t, u, q, v, a = state(system, seed, on_constraints=True)
    multipliers = np.random.default_rng(seed).standard_normal(system.n_c)
    return OperatingPoint(system.at(q), t, u, q, v, a, multipliers)


def frames_at(point):
    """The point as one output instant."""
    arrays = (point.q, point.v, point.u, point.a, point.multipliers)
    q, v, u, a, multipliers = (np.ascontiguousarray(each[None]) for each in arrays)
    coordinates, rates, _ = point.system.coordinates_of_joints.measure(q, v)
    none = np.zeros(1), np.zeros((1, 2))
    return Frames(np.array([point.t]), q, v, none[0], u, a, multipliers, coordinates, rates, none[1])


class Seen:
    """A point as sensors read it."""

    def __init__(self, point):
        self.q, self.v, self.time, self.coordinates = point.q, point.v, point.t, frames_at(point).coordinates[0]
        self.accelerations = lambda: point.a


def motion_of(point, station, word):
    """A quantity of ``STATION_MOTION``; of the attitude the quaternion."""
    layout, frames = point.system.layout, frames_at(point)
    words = ("position", "turn", "velocity", "angular_velocity")
    if word in words:
        return station_motion(layout, station, frames.q, frames.v)[words.index(word)][0]
    linear, angular = station_acceleration(layout, station, frames.q, frames.v, frames.a)
    return (linear if word == "acceleration" else angular)[0]


def interface_load(point, name, interface, word):
    """Of an interface on what carries it, with all fields and loads inside, in its axes at its point."""
    system, frames = point.system, frames_at(point)
    batch = next(each for each in system.batches if isinstance(each, ModalBatch) and each.label == f"bodies.{name}")
    forces = batch.interface_forces(frames.q, frames.v, frames.a)
    for each in system.batches:
        of = lambda other, u, q, v, a: other.interface_forces(q, v, a)  # noqa: E731
        if isinstance(each, FieldOnElements):
            forces = forces + each.field_part(batch, of, frames.u, frames.q)
        if isinstance(each, LoadsInterfaces):
            each.add_interface_forces(batch, frames.u, frames.q, frames.v, forces)
    force, torque = np.split(forces[0, batch.names.index(interface)], 2)
    station = system.layout.flexible_bodies[name].stations[interface]
    quaternion = station_motion(system.layout, Station(station.frame), frames.q, frames.v)[1][0]
    local = rotations.rotate_back(quaternion, force)
    return station.axes.T @ (local if word == "interface_force" else torque - np.cross(station.offset, local))


def value(point, name):
    """The nonlinear quantity of an output at a point."""
    layout, frames = point.system.layout, frames_at(point)
    table, item, *rest = layout.parts_of(name)
    for each in point.system.items:
        if (each.table, each.name) == (table, item) and rest and rest[0] in each.given_quantities():
            inputs = {given.label: part for given, part in point.system.inputs.parts}
            at = ItemStates(each, layout, frames.time, frames.q, frames.v, frames.u, inputs, frames.a)
            return given_values(rest[0], each.given_quantities()[rest[0]], at)[0]
    internal = {f"{each.table}.{each.name}": k for k, each in enumerate(layout.internal)}
    base = name.removesuffix(" rate")
    if base in internal and layout.internal[internal[base]].quantity.first_order:
        # its value is a velocity
        return (point.v if base == name else point.a)[layout.internal_v[internal[base]]]
    if base in internal:
        return (point.q[layout.internal_q] if base == name else point.v[layout.internal_v])[internal[base]]
    if "interface_" in name:
        return interface_load(point, *name.split(".")[1:])
    if table == "sensors":
        sensor = next(each for each in point.system.items if (each.table, each.name) == (table, item))
        if isinstance(sensor, e.StrainGauge) and sensor.beam is not None:
            strains = sensor.strains(layout, point.system.model)
            places = {given.label: part.start for given, part in point.system.inputs.parts}
            heat = point.u[[places[each.label] for each in strains.inputs]]
            axial, _, about_y, about_z = strains.of(heat, point.q, 0.0 * point.v)
            return axial + sensor.point[1] * about_y - sensor.point[0] * about_z
        return sensor.truth(layout, point.system.model).value(Seen(point), {})
    if table == "bodies":
        return motion_of(point, Station(layout.bodies[item]), rest[0])
    if table == "couplings":
        coupling = next(each for each in point.system.items if (each.table, each.name) == (table, item))
        return coupling.records([coupling], point.system).series(frames)[f"couplings/{item}/force"][0]
    if table == "drivers":
        driver = next(each for each in point.system.items if (each.table, each.name) == (table, item))
        force = driver.records([driver], point.system).series(frames)[f"drivers/{item}/force"][0]
        if isinstance(driver, e.DistanceDriver):
            # recorded where the distance follows the motion
            ends = [
                station_motion(layout, layout.station(end), frames.q, frames.v)[0]
                for end in (driver.first, driver.second)
            ]
            force = force * np.linalg.norm(ends[1] - ends[0]) / driver.motion(point.t)
        return force
    if table in ("springs", "loads", "hinges"):
        records = [batch.records(frames, point.system.batches) for batch in point.system.batches]
        return next(block[path] for block in records if (path := f"{table}/{item}/{rest[0]}") in block)[0]
    if table == "joints":
        joint = layout.joints[item]
        if rest[0] in ("force", "torque"):
            return JointReactions(point.system, [joint]).at(frames)[rest[0] == "torque"][0, 0]
        k = joint.part.start + [each.name for each in joint.coordinates].index(rest[0].removesuffix(" rate"))
        return (frames.coordinates if " rate" not in rest[0] else frames.coordinate_rates)[0, k]
    assert table == "beams", name
    node, word = rest
    end = (0, 0) if node == "0" else (-1, 1)
    if word.startswith("section_"):
        with_mass = [each for each in point.system.batches if each.gravity is not None]
        batch = next(each for each in with_mass if item in getattr(each, "slices", ()))
        return batch.internal_loads(frames, point.system.batches)[f"beams/{item}/{word}"][0][end]
    if word.startswith("strain"):
        k = layout.beams[item].internal["strain"][end]
        return (point.q[layout.internal_q] if word == "strain" else point.v[layout.internal_v])[k]
    return motion_of(point, layout.beams[item].stations[int(node)], word)


def moved(point, step, dx, dv, da, dm, du):
    q = point.system.retract(point.q, step * dx)
    arrays = {"v": point.v + step * dv, "a": point.a + step * da, "multipliers": point.multipliers + step * dm}
    return replace(point, q=q, u=point.u + step * du, **arrays)


def difference(point, name, changes):
    """The change of a quantity, of order 6."""
    start = value(point, name)
    if np.shape(start) == (4,):

        def at(step):
            after = value(moved(point, step, *changes), name)
            return rotations.logarithm(rotations.multiply(rotations.conjugate(start), after))
    else:

        def at(step):
            return np.asarray(value(moved(point, step, *changes), name))

    pairs = [at(k * STEP) - at(-k * STEP) for k in (1, 2, 3)]
    return (45.0 * pairs[0] - 9.0 * pairs[1] + pairs[2]) / (60.0 * STEP)


def changes_of(point, rng):
    """Changes of the pose, v, a, multipliers and of the inputs that linear models have."""
    system, du = point.system, np.zeros(point.system.n_u)
    components = [k for _, k, _ in point.input_components()]
    du[components] = rng.standard_normal(len(components))
    return (*rng.standard_normal((3, system.n_v)), rng.standard_normal(system.n_c), du)


@pytest.mark.parametrize("name", MODELS)
def test_every_row_is_the_difference_quotient(name):
    system = System(MODELS[name](), assemble=True)
    point = point_of(system)
    names = known_outputs(point)
    assert set(default_outputs(point)) <= set(names)
    rng = np.random.default_rng(3)
    several = [changes_of(point, rng) for _ in range(2)]
    for each in names:
        rows = output(point, each)
        assert rows.unit
        for changes in several:
            dx, dv, da, dm, du = changes
            got = rows.pose @ dx + rows.velocity @ dv + rows.acceleration @ da
            got = got if rows.multipliers is None else got + rows.multipliers @ dm
            got = got if rows.by_input is None else got + rows.by_input @ du
            wanted = np.atleast_1d(difference(point, each, changes))
            size = 1.0 + np.max(np.abs(wanted)) + np.max(np.abs(value(point, each)))
            np.testing.assert_allclose(got, wanted, rtol=0.0, atol=3e-8 * size, err_msg=each)


@dataclass(frozen=True, eq=False)
class Wheel(Item):
    """A wheel on a bearing without friction along x of space, driven by a torque; a filter of its rate."""

    table: ClassVar[str] = "wheels"
    kind: ClassVar[str] = "wheel"

    name: str
    inertia: float

    def declare_dofs(self, layout, placement, model):
        first = layout.add_internal(self.name, InternalQuantity("angle", "rad"), None, self.table)
        layout.add_internal(
            self.name, InternalQuantity("filtered", "rad/s", tolerance=1e-7), None, self.table, block=first
        )

    @staticmethod
    def batches(items, layout, model):
        return [Wheels(items, layout)]

    def linear_outputs(self, layout):
        return {"momentum": True}

    def output_rows(self, point, quantity):
        rate = internal_rows(point, next(k for k, each in enumerate(point.system.layout.internal)), rate=True)
        return replace(rate, unit="N m s", velocity=self.inertia * rate.velocity) if quantity == "momentum" else None


class Wheels(Batch):
    def __init__(self, items, layout):
        (self.item,), self.places = items, layout.internal_v
        self.inputs = (Input(1, lambda t: 0.3, label=f"wheels.{self.item.name}.torque", unit="N m"),)

    def forces(self):
        return [Force(self.inertia, (), "va", ForcePart.INERTIA), Force(self.torque, (), "u")]

    def inertia(self, v, a, out):
        angle, filtered = self.places
        out[:, angle] += self.item.inertia * a[:, angle]
        out[:, filtered] += a[:, filtered] + 2.0 * (v[:, filtered] - v[:, angle])

    def torque(self, u, out):
        out[:, self.places[0]] -= u[:, self.first_input]

    def masses(self):
        return [MassMatrix(self.add, ([[self.item.inertia, 0.0], [0.0, 1.0]],), self.places[None, :1], (2,))]

    def tangents(self):
        return [Tangent(self.add, ([[0.0, 0.0], [-2.0, 2.0]],), self.places[None, :1], "q", "d")]

    def add(self, block, offset, stride, q, matrices):
        for data in matrices:
            scatter(np.array(block), np.array([0]), np.array([2]), offset[0], stride[0], data)


@pytest.fixture
def wheel(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [Wheel])
    model = EXAMPLES[e.RigidBody]()
    model.add(Wheel("rw", 0.2))
    return model


def test_a_new_item_has_inputs_and_outputs_by_its_declaration(wheel):
    """Coordinates, states, quantities and inputs of an item that no other file knows, with units."""
    names = [
        "wheels.rw.angle", "wheels.rw.angle rate", "wheels.rw.filtered", "wheels.rw.filtered rate",
        "wheels.rw.momentum",
    ]  # fmt: skip
    space = femb.linearize(wheel, inputs=["wheels.rw.torque"], outputs=names)
    for s in (0.3j, 2.0 + 1.0j):
        rate = 1.0 / (0.2 * s)
        wanted = [rate / s, rate, 2.0 * rate / (s + 2.0), 2.0 * rate * s / (s + 2.0), 1.0 / s]
        np.testing.assert_allclose(space.transfer(s)[:, 0], wanted, rtol=1e-12)
    units = [space.units[name] for name in (*space.inputs, *space.outputs)]
    assert units == ["N m", "rad", "rad/s", "rad/s", "rad/s2", "N m s"]
    default = femb.linearize(wheel)
    assert "wheels.rw.torque" in default.inputs
    assert "wheels.rw.momentum" in default.outputs
    sparse = femb.linear_model(wheel, inputs=["wheels.rw.torque"], outputs=names)
    np.testing.assert_allclose(sparse.transfer(0.3j)[:, 0], space.transfer(0.3j)[:, 0], rtol=1e-10)
    with pytest.raises(ModelError, match=r"wheels\.rw has wheels\.rw\.momentum, .*; did you mean 'wheels\.rw\.angle'"):
        femb.linearize(wheel, outputs=["wheels.rw.angel"])


def test_what_has_no_exact_rows_says_what_there_is():
    model = EXAMPLES[e.ModalDamping]()
    with pytest.raises(
        ModelError, match=r"there is no such output; modal_damping\.modal has no output with exact derivatives"
    ):
        femb.linearize(model, outputs=["modal_damping.modal.power"])


@pytest.mark.parametrize("kind", [each for each in EXAMPLES if each.table in ("drivers", "springs", "joints")])
def test_forces_of_drivers_springs_dampers_and_joints_are_outputs(kind):
    system = System(EXAMPLES[kind](), assemble=True)
    point = point_of(system)
    for item in system.items:
        if item.table in ("drivers", "springs", "joints"):
            assert output(point, f"{item.table}.{item.name}.force").unit in ("N", "N m")


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
def test_units_of_inputs_and_outputs_are_in_files(kind, tmp_path):
    """Of every item: each output has a unit, also of drivers as inputs, and a file gives them back."""
    point = point_of(System(EXAMPLES[kind](), assemble=True))
    outputs = [output(point, name) for name in known_outputs(point)]
    driven = driven_inputs(point.system, driver_slopes(point)[0])
    inputs = {name: point.input_unit(k) for _, k, name in point.input_components()} | driven
    units = {name: rows.unit for rows in outputs for name in rows.names}
    assert all(units.values())
    assert all(inputs.values())
    assert not set(units) & set(inputs)
    assert kind.table != "drivers" or "-" not in driven.values()
    names = (("x",), tuple(inputs), tuple(units))
    space = StateSpace(
        np.ones((1, 1)), np.ones((1, len(inputs))), np.ones((len(units), 1)), np.ones((len(units), len(inputs))),
        *names, units=units | inputs,
    )  # fmt: skip
    for suffix in (".npz", ".mat"):
        read = StateSpace.read(space.write(tmp_path / f"linear{suffix}"))
        assert (read.states, read.inputs, read.outputs) == names
        assert read.units == space.units


def test_a_results_file_has_the_units_of_a_linear_model(tmp_path):
    model = EXAMPLES[e.JointDriver]()
    space = femb.linearize(model, outputs=["joints.joint.angle"])
    path = space.write(tmp_path / "linear.h5")
    for read in (StateSpace.read(path), StateSpace.of_results(femb.Results.read(path))):
        assert read.units == space.units == {
            "drivers.driver": "rad", "drivers.driver rate": "rad/s", "drivers.driver acceleration": "rad/s2",
            "joints.joint.angle": "rad",
        }  # fmt: skip
    sampled = StateSpace.read(space.sampled(0.5).write(tmp_path / "sampled.mat"))
    assert (sampled.dt, sampled.units) == (0.5, space.units)


def laws():
    """Springs whose laws depend on the state, with derivatives and without: each kind that takes a function."""
    model = EXAMPLES[e.JointSpringDamper]()
    words = {"start": SpringEnd("a", at=(0.1, 0.2, 0.3)), "end": SpringEnd("b", at=(-0.2, 0.1, 0.0))}
    ends = {"start": SpringEnd("a"), "end": SpringEnd("b")}
    known = lambda c, r: (3.0 * c**3 - 0.2 * r, 9.0 * c**2, -0.2)  # noqa: E731
    model.add(e.SpringDamper("line", stiffness=2.0, force=known, **words))
    model.add(e.SpringDamper("plain", damping=2.0, force=lambda c, r: known(c, r)[0], **words))
    model.add(e.TorsionSpringDamper("turn", axis=(0.2, 0.5, 0.8), stiffness=2.0, torque=known, **ends))
    model.add(e.JointSpringDamper("stroke", "joint", "stroke", stiffness=2.0, force=known))
    model.add(
        e.JointMotor(
            "motor",
            joint="joint",
            coordinate="stroke",
            force=lambda t, state: known(state.joints["joint"].coordinates[1], state.joints["joint"].rates[1]),
        )
    )
    model.add(e.EulerSpringDamper("bend", stiffness=(2.0, 3.0, 4.0), damping=0.3, frame="body", **ends))
    return model


def test_rows_of_forces_follow_the_laws_of_users():
    """Inputs are functions of the state here, also where the linear model takes differences of them."""
    system = with_differences(System(laws(), assemble=True))
    point, rng = point_of(system), np.random.default_rng(3)
    point = replace(point, u=system.inputs_at(point.t, point.q, point.v))
    changes = rng.standard_normal((2, system.n_v))

    def at(step, name):
        other = moved(point, step, *changes, *np.zeros((2, 1)), 0.0)
        return value(replace(other, u=system.inputs_at(point.t, other.q, other.v)), name)

    names = [name for name in known_outputs(point) if name.startswith(("springs.", "loads."))]
    assert len(names) == 7 * 3
    for name in names:
        rows = output(point, name)
        got = rows.pose @ changes[0] + rows.velocity @ changes[1]
        pairs = [at(k * STEP, name) - at(-k * STEP, name) for k in (1, 2, 3)]
        wanted = np.atleast_1d((45.0 * pairs[0] - 9.0 * pairs[1] + pairs[2]) / (60.0 * STEP))
        np.testing.assert_allclose(got, wanted, rtol=0.0, atol=1e-7 * (1.0 + np.max(np.abs(wanted))), err_msg=name)


def test_the_force_of_a_driver_accelerates_what_it_drives():
    """A driven carriage of mass m pulls a mass on a spring: F = m a + k c, by both kinds of linear models."""
    model = femb.Model("carriage")
    model.add(e.RigidBody("cart", mass=3.0, inertia=(1.0, 1.0, 1.0)))
    model.add(e.RigidBody("load", mass=2.0, inertia=(1.0, 1.0, 1.0)))
    model.add(e.Prismatic("rail", JointEnd("ground", axis=(1.0, 0.0, 0.0)), JointEnd("cart")))
    model.add(e.Prismatic("slide", JointEnd("cart", axis=(1.0, 0.0, 0.0)), JointEnd("load")))
    model.add(e.JointSpringDamper("spring", "slide", stiffness=50.0, damping=0.7))
    model.add(e.JointDriver("drive", "rail", femb.profiles.Polynomial((0.0, 0.0, 0.0))))
    outputs = ["drivers.drive.force", "springs.spring.force", "springs.spring.rate"]
    inputs = ["drivers.drive"]  # with its rate and acceleration
    dense = femb.linearize(model, inputs=inputs, outputs=outputs)
    sparse = femb.linear_model(model, inputs=inputs, outputs=outputs)
    units = {"drivers.drive": "m", "drivers.drive rate": "m/s", "drivers.drive acceleration": "m/s2"}
    units |= {"drivers.drive.force": "N", "springs.spring.force": "N", "springs.spring.rate": "m/s"}
    assert dict(dense.units) == dict(sparse.units) == units
    s = 0.7 + 3.0j
    stiff = 50.0 + 0.7 * s
    stroke = -2.0 / (2.0 * s**2 + stiff)  # by the acceleration of the cart
    wanted = np.array([[3.0 - stiff * stroke], [stiff * stroke], [s * stroke]]) * s**2
    by_motion = np.array([[1.0], [s], [s**2]])
    for space in (dense, sparse):
        np.testing.assert_allclose(space.transfer(s) @ by_motion, wanted, rtol=1e-10, atol=1e-10)
