"""The item FlexibleBody: case files, placement, joints and beams on its interfaces, results and meshes."""

import json
from dataclasses import replace

import meshio
import numpy as np
import pytest
from models import of_parts, refuses
from oracles.modal_beam import BeamModel

import femb
from femb import elements as e
from femb.base.errors import FembWarning
from femb.case import load_case
from femb.elements.modal.data import ReducedBody, read_reduced_body, write_reduced_body
from femb.run.overview import implausible
from femb.small_motions.spin_watch import SpinWatch
from femb.system.system import System

CASE = """
[bodies.hub]
mass = 20.0
inertia = 2.0
position = [1, 0, 0]
angular_velocity = [0, 0, 0.5]

[bodies.panel]
kind = "modal"
file = "panel.npz"
start = { body = "hub", at = [0, 0.1, 0], direction = [0, 1, 0] }
damping_ratio = 0.01
modes = 3
nodal_displacements = true

[bodies.tip_mass]
kind = "point_mass"
mass = 0.5
on = { body = "panel.tip" }

[run]
duration = 0.2
output_interval = 0.05
"""


@pytest.fixture(scope="module")
def body():
    found = BeamModel(2.0, 4, 0.5, 1e5, 40.0, (50.0, 80.0), (2e-3, 1e-3, 1e-3)).reduced(4, tip=True)
    # a rod under tension: EA times the relative displacement by the length
    return replace(found, recovery_names=("tension",), recovery=1e5 / 2.0 * np.eye(1, found.size))


@pytest.fixture
def case(tmp_path, body):
    write_reduced_body(tmp_path / "panel.npz", body)
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    return path


@pytest.mark.parametrize("suffix", ["npz", "h5"])
def test_a_file_keeps_every_array(suffix, tmp_path, body):
    again = read_reduced_body(write_reduced_body(tmp_path / f"panel.{suffix}", body))
    for name, value in vars(body).items():
        other = getattr(again, name)
        if name == "cells":
            assert list(other) == list(value)
            np.testing.assert_array_equal(other["line"], value["line"])
        elif isinstance(value, np.ndarray):
            np.testing.assert_array_equal(other, value)
        else:
            assert other == value, name


def test_case_file_results_and_meshes(case, tmp_path):
    results = femb.simulate(load_case(case).model, load_case(case).run)
    panel, tip = results.bodies["panel"], results.bodies["panel.tip"]
    np.testing.assert_allclose(panel.position[0], [1.0, 0.1, 0.0], atol=1e-12)
    np.testing.assert_allclose(tip.position[0], [1.0, 2.1, 0.0], atol=1e-12)
    assert panel.modal_coordinates.shape == (5, 3)
    assert panel.deformation.shape == (5, 9)
    np.testing.assert_allclose(panel.nodal_displacement[:, -1], panel.deformation[:, :3], atol=1e-12)
    assert json.loads(panel.attributes["recovery_names"]) == ["tension"]
    np.testing.assert_allclose(panel.recovered[:, 0], 5e4 * panel.deformation[:, 0], atol=1e-12)
    assert panel.recovered[-1, 0] == pytest.approx(1.0 * 0.25, rel=0.7)  # about what the tip needs to turn at 0.5 rad/s
    (lines, _) = femb.export_vtu(results, tmp_path / "vtu")
    mesh = meshio.read(lines.with_name("lines_0004.vtu"))
    end = np.argmin(np.linalg.norm(mesh.points - tip.position[-1], axis=1))
    np.testing.assert_allclose(mesh.points[end], tip.position[-1], atol=1e-4)  # but for the shortening
    assert sum(len(block.data) for block in mesh.cells if block.type == "line") == 4
    assert femb.export_xdmf(results, tmp_path / "xdmf")[0].exists()


def test_its_formulations(case):
    model = load_case(case).model
    runs = {
        name: femb.simulate(model, duration=0.1, output_interval=0.05, formulation=name, rtol=1e-9)
        for name in ("velocity", "quaternion", "reduced")
    }
    a, *others = (run.bodies["panel.tip"].position for run in runs.values())
    for b in others:
        np.testing.assert_allclose(a, b, atol=1e-7)
    refuses(r"bodies\.panel", femb.simulate, model, duration=0.1, formulation="hamiltonian", method="rk")


