"""Base shakes: the boom of docs/theory/linearisation.md, section 9, and the files and words of the command."""

import numpy as np
import pytest
from models import of_parts, refusals, refuses
from shared_runs import said

from femb import Attachment, Beam, ResultError, Results, Section, linear_model
from femb.linear.base_shake import Density, shake

OUTPUTS = ["appendages.boom.force.z", "appendages.boom.torque.y", "beams.boom.-1.acceleration.z"]
FLAT = ([1.0, 2000.0], [1.0, 1.0])


def boom(elements=32):
    section = Section(
        "tube",
        mass_per_length=7.0,
        axial_stiffness=7.17e10 * 2.5e-3,
        bending_stiffness=[7.17e10 * 5.2e-7] * 2,
        torsional_stiffness=2e4,
        inertia_per_length=[2e-9, 1e-9, 1e-9],  # next to none, as in the closed form
    )
    return of_parts(
        Beam("boom", section, length=2.0, elements=elements, start=Attachment("ground", direction=(1, 0, 0)))
    )


@pytest.fixture(scope="module")
def random():
    # 12 modes in each plane, and 3 along the boom
    return shake(boom(), "z", outputs=OUTPUTS, density=FLAT, modes=27, damping=0.01)


def test_random_response_of_a_boom(random):
    np.testing.assert_allclose(random.rms, (349.94, 363.03, 166.82), rtol=1e-4)
    np.testing.assert_allclose(random.miles, (243.05, 353.14, 44.34), rtol=2e-4)
    assert random.peak[0] == pytest.approx(429.50, rel=5e-5)
    assert random.peak_frequency[0] == pytest.approx(10.2076, abs=1e-4)


def test_every_half_power_band_is_resolved(random):
    f = random.response.frequencies
    poles = random.space.eigenvalues()
    for pole in poles[(poles.imag > 0.0) & (np.abs(poles) < 2.0 * np.pi * 1900.0)]:
        centre, half = abs(pole) / (2.0 * np.pi), -pole.real / (2.0 * np.pi)
        assert np.sum(np.abs(f - centre) < half) >= 20


@pytest.mark.slow
def test_table_and_files(tmp_path, random):
    text = random.table()
    assert "27 modes of the whole structure, 1 % damping in each, as given" in text
    assert "appendages.boom.force.z" in text
    arrays = Results.read(random.write(tmp_path / "shake.h5")).arrays
    np.testing.assert_array_equal(arrays["shake/rms"], random.rms)
    assert arrays["shake/output_density"].shape == (len(random.response.frequencies), 3)
    assert random.draw(tmp_path / "shake.png").stat().st_size > 1000


def test_a_sine_by_the_full_model():
    """The peak of a truncated model at the resonance of the full one with the same damping."""
    model = boom(6)
    found = shake(model, "z", outputs=OUTPUTS, sine=(5.0, 100.0), modes=12, damping=0.02)
    assert found.rms is None
    assert found.space.truncation is not None
    full = found.space.truncation.full
    assert full.frequencies[0] > 0.0
    sparse = linear_model(model, inputs=["ground.acceleration.z"], outputs=OUTPUTS)
    static = np.abs(sparse.transfer(2j * np.pi * 0.01)[:, 0])
    # all of the mass but that of its own root, and its first moment; the tip follows the base
    np.testing.assert_allclose(static, (14.0, 14.0, 1.0), rtol=1e-5)


def test_a_base_that_turns():
    sparse = linear_model(boom(6), inputs=["ground.angular_acceleration.y"], outputs=OUTPUTS)
    static = np.abs(sparse.transfer(2j * np.pi * 0.01)[:, 0])
    np.testing.assert_allclose(static, (14.0, 14.0 * 4.0 / 3.0, 2.0), rtol=1e-5)


def test_density():
    flat = Density(*map(np.array, FLAT))
    assert flat.rms == pytest.approx(np.sqrt(1999.0), rel=1e-9)
    slope = Density(np.array([10.0, 100.0]), np.array([0.01, 0.1]))
    # 3 dB an octave: proportional to frequency
    assert slope.rms == pytest.approx(np.sqrt(0.5e-3 * (100.0**2 - 10.0**2)), rel=1e-6)
    np.testing.assert_allclose(slope.at(np.array([5.0, 20.0, 200.0])), (0.0, 0.02, 0.0))


test_bad_shakes = refusals(
    lambda words: shake(boom(2), **{"axis": "z", "outputs": OUTPUTS, "density": FLAT, "modes": 4, **words}),
    ({"axis": "w"}, "wanted one of x, y, z"), ({"sine": (1.0, 2.0)}, "neither or both"),
    ({"density": None}, "neither or both"), ({"density": None, "sine": (3.0, 2.0)}, "that rise"),
    ({"density": ([1.0, 1.0], [1.0, 1.0])}, "rise from above zero"),
    ({"density": ([1.0, 2.0], [1.0, -1.0])}, "wanted positive values"), ({"outputs": []}, "no outputs"),
    ({"held": "hub"}, "wanted one of ground"),
)  # fmt: skip


CASE = """
title = "boom"
[sections.tube]
area = 2.5e-3
second_moments = [5.2e-7, 5.2e-7]
torsion_constant = 8e-7
density = 2800.0
youngs_modulus = 7.17e10
shear_modulus = 2.7e10
[beams.boom]
section = "tube"
length = 2.0
elements = 4
start = { body = "ground", direction = [1.0, 0.0, 0.0] }
[run]
duration = 1.0
"""


@pytest.mark.slow
def test_command(tmp_path):
    case, psd = tmp_path / "boom.toml", tmp_path / "psd.csv"
    case.write_text(CASE, encoding="utf-8")
    psd.write_text("frequency Hz, (m/s2)2/Hz\n20, 0.1\n100, 1.0\n1000, 1.0\n", encoding="utf-8")

    words = ["shake", case, "--output", "appendages.boom.force", "--modes", "8", "--damping", "0.01", "--out", tmp_path]
    result = said(*words, "--psd", psd, "--axis", "y")
    assert "Miles" in result
    assert "20 to 1000 Hz; 8 modes of the whole structure, 1 % damping in each, as given" in result
    assert {"shake.npz", "shake.h5", "shake.png"} <= {path.name for path in tmp_path.iterdir()}
    assert "RMS" not in said(*words, "--sine", "5:100", "--force")
    for wrong, message in ((["--sine", "5-100"], "wanted FIRST:LAST"), (["--psd", case], "cannot be read as a")):
        assert message in said(*words, *wrong, "--force", code=2)


def test_a_density_file_of_three_columns(tmp_path):
    path = tmp_path / "psd.csv"
    path.write_text("1, 2, 3\n2, 3, 4\n", encoding="utf-8")
    refuses("wanted two columns", Density.read, path, error=ResultError)
