"""What describes nothing that could move is refused by name, before memory is taken; what may be meant is warned of."""

import warnings

import numpy as np
import pytest
from models import of_parts, refusals, refuses
from shared_runs import said

import femb
from femb import (
    Attachment,
    Beam,
    FembWarning,
    JointEnd,
    JointMotor,
    Load,
    Model,
    ModelError,
    Path,
    Place,
    PointMass,
    Revolute,
    RigidBody,
    Run,
    Section,
    SpringDamper,
    SpringEnd,
    simulate,
)
from femb.base.options import Tolerances
from femb.case import load_case
from femb.profiles import Sine, Step
from femb.run import memory as memory_module

BAR = {"area": 1e-3, "second_moments": (1e-7, 2e-7), "torsion_constant": 1e-7, "density": 2700.0,
       "youngs_modulus": 7e10, "shear_modulus": 2.6e10}  # fmt: skip
DIRECT = {"axial_stiffness": 1.0, "torsional_stiffness": 1.0, "bending_stiffness": (1, 1), "mass_per_length": 1.0}
HUB = Attachment("hub", direction=(1, 0, 0))


def bodies(*names, **words):
    return of_parts(*(RigidBody(name, mass=1.0, inertia=1.0) for name in names), **words)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "a/b", "../x", "a\x00b", "a\nb", "a\tb", " a", "a ", "a\\b", "x" * 300, 1, None, b"a", ["a"]],
)
def test_names_are_parts_of_paths(name):
    with pytest.raises(ModelError, match=r"name: got") as caught:
        RigidBody(name, mass=1.0, inertia=1.0)
    assert "\x00" not in str(caught.value)
    assert str(caught.value).isprintable()


