"""Meshed solids: mass properties, frequencies, stress stiffness, reduction and its invariance."""

from dataclasses import replace

import numpy as np
import pytest
from fem.solids import SIZE, bar
from scipy.linalg import eigh

from femb.fem import MeshInterface, reduce_model
from femb.fem.checks import properties
from femb.fem.model import as_csc
from femb.fem.reduce import interfaces_of
from femb.fem.reduction import Keep
from femb.fem.solid_shapes import NODES, quadrature, reference_places, shape_functions

MASS = 2700.0 * np.prod(SIZE)
KINDS = ("tetra", "tetra10", "hexahedron", "hexahedron20", "hexahedron27")


@pytest.fixture(scope="module")
def model():
    return bar()


@pytest.fixture(scope="module")
def reduced(model):
    return reduce_model(model, interfaces_of(model, ["root=root", "tip=tip"]), Keep(8))


@pytest.mark.parametrize("kind", KINDS)
def test_mass_properties_of_a_mesh_are_exact(kind):
    model = bar((2, 1, 1), kind)
    D = model.rigid_motions(np.zeros(3))
    mass, centre, inertia = properties(D.T @ (model.mass @ D))
    a, b, c = SIZE
    exact = MASS / 12.0 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    assert mass == pytest.approx(MASS, rel=1e-12)
    assert centre == pytest.approx([0.5, 0.0, 0.0], abs=1e-12)
    # linear cells integrate the square of x exactly too: x itself is a linear field
    assert inertia == pytest.approx(exact, rel=1e-10, abs=1e-10 * exact[2, 2])


@pytest.mark.parametrize("kind", KINDS)
def test_a_uniform_strain_has_the_exact_energy(kind):
    """The patch test: u = e X."""
    model = bar((2, 1, 1), kind)
    strain = np.array([[1.0, 0.3, -0.2], [0.3, -0.5, 0.1], [-0.2, 0.1, 0.7]])
    own = model.dofs[model.dofs[:, 0] >= 0, :3]
    u = np.zeros(model.size)
    u[own] = model.nodes[model.dofs[:, 0] >= 0] @ strain
    lame, shear = 7e10 * 0.3 / (1.3 * 0.4), 7e10 / 2.6
    energy = (lame * np.trace(strain) ** 2 + 2.0 * shear * np.sum(strain**2)) * np.prod(SIZE)
    assert u @ (model.stiffness @ u) == pytest.approx(energy, rel=1e-12)


def placed(kind, points):
    """Places (..., 3) of points of a reference cell: those of pyramids have four sides that meet in the apex."""
    x = np.array(points, dtype=float)
    if kind.startswith("pyramid"):
        x[..., :2] = 0.5 + (x[..., :2] - 0.5) * (1.0 - x[..., 2:])
    return x


