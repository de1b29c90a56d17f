"""Bodies of shapes of any reference, other roots, and bodies reduced further."""

from dataclasses import fields, replace

import numpy as np
import pytest
from fem.solids import bar
from models import refuses
from oracles.modal_beam import BeamModel
from oracles.modal_example import Particles
from scipy.linalg import eigh
from shared_runs import said

import femb
from femb.base.errors import ModelError, ResultError
from femb.elements.modal.data import read_reduced_body, write_reduced_body
from femb.fem.further import ShapedBody, reduce_further, referred_arrays
from femb.fem.model import combined_arrays
from femb.fem.reduce import interfaces_of
from femb.fem.reduction import Keep, moments

SECOND = ("J1", "J2", "Q")
LINEAR = ("mass", "first_moment", "inertia", "S1", "C0", "M")


def test_change_of_reference_is_that_of_the_particles():
    """Arrays of shapes with any rigid motion and origin, referred to a held point, by equation (26)."""
    rng = np.random.default_rng(2)
    held = Particles(interfaces=1, modes=4)
    moved = Particles(interfaces=1, modes=4)
    motion, point = rng.normal(size=(6, 4)), rng.normal(size=3)
    moved.Psi = held.Psi + (motion[:3].T[:, None] + np.cross(motion[3:].T[:, None], held.X))
    moved.X = held.X + point
    wanted, given = (each.reduced(second=False, psi2=False) for each in (held, moved))
    arrays = {name: np.asarray(getattr(given, name)) for name in (*LINEAR, *SECOND, "K", "interfaces", "nodes")}
    found = referred_arrays(arrays | {"node_shapes": moved.Psi}, motion, point)
    for name in (*LINEAR, *SECOND, "nodes", "node_shapes"):
        value = getattr(wanted, name)
        np.testing.assert_allclose(found[name], value, rtol=0.0, atol=1e-12 * np.abs(arrays.get(name, 1.0)).max())


@pytest.fixture(scope="module")
def model():
    return bar((1, 1, 1), "hexahedron20")


@pytest.fixture(scope="module")
def free_shapes(model):
    """All free-free modes of a bar, with the six rigid ones, as a table of arrays."""
    squares, Psi = eigh(model.stiffness.toarray(), model.mass.toarray())
    assert np.all(np.abs(squares[:6]) < 1e-8 * squares[6])
    origin = np.array([0.3, -0.1, 0.2])
    of = moments(model, origin, Psi)
    motions = []
    for name in ("root", "tip"):
        nodes = model.node_sets[name]
        dofs = model.dofs[nodes, :3].ravel()
        D = model.rigid_motions(model.nodes[nodes].mean(axis=0))[dofs]
        motions.append(np.linalg.lstsq(D, Psi[dofs], rcond=None)[0])
    points = np.array([model.nodes[model.node_sets[name]].mean(axis=0) for name in ("root", "tip")]) - origin
    return {
        "format": "femb-shapes-1", "mass": of.mass, "first_moment": of.first_moment, "inertia": of.inertia,
        "S1": of.S1, "C0": of.C0, "M": of.M, "K": np.diag(np.where(np.arange(len(squares)) < 6, 0.0, squares)),
        "J1": of.J1, "J2": of.J2, "Q": of.Q, "interfaces": points, "interface_names": np.array(["root", "tip"]),
        "interface_shapes": np.array(motions),
    }  # fmt: skip


