"""The first argument of every public function, of any kind: taken, or refused by name."""

import inspect
import shutil

import numpy as np
import pytest

import femb
from femb.base.errors import FembError
from femb.cli import library

# Of kinds that no function takes, or only some.
WRONG = {
    "nothing": None, "whole number": 3, "number": 2.5, "truth": True, "list": [1], "table": {"a": 1},
    "text": "none.toml", "bytes": b"x", "array": np.zeros(3), "function": lambda *words: 3, "object": object(),
    "class": type("Kind", (), {"__init__": lambda self, *words: None}),
}  # fmt: skip
# Arguments beside the first; what is not about the first argument.
WITH = {
    "animate": ("film.gif",), "base_motion": ([0.0, 1.0], np.zeros((2, 6))), "diff": ("none.h5",),
    "differences": ("none.h5",),
    "export_csv": ("csv",), "h2": ({}, {}, []), "lqr": ({},), "mode_sweep": ([0.0, 1.0],), "multiblade": ({}, 1.0),
    "periodic": (-1.0,), "picture": ("picture.png",), "plot": ("plot.png",), "pointing": ("hub.position",),
    "pointing_budget": ("bodies.hub.turn",),
    "quasi_static": (np.zeros(6),), "report": ("report.html",), "sobol_indices": ("mass",),
    "tune": ({"a": {"range": [1.0, 2.0]}},),
    "tune_schedule": ("joints.drive.start",), "verify": ("none.toml",), "unbalance_response": ([1.0],),
    "worst_pointing": ("bodies.hub.turn",),
}  # fmt: skip
MEASURED = femb.TestData(*np.full((4, 1), 0.5), (), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 1)))
CALLS = {
    "correlate": lambda first: femb.correlate(first, MEASURED),
    "identify": lambda first: femb.identify(first, MEASURED),
    "shake": lambda first: femb.shake(first, outputs=["bodies.hub.acceleration"], sine=(1.0, 2.0)),
    "shaper": lambda first: femb.shaper("zvd", first),
}
FUNCTIONS = sorted(name for name in femb.__all__ if inspect.isfunction(getattr(femb, name)) and name != "schema")


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """A case, its model, its path and its results, of which each function takes some."""
    path = tmp_path_factory.mktemp("arguments") / "satellite.toml"
    shutil.copy(library.starters()["satellite"].file, path)
    case = femb.load_case(path)
    return {
        "case": case,
        "model": case.model,
        "results": femb.simulate(case.model, duration=0.02, output_interval=0.01),
    }


def call(name, first):
    if name in CALLS:
        return CALLS[name](first)
    return getattr(femb, name)(first, *WITH.get(name, ()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_of_a_wrong_kind_is_refused_by_name(name, there, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind, value in {**WRONG, **there}.items():
        try:
            call(name, value)
        except FembError as error:
            assert len(str(error)) > 10, (name, kind)  # noqa: PT017


@pytest.mark.parametrize(
    "name", ["modes", "linearize", "linearize_structure", "linear_model", "operating_point", "completed"]
)
def test_a_path_and_a_case_are_taken_for_their_model(name, there):
    of_model, of_case, of_path = (
        getattr(femb, name)(each) for each in (there["model"], there["case"], there["case"].path)
    )
    for word in ("frequencies", "A", "stiffness", "q", "mass"):
        if hasattr(of_model, word):
            first = getattr(of_model, word)
            first = first.toarray() if hasattr(first, "toarray") else first
            for other in (of_case, of_path):
                second = getattr(other, word)
                np.testing.assert_array_equal(first, second.toarray() if hasattr(second, "toarray") else second)


@pytest.mark.slow
def test_the_start_of_a_case_is_that_of_its_analyses(tmp_path):
    """Southwell: blades that the rotation stretches flap faster; a start by name goes before that of the case."""
    shutil.copy(library.starters()["rotor"].file, tmp_path / "rotor.toml")
    case = femb.load_case(tmp_path / "rotor.toml")
    found = [
        femb.modes(*arguments, 1, held="hub", **words).frequencies[0]
        for arguments, words in (
            ((case,), {}),
            ((case.path,), {}),
            ((case.model,), {"start": "equilibrium"}),
            ((case,), {"start": "as_given"}),
            ((case.model,), {}),
        )
    ]
    assert found[:2] == found[2:3] * 2
    assert found[3] == found[4] < 0.7 * found[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["peak_loads", "figure", "show"])
def test_the_path_of_results_is_taken_for_them(name, there, tmp_path):
    there["results"].write(tmp_path / "results.h5")
    for path in (tmp_path / "results.h5", str(tmp_path)):
        assert type(getattr(femb, name)(path)) is type(getattr(femb, name)(there["results"]))


@pytest.mark.slow
def test_runs_and_statics_take_a_case_as_its_path(there):
    """The run of the case counts, and options replace it."""
    case, options = there["case"], {"duration": 0.02, "output_interval": 0.01}
    for call, words in ((femb.simulate, options), (femb.static, {})):
        of_case, of_path = (call(each, **words) for each in (case, case.path))
        np.testing.assert_array_equal(of_case.bodies["hub"].position, of_path.bodies["hub"].position)
    assert femb.compare(case, **options).table.keys() == femb.compare(case.path, **options).table.keys()
