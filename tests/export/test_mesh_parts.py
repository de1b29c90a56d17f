"""What meshes show beside bodies and beams: data of elements, springs, ropes, wheels, tanks, thrusters and sensors."""

import json
from xml.etree import ElementTree

import h5py
import meshio
import numpy as np
import pytest
from export.test_round_trip import check_meshes, mesh_of
from models import boom as section
from models import of_parts, slender_boom

import femb
from femb.base.errors import ResultError
from femb.numerics import rotations
from femb.pictures.parts import element_fields

CARBON = femb.Ply(
    1e-3, 0.6, (181e9, 10.3e9), 7.17e9, 0.28, 1600.0, expansion=(2e-6, 3e-5), strengths=(1.5e9, 1.5e9, 4e7, 2.5e8, 7e7)
)
SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
HELD = {f"edge{k}": "ground" for k in range(1, 5)}


@pytest.fixture(scope="module")
def laminate():
    """A heated plate of two plies with a force, and a bent beam."""
    plate = femb.Shell("plate", (2, 1), SQUARE, plies=[CARBON, CARBON], attach={"edge4": "ground"},
                       points={"tip": "corner2"})  # fmt: skip
    heat, push = femb.SurfaceLoad("sun", "plate", temperature=40.0, gradient=2e4), (3.0, 0.0, -0.2)
    boom = femb.Beam(
        "boom", section(), length=1.0, elements=2, start=femb.Attachment("ground", direction=(1.0, 0.0, 0.0))
    )
    model = of_parts(plate, heat, boom, femb.Load("f", body="plate.tip", force=push),
                     femb.Load("g", beam="boom", force=(2.0, 0.4, 0.1), torque=(0.3, 0.0, 0.0)))  # fmt: skip
    return femb.static(model, steps=2)


@pytest.mark.slow
def test_cells_have_the_numbers_of_their_elements(laminate, tmp_path):
    """Stresses, the failure index and the temperature; of membranes the state of wrinkling."""
    check_meshes(laminate, tmp_path / "plate")
    wall = {"thickness": 1e-4, "material": femb.Material(5e9, 2e9, 1000.0, expansion=2e-5), "tension_only": True}
    sheet = femb.Shell("sheet", (2, 2), SQUARE, pretension=(30.0, 30.0, 0.0), attach=HELD, **wall)
    slack = femb.static(of_parts(sheet, femb.SurfaceLoad("heat", "sheet", temperature=20.0)), steps=4)
    check_meshes(slack, tmp_path / "sheet")
    cells = mesh_of(tmp_path / "sheet" / "solids_0001.vtu")[3]
    np.testing.assert_array_equal(cells["wrinkling"][-4:], np.full(4, 2.0))
    cells = mesh_of(tmp_path / "plate" / "solids_0001.vtu")[3]
    places = [f"_{place}" for place in ("behind", "in_front")]
    for word in (*(f"{name}{at}" for name in ("surface_stress", "failure_index") for at in places), "temperature"):
        of_plate = ~np.isnan(cells[word]).reshape(len(cells[word]), -1)[:, 0]
        assert of_plate.sum() == 2, word


def test_time_series_have_the_same_data_of_cells(laminate, tmp_path):
    """By h5py, from the places that the XDMF file names."""
    femb.export_vtu(laminate, tmp_path, solids=False)
    (series,) = femb.export_xdmf(laminate, tmp_path, solids=False)
    with h5py.File(series.with_suffix(".h5")) as file:
        for k, grid in enumerate(ElementTree.parse(series).getroot().findall(".//Grid/Grid")):
            found = {each.get("Name"): file[each.find("DataItem").text.partition(":")[2]][()]
                     for each in grid.iter("Attribute") if each.get("Center") == "Cell"}  # fmt: skip
            wanted = meshio.read(tmp_path / f"lines_{k:04d}.vtu").cell_data
            assert set(found) == set(wanted)
            assert {"von_mises_middle", "failure_index_behind"} < set(found)
            for name, values in wanted.items():
                np.testing.assert_array_equal(found[name], np.concatenate(values), name)


