"""Modes of reduced bodies have one damping: their own, or the ratio that an analysis is given."""

import numpy as np
import pytest
from models import stiff

import femb

SPAN = (5.0, 60.0)
FORCE = "appendages.s.force"


@pytest.fixture(scope="module")
def body():
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=20.0, inertia=2.0))
    model.add(stiff(1e6, 2e3, (2e3, 5e3), 0.9, (1e-3, 5e-4, 5e-4)))
    model.add(femb.Beam("boom", "s", 2.0, 8, start=femb.Attachment("hub", direction=(0.0, 1.0, 0.0))))
    return femb.fem.reduce_beams(model, "hub", {"tip": "beams.boom.-1"}, 6).body


def on_hub(body, *items, **words):
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=50.0, inertia=3.0))
    model.add(femb.FlexibleBody("s", body, start=femb.Attachment("hub"), **words))
    for item in items:
        model.add(item)
    return model


def shaken(model, **words):
    return femb.shake(model, "z", outputs=[f"{FORCE}.z"], sine=SPAN, held="hub", **words)


def sum_over_modes(model, ratio):
    """The largest force along z by the dynamic mass of the modes."""
    (part,) = femb.modes(model, held="hub", count=12, damping=ratio).appendages
    s = 2j * np.pi * np.linspace(*SPAN, 200_001)[:, None]
    omega = 2.0 * np.pi * part.frequencies
    share = s**2 / (s**2 + 2.0 * ratio * omega * s + omega**2)
    return np.max(np.abs(part.rigid_mass[2, 2] - share @ part.coupling[:, 2] ** 2))


@pytest.mark.parametrize(
    ("own", "given", "ratio", "words"),
    [
        (None, None, 0.005, "0.5 % damping of the reduced body s, none by default"),
        (0.02, None, 0.02, "2 % damping of the reduced body s, none by default"),
        (0.02, 0.01, 0.01, "1 % damping in each, as given"),
        (None, 0.02, 0.02, "2 % damping in each, as given"),
        (0.0, None, 0.005, "0.5 % damping in each, by default"),
    ],
)
def test_shake_is_the_sum_over_modes_of_one_ratio(own, given, ratio, words, body):
    model = on_hub(body, damping_ratio=own)
    found = shaken(model, damping=given)
    assert found.table().splitlines()[0].endswith(words)
    assert found.peak[0] == pytest.approx(sum_over_modes(model, ratio), rel=1e-5)


def test_without_damping_the_peak_is_infinite(body):
    with pytest.warns(femb.FembWarning, match="no damping"):
        found = shaken(on_hub(body), damping=0.0)
    assert "no damping of modes" in found.table()
    assert found.peak[0] == np.inf


@pytest.mark.parametrize("order", [{"modes": 6}, {"craig_bampton": 6}, {}])
@pytest.mark.parametrize(("given", "ratio"), [(None, 0.005), (0.02, 0.02), (0.0, 0.0)])
def test_poles_have_the_ratio_in_every_order(given, ratio, order, body):
    """Of the free structure, damped in proportion to rates relative to the hub: by its modes with the hub held."""
    model = on_hub(body)
    words = {"inputs": ["bodies.hub.torque"], "outputs": ["bodies.hub.turn"], "hub": "hub", "damping": given}
    values = femb.linearize_structure(model, **words, **order).eigenvalues()
    found = -np.real(values) / np.abs(values).clip(1e-9)
    lowest = found[(np.imag(values) > 1.0) & (np.abs(values) < 200.0)]
    assert len(lowest)
    # a mode of the free structure has at least the ratio of that with the hub held
    exact = femb.linearize_structure(on_hub(body, damping_ratio=ratio), **words | {"damping": None}).eigenvalues()
    if "modes" not in order or given is None:
        wanted = exact[(np.imag(exact) > 1.0) & (np.abs(exact) < 200.0)]
        np.testing.assert_allclose(np.sort(lowest), np.sort(-wanted.real / np.abs(wanted)), rtol=1e-3, atol=1e-9)
    else:
        np.testing.assert_allclose(lowest, ratio, atol=1e-9)


def test_beams_beside_a_reduced_body(body):
    """The default is of no mode where one has its own; a given ratio is that of all."""
    boom = femb.Beam("boom", "t", 2.0, 4, start=femb.Attachment("hub", direction=(1.0, 0.0, 0.0)))
    section = stiff(1e6, 2e3, (2e3, 5e3), 0.9, (1e-3, 5e-4, 5e-4), "t", damping=1e-4)
    model = on_hub(body, section, boom)
    values = femb.linearize_structure(
        model, held="hub", inputs=["bodies.s.tip.force"], outputs=["beams.boom.-1.position"], modes=4
    ).eigenvalues()
    ratios = np.sort(-np.real(values) / np.abs(values))
    of_beam = 0.5e-4 * np.abs(values)
    assert np.all((np.abs(ratios - 0.005) < 1e-6) | np.any(np.abs(ratios[:, None] - of_beam) < 1e-6, axis=1))
    given = femb.linearize_structure(
        model, held="hub", inputs=["bodies.s.tip.force"], outputs=["beams.boom.-1.position"], modes=4, damping=0.02
    ).eigenvalues()
    ratios = -np.real(given) / np.abs(given)
    beside = 0.5e-4 * np.abs(given)
    assert np.all((np.abs(ratios - 0.02) < 1e-6) | (np.abs(ratios - 0.02 - beside) < 1e-6))
