"""Deflection: the nodes relative to the undeformed beam carried along by the body it is clamped to."""

import meshio
import numpy as np
import pytest

from femb import Beam, Ground, Load, Model, Results, RigidBody, Section, simulate
from femb.elements import Attachment
from femb.export.catalogue import export_vtu
from femb.numerics import rotations
from femb.numerics.euler import from_euler
from femb.pictures.sheets import FIGURES
from femb.pictures.subject import Subject
from femb.recording.record import Recorder
from femb.run.time_loop import output_frames
from femb.system.system import System

X = np.array([1.0, 0.0, 0.0])
LENGTH = 2.0
TURN = np.array([0.4, -0.7, 1.1])  # Euler angles of hub and ground, rad
PLACE = np.array([0.3, -0.2, 0.5])


def bar(**words):
    given = {"area": 1e-4, "second_moments": (1e-9, 2e-9), "torsion_constant": 2e-9, "density": 2700.0}
    return Section("bar", **given, youngs_modulus=7e10, shear_modulus=2.6e10, **words)


def assembly():
    """A beam clamped at its start, one at its end, one between two bodies, a curved one on a beam, and a free one."""
    model = Model("assembly")
    hub = model.add(RigidBody("hub", mass=3.0, inertia=(0.1, 0.2, 0.25), position=PLACE, euler_angles=TURN))
    box = model.add(RigidBody("box", mass=2.0, inertia=(0.3, 0.2, 0.25)))
    boom = bar()
    words = {"section": boom, "length": LENGTH, "elements": 3}
    out = model.add(Beam("out", **words, start=hub.at((0.1, 0.2, 0), direction=(1, 1, 0))))
    model.add(Beam("in", **words, end=hub.at((0, -0.1, 0), direction=(0, 1, 0.3))))
    end = box.at((-0.1, 0.05, 0), direction=(0, 1, 0))
    model.add(Beam("between", **words, start=hub.at((0, 0, 0.1), direction=(0, 0, 1)), end=end))
    arc = out.at(-1, direction=(1, 0, 1))
    model.add(Beam("on_beam", **words, curvature=(0.2, 0.0, 1.0), start=arc))
    model.add(Beam("free", **words, start=Attachment(None, at=(3.0, 1.0, 0.0), direction=(0, 0, 1))))
    return System(model)


def blocks_of(system, q):
    """What is recorded of states q (k, n_q) at rest."""
    count = len(q)
    zero = np.zeros((count, system.budget.size))
    return Recorder(system).block(
        output_frames(system, np.arange(float(count)), q, np.zeros((count, system.n_v)), zero)
    )


def moved(system, q, turn, shift):
    """The coordinates q (n_q,) after a rigid motion of everything: the turn (4,) about the origin, then the shift."""
    q = q.copy()
    for i in system.layout.frame_q:
        q[i : i + 3] = shift + rotations.rotate(turn, q[i : i + 3])
        q[i + 3 : i + 7] = rotations.multiply(turn, q[i + 3 : i + 7])
    return q


def bent(system):
    """The start with every coordinate changed a little, quaternions of unit length."""
    q = system.q0 + 0.02 * np.random.default_rng(1).standard_normal(system.n_q)
    for i in system.layout.frame_q:
        q[i + 3 : i + 7] = rotations.normalise(q[i + 3 : i + 7])
    return q


RIGID_MOTIONS = [
    (rotations.exponential(np.array(vector)), np.array(shift))
    for vector, shift in (([0.0, 0.0, 0.0], [0, 0, 0]), ([2.0, -1.0, 0.5], [5.0, 3.0, -40.0]), ([0, 3.1, 0], [0, 0, 9]))
]


def test_a_rigid_motion_deflects_no_beam():
    system = assembly()
    block = blocks_of(system, np.array([moved(system, system.q0, *motion) for motion in RIGID_MOTIONS]))
    for name in system.layout.beams:
        assert block[f"beams/{name}/deflection"].shape == (3, 4, 3)
        np.testing.assert_allclose(block[f"beams/{name}/deflection"], 0.0, rtol=0.0, atol=1e-12)