def test_one_body_in_space_on_a_hub_and_on_a_joint_move_alike(body):
    """Alone, carried by a light hub and joined to it: the hub and the joint change nothing."""
    pulse = femb.profiles.Versine(0.2)

    def tip(*items, host):
        model = of_parts(*items, e.Load("pulse", host, torque=(0.0, 0.1, 0.3), profile=pulse))
        results = femb.simulate(model, duration=0.3, output_interval=0.1, method="radau", rtol=1e-9)
        return results.bodies["panel.tip"].position

    hub = e.RigidBody("hub", mass=1.0, inertia=0.1)
    carried = tip(hub, e.FlexibleBody("panel", body, start=e.Attachment("hub")), host="hub")
    ends = e.JointEnd("hub"), e.JointEnd("panel")
    joined = tip(hub, e.FlexibleBody("panel", body), e.Fixed("joint", *ends), host="hub")
    np.testing.assert_allclose(joined, carried, atol=1e-7)


@pytest.mark.slow
def test_a_beam_and_a_revolute_on_an_interface_keep_the_energy(body):
    model = femb.Model("chain")
    model.add(e.FlexibleBody("panel", body, damping_ratio=0.0, angular_velocity=(0.1, 0.2, 1.0)))
    model.add(e.RigidBody("flap", mass=0.3, inertia=0.02))
    model.add(e.Revolute("hinge", e.JointEnd("panel.tip", axis=(0.0, 1.0, 0.0)), e.JointEnd("flap", at=(-0.2, 0, 0))))
    section = e.Section("rod", 1e-4, (1e-9, 1e-9), 2e-9, 2800.0, 7e10, 2.6e10)
    model.add(e.Beam("rod", section, 0.5, 2, start=model.bodies["panel"].at_interface("tip", direction=(0, 0, 1.0))))
    results = femb.simulate(model, duration=0.04, method="radau", rtol=1e-9)
    audit = results.audit
    assert np.abs(audit.energy_error).max() < 1e-6 * audit.kinetic_energy[0]


@pytest.mark.slow
def test_uniform_motion_and_small_spin(body):
    """Rigid motion gives no strain; the strain of a slow spin grows with its square."""
    strains = []
    for spin in (0.01, 0.02):
        model = of_parts(e.FlexibleBody("panel", body, velocity=(1.0, 0, 0), angular_velocity=(0.0, 0.0, spin)))
        results = femb.simulate(model, duration=0.1, start="equilibrium", method="radau", rtol=1e-10)
        strains.append(np.abs(results.bodies["panel"].deformation[0]).max())
    assert strains[1] / strains[0] == pytest.approx(4.0, rel=1e-3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"modes": 9}, "modes: got 9, the file has 4"),
        ({"interfaces": {"top": {"body": "hub"}}}, "interfaces.top: is not in the file; .*'tip'"),
        ({"interfaces": {"tip": {"beam": "boom"}}}, "interfaces.tip.body: is missing: an interface is attached"),
        ({"start": e.Attachment(beam="boom")}, "start.body: is missing: the root is attached to a body"),
        ({"modes": 2, "max_frequency": 3.0}, "max_frequency"),
        ({"file": "nowhere.npz"}, r"file: nowhere\.npz: cannot be read as a reduced body"),
        ({"file": "model.op4"}, "file: model.op4: got the suffix '.op4'"),
    ],
)
def test_messages(words, message, body):
    refuses(message, e.FlexibleBody, "panel", **{"file": body, **words})


def test_a_body_that_another_carries_is_named_with_its_host(body):
    model = femb.Model("hosts")
    model.add(e.RigidBody("hub", mass=1.0, inertia=1.0))
    model.add(e.FlexibleBody("panel", body, start=e.Attachment("hub")))
    model.add(e.Load("push", "panel", force=(1.0, 0.0, 0.0)))
    refuses(r"loads\.push\.body: got 'panel', which is carried by body 'hub'", System, model)


def test_bodies_at_both_ends_must_fit(body):
    model = femb.Model("misfit")
    model.add(e.RigidBody("a", mass=1.0, inertia=1.0, position=(0.0, 0.0, 0.0)))
    model.add(e.RigidBody("b", mass=1.0, inertia=1.0, position=(3.0, 0.0, 0.0)))
    ends = {"start": e.Attachment("a"), "interfaces": {"tip": e.Attachment("b")}}
    model.add(e.FlexibleBody("link", body, **ends))
    refuses(r"bodies\.link\.interfaces\.tip: the undeformed interface is at \(2, 0, 0\)", System, model)


