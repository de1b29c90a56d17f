"""Nets, whose matrices have no fill-in and are factorised by fronts: the results of block elimination."""

import numpy as np
import pytest
from long_runs import slow
from oracles.shell import material

import femb
from femb.system import pattern, stacked
from femb.system.pattern import Pattern
from femb.system.system import System

WORDS = {"thickness": 0.01, "material": material(70e9, 0.3, 2700.0)}


def wing(free=False, stiffness=20.0):
    """Two panels with a line of hinges, one on the ground or on a free body that turns; a mass beside a corner."""
    model = femb.Model("wing")
    if free:
        spin = {"angular_velocity": (0.3, 0.1, -0.2)}
        model.add(femb.RigidBody("hub", mass=20.0, inertia=(2.0, 2.5, 3.0), position=(-0.2, 0.0, 0.0), **spin))
    root = {"edge4": "hub" if free else "ground"}
    corners = [[0.0, 0.0, 0.0], [0.8, 0.0, 0.0], [0.8, 0.4, 0.1], [0.0, 0.4, 0.1]]
    model.add(femb.Shell("inner", (3, 2), corners, attach=root, damping=1e-4, **WORDS))
    corners = [[x + 0.8, y, z] for x, y, z in corners]
    model.add(femb.Shell("outer", (3, 2), corners, points={"tip": "corner3"}, **WORDS))
    ends = {"shell": "inner", "edge": "edge2"}, {"shell": "outer", "edge": "edge4"}
    model.add(femb.HingeLine("fold", *ends, stiffness=stiffness, damping=0.1))
    model.add(femb.PointMass("mass", 0.2, on=femb.Place(body="outer.tip", at=(0.0, 0.0, 0.05))))
    return model


def bodies_on_hinges(count, parent):
    """A chain or a tree of bodies: ``parent`` gives the number of the body that carries the k-th one."""
    model = femb.Model("tree")
    for k in range(count):
        model.add(femb.RigidBody(f"b{k}", 1.0, (0.1, 0.1, 0.1), position=(k + 0.5, 0.0, 0.0)))
        end = femb.JointEnd("ground") if k == 0 else femb.JointEnd(f"b{parent(k)}", at=(k - parent(k) - 0.5, 0.0, 0.0))
        model.add(femb.Spherical(f"j{k}", end, femb.JointEnd(f"b{k}", at=(-0.5, 0.0, 0.0))))
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    "parent", [lambda k: k - 1, lambda k: (k - 1) // 2, lambda k: 0], ids=["chain", "tree", "star"]
)
def test_trees_of_joints_are_no_nets_and_have_no_fill_in(parent):
    """Storage grows with the number of bodies: blocks of 6 and 3, and two of 6 x 3 couple a joint with each body."""
    count = pattern.NET + 50
    found = System(bodies_on_hinges(count, parent)).pattern
    assert not found.net
    assert found.size == count * (6 * 6 + 3 * 3) + (2 * count - 1) * 2 * 6 * 3


def as_net(monkeypatch, net):
    monkeypatch.setattr(pattern, "NET", -(10**9) if net else 10**9)
    monkeypatch.setattr(pattern, "SMALL", 4)


def both(monkeypatch, function):
    """Its results with fronts and with block elimination."""
    found = []
    for net in (True, False):
        as_net(monkeypatch, net)
        found.append(function())
    return found


def test_data_of_nets_have_no_fill_in(monkeypatch):
    """The blocks of what elements couple alone, and the same products."""
    system = System(wing())
    layout, counts = system.layout, np.diff(system.layout.block_start)
    as_net(monkeypatch, True)
    net = Pattern(layout)
    as_net(monkeypatch, False)
    filled = Pattern(layout)
    edges = np.array(sorted(set(layout.edges)))
    assert net.size == np.sum(counts**2) + 2 * np.sum(counts[edges].prod(axis=1)) < filled.size
    np.testing.assert_array_equal(net.to_csc(np.arange(net.size)).T.toarray().ravel(), _transposed(net).ravel())
    data = np.random.default_rng(0).standard_normal(net.size)
    whole, places = net.with_fill
    more = np.zeros(whole.size)
    more[places] = data
    assert abs(whole.to_csc(more) - net.to_csc(data)).max() == 0.0


def _transposed(found):
    return found.to_csc(np.arange(found.size)[found.transposed]).toarray()


@pytest.mark.parametrize("damped", [False, True])
def test_modes(monkeypatch, damped):
    one, other = both(monkeypatch, lambda: femb.modes(wing(stiffness=2e4), 6, damped=damped))
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, rtol=1e-8)
    np.testing.assert_allclose(np.abs(one.shapes), np.abs(other.shapes), atol=1e-6 * np.abs(other.shapes).max())
    assert one.labels == other.labels


@pytest.mark.slow
def test_statics_and_stability(monkeypatch):
    def states():
        model = wing()
        model.add(femb.Load("push", body="outer.tip", force=(0.0, 0.0, 4.0)))
        return femb.static(model, steps=2)

    one, other = both(monkeypatch, states)
    tips = (each.bodies["outer.tip"].position for each in (one, other))
    np.testing.assert_allclose(*tips, rtol=1e-9)
    np.testing.assert_array_equal(one.negative_eigenvalues, other.negative_eigenvalues)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["radau", "generalized-alpha"])
