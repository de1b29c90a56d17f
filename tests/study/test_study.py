"""Study files: every problem with its line."""

import math

import pytest
from models import refuses
from oracles.spring_study import STUDY, build, written

from femb import ModelError, Study, sweep
from femb.case import CaseError
from femb.study.study import read_study


def changed(*pairs: tuple[str, str]) -> str:
    text = STUDY
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def test_a_study_is_read(tmp_path):
    study = read_study(written(tmp_path), ["run.duration=1.0"])
    assert study.rows == [(50.0, 2.0), (50.0, 3.0), (80.0, 2.0), (80.0, 3.0)]
    assert study.case == tmp_path / "case.toml"
    assert list(study.outputs) == ["lowest", "frequency"]


@pytest.mark.parametrize(
    ("pairs", "wanted"),
    [
        ([('case = "case.toml"', "")], ":1: case: is missing"),
        ([('"grid"', '"gird"')], ":3: design: got 'gird', must be one of 'grid', 'list', 'random'"),
        ([('"grid"', '"sobol"')], ":1: runs: is missing: the design 'sobol' needs the number of samples"),
        ([('"grid"', '"grid"\nruns = 4')], ":4: runs: got 4, but the values of a grid give the number of runs"),
        ([('"grid"', '"list"\nseed = -1')], ":4: seed: got -1, must be a whole number of at least 0"),
        ([('"grid"', '"grid"\ndesing = 1')], ":4: desing: unknown key; did you mean 'design'?"),
        ([('"grid"', '"grid"\nrun = 1')], ":4: run: unknown key; "),
        ([("values = [50.0, 80.0]", "values = []")], ":7: variables.stiffness.values: got []"),
        ([("values = [50.0, 80.0]", 'kind = "normal"\nmean = 1.0')], ":5: variables.stiffness.standard_deviation: is"),
        ([("values = [50.0, 80.0]", 'kind = "uniform"\nlow = 1.0\nhigh = 0.5')], ":9: variables.stiffness.high: got"),
        ([("values = [50.0, 80.0]", 'kind = "nromal"')], "must be one of 'values', 'range', 'uniform'"),
        ([("values = [2.0, 3.0]", "values = [2.0]"), ('"grid"', '"list"')], ":5: variables: got different numbers of"),
        ([('key = "springs.spring.stiffness"\n', "")], ":5: variables.stiffness.key: is missing"),
        (
            [("bodies.mass.mass", "springs.spring.stiffness")],
            ":10: variables.mass.key: sets springs.spring.stiffness, as stiffness does",
        ),
        ([('kind = "min"', 'kind = "minimum"')], ":14: outputs.lowest.kind: got 'minimum', must be one of 'max', 'min"),
        ([('of = "bodies.mass.position.x"\n', "")], ":13: outputs.lowest.of: is missing"),
        ([('kind = "min"', 'kind = "min"\nband = 0.1')], ":15: outputs.lowest.band: unknown key"),
        ([('kind = "min"', 'kind = "min"\nfirst = 3.0\nlast = 2.0')], ":16: outputs.lowest.last: got 2.0, must be at"),
        ([("[outputs.lowest]", "[outputs.mass]")], ":13: outputs.mass: is the name of a variable too"),
        ([("[outputs.lowest]", "[outputs.status]")], ":13: outputs.status: is the name of another column"),
    ],
)
def test_problems_have_their_lines(tmp_path, pairs, wanted):
    path = written(tmp_path, changed(*pairs))
    with pytest.raises(CaseError) as error:
        read_study(path)
    assert f"{path}{wanted}" in str(error.value) or (wanted[0] != ":" and wanted in str(error.value))
    assert len(str(error.value).splitlines()) == 1


def test_all_problems_are_reported_at_once(tmp_path):
    path = written(tmp_path, changed(("50.0, 80.0", ""), ('"min"', '"least"'), ('"grid"', "3")))
    with pytest.raises(CaseError) as error:
        read_study(path)
    assert [line.split(": ")[1] for line in str(error.value).splitlines()] == [
        "design", "variables.stiffness.values", "outputs.lowest.kind",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("design", "more", "wanted"),
    [
        ("random", "", ":9: parameters.other.entries: sets springs.spring.stiffness, as kf does: only one of them may"),
        ("worst", 'distribution = "normal"\n', ":11: parameters.other.distribution: got 'normal', wanted uniform"),
    ],
)
def test_problems_of_parameters_are_at_their_keys(tmp_path, design, more, wanted):
    """They were at variables.other.key, which the file does not have, in line 1."""
    keys = ["springs.spring.stiffness", "bodies.mass.mass"][design == "worst" :]
    text = (
        f'case = "case.toml"\ndesign = "{design}"\n{"runs = 4" * (design != "worst")}\nbest = "least f"\n'
        '[parameters.kf]\nentry = "springs.spring.stiffness"\nrange = [20.0, 40.0]\n'
        f"[parameters.other]\nentries = {keys}\nrange = [1.0, 4.0]\n".replace("'", '"')
        + more + '[outputs.f]\nkind = "natural_frequency"\n'
    )  # fmt: skip
    path = written(tmp_path, text)
    with pytest.raises(CaseError) as error:
        read_study(path)
    assert f"{path}{wanted}" in str(error.value)