def test_free_modes_give_the_body_of_mean_interfaces(model, free_shapes, tmp_path):
    """With all modes nothing is lost: the same body as from the matrices, rigid modes are recognised and left out."""
    np.savez(tmp_path / "free.npz", **free_shapes)
    refuses("its shapes are not those of a held root", read_reduced_body, tmp_path / "free.npz", error=ResultError)
    found = reduce_further(tmp_path / "free.npz", modes=5)
    wanted = femb.fem.reduce_model(model, interfaces_of(model, ["root=root:mean", "tip=tip:mean"]), Keep(5))
    assert found.body.size == 11
    np.testing.assert_allclose(found.held, wanted.held, rtol=1e-7)
    np.testing.assert_allclose(found.free, wanted.free, rtol=1e-7)
    np.testing.assert_allclose(found.effective, wanted.effective, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(found.error, wanted.error, rtol=1e-4, atol=1e-9)
    for name in ("interfaces", "inertia", "first_moment"):
        value = getattr(wanted.body, name)
        np.testing.assert_allclose(getattr(found.body, name), value, rtol=0.0, atol=1e-9 * np.abs(value).max())
    signs = np.sign(np.sum(found.body.S1 * wanted.body.S1 + found.body.C0 * wanted.body.C0, axis=1))
    J1 = found.body.J1 * signs[:, None, None]
    np.testing.assert_allclose(J1, wanted.body.J1, rtol=0.0, atol=1e-5 * np.abs(wanted.body.J1).max())


def test_interfaces_need_shapes_that_move_them(free_shapes, tmp_path):
    few = {name: value for name, value in free_shapes.items() if name not in SECOND}
    for name, axes in (("S1", (0,)), ("C0", (0,)), ("M", (0, 1)), ("K", (0, 1)), ("interface_shapes", (2,))):
        for axis in axes:
            few[name] = np.take(few[name], np.arange(9), axis=axis)
    np.savez(tmp_path / "few.npz", **few)
    refuses(r"in 3 independent ways, wanted 6: name fewer of root, tip", reduce_further, tmp_path / "few.npz")
    assert reduce_further(tmp_path / "few.npz", ["tip"]).body.size == 3
    with pytest.raises(ModelError, match=r"interfaces\.side: is not in the source, which has root, tip"):
        reduce_further(tmp_path / "few.npz", ["side"])
    np.savez(tmp_path / "bad.npz", **{**few, "interface_shapes": np.zeros((2, 6, 3))})
    refuses("interface_shapes: got an array of shape", reduce_further, tmp_path / "bad.npz")


@pytest.fixture(scope="module")
def boom():
    return BeamModel(2.0, 4, 0.5, 1e5, 40.0, (50.0, 80.0), (2e-3, 1e-3, 1e-3)).reduced(4, tip=True)


def mixed(body, seed=3):
    """The same body by other shapes: coordinates mixed by a random regular matrix, as shapes without an order."""
    whole = ShapedBody.of(body)
    rng = np.random.default_rng(seed)
    T = np.linalg.qr(rng.normal(size=(body.size, body.size)))[0] @ np.diag(rng.uniform(0.5, 2.0, body.size))
    return replace(whole, arrays=combined_arrays(whole.arrays, T), motions=whole.motions @ T)


def test_shapes_may_be_mixed(boom):
    """The motion does not depend on the basis of the shapes: all arrays come back, and so do those of second order."""
    found = reduce_further(mixed(replace(boom, damping_ratio=None, D=boom.damping(0.01)))).body
    again = reduce_further(boom).body
    signs = np.sign(np.einsum("jka,jka->j", found.node_shapes, again.node_shapes))
    signs[:6] = 1.0  # unit motions of the tip
    for part in fields(found):
        value, other = getattr(again, part.name), getattr(found, part.name)
        if isinstance(value, np.ndarray) and part.name not in ("damping_ratio", "D"):
            other = combined_arrays({part.name: other}, np.diag(signs))[part.name]
            np.testing.assert_allclose(other, value, rtol=0.0, atol=1e-9 * max(np.abs(value).max(), 1e-12))


def test_mixed_modes_move_alike(boom):
    """A body whose modes are mixed by a random regular matrix has the same motion, to rounding."""
    rng = np.random.default_rng(5)
    T = np.eye(boom.size)
    T[6:, 6:] = rng.normal(size=(4, 4)) + 2.0 * np.eye(4)
    names = ("S1", "C0", "M", "K", "J1", "J2", "Q", "S2", "B2", "psi2", "node_shapes", "D")
    damped = replace(boom, D=boom.damping(0.01))
    other = replace(damped, **combined_arrays({name: getattr(damped, name) for name in names}, T))
    runs = []
    for body in (damped, other):
        free = femb.Model()
        free.add(femb.FlexibleBody("boom", body, angular_velocity=(0.2, 0.5, 1.0)))
        free.add(femb.Load("push", "boom.tip", force=(1.0, 2.0, -1.0), profile=femb.profiles.Versine(0.1)))
        runs.append(femb.simulate(free, duration=0.2, output_interval=0.1, method="rk", rtol=1e-9))
    a, b = (run.bodies["boom.tip"] for run in runs)
    np.testing.assert_allclose(b.position, a.position, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(b.quaternion, a.quaternion, rtol=0.0, atol=1e-9)
    deformation = runs[0].bodies["boom"].deformation, runs[1].bodies["boom"].deformation @ T.T
    assert np.abs(deformation[0]).max() > 1e-3
    np.testing.assert_allclose(deformation[1], deformation[0], rtol=0.0, atol=1e-10)


def test_another_root_keeps_the_free_frequencies(boom):
    """A boom held at its tip: the free-free frequencies are the same, and so are mass and mass centre."""
    turned = reduce_further(boom, ["tip", "root"])
    assert turned.coupling == "constant"
    np.testing.assert_allclose(turned.body.interfaces, [[0.0, 0.0, 0.0], [-2.0, 0.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(turned.body.first_moment / turned.body.mass, [-1.0, 0.0, 0.0], atol=1e-12)

    def free(body):
        cross = np.cross(np.eye(3), body.first_moment)
        P = np.hstack([body.S1, body.C0])
        M = np.block([[body.mass * np.eye(3), -cross, P[:, :3].T], [cross, body.inertia, P[:, 3:].T], [P, body.M]])
        K = np.zeros_like(M)
        K[6:, 6:] = body.K
        return eigh(K, M, eigvals_only=True)[6:]

    np.testing.assert_allclose(free(turned.body), free(boom), rtol=1e-8)


def test_command_reduces_a_finished_body(boom, tmp_path):
    write_reduced_body(tmp_path / "boom.npz", boom)
    whole = said("reduce", tmp_path / "boom.npz")
    assert "mass          1 kg" in whole
    assert sorted(each.name for each in tmp_path.iterdir()) == ["boom.npz"]  # only the table
    out = str(tmp_path / "small.h5")
    words = ["reduce", str(tmp_path / "boom.npz"), "--interfaces", "root", "--modes", "3", "--out", out]
    said(*words)
    body = read_reduced_body(out)
    assert body.second_order
    assert (body.size, body.modes, body.interface_names) == (3, 3, ("root",))
    np.testing.assert_allclose(body.frequencies()[0], boom.frequencies()[0], rtol=1e-3)
    refused = said("reduce", tmp_path / "boom.npz", "--modes", "40", "--out", out, "--force", code=2)
    assert "modes: got 40, the source has 4" in refused
    other = said("reduce", tmp_path / "boom.npz", "--effective-mass", "0.9", code=2)
    assert "is a reduced body, to which --effective-mass does not apply" in other


def test_a_body_of_one_interface_loses_modes_alone():
    """It has no motions of other interfaces."""
    held = Particles(interfaces=1, modes=4).reduced(second=False, psi2=False)
    body = reduce_further(held, modes=2).body
    assert (len(body.interfaces), body.size) == (1, 2)
    np.testing.assert_allclose(np.diag(body.K) / np.diag(body.M), eigh(held.K, held.M)[0][:2], rtol=1e-9)
