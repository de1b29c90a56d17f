"""Case files with an entry dropped, misspelt or replaced by nonsense: refused by name, or run."""

import pytest
from fuzz.mutations import CASES, VALUES, first_step, limited, mutated, toml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from seeds import SEED

from femb.analysis.simulate import summary
from femb.case import load_case

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
QUICK = ["rigid_body_free", "satellite_hinged_panel", "slider_crank_rigid", "iftomm_a05_governor"]
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
        first_step(case.model, case.run)
        summary(case.model, case.run)


def test_the_text_is_that_of_the_case(tmp_path):
    """What the mutations are written as is what they were."""
    import tomllib

    for case in CASES.values():
        assert tomllib.loads(toml(case)) == case


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cases")


@seed(1)
@settings(common, max_examples=50)
@given(st.sampled_from(QUICK), changes)
def test_some(folder, name, changed):
    tried(folder, name, changed)


@pytest.mark.slow
def test_many(folder):
    """1000 of all cases."""

    @seed(SEED)
    @settings(common, max_examples=1000)
    @given(st.sampled_from(sorted(SMALL)), changes)
    def many(name, changed):
        tried(folder, name, changed)

    many()
