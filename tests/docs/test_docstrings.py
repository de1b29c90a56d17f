"""Every public name is documented: its purpose in a sentence, its parameters, shapes of arrays, units and errors.

The public names are those of femb/__init__.pyi with the catalogues of elements and exporters; of a class its public
methods, properties and fields belong to them. What a text has to say follows from the annotations and the source:

- a parameter, and a field of a dataclass, is mentioned by name; a field of a description has a unit or a text below it;
- functions of several parameters, and methods of results and analyses with four or more, have a line for each below
  ``Parameters:``, in order, and for each error below ``Raises:``, with types and defaults in the signature alone;
- an array has its shape in parentheses, as (n, 3);
- a number or an array has its unit, or a word such as ratio or factor where it has none;
- a function that raises an error of femb says which.

What the methods of a class have in common, its text may say, and what an overridden method says holds for the others.
"""

import ast
import dataclasses
import functools
import inspect
import re
from pathlib import Path

import checkout
import pytest

import femb
from femb.base.meanings import Description, field_lines, told
from femb.run.simulate import check_events

SHAPE = re.compile(r"\(\s*(?:[\w.+*/\- ]+,\s*)(?:[\w.+*/\- ]+,?\s*)*\)")
ARRAY = re.compile(r"Floats|Ints|Bools|Complexes|Complex\b|NDArray|ndarray|ArrayLike")
NUMBER = re.compile(r"\b(?:float|Floats|Complexes|Complex|ArrayLike)\b")
# Units of SI and of angles, with powers and quotients; and words of numbers that have none.
BASE = r"(?:m|s|kg|rad|N|Pa|Hz|J|W|K|g|deg|degrees?|pixels|dB)"
UNIT = re.compile(
    rf"(?<!\w)(?:1/)?{BASE}[1-9]?(?:[ /]{BASE}[1-9]?)*(?![\w'])|(?<!\w)-(?!\w)|%|SI units?|\bunits?\b|dimensionless|"
    r"\b(?:ratios?|factors?|shares?|fractions?|numbers?|relative|count|quaternions?|indices|index|percent|amplitudes?|"
    r"scale|directions?|axis|axes|exponent|instants?|rotation matri\w+|parts?|coefficients?|probability)\b"
)
REFERENCE = re.compile(r"\bas (?:of|in)\b|\bsee\b")  # to another text, which says it
ERRORS = ("ModelError", "ResultError", "SolveError", "CaseError", "FembError", "ContinuationError")


def public():
    """(name, thing, class of a member) of all public functions and classes, and of the public members of these."""
    modules = (femb.fem, femb.handover, femb.thompson)
    named = [(name, getattr(femb, name)) for name in dict.fromkeys(femb.__all__)]
    inside = [(name, getattr(module, name)) for module in modules for name in module.__all__]
    named += [(name, thing) for name, thing in inside if inspect.isfunction(thing)]
    for name, thing in named:
        if inspect.isclass(thing):
            yield name, thing, None
            yield from members(name, thing)
        elif callable(thing):
            yield name, thing if inspect.isfunction(thing) else type(thing).__call__, None


def members(name, kind):
    """The public methods and properties that a class has from femb, with the class."""
    for word in dir(kind):
        member = inspect.getattr_static(kind, word)
        owner = next(base for base in kind.__mro__ if word in vars(base))
        if word.startswith("_") or not owner.__module__.startswith("femb"):
            continue
        if isinstance(member, staticmethod | classmethod):
            member = member.__func__
        if isinstance(member, property | functools.cached_property) or inspect.isfunction(member):
            yield f"{name}.{word}", member, owner


def things():
    """(name, thing, class of a member), each thing once."""
    found = {}
    for name, thing, owner in public():
        found.setdefault(id(thing), (name, thing, owner))
    return list(found.values())


def function_of(thing):
    if isinstance(thing, property):
        return thing.fget
    return thing.func if isinstance(thing, functools.cached_property) else thing


def bases_of(kind):
    return [base for base in kind.__mro__ if base.__module__.startswith("femb")]


@functools.cache
def text_of(thing):
    """The docstring; of a class with those of the classes of femb that it is derived from."""
    if not inspect.isclass(thing):
        return inspect.getdoc(function_of(thing)) or ""
    own = (vars(base).get("__doc__") for base in bases_of(thing))
    texts = (getattr(each, "text", each) for each in own)  # of descriptions without the lines of their fields
    return "\n\n".join(inspect.cleandoc(text) for text in texts if text)


def line_of(thing, word):
    """What a description says of one of its fields: type, unit and meaning; empty without unit and meaning."""
    if not inspect.isclass(thing) or not issubclass(thing, Description):
        return ""
    line = re.search(rf"^{word}: .*", inspect.getdoc(thing), re.MULTILINE)
    return line[0] if line and told(thing, word) else told(thing, word)


