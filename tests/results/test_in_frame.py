"""Results seen from a moving frame: relative motion, and what bends and turns across joints."""

import numpy as np
import pytest
from models import refuses, stiff
from oracles.synthetic_results import satellite

import femb
from femb.base.errors import ResultError
from femb.export.catalogue import export_csv
from femb.numerics import rotations
from femb.numerics.euler import from_euler
from femb.pictures.figures import request, rows
from femb.profiles import Versine

PANEL, HINGE = 1.0, 0.5  # m: length of a panel, of the first hinge from the middle of the hub
Y, Z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])  # a hinge in a panel's section and in the hub
AXIS = np.array([0.0, 1.0, 0.2])
NAMES = ("inner", "outer")
PLACE, TURN = (3.0, 1.0, -2.0), (0.4, -0.7, 1.1)


@pytest.fixture(scope="module")
def wing(tmp_path_factory):
    """A satellite with a wing of two panels on sprung hinges, which a torque on its hub shakes; read from its file."""
    model = femb.Model("wing")
    section = stiff(2e6, 1500.0, (2000.0, 2000.0), 3.0, (0.26, 0.13, 0.13), "panel", damping=2e-3)
    model.add(femb.RigidBody("hub", 100.0, 20.0, position=PLACE, euler_angles=TURN,
                        euler_rates=(0.1, 0.05, 0.2)))  # fmt: skip
    before = femb.JointEnd("hub", at=(HINGE, 0, 0), axis=Z, reference=(1, 0, 0))
    turn = from_euler(np.array(TURN))
    for k, name in enumerate(NAMES):
        at = np.array(PLACE) + rotations.rotate(turn, np.array([HINGE + k * PANEL, 0.0, 0.0]))
        along, up = rotations.rotate(turn, np.eye(3)[[0, 2]])
        start = femb.Attachment(at=at, direction=along, up=up)
        beam = model.add(femb.Beam(name, section, PANEL, 2, start=start))
        to = femb.JointEnd(beam=name, node=0, axis=(0, 1, 0), reference=(1, 0, 0))
        model.add(femb.Revolute(name, before, to))
        model.add(femb.JointSpringDamper(name, name, stiffness=400.0, damping=5.0))
        before = femb.JointEnd(beam=beam.name, node=-1, axis=(0, 1, 0), reference=(1, 0, 0))
    model.add(femb.Load("shake", body="hub", torque=(0, 0, 60.0), frame="body", profile=Versine(0.5)))
    out = tmp_path_factory.mktemp("wing") / "results.h5"
    femb.simulate(model, duration=1.0, output_interval=0.01, out=out)
    return femb.Results.read(out)


def test_deflection_counts_the_joints_between(wing):
    """The end of each panel from angles of the hinges and the bend of each panel in its own axes, one after another."""
    seen = wing.in_frame("hub")
    axes = np.tile(rotations.multiply(rotations.conjugate(wing.bodies["hub"].reference_quaternion),
                                      wing.beams["inner"].reference_quaternion[0]), (len(wing.time), 1))  # fmt: skip
    place, straight = np.tile([HINGE, 0.0, 0.0], (len(wing.time), 1)), HINGE
    for name in NAMES:
        beam, angle = wing.beams[name], wing.joints[name].coordinates[:, 0]
        axes = rotations.multiply(axes, rotations.exponential(angle[:, None] * Y))
        place = place + rotations.rotate(axes, beam.deflection[:, -1] + [PANEL, 0.0, 0.0])
        straight += PANEL
        np.testing.assert_allclose(seen.beams[name].deflection[:, -1], place - [straight, 0, 0], atol=1e-9)
        np.testing.assert_array_equal(seen.beams[name].deflection, seen.beams[name].displacement)
        assert seen.beams[name].deflection_body == "hub"
        relative = rotations.multiply(rotations.conjugate(beam.quaternion[:, 0]), beam.quaternion[:, -1])
        axes = rotations.multiply(axes, relative)
    local = np.abs(wing.beams["outer"].deflection[:, -1]).max()
    across = np.abs(seen.beams["outer"].deflection[:, -1]).max()
    assert local < 2e-3 < 1e-2 < across, "the panel hardly bends, its end moves far"