def test_a_rigid_motion_leaves_the_deflection_as_it_is():
    system = assembly()
    q = bent(system)
    block = blocks_of(system, np.array([moved(system, q, *motion) for motion in RIGID_MOTIONS]))
    for name in system.layout.beams:
        deflection = block[f"beams/{name}/deflection"]
        assert np.abs(deflection).max() > 0.01
        np.testing.assert_allclose(deflection, np.broadcast_to(deflection[0], deflection.shape), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "at", "tangent", "first"),
    [
        ("out", (0.1, 0.2, 0.0), (1, 1, 0), 0.0),
        ("in", (0.0, -0.1, 0.0), (0, 1, 0.3), -LENGTH),
        ("between", (0.0, 0.0, 0.1), (0, 0, 1), 0.0),
    ],
)
def test_of_a_clamped_beam_it_is_in_the_axes_of_the_body(name, at, tangent, first):
    system = assembly()
    block = blocks_of(system, bent(system)[None])
    assert Recorder(system).attributes("", "")[f"beams/{name}"]["deflection_body"] == "hub"
    local = rotations.rotate_back(
        block["bodies/hub/quaternion"][0], block[f"beams/{name}/position"][0] - block["bodies/hub/position"][0]
    )
    undeformed = at + np.outer(first + np.linspace(0.0, LENGTH, 4), tangent / np.linalg.norm(tangent))
    np.testing.assert_allclose(block[f"beams/{name}/deflection"][0], local - undeformed, rtol=0.0, atol=1e-14)
    clamped = -1 if first else 0
    np.testing.assert_allclose(block[f"beams/{name}/deflection"][0, clamped], 0.0, rtol=0.0, atol=1e-15)


def test_of_a_curved_beam_on_a_beam_it_is_relative_to_its_own_shape():
    system = assembly()
    block = blocks_of(system, bent(system)[None])
    assert "deflection_body" not in Recorder(system).attributes("", "")["beams/on_beam"]
    position, axes = block["beams/on_beam/position"][0], block["beams/on_beam/quaternion"][0, 0]
    local = rotations.rotate_back(axes, position - position[0])
    undeformed, _ = system.model.beams["on_beam"].reference()
    assert abs(undeformed[-1, 1]) > 0.5
    np.testing.assert_allclose(block["beams/on_beam/deflection"][0], local - undeformed, rtol=0.0, atol=1e-14)


def test_of_a_free_beam_it_is_in_the_axes_of_its_first_section():
    system = assembly()
    block = blocks_of(system, bent(system)[None])
    assert Recorder(system).attributes("", "")["beams/free"] == {"kind": "beam"}
    position, axes = block["beams/free/position"][0], block["beams/free/quaternion"][0, 0]
    local = rotations.rotate_back(axes, position - position[0])
    undeformed = np.outer(np.linspace(0.0, LENGTH, 4), X)
    np.testing.assert_allclose(block["beams/free/deflection"][0], local - undeformed, rtol=0.0, atol=1e-14)


@pytest.fixture(scope="module")
def cantilevers():
    """Two bars on a turned ground, one clamped at its start, one at its end; in balance with a load at the free end."""
    model = Model("cantilevers")
    ground = model.add(Ground(position=PLACE, euler_angles=TURN))
    boom = bar()
    words = {"section": boom, "length": LENGTH, "elements": 4}
    model.add(Beam("started", **words, start=ground.at((1, 0, 0), direction=X)))
    model.add(Beam("ended", **words, end=ground.at((-1, 0, 0), direction=X)))
    down = rotations.rotate(from_euler(TURN), np.array([0.0, 0.0, -1e-3]))
    model.add(Load("at_end", beam="started", force=down))
    model.add(Load("at_start", beam="ended", node=0, force=down))
    return simulate(model, duration=1e-3, output_interval=5e-4, start="equilibrium")


