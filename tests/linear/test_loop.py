"""Control loops of linear plants: poles, margins, delays, several periods, continuous laws.

Numbers without a formula are those of an independent program: docs/theory/control_loop.md.
"""

from dataclasses import replace

import numpy as np
import pytest
from checkout import CASES
from long_runs import slow
from models import of_parts, refusals, refuses, thin_panel
from oracles.controlled_satellite import LOCKED, PERIOD, WHEELS, attitude_law, satellite
from scipy.linalg import expm

import femb
from femb import FembWarning, LinearLaw, Section, StateSpace
from femb.elements.control.linear_law import lead_lag, low_pass
from femb.linear.conserved import without_conserved
from femb.linear.linearise import plant_of
from femb.pictures.loop import draw_loop


@pytest.fixture(scope="module")
def plant():
    return femb.loop(satellite(), [attitude_law()]).plant


POLES = {
    0.0: [
        *(-0.1056347034 + 0.1071280578j, -0.1056764524 + 0.1075745016j, -0.1072521550 + 0.1073523514j),
        -0.6848552081 + 4.1284407199j,
    ],
    0.1: [
        *(-0.1067569725 + 0.1083120414j, -0.1068030990 + 0.1087905862j, -0.1084238737 + 0.1085514192j),
        -0.6517849892 + 4.4615234446j,
    ],
    0.2: [
        *(-0.1079285913 + 0.1095505366j, -0.1079794718 + 0.1100644280j, -0.1096483104 + 0.1098068237j),
        -0.3516225171 + 4.7398180457j,
    ],
}


@pytest.mark.parametrize("delay", POLES)
def test_poles_of_the_reference_satellite(plant, delay):
    """Beside the bending that is not controlled, and the momentum of the wheels that turns nothing."""
    poles = femb.loop(plant, [attitude_law(delay=delay)]).poles()
    for wanted in (*POLES[delay], -0.0083382353 + 1.6188016275j, -0.00125):
        assert np.min(np.abs(poles - wanted)) < 1e-9
    bodies = femb.loop(satellite("bodies"), [attitude_law(delay=delay, wheels="bodies")]).poles()
    np.testing.assert_allclose(bodies[:11], poles[:11], atol=1e-10)


def test_vibrations_of_the_reference_satellite(plant):
    """Hub-free: bending of the panels together and against each other, by the linear model and by the modes."""
    wanted = np.array([-0.0083382353 + 1.6188016275j, -0.0527031111 + 4.0695208235j])
    poles = plant.eigenvalues()
    found = femb.modes(satellite(), damped=True).eigenvalues
    for values in (poles, found):
        assert np.max(np.min(np.abs(values[:, None] - wanted), axis=0)) < 1e-9


def test_the_first_bending_of_the_beams_that_are_clamped():
    """EI = 4000 N m2, 2 kg/m, 10 m: 1.57240983 rad/s."""
    assert 1.8751040687**2 / 100.0 * np.sqrt(4000.0 / 2.0) == pytest.approx(1.57240983, rel=3e-9)
    model = winged(8)
    held = 2.0 * np.pi * femb.modes(model, 2, held="hub").frequencies
    np.testing.assert_allclose(held, 1.57240983, rtol=1e-4)


def test_the_margins_of_the_reference_satellite(plant):
    (margins,) = femb.loop(plant, [attitude_law()]).margins(["attitude.x"])
    np.testing.assert_allclose(margins.crossovers, [0.227949506, 3.550552636, 4.737832975], rtol=1e-9)
    np.testing.assert_allclose(margins.phase_margins, [63.1909765, -127.9755831, 52.6229911], rtol=1e-9)
    assert margins.delay_margin == pytest.approx(0.193853279, rel=1e-8)
    assert margins.delay_margins[1] == pytest.approx(np.radians(360.0 - 127.9755831) / 3.550552636, rel=1e-8)
    np.testing.assert_allclose(margins.phase_crossovers, [10.473278829], rtol=1e-9)
    assert margins.gain_margin == (0.0, pytest.approx(6.25140575, rel=1e-8))
    assert margins.distance == pytest.approx(0.72198, abs=1e-5)
    assert margins.at == pytest.approx(5.5041, rel=2e-3)  # of a flat minimum
    assert margins.sensitivity == 1.0 / margins.distance


@pytest.mark.slow
def test_the_margins_are_those_of_python_control_on_the_same_grid(plant):
    control = pytest.importorskip("control")
    for margins in femb.loop(plant, [attitude_law()]).margins():
        data = control.frd(margins.values[None, None], margins.frequencies, smooth=True)
        gain, phase, distance, at_gain, at_phase, _ = control.stability_margins(data, returnall=True)
        np.testing.assert_allclose(np.sort(at_phase), margins.crossovers, rtol=1e-4)
        np.testing.assert_allclose(phase[np.argsort(at_phase)], margins.phase_margins, rtol=1e-3)
        k = np.argmin(np.abs(at_gain - margins.phase_crossovers[0]))
        assert gain[k] == pytest.approx(margins.gain_margins[0], rel=1e-3)
        assert np.min(distance) == pytest.approx(margins.distance, rel=1e-3)


@pytest.mark.slow
def test_the_largest_delay(plant):
    """The simulated loop decays just below, and grows just above."""
    loop = femb.loop(plant, [attitude_law()])
    delay, omega = loop.largest_delay()
    assert delay + PERIOD == pytest.approx(0.29394471258, rel=1e-9)
    assert omega == pytest.approx(4.73643430, rel=1e-8)
    start = {"joints.left.angle": 1e-3, "joints.right.angle": 1e-3}
    for factor, wanted in ((0.99, 0.152), (1.01, 6.48)):
        late = loop.delayed(factor * delay)
        run = late.simulate(350.0, start=start, times=PERIOD * np.arange(3501))
        assert "bodies.hub.angular_velocity.x" in run
        assert "joints.left.angle" not in run  # a state, which this plant does not give
        bending = run["bodies.hub.angular_velocity.x"]
        grown = np.ptp(bending[-200:]) / np.ptp(bending[300:500])
        assert grown == pytest.approx(wanted, rel=0.02)
        assert np.exp(300.0 * late.growth()) == pytest.approx(wanted, rel=0.01 if factor > 1.0 else np.inf)


def test_what_is_conserved_is_left_out(plant):
    """Of 20 states three translations and their rates, and the angular momentum."""
    core = without_conserved(plant)
    assert core.states == (
        *(f"bodies.hub.turn_{x}" for x in "xyz"),
        *("joints.left.angle", "joints.right.angle"),
        *(f"bodies.hub.turn_{x} rate" for x in "xyz"),
        *("joints.left.angle rate", "joints.right.angle rate", "w1.speed"),
    )
    for s in (0.2j, 3.0j, 1.0 + 4.0j):
        np.testing.assert_allclose(core.transfer(s), plant.transfer(s), rtol=1e-9, atol=1e-16)
    sampled = without_conserved(plant.sampled(PERIOD, 0.17))
    assert len(sampled.states) == len(core.states) + 2 * 4
    np.testing.assert_allclose(sampled.transfer(2j), plant.sampled(PERIOD, 0.17).transfer(2j), rtol=1e-9, atol=1e-16)


