"""Worst cases of the reference loop: found and proved values are those of an independent program."""

import numpy as np
import pytest
from models import refuses
from oracles.two_arrays import arrays_on_a_drive
from oracles.uncertain_satellite import BY, LAW, attitude_law, satellite

import femb
from femb.linear.norms import peak_gain
from femb.robust.bounds import Plant, recentred, scaling_at
from femb.robust.decoupling import parts_of
from femb.robust.worst import proved_level
from femb.study.box import largest, points_of

X, Z = "bodies.hub.torque.x", "bodies.hub.torque.z"
WORST = {"left": 1980.0, "right": 1980.0, "inertia": 270.0, "angle": 0.0}
# Without the angle of the array, which is zero.
STRAIGHT = {name: range_ for name, range_ in BY.items() if name != "angle"}


def straight(left=1650.0, right=1650.0, inertia=300.0):
    return satellite(left, right, inertia, 0.0)


@pytest.fixture(scope="module")
def form():
    return femb.uncertain(straight, STRAIGHT, laws=[LAW], points=2)


@pytest.mark.slow
def test_margins_are_found_at_the_worst_corner_and_proved_about_it(form):
    found = femb.worst(form, channels=[X])
    disk, peak = found["disk_margin", X], found["sensitivity_peak", X]
    assert disk.parameters == pytest.approx({name: WORST[name] for name in STRAIGHT})
    assert disk.found == pytest.approx(0.58639081, rel=1e-6)
    assert disk.omega == pytest.approx(4.952138, rel=1e-5)
    assert peak.found == pytest.approx(1.94411226, rel=1e-6)
    assert found["delay_margin", X].found == pytest.approx(0.11935636, rel=1e-6)
    assert found["phase_margin", X].found == pytest.approx(33.604327, rel=1e-6)
    assert disk.found / 1.03 <= disk.proved <= disk.found
    assert peak.found <= peak.proved <= 1.03 * peak.found
    assert "proved: for all frequencies" in found.table()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channel", "less", "corner", "wanted", "omega"),
    [
        (X, 0.0, (1, 1, -1, -1), 1.94411226, 4.995231),
        (X, 0.5, (1, 1, -1, -1), 1.70534732, 4.952138),
        (Z, 0.0, (1, 1, -1, 1), 1.86868205, 4.478710),
    ],
)
def test_peaks_with_the_angle_of_the_array_are_proved_for_all_frequencies(channel, less, corner, wanted, omega):
    """Four repetitions of the angle; no sample of the box exceeds the level."""
    form = femb.uncertain(satellite, BY, laws=[LAW], points=2)
    closed = form.closed(channel)
    closed.D[-1, -1] -= less
    at = peak_gain(recentred(closed, form.sizes, np.array(corner, dtype=float), np.zeros(4)))
    assert at.gain == pytest.approx(wanted, rel=1e-7)
    assert at.omega == pytest.approx(omega, rel=1e-5)
    scaling = scaling_at(Plant(closed, form.sizes).at(at.omega), form.sizes)
    assert at.gain <= scaling.gamma <= 1.001 * at.gain  # at one frequency the bound is tight
    proof = proved_level(closed, form.sizes, at.gain)
    assert at.gain <= proof.level <= 1.03 * at.gain
    rng = np.random.default_rng(5)
    for d in rng.uniform(-1.0, 1.0, (40, 4)):
        assert peak_gain(recentred(closed, form.sizes, d, np.zeros(4))).gain <= proof.level


