"""A reduced body with its root alone hangs on a hub as that with a free tip, which has the same motions."""

import numpy as np
import pytest
from click.testing import CliRunner
from models import refuses, stiff

import femb
from femb.cli import cli
from femb.handover import CraigBampton, flex42, hybrid_coordinates, sliding_masses
from femb.linear.base_shake import shake

HUB, LENGTH, LINE = 50.0, 2.0, 0.9


@pytest.fixture(scope="module")
def bodies():
    """With a free tip and all motions of that, and with the root alone and as many modes."""
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=20.0, inertia=2.0))
    model.add(stiff(1e6, 2e3, (2e3, 5e3), LINE, (1e-3, 5e-4, 5e-4)))
    model.add(femb.Beam("boom", "s", LENGTH, 8, start=femb.Attachment("hub", direction=(0.0, 1.0, 0.0))))
    found = femb.fem.reduce_beams(model, "hub", {"tip": "beams.boom.-1"}, 6).body
    return {"tip": found, "root": femb.fem.reduce_further(found, interfaces=["hub"], modes=12).body}


@pytest.fixture(scope="module")
def models(bodies):
    return {name: carried(body) for name, body in bodies.items()}


def carried(body, *items, at=(0.3, 0.1, -0.2), **words):
    model = femb.Model()
    model.add(femb.RigidBody("hub", mass=HUB, inertia=(3.0, 4.0, 5.0)))
    model.add(femb.FlexibleBody("s", body, start=femb.Attachment("hub", at=at), **words))
    for item in items:
        model.add(item)
    return model


def both(models, function):
    return (function(models[name]) for name in ("tip", "root"))


def test_appendage_by_closed_form_and_as_with_a_tip(models):
    tip, root = (found.appendages for found in both(models, lambda model: femb.modes(model, held="hub", count=12)))
    (tip,), (root,) = tip, root
    assert root.name == "s"
    np.testing.assert_allclose(root.point, [0.3, 0.1, -0.2], atol=1e-14)
    np.testing.assert_allclose(root.rigid_mass[0, 0], LENGTH * LINE, rtol=1e-12)
    np.testing.assert_allclose(root.rigid_mass[3, 3], LENGTH**3 * LINE / 3.0 + 1e-3, rtol=2e-3)
    for word in ("frequencies", "effective_mass", "rigid_mass", "clamped_mass", "own_damping"):
        a, b = getattr(tip, word), getattr(root, word)
        np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-9 * np.max(np.abs(a)))
    # of a cantilever: 0.6131 of the mass in the first mode along z
    assert np.max(root.effective_mass[:2, 2, 2]) == pytest.approx(0.6131 * LENGTH * LINE, rel=1e-3)


def plant(model):
    return hybrid_coordinates(model, 6, held="hub", points={"hub": "bodies.hub"})


def free_frequencies(model):
    """Of the free structure, by the handed over matrices of the whole."""
    whole = CraigBampton.of(hybrid_coordinates(model, held="hub", points={}))
    return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(whole.mass, whole.stiffness)).real)[6:])


def transfer(space):
    """Of what is left, by the static response too, at 3 Hz."""
    return np.abs(space.frequency_response([3.0]).values)


def of_flex42(model):
    (body,) = flex42.appendage_bodies(model, 6, held="hub", points={})
    of = body.integrals
    return [*body.frequencies, of.mass, *(np.linalg.norm(each) for each in (of.inertia, of.S1, of.C0))]


FORMS = {
    "hybrid": lambda model: plant(model).mass,
    "free structure": free_frequencies,
    "free modes": lambda model: femb.modes(model, 12).frequencies,
    "state space": lambda model: transfer(plant(model).state_space(("hub",), ("hub",))),
    "sliding mass": lambda model: [[each.mass, each.stiffness] for each in sliding_masses(plant(model)).effectors],
    "42": of_flex42,
    "linearize": lambda model: transfer(femb.linearize_structure(model, hub="hub", modes=4, **CHANNELS)),
    "Craig-Bampton": lambda model: transfer(femb.linearize_structure(model, hub="hub", craig_bampton=4, **CHANNELS)),
    "shake": lambda model: shake(model, "z", outputs=[FORCE], held="hub", sine=(5.0, 100.0)).peak,
}
FORCE = "appendages.s.force"
CHANNELS = {"inputs": ["bodies.hub.force", "bodies.hub.torque"], "outputs": ["bodies.hub.position", FORCE]}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_it(form, models):
    tip, root = both(models, FORMS[form])
    np.testing.assert_allclose(root, tip, rtol=1e-6, atol=1e-9 * np.max(np.abs(tip)))


