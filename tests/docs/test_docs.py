"""The documentation works: its code runs, its commands run, its links lead somewhere."""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
import shared_runs
from added_files import with_added
from checkout import ROOT
from click.testing import CliRunner
from matplotlib.figure import Figure
from oracles import page_numbers

from femb import Results, simulate
from femb.cli import cli
from femb.pictures.figures import request, rows
from femb.results.groups import groups

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
# The page that adds files to femb: the code of its sections runs in copies of it.
ADDING = ROOT / "docs" / "howto" / "extend.md"
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
# Pages of which all blocks run otherwise: in these copies, and as cells of notebooks, whose output is compared.
ELSEWHERE = (ADDING, *(path.with_suffix(".md") for path in NOTEBOOKS))
# Long runs, of cases that other tests follow too, over a shorter time or with fewer outputs.
LONG = (
    "compare_formulations.md", "correlate.md", "deployment.md", "design_sweep.md", "export.md",
    "finite_elements_to_slew.md", "flexible_rotor.md", "hamiltonian.md", "index.md", "lees_frame.md",
    "lightest_boom.md", "linearise.md", "loads.md", "modal.md", "modes.md", "python.md", "report.md", "robust.md",
    "rod_on_springs.md", "run_a_case.md", "satellite_with_two_arrays.md", "statics.md",
    "sweep.md", "tape_spring.md", "trees.md", "what_it_takes.md", "worst_case.md",
)  # fmt: skip
FEW_CASES = ("cantilever_tip_load.md",)
# Those of which the Python blocks alone are long: runs of many swings, and sweeps of models.
LONG_SCRIPTS = (
    "buckling_panel.md", "control.md", "joint_springs.md", "loop.md", "pointing_budget.md", "rotors.md",
    "thruster_limit_cycle.md",
)  # fmt: skip
FENCE = re.compile(r"^```(\w+)?[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def write_files(page: Path) -> None:
    """Write the files of a page, blocks with a title, and those of pages it goes on from, to the current folder."""
    for other in re.findall(r"^<!-- files of (\S+) -->$", page.read_text(), re.MULTILINE):
        write_files(page.parent / other)
    modules = [(title, text) for title, text in blocks(page, "python") if title.endswith(".py")]
    for title, text in blocks(page, "toml") + blocks(page, "text") + modules:
        if title.startswith("title="):
            Path(title.removeprefix("title=")).write_text(text)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(page: Path | str, language: str) -> list[tuple[str, str]]:
    """(what follows the language, text) of the fenced blocks of a language, of a page or its text."""
    whole = page if isinstance(page, str) else page.read_text()
    return [(m[2].strip(), m[3]) for m in FENCE.finditer(whole) if m[1] == language]


def commands(page: Path | str) -> list[str]:
    """Lines of bash blocks that call femb, without what only sets up."""
    return [line for _, text in blocks(page, "bash") for line in commands_of(text)]


def commands_of(text: str) -> list[str]:
    """The same of one block."""
    parts = [part.strip() for line in text.replace("\\\n", " ").splitlines() for part in line.split("&&")]
    return [part for part in parts if part.startswith("femb ")]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder like a checkout, where pages may write; figures are small and roughly laid out, for time."""
    (tmp_path / "cases").symlink_to(ROOT / "cases")
    monkeypatch.chdir(tmp_path)
    save = Figure.savefig

    def saved(figure, *arguments, **options):
        if "format" not in options:  # no frame of an animation
            figure.set_layout_engine("none")
            options["dpi"] = 30
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", saved)
    return tmp_path


def read_analysis(line: str) -> tuple[str, str, tuple[str, ...], Path]:
    """Command with its other words, case, overrides and folder of the results of a line of an analysis."""
    _, verb, case, *words = shlex.split(line)
    overrides, out, rest = [], Path("out") / Path(case).stem, iter(words)
    for word in rest:
        if word == "--set":
            overrides.append(next(rest))
        elif word == "--out":
            out = Path(next(rest))
        else:
            verb += f" {word}"
    return verb, case, tuple(overrides), out


def continues(line: str) -> bool:
    """Whether a command goes on with a run, for which no other page's results stand in."""
    return bool({"--resume", "--extend"} & set(shlex.split(line)))


def words_of(line: str) -> list[str]:
    """Those behind ``femb``; each process of a study takes longer to start than all runs of a page."""
    words = shlex.split(line)[1:]
    return [*words, "--workers", "0"] if words[0] == "sweep" else words


def invoke(line: str, wanted: int = 0, short: bool = False) -> str:
    """Output of a command of a page; that of an analysis, and its results, may come from another page's.

    short : a run, of which nothing is compared, is the first hundredth of the case's, as tests/cases starts it too.
    """
    words = shlex.split(line)[1:]
    if words[0] in ("run", "inverse", "static") and (ROOT / words[1]).exists() and not continues(line):
        verb, case, overrides, out = read_analysis(line)
        if short:
            overrides += shared_runs.start_of(ROOT / case)
        code, output, file = shared_runs.command(verb, case, overrides)
        out.mkdir(parents=True, exist_ok=True)
        (out / file.name).unlink(missing_ok=True)
        shutil.copyfile(file, out / file.name)
        output = output.replace("OUT", str(out))
    else:
        result = CliRunner().invoke(cli, words_of(line))
        code, output = result.exit_code, result.output
    assert code == wanted, f"{line}\n{output}"
    return output


# Packages of extras that pages use, by extra.
EXTRAS = {
    "fe": "pyyeti", "fem": "skfem", "fmu": "pythonfmu", "pandas": "pandas", "xarray": "xarray", "control": "control",
}  # fmt: skip


def without_extras(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide packages that a tutorial, or the README, does not tell its reader to install: femb alone is there."""
    if page.parent.name == "tutorials" or page.name == "README.md":
        told = re.findall(r"pip install 'femb\[([\w,]+)\]'", page.read_text())
        for extra, module in EXTRAS.items():
            if extra not in ",".join(told).split(","):
                monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=named(page), marks=[pytest.mark.slow] if page.name in (*LONG, *LONG_SCRIPTS) else [])
        for page in PAGES
        if blocks(page, "python") and page not in ELSEWHERE
    ],
)
def test_python_blocks_run(page, workplace, monkeypatch):
    write_files(page)
    monkeypatch.syspath_prepend(str(workplace))
    without_extras(page, monkeypatch)
    texts = [text for _, text in blocks(page, "python")]
    for line in commands(page):
        if continues(line):
            continue
        if line.startswith(("femb run", "femb inverse")) and any(str(read_analysis(line)[3]) in text for text in texts):
            invoke(line)
    if page.parent.name == "tutorials":
        for line, _ in steps(page):
            if line.startswith(("femb reduce", "femb sweep")):
                invoke(line)
    namespace: dict[str, object] = {"__name__": "page"}
    for number, text in enumerate(texts, start=1):
        exec(compile(text, f"{page.name}, block {number}", "exec"), namespace)


def steps(page: Path) -> list[tuple[str, str | None]]:
    """Commands of the bash and console blocks of a page in their order; of the latter with the output printed."""
    found: list[tuple[str, str | None]] = []
    for match in FENCE.finditer(page.read_text()):
        if match[1] == "bash":
            found += [(line, None) for line in commands_of(match[3])]
        elif match[1] == "console":
            for each in re.split(r"^\$ ", match[3], flags=re.MULTILINE)[1:]:
                command, _, output = each.partition("\n")
                found.append((command, output))
    return list(dict.fromkeys(found))


TEXTS = [page.read_text() for page in PAGES]


def is_free(page: Path, command: str) -> bool:
    """Whether a command is a run of which no number or printed output of a page says anything in the quick tests, and
    for which the page sets no duration, as it does where two runs are compared."""
    if (
        not command.startswith("femb run")
        or continues(command)
        or any(printed is not None for _, printed in steps(page))
    ):
        return False
    _, case, overrides, _ = read_analysis(command)
    if any(each.startswith("run.duration") for each in overrides):
        return False
    numbers = [each for text in TEXTS for each in page_numbers.numbers_of(text) if not each.slow]
    return (Path(case).stem, overrides) not in [(each.case, each.overrides) for each in numbers]


def is_long(page: Path) -> bool:
    """Whether the commands of a page are left to the long tests: those too that run and draw a case, without printed
    output. Every case is started by tests/cases, and its numbers are compared below."""
    draws = page.parent.name == "cases" and all(printed is None for _, printed in steps(page))
    return page.name in LONG or (draws and page.name not in FEW_CASES)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=named(page), marks=[pytest.mark.slow] if is_long(page) else [])
        for page in PAGES
        if page not in ELSEWHERE and steps(page)
    ],
)
def test_commands_do_what_the_page_says(page, workplace, monkeypatch):
    write_files(page)
    without_extras(page, monkeypatch)
    for command, printed in steps(page):
        stops = printed is not None and "the run stopped" in printed
        given = invoke(command, int(stops), short=is_free(page, command))
        problem = None if printed is None else page_numbers.output_problem(printed, given)
        assert problem is None, f"{named(page)}: {command}\n{problem}"


NUMBERS = [
    pytest.param(page, each, id=f"{page.stem}-{each.case}", marks=[pytest.mark.slow] if each.slow else [])
    for page in PAGES
    for each in page_numbers.numbers_of(page.read_text())
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "numbers"), NUMBERS)
def test_numbers_are_those_of_the_program(page, numbers):
    """Every number that a page says where it has it from, see page_numbers."""
    shown = page_numbers.visible(page.read_text())
    (case,) = (ROOT / "cases").glob(f"{numbers.case}.*")
    _, output, file = shared_runs.command("run", f"cases/{case.name}", numbers.overrides)
    assert file.exists(), output
    names = page_numbers.names_of(Results.read(file))
    problems = [page_numbers.problem_of(line, names) for line in numbers.lines]
    for number, _, _ in numbers.lines:
        if not re.search(rf"(?<![\d.]){re.escape(number)}(?![\d]|\.\d|e-?\d)", shown):
            problems.append(f"{number} is not on the page")
    assert not any(problems), "\n".join(filter(None, problems))


def test_lines_of_tasks_are_as_many_as_the_page_says():
    """Of the longest block of code of each task, without blank lines and comments."""
    page = ROOT / "docs" / "howto" / "what_it_takes.md"
    text = page.read_text()
    rows = re.findall(r"^\| .* \| \[.*\]\(([^)]+)\) \| (\d+) \| \d* \| [\d.]+ \|$", text, re.MULTILINE)
    assert len(rows) == 13
    for target, count in rows:
        path, _, title = target.partition("#")
        section = (page.parent / path).read_text() if path else text
        if title:
            titles = {
                re.sub(r"[^a-z0-9 -]", "", part.splitlines()[0].lower()).replace(" ", "-"): part
                for part in section.split("\n## ")
            }
            section = titles[title]
        codes = [m[3] for m in FENCE.finditer(section) if m[1] in ("toml", "python")]
        lines = [
            sum(bool(line.strip()) and not line.strip().startswith("#") for line in code.splitlines()) for code in codes
        ]
        assert max(lines) == int(count), target
        assert max(lines) < 40, "a short task takes no more"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::femb.FembWarning")
def test_steps_of_tasks_are_as_many_as_the_page_says(tmp_path, monkeypatch):
    """Of the tasks that are case files, up to a tenth: they depend on the last digits of the processor."""
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "howto" / "what_it_takes.md"
    rows = re.findall(r"^\| .* \| \[.*\]\(([^)]+)\) \| \d+ \| (\d+) \| [\d.]+ \|$", page.read_text(), re.MULTILINE)
    said = [int(steps) for _, steps in rows]
    files: list[str] = []
    for target in dict.fromkeys(["", *(target.partition("#")[0] for target, _ in rows)]):
        text = (page.parent / target).read_text() if target else page.read_text()
        for name, block in re.findall(r"```(?:toml|text) title=(\S+)\n(.*?)```", text, re.DOTALL):
            Path(name).write_text(block)
            files += [name] if name.endswith(".toml") and "[run]" in block else []
    steps = [simulate(name).statistics["steps"] for name in files]
    for _, code in blocks(page, "python"):
        if "femb.simulate(" in code:
            exec(code, namespace := {})
            steps.append(namespace["results"].statistics["steps"])
    assert [number for number in said if not any(abs(number - each) <= 0.1 * each for each in steps)] == []


def test_stale_numbers_are_found():
    """The comparison itself: what is off by one in its last digit, or no longer a bound, is told."""
    names = {"x": 2.7333769, "steps": 1941}
    for line in (("2.733", "=", "x"), ("2.7e0", "=", "x"), ("2000", "~", "steps"), ("3", ">", "x")):
        assert page_numbers.problem_of(line, names) is None
    for line in (("2.734", "=", "x"), ("2.73338", ">", "x * 1e3"), ("1500", "~", "steps"), ("4e-7", ">", "x * 1e-6")):
        assert page_numbers.problem_of(line, names) is not None
    assert page_numbers.output_problem("a  1.25 Hz\nwall time 3 s", "a 1.25 Hz\nwall time 9 s\n") is None
    assert page_numbers.output_problem("a 4.50139", "a 4.50141") is not None
    assert page_numbers.output_problem("a 1.25", "b 1.25") is not None
    output = "head\n\na 1.25\nb 2.5\nc\n"
    for printed in ("head\n...\nc", "...\nb 2.5\n...", "head\na 1.25\n...\nc", "...\na 1.25\n...\nb 2.5\nc"):
        assert page_numbers.output_problem(printed, output) is None, printed
    for printed in ("a 1.25\n...", "...\nb 2.5", "...\nb 2.5\n...\na 1.25\n...", "head\n...\nb 2.9\n..."):
        assert page_numbers.output_problem(printed, output) is not None, printed


def with_line(text: str, difference: str) -> str:
    """A text with the one line that a difference adds behind another."""
    (before, kept), (sign, added) = ((line[0], line[1:]) for line in difference.splitlines())
    assert (before, sign) == (" ", "+"), difference
    assert f"\n{kept}\n" in text, difference
    return text.replace(f"\n{kept}\n", f"\n{kept}\n{added}\n", 1)


# Scripts and commands in one process.
IN_TURN = """
import runpy, shlex, sys
from click.testing import CliRunner
from femb.cli import cli

for line in sys.argv[1:]:
    if line.endswith(".py"):
        runpy.run_path(line, run_name="__main__")
    else:
        result = CliRunner().invoke(cli, shlex.split(line)[1:])
        print(result.output)
        assert result.exit_code == 0, f"{line}: {result.output}"
"""


def sections_of(page: Path) -> dict[str, str]:
    """The parts of a page below headings of the second level."""
    return dict(part.split("\n", 1) for part in page.read_text().split("\n## ")[1:])


@pytest.mark.parametrize(
    "title",
    [pytest.param(title, marks=[] if title == "Add a load" else [pytest.mark.slow]) for title in sections_of(ADDING)],
)
def test_what_is_added_works_as_its_section_says(title, tmp_path):
    """The new files, the line in a catalogue, uses in Python, the contract of items, cases, and commands then."""
    page = sections_of(ADDING)[title]

    def write(name, change):
        path = tmp_path / name.removeprefix("title=")
        path.parent.mkdir(parents=True, exist_ok=True)
        original = path if path.exists() else ROOT / path.relative_to(tmp_path)
        path.write_text(change(original.read_text() if original.exists() else ""))

    uses = []
    for linked in dict.fromkeys(re.findall(r"\]\(added/([\w/]+\.py)\)", page)):
        (tmp_path / linked).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ADDING.parent / "added" / linked, tmp_path / linked)
        uses += [linked] * linked.startswith("use_")
    for name, text in blocks(page, "python"):
        if not name.endswith(".py"):
            uses.append(f"use_{len(uses)}.py")
            name = uses[-1]
        write(name, lambda before, text=text: before + text)
    for name, text in blocks(page, "diff"):
        write(name, lambda before, text=text: with_line(before, text))
    cases = [f"case{k or ''}.toml" for k in range(len(blocks(page, "toml")))]
    for case, (_, text) in zip(cases, blocks(page, "toml"), strict=True):
        (tmp_path / case).write_text(text)
    then = commands(page)
    if title == "Add an element":
        results = f"out/{Path(cases[-1]).stem}"
        then += [f"femb export {results}", f"femb picture {results}", f"femb plot {results} --what strains"]
    output = with_added(tmp_path, "-c", IN_TURN, *uses, *(f"femb run {case}" for case in cases), *then)
    assert output.count("complete") == len(cases)
    if title == "Add an element":
        assert "strains.png" in output
        kinds = ("-k", "TimoshenkoBeam", "-n0", "-q", "-p", "no:cacheprovider")
        assert " passed" in with_added(tmp_path, "-m", "pytest", "tests/contracts/test_items.py", *kinds)


def test_files_that_pages_name_exist():
    names = {
        path.name for folder in ("femb", "elements", "tests", "docs", "cases") for path in (ROOT / folder).rglob("*.py")
    }
    missing = []
    for page in PAGES:
        text = page.read_text()
        # a line with a file and a colon announces a file that the page makes
        made = re.findall(r"title=(\S+\.py)|^`(\S+\.py)`:$", text, re.MULTILINE)
        added = {(one or other).rpartition("/")[2] for one, other in made} | {"NAME.py"}
        for word in re.findall(r"`([\w/]+\.py)`", text):
            known = (
                (ROOT / word).exists()
                if word.startswith(("femb/", "elements/", "tests/"))
                else word.rpartition("/")[2] in names
            )
            if not known and word.rpartition("/")[2] not in added:
                missing.append(f"{named(page)}: {word}")
    assert missing == []


def test_toml_of_the_readme_and_how_tos_is_read(workplace):
    body = "[bodies.hub]\nmass = 1.0\ninertia = 1.0\n"
    boom = (
        "[beams.boom]\nsection = 'tube'\nlength = 1.0\nstart = { body = 'hub', direction = [1, 0, 0] }\n"
        "[sections.tube]\n"
        "axial_stiffness = 1e5\ntorsional_stiffness = 1.0\nbending_stiffness = [1.0, 1.0]\nmass_per_length = 1.0\n"
        "inertia_per_length = [2e-3, 1e-3, 1e-3]\n"
    )
    for page in PAGES:
        for number, (title, text) in enumerate(blocks(page, "toml") if page != ADDING else []):
            if title.startswith("title="):
                continue
            file = workplace / f"{page.stem}_{number}.toml"
            more = boom if "[modal_damping" in text or 'beam = "boom"' in text else ""
            if "[run.output]" in text:
                more = boom.replace("beams.boom", "beams.right")
            file.write_text(text if "[bodies" in text else body + more + text)
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


@pytest.mark.slow
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


@pytest.mark.parametrize("script", ["write_quantities.py", "write_folders.py"])
def test_lists_are_those_of_the_program(script):
    written = runpy.run_path(str(ROOT / "docs" / script))
    assert written["PAGE"].read_text() == written["page"](), f"run python docs/{script}"


def test_the_page_of_results_has_the_quantities_of_every_table():
    page = (ROOT / "docs" / "reference" / "results.md").read_text()
    assert set(groups()) == {
        kind for kinds in re.findall("<!-- quantities of (.*) -->", page) for kind in kinds.split()
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_have_the_text_of_their_pages_and_the_output_that_these_print(path):
    page, made = path.with_suffix(".md"), json.loads(path.read_text())
    bare = [{**cell, "outputs": [], "execution_count": None} if "outputs" in cell else cell for cell in made["cells"]]
    script = runpy.run_path(str(ROOT / "docs" / "write_notebooks.py"))
    assert bare == script["notebook"](page.read_text(), run=False)["cells"], "run python docs/write_notebooks.py"
    code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = {"".join(cell["source"]): "".join(cell["outputs"][0]["text"]) for cell in code if cell["outputs"]}
    for command, printed in steps(page):
        if printed is not None and f"!{command}" in outputs:
            assert page_numbers.output_problem(printed, outputs[f"!{command}"]) is None
    assert f"]({path.name})" in page.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_print_what_they_say(path, workplace, monkeypatch):
    """Executed again, commands in this process: numbers as on pages; times are not compared."""
    script = runpy.run_path(str(ROOT / "docs" / "write_notebooks.py"))
    without_extras(path.with_suffix(".md"), monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")

    def run(line, shell=False, **options):
        if not shell:
            return others(line, **options)
        code, stdout, stderr = shared_runs.invoked(*words_of(line.replace(f'"{sys.executable}" -m ', "")))
        assert code == 0, stderr
        return subprocess.CompletedProcess(line, code, stdout)

    others = subprocess.run
    monkeypatch.setattr(subprocess, "run", run)
    again = script["notebook"](path.with_suffix(".md").read_text())
    for cell, other in zip(json.loads(path.read_text())["cells"], again["cells"], strict=True):
        for printed, given in zip(cell.get("outputs", []), other.get("outputs", []), strict=True):
            assert page_numbers.output_problem("".join(printed["text"]), "".join(given["text"])) is None, cell["source"]


def test_every_picture_is_shown():
    shown = {target for page in PAGES for target in re.findall(r"images/(\w+\.(?:png|webp))", page.read_text())}
    assert {path.name for path in (ROOT / "docs" / "images").glob("*")} == shown


@pytest.mark.slow
def test_node_figures_show_rates_of_what_they_show():
    """The figure `nodes` of the satellite: the quantities of the source's chapter 4, all five nodes."""
    overrides = ("run.duration=2.0", "run.output_interval=0.001")
    results = Results.read(shared_runs.command("run", "cases/satellite_forced.toml", overrides)[2])
    shown = rows(results, request(results, "nodes"))
    assert [len(row) for row in shown] == [3, 3, 4, 4, 3, 3]
    assert all(panel.labels == ["left[2]", "left[1]", "hub", "right[1]", "right[2]"] for row in shown for panel in row)
    for quantities, rates in zip(shown[::2], shown[1::2], strict=True):
        size = max(np.abs(panel.values).max() for panel in rates)
        for quantity, rate in zip(quantities, rates, strict=True):
            difference = (quantity.values[2:] - quantity.values[:-2]) / 0.002
            np.testing.assert_allclose(rate.values[1:-1], difference, atol=1e-4 * size, err_msg=rate.title)
    # the ends first and last, the hub in the middle
    displacement = np.stack([panel.values for panel in shown[0]], axis=-1)
    np.testing.assert_allclose(displacement[:, 2], 0.0, atol=1e-9)
    np.testing.assert_allclose(displacement[:, 0], -displacement[:, 4], atol=1e-9)


def test_pages_that_the_code_names_exist():
    for source in [*(ROOT / "femb").rglob("*.py"), *(ROOT / "elements").glob("*.py")]:
        for target in re.findall(r"docs/[\w/]+\.md", source.read_text()):
            assert (ROOT / target).exists(), f"{named(source)}: {target}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "theory").glob("*.md")), ids=lambda page: page.stem)
def test_equations_are_numbered_in_their_order(page):
    numbers = [int(n) for n in re.findall(r"\\tag\{(\d+)\}", page.read_text(encoding="utf-8"))]
    assert numbers == [numbers[0] + at for at in range(len(numbers))]


def test_indented_examples_of_plain_text_are_dedented():
    # a code block that starts with spaces would show them
    for page in PAGES:
        for _, text in blocks(page, "python"):
            assert text == textwrap.dedent(text), named(page)
