"""What items leave a structure against the ground and in fields, and what structures then have in common."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from models import of_parts, refuses
from oracles.finite_differences import INERTIA
from oracles.rigid_motions import check_known_motions, check_structure

import femb
from femb import elements as e
from femb.elements import registry
from femb.elements.item import Item
from femb.elements.marker import Attachment, JointEnd, Place, SpringEnd
from femb.profiles import Polynomial
from femb.system.known_motions import check_said, known_motions
from femb.system.system import System

SECTION = e.Section("tube", 2e-3, (3e-4, 4e-4), 5e-4, 1.2e3, 5e3, 2e3, damping=1e-2)


def on_ground(*items, **given):
    """A body beside the ground, and items."""
    words = {"mass": 1.3, "inertia": INERTIA, "center_of_mass": (0.1, 0.2, -0.1), "position": (1.0, 2.0, 0.5)}
    return of_parts(e.RigidBody("b", **words, euler_angles=(0.3, 0.4, -0.7)), *items, **given)


def hinged(kind, *items, reverse=False, **words):
    ends = JointEnd("ground", at=(0.3, 0.1, 0.2), axis=(0.2, 0.4, 0.9)), JointEnd("b", at=(-0.2, 0.3, 0.1))
    if reverse:
        ends = JointEnd("b", at=(0.3, 0.1, 0.2), axis=(0.2, 0.4, 0.9)), JointEnd("ground", at=(-0.2, 0.3, 0.1))
    body = e.RigidBody("b", mass=1.3, inertia=INERTIA, center_of_mass=(0.1, 0.2, -0.1))
    return of_parts(body, kind("joint", *ends, **words), *items)


GROUNDED_JOINTS = {
    f"{kind.__name__}{' reversed' * reverse}": partial(hinged, kind, reverse=reverse, **words)
    for kind, words in (
        *((kind, {}) for kind in (e.Revolute, e.Spherical, e.Universal, e.Cylindrical, e.Prismatic, e.Planar)),
        *((kind, {}) for kind in (e.PointOnLine, e.PointOnPlane, e.Parallel, e.Perpendicular, e.Fixed)),
        (e.Distance, {"length": 1.4}),
        (e.Components, {"directions": [[0.3, 0.8, -0.1], [1.0, 0.0, 0.4]], "frame": "first"}),
    )
    for reverse in (False, True)
}
ANCHORED = SpringEnd(anchor=(0.4, -0.3, 0.9)), SpringEnd("b", at=(0.1, 0.2, 0.3))
FRICTION_ACROSS = e.JointFriction("k", "joint", coulomb=1.0, transition_rate=0.1, coordinate="x")
CLAMP = Attachment("ground", direction=(1.0, 0.0, 0.0))
TURNED = SpringEnd("ground"), SpringEnd("b")
AGAINST_GROUND = GROUNDED_JOINTS | {
    "in a plane": partial(hinged, e.Components, directions=[[0.3, 0.8, -0.1]]),
    "weight": lambda: on_ground(gravity=(1.0, -2.0, 9.0)),
    "spring": lambda: on_ground(e.SpringDamper("s", *ANCHORED, stiffness=30.0, damping=2.0, free_length=0.7)),
    "pull": lambda: on_ground(e.Pull("p", *ANCHORED, force=3.0)),
    "torsion": lambda: on_ground(e.TorsionSpringDamper("s", *TURNED, axis=(1.0, 2.0, 0.0), stiffness=3.0)),
    "euler": lambda: on_ground(e.EulerSpringDamper("s", *TURNED, stiffness=(3.0, 2.0, 1.0), damping=0.3)),
    "inertial force": lambda: on_ground(e.Load("f", "b", force=(1.0, 2.0, 3.0))),
    "inertial torque": lambda: on_ground(e.Load("f", "b", torque=(1.0, 2.0, 3.0))),
    "force and torque": lambda: on_ground(e.Load("f", "b", force=(1.0, 2.0, 3.0), torque=(2.0, 4.0, 6.0))),
    "damped about two axes": lambda: on_ground(e.Load("f", "b", damping=(0.1, 0.3, 0.3))),
    "euler torque": lambda: on_ground(e.Load("f", "b", torque=(1.0, 2.0, 3.0), frame="dual_euler", sequence="zxy")),
    "distance driver": lambda: on_ground(e.DistanceDriver("d", Place("ground"), Place("b"), Polynomial((2.0, 0.1)))),
    "position driver": lambda: on_ground(
        e.PositionDriver(
            "d", Place("ground"), Place("b", at=(0.1, 0.0, 0.3)), x=Polynomial((1.0,)), z=Polynomial((0.4,))
        )
    ),
    "orientation driver": lambda: on_ground(
        e.OrientationDriver("d", Place("ground"), Place("b"), first_angle=Polynomial((0.3, 0.1)))
    ),
    "joint spring": lambda: hinged(e.Cylindrical, e.JointSpringDamper("k", "joint", stiffness=3.0)),
    "joint spring along": lambda: hinged(
        e.Cylindrical, e.JointSpringDamper("k", "joint", stiffness=3.0, damping=0.2, coordinate="stroke"), reverse=True
    ),
    "joint spring reversed": lambda: hinged(
        e.Cylindrical, e.JointSpringDamper("k", "joint", stiffness=3.0), reverse=True
    ),
    "hinge spring reversed": lambda: hinged(e.Revolute, e.JointSpringDamper("k", "joint", stiffness=3.0), reverse=True),
    "joint damper": lambda: hinged(e.Revolute, e.JointSpringDamper("k", "joint", damping=3.0)),
    "joint friction": lambda: hinged(
        e.Planar, e.JointFriction("k", "joint", coulomb=1.0, transition_rate=0.1, coordinate="x")
    ),
    "joint motor": lambda: hinged(e.Cylindrical, e.JointMotor("k", "joint", force=1.0)),
    "joint driver": lambda: hinged(e.Cylindrical, e.JointDriver("k", "joint", motion=Polynomial((0.0, 0.1)))),
    "latch": lambda: hinged(e.Cylindrical, e.Latch("k", "joint", time=5.0, engaged=True)),
    "uniform field": lambda: on_ground(
        e.UniformField("u", (1e-5, 2e-5, 0.0)), e.MagneticTorquer("m", (0.0, 1.0, 1.0), "b", dipole=1e4)
    ),
    "clamped boom": lambda: of_parts(
        e.Beam("boom", SECTION, 1.0, 2, start=Attachment("ground", direction=(1.0, 0.0, 0.0)))
    ),
}


@pytest.mark.parametrize("name", AGAINST_GROUND)
def test_declared_motions_and_momenta(name):
    """At random states: residual and constraints of moved copies, and the rate of momenta."""
    system = System(AGAINST_GROUND[name](), assemble=True)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        dx, v, a = 0.2 * rng.standard_normal(system.n_v), *rng.standard_normal((2, system.n_v))
        q, t = system.q0 + system.rates(system.q0[None], dx[None])[0], 0.4
        system.normalise(q)
        q, v = system.projected(system.inputs_at(t, q, v), q, v)
        check_known_motions(system, t, q, v, a)


@pytest.mark.parametrize(("kzz", "count"), [(0.0, 4), (7.0, 3)])
def test_bearings_leave_turns_of_what_rests_about_their_centre(kzz, count):
    """Whatever stiffness acts across the axis: no force comes up, and none along them by other displacements."""
    end, axis = SpringEnd("b", at=(0.2, -0.1, 0.3)), (0.1, 0.3, 0.9)
    bearing = {"kxx": 30.0, "kyy": 10.0, "kxy": 4.0, "kyx": -3.0, "cxx": 2.0, "kzz": kzz}
    system = System(on_ground(e.Bearing("c", end, axis=axis, **bearing)), assemble=True)
    (structure,) = known_motions(system)
    assert (len(structure.motions), len(structure.at_rest.motions)) == (count - 3, count)
    still, moves = np.zeros(system.n_v), structure.moves(system, system.q0, structure.at_rest.motions)
    for matrix in map(
        system.pattern.to_csc, system.tangent(system.inputs_at(0.0, system.q0, still), system.q0, still, still)
    ):
        np.testing.assert_allclose([matrix @ moves, matrix.T @ moves], 0.0, atol=1e-13)
    if kzz:
        # turns alone are so at any size
        mask = np.ones(system.n_v, dtype=bool)
        check_structure(system, structure.at_rest, mask, 0.0, system.q0, still, still)
    (moved,) = known_motions(system, system.q0 + 1e-3 * (np.arange(system.n_q) == system.layout.frame_q[1]))
    assert len(moved.at_rest.motions) == count - 3


EXPECTED = {
    "Revolute": 1, "Spherical": 3, "Universal": 1, "Cylindrical": 2, "Prismatic": 1, "Planar": 3, "PointOnLine": 2,
    "PointOnLine reversed": 3, "PointOnPlane": 3, "Parallel": 4, "Perpendicular": 4, "Fixed": 0, "Distance": 3,
    "Components": 2, "weight": 4, "spring": 3, "torsion": 3, "inertial force": 4, "force and torque": 4, "latch": 1,
    "joint spring": 1, "joint spring reversed": 1, "hinge spring reversed": 0,
    "joint damper": 1, "joint driver": 1, "uniform field": 4, "damped about two axes": 4,
    "clamped boom": 0, "in a plane": 3, "joint friction": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_as_many_motions_are_left_as_there_are(name):
    """Declarations could leave too little, of which residuals say nothing."""
    (structure,) = known_motions(System(AGAINST_GROUND[name](), assemble=True))
    assert len(structure.motions) == EXPECTED[name]
    for twist in np.eye(6):
        assert structure.leaves(twist) == (not structure.against(twist))


def test_unlike_items_leave_what_they_have_in_common():
    """A ball joint and parallel axes leave one rotation, a spring takes it, and names say what does."""
    ends = [JointEnd(body, at=(0.0, 0.0, z), axis=(0.0, 0.0, 1.0)) for z in (0.0, 1.0) for body in ("ground", "b")]
    body = e.RigidBody("b", mass=1.0, inertia=INERTIA, position=(0.0, 0.0, 0.0))
    joints = e.Spherical("low", *ends[:2]), e.Parallel("high", *ends[2:])
    (structure,) = known_motions(System(of_parts(body, *joints)))
    np.testing.assert_allclose(np.abs(structure.motions), [[0, 0, 0, 0, 0, 1]], atol=1e-12)
    spring = e.SpringDamper("s", SpringEnd(anchor=(0.3, 0.0, 0.0)), SpringEnd("b", at=(0.0, 0.2, 0.0)), stiffness=1.0)
    (structure,) = known_motions(System(of_parts(body, *joints, spring)))
    assert len(structure.motions) == 0
    assert structure.against(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])) == ("springs.s",)


@dataclass(frozen=True, eq=False)
class Wind(e.Load):
    """A load of another author."""

    def symmetry(self, around):
        return Item.symmetry(self, around)


def test_an_item_that_declares_nothing_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [Wind])
    structures = known_motions(System(on_ground(Wind("gust", "b", force=(1.0, 0.0, 0.0)))))
    refuses(r"loads\.gust does not say which rigid motions it leaves to 'b'", check_said, structures)


def test_statics_refuse_it_where_a_motion_is_left(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [Wind])
    wind = Wind("gust", "b", force=(0.0, 0.0, 1.0))
    refuses(r"loads\.gust does not say which rigid motions it leaves to 'b'", femb.static, hinged(e.Revolute, wind))
    found = femb.static(hinged(e.Fixed, wind))
    assert not found.neutral_motions.any()


def test_a_load_that_is_zero_leaves_every_motion():
    """As one that begins later: rounding of a stiff structure is not its stiffness against a turn."""
    model = femb.Model("later")
    model.add(femb.RigidBody("hub", mass=1.0, inertia=(1.0, 2.0, 3.0)))
    later = femb.profiles.Step(1.0)
    model.add(femb.Load("go", body="hub", torque=(1.0, 0.0, 0.0), profile=later, frame="inertial"))
    system = System(model)
    (declared,) = known_motions(system)
    assert len(declared.motions) == 4
    for t, count in ((0.0, 6), (1.5, 4)):
        (now,) = known_motions(system, u=system.inputs_at(t, system.q0, system.v0))
        assert (len(now.motions), len(now.momenta)) == (count, 6 if count == 6 else len(declared.momenta))
