"""Time integration: the steppers of the catalogue ``femb.base.options``, all under the contract of
``femb.steppers.contract``."""

from importlib import import_module
from typing import get_type_hints

from femb.base.errors import ModelError
from femb.base.options import METHODS, STEPPERS, Entry, Run
from femb.formulations.contract import Formulation
from femb.steppers.contract import F, Stepper, located

# Answers of ``_accepts`` by stepper and class: a test for a protocol is slow.
_accepted: dict[tuple[Entry, type], bool] = {}


def load(entry: Entry) -> type:
    """The class of a stepper; its constructor takes (form, run)."""
    result: type = getattr(import_module(entry.module), entry.name)
    return result


def needs(entry: Entry) -> type:
    """The protocol a stepper needs, Formulation or ImplicitFormulation: the type of its argument ``form``."""
    needed: type = get_type_hints(load(entry).__init__)["form"]  # type: ignore[misc]
    return needed


def make_stepper(form: F, run: Run) -> Stepper[F]:
    """The stepper of a run, in the initial state of a formulation.

    Raises ModelError where the method does not integrate the formulation, SolveError where the initial accelerations
    cannot be computed.
    """
    if not _accepts(run.stepper, form):
        methods = " or ".join(map(repr, methods_of(form)))
        raise ModelError.at(
            ("run", "method"), f"{type(form).__name__} is integrated by method {methods}, got method {run.method!r}"
        )
    with located(0.0):
        stepper: Stepper[F] = load(run.stepper)(form, run)
        return stepper


def _accepts(entry: Entry, form: Formulation) -> bool:
    """Whether a stepper integrates a formulation."""
    key = entry, type(form)
    if key not in _accepted:
        _accepted[key] = isinstance(form, needs(entry))
    return _accepted[key]


def methods_of(form: Formulation) -> tuple[str, ...]:
    """The methods whose steppers accept a formulation."""
    return tuple(
        method
        for method in METHODS
        if all(_accepts(entry, form) for entry in STEPPERS.values() if entry.method == method)
    )