def test_motion(monkeypatch, method):
    """A free flight by methods that factorise, with reactions."""
    words = {"method": method} | ({"step": 5e-4} if method == "generalized-alpha" else {"rtol": 1e-6})
    run = femb.Run(duration=0.004, output_interval=0.002, **words)
    one, other = both(monkeypatch, lambda: femb.simulate(wing(free=True), run))
    np.testing.assert_allclose(one.bodies["hub"].velocity, other.bodies["hub"].velocity, atol=1e-7)
    np.testing.assert_allclose(one.hinges["fold"].force, other.hinges["fold"].force, atol=1e-4)


def four_bar():
    """A plane mechanism, three of whose rows depend on others, with a plate on its coupler and a spring."""
    model, axis = femb.Model("four bar"), (0.0, 1.0, 0.0)
    for name, place in (("crank", (0, 0, 0.5)), ("rocker", (1, 0, 0.5)), ("coupler", (0.5, 0, 1))):
        model.add(femb.RigidBody(name, mass=1.0, inertia=0.1, position=place))
    up, down = (0.0, 0.0, 0.5), (0.0, 0.0, -0.5)
    for name, first, second in (
        ("a", femb.JointEnd("ground", axis=axis), femb.JointEnd("crank", at=down)),
        ("b", femb.JointEnd("crank", at=up, axis=axis), femb.JointEnd("coupler", at=(-0.5, 0, 0))),
        ("c", femb.JointEnd("coupler", at=(0.5, 0, 0), axis=axis), femb.JointEnd("rocker", at=up)),
        ("d", femb.JointEnd("rocker", at=down, axis=axis), femb.JointEnd("ground", at=(1, 0, 0))),
    ):
        model.add(femb.Revolute(name, first, second))
    model.add(femb.JointSpringDamper("spring", joint="a", stiffness=50.0))
    corners = [[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
    model.add(femb.Shell("plate", (3, 3), corners, attach={"edge1": "coupler"}, damping=1e-4, **WORDS))
    model.add(femb.SurfaceLoad("wind", "plate", pressure=20.0))
    return model


@pytest.mark.slow
def test_loops_of_joints(monkeypatch):
    """Modes, an equilibrium and a motion with their reactions, of least norm where rows depend on others."""
    one, other = both(monkeypatch, lambda: femb.modes(four_bar(), 10))
    np.testing.assert_allclose(one.frequencies, other.frequencies, rtol=1e-7)
    # a basis of the motions that the constraints leave: these shapes have to be refined, without gaps
    np.testing.assert_allclose(one.frequencies[:4], femb.modes(four_bar(), 60).frequencies[:4], rtol=1e-7)
    run = femb.Run(duration=0.002, output_interval=0.001, method="radau", rtol=1e-6)
    for analysis in (lambda: femb.static(four_bar(), steps=1), lambda: femb.simulate(four_bar(), run)):
        one, other = both(monkeypatch, analysis)
        assert np.abs(one.joints["a"].force[-1]).max() > 1.0
        for joint in "abcd":
            for word in ("force", "torque"):
                found, wanted = (getattr(each.joints[joint], word) for each in (one, other))
                np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_quaternion_form(monkeypatch):
    """A formulation that eliminates in place."""
    run = femb.Run(duration=0.002, output_interval=0.001, formulation="quaternion")
    one, other = both(monkeypatch, lambda: femb.simulate(wing(free=True), run))
    np.testing.assert_allclose(one.bodies["hub"].velocity, other.bodies["hub"].velocity, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("net", [slow(True), False])
def test_hinges_in_free_flight_keep_the_momenta(monkeypatch, net):
    """Hub, two panels and a free line of hinges, thrown while it turns: momenta to 1e-9, and the energy to damping."""
    as_net(monkeypatch, net)
    results = femb.simulate(wing(free=True), femb.Run(duration=0.04, output_interval=0.01, rtol=1e-8))
    audit = results.audit
    for momentum in (audit.linear_momentum, audit.angular_momentum):
        np.testing.assert_allclose(momentum, momentum[0] + 0.0 * momentum, atol=1e-9 * np.abs(momentum).max())
    assert np.abs(results.hinges["fold"].angle).max() > 1e-5


def test_output_of_large_nets_is_evaluated_in_lanes(monkeypatch):
    """To the last bit as one instant at a time; matrices of a net of many bodies are beyond the cache."""
    model = bodies_on_hinges(40, lambda k: k - 1)
    for k in range(4):
        ends = femb.JointEnd(f"b{10 * k}", at=(0.0, 0.0, 0.1)), femb.JointEnd(f"b{10 * k + 9}", at=(-9.0, 0.0, 0.1))
        model.add(femb.Spherical(f"loop{k}", *ends))
    words = {"duration": 0.01, "method": "rk", "output_interval": 0.001}
    monkeypatch.setattr(stacked, "TOGETHER", 1)
    together = [some.stop - some.start for some in stacked.portions(System(model), 8)]
    assert together == [stacked.LANES] * (8 // stacked.LANES)
    found = femb.simulate(model, **words)
    monkeypatch.setattr(stacked, "IN_LANES", 0)
    for path, array in femb.simulate(model, **words).series.items():
        np.testing.assert_array_equal(found.series[path], array, err_msg=path)