@pytest.mark.slow
def test_quantities_are_chosen_and_a_proof_gives_what_it_reached_in_its_time(monkeypatch):
    """Each second is a look at the clock; levels that end in time hold, and never fall with more of it."""
    pytest.importorskip("clarabel")
    form = femb.uncertain(straight, {"inertia": BY["inertia"]}, laws=[LAW], points=1)
    whole = femb.worst(form, channels=[X], quantities=["disk_margin"])
    assert [case.quantity for case in whole.cases] == ["disk_margin"]
    case, clock = whole["disk_margin", X], iter(range(10**9))
    assert case.found / 1.03 <= case.proved <= case.found
    assert not case.ended
    assert "*" not in whole.table()
    reached = []
    found = femb.worst(form, channels=[X], quantities=["disk_margin", "stability_radius"], proof_time=1e3)
    radius = found["stability_radius", ""]
    assert radius.found == np.inf
    assert radius.proved == pytest.approx(9.9)
    assert found["disk_margin", X].proved == pytest.approx(case.proved, rel=0.02)
    assert not any(each.ended for each in found.cases)
    monkeypatch.setattr("femb.robust.bounds.monotonic", lambda: float(next(clock)))
    monkeypatch.setattr("femb.robust.worst.monotonic", lambda: float(next(clock)))
    for seconds in (0.5, 4.0, 12.0, 40.0):
        found = femb.worst(form, channels=[X], quantities=["disk_margin"], proof_time=seconds)
        at = found["disk_margin", X]
        assert at.found == case.found
        reached.append(0.0 if at.proved is None else at.proved)
        assert at.ended == ("as far as the proof came in its time" in found.table())
    assert reached == sorted(reached)
    assert reached[0] == 0.0 < reached[-1] <= case.found
    assert any(0.0 < value < 0.9 * case.proved for value in reached)
    refuses("no quantity 'disk'; there are: disk_margin", femb.worst, form, quantities=["disk"])
    refuses("proof_time: got 0, must be above 0 s", femb.worst, form, proof_time=0)
    refuses("channels: got none; there are: ", femb.worst, form, channels=[])