def test_inputs_and_outputs_without_effect_do_not_count(plant):
    """A silent input and a blind output of a sampled model, whose size is zero: no division by it."""
    sampled = plant.sampled(PERIOD, 0.17)
    idle = replace(
        sampled, B=np.column_stack([sampled.B, np.zeros(len(sampled.A))]),
        C=np.vstack([sampled.C, np.zeros(len(sampled.A))]), D=np.pad(sampled.D, ((0, 1), (0, 1))),
        inputs=(*sampled.inputs, "silent"), outputs=(*sampled.outputs, "blind"),
    )  # fmt: skip
    with np.errstate(all="raise"):
        assert without_conserved(idle).states == without_conserved(sampled).states


def held_panel(damping, **words):
    """A hub with a thin panel whose attitude a law holds, by gains of the inertia of both."""
    model = thin_panel(damping=damping)
    model.add(femb.Load("torque", body="hub", frame="body", torque=(0, 0, 0)))
    words = {"bandwidth": 0.3, "outputs": ("loads.torque.torque",), **words}
    model.add(femb.PDController("pd", attitude="bodies.hub", rate="bodies.hub", **words))
    return model


def test_what_is_conserved_is_left_out_beside_stiff_vibrations():
    """Of a thin panel poles reach 6e8 1/s: translations and momentum are zero beside them, and known as such."""
    whole, of_modes = femb.loop(held_panel(1e-4)), femb.loop(held_panel(1e-4), modes=20)
    assert whole.stable
    assert whole.conserved == of_modes.conserved == 6
    slowest = [np.sort_complex(each.poles()[np.abs(each.poles()) < 5.0]) for each in (whole, of_modes)]
    # the dense matrix of the whole keeps so many digits of what is 1e8 slower than its fastest pole
    np.testing.assert_allclose(*slowest, rtol=2e-4)
    # a law that acts in steps, too
    sampled = femb.loop(held_panel(1e-4, period=0.1))
    assert sampled.stable
    assert sampled.conserved == 6


@pytest.mark.slow
def test_a_stiff_mesh_keeps_slow_motions_and_damping():
    """Poles beside 1e10 1/s are those of the plant in modes; matrices alone have lost them, and the table says so."""
    whole, of_modes = femb.loop(held_panel(1e-3)), femb.loop(held_panel(1e-3), modes=20)
    assert whole.stable
    assert whole.conserved == of_modes.conserved == 6
    slowest = [np.sort_complex(each.poles()[np.abs(each.poles()) < 5.0]) for each in (whole, of_modes)]
    np.testing.assert_allclose(*slowest, rtol=1e-6)
    alone = femb.loop(replace(whole.plant, form=None), whole.laws).table()
    assert "not stable" in alone
    assert "these are what rounding leaves of zero beside the fastest vibration" in alone


@pytest.mark.slow
@pytest.mark.parametrize("thickness", [slow(20e-3), slow(4e-3), 1e-3])
def test_the_loop_of_a_thin_shell_with_wheels(thickness):
    """A sampled law with a delay: of full order as in modes, where the fastest vibration is 1e7 times the first."""
    corners = [[0.5, -0.4, 0], [3.5, -0.4, 0.3], [3.5, 0.4, 0.3], [0.5, 0.4, 0]]
    panel = {"thickness": thickness, "material": "aluminium 2014-T6", "damping": 1e-3, "frame": "hub"}
    model = of_parts(femb.RigidBody("hub", 150.0, (40.0, 50.0, 45.0)))
    model.add(femb.Shell("panel", (4, 1), corners=corners, attach={"edge4": "hub"}, **panel))
    wheels = ("w0", "w1", "w2", "w3")
    for name, axis in zip(wheels, np.array([[1, 1, 1], [1, -1, 1], [1, 1, -1], [1, -1, -1]]) / np.sqrt(3), strict=True):
        model.add(femb.ReactionWheel(name, body="hub", axis=axis, spin_inertia=0.05))
    model.add(
        femb.PDController(
            "law", attitude="bodies.hub", rate="bodies.hub", bandwidth=0.4, damping_ratio=0.6, wheels=wheels,
            period=0.1, delay=0.135,
        )
    )  # fmt: skip
    whole, of_hub, of_modes = (femb.loop(model, **words) for words in ({}, {"hub": "hub"}, {"modes": 20}))
    delay = whole.largest_delay()[0]
    # twenty modes leave others out
    for loop, rtol in ((of_hub, 1e-6), (of_modes, 1e-4)):
        assert loop.stable
        assert loop.conserved == whole.conserved == 10
        assert loop.growth() == pytest.approx(whole.growth(), rel=rtol)
        assert loop.largest_delay()[0] == pytest.approx(delay, rel=rtol)


@pytest.mark.parametrize(("damping", "wheels"), [(0.0, 0), (1e-5, 0), (1e-3, 0), (1e-4, 2)])
def test_a_law_of_gain_zero_moves_no_pole(damping, wheels):
    """Of a plate of 4 mm: the poles are those of the damped modes, which come from products without cancellation."""
    model = thin_panel(damping=damping, thickness=4e-3)
    for k in range(wheels):
        model.add(femb.ReactionWheel(f"w{k}", body="hub", axis=np.eye(3)[k], spin_inertia=0.02))
    wanted = femb.modes(model, 4, damped=True).eigenvalues
    for words in ({"hub": "hub"}, {}):
        plant = plant_of(model, ["bodies.hub.torque"], ["bodies.hub.turn"], words)
        loop = femb.loop(
            plant,
            [
                LinearLaw(
                    "idle", [], [], [], [[0.0]], 1e-3, inputs=["bodies.hub.turn.y"], outputs=["bodies.hub.torque.y"]
                )
            ],
        )
        assert loop.conserved == 10 + wheels
        for values in (plant.eigenvalues(), loop.poles(), loop.closed().eigenvalues()):
            for pole in wanted[wanted.imag > 1.0]:
                assert np.min(np.abs(values - pole)) < 1e-7 * abs(pole)
        # the turn that the law reads has a double zero, of which rounding of its multipliers leaves the root
        assert np.max(plant.eigenvalues().real) < 1e-9


@pytest.mark.parametrize("words", [{}, {"hub": "hub"}, {"hub": "hub", "craig_bampton": 4, "damping": 0.0}])
def test_a_start_of_the_hub_carries_the_structure_along(words):
    """Turned and in slow rotation as one body, nothing bends: the hub keeps its rates, and angles that have none."""
    plant = plant_of(thin_panel(), ["bodies.hub.torque"], ["bodies.hub.turn", "bodies.hub.position"], words)
    law = LinearLaw("idle", [], [], [], [[0.0]], 0.5, inputs=["bodies.hub.turn.y"], outputs=["bodies.hub.torque.y"])
    start = {"bodies.hub.turn_y": 0.02, "bodies.hub.turn_x rate": 0.01, "bodies.hub.x": 0.3}
    run = femb.loop(plant, [law]).simulate(20.0, start=start)
    np.testing.assert_allclose(run["bodies.hub.turn.y"], 0.02, rtol=1e-9)
    np.testing.assert_allclose(run["bodies.hub.turn.x"], 0.01 * run.time, atol=1e-9)
    np.testing.assert_allclose(run["bodies.hub.position.x"], 0.3, rtol=1e-9)


