"""The catalogue of methods of integration: their names, and where the class of each stepper is.

Adding a stepper takes one file and one line of ``STEPPERS``: a Run takes names and options from here, and
``femb.steppers`` loads the class when a run needs it; see docs/howto/add_a_stepper.md.
"""

from typing import Literal, NamedTuple

# For type checkers, which cannot evaluate the catalogue.
Method = Literal["radau", "bdf", "rk", "gauss", "generalized-alpha", "auto"]


class Entry(NamedTuple):
    """A stepper: its method in a Run, its module and class, the options that only some steppers use, and whether it
    needs ``run.step`` as its fixed step length."""

    method: str
    module: str
    name: str
    options: tuple[str, ...] = ()
    fixed: bool = False


# By method, or by tableau where a method has several.
STEPPERS = {
    "radau": Entry("radau", "femb.steppers.radau", "Radau", ("filter",)),
    "bdf": Entry("bdf", "femb.steppers.bdf", "Bdf", ("max_order",)),
    "dop853": Entry("rk", "femb.steppers.runge_kutta", "Dop853", ("tableau",)),
    "rk4": Entry("rk", "femb.steppers.runge_kutta", "RungeKutta4", ("tableau",), fixed=True),
    "gauss": Entry("gauss", "femb.steppers.gauss", "Gauss", ("order",), fixed=True),
    "generalized-alpha": Entry(
        "generalized-alpha",
        "femb.steppers.generalized_alpha",
        "GeneralizedAlpha",
        ("spectral_radius", "filter", "step"),
    ),
}
METHODS = tuple(dict.fromkeys(entry.method for entry in STEPPERS.values()))
# The method that the model decides; see ``femb.run.method_choice``.
AUTO = "auto"
TABLEAUX = tuple(name for name, entry in STEPPERS.items() if "tableau" in entry.options)