def overridden_text(thing, owner):
    """What is said of a member in the classes that have it too."""
    if owner is None:
        return ""
    word = function_of(thing).__name__
    overridden = [vars(base)[word] for base in bases_of(owner) if word in vars(base)]
    overridden = [each.__func__ if isinstance(each, staticmethod | classmethod) else each for each in overridden]
    return "\n\n".join(map(text_of, overridden)).strip()


def context_of(thing, owner):
    """What is said of a member elsewhere: in the methods that it overrides, and in the class."""
    if owner is None:
        return ""
    fields = field_lines(owner) if issubclass(owner, Description) and dataclasses.is_dataclass(owner) else ""
    return f"{overridden_text(thing, owner)}\n\n{text_of(owner)}\n\n{fields}"


def hints_of(thing):
    """The annotations of parameters, or of a dataclass's fields, as texts."""
    if inspect.isclass(thing):
        if dataclasses.is_dataclass(thing):
            fields = dataclasses.fields(thing)
            return {field.name: str(field.type) for field in fields if not field.name.startswith("_")}
        thing = vars(thing).get("__init__")
    if thing is None or isinstance(thing, property | functools.cached_property):
        return {}
    parameters = list(inspect.signature(thing).parameters.values())
    return {
        each.name: each.annotation if isinstance(each.annotation, str) else str(each.annotation)
        for each in parameters
        if each.name not in ("self", "cls") and not each.name.startswith("_")
    }


def entries_of(text, heading):
    """The texts of a section, such as Parameters, by the names at the beginning of its lines; in their order."""
    section = re.search(rf"^{heading}:\n((?:    .*(?:\n|$))+)", text, re.MULTILINE)
    lines = re.sub(r"\n {8,}", " ", section[1]).splitlines() if section else []
    return {name.strip(): said.strip() for name, _, said in (line.partition(":") for line in lines)}


def not_by_lines(thing, text, hints):
    """What the sections of a function with several parameters, or with sections, leave out."""
    parameters, errors = entries_of(text, "Parameters"), entries_of(text, "Raises")
    if len(hints) < 2 and not parameters:
        return []
    problems = [] if list(parameters) == list(hints) else [f"the lines below Parameters are {', '.join(parameters)}"]
    problems += [f"{name} is not explained" for name, said in {**parameters, **errors}.items() if not said]
    return [*problems, *(f"{error} has no line below Raises" for error in raised_by(thing) if error not in errors)]


def by_lines(owner, text, hints):
    """Whether a method of a class explains its parameters a line each."""
    rooms = tuple(f"femb.{room}" for room in ("linear", "results", "run", "small_motions", "study", "vibration"))
    return "Parameters:" in text or (len(hints) > 3 and owner.__module__.startswith(rooms))


def said_of(text, name, names):
    """What a text says of a parameter: from each mention of it up to the next parameter that is explained."""
    others = "|".join(re.escape(other) for other in names if other != name)
    for mention in re.finditer(rf"(?<![\w.\"']){re.escape(name)}(?![\w\"'])", text):
        rest = text[mention.end() :]
        # names in one list are explained together
        together = re.match(r"(?:, \w+)*", rest).end()
        end = re.search(rf"[.;]?\s+(?:{others})\b[^.:;\n]{{0,40}} : ", rest[together:]) if others else None
        yield rest[: min(together + end.start() if end else 400, 400)]


