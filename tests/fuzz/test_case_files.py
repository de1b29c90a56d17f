"""Case files with an entry dropped, misspelt or replaced by nonsense: refused by name, or run."""

import shutil
import tomllib
from pathlib import Path

import pytest
from fuzz.mutations import CASES, VALUES, first_step, limited, mutated, toml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from seeds import SEED, TRIES

from femb.case import load_case
from femb.run.simulate import summary
from femb.vibration.completion import completed

# Beams of few elements: what is tried is what is read, not how it moves.
SMALL = {
    name: {
        **case,
        "beams": {
            beam: {**words, "elements": min(words.get("elements", 1), 2)} for beam, words in case["beams"].items()
        },
    }
    if "beams" in case
    else case
    for name, case in CASES.items()
}
# What the cases of the repository have little of: patterns, included files, laminates, chosen outputs, other starts.
HERE = Path(__file__).parent
SMALL["newer"] = tomllib.loads((HERE / "newer.toml").read_text())
QUICK = ["newer", "rigid_body_free", "satellite_hinged_panel", "slider_crank_rigid", "iftomm_a05_governor"]
changes = st.lists(st.tuples(st.integers(0, 10**4), st.sampled_from([None, *VALUES])), min_size=1, max_size=2)
common = settings(
    deadline=None, database=None, phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck)
)


def tried(folder, name, changed):
    document = SMALL[name]
    for choice, value in changed:
        document = mutated(document, choice, value)
        if not document:
            return
    for beam in document.get("beams", {}).values() if isinstance(document.get("beams"), dict) else ():
        if isinstance(beam, dict) and isinstance(beam.get("elements"), int) and 20 < beam["elements"] < 10**5:
            beam["elements"] = 20  # more are no mistake, and take their time
    path = folder / "case.toml"
    path.write_text(toml(document), encoding="utf-8")
    with limited():
        case = load_case(path)
        first_step(completed(case.model), case.run)
        summary(case.model, case.run)


def test_the_text_is_that_of_the_case(tmp_path):
    """What the mutations are written as is what they were."""
    for case in SMALL.values():
        assert tomllib.loads(toml(case)) == case


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("cases")
    shutil.copy(HERE / "part.toml", found)
    return found


def test_the_newer_tables_are_understood(folder):
    path = folder / "newer.toml"
    path.write_text(toml(SMALL["newer"]))
    case = load_case(path)
    assert len(case.model.bodies) == 8
    assert {*case.model.tables["shells"], *case.model.tables["controllers"]} == {"panel", "damper"}
    first_step(completed(case.model), case.run)


@pytest.mark.slow
@seed(1)
@settings(common, max_examples=50)
@given(st.sampled_from(QUICK), changes)
def test_some(folder, name, changed):
    tried(folder, name, changed)


@pytest.mark.slow
def test_many(folder):
    """Of all cases, a fifth of them of the newer tables."""

    @seed(SEED)
    @settings(common, max_examples=TRIES)
    @given(st.sampled_from([*sorted(SMALL), *(["newer"] * (len(SMALL) // 4))]), changes)
    def many(name, changed):
        tried(folder, name, changed)

    many()
