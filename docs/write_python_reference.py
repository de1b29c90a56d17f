"""Write docs/reference/python.md: every public name of femb with its purpose, in groups.

    python docs/write_python_reference.py

The purpose is the first sentence of the docstring. The site adds pages with the whole docstrings of the same groups
(``site/hooks.py``). ``tests/docs/test_site.py`` checks that the page is up to date and that no name is missing.
"""

import inspect
import re
import runpy
from operator import attrgetter
from pathlib import Path

import femb
from femb import profiles
from femb.elements import catalogue

PAGE = Path(__file__).resolve().parent / "reference" / "python.md"
HEAD = """# Python names

Every public name of `femb`, made by `python docs/write_python_reference.py`. `help(femb.NAME)`, and the site behind a
purpose, have shapes, units, frames and errors. [In Python](../howto/python.md) explains the use.
"""
IN_CASES = "Tables of case files"
DESCRIBED: dict[str, str] = {
    "body": "Bodies",
    "modal": "Bodies",
    "beam": "Beams and sections",
    "exact": "Beams and sections",
    "shell": "Shells",
    "joint": "Joints, drivers and forces in joints",
    "load": "Loads",
    "actuator": "Actuators",
    "environment": "Environment",
    "spring": "Springs and dampers",
    "wheel": "Wheels",
    "control": "Sensors and controllers",
    "marker": "Places",
}


def of_module(module: str, *names: str) -> tuple[str, ...]:
    """Names below femb of a module."""
    return tuple(f"{module}.{name}" for name in names)


GROUPS: dict[str, tuple[str, ...]] = {
    "Models and cases": ("Model", "load_case", "schema", "Run", "StartState", "Tolerances", "Output", "Figure",
                         "register", "orbital_frame"),
    "Motion in time": ("simulate", "Event", "inverse", "compare", "differences", "diff", "Diff", "System",
                       "thompson.mass_derivative", "thompson.gyroscopic_force", "thompson.lock_angles",
                       "Differentiated"),
    "Statics": ("static", "StaticResults"),
    "Results, figures and files": ("Results", "figure", "plot", "picture", "animate", "report", "show", "export_csv",
                                   "export_vtu", "export_xdmf", "pointing", "Pointing"),
    "Modes and loads": ("modes", "Modes", "mode_sweep", "ModeSweep", "Participation", "handover.HybridCoordinates",
                        "base_motion", "quasi_static", "ModalMotion", "peak_loads", "PeakLoads", "completed",
                        "modal_model", "ModalModel", "unbalance_response", "UnbalanceResponse"),
    "Linear models": ("linearize", "linearize_structure", "StateSpace", "FrequencyResponse", "linear_model",
                      "LinearModel", "shake", "shaper", "Shaper", "operating_point", "OperatingPoint", "trim",
                      "periodic", "Periodic", "multiblade", "thompson.nine_blocks", "thompson.NineBlocks"),
    "Uncertain models": ("uncertain", "Uncertain", "worst", "WorstCases", "verify", "Verified", "tune", "Tuned",
                         "tune_schedule", "worst_pointing", "WorstPointing"),
    "Control loops": ("loop", "Loop", "LinearLaw", "lqr", "h2", "StateFeedback",
                      "pointing_budget", "PointingBudget", "NoiseSource", "HarmonicSource", "PulseSource",
                      "ConstantSource"),
    "Finite element models": of_module("fem", "FeModel", "MeshInterface", "Reduction", "ReducedBody",
                                       "reduce_mesh", "reduce_matrices", "reduce_model", "reduce_beams",
                                       "reduce_further", "reduced_craig_bampton", "read_reduced_body",
                                       "write_reduced_body",
                                       "write_punch"),
    "Hand-over to other programs": of_module("handover", "hybrid_coordinates", "CraigBampton", "MechanicalModel",
                                             "hinged_panels", "sliding_masses", "port", "Port", "write_flex42",
                                             "write_fmu"),
    "Trees and matrices": of_module("thompson", "relative_kinematics", "RelativeKinematics", "RelativeState",
                                    "reduced_matrices", "ReducedMatrices", "joint_matrices", "JointMatrices",
                                    "energy_matrix", "EnergyMatrix", "small_motion", "SmallMotion", "Root"),
    "Studies": ("Study", "sweep", "sensitivities", "Sensitivities", "tolerances", "Scatter", "optimize", "Sweep",
                "correlate", "Correlation", "identify", "Identification", "read_test_data", "TestData",
                "Ensemble", "simulate_ensemble", "sobol_indices", "SobolIndices"),
    "Errors and warnings": ("FembError", "ModelError", "SolveError", "ResultError", "FembWarning"),
}  # fmt: skip
"""Names in groups; those of the elements follow from the folders of the catalogue."""
VALUES = {
    "MATERIALS": "Materials by the names that sections take, each with its source.",
    "PLY_MATERIALS": "Moduli, Poisson's ratio and density of unidirectional plies by the names that plies take.",
}


def groups() -> dict[str, list[str]]:
    """All public names by group; the profiles of time with their module."""
    found: dict[str, list[str]] = {"Models and cases": list(GROUPS["Models and cases"])}
    for name, kind in vars(catalogue).items():
        if isinstance(kind, type) and name in femb.__all__:
            folder = kind.__module__.removeprefix("femb.elements.").split(".")[0]
            found.setdefault(DESCRIBED[folder], []).append(name)
    found["Beams and sections"] += ["SectionTable", "read_sections", "MATERIALS", "PLY_MATERIALS"]
    found["Functions of time"] = [f"profiles.{kind.__name__}" for kind in profiles.PROFILES.values()]
    return found | {title: list(names) for title, names in GROUPS.items()}


def value_of(name: str) -> object:
    """What a name of the page stands for."""
    return attrgetter(name)(femb)


def purpose(name: str) -> str:
    """The first sentence of a docstring, up to a semicolon."""
    text = VALUES.get(name) or inspect.getdoc(value_of(name)) or ""
    first = re.split(r"(?<=[.])\s(?=[A-Z])|\n\n|;\s", text, maxsplit=1)[0]
    return " ".join(first.split()).replace("``", "`").rstrip(".") + "."


def described() -> dict[str, str]:
    """The section of the case reference that describes a class, by the name of the class."""
    found: dict[str, str] = {}
    for _, kind, path in runpy.run_path(str(PAGE.parents[1] / "write_case_reference.py"))["sections"]():
        found.setdefault(kind.__name__, path)
    return found


def page() -> str:
    """The text of the page."""
    parts, links = [HEAD], described()
    links |= {f"profiles.{kind.__name__}": links[kind.__name__] for kind in profiles.PROFILES.values()}
    for title, names in groups().items():
        items = ", ".join(f"[`{name}`]({links[name]})" for name in names if name in links)
        lines = [f"- `{name}`: {purpose(name)}" for name in names if name not in links]
        parts.append("\n".join([f"## {title}\n", *([f"{IN_CASES}: {items}\n"] if items else []), *lines, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
