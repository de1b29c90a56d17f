"""Mode shapes as results: displacements are those of the shape, velocities their rates; films, meshes and pictures."""

import meshio
import numpy as np
import pytest
from models import refuses, stiff
from shared_runs import said

from femb import Attachment, Beam, Model, RigidBody
from femb.base.errors import ModelError, ResultError
from femb.export.catalogue import export_vtu
from femb.pictures.figures import plot
from femb.pictures.picture import SIGHTS, Surface, _sight, camera_axes, draw_modes
from femb.results.results import Results
from femb.results.view import INERTIAL, View
from femb.vibration.modes import modes


@pytest.fixture(scope="module")
def satellite():
    model = Model("hub and boom")
    model.add(RigidBody("hub", mass=5.0, inertia=(1.0, 1.0, 1.0), shape={"box": [0.2, 0.2, 0.2]}))
    section = stiff(1e6, 1.0, [1.0, 4.0], 1.0, [2e-9, 1e-9, 1e-9], "slender")
    model.add(Beam("boom", section, length=1.0, elements=4, start=Attachment("hub", direction=(1.0, 0.0, 0.0))))
    return modes(model, 3)


def test_the_displacements_are_those_of_the_shape(satellite):
    results = satellite.results()
    assert np.array_equal(results.time, [0.0, 1.0, 2.0, 3.0])
    layout = satellite.motion.motion.system.layout
    heading, *rows = satellite.table().splitlines()[-4:]
    ends = [heading.index(word) + len(word) for word in ("mode", "frequency Hz", "damping")]
    assert all(row[end - 1] != " " == row[end] for row in rows for end in ends)  # numbers end with their headings
    for k in range(3):
        phi = satellite.shapes[:, k].real
        assert phi[np.argmax(np.abs(phi))] > 0.0
        nodes = [station.frame for station in layout.beams["boom"].stations]
        shape = np.array([phi[layout.frame_v[node] :][:3] for node in nodes])
        moved = results.beams["boom"].position[k + 1] - results.beams["boom"].position[0]
        scale = np.sum(moved * shape) / np.sum(shape * shape)
        np.testing.assert_allclose(moved, scale * shape, rtol=0, atol=1e-12)
        largest = max(np.max(np.abs(moved)), np.max(np.abs(results.bodies["hub"].displacement[k + 1])))
        assert largest <= 0.1 + 1e-12  # of a structure of 1 m
    assert results.beams["boom"].position[0, -1] == pytest.approx([1.0, 0.0, 0.0])


def test_velocities_are_the_rates_of_a_period(satellite):
    motion = satellite.motion.one_period(1, frames=16)
    period = motion.time[-1]
    assert period == pytest.approx(1.0 / satellite.frequencies[0])
    position, velocity = (motion.beams["boom"][word][:-1, -1] for word in ("position", "velocity"))
    # the derivative of a trigonometric polynomial by its transform
    rate = np.fft.ifft(2j * np.pi / period * np.fft.fftfreq(16, 1 / 16)[:, None] * np.fft.fft(position, axis=0), axis=0)
    np.testing.assert_allclose(velocity, rate.real, rtol=0, atol=1e-11 * np.max(np.abs(velocity)))
    assert np.max(np.abs(velocity)) > 0.01


@pytest.mark.slow
def test_displacements_count_from_the_state_about_which_it_vibrates(satellite, tmp_path):
    """A, 0, -A, 0, A in a period: in results, read again, and in exported meshes."""
    motion = satellite.motion.one_period(1, frames=4)
    motion.write(tmp_path / "period.h5")
    for results in (motion, Results.read(tmp_path / "period.h5")):
        moved = results.beams["boom"].displacement
        assert np.abs(moved[0]).max() > 0.01
        for got, part in zip(moved, (1.0, 0.0, -1.0, 0.0, 1.0), strict=True):
            np.testing.assert_allclose(got, part * moved[0], atol=1e-15)
        (lines,) = export_vtu(results, tmp_path, solids=False, subdivisions=1)
        for k in range(5):
            data = meshio.read(lines.with_name(f"lines_{k:04d}.vtu")).point_data["displacement"]
            np.testing.assert_allclose(data[1::2], moved[k, :-1], atol=1e-15)


