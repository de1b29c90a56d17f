"""Sections of files in case files: paths, stations, results, and what is wrong, with the line."""

from dataclasses import replace

import numpy as np
import pytest
from models import refuses

import femb
from femb.case import CaseError, load_case

# sections that are linear between stations, as tables of blades are
pytestmark = pytest.mark.filterwarnings("ignore:beams.* and is linear there")

K, M = np.diag([1e6, 4e5, 4e5, 100.0, 200.0, 300.0]), np.diag([2.0, 2.0, 2.0, 0.03, 0.01, 0.02])
Z_ALONG = [1, 2, 0, 4, 5, 3]  # x = our y, y = our z, z = our x


def rows(*matrices):
    return "".join("".join(" ".join(map(repr, map(float, row))) + "\n" for row in each) + "\n" for each in matrices)


def becas(scale=1.0):
    return rows(*(scale * each[np.ix_(Z_ALONG, Z_ALONG)] for each in (K, M)))


def vabs(scale=1.0):
    return f"The 6X6 Mass Matrix\n\n{rows(scale * M)} Timoshenko Stiffness Matrix\n\n{rows(scale * K)}"


def beamdyn(ends=(1.0, 0.5), places=(0.0, 1.0)):
    stations = "".join(f" {place}\n{becas(scale)}" for place, scale in zip(places, ends, strict=True))
    return f"BEAMDYN\n 2 station_total\n 0 damp_type\n --- DISTRIBUTED PROPERTIES ---\n{stations}"


def table(ends=(1.0, 0.5), places=(0.0, 2.0)):
    names = [f"{word}{k}{k}" for word in "KM" for k in range(1, 7)]
    lines = [",".join(["station", *names])]
    for place, scale in zip(places, ends, strict=True):
        lines.append(",".join(map(repr, map(float, [place, *(scale * np.diag(K)), *(scale * np.diag(M))]))))
    return "\n".join(lines) + "\n"


TAPERED = 'sections = ["root", "tip"]\nstations = [0.0, 2.0]'


def case(folder, sections, before="", files=None, length="length = 2.0"):
    """The path of a case in a folder, with files beside it."""
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    text = f"""{before}
[beams.blade]
kind = "exact"
{sections}
{length}
elements = 3
start = {{ body = "ground", direction = [1, 0, 0] }}

[loads.pull]
beam = "blade"
force = [1.0, 3.0, 2.0]
"""
    path = folder / "blade.toml"
    path.write_text(text)
    return path


def named(*files):
    return "".join(f'[sections.{name}]\nfile = "{file}"\n' for name, file in zip(("root", "tip"), files, strict=True))


def tip_of(path):
    return femb.static(load_case(path).model, steps=1).beams["blade"].position[-1, -1]


