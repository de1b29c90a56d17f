"""Tolerances: the scatter of two panels on a hub against numbers of programs that share nothing with femb."""

from types import SimpleNamespace

import numpy as np
import pytest
from oracles import two_panels as panels

import femb
from femb import ModelError, Study, tolerances
from femb.study.tolerances import Scatter

PARAMETERS = {
    "k1": {"entry": "springs.left.stiffness", "range": "9 %", "distribution": "normal"},
    "k2": {"entry": "springs.right.stiffness", "range": "9 %", "distribution": "normal"},
    "m_p": {"entries": ["bodies.left.mass", "bodies.right.mass"], "range": "3 %", "distribution": "normal"},
    "d": {
        "entries": ["joints.left.second.at.1", "joints.right.second.at.1"], "relative": True, "range": "1.5 %",
        "distribution": "normal",
    },
}  # fmt: skip
FREQUENCIES = {f"f{k}": {"kind": "natural_frequency", "mode": k} for k in (1, 2)}
# Of 40,000 samples of the closed form: the mean is shifted by -6.7e-5 +- 1.5e-5 Hz; the second-order sum says -7.54e-5.
VALUES, SIGMA, SHARES, SHIFT = (0.2576436987, 0.6476437992), (3.0222891e-3, 6.8888544e-3), (
    0.40878, 0.40878, 0.08421, 0.09823,
), -7.54e-5  # fmt: skip


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    path = tmp_path_factory.mktemp("panels") / "case.toml"
    path.write_text(panels.CASE)
    return path


@pytest.mark.slow
def test_tolerances_of_two_panels(case, tmp_path):
    found = tolerances(case, FREQUENCIES, PARAMETERS)
    np.testing.assert_allclose(found.sensitivities.values, VALUES, rtol=1e-8)
    np.testing.assert_allclose(found.sigma, SIGMA, rtol=1e-7)
    np.testing.assert_allclose(found.shares[0], SHARES, atol=6e-6)
    assert found.shift[0] == pytest.approx(SHIFT, rel=0.01)
    assert "f1 0.2576437 +- 0.00302 Hz" in found.table()
    assert found.write(tmp_path / "t.npz").exists()
    assert found.draw(tmp_path / "t.png").exists()


def build(stiffness=50.0, mass=2.0):
    model = femb.Model("mass on a spring")
    model.add(femb.RigidBody("mass", mass=mass, inertia=1.0, position=(1.0, 0, 0)))
    model.add(femb.Prismatic("rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("mass")))
    start, end = femb.SpringEnd(anchor=(-1, 0, 0)), femb.SpringEnd(body="mass")
    model.add(femb.SpringDamper("spring", start, end, stiffness=stiffness, free_length=2.0))
    return model


def spring(**words):
    given = {"stiffness": {"value": 50.0, "range": [35.0, 65.0], "distribution": "normal"}} | words
    return Study(build, parameters=given, outputs={"f": {"kind": "natural_frequency"}}, design="sobol", runs=4)


def test_one_spring_in_closed_form_and_by_samples():
    """f = sqrt(k/m)/2 pi: f'' = -f/(4 k^2), and the samples scatter as the first order says within their error."""
    mass = {"value": 2.0, "range": [1.99, 2.01], "distribution": "normal"}
    found, deviation = tolerances(spring(mass=mass), samples=40), 5.0
    f = np.sqrt(50.0 / 2.0) / (2.0 * np.pi)
    changes = np.array([f / 100.0 * deviation, -f / 4.0 * 0.01 / 3.0])
    assert found.sigma[0] == pytest.approx(np.linalg.norm(changes), rel=1e-7)
    assert found.shift[0] == pytest.approx(-f / (8.0 * 50.0**2) * deviation**2, rel=0.02)
    assert np.std(found.samples[:, 0], ddof=1) == pytest.approx(found.sigma[0], rel=0.1)
    some, (sigma, shift) = found.samples[:, 0], (found.second[0], found.shift[0])
    size = np.std(some, ddof=1)
    lines = [line.strip() for line in found.table().splitlines()[3:]]
    assert lines[0] == f"second order: deviation {sigma:.4g}, shift of the mean {shift:.3g}"
    error = f"+- {size / np.sqrt(80.0):.2g}", f"+- {size / np.sqrt(40.0):.2g}"
    assert lines[1] == f"40 samples: deviation {size:.4g} {error[0]}, shift {np.mean(some) - f:.3g} {error[1]}"
    # by their shares, the largest first
    shares = changes**2 / np.sum(changes**2)
    wanted = [f"stiffness 50 5 {changes[0]:.4g} {shares[0]:.3f}", f"mass 2 0.003333 {changes[1]:.4g} {shares[1]:.3f}"]
    assert [line.split() for line in lines[3:]] == [row.split() for row in wanted]


def test_a_uniform_parameter_scatters_by_its_half_over_the_root_of_three():
    found = tolerances(spring(stiffness={"value": 50.0, "range": [35.0, 65.0]}))
    assert found.deviations[0] == pytest.approx(15.0 / np.sqrt(3.0))


def test_what_is_missing_is_named():
    study = Study(build, {"mass": {"values": [2.0]}}, {"f": {"kind": "natural_frequency"}})
    with pytest.raises(ModelError, match=r"parameters.stiffness.range: is missing; wanted how far the value scatters"):
        tolerances(study, by={"stiffness": {"value": 50.0}})
    with pytest.raises(ModelError, match="samples: got -1, wanted a number of random runs"):
        tolerances(study, samples=-1)


def test_the_deviation_to_second_order_of_a_parabola():
    """Of y = y_0 + g x + h x^2/2 with normal x of deviation s: variance g^2 s^2 + h^2 s^4/2, mean h s^2/2."""
    of = SimpleNamespace(derivatives=np.array([[3.0]]))
    found = Scatter(of, np.array([2.0]), np.array([[5.0]]), np.zeros((0, 1)))
    x = np.random.default_rng(1).standard_normal(400_000) * 2.0
    y = 3.0 * x + 0.5 * 5.0 / 4.0 * x**2
    assert found.second[0] == pytest.approx(np.std(y), rel=5e-3)
    assert found.shift[0] == pytest.approx(np.mean(y), rel=2e-2)