@pytest.mark.parametrize("kind", NODES)
def test_shapes_are_one_at_their_nodes_and_give_places_and_volumes(kind):
    nodes, (points, weights) = reference_places(kind), quadrature(kind, 5)
    values, slopes = shape_functions(kind, points)
    places = placed(kind, nodes)
    np.testing.assert_allclose(shape_functions(kind, nodes.T)[0], np.eye(len(nodes)), atol=1e-12)
    np.testing.assert_allclose(values.sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(values.T @ places, placed(kind, points.T), atol=1e-12)
    volumes, (x, _, z) = weights * np.linalg.det(np.einsum("bip,bj->pij", slopes, places)), places.T @ values
    # the integrals of 1 and of x^2 z
    wanted = {"t": (1 / 6, 1 / 360), "h": (1, 1 / 6), "w": (1 / 2, 1 / 24), "p": (1 / 3, 17 / 720)}[kind[0]]
    assert (volumes.sum(), volumes @ (x * x * z)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(("kind", "first", "second"), [("rigid", 33.198, 49.678), ("mean", 32.626, 48.812)])
def test_frequencies_of_the_clamped_bar(model, kind, first, second):
    found = reduce_model(model, [MeshInterface("root", model.node_sets["root"], kind)], Keep(2))
    assert found.free == pytest.approx([first, second], abs=6e-4)
    assert np.max(np.abs(found.error)) < 1e-9
    if kind == "rigid":
        assert found.effective[0, 2] == pytest.approx(0.6102, abs=6e-5)
        assert found.effective[1, 1] == pytest.approx(0.6104, abs=6e-5)


def test_stress_stiffness_under_tension(model):
    """int N w'^2 of w = x^2 across."""
    force, area = 1000.0, SIZE[1] * SIZE[2]
    stretch = force / area / 7e10 * np.array([1.0, -0.3, -0.3])
    fields, shapes = np.zeros((2, model.size, 1))
    fields[:, 0] = (model.nodes * stretch).ravel()
    shapes[1::3, 0] = model.nodes[:, 0] ** 2
    assert model.stress(fields, shapes)[0, 0, 0] == pytest.approx(force * 4.0 / 3.0, rel=1e-9)


def test_reduced_body_has_the_mass_and_the_modes_of_the_model(model, reduced):
    body = reduced.body
    assert body.mass == pytest.approx(MASS, rel=1e-12)
    assert body.first_moment == pytest.approx([0.5 * MASS, 0.0, 0.0], abs=1e-11)
    assert body.second_order
    clamped = reduce_model(model, interfaces_of(model, ["root=root"]), Keep(4))
    assert reduced.free[:4] == pytest.approx(clamped.free, rel=2e-3)
    # the estimate is the error that the whole model shows
    assert reduced.error[:4] == pytest.approx(reduced.free[:4] / clamped.free - 1.0, rel=0.2)
    # free-free: the whole model with its rigid tip, all six rigid motions, then elastic ones
    whole = np.block([[_rigid(body), np.hstack([body.S1, body.C0]).T], [np.hstack([body.S1, body.C0]), body.M]])
    stiff = np.zeros_like(whole)
    stiff[6:, 6:] = body.K
    values = eigh(stiff, whole, eigvals_only=True)
    assert np.abs(values[:6]).max() < 1e-6 * values[6]
    assert np.sqrt(values[6]) / 2 / np.pi == pytest.approx(210.0, rel=0.05)  # Euler-Bernoulli: 209.4, rigid end faces


def _rigid(body):
    s = -np.cross(np.eye(3), body.first_moment)
    return np.block([[body.mass * np.eye(3), s], [s.T, body.inertia]])


def test_tip_coordinates_are_the_motion_of_the_tip(model, reduced):
    """Unit displacement and rotation of the tip's frame move its nodes as a rigid body."""
    tip = model.node_sets["tip"]
    shapes = reduced.body.node_shapes[:6, tip]
    arms = reduced.body.nodes[tip] - reduced.body.interfaces[1]
    assert shapes[:3] == pytest.approx(np.broadcast_to(np.eye(3)[:, None], (3, len(tip), 3)), abs=1e-9)
    assert shapes[3:] == pytest.approx(np.cross(np.eye(3)[:, None], arms), abs=1e-9)
    assert np.abs(reduced.body.node_shapes[:, model.node_sets["root"]]).max() < 1e-12


@pytest.mark.parametrize("kinds", [("rigid", "mean"), ("mean", "rigid"), ("mean", "mean")])
def test_mean_interfaces_move_by_their_coordinates(kinds):
    model = bar((4, 1, 1))
    named = [
        MeshInterface(name, model.node_sets[name], kind) for name, kind in zip(("root", "tip"), kinds, strict=True)
    ]
    body = reduce_model(model, named, Keep(3)).body
    for k, name in enumerate(("root", "tip")):
        own = model.node_sets[name]
        arms = body.nodes[own] - body.interfaces[k]
        A = np.concatenate([np.hstack([np.eye(3), np.cross(arm, np.eye(3))]) for arm in arms])
        for j, moved in enumerate(body.node_shapes):
            motion = np.linalg.lstsq(A, moved[own].ravel(), rcond=None)[0]
            wanted = np.eye(6)[j] if k == 1 and j < 6 else np.zeros(6)
            assert motion == pytest.approx(wanted, abs=1e-7 * max(1.0, np.abs(moved).max()))
    assert np.linalg.eigvalsh(body.K)[0] > 0.0


def test_other_origin_numbering_and_axes_give_the_same_body():
    model = bar((4, 1, 1))
    first = reduce_model(model, interfaces_of(model, ["root=root", "tip=tip"]), Keep(4)).body
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn *= np.linalg.det(turn)
    order = rng.permutation(len(model.nodes))
    place = np.argsort(order)
    from scipy.sparse import block_diag

    T = as_csc(block_diag([turn] * len(model.nodes)))
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    moved = replace(
        model, nodes=(model.nodes @ turn.T + [3.0, -2.0, 1.0])[order],
        mass=(T @ model.mass @ T.T).tocsc()[rows][:, rows],
        stiffness=(T @ model.stiffness @ T.T).tocsc()[rows][:, rows], stress=None, cells={},
        node_sets={name: place[own] for name, own in model.node_sets.items()},
    )  # fmt: skip
    tied = [MeshInterface(name, moved.node_sets[name], axes=turn) for name in ("root", "tip")]
    second = reduce_model(moved, tied, Keep(4), coupling="constant").body
    signs = np.ones(len(first.K))
    signs[6:] = np.sign(np.einsum("ka,ka->k", first.S1[6:] + first.C0[6:], second.S1[6:] + second.C0[6:]))
    plain = reduce_model(replace(model, stress=None), interfaces_of(model, ["root=root", "tip=tip"]), Keep(4)).body
    for name, count in (
        ("first_moment", 0),
        ("inertia", 0),
        ("S1", 1),
        ("C0", 1),
        ("M", 2),
        ("J1", 1),
        ("J2", 2),
        ("Q", 2),
    ):
        value, wanted = getattr(second, name), getattr(plain, name)
        for axis in range(count):
            value = value * signs.reshape([-1 if k == axis else 1 for k in range(value.ndim)])
        assert value == pytest.approx(wanted, abs=1e-6 * np.abs(wanted).max()), name
    assert pytest.approx(first.K, abs=1e-7 * np.abs(first.K).max()) == second.K


@pytest.mark.slow
def test_modes_are_kept_by_frequency_and_effective_mass(model):
    tied = interfaces_of(model, ["root=root"])
    by_frequency = reduce_model(model, tied, Keep(max_frequency=500.0))
    assert len(by_frequency.held) == 4
    assert by_frequency.held[-1] < 500.0
    by_mass = reduce_model(model, tied, Keep(20, effective_mass=0.75))
    assert len(by_mass.held) == 14 or np.all(by_mass.effective.sum(axis=0)[:3] > 0.7)
    assert len(reduce_model(model, tied, Keep(2, max_frequency=500.0)).held) == 2


def test_table_shows_modes_and_what_is_left_out(reduced):
    text = reduced.table()
    assert "mass          6.48 kg" in text
    assert "root (root)        rigid      25  (0, 0, 0)" in text
    assert "left out" in text
    assert f"{reduced.free[0]:.5g}" in text


@pytest.mark.parametrize("part", [0.3, 1.0])
def test_as_many_modes_as_asked_for(part):
    """Up to all that the masses have, each a mode of the dense matrices with the interface held."""
    model = bar((2, 1, 1), "hexahedron20")
    interface = interfaces_of(model, ["root=root"])
    held = np.isin(model.node_of, interface[0].nodes)
    K, M = (as_csc(matrix).toarray()[np.ix_(~held, ~held)] for matrix in (model.stiffness, model.mass))
    squares = eigh(K, M, eigvals_only=True)
    count = int(part * len(squares))
    found = reduce_model(model, interface, Keep(count)).held
    assert len(found) == count
    np.testing.assert_allclose(found, np.sqrt(squares[:count]) / (2.0 * np.pi), rtol=1e-7)
