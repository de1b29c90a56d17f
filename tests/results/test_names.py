"""Names of quantities in outputs."""

import numpy as np
import pytest
import shared_runs
from models import refuses

from femb import ResultError
from femb.results.names import known_names, named
from femb.study.run_outputs import history


@pytest.fixture(scope="module")
def satellite():
    return shared_runs.results_of("satellite_forced", "run.duration=0.1", "run.output_interval=0.01")


@pytest.fixture(scope="module")
def panel():
    return shared_runs.results_of("satellite_hinged_panel", "run.duration=10.0", "run.output_interval=1.0")


def test_bodies_and_beams(satellite):
    hub, right = satellite.bodies["hub"], satellite.beams["right"]
    known = {
        "bodies.hub.angular_velocity.y": (hub.angular_velocity[:, 1], "rad/s"),
        "bodies.hub.velocity": (np.linalg.norm(hub.velocity, axis=1), "m/s"),
        "bodies.hub.quaternion.w": (hub.quaternion[:, 0], ""),
        "bodies.hub.displacement.x": (hub.displacement[:, 0], "m"),
        "bodies.hub.euler_angles.2": (hub.euler_angles()[:, 2], "rad"),
        "beams.right.-1.deflection.z": (right.deflection[:, -1, 2], "m"),
        "beams.right.0.section_moment.y": (right.section_moment[:, 0, 0, 1], "N m"),
        "beams.right.1.section_moment": (np.linalg.norm(right.section_moment[:, 0, 1], axis=1), "N m"),
        "beams.right.-1.section_force.x": (right.section_force[:, -1, 1, 0], "N"),
        "beams.right.deflection": (np.max(np.linalg.norm(right.deflection, axis=2), axis=1), "m"),
        "beams.right.section_moment.y": (np.max(np.abs(right.section_moment[..., 1]), axis=(1, 2)), "N m"),
        "beams.right.strain": (np.max(np.abs(right.strain), axis=(1, 2)), ""),
        "audit.energy_error": (satellite.audit.energy_error, "J"),
        "audit.angular_momentum.y": (satellite.audit.angular_momentum[:, 1], "N m s"),
        "appendages.right.torque.y": (satellite.appendages["right"].torque[:, 1], "N m"),
    }
    for name, (values, unit) in known.items():
        found = history(satellite, name)
        np.testing.assert_array_equal(found.values, values, err_msg=name)
        assert found.unit == unit, name
    assert history(satellite, "statistics.steps").values == satellite.statistics["steps"]


def test_coordinates_of_joints(panel):
    hinge = panel.joints["hinge"]
    np.testing.assert_array_equal(history(panel, "joints.hinge.angle").values, hinge.coordinates[:, 0])
    np.testing.assert_array_equal(history(panel, "joints.hinge.angle rate").values, hinge.rates[:, 0])
    assert history(panel, "joints.hinge.angle rate").unit == "rad/s"
    np.testing.assert_array_equal(history(panel, "joints.hinge.torque.z").values, hinge.torque[:, 2])


def test_all_names_that_are_suggested_exist(satellite, panel):
    for results in (satellite, panel):
        for name in known_names(results):
            assert history(results, name).values.shape in (results.time.shape, (1,)), name
        for name, full in zip(results.names, (x for x in known_names(results) if "statistics" not in x), strict=True):
            assert full.endswith(name)
            np.testing.assert_array_equal(results[name], named(results, full).values, err_msg=name)


def test_results_have_keys(satellite, panel):
    """The names of items alone, ends of beams by words, coordinates of joints; completed in notebooks."""
    hub, right = satellite.bodies["hub"], satellite.beams["right"]
    for name, values in {
        "hub.angular_velocity": hub.angular_velocity,
        "hub.euler": hub.euler_angles(),
        "right.tip.deflection": right.deflection[:, -1],
        "beams.right.tip.deflection.z": right.deflection[:, -1, 2],
        "right.root.section_moment.y": right.section_moment[:, 0, 0, 1],
        "right.position.x": right.position[..., 0],
        "audit.work": satellite.audit.work,
    }.items():
        np.testing.assert_array_equal(satellite[name], values, err_msg=name)
    np.testing.assert_array_equal(panel["hinge.angle rate"], panel.joints["hinge"].rates[:, 0])
    assert {"hub.position", "right.tip.deflection", "audit.work"} <= set(satellite._ipython_key_completions_())
    refuses("not iterable", list, satellite, error=TypeError)
    with pytest.raises(ResultError, match="got 3, wanted the name of a quantity"):
        satellite[3]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("bodies.hub.angular_velocty.y", "did you mean 'bodies.hub.angular_velocity'"),
        ("beams.right.7.deflection", "'right' has the nodes 0 to 2"),
        ("bodies.hub", "wanted ITEM.QUANTITY"),
        ("bodies.hub.velocity.w", "'velocity' has no component 'w'"),
        ("beams.right.0.midpoint_force.x", "'midpoint_force' is of 'right' as a whole: leave out the node 0"),
        ("right.0.deflection.q", "'deflection' has no component 'q'"),
        ("right.tip.deflexion", "did you mean 'right.tip.deflection'"),
        ("hub.reference_position", "does not change with time"),
        ("hub.euler_angle", "did you mean 'hub.euler_angles'"),
        ("statistics.flops", "no such quantity"),
        ("nonsense", "no such quantity"),
    ],
)
def test_other_names_are_refused(satellite, name, hint):
    with pytest.raises(ResultError, match="got '") as error:
        history(satellite, name)
    assert hint in str(error.value)