def test_all_formats_describe_the_same_blade(tmp_path, monkeypatch):
    """Paths are relative to the case file, not to where the command runs."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ways = [
        ('sections = "data/blade.dat"', "", {"data/blade.dat": beamdyn()}),
        ('sections = "blade.csv"', "", {"blade.csv": table()}),
        (TAPERED, named("root.K", "tip.K"), {"root.K": vabs(), "tip.K": vabs(0.5)}),
        (TAPERED, named("root.txt", "tip.txt"), {"root.txt": becas(), "tip.txt": becas(0.5)}),
    ]
    tips = [tip_of(case(tmp_path, sections, before, files)) for sections, before, files in ways]
    assert np.ptp(tips, axis=0).max() < 1e-12
    # and with the sections written in the case file
    written = "".join(
        f"[sections.{name}]\nstiffness_matrix = {(scale * K).tolist()}\nmass_matrix = {(scale * M).tolist()}\n"
        for name, scale in (("root", 1.0), ("tip", 0.5))
    )
    np.testing.assert_allclose(tip_of(case(tmp_path, TAPERED, written)), tips[0], atol=1e-12)


@pytest.mark.parametrize(("name", "text"), [("s.K", vabs()), ("s.txt", becas())])
def test_a_file_of_one_section_makes_a_uniform_beam(tmp_path, name, text):
    beam = load_case(case(tmp_path, f'sections = "{name}"', "", {name: text})).model.beams["blade"]
    assert beam.uniform
    np.testing.assert_allclose(beam.section.stiffness_matrix, K)


def test_parts_of_the_length_of_a_path(tmp_path):
    """Stations of BeamDyn along a path, whose length follows from it."""
    path = case(tmp_path, 'sections = "b.dat"', "", {"b.dat": beamdyn()}, "path = { radius = 3.0, angle = 0.5 }")
    np.testing.assert_allclose(load_case(path).model.beams["blade"].stations, (0.0, 1.5))


def test_other_keys_of_a_section_of_a_file(tmp_path):
    before = '[sections.root]\nfile = "s.K"\ndamping = 0.01\nexpansion = 1e-5\nshape = { rectangle = [0.1, 0.2] }\n'
    found = load_case(case(tmp_path, 'section = "root"', before, {"s.K": vabs()})).model.section_of
    section = found(load_case(tmp_path / "blade.toml").model.beams["blade"])
    assert (section.damping, section.expansion) == (0.01, 1e-5)


def test_a_changed_section_keeps_its_file(tmp_path):
    (tmp_path / "s.K").write_text(vabs())
    section = femb.Section("s", file=str(tmp_path / "s.K"))
    assert replace(section, damping=0.5).damping == 0.5
    refuses("stiffness_matrix: given beside 'file', which has it", replace, section, stiffness_matrix=2.0 * K)


@pytest.mark.parametrize("name", ["s.K", "s.txt", "b.dat", "b.csv"])
def test_damaged_files_are_refused_or_read(tmp_path, name):
    """Truncated, with characters exchanged, and with lines removed: a section or one message."""
    text = {"s.K": vabs(), "s.txt": becas(), "b.dat": beamdyn(), "b.csv": table()}[name]
    rng, file, refused = np.random.default_rng(3), tmp_path / name, 0
    for k in range(60):
        where = int(rng.integers(len(text)))
        changed = text[:where]
        if k % 3 == 1:
            changed += "x-9e. \n,"[int(rng.integers(8))] + text[where + 1 :]
        elif k % 3 == 2:
            changed += text[where:].partition("\n")[2]
        file.write_text(changed)
        try:
            femb.read_sections(file, length=2.0)
        except femb.ModelError as error:
            refused += str(error).startswith(str(file))
        else:
            refused += 1
    assert refused == 60


NOT_DEFINITE = beamdyn(ends=(1.0, -0.5))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"sections": 'sections = "none.dat"'},
            r":4: beams\.blade\.sections: .*none.dat: cannot be read: No such file",
        ),
        (
            {"sections": 'sections = "b.csv"', "files": {"b.csv": table(places=(2.0, 0.0))}},
            r":4: beams\.blade\.sections: .*b.csv: stations out of order: 0 m follows 2 m",
        ),
        (
            {"sections": 'sections = "b.csv"', "files": {"b.csv": table(places=(0.0, 1.5))}},
            r"beams\.blade\.stations: got stations from 0 to 1.5 m, wanted from 0 to 2 m, the length of the beam",
        ),
        (
            {"sections": 'sections = "b.dat"', "files": {"b.dat": NOT_DEFINITE}},
            r":4: beams\.blade\.sections: .*b.dat: station 2, at 2 m, stiffness_matrix: must be positive definite",
        ),
        (
            {"sections": 'sections = "b.dat"', "files": {"b.dat": "BEAMDYN\nx station_total\n"}},
            r":4: beams\.blade\.sections: .*wanted station_total",
        ),
        (
            {"sections": 'sections = "b.dat"\nstations = [0.0, 2.0]', "files": {"b.dat": beamdyn()}},
            r":5: beams\.blade\.stations: given beside the file .*b.dat' of sections, which says it",
        ),
        (
            {"sections": 'sections = "s.K"\nsection = "root"', "files": {"s.K": vabs()}},
            r":5: beams\.blade\.section: given beside the file",
        ),
        (
            {"sections": 'section = "root"', "before": named("b.dat", "b.dat"), "files": {"b.dat": beamdyn()}},
            r":2: sections\.root\.file: .*has 2 stations, wanted one section: give the file as 'sections' of a beam",
        ),
        (
            {"sections": TAPERED, "before": named("s.K", "t.K"), "files": {"s.K": vabs(), "t.K": vabs(-1.0)}},
            r":4: sections\.tip\.file: .*t.K: stiffness_matrix: must be positive definite",
        ),
        (
            {
                "sections": 'section = "root"',
                "before": named("s.K", "s.K") + "density = 3.0\n",
                "files": {"s.K": vabs()},
            },
            r":5: sections\.tip\.density: given beside 'mass_matrix'",
        ),
        ({"sections": "sections = 3"}, r":4: beams\.blade\.sections: got 3, wanted two or more sections or names"),
        (
            {"sections": 'sections = "b.dat"', "files": {"b.dat": beamdyn()}, "length": ""},
            r"beams\.blade\.length: is missing",
        ),
    ],
)
def test_what_is_refused_with_its_line(tmp_path, words, message):
    refuses(message, load_case, case(tmp_path, **words), error=CaseError)
