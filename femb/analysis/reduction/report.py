"""Truncated linear models with a printed report; the function behind the orders of ``femb linearize``."""

from collections.abc import Sequence

from femb.analysis.linear.report import eigenvalue_table
from femb.analysis.linear.statespace import StateSpace
from femb.analysis.modes.damping_ratios import source_of
from femb.analysis.reduction.model import linear_model
from femb.analysis.reduction.orders import state_space_of
from femb.base.options import Run
from femb.base.values import numbered
from femb.model.model import Model


def truncated(
    model: Model,
    run: Run | None = None,
    outputs: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    *,
    start: str | None = None,
    held: str | None = None,
    hub: str | None = None,
    modes: int | None = None,
    craig_bampton: int | None = None,
    balanced: int | None = None,
    residual_vectors: bool = False,
    damping: float | None = None,
    frequencies: Sequence[float] | None = None,
) -> tuple[StateSpace, str]:
    """The state space of a sparse linear model, and a text with its eigenvalues and its truncation error.

    start : by default that of the run. Others as of ``femb.linearize``. Raises as that.
    """
    start = start or (run.start_word if run is not None else "as_given")
    sparse = linear_model(model, inputs=inputs, outputs=outputs, held=held, hub=hub, start=start)
    space = state_space_of(
        sparse,
        modes=modes,
        craig_bampton=craig_bampton,
        balanced=balanced,
        residual_vectors=residual_vectors,
        damping=damping,
        frequencies=frequencies,
    )
    named = {"state": space.states, "input": space.inputs, "output": space.outputs}
    counts = ", ".join(numbered(len(names), word) for word, names in named.items())
    state = "about the state without loads" if start != "equilibrium" else "about the equilibrium"
    lines = [f"{counts}; {state}" + (f", {held} held" if held else ""), "", *eigenvalue_table(space)]
    if space.truncation is not None:
        lines += ["", space.truncation.table()]
    elif damping is not None or sparse.motion.low_rank.rank:
        lines += ["", f"with {source_of(sparse.motion.system.model, damping)}"]
    return space, "\n".join(lines)
