"""The best run within limits: mass properties as outputs, and the lightest tube in closed form."""

from dataclasses import replace

import numpy as np
import pytest
from models import refusals, refuses
from scipy.optimize import brentq

import femb
from femb import ModelError, ResultError, Study, Sweep, optimize, sweep
from femb.pictures.study import STUDY_FIGURES
from femb.reporting.page import study_of
from femb.study.json_schema import schema as written

E, RHO, LENGTH, WALL, FORCE = 1.2e11, 1600.0, 4.0, 1e-3, 10.0
RADII = [0.02, 0.03, 0.025, 0.05, 0.04]


def tube(radius, wall=WALL, force=(0.0, 0.0, FORCE)):
    model = femb.Model("tube")
    section = femb.Section("tube", shape={"tube": [radius, wall]}, youngs_modulus=E, shear_modulus=2e10, density=RHO)
    model.add(femb.Beam("boom", section, LENGTH, 2, start=femb.Attachment("ground", direction=(1, 0, 0))))
    model.add(femb.Load("tip", beam="boom", force=force))
    return model


OUTPUTS = {
    "mass": {"kind": "mass"},
    "deflection": {"kind": "final", "of": "beams.boom.-1.deflection.z", "analysis": "static"},
}


def lightest(limit=0.03, **words):
    given = {"constraints": {"deflection": {"largest": limit}}, "best": "least mass", "title": "Tubes"} | words
    return Study(tube, {"radius": {"values": RADII}}, OUTPUTS, **given)


@pytest.fixture(scope="module")
def table():
    return sweep(lightest())


def test_the_lightest_tube_below_its_deflection(table):
    r = np.array(RADII)
    area, second = np.pi * (r**2 - (r - WALL) ** 2), 0.25 * np.pi * (r**4 - (r - WALL) ** 4)
    mass, deflection = RHO * area * LENGTH, FORCE * LENGTH**3 / (3.0 * E * second)
    np.testing.assert_allclose(table["mass"], mass, rtol=1e-12)
    np.testing.assert_allclose(table["deflection"], deflection, rtol=2e-3)  # of large rotations
    assert table.feasible.tolist() == (deflection < 0.03).tolist() == [False, True, False, True, True]
    assert table.best == 1
    np.testing.assert_allclose(table.excess[0], table["deflection"][0] / 0.03 - 1.0, rtol=1e-12)
    text = table.summary()
    assert "3 runs of 5 within the limits: deflection at most 0.03" in text
    assert "best, least mass: run 1, radius = 0.03: mass 1.18627 kg" in text