REFUSED = [
    (lambda: RigidBody("a", mass="1", inertia=1.0), "a.mass: got '1', wanted a number"),
    (lambda: RigidBody("a", mass=lambda: 1.0, inertia=1.0), "a.mass: got <function .*, wanted a number"),
    (lambda: RigidBody("a", mass=1e-300, inertia=1.0), "a.mass: got 1e-300, must be at least 1e-50"),
    (lambda: RigidBody("a", mass=1.0, inertia=1e308), r"a.inertia: got 1e\+308, every number must be within 1e\+50"),
    (lambda: RigidBody("a", mass=1.0, inertia=1.0, moves_alone="no"), "moves_alone: got 'no', wanted true or false"),
    (lambda: Model(gravity=(0, 0, 1e300)), r"gravity: .* every number must be within 1e\+50"),
    (
        lambda: Revolute("h", JointEnd("a", axis=(0, 0, 1)), JointEnd("b"), rates=1e308),
        r"h.rates: got 1e\+308, every number must be within 1e\+50",
    ),
    (lambda: Path(points=[(0, 0, 0), (1e308, 0, 0)]), r"points: .* every number must be within 1e\+50"),
    (lambda: Model(title=3), "title: got 3, wanted text"),
    (lambda: Model().add(3), "got 3, wanted one of RigidBody"),
    (lambda: Beam("b", "s", 1.0, 1e30, start=HUB), r"elements: got 1e\+30, must be a whole number"),
    (lambda: Beam("b", "s", 1.0, 10**30, start=HUB), "elements: got 1000.*, must be at most 100000"),
    (lambda: Beam("b", "s", 1.0, True, start=HUB), "elements: got True, must be a whole number"),
    (
        lambda: Beam("b", "s", 1.0, 1, start=HUB, curvature=(0, 0, 10)),
        "curvature: .* turns each element by 573 degrees",
    ),
    (
        lambda: Beam("b", "s", 1.0, 3, start=HUB, curvature=(0, 0, 10)),
        "curvature: .* turns each element by 191 degrees",
    ),
    (lambda: Beam("b", "s", None, 1, start=HUB, path=Path(radius=1.0, angle=4.0)), "elements: .* by 229 degrees"),
    (lambda: Beam("b", "s", 6.0, 1, start=HUB, path=Path(curve=lambda s: (np.cos(s), np.sin(s), 0))), "by 344 degrees"),
    (lambda: Beam("b", "s", 6.0, 1, start=HUB, path=Path(curve=lambda s: 1 / 0)), "path.curve: fails: ZeroDivision"),
    (lambda: Load("l", body="a", node=2, force=(1, 0, 0)), "l.node: got 2, but a body has no nodes"),
    (
        lambda: Load("l", body="a", node=np.array([1, 2]), force=(1, 0, 0)),
        r"l.node: got \[1, 2\], wanted a whole number",
    ),
    (lambda: PointMass("p", mass=1.0, on=Place("a", node=0)), "p.on.node: got 0, but a body has no nodes"),
    (lambda: PointMass("p", mass=1.0, on="a"), "p.on: got 'a', wanted a Place"),
    (
        lambda: Load("l", body="a", force=(1, 0, 0), profile=2.0),
        "l.profile: got 2.0, wanted a profile of femb.profiles",
    ),
    (lambda: Load("l", body="a", force=(1, 0, 0), profile=Sine), "l.profile: got <class"),
    (lambda: Load("l", body="a", force=lambda t, s: (1, 0, 0), profile=Sine(1.0)), "given beside a function for force"),
    (lambda: JointMotor("m", "j", force=lambda t, s: 1.0, profile=Sine(1.0)), "given beside a function for force"),
    (lambda: SpringDamper("s", SpringEnd("a"), 3, stiffness=1.0), "s.end: got 3, wanted a SpringEnd"),
    (lambda: Run(duration=1e-300), "run.duration: got 1e-300, must be at least 1e-50"),
    (lambda: Run(duration="1"), "run.duration: got '1', wanted a number"),
    (lambda: Run(duration=1.0, output_interval=2.0), "output_interval: got 2.0, is longer than the run, 1 s"),
    (lambda: Run(duration=1.0, output_interval=1e-9), r"output_interval: got 1e-09, gives 1e\+09 output times"),
    (lambda: Run(duration=1.0, max_steps=0.5), "max_steps: got 0.5, must be a whole number of at least 1"),
    (lambda: Run(duration=1.0, atol="small"), "atol: got 'small', wanted Tolerances"),
    (lambda: simulate(3, duration=1.0), "got 3 for the model, wanted a femb.Model"),
    (lambda: simulate(bodies("a")), r"the duration \(s\) is missing"),
    (lambda: simulate(bodies("a"), durration=1.0), "run.durration: there is no such option; did you mean 'duration'"),
    (lambda: simulate(bodies("a"), {"duration": 1.0}), "got {'duration': 1.0} for the run, wanted a femb.Run"),
    (lambda: simulate(bodies("a"), duration=1.0, events=(3,)), r"events: got \(3,\), wanted a tuple"),
]


@pytest.mark.parametrize("make", [each for each, _ in REFUSED], ids=range(len(REFUSED)))
def test_refused(make):
    message = next(text for each, text in REFUSED if each is make)
    refuses(message, make)


def test_what_lasts_for_ever_is_no_overflow():
    assert Step(start=1.0).breakpoints == (1.0,)
    assert Step(start=1.0)(1e40) == 1.0


def test_output_that_memory_has_no_room_for(monkeypatch):
    """Asked before the first step, from the size of the model."""
    monkeypatch.setattr(memory_module, "available", lambda: 10_000_000)
    with pytest.raises(ModelError, match=r"output_interval: gives 1e\+06 output times, .* 0.* GB of memory"):
        simulate(bodies("a"), duration=1.0, output_interval=1e-6)
    simulate(bodies("a"), duration=1e-3, output_interval=1e-4)


def test_a_plane_section_without_the_inertia_of_bending_is_warned_of():
    with pytest.warns(FembWarning, match=r"sections.s.inertia_per_length: .* that about x is above the sum"):
        Section("s", **DIRECT, inertia_per_length=(3.0, 1.0, 1.0))
    with pytest.warns(FembWarning, match=r"sections.s.polar_moment: .* break the triangle inequality"):
        Section("s", **BAR, polar_moment=1e-6)
    Section("s", **DIRECT, inertia_per_length=(2.0, 1.0, 1.0))
    with pytest.warns(FembWarning, match="torsion_constant: 4e-07 m4 is above the polar moment, 3e-07 m4"):
        Section("s", **{**BAR, "torsion_constant": 4e-7})