@pytest.mark.slow
def test_no_damping_by_default_decides_on_stability():
    """An undamped array under a delayed law grows at every order; a ratio that is given stands in the head."""
    coarse = [f"beams.{side}_yoke.elements=2" for side in ("left", "right")]
    model = femb.load_case(CASES / "satellite_two_arrays.toml", coarse).model
    wheels = ("w0", "w1", "w2")
    for name, axis in zip(wheels, np.eye(3), strict=True):
        model.add(femb.ReactionWheel(name, body="hub", axis=axis, spin_inertia=0.05))
    model.add(
        femb.PDController(
            "law", attitude="bodies.hub", rate="bodies.hub", bandwidth=0.05, damping_ratio=0.7, wheels=wheels,
            period=0.1, delay=0.1,
        )
    )  # fmt: skip
    orders = {"full": {}, "modes": {"modes": 12}, "Craig-Bampton": {"hub": "hub", "craig_bampton": 8}}
    loops = {name: femb.loop(model, **words) for name, words in orders.items()}
    for loop in loops.values():
        assert loop.growth() == pytest.approx(loops["full"].growth(), rel=1e-5)
        assert not loop.stable
        assert loop.table().splitlines()[1] == "damping: the model's own dampers alone"
    damped = femb.loop(model, hub="hub", craig_bampton=8, damping=0.005)
    assert damped.stable
    assert damped.table().splitlines()[1] == "damping: the model's own dampers, and 0.5 % damping in each, as given"


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".h5"])
def test_files_keep_the_modes_of_a_stiff_plant(tmp_path, suffix):
    """Poles, responses and what is conserved are those of the plant that was written; of A alone they are not."""
    plant = femb.linearize(thin_panel(thickness=1e-3), inputs=["bodies.hub.torque"], outputs=["bodies.hub.turn"])
    with pytest.warns(FembWarning, match="take form_A"):
        read = StateSpace.read(plant.write(tmp_path / f"plant{suffix}"))
    found = [read, StateSpace.of_results(femb.Results.read(tmp_path / "plant.h5"))] if suffix == ".h5" else [read]
    for one in found:
        np.testing.assert_allclose(one.eigenvalues(), plant.eigenvalues(), rtol=1e-9, atol=1e-12)
        response, wanted = (each.frequency_response([0.01, 1.0]) for each in (one, plant))
        np.testing.assert_allclose(response.values, wanted.values, rtol=1e-9)
        np.testing.assert_allclose(response.rounding, wanted.rounding, rtol=1.0)
        assert len(without_conserved(one).states) == len(without_conserved(plant).states)
    bare = replace(plant, form=None)
    assert np.max(np.abs(np.sort(np.abs(bare.eigenvalues()))[:6])) > 1e-6


@pytest.mark.slow
def test_no_verdict_rests_on_a_default_damping(tmp_path):
    """A plant that was truncated before, also from a file, has the damping that is asked for, or no loop."""
    law = LinearLaw("idle", [], [], [], [[0.0]], inputs=("bodies.hub.turn.x",), outputs=("bodies.hub.torque.x",))
    words = {"inputs": ["bodies.hub.torque"], "outputs": ["bodies.hub.turn"], "modes": 4}
    heads = {0.0: "the model's own dampers alone", 0.01: "the model's own dampers, and 1 % damping in each, as given"}
    for ratio in (None, *heads):
        plant = femb.linearize_structure(thin_panel(damping=0.0), **words, damping=ratio)
        for one in (plant, StateSpace.read(plant.write(tmp_path / "plant.npz"))):
            if ratio is None:
                refuses(r"0\.5 % damping in each, by default.*linearize with damping=0", femb.loop, one, [law])
            else:
                assert femb.loop(one, [law]).table().splitlines()[1] == f"damping: {heads[ratio]}"
                assert femb.loop(one, [law]).closed().damping == heads[ratio]


# An oscillator on a free mass: positions 0, 1, rates 2, 3; the force acts on the first.
SPRING, DAMPER, MASS = 6.0, 0.05, np.array([3.0, 1.0])


def cart():
    change = np.array([[-1.0, 1.0], [1.0, -1.0]]) / MASS[:, None]
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [SPRING * change, DAMPER * change]])
    B = np.array([[0.0, 0.0], [0.0, 0.0], [1.0 / MASS[0], 0.0], [0.0, 1.0 / MASS[1]]])
    C = np.vstack([np.eye(4)[[0, 2, 1]], A[2:3]])
    D = np.vstack([np.zeros((3, 2)), B[2:3]])
    states = ("cart.x", "tip.x", "cart.x rate", "tip.x rate")
    return StateSpace(A, B, C, D, states, ("force", "push"), ("x", "v", "tip", "a"))


def pd(name="pd", gain=1.0, lag=None, **words):
    """By position and rate; lag : with a filter of this pole."""
    words = {"period": 0.1, "inputs": ["x", "v"], "outputs": ["force"]} | words
    D = np.array([[-0.6, -1.7]]) * gain
    if lag is None:
        return LinearLaw(name, [], [], [], D, **words)
    filtered = lead_lag(np.inf, lag)
    filtered = filtered if words["period"] is None else filtered.tustin(words["period"])
    return LinearLaw(name, filtered.A, filtered.B @ D, filtered.C, filtered.D @ D, **words)


class Clockwork:
    """A loop at ticks that all instants are multiples of: no plan of instants, lists of what acts when."""

    def __init__(self, plant, laws, tick):
        self.plant, self.laws, self.tick = plant, laws, tick
        n, m = plant.B.shape
        flow = expm(np.block([[plant.A, plant.B], [np.zeros((m, n + m))]]) * tick)
        self.P, self.Q = flow[:n, :n], flow[:n, n:]
        self.x = np.zeros(n)
        self.own = [np.zeros(len(law.A)) for law in laws]
        self.held = [np.zeros(len(law.outputs)) for law in laws]
        self.due = [{} for _ in laws]

    def inputs(self):
        u = np.zeros(len(self.plant.inputs))
        for law, held in zip(self.laws, self.held, strict=True):
            for name, value in zip(law.outputs, held, strict=True):
                if name in self.plant.inputs:
                    u[self.plant.inputs.index(name)] += value
        return u

    def output(self):
        return self.plant.C @ self.x + self.plant.D @ self.inputs()

    def step(self, number):
        """What happens at a tick, and the motion to the next one; gives the outputs before it."""
        y = self.output()
        known = dict(zip(self.plant.outputs, y, strict=True))
        for k, law in enumerate(self.laws):
            ticks = [round(value / self.tick) for value in (law.phase, law.period, law.delay)]
            if number >= ticks[0] and (number - ticks[0]) % ticks[1] == 0:
                read = np.array([known[name] for name in law.inputs])
                u = law.C @ self.own[k] + law.D @ read
                self.own[k] = law.A @ self.own[k] + law.B @ read
                self.due[k][number + ticks[2]] = u
                known |= dict(zip(law.outputs, u, strict=True))
        for k in range(len(self.laws)):
            self.held[k] = self.due[k].pop(number, self.held[k])
            known |= {}
        self.x = self.P @ self.x + self.Q @ self.inputs()
        return y


LAWS = {
    "no delay": [pd()], "0.35 of a period": [pd(delay=0.035)], "one period": [pd(delay=0.1)],
    "2.2 periods, and a filter": [pd(delay=0.22, lag=8.0)], "phase": [pd(delay=0.05, phase=0.27)],
    "two periods": [pd(delay=0.03), pd("slow", 0.2, period=0.15, phase=0.05, delay=0.31, lag=3.0, inputs=["tip", "v"])],
    "acceleration": [pd(inputs=["a", "v"], delay=0.05)],
}  # fmt: skip


