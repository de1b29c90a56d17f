"""Fits to transfer functions and histories, beside closed forms, fits by scipy, and files of another program."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

from femb import ModelError, correlate, identify, read_test_data
from femb.base.errors import FembError, FembWarning

# written by pyuff 2.5.8, in mm and N: two masses of 10 and 2 kg with 60 N/m and 0.5 N s/m between them
UNIVERSAL = Path(__file__).with_name("two_masses_test.unv")
BLOCK = """
[bodies.block]
mass = 2.2
inertia = [1.0, 1.0, 1.0]
[joints.slide]
kind = "prismatic"
first = { body = "ground", axis = [1, 0, 0] }
second = { body = "block", axis = [1, 0, 0] }
start = 0.1
[springs.coil]
kind = "joint"
joint = "slide"
stiffness = 180.0
damping = 0.5
[run]
duration = 4.0
method = "bdf"
rtol = 1e-7
[parameters.k]
entry = "springs.coil.stiffness"
range = [100, 400]
[parameters.c]
entry = "springs.coil.damping"
range = [0.01, 5]
[parameters.m]
entry = "bodies.block.mass"
range = [1, 4]
"""
BY_RADAU = BLOCK.replace('"bdf"\nrtol = 1e-7', '"radau"\nrtol = 1e-5')
TRUE = np.array([200.0, 0.8, 2.0])
ENDS = "bodies.block.force.x", "bodies.block.position.x"
AT_REST = {"start": "equilibrium"}
# fits of one parameter, where what is wrong with the data does not depend on the others
ALONE = {"by": "k", "overrides": ["springs.coil.damping=0.8", "bodies.block.mass=2"]}


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture
def block(tmp_path):
    return written(tmp_path, "block.toml", BY_RADAU)


def transfer(p, f):
    """Of a mass p[2] on a spring p[0] with a damper p[1]."""
    w = 2.0 * np.pi * f
    return 1.0 / (p[0] + 1j * p[1] * w - p[2] * w**2)


def decay(p, t, mass=2.2, x0=0.1):
    """Of a mass that is released at x0."""
    rate = p[1] / (2.0 * mass)
    w = np.sqrt(p[0] / mass - rate**2)
    return x0 * np.exp(-rate * t) * (np.cos(w * t) + rate / w * np.sin(w * t))


def of_transfer(f, G, sigma="", ends=ENDS):
    rows = ["frequency,input,output,real,imag" + (",sigma" if sigma else "")]
    rows += [
        f"{x:.17g},{ends[0]},{ends[1]},{y.real:.17g},{y.imag:.17g}" + (f",{sigma:g}" if sigma else "")
        for x, y in zip(f, G, strict=True)
    ]
    return "\n".join(rows) + "\n"


def of_history(t, x, head="joints.slide.stroke"):
    return f"time,{head}\n" + "".join(f"{a:.17g},{b:.17g}\n" for a, b in zip(t, x, strict=True))


F, SIGMA = np.linspace(0.3, 4.0, 40), 2e-5


def in_parts(z):
    return np.concatenate([z.real, z.imag])


@pytest.mark.slow
def test_a_transfer_function_is_fitted_as_scipy_fits_the_closed_form(block, tmp_path):
    """Values, and their covariance: as scipy has it from the closed form, and as fits of 300 other samples scatter."""
    rng = np.random.default_rng(3)

    def sample():
        return transfer(TRUE, F) + SIGMA * (rng.standard_normal(len(F)) + 1j * rng.standard_normal(len(F)))

    def slopes(p):
        s = 2j * np.pi * F
        return in_parts(-(transfer(p, F) ** 2)[:, None] * np.stack([s**0, s, s**2], axis=1)) / SIGMA

    def by_scipy(G):
        return least_squares(
            lambda p: in_parts(transfer(p, F) - G) / SIGMA, TRUE, x_scale=TRUE, xtol=1e-14, ftol=1e-14, jac=slopes
        )

    G = sample()
    found, wanted = identify(block, written(tmp_path, "frf.csv", of_transfer(F, G, SIGMA)), **AT_REST), by_scipy(G)
    covariance = np.linalg.inv(wanted.jac.T @ wanted.jac)
    deviations = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(found.values - wanted.x) < 1e-4 * deviations)
    np.testing.assert_allclose(found.deviations, deviations, rtol=1e-6)
    np.testing.assert_allclose(found.correlation, covariance / np.outer(deviations, deviations), atol=1e-6)
    assert found.chi2 == pytest.approx(2.0 * wanted.cost, rel=1e-8)
    scatter = np.std([by_scipy(sample()).x for _ in range(300)], axis=0)
    np.testing.assert_allclose(found.deviations, scatter, rtol=4.0 / np.sqrt(600.0))
    assert "bodies.block.position.x by bodies.block.force.x" in found.table()
    assert found.draw(tmp_path / "fit.png").exists()


RAIL = """
[bodies.cart]
mass = 10.0
inertia = [1.0, 1.0, 1.0]
[bodies.load]
mass = 2.4
inertia = [1.0, 1.0, 1.0]
[joints.track]
kind = "prismatic"
first = { body = "ground", axis = [1, 0, 0] }
second = { body = "cart", axis = [1, 0, 0] }
[joints.slide]
kind = "prismatic"
first = { body = "cart", axis = [1, 0, 0] }
second = { body = "load", axis = [1, 0, 0] }
[springs.coil]
kind = "joint"
joint = "slide"
stiffness = 45.0
damping = 0.3
[parameters.k]
entry = "springs.coil.stiffness"
range = [20, 100]
[parameters.c]
entry = "springs.coil.damping"
range = [0.1, 2.0]
[parameters.m]
entry = "bodies.load.mass"
range = [1, 4]
"""
CHANNELS = {"1x": "bodies.cart.force.x", "2x": "bodies.load.acceleration.x"}


def test_a_universal_file_of_another_program_gives_its_masses(tmp_path):
    """Accelerance, in mm, along -x at the response: by names of its ends, without deviations."""
    case = written(tmp_path, "rail.toml", RAIL)
    found = identify(case, UNIVERSAL, channels=CHANNELS)
    np.testing.assert_allclose(found.values, [60.0, 0.5, 2.0], rtol=1e-6)
    s = 2j * np.pi * found.curves[0].abscissa
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    wanted = [z * z * np.linalg.inv(np.diag([10.0, 2.0]) * z * z + (0.5 * z + 60.0) * K)[1, 0] for z in s]
    np.testing.assert_allclose(found.curves[0].after, wanted, rtol=1e-5)
    with pytest.raises(ModelError, match=r"has bodies\.load\.position\.x in m/s2, the model in m: name another"):
        identify(case, UNIVERSAL, channels=CHANNELS | {"2x": "bodies.load.position.x"})
    with pytest.raises(ModelError, match="channels: the data have no '3x'; there are: -2x, 1x, 2x"):
        identify(case, UNIVERSAL, channels={"3x": "bodies.load.acceleration.x"})


T = np.linspace(0.0, 3.0, 61)


@pytest.mark.parametrize(("method", "part"), [("radau", 3e-3), pytest.param("bdf", 2e-2, marks=pytest.mark.slow)])
def test_a_history_is_fitted_as_scipy_fits_the_closed_form(tmp_path, method, part):
    """By tangents of the steps, and by the same steps beside the values."""
    x = decay(TRUE, T) + 1e-3 * np.random.default_rng(5).standard_normal(len(T))
    case = written(tmp_path, "block.toml", BLOCK.replace("bdf", method))
    found = identify(case, written(tmp_path, "run.csv", of_history(T, x, "joints.slide.stroke +- 1e-3")), ["k", "c"])
    wanted = least_squares(lambda p: (decay(p, T) - x) / 1e-3, TRUE[:2], x_scale=TRUE[:2], jac="3-point")
    deviations = np.sqrt(np.diag(np.linalg.inv(wanted.jac.T @ wanted.jac)))
    assert np.all(np.abs(found.values - wanted.x) < part * deviations)
    np.testing.assert_allclose(found.deviations, deviations, rtol=1e-4)
    assert found.chi2 == pytest.approx(2.0 * wanted.cost, rel=1e-4)


@pytest.mark.slow
def test_a_history_is_fitted_from_afar(block, tmp_path):
    """Five periods with a stiffness of 65 %: a fit of the closed form over all of it stops elsewhere."""
    x = decay([200.0, 0.5], T)
    stopped = least_squares(lambda p: decay([p[0], 0.5], T) - x, [130.0], x_scale=[100.0], bounds=([100.0], [400.0]))
    assert stopped.x[0] < 120.0
    run = written(tmp_path, "run.csv", of_history(T, x))
    found = identify(block, run, "k", overrides=["springs.coil.stiffness=130", "run.rtol=1e-7"])
    np.testing.assert_allclose(found.values, [200.0], rtol=1e-5)


@pytest.mark.slow
def test_functions_are_predicted_and_fitted_with_modes(block, tmp_path):
    """The history tells k/m, modes too, and the transfer function all; what is held out is predicted."""
    frf = written(tmp_path, "frf.csv", of_transfer(F, transfer(TRUE, F), SIGMA))
    run = written(tmp_path, "run.csv", of_history(T[:31], decay(TRUE, T[:31], mass=2.0)))
    modes = written(tmp_path, "modes.csv", f"mode,frequency,sigma\n1,{np.sqrt(TRUE[0] / TRUE[2]) / 2 / np.pi},1e-4\n")
    found = identify(block, [(frf, None), (run, None), (modes, None)], hold_out=["joints.slide.stroke"], **AT_REST)
    np.testing.assert_allclose(found.values, TRUE, rtol=1e-6)
    before, after = found.held_out["joints.slide.stroke"]
    assert after < 1e-3 < 10.0 < before
    assert found.residuals.count("mode 1, Hz") == 1
    alone = identify(block, modes, ["k", "m"])
    assert alone.not_told == ["+1.00 k +1.00 m"]


@pytest.mark.slow
def test_errors_of_the_data_are_named(block, tmp_path):
    """An offset, by its size, and a delay, of data that fit else."""
    t = T[:21]
    with pytest.raises(ModelError, match=r"stroke: an offset of 0\.0(3|299\d+) of the data explains 100 %"):
        identify(
            block,
            written(tmp_path, "offset.csv", of_history(t, decay(TRUE, t) + 0.03, "joints.slide.stroke +- 1e-4")),
            ["k"],
            overrides=["springs.coil.damping=0.8"],
        )
    G = transfer(TRUE, F) * np.exp(-2j * np.pi * F * 1e-3)
    with pytest.warns(FembWarning, match=r"a delay of 0\.00(1|099\d*|100\d*) s of the data explains"):
        identify(block, written(tmp_path, "late.csv", of_transfer(F, G, SIGMA)), **ALONE)


def pushed(t, late=0.0, noise=0.0):
    """The stroke of the block under 2 N from rest, k = 200 and c = 0.8, by a clock that is late (s)."""
    x = np.where(t > late, 0.01 - decay(TRUE, t - late, x0=0.01), 0.0)
    return x + noise * np.random.default_rng(1).standard_normal(len(t))


PUSHED = BY_RADAU.replace("start = 0.1\n", "").replace("stiffness = 180.0", "stiffness = 350.0")
PUSHED += '[loads.push]\nkind = "motor"\njoint = "slide"\nforce = 2.0\n'


@pytest.mark.slow
def test_a_unit_that_a_parameter_hides_is_refused(tmp_path):
    """Strokes in mm, with noise, of a spring that begins too stiff: 1750 times those of the model."""
    case, t = written(tmp_path, "pushed.toml", PUSHED), np.arange(1.0, 31.0) * 0.05
    text = of_history(t, 1e3 * pushed(t, noise=2e-4), "joints.slide.stroke +- 0.2")
    with pytest.raises(ModelError, match=r"stroke: measured values are 1e\+03 times .* are they in mm or mN\?"):
        identify(case, written(tmp_path, "mm.csv", text), ["k"])


def test_a_delay_is_named_beside_noise(tmp_path):
    """0.015 s, of which the residuals are not much more than those of the noise."""
    case, t = written(tmp_path, "pushed.toml", PUSHED), np.arange(4.0, 64.0) * 0.05
    text = of_history(t, pushed(t, 0.015, 7e-4), "joints.slide.stroke +- 7e-4")
    with pytest.warns(FembWarning, match=r"stroke: a delay of 0\.01\d* s of the data explains") as told:
        found = identify(case, written(tmp_path, "late.csv", text), ["c"], overrides=["springs.coil.stiffness=200"])
    assert 1.5 < np.mean(found.after**2) < 3.0
    assert len(told) == 1


def test_ends_of_ranges_have_models(block, tmp_path):
    """Moments of 1, 1 and 2.5 kg m2 are of no body: said before the fit, by the name of the parameter."""
    more = '[parameters.J]\nentry = "bodies.block.inertia.2"\nrange = [0.5, 2.5]\n'
    case = written(tmp_path, "inertia.toml", BLOCK + more)
    data = written(tmp_path, "run.csv", of_history(T, decay(TRUE, T)))
    with pytest.raises(FembError, match=r"parameters\.J\.range: got 2\.5 kg m2 at an end, .* triangle inequality"):
        identify(case, data)


@pytest.mark.slow
def test_a_factor_of_the_data_is_found_with_the_parameters(block, tmp_path):
    """Of a release whose strokes are twice as large: no stiffness makes the first stroke other than 0.1."""
    t = T[:16]
    data = written(tmp_path, "twice.csv", of_history(t, 2.0 * decay(TRUE, t)))
    with pytest.warns(FembWarning, match=r"stroke: a factor of (2|1\.999\d*|2\.000\d*) of the data explains 100 %"):
        identify(block, data, ["k"], overrides=["springs.coil.damping=0.8"])


@pytest.mark.slow
def test_a_bound_is_no_error_of_the_data(block, tmp_path):
    """Exact data of 200 N/m, of which the range ends at 190 N/m."""
    data = written(tmp_path, "run.csv", of_history(T[:16], decay(TRUE, T[:16], mass=2.0)))
    words = {"overrides": ["parameters.k.range=[100, 190]", "bodies.block.mass=2"]}
    with pytest.warns(FembWarning) as told:
        found = identify(block, data, ["k", "c"], **words)
    assert str(told[0].message).startswith("identify: k ends at its largest value, 190 N/m")
    assert not any(word in str(told[0].message) for word in ("factor", "delay", "offset"))
    assert found.at_bound.tolist() == [1.0, 0.0]


@pytest.mark.slow
def test_as_many_values_as_unknowns_tell_no_error_of_the_data(block, tmp_path):
    """Three values, which a stiffness, a damper and an offset always fit."""
    data = written(tmp_path, "run.csv", of_history(T[:3], [0.0, 0.04, 0.02]))
    with pytest.warns(FembWarning) as told:
        identify(block, data, ["k", "c"])
    assert "of the data" not in str(told[0].message)


@pytest.mark.slow
def test_what_a_fit_of_transfer_functions_leaves_open_is_said(block, tmp_path):
    """The block is released at 0.1 m, 180*0.1/2.2 m/s2 from rest; a value of zero has no logarithm."""
    G = np.where(np.arange(len(F)) == 7, 0.0, transfer(TRUE, F))
    data = written(tmp_path, "frf.csv", of_transfer(F, G))
    said = r"about unsteady motion: .*8\.18 per s2.*; bodies.block.position.x by .*: values of zero, at 0\.964103 Hz"
    with pytest.warns(FembWarning, match=said):
        found = identify(block, data)
    np.testing.assert_allclose(found.values, TRUE, rtol=1e-6)
    with pytest.warns(FembWarning) as told:
        identify(block, data, start="equilibrium", **ALONE)
    assert "unsteady" not in str(told[0].message)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", "time,a\n0,1\n1,nan\n", "line 3: a: got 'nan', wanted a finite number"),
        ("t.csv", "time,a,b\n0,1,2\n1,,3\n", "line 3: a: got '', wanted .*; leave out lines with gaps, or give each"),
        ("t.csv", "time,a\n0,1\n1\n", "line 3: got 1 fields, wanted 2: time, a"),
        ("t.csv", "time,a\n0,1\n1,2\n1,3\n", "line 4: time: got 1, wanted instants from 0 s that increase"),
        ("t.csv", "time,a\n-1,1\n", "line 2: time: got -1, wanted instants from 0 s"),
        ("t.csv", "time,a +- 0\n0,1\n", "wanted NAME \\+- a standard deviation above zero"),
        ("t.csv", "time\n0\n", "has no column beside time"),
        ("t.csv", "time,a\n", "has no rows below"),
        ("f.csv", "frequency,input,output,real\n1,a,b,1\n", "the column imag is missing"),
        ("f.csv", "frequency,input,output,real,imag,phase\n1,a,b,1,0,0\n", "no column 'phase'"),
        ("f.csv", "frequency,input,output,real,imag\n-1,a,b,1,0\n", "line 2: frequency: wanted a number above zero"),
    ],
)
def test_bad_files_are_named(tmp_path, name, text, message):
    with pytest.raises(ModelError, match=message):
        read_test_data(written(tmp_path, name, text))


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (of_history(T, 1000.0 * decay(TRUE, T)), {}, "are 928 times those of the model: are they in mm"),
        (of_history(T[:1], [0.1]), {}, "histories: end at 0 s, with the start of the run"),
        (of_history(T, 0.0 * T), {}, r"stroke: all values are zero, of which no standard deviation follows"),
        (of_history(2.0 * T, decay(TRUE, T)), {}, r"is 4 s, but times up to 6 s are wanted: make it longer"),
        (of_history(1e3 * T, decay(TRUE, T)), {}, r"times up to 3000 s .*, or give seconds, if they are in ms"),
        (of_history(T, decay(TRUE, T), "joints.slide.strok"), {}, "did you mean 'joints.slide.stroke'"),
        (of_transfer(F, 1e3 * transfer(TRUE, F)), {}, "times those of the model: are they in mm or mN"),
        (of_transfer(F, -((2 * np.pi * F) ** 2) * transfer(TRUE, F)), ALONE, r"\(2 pi f\)\^2 times those of the model"),
        (of_transfer(F, -transfer(TRUE, F)), AT_REST | ALONE, "measured values are of the opposite sign"),
        (of_transfer(F, transfer(TRUE, F)), {"hold_out": ["a"]}, "hold_out: no function 'a'; there are: bodies.block"),
        (of_transfer(F, transfer(TRUE, F)), {"hold_out": [1]}, "hold_out: got mode 1; the test has no modes|0 modes"),
        (of_transfer(F, transfer(TRUE, F)), {"hold_out": [" by ".join(ENDS[::-1])]}, "leaves no function to fit"),
        (of_transfer(F, transfer(TRUE, F), ends=("bodies.block.force.y", ENDS[1])), {}, "does not respond to"),
    ],
)
def test_functions_that_do_not_suit_the_model_are_named(block, tmp_path, text, words, message):
    with pytest.raises(FembError, match=message):
        identify(block, written(tmp_path, "data.csv", text), **words)


@pytest.mark.slow
def test_a_size_that_a_parameter_may_have_is_no_unit(block, tmp_path):
    """A response of a tenth, 1/g for a unit, since the mass and the spring are ten times those of the start."""
    path = written(tmp_path, "data.csv", of_transfer(F, transfer(10.0 * TRUE, F), 1e-6))
    ranges = {"k": [100.0, 4e3], "c": [0.01, 50.0], "m": [1.0, 40.0]}
    entries = {"k": "springs.coil.stiffness", "c": "springs.coil.damping", "m": "bodies.block.mass"}
    by = {name: {"entry": entries[name], "range": ranges[name]} for name in entries}
    found = identify(block, path, by, **AT_REST)
    np.testing.assert_allclose(found.values, 10.0 * TRUE, rtol=1e-6)


def test_functions_have_no_modes_to_correlate(block, tmp_path):
    with pytest.raises(ModelError, match="has no modes"):
        correlate(block, written(tmp_path, "frf.csv", of_transfer(F, transfer(TRUE, F))))


PENDULUM = """
gravity = [0, 0, -9.81]
[bodies.upper]
mass = 1.0
inertia = [0.1, 0.1, 0.1]
[bodies.lower]
mass = 1.0
inertia = [0.1, 0.1, 0.1]
[joints.top]
kind = "revolute"
first = { body = "ground", axis = [0, 1, 0] }
second = { body = "upper", at = [0, 0, 0.5], axis = [0, 1, 0] }
start = 2.0
[joints.elbow]
kind = "revolute"
first = { body = "upper", at = [0, 0, -0.5], axis = [0, 1, 0] }
second = { body = "lower", at = [0, 0, 0.5], axis = [0, 1, 0] }
start = 0.5
[run]
duration = 8.0
rtol = 1e-9
[parameters.mass]
entry = "bodies.lower.mass"
range = [0.5, 2.0]
"""


def double_pendulum(mass, t):
    """Angles of two bodies of 0.1 kg m2 with mass centres 0.5 m below hinges 1 m apart, the lower of this mass: the
    upper, and the lower relative to it."""

    def rates(_, y):
        a, b, u, v = y
        M = np.array([
            [0.1 + 0.25 + mass, 0.5 * mass * np.cos(a - b)], [0.5 * mass * np.cos(a - b), 0.1 + 0.25 * mass]
        ])  # fmt: skip
        turn = 0.5 * mass * np.sin(a - b)
        forces = [
            -turn * v**2 - 9.81 * (0.5 + mass) * np.sin(a), turn * u**2 - 9.81 * 0.5 * mass * np.sin(b)
        ]  # fmt: skip
        return [u, v, *np.linalg.solve(M, forces)]

    y = solve_ivp(rates, (0.0, t[-1]), [2.0, 2.5, 0.0, 0.0], "DOP853", t, rtol=1e-12, atol=1e-12).y
    return y[0], y[1] - y[0]


@pytest.mark.slow
def test_a_chaotic_motion_is_fitted_up_to_where_it_is_stable(tmp_path):
    """A double pendulum: after some seconds the masses 1 and 1.02 kg move in ways of their own."""
    t = np.linspace(0.0, 8.0, 161)
    upper, elbow = double_pendulum(1.02, t)
    data = "time,joints.top.angle +- 1e-3,joints.elbow.angle +- 1e-3\n" + "".join(
        f"{a:.17g},{b:.17g},{c:.17g}\n" for a, b, c in zip(t, upper, elbow, strict=True)
    )
    with pytest.warns(
        FembWarning, match="the motion is unstable: after .* s it changes by more than 1000 times its size"
    ):
        found = identify(written(tmp_path, "p.toml", PENDULUM), written(tmp_path, "run.csv", data))
    assert 2.0 < found.curves[0].abscissa[-1] < 7.0
    assert found.values[0] == pytest.approx(1.02, rel=1e-6)
    assert np.max(np.abs(found.after)) < 1.0