def test_it_is_named_in_tables_figures_and_reports(table, tmp_path):
    table.write(tmp_path / "sweep.h5")
    again = Sweep.read(tmp_path / "sweep.h5")
    assert (again.best, again.limits, again.summary()) == (1, table.limits, table.summary())
    assert table.write_csv(tmp_path / "sweep.csv").read_text().splitlines()[0].endswith(",feasible,status,message")
    for draw in (STUDY_FIGURES["scatter"], STUDY_FIGURES["curves"]):
        for axes, name in zip(draw(table.results()).axes, OUTPUTS, strict=True):
            (star,) = (line for line in axes.lines if line.get_marker() == "*")
            np.testing.assert_allclose(star.get_xydata(), [[0.03, table[name][1]]])
            limits = [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"]
            assert limits == ([0.03] if name == "deflection" else [])
    assert study_of(table.results())["judged"] == table.judged()


def test_where_no_run_keeps_the_limits_the_nearest_is_named():
    found = sweep(lightest(1e-3))
    assert found.best is None
    assert not found.feasible.any()
    assert "nearest to the limits: run 3, radius = 0.05" in found.summary()


def test_runs_without_a_value_are_not_the_best():
    nan = float("nan")
    outputs = {"mass": np.array([1.0, nan, 3.0, 2.0]), "x": np.array([nan, 0.0, 0.0, 0.0])}
    failed = np.array([False, True, False, False])
    found = Sweep({"v": [1, 2, 3, 4]}, outputs, failed, [""] * 4, limits={"x": (None, 1.0)}, wanted="least mass")
    assert (found.best, found.feasible.tolist()) == (3, [False, False, True, True])


def test_a_limit_holds_to_the_accuracy_of_outputs():
    """To 1e-6 of itself, of zero to 1e-6; what is a little further beyond is not the best."""
    values = np.array([40.0 * (1.0 - 1.5e-8), 40.0 * (1.0 - 2e-6), 50.0])
    words = {"failed": np.zeros(3, bool), "messages": [""] * 3, "wanted": "least m"}
    for limit, shift in ((40.0, 0.0), (0.0, 40.0)):
        x = (values - shift) / (40.0 if shift else 1.0)
        found = Sweep({"v": [1, 2, 3]}, {"m": np.array([2.0, 1.0, 3.0]), "x": x}, limits={"x": (limit, None)}, **words)
        assert (found.best, found.feasible.tolist()) == (0, [True, False, True])
        np.testing.assert_allclose(found.excess, [0.0, 2e-6, 0.0], rtol=1e-6)
        inside = {"m": np.array([2.0, 1.0, 2.0 + 1e-8]), "x": x}  # as good, and not beyond
        assert Sweep({"v": [1, 2, 3]}, inside, limits={"x": (limit, None)}, **words).best == 2


def body(mass):
    model = femb.Model("two")
    model.add(femb.RigidBody("hub", mass, (1.0, 2.0, 3.0), position=(0.0, 0.0, 1.0)))
    model.add(femb.PointMass("tip", 1.0, position=(2.0, 1.0, 1.0)))
    return model


def test_mass_properties_are_those_of_the_model():
    words = {"center": ("center_of_mass", "x"), "xx": ("inertia", "xx"), "xy": ("inertia", "xy")}
    outputs = {name: {"kind": kind, "component": axis} for name, (kind, axis) in words.items()}
    found = sweep(Study(body, {"mass": {"values": [3.0]}}, {"all": {"kind": "mass"}, **outputs}))
    assert found["all"] == pytest.approx(4.0)
    reduced = 3.0 / 4.0  # kg, of both masses
    assert found["center"] == pytest.approx(0.5)
    assert found["xx"] == pytest.approx(1.0 + reduced * 1.0)
    assert found["xy"] == pytest.approx(-reduced * 2.0)
    assert found.units == {"all": "kg", "center": "m", "xx": "kg m2", "xy": "kg m2"}


test_what_is_refused = refusals(
    lambda words: lightest(**words),
    ({"constraints": {"tip": {"largest": 1.0}}}, r"constraints.tip: there is no output of this name; there are: m"),
    ({"constraints": {"mass": {}}}, r"constraints.mass.largest: is missing; a constraint has least, largest or bo"),
    ({"constraints": {"mass": {"least": 2.0, "largest": 1.0}}}, r"largest: got 1.0, must be at least least = 2"),
    ({"constraints": {"mass": {"most": 2.0}}}, r"constraints.mass.most: unknown key"),
    ({"constraints": 3}, r"constraints: got 3, wanted tables"),
    ({"best": "light mass"}, r"best: got 'light mass', wanted one of: least mass, largest mass, least deflection"),
    ({"best": "least area"}, r"best: got 'least area', wanted one of"),
)


def test_limits_take_texts_with_the_unit_of_their_output():
    """8 mm of a deflection, 600 rpm of a frequency, half a radian of a phase margin and 20 ms of an instant; of a
    coordinate that may be an angle or a stroke either unit, until the model tells."""
    outputs = {
        "bends": {"kind": "final", "of": "beams.b.-1.deflection.z"},
        "f": {"kind": "natural_frequency"},
        "phase": {"kind": "phase_margin"},
        "settled": {"kind": "settling_time", "of": "joints.j.angle", "tolerance": 0.1},
        "turn": {"kind": "peak", "of": "drivers.d.value"},
    }
    texts = {"bends": "8 mm", "f": "600 rpm", "phase": "0.5 rad", "settled": "20 ms"}

    def limited(limits):
        return femb.Study("case.toml", {"v": {"key": "bodies.a.mass", "values": [1.0]}}, outputs, constraints=limits)

    study = limited({name: {"largest": text} for name, text in texts.items()})
    found = [study.constraints[name].largest for name in texts]
    np.testing.assert_allclose(found, [0.008, 10.0, np.degrees(0.5), 0.02], rtol=1e-15)
    with pytest.raises(femb.ModelError, match=r"constraints.bends.largest: got '8 s', wanted a number in m, or a text"):
        limited({"bends": {"largest": "8 s"}})
    assert limited({"turn": {"least": "8 deg"}}).constraints["turn"].least == pytest.approx(np.radians(8.0))
    with pytest.raises(femb.ModelError, match=r"turn.least: got '8 s', wanted a number in"):
        limited({"turn": {"least": "8 s"}})


def test_the_schema_knows_limits():
    import jsonschema

    schema = written()
    variables, outputs = {"v": {"key": "a", "values": [1]}}, {"m": {"kind": "mass"}}
    study = {"case": "c.toml", "best": "least m", "variables": variables, "outputs": outputs}
    jsonschema.validate(study | {"constraints": {"m": {"least": 1.0, "largest": "2 t"}}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(study | {"constraints": {"m": {"lest": 1.0}}}, schema)


# Optimisation


def lightest_of_two(**words):
    """Radius and wall: the thinnest wall, and the least radius that bends little enough."""
    variables = {
        "radius": {"kind": "uniform", "low": 0.01, "high": 0.06},
        "wall": {"kind": "range", "first": 5e-4, "last": 2e-3, "count": 4},
    }
    return Study(
        tube, variables, OUTPUTS, constraints={"deflection": {"largest": 0.03}}, best="least mass", design="optimize",
        **words,
    )  # fmt: skip


@pytest.mark.slow
def test_a_search_finds_the_lightest_tube():
    found = optimize(lightest_of_two(runs=130))
    second = FORCE * LENGTH**3 / (3.0 * E * 0.03)
    radius = brentq(lambda r: 0.25 * np.pi * (r**4 - (r - 5e-4) ** 4) - second, 0.01, 0.06)
    assert found.best is not None
    assert found["wall"][found.best] == 5e-4
    assert found["radius"][found.best] == pytest.approx(radius, rel=1e-3)  # of large rotations
    assert found.feasible[found.best]
    assert len(found) <= 130
    assert len(set(zip(*found.variables.values(), strict=True))) >= len(found) - 1  # once more, with its gradient
    (axes,) = STUDY_FIGURES["search"](found.results()).axes
    (so_far,) = (line for line in axes.lines if line.get_label() == "best so far")
    assert so_far.get_ydata()[-1] == found["mass"][found.best]
    assert np.all(np.diff(so_far.get_ydata()) <= 0.0)


@pytest.mark.slow
def test_a_search_goes_on_where_it_was(tmp_path):
    """Stopped in its second generation: the finished runs are not repeated, and the table is the same."""
    study = lightest_of_two(runs=20, optimizer="differential-evolution")
    whole, done = sweep(study), []

    def stop(finished, failed, total):
        assert total == 20
        done.append(finished)
        if finished == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimize(study, out=tmp_path, progress=stop)
    with pytest.raises(ResultError, match="has 12 runs of another study, with other aim"):
        optimize(replace(study, constraints={"deflection": {"largest": 0.02}}), out=tmp_path)
    again = optimize(study, out=tmp_path, progress=lambda *counts: done.append(counts[0]))
    assert done[:14] == [*range(13), 12]
    assert again.columns() == whole.columns()
    assert Sweep.read(tmp_path / "sweep.h5").summary() == whole.summary()


# The worst


def test_the_worst_of_bounds_is_sought_from_corners_and_inside_of_them():
    """The first frequency of a pendulum with a spring is least in the middle of one range, at the end of the other."""

    def swing(mass=3.0, arm=0.1):
        model = femb.Model()
        model.add(femb.RigidBody("bob", mass, (0.2, 0.1 + (arm - 0.15) ** 2, 0.2)))
        ends = (femb.JointEnd("ground", axis=(0, 1, 0)), femb.JointEnd("bob", at=(0, 0, 0.5), axis=(0, 1, 0)))
        model.add(femb.Revolute("hinge", *ends))
        model.add(femb.JointSpringDamper("spring", "hinge", stiffness=5.0))
        return model

    variables = {
        "mass": {"kind": "uniform", "low": 2.0, "high": 4.0},
        "arm": {"kind": "uniform", "low": 0.0, "high": 0.4},
    }
    words = {"design": "worst", "outputs": {"first": {"kind": "natural_frequency"}}, "seed": 3}
    study = Study(swing, variables, best="least first", **words)
    found, again = sweep(study), sweep(study)
    assert found.columns() == again.columns()
    assert found["first"][-1] == np.max(found["first"])
    assert found["first"][-1] >= np.max(found["first"][:5])  # of the middle and the corners
    assert found["mass"][-1] == pytest.approx(2.0, rel=1e-6)
    assert found["arm"][-1] == pytest.approx(0.15, abs=1e-3)
    assert found["first"][-1] == pytest.approx(np.sqrt(5.0 / (0.1 + 2.0 * 0.25)) / (2.0 * np.pi), rel=1e-6)
    refuses("best: is missing", Study, swing, variables, **words)
    values = {"mass": {"values": [2.0, 3.0]}}
    refuses("wanted uniform", Study, swing, values, best="least first", **words)


# By gradients


def slender(**words):
    """The tube of docs/theory under a load so small that its deflection is linear; the limit is as small."""
    small = 1e-4

    bounds = {"radius": (0.005, 0.06), "wall": (6e-4, 5e-3)}
    variables = {name: {"kind": "uniform", "low": low, "high": high} for name, (low, high) in bounds.items()}
    given = {"constraints": {"deflection": {"largest": 0.03 * small}}, "best": "least mass", "runs": 60} | words
    return Study(light, variables, OUTPUTS, design="optimize", **given)


def light(radius=0.03, wall=0.002):
    model = femb.Model("tube")
    section = femb.Section("tube", shape={"tube": [radius, wall]}, youngs_modulus=E, shear_modulus=2e10, density=RHO)
    model.add(femb.Beam("boom", section, LENGTH, 1, start=femb.Attachment("ground", direction=(1, 0, 0))))
    model.add(femb.Load("tip", beam="boom", force=(0.0, 0.0, 1e-4 * FORCE)))
    return model


# Radius, mass, and the derivatives of the mass by the limit and the least wall, of the closed form F L^3/(3 E I).
RADIUS, LIGHTEST, BY_LIMIT, BY_WALL = 0.031860118008841, 0.76146458790145, -8.46122729, 845.969835


def is_lightest(found):
    k = found.best
    np.testing.assert_allclose([found["radius"][k], found["mass"][k]], [RADIUS, LIGHTEST], rtol=1e-7)
    assert found["wall"][k] == pytest.approx(6e-4, rel=1e-12)
    slopes = [1e-4 * found.multipliers["deflection largest"], found.multipliers["wall low"]]
    np.testing.assert_allclose(slopes, [BY_LIMIT, BY_WALL], rtol=1e-5)


@pytest.mark.slow
def test_gradients_find_the_lightest_tube_and_its_multipliers():
    found = sweep(slender())
    is_lightest(found)
    assert len(found) <= 8
    assert "search by slsqp from 1 start" in "\n".join(found.judged())
    assert "mass by the limit deflection largest: -84612." in "\n".join(found.judged())


@pytest.mark.slow
def test_four_starts_end_at_one_optimum_within_twenty_runs_each(tmp_path):
    """Interrupted and continued, the table is the same, and no run is repeated."""
    study, done = slender(starts=4), []
    whole = sweep(study)
    is_lightest(whole)
    assert len(whole) <= 4 * 8
    assert "optimum 1" in whole.notes[1]
    assert whole.notes[1].endswith("from start 1, 2, 3, 4")

    def stop(finished, failed, total):
        done.append(finished)
        if finished == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        sweep(study, out=tmp_path, progress=stop)
    assert "best, least mass: run" in caught.value.__notes__[0]
    again = sweep(study, out=tmp_path, progress=lambda *counts: done.append(counts[0]))
    assert done[:9] == [*range(7), 6, 7]
    assert again.columns() == whole.columns()
    assert again.multipliers == whole.multipliers
    assert Sweep.read(tmp_path / "sweep.h5").judged() == whole.judged()
    calls = []
    assert sweep(study, out=tmp_path, progress=lambda *counts: calls.append(counts)).columns() == whole.columns()


@pytest.mark.slow
@pytest.mark.parametrize(("optimizer", "precision", "most"), [("trust-constr", 1e-5, 60), ("mma", 1e-7, 20)])
def test_other_searches_find_it_too(optimizer, precision, most):
    found = sweep(slender(optimizer=optimizer))
    np.testing.assert_allclose(found["mass"][found.best], LIGHTEST, rtol=precision)
    assert len(found) <= most


def hinged(stiffness=50.0, mass=2.0, spin=0.1):
    if stiffness > 90.0:
        raise ModelError("stiffness: too stiff for this test")
    model = femb.Model("mass on a spring")
    model.add(femb.RigidBody("mass", mass=mass, inertia=1.0 + spin**2, position=(1.0, 0, 0)))
    model.add(femb.Prismatic("rail", femb.JointEnd("ground", axis=(1, 0, 0)), femb.JointEnd("mass")))
    start, end = femb.SpringEnd(anchor=(-1, 0, 0)), femb.SpringEnd(body="mass")
    model.add(femb.SpringDamper("spring", start, end, stiffness=stiffness, free_length=2.0))
    return model


def test_a_failed_run_halves_the_step_and_a_limit_of_frequency_holds():
    """The least stiffness with f at least 1 Hz is m (2 pi)^2; the search starts at a run that works beside failures."""
    study = Study(
        hinged, {"stiffness": {"kind": "uniform", "low": 5.0, "high": 200.0}}, {
            "frequency": {"kind": "natural_frequency"}, "mass": {"kind": "mass"}
        }, constraints={"mass": {"least": 1.0}}, best="largest frequency", design="optimize", runs=30,
    )  # fmt: skip
    found = sweep(study)
    assert found.failed.any()
    assert 85.0 < found["stiffness"][found.best] <= 90.0


def test_the_least_mass_below_a_frequency_and_its_multipliers_are_in_closed_form():
    """m = k/(2 pi f)^2 of the least k; the search starts from the case, in ranges with logarithms and without."""
    bounds = {"stiffness": (40.0, 85.0), "mass": (1.4, 2.5), "spin": (-0.5, 1.0)}
    study = Study(
        hinged, {name: {"kind": "uniform", "low": low, "high": high} for name, (low, high) in bounds.items()},
        {"frequency": {"kind": "natural_frequency"}, "m": {"kind": "mass"}},
        constraints={"frequency": {"largest": 0.8}}, best="least m", design="optimize", runs=12,
    )  # fmt: skip
    found, squared = sweep(study), (2.0 * np.pi * 0.8) ** 2
    assert [found[name][0] for name in bounds] == pytest.approx([50.0, 2.0, 0.1], rel=1e-12)
    assert (found["stiffness"][found.best], found["mass"][found.best]) == pytest.approx((40.0, 40.0 / squared))
    slopes = {"frequency largest": -2.0 * 40.0 / squared / 0.8, "stiffness low": 1.0 / squared}
    assert found.multipliers == pytest.approx(slopes, rel=1e-6)
    assert "search by slsqp from 1 start" in "\n".join(found.judged())


def test_gradients_that_are_not_there_are_named():
    words = {"variables": {"stiffness": {"kind": "uniform", "low": 5.0, "high": 80.0}},
             "outputs": {"peak": {"kind": "peak_time", "of": "bodies.mass.velocity"}},
             "best": "least peak", "design": "optimize", "runs": 12, "run": {"duration": 0.1}}  # fmt: skip
    assert "since there are no gradients: outputs.peak" in sweep(Study(hinged, **words)).notes[0]
    with pytest.raises(ModelError, match=r"outputs.peak: jumps from one output time"):
        sweep(Study(hinged, **words, optimizer="slsqp"))
    choices = {"stiffness": {"values": [5.0, 8.0]}}
    with pytest.raises(ModelError, match="optimizer: got 'slsqp', which seeks numbers between bounds"):
        sweep(Study(hinged, **(words | {"variables": choices}), optimizer="slsqp"))


def column(radius=0.02):
    """It buckles at pi^2 E I/(4 L^2), some 4.3 of its load."""
    return tube(radius, force=(-100.0, 0.0, 0.0))


def test_an_output_needs_a_value_where_the_search_starts():
    """Thick columns do not buckle up to the factor, in the middle of the range or at the start."""
    words = {"variables": {"radius": {"kind": "uniform", "low": 0.015, "high": 0.08}}, "best": "least mass",
             "outputs": {"mass": {"kind": "mass"}, "factor": {"kind": "critical_load"}}, "runs": 1,
             "constraints": {"factor": {"least": 3.0}}, "design": "optimize", "optimizer": "slsqp"}  # fmt: skip
    found = sweep(Study(column, **words))
    assert (found["radius"][0], found.best, len(found)) == (pytest.approx(0.02), 0, 1)
    with pytest.raises(ModelError, match=r"factor: there is none up .*10, where the search starts: radius = 0.05$"):
        sweep(Study(lambda radius=0.05: column(radius), **words))


def test_a_search_needs_to_know_what_is_best():
    with pytest.raises(ModelError, match="best: is missing: the design 'optimize' needs an output"):
        optimize(Study(tube, {"radius": {"values": RADII}}, OUTPUTS))
