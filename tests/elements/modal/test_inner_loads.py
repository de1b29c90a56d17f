"""Loads inside flexible bodies and stresses of their nodes: against the whole model, closed forms and differences."""

import re

import numpy as np
import pytest
from fem.solids import ALUMINIUM, SIZE, bar, brick_mesh
from models import of_parts, refuses

import femb
from femb.base.errors import ModelError
from femb.fem.loads import force_on, heat_of, nodal_stress, pressure_on
from femb.fem.model import MeshInterface
from femb.fem.reduce import inner_loads, interfaces_of
from femb.fem.reduction import Keep, reduce_model
from femb.fem.solids import SolidMaterial, solid_model

LENGTH, WIDTH, HEIGHT = SIZE
EXPANSION = 2.3e-5
FORCE = (3.0, -2.0, 5.0)


def heated(counts=(4, 1, 1), kind="hexahedron20"):
    nodes, cells = brick_mesh(counts, kind=kind)
    used = np.unique(cells[kind])
    sets = {name: used[nodes[used, 0] == x] for name, x in (("root", 0.0), ("tip", 1.0))}
    return solid_model(nodes, cells, SolidMaterial(7e10, 0.3, 2700.0, EXPANSION), node_sets=sets)


def reduced(model, loads, modes=2, tie="root=root", others=(), **words):
    ties = interfaces_of(model, [tie, *others])
    return reduce_model(model, ties, Keep(modes), loads=inner_loads(model, loads), **words).body


def held(body, *loads, **words):
    """A flexible body whose root is on the ground."""
    return of_parts(
        femb.FlexibleBody("bar", body, start=femb.Attachment("ground"), nodal_displacements=True, **words), *loads
    )


def displaced(model, force, tie="root"):
    """(N, 3) by forces (n,) on the whole model, a node set held."""
    free = ~np.isin(model.node_of, model.node_sets[tie])
    u = np.zeros(model.size)
    K = model.stiffness.toarray()
    u[free] = np.linalg.solve(K[np.ix_(free, free)], force[free])
    moved = np.zeros((len(model.nodes), 3))
    moved[model.node_of, model.component] = u
    return moved


def test_a_static_shape_that_all_modes_contain_adds_none():
    model = heated((1, 1, 1))
    body = reduced(model, ["push=tip:3,-2,5"], modes=36)  # three of each node but those at the root
    assert len(body.frequencies()) == 36


@pytest.mark.parametrize("form", ["push=tip:3,-2,5", "gas=y=0.03:pressure", "sun=z=0.02:heat"])
def test_static_answer_is_that_of_the_whole_model(form):
    """With two modes only: the static shape of the load is kept."""
    model = heated()
    name = form.partition("=")[0]
    body = reduced(model, [form])
    found = femb.static(held(body, femb.ModalLoad(name, "bar", size=1e-3)))
    wanted = 1e-3 * displaced(model, inner_loads(model, [form])[0].force)
    assert found.bodies["bar"].nodal_displacement[-1] == pytest.approx(wanted, abs=1e-6 * np.abs(wanted).max())


def test_with_interfaces_beside_the_root_too():
    model = heated()
    body = reduced(model, ["push=x=0.5:3,-2,5"], others=["tip=tip"])
    found = femb.static(held(body, femb.ModalLoad("push", "bar", size=1e-3)))
    tied = inner_loads(model, ["push=x=0.5:3,-2,5"])[0].force
    free = model.nodes[:, 0] == 0.25  # the rigid tip matters little there
    wanted = 1e-3 * displaced(model, tied)
    gap = found.bodies["bar"].nodal_displacement[-1] - wanted
    assert np.abs(gap[free]).max() < 2e-3 * np.abs(wanted).max()


@pytest.mark.parametrize("kind", ["tetra", "tetra10", "hexahedron", "hexahedron20", "hexahedron27"])
def test_resultants_of_pressure(kind):
    model = bar((2, 1, 1), kind=kind)
    sides = {"x=1": (-WIDTH * HEIGHT, 0, 0), "y=0.03": (0, -LENGTH * HEIGHT, 0), "z=-0.02": (0, 0, LENGTH * WIDTH)}
    for plane, wanted in sides.items():
        force = pressure_on(model, "gas", inner_nodes(model, plane)).force
        whole = force @ model.rigid_motions(np.array([0.5, 0.0, 0.0]))
        assert whole[:3] == pytest.approx(wanted, abs=1e-14)
        centre = [0.5 if plane == "x=1" else 0.0, 0.0, 0.0]
        centre = np.where(np.array(wanted) != 0.0, [0.5, 0.03, -0.02], centre) if plane == "x=1" else np.zeros(3)
        assert whole[3:] == pytest.approx(np.cross(centre, wanted), abs=1e-14)
    everything = pressure_on(model, "gas", np.flatnonzero(model.dofs[:, 0] >= 0)).force
    assert everything @ model.rigid_motions(np.zeros(3)) == pytest.approx(np.zeros(6), abs=1e-14)


