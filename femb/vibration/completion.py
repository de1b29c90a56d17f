"""Completion: what a description leaves to the analysis, found before the equations are made.

The length of a beam between two points follows from the start poses. Modal damping names modes, whose shapes follow
from the rest of the model. Every analysis takes the System of a model from ``system_of``, so that it acts on the same
modes everywhere.
"""

from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

from femb.base.errors import ModelError
from femb.base.options import STARTS, Run, StartState
from femb.base.values import shown
from femb.model.model import Model

if TYPE_CHECKING:
    from femb.case import Given
    from femb.elements import ModalDamping
    from femb.system.system import System

# the table of the case file
TABLE = "modal_damping"


def given(model: object, start: str | None = None) -> "tuple[Model | System, str]":
    """The model, or the System, that a function was given, as itself, a case or the path of its file; and the start.

    start : None for that of the case, "as_given" without one; of a case that starts from the results of a run it is the
    System in their last state. Raises ModelError, which names all else; CaseError, ContinuationError.
    """
    from femb.case import Case, load_case
    from femb.system.system import System

    case = load_case(model) if isinstance(model, str | Path) else model
    if isinstance(case, Case):
        return (begun(case.model, case.options), case.start) if start is None else (case.model, start)
    if isinstance(case, Model | System):
        return case, "as_given" if start is None else start
    raise ModelError(f"got {shown(model)}, wanted a femb.Model, a case or the path of a case file")


def begun(model: Model, run: Run | None) -> "Model | System":
    """The model, or where a run starts from the results of another the System in their last state.

    Raises ModelError, ContinuationError.
    """
    if run is None or not isinstance(run.start, StartState):
        return model
    from femb.recording.named_state import start_state

    return start_state(system_of(model, run.assembles), run.start)


def completed(model: "Given") -> Model:
    """The model whose beams have lengths, and whose modal damping has the modes that it damps; the same model if
    nothing is missing.

    They are those of the unloaded start, without the modal damping of other appendages; a model that was completed
    keeps its modes, also if items are added.

    Raises ModelError with every problem of the model; as ``ModalDamping`` says where there are no such modes.
    """
    of, _ = given(model)
    model = of if isinstance(of, Model) else of.model
    if any(beam.spans for beam in model.beams.values()):
        from femb.model.placement import Placement

        model.check()
        model = Placement(model).model
    table: dict[str, ModalDamping] = model.tables[TABLE]
    missing = [item for item in table.values() if item.damped is None]
    if not missing:
        return model
    from femb.system.system import System
    from femb.vibration.modal_damping import with_modes

    bare, result = copy(model), copy(model)
    bare.tables = {**model.tables, TABLE: {}}
    known = [item for item in table.values() if item.damped is not None]
    found = {item.name: item for item in with_modes(System(bare, assemble=True), missing, known)}
    result.tables = {**model.tables, TABLE: table | found}
    return result


def system_of(model: "Given | System", assemble: bool | None = False) -> "System":
    """The System of the completed model, or a given System as it is; assemble : as in ``System``."""
    from femb.system.system import System

    model, _ = given(model)
    return System(completed(model), assemble=assemble) if isinstance(model, Model) else model


def mean_system_of(model: "Given | System", assemble: bool | None = False) -> "System":
    """``system_of``, in the mean over turns of its wheels, about which small motions have constant coefficients."""
    return system_of(model, assemble).balanced()


def system_at(model: "Model | System", start: str, held: str | None = None, differences: bool = False) -> "System":
    """``mean_system_of`` at the state about which an analysis of small motions is.

    start : "as_given", "assembled" or "equilibrium". held : a body that the analysis holds. differences : whether
    functions of the state without derivatives are differentiated by central differences.

    Raises ModelError: an unknown start; as ``femb.statics.equilibrium.in_equilibrium``.
    """
    if not isinstance(start, str) or start not in STARTS:
        raise ModelError(f"start: got {shown(start)}, must be one of {', '.join(map(repr, STARTS))}")
    system = mean_system_of(model, start == "assembled")
    if differences:
        from femb.small_motions.point import with_differences

        system = with_differences(system)
    if start != "equilibrium":
        return system
    from femb.statics.equilibrium import in_equilibrium

    return in_equilibrium(system, held)


def check_figures_of(model: Model) -> None:
    """Raise ModelError where a figure of a model names what its results do not have."""
    if model.figures:
        # imported only where there are figures, for a faster start
        from femb.pictures.check import check_figures

        check_figures(model)
