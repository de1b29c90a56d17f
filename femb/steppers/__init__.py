"""Time integration: steppers by name, all under the contract of ``femb.steppers.contract``.

Adding a stepper is one file and one line here; see docs/howto/add_a_stepper.md.
"""

from typing import Any

from femb.base.options import Run
from femb.steppers.contract import Stepper, located


def make_stepper(system: Any, run: Run) -> Stepper:
    """The stepper a run asks for, at the system's start. Raises SolveError where it has no accelerations."""
    with located(0.0):
        return _made(system, run)


def _made(system: Any, run: Run) -> Stepper:
    if run.method == "radau":
        from femb.steppers.radau import Radau

        return Radau(system, run)
    if run.method == "bdf":
        from femb.steppers.bdf import Bdf

        return Bdf(system, run)
    if run.method == "generalized-alpha":
        from femb.steppers.generalized_alpha import GeneralizedAlpha

        return GeneralizedAlpha(system, run)
    if run.method == "gauss":
        from femb.steppers.gauss import Gauss

        return Gauss(system, run)
    from femb.steppers.runge_kutta import Dop853, RungeKutta4

    return RungeKutta4(system, run) if run.tableau == "rk4" else Dop853(system, run)
