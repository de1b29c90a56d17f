"""Pointing budgets in closed form: numbers of another program, frequency integrals, quadrature and simulation."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from runpy import run_path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from click.testing import CliRunner
from models import refuses
from oracles.uncertain_satellite import LAW, satellite
from scipy.integrate import quad

import femb
from femb.cli import cli
from femb.linear.pointing_budget import level, pointing_budget, read_budget
from femb.linear.pointing_sources import ConstantSource, HarmonicSource, NoiseSource, PulseSource
from femb.study.linear_outputs import OUTPUTS

TURN, RATE, TORQUE = ([f"bodies.hub.{word}.{x}" for x in "xyz"] for word in ("turn", "angular_velocity", "torque"))
NOISES = {
    "torque": NoiseSource(name="torque", inputs=TORQUE, density=1e-6),
    "attitude": NoiseSource(name="attitude", inputs=[f"{x} error" for x in TURN], density=1e-9),
    "rate": NoiseSource(name="rate", inputs=[f"{x} error" for x in RATE], density=1e-10),
}


@pytest.fixture(scope="module")
def loop():
    return femb.loop(satellite(), [LAW])


@pytest.mark.parametrize(
    ("names", "window", "apart", "wanted"),
    [
        (NOISES, 1.0, 10.0, [2.39880077e-5, 2.39396834e-5, 1.52186463e-6, 2.53842493e-5]),
        (NOISES, 10.0, 60.0, [2.39880077e-5, 2.23599269e-5, 8.68666712e-6, 3.15908636e-5]),
        (NOISES, 30.0, 30.0, [2.39880077e-5, 1.70137251e-5, 1.69102830e-5, 2.29832185e-5]),
        (["torque"], 10.0, 60.0, [5.13540517e-6, 4.76030272e-6, 1.92663031e-6, 6.72552116e-6]),
        (["attitude"], 10.0, 60.0, [7.51921198e-6, 7.01074088e-6, 2.71809878e-6, 9.90501241e-6]),
        (["rate"], 10.0, 60.0, [2.21926470e-5, 2.06919153e-5, 8.02235753e-6, 2.92342395e-5]),
    ],
)
def test_windows_of_noise(loop, names, window, apart, wanted):
    found = pointing_budget(loop, TURN[0], [NOISES[name] for name in names], window, apart)
    sizes = [np.sqrt(sum(part.size(word)[0] ** 2 for part in found.parts)) for word in ("APE", "MPE", "RPE", "PDE")]
    assert sizes == pytest.approx(wanted, rel=1e-6)
    assert found.largest() == pytest.approx(sizes[0], rel=1e-12)


def test_a_mean_over_a_window_is_the_integral_over_frequency(loop):
    closed = loop.closed(TORQUE, TURN[:1])
    found = pointing_budget(loop, TURN[0], [NOISES["torque"]], 10.0).parts[0].size("MPE")[0]
    edges = [0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 1.55, 1.6188, 1.69, 3.0, 4.1, 5.0, 50.0]

    def density(w):
        return float(np.sum(np.abs(closed.transfer(1j * w)) ** 2)) * 1e-6 * np.sinc(5.0 * w / np.pi) ** 2 / np.pi

    total = sum(quad(density, a, b, limit=400, epsrel=1e-10)[0] for a, b in pairwise(edges))
    assert found == pytest.approx(np.sqrt(total), rel=1e-8)


@pytest.mark.parametrize(
    ("omega", "amplitude", "relative"), [(1.62, 9.0386e-8, 6.3453e-8), (20.0, 4.4788e-9, 3.1669e-9)]
)
def test_harmonics(loop, omega, amplitude, relative):
    source = HarmonicSource(name="wheel", inputs=[TORQUE[0]], amplitude=1e-3, frequency=omega)
    part = pointing_budget(loop, TURN[0], [source], 10.0).parts[0]
    assert part.amplitude[0, 0] == pytest.approx(amplitude, rel=1e-4)
    assert part.size("RPE")[0] == pytest.approx(relative, rel=1e-4)


def test_the_worst_of_a_range_of_frequencies_is_at_the_resonance(loop):
    """The peak that level sets find, on the way from torque to turn."""
    from femb.linear.norms import peak_gain

    source = HarmonicSource(name="wheel", inputs=[TORQUE[0]], amplitude=1.0, frequency=[1.0, 2.0])
    part = pointing_budget(loop, TURN[0], [source], 10.0).parts[0]
    closed = loop.closed([TORQUE[0]], TURN[:1])
    grid = np.linspace(1.0, 2.0, 4001)
    largest = max(abs(closed.transfer(1j * w)[0, 0]) for w in grid[::40])
    assert part.amplitude[0, 0] >= largest * (1.0 - 1e-12)
    assert part.amplitude[0, 0] <= peak_gain(closed).gain


@pytest.mark.slow
def test_a_range_of_frequencies_has_the_worst_of_each_measure_and_axis(loop):
    """Against a fine scan: means over a window are largest beside the resonance, where that has a zero of theirs, and
    each axis has its own."""
    window, apart, sizes = 2.0 * np.pi / 1.62, 20.0, np.array([1e-3, 2e-3, 5e-4])
    omega = np.union1d(np.linspace(0.05, 6.0, 600), np.linspace(1.5, 1.75, 250))  # fine about the resonance

    def of(frequency, names=TURN):
        source = HarmonicSource(name="wheel", inputs=TORQUE, amplitude=sizes, frequency=frequency)
        return pointing_budget(loop, names, [source], window, apart).parts[0]

    turns = np.abs(loop.closed(TORQUE, TURN).frequency_response(omega / (2.0 * np.pi)).values @ sizes)
    mean = np.abs(np.sinc(0.5 * omega * window / np.pi))
    drift = 2.0 * np.abs(np.sin(0.5 * omega * apart)) * mean
    shares = np.array([np.ones_like(mean), mean, np.sqrt(1.0 - mean**2), drift, np.sqrt(2.0) * mean])
    scanned = np.max(shares[:, :, None] * turns, axis=1)
    ranged = of([0.05, 6.0])
    assert np.all(ranged.amplitude >= scanned * (1.0 - 1e-9))
    assert ranged.amplitude == pytest.approx(scanned, rel=2e-3)
    for measure, axis in ((0, 0), (1, 0), (3, 2)):
        single = of(ranged.omega[measure, axis])
        assert single.amplitude[measure, axis] == pytest.approx(ranged.amplitude[measure, axis], rel=1e-9)
    assert of([0.05, 6.0], TURN[1]).amplitude[:, 0] == pytest.approx(ranged.amplitude[:, 1], rel=1e-9)


def test_pulses_at_random_instants(loop):
    source = PulseSource(name="thruster", inputs=[TORQUE[0]], size=1.0, length=0.02, rate=0.05)
    part = pointing_budget(loop, TURN[0], [source], 10.0).parts[0]
    assert np.sqrt(part.variance[0, 0]) == pytest.approx(2.28934084e-5, rel=1e-6)
    stiffness = 2073.0 + 1.0 / 3.0
    assert part.constant[0] == pytest.approx(1e-3 / (stiffness * 0.15**2), rel=1e-6)


@pytest.mark.parametrize(
    ("sigma", "amplitudes", "wanted"), [(1.0, [1.0], 3.53319217), (1.0, [3.0], 5.33297465), (0.2, [1.0], 1.44780042)]
)
def test_levels_of_noise_and_a_harmonic(sigma, amplitudes, wanted):
    assert level(sigma, amplitudes) == pytest.approx(wanted, rel=1e-7)


def test_levels_of_three_harmonics_are_those_of_random_numbers():
    rng, amplitudes = np.random.default_rng(4), [1.0, 0.7, 2.0]
    phases = rng.uniform(0.0, 2.0 * np.pi, (3, 400_000))
    size = np.abs(0.3 * rng.standard_normal(400_000) + amplitudes @ np.sin(phases))
    assert level(0.3, amplitudes, 0.95) == pytest.approx(np.quantile(size, 0.95), rel=3e-3)


def one_axis(delay=0.1):
    """One axis of inertia J at a sampled pd law of 10 Hz, a delay of one period."""
    J = 2073.0 + 1.0 / 3.0
    plant = femb.StateSpace(
        np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0 / J]]), np.eye(2), np.zeros((2, 1)), ("a", "r"),
        ("torque",), ("a", "r"),
    )  # fmt: skip
    gains = -J * np.array([[0.15**2, 1.4 * 0.15]])
    law = femb.LinearLaw(
        "pd", np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((1, 0)), gains, inputs=["a", "r"], outputs=["torque"],
        period=0.1, delay=delay,
    )  # fmt: skip
    return femb.loop(plant, [law])


def test_noise_of_the_plant_beside_a_late_sample_is_refused():
    loop = one_axis()
    late = femb.loop(loop.plant, [replace(loop.laws[0], phase=0.05)])
    source = NoiseSource(name="drag", inputs=["torque"], density=1e-6)
    refuses("budgets are of laws and sensors of one period", pointing_budget, late, "a", [source], 3.0)


def test_a_thin_resonance_above_half_the_rate_of_samples_is_found():
    """A mode of the plant at 101.7 rad/s, of 1e-4 of critical damping, which samples at 62.8 rad/s hardly drive."""
    omega, zeta, of_torque = 101.7, 1e-4, 1e-6
    A = np.zeros((4, 4))
    A[0, 1] = A[2, 3] = 1.0
    A[3, 2:] = -(omega**2), -2.0 * zeta * omega
    rigid, names = one_axis(), ("a", "r", "q", "q rate")
    plant = femb.StateSpace(
        A, np.array([[0.0], [rigid.plant.B[1, 0]], [0.0], [of_torque]]),
        np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]), np.zeros((2, 1)), names, ("torque",), ("a", "r"),
    )  # fmt: skip
    source = HarmonicSource(name="wheel", inputs=["torque"], amplitude=1.0, frequency=[50.0, 200.0])
    part = pointing_budget(femb.loop(plant, rigid.laws), "a", [source], 10.0).parts[0]
    assert part.omega[0, 0] == pytest.approx(omega, rel=1e-4)
    assert part.amplitude[0, 0] == pytest.approx(of_torque / (2.0 * zeta * omega**2), rel=0.01)


def test_a_sampled_loop_is_exact_between_its_samples():
    """The rms over time; beside it the statistics of a simulation, and a window of 30 periods."""
    loop = one_axis()
    noise = NoiseSource(name="sensors", inputs=["a error", "r error"], deviation=[1e-5, 1e-6])
    found = pointing_budget(loop, "a", [noise], 3.0, 6.0).parts[0]
    closed = loop.closed(("a error", "r error"), ("a",))
    rng, count, steps = np.random.default_rng(11), 2000, 660
    x, values = np.zeros((len(closed.A), count)), []
    for _ in range(steps):
        values.append(closed.C @ x)
        x = closed.A @ x + closed.B @ (np.array([[1e-5], [1e-6]]) * rng.standard_normal((2, count)))
    late = np.array(values)[600:, 0]
    assert found.size("APE")[0] == pytest.approx(np.sqrt(np.mean(late**2)), rel=0.02)
    first, second = late[:30].mean(axis=0), late[30:60].mean(axis=0)
    assert found.size("MPE")[0] == pytest.approx(np.sqrt(np.mean(np.append(first, second) ** 2)), rel=0.04)
    # from the middle of the first window to that of the second there are 30 periods
    near = pointing_budget(loop, "a", [noise], 3.0, 3.0).parts[0]
    assert near.size("PDE")[0] == pytest.approx(np.sqrt(np.mean((first - second) ** 2)), rel=0.06)


def test_noise_of_the_plant_in_a_sampled_loop_tends_to_that_of_a_continuous_one():
    """Of short periods without delay, where the law acts at once."""
    J = 2073.0 + 1.0 / 3.0
    loop = one_axis(0.0)
    law = loop.laws[0]
    fast = femb.loop(loop.plant, [replace(law, period=1e-3)])
    slow = femb.loop(loop.plant, [replace(law, period=None)])
    noise = NoiseSource(name="torque", inputs=["torque"], density=1e-6)
    found, wanted = (pointing_budget(each, "a", [noise], 3.0, 9.0).parts[0] for each in (fast, slow))
    assert wanted.size("APE")[0] ** 2 == pytest.approx(1e-6 / (2.0 * J**2 * 1.4 * 0.15**3), rel=1e-9)
    for word in ("APE", "MPE", "PDE"):
        assert found.size(word)[0] == pytest.approx(wanted.size(word)[0], rel=1e-3)


def test_constant_errors_and_correlated_axes(loop):
    knowledge = ConstantSource(name="mounting", inputs=[TURN[0]], value=2e-5, differs=True)
    bias = ConstantSource(name="bias", inputs=[f"{TURN[0]} error"], value=3e-5)
    found = pointing_budget(loop, TURN[0], [knowledge, bias], 10.0)
    assert found.total("APE") == pytest.approx([5e-5], rel=1e-9)  # a bias is followed by the attitude
    assert found.total("RPE") == pytest.approx([0.0], abs=1e-15)
    assert found.parts[0].size("PRE")[0] == pytest.approx(np.sqrt(2.0) * 2e-5)
    # one noise on two axes, wholly correlated, is one noise along their sum
    both = NoiseSource(name="n", inputs=TORQUE[:2], density=1e-6 * np.ones((2, 2)))
    one = [NoiseSource(name="n", inputs=[x], density=1e-6) for x in TORQUE[:2]]
    together = pointing_budget(loop, TURN[:2], [both], 10.0).covariance
    apart = pointing_budget(loop, TURN[:2], one, 10.0).covariance
    assert together[0, 1] > 0.3 * np.sqrt(apart[0, 0] * apart[1, 1]) > 10.0 * abs(apart[0, 1])


def test_files_of_budgets_have_units_as_cases(tmp_path):
    """Texts with units ended in errors of Python, or were taken as numbers."""
    path = tmp_path / "budget.toml"

    def read(more, keys='window = ["2 s", "1 min"]'):
        path.write_text(f'of = "a"\n{keys}\n[sources.h]\ninputs = ["b"]\n{more}\n')
        return read_budget(path)

    harmonic = 'kind = "harmonic"\namplitude = 1e-3\nfrequency = '
    for text, wanted in (('"2 Hz"', (4.0 * np.pi,) * 2), ('["1 Hz", 9.0]', (2.0 * np.pi, 9.0))):
        keys, (source,) = read(harmonic + text)
        assert source.range == pytest.approx(wanted)
        assert keys["window"] == [2.0, 60.0]
    assert read('kind = "pulses"\nsize = 0.4\nlength = "50 ms"\nrate = 0.02')[1][0].length == 0.05
    refuses("sources.h.amplitude: got '1 mN m', wanted a number in SI units", read,
            harmonic.replace("1e-3", '"1 mN m"') + "2.0")  # fmt: skip
    refuses("sources.h.density: got '1e-6', wanted a number", read, 'kind = "noise"\ndensity = "1e-6"')
    refuses("sources.h.frequency: got 'two', wanted a number", read, harmonic + '"two"')
    refuses(
        "sources.h.length: got '5 m', wanted a number in s", read, 'kind = "pulses"\nsize = 1\nlength = "5 m"\nrate = 1'
    )
    refuses("window: got '10 m', wanted a number in s", read, harmonic + "2.0", 'window = "10 m"')
    refuses("window: got 'ten', wanted a number", read, harmonic + "2.0", 'window = "ten"')


def test_bad_sources_are_named(loop):
    refuses("there are no sources", pointing_budget, loop, TURN[0], [], 1.0)
    refuses("sources.n.density: .*either density or deviation", NoiseSource, name="n", inputs=["a"])
    refuses("positive semidefinite", NoiseSource, name="n", inputs=["a", "b"], density=[[1.0, 2.0], [2.0, 1.0]])
    refuses("no output 'bodies.hub.turm'", pointing_budget, loop, "bodies.hub.turm", [NOISES["torque"]], 1.0)
    refuses("wanted 0 < length <= apart", pointing_budget, loop, TURN[0], [NOISES["torque"]], 2.0, 1.0)
    refuses("kind: got 'nois'", pointing_budget, loop, TURN[0], {"n": {"kind": "nois"}}, 2.0)
    samples = NoiseSource(name="n", inputs=TORQUE, deviation=1.0)
    refuses("is of samples", pointing_budget, loop, TURN[0], [samples], 2.0)


def test_sources_that_are_no_tables_by_name(tmp_path, loop):
    """In budgets, their files and outputs of studies: lists, and numbers."""
    output = partial(OUTPUTS["pointing_budget"], name="budget", of=TURN[0], window=4.0)
    for listed in ([{"kind": "constant"}], {"tilt": 1.0}):
        refuses("sources.*: got .*wanted tables by name", pointing_budget, loop, TURN[0], listed, 2.0)
        refuses("outputs.budget.sources: .*got .*wanted tables by name", output, sources=listed)
    budget = tmp_path / "budget.toml"
    budget.write_text('[[sources]]\nkind = "constant"\n')
    refuses("sources: got .*wanted tables by name", read_budget, budget)


CASES = Path(__file__).parents[2] / "cases"


def test_a_case_with_sensors_has_the_covariance_of_its_closed_loop():
    """The script of the case sums the responses to single samples; its columns stand beside those of nonlinear runs."""
    still = [f"wheels.{axis}.{word}_imbalance=0" for axis in "xyz" for word in ("static", "dynamic")]
    case = femb.load_case(CASES / "pointing_budget.toml", still)
    found = pointing_budget(case, "bodies.hub.turn", window=4.0)
    assert [part.source for part in found.parts] == ["sensors.tracker noise", "sensors.gyro noise", "sensors.gyro bias"]
    covariances = run_path(str(CASES / "studies" / "pointing_budget.py"))["covariances"]
    wanted = covariances(CASES / "pointing_budget.toml", 400, 0.01)
    assert found.covariance == pytest.approx(wanted[0], rel=1e-3, abs=1e-4 * wanted[0].max())
    lags = 0.5 * np.abs(np.subtract.outer(np.arange(400), np.arange(400)))
    mean = np.mean(np.diagonal(wanted, axis1=1, axis2=2)[(2.0 * lags).astype(int)], axis=(0, 1))
    sizes = sum(part.variance[1] for part in found.parts)
    assert sizes == pytest.approx(mean, rel=1e-3)
    # the integral takes the bias
    assert found.parts[2].constant == pytest.approx(np.zeros(3), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("quanta", [(None, None), (4e-5, 2e-5)])
def test_budgets_are_the_statistics_of_nonlinear_runs_within_their_error(quanta):
    """Of 800 windows of a satellite with a star tracker and a gyro, its three axes together; errors by 25 batches.

    quanta : of the readings of both, twice the deviation of their noise.
    """
    model, window, steps = femb.Model("hub", seed=4), 2.5, 20
    model.add(femb.RigidBody("hub", 100.0, (25.0, 22.0, 18.0)))
    model.add(femb.StarTracker("tracker", body="hub", noise=2e-5, roll_noise=8e-5, period=0.25, quantum=quanta[0]))
    model.add(femb.Gyro("gyro", body="hub", angle_random_walk=5e-6, period=0.25, quantum=quanta[1]))
    model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
    law = {"attitude": "sensors.tracker", "rate": "sensors.gyro", "outputs": ("loads.torquer.torque",)}
    model.add(femb.PDController("law", bandwidth=1.0, period=0.25, delay=0.25, **law))
    budget = pointing_budget(model, "bodies.hub.turn", window=window)
    results = femb.simulate(model, duration=2020.0, output_interval=window / steps, atol={"time": 1.0})
    error = results.controllers["law"].error[160:-1].reshape(-1, steps, 3)
    mean = error.mean(axis=1)
    squares = {"APE": (error**2).mean(axis=1), "MPE": mean**2, "RPE": ((error - mean[:, None]) ** 2).mean(axis=1)}
    for word, found in squares.items():
        ratios = found / sum(part.size(word) ** 2 for part in budget.parts)
        batches = ratios.reshape(25, -1, 3).mean(axis=(1, 2))
        deviation = batches.std(ddof=1) / 5.0
        assert deviation < 0.035, word
        assert abs(batches.mean() - 1.0) < 3.0 * deviation, word


def test_a_quantum_coarser_than_the_noise_is_told():
    """What it takes is no white noise then: readings stick, and the loop may go round in a cycle."""
    model = femb.Model("hub")
    model.add(femb.RigidBody("hub", 100.0, (25.0, 22.0, 18.0)))
    model.add(femb.AttitudeSensor("tracker", body="hub", noise=1e-6, quantum=1e-5, rounding="floor"))
    model.add(femb.Load("torquer", body="hub", torque=(0.0, 0.0, 0.0), frame="body"))
    law = {"attitude": "sensors.tracker", "rate": "bodies.hub.angular_velocity", "outputs": ("loads.torquer.torque",)}
    model.add(femb.PDController("law", bandwidth=1.0, period=0.25, **law))
    with pytest.warns(femb.FembWarning, match=r"sensors.tracker: its noise is below a quarter of its quantum"):
        found = pointing_budget(model, "bodies.hub.turn", window=1.0)
    noise, _, mean = found.parts
    assert [part.source.split(" ", 1)[1] for part in found.parts] == ["noise", "quantum", "quantum, mean"]
    assert found.parts[1].variance == pytest.approx(noise.variance * 100.0 / 12.0, rel=1e-9)
    assert mean.constant == pytest.approx(np.full(3, 5e-6), rel=1e-6)


def test_the_command_prints_and_draws_a_budget(tmp_path):
    budget = tmp_path / "budget.toml"
    budget.write_text(
        'of = "bodies.hub.turn"\nwindow = 4.0\nrequired = 1e-4\n'
        '[sources.mounting]\nkind = "constant"\ninputs = ["bodies.hub.turn.x"]\nvalue = 1e-6\n'
    )
    words = [f"--set=wheels.{axis}.{word}_imbalance=0" for axis in "xyz" for word in ("static", "dynamic")]
    args = ["pointing", str(CASES / "pointing_budget.toml"), "--linear", "--budget", str(budget), *words]
    result = CliRunner().invoke(cli, [*args, "--out", str(tmp_path / "p.png")])
    assert result.exit_code == 0, result.output
    assert "sensors.tracker noise" in result.output
    assert "mounting" in result.output
    assert (tmp_path / "p.png").stat().st_size > 10_000
    assert "required 0.0001 rad, windows of 4 s: kept by all measures" in result.output
    tight = budget.read_text().replace("1e-4", "1e-9").replace("window = 4.0", "window = [4.0, 8.0]")
    budget.write_text(tight)
    result = CliRunner().invoke(cli, [*args, "--out", str(tmp_path / "two.png")])
    over = [line for line in result.output.splitlines() if line.startswith("required 1e-09 rad, windows of")]
    assert len(over) == 2
    assert all("exceeded by APE of bodies.hub.turn.x" in line for line in over)
    heights = [plt.imread(tmp_path / name).shape[0] for name in ("p.png", "two.png")]
    assert heights[1] > 1.5 * heights[0], "a panel for each window"
    assert CliRunner().invoke(cli, [*args, "--first", "1"]).exit_code != 0
    for given, missing in (["--window=4"], "--of"), (["--of=bodies.hub.turn"], "--window"):
        result = CliRunner().invoke(cli, [*args[:3], *given])
        assert (result.exit_code, result.output.partition(":")[0]) == (2, missing)


@pytest.mark.parametrize("words", [{"window": [1.0, 3.0]}, {"window": "1 s"}, {"apart": float("nan")}])
def test_windows_that_are_no_numbers(loop, words):
    refuses("pointing: (window|apart): got", pointing_budget, loop, TURN[0], [NOISES["torque"]], **words)