@pytest.mark.parametrize("word", LAWS)
def test_a_simulation_against_ticks(word):
    plant, laws = cart(), LAWS[word]
    clock = Clockwork(plant, laws, 0.005)
    clock.x[:] = start = [0.1, -0.2, 0.0, 0.3]
    wanted = np.array([clock.step(k) for k in range(1001)])
    loop = femb.loop(plant, laws)
    times = 0.005 * np.arange(1001)
    run = loop.simulate(5.0, start=dict(zip(plant.states, start, strict=True)), times=times)
    np.testing.assert_allclose(run.time, times)
    np.testing.assert_allclose(run.values, wanted, rtol=0, atol=1e-11)
    alone = loop.simulate(5.0, start=dict(zip(plant.states, start, strict=True)))
    places = np.round(alone.time / 0.005).astype(int)
    np.testing.assert_allclose(alone["x"], wanted[places, 0], rtol=0, atol=1e-11)


def test_poles_are_drawn_where_they_are():
    """Of a sampled law in the z plane, as eigenvalues of the exact step with its command held; else at the rates."""
    plant, D = cart(), np.array([[-0.6, -1.7]])
    n, (force, read) = len(plant.A), (plant.B[:, :1], plant.C[:2])
    flow = expm(np.block([[plant.A, force], [np.zeros((1, n + 1))]]) * 0.1)
    wanted = {0.1: flow[:n, :n] + flow[:n, n:] @ D @ read, None: plant.A + force @ D @ read}
    for period, matrix in wanted.items():
        loop = femb.loop(plant, [pd(period=period)])
        (axes,) = draw_loop("poles", [], [], loop.poles(), period).get_axes()
        drawn = next(line for line in axes.lines if line.get_marker() == "x").get_xydata() @ [1.0, 1.0j]
        found = np.linalg.eigvals(matrix).astype(complex)
        assert max(np.abs(drawn - each).min() for each in found) < 1e-9
        assert max(np.abs(found - each).min() for each in drawn) < 1e-9


def test_margins_are_drawn_where_the_curves_have_them():
    """1/(s (s + 1)): the phase margin 51.83 degrees at 0.786 rad/s, as a bar from -180 degrees and on the circle."""
    plant = femb.StateSpace([[0.0, 1.0], [0.0, -1.0]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]],
                            ("x", "x rate"), ("force",), ("x",))  # fmt: skip
    loop = femb.loop(plant, [LinearLaw("law", [], [], [], [[-1.0]], inputs=["x"], outputs=["force"])])
    (margins,), omega = loop.margins(), np.sqrt((np.sqrt(5.0) - 1.0) / 2.0)
    phase = 90.0 - np.degrees(np.arctan(omega))
    figure = draw_loop("bode", [margins], [], loop.poles(), None, "cart")
    assert figure.get_suptitle() == "Cart: control loop"
    bar = next(line for line in figure.get_axes()[1].lines if line.get_linewidth() == 3.0).get_xydata()
    np.testing.assert_allclose(bar, [[omega / (2 * np.pi), -180.0], [omega / (2 * np.pi), phase - 180.0]], rtol=1e-3)
    (axes,) = draw_loop("nyquist", [margins], [], loop.poles(), None).get_axes()
    mark = next(line for line in axes.lines if line.get_marker() == "o").get_xydata()
    np.testing.assert_allclose(mark, [[-np.cos(np.radians(phase)), -np.sin(np.radians(phase))]], rtol=1e-9)
    assert "phase margin 51.8°" in figure.legends[0].get_texts()[0].get_text()


@pytest.mark.parametrize("word", LAWS)
def test_poles_are_those_of_the_motion(word):
    """Samples a common period apart of a motion of ticks fulfil the characteristic equation of the poles."""
    plant, laws = cart(), LAWS[word]
    loop = femb.loop(plant, laws)
    common = 60 if len(laws) > 1 else 20
    z = np.exp(loop.poles() * 0.005 * common)
    polynomial = np.poly(np.append(z, [1.0]))  # one constant: a cart that stands elsewhere has the same motion
    clock = Clockwork(plant, laws, 0.005)
    clock.x[:] = [0.1, -0.2, 0.0, 0.3]
    values = np.array([clock.step(k) for k in range(common * (len(polynomial) + 40))])[::common, 2]
    last = values[-len(polynomial) :][::-1]
    assert abs(polynomial @ last) < 1e-9 * np.max(np.abs(polynomial) * np.max(np.abs(last)))


def test_sampled_models_against_python_control_and_simulation():
    control = pytest.importorskip("control")
    plant = cart()
    sampled, known = plant.sampled(0.1), plant.to_control().sample(0.1)
    np.testing.assert_allclose(sampled.A[:4, :4], known.A, atol=1e-14)
    np.testing.assert_allclose(sampled.B[:4], known.B, atol=1e-14)
    assert sampled.to_control().dt == sampled.to_scipy().dt == 0.1
    assert isinstance(sampled.to_control(), control.StateSpace)
    for delay in (0.0, 0.035, 0.1, 0.22):
        sampled = plant.sampled(0.1, delay)
        motion = Clockwork(
            plant, [LinearLaw("u", [], [], [], [[0.0]], period=0.1, inputs=["x"], outputs=["force"])], 0.005
        )
        rng, x = np.random.default_rng(3), np.zeros(len(sampled.states))
        for k in range(400):
            y = motion.output()
            if k % 20 == 0:
                np.testing.assert_allclose(sampled.C @ x, y, atol=1e-12)
                u = rng.standard_normal(2)
                x = sampled.A @ x + sampled.B @ [u[0], 0.0]
                motion.due[0][k + round(delay / 0.005)] = u[:1]
            motion.held[0] = motion.due[0].pop(k, motion.held[0])
            motion.x = motion.P @ motion.x + motion.Q @ motion.inputs()


@pytest.mark.slow
def test_files_of_sampled_models(tmp_path):
    sampled = cart().sampled(0.1, 0.05)
    read = StateSpace.read(sampled.write(tmp_path / "sampled.npz"))
    assert read.dt == 0.1
    assert read.states == sampled.states
    results = femb.Results.read(sampled.write(tmp_path / "sampled.h5"))
    assert StateSpace.of_results(results).dt == 0.1
    femb.plot(results, tmp_path / "bode.png", what="bode")
    assert sampled.resolving_frequencies()[-1] == 5.0
    sampled.frequency_response([0.1, 1.0])
    assert "Linear model" in sampled._repr_html_()


def test_the_closed_loop_as_a_state_space():
    """Its response to a constant push and a sensor's error is that of the simulation; it has the loop's poles."""
    for laws in (LAWS["2.2 periods, and a filter"], LAWS["two periods"]):
        loop = femb.loop(cart(), laws)
        closed = loop.closed(inputs=["push", "x error"], outputs=["x", "tip"])
        assert closed.dt == pytest.approx(0.3 if len(laws) > 1 else 0.1)
        poles = closed.eigenvalues()
        for pole in loop.poles()[:6]:
            assert np.min(np.abs(poles - pole)) < 1e-7
        run = loop.simulate(30.0, added={"push": 0.4}, times=closed.dt * np.arange(100))
        x = np.zeros(len(closed.states))
        for k in range(100):
            np.testing.assert_allclose(closed.C @ x + closed.D @ [0.4, 0.0], run.values[k, [0, 2]], atol=1e-10)
            x = closed.A @ x + closed.B @ [0.4, 0.0]
    # at rest the law drives what it reads to zero
    one = femb.loop(cart(), LAWS["one period"]).closed(inputs=["x error"], outputs=["x"])
    assert one.transfer(1e-6j)[0, 0] == pytest.approx(-1.0, abs=1e-4)


