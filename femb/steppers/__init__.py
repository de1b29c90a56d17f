"""Time integration: the steppers of the catalogue ``femb.base.methods``, all under the contract of
``femb.steppers.contract``."""

from importlib import import_module
from typing import get_type_hints

from femb.base.errors import ModelError
from femb.base.methods import METHODS, STEPPERS, Entry
from femb.base.options import Run
from femb.formulations.contract import Formulation
from femb.steppers.contract import F, Stepper, located


def load(entry: Entry) -> type:
    """The class of a stepper, made with (form, run)."""
    result: type = getattr(import_module(entry.module), entry.name)
    return result


def needs(entry: Entry) -> type:
    """What a stepper integrates, Formulation or ImplicitFormulation: the type of its first argument."""
    needed: type = get_type_hints(load(entry).__init__)["form"]  # type: ignore[misc]
    return needed


def make_stepper(form: F, run: Run) -> Stepper[F]:
    """The stepper a run asks for, at the start of a formulation.

    Raises ModelError where the method does not integrate the formulation, SolveError where it has no accelerations.
    """
    if not isinstance(form, needs(run.stepper)):
        methods = " or ".join(map(repr, methods_of(form)))
        raise ModelError.at(
            ("run", "method"), f"{type(form).__name__} is integrated by method {methods}, got method {run.method!r}"
        )
    with located(0.0):
        stepper: Stepper[F] = load(run.stepper)(form, run)
        return stepper


def methods_of(form: Formulation) -> tuple[str, ...]:
    """The methods that integrate a formulation, by what it has."""
    return tuple(
        method
        for method in METHODS
        if all(isinstance(form, needs(entry)) for entry in STEPPERS.values() if entry.method == method)
    )
