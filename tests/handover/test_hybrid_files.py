"""The master file of hub, appendages and named points, and the state space with sensors and actuators."""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from checkout import ROOT
from models import hub, of_parts, refuses, slender, winged_satellite

from femb import Attachment, Beam, Load, Place, linearize, load_case
from femb.base.errors import ModelError, ResultError
from femb.handover import CraigBampton, hybrid_coordinates
from femb.handover.hybrid import HybridCoordinates


@pytest.fixture(scope="module")
def plant():
    tip = Place("left panel 2", at=(0.4, -0.75, 0.1))
    return hybrid_coordinates(
        winged_satellite(),
        held="hub",
        damping=0.0,
        points={"tip": tip, "yoke": "beams.right yoke.-1", "wheel": "bodies.hub"},
    )


@pytest.mark.parametrize("suffix", [".json", ".npz", ".h5"])
def test_files_give_everything_back(plant, tmp_path, suffix):
    few = plant.kept(4)
    again = HybridCoordinates.read(few.write(tmp_path / f"hybrid{suffix}"))
    for one, other in ((few, again), *zip(few.appendages, again.appendages, strict=True)):
        words = ("hub_mass", "mass") if one is few else ("frequencies", "damping", "coupling", "rigid_mass")
        for word in ("point", "axes", *words):
            np.testing.assert_array_equal(getattr(other, word), getattr(one, word))
    assert (again.hub, again.state) == (few.hub, few.state)
    np.testing.assert_array_equal(again.dampers, few.dampers)
    assert [part.name for part in again.appendages] == [part.name for part in few.appendages]
    assert {point.name for point in again.points} == {"tip", "yoke", "wheel", "left yoke.root", "right yoke.root"}
    for point in few.points:
        np.testing.assert_array_equal(again.rows(point.name), few.rows(point.name))


def test_dampers_of_kept_modes_are_those_of_each_appendage(plant):
    """Rows and columns of the hub and of the lowest modes of each appendage; of the ratios they are 2 zeta omega."""
    damped = hybrid_coordinates(winged_satellite(), 4, held="hub", damping=0.01)
    own = np.concatenate([0.02 * 2.0 * np.pi * part.frequencies[:2] for part in damped.appendages])
    np.testing.assert_allclose(damped.kept(2).dampers[6:, 6:], np.diag(own), rtol=1e-9, atol=1e-9)
    full = replace(plant, dampers=np.random.default_rng(3).standard_normal(plant.dampers.shape))
    ends = np.cumsum([6, *(len(part.frequencies) for part in plant.appendages)])
    rows = [*range(6), *(first + k for first in ends[:-1] for k in range(3))]
    np.testing.assert_array_equal(full.kept(3).dampers, full.dampers[rows][:, rows])


def test_keys_of_the_json_file(plant, tmp_path):
    document = json.loads(plant.kept(3).write(tmp_path / "hybrid.json").read_text())
    assert set(document) == {"format", "femb", "units", "state", "damper_matrix", "hub", "appendages"}
    assert np.shape(document["damper_matrix"]) == (12, 12)
    assert set(document["hub"]) == {"name", "point", "axes", "mass_matrix", "mode_rows"}
    wing = document["appendages"][0]
    words = "name point axes mass_matrix frequency_hz damping_ratio participation residual_mass mode_rows"
    assert list(wing) == words.split()
    assert np.shape(wing["participation"]) == (3, 6)
    assert np.shape(wing["mode_rows"][0]["rows"]) == (6, 3)


def test_a_damaged_file_is_refused(plant, tmp_path):
    path = plant.kept(1).write(tmp_path / "hybrid.json")
    path.write_text(path.read_text().replace('"mass_matrix"', '"mass"'), encoding="utf-8")
    refuses("cannot be read as hybrid coordinates", HybridCoordinates.read, path, error=ResultError)