def test_margins_of_several_periods_are_those_of_one():
    """The same law at half its period, and one that is repeated: a channel of several samples a common period."""
    plant = cart()
    (one,) = femb.loop(plant, [pd(delay=0.05)]).margins()
    idle = pd("idle", 1e-9, period=0.25, inputs=["tip", "v"], outputs=["push"])
    several = femb.loop(plant, [pd(delay=0.05), idle]).margins(["force"])[0]
    np.testing.assert_allclose(several.crossovers, one.crossovers, rtol=1e-6)
    np.testing.assert_allclose(several.phase_margins, one.phase_margins, rtol=1e-5)
    assert several.gain_margin[1] == pytest.approx(one.gain_margin[1], rel=1e-6)


@pytest.mark.parametrize("laws", [LAWS["one period"], LAWS["two periods"], [pd(period=None, lag=5.0)]])
def test_a_loop_at_its_margins_oscillates(laws):
    """With its gain at the margin, and with a delay of the margin."""
    loop = femb.loop(cart(), laws)
    assert loop.stable
    channel = loop.channels[0]
    (margins,) = loop.margins([channel])
    gain = margins.gain_margin[1]
    if np.isfinite(gain):
        for factor, stable in ((0.999, True), (1.001, False)):
            one = laws[0]
            scaled = LinearLaw(one.name, one.A, one.B, factor * gain * one.C, factor * gain * one.D, one.period,
                one.phase, one.delay, one.inputs, one.outputs)  # fmt: skip
            assert femb.loop(loop.plant, [scaled, *laws[1:]]).stable == stable


def test_continuous_laws():
    """A law with a filter against the matrix of the whole, its margins, and what it leads to beside a sampled one."""
    plant, one = cart(), pd(period=None, lag=5.0)
    loop = femb.loop(plant, [one])
    x, v = plant.C[:2], plant.B[:, :1]
    whole = np.block([[plant.A + v @ one.D @ x, v @ one.C], [one.B @ x, one.A]])
    wanted = np.linalg.eigvals(whole)
    poles = loop.poles()
    assert len(poles) == 5
    for pole in poles:
        assert np.min(np.abs(wanted - pole)) < 1e-9
    (margins,) = loop.margins()
    for w, phase in zip(margins.crossovers, margins.phase_margins, strict=True):
        L = -one.realisation.transfer(1j * w) @ plant.transfer(1j * w)[:2, :1]
        assert abs(L[0, 0]) == pytest.approx(1.0, rel=1e-9)
        assert np.degrees(np.angle(-L[0, 0])) == pytest.approx(phase, rel=1e-9)
    both = femb.loop(plant, [one, pd("slow", 0.2, period=0.01)])
    added = femb.loop(plant, [one, pd("slow", 0.2, period=None)])
    assert both.poles()[0] == pytest.approx(added.poles()[0], rel=5e-2)


@pytest.mark.parametrize("delay", [0.0, 0.13])
def test_the_channel_of_a_continuous_law_beside_a_sampled_one(delay):
    """L that an injected sinusoid measures: by the transfer functions of the plant with the continuous law, at samples
    and of the held commands, whose part at the frequency is (1 - e^(-i w T))/(i w T). A law that does nothing changes
    nothing."""
    plant, one, T = cart(), pd(period=None, lag=5.0), 0.1
    idle = femb.loop(plant, [one, pd("idle", 0.0, outputs=["push"])]).margins(["force"])[0]
    alone = femb.loop(plant, [one]).margins()[0]
    np.testing.assert_allclose(idle.crossovers, alone.crossovers, rtol=1e-9)
    np.testing.assert_allclose(idle.phase_margins, alone.phase_margins, rtol=1e-7)
    assert idle.distance == pytest.approx(alone.distance, rel=1e-6)
    law = pd("push", 0.4, outputs=["push"], delay=delay)
    loop = femb.loop(plant, [one, law])
    measured = loop.opened("force")
    inner = femb.loop(plant, [one]).closed(["force", "push"], ["x", "v"])
    held = inner.sampled(T, delay)
    for omega in (0.05, 0.7, 2.8, 20.0, 40.0, 70.0):
        s = 1j * omega
        by_force, by_push = inner.transfer(s).T
        # the commands at samples, by what they read there
        at_samples = held.transfer(s)[:, 1]
        command = law.D @ by_force / (1.0 - law.D @ at_samples)
        hold = (1.0 - np.exp(-s * T)) / (s * T) * np.exp(-s * delay)
        acts = 1.0 + one.realisation.transfer(s) @ (by_force + by_push * hold * command)
        assert measured.one(omega) == pytest.approx(1.0 / acts[0] - 1.0, rel=1e-8)
    (margins,) = loop.margins(["force"])
    assert len(margins.crossovers) >= 1
    assert np.abs(measured(margins.crossovers)) == pytest.approx(1.0)
    assert "force: opened here, with the others closed" in loop.table()


def test_a_filter_that_a_law_reads():
    """A law of its own, at the same instants: as one law."""
    filtered = low_pass(6.0).tustin(0.1)
    measured = LinearLaw("filter", *filtered.on_each(2), period=0.1, inputs=["x", "v"], outputs=["x slow", "v slow"])
    chain = femb.loop(cart(), [pd(inputs=["x slow", "v slow"], delay=0.05), measured])
    whole = filtered.on_each(2)
    D = pd().D
    single = LinearLaw("pd", whole.A, whole.B, D @ whole.C, D @ whole.D, 0.1, 0.0, 0.05, ["x", "v"], ["force"])
    np.testing.assert_allclose(chain.poles(), femb.loop(cart(), [single]).poles(), atol=1e-9)
    np.testing.assert_allclose(
        chain.margins()[0].crossovers, femb.loop(cart(), [single]).margins()[0].crossovers, rtol=1e-9
    )


BEAM = {"name": "beam", "mass_per_length": 2.0, "bending_stiffness": (4000.0, 4000.0), "axial_stiffness": 1e7}
CONTROLLED = -0.1049641620 + 0.1079019814j, -0.4184945570 + 3.5156823091j, -0.1407365069 + 10.9804186538j


FREE = 3.548652109, 10.994449972


def winged(elements):
    """A hub with two uniform beams."""
    model = of_parts(femb.RigidBody("hub", mass=500.0, inertia=(300.0, 300.0, 300.0)))
    section = Section(**BEAM, torsional_stiffness=1e4, inertia_per_length=(2e-6, 1e-6, 1e-6))
    for name, y in (("left", 1.0), ("right", -1.0)):
        start = femb.Attachment("hub", at=(0.0, y, 0.0), direction=(0.0, y, 0.0))
        model.add(femb.Beam(name, section, length=10.0, elements=elements, start=start))
    return model


ROLL = ["bodies.hub.turn.x", "bodies.hub.angular_velocity.x"]
HOLD = LinearLaw("hold", [], [], [], [[-46.65, -435.4]], inputs=ROLL, outputs=["bodies.hub.torque.x"])