@pytest.mark.parametrize(("coupling", "parts"), [(0.0, 2), (1e-5, 2), (1e-3, 1)])
def test_parts_that_couple_are_the_whole_and_what_they_differ_by_is_in_the_level(coupling, parts):
    """Two axes, each with one of two repetitions of a parameter; e and S are of the first."""
    A = np.diag([-1.0, -2.0])
    B, C = np.array([[0.3, coupling, 1.0], [coupling, 0.4, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    space = femb.StateSpace(A, B, C, np.zeros((3, 3)), ("a", "b"), ("w 1", "w 2", "e"), ("z 1", "z 2", "s"))
    found, difference = parts_of(space, (2,))
    assert len(found) == parts
    # at d = 1 the gain of the whole at rest is that of the first axis but for coupling^2
    whole = space.C @ np.linalg.solve(-A, B)
    own = np.linalg.solve(np.eye(2) - whole[:2, :2], whole[:2, 2:])
    exact = 1.0 / (1.0 - 0.3)
    off = float(abs((whole[2:, 2:] + whole[2:, :2] @ own).item() / exact - 1.0))
    assert off <= difference + 1e-15 or parts == 1
    assert (difference > 1e-13) == (coupling == 1e-5)


@pytest.mark.slow
def test_two_arrays_are_proved_over_five_parameters(tmp_path):
    """A hub's inertia and mass, six springs, the angle of the arrays, the modulus of their yokes: by the plane of
    symmetry in two parts, of which one has the gain, and the other only has to be stable."""
    text = arrays_on_a_drive().replace("density = 3000.0", "damping = 2e-3\ndensity = 3000.0")
    (tmp_path / "arrays.toml").write_text(text)
    form = femb.uncertain(tmp_path / "arrays.toml", modes=6, points=2)
    assert form.difference < 1e-8
    assert form.sizes[:4] == (1, 3, 6, 8)
    assert form.sizes[4] in (12, 13)  # one of the 13 changes of the basis is small as rounding
    closed, point = form.closed("loads.torquer.torque.0"), np.zeros(5)
    closed.D[-1, -1] -= 0.5
    # no momentum is a pole, whatever w of masses adds to it
    poles = np.linalg.eigvals(recentred(closed, form.sizes, point, point).A)
    assert np.max(poles.real) == pytest.approx(form.loop({}).growth(), rel=1e-9)
    corner = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    at = peak_gain(recentred(closed, form.sizes, corner, point)).gain
    assert 1.0 / at == pytest.approx(1.136807, rel=1e-5)
    assert [sum(sizes) for _, sizes in parts_of(closed, form.sizes)[0]] == [13, sum(form.sizes) - 13]
    proof = proved_level(closed, form.sizes, at)
    assert at <= proof.level <= 1.03 * at
    assert proof.frequencies < 40
    for d in np.random.default_rng(5).uniform(-1.0, 1.0, (40, 5)):
        loop = form.loop(d)
        assert loop.stable
        assert peak_gain(recentred(closed, form.sizes, d, point)).gain <= proof.level


@pytest.mark.slow
@pytest.mark.parametrize(("lags", "radius"), [((1.0, 1.0), 2.39038422), ((1.5, 1.5), 3.78139619)])
def test_the_stability_radius_is_found_and_proved_to_a_hundredth(lags, radius):
    form = femb.uncertain(straight, STRAIGHT, laws=[attitude_law(lags)], points=2)
    case = femb.worst(form, channels=[X])["stability_radius", ""]
    assert case.found == pytest.approx(radius, rel=1e-8)
    assert 0.97 * radius <= case.proved <= radius
    for part, stable in ((0.9999, True), (1.0001, False)):
        middle = {each.name: 0.5 * (each.low + each.high) for each in form.ranges}
        values = {name: middle[name] + part * (value - middle[name]) for name, value in case.parameters.items()}
        assert femb.loop(straight(**values), [attitude_law(lags)]).stable == stable


def test_a_search_is_repeatable_and_never_worse_than_corners():
    def peak(d):
        return float(-np.sum((d - np.array([0.3, -0.2])) ** 2))

    corner = np.array([[-1.0, -1.0]])
    assert largest(peak, corner, [peak(corner[0])])[0] == pytest.approx([0.3, -0.2], abs=1e-4)
    begun = points_of(2)
    assert (begun[5:] < -0.5).any(axis=0).all()  # random points beside the middle and four corners: all over the box
    assert (begun[5:] > 0.5).any(axis=0).all()
    first, second = (largest(peak, points_of(2), [peak(d) for d in begun]) for _ in range(2))
    assert np.array_equal(first[0], second[0])
    assert first[0] == pytest.approx([0.3, -0.2], abs=1e-4)  # inside, where no corner is
    assert first[1] >= max(peak(d) for d in begun)
    # a peak between the corners that only one of the points is near
    narrow = lambda d: float(np.exp(-1e3 * np.sum((d - begun[-1] - 1e-3) ** 2)))  # noqa: E731
    assert largest(narrow, begun, [narrow(d) for d in begun])[0] == pytest.approx(begun[-1] + 1e-3, abs=1e-4)


def test_a_loop_with_a_pole_that_stays_has_no_worst_case():
    """Of an undamped vibration of the panels, that no law sees; of a state that nothing changes. Margins were 0, beside
    those of the nominal loop."""
    of = attitude_law()
    A, C = np.pad(of.A, (0, 1)), np.pad(of.C, ((0, 0), (0, 1)))
    idle = femb.LinearLaw("idle", A, np.pad(of.B, ((0, 1), (0, 0))), C, of.D, inputs=of.inputs, outputs=of.outputs)
    for law, damping, said in ((of, 0.0, "of 1.61882 rad/s"), (idle, 10.5, "a state that stays")):

        def build(left=1650.0, damping=damping):
            return satellite(left, left, angle=0.0, damping=damping)

        by = {"left": {"range": "20 %"}}
        refuses(f"leaves no margins: {said}", femb.worst, build, by, channels=[X], points=1, laws=[law])


def test_a_loop_without_a_law_or_with_an_unstable_one_is_refused():
    refuses("has no controllers", femb.worst, straight, STRAIGHT, points=1, inputs=[X], outputs=["bodies.hub.turn.x"])
    refuses("nominal loop is not stable", femb.worst, straight, STRAIGHT, points=1, laws=[attitude_law((6.0, 6.0))])