def test_sensors_and_actuators_against_the_linearised_model(plant):
    """With all modes: torque on the hub to a yoke's tip, and force on the tip of an array to the hub."""
    model = winged_satellite()
    model.add(Load("wheel", body="hub", torque=(1.0, 0.0, 0.0), profile=lambda t: 0.0))
    model.add(
        Load(
            "jet", body="left panel 2", at=(0.4, -0.75, 0.1), force=(0.0, 0.0, 1.0), frame="inertial",
            profile=lambda t: 0.0,
        ),
    )  # fmt: skip
    words = ("bodies.hub.turn", "beams.right yoke.-1.position", "beams.right yoke.-1.acceleration")
    exact = linearize(model, outputs=words)
    space = plant.state_space(sensors=["yoke", "tip"], actuators=["tip"])
    for frequency in (0.1, 0.7):
        s = 2j * np.pi * frequency
        wanted, found = exact.transfer(s), space.transfer(s)
        column = [space.inputs.index("hub.torque.x"), space.inputs.index("tip.force.z")]
        names = [f"hub.{word}" for word in ("rx", "ry", "rz")]
        names += [f"yoke.{word}{of}" for of in ("", " acceleration") for word in "xyz"]
        ours = [space.outputs.index(name) for name in names]
        found, scale = found[np.ix_(ours, column)], np.max(np.abs(wanted))
        np.testing.assert_allclose(found[:6], wanted[:6], rtol=0.0, atol=2e-7 * scale)
        # accelerations of the linearised model have the rounding of its modes of up to 43 kHz
        np.testing.assert_allclose(found[6:], wanted[6:], rtol=0.0, atol=2e-6 * scale)
        np.testing.assert_allclose(found[6:], s * s * found[3:6], rtol=0.0, atol=1e-11 * scale)


@pytest.mark.slow
def test_default_points_are_bodies_and_ends_of_beams():
    plant = hybrid_coordinates(winged_satellite(), 2, held="hub")
    names = {point.name for point in plant.points}
    assert names == {"hub", *(f"{side} panel {k}" for side in ("left", "right") for k in range(3))} | {
        "left yoke.root", "right yoke.root", "left yoke.-1", "right yoke.-1",
    }  # fmt: skip
    np.testing.assert_array_equal(plant.rows("hub")[:, :6], np.eye(6))


@pytest.mark.parametrize("point", ["bodies.eye", "beams.left yoke.9", "hub", Place(beam="left yoke", node=9)])
def test_unknown_points(point):
    with pytest.raises(ModelError, match=r"points: eye: got .*wanted a Place of the model, bodies.NAME or"):
        hybrid_coordinates(winged_satellite(), 1, held="hub", points={"eye": point})


def test_unknown_names_of_sensors(plant):
    with pytest.raises(
        ModelError, match=r"no point 'eye'; there are: left yoke\.root, right yoke\.root, tip, yoke, wheel"
    ):
        plant.state_space(sensors=["eye"])


def test_states_and_counts_without_such_modes():
    spinning = load_case(ROOT / "cases" / "satellite_free.toml", ["bodies.hub.euler_rates=[0, 0, 5]"]).model
    refuses("the state is a rotation", hybrid_coordinates, spinning, held="hub", start="equilibrium")
    refuses("count: got 0, wanted a whole number from 1", hybrid_coordinates, winged_satellite(), 0, held="hub")


def test_a_point_elsewhere():
    mast = Beam("mast", slender(), length=1.0, elements=1, start=Attachment("ground", direction=(0.0, 0.0, 1.0)))
    model = of_parts(hub(), mast)
    with pytest.raises(ModelError, match="points: eye: is neither on 'hub' nor on an appendage of it"):
        hybrid_coordinates(model, 1, held="hub", points={"eye": "bodies.ground"})


@pytest.mark.slow
def test_own_dampers_are_those_of_the_linearised_model():
    """The case has dashpots in its hinges: the transfer function near the first resonance, which they limit."""
    model = load_case(ROOT / "cases" / "satellite_two_arrays.toml", ["loads.wheel.profile.start=1"]).model
    exact = linearize(model, outputs=["bodies.hub.turn"])
    plant = hybrid_coordinates(model, held="hub")
    for space in (plant.state_space(dampers=True), reread(plant).state_space(dampers=True)):
        s = 2j * np.pi * 0.53784
        wanted = exact.transfer(s)[:, 0] / 2.0  # the wheel has 2 N m
        found = space.transfer(s)[3:6, 3]
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-6 * np.max(np.abs(wanted)))
    assert abs(wanted[0].imag) > abs(wanted[0].real)
    matrix = CraigBampton.of(plant, dampers=True).damping
    assert np.max(np.abs(matrix[:6])) < 1e-9 * np.max(np.abs(matrix))
    with pytest.raises(ModelError, match="own dampers are not known: take hybrid_coordinates"):
        replace(plant, dampers=None).state_space(dampers=True)
    refuses("own dampers are known of the whole", CraigBampton.of, plant.appendages[0], dampers=True)


def reread(plant):
    with TemporaryDirectory() as folder:
        return HybridCoordinates.read(plant.write(Path(folder) / "hybrid.npz"))