@pytest.mark.parametrize(("name", "free"), [("started", -1), ("ended", 0)])
def test_that_of_a_cantilever_in_balance_is_its_displacement(cantilevers, name, free):
    beam = cantilevers.beams[name]
    assert beam.deflection_body == "ground"
    displacement = beam.position - beam.reference_position
    turned = rotations.rotate_back(from_euler(TURN), displacement)
    np.testing.assert_allclose(beam.deflection, turned, rtol=0.0, atol=1e-14)
    # The load is along the section's z, so the bending is about its y.
    expected = 1e-3 * LENGTH**3 / 3.0 / (7e10 * 1e-9)
    np.testing.assert_allclose(beam.deflection[0, free], [0.0, 0.0, -expected], rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_that_of_a_satellite_is_what_is_seen_from_its_hub(tmp_path):
    model = Model("satellite")
    rates = {"position": PLACE, "euler_angles": TURN, "angular_velocity": (0.5, 1.0, 2.0)}
    hub = model.add(RigidBody("hub", mass=3.0, inertia=(0.1, 0.2, 0.25), **rates))
    boom = bar()
    model.add(Beam("right", section=boom, length=LENGTH, elements=2, start=hub.at((0.1, 0, 0), direction=X)))
    model.add(Beam("up", section=boom, length=LENGTH, elements=2, start=hub.at((0, 0, 0.1), direction=(0, 0, 1))))
    results = simulate(model, duration=0.2, output_interval=0.05, out=tmp_path / "results.h5")
    read = Results.read(tmp_path / "results.h5")
    seen = results.bodies["hub"]
    for name, axis in (("right", 0), ("up", 2)):
        beam = results.beams[name]
        local = rotations.rotate_back(seen.quaternion[:, None], beam.position - seen.position[:, None])
        local[..., axis] -= 0.1 + np.linspace(0.0, LENGTH, 3)
        assert np.abs(beam.deflection[-1, -1]).max() > 1e-3
        np.testing.assert_allclose(beam.deflection, local, rtol=0.0, atol=1e-13)
        np.testing.assert_array_equal(read.beams[name].deflection, beam.deflection)
        assert read.beams[name].deflection_body == "hub"
        # Started rigid, it is the change since the start, but in the axes of the hub instead of the section's.
        bare = Results({path: array for path, array in results.series.items() if not path.endswith("/deflection")})
        assert bare.beams[name].deflection_body is None
        section = rotations.multiply(rotations.conjugate(seen.quaternion[0]), beam.quaternion[0, 0])
        np.testing.assert_allclose(
            rotations.rotate(section, bare.beams[name].deflection), beam.deflection, rtol=0.0, atol=1e-12
        )


def test_it_is_plotted_and_exported(cantilevers, tmp_path):
    rows = FIGURES["tips"](Subject(cantilevers))
    assert rows[0][1].title == "started, tip in axes of ground"
    bent = cantilevers.beams["started"].deflection[:, -1]
    np.testing.assert_array_equal(rows[0][1].values[:, [0, 2]], bent[:, [0, 2]])
    assert np.abs(bent[:, 1]).max() < 1e-13
    np.testing.assert_array_equal(rows[0][1].values[:, 1], 0.0, "rounding errors are drawn as zero")
    for frame in ("inertial", "ground"):
        lines, solids = export_vtu(cantilevers, tmp_path / frame, frame=frame, every=2, subdivisions=2)
        for collection in (lines, solids):
            mesh = meshio.read(collection.with_name(f"{collection.stem}_0001.vtu"))
            data = mesh.point_data["deflection"]
            parts = len(cantilevers.bodies)
            np.testing.assert_array_equal(data[:parts], np.nan, "bodies have none")
            # 4 elements of 3 stations each, of which the solid has the outline's corners.
            per_beam = data[parts:].reshape(2, 4, 3, -1, 3)
            for found, beam in zip(per_beam, cantilevers.beams.values(), strict=True):
                value = beam.deflection[-1]
                ends = np.stack([value[:-1], 0.5 * (value[:-1] + value[1:]), value[1:]], axis=1)
                np.testing.assert_allclose(found, np.broadcast_to(ends[:, :, None], found.shape), rtol=0.0, atol=1e-16)