@pytest.mark.parametrize("axis", [(0.5, 0.0), (3.0, -5.0)])
def test_no_mass_axis_makes_an_inertia_negative(axis):
    """Inertia is about the mass centre: wherever that is, every motion has kinetic energy."""
    model = Model()
    model.add(Beam("b", Section("s", **BAR, mass_axis=axis), 1.0, 2, start=Attachment("ground", direction=(1, 0, 0))))
    system = femb.system.system.System(model)
    assert np.linalg.eigvalsh(system.mass_matrix(system.q0).toarray())[0] > 0.0


OF_OTHERS = [
    ({"method": "radau", "step": 0.1}, "step"),
    ({"method": "radau", "tableau": "rk4"}, "tableau"),
    ({"method": "radau", "spectral_radius": 0.5}, "spectral_radius"),
    ({"method": "radau", "max_order": 3}, "max_order"),
    ({"method": "bdf", "order": 6}, "order"),
    ({"method": "rk", "step": 0.1}, "step"),
    ({"method": "gauss", "step": 0.1, "max_step": 0.2}, "max_step"),
]


@pytest.mark.parametrize(("options", "name"), OF_OTHERS)
def test_options_of_other_methods_are_warned_of(options, name):
    run = Run(duration=0.1, **options)
    assert [each.split(":")[0] for each in run.unused()] == [f"run.{name}"]
    with pytest.warns(FembWarning, match=f"run.{name}: .* has no effect, method '{options['method']}'"):
        simulate(bodies("a"), run)


def test_options_that_are_used_are_not():
    for options in ({"method": "gauss", "step": 0.1, "order": 6}, {"method": "bdf", "max_order": 2},
                    {"method": "rk", "tableau": "rk4", "step": 0.1}, {"method": "generalized-alpha", "first_step": 0.1},
                    {"method": "radau", "atol": Tolerances(position=1e-9)}):  # fmt: skip
        assert Run(duration=1.0, **options).unused() == []


CASE = '[bodies.a]\nmass = 1\ninertia = 1\n[run]\nduration = 0.01\nmethod = "radau"\nspectral_radius = 0.5\n'


@pytest.mark.parametrize("command", ["run", "check"])
def test_the_command_line_prints_warnings(tmp_path, command):
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = said(command, path, *(["--out", tmp_path] if command == "run" else []))
    assert "warning: run.spectral_radius: 0.5 has no effect, method 'radau' does not use it" in done


JOINT = """[bodies.a]
mass = 1
inertia = 1
[bodies.b]
mass = 1
inertia = 1
[joints.pin]
kind = "revolute"
first = { body = "a", axis = [0, 0, 1] }
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (JOINT, r"7: joints.pin.second: is missing"),
        (JOINT + 'secnd = { body = "b" }\n', r"10: joints.pin.secnd: unknown key; did you mean 'second'"),
        (JOINT + "second = 3\n", r"10: joints.pin.second: got 3, wanted a table"),
        (
            JOINT + 'second = { body = "b" }\n[springs.s]\nstart = 2\nstiffness = 1\n',
            r"12: springs.s.start: got 2, wanted",
        ),
        (
            JOINT + 'second = { body = "b" }\n[springs.s]\nstart = { body = "a" }\nstiffness = 1\n',
            r"springs.s.end: is miss",
        ),
        (
            JOINT + 'second = { body = "b" }\n[drivers.d]\nkind = "distance"\nfirst = { body = "a" }\n',
            "drivers.d.second: is",
        ),
    ],
)
def test_ends_that_are_no_ends(tmp_path, text, message):
    """They were taken for ends all the same, and ended in tracebacks."""
    path = tmp_path / "case.toml"
    path.write_text(text)
    refuses(message, load_case, path)


test_what_a_function_takes_is_said = refusals(
    lambda item: item(),
    (lambda: SpringDamper("s", "a", "b", force=3.0), r"force: got 3.*wanted a function \(length, rate\) -> N"),
    (lambda: femb.OrientationDriver("d", "a", "b", motion=3.0), "motion: got 3.*wanted a function of time"),
    (lambda: Path(curve=3.0), "curve: got 3.*wanted a function of the length in Python"),
)
