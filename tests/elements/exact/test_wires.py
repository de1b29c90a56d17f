"""Wires, which tension carries: frequencies of both kinds of beams, and what the page and a check say of them."""

import checkout
import numpy as np
import pytest
from models import stiff

import femb
from femb import Attachment, Beam, ExactBeam, Model
from femb.base.options import Run
from femb.run.overview import overview

LENGTH, SPIN = 100.0, 0.5
PAGE = checkout.ROOT / "docs" / "howto" / "beams.md"


def wire(kind, elements, bending=1e-4):
    """A free wire that turns about its middle."""
    section = stiff(1e4, 1e-4, (bending, bending), 0.01, (2e-9, 1e-9, 1e-9), "wire")
    start = Attachment(at=(-0.5 * LENGTH, 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    model = Model()
    model.add(kind("wire", section, LENGTH, elements, start=start, velocity=(0.0, -0.5 * SPIN * LENGTH, 0.0),
                   angular_velocity=(0.0, 0.0, SPIN)))  # fmt: skip
    return model


def frequencies(kind, elements):
    """Modes 2 to 6 out of the plane of rotation, by its rate: those next to sqrt(n (n + 1) / 2) of a thread."""
    found = 2.0 * np.pi * femb.modes(wire(kind, elements), 30, start="equilibrium").frequencies / SPIN
    thread = [np.sqrt(n * (n + 1) / 2.0) for n in range(3, 8)]
    return np.array([found[np.argmin(np.abs(found - each))] for each in thread])


@pytest.mark.slow
def test_frequencies_of_a_spinning_wire():
    """Order 4 with exact elements and 6 with those of the default, as the table of the page says."""
    exact, page = frequencies(Beam, 72), PAGE.read_text(encoding="utf-8").splitlines()
    errors = {}
    for word, kind, elements in (("default", Beam, 24), ("exact", ExactBeam, 24), ("exact", ExactBeam, 48)):
        errors[word, elements] = np.abs(frequencies(kind, elements) / exact - 1.0)
        row = next(line for line in page if line.startswith(f"| {word}, {elements} |"))
        shown = [float(cell) for cell in row.strip("| ").split("|")[1:]]
        np.testing.assert_allclose(errors[word, elements], shown, rtol=0.15)
    orders = np.log2(errors["exact", 24] / errors["exact", 48])
    assert np.all((orders > 3.5) & (orders < 4.5))


def test_check_names_exact_beams_that_are_wires():
    (line,) = overview(wire(ExactBeam, 12), None).advice
    assert line.startswith("beams.wire: the tension of its rotation carries it")
    assert overview(wire(ExactBeam, 12), Run(duration=1.0)).advice == (line,)
    assert overview(wire(Beam, 12), None).advice == ()
    assert overview(wire(ExactBeam, 12, bending=1e3), None).advice == ()
