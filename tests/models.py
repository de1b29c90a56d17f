"""Models that tests of several folders share, and what their own are made of."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import femb
from femb.layout.protocols import LoadsBeams
from femb.layout.state import State
from femb.profiles import Versine
from femb.statics.equilibrium import steady_start

WORDS = ("name", "area", "second_moments", "torsion_constant", "density", "youngs_modulus", "shear_modulus")


def sections_like(*numbers: Any, **words: Any) -> Callable[..., femb.Section]:
    """A function that makes sections of these values, in the order of WORDS, with those that it is given changed."""
    given = {**dict(zip(WORDS, numbers, strict=False)), **words}
    return lambda **changes: femb.Section(**{**given, **changes})


def stiff(axial: Any, torsional: Any, bending: Any, mass: Any, inertia: Any, name: str = "s", **words: Any) -> Any:
    """A section by its stiffnesses: N, N m2 and N m2 about y and z; kg/m and kg m about x, y and z."""
    return femb.Section(
        name, axial_stiffness=axial, torsional_stiffness=torsional, bending_stiffness=bending, mass_per_length=mass,
        inertia_per_length=inertia, **words,
    )  # fmt: skip


def of_parts(*items: Any, **words: Any) -> femb.Model:
    """A model of these items."""
    model = femb.Model(**words)
    for item in items:
        model.add(item)
    return model


# An aluminium square of 50 mm.
boom = sections_like("boom", 2.5e-3, (5.2e-7, 5.2e-7), 1.04e-6, 2800.0, 7.17e10, 2.68e10)
# A tape spring of 0.2 kg/m, so thin that it waves.
tape = sections_like("tape", 1.2e-4, (1e-9, 1e-9), 2e-9, 1600.0, 1e11, 4e10)
# Of unlike stiffnesses, none of which is large.
soft_rod = sections_like(
    name="s", axial_stiffness=1e6, torsional_stiffness=2.0, bending_stiffness=(3.0, 5.0), mass_per_length=0.7,
    inertia_per_length=(3e-5, 1e-5, 2e-5),
)  # fmt: skip


def satellite(
    forced: bool = True, elements: int = 2, rates: Any = (0.1, 0.1, 0.1), share_strain: bool = False, **words: Any
) -> femb.Model:
    """The satellite with two booms: stiff, frequencies from 79 to 49000 rad/s.

    words : changes of its section.
    """
    model = femb.Model("satellite")
    hub = model.add(femb.RigidBody("hub", mass=22.4, inertia=0.149, euler_rates=rates))
    section = boom(**words)
    for name, x in (("right", 1.0), ("left", -1.0)):
        start = hub.at((0.1 * x, 0.0, 0.0), direction=(x, 0.0, 0.0))
        model.add(femb.Beam(name, section, 2.0, elements, start=start, share_strain=share_strain))
    if forced:
        model.add(femb.Load("slew", body="hub", torque=(0.0, 15.0, 0.0), frame="body", profile=Versine(1.0)))
    return model


def panel_on_hub(**latch: Any) -> femb.Model:
    """A free hub with a panel that swings on a hinge at 1 rad/s against it, and its latch."""
    model = femb.Model()
    model.add(femb.RigidBody("hub", 40.0, (3.0, 4.0, 5.0), position=(0, 0, 0), angular_velocity=(0.02, 0.01, -0.03)))
    model.add(femb.RigidBody("panel", 5.0, (0.2, 0.5, 0.6), center_of_mass=(0.5, 0, 0)))
    first, second = femb.JointEnd(body="hub", at=(0.5, 0, 0), axis=(0, 0.2, 1)), femb.JointEnd(body="panel")
    model.add(femb.Revolute("hinge", first, second, start=-0.5, rates=1.0))
    model.add(femb.Latch("lock", "hinge", **latch))
    return model


def refuses(message: str, call: Callable[..., Any], /, *arguments: Any, error: Any = femb.ModelError, **words: Any):
    """Assert that a call raises this error; its message has these words, a regular expression."""
    with pytest.raises(error, match=message):
        call(*arguments, **words)


def refusals(
    call: Callable[[Any], Any], /, *rows: tuple[Any, str], error: Any = femb.ModelError
) -> Callable[..., None]:
    """A test that a call is refused: in each row what it is given and words of the message, a regular expression."""

    @pytest.mark.parametrize(("given", "message"), rows)
    def test(given: Any, message: str) -> None:
        refuses(message, call, given, error=error)

    return test


def bent(system: Any, seed: int) -> tuple[Any, ...]:
    """A state of a system bent and turned at random: q, v, a and inputs."""
    rng = np.random.default_rng(seed)
    q = system.q0 + system.rates(system.q0[None], 0.2 * rng.standard_normal((1, system.n_v)))[0]
    system.normalise(q)
    return q, rng.standard_normal(system.n_v), rng.standard_normal(system.n_v), 1.0 + rng.random(system.n_u)


def at_rest(model: femb.Model) -> tuple[Any, Any]:
    """Nodes of beam b in equilibrium, and its section forces (e, 2, 6)."""
    system = femb.System(model)
    q, v = steady_start(system)
    u = system.inputs_at(0.0, q, v)
    forces = system.batches[0].section_forces(q[None], v[None], 0.0 * v[None])
    for batch in system.batches:
        if isinstance(batch, LoadsBeams):
            batch.add_section_forces(system.batches[0], u[None], q[None], v[None], forces)
    return State(system.layout, 0.0, q, v).beams["b"].nodes, forces[0]


def order_of(counts: Any, errors: Any) -> Any:
    """Order of errors (n,) or (n, k) over the numbers of steps or elements: the slope in logarithms."""
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


def steps_to(stepper: Any, end: float) -> list[Any]:
    """The steps of a stepper until ``end``, s."""
    steps = []
    while stepper.t < end:
        steps.append(stepper.step(end))
    return steps


# A slender rod of unit mass and bending stiffness, and a boom of it of 1 m, for closed forms of modes.
slender = sections_like(
    name="slender", axial_stiffness=1e6, torsional_stiffness=1.0, bending_stiffness=[1.0, 4.0], mass_per_length=1.0,
    inertia_per_length=[2e-9, 1e-9, 1e-9],
)  # fmt: skip


def hub(**words: Any) -> femb.RigidBody:
    """A body of 5 kg; words : changes."""
    return femb.RigidBody("hub", **{"mass": 5.0, "inertia": (1.0, 1.0, 1.0), **words})


def thin_panel(**words: Any) -> femb.Model:
    """A hub with a panel of 10 mm of aluminium, 6 m long; its fastest vibration is a million times its first."""
    corners = [[0.1, -0.15, 0.0], [6.1, -0.15, 0.0], [6.1, 0.15, 0.0], [0.1, 0.15, 0.0]]
    panel = {"thickness": 0.01, "material": femb.Material(7e10, 2.7e10, 2700.0), "damping": 1e-4, **words}
    return of_parts(hub(), femb.Shell("panel", (2, 1), corners=corners, frame="hub", attach={"edge4": "hub"}, **panel))


def slender_boom(elements: int = 8, root: str = "hub", **words: Any) -> femb.Beam:
    """words : changes of its section."""
    start = femb.Attachment(root, direction=(1.0, 0.0, 0.0))
    return femb.Beam("boom", slender(**words), length=1.0, elements=elements, start=start)


# Hz, of the winged satellite when it is free, docs/theory/modes.md, section 3.
FREE = (0.273332, 0.537837, 1.571001, 1.752398, 1.904971, 3.304710, 4.699572, 4.747181, 7.161704, 7.534037)


def winged_satellite(free_hinge: bool = False) -> femb.Model:
    """The reference satellite of docs/theory/modes.md, section 3."""
    model = of_parts(femb.RigidBody("hub", mass=500.0, inertia=(180.0, 150.0, 200.0)))
    yoke = femb.Section("yoke", 1.5e-4, [3e-7, 3e-7], 6e-7, 3000.0, 7e10, 2.7e10)
    inertia = 8.0 / 12.0 * np.array([1.5**2, 2.0**2, 1.5**2 + 2.0**2])
    for wing, side in (("left", -1.0), ("right", 1.0)):
        root = femb.Attachment("hub", at=(0.0, 0.6 * side, 0.0), direction=(0.0, side, 0.0), up=(0.0, 0.0, 1.0))
        model.add(femb.Beam(f"{wing} yoke", yoke, length=1.0, elements=8, start=root))
        inner = femb.JointEnd(beam=f"{wing} yoke", node=-1, axis=(0.0, 0.0, side))
        for k in range(3):
            panel = f"{wing} panel {k}"
            model.add(femb.RigidBody(panel, mass=8.0, inertia=inertia, position=(0.0, side * (2.35 + 1.5 * k), 0.0)))
            outer = femb.JointEnd(panel, at=(0.0, -0.75 * side, 0.0), axis=(1.0, 0.0, 0.0))
            model.add(femb.Revolute(f"{wing} hinge {k}", inner, outer))
            if not (free_hinge and wing == "left" and k == 2):
                model.add(femb.JointSpringDamper(f"{wing} spring {k}", f"{wing} hinge {k}", stiffness=600.0))
            inner = femb.JointEnd(panel, at=(0.0, 0.75 * side, 0.0), axis=(1.0, 0.0, 0.0))
    return model


def beads():
    """A point mass on ball joints, which leave it no freedom of its own, with a body hung on it; and a free one."""
    model = femb.Model("beads", gravity=(0.3, 0, -9.81))
    model.add(femb.RigidBody("arm", mass=2.0, inertia=(0.3, 0.4, 0.1)))
    model.add(femb.PointMass("bead", 0.5))
    model.add(femb.RigidBody("bob", mass=1.0, inertia=(0.02, 0.03, 0.01), center_of_mass=(0, 0.1, -0.3)))
    model.add(femb.PointMass("free", 0.5, position=(3.0, 0.0, 0.0)))
    model.add(femb.Revolute("hinge", femb.JointEnd("ground", axis=(0, 1, 0)), femb.JointEnd("arm"), rates=2.0))
    model.add(femb.Spherical("one", femb.JointEnd("bead"), femb.JointEnd("arm", at=(0.3, 0.1, 0.2))))
    model.add(femb.Spherical("two", femb.JointEnd("bead"), femb.JointEnd("bob")))
    return model