def inner_nodes(model, plane):
    axis, value = "xyz".index(plane[0]), float(plane[2:])
    return np.flatnonzero((np.abs(model.nodes[:, axis] - value) < 1e-12) & (model.dofs[:, 0] >= 0))


def test_wedges_take_pressure():
    nodes = np.array([[0, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, 3], [2, 0, 3], [0, 1, 3]], dtype=float)
    model = solid_model(nodes, {"wedge": np.arange(6)[None]}, ALUMINIUM)
    slanted = pressure_on(model, "gas", np.array([1, 2, 4, 5])).force
    assert slanted @ model.rigid_motions(np.zeros(3))[:, :3] == pytest.approx(-3.0 * np.array([1.0, 2.0, 0.0]))
    whole = pressure_on(model, "gas", np.arange(6)).force
    assert whole @ model.rigid_motions(np.zeros(3)) == pytest.approx(np.zeros(6), abs=1e-13)


def test_body_that_is_heated_evenly_expands_without_stress():
    """The root follows the mean motion of its nodes, so that nothing holds the body."""
    model = heated()
    body = reduced(model, ["warm=all:heat"], tie="root=root:mean", stresses=True)
    model_ = held(body, femb.ModalLoad("warm", "bar", size=40.0))
    found = femb.static(model_).bodies["bar"]
    used = model.dofs[:, 0] >= 0
    wanted = 40.0 * EXPANSION * body.nodes[used]
    assert found.nodal_displacement[-1][used] == pytest.approx(wanted, abs=1e-9)
    assert np.abs(found.nodal_stress[-1]).max() < 1e-6 * 7e10 * 40.0 * EXPANSION
    assert body.load_force == pytest.approx(np.zeros((1, 3)), abs=1e-6)
    assert body.load_torque == pytest.approx(np.zeros((1, 3)), abs=1e-6)


def test_heat_of_a_held_layer_presses():
    """A bar between two walls: in the middle the force on the wall by the area, which is near E alpha T."""
    model = heated((8, 1, 1))
    body = reduced(model, ["warm=all:heat"], others=["tip=tip"], stresses=True)
    walls = held(
        body, femb.ModalLoad("warm", "bar", size=10.0), interfaces={"tip": femb.Attachment("ground", (1, 0, 0))}
    )
    stress = femb.static(walls).bodies["bar"].nodal_stress[-1]
    middle = np.abs(model.nodes[:, 0] - 0.5) < 1e-12
    own = middle & (model.dofs[:, 0] >= 0)
    pressure = 10.0 * body.load_modal[0, 0] / (WIDTH * HEIGHT)
    assert stress[own, 0] == pytest.approx(np.full(own.sum(), -pressure), rel=1e-3)
    assert pressure == pytest.approx(7e10 * EXPANSION * 10.0, rel=0.05)


@pytest.mark.slow
def test_bending_stress_is_that_of_a_beam():
    model = bar((10, 1, 2), kind="hexahedron20")
    body = reduced(model, ["push=tip:0,0,1"], stresses=True)
    found = femb.static(held(body, femb.ModalLoad("push", "bar", size=2.0))).bodies["bar"]
    inertia = WIDTH * HEIGHT**3 / 12.0
    x, z = model.nodes[:, 0], model.nodes[:, 2]
    own = (model.dofs[:, 0] >= 0) & (np.abs(x - 0.5) < 1e-12)
    wanted = -2.0 * (LENGTH - x[own]) * z[own] / inertia
    assert found.nodal_stress[-1][own, 0] == pytest.approx(wanted, abs=2e-3 * np.abs(wanted).max())
    outer = own & (np.abs(z) > 0.019)
    assert found.nodal_von_mises[-1][outer] == pytest.approx(np.full(outer.sum(), np.abs(wanted).max()), rel=0.05)


def test_stress_of_a_linear_field_is_exact():
    model = bar((2, 1, 1), kind="tetra10")
    gradient = np.array([[1e-3, 2e-4, 0.0], [0.0, -3e-4, 5e-4], [1e-4, 0.0, 2e-4]])
    shape = (model.nodes @ gradient.T)[model.node_of, model.component]
    strain = 0.5 * (gradient + gradient.T)
    lame, shear = ALUMINIUM.lame
    wanted = lame * np.trace(strain) * np.eye(3) + 2.0 * shear * strain
    found = nodal_stress(model, shape[:, None])[0][model.dofs[:, 0] >= 0]
    assert found == pytest.approx(np.broadcast_to(wanted, found.shape), rel=1e-9, abs=1e-3)


