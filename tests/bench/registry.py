"""All problems, one file for each."""

from . import p1_satellite, p2_chain, p3_spin_up, p4_statics, p5_chains, p6_mechanisms
from .harness import Problem

FILES = (p1_satellite, p2_chain, p3_spin_up, p4_statics, p5_chains, p6_mechanisms)


def all_problems(only: list[str] | tuple[str, ...] = ()) -> list[Problem]:
    """All, or those whose keys begin with one of ``only``."""
    return [
        problem
        for file in FILES
        for problem in file.problems()
        if not only or any(problem.key.startswith(key) for key in only)
    ]