@pytest.mark.parametrize(
    ("pairs", "wanted"),
    [
        ([("springs.spring.stiffness", "springs.sprung.stiffness")], "there is no 'sprung' in springs"),
        ([("springs.spring.stiffness", "springs.spring.stifness")], "unknown key; did you mean 'stiffness'?"),
        ([("position.x", "positoin.x")], "outputs.lowest.of: got 'bodies.mass.positoin.x', no such quantity"),
        ([("[50.0, 80.0]", "[0.5, 1.0]\nrelative = true"), ("spring.stiffness", "spring.kind")], "the case has None"),
        (
            [("values = [50.0, 80.0]", 'kind = "uniform"\nlow = 1.0\nhigh = 2.0')],
            ":5: variables.stiffness: is a range, but the design is a grid",
        ),
    ],
)
def test_entries_and_quantities_that_do_not_exist_are_refused_before_any_run(tmp_path, pairs, wanted):
    with pytest.raises(ModelError) as error:
        sweep(written(tmp_path, changed(*pairs)), out=tmp_path / "out")
    assert wanted in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_wrong_case_is_refused_with_its_line(tmp_path):
    path = written(tmp_path)
    (tmp_path / "case.toml").write_text((tmp_path / "case.toml").read_text().replace("inertia = 1.0", "inertia = -1.0"))
    refuses(r"case.toml:4: bodies.mass.inertia", sweep, path, error=CaseError)


def test_studies_in_python_are_checked_in_the_same_words():
    table = {"m": {"values": [1.0]}}
    output = {"x": {"kind": "max", "of": "bodies.mass.position.x"}}
    with pytest.raises(ModelError) as error:
        Study(build, {"mass": {"kind": "normal", "mean": 1.0}}, {"x": {"kind": "settle"}}, run={"rtol": "small"})
    assert [line.split(": ")[0] for line in str(error.value).splitlines()] == [
        "run.duration", "run.rtol", "variables.mass.standard_deviation", "outputs.x.kind",
    ]  # fmt: skip
    refuses("case: got 3, wanted the path of a case file", Study, 3, table, output)
    for key in (" ", [], ["bodies.mass.mass", 3]):
        refuses("key: got .*wanted an entry of the case", Study, build, {"m": table["m"] | {"key": key}}, output)
    with pytest.raises(ModelError, match="run: is that of the case file"):
        Study("case.toml", {"m": {"values": [1.0], "key": "run.rtol"}}, output, run={"duration": 1.0})
    refuses(r"outputs: got \{\}, wanted at least one table", Study, build, table, {})
    refuses("got 3 for the study, wanted a femb", sweep, 3)


@pytest.mark.parametrize(
    ("of", "right", "wrong"),
    [
        ("springs.s.force", "5 N m", "5 N"),
        ("joints.h.angle", "8 deg", "8 mm"),
        ("joints.h.angle rate", "1 rpm", "1 m/s"),
    ],
)
def test_limits_are_texts_with_the_unit_that_the_model_gives_an_output(tmp_path, of, right, wrong):
    """A spring of a hinge has a torque, and its coordinate is an angle: another unit is refused before the runs."""
    (tmp_path / "case.toml").write_text("""
[bodies.b]
mass = 1.0
inertia = [1.0, 1.0, 1.0]
[joints.h]
kind = "revolute"
first = { body = "ground", axis = [0, 0, 1] }
second = { body = "b", axis = [0, 0, 1] }
start = 0.1
[springs.s]
kind = "joint"
joint = "h"
stiffness = 5.0
[run]
duration = 0.1
""")
    study = tmp_path / "study.toml"
    text = f"""case = "case.toml"
design = "grid"
[variables.k]
key = "springs.s.stiffness"
values = [5.0, 6.0]
[outputs.out]
kind = "peak"
of = "{of}"
[constraints.out]
largest = "RIGHT"
"""
    study.write_text(text.replace("RIGHT", right))
    number, _, unit = right.partition(" ")
    size = {"N m": 1.0, "deg": math.pi / 180.0, "rpm": math.pi / 30.0}[unit]
    assert sweep(study).limits["out"][1] == pytest.approx(float(number) * size, rel=1e-14)
    study.write_text(text.replace("RIGHT", wrong))
    with pytest.raises(CaseError) as error:
        sweep(study)
    assert f"study.toml:10: constraints.out.largest: got '{wrong}', wanted a number in " in str(error.value)


def test_a_number_of_runs_of_the_worst_is_refused():
    words = {"design": "worst", "runs": 12, "best": "least f", "outputs": {"f": {"kind": "natural_frequency"}}}
    refuses(
        "runs: got 12, but the design 'worst' searches until it has converged; leave it out",
        *(Study, "case.toml", {"k": {"kind": "uniform", "low": 1.0, "high": 2.0}}),
        **words,
    )


@pytest.mark.parametrize("line", ['"loads.push.profile" = {}', "loads.push.profile = {}"])
def test_a_profile_that_a_study_sets_replaces_that_of_the_case(tmp_path, line):
    """Not its keys one by one: those of the old shape are none of the new one."""
    case = "[bodies.b]\nmass = 1.0\ninertia = 1.0\n[loads.push]\nbody = 'b'\nforce = [1, 0, 0]\n"
    profile = "profile = { shape = 'smooth_step', start = 0.1, duration = 0.5, before = 0.0, after = 1.0 }\n"
    (tmp_path / "case.toml").write_text(case + profile + "[run]\nduration = 2.0\n")
    study = "case = 'case.toml'\n[variables.m]\nkey = 'bodies.b.mass'\nvalues = [2.0]\n[set]\n"
    output = "\n[outputs.v]\nkind = 'final'\nof = 'bodies.b.velocity.x'\n"
    (tmp_path / "study.toml").write_text(study + line.format('{ shape = "constant", value = 3.0 }') + output)
    assert sweep(tmp_path / "study.toml")["v"] == pytest.approx([3.0], rel=1e-9)
