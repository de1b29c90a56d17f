"""What notebooks show of analyses: tables and pictures, quick, without files and without changes."""

import time

import numpy as np
import pytest
from models import stiff

import femb
from femb.linear.response import FrequencyResponse
from femb.linear.state_space import LARGEST


@pytest.fixture(scope="module")
def oscillator():
    """Two uncoupled oscillators of 1 and 3 Hz with 2 and 5 % damping, of which the input moves the second."""
    A, B = np.zeros((4, 4)), np.zeros((4, 1))
    for k, (frequency, ratio) in enumerate(((1.0, 0.02), (3.0, 0.05))):
        omega = 2.0 * np.pi * frequency
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[0.0, 1.0], [-(omega**2), -2.0 * ratio * omega]]
    B[3] = 1.0
    C = np.eye(4)[[0, 2]]
    return femb.StateSpace(A, B, C, np.zeros((2, 1)), tuple("abcd"), ("push",), ("x", "y"))


@pytest.mark.slow
def test_a_linear_model_shows_its_frequencies_and_its_first_channel(oscillator, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    oscillator._repr_html_()  # imports matplotlib
    begin = time.process_time()
    text = oscillator._repr_html_()
    assert time.process_time() - begin < 2.0
    assert "Linear model of 4 states, 1 input, 2 outputs" in text
    for cell in (">1<", ">0.02<", ">3<", ">0.05<"):
        assert cell in text
    assert 'alt="Bode plot of y by push"' in text, "the first that responds"
    assert "data:image/png;base64,iVBORw0KGgo" in text
    assert len(text) < 100_000
    assert not list(tmp_path.iterdir())
    assert repr(oscillator).startswith("StateSpace(A=<array (4, 4)>, B=<array (4, 1)>")


def test_vibrations_stand_beside_what_decays_much_faster(oscillator):
    """As the in-plane motions of thin damped shells: only a fast vibration makes slow motions rigid ones."""
    A = np.zeros((5, 5))
    A[:4, :4], A[4, 4] = oscillator.A, -1e10
    none = np.zeros((5, 0)), np.zeros((0, 5)), np.zeros((0, 0))
    text = femb.StateSpace(A, *none, (*oscillator.states, "fast"), (), ())._repr_html_()
    assert all(cell in text for cell in (">1<", ">0.02<", ">3<", ">0.05<"))


def test_large_models_and_those_without_channels_have_no_picture(oscillator):
    n = LARGEST + 2
    large = femb.StateSpace(
        -np.eye(n), np.ones((n, 1)), np.ones((1, n)), np.zeros((1, 1)), tuple(f"s{k}" for k in range(n)), ("u",), ("y",)
    )
    assert "<img" not in large._repr_html_()
    assert "the first 20 of" in large._repr_html_()
    none = femb.StateSpace(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((0, 0)), (), (), ())
    assert "0 states" in none._repr_html_()
    silent = FrequencyResponse(np.array([1.0, 2.0]), np.zeros((2, 1, 1), complex), ("y",), ("u",))
    assert "<img" not in silent._repr_html_()
    assert "<img" in oscillator.frequency_response(np.geomspace(0.1, 10.0, 50))._repr_html_()


@pytest.fixture(scope="module")
def boom():
    model = femb.Model("hub & boom")
    model.add(femb.RigidBody("hub", mass=5.0, inertia=(1.0, 1.0, 1.0)))
    section = stiff(1e6, 1.0, [1.0, 4.0], 1.0, [2e-9, 1e-9, 1e-9], "slender")
    start = femb.Attachment("hub", direction=(1.0, 0.0, 0.0))
    model.add(femb.Beam("boom", section, length=1.0, elements=4, start=start))
    return model


def test_modes_show_frequencies_damping_and_effective_masses(boom):
    found = femb.modes(boom, 3, held="hub")
    text = found._repr_html_()
    for frequency in found.frequencies:
        assert f">{frequency:.6g}<" in text
    for share in found.appendages[0].fractions[0]:
        assert f">{100.0 * share:.3f}<" in text
    assert "moves most" in text
    assert "beams.boom" in text
    assert len(repr(found)) < 1000


def test_statics_show_load_factors():
    model = femb.Model("cantilever")
    section = femb.Section("s", 1e-4, (1e-9, 1e-9), 1e-9, 1e3, 1e9, 1e9)
    start = femb.Attachment(body="ground", direction=(1.0, 0.0, 0.0))
    model.add(femb.Beam("b", section, 1.0, start=start))
    model.add(femb.Load("tip", beam="b", node=-1, force=(0.0, 0.0, 0.01)))
    results = femb.static(model, steps=2)
    text = results._repr_html_()
    assert "3 states, 0 to 1" in text
    assert "no negative eigenvalue" in text
    assert repr(results) == "<StaticResults: complete, 3 states, load factors 0 to 1>"


def test_systems_print_their_size(boom):
    system = femb.System(boom)
    assert repr(system).endswith(f"{system.n_v} velocities, 0 constraint equations>")
