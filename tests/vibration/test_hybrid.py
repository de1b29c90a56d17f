"""Hybrid coordinates: transfer functions, truncation and damping of the reference satellite, and the file."""

from dataclasses import replace

import numpy as np
import pytest
from models import FREE, hub, of_parts, refuses, winged_satellite

from femb import Load, linearize
from femb.base.errors import ResultError
from femb.handover.hybrid import HybridCoordinates
from femb.vibration.modes import modes


@pytest.fixture(scope="module")
def hybrid():
    return HybridCoordinates.of(modes(winged_satellite(), 60, held="hub"))


def undamped(hybrid):
    parts = tuple(replace(part, damping=np.zeros_like(part.damping)) for part in hybrid.appendages)
    return replace(hybrid, appendages=parts)


def compliance(hybrid, frequency):
    """Rotation of the hub by torque about each axis, rad/(N m)."""
    transfer = hybrid.state_space().transfer(2j * np.pi * frequency)
    return np.diag(transfer[3:6, 3:6]).real


# Hub torque to rotation, rad/(N m), undamped: frequency, about x, y, z, largest relative error with 1, 3, 5 modes.
TABLE = [
    (0.02, (-6.4757032e-2, -3.8147180e-1, -6.2712120e-2), (1.4e-4, 8e-7, 1e-7)),
    (0.1, (-2.3092887e-3, -1.5258597e-2, -2.5001946e-3), (3.5e-3, 1.9e-5, 1e-7)),
    (0.3, (1.1811966e-4, -1.6951442e-3, -2.7005976e-4), (3.2e-2, 1.7e-4, 8e-7)),
    (0.5, (1.9354517e-3, -6.1006729e-4, -9.1523747e-5), (9.6e-2, 1.0e-3, 7.9e-5)),
    (1.0, (-1.2941216e-4, -1.5229690e-4, -1.5591791e-5), (0.61, 1.9e-3, 8.5e-5)),
]


@pytest.mark.parametrize(("frequency", "wanted", "errors"), TABLE)
def test_torque_to_rotation(hybrid, frequency, wanted, errors):
    plain = undamped(hybrid)
    found = compliance(plain, frequency)
    # the table's frequencies are good to 2e-6, which the pole at 0.273 Hz multiplies by ten at 0.3 Hz
    np.testing.assert_allclose(found, wanted, rtol=3e-5 if frequency == 0.3 else 2e-6)
    for count, error in zip((1, 3, 5), errors, strict=True):
        largest = np.max(np.abs(compliance(plain.kept(count), frequency) / found - 1.0))
        assert 0.4 * error < largest < 1.6 * error or max(largest, error) < 3e-7


def test_the_linearised_model_has_the_same_transfer_function(hybrid):
    model = winged_satellite()
    model.add(Load("wheel", body="hub", torque=(1.0, 0.0, 0.0)))
    space = linearize(model, outputs=["bodies.hub.turn"])
    for frequency in (0.1, 0.3, 1.0):
        found = space.transfer(2j * np.pi * frequency)[0, 0].real
        assert compliance(undamped(hybrid), frequency)[0] == pytest.approx(found, rel=1e-7)


def test_frequencies_are_those_of_the_free_satellite(hybrid):
    poles = np.linalg.eigvals(undamped(hybrid).state_space().A)
    found = np.sort(poles.imag[poles.imag > 0.1]) / (2.0 * np.pi)
    np.testing.assert_allclose(found[: len(FREE)], FREE, rtol=3e-6)


def test_modes_of_the_satellite_are_more_damped_than_those_of_its_appendages(hybrid):
    poles = hybrid.state_space().eigenvalues()
    poles = poles[poles.imag > 0.1]
    poles = poles[np.argsort(np.abs(poles))][:6]
    np.testing.assert_allclose(
        poles.imag / (2.0 * np.pi), (0.273328, 0.537811, 1.570980, 1.752376, 1.904934, 3.304514), rtol=3e-6
    )
    ratios = -poles.real / np.abs(poles)
    np.testing.assert_allclose(ratios, (0.00516, 0.01003, 0.00518, 0.00504, 0.00589, 0.01090), atol=6e-6)


def test_a_single_mode_by_the_closed_form(hybrid):
    part = replace(hybrid.appendages[0].first(1), damping=np.array([0.01]))
    single = replace(hybrid, appendages=(part,))
    kappa = (part.coupling @ np.linalg.solve(single.mass, part.coupling.T)).item()
    poles = single.state_space().eigenvalues()
    pole = poles[np.argmax(poles.imag)]
    omega = 2.0 * np.pi * part.frequencies[0]
    assert abs(pole) == pytest.approx(omega / np.sqrt(1.0 - kappa), rel=1e-9)
    assert -pole.real / abs(pole) == pytest.approx(0.01 / np.sqrt(1.0 - kappa), rel=1e-9)


def test_the_hub_alone(hybrid):
    np.testing.assert_allclose(hybrid.hub_mass, np.diag([500.0, 500.0, 500.0, 180.0, 150.0, 200.0]), atol=1e-9)


def test_file(tmp_path, hybrid):
    path = hybrid.kept(4).write(tmp_path / "satellite.json")
    again = HybridCoordinates.read(path)
    np.testing.assert_array_equal(again.state_space().A, hybrid.kept(4).state_space().A)
    assert again.state == "unloaded"
    path.write_text(path.read_text().replace('"damping_ratio"', '"damping"'), encoding="utf-8")
    refuses("cannot be read as hybrid coordinates", HybridCoordinates.read, path, error=ResultError)


def test_modes_without_a_held_body():
    refuses("give held = the hub", HybridCoordinates.of, modes(winged_satellite(), 4))


def test_a_hub_without_appendages():
    refuses("modes: nothing vibrates", modes, of_parts(hub()), 1, held="hub")
