"""Initially curved and twisted beams, and sections given by their stiffness."""

import numpy as np
import pytest
from models import of_parts, refuses, soft_rod

from femb import Attachment, Beam, Ground, Load, Model, ModelError, Section
from femb.layout.state import State
from femb.numerics.rotations import from_axis_angle, multiply, rotate, rotation_matrix
from femb.statics.equilibrium import steady_start
from femb.system.system import System


def tip(model, beam="b"):
    system = System(model)
    q, v = steady_start(system)
    return State(system.layout, 0.0, q, v).beams[beam].nodes[-1]


def test_an_arc_is_a_circle_and_a_helix_a_helix():
    arc = Beam("b", soft_rod(), 2.0, 7, start=Attachment(direction=(1, 0, 0)), curvature=(0, 0, 1 / 1.5))
    positions, quaternions = arc.reference()
    centre = np.array([0.0, 1.5, 0.0])
    np.testing.assert_allclose(np.linalg.norm(positions - centre, axis=1), 1.5, rtol=1e-14)
    tangents = rotation_matrix(quaternions)[:, :, 0]
    np.testing.assert_allclose(np.einsum("ni,ni->n", tangents, positions - centre), 0.0, atol=1e-14)
    # equal angles between nodes, of the length over the radius
    np.testing.assert_allclose(np.arccos(tangents[-1] @ tangents[0]), 2.0 / 1.5, rtol=1e-13)
    helix = Beam("b", soft_rod(), 3.0, 5, start=Attachment(direction=(1, 0, 0)), curvature=(0.9, 0.4, -1.1))
    positions, quaternions = helix.reference()
    k = np.array([0.9, 0.4, -1.1])
    fine = Beam("b", soft_rod(), 3.0, 5000, start=Attachment(direction=(1, 0, 0)), curvature=k).reference()
    tangents = rotation_matrix(fine[1])[:, :, 0]
    by_sum = np.sum(0.5 * (tangents[1:] + tangents[:-1]), axis=0) * 3.0 / 5000
    np.testing.assert_allclose(positions[-1], by_sum, atol=1e-6)
    # every section sees the axis of the helix in the same direction
    axis = rotate(quaternions, k)
    np.testing.assert_allclose(axis, np.broadcast_to(k, axis.shape), atol=1e-13)


@pytest.mark.parametrize("curvature", [(0, 0, 0.7), (0.5, 0, 0), (0.4, -0.6, 0.3)])
@pytest.mark.parametrize("strain", ["exact", "source"])
def test_the_reference_shape_is_free_of_force_however_it_is_turned(curvature, strain):
    model = Model()
    model.add(Beam("b", soft_rod(), 2.0, 4, start=Attachment(direction=(1, 2, 3)), curvature=curvature, strain=strain))
    system = System(model)
    turn = from_axis_angle((1.0, -2.0, 0.5), 2.1)
    q = system.q0.copy()
    for k in range(len(system.layout.frames)):
        i = system.layout.frame_q[k]
        q[i : i + 3] = rotate(turn, q[i : i + 3]) + np.array([3.0, -1.0, 2.0])
        q[i + 3 : i + 7] = multiply(turn, q[i + 3 : i + 7])
    rest = np.zeros((1, system.n_v))
    for state in (system.q0, q):
        force = system.residual(np.zeros((1, 0)), state[None], rest, rest)
        # against the force of straightening the curvature by a hundredth
        assert np.max(np.abs(force)) < 1e-9 * 1e6
        assert system.energy_momentum(state[None], rest)[0, 1] < 1e-15


@pytest.mark.parametrize(("elements", "error"), [(8, 0.025), (16, 7e-4), (32, 2e-5)])
def test_forty_five_degree_bend(elements, error):
    """An exact extensible Kirchhoff rod, by collocation to 1e-10; the inner twist makes the error of order 4."""
    radius = 100.0
    model = Model()
    rod = Section("s", 1.0, (1 / 12, 1 / 12), 1 / 6, 1.0, 1e7, 0.5e7)
    clamp = Ground().at(direction=(0, 1, 0), up=(1, 0, 0))
    model.add(Beam("b", rod, radius * np.pi / 4, elements, start=clamp, curvature=(0, 0, 1 / radius)))
    model.add(Load("p", beam="b", force=(0, 0, 600.0)))
    assert np.linalg.norm(tip(model).position - (15.685355, 47.152155, 53.471755)) < error


@pytest.mark.parametrize(("elements", "gap"), [(4, 0.0176), (8, 1.4e-3), (16, 9.7e-5)])
def test_roll_up_to_a_full_circle(elements, gap):
    """ML/EI = 2 pi; the distance of the tip from the root falls with order 4 and does not depend on slenderness."""
    for slenderness in (100.0, 1000.0):
        model = Model()
        rod = soft_rod(axial_stiffness=12.0 * slenderness**2, torsional_stiffness=1.0, bending_stiffness=(1.0, 1.0))
        model.add(Beam("b", rod, 1.0, elements, start=Ground().at(direction=(1, 0, 0))))
        model.add(Load("m", beam="b", torque=(0, 0, 2 * np.pi), frame="body"))
        assert np.linalg.norm(tip(model).position) == pytest.approx(gap, rel=0.05)


def test_an_arc_straightened_by_its_end_moment():
    """The moment EI/R turned the other way takes an arc to a straight line, exactly what rolls a straight beam up."""
    model = Model()
    model.add(Beam("b", soft_rod(), 1.0, 16, start=Ground().at(direction=(1, 0, 0)), curvature=(0, 0, 0.8)))
    model.add(Load("m", beam="b", torque=(0, 0, -5.0 * 0.8), frame="body"))
    np.testing.assert_allclose(tip(model).position, (1.0, 0.0, 0.0), atol=2e-6)