@pytest.mark.slow
def test_free_body_obeys_the_laws_of_momentum():
    """A force on its tip moves the mass centre of a free body by the law of Newton; heat does not."""
    model = heated()
    body = reduced(model, ["push=tip:0,0,1", "warm=z=0.02:heat"])
    free = femb.Model()
    free.add(femb.FlexibleBody("bar", body, damping_ratio=0.02))
    free.add(femb.ModalLoad("push", "bar", size=0.1, profile=femb.profiles.Versine(0.01)))
    free.add(femb.ModalLoad("warm", "bar", size=5.0, profile=femb.profiles.Versine(0.01)))
    results = femb.simulate(free, duration=0.02, output_interval=0.002, method="radau", rtol=1e-8)
    momentum = results.audit["linear_momentum"]
    assert momentum[-1, 2] == pytest.approx(0.1 * 0.005, rel=1e-4)  # the force turns by a little
    assert np.abs(results.audit["energy_error"]).max() < 1e-6 * results.audit["kinetic_energy"].max()
    assert results.loads["warm"].factor.max() > 0.9


def test_damping_ratio_of_each_mode():
    body = reduced(heated(), [], modes=4)
    given = (0.01, 0.02, 0.005)
    found = femb.modes(held(body, damping_ratio=given), 4, damped=True)
    assert found.damping == pytest.approx([*given, 0.005], rel=1e-9)
    whole = reduce_model(heated(), interfaces_of(heated(), ["root=root"]), Keep(4), damping_ratio=given).body
    assert whole.damping_ratio == pytest.approx([*given, 0.005])


def test_interface_with_axes_of_its_own():
    model = heated()
    root, tip = interfaces_of(model, ["root=root/0,1,0", "tip=tip:mean@1,0,0/0,0,1/1,0,0"])
    assert isinstance(root, MeshInterface)
    assert root.axes[:, 0] == pytest.approx([0, 1, 0])
    assert tip.axes == pytest.approx(np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]).T)
    load = [force_on(model, "push", model.node_sets["tip"], FORCE)]
    plain = reduce_model(model, interfaces_of(model, ["root=root", "tip=tip:mean"]), Keep(3), loads=load)
    turned = reduce_model(model, (root, tip), Keep(3), loads=load)
    assert turned.body.frequencies()[:6] == pytest.approx(plain.body.frequencies()[:6], rel=1e-9)
    assert root.axes @ turned.body.interfaces[1] == pytest.approx(plain.body.interfaces[1])
    assert root.axes @ turned.body.load_force[0] == pytest.approx(FORCE)
    assert turned.table().startswith("1 m long, 6.48 kg\n")


def test_loads_of_a_body_reduced_further():
    model = heated()
    body = reduced(model, ["push=x=0.5:0,0,1"], others=["tip=tip"])
    turned = femb.fem.reduce_further(body, ["tip", "root"]).body
    held_ = femb.Model()
    held_.add(femb.FlexibleBody("bar", turned, start=femb.Attachment("ground"), coupling="constant"))
    held_.add(femb.ModalLoad("push", "bar", size=1e-3))
    other = held(body, femb.ModalLoad("push", "bar", size=1e-3), coupling="constant")
    ends = [femb.static(each).bodies[f"bar.{name}"] for each, name in ((held_, "root"), (other, "tip"))]
    # the bar is symmetric about the load
    assert ends[0].displacement[-1] == pytest.approx(ends[1].displacement[-1], rel=1e-5, abs=1e-12)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("push", "wanted NAME=NODES:FX,FY,FZ"),
        ("push=tip:1,2", "got the force '1,2'"),
        ("push=nowhere:1,0,0", "got the nodes 'nowhere', the model has root, tip"),
        ("gas=77:pressure", "no face of a cell has all its nodes"),
    ],
)
def test_refused_loads(form, message):
    refuses(re.escape(message), inner_loads, heated(), [form])


def test_refused_heat_without_expansion_and_names():
    refuses("heats cells without an expansion", heat_of, bar((2, 1, 1)), "warm", np.arange(9))
    body = reduced(heated((2, 1, 1)), ["push=tip:0,0,1"])
    with pytest.raises(ModelError, match=re.escape("got 'pull', which is not in the file of 'bar'; loads: 'push'")):
        femb.System(held(body, femb.ModalLoad("pull", "bar")))
    refuses("which is no flexible body", femb.System, held(body, femb.ModalLoad("push", "ground")))
