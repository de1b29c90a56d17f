"""What is installed is what is there, and importing femb costs next to nothing."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT
from models import of_parts, refuses

import femb
from femb.base.version import commit_of
from femb.elements import registry
from femb.elements.item import Item
from femb.numerics.threads import has_forks
from femb.run import warmup

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]
HEAVY = ("numpy", "numba", "scipy", "matplotlib", "sparse", "meshio", "h5py", "click", "tqdm")


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, in the checkout."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def sources() -> list[Path]:
    return [
        *(path for path in (ROOT / "femb").rglob("*.py") if "elements" not in path.parts),
        *(ROOT / "elements").rglob("*.py"),
    ]


def test_packages_listed_are_the_folders_that_are_packages():
    # femb/elements is a link to elements, which pathlib does not descend into on every version: list it by its target.
    found = {"femb", "femb.elements", "femb.cases"}  # cases is package data: a folder without __init__.py
    for init in (ROOT / "femb").rglob("__init__.py"):
        found.add(".".join(init.parent.relative_to(ROOT).parts))
    for init in (ROOT / "elements").rglob("__init__.py"):
        found.add(".".join(("femb", *init.parent.relative_to(ROOT).parts)))
    assert sorted(SETUPTOOLS["packages"]) == sorted(found)
    assert SETUPTOOLS["package-dir"] == {"femb.elements": "elements", "femb.cases": "cases"}


def test_modules_are_attributes_of_femb_at_once():
    code = "import femb; print(femb.profiles.Versine(1.0)(0.5)); print(femb.elements.Beam is femb.Beam)"
    assert python(code).stdout == "1.0\nTrue\n"


def test_link_and_mapping_lead_to_the_same_folder():
    link = ROOT / "femb" / "elements"
    if not link.exists():
        pytest.skip("a source distribution has no links")
    assert link.resolve() == ROOT / "elements"
    assert str(link.readlink()) == "../elements"


def test_a_checkout_without_links_finds_the_elements_beside_it(tmp_path):
    """As git makes it on Windows: femb/elements is a text file."""
    (tmp_path / "femb").mkdir()
    for path in (ROOT / "femb").iterdir():
        if path.name not in ("elements", "__pycache__"):
            (tmp_path / "femb" / path.name).symlink_to(path)
    (tmp_path / "femb" / "elements").write_text("../elements")
    (tmp_path / "elements").symlink_to(ROOT / "elements")
    code = "import femb, femb.elements; print(femb.elements.__file__, femb.PointMass('p', 1.0).name)"
    words = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(tmp_path)}}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **words)
    assert Path(done.stdout.split()[0]).is_relative_to(tmp_path)


@pytest.mark.slow
def test_distributions_hold_what_they_should(tmp_path):
    """The source distribution has the files that git knows (setuptools-scm), the wheel the packages and their data."""
    pytest.importorskip("setuptools_scm")
    clone = tmp_path / "clone"
    if subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], capture_output=True).returncode:
        pytest.skip("not a checkout of git")
    code = f"from setuptools import build_meta as b; p = {str(tmp_path)!r}; b.build_sdist(p); b.build_wheel(p)"
    subprocess.run([sys.executable, "-c", code], cwd=clone, capture_output=True, text=True, check=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as made:
        files = {name.partition("/")[2] for name in made.getnames()}
    for folder, pattern in (("cases", "*.toml"), ("docs", "*.md"), ("tests", "*.py"), ("elements", "*.py")):
        there = {str(path.relative_to(clone)) for path in (clone / folder).rglob(pattern)}
        assert there
        assert there <= files
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as made:
        packed = set(made.namelist())
    assert {
        f"femb/elements/{path.relative_to(clone / 'elements')}" for path in (clone / "elements").rglob("*.py")
    } <= packed
    assert {f"femb/cases/{path.name}" for path in (clone / "cases").glob("*.toml")} <= packed
    assert not {name for name in packed if name.startswith(("tests", "docs"))}


def test_the_top_level_holds_what_the_layout_says():
    tracked = subprocess.run(["git", "ls-tree", "--name-only", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a checkout of git")
    names = {name for name in tracked.stdout.splitlines() if not name.startswith(".")}
    files = {"CITATION.cff", "LICENSE", "README.md", "pyproject.toml"}
    assert names == {*files, "cases", "docs", "elements", "femb", "tests"}


def test_elements_are_not_importable_at_the_top_level():
    result = python("import elements")
    assert result.returncode != 0
    assert "ImportError: the element library is imported as femb.elements" in result.stderr


def test_the_version_is_that_of_the_commit(tmp_path):
    """As git says it: on a branch, with packed references, on a commit alone, and in a further worktree."""
    if subprocess.run(["git", "clone", "-q", str(ROOT), str(tmp_path / "c")], capture_output=True).returncode:
        pytest.skip("not a checkout of git")
    clone = tmp_path / "c"

    def git(*words: str) -> str:
        names = ("-c", "user.name=n", "-c", "user.email=e@e")
        done = subprocess.run(["git", *names, *words], cwd=clone, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    first = git("rev-parse", "HEAD")
    assert commit_of(clone) == first
    git("pack-refs", "--all")
    assert commit_of(clone) == first
    git("commit", "-q", "--allow-empty", "-m", "more")
    assert commit_of(clone) == git("rev-parse", "HEAD") != first
    git("worktree", "add", "-q", "-b", "aside", str(tmp_path / "w"), first)
    assert commit_of(tmp_path / "w") == first
    git("checkout", "-q", "--detach", first)
    assert commit_of(clone) == first
    assert commit_of(tmp_path) == ""
    assert "version" in PROJECT["project"]["dynamic"]
    if (ROOT / ".git").exists():
        assert femb.__version__.endswith(f"+g{commit_of(ROOT)[:9]}")
    assert re.match(r"\d+(\.\d+)*", femb.__version__)


def test_public_names_exist():
    for name in femb.__all__:
        assert getattr(femb, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'Bream'"):
        _ = femb.Bream


def test_completion_shows_what_users_need_first():
    assert len(dir(femb)) < 70
    assert set(dir(femb)) == {*femb.EVERYDAY, *femb.MODULES, "__version__"}
    assert set(femb.EVERYDAY) < set(femb.__all__)
    assert {"Interface", "StrainGauge"} <= set(dir(femb.elements))


def test_special_names_stand_in_modules_that_say_so():
    """Where they were before they are for one version more, with a warning."""
    assert {"elements", "fem", "handover", "profiles", "thompson", "simulate", "Model"} <= set(dir(femb))
    for module in femb.MOVED:
        of = getattr(femb, module)
        assert not set(of.__all__) & set(femb.__all__)
        for name in of.__all__:
            with pytest.warns(DeprecationWarning, match=f"femb.{name} is femb.{module}.{name}"):
                assert getattr(femb, name) is getattr(of, name)


def test_import_is_light():
    code = f"import sys, femb; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert python(code).stdout.strip() == "[]"


def test_descriptions_load_nothing_that_evaluates_them():
    """Batches, data and files of elements are imported where a model has such elements."""
    code = "import sys, femb.elements.catalogue; print(*(name for name in sys.modules if name.startswith('femb')))"
    loaded = python(code).stdout.split()
    ours = {"exact.element_data", "beam.strain", "beam.ends", "beam.section_files", "modal.data", "modal.kernels"}
    ours |= {"control.continuous", "spring.damped_modes"}
    assert not {f"femb.elements.{name}" for name in ours} & set(loaded)
    assert [name for name in loaded if name.endswith("batch")] == []
    assert len(loaded) < 150


def test_lines_of_the_catalogue_have_the_table_and_the_word_of_their_classes():
    for line in femb.elements.entries().values():
        kind = line.value()
        if not issubclass(kind, Item):
            assert line.remark == "", line
        else:
            word = f".{kind.kind}" if kind.in_case_files else ""
            assert line.remark == kind.table + word, line
    assert registry.in_order(reversed(registry.kinds())) == list(registry.kinds())
    for table in registry.tables():
        of_table = [kind for kind in registry.kinds() if kind.table == table]
        assert list(registry.of_table(table)) == of_table
        assert list(registry.Words(table).items()) == [(kind.kind, kind) for kind in of_table if kind.in_case_files]


def test_a_run_loads_the_classes_of_its_own_items(tmp_path):
    """Of a satellite with two beams, a load and figures: no joints, wheels, sensors, shells, nor other loads."""
    command = ["run", "cases/satellite_forced.toml", "--set", "run.duration=0.1", "--quiet", "--out", str(tmp_path)]
    command.append("--force")
    code = f"import sys; from femb.cli import cli; cli({command}, standalone_mode=False); print(*sys.modules)"
    python(code)  # where no kernels are kept, it compiles them, with modules of its own
    done = python(code)
    assert done.stderr == ""
    loaded = [name for name in done.stdout.split() if name.startswith("femb")]
    assert "femb.elements.beam.beam" in loaded
    others = (
        "control", "wheel", "shell", "exact", "actuator", "environment", "spring.point", "load.drag", "joint.kinds",
    )  # fmt: skip
    assert [name for name in loaded for word in others if name.startswith(f"femb.elements.{word}")] == []
    assert len(loaded) < 200


def test_a_command_loads_the_module_of_its_own():
    code = "import sys; from femb.cli import cli; cli.get_command(None, 'run'); print(*sys.modules)"
    loaded = {name for name in python(code).stdout.split() if name.startswith("femb.cli.")}
    assert "femb.cli.analyses" in loaded
    assert not {f"femb.cli.{name}" for name in ("begin", "handover", "linear", "reduce", "results", "sweep")} & loaded


def test_import_is_quick():
    """Processor time of a process that does nothing else, once in three: others of the machine do not count."""
    code = "import time, femb; print(time.process_time())"
    assert any(float(python(code).stdout) < 0.3 for _ in range(3))


IMPORTS = re.compile(r"^[ \t]*(?:from ([A-Za-z_]\w*)[\w.]* import|import (.+))", re.MULTILINE)
# as ``femb.base.errors.optional`` takes them: the module and its extra
ASKED_FOR = re.compile(r'\boptional\("(\w+)[\w.]*", "(\w+)"')
# of extras
IMPORTED_AS = {"PIL": "pillow"}
OPTIONAL = {
    *("control", "pyyeti", "pandas", "xarray", "pythonfmu", "clarabel", "skfem", "distributed", "dask_jobqueue"),
}


@pytest.mark.slow
def test_everything_imported_is_declared():
    """Lines that import, and those of texts that read as if they did."""
    declared = {re.split(r"[<>=\[ ]", each)[0] for each in PROJECT["project"]["dependencies"]}
    texts = [source.read_text() for source in sources()]
    lines = [each for text in texts for each in IMPORTS.findall(text)]
    found = {name for one, several in lines for name in (one, *re.findall(r"(?:^|, )([A-Za-z_]\w*)", several)) if name}
    found |= {module for text in texts for module, _ in ASKED_FOR.findall(text)}
    ours = {IMPORTED_AS.get(name, name) for name in found if name != "femb" and name not in sys.stdlib_module_names}
    assert ours > {"numpy", "numba", "h5py", *OPTIONAL}
    assert ours - OPTIONAL - declared == set()


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_installs_of_a_page_stand_alone(page):
    """Each begins with an environment of its own, on a fresh machine; the tests of the README have their extra."""
    text = (ROOT / page).read_text()
    begin = "python -m venv .venv && . .venv/bin/activate && pip install "
    assert text.count("pip install") == text.count(begin) > 0
    assert f"{begin}. && femb run cases/satellite_forced.toml && femb " in text
    if page == "README.md":
        assert f"\n{begin}-e '.[test]' && python -m pytest\n" in text


@pytest.mark.parametrize(
    ("module", "call"),
    [("pandas", lambda made: made.to_pandas("hub.position")), ("xarray", lambda made: made.to_xarray("hub.position"))],
)
def test_a_missing_extra_is_named_with_its_install_line_first(module, call, monkeypatch):
    model = of_parts(femb.PointMass("hub", mass=1.0))
    made = femb.simulate(model, duration=0.1, output_interval=0.1, method="rk")
    monkeypatch.setitem(sys.modules, module, None)
    refuses(rf"^pip install 'femb\[{module}\]': ", call, made, error=femb.FembError)


@pytest.mark.slow
def test_every_extra_that_a_message_names_is_one():
    """Each message begins with its line; that of other packages is seen where they are used."""
    extras, found = PROJECT["project"]["optional-dependencies"], set()
    for path in sources():
        text = path.read_text()
        for before, extra in re.findall(r"(.)pip install 'femb\[(\w+)\]': ", text):
            assert before == '"', path
            found.add(extra)
        found |= {extra for _, extra in ASKED_FOR.findall(text)}
    assert found == {"fe", "fem", "fmu", "pandas", "xarray", "control", "cluster", "robust"}
    assert found < set(extras)


@pytest.mark.skipif(not has_forks(), reason="processes do not fork here")
def test_forks_compile_both_halves_and_what_fails_there_is_left_to_the_run(tmp_path, monkeypatch, capfd):
    def compile_half(name):
        (tmp_path / name).write_text(f"{os.getpid()}")
        raise RuntimeError(name)

    monkeypatch.setattr(warmup, "can_fork", lambda: True)  # whatever threads other tests have left
    monkeypatch.setattr(warmup, "is_compiled", lambda model: False)
    monkeypatch.setattr(warmup, "_compile_forces", lambda system: compile_half("first"))
    monkeypatch.setattr(warmup, "_compile_steps", lambda: compile_half("second"))
    warmup.compile_first(warmup._clamped_beam())
    assert len({os.getpid(), *(int((tmp_path / name).read_text()) for name in ("first", "second"))}) == 3
    assert capfd.readouterr() == ("", "")


def test_both_processes_that_compile_are_of_the_same_files(tmp_path, monkeypatch):
    """Though a folder named femb is in the current one, as in a checkout where another femb is installed."""
    started = []

    class Recorded:
        def __init__(self, command, **options):
            started.append((command, options))

        def wait(self):
            pass

    monkeypatch.setattr(warmup, "can_fork", lambda: False)
    monkeypatch.setattr(warmup.subprocess, "Popen", Recorded)
    monkeypatch.setattr(warmup, "is_compiled", lambda model: False)
    monkeypatch.setattr(warmup, "_compile_forces", lambda system: None)
    warmup.compile_first(warmup._clamped_beam())
    monkeypatch.undo()
    ((command, options),) = started
    (tmp_path / "femb").mkdir()
    (tmp_path / "femb" / "__init__.py").write_text("")
    asked = [*command[: command.index("-m")], "-c", "import femb; print(femb.__file__)"]
    done = subprocess.run(asked, env=options["env"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == Path(femb.__file__).resolve()
