"""Cases of shells: panels, tapes, plates and dishes do what their pages say."""

from functools import cache

import numpy as np
import pytest
from checkout import CASES, ROOT
from oracles.page_tables import is_printed, rows_of
from shared_runs import results_of as run

import femb

PAGES = ROOT / "docs" / "cases"


@cache
def script(case, title, until=""):
    """The names of a Python block of a case's page, up to a line of it."""
    text = (PAGES / f"{case}.md").read_text().partition(f"```python title={title}\n")[2].partition("```")[0]
    names = {}
    exec(text.partition(until)[0] if until else text, names)
    return names


def compare(case, heading, columns):
    """The cells of a table of a page against the columns of the program."""
    table = rows_of(PAGES / f"{case}.md", heading)
    for (label, cells), numbers in zip(table.items(), zip(*columns, strict=True), strict=True):
        assert all(map(is_printed, cells, numbers)), (label, cells, numbers)


def test_panel_slew_has_the_modes_of_its_table(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = script("panel_slew", "comparison", "\nmodels =")
    table = list(rows_of(PAGES / "panel_slew.md", "Three models of one panel").items())[:11]
    for (label, cells), value in zip(table, names["of_modes"](names["case"].model), strict=True):
        assert is_printed(cells[0], value), (label, cells, value)


@pytest.mark.slow
def test_panel_slew_is_alike_as_shell_reduced_body_and_beams(monkeypatch):
    monkeypatch.chdir(ROOT)
    compare("panel_slew", "Three models of one panel", script("panel_slew", "comparison")["columns"].values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("elements", "printed"),
    [("[24, 8]", "2.379 3.874 11.68 12.78 32.00"), ("[36, 12]", "2.379 3.874 11.66 12.76 31.90")],
)
def test_panel_slew_on_finer_meshes(elements, printed):
    model = femb.load_case(CASES / "panel_slew.toml", [f"shells.panel.elements={elements}"]).model
    assert all(map(is_printed, printed.split(), femb.modes(model, 5, held="hub").frequencies))


# of the tape
STEEL = {"D": 193e9 * 1e-12 / 12.0 / (1.0 - (193.0 / 150.0 - 1.0) ** 2), "nu": 193.0 / 150.0 - 1.0, "h": 1e-4}


def folded(*overrides, **options):
    """The tape folded in statics: angle (rad) and moment (N m) of the fold, positive, and the results."""
    model = femb.load_case(CASES / "tape_spring.toml", list(overrides)).model
    found = femb.static(model, **options)
    return -found.joints["fold"].coordinates[:, 0], -found.drivers["fold"].force.ravel(), found


def of_length(length, elements):
    return (
        f"shells.tape.surface={{cylinder=[0.015, {length}, 1.5708]}}", f"bodies.panel.position=[{length}, 0, 0]",
        f"shells.tape.elements={elements}",
    )  # fmt: skip


def peak_of_a_long_tape(radius, opening, D, nu, h):
    """The largest moment of uniform bending against the curvature of a shallow section (Wuest, Mansfield)."""
    k, start, s = np.linspace(0.01, 5.0, 5000), -1.0 / radius, radius * opening
    x = (3.0 * (1.0 - nu**2)) ** 0.25 * s / np.sqrt(h / k)
    ends = np.sinh(x) + np.sin(x)
    one = 2.0 / x * (np.cosh(x) - np.cos(x)) / ends
    two = 0.25 * one - np.sinh(x) * np.sin(x) / ends**2
    change = start + nu * k
    return np.max(s * D * (k + nu * start - nu * change * one + change**2 / k * two))


def test_tape_spring_bends_at_first_as_a_beam():
    angle, moment, _ = folded(time=0.05, steps=1)
    ours, closed = rows_of(PAGES / "tape_spring.md", "Moment against angle")[
        "bending stiffness of the unfolded tape, N m²"
    ]
    half = 0.5 * 1.5708
    second = 0.015**3 * 1e-4 * (half + 0.5 * np.sin(2.0 * half) - 2.0 * np.sin(half) ** 2 / half)
    assert is_printed(closed, 193e9 * second)
    assert is_printed(ours, moment[-1] / angle[-1] * 0.16)


@pytest.mark.slow
def test_tape_spring_has_the_peak_of_a_long_tape():
    table = rows_of(PAGES / "tape_spring.md", "Moment against angle")
    peaks = []
    for length, elements, time in ((0.16, "[48, 6]", 0.135), (0.32, "[64, 6]", 0.16), (0.64, "[96, 6]", 0.22)):
        peaks.append(folded(*of_length(length, elements), time=time, steps=12)[1].max())
        assert is_printed(table[f"peak moment, {1e3 * length:.0f} mm long, N m"][0], peaks[-1])
    wanted = peak_of_a_long_tape(0.015, 1.5708, **STEEL)
    assert is_printed(table["peak moment, 640 mm long, N m"][1], wanted)
    assert peaks[0] > peaks[1] > peaks[2]
    assert peaks[2] == pytest.approx(wanted, rel=0.05)


@pytest.mark.slow
def test_tape_spring_snaps_to_a_fold_of_constant_moment():
    angle, moment, found = folded('drivers.fold.motion.after="-90 deg"', time=0.5, steps=40)
    table = rows_of(PAGES / "tape_spring.md", "Moment against angle")
    even = np.radians(np.linspace(40.0, 90.0, 101))
    steady = np.interp(even, angle, moment)
    ours, closed = table["moment of the fold, mean from 40 to 90 degrees, N m"]
    wanted = (1.0 + STEEL["nu"]) * STEEL["D"] * 1.5708
    assert is_printed(closed, wanted)
    assert is_printed(ours, steady.mean())
    assert steady.mean() == pytest.approx(wanted, rel=0.03)
    assert np.ptp(steady) < 0.1 * wanted
    along = np.abs(found.shells["tape"].curvature[-1, :, 0]).reshape(6, 48)[2:4]
    radius = 1.0 / along[along > 0.5 * along.max()].mean()
    assert is_printed(table["radius of the fold at 90 degrees, mm"][0], 1e3 * radius)
    assert 0.015 < radius < 1.15 * 0.015


@pytest.mark.slow
def test_tape_spring_pushes_its_panel_past_the_straight_hinge():
    results = run("tape_spring")
    angle = results.joints["grip"].coordinates[:, 0]
    assert np.abs(angle[results.time < 0.6]).max() < 1e-9
    assert np.all(np.diff(angle[results.time > 0.65]) > 0.0)
    assert np.degrees(angle[-1]) > 90.0
    # what the fold had, less what its snaps and the damping took
    audit = results.audit
    assert np.abs(audit.energy_error).max() < 0.03 * audit.potential_energy.max()
