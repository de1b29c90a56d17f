"""The axial force jumps where something is on a beam: every such node has a strain of its own on each side."""

from itertools import pairwise

import numpy as np
import pytest
from models import of_parts, stiff
from scipy.optimize import brentq

from femb import Beam, Ground, Load, PointMass, SpringDamper
from femb.elements import JointEnd, Spherical
from femb.elements.beam.batch import BeamBatch
from femb.statics.equilibrium import steady_start
from femb.system.system import System

EA, RHO_A, LENGTH = 5e4, 0.7, 2.0


def bar(*items, elements=4, share=False):
    """A bar along x, clamped at its start, with items."""
    section = stiff(EA, 2.0, (3.0, 5.0), RHO_A, (3e-5, 1e-5, 2e-5))
    return of_parts(
        Beam("b", section, LENGTH, elements, start=Ground().at(direction=(1, 0, 0)), share_strain=share), *items
    )


def at_rest(model):
    """q and the axial section forces (e, 2) of the equilibrium."""
    system = System(model)
    q, v = steady_start(system)
    beams = next(batch for batch in system.batches if isinstance(batch, BeamBatch))
    return system, q, beams.section_forces(q[None], v[None], 0.0 * v[None])[0, :, :, 0]


def test_load_in_the_middle_of_a_bar():
    """F in the first half, nothing in the second, the middle moved by F a / EA: exact, with the fewest elements."""
    for elements in (2, 6):
        load = Load("f", beam="b", node=elements // 2, force=(300.0, 0, 0))
        system, q, force = at_rest(bar(load, elements=elements))
        half = elements // 2
        np.testing.assert_allclose(force[:half], 300.0, rtol=1e-11)
        np.testing.assert_allclose(force[half:], 0.0, atol=1e-9)
        where = system.layout.beams["b"]
        strains = q[system.layout.internal_q[where.internal["strain"]]]
        np.testing.assert_allclose(strains[:half], 300.0 / EA, rtol=1e-11)
        np.testing.assert_allclose(strains[half:], 0.0, atol=1e-14)
        place = system.layout.frame_q[where.stations[-1].frame]
        np.testing.assert_allclose(q[place], LENGTH + 300.0 * 0.5 * LENGTH / EA, rtol=1e-13)


def test_the_thesis_shares_the_strain():
    """One strain for both sides cannot jump: it is the mean, and the ends are strained too little and too much."""
    load = Load("f", beam="b", node=1, force=(300.0, 0, 0))
    system, q, _ = at_rest(bar(load, elements=2, share=True))
    assert len(system.layout.internal_q) == 3
    strains = q[system.layout.internal_q[system.layout.beams["b"].internal["strain"]]]
    np.testing.assert_allclose(strains[:, ::-1].ravel()[[0, 3]], 0.5 * 300.0 / EA, rtol=1e-9)
    assert abs(strains[1, 1]) > 0.1 * 300.0 / EA


def axial_frequencies(model, count):
    system = System(model)
    mass, _, stiffness = system.matrices(np.zeros(system.n_u), system.q0, system.v0)
    dense = [system.pattern.to_csc(each).toarray() for each in (mass, stiffness)]
    where = system.layout.beams["b"]
    along = [system.layout.frame_v[s.frame] for s in where.stations[1:]] + list(np.unique(system.layout.internal_v))
    M, K = (each[np.ix_(along, along)] for each in dense)
    return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)[:count])


def exact_frequencies(mass, count):
    """Of a clamped and free bar with a mass in its middle: EA k (cot(ka) - tan(ka)) = m omega^2, a half the length."""
    speed, a = np.sqrt(EA / RHO_A), 0.5 * LENGTH
    # multiplied with sin(ka) cos(ka), which leaves it without poles
    equation = lambda k: EA * np.cos(2 * k * a) - 0.5 * mass * k * speed**2 * np.sin(2 * k * a)  # noqa: E731
    grid = np.linspace(1e-6, 10.0, 2001)
    found = [brentq(equation, x, y) for x, y in pairwise(grid) if equation(x) * equation(y) < 0.0]
    return speed * np.array(found[:count])


def test_axial_frequencies_with_a_mass_in_the_middle():
    exact = exact_frequencies(2.0, 2)
    own = axial_frequencies(bar(PointMass("m", mass=2.0, on=Beam.node(_beam(), 2))), 2)
    np.testing.assert_allclose(own, exact, rtol=1e-4)
    shared = axial_frequencies(bar(PointMass("m", mass=2.0, on=Beam.node(_beam(), 2)), share=True), 2)
    assert shared[0] / exact[0] - 1.0 > 100.0 * abs(own[0] / exact[0] - 1.0)


def test_the_error_of_the_frequency_falls_with_the_order_of_cubics():
    exact = exact_frequencies(2.0, 1)[0]
    errors = [
        axial_frequencies(bar(PointMass("m", mass=2.0, on=Beam.node(_beam(), n // 2)), elements=n), 1)[0] / exact - 1.0
        for n in (2, 4)
    ]
    assert errors[0] > 0.0
    assert np.log2(errors[0] / errors[1]) > 5.0


def _beam():
    return bar().beams["b"]


@pytest.mark.parametrize(
    ("item", "jumps"),
    [
        (Load("f", beam="b", node=1, force=(1, 0, 0)), 1),
        (Load("f", beam="b", node=-2, force=(1, 0, 0)), 1),
        (Load("f", beam="b", node=0, force=(1, 0, 0)), 0),
        (Load("f", beam="b", node=-1, force=(1, 0, 0)), 0),
        (Spherical("j", first=JointEnd(beam="b", node=2), second=JointEnd(body="ground", at=(1.0, 0, 0))), 1),
        (SpringDamper("k", start=_beam().node(2), end=Ground().at((5, 0, 0)),
                      stiffness=1.0), 1),
        (Beam("c", stiff(1.0, 2.0, (3.0, 5.0), RHO_A, (3e-5, 1e-5, 2e-5), "t"), 1.0,
              start=_beam().at(2, direction=(0, 1, 0))), 3),
    ],
)  # fmt: skip
def test_what_splits_a_strain(item, jumps):
    """What is on an inner node, a joint too; the second beam has two strains of its own."""
    alone, together = (len(System(bar(*items)).layout.internal_q) for items in ((), (item,)))
    assert together - alone == jumps