def test_bending_and_twist_coupled_by_the_section():
    """A small end moment bends and twists a cantilever by the inverse of its stiffness matrix."""
    matrix = np.diag([1e6, 2.0, 3.0, 5.0])
    matrix[1, 2] = matrix[2, 1] = 0.9
    rod = soft_rod(axial_stiffness=None, torsional_stiffness=None, bending_stiffness=None, stiffness_matrix=matrix)
    model = Model()
    model.add(Beam("b", rod, 1.0, 4, start=Ground().at(direction=(1, 0, 0))))
    model.add(Load("m", beam="b", torque=(1e-5, 0.0, 0.0)))
    wanted = np.linalg.solve(matrix, (0.0, 1e-5, 0.0, 0.0))[1:]
    np.testing.assert_allclose(2.0 * tip(model).quaternion[1:], wanted, rtol=1e-6, atol=1e-11)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"axial_stiffness": None}, "axial_stiffness"),
        ({"mass_per_length": None}, "mass_per_length"),
        ({"youngs_modulus": 1e9}, "youngs_modulus"),
        ({"density": 1e3}, "density"),
        ({"stiffness_matrix": np.eye(4)}, "stiffness_matrix"),
        ({"bending_stiffness": (1.0, -1.0)}, "bending_stiffness"),
        ({"axial_stiffness": None, "torsional_stiffness": None, "bending_stiffness": None,
          "stiffness_matrix": -np.eye(4)}, "stiffness_matrix"),
    ],
)  # fmt: skip
def test_sections_said_twice_or_not_wholly_are_refused(changes, field):
    with pytest.raises(ModelError) as caught:
        soft_rod(**changes)
    assert any(problem.item == ("sections", "s", field) for problem in caught.value.problems)


def l_frame(elements, section_of_frame, angle=np.pi / 2):
    """Two legs of 1 m, the second on the end of the first and turned by ``angle`` in its plane."""
    first = Beam("first", section_of_frame, 1.0, elements, start=Ground().at(direction=(1, 0, 0)))
    along, up = (np.cos(angle), np.sin(angle), 0.0), (-np.sin(angle), np.cos(angle), 0.0)
    return of_parts(first, Beam("second", section_of_frame, 1.0, elements, start=first.at(-1, direction=along, up=up)))


def frequencies(model, count):
    system = System(model)
    mass, _, stiffness = system.matrices(np.zeros(0), system.q0, system.v0)
    dense = [system.pattern.to_csc(each).toarray() for each in (mass, stiffness)]
    values = np.linalg.eigvals(np.linalg.solve(*dense)).real
    return system, np.sqrt(np.sort(values)[:count])


def test_a_beam_on_the_end_of_a_beam_goes_on_as_one():
    """In line, two beams have the frequencies of one of twice the length: only the axial strain may jump between."""
    _, two = frequencies(l_frame(4, soft_rod(), 0.0), 6)
    model = of_parts(Beam("one", soft_rod(), 2.0, 8, start=Ground().at(direction=(1, 0, 0))))
    _, one = frequencies(model, 6)
    np.testing.assert_allclose(two, one, rtol=1e-9)


def test_the_frequencies_of_a_frame_converge_with_order_four():
    system, fine = frequencies(l_frame(16, soft_rod()), 2)
    assert system.layout.is_tree
    errors = [frequencies(l_frame(n, soft_rod()), 2)[1][0] / fine[0] - 1.0 for n in (2, 4)]
    # in-plane bending of the plane frame does not twist it
    assert 0.0 < errors[1] < 1e-4
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


def test_the_corner_of_a_frame_is_rigid():
    """A moment at the tip of an L bends both legs by ML/EI; the tip moves as beam theory says."""
    model = l_frame(2, soft_rod())
    model.add(Load("m", beam="second", torque=(0, 0, 1e-4)))
    got = tip(model, "second")
    turn = 1e-4 / 5.0
    # the tip has turned by both bends, from its start at a quarter turn
    np.testing.assert_allclose(got.quaternion[3] / got.quaternion[0], np.tan(np.pi / 4 + turn), rtol=1e-9)
    # the corner rises by half the turn; the tip moves back by the turn of the corner and its own leg's bending
    np.testing.assert_allclose(got.position, (1.0 - 1.5 * turn, 1.0 + 0.5 * turn, 0.0), atol=2e-9)


def test_a_cross_of_booms_is_a_tree_and_moves_as_one():
    model, boom = Model(), soft_rod()
    mast = model.add(
        Beam("mast", boom, 2.0, 2, start=Attachment(direction=(0, 0, 1)), angular_velocity=(0.3, 0.1, -0.2))
    )
    for k, direction in enumerate([(0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]):
        model.add(Beam(f"arm {k}", boom, 1.0, 2, start=mast.at(-1, direction=direction)))
    system = System(model)
    assert system.layout.is_tree
    # as one rigid body: the residual without acceleration is that of the rotation, and no strain changes
    momentum = system.energy_momentum(system.q0[None], system.v0[None])[0]
    assert momentum[0] > 0.0
    assert momentum[1] < 1e-20
    rates = system.rates(system.q0[None], system.v0[None])[0]
    assert not rates[system.layout.internal_q].any()


def test_beams_on_each_other_only_are_refused():
    model, boom = Model(), soft_rod()
    model.add(Beam("a", boom, 1.0, start=Attachment(beam="b", direction=(1, 0, 0))))
    model.add(Beam("b", boom, 1.0, start=Attachment(beam="a", direction=(1, 0, 0))))
    refuses("on each other only", System, model)
