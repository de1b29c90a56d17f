"""The site: it builds without a warning, and the pages made from the program are up to date and complete."""

import fcntl
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from oracles.browser import PROGRAM, Browser
from shared_runs import FOLDER

import femb
from femb.base.meanings import told
from femb.case import load_case
from femb.case.build import kinds
from femb.case.schema import choices, keys_of

DOCS = ROOT / "docs"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["write_case_reference", "write_python_reference", "write_cheat_sheet"])
def test_reference_is_up_to_date(name):
    written = runpy.run_path(str(DOCS / f"{name}.py"))
    pages = written["pages"]() if "pages" in written else {written["PAGE"]: written["page"]()}
    for path, text in pages.items():
        assert path.read_text() == text, f"run python docs/{name}.py"
    if name == "write_case_reference":
        assert {*(DOCS / "reference" / "case").iterdir(), written["PAGE"]} == set(pages)


def test_case_reference_has_every_kind_and_key_with_an_example():
    for table, words in kinds().items():
        text = (DOCS / "reference" / "case" / f"{table}.md").read_text()
        for word, kind in words.items():
            title = f"## {table}: {word}" if len(words) > 1 else f"# {table}"
            section = re.search(rf"^{title}\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
            assert section, title
            assert "```text" in section[1], f"{title} has no example: add one to docs/reference/examples.toml"
            several = re.search(rf"^## Keys of several {table}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
            for key in filter(lambda key: choices(keys_of(kind)[key]), keys_of(kind)):
                own = re.search(rf"^- [^:]*`{key}`", section[1], re.MULTILINE)
                shared = several and re.search(rf"^- [^:]*`{key}`", several[1], re.MULTILINE)
                told = re.search(r"^\[Shared\]\([^)]*\): (.*)\.$", section[1], re.MULTILINE)
                has = told is None or f"`{key}`" in told[1]
                assert own or (shared and has), f"{title}: {key}"


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


def test_fields_of_descriptions_have_a_unit_or_a_meaning():
    """Every field of an item is explained beside it, in its class or in a base."""
    fields = [(kind, name) for words in kinds().values() for kind in words.values() for name in keys_of(kind)]
    assert len(fields) > 700
    assert [f"{kind.__name__}.{name}" for kind, name in fields if not told(kind, name)] == []


def test_every_page_of_cases_has_a_picture_and_is_in_their_list():
    listed = (DOCS / "cases" / "README.md").read_text()
    for page in (DOCS / "cases").glob("*.md"):
        if page.stem != "README":
            assert "../images/" in page.read_text(), page.name
            assert re.search(rf"<br>\w+\]\({page.name}[#)]", listed), page.name


def test_fields_of_descriptions_are_tables_on_the_site():
    griffe = pytest.importorskip("griffe")
    fields = runpy.run_path(str(DOCS / "site" / "fields.py"))["Fields"]()
    path = ROOT / "femb" / "base" / "options.py"
    # not griffe.load, which reads all modules of femb
    module = griffe.visit("femb.base.options", filepath=path, code=path.read_text())
    fields.on_class(cls=module["Run"])
    sections = {section.kind.value: section.value for section in module["Run"].docstring.parse("google")}
    shown = {each.name: (str(each.annotation), each.description) for each in sections["parameters"]}
    assert list(shown) == list(keys_of(femb.Run))
    assert shown["step"][0] == "float | None"
    assert shown["step"][1].startswith("s, fixed, of rk4")
    assert set(shown).isdisjoint(module["Run"].members)


@pytest.fixture(scope="module")
def site():
    """The folder of the site, built without a warning, once for all workers."""
    for module in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
        pytest.importorskip(module)
    folder = Path(os.environ[FOLDER]) / "site"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            made = folder.with_suffix(".made")
            command = [sys.executable, "-m", "mkdocs", "build", "-f", "docs/site/mkdocs.yml", "--strict"]
            done = subprocess.run([*command, "--site-dir", str(made)], cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            made.rename(folder)
    return folder


# What is wrong on a page: wider than the window, a table or a formula that does not fit and cannot be moved, or signs
# of a formula that was not understood.
WRONG = """(() => {
  const page = document.querySelector("article") || document.body;
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth + 1) found.push(`page ${document.documentElement.scrollWidth}`);
  const moves = (each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowX);
  for (const each of page.querySelectorAll("table, .equation math")) {
    let place = each.parentElement;
    while (place !== page && !moves(place)) place = place.parentElement;
    const wide = each.getBoundingClientRect().width > page.clientWidth + 1;
    if (place === page && wide) found.push(each.textContent.slice(0, 40));
  }
  for (const each of innerWidth > 1000 ? page.querySelectorAll(".equation") : [])
    if (each.scrollWidth > each.clientWidth + 1) found.push(`equation ${each.textContent.slice(0, 40)}`);
  const texts = document.createTreeWalker(page, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (text.parentElement.closest("code, pre, script, style")) continue;
    const sign = text.parentElement.closest("math") ? /[$&]/ : /[$]/;
    if (sign.test(text.data)) found.push(text.data);
  }
  return found;
})()"""


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")
def test_every_page_fits_and_search_works_from_files(site, tmp_path):
    """Opened as files at 1280 and 390 pixels: no console message, nothing too wide, no raw formula."""
    # reports of runs have tests of their own
    pages = [page for page in sorted(site.rglob("*.html")) if page.name != "404.html" and page.parent.name != "reports"]
    assert len(pages) > 100
    wrong = {}
    with Browser(tmp_path / "profile", 1280, 900) as browser:
        browser.show("minimized")
        for page in pages:
            browser.problems.clear()
            for width in (1280, 390):
                size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
                browser.call("Emulation.setDeviceMetricsOverride", **size)
                if width == 1280:
                    browser.open(page, "document.readyState === 'complete'")
                # what is measured is laid out anew at the width that the page has by then
                browser.wait(f"matchMedia('(width: {width}px)').matches")
                found = browser.value(WRONG)
                if found or browser.problems:
                    wrong[width, str(page.relative_to(site))] = [*found, *browser.problems][:3]
        assert wrong == {}
        browser.show()
        browser.call("Emulation.clearDeviceMetricsOverride")
        browser.open(site / "index.html", "document.readyState === 'complete'")
        browser.value("document.querySelector('[data-md-component=search-query]').focus()")
        browser.call("Input.insertText", text="Craig-Bampton")
        browser.wait("document.querySelectorAll('.md-search-result__item').length > 0")
        assert browser.problems == []


# A page of each kind: prose with code, formulas, tables of fields, names of Python, pictures.
KINDS = (
    "index",
    "howto/control",
    "theory/beam",
    "reference/case/joints",
    "reference/python/control_loops",
    "cases/boom_in_orbit",
)


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")
def test_pages_bar_nobody(site, tmp_path):
    """No grave finding of axe: contrast, names of what is pressed, order of titles; on light and dark screens."""
    found = {}
    with Browser(tmp_path / "profile", 1280, 900) as browser:
        for scheme in ("light", "dark"):
            media = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.call("Emulation.setEmulatedMedia", features=media)
            for kind in KINDS:
                browser.open(site / f"{kind}.html", "document.readyState === 'complete'")
                found[scheme, kind] = browser.barriers()
    assert {place: barriers for place, barriers in found.items() if barriers} == {}


@pytest.mark.slow
def test_site_is_built_without_a_warning(site):
    beam = (site / "theory" / "beam.html").read_text()
    assert beam.count("<math ") > 100
    assert "arithmatex" not in beam
    shell = (site / "theory" / "shell.html").read_text()
    assert "\N{MATHEMATICAL SCRIPT CAPITAL P}" in shell
    assert 'mathvariant="script"' not in shell  # which browsers do not show
    home = (site / "index.html").read_text()
    assert "satellite_deployment_film.webp" in home
    assert "reports/satellite_forced.html" in home
    assert "</html>" in (site / "reports" / "satellite_forced.html").read_text()[-20:]
    model = (site / "reference" / "python" / "models_and_cases.html").read_text()
    assert 'id="femb.model.model.Model"' in model
    assert (site / "repository" / "cases" / "satellite_forced.toml.txt").is_file()


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
