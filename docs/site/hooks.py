"""Hooks of mkdocs: what pages that also read well in the repository need on the site.

Links to files outside this folder, such as cases, lead to copies; the list of Python names leads to pages with the
whole docstrings, one for each of its groups; the home page shows the report of a run; titles of code blocks get the
quotes that the site wants; formulas become MathML, which browsers show without scripts and without a network.
"""

import html
import os
import posixpath
import re
import sys
import tempfile
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))
import write_python_reference as python_names  # noqa: E402  (of this folder)

import femb  # noqa: E402

LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")
REPORT = "reports/satellite_forced.html"  # which the home page shows
SOFT = ("sections.boom.youngs_modulus=2e7", "sections.boom.shear_modulus=8e6")
TITLE = re.compile(r"^(```\w+[ \t]+title=)([^\s\"]+)[ \t]*$", re.MULTILINE)
FORMULA = re.compile(r'<(?:span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</(?:span|div)>', re.DOTALL)
TAG = re.compile(r"\\tag\{(\w+)\}")
ALIGNED = re.compile(r"\\(begin|end)\{aligned\}")
TWO_PRIMES = re.compile(r"(_(?:\w|\{[^}]*\}))''")
SCRIPT = re.compile(r"\\mathcal (\w)")
GAINS = re.compile(r"\\mathrel\{([+-])\}=")
ACCENTS = ("\u02d9", "\u00a8", "\u0307", "\u0308", "~", "^", "\u02c6", "\u02dc", "\u20db")  # dots, tilde and hat
MATHML = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", MATHML)
NAMES = "reference/python.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of docstrings beside the list of names in the navigation."""
    for section in config.nav or []:
        for pages in section.values():
            if isinstance(pages, list) and NAMES in pages:
                pages[pages.index(NAMES)] = {"Python names": [NAMES, *map(group_page, python_names.groups())]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside this folder that pages link to, the pages of docstrings, and a report."""
    for file in list(files.documentation_pages()):
        for target in LINK.findall(Path(file.abs_src_path or "").read_text(encoding="utf-8")):
            path = outside(file.src_uri, target)
            if path is not None and path.is_file() and files.get_file_from_path(copied(path)) is None:
                files.append(
                    File.generated(config, copied(path), abs_src_path=str(path), inclusion=InclusionLevel.INCLUDED)
                )
    for title, names in python_names.groups().items():
        text = f"# {title}\n" + "".join(docstring(name) for name in names if name not in ("MATERIALS", "PLY_MATERIALS"))
        files.append(File.generated(config, group_page(title), content=text))
    files.append(File.generated(config, REPORT, content=report()))
    return files


def report() -> str:
    """The report of a run, as `femb report` writes it."""
    case = femb.load_case(ROOT / "cases" / "satellite_forced.toml", SOFT)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.h5"
        femb.simulate(case.model, case.run, case_text=case.text, out=file)
        page: Path = femb.report(femb.Results.read(file), Path(folder) / "report.html", name="satellite_forced")
        return page.read_text(encoding="utf-8")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text of a page with links to the copies, and with names that lead to their docstrings."""
    here = posixpath.dirname(page.file.src_uri)

    def link(match: re.Match[str]) -> str:
        path = outside(page.file.src_uri, match[1])
        if path is None:
            return match[1]
        inner = "index.md" if path == ROOT / "README.md" else copied(path)
        return posixpath.relpath(inner, here or ".")

    if page.file.src_uri == NAMES:
        for title, names in python_names.groups().items():
            for name in names:
                goal = f"{posixpath.relpath(group_page(title), here)}#{identifier(name)}"
                if name not in ("MATERIALS", "PLY_MATERIALS"):
                    markdown = markdown.replace(f"- `{name}`:", f"- [`{name}`]({goal}):")
    return TITLE.sub(r'\1"\2"', LINK.sub(link, markdown))


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with its formulas as MathML, and the numbers of equations beside them."""
    return FORMULA.sub(mathml, content)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The page with a name of the theme's search dialogue for those who hear it."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


def mathml(match: re.Match[str]) -> str:
    """A formula of pymdownx.arithmatex as MathML."""
    text = html.unescape(match[2])
    if match[1] == "(":
        return arranged(str(convert(lines(text))))
    formula = arranged(str(convert(lines(TAG.sub("", text)), display="block")))
    numbers = "".join(f'<span class="number">({number})</span>' for number in TAG.findall(text))
    return f'<div class="equation">{formula}{numbers}</div>'


def lines(text: str) -> str:
    """A formula with the names of aligned lines and of script letters that latex2mathml knows, and with two primes, or
    += and -=, as one sign.
    """
    text = TWO_PRIMES.sub("\\1^{\u2033}", SCRIPT.sub(r"\\mathcal{\1}", text))
    text = GAINS.sub(r"\\;\\text{\1=}\\;", text).replace("{-=}", "{\u2212=}")
    return ALIGNED.sub(r"\\\1{align*}", text)


def arranged(formula: str) -> str:
    """MathML as browsers set it: accents close to their letters, bars and signs close to what they belong to, cells of
    aligned lines at the sign of equality."""
    root = ElementTree.fromstring(formula)
    for over in root.iter(f"{{{MATHML}}}mover"):
        _, sign = over
        if (sign.text or "") in ACCENTS:
            over.set("accent", "true")
            sign.set("stretchy", "false")
    for row in root.iter():
        bars = [each for each in row if each.text == "|"]
        for bar, form in zip(bars, cycle(("prefix", "postfix")), strict=False):
            bar.set("form", form)
        for before, sign in pairwise(row):
            if sign.text == "\u2212" and before.tag.endswith("}mo") and before.text not in tuple(")]|"):
                sign.set("form", "prefix")
    for cell in root.iter(f"{{{MATHML}}}mtd"):
        if cell.get("columnalign"):
            cell.set("style", f"text-align: {cell.attrib.pop('columnalign')}; padding-inline: 0")
    return ElementTree.tostring(root, encoding="unicode")


def outside(page: str, target: str) -> Path | None:
    """The file of the repository that a link leads to, if it is outside this folder."""
    if re.match(r"[a-z]+:", target):
        return None
    path = Path(os.path.normpath(DOCS / posixpath.dirname(page) / target))
    return None if path.is_relative_to(DOCS) and path.suffix != ".py" else path


def copied(path: Path) -> str:
    """Where the site has a file of the repository: as text, which browsers show."""
    return f"repository/{path.relative_to(ROOT).as_posix()}.txt"


def group_page(title: str) -> str:
    """The page with the docstrings of a group."""
    return f"reference/python/{title.lower().replace(',', '').replace(' ', '_')}.md"


def docstring(name: str) -> str:
    """What mkdocstrings replaces by the docstring of a name, and of its methods."""
    return f"\n::: {identifier(name)}\n    options:\n      heading: femb.{name}\n      toc_label: {name}\n"


def identifier(name: str) -> str:
    """The full name of what a name of femb stands for."""
    value: Any = python_names.value_of(name)
    value = value if hasattr(value, "__qualname__") else type(value)
    return f"{value.__module__}.{value.__qualname__}"