def test_figures_and_tables_show_it(wing, tmp_path):
    seen = wing.in_frame("hub").beams["outer"].deflection[:, -1]
    ((panel,),) = rows(wing, request(wing, "deflection of outer[-1]", frame="hub"))
    np.testing.assert_allclose(panel.values, seen, atol=1e-12)
    tips = rows(wing, request(wing, "tips", frame="hub"))
    assert [row[0].title for row in tips] == ["inner, tip in axes of hub", "outer, tip in axes of hub"]
    np.testing.assert_allclose(tips[1][0].values, seen, atol=1e-12)
    files = {path.stem: path for path in export_csv(wing, tmp_path, frame="hub")}
    table = np.genfromtxt(files["beam_outer"], delimiter=",", names=True, deletechars="", replace_space=" ")
    for axis, values in zip("xyz", seen.T, strict=True):
        np.testing.assert_array_equal(table[f"node2_deflection_{axis} [m]"], values)
    assert "load_shake" in files


@pytest.mark.parametrize("frame", ["hub", "inner[1]", "outer[-1]"])
def test_velocities_are_rates_of_what_is_seen(wing, frame):
    seen, step = wing.in_frame(frame), wing.time[1]
    assert seen.frame == frame
    for group in (*seen.bodies.values(), *seen.beams.values()):
        for word, rate, tolerance in (("position", group.velocity, 2e-3), ("quaternion", group.quaternion_rate, 5e-3)):
            slope = (group[word][2:] - group[word][:-2]) / (2.0 * step)
            np.testing.assert_allclose(rate[1:-1], slope, rtol=0.0, atol=tolerance)
        np.testing.assert_allclose(
            rotations.multiply(group.rotation, group.reference_quaternion), group.quaternion, atol=1e-14
        )
    own = seen.bodies["hub"] if frame == "hub" else seen.beams[frame.split("[")[0]]
    node = () if frame == "hub" else (slice(None), {"inner[1]": 1, "outer[-1]": -1}[frame])
    for word in ("position", "velocity", "angular_velocity"):
        np.testing.assert_allclose(own[word][node], 0.0, atol=1e-13)


def test_accelerations_are_rates_of_what_is_seen():
    """Of a point and a body that move by polynomials, from a frame that turns at a rate that changes."""
    time = np.linspace(0.0, 1.0, 2001)
    turn, spin, change = (np.outer(f, [0.3, -0.5, 0.8]) for f in (time**2, 2.0 * time, np.full_like(time, 2.0)))
    other, rate = np.outer(time**3, AXIS), np.outer(3.0 * time**2, AXIS)
    p, v, a = (np.stack(c, axis=1) for c in ((time**3, time, time**2), (3 * time**2, 1 + 0 * time, 2 * time),
                                             (6 * time, 0 * time, 2 + 0 * time)))  # fmt: skip
    series = {"time": time}
    motions = {"hub": (0.5 * p, 0.5 * v, 0.5 * a, turn, spin, change),
               "box": (p[:, ::-1], v[:, ::-1], a[:, ::-1], other, rate, 6.0 * time[:, None] * AXIS)}  # fmt: skip
    for name, (x, dx, ddx, vector, w, dw) in motions.items():
        words = ("position", "velocity", "acceleration", "quaternion", "angular_velocity", "angular_acceleration")
        values = (x, dx, ddx, rotations.exponential(vector), w, dw)
        series |= {f"bodies/{name}/{word}": value for word, value in zip(words, values, strict=True)}
    box = femb.Results(series).in_frame("hub").bodies["box"]
    for word, of in (("acceleration", box.velocity), ("angular_acceleration", box.angular_velocity)):
        slope = (of[2:] - of[:-2]) / (2.0 * time[1])
        np.testing.assert_allclose(box[word][1:-1], slope, rtol=0.0, atol=1e-5)
    del series["bodies/hub/acceleration"]
    assert "acceleration" not in femb.Results(series).in_frame("hub").bodies["box"]
    # of a body whose attitude is not recorded, its place and velocity alone
    del series["bodies/box/quaternion"]
    part = femb.Results(series).in_frame("hub").bodies["box"]
    assert {word for word in words if word in part} == {"position", "velocity"}
    np.testing.assert_array_equal([part.position, part.velocity], [box.position, box.velocity])


def test_a_rigid_motion_is_none_from_its_own_hub():
    results = femb.Results(*satellite())
    seen = results.in_frame("hub")
    for beam in seen.beams.values():
        np.testing.assert_allclose(beam.deflection, 0.0, atol=1e-13)
        np.testing.assert_allclose(beam.velocity, 0.0, atol=1e-13)
    assert results.in_frame("inertial") is results
    assert seen.arrays["beams/right/section_force"] is not None
    for frame in ("boom", "right[9]", "right[x]"):
        refuses("no frame", results.in_frame, frame, error=ResultError)
