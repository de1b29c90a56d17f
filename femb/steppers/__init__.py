"""Time integration: steppers by name, all under the contract of ``femb.steppers.contract``.

Adding a stepper is one file and one line of ``STEPPERS``, and its name among ``femb.base.options.METHODS``; see
docs/howto/add_a_stepper.md.
"""

from importlib import import_module
from typing import NamedTuple, get_type_hints

from femb.base.errors import ModelError
from femb.base.options import METHODS, Run
from femb.formulations.contract import Formulation
from femb.steppers.contract import F, Stepper, located


class Entry(NamedTuple):
    """A stepper of the catalogue: its method in a Run, and where its class is."""

    method: str
    module: str
    name: str

    def load(self) -> type:
        """The class, made with (form, run)."""
        found: type = getattr(import_module(self.module), self.name)
        return found

    def needs(self) -> type:
        """What it integrates, Formulation or ImplicitFormulation: the type of its first argument."""
        needed: type = get_type_hints(self.load().__init__)["form"]  # type: ignore[misc]
        return needed


# By method, or by the tableau of a method that has several.
STEPPERS = {
    "radau": Entry("radau", "femb.steppers.radau", "Radau"),
    "bdf": Entry("bdf", "femb.steppers.bdf", "Bdf"),
    "generalized-alpha": Entry("generalized-alpha", "femb.steppers.generalized_alpha", "GeneralizedAlpha"),
    "gauss": Entry("gauss", "femb.steppers.gauss", "Gauss"),
    "dop853": Entry("rk", "femb.steppers.runge_kutta", "Dop853"),
    "rk4": Entry("rk", "femb.steppers.runge_kutta", "RungeKutta4"),
}


def make_stepper(form: F, run: Run) -> Stepper[F]:
    """The stepper a run asks for, at the start of a formulation.

    Raises ModelError where the method does not integrate the formulation, SolveError where it has no accelerations.
    """
    entry = STEPPERS[run.tableau if run.method == "rk" else run.method]
    if not isinstance(form, entry.needs()):
        methods = " or ".join(map(repr, methods_of(form)))
        raise ModelError.at(
            ("run", "method"), f"{type(form).__name__} is integrated by method {methods}, got method {run.method!r}"
        )
    with located(0.0):
        stepper: Stepper[F] = entry.load()(form, run)
        return stepper


def methods_of(form: Formulation) -> tuple[str, ...]:
    """The methods that integrate a formulation, by what it has."""
    return tuple(
        method
        for method in METHODS
        if all(isinstance(form, entry.needs()) for entry in STEPPERS.values() if entry.method == method)
    )