@pytest.mark.slow
@pytest.mark.parametrize("period", [None, 0.1])
def test_files_of_closed_loops_keep_their_units(tmp_path, period):
    loop = femb.loop(winged(4), [replace(HOLD, period=period)])
    closed = loop.closed()
    for suffix in (".npz", ".h5"):
        path = loop.write(tmp_path / f"loop{suffix}")
        read = StateSpace.read(path) if suffix == ".npz" else StateSpace.of_results(femb.Results.read(path))
        assert read.units[ROLL[0]] == "rad"
        assert (read.title, read.damping, read.dt) == (loop.plant.title, loop.plant.damping, closed.dt)
        np.testing.assert_array_equal(read.A, closed.A)


@pytest.mark.slow
def test_beams_in_a_continuous_loop():
    """A hub with two uniform beams: the poles of the continuum, as the mesh is refined."""

    def found(elements):
        loop = femb.loop(winged(elements), [HOLD])
        free = np.array([mode.omega for mode in loop.modes()])
        return tuple(
            np.array([values[np.argmin(np.abs(values - wanted))] for wanted in each])
            for values, each in ((free, FREE), (loop.poles(), CONTROLLED))
        )

    coarse, fine = found(8), found(16)
    for less, more, wanted in zip(coarse, fine, (FREE, CONTROLLED), strict=True):
        np.testing.assert_allclose(more, wanted, rtol=2e-5)
        np.testing.assert_allclose(more + (more - less) / 15.0, wanted, rtol=1e-6)  # of fourth order


# Controllers of models.


def test_the_loop_of_a_model_with_sensors_and_a_controller():
    """That of the law given by hand; sensors without a delay change nothing."""
    model = satellite()
    model.add(femb.StarTracker("tracker", body="hub"))
    model.add(femb.Gyro("gyro", body="hub"))
    gains = {"proportional": LOCKED * 0.15**2, "derivative": 1.4 * 0.15 * LOCKED}
    words = {"attitude": "sensors.tracker", "rate": "sensors.gyro", "wheels": tuple(WHEELS), "period": PERIOD}
    model.add(femb.PDController("attitude", **gains, **words, delay=PERIOD))
    loop = femb.loop(model)
    for wanted in POLES[0.1]:
        assert np.min(np.abs(loop.poles() - wanted)) < 1e-9
    assert loop.channels == ("attitude.x", "attitude.y", "attitude.z")
    assert loop.margins(["attitude.x"])[0].delay_margin == pytest.approx(0.193853279, rel=1e-7)
    assert loop.largest_delay()[0] == pytest.approx(0.19394471258, rel=1e-8)
    table = loop.table()
    assert table.startswith("1 controller and 2 sensors; the closed loop is stable\n")
    assert "\nsensor tracker: every 0.1 s, delay 0 s; 3 signals, 3 outputs, 0 states\n" in table
    assert "\ncontroller attitude: every 0.1 s, delay 0.1 s; 6 signals, 4 commands, 0 states\n" in table


def test_a_closed_linear_model_is_that_of_the_loop():
    """By default with the inputs and outputs of an open one, and what laws read and set."""
    model = satellite()
    gains = {"proportional": LOCKED * 0.15**2, "derivative": 1.4 * 0.15 * LOCKED}
    words = {"attitude": "bodies.hub", "rate": "bodies.hub", "wheels": tuple(WHEELS), "period": PERIOD, "delay": PERIOD}
    model.add(femb.PDController("attitude", **gains, **words))
    whole, opened = femb.linearize(model, closed=True), femb.linearize(model)
    assert whole.dt == PERIOD
    assert set(opened.inputs) <= set(whole.inputs)
    assert set(opened.outputs) <= set(whole.outputs)
    poles = whole.eigenvalues()
    for wanted in POLES[0.1]:
        assert np.min(np.abs(poles - wanted)) < 1e-7  # beside the multiple eigenvalue of what is conserved
    names = {"inputs": ["wheels.w1.torque", "bodies.hub.turn.x error"], "outputs": ["bodies.hub.angular_velocity"]}
    part = femb.linearize(model, closed=True, **names)
    assert part.inputs == tuple(names["inputs"])
    assert part.outputs == tuple(f"bodies.hub.angular_velocity.{x}" for x in "xyz")
    wanted = femb.loop(model).closed(part.inputs, part.outputs)
    np.testing.assert_array_equal(part.A, wanted.A)
    np.testing.assert_array_equal(part.B, wanted.B)
    refuses("the model has no controllers that set commands", femb.linearize, satellite(), closed=True)


def test_the_plant_behind_sensors_without_delay():
    """For python-control it is that of the law given by hand, with the delay of the commands."""
    pytest.importorskip("control")
    model = satellite()
    model.add(femb.StarTracker("tracker", body="hub"))
    model.add(femb.Gyro("gyro", body="hub"))
    words = {"rate": "sensors.gyro", "wheels": tuple(WHEELS), "period": PERIOD, "bandwidth": 0.1, "delay": PERIOD}
    model.add(femb.PDController("attitude", attitude="sensors.tracker", **words))
    loop = femb.loop(model)
    plant, wanted = loop.to_control(), loop.core.sampled(PERIOD, delay=PERIOD).to_control()
    assert plant.dt == PERIOD
    np.testing.assert_allclose(plant.A, wanted.A, atol=1e-12)
    np.testing.assert_allclose(plant.B, wanted.B, atol=1e-12)


def test_filters_and_sensors_that_no_controller_reads_are_no_part_of_the_loop():
    """A filter is a controller of the loop where one that sets commands reads it, through others too."""
    words = {"attitude": "bodies.hub", "wheels": tuple(WHEELS), "period": PERIOD, "bandwidth": 0.1}
    counts = {"bodies.hub": "1 controller;", "controllers.second": "3 controllers and 1 sensor;"}
    for rate, count in counts.items():
        model = satellite()
        model.add(femb.Gyro("gyro", body="hub", period=PERIOD))
        model.add(femb.FilterController("first", input="sensors.gyro", frequency=20.0, period=PERIOD))
        model.add(femb.FilterController("second", input="controllers.first", frequency=20.0, period=PERIOD))
        model.add(femb.PDController("attitude", rate=rate, **words))
        loop = femb.loop(model)
        assert loop.table().startswith(f"{count} the closed loop is stable")
        assert loop.channels == ("attitude.x", "attitude.y", "attitude.z")


def rotors(*items):
    """A shaft and a flywheel on a spring, about one axis, so that all motion is linear; a motor drives the shaft."""
    model = of_parts(femb.RigidBody("shaft", 1.0, (2.0, 2.0, 3.0)), femb.RigidBody("flywheel", 1.0, (1.0, 1.0, 1.0)))
    ends = [femb.JointEnd(name, axis=(0, 0, 1)) for name in ("ground", "shaft", "shaft", "flywheel")]
    model.add(femb.Revolute("axle", *ends[:2], rates=0.3))
    model.add(femb.Revolute("flex", *ends[2:], rates=0.0))
    model.add(femb.JointSpringDamper("spring", "flex", stiffness=6.0, damping=0.05))
    model.add(femb.JointMotor("drive", "axle", force=0.0))
    for item in items:
        model.add(item)
    return model


def shaft_law(name="law", gain=1.0, **words):
    D = gain * np.array([[-0.6, -1.7]])
    names = {"inputs": ("joints.axle.angle", "joints.axle.angle rate"), "outputs": ("loads.drive.force",)}
    return femb.LinearController(name, D=D, **names | words)


