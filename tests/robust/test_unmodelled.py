"""Unmodelled dynamics of inputs and outputs: worst cases beside closed forms of loops by a frequency response alone."""

import numpy as np
import pytest
from models import refuses
from oracles.uncertain_satellite import LAW, satellite
from scipy.io import loadmat

import femb
from femb.linear.norms import peak_gain
from femb.robust.unmodelled import at_point, blocks_of, error_at, phase_of, weight_of, with_blocks
from femb.robust.worst import proved_level

X, TURN = "bodies.hub.torque.x", "bodies.hub.turn.x"
ACTUATOR = {"torquer": {"at": X, "frequencies": [1.0, 30.0], "error": [0.1, 1.0]}}
STIFF = {"left": {"range": "20 %"}}
OMEGAS = np.geomspace(0.05, 60.0, 4000)


def build(left=1650.0):
    return satellite(left, left, angle=0.0)


def form_of(unmodelled, by=STIFF):
    return femb.uncertain(build, by, laws=[LAW], points=1, unmodelled=unmodelled)


def relative_error(form):
    return np.abs([form.blocks[0].weight.transfer(1j * w).item() for w in OMEGAS])


@pytest.mark.parametrize(
    ("frequencies", "errors", "least"),
    [
        ([1.0, 30.0], [0.1, 1.0], 0.8),
        ([0.1, 1.0, 10.0], [0.02, 1.0, 3.0], 0.55),
        ([1.0, 10.0, 100.0], [1, 0.1, 0.1], 0.5),
    ],
)
def test_a_weight_covers_its_table_and_little_more(frequencies, errors, least):
    weight, grid = weight_of(np.array(frequencies, dtype=float), np.array(errors)), np.geomspace(1e-3, 1e5, 500)
    table = np.exp(np.interp(np.log(grid), np.log(frequencies), np.log(errors)))
    found = np.abs([weight.transfer(1j * w).item() for w in grid])
    assert np.all(found >= table * (1.0 - 2e-3))
    assert np.all(found <= table / least)
    assert np.all(np.linalg.eigvals(weight.A).real < 0.0)


def test_errors_have_all_phases_at_a_frequency_and_the_size_one():
    for t in np.linspace(-1.0, 1.0, 41):
        sign, a = error_at(t, 3.0)
        assert sign * (3j - a) / (3j + a) == pytest.approx(np.exp(1j * phase_of(t)), abs=1e-5)
    assert np.ptp([phase_of(t) for t in np.linspace(-0.5, 0.5, 60)]) > 6.0
    assert [phase_of(0.5), phase_of(-0.5)] == pytest.approx([0.0, np.pi])


@pytest.mark.slow
def test_an_error_of_the_actuator_alone_has_worst_cases_in_closed_form():
    """S/(1 + T W d) is at most |S|/(1 - |W T|); the factor of the error that the loop bears is 1/max |W T|."""
    form = form_of(ACTUATOR, {})
    found = femb.worst(form, channels=[X])
    L = femb.loop(build(), [LAW]).opened(X)(OMEGAS)
    S, T = np.abs(1.0 / (1.0 + L)), np.abs(L / (1.0 + L))
    WT = relative_error(form) * T
    peak = found["sensitivity_peak", X]
    assert peak.found == pytest.approx(np.max(S / (1.0 - WT)), rel=1e-4)
    assert peak.found <= peak.proved <= 1.03 * peak.found
    radius = found["stability_radius", ""]
    assert radius.found == pytest.approx(1.0 / np.max(WT), rel=1e-4)
    assert 0.97 * radius.found <= radius.proved <= radius.found
    assert form.structure == (1,)
    assert peak.phases.keys() == {"torquer"}


@pytest.mark.slow
@pytest.mark.parametrize(("at", "level"), [(X, 1.0 / 0.5), (TURN, 1.0 / 0.58)])
def test_a_level_with_a_parameter_and_an_error_is_proved_and_no_sample_is_above_it(at, level):
    form = form_of({"wrong": {"at": at, "error": 0.15}})
    closed = form.closed(X)
    closed.D[-1, -1] -= 0.5
    found = proved_level(closed, form.structure, level, real=1).level
    rng, sizes = np.random.default_rng(4), []
    for d in rng.uniform(-1.0, 1.0, (40, 2)):
        sizes.append(peak_gain(at_point(closed, form.structure, 1, np.append(1.0, d[1:]), 4.7)).gain)
        sizes.append(peak_gain(at_point(closed, form.structure, 1, d, 4.7)).gain)
    assert max(sizes) <= found <= 1.03 * max(level, max(sizes))