def test_of_plies_the_value_largest_in_size_is_taken(laminate):
    beam = laminate.beams["boom"]
    stress = element_fields(beam, ["axial_stress"], 2)["axial_stress_start"]
    wanted = [max(points, key=abs) for points in beam.axial_stress[2, :, 0]]
    np.testing.assert_array_equal(stress, wanted)
    with pytest.raises(ResultError, match="no quantity 'glow'"):
        _ = beam.instant(1)["glow"]


def test_springs_wheels_and_tanks_are_parts_with_their_names(tmp_path):
    hub = femb.RigidBody("hub", mass=100.0, inertia=20.0, shape={"box": [1.0, 1.0, 1.2]},
                         angular_velocity=(0.3, -0.2, 1.5), velocity=(0.1, 0.0, 0.0))  # fmt: skip
    model = of_parts(
        hub,
        femb.PointMass("load", mass=2.0, position=(3.0, 0.0, -1.0)),
        slender_boom(2),
        femb.SpringDamper("tie", femb.SpringEnd(beam="boom", node=2), femb.SpringEnd("load"), stiffness=10.0),
        femb.SpringDamper("leash", femb.SpringEnd("hub", at=(0.5, 0.0, 0.0)), femb.SpringEnd(anchor=(4.0, 0.0, 2.0)),
                          stiffness=1.0),
        femb.ReactionWheel("w", "hub", at=(0.2, 0.1, -0.3), axis=(0.0, 2.0, 0.0), spin_inertia=1e-3),
        femb.Thruster("jet", force=1.0, direction=(0.0, 0.0, 3.0), body="hub", at=(0.0, 0.0, -0.6)),
        femb.Gyro("gyro", period=0.1, beam="boom", node=2),
        femb.SloshingTank("fuel", mass=5.0, radius=0.2, depth=0.3, gravity=1.0, body="hub", at=(0.0, 0.0, 0.1),
                          axis=(0.0, 0.6, 0.8), model="spring"),
    )  # fmt: skip
    results = femb.simulate(model, duration=0.2, output_interval=0.1)
    femb.export_vtu(results, tmp_path)
    legend = json.loads((tmp_path / "legend.json").read_text())["components"]
    found = {each["name"]: (each["kind"], each["component"]) for each in legend}
    kinds = {name: kind for name, (kind, _) in found.items() if kind not in ("body", "beam")}
    assert kinds == {"tie": "spring", "leash": "spring", "w": "wheel", "jet": "thruster", "gyro": "sensor",
                     "fuel": "tank"}  # fmt: skip
    body, tip = results.bodies["hub"], results.beams["boom"]

    def of_hub(points, k):
        return rotations.rotate_back(body.quaternion[k], points - body.position[k])

    for k in (0, 2):
        points, fields, owner, _ = mesh_of(tmp_path / f"solids_{k:04d}.vtu")
        part = {name: points[owner == number] for name, (_, number) in found.items()}
        np.testing.assert_allclose(part["tie"], [tip.position[k, 2], results.bodies["load"].position[k]], atol=1e-12)
        assert 4.0 in part["leash"][:, 0]  # the point in space
        np.testing.assert_allclose(fields["velocity"][owner == found["tie"][1]][0], tip.velocity[k, 2], atol=1e-12)
        np.testing.assert_allclose(of_hub(part["w"], k).mean(axis=0), (0.2, 0.1, -0.3), atol=1e-12)
        arms = of_hub(part["fuel"], k) - (0.0, 0.0, 0.1)
        heights = arms @ (0.0, 0.6, 0.8)
        np.testing.assert_allclose(np.abs(heights), 0.15, atol=1e-12)
        across = np.linalg.norm(arms - heights[:, None] * (0.0, 0.6, 0.8), axis=1)
        np.testing.assert_allclose(across, 0.2, atol=1e-12)
        # velocities are those of points of the hub
        spin = rotations.rotate(body.quaternion[k], body.angular_velocity[k])
        carried = body.velocity[k] + np.cross(spin, part["fuel"] - body.position[k])
        np.testing.assert_allclose(fields["velocity"][owner == found["fuel"][1]], carried, atol=1e-12)
    _, _, owner, _ = mesh_of(tmp_path / "lines_0000.vtu")
    assert set(owner) == {number for kind, number in found.values() if kind in ("body", "beam", "spring")}