@pytest.mark.parametrize("delay", [0.0, 0.035, 0.1, 0.22])
def test_a_simulation_of_a_model_is_that_of_its_loop(delay):
    model = rotors(shaft_law(period=0.1, delay=delay))
    results = femb.simulate(model, duration=6.0, output_interval=0.1, rtol=1e-10, method="radau")
    loop = femb.loop(model, at_rest=True, outputs=["joints.flex.angle"])
    run = loop.simulate(6.0, start={"joints.axle.angle rate": 0.3}, times=results.time)
    for name in ("axle", "flex"):
        found = results.joints[name].coordinates[:, 0]
        np.testing.assert_allclose(found, run[f"joints.{name}.angle"], atol=1e-7 * 0.3)


def test_the_loop_of_a_continuous_controller_is_its_linear_model():
    lag = {"A": [[-5.0]], "B": [[-3.0, -8.5]], "C": [[1.0]], "D": [[0.0, 0.0]]}
    names = {"inputs": ("joints.axle.angle", "joints.axle.angle rate"), "outputs": ("wheels.w.torque",)}
    wheel = femb.ReactionWheel("w", body="shaft", axis=(0, 0, -1), spin_inertia=0.1)
    model = rotors(wheel, femb.LinearController("law", **lag, **names))
    loop = femb.loop(model, at_rest=True)
    poles = loop.poles()
    wanted = femb.linearize(model, at_rest=True).eigenvalues()
    assert loop.conserved == 1  # the speed of the wheel, which turns nothing
    assert len(poles) + 1 == len(wanted) == 6
    for pole in poles:
        assert np.min(np.abs(wanted - pole)) < 1e-9
    assert np.isfinite(loop.margins(["wheels.w.torque"])[0].delay_margin)


def held_body(*sensors, **words):
    """A body with a mass on a spring, turned about z by a law on wheels; rates so small that all is linear."""
    model = of_parts(femb.RigidBody("hub", 10.0, (3.0, 3.0, 3.0), angular_velocity=(0.0, 0.0, 1e-4)))
    model.add(femb.RigidBody("arm", 1.0, (1.0, 1.0, 1.0)))
    ends = (femb.JointEnd(name, axis=(0, 0, 1)) for name in ("hub", "arm"))
    model.add(femb.Revolute("flex", *ends, rates=0.0))
    model.add(femb.JointSpringDamper("spring", "flex", stiffness=6.0, damping=0.05))
    for name, axis in zip("xyz", np.eye(3), strict=True):
        model.add(femb.ReactionWheel(name, body="hub", axis=axis, spin_inertia=0.1))
    for sensor in sensors:
        model.add(sensor)
    given = {"attitude": "bodies.hub", "rate": "bodies.hub", "wheels": tuple("xyz"), "period": 0.1, "delay": 0.05}
    model.add(femb.PDController("law", proportional=0.6, derivative=1.7, **given | words))
    return model


GYRO = {"rate": "sensors.gyro"}


@pytest.mark.parametrize(
    "model",
    [
        held_body(femb.Gyro("gyro", body="hub"), **GYRO),
        held_body(femb.Gyro("gyro", body="hub", delay=0.03), **GYRO),
        held_body(femb.Gyro("gyro", body="hub", delay=0.1, scale=1.1), **GYRO),
        held_body(femb.Gyro("gyro", body="hub", period=0.04, delay=0.02, phase=0.01), **GYRO),
        held_body(femb.Gyro("gyro", body="hub", integrating=True), **GYRO),
        held_body(femb.Gyro("gyro", body="hub", axes=(0.6, 0.0, 0.8, 0.0)), **GYRO),
    ],
)
def test_sensors_in_the_loop(model):
    results = femb.simulate(
        model, duration=4.0, output_interval=0.1, rtol=1e-10, atol={"quaternion": 1e-14, "time": 1.0}, method="radau"
    )
    loop = femb.loop(model, at_rest=True, outputs=["joints.flex.angle", "bodies.hub.angular_velocity.z"])
    run = loop.simulate(4.0, start={"bodies.hub.turn_z rate": 1e-4}, times=results.time)
    for found, name in (
        (results.bodies["hub"].angular_velocity[:, 2], "bodies.hub.angular_velocity.z"),
        (results.joints["flex"].coordinates[:, 0], "joints.flex.angle"),
    ):
        np.testing.assert_allclose(found, run[name], atol=1e-11)


FELT = {"body": "hub", "at": (0.5, 0.0, 0.0)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sensor", "gains"),
    [
        # of the turn about z each sees its own part; the law brakes the hub beside it
        (femb.Accelerometer("s", **FELT), (0.0, 1.5, 0.0)),
        (femb.Accelerometer("s", delay=0.04, axes=(0.8, 0.0, 0.0, 0.6), **FELT), (0.96, 0.28, 0.0)),
        (femb.SunSensor("s", body="hub", sun=(2.0, 0.0, 0.0)), (0.0, -0.6, 0.0)),
        (femb.Magnetometer("s", body="hub"), (0.0, -3e4, 0.0)),
        (femb.PositionSensor("s", body="arm", at=(0.3, 0.0, 0.0), relative_to="hub"), (0.0, 2.0, 0.0)),
        (femb.Encoder("s", wheel="w"), (-0.02,)),
    ],
)
def test_every_sensor_in_the_loop(sensor, gains):
    """The exact sampled loop against a run of the nonlinear model; accelerations are those under the old commands."""
    model = of_parts(femb.RigidBody("hub", 10.0, (3.0, 3.0, 3.0), angular_velocity=(0.0, 0.0, 1e-4)))
    model.add(femb.RigidBody("arm", 1.0, (1.0, 1.0, 1.0)))
    ends = (femb.JointEnd(name, axis=(0, 0, 1)) for name in ("hub", "arm"))
    names = ("sensors.s", "bodies.hub.angular_velocity.z")
    for item in (
        femb.Revolute("flex", *ends, rates=0.0),
        femb.JointSpringDamper("spring", "flex", stiffness=6.0, damping=0.05),
        femb.ReactionWheel("w", body="hub", axis=(0, 0, 1), spin_inertia=0.1),
        femb.UniformField("lab", (2e-5, 0.0, 0.0)),
        sensor,
        femb.LinearController("law", D=[[*gains, 1.7]], inputs=names, outputs=("wheels.w.torque",), period=0.1),
    ):
        model.add(item)
    words = {"rtol": 1e-10, "atol": {"quaternion": 1e-14, "time": 1.0}, "method": "radau"}
    results = femb.simulate(model, duration=4.0, output_interval=0.1, **words)
    loop = femb.loop(model, at_rest=True, outputs=["joints.flex.angle", "bodies.hub.angular_velocity.z"])
    run = loop.simulate(4.0, start={"bodies.hub.turn_z rate": 1e-4}, times=results.time)
    for found, name in (
        (results.bodies["hub"].angular_velocity[:, 2], "bodies.hub.angular_velocity.z"),
        (results.joints["flex"].coordinates[:, 0], "joints.flex.angle"),
    ):
        np.testing.assert_allclose(found, run[name], atol=2e-11)
    assert np.isfinite(loop.margins()[0].distance)