def test_the_error_of_an_output_enters_what_the_law_reads():
    """By a constant error of the size one: the loop with that gain of its sensor."""
    form, d = form_of({"wrong": {"at": TURN, "error": 0.15}}, {}), np.array([0.5])
    B = LAW.B * np.where(np.arange(6) == 0, 1.15, 1.0)
    law = femb.LinearLaw("attitude", LAW.A, B, LAW.C, LAW.D, inputs=LAW.inputs, outputs=LAW.outputs)
    L = femb.loop(build(), [law]).opened(X)(np.array([0.5, 4.0]))
    of = at_point(form.closed(X), form.structure, 0, d, 1.0)
    for w, gain in zip((0.5, 4.0), L, strict=True):
        assert of.transfer(1j * w)[-1, -1] == pytest.approx(1.0 / (1.0 + gain), rel=1e-9)


def test_errors_multiply_the_inputs_and_outputs_of_any_plant():
    """(1 + W d) G (1 + W d) by frequency responses, of dynamic errors d of any size, and of one with a phase."""
    rng, names = np.random.default_rng(3), (("p", "q", "r"), ("a", "b"), ("x", "y"))
    A, B, C, D = (rng.standard_normal(shape) for shape in ((3, 3), (3, 2), (2, 3), (2, 2)))
    plant = femb.StateSpace(A - 3.0 * np.eye(3), B, C, D, *names)
    of = {"frequencies": [1.0, 30.0], "error": [0.1, 1.0]}
    blocks = blocks_of({"read": {"at": "y", **of}, "set": {"at": "a", **of}}, *names[1:], [])
    t, omega, size = np.array([0.2, -0.3]), 2.0, 0.6
    found = at_point(with_blocks(plant, blocks, 0), (1, 1), 0, t, omega, size)
    whole = femb.StateSpace(plant.A, np.hstack([B, B]), np.vstack([C, C]), 0.3 * np.ones((4, 4)), "pqr", "wvab", "zuxy")
    for s in (0.7j, 2.0j, 9.0j):
        W = [each.weight.transfer(s).item() for each in blocks]
        errors = [size * sign * (s - a) / (s + a) for sign, a in (error_at(x, omega) for x in t)]
        y, u = (1.0 + w * error for w, error in zip(W, errors, strict=True))
        assert found.transfer(s) == pytest.approx(np.diag([1.0, y]) @ plant.transfer(s) @ np.diag([u, 1.0]), rel=1e-9)
        # and beside a direct feedthrough of the errors
        N, E = whole.transfer(s), np.diag(errors)
        loop = N[2:, 2:] + N[2:, :2] @ E @ np.linalg.solve(np.eye(2) - N[:2, :2] @ E, N[:2, 2:])
        assert at_point(whole, (1, 1), 0, t, omega, size).transfer(s) == pytest.approx(loop, rel=1e-9)
    for phase in (0.0, 37.0, 180.0, 200.0, 360.0 - 1e-6):
        wanted = 1.0 + W[0] * np.exp(1j * np.radians(phase))
        assert blocks[0].realised(phase, 9.0).transfer(9.0j).item() == pytest.approx(wanted, abs=1e-5)


def test_a_file_has_the_blocks_behind_the_parameters(tmp_path):
    form = form_of(ACTUATOR)
    found = loadmat(form.write(tmp_path / "form.mat"))
    assert [str(kind.item()) for kind in found["block_kind"].ravel()] == ["real", "complex"]
    assert found["block_size"].ravel().tolist() == [*form.sizes, 1]
    s, r, d, error = 2.3j, sum(form.structure), 0.7, 0.6 - 0.3j
    N = found["d"] + found["c"] @ np.linalg.solve(s * np.eye(len(found["a"])) - found["a"], found["b"])
    D = np.diag([*[d] * form.sizes[0], error])
    closed = N[r:, r:] + N[r:, :r] @ D @ np.linalg.solve(np.eye(r) - N[:r, :r] @ D, N[:r, r:])
    names = form.plant.inputs[sum(form.sizes) :]
    plant = form.at(np.array([d])).transfer(s)
    gain = np.where(np.array(names) == X, 1.0 + error * form.blocks[0].weight.transfer(s).item(), 1.0)
    assert closed == pytest.approx(plant * gain, rel=1e-9, abs=1e-12 * np.abs(plant).max())