@functools.cache
def functions_in(file):
    """The functions of a source file by their first lines."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {min(each.lineno for each in (node, *node.decorator_list)): node for node in functions}


def raised_by(thing):
    """The errors of femb that the source of a function, or of the check of a dataclass, raises itself."""
    if inspect.isclass(thing):
        thing = vars(thing).get("__post_init__") or vars(thing).get("__init__")
    function = function_of(thing)
    if not inspect.isfunction(function) or function.__code__.co_filename == "<string>":  # of dataclasses
        return set()
    node = functions_in(function.__code__.co_filename)[function.__code__.co_firstlineno]
    found = {ast.unparse(each.exc) for each in ast.walk(node) if isinstance(each, ast.Raise) and each.exc is not None}
    return {error for error in ERRORS for text in found if re.match(rf"{error}\b", text)}


def problems_of(thing, owner=None):
    """What the text of a public thing does not say."""
    text, context = text_of(thing), context_of(thing, owner)
    text = text or overridden_text(thing, owner)
    if not text:
        return ["no docstring"]
    problems = []
    first = " ".join(text.split("\n\n")[0].split())
    if not re.search(r"\w.*[.:]", first):
        problems.append(f"no sentence of its purpose: {first[:60]!r}")
    hints = hints_of(thing)
    if not inspect.isclass(thing) and (owner is None or by_lines(owner, text, hints)):
        problems += not_by_lines(thing, text, hints)
    for word, hint in hints.items():
        line = line_of(thing, word) or entries_of(text, "Parameters").get(word, "")
        said = [line] if line else [*said_of(text, word, hints), *said_of(context, word, hints)]
        if not said:
            problems.append(f"{word} is not mentioned")
            continue
        if ARRAY.search(hint) and not any(SHAPE.search(part) or REFERENCE.search(part) for part in said):
            problems.append(f"{word}, an array, has no shape")
        if NUMBER.search(hint) and not any(UNIT.search(part) or REFERENCE.search(part) for part in said):
            problems.append(f"{word}, a number, has no unit")
    whole = f"{text}\n\n{context}"
    if not inspect.isclass(thing):
        returned = str(function_of(thing).__annotations__.get("return", ""))
        if ARRAY.search(returned) and not SHAPE.search(whole):
            problems.append("returns an array without its shape")
        if NUMBER.search(returned) and not UNIT.search(whole):
            problems.append("returns numbers without their unit")
    return [*problems, *(f"does not say that it raises {error}" for error in raised_by(thing) if error not in whole)]


@pytest.mark.slow
def test_public_names_are_documented():
    """All at once, so that the list is complete."""
    found = things()
    assert len(found) > 500
    lines = [f"{name}: {problem}" for name, thing, owner in found for problem in problems_of(thing, owner)]
    assert not lines, "\n" + "\n".join(lines)


class Example:
    def double(self, x: "femb.base.types.Floats") -> None:
        raise femb.ModelError("none")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Double. x (n,) m : lengths. Raises ModelError: none.", []),
        (None, ["no docstring"]),
        ("Double. Raises ModelError: none.", ["x is not mentioned"]),
        ("Double. x : lengths in m. Raises ModelError: none.", ["x, an array, has no shape"]),
        ("Double. x (n,) : the lengths. Raises ModelError: none.", ["x, a number, has no unit"]),
    ],
)
def test_what_is_missing_is_seen(text, problem, monkeypatch):
    monkeypatch.setattr(Example.double, "__doc__", text)
    text_of.cache_clear()
    assert problems_of(Example.double) == problem


def test_lines_of_arguments_and_errors_that_are_missing_are_seen():
    text = "Scale.\n\nParameters:\n    x: (n,) m.\n        Any length.\n    factor: a ratio.\n"
    text += "\nRaises:\n    ModelError: no."
    names = dict.fromkeys(("x", "factor"), "float")
    raising = check_events
    assert entries_of(text, "Parameters") == {"x": "(n,) m. Any length.", "factor": "a ratio."}
    assert not_by_lines(raising, text, names) == []
    assert not_by_lines(raising, text.replace("ModelError", "SolveError"), names) == [
        "ModelError has no line below Raises"
    ]
    assert not_by_lines(raising, text.replace("a ratio.", ""), names) == ["factor is not explained"]
    assert not_by_lines(raising, text.replace("factor", "f"), names) == ["the lines below Parameters are x, f"]
    assert len(not_by_lines(raising, "Scale.", names)) == 2


def test_the_options_of_runs_are_listed():
    listed = entries_of(text_of(femb.simulate), "Parameters")["options"]
    assert [word for word in (field.name for field in dataclasses.fields(femb.Run)) if word not in listed] == []


def test_errors_are_seen():
    assert raised_by(femb.Results.__init__) == {"ResultError"}
    assert raised_by(femb.StateSpace) == {"ModelError"}


def test_docstrings_begin_with_a_thing_or_an_action():
    """Not with a question, nor with a word that stands for what only the name says."""
    folders = (checkout.ROOT / "femb", checkout.ROOT / "elements")
    paths = [path for folder in folders for path in folder.rglob("*.py") if "femb/elements" not in path.as_posix()]
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    begun = [
        f"{path.relative_to(checkout.ROOT)}: {text.splitlines()[0]}"
        for path in paths
        if re.search(r'"""(What|Those|How|Of|As|The same) ', source := path.read_text())  # parsing all takes seconds
        for node in ast.walk(ast.parse(source))
        if isinstance(node, kinds)
        and (text := ast.get_docstring(node))
        and text.startswith(("What ", "Those ", "How ", "Of ", "As ", "The same "))
    ]
    assert begun == []


def test_cited_sections_and_equations_of_the_theory_exist():
    """As "docs/theory/beam.md, section 3" and "docs/theory/beam.md, equations (3) and (7)"."""
    cited = re.compile(r"(docs/theory/\w+\.md), (?:(section) (\d+)|equations? \((\w+)\))")
    wrong = []
    for path in (path for folder in ("femb", "elements") for path in (checkout.ROOT / folder).rglob("*.py")):
        for page, section, number, equation in cited.findall(" ".join(path.read_text(encoding="utf-8").split())):
            text = (checkout.ROOT / page).read_text(encoding="utf-8")
            known = rf"^## {number}\." if section else rf"\\tag\{{{equation}\}}|\({equation}\)(?:\s|$|,)"
            if not re.search(known, text, re.MULTILINE):
                wrong.append(f"{path.relative_to(checkout.ROOT)}: {page}, {section or 'equation'} {number or equation}")
    assert wrong == []