def test_constant_coupling_in_a_spin_warns_with_its_size():
    """A cantilever that flaps with 4.797 for 3.516 rad/s at a spin of 3 rad/s about its root: a quarter too low."""
    body = BeamModel(1.0, 8, 1.0, 1e5, 1.0, (1.0, 1.0), (2e-8, 1e-8, 1e-8)).reduced(2)
    for coupling, spin, said in (("constant", 3.0, "26."), ("constant", 0.3, ""), ("full", 3.0, "")):
        hub = e.RigidBody("hub", mass=1e3, inertia=1e3, angular_velocity=(0.0, 0.0, spin))
        model = of_parts(hub, e.FlexibleBody("boom", body, start=hub.at((0.0, 0.0, 0.0)), coupling=coupling))
        message = femb.simulate(model, duration=0.01, output_interval=0.01, method="radau").message
        assert ("first frequency is about " + said in message) == bool(said), message
        system = System(model)
        watch = SpinWatch(system)
        watch.add(system.v0[None])
        if coupling == "full":
            assert not len(watch.errors)
        elif said:
            assert watch.errors[0] == pytest.approx(1.0 - 3.51602 / 4.79728, rel=0.01)
            with pytest.warns(FembWarning, match=r"bodies.boom: its spin stiffens it, .* about 26.* too low"):
                femb.linearize(system)
            with pytest.warns(FembWarning, match=r"bodies.boom: its spin stiffens it, .* about 26.* too low"):
                femb.modes(model, 2, held="hub", start="equilibrium")
        else:
            femb.modes(model, 2, held="hub", start="equilibrium")  # any warning is an error


@pytest.mark.parametrize("order", [("tip", "middle"), ("middle", "tip")])
def test_every_named_interface_has_its_own_stiffness(order, tmp_path):
    """Two unlike interfaces, in either order, from beams to a file and to a model: deflections by forces at each."""
    length, stiffness, force = 1.6, 50.0, 0.2
    section = {"axial_stiffness": 1e6, "torsional_stiffness": 20.0, "mass_per_length": 0.3}
    boom = of_parts(
        e.RigidBody("hub", mass=1.0, inertia=1.0),
        e.Section("rod", bending_stiffness=(stiffness, stiffness), inertia_per_length=(1e-4, 5e-5, 5e-5), **section),
        e.Beam("boom", "rod", length, 4, start=e.Attachment("hub", direction=(1.0, 0.0, 0.0))),
    )
    places = {"tip": "beams.boom.-1", "middle": "beams.boom.2"}
    body = femb.fem.reduce_beams(boom, "hub", {name: places[name] for name in order}, 0).body
    assert body.interface_names == ("hub", *order)
    write_reduced_body(tmp_path / "boom.npz", body)
    arms = {"tip": length, "middle": length / 2.0}
    for pushed in order:
        model = femb.Model("held")
        model.add(e.FlexibleBody("boom", str(tmp_path / "boom.npz"), start=e.Attachment("ground")))
        model.add(e.Load("push", f"boom.{pushed}", force=(0.0, force, 0.0)))
        found = femb.static(model)
        for name, x in arms.items():
            # Euler and Bernoulli: of the force at a, (a x^2/2 - x^3/6)/EI up to a, and straight beyond
            a = arms[pushed]
            near = min(a, x)
            wanted = force / stiffness * (a * near**2 / 2.0 - near**3 / 6.0 + (x - near) * (a * near - near**2 / 2.0))
            position = found.bodies[f"boom.{name}"].position[-1]
            assert position == pytest.approx([x, wanted, 0.0], abs=2e-4 * wanted + 2.0 * wanted**2), (pushed, name)


def test_a_body_of_other_units_is_implausible(body):
    """0.9 g and 1.1 km, a file in tonnes and millimetres."""
    inertia = 9e-4 * 1.1e3**2 / 3.0 * np.diag([1e-6, 1.0, 1.0])
    rest = {"first_moment": np.zeros(3), "S1": np.zeros((1, 3)), "C0": np.zeros((1, 3)), "M": [[1.0]], "K": [[1e2]]}
    odd = ReducedBody(np.zeros((1, 3)), np.eye(3)[None], ("root",), mass=9e-4, inertia=inertia, **rest)
    model = of_parts(e.FlexibleBody("panel", odd))
    assert any("bodies.panel.file:" in line and "check the units" in line for line in implausible(model))
    model = of_parts(e.FlexibleBody("panel", body))
    assert not implausible(model)