@pytest.mark.slow
def test_margins_of_sampled_loops_with_an_error_are_found_and_no_better_than_with_other_gains():
    law = femb.LinearLaw(
        "pd", np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((1, 0)), [[-4.0, -6.0]], period=0.1, delay=0.1,
        inputs=("bodies.hub.turn.x", "bodies.hub.angular_velocity.x"), outputs=(X,),
    )  # fmt: skip

    def hub(gain=1.0):
        model = femb.Model()
        model.add(femb.RigidBody("hub", 10.0, (4.0 / gain, 5.0, 6.0)))
        return model

    form = femb.uncertain(hub, {}, laws=[law], points=1, unmodelled={"torquer": {"at": X, "error": 0.2}})
    found = femb.worst(form)
    assert found.why == ""
    assert found["disk_margin", X].proved is None
    assert found["disk_margin", X].continuous <= found["disk_margin", X].found * (1.0 + 2.0 * found.held)
    others = [femb.loop(hub(gain), [law]).margins()[0] for gain in (0.8, 1.2)]
    delay = found["delay_margin", X]
    assert delay.found <= min(each.delay_margin for each in others) * (1.0 + 1e-9)
    assert delay.found > 0.5 * delay.nominal


def test_what_a_case_says_wrongly_is_named():
    refuses("got 'bodies.hub.torque.w'", form_of, {"a": {"at": "bodies.hub.torque.w", "error": 0.1}})
    refuses("has the name of a parameter", form_of, {"left": {"at": X, "error": 0.1}})
    for message, table in (
        ("go with a list of errors", {"error": [0.1, 0.2]}),
        ("one for each of two or more", {"error": [0.1], "frequencies": [1.0]}),
        ("wanted rising ones", {"error": [0.1, 0.2], "frequencies": [2.0, 1.0]}),
        ("wanted a number above 0", {"error": -0.1}),
        ("wanted a number above 0", {"error": ["a", 0.1], "frequencies": [2.0, 1.0]}),
    ):
        refuses(message, form_of, {"a": {"at": X, **table}})


def test_a_case_has_tables_of_unmodelled_dynamics(tmp_path):
    text = """
[bodies.hub]
mass = 10.0
inertia = [4.0, 5.0, 6.0]

[loads.torquer]
body = "hub"
frame = "body"
torque = [0, 0, 0]

[controllers.attitude]
kind = "pd"
attitude = "bodies.hub.attitude"
rate = "bodies.hub.angular_velocity"
bandwidth = 1.0
outputs = ["loads.torquer.torque"]

[unmodelled.torquer]
at = "loads.torquer.torque"
error = [0.1, 2.0]
frequencies = [1.0, 20.0]

[run]
duration = 1.0
"""
    path = tmp_path / "hub.toml"
    path.write_text(text)
    femb.load_case(path)
    form = femb.uncertain(path, points=1)
    assert [each.name for each in form.blocks] == [f"torquer.{k}" for k in range(3)]
    assert "relative error 0.1 to 2, weight of order 1" in form.table()
    assert form.structure == (1, 1, 1)
    refuses("error", femb.load_case, path, ["unmodelled.torquer.error=-1.0"], error=femb.FembError)
    more = tmp_path / "more.toml"
    more.write_text('include = "hub.toml"\n[parameters.inertia]\nentry = "bodies.hub.inertia.0"\nrange = "10 %"\n')
    assert femb.uncertain(more, points=1).structure == (1, 1, 1, 1)
    most = tmp_path / "most.toml"
    most.write_text('include = "more.toml"\n')
    assert femb.uncertain(most, points=1).structure == (1, 1, 1, 1)
    changed = femb.uncertain(path, points=1, overrides=["unmodelled.torquer.error=[0.2, 2.0]"])
    assert changed.blocks[0].of.error == [0.2, 2.0]