@pytest.mark.slow
@pytest.mark.parametrize("order", [{"craig_bampton": 8}, {"modes": 12, "residual_vectors": True}, {"balanced": 20}])
def test_a_truncated_plant_keeps_its_wheels(order):
    """Two booms and three wheels at speed, whose momentum couples the axes: the model of full order and the truncated
    one have the same transfer functions, and loops on them the same poles."""
    section = Section("boom", 2e-3, (4e-7, 9e-7), 1e-6, 700.0, 7e9, 2.7e9)
    model = of_parts(femb.RigidBody("hub", 500.0, (300.0, 250.0, 350.0)))
    for name, y in (("left", 1.0), ("right", -1.0)):
        root = femb.Attachment("hub", at=(0, y, 0), direction=(0, y, 0), up=(0, 0, 1))
        model.add(femb.Beam(name, section, 6.0, 2, start=root))
    for name, axis in zip("xyz", np.eye(3) + 0.1, strict=True):
        model.add(femb.ReactionWheel(name, "hub", axis=axis, spin_inertia=0.5, speed=100.0, viscous=1e-3))
    names = {"inputs": ["wheels.x.torque"], "outputs": ["bodies.hub.turn", "wheels.x.speed", "wheels.y.angle"]}
    dense = femb.linearize(model, **names)
    cut = femb.linearize_structure(model, hub="hub", damping=1e-9, **order, **names)
    assert len(cut.states) < 0.8 * len(dense.states)
    assert cut.states[-4:] == ("x.speed", "y.speed", "z.speed", "y.speed integral")
    for omega in (0.06, 0.3, 2.0):
        wanted = dense.transfer(1j * omega)
        np.testing.assert_allclose(cut.transfer(1j * omega), wanted, atol=1e-6 * np.max(np.abs(wanted)))
    words = {"attitude": "bodies.hub", "rate": "bodies.hub", "wheels": tuple("xyz"), "bandwidth": 0.2, "period": 0.1}
    model.add(femb.PDController("law", delay=0.1, **words))
    loops = femb.loop(model), femb.loop(model, hub="hub", damping=1e-9, **order)
    whole, kept = (each.poles() for each in loops)
    for pole in whole[:6]:  # beside which are aliases of vibrations that are left out
        assert np.min(np.abs(kept - pole)) < 1e-7
    whole, kept = (each.margins(["law.x"])[0] for each in loops)
    assert kept.crossovers[0] == pytest.approx(whole.crossovers[0], rel=1e-5)
    assert kept.phase_margins[0] == pytest.approx(whole.phase_margins[0], rel=1e-5)


def with_wheel(model, spin=0.08):
    """A wheel about x, and its inertia in the hub, so that the motor turns what the hub had without it."""
    hub = model.bodies["hub"]
    inertia = np.asarray(hub.inertia)
    inertia = (np.diag(inertia) if inertia.ndim == 1 else inertia) + spin * np.diag([1.0, 0.0, 0.0])
    model.remove(hub)
    model.add(femb.RigidBody("hub", mass=hub.mass, inertia=inertia))
    model.add(femb.ReactionWheel("x", body="hub", axis=(1, 0, 0), spin_inertia=spin))
    return model


def test_a_linear_model_contains_the_states_of_continuous_controllers():
    """A torque about x that follows 46.65 turn + 435.4 rate with a time constant of 0.2 s."""
    model = with_wheel(satellite(None))
    words = {"inputs": ("bodies.hub.turn.x", "bodies.hub.angular_velocity.x"), "outputs": ("wheels.x.torque",)}
    model.add(femb.LinearController("law", A=[[-5.0]], B=[[5 * 46.65, 5 * 435.4]], C=[[1.0]], D=[[0.0, 0.0]], **words))
    space = femb.linearize(model)
    assert "law.state 1" in space.states
    for poles in (space.eigenvalues(), femb.loop(model).poles()):
        for wanted in (-0.10720907 + 0.11048872j, -0.43452962 + 4.39940110j, -4.02189761):
            assert np.min(np.abs(poles - wanted)) < 1e-8


@pytest.mark.slow
def test_beams_under_a_continuous_controller_of_the_model():
    """The state space of the model, as the mesh is refined."""

    def found(elements):
        model = with_wheel(winged(elements))
        words = {"inputs": ("bodies.hub.turn.x", "bodies.hub.angular_velocity.x"), "outputs": ("wheels.x.torque",)}
        model.add(femb.LinearController("law", D=[[46.65, 435.4]], **words))
        poles = femb.linearize(model, inputs=["wheels.x.torque"], outputs=["bodies.hub.turn"]).eigenvalues()
        return np.array([poles[np.argmin(np.abs(poles - wanted))] for wanted in CONTROLLED])

    coarse, fine = found(8), found(16)
    np.testing.assert_allclose(fine + (fine - coarse) / 15.0, CONTROLLED, rtol=1e-6)


def test_hand_over_to_python_control():
    """The plant as the law sees it is stabilisable: a regulator of python-control is that of femb."""
    control = pytest.importorskip("control")
    loop = femb.loop(cart(), [pd(delay=0.12)])
    plant = loop.to_control()
    assert plant.dt == 0.1
    assert plant.nstates == len(loop.core.sampled(0.1, 0.12).states)
    K = control.dlqr(plant.A, plant.B, plant.C.T @ plant.C, np.eye(1))[0]
    np.testing.assert_allclose(femb.lqr(loop.core.sampled(0.1, 0.12), 1.0, 1.0).K, K, rtol=1e-8)
    both = femb.loop(cart(), [pd(delay=0.12), pd("slow", 0.1, period=0.2)])
    refuses("laws of several periods, phases or delays see no single plant", both.to_control)


def test_vibrations_above_half_the_rate_are_named():
    assert (
        "pd: vibrations above half its rate, as slow ones to it unless filtered: 1"
        in femb.loop(cart(), [pd(period=2.0)]).table()
    )
    assert "above half its rate" not in femb.loop(cart(), [pd()]).table()


test_refused_loops = refusals(
    lambda laws: femb.loop(cart(), laws).poles(),
    ([], "loop: there are no laws"),
    ([pd(outputs=["forse"])], "controllers.pd: sets 'forse'; did you mean 'force'"),
    ([pd(inputs=["y", "v"])], "controllers.pd: reads 'y'"),
    ([pd(), pd("odd", period=0.1 * np.pi)], "the periods have no common one of at most 20000 samples"),
    ([pd(period=None, inputs=["a", "v"])], "what they set changes at once what they read, as accelerations do"),
)


def test_continuous_controllers_that_act_beside_given_laws_are_named():
    """The plant has the inner loop in it, whose law adds to one that is given on the same wheel."""

    def hub(*items):
        model = femb.Model()
        model.add(femb.RigidBody("hub", 1.0, (5.1, 5.1, 5.1)))
        model.add(femb.ReactionWheel("z", body="hub", axis=(0.0, 0.0, 1.0), spin_inertia=0.1))
        for item in items:
            model.add(item)
        return model

    words = {"attitude": "bodies.hub", "rate": "bodies.hub", "wheels": ("z",)}
    inner = femb.PDController("inner", proportional=1.0, derivative=2.0, **words)
    laws = femb.loop(hub(inner)).laws
    alone = femb.loop(hub(), laws).poles()
    with pytest.warns(FembWarning, match=r"loop: controllers\.inner: without samples"):
        both = femb.loop(hub(inner), laws).poles()
    for poles, factor in ((alone, 1.0), (both, 2.0)):
        assert np.poly(poles[np.abs(poles) > 1e-3])[-1] == pytest.approx(factor / 5.0)
    # a sampled one is held
    assert femb.loop(hub(replace(inner, period=0.1)), laws).poles() == pytest.approx(alone)