@pytest.mark.slow
def test_modal_damping_of_it(models, bodies):
    """The ratios with the hub held are those of the case, and the hub turns alike under a torque."""
    items = [
        femb.ModalDamping("d", "hub", (0.02, 0.04), modes=2),
        femb.Load("t", "hub", torque=(3.0, 2.0, 4.0)),
    ]
    models = {name: carried(body, *items, damping_ratio=0.0) for name, body in bodies.items()}
    tip, root = both(models, lambda model: femb.modes(model, held="hub", count=6).appendages[0].damping)
    np.testing.assert_allclose(root, [0.02, 0.04, 0.0, 0.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(tip, root, atol=1e-9)
    tip, root = both(models, lambda model: femb.simulate(model, duration=0.3, output_interval=0.1, rtol=1e-8))
    turned = tip.bodies["hub"].angular_velocity
    np.testing.assert_allclose(root.bodies["hub"].angular_velocity, turned, atol=2e-5 * np.max(np.abs(turned)))
    assert np.max(root.modal_damping["d"].power) == pytest.approx(np.max(tip.modal_damping["d"].power), rel=1e-3)
    assert np.max(root.modal_damping["d"].power) > 1e-4


def test_two_bodies_each_with_damping_of_its_own(bodies):
    pair = carried(bodies["root"], femb.FlexibleBody("t", bodies["root"], start=femb.Attachment("hub")))
    assert [part.name for part in femb.modes(pair, held="hub").appendages] == ["s", "t"]
    for name, ratio in (("s", 0.01), ("t", 0.03)):
        pair.add(femb.ModalDamping(name, "hub", ratio, modes=1, appendage=name))
    found = femb.modes(pair, held="hub").appendages
    np.testing.assert_allclose([part.damping[0] for part in found], [0.01, 0.03], rtol=1e-9)
    pair.add(femb.ModalDamping("again", "hub", 0.1, modes=1, appendage="s"))
    refuses("modal_damping.again: damps 's', which modal_damping.s damps already", femb.modes, pair, held="hub")


def test_root_load_on_the_ground_is_that_of_the_interface(bodies):
    fixed = femb.Model()
    fixed.add(femb.FlexibleBody("s", bodies["root"], start=femb.Attachment("ground", at=(0.3, 0.1, -0.2))))
    outputs = [FORCE, "bodies.s.hub.interface_force"]
    found = shake(fixed, "z", outputs=outputs, sine=(5.0, 100.0)).peak
    np.testing.assert_allclose(found[:3], found[3:], rtol=1e-9, atol=1e-9)
    # all its mass follows slowly
    slow = np.abs(shake(fixed, "z", outputs=outputs, sine=(0.01, 0.02)).response.values[0, :, 0])
    np.testing.assert_allclose(slow, [0.0, 0.0, LENGTH * LINE] * 2, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_pictures_of_modes_that_move_no_frame_have_a_size(bodies, models):
    """A tenth of the extent, which is one metre where there is one frame, as a root mean square over the mass."""
    results = femb.modes(models["root"], held="hub", count=6).results()
    eta, body = results.bodies["s"].modal_coordinates, bodies["root"]
    size = np.sqrt(np.einsum("ti,ij,tj->t", eta, body.M, eta) / body.mass)
    np.testing.assert_allclose(size, [0.0, *[0.1] * 6], rtol=1e-9)


def test_an_unknown_axis_of_root_loads_is_refused_by_name(tmp_path, bodies):
    femb.fem.write_reduced_body(tmp_path / "s.npz", bodies["root"])
    (tmp_path / "case.toml").write_text(
        "[bodies.hub]\nmass = 50.0\ninertia = 3.0\n"
        '[bodies.s]\nkind = "modal"\nfile = "s.npz"\nstart = { body = "hub" }\n'
    )
    words = ["modes", str(tmp_path / "case.toml"), "--held", "hub", "--out", str(tmp_path / "out"), "--root-load"]
    refused = CliRunner().invoke(cli, [*words, "q"])
    assert refused.exit_code
    assert "'q' is not one of 'x', 'y', 'z', 'rx', 'ry', 'rz'" in refused.output
    assert "root load (N, N m) of s under unit acceleration x" in CliRunner().invoke(cli, [*words, "x"]).output