def test_pictures_of_modes_and_states_count_them(satellite):
    assert satellite.results().instants([0.0, 3.0]) == ["unloaded", "mode 3"]
    assert satellite.motion.one_period(1).instants([0.25]) == ["0.25 s"]
    assert Results({"time": np.arange(2.0)}, {}, {"": {"method": "static"}}).instants([1.0]) == ["state 1"]


def test_larger_scale_and_unknown_modes(satellite):
    one, two = (satellite.results(scale).beams["boom"].position[1] for scale in (1.0, 2.0))
    rest = satellite.results().beams["boom"].position[0]
    np.testing.assert_allclose(two - rest, 2.0 * (one - rest), atol=1e-12)
    with pytest.raises(ModelError, match="got mode 4 with 40 frames, wanted a mode from 1 to 3 with 2 frames or more"):
        satellite.motion.one_period(4)


def test_the_file_has_modes_and_shapes(satellite, tmp_path):
    from femb.results.storage.read import read_content

    path = satellite.write(tmp_path / "modes.h5")
    arrays = read_content(path).static
    np.testing.assert_array_equal(arrays["modes/frequencies"], satellite.frequencies)
    titles = [axes.get_title().splitlines() for axes in draw_modes(satellite.results()).get_axes()]
    wanted = zip(satellite.frequencies, satellite.labels, satellite.motions, strict=True)
    assert titles == [
        [f"{k}: {frequency:.4g} Hz", f"{item.partition('.')[2]}, {motion}"]
        for k, (frequency, item, motion) in enumerate(wanted, start=1)
    ]
    assert plot(satellite.results(), tmp_path / "named.png", "modes").exists()
    refuses("have no modes: give those of femb modes", draw_modes, Results({"time": np.zeros(1)}), error=ResultError)


@pytest.mark.parametrize("across", ["y_axis", "z_axis", "between"])
def test_a_mode_is_drawn_from_where_it_shows(across):
    """A boom along x that bends along any direction deflects across its own line in the picture, by a part."""
    angle = {"y_axis": 0.0, "z_axis": 0.5 * np.pi, "between": -0.25 * np.pi}[across]
    way = np.array([0.0, np.cos(angle), np.sin(angle)])
    points = np.array([[[x, 0.0, 0.0] for x in np.linspace(0.0, 5.0, 9)]] * 2)
    points[1] += np.linspace(0.0, 1.0, 9)[:, None] ** 2 * way
    view = View.of(Results({"time": np.arange(2.0)}), INERTIAL)
    sights = [camera_axes(*each) for each in ((-60.0, 25.0), *SIGHTS)]
    sight = sights[_sight([Surface(lambda k: points[k], [], ("", ""))], view, sights, 1)][:2]
    along, moved = sight @ (1.0, 0.0, 0.0), sight @ way
    assert abs(along[0] * moved[1] - along[1] * moved[0]) > 0.6
    assert np.linalg.norm(along) > 0.7


@pytest.mark.slow
def test_films_and_meshes_of_the_command(tmp_path):
    words = ["modes", "cases/satellite_free.toml", "--modes", "1", "--out", tmp_path]
    result = said(*words, "--films", "--export", "xdmf")
    for name in ("modes.h5", "mode_1.gif", "xdmf/mode_1/solids.xdmf"):
        assert (tmp_path / name).exists()
        assert str(tmp_path / name) in result
    said("plot", tmp_path / "modes.h5", "--what", "modes")
    assert (tmp_path / "modes.png").exists()
    assert "--export dxf: must be one of vtu, xdmf, csv" in said(*words, "--force", "--export", "dxf", code=2)
