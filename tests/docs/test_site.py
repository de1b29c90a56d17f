"""The site: it builds without a warning, and the pages made from the program are up to date and complete."""

import dataclasses
import inspect
import json
import re
import runpy
import shutil
import subprocess
import sys

import pytest
from checkout import ROOT

import femb
from femb.base.checks import mark_of
from femb.base.types import Shape
from femb.case import load_case
from femb.case.build import kinds
from femb.case.schema import choices, keys_of

DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", ["write_case_reference", "write_python_reference"])
def test_reference_is_up_to_date(name):
    written = runpy.run_path(str(DOCS / f"{name}.py"))
    assert written["PAGE"].read_text() == written["page"](), f"run python docs/{name}.py"


def test_case_reference_has_every_kind_and_key_with_an_example():
    text = (DOCS / "reference" / "case_file.md").read_text()
    for table, words in kinds().items():
        for word, kind in words.items():
            title = f"{table}: {word}" if len(words) > 1 else f"A table of {table}"
            section = re.search(rf"^### {title}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
            assert section, title
            assert "```text" in section[1], f"{title} has no example: add one to docs/reference/examples.toml"
            several = re.search(rf"^### Keys of several {table}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
            for key in filter(lambda key: choices(keys_of(kind)[key]), keys_of(kind)):
                shared = several and re.search(rf"^- .*`{key}`.* \(", several[1], re.MULTILINE)
                left_out = re.search(rf"^(?:Also all|All) but [^\n]*`{key}`[^\n]* of the", section[1], re.MULTILINE)
                all_of = re.search(r"^(?:Also all|All) (?:but|of)", section[1], re.MULTILINE)
                listed = re.sub(r"^(?:Also all|All) but.*$", "", section[1], flags=re.MULTILINE)
                assert f"`{key}`" in listed or (shared and all_of and not left_out), f"{title}: {key}"


def test_examples_of_the_case_reference_are_a_case():
    assert len(load_case(DOCS / "reference" / "examples.toml", allow_code=True).model.bodies) > 1


def test_every_public_name_is_in_one_group_with_its_purpose():
    written = runpy.run_path(str(DOCS / "write_python_reference.py"))
    names = [name for group in written["groups"]().values() for name in group]
    assert sorted(name for name in names if "." not in name) == sorted(femb.__all__)
    for name in names:
        purpose = written["purpose"](name)
        assert len(purpose.split()) > 2, f"{name}: {purpose!r}"
        assert not purpose.startswith(f"{name}("), f"{name} has no docstring"


def test_arrays_of_descriptions_have_a_unit_or_a_meaning():
    """Every array of an item is mentioned in the docstring of its class or of a base."""
    checked = 0
    for words in kinds().values():
        for kind in words.values():
            told = "\n".join(inspect.getdoc(base) or "" for base in kind.__mro__)
            for field in dataclasses.fields(kind):
                marks = [mark_of(choice) for choice in choices(keys_of(kind).get(field.name, int))]
                if any(isinstance(mark, Shape) and mark.dims for mark in marks):
                    checked += 1
                    assert re.search(rf"\b{field.name}\b", told), f"{kind.__name__}.{field.name}"
    assert checked > 50


def test_every_case_has_a_picture_and_is_in_the_gallery():
    gallery = (DOCS / "gallery.md").read_text()
    for page in (DOCS / "cases").glob("*.md"):
        if page.stem != "README":
            assert "../images/" in page.read_text(), page.name
            assert f"(cases/{page.name})" in gallery, page.name


@pytest.mark.slow
def test_site_is_built_without_a_warning(tmp_path):
    for module in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
        pytest.importorskip(module)
    command = [sys.executable, "-m", "mkdocs", "build", "-f", "docs/site/mkdocs.yml", "--strict"]
    command += ["--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    beam = (tmp_path / "site" / "theory" / "beam.html").read_text()
    assert beam.count("<math ") > 100
    assert "arithmatex" not in beam
    home = (tmp_path / "site" / "index.html").read_text()
    assert "satellite_deployment_motion.png" in home
    model = (tmp_path / "site" / "reference" / "python" / "models_and_cases.html").read_text()
    assert 'id="femb.model.model.Model"' in model
    assert (tmp_path / "site" / "repository" / "cases" / "satellite_forced.toml.txt").is_file()


@pytest.mark.slow
def test_pyright_passes_on_the_tutorials(tmp_path):
    if shutil.which("pyright") is None or subprocess.run(["pyright", "--version"], capture_output=True).returncode:
        pytest.skip("pyright is not installed")
    pages = [ROOT / "README.md", *(DOCS / "tutorials").glob("*.md")]
    for page in pages:
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        (tmp_path / f"{page.stem}.py").write_text("\n".join(blocks))
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ["pyright", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
