"""The documentation works: its code runs, its commands run, its links lead somewhere."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from click.testing import CliRunner

from femb.cli import cli

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
ELEMENT_PAGE = ROOT / "docs" / "howto" / "add_an_element.md"
FENCE = re.compile(r"^```(\w+)?[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """(what follows the language, text) of the fenced blocks of a language."""
    return [(m[2].strip(), m[3]) for m in FENCE.finditer(page.read_text()) if m[1] == language]


def commands(page: Path) -> list[str]:
    """Lines of bash blocks that call femb, without what only sets up."""
    found = []
    for _, text in blocks(page, "bash"):
        for line in text.replace("\\\n", " ").splitlines():
            found += [part.strip() for part in line.split("&&") if part.strip().startswith("femb ")]
    return found


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder like a checkout, where pages may write."""
    (tmp_path / "cases").symlink_to(ROOT / "cases")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(line: str) -> None:
    result = CliRunner().invoke(cli, shlex.split(line)[1:])
    assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python") and page != ELEMENT_PAGE], ids=named)
def test_python_blocks_run(page, workplace):
    for line in commands(page):
        if line.startswith(("femb run", "femb inverse")):
            invoke(line)
    namespace: dict[str, object] = {"__name__": "page"}
    for number, (_, text) in enumerate(blocks(page, "python"), start=1):
        exec(compile(text, f"{page.name}, block {number}", "exec"), namespace)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=named)
def test_commands_run(page, workplace):
    for line in dict.fromkeys(commands(page)):
        invoke(line)


def test_added_element_runs_as_its_page_says(tmp_path):
    shutil.copytree(ROOT / "femb", tmp_path / "femb", symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "elements", tmp_path / "elements", ignore=shutil.ignore_patterns("__pycache__"))
    text = {title.removeprefix("title="): block for title, block in blocks(ELEMENT_PAGE, "python")}
    (tmp_path / "elements" / "attractor.py").write_text(text["elements/attractor.py"])
    with (tmp_path / "elements" / "__init__.py").open("a") as catalogue:
        catalogue.write(text["elements/__init__.py"])
    (tmp_path / "use.py").write_text(text["use"])
    (tmp_path / "case.toml").write_text(blocks(ELEMENT_PAGE, "toml")[0][1])
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for arguments in (["use.py"], ["-m", "femb", "run", "case.toml"]):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert "complete" in done.stdout


def test_toml_of_the_readme_and_how_tos_is_read(workplace):
    body = "[bodies.hub]\nmass = 1.0\ninertia = 1.0\n"
    for page in PAGES:
        for number, (_, text) in enumerate(blocks(page, "toml") if page != ELEMENT_PAGE else []):
            file = workplace / f"{page.stem}_{number}.toml"
            file.write_text(text if "[bodies" in text else body + text)
            invoke(f"femb check {file}")


def anchors(page: Path) -> set[str]:
    """Names that headings of a page can be linked by."""
    text = FENCE.sub("", page.read_text())
    titles = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / unquote(path)).resolve() if path else page
        assert goal.exists(), f"{named(page)}: {target}"
        if anchor:
            assert anchor in anchors(goal), f"{named(page)}: {target}"


def test_every_page_is_reached_from_the_readme():
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        seen.add(page)
        for target in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text()):
            goal = (page.parent / target).resolve()
            if goal.exists() and goal not in seen:
                todo.append(goal)
    assert {named(page) for page in PAGES} == {named(page) for page in seen}


def test_every_picture_is_shown():
    shown = {target for page in PAGES for target in re.findall(r"images/(\w+\.png)", page.read_text())}
    assert {path.name for path in (ROOT / "docs" / "images").glob("*")} == shown


def test_node_pictures_show_rates_of_what_they_show():
    spec = importlib.util.spec_from_file_location("make_images", ROOT / "docs" / "make_images.py")
    make_images = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_images)
    results = make_images.run("satellite_forced", "run.duration=2.0", "run.output_interval=0.001")
    nodes = make_images.satellite_nodes(results)
    for name, rate in (("displacement", "velocity"), ("quaternion", "quaternion rate"), ("Euler angle", "Euler rate")):
        difference = (nodes[name][2:] - nodes[name][:-2]) / 0.002
        size = np.abs(nodes[rate]).max()
        np.testing.assert_allclose(nodes[rate][1:-1], difference, atol=1e-4 * size, err_msg=rate)
    # the ends first and last, the hub in the middle
    np.testing.assert_allclose(nodes["displacement"][:, 2], 0.0, atol=1e-9)
    np.testing.assert_allclose(nodes["displacement"][:, 0], -nodes["displacement"][:, 4], atol=1e-9)


def test_pages_that_the_code_names_exist():
    for source in [*(ROOT / "femb").rglob("*.py"), *(ROOT / "elements").glob("*.py")]:
        for target in re.findall(r"docs/[\w/]+\.md", source.read_text()):
            assert (ROOT / target).exists(), f"{named(source)}: {target}"


@pytest.mark.parametrize(
    ("page", "count"), [("beam", 33), ("constraints", 17), ("linearisation", 16), ("rigid_body", 10)]
)
def test_equations_are_numbered_as_cited(page, count):
    numbers = [int(n) for n in re.findall(r"\\tag\{(\d+)\}", (ROOT / "docs" / "theory" / f"{page}.md").read_text())]
    assert numbers == list(range(1, count + 1))


def test_indented_examples_of_plain_text_are_dedented():
    # a code block that starts with spaces would show them
    for page in PAGES:
        for _, text in blocks(page, "python"):
            assert text == textwrap.dedent(text), named(page)
